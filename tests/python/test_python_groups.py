"""Segments, keys and what stands on them: each group's result is the exact one of its elements alone."""

import math
import random
from array import array
from fractions import Fraction

import pytest

wf = pytest.importorskip("warpfold", reason="the Python package was not built: no headers of Python")
from oracle import Oracle, TYPES
from samples import nbytes_of, sample
from tensors import Tensor
from test_python_ops import ERRORS, OPS, number, same


def of_group(type_name, data, positions):
    size = nbytes_of(type_name)
    return Oracle(type_name, b"".join(data[i * size:(i + 1) * size] for i in positions))


@pytest.mark.parametrize("type_name", TYPES)
def test_segments_are_the_oracles(type_name):
    rng = random.Random(type_name)
    data, ids = sample(type_name, 90, "plain", seed=1), array("i", [rng.randrange(5) for _ in range(90)])
    groups = [[i for i, key in enumerate(ids) if key == group] for group in range(5)]
    for name, op in OPS.items():
        expected = [of_group(type_name, data, positions).reduce(op) for positions in groups]
        call = getattr(wf, f"segment_{name}")
        failed = [result for result in expected if isinstance(result, str)]
        if failed:
            with pytest.raises(ERRORS[failed[0]]):
                call(Tensor(type_name, data, (90,)), ids)
            continue
        got = call(Tensor(type_name, data, (90,)), ids)
        for result, wanted, positions in zip(got, expected, groups, strict=True):
            same(result, positions[number(wanted)] if name.startswith("arg") else number(wanted))


def test_keys_and_counts():
    values, ids = [1.0, 2.0, 4.0, 8.0], [2, 0, 2, 5]
    assert wf.segment_sum(values, ids) == [2.0, 0.0, 5.0, 0.0, 0.0, 8.0]
    assert wf.segment_sum(values, ids, 8)[6:] == [0.0, 0.0]
    assert math.isnan(wf.segment_mean(values, ids)[1]) and wf.segment_max(values, ids, fill=-1)[3] == -1.0
    with pytest.raises(IndexError, match="key 3 is 5, not one of 0 to 2; skip_bad_keys=True"):
        wf.segment_sum(values, ids, 3)
    assert wf.segment_sum(values, ids, 3, skip_bad_keys=True) == [2.0, 0.0, 5.0]
    with pytest.raises(ValueError, match="undefined"):
        wf.segment_min([1, 2], [0, 2])
    assert wf.segment_min([1, 2], [0, 2], fill=9) == [1, 9, 2]
    with pytest.raises(ValueError, match="one for each position"):
        wf.segment_sum(values, [0, 1])
    with pytest.raises(ValueError, match="must be integers"):
        wf.segment_sum(values, [0.0, 1.0, 2.0, 3.0], 4)
    with pytest.raises(ValueError, match="must not be negative"):
        wf.segment_sum(values, ids, -1)
    with pytest.raises(OverflowError):
        wf.segment_sum([2**62, 2**62], [0, 0])
    assert wf.segment_sum([[1, 2], [3, 4]], [1, 1], axis=1) == [[0, 3], [0, 7]]
    assert wf.segment_norm([3.0, 4.0, 1.0], [0, 0, 1]) == [5.0, 1.0]
    assert wf.segment_norm([3.0, -4.0, 1.0], [0, 0, 1], ord=1) == [7.0, 1.0]
    assert wf.segment_sum([], []) == [] and wf.segment_sum([math.nan, 1.0], [0, 0], nan="omit") == [1.0]
    with pytest.raises(TypeError, match="unexpected keyword"):
        wf.segment_sum(values, ids, dimension=1)
    with pytest.raises(ValueError, match="at least one dimension|out of bounds"):
        wf.segment_sum(3.0, [0])


def test_bincount():
    assert wf.bincount([1, 1, 3]) == [0, 2, 0, 1] and wf.bincount([], minlength=2) == [0, 0] and wf.bincount([]) == []
    assert wf.bincount([0, 1, 0], [1e100, 2, -1e100], 3) == [0.0, 2.0, 0.0]
    assert wf.bincount([0, 4, 1], [1, 2, 3], 2) == [1.0, 3.0, 0.0, 0.0, 2.0] and wf.bincount([2], minlength=2) == [0, 0, 1]
    for x, minlength in (([-1], 0), ([-3, 1], 4), ([-3, 9], 4), ([-2, -3], 4)):
        for weights in (None, [1.0] * len(x)):
            with pytest.raises(ValueError, match="negative elements"):
                wf.bincount(x, weights, minlength)
    for x in ([-1, 2], [2, -5]):
        with pytest.raises(ValueError, match="negative"):
            wf.bincount(x)
    for x in ([1.5], [[1, 2]]):
        with pytest.raises((TypeError, ValueError)):
            wf.bincount(x)
    with pytest.raises(ValueError):
        wf.bincount([0, 1], [1.0])
    with pytest.raises(ValueError, match="minlength"):
        wf.bincount([1], minlength=-1)


def test_reduceat():
    a = [5.0, 1.0, 3.0, 2.0, 8.0]
    assert wf.reduceat("sum", a, [0, 2, 4]) == [6.0, 5.0, 8.0] and wf.reduceat("max", a, [1, 3]) == [3.0, 8.0]
    assert wf.reduceat("sum", a, [0, 2, 2]) == [6.0, 0.0, 13.0] and wf.reduceat("count_nonzero", a, [0]) == [5]
    assert wf.reduceat("argmin", [[5, 1, 3], [2, 2, 1]], [0, 1], axis=1) == [[0, 1], [0, 2]]
    for indices in ([2, 1], [0, 6], [-1]):
        with pytest.raises(IndexError, match="offset"):
            wf.reduceat("sum", a, indices)
    for op in ("median", "dot", "stats"):
        with pytest.raises(ValueError, match="no op"):
            wf.reduceat(op, a, [0])


def test_index_add():
    a, index, source = [1.0, 2.0], [1, 0, 1, 1], [1e100, 3.0, -1e100, 0.5]
    assert wf.index_add(a, 0, index, source) == [4.0, 2.5] and a == [1.0, 2.0]
    assert wf.index_add([[1, 2], [3, 4]], 1, [0, 0], [[1, 1], [1, 1]]) == [[3, 2], [5, 4]]
    with pytest.raises(IndexError):
        wf.index_add(a, 0, [2], [1.0])
    with pytest.raises(ValueError):
        wf.index_add(a, 0, [0, 1], [1.0])
    with pytest.raises(ValueError, match="one dtype"):
        wf.index_add(a, 0, [0], [1])


def test_like_numpy():
    np = pytest.importorskip("numpy", reason="no NumPy")
    rng = np.random.default_rng(4)
    for dtype in ("i1", "i8", "u2", "u8", "?"):
        x = rng.integers(0, 2 if dtype == "?" else 40, 300).astype(dtype)
        weights = rng.standard_normal(300)
        got, expected = wf.bincount(x), np.bincount(x.astype(int))
        assert got.dtype == expected.dtype and (got == expected).all()
        got = wf.bincount(x, weights)
        assert got.dtype == np.float64
        for key, value in enumerate(got):
            assert value == float(sum(map(Fraction, weights[x == key].tolist())))
        assert (wf.bincount(x, x, 50) == np.bincount(x.astype(int), x, 50)).all()
    a = rng.integers(0, 9, (6, 10))
    for indices in (np.array([0, 3, 7]), np.array([1, 2], "i4"), [0]):
        got, expected = wf.reduceat("sum", a, indices, axis=1), np.add.reduceat(a, indices, axis=1)
        assert got.dtype == expected.dtype and (got == expected).all()
    table = rng.standard_normal((4, 3))
    index, rows = rng.integers(0, 4, 50), rng.standard_normal((50, 3))
    got = wf.index_add(table, 0, index, rows)
    assert isinstance(got, np.ndarray) and (wf.index_add(table, 0, index[::-1], rows[::-1]) == got).all()
    np.testing.assert_allclose(got, table + np.array([rows[index == i].sum(0) for i in range(4)]))
    out = np.zeros((4, 3))
    assert wf.segment_sum(rows, index, 4, out=out) is out
    ids = rng.integers(0, 3, 10)
    got = wf.segment_max(a, ids, 3, axis=1)
    assert got.shape == (6, 3) and (got == np.stack([a[:, ids == i].max(1) for i in range(3)], 1)).all()
