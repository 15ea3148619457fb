"""warpfold run: whole CUDA programs on the simulator, their results, what is found in them, and what is refused.

What nvcc makes is compiled once: tests/programs/modes.cu has a mode for each test, and checks its own results.
"""

import json
import os
import re
import signal
import struct
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cli_helpers import CLI, FAULTS, ROOT, run
from program_helpers import INCLUDE, NVCC, SOURCES, STAND_INS, compiled, compiling, environment, needs_nvcc  # noqa: F401

MODES = SOURCES / "modes.cu"

LEAK = "leak"


@pytest.fixture(scope="session")
def modes(tmp_path_factory):
    if not NVCC:
        pytest.skip("no nvcc")
    options = ["-cudart", "shared", "-lineinfo", "-gencode", "arch=compute_75,code=compute_75"]
    return compiled(tmp_path_factory.mktemp("modes"), "modes", MODES, *options)


@pytest.fixture
def ran(modes, tmp_path):
    """(status, standard output, report) of a mode."""

    def ran(mode, *options, status=None):
        report = tmp_path / "report"
        done = run("run", "--json", "--out", report, *options, modes, mode, env=environment())
        assert status is None or done.returncode == status, done
        return done.returncode, done.stdout, json.loads(report.read_text()), done.stderr

    return ran


def findings(report):
    return [(finding["kind"], finding["kernel"]) for finding in report["findings"]]


def line_of(text):
    """The number of the source's line with the text."""
    numbers = [i for i, line in enumerate(MODES.read_text().splitlines(), 1) if text in line]
    assert len(numbers) == 1, text
    return numbers[0]


# ---- right programs


@pytest.mark.sampled
@pytest.mark.parametrize("mode, printed", [
    ("add", ""), ("reduce", f"{sum(i * i % 77 for i in range(512))}\n"), ("managed", ""), ("registered", ""),
    ("symbols", "85 32 4 16 3 86\n"), ("dynamic", ""), ("many", ""), ("grid", f"{sum(range(256))}\n"),
    ("copies", "cudaErrorInvalidPitchValue\n" + 2 * "cudaErrorInvalidValue\n"),
    ("waited", ""),
    ("streams", 2 * "cudaErrorInvalidResourceHandle\n"),
    ("graph", "0\n5 15 15 10 2\n"),
    ("invalidated", "cudaErrorStreamCaptureUnsupported\n" + 2 * "cudaErrorStreamCaptureInvalidated\n" + "1 2 0 1\n"),
    ("refused_captures", 3 * "0 900 901\n" + 3 * "0 0 0\n" + "0 900 901\n" + 2 * "0 906 901\n" + "0 0 0\n" + "0 905 901\n" +
     "0 907 901\n" + "0 0 904\n" + "0 0 0\n" + "0 908 901\n" + "0 901 901\n"),
    ("external_events", "2 1\n"),
    ("cloned", "17 1\n23 2\n17 3\n5 4\n" + 2 * "cudaErrorInvalidValue\n"),
    ("within", "17 1\n23 2\n105 3\ncudaErrorGraphExecUpdateFailure\ncudaErrorInvalidValue\n17 4\n"),
    ("any_nodes", "17 1\n17 2\ncudaErrorInvalidValue\n"),
    ("event_nodes", "cudaErrorInvalidValue\ncudaErrorInvalidResourceHandle\n"),
    ("nodes", "17 1\n23 2\n17 3\n21 4\n5 5\n5 77\n" + 3 * "cudaErrorInvalidValue\n"),
    ("captured_rows", ""),
    ("memory", "4 cudaErrorMemoryAllocation\ncudaSuccess\n"),
    ("configurations", 4 * "cudaErrorInvalidValue\n" + "cudaErrorCooperativeLaunchTooLarge\ncudaErrorInvalidDeviceFunction\n"),
])
def test_program_without_findings(ran, mode, printed):
    """Each checks its results, and ends with a status of its own if one is wrong.  In `symbols`: 32 threads add up
    8 * (1 + 2 + 3 + 4) + 5 in managed memory, and one adds 1 in place.  In `graph` five rounds add 2 to all, and 1 more
    to the first two; the last is cleared after each copy."""
    _, output, report, errors = ran(mode, status=0)
    assert (output, errors) == (printed, "")
    assert report["findings"] == [] and report["leaks"] == 0


def test_kernels_are_counted_over_their_launches(ran):
    """1000 additions by blocks of 256: 32 warps, of which the last has 8 lanes in the branch."""
    kernel, = ran("add")[2]["kernels"]
    assert (kernel["kernel"], kernel["launches"], kernel["grid"], kernel["block"]) == \
        ("add<float>", 3, [4, 1, 1], [256, 1, 1])
    assert kernel["divergent_branches"] == 3
    assert kernel["global_sectors"] == 3 * 3 * 1000 * 4 // 32


def test_printf_comes_in_its_place(ran):
    lines = ran("printf", status=0)[1].splitlines()
    said = [f"thread {thread} of block {block}, text 1.50" for block in range(2) for thread in range(2)]
    assert (lines[0], lines[-1], sorted(lines[1:-1])) == ("before", "after", sorted(said))


@pytest.mark.parametrize("gpu, name, capability, shared", [
    ("h200", "NVIDIA H200", "9.0", 227 << 10), ("a100", "NVIDIA A100-SXM4-80GB", "8.0", 163 << 10),
    ("t4", "Tesla T4", "7.5", 64 << 10)])
def test_gpu(ran, gpu, name, capability, shared):
    blocks = 1 if gpu == "t4" else 2
    assert ran("device", "--gpu", gpu, status=0)[1] == \
        f"1 {name} {capability} 32 {shared} {blocks} 512\ncudaErrorInvalidDevice\n"


def test_status_and_arguments_are_the_programs(modes):
    done = run("run", modes, "status", env=environment())
    assert done.returncode == 5
    done = run("run", modes, "-x", "--json", "-", "-", "--", env=environment())
    assert (done.returncode, done.stdout) == (0, "-x\n--json\n-\n-\n--\n")
    assert "no findings" in done.stderr


def test_program_that_is_killed(ran):
    status, _, report, _ = ran("crash")
    assert (status, report["status"], report["signal"]) == (134, 134, 6)


def test_absent_call_fails_by_name_once(ran):
    _, output, _, errors = ran("absent", status=0)
    assert output == 2 * "cudaErrorNotSupported\n"
    assert errors == "warpfold: cudaDestroyExternalMemory is not supported by the simulator\n"


# ---- wrong programs


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


def test_each_thread_has_its_device_and_each_device_its_variables(ran):
    """The counter begins at 10 on each, and 5 in managed memory is added."""
    _, output, report, _ = ran("threads", "--gpus", "3", status=0)
    assert output == "15 16 17, 12 on 1\n" and report["gpus"] == 3 and report["findings"] == []
    kernel, = report["kernels"]
    assert (kernel["kernel"], kernel["launches"]) == ("count_up", 6)


def test_copies_and_accesses_between_devices(ran):
    """An H200's driver gave these errors, but for those that take several devices."""
    _, output, report, _ = ran("peers", "--gpus", "3", status=0)
    assert output.split() == ["cudaErrorPeerAccessAlreadyEnabled", "cudaErrorPeerAccessUnsupported",
                              "cudaErrorPeerAccessNotEnabled", "cudaErrorPeerAccessNotEnabled", "cudaSuccess",
                              "cudaErrorInvalidDevice", "cudaErrorInvalidValue",
                              "cudaErrorInvalidResourceHandle", "cudaErrorInvalidResourceHandle"]
    assert (report["findings"], report["leaks"]) == ([], 0)


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


def test_assertion_and_trap(ran):
    _, output, report, _ = ran("assert", status=3)
    assert output == "cudaErrorAssert\n"
    assert findings(report) == [("trap", "claim")]
    assert "value == 3" in report["findings"][0]["message"]
    _, output, report, _ = ran("trap", status=3)
    assert output == " ".join(7 * ["cudaErrorLaunchFailure"]) + "\n"
    assert (findings(report), report["leaks"]) == ([("trap", "stop")], 0)


def test_errors_of_other_calls_end_when_they_are_told(ran):
    out_of_memory = "cudaErrorMemoryAllocation"
    assert ran("passing_errors", status=0)[1] == " ".join(
        2 * [out_of_memory] + ["cudaSuccess", out_of_memory, "cudaSuccess", out_of_memory, "cudaSuccess", "cudaSuccess"]) + "\n"


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


# ---- what is watched


def test_one_kernel_or_launch_is_watched(ran):
    report = ran("symbols", "--kernel", "load")[2]
    assert {kernel["kernel"]: kernel["watched"] for kernel in report["kernels"]} == {"symbols": 0, "load": 1}
    kernel, = ran("add", "--launch", 2)[2]["kernels"]
    assert (kernel["launches"], kernel["watched"], kernel["divergent_branches"]) == (3, 1, 1)


def test_text_names_the_kernel_the_finding_and_the_line(modes):
    done = run("run", modes, "race", env=environment(), cwd=SOURCES)
    assert done.returncode == 3
    assert re.search(r"^reverse_racing  2 launches, grid 1,1,1  block 64,1,1$", done.stderr, re.MULTILINE)
    assert re.search(r"^race in reverse_racing at modes.cu:\d+, block", done.stderr, re.MULTILINE)
    assert f"{line_of('shared[threadIdx.x] = data[threadIdx.x];'):8} |     shared[threadIdx.x] = data" in done.stderr
    assert f"{line_of('before it'):8} |     data[threadIdx.x] = shared[63 - threadIdx.x];" in done.stderr


# ---- a source


@needs_nvcc
def test_source_is_compiled_with_what_lies_beside_it(tmp_path, compiling):
    (tmp_path / "kernel.cuh").write_text("__global__ void twice(int *data) { data[threadIdx.x + 1] *= 2; }\n")
    (tmp_path / "the program.cu").write_text(
        '#include "kernel.cuh"\n#include <cstdio>\nint main(int count, char **words) {\n'
        "    int *data;\n    cudaMalloc(&data, 128);\n    cudaMemset(data, 1, 128);\n    twice<<<1, 32>>>(data);\n"
        '    printf("%s %d\\n", words[1], cudaDeviceSynchronize());\n    cudaDeviceReset();\n    return 7;\n}\n')
    done = run("run", "the program.cu", "word", cwd=tmp_path, env=compiling)
    assert (done.returncode, done.stdout) == (3, "word 700\n")
    assert re.search(r"^bounds in twice at kernel.cuh:1, block \(0,0,0\), thread \(31,0,0\)", done.stderr, re.MULTILINE)
    assert "       1 | __global__ void twice" in done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["kernel.cuh", "the program.cu"]


@needs_nvcc
def test_source_that_does_not_compile(tmp_path, compiling):
    (tmp_path / "wrong.cu").write_text("int main() { return nothing; }\n")
    done = run("run", "wrong.cu", cwd=tmp_path, env=compiling)
    assert (done.returncode, done.stdout) == (1, "")
    assert re.search(r'wrong.cu\(1\): error: identifier "nothing" is undefined', done.stderr)


def test_no_nvcc(tmp_path):
    (tmp_path / "some.cu").write_text("int main() {}\n")
    done = run("run", tmp_path / "some.cu", env={**environment(), "WARPFOLD_NVCC": str(tmp_path / "none")})
    assert done.returncode == 1 and "nvcc, which compiles CUDA programs, was not found" in done.stderr


@needs_nvcc
@pytest.mark.slow
def test_cub_and_thrust(tmp_path):
    program = compiled(tmp_path, "cub", SOURCES / "cub.cu", "-cudart", "shared", "-arch=compute_75")
    done = run("run", program, env=environment())
    assert (done.returncode, done.stdout) == (0, "6000 6000 6000\n"), done.stderr


SPECIFIC = """#include <cstdio>
__global__ void tell() {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    printf("for 9.0 alone\\n");
#else
    printf("for all later ones, too\\n");
#endif
}
int main() { tell<<<1, 1>>>(); return cudaDeviceSynchronize(); }
"""


@needs_nvcc
@pytest.mark.slow
@pytest.mark.parametrize("first, last", [("90", "90a"), ("90a", "90")])
def test_of_two_texts_for_a_gpu_the_one_for_it_alone_is_used(tmp_path, first, last):
    """As -arch=sm_90a has them, too; with the general one, CUTLASS's kernels for Hopper say that they have no wgmma."""
    (tmp_path / "specific.cu").write_text(SPECIFIC)
    options = [f"-gencode=arch=compute_{arch},code=compute_{arch}" for arch in (first, last)]
    program = compiled(tmp_path, "specific", tmp_path / "specific.cu", "-cudart", "shared", *options)
    assert len(list(fat_entries(program))) >= 2
    done = run("run", program, env=environment())
    assert (done.returncode, done.stdout) == (0, "for 9.0 alone\n"), done


@needs_nvcc
@pytest.mark.slow
def test_ptx_compressed_by_lz4(tmp_path):
    """Among the ways that nvcc has, the one for speed; that of the other tests is zstd's."""
    (tmp_path / "small.cu").write_text("__global__ void empty() {}\nint main() { empty<<<1, 1>>>();\n"
                                       "return cudaGetLastError() || cudaDeviceSynchronize(); }\n")
    program = compiled(tmp_path, "small", tmp_path / "small.cu", "-cudart", "shared", "-compress-mode=speed")
    assert 0x2000 in {flags_of(program.read_bytes(), offset) & 0xA000 for offset, _ in fat_entries(program)}
    done = run("run", program, env=environment())
    assert done.returncode == 0 and "empty  1 launch" in done.stderr, done


@needs_nvcc
@pytest.mark.slow
def test_device_code_of_several_files(tmp_path):
    """Joined from their PTX: a call, variables and kernels of the other file, what both bring, and lines of both.  Of a
    file that has machine code alone, what is called is told by name."""
    other = SOURCES / "linked_other.cu"
    options = ["-rdc=true", "-lineinfo", "-gencode"]
    for name, code in ("first", "compute_75"), ("other", "compute_75"), ("machine", "sm_75"):
        subprocess.run([NVCC, *options, f"arch=compute_75,code={code}", "-c", "-o", tmp_path / f"{name}.o",
                        SOURCES / "linked.cu" if name == "first" else other], check=True)
    for name in "other", "machine":
        subprocess.run([NVCC, "-arch=sm_75", "-cudart", "shared", "-o", tmp_path / name, tmp_path / "first.o",
                        tmp_path / f"{name}.o"], check=True)
    done = run("run", tmp_path / "other", env=environment())
    assert (done.returncode, done.stdout) == (0, "ok\n"), done
    done = run("run", "--json", "--out", tmp_path / "report", tmp_path / "other", "beyond", env=environment())
    finding, = json.loads((tmp_path / "report").read_text())["findings"]
    lines = other.read_text().splitlines()
    assert (done.returncode, finding["kind"], Path(finding["file"]).name) == (3, "bounds", other.name), finding
    assert "line: store" in lines[finding["line"] - 1]
    done = run("run", tmp_path / "machine", env=environment())
    assert (done.returncode, done.stdout) == (3, "cudaErrorNotSupported\n"), done
    assert "calls _Z5twicei, which the module declares but does not define" in done.stderr


# ---- what is refused

def test_launches_that_are_refused_are_counted(compiling, tmp_path):
    """As the runtime of CUDA refuses them: blocks too large, no blocks, and too much shared memory."""
    source = tmp_path / "sizes.cu"
    source.write_text("""#include <cuda_runtime.h>
__global__ void f() { }
int main() {
    f<<<1, 32>>>();
    f<<<1, 1025>>>();
    f<<<0, 32>>>();
    f<<<1, 32, 1 << 20>>>();
    return cudaGetLastError() == cudaSuccess;
}
""")
    done = run("run", "--json", "--out", tmp_path / "report", source, env=compiling)
    report = json.loads((tmp_path / "report").read_text())
    assert done.returncode == 0 and report["refused_launches"] == 3
    assert [kernel["launches"] for kernel in report["kernels"]] == [1]
    run("run", "--out", tmp_path / "text", source, env=compiling)
    text = (tmp_path / "text").read_text() # of the last one cudaGetLastError() tells
    assert [call["refused_launches"] for call in report["failed_calls"]] == [1, 1]
    assert re.findall(r"cudaLaunchKernel at \S*sizes\.cu:(\d+) failed", text) == ["5", "6"] and "\n1 other launch did not run.\n" in text


def test_calls_as_the_runtime_documents_them(compiling, tmp_path):
    done = run("run", "--json", "--out", tmp_path / "report", SOURCES / "calls.cu", env=compiling)
    assert (done.returncode, done.stdout) == (0, ""), done
    report = json.loads((tmp_path / "report").read_text())
    assert report["findings"] == [] and report["refused_launches"] == 2
    assert done.stderr == ("warpfold: cudaIpcOpenMemHandle of another process's memory is not supported by the simulator: "
                           "there is one process\n")


def refused(said, *words, **options):
    done = run("run", *words, env=environment(), **options)
    assert (done.returncode, done.stdout) == (1, ""), done
    assert said in done.stderr and done.stderr.startswith("warpfold: "), done.stderr


@pytest.mark.slow
@needs_nvcc
def test_runtime_that_is_linked_into_the_program(tmp_path):
    """As nvcc does unless told otherwise: its functions are found by their names, until they are stripped."""
    (tmp_path / "a.cu").write_text(
        "#include <cstdio>\n__managed__ int sum;\n__global__ void count() { atomicAdd(&sum, 1); }\n"
        'int main() { count<<<2, 32>>>(); printf("%d", cudaDeviceSynchronize()); printf(" %d\\n", sum); }\n')
    program = compiled(tmp_path, "static", tmp_path / "a.cu")
    done = run("run", program, env=environment())
    assert (done.returncode, done.stdout) == (0, "0 64\n") and "count  1 launch" in done.stderr, done
    subprocess.run(["strip", program], check=True)
    refused("the names of its functions are stripped", program)


def test_what_is_no_cuda_program_is_refused(tmp_path):
    script = tmp_path / "script"
    script.write_text("int main() {}\n")
    script.chmod(0o755)
    refused("it is not a program for this computer", script)
    script.write_text("#!/bin/sh\nexit 7\n")
    refused("it ended with status 7, and called nothing of the CUDA runtime or driver", script)
    refused("it ended with status 0, and called nothing", "true")
    refused("No such file", tmp_path / "none")
    refused("it is not a program", tmp_path)


# One allocation of the stand-in fails: of what is registered before main(), and of what a fill touches.
SHORT_OF_MEMORY = """
import ctypes, sys
runtime, faults, kind = ctypes.CDLL("libcudart.so.13"), ctypes.CDLL(sys.argv[1]), b"memory"
begin, end = (kind, 1, False), (kind, 0, False)
choose, register, fill = faults.faults_choose, runtime["__cudaRegisterFatBinary"], runtime.cudaMemset
stream, memory, kernel = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
if sys.argv[2] == "registered":
    choose(*begin), register(None), choose(*end)
    print(runtime.cudaGetKernel(ctypes.byref(kernel), ctypes.c_void_p(8)))
else:
    print(runtime.cudaStreamCreateWithFlags(ctypes.byref(stream), 1), runtime.cudaMalloc(ctypes.byref(memory), 64))
    choose(*begin), fill(memory, 0, 64), choose(*end)
"""


@pytest.mark.skipif(not FAULTS.exists() or bool(environment().get("LD_PRELOAD")), reason="no tests' programs, or a sanitizer's malloc")
@pytest.mark.parametrize("what, output, said", [
    ("registered", "2\n", "warpfold: out of memory for what the program registers: its kernels and variables\n"),
    ("touched", "0 0\n", "warpfold: out of memory for what kernels and copies touch: races between them may be missing in the report\n")])
def test_stand_in_is_short_of_memory(what, output, said):
    done = subprocess.run([sys.executable, "-c", SHORT_OF_MEMORY, FAULTS, what], capture_output=True, text=True,
                          env={**environment(), "LD_PRELOAD": str(FAULTS), "LD_LIBRARY_PATH": str(STAND_INS)})
    assert (done.returncode, done.stdout, done.stderr) == (0, output, said), done


def needing(modes, path, library):
    """A program that needs the library, by its name in place of one that is as long."""
    data = modes.read_bytes()
    old = b"libstdc++.so.6\0" if len(library) < 15 else b"libcudart.so.13\0"
    new = library.encode() + b"\0"
    assert len(new) <= len(old) and old in data
    path.write_bytes(data.replace(old, new.ljust(len(old), b"\0")))
    path.chmod(0o755)
    return path


@pytest.mark.parametrize("library, said", [
    ("libcublas.so.13", "it needs libcublas.so.13, which drives a GPU itself"),
    ("libcudart.so.12", "it was built with libcudart.so.12"),
    ("libnppial.so.13", "it needs libnppial.so.13")])
def test_absent_libraries_are_named_before_the_program_starts(modes, tmp_path, library, said):
    refused(said, needing(modes, tmp_path / "other", library))


def test_absent_libraries_are_named_of_a_source_that_is_linked_with_them(modes, tmp_path):
    """As NVCC_APPEND_FLAGS=-lcublas has nvcc do, for which a script stands in."""
    program = needing(modes, tmp_path / "other", "libcublas.so.13")
    compiler = tmp_path / "nvcc"
    compiler.write_text(f'#!/bin/sh\nwhile [ "$1" != -o ]; do shift; done\ncp "{program}" "$2"\n')
    compiler.chmod(0o755)
    (tmp_path / "a.cu").write_text("int main() {}\n")
    done = run("run", tmp_path / "a.cu", env={**environment(), "WARPFOLD_NVCC": str(compiler)})
    assert done.returncode == 1 and "a.cu: it needs libcublas.so.13, which drives a GPU itself" in done.stderr, done


@pytest.mark.parametrize("error", [
    "a.cu(1): error: __host__ or __device__ annotation on lambda requires --extended-lambda nvcc flag",
    "a.cu:1:10: fatal error: helper.h: No such file or directory", "a.cu(1): error: expected a ;"])
def test_where_options_of_nvcc_are_given(tmp_path, error):
    """What nvcc says of a source that lacks an option, by a script in its place."""
    compiler = tmp_path / "nvcc"
    compiler.write_text(f"#!/bin/sh\necho '{error}' >&2\nexit 2\n")
    compiler.chmod(0o755)
    (tmp_path / "a.cu").write_text("int main() {}\n")
    done = run("run", tmp_path / "a.cu", env={**environment(), "WARPFOLD_NVCC": str(compiler)})
    assert done.returncode == 1 and error in done.stderr
    assert ("from the environment variable NVCC_APPEND_FLAGS" in done.stderr) == ("expected" not in error)


def test_memory_of_the_host_can_be_allocated_without_end(compiling, tmp_path):
    """The host has 4096 addresses that are multiples of 4 GiB: those of memory that was freed are used again, and device memory leaves
    some."""
    source = tmp_path / "many.cu"
    source.write_text("""
#include <cstdio>
__global__ void add(int *to, const int *from) { *to += *from; }
int main() {
    static int *on_gpu[4000];
    int sum = 0;
    for (int *&pointer : on_gpu) if (cudaMalloc(&pointer, 4)) return puts("no device memory"), 1;
    for (int i = 0; i < 5000; i++) {
        int *managed, *pinned;
        if (cudaMallocManaged(&managed, 4)) return printf("no managed memory: %d\\n", i), 1;
        if (cudaMallocHost(&pinned, 4)) return printf("no pinned memory: %d\\n", i), 1;
        *managed = *pinned = i;
        if (i % 500 == 0) add<<<1, 1>>>(managed, pinned), cudaDeviceSynchronize();
        sum += *managed;
        cudaFree(managed), cudaFreeHost(pinned);
    }
    for (int *pointer : on_gpu) cudaFree(pointer);
    printf("%d\\n", sum);
    int *stale;
    cudaMallocManaged(&stale, 4), cudaFree(stale);
    add<<<1, 1>>>(stale, stale);
    return cudaDeviceSynchronize() != cudaErrorIllegalAddress;
}
""")
    done = run("run", "--json", "--out", tmp_path / "report", source, env=compiling)
    assert done.stdout == f"{sum(range(5000)) + sum(range(0, 5000, 500))}\n", done
    findings = json.loads((tmp_path / "report").read_text())["findings"]
    assert [(finding["kind"], "freed" in finding["message"]) for finding in findings] == [("bounds", True)], findings


def fat_binaries(data):
    """(offset, size) of each that holds something."""
    for found in re.finditer(re.escape(struct.pack("<I", 0xBA55ED50)), data):
        _, header, size = struct.unpack_from("<HHQ", data, found.start() + 4)
        if size:
            yield found.start(), header + size


def flags_of(data, entry):
    return struct.unpack_from("<Q", data, entry + 40)[0]


def fat_entries(path):
    """(offset, kind) of each piece of code."""
    data = path.read_bytes()
    for offset, size in fat_binaries(data):
        at, end = offset + 16, offset + size
        while at < end:
            kind, _, header, nbytes = struct.unpack_from("<HHIQ", data, at)
            yield at, kind
            at += header + nbytes


@pytest.mark.parametrize("member, value", [(8, 1 << 40), (8, 24), (16 + 4, 1 << 31), (16 + 8, 1 << 60),
                                           (16 + 16, 1 << 30), (16 + 56, 1 << 62)])
def test_damaged_fat_binary_is_an_error_of_the_program(modes, tmp_path, member, value):
    """Sizes that are wrong, in the header and in the entry."""
    data = bytearray(modes.read_bytes())
    for offset, _ in fat_binaries(modes.read_bytes()):
        struct.pack_into("<Q" if member in (8, 24, 72) else "<I", data, offset + member, value)
    damaged = tmp_path / "damaged"
    damaged.write_bytes(data)
    damaged.chmod(0o755)
    done = run("run", damaged, "dynamic", env=environment())
    assert done.returncode == 9 and done.stdout.endswith(": cudaErrorInvalidKernelImage\n"), done
    assert "its fat binary is damaged" in done.stderr


@pytest.mark.parametrize("words, said", [
    (["run"], "run takes a program"), (["run", "--gpu", "k20", "x"], "--gpu takes h200|a100|t4, not 'k20'"),
    (["run", "--races", "maybe", "x"], "--races takes on|off|all"),
    (["run", "--schedule", "x", "y"], "--schedule takes"), (["run", "--warp", "8", "x"], "run does not take --warp"),
    (["inspect", "--gpu", "t4", "x"], "inspect does not take --gpu")])
def test_usage(words, said):
    done = run(*words)
    assert done.returncode == 2 and said in done.stderr


# ---- the interface that is stood in for

CHECK = """
#include <stdio.h>
#include <stddef.h>
#include "{header}"
#define S(type) printf("%s %zu\\n", #type, sizeof(struct type));
#define O(type, member) printf("%s %zu\\n", #type "." #member, offsetof(struct type, member));
int main(void) {{
    S(cudaDeviceProp) S(cudaFuncAttributes) S(cudaMemcpy3DParms) S(cudaPointerAttributes) S(cudaMemLocation)
    S(cudaKernelNodeParams) S(cudaGraphNodeParams) O(cudaGraphNodeParams, memcpy.copyParams) O(cudaGraphNodeParams, reserved2) S(cudaMemsetParams) O(cudaMemsetParams, width) S(cudaHostNodeParams) S(cudaMemPoolProps) O(cudaMemPoolProps, location) S(cudaMemcpy3DPeerParms) O(cudaMemcpy3DPeerParms, dstDevice)
    O(cudaDeviceProp, surfaceAlignment) O(cudaDeviceProp, sharedMemPerBlockOptin) O(cudaDeviceProp, cooperativeLaunch)
    O(cudaDeviceProp, reserved) O(cudaDeviceProp, major) O(cudaDeviceProp, memoryPoolsSupported)
    O(cudaFuncAttributes, maxDynamicSharedSizeBytes) O(cudaFuncAttributes, reserved) S(cudaChannelFormatDesc)
    printf("%zu %zu\\n", sizeof(cudaLaunchConfig_t), offsetof(cudaLaunchConfig_t, attrs));
    printf("%d %d %d\\n", cudaErrorNotSupported, cudaErrorIllegalAddress, cudaMemcpyDefault);
    return 0;
}}
"""


@needs_nvcc
def test_declarations_agree_with_the_toolkits(tmp_path):
    said = []
    for name, header in (("theirs", INCLUDE / "driver_types.h"), ("ours", ROOT / "program" / "runtime" / "abi.h")):
        source = tmp_path / f"{name}.c"
        source.write_text(CHECK.format(header=header))
        subprocess.run(["cc", "-o", tmp_path / name, source, f"-I{INCLUDE}"], check=True)
        said.append(subprocess.run([tmp_path / name], capture_output=True, text=True, check=True).stdout)
    assert said[0] == said[1]


@needs_nvcc
def test_every_call_of_the_runtime_is_there():
    """By that name and version, if only to fail."""
    library = next((INCLUDE.parent / "lib64").glob("libcudart.so.13"), None)
    if not library:
        pytest.skip("no libcudart.so.13")

    def names(path):
        listed = subprocess.run(["nm", "-D", "--defined-only", path], capture_output=True, text=True, check=True).stdout
        return set(re.findall(r" T (\w+@@libcudart\.so\.13)", listed))

    assert names(library) <= names(STAND_INS / "libcudart.so.13") | {
        f"{name}@@libcudart.so.13" for name in ("__cudaGetProcAddress",)}


def test_progress_of_a_long_launch_is_shown_on_a_terminal(modes):
    """The launch counts to its limit, which is far: it is shown after a second, and wiped when the program is gone."""
    master, slave = os.openpty()
    process = subprocess.Popen([CLI, "run", "--races", "off", "--limit", str(10**12), modes, "counting"], stdin=slave,
                               stdout=subprocess.DEVNULL, stderr=slave, env=environment(), start_new_session=True)
    os.close(slave)
    shown = b""
    while b"launch 1, counting, for " not in shown:
        shown += os.read(master, 1024)
    child, = re.findall(r"\d+", Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text())
    os.kill(int(child), signal.SIGKILL)
    while b"signal 9" not in shown:
        shown += os.read(master, 1024)
    assert shown.index(b"\r\x1b[K") > shown.index(b"launch 1") and process.wait() == 128 + signal.SIGKILL
    os.close(master)


def test_advice_is_given_beside_findings(ran, modes):
    """`dynamic` takes so much shared memory that few of its blocks fit into a multiprocessor."""
    _, _, report, _ = ran("dynamic", status=0)
    advice, = report["advice"]
    assert (advice["kind"], advice["kernel"]) == ("low-occupancy", "dynamic") and advice["count"] < advice["least"] / 2
    assert ran("dynamic", "--strict", status=3)[2]["findings"] == []
    done = run("run", "--github", modes, "dynamic", env=environment(), cwd=SOURCES)
    assert (done.returncode, done.stderr) == (
        0, f"::warning file=modes.cu,line={advice['line']},title=low-occupancy::{advice['message']}. Cure: {advice['cure']}\n")
    done = run("run", modes, "dynamic", env=environment(), cwd=SOURCES)
    assert f"advice: low-occupancy in dynamic at modes.cu:{advice['line']}\n    {advice['message']}\n" in done.stderr
    assert done.stderr.endswith("no findings, 1 piece of advice\n")


def test_advice_on_banks_names_the_array(ran, modes):
    """As inspect does, with the count that the padding gives."""
    _, _, report, _ = ran("columns", status=0)
    advice, = (advice for advice in report["advice"] if advice["kind"] == "bank-conflict")
    cure = f"pad the row: `tile[32][33]` for `tile[32][32]`; then {advice['least']} instead of {advice['count']} wavefronts"
    assert advice["cure"] == cure and advice["count"] == 32 * advice["least"]
    assert MODES.read_text().splitlines()[advice["line"] - 1].endswith("// conflicts")
    done = run("run", modes, "columns", env=environment(), cwd=SOURCES)
    assert f"\n    cure: {cure}\n" in done.stderr


def test_sarif_has_the_findings_at_their_lines(modes, tmp_path):
    report = tmp_path / "findings.sarif"
    assert run("run", "--sarif", "--out", report, modes, "race", env=environment(), cwd=SOURCES).returncode == 3
    sarif = json.loads(report.read_text())
    only, = sarif["runs"]
    rules = {rule["id"] for rule in only["tool"]["driver"]["rules"]}
    races = [result for result in only["results"] if result["ruleId"] == "race"]
    lines = MODES.read_text().splitlines()
    assert sarif["version"] == "2.1.0" and {"race", "bounds", "leak", "trap"} <= rules and races
    for result in races:
        for place in (*result["locations"], *result["relatedLocations"]):
            physical = place["physicalLocation"]
            assert physical["artifactLocation"]["uri"] == "modes.cu"
            assert "[" in lines[physical["region"]["startLine"] - 1]
        assert result["level"] == "error" and re.search(r" races with the [^/]* at modes.cu:[0-9]+: ", result["message"]["text"])
    leaks = run("run", "--sarif", modes, "leak", env=environment(), cwd=SOURCES)
    leak, = json.loads(leaks.stderr)["runs"][0]["results"]
    assert leak["ruleId"] == "leak" and "1024 bytes" in leak["message"]["text"]


def test_one_report_at_a_time(modes):
    done = run("run", "--sarif", "--json", modes, "add", env=environment())
    assert (done.returncode, done.stdout) == (2, "") and "exclude each other" in done.stderr


# n (1 + 2^-11) in 11 bits: for 1 and 2 it lies halfway between two numbers, and for 3 nearer to the one above.
ROUNDED = """
    static float rounded(int n) {
        const float size = n < 0 ? -n : n, step = size >= 2 ? 0x1p-9f : 0x1p-10f;
        const float exact = size + size * 0x1p-11f, below = step * (int)(exact / step);
        return (n < 0 ? -1 : 1) * (exact - below >= step / 2 ? below + step : below);
    }

"""

TF32_PRODUCT = """
    #include <cstdio>
    #include <mma.h>
    using namespace nvcuda;

    __global__ void product(const float *a, const float *b, float *c) {
        wmma::fragment<wmma::matrix_a, 16, 16, 8, wmma::precision::tf32, wmma::row_major> left;
        wmma::fragment<wmma::matrix_b, 16, 16, 8, wmma::precision::tf32, wmma::row_major> right;
        wmma::fragment<wmma::accumulator, 16, 16, 8, float> sum;
        wmma::fill_fragment(sum, 0.0f);
        wmma::load_matrix_sync(left, a, 8);
        wmma::load_matrix_sync(right, b, 16);
        for (int i = 0; i < left.num_elements; i++) left.x[i] = wmma::__float_to_tf32(left.x[i]);
        for (int i = 0; i < right.num_elements; i++) right.x[i] = wmma::__float_to_tf32(right.x[i]);
        wmma::mma_sync(sum, left, right, sum);
        wmma::store_matrix_sync(c, sum, 16, wmma::mem_row_major);
    }

    int main() {
        float *m, wrong = 0;
        cudaMallocManaged(&m, 512 * sizeof *m);
        float *a = m, *b = m + 128, *c = m + 256;
        /* 1 + 2^-11 is halfway between two of tf32: away from zero. */
        for (int i = 0; i < 128; i++) a[i] = (i % 7 - 3) * (1 + 0x1p-11f), b[i] = i % 5 - 2;
        product<<<1, 32>>>(a, b, c);
        cudaDeviceSynchronize();
        for (int i = 0; i < 256; i++) {
            float sum = 0;
            for (int k = 0; k < 8; k++) sum += (i / 16 * 8 + k) % 7 == 3 ? 0 : rounded((i / 16 * 8 + k) % 7 - 3) * b[k * 16 + i % 16];
            wrong += sum != c[i];
        }
        printf("%g wrong\\n", wrong);
        cudaFree(m);
    }
    """


@needs_nvcc
def test_products_of_tf32(compiling, tmp_path):
    """wmma, whose factors cvt.rna rounds up here; cut off, as the product alone reads them, they would be whole numbers."""
    source = tmp_path / "product.cu"
    source.write_text(TF32_PRODUCT.replace("    int main", ROUNDED + "    int main"))
    done = run("run", "--out", tmp_path / "report", source, env=compiling)
    assert (done.returncode, done.stdout) == (0, "0 wrong\n"), done
