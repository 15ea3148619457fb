"""Nothing leaks and nothing is shared by mistake: references, memory, threads, child processes; the help's examples run."""

import array
import doctest
import gc
import inspect
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

wf = pytest.importorskip("warpfold", reason="the Python package was not built: no headers of Python")
from samples import sample
from tensors import TableTensor, Tensor


def tensor(kind=Tensor, **options):
    return kind("f32", sample("f32", 12, "plain"), (3, 4), **options)


def fails(call):
    with pytest.raises((TypeError, ValueError, IndexError, OverflowError)):
        call()


def everything(buffer, lists, a, b):
    """Calls that succeed and calls that fail, on every way through the extension."""
    for x in (buffer, lists, a, b):
        wf.sum(x), wf.sum(x, axis=0), wf.max(x, keepdims=True), wf.stats(x), wf.argmax(x)
        wf.sum(x, where=[True]), wf.vecdot(x, x), wf.norm(x, 1)
        fails(lambda: wf.sum(x, axis=9))
        fails(lambda: wf.sum(x, nan="none"))
        fails(lambda: wf.sum(x, dtype="none"))
        fails(lambda: wf.sum(x, where=[1.0]))
        fails(lambda: wf.sum(x, out=b"12345678"))
        fails(lambda: wf.vecdot(x, [1, 2, 3, 4, 5]))
        fails(lambda: wf.vecdot(x, None))
    wf.vecdot(buffer, list(range(9))), wf.vecdot(lists, memoryview(b"\1\2")), wf.vecdot(a, [1, 2, 3, 4])
    fails(lambda: wf.vecdot([2**60 + 1] * 9, buffer))
    out = bytearray(8)
    wf.sum(buffer, out=memoryview(out).cast("d"), keepdims=True)
    wf.segment_sum(lists, [0, 1]), wf.bincount([1, 2]), wf.index_add([1.0], 0, [0], [2.0]), wf.reduceat("sum", buffer, [0])
    fails(lambda: wf.segment_sum(lists, [0, 7], 3))
    fails(lambda: wf.index_add([1.0], 0, [0], [[2.0]]))
    fails(lambda: wf.sum({}))
    acc = wf.Accumulator("sum").update(buffer)
    acc.copy().merge(acc).subtract(acc).bytes(), repr(acc), acc + acc - acc, acc.__reduce__()
    shaped = wf.Accumulator("max", shape=2, fill=0.0).update(lists).update([1.0, 2.0], ids=[1, 1])
    (shaped + shaped).copy().result(), repr(shaped), shaped.bytes(), shaped.result("max"), shaped.shape
    fails(lambda: shaped.update(lists, axis=7))
    fails(lambda: shaped.update(lists, ids=[0, 5]))
    fails(lambda: shaped.result("sum"))
    fails(lambda: shaped - shaped)
    wf.sum(buffer, initial=2), wf.max(lists, axis=0, initial=9), fails(lambda: wf.sum(buffer, initial="x"))
    wf._core.reduce_windows("sum", buffer, 3), wf._core.reduce_windows("sum", b, 2)
    fails(lambda: wf._core.reduce_windows("sum", buffer, 0))
    fails(lambda: acc.update([1]))
    fails(lambda: wf.Accumulator.from_bytes(b""))
    fails(lambda: wf.Accumulator("sum", "none"))


@pytest.mark.slow
def test_references_and_memory_stay():
    buffer, lists = array.array("d", range(9)), [[1.5, 2.0], [3.0, 4.0]]
    a, b = tensor(), tensor(versions=False)
    objects = [buffer, lists, a, b, None, True, float, wf.Accumulator, wf._core, "sum"]
    for _ in range(3):
        everything(buffer, lists, a, b)
    gc.collect()
    # A leak is at least one block for each round, for ever; the interpreter's own caches of attributes fill up.
    grown = 50
    for batch in range(40):
        blocks = sys.getallocatedblocks()
        for _ in range(50):
            everything(buffer, lists, a, b)
        gc.collect()
        grown = min(grown, sys.getallocatedblocks() - blocks)
        if grown < 25 and batch >= 4:
            break
    assert grown < 25
    before = [sys.getrefcount(x) for x in objects]
    for _ in range(100):
        everything(buffer, lists, a, b)
    gc.collect()
    after = [sys.getrefcount(x) for x in objects]
    assert [(x, m, n) for x, m, n in zip(objects, before, after) if abs(n - m) > 50] == []


def test_numpys_references_stay():
    np = pytest.importorskip("numpy", reason="no NumPy")
    a, out, mask = np.ones((3, 4)), np.zeros(4), np.ones(4, bool)
    objects = [a, out, mask, np.float64, np.empty, a.dtype, mask.dtype]

    def rounds(count):
        for _ in range(count):
            wf.sum(a), wf.sum(a, axis=0), wf.sum(a, axis=0, out=out), wf.sum(a, where=mask), wf.max(a, keepdims=True)
            wf.sum(a.astype(">f8"), axis=1), wf.argmin(a), wf.stats(a), wf.sum(a[0], axis=0, keepdims=True)
            fails(lambda: wf.sum(a, out=out))
            fails(lambda: wf.sum(np.ones(2, complex)))
            fails(lambda: wf.sum(np.ma.masked_array(a)))

    rounds(5)
    before = [sys.getrefcount(x) for x in objects]
    rounds(200)
    assert [sys.getrefcount(x) for x in objects] == before


def test_tensors_are_released():
    for kind in (TableTensor,):
        t = tensor(kind)
        wf.sum(t), wf.sum(t, axis=1), fails(lambda: wf.sum(t, axis=7)), fails(lambda: wf.vecdot(t, [1, 2]))
        assert t.released == 4
    t = Tensor("f32", sample("f32", 4, "plain"), (4,), device=(8, 0))
    with pytest.raises(TypeError, match="DLPack device 8.0"):
        wf.sum(t)
    with pytest.raises(TypeError, match="DLPack type 5.64"):
        wf.sum(Tensor("f32", b"\0" * 16, (2,), code=(5, 64)))


def test_threads_and_the_rest_of_the_interpreter():
    """Other threads run while a large array is reduced, and many threads reduce at once."""
    values = memoryview(sample("f64", 1000, "coarse") * 500).cast("d")
    expected = wf.sum(values)
    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(lambda _: wf.sum(values, threads=1), range(40))) == {expected}
        assert set(pool.map(lambda i: wf.max([i, 1.5]) == max(i, 1.5), range(400))) == {True}
    ran = threading.Event()
    thread = threading.Thread(target=ran.set)
    thread.start()
    wf.sum(values)
    thread.join(10)
    assert ran.is_set()


HAMMER = """
import array, sys, threading
import warpfold as wf
try:
    import numpy
    rows, total = numpy.arange(24.0).reshape(4, 6), numpy.arange(24.0)
    counts = [numpy.float64, numpy.ndarray]
except ImportError:
    rows, total, counts = memoryview(array.array("d", range(24))).cast("B").cast("d", (4, 6)), array.array("d", range(24)), [array.array]
before = [sys.getrefcount(x) for x in counts]
shared, shaped = wf.Accumulator("var"), wf.Accumulator("sum", shape=6)
barrier, wrong = threading.Barrier(8), []

def work():
    barrier.wait()
    for turn in range(60):
        sums = wf.sum(rows, axis=0).tolist()
        shared.update(total)
        shaped.update(rows)
        if sums != [36, 40, 44, 48, 52, 56] or wf.sum(total) != 276 or wf.max([turn, 5]) != max(turn, 5):
            wrong.append(turn)
        if not turn % 20:
            shared.copy().merge(shared).bytes(), wf.stats(rows, 1), wf.Rolling(3, "sum").update(total), wf.segment_sum(total, [0] * 24)

threads = [threading.Thread(target=work) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert not wrong and shared.count == 8 * 60 * 24 and list(shaped.result()) == [480 * x for x in (36, 40, 44, 48, 52, 56)]
assert all(sys.getrefcount(x) - n < 60 for x, n in zip(counts, before))
"""


def test_many_threads_meet_everything_first():
    """In a new process, in which nothing is kept yet; on a free-threaded interpreter all of them at once."""
    path = str(next(iter(wf.__path__))).rpartition("/")[0]
    done = subprocess.run([sys.executable, "-c", HAMMER], env={**os.environ, "PYTHONPATH": f"{path}:{os.environ.get('PYTHONPATH', '')}"},
                          capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_child_process_has_handles_of_its_own():
    values = memoryview(sample("f64", 1000, "coarse") * 500).cast("d")
    expected = wf.sum(values)  # on threads that the child has not
    child = os.fork()
    if not child:
        os._exit(0 if wf.sum(values) == expected else 1)
    assert os.waitpid(child, 0)[1] == 0


EXAMPLES = {name: getattr(wf, name) for name in wf.__all__ if inspect.getdoc(getattr(wf, name))}


@pytest.mark.parametrize("name", sorted(EXAMPLES))
def test_examples_in_the_help_run(name):
    examples = doctest.DocTestParser().get_doctest(inspect.getdoc(EXAMPLES[name]), {**vars(wf)}, name, None, 0)
    if name in ("sum", "std", "norm", "vecdot", "Accumulator", "stats", "bincount", "index_add", "reduceat"):
        assert examples.examples
    results = doctest.DocTestRunner().run(examples)
    assert results.failed == 0


def test_everything_has_help_and_a_signature():
    for name in wf.__all__:
        assert inspect.getdoc(getattr(wf, name)), name
        if inspect.isbuiltin(getattr(wf, name)):
            assert str(inspect.signature(getattr(wf, name))).startswith("(a")
