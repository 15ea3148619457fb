"""What users of other libraries have reported, by the numbers of their issues; the data are our own.

Those of rolling windows are in test_python_rolling.py, of dask's own graphs in test_python_examples.py, of torch's
deterministic algorithms in test_python_torch.py.  Reports of speed alone (such as numpy#22870, #23136, jax#17844, #26227,
cudf#24026), of operations that are not here (matrix products, cumulative sums as pytorch#190946, an assignment of many to
one place as pytorch#133204), of other libraries' files and of their layers have no test."""

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


@pytest.mark.parametrize("op", ["sum", "mean", "var", "std"])
def test_numpy_11331_14691_15093_20458_and_29772_every_axis_is_as_exact(op):
    """Means and variances of many float32 and float16 numbers far from 0, along each axis of each layout."""
    rng = np.random.default_rng(7)
    for dtype, far in (("f4", 2.0**12), ("f2", 2.0**3)):
        x = (rng.random((3000, 2, 3)) + far).astype(dtype)
        fast = getattr(wf, op)(np.ascontiguousarray(np.moveaxis(x, 0, -1)), axis=-1)
        for view in (x, np.asfortranarray(x), x[::-1]):
            assert (getattr(wf, op)(view, axis=0) == fast).all()
        column = [Fraction(float(number)) for number in x[:, 1, 2]]
        mean = sum(column) / len(column)
        var = sum((number - mean) ** 2 for number in column) / len(column)
        value = {"sum": sum(column), "mean": mean, "var": var, "std": math.sqrt(var)}[op]
        with np.errstate(over="ignore"):  # the sum of 3000 float16
            assert fast[1, 2] == np.dtype(dtype).type(float(value))


def test_arrow_45681_pandas_48433_the_whole_is_its_groups():
    """A sum is that of one group, and the groups' exact sums are parts of it."""
    rng = np.random.default_rng(8)
    x, ids = rng.standard_normal(5000).astype("f4") * 1e6, rng.integers(0, 9, 5000)
    assert wf.segment_sum(x, np.zeros(5000, int))[0] == wf.sum(x)
    parts = wf.Accumulator("sum", "f4", 9).update(x, ids=ids)
    assert parts.result().tolist() == [wf.sum(x[ids == key]) for key in range(9)] == wf.segment_sum(x, ids).tolist()
    pandas = pytest.importorskip("pandas", reason="no pandas")
    assert wf.sum(pandas.Series(x)) == wf.sum(x)


def test_spark_rapids_9822_no_overflow_on_the_way():
    """Finite on one device and infinite on another: what is added meanwhile has no say."""
    values = [1.5e308, 1.5e308, -1.5e308, 5e304, -1.5e308, 1.0]
    for order in (values, values[::-1], sorted(values)):
        assert wf.sum(order) == wf.segment_sum(order, [0] * 6)[0] == exact(values)
        assert wf.mean(order) == float(sum(map(Fraction, values)) / 6)


def test_polars_21099_25163_and_clickhouse_1678_any_order_any_threads():
    rng = np.random.default_rng(9)
    x, ids = rng.standard_normal(50_000) * 10.0 ** rng.integers(-12, 12, 50_000), rng.integers(0, 3, 50_000)
    seen = set()
    for threads in (1, 2, 5):
        order = rng.permutation(50_000)
        seen.add((wf.sum(x[order], threads=threads), wf.segment_mean(x[order], ids[order], threads=threads).tobytes()))
    assert len(seen) == 1


def test_xarray_8515_the_mean_of_groups_in_any_order():
    assert wf.segment_mean([1.0, 10.0, 3.0, 20.0, math.nan], [1, 0, 1, 0, 1], nan="omit") == [15.0, 2.0]


def test_xgboost_12265_small_numbers_beside_large_ones_are_not_lost():
    """Integers on one scale lose what is below it."""
    hessians = [1e-16] * 1000 + [1e6]
    assert wf.segment_sum(hessians, [0] * 1000 + [1]) == [exact([1e-16] * 1000), 1e6]
    assert wf.sum([*hessians, -1e6]) == exact([1e-16] * 1000)


def test_pytorch_88621_126484_and_134393_the_norm_of_gradients_in_shards():
    rng = np.random.default_rng(10)
    gradient = rng.standard_normal(4096).astype("f4") * 10.0 ** rng.integers(-6, 6, 4096).astype("f4")
    for shards in (1, 2, 8):
        total = wf.Accumulator("norm2", "f4")
        for part in np.split(gradient, shards)[::-1]:
            total += wf.Accumulator("norm2", "f4").update(part)
        assert total.result() == wf.norm(gradient)


def test_bottleneck_193_xarray_1346_2370_pandas_25307_and_42878_float32_means():
    """Whether another library is installed changes no result, for there is one."""
    x = np.full((1000, 300), 280.15, "f4")
    assert (wf.nanmean(x, axis=0) == np.float32(280.15)).all() and wf.nanstd(x) == 0 and wf.nanvar(x[::-1, ::2], axis=1).max() == 0


def test_numpy_7998_weights_of_every_float_and_threads():
    weights, ids = np.full(5000, 0.1, "f4"), np.zeros(5000, "i1")
    assert wf.bincount(ids, weights, 3).tolist() == [exact([float(np.float32(0.1))] * 5000), 0.0, 0.0]


def test_cudf_2494_3464_duckdb_4270_polars_25337_datafusion_11264_float32_groups_in_any_order():
    rng = np.random.default_rng(11)
    x, ids = (rng.standard_normal(9000) * 1e5).astype("f4"), rng.integers(0, 40, 9000)
    results = {op: getattr(wf, f"segment_{op}")(x, ids).tobytes() for op in ("sum", "mean", "var", "norm")}
    for threads in (1, 3):
        order = rng.permutation(9000)
        for op, expected in results.items():
            assert getattr(wf, f"segment_{op}")(x[order], ids[order], threads=threads).tobytes() == expected
    assert wf.segment_sum(x, ids)[7] == np.float32(exact(x[ids == 7].tolist()))


def test_pytorch_50469_84683_pytorch_scatter_20_226_269_tt_metal_53386_gradients_of_an_embedding():
    """Rows of float16 are added by key: many to one row, in any order, without the error of a float16 that is full."""
    rng = np.random.default_rng(12)
    rows, keys = rng.random((4000, 3)).astype("f2"), np.where(rng.random(4000) < 0.5, 2, rng.integers(0, 9, 4000))
    got, order = wf.index_add(np.zeros((9, 3), "f2"), 0, keys, rows), rng.permutation(4000)
    assert (wf.index_add(np.zeros((9, 3), "f2"), 0, keys[order], rows[order], threads=2) == got).all()
    assert got[2].tolist() == [float(np.float16(exact(rows[keys == 2, c].tolist()))) for c in range(3)]


def test_torchmetrics_880_a_confusion_matrix_is_the_same_every_time():
    rng = np.random.default_rng(13)
    target, guess, weights = rng.integers(0, 4, 5000), rng.integers(0, 4, 5000), rng.random(5000)
    order = rng.permutation(5000)
    matrix = wf.bincount(4 * target + guess, weights, 16)
    assert wf.bincount((4 * target + guess)[order], weights[order], 16, threads=3).tobytes() == matrix.tobytes()
    assert matrix[6] == exact(weights[(target == 1) & (guess == 2)].tolist())


def test_dask_12359_any_tree_of_partial_results():
    """Along an axis, chunks of any length, merged so many at a time."""
    x = np.random.default_rng(14).standard_normal((240, 5)) * 10.0 ** np.arange(-120, 120)[:, None]
    whole = wf.Accumulator("mean", "f8", 5).update(x, axis=0)
    for length, split_every in ((1, 2), (7, 3), (50, 4), (240, 2)):
        parts = [wf.Accumulator("mean", "f8", 5).update(x[i:i + length], axis=0) for i in range(0, 240, length)]
        while len(parts) > 1:
            parts = [sum(parts[i + 1:i + split_every], parts[i]) for i in range(0, len(parts), split_every)]
        assert parts[0].result().tobytes() == whole.result().tobytes() == wf.mean(x, axis=0).tobytes()


def test_cub_441_and_cccl_9995_runs_of_keys_add_up_alike_every_time():
    """Keys in runs, as of a sorted column, the same keys mixed, and the runs by their beginnings."""
    rng = np.random.default_rng(15)
    keys, values = np.sort(rng.integers(0, 6, 3000)), (rng.standard_normal(3000) * 10.0 ** rng.integers(-6, 6, 3000)).astype("f4")
    starts, expected = np.searchsorted(keys, np.arange(6)), wf.segment_sum(values, keys).tobytes()
    for threads in range(1, 6):
        order = rng.permutation(3000)
        assert wf.segment_sum(values[order], keys[order], threads=threads).tobytes() == expected
        assert wf.reduceat("sum", values, starts, threads=threads).tobytes() == expected
    assert np.frombuffer(expected, "f4")[2] == np.float32(exact(values[keys == 2].tolist()))


def test_gluten_3119_5504_8985_and_clickhouse_21973_quotients_add_up_alike_in_every_order():
    """Thousandths, of which neither the parts nor the sum is a double."""
    rng = random.Random(16)
    times = [rng.randrange(10**6) / 1000 for _ in range(13)]
    for _ in range(30):
        rng.shuffle(times)
        parts = [wf.Accumulator("sum").update(times[i:i + 4]) for i in range(0, 13, 4)]
        assert wf.sum(times) == wf.segment_sum(times, [1] * 13)[1] == sum(parts[1:], parts[0]).result() == exact(times)


def test_amrex_4669_particles_to_mesh_in_any_order_on_any_number_of_ranks():
    """Weights of particles beside each mesh point: bins that are merged, of parts of any size."""
    rng = np.random.default_rng(17)
    x, charge = rng.random(2000) * 7, rng.standard_normal(2000) * 10.0 ** rng.integers(-8, 8, 2000)
    cells = np.concatenate([x.astype(int), x.astype(int) + 1])
    shares = np.concatenate([charge * (1 - x % 1), charge * (x % 1)])
    mesh, meshes = wf.bincount(cells, shares, 8), set()
    for ranks in (1, 2, 5):
        parts = np.array_split(rng.permutation(4000), ranks)
        bins = [wf.Accumulator("sum", "f8", 8).update(shares[part], ids=cells[part]) for part in parts]
        meshes.add(sum(bins[1:], bins[0]).result().tobytes())
    assert meshes == {mesh.tobytes()} and mesh[3] == exact(shares[cells == 3].tolist())


def test_vllm_27433_and_batch_invariant_ops_4_and_6_a_row_has_one_result_in_every_batch():
    """Sums, means and norms of rows, alone and among others, also along the slow axis."""
    x = np.random.default_rng(18).standard_normal((33, 700)).astype("f4")
    for name in ("sum", "mean", "var", "norm"):
        whole = getattr(wf, name)(x, axis=1)
        for begin, size in ((0, 1), (5, 2), (7, 16), (30, 3)):
            batch = x[begin:begin + size]
            expected = whole[begin:begin + size].tobytes()
            assert getattr(wf, name)(batch, axis=1).tobytes() == expected
            assert getattr(wf, name)(np.ascontiguousarray(batch.T), axis=0, threads=2).tobytes() == expected


def test_nccl_157_855_1497_1975_vllm_51290_and_tensorrt_llm_19501_any_number_of_ranks_and_message_size():
    """Elementwise sums of float16 over ranks, each in pieces of any size, and in any tree."""
    rng = np.random.default_rng(19)
    rows = (rng.standard_normal((8, 60)) * 2.0 ** rng.integers(-6, 6, (8, 60))).astype("f2")
    whole = wf.sum(rows, axis=0)
    for size in (7, 60):
        for ranks in (1, 2, 8):
            shards = [wf.Accumulator("sum", "f2", 60).update(part, axis=0) for part in np.split(rows[rng.permutation(8)], ranks)]
            rng.shuffle(shards)
            assert sum(shards[1:], shards[0]).result().tobytes() == whole.tobytes()
        pieces = [wf.sum(rows[::-1, i:i + size], axis=0) for i in range(0, 60, size)]
        assert np.concatenate(pieces).tobytes() == whole.tobytes()
    assert whole.tolist() == [float(np.float16(exact(column.tolist()))) for column in rows.T]


def test_numba_8485_and_ufunclab_10_exact_sums_along_an_axis_of_every_float():
    for dtype in ("f2", "f4", "f8"):
        x = np.array([[1, 2.0**-14, -1], [2.0**-10, 2.0**10, -2.0**10]], dtype)
        assert wf.sum(x, axis=1).tolist() == [2.0**-14, 2.0**-10] and wf.sum(x) == np.dtype(dtype).type(2.0**-14 + 2.0**-10)


def test_xgboost_8246_histograms_of_gradients():
    """Pairs of gradient and Hessian by bin, whatever the order of the rows and the number of workers."""
    rng = np.random.default_rng(20)
    pairs, bins = (rng.standard_normal((4000, 2)) * [1, 1e-7]).astype("f4"), rng.integers(0, 16, 4000)
    histogram = wf.segment_sum(pairs, bins, 16)
    for workers in (1, 3):
        parts = [wf.Accumulator("sum", "f4", (16, 2)).update(pairs[part], ids=bins[part])
                 for part in np.array_split(rng.permutation(4000), workers)]
        assert sum(parts[1:], parts[0]).result().tobytes() == histogram.tobytes()
    assert histogram[5, 1] == np.float32(exact(pairs[bins == 5, 1].tolist()))
