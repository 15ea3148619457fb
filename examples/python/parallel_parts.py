"""Parts of an array, or of many files, reduced by many processes: each gives an Accumulator, and those are merged.

The result has the same bits for any number of processes and parts, in whatever order they end.
"""

from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import reduce
from operator import add

import numpy as np

import warpfold as wf


def part(op, block):
    """What a worker does: an Accumulator is pickled in 100 bytes to 2 KB, whatever the block's size."""
    return wf.Accumulator(op, block.dtype).update(block, threads=1)


def with_futures(op, blocks, workers=2, executor=ProcessPoolExecutor):
    """By concurrent.futures: merged as they come."""
    with executor(workers) as pool:
        parts = as_completed([pool.submit(part, op, block) for block in blocks])
        return reduce(add, (done.result() for done in parts))


def with_joblib(op, blocks, workers=2, **options):
    from joblib import Parallel, delayed

    return reduce(add, Parallel(n_jobs=workers, **options)(delayed(part)(op, block) for block in blocks))


if __name__ == "__main__":
    data = np.random.default_rng(1).standard_normal(100_000) * 10.0 ** np.arange(-50, 50).repeat(1000)
    for parts in (1, 7, 100):
        print(parts, repr(with_futures("sum", np.array_split(data, parts)).result()))
