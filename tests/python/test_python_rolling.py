"""Windows that slide: each result is the oracle's for the window's elements alone, and nothing drifts."""

import math
import random
from array import array
from fractions import Fraction

import pytest

wf = pytest.importorskip("warpfold", reason="the Python package was not built: no headers of Python")
from oracle import Oracle
from samples import nbytes_of, sample
from tensors import Tensor
from test_python_ops import OPS, number, same

LONG = 1000  # from which window on an accumulator slides


def windows(type_name, data, window):
    size = nbytes_of(type_name)
    return [data[i * size:(i + window) * size] for i in range(len(data) // size - window + 1)]


@pytest.mark.parametrize("type_name", ["f64", "f32", "bf16", "i16", "bool"])
def test_short_windows_are_the_oracles(type_name):
    data = sample(type_name, 40, "special" if type_name == "f32" else "plain", seed=1)
    for name in ("sum", "mean", "var", "max", "argmin", "any"):
        got = wf._core.reduce_windows(name, Tensor(type_name, data, (40,)), 7)
        expected = [Oracle(type_name, part).reduce(OPS[name]) for part in windows(type_name, data, 7)]
        for result, wanted in zip(got, expected, strict=True):
            same(result, number(wanted))


@pytest.mark.parametrize("type_name", ["f64", "f32", "i32"])
def test_long_windows_are_the_oracles(type_name):
    """An accumulator slides: rows are added and taken out."""
    count, size = LONG + 40, nbytes_of(type_name)
    data = sample(type_name, count, "wild" if type_name != "i32" else "plain", seed=2)
    for name in ("sum", "var", "count_nonzero"):
        got = wf._core.reduce_windows(name, Tensor(type_name, data, (count,)), LONG)
        assert len(got) == 41
        for i in (0, 1, 17, 40):
            same(got[i], number(Oracle(type_name, data[i * size:(i + LONG) * size]).reduce(OPS[name])))


def test_infinities_leave_long_windows():
    """Which an accumulator cannot take out."""
    values = array("d", [math.inf, *range(LONG), -math.inf, 1.0, math.nan])
    got = wf.Rolling(LONG, "sum").update(values)
    assert got[:2].tolist() == [math.inf, sum(range(LONG))] and got[2] == -math.inf and got[3] == -math.inf
    assert math.isnan(got[4]) and len(got) == 5
    assert wf.Rolling(LONG, "mean", nan="omit").update(array("d", [math.nan] * LONG + [3.0] * 2))[2] == 3.0
    with pytest.raises(ValueError, match="NaN"):
        wf.Rolling(LONG, "sum", nan="error").update(values)


def test_rows_come_in_pieces():
    rng = random.Random(3)
    values = [rng.uniform(-1, 1) * 10.0**rng.randrange(-9, 9) for _ in range(200)]
    for make in (list, tuple, lambda x: array("d", x), lambda x: memoryview(array("d", x))):
        for op, options in (("sum", {}), ("std", {"ddof": 1}), ("min", {}), ("vecdot", {})):
            if op == "vecdot":
                with pytest.raises(ValueError):
                    wf.Rolling(5, op)
                continue
            rolling, got, begin = wf.Rolling(5, op, **options), [], 0
            while begin < 200:
                count = rng.randrange(0, 9)
                got += list(rolling.update(make(values[begin:begin + count])))
                begin += count
            function = getattr(wf, op)
            assert got == [function(values[i:i + 5], **options) for i in range(196)]
    assert list(wf.Rolling(1, "sum").update([3, 4])) == [3, 4] and list(wf.Rolling(3, "sum").update([1.0])) == []


def test_what_is_wrong_is_told():
    for window, error in ((0, ValueError), (-1, ValueError), (1.5, TypeError), (None, TypeError)):
        with pytest.raises(error):
            wf.Rolling(window, "sum")
    for call in (lambda: wf.Rolling(3, "median"), lambda: wf.Rolling(3, "sum", nan="maybe"),
                 lambda: wf.Rolling(3, "sum").update(3.0)):
        with pytest.raises((ValueError, TypeError)):
            call()


def test_rows_of_arrays():
    np = pytest.importorskip("numpy", reason="no NumPy")
    view = np.lib.stride_tricks.sliding_window_view
    x = np.random.default_rng(4).standard_normal((60, 3, 2)).astype("f4")
    for op in ("sum", "var", "argmax"):
        got = wf.Rolling(8, op).update(x)
        expected = getattr(wf, op)(view(x, 8, axis=0), axis=-1)
        assert got.dtype == expected.dtype and got.shape == (53, 3, 2) and (got == expected).all()
    long = np.random.default_rng(5).standard_normal((LONG + 20, 2))
    for op in ("mean", "std"):
        got = wf.Rolling(LONG, op).update(long[::-1])
        assert (got == getattr(wf, op)(view(long[::-1], LONG, axis=0), axis=-1)).all()
    rolling = wf.Rolling(8, "sum")
    first = x[:20].copy()
    pieces = [rolling.update(first)]
    first[:] = 0  # the caller's own: it was copied
    pieces.append(rolling.update(x[20:]))
    assert (np.concatenate(pieces) == wf.Rolling(8, "sum").update(x)).all()


# ---- what has been reported of pandas' rolling windows (data of our own)


def test_pandas_36031_zeros_after_large_numbers():
    """The mean of a window of zeros is zero, whatever went before."""
    values = [1e9 + 0.1, -3e12, 7e15 / 3] + [0.0] * 20
    for window in (3, 5):
        means = wf.Rolling(window, "mean").update(values)
        assert means[-(20 - window):] == [0.0] * (20 - window)
        assert wf.Rolling(window, "var").update(values)[-1] == 0.0 and wf.Rolling(window, "sum").update(values)[-1] == 0.0


def test_pandas_38488_earlier_numbers_change_nothing():
    """Equal windows have equal results, whatever stands before them."""
    tail = [0.1, 0.2, 0.3, 0.4, 0.5]
    for before in ([], [1e300, -1e300], [2.0**60] * 7, [1e-300, 5.0]):
        got = wf.Rolling(3, "sum").update(before + tail)[-3:]
        assert got == [math.fsum(tail[i:i + 3]) for i in range(3)]


def test_pandas_42064_var_of_equal_numbers_is_zero():
    """A window of equal numbers has no variance, and none is negative."""
    values = [1e10 * (1 + i % 7 / 3) for i in range(50)] + [1.1] * 10
    for op in ("var", "std"):
        got = wf.Rolling(4, op, ddof=1).update(values)
        assert got[-7:] == [0.0] * 7 and min(got) >= 0.0
    long = array("d", [1e16] * 10 + [0.3] * (LONG + 5))
    assert wf.Rolling(LONG, "var").update(long)[-1] == 0.0


@pytest.mark.parametrize("window", [8, LONG])
def test_pandas_28244_and_61071_a_window_is_the_same_in_a_slice(window):
    """Large numbers that came and went, and where the series began, change nothing."""
    rng = random.Random(61071)
    values = [rng.choice([0.0, rng.uniform(-1, 1), rng.uniform(-1, 1) * 1e15]) for _ in range(30)]
    values += [rng.uniform(-1e-2, 1e-2) for _ in range(window + 5)]
    for op in ("mean", "sum", "var"):
        whole = wf.Rolling(window, op).update(values)
        for begin in (1, 2, 17, 30):
            assert wf.Rolling(window, op).update(values[begin:]) == whole[begin:]
    last = [Fraction(number) for number in values[-window:]]
    assert wf.Rolling(window, "mean").update(values)[-1] == float(sum(last) / window)
