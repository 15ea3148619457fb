/* An accumulator as words for collectives: integers that are added up over ranks, integers of which the largest is
 * taken, and back.
 *
 * No overflow.  Every added word is at most 2^32 - 1 in magnitude: digits are balanced (-2^31 <= d <= 2^31), counts are
 * halves of 32 bits, flags are 0 or 1.  2^31 of them add up to at most 2^31 * (2^32 - 1) = 2^63 - 2^31, and digits to
 * 2^62, to which the carries on the way back, each below 2^31, are added.  The digits have room for 2^63 elements
 * (core/exact.h); the count says that there are no more.
 *
 * Those of usual numbers come first: of elements of magnitudes near 1, the words behind the first few are 0, of which
 * warpfold_mpi.h makes one short message. */
#ifndef WF_CORE_WORDS_H
#define WF_CORE_WORDS_H

#include "core/accumulator.h"

/* What is done with the words, which all directions pass through in the same order. */
enum wf_words_direction {
    WF_WORDS_MEASURE,
    WF_WORDS_GIVE,   /* writes added and largest */
    WF_WORDS_SETTLE, /* reads the largest of all ranks, writes indices: those of extremes that are theirs */
    WF_WORDS_TAKE    /* reads all three */
};

struct wf_words {
    enum wf_words_direction direction;
    bool failed; /* what was taken cannot be */
    int64_t *added, *largest, *indices; /* the next ones; not used: NULL */
    wf_word_counts counts;              /* those before them */
};

/* How many elements (of one with a shape: positions) there are, and the hull of their indices: the words of all that
 * come first.  False where more than 2^63 - 1 are taken. */
bool wf_words_elements(struct wf_words *words, struct wf_accumulator *acc);

/* What has been gathered of a result's elements.  acc: taken into the identity, with its count, and checked; in other
 * directions not written to.  Not for products, which do not add up. */
void wf_words_parts(struct wf_words *words, struct wf_accumulator *acc);

/* A count, at most 2^63 - 1. */
void wf_words_count(struct wf_words *words, uint64_t *count);

#endif
