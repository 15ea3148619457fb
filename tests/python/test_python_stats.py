"""stats() of groups: along axes, of what a mask selects, by keys; and the counts of accumulators: each is the oracle's."""

import itertools
import math
import random
from array import array

import pytest

wf = pytest.importorskip("warpfold", reason="the Python package was not built: no headers of Python")
from oracle import FLOATS, STATS, TYPES, Oracle
from samples import nbytes_of, sample
from tensors import Tensor
from test_python_ops import flat, number, same

REALS = {"mean", "var", "std", "min", "max"}


def nested(results):
    return flat(results.tolist() if hasattr(results, "tolist") else results)


def check(stats, type_name, groups, nan, positions=None):
    """groups: the elements of each; positions: where they were, of those that indices count."""
    members = {name: nested(values) for name, values in stats._asdict().items()}
    for i, elements in enumerate(groups):
        oracle = Oracle(type_name, elements)
        assert (members["count"][i], members["nans"][i]) == (oracle.count(nan), len(oracle.nans))
        for name in STATS:
            wide = None if type_name in FLOATS or name not in ("norm1", "norminf") else "f64"
            expected, got = oracle.reduce(name, nan=nan, result_type=wide), members[name][i]
            if expected == "WF_ERROR_EMPTY":
                same(got, math.nan if name in REALS else -1)
            elif name in ("argmin", "argmax"):
                assert got == (positions[i][expected[1]] if positions else expected[1]), (name, i)
            else:
                same(got, number(expected))


def safe(type_name, elements, nan):
    """Whether no member is an error: sums that fit, and smallest integers of something."""
    results = [Oracle(type_name, elements).reduce(name, nan=nan) for name in STATS]
    return "WF_ERROR_RANGE" not in results and (elements or type_name in FLOATS)


@pytest.mark.parametrize("type_name", TYPES)
@pytest.mark.parametrize("nan", ["propagate", "omit"])
def test_axes_masks_and_keys(type_name, nan):
    size, rng = nbytes_of(type_name), random.Random(f"{type_name} {nan}")
    shape = (3, 4, 5)
    data = sample(type_name, 60, "special" if type_name in FLOATS else "coarse", seed=11)
    tensor = Tensor(type_name, data, shape)
    at = {index: data[k * size:(k + 1) * size] for k, index in enumerate(itertools.product(*map(range, shape)))}
    mask = {index: rng.random() < 0.7 for index in at}
    where = memoryview(bytes(mask.values())).cast("?", shape)
    for axis, is_masked in ((0, False), ((0, 2), False), (-1, True), ((1, 0), True)):
        axes = {d % 3 for d in (axis if isinstance(axis, tuple) else (axis,))}
        groups = {}
        for index, element in at.items():
            kept = groups.setdefault(tuple(i for d, i in enumerate(index) if d not in axes), ([], []))
            if not is_masked or mask[index]:
                kept[0].append(element)
                kept[1].append(math.prod(shape[d] for d in axes) and position(index, shape, sorted(axes)))
        elements = [b"".join(group) for group, _ in groups.values()]
        if all(safe(type_name, each, nan) for each in elements):
            stats = wf.stats(tensor, axis, nan=nan, where=where if is_masked else None)
            check(stats, type_name, elements, nan, [places for _, places in groups.values()])
        else:
            with pytest.raises((OverflowError, ValueError)):
                wf.stats(tensor, axis, nan=nan, where=where if is_masked else None)
    ids = [rng.randrange(4) for _ in range(60)]
    places = [[i for i in range(60) if ids[i] == key] for key in range(4)]
    groups = [b"".join(data[i * size:(i + 1) * size] for i in group) for group in places]
    if all(safe(type_name, each, nan) for each in groups):
        check(wf.segment_stats(Tensor(type_name, data, (60,)), array("b", ids), nan=nan), type_name, groups, nan, places)


def position(index, shape, axes):
    place = 0
    for d in axes:
        place = place * shape[d] + index[d]
    return place


def test_shapes_and_settings():
    rows = [[1.0, 2.0, 6.0], [4.0, 4.0, math.nan]]
    kept = wf.stats(rows, 1, keepdims=True, ddof=1, nan="omit", dtype="float32")
    assert kept.var == [[7.0], [0.0]] and kept.count == [[3], [2]] and kept.argmax == [[2], [0]]
    assert wf.stats(rows, axis=(0, 1), nan="omit") == wf.stats(rows, nan="omit")  # numbers, as of all elements
    assert wf.stats(rows, axis=(), nan="omit").nans == [[0, 0, 0], [0, 0, 1]]
    assert wf.stats(rows, where=[True, False, True], nan="omit").count == 3
    assert wf.stats([[], []], axis=1).argmin == [-1, -1] and wf.stats([[], []], axis=1).count == [0, 0]
    assert wf.stats(5.0, keepdims=True).sum == 5.0
    table = wf.segment_stats([[1, 2], [3, 4], [5, 6]], [1, 0, 1], 2, axis=0)
    assert table.sum == [[3, 4], [6, 8]] and table.count == [[1, 1], [2, 2]] and table.argmax == [[1, 1], [2, 2]]
    assert wf.segment_stats([1.0, 2.0], [0, 7], 2, skip_bad_keys=True, fill=9.0).max == [1.0, 9.0]
    for call, word in ((lambda: wf.stats(rows, 1, ddof=1, correction=1), "one setting"),
                       (lambda: wf.stats(rows, 1, nan="error"), "NaN"), (lambda: wf.stats(rows, 2), "out of bounds"),
                       (lambda: wf.stats([[1], [2]], 1, where=[[True], [False]]), "undefined"),
                       (lambda: wf.segment_stats([1, 2], [0, 0], 2), "undefined")):
        with pytest.raises(ValueError, match=word):
            call()


def test_kinds():
    numbers = range(6)
    for made in (array("d", numbers), memoryview(array("d", numbers)).cast("B").cast("d", (2, 3))):
        stats = wf.stats(made, axis=0, nan="omit")
        assert {type(member) for member in stats} <= ({type(made)} if isinstance(made, memoryview) else {float, int})
        assert nested(stats.count) == ([2] * 3 if isinstance(made, memoryview) else [6])
    kept = wf.stats(array("d", numbers), keepdims=True, nan="omit")
    assert kept.nans == array("q", [0]) and kept.count == array("q", [6]) and kept.max == array("d", [5])
    np = pytest.importorskip("numpy", reason="no NumPy")
    a = np.array([[1.5, np.nan], [2.0, 4.0]], "f4")
    stats = wf.stats(a, axis=1, nan="omit")
    assert [member.dtype.name for member in stats] == ["int64"] * 2 + ["float32"] * 6 + ["int64"] * 3 + ["float32"] * 3
    assert stats.nans.tolist() == [1, 0] and type(wf.stats(a, axis=(0, 1)).nans) is np.int64


def test_counts_of_accumulators():
    rows = [[1.0, math.nan], [math.nan, math.nan], [2.0, 0.0]]
    for op in ("sum", "argmin", "prod", "any", "stats"):
        shaped = wf.Accumulator(op, shape=2, nan="omit").update(rows)
        assert (nested(shaped.result("count")), nested(shaped.result("nans"))) == ([2, 1], [1, 2])
        single = wf.Accumulator(op).update(rows[0])
        assert (single.result("count"), single.result("nans")) == (2, 1)
    assert wf.Accumulator("stats", nan="omit").update(rows).result() == wf.stats(rows, nan="omit")
    shaped = wf.Accumulator("stats", shape=3, nan="omit", fill=7).update(rows, axis=1).result()
    assert [nested(member)[1] for member in shaped] == [0, 2, 0.0, *[7] * 7, 0, 0.0, 0.0, 0.0]
    assert wf.Accumulator("stats").result().mean is None
    with pytest.raises(ValueError, match="unknown op"):
        wf.Accumulator("sum").result("elements")
