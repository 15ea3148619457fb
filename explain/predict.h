/* What the sources' closed forms say of a rung: formulas of its technique and of the sizes, that know nothing
 * of what the simulator counted. */
#ifndef EXPLAIN_PREDICT_H
#define EXPLAIN_PREDICT_H

#include "timeline.h"

/* Everything is a power of two but n. */
struct prediction_setting {
    const struct ladder_rung *rung;
    wf_op op;
    wf_type type;
    uint64_t n;
    uint32_t block, warp_size, banks;
    size_t shared_nbytes; /* of a block */
};

/* Threads of the first warp whose cells are in one bank: 0, `spacing`, 2 * `spacing` ... `count` of them. */
struct conflict {
    uint32_t count, spacing;
};

enum { PREDICTED_STEPS_MAX = 12 };

struct prediction {
    bool has_tree;    /* there are closed forms of the steps */
    bool has_outside; /* and of what lies before and after them: for a full tile */
    bool has_barriers;
    bool has_atomics; /* unless they try again until they win */
    size_t step_count;
    struct tally steps[PREDICTED_STEPS_MAX], total, outside; /* outside: requests and wavefronts only */
    struct conflict conflicts[PREDICTED_STEPS_MAX];          /* count 0: no bank conflict */
    uint64_t lane_steps;
    double average_parallelism; /* combines in a step, on average */
    uint64_t barriers, atomics;
    uint32_t resident_blocks;
    double occupancy;
};

struct prediction predict(const struct prediction_setting *setting);

#endif
