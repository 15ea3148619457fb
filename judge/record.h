/* What one launch tells, and how it becomes a part of the verdict. */
#ifndef JUDGE_RECORD_H
#define JUDGE_RECORD_H

#include "judge.h"

/* The error of a float in ulp, its bound there, and the roundings that explain it. */
struct rounding {
    double error_ulp, bound_ulp;
    uint64_t roundings;
    bool is_counted;
};

/* Kept apart from the verdict until the launches before it are in it, whichever ends first. */
struct record {
    bool is_launched;
    bool is_over; /* more launches of its kind would only take long */
    struct judge_reason *reasons;
    size_t reason_count, reason_capacity;
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

/* In the order of the launches. */
void record_conclude(const struct record *record, size_t gate_count, struct judge_verdict *verdict);

#endif
