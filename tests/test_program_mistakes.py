"""warpfold run: programs with one mistake of a beginner's each. The report names what, the line of the program, and what to do."""

import functools
import json
import re

import pytest

import program_helpers
from cli_helpers import ROOT, run
from program_helpers import SOURCES, compiled, compiling, environment, needs_nvcc

assert compiling  # a fixture
pytestmark = needs_nvcc
SOURCE = SOURCES / "mistakes.cu"
LINES = SOURCE.read_text().splitlines()
line_of = functools.partial(program_helpers.line_of, source=SOURCE)

OPTIONS = ["-cudart", "shared", "-lineinfo", "-gencode", "arch=compute_75,code=compute_75"]


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    """Built with lines of its host code, as `run` does from a .cu file."""
    return compiled(tmp_path_factory.mktemp("mistakes"), "mistakes", SOURCE, *OPTIONS, "-Xcompiler", "-g1")


@pytest.fixture
def reported(program, tmp_path):
    """reported(mode, status) -> (JSON, text)."""
    def report(mode, status):
        written = []
        for options in (["--json"], []):
            done = run("run", *options, "--out", tmp_path / "report", program, mode, env=environment(), cwd=ROOT)
            assert done.returncode == status, done
            written.append((tmp_path / "report").read_text())
        return json.loads(written[0]), written[1]
    return report


FAILED = {
    "large-block": ("cudaLaunchKernel", "// refused", "a launch of 1 x 1 x 1 blocks of 2048 x 1 x 1 threads; blocks have 1 to 1024 threads"),
    "direction": ("cudaMemcpy", "// direction", "it is from memory of a device to memory of the host, which is not the direction that it "
                  "names: that takes cudaMemcpyDeviceToHost"),
    "symbol": ("cudaMemcpy", "// symbol", "that takes cudaMemcpyToSymbol, as it is to a variable of the device"),
    "long-symbol": ("cudaMemcpyToSymbol", "// long", "it takes 8 bytes from byte 0 on of a variable of 4 bytes"),
    "free-twice": ("cudaFree", "// twice", "it is freed already"),
    "copy-freed": ("cudaMemcpy", "// copies freed", "it reads memory that was freed, from byte 40 on of what was an allocation of 4000"),
    "fill-freed": ("cudaMemset", "// fills freed", "it fills memory that was freed, from byte 0 on of what was an allocation of 4000"),
    "fill-host": ("cudaMemset", "// fills the host", "it fills memory of the host, where it takes memory from cudaMalloc"),
    "free-middle": ("cudaFree", "// middle", "it is byte 16 of an allocation of 4000, which is freed by the address of its first byte"),
}


@pytest.mark.parametrize("mode", FAILED)
def test_calls_that_failed_have_a_line_and_what_to_do(reported, mode):
    call, mark, reason = FAILED[mode]
    report, text = reported(mode, 3 if mode == "large-block" else 0)  # where nothing was stored, the next kernel reads that
    failed, = report["failed_calls"]
    line = line_of(mark)
    assert (failed["call"], failed["line"]) == (call, line) and failed["file"].endswith("mistakes.cu") and reason in failed["reason"]
    assert f"    {call} at {failed['file']}:{line} failed: {failed['error']} ({failed['text']}): {failed['reason']}\n" \
           f"{line:>8} | {LINES[line - 1]}\n" in text
    assert not {advice["kind"] for advice in report["advice"]} & {"unwritten-copy", "unread-result"}  # which would be its consequence


def test_a_grid_that_is_too_small(reported):
    report, text = reported("small-grid", 0)
    advice, = report["advice"]
    line, missing = line_of("// unwritten"), 4 * (1000 - 3 * 256)
    assert (advice["kind"], advice["kernel"], advice["line"], advice["count"]) == ("unwritten-copy", "host code", line, missing)
    assert advice["message"] == f"nothing has written {missing} of the 4000 bytes that are copied to the host, from byte {4000 - missing} on " \
                                f"(element {(4000 - missing) // 4}, if each has 4 bytes)"
    assert "(n + block - 1) / block blocks" in advice["cure"]
    assert f"advice: unwritten-copy in host code at {advice['file']}:{line}\n    {advice['message']}\n    cure: {advice['cure']}\n" in text
    assert "no findings, 1 piece of advice" in text


def test_results_that_are_not_copied_back(reported):
    report, text = reported("not-copied", 0)
    advice, = report["advice"]
    line = line_of("// scales")
    assert (advice["kind"], advice["kernel"], advice["line"], advice["count"]) == ("unread-result", "scale", line, 8000)
    assert advice["message"] == "kernels store 8000 bytes, the last here, and the program copies nothing to the host"
    assert "cudaMemcpyDeviceToHost" in advice["cure"] and f"{line:>8} | {LINES[line - 1]}\n" in text


def test_freed_memory(reported):
    """Of four blocks any may be the first."""
    report, text = reported("freed", 3)
    finding, = (each for each in report["findings"])
    assert (finding["kind"], finding["line"]) == ("bounds", line_of("= 2 * in[i]"))
    byte, index = map(int, re.search(
        r"byte (\d+) of an allocation of 4000 that was freed: each use belongs between its allocation and that \(index (\d+) of `in`",
        finding["message"]).groups())
    assert byte == 4 * index and index in range(0, 1000, 256)


def test_a_length_in_elements(reported):
    """250 of 1000 floats are copied."""
    finding, = reported("short", 3)[0]["findings"]
    assert (finding["kind"], finding["line"]) == ("uninitialised", line_of("= 2 * in[i]"))
    line = line_of("// copies in")
    assert "index 250 of `in`, float *" in finding["message"] and f"; line {line} wrote the first 1000 bytes of this allocation of 4000: a " \
        "copy's length is in bytes, such as n * sizeof(float)" in finding["message"]
    assert finding["other"]["line"] == line and f"{line:>8} | {LINES[line - 1]}\n" in reported("short", 3)[1]


def test_a_recursion_that_never_ends(reported):
    finding, = reported("recursion", 3)[0]["findings"]
    assert (finding["kind"], finding["line"]) == ("runaway", line_of("// too deep"))
    assert re.fullmatch(r"the stack of a thread, 524,288 bytes, is full after \d\d,?\d{3} calls within each other: let a recursion end earlier, or "
                        "make it a loop with an array of what is left to do", finding["message"])


def test_a_kernel_that_gets_memory_of_the_host(reported):
    """By the name of the pointer alone, and without leaks: once a launch has failed for good, cudaFree() fails, too."""
    report, _ = reported("host-pointer", 3)
    finding, = report["findings"]
    assert finding["message"].endswith("memory of the host: give the kernel memory from cudaMalloc, and copy there by cudaMemcpy: `in[0]`")
    assert (report["leaks"], report["failed_calls"]) == (0, [])


@pytest.mark.parametrize("mode", ["host-fault", "call-fault"])
def test_a_segmentation_fault_says_whose_code_it_is_in(program, mode, tmp_path):
    done = run("run", "--json", "--out", tmp_path / "report", program, mode, env=environment(), cwd=ROOT)
    report = json.loads((tmp_path / "report").read_text())
    if report["signal"] != 11:
        pytest.skip("a sanitizer has the signal")
    fault, is_own = report["fault"], mode == "host-fault"
    assert (fault["in"], fault["address"]) == ("host code" if is_own else "a call of CUDA", 0x30)
    assert fault["line"] == (line_of("// faults") if is_own else 0) and fault["file"].endswith("mistakes.cu") == is_own
    run("run", "--out", tmp_path / "report", program, mode, env=environment(), cwd=ROOT)
    said = (tmp_path / "report").read_text().splitlines()[-1]
    begin, address = r"The program was ended by signal 11 \(Segmentation fault\), in ", "which used address 0x30"
    own = rf"{begin}its own host code, at \S*mistakes\.cu:{line_of('// faults')}, {address}\."
    of_call = rf"{begin}a call of CUDA, at \S+\+0x[0-9a-f]+, {address}: a pointer that the call was given is wrong, or warpfold has a fault\."
    assert done.returncode == 128 + 11 and re.fullmatch(own if mode == "host-fault" else of_call, said)


@pytest.mark.parametrize("mode, mark, said", [
    ("device-pointer", "// prints", "which is memory of a device, byte 40 of an allocation of 4000: copy it by cudaMemcpy, or allocate it by "
     "cudaMallocManaged, which both may use"),
    ("managed-freed", "// uses freed", "which was freed: byte 12 of what was an allocation of 4000")])
def test_the_host_uses_memory_that_is_not_its(reported, mode, mark, said):
    report, text = reported(mode, 3)
    finding, = report["findings"]
    line = line_of(mark)
    assert (finding["kind"], finding["kernel"], finding["line"], report["leaks"]) == ("bounds", "host code", line, 0)
    assert report["signal"] == 11 or report["status"]  # a sanitizer, which has the signal then, ends with a status of its own
    assert finding["message"].endswith(said)
    assert f"{line:>8} | {LINES[line - 1]}\n" in text


@pytest.mark.parametrize("mode", ["right", "printed"])
def test_programs_without_a_mistake(reported, mode):
    report, _ = reported(mode, 0)
    assert (report["findings"], report["advice"], report["failed_calls"], report["leaks"], report["fault"]) == ([], [], [], 0, None)


def test_a_source_is_compiled_with_lines_of_its_host_code(compiling, tmp_path):
    done = run("run", "--json", "--out", tmp_path / "report", SOURCE, "small-grid", env=compiling)
    advice, = json.loads((tmp_path / "report").read_text())["advice"]
    assert done.returncode == 0 and advice["line"] == line_of("// unwritten") and advice["file"].endswith("mistakes.cu")


def test_without_addr2line_nothing_but_the_lines_is_missing(program, reported, tmp_path):
    done = run("run", "--json", "--out", tmp_path / "report", program, "direction", env={**environment(), "PATH": str(tmp_path)})
    failed, = json.loads((tmp_path / "report").read_text())["failed_calls"]
    assert done.returncode == 0 and (failed["line"], failed["file"]) == (0, "")
    assert {**failed, "line": line_of("// direction"), "file": (known := reported("direction", 0)[0]["failed_calls"][0])["file"]} == known


def test_a_program_without_lines_of_its_host_code(tmp_path):
    """Built without -g: the call is named, and the advice has the address in the program's file."""
    program = compiled(tmp_path, "mistakes", SOURCE, *OPTIONS)
    done = run("run", "--json", "--out", tmp_path / "report", program, "small-grid", env=environment())
    advice, = json.loads((tmp_path / "report").read_text())["advice"]
    assert done.returncode == 0 and advice["line"] == 0 and re.fullmatch(r".*mistakes\+0x[0-9a-f]+", advice["file"])
    done = run("run", "--out", tmp_path / "report", program, "free-twice", env=environment())
    assert "    cudaFree failed: cudaErrorInvalidValue" in (tmp_path / "report").read_text()


SHORT_COPIES = (SOURCES / "short_copies.cu").read_text().splitlines()
# How many of 4096 bytes the host gets, and whether the room that it has is known.
SHORT_BACK = {"elements": (1024, True), "half": (2048, True), "pointer": (8, True), "asynchronous": (1024, True), "in-place": (1024, True),
              "local": (1024, False), "pinned": (1024, True)}
SHORT_IN = {"half-in": (2048, "in"), "fill": (1024, "out")}
RIGHT_COPIES = ["right", "right-tree", "right-in-place", "right-few", "right-backwards", "right-parts", "right-guard"]


@pytest.fixture(scope="module")
def short_copies(tmp_path_factory):
    return compiled(tmp_path_factory.mktemp("copies"), "copies", SOURCES / "short_copies.cu", *OPTIONS, "-Xcompiler", "-g1")


def report_of(program, mode, status, tmp_path):
    done = run("run", "--json", "--out", tmp_path / "report", program, mode, env=environment(), cwd=ROOT)
    assert done.returncode == status, done
    return json.loads((tmp_path / "report").read_text())


def has_malloc_of_its_own():
    return bool(environment().get("LD_PRELOAD"))  # a sanitizer's, of which the size of blocks is not known


@pytest.mark.parametrize("mode", SHORT_BACK)
def test_a_copy_to_the_host_that_ends_too_early(short_copies, mode, tmp_path):
    count, has_room = SHORT_BACK[mode]
    if has_room and mode != "pinned" and has_malloc_of_its_own():
        pytest.skip("only what malloc() of the GNU library gives is known")
    report = report_of(short_copies, mode, 0, tmp_path)
    advice, = report["advice"]
    assert (advice["kind"], advice["kernel"], advice["count"]) == ("short-copy", "host code", 4096 - count)
    assert SHORT_COPIES[advice["line"] - 1].endswith(f"// {mode.replace('-', ' ')}") and not report["findings"]
    assert advice["message"].startswith(f"copies the first {count} of the 4096 bytes of an allocation that are written to the host, and nothing "
                                        f"takes the other {4096 - count}")
    assert advice["message"].endswith(", for which the host has room behind these") == has_room and "n * sizeof(float)" in advice["cure"]


@pytest.mark.parametrize("mode", SHORT_IN)
def test_a_copy_to_the_device_or_a_fill_that_ends_too_early(short_copies, mode, tmp_path):
    count, name = SHORT_IN[mode]
    report = report_of(short_copies, mode, 3, tmp_path)
    finding, = report["findings"]
    line = finding["other"]["line"]
    assert (finding["kind"], report["advice"]) == ("uninitialised", [])
    assert SHORT_COPIES[line - 1].endswith(f"// {mode.replace('-', ' ')}") and f"index {count // 4} of `{name}`" in finding["message"]
    assert f"; line {line} wrote the first {count} bytes of this allocation of 4096" in finding["message"]


@pytest.mark.parametrize("mode", RIGHT_COPIES)
def test_copies_that_are_right(short_copies, mode, tmp_path):
    report = report_of(short_copies, mode, 0, tmp_path)
    assert (report["findings"], report["advice"]) == ([], [])
