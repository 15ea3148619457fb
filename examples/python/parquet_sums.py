"""Exact results of a column of Parquet files, batch by batch, so that they need not fit memory; nulls are left out.

    parquet_sums.py COLUMN FILE...
"""

import sys

import pyarrow.parquet as pq

import warpfold as wf


def reduce(op, column, paths):
    """The files are one array, as at the shell; the batches, and the order of the files, change no bit of a sum."""
    total = None
    for path in paths:
        for batch in pq.ParquetFile(path).iter_batches(columns=[column]):
            values = batch.column(0).drop_null().to_numpy(zero_copy_only=False)
            total = total or wf.Accumulator(op, values.dtype)
            total.update(values)
    return total.result()


if __name__ == "__main__":
    column, *paths = sys.argv[1:]
    for op in ("sum", "mean", "max"):
        print(op, repr(reduce(op, column, paths)))
