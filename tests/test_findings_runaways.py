"""What is told of a launch that has reached its limit, and which loops are told before that."""

import re

import pytest

from cli_helpers import run
from finding_helpers import line_of, nvrtc  # noqa: F401
from inspect_helpers import inspected
from judge_helpers import verdict
from program_helpers import compiling, needs_nvcc  # noqa: F401

# A generator of period 2^32, a counter of which only the others tell when it has come far enough: both end some day.
GENERATOR = """__global__ void draw(float *out, int n) {
    unsigned x = threadIdx.x;
    do { // begins
#pragma unroll 1
        for (int k = 0; k < 3; k++) x += 2;
        x = x * 5 + 1;
    } while (x != 77); // leaves
    out[0] = x;
}
"""
COUNTER = """__device__ unsigned count;
__global__ void fetch(float *out, int n) {
    unsigned at = 0;
    while (at < 2000000000u) { // leaves
        at = atomicAdd(&count, 1u); // reads
        at ^= 5;
    }
    out[0] = at;
}
"""


def without_commas(message):
    return re.sub(r"(?<=\d),(?=\d{3})", "", message)


@pytest.mark.parametrize("limit", [100_000, 2_000_000])
def test_the_limit_names_kernel_loop_rounds_exit_and_option(limit, write):
    source = COUNTER
    report = inspected(write("fetch.cu", source), "--limit", limit, "--threads", 1, "--block", 1, "--arg", "f32[1]=zeros", "--arg", "i32:1",
                       status=3)
    message = without_commas(report["findings"][-1]["message"])
    told = re.match(rf"the launch of `fetch` has used up its limit of {limit} warp instructions without ending, in the loop of line "
                    r"(\d+), which the warps of this block have gone round (\d+) times; it is left at line (\d+), by what line (\d+) "
                    r"reads from memory: .*\(--limit N\)$", message)
    leaves, reads = line_of(source, "leaves"), line_of(source, "reads")
    assert told, message
    assert [int(told[n]) for n in (1, 3, 4)] == [leaves, leaves, reads]
    atomics = report["atomics"]
    assert int(told[2]) in (atomics - 1, atomics)


def test_the_limit_tells_of_an_exit_that_no_memory_decides(write):
    leaves = line_of(GENERATOR, "leaves")
    report = inspected(write("draw.cu", GENERATOR), "--limit", 300_000, "--block", 32, "--arg", "f32[1]=zeros", "--arg", "i32:1", status=3)
    assert re.search(rf"in the loop of line {leaves}, which .* gone round \d+ times; it is left at line {leaves}, by what the threads compute: ",
                     without_commas(report["findings"][-1]["message"]))


def test_the_judge_tells_of_its_limit_where_and_without_an_option(write):
    source = GENERATOR.replace("draw", "sum").replace("float *out", "const float *in, float *out")
    reason, = verdict(write("sum.cu", source), "--task", "sum", status=3)["reasons"]
    assert reason["kind"] == "runaway" and "--limit" not in reason["message"]
    assert re.match(r"the launch of `sum` has used up its limit of \d+ warp instructions without ending, in the loop of line \d, which "
                    r"the warps of this block have gone round at least \d{4,} times; it is left at line \d, by what", without_commas(reason["message"]))


@needs_nvcc
def test_run_tells_of_its_limit_where(write, compiling):
    source = COUNTER + """int main() {
    float *out;
    cudaMalloc(&out, 4);
    fetch<<<1, 32>>>(out, 1);
    cudaDeviceSynchronize();
    cudaFree(out);
}
"""
    done = run("run", "--limit", 5_000_000, "--quiet", write("fetch.cu", source), env=compiling)
    assert done.returncode == 3 and re.search(r"the launch of `fetch` has used up its limit of 5000000 warp instructions without ending, in "
                                              r"the loop of line 4, which the warps of this block have gone round \d+ times; ", without_commas(done.stderr))


# Without a limit that is asked for, in one small block; in seconds, as the slow instructions count as several.
SLOW = {
    "a count of tickets by two": (32, "while (atomicAdd(count, 2) != 3) { }"),
    "rounds with a barrier": (64, "unsigned x = threadIdx.x; while (__syncthreads_or(x != 7)) x = x * 5 + 2 * threadIdx.x + 2;"),
}


@needs_nvcc
@pytest.mark.parametrize("name", SLOW)
def test_run_does_not_wait_long_for_slow_instructions(name, write, compiling):
    threads, loop = SLOW[name]
    source = "__global__ void spin(unsigned *count) {\n    %s\n    count[1] = 1;\n}\n" % loop
    source += "int main() {\n    unsigned *count;\n    cudaMalloc(&count, 8);\n    cudaMemset(count, 0, 8);\n"
    source += "    spin<<<1, %d>>>(count);\n    cudaDeviceSynchronize();\n    cudaFree(count);\n}\n" % threads
    done = run("run", "--quiet", write("spin.cu", source), env=compiling)
    assert done.returncode == 3 and re.search(r"this block of the launch of `spin` has used up its limit of 134217728 warp instructions .*, in "
                                              r"the loop of line 2, which the warps of this block have gone round (\d+) times; ", without_commas(done.stderr))
    rounds = int(re.search(r"round (\d+) times", without_commas(done.stderr))[1])
    assert rounds < 4_000_000


# Loops of students, whose end the judge waited for until its limit, and what they are told now.
ENDLESS = {
    "a step that is missing": ("for (int i = 0; i < n;) total += in[i];", "nothing in it can end it"),
    "a step of 0": ("for (int k = n / 4096; k < 4096; k *= 2) total += k;", "what decides about its end is the same in every round"),
    "a wrong sign": ("for (int i = 5; i != n - 100000; i++) { total += i; asm volatile(\"\"); }", "changes by the same step in each round"),
    "a flag that nobody sets": ("while (*(volatile float *)out == 0) { }", "no thread is left to change it: all others have ended or wait in "
                                "such loops, too; one must write first and wait then; it reads global memory at "),
    "a lock that is kept": ("while (atomicCAS(&lock, 0, 1) != 0) { }", "it waits for the lock `lock`, which thread (0,0,0) of block (0,0,0) took at line 4"),
}


@pytest.mark.parametrize("name", ENDLESS)
def test_the_judge_tells_what_an_endless_loop_waits_for(name, write):
    loop, said = ENDLESS[name]
    source = "__device__ int lock;\n__global__ void sum(const float *in, float *out, int n) {\n    float total = 0;\n    %s\n    *out = total;\n}\n" % loop
    reasons = verdict(write("sum.cu", source), "--task", "sum", status=3)["reasons"]
    reason, = [reason for reason in reasons if reason["kind"] == "runaway"]
    assert said in reason["message"] and "used up its limit" not in reason["message"] and "--limit" not in reason["message"], reason
    assert reason["line"] == 4


def xorshift(x, draws):
    """Marsaglia 2003: of a period of 2^32 - 1."""
    for _ in range(draws):
        x = (x ^ x << 13) & 0xffffffff
        x ^= x >> 17
        x = (x ^ x << 5) & 0xffffffff
    return x


# Generators whose numbers come back, without the one that would end the loop.
CIRCLES = {
    "a xorshift of 16 bits": "unsigned short x = threadIdx.x + 1;\n    do { x ^= x << 7; x ^= x >> 9; x ^= x << 8; } while (x != 0);",
    "a linear one": "unsigned x = threadIdx.x;\n    do x = (x * 75 + n) & 0xffff; while (x != 77777 + n);",
}


@pytest.mark.parametrize("name", CIRCLES)
def test_numbers_that_come_back_never_end_a_loop(name, write):
    source = "__global__ void f(float *out, int n) {\n    %s\n    out[threadIdx.x] = x;\n}\n" % CIRCLES[name]
    report = inspected(write("circle.cu", source), "--block", 32, "--arg", "f32[32]", "--arg", "i32:74", status=3)
    finding, = report["findings"]
    rounds = int(re.search(r"in a loop that never ends: after (\d+) rounds what decides about its end is what it was before",
                           without_commas(finding["message"]))[1])
    assert 1000 < rounds <= 65536 and finding["line"] == 3 and report["instructions"] < 2_000_000


# Loops without a counter that decides, whose end comes late; LAST is what they give.  It is computed where it is asked for, as
# each worker reads this file.
LONG = {
    "a generator": ("""__global__ void f(unsigned *out, unsigned *words) {
    unsigned x = 1, hits = 0;
    do {
        x ^= x << 13;
        x ^= x >> 17;
        x ^= x << 5;
        hits += x >> 31;
    } while (x != LAST);
    out[threadIdx.x] = x + 0 * hits;
}
""", lambda: xorshift(1, 1_000_000)),
    "a pointer chase": ("""__global__ void f(unsigned *out, unsigned *words) {
    unsigned at = 0, rounds = 0;
    for (unsigned k = threadIdx.x; k < 65536; k += blockDim.x) words[k] = (k * 1021 + 7) % 65536;
    __syncthreads();
    do rounds++;
    while ((at = words[at]) != 0);
    out[threadIdx.x] = rounds;
}
""", lambda: 65536),
    "a queue of work": ("""__global__ void f(unsigned *out, unsigned *words) {
    while (atomicAdd(&words[0], 1) < 4000000) { }
    out[threadIdx.x] = 7;
}
""", lambda: 7),
}


@pytest.mark.parametrize("name", LONG)
def test_a_loop_whose_end_comes_late_is_not_accused(name, write):
    source, last = LONG[name]
    expected = last()
    report = inspected(write("long.cu", source.replace("LAST", f"{expected}u")), "--block", 32, "--quiet", "--limit", 10**9, "--arg", "u32[32]",
                       "--arg", "u32[65536]=zeros", "--expect", "0=" + ",".join([str(expected)] * 32))
    assert report["findings"] == [] and report["instructions"] > 2**18


# Waits for a clock, which counts the block's instructions: `n` of them are more than the limit.
CLOCKS = {
    "a wait": "while (clock64() - start < n) { }",
    "a wait in nanoseconds": "unsigned long long now, begin; asm volatile(\"mov.u64 %0, %globaltimer;\" : \"=l\"(begin)); do asm volatile("
                             "\"mov.u64 %0, %globaltimer;\" : \"=l\"(now)); while (now < begin + n);",
    "32 bits of it": "unsigned now, begin = clock(); do now = clock(); while (now - begin < 3000000000u);",
    "32 bits, made longer": "unsigned now; do asm volatile(\"mov.u32 %0, %clock;\" : \"=r\"(now)); while ((long long)now - start < n);",
    "a count down": "while (start + n - clock64() > 0) { }",
    "a flag, not for ever": "while (out[0] == 0 && clock64() - start < n) { }",
    "a circle around it": "long long waited = 0; while (waited < n) { __nanosleep(100); waited = clock64() - start; }",
}
CLOCK = """__global__ void f(volatile float *out, long long n) {
    long long start = clock64();
    %s
    out[threadIdx.x] = 1;
}
"""


@pytest.mark.parametrize("name", CLOCKS)
@pytest.mark.parametrize("block", [32, 96])
def test_a_wait_for_a_clock_is_told_where_the_limit_comes_before(name, block, write):
    report = inspected(write("clock.cu", CLOCK % CLOCKS[name]), "--block", block, "--limit", 10**8, "--arg", f"f32[{block}]=zeros",
                       "--arg", "i64:1000000000000", status=3)
    finding, = report["findings"]
    assert re.search(r"in a loop that waits for a clock, longer than the limit of 100000000 warp instructions: ", without_commas(finding["message"]))
    assert finding["line"] == 3 and report["instructions"] < 200_000
    if "flag" not in name:
        assert "the clocks count the warp instructions of the block here" in finding["message"]


# And those that end before: by as much as it takes, by what is added up, by another part of it, from which it cannot be told.
CLOCKS_THAT_END = {
    "a wait": "while (clock64() - start < 900000) { }",
    "readings added up": "for (long long total = 0; total < n;) total += clock64() - start;",
    "readings added up in a circle": "for (long long total = 0, last = 0; total < n; last = total) total = last + clock64();",
    "its higher bits": "while (clock64() >> 19 < 1) { }",
    "its lower bits": "while ((clock64() & 4095) > 8) { }",
    "32 bits, made longer when they wrap": "unsigned now; do asm volatile(\"mov.u32 %0, %clock;\" : \"=r\"(now)); while ((long long)(now + 4294000000u) > 900000);",
    "a later reading": "long long now; do now = clock64(); while (now + now - start < 2000000);",
    "a counter beside it": "for (int k = 0; k < 300000 && clock64() - start < n; k++) { }",
}


@pytest.mark.parametrize("name", CLOCKS_THAT_END)
def test_a_wait_for_a_clock_that_ends_is_not_accused(name, write):
    report = inspected(write("clock.cu", CLOCK % CLOCKS_THAT_END[name]), "--block", 64, "--limit", 50_000_000, "--arg", "f32[64]=zeros",
                       "--arg", "i64:1000000000000", "--expect", "0=" + ",".join(["1"] * 64))
    assert report["findings"] == []
