"""Arrays in CUDA memory: by the CUDA array interface and by DLPack, on a GPU or on the simulator; results stay there.

A module stands in for cupy: what the package asks of it is an empty array, a full one, and the current stream."""

import gc
import math
import struct
import sys
import types
import weakref
from fractions import Fraction

import pytest

wf = pytest.importorskip("warpfold", reason="the Python package was not built: no headers of Python")
from cuda_helpers import gpu  # noqa: F401: a fixture
from samples import sample
from tensors import TableTensor, Tensor
from test_python_ops import number
from oracle import Oracle

try:
    import numpy
except ImportError:
    numpy = None

pytestmark = pytest.mark.slow  # kernels are compiled

CUDA = 2
TYPESTR = {"f32": "<f4", "i32": "<i4", "i64": "<i8", "f64": "<f8", "bool": "|b1"}
NAMES = {"float32": "f32", "float64": "f64", "int32": "i32", "int64": "i64", "bool": "bool"}
CODES = {"f32": "<f", "f64": "<d", "i32": "<i", "i64": "<q", "bool": "?"}


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
        def __len__(self):
            return self.shape[0]

        def tolist(self):
            for stream in library.streams:
                stream.wait()
            size = struct.calcsize(CODES[self.type_name])
            return [number for number, in struct.iter_unpack(CODES[self.type_name],
                                                             self.memory.read()[:size * math.prod(self.shape)])]

        def item(self):
            return self.tolist()[0]

        def __int__(self):
            return self.item()

        def numpy(self):
            return numpy.array(self.tolist(), self.type_name.replace("bool", "?").replace("i32", "i4").replace("i64", "i8")
                               .replace("f32", "f4").replace("f64", "f8")).reshape(self.shape)

        def __lt__(self, number):
            return made(self.numpy() < number) if self.shape else self.item() < number

        def __mod__(self, number):
            return made(self.numpy() % number)

        def __sub__(self, other):
            return made(self.numpy() - other.numpy())

        def __setitem__(self, index, other):
            self.memory.write(numpy.ascontiguousarray(other.numpy().astype(self.numpy().dtype)[index]).tobytes())

        def reshape(self, shape):
            return made(self.numpy().reshape(shape))

    def made(array):
        result = empty(array.shape, str(array.dtype))
        result.memory.write(array.tobytes())
        return result

    def as_cupy(function):
        """NumPy's, for arrays on the GPU."""
        def call(*arguments, **options):
            given = [[x.numpy() for x in a] if isinstance(a, list) and isinstance(a[0], CupyArray) else
                     a.numpy() if isinstance(a, CupyArray) else a for a in arguments]
            return made(function(*given, **options))
        return call

    def empty(shape, dtype):
        return CupyArray(gpu.empty(8 * math.prod(shape), 0xff), NAMES[dtype], tuple(shape))

    def full(shape, value, dtype):
        made = empty(shape, dtype)
        made.memory.write(struct.pack(CODES[NAMES[dtype]], value))
        return made

    def get_current_stream():
        library.streams.append(gpu.stream())
        return types.SimpleNamespace(ptr=library.streams[-1].pointer)

    CupyArray.__module__ = "cupy"
    library.Array, library.empty, library.full = CupyArray, empty, full
    for name in ("arange", "broadcast_to", "concatenate", "transpose", "where"):
        setattr(library, name, as_cupy(getattr(numpy, name, None)))
    library.cuda = types.SimpleNamespace(get_current_stream=get_current_stream)
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


def array_of(gpu, cupy, type_name, numbers, shape=None):  # noqa: F811
    data = b"".join(struct.pack(CODES[type_name], number) for number in numbers)
    return cupy.Array(gpu.memory(data), type_name, shape or (len(numbers),))


def test_failures_on_the_gpu_are_exceptions(gpu, cupy):  # noqa: F811
    """Of one of many results: it is told, and nothing is 0 that is not."""
    table = array_of(gpu, cupy, "i64", [1, 2, 2**62, 2**62], (2, 2))
    with pytest.raises(OverflowError, match="does not fit"):
        wf.sum(table, axis=1)
    assert wf.sum(array_of(gpu, cupy, "i64", [1, 2, 3, 4], (2, 2)), axis=1).tolist() == [3, 7]
    holes = array_of(gpu, cupy, "f32", [1, 2, math.nan, math.nan], (2, 2))
    with pytest.raises(ValueError, match="NaN"):
        wf.sum(holes, axis=1, nan="error")
    assert wf.argmax(array_of(gpu, cupy, "f32", [1, 2, 4, 3], (2, 2)), axis=1, nan="omit").tolist() == [1, 0]
    factors = array_of(gpu, cupy, "f32", [1, 2, 4, 3], (2, 2))
    assert wf.prod(factors).tolist() == [24.0] and wf.prod(factors, axis=0).tolist() == [4.0, 6.0]
    kept = wf.prod(factors, keepdims=True)
    assert kept.shape == (1, 1) and kept.tolist() == [24.0] and wf.sum(factors, keepdims=True).tolist() == [10.0]


def test_keys_on_the_gpu(gpu, cupy):  # noqa: F811
    values, ids = array_of(gpu, cupy, "f32", [1e30, 2, 3, -1e30]), array_of(gpu, cupy, "i64", [0, 1, 1, 0])
    assert wf.segment_sum(values, ids).tolist() == [0.0, 5.0]
    assert wf.bincount(ids, minlength=3).tolist() == [2, 2, 0]
    with pytest.raises(IndexError, match="skip_bad_keys=True"):
        wf.segment_sum(values, ids, 1)
    assert wf.segment_sum(values, ids, 1, skip_bad_keys=True).tolist() == [0.0]


@pytest.mark.skipif(numpy is None, reason="no NumPy")
def test_masks_and_first_values_on_the_gpu(gpu, cupy):  # noqa: F811
    """The results are those of the same elements in host memory, and stay on the GPU."""
    numbers = [1e30, 2, 3, math.nan, 5, -1e30, 7, 8, 9, 10, 11, 12]
    flags = [True, True, False, False, True, True, False, False, True, False, True, False]
    array, mask = array_of(gpu, cupy, "f32", numbers, (2, 3, 2)), array_of(gpu, cupy, "bool", flags, (2, 3, 2))
    host, where = array.numpy(), mask.numpy()
    row = array_of(gpu, cupy, "bool", [True, False])
    for op, axis, options in (("sum", (0, 2), {}), ("sum", None, {"initial": 1.0}), ("max", 1, {"initial": 6, "keepdims": True}),
                              ("min", (), {"initial": 4.0}), ("mean", 0, {"nan": "omit"}), ("sum", (), {"dtype": "f8"})):
        for ours, theirs in ((mask, where), (row, where[0, 1] & row.numpy()), (False, False), (True, True), (None, None)):
            if ours is None and not "initial" in options or ours is row:
                theirs = row.numpy() if ours is row else None
            got = getattr(wf, op)(array, axis=axis, where=ours, **options)
            assert type(got) is cupy.Array
            expected = numpy.asarray(getattr(wf, op)(host, axis=axis, where=theirs, **options))
            assert got.shape == expected.shape and got.numpy().tobytes() == expected.tobytes()
    out = array_of(gpu, cupy, "f64", [0, 0])
    assert wf.sum(array, axis=(1, 2), where=mask, out=out) is out
    assert out.tolist() == wf.sum(host, axis=(1, 2), where=where, dtype="f8").tolist()
    ints = array_of(gpu, cupy, "i64", [1, 2, 3, 4], (2, 2))
    assert wf.max(ints, axis=1, initial=3).tolist() == [3, 4] and wf.prod(ints, where=ints < 3).tolist() == [2]
    for error, call in ((ValueError, lambda: wf.min(ints, axis=1, where=ints < 3)), (OverflowError, lambda: wf.sum(ints, initial=2**64)),
                        (TypeError, lambda: wf.sum(ints, initial=0.5)), (TypeError, lambda: wf.sum(ints, where=ints)),
                        (ValueError, lambda: wf.sum(ints, where=row, out=out, axis=())),
                        (ValueError, lambda: wf.sum(ints, where=array_of(gpu, cupy, "bool", [True] * 3)))):
        with pytest.raises(error):
            call()


@pytest.mark.skipif(numpy is None, reason="no NumPy")
def test_what_stats_of_groups_is_made_of(gpu, cupy):  # noqa: F811
    """Counts, positions of what a mask selects, and -1 where there is nothing; all of stats would be kernels of every op."""
    array = array_of(gpu, cupy, "f32", [1e30, 2, math.nan, 3, 5, math.nan], (2, 3))
    mask = array_of(gpu, cupy, "bool", [True, True, True, False, False, True], (2, 3))
    for op, settings in (("elements", {}), ("argmin", {"fill": -1, "nan": "omit"}), ("argmin", {"fill": -1})):
        got = wf._core.reduce_op(op, array, axis=1, where=mask, **settings)
        expected = wf._core.reduce_op(op, array.numpy(), axis=1, where=mask.numpy(), **settings)
        assert type(got) is cupy.Array and got.tolist() == expected.tolist()
    assert wf._core.reduce_op("elements", array, axis=0).tolist() == [2, 2, 2]
    counts = wf._kinds.minus(wf._core.reduce_op("elements", array, axis=1), wf._core.reduce_op("elements", array, axis=1, where=mask))
    assert type(counts) is cupy.Array and counts.tolist() == [0, 2]


def test_vecdot_of_two_types_on_the_gpu(gpu, cupy):  # noqa: F811
    values = [0.1, -2.5, 2.0**-40]
    single = struct.unpack("3f", struct.pack("3f", *values))
    a, b = (cupy.Array(gpu.memory(struct.pack("3" + code, *values)), name, (3,)) for code, name in (("f", "f32"), ("d", "f64")))
    for pair, expected in (((a, b), sum(Fraction(x) * Fraction(y) for x, y in zip(single, values))),
                           ((b, a), sum(Fraction(x) * Fraction(y) for x, y in zip(single, values)))):
        result = wf.vecdot(*pair)
        assert type(result) is cupy.Array and result.item() == float(expected)
    wide = cupy.Array(gpu.memory(struct.pack("3q", 1, 2**53 + 1, 0)), "i64", (3,))
    with pytest.raises(OverflowError, match="beyond"):
        wf.vecdot(wide, b)


def test_streams_live_as_long_as_their_handle(gpu, cupy):  # noqa: F811
    """Each call is on a stream that nobody else keeps; the next one has to wait for it."""
    alive = []

    class Current:
        def __init__(self):
            self.stream = gpu.stream()
            self.ptr = self.stream.pointer
            alive.append(weakref.ref(self))

    cupy.cuda.get_current_stream = Current
    values, wrong = array_of(gpu, cupy, "f32", [1, 5, 3]), array_of(gpu, cupy, "i64", [2**62, 2**62])
    for _ in range(4):
        assert wf.argmax(values).tolist() == [1] and type(wf.sum(values)) is cupy.Array
        with pytest.raises(OverflowError):
            wf.sum(wrong)
    gc.collect()
    assert len(alive) > 10 and 1 <= sum(reference() is not None for reference in alive) < 4


def test_accumulators_with_a_shape(gpu, cupy):  # noqa: F811
    data, keys = sample("f32", 12, "wild"), struct.pack("3q", 1, 0, 1)
    array, ids = cupy.Array(gpu.memory(data), "f32", (3, 4)), cupy.Array(gpu.memory(keys), "i64", (3,))
    here, ids_here = memoryview(data).cast("B").cast("f", (3, 4)), memoryview(keys).cast("q")
    for shape, given, same in ((4, {}, {}), (3, {"axis": 1}, {"axis": 1}), ((2, 4), {"ids": ids}, {"ids": ids_here}),
                               ((2, 4), {"ids": ids_here}, {"ids": ids_here})):
        there, expected = (wf.Accumulator("var", "f4", shape) for _ in range(2))
        expected.update(here, **same).update(here, **same)
        try:
            there.update(array, **given).update(array, **given, device="cuda:0")
        except TypeError as error:
            assert "CUDA memory and another is not" in str(error) and given["ids"] is ids_here
            continue
        assert bytes(there) == bytes(expected)
        there -= wf.Accumulator("var", "f4", shape).update(array, **given)
        assert bytes(there + wf.Accumulator("var", "f4", shape).update(here, **same)) == bytes(expected)


def test_what_is_not_supported_there_is_told(gpu, cupy):  # noqa: F811
    array = cupy.Array(gpu.memory(sample("f32", 12, "plain")), "f32", (3, 4))
    for options in ({"where": [True] * 4}, {"where": bytearray(12)}):
        with pytest.raises(TypeError, match="CUDA memory and another is not|where must be bool"):
            wf.sum(array, **options)
    for options in ({"where": True}, {"initial": 1.0}):
        with pytest.raises(TypeError, match="torch's and cupy's arrays alone"):
            wf.sum(Array(array.memory, "f32", (3, 4)), **options)
    for call in (lambda: wf.Accumulator("sum", "f4", 3).update(array), lambda: wf.Accumulator("sum", "f4", 4).update(array, axis=1)):
        with pytest.raises(ValueError, match="long; that of the results"):
            call()
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
