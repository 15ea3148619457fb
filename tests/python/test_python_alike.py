"""Random calls of NumPy and of the package: the same type, dtype, shape and numbers, or an error of the same class; but
for the differences that docs/python.md names, each of which is seen here."""

import collections
import random
import re
import warnings
from pathlib import Path

import pytest

wf = pytest.importorskip("warpfold", reason="the Python package was not built: no headers of Python")
np = pytest.importorskip("numpy", reason="no NumPy")

FLOATS, INTEGERS = ("f2", "f4", "f8"), ("i1", "i4", "i8", "u1", "u2", "u8")
SHAPES = [(), (1,), (0,), (4,), (2, 3), (0, 3), (3, 0), (2, 1, 3), (2, 3, 2)]
AXES = [None, 0, 1, -1, -2, 2, -4, (), (0,), (0, 1), (-1, 0), (0, 0), (1, -1), (0, 2, 1), (0, 5), 1.0, "x", [0]]
SUMS, BOUNDS, SPREADS = ("sum", "prod"), ("min", "max"), ("var", "std")
ARGS, TRUTHS = ("argmin", "argmax"), ("any", "all")
OPS = (*SUMS, "mean", *SPREADS, *BOUNDS, *ARGS, *TRUTHS, "count_nonzero")
NAN_OPS = tuple("nan" + name for name in (*SUMS, "mean", *SPREADS, *BOUNDS, *ARGS))


class Case:
    """A random call."""

    def __init__(self, rng, name):
        self.name, self.op = name, name.removeprefix("nan")
        self.dtype = rng.choice(("?", *FLOATS, *FLOATS, *INTEGERS))
        shape = rng.choice(SHAPES)
        numbers = [rng.choice([0, 1, 1, 2, 3]) for _ in range(int(np.prod(shape)))]
        if self.dtype in FLOATS:
            numbers = [np.nan if rng.random() < 0.1 else x - 1.5 for x in numbers]
        self.a = np.array(numbers, self.dtype).reshape(shape)
        self.options = {}
        if rng.random() < 0.8:
            self.options["axis"] = rng.choice(AXES[:len(AXES) if rng.random() < 0.3 else 5])
        if rng.random() < 0.4:
            self.options["keepdims"] = rng.choice([True, False])
        if self.op in (*SUMS, "mean", *SPREADS) and rng.random() < 0.3:
            self.options["dtype"] = rng.choice(["f4", "f8", "i8", "?", "nonsense", None, *FLOATS])
        if self.op in SPREADS and rng.random() < 0.5:
            self.options["ddof"] = rng.choice([0, 1, 2, 1.0, 5])
        if self.op not in ARGS and rng.random() < 0.3:
            self.options["where"] = self.mask(rng)
        if self.op in SUMS + BOUNDS and rng.random() < 0.3:
            self.options["initial"] = rng.choice([1, 2])
        if self.op != "count_nonzero" and rng.random() < 0.3:
            self.options["out"] = self.out(rng)
        if name.startswith("nan") or name == "count_nonzero":
            for extra in ("where", "initial"):
                self.options.pop(extra, None)

    def mask(self, rng):
        shape = rng.choice([self.a.shape, self.a.shape[-1:], (), (7,)])
        mask = np.array([rng.random() < 0.7 for _ in range(int(np.prod(shape)))]).reshape(shape)
        return rng.choice([mask, mask, True])

    def out(self, rng):
        """Of the results' shape and dtype, as NumPy has them, or of others."""
        options = {name: value for name, value in self.options.items() if name != "out"}
        made = outcome(getattr(np, self.name), self.a, options)
        if isinstance(made, Exception) or rng.random() < 0.2:
            return np.zeros((3, 3))
        return np.zeros(np.shape(made), rng.choice([np.asarray(made).dtype] * 3 + ["f8", "f4", "i8"]))

    def __repr__(self):
        return f"{self.name}({self.a!r}, {self.options})"


def outcome(function, a, options):
    options = {name: value.copy() if name == "out" else value for name, value in options.items()}
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            result = function(a, **options)
    except Exception as error:
        return error
    assert "out" not in options or result is options["out"]
    return result


def difference(case, theirs, ours):
    """The words of docs/python.md that name the difference of a call that is not alike; None: there must be none."""
    options, is_float = case.options, case.a.dtype.kind == "f"
    dtype, out = options.get("dtype"), options.get("out")
    gives_float = is_float or case.op in ("mean", *SPREADS)
    kind = np.dtype(dtype).kind if dtype not in (None, "nonsense") else None
    failed, raised = isinstance(theirs, Exception), isinstance(ours, Exception)
    if kind in ("i", "b") and raised and (gives_float or kind == "b"):
        return "floats are not made integers, nor sums bools"
    if dtype not in (None, "nonsense") and not raised and not failed and not case.op == "mean":
        return "elements are converted first"
    if case.op in ARGS and isinstance(options.get("axis"), tuple) and failed:
        return "`argmax` and so on of several axes"
    if case.op in BOUNDS and failed and "initial" not in options and not raised and "where" in options:
        return "needs `initial`"
    if case.op in BOUNDS and "where" in options and raised and not is_float and "undefined" in str(ours):
        return "needs `initial`"
    if case.name in ("nanargmin", "nanargmax") and failed and not raised:
        return "`argmax` and so on of several axes"
    if not case.a.ndim and options.get("axis") in (0, -1) and failed and not raised:
        return "`axis` 0 of a number"
    if case.op in SPREADS and case.a.size and options.get("ddof", 0) > 1 and not failed and not raised:
        return "`ddof` above the number of elements"
    if case.a.dtype.kind == "b" and options.get("initial") == 2 and raised:
        return "`initial` that the array's dtype cannot hold"
    if out is not None and failed != raised:
        return "`out` of another type"
    return None


def alike(case, theirs, ours):
    if isinstance(theirs, Exception) or isinstance(ours, Exception):
        expected = [each for each in (TypeError, ValueError, IndexError) if isinstance(theirs, each)]
        several = len(case.options) > 1 or 0 in case.a.shape  # things may be wrong: which one is told is not NumPy's choice
        return isinstance(ours, (TypeError, ValueError) if several else tuple(expected)) and isinstance(theirs, Exception)
    if case.op == "count_nonzero":
        theirs = np.int64(theirs) if isinstance(theirs, (int, np.integer)) else theirs
    if (type(theirs), theirs.dtype, theirs.shape) != (type(ours), ours.dtype, ours.shape):
        return False
    tolerance = max({"e": 1e-2, "f": 1e-5, "d": 1e-12}.get(each, 0) for each in (ours.dtype.char, case.a.dtype.char))
    return np.allclose(np.asarray(ours, float), np.asarray(theirs, float), rtol=tolerance, equal_nan=True)


def odd_arrays():
    """What a random array hardly ever is."""
    base = np.arange(24.0).reshape(2, 3, 4) - 5
    read_only = base.copy()
    read_only.flags.writeable = False
    unaligned = np.frombuffer(b"x" + base.tobytes(), "u1")[1:].view("f8").reshape(base.shape)
    fields = np.ones((2, 3), [("a", "i1"), ("b", "f4")])["b"]
    metadata = np.ones((3, 2), np.dtype("f8", metadata={"a": 1}))
    return [base[::-1, :, ::-1], np.broadcast_to(base[:1], (5, 3, 4)), np.broadcast_to(np.float32(3), (4, 2)),
            np.asfortranarray(base), base.astype(">f8"), base.astype(">i4"), base.astype(">f2")[:, ::2], read_only,
            unaligned, fields, metadata, base > 0, np.ones((1,) * 32), np.zeros((3, 0, 2), "i4"), np.float32(2.5),
            np.array(5, "i2"), np.True_, base.astype(np.intc)[1], base.astype("longlong"), np.rot90(base, axes=(0, 2))]


ODD_OPTIONS = [{"axis": np.int8(0)}, {"axis": True}, {"axis": (0, 0)}, {"axis": 99}, {"axis": -1, "keepdims": 1}]
ODD_MASKS = [True, np.zeros((1, 4), bool), np.ones((7, 1, 1), bool), [True, False, True, False], np.ones(4)]


def options_of(name, a):
    yield from [{}, {"axis": ()}, {"axis": 0}, {"axis": tuple(range(a.ndim))}, *ODD_OPTIONS]
    if name in ("sum", "mean", "prod", "any"):
        yield from ({"where": mask, **axis} for mask in ODD_MASKS for axis in ({}, {"axis": -1}))
    if name in ("sum", "mean"):
        yield from ({"dtype": dtype} for dtype in ("M8[s]", "V8", np.float64))
        yield from ({"out": np.zeros(1)}, {"out": np.zeros((2, 2)), "axis": 0})


@pytest.mark.parametrize("name", OPS)
def test_odd_arrays(name):
    seen = 0
    for a in odd_arrays():
        for options in options_of(name, a):
            if name in ARGS and isinstance(options.get("axis"), tuple) or not a.ndim and "axis" in options:
                continue  # differences that random calls show
            theirs, ours = (outcome(getattr(library, name), a, options) for library in (np, wf))
            if isinstance(theirs, Exception) or isinstance(ours, Exception):
                same = isinstance(ours, (TypeError, ValueError)) and isinstance(theirs, (TypeError, ValueError))
            else:
                theirs, ours = np.asarray(theirs), np.asarray(ours)
                same = (theirs.dtype, theirs.shape) == (ours.dtype, ours.shape) and np.allclose(
                    ours.astype(float), theirs.astype(float), rtol=1e-2 if "e" in (a.dtype.char, ours.dtype.char) else 1e-5,
                    equal_nan=True)
            assert same, (a, options, theirs, ours)
            seen += 1
    assert seen > 100


@pytest.mark.parametrize("dtype", ["O", "M8[s]", "m8[s]", "c8", "c16", "g", "S3", "U2", "V8", [("a", "i4")]])
def test_other_elements_are_refused(dtype):
    for a in (np.zeros(3, dtype), np.zeros((2, 0), dtype), np.zeros((), dtype)):
        with pytest.raises(TypeError, match="not supported"):
            wf.sum(a)
        with pytest.raises(TypeError, match="not supported"):
            wf.max(np.ones(3), out=a)


def test_a_mask_that_is_no_bool_and_no_results_along_an_empty_axis():
    """More rows of the table of differences."""
    with pytest.raises(TypeError, match="where must be bool"):
        wf.sum([1.0, 2.0], where=1)
    assert wf.min(np.zeros((0, 0)), axis=0).shape == (0,) == wf.argmax(np.zeros((0, 0)), axis=1).shape
    assert type(wf.sum(np.matrix([[1.0, 2.0]]), axis=0)) is np.ndarray


def test_random_calls():
    rng, seen = random.Random("alike"), collections.Counter()
    for i in range(6000):
        case = Case(rng, rng.choice(OPS + NAN_OPS))
        theirs, ours = (outcome(getattr(library, case.name), case.a, case.options) for library in (np, wf))
        if alike(case, theirs, ours):
            seen["error" if isinstance(ours, Exception) else "result"] += 1
            continue
        why = difference(case, theirs, ours)
        assert why, (i, case, theirs, ours)
        seen[why] += 1
    text = (Path(__file__).resolve().parent.parent.parent / "docs" / "python.md").read_text()
    table = re.sub(r"\s+", " ", text)
    assert all(why in table for why in seen if why not in ("error", "result")), seen
    assert seen["result"] > 3000 and seen["error"] > 500, seen
