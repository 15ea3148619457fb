#include "io/key_pass.h"

#include "core/handle.h"

void wf_key_pass_begin(struct wf_key_pass *pass, wf_type type, void (*add)(void *, int, const uint64_t *, int64_t), void *context) {
    *pass = (struct wf_key_pass){.ordering = wf_ordering_of(type), .add = add, .context = context};
}

static void add_elements(void *context, int thread, const void *elements, int64_t count) {
    enum { BLOCK = 512 };
    struct wf_key_pass *pass = context;
    uint64_t keys[BLOCK];
    int64_t number_count = 0;
    for (int64_t i = 0; i < count; i += BLOCK) {
        const char *block = (const char *)elements + i * (pass->ordering.width / 8);
        int64_t key_count = wf_ordered_keys(&pass->ordering, block, count - i < BLOCK ? count - i : BLOCK, keys);
        pass->add(pass->context, thread, keys, key_count);
        number_count += key_count;
    }
    pass->number_count[thread] += number_count;
    pass->nan_count[thread] += count - number_count;
}

wf_error wf_key_pass_run(struct wf_key_pass *pass, struct wf_input *input) {
    return wf_input_visit(input, add_elements, pass);
}

int64_t wf_key_pass_nan_count(const struct wf_key_pass *pass) {
    int64_t count = 0;
    for (int i = 0; i < WF_INPUT_THREADS_MAX; i++) count += pass->nan_count[i];
    return count;
}

/* The minimum of the same elements, which fails. */
wf_error wf_fail_nan(struct wf_input *input) {
    wf_reduction reduction = wf_reduction_of(WF_MIN);
    wf_value value;
    reduction.nan = WF_NAN_ERROR;
    wf_accumulator *accumulator = NULL;
    wf_error error = wf_accumulator_create(input->handle, &reduction, input->type, 0, NULL, &accumulator);
    if (!error && input->reader) error = wf_reader_rewind(input->handle, input->reader);
    if (!error)
        error = input->reader ? wf_accumulator_add_reader(input->handle, accumulator, input->reader, NULL)
                              : wf_accumulator_add(input->handle, accumulator, &input->array, NULL, NULL);
    if (!error) error = wf_accumulator_value(input->handle, accumulator, WF_MIN, &value);
    wf_accumulator_destroy(accumulator);
    return error ? error : wf_fail(input->handle, WF_ERROR_NAN, "the input has a NaN");
}
