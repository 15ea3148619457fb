"""Accumulators with a shape: however the grouped axis is cut, in whatever order the pieces are added or merged, each
result is the oracle's for its group; what is subtracted was never there."""

import ctypes
import itertools
import math
import random
import struct
import zlib
from ctypes import byref

import pytest

import warpfold_ctypes as wf
from group_helpers import (  # noqa: F401: handle is a fixture
    Laid, as_returned, expected_results, handle, indices_along_axes, indices_of_positions, integer_vector, operands,
    ops_for, random_offsets, random_shape)
from oracle import FLOATS, STATS, TYPECODES, TYPES, Oracle
from samples import nbytes_of, pack, sample
from warpfold_ctypes import library


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
        others = math.prod(n for d, n in enumerate(self.array_shape) if d != self.axis)
        self.count, self.row = rng.choice([0, 1, 2, 7, 30] if others < 50 else [0, 1]), 1
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

    def counts(self, nan):
        """Of each result the elements and the NaNs."""
        packed = [b"".join(map(self.arrays[0].at, indices)) for _, _, indices in self.indices()]
        oracles = [Oracle(self.type, elements) for elements in packed]
        return [[oracle.count(nan) for oracle in oracles], [len(oracle.nans) for oracle in oracles]]

    def vector(self, labels, type_name):
        return integer_vector(labels, type_name)

    def strided(self, array, *laid):
        return wf.strided(array.data, self.type, *laid)

    def groups(self, begin, end):
        """Those of the positions begin <= i < end; keeps what they point to."""
        if self.by == "axes":
            return library.wf_groups_axes(sum(1 << d for d in self.axes))
        if self.by == "segments":
            labels = self.vector([min(max(offset, begin), end) - begin for offset in self.labels], "i64")
            groups = library.wf_groups_segments(self.axis, self.count, byref(labels))
        else:
            labels = self.vector(self.labels[begin:end], "i8")
            groups = library.wf_groups_keys(self.axis, self.count, byref(labels))
        groups.kept = labels
        return groups

    def view(self, array, begin, end):
        shape = (*self.array_shape[:self.axis], end - begin, *self.array_shape[self.axis + 1:])
        return self.strided(array, shape, array.strides, array.offset + begin * array.strides[self.axis] if begin < end else 0)

    def add_to(self, accumulator, op, begin, end, threads=1):
        views = [self.view(array, begin, end) for array in operands(op, *self.arrays)]
        accumulator.add(views[0], threads, *views[1:], groups=self.groups(begin, end))


def create(handle, given, op, **chosen):
    return handle.accumulator(op, given.type, given.shape, flags=1, **chosen)


def results_of(accumulator, op):
    try:
        return accumulator.results(op) if accumulator.shape else accumulator.result(op)
    except wf.WarpfoldError as error:
        return error.code


def cut(rng, length, most=4):
    places = sorted(rng.randint(0, length) for _ in range(rng.randint(0, most)))
    return list(zip([0, *places], [*places, length]))


def is_tree(op, type_name):
    return op == "prod" and type_name in FLOATS


# ---- the same bits, however the axis is cut ----------------------------------------------------------


@pytest.mark.sampled
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
            assert whole.shape == given.shape
            assert op == "dot" or whole.counts() == one_by_one.counts() == given.counts(nan), context
            saved = whole.save()
            assert one_by_one.save() == saved, context
            assert handle.load(saved).save() == saved, context
            assert results_of(handle.load(saved), op) == expected, context
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
            assert parts[0].save() == saved, context


@pytest.mark.parametrize("by", ["axes", "keys"])
def test_every_result_that_is_held(handle, by):
    rng = random.Random(f"held {by}")
    for type_name, turn in itertools.product(("f64", "bf16", "i16", "u64"), range(3)):
        given = Grouped(by, type_name, rng)
        for held, ops in (("stats", STATS), ("var", ("sum", "mean", "std", "norm2")), ("nonzero", ("any", "all"))):
            accumulator = create(handle, given, held, first_index=3)
            for begin, end in cut(rng, given.length):
                given.add_to(accumulator, held, begin, end, 2)
            for op in (*ops, *((held,) if held != "stats" else ())):
                expected = as_returned(given.expected(op, 3), op, type_name)
                assert results_of(accumulator, op) == expected, (held, op)
            assert results_of(accumulator, "prod") == "WF_ERROR_UNSUPPORTED" or 0 in given.shape


def test_permuted_rows_give_equal_bytes(handle):
    rng = random.Random("permuted rows")
    keys, rows = [rng.randrange(17) for _ in range(400)], sample("f32", 400 * 3, "wild")
    seen = set()
    for threads in (1, 2, 3):
        order = rng.sample(range(400), 400)
        labels = integer_vector([keys[i] for i in order], "u16")
        data = b"".join(rows[12 * i:12 * i + 12] for i in order)
        accumulator = handle.accumulator("var", "f32", (17, 3))
        accumulator.add(wf.strided(data, "f32", (400, 3), (12, 4)), threads,
                        groups=library.wf_groups_keys(0, 17, byref(labels)))
        seen.add(accumulator.save())
    assert len(seen) == 1


@pytest.mark.parametrize("op, type_name", [("sum", "f64"), ("argmax", "i16"), ("prod", "f32"), ("var", "f32"), ("xor", "u8")])
def test_threads_share_large_groups_and_long_columns(handle, op, type_name):
    nbytes = struct.calcsize(TYPECODES[type_name])
    count = 9 * 2**20 // nbytes
    data = (sample(type_name, 4099, "plain") * (count // 4099 + 1))[:count * nbytes]
    offsets = [0, 1, 2, 2, count - 5, count - 4, count]
    labels = integer_vector(offsets, "i64")
    segments = library.wf_groups_segments(0, 6, byref(labels))
    rows = wf.strided(data, type_name, (count // 9, 9), (9 * nbytes, nbytes))
    whole, fill = wf.vector(data, type_name), wf.value_of_bits(wf.WF_U8, 0)
    for array, groups in ((whole, segments), (rows, library.wf_groups_axes(1))):
        shape = wf.groups_shape(array, groups)
        seen = {}
        for threads in (1, 2, 5):
            accumulator = handle.accumulator(op, type_name, shape, fill=fill)
            accumulator.add(array, threads, groups=groups)
            seen[accumulator.save()] = accumulator.results(op)
        assert list(seen.values()) == [handle.reduce_groups(op, groups, array, fill=fill)]


def test_many_keys(handle):
    """As many groups as elements, and ten times as many."""
    rng = random.Random("many keys")
    count = 20000
    data, keys = sample("f32", count, "special"), [rng.randrange(10 * count) for _ in range(count)]
    labels = integer_vector(keys, "i32")
    groups = library.wf_groups_keys(0, 10 * count, byref(labels))
    accumulator = handle.accumulator("sum", "f32", (10 * count,))
    for half in (0, 1):
        part = integer_vector(keys[half * count // 2:(half + 1) * count // 2], "i32")
        accumulator.add(wf.vector(data, "f32", count // 2, half * count // 2 * 4),
                        groups=library.wf_groups_keys(0, 10 * count, byref(part)))
    assert accumulator.results("sum") == handle.reduce_groups("sum", groups, wf.vector(data, "f32"))
    assert accumulator.count == count


def test_elementwise(handle):
    """Nothing is reduced: each array is added to the results element by element."""
    accumulator = handle.accumulator("sum", "f32", (2, 2), result_type="f64")
    for values in ((1e30, 1, -1e30, 0.5), (2, 2, 2, 2), (-1e30, 0, 1e30, 0)):
        accumulator.add(wf.strided(struct.pack("<4f", *values), "f32", (2, 2), (8, 4)), groups=library.wf_groups_axes(0))
    assert accumulator.results("sum") == [("f64", x) for x in struct.unpack("<4Q", struct.pack("<4d", 2, 3, 2, 2.5))]


# ---- subtracting ----------------------------------------------------------------------------------------


SUBTRACTED = ("sum", "mean", "var", "std", "norm1", "norm2", "dot", "any", "all", "nonzero", "xor")


def finite(type_name, rng, kind="wild"):
    """What has no infinity; NaNs it has, and zeros of either sign."""
    form = FLOATS.get(type_name)
    nbytes = struct.calcsize(TYPECODES[type_name])
    data = bytearray(sample(type_name, 600, kind, seed=rng.random()))
    for i in range(0, len(data), nbytes):
        bits = int.from_bytes(data[i:i + nbytes], "little")
        if form and bits & (form.sign - 1) == form.infinity:
            data[i:i + nbytes] = form.nan.to_bytes(nbytes, "little")
    return bytes(data)


@pytest.mark.sampled
@pytest.mark.parametrize("type_name", TYPES)
@pytest.mark.parametrize("shape", [(), (5,)])
def test_what_is_subtracted_was_never_there(handle, type_name, shape):
    rng = random.Random(f"subtract {type_name} {shape}")
    nbytes = struct.calcsize(TYPECODES[type_name])
    for op, nan in itertools.product(SUBTRACTED, ("propagate", "omit")):
        if op == "xor" and type_name in FLOATS:
            continue
        data = finite(type_name, rng, "special")
        keys = [rng.randrange(5) for _ in range(600)]

        def added(*ranges):
            accumulator = handle.accumulator(op, type_name, shape, nan=nan)
            for begin, end in ranges:
                view = wf.vector(data, type_name, end - begin, begin * nbytes)
                labels = integer_vector(keys[begin:end], "u8")
                groups = library.wf_groups_keys(0, 5, byref(labels)) if shape else None
                accumulator.add(view, b=view if op == "dot" else None, groups=groups)
            return accumulator

        window = added((0, 200), (200, 400))
        window.subtract(added((0, 200)))
        never = added((200, 400))
        if op != "xor" or shape:
            assert window.save() == never.save(), (op, nan)
        assert window.count == never.count == 200
        for begin in (200, 300):
            part = added((begin, begin + 100))
            window.merge(added((begin + 200, begin + 300)))
            window.subtract(part if rng.random() < 0.5 else handle.load(part.save()))
        slid = added((400, 600))
        assert results_of(window, op) == results_of(slid, op), (op, nan)
        if op != "xor" or shape:
            assert window.save() == slid.save(), (op, nan)
        window.subtract(handle.load(window.save()))
        assert window.save() == added().save(), (op, nan)
        slid.subtract(slid)
        assert slid.save() == added().save(), (op, nan)


def test_what_an_accumulator_of_xor_still_knows(handle):
    data = wf.vector(bytes([1, 2, 4, 7]), "u8")
    one = wf.vector(bytes([2]), "u8")
    whole, part = handle.accumulator("xor", "u8"), handle.accumulator("xor", "u8")
    whole.add(data)
    assert whole.result("or") == ("u8", 7)
    part.add(one)
    whole.subtract(part)
    loaded = handle.load(whole.save())
    assert loaded.save() == whole.save()
    for accumulator in (whole, loaded):
        assert accumulator.result("xor") == ("u8", 2)
        for op in ("or", "and"):
            assert results_of(accumulator, op) == results_of(handle.accumulator("xor", "u8", (1,)), op) == \
                "WF_ERROR_UNSUPPORTED"
    part.merge(whole)
    assert part.result("xor") == ("u8", 0)
    with pytest.raises(wf.WarpfoldError, match="or is not known"):
        part.result("or")


@pytest.mark.parametrize("shape", [(), (2,)])
@pytest.mark.parametrize("op", ["prod", "min", "max", "argmin", "argmax", "norminf", "and", "or", "stats"])
def test_ops_that_cannot_subtract_say_so(handle, op, shape):
    accumulator = handle.accumulator(op, "i32", shape)
    with pytest.raises(wf.WarpfoldError, match=f"WF_ERROR_UNSUPPORTED: an accumulator of {op} cannot subtract"):
        accumulator.subtract(accumulator)


def add_values(accumulator, *values, type_name="f64"):
    """To each of the results, if there are several, the next value."""
    data = struct.pack(f"<{len(values)}{TYPECODES[type_name].replace('Q', 'd').replace('I', 'f')}", *values) \
        if type_name == "f64" else pack(type_name, values)
    groups = library.wf_groups_axes(0) if accumulator.shape else None
    accumulator.add(wf.vector(data, type_name), groups=groups)
    return accumulator


def subtraction(handle, op, values, taken, **chosen):
    """The bits of what remains, or the code of the error, of a single result and of one among others."""
    outcomes = []
    for shape in ((), (3,)):
        whole, part = (handle.accumulator(op, "f64", shape, **chosen) for _ in range(2))
        for accumulator, given in ((whole, values), (part, taken)):
            for value in given:
                add_values(accumulator, *((1, value, 1) if shape else (value,)))
        before = whole.save()
        try:
            whole.subtract(part)
            outcomes.append(whole.results(op)[1] if shape else whole.result(op))
        except wf.WarpfoldError as error:
            outcomes.append(error.code)
            assert whole.save() == before
            assert error.code != "WF_ERROR_MERGE" or not shape or "result " in error.message
    return outcomes


def bits(value):
    return "f64", struct.unpack("<Q", struct.pack("<d", value))[0]


def test_infinities_and_zeros_that_remain(handle):
    inf, nan = float("inf"), float("nan")
    assert subtraction(handle, "sum", [inf, 1, 2], [1]) == [bits(inf)] * 2
    assert subtraction(handle, "sum", [inf, 1], [inf]) == ["WF_ERROR_MERGE"] * 2
    assert subtraction(handle, "sum", [1, 1], [inf]) == ["WF_ERROR_MERGE"] * 2
    assert subtraction(handle, "sum", [inf, -inf], [inf, -inf]) == [bits(0.0)] * 2
    assert subtraction(handle, "sum", [nan, 1], [nan]) == [bits(1.0)] * 2
    assert subtraction(handle, "sum", [-0.0, -0.0], [-0.0]) == [bits(-0.0)] * 2
    assert subtraction(handle, "sum", [5, 0.0], [5]) == [bits(0.0)] * 2


def test_what_was_not_added(handle):
    for values, taken in (([1], [1, 1]), ([1, 2], [3]), ([1, 2], [2.0**-1074]), ([1], [float("nan")]), ([2], [1, 0.5])):
        assert subtraction(handle, "var", values, taken) == ["WF_ERROR_MERGE"] * 2, (values, taken)
    assert subtraction(handle, "norm1", [1, 2], [1, 4]) == ["WF_ERROR_MERGE"] * 2
    assert subtraction(handle, "nonzero", [0, 2], [1, 1]) == ["WF_ERROR_MERGE"] * 2


def test_a_nan_that_is_an_error_stays_with_all_results(handle):
    accumulator, other = (handle.accumulator("sum", "f64", (2, 2), nan="error") for _ in range(2))
    row = wf.strided(struct.pack("<4d", 1, 2, 3, float("nan")), "f64", (1, 2, 2), (32, 16, 8))
    plain = wf.strided(struct.pack("<4d", 1, 2, 3, 4), "f64", (1, 2, 2), (32, 16, 8))
    other.add(plain, groups=library.wf_groups_axes(1))
    before = other.save()
    accumulator.add(plain, groups=library.wf_groups_axes(1))
    for array in (row, plain):
        with pytest.raises(wf.WarpfoldError, match="WF_ERROR_NAN: result 3: NaN at index 1"):
            accumulator.add(array, groups=library.wf_groups_axes(1))
    assert results_of(accumulator, "sum") == "WF_ERROR_NAN"
    assert handle.message == "result 3: NaN at index 1"
    for whole, part in ((accumulator, other), (other, accumulator)):
        with pytest.raises(wf.WarpfoldError, match="WF_ERROR_NAN"):
            whole.subtract(part)
    assert results_of(handle.load(accumulator.save()), "sum") == "WF_ERROR_NAN"
    assert other.save() == before


@pytest.mark.parametrize("shape", [(), (2,)])
def test_indices_that_remain(handle, shape):
    """Under WF_NAN_ERROR indices are saved: those that were added last, or first, are taken off the hull."""
    def added(first_index, count):
        accumulator = handle.accumulator("sum", "i32", shape, nan="error", first_index=first_index)
        data = wf.strided(bytes(8 * count), "i32", (count, *shape), (8, *[4] * len(shape)))
        accumulator.add(data, groups=library.wf_groups_axes(1))
        return accumulator

    whole = added(5, 10)
    whole.merge(added(15, 7))
    whole.subtract(added(15, 7))
    assert whole.save() == added(5, 10).save()
    whole.subtract(added(5, 4))
    assert whole.save() == added(9, 6).save()
    whole.subtract(added(10, 4))  # from the middle
    assert handle.load(whole.save()).count == 2 * (2 if shape else 1)
    whole.subtract(added(9, 1))
    assert handle.load(whole.save()).save() == whole.save()
    twice = added(0, 3)
    twice.merge(added(0, 3))
    twice.subtract(added(0, 3))
    assert twice.save() == added(0, 3).save()


# ---- results and where they go --------------------------------------------------------------------------


def test_fill_and_results_without_a_value(handle):
    labels = integer_vector([0, 2, 2], "u8")
    groups = library.wf_groups_keys(0, 4, byref(labels))
    data = wf.vector(struct.pack("<3i", 5, 6, 7), "i32")
    fill = wf.value_of_bits(wf.WF_F64, bits(-5.0)[1])
    filled, bare = handle.accumulator("min", "i32", (4,), fill=fill), handle.accumulator("min", "i32", (4,))
    for accumulator in (filled, bare):
        accumulator.add(data, groups=groups)
    filled = handle.load(filled.save())
    assert filled.results("min") == [("i32", x) for x in (5, -5, 6, -5)]
    assert results_of(bare, "min") == "WF_ERROR_EMPTY"
    assert handle.message == "result 1: min of no elements is undefined"
    mean = handle.accumulator("mean", "i32", (4,))
    mean.add(data, groups=groups)
    assert mean.results("mean") == [bits(5.0), ("f64", FLOATS["f64"].nan), bits(6.5), ("f64", FLOATS["f64"].nan)]
    assert mean.results("sum") == [("i64", x) for x in (5, 0, 13, 0)]
    index = handle.accumulator("argmin", "i32", (4,), fill=fill)
    index.add(data, groups=groups)
    assert results_of(index, "argmin") == "WF_ERROR_RANGE" and "fill" in handle.message
    filled.merge(bare)
    assert filled.results("min") == [("i32", x) for x in (5, -5, 6, -5)]


def test_a_result_that_does_not_fit_is_named(handle):
    accumulator = handle.accumulator("sum", "i64", (2, 2))
    for _ in range(2):
        accumulator.add(wf.array_nd(ctypes.addressof(BIG), "i64", (2, 2)), groups=library.wf_groups_axes(0))
    assert results_of(accumulator, "sum") == "WF_ERROR_RANGE"
    assert handle.message.startswith("result 2: sum is about 9.22")


BIG = (ctypes.c_int64 * 4)(1, 2, 2**62, 2**62)


def test_outputs(handle):
    accumulator = handle.accumulator("sum", "f64", (3,))
    add_values(accumulator, 3.0, 4.0, 5.0)
    memory, status = (ctypes.c_double * 6)(*[7] * 6), ctypes.c_int32(99)
    chosen = dict(data=ctypes.addressof(memory) + 32, ndim=1, shape=(ctypes.c_int64 * 1)(3),
                  stride_bytes=(ctypes.c_int64 * 1)(-16), status=ctypes.addressof(status))
    result = lambda **other: library.wf_accumulator_result(  # noqa: E731
        handle.pointer, accumulator.pointer, wf.WF_SUM, byref(wf.wf_output(**{**chosen, **other})))
    assert result() == 0 and list(memory) == [5, 7, 4, 7, 3, 7] and status.value == 0
    memory[:] = [7] * 6
    for wrong in (dict(ndim=0), dict(ndim=2), dict(shape=(ctypes.c_int64 * 1)(2)), dict(shape=None), dict(data=None),
                  dict(type=wf.WF_F32)):
        assert wf.ERRORS[result(**wrong)] == "WF_ERROR_ARGUMENT" and set(memory) == {7}, wrong
    assert wf.ERRORS[library.wf_accumulator_result(handle.pointer, accumulator.pointer, wf.WF_SUM, None)] == \
        "WF_ERROR_ARGUMENT"
    value, stats = wf.wf_value(), wf.new_stats()
    assert wf.ERRORS[library.wf_accumulator_value(handle.pointer, accumulator.pointer, wf.WF_SUM, byref(value))] == \
        "WF_ERROR_ARGUMENT"
    statistics = handle.accumulator("stats", "f64", (3,))
    assert wf.ERRORS[library.wf_accumulator_stats(handle.pointer, statistics.pointer, byref(stats))] == "WF_ERROR_ARGUMENT"
    assert results_of(statistics, "stats") == "WF_ERROR_UNSUPPORTED"


def test_counts(handle):
    """By every stride; of one result, too; of pairs, and of what was taken out."""
    counts, nan = [(ctypes.c_int64 * 6)(*[7] * 6) for _ in range(2)], math.nan
    chosen = dict(ndim=1, shape=(ctypes.c_int64 * 1)(3), stride_bytes=(ctypes.c_int64 * 1)(-16))
    accumulator = add_values(add_values(handle.accumulator("sum", "f64", (3,), nan="omit"), 3.0, nan, nan), nan, nan, 1.0)
    outputs = [wf.wf_output(data=ctypes.addressof(memory) + 32, **chosen) for memory in counts]
    read = lambda *outputs: wf.ERRORS[library.wf_accumulator_counts(  # noqa: E731
        handle.pointer, accumulator.pointer, *(output and byref(output) for output in outputs))]
    assert read(*outputs) == "WF_OK" and [list(memory) for memory in counts] == [[1, 7, 0, 7, 1, 7], [1, 7, 2, 7, 1, 7]]
    assert read(None, None) == read(outputs[0], None) == read(None, outputs[1]) == "WF_OK"
    for wrong in (dict(data=None), dict(shape=(ctypes.c_int64 * 1)(2)), dict(type=wf.WF_F64), dict(ndim=0)):
        assert read(None, wf.wf_output(**{**chosen, "data": ctypes.addressof(counts[0]), **wrong})) == "WF_ERROR_ARGUMENT"
    single = add_values(handle.accumulator("argmax", "f64"), 1.0, nan, 2.0)
    assert single.counts() == [[3], [1]]
    for wrong in (dict(data=None), dict(ndim=1), dict(type=wf.WF_I32)):
        output = wf.wf_output(**{"data": ctypes.addressof(counts[0]), **wrong})
        assert wf.ERRORS[library.wf_accumulator_counts(handle.pointer, single.pointer, byref(output), None)] == \
            "WF_ERROR_ARGUMENT"
    rest = add_values(handle.accumulator("sum", "f64"), 1.0, nan, 2.0, nan)
    rest.subtract(add_values(handle.accumulator("sum", "f64"), nan, 2.0))
    assert rest.counts() == [[2], [1]]


def test_a_result_type_is_asked_for_once(handle):
    accumulator = handle.accumulator("var", "i16", (2,), result_type="f32")
    types = [library.wf_accumulator_op_result_type(accumulator.pointer, wf.OP_BY_NAME[op])
             for op in ("var", "sum", "mean", "min")]
    assert types == [wf.WF_F32, wf.WF_F32, wf.WF_F32, wf.WF_TYPE_DEFAULT]
    assert library.wf_accumulator_op_result_type(None, wf.WF_SUM) == wf.WF_TYPE_DEFAULT


# ---- what does not fit ------------------------------------------------------------------------------------


def code_of(call, *arguments, **chosen):
    with pytest.raises(wf.WarpfoldError) as caught:
        call(*arguments, **chosen)
    return caught.value.code


def test_shapes_that_cannot_be(handle):
    pointer = ctypes.c_void_p(1)
    for ndim, lengths in ((-1, [1]), (65, [1] * 65), (1, None), (1, [-1]), (2, [2**62, 2**62]), (2, [0, -1])):
        shape = lengths and (ctypes.c_int64 * len(lengths))(*lengths)
        assert wf.ERRORS[library.wf_accumulator_create(handle.pointer, byref(wf.reduction("sum")), wf.WF_F64, ndim, shape,
                                                       byref(pointer))] == "WF_ERROR_ARGUMENT", lengths
        assert not pointer.value
    assert code_of(handle.accumulator, "sum", "f64", (2**60,)) == "WF_ERROR_MEMORY"
    assert code_of(handle.accumulator, "xor", "f64", (2,)) == "WF_ERROR_UNSUPPORTED"
    assert library.wf_accumulator_shape(None, None, None) == 1
    one = handle.accumulator("sum", "f32", (1,) * 64)
    offsets = integer_vector([0, 0], "i32")
    one.add(wf.array_nd(None, "f32", (1,) * 63 + (0,)), groups=library.wf_groups_segments(63, 1, byref(offsets)))
    one.add(wf.strided(struct.pack("<f", 2), "f32", (1,) * 64, (4,) * 64), groups=library.wf_groups_axes(0))
    assert one.results("sum") == [("f32", 0x40000000)] and one.shape == (1,) * 64


def test_no_results_at_all(handle):
    accumulator = handle.accumulator("min", "f64", (0, 3))
    accumulator.add(wf.array_nd(None, "f64", (0, 5, 3)), groups=library.wf_groups_axes(2))
    accumulator.merge(accumulator)
    assert accumulator.results("min") == [] and accumulator.count == 0
    assert handle.load(accumulator.save()).shape == (0, 3)


def test_groups_of_another_shape_are_refused(handle):
    accumulator, single = handle.accumulator("sum", "i32", (3,)), handle.accumulator("sum", "i32")
    plane = wf.strided(struct.pack("<6i", *range(6)), "i32", (2, 3), (12, 4))
    accumulator.add(plane, groups=library.wf_groups_axes(1))
    before = accumulator.save()
    labels = integer_vector([0, 1, 9], "i32")
    bad_offsets = integer_vector([0, 1, 9, 2], "i32")
    for array, groups, code in (
        (plane, None, "WF_ERROR_ARGUMENT"), (plane, library.wf_groups_axes(2), "WF_ERROR_ARGUMENT"),
        (plane, library.wf_groups_axes(0), "WF_ERROR_ARGUMENT"), (plane, library.wf_groups_axes(3), "WF_ERROR_ARGUMENT"),
        (plane, library.wf_groups_axes(4), "WF_ERROR_ARGUMENT"),
        (wf.vector(bytes(12), "i32"), library.wf_groups_keys(0, 2, byref(labels)), "WF_ERROR_ARGUMENT"),
        (wf.vector(bytes(12), "f32"), library.wf_groups_keys(0, 3, byref(labels)), "WF_ERROR_ARGUMENT"),
        (wf.vector(bytes(12), "i32"), library.wf_groups_keys(0, 3, byref(labels)), "WF_ERROR_RANGE"),
        (wf.vector(bytes(12), "i32"), library.wf_groups_segments(0, 3, byref(bad_offsets)), "WF_ERROR_RANGE"),
        (wf.array_nd(None, "i32", (2**63 - 1, 0, 3)), library.wf_groups_axes(3), "WF_OK"),
    ):
        if code != "WF_OK":
            assert code_of(accumulator.add, array, groups=groups) == code and handle.message
            assert accumulator.save() == before
    for groups in (library.wf_groups_axes(1), library.wf_groups_axes(0)):
        assert code_of(single.add, plane, groups=groups) == "WF_ERROR_ARGUMENT"
    single.add(plane, groups=library.wf_groups_axes(3))
    assert single.result("sum") == ("i64", 15)
    for into, part in ((single, accumulator), (accumulator, single), (accumulator, handle.accumulator("sum", "i32", (3, 1))),
                       (accumulator, handle.accumulator("mean", "i32", (3,)))):
        assert code_of(into.merge, part) == code_of(into.subtract, part) == "WF_ERROR_MERGE"
    assert accumulator.save() == before


def test_too_many_positions(handle):
    accumulator = handle.accumulator("argmax", "i8", (1,), first_index=2**63 - 3)
    for _ in range(2):
        accumulator.add(wf.strided(b"\1", "i8", (1, 1), (0, 0)), groups=library.wf_groups_axes(1))
    assert code_of(accumulator.add, wf.strided(b"\1", "i8", (1, 1), (0, 0)), groups=library.wf_groups_axes(1)) == \
        "WF_ERROR_RANGE"
    assert accumulator.results("argmax") == [("u64", 2**63 - 3)]


def test_a_reader_has_no_groups(handle, tmp_path):
    path = tmp_path / "x.raw"
    path.write_bytes(bytes(16))
    paths, reader = (ctypes.c_char_p * 1)(str(path).encode()), ctypes.c_void_p()
    options = wf.wf_reader_options(nbytes=ctypes.sizeof(wf.wf_reader_options), format=2, type=wf.WF_F64)
    handle.check(library.wf_reader_open(handle.pointer, paths, 1, byref(options), byref(reader)))
    accumulator = handle.accumulator("sum", "f64", (2,))
    code = library.wf_accumulator_add_reader(handle.pointer, accumulator.pointer, reader, None)
    library.wf_reader_close(reader)
    assert wf.ERRORS[code] == "WF_ERROR_UNSUPPORTED"


def test_indices_given_twice(handle):
    accumulator = handle.accumulator("stats", "u8", (2,))
    accumulator.add(wf.strided(bytes([1, 2, 3, 4]), "u8", (2, 2), (2, 1)), groups=library.wf_groups_axes(1))
    assert accumulator.results("argmax") == [("u64", 1)] * 2
    accumulator.merge(handle.load(accumulator.save()))
    for known in (accumulator, handle.load(accumulator.save())):
        assert results_of(known, "argmax") == "WF_ERROR_MERGE" and "overlapping indices" in handle.message
        assert known.results("sum") == [("u64", 8), ("u64", 12)]


def test_products_that_are_not_neighbours(handle):
    one, other = (handle.accumulator("prod", "f64", (2,), first_index=first) for first in (0, 1))
    labels = integer_vector([0, 1, 1], "u8")
    for accumulator in (one, other):
        accumulator.add(wf.vector(struct.pack("<3d", 2, 3, 5), "f64"), groups=library.wf_groups_keys(0, 2, byref(labels)))
    before = one.save()
    assert code_of(one.merge, other) == "WF_ERROR_MERGE"
    assert handle.message.startswith("result 1: elements 0 to 1 and 1 to 2 are not neighbours")
    assert one.save() == before and one.results("prod") == [bits(2.0), bits(15.0)]


# ---- saved forms ------------------------------------------------------------------------------------------


def with_checksum(saved):
    return saved[:-4] + struct.pack("<I", zlib.crc32(saved[:-4]))


def saved_forms(handle, rng):
    for op, type_name, nan in (("sum", "f32", "propagate"), ("stats", "f16", "error"), ("prod", "f32", "omit"),
                               ("var", "i16", "omit"), ("xor", "u8", "propagate"), ("argmin", "bf16", "propagate"),
                               ("dot", "u64", "propagate"), ("prod", "i32", "propagate"), ("norminf", "f64", "error")):
        fill = rng.choice([None, wf.value_of_bits(wf.WF_F32, 0x3F800000)])
        accumulator = handle.accumulator(op, type_name, (2, 3), nan=nan, flags=1, fill=fill, first_index=rng.choice([0, 5]))
        labels = integer_vector([0, 2, 9, 0, 2], "u8")
        data = sample(type_name, 10, "coarse", op)
        view = wf.strided(data, type_name, (2, 5), (5 * len(data) // 10, len(data) // 10))
        accumulator.add(view, b=view if op == "dot" else None, groups=library.wf_groups_keys(1, 3, byref(labels)))
        yield accumulator.save()


def test_mutated_forms_with_mended_checksums(handle):
    """Either refused, or saved again as just these bytes; what is taken out of such a one can be saved and loaded, too."""
    rng, loaded, tried = random.Random("mutated"), 0, 0
    for saved in saved_forms(handle, rng):
        honest = handle.load(saved)
        assert honest.save() == saved
        for _ in range(150):
            mutant = bytearray(saved)
            for _ in range(rng.choice((1, 1, 1, 2, 4))):
                place = rng.randrange(12, len(saved) - 4)
                mutant[place] = rng.choice((mutant[place] ^ 1 << rng.randrange(8), rng.randrange(256), 0, 255))
            mutant, tried = with_checksum(bytes(mutant)), tried + 1
            try:
                accumulator = handle.load(mutant)
            except wf.WarpfoldError as error:
                assert error.code in ("WF_ERROR_FORMAT", "WF_ERROR_MEMORY")
                continue
            loaded += 1
            assert accumulator.save() == mutant
            for op in wf.OP_BY_NAME:
                results_of(accumulator, op)
            for other in (honest, accumulator):
                try:
                    accumulator.subtract(other)
                except wf.WarpfoldError:
                    pass
                assert handle.load(accumulator.save()).save() == accumulator.save()
    assert 0 < loaded < tried


def test_forms_that_are_cut_or_longer(handle):
    for saved in saved_forms(handle, random.Random("cut")):
        for length in range(len(saved) - 4):
            assert code_of(handle.load, with_checksum(saved[:length] + bytes(4))) == "WF_ERROR_FORMAT"
        for more in (1, 8, 1000):
            assert code_of(handle.load, with_checksum(saved[:-4] + bytes(more + 4))) == "WF_ERROR_FORMAT"


def test_more_results_than_bytes(handle):
    """A few bytes never make the loader take memory for results that they do not hold."""
    saved = handle.accumulator("sum", "f64", (1, 1)).save()
    begin = 12 + 12 + 3
    assert saved[begin:begin + 16] == struct.pack("<2q", 1, 1)
    for shape in ((2**31, 2**30), (2**62, 4), (2**63 - 1, 1), (1, 2**40), (0, 1), (2, 1), (2**64 - 1, 1)):
        mutant = saved[:begin] + struct.pack("<2Q", *shape) + saved[begin + 16:]
        assert code_of(handle.load, with_checksum(mutant)) == "WF_ERROR_FORMAT", shape


def test_an_auto_handle_takes_host_memory():
    """What a GPU's handle and memory say is in tests/test_gpu.py."""
    handle = wf.Handle("auto")
    accumulator = handle.accumulator("sum", "f64", (2,))
    add_values(accumulator, 1.0, 2.0)
    assert accumulator.results("sum") == [bits(1.0), bits(2.0)]


@pytest.mark.parametrize("op", ["sum", "prod", "argmax"])
def test_exchanged(handle, op):
    """What two hold, but for a shape and none; and each goes on with what it got."""
    made = []
    for shape, type_name in (((), "f64"), ((), "f32"), ((3,), "f64"), ((2,), "f32")):
        array = wf.strided(sample(type_name, 12, "plain", op), type_name, (*shape, 12 // (shape or (1,))[0]),
                           [12 // n * nbytes_of(type_name) for n in shape] + [nbytes_of(type_name)])
        groups = library.wf_groups_axes(2) if shape else None
        made.append((handle.accumulator(op, type_name, shape), array, groups))
        made[-1][0].add(array, groups=groups)
    for (one, array, groups), (other, _, _) in (made[:2], made[2:]):
        saved = one.save(), other.save()
        one.swap(other)
        assert (other.save(), one.save()) == saved
        one.swap(one)
        assert one.save() == saved[1]
        for accumulator in (other, again := handle.load(saved[0])):
            accumulator.add(array, groups=groups)
        assert other.save() == again.save() != saved[0] and one.save() == saved[1]
    with pytest.raises(wf.WarpfoldError, match="one of them has a shape"):
        made[0][0].swap(made[2][0])
    assert library.wf_accumulator_swap(handle.pointer, made[0][0].pointer, None) == wf.WF_ERROR_ARGUMENT


@pytest.mark.parametrize("op", ["sum", "prod", "argmax", "var"])
@pytest.mark.parametrize("type_name", ["f64", "bf16", "i32"])
def test_appended_rows(handle, op, type_name):
    """Rows that follow each other, in parts of any height, none included, have the bytes of all at once."""
    rows, columns, nbytes = 7, 40, nbytes_of(type_name)
    values, groups = sample(type_name, rows * columns, "plain", op), library.wf_groups_axes(2)

    def rows_of(begin, end):
        accumulator = handle.accumulator(op, type_name, (end - begin,))
        accumulator.add(wf.strided(values[begin * columns * nbytes : end * columns * nbytes], type_name, (end - begin, columns), [columns * nbytes, nbytes]), groups=groups)
        return accumulator

    whole = rows_of(0, 3)
    for begin, end in ((3, 3), (3, 4), (4, 7)):
        part = rows_of(begin, end)
        saved = part.save()
        whole.append(part)
        assert part.save() == saved
    assert whole.save() == rows_of(0, rows).save()


def test_rows_that_cannot_follow(handle):
    one, groups = handle.accumulator("sum", "f64", (2, 3)), library.wf_groups_axes(1)
    longer = handle.accumulator("sum", "f64", (2, 3))
    longer.add(wf.strided(bytes(8 * 12), "f64", (2, 2, 3), [48, 24, 8]), groups=groups)
    saved = one.save()
    for other, words in ((handle.accumulator("sum", "f64", (2, 4)), "only the first dimension may differ"),
                         (handle.accumulator("sum", "f64", (6,)), "different shapes"), (longer, "2 from 0 on"),
                         (handle.accumulator("sum", "f64"), "one of them has none"),
                         (handle.accumulator("sum", "f32", (2, 3)), "sum of f64 and sum of f32"), (one, "appended to itself")):
        with pytest.raises(wf.WarpfoldError, match=words):
            one.append(other)
    with pytest.raises(wf.WarpfoldError, match="no shape"):
        handle.accumulator("sum", "f64").append(handle.accumulator("sum", "f64"))
    assert one.save() == saved
    assert library.wf_accumulator_append(handle.pointer, one.pointer, None) == wf.WF_ERROR_ARGUMENT
