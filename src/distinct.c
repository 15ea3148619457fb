/* The public functions that count distinct values. */
#include <stdlib.h>

#include "core/array.h"
#include "core/key_set.h"
#include "io/key_pass.h"

enum { KEYS_MAX = 1 << 22 /* of all threads' sets together: with the space that hashing needs, 64 to 128 MiB */ };

struct counting {
    struct wf_key_set *sets; /* of each thread */
    bool has_minus_zero;
    uint64_t minus_zero; /* the key that counts as the next one, +0 */
};

static void add_to_set(void *context, int thread, const uint64_t *keys, int64_t count) {
    const struct counting *counting = context;
    enum { BLOCK = 256 };
    uint64_t own[BLOCK];
    for (int64_t i = 0; i < count; i += BLOCK) {
        int64_t length = count - i < BLOCK ? count - i : BLOCK;
        for (int64_t k = 0; k < length; k++) own[k] = keys[i + k] + (counting->has_minus_zero && keys[i + k] == counting->minus_zero);
        wf_key_set_add(&counting->sets[thread], own, length);
    }
}

/* Counts the keys from low on of as many as the sets hold; *last: the last that was counted. */
static wf_error count_range(struct wf_input *input, struct wf_key_set *sets, uint64_t low, uint64_t *last, int64_t *count,
                            int64_t *nan_count) {
    struct wf_key_pass pass;
    struct counting counting = {.sets = sets, .has_minus_zero = wf_type_is_float(input->type)};
    bool has_memory = true;
    wf_key_pass_begin(&pass, input->type, add_to_set, &counting);
    counting.minus_zero = wf_ordered_key(&pass.ordering, UINT64_C(1) << (pass.ordering.width - 1));
    for (int i = 0; i < input->thread_count; i++)
        wf_key_set_begin(&sets[i], low, pass.ordering.highest, KEYS_MAX / input->thread_count);
    wf_error error = wf_key_pass_run(&pass, input);
    *last = pass.ordering.highest;
    for (int i = 0; i < input->thread_count; i++) {
        has_memory &= !sets[i].is_out_of_memory;
        if (sets[i].last < *last) *last = sets[i].last;
    }
    *count = error || !has_memory ? -1 : wf_key_sets_count(sets, input->thread_count, *last);
    for (int i = 0; i < input->thread_count; i++) wf_key_set_end(&sets[i]);
    *nan_count = wf_key_pass_nan_count(&pass);
    if (!error && *count < 0) error = wf_fail(input->handle, WF_ERROR_MEMORY, "out of memory for distinct values");
    return error;
}

static wf_error count_distinct(struct wf_input *input, wf_nan nan, int64_t *count) {
    struct wf_key_set *sets = calloc(WF_INPUT_THREADS_MAX, sizeof *sets);
    if (!sets) return wf_fail(input->handle, WF_ERROR_MEMORY, "out of memory for distinct values");
    const uint64_t highest = wf_ordering_of(input->type).highest;
    int64_t total = 0, part, nan_count = 0;
    wf_error error = WF_OK;
    uint64_t low = 0, last = 0;
    do {
        error = count_range(input, sets, low, &last, &part, &nan_count);
        total += part;
        if (!error && nan_count && nan == WF_NAN_ERROR) error = wf_fail_nan(input);
        low = last + 1;
    } while (!error && last < highest);
    free(sets);
    if (!error) *count = total + (nan_count && nan == WF_NAN_PROPAGATE);
    return error;
}

static wf_error check_policy(wf_handle *handle, wf_nan nan) {
    return (unsigned)nan <= WF_NAN_ERROR ? WF_OK : wf_fail(handle, WF_ERROR_ARGUMENT, "invalid NaN policy %d", (int)nan);
}

wf_error wf_count_distinct(wf_handle *handle, wf_nan nan, const wf_array *a, int64_t *count) {
    struct wf_input input;
    int64_t length;
    if (!handle || !a || !count)
        return wf_fail(handle, WF_ERROR_ARGUMENT, "wf_count_distinct needs a handle, an array and a pointer to the count");
    wf_error error = wf_array_check(handle, a, NULL, &length);
    if (!error) error = check_policy(handle, nan);
    if (!error) error = wf_input_of_array(handle, a, &input);
    if (error) return error;
    error = count_distinct(&input, nan, count);
    wf_input_close(&input);
    return error;
}

wf_error wf_count_distinct_reader(wf_handle *handle, wf_nan nan, wf_reader *reader, int64_t *count) {
    struct wf_input input;
    if (!handle || !reader || !count)
        return wf_fail(handle, WF_ERROR_ARGUMENT, "wf_count_distinct_reader needs a handle, a reader and a pointer to the count");
    wf_error error = check_policy(handle, nan);
    if (!error) error = wf_input_of_reader(handle, reader, &input);
    if (error) return error;
    error = count_distinct(&input, nan, count);
    wf_input_close(&input);
    return error;
}
