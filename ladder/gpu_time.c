/* Timing on a GPU: between two events in the stream. */
#include <stdlib.h>
#include <string.h>

#include "gpu.h"
#include "gpu_parts.h"
#include "ladder_parts.h"
#include "stage.h"

/* Each repetition has a slot of its own for its result, so that nothing is reset between two. */
enum { SLOT_NBYTES = 256, SLOT_INDEX = 64, SLOT_TICKET = 128 };

enum {
    ROW_MIN = 4,        /* repetitions between two events, which cost some time themselves */
    HEAD_START_MAX = 16 /* reads of the array before the first */
};
#define HEAD_START_NBYTES (UINT64_C(1) << 30)

struct ladder_gpu_candidate {
    struct ladder_gpu *gpu;
    const struct ladder_gpu_kernel *kernel; /* NULL: the one that only reads */
    wf_error (*repeat)(struct ladder_gpu_candidate *candidate, size_t repetition);
    struct ladder_task task;
    struct ladder_passes passes;
    struct ladder_memory memory; /* with the first slot */
    struct ladder_arena arena;
    unsigned char *slots; /* what all slots hold before a sample */
    void *partials;       /* on the host, pinned: of the finish `host`, else NULL */
};

/* ---- what is repeated ---------------------------------------------------------------------------- */

static wf_error copy_partials(const struct ladder_gpu_candidate *candidate) {
    const struct ladder_gpu *gpu = candidate->gpu;
    const struct ladder_items *partials = &candidate->memory.partials[0];
    uint64_t count = candidate->passes.list[0].plan.grid;
    size_t nbytes = count * wf_type_nbytes(candidate->task.variant.type);
    wf_error error = WF_DRIVER_CALL(gpu->handle, MemcpyDtoHAsync,
                                    (candidate->partials, partials->values, nbytes, gpu->stream),
                                    "%zu bytes of partial results", nbytes);
    if (error || !partials->indices) return error;
    return WF_DRIVER_CALL(
        gpu->handle, MemcpyDtoHAsync,
        ((char *)candidate->partials + nbytes, partials->indices, count * sizeof(int64_t), gpu->stream),
        "%llu indices", (unsigned long long)count);
}

static wf_cuda_pointer copy_for(const struct ladder_gpu *gpu, size_t repetition) {
    return gpu->copies[repetition % gpu->copy_count];
}

static wf_error repeat_kernel(struct ladder_gpu_candidate *candidate, size_t repetition) {
    struct ladder_memory memory = candidate->memory;
    wf_error error = WF_OK;
    memory.input.values = copy_for(candidate->gpu, repetition);
    memory.result.values += repetition * SLOT_NBYTES;
    memory.result.indices += repetition * SLOT_NBYTES;
    memory.ticket += repetition * SLOT_NBYTES;
    for (size_t i = 0; i < candidate->passes.count && !error; i++) {
        const void *arguments[LADDER_ARGUMENTS];
        ladder_arguments(&candidate->passes, &memory, i, arguments);
        error = ladder_gpu_launch(candidate->kernel, &candidate->passes.list[i].plan, arguments);
    }
    return error || !candidate->partials ? error : copy_partials(candidate);
}

static wf_error repeat_engine(struct ladder_gpu_candidate *candidate, size_t repetition) {
    struct ladder_gpu *gpu = candidate->gpu;
    const struct ladder_task *task = &candidate->task;
    wf_array array = wf_array_vector((const void *)(uintptr_t)copy_for(gpu, repetition), task->variant.type,
                                     (int64_t)task->n);
    uint64_t slot = candidate->memory.result.values + repetition * SLOT_NBYTES;
    const wf_reduction reduction = wf_reduction_of(task->variant.op);
    const wf_output output = {.data = (void *)(uintptr_t)slot};
    wf_error error = wf_reduce(gpu->engine, &reduction, &array, NULL, NULL, &output);
    return error ? wf_fail(gpu->handle, error, "%s", wf_handle_message(gpu->engine)) : WF_OK;
}

static wf_error launch_reader(struct ladder_gpu *gpu, wf_cuda_pointer input, uint32_t blocks,
                              uint32_t block) {
    uint64_t count = gpu->nbytes / 16;
    void *arguments[] = {&input, &count, &gpu->sink};
    unsigned grid = blocks * (unsigned)gpu->gpu.multiprocessors;
    return WF_DRIVER_CALL(gpu->handle, LaunchKernel,
                          (gpu->reader, grid, 1, 1, block, 1, 1, 0, gpu->stream, arguments, NULL),
                          "the read ceiling in %u blocks of %u threads", grid, (unsigned)block);
}

static wf_error repeat_reader(struct ladder_gpu_candidate *candidate, size_t repetition) {
    struct ladder_gpu *gpu = candidate->gpu;
    return launch_reader(gpu, copy_for(gpu, repetition), candidate->task.grid, candidate->task.block);
}

/* ---- setting up ---------------------------------------------------------------------------------- */

static wf_error load_reader(struct ladder_gpu *gpu) {
    const struct ladder_file *file = ladder_file_find("ceiling.cu");
    const char *const nothing[] = {NULL};
    if (gpu->reader) return WF_OK;
    wf_error error = wf_gpu_load(gpu->handle, &gpu->gpu, "ceiling", file->text, nothing, nothing, "read_all",
                                 &gpu->reader_module, &gpu->reader);
    return error || gpu->sink ? error : WF_DRIVER_CALL(gpu->handle, MemAlloc, (&gpu->sink, 4), "4 bytes");
}

/* Initial results: the identity for atomics, otherwise 0. */
static bool make_slots(struct ladder_gpu_candidate *candidate) {
    const struct ladder_variant *variant = &candidate->task.variant;
    candidate->slots = calloc(LADDER_COPIES_MAX, SLOT_NBYTES);
    if (!candidate->slots) return false;
    for (size_t i = 0; i < LADDER_COPIES_MAX; i++)
        if (candidate->kernel && ladder_variant_finish(variant) == LADDER_FINISH_ATOMIC)
            ladder_put_identity(candidate->slots + i * SLOT_NBYTES, variant->type, variant->op);
    return true;
}

static wf_error allocate_slots(struct ladder_gpu_candidate *candidate) {
    uint64_t slot = 0;
    wf_error error = ladder_arena_allocate(&candidate->arena, LADDER_COPIES_MAX * SLOT_NBYTES, &slot);
    candidate->memory.result = (struct ladder_items){slot, slot + SLOT_INDEX};
    candidate->memory.ticket = slot + SLOT_TICKET;
    return error;
}

static wf_error allocate_partials(struct ladder_gpu_candidate *candidate) {
    const struct ladder_variant *variant = &candidate->task.variant;
    struct ladder_arena *arena = &candidate->arena;
    size_t element_nbytes = wf_type_nbytes(variant->type);
    wf_error error = WF_OK;
    for (size_t i = 0; i < candidate->passes.count && !error; i++) {
        struct ladder_items *partials = &candidate->memory.partials[i];
        uint64_t count = candidate->passes.list[i].plan.grid;
        error = ladder_arena_allocate(arena, count * element_nbytes, &partials->values);
        if (!error && variant->op == WF_ARGMAX)
            error = ladder_arena_allocate(arena, count * sizeof(int64_t), &partials->indices);
    }
    if (error || !candidate->passes.count || ladder_variant_finish(variant) != LADDER_FINISH_HOST)
        return error;
    size_t nbytes = candidate->passes.list[0].plan.grid * (element_nbytes + sizeof(int64_t));
    return WF_DRIVER_CALL(candidate->gpu->handle, MemHostAlloc, (&candidate->partials, nbytes, 0),
                          "%zu bytes for partial results", nbytes);
}

/* The engine compiles a kernel when it first needs it, which is not what is timed. */
static wf_error warm_engine(struct ladder_gpu_candidate *candidate) {
    struct ladder_gpu *gpu = candidate->gpu;
    wf_error error = repeat_engine(candidate, 0);
    return error ? error : WF_DRIVER_CALL(gpu->handle, StreamSynchronize, (gpu->stream), "%s", gpu->device);
}

static simt_error set_up(struct ladder_gpu_candidate *candidate, simt_message *message) {
    struct ladder_gpu *gpu = candidate->gpu;
    bool is_rung = candidate->kernel && !candidate->kernel->variant.rung->is_engine;
    simt_error error = is_rung ? ladder_task_plan(&candidate->task, &candidate->passes, message) : SIMT_OK;
    if (error) return error;
    candidate->repeat = is_rung ? repeat_kernel : candidate->kernel ? repeat_engine : repeat_reader;
    if (!make_slots(candidate)) return ladder_fail(message, SIMT_ERROR_MEMORY, "out of memory");
    wf_error failed = load_reader(gpu);
    if (!failed) failed = allocate_slots(candidate);
    if (!failed) failed = allocate_partials(candidate);
    if (!failed && candidate->repeat == repeat_engine) failed = warm_engine(candidate);
    return ladder_gpu_error(gpu, failed, message);
}

simt_error ladder_gpu_enter(struct ladder_gpu *gpu, struct ladder_gpu_kernel *kernel,
                            const struct ladder_task *task, struct ladder_gpu_candidate **candidate,
                            simt_message *message) {
    *candidate = calloc(1, sizeof **candidate);
    if (!*candidate) return ladder_fail(message, SIMT_ERROR_MEMORY, "out of memory");
    **candidate =
        (struct ladder_gpu_candidate){.gpu = gpu, .kernel = kernel, .task = *task, .arena = {.gpu = gpu}};
    simt_error error = set_up(*candidate, message);
    if (!error) return SIMT_OK;
    ladder_gpu_leave(*candidate);
    *candidate = NULL;
    return error;
}

void ladder_gpu_leave(struct ladder_gpu_candidate *candidate) {
    if (!candidate) return;
    if (candidate->partials) candidate->gpu->driver->MemFreeHost(candidate->partials);
    ladder_arena_clear(&candidate->arena);
    free(candidate->slots);
    free(candidate);
}

/* ---- sampling ------------------------------------------------------------------------------------ */

/* Ends in reads of the array, during which the launches that follow can be queued. */
static wf_error make_ready(struct ladder_gpu_candidate *candidate) {
    struct ladder_gpu *gpu = candidate->gpu;
    size_t nbytes = LADDER_COPIES_MAX * SLOT_NBYTES;
    wf_error error = ladder_gpu_refresh(gpu);
    if (!error)
        error = WF_DRIVER_CALL(gpu->handle, MemcpyHtoDAsync,
                               (candidate->memory.result.values, candidate->slots, nbytes, gpu->stream),
                               "%zu bytes of results", nbytes);
    uint64_t nbytes_read = 0;
    for (int i = 0; i < HEAD_START_MAX && nbytes_read < HEAD_START_NBYTES && !error; i++) {
        error = launch_reader(gpu, gpu->master, 4, 256);
        nbytes_read += gpu->nbytes;
    }
    return error;
}

/* Each launch that works in place gets its own copy. */
static size_t count_repetitions(const struct ladder_gpu_candidate *candidate) {
    bool in_place = candidate->kernel && candidate->kernel->variant.rung->in_place;
    size_t copies = candidate->gpu->copy_count;
    return in_place || copies > ROW_MIN ? copies : ROW_MIN;
}

static wf_error time_repetitions(struct ladder_gpu_candidate *candidate, size_t count, float *milliseconds) {
    struct ladder_gpu *gpu = candidate->gpu;
    wf_handle *handle = gpu->handle;
    wf_error error = WF_DRIVER_CALL(handle, EventRecord, (gpu->begin, gpu->stream), "%s", gpu->device);
    for (size_t i = 0; i < count && !error; i++) error = candidate->repeat(candidate, i);
    if (!error) error = WF_DRIVER_CALL(handle, EventRecord, (gpu->end, gpu->stream), "%s", gpu->device);
    if (!error) error = WF_DRIVER_CALL(handle, EventSynchronize, (gpu->end), "%s", gpu->device);
    if (error) return error;
    return WF_DRIVER_CALL(handle, EventElapsedTime, (milliseconds, gpu->begin, gpu->end), "%s", gpu->device);
}

simt_error ladder_gpu_sample(struct ladder_gpu_candidate *candidate, bool quick, double *microseconds,
                             simt_message *message) {
    struct ladder_gpu *gpu = candidate->gpu;
    size_t count = quick ? 1 : count_repetitions(candidate);
    float milliseconds = 0;
    wf_error error = make_ready(candidate);
    if (!error) error = time_repetitions(candidate, count, &milliseconds);
    if (candidate->kernel && candidate->kernel->variant.rung->in_place) gpu->is_dirty = true;
    *microseconds = (double)milliseconds * 1e3 / (double)count;
    return ladder_gpu_error(gpu, error, message);
}
