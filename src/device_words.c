/* Words of accumulators in a device's own memory: the public functions. */
#include "core/device_words.h"
#include "core/array.h"
#include "core/grouped.h"
#include "core/handle.h"
#include "core/reduction.h"
#include "core/shaped.h"
#include "core/view.h"
#include "core/words.h"

static wf_error check_words(wf_handle *handle, const struct wf_words_task *task) {
    const wf_device_words *words = &task->words;
    const wf_word_counts *counts = &task->counts;
    const bool needs_sums = task->step != WF_STEP_SETTLE, needs_largest = counts->largest || task->head.largest;
    const uintptr_t addresses = (uintptr_t)words->added | (uintptr_t)words->largest | (uintptr_t)words->indices |
                                (uintptr_t)words->agreed | (uintptr_t)task->own;
    if ((needs_sums && !words->added) || (needs_largest && !words->largest) || (counts->indices && !words->indices))
        return wf_fail(handle, WF_ERROR_ARGUMENT, "the words are NULL; wf_accumulator_word_counts says which there are");
    if (addresses % sizeof(int64_t))
        return wf_fail(handle, WF_ERROR_ARGUMENT, "words in device memory must be aligned to their size");
    return WF_OK;
}

/* The words of each result, and those before them. */
static void set_shape(struct wf_words_task *task, const struct wf_shaped *shaped) {
    struct wf_words words = {.direction = WF_WORDS_MEASURE};
    struct wf_accumulator *empty = (struct wf_accumulator *)(uintptr_t)task->empty;
    uint64_t count = 0;
    wf_words_elements(&words, empty);
    task->shaped = shaped;
    task->head = words.counts;
    words.counts = (wf_word_counts){0};
    wf_words_count(&words, &count);
    wf_words_parts(&words, empty);
    const uint64_t settings = task->counts.settings;
    task->counts = shaped->count ? words.counts : (wf_word_counts){0};
    task->counts.settings = settings;
}

/* empty: memory for the task's. */
static wf_error begin(wf_handle *handle, const wf_accumulator *accumulator, int64_t first_index, const wf_device_words *words,
                      struct wf_words_task *task, struct wf_accumulator *empty) {
    wf_error error = wf_accumulator_word_counts(handle, accumulator, &task->counts);
    if (error) return error;
    if (!words) return wf_fail(handle, WF_ERROR_ARGUMENT, "the words are NULL");
    error = wf_check_nbytes(handle, "wf_device_words", words, words->nbytes, sizeof *words);
    if (error) return error;
    if (accumulator->shaped && accumulator->op == WF_STATS)
        return wf_fail(handle, WF_ERROR_UNSUPPORTED, "stats with a shape have words in host memory alone: reduce op by op");
    if (!task->counts.added)
        return wf_fail(handle, WF_ERROR_UNSUPPORTED, "%s has no words: merge accumulators instead", wf_op_name(accumulator->op));
    if (!handle->device->pass_words)
        return wf_fail(handle, WF_ERROR_UNSUPPORTED, "words in device memory need a handle of a GPU, not of %s: in host memory "
                       "use wf_accumulator_words", handle->device->name);
    wf_accumulator_init_like(empty, accumulator, first_index, NULL);
    task->words = *words;
    task->empty = empty;
    if (accumulator->shaped) set_shape(task, accumulator->shaped);
    return WF_OK;
}

static wf_error run(wf_handle *handle, const struct wf_words_task *task) {
    wf_error error = check_words(handle, task);
    return error ? error : handle->device->pass_words(handle, task);
}

/* A whole array. */
static wf_error give_all(wf_handle *handle, struct wf_words_task *task) {
    struct wf_view view;
    wf_view_make(&view, task->a, task->b, wf_accumulator_is_indexed(task->empty));
    if (task->count && !wf_view_is_packed(&view))
        return wf_fail(handle, WF_ERROR_UNSUPPORTED, "the array is not contiguous: copy it, or use an accumulator");
    return run(handle, task);
}

/* Groups, each of which is a result's. */
static wf_error give_groups(wf_handle *handle, struct wf_words_task *task, const wf_groups *groups, bool skips_bad_keys) {
    struct wf_layout layout;
    const wf_output nowhere = {.data = NULL};
    const struct wf_grouped grouped = {.empty = task->empty, .a = task->a, .b = task->b, .layout = &layout, .groups = groups,
                                       .output = &nowhere, .skips_bad_keys = skips_bad_keys};
    wf_error error = wf_layout_make(handle, &layout, task->a, task->b, groups);
    if (!error) error = wf_shape_check(handle, "accumulator", task->shaped->ndim, task->shaped->shape, layout.ndim, layout.shape);
    if (error) return error;
    task->grouped = &grouped;
    task->count = wf_layout_positions(&layout, task->a, groups);
    error = wf_check_total_count(handle, task->empty, task->count);
    return error ? error : run(handle, task);
}

wf_error wf_device_words_of_groups(wf_handle *handle, const wf_accumulator *accumulator, int64_t first_index, const wf_array *a,
                                   const wf_array *b, const wf_groups *groups, const wf_device_words *words, int32_t joins) {
    struct wf_accumulator empty;
    struct wf_words_task task = {.step = WF_STEP_GIVE, .a = a, .b = b, .joins = joins != 0};
    if (!handle) return WF_ERROR_ARGUMENT;
    if (!a) return wf_fail(handle, WF_ERROR_ARGUMENT, "the array is NULL");
    if (first_index < 0) return wf_fail(handle, WF_ERROR_ARGUMENT, "the first index is negative");
    wf_error error = begin(handle, accumulator, first_index, words, &task, &empty);
    if (!error) error = wf_check_operands(handle, &empty, a, b, &task.count);
    if (!error) error = wf_check_total_count(handle, &empty, task.count);
    if (error) return error;
    if (accumulator->shaped) return give_groups(handle, &task, groups, accumulator->shaped->flags & WF_SKIP_BAD_KEYS);
    if (groups && groups->by != WF_GROUP_ALL)
        return wf_fail(handle, WF_ERROR_ARGUMENT, "the accumulator has no shape, but there are groups: give it that of their "
                       "results");
    return give_all(handle, &task);
}

wf_error wf_device_words_of(wf_handle *handle, const wf_accumulator *accumulator, int64_t first_index, const wf_array *a,
                            const wf_array *b, const wf_device_words *words, int32_t joins) {
    return wf_device_words_of_groups(handle, accumulator, first_index, a, b, NULL, words, joins);
}

wf_error wf_device_words_settle(wf_handle *handle, const wf_accumulator *accumulator, const wf_device_words *words,
                                const int64_t *own) {
    struct wf_accumulator empty;
    struct wf_words_task task = {.step = WF_STEP_SETTLE, .own = own};
    if (!handle) return WF_ERROR_ARGUMENT;
    wf_error error = begin(handle, accumulator, 0, words, &task, &empty);
    if (error || !task.counts.indices) return error;
    if (!own) return wf_fail(handle, WF_ERROR_ARGUMENT, "the own largest words are NULL");
    return run(handle, &task);
}

static wf_error check_output_shape(wf_handle *handle, const struct wf_shaped *shaped, const wf_output *output) {
    if (shaped) return wf_shape_check(handle, "output", output->ndim, output->shape, shaped->ndim, shaped->shape);
    if (!output->ndim) return WF_OK;
    return wf_fail(handle, WF_ERROR_ARGUMENT, "the output has %d dimensions; one result has 0", (int)output->ndim);
}

/* The bits of the address and of all strides of the results. */
static uint64_t bits_of_places(const wf_output *output) {
    uint64_t bits = (uintptr_t)output->data;
    for (int32_t d = 0; d < output->ndim && output->stride_bytes; d++) bits |= (uint64_t)output->stride_bytes[d];
    return bits;
}

static wf_error check_output(wf_handle *handle, const struct wf_accumulator *acc, const struct wf_shaped *shaped,
                             const wf_output *output) {
    if (!output || !output->data) return wf_fail(handle, WF_ERROR_ARGUMENT, "the output, or its data, is NULL");
    if (acc->op == WF_STATS)
        return wf_fail(handle, WF_ERROR_UNSUPPORTED, "stats has no single value: bring its words to the host");
    const wf_type type = wf_accumulator_result_type(acc, acc->op);
    if (output->type && output->type != type)
        return wf_fail(handle, WF_ERROR_ARGUMENT, "the output's type is %s, but the accumulator's result is %s",
                       wf_type_name(output->type), wf_type_name(type));
    wf_error error = check_output_shape(handle, shaped, output);
    if (error) return error;
    if (bits_of_places(output) % wf_type_nbytes(type) || (uintptr_t)output->status % sizeof *output->status)
        return wf_fail(handle, WF_ERROR_ARGUMENT, "results and status in device memory must be aligned to their size");
    return WF_OK;
}

wf_error wf_device_words_result(wf_handle *handle, const wf_accumulator *accumulator, const wf_device_words *words,
                                const wf_output *output) {
    struct wf_accumulator empty;
    wf_output typed;
    struct wf_words_task task = {.step = WF_STEP_TAKE, .output = &typed};
    if (!handle) return WF_ERROR_ARGUMENT;
    wf_error error = begin(handle, accumulator, accumulator ? accumulator->first_index : 0, words, &task, &empty);
    if (!error) error = check_output(handle, &empty, task.shaped, output);
    if (error) return error;
    typed = *output;
    typed.type = wf_accumulator_result_type(&empty, empty.op);
    if (task.shaped) error = wf_shaped_fill(handle, task.shaped, empty.op, typed.type, &task.has_fill, &task.fill);
    return error ? error : run(handle, &task);
}
