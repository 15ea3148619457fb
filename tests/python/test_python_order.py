"""Quantiles in Python: NumPy's shapes and types, and the values that sorting with fractions gives."""

import array
from fractions import Fraction

import pytest

wf = pytest.importorskip("warpfold", reason="the Python package was not built: no headers of Python")
np = pytest.importorskip("numpy", reason="no NumPy")

METHODS = ("linear", "lower", "higher", "nearest", "midpoint")


def exact(values, q, method):
    ordered = sorted(Fraction(float(value)) for value in values)
    at = Fraction(repr(float(q))) * (len(ordered) - 1)
    low, weight = int(at), at - int(at)
    if weight and method == "midpoint":
        weight = Fraction(1, 2)
    elif weight and method != "linear":
        is_up = method == "higher" or method == "nearest" and (2 * weight > 1 or 2 * weight == 1 and low % 2 == 1)
        low, weight = low + is_up, 0
    return float(ordered[low] + (ordered[low + (weight > 0)] - ordered[low]) * weight)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("dtype", ["f8", "i4", "u1"])
def test_along_axes(method, dtype):
    a = np.random.default_rng(1).integers(0, 99, (4, 5, 6)).astype(dtype) / (np.float64(7) if dtype == "f8" else 1)
    a = a.astype(dtype)
    for view in (a, np.asfortranarray(a), a[::-1, ::2]):
        for axis in (None, 0, -1, (0, 2)):
            for q in (0.3, [0.0, 0.5, 0.99]):
                for keepdims in (False, True):
                    got = wf.quantile(view, q, axis=axis, method=method, keepdims=keepdims)
                    expected = np.quantile(view, q, axis=axis, method=method, keepdims=keepdims)
                    assert np.shape(got) == np.shape(expected) and got.dtype == expected.dtype
                    assert np.allclose(got, expected, rtol=1e-12)
        rows = np.moveaxis(view, 1, 0).reshape(view.shape[1], -1)
        assert wf.quantile(view, 0.3, axis=(0, 2), method=method).tolist() == [exact(row, 0.3, method) for row in rows]


def test_kinds():
    assert wf.median([3, 1, 2, 10]) == 2.5
    assert wf.quantile([[1.0, 5.0], [3.0, 9.0]], (0, 1), axis=0) == [[1.0, 5.0], [3.0, 9.0]]
    assert wf.median(array.array("f", [1, 2])) == 1.5
    assert type(wf.median(np.float32([1, 2]))) is np.float32
    assert wf.median(np.float64(3)) == 3
    assert wf.quantile(range(11), 0.1) == 1
    assert wf.quantile(np.arange(5), np.array([0.5, 1])).tolist() == [2, 4]
    assert wf.median([1, 2], dtype="f4") == 1.5


def test_nan_and_nothing():
    a = np.array([[1, np.nan], [3, 4], [5, 6.0]])
    assert np.isnan(wf.median(a)) and wf.median(a, nan="omit") == 4
    assert np.array_equal(wf.median(a, axis=0), [3, np.nan], equal_nan=True)
    with pytest.raises(ValueError, match="result 1: NaN at index 0"):
        wf.median(a, axis=0, nan="error")
    assert np.isnan(wf.median([])) and np.isnan(wf.median(np.zeros((0, 2)), axis=0)).tolist() == [True, True]
    with pytest.raises(ValueError, match="no elements"):
        wf.quantile(np.zeros(0, int), 0.5, method="lower")


@pytest.mark.parametrize("threads", [1, 3])
def test_large(threads):
    a = np.random.default_rng(2).standard_normal(400_001)
    assert wf.median(a, threads=threads) == np.median(a)
    wide = a[:400_000].reshape(2, -1).T
    assert wf.quantile(wide, [0.25, 0.75], axis=0, method="lower", threads=threads).tolist() == \
        np.quantile(wide, [0.25, 0.75], axis=0, method="lower").tolist()


@pytest.mark.parametrize("error, arguments, options", [
    (ValueError, (1.5,), {}), (ValueError, (0.5,), {"method": "best"}), (ValueError, (np.zeros((2, 2)),), {}),
    (ValueError, (0.5, 2), {}), (TypeError, (0.5,), {"dtype": "i4"}), (ValueError, ("half",), {}), (TypeError, (), {})])
def test_what_is_refused(error, arguments, options):
    with pytest.raises(error):
        wf.quantile([1.0, 2.0], *arguments, **options)
