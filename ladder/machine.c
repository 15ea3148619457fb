/* The simulator as the stage of a rung. */
#include "ladder.h"
#include "ladder_parts.h"
#include "stage.h"

struct state {
    const struct ladder_task *task;
    simt_machine *machine;
    size_t kernel;
};

static simt_error allocate(const struct ladder_stage *stage, size_t nbytes, uint64_t *address) {
    struct state *state = stage->state;
    simt_error error = simt_machine_allocate(state->machine, nbytes ? nbytes : 1, address);
    return error == SIMT_ERROR_MEMORY ? ladder_fail(stage->message, error, "out of memory") : error;
}

static simt_error write(const struct ladder_stage *stage, uint64_t address, const void *bytes,
                        size_t nbytes) {
    return simt_machine_write(((struct state *)stage->state)->machine, address, bytes, nbytes);
}

static simt_error read(const struct ladder_stage *stage, uint64_t address, void *bytes, size_t nbytes) {
    return simt_machine_read(((struct state *)stage->state)->machine, address, bytes, nbytes);
}

static simt_error put_input(const struct ladder_stage *stage, uint64_t *address) {
    const struct ladder_task *task = ((struct state *)stage->state)->task;
    size_t nbytes = task->n * wf_type_nbytes(task->variant.type);
    simt_error error = allocate(stage, nbytes, address);
    return error ? error : write(stage, *address, task->values, nbytes);
}

/* A rung's kernel ends, however long it takes: no element costs this many instructions, not even where each lane runs
 * on its own. */
static uint64_t instruction_limit(const struct ladder_task *task) {
    enum { ELEMENT_INSTRUCTIONS_MAX = 4096 };
    return SIMT_INSTRUCTION_LIMIT + ELEMENT_INSTRUCTIONS_MAX * task->n;
}

static simt_error launch(const struct ladder_stage *stage, const struct ladder_plan *plan,
                         const void *const arguments[LADDER_ARGUMENTS], simt_report **report) {
    const struct state *state = stage->state;
    const struct ladder_task *task = state->task;
    const simt_launch launch = {
        .module = task->module,
        .kernel = state->kernel,
        .grid = {plan->grid * task->variant.rung->cluster},
        .block = {plan->block},
        .shared_nbytes = plan->shared_nbytes,
        .arguments = arguments,
        .schedule = task->schedule,
        .seed = task->seed,
        .instruction_limit = instruction_limit(task),
        .threads = task->threads,
        .observers = task->observers,
    };
    return simt_machine_launch(state->machine, &launch, report, stage->message);
}

static simt_error check(const struct ladder_task *task, size_t kernel, simt_message *message) {
    const struct ladder_rung *rung = task->variant.rung;
    uint32_t warp_size = task->settings.warp_size ? task->settings.warp_size : 32;
    if (rung->warp_size && rung->warp_size != warp_size)
        return ladder_fail(message, SIMT_ERROR_ARGUMENT, "%s needs warps of %u lanes", rung->id,
                           (unsigned)rung->warp_size);
    if (kernel == SIZE_MAX || simt_module_parameter_count(task->module, kernel) != LADDER_ARGUMENTS)
        return ladder_fail(message, SIMT_ERROR_ARGUMENT, "%s has no kernel 'reduce' of a rung's parameters",
                           rung->id);
    return SIMT_OK;
}

simt_error ladder_run(const struct ladder_task *task, struct ladder_outcome *outcome, simt_message *message) {
    struct state state = {task, NULL, ladder_kernel(task->module)};
    const struct ladder_stage stage = {&state, message, allocate, write, read, put_input, launch};
    *outcome = (struct ladder_outcome){0};
    simt_error error = check(task, state.kernel, message);
    if (error) return error;
    if (simt_machine_create(&task->settings, &state.machine))
        return ladder_fail(message, SIMT_ERROR_MEMORY, "out of memory");
    error = ladder_run_on(&stage, task, outcome);
    simt_machine_destroy(state.machine);
    return error;
}
