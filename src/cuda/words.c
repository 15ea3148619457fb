/* Words of accumulators in the GPU's memory: an array's partial stays there, and one warp makes words of it, or a result of
 * all ranks' words. */
#include "core/device_words.h"
#include "cuda/cuda.h"
#include "cuda/word_arguments.h"

enum { WARP = 32 };

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

static wf_error launch(wf_handle *handle, const struct wf_words_task *task, wf_cuda_pointer partial) {
    struct wf_cuda *cuda = handle->device_state;
    const struct wf_accumulator *acc = task->empty;
    struct wf_word_arguments words = make_arguments(task, partial);
    void *arguments[] = {&words};
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
    return WF_DRIVER_CALL(handle, LaunchKernel, (function, 1, 1, 1, WARP, 1, 1, 0, cuda->stream, arguments, NULL),
                          "words of the %s of %s", wf_op_name(acc->op), wf_type_name(acc->type));
}

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
    return error ? error : launch(handle, task, target.partial);
}

wf_error wf_cuda_pass_words(wf_handle *handle, const struct wf_words_task *task) {
    struct wf_cuda *cuda = handle->device_state;
    wf_error error = wf_gpu_enter(handle, &cuda->gpu);
    if (error) return error;
    error = pass(handle, task);
    wf_gpu_leave(&cuda->gpu);
    return error;
}
