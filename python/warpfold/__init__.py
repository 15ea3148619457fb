"""Exact, bit-reproducible reductions of arrays.

>>> import warpfold as wf
>>> wf.sum([1e100, 1.0, -1e100])
1.0

Functions have the names, arguments and results of NumPy's; docs/python.md tells where they differ, and why.
"""

from warpfold import _core
from warpfold._core import (  # noqa: F401
    Accumulator, __version__, all, any, argmax, argmin, count_nonzero, max, mean, min, nanargmax, nanargmin, nanmax,
    nanmean, nanmin, nanprod, nanstd, nansum, nanvar, norm, prod, std, sum, var, vecdot)
from warpfold._groups import (  # noqa: F401
    bincount, index_add, reduceat, segment_all, segment_any, segment_argmax, segment_argmin, segment_count_nonzero,
    segment_max, segment_mean, segment_min, segment_norm, segment_prod, segment_std, segment_sum, segment_var)
from warpfold._kinds import AxisError, Stats  # noqa: F401
from warpfold._order import median, quantile  # noqa: F401
from warpfold._ranks import all_reduce  # noqa: F401
from warpfold._rolling import Rolling  # noqa: F401
from warpfold._simulator import KernelRun, run_kernel  # noqa: F401
from warpfold._stats import segment_stats, stats  # noqa: F401

__all__ = [name for name, value in globals().items() if not name.startswith("_") and (callable(value))]
