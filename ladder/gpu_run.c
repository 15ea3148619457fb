/* The GPU as the stage of a rung; and the engine, which is a rung of its own. */
#include "gpu.h"
#include "gpu_parts.h"
#include "ladder_parts.h"
#include "stage.h"

struct state {
    const struct ladder_gpu_kernel *kernel;
    struct ladder_arena arena;
};

static struct ladder_gpu *gpu_of(const struct ladder_stage *stage) {
    return ((struct state *)stage->state)->kernel->gpu;
}

static simt_error allocate(const struct ladder_stage *stage, size_t nbytes, uint64_t *address) {
    struct state *state = stage->state;
    return ladder_gpu_error(gpu_of(stage), ladder_arena_allocate(&state->arena, nbytes, address),
                            stage->message);
}

static simt_error write(const struct ladder_stage *stage, uint64_t address, const void *bytes,
                        size_t nbytes) {
    const struct ladder_gpu *gpu = gpu_of(stage);
    wf_error error = WF_DRIVER_CALL(gpu->handle, MemcpyHtoDAsync, (address, bytes, nbytes, gpu->stream),
                                    "%zu bytes", nbytes);
    return ladder_gpu_error(gpu, error, stage->message);
}

/* Waits, and so meets what went wrong in the launches before. */
static simt_error read(const struct ladder_stage *stage, uint64_t address, void *bytes, size_t nbytes) {
    const struct ladder_gpu *gpu = gpu_of(stage);
    const char *id = ((struct state *)stage->state)->kernel->variant.rung->id;
    wf_error error = WF_DRIVER_CALL(gpu->handle, MemcpyDtoHAsync, (bytes, address, nbytes, gpu->stream),
                                    "%zu bytes of %s", nbytes, id);
    if (!error) error = WF_DRIVER_CALL(gpu->handle, StreamSynchronize, (gpu->stream), "after %s", id);
    return ladder_gpu_error(gpu, error, stage->message);
}

static simt_error put_input(const struct ladder_stage *stage, uint64_t *address) {
    struct ladder_gpu *gpu = gpu_of(stage);
    wf_error error = ladder_gpu_refresh(gpu);
    gpu->is_dirty = ((struct state *)stage->state)->kernel->variant.rung->in_place;
    *address = gpu->copies[0];
    return ladder_gpu_error(gpu, error, stage->message);
}

static simt_error launch(const struct ladder_stage *stage, const struct ladder_plan *plan,
                         const void *const arguments[LADDER_ARGUMENTS], simt_report **report) {
    *report = NULL;
    wf_error error = ladder_gpu_launch(((struct state *)stage->state)->kernel, plan, arguments);
    return ladder_gpu_error(gpu_of(stage), error, stage->message);
}

/* ---- the engine ---------------------------------------------------------------------------------- */

/* A sum of integers comes in 64 bits; the ladder's are modulo 2^w. */
static wf_value narrow(wf_value value, wf_type type) {
    if (type == WF_I32) value.v.i = (int32_t)(uint32_t)value.v.u;
    if (type == WF_U32) value.v.u = (uint32_t)value.v.u;
    value.type = type;
    return value;
}

static simt_error run_engine(const struct ladder_gpu_kernel *kernel, const struct ladder_task *task,
                             struct ladder_outcome *outcome, simt_message *message) {
    struct ladder_gpu *gpu = kernel->gpu;
    wf_type type = task->variant.type;
    wf_value value;
    *outcome = (struct ladder_outcome){.launch_count = 1};
    wf_error error = ladder_gpu_refresh(gpu);
    if (error) return ladder_gpu_error(gpu, error, message);
    wf_array array = wf_array_vector((const void *)(uintptr_t)gpu->copies[0], type, (int64_t)task->n);
    const wf_reduction reduction = wf_reduction_of(task->variant.op);
    error = wf_reduce_value(gpu->engine, &reduction, &array, NULL, &value);
    if (error) return ladder_fail(message, SIMT_ERROR_STOPPED, "%s", wf_handle_message(gpu->engine));
    outcome->result = (struct ladder_result){narrow(value, type), LADDER_NO_INDEX};
    return SIMT_OK;
}

simt_error ladder_gpu_run(struct ladder_gpu_kernel *kernel, const struct ladder_task *task,
                          struct ladder_outcome *outcome, simt_message *message) {
    struct state state = {kernel, {.gpu = kernel->gpu}};
    const struct ladder_stage stage = {&state, message, allocate, write, read, put_input, launch};
    if (kernel->variant.rung->is_engine) return run_engine(kernel, task, outcome, message);
    simt_error error = ladder_run_on(&stage, task, outcome);
    ladder_arena_clear(&state.arena);
    return error;
}
