"""What inspect and run say of a wrong kernel, and of a slow one: one fault is one finding, and each names its cure."""

import json
import os
import re
import shlex
from pathlib import Path

import pytest

from cli_helpers import run
from inspect_helpers import inspected

ROOT = Path(__file__).resolve().parent.parent
ABSENT = "/nonexistent"


@pytest.fixture(scope="module", autouse=True)
def nvrtc(tmp_path_factory):
    path = tmp_path_factory.mktemp("probe") / "probe.cu"
    path.write_text('extern "C" __global__ void probe() {}\n')
    if run("inspect", path, env={**os.environ, "WARPFOLD_NVCC": ABSENT}).returncode:
        pytest.skip("skipped: no NVRTC")


def line_of(source, marked):
    """The number of the line that ends in `// marked`."""
    number, = [number for number, line in enumerate(source.splitlines(), 1) if line.endswith(f"// {marked}")]
    return number


# ---- findings ------------------------------------------------------------------------------------------

TREE = """__global__ void sum(const float *in, float *out) {
    __shared__ float s[256];
    int t = threadIdx.x;
    s[t] = in[t]; // store
    for (int k = 128; k > 0; k /= 2) {
        if (t < k) s[t] += s[t + k]; // load
        __syncthreads();
    }
    if (t == 0) out[0] = s[0];
}
"""
MATMUL = """#define T 16
__global__ void matmul(const float *a, const float *b, float *c, int n) {
    __shared__ float as[T][T], bs[T][T];
    int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * T + y, col = blockIdx.x * T + x;
    float sum = 0;
    for (int k = 0; k < n; k += T) {
        as[y][x] = a[row * n + k + x]; // first
        bs[y][x] = b[(k + y) * n + col]; // second
        __syncthreads();
        for (int i = 0; i < T; i++)
            sum += as[y][i] * bs[i][x]; // use
    }
    c[row * n + col] = sum;
}
"""
TAIL = """__global__ void tail(const int *in, int *out) {
    __shared__ volatile int s[64];
    int t = threadIdx.x;
    s[t] = in[t];
    __syncthreads();
    if (t < 32) {
        s[t] += s[t + 16]; // one
        s[t] += s[t + 8]; // two
    }
    out[t] = s[t];
}
"""


def test_a_read_before_the_barrier_is_the_race_that_it_is(write):
    path, lines = write("tree.cu", TREE), (line_of(TREE, "store"), line_of(TREE, "load"))
    for schedule in ("lockstep", "split", "random:2"):
        report = inspected(path, "--block", 256, "--arg", "f32[256]=ones", "--arg", "f32[1]", "--schedule", schedule,
                           status=3)
        assert not report["stopped"]
        race, = report["findings"]
        assert (race["kind"], race["missing"]) == ("race", "__syncthreads()")
        assert sorted((race["line"], race["other"]["line"])) == sorted(lines)
        assert race["message"].endswith(": no __syncthreads() between line {} and line {}".format(*lines))
    # Each of 128 reads what one of 128 others writes.
    assert race["threads"] > 128 and report["counts"]["uninitialised_reads"] > 0


def test_what_nothing_writes_stays_a_finding_beside_a_race(write):
    source = TREE.replace("s[t] = in[t];", "if (t < 200) s[t] = in[t];")
    report = inspected(write("tree.cu", source), "--block", 256, "--arg", "f32[256]=ones", "--arg", "f32[1]", status=3)
    assert sorted(finding["kind"] for finding in report["findings"]) == ["race", "uninitialised"]


def test_one_fault_is_one_finding_for_each_pair_of_lines(write):
    report = inspected(write("matmul.cu", MATMUL), "--block", "16,16", "--grid", "2,2", "--arg", "f32[1024]=iota", "--arg",
                       "f32[1024]=iota", "--arg", "f32[1024]", "--arg", "i32:32", status=3)
    use = line_of(MATMUL, "use")
    said = [finding["message"].split(": ")[-1] for finding in report["findings"]]
    # Rows of the first tile are read within a warp only, and yet what is missing is the block's barrier.
    assert sorted(said) == [f"no __syncthreads() between line {use} and line {line_of(MATMUL, name)}"
                            for name in ("first", "second")]
    assert max(finding["threads"] for finding in report["findings"]) == 256


def test_lanes_of_a_last_warp_lack_syncwarp(write):
    report = inspected(write("tail.cu", TAIL), "--block", 64, "--arg", "i32[64]=iota", "--arg", "i32[64]", status=3)
    one, two = line_of(TAIL, "one"), line_of(TAIL, "two")
    finding, = report["findings"]  # one fault: pairs that share lines are told as one
    assert finding["message"].endswith(f"no __syncwarp() between the load and the store of line {one}; nor at the other accesses "
                                       f"of lines {one} to {two}, of which 3 pairs race")
    assert finding["missing"] == "__syncwarp()" and finding["threads"] == 32
    assert (finding["pairs"], finding["from_line"], finding["to_line"]) == (3, one, two)


def test_steps_that_race_with_themselves_are_one_fault_and_others_stay_apart(write):
    """A barrier between the steps, none within them; further down lies another fault."""
    steps = "".join(f"    s[t] += s[t + {step}];\n    __syncwarp(); // {step}\n" for step in (4, 2, 1))
    source = ("__global__ void f(int *out) {\n    __shared__ int s[64];\n    int t = threadIdx.x;\n    s[t] = s[t + 32] = t;\n"
              f"    __syncwarp();\n{steps}    out[t] = 0;\n\n    s[t] += s[t ^ 1]; // apart\n    __syncwarp();\n    out[t] = s[t];\n}}\n")
    report = inspected(write("steps.cu", source), "--arg", "i32[32]", status=3)
    one, apart = line_of(source, "4") - 1, line_of(source, "apart")
    told = {(finding["line"], finding["to_line"], finding["pairs"]) for finding in report["findings"]}
    assert told == {(one, one + 4, 3), (apart, apart, 1)}
    assert all(finding["missing"] == "__syncwarp()" for finding in report["findings"])


WRONG = {
    "barrier": ("""__global__ void f(float *out) {
    int t = threadIdx.x;
    if (t < 16) { // branch
        __syncthreads(); // here
    }
    out[t] = t;
}
""", ["--block", 32, "--arg", "f32[32]"], "barrier",
                "threads 0-15 wait at line {here}; 16-31 skipped it at line {branch}: all threads of the block"),
    "ended": ("""__global__ void f(float *out) {
    int t = threadIdx.x;
    if (t >= 48 && t < 60) { asm("bar.sync 3, 64;"); } // here
    out[t] = t;
}
""", ["--block", 64, "--arg", "f32[64]"], "barrier",
              "threads 48-59 wait at line {here}; 0-31 have ended; 32-47, 60-63 skipped it at line {here}: at barrier 3,"),
    "mask": ("""__global__ void f(float *out) {
    int t = threadIdx.x;
    float v = t;
    if (t < 18) // branch
        v += __shfl_down_sync(0xffffffff, v, 1); // here
    out[t] = v;
}
""", ["--block", 32, "--arg", "f32[32]"], "barrier",
             "threads 0-17 wait at line {here}; 18-31 skipped it at line {branch}: the mask 0xffffffff names lanes 18-31, which"),
    "bounds": ("""__global__ void f(const float *in, float *out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = in[i]; // here
}
""", ["--block", 256, "--grid", 4, "--arg", "f32[1000]=iota", "--arg", "f32[1024]"], "bounds",
               "byte 4000 of an allocation of 4000 (index 1000 of `in`, float[1000])"),
    "before": ("""__global__ void f(double *out) {
    out[(int)threadIdx.x - 2] = 1; // here
}
""", ["--arg", "f64[32]"], "bounds", "(index -2 of `out`, double[32])"),
    "neighbour": ("""template <typename T, int N> __global__ void f(const T *in, T *out) {
    __shared__ T before[N];
    __shared__ float tile[64], behind[64];
    int t = threadIdx.x;
    before[t] = in[t];
    tile[t] = in[t];
    behind[t] = in[t];
    __syncthreads();
    float sum = 0;
    for (int i = 0; i < 4; i++) sum += tile[(t + 7) / 8 * 8 + i - 4]; // here
    out[t] = sum + before[t] + behind[t];
}
""", ["--block", 64, "--kernel", "f<float, 64>", "--arg", "f32[64]=iota", "--arg", "f32[64]"], "bounds",
                  "loads 4 bytes of shared memory at byte -16 of an array of 256 (index -4 of `tile`, float[64])"),
    "behind": ("""__shared__ double tile[8][4], behind[32];
__global__ void f(double *out) {
    int t = threadIdx.x;
    behind[t] = tile[t / 4][t % 4] = t;
    atomicAdd(&tile[t / 4][t % 4 + 1], behind[t]); // here
    out[t] = tile[t / 4][t % 4];
}
""", ["--arg", "f64[32]"], "bounds", "updates 8 bytes of shared memory at byte 256 of an array of 256 (`tile[8][0]`, double[8][4])"),
    "generic": ("""__device__ __noinline__ float at(const float *from, int i) { return from[i]; }
__global__ void f(float *out) {
    __shared__ short counts[31];
    __shared__ float kept[32];
    int t = threadIdx.x;
    short *p = counts;
    for (int i = 0; i < t; i++) p += 1;
    *p = 1; // here
    kept[t] = t;
    out[t] = at(kept, t);
}
""", ["--arg", "f32[32]"], "bounds", "stores 2 bytes of shared memory at byte 62 of an array of 62 (index 31 of `counts`, short[31])"),
    "histogram": ("""__global__ void f(const int *in, int *bins) {
    bins[in[threadIdx.x] & 7]++; // here
}
""", ["--block", 256, "--arg", "i32[256]=random:1", "--arg", "i32[8]=zeros"], "race",
                  "no atomic operation such as atomicAdd() at line {here}, where threads read, change and write"),
    "lock": ("""__device__ int lock;
__global__ void f(int *out) {
    while (atomicCAS(&lock, 0, 1) != 0) { }
    *out += 1; // here
    atomicExch(&lock, 0);
}
""", ["--arg", "i32[1]=zeros"], "race", "no __threadfence() between the atomic that takes the lock and line {here}"),
    "spin": ("""__global__ void f(volatile int *flag, int *out) {
    while (*flag == 0) { } // here
    *out = 1;
}
""", ["--arg", "i32[1]=zeros", "--arg", "i32[1]", "--limit", 200000], "runaway",
             "limit of 200000 warp instructions without ending: its threads read memory in a loop until others"),
}


SPINS = {
    "each other": ("""__global__ void f(volatile int *flag, int *out) {
    if (blockIdx.x == 0) {
        while (*flag != 1) { } // here
        *flag = 2;
    } else {
        while (*flag != 2) { } // other
        *flag = 1;
    }
    out[threadIdx.x] = 1;
}
""", ["--grid", 2, "--block", 64], "no thread is left to change it: all others have ended or wait in such loops, too"),
    "barrier": ("""__global__ void f(volatile int *flag, int *out) {
    if (threadIdx.x < 32) while (*flag == 0) { } // here
    __syncthreads(); // barrier
    out[threadIdx.x] = *flag = 1;
}
""", ["--block", 64], "other threads of the block wait at the barrier of line {barrier}, which these must reach"),
    "lanes": ("""__global__ void f(volatile int *flag, int *out) {
    if (threadIdx.x < 16) while (*flag == 0) { } // here
    __syncwarp(); // meeting
    out[threadIdx.x] = *flag = 1;
}
""", ["--block", 32], "lanes 16-31 of its warp wait for these at line {meeting}: what changes it must come before that"),
    "a lock that is kept": ("""__global__ void f(int *lock, int *out) {
    while (atomicCAS(lock, 0, 1) != 0) { } // here
    out[threadIdx.x] = 1;
}
""", ["--block", 64, "--grid", 2], "no thread is left to change it: all others have ended or wait in such loops, too"),
    "a sleeper": ("""__global__ void f(volatile int *flag, int *out) {
    for (unsigned ns = 8; *flag == 0; ns = ns < 256 ? 2 * ns : ns) // here
        __nanosleep(ns);
    out[threadIdx.x] = 1;
}
""", ["--block", 64], "no thread is left to change it: all others have ended or wait in such loops, too"),
    "counts its polls": ("""__global__ void f(volatile int *flag, int *out) {
    while (*flag == 0) // here
        out[threadIdx.x] += 1;
}
""", ["--grid", 2, "--block", 32], "no thread is left to change it: all others have ended or wait in such loops, too"),
    "counts in shared memory": ("""__global__ void f(volatile int *flag, int *out) {
    __shared__ volatile int polls[32];
    polls[threadIdx.x] = 0;
    while (*flag == 0) // here
        polls[threadIdx.x] = polls[threadIdx.x] + 1;
    out[threadIdx.x] = polls[threadIdx.x];
}
""", ["--block", 32], "no thread is left to change it: all others have ended or wait in such loops, too"),
    "counts by atomics": ("""__global__ void f(volatile int *flag, int *out) {
    while (*flag == 0) { // here
        atomicAdd(out, 1);
        atomicMax(out + 1, out[2]);
    }
}
""", ["--grid", 2, "--block", 64], "no thread is left to change it: all others have ended or wait in such loops, too"),
    "leaves its rounds for a debugger": ("""__global__ void f(volatile int *flag, int *out) {
    for (int round = 0; *flag == 0; round++) // here
        if (threadIdx.x % 2 == 0) out[threadIdx.x] = round;
}
""", ["--block", 64], "no thread is left to change it: all others have ended or wait in such loops, too"),
    "counts while others wait": ("""__global__ void f(volatile int *flag, int *out) {
    if (threadIdx.x < 32) while (*flag == 0) out[1] = out[1] + 1; // here
    __syncthreads(); // barrier
    out[threadIdx.x] = *flag = 1;
}
""", ["--block", 64], "other threads of the block wait at the barrier of line {barrier}, which these must reach"),
    "asks a function": ("""__device__ __noinline__ bool is_set(volatile int *flag) { return *flag != 0; } // other
__global__ void f(volatile int *flag, int *out) {
    while (!is_set(flag)) { } // here
    out[threadIdx.x] = 1;
}
""", ["--grid", 2, "--block", 64], "no thread is left to change it: all others have ended or wait in such loops, too"),
    "waits in a function": ("""__device__ __noinline__ void wait(int *flag) {
    while (atomicCAS(flag, 1, 0) == 0) { } // other
}
__global__ void f(int *flag, int *out) {
    wait(flag); // here
    out[threadIdx.x] = 1;
}
""", ["--block", 64], "no thread is left to change it: all others have ended or wait in such loops, too"),
    "of a whole block": ("""__global__ void f(volatile int *flag, int *out) {
    while (!__syncthreads_or(*flag)) { } // here
    out[threadIdx.x] = 1;
}
""", ["--grid", 2, "--block", 64], "no thread is left to change it: all others have ended or wait in such loops, too"),
    "counted in a block": ("""__global__ void f(volatile int *flag, int *out) {
    while (__syncthreads_count(*flag == 0) == 64) { } // here
    out[threadIdx.x] = 1;
}
""", ["--block", 64], "no thread is left to change it: all others have ended or wait in such loops, too"),
    "prints": ("""#include <cstdio>
__global__ void f(volatile int *flag, int *out) {
    for (int k = 0; *flag == 0; k++) printf("%d\\n", k); // here
    out[threadIdx.x] = 1;
}
""", ["--block", 64], "no thread is left to change it: all others have ended or wait in such loops, too"),
    "not volatile": ("""__global__ void f(const int *flag, int *out) {
    while (*flag == 0) { } // here
    out[threadIdx.x] = 1;
}
""", ["--block", 32], "(a flag that others set must be volatile or atomic, or it is read once)"),
}


def spin(name, write, *options):
    """(instructions, message) of the loop that is told."""
    source, arguments, said = SPINS[name]
    report = inspected(write("spin.cu", source), *arguments, *options, "--arg", "i32[1]=zeros", "--arg", "i32[64]", status=3)
    finding = report["findings"][-1]
    lines = {marked: line_of(source, marked) for marked in re.findall(r"// (\w+)$", source, re.MULTILINE)}
    assert finding["kind"] == "runaway" and finding["line"] in (lines["here"], lines["here"] + 1, lines.get("other"))
    assert said.format(**lines) in finding["message"]
    waits_for = "`lock`, int[1]" if "int *lock" in source else "`flag`, int[1]"
    assert finding["message"].endswith(f"(index 0 of {waits_for})") or name == "not volatile"
    return report["instructions"], finding["message"]


@pytest.mark.sampled
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", SPINS)
def test_a_spin_is_told_long_before_the_limit_with_what_it_needs(name, threads, write):
    """Half a second on one core; at the limit it would be four million instructions."""
    instructions, message = spin(name, write, "--threads", threads)
    assert "in a loop that never ends" in message and instructions < 2_000_000


@pytest.mark.sampled
@pytest.mark.parametrize("schedule", ["split", "random:1", "random:2", "random:3"])
@pytest.mark.parametrize("name", SPINS)
def test_a_spin_is_told_under_every_schedule(name, schedule, write):
    """Lanes that run apart are told together, and it never takes the whole limit."""
    instructions, message = spin(name, write, "--schedule", schedule)
    lanes = re.match(r"lanes? ([0-9, -]+) of warp \d+ (are|is) in a loop that never ends", message)[1].split(", ")
    count = sum(int(ends[-1]) - int(ends[0]) + 1 for ends in (lane.split("-") for lane in lanes))
    spinning = {"lanes": 16, "a lock that is kept": 31, "not volatile": 1}.get(name, 32)  # 1: told before the others come
    spinning = 16 if name == "leaves its rounds for a debugger" else spinning
    assert spinning <= count <= 32 and instructions < 4_000_000


def test_a_file_of_several_kernels_begins_with_a_line_to_copy(write):
    path = write("two.cu", "__global__ void first(int *out) { *out = 1; }\n__global__ void second(int *out) { *out = 2; }\n")
    done = run("inspect", path)
    lines = [line.strip() for line in done.stderr.splitlines() if line.startswith(" ")]
    assert (done.returncode, done.stdout) == (2, "")
    assert lines == [f"warpfold inspect {path} --kernel '{name}' --grid 1 --block 32 --arg 'i32[32]' --print 0"
                     for name in ("first", "second")]
    assert all(run(*shlex.split(line)[1:]).returncode == 0 for line in lines)
    assert lines[0] in run("inspect", path, "--kernel", "first").stderr


def test_the_line_to_copy_can_be_run_as_it_is(write):
    """With structs, bools and pointers to arrays, too."""
    path = write("many.cu", "struct pair { int a; double b; };\n__global__ void many(pair p, const int (*rows)[4], bool is_on, float x,\n"
                 "    const unsigned char *raw, int *out) { if (is_on) out[threadIdx.x] = p.a + rows[threadIdx.x / 8][threadIdx.x % 4] + raw[0]; }\n")
    said = run("inspect", path).stderr
    assert "many(pair p, const int *rows, bool is_on, float x, const unsigned char *raw, int *out) takes" in said
    line = said.splitlines()[-1].strip()
    assert line.startswith("warpfold inspect ") and f" --arg bytes:{32 * '0'} --arg 'i32[32]=iota' --arg bool:1 --arg f32:1 " in line
    done = run(*shlex.split(line)[1:])
    assert (done.returncode, done.stderr) == (0, "") and "no findings" in done.stdout


STEPS = {
    "of a parameter": ("for (int k = 0; k < 100; k += step) out[k] = 1;", "0"),
    "of a stride": ("for (int s = threadIdx.x; s >= 0; s /= 2) out[s] = 1;", "1"),
    "of a float": ("for (float x = 1; x < 1e9f; x += step * 0.25f) out[0] = x;", "0"),
}


@pytest.mark.parametrize("name", STEPS)
def test_a_step_of_0_is_no_matter_of_volatile(name, write):
    loop, step = STEPS[name]
    source = f"__global__ void f(float *out, int step) {{\n    {loop} // here\n}}\n"
    findings = inspected(write("step.cu", source), "--block", 32, "--arg", "f32[100]", "--arg", f"i32:{step}", status=3)["findings"]
    finding, = [finding for finding in findings if finding["kind"] == "runaway"]
    assert finding["line"] == 2 and "volatile" not in finding["message"]
    assert "a step of 0, say, or a condition that nothing in the loop changes" in finding["message"]


def test_a_flag_that_is_read_once_is_told_so(write):
    source = "__global__ void f(const int *__restrict__ flag, int *out) {\n    while (*flag == 0) { }\n    out[0] = 1;\n}\n"
    finding, = inspected(write("once.cu", source), "--block", 32, "--arg", "i32[1]=zeros", "--arg", "i32[1]", status=3)["findings"]
    assert finding["message"].endswith("(a flag that others set must be volatile or atomic, or it is read once)")


UNWRITTEN = """__global__ void f(float *out, int n) {
    __shared__ double other[8];
    __shared__ float tile[256];
    extern __shared__ int more[];
    other[threadIdx.x % 8] = 1;
    if (threadIdx.x != 37) tile[threadIdx.x] = n;
    __syncthreads();
    out[threadIdx.x] = tile[threadIdx.x] + other[0]; // one
    if (threadIdx.x < 4) out[threadIdx.x] += more[threadIdx.x + 2]; // dynamic
}
"""


def test_unwritten_shared_memory_is_told_by_array_and_element(write):
    findings = inspected(write("unwritten.cu", UNWRITTEN), "--block", 256, "--shared", 64, "--arg", "f32[256]", "--arg", "i32:4",
                         status=3)["findings"]
    findings.sort(key=lambda finding: finding["line"])
    assert [(finding["kind"], finding["line"]) for finding in findings] == [
        ("uninitialised", line_of(UNWRITTEN, name)) for name in ("one", "dynamic")]
    assert [finding["message"].split(": ")[-1] for finding in findings] == [
        f"shared memory is undefined when a block begins ({element})" for element in
        ("index 37 of `tile`, float[256]", "index 2 of `more`, int[16]")]


def test_a_race_in_shared_memory_is_told_by_array_and_element(write):
    source = UNWRITTEN.replace("    __syncthreads();\n", "").replace("tile[threadIdx.x] + other", "tile[255 - threadIdx.x] + other")
    findings = inspected(write("race.cu", source), "--block", 256, "--shared", 64, "--arg", "f32[256]", "--arg", "i32:4",
                         status=3)["findings"]
    race = next(finding for finding in findings if finding["kind"] == "race" and "`tile`" in finding["message"])
    byte, index = re.search(r"at byte (\d+) \(index (\d+) of `tile`, float\[256\]\) races with the", race["message"]).groups()
    assert (int(byte) - int(index) * 4) in (0, 64)  # `other` may lie before it


# Kernels of which one element of `t` is out of bounds, or raced for; `t` as it is told.
ARRAYS = {
    "constants of all kinds": ("""#define DEEP 2
constexpr int WIDE = 1 << 5;
__global__ void f(const float *in, float *out) {
    __shared__ float one[4], t[DEEP][2 * DEEP][WIDE];
    int lane = threadIdx.x;
    t[lane / 32 + 1][3][lane % 32] = in[lane];
    out[lane] = t[0][3][lane % 32] + one[0];
}""", "(`t[2][3][0]`, float[2][4][32])"),
    "a template's extent": ("""template <int ROWS> __global__ void f(const float *in, float *out) {
    __shared__ double t[ROWS][8];
    t[threadIdx.x / 8][threadIdx.x % 8] = in[threadIdx.x];
    out[threadIdx.x] = t[0][0];
}
template __global__ void f<4>(const float *, float *);""", "(`t[4][0]`, double[4][8])"),
    "vectors": ("""__global__ void f(const float *in, float *out) {
    __shared__ float4 t[60];
    t[threadIdx.x].x = in[threadIdx.x];
    out[threadIdx.x] = t[0].x;
}""", "(index 60 of `t`, float4[60])"),
    "extents that differ": ("""__global__ void f(const float *in, float *out) {
    __shared__ float t[4][8];
    t[threadIdx.x / 8][threadIdx.x % 8] = in[threadIdx.x];
    out[threadIdx.x] = t[0][0];
}
__device__ void other() { __shared__ float t[8][4]; t[0][0] = 0; }""", "(index 32 of `t`, float[32])"),
    "extents that are not known": ("""template <int N> __global__ void f(const float *in, float *out) {
    __shared__ float t[N][N + 1];
    t[threadIdx.x / 5][threadIdx.x % 5] = in[threadIdx.x];
    out[threadIdx.x] = t[0][0];
}
template __global__ void f<4>(const float *, float *);""", "(index 20 of `t`, float[20])"),
    "before the first": ("""__global__ void f(const float *in, float *out) {
    __shared__ float t[4][8];
    int i = threadIdx.x - 1;
    t[0][i] = in[threadIdx.x];
    out[threadIdx.x] = t[0][0];
}""", "(index -1 of `t`, float[4][8])"),
}


@pytest.mark.parametrize("name", ARRAYS)
def test_an_element_is_told_as_the_source_has_its_array(name, write):
    source, element = ARRAYS[name]
    findings = inspected(write("arrays.cu", source), "--block", 64, "--arg", "f32[64]=iota", "--arg", "f32[64]", status=3)["findings"]
    assert [finding["message"].endswith(element) for finding in findings if finding["kind"] == "bounds"] == [True]


FENCES = {
    "one that the reader lacks": ("""__global__ void f(int *data, int *flag, int *out) {
    if (blockIdx.x == 1) {
        *data = 42; // written
        __threadfence();
        atomicExch(flag, 1);
    } else {
        while (atomicAdd(flag, 0) == 0) { } // told
        *out = *data; // here
    }
}
""", "a __threadfence() between line {written} and the atomic that tells of it, and one between line {told}, which reads that, "
    "and line {here} (index 0 of `data`, int[2])"),
    "behind a barrier": ("""__global__ void f(int *data, int *flag, int *out) {
    __shared__ int number;
    data[blockIdx.x] = 42; // written
    number = atomicAdd(flag, 1); // told
    __syncthreads();
    if (number) *out = data[0] + data[1]; // here
}
""", "a __threadfence() between line {written} and the atomic that tells of it, and one between line {told}, which reads that, "
    "and line {here} (index"),
    "a plain flag": ("""__global__ void f(int *data, int *flag, int *out) {
    if (blockIdx.x == 0) *data = 42; // written
    else *out = *data; // here
}
""", "behind line {written} a __threadfence() and an atomic that tells of it, before line {here} an atomic that reads that and a "
    "__threadfence(); or a second launch"),
    "a lock": ("""__global__ void f(int *data, int *flag, int *out) {
    while (atomicCAS(flag, 0, 1) != 0) { }
    *data += 1; // here
    atomicExch(flag, 0);
}
""", "no __threadfence() between the atomic that takes the lock and line {here}, and before it is freed"),
    "sums of blocks": ("""__global__ void f(int *data, int *flag, int *out) {
    data[0] += blockIdx.x; // here
}
""", "no atomic operation such as atomicAdd() at line {here}, where threads read, change and write"),
    "a neighbour's": ("""__global__ void f(int *data, int *flag, int *out) {
    data[blockIdx.x] = 42; // here
    __syncthreads();
    if (data[(blockIdx.x + 1) % gridDim.x] == 7) out[0] = 1; // read
}
""", "behind line {here} a __threadfence() and an atomic that tells of it, before line {read} an atomic that reads that and a "),
    "one result of all": ("""__global__ void f(int *data, int *flag, int *out) {
    *out = blockIdx.x; // here
}
""", "blocks overwrite each other's result: an element for each block, or an atomic such as atomicAdd()"),
}


@pytest.mark.parametrize("schedule", ["lockstep", "split", "random:1"])
@pytest.mark.parametrize("name", FENCES)
def test_two_blocks_are_told_their_fences_once(name, schedule, write):
    source, said = FENCES[name]
    report = inspected(write("blocks.cu", source), "--grid", 2, "--block", 1, "--schedule", schedule, "--arg", "i32[2]=zeros",
                       "--arg", "i32[1]=zeros", "--arg", "i32[1]", status=3)
    finding, = report["findings"]
    lines = {marked: line_of(source, marked) for marked in re.findall(r"// (\w+)$", source, re.MULTILINE)}
    assert finding["kind"] == "race" and lines["here"] in (finding["line"], finding["other"]["line"])
    assert said.format(**lines) in finding["message"]


def test_divergence_that_no_numbering_avoids_is_not_advised(write):
    """The last warp of a tree parts, however its threads are numbered."""
    tree = TREE_BY_MODULO.replace("int k = 1; k < 256; k *= 2", "int k = 128; k > 0; k /= 2").replace("t % (2 * k) == 0", "t < k")
    report = inspected(write("tree.cu", tree.replace("256", "64").replace("128", "32")), "--block", 64, "--grid", 3, "--arg",
                       "f32[192]=iota", "--arg", "f32[3]")
    assert report["counts"]["utilization"] < 0.85 and report["counts"]["divergent_branches"] >= 8 and report["advice"] == []


def test_a_read_before_the_barrier_is_one_race_in_a_grid_of_any_size(write):
    """Of each block it is known what became of the words that it read too early."""
    source = TREE_BY_MODULO.replace("    __syncthreads();\n    for", "    for").replace("int k = 1; k < 256; k *= 2", "int k = 128; k > 0; k /= 2")
    source = source.replace("t % (2 * k) == 0", "t < k")
    report = inspected(write("tree.cu", source), "--block", 256, "--grid", 70, "--arg", f"f32[{70 * 256}]=iota", "--arg", "f32[70]", status=3)
    finding, = report["findings"]
    assert finding["kind"] == "race" and "no __syncthreads() between line 4 and line 6" in finding["message"]
    assert report["counts"]["uninitialised_reads"] > 4096


LOCK = """__global__ void f(int *lock, int *out) {
    while (atomicCAS(lock, 0, 1) != 0) { }
    __threadfence();
    out[0] += 1;
    __threadfence();
    atomicExch(lock, 0);
}
"""


def test_spins_that_end_are_no_findings(write):
    for schedule in ("lockstep", "split", "random:3"):
        report = inspected(write("lock.cu", LOCK), "--grid", 3, "--block", 64, "--schedule", schedule, "--print", 1, "--arg",
                           "i32[1]=zeros", "--arg", "i32[1]=zeros")
        assert report["findings"] == [] and report["values"][0]["elements"] == [192]


# A flag of the whole block, which each round writes and reads between barriers.
ROUNDS = """__global__ void f(volatile int *flag, int *out) {
    __shared__ int go;
    do {
        if (threadIdx.x == 0) go = *flag;
        out[threadIdx.x] += 1;
        __syncthreads();
    } while (go == 0 && out[0] >= 0);
}
"""


@pytest.mark.parametrize("threads, schedule", [(1, "lockstep"), (2, "lockstep"), (1, "split"), (1, "random:1"), (1, "random:2")])
@pytest.mark.parametrize("read", ["go = *flag;", "{ *flag = *flag & 3; go = *flag; }"], ids=["reads", "rewrites"])
def test_rounds_of_a_block_that_never_end_are_told(read, threads, schedule, write):
    source = ROUNDS.replace(" && out[0] >= 0", "").replace("go = *flag;", read)
    report = inspected(write("rounds.cu", source), "--grid", 2, "--block", 64, "--threads", threads, "--schedule", schedule, "--arg", "i32[1]=zeros", "--arg", "i32[64]=zeros", status=3)
    message = report["findings"][-1]["message"]
    assert "in a loop that never ends" in message and "no thread is left to change it" in message
    assert report["instructions"] < 2_000_000


# What writes memory in each round of a loop, and ends: for the memory that it writes, or for others that count, too.
POLLS_THAT_END = {
    "counts to a timeout": ("""__global__ void f(volatile int *flag, volatile int *out) {
    while (*flag == 0 && out[threadIdx.x] < 4000)
        out[threadIdx.x] = out[threadIdx.x] + 1;
}
""", 1, 32, [4000] * 2),
    "counts by atomics to a timeout": ("""__global__ void f(volatile int *flag, int *out) {
    while (*flag == 0 && atomicAdd(&out[threadIdx.x], 1) < 4000) { }
}
""", 1, 32, [4001] * 2),
    "decides by what it stores": ("""__global__ void f(volatile int *flag, volatile int *out) {
    for (int k = 0; out[0] == 0; k++) out[0] = k >= 3000 ? k : 0;
}
""", 1, 1, [3000]),
    "counts in a function": ("""__device__ __noinline__ bool is_late(int *count) { return ++*count > 3000; }
__global__ void f(volatile int *flag, volatile int *out) {
    int count = 0;
    while (!is_late(&count)) { }
    out[threadIdx.x] = count;
}
""", 1, 32, [3001] * 2),
    "counts for a function": ("""__device__ __noinline__ bool is_late(volatile int *flag, int count) { return *flag || count == 3000; }
__global__ void f(volatile int *flag, volatile int *out) {
    int count = 0;
    while (!is_late(flag, count)) count++;
    out[threadIdx.x] = count;
}
""", 1, 32, [3000] * 2),
    "a function that counts for all": ("""__device__ int count;
__device__ __noinline__ int next(int step) { return count += step; }
__global__ void f(volatile int *flag, volatile int *out) {
    while (next(flag[0] + 1) < 6000) { }
    out[0] = out[1] = count;
}
""", 1, 1, [6000] * 2),
    "a function that others wait in": ("""__device__ __noinline__ int read(volatile int *flag) { return *flag; }
__global__ void f(volatile int *flag, volatile int *out) {
    if (blockIdx.x == 0) while (read(flag) == 0) { }
    else for (int k = 0; k <= 30000; k++) if (k == 30000) *flag = 1;
    out[blockIdx.x] = read(flag);
}
""", 2, 1, [1, 1]),
    "rounds of a block to a count": ("""__global__ void f(volatile int *flag, volatile int *out) {
    int rounds = 0;
    while (!__syncthreads_or(*flag || (threadIdx.x == 40 && rounds == 3000))) rounds++;
    out[threadIdx.x] = rounds;
}
""", 1, 64, [3000] * 2),
    "rounds of warps that seldom agree": ("""__global__ void f(volatile int *flag, volatile int *out) {
    const int period = threadIdx.x < 32 ? 63 : 64;
    int phase = 1, turns = 0;
    while (__syncthreads_or(*flag == 0 && phase != 0)) {
        if (++phase == period) phase = 0;
        if (phase == 0) out[threadIdx.x] = ++turns;
    }
}
""", 1, 64, [64] * 2),
    "the first answer stays, the second comes": ("""__global__ void f(volatile int *flag, volatile int *out) {
    int rounds = 0, more = threadIdx.x == 63 ? 2000 : 0;
    while (!__syncthreads_or(more > 0 && --more == 0)) { }
    while (!__syncthreads_and(++rounds == 3000)) { }
    out[threadIdx.x] = rounds;
}
""", 1, 64, [3000] * 2),
    "prints what it counts": ("""#include <cstdio>
__global__ void f(volatile int *flag, volatile int *out) {
    int count = 0;
    while (*flag == 0 && count < 3000) count += printf("%d\\n", count);
    out[threadIdx.x] = count;
}
""", 1, 2, [3000] * 2),
    "rewrites a flag while others count": ("""__global__ void f(volatile int *flag, volatile int *out) {
    if (blockIdx.x == 0) while (*flag == 0 && out[0] == 0) out[0] = out[0] & 3;
    else for (int k = 0; k <= 60000; k++) if (k == 60000) *flag = 1;
    if (blockIdx.x == 1) out[1] = 7;
}
""", 2, 1, [0, 7]),
    "backs off": ("""__global__ void f(volatile int *flag, volatile int *out) {
    __shared__ volatile int tries[32];
    tries[threadIdx.x] = 1;
    for (int rounds = 0; *flag == 0 && tries[threadIdx.x] < 1 << 12; rounds++) {
        out[threadIdx.x] = rounds;
        if (rounds % 512 == 511) tries[threadIdx.x] = tries[threadIdx.x] * 2;
        __nanosleep(tries[threadIdx.x]);
    }
}
""", 1, 32, [6143] * 2),
    "who waits for the count": ("""__global__ void f(volatile int *flag, volatile int *out) {
    if (blockIdx.x == 0) {
        while (out[0] < 4000) { }
        *flag = 1;
    } else {
        while (*flag == 0) out[0] = out[0] + 1;
        out[0] = 1;
    }
}
""", 2, 1, [1]),
    "who counts first": ("""__global__ void f(volatile int *flag, volatile int *out) {
    if (blockIdx.x == 1) {
        while (out[0] < 4000) { }
        *flag = 1;
    } else {
        while (*flag == 0) out[0] = out[0] + 1;
        out[0] = 1;
    }
}
""", 2, 1, [1]),
    "warps that wait for each other": ("""__global__ void f(volatile int *flag, volatile int *out) {
    __shared__ volatile int turn[2];
    const int warp = threadIdx.x / 32;
    turn[warp] = 0;
    __syncthreads();
    while (turn[1 - warp] < 3000 && *flag == 0)
        if (threadIdx.x % 32 == 0) turn[warp] = turn[warp] + 1;
    if (threadIdx.x % 32 == 0) turn[warp] = 3000;
    out[warp] = 7;
}
""", 1, 64, [7, 7]),
    "another block works for long": ("""__global__ void f(volatile int *flag, volatile int *out) {
    if (blockIdx.x == 2) {
        for (int k = 0; k < 60000; k++) out[2] = k;
        *flag = 1;
    } else while (*flag == 0) out[blockIdx.x] = out[blockIdx.x] % 1000 + 1;
    out[blockIdx.x] = 5;
}
""", 3, 1, [5, 5, 5]),
    "a lane of the warp works for long": ("""__global__ void f(volatile int *flag, volatile int *out) {
    if (threadIdx.x == 3) {
        for (int k = 0; k < 20000; k++) out[4] = k;
        *flag = 1;
    } else while (*flag == 0) out[3] = threadIdx.x;
    __syncwarp();
    out[threadIdx.x] = 5;
}
""", 1, 32, [5, 5, 5]),
    "the same again until others change it": ("""__global__ void f(volatile int *flag, volatile int *out) {
    __shared__ volatile int go;
    do {
        if (threadIdx.x == 0) go = *flag;
        __syncthreads();
        if (threadIdx.x == 32 && (out[1] = out[1] + 1) == 3000) *flag = 1;
        __syncthreads();
    } while (go == 0);
    out[0] = 5;
}
""", 1, 64, [5]),
    "rounds of a block that count": ("""__global__ void f(volatile int *flag, volatile int *out) {
    __shared__ volatile int rounds;
    if (threadIdx.x == 0) rounds = 0;
    do {
        __syncthreads();
        if (threadIdx.x == 0) rounds = rounds + 1;
        __syncthreads();
    } while (rounds < 2500 && *flag == 0);
    out[0] = rounds;
}
""", 1, 64, [2500]),
    "a log that wraps": ("""__global__ void f(volatile int *flag, volatile int *out) {
    __shared__ volatile int log[64];
    int k = 0;
    for (; log[63] < 100; k++) log[k % 64] = k / 64;
    out[0] = k;
}
""", 1, 1, [6464]),
}


@pytest.mark.sampled
@pytest.mark.parametrize("threads, schedule", [(1, "lockstep"), (2, "lockstep"), (1, "split"), (1, "random:1")])
@pytest.mark.parametrize("name", POLLS_THAT_END)
def test_polls_that_write_and_end_are_not_accused(name, threads, schedule, write):
    source, grid, block, expected = POLLS_THAT_END[name]
    done = run("inspect", write("polls.cu", source), "--grid", grid, "--block", block, "--threads", threads, "--schedule", schedule,
               "--arg", "i32[1]=zeros", "--arg", "i32[64]=zeros", "--print", "1:64", "--json", "--limit", 10**9)
    report = json.loads(done.stdout)
    assert "runaway" not in {finding["kind"] for finding in report["findings"]} and not report["stopped"]
    assert report["values"][0]["elements"][:len(expected)] == expected


@pytest.mark.sampled
@pytest.mark.parametrize("name", WRONG)
def test_a_finding_names_its_cure(name, write):
    source, arguments, kind, said = WRONG[name]
    finding, = inspected(write("wrong.cu", source), *arguments, status=3)["findings"]
    lines = {marked: line_of(source, marked) for marked in re.findall(r"// (\w+)$", source, re.MULTILINE)}
    assert (finding["kind"], finding["line"]) == (kind, lines["here"])
    assert said.format(**lines) in finding["message"]


CARVED = """struct both { float one[32], other[32]; };
extern __shared__ float pool[];
__global__ void f(float *out, int n, int which) {
    __shared__ both fields;
    __shared__ float a[32], b[32];
    __shared__ alignas(16) unsigned char raw[256];
    int t = threadIdx.x;
    float *first = pool, *second = pool + n, *chosen = which ? a : b, *words = (float *)raw;
    first[t] = fields.one[t] = fields.other[t] = a[t] = b[t] = t;
    second[t] = first[t + 0 * n];
    words[t] = words[t + 32] = 1;
    __syncwarp();
    if (t < 16) ((float4 *)raw)[t].x = 1;
    __syncwarp();
    chosen += t;
    *chosen += 1;
    for (int k = 0; k < 4; k++, chosen = chosen == a + t ? b + t : a + t) *chosen += words[t] + second[t];
    __syncthreads();
    out[t] = fields.one[31 - t] + fields.other[t] + chosen[0] + pool[n + t] + pool[t];
}
"""


def test_arrays_that_a_kernel_carves_or_chooses_are_within_bounds(write):
    for which in (0, 1):
        report = inspected(write("carved.cu", CARVED), "--shared", 256, "--arg", "f32[32]", "--arg", "i32:32", "--arg", f"i32:{which}")
        assert report["findings"] == []


# ---- advice --------------------------------------------------------------------------------------------

TRANSPOSE = """__global__ void transpose(const float *in, float *out, int n) {
    __shared__ float tile[32][32];
    int x = threadIdx.x, y = threadIdx.y, bx = blockIdx.x * 32, by = blockIdx.y * 32;
    tile[y][x] = in[(by + y) * n + bx + x];
    __syncthreads();
    out[(bx + y) * n + by + x] = tile[x][y]; // turn
}
"""
TRANSPOSED = ["--block", "32,32", "--grid", "2,2", "--arg", "f32[4096]=iota", "--arg", "f32[4096]", "--arg", "i32:64"]


def test_bank_conflicts_and_what_padding_would_give(write):
    path = write("transpose.cu", TRANSPOSE)
    advice, = inspected(path, *TRANSPOSED)["advice"]
    assert (advice["kind"], advice["line"]) == ("bank-conflict", line_of(TRANSPOSE, "turn"))
    assert (advice["count"], advice["least"]) == (32 * 32 * 4, 32 * 4)
    assert advice["cure"].startswith("pad the row: `tile[32][33]` for `tile[32][32]`; then ")
    padded = inspected(write("padded.cu", TRANSPOSE.replace("[32][32]", "[32][33]")), *TRANSPOSED)
    line, = [line for line in padded["lines"] if line["line"] == advice["line"]]
    assert padded["advice"] == [] and int(advice["cure"].split()[-1]) == line["shared_wavefronts"]


TWO_ARRAYS = """__global__ void other(float *out) {
    __shared__ float tile[32][32];
    tile[threadIdx.x][0] = 1;
    out[0] = tile[0][threadIdx.x];
}
"""
COLUMNS = """#define COLUMNS %d
__global__ void f(%s *out) {
    __shared__ float apart[32][COLUMNS * sizeof(%s) / 4];
    __shared__ %s rows[32][COLUMNS];
    for (int i = 0; i < COLUMNS; i++)
        rows[threadIdx.x][i] = out[i]; // here
    apart[threadIdx.x][0] = 1;
    __syncthreads();
    out[threadIdx.x] = rows[31 - threadIdx.x][COLUMNS - 1];
}
"""


@pytest.mark.parametrize("element, columns, then", [("float", 8, 8), ("float", 24, 24), ("float", 32, 32), ("double", 16, 32),
                                                    ("float4", 8, 32), ("short", 64, 64), ("unsigned char", 128, 128)])
def test_rows_are_padded_by_what_their_elements_need(element, columns, then, write):
    """The array that the line has, not another one of such rows; the count is what it then is."""
    source = TWO_ARRAYS + COLUMNS % (columns, element, element, element)
    arguments = ["--kernel", "f", "--arg", {"float": "f32", "double": "f64", "short": "i16"}.get(element, "u8") + "[2048]=zeros"]
    advice, = [advice for advice in inspected(write("rows.cu", source), *arguments)["advice"] if advice["line"] == line_of(source, "here")
               and advice["kind"] == "bank-conflict"]
    padded, name = re.match(r"pad the row: `(.*)` for `(.*)`; then ", advice["cure"]).groups()
    assert name == "rows[32][COLUMNS]" and advice["then"] == then == int(advice["cure"].split()[-1])
    line, = [line for line in inspected(write("padded.cu", source.replace(name, padded)), *arguments)["lines"]
             if line["line"] == advice["line"]]
    assert line["shared_wavefronts"] == then


def test_of_arrays_without_rows_neighbouring_words_are_advised(write):
    source = """__global__ void f(float *out) {
    __shared__ float tile[4][8], flat[256];
    tile[threadIdx.x / 8][threadIdx.x % 8] = 1;
    for (int i = 0; i < 8; i++)
        flat[threadIdx.x * 8 + i] = out[i]; // here
    __syncthreads();
    out[threadIdx.x] = flat[255 - threadIdx.x] + tile[0][0];
}
"""
    advice, = inspected(write("flat.cu", source), "--arg", "f32[64]=zeros")["advice"]
    assert advice["line"] == line_of(source, "here") and (advice["count"], advice["then"]) == (64, 8)
    assert "threadIdx.x without a factor" in advice["cure"] and "pad the row" not in advice["cure"]


def test_words_that_data_choose_are_no_matter_of_padding(write):
    source = """__global__ void f(const int *which, float *out) {
    __shared__ float s[1024];
    for (int i = threadIdx.x; i < 1024; i += 32) s[i] = i;
    __syncthreads();
    float sum = 0;
    for (int i = 0; i < 32; i++) sum += s[which[i * 32 + threadIdx.x] & 1023];
    out[threadIdx.x] = sum;
}
"""
    report = inspected(write("gather.cu", source), "--arg", "i32[1024]=random:3", "--arg", "f32[32]")
    assert report["advice"] == [] and report["counts"]["shared_wavefronts"] > 2 * report["counts"]["shared_wavefronts_least"] - 32


def test_lanes_that_wait_for_a_lock_are_not_told_to_be_numbered_otherwise(write):
    source = """__global__ void f(int *lock, int *total) {
    for (bool done = false; !done;)
        if (atomicCAS(lock, 0, 1) == 0) {
            __threadfence();
            *(volatile int *)total += 1;
            __threadfence();
            atomicExch(lock, 0);
            done = true;
        }
}
"""
    report = inspected(write("lock.cu", source), "--block", 64, "--arg", "i32[1]=zeros", "--arg", "i32[1]=zeros", "--print", "1")
    assert report["values"][0]["elements"] == [64] and report["divergent_branches"] >= 64
    assert report["findings"] == [] and "divergence" not in {advice["kind"] for advice in report["advice"]}


def test_advice_leaves_the_status_unless_strict(write):
    path = write("transpose.cu", TRANSPOSE)
    done = run("inspect", path, *TRANSPOSED)
    assert done.returncode == 0 and done.stdout.endswith("\nno findings, 1 piece of advice\n")
    assert run("inspect", path, *TRANSPOSED, "--strict").returncode == 3


SLOW = {
    "uncoalesced": ("""__global__ void f(const float *in, float *out) {
    float sum = 0;
    for (int c = 0; c < 8; c++)
        sum += in[threadIdx.x * 8 + c]; // here
    out[threadIdx.x] = sum;
}
""", ["--block", 64, "--arg", "f32[512]=iota", "--arg", "f32[64]"], 8 * 64, 8 * 2 * 4, "each 32 bytes from the next lane's"),
    "contended-atomic": ("""__global__ void f(int *out) {
    atomicAdd(out, (int)threadIdx.x); // here
}
""", ["--block", 256, "--arg", "i32[1]=zeros"], 256, 1, "where 1 would do if each block combined"),
    "divergence": ("""__global__ void f(float *out) {
    float v = threadIdx.x;
    for (int i = 0; i < 16; i++)
        if (threadIdx.x % 2) v = v * v + out[threadIdx.x]; // here
        else v = v + 1 / (v + 2);
    out[threadIdx.x] = v;
}
""", ["--block", 64, "--arg", "f32[64]=zeros"], 32, 0, "part the lanes of their warp"),
    "redundant-barrier": ("""__global__ void f(float *out) {
    __shared__ float s[64];
    s[threadIdx.x] = threadIdx.x;
    __syncthreads();
    float v = s[63 - threadIdx.x];
    __syncthreads();
    __syncthreads(); // here
    s[threadIdx.x] = v;
    __syncthreads();
    out[threadIdx.x] = s[threadIdx.x ^ 1];
}
""", ["--block", 64, "--grid", 3, "--arg", "f32[64]"], 3, 0, "orders nothing"),
    "low-occupancy": ("""extern __shared__ float s[];
__global__ void f(float *out) {
    s[threadIdx.x] = threadIdx.x; // here
    out[threadIdx.x] = s[threadIdx.x];
}
""", ["--block", 128, "--shared", 100_000, "--arg", "f32[128]"], 8, 64, "100000 bytes of shared memory and 128 threads"),
}


@pytest.mark.parametrize("index, cure", [("threadIdx.x * 4", "an array for each member of a struct"), ("threadIdx.x * 64", "or move a tile"),
                                         ("threadIdx.x * threadIdx.x * 8", "where data choose them, sorted data")])
def test_scattered_accesses_are_cured_by_how_far_lanes_are_apart(index, cure, write):
    source = f"__global__ void f(const float *in, float *out) {{ out[threadIdx.x] =\n  in[{index}]; }}\n"
    advice, = inspected(write("apart.cu", source), "--block", 128, "--arg", "f32[131072]=iota", "--arg", "f32[128]")["advice"]
    assert (advice["kind"], advice["line"], advice["least"]) == ("uncoalesced", 2, 16)
    assert cure in advice["cure"] and advice["cure"].endswith("; then 16")


@pytest.mark.parametrize("kind", SLOW)
def test_advice(kind, write):
    source, arguments, count, least, said = SLOW[kind]
    advice, = [advice for advice in inspected(write("slow.cu", source), *arguments)["advice"] if advice["kind"] == kind]
    assert advice["message"] and advice["cure"]
    assert (advice["count"], advice["least"]) == (count, least)
    assert said in advice["message"]
    if kind != "low-occupancy":  # which is the launch's
        assert advice["line"] == line_of(source, "here")


TREE_BY_MODULO = """__global__ void f(const float *in, float *out) {
    __shared__ float s[256];
    int t = threadIdx.x;
    s[t] = in[blockIdx.x * 256 + t];
    __syncthreads();
    for (int k = 1; k < 256; k *= 2) {
        if (t % (2 * k) == 0) s[t] += s[t + k]; // here
        __syncthreads();
    }
    if (t == 0) out[blockIdx.x] = s[0];
}
"""
WARPS = """int sum = __reduce_add_sync(0xffffffff, (unsigned)threadIdx.x);
    if (threadIdx.x % 32 == 0) atomicAdd(out, sum); // here"""
# The slow kernel, its arguments, what cures it, and the count that tells.
CURED = {
    "uncoalesced": (*SLOW["uncoalesced"][:2], {"threadIdx.x * 8 + c": "c * 64 + threadIdx.x"}, "global_sectors"),
    "contended-atomic": (*SLOW["contended-atomic"][:2], {"atomicAdd(out, (int)threadIdx.x); // here": WARPS}, "atomics"),
    "divergence": (TREE_BY_MODULO, ["--block", 256, "--grid", 3, "--arg", "f32[768]=iota", "--arg", "f32[3]"],
                   {"if (t % (2 * k) == 0) s[t] += s[t + k];":
                    "int i = 2 * k * t; if (i < 256) s[i] += s[i + k];"}, "divergent_branches"),
    "redundant-barrier": (*SLOW["redundant-barrier"][:2], {"__syncthreads(); // here": "; // here"}, "barriers"),
}


@pytest.mark.parametrize("kind", CURED)
def test_the_cure_gives_the_count_that_advice_tells(kind, write):
    source, arguments, cure, counter = CURED[kind]
    advice, = [advice for advice in inspected(write("slow.cu", source), *arguments)["advice"] if advice["kind"] == kind]
    assert advice["count"] > advice["then"] >= advice["least"] and f"{advice['then']}" in advice["cure"]
    for old, new in cure.items():
        assert old in source
        source = source.replace(old, new)
    cured = inspected(write("cured.cu", source), *arguments)
    assert kind not in {advice["kind"] for advice in cured["advice"]}
    counts = {line["line"]: line[counter] for line in cured["lines"]}
    assert counts.get(line_of(source, "here"), 0) == advice["then"]


@pytest.mark.parametrize("block, shared, warp", [(128, 100_000, 32), (96, 60_000, 32), (16, 64, 8), (512, 150_000, 32)])
def test_occupancy_that_the_cure_gives(block, shared, warp, write):
    path = write("slow.cu", SLOW["low-occupancy"][0])

    def ask(threads, nbytes):
        return inspected(path, "--block", threads, "--shared", nbytes, "--warp", warp, "--arg", f"f32[{threads}]")

    advice, = [advice for advice in ask(block, shared)["advice"] if advice["kind"] == "low-occupancy"]
    assert advice["count"] < advice["then"] <= advice["least"] == 64
    larger = re.match(r"larger blocks, of (\d+) threads for example; then (\d+)$", advice["cure"])
    less = re.match(r"at most (\d+) bytes of shared memory for each block of (\d+) threads; then (\d+)$", advice["cure"])
    threads, nbytes = (int(larger[1]), shared * int(larger[1]) // block) if larger else (int(less[2]), int(less[1]))
    assert int((larger or less)[2 if larger else 3]) == advice["then"]
    assert ask(threads, nbytes)["counts"]["occupancy"] * 64 == advice["then"]
    if less:
        assert ask(threads, nbytes + 129)["counts"]["occupancy"] * 64 < advice["then"]


@pytest.mark.parametrize("block, shared, blocks", [(16, 64, 32), (32, 128, 32), (1024, 120_000, 1)])
def test_half_of_the_warps_are_few_where_more_blocks_wait(block, shared, blocks, write):
    """A multiprocessor of an H100 holds 32 blocks and 64 warps: of blocks of one warp, whole or half, exactly half."""
    path = write("slow.cu", SLOW["low-occupancy"][0])

    def advised(threads, grid, nbytes=shared):
        report = inspected(path, "--block", threads, "--grid", grid, "--shared", nbytes, "--arg", f"f32[{threads}]")
        assert report["counts"]["resident_blocks"] >= blocks
        return [advice for advice in report["advice"] if advice["kind"] == "low-occupancy"]

    (advice,), few = advised(block, blocks + 1), advised(block, blocks)
    assert (advice["count"], advice["then"], advice["least"], few) == (32, 64, 64, [])
    threads = int((re.search(r"larger blocks, of (\d+) threads", advice["cure"]) or [0, block])[1])
    nbytes = int((re.search(r"at most (\d+) bytes", advice["cure"]) or [0, shared * threads // block])[1])
    assert advised(threads, blocks + 1, nbytes) == []


def test_barriers_before_a_stop_are_not_called_redundant(write):
    source, arguments, _, _ = WRONG["neighbour"]
    assert inspected(write("wrong.cu", source), *arguments, status=3)["advice"] == []


# What the first comments of these rungs admit; the others have no advice.
ADMITTED = {"00": {"contended-atomic": "atomic operations on one address"},
            "01": {"uncoalesced": "scattered|apart", "divergence": "every warp diverges"},
            "03": {"divergence": "divergence is back", "bank-conflict": "bank"},
            "04": {"divergence": "every warp diverges"},
            "05": {"bank-conflict": "ever fewer banks"}}


@pytest.mark.parametrize("ptx", sorted((ROOT / "ladder" / "ptx").glob("*.sum.f32.ptx")), ids=lambda path: path.name[:2])
def test_rungs_get_the_advice_that_their_comments_admit(ptx):
    text = (ROOT / "ladder" / f"{ptx.name.split('.')[0]}.cu").read_text()
    facts, block, grid = dict(re.findall(r"^// (\w+): (\S+)", text, re.MULTILINE)), 256, 8
    tile = int(facts["Tile"]) if facts["Tile"].isdigit() else 4
    shared = {"0": 0, "1": block, "2": 2 * block, "warp": block // 32}.get(facts["Shared"], 16 * block)
    n = grid * block * tile
    arguments = [f"f32[{n}]=random:1", "u64:0", f"u64:{n}", f"u64:{n // grid}", f"f32[{grid}]", "u64:0", "f32[1]=zeros",
                 "u64:0", "u32[1]=zeros"]
    report = inspected(ptx, "--grid", grid, "--block", block, "--shared", 4 * shared,
                       *(word for argument in arguments for word in ("--arg", argument)))
    assert report["findings"] == []
    admitted = ADMITTED.get(ptx.name[:2], {})
    assert {advice["kind"] for advice in report["advice"]} == set(admitted)
    comment = " ".join(re.match(r"(?://.*\n)*", text).group().replace("//", " ").split())
    for words in admitted.values():
        assert re.search(words, comment), words


# ---- the first line ------------------------------------------------------------------------------------

PROGRAM = """__global__ void __launch_bounds__(256) scale(const float *__restrict__ in, float *out, // in: read
                                              float factor, unsigned int n) {
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = factor * in[i];
}
int main() {
    const int n = 1 << 10, threads = 128;
    float *in, *out; /* out = 5; */
    cudaMalloc(&in, n * sizeof(float));
    cudaMalloc((void **)&out, sizeof *out * n);
    scale<<<(n + threads - 1) / threads, threads>>>(in, out, 2.0f, n);
}
"""


def test_without_arguments_it_says_which_command_to_begin_with(write):
    path = write("scale.cu", PROGRAM.split("int main")[0] + "#if 0\nint main" + PROGRAM.split("int main")[1] + "#endif\n")
    done = run("inspect", path)
    assert (done.returncode, done.stdout) == (2, "")
    said, command = done.stderr.splitlines()
    assert "scale(const float *in, float *out, float factor, unsigned int n)" in said
    words = command.replace("'", "").split()
    assert words == ["warpfold", "inspect", str(path), "--grid", "8", "--block", "128", "--arg", "f32[1024]=random:1", "--arg",
                     "f32[1024]", "--arg", "f32:1", "--arg", "u32:1024", "--print", "1"]
    report = inspected(*words[2:])
    assert report["findings"] == report["advice"] == []
    assert report["values"][0]["name"] == "out" and len(report["values"][0]["elements"]) == 8


def test_extents_of_a_launch(write):
    source = TRANSPOSE + """#if 0
int main() {
    int n = 64;
    dim3 block(32, 32), grid(n / 32, n / 32);
    transpose<<<grid, block, 16>>>(a, b, n);
}
#endif
"""
    assert "--grid 2,2 --block 32,32 --shared 16 --arg" in run("inspect", write("t.cu", source)).stderr


@pytest.mark.parametrize("argument, wanted", [("f64[1000]=iota", "`const float *in`: give f32[N]=..."),
                                              ("i32[1000]=iota", "`const float *in`: give f32[N]=..."),
                                              ("f64:0", "`const float *in`: give f32[N]=...")])
def test_arguments_of_another_type_are_refused(argument, wanted, write):
    source, arguments, _, _ = WRONG["bounds"]
    done = run("inspect", write("wrong.cu", source), "--arg", argument, "--arg", "f32[1024]")
    assert done.returncode == 2 and f"argument 0 of f is {wanted}" in done.stderr


def test_what_points_to_nothing_or_to_bytes_fits_any_pointer(write):
    source = "__global__ void f(const float *in, char *out) { if (!in) out[threadIdx.x] = 1; }\n"
    report = inspected(write("null.cu", source), "--arg", "u64:0", "--arg", "f64[4]", "--print", "1:1")
    assert report["findings"] == [] and report["values"][0]["elements"] != [0]


def test_results_are_printed(write):
    source = "__global__ void f(int *a, double *b, signed char *c) { a[threadIdx.x] = -(int)threadIdx.x; b[threadIdx.x] = " \
             "threadIdx.x / 8.; c[threadIdx.x] = -1; }\n"
    words = ["--block", 4, "--arg", "int[4]", "--arg", "double[4]", "--arg", "i8[4]", "--print", "0:3", "--print", 1, "--print", 2]
    done = run("inspect", write("print.cu", source), *words)
    assert done.returncode == 0
    for text in ("a, the first 3 of 4: 0 -1 -2\n", "b, the first 4 of 4: 0 0.125 0.25 0.375\n", "c, the first 4 of 4: -1 -1 -1 -1\n"):
        assert text in done.stdout
    assert [value["elements"] for value in inspected(write("print.cu", source), *words)["values"]] == \
        [[0, -1, -2], [0, .125, .25, .375], [-1] * 4]
    for wrong in ("3", "x", "0:", "0:-1", "0=4"):
        assert run("inspect", write("print.cu", source), *words, "--print", wrong).returncode == 2


def test_the_line_to_copy_has_vectors_and_zeros_for_what_is_updated(write):
    path = write("updates.cu", "__global__ void f(const float4 *in, int *bins, float *total, int *lock, float *out) {\n"
                 "    atomicAdd(&bins[threadIdx.x % 4], 1);\n    if (threadIdx.x == 0) *total += 1;\n"
                 "    if (threadIdx.x == 0) lock[0]++;\n    out[threadIdx.x] = in[threadIdx.x].w;\n    out[threadIdx.x] += 1;\n}\n")
    line = run("inspect", path).stderr.splitlines()[-1]
    assert "--arg 'f32[128]=random:1' --arg 'i32[32]=zeros' --arg 'f32[32]=zeros' --arg 'i32[32]=zeros' --arg 'f32[32]' --print 1" in line
    assert inspected(*shlex.split(line)[2:])["findings"] == []


def test_the_line_to_copy_has_the_types_of_a_template_s_instance(write):
    path = write("template.cu", "template <typename T, int N> __global__ void f(const T *in, T factor, T *out)\n"
                 "{ out[threadIdx.x] = factor * in[threadIdx.x] + N; }\ntemplate __global__ void f<double, 3>(const double *, double, double *);\n")
    for kernel in ([], ["--kernel", "f<unsigned int, 4>"]):
        element = "u32" if kernel else "f64"
        fill, one = ("iota", 32) if kernel else ("random:1", 1)
        line = run("inspect", path, *kernel).stderr.splitlines()[-1]
        assert f"--arg '{element}[32]={fill}' --arg {element}:{one} --arg '{element}[32]' --print 2" in line
        assert inspected(*shlex.split(line)[2:])["findings"] == []
    assert "give f64[N]" in run("inspect", path, "--arg", "f32[32]=iota", "--arg", "f64:1", "--arg", "f64[32]").stderr


# ---- hosts of code -------------------------------------------------------------------------------------


def test_sarif_and_annotations(write):
    source, arguments, _, _ = WRONG["bounds"]
    path = write("wrong.cu", source)
    done = run("inspect", path, *arguments, "--sarif")
    assert done.returncode == 3
    result, = json.loads(done.stdout)["runs"][0]["results"]
    assert (result["ruleId"], result["level"]) == ("bounds", "error")
    assert result["locations"][0]["physicalLocation"]["region"]["startLine"] == line_of(source, "here")
    assert "(index 1000 of `in`, float[1000])" in result["message"]["text"]
    done = run("inspect", path, *arguments, "--github")
    assert done.returncode == 3 and done.stdout.count("\n") == 1
    assert done.stdout.startswith(f"::error file={path},line={line_of(source, 'here')},title=bounds::f, block (3,0,0)")
    path = write("100%: a,b.cu", TRANSPOSE)
    done = run("inspect", path, *TRANSPOSED, "--github")
    assert done.returncode == 0
    assert f"::warning file={path.parent}/100%25%3A a%2Cb.cu,line={line_of(TRANSPOSE, 'turn')},title=bank-conflict::" in done.stdout
    warning, = json.loads(run("inspect", path, *TRANSPOSED, "--sarif").stdout)["runs"][0]["results"]
    assert (warning["ruleId"], warning["level"]) == ("bank-conflict", "warning")
    assert run("inspect", path, *TRANSPOSED, "--sarif", "--json").returncode == 2


# ---- as students write them: what is said of each, all of it

STUDENTS = {
    "off by one": ("""__global__ void add(const float *a, const float *b, float *c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i <= n)
        c[i] = a[i] + b[i];
}
""", "--block 128 --grid 8 --arg f32[1000]=iota --arg f32[1000]=iota --arg f32[1000] --arg i32:1000",
        [("bounds", 5, "(index 1000 of `b`, float[1000])")]),
    "a border": ("""__global__ void blur(const float *in, float *out, int w, int h)
{
    int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    float s = 0;
    for (int dy = -1; dy <= 1; dy++)
        for (int dx = -1; dx <= 1; dx++)
            s += in[(y + dy) * w + x + dx];
    out[y * w + x] = s / 9;
}
""", "--block 16,16 --grid 2,2 --arg f32[1024]=iota --arg f32[1024] --arg i32:32 --arg i32:32",
        [("bounds", 7, "(index -33 of `in`, float[1024])")]),
    "tiles": ("""#define T 16
__global__ void matmul(const float *a, const float *b, float *c, int n)
{
    __shared__ float as[T][T], bs[T][T];
    int row = blockIdx.y * T + threadIdx.y, col = blockIdx.x * T + threadIdx.x;
    float sum = 0;
    for (int t = 0; t < n / T; t++) {
        as[threadIdx.y][threadIdx.x] = a[row * n + t * T + threadIdx.x];
        bs[threadIdx.y][threadIdx.x] = b[(t * T + threadIdx.y) * n + col];
        __syncthreads();
        for (int k = 0; k < T; k++)
            sum += as[threadIdx.y][k] * bs[k][threadIdx.x];
    }
    c[row * n + col] = sum;
}
""", "--block 16,16 --grid 2,2 --arg f32[1024]=iota --arg f32[1024]=iota --arg f32[1024] --arg i32:32",
        [("race", None, "no __syncthreads() between line 12 and line 8"), ("race", None, "no __syncthreads() between line 12 and line 9")]),
    "a histogram": ("""__global__ void histo(const int *in, int *bins, int n)
{
    __shared__ int own[16];
    if (threadIdx.x < 16) own[threadIdx.x] = 0;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(&own[in[i] & 15], 1);
    __syncthreads();
    if (threadIdx.x < 16) bins[threadIdx.x] += own[threadIdx.x];
}
""", "--block 128 --grid 4 --arg i32[512]=iota --arg i32[16]=zeros --arg i32:512",
        [("race", 8, "no atomic operation such as atomicAdd() at line 8"), ("race", 6, "no __syncthreads() between line 4 and line 6")]),
    "an early return": ("""__global__ void scale(const float *in, float *out, int n)
{
    __shared__ float s[128];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    s[threadIdx.x] = in[i];
    __syncthreads();
    out[i] = s[blockDim.x - 1 - threadIdx.x];
}
""", "--block 128 --grid 2 --arg f32[200]=iota --arg f32[200] --arg i32:200",
        [("uninitialised", 8, "shared memory is undefined when a block begins")]),
    "a barrier in a branch": ("""__global__ void sum(const int *in, int *out)
{
    __shared__ int s[64];
    int t = threadIdx.x;
    s[t] = in[t];
    __syncthreads();
    for (int k = 32; k > 0; k /= 2)
        if (t < k) {
            s[t] += s[t + k];
            __syncthreads();
        }
    if (t == 0) *out = s[0];
}
""", "--block 64 --arg i32[64]=ones --arg i32[1]",
        [("barrier", 10, "threads 0-15 wait at line 10; 16-31 skipped it at line 8; 32-63 have ended")]),
    "a scan in place": ("""__global__ void scan(const int *in, int *out, int n)
{
    __shared__ int s[128];
    int t = threadIdx.x;
    s[t] = t < n ? in[t] : 0;
    __syncthreads();
    for (int d = 1; d < 128; d *= 2) {
        if (t >= d) s[t] += s[t - d];
        __syncthreads();
    }
    if (t < n) out[t] = s[t];
}
""", "--block 128 --arg i32[100]=ones --arg i32[100] --arg i32:100",
        [("race", 8, "no __syncthreads() between the load and the store of line 8")]),
    "a shuffle at the end": ("""__global__ void warpsum(const int *in, int *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        int v = in[i];
        for (int d = 16; d > 0; d /= 2)
            v += __shfl_down_sync(0xffffffff, v, d);
        if (threadIdx.x % 32 == 0) atomicAdd(out, v);
    }
}
""", "--block 64 --grid 2 --arg i32[100]=ones --arg i32[1]=zeros --arg i32:100",
        [("shuffle", 7, "of the warp only lanes 0-3 are here: let all that the mask names come")]),
    "a tree of fewer": ("""__global__ void maxi(const float *in, float *out, int n)
{
    __shared__ float s[128];
    int t = threadIdx.x;
    if (t < n) s[t] = in[t];
    __syncthreads();
    for (int k = 64; k > 0; k /= 2) {
        if (t < k) s[t] = fmaxf(s[t], s[t + k]);
        __syncthreads();
    }
    if (t == 0) *out = s[0];
}
""", "--block 128 --arg f32[100]=iota --arg f32[1] --arg i32:100",
        [("uninitialised", 8, "at byte 400, which has not been written")]),
    "a sum without atomics": ("""__global__ void dot(const float *a, const float *b, float *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) *out += a[i] * b[i];
}
""", "--block 128 --grid 2 --arg f32[256]=iota --arg f32[256]=ones --arg f32[1]=zeros --arg i32:256",
        [("race", 4, "no atomic operation such as atomicAdd() at line 4")]),
    "vectors at any address": ("""__global__ void copy4(const float *in, float *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float4 v = *(const float4 *)(in + i);
    *(float4 *)(out + i) = v;
}
""", "--block 64 --arg f32[64]=iota --arg f32[64] --arg i32:64",
        [("misaligned", None, "which is not a multiple of 16 (index 1 of `in`, float[64])")]),
    "a step of 0": ("""__global__ void stride(const float *in, float *out, int n, int step)
{
    float s = 0;
    for (int i = threadIdx.x; i < n; i += step) s += in[i];
    out[threadIdx.x] = s;
}
""", "--block 32 --arg f32[64]=iota --arg f32[32] --arg i32:64 --arg i32:0",
        [("runaway", 4, "lanes 0-31 of warp 0 are in a loop that never ends")]),
    "a reversal in place": ("""__global__ void rev(int *a, int n)
{
    int i = threadIdx.x;
    a[i] = a[n - 1 - i];
}
""", "--block 64 --arg i32[64]=iota --arg i32:64",
        [("race", 4, "no __syncthreads() between the load and the store of line 4 (index 31 of `a`, int[64])")]),
    "a barrier for the grid": ("""__device__ int count;
__global__ void twostep(float *a, float *b, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    a[i] = i;
    __syncthreads();
    b[i] = a[(i + 1) % n];
}
""", "--block 64 --grid 4 --arg f32[256] --arg f32[256] --arg i32:256",
        [("race", None, "a second launch")]),
    "volatile": ("""__global__ void sum(const float *in, float *out)
{
    __shared__ volatile float s[64];
    int t = threadIdx.x;
    s[t] = in[t] + in[t + 64];
    __syncthreads();
    if (t < 32) {
        s[t] += s[t + 32];
        s[t] += s[t + 16];
        s[t] += s[t + 8];
        s[t] += s[t + 4];
        s[t] += s[t + 2];
        s[t] += s[t + 1];
    }
    if (t == 0) *out = s[0];
}
""", "--block 64 --arg f32[128]=ones --arg f32[1]",
        [("race", None, "no __syncwarp() between line 8 and line 9; nor at the other accesses of lines 8 to 13, of which 10 pairs race")]),
    "half a halo": ("""__global__ void stencil(const float *in, float *out, int n)
{
    __shared__ float s[66];
    int i = blockIdx.x * 64 + threadIdx.x, t = threadIdx.x + 1;
    s[t] = i < n ? in[i] : 0;
    if (threadIdx.x == 0) s[0] = i > 0 ? in[i - 1] : 0;
    __syncthreads();
    if (i < n) out[i] = s[t - 1] + s[t] + s[t + 1];
}
""", "--block 64 --grid 2 --arg f32[128]=iota --arg f32[128] --arg i32:128",
        [("uninitialised", 8, "at byte 260, which has not been written")]),
}


@pytest.mark.sampled
@pytest.mark.parametrize("name", STUDENTS)
def test_what_students_write_is_told_once_with_its_line_and_cure(name, write):
    source, arguments, told = STUDENTS[name]
    findings = inspected(write("student.cu", source), *arguments.split(), status=3)["findings"]
    assert len(findings) == len(told)
    for kind, line, said in told:
        assert any(finding["kind"] == kind and said in finding["message"] and (line is None or finding["line"] == line)
                   for finding in findings), (kind, said)
