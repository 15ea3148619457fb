/* What one launch showed, and how it becomes a part of the verdict. */
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

/* The launches so far in which a hint holds: their number, and the reason that the first one gives. */
struct hint_tally {
    bool is_refuted;
    uint64_t launches;
    struct judge_reason reason;
};

/* Launches may end in any order: each has a record of its own, which is added to the verdict after those of the launches
 * before it. */
struct record {
    bool is_launched;
    bool does_fit; /* as in judge_reason */
    bool is_over; /* further launches of its kind are skipped: they would only take long */
    struct judge_reason *reasons;
    size_t reason_count, reason_capacity;
    struct hint_tally *hints; /* for each hint; NULL: the launch says nothing about any */
    bool has_error, has_gates;
    struct rounding worst;
    struct judge_gate_count gates[JUDGE_GATES_MAX];
    simt_error error;
    simt_message message;
};

/* NULL: out of memory. */
struct record *record_create(void);
void record_destroy(struct record *record); /* NULL: nothing */

/* If memory runs out, that becomes the record's error. */
void record_add(struct record *record, const struct judge_reason *reason);
void record_error(struct record *record, const struct rounding *rounding);

/* The races of the launch are why its result is wrong. */
void record_blame_races(struct record *record);

/* The wrong result may come from a finding of the launch. */
void record_note_following(struct record *record);

/* The launch says that the hint holds, with the reason that it gives, or that it fails. */
void record_hint(struct record *record, size_t hint, const struct judge_reason *reason);
void record_refute(struct record *record, size_t hint);

/* Adds the record to the verdict; called in the order of the launches.  `hints`: an element for each hint. */
void record_conclude(const struct record *record, size_t gate_count, struct judge_verdict *verdict, struct hint_tally *hints);
/* Called after all of them: a wrong result that nothing else explains is explained by the first hint that held often enough
 * and was never refuted. */
void hints_conclude(const struct hint_tally *hints, struct judge_verdict *verdict);

#endif
