"""Accumulators with a shape take arrays in a GPU's memory, and save what they save of the same arrays in the host's, which
tests/test_accumulator_shaped.py holds against the oracle.  Where there is no GPU, a selection runs on the simulator."""

import math
import random
import struct
from ctypes import byref

import pytest

import warpfold_ctypes as wf
from cuda_helpers import gpu  # noqa: F401: a fixture
from gpu_pair import pair  # noqa: F401: a fixture
from group_helpers import Laid, integer_vector
from oracle import TYPES, ops_of
from samples import NAN_POLICIES
from test_accumulator_shaped import Grouped, create, cut

library = wf.library
# On the simulator: parts that kernels gather, each of some type.
SELECTED = {"f32": "sum", "f64": "var", "i8": "dot", "bf16": "norm1", "i64": "stats", "f16": "norminf", "u16": "xor",
            "i32": "prod", "u8": "argmax", "bool": "any"}
pytestmark = pytest.mark.slow  # kernels are compiled


def ops(pair, type_name, rng):  # noqa: F811
    chosen = SELECTED.get(type_name)
    return rng.sample([*ops_of(type_name), "dot", "stats"], 6) if pair.gpu.is_real else [chosen] if chosen else []


class There(Grouped):
    """The same array in the GPU's memory; its labels are there or here."""

    def __init__(self, pair, given, rng):  # noqa: F811
        self.__dict__.update(given.__dict__)
        self.pair, self.rng = pair, rng
        self.memory = {id(array): pair.gpu.memory(array.data) for array in self.arrays}

    def vector(self, labels, type_name):
        here = self.rng.random() < 0.5
        return super().vector(labels, type_name) if here else self.pair.labels_there(labels, type_name, 1)

    def strided(self, array, *laid):
        return self.memory[id(array)].strided(self.type, *laid)


def saved(accumulator, given, op, pieces):
    """After an error, too, and what it says."""
    said = None
    try:
        for begin, end in pieces:
            given.add_to(accumulator, op, begin, end)
    except wf.WarpfoldError as error:
        said = error.code, error.message
    return said, accumulator.count, accumulator.save()


@pytest.mark.sampled
@pytest.mark.parametrize("by", ["axes", "segments", "keys"])
@pytest.mark.parametrize("type_name", TYPES)
def test_they_save_what_the_hosts_save(pair, type_name, by):  # noqa: F811
    rng = random.Random(f"gpu shaped {by} {type_name}")
    for turn in range(12 if pair.gpu.is_real else 1):
        given = Grouped(by, type_name, rng)
        there = There(pair, given, rng)
        for op in ops(pair, type_name, rng):
            chosen = {"first_index": rng.choice([0, 7, 2**40 + 3]), "nan": rng.choice(NAN_POLICIES)}
            pieces = cut(rng, given.length, 2)
            here, on_gpu = (create(handle, given, op, **chosen) for handle in (pair.host, pair.device))
            expected = saved(here, given, op, pieces)
            assert saved(on_gpu, there, op, pieces) == expected, (op, given.array_shape, given.shape, pieces, chosen)
            if expected[0]:
                continue
            both = create(wf.Handle("auto"), given, op, **chosen)
            for i, (begin, end) in enumerate(pieces):
                (there if i % 2 else given).add_to(both, op, begin, end)
            assert both.save() == expected[2], (op, "in turns")


def test_every_op_of_f64(pair):  # noqa: F811
    rng = random.Random("tmp f64 0")  # among them a NaN where a lane begins, and squares beyond levels
    for op in [*ops_of("f64"), "dot", "stats"]:
        by = rng.choice(["axes", "segments", "keys"])
        given = Grouped(by, "f64", rng)
        there = There(pair, given, rng)
        chosen = {"first_index": rng.choice([0, 7]), "nan": rng.choice(NAN_POLICIES)}
        pieces = cut(rng, given.length, 1)
        here, on_gpu = (create(handle, given, op, **chosen) for handle in (pair.host, pair.device))
        assert saved(on_gpu, there, op, pieces) == saved(here, given, op, pieces), (op, by, given.array_shape, chosen)


@pytest.mark.parametrize("by", ["axes", "segments", "keys"])
def test_what_is_subtracted_was_never_there(pair, by):  # noqa: F811
    rng = random.Random(f"gpu subtracted {by}")
    given = Grouped(by, "f32", rng)
    there, half = There(pair, given, rng), given.length // 2
    kept, window, gone = (create(pair.device, given, "sum", nan="omit") for _ in range(3))
    given.add_to(kept, "sum", 0, half)
    there.add_to(window, "sum", 0, given.length)
    there.add_to(gone, "sum", half, given.length)
    window.subtract(gone)
    assert window.results("sum") == kept.results("sum")
    gone.merge(kept)
    there.add_to(kept, "sum", half, given.length)
    assert gone.save() == kept.save()


SLICED = [((60000, 1), 2), ((260, 2, 251), 2), ((70000, 3), 2), ((3, 70000), 1), ((2, 3, 40000), 2), ((41, 1300, 3), 4)]


@pytest.mark.parametrize("shape, axes", SLICED)
def test_more_results_than_a_slice(pair, shape, axes):  # noqa: F811
    """Slots of 128 MiB: 57,000 results."""
    if not pair.gpu.is_real and shape not in (SLICED[0][0], SLICED[1][0]):
        pytest.skip("no GPU: too many for the simulator")
    rng = random.Random(f"gpu slices {shape}")
    array = Laid("f32", shape, rng, "wild", plain=rng.random() < 0.5)
    groups = library.wf_groups_axes(axes)
    results = wf.groups_shape(array.view(), groups)
    for op in ("sum", "argmax") if pair.gpu.is_real else ("min",):
        here, there = (handle.accumulator(op, "f32", results) for handle in (pair.host, pair.device))
        here.add(array.view(), groups=groups)
        there.add(pair.there(array), groups=groups)
        assert there.save() == here.save(), op


def test_more_segments_than_a_slice(pair):  # noqa: F811
    rng, count = random.Random("gpu slices of segments"), 60000
    array = Laid("i32", (count + 9,), rng, "wild", plain=True)
    offsets = sorted(rng.randrange(count + 9) for _ in range(count + 1))
    labels = pair.labels_there(offsets, "i64", 1)
    groups = library.wf_groups_segments(0, count, byref(labels))
    here, there = (handle.accumulator("max", "i32", (count,)) for handle in (pair.host, pair.device))
    there.add(pair.there(array), groups=groups)
    labels_here = integer_vector(offsets, "i64")
    here.add(array.view(), groups=library.wf_groups_segments(0, count, byref(labels_here)))
    assert there.save() == here.save()
    offsets[-1] = -5  # in the last slice: nothing of the others has been added
    labels = pair.labels_there(offsets, "i64", 1)
    code, message = refused(there, pair.there(array), groups=library.wf_groups_segments(0, count, byref(labels)))
    assert code == "WF_ERROR_RANGE" and f"offset {count} is -5" in message


def refused(accumulator, *arguments, **named):
    before = accumulator.save()
    with pytest.raises(wf.WarpfoldError) as caught:
        accumulator.add(*arguments, **named)
    assert accumulator.save() == before
    return caught.value.code, caught.value.message


def test_what_is_refused(pair):  # noqa: F811
    data = struct.pack("<12d", *range(12))
    memory = pair.gpu.memory(data)
    array, axes = memory.strided("f64", (4, 3), (24, 8)), library.wf_groups_axes(1)
    accumulator = pair.device.accumulator("sum", "f64", (3,))
    accumulator.add(array, groups=axes)
    assert refused(accumulator, array, groups=library.wf_groups_axes(2))[0] == "WF_ERROR_ARGUMENT"
    assert refused(accumulator, memory.strided("i64", (4, 3), (24, 8)), groups=axes)[0] == "WF_ERROR_ARGUMENT"
    for keys, there in (([0, 1, 3, 2], False), ([0, -1, 3, 2], True)):
        vector = pair.labels_there(keys, "i32", 1) if there else integer_vector(keys, "i32")
        code, message = refused(accumulator, memory.vector("f64", 4), groups=library.wf_groups_keys(0, 3, byref(vector)))
        assert code == "WF_ERROR_RANGE" and f"{3 if not there else -1}" in message
    offsets = pair.labels_there([0, 3, 1, 4], "i64", 1)
    said = refused(accumulator, memory.vector("f64", 4), groups=library.wf_groups_segments(0, 3, byref(offsets)))
    assert said == ("WF_ERROR_RANGE", "offset 2 is 1, less than the one before it, 3")
    dot = pair.device.accumulator("dot", "f64", (3,))
    here = wf.strided(data, "f64", (4, 3), (24, 8))
    code, message = refused(dot, array, b=here, groups=axes)
    assert code == "WF_ERROR_ARGUMENT" and "host memory" in message
    assert accumulator.results("sum") == [("f64", int.from_bytes(struct.pack("<d", 18.0 + 4 * i), "little")) for i in range(3)]


def test_results_go_to_the_gpu(pair):  # noqa: F811
    rng = random.Random("gpu results")
    array, groups = Laid("f32", (5, 3, 4), rng, "wild"), library.wf_groups_axes(2)
    accumulator = pair.device.accumulator("max", "f32", (5, 4))
    lengths, auto = (wf.ctypes.c_int64 * 2)(5, 4), wf.Handle("auto")
    strides = (wf.ctypes.c_int64 * 2)(4, 20)  # in Fortran order
    memory, status = pair.gpu.empty(84, 0xA5), pair.gpu.empty(4, 0xA5)
    output = wf.wf_output(data=memory.pointer, ndim=2, shape=lengths, stride_bytes=strides, status=status.pointer)

    def read(handle):
        return wf.ERRORS[library.wf_accumulator_result(handle.pointer, accumulator.pointer, wf.OP_BY_NAME["max"], byref(output))]

    for handle in (pair.device, auto):
        accumulator.add(pair.there(array), groups=groups)
        assert read(handle) == "WF_OK" and status.read() == bytes(4)
        left = [memory.read()[20 * j + 4 * i:][:4] for i in range(5) for j in range(4)]
        assert wf.values_of(b"".join(left), wf.WF_F32) == accumulator.results("max")
        assert memory.read()[80:] == b"\xA5" * 4
        memory.write(b"\xA5" * 84)
    accumulator = pair.device.accumulator("max", "i32", (5, 4))
    assert read(pair.device) == "WF_ERROR_EMPTY" and "result 0" in pair.device.message
    assert wf.ERRORS[status.read()[0]] == "WF_ERROR_EMPTY" and memory.read() == b"\xA5" * 84
    output.status = wf.ctypes.addressof(wf.ctypes.c_int32())
    assert read(auto) == "WF_ERROR_ARGUMENT" and "status" in auto.message


def test_nan_that_is_an_error(pair):  # noqa: F811
    data = struct.pack("<6d", 1.0, 2.0, math.nan, 3.0, math.inf, -math.inf)
    array = pair.gpu.memory(data).strided("f64", (3, 2), (16, 8))
    for handle, view in ((pair.host, wf.strided(data, "f64", (3, 2), (16, 8))), (pair.device, array)):
        accumulator = handle.accumulator("sum", "f64", (2,), nan="error", first_index=5)
        with pytest.raises(wf.WarpfoldError, match="result 0: NaN at index 6") as caught:
            accumulator.add(view, groups=library.wf_groups_axes(1))
        assert caught.value.code == "WF_ERROR_NAN"
