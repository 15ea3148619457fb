/* A matrix that blocks of threads transpose by tiles, and leave each tile where it was. */
#ifndef JUDGE_TILES_H
#define JUDGE_TILES_H

#include "reference.h"

/* The output of one launch, which must be a matrix of size->cols rows, by blocks of `side` times as many threads as are
 * needed for a tile of side x side elements. */
struct tiles {
    const struct size *size;
    const struct extents *extents;
    const struct expected *expected;
    const unsigned char *result;
    wf_type type;
};

/* How many elements are there from a tile that belongs in another place, where each element that was written is of the
 * tile that stands there in the input, transposed in itself; 0: one is not, or they are too few to tell. */
uint64_t tiles_that_stay(const struct tiles *tiles);

#endif
