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
