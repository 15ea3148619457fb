/* A matrix that blocks of threads transpose by tiles, but do half of it: they leave each tile where it was, or as it was. */
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

enum tiles_fault {
    TILES_STAY,    /* each is transposed in itself, and stands where it stood in the input */
    TILES_UNTURNED /* each stands where it belongs, and is in itself as it was */
};

/* How many elements that makes wrong, where each element that was written is as the fault has it; 0: one is not, or they are
 * too few to tell. */
uint64_t tiles_with(const struct tiles *tiles, enum tiles_fault fault);

#endif
