/* The timeline of one block: its trace, cut into the steps of the tree, with what each thread combined. */
#ifndef EXPLAIN_TIMELINE_H
#define EXPLAIN_TIMELINE_H

#include "trace.h"
#include "ladder.h"

/* What partial results are made of: a symbol's node.  TERM_NOTHING is the op's identity; 1 .. n are the
 * elements. */
struct term {
    uint32_t left, right;
};
enum { TERM_NOTHING = 0, TERM_UNKNOWN = UINT32_MAX }; /* unknown: the accesses do not determine it */

/* A partial result: its symbol, and the element's bits in the low end. */
struct cell {
    uint32_t term;
    uint64_t bits;
};

/* The memory that holds the partial results of a step. */
enum store {
    STORE_INPUT,
    STORE_SHARED,
    STORE_REGISTERS, /* a cell for each thread */
    STORE_RESULT,    /* one cell, for atomic operations */
    STORES
};

/* One thread took the sources' partial results into the target's.  Cells are those of the step's store; an
 * atomic operation's source is the thread. */
struct combine {
    uint32_t thread;
    uint32_t target;
    size_t sources; /* the first of them in the timeline's */
    uint32_t source_count;
    struct cell made;
};

/* Counts, by the names that the page and the JSON give them. */
struct tally {
    uint64_t active_lanes, warps, divergent_warps;
    uint64_t global_requests, shared_wavefronts;
    double bank_degree; /* the greatest that an access had; 1 where none met a conflict */
};

struct step {
    struct tally tally;
    enum store store;
    uint32_t *active;     /* the lanes of each warp that combine */
    const bool *diverged; /* whether a branch diverged, for each warp */
    uint32_t line;        /* of the source, that combines */
    uint32_t guard_line;  /* of the condition for it; 0: there is none */
    size_t combines, combine_count;
    struct cell *before; /* the store's cells when the first of its combines begins */
    struct cell *after;  /* and once the step is over */
    bool is_over;        /* a barrier has ended it: registers count as forgotten from there on */
    size_t worst; /* the event whose access of elements met the worst bank conflict; SIZE_MAX: none did */
    double worst_degree;
};

/* When an event was: in a step, or outside the tree after that many steps of its warp. */
struct phase {
    bool is_outside;
    uint32_t step;
};

/* What the launch has in global memory, each an allocation: elements, and in argmax as many indices. */
struct timeline_items {
    uint64_t values, indices; /* addresses; 0: none */
};
enum timeline_array { ARRAY_INPUT, ARRAY_PARTIALS, ARRAY_RESULT, ARRAY_TICKET, TIMELINE_ARRAYS };

struct timeline {
    const struct trace *trace;
    uint32_t warp_count;
    size_t cell_counts[STORES];
    struct timeline_items arrays[TIMELINE_ARRAYS];
    uint64_t shared_offset; /* of shared cell 0 */
    uint32_t element_nbytes;

    struct step *steps;
    size_t step_count;
    struct phase *phases; /* of each event of the trace */
    uint32_t *lines;      /* of each pc: the line of the rung's source; 0: none */
    bool *diverged;       /* of each step's warps, and after them of the outside's */
    enum store start_store;
    struct cell *start;   /* the cells before the first step */
    struct tally total;   /* of the steps */
    struct tally outside; /* there, the lanes that touch memory count as active */
    uint64_t lane_steps;  /* the lanes of all warps with an active one, summed over the steps */
    struct cell result;   /* what the block wrote last */

    struct combine *combines;
    size_t combine_count, combine_capacity;
    uint32_t *sources;
    size_t source_count, source_capacity;
    struct term *terms; /* 1 .. n are the elements, then what was combined */
    uint32_t term_count;
    size_t term_capacity;
    bool *is_used; /* for each term: whether the result depends on it */
    bool out_of_memory;
};

/* The launch that was traced. */
struct timeline_setting {
    const struct ladder_rung *rung;
    wf_op op;
    wf_type type;
    uint64_t n;
    const void *values;
    size_t shared_nbytes; /* dynamic shared memory */
    struct timeline_items arrays[TIMELINE_ARRAYS];
};

/* false: no memory.  timeline_clear in any case; the trace must outlive it. */
bool timeline_build(struct timeline *timeline, const struct trace *trace,
                    const struct timeline_setting *setting);
void timeline_clear(struct timeline *timeline);

/* The threads that want words of one bank in the step's worst access, the first active one's; how many: 0
 * where there was no conflict. */
uint32_t timeline_conflict(const struct timeline *timeline, const struct step *step,
                           uint32_t threads[SIMT_LANES]);

/* Whether the block's result depends on this partial result. */
bool timeline_uses(const struct timeline *timeline, struct cell cell);

#endif
