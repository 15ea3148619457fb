"""Segments of a vector in a GPU's memory, twice as many elements as its L2 cache holds, of which the GPU finds out first whether all are of one
length: then they are rows.  The bits are the CPU's, and so are errors, whichever they are."""

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

MAY_BE_ROWS = b"as rows if all are of one length"
OPS = {"f32": ("sum", "var"), "f64": ("mean",), "f16": ("max",), "i8": ("sum",), "i64": ("min",)}
FLOATS = ("f32", "f64", "f16")
LENGTHS = {"f32": (16, 23), "f64": (16,), "f16": (21,), "i8": (48,), "i64": (100,)}


def large(pair, type_name, length, rng, kind):
    """Twice as many elements as the L2 cache holds, and more: the same again and again."""
    nbytes = wf.library.wf_type_nbytes(wf.TYPE_BY_NAME[type_name])
    least, again = (1 << 27 if pair.gpu.is_real else 1 << 21) // nbytes, 997 * length
    array = Laid(type_name, (again,), rng, kind, plain=True)
    array.shape = (-(-least // again) * again,)
    array.data = array.data[:again * nbytes] * (array.shape[0] // again)
    return array


def lengths_of(kind, length, count, rng):
    lengths = [length] * count
    if kind == "two":
        i, j = rng.sample(range(count), 2)
        lengths[i] += 4
        lengths[j] -= 4
    elif kind == "the last":
        lengths[-2:] = [length - 1, length + 1]
    elif kind == "all":
        for i in range(0, count - 1, 2):
            lengths[i] = rng.randrange(2 * length + 1)
            lengths[i + 1] = 2 * length - lengths[i]
    return lengths


@pytest.mark.sampled
@pytest.mark.parametrize("kind", ("none", "two", "the last", "all"))
@pytest.mark.parametrize("type_name", OPS)
def test_segments_that_may_be_of_one_length(pair, type_name, kind):
    """kind: which of them are not."""
    rng = random.Random(f"gpu equal segments {type_name} {kind}")
    for length, op in itertools.product(LENGTHS[type_name], ("sum", "var", "max") if pair.gpu.is_real and type_name in FLOATS else OPS[type_name]):
        array = large(pair, type_name, length, rng, rng.choice(("plain", "wild", "special")))
        offsets = [*itertools.accumulate(lengths_of(kind, length, array.shape[0] // length, rng), initial=0)]
        here, there = integer_vector(offsets, "i64"), pair.labels_there(offsets, rng.choice(("i32", "i64")), rng.choice((1, 2)))
        groups, groups_there = (library.wf_groups_segments(0, len(offsets) - 1, byref(labels)) for labels in (here, there))
        nan = rng.choice(NAN_POLICIES)
        pair.check(op, groups, [array], kind, length, groups_there=groups_there, nan=nan)
        assert (nan != "error") == (MAY_BE_ROWS in library.wf_handle_plan(pair.device.pointer)), (op, length)
        pair.check(op, groups, [array], kind, length, "offsets in host memory")


def test_wrong_offsets_among_equal_ones(pair):
    """They are seen, as those of any segments are; what is not a multiple is not looked at."""
    rng = random.Random("wrong offsets among equal ones")
    array = large(pair, "f32", 32, rng, "plain")
    count = array.shape[0] // 32
    for position, wrong in ((0, -32), (count // 2, array.shape[0] + 1), (count, array.shape[0] + 32)):
        offsets = [*range(0, array.shape[0] + 1, 32)]
        offsets[position] = wrong
        here, there = integer_vector(offsets, "i64"), pair.labels_there(offsets, "i64", 1)
        groups, groups_there = (library.wf_groups_segments(0, count, byref(labels)) for labels in (here, there))
        expected = returned(pair.host, "sum", groups, [array.view()])
        assert expected.startswith("WF_ERROR_RANGE")
        assert returned(pair.device, "sum", groups_there, [pair.there(array)]) == expected
        assert pair.left_there("sum", groups_there, [pair.there(array)]) == "WF_ERROR_RANGE"
    there = pair.labels_there(offsets[:count], "i64", 1)
    fewer = library.wf_groups_segments(0, count - 1, byref(there))
    pair.left_there("sum", fewer, [pair.there(array)])
    assert MAY_BE_ROWS not in library.wf_handle_plan(pair.device.pointer)


def test_results_with_strides(pair):
    """Rows leave theirs where segments would."""
    array = large(pair, "f32", 16, random.Random("results with strides"), "plain")
    count = array.shape[0] // 16
    offsets = [*range(0, array.shape[0] + 1, 16)]
    here, there = integer_vector(offsets, "i64"), pair.labels_there(offsets, "i64", 1)
    groups, groups_there = (library.wf_groups_segments(0, count, byref(labels)) for labels in (here, there))
    memory, asked, view = pair.gpu.empty(12 * count, 0xcd), wf.reduction("sum"), pair.there(array)
    strides = (ctypes.c_int64 * 1)(12)
    output = wf.wf_output(data=memory.pointer, type=wf.WF_F32, ndim=1, shape=(ctypes.c_int64 * 1)(count), stride_bytes=strides)
    pair.device.check(library.wf_reduce(pair.device.pointer, byref(asked), byref(view), None, byref(groups_there), byref(output)))
    left = memory.read()
    expected = returned(pair.host, "sum", groups, [array.view()])[0]
    assert b"".join(left[i:i + 4] for i in range(0, len(left), 12)) == expected
    assert left[4:12] == b"\xcd" * 8
