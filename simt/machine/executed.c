/* How often a block has executed each instruction, for the observers that ask at its end: a call for each time costs
 * more than most instructions. */
#include "executed.h"

#include <stdlib.h>

static bool is_wanted(const struct launch *launch) { return launch->executed.count > 0; }

static bool allocate(struct executed *executed, const struct launch *launch) {
    executed->counts = calloc(launch->view.place_count, sizeof *executed->counts);
    executed->pcs = malloc(launch->view.place_count * sizeof *executed->pcs);
    return executed->counts && executed->pcs;
}

bool simt_executed_create(struct executed *executed, const struct launch *launch) {
    return !is_wanted(launch) || allocate(executed, launch);
}

void simt_executed_begin(struct executed *executed, const struct launch *launch) {
    if (executed->counts) return;
    executed->is_late = true;
    if (!allocate(executed, launch)) simt_executed_destroy(executed);
}

void simt_executed_destroy(struct executed *executed) {
    free(executed->counts);
    free(executed->pcs);
    executed->counts = NULL;
    executed->pcs = NULL;
}

/* What was counted for the beginning of a run is that of all of it. */
static void spread_runs(struct executed *executed, const struct pace *paces) {
    for (uint32_t i = 0, count = executed->pc_count; i < count; i++) {
        const uint32_t pc = executed->pcs[i];
        const struct executed_count *run = &executed->counts[pc];
        for (uint32_t at = pc; run->runs && at < pc + paces[pc].straight; at++) {
            simt_executed *sum = &executed->counts[at].sum;
            simt_executed_list(executed, at);
            sum->instructions += run->runs;
            sum->active_lanes += run->run_lanes;
            sum->thread_instructions += run->run_lanes;
        }
    }
}

void simt_executed_tell(struct block *block, uint32_t observers) {
    struct executed *executed = &block->executed;
    const struct launch *launch = block->launch;
    if (!executed->counts) return;
    spread_runs(executed, launch->paces);
    for (uint32_t i = 0; i < executed->pc_count; i++) {
        const uint32_t pc = executed->pcs[i];
        for (uint32_t o = 0; o < observers; o++) {
            const struct hook *hook = &launch->all.hooks[o];
            if (hook->observer->executed)
                hook->observer->executed(block->states + hook->state, pc, &executed->counts[pc].sum);
        }
        executed->counts[pc] = (struct executed_count){0};
    }
    executed->pc_count = 0;
}
