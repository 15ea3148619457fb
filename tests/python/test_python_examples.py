"""The examples for other libraries do what their first lines say; each is skipped where its library is not."""

import importlib.util
from fractions import Fraction
from pathlib import Path

import pytest

wf = pytest.importorskip("warpfold", reason="the Python package was not built: no headers of Python")

np = pytest.importorskip("numpy", reason="no NumPy")
EXAMPLES = Path(__file__).resolve().parent.parent.parent / "examples" / "python"


def example(name):
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_dask():
    da = pytest.importorskip("dask.array", reason="no dask")
    exact, rng = example("dask_reduction").exact, np.random.default_rng(2)
    data = rng.standard_normal((40, 30)) * 10.0 ** rng.integers(-20, 20, (40, 30))
    for op in ("sum", "mean", "var", "norm2"):
        expected = wf.Accumulator(op).update(data).result()
        for chunks, split_every in (((40, 30), None), ((7, 11), None), ((1, 30), 2), ((10, 10), 3)):
            got = exact(op, da.from_array(data, chunks=chunks), split_every=split_every)
            assert got.shape == () and float(got.compute(scheduler="threads")) == expected
    assert expected != 0 and wf.sum(data) == float(sum(map(Fraction, data.ravel().tolist())))


def test_pandas():
    pd = pytest.importorskip("pandas", reason="no pandas")
    groupby, rng = example("pandas_groupby").groupby, np.random.default_rng(3)
    frame = pd.DataFrame({"key": rng.choice(["x", "y", "z", None], 300), "value": rng.standard_normal(300) * 1e6})
    for op in ("sum", "mean", "max", "var"):
        got = groupby(frame, "key", "value", op)
        assert got.equals(groupby(frame.sample(frac=1, random_state=4), "key", "value", op))
        expected = frame.groupby("key")["value"].agg(op if op != "var" else lambda v: v.var(ddof=0))
        pd.testing.assert_series_equal(got, expected)
    for key, total in groupby(frame, "key", "value").items():
        assert total == float(sum(map(Fraction, frame[frame.key == key].value.tolist())))


def test_xarray_and_flox():
    xr, _ = pytest.importorskip("xarray", reason="no xarray"), pytest.importorskip("flox", reason="no flox")
    groupby, rng = example("xarray_flox").groupby, np.random.default_rng(4)
    data = rng.standard_normal((5, 40)) * 10.0 ** rng.integers(-20, 20, (5, 40))
    array = xr.DataArray(data, dims=("x", "time"))
    months = xr.DataArray(rng.choice(["a", "b", "c"], 40), dims="time", name="month")
    order = rng.permutation(40)
    for op in ("sum", "max", "mean"):
        got = groupby(array, months, op)
        assert got.dims == ("x", "month") and got.equals(groupby(array[:, order], months[order], op))
        for i, month in enumerate(got.month.values):
            assert (got[:, i].values == getattr(wf, op)(data[:, months.values == month], axis=1)).all()
    whole = array.reduce(wf.sum, "time")
    assert whole.dims == ("x",) and (whole.values == [float(sum(map(Fraction, row.tolist()))) for row in data]).all()
    assert float(array.reduce(wf.sum)) == wf.sum(data)


def test_parquet(tmp_path):
    pa, pq = pytest.importorskip("pyarrow", reason="no pyarrow"), pytest.importorskip("pyarrow.parquet", reason="no pyarrow")
    reduce, rng = example("parquet_sums").reduce, np.random.default_rng(6)
    data = rng.standard_normal(3000) * 10.0 ** rng.integers(-20, 20, 3000)
    values = [None if i % 7 == 0 else value for i, value in enumerate(data.tolist())]
    present = [value for value in values if value is not None]
    for name, part, rows in (("a", slice(0, 1000), 300), ("b", slice(1000, None), 5000)):
        table = pa.table({"key": ["x"] * len(values[part]), "price": values[part]})
        pq.write_table(table, tmp_path / name, row_group_size=rows, compression="zstd")
    for paths in ([tmp_path / "a", tmp_path / "b"], [tmp_path / "b", tmp_path / "a"]):
        assert reduce("sum", "price", paths) == float(sum(map(Fraction, present)))
        assert reduce("mean", "price", paths) == float(sum(map(Fraction, present)) / len(present))
        assert reduce("max", "price", paths) == max(present)


def test_parallel_parts():
    from concurrent.futures import ThreadPoolExecutor

    parallel, rng = example("parallel_parts"), np.random.default_rng(5)
    data = rng.standard_normal(3000) * 10.0 ** rng.integers(-20, 20, 3000)
    for op in ("sum", "var"):
        expected = wf.Accumulator(op).update(data)
        for parts in (1, 5, 50):
            got = parallel.with_futures(op, np.array_split(data, parts), executor=ThreadPoolExecutor)
            assert got.bytes() == expected.bytes()
    pytest.importorskip("joblib", reason="no joblib")
    assert parallel.with_joblib("sum", np.array_split(data, 7), backend="threading").result() == wf.sum(data)
