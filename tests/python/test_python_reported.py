"""What users of other libraries have reported, by the numbers of their issues; the data are our own."""

import math
import random
from array import array
from fractions import Fraction

import pytest

wf = pytest.importorskip("warpfold", reason="the Python package was not built: no headers of Python")
np = pytest.importorskip("numpy", reason="no NumPy")


def exact(numbers):
    total = sum(map(Fraction, numbers))
    return total.numerator / total.denominator


def test_numpy_8869_and_9393_the_axis_changes_no_precision():
    """A sum along a slow axis is as exact as along a fast one."""
    x = (np.random.default_rng(1).random((20_000, 3)) + 1).astype("f4")
    rows, columns = wf.sum(x, axis=0), wf.sum(np.ascontiguousarray(x.T), axis=1)
    assert (rows == columns).all() and rows.tolist() == [float(np.float32(exact(c.tolist()))) for c in x.T]


def test_numpy_8786_a_sum_that_is_rounded_once():
    for numbers in ([0.1] * 10, [1e100, 1.0, -1e100], [1e308, 1e308, -1e308], [2.0**-1074] * 3 + [1.0, -1.0]):
        assert wf.sum(numbers) == exact(numbers)


def test_numpy_13734_the_memory_layout_changes_nothing():
    x = np.random.default_rng(2).standard_normal((50, 60, 7)) * 1e10
    for view in (np.asfortranarray(x), x.transpose(2, 0, 1).copy().transpose(1, 2, 0), x[::-1][::-1]):
        assert wf.sum(view) == wf.sum(x) and (wf.var(view, axis=(0, 2)) == wf.var(x, axis=(0, 2))).all()


def test_bottleneck_462_the_mean_of_many_float32():
    """The mean of 10^7 numbers about 0.5 is 0.5, not what a float32 can add up to."""
    x = np.tile(np.random.default_rng(3).random(1000).astype("f4"), 10_000)
    assert wf.nanmean(x) == np.float32(exact(x[:1000].tolist()) / 1000)


def test_pandas_43292_and_50367_an_infinity_is_no_nan():
    values, ids = [math.inf, 1.0, 2.0, -math.inf, 3.0], [0, 0, 1, 2, 2]
    assert wf.segment_sum(values, ids) == [math.inf, 2.0, -math.inf]
    assert wf.segment_mean(values[::-1], ids[::-1]) == [math.inf, 2.0, -math.inf]


def test_pandas_38778_the_whole_is_one_group():
    rng = random.Random(4)
    values = [rng.uniform(-1, 1) * 10.0**rng.randrange(-15, 15) for _ in range(3000)]
    assert wf.segment_sum(values, [0] * 3000) == [wf.sum(values)] and wf.segment_var(values, [0] * 3000) == [wf.var(values)]


def test_jax_27796_scattered_additions_are_all_there():
    assert wf.index_add([0.0] * 4, 0, [0, 1, 1], [1.0, 1.0, 1.0]) == [1.0, 2.0, 0.0, 0.0]


def test_jax_28783_a_weighted_histogram_is_the_same_every_time():
    rng = np.random.default_rng(5)
    ids, weights = rng.integers(0, 5, 20_000), rng.standard_normal(20_000) * 10.0 ** rng.integers(-9, 9, 20_000)
    first = wf.bincount(ids, weights)
    for threads in (1, 2, 7):
        order = rng.permutation(20_000)
        assert wf.bincount(ids[order], weights[order], threads=threads).tobytes() == first.tobytes()
    assert first[3] == exact(weights[ids == 3].tolist())


def test_numpy_8495_weights_are_not_all_doubles():
    """Keyed sums of integers stay integers, and rows of values need no loop."""
    assert wf.segment_sum(np.array([2**62, 1, 2**61]), [0, 1, 0], 2).tolist() == [2**62 + 2**61, 1]
    assert wf.segment_sum(np.ones((4, 3), "f4"), [1, 1, 0, 1], 2).tolist() == [[1] * 3, [3] * 3]


def test_polars_21016_and_xarray_2902_chunks_change_nothing():
    values = array("d", [random.Random(6).gauss(1e9, 1) for _ in range(1000)])
    whole = wf.Accumulator("var").update(values)
    for size in (1, 7, 333):
        parts = [wf.Accumulator("var").update(values[i:i + size]) for i in range(0, 1000, size)]
        random.Random(size).shuffle(parts)
        total = parts[0]
        for part in parts[1:]:
            total += part
        assert total.bytes() == whole.bytes() and total.result() == wf.var(values) >= 0


def test_mxnet_17703_bfloat16_counts_further_than_256():
    bfloat16 = pytest.importorskip("ml_dtypes", reason="no ml_dtypes").bfloat16
    assert wf.sum(np.ones(1000, bfloat16), dtype="f4") == 1000
    assert wf.segment_sum(np.ones(1000, bfloat16), np.arange(1000) % 2).tolist() == [500, 500]
