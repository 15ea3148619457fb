"""Every allocation of Python's may fail: the call then raises MemoryError, or does without, and nothing is lost."""

import array
import gc
import os
import sys
import sysconfig
import traceback

import pytest

wf = pytest.importorskip("warpfold", reason="the Python package was not built: no headers of Python")

if sysconfig.get_config_var("Py_GIL_DISABLED"):
    pytest.skip("the free-threaded interpreter itself does not survive a lack of memory", allow_module_level=True)
_testcapi = pytest.importorskip("_testcapi", reason="no _testcapi, by which allocations fail")


def calls():
    buffer, long = array.array("d", range(24)), array.array("d", range(1003))
    made = {
        "sum": lambda: wf.sum(buffer), "axis": lambda: wf.sum(memoryview(buffer).cast("B").cast("d", (4, 6)), axis=0).tolist(),
        "lists": lambda: wf.max([[1, 2], [3, 4]], axis=1), "where": lambda: wf.sum(buffer, where=[True] * 24),
        "stats": lambda: wf.stats(buffer), "segments": lambda: wf.segment_sum(buffer, [0, 1] * 12),
        "bincount": lambda: wf.bincount([1, 2, 2]), "index_add": lambda: wf.index_add([1.0], 0, [0], [2.0]),
        "reduceat": lambda: wf.reduceat("sum", buffer, [0, 5]), "vecdot": lambda: wf.vecdot(buffer, buffer),
        "two types": lambda: wf.vecdot(buffer, list(range(24))),
        "initial": lambda: wf.sum(memoryview(buffer).cast("B").cast("d", (4, 6)), axis=1, initial=2).tolist(),
        "windows": lambda: wf._core.reduce_windows("sum", buffer, 5),
        "long windows": lambda: wf._core.reduce_windows("sum", long, 1000),
        "shaped": lambda: list((wf.Accumulator("sum", shape=24).update(buffer) - wf.Accumulator("sum", shape=24)).result()),
        "keys": lambda: list(wf.Accumulator("sum", shape=2).update(buffer, ids=[0, 1] * 12).result()),
        "accumulator": lambda: (wf.Accumulator("sum").update(buffer) + wf.Accumulator("sum")).copy().bytes(),
    }
    if "numpy" in sys.modules:
        a = sys.modules["numpy"].arange(24.0).reshape(4, 6)
        made |= {"numpy": lambda: wf.sum(a).item(), "numpy axis": lambda: wf.sum(a, axis=0, keepdims=True).tolist(),
                 "byte order": lambda: wf.sum(a.astype(">f8"), axis=1).tolist()}
    return made


try:
    import numpy  # noqa: F401
except ImportError:
    pass


def survives(name):
    call = calls()[name]
    expected, failed = call(), 0
    gc.disable()
    for allocation in range(400):
        try:
            _testcapi.set_nomemory(allocation, allocation + 1)
            result = call()
        except MemoryError:
            result = MemoryError
        finally:
            _testcapi.remove_mem_hooks()
        failed += result is MemoryError
        assert result is MemoryError or result == expected
    few = ("sum", "vecdot", "numpy")  # which may find all they need in the interpreter's free lists
    assert (failed > 0 or name in few) and call() == expected


@pytest.mark.sampled
@pytest.mark.parametrize("name", sorted(calls()))
def test_a_lack_of_memory_is_survived(name):
    """In a child, which has this thread alone: pytest's others, by which workers hear what to do, would lack memory, too."""
    child = os.fork()
    if not child:
        status = 1
        try:
            survives(name)
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    assert os.waitpid(child, 0)[1] == 0
