"""warpfold run: copies of tensors by tensor maps.  The program checks every byte against the definition."""

import json

import pytest

from cli_helpers import run
from program_helpers import SOURCES, compiled, environment, needs_nvcc

SOURCE = SOURCES / "tensors.cu"


@pytest.fixture(scope="module")
def tensors(tmp_path_factory):
    return compiled(tmp_path_factory.mktemp("tensors"), "tensors", SOURCE, "-cudart", "shared", "-lineinfo", "-gencode",
                    "arch=compute_90,code=compute_90")


def line_of(comment):
    return 1 + next(i for i, text in enumerate(SOURCE.read_text().splitlines()) if f"// line: {comment}" in text)


def findings_of(program, mode, folder):
    run("run", "--json", "--out", folder / "report", program, mode, env=environment())
    return json.loads((folder / "report").read_text())["findings"]


@pytest.mark.slow
@needs_nvcc
def test_boxes_of_one_to_five_dimensions(tensors):
    done = run("run", tensors, env=environment())
    assert (done.returncode, done.stdout) == (0, "ok\n"), done
    for said in ("a stride of 120 bytes: it must be a multiple of 16", "box has 257 elements: it must have 1 to 256",
                 "box has 12 bytes: it must be a multiple of 16", "box has 64 bytes: its swizzle allows 32",
                 "0x700000000004, must be a multiple of 16", "has 1025 pixels for each column: it must have 1 to 1024",
                 "has 257 channels for each pixel: it must have 1 to 256", "corners of 16, 8 or 5 bits",
                 "from -1 to -6 of 5 pixels is empty", "has steps of 9 pixels: it must have 1 to 8"):
        assert said in done.stderr


@needs_nvcc
def test_elements_that_are_not_supported_are_named(tensors):
    done = run("run", tensors, "tf32", env=environment())
    assert "cuTensorMapEncodeTiled of elements that are flushed, TF32 or of 4 or 6 bits is not supported" in done.stderr


@needs_nvcc
@pytest.mark.parametrize("mode, kind, said", [
    ("odd", "misaligned", "begins at element 3 of a row, of 4 bytes each: it must begin at a multiple of 16 bytes"),
    ("before", "bounds", "begins at -3 of dimension 1: only loads may begin before the tensor"),
    ("enlarged", "bounds", "only loads may leave it"),
])
def test_coordinates_that_end_a_launch_on_a_gpu(tensors, tmp_path, mode, kind, said):
    """An H100 ends it with cudaErrorIllegalInstruction."""
    found = [finding for finding in findings_of(tensors, mode, tmp_path) if finding["kind"] != "leak"]
    assert [finding["kind"] for finding in found] == [kind] and said in found[0]["message"], found


@needs_nvcc
def test_a_map_for_pixels_describes_no_box(tensors, tmp_path):
    found = findings_of(tensors, "other_map", tmp_path)
    assert "a copy of a box by a tensor map for im2col (cuTensorMapEncodeIm2col)" in [each["message"] for each in found]


@needs_nvcc
@pytest.mark.parametrize("mode, place, said", [
    ("no_wait", "read", "races with the bulk copy by thread (0,0,0) of block (0,0,0) at"),
    ("no_fence", "store", "an asynchronous copy may miss it without fence.proxy.async, after the one and before the other"),
])
def test_what_nobody_waits_for_or_fences_is_a_race(tensors, tmp_path, mode, place, said):
    found = findings_of(tensors, mode, tmp_path)
    races = [finding for finding in found if finding["kind"] == "race" and finding["line"] == line_of(place)]
    assert races and said in races[0]["message"], found
    assert {finding["kind"] for finding in found} <= {"race", "leak"}
