"""Arrays of jax on the CPU, with and without its 64-bit types: NumPy's bits, as jax's arrays; skipped where jax is not."""

import pytest

wf = pytest.importorskip("warpfold", reason="the Python package was not built: no headers of Python")
jax = pytest.importorskip("jax", reason="no jax")

import ml_dtypes
import numpy as np

DTYPES = ["bool", "int8", "int16", "int32", "uint8", "uint16", "uint32", "float16", "bfloat16", "float32"]
NARROW = {"int64": "int32", "uint64": "uint32", "float64": "float32"}
MEANS = ["mean", "var", "std", "norm", "median"]
OPS = [*MEANS, "sum", "prod", "min", "max", "argmin", "argmax", "any", "all", "count_nonzero"]


@pytest.fixture(params=[False, True], ids=["32", "64"])
def is_wide(request):
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", request.param)
    yield request.param
    jax.config.update("jax_enable_x64", before)


def outcome(function, a, options):
    try:
        return function(a, **options)
    except (TypeError, ValueError, OverflowError) as error:
        return error


def narrowed(result):
    name = np.asarray(result).dtype.name
    return np.asarray(result).astype(NARROW.get(name, result.dtype))


def same(ours, expected):
    """A jax array of the same bits, or the same error."""
    if isinstance(expected, Exception):
        return type(ours) is type(expected) and str(ours) == str(expected)
    bits, expected = np.asarray(ours), np.asarray(expected)
    return isinstance(ours, jax.Array) and (bits.dtype, bits.shape, bits.tobytes()) == (
        expected.dtype, expected.shape, expected.tobytes())


@pytest.mark.parametrize("name", [*DTYPES, *NARROW])
def test_every_op_and_dtype(name, is_wide):
    if name in NARROW and not is_wide:
        pytest.skip("jax has no such arrays then")
    rng, seen = np.random.default_rng(1), 0
    for shape in [(), (0,), (3, 4)]:
        a = np.asarray(rng.integers(0, 5, shape)).astype(getattr(ml_dtypes, name, name))
        b = jax.numpy.asarray(a)
        for op in OPS:
            for options in ({}, {"keepdims": True}, *([{"axis": 0}] if shape else [])):
                is_float32 = not is_wide and op in MEANS and a.dtype.kind in "biu"
                expected = outcome(getattr(wf, op), a, {**options, "dtype": "f4"} if is_float32 else options)
                if not is_wide and not isinstance(expected, Exception):
                    expected = narrowed(expected)
                assert same(outcome(getattr(wf, op), b, options), expected), (shape, op, options, expected)
                seen += isinstance(expected, np.ndarray) or np.isscalar(expected)
    assert seen > 90


def test_without_64_bits_nothing_wraps_and_all_is_rounded_once():
    jax.config.update("jax_enable_x64", False)
    large = jax.numpy.full((3, 2), 2**30, "int32")
    for call in (lambda: wf.sum(large), lambda: wf.sum(large, axis=0), lambda: wf.segment_sum(large, [0, 0, 0]),
                 lambda: wf.prod(large), lambda: wf.sum(large, dtype="int64"), lambda: wf.sum(large, where=large > 0)):
        with pytest.raises(OverflowError, match="does not fit in i32"):
            call()
    assert wf.sum(large - 2**30).dtype == wf.argmax(large).dtype == "int32"
    twice = jax.numpy.asarray([2.0**24, 1.0, 2.0**-40], "float32")  # by way of float64 it would be 2^24
    assert wf.sum(twice, dtype="float64") == wf.sum(twice) == 2**24 + 2


def test_every_function_gives_jax_arrays(is_wide):
    a, ids = jax.numpy.arange(6.0).reshape(2, 3), jax.numpy.asarray([1, 1])
    calls = {"segment_sum": (a, ids), "segment_max": (a, ids), "bincount": (ids, a[:, 0]), "index_add": (a, 0, ids, a),
             "vecdot": (a, a), "median": (a,), "quantile": (a, [0.5, 0.75]), "nansum": (a,)}
    for name, arguments in calls.items():
        expected = getattr(wf, name)(*(np.asarray(x) if isinstance(x, jax.Array) else x for x in arguments))
        got = getattr(wf, name)(*arguments)
        assert isinstance(got, jax.Array) and np.array_equal(got, expected, equal_nan=True), name
    assert isinstance(wf.reduceat("sum", a[0], [0, 2]), jax.Array) and wf.stats(a).sum == 15
    assert isinstance(wf.sum(a, where=a > 1, axis=0), jax.Array) and isinstance(wf.max(a, initial=9.0), jax.Array)
    assert isinstance(wf.Rolling(2, "sum").update(a[0]), jax.Array)
    assert wf.Accumulator("sum", a.dtype).update(a).result() == 15


def test_what_has_no_elements_is_refused_in_words():
    with pytest.raises(TypeError, match="traced array"):
        jax.jit(wf.sum)(jax.numpy.ones(3))
    for a in (jax.numpy.ones(3, "complex64"), jax.numpy.ones(3, "float8_e5m2"), jax.random.key(0)):
        with pytest.raises(TypeError):
            wf.sum(a)
    a = jax.numpy.ones(3)
    for x, out in ((a, a[0]), (a[None], a)):
        with pytest.raises(ValueError, match="read-only"):
            wf.sum(x, axis=x.ndim - 1 if out.ndim == 0 else 0, out=out)
    assert a.tolist() == [1, 1, 1]
