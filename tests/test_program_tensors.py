"""warpfold run: copies of tensors by tensor maps.  The program checks every byte against the definition."""

import json

import pytest

from cli_helpers import run
from inspect_helpers import HEAD, inspected, kernel, parameters
from program_helpers import SOURCES, compiled, environment, needs_nvcc

SOURCE = SOURCES / "tensors.cu"


@pytest.fixture(scope="module")
def tensors(tmp_path_factory):
    return compiled(tmp_path_factory.mktemp("tensors"), "tensors", SOURCE, "-cudart", "shared", "-lineinfo", "-gencode",
                    "arch=compute_90a,code=compute_90a") # which may change tensor maps


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
    done = run("run", tensors, "narrow", env=environment())
    assert "cuTensorMapEncodeTiled of elements of 4 or 6 bits is not supported" in done.stderr


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


@needs_nvcc
def test_a_kernel_changes_a_map(tensors):
    """All fields of PTX, in global memory and in shared memory; element types by PTX's own numbers.  Of another map, and of zeros."""
    done = run("run", tensors, "changed", env=environment())
    assert done.returncode == 0 and "no findings" in done.stderr, done


@needs_nvcc
@pytest.mark.parametrize("mode, kind, said", [
    ("at_once", "race", "races with the update by thread (0,0,0) of block (0,0,0)"),
    ("parted", "barrier", "which takes all 32 lanes of a warp"),
    ("steps", "unsupported", "element strides of a tensor map other than 1"),
])
def test_what_is_wrong_with_a_change_of_a_map(tensors, tmp_path, mode, kind, said):
    """Threads that change one map (through generic addresses, which comes right) are a race."""
    found = [finding for finding in findings_of(tensors, mode, tmp_path) if finding["kind"] != "leak"]
    assert {finding["kind"] for finding in found} == {kind} and said in json.dumps(found), found
    if mode == "at_once":
        assert {finding["line"] for finding in found} == {line_of("at once")}


TENSOR_MAP_MISSING = ["tensormap.replace.tile.fill_mode.global.b1024.b32 [%rd1], 1", "tensormap.replace.tile.elemtype.b1024.b32 [%rd1], 13",
                      "tensormap.replace.tile.box_dim.global.b1024.b32 [%rd1], 5, %r1",
                      "tensormap.replace.tile.global_stride.global.b1024.b64 [%rd1], 4, %rd2",
                      "tensormap.replace.tile.swizzle_atomicity.global.b1024.b32 [%rd1], 1",
                      "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%rd1], [%r1], 64",
                      "fence.proxy.tensormap::generic.acquire.gpu [%rd1], 64"]


@pytest.mark.parametrize("text", TENSOR_MAP_MISSING)
def test_what_maps_lack_is_missing_by_name(tmp_path, text):
    (tmp_path / "k.ptx").write_text(HEAD + kernel("k", "", f"mov.u64 %rd1, 0; mov.u64 %rd2, 0; mov.u32 %r1, 0;\n{text};\nret;"))
    finding, = inspected(tmp_path / "k.ptx", "--block", 32, status=3)["findings"]
    assert finding["kind"] == "unsupported" and text.split()[0] in finding["message"]


def test_what_is_no_map_cannot_be_changed(tmp_path):
    text = "ld.param.u64 %rd1, [k_param_0]; tensormap.replace.tile.rank.global.b1024.b32 [%rd1], 1; ret;"
    (tmp_path / "k.ptx").write_text(HEAD + kernel("k", parameters("k", "u64"), text))
    finding, = inspected(tmp_path / "k.ptx", "--block", 1, "--arg", "u32[32]=ones", status=3)["findings"]
    assert finding["kind"] == "bounds"
    assert finding["message"].startswith("there is neither a tensor map for boxes here, which cuTensorMapEncodeTiled makes and a kernel may "
                                         "copy, nor 128 bytes of 0, of which one can be made")
