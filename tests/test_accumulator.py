"""Accumulators: any split, any order of merging, any number of threads, any tier, saved and loaded on the way
give the same bits, those of the oracle; and damage or misfit is refused."""

import ctypes
import itertools
import random
import struct
import zlib
from ctypes import byref
from functools import lru_cache

import pytest

import warpfold_ctypes as wf
from each_type import EACH_TYPE
from oracle import FLOATS, INTEGERS, OPS, STATS, TYPES, Oracle, PairOracle, ops_of
from samples import FLAVOURS, NAN_POLICIES, agree, nbytes_of, outcome, pack, pack_values, sample
from warpfold_ctypes import library

INDEX_MAX = 2**63 - 1


@pytest.fixture(params=wf.TIERS)
def tier_handle(request):
    handle = wf.tier_handle(request.param)
    if handle is None:
        pytest.skip(f"skipped: no {request.param} here")
    assert request.param in handle.device
    return handle


@pytest.fixture(scope="module")
def handle():
    return wf.Handle()


def all_ops_of(type_name):
    return [*ops_of(type_name), "dot", "stats"]


class Input:
    """The one or two arrays of a reduction, by ranges of elements."""

    def __init__(self, op, type_name, count, flavour, seed):
        self.op, self.type, self.count = op, type_name, count
        self.data = [sample(type_name, count, flavour, f"{seed} {k}") for k in range(2 if op == "dot" else 1)]

    def oracle(self, first_index=0):
        make = PairOracle if self.op == "dot" else Oracle
        return make(self.type, *self.data, first_index=first_index)

    def expected(self, first_index, nan, result_type, ddof):
        if self.op == "stats":
            return self.oracle(first_index).stats(nan, result_type, ddof)
        return self.oracle(first_index).reduce(self.op, nan, result_type, ddof)

    def add_to(self, accumulator, start, end, threads=0):
        nbytes = nbytes_of(self.type)
        views = [wf.vector(data, self.type, end - start, start * nbytes) for data in self.data]
        add = accumulator.add_pair if self.op == "dot" else accumulator.add
        try:
            add(*views, threads)
        except wf.WarpfoldError as error:
            if error.code != "WF_ERROR_NAN":
                raise


def result_of(accumulator, op):
    return outcome(accumulator.stats) if op == "stats" else outcome(accumulator.result, op)


def cut(draw, start, end, most):
    """Random consecutive ranges that make up start..end; some may be empty."""
    places = sorted(draw.randint(start, end) for _ in range(draw.randint(0, most)))
    return list(zip([start, *places], [*places, end]))


def merge_in_random_order(draw, op, parts):
    """Any two at a time, in either direction; of prod, two neighbours."""
    while len(parts) > 1:
        i = draw.randrange(len(parts) - 1)
        j = i + 1 if op == "prod" else draw.randrange(i + 1, len(parts))
        if draw.random() < 0.5:
            parts[i], parts[j] = parts[j], parts[i]
        parts[i].merge(parts[j])
        del parts[j]
    return parts[0]


# ---- the same bits -----------------------------------------------------------------------------------


@pytest.mark.sampled
@pytest.mark.parametrize("type_name", EACH_TYPE)
def test_any_split_order_threads_tier_and_saving(type_name):
    handles = wf.tier_handles()
    for op, turn in itertools.product(all_ops_of(type_name), range(12)):
        draw = random.Random(f"{op} {type_name} {turn}")
        count = draw.choice((0, 1, 2, 5, 40, 200, 1000, 5000))
        chosen = dict(
            nan=draw.choice(NAN_POLICIES),
            result_type=draw.choice((None, None, "f64", "f32", "bf16", "i64")),
            ddof=draw.choice((0, 1)),
        )
        first_index = draw.choice((0, 0, 1, draw.getrandbits(20), draw.getrandbits(61)))
        given = Input(op, type_name, count, draw.choice(tuple(FLAVOURS)), turn)

        whole = draw.choice(handles).accumulator(op, type_name, first_index=first_index, **chosen)
        given.add_to(whole, 0, count)
        parts = []
        for start, end in cut(draw, 0, count, 6):
            part = draw.choice(handles).accumulator(op, type_name, first_index=first_index + start, **chosen)
            for low, high in cut(draw, start, end, 2):
                given.add_to(part, low, high, draw.choice((0, 1, 2, 3, 8)))
            if draw.random() < 0.3:
                part = draw.choice(handles).load(part.save())
            parts.append(part)
        joined = merge_in_random_order(draw, op, parts)

        context = op, type_name, f"turn {turn}", chosen, first_index
        expected = given.expected(first_index, **chosen)
        agree(expected, result_of(whole, op), "whole", *context)
        agree(expected, result_of(joined, op), "joined", *context)
        if expected != "WF_ERROR_NAN":
            assert joined.count == whole.count == count
            assert joined.save() == whole.save(), context
        reloaded = draw.choice(handles).load(joined.save())
        agree(expected, result_of(reloaded, op), "reloaded", *context)
        assert reloaded.save() == joined.save(), context


@lru_cache(maxsize=2)
def many_bytes(type_name, nbytes=600_000):
    """Finite elements of every exponent, enough for several threads."""
    data = random.Random(type_name).randbytes(nbytes)
    if type_name in INTEGERS:
        return data
    limit, lowest_bit = FLOATS[type_name].infinity, 1 << (FLOATS[type_name].precision - 1)
    elements = memoryview(data).cast({1: "B", 2: "H", 4: "I", 8: "Q"}[nbytes_of(type_name)])
    return pack(type_name, [x if x & limit != limit else x ^ lowest_bit for x in elements])


@pytest.mark.sampled
@pytest.mark.parametrize("type_name", TYPES)
def test_threads(tier_handle, type_name):
    """Every number of threads and every tier saves the bytes that one scalar thread saves."""
    data = many_bytes(type_name)
    view, offset = wf.vector(data, type_name), wf.vector(data, type_name, offset=nbytes_of(type_name))
    shorter = wf.vector(data, type_name, offset.count)
    for op in all_ops_of(type_name):

        def saved(handle, threads):
            accumulator = handle.accumulator(op, type_name, first_index=77, nan="error")
            if op == "dot":
                accumulator.add_pair(offset, shorter, threads)
            else:
                accumulator.add(view, threads)
            return accumulator.save()

        expected = saved(wf.tier_handle("scalar"), 1)
        for threads in (1, 2, 3, 8):
            assert saved(tier_handle, threads) == expected, (op, type_name, threads)


def test_order_of_elements_does_not_matter(handle):
    draw = random.Random(0)
    for type_name in FLOATS:
        elements = list(
            memoryview(many_bytes(type_name)).cast({1: "B", 2: "H", 4: "I", 8: "Q"}[nbytes_of(type_name)])
        )[:20000]
        seen = set()
        for _ in range(4):
            accumulator = handle.accumulator("stats", type_name)
            accumulator.add(wf.vector(pack(type_name, elements), type_name))
            stats = accumulator.stats()
            del stats["argmin"], stats["argmax"]
            seen.add(tuple(stats.values()))
            draw.shuffle(elements)
        assert len(seen) == 1


def test_adding_after_a_result(handle):
    for type_name, op in itertools.product(("f64", "bf16", "i32"), ("sum", "prod", "var", "argmax", "stats")):
        given = Input(op, type_name, 100, "unit", "more")
        accumulator = handle.accumulator(op, type_name)
        for start in range(0, 100, 10):
            given.add_to(accumulator, start, start + 10)
            result_of(accumulator, op)
            accumulator.save()
            assert accumulator.count == start + 10
        agree(given.expected(0, "propagate", None, 0), result_of(accumulator, op), op, type_name)


# ---- huge counts -------------------------------------------------------------------------------------


@pytest.mark.parametrize("type_name", TYPES)
def test_merged_with_itself_up_to_the_greatest_count(handle, type_name):
    elements = {"bool": [1, 0, 1]}.get(type_name)
    if type_name in FLOATS:
        form = FLOATS[type_name]
        sets = [
            [form.infinity - 1] * 3,
            [form.infinity - 1, form.sign | 1, 1],
            [1, 1, 1],
            [form.sign | 1, 1, form.nan],
            [form.sign] * 3,
            [form.infinity, 1, 1],
        ]
    elif elements is None:
        least, most = INTEGERS[type_name]
        sets = [[most] * 3, [least, most, 1], [least] * 3, [1, 0, 1]]
    else:
        sets = [elements, [1, 1, 1]]
    for elements, op in itertools.product(sets, all_ops_of(type_name)):
        if op in ("prod", "argmin", "argmax", "stats"):
            continue
        data = pack(type_name, elements)
        view = wf.vector(data, type_name)
        for result_type, nan in ((None, "propagate"), ("f64", "omit"), ("bf16", "omit")):
            accumulator = handle.accumulator(op, type_name, result_type=result_type, nan=nan)
            accumulator.add_pair(view, view) if op == "dot" else accumulator.add(view)
            for doublings in range(62):
                if doublings in (40, 61):
                    times = 2**doublings
                    whole = (
                        PairOracle(type_name, data, data, times=times)
                        if op == "dot"
                        else Oracle(type_name, data, times=times)
                    )
                    agree(
                        whole.reduce(op, nan, result_type),
                        result_of(accumulator, op),
                        op,
                        type_name,
                        elements,
                        f"2**{doublings} times",
                        result_type,
                        nan,
                    )
                    assert accumulator.count == 3 * times
                    saved = accumulator.save()
                    assert handle.load(saved).save() == saved
                if doublings < 61:
                    accumulator.merge(accumulator)
            assert outcome(accumulator.merge, accumulator) == "WF_ERROR_RANGE"
            assert accumulator.count == 3 * 2**61 and accumulator.save() == saved


def test_no_index_beyond_the_greatest(handle):
    view = wf.vector(pack_values("f64", [3, 1, 2]), "f64")
    for op in ("argmin", "sum", "prod", "stats"):
        accumulator = handle.accumulator(op, "f64", first_index=INDEX_MAX - 3)
        accumulator.add(view)
        saved = accumulator.save()
        if op == "argmin":
            assert accumulator.result("argmin") == ("u64", INDEX_MAX - 2)
        if op != "sum":
            assert outcome(accumulator.add, view) == "WF_ERROR_RANGE"
            assert accumulator.count == 3 and accumulator.save() == saved
            assert (
                outcome(
                    handle.reduce if op != "stats" else lambda _, *a, **o: handle.stats(*a, **o),
                    op,
                    view,
                    first_index=INDEX_MAX - 2,
                )
                == "WF_ERROR_RANGE"
            )


# ---- merging and indices -----------------------------------------------------------------------------


def one_add(handle, op, type_name, values, first_index=0, **chosen):
    accumulator = handle.accumulator(op, type_name, first_index=first_index, **chosen)
    view = wf.vector(pack_values(type_name, values), type_name)
    accumulator.add_pair(view, view) if op == "dot" else accumulator.add(view)
    return accumulator


def test_prod_merges_with_its_neighbours_only(handle):
    for type_name in ("f64", "f16"):
        for first, second in ((0, 4), (5, 3), (0, 0), (10, 12), (10, 14)):
            a = one_add(handle, "prod", type_name, [2, 3, 5], first)
            b = one_add(handle, "prod", type_name, [7, 11, 13], second)
            before = a.save(), b.save()
            assert outcome(a.merge, b) == outcome(b.merge, a) == "WF_ERROR_MERGE"
            assert (a.save(), b.save()) == before
        a = one_add(handle, "prod", type_name, [2, 3, 5], 10)
        a.merge(one_add(handle, "prod", type_name, [7], 9))
        a.merge(one_add(handle, "prod", type_name, [4], 13))
        assert a.result("prod") == (type_name, int.from_bytes(pack_values(type_name, [840]), "little"))
        assert outcome(a.merge, a) == "WF_ERROR_MERGE"
        assert a.save() == one_add(handle, "prod", type_name, [7, 2, 3, 5, 4], 9).save()


@pytest.mark.parametrize("op", [*OPS, "dot", "stats"])
def test_an_empty_accumulator_changes_nothing(handle, op):
    type_name = "u16"
    whole = one_add(handle, op, type_name, [3, 1, 2], 100)
    saved = whole.save()
    for first_index in (0, 50, 100, 103, 2000):
        whole.merge(handle.accumulator(op, type_name, first_index=first_index))
        assert whole.save() == saved
        empty = handle.accumulator(op, type_name, first_index=first_index)
        empty.merge(whole)
        assert empty.save() == saved, first_index
    empty = handle.accumulator(op, type_name)
    empty.merge(empty)
    assert empty.count == 0 and empty.save() == handle.accumulator(op, type_name).save()


def test_indices_given_twice(handle):
    """Where merged ranges may share indices there is no arg result; everything else is as it should be."""
    a = one_add(handle, "argmin", "i32", [3, 1, 2], 0)
    b = one_add(handle, "argmin", "i32", [0, 1, 2], 2)
    a.merge(b)
    assert outcome(a.result, "argmin") == "WF_ERROR_MERGE"
    assert a.result("min") == ("i32", 0)
    assert handle.load(a.save()).save() == a.save()

    stats = one_add(handle, "stats", "f64", [3, 1, 2])
    expected = Oracle("f64", pack_values("f64", [3, 1, 2] * 2)).stats()
    stats.merge(stats)
    expected["argmin"] = expected["argmax"] = None, None
    agree(expected, stats.stats(), "merged with itself")

    apart = one_add(handle, "argmax", "i32", [3, 1, 2], 500)
    apart.merge(one_add(handle, "argmax", "i32", [3, 9, 9], 7))
    assert apart.result("argmax") == ("u64", 8)


def test_ties_go_to_the_smallest_index_whatever_the_order(handle):
    parts = [one_add(handle, "argmin", "f32", [2, 1, 1, 4], first_index) for first_index in (0, 4, 8, 12)]
    for order in itertools.permutations(parts):
        whole = handle.load(order[0].save())
        for part in order[1:]:
            whole.merge(part)
        assert whole.result("argmin") == ("u64", 1)


def test_only_what_depends_on_indices_saves_them(handle):
    for type_name, nan in itertools.product(("f32", "u8"), NAN_POLICIES):
        for op in all_ops_of(type_name):
            at_zero, later = (
                one_add(handle, op, type_name, [1, 0, 3], k, nan=nan).save() for k in (0, 12345)
            )
            indexed = op in ("argmin", "argmax", "prod", "stats") or nan == "error"
            if indexed and not (op == "prod" and type_name == "u8" and nan != "error"):
                assert at_zero != later, (op, type_name, nan)
            elif not indexed:
                assert at_zero == later, (op, type_name, nan)


def test_misfits_are_not_merged(handle):
    base = dict(nan="propagate", result_type=None, ddof=0)
    a = one_add(handle, "var", "f32", [1, 2, 3], **base)
    before = a.save()
    others = [
        one_add(handle, "std", "f32", [1], 3, **base),
        one_add(handle, "var", "f64", [1], 3, **base),
        one_add(handle, "var", "f32", [1], 3, **{**base, "nan": "omit"}),
        one_add(handle, "var", "f32", [1], 3, **{**base, "nan": "error"}),
        one_add(handle, "var", "f32", [1], 3, **{**base, "result_type": "f64"}),
        one_add(handle, "var", "f32", [1], 3, **{**base, "ddof": 1}),
    ]
    for other in others:
        unchanged = other.save()
        assert outcome(a.merge, other) == outcome(other.merge, a) == "WF_ERROR_MERGE"
        assert a.save() == before and other.save() == unchanged


# ---- results -----------------------------------------------------------------------------------------

FOLLOWS = {
    "sum": ("mean",),
    "mean": ("sum",),
    "var": ("sum", "mean", "std", "norm2"),
    "std": ("sum", "mean", "var", "norm2"),
    "argmin": ("min",),
    "argmax": ("max",),
    "any": ("all", "nonzero"),
    "all": ("any", "nonzero"),
    "nonzero": ("any", "all"),
    "stats": STATS,
}
NEVER = {
    "sum": ("prod", "var", "min", "norm1", "dot"),
    "var": ("min", "argmin", "norm1", "prod", "dot"),
    "min": ("max", "argmin", "sum"),
    "stats": ("prod", "dot", "and", "or", "xor", "stats"),
    "dot": ("norm2", "sum"),
    "norm2": ("dot", "var"),
}


@pytest.mark.parametrize("type_name", ("f64", "f16", "i32", "bool"))
def test_what_follows_from_what_is_held(handle, type_name):
    given = Input("stats", type_name, 300, "special", "follows")
    whole = given.oracle()
    for op, nan in itertools.product(FOLLOWS, ("propagate", "omit")):
        accumulator = handle.accumulator(op, type_name, nan=nan)
        given.add_to(accumulator, 0, 300)
        for other in FOLLOWS[op]:
            agree(whole.reduce(other, nan), outcome(accumulator.result, other), op, "gives", other, nan)
    for op, others in NEVER.items():
        accumulator = handle.accumulator(op, type_name)
        for other in others:
            assert outcome(accumulator.result, other) == "WF_ERROR_UNSUPPORTED", (op, other)
        for bad in (0, -1, len(wf.OPS)):
            assert (
                library.wf_accumulator_value(handle.pointer, accumulator.pointer, bad, byref(wf.wf_value()))
                == wf.WF_ERROR_ARGUMENT
            )
    assert outcome(handle.accumulator("sum", type_name).stats) != "WF_OK"


def test_what_an_accumulator_says_of_itself(handle):
    for type_name in TYPES:
        for op in all_ops_of(type_name):
            accumulator = handle.accumulator(op, type_name)
            assert library.wf_accumulator_op(accumulator.pointer) == wf.OP_BY_NAME[op]
            assert library.wf_accumulator_type(accumulator.pointer) == wf.TYPE_BY_NAME[type_name]
            assert accumulator.count == 0
            assert len(accumulator.save()) <= wf.WF_SAVED_NBYTES_MAX


def test_a_nan_that_is_an_error_stays(handle):
    nan = FLOATS["f32"].nan
    accumulator = handle.accumulator("sum", "f32", nan="error", first_index=10)
    accumulator.add(wf.vector(pack_values("f32", [1, 2]), "f32"))
    with pytest.raises(wf.WarpfoldError) as caught:
        accumulator.add(wf.vector(pack("f32", [0, 0, nan, nan]), "f32"))
    assert caught.value.code == "WF_ERROR_NAN" and "14" in caught.value.message
    for after in (accumulator, handle.load(accumulator.save())):
        assert outcome(after.result, "sum") == "WF_ERROR_NAN"
        assert "14" in handle.message


def test_an_error_leaves_the_accumulator_as_it_was(handle):
    accumulator = one_add(handle, "sum", "f64", [1, 2, 3])
    before = accumulator.save()
    view = wf.vector(pack_values("f64", [1]), "f64")
    for bad in (wf.vector(bytes(4), "f32"), wf.vector(bytes(8), "f64", -1), wf.vector(bytes(8), "i64")):
        assert outcome(accumulator.add, bad) == "WF_ERROR_ARGUMENT"
    assert outcome(accumulator.add_pair, view, view) in ("WF_ERROR_ARGUMENT", "WF_ERROR_UNSUPPORTED")
    assert outcome(handle.accumulator("dot", "f64").add, view) in (
        "WF_ERROR_ARGUMENT",
        "WF_ERROR_UNSUPPORTED",
    )
    assert accumulator.save() == before


def test_accumulators_that_cannot_be(handle):
    pointer = ctypes.c_void_p()
    for op, type_number, error in (
        (wf.WF_XOR, wf.WF_F64, "WF_ERROR_UNSUPPORTED"),
        (wf.WF_OP_NONE, wf.WF_F64, "WF_ERROR_ARGUMENT"),
        (99, wf.WF_F64, "WF_ERROR_ARGUMENT"),
        (wf.WF_SUM, 0, "WF_ERROR_ARGUMENT"),
        (wf.WF_SUM, len(wf.TYPES), "WF_ERROR_ARGUMENT"),
    ):
        code = library.wf_accumulator_create(
            handle.pointer, byref(wf.reduction(op)), type_number, 0, None, byref(pointer))
        assert wf.ERRORS[code] == error and handle.message and not pointer


# ---- the saved form ----------------------------------------------------------------------------------

SAVED_KINDS = [
    ("sum", "f64", "propagate"),
    ("sum", "bf16", "propagate"),
    ("prod", "f32", "propagate"),
    ("prod", "i16", "propagate"),
    ("argmin", "i8", "propagate"),
    ("stats", "f16", "omit"),
    ("stats", "u32", "propagate"),
    ("var", "f32", "error"),
    ("dot", "f16", "propagate"),
    ("any", "bool", "propagate"),
    ("xor", "u64", "propagate"),
    ("norm1", "f32", "omit"),
]


def saved_sample(handle, op, type_name, nan):
    given = Input(op, type_name, 21, "coarse", "saved")
    accumulator = handle.accumulator(op, type_name, nan=nan, first_index=3)
    given.add_to(accumulator, 0, 21)
    return accumulator.save()


@pytest.mark.parametrize("op, type_name, nan", SAVED_KINDS)
def test_damage_is_refused(handle, op, type_name, nan):
    saved = saved_sample(handle, op, type_name, nan)
    assert handle.load(saved).save() == saved
    for place in range(len(saved)):
        for flip in (0x01, 0x80, 0xFF):
            damaged = bytearray(saved)
            damaged[place] ^= flip
            assert outcome(handle.load, bytes(damaged)) == "WF_ERROR_FORMAT", (place, flip)
        assert outcome(handle.load, saved[:place]) == "WF_ERROR_FORMAT", place
    for more in (b"\0", b"\xff", b"\0" * 4, saved, b"\0" * wf.WF_SAVED_NBYTES_MAX):
        assert outcome(handle.load, saved + more) == "WF_ERROR_FORMAT", len(more)
    assert outcome(handle.load, b"") == "WF_ERROR_FORMAT"


def with_checksum(saved):
    """The same bytes with the checksum that fits them: the CRC-32 of all before it."""
    return saved[:-4] + struct.pack("<I", zlib.crc32(saved[:-4]))


@pytest.mark.parametrize("op, type_name, nan", SAVED_KINDS)
def test_lies_under_a_right_checksum(handle, op, type_name, nan):
    """Either refused, or a state whose saved form is just these bytes."""
    saved = saved_sample(handle, op, type_name, nan)
    assert with_checksum(saved) == saved
    for place, flip in itertools.product(range(len(saved) - 4), (0x01, 0x10, 0x80, 0xFF)):
        lie = bytearray(saved)
        lie[place] ^= flip
        lie = with_checksum(bytes(lie))
        accumulator = outcome(handle.load, lie)
        if accumulator == "WF_ERROR_FORMAT":
            continue
        assert accumulator.save() == lie, (place, flip)
        result_of(accumulator, op)
        outcome(accumulator.merge, accumulator)
        result_of(accumulator, op)


def test_another_version_is_refused_by_name(handle):
    saved = saved_sample(handle, "sum", "f64", "propagate")
    for version in (0, 3, 2**32 - 1):
        other = with_checksum(saved[:8] + struct.pack("<I", version) + saved[12:])
        with pytest.raises(wf.WarpfoldError) as caught:
            handle.load(other)
        assert caught.value.code == "WF_ERROR_FORMAT"
        assert f"version {version}" in caught.value.message


def test_random_bytes_are_refused(handle):
    draw = random.Random(1)
    saved = saved_sample(handle, "stats", "f32", "propagate")
    for _ in range(3000):
        nbytes = draw.choice((draw.randint(0, 60), len(saved), draw.randint(0, wf.WF_SAVED_NBYTES_MAX)))
        start = saved[: draw.choice((0, 8, 12, 16))]
        data = (start + draw.randbytes(nbytes))[: max(nbytes, 4)]
        assert outcome(handle.load, data) == "WF_ERROR_FORMAT"
        assert outcome(handle.load, with_checksum(data)) == "WF_ERROR_FORMAT"


def test_a_buffer_that_is_too_small(handle):
    accumulator = one_add(handle, "sum", "f32", [1, 2])
    saved = accumulator.save()
    for capacity in (0, 1, len(saved) - 1):
        buffer, nbytes = ctypes.create_string_buffer(b"\xee" * len(saved), len(saved)), ctypes.c_size_t()
        code = library.wf_accumulator_save(
            handle.pointer, accumulator.pointer, buffer, capacity, byref(nbytes)
        )
        assert wf.ERRORS[code] == "WF_ERROR_ARGUMENT" and nbytes.value == len(saved)
        assert buffer.raw[capacity:] == b"\xee" * (len(saved) - capacity)
    code = library.wf_accumulator_save(handle.pointer, accumulator.pointer, buffer, len(saved), byref(nbytes))
    assert code == wf.WF_OK and buffer.raw == saved
