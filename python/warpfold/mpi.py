"""For mpi4py: accumulators of all ranks, and arrays element by element; the same bits for any number and order of ranks.

>>> from mpi4py import MPI; import warpfold.mpi  # doctest: +SKIP
>>> warpfold.mpi.all_reduce(warpfold.Accumulator("sum").update(my_share), MPI.COMM_WORLD).result()  # doctest: +SKIP
"""

from warpfold import _ranks

__all__ = ["all_reduce", "all_reduce_array"]


class _Ranks:
    """What _ranks asks of a communicator, of NumPy's arrays."""

    block_nbytes = 4 << 20
    whole_nbytes = 4 << 10
    waits = True

    def __init__(self, comm):
        import numpy
        from mpi4py import MPI

        self.comm, self.mpi, self.numpy = comm, MPI, numpy
        self.count, self.rank = comm.Get_size(), comm.Get_rank()

    def add(self, words):
        self.comm.Allreduce(self.mpi.IN_PLACE, words, self.mpi.SUM)

    def largest(self, words):
        self.comm.Allreduce(self.mpi.IN_PLACE, words, self.mpi.MAX)

    def exchange(self, send, receive):
        return self.comm.Ialltoall(send.view(self.numpy.uint8), receive.view(self.numpy.uint8)).Wait

    def gather(self, send, receive):
        return self.comm.Iallgather(send.view(self.numpy.uint8), receive.view(self.numpy.uint8)).Wait

    def share(self, pieces):
        return self.comm.Iallgather(self.mpi.IN_PLACE, pieces.view(self.numpy.uint8)).Wait

    def contiguous(self, array):
        return self.numpy.asarray(array, order="C")

    def empty(self, count, dtype):
        return self.numpy.empty(count, dtype)


def all_reduce(accumulator, comm):
    """warpfold.all_reduce over a communicator of mpi4py: merges the accumulators of all ranks into accumulator."""
    ranks = _Ranks(comm)
    return _ranks.all_reduce(accumulator, ranks.add, ranks.largest)


def all_reduce_array(array, comm, op="sum", *, dtype=None, nan="propagate", ddof=None):
    """A new array: each element is op of the ranks' elements at the same place, in the order of the ranks, rounded once.

    A sum is exact, so its bits depend neither on the order of the ranks nor on the algorithm of the MPI library.  array: a
    NumPy array of the same shape and dtype on all ranks (otherwise every rank gets a ValueError); op, dtype, nan and ddof
    are as in a reduction along an axis.  A rank that failed before may pass its exception instead, as with
    warpfold.all_reduce; every rank learns of every rank's error.  Moves as many bytes as a ring, and needs 16 MiB.
    """
    return _ranks.all_reduce_array(array, _Ranks(comm), op, dtype=dtype, nan=nan, ddof=ddof)
