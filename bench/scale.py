"""A sum of 10^15 numbers on 10^5 ranks, in one process: every rank's accumulator, its words, their all-reduce.

    WARPFOLD_LIB=build/libwarpfold.so python3 bench/scale.py [RANKS]

Each rank adds a few random f64 of magnitudes from 2^-40 to 2^40, then merges its accumulator 33 times with itself: 2^33
times as many elements (8.6 * 10^9), as one that had read them would hold.  The words of all ranks are added up by numpy as
MPI would, in three orders; the result is compared with the exact rational sum.  Needs numpy.
"""

import random
import struct
import sys
import time
from fractions import Fraction
from pathlib import Path

import numpy

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "helpers"))
import warpfold_ctypes as wf  # noqa: E402

DOUBLINGS, ELEMENTS = 33, 4
BODY_WORDS = 26  # of warpfold_mpi.h's first message


def words_of_ranks(handle, count):
    """The words of each rank, the exact sum and the time that the words took."""
    draw, exact, spent = random.Random(count), Fraction(0), 0.0
    words = []
    for _ in range(count):
        values = [draw.uniform(-1, 1) * 2.0 ** draw.randint(-40, 40) for _ in range(ELEMENTS)]
        exact += sum(map(Fraction, values))
        accumulator = handle.accumulator("sum", "f64")
        accumulator.add(wf.vector(struct.pack(f"{ELEMENTS}d", *values), "f64"), 1)
        for _ in range(DOUBLINGS):
            accumulator.merge(accumulator)
        start = time.perf_counter()
        words.append(accumulator.words()[0])
        spent += time.perf_counter() - start
    return numpy.array(words, dtype=numpy.int64), exact * 2**DOUBLINGS, spent


def in_a_tree(words):
    """Recursive doubling, as its last rank sees it."""
    while len(words) > 1:
        half = len(words) // 2
        paired = words[:half] + words[half:2 * half]
        words = numpy.concatenate([paired, words[2 * half:]])
    return words[0]


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10**5
    handle = wf.Handle()
    words, exact, spent = words_of_ranks(handle, count)
    order = numpy.random.default_rng(0).permutation(count)
    totals = [in_a_tree(words), words.sum(axis=0), words[order].cumsum(axis=0)[-1]]
    results = []
    for total in totals:
        whole = handle.accumulator("sum", "f64")
        whole.from_words(total.tolist(), [], [])
        results.append(struct.unpack("d", struct.pack("Q", whole.result("sum")[1]))[0])
        elements = whole.count
    nearest = exact.numerator / exact.denominator
    print(f"{count} ranks, {elements:.3g} elements: {results[0]!r}, exactly rounded {nearest!r}")
    print(f"orders that agree: {len({total.tobytes() for total in totals}) == 1}; largest word 2^"
          f"{int(numpy.abs(totals[0]).max()).bit_length()} of 2^63; ranks with words behind the first message: "
          f"{int((words[:, BODY_WORDS:] != 0).any(axis=1).sum())}; {1e6 * spent / count:.1f} us for one's words, by ctypes")
    return results != [nearest] * 3


if __name__ == "__main__":
    sys.exit(main())
