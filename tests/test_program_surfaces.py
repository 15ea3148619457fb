"""warpfold run: loads from and stores to surfaces, every byte of them, and what is wrong with some."""

import json
import struct

import pytest

from cli_helpers import run
from program_helpers import SOURCES, compiled, environment, needs_nvcc

pytestmark = needs_nvcc

WIDTH, HEIGHT, DEPTH = 8, 5, 3
SHAPES = {"1d": (1, 1), "2d": (HEIGHT, 1), "3d": (HEIGHT, DEPTH), "a1d": (1, DEPTH), "a2d": (HEIGHT, DEPTH)}


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    options = ["-cudart", "shared", "-lineinfo", "-gencode", "arch=compute_75,code=compute_75"]
    return compiled(tmp_path_factory.mktemp("surfaces"), "surfaces", SOURCES / "surfaces.cu", *options)


@pytest.fixture(scope="module")
def lines(program):
    done = run("run", program, env=environment())
    assert done.returncode == 0 and "no findings" in done.stderr, done
    assert "cudaArraySurfaceLoadStore" in done.stderr
    return [line.split() for line in done.stdout.splitlines()]


def test_every_byte_of_every_kind(lines):
    """Planes are turned upside down, volumes and layers back to front."""
    turned = {(name, int(nbytes)): bytes.fromhex(digits) for name, nbytes, digits in lines[:25]}
    assert set(turned) == {(name, nbytes) for name in SHAPES for nbytes in (1, 4, 8, 16)}
    for (name, nbytes), told in turned.items():
        height, depth = SHAPES[name]
        row = WIDTH * nbytes
        source = bytes((i * 7 + i // 256) % 256 for i in range(row * height * depth))
        rows = [source[i:i + row] for i in range(0, len(source), row)]
        planes = [rows[i:i + height] for i in range(0, len(rows), height)][::-1]
        if name == "2d":
            planes = [planes[0][::-1]]
        assert told == b"".join(sum(planes, [])), (name, nbytes)


def test_boundaries(lines):
    near = [100 + min(max(x, 0), WIDTH - 1) for x in range(-4, 12)]
    inside = [108 + x if 0 <= x < WIDTH else 0 for x in range(-4, 12)]
    assert [int(word) for word in lines[25][1:]] == near + inside
    assert [int(word) for word in lines[26][1:]] == [4, 5, 6, 7, 8, 9, 10, 11] + 7 * [0] + [99]


def test_objects(lines):
    assert lines[27:] == [["resource", "1"], ["cudaErrorInvalidValue"], ["cudaErrorInvalidValue"]]


@pytest.mark.parametrize("what, kind, message", [
    ("outside", "bounds", "stores 4 bytes of a surface at (32,1) of (32,2): in a row, coordinates are bytes"),
    ("misaligned", "misaligned", "which is not a multiple of 4"),
    ("racing", "race", "races with the "),
    ("texture", "bounds", "there is no texture of this handle"),
    ("gone", "bounds", "there is no surface of this handle"),
    ("dimensions", "bounds", "an access of other dimensions than the surface's"),
])
def test_findings(program, what, kind, message, tmp_path):
    done = run("run", "--json", "--out", tmp_path / "report", program, what, env=environment())
    assert done.returncode == 3, done
    found = [each for each in json.loads((tmp_path / "report").read_text())["findings"] if each["kind"] != "leak"]
    assert [each["kind"] for each in found] == [kind] and message in found[0]["message"], found


@pytest.fixture(scope="module")
def sums(tmp_path_factory):
    options = ["-cudart", "shared", "-std=c++17", "-lineinfo", "-gencode", "arch=compute_75,code=compute_75"]
    return compiled(tmp_path_factory.mktemp("sums"), "surface_sums", SOURCES / "surface_sums.cu", *options)


def test_reductions_and_queries(sums):
    """The program compares with what one thread after the other would leave."""
    done = run("run", sums, env=environment())
    assert done.returncode == 0 and "no findings" in done.stderr, done


@pytest.mark.parametrize("what, kind, message", [
    ("trap", "bounds", "reduces 4 bytes of a surface at (-8,0) of (32,5): in a row, coordinates are bytes"),
    ("race", "race", "races with the "),
    ("depth", "bounds", "a question for the depth of what has fewer than three dimensions"),
    ("format", "unsupported", "txq.channel_order.b32"),
    ("rounded", "unsupported", "a value that its format does not have"),
    ("fewer", "unsupported", "fewer values than a texel has"),
    ("floats", "unsupported", "texels are not single integers of 32 bits"),
    ("beside", "bounds", "stores 2 bytes of a surface at (8) of (8): in a row, coordinates are texels"),
])
def test_findings_of_reductions_and_queries(sums, what, kind, message, tmp_path):
    test_findings(sums, what, kind, message, tmp_path)


@pytest.fixture(scope="module")
def told_formats(sums):
    done = run("run", sums, "formats", env=environment())
    assert done.returncode == 0 and "no findings" in done.stderr, done
    return {name: bytes.fromhex(digits) for name, digits in (line.split() for line in done.stdout.splitlines())}


@pytest.mark.parametrize("name, channel, channels, offset, divisor", [
    ("f32", "f", 1, 48, 3), ("f16", "e", 2, 48, 8), ("u8", "B", 4, 0, 1), ("s16", "h", 4, 48, 1), ("s8", "b", 1, 48, 1),
    ("u32", "I", 2, 0, 1),
])
def test_stores_in_formats(told_formats, name, channel, channels, offset, divisor):
    """Of thread t the first of four values; it stores at column t % 12 - 2, where there is one, of row t // 12."""
    texels = [4 * t + c for t in range(60) if 2 <= t % 12 < 10 for c in range(channels)]
    values = [i * 37 % 97 - offset for i in texels]
    if divisor > 1:
        values = [value / divisor for value in values]
    assert told_formats[name] == struct.pack(f"<{len(values)}{channel}", *values)


def test_stores_in_a_volume(told_formats):
    channels = [value for z in range(DEPTH) for y in range(HEIGHT) for x in range(WIDTH) for value in (x - 100 * z, -y)]
    assert told_formats["volume"] == struct.pack(f"<{len(channels)}h", *channels)
