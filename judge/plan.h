/* All that is to be tried, in the order in which it counts. */
#ifndef JUDGE_PLAN_H
#define JUDGE_PLAN_H

#include "sizes.h"
#include "trial.h"

/* The trials of a phase end where one is over; only those of the first go on when the kernel is refused. */
enum phase {
    PHASE_TASK,     /* each of the task's sizes with all data and schedules */
    PHASE_PATTERNS, /* small sizes with data that random ones seldom are */
    PHASE_CHOOSE,   /* not a trial: the choice of more sizes */
    PHASE_BLOCKS,   /* the task's sizes in the task's other blocks: each once, data and schedules in turn */
    PHASE_TURNS,    /* blocks take turns */
    PHASE_AGAIN,    /* on variables as earlier launches left them: one after the other on one simulator */
    PHASE_MORE      /* more sizes, each once, data and schedules in turn */
};

struct step {
    enum phase phase;
    struct planned planned;
    bool is_first_of_size, is_first_of_block; /* which the verdict then lists */
};

struct plan {
    struct step *steps;
    size_t count;
    struct more_sizes more;
};

/* All but more sizes, for which there is room.  false: no memory.  plan_clear in any case. */
bool plan_make(struct plan *plan, const struct judging *judging);
void plan_clear(struct plan *plan);

/* Takes a while, and touches only plan->more; the second adds what was chosen. */
void plan_choose(struct plan *plan, const struct judging *judging, uint64_t seed);
void plan_add_more(struct plan *plan, const struct judging *judging);

#endif
