"""warpfold judge: a verdict of each task and of the ladder, what it says and counts, and the bound of errors.

What the simulator finds and counts is tested with its kernels; here, that a verdict follows from it."""

import re
import sys
from fractions import Fraction

import pytest

from cli_helpers import ROOT, refused, run
from judge_helpers import GOOD, ONE_SIZE, SUM, TREE, kinds, verdict
from kernel_helpers import has_nvcc, has_nvrtc

sys.path.insert(0, str(ROOT / "ladder" / "wrong"))
import wrong_kernels  # noqa: E402

pytestmark = pytest.mark.skipif(not has_nvrtc() and not has_nvcc(), reason="neither NVRTC nor nvcc")

TASKS = sorted(path.stem for path in (ROOT / "tasks").glob("*.task"))
RUNGS = sorted(path.stem for path in (ROOT / "ladder").glob("[0-9]*.cu"))
WRONG = sorted(path.stem for path in (ROOT / "ladder" / "wrong").glob("*.cu"))


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


def test_an_element_that_nobody_writes_is_said_to_be_unwritten(write):
    left = GOOD["row_sums"].replace("if (t == 0)", "if (t == 0 && blockIdx.x != 1)")
    (reason,) = verdict(write("kernel.cu", left), "--task", "row_sums", status=3)["reasons"]
    assert re.fullmatch(r"out\[1\] is not written, and must be -?\d+: the index that is stored to, or the guard of the store, "
                        r"leaves out 1 of \d+ elements", reason["message"])
    assert reason["line"] == next(number for number, line in enumerate(left.splitlines(), 1) if "out[blockIdx.x] =" in line)


COPY = """__global__ void transpose(const float *in, float *out, int rows, int cols)
{
    int x = blockIdx.x * 32 + threadIdx.x;
    for (int y = blockIdx.y * 32 + threadIdx.y; y < min(rows, (blockIdx.y + 1) * 32); y += 8)
        if (x < cols) out[y * cols + x] = in[y * cols + x];
}
"""


def test_a_value_that_belongs_elsewhere_is_said_to(write):
    """The first size in which that is seen has 31 rows: what is in column 1 of row 0 belongs in row 1."""
    (reason,) = verdict(write("kernel.cu", COPY), "--task", "transpose", status=3)["reasons"]
    assert re.match(r"out\[1\] is -?\d+, and must be -?\d+; that belongs in out\[31\]: an index, ", reason["message"])


def test_a_guard_that_compares_with_the_other_extent_is_one_finding(write):
    swapped = COPY.replace("y < min(rows,", "y < min(cols,").replace("x < cols", "x < rows").replace("out[y * cols + x]", "out[x * rows + y]")
    told = verdict(write("kernel.cu", swapped), "--task", "transpose", status=3)["reasons"]
    (reason,) = [reason for reason in told if reason["kind"] != "gate"]
    assert (reason["kind"], reason["line"]) == ("bounds", 5) and "of `in`, which has 33 elements" in reason["message"]
    assert reason["message"].endswith("the guard leaves out others, for elements are not written: it may compare an index with the other extent")


SWAP = "    x = blockIdx.y * 32 + threadIdx.x, y = blockIdx.x * 32 + threadIdx.y;\n"


@pytest.mark.parametrize("guard", ["x < rows && y + j < cols", "x < cols && y + j < rows"])
def test_tiles_that_are_stored_where_they_were_loaded_are_told_as_that(guard, write):
    """Whether elements are left out, or a guard as that of the load lets blocks overwrite each other's tiles and go beyond the end."""
    assert SWAP in GOOD["transpose"]
    kernel = write("kernel.cu", GOOD["transpose"].replace(SWAP, "").replace("x < rows && y + j < cols", guard))
    told = verdict(kernel, "--task", "transpose", status=3)["reasons"]
    (reason,) = [reason for reason in told if reason["kind"] != "gate"]
    assert (reason["kind"], reason["line"]) == ("result", 12) and "exchange blockIdx.x and blockIdx.y" in reason["message"]
    assert re.search(r"of 40 x 33 elements of `out`, \d+ belong in the tile across the diagonal;", reason["message"])


@pytest.mark.parametrize("was, now", [
    (SWAP, "    x = blockIdx.y * 32 + threadIdx.x;\n"), (SWAP, "    y = blockIdx.x * 32 + threadIdx.y;\n"),
    (SWAP, "    if (blockIdx.x > blockIdx.y) tile[threadIdx.x][threadIdx.y] += 1;\n"),
    ("tile[threadIdx.x][threadIdx.y + j];", "tile[threadIdx.y + j][threadIdx.x];"),
    ("= tile[threadIdx.x][threadIdx.y + j];", "= tile[threadIdx.x][threadIdx.y + j] * (blockIdx.x + blockIdx.y ? 2 : 1);")])
def test_tiles_with_another_fault_are_not_told_as_that(was, now, write):
    assert was in GOOD["transpose"]
    told = verdict(write("kernel.cu", GOOD["transpose"].replace(was, now)), "--task", "transpose", status=3)["reasons"]
    assert {"result", "race"} & {reason["kind"] for reason in told} and not any("diagonal" in reason["message"] for reason in told)


def test_tiles_that_stay_hide_no_race_in_shared_memory(write):
    kernel = GOOD["transpose"].replace(SWAP, "").replace("    __syncthreads();\n", "")
    told = verdict(write("kernel.cu", kernel), "--task", "transpose", status=3)["reasons"]
    assert any(reason["kind"] == "race" and "no __syncthreads()" in reason["message"] for reason in told)


def test_guards_of_load_and_store_that_are_wrong_alike_are_one_finding(write):
    kernel = GOOD["transpose"].replace("x < cols && y + j < rows", "x <= cols && y + j <= rows").replace(
        "x < rows && y + j < cols", "x <= rows && y + j <= cols")
    (reason,) = verdict(write("kernel.cu", kernel), "--task", "transpose", status=3)["reasons"]
    assert (reason["kind"], reason["line"], reason["other_line"]) == ("bounds", 8, 13)
    assert "`in`, which has 1 element); a guard must leave that out, unless the index is calculated wrongly; line 13 goes beyond the end of `out`, " \
        "too: as far, so the guards of both are wrong alike" in reason["message"]


def test_guards_of_load_and_store_with_the_other_extents_are_one_finding(write):
    kernel = GOOD["transpose"].replace("x < cols && y + j < rows", "@").replace("x < rows && y + j < cols", "x < cols && y + j < rows").replace(
        "@", "x < rows && y + j < cols")
    (reason,) = verdict(write("kernel.cu", kernel), "--task", "transpose", status=3)["reasons"]
    assert (reason["kind"], reason["line"], reason["other_line"]) == ("bounds", 8, 13)
    assert "it may compare an index with the other extent; likewise at line 13, of `out`" in reason["message"]


def test_blocks_that_store_a_result_each_where_there_is_one_are_told_to_combine_theirs(write):
    (reason,) = verdict(write("kernel.cu", SUM.replace("atomicAdd(out, s[0])", "out[blockIdx.x] = s[0]")), "--task", "sum", status=3)["reasons"]
    assert reason["kind"] == "bounds" and reason["message"].endswith(
        "(index 1 of `out`, which has 1 element); the result is one element of all blocks: combine theirs by an atomic, such as atomicAdd()")


def test_a_largest_that_keeps_or_loses_by_a_nan_is_told_why(write):
    kept = re.sub(r"fmaxf\(([^()]*), ([^()]*)\)", r"(\1 > \2 ? \1 : \2)", GOOD["max"])
    assert kept != GOOD["max"]
    told = verdict(write("kernel.cu", kept), "--task", "max", status=3)["reasons"]
    assert all(re.search(r"; in\[\d+\] is a NaN, which must be left out: fmaxf\(a, b\) does that, but a > b ", reason["message"]) for reason in told)


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


def test_an_exchange_in_which_both_partners_store_is_one_reason(write):
    """Under another schedule other lines of it race."""
    kernel = """__global__ void reduce(const float *in, float *out, int n)
{
    __shared__ float s[256];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    s[t] = i < n ? in[i] : 0.0f;
    __syncthreads();
    for (int k = 1; k < blockDim.x; k *= 2) {
        int low = min(t, t ^ k), high = max(t, t ^ k);
        float a = s[low], b = s[high];
        s[low] = fminf(a, b);
        s[high] = fmaxf(a, b);
        __syncthreads();
    }
    if (t == 0) {
        float sum = 0;
        for (int k = 0; k < 256; k++) sum += s[k];
        atomicAdd(out, sum);
    }
}
"""
    told = verdict(write("kernel.cu", kernel), "--task", "sum", status=3)
    races = [reason["message"] for reason in told["reasons"] if reason["kind"] == "race"]
    assert len(races) == 1 and "more than one thread exchanges these elements at lines 10 and 11" in races[0]


def test_threads_that_wait_in_loops_are_no_endless_loop(write):
    """Lane by lane 256 threads that wait for eight latches execute 386,268 instructions, of a launch of one element."""
    task = """
Title: the sum of n floats
Signature: __global__ void reduce(const float *in, float *out, int n)
Block: 256
Grid: 1
Argument: in  input  f32[n] integers(-9, 9)
Argument: out output f32[1] zeros
Argument: n   scalar i32        n
Sizes: 1
Expect: out = sum(in)
"""
    kernel = """#include <cuda/latch>
__global__ void reduce(const float *in, float *out, int n)
{
    __shared__ float s[256];
    __shared__ alignas(16) unsigned char room[8][16];
    int t = threadIdx.x, r = 0;
    if (t < 8) new (room[t]) cuda::latch<cuda::thread_scope_block>(256);
    s[t] = t < n ? in[t] : 0.0f;
    __syncthreads();
    for (int k = 128; k > 0; k /= 2, r++) {
        if (t < k) s[t] += s[t + k];
        reinterpret_cast<cuda::latch<cuda::thread_scope_block> *>(room[r])->arrive_and_wait();
    }
    if (t == 0) *out = s[0];
}
"""
    verdict(write("kernel.cu", kernel), "--task", write("a.task", task), status=0)


def reasons_of_changed(task, was, now, kind, write):
    """The messages of that kind of the task's plain kernel with the change."""
    assert was in GOOD[task]
    told = verdict(write("kernel.cu", GOOD[task].replace(was, now)), "--task", task, status=3)
    return [reason["message"] for reason in told["reasons"] if reason["kind"] == kind]


def test_an_array_that_nobody_initialises_is_one_reason(write):
    """Lines 9 and 12 read it."""
    (message,) = reasons_of_changed("histogram", "own[threadIdx.x] = 0;", ";", "uninitialised", write)
    assert "of `own`" in message and "before the atomics, store what it begins with, such as 0, then __syncthreads()" in message


def test_an_element_where_nothing_is_has_the_name_of_the_argument(write):
    (message,) = reasons_of_changed("stencil", "in[max(i - 1, 0)]", "in[i - 1]", "bounds", write)
    assert "where nothing is allocated: `in[-1]`" in message and "argument 0" not in message


def test_blocks_that_store_the_same_elements_in_an_unrolled_loop_are_told_that(write):
    messages = reasons_of_changed("transpose", SWAP, "    x = blockIdx.y * 32 + threadIdx.x;\n", "race", write)
    assert len(messages) == 1 and "blocks overwrite each other's result: each element must be stored by one thread alone" in messages[0]


def test_a_guard_that_lets_blocks_store_the_same_elements_and_beyond_the_end_is_one_reason(write):
    was, now = "if (x < rows && y + j < cols)", "if (x < cols && y + j < rows)"
    (message,) = reasons_of_changed("transpose", was, now, "bounds", write)
    assert "it stores to other threads' elements, too" in message and not reasons_of_changed("transpose", was, now, "race", write)


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


ONE_BY_ONE = "__global__ void reduce(const float *in, float *out, int n)\n{\n    if (blockIdx.x + threadIdx.x)\n" \
    "        return;\n    float s = %s;\n    for (int i = %s; i < n; i++)\n        s += in[i];\n    *out = s;\n}\n"


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


@pytest.mark.parametrize("was, now", [("", ""), ("i += 32", "i += 31"), ("i += 32", "i += 0")])
def test_the_verdict_is_the_same_on_any_number_of_threads(was, now, write):
    kernel, task = write("kernel.cu", TREE.replace(was, now)), write("a.task", ONE_SIZE.replace("512", "1 40 512"))
    one, three = (run("judge", kernel, "--task", task, "--threads", threads) for threads in (1, 3))
    assert (one.stdout, one.stderr, one.returncode) == (three.stdout, three.stderr, 3 if now else 0) and one.stdout
    assert one.returncode == three.returncode


def test_more_sizes_are_such_as_the_task_has(write):
    """Multiples of what all of the task's sizes are multiples of, in their range, each once, chosen by kernel and seed."""
    whole_warps = (ROOT / "tasks" / "sum.task").read_text().replace("0 1 31 33 256 1000 2500 ...", "64 320 1024")
    kernel, task = write("kernel.cu", SUM), write("a.task", whole_warps)
    told = verdict(kernel, "--task", task, status=0)
    sizes = [int(size) for size in told["sizes"]]
    assert sizes[:3] == [64, 320, 1024] and told["sizes_of_task"] == 3 and len(set(sizes)) == len(sizes) > 8
    assert all(64 <= n <= 1024 and n % 64 == 0 for n in sizes) and told["launches"] == 3 * (6 * 4 + 2) + 2 * 6 + len(sizes) - 3  # 2 * 6 with blocks in turns
    assert verdict(kernel, "--task", task, status=0)["sizes"] == told["sizes"]
    sums = [verdict(kernel, "--task", "sum", "--seed", seed, status=0)["sizes"] for seed in (1, 2)]
    assert sums[0] != sums[1] and {"2047", "2048", "2049", "257", "511"} <= set(sums[0])
    assert max(map(int, sums[0])) > 2500 and all(0 <= int(n) <= 4 * 2500 for n in sums[0])
    open_task = write("b.task", whole_warps.replace("64 320 1024", "64 320 1024 ..."))
    beyond = [int(size) for size in verdict(kernel, "--task", open_task, status=0)["sizes"]]
    assert 1024 < max(beyond) <= 4096 and all(64 <= n and n % 64 == 0 for n in beyond)
    rows = verdict(write("rows.cu", GOOD["row_sums"]), "--task", "row_sums", status=0)["sizes"]
    assert all(re.fullmatch(r"\d+x\d+", size) for size in rows) and len(rows) > 12


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
