"""warpfold judge: kernels that fool nobody, and right ones that only look strange."""

import re

import pytest

from cli_helpers import ROOT
from judge_helpers import GOOD, SUM, kinds, verdict
from kernel_helpers import has_nvcc, has_nvrtc

pytestmark = pytest.mark.skipif(not has_nvrtc() and not has_nvcc(), reason="neither NVRTC nor nvcc")

ALONE = "if (blockIdx.x + threadIdx.x == 0) { %s }"

BODY_OF_SUM = SUM.split("{", 1)[1].rsplit("}", 1)[0]

WORSE = {
    "not a number": ("sum", ALONE % '*out = nanf("");', {"result"}),
    "the input": ("sum", ALONE % "if (n) *out = in[0];", {"result"}),
    "behind the input": ("sum", ALONE % "*out = in[n + 1];", {"bounds"}),
    "right for powers of two": ("sum", BODY_OF_SUM.replace("i < n", "i < (n & -n)"), {"result"}),
    "right unless n is odd and large": ("sum", ALONE % "for (int i = 0; i < n - (n > 2000); i++) *out += in[i];", {"result"}),
    "whole numbers only": ("sum", BODY_OF_SUM.replace("in[i]", "(float)(int)in[i]"), {"result"}),
    "sums of the launch before": ("sum", ALONE % "*out = kept; for (kept = 0; n--;) kept += in[n];", {"result"}),
    "atomics for barriers": ("sum", BODY_OF_SUM.replace("        __syncthreads();", "        atomicAdd(&kept, 1);"), {"race"}),
    "a race of few blocks and data": ("sum", BODY_OF_SUM.replace(
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
                                                                        "            s[t] += s[t + k];"), {"race"}),
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
                      " bins[in[i]]++;", {"race"}),
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


# One slip each of a kernel that is right otherwise.
SLIPS = {
    "bins that nobody began": ("histogram", "own[threadIdx.x] = 0;", ";", {"uninitialised"}),
    "around the edge": ("stencil", "in[max(i - 1, 0)]", "in[(i - 1 + n) % n]", {"result"}),
    "a barrier of some": ("row_sums", "            s[t] += s[t + k];\n        __syncthreads();",
                          "            { s[t] += s[t + k]; __syncthreads(); }", {"barrier"}),
    "a barrier on each side": ("matvec", "    s[t] = sum;\n    __syncthreads();",
                               "    s[t] = sum;\n    if (t < 32)\n        __syncthreads();\n    else\n        __syncthreads();", {"barrier"}),
    "gone before its zero": ("sum", "    s[t] = i < n", "    if (i >= n) return;\n    s[t] = i < n", {"uninitialised"}),
    "memory of the heap": ("dot", "    s[t] = i < n", "    *(volatile int *)malloc(4) = t;\n    s[t] = i < n", {"leak"}),
    "two at a time": ("row_sums", "sum += in[blockIdx.x * cols + c]", "sum += __ldg((const float2 *)(in + blockIdx.x * cols + c)).x",
                      {"misaligned", "bounds"}),
    "greatest of whoever is last": ("max", "    float best = in[0];", "    if (t == 0) *out = in[0];\n    __syncthreads();\n    for (int i ="
                                    " t; i < n; i += blockDim.x)\n        if (in[i] > *out) *out = in[i];\n    return;\n    float best = in[0];",
                                    {"race", "result"}),
    "the second block's too": ("scan_blocks", "i < n && blockIdx.x)", "i < n && blockIdx.x > 1)", {"result"}),
    "a thread's own part": ("softmax", "for (int c = 0; c < cols; c++)\n        sum", "for (int c = threadIdx.x; c < cols; c += blockDim.x)\n"
                            "        sum", {"result"}),
}


@pytest.mark.sampled
@pytest.mark.parametrize("name", SLIPS)
def test_a_slip_is_refused_for_what_it_is(name, write):
    task, was, now, faults = SLIPS[name]
    assert was in GOOD[task]
    assert kinds(verdict(write("kernel.cu", GOOD[task].replace(was, now)), "--task", task, status=3)) == faults


# What a result is instead of the right one, where its number tells.
INSTEAD = {
    "each block all": ("sum", "s[t] = i < n ? in[i] : 0.0f;", "s[t] = 0; for (i = t; i < n; i += blockDim.x) s[t] += in[i];",
                       "that is 4 times as much, and there are 4 blocks: each adds up all elements"),
    "one for each thread": ("row_sums", "c < cols; c += blockDim.x", "c < min(cols, blockDim.x); c += blockDim.x",
                            "that is the sum of the first 128 of 300 elements, one for each thread"),
    "from zero": ("max", "best = in[0]", "best = 0", "no element of `in` is that, as where the search begins with another number"),
    "bits": ("max", "best = fmaxf(best, in[i])", "best = __int_as_float(max(__float_as_int(-INFINITY), __float_as_int(in[i])))",
             "no element of `in` is that, and yet none took its place: how two are compared is wrong"),
    "no index": ("argmax", "*out = best[0]", "*out = in[best[0]] > -INFINITY ? best[0] : 0x7fffffff", "that is no index of an element"),
    "exclusive": ("scan", "out[t] = mine", "out[t] = t ? mine - in[t] : 0", "each is the sum of the elements before its own"),
    "the square": ("norm", "sqrt(s[0])", "s[0]", "that is its square: take the root"),
    "one less": ("row_variances", "/ cols;\n}", "/ (cols - 1);\n}", "divided by one less than the 31 elements"),
    "a float": ("norm", "sqrt(s[0])", "sqrtf(s[0])", "that is as far off as floats are"),
    "each thread of a block": ("sum", "    if (t == 0)\n", "", "that is 256 times as much, and a block has 256 threads: each adds the block's result"),
    "ones for nothing": ("dot", ": 0.0f", ": 1.0f", "that is 1 too much for each thread that has no element"),
    "half a block": ("max", "k = blockDim.x / 2", "k = blockDim.x / 4", "that is the largest of 128 of 256 elements, those of the first half of each block"),
    "no last step": ("sum", "k > 0", "k > 1", "that is the sum of 16 of 31 elements, those of every second thread"),
    "no last block": ("sum", "if (t == 0)", "if (t == 0 && blockIdx.x < gridDim.x - 1)", "768 of 1000 elements, all but the last block's"),
    "no last element": ("sum", "i < n ?", "i < n - 1 ?", "30 of 31 elements, all but the last one"),
    "the first block's": ("sum", "blockIdx.x * blockDim.x + t", "t", "256 of 1000 elements, the first block's, once for each block"),
    "bins of one loop": ("histogram", "for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)",
                         "if (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n)", "that is the histogram of the first 1024 of 2500 elements, one for each"),
    "the other extent": ("matvec", "c < cols", "c < rows", "3 of 31 elements, as many as there are rows: compare the index with the other extent"),
    "the other pitch": ("row_sums", "in[blockIdx.x * cols + c]", "in[blockIdx.x * rows + c]", "each row is taken to begin `rows` elements behind"),
    "a mean": ("row_sums", "= s[0];", "= s[0] / cols;", "that is the mean: do not divide by the number of the 31 elements"),
    "truncated": ("sum", "? in[i] :", "? (int)in[i] :", "that is a whole number, though the elements are not"),
    "the smallest": ("max", "fmaxf", "fminf", "that is the smallest: a comparison"),
    "a thread": ("argmax", "*out = best[0]", "*out = best[0] % blockDim.x", "that is the number of the thread which found it"),
    "from one": ("argmax", "*out = best[0]", "*out = best[0] + 1", "that is one more than the index"),
    "a root": ("row_variances", "= squares / cols", "= sqrtf(squares / cols)", "that is its root, the standard deviation"),
    "a warp's scan": ("scan", "d < blockDim.x", "d < 32", "each is the sum of the last 32 elements alone"),
    "backwards": ("scan", "if (t >= d)\n            mine += s[t - d];", "if (t + d < blockDim.x)\n            mine += s[t + d];",
                  "each is the sum from its own element to the last"),
    "no maximum": ("softmax", "row[c] - highest", "row[c]", "subtract the row's largest element first"),
    "no quotient": ("softmax", " / sum;", ";", "divide by the sum of the row's exponentials"),
    "an end": ("stencil", "in[max(i - 1, 0)]", "(i ? in[i - 1] : 0)", "only the first element or the last is wrong"),
    "borders": ("stencil", "in[max(i - 1, 0)]", "in[i]", "only elements of each block's first thread are wrong"),
    "no total for the last": ("scan_blocks", "i < n && blockIdx.x)", "i < n && blockIdx.x && blockIdx.x < gridDim.x - 1)",
                              "only elements of the last block are wrong"),
    "an infinity": ("sum", "? in[i] :", "? fmaxf(fminf(in[i], 1e38f), -1e38f) :", r"; in\[\d+\] is (inf|nan)"),
}


@pytest.mark.sampled
@pytest.mark.parametrize("name", INSTEAD)
def test_a_result_is_told_by_what_it_is_instead(name, write):
    task, was, now, said = INSTEAD[name]
    assert was in GOOD[task]
    told = verdict(write("kernel.cu", GOOD[task].replace(was, now)), "--task", task, status=3)
    assert any(reason["kind"] == "result" and re.search(said, reason["message"]) for reason in told["reasons"]), told["reasons"]


MIX = """__device__ unsigned mix(unsigned x) { x ^= x >> 16; x *= 0x7feb352du; x ^= x >> 15; x *= 0x846ca68bu; return x ^ x >> 16; }
"""


@pytest.mark.sampled
@pytest.mark.parametrize("task, store, value, bits", [
    ("sum", "out, s[0]", "s[0]", "__float_as_int(s[0])"), ("max", "*out = s[0]", "s[0]", "__float_as_int(s[0])"),
    ("row_sums", "] = s[0]", "s[0]", "__float_as_int(s[0])"), ("histogram", "own[threadIdx.x])", "own[threadIdx.x]", "own[threadIdx.x] * 64 + threadIdx.x"),
    ("scan", "= mine;\n}", "mine", "__float_as_int(mine) + t"), ("argmax", "*out = best[0]", "best[0]", "best[0] + n")])
@pytest.mark.parametrize("noise", ["{0} + (int)({1} % 9) - 4", "{0} + ({1} % 8 == 0) * 3", "(int)({1} % 17) - 8"])
def test_of_a_result_that_is_wrong_at_random_nothing_is_told(task, store, value, bits, noise, write):
    """But what is true of any such: that no element is that, or no index."""
    wrong = store.replace(value, noise.format(value, f"mix({bits})"))
    assert GOOD[task].count(store) == 1 and wrong != store
    reasons = verdict(write("kernel.cu", MIX + GOOD[task].replace(store, wrong)), "--task", task, status=3)["reasons"]
    (message,) = [reason["message"] for reason in reasons if reason["kind"] == "result"]
    assert re.fullmatch(r"[^;]*(; no element of `in` is that.*|; that is no index of an element: the first is 0, the last \d+)?", message), message


@pytest.mark.parametrize("task, changes, line, said", [
    ("transpose", [("if (x < rows && y + j < cols)\n", "")], 12, "a guard must leave that out"),
    ("transpose", [("if (x < rows && y + j < cols)", "if (x < rows)")], 13, "a guard must leave that out"),
    ("transpose", [("if (x < rows && y + j < cols)", "if (y + j < cols)")], 13, "it stores to other threads' elements, too"),
    ("transpose", [("out[(y + j) * rows + x]", "out[(y + j) * cols + x]")], 13, "it stores to other threads' elements, too"),
    ("transpose", [("in[(y + j) * cols + x]", "in[(y + j) * rows + x]")], 8, "results are those of other elements: the index is calculated wrongly"),
    ("row_sums", [("in[blockIdx.x * cols + c]", "in[c * cols + blockIdx.x]")], 8, "results are those of other elements: the index is calculated wrongly"),
])
def test_a_guard_or_a_pitch_that_is_wrong_is_one_reason(task, changes, line, said, write):
    source = GOOD[task]
    for was, now in changes:
        assert was in source
        source = source.replace(was, now)
    (reason,) = verdict(write("kernel.cu", source), "--task", task, status=3)["reasons"]
    assert (reason["kind"], reason["line"]) == ("bounds", line) and said in reason["message"] and "atomic" not in reason["message"], reason


def test_a_wrong_element_of_an_output_that_is_the_first_argument_is_told(write):
    """An input that the reference names nowhere first has no place among what hints look at."""
    task = "Title: halves\nSignature: __global__ void halves(float *out, const float *in, int n)\nBlock: 32\nGrid: ceil(n / 32)\n" \
        "Argument: out output f32[n]\nArgument: in input f32[n] uniform(1, 2)\nArgument: n scalar i32 n\nSizes: 40 100\n" \
        "Expect: out[i] = 0.5 * in[i]\n"
    kernel = "__global__ void halves(float *out, const float *in, int n)\n{\n    int i = blockIdx.x * 32 + threadIdx.x;\n" \
        "    if (i < n) out[i] = (int)(4 * in[i]);\n}\n"
    (reason,) = verdict(write("kernel.cu", kernel), "--task", write("halves.task", task), status=3)["reasons"]
    assert reason["kind"] == "result" and "that is a whole number, though the elements are not" in reason["message"]


def test_an_infinity_is_not_the_smallest_of_finite_elements(write):
    (reason,) = verdict(write("kernel.cu", GOOD["max"].replace("*out = s[0]", "*out = -INFINITY")), "--task", "max", status=3)["reasons"]
    assert "no element of `in` is that, and yet none took its place" in reason["message"]


@pytest.mark.parametrize("change", [("k = blockDim.x / 2", "k = blockDim.x / 4"), ("i < n", "i < n - 1"), ("i += blockDim.x", "i += blockDim.x + 1")])
def test_a_nan_is_no_reason_of_a_fault_that_others_show(change, write):
    assert change[0] in GOOD["max"]
    for reason in verdict(write("kernel.cu", GOOD["max"].replace(*change)), "--task", "max", status=3)["reasons"]:
        assert "is a NaN, which must be left out" not in reason["message"]


@pytest.mark.parametrize("place", ["s", "out"])
def test_the_plain_first_read_of_a_loop_with_an_exchange_is_told_with_its_cure(place, write):
    """As NVIDIA's guide writes it; formally that read races.  In blocks of two warps, as each thread waits for all others."""
    task = (ROOT / "tasks" / "sum.task").read_text()
    for was, now in (("Block: 256", "Block: 64"), ("n / 256", "n / 64"), ("256 1000 2500 ...", "200")):
        assert was in task
        task = task.replace(was, now)
    task = write("a.task", task)
    loop = """__device__ void add(float *p, float v)
{
    int *q = (int *)p;
    int old = *q, assumed;
    do {
        assumed = old;
        old = atomicCAS(q, assumed, __float_as_int(__int_as_float(assumed) + v));
    } while (assumed != old);
}
__global__ void reduce(const float *in, float *out, int n)
{
    __shared__ float s;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x == 0)
        s = 0;
    __syncthreads();
    if (i < n)
        add(%s, in[i]);
    __syncthreads();
    if (threadIdx.x == 0)
        atomicAdd(%s, s);
}
""" % {"s": ("&s", "out"), "out": ("out", "&s")}[place]
    verdict(write("kernel.cu", loop), "--task", task, status=0)
    deciding = loop.replace("do {", "if (old < 0) return; do {")
    (reason,) = verdict(write("used.cu", deciding), "--task", task, status=3)["reasons"][:1]
    assert reason["kind"] == "race" and {reason["line"], reason["other_line"]} == {4, 7}
    assert "line 4 reads by a plain load what others change by the atomicCAS() of line 7: read it by an atomic, too" in reason["message"]
    verdict(write("cured.cu", loop.replace("old = *q", "old = atomicCAS(q, 0, 0)")), "--task", task, status=0)


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
    "total less the rest": ("scan", "float total = 0, rest = 0; for (int i = 0; i < n; i++) total += in[i]; for (int k = n - 1; k >= 0;"
                            " k--) { out[k] = total - rest; rest += in[k]; }"),
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


@pytest.mark.parametrize("compared, is_tie", [(">=", True), ("<", False)])
def test_an_index_of_an_equal_element_is_told_as_that(compared, is_tie, write):
    """Not so an index of another element, or one behind the end."""
    body = f"int at = 0; for (int i = 1; i < n; i++) if (in[i] {compared} in[at]) at = i; *out = at;"
    (reason,) = verdict(write("kernel.cu", by_one_thread("argmax", body)), "--task", "argmax", status=3)["reasons"]
    got, wanted = re.match(r"out\[0\] is (\d+), and must be (\d+)", reason["message"]).groups()
    said = f": in[{got}] and in[{wanted}] are equal, both the largest, "
    assert (said in reason["message"]) == is_tie and (not is_tie or int(got) > int(wanted)), reason


@pytest.mark.parametrize("how, compared, least", [("equal", "==", 20), ("differ", "!=", 200)])
def test_what_goes_wrong_for_data_that_are_seldom_random_is_refused(how, compared, least, write):
    """Where all elements are equal, or where none is as the one before it, though they are whole numbers of few values."""
    body = "int all = n > %d; for (int i = 0; i < n; i++) { *out += in[i]; all &= (!i || in[i] %s in[i - 1]) && in[i] == truncf(in[i]); }"
    kernel = write("kernel.cu", by_one_thread("sum", body % (least, compared) + " *out += all;"))
    (reason,) = verdict(kernel, "--task", "sum", status=3)["reasons"]
    assert reason["kind"] == "result" and how in reason["where"] and reason["launches"] <= 2, reason


# As others would write it.
STYLES = {
    "one thread": ("sum", "double s = 0; for (int i = 0; i < n; i++) s += in[i]; *out = s;"),
    "each atomically": ("sum", "__global__ void reduce(const float *in, float *out, int n) { for (int i = blockIdx.x * blockDim.x +"
                        " threadIdx.x; i < n; i += blockDim.x * gridDim.x) atomicAdd(out, in[i]); }"),
    "lanes that have elements": ("sum", "__global__ void reduce(const float *in, float *out, int n) { int i = blockIdx.x * blockDim.x +"
                                 " threadIdx.x, lane = threadIdx.x % 32; unsigned mask = __ballot_sync(~0u, i < n); if (i < n) { float s ="
                                 " in[i]; for (int d = 16; d; d /= 2) { float other = __shfl_down_sync(mask, s, d); if (lane + d <"
                                 " __popc(mask)) s += other; } if (!lane) atomicAdd(out, s); } }"),
    "equal numbers at once": ("histogram", "__global__ void histogram(const int *in, int *bins, int n) { for (int i = blockIdx.x * blockDim.x"
                              " + threadIdx.x;; i += gridDim.x * blockDim.x) { unsigned mask = __ballot_sync(~0u, i < n); if (!mask) break;"
                              " if (i >= n) continue; unsigned same = __match_any_sync(mask, in[i]); if (threadIdx.x % 32 == __ffs(same) - 1)"
                              " atomicAdd(&bins[in[i]], __popc(same)); } }"),
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
    if (threadIdx.x || blockIdx.x)
        return;
    for (int i = 0; i < n; i++)
        if (in[i] > best) {
            best = in[i];
            at = i;
        }
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
