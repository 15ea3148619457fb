"""Extrema, their indices, and integers in a GPU's memory, of rows and columns that a team of lanes or all warps reduce in registers,
are the CPU's."""

import itertools
import math
import random
import struct
from pathlib import Path

import pytest

import warpfold_ctypes as wf
from cuda_helpers import gpu, report_on_newer_gpu  # noqa: F401: gpu is a fixture
from each_type import but_alike, needs_every_kernel, one_of
from gpu_group_helpers import BY_TEAMS_IN_REGISTERS, SAMPLED_KINDS, equal_extremes, repeated, tall_shapes
from gpu_pair import pair  # noqa: F401: a fixture
from group_helpers import Laid
from oracle import FLOATS, TYPECODES
from samples import NAN_POLICIES

library = wf.library


TALL_EXTREMES = ("i8", "u8", "i16", "u32", "i64", "f32", "f64")  # integers of each width, of either sign


@pytest.mark.sampled
@pytest.mark.parametrize("type_name", but_alike(TALL_EXTREMES, ("i8", "i16", "u32", "f32")))
def test_tall_extremes(pair, type_name):
    """Extrema of few columns that all warps share, by keys that are ordered as elements are; NaNs of either sign are beyond all."""
    rng = random.Random(f"gpu tall extremes {type_name}")
    is_float = type_name in FLOATS
    few = (16_500, 3) if type_name in ("i8", "u8") else (4_203, 12)  # as many as some warps share
    both = (("min", "argmax"), ("max", "argmin")) if pair.gpu.is_real or type_name in ("u8", "f64") else (("min", "max"),)
    ops = [*itertools.chain(*one_of(both, is_float))]
    for shape in tall_shapes(type_name, True) if pair.gpu.is_real else (few,):
        for kind in ("wild", "special") if is_float else ("wild",):
            array = repeated(Laid(type_name, (1, 1999), rng, kind, plain=True), shape)
            for op, nan in itertools.product(ops, NAN_POLICIES if kind == "special" else NAN_POLICIES[:1]):
                pair.check(op, library.wf_groups_axes(1), [array], shape, 1, kind, nan=nan)
                assert library.wf_handle_plan(pair.device.pointer).startswith(b"tall columns in registers"), (op, shape)


def test_tall_extremes_of_zeros_and_nans(pair):
    """Columns of -0 and 0, of NaNs alone, and of one NaN of either sign among infinities; the last rows are too few to be one."""
    patterns = ((0, 1 << 31), (0x7fc00000, 0xffc00001), (0x7f800000, 0xff800000, 0xffc00001), (0x7f800000, 0xff800000), (1, 0x80000001))
    shape = 8_295, len(patterns)
    array = Laid("f32", (1, 8), random.Random("gpu tall zeros"), "plain", plain=True)
    words = (pattern[row % len(pattern)] for row in range(shape[0]) for pattern in patterns)
    array = repeated(array, shape)
    array.data = struct.pack(f"={math.prod(shape)}I", *words)
    for op, nan in itertools.product(("min", "max", "argmin", "argmax"), NAN_POLICIES):
        pair.check(op, library.wf_groups_axes(1), [array], shape, 1, nan=nan)
        assert library.wf_handle_plan(pair.device.pointer).startswith(b"tall columns in registers")


INDEXED = ("f16", "bf16", "i8", "u16", "i32", "f32", "f64")
SIMULATED_INDEXED = {"f16": "argmax", "u8": "argmin", "f32": "argmin"}


def data_of_ties(array, rng, is_rising):
    """Few numbers, of which some are found again and again; or such that rise, and the largest are in several places."""
    count, nbytes = len(array.data) // array.nbytes, array.nbytes
    some = sorted({array.data[i:i + nbytes] for i in range(0, 40 * nbytes, nbytes)})
    if is_rising:
        return b"".join(some[min(len(some) * i // count, len(some) - 3) + rng.randrange(3)] for i in range(count))
    return b"".join(rng.choices(some[:5], k=count))


@pytest.mark.sampled
@pytest.mark.parametrize("type_name", dict.fromkeys((*INDEXED, *SIMULATED_INDEXED)))
def test_indices_by_teams(pair, type_name):
    """Of rows, of pieces of few long ones, and of columns that are too long for chunks: the first of those that are as good."""
    rng = random.Random(f"gpu indices {type_name}")
    if not pair.gpu.is_real and type_name not in SIMULATED_INDEXED:
        pytest.skip("no GPU: on the simulator fewer types")
    for shape, axes in (((40, 301), 2), ((7, 1100), 2), ((2, 40_001), 2), ((1030, 516), 1)):
        for kind in ("special", "wild", "ties", "rising"):
            array = Laid(type_name, shape, rng, kind if kind in SAMPLED_KINDS else "plain", plain=True)
            if kind not in SAMPLED_KINDS:
                array.data = data_of_ties(array, rng, kind == "rising")
            for op in ("argmin", "argmax") if pair.gpu.is_real else (SIMULATED_INDEXED[type_name],):
                for nan in NAN_POLICIES if kind == "special" else NAN_POLICIES[:1]:
                    pair.check(op, library.wf_groups_axes(axes), [array], shape, axes, kind, nan=nan, first_index=rng.choice((0, 7)))
                if kind == "ties" and axes == 2:
                    pair.check(op[3:], library.wf_groups_axes(axes), [array], shape, axes, kind, nan="error")
                is_by_lanes = axes == 2 and array.nbytes > 2
                assert is_by_lanes or b"s in registers" in library.wf_handle_plan(pair.device.pointer), (op, shape)


WHOLE = {"i8": ("sum", "max"), "u8": ("mean", "min"), "i16": ("mean", "min"), "u16": ("sum",), "i32": ("mean",), "u32": ("sum",), "f32": ("max",)}


def whole_shapes(type_name, is_real):
    """Rows, columns and tall columns, with some elements that are too few to be loaded together."""
    if not is_real:
        return ((9, 301), 2), ((37, 520), 1), ((16_500 if type_name in ("i8", "u8") else 8_295, 3), 1)
    return ((4_000, 301), 2), ((9, 400_000), 1), ((1030, 40_000), 1), *((shape, 1) for shape in tall_shapes(type_name, True))


@pytest.mark.sampled
@pytest.mark.parametrize("type_name", but_alike(WHOLE, ("i16", "u32")))  # of each size others
def test_integers_of_teams(pair, type_name):
    """Sums, means and extrema in registers, by as many columns as 8 bytes hold; all bits, and the same number again and again."""
    rng, nbytes = random.Random(f"gpu integers {type_name}"), 4 if type_name.endswith("32") else int(type_name[1:]) // 8
    for shape, axes in whole_shapes(type_name, pair.gpu.is_real):
        for kind in ("wild", "equal"):
            array = Laid(type_name, (1, 1999), rng, "wild", plain=True)
            if kind == "equal":
                array.data = rng.choice((b"\xff", b"\x7f", b"\x80")) * len(array.data)
            for op in (("max", "min") if type_name == "f32" else ("sum", "mean", "max", "min")) if pair.gpu.is_real else one_of(WHOLE[type_name], 1):
                pair.check(op, library.wf_groups_axes(axes), [repeated(array, shape)], shape, axes, kind)
                is_row_of_words = axes == 2 and nbytes == 4 and op in ("max", "min")
                assert is_row_of_words or b"s in registers" in library.wf_handle_plan(pair.device.pointer), (op, shape)


@pytest.mark.parametrize("type_name, op", (("f16", "min"), ("f16", "max"), ("bf16", "min"), ("bf16", "max"), ("f16", "argmin"), ("bf16", "argmax")))
def test_extremes_of_halves(pair, type_name, op):
    """Two are compared at once; of NaNs and zeros of either sign, too."""
    rng, nbytes = random.Random(f"gpu extremes {type_name} {op}"), 2
    for shape, axes in (((20, 131), 2), ((2, 40_001), 2), ((1030 if op.startswith("arg") else 20, 130), 1)):
        array = Laid(type_name, shape, rng, "special", plain=True)
        array.data = b"".join(rng.choice((array.data[i:i + nbytes], b"\0\0", b"\0\x80")) for i in range(0, len(array.data), nbytes))
        for nan in NAN_POLICIES:
            pair.check(op, library.wf_groups_axes(axes), [array], shape, axes, nan=nan)
        assert b"s in registers" in library.wf_handle_plan(pair.device.pointer)


@needs_every_kernel
def test_on_newer_gpus(pair):
    """These have an instruction for extremes of halves, and so much shared memory that whatever a launch takes the kernel is the same."""
    if pair.gpu.is_real:
        pytest.skip("a GPU is what it is")
    names = "test_gpu_team_extrema.py::test_extremes_of_halves", "test_gpu_chunks.py::test_rows_of_whole_vectors_among_others"
    tests = [str(Path(__file__).parent / name) for name in names]
    assert "7 passed" in report_on_newer_gpu(*tests)


def ragged_rows(type_name, rows, length, gap, is_reversed, rng):
    """A part of what lies in memory from an odd element on, to the end of the block: vectors at its ends are not all its."""
    array = Laid(type_name, (rows + 1, length + gap), rng, "wild", plain=True)
    step, array.shape = array.strides[0], (rows, length)
    array.data = array.data[:3 * array.nbytes + (rows - 1) * step + length * array.nbytes]
    array.offset = 3 * array.nbytes + is_reversed * (rows - 1) * step
    array.strides[0] = -step if is_reversed else step
    return array


@pytest.mark.sampled
@pytest.mark.parametrize("type_name", ("i8", "u8", "i16", "u16"))
def test_ragged_rows_of_narrow_integers(pair, type_name):
    """Rows that begin and end inside of vectors, the first and the last one at the ends of memory: sums and extrema by words."""
    rng = random.Random(f"gpu ragged rows {type_name}")
    for rows, length, gap, is_reversed in ((40, 100, 0, False), (33, 127, 1, True), (9, 1003, 5, True), (12, 1000, 0, False)):
        array = ragged_rows(type_name, rows, length, gap, is_reversed, rng)
        for op in ("sum", "mean", "min", "max", "argmin", "argmax") if pair.gpu.is_real else ("sum", rng.choice(("max", "argmin"))):
            pair.check(op, library.wf_groups_axes(2), [array], array.shape, gap, is_reversed)
            assert library.wf_handle_plan(pair.device.pointer).startswith(BY_TEAMS_IN_REGISTERS), (op, length)


@pytest.mark.sampled
@pytest.mark.parametrize("type_name, op", (("i8", "argmin"), ("i8", "argmax"), ("u8", "argmax"), ("i16", "argmax"), ("u16", "argmin")))
def test_the_first_of_equal_extremes_of_narrow_integers(pair, type_name, op):
    """The worst that an element can be stands for what is not the row's, and elements are compared with their places behind them."""
    rng = random.Random(f"gpu equal extremes {type_name} {op}")
    for length in (33, 100, 130, 515, 1003):
        for kind, choices in equal_extremes(type_name, op == "argmin").items():
            array = Laid(type_name, (20, length), rng, "plain", plain=True)
            array.data = struct.pack(f"={20 * length}{TYPECODES[type_name]}", *rng.choices(choices, k=20 * length))
            pair.check(op, library.wf_groups_axes(2), [array], array.shape, kind)
