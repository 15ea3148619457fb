"""warpfold run: what is found in whole CUDA programs: races, also of host code, bounds, leaks, calls that failed and launches that
take too long."""

import os
import re
import signal
import subprocess
import time

import pytest

from cli_helpers import CLI
from program_helpers import compiled, environment, line_of, modes, needs_nvcc, ran  # noqa: F401


def findings(report):
    return [(finding["kind"], finding["kernel"]) for finding in report["findings"]]


# ---- kernels


def test_race(ran):
    report = ran("race", status=3)[2]
    race, = [finding for finding in report["findings"] if finding["kind"] == "race"]
    lines = [line_of("shared[threadIdx.x] = data[threadIdx.x];"), line_of("no __syncthreads() before it")]
    assert sorted((race["line"], race["other"]["line"])) == lines
    assert race["message"].endswith(f": no __syncthreads() between line {lines[0]} and line {lines[1]}")
    assert race["count"] == 4 and race["launch"] == 1


def test_races_are_looked_for_unless_told_otherwise(ran):
    assert "race" not in {kind for kind, _ in findings(ran("race", "--races", "off")[2])}


def test_bounds(ran):
    """The launch succeeds, and every call after it has failed, as on a GPU."""
    _, output, report, _ = ran("bounds", status=3)
    assert output == 4 * "cudaErrorIllegalAddress\n" and report["refused_launches"] == 1
    finding = report["findings"][0]
    assert (finding["kind"], finding["line"], finding["thread"]) == \
        ("bounds", line_of("{ data[index + threadIdx.x] = 7; }"), [24, 0, 0])
    assert finding["message"].endswith("byte 256 of an allocation of 256 (index 64 of `data`, int *); a guard such as if (index + threadIdx.x < n) must leave that out, unless the index is "
                                       "calculated wrongly or too little is allocated")
    # Nothing can be freed any more, so what is not freed is no fault of its own.
    assert ([each["kind"] for each in report["findings"]], report["leaks"], report["status"]) == (["bounds"], 0, 4)


def test_use_after_free(ran):
    _, output, report, _ = ran("freed", status=3)
    assert output == 2 * "cudaErrorInvalidValue\n"
    assert findings(report) == [("bounds", "store")]
    assert "byte 0 of an allocation of 256 that was freed: each use belongs between its allocation and that" in report["findings"][0]["message"]
    assert report["status"] == 0


def test_equal_stores_are_races_where_asked_for(ran):
    """By C++ any two unordered stores are one; the outcome here is the same whichever comes last."""
    assert ran("equal", status=0)[2]["findings"] == []
    finding, = ran("equal", "--races", "all", status=3)[2]["findings"]
    assert (finding["kind"], finding["line"]) == ("race", line_of("void flag_it"))


def test_read_of_unwritten_memory_does_not_stop_the_program(ran):
    report = ran("unwritten", status=3)[2]
    assert findings(report) == [("uninitialised", "load")]
    assert report["status"] == 0


def test_what_is_filled_but_for_one_word(ran):
    """The first, then the last: each is told once, before it is filled, too."""
    (found,) = ran("filled_but_one", status=3)[2]["findings"]
    assert (found["kind"], found["count"]) == ("uninitialised", 2)


def test_a_barrier_of_the_grid_needs_a_cooperative_launch(ran):
    """As on a GPU, it traps."""
    report = ran("grid_alone", status=3)[2]
    finding, = report["findings"]
    assert (finding["kind"], finding["kernel"], report["status"]) == ("trap", "rounds", 0)
    assert finding["message"] == ("the kernel executes trap, as grid.sync() does in a launch that is not cooperative: launch it by "
                                  "cudaLaunchCooperativeKernel()")


def test_leak(ran):
    report = ran("leak", status=3)[2]
    assert (report["leaks"], report["leaked_bytes"], report["findings"]) == (2, 1024, [])


def test_assertion_and_trap(ran):
    _, output, report, _ = ran("assert", status=3)
    assert output == "cudaErrorAssert\n"
    assert findings(report) == [("trap", "claim")]
    assert "value == 3" in report["findings"][0]["message"]
    _, output, report, _ = ran("trap", status=3)
    assert output == " ".join(7 * ["cudaErrorLaunchFailure"]) + "\n"
    assert (findings(report), report["leaks"]) == ([("trap", "stop")], 0)


def test_limit(ran):
    _, output, report, _ = ran("forever", "--limit", 100000, status=3)
    assert output == "cudaErrorLaunchTimeout\n"
    assert findings(report) == [("runaway", "forever")]


SLOW = """__global__ void waits(volatile int *flag, int *out) {
    for (int k = 0; *flag == 0 && k < 2000000000; k++) out[k % 32] = k;
}
int main() {
    int *memory;
    cudaMalloc(&memory, 1024);
    cudaMemset(memory, 0, 1024);
    waits<<<1, 32>>>(memory, memory + 128);
    return cudaDeviceSynchronize() == cudaErrorLaunchTimeout ? 0 : 1;
}
"""


def started(*arguments, env):
    """A run that takes long; its errors come through a pipe."""
    return subprocess.Popen([CLI, "run", *map(str, arguments)], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                            stderr=subprocess.PIPE, text=True, env=env, start_new_session=True)


def killed(process):
    """What else it wrote, once it and the program that it runs are gone."""
    os.killpg(process.pid, signal.SIGKILL)
    return process.communicate()[1]


@needs_nvcc
def test_a_long_launch_tells_where_it_is_long_before_the_limit(tmp_path):
    source = tmp_path / "slow.cu"
    source.write_text(SLOW)
    program = compiled(tmp_path, "slow", source, "-cudart", "shared", "-lineinfo", "-gencode", "arch=compute_75,code=compute_75")
    options, begin = ("--out", tmp_path / "report", "--limit", 20_000_000, program), time.monotonic()
    process = started(*options, env=environment())
    told = process.stderr.readline()
    seconds = time.monotonic() - begin
    assert killed(process) == "" and re.fullmatch(
        r"warpfold: waits takes long: lanes 0-31 of warp 0, block \(0,0,0\), are in a loop at \S*slow\.cu:2, after .* "
        r"they read byte 0 of argument 0 until another thread changes it, which must not wait for these; .*\n", told)
    process = started("--quiet", *options, env=environment())
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(seconds + 0.5)
    assert killed(process) == ""


# ---- host code


def test_host_code_that_does_not_wait(ran):
    """A read of what a kernel writes, one of what a copy writes, a write of what a copy reads, and a read after waiting for
    another stream."""
    report = ran("early", status=3)[2]
    found = [(finding["kind"], finding["kernel"], re.sub("0x[0-9a-f]+", "X", finding["message"]).split(":")[0])
             for finding in report["findings"]]
    assert found == [("race", "host code", f"the host {use} X while {what}") for use, what in (
        ("uses", "the kernel number may still write it"), ("uses", "an asynchronous copy may still write it"),
        ("writes to", "an asynchronous copy may still read it"), ("uses", "an asynchronous copy may still write it"))]
    assert all(re.fullmatch(r".*/modes\+0x[0-9a-f]+", finding["file"]) for finding in report["findings"])
    assert report["status"] == 0 and ran("early", "--races", "off", status=0)


def test_host_code_that_does_not_wait_for_atomics(ran):
    """Those of the device; those of the system may be meant for it."""
    report = ran("early_atomics", status=3)[2]
    (found,) = report["findings"]
    assert (found["kind"], found["kernel"], report["status"]) == ("race", "host code", 0)
    assert re.fullmatch("the host uses 0x[0-9a-f]+0 while the kernel count_atomically may still write it: .*", found["message"])


def test_host_code_that_writes_too_early_and_what_outlives_its_stream(ran):
    """One finding for each use, though a page may have to do with several copies."""
    report = ran("early_writes", status=3)[2]
    found = [re.sub("0x[0-9a-f]+", "X", finding["message"]).split(":")[0] for finding in report["findings"]]
    assert found == ["the host writes to X while the kernel copy_words may still read it",
                     "the host uses X while an asynchronous copy may still write it",
                     "the host uses X while the kernel number may still write it"]
    assert [finding["count"] for finding in report["findings"]] == [1, 1, 1] and report["status"] == 0


def test_host_code_that_reads_other_memory_or_other_copies_too_early(ran):
    report = ran("early_others", status=3)[2]
    found = [re.sub("0x[0-9a-f]+", "X", finding["message"]).split(":")[0] for finding in report["findings"]]
    assert found == [f"the host uses X while {what} may still write it" for what in (
        "the kernel number", "the kernel number_words", "an asynchronous copy", "an asynchronous fill", "an asynchronous copy")]
    assert {finding["count"] for finding in report["findings"]} == {1} and report["status"] == 0


def test_a_host_that_a_kernel_tells_need_not_wait_for_the_stream(ran):
    """By a volatile word behind a fence of the system."""
    report = ran("told", status=0)[2]
    assert (report["findings"], report["status"]) == ([], 0)


def test_calls_that_failed_and_nobody_asked(ran):
    _, output, report, _ = ran("unasked", status=3)
    assert output == "cudaErrorInvalidValue\n"
    failed = [(call["call"], call["error"], call["count"], call["reason"]) for call in report["failed_calls"]]
    copy, direction, block, shared = failed # the launch of 2000 threads was asked for
    assert copy == ("cudaMemcpy", "cudaErrorInvalidValue", 1, "it writes 32 bytes, where 12 are left of an allocation of 16")
    assert direction == ("cudaMemcpy", "cudaErrorInvalidValue", 3, "it is from memory of a device to memory of the host, which is "
                         "not the direction that it names: that takes cudaMemcpyDeviceToHost")
    assert block[:3] == ("cudaLaunchKernel", "cudaErrorInvalidValue", 1) and "1 x 1 x 1 blocks of 2048 x 1 x 1 threads" in block[3]
    assert shared[:3] == block[:3] and "a launch with 60000 bytes of dynamic shared memory" in shared[3]
    finding, = report["findings"]
    assert finding["kind"] == "bounds" and ", which is memory of the host: give the kernel memory from cudaMalloc" in finding["message"]


# ---- several devices


def test_pools_count_and_open_what_is_theirs(ran):
    """The program checks the counts; after its access was taken away, the second device's kernel has a finding."""
    _, output, report, _ = ran("pools", "--gpus", "2", status=3)
    finding, = (each for each in report["findings"] if each["kind"] != "leak")
    assert (output, finding["launch"]) == ("cudaErrorIllegalAddress\n", 3)
    assert re.match(r"loads 4 bytes of global memory at 0x\w+, which is device 0's: device 1 has no access", finding["message"])


def test_kernel_that_may_not_access_another_devices_memory(ran):
    _, output, report, _ = ran("foreign", "--gpus", "2", status=3)
    finding, = report["findings"]
    assert (output, finding["kind"], finding["launch"]) == ("cudaErrorIllegalAddress\n", "bounds", 2)
    assert re.fullmatch(r"loads 4 bytes of global memory at 0x\w+, which is device 1's: device 0 has no access to it "
                        r"\(cudaDeviceEnablePeerAccess\) \(index 0 of `from`, int \*\)", finding["message"])


def test_host_code_that_waits_for_another_device(ran):
    finding, = ran("other_waited", "--gpus", "2", status=3)[2]["findings"]
    assert finding["kind"] == "race" and "the kernel store may still write it" in finding["message"]
