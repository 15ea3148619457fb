/* Words of accumulators in the GPU's memory: an array's partial stays there, and one warp makes words of it, or a result of
 * all ranks' words. */
#include "core/device_words.h"
#include "core/array.h"
#include "core/shaped.h"
#include "cuda/cuda.h"
#include "cuda/groups.h"
#include "cuda/word_arguments.h"

enum { WARP = 32, WARPS_MAX = 1 << 16, SLICE_NBYTES = 1 << 27 };

static wf_error check_memory(wf_handle *handle, const void *pointer, const char *name) {
    bool is_host = false;
    wf_error error = pointer ? wf_cuda_is_host(handle, pointer, &is_host) : WF_OK;
    if (!error && is_host)
        error = wf_fail(handle, WF_ERROR_ARGUMENT, "%s must be in the GPU's memory; of host memory use wf_accumulator_words",
                        name);
    return error;
}

static wf_error check_places(wf_handle *handle, const struct wf_words_task *task) {
    const wf_device_words *words = &task->words;
    wf_error error = check_memory(handle, words->added, "the words to be added");
    if (!error) error = check_memory(handle, words->largest, "the largest words");
    if (!error) error = check_memory(handle, words->indices, "the indices");
    if (!error) error = check_memory(handle, words->agreed, "the words to agree by");
    if (!error) error = check_memory(handle, task->own, "the own largest words");
    if (!error && task->count) error = check_memory(handle, task->a->data, "the array");
    if (!error && task->count && task->b) error = check_memory(handle, task->b->data, "the array");
    if (!error && task->output) error = check_memory(handle, task->output->data, "the result");
    if (!error && task->output) error = check_memory(handle, task->output->status, "the status");
    return error;
}

/* What there is of several results. */
static void describe_shape(const struct wf_words_task *task, wf_cuda_pointer failed, struct wf_word_arguments *words) {
    const struct wf_shaped *shaped = task->shaped;
    words->has_shape = 1;
    words->results = shaped->count;
    words->head_added = (int)task->head.added;
    words->head_largest = (int)task->head.largest;
    words->failed = failed;
    words->has_fill = task->has_fill;
    if (task->has_fill) wf_value_store(&task->fill, &words->fill);
    if (!task->output) return;
    int64_t stride_bytes[WF_NDIM_MAX];
    const wf_array results = wf_array_nd(task->output->data, task->output->type, shaped->ndim, shaped->shape,
                                         task->output->stride_bytes);
    wf_array_strides(&results, stride_bytes);
    words->ndim = shaped->ndim;
    for (int d = 0; d < shaped->ndim; d++) words->shape[d] = shaped->shape[d];
    for (int d = 0; d < shaped->ndim; d++) words->stride_bytes[d] = stride_bytes[d];
}

static struct wf_word_arguments make_arguments(const struct wf_words_task *task, wf_cuda_pointer partial) {
    const struct wf_accumulator *acc = task->empty;
    return (struct wf_word_arguments){
        .step = (int)task->step,
        .joins = task->joins,
        .op = (int)acc->op,
        .type = (int)acc->type,
        .nan = (int)acc->nan,
        .result_type = (int)acc->result_type,
        .parts = acc->parts,
        .ddof = acc->ddof,
        .settings = task->counts.settings,
        .first_index = acc->first_index,
        .end_index = acc->first_index + task->count,
        .count = task->count,
        .partial = partial,
        .added_count = (int)task->counts.added,
        .largest_count = (int)task->counts.largest,
        .index_count = (int)task->counts.indices,
        .added = (uintptr_t)task->words.added,
        .largest = (uintptr_t)task->words.largest,
        .indices = (uintptr_t)task->words.indices,
        .agreed = (uintptr_t)task->words.agreed,
        .own = (uintptr_t)task->own,
        .value = task->output ? (uintptr_t)task->output->data : 0,
        .status = task->output ? (uintptr_t)task->output->status : 0,
    };
}

/* As many warps as there are results. */
static wf_error launch(wf_handle *handle, const struct wf_words_task *task, struct wf_word_arguments words, int64_t results) {
    struct wf_cuda *cuda = handle->device_state;
    const struct wf_accumulator *acc = task->empty;
    void *arguments[] = {&words};
    const unsigned grid = results > WARPS_MAX ? WARPS_MAX : results ? (unsigned)results : 1;
    struct wf_kernel_key key;
    wf_cuda_function function;
    memset(&key, 0, sizeof key);
    key.type = acc->type;
    key.parts = acc->parts;
    key.is_indexed = wf_accumulator_is_indexed(acc);
    if (acc->op != WF_STATS) {
        key.finish_op = acc->op;
        key.finish_type = wf_accumulator_result_type(acc, acc->op);
    }
    wf_error error = wf_kernels_words(handle, &cuda->gpu, &cuda->kernels, &key, &function);
    if (error) return error;
    return WF_DRIVER_CALL(handle, LaunchKernel, (function, grid, 1, 1, WARP, 1, 1, 0, cuda->stream, arguments, NULL),
                          "words of the %s of %s", wf_op_name(acc->op), wf_type_name(acc->type));
}

/* ---- words of results with a shape */

struct giving {
    const struct wf_words_task *task;
    struct wf_word_arguments words;
};

static wf_error give_slice(wf_handle *handle, void *data, const struct wf_group_arguments *slice, int64_t first) {
    struct giving *giving = data;
    giving->words.slots = slice->slots;
    giving->words.slot_count = slice->count;
    giving->words.first_result = first;
    giving->words.bad = slice->bad;
    return launch(handle, giving->task, giving->words, slice->count);
}

static wf_error give_groups(wf_handle *handle, const struct wf_words_task *task, struct wf_word_arguments words) {
    struct giving giving = {task, words};
    const struct wf_cuda_slots_user user = {give_slice, &giving, SLICE_NBYTES / sizeof(struct wf_group_slot), false};
    if (task->grouped->layout->reduced_count && task->shaped->count)
        return wf_cuda_reduce_to_slots(handle, task->grouped, task->empty->parts, &user);
    return launch(handle, task, words, task->shaped->count);
}

/* failed: scratch memory. */
static wf_error take_results(wf_handle *handle, const struct wf_words_task *task, struct wf_word_arguments words) {
    const struct wf_cuda *cuda = handle->device_state;
    wf_error error = WF_DRIVER_CALL(handle, MemsetD8Async, (words.failed, 0xff, sizeof(uint64_t), cuda->stream), "the status");
    if (!error) error = launch(handle, task, words, task->shaped->count);
    words.step = WF_STEP_STATUS;
    return error || !words.status ? error : launch(handle, task, words, 1);
}

static wf_error pass_shaped(wf_handle *handle, const struct wf_words_task *task) {
    const struct wf_cuda *cuda = handle->device_state;
    struct wf_word_arguments words = make_arguments(task, 0);
    describe_shape(task, cuda->partials, &words);
    wf_error error = check_places(handle, task);
    if (error) return error;
    if (task->step == WF_STEP_GIVE) return give_groups(handle, task, words);
    if (task->step == WF_STEP_TAKE) return take_results(handle, task, words);
    return launch(handle, task, words, task->shaped->count / WARP + 1);
}

/* ---- words of a whole array */

static wf_error pass(wf_handle *handle, const struct wf_words_task *task) {
    const struct wf_cuda *cuda = handle->device_state;
    const struct wf_cuda_target target = {.partial = cuda->partials}; /* the first slot's: the stream orders its uses */
    wf_error error = check_places(handle, task);
    if (!error && task->step == WF_STEP_GIVE) {
        const bool has_pairs = task->count && task->b;
        const struct wf_cuda_range range = {task->count ? (uintptr_t)task->a->data : 0,
                                            has_pairs ? (uintptr_t)task->b->data : 0, task->count,
                                            task->empty->first_index};
        error = wf_cuda_launch(handle, task->empty, &range, &target);
    }
    return error ? error : launch(handle, task, make_arguments(task, target.partial), 1);
}

wf_error wf_cuda_pass_words(wf_handle *handle, const struct wf_words_task *task) {
    struct wf_cuda *cuda = handle->device_state;
    wf_error error = wf_gpu_enter(handle, &cuda->gpu);
    if (error) return error;
    error = (task->shaped ? pass_shaped : pass)(handle, task);
    wf_gpu_leave(&cuda->gpu);
    return error;
}
