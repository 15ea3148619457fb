"""Groups of a few elements in a GPU's memory, each reduced by a lane, give the CPU's bits."""

import itertools
import math
import os
import random
import struct
import subprocess
import sys
from ctypes import byref

import pytest

import warpfold_ctypes as wf
from cuda_helpers import gpu  # noqa: F401: a fixture
from each_type import but_alike, needs_every_kernel, one_of
from gpu_pair import Binades, EDGES, pair, returned  # noqa: F401: pair is a fixture
from group_helpers import Laid, integer_vector, operands
from oracle import FLOATS, TYPECODES
from samples import NAN_POLICIES

library = wf.library


SHORT = {"f32": ("sum", "argmin", "var"), "f64": ("sum", "std"), "bf16": ("mean",), "f16": ("norm2",), "i8": ("sum",), "i32": (),
         "u64": ("max",)}


SHORT_OPS = ("sum", "norm1", "max", "argmin", "mean", "var", "std", "norm2")


@pytest.mark.sampled
@pytest.mark.parametrize("type_name", SHORT)
def test_short_groups(pair, type_name):
    """Of a few elements: a lane has several at once, which are neighbours in a row, or on their own."""
    rng = random.Random(f"gpu short {type_name}")
    if not pair.gpu.is_real and not SHORT[type_name]:
        pytest.skip("no GPU: on the simulator fewer types")
    for count in (1, 2, 3, 4, 8):
        for kind in ("plain", "wild", "special"):
            for shape, axes in (((70, count), 2), ((count, 300), 1), ((2, count, 35), 2), ((3, count, 333, 2), 10)):
                if not pair.gpu.is_real and (count in (1, 4) or kind == "plain" or len(shape) != 2 + (count == 3)):
                    continue
                array = Laid(type_name, shape, rng, kind, plain=rng.random() < 0.7)
                for op in SHORT_OPS if pair.gpu.is_real else one_of(SHORT[type_name]):
                    pair.check(op, library.wf_groups_axes(axes), [array], shape, axes, kind, nan=rng.choice(NAN_POLICIES),
                               ddof=rng.choice((0, 0, 1, 2)) if op in ("var", "std") else 0)


IN_CHUNKS = {"f32": ("sum", "var"), "f64": ("mean", "var", "norm2"), "bf16": ("argmax",), "f16": ("sum",), "i8": ()}
OF_INTEGERS = ("sum", "mean", "max", "argmin")  # that are found in registers


@pytest.mark.sampled
@pytest.mark.parametrize("type_name", IN_CHUNKS)
def test_groups_in_chunks(pair, type_name):
    """A lane has a column, several elements at a time; those that two or four f64 do not hold are found by few lanes at a time."""
    rng = random.Random(f"gpu chunks {type_name}")
    if not pair.gpu.is_real and not IN_CHUNKS[type_name]:
        pytest.skip("no GPU: on the simulator fewer types")
    for count in (9, 16, 17, 50, 300) if pair.gpu.is_real else (9, 35):
        for kind in ("plain", "wild", "special", "equal"):
            for shape, axes in (((count, 70), 1), ((3, count, 5), 2), ((40, count), 2)):
                if not pair.gpu.is_real and (shape[0] == 3) != (kind == "plain"):
                    continue
                array = Laid(type_name, shape, rng, "plain" if kind == "equal" else kind, plain=rng.random() < 0.5)
                if kind == "equal":
                    array.data = array.data[:array.nbytes] * (len(array.data) // array.nbytes)
                for op in SHORT_OPS if pair.gpu.is_real else one_of(IN_CHUNKS[type_name], 1):
                    pair.check(op, library.wf_groups_axes(axes), [array], shape, axes, kind, nan=rng.choice(NAN_POLICIES),
                               ddof=rng.choice((0, 1)) if op in ("var", "std") else 0, first_index=rng.choice([0, 7]))
                    if axes == 1 and array.strides[0] == 70 * array.nbytes and (type_name != "i8" or op in OF_INTEGERS):
                        assert library.wf_handle_plan(pair.device.pointer).startswith(OF_COLUMNS), (op, shape)


AHEAD = {"f32": ("sum", "var", "argmin"), "f64": ("mean", "std", "max"), "bf16": ("norm1", "norm2"), "f16": ("sum", "max"),
         "i8": ("max", "argmin")}


def matrix(type_name, rows, columns, rng, kind, again):
    """The same elements again, so that there are as many groups as a GPU has lanes, in rows or, if columns are more, in columns."""
    array = Laid(type_name, (rows, columns), rng, kind, plain=True)
    array.data = array.data[:rows * columns * array.nbytes] * again
    array.shape = (rows * again, columns) if rows > columns else (rows, columns * again)
    array.strides = [array.shape[1] * array.nbytes, array.nbytes]
    return array


def held_of_rows(type_name, op, nbytes):
    """What the plan says of so long rows, or None where that is not said here."""
    most = 96 if type_name != "i8" else 32 if op in ("max", "argmin") else 48
    if type_name != "i8":
        return ONE_IN_REGISTERS if nbytes <= most else None
    return None if op not in OF_INTEGERS else ONE_IN_REGISTERS if nbytes <= most else BY_TEAMS_IN_REGISTERS


def check_ahead(pair, array, axes, kind, rng, held_of=lambda *_: None, ops=None):
    ops = ops or (SHORT_OPS if pair.gpu.is_real else AHEAD[array.type])
    for op in ops if pair.gpu.is_real else one_of(ops, 1):
        pair.check(op, library.wf_groups_axes(axes), [array], array.shape, axes, kind, nan=rng.choice(NAN_POLICIES),
                   ddof=rng.choice((0, 1)) if op in ("var", "std") else 0, first_index=rng.choice([0, 7]))
        held = held_of(array.type, op, array.shape[1] * array.nbytes)
        assert held is None or library.wf_handle_plan(pair.device.pointer).startswith(held), (op, array.shape)


@pytest.mark.sampled
@pytest.mark.parametrize("type_name", AHEAD)
def test_rows_copied_ahead(pair, type_name):
    """A warp has several tiles of 32 rows that are whole vectors, and the last one fewer rows; chunks end inside of rows and with them."""
    rng = random.Random(f"gpu rows ahead {type_name}")
    each = 16 // struct.calcsize(TYPECODES[type_name])
    for elements, rows in ((9, 4200), (16, 9003), (17, 4203), (33, 4230)):
        count = -(-elements // each) * each
        for kind in ("plain", "special") if pair.gpu.is_real else ("special" if elements in (16, 33) else "plain",):
            array = matrix(type_name, rows, count, rng, kind, 64 if pair.gpu.is_real else 1)
            check_ahead(pair, array, 2, kind, rng, held_of_rows)


@pytest.mark.sampled
@pytest.mark.parametrize("type_name", ("f32", "f64"))
@pytest.mark.parametrize("kind", ("plain", "wild", "special"))
def test_columns_copied_ahead(pair, kind, type_name):
    """On the simulator each width has another op."""
    rng = random.Random(f"gpu columns ahead {kind} {type_name}")
    for elements, columns, op in ((9, 4100, "argmin"), (16, 9004, "norm2"), (33, 4204, "max"), (17, 4100, "mean")):
        array = matrix(type_name, elements, columns, rng, kind, 64 if pair.gpu.is_real else 1)
        check_ahead(pair, array, 1, kind, rng, ops=None if pair.gpu.is_real else (op,))


@pytest.mark.parametrize("op", ("max", "argmin"))
def test_extremes_of_long_rows_copied_ahead(pair, op):
    """Of f64, of which a lane's own rows take the first-level cache a cycle for each line."""
    rng = random.Random(f"gpu extremes ahead {op}")
    for rows, elements, nan in ((4230, 34, "error"), (4230, 18, "omit"), (8200, 130, "propagate")):
        array = matrix("f64", rows, elements, rng, "special", 64 if pair.gpu.is_real else 1)
        pair.check(op, library.wf_groups_axes(2), [array], array.shape, nan=nan, first_index=rng.choice([0, 7]))
        assert library.wf_handle_plan(pair.device.pointer).startswith(ONE_IN_REGISTERS)


BY_TEAMS = {"f32": ("var", "sum", "norm2"), "bf16": ("mean", "std", "min"), "f16": ("sum", "var", "max"), "f64": ("mean", "var", "norm2")}


def by_teams(type_name, is_real, turn):
    extremes = ("min", "max") if type_name in ("f16", "bf16") else ()
    return ("sum", "norm1", "mean", "var", "std", "norm2", *extremes) if is_real else one_of(BY_TEAMS[type_name], turn)


def encoded(type_name, number):
    if type_name == "bf16":
        return struct.pack("=f", number)[2:]
    return struct.pack({"f64": "=d", "f32": "=f", "f16": "=e"}[type_name], number)


def numbers_at_an_end(type_name, is_huge):
    """Of the largest exponents, or the least, where sums and squares are beyond the range in which f64 are added up, and equal ones,
    whose sums are exact."""
    form = FLOATS[type_name]
    least, most = (form.infinity - (3 << form.precision - 1), form.infinity) if is_huge else (1, 3 << form.precision - 1)
    ends = [least, most - 1, most - 1, *range(least, most, (most - least) // 40)]
    return [(sign | bits).to_bytes(form.width // 8, "little") for bits in ends for sign in (0, form.sign)]


def make_row_data(array, kind, rng):
    """Besides samples: equal numbers, small ones, whose sums and means are often half-way between two results, such far from 0, and
    huge and tiny ones."""
    numbers = {"equal": [rng.choice((-0.0, 3.0))], "small": [0.0, -0.0, 1.0, 2.0, 3.0], "far": [1000.0, 1004.0, 1008.0, 1012.0]}
    elements = [encoded(array.type, number) for number in numbers.get(kind, ())]
    if kind in ("huge", "tiny"):
        elements = numbers_at_an_end(array.type, kind == "huge")
    if elements:
        array.data = b"".join(rng.choices(elements, k=len(array.data) // array.nbytes))


def check_teams(pair, array, shape, axes, kind, rng, plan, turn):
    """plan: how the words that say so begin; None: whichever."""
    elements = shape[-1] if axes == 1 << (len(shape) - 1) else shape[0]
    for op in by_teams(array.type, pair.gpu.is_real, turn):
        for nan in NAN_POLICIES if kind == "special" else ("propagate",):
            pair.check(op, library.wf_groups_axes(axes), [array], shape, axes, kind, nan=nan,
                       ddof=rng.choice((0, 1, elements)) if op in ("var", "std") else 0)
        if plan:
            assert library.wf_handle_plan(pair.device.pointer).startswith(plan), (op, shape)


SAMPLED_KINDS = ("wild", "special")  # others are plain samples, or made from a few numbers


def row_kinds(type_name, is_real):
    """Sums of narrow types have no ends that f64 do not reach."""
    ends = ("huge", "tiny") if is_real or type_name == "f64" else ()
    return ("plain", *SAMPLED_KINDS, "equal", "small", "far", *ends)


@pytest.mark.sampled
@pytest.mark.parametrize("type_name", BY_TEAMS)
def test_rows_of_floats(pair, type_name):
    """A team has a row, by a few f64 and a bound of their error; rows begin at any multiple of their elements' size."""
    rng = random.Random(f"gpu rows {type_name}")
    for kind in row_kinds(type_name, pair.gpu.is_real):
        for shape in ((40, 67), (9, 128), (5, 301), (3, 2050), (2, 9001)) if pair.gpu.is_real else ((5, 301),):
            array = Laid(type_name, shape, rng, kind if kind in SAMPLED_KINDS else "plain", plain=True)
            make_row_data(array, kind, rng)
            is_tried = shape[0] > 4 and array.nbytes * shape[1] >= 128
            check_teams(pair, array, shape, 2, kind, rng, b"rows in registers" if is_tried else None, 0)


def repeated(array, shape):
    """Few elements as a matrix of many."""
    count = len(array.data) // array.nbytes
    array.data = (array.data * (math.prod(shape) // count + 1))[:math.prod(shape) * array.nbytes]
    array.shape, array.strides = shape, [shape[1] * array.nbytes, array.nbytes]
    return array


def check_columns(pair, type_name, shapes, plan_of, turn):
    """Few elements, again and again, as matrices; plan_of: what a plan for rows of so many bytes must have in it, or None."""
    rng = random.Random(f"gpu columns {type_name} {shapes}")
    for kind in row_kinds(type_name, pair.gpu.is_real):
        for shape in shapes:
            array = Laid(type_name, (1, 1999), rng, kind if kind in SAMPLED_KINDS else "plain", plain=True)
            make_row_data(array, kind, rng)
            check_teams(pair, repeated(array, shape), shape, 1, kind, rng, plan_of(shape[1] * array.nbytes), turn)


def column_shapes(type_name, is_real):
    """Of f64 columns of more than 1024 elements, which take the simulator long."""
    if type_name == "f64":
        return ((1025, 9_001), (1030, 9_000)) if is_real else ((1025, 101),)
    if not is_real:
        return (9, 385), (37, 518)
    return (9, 400_001), (70, 50_002), (1030, 40_000 if type_name == "f16" else 9_000)


@pytest.mark.sampled
@pytest.mark.parametrize("type_name", BY_TEAMS)
def test_columns_of_floats(pair, type_name):
    """A team has the columns of 8 bytes, at any multiple of their elements' size; few columns are shared by several lanes."""
    shapes = column_shapes(type_name, pair.gpu.is_real)
    check_columns(pair, type_name, shapes, lambda nbytes: None if nbytes % 4 else b"columns in registers", 1)


@pytest.mark.parametrize("type_name, op", (("f64", "sum"), ("f64", "max"), ("f32", "argmin")))
def test_few_columns(pair, type_name, op):
    """Several warps share columns that are fewer than lanes would have, also where these are faster with one each."""
    shape, kind = (100, 3_001) if pair.gpu.is_real else (70, 102), "special"
    array = Laid(type_name, shape, random.Random(f"gpu few columns {op}"), kind, plain=True)
    for nan in NAN_POLICIES:
        pair.check(op, library.wf_groups_axes(1), [array], shape, 1, kind, nan=nan)
        assert library.wf_handle_plan(pair.device.pointer).startswith(b"columns in registers"), (op, shape)


def tall_shapes(type_name, is_real):
    """Columns whose rows are not whole words, or not whole vectors, with some left that are too few to be one; and fewer of them."""
    if is_real:
        return (100_007, 3), (50_001, 10), (30_003, 33), (20_021, 100)
    return {"f64": ((5_003, 3), (4_201, 4)), "f32": ((4_203, 5),)}.get(type_name, ((8_295, 3), (8_215, 12)))


@pytest.mark.sampled
@pytest.mark.parametrize("type_name", BY_TEAMS)
def test_tall_columns(pair, type_name):
    """All warps share a few columns, in registers first; what is left open is added up as longer groups are."""
    check_columns(pair, type_name, tall_shapes(type_name, pair.gpu.is_real), lambda nbytes: b"tall columns in registers", 2)


def long_row_shapes(type_name, is_real):
    """Rows that begin at vectors and that do not, in several shares of which the last is short."""
    if is_real:
        return (2, 700_001), (16, 100_000), (300, 20_011)
    return ((2, 33_003),) if type_name in ("f32", "f64") else ()


@pytest.mark.sampled
@pytest.mark.parametrize("type_name", BY_TEAMS)
def test_long_rows(pair, type_name):
    """All warps share a few rows, in registers first; what is left open is added up as longer groups are."""
    rng, shapes = random.Random(f"gpu long rows {type_name}"), long_row_shapes(type_name, pair.gpu.is_real)
    if not shapes:
        pytest.skip("no GPU: on the simulator fewer types")
    for kind in row_kinds(type_name, pair.gpu.is_real):
        for shape in shapes:
            array = Laid(type_name, (1, 1999), rng, kind if kind in SAMPLED_KINDS else "plain", plain=True)
            make_row_data(array, kind, rng)
            check_teams(pair, repeated(array, shape), shape, 2, kind, rng, b"rows in registers", 1)


def test_which_long_rows_are_shared(pair):
    """One round of warps takes whole rows, unless their sums may be left open; fewer rows are shared in full rounds."""
    if pair.gpu.is_real:
        pytest.skip("a GPU has as many warps as it has")
    rng, whole = random.Random("gpu shared rows"), b"rows in registers; else"
    for rows, elements, op, plan in ((64, 24_576, "sum", b"rows in registers, each in 2 shares"), (64, 16_384, "sum", whole),
                                     (64, 24_576, "norm2", whole), (30, 16_384, "sum", b"rows in registers, each in 4 shares")):
        array = repeated(Laid("f32", (1, 1999), rng, "plain", plain=True), (rows, elements))
        pair.check(op, library.wf_groups_axes(2), [array], array.shape)
        assert library.wf_handle_plan(pair.device.pointer).startswith(plan), (rows, library.wf_handle_plan(pair.device.pointer))


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


def test_rows_of_whole_vectors_among_others(pair):
    """Launches of one kernel differ in how much shared memory they take."""
    rng = random.Random("gpu vectors among others")
    for elements in (10, 12, 10):
        pair.check("sum", library.wf_groups_axes(2), [matrix("f32", 300, elements, rng, "plain", 1)], (300, elements), 2)
        assert library.wf_handle_plan(pair.device.pointer).startswith(ONE_IN_REGISTERS)


@needs_every_kernel
def test_on_newer_gpus(pair):
    """These have an instruction for extremes of halves, and so much shared memory that whatever a launch takes the kernel is the same."""
    if pair.gpu.is_real:
        pytest.skip("a GPU is what it is")
    tests = [f"{__file__}::{test.__name__}" for test in (test_extremes_of_halves, test_rows_of_whole_vectors_among_others)]
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:xdist", "-p", "no:cacheprovider", *tests]
    done = subprocess.run(words, env={**os.environ, "FAKE_CUDA_CAPABILITY": "9.0", "TESTS_CASES": "every"}, stdout=subprocess.PIPE, text=True)
    assert done.returncode == 0 and "7 passed" in done.stdout, done.stdout


def instructions_of(pair, op, axes, array, chosen, counted):
    """That the warps of a call execute."""
    counted.unlink(missing_ok=True)
    returned(pair.device, op, library.wf_groups_axes(axes), [pair.there(array)], **chosen)
    return sum(float(line) for line in counted.read_text().split())


NANS = {"f16": (0x7e00, 0xfe00, 0x7c01, 0xfc01, 0x7fff, 0xffff), "bf16": (0x7fc0, 0xffc0, 0x7f81, 0xff81, 0x7fff, 0xffff),
        "f32": (0x7fc00000, 0xffc00000, 0x7f800001, 0xff800001, 0x7fffffff, 0xffffffff),
        "f64": (0x7ff8 << 48, 0xfff8 << 48, (0x7ff << 52) + 1, (0xfff << 52) + 1, (1 << 63) - 1, (1 << 64) - 1)}


def put_nans(array, rng, groups, most):
    """Into one column of a matrix or another, in any row: up to so many, of any bits."""
    data, nbytes, (count, width) = bytearray(array.data), array.nbytes, array.shape
    for column in groups:
        for row in rng.choices((0, count - 1, *range(count)), k=rng.randint(1, most)):
            at = (row * width + column) * nbytes
            data[at:at + nbytes] = rng.choice(NANS[array.type]).to_bytes(nbytes, "little")
    array.data = bytes(data)


@pytest.mark.parametrize("type_name, op", (("f32", "argmax"), ("f64", "argmin"), ("f16", "argmin"), ("bf16", "argmax")))
def test_indices_among_nans_in_chunks(pair, type_name, op, tmp_path, monkeypatch):
    """NaNs of any bits, of which the first wins, or which are left out, cost a lane's group little; where there is no number, or a NaN
    is an error, the results are found otherwise."""
    rng, counted, shape = random.Random(f"gpu nans {type_name}"), tmp_path / "counted", (45, 130)
    plain = Laid(type_name, shape, rng, "plain", plain=True)
    array = Laid(type_name, shape, rng, "wild", plain=True)
    put_nans(array, rng, range(0, shape[1], 2), 3)
    for nan in NAN_POLICIES:
        pair.check(op, library.wf_groups_axes(1), [array], shape, nan=nan, first_index=rng.choice((0, 7)))
        assert library.wf_handle_plan(pair.device.pointer).startswith(OF_COLUMNS)
    if not pair.gpu.is_real:
        monkeypatch.setenv("FAKE_CUDA_COUNT", str(counted))
        usual = instructions_of(pair, op, 1, plain, {}, counted)
        for nan in ("propagate", "omit"):
            assert instructions_of(pair, op, 1, array, {"nan": nan}, counted) < 1.5 * usual, nan
        monkeypatch.delenv("FAKE_CUDA_COUNT")
    put_nans(array, rng, [3] * 100, 45)
    for nan in NAN_POLICIES:
        pair.check(op, library.wf_groups_axes(1), [array], shape, "hardly any number", nan=nan)


TIED = {"f64": lambda rng: struct.unpack("=f", struct.pack("=f", rng.gauss(0, 1)))[0], "f32": lambda rng: float(rng.randrange(4096)),
        "f16": lambda rng: float(rng.randrange(100)), "bf16": lambda rng: float(rng.randrange(20))}


@pytest.mark.parametrize("type_name", TIED)
def test_variances_half_way_between_two_results(pair, type_name, tmp_path, monkeypatch):
    """Those of few bits often are: every ninth of four f64 that have been f32."""
    rng, counted = random.Random(f"gpu ties {type_name}"), tmp_path / "counted"
    for shape, axes in (((4, 300), 1), ((70, 3), 2), ((16, 70), 1), ((40, 10), 2)):
        array = Laid(type_name, shape, rng, "plain", plain=True)
        usual = Laid(type_name, shape, rng, "plain", plain=True)
        count = len(array.data) // array.nbytes
        array.data = b"".join(encoded(type_name, TIED[type_name](rng)) for _ in range(count))
        usual.data = b"".join(encoded(type_name, rng.gauss(0, 1)) for _ in range(count))
        for op in one_of(("var", "std"), list(TIED).index(type_name)):
            pair.check(op, library.wf_groups_axes(axes), [array], shape, axes, ddof=rng.choice((0, 1)))
        if pair.gpu.is_real or type_name != "f64":
            continue
        monkeypatch.setenv("FAKE_CUDA_COUNT", str(counted))
        times = [instructions_of(pair, "var", axes, data, {}, counted) for data in (array, usual)]
        assert times[0] < (1.05 if shape == (16, 70) else 1.5) * times[1], (shape, times)  # of a chunk, the first look decides
        monkeypatch.delenv("FAKE_CUDA_COUNT")


@pytest.mark.parametrize("shape, axes", (((8, 301), 2), ((1025, 101), 1), ((100, 101), 1)))
@pytest.mark.parametrize("op", BY_TEAMS["f64"])
def test_no_data_of_f64_takes_a_detour(pair, op, shape, axes, tmp_path, monkeypatch):
    """Sums beyond the range in which they have bounds, and those without NaNs that are left out, are found in registers, too."""
    if pair.gpu.is_real:
        pytest.skip("a GPU does not count instructions")
    rng, counted = random.Random(f"gpu detours {op}"), tmp_path / "counted"
    monkeypatch.setenv("FAKE_CUDA_COUNT", str(counted))
    plain = instructions_of(pair, op, axes, Laid("f64", shape, rng, "plain", plain=True), {}, counted)
    for kind, nan in (("wild", "propagate"), ("huge", "propagate"), ("special", "omit")):
        array = Laid("f64", shape, rng, kind if kind in SAMPLED_KINDS else "plain", plain=True)
        make_row_data(array, kind, rng)
        assert instructions_of(pair, op, axes, array, {"nan": nan}, counted) < 5 * plain, (kind, nan)


NEARLY = {  # numbers whose sums, of a few, or variances are half-way between two results, or almost, or hidden beside a large one
    "ties": (1.0, 2.0, 2.0**-53, 2.0**-54, -2.0**-53, 2.0**-106, 3 * 2.0**-53), "zeros": (0.0, -0.0), "one sign": (-0.0,),
    "hidden": (1.0, 2.0**53, -2.0**53, 2.0**106, -2.0**106, 5e-324, -5e-324, 2.0**-1022), "tiny": (1.0, 1.0, 3.0, 5e-324, 0.0),
    "large": (2.0**1017, 2.0**1023, -2.0**1023, 1.0), "squares": (2.0**500, 2.0**511, 2.0**512, -2.0**500),
    "of f32": tuple(struct.unpack("=f", struct.pack("=f", x))[0] for x in (0.1, 0.7, 1.3, 1.9, -0.3, 2.1)),
    "integers": (2.0**26 + 1, 2.0**26 + 3, 2.0**27 - 1, -2.0**26 + 1)}


@pytest.mark.parametrize("op", ("sum", "mean", "var", "norm2"))
def test_sums_of_f64_in_chunks(pair, op):
    """A lane keeps what each addition leaves beside an anchor, which all of a chunk's elements and what they add up to are below."""
    rng = random.Random(f"gpu anchors {op}")
    for kind, numbers in NEARLY.items():
        for shape, axes in (((16, 70), 1), ((100, 66), 1)):
            array = Laid("f64", shape, rng, "plain", plain=True)
            array.data = b"".join(encoded("f64", rng.choice(numbers)) for _ in range(len(array.data) // array.nbytes))
            pair.check(op, library.wf_groups_axes(axes), [array], shape, kind, ddof=rng.choice((0, 1)) if op == "var" else 0)
            if op in ("sum", "var"):
                assert library.wf_handle_plan(pair.device.pointer).startswith(OF_COLUMNS)


SHORT_SEGMENTS = {"f32": ("sum", "argmax"), "f64": ("var", "dot"), "bf16": ("mean",), "i32": ("sum",)}


def short_offsets(rng, lengths):
    """Of segments of these lengths, but for one of a thousand."""
    offsets = [rng.randrange(3)]
    for i, length in enumerate(lengths):
        offsets.append(offsets[-1] + (1000 if i == len(lengths) // 2 and rng.random() < 0.3 else length))
    return offsets


@pytest.mark.sampled
@pytest.mark.parametrize("type_name", ("f32", "f64", "bf16", "f16", "i8", "i32", "u64"))
def test_short_segments(pair, type_name):
    """Of a few elements on average: a lane has several at once, and those that are longer afterwards."""
    rng = random.Random(f"gpu short segments {type_name}")
    if not pair.gpu.is_real and type_name not in SHORT_SEGMENTS:
        pytest.skip("no GPU: on the simulator fewer types")
    ops = (*SHORT_OPS, "dot") if pair.gpu.is_real else one_of(SHORT_SEGMENTS[type_name], 1)
    for choice, count in itertools.product(((4,), (3, 4), range(9), (0, 0, 1, 30), (8,)), (1, 33, 700)):
        lengths = [rng.choice(choice) for _ in range(count)]
        offsets, kind = short_offsets(rng, lengths), rng.choice(("plain", "wild", "special"))
        array, other = (Laid(type_name, (offsets[-1] + 3,), rng, kind, plain=rng.random() < 0.7) for _ in range(2))
        labels = pair.labels_there(offsets, rng.choice(["i32", "i64"]), 1)
        here = integer_vector(offsets, "i64")
        groups, groups_there = (library.wf_groups_segments(0, count, byref(made)) for made in (here, labels))
        for op in ops:
            pair.check(op, groups, operands(op, array, other), choice, count, kind, groups_there=groups_there,
                       nan=rng.choice(NAN_POLICIES), first_index=rng.choice([0, 7]))
            fits = type_name in ("f32", "f64", "bf16", "f16") or op in ("max", "argmin", "argmax")
            if fits and offsets[-1] + 3 < 9 * count:
                assert library.wf_handle_plan(pair.device.pointer).startswith(IN_REGISTERS), (op, choice, count)


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


def equal_extremes(type_name, is_min):
    """Numbers of which the best are several, or the worst that an element can be."""
    bits = 8 * struct.calcsize(TYPECODES[type_name])
    least, most = (-(1 << bits - 1), (1 << bits - 1) - 1) if type_name[0] == "i" else (0, (1 << bits) - 1)
    worst, best = (most, least) if is_min else (least, most)
    near = best - 1 if best > 0 else best + 1
    return {"worst": [worst], "best": [best], "two": [worst, best], "few": [worst] * 200 + [best], "near": [worst, worst, best, near]}


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


OF_WHOLE_ROWS = (("i8", "argmin"), ("i8", "max"), ("u8", "argmax"), ("u8", "mean"), ("i16", "argmax"), ("u16", "min"), ("i16", "sum"))


@pytest.mark.sampled
@pytest.mark.parametrize("type_name, op", OF_WHOLE_ROWS)
def test_short_rows_of_whole_vectors(pair, type_name, op):
    """A lane has one row after the other, of up to three vectors, which are on their way before the last row is left; some are apart."""
    rng, each = random.Random(f"gpu whole rows {type_name} {op}"), 16 // struct.calcsize(TYPECODES[type_name])
    most = 3 if op in ("sum", "mean") or each == 8 else 2
    for vectors, rows in ((1 if each == 16 else 2, 9031), (most, 4200)):
        for kind, choices in equal_extremes(type_name, op in ("min", "argmin")).items():
            array = matrix(type_name, rows, (vectors + (kind == "few")) * each, rng, "plain", 64 if pair.gpu.is_real else 1)
            array.data = struct.pack(f"=500{TYPECODES[type_name]}", *rng.choices(choices, k=500)) * (len(array.data) // (500 * array.nbytes) + 1)
            array.shape = array.shape[0], vectors * each
            pair.check(op, library.wf_groups_axes(2), [array], array.shape, kind, first_index=rng.choice((0, 7)))
            assert library.wf_handle_plan(pair.device.pointer).startswith(ONE_IN_REGISTERS), (kind, vectors)


BY_TEAMS_OF_SEGMENTS = {"f32": ("sum", "var"), "bf16": ("mean",), "f16": ("norm2", "max"), "i8": ("sum", "argmin"), "i32": ()}
# Longer ones and short ones, empty ones beside long ones, of about the same length, and such as have to be cut into pieces.
TEAM_LENGTHS = ((range(100), 90), ((0, 0, 700), 100), (range(300, 310), 20), ((1, 40, 3000, 12000), 5))


@pytest.mark.sampled
@pytest.mark.parametrize("type_name", BY_TEAMS_OF_SEGMENTS)
def test_segments_of_teams(pair, type_name):
    """A team has one, by a few f64 and a bound of their error, or by keys."""
    rng = random.Random(f"gpu segments of teams {type_name}")
    if not pair.gpu.is_real and not BY_TEAMS_OF_SEGMENTS[type_name]:
        pytest.skip("no GPU: on the simulator fewer types")
    for (choice, count), kind in itertools.product(TEAM_LENGTHS, ("plain", "wild", "special", "equal", "small")):
        if not pair.gpu.is_real and kind in ("equal", rng.choice(("plain", "wild"))):
            continue
        offsets = short_offsets(rng, [rng.choice(choice) for _ in range(count)])
        array = Laid(type_name, (offsets[-1] + 3,), rng, kind if kind in SAMPLED_KINDS else "plain", plain=True)
        make_row_data(array, kind if type_name in FLOATS else "plain", rng)
        labels, here = pair.labels_there(offsets, rng.choice(["i32", "i64"]), 1), integer_vector(offsets, "i64")
        groups, groups_there = (library.wf_groups_segments(0, count, byref(made)) for made in (here, labels))
        ops = ("sum", "norm1", "mean", "var", "std", "norm2", "max", "argmin")
        for op in ops if pair.gpu.is_real else BY_TEAMS_OF_SEGMENTS[type_name]:
            pair.check(op, groups, [array], choice, count, kind, groups_there=groups_there, nan=rng.choice(NAN_POLICIES),
                       ddof=rng.choice((0, 1)) if op in ("var", "std") else 0)
            is_tried = op in ("sum", "mean") or (array.nbytes <= 2 if op in ("max", "argmin") else type_name in FLOATS)
            if is_tried and offsets[-1] * array.nbytes >= 32 * count:
                assert library.wf_handle_plan(pair.device.pointer).startswith(b"segments in registers"), (op, choice)


@pytest.mark.parametrize("type_name, op", (("f32", "sum"), ("f32", "argmin"), ("f32", "var"), ("i32", "sum"), ("u32", "max")))
def test_many_segments_of_lanes(pair, type_name, op):
    """So many that each lane has one, which loads vectors at its ends whole, but for those at the ends of memory; the array
    begins inside of a vector, too."""
    rng, count = random.Random(f"gpu segments of lanes {type_name} {op}"), 200_000 if pair.gpu.is_real else 8_250
    for choice, shift in ((range(1, 40), 0), ((17, 1, 18, 2, 40), 1), (range(9, 30), 3)):
        lengths = rng.choices(choice, k=750) * (count // 750)
        offsets = [0, *itertools.accumulate(lengths)]
        array = Laid(type_name, (2000,), rng, rng.choice(SAMPLED_KINDS) if type_name == "f32" else "wild", plain=True)
        places = offsets[-1] + shift
        array.data = (array.data[:2000 * array.nbytes] * (places // 2000 + 1))[:places * array.nbytes]
        array.offset, array.shape = shift * array.nbytes, (offsets[-1],)
        labels, here = pair.labels_there(offsets, "i32", 1), integer_vector(offsets, "i64")
        groups, groups_there = (library.wf_groups_segments(0, len(lengths), byref(made)) for made in (here, labels))
        pair.check(op, groups, [array], choice, shift, groups_there=groups_there, nan=rng.choice(("propagate", "error")))
        plan = library.wf_handle_plan(pair.device.pointer)
        assert plan.startswith(b"segments in registers; else groups by 1 lane each"), plan


DOT_SHORT = ("f32", "f64", "bf16", "f16", "i8", "u32", "i32")
SIMULATED_DOTS = ("f32", "f64", "i32")
IN_REGISTERS, ONE_IN_REGISTERS = b"several groups of a lane in registers", b"one group of a lane in registers"
BY_TEAMS_IN_REGISTERS = b"rows in registers"
OF_COLUMNS = ONE_IN_REGISTERS, b"columns in registers"


def check_dots(pair, type_name, shape, axes, arrays, *context):
    for nan in NAN_POLICIES if pair.gpu.is_real else ("propagate", "omit"):
        pair.check("dot", library.wf_groups_axes(axes), arrays, shape, axes, *context, nan=nan)
        assert library.wf_handle_plan(pair.device.pointer).startswith(IN_REGISTERS)


@pytest.mark.sampled
@pytest.mark.parametrize("type_name", DOT_SHORT)
def test_short_dots(pair, type_name):
    """Pairs of rows and of columns, whose operands lie differently; of integers, also beyond 64 bits."""
    rng = random.Random(f"gpu short dots {type_name}")
    if not pair.gpu.is_real and type_name not in SIMULATED_DOTS:
        pytest.skip("no GPU: on the simulator fewer types")
    for count in (1, 2, 3, 5, 8):
        for kind in ("plain", "wild", "special"):
            for shape, axes in (((70, count), 2), ((count, 300), 1), ((2, count, 35), 2)):
                if not pair.gpu.is_real and (count == 1 or shape[0] == 70 + count):
                    continue
                arrays = [Laid(type_name, shape, rng, kind, plain=rng.random() < 0.6) for _ in range(2)]
                check_dots(pair, type_name, shape, axes, arrays, kind)


def laid_floats(type_name, rows, rng):
    """Rows of numbers as an array."""
    array = Laid(type_name, (len(rows), len(rows[0])), rng, "plain", plain=True)
    code = {"f32": "f", "f64": "d"}[type_name]
    array.data = struct.pack(f"={len(rows) * len(rows[0])}{code}", *[x for row in rows for x in row])
    return array


@pytest.mark.parametrize("type_name", ("f32", "f64"))
def test_short_dots_that_cancel(pair, type_name):
    """To 0, to the last bit of a product, to less than the smallest number, half-way between two results, with rests of zero."""
    rng = random.Random(f"gpu dots cancel {type_name}")
    bits, least = {"f32": (24, -149), "f64": (53, -1074)}[type_name]
    one_up, tiny, ulp = 1 + 2.0 ** (1 - bits), 2.0 ** (least // 2 - 1), 2.0 ** (1 - bits)
    pairs = [([1, -1, 0, 0], [1, 1, 3, 3]), ([one_up, -1, 0, 0], [one_up, one_up, 0, 0]),
             ([one_up, -1, -2, 0], [one_up, 1, ulp, 0]), ([tiny, 0, 0, 0], [tiny, 1, 1, 1]),
             ([-tiny, 0, 0, 0], [tiny, 1, 1, 1]), ([-tiny, tiny, 0, 0], [tiny, tiny, 1, 1]),
             ([-0.0, -0.0, 0.0, -0.0], [1, 1, -1, 1]), ([-0.0] * 4, [1, 1, -1, 1]), ([1, ulp / 2, 0, 0], [1, 1, 0, 0]),
             ([1, ulp / 2, ulp, 0], [1, 1, ulp ** 3, 0]), ([1, ulp / 2, -ulp, 0], [1, 1, ulp ** 3, 0]),
             ([one_up, ulp / 2, tiny, 0], [1, 1, -tiny, 1]),
             ([2.0 ** 100, 1, -(2.0 ** 100), 1], [2.0 ** 20, ulp, 2.0 ** 20, tiny])]
    pairs += [([math.inf, 1, 1, 1], [0, 1, 1, 1]), ([math.inf, 1, 1, 1], [2, -math.inf, 1, 1]),
              ([math.nan, 1, 0, 2], [1, 0, 1, 3])]
    for _ in range(200):
        x = [rng.choice((1, -1)) * rng.getrandbits(bits) * 2.0 ** rng.randint(-60, 2) for _ in range(2)]
        y = [rng.getrandbits(bits) * 2.0 ** rng.randint(-60, 2) for _ in range(2)]
        pairs.append(([x[0], x[1], -x[0], -x[1]], [y[0], y[1], y[0], y[1] * (1 if rng.random() < 0.5 else one_up)]))
    for order in range(2):
        moved = [list(zip(*rng.sample(list(zip(x, y)), 4))) for x, y in pairs] if order else pairs
        arrays = [laid_floats(type_name, [list(both[k]) for both in moved], rng) for k in range(2)]
        check_dots(pair, type_name, (len(pairs), 4), 2, arrays, "cancel")


@pytest.mark.parametrize("type_name", EDGES)
def test_short_groups_that_cancel(pair, type_name):
    """Two f64 hold their sums, or just do not: what is left is the lowest bit of one."""
    rng = random.Random(f"gpu short edges {type_name}")
    for span, top in itertools.product((10, 29, 30, 54, 83, 107, 120), (0, -360) if type_name == "f64" else (0,)):
        for sign in (-1, 1):
            array = Binades(type_name, (40, 8), rng, span, top, sign)
            for op in ("sum", "mean", "var", "norm2") if pair.gpu.is_real else ("sum",) if type_name == "f32" else ("mean",):
                pair.check(op, library.wf_groups_axes(2), [array], span, top, sign)


class Ties:
    """Rows of eight whose sum is half-way between two numbers, or off that by something tiny; and pairs of large numbers that
    cancel.  1 and half of its last bit; or what is left of 1, and an odd number nearly half as large."""

    def __init__(self, type_name, rows, rng):
        self.type, self.shape = type_name, (rows, 8)
        code, self.nbytes, bits = ("f", 4, 24) if type_name == "f32" else ("d", 8, 53)
        self.strides, self.offset, self.data = (8 * self.nbytes, self.nbytes), 0, b""
        for _ in range(rows):
            tiny = [rng.choice((-1, 0, 0, 1)) * math.ldexp(1, -rng.randint(bits + 2, 120)) for _ in range(2)]
            large = [math.ldexp(rng.choice((1, 1.5)), rng.randint(1, 100)) for _ in range(2)]
            row = [1 + rng.randrange(4) * math.ldexp(2, -bits), rng.choice((-1, 1)) * math.ldexp(1, -bits - rng.randrange(2)),
                   *tiny, *large, *(-x for x in large)]
            if rng.random() < 0.5:
                odd = 2 * rng.randrange(2 ** (bits - 2), 2 ** (bits - 1)) + 1
                row = [1 + math.ldexp(2, -bits), -math.ldexp(odd, 1 - 2 * bits), tiny[0] * math.ldexp(1, -bits), -1.0,
                       large[0], -large[0], 0.0, 0.0]
            else:
                rng.shuffle(row)
            self.data += struct.pack(f"=8{code}", *row)

    def view(self):
        return wf.strided(self.data, self.type, self.shape, self.strides, self.offset)


@pytest.mark.parametrize("type_name", EDGES)
def test_short_groups_that_end_in_ties(pair, type_name):
    array = Ties(type_name, 600, random.Random(f"gpu ties {type_name}"))
    for op in ("sum", "mean", "std") if pair.gpu.is_real else ("sum", "mean") if type_name == "f64" else ("sum",):
        pair.check(op, library.wf_groups_axes(2), [array])


class Alternatives:
    """Rows of each choice of three values."""

    def __init__(self, type_name, values):
        rows = list(itertools.product(values, repeat=3))
        self.type, self.shape, self.offset = type_name, (len(rows), 3), 0
        code, nbytes = ("f", 4) if type_name == "f32" else ("d", 8)
        self.strides = (3 * nbytes, nbytes)
        self.data = struct.pack(f"={3 * len(rows)}{code}", *itertools.chain(*rows))

    def view(self):
        return wf.strided(self.data, self.type, self.shape, self.strides, self.offset)


@pytest.mark.parametrize("type_name", EDGES)
def test_short_groups_half_way_between_results(pair, type_name):
    """Variances of pairs, which are squares of a few bits more than a result has, or that and something tiny."""
    bits = 24 if type_name == "f32" else 53
    rng = random.Random(f"gpu half-way {type_name}")
    for half in ((bits + 1) // 2, (bits + 3) // 2):
        apart = [3.0 * (rng.randrange(2 ** (half - 3), 2 ** (half - 2)) | 1) for _ in range(7)]
        tiny = math.ldexp(1, half - 52)
        array = Alternatives(type_name, [0.0, *apart, tiny, -tiny])
        for op in ("var", "std") if pair.gpu.is_real else ("var",):
            pair.check(op, library.wf_groups_axes(2), [array], op, half, ddof=1)


class Pairs:
    """Each two of some bits, in two rows."""

    def __init__(self, type_name, bits):
        columns = list(itertools.product(bits, repeat=2))
        self.type, self.shape, self.offset = type_name, (2, len(columns)), 0
        self.strides = (2 * len(columns), 2)
        self.data = b"".join(struct.pack(f"={len(columns)}H", *row) for row in zip(*columns))

    def view(self):
        return wf.strided(self.data, self.type, self.shape, self.strides, self.offset)


@pytest.mark.parametrize("type_name, fraction_bits", (("f16", 10), ("bf16", 7)))
def test_two_rows_of_halves(pair, type_name, fraction_bits):
    """They are added as f32, and rounded again: half-way between two, at the limits of what is normal and of what is finite."""
    rng, one = random.Random(f"gpu pairs {type_name}"), 1 << fraction_bits
    infinity = 0x8000 - one
    edges = [0, 1, 2, one - 1, one, one + 1, infinity // 2, infinity // 2 + 1, infinity - 1, infinity - 2, infinity, infinity + 1]
    exponents = range(infinity - one * (fraction_bits + 3), infinity, one)  # halves of the last bits of the largest
    bits = [*edges, *exponents, *(rng.randrange(infinity) for _ in range(9))]
    bits += [each | 0x8000 for each in bits]
    for nan in NAN_POLICIES if pair.gpu.is_real else ("propagate",):
        pair.check("sum", library.wf_groups_axes(1), [Pairs(type_name, bits)], nan=nan)
        assert library.wf_handle_plan(pair.device.pointer).startswith(IN_REGISTERS)


@pytest.mark.parametrize("type_name", EDGES)
def test_short_groups_of_zeros(pair, type_name):
    """-0 if all are, of those that are left: -0 + 0 and 1 - 1 are 0."""
    array = Alternatives(type_name, (-0.0, 0.0, math.nan, 1.0, -1.0))
    for op, nan in itertools.product(("sum", "mean", "var", "norm2"), ("propagate", "omit")):
        pair.check(op, library.wf_groups_axes(2), [array], op, nan, nan=nan)


@pytest.mark.sampled
@pytest.mark.parametrize("type_name", ("f32", "f64", "bf16", "i32"))
@pytest.mark.parametrize("columns", (32, 45, 300))
def test_short_groups_of_rows(pair, type_name, columns):
    """By key and in segments, of none, a few and more rows than registers take, one of so many that it is cut into pieces."""
    rng = random.Random(f"gpu short rows {type_name} {columns}")
    if not pair.gpu.is_real and (type_name, columns) not in (("f32", 45), ("i32", 300), ("f64", 32)):
        pytest.skip("no GPU: on the simulator fewer types")
    lengths = [rng.choice((0, 1, 3, 4, 5, 8, 9, 16, 17)) for _ in range(90)]
    lengths[40] = 300
    keys = [number for number, length in enumerate(lengths) for _ in range(length)]
    offsets = list(itertools.accumulate(lengths, initial=0))
    segments = integer_vector(offsets, "i64")
    rng.shuffle(keys)
    labels = integer_vector(keys, "i32")
    for kind in ("plain", "wild", "special"):
        plain = kind != "special"
        array, other = (Laid(type_name, (len(keys), columns), rng, kind, plain=plain) for _ in range(2))
        for op in (*SHORT_OPS, "dot") if pair.gpu.is_real else ("var",) if type_name == "f64" else ("sum",):
            for groups in (library.wf_groups_keys(0, 90, byref(labels)), library.wf_groups_segments(0, 90, byref(segments))):
                pair.check(op, groups, operands(op, array, other), columns, kind, nan=rng.choice(NAN_POLICIES),
                           first_index=rng.choice((0, 7)), fill=wf.value_of_bits(wf.WF_U8, 1))
                if plain and (type_name != "i32" or op == "sum") and op != "argmin":
                    assert library.wf_handle_plan(pair.device.pointer).startswith(IN_REGISTERS), op
