"""Accumulators: any split and any order of merging gives the same bits and bytes."""

import copy
import itertools
import pickle
import random
from concurrent.futures import ThreadPoolExecutor

import pytest

wf = pytest.importorskip("warpfold", reason="the Python package was not built: no headers of Python")
from oracle import Oracle, PairOracle
from samples import sample
from tensors import Tensor
from test_python_ops import OPS, number, same


def add_up(op, type_name, dtype, data, sizes, order):
    size, begin, parts = len(data) // sum(sizes), 0, []
    for count in sizes:
        part = Tensor(type_name, data[begin * size:(begin + count) * size], (count,))
        parts.append(wf.Accumulator(op, dtype, first_index=begin).update(part))
        begin += count
    total = parts[order[0]]
    for i in order[1:]:
        total = total + parts[i]
    return total


@pytest.mark.parametrize("type_name", ["f16", "bf16", "f32", "f64", "i32", "u8"])
def test_any_order_gives_the_oracles_result(type_name):
    dtype = {"bf16": "bfloat16", "i32": "int32", "u8": "uint8"}.get(type_name, f"float{type_name[1:]}")
    data = sample(type_name, 60, "plain", seed=2)
    oracle = Oracle(type_name, data)
    for name, op in OPS.items():
        orders = [(0, 1, 2)] if name == "prod" else list(itertools.permutations(range(3)))
        totals = [add_up(name, type_name, dtype, data, (10, 20, 30), order) for order in orders]
        assert len({total.bytes() for total in totals}) == 1 and totals[0].count == 60
        expected = oracle.reduce(op)
        if isinstance(expected, str):
            with pytest.raises((OverflowError, ValueError)):
                totals[0].result()
        else:
            same(totals[0].result(), number(expected))


def test_settings_and_other_ops():
    acc = wf.Accumulator("var", ddof=1, nan="omit").update([1.0, float("nan"), 3.0])
    assert (acc.result(), acc.result("mean"), acc.result("sum"), acc.count, acc.op, acc.dtype) == (2, 2, 4, 3, "var", "float64")
    assert repr(acc) == "<Accumulator of float64: var of 3 elements>"
    dot = wf.Accumulator("vecdot").update([1.0, 2.0], [3.0, 4.0])
    same(dot.result(), number(PairOracle("f64", *(bytes(memoryview(__import__("array").array("d", x)))
                                                  for x in ([1, 2], [3, 4]))).reduce()))
    with pytest.raises(TypeError, match="cannot yield|cannot give|max"):
        acc.result("max")
    stats = wf.Accumulator("stats").update([3.0, 1.0])
    assert [stats.result(op) for op in ("sum", "argmin", "norm1")] == [4.0, 1, 4.0]


def test_saved_forms():
    acc = wf.Accumulator("mean", "float32").update(__import__("array").array("f", [1, 2, 6]))
    for made in (pickle.loads(pickle.dumps(acc)), copy.copy(acc), copy.deepcopy(acc), acc.copy(),
                 wf.Accumulator.from_bytes(acc.bytes()), wf.Accumulator.from_bytes(bytearray(bytes(acc)))):
        assert type(made) is wf.Accumulator and made.bytes() == acc.bytes() and made.result() == 3.0
        made.update(__import__("array").array("f", [100]))
        assert acc.result() == 3.0
    for damaged in (b"", acc.bytes()[:-1], b"\0" * 100):
        with pytest.raises(ValueError):
            wf.Accumulator.from_bytes(damaged)
    with pytest.raises(TypeError):
        wf.Accumulator.from_bytes("text")


def test_merging():
    a, b = wf.Accumulator("sum").update([1.0]), wf.Accumulator("sum").update([2.0])
    assert (a + b).result() == 3 and a.result() == 1
    a += b
    assert a.result() == 3 and a.merge(a).result() == 6 and a.merge(b) is a
    with pytest.raises(ValueError, match="cannot be merged"):
        a.merge(wf.Accumulator("max"))
    with pytest.raises(ValueError, match="not neighbours"):
        wf.Accumulator("prod").update([1.0]).merge(wf.Accumulator("prod", first_index=5).update([1.0]))
    for call in (lambda: a.merge(3), lambda: a + 3, lambda: 3 + a):
        with pytest.raises(TypeError):
            call()


def test_errors():
    for call in (lambda: wf.Accumulator(), lambda: wf.Accumulator("sum", "nonsense"), lambda: wf.Accumulator("sum", other=1),
                 lambda: wf.Accumulator("sum").update(), lambda: wf.Accumulator("sum").update([1.0], threads=1.5)):
        with pytest.raises(TypeError):
            call()
    for call in (lambda: wf.Accumulator("median"), lambda: wf.Accumulator("sum", ddof=-1),
                 lambda: wf.Accumulator("sum").update([1]), lambda: wf.Accumulator("dot").update([1.0]),
                 lambda: wf.Accumulator("mean").result()):
        with pytest.raises(ValueError):
            call()
    acc = wf.Accumulator("sum").update([1.0])
    with pytest.raises(ValueError):
        acc.update([[1, 2], [3, 4]])
    assert acc.result() == 1 and acc.count == 1


def test_threads_share_one():
    values = [random.Random(1).uniform(-1e9, 1e9) for _ in range(4000)]
    expected = wf.Accumulator("sum").update(values).bytes()
    shared, others = wf.Accumulator("sum"), [wf.Accumulator("sum") for _ in range(4)]

    def work(i):
        for begin in range(i * 10, 4000, 40):
            shared.update(values[begin:begin + 10])
            others[i].update(values[begin:begin + 10])
        others[i - 1].count, shared.bytes()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    assert shared.bytes() == expected
    for other in others[1:]:
        others[0].merge(other)
    assert others[0].bytes() == expected
