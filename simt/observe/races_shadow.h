/* Shadow memory: who touched each cell of a kernel's memory last, in pages made when first touched.
 *
 * A cell is a word of 4 bytes until something touches less of it; then its page has cells of 2 bytes, or of
 * one. What was touched plainly and what atomically are told apart, as reads and writes are: an access
 * conflicts with all of a kind or with none, so that the latest of each kind represents all that are ordered
 * before it.  Of those that nothing orders two are kept, as far apart as there were: one of them at least is
 * another's than the thread that comes next. */
#ifndef SIMT_RACES_SHADOW_H
#define SIMT_RACES_SHADOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "races_clock.h"

enum history { PLAIN_READS, ATOMIC_READS, PLAIN_WRITES, ATOMIC_WRITES, HISTORIES };

/* The kinds of access with which each kind conflicts, a bit each. */
extern const uint8_t simt_races_conflicts[HISTORIES];

/* What a fence orders before later accesses: of the block, of the grid, of its asynchronous copies. */
enum scope { SCOPE_BLOCK, SCOPE_GRID, SCOPE_ASYNC_SHARED, SCOPE_ASYNC_GLOBAL, SCOPES };

enum { PAGE_BITS = 10, PAGE_NBYTES = 1 << PAGE_BITS, CELL_BITS_MAX = 2 };

/* What atomic writes to one address have released: to the grid, and to the block that did so last. */
struct release {
    struct clock clocks[SCOPES], fenced[SCOPES]; /* what was added last of what a thread had fenced */
    uint64_t block;
    uint64_t count; /* of them: whoever has acquired this many has nothing more to learn here */
    bool is_of_several; /* blocks */
    uint64_t unsettled[SCOPES]; /* the first stamp that was not settled when what all of the block know was added; 0: it was not */
};

/* The value of a cell to which unordered stores gave different values. */
#define VALUE_MIXED (UINT64_C(1) << 32)

/* Planes have one entry for each cell, and are NULL until they are needed. */
struct shadow_page {
    struct shadow_page *next;
    uint64_t number;
    uint32_t cell_bits;             /* cells have 1 << cell_bits bytes */
    uint64_t *stamps[HISTORIES][2]; /* 0: none */
    uint64_t *values;               /* last stored plainly */
    uint64_t *updates, *updated;    /* the last store that makes an update of a load, both atomic: its stamp and value */
    struct release **releases;      /* by the first cell of what is written atomically */
};

struct shadow {
    struct shadow_page **buckets;
    size_t bucket_count, page_count;
};

/* The page of addresses number * PAGE_NBYTES on, made if need be; NULL: no memory. */
struct shadow_page *simt_shadow_page(struct shadow *shadow, uint64_t number);
void simt_shadow_clear(struct shadow *shadow);

/* Return false, and leave the page unchanged, when memory runs out. */
bool simt_page_ensure(const struct shadow_page *page, uint64_t **plane);
bool simt_page_refine(struct shadow_page *page, uint32_t cell_bits);
struct release *simt_page_release(struct shadow_page *page, uint64_t address); /* made if need be */

/* NULL: none. */
const struct release *simt_page_released(const struct shadow_page *page, uint64_t address);

static inline uint32_t page_cell(const struct shadow_page *page, uint64_t address) {
    return (uint32_t)(address & (PAGE_NBYTES - 1)) >> page->cell_bits;
}

#endif
