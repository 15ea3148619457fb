/* A kernel as a tutorial prints it, run as its comment says, and traced while it goes wrong. */
#ifndef EXPLAIN_MISPRINT_H
#define EXPLAIN_MISPRINT_H

#include "ladder.h"
#include "predict.h"
#include "trace.h"

struct misprint {
    struct ladder_wrong wrong;
    unsigned char *values;                    /* of the input, before the run */
    uint64_t addresses[LADDER_ARGUMENTS_MAX]; /* of the arguments that are arrays */
    simt_module *module;                      /* whose strings the trace and the report use */
    struct trace trace;                       /* of a launch of one block; else it is empty */
    simt_report *report;
    bool has_result; /* it ran to its end */
    struct ladder_result result, right;
    struct prediction prediction; /* of the rung that is right */
};

/* A launch that is stopped is no error: it has its findings to show, and no result.  misprint_clear in any
 * case. */
simt_error misprint_run(const struct ladder_rung *rung, size_t index, struct misprint *misprint,
                        simt_message *message);
void misprint_clear(struct misprint *misprint);

#endif
