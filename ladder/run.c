/* A run of a rung, wherever it runs: memory, launches, finish. */
#include <stdlib.h>
#include <string.h>

#include "ladder.h"
#include "ladder_parts.h"
#include "stage.h"

struct run {
    const struct ladder_stage *stage;
    const struct ladder_task *task;
    struct ladder_outcome *outcome;
    size_t element_nbytes;
    enum ladder_finish finish;
    struct ladder_passes passes;
    struct ladder_memory memory;
};

static bool is_argmax(const struct run *run) {
    return run->task->variant.op == WF_ARGMAX;
}

/* ---- memory -------------------------------------------------------------------------------------- */

static simt_error allocate_items(struct run *run, uint64_t count, struct ladder_items *items) {
    const struct ladder_stage *stage = run->stage;
    simt_error error = stage->allocate(stage, count * run->element_nbytes, &items->values);
    if (!error && is_argmax(run)) error = stage->allocate(stage, count * sizeof(int64_t), &items->indices);
    return error;
}

/* What the kernel finds in the result: the identity, which atomics combine with, and in argmax the least
 * packed word. */
static simt_error put_result(struct run *run) {
    const struct ladder_stage *stage = run->stage;
    const struct ladder_variant *variant = &run->task->variant;
    const struct ladder_items *result = &run->memory.result;
    const uint64_t nothing = 0;
    uint64_t element;
    if (run->finish != LADDER_FINISH_ATOMIC) return SIMT_OK;
    ladder_put_identity(&element, variant->type, variant->op);
    simt_error error = stage->write(stage, result->values, &element, run->element_nbytes);
    if (!error && is_argmax(run)) error = stage->write(stage, result->indices, &nothing, sizeof nothing);
    return error;
}

static simt_error allocate_result(struct run *run) {
    const struct ladder_stage *stage = run->stage;
    struct ladder_memory *memory = &run->memory;
    const uint32_t nobody = 0;
    simt_error error = allocate_items(run, 1, &memory->result);
    if (!error) error = put_result(run);
    if (!error) error = stage->allocate(stage, sizeof nobody, &memory->ticket);
    return error ? error : stage->write(stage, memory->ticket, &nobody, sizeof nobody);
}

static simt_error allocate_partials(struct run *run) {
    simt_error error = SIMT_OK;
    if (run->finish == LADDER_FINISH_ATOMIC) return SIMT_OK;
    for (size_t i = 0; i < run->passes.count && !error; i++)
        error = allocate_items(run, run->passes.list[i].plan.grid, &run->memory.partials[i]);
    return error;
}

/* ---- launching ----------------------------------------------------------------------------------- */

void ladder_arguments(const struct ladder_passes *passes, const struct ladder_memory *memory, size_t index,
                      const void *arguments[LADDER_ARGUMENTS]) {
    const struct ladder_pass *pass = &passes->list[index];
    const struct ladder_items *input = index ? &memory->partials[index - 1] : &memory->input;
    const struct ladder_items *partials = &memory->partials[index];
    const void *const all[LADDER_ARGUMENTS] = {
        &input->values,         &input->indices,         &pass->n,
        &pass->plan.portion,    &partials->values,       &partials->indices,
        &memory->result.values, &memory->result.indices, &memory->ticket,
    };
    memcpy(arguments, all, sizeof all);
}

static simt_error launch(struct run *run, size_t index) {
    const struct ladder_stage *stage = run->stage;
    struct ladder_outcome *outcome = run->outcome;
    const void *arguments[LADDER_ARGUMENTS];
    ladder_arguments(&run->passes, &run->memory, index, arguments);
    simt_report **report = &outcome->reports[outcome->launch_count];
    simt_error error = stage->launch(stage, &run->passes.list[index].plan, arguments, report);
    outcome->launch_count += !error || *report; /* what did not begin is no launch */
    return error;
}

/* ---- finishing ----------------------------------------------------------------------------------- */

/* An identity has an index beyond all. */
static int64_t known_index(int64_t index, uint64_t n) {
    return index >= 0 && (uint64_t)index < n ? index : LADDER_NO_INDEX;
}

/* Brings back what the first launch left for the host or for the launches that follow. */
static simt_error read_partials(struct run *run) {
    const struct ladder_stage *stage = run->stage;
    struct ladder_outcome *outcome = run->outcome;
    const struct ladder_items *partials = &run->memory.partials[0];
    uint64_t count = outcome->plan.grid;
    outcome->partials = malloc(count * run->element_nbytes);
    if (is_argmax(run)) outcome->partial_indices = malloc(count * sizeof(int64_t));
    if (!outcome->partials || (is_argmax(run) && !outcome->partial_indices))
        return ladder_fail(stage->message, SIMT_ERROR_MEMORY, "out of memory");
    outcome->partial_count = count;
    simt_error error = stage->read(stage, partials->values, outcome->partials, count * run->element_nbytes);
    if (!error && is_argmax(run))
        error = stage->read(stage, partials->indices, outcome->partial_indices, count * sizeof(int64_t));
    return error;
}

static simt_error read_item(struct run *run, const struct ladder_items *from) {
    const struct ladder_stage *stage = run->stage;
    struct ladder_result *result = &run->outcome->result;
    uint64_t element;
    int64_t index = LADDER_NO_INDEX;
    simt_error error = stage->read(stage, from->values, &element, run->element_nbytes);
    if (!error && is_argmax(run)) error = stage->read(stage, from->indices, &index, sizeof index);
    if (error) return error;
    result->value = ladder_value(&element, run->task->variant.type);
    result->index = known_index(index, run->task->n);
    return SIMT_OK;
}

/* Argmax packs the value, and below it the complement of the index, into one word. */
static simt_error read_packed(struct run *run) {
    const struct ladder_task *task = run->task;
    const struct ladder_items *from = &run->memory.result;
    uint64_t word;
    simt_error error = run->stage->read(run->stage, from->indices, &word, sizeof word);
    if (error) return error;
    int64_t index = known_index((int64_t)(uint32_t)~word, task->n);
    if (index == LADDER_NO_INDEX) return read_item(run, from);
    const char *values = task->values;
    run->outcome->result.value =
        ladder_value(values + (uint64_t)index * run->element_nbytes, task->variant.type);
    run->outcome->result.index = index;
    return SIMT_OK;
}

static simt_error finish(struct run *run) {
    const struct ladder_task *task = run->task;
    struct ladder_outcome *outcome = run->outcome;
    const struct ladder_memory *memory = &run->memory;
    if (run->finish == LADDER_FINISH_ATOMIC)
        return is_argmax(run) ? read_packed(run) : read_item(run, &memory->result);
    if (run->finish == LADDER_FINISH_LAST_BLOCK) return read_item(run, &memory->result);
    if (run->finish == LADDER_FINISH_RELAUNCH)
        return read_item(run, &memory->partials[run->passes.count - 1]);
    outcome->result = ladder_reduce(outcome->partials, outcome->partial_indices, task->variant.type,
                                    task->variant.op, outcome->partial_count);
    outcome->result.index = known_index(outcome->result.index, task->n);
    return SIMT_OK;
}

/* The partials are read before anything is made of them: a rung that works in place overwrites them. */
static simt_error launch_all(struct run *run) {
    bool leaves_partials = run->finish == LADDER_FINISH_HOST || run->finish == LADDER_FINISH_RELAUNCH;
    simt_error error = launch(run, 0);
    if (!error && leaves_partials) error = read_partials(run);
    for (size_t i = 1; i < run->passes.count && !error; i++) error = launch(run, i);
    return error;
}

/* ---- the run ------------------------------------------------------------------------------------- */

simt_error ladder_task_plan(const struct ladder_task *task, struct ladder_passes *passes,
                            simt_message *message) {
    const struct ladder_variant *variant = &task->variant;
    const char *id = variant->rung->id;
    uint32_t block = task->block ? task->block : LADDER_BLOCK_DEFAULT;
    bool packs = variant->op == WF_ARGMAX && ladder_variant_finish(variant) == LADDER_FINISH_ATOMIC;
    const struct ladder_shape shape = {block, task->grid, task->resident};
    if (block < LADDER_BLOCK_MIN || block > LADDER_BLOCK_MAX || (block & (block - 1)))
        return ladder_fail(message, SIMT_ERROR_ARGUMENT,
                           "a rung's block has %d to %d threads, a power of two, not %u", LADDER_BLOCK_MIN,
                           LADDER_BLOCK_MAX, (unsigned)block);
    if (task->n > (packs ? UINT32_MAX : SIZE_MAX / 16))
        return ladder_fail(message, SIMT_ERROR_ARGUMENT, "%s of so many elements: too many", id);
    if (!ladder_passes_plan(variant, task->n, &shape, passes))
        return ladder_fail(message, SIMT_ERROR_ARGUMENT, "%s: relaunching does not come to an end", id);
    return SIMT_OK;
}

simt_error ladder_run_on(const struct ladder_stage *stage, const struct ladder_task *task,
                         struct ladder_outcome *outcome) {
    const struct ladder_variant *variant = &task->variant;
    struct run run = {
        .stage = stage,
        .task = task,
        .outcome = outcome,
        .element_nbytes = wf_type_nbytes(variant->type),
        .finish = ladder_variant_finish(variant),
    };
    *outcome = (struct ladder_outcome){0};
    simt_error error = ladder_task_plan(task, &run.passes, stage->message);
    if (error) return error;
    outcome->plan = run.passes.list[0].plan;
    error = stage->put_input(stage, &run.memory.input.values);
    if (!error) error = allocate_result(&run);
    if (!error) error = allocate_partials(&run);
    if (!error) error = launch_all(&run);
    return error ? error : finish(&run);
}
