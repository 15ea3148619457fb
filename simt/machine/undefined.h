/* Which registers hold what a shuffle took from a lane that takes no part, which PTX leaves undefined, or what a load read
 * where nothing had been written. */
#ifndef SIMT_UNDEFINED_H
#define SIMT_UNDEFINED_H

#include "collective.h"

struct undefined_origins; /* of a warp: its instructions of that kind */
struct undefined_mark;    /* of a register of a frame */

/* Before the instruction is executed, in a frame that has marks: passes them on with arithmetic, and records a finding
 * where an undefined value is used. */
void simt_undefined_follow(struct warp *warp, const struct path *path, const struct code *code, uint32_t mask);

/* The lanes shuffle: each gets the marks of the value that it gets, or one of the latest shuffle for a source that
 * takes no part. */
void simt_undefined_shuffle(const struct collective *collective, slot value, const uint8_t sources[SIMT_LANES]);

/* After it: what it has stored in shared memory is undefined there. */
void simt_undefined_stored(struct warp *warp, const struct path *path, const struct code *code);
void simt_undefined_forget_words(struct block *block);

void simt_undefined_forget(struct frame *frame); /* it is left */
void simt_undefined_clear(struct warp *warp);

#endif
