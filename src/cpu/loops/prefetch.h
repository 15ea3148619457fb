/* Prefetching.  The hardware's own ends at each page, and rests while a block takes its second pass.  So
 * every pass asks, as it goes through a block, for its share of the next block; a pass that is the only one,
 * for what comes soon. */
#ifndef WF_CPU_LOOPS_PREFETCH_H
#define WF_CPU_LOOPS_PREFETCH_H

#include "cpu/loops/vector.h"

/* What a pass prefetches. */
struct ahead {
    size_t distance; /* from the block's first byte to the first byte that is prefetched */
    int shift;       /* the pass prefetches 1 / 2^shift of the bytes that it reads */
};

INLINE struct ahead next_pass(struct wf_scratch *scratch) {
    enum { SOON = 4096 };
    if (scratch->passes <= 1) return (struct ahead){SOON, 0};
    int shift = 32 - __builtin_clz((unsigned)scratch->passes - 1);
    size_t share = WF_BLOCK_NBYTES >> shift;
    return (struct ahead){WF_BLOCK_NBYTES + share * (size_t)scratch->pass++, shift};
}

/* To be called when a cache line's bytes, or fewer, are being read at x + offset.  The prefetched address
 * need not exist. */
INLINE void prefetch_line(struct ahead ahead, const unsigned char *x, size_t offset) {
    __builtin_prefetch((const void *)((uintptr_t)x + ahead.distance + (offset >> ahead.shift)));
}

/* While a block is copied, as much of the next one is asked for: passes over the copy ask for nothing useful.
 * To the second-level cache, since the first is full of both. */
INLINE void prefetch_next_block(const unsigned char *x) {
    enum { SECOND_LEVEL_CACHE = 2 };
    __builtin_prefetch((const void *)((uintptr_t)x + WF_BLOCK_NBYTES), 0, SECOND_LEVEL_CACHE);
}

/* prefetch_line for more bytes. */
INLINE void prefetch(struct ahead ahead, const unsigned char *x, size_t offset, size_t nbytes) {
    for (size_t i = offset; i < offset + nbytes; i += 64) prefetch_line(ahead, x, i);
}

/* The same for two arrays that are read side by side.  A single pass prefetches a kilobyte of each in turn,
 * since memory is slow to alternate between two arrays. */
INLINE void prefetch_pair(struct ahead ahead, const unsigned char *x, const unsigned char *y, size_t offset,
                          size_t nbytes) {
    enum { TURN = 1024 };
    if (ahead.shift) {
        prefetch(ahead, x, offset, nbytes);
        prefetch(ahead, y, offset, nbytes);
        return;
    }
    uintptr_t next = (uintptr_t)(offset & TURN / 2 ? y : x) + offset / TURN * TURN + TURN;
    for (size_t i = 0; i < 2 * nbytes; i += 64)
        __builtin_prefetch((const void *)(next + (2 * offset + i) % TURN));
}

#endif
