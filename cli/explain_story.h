/* The story of one block: its walk, cut into the steps of the tree, with what each thread combined. */
#ifndef CLI_EXPLAIN_STORY_H
#define CLI_EXPLAIN_STORY_H

#include "explain_walk.h"
#include "ladder.h"

/* What partial results are made of: a symbol's node.  TERM_NOTHING is the op's identity; 1 .. n are the
 * elements. */
struct term {
    uint32_t left, right;
};
enum { TERM_NOTHING = 0, TERM_UNKNOWN = UINT32_MAX }; /* unknown: not to be told from the accesses */

/* A partial result: its symbol, and the element's bits in the low end. */
struct cell {
    uint32_t term;
    uint64_t bits;
};

/* Where the partial results of a step lie. */
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
    size_t sources; /* the first of them in the story's */
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
    const bool *diverged; /* does a branch part the warp's lanes? */
    uint32_t line;        /* of the source, that combines */
    uint32_t guard_line;  /* of the condition for it; 0: there is none */
    size_t combines, combine_count;
    struct cell *before; /* the store's cells when the first of its combines begins */
    struct cell *after;  /* and once the step is over */
    bool is_over;        /* a barrier has ended it: registers count as forgotten from there on */
    size_t worst; /* the event whose access of elements met the worst bank conflict; SIZE_MAX: none did */
    double worst_degree;
};

/* When an event was: in a step, or outside the tree after so many steps of its warp. */
struct phase {
    bool is_outside;
    uint32_t step;
};

struct story {
    const struct walk *walk;
    uint32_t warp_count;
    size_t cell_counts[STORES];
    uint64_t input_address; /* of input cell 0 */
    uint64_t shared_offset; /* of shared cell 0 */
    uint32_t element_nbytes;

    struct step *steps;
    size_t step_count;
    struct phase *phases; /* of each event of the walk */
    uint32_t *lines;      /* of each pc: the line of the rung's source; 0: none */
    bool *diverged;       /* of each step's warps, and behind them of the outside's */
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
    bool *is_used; /* of each term: is it part of the result? */
    bool out_of_memory;
};

/* What was run. */
struct story_setting {
    const struct ladder_rung *rung;
    wf_op op;
    wf_type type;
    uint64_t n;
    const void *values;
    size_t shared_nbytes;   /* dynamic shared memory */
    uint64_t input_address; /* of element 0 */
};

/* false: no memory.  story_clear in any case; the walk must outlive it. */
bool story_tell(struct story *story, const struct walk *walk, const struct story_setting *setting);
void story_clear(struct story *story);

/* The threads that want words of one bank in the step's worst access, the first active one's; how many: 0
 * where there was no conflict. */
uint32_t story_conflict(const struct story *story, const struct step *step, uint32_t threads[SIMT_LANES]);

/* Is it a branch that parts its lanes? */
bool story_parts(const struct walk_event *event);

/* Is the partial result part of the block's? */
bool story_uses(const struct story *story, struct cell cell);

#endif
