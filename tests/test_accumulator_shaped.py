"""Accumulators with a shape: however the grouped axis is cut, in whatever order the pieces are added or merged, each
result is the oracle's for its group; what is subtracted was never there."""

import ctypes
import itertools
import math
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
        return accumulator.results(op) if accumulator.shape else accumulator.result(op)
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
            assert whole.shape == given.shape
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
