"""One exact sum over the ranks of mpi4py, whose all-reduce adds up integers.

    mpirun -n 4 python3 mpi_sum.py a.npy b.npy c.npy ...

Every rank reads its share of the files; the bits are those of one process, whatever the number of ranks.
"""

import sys

import numpy
from mpi4py import MPI

import warpfold
import warpfold.mpi


def sum_of(paths, comm=MPI.COMM_WORLD):
    """The sum of all float64 of the .npy files, on every rank."""
    accumulator = warpfold.Accumulator("sum", "float64")
    for path in paths[comm.rank::comm.size]:
        accumulator.update(numpy.load(path, mmap_mode="r"))
    return warpfold.mpi.all_reduce(accumulator, comm).result()


if __name__ == "__main__":
    total = sum_of(sys.argv[1:])
    if MPI.COMM_WORLD.rank == 0:
        print(float(total).hex())
