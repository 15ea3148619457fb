"""Accumulators with a shape: however the grouped axis is cut, in whatever order the pieces are added or merged, each
result is the oracle's for its group; what is subtracted was never there."""

import ctypes
import itertools
import random
import struct
from ctypes import byref

import pytest

import warpfold_ctypes as wf
from group_helpers import (Laid, as_returned, expected_results, indices_along_axes, indices_of_positions, integer_vector,
                           operands, ops_for, random_offsets, random_shape)
from oracle import FLOATS, INTEGERS, STATS, TYPECODES, TYPES
from samples import pack, sample
from warpfold_ctypes import library


@pytest.fixture(params=[tier for tier in wf.TIERS if wf.tier_handle(tier)])
def handle(request):
    return wf.tier_handle(request.param)


# ---- arrays whose grouped axis is cut --------------------------------------------------------------------


class Grouped:
    """An array with groups, and the pieces of its grouped axis with the groups that they then have."""

    def __init__(self, by, type_name, rng):
        self.by, self.type = by, type_name
        self.array_shape = random_shape(rng, rng.randint(1 + (by == "axes"), 3), 1200)
        ndim = len(self.array_shape)
        self.axis = rng.randrange(ndim)
        self.arrays = [Laid(type_name, self.array_shape, rng, rng.choice(["special", "plain", "wild"])) for _ in range(2)]
        self.length = self.array_shape[self.axis]
        if by == "axes":
            # The cut runs along the first of the reduced axes, in whose C order positions count.
            self.axes = {self.axis, *(d for d in range(self.axis + 1, ndim) if rng.random() < 0.5)}
            if len(self.axes) == ndim:
                self.axes.discard(ndim - 1)
            self.shape = tuple(n for d, n in enumerate(self.array_shape) if d not in self.axes)
            self.row = 1
            for d in self.axes - {self.axis}:
                self.row *= self.array_shape[d]
            return
        self.count, self.row = rng.choice([0, 1, 2, 7, 30]), 1
        self.shape = (*self.array_shape[:self.axis], self.count, *self.array_shape[self.axis + 1:])
        if by == "segments":
            self.labels = random_offsets(rng, self.length, self.count)
        else:
            self.labels = [rng.randint(-1, self.count) for _ in range(self.length)]

    def indices(self):
        if self.by == "axes":
            return indices_along_axes(self.array_shape, self.axes)
        if self.by == "segments":
            positions = [(range(*pair), 0) for pair in itertools.pairwise(self.labels)]
        else:
            positions = [([i for i, key in enumerate(self.labels) if key == group], 0) for group in range(self.count)]
        return indices_of_positions(self.array_shape, self.axis, [(0, list(p), p) for p, _ in positions])

    def expected(self, op, first_index, **chosen):
        return expected_results(op, operands(op, *self.arrays), self.indices(), first_index, **chosen)

    def groups(self, begin, end):
        """Those of the positions begin <= i < end; keeps what they point to."""
        if self.by == "axes":
            return library.wf_groups_axes(sum(1 << d for d in self.axes))
        if self.by == "segments":
            labels = integer_vector([min(max(offset, begin), end) - begin for offset in self.labels], "i64")
            groups = library.wf_groups_segments(self.axis, self.count, byref(labels))
        else:
            labels = integer_vector(self.labels[begin:end], "i8")
            groups = library.wf_groups_keys(self.axis, self.count, byref(labels))
        groups.kept = labels
        return groups

    def view(self, array, begin, end):
        shape = (*self.array_shape[:self.axis], end - begin, *self.array_shape[self.axis + 1:])
        return wf.strided(array.data, self.type, shape, array.strides, array.offset + begin * array.strides[self.axis]
                          if begin < end else 0)

    def add_to(self, accumulator, op, begin, end, threads=1):
        views = [self.view(array, begin, end) for array in operands(op, *self.arrays)]
        accumulator.add(views[0], threads, *views[1:], groups=self.groups(begin, end))


def create(handle, given, op, **chosen):
    return handle.accumulator(op, given.type, given.shape, flags=1, **chosen)


def results_of(accumulator, op):
    try:
        return accumulator.results(op)
    except wf.WarpfoldError as error:
        return error.code


def cut(rng, length, most=4):
    places = sorted(rng.randint(0, length) for _ in range(rng.randint(0, most)))
    return list(zip([0, *places], [*places, length]))


def is_tree(op, type_name):
    return op == "prod" and type_name in FLOATS


# ---- the same bits, however the axis is cut ----------------------------------------------------------


@pytest.mark.parametrize("by", ["axes", "segments", "keys"])
@pytest.mark.parametrize("type_name", TYPES)
def test_pieces_of_the_axis(handle, type_name, by):
    rng = random.Random(f"shaped {by} {type_name}")
    for _ in range(4):
        given = Grouped(by, type_name, rng)
        for op in ops_for(type_name, rng, 5):
            first_index, nan = rng.choice([0, 7, 2**40 + 3]), rng.choice(["propagate", "omit"])
            whole = create(handle, given, op, first_index=first_index, nan=nan)
            given.add_to(whole, op, 0, given.length, rng.choice([1, 2, 3]))
            one_by_one = create(handle, given, op, first_index=first_index, nan=nan)
            pieces = cut(rng, given.length)
            for begin, end in pieces:
                given.add_to(one_by_one, op, begin, end, rng.choice([1, 2, 3]))
            expected = as_returned(given.expected(op, first_index, nan=nan), op, type_name)
            context = op, given.array_shape, given.shape, pieces
            assert results_of(whole, op) == expected, context
            assert results_of(one_by_one, op) == expected, context
            if is_tree(op, type_name) and by != "axes":
                continue
            parts = []
            for begin, end in pieces:
                parts.append(create(handle, given, op, first_index=first_index + begin * given.row, nan=nan))
                given.add_to(parts[-1], op, begin, end)
            while len(parts) > 1:
                i = rng.randrange(len(parts) - 1)
                j = i + 1 if is_tree(op, type_name) else rng.randrange(i + 1, len(parts))
                if rng.random() < 0.5:
                    parts[i], parts[j] = parts[j], parts[i]
                parts[i].merge(parts[j])
                del parts[j]
            assert results_of(parts[0], op) == expected, context
            assert parts[0].count == whole.count == one_by_one.count
