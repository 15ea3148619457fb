"""Accumulators and arrays of all ranks, by whatever adds up integers and moves bytes between them."""

import hashlib
import math
from array import array

from warpfold import _core

_MANY_RESULTS = 32  # from so many on, it is worth another message to leave zeros out


def _attempt(function, *arguments):
    """What it gives, and the exception: one of them is None."""
    try:
        return function(*arguments), None
    except Exception as error:
        return None, error


def _agree(failure, settings, largest, unlike=""):
    """Has every rank learn of one that failed, or whose settings, of 64 bits, are another's: of each half the largest and
    the smallest are the same only if all are."""
    halves = (settings >> 32, settings & 0xffffffff)
    words = array("q", [*halves, *(-half for half in halves), bool(failure)])
    largest(memoryview(words))
    if failure:
        raise failure
    if words[4]:
        raise RuntimeError("another rank failed: its own exception says why")
    if tuple(words[:2]) != halves or tuple(words[2:4]) != tuple(-half for half in halves):
        raise ValueError(unlike)


# ---- accumulators


def _words(accumulator):
    if isinstance(accumulator, BaseException):
        raise accumulator
    return accumulator.word_settings(), *accumulator.words()


def _add_results(sums, results, add, largest):
    """The words of many results: only those places of a result's words are sent where any rank has more than zeros.

    Behind the first words, which are of all results together, each result has as many."""
    head = sums[:2]
    each = (len(sums) - len(head)) // results
    columns = [sums[len(head) + place::each] for place in range(each)]
    used = array("q", [_core.any(column) for column in columns])
    largest(memoryview(used))
    columns = [column for column, is_used in zip(columns, used) if is_used]
    packed = array("q", bytes(8 * (len(head) + results * len(columns))))
    places = memoryview(packed)
    parts = [places[:len(head)], *(places[len(head) + results * i:][:results] for i in range(len(columns)))]
    for part, column in zip(parts, (head, *columns)):
        part[:] = column
    add(places)
    for part, column in zip(parts, (head, *columns)):
        column[:] = part


def all_reduce(accumulator, add, largest):
    """Makes accumulator that of all ranks' elements, with the bytes of those merged, and returns it.

    add, largest: functions that replace each int64 of a writable buffer by its sum, or its largest, over the ranks; every
    rank calls this with an accumulator of the same reduction, dtype and shape.  warpfold.mpi.all_reduce gives those of
    mpi4py, warpfold.torch.all_reduce those of torch.distributed.  Sums of integers do not depend on the order, so neither
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
    words, failure = _attempt(_words, accumulator)
    settings, sums, extremes = words or (0, None, None)
    _agree(failure, settings, largest, "the ranks' accumulators are of different reductions, dtypes or shapes")
    results = math.prod(accumulator.shape)
    if results >= _MANY_RESULTS:
        _add_results(sums, results, add, largest)
    elif len(sums):
        add(sums)
    if len(extremes):
        largest(extremes)
    indices = accumulator.index_words(extremes)
    if len(indices):
        largest(indices)
    return accumulator.take_words(sums, extremes, indices)


# ---- arrays, element by element


class _Exchange:
    """An array in blocks: of each, every rank gets one piece from all, reduces it, and hands the results to all.

    ranks: their count; exchange(send, receive), which sends piece i to rank i and receives one of each; share(send,
    receive), which sends one piece to all; both of bytes, of equal pieces; largest, as all_reduce's; contiguous(array) and
    empty(count, dtype), arrays of the library that are where the collectives need them; block_nbytes.
    """

    def __init__(self, array, ranks, op, options):
        if isinstance(array, BaseException):
            raise array
        self.ranks, self.op, self.options = ranks, op, options
        flat = ranks.contiguous(array)
        self.data, self.shape = flat.reshape(-1), tuple(flat.shape)
        self.count = len(self.data)
        even = -(-self.count // ranks.count)
        self.piece = max(1, min(even, ranks.block_nbytes // (ranks.count * flat.itemsize)))
        self.rows = ranks.empty(self.piece * ranks.count, flat.dtype)
        self.padded = ranks.empty(self.piece * ranks.count, flat.dtype)
        none = self._reduce(0)
        self.results = ranks.empty(self.count, none.dtype)
        self.spare = ranks.empty(self.piece * ranks.count, none.dtype)
        alike = repr((ranks.count, op, sorted(options.items(), key=str), str(flat.dtype), self.shape))
        self.settings = int.from_bytes(hashlib.sha256(alike.encode()).digest()[:8], "big")

    def _reduce(self, piece):
        rows = self.rows[:self.ranks.count * piece].reshape(self.ranks.count, piece)
        return _core.reduce_op(self.op, rows, axis=0, **self.options)

    def _full(self, part, spare):
        """Where what is sent for, or received as, part is: there, or in as much memory as equal pieces need."""
        piece = -(-len(part) // self.ranks.count)
        return piece, part if len(part) == piece * self.ranks.count else spare[:piece * self.ranks.count]

    def block(self, begin, failure):
        """Whatever the own piece gives, the others get theirs; returns what failed."""
        part, results = (x[begin:begin + self.piece * self.ranks.count] for x in (self.data, self.results))
        piece, send = self._full(part, self.padded)
        if send is not part:
            send[:len(part)] = part
            send[len(part):] = 0
        self.ranks.exchange(send, self.rows[:len(send)])
        mine, error = _attempt(self._reduce, piece)
        receive = self._full(results, self.spare)[1]
        self.ranks.share(receive[:piece] if error else mine, receive)
        if receive is not results:
            results[:] = receive[:len(results)]
        return failure or error


def all_reduce_array(array, ranks, op, **options):
    """What warpfold.mpi and warpfold.torch have under this name; ranks: as _Exchange's."""
    job, failure = _attempt(_Exchange, array, ranks, op, options)
    _agree(failure, 0 if failure else job.settings, ranks.largest,
           "the ranks' arrays are of different shapes or dtypes, or are to be reduced differently")
    for begin in range(0, job.count, job.piece * ranks.count):
        failure = job.block(begin, failure)
    _agree(failure, 0, ranks.largest)
    return job.results.reshape(job.shape)
