"""Reductions of elements that belong together by a key or by their place: each result is exact, whatever the order."""

from array import array

from warpfold import _core

_OPS = ("sum", "prod", "min", "max", "argmin", "argmax", "mean", "var", "std", "any", "all")
_NORMS = {1: "norm1", 2: "norm2", float("inf"): "norminf"}


def _count(ids):
    """One more than the largest key."""
    return int(_core.max(ids)) + 1 if len(ids) else 0


def _segment(op, data, ids, num_segments, axis, options):
    count = _count(ids) if num_segments is None else num_segments
    skip = options.pop("skip_bad_keys", None)
    return _core.reduce_by_labels(op, data, "keys", ids, axis=axis, count=count, skip_bad_keys=skip, **options)


def _make_segment(name, op):
    def segment(data, ids, num_segments=None, *, axis=0, **options):
        return _segment(op, data, ids, num_segments, axis, options)

    segment.__name__ = segment.__qualname__ = f"segment_{name}"
    segment.__doc__ = f"""{name} of the elements with equal ids.

    ids has an integer for each position of axis, from 0 to num_segments - 1, in any order; num_segments: one more
    than the largest.  An id outside is an IndexError, or left out with skip_bad_keys=True.  A segment without a value
    gives fill; without one, NaN where results are floats, otherwise ValueError.  Further options: dtype, nan, ddof,
    fill, skip_bad_keys, out, threads, device.
    """
    return segment


segment_sum = _make_segment("sum", "sum")
segment_prod = _make_segment("prod", "prod")
segment_min = _make_segment("min", "min")
segment_max = _make_segment("max", "max")
segment_argmin = _make_segment("argmin", "argmin")
segment_argmax = _make_segment("argmax", "argmax")
segment_mean = _make_segment("mean", "mean")
segment_var = _make_segment("var", "var")
segment_std = _make_segment("std", "std")
segment_any = _make_segment("any", "any")
segment_all = _make_segment("all", "all")
segment_count_nonzero = _make_segment("count_nonzero", "count_nonzero")


def segment_norm(data, ids, num_segments=None, *, ord=2, axis=0, **options):
    """norm of the elements with equal ids; ord is 1, 2 or inf.  Otherwise as segment_sum."""
    if ord not in _NORMS:
        raise ValueError(f"ord must be 1, 2 or inf, not {ord!r}")
    return _segment(_NORMS[ord], data, ids, num_segments, axis, options)


def bincount(x, weights=None, minlength=0, *, threads=None, device=None):
    """How often each integer from 0 on occurs in x; with weights, the exact sum of the weights of each.

    The length is one more than the largest integer, or minlength if that is more.

    >>> bincount([1, 1, 3])
    [0, 2, 0, 1]
    >>> bincount([0, 1, 0], weights=[1e100, 2.0, -1e100])
    [0.0, 2.0]
    """
    if minlength < 0:
        raise ValueError("minlength must not be negative")
    dtype = None if weights is None else "float64"

    def reduce(count):
        return _core.reduce_by_labels("sum", weights, "keys", x, count=count, dtype=dtype, threads=threads, device=device)

    try:
        return reduce(minlength or max(_count(x), 0))
    except IndexError:  # found without reading x twice where minlength suffices
        if len(x) and _core.min(x) < 0:
            raise ValueError("x must not have negative elements") from None
        return reduce(max(_count(x), minlength))


def reduceat(op, a, indices, axis=0, *, dtype=None, out=None, nan=None, ddof=None, fill=None, threads=None,
             device=None):
    """op ("sum", "max" ...) of a[indices[i]:indices[i + 1]] for each i; the last one goes to the end.

    The indices must not fall, and equal ones make an empty segment.

    >>> reduceat("sum", [1, 2, 3, 4], [0, 1, 3])
    [1, 5, 4]
    """
    return _core.reduce_by_labels(op, a, "starts", indices, axis=axis, dtype=dtype, out=out, nan=nan, ddof=ddof,
                                  fill=fill, threads=threads, device=device)


def index_add(a, dim, index, source, *, threads=None, device=None):
    """A new array: a, to whose slice index[i] along dim the slice i of source has been added, for every i.

    Each element is the exact sum of all that comes together there, rounded once: no order of the additions is seen.

    >>> index_add([1.0, 1.0], 0, [0, 0, 1], [1e100, -1e100, 2.0])
    [1.0, 3.0]
    """
    joined = _core.join_arrays(a, source, dim)
    count = _core.shape_of(a)[dim]
    keys = _core.join_arrays(array("q", range(count)), array("q", index), 0)
    return _core.reduce_by_labels("sum", joined, "keys", keys, axis=dim, count=count, threads=threads, device=device)
