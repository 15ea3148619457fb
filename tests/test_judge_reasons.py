"""warpfold judge: one fault is one reason, with its cure; two are two."""

import re

import pytest

from judge_helpers import GOOD, verdict
from kernel_helpers import has_nvcc, has_nvrtc

pytestmark = pytest.mark.skipif(not has_nvrtc() and not has_nvcc(), reason="neither NVRTC nor nvcc")


def reasons_of(task, changes, write):
    source = GOOD[task]
    for was, now in changes:
        assert was in source
        source = source.replace(was, now)
    return verdict(write("kernel.cu", source), "--task", task, status=3)["reasons"]


RIGHT_OTHERWISE = "; wrong results come from that: in an order without the race they are right"

# A race, and what it says.  Without the race every result is right, which the judge has seen.
RACES = {
    "before the tree": ("sum", ": 0.0f;\n    __syncthreads();", ": 0.0f;", "no __syncthreads() between line 5 and line 8"),
    "in the tree": ("sum", "s[t] += s[t + k];\n        __syncthreads();", "s[t] += s[t + k];", "no __syncthreads() between the load and the store of line 9"),
    "of doubles": ("norm", "= sum;\n    __syncthreads();", "= sum;", "no __syncthreads() between line"),
    "a scan's load and its store": ("scan", "mine += s[t - d];\n        __syncthreads();", "mine += s[t - d];", "no __syncthreads() between line 10 and line 7"),
    "a scan's store and its load": ("scan", "s[t] = mine;\n        __syncthreads();", "s[t] = mine;", "no __syncthreads() between line 7 and line 9"),
    "a function that is called twice": ("row_variances", "    float sum = s[0];\n    __syncthreads();", "    float sum = s[0];",
                                        "no __syncthreads() between line 13 and line 6"),
    "bins that are not yet 0": ("histogram", "= 0;\n    __syncthreads();", "= 0;", "no __syncthreads() between line 6 and line 8"),
    "bins that are not yet full": ("histogram", "1);\n    __syncthreads();", "1);", "no __syncthreads() between line 9 and line 11"),
    "bins without an atomic": ("histogram", "atomicAdd(&own[in[i]], 1)", "own[in[i]]++", "no atomic operation such as atomicAdd() at line 9"),
    "a tile": ("transpose", "    __syncthreads();\n", "", "no __syncthreads() between line 8 and line 12"),
    "a halo": ("stencil", "    __syncthreads();\n", "", "no __syncthreads() between line"),
}


@pytest.mark.parametrize("name", RACES)
def test_a_race_and_the_wrong_result_that_it_causes_are_one_reason(name, write):
    task, was, now, said = RACES[name]
    (reason,) = reasons_of(task, [(was, now)], write)
    assert reason["kind"] == "race" and said in reason["message"] and reason["message"].endswith(RIGHT_OTHERWISE), reason


@pytest.mark.parametrize("task, changes, said", [
    ("dot", [("0.0f;\n    __syncthreads();", "0.0f;"), ("i < n ?", "i < n - 1 ?")], "that is the sum of 30 of 31 elements, all but the last one"),
    ("row_sums", [("s[t] = sum;\n    __syncthreads();", "s[t] = sum;"), ("float sum = 0", "float sum = 1")], "out[0] is "),
    ("histogram", [("atomicAdd(&own[in[i]], 1)", "own[in[i]]++"), ("< 64)\n        atomicAdd", "< 63)\n        atomicAdd")], "only the last element is wrong"),
    ("stencil", [("    __syncthreads();\n", ""), ("0.5f", "0.25f")], "out[0] is "),
])
def test_a_result_that_is_wrong_without_the_race_too_is_a_reason_of_its_own(task, changes, said, write):
    """And is told as it is without the race, so that it says what it is instead."""
    reasons = reasons_of(task, changes, write)
    assert [reason["kind"] for reason in reasons] == ["race", "result"]
    assert said in reasons[1]["message"] and re.search(", (lockstep without the races|one thread after the other)$", reasons[1]["where"]), reasons


# What is undefined: no order of the launch tells what a result would be.
UNDEFINED = {
    "the last block's": ("sum", [("atomicAdd(out, s[0])", "*out = s[0]")], "race", "blocks overwrite each other's result: an element for each block, or an atomic"),
    "any thread's": ("row_sums", [("    if (t == 0)\n        out[blockIdx.x] = s[0]", "    out[blockIdx.x] = s[t]")], "race", "threads overwrite each other's result"),
    "half of the swap, x": ("transpose", [(", y = blockIdx.x * 32 + threadIdx.y;\n    for (int j = 0; j < 32; j += 8)\n        if (x < rows",
                                           ";\n    for (int j = 0; j < 32; j += 8)\n        if (x < rows")], "race", "only one of two coordinates has been exchanged"),
    "half of the swap, y": ("transpose", [("x = blockIdx.y * 32 + threadIdx.x, y = blockIdx.x", "y = blockIdx.x")], "race",
                            "only one of two coordinates has been exchanged"),
    "one row for all": ("softmax", [("out[blockIdx.x * cols + c]", "out[c]")], "race", "the block's number is missing"),
    "no halo": ("stencil", [("    if (t == 0)\n        s[0] = in[max(i - 1, 0)];\n", "")], "uninitialised",
                "only elements of each block's first thread are wrong: the neighbour before it is another block's, and must be loaded, too"),
}


@pytest.mark.parametrize("name", UNDEFINED)
def test_a_result_that_follows_from_an_undefined_value_is_no_reason_of_its_own(name, write):
    task, changes, kind, said = UNDEFINED[name]
    (reason,) = reasons_of(task, changes, write)
    assert reason["kind"] == kind and said in reason["message"] and RIGHT_OTHERWISE not in reason["message"], reason


TREE_IN_STEPS = """    __syncthreads();
    for (int d = 128; d > 0; d /= 2) {
        if (t < d)
            s[t] += s[t + d];
        __syncthreads();
    }
    if (t == 0)
        atomicAdd(out, s[0]);
}
"""
SUM = """__global__ void reduce(const float *in, float *out, int n)
{
    __shared__ float s[256];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
"""

# A student's kernel, and what each of its reasons says, in order.
WRITTEN = {
    "a total that nobody begins": ("sum", """__global__ void reduce(const float *in, float *out, int n)
{
    __shared__ float total;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        atomicAdd(&total, in[i]);
    __syncthreads();
    if (threadIdx.x == 0)
        atomicAdd(out, total);
}
""", [("uninitialised", "before the atomics, store what it begins with, such as 0, then __syncthreads()")]),
    "a return before the store": ("sum", SUM + "    if (i >= n)\n        return;\n    s[t] = in[i];\n" + TREE_IN_STEPS,
                                  [("uninitialised", "(line 7 stores there, but its condition, a return before it or its index leaves this element out")]),
    "a return before the store, of an array that the launch gives its size": (
        "sum", SUM.replace("__shared__ float s[256]", "extern __shared__ float s[]") + "    if (i >= n)\n        return;\n    s[t] = in[i];\n" + TREE_IN_STEPS,
        [("uninitialised", "(line 7 stores there, but its condition")]),
    "a store that is guarded": ("sum", SUM + "    if (i < n)\n        s[t] = in[i];\n" + TREE_IN_STEPS,
                                [("uninitialised", "where there is no element, a neutral one, as 0 for a sum)")]),
    "a first value from one block": ("sum", SUM + "    if (i == 0)\n        *out = 0;\n    s[t] = i < n ? in[i] : 0.0f;\n" + TREE_IN_STEPS,
                                     [("race", "may have updated it at line 15 before line 6 stores what it begins with: that belongs before the launch")]),
    "whoever has the largest": ("argmax", """__global__ void where_largest(const float *in, int *out, int n)
{
    __shared__ float s[256];
    int t = threadIdx.x;
    float m = in[0];
    for (int i = t; i < n; i += blockDim.x)
        m = fmaxf(m, in[i]);
    s[t] = m;
    __syncthreads();
    for (int d = 128; d > 0; d /= 2) {
        if (t < d)
            s[t] = fmaxf(s[t], s[t + d]);
        __syncthreads();
    }
    for (int i = t; i < n; i += blockDim.x)
        if (in[i] == s[0])
            *out = i;
}
""", [("race", "threads overwrite each other's result: an element for each, or one thread that stores it, or an atomic")]),
    "two barriers that are missing": ("histogram", """__global__ void histogram(const int *in, int *bins, int n)
{
    __shared__ int own[64];
    if (threadIdx.x < 64)
        own[threadIdx.x] = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)
        atomicAdd(&own[in[i]], 1);
    if (threadIdx.x < 64)
        atomicAdd(&bins[threadIdx.x], own[threadIdx.x]);
}
""", [("race", "no __syncthreads() between line 5 and line 7"), ("race", "no __syncthreads() between line 7 and line 9")]),
    "a sum in memory, which is read ahead of the loop": ("row_sums", """__global__ void row_sums(const float *in, float *out, int rows, int cols)
{
    if (threadIdx.x == 0)
        out[blockIdx.x] = 0;
    __syncthreads();
    for (int c = threadIdx.x; c < cols; c += blockDim.x)
        out[blockIdx.x] += in[blockIdx.x * cols + c];
}
""", [("race", "no atomic operation such as atomicAdd() at line 7, where threads read, change and write one element")]),
}


@pytest.mark.parametrize("name", WRITTEN)
def test_what_students_write_has_a_reason_for_each_fault_and_no_more(name, write):
    task, source, told = WRITTEN[name]
    reasons = verdict(write("kernel.cu", source), "--task", task, status=3)["reasons"]
    assert [reason["kind"] for reason in reasons] == [kind for kind, _ in told], reasons
    assert all(said in reason["message"] for reason, (_, said) in zip(reasons, told)), reasons


LOAD = "    s[t] = i < n ? in[i] : 0.0f;\n"
LOOP = "    float sum = 0;\n    for (; i < n; i += %s)\n        sum += in[i];\n    s[t] = sum;\n"

# What a wrong result is, by its numbers or the types of the kernel's parameters.
TOLD = {
    "blocks that overlap": ("sum", SUM.replace("blockIdx.x * blockDim.x", "blockIdx.x * gridDim.x") + LOAD + TREE_IN_STEPS,
                            "that is the sum if a block begins gridDim.x elements behind the one before"),
    "a step of one block": ("sum", SUM + LOOP % "blockDim.x" + TREE_IN_STEPS,
                            "each block takes its own elements and those of all blocks behind it: the loop must go on by gridDim.x * blockDim.x elements"),
    "pointers to int": ("sum", (SUM + LOAD + TREE_IN_STEPS).replace("float", "int"), "the kernel takes `in` for int *, but its elements are f32: __global__ void "
                        "reduce(const float *in, float *out, int n)"),
    "pointers to bytes": ("histogram", GOOD["histogram"].replace("const int *in", "const unsigned char *in"), "the kernel takes `in` for unsigned char *, but its "
                          "elements are i32: __global__ void histogram(const int *in, int *bins, int n)"),
    "an atomic on int": ("sum", """__global__ void reduce(const float *in, float *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        atomicAdd((int *)out, (int)in[i]);
}
""", "its bits are those of the right number as an int: it is stored or updated through an int *"),
    "the bits of negative floats": ("max", """__global__ void largest(const float *in, float *out, int n)
{
    __shared__ int best;
    if (threadIdx.x == 0)
        best = __float_as_int(in[0]);
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        atomicMax(&best, __float_as_int(in[i]));
    __syncthreads();
    if (threadIdx.x == 0)
        *out = __int_as_float(best);
}
""", "that is the smallest, of negative numbers: a comparison is the wrong way round, or the bits of floats are compared as those of integers"),
}


@pytest.mark.parametrize("name", TOLD)
def test_a_wrong_result_tells_its_cause(name, write):
    task, source, said = TOLD[name]
    (reason,) = verdict(write("kernel.cu", source), "--task", task, status=3)["reasons"]
    assert reason["kind"] == "result" and said in reason["message"], reason


def test_types_that_agree_with_the_task_are_never_blamed(write):
    """Those that a mangled name refers to by number, too: `PKfS0_Pfi`. Vectors and templates are not known."""
    for task, parameters in (("dot", "const float *a, const float *b, float *out"), ("dot", "const float4 *a, const float *b, float *out"),
                             ("dot", "const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ out")):
        source = f"__global__ void dot({parameters}, int n)\n{{\n    if (threadIdx.x == 0)\n        atomicAdd(out, 1.0f);\n}}\n"
        (reason,) = verdict(write("kernel.cu", source), "--task", task, status=3)["reasons"]
        assert reason["kind"] == "result" and "the kernel takes" not in reason["message"], reason
    source = "__global__ void dot(const float *a, const double *b, float *out, int n)\n{\n    if (threadIdx.x == 0)\n        atomicAdd(out, 1.0f);\n}\n"
    (reason,) = verdict(write("kernel.cu", source), "--task", "dot", status=3)["reasons"]
    assert "the kernel takes `b` for double *, but its elements are f32" in reason["message"], reason


GUARDS = "x < cols && y + j < rows", "x < rows && y + j < cols"


@pytest.mark.parametrize("changes, lines, said", [
    ([(f"        if ({GUARDS[0]})\n", ""), (f"        if ({GUARDS[1]})\n", "")], (7, 11), "line 11 goes beyond the end of `out`, too: each needs a guard of its own"),
    ([(GUARDS[0], "x < cols"), (GUARDS[1], "x < rows")], (8, 13), "line 13 goes beyond the end of `out`, too: each needs a guard of its own"),
    ([(GUARDS[0], "y + j < rows"), (GUARDS[1], "y + j < cols")], (8, 13), "it stores to other threads' elements, too"),
    ([("in[(y + j) * cols + x]", "in[(y + j) * rows + x]"), ("out[(y + j) * rows + x]", "out[(y + j) * cols + x]")], (8, 13),
     "`in`, too: both take the other extent for the length of a row"),
])
def test_guards_that_lack_and_pitches_that_are_exchanged_are_one_reason(changes, lines, said, write):
    (reason,) = reasons_of("transpose", changes, write)
    assert reason["kind"] == "bounds" and {reason["line"], reason["other_line"]} == set(lines) and said in reason["message"], reason


@pytest.mark.parametrize("changes, kinds", [
    ([("tile[threadIdx.x][threadIdx.y + j]", "tile[threadIdx.y + j][threadIdx.x]")], ["result"]),
    ([("tile[threadIdx.y + j][threadIdx.x] = in", "tile[threadIdx.x][threadIdx.y + j] = in")], ["result"]),
    ([("tile[threadIdx.x][threadIdx.y + j]", "tile[threadIdx.y + j][threadIdx.x] + 1")], ["uninitialised", "result"]),
])
def test_tiles_that_are_not_transposed_in_themselves_are_one_reason(changes, kinds, write):
    """Where they are not full, what nobody loaded is read there, too. The last one has another fault."""
    reasons = reasons_of("transpose", changes, write)
    assert [reason["kind"] for reason in reasons] == kinds
    assert (len(kinds) == 1) == ("not transposed in itself: of 5 x 31 elements of `out`, 20 have row and column exchanged within their tile"
                                 in reasons[-1]["message"]), reasons  # of the first 5 x 5, all but those of the diagonal


TREE = """__global__ void reduce(const float *in, float *out, int n)
{
    extern __shared__ float s[];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    s[t] = i < n ? in[i] : 0.0f;
    __syncthreads();
    for (int k = 1; k < blockDim.x; k *= 2) {
        if (t % k == 0)
            s[t] += s[t + k];
        __syncthreads(); // between rounds
    }
    if (t == 0)
        atomicAdd(out, s[0]);
}
"""


def test_a_condition_that_lets_too_many_threads_in_is_one_reason(write):
    """It reads beyond the array and what others store there; a barrier that is missing between rounds is another."""
    (reason,) = verdict(write("kernel.cu", TREE), "--task", "sum", status=3)["reasons"]
    assert (reason["kind"], reason["line"]) == ("bounds", 9) and "the condition lets too many threads in" in reason["message"]
    reasons = verdict(write("kernel.cu", TREE.replace("        __syncthreads(); // between rounds\n", "")), "--task", "sum", status=3)["reasons"]
    assert [reason["kind"] for reason in reasons] == ["bounds", "race"] and " of one round " in reasons[1]["message"]


def test_a_load_and_a_store_with_faults_of_their_own_are_two_reasons(write):
    """Where threads are as many as elements, too, the store goes beyond the end."""
    reasons = reasons_of("transpose", [(f"        if ({GUARDS[0]})\n", ""), ("out[(y + j) * rows + x]", "out[(y + j) * rows + x + 8]")], write)
    assert [reason["kind"] for reason in reasons] == ["bounds", "bounds"]


# What of the transpose's guards is changed, the line that leaves its array, and what is said of it.
LOAD, STORE, BOTH = "x < cols && y + j < rows", "x < rows && y + j < cols", " alone is below its extent, and both must be: && in place of ||"
GUARDS_OF_TWO = {
    "the load's": ([(LOAD, LOAD.replace("&&", "||"))], 8, "line 7 lets threads through of which `x` or `y`" + BOTH),
    "the store's": ([(STORE, STORE.replace("&&", "||"))], 13, "line 12 lets threads through of which `x` or `y`" + BOTH),
    "one is not compared": ([(LOAD, "x < cols")], 8, "only `x` is compared with an extent: a guard must compare `y` with its own, too, "
                            "unless the index is calculated wrongly"),
}


@pytest.mark.parametrize("name", GUARDS_OF_TWO)
def test_of_a_guard_of_two_dimensions_it_is_said_what_it_lacks(name, write):
    """As by inspect, without values of `y`, as `y + j` is the row."""
    changes, line, said = GUARDS_OF_TWO[name]
    reason = reasons_of("transpose", changes, write)[0]
    assert (reason["kind"], reason["line"]) == ("bounds", line)
    assert "which has 1 element); " + said in reason["message"] and "too little is allocated" not in reason["message"], reason["message"]


WITHOUT_TILES = """__global__ void transpose(const float *in, float *out, int rows, int cols) {
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    if (x >= cols && y >= rows) return;
    out[x * rows + y] = in[x + y * cols];
}
"""


def test_where_the_indices_are_known_they_are_told(write):
    reason = verdict(write("kernel.cu", WITHOUT_TILES), "--task", "transpose", status=3)["reasons"][0]
    assert "; `x` is 1 and `y` is 0 here; line 3 sends threads away only where both `x` and `y` are beyond their extents: || in place of &&" in reason["message"]


def test_a_guard_that_lets_one_index_too_many_through_is_told_as_that(write):
    """Also where there is no element, and memory for none."""
    (reason,) = reasons_of("sum", [("i < n", "i <= n")], write)
    assert reason["kind"] == "bounds" and "; line 5 lets `i` be equal to `n`, which is one too many: < in place of <=" in reason["message"]
    assert "allocated" not in reason["message"].partition("`in`")[2] and "n = 0, " in reason["where"], reason
