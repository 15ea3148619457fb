/*
 * explain.h -- one block of a rung of the ladder, run on the simulator and followed step by step: what each
 * thread combines in each step, what that costs, and what the closed forms predict that it costs.
 *
 * Nothing here prints or keeps state.  Errors and messages are those of simt.h.
 */
#ifndef EXPLAIN_H
#define EXPLAIN_H

#include "ladder.h"
#include "misprint.h"
#include "predict.h"
#include "simt.h"
#include "timeline.h"
#include "trace.h"

enum { EXPLAIN_COUNT_DEFAULT = 16, EXPLAIN_WARP_DEFAULT = 32, EXPLAIN_BANKS_DEFAULT = 32 };

struct explain_request {
    const struct ladder_rung *rung;
    wf_op op;
    wf_type type;
    /* Where neither n, values, block nor settings are given, the rung's own picture says what they are. */
    uint64_t n;         /* elements; 0: 16, or a warp of a rung that needs whole ones */
    const void *values; /* n elements; NULL: small numbers of the program's own choice */
    uint32_t block;     /* threads, a power of two; 0: as many as the elements need */
    simt_settings settings;
    simt_schedule schedule;
    uint64_t seed;
    bool wants_misprints;            /* also run the kernels that the rung's sources print wrong */
    const simt_leftovers *leftovers; /* are notified of files that compiling makes; may be NULL */
};

/* The sum of the elements in their type, rounded at each addition: what the order makes of it. */
struct explain_orders {
    wf_value forward, backward, halves; /* from first to last, from last to first, as in rung 06 */
};

struct explanation {
    struct ladder_rung rung;
    struct ladder_variant variant;
    uint64_t n;
    uint32_t block;
    simt_settings settings;
    simt_schedule schedule;
    uint64_t seed;
    bool is_picture; /* the rung's own choice of n and of the simulator */
    void *values;    /* n elements */

    struct ladder_plan plan;
    simt_module *module; /* whose strings the trace and the report use */
    struct trace trace;
    struct timeline timeline;
    struct ladder_result result;
    struct explain_orders orders; /* where the rung's cells are of a type of their own */
    simt_report *report;
    struct prediction prediction;
    struct misprint *misprints;
    size_t misprint_count;
};

/* *explanation is the caller's, to be destroyed; NULL after an error.  SIMT_ERROR_ARGUMENT: the rung cannot
 * be run so; SIMT_ERROR_STOPPED: the kernel was stopped, by what the message says. */
simt_error explain_run(const struct explain_request *request, struct explanation **explanation,
                       simt_message *message);
void explain_destroy(struct explanation *explanation); /* NULL: nothing */

/* The type of the tree's partial results; where there is no step, the elements'. */
wf_type explain_cell_type(const struct explanation *explanation);

/* The count of an observer by name; 0 if there is none. */
double explain_count(const struct explanation *explanation, const char *name);

/* The elements of a text such as "3,1,7"; *values is the caller's, to be freed. */
simt_error explain_parse_values(const char *text, wf_type type, void **values, uint64_t *count,
                                simt_message *message);

#endif
