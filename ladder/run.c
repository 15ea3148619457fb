/* A rung on the SIMT machine: memory, launches, finish. */
#include "ladder.h"
#include "ladder_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* An array of items in the machine's memory: elements, and in argmax as many indices. */
struct items {
    uint64_t values, indices; /* addresses; 0: none */
};

struct run {
    const struct ladder_task *task;
    struct ladder_outcome *outcome;
    simt_message *message;
    simt_machine *machine;
    size_t kernel;
    size_t element_nbytes;
    enum ladder_finish finish;
    struct items result;
    uint64_t ticket;
};

static bool is_argmax(const struct run *run) {
    return run->task->variant.op == WF_ARGMAX;
}

/* ---- memory -------------------------------------------------------------------------------------- */

static simt_error fail_memory(simt_message *message) {
    return ladder_fail(message, SIMT_ERROR_MEMORY, "no memory left");
}

static simt_error allocate(struct run *run, uint64_t nbytes, uint64_t *address) {
    simt_error error = simt_machine_allocate(run->machine, nbytes ? nbytes : 1, address);
    return error == SIMT_ERROR_MEMORY ? fail_memory(run->message) : error;
}

static simt_error allocate_items(struct run *run, uint64_t count, struct items *items) {
    simt_error error = allocate(run, count * run->element_nbytes, &items->values);
    if (!error && is_argmax(run)) error = allocate(run, count * sizeof(int64_t), &items->indices);
    return error;
}

static simt_error put_input(struct run *run, struct items *input) {
    uint64_t nbytes = run->task->n * run->element_nbytes;
    *input = (struct items){0, 0};
    simt_error error = allocate(run, nbytes, &input->values);
    return error ? error : simt_machine_write(run->machine, input->values, run->task->values, nbytes);
}

/* What the kernel finds in the result: the identity, which atomics combine with, and in argmax the least
 * packed word. */
static simt_error put_result(struct run *run) {
    const struct ladder_variant *variant = &run->task->variant;
    const uint64_t nothing = 0;
    uint64_t element;
    if (run->finish != LADDER_FINISH_ATOMIC) return SIMT_OK;
    ladder_put_identity(&element, variant->type, variant->op);
    simt_error error = simt_machine_write(run->machine, run->result.values, &element, run->element_nbytes);
    if (!error && is_argmax(run))
        error = simt_machine_write(run->machine, run->result.indices, &nothing, sizeof nothing);
    return error;
}

static simt_error allocate_result(struct run *run) {
    const uint32_t nobody = 0;
    simt_error error = allocate_items(run, 1, &run->result);
    if (!error) error = put_result(run);
    if (!error) error = allocate(run, sizeof nobody, &run->ticket);
    return error ? error : simt_machine_write(run->machine, run->ticket, &nobody, sizeof nobody);
}

/* ---- launching ----------------------------------------------------------------------------------- */

static simt_error launch(struct run *run, const struct ladder_plan *plan, const struct items *input,
                         uint64_t n, const struct items *partials) {
    const struct ladder_task *task = run->task;
    struct ladder_outcome *outcome = run->outcome;
    const void *const arguments[] = {
        &input->values,      &input->indices,      &n,
        &plan->portion,      &partials->values,    &partials->indices,
        &run->result.values, &run->result.indices, &run->ticket,
    };
    const simt_launch launch = {
        .module = task->module,
        .kernel = run->kernel,
        .grid = {plan->grid},
        .block = {plan->block},
        .shared_nbytes = plan->shared_nbytes,
        .arguments = arguments,
        .schedule = task->schedule,
        .seed = task->seed,
        .threads = task->threads,
        .observers = task->observers,
    };
    if (outcome->launch_count == LADDER_LAUNCHES_MAX)
        return ladder_fail(run->message, SIMT_ERROR_ARGUMENT, "relaunching does not come to an end");
    return simt_machine_launch(run->machine, &launch, &outcome->reports[outcome->launch_count++],
                               run->message);
}

/* ---- finishing ----------------------------------------------------------------------------------- */

/* An identity has an index beyond all. */
static int64_t known_index(int64_t index, uint64_t n) {
    return index >= 0 && (uint64_t)index < n ? index : LADDER_NO_INDEX;
}

/* Brings back what the first launch left for the host or for the launches that follow. */
static simt_error read_partials(struct run *run, const struct items *partials, uint64_t count) {
    struct ladder_outcome *outcome = run->outcome;
    outcome->partials = malloc(count * run->element_nbytes);
    if (is_argmax(run)) outcome->partial_indices = malloc(count * sizeof(int64_t));
    if (!outcome->partials || (is_argmax(run) && !outcome->partial_indices)) return fail_memory(run->message);
    outcome->partial_count = count;
    simt_error error =
        simt_machine_read(run->machine, partials->values, outcome->partials, count * run->element_nbytes);
    if (!error && is_argmax(run))
        error = simt_machine_read(run->machine, partials->indices, outcome->partial_indices,
                                  count * sizeof(int64_t));
    return error;
}

static simt_error read_item(struct run *run, const struct items *from) {
    struct ladder_result *result = &run->outcome->result;
    uint64_t element;
    int64_t index = LADDER_NO_INDEX;
    simt_error error = simt_machine_read(run->machine, from->values, &element, run->element_nbytes);
    if (!error && is_argmax(run))
        error = simt_machine_read(run->machine, from->indices, &index, sizeof index);
    result->value = ladder_value(&element, run->task->variant.type);
    result->index = known_index(index, run->task->n);
    return error;
}

/* Argmax packs the value, and below it the complement of the index, into one word. */
static simt_error read_packed(struct run *run) {
    const struct ladder_task *task = run->task;
    uint64_t word;
    simt_error error = simt_machine_read(run->machine, run->result.indices, &word, sizeof word);
    if (error) return error;
    int64_t index = known_index((int64_t)(uint32_t)~word, task->n);
    if (index == LADDER_NO_INDEX) return read_item(run, &run->result);
    const char *values = task->values;
    run->outcome->result.value =
        ladder_value(values + (uint64_t)index * run->element_nbytes, task->variant.type);
    run->outcome->result.index = index;
    return SIMT_OK;
}

/* The kernel on its own partials, each time in as many blocks as these are worth, until there is but one. */
static simt_error relaunch(struct run *run, struct items partials, uint64_t count) {
    simt_error error = SIMT_OK;
    while (!error && count > 1) {
        struct ladder_plan plan = ladder_plan(&run->task->variant, count, run->outcome->plan.block, 0);
        struct items input = partials;
        error = allocate_items(run, plan.grid, &partials);
        if (!error) error = launch(run, &plan, &input, count, &partials);
        count = plan.grid;
    }
    return error ? error : read_item(run, &partials);
}

static simt_error finish(struct run *run, const struct items *partials) {
    const struct ladder_task *task = run->task;
    struct ladder_outcome *outcome = run->outcome;
    uint64_t count = outcome->plan.grid;
    if (run->finish == LADDER_FINISH_ATOMIC)
        return is_argmax(run) ? read_packed(run) : read_item(run, &run->result);
    if (run->finish == LADDER_FINISH_LAST_BLOCK) return read_item(run, &run->result);
    simt_error error = read_partials(run, partials, count);
    if (error) return error;
    if (run->finish == LADDER_FINISH_RELAUNCH) return relaunch(run, *partials, count);
    outcome->result = ladder_reduce(outcome->partials, outcome->partial_indices, task->variant.type,
                                    task->variant.op, count);
    outcome->result.index = known_index(outcome->result.index, task->n);
    return SIMT_OK;
}

/* ---- the run ------------------------------------------------------------------------------------- */

static simt_error check(const struct run *run) {
    const struct ladder_task *task = run->task;
    const struct ladder_rung *rung = task->variant.rung;
    uint32_t block = run->outcome->plan.block;
    uint32_t warp_size = task->settings.warp_size ? task->settings.warp_size : 32;
    if (block < LADDER_BLOCK_MIN || block > LADDER_BLOCK_MAX || (block & (block - 1)))
        return ladder_fail(run->message, SIMT_ERROR_ARGUMENT,
                           "a rung's block has %d to %d threads, a power of two, not %u", LADDER_BLOCK_MIN,
                           LADDER_BLOCK_MAX, (unsigned)block);
    if (rung->warp_size && rung->warp_size != warp_size)
        return ladder_fail(run->message, SIMT_ERROR_ARGUMENT, "%s needs warps of %u lanes", rung->id,
                           (unsigned)rung->warp_size);
    if (task->n > (is_argmax(run) && run->finish == LADDER_FINISH_ATOMIC ? UINT32_MAX : SIZE_MAX / 16))
        return ladder_fail(run->message, SIMT_ERROR_ARGUMENT, "%s of so many elements: too many", rung->id);
    if (run->kernel == SIZE_MAX || simt_module_parameter_count(task->module, run->kernel) != 9)
        return ladder_fail(run->message, SIMT_ERROR_ARGUMENT,
                           "%s has no kernel 'reduce' of a rung's parameters", rung->id);
    return SIMT_OK;
}

static simt_error run_on_machine(struct run *run) {
    const struct ladder_task *task = run->task;
    const struct ladder_plan *plan = &run->outcome->plan;
    struct items input, partials = {0, 0};
    simt_error error = put_input(run, &input);
    if (!error) error = allocate_result(run);
    if (!error && run->finish != LADDER_FINISH_ATOMIC) error = allocate_items(run, plan->grid, &partials);
    if (!error) error = launch(run, plan, &input, task->n, &partials);
    return error ? error : finish(run, &partials);
}

simt_error ladder_run(const struct ladder_task *task, struct ladder_outcome *outcome, simt_message *message) {
    const struct ladder_variant *variant = &task->variant;
    uint32_t block = task->block ? task->block : LADDER_BLOCK_DEFAULT;
    *outcome = (struct ladder_outcome){.plan = ladder_plan(variant, task->n, block, task->grid)};
    struct run run = {
        .task = task,
        .outcome = outcome,
        .message = message,
        .kernel = ladder_kernel(task->module),
        .element_nbytes = wf_type_nbytes(variant->type),
        .finish = ladder_variant_finish(variant),
    };
    simt_error error = check(&run);
    if (error) return error;
    if (simt_machine_create(&task->settings, &run.machine)) return fail_memory(message);
    error = run_on_machine(&run);
    simt_machine_destroy(run.machine);
    return error;
}

void ladder_outcome_clear(struct ladder_outcome *outcome) {
    for (size_t i = 0; i < outcome->launch_count; i++) simt_report_destroy(outcome->reports[i]);
    free(outcome->partials);
    free(outcome->partial_indices);
    *outcome = (struct ladder_outcome){0};
}

/* ---- what was counted ---------------------------------------------------------------------------- */

static double sum_count(const struct ladder_outcome *outcome, const char *name, double otherwise) {
    double sum = 0;
    for (size_t i = 0; i < outcome->launch_count; i++)
        sum += simt_report_count_value(outcome->reports[i], name, NAN);
    return isnan(sum) ? otherwise : sum;
}

/* Counts that are no sums. */
static const struct share {
    const char *name;
    const char *part, *whole; /* NULL: the first launch's own */
    double unit;              /* of the whole */
} shares[] = {
    {"utilization", "active_lanes", "lane_slots", 1},
    {"coalescing", "global_bytes", "global_sectors", 32},
    {"bank_degree", "shared_wavefronts", "shared_wavefronts_least", 1},
    {"resident_blocks", NULL, NULL, 1},
    {"occupancy", NULL, NULL, 1},
    {"waves", NULL, NULL, 1},
};

double ladder_outcome_count(const struct ladder_outcome *outcome, const char *name, double otherwise) {
    for (size_t i = 0; i < sizeof shares / sizeof shares[0]; i++) {
        const struct share *share = &shares[i];
        if (strcmp(share->name, name)) continue;
        if (!outcome->launch_count) return otherwise;
        double first = simt_report_count_value(outcome->reports[0], name, otherwise);
        double whole = share->whole ? sum_count(outcome, share->whole, 0) : 0;
        return whole > 0 ? sum_count(outcome, share->part, 0) / (whole * share->unit) : first;
    }
    return outcome->launch_count ? sum_count(outcome, name, otherwise) : otherwise;
}

size_t ladder_outcome_finding_count(const struct ladder_outcome *outcome) {
    size_t count = 0;
    for (size_t i = 0; i < outcome->launch_count; i++)
        count += simt_report_finding_count(outcome->reports[i]);
    return count;
}

const simt_finding *ladder_outcome_finding(const struct ladder_outcome *outcome, size_t index) {
    for (size_t i = 0; i < outcome->launch_count; i++) {
        size_t count = simt_report_finding_count(outcome->reports[i]);
        if (index < count) return simt_report_finding(outcome->reports[i], index);
        index -= count;
    }
    return NULL;
}
