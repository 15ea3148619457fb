"""The package beside NumPy: shapes, dtypes, arguments and errors are NumPy's, values the exact ones."""

import inspect
import math
from fractions import Fraction

import pytest

wf = pytest.importorskip("warpfold", reason="the Python package was not built: no headers of Python")
from oracle import Oracle

np = pytest.importorskip("numpy", reason="no NumPy")

DTYPES = ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8"]
NAMES = {"?": "bool", "i1": "i8", "i2": "i16", "i4": "i32", "i8": "i64", "u1": "u8", "u2": "u16", "u4": "u32",
         "u8": "u64", "f2": "f16", "f4": "f32", "f8": "f64"}
OPS = ["sum", "prod", "min", "max", "argmin", "argmax", "mean", "var", "std", "any", "all", "count_nonzero"]


def numbers(dtype, shape, seed=0):
    return np.random.default_rng(seed).integers(0, 9, shape).astype(dtype)


def alike(got, expected, *context):
    """Of one kind, type and shape, and equal where NumPy's rounding allows."""
    if isinstance(expected, (int, np.integer)) and not isinstance(got, np.ndarray):
        expected = np.int64(expected) if isinstance(expected, int) else expected  # count_nonzero before NumPy 2.4
    assert type(got) is type(expected), (context, type(got), type(expected))
    assert got.dtype == expected.dtype and got.shape == expected.shape, context
    tolerance = {"e": 1e-2, "f": 1e-5, "d": 1e-12}.get(got.dtype.char, 0)
    np.testing.assert_allclose(np.asarray(got, float), np.asarray(expected, float), rtol=tolerance, err_msg=str(context))


@pytest.mark.sampled
@pytest.mark.filterwarnings("ignore:Mean of empty slice", "ignore:Degrees of freedom")  # NumPy's
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", OPS)
def test_axes_and_kept_dimensions(name, dtype):
    a = numbers(dtype, (3, 4, 2))
    views = [a, np.asfortranarray(a), a[::-1, ::2], a.transpose(2, 0, 1), a[:0], a[1, 2, 0]]
    for view in views:
        for axis in (None, *range(-view.ndim, view.ndim), (), (0, 2), (-1, 0, 1)):
            if isinstance(axis, tuple) and (view.ndim < 3 or name.startswith("arg")):
                continue
            for keepdims in (False, True):
                try:
                    with np.errstate(all="ignore"):
                        expected = getattr(np, name)(view, axis=axis, keepdims=keepdims)
                except ValueError:
                    with pytest.raises(ValueError):
                        getattr(wf, name)(view, axis=axis, keepdims=keepdims)
                    continue
                alike(getattr(wf, name)(view, axis=axis, keepdims=keepdims), expected, name, dtype, view.shape, axis)


@pytest.mark.parametrize("name", ["sum", "mean", "var", "prod", "norm2", "argmax"])
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i4"])
def test_rows_are_the_oracles(name, dtype):
    rng = np.random.default_rng(3)
    a = (rng.standard_normal((5, 7, 6)) * 2.0 ** rng.integers(-12, 12, (5, 7, 6))).astype(dtype)
    function = wf.norm if name == "norm2" else getattr(wf, name)
    for axis in range(3):
        got = function(a, axis=axis)
        for result, row in zip(got.reshape(-1), np.moveaxis(a, axis, -1).reshape(-1, a.shape[axis])):
            type_name, bits = Oracle(NAMES[dtype], row.tobytes()).reduce(name)
            kind = {"f16": "u2", "f32": "u4", "f64": "u8"}.get(type_name)
            assert (int(result.view(kind)) if kind else int(result)) == bits


def test_signatures_are_numpys():
    """What may be positional is so in the same order."""
    kinds = inspect.Parameter.POSITIONAL_OR_KEYWORD
    for name in OPS:
        ours = [p.name for p in inspect.signature(getattr(wf, name)).parameters.values() if p.kind == kinds]
        theirs = [p.name for p in inspect.signature(getattr(np, name)).parameters.values() if p.kind == kinds]
        assert theirs[:len(ours)] == ours, name
    for name in OPS:
        a = numbers("f8", (3, 4))
        out = np.empty(4, getattr(np, name)(a, axis=0).dtype)
        if name in ("sum", "prod", "mean"):
            assert getattr(wf, name)(a, 0, None, out, False) is out
        elif name in ("var", "std"):
            assert getattr(wf, name)(a, 0, None, out, 1, False) is out
            alike(out, getattr(np, name)(a, 0, ddof=1))
        elif name != "count_nonzero":
            assert getattr(wf, name)(a, 0, out) is out


@pytest.mark.parametrize("name", ["sum", "prod", "min", "max", "mean", "var", "std", "any", "all"])
@pytest.mark.parametrize("dtype", ["?", "i4", "u1", "f4", "f8"])
def test_where(name, dtype):
    a = numbers(dtype, (4, 5, 3), 1)
    mask = np.random.default_rng(2).random((4, 5, 3)) < 0.6
    mask[0, 0] = mask[0, :, 0] = mask[:, 0, 0] = True
    initial = {"initial": a.max()} if name == "min" else {"initial": a.min()} if name == "max" else {}
    for where in (mask, mask[::-1], np.asfortranarray(mask), np.ones(3, bool), np.array(True), np.ones((5, 1), bool)):
        for axis in (None, 0, -1, (0, 1)):
            for keepdims in (False, True):
                expected = getattr(np, name)(a, axis=axis, keepdims=keepdims, where=where, **initial)
                got = getattr(wf, name)(a, axis=axis, keepdims=keepdims, where=where)
                alike(got, expected, name, axis)
    alike(wf.count_nonzero(a, axis=1, where=mask), np.count_nonzero(a * mask, axis=1))
    alike(wf.sum(a[:, ::-2].T, axis=0, where=mask[:, ::-2].T), np.sum(a[:, ::-2].T, axis=0, where=mask[:, ::-2].T))


def test_where_refuses():
    a = np.ones((2, 3))
    with pytest.raises(TypeError, match="where must be bool, not i64"):
        wf.sum(a, where=np.ones(3, int))
    with pytest.raises(ValueError, match="where cannot be broadcast"):
        wf.sum(a, where=np.ones(2, bool))
    assert math.isnan(wf.mean(a, where=False)) and wf.sum(a, where=False) == 0
    with pytest.raises(ValueError, match="undefined"):
        wf.min(a.astype(int), where=False)


def test_out():
    a = numbers("f8", (3, 4))
    for out in (np.zeros(4), np.zeros(8)[::2], np.zeros(4)[::-1], np.zeros(4, "f4"), np.zeros((4, 2))[:, 1]):
        assert wf.sum(a, axis=0, out=out) is out
        np.testing.assert_array_equal(out, a.sum(0))
    kept = np.zeros((3, 2, 1))[:, 0]
    assert wf.max(a, axis=1, keepdims=True, out=kept) is kept and (kept == a.max(1, keepdims=True)).all()
    nothing = np.zeros(())
    assert wf.mean(a, out=nothing) is nothing and nothing == a.mean()
    masked = np.zeros(8)[::2]
    wf.sum(a, axis=0, where=a > 3, out=masked)
    np.testing.assert_array_equal(masked, a.sum(0, where=a > 3))
    counts = np.zeros(4, "f4")
    assert (wf.sum(a.astype(int), axis=0, out=counts) == a.sum(0)).all()


def test_out_that_is_part_of_the_array():
    a = numbers("f8", (5, 5))
    expected = a.sum(0)
    np.testing.assert_array_equal(wf.sum(a, axis=0, out=a[2]), expected)
    b = numbers("f8", (5, 5))
    expected = b.sum(1)
    wf.sum(b, axis=1, out=b[::-1, 3])
    np.testing.assert_array_equal(b[::-1, 3], expected)


def test_out_that_does_not_fit():
    a = np.ones((3, 4))
    for out in (np.zeros(3), np.zeros((4, 1)), np.zeros(())):
        with pytest.raises(ValueError, match="out has not the shape"):
            wf.sum(a, axis=0, out=out)
    for dtype in ("i8", "?"):
        with pytest.raises(TypeError, match="cannot take results of f64"):
            wf.sum(a, axis=0, out=np.zeros(4, dtype))
    read_only = np.zeros(4)
    read_only.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        wf.sum(a, axis=0, out=read_only)
    with pytest.raises(ValueError, match="byte order"):
        wf.sum(a, axis=0, out=np.zeros(4, ">f8"))
    unchanged = np.full(4, 7, "i1")
    with pytest.raises(OverflowError):
        wf.sum(np.full((3, 4), 100), axis=0, out=unchanged)


def test_results_are_exact_where_numpys_are_not():
    rng = np.random.default_rng(5)
    a = rng.standard_normal((50, 40)) * 10.0 ** rng.integers(-12, 12, (50, 40))
    for got, column in zip(wf.sum(a, axis=0), a.T):
        assert got == float(sum(map(Fraction, column.tolist())))
    for got, column in zip(wf.mean(a, axis=0), a.T):
        assert got == float(sum(map(Fraction, column.tolist())) / 50)
    assert wf.mean(np.full(3, 1.7e308)) == 1.7e308 and wf.var(np.full(9, 0.1)) == 0
    assert wf.sum(np.full(4096, 1, "f2")) == 4096 and wf.mean(np.full(70000, 1, "f2")) == 1


def test_dtypes():
    a = np.array([1.5, 2.5], "f4")
    for dtype in ("float64", "f8", "d", float, np.float64, np.dtype("f8"), np.dtype(">f8")):
        assert wf.sum(a, dtype=dtype).dtype == np.float64
    assert wf.sum(a, axis=0, dtype="f2").dtype == np.float16
    assert wf.sum(a, keepdims=True, dtype=np.float16).dtype == np.float16
    assert wf.sum(np.array([1, 2], "i2"), dtype="u1") == 3 and wf.sum(np.array([1]), dtype="i8").dtype == np.int64
    with pytest.raises(OverflowError, match="does not fit in u8"):
        wf.sum(np.array([200, 200]), dtype="u1")
    for dtype in ("int", "i4", bool):
        with pytest.raises(TypeError, match="without loss"):
            wf.sum(a, dtype=dtype)
    for dtype in ("complex128", "nonsense", object, 3):
        with pytest.raises(TypeError, match="is not one of"):
            wf.sum(a, dtype=dtype)


def test_axis_errors():
    a = np.zeros((2, 3))
    for axis in (2, -3, (0, 5)):
        with pytest.raises((ValueError, IndexError), match="out of bounds for array of dimension 2") as caught:
            wf.sum(a, axis=axis)
        assert isinstance(caught.value, wf.AxisError) and isinstance(caught.value, IndexError)
    with pytest.raises(ValueError, match="duplicate"):
        wf.sum(a, axis=(0, -2))
    for axis in (1.0, "0", [0]):
        with pytest.raises(TypeError):
            wf.sum(a, axis=axis)
    assert wf.sum(np.float64(3), axis=0) == 3 and wf.sum(5, axis=-1) == 5
    with pytest.raises(ValueError):
        wf.sum(5, axis=1)


def test_argument_errors():
    a = np.zeros(3)
    for call, message in ((lambda: wf.sum(), "missing required argument 'a'"),
                          (lambda: wf.sum(a, 0, None, None, False, 1), "takes at most 5 positional"),
                          (lambda: wf.sum(a, a=a), "multiple values for argument 'a'"),
                          (lambda: wf.sum(a, ddof=1), "unexpected keyword argument 'ddof'"),
                          (lambda: wf.argmax(a, where=a > 0), "unexpected keyword argument 'where'"),
                          (lambda: wf.sum(a, threads="2"), "threads must be an integer"),
                          (lambda: wf.sum(a, device=3), "device must be"),
                          (lambda: wf.sum(None), "cannot reduce NoneType")):
        with pytest.raises(TypeError, match=message):
            call()
    for call, message in ((lambda: wf.sum(a, nan="skip"), "nan must be 'propagate', 'omit' or 'error'"),
                          (lambda: wf.sum(a, threads=-1), "threads must be 0"),
                          (lambda: wf.var(a, ddof=1, correction=1), "one setting"),
                          (lambda: wf.var(a, ddof=0.5), "must be an integer"),
                          (lambda: wf.var(a, ddof=-1), "ddof"),
                          (lambda: wf.norm(a, 3), "ord must be 1, 2 or inf"),
                          (lambda: wf.norm(a, "fro"), "ord must be 1, 2 or inf"),
                          (lambda: wf.vecdot(a, np.zeros(4)), "3 and 4 elements")):
        with pytest.raises(ValueError, match=message):
            call()
    with pytest.raises(RuntimeError, match="unknown device 'tpu'"):
        wf.sum(a, device="tpu")
    assert wf.var(np.array([1.0, 3.0]), ddof=1.0) == 2 and wf.sum(a, axis=None, nan=None) == 0


def test_nan_policies():
    a = np.array([[1.0, np.nan], [3.0, 5.0]])
    assert np.isnan(wf.sum(a)) and wf.nansum(a) == 9 and wf.argmax(a) == 1 and wf.nanargmax(a) == 3
    np.testing.assert_array_equal(wf.nanmean(a, axis=1), np.nanmean(a, axis=1))
    np.testing.assert_array_equal(wf.max(a, axis=0, nan="omit"), [3, 5])
    with pytest.raises(ValueError, match="NaN at index 1"):
        wf.sum(a, nan="error")
    hole = np.full(3, np.nan)
    assert all(math.isnan(function(hole)) for function in (wf.nanmin, wf.nanmean, wf.nanvar)) and wf.nansum(hole) == 0
    with pytest.raises(ValueError):
        wf.nanargmin(hole)
    for name in ("sum", "prod", "min", "max", "argmin", "argmax", "mean", "var", "std"):
        alike(getattr(wf, "nan" + name)(a, axis=0), getattr(np, "nan" + name)(a, axis=0), name)


@pytest.mark.parametrize("dtype", ["?", "i1", "u4", "i8", "f2", "f4", "f8"])
def test_initial(dtype):
    """One element more for every result; where nothing else is left, the result."""
    a = numbers(dtype, (4, 5))
    first, mask = a.dtype.type(1), np.arange(20).reshape(4, 5) % 5 > 2
    for name in ("sum", "prod", "min", "max"):
        if name == "prod" and dtype not in ("?", "f8"):
            continue  # NumPy's wrap, or are rounded otherwise
        for options in ({}, {"axis": 0}, {"axis": 1, "keepdims": True}, {"axis": (0, 1)}, {"where": mask}, {"axis": 0, "where": mask}):
            alike(getattr(wf, name)(a, initial=first, **options), getattr(np, name)(a, initial=first, **options), name)
        out = np.zeros(5, getattr(np, name)(a, axis=0).dtype)
        assert getattr(wf, name)(a, axis=0, out=out, initial=1) is out
        alike(out, getattr(np, name)(a, axis=0, initial=first), name)
        empty = a[:0]
        alike(getattr(wf, name)(empty, initial=first), getattr(np, name)(empty, initial=first))
        alike(getattr(wf, name)(empty, axis=0, initial=first), getattr(np, name)(empty, axis=0, initial=first))


def test_initial_is_one_of_the_exact_elements():
    assert wf.sum([1.0, -1e100], initial=1e100) == 1.0 and wf.sum(np.ones(3, "f4"), initial=1e-30) == 3
    assert wf.nanmax([math.nan], initial=-math.inf) == -math.inf and wf.min([[3, 1], [5, 7]], axis=1, initial=2) == [1, 2]
    assert math.isnan(wf.sum([1.0], initial=math.nan))
    for error, call in ((TypeError, lambda: wf.sum([1, 2], initial=0.5)), (OverflowError, lambda: wf.max(np.ones(2, "i1"), initial=300)),
                        (TypeError, lambda: wf.mean([1.0], initial=1)), (TypeError, lambda: wf.sum([1.0], initial="x")),
                        (OverflowError, lambda: wf.sum([2**62], initial=2**62))):
        with pytest.raises((error, ValueError)):
            call()
    bfloat16 = pytest.importorskip("ml_dtypes", reason="no ml_dtypes").bfloat16
    for value in (1.0, 1.00390625, 1.01171875, 3.389e38, -0.1):
        assert wf.max(np.array([-np.inf], bfloat16), initial=value) == bfloat16(value)


def test_norm_and_vecdot():
    a = np.random.default_rng(1).standard_normal((3, 4))
    for order in (1, 2, np.inf):
        alike(wf.norm(a, order, axis=1), np.linalg.norm(a, order, axis=1))
        alike(wf.norm(a[0], order), np.linalg.norm(a[0], order))
        alike(wf.norm(a.astype("i4"), order, axis=0, keepdims=True),
              np.linalg.norm(a.astype("i4"), order, axis=0, keepdims=True))
    alike(wf.norm(a), np.linalg.norm(a))
    alike(wf.vecdot(a, a), (a * a).sum(1))
    alike(wf.vecdot(a, a[0]), (a * a[0]).sum(1))
    alike(wf.vecdot(a[:, None], a[None]), (a[:, None] * a[None]).sum(-1))
    alike(wf.vecdot(a, a, axis=0), (a * a).sum(0))
    alike(wf.vecdot(a, a[:, :1], axis=0), (a * a[:, :1]).sum(0))
    alike(wf.vecdot(a[0], a[1]), a[0] @ a[1])
    assert wf.vecdot(np.array([100, 100], "i1"), np.array([100, 100], "i1")) == 20000
    with pytest.raises(ValueError, match="broadcast"):
        wf.vecdot(np.zeros((2, 4)), np.zeros((3, 4)))


@pytest.mark.parametrize("first", "? b h i q B H I Q e f d".split())
def test_vecdot_of_two_types(first):
    """Elements become what NumPy makes of both types, and results are as exact as of one."""
    rng = np.random.default_rng(5)
    for second in "? b h i q B H I Q e f d".split():
        a, b = (np.asarray(rng.standard_normal((3, 5, 7)) * 9).astype(code) if code in "efd" else
                rng.integers(0 if code.isupper() else -100, 100, (3, 5, 7)).astype(code) for code in (first, second))
        common = np.result_type(a, b)
        expected = wf.vecdot(a.astype(common), b.astype(common), axis=1)
        alike(wf.vecdot(a, b, axis=1), expected)
        assert wf.vecdot(a, b, axis=1).dtype == expected.dtype, second
        alike(wf.vecdot(a[:, ::-2, 3], b[:1, :3, 3]), wf.vecdot(a[:, ::-2, 3].astype(common), b[:1, :3, 3].astype(common)))


def test_vecdot_of_two_types_loses_nothing():
    edge = 2**53
    assert wf.vecdot(np.array([edge, -edge]), np.array([0.5, 0.25])) == edge / 4
    assert wf.vecdot([edge - 1, 1], [1.0, 1.0]) == edge and wf.vecdot([], np.zeros(0, "f4")) == 0
    assert wf.vecdot(np.array([1, 2], "u8"), np.array([-1, 1], "i8")) == 1
    for wide in (np.array([edge + 1]), np.array([-edge - 1]), np.array([2**64 - 1], "u8"), [edge + 1]):
        with pytest.raises(OverflowError, match=r"beyond 2\*\*53"):
            wf.vecdot(wide, np.ones(1))
    with pytest.raises(OverflowError, match=r"beyond 2\*\*53"):
        wf.vecdot(np.array([2**63], "u8"), np.array([1], "i8"))
    assert wf.vecdot(np.array([2**40], "i8"), np.array([2**22], "i4")) == 2**62  # both are i64



# ---- arrays of all kinds


def test_byte_orders_and_layouts():
    for dtype in DTYPES[1:]:
        a = numbers(dtype, (3, 5))
        swapped = a.astype(a.dtype.newbyteorder("S"))
        np.testing.assert_array_equal(wf.sum(swapped, axis=0), a.sum(0))
        assert wf.max(swapped) == a.max() and wf.sum(swapped[::-1, ::2]) == a[::-1, ::2].sum()
        assert wf.max(swapped, axis=0).dtype == a.dtype
    a = numbers("f8", 12)
    unaligned = np.frombuffer(b"x" + a.tobytes(), "u1")[1:].view("f8")
    assert wf.sum(unaligned) == a.sum() and wf.sum(np.broadcast_to(a, (1000, 12))) == 1000 * a.sum()
    read_only = a.copy()
    read_only.flags.writeable = False
    assert wf.sum(read_only) == a.sum()
    structured = np.zeros(4, [("x", "i1"), ("y", "f8")])
    structured["y"] = 2.5
    assert wf.sum(structured["y"]) == 10
    deep = np.ones((1,) * 20 + (3,))
    assert wf.sum(deep, axis=tuple(range(20))).shape == (3,)


@pytest.mark.parametrize("make, word", [
    (lambda: np.ma.masked_array([1, 2], [0, 1]), "masked"), (lambda: np.ones(2, complex), "not supported"),
    (lambda: np.array(["a"]), "not supported"), (lambda: np.array([None]), "not supported"),
    (lambda: np.array(["2020-01-01"], "M8[D]"), "datetime64"), (lambda: np.ones(2, "g"), "not supported"),
    (lambda: np.zeros(2, "i1,f8"), "not supported"), (lambda: "text", "cannot reduce str"),
    (lambda: {1: 2}, "cannot reduce dict"), (lambda: [1, "a"], "cannot reduce str"), (lambda: object(), "cannot reduce"),
    (lambda: [1j], "cannot reduce complex"), (lambda: [np.ones(2), np.ones(2)], "cannot reduce ndarray"),
    (lambda: [np.ones(1)], "cannot reduce ndarray"), (lambda: [1, {}], "cannot reduce dict")])
def test_what_is_refused_is_told(make, word):
    with pytest.raises(TypeError, match=word):
        wf.sum(make())


def test_subclasses_scalars_and_array_methods():
    class Mine(np.ndarray):
        pass

    class Holder:
        def __array__(self, *_):
            return np.arange(6.0).reshape(2, 3)

    assert wf.sum(np.arange(4.0).view(Mine)) == 6 and type(wf.sum(np.float32(2))) is np.float32
    got = wf.sum(Holder(), axis=0)
    assert isinstance(got, np.ndarray) and got.tolist() == [3, 5, 7]
    assert wf.sum(np.memmap(__file__, "u1", "r")) > 0


def test_bfloat16():
    ml_dtypes = pytest.importorskip("ml_dtypes", reason="no ml_dtypes")
    a = np.array([[1, 2.5], [3, 4]], ml_dtypes.bfloat16)
    assert wf.sum(a) == 10.5 and type(wf.sum(a)) is ml_dtypes.bfloat16
    rows = wf.max(a, axis=1)
    assert rows.dtype == a.dtype and rows.tolist() == [2.5, 4]
    assert wf.sum(a, dtype="f4").dtype == np.float32
    for order in "<>":
        swapped = a.astype(a.dtype.newbyteorder(order))
        assert wf.sum(swapped) == 10.5 and (wf.max(swapped[:, ::-1], axis=0) == [4, 3]).all()
    assert wf.sum(np.ones(3, "f4"), axis=0, dtype=ml_dtypes.bfloat16).dtype == a.dtype


def test_longs_and_lists():
    assert wf.sum(np.array([1, 2], np.longlong)).dtype == np.int64
    assert wf.sum([[1, 2], [3, 4]]) == 10 and wf.sum([]) == 0.0 and wf.sum([[], []]) == 0.0
    assert wf.sum([[1, 2], [3, 4]], axis=1, keepdims=True) == [[3], [7]]
    assert wf.sum([[], []], axis=1) == [0.0, 0.0] and wf.sum([[], []], axis=0) == []
    assert wf.sum((1, 2.5)) == 3.5 and wf.sum(range(5)) == 10 and wf.max(7) == 7
    assert wf.max([2**63, 1]) == 2**63 and wf.sum([np.float32(1), 2]) == 3
    with pytest.raises(ValueError, match="different lengths"):
        wf.sum([[1, 2], [3]])
    with pytest.raises(OverflowError):
        wf.sum([2**64])
    with pytest.raises(OverflowError, match="does not fit in i64"):
        wf.sum(np.full(3, 2**62))
