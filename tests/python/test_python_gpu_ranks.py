"""Results of all ranks' arrays in CUDA memory: their words are written, added up and read there, and are those of accumulators.

Threads stand in for ranks, and cupy's stand-in of test_python_gpu.py for their library."""

import struct
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

wf = pytest.importorskip("warpfold", reason="the Python package was not built: no headers of Python")
from warpfold import _ranks
from cuda_helpers import gpu  # noqa: F401: a fixture
from samples import sample
from test_python_gpu import CODES, cupy, read  # noqa: F401: a fixture

pytestmark = pytest.mark.slow  # kernels are compiled
NAMES = {"f32": "float32", "f64": "float64", "i32": "int32"}


class Part:
    """Bytes of device memory."""

    def __init__(self, memory, offset, nbytes):
        self.whole, self.offset, self.nbytes, self.pointer = memory, offset, nbytes, memory.pointer + offset

    def read(self):
        return self.whole.read()[self.offset:self.offset + self.nbytes]

    def write(self, data):
        self.whole.write(data, self.offset)


class Ranks:
    """One of some threads that meet for each collective."""

    def __init__(self, gpu, library, rank, count, meeting, board):  # noqa: F811
        self.gpu, self.rank, self.meeting, self.board, self.collectives = gpu, rank, meeting, board, []
        ranks = self

        class Words(library.Array):
            def split(self, lengths):
                begins = [sum(lengths[:i]) for i in range(len(lengths))]
                return [Words(Part(self.memory, 8 * begin, 8 * length), "i64", (length,))
                        for begin, length in zip(begins, lengths)]

            def clone(self):
                return ranks.new(self.memory.read())

            def __setitem__(self, index, value):
                words = self.words()
                words[index] = [value] * len(words[index]) if isinstance(index, slice) else value
                self.memory.write(struct.pack(f"{len(words)}q", *words))

            def words(self):
                return list(struct.unpack(f"{self.shape[0]}q", self.memory.read()))

        Words.__module__ = "cupy"
        self.type = Words

    def new(self, data):
        return self.type(self.gpu.memory(data), "i64", (len(data) // 8,))

    def words(self, count):
        return self.new(bytes(8 * count))

    def _reduce(self, words, how):
        self.collectives.append((how, words.shape))
        self.board[self.rank] = words.words()
        self.meeting.wait()
        total = [how(column) for column in zip(*self.board)]
        self.meeting.wait()
        words.memory.write(struct.pack(f"{len(total)}q", *((word + 2**63) % 2**64 - 2**63 for word in total)))

    def add_there(self, words):
        self._reduce(words, sum)

    def largest_there(self, words):
        self._reduce(words, max)

    def add(self, words):
        there = self.new(bytes(words))
        self._reduce(there, sum)
        words[:] = memoryview(there.memory.read()).cast("q")


@pytest.fixture
def on_ranks(gpu, cupy):  # noqa: F811
    def run(count, work):
        """What work(ranks) gives on each."""
        meeting, board = threading.Barrier(count, timeout=600), [None] * count

        def enter_and_work(rank):
            try:
                gpu.enter()
                return work(Ranks(gpu, cupy, rank, count, meeting, board))
            except BaseException:
                meeting.abort()  # nobody waits for it
                raise

        with ThreadPoolExecutor(count) as pool:
            return list(pool.map(enter_and_work, range(count)))

    return run


def arrays_of(gpu, cupy, type_name, shares):  # noqa: F811
    return [cupy.Array(gpu.memory(data), type_name, (len(data) // struct.calcsize(CODES[type_name]),)) for data in shares]


def bits(value, type_name):
    return struct.pack(CODES[type_name], value).hex()


def whole(op, type_name, shares, **chosen):
    total = wf.Accumulator(op, NAMES[type_name], **chosen)
    for share in shares:
        for data in share:
            total.update(memoryview(data).cast(CODES[type_name][1:]))
    return total.result()


@pytest.mark.parametrize("op, type_name, collectives", [("sum", "f32", 1), ("norm2", "f64", 1), ("min", "f32", 2)])
def test_floats_stay_on_the_gpu(gpu, cupy, on_ranks, op, type_name, collectives):  # noqa: F811
    for kind in ("plain", "wild"):
        shares = [[sample(type_name, count, kind, f"{rank} {count}") for count in counts]
                  for rank, counts in enumerate(((30, 7), (0,), (100, 0, 3)))]

        def work(ranks):
            accumulator = wf.Accumulator(op, NAMES[type_name])
            words = _ranks.reduce_there(accumulator, arrays_of(gpu, cupy, type_name, shares[ranks.rank]), ranks)
            result = accumulator.device_result(words)
            for stream in list(cupy.streams):
                stream.wait()
            assert len(ranks.collectives) == collectives and accumulator.count == 0
            return type(result) is cupy.Array, bits(read(result, CODES[type_name]), type_name)

        assert set(on_ranks(3, work)) == {(True, bits(whole(op, type_name, shares), type_name))}


@pytest.mark.parametrize("op, type_name, nan", [("sum", "i32", "propagate"), ("sum", "f32", "error"), ("argmax", "i32", "omit")])
def test_what_can_fail_is_read_on_the_host(gpu, cupy, on_ranks, op, type_name, nan):  # noqa: F811
    shares = [[sample(type_name, 20, "plain", rank)] for rank in range(2)]

    def work(ranks):
        accumulator = wf.Accumulator(op, NAMES[type_name], nan=nan)
        there = arrays_of(gpu, cupy, type_name, shares[ranks.rank])
        if op == "argmax":  # each of one rank's share alone: where the rank's begins is not told
            there = there if ranks.rank == 0 else arrays_of(gpu, cupy, type_name, [b""])
        words = _ranks.reduce_there(accumulator, there, ranks)
        return _ranks.take_from_there(accumulator, words.words()).result()

    expected = whole(op, type_name, shares[:1] if op == "argmax" else shares, nan=nan)
    assert on_ranks(2, work) == [expected] * 2


@pytest.mark.parametrize("op, type_name, axis", [("var", "f32", 0), ("min", "f64", 1)])
def test_results_along_axes_stay_on_the_gpu(gpu, cupy, on_ranks, op, type_name, axis):  # noqa: F811
    rows, size = (7, 0, 5), struct.calcsize(CODES[type_name])
    shapes = [(count, 3) if axis == 0 else (3, count) for count in rows]
    shares = [sample(type_name, 3 * count, "wild", count) for count in rows]
    total = wf.Accumulator(op, NAMES[type_name], 3)
    for data, shape in zip(shares, shapes):
        if data:
            total.update(memoryview(data).cast("B").cast(CODES[type_name][1:], shape), axis=axis)

    def work(ranks):
        accumulator = wf.Accumulator(op, NAMES[type_name], 3)
        array = cupy.Array(gpu.memory(shares[ranks.rank]), type_name, shapes[ranks.rank])
        words = _ranks.reduce_there(accumulator, [array], ranks, axis=axis)
        result = accumulator.device_result(words)
        for stream in list(cupy.streams):
            stream.wait()
        return result.shape, result.memory.read()[:3 * size], bytes(_ranks.take_from_there(accumulator, words.words()))

    results = struct.pack(f"<3{CODES[type_name][1:]}", *memoryview(total.result()).cast("B").cast(CODES[type_name][1:]))
    assert set(on_ranks(3, work)) == {((3,), results, bytes(total))}


def test_ranks_that_fail_or_have_other_shapes(gpu, cupy, on_ranks):  # noqa: F811
    def outcome(ranks, exception=None, count=3):
        accumulator = wf.Accumulator("sum", "float32", count)
        array = cupy.Array(gpu.memory(bytes(8 * count)), "f32", (2, count))
        try:
            _ranks.reduce_there(accumulator, [array], ranks, exception, axis=0)
        except Exception as error:
            return type(error).__name__

    assert on_ranks(3, lambda ranks: outcome(ranks, OSError("no file") if ranks.rank == 1 else None)) == [
        "RuntimeError", "OSError", "RuntimeError"]
    assert on_ranks(2, lambda ranks: outcome(ranks, count=3 + ranks.rank)) == ["ValueError"] * 2


def test_ranks_that_fail_or_differ(gpu, cupy, on_ranks):  # noqa: F811
    data = sample("f64", 10, "plain", 1)

    def outcome(ranks, exception=None, ddof=0):
        accumulator = wf.Accumulator("var", "float64", ddof=ddof)
        there = [] if exception else arrays_of(gpu, cupy, "f64", [data])
        try:
            words = _ranks.reduce_there(accumulator, there, ranks, exception)
        except Exception as error:
            return error.args[0]
        left = accumulator.device_result(words)
        for stream in list(cupy.streams):
            stream.wait()
        value = read(left, "<d")
        assert value != value
        with pytest.raises((RuntimeError, ValueError)) as caught:
            _ranks.take_from_there(accumulator, words.words())
        return caught.type.__name__

    fails = on_ranks(3, lambda ranks: outcome(ranks, OSError("no file") if ranks.rank == 1 else None))
    assert fails == ["RuntimeError", "no file", "RuntimeError"]
    assert on_ranks(2, lambda ranks: outcome(ranks, ddof=ranks.rank)) == ["ValueError"] * 2


def test_words_that_are_none(gpu, cupy):  # noqa: F811
    array, = arrays_of(gpu, cupy, "f32", [bytes(16)])
    accumulator = wf.Accumulator("sum", "float32")
    short, = arrays_of(gpu, cupy, "i64", [bytes(8)])
    with pytest.raises(ValueError, match="words must be a vector of 268 int64"):
        accumulator.device_words(array, short)
    words, = arrays_of(gpu, cupy, "i64", [bytes(8 * 268)])
    with pytest.raises(TypeError, match="stats"):
        wf.Accumulator("stats", "float64").device_words(array, words)
    with pytest.raises(ValueError, match="an array of f32 cannot be added to an accumulator of f64"):
        wf.Accumulator("sum", "float64").device_words(array, words)
    with pytest.raises(ValueError, match="own largest words"):
        wf.Accumulator("argmax", "float32").device_settle(words, words)
    with pytest.raises(ValueError, match="host memory|CUDA memory"):
        accumulator.device_words(array, memoryview(bytearray(8 * 268)).cast("q"))
