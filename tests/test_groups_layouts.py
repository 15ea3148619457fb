"""Rows and segments of one length, and groups whose elements lie apart, which are copied to tiles or read in place, of all ops.  Each
result is the oracle's for the elements of its group alone."""

import ctypes
import itertools
import mmap
import random
import struct
from ctypes import byref

import pytest

import warpfold_ctypes as wf
from group_helpers import (  # noqa: F401: handle is a fixture
    Groups, Laid, as_returned, expected_results, handle, indices_along_axes, indices_of_positions, integer_vector, operands,
    ops_for, returned)
from oracle import FLOATS, INTEGERS, TYPECODES, Oracle, ops_of
from samples import nearest, pack, sample, split

TYPES = [*INTEGERS, *FLOATS]
library = wf.library


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
    """(array, axes) of which neighbours do not lie side by side, or are few: columns of strided views, middle axes, and rows of
    few elements."""
    nbytes = struct.calcsize(TYPECODES[type_name])
    for shape, steps, axes in (((9, 140), (1, 2), {0}), ((130, 70), (1, 3), {0}), ((2, 5, 90), (1, 1, -2), {1}),
                               ((20, 4, 7), (1, 1, 1), {1}), ((5, 3, 2, 30), (1, 1, 1, 1), {1, 2}), ((70, 6, 1, 3), (1, 1, 1, 2), {1}),
                               ((2, 4, 3, 33), (1, 1, 2, 1), {0, 2}), ((3, 2, 100), (1, 1, 0), {1}),
                               ((70, 2), (1, 1), {1}), ((150, 3), (2, 1), {1}), ((2, 67, 4), (1, 1, 1), {2}), ((200, 7), (1, 1), {1})):
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
@pytest.mark.parametrize("length,step", [(8, 2), (40, 3), (130, 2), (1030, 2), (67, 4), (90, 5), (33, 6), (50, 7), (81, 8)])
def test_packed_rows(handle, type_name, length, step):
    """Groups whose elements lie apart, copied to rows side by side; with rows in either direction, and more than one tile."""
    rng, nbytes = random.Random(f"packed rows {type_name} {length}"), struct.calcsize(TYPECODES[type_name])
    count, pitch = rng.choice([2, 45, 67]), length * step + rng.choice([0, 5])
    kind = rng.choice(["plain", "plain", "special"])
    arrays, rows = [], []
    for seed in range(2):
        data = sample(type_name, count * pitch, kind, seed)
        sign = rng.choice([1, -1])
        offset = (count - 1) * pitch * nbytes if sign < 0 else 0
        arrays.append(wf.strided(data, type_name, (count, length), (sign * pitch * nbytes, step * nbytes), offset))
        cells = split(type_name, data)
        rows.append([b"".join(cells[r * pitch:r * pitch + length * step:step]) for r in range(count)][::sign])
    groups_of = Groups(type_name, *rows)
    for op in rng.sample([op for op in ("sum", "mean", "var", "max", "argmin", "norm1", "std") if op in ops_of(type_name)], 3) + ["dot"]:
        expected = groups_of.reduce(op)
        got = returned(handle, op, library.wf_groups_axes(2), arrays if op == "dot" else arrays[:1], threads=rng.choice([1, 2]))
        assert got == as_returned(expected, op, type_name), (op, count, pitch)


def before_nothing(data):
    """Where a copy of the data is, behind which no memory may be read; and what keeps it."""
    libc, page = ctypes.CDLL(None, use_errno=True), mmap.PAGESIZE
    room = -(-len(data) // page) * page
    kept = mmap.mmap(-1, room + page)
    first = ctypes.addressof(ctypes.c_char.from_buffer(kept))
    assert libc.mprotect(ctypes.c_void_p(first + room), ctypes.c_size_t(page), 0) == 0
    ctypes.memmove(first + room - len(data), data, len(data))
    return first + room - len(data), kept


@pytest.mark.sampled
@pytest.mark.parametrize("step", [2, 3, 4, 5])
@pytest.mark.parametrize("type_name", FLOATS)
def test_rows_apart_before_memory_ends(handle, type_name, step):
    """Rows whose elements are a few apart, and the last of which ends where memory does: exact or not, of -0, with special ones."""
    rng, nbytes = random.Random(f"rows apart {type_name} {step}"), struct.calcsize(TYPECODES[type_name])
    minus_zero = b"\0" * (nbytes - 1) + b"\x80"
    for count, length in ((2, 16), (3, 17), (9, 31), (20, 32), (70, 33), (8, 48), (5, 129), (17, 500), (2, 2048)):
        pitch = length * step + rng.choice([0, 3])
        kinds = ["plain"] * 3 + (["plain", "unit", "wild", "special"] if rng.random() < 0.5 else [])
        rows = [sample(type_name, length, rng.choice(kinds), seed=rng.random()) for _ in range(count)]
        rows[rng.randrange(count)] = minus_zero * length
        between = split(type_name, sample(type_name, count * pitch, "special", seed=rng.random()))
        for r, row in enumerate(rows):
            between[r * pitch:r * pitch + length * step:step] = split(type_name, row)
        address, kept = before_nothing(b"".join(between)[:((count - 1) * pitch + (length - 1) * step + 1) * nbytes])
        array = wf.array_nd(address, type_name, (count, length), (pitch * nbytes, step * nbytes))
        groups_of = Groups(type_name, rows)
        for op in ("sum", "mean", "norm1"):
            got = returned(handle, op, library.wf_groups_axes(2), [array], threads=rng.choice([1, 2]))
            assert got == as_returned(groups_of.reduce(op), op, type_name), (op, count, length)
        del array, kept
