/* One launch, or one of each of the task's kernels, and what is wrong with what it did. */
#ifndef JUDGE_TRIAL_H
#define JUDGE_TRIAL_H

#include "buffers.h"
#include "candidate.h"
#include "record.h"
#include "task.h"

struct chains;

enum { OBSERVERS_MAX = 32, SCHEDULES = 4 };

/* What all trials share, and none changes: several threads try at once. */
struct judging {
    const struct judge_task *task;
    const struct judge_request *request;
    struct candidate candidate;
    uint64_t seed; /* the request's, and the kernel's */
    const struct simt_observer *observers[OBSERVERS_MAX], *chains_alone[2];
    bool counts_chains;
};

/* What is to be tried. */
struct planned {
    const struct size *size;
    size_t size_number; /* of the task's sizes, then of the others */
    size_t set;
    size_t block; /* 0: the task's first, then its others */
    size_t schedule;
    enum pattern pattern;
    bool is_interleaved; /* blocks in turns: only the result counts */
};

/* What a thread lends to the trials that it makes. */
struct bench {
    struct chains *chains; /* NULL: chains are not counted */
    simt_machine *machine; /* NULL: it has none yet */
    bool keeps_variables;  /* the module's are as earlier launches left them; else as in the source */
};

/* `cancel`, asked with its context while a launch runs, answers whether nobody wants it any more. */
void trial_run(const struct judging *judging, const struct planned *planned, struct bench *bench, simt_cancel_function *cancel,
               void *context, struct record *record);
/* The next trial has everything as if it were the first. */
void bench_reset(struct bench *bench);

/* Chains are followed where the bound can use them. */
void judging_list_observers(struct judging *judging);

#endif
