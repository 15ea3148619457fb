"""Accumulators of all ranks, by whatever adds up integers over them."""


def all_reduce(accumulator, add, largest):
    """Makes accumulator that of all ranks' elements, with the bytes of those merged, and returns it.

    add, largest: functions that replace each int64 of a writable buffer by its sum, or its largest, over the ranks; every
    rank calls this with an accumulator of the same reduction, dtype and shape.  Of mpi4py:

        warpfold.all_reduce(total, lambda words: comm.Allreduce(MPI.IN_PLACE, words, MPI.SUM),
                            lambda words: comm.Allreduce(MPI.IN_PLACE, words, MPI.MAX))

    and for torch.distributed there is warpfold.torch.all_reduce.  Sums of integers do not depend on the order, so neither
    do the bits of the result, whatever algorithm is used.  TypeError for prod, whose products do not add up.
    """
    sums, extremes = accumulator.words()
    if len(sums):
        add(sums)
    if len(extremes):
        largest(extremes)
    indices = accumulator.index_words(extremes)
    if len(indices):
        largest(indices)
    return accumulator.take_words(sums, extremes, indices)
