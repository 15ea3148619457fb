/* Strips of a panel's columns, which are read where they lie. */
#ifndef WF_CPU_LOOPS_STRIP_H
#define WF_CPU_LOOPS_STRIP_H

#include "cpu/loops/source.h"
#include "cpu/loops/vector.h"

/* Rows of a strip. */
struct strip {
    const unsigned char *x;
    int64_t stride_bytes;
    size_t rows, columns; /* columns: a multiple of WF_STRIP_COLUMNS */
    int64_t next;         /* bytes from here to the strip that comes after it */
    const unsigned char *y; /* of pairs; else NULL */
    int64_t y_stride_bytes;
};

/* While a strip is added, memory fetches the next one.  The last one's is not there: an address may be any. */
INLINE void prefetch_next_strip(const unsigned char *x, int64_t next, size_t nbytes) {
    for (size_t i = 0; i < nbytes; i += 64) __builtin_prefetch((const void *)((uintptr_t)x + (uintptr_t)next + i));
}

/* The strip after the next one: rows are too far apart for the processor to expect all of them. */
INLINE void prefetch_few(struct strip strip) {
    enum { FEW_ENOUGH = 8 }; /* that they do not push each other out of the cache */
    size_t nbytes = strip.columns * sizeof(uword);
    for (size_t r = 0; r < strip.rows && strip.rows <= FEW_ENOUGH; r++)
        prefetch_next_strip(strip.x + (int64_t)r * strip.stride_bytes, (int64_t)(2 * nbytes), nbytes);
    for (size_t r = 0; r < strip.rows && strip.y && strip.rows <= FEW_ENOUGH; r++)
        prefetch_next_strip(strip.y + (int64_t)r * strip.y_stride_bytes, (int64_t)(2 * nbytes), nbytes);
}

/* Vectors of columns that are added up at a time: a line of each row, which might not stay in the cache if rows are a power
 * of two apart; but no more than there are registers for, and two, of which one is added while the other waits. */
enum {
    FEW_OF_LINE = 64 / (int)sizeof(uword) / LANES,
    FEW_VECTORS = FEW_OF_LINE < 2 ? 2 : FEW_OF_LINE > UNROLL_MAX ? UNROLL_MAX : FEW_OF_LINE,
};

#endif
