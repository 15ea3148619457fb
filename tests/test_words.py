"""Accumulators as words: added up and compared as plain integers, by whom and in whatever order, they are the merged
accumulator, by its saved bytes; and 2^31 ranks have room."""

import itertools
import random
import struct

import pytest

import warpfold_ctypes as wf
from each_type import EACH_TYPE
from oracle import FLOATS, ops_of
from samples import FLAVOURS, NAN_POLICIES, nbytes_of, pack, sample, specials
from warpfold_ctypes import library

RANKS = 2**31


@pytest.fixture(scope="module")
def handle():
    return wf.Handle()


def ops_with_words(type_name):
    return [op for op in (*ops_of(type_name), "dot", "stats") if op != "prod"]


def add(accumulator, op, type_name, *arrays):
    for_op = [wf.vector(data, type_name) for data in arrays[:2 if op == "dot" else 1]]
    try:
        accumulator.add(for_op[0], b=for_op[1] if op == "dot" else None)
    except wf.WarpfoldError as error:
        assert error.code == "WF_ERROR_NAN"


def rows(data, type_name, count):
    nbytes = len(data) // count
    return wf.strided(data, type_name, (count, nbytes // nbytes_of(type_name)), (nbytes, nbytes_of(type_name)))


def columns(words, join):
    return [join(column) for column in zip(*words)]


def all_reduce(parts):
    """What the steps of the header make of the ranks' accumulators: every one of them."""
    added, largest = map(list, zip(*(part.words() for part in parts)))
    assert all(abs(word) < 2**32 for words in added for word in words)
    total, most = columns(added, sum), columns(largest, max)
    indices = columns([part.index_words(most) for part in parts], max)
    for part in parts:
        part.from_words(total, most, indices)


@pytest.mark.parametrize("type_name", EACH_TYPE)
def test_words_are_the_merged_accumulator(handle, type_name):
    for op, turn in itertools.product(ops_with_words(type_name), range(5)):
        draw = random.Random(f"{op} {type_name} {turn}")
        chosen = dict(nan=draw.choice(NAN_POLICIES), ddof=draw.choice((0, 1)))
        first, kind = draw.choice((0, 5, 2**61)), draw.choice(tuple(FLAVOURS))
        merged = handle.accumulator(op, type_name, first_index=first, **chosen)
        parts = []
        for rank in range(draw.choice((1, 2, 3, 8))):
            count = draw.choice((0, 0, 1, 2, 30))
            parts.append(handle.accumulator(op, type_name, first_index=first, **chosen))
            add(parts[-1], op, type_name, *(sample(type_name, count, kind, f"{turn} {rank} {k}") for k in range(2)))
            merged.merge(parts[-1])
            first += count
        draw.shuffle(parts)
        all_reduce(parts)
        assert {part.save() for part in parts} == {merged.save()}, (op, type_name, turn)
        part = parts[0]  # goes on as any other
        for accumulator in (part, merged):
            add(accumulator, op, type_name, *(sample(type_name, 3, kind, k) for k in range(2)))
        assert part.save() == merged.save()


@pytest.mark.parametrize("type_name", ["f32", "f64", "i8", "u64"])
def test_words_of_a_shape(handle, type_name):
    for op, nan in itertools.product(ops_with_words(type_name), NAN_POLICIES):
        draw = random.Random(f"{op} {type_name} {nan}")
        merged = handle.accumulator(op, type_name, (2, 4), nan=nan)
        parts, position = [], 0
        for rank in range(3):
            parts.append(handle.accumulator(op, type_name, (2, 4), nan=nan, first_index=position))
            length = draw.choice((0, 3, 9))
            keys = bytes(draw.randrange(4) for _ in range(length))
            labels = wf.vector(keys, "u8")
            groups = library.wf_groups_keys(1, 4, wf.byref(labels))
            arrays = [rows(sample(type_name, 2 * length, "special", f"{rank} {k}"), type_name, 2) for k in range(2)]
            try:
                parts[-1].add(arrays[0], b=arrays[1] if op == "dot" else None, groups=groups)
            except wf.WarpfoldError as error:
                assert error.code == "WF_ERROR_NAN"
            merged.merge(parts[-1])
            position += length
        all_reduce(parts)
        assert {part.save() for part in parts} == {merged.save()}, (op, nan)


@pytest.mark.parametrize("type_name", ["f16", "f32", "f64", "i8", "u64"])
def test_room_for_every_rank(handle, type_name):
    """2^31 equal ranks, whose sums are integers of Python, against one merged 31 times with itself."""
    largest = pack(type_name, specials(type_name)) if type_name in FLOATS else b"\xff\x80\x7f" * 8
    finite = sample(type_name, 40, "wild", "room")
    for op, data in itertools.product(ops_with_words(type_name), (largest, finite)):
        data = data[:len(data) // nbytes_of(type_name) * nbytes_of(type_name)]
        rank = handle.accumulator(op, type_name, first_index=3)
        add(rank, op, type_name, data, data)
        added, most = rank.words()
        total = [RANKS * word for word in added]
        assert all(-2**63 <= word < 2**63 for word in total)
        indices = rank.index_words(most)
        merged = handle.load(rank.save())
        for _ in range(31):
            merged.merge(merged)
        rank.from_words(total, most, indices)
        assert rank.save() == merged.save(), op


def times(handle, accumulator, count):
    """The accumulator merged count - 1 times with itself, bit by bit of the count from the highest."""
    total = handle.load(accumulator.save())
    for bit in f"{count:b}"[1:]:
        total.merge(total)
        if bit == "1":
            total.merge(accumulator)
    return total


# Digits of 32 bits at both ends of their range: balanced, -2^31 has a carry to the next.
ENDS = {"low": (2**31, 2**31 - 1, 2**31 - 1), "high": (2**31 - 1,) * 3, "negative": (-(2**31),) * 3}


@pytest.mark.parametrize("ends", ENDS)
def test_digits_at_the_limit(handle, ends):
    """2^31 ranks with the largest digits that words have."""
    one = 2.0 ** (-1074 % 32)  # the lowest digit of f64 counts subnormals
    rank = handle.accumulator("sum", "f64")
    add(rank, "sum", "f64", struct.pack("<3d", *(digit * one * 2.0 ** (32 * place) for place, digit in enumerate(ENDS[ends]))))
    before = rank.save()
    added, most = rank.words()
    assert sorted(map(abs, added))[-3:] == ([2**31 - 1] * 3 if ends == "high" else [2**31] * 3)
    rank.from_words([RANKS * word for word in added], most, [])
    assert rank.save() == times(handle, handle.load(before), RANKS).save()


@pytest.mark.parametrize("type_name,bits", [("f16", 0x7BFF), ("f32", 0xFF7FFFFF), ("f64", 0x7FEFFFFFFFFFFFFF),
                                            ("i64", -(2**63)), ("u64", 2**64 - 1)])
def test_elements_at_the_limit(handle, type_name, bits):
    """2^31 ranks of 2^32 - 1 elements each, the largest in magnitude: 2^63 - 2^31 of the 2^63 - 1 that can be."""
    for op in ("sum", "norm1", "dot", "var", "stats"):
        one = handle.accumulator(op, type_name)
        add(one, op, type_name, pack(type_name, [bits]), pack(type_name, [bits]))
        rank = times(handle, one, 2**32 - 1)
        added, most = rank.words()
        assert max(added) >= 2**32 - 1
        total, indices = [RANKS * word for word in added], rank.index_words(most)
        assert all(-2**63 <= word < 2**63 for word in total)
        all_ranks = handle.load(rank.save())
        all_ranks.from_words(total, most, indices)
        assert all_ranks.save() == times(handle, rank, RANKS).save(), op


def test_more_elements_than_can_be(handle):
    rank = handle.accumulator("sum", "f16")
    add(rank, "sum", "f16", pack("f16", [0x3C00]))
    for _ in range(62):
        rank.merge(rank)
    added, _ = rank.words()
    before = rank.save()
    with pytest.raises(wf.WarpfoldError, match="2\\^63 - 1 elements") as caught:
        rank.from_words([2 * word for word in added], [], [])
    assert caught.value.code == "WF_ERROR_RANGE" and rank.save() == before
    with pytest.raises(wf.WarpfoldError) as caught:  # so many ones are not of one element
        rank.from_words([1, 0, *added[2:]], [], [])
    assert caught.value.code == "WF_ERROR_FORMAT"


@pytest.mark.parametrize("type_name", ["f32", "u8"])
def test_words_that_are_none_are_refused(handle, type_name):
    """What happens to any word, an error leaves the accumulator unchanged, and what is taken can be saved and loaded."""
    draw, refused = random.Random(type_name), 0
    for op in ("sum", "stats", "argmax", "min", "any", *(("and",) if type_name == "u8" else ())):
        accumulator = handle.accumulator(op, type_name, nan="error")
        add(accumulator, op, type_name, sample(type_name, 5, "plain", op))
        words = *(lists := accumulator.words()), accumulator.index_words(lists[1])
        saved = accumulator.save()
        for _ in range(60):
            changed = [list(each) for each in words]
            which = draw.choice([each for each in changed if each])
            which[draw.randrange(len(which))] = draw.choice((-1, 1, 7, 2**32, 2**63 - 1, -2**63, draw.getrandbits(62)))
            try:
                accumulator.from_words(*changed)
                saved = accumulator.save()
                handle.load(saved)
            except wf.WarpfoldError as error:
                assert error.code in ("WF_ERROR_FORMAT", "WF_ERROR_RANGE"), error
                assert accumulator.save() == saved
                refused += 1
    assert refused > 100


def test_what_has_no_words(handle):
    for type_name in ("f64", "i32"):
        with pytest.raises(wf.WarpfoldError, match="do not add up") as caught:
            handle.accumulator("prod", type_name).words()
        assert caught.value.code == "WF_ERROR_UNSUPPORTED"
        assert handle.accumulator("prod", type_name).word_counts().added == 0
    assert library.wf_accumulator_words(handle.pointer, None, None, None) == wf.WF_ERROR_ARGUMENT
    argmax = handle.accumulator("argmax", "f64")
    for function, count in (("words", 2), ("index_words", 2), ("from_words", 3)):
        code = getattr(library, f"wf_accumulator_{function}")(handle.pointer, argmax.pointer, *[None] * count)
        assert code == wf.WF_ERROR_ARGUMENT and handle.message.endswith("NULL")


def test_settings_tell_what_cannot_be_merged(handle):
    made = [handle.accumulator("sum", "f64", shape, **chosen) for shape, chosen in (
        ((), {}), ((), {"nan": "omit"}), ((), {"ddof": 1}), ((), {"result_type": "f32"}), ((1,), {}), ((1, 2), {}),
        ((2, 1), {}))] + [handle.accumulator(op, type_name) for op, type_name in (("sum", "f32"), ("mean", "f64"), ("prod", "f64"))]
    assert len({each.word_counts().settings for each in made}) == len(made)
    other = handle.accumulator("sum", "f64", first_index=5)
    add(other, "sum", "f64", sample("f64", 9, "wild"))
    assert other.word_counts().settings == made[0].word_counts().settings


@pytest.mark.parametrize("type_name", ["f64", "i16"])
def test_moved_indices(handle, type_name):
    for op in ops_with_words(type_name):
        moved, made = (handle.accumulator(op, type_name, first_index=first) for first in (2**40, 7))
        for accumulator in (moved, made):
            add(accumulator, op, type_name, *(sample(type_name, 9, "special", k) for k in range(2)))
        moved.move(7)
        assert moved.save() == made.save()
    indexed = handle.accumulator("argmin", type_name, (1,))
    moved = handle.accumulator("argmin", type_name, (1,), first_index=99)
    for accumulator in (moved, indexed):
        accumulator.add(rows(sample(type_name, 9, "special"), type_name, 1), groups=library.wf_groups_axes(2))
    moved.move(0)
    assert moved.save() == indexed.save()
    for first, code in ((-1, "WF_ERROR_ARGUMENT"), (2**63 - 9, "WF_ERROR_RANGE")):
        with pytest.raises(wf.WarpfoldError) as caught:
            moved.move(first)
        assert caught.value.code == code
    with pytest.raises(wf.WarpfoldError, match="cannot be moved"):
        handle.accumulator("prod", "f64").move(1)
