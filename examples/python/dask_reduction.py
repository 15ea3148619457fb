"""Exact reductions of dask arrays: each chunk becomes an Accumulator, and dask merges those in whatever tree it likes.

The result has the same bits for any chunks, any split_every and any number of workers.
"""

from functools import reduce
from operator import add

import dask.array as da
import numpy as np

import warpfold as wf


def exact(op, array, ddof=0, split_every=None):
    """op ("sum", "mean", "var", "std", "norm2" ...) of all elements of floats, as a dask array of no dimensions."""

    def boxed(accumulator, ndim):  # dask joins arrays: one object in as many dimensions as the chunk has
        box = np.empty((1,) * ndim, object)
        box[...] = accumulator
        return box

    def chunk(block, axis, keepdims, computing_meta=False):
        if computing_meta:  # dask asks for the dtype, with an empty block
            return block
        return boxed(wf.Accumulator(op, block.dtype, ddof=ddof).update(block), array.ndim)

    def combine(boxes, axis, keepdims, computing_meta=False):
        return boxes if computing_meta else boxed(reduce(add, boxes.ravel()), array.ndim)

    def aggregate(boxes, axis, keepdims, computing_meta=False):
        return boxes if computing_meta else np.asarray(reduce(add, boxes.ravel()).result())

    return da.reduction(array, chunk, aggregate, combine=combine, split_every=split_every, concatenate=True,
                        dtype=array.dtype, meta=np.empty((), array.dtype))


if __name__ == "__main__":
    data = np.random.default_rng(1).standard_normal(10_000) * 10.0 ** np.arange(-20, 20).repeat(250)
    for chunks in (100, 999, 10_000):
        print(chunks, repr(float(exact("sum", da.from_array(data, chunks=chunks)).compute())))
