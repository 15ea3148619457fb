"""warpfold run: fetches from textures, compared bit by bit with the CUDA programming guide's formulas in exact fractions, rounded
as an H200 rounds them."""

import json
import math
import struct
from fractions import Fraction

import numpy
import pytest

from cli_helpers import run
from inspect_helpers import HEAD, inspected, kernel
from program_helpers import SOURCES, compiled, environment, needs_nvcc

pytestmark = needs_nvcc

SIZES = (7, 5, 3)  # width, height, depth
POINTS = range(64)
WRAP, CLAMP, MIRROR, BORDER = range(4)
TEXELS = [i * i % 101 - 40 for i in range(math.prod(SIZES))]


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    options = ["-cudart", "shared", "-gencode", "arch=compute_75,code=compute_75"]
    return compiled(tmp_path_factory.mktemp("textures"), "textures", SOURCES / "textures.cu", *options)


@pytest.fixture(scope="module")
def printed(program):
    done = run("run", program, env=environment())
    assert done.returncode == 0 and "no findings" in done.stderr, done
    *fetches, copies, outside = done.stdout.splitlines()
    lines = [line.rsplit(" ", 128 if line.startswith("s16") else 64) for line in fetches]
    words = {name: [int(word, 16) for word in words] for name, *words in lines}
    return {**words, "copies": [int(word) for word in copies.split()[1:]], "outside": outside}


def coordinate(i, d, size):
    return (Fraction((i * (37 + 22 * d) + 11 * d) % 80, 16) - 2) * size + Fraction(i % 8, 64)


def index(number, size, mode):
    """None: outside."""
    if 0 <= number < size:
        return number
    if mode == WRAP:
        return number % size
    if mode == CLAMP:
        return min(max(number, 0), size - 1)
    if mode == MIRROR:
        return size - 1 - number % size if number // size % 2 else number % size
    return None


def weights_of(fractions):
    """Of 256, of the texels around by their corners: as an H200 parts them, by x, then z, then y."""
    weights = {0: 256}
    for d in [d for d in (0, 2, 1) if d < len(fractions)]:
        parted = {}
        for corner, weight in weights.items():
            high = (weight * fractions[d] + 128) // 256
            if d and not corner & 1:
                high = weight - (weight * (256 - fractions[d]) + 128) // 256
            parted[corner], parted[corner | 1 << d] = weight - high, high
        weights = parted
    return weights


def fetched(point, sizes, mode, is_linear, texel):
    """texel(*index) of the nearest, or the mean of those around, with 8 bits of each weight; what is outside is 0."""
    if not is_linear:
        at = [index(math.floor(x), n, mode) for x, n in zip(point, sizes)]
        return Fraction(0) if None in at else Fraction(texel(*at))
    if len(point) == 1 and mode == BORDER:  # the row below is the border
        return fetched([point[0], Fraction(0)], [sizes[0], 1], mode, True, texel)
    total = Fraction(0)
    below = [math.floor(x - Fraction(1, 2)) for x in point]
    fractions = [math.floor((x - Fraction(1, 2) - b) * 256 + Fraction(1, 2)) for x, b in zip(point, below)]
    for corner, weight in weights_of(fractions).items():
        at = [index(b + (corner >> d & 1), n, mode) for d, (b, n) in enumerate(zip(below, sizes))]
        if None not in at:
            total += Fraction(weight, 256) * texel(*at)
    return total


def bits(value):
    """Of the f32; the value is one of few bits, or was rounded to f64 alone, far from the middle of two f32."""
    return int(numpy.float32(float(value)).view(numpy.uint32))


def plane(x, y=0, z=0):
    return TEXELS[(z * 5 + y) * 7 + x]


@pytest.mark.parametrize("rank", [1, 2])
@pytest.mark.parametrize("is_linear", [0, 1])
@pytest.mark.parametrize("is_normalised", [0, 1])
@pytest.mark.parametrize("mode", [WRAP, CLAMP, MIRROR, BORDER])
def test_arrays(printed, rank, is_linear, is_normalised, mode):
    words = printed[f"{rank}d {mode} {is_linear} {is_normalised}"]
    told = mode if is_normalised or mode == BORDER else CLAMP  # others need normalised coordinates
    for i in POINTS:
        point = [coordinate(i, d, 1) * SIZES[d] if is_normalised else coordinate(i, d, SIZES[d]) for d in range(rank)]
        assert words[i] == bits(fetched(point, SIZES, told, is_linear, plane)), (i, point)


@pytest.mark.parametrize("is_linear", [0, 1])
def test_planes_and_layers(printed, is_linear):
    kind = "linear" if is_linear else "point"
    for i in POINTS:
        point = [coordinate(i, d, SIZES[d]) for d in range(3)]
        assert printed[f"3d {kind}"][i] == bits(fetched(point, SIZES, BORDER, is_linear, plane))
        layer = min(max(i % 5 - 1, 0), 2)
        expected = fetched(point[:2], SIZES, CLAMP, is_linear, lambda x, y: plane(x, y, layer))
        assert printed[f"layer {kind}"][i] == bits(expected)


def test_integers(printed):
    for i in POINTS:
        point = [coordinate(i, d, SIZES[d]) for d in range(2)]
        n = int(fetched(point, SIZES, CLAMP, False, lambda x, y: 13 * (y * 7 + x)))
        channels = [n, n + 1, 2 * n, 255 - n]
        assert printed["u8"][i] == sum((c & 255) << (8 * k) for k, c in enumerate(channels))
        for k, channel in enumerate((lambda n: n * 140 - 32768, lambda n: -n)):
            value = fetched(point, SIZES, CLAMP, True, lambda x, y: max(channel(13 * (y * 7 + x)), -32767))
            assert printed["s16"][2 * i + k] == bits(Fraction(math.floor(value + Fraction(1, 2)), 32767))


def test_linear_memory(printed):
    assert printed["linear"] == [-(i - 16) * 1001 & 0xFFFFFFFF if 16 <= i < 48 else 0 for i in POINTS]


def test_filtered_texels_have_the_bits_of_an_h200(program):
    """Recorded on an H200, 2026-11-24."""
    done = run("run", program, "recorded", env=environment())
    assert done.returncode == 0, done
    assert done.stdout == (SOURCES.parent / "golden" / "textures-h200.txt").read_text()


@pytest.fixture(scope="module")
def cubes(tmp_path_factory):
    options = ["-cudart", "shared", "-gencode", "arch=compute_75,code=compute_75"]
    return compiled(tmp_path_factory.mktemp("cubes"), "cubes", SOURCES / "cubes.cu", *options)


def test_gradients_of_cubes(cubes):
    """The program compares each level with the length of the step on the face, by differences; it comes to all four levels."""
    done = run("run", cubes, "steps", env=environment())
    assert done.returncode == 0 and "no findings" in done.stderr, done
    assert done.stdout == 2 * "4 levels, 1 sample; compared 1 1 1 1\n"


def test_cube_maps_have_the_bits_of_an_h200(cubes):
    """Recorded on an H200, 2026-11-26: the nearest texel, filtered within a face, and of two cubes' layers."""
    done = run("run", cubes, env=environment())
    assert done.returncode == 0 and "no findings" in done.stderr, done
    *fetched, seamless, depth, height = done.stdout.splitlines(keepends=True)
    recorded = (SOURCES.parent / "golden" / "cubes-h200.txt").read_text()
    assert "".join(fetched).replace(" \n", "\n") == recorded
    assert (seamless, depth, height) == ("cudaErrorNotSupported\n", "cudaErrorInvalidValue\n", "cudaErrorInvalidValue\n")
    assert "a cube map that is filtered across its edges is not supported" in done.stderr


def mipmap_fetch(level, i, is_linear):
    width, height = max(8 >> level, 1), max(4 >> level, 1)
    point = [Fraction(i * 37 % 64, 64) * width, Fraction(i * 23 % 32, 32) * height]
    texel = lambda x, y: (37 * level + 11 * y + 5 * x) % 64 - 20
    return fetched(point, (width, height), CLAMP, is_linear, texel)


def mipmap_value(level, i, is_linear, is_level_linear):
    """Between two levels, by 8 bits of the fraction."""
    if not is_level_linear:
        return mipmap_fetch(math.floor(level + Fraction(1, 2)), i, is_linear)
    part = math.floor(level * 256 + Fraction(1, 2))
    lower, upper = part // 256, Fraction(part % 256, 256)
    high = mipmap_fetch(lower + 1, i, is_linear) if upper else 0
    return (1 - upper) * mipmap_fetch(lower, i, is_linear) + upper * high


def test_mipmaps(program):
    """By the runtime's documentation: the level that is asked for, and a bias, within two limits and the levels that there are."""
    done = run("run", program, "mipmaps", env=environment())
    assert done.returncode == 0 and "no findings" in done.stderr, done
    refused, *levels, plain = done.stdout.splitlines()
    assert refused == "cudaErrorInvalidValue cudaErrorInvalidValue" and len(levels) == 8
    for kind, line in enumerate(levels):
        bias, least, most = (Fraction(1, 4), Fraction(3, 4), Fraction(7, 4)) if kind & 4 else (0, 0, 3)
        for i, word in zip(POINTS, line.split()[1:], strict=True):
            level = min(max(Fraction(i * 5, 64) - 1 + bias, least), most)
            assert int(word, 16) == bits(mipmap_value(level, i, kind & 1, kind & 2)), (kind, i)
    assert [int(word, 16) for word in plain.split()[2:]] == [
        bits(fetched([Fraction(i % 8), Fraction(i // 8, 2)], (8, 4), CLAMP, True, lambda x, y: (11 * y + 5 * x) % 64 - 20))
        for i in POINTS]


def test_gradients_and_views(program):
    """Gradients of 2^0 to 2^4 texels of the first level, along either axis, whose logarithm is the level; a view's first level is
    its own.  txq.level; layers 1 and 2 of 3, as the integers that their bits are."""
    done = run("run", program, "views", env=environment())
    assert done.returncode == 0 and "no findings" in done.stderr, done
    texel = lambda level: f"{37 * level % 64 - 20}"
    bits_of = lambda value: f"{int.from_bytes(struct.pack('<f', value), 'little'):x}"
    assert done.stdout.splitlines() == [
        " ".join(["gradients", *(texel(min(i % 5, 3)) for i in range(30))]), "sizes 804 402 201 101 cudaErrorInvalidValue",
        " ".join(["levels 1 and 2", *(texel(2 if i % 5 >= 2 else 1) for i in range(30))]),
        " ".join(["bits", *(bits_of((8 * layer + 4 + x) / 4) for layer in (1, 1, 2, 2) for x in range(4))]),
        f"one level {4 % 101 - 40} {36 * 36 % 101 - 40}"]


GATHERED = {
    "f32": lambda i: [bits(value) for value in (Fraction(i, 4), -i, i * i, numpy.float32(1) / numpy.float32(i + 3))],
    "u8": lambda i: [value & 255 for value in (i, 255 - i, 7 * i, 3 * i + 1)],
    "normalised": lambda i: [bits(Fraction(value & 255, 255)) for value in (i, 255 - i, 7 * i, 3 * i + 1)],
}


@pytest.fixture(scope="module")
def gathered(program):
    done = run("run", program, "gather", env=environment())
    assert done.returncode == 0 and "no findings" in done.stderr, done
    lines = [line.rsplit(" ", 16 * len(POINTS)) for line in done.stdout.splitlines()]
    return {name: [int(word, 16) for word in words] for name, *words in lines}


@pytest.mark.parametrize("kind", GATHERED)
@pytest.mark.parametrize("mode", [WRAP, CLAMP, MIRROR, BORDER])
@pytest.mark.parametrize("is_normalised", [0, 1])
@pytest.mark.parametrize("is_linear", [0, 1])
def test_gathered_texels(gathered, kind, mode, is_normalised, is_linear):
    """PTX ISA: a channel of the four texels that would be filtered, counter-clockwise from the lower left, in any filter mode.  The
    fraction of the coordinate has 8 bits, as in filtering (CUDA C++ Programming Guide, "Texture Fetching")."""
    words = gathered[f"{kind} {mode} {is_linear} {is_normalised}"]
    told = mode if is_normalised or mode == BORDER else CLAMP  # others need normalised coordinates
    for i in POINTS:
        lower = Fraction(i // 8 % 2, 4096)
        point = [(coordinate(i, d, 1) - lower) * SIZES[d] if is_normalised else coordinate(i, d, SIZES[d]) - lower for d in range(2)]
        x, y = (math.floor(Fraction(math.floor((at - Fraction(1, 2)) * 256 + Fraction(1, 2)), 256)) for at in point)
        around = [(index(x + dx, SIZES[0], told), index(y + dy, SIZES[1], told)) for dx, dy in ((0, 1), (1, 1), (1, 0), (0, 0))]
        texels = [[0] * 4 if None in at else GATHERED[kind](at[1] * SIZES[0] + at[0]) for at in around]
        assert words[16 * i:16 * i + 16] == [texel[channel] for channel in range(4) for texel in texels], (i, point)


def test_a_channel_that_a_texture_lacks_cannot_be_gathered(program, tmp_path):
    done = run("run", "--json", "--out", tmp_path / "report", program, "lacking", env=environment())
    assert done.returncode == 3, done
    finding, = (f for f in json.loads((tmp_path / "report").read_text())["findings"] if f["kind"] != "leak")
    assert (finding["kind"], finding["message"]) == ("bounds", "a channel is gathered that the texture does not have")


def test_other_fetches_have_the_bits_of_an_h200(tmp_path):
    """Texels gathered from cubes, pairs of f16 and filtered f16 of great and small numbers, recorded on an H200, 2026-11-29."""
    options = ["-cudart", "shared", "-gencode", "arch=compute_75,code=compute_75"]
    program = compiled(tmp_path, "recorded_fetches", SOURCES / "recorded_fetches.cu", *options)
    done = run("run", program, env=environment())
    assert done.returncode == 0 and "no findings" in done.stderr, done
    recorded = (SOURCES.parent / "golden" / "fetches-h200.txt").read_text()
    assert done.stdout.splitlines() == recorded.splitlines()


def test_volumes_have_the_bits_of_an_h200(tmp_path):
    """Filtered in 3d, recorded on an H200, 2026-11-30."""
    options = ["-cudart", "shared", "-gencode", "arch=compute_75,code=compute_75"]
    program = compiled(tmp_path, "recorded_volumes", SOURCES / "recorded_volumes.cu", *options)
    done = run("run", program, env=environment())
    assert done.returncode == 0 and "no findings" in done.stderr, done
    recorded = (SOURCES.parent / "golden" / "volumes-h200.txt").read_text().splitlines()
    assert done.stdout.splitlines() == recorded


TEXELS_OF = "{%f0, %f1, %f2, %f3}"
OTHER_FETCHES = [f"{fetch}.2d.v4.f32.f32 {operands}" for fetch in ("tex", "tld4.g") for operands in (
    f"{TEXELS_OF}, [%rd0, {{%f0, %f1}}], {{%r0, %r1}}", f"{TEXELS_OF}, [%rd0, {{%f0, %f1}}], %f2",
    f"{TEXELS_OF}|%p0, [%rd0, {{%f0, %f1}}]")] + [f"tex.2d.v2.f32.f32 {{%f0, %f1}}, [%rd0, {{%f0, %f1}}]"]


@pytest.mark.parametrize("text", OTHER_FETCHES)
def test_other_fetches_are_missing_by_name(tmp_path, text):
    """Offsets, depths, whether memory is there, and two results that are no pairs of f16."""
    others = "mov.u64 %rd0, 0; mov.b32 %r0, 0; mov.b32 %r1, 0;"
    floats = " ".join(f"mov.f32 %f{number}, 0f00000000;" for number in range(4))
    (tmp_path / "k.ptx").write_text(HEAD + kernel("k", "", f"{others}\n{floats}\n{text};\nret;"))
    finding, = inspected(tmp_path / "k.ptx", "--block", 32, status=3)["findings"]
    assert finding["kind"] == "unsupported" and text.split()[0] in finding["message"]


def test_what_is_absent_is_named(program):
    done = run("run", program, "absent", env=environment())
    assert (done.returncode, done.stdout) == (0, 3 * "cudaErrorNotSupported\n"), done
    for name in ("a CUDA array with such a flag", "a CUDA array of such channels",
                 "cudaCreateTextureObject with colours in sRGB"):
        assert f"{name} is not supported by the simulator" in done.stderr


def test_copies(printed):
    """Rows of 2 texels, 3 apart in the second plane, to the second array's column 2 of rows 3 and 4."""
    second = TEXELS[35:]
    assert printed["copies"] == [TEXELS[3 * 7 + 1], second[0], second[1], second[3], second[4]]
    assert printed["outside"] == "outside 1"


def test_a_handle_that_is_none(program, tmp_path):
    done = run("run", "--json", "--out", tmp_path / "report", program, "gone", env=environment())
    assert done.returncode == 3, done
    (finding,) = (f for f in json.loads((tmp_path / "report").read_text())["findings"] if f["kind"] != "leak")
    assert finding["kind"] == "bounds" and "there is no texture of this handle" in finding["message"]


def test_textures_of_the_driver(tmp_path):
    """The program checks what it fetches; what is not there is named."""
    options = ["-cudart", "shared", "-gencode", "arch=compute_75,code=compute_75"]
    program = compiled(tmp_path, "driver_textures", SOURCES / "driver_textures.cu", *options)
    done = run("run", program, env=environment())
    assert (done.returncode, done.stdout) == (0, "") and "no findings" in done.stderr, done
    for name in ("a CUDA array of such channels", "a CUDA array with such a flag"):
        assert f"{name} is not supported by the simulator" in done.stderr
