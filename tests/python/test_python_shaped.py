"""Accumulators with a shape, and subtraction: each result is the oracle's for its elements, however they came and went."""

import copy
import pickle
import random
from array import array

import pytest

wf = pytest.importorskip("warpfold", reason="the Python package was not built: no headers of Python")
from oracle import TYPES, Oracle, PairOracle
from samples import nbytes_of, sample
from tensors import Tensor
from test_python_ops import DTYPES, ERRORS, NORMS, OPS, flat, number, same

ALL = {**OPS, **{name: name for name in NORMS.values()}}
SUBTRACT = {"sum", "mean", "var", "std", "norm1", "norm2", "any", "all", "count_nonzero"}


def nested(results):
    return results.tolist() if hasattr(results, "tolist") else results


def rows_of(type_name, data, columns, rows):
    """The elements of the given rows of each column."""
    size = nbytes_of(type_name)
    return [b"".join(data[(row * columns + column) * size:][:size] for row in rows) for column in range(columns)]


def check(acc, op, type_name, elements):
    """Each result is the oracle's for its elements, or the accumulator's error the first one's."""
    expected = [Oracle(type_name, part).reduce(op) for part in elements]
    failed = [result for result in expected if isinstance(result, str)]
    if failed:
        with pytest.raises(ERRORS[failed[0]]):
            acc.result()
        return
    for got, wanted in zip(flat(nested(acc.result())), expected, strict=True):
        same(got, number(wanted))


@pytest.mark.parametrize("type_name", TYPES)
def test_axes(type_name):
    """Rows of a table are added in three pieces, merged in two orders: by columns, the oracle's results."""
    rows, columns, dtype = 30, 4, DTYPES[type_name]
    data = sample(type_name, rows * columns, "plain", seed=5)
    for name, op in ALL.items():
        parts, begin = [], 0
        for count in (7, 13, 10):
            piece = Tensor(type_name, data[begin * columns * nbytes_of(type_name):], (count, columns))
            parts.append(wf.Accumulator(name, dtype, columns, first_index=begin).update(piece))
            begin += count
        total = parts[0] + parts[1] + parts[2]
        assert total.shape == (columns,) and total.bytes() == (parts[0] + (parts[1] + parts[2])).bytes()
        check(total, op, type_name, rows_of(type_name, data, columns, range(rows)))
        if name in SUBTRACT:
            check(total - parts[1], op, type_name, rows_of(type_name, data, columns, [*range(7), *range(20, 30)]))
            total -= parts[0]
            check(total.subtract(parts[2]), op, type_name, rows_of(type_name, data, columns, range(7, 20)))
        else:
            with pytest.raises(TypeError, match="cannot subtract"):
                total - parts[0]


@pytest.mark.parametrize("type_name", ["f64", "f32", "bf16", "i16", "u64", "bool"])
def test_keys(type_name):
    rng, size = random.Random(type_name), nbytes_of(type_name)
    data, ids = sample(type_name, 60, "plain", seed=6), [rng.randrange(4) for _ in range(60)]
    groups = [b"".join(data[i * size:(i + 1) * size] for i in range(60) if ids[i] == key) for key in range(4)]
    for name in ("sum", "max", "var", "count_nonzero"):
        acc = wf.Accumulator(name, DTYPES[type_name], (4,))
        for begin, end in ((0, 1), (1, 35), (35, 60)):
            acc.update(Tensor(type_name, data[begin * size:end * size], (end - begin,)), ids=array("b", ids[begin:end]))
        check(acc, OPS[name], type_name, groups)


def test_ways_to_add():
    a = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]
    assert nested(wf.Accumulator("sum", shape=3).update(a).result()) == [5, 7, 9]
    assert nested(wf.Accumulator("sum", shape=2).update(a, axis=1).result()) == [6, 15]
    assert nested(wf.Accumulator("sum", shape=(2,)).update(a, axis=-1).update([1.0, 1.0]).result()) == [7, 16]
    assert nested(wf.Accumulator("sum", shape=(2, 3)).update(a, axis=()).update(a).result()) == [[2, 4, 6], [8, 10, 12]]
    assert wf.Accumulator("sum").update(a, axis=(0, 1)).result() == 21
    assert nested(wf.Accumulator("sum", shape=(2, 2)).update(a, ids=[1, 0, 1], axis=1).result()) == [[2, 4], [5, 10]]
    assert nested(wf.Accumulator("vecdot", shape=2).update(a, a, axis=1).result()) == [14, 77]
    assert nested(wf.Accumulator("sum", shape=(0,)).result()) == [] and nested(
        wf.Accumulator("sum", shape=(2, 0)).result()) == [[], []]
    keyed = wf.Accumulator("max", "int64", 3, fill=-1, skip_bad_keys=True).update([5, 7, 6, 9], ids=[2, 0, 2, 7])
    assert nested(keyed.result()) == [7, -1, 6] and keyed.count == 3
    both = wf.Accumulator("var", shape=3).update(a)
    assert nested(both.result("mean")) == [2.5, 3.5, 4.5] and nested(both.result(op="sum")) == [5, 7, 9]
    assert nested(wf.Accumulator("argmax", shape=2).update([[1, 9.0], [2, 3.0]]).result()) == [1, 0]
    assert repr(keyed) == "<Accumulator of int64: (3,) results, max of 3 elements>"


def test_errors():
    acc = wf.Accumulator("sum", shape=2).update([1.0, 2.0])
    before = acc.bytes()
    for call in (lambda: acc.update([1.0]), lambda: acc.update([[1.0, 2.0]], axis=1), lambda: acc.update(1.0),
                 lambda: acc.update([[1.0, 2.0]], axis=5), lambda: acc.update([1.0, 2.0], ids=[0]),
                 lambda: acc.merge(wf.Accumulator("sum", shape=3)), lambda: acc.merge(wf.Accumulator("sum")),
                 lambda: acc - wf.Accumulator("sum", shape=2).update([[1.0, 2.0]] * 2),
                 lambda: acc.update([[1.0, 2.0]], axis=(0, 0)), lambda: wf.Accumulator("sum", shape=-1)):
        with pytest.raises(ValueError):
            call()
    with pytest.raises(IndexError, match="key 1 is 2, not one of 0 to 1; skip_bad_keys=True"):
        acc.update([1.0, 2.0], ids=[0, 2])
    for call in (lambda: acc.result("max"), lambda: acc.subtract(3), lambda: acc - 3, lambda: 3 - acc,
                 lambda: acc.update([1.0], axis="x"), lambda: wf.Accumulator("sum", fill="x")):
        with pytest.raises(TypeError):
            call()
    assert acc.bytes() == before
    with pytest.raises(ValueError, match="result 1|undefined"):
        wf.Accumulator("max", "int64", 2).update([1], ids=[0]).result()


def test_saved_forms():
    big = wf.Accumulator("var", shape=600, fill=7.0).update(array("d", range(600)))
    assert len(big.bytes()) > 16384  # what one without a shape has at most
    for made in (pickle.loads(pickle.dumps(big)), copy.copy(big), copy.deepcopy(big), wf.Accumulator.from_bytes(big.bytes())):
        assert made.bytes() == big.bytes() and made.shape == (600,) and made.op == "var"
        assert nested(made.update(array("d", range(600))).result()) == [0.0] * 600
    with pytest.raises(ValueError):
        wf.Accumulator.from_bytes(big.bytes()[:-1])


def test_what_is_subtracted_was_never_there():
    """Rows retracted: neither what was large nor NaN leaves a trace."""
    a, b = [1.0, 2.5, -3.0], [1e300, float("nan"), 1e-300]
    for op in ("sum", "mean", "var", "norm2"):
        clean = wf.Accumulator(op).update(a)
        assert (wf.Accumulator(op).update(b).merge(clean) - wf.Accumulator(op).update(b)).bytes() == clean.bytes()
    pair = wf.Accumulator("vecdot").update(a + b, b + a) - wf.Accumulator("vecdot").update(b, a)
    x, y = (bytes(array("d", values)) for values in (a, b))
    same(pair.result(), number(PairOracle("f64", x, y).reduce()))
    total = wf.Accumulator("sum").update(a)
    total -= total
    assert total.result() == 0.0 and total.count == 0
    with pytest.raises(ValueError, match="infinity|infinite"):
        wf.Accumulator("sum").update([float("inf"), 1.0]).subtract(wf.Accumulator("sum").update([float("inf")]))


def test_results_are_numpys():
    np = pytest.importorskip("numpy", reason="no NumPy")
    x = np.random.default_rng(7).standard_normal((6, 4, 5)).astype("f4")
    acc = wf.Accumulator("std", "f4", (4,)).update(x, axis=(0, 2))
    got = acc.result()
    assert got.dtype == np.float32 and got.shape == (4,) and (got == wf.std(x, axis=(0, 2))).all()
    got[0] = 5  # it is the caller's
    assert acc.result()[0] != 5
    index = wf.Accumulator("argmin", "f4", (4, 5)).update(x).result()
    assert index.dtype == np.int64 and (index == x.argmin(0)).all()
    assert wf.Accumulator("sum", "?", 2).update(np.ones((3, 2), bool)).result().dtype == np.int64
