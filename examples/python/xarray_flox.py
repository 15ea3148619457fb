"""Exact reductions of xarray: whole dimensions by reduce(), groups by an aggregation of flox.

The results have the same bits for any order of the elements.
"""

import numpy as np
import xarray as xr
from flox import Aggregation
from flox.xarray import xarray_reduce

import warpfold as wf


def exact(op):
    """An Aggregation for flox, by its signature for engines: group_idx counts the group of each position of the axis."""
    segment = getattr(wf, f"segment_{op}")

    def grouped(group_idx, array, *, axis=-1, size=None, fill_value=None, dtype=None, **_):
        return segment(np.ascontiguousarray(array), group_idx, size, axis=axis % array.ndim)

    return Aggregation(f"exact_{op}", numpy=grouped, chunk=None, combine=None)


def groupby(array, labels, op="sum"):
    """op of the groups of labels, a DataArray along one of array's dimensions or all of them."""
    return xarray_reduce(array, labels, func=exact(op))


if __name__ == "__main__":
    data = xr.DataArray([[1e100, 2.0, -1e100], [1.0, 3.0, 5.0]], dims=("x", "time"))
    months = xr.DataArray(["jan", "feb", "jan"], dims="time", name="month")
    print(data.reduce(wf.sum, "time").values, groupby(data, months).values)
