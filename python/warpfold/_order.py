"""Quantiles: exact, by selection."""

from warpfold import _core


def quantile(a, q, axis=None, *, method="linear", keepdims=False, dtype=None, nan=None, threads=None, device=None):
    """The quantiles of the elements, or of those along axis; q: a number from 0 to 1, or a sequence of them.

    With a sequence, the results' first dimension is that of q.  A quantile lies at q * (n - 1) of the sorted elements,
    where q stands for its shortest decimal: 0.1 is one tenth.  Between two of them, method 'linear' is exact and rounded
    once, as is 'midpoint'; 'lower', 'higher' and 'nearest' are one of the two.

    >>> quantile([1, 2, 3, 4], 0.5)
    2.5
    >>> quantile([[1.0, 5.0], [3.0, 9.0]], [0.0, 1.0], axis=1)
    [[1.0, 3.0], [5.0, 9.0]]
    """
    is_one = not hasattr(q, "__len__") or getattr(q, "ndim", 1) == 0
    if getattr(q, "ndim", 1) > 1:
        raise ValueError("q must be a number or a sequence of numbers")
    qs = (float(q),) if is_one else tuple(float(each) for each in q)
    results = _core.quantile(a, qs, method=method, axis=axis, keepdims=keepdims, dtype=dtype, nan=nan, threads=threads,
                             device=device)
    return results[0] if is_one else results


def median(a, axis=None, *, keepdims=False, dtype=None, nan=None, threads=None, device=None):
    """The median of the elements, or of those along axis: of an even number, the exact mean of the two in the middle,
    rounded once.

    >>> median([3, 1, 2, 10])
    2.5
    """
    return quantile(a, 0.5, axis, keepdims=keepdims, dtype=dtype, nan=nan, threads=threads, device=device)
