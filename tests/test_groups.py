"""Reductions along axes, over segments and by key: each result is the oracle's for the elements of its group alone."""

import ctypes
import functools
import itertools
import math
import random
import struct
from ctypes import byref
from fractions import Fraction

import pytest

import warpfold_ctypes as wf
from group_helpers import (Laid, as_returned, each_tier, expected_results, indices_along_axes, indices_of_positions,
                           integer_vector, operands, ops_for, random_offsets, random_shape, returned)
from oracle import FLOATS, INTEGERS, TYPECODES, Oracle, PairOracle, default_type, ops_of
from samples import nearest, pack, pack_values, sample, specials, split

TYPES = [*INTEGERS, *FLOATS]
library = wf.library


@pytest.fixture(params=each_tier())
def handle(request):
    return wf.tier_handle(request.param)


# ---- axes -------------------------------------------------------------------------------------------


@pytest.mark.sampled
@pytest.mark.parametrize("type_name", TYPES)
def test_axes(handle, type_name):
    rng = random.Random(f"axes {type_name}")
    for _ in range(12):
        shape = random_shape(rng, rng.randint(0, 4), 2000)
        axes = {d for d in range(len(shape)) if rng.random() < 0.5}
        a, b = (Laid(type_name, shape, rng, rng.choice(["special", "plain", "wild"])) for _ in range(2))
        groups = library.wf_groups_axes(sum(1 << d for d in axes))
        first_index, nan = rng.choice([0, 7]), rng.choice(["propagate", "omit", "error"])
        for op in ops_for(type_name, rng, 4):
            arrays = operands(op, a, b)
            expected = expected_results(op, arrays, indices_along_axes(shape, axes), first_index, nan=nan)
            got = returned(handle, op, groups, [array.view() for array in arrays], nan=nan, first_index=first_index,
                           threads=rng.choice([1, 2, 3]))
            assert got == as_returned(expected, op, type_name), (shape, axes, op, nan, a.strides)


# ---- segments and keys ------------------------------------------------------------------------------


@pytest.mark.sampled
@pytest.mark.parametrize("type_name", TYPES)
def test_segments(handle, type_name):
    rng = random.Random(f"segments {type_name}")
    for _ in range(10):
        shape = random_shape(rng, rng.randint(1, 3), 1500)
        axis, count = rng.randrange(len(shape)), rng.choice([0, 1, 2, 7, 30])
        offsets = random_offsets(rng, shape[axis], count)
        labels = integer_vector(offsets, rng.choice(["i32", "i64"]), rng.choice([1, 3]))
        groups = library.wf_groups_segments(axis, count, byref(labels))
        a, b = (Laid(type_name, shape, rng, rng.choice(["special", "plain", "wild"])) for _ in range(2))
        assert wf.groups_shape(a.view(), groups) == (*shape[:axis], count, *shape[axis + 1:])
        first_index, nan = rng.choice([0, 7]), rng.choice(["propagate", "omit", "error"])
        for op in ops_for(type_name, rng, 3):
            arrays = operands(op, a, b)
            begins = [0 if op == "prod" else begin for begin in offsets]
            ranges = [(begin, None, range(*pair)) for begin, pair in zip(begins, itertools.pairwise(offsets))]
            expected = expected_results(op, arrays, indices_of_positions(shape, axis, ranges), first_index, nan=nan)
            got = returned(handle, op, groups, [array.view() for array in arrays], nan=nan, first_index=first_index,
                           threads=rng.choice([1, 2, 3]))
            assert got == as_returned(expected, op, type_name), (shape, axis, offsets, op, nan)


@pytest.mark.sampled
@pytest.mark.parametrize("type_name", TYPES)
def test_keys(handle, type_name):
    rng = random.Random(f"keys {type_name}")
    for _ in range(10):
        shape = random_shape(rng, rng.randint(1, 3), 1500)
        axis, count = rng.randrange(len(shape)), rng.choice([1, 2, 7, 30, 100])
        key_type = rng.choice([name for name in INTEGERS if name != "bool"])
        least = 0 if key_type.startswith("u") else -2
        keys = [rng.choice([rng.randrange(count), rng.randrange(count), least, 0, 120]) for _ in range(shape[axis])]
        good = [[i for i, key in enumerate(keys) if key == group] for group in range(count)]
        labels = integer_vector(keys, key_type, rng.choice([1, 3]))
        groups = library.wf_groups_keys(axis, count, byref(labels))
        a, b = (Laid(type_name, shape, rng, rng.choice(["special", "plain", "wild"])) for _ in range(2))
        first_index, nan = rng.choice([0, 7]), rng.choice(["propagate", "omit", "error"])
        for op in ops_for(type_name, rng, 3):
            arrays = operands(op, a, b)
            chosen = [(0, positions, positions) for positions in good]
            expected = expected_results(op, arrays, indices_of_positions(shape, axis, chosen), first_index, nan=nan)
            views = [array.view() for array in arrays]
            got = returned(handle, op, groups, views, nan=nan, first_index=first_index, flags=1,
                           threads=rng.choice([1, 2, 3]))
            assert got == as_returned(expected, op, type_name), (shape, axis, keys, op, nan)
            if any(not 0 <= key < count for key in keys):
                assert returned(handle, op, groups, views, nan=nan) == "WF_ERROR_RANGE"


def test_permuted_rows_give_equal_bytes(handle):
    rng = random.Random("permuted")
    keys = [rng.randrange(13) for _ in range(5000)]
    values = list(struct.iter_unpack("8s", sample("f64", 5000, "wild")))
    seen = set()
    for _ in range(4):
        order = rng.sample(range(5000), 5000)
        labels = integer_vector([keys[i] for i in order], "u8")
        data = b"".join(values[i][0] for i in order)
        groups = library.wf_groups_keys(0, 13, byref(labels))
        seen.add(tuple(handle.reduce_groups("var", groups, wf.vector(data, "f64"))))
    assert len(seen) == 1


# ---- what has no value, and errors --------------------------------------------------------------------


def test_fill(handle):
    empty = wf.strided(bytes(8), "i32", (3, 0), (4, 4))
    groups = library.wf_groups_axes(2)
    fill = wf.value_of_bits(wf.WF_F64, int.from_bytes(struct.pack("<d", -5), "little"))
    assert handle.reduce_groups("min", groups, empty, fill=fill) == [("i32", -5 % 2**32 - 2**32)] * 3
    assert handle.reduce_groups("mean", groups, empty, fill=fill) == \
        [("f64", int.from_bytes(struct.pack("<d", -5), "little"))] * 3
    assert handle.reduce_groups("sum", groups, empty, fill=fill) == [("i64", 0)] * 3
    assert returned(handle, "argmin", groups, [empty], fill=fill) == "WF_ERROR_RANGE"
    assert "fill" in handle.message
    assert returned(handle, "min", groups, [empty]) == "WF_ERROR_EMPTY"
    without_data = wf.array_nd(None, "i32", (3, 0))
    assert handle.reduce_groups("sum", groups, without_data) == [("i64", 0)] * 3
    value, asked = wf.wf_value(), wf.reduction("max")
    asked.fill = ctypes.pointer(fill)
    nothing = wf.vector(b"", "i32")
    handle.check(library.wf_reduce_value(handle.pointer, byref(asked), byref(nothing), None, byref(value)))
    assert wf.value_bits(value) == ("i32", -5)


def test_the_first_failure_is_named(handle):
    data = struct.pack("<12d", *[1.0] * 5, math.nan, *[2.0] * 3, math.nan, 1, 2)
    array = wf.strided(data, "f64", (4, 3), (24, 8))
    for axes, named in ((1, "result 0: NaN at index 3"), (2, "result 1: NaN at index 2")):
        assert returned(handle, "sum", library.wf_groups_axes(axes), [array], nan="error") == "WF_ERROR_NAN"
        assert handle.message == named
    labels = integer_vector([0, 2, 2, 4], "i64")
    whole = wf.vector(struct.pack("<4q", 2**62, 2**62, 1, 1), "i64")
    assert returned(handle, "sum", library.wf_groups_segments(0, 3, byref(labels)), [whole]) == "WF_ERROR_RANGE"
    assert handle.message.startswith("result 0: sum is about 9.22")
    assert returned(handle, "max", library.wf_groups_segments(0, 3, byref(labels)), [whole]) == "WF_ERROR_EMPTY"
    assert handle.message == "result 1: max of no elements is undefined"


@pytest.mark.parametrize("offsets,said", [
    ([0, 5, 3, 6], "offset 2 is 3, less than the one before it, 5"),
    ([-1, 2, 3, 6], "offset 0 is -1, outside of the axis of length 6"),
    ([0, 2, 3, 7], "offset 3 is 7, outside of the axis of length 6"),
])
def test_bad_offsets(handle, offsets, said):
    labels = integer_vector(offsets, "i32")
    array = wf.vector(bytes(24), "i32")
    assert returned(handle, "sum", library.wf_groups_segments(0, 3, byref(labels)), [array]) == "WF_ERROR_RANGE"
    assert handle.message == said


def test_bad_keys_are_named(handle):
    array = wf.vector(bytes(16), "i32")
    for keys, type_name, said in (([0, 1, 3, 2], "u8", "key 2 is 3,"), ([0, -1, 9, 2], "i64", "key 1 is -1,"),
                                  ([0, 1, 2, 2**64 - 1], "u64", "key 3 is 18446744073709551615,")):
        labels = integer_vector(keys, type_name)
        assert returned(handle, "sum", library.wf_groups_keys(0, 3, byref(labels)), [array]) == "WF_ERROR_RANGE"
        assert handle.message.startswith(said)


def test_bad_groups(handle):
    array = wf.strided(bytes(48), "f64", (2, 3), (24, 8))
    three, floats, plane = integer_vector([0, 1, 2], "i32"), wf.vector(bytes(12), "f32"), Laid("i32", (3, 1), random, plain=True)
    for groups in (
        library.wf_groups_axes(4), library.wf_groups_axes(1 << 63), wf.wf_groups(by=4), wf.wf_groups(by=-1),
        library.wf_groups_keys(2, 3, byref(three)), library.wf_groups_keys(-1, 3, byref(three)),
        library.wf_groups_keys(0, 3, byref(three)), library.wf_groups_keys(1, 3, None),
        library.wf_groups_keys(1, -1, byref(three)), library.wf_groups_keys(1, 3, byref(floats)),
        library.wf_groups_segments(1, 3, byref(three)), library.wf_groups_segments(1, -1, byref(three)),
        library.wf_groups_segments(1, 2**63 - 1, byref(three)), library.wf_groups_segments(1, 2, byref(floats)),
        library.wf_groups_keys(1, 3, byref(plane.view())),
    ):
        memory = (ctypes.c_double * 8)()
        output = wf.wf_output(data=ctypes.addressof(memory), ndim=1, shape=(ctypes.c_int64 * 1)(3))
        code = library.wf_reduce(handle.pointer, byref(wf.reduction("sum")), byref(array), None, byref(groups), byref(output))
        assert wf.ERRORS[code] == "WF_ERROR_ARGUMENT" and handle.message
        assert library.wf_groups_shape(byref(array), byref(groups), byref(ctypes.c_int32()), (ctypes.c_int64 * 64)()) == code


def test_bad_outputs(handle):
    array = wf.strided(bytes(48), "f64", (2, 3), (24, 8))
    memory, groups = (ctypes.c_double * 8)(*[7] * 8), library.wf_groups_axes(1)
    for wrong in (dict(ndim=0), dict(ndim=2), dict(shape=(ctypes.c_int64 * 1)(2)), dict(shape=None), dict(data=None),
                  dict(type=wf.WF_F32)):
        output = wf.wf_output(**{"data": ctypes.addressof(memory), "ndim": 1, "shape": (ctypes.c_int64 * 1)(3), **wrong})
        asked = wf.reduction("sum", result_type="f64")
        code = library.wf_reduce(handle.pointer, byref(asked), byref(array), None, byref(groups), byref(output))
        assert wf.ERRORS[code] == "WF_ERROR_ARGUMENT" and set(memory) == {7}, wrong


def test_results_with_strides(handle):
    array = wf.strided(struct.pack("<6d", *range(6)), "f64", (2, 3), (24, 8))
    memory = (ctypes.c_double * 6)(*[7] * 6)
    output = wf.wf_output(data=ctypes.addressof(memory) + 32, ndim=1, shape=(ctypes.c_int64 * 1)(3),
                          stride_bytes=(ctypes.c_int64 * 1)(-16))
    groups = library.wf_groups_axes(1)
    code = library.wf_reduce(handle.pointer, byref(wf.reduction("sum")), byref(array), None, byref(groups), byref(output))
    assert code == 0 and list(memory) == [7, 7, 5, 7, 3, 7]


def test_shapes_of_many_dimensions(handle):
    rng = random.Random("many dimensions")
    shape = tuple(2 if d % 4 == 0 else 1 for d in range(32))
    array = Laid("f32", shape, rng)
    axes = {d for d in range(32) if d % 8 == 0}
    expected = expected_results("sum", [array], indices_along_axes(shape, axes), 0)
    assert handle.reduce_groups("sum", library.wf_groups_axes(sum(1 << d for d in axes)), array.view()) == expected
    ones = wf.strided(bytes(4), "f32", (1,) * 64, (4,) * 64)
    assert handle.reduce_groups("nonzero", library.wf_groups_axes(2**64 - 1), ones) == [("u64", 0)]
    assert wf.groups_shape(ones, library.wf_groups_axes(1)) == (1,) * 63


def test_lengths_beyond_2_32(handle):
    one = wf.strided(struct.pack("<f", 1), "f32", (2, 2**33), (0, 0))
    labels = integer_vector([0, 2**33 - 1, 2**33], "i64")
    whole = wf.strided(struct.pack("<b", 1), "i8", (2**33,), (0,))
    assert wf.groups_shape(one, library.wf_groups_axes(1)) == (2**33,)
    assert wf.groups_shape(whole, library.wf_groups_segments(0, 2, byref(labels))) == (2,)
    tail = integer_vector([2**33 - 2, 2**33 - 1, 2**33], "i64")
    assert handle.reduce_groups("argmax", library.wf_groups_segments(0, 2, byref(tail)), whole) == \
        [("u64", 2**33 - 2), ("u64", 2**33 - 1)]


@pytest.mark.parametrize("op,type_name", [("sum", "f64"), ("argmax", "i16"), ("prod", "f32"), ("var", "f32")])
def test_threads_share_large_groups(handle, op, type_name):
    """Groups beyond what one thread takes alone, among tiny ones: the same bits as the groups by themselves."""
    count = 9 * 2**20 // struct.calcsize(TYPECODES[type_name])
    data = sample(type_name, 4096, "plain") * (count // 4096)
    offsets = [0, 1, 2, 2, count - 5, count - 4, count]
    labels = integer_vector(offsets, "i64")
    got = {tuple(handle.reduce_groups(op, library.wf_groups_segments(0, 6, byref(labels)), wf.vector(data, type_name),
                                      fill=wf.value_of_bits(wf.WF_U8, 0), threads=threads)) for threads in (1, 2, 5)}
    alone = []
    for begin, end in itertools.pairwise(offsets):
        nbytes = struct.calcsize(TYPECODES[type_name])
        part = wf.vector(data[begin * nbytes:end * nbytes], type_name)
        alone.append(handle.reduce_groups(op, library.wf_groups_axes(1), part, first_index=0 if op == "prod" else begin,
                                          fill=wf.value_of_bits(wf.WF_U8, 0))[0])
    assert got == {tuple(alone)}


# ---- short segments, which fill a tile together ---------------------------------------------------------


@pytest.mark.sampled
@pytest.mark.parametrize("kind", ["plain", "special", "zeros"])
@pytest.mark.parametrize("type_name", TYPES)
def test_short_segments(handle, type_name, kind):
    """Segments of no, few and many elements after one another: more than a tile's columns, some longer than its rows."""
    rng = random.Random(f"short segments {type_name} {kind}")
    lengths = [rng.choice([0, 1, 1, 2, 3, 5, 9]) for _ in range(150)]
    for length in (63, 64, 128, 129):
        lengths[rng.randrange(150)] = length
    offsets = [0, *itertools.accumulate(lengths)]
    a, b = (Laid(type_name, offsets[-1:], rng, "plain" if kind == "zeros" else kind) for _ in range(2))
    if kind == "zeros" and type_name in FLOATS:
        minus_zero = struct.pack(f"={TYPECODES[type_name]}", FLOATS[type_name].sign)
        for i in rng.sample(range(0, len(a.data), a.nbytes), len(a.data) // a.nbytes // 4 * 3):
            a.data = a.data[:i] + minus_zero + a.data[i + a.nbytes:]
    labels = integer_vector(offsets, "i32")
    groups = library.wf_groups_segments(0, 150, byref(labels))
    some = [op for op in ops_of(type_name) if op not in ("prod", "stats")]
    for op in {*rng.sample(some, 3), rng.choice(["sum", "mean", "var", "std"]), rng.choice(["argmin", "max"])}:
        nan, fill = rng.choice(["propagate", "omit"]), wf.value_of_bits(wf.WF_U8, 1)
        arrays = operands(op, a, b)
        ranges = [(begin, None, range(begin, end)) for begin, end in itertools.pairwise(offsets)]
        expected = expected_results(op, arrays, indices_of_positions(offsets[-1:], 0, ranges), 5, nan=nan)
        name = default_type(op, type_name)
        one = nearest(name, 1) if name in FLOATS else 1
        expected = [(name, one) if result == "WF_ERROR_EMPTY" else result for result in expected]
        got = returned(handle, op, groups, [array.view() for array in arrays], nan=nan, first_index=5, fill=fill,
                       threads=rng.choice([1, 2]))
        assert got == as_returned(expected, op, type_name), (op, lengths, nan)


@pytest.mark.sampled
@pytest.mark.parametrize("type_name", TYPES)
def test_segments_in_registers(handle, type_name):
    """Segments of different lengths, mostly few elements: sums, means and variances, some without a value, some of one element,
    and some long ones among them; of data of which registers hold everything, and which they do not."""
    rng = random.Random(f"segments in registers {type_name}")
    for kind in ("plain", "coarse", "special"):
        lengths = [rng.randrange(rng.choice([2, 9, 21])) for _ in range(rng.choice([20, 64, 150]))]
        if rng.random() < 0.5:
            lengths[rng.randrange(len(lengths))] = rng.choice([62, 63, 64, 200])
        offsets = [0, *itertools.accumulate(lengths)]
        array = Laid(type_name, offsets[-1:], rng, kind, plain=rng.random() < 0.8)
        labels = integer_vector(offsets, "i64")
        groups = library.wf_groups_segments(0, len(lengths), byref(labels))
        ranges = [(begin, None, range(begin, end)) for begin, end in itertools.pairwise(offsets)]
        for op in ("sum", "norm1", "norm2", "mean", "var", "std", "max", "argmin"):
            if op not in ops_of(type_name):
                continue
            chosen = {"nan": rng.choice(["propagate", "omit"])}
            if op in ("var", "std"):
                chosen["ddof"] = rng.choice([0, 1, 2])
            expected = expected_results(op, [array], indices_of_positions(offsets[-1:], 0, ranges), 0, **chosen)
            got = returned(handle, op, groups, [array.view()], **chosen)
            assert got == as_returned(expected, op, type_name), (op, kind, lengths, chosen)


def rows_of_every_kind(type_name, rng, length):
    """Elements of one segment: near each other, far apart, small beside their mean, equal, few, wild or with special ones."""
    near = [rng.gauss(0, 1) for _ in range(length)]
    kind = rng.choice(["near", "near", "far", "offset", "equal", "spaced", "small", "zeros", "wild", "special"])
    if kind == "near":
        return near
    if kind == "far":
        return [x * 2.0**rng.randint(-12, 12) for x in near] if type_name == "f16" else [x * 2.0**rng.randint(-90, 30) for x in near]
    if kind == "offset":
        return [1000 + x / 100 for x in near]
    if kind == "equal":
        return near[:1] * length
    if kind == "spaced": # sums and halves of differences are often half-way between two floats
        return [rng.randrange(-2**FLOATS[type_name].precision, 2**FLOATS[type_name].precision) / 2.0**FLOATS[type_name].precision
                for _ in range(length)]
    if kind == "small":
        return [x * 2.0**(-1060 if type_name == "f64" else -14 if type_name == "f16" else -140) for x in near]
    if kind == "zeros":
        zeros = rng.choice([[0.0], [-0.0], [0.0, -0.0], [0.0, 0.0, 0.0, 1.5]])
        return [rng.choice(zeros) for _ in range(length)]
    return kind


def bytes_of_kind(type_name, rng, length):
    row = rows_of_every_kind(type_name, rng, length)
    if isinstance(row, str):
        return sample(type_name, length, row, rng.random())
    return pack(type_name, [nearest(type_name, x) or FLOATS[type_name].sign * (math.copysign(1, x) < 0) for x in row])


@pytest.mark.sampled
@pytest.mark.parametrize("type_name", FLOATS)
def test_divided_segments(handle, type_name):
    """Sums, norms, means, variances and their roots of segments whose elements lanes go along; each of its own kind, so that
    few fail."""
    rng = random.Random(f"divided segments {type_name}")
    lengths = [rng.choice([0, 1, 2, 2, 3, 7, 8, 9, 15, 17, 33, rng.randrange(130), rng.randrange(130)]) for _ in range(150)]
    lengths[rng.randrange(150)] = rng.choice([500, 2047, 2048, 2049])
    offsets = [0, *itertools.accumulate(lengths)]
    rows = [bytes_of_kind(type_name, rng, length) for length in lengths]
    array = wf.vector(bytearray(b"".join(rows)), type_name)
    labels = integer_vector(offsets, "i64")
    groups = library.wf_groups_segments(0, len(lengths), byref(labels))
    for op, ddof, nan in (("mean", 0, "propagate"), ("mean", 0, "omit"), ("var", 0, "propagate"), ("var", 1, "omit"),
                          ("std", 0, "propagate"), ("std", 2, "propagate"), ("sum", 0, "propagate"), ("norm1", 0, "omit"),
                          ("norm2", 0, "propagate")):
        chosen = {"nan": nan, **({"ddof": ddof} if op in ("var", "std") else {})}
        expected = [Oracle(type_name, row).reduce(op, **chosen) for row in rows]
        got = returned(handle, op, groups, [array], **chosen)
        assert got == as_returned(expected, op, type_name), (op, lengths, chosen)


@pytest.mark.sampled
@pytest.mark.parametrize("type_name", FLOATS)
@pytest.mark.parametrize("length", [2, 8, 13, 40, 100, 515])
def test_divided_rows(handle, type_name, length):
    rng, count = random.Random(f"divided rows {type_name} {length}"), 37
    nbytes, gap = struct.calcsize(TYPECODES[type_name]), rng.choice([0, 0, 3])
    rows = [bytes_of_kind(type_name, rng, length) for _ in range(count)]
    between = sample(type_name, gap, "special", rng.random())
    pitch = (length + gap) * nbytes
    data = b"".join(row + between for row in rows)
    if rng.random() < 0.5:
        array = wf.strided(data, type_name, (count, length), (pitch, nbytes))
    else:
        array, rows = wf.strided(data, type_name, (count, length), (-pitch, nbytes), (count - 1) * pitch), rows[::-1]
    for op, ddof in (("mean", 0), ("var", 0), ("std", 0), ("std", 1), ("sum", 0), ("norm1", 0), ("norm2", 0)):
        chosen = {"ddof": ddof} if op in ("var", "std") else {}
        expected = [Oracle(type_name, row).reduce(op, **chosen) for row in rows]
        assert handle.reduce_groups(op, library.wf_groups_axes(2), array, **chosen) == expected, (op, chosen)


def transposed(data, rows, columns, nbytes):
    cells = [data[i:i + nbytes] for i in range(0, len(data), nbytes)]
    return b"".join(cells[r * columns + c] for c in range(columns) for r in range(rows))


# ---- neighbouring groups, which are folded side by side ---------------------------------------------------


def nearly_ties(type_name, rng, count):
    """Three terms whose sum is at, or just beside, the middle of two floats; zeros of either sign."""
    tie = 2.0**-FLOATS[type_name].precision
    for _ in range(count):
        scale = 2.0**rng.randint(-3, 3)
        yield rng.choice([
            (scale, scale * tie, rng.choice([-1, 0, 1]) * scale * tie * 2.0**-rng.randint(1, 40)),
            (-scale, -scale * tie, rng.choice([-1, 0, 1]) * scale * tie * 2.0**-rng.randint(1, 40)),
            (-0.0, -0.0, -0.0), (-0.0, 0.0, -0.0), (scale, -scale, -0.0), (-0.0, -scale, scale),
        ])


@pytest.mark.parametrize("type_name", ["f32", "f64"])
@pytest.mark.parametrize("along", [0, 1])
def test_short_groups_round_once(handle, type_name, along):
    rng = random.Random(f"ties {type_name}")
    rows = list(nearly_ties(type_name, rng, 700))
    shape = (700, 3) if along else (3, 700)
    values = [x for row in (rows if along else zip(*rows)) for x in row]
    code = {"f32": "f", "f64": "d"}[type_name]
    nbytes = struct.calcsize(code)
    array = wf.strided(struct.pack(f"<{len(values)}{code}", *values), type_name, shape, (shape[1] * nbytes, nbytes))
    for op in ("sum", "norm1", "norm2", "mean", "var", "std"):
        expected = [Oracle(type_name, struct.pack(f"<3{code}", *row)).reduce(op) for row in rows]
        assert handle.reduce_groups(op, library.wf_groups_axes(1 << along), array) == expected


def terms_of(total, unit, count, rng):
    """So many f64, multiples of unit but for the last, that add up to a fraction; in an order in which two f64 hold all."""
    spread = abs(total) / count / unit
    terms = [Fraction(rng.randint(-int(spread), int(2 * spread))) * unit for _ in range(count - 3)]
    terms = [Fraction(float(term)) for term in terms]
    for _ in range(3):
        terms.append(Fraction(float(total - sum(terms))))
    assert sum(terms) == total
    return [float(term) for term in terms]


def half_way_means(count, rng, groups, exponents):
    """Terms whose mean is half-way between two f64, some next to powers of two, or a little beside that."""
    farthest = [54 - count.bit_length() - i for i in (0, 0, 0, 1)] # that two f64 hold beside the sum
    for _ in range(groups):
        exponent = rng.choice(exponents)
        unit = Fraction(2)**(exponent - 52)
        mean = rng.choice([2**52, 2**53 - 1, 2**53 - 2, rng.randrange(2**52, 2**53), rng.randrange(2**52, 2**53)]) * unit
        beside = rng.choice([0, 1, -1]) * unit / 2**rng.choice([10, 20, 30, 40, *farthest])
        if exponent < -900:
            beside = 0 # no f64 has its bits
        yield terms_of(rng.choice([1, -1]) * ((mean + rng.choice([1, -1]) * unit / 2) * count + beside), unit, count, rng)


@functools.lru_cache(1)  # each tier has the same
def rows_of_half_way_means(count, exponents):
    """Down, along, and the means; zeros, and pairs that cancel, among them."""
    rng, groups = random.Random(f"half-way {count}"), 200 if count < 500 else 80
    rows = list(half_way_means(count, rng, groups, exponents))
    rows[70], rows[71], rows[72] = [0.0] * count, [-0.0] * count, [1.0, -1.0] + [-0.0] * (count - 2)
    expected = [("f64", struct.unpack("<Q", struct.pack("<d", float(sum(map(Fraction, row)) / count)))[0]) for row in rows]
    expected[71] = ("f64", 1 << 63)
    down = struct.pack(f"<{count * groups}d", *(x for row in zip(*rows) for x in row))
    along = struct.pack(f"<{count * groups}d", *(x for row in rows for x in row))
    return (wf.strided(down, "f64", (count, groups), (8 * groups, 8)),
            wf.strided(along, "f64", (groups, count), (8 * count, 8))), expected


@pytest.mark.parametrize("exponents", [range(-8, 8), range(-800, 800), (1012, -1014, -1020)]) # the last: not in registers
@pytest.mark.parametrize("count", [3, 5, 6, 7, 10, 49, 63, 100, 700]) # 49 * (1 / 49) is not 1
def test_half_way_means(handle, count, exponents):
    """What lies half-way, or a hair beside it, is rounded by the remainder."""
    arrays, expected = rows_of_half_way_means(count, exponents)
    for axis, array in enumerate(arrays):
        assert handle.reduce_groups("mean", library.wf_groups_axes(1 << axis), array) == expected


@functools.lru_cache(1)
def columns_of_half_way_means(type_name, count):
    rng, groups = random.Random(f"half-way {type_name} {count}"), 70
    least, largest = (-2**63, 2**63 - 1) if type_name == "i64" else (0, 2**64 - 1)
    columns = []
    for _ in range(groups):
        mean = (2 * rng.randrange(2**52, 2**53) + 1) * 2**rng.randint(0, 9) + rng.choice([0, 0, 1, -1]) # half-way, or beside
        if type_name == "i64" and rng.random() < 0.5:
            mean = -mean
        others = [rng.randint(-2**50, 2**50) for _ in range(count - 1)]
        column = [min(max(mean + x, least), largest) for x in others]
        last = mean * count - sum(column)
        columns.append([*column, min(max(last, least), largest)])
    expected = [("f64", struct.unpack("<Q", struct.pack("<d", sum(column) / count))[0]) for column in columns]
    code = TYPECODES[type_name]
    down = struct.pack(f"<{count * groups}{code}", *(x for row in zip(*columns) for x in row))
    return wf.strided(down, type_name, (count, groups), (8 * groups, 8)), expected


@pytest.mark.parametrize("type_name", ["i64", "u64"])
@pytest.mark.parametrize("count", [5, 6, 63, 1000, 1 << 11])
def test_half_way_means_of_integers(handle, type_name, count):
    array, expected = columns_of_half_way_means(type_name, count)
    assert handle.reduce_groups("mean", library.wf_groups_axes(1), array) == expected


@pytest.mark.parametrize("type_name", ["i8", "i32", "u32", "f32", "bf16"])
def test_roots_of_short_groups(handle, type_name):
    """Deviations that are exact, halves, or just beside; sums of up to 64 bits."""
    rng, count = random.Random(f"roots {type_name}"), 3
    rows = [(0, 2 * k, k) for k in range(60)] + [(0, k % 128, 0) for k in range(60)] if type_name in INTEGERS else []
    data = b"".join(struct.pack(f"={count}{TYPECODES[type_name]}", *row) for row in rows)
    data += sample(type_name, 60 * count, "plain", rng.random()) + (sample(type_name, 60 * count, "wild") if not rows else b"")
    groups_count, nbytes = len(data) // count // struct.calcsize(TYPECODES[type_name]), struct.calcsize(TYPECODES[type_name])
    array = wf.strided(data, type_name, (groups_count, count), (count * nbytes, nbytes))
    for op, ddof in itertools.product(("std", "var"), (0, 1)):
        expected = [Oracle(type_name, data[g * count * nbytes:(g + 1) * count * nbytes]).reduce(op, ddof=ddof)
                    for g in range(groups_count)]
        assert handle.reduce_groups(op, library.wf_groups_axes(2), array, ddof=ddof) == expected


@pytest.mark.sampled
@pytest.mark.parametrize("type_name", TYPES)
@pytest.mark.parametrize("length", [1, 2, 31, 64, 65, 128, 129, 300, 511])
def test_neighbours_side_by_side(handle, type_name, length):
    """Rows and columns of every length about a tile's, one of them with what a tile of plain numbers cannot hold."""
    rng = random.Random(f"neighbours {type_name} {length}")
    groups_count = rng.choice([3, 8, 33, 64, 70])
    for along, kind in itertools.product((0, 1), ("plain", "wild")):
        shape = (groups_count, length) if along else (length, groups_count)
        a, b = (Laid(type_name, shape, rng, kind, plain=True) for _ in range(2))
        odd = sample(type_name, 1, "special", seed=rng.random())
        place = rng.randrange(groups_count * length) * a.nbytes
        a.data = a.data[:place] + odd + a.data[place + len(odd):]
        for op in ops_for(type_name, rng, 2):
            arrays = operands(op, a, b)
            expected = expected_results(op, arrays, indices_along_axes(shape, {along}), 0)
            got = returned(handle, op, library.wf_groups_axes(1 << along), [array.view() for array in arrays])
            assert got == as_returned(expected, op, type_name), (op, shape, along, kind)


@pytest.mark.parametrize("op,type_name", [("sum", "f64"), ("argmin", "i16"), ("var", "f32"), ("max", "u8")])
def test_threads_share_long_columns(handle, op, type_name):
    """A few columns of many rows: the same bits as each column by itself."""
    shape, nbytes = (70001, 9), struct.calcsize(TYPECODES[type_name])
    data = (sample(type_name, 4099, "plain") * 154)[:shape[0] * shape[1] * nbytes]
    array = wf.strided(data, type_name, shape, (shape[1] * nbytes, nbytes))
    got = {tuple(handle.reduce_groups(op, library.wf_groups_axes(1), array, threads=threads)) for threads in (1, 2, 5)}
    alone = [handle.reduce(op, wf.strided(data, type_name, shape[:1], (shape[1] * nbytes,), c * nbytes)) for c in range(9)]
    assert got == {tuple(alone)}


@pytest.mark.sampled
@pytest.mark.parametrize("type_name", TYPES)
@pytest.mark.parametrize("rows,columns", [(2, 1100), (9, 150), (300, 70)])
def test_extremes_along_axes(handle, type_name, rows, columns):
    """Extremes of columns read where they lie, and of rows in vectors: NaNs and zeros of either sign here and there."""
    rng, nbytes = random.Random(f"extremes {type_name} {rows}"), struct.calcsize(TYPECODES[type_name])
    data = bytearray(sample(type_name, rows * columns, "plain", seed=rng.random()))
    zeros = [bytes(nbytes), bytes(nbytes - 1) + (b"\x80" if type_name in FLOATS else b"\0")]
    for c in rng.sample(range(columns), columns // 3): # columns of nothing but zeros, and of other values
        odd = rng.choice([sample(type_name, rows - 1, "special", seed=rng.random()) + sample(type_name, 1, "plain"),
                          b"".join(rng.choices(zeros, k=rows))])
        for r in range(rows):
            at = (r * columns + c) * nbytes
            data[at:at + nbytes] = odd[r * nbytes:(r + 1) * nbytes]
    data = bytes(data)
    turned = transposed(data, rows, columns, nbytes)
    for op, nan in itertools.product(("max", rng.choice(["min", "argmin"]), "argmax"), ("propagate", "omit")):
        expected = [handle.reduce(op, wf.strided(data, type_name, (rows,), (columns * nbytes,), c * nbytes), nan=nan,
                                  first_index=3) for c in range(columns)]
        down = wf.strided(data, type_name, (rows, columns), (columns * nbytes, nbytes))
        along = wf.strided(turned, type_name, (columns, rows), (rows * nbytes, nbytes))
        threads = rng.choice([1, 2])
        for axis, array in ((0, down), (1, along)):
            groups = library.wf_groups_axes(1 << axis)
            assert handle.reduce_groups(op, groups, array, nan=nan, first_index=3, threads=threads) == expected, (op, axis)


@pytest.mark.parametrize("type_name", ["i8", "u64", "f16", "f32", "f64"])
def test_extremes_of_segments(handle, type_name):
    """Segments of 1 to 700 elements, some of one value alone."""
    rng, nbytes = random.Random(f"extremes of segments {type_name}"), struct.calcsize(TYPECODES[type_name])
    lengths = [rng.choice([1, 2, 30, rng.randrange(1, 200), 700]) for _ in range(40)]
    data = b"".join(rng.choice([sample(type_name, n, "plain", seed=rng.random()), sample(type_name, 1, "plain") * n])
                    for n in lengths)
    offsets = [0, *itertools.accumulate(lengths)]
    labels = integer_vector(offsets, "i64", 1)
    groups = library.wf_groups_segments(0, len(lengths), byref(labels))
    array = wf.strided(data, type_name, (sum(lengths),), (nbytes,))
    for op in ("max", "argmax", "min", "argmin"):
        expected = [Oracle(type_name, data[a * nbytes:b * nbytes], first_index=a).reduce(op) for a, b in zip(offsets, offsets[1:])]
        assert returned(handle, op, groups, [array]) == as_returned(expected, op, type_name)


# ---- sums of many rows, or columns, that share a window ----------------------------------------------------


def mixed(type_name, rows, columns, rng):
    """Rows of elements whose kind changes from one stretch of columns to the next, and somewhere down the rows."""
    nbytes = struct.calcsize(TYPECODES[type_name])
    minus_zero, tiny = b"\0" * (nbytes - 1) + b"\x80", b"\1" + b"\0" * (nbytes - 1)

    def stretch(kind, count):
        fixed = {"minus zeros": minus_zero, "zeros": bytes(nbytes), "tiny": tiny}
        return fixed[kind] * count if kind in fixed else sample(type_name, count, kind, seed=rng.random())

    kinds, widths = ["plain", "plain", "plain", "unit", "wild", "special", "minus zeros", "zeros", "tiny"], []
    while sum(widths) < columns:
        widths.append(min(rng.choice([1, 3, 40, 200]), columns - sum(widths)))
    upper, lower = ([rng.choice(kinds) for _ in widths] for _ in range(2))
    lower = [below if rng.random() < 0.3 else above for above, below in zip(upper, lower)]
    change = rng.randint(0, rows)
    return b"".join(stretch(kind, width) for row in range(rows)
                    for kind, width in zip(upper if row < change else lower, widths))


def columns_alone(handle, op, type_name, data, shape):
    """What each column gives as an array of its own, which takes another way."""
    nbytes = struct.calcsize(TYPECODES[type_name])
    return [handle.reduce(op, wf.strided(data, type_name, shape[:1], (shape[1] * nbytes,), c * nbytes))
            for c in range(shape[1])]


@pytest.mark.sampled
@pytest.mark.parametrize("type_name", FLOATS)
@pytest.mark.parametrize("rows,columns", [(2, 1100), (5, 330), (41, 129), (520, 34), (37, 1), (301, 7), (2100, 5)])
def test_groups_that_share_a_window(handle, type_name, rows, columns):
    """Panels of columns and the same groups as rows: what a window does not cover is found otherwise, to the same bits."""
    rng, nbytes = random.Random(f"window {type_name} {rows} {columns}"), struct.calcsize(TYPECODES[type_name])
    plain = sample(type_name, rows * columns, "plain", seed=rng.random())
    for data in (mixed(type_name, rows, columns, rng), plain):
        turned = transposed(data, rows, columns, nbytes)
        for op in ("sum", rng.choice(["norm1", "mean"])):
            expected = columns_alone(handle, op, type_name, data, (rows, columns))
            down = wf.strided(data, type_name, (rows, columns), (columns * nbytes, nbytes))
            along = wf.strided(turned, type_name, (columns, rows), (rows * nbytes, nbytes))
            threads = rng.choice([1, 2])
            assert handle.reduce_groups(op, library.wf_groups_axes(1), down, threads=threads) == expected
            assert handle.reduce_groups(op, library.wf_groups_axes(2), along, threads=threads) == expected
            some = rng.randrange(columns)
            cells = b"".join(data[(r * columns + some) * nbytes:][:nbytes] for r in range(rows))
            assert Oracle(type_name, cells).reduce(op) == expected[some]


@pytest.mark.parametrize("type_name", ["f32", "f64"])
@pytest.mark.parametrize("rows,columns", [(2, 1100), (41, 129), (520, 34), (301, 7), (2100, 5)])
def test_groups_of_subnormals(handle, type_name, rows, columns):
    """Only such, or with a column or a row of others: what a window takes is scaled."""
    rng, form, nbytes = random.Random(f"subnormal {rows} {columns}"), FLOATS[type_name], struct.calcsize(TYPECODES[type_name])
    lead = 1 << form.precision - 1
    bits = [rng.randrange(rng.choice([2, 100, lead, 30 * lead])) | rng.choice([0, form.sign]) for _ in range(rows * columns)]
    others = list(bits)
    others[columns - 1::columns] = [form.sign] * rows
    others[-columns // 2] = rng.choice([form.infinity - 1, form.nan, form.infinity])
    for elements in (bits, others):
        data = pack(type_name, elements)
        turned = transposed(data, rows, columns, nbytes)
        down = wf.strided(data, type_name, (rows, columns), (columns * nbytes, nbytes))
        along = wf.strided(turned, type_name, (columns, rows), (rows * nbytes, nbytes))
        for op in ("sum", "norm1", "var"):
            expected = columns_alone(handle, op, type_name, data, (rows, columns))
            assert handle.reduce_groups(op, library.wf_groups_axes(1), down, threads=1) == expected, op
            assert handle.reduce_groups(op, library.wf_groups_axes(2), along, threads=1) == expected, op
            for some in (rng.randrange(columns), columns - 1):
                cells = b"".join(data[(r * columns + some) * nbytes:][:nbytes] for r in range(rows))
                assert Oracle(type_name, cells).reduce(op) == expected[some], op


def few_rows(type_name, rows, columns, rng):
    """Columns that registers take, and some whose elements or results need more: infinite, tiny, of all exponents."""
    kinds = {"odd": mixed(type_name, rows, columns, rng)}
    for kind in ("plain", "unit", "wild"):
        kinds[kind] = sample(type_name, rows * columns, kind, seed=rng.random())
    nbytes = struct.calcsize(TYPECODES[type_name])
    large, low = FLOATS[type_name].infinity - 1, rng.randrange(3)
    kinds["edges"] = b"".join(rng.choice([large, large ^ FLOATS[type_name].sign, low, 1]).to_bytes(nbytes, "little")
                              for _ in range(rows * columns))
    return kinds


@pytest.mark.sampled
@pytest.mark.parametrize("type_name", FLOATS)
@pytest.mark.parametrize("rows", [1, 2, 3, 4, 7, 8, 9, 16, 33, 63, 64, 300])
def test_few_rows(handle, type_name, rows):
    """Sums, quotients and variances of a few rows, found in registers or not: the bits of each column by itself."""
    rng, columns, nbytes = random.Random(f"few {type_name} {rows}"), 150, struct.calcsize(TYPECODES[type_name])
    for kind, data in few_rows(type_name, rows, columns, rng).items():
        down = wf.strided(data, type_name, (rows, columns), (columns * nbytes, nbytes))
        along = wf.strided(transposed(data, rows, columns, nbytes), type_name, (columns, rows), (rows * nbytes, nbytes))
        ddof, some = rng.randrange(min(rows, 3)), rng.randrange(columns)
        cells = b"".join(data[(r * columns + some) * nbytes:][:nbytes] for r in range(rows))
        for op in ("sum", "mean", "norm2", rng.choice(["norm1", "var"]), rng.choice(["var", "std"])):
            expected = [handle.reduce(op, wf.strided(data, type_name, (rows,), (columns * nbytes,), c * nbytes), ddof=ddof)
                        for c in range(columns)]
            for axis, array in ((0, down), (1, along)):
                assert handle.reduce_groups(op, library.wf_groups_axes(1 << axis), array, ddof=ddof) == expected, (kind, op)
            assert Oracle(type_name, cells).reduce(op, ddof=ddof) == expected[some]


def integers_of_kinds(type_name, count, rng):
    """Elements of every size, the ends of the range, and of 64 bits such as have sums that fit but are no f64."""
    nbytes = struct.calcsize(TYPECODES[type_name])
    least = 1 << 8 * nbytes - 1 if type_name.startswith("i") else 0
    ends = [end.to_bytes(nbytes, "little") for end in (least, least ^ (1 << 8 * nbytes) - 1)]
    signs = [1, -1] if type_name.startswith("i") else [1]
    yield "any", rng.randbytes(nbytes * count)
    yield "ends", b"".join(rng.choices(ends, k=count))
    yield "first end", ends[0] * count
    yield "last end", ends[1] * count
    if nbytes == 8:
        yield "large", pack(type_name, [rng.randrange(2**54) * rng.choice(signs) for _ in range(count)])


@pytest.mark.sampled
@pytest.mark.parametrize("type_name", INTEGERS)
@pytest.mark.parametrize("rows,columns", [(1, 64), (2, 130), (9, 75), (47, 64), (300, 65)])
def test_sums_of_integers(handle, type_name, rows, columns):
    """Sums and means of columns and of rows, of which those of 64 bits are more than an f64 has, or than fits."""
    rng, nbytes = random.Random(f"integers {type_name} {rows}"), struct.calcsize(TYPECODES[type_name])
    for kind, data in integers_of_kinds(type_name, rows * columns, rng):
        turned = transposed(data, rows, columns, nbytes)
        down = wf.strided(data, type_name, (rows, columns), (columns * nbytes, nbytes))
        along = wf.strided(turned, type_name, (columns, rows), (rows * nbytes, nbytes))
        offsets = [0, *sorted(rng.randrange(rows * columns) for _ in range(columns)), rows * columns]
        labels = integer_vector(offsets, "i64", 1)
        pieces = library.wf_groups_segments(0, columns + 1, byref(labels))
        cells = [Oracle(type_name, turned[c * rows * nbytes:(c + 1) * rows * nbytes]) for c in range(columns)]
        parts = [Oracle(type_name, data[a * nbytes:b * nbytes]) for a, b in itertools.pairwise(offsets)]
        for op in ("sum", "mean", "norm1"):
            expected = as_returned([oracle.reduce(op) for oracle in cells], op, type_name)
            for axis, array in ((0, down), (1, along)):
                assert returned(handle, op, library.wf_groups_axes(1 << axis), [array]) == expected, (kind, op, axis)
            of_parts = as_returned([oracle.reduce(op) for oracle in parts], op, type_name)
            assert returned(handle, op, pieces, [wf.vector(data, type_name)]) == of_parts, (kind, op)


@pytest.mark.parametrize("type_name", TYPES)
def test_the_first_extreme_of_rows(handle, type_name):
    """Rows in which the extreme stands at several places: the first is found, in whichever piece of the row."""
    rng, nbytes = random.Random(f"first {type_name}"), struct.calcsize(TYPECODES[type_name])
    one, zero = pack(type_name, [nearest(type_name, 1) if type_name in FLOATS else 1]), bytes(nbytes)
    for length in (193, 256, 320, 1000, 2048):
        places = [sorted(rng.sample(range(length), rng.choice([1, 2, 5]))) for _ in range(70)]
        places += [[0, length - 1], [length - 1], [length - 2, length - 1]]
        for op, usual, best in (("argmax", zero, one), ("argmin", one, zero)):
            rows = [b"".join(best if i in where else usual for i in range(length)) for where in map(set, places)]
            array = wf.strided(b"".join(rows), type_name, (len(rows), length), (length * nbytes, nbytes))
            assert handle.reduce_groups(op, library.wf_groups_axes(2), array) == [("u64", where[0]) for where in places]


@pytest.mark.parametrize("type_name", FLOATS)
def test_segments_that_share_a_window(handle, type_name):
    """Segments of 0 to 2100 elements, of all kinds."""
    rng, nbytes = random.Random(f"segments of a window {type_name}"), struct.calcsize(TYPECODES[type_name])
    lengths = [rng.choice([0, 1, 2, 5, 30, rng.randrange(150), 700, 2100]) for _ in range(60)]
    data = mixed(type_name, 1, sum(lengths), rng)
    offsets = [0, *itertools.accumulate(lengths)]
    labels = integer_vector(offsets, "i64", 1)
    groups = library.wf_groups_segments(0, len(lengths), byref(labels))
    array = wf.strided(data, type_name, (sum(lengths),), (nbytes,))
    for op in ("sum", "norm1", "mean"):
        expected = [Oracle(type_name, data[a * nbytes:b * nbytes]).reduce(op) for a, b in zip(offsets, offsets[1:])]
        assert returned(handle, op, groups, [array]) == as_returned(expected, op, type_name)


@pytest.mark.parametrize("type_name", ["f32", "f64"])
def test_pairs_of_rows(handle, type_name):
    """Two elements are one addition: every special one with every other, numbers that cancel, more than a thread's share."""
    nbytes = struct.calcsize(TYPECODES[type_name])
    each, wild = pack(type_name, specials(type_name)), sample(type_name, 800, "wild")
    pieces = [[data[i:i + nbytes] for i in range(0, len(data), nbytes)] for data in (each, wild)]
    pairs = [*itertools.product(pieces[0], repeat=2), *zip(pieces[1][::2], pieces[1][1::2])]
    rows, count = [b"".join(row) for row in zip(*pairs)], len(pairs)
    expected = as_returned([Oracle(type_name, x + y).reduce("sum") for x, y in pairs], "sum", type_name)
    for padding in (0, nbytes):
        data = rows[0] + bytes(padding) + rows[1]
        view = wf.strided(data, type_name, (2, count), (len(rows[0]) + padding, nbytes))
        assert returned(handle, "sum", library.wf_groups_axes(1), [view], threads=2) == expected
    times = (1 << 17) // count + 1
    many = wf.strided(rows[0] * times + rows[1] * times, type_name, (2, count * times), (len(rows[0]) * times, nbytes))
    assert returned(handle, "sum", library.wf_groups_axes(1), [many], threads=3) == expected * times


# ---- products of few rows ---------------------------------------------------------------------------


def float_pairs(type_name, count, rng):
    """Two columns of floats whose sum of products lies half-way between two results, or beside it; or cancels."""
    form = FLOATS[type_name]
    spread = {"f64": 900, "f32": 120, "bf16": 120}.get(type_name, 12)
    ulp = Fraction(2)**(1 - form.precision)
    one = rng.choice([1, 1 + ulp, 2 - ulp]) * Fraction(2)**rng.randint(-4, 4)
    low = one * ulp * rng.choice([Fraction(1, 2), Fraction(1, 4), 1])
    hair = rng.choice([0, 1, -1]) * Fraction(2)**-rng.randint(1, spread)
    large = Fraction(2)**rng.randint(0, spread // 4) * (1 + ulp)
    terms = [(one, 1), (rng.choice([low, -low]), 1), (hair, hair), (large, large), (-large, large), (0, -1), (-1, 0)]
    chosen = [rng.choice(terms) for _ in range(count)]
    if rng.random() < 0.7:
        chosen[:5] = terms[:5][:count]
    rng.shuffle(chosen)
    return [pack_values(type_name, side) for side in zip(*chosen)]


def integer_pairs(type_name, count, rng):
    """Those of the ends of the range, of about 33 bits, small ones, and equal ones."""
    least, largest = INTEGERS[type_name]
    ends = [x for x in (least, least + 1, 0, 1, largest - 1, largest, 2**32 - 1, 2**32, -2**32, -2**32 - 1, 2**31)
            if least <= x <= largest]
    kind = rng.choice(["ends", "small", "equal", "middle"])
    draws = {"ends": lambda: rng.choice(ends), "small": lambda: rng.randint(max(least, -5), min(largest, 5)),
             "equal": lambda: ends[count % len(ends)],
             "middle": lambda: rng.randint(max(least, -2**31), min(largest, 2**31))}
    return [pack(type_name, [draws[kind]() for _ in range(count)]) for _ in range(2)]


def column_pairs(type_name, count, rng, kinds=("plain", "plain", "wild", "special", "made", "made", "made")):
    """Whose dot product fits the results' type: what does not is an error of all."""
    made = float_pairs if type_name in FLOATS else integer_pairs
    while True:
        kind = rng.choice(kinds)
        pair = made(type_name, count, rng) if kind == "made" else [sample(type_name, count, kind, rng.random()) for _ in "xy"]
        if not isinstance(PairOracle(type_name, *pair).reduce(), str):
            return pair


def laid_down_and_along(type_name, columns):
    """The columns as those of an array, and as the rows of another."""
    nbytes, groups = struct.calcsize(TYPECODES[type_name]), len(columns)
    rows = len(columns[0]) // nbytes
    down = b"".join(b"".join(row) for row in zip(*(split(type_name, column) for column in columns)))
    return [wf.strided(down, type_name, (rows, groups), (groups * nbytes, nbytes)),
            wf.strided(b"".join(columns), type_name, (groups, rows), (rows * nbytes, nbytes))]


@functools.lru_cache(1)
def products_of_few_rows(type_name, count):
    """Of some pairs of columns: views of both, down and along, the dot products, and of the first of each pair (op, ddof, results)."""
    rng, groups = random.Random(f"products {type_name} {count}"), 64 + 70
    pairs = [column_pairs(type_name, count, rng) for _ in range(groups)]
    plain = [column_pairs(type_name, count, rng, ["plain" if type_name in FLOATS else "made"]) for _ in range(64)]
    cases = []
    for chosen in (pairs[:groups // 2], pairs, plain + pairs[:6]):
        views = [laid_down_and_along(type_name, side) for side in zip(*chosen)]
        products = as_returned([PairOracle(type_name, x, y).reduce() for x, y in chosen], "dot", type_name)
        single = [(op, ddof, as_returned([Oracle(type_name, x).reduce(op, ddof=ddof) for x, _ in chosen], op, type_name))
                  for op, ddof in (("var", 0), ("std", 1), ("norm2", 0))]
        cases.append((views, products, single))
    return cases


@pytest.mark.parametrize("type_name", TYPES)
@pytest.mark.parametrize("count", [1, 2, 3, 8, 16, 63, 64])
def test_products_of_few_rows(handle, type_name, count):
    """Dot products, variances, their roots and 2-norms, so that one strip has columns that fail and others."""
    for views, products, single in products_of_few_rows(type_name, count):
        for axis in (0, 1):
            both, axes = [view[axis] for view in views], library.wf_groups_axes(1 << axis)
            assert returned(handle, "dot", axes, both) == products, (axis, views)
            for op, ddof, expected in single:
                assert returned(handle, op, axes, both[:1], ddof=ddof) == expected, (axis, op, views)


@pytest.mark.parametrize("type_name", FLOATS)
def test_specials_of_few_rows(handle, type_name):
    """One infinity or NaN in 64 columns: beside it what would leave a result if its bits were taken for a number's."""
    form, one, half = FLOATS[type_name], nearest(type_name, 1), nearest(type_name, Fraction(1, 2))
    usual = [pack(type_name, [one, half])] * 2
    axes = [library.wf_groups_axes(1 << axis) for axis in (0, 1)]
    for special, partner in itertools.product(specials(type_name)[2:], [one, half, form.infinity - 1 | form.sign, 1]):
        terms = [pack(type_name, [special, partner]), pack(type_name, [partner, half])]
        chosen = [usual] * 9 + [terms] + [usual] * 60
        x, y = (laid_down_and_along(type_name, side) for side in zip(*chosen))
        expected = [PairOracle(type_name, *pair).reduce() for pair in chosen]
        sums = [Oracle(type_name, pair[0]).reduce("sum") for pair in chosen]
        for axis in (0, 1):
            assert handle.reduce_groups("dot", axes[axis], x[axis], y[axis]) == expected, (special, partner, axis)
            assert handle.reduce_groups("sum", axes[axis], x[axis]) == sums, (special, partner, axis)


def any_column(type_name, count, rng):
    """All exponents; infinities, a NaN or both; what exceeds the largest result; only zeros; almost cancelled."""
    form, kind = FLOATS[type_name], rng.choice(["wild"] * 4 + ["infinite", "nan", "largest", "zeros", "cancelled"])
    data = split(type_name, sample(type_name, count, "wild", rng.random()))
    some = {"infinite": [form.infinity] * 2 + [form.infinity | form.sign], "nan": [form.nan, form.infinity],
            "largest": [form.infinity - 1], "zeros": [0, form.sign]}.get(kind)
    if kind in ("largest", "zeros"):
        return pack(type_name, rng.choices(some[:rng.randint(1, 2)], k=count))
    if kind == "cancelled":
        left = [int.from_bytes(element, "little") for element in data[:count // 2]]
        return pack(type_name, [*left, *(bits ^ form.sign for bits in left), *[1] * (count % 2)])
    for _ in range(rng.randint(1, 2) if some else 0):
        data[rng.randrange(count)] = pack(type_name, [rng.choice(some)])
    return b"".join(data)


@functools.lru_cache(1)
def columns_of_any_range(type_name):
    """(op, policy, views, results) of columns that no window takes, in strips that are full and in others."""
    rng, cases = random.Random(f"any range {type_name}"), []
    for count, groups in ((4, 300), (40, 70), (600, 66)):
        columns = [any_column(type_name, count, rng) for _ in range(groups)]
        others = columns[1:] + columns[:1]
        views = [laid_down_and_along(type_name, side)[0] for side in (columns, others)]
        for op, nan in itertools.product(("sum", "mean", "norm1", "norm2", "dot"), ("propagate", "omit")):
            if op == "dot":
                expected = [PairOracle(type_name, *pair).reduce(nan=nan) for pair in zip(columns, others)]
            else:
                expected = [Oracle(type_name, column).reduce(op, nan=nan) for column in columns]
            cases.append((op, nan, views[:2 if op == "dot" else 1], as_returned(expected, op, type_name)))
    return cases


@pytest.mark.parametrize("type_name", FLOATS)
def test_columns_of_any_range(handle, type_name):
    """Sums, means, norms and dot products whose columns are read in place, whatever they hold."""
    for op, nan, views, expected in columns_of_any_range(type_name):
        for threads in (1, 2):
            assert returned(handle, op, library.wf_groups_axes(1), views, nan=nan, threads=threads) == expected, (op, nan)


def test_means_that_vanish_keep_their_sign(handle):
    """What is left of terms that cancel is below what an f32 can be, and so is what a sum of two f64 has lost of them."""
    for count, sign in itertools.product((70, 300), (1, -1)):
        terms = [2.0**127, 2.0**60, sign * 3 * 2.0**-149, -2.0**60, -2.0**127, -sign * 2.0**-149]
        column = [nearest("f32", Fraction(terms[i // 8] if i % 8 == 0 and i < 48 else 0)) for i in range(count)]
        views = laid_down_and_along("f32", [pack("f32", column)] * 66)
        expected = [("f32", 0 if sign > 0 else FLOATS["f32"].sign)] * 66
        for axis in (0, 1):
            assert handle.reduce_groups("mean", library.wf_groups_axes(1 << axis), views[axis]) == expected, (axis, sign)


def products_of_minus_zero(type_name, count, rng):
    """Pairs each of whose products is -0."""
    one, minus_zero = nearest(type_name, 1), FLOATS[type_name].sign
    forms = [(minus_zero, one), (one, minus_zero), (0, one | minus_zero), (0, minus_zero), (minus_zero, 0)]
    return [pack(type_name, side) for side in zip(*(rng.choice(forms) for _ in range(count)))]


@pytest.mark.parametrize("type_name", FLOATS)
def test_products_of_minus_zero(handle, type_name):
    """Alone, and beside rows and columns whose products are not, at all lengths that vectors leave a rest of."""
    rng = random.Random(f"products of -0 {type_name}")
    for count in [*range(1, 36), 63, 64, 65, 127, 130, 257, 300, 1025]:
        zeros = [products_of_minus_zero(type_name, count, rng) for _ in range(5)]
        others = [column_pairs(type_name, count, rng, ["plain"]) for _ in range(2)]
        for chosen in (zeros, zeros + others):
            x, y = (laid_down_and_along(type_name, side) for side in zip(*chosen))
            expected = [PairOracle(type_name, *pair).reduce() for pair in chosen]
            assert {bits for _, bits in expected[:5]} == {FLOATS[type_name].sign}
            for axis in (0, 1):
                assert handle.reduce_groups("dot", library.wf_groups_axes(1 << axis), x[axis], y[axis]) == expected


def near_pairs(type_name, count, kind, rng):
    """Pairs of numbers: at random; small integers, whose sums are often half-way between two floats; whose products cancel; whose
    products are far below what f64 have errors for."""
    if kind == "cancels":
        half = [rng.choice([-1, 1]) * rng.randint(1, 2**FLOATS[type_name].precision - 1) for _ in range(count // 2)]
        x, y = [*half, *half, 0][:count], [*[1] * (count // 2), *[-1] * (count // 2), 1][:count]
    elif kind == "integers":
        x, y = ([rng.randint(-2**10, 2**10) for _ in range(count)] for _ in range(2))
    else:
        scale = 2.0**-520 if kind == "small" and type_name == "f64" else 1
        x, y = ([rng.gauss(0, 1) * scale for _ in range(count)] for _ in range(2))
    return [pack(type_name, [nearest(type_name, Fraction(value)) for value in side]) for side in (x, y)]


@functools.lru_cache(1)
def dots_whose_bound_is_known(type_name):
    """(views of both operands, down and along, and the dot products)"""
    rng, cases = random.Random(f"bounds of dots {type_name}"), []
    for count, groups in ((2, 70), (9, 330), (41, 70), (64, 9), (300, 67), (1030, 3)):
        for kinds in (["random"], ["random", "integers", "cancels", "small"]):
            pairs = [near_pairs(type_name, count, rng.choice(kinds), rng) for _ in range(groups)]
            views = [laid_down_and_along(type_name, side) for side in zip(*pairs)]
            cases.append((views, [PairOracle(type_name, *pair).reduce() for pair in pairs]))
    return cases


@pytest.mark.parametrize("type_name", FLOATS)
def test_dots_whose_bound_is_known_beforehand(handle, type_name):
    """Rows and columns of one kind and of several, among which are those that such a bound does not round."""
    for (x, y), expected in dots_whose_bound_is_known(type_name):
        for axis in (0, 1):
            assert handle.reduce_groups("dot", library.wf_groups_axes(1 << axis), x[axis], y[axis]) == expected


def test_dots_that_vanish_keep_their_sign(handle):
    """What is left of terms that cancel is far below what a sum and its error hold, and below what an f32 can be."""
    for count, sign in itertools.product((5, 50), (1, -1)):
        sides = [[1, 2.0**-60, -1, -2.0**-60, -sign * 2.0**-149], [1, 2.0**-60, 1, 2.0**-60, 2.0**-149]]
        pair = [pack("f32", [nearest("f32", Fraction(v)) for v in [*side, *[0] * (count - 5)]]) for side in sides]
        expected = PairOracle("f32", *pair).reduce()
        assert expected[1] == (FLOATS["f32"].sign if sign > 0 else 0)
        x, y = (laid_down_and_along("f32", [side] * 66) for side in pair)
        for axis in (0, 1):
            assert handle.reduce_groups("dot", library.wf_groups_axes(1 << axis), x[axis], y[axis]) == [expected] * 66


@pytest.mark.sampled
@pytest.mark.parametrize("type_name", TYPES)
def test_equal_segments(handle, type_name):
    """That begin anywhere, of vectors and of dimensions among others, of all ops: those whose positions matter, too."""
    rng = random.Random(f"equal segments {type_name}")
    for shape in ((150,), (3, 70), (40, 5), (2, 33, 3), (300,)):
        axis, ops = rng.randrange(len(shape)), ops_for(type_name, rng, 4)
        length, first = rng.choice([1, 2, 3, 8, 17, 100]), rng.randrange(4)
        offsets = [*range(first, shape[axis] + 1, length)]
        if rng.random() < 0.2:
            offsets += [shape[axis]] # one that is shorter
        labels = integer_vector(offsets, rng.choice(["i32", "i64"]), rng.choice([1, 3]))
        groups = library.wf_groups_segments(axis, len(offsets) - 1, byref(labels))
        a, b = (Laid(type_name, shape, rng, rng.choice(["special", "plain", "coarse"])) for _ in range(2))
        for op in [*ops, "sum", "argmax"]:
            nan = rng.choice(["propagate", "omit", "error"])
            arrays = operands(op, a, b)
            ranges = [(0 if op == "prod" else pair[0], None, range(*pair)) for pair in itertools.pairwise(offsets)]
            expected = expected_results(op, arrays, indices_of_positions(shape, axis, ranges), 7, nan=nan)
            got = returned(handle, op, groups, [array.view() for array in arrays], nan=nan, first_index=7,
                           threads=rng.choice([1, 2, 3]))
            assert got == as_returned(expected, op, type_name), (shape, axis, offsets, op, nan)


def packed_views(type_name, rng):
    """(array, axes) of which neighbours do not lie side by side, or are few: columns of strided views, and middle axes."""
    nbytes = struct.calcsize(TYPECODES[type_name])
    for shape, steps, axes in (((9, 140), (1, 2), {0}), ((130, 70), (1, 3), {0}), ((2, 5, 90), (1, 1, -2), {1}),
                               ((20, 4, 7), (1, 1, 1), {1}), ((5, 3, 2, 30), (1, 1, 1, 1), {1, 2}), ((70, 6, 1, 3), (1, 1, 1, 2), {1}),
                               ((2, 4, 3, 33), (1, 1, 2, 1), {0, 2}), ((3, 2, 100), (1, 1, 0), {1})):
        strides, step = [0] * len(shape), nbytes
        for d in reversed(range(len(shape))):
            strides[d] = step * steps[d]
            step *= shape[d] * max(abs(steps[d]), 1)
        yield shape, strides, axes, step // nbytes


@pytest.mark.sampled
@pytest.mark.parametrize("type_name", TYPES)
def test_packed_tiles(handle, type_name):
    """Of all ops, with elements of all kinds; the first failure is named, and pieces add up in accumulators."""
    rng = random.Random(f"packed {type_name}")
    for shape, strides, axes, count in packed_views(type_name, rng):
        made = []
        for _ in range(2):
            laid = Laid(type_name, (1,), rng)
            laid.shape, laid.strides = shape, strides
            laid.offset = sum(-s * (n - 1) for s, n in zip(strides, shape) if s < 0)
            laid.data = sample(type_name, count, rng.choice(["plain", "special", "coarse"]), rng.random())
            made.append(laid)
        groups = library.wf_groups_axes(sum(1 << d for d in axes))
        for op in [*ops_for(type_name, rng, 3), "sum", "argmin"]:
            nan = rng.choice(["propagate", "omit", "error"])
            arrays = operands(op, *made)
            expected = expected_results(op, arrays, indices_along_axes(shape, axes), 3, nan=nan)
            views = [array.view() for array in arrays]
            got = returned(handle, op, groups, views, nan=nan, first_index=3, threads=rng.choice([1, 2, 3]))
            assert got == as_returned(list(expected), op, type_name), (shape, op, nan)
            if "WF_ERROR_NAN" in expected and got == "WF_ERROR_NAN":
                assert handle.message.startswith(f"result {expected.index('WF_ERROR_NAN')}: ")
        pieces = handle.accumulator("sum", type_name, shape=[n for d, n in enumerate(shape) if d not in axes])
        for _ in range(2):
            pieces.add(made[0].view(), groups=groups)
        twice = [Oracle(type_name, b"".join(map(made[0].at, [*indices] * 2))).reduce("sum")
                 for _, _, indices in indices_along_axes(shape, axes)]
        if not any(isinstance(result, str) for result in twice):
            assert list(pieces.results("sum")) == twice


@pytest.mark.sampled
@pytest.mark.parametrize("type_name", TYPES)
@pytest.mark.parametrize("length,step", [(8, 2), (40, 3), (130, 2), (1030, 2)])
def test_packed_rows(handle, type_name, length, step):
    """Groups whose elements lie apart, copied to rows side by side; with rows in either direction, and more than one tile."""
    rng, nbytes = random.Random(f"packed rows {type_name} {length}"), struct.calcsize(TYPECODES[type_name])
    count, pitch = rng.choice([2, 45, 67]), length * step + rng.choice([0, 5])
    kind = rng.choice(["plain", "plain", "special"])
    arrays, oracles = [], []
    for seed in range(2):
        data = sample(type_name, count * pitch, kind, seed)
        sign = rng.choice([1, -1])
        offset = (count - 1) * pitch * nbytes if sign < 0 else 0
        arrays.append(wf.strided(data, type_name, (count, length), (sign * pitch * nbytes, step * nbytes), offset))
        cells = split(type_name, data)
        oracles.append([b"".join(cells[r * pitch:r * pitch + length * step:step]) for r in range(count)][::sign])
    for op in rng.sample([op for op in ("sum", "mean", "var", "max", "argmin", "norm1", "std") if op in ops_of(type_name)], 3) + ["dot"]:
        if op == "dot":
            expected = [PairOracle(type_name, a, b).reduce(op) for a, b in zip(*oracles)]
        else:
            expected = [Oracle(type_name, row).reduce(op) for row in oracles[0]]
        got = returned(handle, op, library.wf_groups_axes(2), arrays if op == "dot" else arrays[:1], threads=rng.choice([1, 2]))
        assert got == as_returned(expected, op, type_name), (op, count, pitch)


@pytest.mark.sampled
@pytest.mark.parametrize("type_name", TYPES)
def test_products_of_rows(handle, type_name):
    """Rows of 8 to 4200 elements, side by side and apart, all of one kind, so that none stops the others, and of many."""
    rng, nbytes = random.Random(f"rows of products {type_name}"), struct.calcsize(TYPECODES[type_name])
    for count in (8, 17, 40, 41, 47, 64, 71, 200, 512, 513, 4096, 4100):
        groups = 3 if count > 600 else rng.choice([5, 9, 70 if count < 80 else 17])
        for kinds in (["plain"], ["wild"], ["special", "plain", "coarse", "made"]):
            kind = [rng.choice(kinds) for _ in range(groups)]
            pairs = [[sample(type_name, count, name, rng.random()) for _ in "xy"] if name != "made"
                     else (float_pairs if type_name in FLOATS else integer_pairs)(type_name, count, rng) for name in kind]
            gap = rng.choice([0, nbytes, 1])
            x, y = (wf.strided(b"".join(side + bytes(gap) for side in sides), type_name, (groups, count),
                               (count * nbytes + gap, nbytes)) for sides in zip(*pairs))
            expected = as_returned([PairOracle(type_name, *pair).reduce() for pair in pairs], "dot", type_name)
            assert returned(handle, "dot", library.wf_groups_axes(2), [x, y]) == expected, (count, kinds)


@pytest.mark.parametrize("type_name", ["bool", "i8", "u8", "i16", "u16"])
def test_products_of_short_integers(handle, type_name):
    """Columns of more elements than registers take: at the ends of their range, in panels that are full and in others."""
    rng = random.Random(f"short products {type_name}")
    for count, groups in ((65, 64), (300, 70), (900, 65)):
        pairs = [integer_pairs(type_name, count, rng) for _ in range(groups)]
        x, y = (laid_down_and_along(type_name, side)[0] for side in zip(*pairs))
        expected = [PairOracle(type_name, *pair).reduce() for pair in pairs]
        assert handle.reduce_groups("dot", library.wf_groups_axes(1), x, y) == expected, count
