/* What reductions of whole arrays on a GPU are made of: a launch, the slots that chunks in flight have, and where memory is. */
#include "core/array.h"
#include "cuda/cuda.h"

#include <string.h>

/* ---- a launch ------------------------------------------------------------------------------------ */

static bool is_indexed(const struct wf_accumulator *acc) {
    return acc->parts & (WF_PART_MIN | WF_PART_MAX) && wf_accumulator_is_indexed(acc);
}

/* The largest power of two, up to a vector's, that divides all addresses, and by which both arrays lie alike. */
static int find_alignment(const struct wf_cuda_range *range, size_t nbytes) {
    uint64_t apart = range->y ? range->x ^ range->y : 0;
    bool aligned = range->x % nbytes == 0 && (apart & 15) == 0;
    if (aligned) return 16;
    uint64_t bits = range->x | range->y | 8;
    int alignment = (int)(bits & -bits);
    return alignment < (int)nbytes ? alignment : (int)nbytes;
}

/* Cuts the range into whole vectors, what lies before the first and what after the last. */
static void cut(struct wf_kernel_arguments *reduction, const struct wf_cuda_range *range, size_t nbytes,
                int alignment) {
    uint64_t per_vector = 16 / nbytes, misplaced = alignment == 16 ? range->x % 16 : 0;
    uint64_t count = (uint64_t)range->count, head = misplaced ? (16 - misplaced) / nbytes : 0;
    if (head > count) head = count;
    reduction->x = range->x + head * nbytes;
    reduction->y = range->y ? range->y + head * nbytes : 0;
    reduction->vectors = (count - head) / per_vector;
    reduction->head = (unsigned)head;
    reduction->tail = (unsigned)((count - head) % per_vector);
    reduction->index = range->index + (int64_t)head;
}

static int64_t vectors_nbytes(const struct wf_kernel_arguments *reduction) {
    return 16 * (int64_t)(reduction->vectors + (reduction->head != 0) + (reduction->tail != 0));
}

static struct wf_kernel_key make_key(const struct wf_accumulator *acc, const struct wf_cuda_plan *plan, int alignment,
                                     bool finishes) {
    struct wf_kernel_key key;
    memset(&key, 0, sizeof key);
    key.type = acc->type;
    key.parts = acc->parts;
    key.is_indexed = is_indexed(acc);
    key.is_small = plan->is_small;
    key.alignment = alignment;
    key.block = plan->block;
    key.vectors = plan->vectors;
    key.stages = plan->stages;
    key.resident = plan->resident;
    key.sums_nbytes = plan->sums_nbytes;
    if (finishes) {
        key.finish_op = acc->op;
        key.finish_type = wf_accumulator_result_type(acc, acc->op);
    }
    return key;
}

/* Whether a result may be made of sums that lack something, and if that leaves it uncertain, once more of exact ones: see
 * kernels/losses.cuh. */
static bool may_lose(const struct wf_cuda *cuda, const struct wf_accumulator *acc, const struct wf_cuda_task *task,
                     const struct wf_cuda_target *target) {
    const bool of_squares = acc->parts & WF_PART_SQUARES && !(acc->parts & ~(unsigned)(WF_PART_SUM | WF_PART_SQUARES));
    if (!target->value || !of_squares || task->nbytes < cuda->gpu.loses_from) return false;
    return (acc->type == WF_F32 || acc->type == WF_F64) && wf_accumulator_may_lose(acc);
}

static int losing_of(const struct wf_accumulator *acc) {
    return 2 * (acc->type == WF_F64) + !!(acc->parts & WF_PART_SUM);
}

/* Narrow data lose nothing, and would wait for a second kernel that finds nothing to do, 14 us, and for the copy of that, 9.
 * So this is tried, and asked for, once in CALLS calls, and the others do as was best then.  In a graph, whose data are
 * not known yet, nothing is tried. */
static bool is_worth_losing(struct wf_cuda *cuda, const struct wf_accumulator *acc, bool *asks) {
    enum { CALLS = 64 };
    struct wf_cuda_losing *losing = &cuda->losing[losing_of(acc)];
    *asks = !wf_cuda_is_capturing(cuda->stream) && losing->waits-- <= 0;
    if (*asks) losing->waits = CALLS - 1;
    return *asks || *losing->outcome == WF_LOSING_WAS_WORTH_IT;
}

static wf_error launch(wf_handle *handle, const struct wf_accumulator *acc, const struct wf_cuda_plan *plan,
                       const struct wf_kernel_key *key, struct wf_kernel_arguments *reduction, long long count) {
    struct wf_cuda *cuda = handle->device_state;
    void *arguments[] = {reduction};
    wf_cuda_function function;
    wf_error error = wf_kernels_reduce(handle, &cuda->gpu, &cuda->kernels, key, plan->shared_nbytes, &function);
    if (error) return error;
    wf_cuda_result result = wf_driver_launch(function, (unsigned)plan->grid, (unsigned)plan->block,
                                             (unsigned)plan->shared_nbytes, cuda->stream, arguments,
                                             key->repeats && reduction->outcome);
    return wf_driver_check(handle, result, "cuLaunchKernel", "the %s of %lld %s", wf_op_name(acc->op), count,
                           wf_type_name(acc->type));
}

/* Launches a kernel that may lose something, and the one of the key, which adds all exactly if the result is not certain. */
static wf_error launch_pair(wf_handle *handle, const struct wf_accumulator *acc, const struct wf_cuda_task *task,
                            const struct wf_kernel_key *key, struct wf_kernel_arguments *reduction, long long count) {
    struct wf_cuda *cuda = handle->device_state;
    struct wf_cuda_task losing = *task;
    losing.loses = true;
    struct wf_cuda_plan plan = wf_cuda_plan_make(&losing, &cuda->gpu);
    struct wf_kernel_key first = make_key(acc, &plan, key->alignment, true);
    first.loses = true;
    reduction->outcome = cuda->ticket + 8;
    wf_error error = launch(handle, acc, &plan, &first, reduction, count);
    return error ? error : launch(handle, acc, &cuda->plan, key, reduction, count);
}

static wf_error ask_for_outcome(wf_handle *handle, const struct wf_accumulator *acc,
                                const struct wf_kernel_arguments *reduction) {
    const struct wf_cuda *cuda = handle->device_state;
    void *to = (void *)cuda->losing[losing_of(acc)].outcome;
    return WF_DRIVER_CALL(handle, MemcpyDtoHAsync, (to, reduction->outcome, sizeof(int), cuda->stream), "what was lost");
}

wf_error wf_cuda_launch(wf_handle *handle, const struct wf_accumulator *acc, const struct wf_cuda_range *range,
                        const struct wf_cuda_target *target) {
    struct wf_cuda *cuda = handle->device_state;
    size_t nbytes = wf_type_nbytes(acc->type);
    int alignment = find_alignment(range, nbytes);
    struct wf_kernel_arguments reduction = {
        .extrema = cuda->extrema,
        .published = cuda->published,
        .working = cuda->working,
        .ticket = cuda->ticket,
        .partial = target->partial,
        .value = target->value,
        .status = target->status,
        .count = target->count,
        .first_index = target->first_index,
        .end_index = target->end_index,
        .ddof = acc->ddof,
        .nan = (int)acc->nan,
        .result_type = (int)acc->result_type,
        .has_fill = target->fill != NULL,
    };
    if (target->fill) wf_value_store(target->fill, &reduction.fill);
    cut(&reduction, range, nbytes, alignment);
    struct wf_cuda_task task = {acc->type, acc->parts, is_indexed(acc), alignment, vectors_nbytes(&reduction), false};
    struct wf_cuda_plan plan = cuda->plan = wf_cuda_plan_make(&task, &cuda->gpu);
    cuda->group_plan.grid = 0;
    struct wf_kernel_key key = make_key(acc, &plan, alignment, target->value != 0);
    key.repeats = !plan.is_small && may_lose(cuda, acc, &task, target);
    bool asks = false;
    if (!key.repeats || !is_worth_losing(cuda, acc, &asks)) return launch(handle, acc, &plan, &key, &reduction, range->count);
    wf_error error = launch_pair(handle, acc, &task, &key, &reduction, range->count);
    return error || !asks ? error : ask_for_outcome(handle, acc, &reduction);
}

/* ---- slots --------------------------------------------------------------------------------------- */

wf_error wf_cuda_ensure_slot(wf_handle *handle, int slot, int operands, bool on_host) {
    struct wf_cuda *cuda = handle->device_state;
    struct wf_cuda_slot *memory = &cuda->slot[slot];
    wf_error error = WF_OK;
    for (int o = 0; o < operands && !error; o++) {
        if (!memory->device[o])
            error = WF_DRIVER_CALL(handle, MemAlloc, (&memory->device[o], (size_t)WF_CUDA_CHUNK_NBYTES),
                                   "%lld bytes", (long long)WF_CUDA_CHUNK_NBYTES);
        if (!error && on_host && !memory->host[o])
            error = WF_DRIVER_CALL(handle, MemHostAlloc,
                                   ((void **)&memory->host[o], (size_t)WF_CUDA_CHUNK_NBYTES, WF_CUDA_HOST_PORTABLE),
                                   "%lld bytes", (long long)WF_CUDA_CHUNK_NBYTES);
    }
    return error;
}

static wf_cuda_pointer slot_partial(const struct wf_cuda *cuda, int slot) {
    return cuda->partials + (uint64_t)slot * sizeof(struct wf_partial);
}

static wf_error bring_partial(wf_handle *handle, int slot) {
    struct wf_cuda *cuda = handle->device_state;
    wf_error error = WF_DRIVER_CALL(
        handle, MemcpyDtoHAsync,
        (&cuda->host_partials[slot], slot_partial(cuda, slot), sizeof(struct wf_partial), cuda->stream),
        "the partial");
    if (!error) error = WF_DRIVER_CALL(handle, EventRecord, (cuda->slot[slot].done, cuda->stream), "the stream");
    cuda->slot[slot].busy = !error;
    return error;
}

wf_error wf_cuda_start(wf_handle *handle, const struct wf_accumulator *acc, const struct wf_cuda_range *range,
                       int slot) {
    struct wf_cuda *cuda = handle->device_state;
    struct wf_cuda_target target = {.partial = slot_partial(cuda, slot)};
    wf_error error = wf_cuda_launch(handle, acc, range, &target);
    return error ? error : bring_partial(handle, slot);
}

wf_error wf_cuda_collect(wf_handle *handle, int slot, struct wf_accumulator *into) {
    struct wf_cuda *cuda = handle->device_state;
    wf_error error = WF_DRIVER_CALL(handle, EventSynchronize, (cuda->slot[slot].done), "cuda:%d", cuda->gpu.ordinal);
    cuda->slot[slot].busy = false;
    if (!error) wf_partial_merge(&into->partial, &cuda->host_partials[slot], into->type, into->parts);
    return error;
}

/* ---- memory and streams -------------------------------------------------------------------------- */

wf_error wf_cuda_is_host(wf_handle *handle, const void *pointer, bool *is_host) {
    enum { INVALID_VALUE = 1 }; /* memory that the driver knows nothing of */
    struct wf_cuda *cuda = handle->device_state;
    unsigned type = WF_CUDA_MEMORY_HOST;
    int ordinal = cuda->gpu.ordinal;
    wf_cuda_pointer address = (uintptr_t)pointer;
    const struct wf_driver *driver = wf_driver_open(NULL, 0);
    wf_cuda_result result = driver->PointerGetAttribute(&type, WF_CUDA_POINTER_MEMORY_TYPE, address);
    if (!result && type == WF_CUDA_MEMORY_DEVICE)
        result = driver->PointerGetAttribute(&ordinal, WF_CUDA_POINTER_ORDINAL, address);
    *is_host = result == INVALID_VALUE || type == WF_CUDA_MEMORY_HOST;
    if (result && result != INVALID_VALUE)
        return wf_driver_check(handle, result, "cuPointerGetAttribute", "%p", pointer);
    if (ordinal == cuda->gpu.ordinal) return WF_OK;
    return wf_fail(handle, WF_ERROR_ARGUMENT, "the array is in the memory of cuda:%d, not of cuda:%d: use a handle "
                   "of that GPU, or auto", ordinal, cuda->gpu.ordinal);
}

wf_error wf_cuda_find_memory(wf_handle *handle, const wf_array *a, const wf_array *b, bool *is_host) {
    bool b_is_host;
    wf_error error = wf_cuda_is_host(handle, a->data, is_host);
    if (error || !b) return error;
    error = wf_cuda_is_host(handle, b->data, &b_is_host);
    if (!error && b_is_host != *is_host)
        error = wf_fail(handle, WF_ERROR_ARGUMENT, "one array is in host memory, the other on the GPU: both must "
                        "be in the same memory");
    return error;
}

bool wf_cuda_is_capturing(wf_cuda_stream stream) {
    int status = 0; /* an error, too: the legacy default stream has one while another stream is being captured */
    return wf_driver_open(NULL, 0)->StreamIsCapturing(stream, &status) || status;
}
