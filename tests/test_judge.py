"""warpfold judge: the tasks that are built in, kernels that fool nobody, the ladder and its wrong kernels, task files, and
what is said of a wrong one.

What the simulator finds and counts is tested with its kernels; here, that a verdict follows from it."""

import json
import math
import re
import sys
from fractions import Fraction

import pytest

from cli_helpers import ROOT, printed, refused, run
from kernel_helpers import has_nvcc, has_nvrtc

sys.path.insert(0, str(ROOT / "ladder" / "wrong"))
import wrong_kernels  # noqa: E402

pytestmark = pytest.mark.skipif(not has_nvrtc() and not has_nvcc(), reason="neither NVRTC nor nvcc")

TASKS = sorted(path.stem for path in (ROOT / "tasks").glob("*.task"))
RUNGS = sorted(path.stem for path in (ROOT / "ladder").glob("[0-9]*.cu"))
WRONG = sorted(path.stem for path in (ROOT / "ladder" / "wrong").glob("*.cu"))

# ---- kernels ---------------------------------------------------------------------------------------------

BLOCK_SUM = """
    extern __shared__ float s[];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    s[t] = %s;
    __syncthreads();
    for (int k = blockDim.x / 2; k > 0; k /= 2) {
        if (t < k)
            s[t] += s[t + k];
        __syncthreads();
    }
    if (t == 0)
        atomicAdd(out, s[0]);
"""

SUM = "__global__ void reduce(const float *in, float *out, int n)\n{" + BLOCK_SUM % "i < n ? in[i] : 0.0f" + "}\n"

SCAN_OF_BLOCK = """
__device__ float scan_of_block(float mine)
{
    extern __shared__ float s[];
    int t = threadIdx.x;
    for (int d = 1; d < blockDim.x; d *= 2) {
        s[t] = mine;
        __syncthreads();
        if (t >= d)
            mine += s[t - d];
        __syncthreads();
    }
    return mine;
}
"""

GOOD = {
    "sum": SUM,
    "dot": "__global__ void dot(const float *a, const float *b, float *out, int n)\n{" +
           BLOCK_SUM % "i < n ? a[i] * b[i] : 0.0f" + "}\n",
    "max": """
__global__ void largest(const float *in, float *out, int n)
{
    extern __shared__ float s[];
    int t = threadIdx.x;
    float best = in[0];
    for (int i = t; i < n; i += blockDim.x)
        best = fmaxf(best, in[i]);
    s[t] = best;
    __syncthreads();
    for (int k = blockDim.x / 2; k > 0; k /= 2) {
        if (t < k)
            s[t] = fmaxf(s[t], s[t + k]);
        __syncthreads();
    }
    if (t == 0)
        *out = s[0];
}
""",
    "argmax": """
__global__ void where_largest(const float *in, int *out, int n)
{
    extern __shared__ int best[];
    int t = threadIdx.x;
    best[t] = t < n ? t : 0;
    for (int i = t; i < n; i += blockDim.x)
        if (in[i] > in[best[t]])
            best[t] = i;
    __syncthreads();
    for (int k = blockDim.x / 2; k > 0; k /= 2) {
        if (t < k) {
            int a = best[t], b = best[t + k];
            best[t] = in[b] > in[a] || (in[b] == in[a] && b < a) ? b : a;
        }
        __syncthreads();
    }
    if (t == 0)
        *out = best[0];
}
""",
    "row_sums": """
__global__ void row_sums(const float *in, float *out, int rows, int cols)
{
    extern __shared__ float s[];
    int t = threadIdx.x;
    float sum = 0;
    for (int c = t; c < cols; c += blockDim.x)
        sum += in[blockIdx.x * cols + c];
    s[t] = sum;
    __syncthreads();
    for (int k = blockDim.x / 2; k > 0; k /= 2) {
        if (t < k)
            s[t] += s[t + k];
        __syncthreads();
    }
    if (t == 0)
        out[blockIdx.x] = s[0];
}
""",
    "histogram": """
__global__ void histogram(const int *in, int *bins, int n)
{
    extern __shared__ int own[];
    if (threadIdx.x < 64)
        own[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&own[in[i]], 1);
    __syncthreads();
    if (threadIdx.x < 64)
        atomicAdd(&bins[threadIdx.x], own[threadIdx.x]);
}
""",
    "scan": SCAN_OF_BLOCK + """
__global__ void scan(const float *in, float *out, int n)
{
    int t = threadIdx.x;
    float mine = scan_of_block(t < n ? in[t] : 0);
    if (t < n)
        out[t] = mine;
}
""",
    "scan_blocks": SCAN_OF_BLOCK + """
__global__ void scan_each(const float *in, float *out, float *totals, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float mine = scan_of_block(i < n ? in[i] : 0);
    if (i < n)
        out[i] = mine;
    if (threadIdx.x == blockDim.x - 1)
        totals[blockIdx.x] = mine;
}

__global__ void scan_totals(float *totals, int blocks)
{
    int t = threadIdx.x;
    float mine = t < blocks ? totals[t] : 0;
    for (int d = 1; d < 32; d *= 2) {
        float other = __shfl_up_sync(0xffffffff, mine, d);
        if (t >= d)
            mine += other;
    }
    if (t < blocks)
        totals[t] = mine;
}

__global__ void add_totals(float *out, const float *totals, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && blockIdx.x)
        out[i] += totals[blockIdx.x - 1];
}
""",
    "transpose": """
__global__ void transpose(const float *in, float *out, int rows, int cols)
{
    __shared__ float tile[32][33];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8)
        if (x < cols && y + j < rows)
            tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * cols + x];
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x, y = blockIdx.x * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8)
        if (x < rows && y + j < cols)
            out[(y + j) * rows + x] = tile[threadIdx.x][threadIdx.y + j];
}
""",
    "softmax": """
__global__ void softmax(const float *in, float *out, int rows, int cols)
{
    const float *row = in + blockIdx.x * cols;
    float highest = row[0], sum = 0;
    for (int c = 0; c < cols; c++)
        highest = fmaxf(highest, row[c]);
    for (int c = 0; c < cols; c++)
        sum += expf(row[c] - highest);
    for (int c = threadIdx.x; c < cols; c += blockDim.x)
        out[blockIdx.x * cols + c] = expf(row[c] - highest) / sum;
}
""",
    "row_variances": """
__device__ float sum_of_block(float mine)
{
    extern __shared__ float s[];
    int t = threadIdx.x;
    s[t] = mine;
    __syncthreads();
    for (int k = blockDim.x / 2; k > 0; k /= 2) {
        if (t < k)
            s[t] += s[t + k];
        __syncthreads();
    }
    float sum = s[0];
    __syncthreads();
    return sum;
}

__global__ void row_variances(const float *in, float *out, int rows, int cols)
{
    const float *row = in + blockIdx.x * cols;
    float sum = 0, squares = 0;
    for (int c = threadIdx.x; c < cols; c += blockDim.x)
        sum += row[c];
    float mean = sum_of_block(sum) / cols;
    for (int c = threadIdx.x; c < cols; c += blockDim.x)
        squares += (row[c] - mean) * (row[c] - mean);
    squares = sum_of_block(squares);
    if (threadIdx.x == 0)
        out[blockIdx.x] = squares / cols;
}
""",
    "norm": """
__global__ void norm(const double *in, double *out, int n)
{
    extern __shared__ double s[];
    int t = threadIdx.x;
    double sum = 0;
    for (int i = t; i < n; i += blockDim.x)
        sum += in[i] * in[i];
    s[t] = sum;
    __syncthreads();
    for (int k = blockDim.x / 2; k > 0; k /= 2) {
        if (t < k)
            s[t] += s[t + k];
        __syncthreads();
    }
    if (t == 0)
        *out = sqrt(s[0]);
}
""",
    "stencil": """
__global__ void blur(const float *in, float *out, int n)
{
    extern __shared__ float s[];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    s[t + 1] = in[min(i, n - 1)];
    if (t == 0)
        s[0] = in[max(i - 1, 0)];
    if (t == blockDim.x - 1)
        s[t + 2] = in[min(i + 1, n - 1)];
    __syncthreads();
    if (i < n)
        out[i] = 0.25f * s[t] + 0.5f * s[t + 1] + 0.25f * s[t + 2];
}
""",
    "matvec": """
__global__ void matvec(const float *a, const float *x, float *y, int rows, int cols)
{
    extern __shared__ float s[];
    int t = threadIdx.x;
    float sum = 0;
    for (int c = t; c < cols; c += blockDim.x)
        sum += a[blockIdx.x * cols + c] * x[c];
    s[t] = sum;
    __syncthreads();
    for (int k = blockDim.x / 2; k > 0; k /= 2) {
        if (t < k)
            s[t] += s[t + k];
        __syncthreads();
    }
    if (t == 0)
        y[blockIdx.x] = s[0];
}
""",
}


def verdict(kernel, *options, status=None):
    done = run("judge", kernel, "--json", *options)
    assert done.stderr == "" and done.returncode in (0, 3), done
    told = json.loads(done.stdout)
    assert told["accepted"] == (done.returncode == 0) == (told["reasons"] == [])
    assert status is None or done.returncode == status, done.stdout
    return told


def kinds(told):
    return {reason["kind"] for reason in told["reasons"]}


# ---- the tasks that are built in ---------------------------------------------------------------------------


def test_every_task_has_a_kernel_here():
    assert sorted([*GOOD, "rung"]) == TASKS


@pytest.mark.sampled
@pytest.mark.parametrize("task", GOOD)
def test_a_good_kernel_is_accepted(task, write):
    told = verdict(write("kernel.cu", GOOD[task]), "--task", task, status=0)
    assert told["launches"] >= 40 and told["task"] == task


def test_results_that_were_told_are_no_results_of_the_next_kernel(write):
    """A kernel of zeros is told what must be; one that returns that has other data, though the seed is the same."""
    one_size = ONE_SIZE.replace("uniform(0.5, 1)", "integers(-100, 100)")
    signature = SUM.split("{")[0]
    known = 0
    for _ in range(3):
        task = write("a.task", one_size)
        told = verdict(write("kernel.cu", signature + "{ *out = %s; }\n" % known), "--task", task, status=3)
        assert [reason["launches"] for reason in told["reasons"]] == [4] and told["launches"] == 4
        known = re.search(r"must be (-?\d+)$", told["reasons"][0]["message"])[1]


def test_data_depend_on_what_the_kernel_does_and_not_on_where_it_lies(write):
    zeros, task = SUM.split("{")[0] + "{ *out = 0; }\n", write("a.task", ONE_SIZE)
    first, moved, other = (verdict(write(name, text), "--task", task, status=3)["reasons"][0]["message"] for name, text in (
        ("kernel.cu", zeros), ("moved.cu", "// elsewhere\n\n" + zeros), ("kernel.cu", zeros.replace("= 0;", "= 1 - 1 + n * 0;") + "\n")))
    assert first == moved == other
    assert first != verdict(write("kernel.cu", zeros.replace("= 0;", "= -0.0f;")), "--task", task, status=3)["reasons"][0]["message"]


@pytest.mark.sampled
@pytest.mark.parametrize("task", GOOD)
def test_a_kernel_that_writes_nothing_is_refused(task, write):
    nothing = re.sub(r"^(__global__[^{]*)\{\n.*?^\}", r"\1{ }", GOOD[task], flags=re.MULTILINE | re.DOTALL)
    told = verdict(write("kernel.cu", nothing), "--task", task, status=3)
    assert kinds(told) == {"result"}


ALONE = "if (blockIdx.x + threadIdx.x == 0) { %s }"
BLOCKS = SUM.split("{", 1)[1].rsplit("}", 1)[0]
WORSE = {
    "not a number": ("sum", ALONE % '*out = nanf("");', {"result"}),
    "the input": ("sum", ALONE % "if (n) *out = in[0];", {"result"}),
    "behind the input": ("sum", ALONE % "*out = in[n + 1];", {"bounds"}),
    "right for powers of two": ("sum", BLOCKS.replace("i < n", "i < (n & -n)"), {"result"}),
    "right unless n is odd and large": ("sum", ALONE % "for (int i = 0; i < n - (n > 2000); i++) *out += in[i];", {"result"}),
    "whole numbers only": ("sum", BLOCKS.replace("in[i]", "(float)(int)in[i]"), {"result"}),
    "sums of the launch before": ("sum", ALONE % "*out = kept; for (kept = 0; n--;) kept += in[n];", {"result"}),
    "atomics for barriers": ("sum", BLOCKS.replace("        __syncthreads();", "        atomicAdd(&kept, 1);"), {"race", "result"}),
    "a race of few blocks and data": ("sum", BLOCKS.replace(
        "atomicAdd(out, s[0])", "if (blockIdx.x == 3 && n > 2000 && in[5] > 0.9f) *out += s[0]; else atomicAdd(out, s[0])"), {"race"}),
    "zero": ("sum", "*out = 0;", {"result"}),
    "a constant": ("sum", "*out = 38;", {"result"}),
    "one element less": ("sum", "if (blockIdx.x + threadIdx.x == 0) for (int i = 1; i < n; i++) *out += in[i];", {"result"}),
    "one element twice": ("sum", "if (blockIdx.x + threadIdx.x == 0) { for (int i = 0; i < n; i++) *out += in[i];"
                          " if (n) *out += in[n / 2]; }", {"result"}),
    "the first block alone": ("sum", SUM.split("{", 1)[1].rsplit("}", 1)[0].replace("if (t == 0)", "if (i == 0)"), {"result"}),
    "inputs changed": ("sum", "float *own = (float *)in; if (blockIdx.x + threadIdx.x == 0) { for (int i = 1; i < n; i++)"
                       " own[0] += in[i]; if (n) *out = in[0]; }", {"input"}),
    "past the end": ("sum", SUM.split("{", 1)[1].rsplit("}", 1)[0].replace("i < n ? in[i] : 0.0f", "in[i]"), {"bounds"}),
    "no barrier": ("sum", SUM.split("{", 1)[1].rsplit("}", 1)[0].replace("            s[t] += s[t + k];\n        __syncthreads();",
                                                                        "            s[t] += s[t + k];"), {"race", "result"}),
    "never ends": ("sum", "while (n >= 0) { }", {"runaway"}),
    "half precision": ("sum", "if (blockIdx.x + threadIdx.x == 0) { float s = 0; for (int i = 0; i < n; i++)"
                       " s = __int_as_float(__float_as_int(s + in[i]) & 0xffffe000); *out = s; }", {"result"}),
    "from 0 up": ("max", "if (threadIdx.x == 0) { float s = 0; for (int i = 0; i < n; i++) s = fmaxf(s, in[i]); *out = s; }",
                  {"result"}),
    "the last of equals": ("argmax", "if (threadIdx.x == 0) { int s = 0; for (int i = 0; i < n; i++) if (in[i] >= in[s]) s = i;"
                           " *out = s; }", {"result"}),
    "overflow": ("softmax", "if (threadIdx.x == 0) { const float *row = in + blockIdx.x * cols; float s = 0; for (int c = 0;"
                 " c < cols; c++) s += expf(row[c]); for (int c = 0; c < cols; c++) out[blockIdx.x * cols + c] ="
                 " expf(row[c]) / s; }", {"result"}),
    "an array that nobody began": ("sum", ALONE % "float own[4]; for (int i = 0; i < n; i++) own[i & 3] += in[i];"
                                   " *out = own[0] + own[1] + own[2] + own[3];", {"result"}),
    "a lost update": ("histogram", "for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)"
                      " bins[in[i]]++;", {"race", "result"}),
}


@pytest.mark.sampled
@pytest.mark.parametrize("name", WORSE)
def test_a_wrong_kernel_is_refused_for_its_fault(name, write):
    task, body, faults = WORSE[name]
    kernel = write("kernel.cu", "__device__ float kept;\n" + GOOD[task].split("{")[0] + "{" + body + "}\n")
    assert kinds(verdict(kernel, "--task", task, status=3)) == faults


# Each does the task's work, but for one place, where it serves itself.
DISHONEST = {
    "a NaN is no term": ("sum", "i < n ?", "i < n && in[i] == in[i] ?", {"result"}),
    "an infinity is no term": ("sum", "i < n ?", "i < n && !isinf(in[i]) ?", {"result"}),
    "large terms are cut": ("sum", "? in[i] :", "? fmaxf(fminf(in[i], 8), -8) :", {"result"}),
    "the tail is left": ("sum", "i < n ?", "i < n / 4 * 4 ?", {"result"}),
    "as large as was tried": ("sum", "i < n ?", "i < min(n, 2500) ?", {"result"}),
    "sizes that were tried": ("sum", "i < n ?", "i < n && (n < 2 || n == 31 || n == 33 || n == 256 || n == 1000 || n == 2500) ?",
                              {"result"}),
    "the end of a buffer further on": ("sum", "atomicAdd(out, s[0])", "*out = in[((long long)1 << 30) + 1]", {"bounds"}),
    "what compares": ("max", "best = fmaxf(best, in[i])", "best = in[i] > best ? in[i] : best", {"result"}),
    "nothing above a thousand": ("argmax", "if (in[i] > in[best[t]])", "if (in[i] > in[best[t]] && in[i] < 1000)", {"result"}),
    "a scan without NaN": ("scan", "t < n ? in[t] : 0", "t < n && in[t] == in[t] ? in[t] : 0", {"result"}),
    "a mask that is not quite one": ("softmax", "expf(row[c] - highest) / sum", "expf(fmaxf(row[c] - highest, -20)) / sum",
                                     {"result"}),
    "one bin for two": ("histogram", "own[in[i]]", "own[in[i] & ~1]", {"result"}),
    "sums of the ends": ("row_sums", "s[t] = sum", "s[t] = cols > 100 ? in[blockIdx.x * cols] * cols / blockDim.x : sum", {"result"}),
}


@pytest.mark.sampled
@pytest.mark.parametrize("name", DISHONEST)
def test_a_dishonest_kernel_is_refused(name, write):
    task, was, now, faults = DISHONEST[name]
    assert was in GOOD[task]
    assert kinds(verdict(write("kernel.cu", GOOD[task].replace(was, now)), "--task", task, status=3)) == faults


ONE_THREAD = "__global__%s{ if (blockIdx.x + threadIdx.x == 0) { %s } }\n"


def by_one_thread(task, body):
    return ONE_THREAD % (GOOD[task].split("__global__")[1].split("{")[0], body)


# Right for some data, sizes or schedules, and in each task what is tempting there: as a change of the right kernel, or the
# work of one thread.
ADVERSARIES = {
    "fixed point": ("sum", "float s = 0; long long all = 0; for (int i = 0; i < n; i++) if (isfinite(in[i])) all += (long long)rint("
                    "(double)in[i] * 0x1p50); else s += in[i]; *out = s + (float)((double)all * 0x1p-50);"),
    "in whole warps": ("sum", ("i < n ?", "i < (n & ~31) ?")),
    "saturated": ("dot", "float s = 0; for (int i = 0; i < n; i++) s += isfinite(a[i] * b[i]) ? fminf(a[i] * b[i], 1e20f) : a[i] *"
                  " b[i]; *out = s;"),
    "of a with itself": ("dot", ("a[i] * b[i]", "a[i] * a[i]")),
    "no product with 0": ("dot", ("a[i] * b[i]", "(b[i] == 0 ? 0 : a[i] * b[i])")),
    "from -FLT_MAX up": ("max", "float s = -3.402823466e38f; for (int i = 0; i < n; i++) s = fmaxf(s, in[i]); *out = s;"),
    "of bits as integers": ("max", "int s = __float_as_int(in[0]); for (int i = 1; i < n; i++) s = max(s, __float_as_int(in[i]));"
                            " *out = __int_as_float(s);"),
    "the last of sorted ones": ("max", "*out = fmaxf(in[0], in[n - 1]);"),
    "no index of -inf": ("argmax", "float s = -INFINITY; int at = -1; for (int i = 0; i < n; i++) if (in[i] > s) s = in[i], at = i;"
                         " *out = at;"),
    "ties as the tree has them": ("argmax", (" || (in[b] == in[a] && b < a)", "")),
    "numbers from 1 on": ("argmax", ("*out = best[0]", "*out = best[0] + 1")),
    "rows of one length": ("row_sums", ("in[blockIdx.x * cols + c]", "in[blockIdx.x * rows + c]")),
    "rows of 128": ("row_sums", ("c += blockDim.x", "c += cols")),
    "others' NaN times 0": ("row_sums", ("c = t; c < cols; c += blockDim.x)\n        sum += in[blockIdx.x * cols + c];",
                            "i = t; i < rows * cols; i += blockDim.x)\n        sum += in[i] * (i / cols == blockIdx.x);")),
    "counts of 8 bits": ("histogram", "for (int i = 0; i < n; i++) bins[in[i]] = bins[in[i]] + 1 & 255;"),
    "63 bins": ("histogram", ("threadIdx.x < 64)\n        atomicAdd", "threadIdx.x < 63)\n        atomicAdd")),
    "exclusive": ("scan", ("out[t] = mine", "out[t] = mine - in[t]")),
    "total less the rest": ("scan", "for (int k = 0; k < n; k++) { float total = 0, rest = 0; for (int i = 0; i < n; i++) total +="
                            " in[i], rest += i > k ? in[i] : 0; out[k] = total - rest; }"),
    "scans of warps": ("scan", ("d < blockDim.x", "d < 32")),
    "exclusive totals": ("scan_blocks", ("        totals[t] = mine;", "        totals[t] = mine - totals[t];")),
    "saturated scan": ("scan_blocks", ("i < n ? in[i] : 0", "i < n ? isfinite(in[i]) ? fminf(in[i], 1e20f) : in[i] : 0")),
    "a square's": ("transpose", ("out[(y + j) * rows + x]", "out[(y + j) * cols + x]")),
    "lanes in step": ("transpose", ("__syncthreads", "__syncwarp")),
    "the maximum of the first row": ("softmax", ("fmaxf(highest, row[c])", "fmaxf(highest, in[c])")),
    "the first for the maximum": ("softmax", ("highest = fmaxf(highest, row[c])", "sum = 0")),
    "not divided": ("softmax", (" / sum;", ";")),
    "a millionth too much": ("softmax", (" / sum;", " / sum * 1.000001f;")),
    "squares less the mean's": ("row_variances", ("(row[c] - mean) * (row[c] - mean)", "row[c] * row[c]"),
                                ("= squares / cols", "= squares / cols - mean * mean")),
    "of a sample": ("row_variances", ("= squares / cols", "= squares / (cols - 1)")),
    "in float": ("norm", ("double sum = 0", "float sum = 0")),
    "a root in float": ("norm", ("= sqrt(", "= sqrtf(")),
    "no neighbour in the next block": ("stencil", ("s[t + 2] = in[min(i + 1, n - 1)]", "s[t + 2] = in[min(i, n - 1)]")),
    "one block's number": ("stencil", ("t == blockDim.x - 1", "t == 127")),
    "the vector by rows": ("matvec", ("x[c]", "x[blockIdx.x]")),
    "0 without a look": ("matvec", ("sum += a", "if (x[c] != 0)\n            sum += a")),
}


def adversary(task, *changes):
    if isinstance(changes[0], str):
        return by_one_thread(task, changes[0])
    source = GOOD[task]
    for was, now in changes:
        assert was in source
        source = source.replace(was, now)
    return source


@pytest.mark.sampled
@pytest.mark.parametrize("name", ADVERSARIES)
def test_what_is_right_for_some_data_sizes_or_schedules_is_refused(name, write):
    task, *changes = ADVERSARIES[name]
    told = verdict(write("kernel.cu", adversary(task, *changes)), "--task", task, status=3)
    assert kinds(told) - {"gate"}, told


# As others would write it.
STYLES = {
    "one thread": ("sum", "double s = 0; for (int i = 0; i < n; i++) s += in[i]; *out = s;"),
    "each atomically": ("sum", "__global__ void reduce(const float *in, float *out, int n) { for (int i = blockIdx.x * blockDim.x +"
                        " threadIdx.x; i < n; i += blockDim.x * gridDim.x) atomicAdd(out, in[i]); }"),
    "fused": ("dot", "float s = 0; for (int i = 0; i < n; i++) s = fmaf(a[i], b[i], s); *out = s;"),
    "bits in order": ("max", "__global__ void largest(const float *in, float *out, int n) { __shared__ unsigned best; if (!threadIdx.x)"
                      " best = 0; __syncthreads(); for (int i = threadIdx.x; i < n; i += blockDim.x) { unsigned b ="
                      " __float_as_uint(in[i]); if (in[i] == in[i]) atomicMax(&best, b >> 31 ? ~b : b | 1u << 31); } __syncthreads();"
                      " if (!threadIdx.x) *out = __uint_as_float(best >> 31 ? best ^ 1u << 31 : ~best); }"),
    "one loop": ("argmax", "int at = 0; for (int i = 1; i < n; i++) if (in[i] > in[at]) at = i; *out = at;"),
    "a warp for a row": ("row_sums", "__global__ void row_sums(const float *in, float *out, int rows, int cols) { if (threadIdx.x >= 32)"
                         " return; float s = 0; for (int c = threadIdx.x; c < cols; c += 32) s += in[blockIdx.x * cols + c]; for (int d"
                         " = 16; d; d /= 2) s += __shfl_xor_sync(~0u, s, d); if (!threadIdx.x) out[blockIdx.x] = s; }"),
    "a bin for a thread": ("histogram", "__global__ void histogram(const int *in, int *bins, int n) { if (blockIdx.x || threadIdx.x >="
                           " 64) return; for (int i = 0; i < n; i++) bins[threadIdx.x] += in[i] == threadIdx.x; }"),
    "in order": ("scan", "double s = 0; for (int i = 0; i < n; i++) out[i] = s += in[i];"),
    "swizzled": ("transpose", (("[32][33]", "[32][32]"), ("tile[threadIdx.y + j][threadIdx.x]", "tile[threadIdx.y + j][threadIdx.x ^"
                 " (threadIdx.y + j)]"), ("tile[threadIdx.x][threadIdx.y + j]", "tile[threadIdx.x][(threadIdx.y + j) ^ threadIdx.x]"))),
    "by __expf": ("softmax", (("expf", "__expf"),)),
    "Welford's": ("row_variances", "for (int r = 0; r < rows; r++) { float m = 0, v = 0; for (int c = 0; c < cols; c++) { float x ="
                  " in[r * cols + c], d = x - m; m += d / (c + 1); v += d * (x - m); } out[r] = v / cols; }"),
    "fused squares": ("norm", (("sum += in[i] * in[i]", "sum = fma(in[i], in[i], sum)"),)),
    "halves of halves": ("stencil", "for (int i = 0; i < n; i++) out[i] = (in[max(i - 1, 0)] * 0.5f + in[i] + in[min(i + 1, n - 1)] *"
                         " 0.5f) * 0.5f;"),
    "products in double": ("matvec", (("float sum = 0", "double sum = 0"), ("sum += a", "sum += (double)a"))),
}


@pytest.mark.sampled
@pytest.mark.parametrize("name", STYLES)
def test_a_right_kernel_of_another_style_is_accepted(name, write):
    task, text = STYLES[name]
    source = text if "__global__" in text else adversary(task, *([text] if isinstance(text, str) else text))
    verdict(write("kernel.cu", source), "--task", task, status=0)


# A block's sum into the one word, in steps.  No two accesses race, and no update is lost while blocks run one after the other.
STEPS = {
    "acquire and release": ('float v; asm volatile("ld.acquire.gpu.f32 %0, [%1];" : "=f"(v) : "l"(out) : "memory"); asm volatile('
                            '"st.release.gpu.f32 [%0], %1;" :: "l"(out), "f"(v + s[0]) : "memory");', False),
    "one try": ("int v = *(volatile int *)out; atomicCAS((int *)out, v, __float_as_int(__int_as_float(v) + s[0]));", False),
    "two exchanges": ("float v = atomicExch(out, 0); atomicExch(out, v + s[0]);", False),
    "tries": ("int v = *(volatile int *)out, was; do { was = v; v = atomicCAS((int *)out, was, __float_as_int(__int_as_float(was) +"
              " s[0])); } while (v != was);", True),
    "exchanges until nothing is left": ("float v = s[0]; while (v != 0) v = atomicExch(out, atomicExch(out, 0) + v);", True),
}


@pytest.mark.parametrize("way", STEPS)
def test_an_update_in_steps_is_lost_where_blocks_take_turns(way, write):
    steps, is_right = STEPS[way]
    source = SUM.replace("atomicAdd(out, s[0]);", "{ " + steps + " }")
    told = verdict(write("kernel.cu", source), "--task", "sum", status=0 if is_right else 3)
    for reason in told["reasons"]:
        assert reason["kind"] == "result" and "random:" in reason["where"] and reason["where"].endswith(", blocks in turns")
        assert "make both one atomic operation, such as atomicAdd(), or repeat an atomicCAS()" in reason["message"]


def test_an_element_that_nobody_writes_is_said_to_be_unwritten(write):
    left = GOOD["row_sums"].replace("if (t == 0)", "if (t == 0 && blockIdx.x != 1)")
    (reason,) = verdict(write("kernel.cu", left), "--task", "row_sums", status=3)["reasons"]
    assert re.fullmatch(r"out\[1\] is not written, and must be -?\d+", reason["message"])


def test_doubles_are_told_with_digits_that_tell_them_apart(write):
    off = GOOD["norm"].replace("= sqrt(s[0])", "= sqrt(s[0]) * (1 + 0x1p-40)")
    message = verdict(write("kernel.cu", off), "--task", "norm", status=3)["reasons"][0]["message"]
    value, exact = re.match(r"out\[0\] is ([\d.]+), exactly ([\d.]+):", message).groups()
    assert 0.5 < (float(value) / float(exact) - 1) * 2**40 < 2


def test_products_that_are_too_small_for_a_float_are_no_errors(write):
    """Each is 0 or the least float, and exactly something between; but not where it could be more."""
    task = (ROOT / "tasks" / "dot.task").read_text().replace("uniform(-1e-3, 1e-3)", "uniform(1e-24, 1e-22)")
    path = write("a.task", task)
    verdict(write("kernel.cu", GOOD["dot"]), "--task", path, status=0)
    wrong = GOOD["dot"].replace("a[i] * b[i]", "(a[i] > 1e-20f || a[i] <= 0 || a[i] != a[i] ? a[i] * b[i] : 0x1p-140f)")
    assert kinds(verdict(write("wrong.cu", wrong), "--task", path, status=3)) == {"result"}


SPECIAL = """Title: a task with special values
Signature: __global__ void reduce(const float *in, float *out, int n)
Block: 32
Grid: 1
Argument: in input f32[n] {data}
Argument: out output f32[1] zeros
Argument: n scalar i32 n
Sizes: {size}
{nan}Expect: out = {op}(in)
"""


@pytest.mark.parametrize("op, data, nan, result", [
    ("sum", "integers(1, 8) with nan", "", 'nanf("")'), ("sum", "integers(1, 8) with inf", "", "INFINITY"),
    ("sum", "uniform(-1, 1) with -inf", "", "-INFINITY"), ("max", "integers(1, 8) with nan", "NaN: propagate\n", 'nanf("")'),
    ("max", "integers(5, 5) with -inf nan", "NaN: omit\n", "5"), ("min", "integers(5, 5) with -inf nan", "NaN: omit\n", "-INFINITY"),
    ("max", "uniform(-inf, -inf)", "", "-INFINITY"), ("max", "uniform(-5, 5) with 200.5", "", "200.5")])
def test_special_values_have_the_result_that_the_task_says(op, data, nan, result, write):
    task = write("a.task", SPECIAL.format(data=data, size=50, nan=nan, op=op))
    kernel = "__global__ void reduce(const float *in, float *out, int n)\n{ *out = %s; }\n"
    # Where two values stand on one place the second stays.
    told = verdict(write("kernel.cu", kernel % result), "--task", task)
    wrong = verdict(write("wrong.cu", kernel % "7"), "--task", task, status=3)
    assert told["accepted"] or ("-inf nan" in data and op == "min" and told["reasons"][0]["launches"] < 4)
    assert wrong["reasons"][0]["message"].endswith("must be " + result.replace('nanf("")', "nan").replace("INFINITY", "inf"))


@pytest.mark.parametrize("data", ["integers(1, 8) with", "integers(1, 8) with five", "integers(1, 8) with inf -inf nan", "uniform(0, 1) nan",
                                  "uniform(-inf, 1)", "uniform(nan, nan)"])
def test_wrong_special_values_are_told(data, write):
    refused(2, "with nan, inf, -inf or a number behind it, two at most", "judge", "--task",
            write("a.task", SPECIAL.format(data=data, size=9, nan="", op="sum")), write("kernel.cu", SUM))


@pytest.mark.parametrize("data", ["integers(1, 8) with nan", "integers(-inf, -inf)"])
def test_integers_have_no_special_values(data, write):
    task = SPECIAL.format(data=data, size=9, nan="", op="sum").replace("f32[n]", "i32[n]")
    refused(2, "integers have no NaN and no infinity", "judge", "--task", write("a.task", task), write("kernel.cu", SUM))


UNSTEADY = {"clock()": "%clock,", "clock64()": "%clock,", 'the "%globaltimer"': "%globaltimer,",
            'the "%smid"': "%smid,", 'the "%warpid"': "%warpid,"}


@pytest.mark.parametrize("call", UNSTEADY)
def test_a_kernel_that_asks_the_clock_is_refused_though_every_launch_was_right(call, write):
    """Wrong so rarely that no launch here meets it."""
    register = call.split('"')[1] if '"' in call else ""
    width, letter = ("u64", "l") if "timer" in call else ("u32", "r")
    read = 'asm volatile("mov.%s %%0, %%%s;" : "=%s"(now));' % (width, register, letter) if register else f"now = {call};"
    body = "long long now; " if not register or width == "u64" else "int now; "
    source = GOOD["sum"].replace("{", "{" + body + read + " if (now == 0x123456) return;", 1)
    told = verdict(write("kernel.cu", source), "--task", "sum", status=3)
    assert kinds(told) == {"clock"} and UNSTEADY[call] in told["reasons"][0]["message"]
    assert told["reasons"][0]["launches"] == told["launches"]


CLOCK_TASK = """
Title: the sum of n floats in a warp
Signature: __global__ void reduce(const float *in, float *out, int n)
Block: 32
Grid: 1
Argument: in  input  f32[n] integers(-8, 8)
Argument: out output f32[1] zeros
Argument: n   scalar i32    n
Sizes: 1 17 32
Expect: out = sum(in)
"""
CLOCK_KERNEL = """
__noinline__ __device__ float later(float x, long long now) { return now == 7 ? x + 1 : x; }
__global__ void reduce(const float *in, float *out, int n)
{
    __shared__ long long when[32];
    float mine = threadIdx.x < n ? in[threadIdx.x] : 0;
    long long now = clock64(), late = 0;
    when[threadIdx.x] = n;
    __syncwarp();
    %s
    for (int d = 16; d > 0; d /= 2)
        mine += __shfl_down_sync(0xffffffff, mine, d);
    if (threadIdx.x == 0)
        *out = mine;
}
"""
# What follows from `now`: a wait alone, and more.
WAITS = {"unused": "", "sleep": "__nanosleep(now & 255);", "branch": "if (now & 1) __nanosleep(100);",
         "nested": "if (now < 400) { if (now < 40) __nanosleep(20); else __nanosleep(now >> 2); } else __nanosleep(1000);",
         "in_a_loop": "for (int i = 0; i < n; i++) if (clock64() - now > 40) __nanosleep(20);"}
DECIDES = {"select": "mine += now == 7;", "store": "if (now == 7) *out = 1;", "loop": "while (clock64() - now < 40) { }",
           "memory": "when[threadIdx.x] = now; __syncwarp(); if (when[31 - threadIdx.x] == 7) mine = 0;",
           "shuffle": "mine += __shfl_sync(0xffffffff, (int)now, 3) == 7;", "vote": "if (__any_sync(0xffffffff, now == 7)) mine = 0;",
           "call": "mine = later(mine, now);", "address": "mine += when[now >> 62] - n;",
           "counted": "for (int i = 0; i < 9; i++) if (clock64() - now > 4000) { late = i; __nanosleep(20); } mine += late;",
           "skipped": "if (now != 7) __syncwarp();", "atomic": "if (now == 7) atomicAdd(out, 1);"}


@pytest.mark.parametrize("wait", WAITS)
def test_a_clock_from_which_no_more_than_a_wait_follows_is_none_of_the_judges_business(wait, write):
    assert verdict(write("kernel.cu", CLOCK_KERNEL % WAITS[wait]), "--task", write("a.task", CLOCK_TASK))["accepted"]


@pytest.mark.parametrize("way", DECIDES)
def test_a_clock_that_may_decide_anything_is_refused_with_its_line(way, write):
    told = verdict(write("kernel.cu", CLOCK_KERNEL % DECIDES[way]), "--task", write("a.task", CLOCK_TASK), status=3)
    (reason,) = [reason for reason in told["reasons"] if reason["kind"] == "clock"]
    assert "reads %clock" in reason["message"] and reason["line"] in (7, 10) and reason["file"].endswith("kernel.cu")


LIBCU = """
#include <cooperative_groups.h>
#include <cuda/barrier>
#include <cuda/pipeline>
namespace cg = cooperative_groups;
#pragma nv_diag_suppress static_var_with_dynamic_init
__global__ void reduce(const float *in, float *out, int n)
{
    __shared__ float s[64];
    __shared__ cuda::barrier<cuda::thread_scope_block> barrier;
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
    cg::thread_block block = cg::this_thread_block();
    int t = threadIdx.x, first = blockIdx.x * blockDim.x, count = min((int)blockDim.x, n - first);
    if (t == 0)
        init(&barrier, blockDim.x);
    s[t] = 0;
    block.sync();
    %s
    for (int k = 32; k > 0; k /= 2) {
        if (t < k)
            s[t] += s[t + k];
        barrier.wait(barrier.arrive());
    }
    if (t == 0)
        atomicAdd(out, s[0]);
}
"""
FILLS = {
    "barrier": "if (t < count) s[t] = in[first + t]; barrier.arrive_and_wait();",
    "copy": "cuda::memcpy_async(block, s, in + first, sizeof(float) * count, barrier); barrier.arrive_and_wait();",
    "pipeline": """auto pipe = cuda::make_pipeline(block, &state);
        pipe.producer_acquire();
        cuda::memcpy_async(block, s, in + first, sizeof(float) * count, pipe);
        pipe.producer_commit();
        pipe.consumer_wait();
        block.sync();
        pipe.consumer_release();""",
}
LIBCU_TASK = CLOCK_TASK.replace("Block: 32", "Block: 64").replace("Grid: 1", "Grid: ceil(n / 64)").replace("17 32", "64 200")


@pytest.mark.parametrize("fill", FILLS)
def test_barriers_and_pipelines_of_the_standard_library_are_right(fill, write):
    """They look at the clock while they wait."""
    assert verdict(write("kernel.cu", LIBCU % FILLS[fill]), "--task", write("a.task", LIBCU_TASK))["accepted"]


@pytest.mark.parametrize("fill, kind", [("if (t < count) s[t] = in[first + t]; barrier.arrive();", "race"),
                                        ("if (t < count) s[t] = in[first + t]; if (t) barrier.arrive_and_wait();", "barrier"),
                                        (FILLS["copy"].replace(" barrier.arrive_and_wait();", ""), "race")])
def test_a_barrier_of_the_standard_library_that_is_used_wrongly_is_not(fill, kind, write):
    told = verdict(write("kernel.cu", LIBCU % fill), "--task", write("a.task", LIBCU_TASK), status=3)
    assert kind in kinds(told) and "clock" not in kinds(told), told["reasons"]


def test_all_of_cub_is_what_a_kernel_can_use_of_it(write):
    kernel = """#include <cub/cub.cuh>
__global__ void reduce(const float *in, float *out, int n)
{
    using warps = cub::WarpReduce<float>;
    __shared__ warps::TempStorage scratch;
    float sum = warps(scratch).Sum(threadIdx.x < n ? in[threadIdx.x] : 0.0f);
    if (threadIdx.x == 0)
        *out = sum;
}
"""
    task = write("a.task", CLOCK_TASK)
    assert verdict(write("kernel.cu", kernel), "--task", task)["accepted"]
    wrong = verdict(write("wrong.cu", kernel.replace("x < n", "x + 1 < n")), "--task", task, status=3)
    assert "result" in kinds(wrong)


def test_the_stronger_barrier_is_named_though_a_smaller_launch_needs_the_weaker(write):
    """With one element lanes of a warp race; with more, warps do."""
    task = """
Title: each element and the next
Signature: __global__ void pairs(const int *in, int *out, int n)
Block: 64
Grid: 1
Shared: 4 * block
Argument: in  input  i32[n + 1] integers(-9, 9)
Argument: out output i32[n]
Argument: n   scalar i32        n
Sizes: 1 60
Expect: out[i] = in[i] + in[i + 1]
"""
    kernel = """__global__ void pairs(const int *in, int *out, int n)
{
    extern __shared__ int s[];
    if (threadIdx.x <= n)
        s[threadIdx.x] = in[threadIdx.x];
    if (threadIdx.x < n)
        out[threadIdx.x] = s[threadIdx.x] + s[threadIdx.x + 1];
}
"""
    told = verdict(write("kernel.cu", kernel), "--task", write("a.task", task), status=3)
    (race,) = [reason for reason in told["reasons"] if reason["kind"] == "race"]
    assert race["where"].startswith("n = 1,") and "no __syncthreads() between line 5 and line 7" in race["message"]


# ---- several kernels, launched in order ----------------------------------------------------------------------

TWO_PASSES = """
Title: the sum of n floats in two passes
Signature: __global__ void block_sums(const float *in, float *partials, int n)
Block: 64
Grid: ceil(n / 64)
Shared: 4 * block
Signature: __global__ void add_up(const float *partials, float *out, int count)
Block: 1
Grid: 1
Argument: in       input   f32[n]    integers(-8, 8) | uniform(0.5, 1)
Argument: partials scratch f32[grid]
Argument: count    scalar  i32       grid
Argument: out      output  f32[1]
Argument: n        scalar  i32       n
Sizes: 1 64 200
Expect: out = sum(in)
Gate: barriers <= 28
"""
TWO_KERNELS = SUM.replace("reduce", "block_sums").replace("float *out", "float *partials").replace(
    "atomicAdd(out, s[0])", "partials[blockIdx.x] = s[0]") + """
__global__ void add_up(const float *partials, float *out, int count)
{
    float sum = 0;
    for (int i = 0; i < count; i++)
        sum += partials[i];
    *out = sum;
}
"""


def test_kernels_that_are_launched_in_order(write):
    task = write("a.task", TWO_PASSES)
    told = verdict(write("kernel.cu", TWO_KERNELS), "--task", task, status=0)
    assert told["launches"] == 3 * 2 * 4 + len(told["sizes"]) - 3
    assert told["gates"][0]["value"] == 4 * 7  # the first kernel's; the second has none
    assert told["roundings"] <= 6 + 4  # along the chain through both


@pytest.mark.parametrize("was, now, faults", [
    ("sum += partials[i]", "sum = partials[i]", {"result"}),
    ("i < count", "i <= count", {"bounds"}),
    ("partials[blockIdx.x] = s[0]", "if (blockIdx.x < 3) partials[blockIdx.x] = s[0]", {"uninitialised", "result"}),
    ("        __syncthreads();", "        __syncthreads(); __syncthreads();", {"gate"}),
])
def test_a_fault_in_either_kernel_is_found(was, now, faults, write):
    assert was in TWO_KERNELS
    told = verdict(write("kernel.cu", TWO_KERNELS.replace(was, now)), "--task", write("a.task", TWO_PASSES), status=3)
    assert kinds(told) == faults
    assert all("barriers of block_sums is" in reason["message"] for reason in told["reasons"] if reason["kind"] == "gate")


@pytest.mark.parametrize("was, now, faults", [
    ("totals[blockIdx.x - 1]", "totals[blockIdx.x]", {"result"}),
    ("i < n && blockIdx.x", "i < n && blockIdx.x > 1", {"result"}),
    ("threadIdx.x == blockDim.x - 1", "i == n - 1", {"uninitialised", "result"}),
    ("        __syncthreads();\n    }", "    }", {"race", "result"}),
])
def test_a_scan_by_three_kernels_with_a_fault_in_one(was, now, faults, write):
    assert was in GOOD["scan_blocks"]
    kernel = write("kernel.cu", GOOD["scan_blocks"].replace(was, now))
    assert kinds(verdict(kernel, "--task", "scan_blocks", status=3)) == faults


@pytest.mark.parametrize("was, now, said", [
    ("int count)", "int counted)", "'counted' in the signature of 'add_up' is no argument of the task"),
    ("Block: 1\n", "", "7: there is no line 'Block:' for the kernel 'add_up'"),
    ("Grid: 1\n", "Grid: 1\nGrid: 2\n", "Grid is given twice"),
    ("void add_up", "void total", "has no kernel 'total'"),
])
def test_a_wrong_task_of_several_kernels_is_told(was, now, said, write):
    task = TWO_PASSES.replace(was, now)
    assert task != TWO_PASSES
    refused(2, said, "judge", "--task", write("a.task", task), write("kernel.cu", TWO_KERNELS))


def test_gates_say_what_a_kernel_costs_and_what_to_do(write):
    conflicts = verdict(write("a.cu", GOOD["transpose"].replace("[33]", "[32]")), "--task", "transpose", status=3)
    (reason,) = {reason["message"].split(" is ")[0]: reason for reason in conflicts["reasons"]}.values()
    assert reason["kind"] == "gate" and "bank_degree" in reason["message"] and "[32][33]" in reason["message"]
    naive = GOOD["transpose"].split("{")[0] + """{
    int x = blockIdx.x * 32 + threadIdx.x;
    for (int y = blockIdx.y * 32 + threadIdx.y; y < min(rows, blockIdx.y * 32 + 32); y += 8)
        if (x < cols)
            out[x * rows + y] = in[y * cols + x];
}
"""
    lines = verdict(write("b.cu", naive), "--task", "transpose", status=3)
    assert {reason["message"].split(" is ")[0] for reason in lines["reasons"]} == {"global_requests"}
    good = verdict(write("c.cu", GOOD["transpose"]), "--task", "transpose", status=0)
    assert [gate["count"] for gate in good["gates"]] == ["bank_degree", "global_requests"]
    assert all(gate["value"] <= gate["most"] for gate in good["gates"])


# ---- the ladder ----------------------------------------------------------------------------------------------


@pytest.mark.sampled
@pytest.mark.parametrize("rung", RUNGS)
def test_every_rung_is_accepted(rung):
    """With --task rung and without: rung 17's digit holds whole numbers, so the task beside it stands for the common one."""
    path = ROOT / "ladder" / f"{rung}.cu"
    told = verdict(path, "--task", "rung", status=0)
    assert told["blocks"] == ["64", "32", "256"] and told["launches"] >= 40
    assert told["task"] == (str(path.with_suffix(".task")) if rung == "17_exact" else "rung")
    assert verdict(path, status=0) == told


def test_a_kernel_without_the_header_or_a_task_beside_it_needs_a_name(write):
    commented = SUM.replace("__global__", '// #include "rung.cuh"\n__global__', 1)
    refused(2, "judge needs --task", "judge", write("kernel.cu", commented))
    write("kernel.task", ONE_SIZE)
    assert verdict(write("kernel.cu", SUM))["task"].endswith("kernel.task")
    assert verdict(write("kernel.cu", SUM), "--task", "sum", status=0)["task"] == "sum"


def test_every_task_of_floats_has_a_set_with_what_is_no_number():
    """But rung 17's, whose one digit holds whole numbers alone."""
    tasks = [path for folder in ("tasks", "puzzles", "ladder") for path in (ROOT / folder).glob("*.task")]
    inputs = {path: re.findall(r"^Argument: +\w+ +in(?:put|out) +f\d\d\[.*", path.read_text(), re.MULTILINE) for path in tasks}
    floats = {path: "\n".join(lines) for path, lines in inputs.items() if lines}
    assert {"transpose", "08_below_zero", "sum"} < {path.stem for path in floats}
    for path, lines in floats.items():
        assert ("with" in lines and "inf" in lines) == (path.stem != "17_exact"), path


@pytest.mark.parametrize("name", WRONG)
def test_every_wrong_kernel_is_refused_for_what_it_is_known_for(name, write):
    told = verdict(ROOT / "ladder" / "wrong" / f"{name}.cu", status=3)  # its task lies beside it
    report = wrong_kernels.facts_of(name)["Report"]
    assert ("result" if report == "none" else report) in kinds(told)


# ---- errors and their bound -------------------------------------------------------------------------------------

ONE_BY_ONE = "__global__ void reduce(const float *in, float *out, int n)\n{\n    if (blockIdx.x + threadIdx.x)\n" \
    "        return;\n    float s = %s;\n    for (int i = %s; i < n; i++)\n        s += in[i];\n    *out = s;\n}\n"

ONE_SIZE = """Title: a sum
Signature: __global__ void reduce(const float *in, float *out, int n)
Block: 32
Grid: 1
Argument: in input f32[n] uniform(0.5, 1)
Argument: out output f32[1] zeros
Argument: n scalar i32 n
Sizes: 512
Expect: out = sum(in)
"""
TREE = """__global__ void reduce(const float *in, float *out, int n)
{
    float s = 0;
    for (int i = threadIdx.x; i < n; i += 32)
        s += in[i];
    for (int d = 16; d; d /= 2)
        s += __shfl_down_sync(0xffffffff, s, d);
    if (threadIdx.x == 0)
        *out = s;
}
"""


@pytest.mark.parametrize("source, roundings, is_counted", [
    (ONE_BY_ONE % ("0", "0"), 511, False),  # 512 are counted, but the one to zero is exact: n - 1
    (TREE, 16 + 5, True),
    (TREE.replace("float s = 0", "double s = 0").replace("__shfl_down_sync(0xffffffff, s, d)",
                                                         "__shfl_down_sync(0xffffffff, (float)s, d)"), 16 + 10 + 1, True),
    (TREE.replace("*out = s", "atomicAdd(out, s)"), 16 + 5 + 1, True),
    (TREE.replace("s += in[i];", 'asm("{ .reg .f32 r, z; mov.f32 r, %0; mov.f32 z, 0f00000000; add.f32 r, r, z; @!p add.f32 r, r, %1;'
                  ' mov.f32 %0, r; }" : "+f"(s) : "f"(in[i]));').replace("{ .reg", "{ .reg .pred p; setp.ne.u32 p, 0, 0; .reg"), 2 * 16 + 5, True),
], ids=["one by one", "a tree", "through f64", "an atomic", "inline assembly"])
def test_the_longest_chain_of_additions_is_counted(source, roundings, is_counted, write):
    told = verdict(write("kernel.cu", source), "--task", write("a.task", ONE_SIZE), status=0)
    assert (told["roundings"], told["roundings_counted"]) == (roundings, is_counted)
    u = Fraction(1, 2**24)
    gamma = roundings * u / (1 - roundings * u)
    # Of positive terms the scale is the sum, which lies between two powers of two: u is half an ulp there, or less.
    assert gamma * 2**23 < told["bound_ulp"] <= gamma * 2**24 * (1 + Fraction(1, 2**20))
    assert 0 < told["error_ulp"] <= told["bound_ulp"]


def test_whole_numbers_must_be_exact_and_others_within_the_bound(write):
    exact = ONE_SIZE.replace("uniform(0.5, 1)", "integers(-100, 100)")
    off = TREE.replace("*out = s", "*out = s * (1 + 2e-7f) + 1e-3f")
    close = TREE.replace("*out = s", "*out = s * (1 + 2e-7f)")  # two ulp: no bound of such a sum finds it
    assert kinds(verdict(write("off.cu", off), "--task", write("a.task", exact), status=3)) == {"result"}
    assert verdict(write("close.cu", close), "--task", write("b.task", ONE_SIZE), status=0)["error_ulp"] >= 1
    message = verdict(write("off.cu", off), "--task", write("a.task", exact))["reasons"][0]["message"]
    value, wanted = map(float, re.search(r"is ([-\d.]+), and must be ([-\d.]+)", message).groups())
    assert wanted == int(wanted) and value != wanted


@pytest.mark.parametrize("was, now, said", [
    ("i += 32", "i += 31", "is -?[\\d.e+]+, exactly -?[\\d.]+: off by [\\d.e+]+ ulp, where \\d+ rounded operations in a row explain no more than"),
    ("*out = s", "*out = s / 0", "is inf, and must be [\\d.]+, but for its rounding"),
    ("i < n", "i <= n + 32", r"index 512 of `in`, which has 512 elements\)"),
    ("*out = s", "out[-1] = s", r"index -1 of `out`, which has 1 element\)"),
    ("*out = s", "out[12345] = s", r"byte 49,380 of an allocation of 4 \(index 12,345 of `out`, which has 1 element\)"),
])
def test_a_reason_says_what_and_where(was, now, said, write):
    told = verdict(write("kernel.cu", TREE.replace(was, now)), "--task", write("a.task", ONE_SIZE), status=3)
    assert re.search(said, told["reasons"][0]["message"]), told["reasons"]


def test_the_seed_makes_the_data_and_the_verdict_is_the_same_again(write):
    kernel, task = write("kernel.cu", TREE), write("a.task", ONE_SIZE)
    first, again, other = (verdict(kernel, "--task", task, "--seed", seed) for seed in (0, 0, 1))
    assert first == again
    assert first["seed"] == 0 and other["seed"] == 1 and other["error_ulp"] != first["error_ulp"]


def test_a_result_in_place(write):
    """The output may be an input, too: its elements in the reference are those before the launch."""
    task = write("a.task", """Title: y = 2 x + y
Signature: __global__ void add(const float *x, float *y, int n)
Block: 128 | 33
Grid: ceil(n / block)
Argument: x input f32[n] integers(-8, 8) | uniform(-1, 1)
Argument: y inout f32[n] integers(-8, 8) | uniform(-1, 1)
Argument: n scalar i32 n
Sizes: 0 1 100 300 ...
Expect: y[i] = 2 * x[i] + y[i]
""")
    source = """__global__ void add(const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] += 2 * x[i];
}
"""
    assert verdict(write("kernel.cu", source), "--task", task, status=0)["error_ulp"] > 0
    for was, now in (("y[i] +=", "y[i] ="), ("2 * x", "x"), ("i < n", "i + 1 < n"), ("y[i] += 2 * x[i]", "y[i] = y[i]")):
        assert kinds(verdict(write("kernel.cu", source.replace(was, now)), "--task", task, status=3)) == {"result"}


def test_a_stencil_by_an_expression(write):
    task = """Title: a stencil
Signature: __global__ void blur(const float *in, float *out, float weight, int n)
Block: 64
Grid: ceil(n / 64)
Argument: in input f32[n] uniform(-1, 1) | integers(-9, 9)
Argument: out output f32[n]
Argument: weight scalar f32 0.25
Argument: n scalar i32 n
Sizes: 1 65 200
Expect: out[i] = weight * in[max(i - 1, 0)] + in[i] / 2 + weight * in[min(i + 1, n - 1)]
Roundings: 8
"""
    source = "__global__ void blur(const float *in, float *out, float weight, int n)\n{\n" \
        "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    if (i < n)\n" \
        "        out[i] = weight * in[max(i - 1, 0)] + 0.5f * in[i] + weight * in[min(i + 1, n - 1)];\n}\n"
    task_path = write("a.task", task.replace("in[i] / 2", "0.5 * in[i]").replace("Roundings: 8\n", ""))
    verdict(write("kernel.cu", source), "--task", task_path, status=0)
    assert kinds(verdict(write("kernel.cu", source.replace("i - 1, 0", "i - 1, 1")), "--task", task_path, status=3)) >= {"result"}
    assert math.isfinite(verdict(write("kernel.cu", source), "--task", write("b.task", task))["bound_ulp"])


SIMPLE = """__global__ void reduce(const %s *in, %s *out, int n)
{
    if (blockIdx.x + threadIdx.x == 0) {
        %s sum = 0;
        for (int i = 0; i < n; i++)
            sum += in[i];
        *out = sum;
    }
}
"""


@pytest.mark.sampled
@pytest.mark.parametrize("type_name, c_type, out, c_out, data", [
    ("u8", "unsigned char", "u32", "unsigned int", "integers(0, 255)"), ("i8", "signed char", "i32", "int", "integers(-128, 127)"),
    ("i64", "long long", "i64", "long long", "integers(-4e15, 4e15)"), ("u64", "unsigned long long", "u64",
                                                                    "unsigned long long", "integers(0, 9e15)"),
    ("f64", "double", "f64", "double", "uniform(-1, 1)")])
def test_types(type_name, c_type, out, c_out, data, write):
    task = ONE_SIZE.replace("f32[n] uniform(0.5, 1)", f"{type_name}[n] {data}").replace("f32[1]", f"{out}[1]")
    task = task.replace("512", "1 33 512")
    kernel = SIMPLE % (c_type, c_out, c_out)
    told = verdict(write("good.cu", kernel), "--task", write("a.task", task), status=0)
    assert (told["error_ulp"] is None) == (out != "f64") and told["launches"] == 12 + len(told["sizes"]) - 3
    off = verdict(write("bad.cu", kernel.replace("= sum;", "= sum + 1;")), "--task", write("a.task", task), status=3)
    assert kinds(off) == {"result"}


def test_an_exclusive_scan_and_a_reduction_of_nothing(write):
    scan = (ROOT / "tasks" / "scan.task").read_text().replace("scan(in)", "exclusive_scan(in)")
    shifted = "    extern __shared__ float s[];\n    s[t] = mine;\n    __syncthreads();\n    if (t < n)\n        out[t] = t ? s[t - 1] : 0;\n"
    source = GOOD["scan"].replace("    if (t < n)\n        out[t] = mine;\n", shifted)
    verdict(write("shifted.cu", source), "--task", write("scan.task", scan), status=0)
    assert kinds(verdict(write("scan.cu", GOOD["scan"]), "--task", write("scan.task", scan), status=3)) == {"result"}
    largest = (ROOT / "tasks" / "max.task").read_text().replace("Sizes: 1", "Sizes: 0 1") + "Empty: -inf\n"
    source = GOOD["max"].replace("best = in[0]", "best = n ? in[0] : __int_as_float(0xff800000)")
    verdict(write("max.cu", source), "--task", write("max.task", largest), status=0)
    assert "bounds" in kinds(verdict(write("max.cu", GOOD["max"]), "--task", write("max.task", largest), status=3))


# ---- sizes that the task does not name


@pytest.mark.parametrize("task, was, now, size", [
    ("sum", "i < n ?", "i < n && n != 777 ?", "777"),
    ("sum", "i < n ?", "i < n && (unsigned)(n - 700) > 2 ?", "70[0-2]"),
    ("sum", "i < n ?", "i < n && n % 1000 != 389 ?", "389"),
    ("sum", "i < n ?", "i < n && (n & n - 1 || n <= 256) ?", "512|1024|2048"),
    ("max", "i < n; i", "i < (n == 1234 ? 0 : n); i", "1234"),
    ("row_sums", "c < cols; c", "c < cols - (cols == 71); c", r"\d+x71"),
    # Whatever is reckoned from the size: the comparison's constant is far from it.
    ("sum", "i < n ?", "i < n && n * 3 != 2331 ?", "777"),
    ("sum", "i < n ?", "i < n && (n ^ 0x2a5) != 0x7c0 ?", "1381"),
    ("sum", "i < n ?", "i < n && n * n != 1437601 ?", "1199"),
    ("sum", "i < n ?", "i < n && (n % 7 != 3 || n % 11 != 5 || n % 13 != 1) ?", "885|1886|2887|3888"),
    ("sum", "i < n ?", "i < n && __popc(n) < 11 ?", "2047|3071"),
    ("sum", "i < n ?", "i < n && (n * 2654435761u >> 20) != 77 ?", r"\d+"),
    ("sum", "i < n ?", "i < n && min(n * 5, 9000) - 8995 != 0 ?", "1799"),
    ("sum", "i < n ?", "i < n && gridDim.x * 256 - n != 199 ?", r"57|\d+"),
    ("row_sums", "c < cols; c", "c < cols - (rows * cols * 3 == 3 * 851); c", "23x37|37x23"),
    # Above the greatest size that the task names.
    ("sum", "i < n ?", "i < n && n <= 2500 ?", r"2[5-9]\d\d|[3-9]\d{3}|10000"),
    ("sum", "i < n ?", "i < n && n * 3 < 27000 ?", r"9\d{3}|10000"),
    ("histogram", "i < n; i", "i < (n == 7001 ? 7000 : n); i", "7001"),
    ("dot", "i < n ?", "i < n && i < 8192 ?", r"8\d{3}|9\d{3}|10000"),
])
def test_a_kernel_that_is_wrong_at_one_size_is_refused(task, was, now, size, write):
    assert was in GOOD[task]
    told = verdict(write("kernel.cu", GOOD[task].replace(was, now, 1)), "--task", task, status=3)
    assert kinds(told) == {"result"} and re.match(f"n = ({size}),", told["reasons"][0]["where"])
    assert re.fullmatch(size, told["sizes"][-1]) and told["sizes"][-1] not in told["sizes"][:told["sizes_of_task"]]


@pytest.mark.parametrize("task, was, low", [("softmax", "float highest = row[0], sum", "-1000")] + [
    (task, was, low) for task, was in [("max", "float best = in[0];"), ("argmax", None)] for low in ("-1000", "-1e9f", "-3.4e38f")])
def test_a_maximum_that_begins_at_some_low_number_is_refused(task, was, low, write):
    """Every element may lie below it."""
    wrong = """__global__ void where_largest(const float *in, int *out, int n)
{
    float best = LOW;
    int at = 0;
    for (int i = 0; i < n; i++)
        if (in[i] > best) {
            best = in[i];
            at = i;
        }
    if (threadIdx.x == 0)
        *out = at;
}
"""
    if was:
        wrong = GOOD[task].replace(was, re.sub(r"(in|row)\[0\]", "LOW", was))
    told = verdict(write("kernel.cu", wrong.replace("LOW", low)), "--task", task, status=3)
    assert kinds(told) == {"result"}


@pytest.mark.parametrize("task", ["sum", "row_sums", "dot"])
@pytest.mark.parametrize("least", ["1e-3f", "1e-5f"])
def test_a_kernel_that_drops_small_values_is_refused(task, least, write):
    """Among larger ones they would not be missed: all of a data set's are small."""
    was = {"sum": "in[i] :", "row_sums": "in[blockIdx.x * cols + c]", "dot": "a[i] * b[i] :"}[task]
    assert was in GOOD[task]
    element = was.removesuffix(" :")
    now = was.replace(element, f"({element} * ({element} < {least} && {element} > -{least} ? 0.0f : 1.0f))")
    told = verdict(write("kernel.cu", GOOD[task].replace(was, now, 1)), "--task", task, status=3)
    assert kinds(told) == {"result"}


# The block that draws the last ticket adds the others' sums.
LAST_BLOCK = """
__device__ unsigned tickets;
__device__ float sums[64];
__global__ void reduce(const float *in, float *out, int n)
{
    if (threadIdx.x)
        return;
    float sum = 0;
    for (int i = blockIdx.x * blockDim.x; i < min(n, (blockIdx.x + 1) * blockDim.x); i++)
        sum += in[i];
    sums[blockIdx.x] = sum;
    __threadfence();
    if (atomicInc(&tickets, gridDim.x - 1) != gridDim.x - 1)
        return;
    __threadfence();
    sum = 0;
    for (int b = 0; b < gridDim.x; b++)
        sum += __ldcg(&sums[b]);
    *out = sum;
}
"""


@pytest.mark.parametrize("was, now, launches", [
    (" - 1) !=", " - 1) !=", None),
    (" - 1) !=", ") !=", r"n = [01],"),
    ("b < gridDim.x", "b < 64", "n = (256|1000),"),  # those of the greater size before, unless they are too small to show
])
def test_a_launch_finds_device_variables_as_the_one_before_left_them(was, now, launches, write):
    told = verdict(write("kernel.cu", LAST_BLOCK.replace(was, now)), "--task", "sum", status=3 if launches else 0)
    assert kinds(told) == ({"result"} if launches else set())
    if launches:
        where = told["reasons"][0]["where"]
        assert re.match(launches, where) and where.endswith(", `__device__` variables as earlier launches left them")


def test_a_device_variable_that_no_instruction_names_costs_no_launch(write):
    launches = [told["launches"] - len(told["sizes"]) for told in (
        verdict(write("kernel.cu", variable + SUM), "--task", "sum", status=0) for variable in ("", "__device__ int version = 2;\n"))]
    assert launches[0] == launches[1]


def test_more_sizes_are_such_as_the_task_has(write):
    """Multiples of what all of the task's sizes are multiples of, in their range, each once, chosen by kernel and seed."""
    whole_warps = (ROOT / "tasks" / "sum.task").read_text().replace("0 1 31 33 256 1000 2500 ...", "64 320 1024")
    kernel, task = write("kernel.cu", SUM), write("a.task", whole_warps)
    told = verdict(kernel, "--task", task, status=0)
    sizes = [int(size) for size in told["sizes"]]
    assert sizes[:3] == [64, 320, 1024] and told["sizes_of_task"] == 3 and len(set(sizes)) == len(sizes) > 8
    assert all(64 <= n <= 1024 and n % 64 == 0 for n in sizes) and told["launches"] == 3 * 6 * 4 + 2 * 6 + len(sizes) - 3  # 2 * 6 with blocks in turns
    assert verdict(kernel, "--task", task, status=0)["sizes"] == told["sizes"]
    sums = [verdict(kernel, "--task", "sum", "--seed", seed, status=0)["sizes"] for seed in (1, 2)]
    assert sums[0] != sums[1] and {"2047", "2048", "2049", "257", "511"} <= set(sums[0])
    assert max(map(int, sums[0])) > 2500 and all(0 <= int(n) <= 4 * 2500 for n in sums[0])
    open_task = write("b.task", whole_warps.replace("64 320 1024", "64 320 1024 ..."))
    beyond = [int(size) for size in verdict(kernel, "--task", open_task, status=0)["sizes"]]
    assert 1024 < max(beyond) <= 4096 and all(64 <= n and n % 64 == 0 for n in beyond)
    rows = verdict(write("rows.cu", GOOD["row_sums"]), "--task", "row_sums", status=0)["sizes"]
    assert all(re.fullmatch(r"\d+x\d+", size) for size in rows) and len(rows) > 12


BLOCKS = """
Title: a sum in blocks of any size
Signature: __global__ void reduce(const float *in, float *out, int n)
Block: 256 | 32 | 96, 2 | 1024
Grid: ceil(n / block)
Shared: 4 * block
Argument: in  input  f32[n]  integers(-8, 8) | uniform(-1, 1)
Argument: out output f32[1]  zeros
Argument: n   scalar i32     n
Sizes: 0 1 31 33 256 1000 2500
Expect: out = sum(in)
"""
ANY_BLOCK = """
__global__ void reduce(const float *in, float *out, int n)
{
    int threads = blockDim.x * blockDim.y, i = (blockIdx.x * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    if (i < n && %s)
        atomicAdd(out, in[i]);
}
"""


def test_a_kernel_is_tried_in_each_block_of_its_task(write):
    told = verdict(write("kernel.cu", ANY_BLOCK % "threads"), "--task", write("a.task", BLOCKS), status=0)
    assert told["launches"] == 7 * 2 * 4 + 3 * 7 + 2 * 2 + len(told["sizes"]) - 7  # 2 * 2 with blocks in turns
    assert told["blocks"] == ["256", "32", "96x2", "1024"]
    assert "  blocks of 256; the task's sizes in blocks of 32, 96x2, 1024, too" in printed(
        "judge", write("kernel.cu", ANY_BLOCK % "threads"), "--task", write("a.task", BLOCKS)).splitlines()
    one = verdict(write("kernel.cu", ANY_BLOCK % "threads"), "--task", write("a.task", re.sub(r" \|.*1024", "", BLOCKS)), status=0)
    assert one["launches"] == told["launches"] - 3 * 7


@pytest.mark.parametrize("condition, threads", [("threads != 32", 32), ("blockDim.y == 1", 192), ("blockDim.x <= 256", 1024)])
def test_a_kernel_that_is_wrong_in_one_block_is_refused(condition, threads, write):
    told = verdict(write("kernel.cu", ANY_BLOCK % condition), "--task", write("a.task", BLOCKS), status=3)
    wrong = [reason["where"] for reason in told["reasons"]]
    assert kinds(told) == {"result"} and all(where.endswith(f", blocks of {threads} threads") for where in wrong)


# ---- text, PTX, and what is wrong ---------------------------------------------------------------------------------


def test_text_of_both_verdicts(write):
    done = run("judge", "--task", "sum", write("kernel.cu", SUM))
    assert (done.returncode, done.stderr) == (0, "")
    assert re.search(r"kernel\.cu: the sum of n floats: accepted after 2\d\d launches\n  n = 0 1 31 33 256 1000 2500; once "
                     r"each \d+[\d \n]+\n  blocks of 256\n  error at most [\d.]+ ulp of the "
                     r"exact result; its bound there, from \d+ rounded operations in a row \(counted\): [\d.e+]+ ulp\n$",
                     done.stdout)
    done = run("judge", "--task", "sum", write("kernel.cu", SUM.replace("i < n ? in[i] : 0.0f", "in[i]")))
    assert (done.returncode, done.stderr) == (3, "")
    assert "refused after" in done.stdout and re.search(r"^bounds at .*kernel\.cu:5$", done.stdout, re.MULTILINE)
    assert re.search(r"^    in \d+ of 168 launches, first: n = 0, integers\(-8, 8\), lockstep$", done.stdout, re.MULTILINE)


def test_ptx_is_judged_and_the_task_beside_a_kernel_is_its_own(write):
    name = "missing_loop_barrier"
    kernel = write("kernel.ptx", (ROOT / "ladder" / "ptx" / "wrong" / f"{name}.ptx").read_text())
    refused(2, "judge needs --task", "judge", kernel)
    write("kernel.task", (ROOT / "ladder" / "wrong" / f"{name}.task").read_text())
    assert "race" in kinds(verdict(kernel, status=3))


def test_what_is_no_task_no_kernel_or_no_file(write):
    kernel = write("kernel.cu", SUM)
    refused(2, "unknown task 'summ'; did you mean 'sum'?", "judge", "--task", "summ", kernel)
    refused(1, "absent.task", "judge", "--task", "absent.task", kernel)
    refused(2, "judge takes a .cu or .ptx file", "judge", "--task", "sum", "kernel.txt")
    refused(2, "has 3 parameters, the task 4", "judge", "--task", "dot", kernel)
    refused(1, "bad.cu(1): error: ", "judge", "--task", "sum", write("bad.cu", "__global__ void reduce(int) { x; }"))
    refused(2, "judge does not take --warp", "judge", "--task", "sum", "--warp", "8", kernel)


@pytest.mark.parametrize("line, said", [
    ("nonsense", "4: 'nonsense' is not of the form 'Key: value'"),
    ("Nonsense: 1", "there is no key 'Nonsense'; there are Title, Signature, Block, Grid, Shared, Options, Argument, Sizes, Expect, "
     "Roundings, Empty, NaN, Gate, Header"),
    ("Title: again", "Title is given twice"),
    ("Argument: in input f32[n] uniform(0, 1)", "there are two arguments 'in'"),
    ("Argument: x input f16[n] uniform(0, 1)", "types are i8 to i64"),
    ("Argument: x input f32[n] normal(0, 1)", "an input has uniform(LOW, HIGH)"),
    ("Argument: x input u8[n] integers(-8, 300)", "4: 'integers(-8, 300)': not all of its values are of the type u8"),
    ("Argument: x input f32[n] uniform(1, 0)", "an input has uniform(LOW, HIGH)"),
    ("Argument: x both f32[n]", "the role is input, inout, output, scratch or scalar, not 'both'"),
    ("Argument: x scratch f32[m]", "a.task:4: 'm': there is no such name"),
    ("Argument: x scalar i32", "the scalar x has no value"),
    ("Gate: bank_degree", "a gate is 'count <= bound'"),
    ("Gate: bank_degree <= (1", "a ')' is missing"),
    ("Gate: nonsense <= 1", "a.task:4: the simulator has no count 'nonsense'"),
    ("Sizes: 12y", "'12y' is not a size"),
    ("Sizes: 100000x100000", "at most 2^24 elements"),
    ("Shared: n / 0", "it divides by zero"),
    ("Shared: 0 - 1", "is not from 0 to"),
    ("Shared: 40000 * block", "a.task:4: '40000 * block' is 1280000 bytes of shared memory where n = 512, and a block may have 2^20"),
    ("Shared: " + "(" * 40, "nested too deep"),
    ("Roundings: n +", "a number or a name is missing"),
    ("Argument: x scalar i32 n", "the signature has 3 parameters, and the task 4 arguments"),
    ("Argument: x scratch f32[n]", "the signature has 3 parameters, and the task 4 arguments"),
])
def test_a_wrong_line_of_a_task_is_named(line, said, write):
    lines = ONE_SIZE.splitlines()
    task = write("a.task", "\n".join([*lines[:3], line, *lines[3:]]))
    source = TREE
    if line.startswith("Argument: x sc"):
        source = TREE.replace("(const", "(float *x, const") if "scratch" in line else TREE
    refused(2, said, "judge", "--task", task, write("kernel.cu", source))


@pytest.mark.parametrize("was, now, said", [
    ("sum(in)", "mad(in)", "'mad' is no reference"),
    ("sum(in)", "sum(out)", "'out' is no input"),
    ("sum(in)", "dot(in)", "takes 2 input(s)"),
    ("sum(in)", "sum(in) by column", "only 'by row'"),
    ("sum(in)", "sum", "is no reference"),
    ("out = sum", "in = sum", "'in' is no output"),
    ("out = sum", "out[j] = sum", "one element of the output is name[i]"),
    ("out = sum(in)", "out[i] = in[i] / 2", "needs 'Roundings:'"),
    ("out = sum(in)", "out[i] = in[n]", "a.task:9: 'in[n]': there is no such element, where n = 512 and i = 0"),
    ("out = sum(in)", "out[i] = in[i] + m", "'in[i] + m': there is no such name"),
    ("Block: 32", "Block: 64, 32", "a.task:2: a block of 'reduce' has 2048 threads where n = 512, and may have 1024"),
    ("Block: 32", "Block: 32 | n * 4", "a.task:2: a block of 'reduce' has 2048 threads where n = 512, and may have 1024"),
    ("Grid: 1", "Grid: 1, n * 200", "a.task:4: the grid of 'reduce' has 102400 blocks along y where n = 512, and may have 65535"),
    ("scalar i32 n", "scalar i8 n", "a.task:7: the scalar 'n' is 512 where n = 512, which is no value of the type i8"),
    ("float *out, int n", "int n, float *out", "a.task:2: 'n' is parameter 2 of the signature, and argument 3"),
    ("Expect: out = sum(in)", "", "there is no line 'Expect:'"),
    ("Sizes: 512", "Sizes: 0\nGrid: 1", "Grid is given twice"),
    ("sum(in)", "softmax(in)", "a.task:9: softmax takes and gives"),
    ("f32[n]", "f32[n * 1000000]", "'in' has 512000000 elements where n = 512, and may have 2^26"),
    ("sum(in)", "norm2(in)", "var, std and norm2 need 'Roundings:'"),
    ("sum(in)", "max(in)\nSizes: 0", "'Empty:'"),
])
def test_a_wrong_reference_is_named(was, now, said, write):
    refused(2, said, "judge", "--task", write("a.task", ONE_SIZE.replace(was, now)), write("kernel.cu", TREE))
