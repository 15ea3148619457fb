"""The puzzles: each as it is shipped is refused for what its first comment says, and its solution, which is written down
here alone, is accepted."""

import json
import re

import pytest

from cli_helpers import ROOT, run
from kernel_helpers import has_nvcc, has_nvrtc

pytestmark = pytest.mark.skipif(not has_nvrtc() and not has_nvcc(), reason="neither NVRTC nor nvcc")

PUZZLES = sorted(path.stem for path in (ROOT / "puzzles").glob("*.cu"))

# What stands there, and what should.
SOLUTIONS = {
    "01_missing_barrier": ("tid + s];\n", "tid + s];\n        __syncthreads();\n"),
    "02_past_the_end": ("= in[i];", "= i < n ? in[i] : 0;"),
    "03_left_unwritten": ("    if (i < n)\n        sdata[tid] = in[i];", "    sdata[tid] = i < n ? in[i] : 0;"),
    "04_left_waiting": ("            __syncthreads();\n        }", "        }\n        __syncthreads();"),
    "05_lost_updates": ("bins[in[i]]++;", "atomicAdd(&bins[in[i]], 1);"),
    "06_many_blocks": ("*out = sdata[0];", "atomicAdd(out, sdata[0]);"),
    "07_last_warp": ("s /= 2)\n            sdata[tid] += sdata[tid + s];\n    }",
                     "s /= 2) {\n            if (tid < s)\n                sdata[tid] += sdata[tid + s];\n            __syncwarp();\n"
                     "        }\n    }"),
    "08_below_zero": ("float best = 0;", "float best = in[0];"),
    "09_whole_warps": ("s = 1; s < blockDim.x; s *= 2) {\n        if (tid % (2 * s) == 0)",
                       "s = blockDim.x / 2; s > 0; s /= 2) {\n        if (tid < s)"),
    "10_one_word": ("    if (i < n)\n        atomicAdd(out, in[i]);", """    extern __shared__ int sdata[];
    unsigned int tid = threadIdx.x;
    sdata[tid] = i < n ? in[i] : 0;
    __syncthreads();
    for (unsigned int s = blockDim.x / 2; s > 0; s /= 2) {
        if (tid < s)
            sdata[tid] += sdata[tid + s];
        __syncthreads();
    }
    if (tid == 0)
        atomicAdd(out, sdata[0]);"""),
    "11_whole_lines": ("c = lane * piece; c < min(cols, (lane + 1) * piece); c++)", "c = lane; c < cols; c += 32)"),
    "12_conflict_free": ("tile[32][32];", "tile[32][33];"),
}


def test_they_are_numbered_without_gaps_and_each_has_its_task():
    assert len(PUZZLES) >= 12 and sorted(SOLUTIONS) == PUZZLES
    assert sorted(path.stem for path in (ROOT / "puzzles").glob("*.task")) == PUZZLES
    assert [name[:2] for name in PUZZLES] == [f"{number:02}" for number in range(1, len(PUZZLES) + 1)]


@pytest.mark.sampled
@pytest.mark.parametrize("name", PUZZLES)
def test_a_puzzle_is_refused_and_its_solution_accepted(name, write):
    source = (ROOT / "puzzles" / f"{name}.cu").read_text()
    report = re.search(r"^// Report: (\w+)$", source, re.MULTILINE)[1]
    done = run("judge", ROOT / "puzzles" / f"{name}.cu", "--json")
    assert (done.returncode, done.stderr) == (3, "")
    kinds = [reason["kind"] for reason in json.loads(done.stdout)["reasons"]]
    assert kinds[0] == report and set(kinds) <= {report, "result"} and (report != "gate" or set(kinds) == {"gate"})

    was, now = SOLUTIONS[name]
    assert source.count(was) == 1
    done = run("judge", "--task", ROOT / "puzzles" / f"{name}.task", write(f"{name}.cu", source.replace(was, now)))
    assert (done.returncode, done.stderr) == (0, ""), done


# Natural answers that are wrong, and what the first reason must say.
WRONG = {
    "01_missing_barrier": ("tid + s];\n", "tid + s];\n        __syncwarp();\n", "race", "; nor one between line 17 of one round and line 17 of the next"),
    "05_lost_updates": ("bins[in[i]]++;", "((volatile int *)bins)[in[i]]++;", "race", "no atomic operation such as atomicAdd()"),
    "10_one_word": ("    if (i < n)\n        atomicAdd(out, in[i]);", """    __shared__ int sum;
    if (threadIdx.x == 0)
        sum = 0;
    if (i < n)
        atomicAdd(&sum, in[i]);
    __syncthreads();
    if (threadIdx.x == 0)
        atomicAdd(out, sum);""", "race", "no __syncthreads() between line 12 and line 14"),
}


@pytest.mark.parametrize("name", WRONG)
def test_the_first_reason_is_why_and_not_what_follows(name, write):
    was, now, kind, said = WRONG[name]
    source = (ROOT / "puzzles" / f"{name}.cu").read_text()
    done = run("judge", "--json", "--task", ROOT / "puzzles" / f"{name}.task", write(f"{name}.cu", source.replace(was, now)))
    reasons = json.loads(done.stdout)["reasons"]
    assert done.returncode == 3 and reasons[0]["kind"] == kind and said in reasons[0]["message"], reasons
    kinds = [reason["kind"] for reason in reasons]
    assert kinds == sorted(kinds, key=["race", "result", "gate"].index) and (name == "05_lost_updates" or "result" not in kinds)


# What puzzle 06 may end with instead of an atomicAdd(), by the thread that has the block's sum.
UPDATES = {
    "volatile": "*word += sum;",
    "fences around": "__threadfence();\n*word += sum;\n__threadfence();",
    "in a loop": "for (int k = 0; k < 2; k++)\n*word += k ? sum : 0;",
    "under a condition": "int old = *word;\nif (old + sum != old)\n*word = old + sum;",
}
IN_ORDER = {
    "a lock": "while (atomicCAS(kept, 0, 1))\n;\n__threadfence();\n*word += sum;\n__threadfence();\natomicExch(kept, 0);",
    "one after the other": "volatile int *turn = kept;\nwhile (*turn != blockIdx.x)\n;\n__threadfence();\n*out += sum;\n"
                           "__threadfence();\n*turn = (blockIdx.x + 1) % gridDim.x;",
    "a flag that all set": "volatile int *flag = kept;\nif (!*flag)\n*flag = 1;\natomicAdd(out, sum);",
    "a count that the last resets": "atomicAdd(out, sum);\n__threadfence();\nif (atomicAdd(kept, 1) == gridDim.x - 1)\n"
                                    "*(volatile int *)kept = 0;",
}


def ended(lines, write):
    """The verdict on puzzle 06 with these for its last line."""
    source = (ROOT / "puzzles" / "06_many_blocks.cu").read_text()
    end = "{\nvolatile int *word = out;\nint sum = sdata[0];\n" + lines + "\n}"
    kernel = write("kernel.cu", "__device__ int kept[2];\n" + source.replace("*out = sdata[0];", end))
    return json.loads(run("judge", kernel, "--task", ROOT / "puzzles" / "06_many_blocks.task", "--json").stdout)


@pytest.mark.parametrize("way", UPDATES)
def test_an_update_by_load_and_store_of_several_blocks_may_be_lost(way, write):
    """The accesses are atomic, each for itself, and blocks that run one after the other lose nothing."""
    (reason,) = ended(UPDATES[way], write)["reasons"]
    assert reason["kind"] == "race" and "no atomic operation such as atomicAdd()" in reason["message"]


@pytest.mark.parametrize("way", IN_ORDER)
def test_one_that_is_in_order_or_changes_nothing_is_not(way, write):
    assert ended(IN_ORDER[way], write)["accepted"]
