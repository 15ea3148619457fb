/* Which wavefront brings which word of shared memory to which lane. */
#ifndef CLI_EXPLAIN_WAVEFRONTS_H
#define CLI_EXPLAIN_WAVEFRONTS_H

#include "explain_walk.h"

enum { WANTED_MAX = 16 * SIMT_LANES };

struct wanted {
    uint32_t lane, wavefront;
    uint64_t word; /* of 4 bytes; its bank is the remainder by the number of banks */
};

/* The words that the lanes of an access want, by lane; returns how many. */
uint32_t wavefronts_serve(const struct walk *walk, const simt_access *access,
                          struct wanted wanted[WANTED_MAX]);

#endif
