"""Arrays in CUDA memory: by the CUDA array interface and by DLPack, on a GPU or on the SIMT machine; results stay there.

A module stands in for cupy: what the package asks of it is an empty array, a full one, and the current stream."""

import math
import struct
import sys
import types

import pytest

wf = pytest.importorskip("warpfold", reason="the Python package was not built: no headers of Python")
from cuda_helpers import gpu  # noqa: F401: a fixture
from samples import sample
from tensors import TableTensor, Tensor
from test_python_ops import number
from oracle import Oracle

pytestmark = pytest.mark.slow  # kernels are compiled

CUDA = 2
TYPESTR = {"f32": "<f4", "i64": "<i8", "bool": "|b1"}


class Array:
    """What has a CUDA array interface; the module of its class is the library that results are made by."""

    def __init__(self, memory, type_name, shape):
        self.memory, self.type_name, self.shape = memory, type_name, shape
        self.device = "the GPU"

    @property
    def __cuda_array_interface__(self):
        return {"shape": self.shape, "typestr": TYPESTR[self.type_name], "data": (self.memory.pointer, False), "version": 3,
                "strides": None, "stream": None}


@pytest.fixture
def cupy(gpu, monkeypatch):  # noqa: F811
    """A library of that name whose streams count how often they were asked for."""
    library = types.ModuleType("cupy")
    library.streams = []

    class CupyArray(Array):
        pass

    def empty(shape, dtype):
        name = {"float32": "f32", "int64": "i64", "bool": "bool"}[dtype]
        return CupyArray(gpu.empty(8 * math.prod(shape), 0xff), name, tuple(shape))

    def full(shape, value, dtype):
        made = empty(shape, dtype)
        made.memory.write(struct.pack({"float32": "<f", "int64": "<q", "bool": "?"}[dtype], value))
        return made

    def get_current_stream():
        library.streams.append(gpu.stream())
        return types.SimpleNamespace(ptr=library.streams[-1].pointer)

    CupyArray.__module__ = "cupy"
    library.Array, library.empty, library.full = CupyArray, empty, full
    library.cuda = types.SimpleNamespace(get_current_stream=get_current_stream)
    for name in ("float32", "int64", "bool"):
        setattr(library, name, name)
    monkeypatch.setitem(sys.modules, "cupy", library)
    return library


def read(array, code):
    assert array.shape == ()
    return struct.unpack(code, array.memory.read()[:struct.calcsize(code)])[0]


def test_results_stay_on_the_gpu(gpu, cupy):  # noqa: F811
    data = sample("f32", 300, "plain", seed=1)
    array, oracle = cupy.Array(gpu.memory(data), "f32", (20, 15)), Oracle("f32", data)
    total = wf.sum(array)
    assert type(total) is cupy.Array and total.type_name == "f32" and len(cupy.streams) == 2  # the array's, the result's
    for stream in cupy.streams:
        stream.wait()
    assert read(total, "<f") == number(oracle.reduce("sum"))
    index = wf.argmax(array)
    assert index.type_name == "i64" and read(index, "<q") == number(oracle.reduce("argmax"))
    with pytest.raises(ValueError, match="NaN at index 299"):
        wf.sum(cupy.Array(gpu.memory(data[:-4] + struct.pack("<f", math.nan)), "f32", (300,)), nan="error")


def test_axes_are_reduced_on_the_gpu(gpu, cupy):  # noqa: F811
    data = sample("f32", 300, "plain", seed=3)
    for axis, members in ((1, [data[60 * i:60 * i + 60] for i in range(20)]),
                          (0, [b"".join(data[60 * i + 4 * k:60 * i + 4 * k + 4] for i in range(20)) for k in range(15)])):
        sums = wf.sum(cupy.Array(gpu.memory(data), "f32", (20, 15)), axis=axis)
        assert type(sums) is cupy.Array and sums.shape == (len(members),)
        cupy.streams[-1].wait()
        found = struct.unpack(f"<{len(members)}f", sums.memory.read()[:4 * len(members)])
        assert list(found) == [number(Oracle("f32", group).reduce("sum")) for group in members]


def test_what_is_not_supported_there_is_told(gpu, cupy):  # noqa: F811
    array = cupy.Array(gpu.memory(sample("f32", 12, "plain")), "f32", (3, 4))
    with pytest.raises(TypeError, match="not yet supported in CUDA memory"):
        wf.sum(array, where=True)
    with pytest.raises(ValueError):
        wf.max(cupy.Array(gpu.memory(b""), "f32", (0,)))
    host, index = [1.0] * 12, [0, 1, 0]
    for call in (lambda: wf.vecdot(array, host), lambda: wf.vecdot(host, array), lambda: wf.segment_sum(array, index, 2),
                 lambda: wf.sum(memoryview(bytes(12)), keepdims=True, out=array),
                 lambda: wf.Accumulator("vecdot", "f4").update(array, host)):
        with pytest.raises(TypeError, match="CUDA memory and another is not"):
            call()
    for call in (lambda: wf.sum(array, device="cpu"), lambda: wf.Accumulator("sum", "f4").update(array, device="cpu")):
        with pytest.raises(ValueError, match="cannot read CUDA memory"):
            call()
    array.type_name = "complex"
    TYPESTR["complex"] = "<c8"
    with pytest.raises(TypeError, match="in CUDA memory are not supported"):
        wf.sum(array)


def test_other_libraries_arrays(gpu):  # noqa: F811
    """Without a library that is known, values come to the host."""
    data = sample("f32", 100, "plain", seed=2)
    memory, expected = gpu.memory(data), number(Oracle("f32", data).reduce("sum"))
    assert wf.sum(Array(memory, "f32", (100,)), dtype="float32", nan="error") == expected
    assert wf.stats(Array(memory, "f32", (100,))).sum == expected
    assert wf.Accumulator("sum", "float32").update(Array(memory, "f32", (4, 25))).result() == expected
    tensor = TableTensor("f32", b"", (100,), device=(CUDA, 0))
    tensor.tensor.data = tensor.new.tensor.data = memory.pointer
    assert wf.argmin(tensor) == number(Oracle("f32", data).reduce("argmin"))
    assert wf.sum(Array(memory, "f32", (100,))) == expected and wf.sum(tensor) == expected
