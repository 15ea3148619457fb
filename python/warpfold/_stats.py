"""Everything about all elements in one pass, and about groups of them."""

from warpfold import _core
from warpfold._groups import _count
from warpfold._kinds import Stats, minus

_REALS = ("sum", "mean", "var", "std", "min", "max", "norm1", "norm2", "norminf")


def _stats(reduce, nan, dtype, ddof, fill=None):
    """The Stats of groups.  reduce(op, **settings): the results of an op."""
    found = {op: reduce(op, nan=nan, dtype=dtype, fill=fill, ddof=ddof if op in ("var", "std") else None) for op in _REALS}
    for op in ("argmin", "argmax"):
        found[op] = reduce(op, nan=nan, fill=-1 if fill is None else fill)
    every, seen = reduce("nonzero", nan="propagate"), reduce("nonzero", nan="omit")
    count, nans = reduce("elements"), minus(every, seen)  # a NaN is nonzero, unless it is left out
    omits = nan == "omit"
    return Stats(count=minus(count, nans) if omits else count, nans=nans, nonzero=seen if omits else every, **found)


def stats(a, axis=None, *, keepdims=False, where=None, dtype=None, ddof=None, correction=None, nan="propagate", threads=None,
          device=None):
    """count, nans, sum, mean, var, std, min, max, argmin, argmax, nonzero, norm1, norm2 and norminf, as a Stats.

    Of all elements in one pass; what is undefined, such as the mean of no elements, is None.  With axis, keepdims or where
    each is an array, what its function gives, in a pass of its own; what is undefined is NaN, of argmin and argmax -1,
    and of the min and max of integers a ValueError.

    >>> stats([1.0, 2.0, 6.0]).mean
    3.0
    >>> rows = stats([[1.0, 2.0], [float("nan"), 5.0]], axis=1, nan="omit")
    >>> rows.count, rows.nans, rows.mean
    ([2, 1], [0, 1], [1.5, 5.0])
    """
    common = {"threads": threads, "device": device}
    if axis is None and not keepdims and where is None:
        return _core.stats(a, dtype=dtype, ddof=ddof, correction=correction, nan=nan, **common)
    if ddof is not None and correction is not None:
        raise ValueError("ddof and correction are one setting: give one of them")

    def reduce(op, **settings):
        return _core.reduce_op(op, a, axis=axis, keepdims=keepdims, where=where, **settings, **common)

    return _stats(reduce, nan, dtype, correction if ddof is None else ddof)


def segment_stats(data, ids, num_segments=None, *, axis=0, dtype=None, nan="propagate", ddof=None, fill=None,
                  skip_bad_keys=False, threads=None, device=None):
    """stats of the elements with equal ids: a Stats of arrays.  Otherwise as segment_sum.

    >>> segment_stats([1.0, 2.0, 6.0], [0, 1, 1]).max
    [1.0, 6.0]
    """
    count = _count(ids) if num_segments is None else num_segments

    def reduce(op, **settings):
        return _core.reduce_by_labels(op, data, "keys", ids, axis=axis, count=count, skip_bad_keys=skip_bad_keys,
                                      threads=threads, device=device, **settings)

    return _stats(reduce, nan, dtype, ddof, fill)
