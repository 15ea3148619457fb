/* What the parts of a reduction by key share.  Each calls only those above it:
 *
 *   keyed.c           all of it, and what each thread does
 *   keyed_results.c   results from the words of a group and from what was set aside
 *   keyed_owners.c    how many tables there are, and which has which groups
 *   keyed_table.c     a table: elements become words of its slots
 *   keyed_plan.c      which words a slot has: a pure function of op, type and a sample of the elements */
#ifndef WF_CPU_KEYED_JOB_H
#define WF_CPU_KEYED_JOB_H

#include "cpu/keyed.h"
#include "cpu/workers.h"

#include <stdatomic.h>
#include <string.h>

enum {
    KEYED_CHUNK = 1 << 14,      /* elements that a thread takes at a time */
    KEYED_GROUPS_AT_ONCE = 256, /* that a thread finishes at a time */
    KEYED_COPIES = 4,           /* of a small table */
    KEYED_OWNERS_MAX = 8,       /* threads that each read all keys */
};

/* An element that has no units. */
struct keyed_lost {
    int64_t key, position;
};

/* What a thread has. */
struct keyed_table {
    int64_t first_group, groups; /* whose slots the table has: all, or those that the thread owns */
    int64_t *word; /* [copies][slots][words] */
    struct wf_pages pages, *kept; /* where the words are, and go at the end */
    struct wf_units units;
    /* For each operand: */
    unsigned char copy[2][WF_UNITS_MAX * sizeof(uint64_t)]; /* of elements that do not lie side by side */
    unsigned char own[2][WF_UNITS_MAX * sizeof(uint64_t)]; /* of the groups that the thread owns */
    const int64_t *key; /* of the elements of a block, the labels themselves or copies; WF_KEYS_AHEAD more may be read */
    int64_t key_copy[WF_UNITS_MAX + WF_KEYS_AHEAD];
    int64_t place[WF_UNITS_MAX]; /* of the elements in their block */
    const char *next_key, *next_x; /* after what has been read */
    struct keyed_lost *lost;
    size_t lost_count, lost_capacity;
    bool has_minus_zero;
    int64_t until_carry; /* elements that may be added before carries must move up */
};

struct keyed {
    const struct wf_grouped *grouped;
    const struct cpu *cpu;
    struct wf_view view;
    int64_t key_stride_bytes;
    wf_split_function *split;
    wf_split_products_function *split_products; /* for dot products, and squares of f64; NULL: of others */
    wf_slots_function *add_to_slots; /* for what split and wf_units need not be; NULL: they must */
    unsigned parts;
    int64_t count, groups;
    struct wf_grid grid[2]; /* of values or dot products, of squares */
    int64_t terms;          /* of an element: 2 of a product of f64 */
    bool are_bounded;          /* slots are sums that may lack something, with a bound, as this says: */
    struct wf_bounded bounded;
    bool joins_equal; /* keys that are equal may well follow each other */
    size_t words, copies; /* of a slot; of all slots: neighbours in memory go to different ones */
    bool settles_nans; /* of extrema of floats, which lose no other elements: none is set aside, */
    bool nans_win;     /* whether they are the results or are left out */
    bool is_indexed, counts; /* word 1 is a position; the last word counts elements */
    int64_t carry_interval;
    size_t lost_max; /* of a thread */
    bool are_owned;  /* each group by one thread, which alone adds to it; otherwise all threads add to all groups */
    int threads, writers; /* that add, each to its table; that finish groups */
    struct keyed_table **table; /* the handle's */
    struct keyed_lost *lost; /* of all threads, by group and position */
    struct wf_pages lost_pages, marks_pages, *lost_kept, *marks_kept; /* where these are, and go at the end */
    size_t lost_count;
    bool adder_rounds; /* sums that are small: see round_by_adding */
    bool divides;      /* means, of such sums */
    bool squares_are_rounded; /* by vectors: variances, their roots and 2-norms */
    unsigned char *marks; /* of each group, enum wf_mark; NULL: no zero has a sign.  Where sums are bounded, whether it is left */
    atomic_bool any_left; /* groups of which the bound decides no result */
    wf_value nothing;     /* the result of a group that has no elements, */
    bool has_nothing;     /* if there is one */
    atomic_llong next;
    atomic_bool declined;
};

/* The bits of an element. Copies whose size is a constant need no call. */
static inline __attribute__((always_inline)) uint64_t wf_keyed_bits(const unsigned char *x, size_t nbytes) {
    uint16_t half;
    uint32_t single;
    uint64_t bits;
    switch (nbytes) {
    case 1: return *x;
    case 2: memcpy(&half, x, sizeof half); return half;
    case 4: memcpy(&single, x, sizeof single); return single;
    default: memcpy(&bits, x, sizeof bits); return bits;
    }
}

/* ---- the plan ---- */

/* Sets what a slot consists of; false: tables do not serve these elements. */
bool wf_keyed_plan(struct keyed *job);
/* The same of sums that may lack something, which serve any range. */
bool wf_keyed_plan_bounded(struct keyed *job);
/* Whether these take less time where either serves. */
bool wf_keyed_prefers_bounded(const struct wf_grouped *grouped, int64_t count);

/* ---- a table ---- */

/* Makes a thread's table one of the groups begin <= g < end; false without memory. */
bool wf_key_table_begin(const struct keyed *job, int thread, int64_t begin, int64_t end);
/* Leaves the words' memory to others.  NULL, or one that has none: nothing. */
void wf_key_table_end(struct keyed_table *table);
void wf_key_table_destroy(struct keyed_table *table);

/* Makes the words those of no elements. */
void wf_key_table_clear(struct keyed_table *table, const struct keyed *job);

/* The groups', and one of bad keys. */
static inline size_t wf_key_table_slots(const struct keyed_table *table) {
    return (size_t)table->groups + 1;
}

/* The elements of a block, and what they are multiplied by: the other operand's, or themselves. */
struct keyed_block {
    const unsigned char *x, *y;
    size_t count;
};

/* Reads the elements from position on that lie side by side, at most limit, and their keys. */
struct keyed_block wf_key_table_read(struct keyed_table *table, const struct keyed *job, int64_t position,
                                     int64_t limit);

/* Adds the elements begin <= i < end; false if tables do not serve them. */
bool wf_key_table_add(struct keyed_table *table, const struct keyed *job, int64_t begin, int64_t end);

/* What exceeds half a unit of the next level, in these units. */
static inline int64_t wf_keyed_carry(int64_t word, const struct wf_grid *grid) {
    return (word + (INT64_C(1) << grid->distance) / 2) >> grid->distance;
}

/* Moves that up, unless the words have room for all elements there are. */
void wf_key_table_carry(struct keyed_table *table, const struct keyed *job);

/* ---- owners ---- */

/* Sets threads, copies and are_owned; false if a table takes more scratch than there may be. */
bool wf_keyed_plan_threads(struct keyed *job, int threads);

/* Makes tables for as many threads as there is memory for, or for each owner; false: for none. */
bool wf_keyed_make_tables(struct keyed *job);

/* The words of groups that follow one another, added up over all tables, or the least. */
struct keyed_merged {
    const int64_t *word; /* [groups][words] */
    union {
        int64_t sum[KEYED_GROUPS_AT_ONCE * WF_UNITS_WORDS_MAX];
        double bounded[KEYED_GROUPS_AT_ONCE * WF_UNITS_WORDS_MAX];
    };
};

/* Finds those of the groups from begin on, at most KEYED_GROUPS_AT_ONCE; begin is a multiple of that. */
void wf_keyed_merge(struct keyed_merged *merged, const struct keyed *job, int64_t begin, size_t groups);

/* ---- results ---- */

/* What all groups need before one can be written, when all elements have been added; false without memory. */
bool wf_keyed_prepare(struct keyed *job);

/* Writes the results of groups begin <= g < end, as wf_keyed_merge takes them; acc is the thread's to use.  False if
 * one has none. */
bool wf_keyed_write(struct keyed *job, int64_t begin, int64_t end, struct wf_accumulator *acc);

/* Writes those that a bound has left, by accumulators; false if they are too many, without memory, or if one has none. */
bool wf_keyed_write_left(struct keyed *job, struct wf_accumulator *acc);

#endif
