/* Words of accumulators in a device's own memory: what a device is asked to do with them. */
#ifndef WF_CORE_DEVICE_WORDS_H
#define WF_CORE_DEVICE_WORDS_H

#include "core/accumulator.h"

struct wf_grouped; /* core/grouped.h and core/shaped.h, which the kernels do not need */
struct wf_shaped;

enum wf_words_step {
    WF_STEP_GIVE,   /* writes an array's words */
    WF_STEP_SETTLE, /* leaves those indices that may be the result's */
    WF_STEP_TAKE,   /* makes the result */
    WF_STEP_STATUS  /* leaves the error of the first result that failed: a device's own, where there are several */
};

struct wf_words_task {
    enum wf_words_step step;
    const struct wf_accumulator *empty; /* the reduction, with nothing added; of WF_STEP_GIVE at its first index */
    /* With a shape, the words of all elements (head) come first, then those of one result after the other; counts are those
     * of each result.  NULL: one result, and no head. */
    const struct wf_shaped *shaped;
    wf_word_counts head, counts;
    wf_device_words words;
    /* WF_STEP_GIVE */
    const wf_array *a, *b; /* contiguous if there is no shape; b: NULL except for pairs */
    int64_t count;         /* with a shape, positions */
    const struct wf_grouped *grouped; /* with a shape: the same array and its groups */
    bool joins;
    /* WF_STEP_SETTLE */
    const int64_t *own;
    /* WF_STEP_TAKE */
    const wf_output *output;
    bool has_fill;
    wf_value fill; /* of results without a value, where there is a shape */
};

#endif
