"""Reductions along axes, over segments and by key: each result is the oracle's for the elements of its group alone."""

import ctypes
import itertools
import math
import random
import struct
from ctypes import byref

import pytest

import warpfold_ctypes as wf
from group_helpers import (  # noqa: F401: handle is a fixture
    Laid, as_returned, expected_results, handle, indices_along_axes, indices_of_positions, integer_vector, operands,
    ops_for, random_offsets, random_shape, returned)
from oracle import FLOATS, INTEGERS, TYPECODES, Oracle
from samples import nearest, pack, sample

TYPES = [*INTEGERS, *FLOATS]
library = wf.library


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


# ---- columns a few elements apart ---------------------------------------------------------------------


def columns_apart(type_name, rows, columns, step, rng):
    """Whose kind changes from one stretch to the next, and what is between them is none of their elements."""
    nbytes = struct.calcsize(TYPECODES[type_name])
    minus_zeros = (bytes(nbytes - 1) + b"\x80") * columns
    stretches, kinds = [], rng.choice([["plain"], ["plain", "unit", "minus zeros"], ["plain", "wild", "special", "minus zeros"]])
    for begin in range(0, columns, 60):
        width, kind = min(60, columns - begin), rng.choice(kinds)
        is_zero = kind == "minus zeros"
        made = minus_zeros[:width * nbytes] * rows if is_zero else sample(type_name, width * rows, kind, rng.random())
        stretches.append([made[i:i + width * nbytes] for i in range(0, len(made), width * nbytes)])
    elements = b"".join(itertools.chain(*zip(*stretches)))
    gap = b"\x7f" * (nbytes * (abs(step) - 1))
    laid = Laid(type_name, (1,), rng)
    laid.data = b"".join(elements[i:i + nbytes] + gap for i in range(0, len(elements), nbytes))
    laid.shape, laid.strides = (rows, columns), (columns * abs(step) * nbytes, step * nbytes)
    laid.offset = (columns - 1) * -step * nbytes if step < 0 else 0
    return laid


@pytest.mark.sampled
@pytest.mark.parametrize("type_name", ["f32", "f64", "i32", "u64"])
@pytest.mark.parametrize("step", [2, 3, -2, 8, 9])
def test_columns_apart(handle, type_name, step):
    """Of so many rows that panels read them: what these do not add up is copied, or, of very many rows, taken by tiles."""
    rng, many = random.Random(f"columns apart {type_name} {step}"), 2**14 // struct.calcsize(TYPECODES[type_name]) + 50
    for rows, columns, ops in ((140, 70, 3), (301, 130, 1), (130, 1090, 0), *([(many, 66, 0)] if step == 2 else [])):
        laid = columns_apart(type_name, rows, columns, step, rng)
        for op in {"sum", rng.choice(["min", "max"]), *rng.sample(["mean", "argmin", "argmax", "norm1", "var"], ops)}:
            nan = rng.choice(["propagate", "omit", "error"])
            expected = expected_results(op, [laid], indices_along_axes(laid.shape, {0}), 3, nan=nan)
            got = returned(handle, op, library.wf_groups_axes(1), [laid.view()], nan=nan, first_index=3,
                           threads=rng.choice([1, 2, 3]))
            assert got == as_returned(expected, op, type_name), (rows, columns, op, nan)


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


@pytest.mark.parametrize("by", ("segments", "keys", "rows", "columns"))
@pytest.mark.parametrize("type_name", FLOATS)
def test_too_few_for_a_variance_take_the_fill(handle, type_name, by):
    """Whether they are NaN or not, as nothing is known of them."""
    rng, fill, seven = random.Random(f"too few {type_name} {by}"), wf.value_of_bits(wf.WF_U8, 7), nearest(type_name, 7)
    form, groups = FLOATS[type_name], 200
    for ddof, op in ((1, "var"), (2, "std"), (3, "var")):
        lengths = [rng.randrange(5) if by in ("segments", "keys") else 2 for _ in range(groups)]
        offsets = list(itertools.accumulate(lengths, initial=0))
        numbers = [form.nan if rng.random() < 0.3 else nearest(type_name, rng.randrange(9)) for _ in range(offsets[-1])]
        expected = [Oracle(type_name, pack(type_name, numbers[begin:end])).reduce(op, ddof=ddof)
                    for begin, end in itertools.pairwise(offsets)]
        expected = [(type_name, seven) if result == "WF_ERROR_EMPTY" else result for result in expected]
        keys = [number for number, length in enumerate(lengths) for _ in range(length)]
        labels = integer_vector(offsets if by == "segments" else keys, "i64")
        chosen = {"segments": lambda: library.wf_groups_segments(0, groups, byref(labels)),
                  "keys": lambda: library.wf_groups_keys(0, groups, byref(labels)),
                  "rows": lambda: library.wf_groups_axes(2), "columns": lambda: library.wf_groups_axes(1)}[by]()
        if by == "columns":
            numbers = numbers[::2] + numbers[1::2]
        shape = {"rows": (groups, 2), "columns": (2, groups)}.get(by, (offsets[-1],))
        nbytes = form.width // 8
        strides = (shape[-1] * nbytes, nbytes)[-len(shape):]
        view = wf.strided(pack(type_name, numbers), type_name, shape, strides)
        assert handle.reduce_groups(op, chosen, view, ddof=ddof, fill=fill) == expected, (op, ddof)


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


@pytest.mark.parametrize("position", [1, 1022, 1023, 1024, 1025, 2048, 2999, 3000])
@pytest.mark.parametrize("step", [1, 2])
def test_bad_offsets_among_many(handle, position, step):
    """Of segments of one length but for the bad one, and of others: they are read some hundreds at a time."""
    good = [2 * i + (step == 2 and i % 7 == 3) for i in range(3001)]
    array = wf.vector(bytes(4 * good[-1]), "i32")
    fallen, outside = good[position - 1] - 1, good[-1] + 1
    for bad, said in ((fallen, f"less than the one before it, {good[position - 1]}" if fallen >= 0 else "outside of the axis of length 6000"),
                      (outside, "outside of the axis of length 6000"), (-2**31, "outside of the axis of length 6000")):
        labels = integer_vector([*good[:position], bad, *good[position + 1:]], "i32")
        assert returned(handle, "sum", library.wf_groups_segments(0, 3000, byref(labels)), [array]) == "WF_ERROR_RANGE"
        assert handle.message == f"offset {position} is {bad}, {said}"


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
