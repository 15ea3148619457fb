/* The stage of a run: memory and launches, on the simulator or on a GPU. */
#ifndef LADDER_STAGE_H
#define LADDER_STAGE_H

#include "ladder.h"

/* An array of items in the stage's memory: elements, and in argmax as many indices. */
struct ladder_items {
    uint64_t values, indices; /* addresses; 0: none */
};

/* The data that the launches of a rung work on. */
struct ladder_memory {
    struct ladder_items input, result;
    struct ladder_items partials[LADDER_LAUNCHES_MAX]; /* of each launch */
    uint64_t ticket;
};

enum { LADDER_ARGUMENTS = 9 };

/* The kernel's arguments in launch number `index`, whose input are the partials of the one before. */
void ladder_arguments(const struct ladder_passes *passes, const struct ladder_memory *memory, size_t index,
                      const void *arguments[LADDER_ARGUMENTS]);

struct ladder_stage {
    void *state;
    simt_message *message;
    /* Memory that the caller need not free. */
    simt_error (*allocate)(const struct ladder_stage *stage, size_t nbytes, uint64_t *address);
    simt_error (*write)(const struct ladder_stage *stage, uint64_t address, const void *bytes, size_t nbytes);
    simt_error (*read)(const struct ladder_stage *stage, uint64_t address, void *bytes, size_t nbytes);
    /* The task's elements, which the kernel may overwrite. */
    simt_error (*put_input)(const struct ladder_stage *stage, uint64_t *address);
    /* *report: NULL where the stage has none. */
    simt_error (*launch)(const struct ladder_stage *stage, const struct ladder_plan *plan,
                         const void *const arguments[LADDER_ARGUMENTS], simt_report **report);
};

/* Checks and plans the task, runs it on the stage, and finishes. */
simt_error ladder_run_on(const struct ladder_stage *stage, const struct ladder_task *task,
                         struct ladder_outcome *outcome);

/* Plans the task; an error where it cannot be run anywhere.  The message is the caller's. */
simt_error ladder_task_plan(const struct ladder_task *task, struct ladder_passes *passes,
                            simt_message *message);

#endif
