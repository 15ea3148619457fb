/* The results of many reductions, and where they go: printed, or to a .npy file, in addition to the saved accumulator. */
#ifndef CLI_RESULTS_H
#define CLI_RESULTS_H

#include "options.h"
#include "saved.h"
#include "warpfold.h"

struct results {
    void *data; /* in C order */
    wf_type type;
    int32_t ndim;
    int64_t shape[WF_NDIM_MAX], count;
};

/* Memory for results of the type, whose shape has been set; a status. */
int results_make(struct results *results, wf_type type);
void results_clear(struct results *results);

/* As a wf_output. */
wf_output results_output(const struct results *results);

/* Prints the results of op over elements of the type, or writes them to --out, and the accumulator to --save, where
 * there is one.  results NULL: only the accumulator.  Returns the exit status. */
int results_deliver(const struct results *results, wf_op op, wf_type type, const struct saved *saved,
                    const struct settings *settings);

/* Does so with an accumulator's own results; it is saved even if it has none. */
int results_conclude(wf_handle *handle, const wf_accumulator *accumulator, const struct settings *settings);

#endif
