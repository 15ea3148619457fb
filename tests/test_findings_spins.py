"""Loops that never end are told as that, with whom they wait for; those that end are not."""

import json
import os
import re

import pytest

from cli_helpers import run
from finding_helpers import line_of, nvrtc  # noqa: F401
from inspect_helpers import inspected

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
""", ["--block", 64, "--grid", 2], "of block ({holder},0,0) took at line {here} and did not free before it ended"),
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
    holders = (0,) if "--threads" in options and 1 in options else (0, 1)  # of blocks at once either may be the first
    assert any(said.format(**lines, holder=holder) in finding["message"] for holder in holders)
    assert finding["message"].endswith("(index 0 of `flag`, int[1])") or name == "not volatile" or "int *lock" in source
    return report["instructions"], finding["message"]


# Locks of which a circle of threads each holds one and waits for the next, and other ways to wait for one for ever.
TAKE = "__device__ void take(int *lock) { while (atomicCAS(lock, 0, 1) != 0) { } }\n"
LOCKS = {
    "two blocks, two orders": ("""__global__ void f(int *a, int *b, int *ready) {
    int *first = blockIdx.x ? b : a, *second = blockIdx.x ? a : b;
    if (threadIdx.x) return;
    while (atomicCAS(first, 0, 1) != 0) { } // took
    atomicAdd(ready, 1);
    while (atomicAdd(ready, 0) < 2) { }
    while (atomicCAS(second, 0, 1) != 0) { } // waits
    atomicExch(second, 0);
    atomicExch(first, 0);
}
""", ["--grid", 2], r"thread \(0,0,0\) of block \((.),0,0\) waits at line {waits} for the lock `([ab])\[0\]`, which thread \(0,0,0\) of "
     r"block \((?!\1).,0,0\) took at line {took}; that one waits at line {waits} for the lock `(?!\2)[ab]\[0\]`, which the first took at "
     r"line {took}: take locks in one order everywhere"),
    "three warps, in shared memory": ("""__global__ void f(int *a, int *b, int *ready) {
    __shared__ int locks[3];
    const int mine = threadIdx.x / 32, next = (mine + 1) % 3;
    if (threadIdx.x < 3) locks[threadIdx.x] = 0;
    __syncthreads();
    if (threadIdx.x % 32 == 0) while (atomicExch(&locks[mine], 7) != 0) { } // took
    __syncthreads();
    if (threadIdx.x % 32 == 0) while (atomicExch(&locks[next], 7) != 0) { } // waits
}
""", ["--block", 96], r"thread \((\d+),0,0\) of block \(0,0,0\) waits at line {waits} for the lock `locks\[(\d)\]`, which thread "
     r"\((\d+),0,0\) of block \(0,0,0\) took at line {took}; that one waits at line {waits} for the lock `locks\[(\d)\]`, which thread "
     r"\((\d+),0,0\) of block \(0,0,0\) took at line {took}, and so on in a circle of 3 threads"),
    "lanes of one warp": ("""__device__ int one, two;
__global__ void f(int *a, int *b, int *ready) {
    int *first = threadIdx.x ? &one : &two, *second = threadIdx.x ? &two : &one;
    if (threadIdx.x < 2) while (atomicCAS(first, 0, 1 + threadIdx.x) != 0) { } // took
    __syncwarp();
    if (threadIdx.x < 2) while (atomicCAS(second, 0, 1 + threadIdx.x) != 0) { } // waits
}
""", [], r"thread \((.),0,0\) of block \(0,0,0\) waits at line {waits} for the lock `(one|two)`, which thread \((?!\1).,0,0\) of block \(0,0,0\) "
     r"took at line {took}; that one waits at line {waits} for the lock `(?!\2)(one|two)`, which the first took at line {took}: take"),
    "twice": (TAKE + """__global__ void f(int *a, int *b, int *ready) {
    if (threadIdx.x) return;
    take(a + 3); // took
    take(a + 3); // waits
    atomicExch(a + 3, 0);
}
""", [], r"at line {waits} it waits for the lock `a\[3\]`, which it has taken itself at line {took}: free a lock before it is taken again"),
    "held at a barrier": (TAKE + """__global__ void f(int *a, int *b, int *ready) {
    if (threadIdx.x == 0) take(a); // took
    if (threadIdx.x == 32) take(a);
    __syncthreads(); // waits
    if (threadIdx.x == 0) atomicExch(a, 0);
}
""", ["--block", 64], r"waits for the lock `a\[0\]`, which thread \((0|32),0,0\) of block \(0,0,0\) took at line .+ and holds while it waits at "
     r"line {waits}: free it before that"),
    "held until a flag is set": (TAKE + """__global__ void f(int *a, int *b, int *ready) {
    if (threadIdx.x == 32) while (*(volatile int *)ready == 0) { } // took
    if (threadIdx.x == 0) take(a);
    if (threadIdx.x == 0) while (*(volatile int *)ready == 0) { } // waits
    if (threadIdx.x == 64) take(a);
}
""", ["--block", 96], r"no thread is left to change it.*\(index 0 of `ready`, int\[1\]\)"),
}


@pytest.mark.parametrize("schedule", ["lockstep", "split", "random:1"])
@pytest.mark.parametrize("name", LOCKS)
def test_who_holds_a_lock_is_told_and_since_where(name, schedule, write):
    source, options, said = LOCKS[name]
    report = inspected(write("locks.cu", source), *options, "--schedule", schedule, "--arg", "i32[4]=zeros", "--arg", "i32[1]=zeros",
                       "--arg", "i32[1]=zeros", status=3)
    finding = report["findings"][-1]
    lines = {marked: line_of(source, marked) for marked in ("took", "waits")}
    assert finding["kind"] == "runaway" and re.search(said.format(**lines), finding["message"]), finding["message"]


def test_a_word_that_is_no_lock_or_free_is_told_of_as_before(write):
    """Taken and freed, or set by a thread for others to see, who wait for another value."""
    source = TAKE + """__global__ void f(int *lock, int *flag) {
    if (threadIdx.x == 0) { take(lock); atomicExch(lock, 0); atomicExch(flag, 1); }
    if (threadIdx.x == 32) while (atomicAdd(flag, 0) != 2) { }
    if (threadIdx.x == 64) while (atomicCAS(lock, 1, 2) != 1) { }
}
"""
    finding, = inspected(write("free.cu", source), "--block", 96, "--arg", "i32[1]=zeros", "--arg", "i32[1]=zeros", status=3)["findings"]
    assert "no thread is left to change it" in finding["message"] and "the lock" not in finding["message"]


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
    assert spinning <= count <= 32 and instructions < (1_500_000 if schedule == "split" else 4_000_000)


BARRIER = """#include <cuda/barrier>
__global__ void tree(const float *in, float *out) {
    __shared__ float s[64];
    __shared__ cuda::barrier<cuda::thread_scope_block> bar;
    int t = threadIdx.x;
    if (t == 0) init(&bar, blockDim.x);
    __syncthreads();
    s[t] = in[t];
    bar.arrive_and_wait();
    for (int k = 32; k > 0; k /= 2) {
        if (t < k) s[t] += s[t + k];
        bar.arrive_and_wait();
    }
    if (t == 0) *out = s[0];
}
"""


def test_lanes_that_wait_for_others_in_a_loop_leave_them_their_turn(write):
    """Before sm_80 the barrier is a loop; a lane that ran on in it took 1.5 million instructions, and blocks of 256 the limit."""
    report = inspected(write("tree.cu", BARRIER), "--block", 64, "--schedule", "split", "--arg", "f32[64]=ones", "--arg", "f32[1]",
                       "--expect", "1=64")
    assert report["findings"] == [] and report["instructions"] < 100_000


LATCHES = """#include <cuda/latch>
__global__ void tree(const float *in, float *out) {
    __shared__ float s[256];
    __shared__ alignas(16) unsigned char room[8][16];
    int t = threadIdx.x, r = 0;
    if (t < 8) new (room[t]) cuda::latch<cuda::thread_scope_block>(256);
    s[t] = in[t];
    __syncthreads();
    for (int k = 128; k > 0; k /= 2, r++) {
        if (t < k) s[t] += s[t + k];
        reinterpret_cast<cuda::latch<cuda::thread_scope_block> *>(room[r])->arrive_and_wait();
    }
    if (t == 0) *out = s[0];
}
"""


@pytest.mark.parametrize("schedule,most", [("lockstep", 5_000), ("split", 120_000)])
def test_warps_that_wait_for_others_leave_them_their_turn(schedule, most, write):
    """With 64 polls to each turn it took 33,000 instructions in lockstep, and lane by lane, where polls of an unrolled loop did not
    count as the same again, 390,000."""
    report = inspected(write("tree.cu", LATCHES), "--block", 256, "--schedule", schedule, "--arg", "f32[256]=ones", "--arg", "f32[1]",
                       "--expect", "1=256")
    assert report["findings"] == [] and report["instructions"] < most


MANY_WAITING = """#include <cuda/barrier>
__global__ void tree(const float *in, float *out) {
    __shared__ float s[THREADS];
    __shared__ cuda::barrier<cuda::thread_scope_device> bar;
    int t = threadIdx.x;
    if (t == 0) init(&bar, blockDim.x);
    s[t] = in[t];
    __syncthreads();
    for (int k = THREADS / 2; k > 0; k /= 2) {
        if (t < k) s[t] += s[t + k];
        bar.arrive_and_wait();
    }
    if (t == 0) out[blockIdx.x] = s[0];
}
"""


def seconds_of_waiting(write, threads):
    """Processor time of 8192 threads in blocks of so many, of which all wait for each other."""
    begin = os.times().children_user
    blocks = 8192 // threads
    report = inspected(write("tree.cu", MANY_WAITING.replace("THREADS", str(threads))), "--block", threads, "--grid", blocks, "--threads",
                       1, "--schedule", "random:1", "--arg", f"f32[{threads}]=ones", "--arg", f"f32[{blocks}]", "--expect", f"1={threads}")
    assert report["findings"] == []
    return os.times().children_user - begin


def test_what_a_waiting_thread_reads_again_is_not_looked_up_again(write):
    """A barrier of this scope is a loop around a load that acquires what all others of the block have released: once for each wait,
    not in each round of it, by which 1023 others took 10 to 25 times as long as 63, in place of 3 to 5."""
    many, few = (min(seconds_of_waiting(write, threads) for _ in range(2)) for threads in (1024, 64))
    assert many < 9 * few


AFTER_A_RECURSION = """struct many { int values[24]; };
__device__ __noinline__ unsigned deep(unsigned n, unsigned x) { unsigned r = n ? deep(n - 1, x * 3 + n) : x; return r * 7 + x; }
__device__ __noinline__ many ask(volatile int *flag) { many m; for (int i = 0; i < 24; i++) m.values[i] = flag[i]; return m; }
__global__ void f(volatile int *flag, unsigned *out) {
    out[threadIdx.x] = deep(2500, threadIdx.x);
    for (int sum = 0; sum != 7;) { many m = ask(flag); sum = 0; for (int i = 0; i < 24; i++) sum += m.values[i]; }
}
"""


def test_calls_in_a_loop_have_their_memory_again_after_a_deep_recursion(write):
    path = write("after.cu", AFTER_A_RECURSION)
    report = inspected(path, "--limit", 6_000_000, "--arg", "i32[24]=zeros", "--arg", "u32[32]", status=3)
    assert "in a loop that never ends: it waits for memory to change" in report["findings"][0]["message"]
    assert report["instructions"] < 1_000_000


STEPS = {
    "of a parameter": ("for (int k = 0; k < 100; k += step) out[k] = 1;", "0"),
    "of a stride": ("for (int s = threadIdx.x; s >= 0; s /= 2) out[s] = 1;", "1"),
    "of a float": ("for (float x = 1; x < 1e9f; x += step * 0.25f) out[0] = x;", "0"),
}


@pytest.mark.parametrize("name", STEPS)
def test_a_step_of_0_is_no_matter_of_volatile(name, write):
    loop, step = STEPS[name]
    source = f"__global__ void f(float *out, int step) {{\n    {loop} // here\n}}\n"
    findings = inspected(write("step.cu", source), "--limit", 400_000, "--block", 32, "--arg", "f32[100]", "--arg", f"i32:{step}",
                         status=3)["findings"]
    finding, = [finding for finding in findings if finding["kind"] == "runaway"]
    assert finding["line"] == 2 and "volatile" not in finding["message"]
    assert "a step of 0, say, or a condition that nothing in the loop changes" in finding["message"]


@pytest.mark.parametrize("loop", ["for (unsigned k = threadIdx.x; k >= 0; k--) sum += out[k & 31];", "while (true) sum += 1;"])
def test_a_loop_that_asks_for_nothing_is_no_matter_of_steps(loop, write):
    source = f"__global__ void f(float *out) {{\n    float sum = 0;\n    {loop}\n    out[threadIdx.x] = sum;\n}}\n"
    finding, = inspected(write("always.cu", source), "--block", 32, "--arg", "f32[32]=zeros", status=3)["findings"]
    assert finding["kind"] == "runaway" and "a step of 0" not in finding["message"]
    assert "its condition is always true, as i >= 0 is of an unsigned i" in finding["message"]


def test_polls_of_a_loop_that_never_ends_are_no_matter_of_contention(write):
    path = write("polls.cu", "__device__ int gate[4];\n__global__ void f(int *out) { while (!atomicAdd(&gate[2], 0)) ; *out = 1; }\n")
    report = inspected(path, "--block", 64, "--arg", "i32[1]", status=3)
    assert [finding["kind"] for finding in report["findings"]] == ["runaway"] and report["advice"] == []


def test_a_flag_that_is_read_once_is_told_so(write):
    source = "__global__ void f(const int *__restrict__ flag, int *out) {\n    while (*flag == 0) { }\n    out[0] = 1;\n}\n"
    finding, = inspected(write("once.cu", source), "--block", 32, "--arg", "i32[1]=zeros", "--arg", "i32[1]", status=3)["findings"]
    assert finding["message"].endswith("(a flag that others set must be volatile or atomic, or it is read once)")


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


# What decides, and a round changes and changes back.
UNDONE = {
    "one word that takes turns": """__global__ void f(volatile int *flag, volatile int *out) {
    if (threadIdx.x || blockIdx.x) return;
    while (flag[0] < 2) flag[0] = 1 - flag[0]; // here
}
""",
    "a word of each thread": """__global__ void f(volatile int *flag, volatile int *out) {
    volatile int *mine = out + blockIdx.x * blockDim.x + threadIdx.x;
    do *mine = (*mine * 5 + 3) % 64; while (*mine < 64); // here
}
""",
    "a lock that is taken and freed": """__global__ void f(int *flag, int *out) {
    if (threadIdx.x) return;
    for (int got = 0; got == 0; atomicExch(&out[blockIdx.x], 0)) { // here
        while (atomicCAS(&out[blockIdx.x], 0, 1) != 0) { }
        got = flag[0];
    }
}
""",
    "a flag that says that something has changed": """__global__ void f(int *flag, int *out) {
    __shared__ volatile int changed[2];
    volatile int *mine = out + blockIdx.x * blockDim.x + threadIdx.x;
    do { // here
        changed[threadIdx.x / 32] = 0;
        const int before = *mine;
        *mine = before ^ 1;
        if (before < 2) changed[threadIdx.x / 32] = 1;
    } while (changed[threadIdx.x / 32]);
}
""",
    "a list whose links are turned round": """__global__ void f(int *flag, volatile int *out) {
    if (threadIdx.x || blockIdx.x) return;
    for (int k = 0; k < 8; k++) out[k] = (k + 1) % 8;
    for (int at = 0, from = 7; at < 8;) { const int next = out[at]; out[at] = from; from = at; at = next; } // here
}
""",
    "in a function": """__device__ __noinline__ bool turn(volatile int *word) { *word = *word ^ 6; return *word > 6; } // here
__global__ void f(int *flag, int *out) { while (!turn(out + blockIdx.x * blockDim.x + threadIdx.x)) { } }
""",
}


@pytest.mark.sampled
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", UNDONE)
def test_a_loop_that_changes_what_decides_and_changes_it_back_is_told(name, threads, write):
    """At the limit it was four million instructions, of a program 268 million."""
    report = inspected(write("undone.cu", UNDONE[name]), "--grid", 2, "--block", 64, "--threads", threads, "--arg", "i32[64]=zeros", "--arg",
                       "i32[128]=zeros", status=3)
    finding = report["findings"][-1]
    assert finding["kind"] == "runaway" and report["instructions"] < 1_000_000
    assert "in a loop that never ends: it changes memory and changes it back" in finding["message"]


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
    "stores, reads that, and changes its mind": ("""__global__ void f(volatile int *flag, volatile int *out) {
    int k = 0;
    do {
        out[0] = k++ >= 3000 ? 7 : 0;
        out[1] = k;
    } while (out[0] == 0);
}
""", 1, 1, [7, 3001]),
    "changes it back until it has counted": ("""__global__ void f(volatile int *flag, volatile int *out) {
    int k = 0;
    do {
        out[2] = 1 - out[2];
        out[0] = k++ >= 3000 ? 7 : out[2];
    } while (out[0] < 2);
    out[1] = k;
}
""", 1, 1, [7, 3001]),
    "changes it back, another block ends it": ("""__global__ void f(volatile int *flag, volatile int *out) {
    if (blockIdx.x == 0) {
        while (out[0] < 2) out[0] = 1 - out[0];
        out[1] = 9;
    } else for (int k = 0; out[1] != 9; k++) if (k >= 20000) out[0] = 2;
}
""", 2, 1, [2, 9]),
    "others end by what is changed back": ("""__global__ void f(volatile int *flag, volatile int *out) {
    if (blockIdx.x == 0) while (*flag == 0) out[0] = 1 - out[0];
    else {
        for (int seen = 0; seen < 200;) if (out[0] == 1) seen++;
        *flag = 1;
    }
    if (blockIdx.x == 0) out[0] = 5;
}
""", 2, 1, [5]),
    "changes it back by an atomic until it has counted": ("""__global__ void f(int *flag, int *out) {
    int k = 0;
    while (atomicXor(&out[0], 1) < 2) atomicMax(&out[0], k++ < 3000 ? 0 : 9);
    out[1] = k;
}
""", 1, 1, [8, 3001]),
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


# Loops that no break, return or condition leaves, though no round is like one before.
NO_WAY_OUT = {
    "appends": "for (;;) { // here\n        unsigned i = atomicAdd(out, 1u);\n        out[1 + i % 31] = i;\n    }",
    "hands a token on": """for (; threadIdx.x % 32 == 0;) { // here
        while (((volatile unsigned *)out)[0] != threadIdx.x / 32) { }
        atomicExch(out, 1 - threadIdx.x / 32);
    }""",
    "counts in turns": """if (threadIdx.x % 32 == 0)
        for (;;) { // here
            while (((volatile unsigned *)out)[0] % 2 != threadIdx.x / 32) { }
            atomicAdd(out, 1u);
        }""",
    "passes barriers": """do { // here
        __syncthreads();
        unsigned i = atomicAdd(out + 32 + threadIdx.x % 16, 3u);
        out[i % 32] = i;
    } while (threadIdx.x >= 0u);""",
    "prints": """for (;;) { // here
        out[atomicAdd(out, 1u) % 31 + 1] = 1;
        if (out[0] == 7) printf("seven");
    }""",
}


@pytest.mark.parametrize("name", NO_WAY_OUT)
def test_a_loop_without_a_way_out_is_told_long_before_the_limit(name, write):
    """At the limit it was four million instructions, of a program 268 million: up to minutes."""
    source = "#include <cstdio>\n__global__ void f(unsigned *out) {\n    %s\n}\n" % NO_WAY_OUT[name]
    report = inspected(write("out.cu", source), "--block", 64, "--threads", 1, "--arg", "u32[64]=zeros", status=3)
    finding, = [finding for finding in report["findings"] if finding["kind"] == "runaway"]
    assert "in a loop that never ends: nothing in it can end it" in finding["message"]
    begin = line_of(source, "here")
    assert begin <= finding["line"] <= begin + 3 and report["instructions"] < 10**6


# The same, with an end far behind where loops without one are told.
A_WAY_OUT = {
    "break": ("if (i >= 400000) break;", []),
    "return": ("if (i >= 400000) return;", []),
    "trap": ("if (i >= 400000) __trap();", ["trap"]),
    "assert": ("assert(i < 400000);", ["trap"]),
    "call": ("if (i >= 400000) leave();", []),
}


@pytest.mark.parametrize("name", A_WAY_OUT)
def test_a_loop_with_a_way_out_goes_on_to_its_end(name, write):
    way, kinds = A_WAY_OUT[name]
    source = """#include <cassert>
__device__ __noinline__ void leave() { asm volatile("exit;"); }
__global__ void f(unsigned *out) {
    for (;;) {
        unsigned i = atomicAdd(out, 1u);
        %s
    }
}
""" % way
    report = inspected(write("end.cu", source), "--block", 1, "--limit", 10**8, "--arg", "u32[1]=zeros", "--quiet",
                       status=3 if kinds else 0)
    assert [finding["kind"] for finding in report["findings"]] == kinds and report["instructions"] > 10**6
