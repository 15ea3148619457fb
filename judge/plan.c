#include "plan.h"

#include <stdlib.h>
#include <string.h>

_Static_assert(SIZES_MAX + MORE_SIZES_MAX <= JUDGE_SIZES_MAX, "a verdict has room for all sizes");

static size_t data_sets(const struct judge_task *task) {
    return task->data_count ? task->data_count : 1;
}

static struct step *add(struct plan *plan, enum phase phase, const struct size *size, size_t size_number) {
    struct step *step = &plan->steps[plan->count++];
    *step = (struct step){.phase = phase, .planned = {.size = size, .size_number = size_number}};
    return step;
}

static void add_task(struct plan *plan, const struct judge_task *task) {
    for (size_t i = 0; i < task->size_count; i++)
        for (size_t set = 0; set < data_sets(task); set++)
            for (size_t s = 0; s < SCHEDULES; s++) {
                struct step *step = add(plan, PHASE_TASK, &task->sizes[i], i);
                step->planned.set = set;
                step->planned.schedule = s;
                step->is_first_of_size = !set && !s;
                step->is_first_of_block = step == plan->steps;
            }
}

/* Whether an input has more than one value, and none that the task wants among all others. */
static bool varies(const struct judge_task *task, size_t set) {
    for (size_t a = 0; a < task->argument_count; a++) {
        const struct argument *argument = &task->arguments[a];
        struct generator generator;
        if (!has_data(argument->role) || !argument->content_count) continue;
        const size_t last = argument->content_count - 1;
        if (generator_read(argument->contents[set < last ? set : last], &generator) && generator_varies(&generator)) return true;
    }
    return false;
}

/* Small sizes are enough: what compares elements does so in each. */
static bool has_patterns(const struct size *size) {
    enum { ELEMENTS_LEAST = 2, ELEMENTS_MOST = 1 << 12 };
    return size->n >= ELEMENTS_LEAST && size->n <= ELEMENTS_MOST;
}

/* Where equal terms cancel, the exact result is 0, and no bound of what is added up before allows for a rounding. */
static bool may_cancel(const struct judge_task *task) {
    const struct reference *reference = &task->reference;
    const bool is_spread = reference->kind == REFERENCE_OP && (reference->op == WF_VAR || reference->op == WF_STD);
    return is_spread || (reference->kind == REFERENCE_ELEMENTS && task->roundings);
}

static void add_patterns_of(struct plan *plan, const struct judge_task *task, size_t size, size_t set) {
    for (enum pattern pattern = may_cancel(task) ? PATTERN_DIFFERENT : PATTERN_EQUAL; pattern <= PATTERN_DIFFERENT; pattern++) {
        const size_t number = 3 * JUDGE_SIZES_MAX + 2 * size + (pattern == PATTERN_DIFFERENT);
        struct planned *planned = &add(plan, PHASE_PATTERNS, &task->sizes[size], number)->planned;
        planned->set = set;
        planned->schedule = size % SCHEDULES;
        planned->pattern = pattern;
    }
}

static void add_patterns(struct plan *plan, const struct judge_task *task) {
    enum { SIZES = 4, SETS = 2 };
    size_t sets[SETS], set_count = 0, taken = 0;
    for (size_t set = 0; set < data_sets(task) && set_count < SETS; set++)
        if (varies(task, set)) sets[set_count++] = set;
    for (size_t i = 0; i < task->size_count && taken < SIZES && set_count; i++)
        if (has_patterns(&task->sizes[i])) add_patterns_of(plan, task, i, sets[taken++ % set_count]);
}

static size_t other_blocks(const struct judge_task *task) {
    size_t most = 0;
    for (size_t s = 0; s < task->stage_count; s++)
        if (task->stages[s].other_block_count > most) most = task->stages[s].other_block_count;
    return most;
}

/* The k-th of trials that each have another set of data, and all of these another schedule. */
static void take_turns(struct step *step, const struct judge_task *task, size_t k) {
    step->planned.set = k % data_sets(task);
    step->planned.schedule = k / data_sets(task) % SCHEDULES;
}

static void add_blocks(struct plan *plan, const struct judge_task *task) {
    for (size_t k = 0; k < other_blocks(task) * task->size_count; k++) {
        const size_t size = k % task->size_count;
        struct step *step = add(plan, PHASE_BLOCKS, &task->sizes[size], size);
        take_turns(step, task, k);
        step->planned.block = 1 + k / task->size_count;
        step->is_first_of_block = !size;
    }
}

/* Whether a block reads what others may write while it runs. */
static bool reads_from_others(const char *ptx) {
    static const char *const words[] = {"atom.", "ld.volatile", "ld.acquire", "ld.relaxed"};
    size_t w = 0;
    while (w < sizeof words / sizeof *words && !strstr(ptx, words[w])) w++;
    return w < sizeof words / sizeof *words;
}

/* In all other trials a block runs to its end before the next begins, unless it waits, so an update that is a read and a
 * write is never lost.  In these, blocks take turns, and the result tells: what races has been found, and a launch that takes
 * long, such as one in which many blocks want one lock, says nothing. */
static void add_turns(struct plan *plan, const struct judging *judging) {
    const struct judge_task *task = judging->task;
    const size_t sets = data_sets(task);
    if (!reads_from_others(judging->candidate.ptx)) return;
    for (size_t k = 0; k < task->size_count * sets; k++) {
        const size_t size = task->size_count - 1 - k / sets;
        struct planned *planned = &add(plan, PHASE_TURNS, &task->sizes[size], 2 * JUDGE_SIZES_MAX + size)->planned;
        planned->set = k % sets;
        planned->schedule = SCHEDULES - 1 - k % 2;
        planned->is_interleaved = true;
    }
}

/* In all other trials the module's variables are as in the source, where on a GPU they are as the launch before left
 * them: each of the task's sizes once more in their order, and then in the opposite one, on the same simulator. */
static void add_again(struct plan *plan, const struct judging *judging) {
    const struct judge_task *task = judging->task;
    const size_t trials = judging->candidate.keeps_state ? 2 * task->size_count : 0;
    for (size_t k = 0; k < trials; k++) {
        const struct size *size = &task->sizes[k < task->size_count ? k : trials - 1 - k];
        take_turns(add(plan, PHASE_AGAIN, size, JUDGE_SIZES_MAX + k), task, k);
    }
}

bool plan_make(struct plan *plan, const struct judging *judging) {
    const struct judge_task *task = judging->task;
    const size_t of_size = data_sets(task) * (SCHEDULES + 1) + other_blocks(task) + 2 + 2;
    *plan = (struct plan){.steps = calloc(task->size_count * of_size + 1 + MORE_SIZES_MAX, sizeof *plan->steps)};
    if (!plan->steps) return false;
    add_task(plan, task);
    add_patterns(plan, task);
    add(plan, PHASE_CHOOSE, NULL, 0);
    add_blocks(plan, task);
    add_turns(plan, judging);
    add_again(plan, judging);
    return true;
}

void plan_clear(struct plan *plan) {
    free(plan->steps);
}

void plan_choose(struct plan *plan, const struct judging *judging, uint64_t seed) {
    const struct candidate *candidate = &judging->candidate;
    const char *kernels[STAGES_MAX];
    for (size_t s = 0; s < judging->task->stage_count; s++)
        kernels[s] = simt_module_kernel_name(candidate->module, candidate->kernels[s]);
    sizes_choose(judging->task, candidate->ptx, kernels, seed, &plan->more);
}

void plan_add_more(struct plan *plan, const struct judging *judging) {
    for (size_t i = 0; i < plan->more.count; i++) {
        struct step *step = add(plan, PHASE_MORE, &plan->more.items[i], judging->task->size_count + i);
        take_turns(step, judging->task, i);
        step->is_first_of_size = true;
    }
}
