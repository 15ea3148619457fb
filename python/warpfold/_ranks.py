"""Accumulators and arrays of all ranks, over anything that adds up integers and moves bytes between ranks."""

import hashlib
import math
from array import array

from warpfold import _core

_MANY_RESULTS = 32  # from so many on, it is worth another message to leave zeros out
_HEAD_WORDS = 10
_WORDS_BESIDE = 118  # all words of single accumulators, but for squares of f64


def _attempt(function, *arguments):
    """What it gives, and the exception: one of them is None."""
    try:
        return function(*arguments), None
    except Exception as error:
        return None, error


def _check(head, unlike):
    """Raises what the sums of _agree's words tell."""
    failures, count = head[:2]
    if failures:
        raise RuntimeError("another rank failed: its own exception says why")
    if any(count * squares != total * total for total, squares in zip(head[2:6], head[6:_HEAD_WORDS])):
        raise ValueError(unlike)


def _agree(failure, settings, add, unlike="", words=()):
    """Has every rank learn of one that failed, or whose settings, of 64 bits, are another's; gives the sums of the words, at
    most _WORDS_BESIDE of them, by the same message.

    Quarters of the settings are added up, and their squares: all are alike just if the count times the sum of squares is the
    square of the sum (Cauchy and Schwarz), so that all ranks come to the same answer."""
    quarters = [settings >> shift & 0xffff for shift in (0, 16, 32, 48)]
    sent = array("q", [bool(failure), 1, *quarters, *(quarter * quarter for quarter in quarters), *words])
    sent.extend([0] * (_HEAD_WORDS + _WORDS_BESIDE - len(sent)))  # of one length, whatever a rank has
    add(memoryview(sent))
    if failure:
        raise failure
    _check(sent, unlike)
    return sent[_HEAD_WORDS:_HEAD_WORDS + len(words)]


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
    """Merges the accumulators of all ranks into accumulator, on every rank, and returns it; its saved bytes are those of merge.

    add, largest: functions that replace each int64 of a writable buffer by the sum, or the maximum, over the ranks.
    warpfold.mpi.all_reduce passes those of mpi4py, warpfold.torch.all_reduce those of torch.distributed.  Every rank calls
    this with an accumulator of the same reduction, dtype and shape; if they differ, every rank gets a ValueError.  Sums of
    integers do not depend on their order, so neither do the bits of the result, whatever algorithm is used.  TypeError for
    prod, since products do not add up.

    A rank that failed before this call would leave the others waiting.  So it passes its exception instead of an
    accumulator: the exception is raised on that rank, and a RuntimeError on every other rank.

        try:
            total = warpfold.Accumulator("sum").update(read_share())
        except Exception as error:
            total = error
        total = warpfold.all_reduce(total, add, largest)
    """
    words, failure = _attempt(_words, accumulator)
    settings, sums, extremes = words or (0, (), ())
    beside = sums if len(sums) <= _WORDS_BESIDE else ()
    totals = _agree(failure, settings, add, "the ranks' accumulators are of different reductions, dtypes or shapes", beside)
    results = math.prod(accumulator.shape)
    if len(beside):
        sums[:] = totals
    elif results >= _MANY_RESULTS:
        _add_results(sums, results, add, largest)
    elif len(sums):
        add(sums)
    if len(extremes):
        largest(extremes)
    indices = accumulator.index_words(extremes)
    if len(indices):
        largest(indices)
    return accumulator.take_words(sums, extremes, indices)


# ---- results of arrays, in the memory of a GPU


def _words_there(accumulator, arrays, words, exception, axis):
    """Leaves the words of all arrays; or of none, for the other ranks, and gives the exception."""
    results = max(math.prod(accumulator.shape), 1)

    def leave():
        first = 0
        for i, each in enumerate(arrays):
            accumulator.device_words(each, words, first, i > 0, axis)
            first += math.prod(each.shape) // results

    failure = exception or _attempt(leave)[1]
    if failure:
        words[:] = 0
        words[0] = 1
    return failure


_UNLIKE_THERE = "the ranks' arrays are of different dtypes, or are to be reduced differently"


def reduce_there(accumulator, arrays, ranks, exception=None, axis=None):
    """The words of all ranks' arrays, in the memory of a GPU.  Nothing is waited for, unless there is an axis: then the
    accumulator has a shape, by which messages are long, and whether all ranks have that one is asked first, by a short one.

    accumulator: of the reduction, dtype and shape, without elements.  ranks: words(count), int64 zeros there; add_there and
    largest_there, the collectives in place; add, that of _agree.  exception: why this rank has no arrays."""
    if axis is not None:
        _agree(exception, accumulator.word_settings(), ranks.add, _UNLIKE_THERE + ", or their results have other shapes")
    parts = accumulator.device_word_counts()
    words = ranks.words(sum(parts))
    failure = _words_there(accumulator, arrays, words, exception, axis)
    sums, extremes, indices = words.split(parts)
    has_largest, has_indices = len(accumulator.words()[1]), len(accumulator.index_words(accumulator.words()[1]))
    ranks.add_there(sums)
    if has_largest:
        own = extremes.clone()
        ranks.largest_there(extremes)
        if has_indices:
            accumulator.device_settle(words, own)
            ranks.largest_there(indices)
    if failure:
        raise failure
    return words


def take_from_there(accumulator, words):
    """Makes accumulator that of all ranks' words, which have been brought to the host: where a result may be an error."""
    words = array("q", words)
    _check(words, _UNLIKE_THERE)
    sums, extremes = accumulator.words()
    indices = accumulator.index_words(extremes)
    parts = accumulator.device_word_counts()
    places = (_HEAD_WORDS, parts[0], sum(parts[:2]))
    taken = [words[place:place + len(part)] for place, part in zip(places, (sums, extremes, indices))]
    return accumulator.take_words(*taken)


# ---- arrays, element by element


_dtypes = {}  # of results, by what they depend on


class _Exchange:
    """An array, in one of two ways.  In blocks: of each, every rank gets one piece from all, reduces it, and hands the results
    to all, the bytes of a ring.  Or every rank gets all of it from all others, and reduces it itself: one message.

    ranks: their count, and which of them this is (rank); exchange(send, receive), which sends piece i to rank i and receives
    one of each; share(pieces), which sends piece rank to all and receives the others in their places; gather(send, receive),
    which sends all of it to all; of bytes, of equal pieces, and each gives what to call before what it writes is read or what
    it sends is written; add, as all_reduce's; contiguous(array) and empty(count, dtype), arrays of the library that are where
    the collectives need them; block_nbytes; whole_nbytes: of the longest arrays of which every rank gets all; overlaps, which
    is set: whether there are several blocks; waits: whether every rank is to learn of a failure of any.  Otherwise, where
    floats are the results, nothing is waited for, and what a rank that failed would have given is NaN.
    """

    def __init__(self, array, ranks, op, options):
        if isinstance(array, BaseException):
            raise array
        self.ranks, self.op, self.options = ranks, op, options
        flat = ranks.contiguous(array)
        self.data, self.shape = flat.reshape(-1), tuple(flat.shape)
        self.count, self.dtype = len(self.data), flat.dtype
        self.kind = ranks.count, op, self.dtype, *options.items()
        result = _dtypes.get(self.kind) or _dtypes.setdefault(self.kind, self._reduce(self.data[:0]).dtype)
        self.waits = ranks.waits or not result.is_floating_point or options.get("nan") == "error"
        self.is_whole = self.count * flat.itemsize <= ranks.whole_nbytes
        self.results = ranks.empty(self.count, result)
        ranks.overlaps = False
        if self.is_whole:
            self.rows = ranks.empty(self.count * ranks.count, self.dtype)
        else:
            self._make_blocks(flat.itemsize)

    def _make_blocks(self, itemsize):
        ranks, even = self.ranks, self._padded(self.count) // self.ranks.count
        self.block = max(1, min(even, ranks.block_nbytes // (ranks.count * itemsize))) * ranks.count
        ranks.overlaps = self.count > self.block
        odd = self._padded(self.count % self.block)
        self.rows = [ranks.empty(self.block, self.dtype) for _ in range(1 + ranks.overlaps)]
        self.spare = {dtype: ranks.empty(odd, dtype) for dtype in {self.dtype, self.results.dtype}}

    def settings(self):
        """What ranks must agree on, as 64 bits."""
        return int.from_bytes(hashlib.sha256(repr((self.kind, self.shape)).encode()).digest()[:8], "big")

    def _reduce(self, rows, **where):
        rows = rows.reshape(self.ranks.count, len(rows) // self.ranks.count)
        return _core.reduce_op(self.op, rows, axis=0, **where, **self.options)

    def _padded(self, count):
        return -(-count // self.ranks.count) * self.ranks.count

    def _equal_pieces(self, part):
        """Where what is sent for, or received as, part is: there, or in as much memory as equal pieces need."""
        count = self._padded(len(part))
        return part if len(part) == count else self.spare[part.dtype][:count]

    def exchange(self, begin):
        """Starts the exchange of the block's pieces; gives these, and what waits for them."""
        part = self.data[begin:begin + self.block]
        send = self._equal_pieces(part)
        if send is not part:
            send[:len(part)] = part
            send[len(part):] = 0
        rows = self.rows[begin // self.block % 2][:len(send)]
        return rows, self.ranks.exchange(send, rows)

    def share(self, begin, rows):
        """Reduces the pieces and hands out the results; gives what waits for them, and what failed.

        Whatever the own piece gives, the others get theirs."""
        part = self.results[begin:begin + self.block]
        pieces = self._equal_pieces(part)
        piece = len(pieces) // self.ranks.count
        own = pieces[self.ranks.rank * piece:][:piece]
        _, error = _attempt(lambda: self._reduce(rows, out=own))
        if error and not self.waits:
            own[:] = math.nan
        wait = self.ranks.share(pieces)

        def end():
            wait()
            if pieces is not part:
                part[:] = pieces[:len(part)]

        return end, error

    def run_blocks(self):
        """Two exchanges on their way at any time, each block reduced as it has come."""
        failure, ends = None, []
        begun = [self.exchange(begin) for begin in range(0, self.count, self.block)[:2]]
        for begin in range(0, self.count, self.block):
            rows, wait = begun.pop(0)
            wait()
            end, error = self.share(begin, rows)
            ends.append(end)
            failure = failure or error
            if begin + 2 * self.block < self.count:
                begun.append(self.exchange(begin + 2 * self.block))

        def end_all():
            for end in ends:
                end()

        return failure, end_all

    def run_whole(self):
        if self.count:
            self.ranks.gather(self.data, self.rows)()
        return _attempt(lambda: self._reduce(self.rows, out=self.results))[1], lambda: None

    def run(self):
        """Gives the first failure, or None, and what waits for the results."""
        return self.run_whole() if self.is_whole else self.run_blocks()


def all_reduce_array(array, ranks, op, agreed=False, **options):
    """What warpfold.mpi and warpfold.torch have under this name; ranks: as _Exchange's; agreed: nobody has to be asked."""
    job, failure = _attempt(_Exchange, array, ranks, op, options)
    if not agreed:
        _agree(failure, 0 if failure else job.settings(), ranks.add,
               "the ranks' arrays are of different shapes or dtypes, or are to be reduced differently")
    elif failure:
        raise failure
    failure, end = job.run()
    try:
        if job.waits:
            _agree(failure, 0, ranks.add)  # while the last results are on their way
        elif failure:
            raise failure
    finally:
        end()
    return job.results.reshape(job.shape)
