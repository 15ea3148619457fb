/* Words of accumulators in a device's own memory: what a device is asked to do with them. */
#ifndef WF_CORE_DEVICE_WORDS_H
#define WF_CORE_DEVICE_WORDS_H

#include "core/accumulator.h"

enum wf_words_step {
    WF_STEP_GIVE,   /* writes an array's words */
    WF_STEP_SETTLE, /* leaves those indices that may be the result's */
    WF_STEP_TAKE    /* makes the result */
};

struct wf_words_task {
    enum wf_words_step step;
    const struct wf_accumulator *empty; /* the reduction, with nothing added; of WF_STEP_GIVE at its first index */
    wf_word_counts counts;
    wf_device_words words;
    /* WF_STEP_GIVE */
    const wf_array *a, *b; /* contiguous; b: NULL but for pairs */
    int64_t count;
    bool joins;
    /* WF_STEP_SETTLE */
    const int64_t *own;
    /* WF_STEP_TAKE */
    const wf_output *output;
};

#endif
