/* Loops that end, but not before the limit: what decides changes by the same step in each round. */
#ifndef SIMT_ROUNDS_H
#define SIMT_ROUNDS_H

#include "deciders.h"

enum { DECIDERS_MAX = 64, ROUND_MAX = 512 };

/* A round from an instruction back to it, by the same lanes throughout, and what decided at its begin and at its end. */
struct round {
    const struct deciders *deciders;
    const struct code *codes;
    uint32_t pcs[ROUND_MAX], count; /* executed, in order; more than ROUND_MAX: not all are there */
    uint32_t lanes;
    uint64_t limit; /* of instructions, and so of the clock, which counts those of the block */
    const uint32_t *registers; /* that decide; index register_count: the carry flag */
    uint32_t register_count;
    const uint64_t (*begin)[SIMT_LANES], (*end)[SIMT_LANES];
};

/* How many rounds more the lanes will go in the same way, at least, as long as memory does not change.  0: not known;
 * or ROUNDS_BY_CLOCK. */
uint64_t simt_rounds_left(const struct round *round);

#endif
