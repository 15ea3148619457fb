"""Arrays of torch and cupy (and jax) themselves, on a GPU and in host memory; skipped by name where there is none.

The extension under test is found as all tests of this folder find it (conftest.py): in build/python, or in
$WARPFOLD_BUILD/python; with WARPFOLD_INSTALLED=1 it is the package that is installed.  From the repository:

    python3 -m pytest -q -rs tests/python/test_devices.py

Nothing is compared with a tolerance: each result has the bits that the same call gives for the same elements in host
memory, which the other tests hold against the oracle.  Kernels are compiled on their first use, about a second each.
"""

import gc
import importlib
import itertools
import math
import os

import pytest

wf = pytest.importorskip("warpfold", reason="the Python package was not built: no headers of Python")
np = pytest.importorskip("numpy", reason="no NumPy")

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # jax would take the GPU's memory from the others


def library(name):
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


torch, cupy, jax = library("torch"), library("cupy"), library("jax")
if not (torch or cupy or jax):
    pytest.skip("no torch, cupy or jax", allow_module_level=True)


def cupy_has_gpu():
    try:
        return cupy.cuda.runtime.getDeviceCount() > 0
    except Exception:  # no driver: an error of cupy's own
        return False


TORCH_GPU = torch is not None and torch.cuda.is_available()
CUPY_GPU = cupy is not None and cupy_has_gpu()
needs_torch = pytest.mark.skipif(torch is None, reason="no torch")
needs_torch_gpu = pytest.mark.skipif(not TORCH_GPU, reason="no torch with a GPU")
needs_cupy_gpu = pytest.mark.skipif(not CUPY_GPU, reason="no cupy with a GPU")

FLOATS = ("float16", "bfloat16", "float32", "float64")
DTYPES = ("bool", "int8", "int16", "int32", "int64", "uint8", *FLOATS)
NEVER_NAN = ("min", "max", "argmin", "argmax")


# ---- one way to use each library


class Torch:
    """Tensors on one of torch's devices."""

    def __init__(self, device):
        self.device = device
        self.type = torch.Tensor if torch else None

    def __str__(self):
        return f"torch {self.device}"

    def make(self, numbers, dtype):
        """numbers, a NumPy array of float64, in the device's memory as that dtype."""
        return torch.from_numpy(np.array(numbers, order="C")).to(getattr(torch, dtype)).to(self.device)

    def on_host(self, array):
        return array.cpu()

    def is_place(self, array):
        return isinstance(array, torch.Tensor) and array.device.type == self.device

    def dtype(self, array):
        return str(array.dtype).removeprefix("torch.")

    def bits(self, array):
        flat = array.detach().cpu().contiguous().reshape(-1)
        return flat.view(torch.uint8).numpy().tobytes()

    def empty(self, shape, dtype):
        return torch.empty(shape, dtype=getattr(torch, dtype), device=self.device)

    def integers(self, numbers):
        return torch.tensor(numbers, dtype=torch.int64, device=self.device)

    def transpose(self, array):
        return array.transpose(0, array.dim() - 1)


class Cupy:
    device = "cuda"

    def __str__(self):
        return "cupy"

    def make(self, numbers, dtype):
        if dtype == "bfloat16":
            pytest.skip("cupy has no bfloat16 of its own")
        return cupy.asarray(numbers.astype(dtype))

    def on_host(self, array):
        return cupy.asnumpy(array)

    def is_place(self, array):
        return isinstance(array, cupy.ndarray)

    def dtype(self, array):
        return array.dtype.name

    def bits(self, array):
        return np.ascontiguousarray(cupy.asnumpy(array) if isinstance(array, cupy.ndarray) else array).tobytes()

    def empty(self, shape, dtype):
        return cupy.empty(shape, dtype)

    def integers(self, numbers):
        return cupy.asarray(np.asarray(numbers, np.int64))

    def transpose(self, array):
        return array.T


KINDS = [pytest.param(Torch("cpu"), marks=needs_torch, id="torch-cpu"),
         pytest.param(Torch("cuda"), marks=needs_torch_gpu, id="torch-cuda"),
         pytest.param(Cupy(), marks=needs_cupy_gpu, id="cupy")]
GPUS = KINDS[1:]


def random_numbers(shape, dtype, seed=1):
    """Numbers of every magnitude that the dtype has a use for, as float64."""
    rng = np.random.default_rng(seed)
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(float)
    if dtype not in FLOATS:
        low, high = (0, 200) if dtype == "uint8" else (-100, 100)
        return rng.integers(low, high, shape).astype(float)
    wide = {"float16": 3, "bfloat16": 8, "float32": 12, "float64": 60}[dtype]
    return rng.standard_normal(shape) * 2.0 ** rng.integers(-wide, wide, shape)


def same(kind, got, expected, is_on_gpu=True):
    """got is an array of the kind, in its place, and has expected's shape, dtype and bits."""
    assert kind.is_place(got), type(got)
    if hasattr(expected, "shape"):
        assert tuple(got.shape) == tuple(expected.shape)
    wanted = expected if isinstance(kind, Cupy) or isinstance(expected, kind.type) else torch.as_tensor(expected)
    if isinstance(kind, Cupy):
        assert got.dtype == np.asarray(expected).dtype
    else:
        assert got.dtype == wanted.dtype
    assert kind.bits(got) == kind.bits(wanted)


# ---- every op and type, whole and along axes


OPS = ("sum", "prod", "min", "max", "argmin", "argmax", "mean", "var", "std", "any", "all", "count_nonzero")
FEWER_OPS = ("sum", "max", "argmin", "var")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", KINDS)
def test_every_op_whole_and_along_axes(kind, dtype):
    """The results' bits are those of the same elements in host memory, and they are where the array is."""
    array = kind.make(random_numbers((37, 50), dtype), dtype)
    host = kind.on_host(array)
    ops = OPS if dtype in ("float32", "float64") else FEWER_OPS  # kernels are dear
    for op in ops:
        function = getattr(wf, op)
        for options in ({}, {"axis": 0}, {"axis": -1, "keepdims": True}, {"axis": (0, 1), "keepdims": True}):
            same(kind, function(array, **options), function(host, **options))
    if ops is FEWER_OPS:
        return
    for order, options in itertools.product((1, 2, math.inf), ({}, {"axis": 1})):
        same(kind, wf.norm(array, order, **options), wf.norm(host, order, **options))
    for axis in (0, 1):
        same(kind, wf.vecdot(array, array, axis=axis), wf.vecdot(host, host, axis=axis))
    other = kind.make(random_numbers((37, 50), "float16"), "float16")
    for one, two in ((array, other), (other, array)):
        same(kind, wf.vecdot(one, two, axis=0), wf.vecdot(kind.on_host(one), kind.on_host(two), axis=0))


@pytest.mark.parametrize("kind", KINDS)
def test_dtype_and_ddof(kind):
    array = kind.make(random_numbers((20, 30), "float16"), "float16")
    host = kind.on_host(array)
    for dtype in ("float32", "float64"):
        for axis in (None, 1):
            got = wf.sum(array, axis=axis, dtype=dtype)
            assert kind.dtype(got) == dtype
            same(kind, got, wf.sum(host, axis=axis, dtype=dtype))
    same(kind, wf.var(array, axis=0, ddof=1), wf.var(host, axis=0, ddof=1))
    same(kind, wf.std(array, correction=2), wf.std(host, correction=2))
    if isinstance(kind, Torch):
        assert wf.sum(array, dtype=torch.float64).dtype == torch.float64


@pytest.mark.parametrize("kind", KINDS)
def test_not_contiguous(kind):
    """Transposed, every second, repeated, and (cupy) backwards."""
    array = kind.make(random_numbers((6, 31, 40), "float32"), "float32")
    views = [kind.transpose(array), array[:, ::2], array[..., 3:17], array[2], array[:, 5:6]]
    if isinstance(kind, Torch):
        views += [array[:1, :1].expand(5, 7, 40), array.permute(1, 0, 2)]
    else:
        views += [array[::-1, :, ::-3], cupy.broadcast_to(array[:1, :1], (5, 7, 40))]
    for view in views:
        host = kind.on_host(view)
        same(kind, wf.sum(view), wf.sum(host))
        for axis in range(view.ndim):
            same(kind, wf.sum(view, axis=axis), wf.sum(host, axis=axis))
            same(kind, wf.argmax(view, axis=axis), wf.argmax(host, axis=axis))
        same(kind, wf.var(view, axis=(0, view.ndim - 1)), wf.var(host, axis=(0, view.ndim - 1)))


@pytest.mark.parametrize("shape", [(), (1,), (3,), (1000, 1), (1, 1000), (100_003,), (3, 100_001), (50_000, 3)])
@pytest.mark.parametrize("kind", KINDS)
def test_shapes(kind, shape):
    array = kind.make(random_numbers(shape, "float32", seed=3), "float32")
    host = kind.on_host(array)
    for op in ("sum", "max", "std"):
        same(kind, getattr(wf, op)(array), getattr(wf, op)(host))
        for axis in range(len(shape)):
            same(kind, getattr(wf, op)(array, axis=axis), getattr(wf, op)(host, axis=axis))


@pytest.mark.parametrize("kind", KINDS)
def test_of_nothing(kind):
    for shape in ((0,), (0, 3), (3, 0)):
        array = kind.make(np.zeros(shape), "float32")
        host = kind.on_host(array)
        for op in ("sum", "mean", "any", "all", "prod"):
            same(kind, getattr(wf, op)(array), getattr(wf, op)(host))
        for axis in range(len(shape)):
            same(kind, wf.sum(array, axis=axis), wf.sum(host, axis=axis))
        for op in NEVER_NAN:
            with pytest.raises(ValueError):
                getattr(wf, op)(array)


@pytest.mark.parametrize("kind", KINDS)
def test_nan_and_infinities(kind):
    numbers = random_numbers((40, 50), "float64")
    numbers[3, 7] = numbers[30, 2] = math.nan
    numbers[5] = math.inf
    numbers[:, 9] = -math.inf
    array = kind.make(numbers, "float64")
    host = kind.on_host(array)
    for op in ("sum", "mean", "var", "min", "max", "argmin", "argmax"):
        for nan, axis in itertools.product(("propagate", "omit"), (None, 0, 1)):
            same(kind, getattr(wf, op)(array, axis=axis, nan=nan), getattr(wf, op)(host, axis=axis, nan=nan))
        for axis in (None, 0, 1):
            with pytest.raises(ValueError, match="NaN"):
                getattr(wf, op)(array, axis=axis, nan="error")
    hole = kind.make(np.array([[1.0, 2.0], [math.nan, math.nan]]), "float64")
    same(kind, wf.nanmean(hole, axis=1), wf.nanmean(kind.on_host(hole), axis=1))
    with pytest.raises(ValueError):
        wf.nanargmax(hole, axis=1)


@pytest.mark.parametrize("kind", KINDS)
def test_overflow_is_an_error(kind):
    """Of all elements and of one of many results: nothing wraps, and nothing becomes 0."""
    numbers = np.zeros((3, 4))
    array = kind.make(numbers, "int64")
    array[1] = 2**62
    for axis in (None, 1):
        with pytest.raises(OverflowError):
            wf.sum(array, axis=axis)
    same(kind, wf.sum(array[::2], axis=1), wf.sum(kind.on_host(array[::2]), axis=1))
    with pytest.raises(OverflowError):
        wf.prod(array[1])


@pytest.mark.parametrize("kind", KINDS)
def test_out(kind):
    array = kind.make(random_numbers((20, 30), "float32"), "float32")
    host = kind.on_host(array)
    out = kind.empty((20,), "float32")
    assert wf.sum(array, axis=1, out=out) is out
    same(kind, out, wf.sum(host, axis=1))
    whole = kind.empty((), "float32")
    assert wf.mean(array, out=whole) is whole
    same(kind, whole, wf.mean(host))
    with pytest.raises((ValueError, TypeError)):
        wf.sum(array, axis=1, out=kind.empty((19,), "float32"))


@pytest.mark.parametrize("kind", KINDS)
def test_keys(kind):
    """Labels beside the elements: every order of the rows, the same bits."""
    rng = np.random.default_rng(5)
    ids = rng.integers(0, 7, 5000)
    for dtype in ("float32", "float64", "int32"):
        array = kind.make(random_numbers(5000, dtype, seed=6), dtype)
        host, labels, order = kind.on_host(array), kind.integers(ids), kind.integers(rng.permutation(5000))
        for op in ("sum", "max", "mean", "argmin", "count_nonzero"):
            segment = getattr(wf, f"segment_{op}")
            expected = segment(host, ids, 7)
            same(kind, segment(array, labels, 7), expected)
            same(kind, segment(array, labels), expected)
            if op != "argmin":
                same(kind, segment(array[order], labels[order], 7), expected)
    rows = kind.make(random_numbers((5000, 3), "float32", seed=7), "float32")
    same(kind, wf.segment_sum(rows, labels, 9), wf.segment_sum(kind.on_host(rows), ids, 9))
    weights = kind.make(random_numbers(5000, "float64", seed=8), "float64")
    same(kind, wf.bincount(labels, weights, 10), wf.bincount(ids, kind.on_host(weights), 10))
    same(kind, wf.bincount(labels), wf.bincount(ids))
    with pytest.raises(IndexError):
        wf.segment_sum(array, labels, 3)


@pytest.mark.parametrize("kind", KINDS)
def test_stats(kind):
    array = kind.make(random_numbers((300, 40), "float32", seed=9), "float32")
    got, expected = wf.stats(array), wf.stats(np.asarray(kind.on_host(array)))
    assert {name: float(value) for name, value in got._asdict().items()} == {
        name: float(value) for name, value in expected._asdict().items()}


@pytest.mark.parametrize("kind", KINDS)
def test_accumulators(kind):
    """A part from the device, a part from the host."""
    array = kind.make(random_numbers((200, 50), "float32", seed=10), "float32")
    host = kind.on_host(array)
    for op in ("sum", "var", "max", "count_nonzero"):
        whole = wf.Accumulator(op, "float32").update(host)
        parts = wf.Accumulator(op, "float32").update(array[:77]) + wf.Accumulator(op, "float32", first_index=77 * 50).update(host[77:])
        assert parts.bytes() == whole.bytes() and parts.result() == whole.result()
        assert wf.Accumulator(op, "float32").update(array).bytes() == whole.bytes()


# ---- GPUs alone


@pytest.mark.parametrize("kind", GPUS)
def test_places_that_do_not_fit_are_told(kind):
    array, host = kind.make(np.ones((3, 4)), "float32"), np.ones((3, 4), np.float32)
    for call in (lambda: wf.vecdot(array, host), lambda: wf.vecdot(host, array),
                 lambda: wf.segment_sum(array, [0, 1, 0], 2), lambda: wf.sum(array, axis=0, out=np.empty(4, "f4")),
                 lambda: wf.sum(host, axis=0, out=kind.empty((4,), "float32"))):
        with pytest.raises(TypeError, match="CUDA memory"):
            call()
    with pytest.raises(ValueError, match="cannot read CUDA memory"):
        wf.sum(array, device="cpu")


def busy_torch(numbers):
    """Work that keeps the current stream busy for some milliseconds, and then writes numbers to what is returned."""
    array = torch.zeros_like(numbers)
    torch.cuda._sleep(20_000_000)  # clocks
    array.copy_(numbers)
    return array


@needs_torch_gpu
def test_torchs_current_stream():
    """What the stream has not written yet is waited for by the stream, and not by the host."""
    numbers = torch.randn(1 << 20, device="cuda")
    expected, rows = wf.sum(numbers.cpu()), wf.sum(numbers.cpu().view(1024, 1024), axis=1)
    wf.sum(numbers), wf.sum(numbers.view(1024, 1024), axis=1)  # compiled
    streams = [torch.cuda.Stream() for _ in range(3)] + [torch.cuda.default_stream()]
    torch.cuda.synchronize()
    for stream in streams * 2:
        with torch.cuda.stream(stream):
            array = busy_torch(numbers)
            whole = wf.sum(array)
            along = wf.sum(array.view(1024, 1024), axis=1)
            assert not stream.query(), "the host has waited for the stream"
        stream.synchronize()
        assert whole.item() == expected.item() and torch.equal(along.cpu(), rows)


@needs_torch_gpu
def test_torch_graphs():
    """A captured sum follows the numbers that are in the memory when the graph is replayed."""
    array = torch.randn(300, 1000, device="cuda")
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(2):
            wf.sum(array), wf.mean(array, axis=1), wf.max(array, axis=0)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        total, means, largest = wf.sum(array), wf.mean(array, axis=1), wf.max(array, axis=0)
    for seed in range(4):
        torch.manual_seed(seed)
        array.copy_(torch.randn(300, 1000) * 10.0**seed)
        graph.replay()
        torch.cuda.synchronize()
        host = array.cpu()
        assert total.item() == wf.sum(host).item()
        assert torch.equal(means.cpu(), wf.mean(host, axis=1)) and torch.equal(largest.cpu(), wf.max(host, axis=0))
        # Work that needs more scratch memory than the graph's takes none of it away.
        big = torch.randn(40, 1 << (14 + seed), device="cuda")
        assert torch.equal(wf.sum(big, axis=1).cpu(), wf.sum(big.cpu(), axis=1))


@needs_torch_gpu
def test_torch_tensors_in_use_elsewhere():
    """Parameters that need gradients are read as they are; the results need none."""
    parameter = torch.nn.Parameter(torch.randn(100, 30, device="cuda"))
    plain = parameter.detach()
    try:
        got = wf.norm(parameter)
    except (BufferError, RuntimeError, TypeError) as error:  # torch's own words, where its DLPack refuses
        assert "grad" in str(error)
        got = wf.norm(plain)
    assert got.item() == wf.norm(plain.cpu()).item() and not got.requires_grad
    half = torch.randn(1000, device="cuda").to(torch.bfloat16)
    assert wf.sum(half).dtype == torch.bfloat16
    assert wf.sum(half, dtype="float32").item() == float(wf.sum(half.cpu(), dtype="float32"))


@needs_torch_gpu
def test_torch_memory_is_given_back():
    array = torch.randn(1000, 100, device="cuda")
    for _ in range(3):
        wf.sum(array), wf.sum(array, axis=0)
    gc.collect()
    torch.cuda.synchronize()
    before = torch.cuda.memory_allocated()
    for _ in range(200):
        wf.sum(array), wf.sum(array, axis=0), wf.argmax(array), wf.max(array, axis=1, keepdims=True)
    gc.collect()
    torch.cuda.synchronize()
    assert torch.cuda.memory_allocated() == before


@needs_torch_gpu
@pytest.mark.skipif(not TORCH_GPU or torch.cuda.device_count() < 2, reason="no second GPU")
def test_the_second_gpu():
    array = torch.randn(1000, 100, device="cuda:1")
    for got, expected in ((wf.sum(array), wf.sum(array.cpu())), (wf.sum(array, axis=0), wf.sum(array.cpu(), axis=0))):
        assert got.device == array.device and torch.equal(got.cpu(), expected)
    assert wf.sum(array[:10].to("cuda:0")).device.index == 0


@needs_torch
def test_torch_on_the_host():
    for dtype in FLOATS:
        array = torch.randn(30, 40).to(getattr(torch, dtype))
        total = wf.sum(array)
        assert isinstance(total, torch.Tensor) and total.dtype == array.dtype and total.shape == ()
        exact = math.fsum(array.double().flatten().tolist())
        assert total.double().item() == torch.tensor(exact, dtype=torch.float64).to(array.dtype).double().item() or dtype in (
            "float16", "bfloat16")  # rounded twice by the comparison
    counted = wf.count_nonzero(torch.arange(12).view(3, 4), axis=1)
    assert counted.tolist() == [3, 4, 4] and counted.dtype == torch.int64
    assert wf.argmax(torch.tensor([1, 5, 2])).item() == 1
    with pytest.raises(TypeError):
        wf.sum(torch.ones(3, dtype=torch.complex64))


@needs_cupy_gpu
def test_cupys_current_stream():
    numbers = cupy.asarray(np.random.default_rng(1).standard_normal(1 << 20))
    cupy.cuda.Device().synchronize()
    expected = wf.sum(cupy.asnumpy(numbers))
    rows = wf.sum(cupy.asnumpy(numbers).reshape(1024, 1024), axis=1)
    for _ in range(6):
        stream = cupy.cuda.Stream(non_blocking=True)
        with stream:
            array = numbers * 1
            whole, along = wf.sum(array), wf.sum(array.reshape(1024, 1024), axis=1)
        stream.synchronize()
        assert whole.get() == expected and (along.get() == rows).all()
        del stream, array  # streams that are gone are not waited for
        gc.collect()
        assert wf.sum(numbers).get() == expected


@needs_cupy_gpu
def test_cupy_memory_is_given_back():
    array, pool = cupy.ones((1000, 100)), cupy.get_default_memory_pool()
    wf.sum(array), wf.sum(array, axis=0)
    gc.collect()
    before = pool.used_bytes()
    for _ in range(100):
        wf.sum(array), wf.sum(array, axis=0), wf.argmax(array)
    gc.collect()
    assert pool.used_bytes() == before


@pytest.mark.skipif(not (TORCH_GPU and CUPY_GPU), reason="no torch and cupy with a GPU")
def test_libraries_meet():
    """Both in one call: results are of the first array's kind."""
    a = torch.randn(50, 60, device="cuda")
    b = cupy.asarray(a)
    torch.cuda.synchronize()
    assert wf.vecdot(a, b).tolist() == wf.vecdot(b, a).tolist() == wf.vecdot(a.cpu(), a.cpu()).tolist()
    assert isinstance(wf.vecdot(a, b), torch.Tensor) and isinstance(wf.vecdot(b, a), cupy.ndarray)


@pytest.mark.skipif(jax is None, reason="no jax")
def test_jax():
    numbers = np.random.default_rng(2).standard_normal((20, 30)).astype("f4")
    array = jax.numpy.asarray(numbers)
    rows = wf.sum(array, axis=1)
    assert isinstance(rows, jax.Array) and (np.asarray(rows) == wf.sum(numbers, axis=1)).all()
    assert float(wf.sum(array)) == wf.sum(numbers)
