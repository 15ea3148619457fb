/* A pass over the ordered keys of an input, which leaves out those of NaN and counts them. */
#ifndef WF_IO_KEY_PASS_H
#define WF_IO_KEY_PASS_H

#include "core/ordered.h"
#include "io/input.h"

struct wf_key_pass {
    struct wf_ordering ordering;
    /* Several threads at once, each with its own number. */
    void (*add)(void *context, int thread, const uint64_t *keys, int64_t count);
    void *context;
    int64_t number_count[WF_INPUT_THREADS_MAX], nan_count[WF_INPUT_THREADS_MAX]; /* of each thread */
};

/* Sets up ordering, add and context; the counts are 0. */
void wf_key_pass_begin(struct wf_key_pass *pass, wf_type type, void (*add)(void *, int, const uint64_t *, int64_t), void *context);
wf_error wf_key_pass_run(struct wf_key_pass *pass, struct wf_input *input);
int64_t wf_key_pass_nan_count(const struct wf_key_pass *pass);

/* Where a NaN was met though the policy is WF_NAN_ERROR: fails with its index, as every reduction does. */
wf_error wf_fail_nan(struct wf_input *input);

#endif
