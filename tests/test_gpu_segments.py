"""Segments of a vector in a GPU's memory give the CPU's bits.  Of those that are of one length, or nearly all, whole vectors are
loaded as rows are, and where the host sees the offsets, the segments are rows; others a lane or a team reduces in registers."""

import ctypes
import itertools
import random
from ctypes import byref

import pytest

import warpfold_ctypes as wf
from cuda_helpers import gpu  # noqa: F401: a fixture
from each_type import one_of
from gpu_group_helpers import IN_REGISTERS, SAMPLED_KINDS, SHORT_OPS, make_row_data
from gpu_pair import pair, returned  # noqa: F401: pair is a fixture
from group_helpers import Laid, integer_vector, operands
from oracle import FLOATS
from samples import NAN_POLICIES

library = wf.library

OPS = {"f32": ("sum", "var"), "f64": ("mean",), "f16": ("max",), "i8": ("argmax",)}
LENGTHS = (1, 2, 4, 8, 16, 32, 33, 100, 256, 1040)  # few of which all lanes of a warp share, but the longest have more to load


def offsets_of(kind, length, count, rng):
    lengths, first = [length] * count, 0
    if kind == "but one":
        lengths[rng.randrange(count)] += rng.choice((1, 4, 16, length))
    elif kind == "but the last":
        lengths[-1] -= 1
    elif kind == "and empty ones":
        lengths = [rng.choice((0, length)) for _ in range(count)]
    elif kind == "later":
        first = rng.choice((1, 4, 16))
    return [*itertools.accumulate(lengths, initial=first)]


@pytest.mark.sampled
@pytest.mark.parametrize("type_name", OPS)
@pytest.mark.parametrize("kind", ("equal", "but one", "but the last", "and empty ones", "later"))
def test_segments_of_one_length(pair, type_name, kind):
    rng = random.Random(f"gpu segments of one length {type_name} {kind}")
    for length, count in itertools.product(LENGTHS, (1, 300)):
        if not pair.gpu.is_real and (length in (2, 16, 100) or (count == 1 and kind != "equal")):
            continue
        offsets = offsets_of(kind, length, count if length < 100 else min(count, 20), rng)
        array = Laid(type_name, (offsets[-1] + rng.choice((0, 3)),), rng, rng.choice(("plain", "wild", "special")), plain=True)
        here, there = integer_vector(offsets, "i64"), pair.labels_there(offsets, rng.choice(["i32", "i64"]), 1)
        groups, groups_there = (library.wf_groups_segments(0, len(offsets) - 1, byref(labels)) for labels in (here, there))
        for op in ("sum", "mean", "var", "max", "argmax") if pair.gpu.is_real else OPS[type_name]:
            nan = rng.choice(NAN_POLICIES)
            pair.check(op, groups, [array], kind, length, nan=nan, groups_there=groups_there)
            segments = library.wf_handle_plan(pair.device.pointer)
            pair.check(op, groups, [array], kind, length, "offsets in host memory", nan=nan)
            are_rows = kind in ("equal", "later") and length >= 256 and op != "argmax" and nan != "error"
            if are_rows and segments.startswith(b"segments"):
                assert not library.wf_handle_plan(pair.device.pointer).startswith(b"segments"), (op, length)


@pytest.mark.parametrize("position", (1, 39, 40))
def test_wrong_offsets_in_host_memory(pair, position):
    """They are seen, though all others are those of one length."""
    array = Laid("f32", (40 * 256,), random.Random("wrong offsets"), "plain", plain=True)
    offsets = [*range(0, 40 * 256 + 1, 256)]
    offsets[position] = 40 * 256 + 1
    labels = integer_vector(offsets, "i64")
    groups = library.wf_groups_segments(0, 40, byref(labels))
    expected = returned(pair.host, "sum", groups, [array.view()])
    assert expected.startswith("WF_ERROR_RANGE") and returned(pair.device, "sum", groups, [pair.there(array)]) == expected
    later = integer_vector([*range(16, 40 * 256 + 17, 256)], "i64")
    beyond = library.wf_groups_segments(0, 40, byref(later))
    assert returned(pair.device, "sum", beyond, [pair.there(array)]) == returned(pair.host, "sum", beyond, [array.view()])


def test_failures_of_equal_segments_are_the_cpus(pair):
    """What a result's failure says counts from the array's first element."""
    for type_name, element, chosen in (("f32", b"\xff" * 4, {"nan": "error"}), ("i64", b"\xff" * 7 + b"\x7f", {})):
        array = Laid(type_name, (1030,), random.Random("failures"), "plain", plain=True)
        array.data = array.data[:array.nbytes * 600] + element * 9 + array.data[array.nbytes * 609:]
        labels = integer_vector([6, 262, 518, 774, 1030], "i64")
        groups = library.wf_groups_segments(0, 4, byref(labels))
        expected = returned(pair.host, "sum", groups, [array.view()], **chosen)
        assert isinstance(expected, str), type_name
        pair.check("sum", groups, [array], **chosen)


def test_many_long_segments(pair):
    """More than a team mostly takes, but all of about one length: whole; one is longer, and cut into pieces."""
    rng = random.Random("gpu many long segments")
    array = Laid("i8", (3_400_000 if pair.gpu.is_real else 700_000,), rng, "plain", plain=True)
    for length in (8200, 8192):
        lengths = [length + rng.randrange(2) for _ in range(len(array.data) // length - 9)]
        lengths[3] *= 5
        offsets = [*itertools.accumulate(lengths, initial=1)]
        there, here = pair.labels_there(offsets, "i64", 1), integer_vector(offsets, "i64")
        groups, groups_there = (library.wf_groups_segments(0, len(lengths), byref(labels)) for labels in (here, there))
        pair.check("sum", groups, [array], length, groups_there=groups_there)


@pytest.mark.skipif("not __import__('gpu_memory').real_driver()", reason="no GPU")
@pytest.mark.parametrize("length", (4, 256))
def test_offsets_that_change_between_replays(pair, length):
    """A graph that was captured with segments of one length replays whatever lengths there are then."""
    rng, count = random.Random(f"gpu replays {length}"), 500
    array = Laid("f32", (length * count * 2,), rng, "wild", plain=True)
    kinds = ("equal", "but one", "and empty ones", "later", "but the last", "equal")
    choices = [offsets_of(kind, length, count, rng) for kind in kinds]
    stream = pair.gpu.stream()
    pair.device.set_stream(stream.pointer)
    try:
        view, labels = pair.there(array), pair.gpu.memory(bytes(8 * (count + 1)))
        offsets = labels.strided("i64", (count + 1,), (8,))
        groups = library.wf_groups_segments(0, count, byref(offsets))
        memory = pair.gpu.empty(4 * count)
        output = wf.wf_output(data=memory.pointer, type=wf.WF_F32, ndim=1, shape=(ctypes.c_int64 * 1)(count))
        asked = wf.reduction("sum")

        def work():
            pair.device.check(library.wf_reduce(pair.device.pointer, byref(asked), byref(view), None, byref(groups), byref(output)))

        def write(values):
            labels.write(b"".join(value.to_bytes(8, "little") for value in values))

        write(choices[0])
        work()  # which takes memory, and compiles
        replay = stream.capture(work)
        for kind, chosen in zip(kinds, choices):
            write(chosen)
            replay()
            stream.wait()
            here = integer_vector(chosen, "i64")
            groups_here = library.wf_groups_segments(0, count, byref(here))
            assert (memory.read(), wf.WF_F32) == returned(pair.host, "sum", groups_here, [array.view()]), kind
    finally:
        pair.device.set_stream(None)


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
