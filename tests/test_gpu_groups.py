"""Reductions by groups in a GPU's memory give the CPU's bits, which tests/test_groups*.py hold against the oracle.  Where
there is no GPU, a small selection runs on the simulator.  What is reduced in registers: test_gpu_short_groups.py,
test_gpu_chunks.py, test_gpu_team_*.py; segments and keys: test_gpu_segments.py,
test_gpu_keyed.py, test_gpu_keyed_many.py."""

import ctypes
import itertools
import math
import random
import struct
from ctypes import byref

import pytest

import warpfold_ctypes as wf
from cuda_helpers import gpu  # noqa: F401: a fixture
from each_type import one_of
from gpu_pair import Binades, EDGES, pair, random_arrays, returned  # noqa: F401: pair is a fixture
from group_helpers import Laid, integer_vector, operands, random_offsets, random_shape
from oracle import INTEGERS, TYPES
from samples import NAN_POLICIES

library = wf.library
KEY_TYPES = [name for name in INTEGERS if name != "bool"]
# On the simulator: ops of types, for tests of axes; the others have fewer.
SELECTED = {"f32": ("sum", "argmax"), "f64": ("var",), "i8": ("sum",), "bf16": ("dot",), "i64": ("mean",)}
SELECTED_LABELLED = {"f32": ("sum", "argmax"), "i8": ("sum",)}


@pytest.mark.sampled
@pytest.mark.parametrize("type_name", TYPES)
def test_axes(pair, type_name):
    rng = random.Random(f"gpu axes {type_name}")
    ops = pair.ops(type_name, rng, SELECTED)
    for _ in range(pair.turns(40)):
        shape = random_shape(rng, rng.randint(0, 4), 20000 if pair.gpu.is_real else 600)
        axes = {d for d in range(len(shape)) if rng.random() < 0.5}
        made = random_arrays(type_name, shape, rng)
        groups = library.wf_groups_axes(sum(1 << d for d in axes))
        for op in rng.sample(ops, min(3, len(ops))):
            pair.check(op, groups, operands(op, *made), shape, axes, [a.strides for a in made], nan=rng.choice(NAN_POLICIES),
                       first_index=rng.choice([0, 7]))


@pytest.mark.sampled
@pytest.mark.parametrize("type_name", TYPES)
def test_segments(pair, type_name):
    rng = random.Random(f"gpu segments {type_name}")
    ops = pair.ops(type_name, rng, SELECTED_LABELLED)
    for _ in range(pair.turns(25)):
        shape = random_shape(rng, rng.randint(1, 3), 20000 if pair.gpu.is_real else 600)
        axis, count = rng.randrange(len(shape)), rng.choice([0, 1, 2, 7, 30])
        offsets, name, stride = random_offsets(rng, shape[axis], count), rng.choice(["i32", "i64"]), rng.choice([1, 3])
        here, there = integer_vector(offsets, name, stride), pair.labels_there(offsets, name, stride)
        groups, groups_there = (library.wf_groups_segments(axis, count, byref(labels)) for labels in (here, there))
        made = random_arrays(type_name, shape, rng)
        for op in rng.sample(ops, min(3, len(ops))):
            pair.check(op, groups, operands(op, *made), shape, axis, offsets, nan=rng.choice(NAN_POLICIES),
                       groups_there=rng.choice([groups, groups_there]), first_index=rng.choice([0, 7]))


@pytest.mark.sampled
@pytest.mark.parametrize("type_name", TYPES)
def test_keys(pair, type_name):
    rng = random.Random(f"gpu keys {type_name}")
    ops = pair.ops(type_name, rng, SELECTED_LABELLED)
    for _ in range(pair.turns(25)):
        shape = random_shape(rng, rng.randint(1, 3), 20000 if pair.gpu.is_real else 600)
        axis, count, stride = rng.randrange(len(shape)), rng.choice([1, 2, 7, 30, 100]), rng.choice([1, 3])
        key_type = rng.choice(KEY_TYPES)
        bad = [] if rng.random() < 0.5 else [120, 0 if key_type.startswith("u") else -2]
        keys = [rng.choice([rng.randrange(count), rng.randrange(count), 0, *bad]) for _ in range(shape[axis])]
        here, there = integer_vector(keys, key_type, stride), pair.labels_there(keys, key_type, stride)
        groups, groups_there = (library.wf_groups_keys(axis, count, byref(labels)) for labels in (here, there))
        made = random_arrays(type_name, shape, rng)
        for op in rng.sample(ops, min(3, len(ops))):
            pair.check(op, groups, operands(op, *made), shape, axis, keys[:20], nan=rng.choice(NAN_POLICIES),
                       groups_there=rng.choice([groups, groups_there]), first_index=rng.choice([0, 7]),
                       flags=rng.choice([0, 1]))


def test_policies_for_nans_share_the_kernels_of_sums(pair, tmp_path, monkeypatch):
    """Only extremes have indices, which "error" asks for."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("WARPFOLD_CACHE", raising=False)
    array, device = Laid("i8", (5, 40), random.Random("policies"), "plain", False), wf.Handle("cuda:0")
    compiled = []
    for nan in NAN_POLICIES:
        returned(device, "sum", library.wf_groups_axes(2), [pair.there(array)], nan=nan)
        compiled.append(len(list((tmp_path / "warpfold").iterdir())))
    assert compiled[0] and compiled == compiled[:1] * len(NAN_POLICIES)


LONG = [((3, 70001), 2), ((70001, 3), 1), ((1000, 70), 1), ((70, 1000), 2), ((1, 200003), 2), ((20011, 40), 1),
        ((31, 33, 65), 2), ((31, 33, 65), 5), ((100003, 4), 2), ((300007, 1), 2)]


@pytest.mark.slow
@pytest.mark.sampled
@pytest.mark.parametrize("type_name", ("f32", "f64", "i32", "i8", "f16"))
def test_many_and_long_groups(pair, type_name):
    rng = random.Random(f"gpu long {type_name}")
    if not pair.gpu.is_real and type_name not in SELECTED:
        pytest.skip("no GPU: on the simulator fewer types")
    shapes = LONG if pair.gpu.is_real else LONG[:2]
    for shape, axes in shapes:
        made = [Laid(type_name, shape, rng, "wild", plain=True) for _ in range(2)]
        for op in ("sum", "var", "argmax", "dot", "nonzero") if pair.gpu.is_real else SELECTED[type_name]:
            pair.check(op, library.wf_groups_axes(axes), operands(op, *made), shape, axes, nan="omit")


# For each type by how many binades elements are apart, and where: windows hold these, or just do not.
@pytest.mark.slow
@pytest.mark.parametrize("type_name", EDGES)
def test_binades_at_the_edge_of_a_window(pair, type_name):
    rng = random.Random(f"edges {type_name}")
    ops = ("var", "dot", "norm2", "sum") if pair.gpu.is_real else ("dot",) if type_name == "f64" else ("sum",)
    for span, top, further in itertools.product(*EDGES[type_name], (0, 2)):
        shape = rng.choice([(3, 700), (40, 34)])
        made = [Binades(type_name, shape, rng, span, top, -1), Binades(type_name, shape, rng, span + further, top, 1)]
        for op in ops:
            pair.check(op, library.wf_groups_axes(2), operands(op, *made), shape, span, top, further)


class Uneven:
    """Rows of f64, large but for runs of a few in the first batch of a warp, which are all zeros or NaNs: some lanes of a team
    do not begin as the others do, from which only the team knows whether levels hold the squares."""

    def __init__(self, shape, run, large, other, rng):
        self.type, self.shape, self.strides, self.offset = "f64", shape, (shape[1] * 8, 8), 0
        rows = [[other if i < 256 and i // run % 2 == row % 2 else math.ldexp(rng.uniform(0.5, 1), large)
                 for i in range(shape[1])] for row in range(shape[0])]
        self.data = struct.pack(f"={shape[0] * shape[1]}d", *[x for row in rows for x in row])

    def view(self):
        return wf.strided(self.data, self.type, self.shape, self.strides, self.offset)


def test_lanes_that_begin_with_zeros_or_nans(pair):
    rng = random.Random("gpu uneven lanes")
    for run, large, other in itertools.product((1, 2, 4), (505, 560, 900, -480), (0.0, math.nan)):
        array = Uneven((4, 700), run, large, other, rng)
        for op in ("norm2", "var", "std") if pair.gpu.is_real else ("norm2",):
            pair.check(op, library.wf_groups_axes(2), [array], run, large, other, nan="omit")


PRODUCTS = [((3, 70001), 2), ((70001, 3), 1), ((40, 9), 1), ((9, 40), 2), ((5, 1), 2), ((2, 33, 65), 5), ((4, 0), 2), ((1,), 1),
            ((2500, 40), 1), ((17, 4099), 2)]


@pytest.mark.sampled
@pytest.mark.parametrize("type_name, result_type", [("f32", None), ("f64", None), ("f16", "f64"), ("bf16", None), ("i64", "f64"),
                                                    ("u8", "f32"), ("f32", "i8")])
def test_products_that_are_trees(pair, type_name, result_type):
    """In stages: of one node each, and of many; of elements whose indices begin anywhere."""
    rng = random.Random(f"gpu products {type_name}")
    if not pair.gpu.is_real and type_name not in ("f32", "i64"):
        pytest.skip("no GPU: on the simulator fewer types")
    asked = {"result_type": result_type} if result_type else {}
    for shape, axes in PRODUCTS if pair.gpu.is_real else rng.sample(PRODUCTS[2:-2], 4):
        for kind in ("plain", "wild", "special"):
            array = Laid(type_name, shape, rng, kind, plain=rng.random() < 0.7)
            for first in (0, rng.choice([1, 2047, 2**40 - 5])):
                pair.check("prod", library.wf_groups_axes(axes), [array], shape, axes, kind, nan=rng.choice(NAN_POLICIES),
                           first_index=first, **asked)


@pytest.mark.parametrize("type_name, code, low", [("f32", "f", 149), ("f64", "d", 1074)])
def test_products_with_subnormal_factors(pair, type_name, code, low):
    """Beside large ones, so that the product is an ordinary number: the exponent of each factor counts."""
    rng = random.Random(f"subnormal products {type_name}")
    for count in (2, 3, 13):
        values = [factor for _ in range(count) for factor in
                  (math.ldexp(rng.randrange(-63, 64, 2), -low), 2.0 ** (low // 2), 2.0 ** (low - low // 2))]
        rng.shuffle(values)
        array = Laid(type_name, (len(values),), rng, plain=True)
        array.data = struct.pack(f"={len(values)}{code}", *values)
        pair.check("prod", library.wf_groups_axes(1), [array], count)


def skewed_offsets(rng, length):
    """One long segment among many short ones, empty ones, and some in between."""
    long = length // 2
    rest = sorted(rng.randrange(length - long) for _ in range((length - long) // 6))
    return [0, *rest, *(offset + long for offset in rest[-1:]), length]


@pytest.mark.slow
@pytest.mark.parametrize("type_name", ("f32", "i32", "f64"))
def test_skewed_segments_and_keys(pair, type_name):
    rng = random.Random(f"gpu skewed {type_name}")
    if not pair.gpu.is_real and type_name != "f32":
        pytest.skip("no GPU: on the simulator fewer types")
    length = 400000 if pair.gpu.is_real else 40000
    array = Laid(type_name, (length,), rng, "wild", plain=True)
    offsets = skewed_offsets(rng, length)
    labels = integer_vector(offsets, "i64")
    ops = ("sum", "argmin", "var") if pair.gpu.is_real else ("sum", "argmax")
    for op in ops:
        pair.check(op, library.wf_groups_segments(0, len(offsets) - 1, byref(labels)), [array], "segments")
    for count in (1, 5, 3000, length):
        keys = [min(int(rng.paretovariate(0.3)) - 1, count - 1) for _ in range(length)]
        labels = integer_vector(keys, "i32")
        for op in ops if pair.gpu.is_real else ops[:1]:
            pair.check(op, library.wf_groups_keys(0, count, byref(labels)), [array], "keys", count)


@pytest.mark.parametrize("columns", (1, 5, 33, 300))
def test_rows_of_values_by_key(pair, columns):
    rng = random.Random(f"gpu embedding {columns}")
    rows = 5000 if pair.gpu.is_real else 300
    array = Laid("f32", (rows, columns), rng, "wild", plain=True)
    keys = [0 if rng.random() < 0.5 else rng.randrange(50) for _ in range(rows)]
    labels = integer_vector(keys, "i64")
    pair.check("sum", library.wf_groups_keys(0, 50, byref(labels)), [array], columns)


@pytest.mark.parametrize("type_name", ("f32", "i32"))
def test_extremes_of_short_rows_by_key(pair, type_name):
    """Where a NaN's index matters: of the extremes themselves it does not."""
    rng = random.Random(f"gpu extremes of short rows {type_name}")
    keys = [number for number in range(20) for _ in range(rng.choice((1, 3, 8, 9)))]
    rng.shuffle(keys)
    labels = integer_vector(keys, "i32")
    for kind in ("plain", "special"):
        array = Laid(type_name, (len(keys), 33), rng, kind, plain=kind == "plain")
        for op in one_of(("min", "max"), type_name == "i32"):
            pair.check(op, library.wf_groups_keys(0, 20, byref(labels)), [array], kind, nan="error")


def test_failures_are_the_cpus(pair):
    data = struct.pack("<12d", *[1.0] * 5, math.nan, *[2.0] * 3, math.nan, 1, 2)
    array = pair.gpu.memory(data).strided("f64", (4, 3), (24, 8))
    for axes, named in ((1, "result 0: NaN at index 3"), (2, "result 1: NaN at index 2")):
        said = returned(pair.device, "sum", library.wf_groups_axes(axes), [array], nan="error")
        assert said == f"WF_ERROR_NAN: {named}"
    labels = pair.labels_there([0, 5, 3, 6], "i32", 1)
    vector = pair.gpu.memory(data).vector("f64", 6)
    said = returned(pair.device, "max", library.wf_groups_segments(0, 3, byref(labels)), [vector])
    assert said == "WF_ERROR_RANGE: offset 2 is 3, less than the one before it, 5"


def test_segments_that_overlap_are_refused(pair):
    """There are more long ones than scratch memory was taken for."""
    array = Laid("f32", (9000,), random.Random("overlap"), "plain", plain=True)
    offsets = [0, 9000] * 3000
    there = pair.labels_there(offsets, "i64", 1)
    groups = library.wf_groups_segments(0, len(offsets) - 1, byref(there))
    said = returned(pair.device, "sum", groups, [pair.there(array)])
    assert said == "WF_ERROR_RANGE: offset 2 is 0, less than the one before it, 9000"
    assert pair.left_there("sum", groups, [pair.there(array)]) == "WF_ERROR_RANGE"


def test_memory_in_the_wrong_place(pair):
    device, groups = pair.gpu.memory(bytes(96)).strided("f64", (4, 3), (24, 8)), library.wf_groups_axes(1)
    host = wf.strided(bytes(96), "f64", (4, 3), (24, 8))
    assert returned(pair.device, "sum", groups, [host]) == (bytes(24), wf.WF_F64)  # the CPU's work
    assert returned(pair.host, "sum", groups, [host]) == (bytes(24), wf.WF_F64)
    assert pair.left_there("sum", groups, [host]) == "WF_ERROR_ARGUMENT"
    assert "the array must be in device memory" in pair.device.message
    odd = pair.gpu.memory(struct.pack("<5i", 0, 0, 1, 2, 4)).strided("i32", (4,), (4,), 1)
    said = returned(pair.device, "sum", library.wf_groups_segments(0, 3, byref(odd)), [device.owner.vector("f64", 4)])
    assert said == "WF_ERROR_ARGUMENT: keys and offsets in device memory must be aligned to their size"


def test_auto_takes_groups_of_both_memories(pair):
    rng = random.Random("gpu auto")
    array, auto = Laid("f32", (30, 40), rng, "wild"), wf.Handle("auto")
    groups = library.wf_groups_axes(1)
    expected = returned(pair.host, "sum", groups, [array.view()])
    assert returned(auto, "sum", groups, [pair.there(array)]) == expected
    assert returned(auto, "sum", groups, [array.view()]) == expected


def test_the_plan_tells_itself(pair):
    array = Laid("f32", (4, 1000), random.Random("plan"), plain=True)
    returned(pair.device, "sum", library.wf_groups_axes(2), [pair.there(array)])
    assert library.wf_handle_plan(pair.device.pointer).startswith(b"rows in registers; else groups by 32 lanes each")
    returned(pair.device, "prod", library.wf_groups_axes(2), [pair.there(array)])
    assert library.wf_handle_plan(pair.device.pointer).startswith(b"trees: 4 nodes of up to 2^10 elements each")


def test_rows_of_few_neighbours(pair):
    """Their groups, of several rows, are those of neighbouring lanes, which would have nothing to do in one row."""
    rng = random.Random("gpu few neighbours")
    for shape in ((90, 20, 3), (30, 70, 24), (3, 900, 2)):
        array = Laid("f32", shape, rng, "wild", plain=True)
        pair.check("sum", library.wf_groups_axes(2), [array], shape)
        assert b"lanes of a warp side by side in a group" in library.wf_handle_plan(pair.device.pointer), shape
    for shape in ((90, 20, 32), (4, 900, 9), (900, 3)):
        array = Laid("f32", shape, rng, "wild", plain=True)
        pair.check("sum", library.wf_groups_axes(1 << (len(shape) - 2)), [array], shape)
        assert b"in neighbouring groups" in library.wf_handle_plan(pair.device.pointer), shape


@pytest.mark.skipif("not __import__('gpu_memory').real_driver()", reason="no GPU")
def test_graphs(pair):
    """What a graph replays follows the array's new contents."""
    rng = random.Random("gpu graphs")
    stream = pair.gpu.stream()
    pair.device.set_stream(stream.pointer)
    try:
        for shape, axes in (((200, 300), 2), ((200, 300), 1), ((2, 100000), 2)):
            first, second = (Laid("f32", shape, rng, "wild", plain=True) for _ in range(2))
            memory = pair.gpu.memory(first.data)
            view = memory.strided("f32", shape, first.strides)
            groups = library.wf_groups_axes(axes)
            results = wf.groups_shape(view, groups)
            output_memory = pair.gpu.empty(4 * math.prod(results))
            output = wf.wf_output(data=output_memory.pointer, type=wf.WF_F32, ndim=1, shape=(ctypes.c_int64 * 1)(*results))
            asked = wf.reduction("sum")
            def work():
                pair.device.check(library.wf_reduce(pair.device.pointer, byref(asked), byref(view), None, byref(groups),
                                                    byref(output)))
            work()  # which takes memory, and compiles
            replay = stream.capture(work)
            memory.write(second.data[:memory.nbytes])
            replay()
            stream.wait()
            assert (output_memory.read(), wf.WF_F32) == returned(pair.host, "sum", groups, [second.view()]), shape
    finally:
        pair.device.set_stream(None)
