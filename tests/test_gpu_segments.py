"""Segments of a vector in a GPU's memory that are of one length, or nearly all: whole vectors are loaded as rows are, and where the
host sees the offsets, the segments are rows.  The bits are the CPU's."""

import ctypes
import itertools
import random
from ctypes import byref

import pytest

import warpfold_ctypes as wf
from cuda_helpers import gpu  # noqa: F401: a fixture
from gpu_pair import pair, returned  # noqa: F401: pair is a fixture
from group_helpers import Laid, integer_vector
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
