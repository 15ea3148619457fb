"""Accumulators of all ranks, by whatever adds up integers over them."""

from array import array


def _check_ranks(accumulator, largest):
    """Has every rank learn of one that failed, or whose accumulator is another's kind: of each half of the settings the
    largest and the smallest are the same only if all are."""
    failure = accumulator if isinstance(accumulator, BaseException) else None
    settings = 0 if failure else accumulator.word_settings()
    halves = (settings >> 32, settings & 0xffffffff)
    words = array("q", [*halves, *(-half for half in halves), bool(failure)])
    largest(memoryview(words))
    if failure:
        raise failure
    if words[4]:
        raise RuntimeError("another rank failed before its accumulator was complete: its own exception says why")
    if tuple(words[:2]) != halves or tuple(words[2:4]) != tuple(-half for half in halves):
        raise ValueError("the ranks' accumulators are of different reductions, dtypes or shapes")


def all_reduce(accumulator, add, largest):
    """Makes accumulator that of all ranks' elements, with the bytes of those merged, and returns it.

    add, largest: functions that replace each int64 of a writable buffer by its sum, or its largest, over the ranks; every
    rank calls this with an accumulator of the same reduction, dtype and shape.  Of mpi4py:

        warpfold.all_reduce(total, lambda words: comm.Allreduce(MPI.IN_PLACE, words, MPI.SUM),
                            lambda words: comm.Allreduce(MPI.IN_PLACE, words, MPI.MAX))

    and for torch.distributed there is warpfold.torch.all_reduce.  Sums of integers do not depend on the order, so neither
    do the bits of the result, whatever algorithm is used.  ValueError on every rank
    if they differ; TypeError for prod, whose products do not add up.

    A rank that fails before this call would leave the others waiting.  Where it may, it passes its exception instead of an
    accumulator: that one is raised there, and a RuntimeError on every other rank.

        try:
            total = warpfold.Accumulator("sum").update(read_share())
        except Exception as error:
            total = error
        total = warpfold.all_reduce(total, add, largest)
    """
    _check_ranks(accumulator, largest)
    sums, extremes = accumulator.words()
    if len(sums):
        add(sums)
    if len(extremes):
        largest(extremes)
    indices = accumulator.index_words(extremes)
    if len(indices):
        largest(indices)
    return accumulator.take_words(sums, extremes, indices)
