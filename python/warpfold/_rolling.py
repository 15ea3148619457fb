"""Reductions of a window that slides: what has left it leaves no trace."""

import copy
from array import array

from warpfold import _core


def _copy(rows):
    return array(rows.format, rows.tolist()) if isinstance(rows, memoryview) else copy.deepcopy(rows)


class Rolling:
    """Rolling(window, op, *, ddof=0, nan="propagate", threads=0)

    The exact op ("sum", "mean", "var", "max" ...) of the last window rows, for each row that comes in.

    Each result is what op gives for the rows of the window alone, rounded once: large numbers, infinities and NaN that
    have left the window change nothing.

    >>> Rolling(2, "mean").update([1e17, 1.0, 3.0, 5.0])
    [5e+16, 2.0, 4.0]
    >>> rolling = Rolling(3, "sum")
    >>> rolling.update([1.0, 2.0, 3.0, 4.0]), rolling.update([5.0])
    ([6.0, 9.0], [12.0])
    """

    def __init__(self, window, op, *, ddof=0, nan="propagate", threads=None):
        _core.reduce_windows(op, [0.0], window, ddof=ddof, nan=nan, threads=threads)  # refuses what is wrong
        self.window, self.op = window, op
        self._options = {"ddof": ddof, "nan": nan, "threads": threads}
        self._last = None

    def update(self, a):
        """The results of the windows that end in the rows of a, an array of a's kind: one for each row, but for the
        rows before the first whole window.  The rows of several calls follow each other."""
        if self._last is None:
            rows = a
        elif isinstance(a, (list, tuple, range)):
            rows = [*self._last, *a]
        else:
            rows = _core.join_arrays(self._last, a, 0)
        results = _core.reduce_windows(self.op, rows, self.window, **self._options)
        self._last = _copy(rows[max(0, len(rows) - self.window + 1):])
        return results
