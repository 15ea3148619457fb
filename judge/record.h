/* What one launch tells, and how it becomes a part of the verdict. */
#ifndef JUDGE_RECORD_H
#define JUDGE_RECORD_H

#include "hints.h"
#include "judge.h"

/* The error of a float in ulp, its bound there, and the roundings that explain it. */
struct rounding {
    double error_ulp, bound_ulp;
    uint64_t roundings;
    bool is_counted;
};

/* What the launches so far say of a hint, and the first in which it holds. */
struct hint_tally {
    bool is_refuted;
    uint64_t launches;
    struct judge_reason reason;
};

/* Kept apart from the verdict until the launches before it are in it, whichever ends first. */
struct record {
    bool is_launched;
    bool does_fit; /* as a reason has it */
    bool is_over; /* more launches of its kind would only take long */
    struct judge_reason *reasons;
    size_t reason_count, reason_capacity;
    struct hint_tally *hints; /* of each, or NULL: nothing is said of any */
    bool has_error, has_gates;
    struct rounding worst;
    struct judge_gate_count gates[JUDGE_GATES_MAX];
    simt_error error;
    simt_message message;
};

/* NULL: no memory. */
struct record *record_create(void);
void record_destroy(struct record *record); /* NULL: nothing */

/* Without memory for it that is the record's error. */
void record_add(struct record *record, const struct judge_reason *reason);
void record_error(struct record *record, const struct rounding *rounding);

/* The races of the launch are why its result is wrong. */
void record_blame_races(struct record *record);

/* The wrong result may come from a finding of the launch. */
void record_note_following(struct record *record);

/* The launch says that the hint holds, with the reason that it gives, or that it fails. */
void record_hint(struct record *record, size_t hint, const struct judge_reason *reason);
void record_refute(struct record *record, size_t hint);

/* In the order of the launches.  `hints`: one for each. */
void record_conclude(const struct record *record, size_t gate_count, struct judge_verdict *verdict, struct hint_tally *hints);
/* After all of them: a wrong result that nothing explains yet is explained by the first hint that held often enough and failed nowhere. */
void hints_conclude(const struct hint_tally *hints, struct judge_verdict *verdict);

#endif
