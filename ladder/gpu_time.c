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

struct ladder_gpu_contender {
    struct ladder_gpu *gpu;
    const struct ladder_gpu_kernel *kernel; /* NULL: the one that only reads */
    wf_error (*repeat)(struct ladder_gpu_contender *contender, size_t repetition);
    struct ladder_task task;
    struct ladder_passes passes;
    struct ladder_memory memory; /* with the first slot */
    struct ladder_arena arena;
    unsigned char *slots; /* what all slots hold before a sample */
    void *partials;       /* on the host, pinned: of the finish `host`, else NULL */
};

/* ---- what is repeated ---------------------------------------------------------------------------- */

static wf_error copy_partials(const struct ladder_gpu_contender *contender) {
    const struct ladder_gpu *gpu = contender->gpu;
    const struct ladder_items *partials = &contender->memory.partials[0];
    uint64_t count = contender->passes.list[0].plan.grid;
    size_t nbytes = count * wf_type_nbytes(contender->task.variant.type);
    wf_error error = WF_DRIVER_CALL(gpu->handle, MemcpyDtoHAsync,
                                    (contender->partials, partials->values, nbytes, gpu->stream),
                                    "%zu bytes of partial results", nbytes);
    if (error || !partials->indices) return error;
    return WF_DRIVER_CALL(
        gpu->handle, MemcpyDtoHAsync,
        ((char *)contender->partials + nbytes, partials->indices, count * sizeof(int64_t), gpu->stream),
        "%llu indices", (unsigned long long)count);
}

static wf_cuda_pointer copy_for(const struct ladder_gpu *gpu, size_t repetition) {
    return gpu->copies[repetition % gpu->copy_count];
}

static wf_error repeat_kernel(struct ladder_gpu_contender *contender, size_t repetition) {
    struct ladder_memory memory = contender->memory;
    wf_error error = WF_OK;
    memory.input.values = copy_for(contender->gpu, repetition);
    memory.result.values += repetition * SLOT_NBYTES;
    memory.result.indices += repetition * SLOT_NBYTES;
    memory.ticket += repetition * SLOT_NBYTES;
    for (size_t i = 0; i < contender->passes.count && !error; i++) {
        const void *arguments[LADDER_ARGUMENTS];
        ladder_arguments(&contender->passes, &memory, i, arguments);
        error = ladder_gpu_launch(contender->kernel, &contender->passes.list[i].plan, arguments);
    }
    return error || !contender->partials ? error : copy_partials(contender);
}

static wf_error repeat_engine(struct ladder_gpu_contender *contender, size_t repetition) {
    struct ladder_gpu *gpu = contender->gpu;
    const struct ladder_task *task = &contender->task;
    wf_array array = wf_array_vector((const void *)(uintptr_t)copy_for(gpu, repetition), task->variant.type,
                                     (int64_t)task->n);
    uint64_t slot = contender->memory.result.values + repetition * SLOT_NBYTES;
    wf_error error =
        wf_reduce_on_device(gpu->engine, task->variant.op, &array, NULL, (wf_device_value *)(uintptr_t)slot);
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

static wf_error repeat_reader(struct ladder_gpu_contender *contender, size_t repetition) {
    struct ladder_gpu *gpu = contender->gpu;
    return launch_reader(gpu, copy_for(gpu, repetition), contender->task.grid, contender->task.block);
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

/* Of atomic results the identity; 0 of all else. */
static bool make_slots(struct ladder_gpu_contender *contender) {
    const struct ladder_variant *variant = &contender->task.variant;
    contender->slots = calloc(LADDER_COPIES_MAX, SLOT_NBYTES);
    if (!contender->slots) return false;
    for (size_t i = 0; i < LADDER_COPIES_MAX; i++)
        if (contender->kernel && ladder_variant_finish(variant) == LADDER_FINISH_ATOMIC)
            ladder_put_identity(contender->slots + i * SLOT_NBYTES, variant->type, variant->op);
    return true;
}

static wf_error allocate_slots(struct ladder_gpu_contender *contender) {
    uint64_t slot = 0;
    wf_error error = ladder_arena_allocate(&contender->arena, LADDER_COPIES_MAX * SLOT_NBYTES, &slot);
    contender->memory.result = (struct ladder_items){slot, slot + SLOT_INDEX};
    contender->memory.ticket = slot + SLOT_TICKET;
    return error;
}

static wf_error allocate_partials(struct ladder_gpu_contender *contender) {
    const struct ladder_variant *variant = &contender->task.variant;
    struct ladder_arena *arena = &contender->arena;
    size_t element_nbytes = wf_type_nbytes(variant->type);
    wf_error error = WF_OK;
    for (size_t i = 0; i < contender->passes.count && !error; i++) {
        struct ladder_items *partials = &contender->memory.partials[i];
        uint64_t count = contender->passes.list[i].plan.grid;
        error = ladder_arena_allocate(arena, count * element_nbytes, &partials->values);
        if (!error && variant->op == WF_ARGMAX)
            error = ladder_arena_allocate(arena, count * sizeof(int64_t), &partials->indices);
    }
    if (error || !contender->passes.count || ladder_variant_finish(variant) != LADDER_FINISH_HOST)
        return error;
    size_t nbytes = contender->passes.list[0].plan.grid * (element_nbytes + sizeof(int64_t));
    return WF_DRIVER_CALL(contender->gpu->handle, MemHostAlloc, (&contender->partials, nbytes, 0),
                          "%zu bytes for partial results", nbytes);
}

/* The engine compiles a kernel when it first needs it, which is not what is timed. */
static wf_error warm_engine(struct ladder_gpu_contender *contender) {
    struct ladder_gpu *gpu = contender->gpu;
    wf_error error = repeat_engine(contender, 0);
    return error ? error : WF_DRIVER_CALL(gpu->handle, StreamSynchronize, (gpu->stream), "%s", gpu->device);
}

static simt_error set_up(struct ladder_gpu_contender *contender, simt_message *message) {
    struct ladder_gpu *gpu = contender->gpu;
    bool is_rung = contender->kernel && !contender->kernel->variant.rung->is_engine;
    simt_error error = is_rung ? ladder_task_plan(&contender->task, &contender->passes, message) : SIMT_OK;
    if (error) return error;
    contender->repeat = is_rung ? repeat_kernel : contender->kernel ? repeat_engine : repeat_reader;
    if (!make_slots(contender)) return ladder_fail(message, SIMT_ERROR_MEMORY, "no memory left");
    wf_error failed = load_reader(gpu);
    if (!failed) failed = allocate_slots(contender);
    if (!failed) failed = allocate_partials(contender);
    if (!failed && contender->repeat == repeat_engine) failed = warm_engine(contender);
    return ladder_gpu_error(gpu, failed, message);
}

simt_error ladder_gpu_enter(struct ladder_gpu *gpu, struct ladder_gpu_kernel *kernel,
                            const struct ladder_task *task, struct ladder_gpu_contender **contender,
                            simt_message *message) {
    *contender = calloc(1, sizeof **contender);
    if (!*contender) return ladder_fail(message, SIMT_ERROR_MEMORY, "no memory left");
    **contender =
        (struct ladder_gpu_contender){.gpu = gpu, .kernel = kernel, .task = *task, .arena = {.gpu = gpu}};
    simt_error error = set_up(*contender, message);
    if (!error) return SIMT_OK;
    ladder_gpu_leave(*contender);
    *contender = NULL;
    return error;
}

void ladder_gpu_leave(struct ladder_gpu_contender *contender) {
    if (!contender) return;
    if (contender->partials) contender->gpu->driver->MemFreeHost(contender->partials);
    ladder_arena_clear(&contender->arena);
    free(contender->slots);
    free(contender);
}

/* ---- sampling ------------------------------------------------------------------------------------ */

/* Ends in reads of the array, during which the launches that follow can be queued. */
static wf_error make_ready(struct ladder_gpu_contender *contender) {
    struct ladder_gpu *gpu = contender->gpu;
    size_t nbytes = LADDER_COPIES_MAX * SLOT_NBYTES;
    wf_error error = ladder_gpu_refresh(gpu);
    if (!error)
        error = WF_DRIVER_CALL(gpu->handle, MemcpyHtoDAsync,
                               (contender->memory.result.values, contender->slots, nbytes, gpu->stream),
                               "%zu bytes of results", nbytes);
    uint64_t nbytes_read = 0;
    for (int i = 0; i < HEAD_START_MAX && nbytes_read < HEAD_START_NBYTES && !error; i++) {
        error = launch_reader(gpu, gpu->master, 4, 256);
        nbytes_read += gpu->nbytes;
    }
    return error;
}

/* What works in place gets a copy of its own each time. */
static size_t count_repetitions(const struct ladder_gpu_contender *contender) {
    bool in_place = contender->kernel && contender->kernel->variant.rung->in_place;
    size_t copies = contender->gpu->copy_count;
    return in_place || copies > ROW_MIN ? copies : ROW_MIN;
}

static wf_error time_repetitions(struct ladder_gpu_contender *contender, size_t count, float *milliseconds) {
    struct ladder_gpu *gpu = contender->gpu;
    wf_handle *handle = gpu->handle;
    wf_error error = WF_DRIVER_CALL(handle, EventRecord, (gpu->begin, gpu->stream), "%s", gpu->device);
    for (size_t i = 0; i < count && !error; i++) error = contender->repeat(contender, i);
    if (!error) error = WF_DRIVER_CALL(handle, EventRecord, (gpu->end, gpu->stream), "%s", gpu->device);
    if (!error) error = WF_DRIVER_CALL(handle, EventSynchronize, (gpu->end), "%s", gpu->device);
    if (error) return error;
    return WF_DRIVER_CALL(handle, EventElapsedTime, (milliseconds, gpu->begin, gpu->end), "%s", gpu->device);
}

simt_error ladder_gpu_sample(struct ladder_gpu_contender *contender, bool quick, double *microseconds,
                             simt_message *message) {
    struct ladder_gpu *gpu = contender->gpu;
    size_t count = quick ? 1 : count_repetitions(contender);
    float milliseconds = 0;
    wf_error error = make_ready(contender);
    if (!error) error = time_repetitions(contender, count, &milliseconds);
    if (contender->kernel && contender->kernel->variant.rung->in_place) gpu->is_dirty = true;
    *microseconds = (double)milliseconds * 1e3 / (double)count;
    return ladder_gpu_error(gpu, error, message);
}
