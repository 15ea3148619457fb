/* How often a block has executed each instruction. */
#ifndef SIMT_EXECUTED_H
#define SIMT_EXECUTED_H

#include "machine.h"

bool simt_executed_create(struct executed *executed, const struct launch *launch); /* false: no memory */
/* Where nobody asks: from here on, for the message of a limit that may be reached. */
void simt_executed_begin(struct executed *executed, const struct launch *launch);
void simt_executed_destroy(struct executed *executed);

/* Reports what the block has executed to the first observers, and resets the counts. */
void simt_executed_tell(struct block *block, uint32_t observers);

static inline struct executed_count *simt_executed_list(struct executed *executed, uint32_t pc) {
    struct executed_count *count = &executed->counts[pc];
    if (!count->is_listed) executed->pcs[executed->pc_count++] = pc;
    count->is_listed = true;
    return count;
}

/* `lanes` came to the instruction, and `threads` of them executed it. */
static inline void simt_executed_add(struct executed *executed, uint32_t pc, uint64_t lanes, uint64_t threads) {
    struct executed_count *count = simt_executed_list(executed, pc);
    count->sum.instructions++;
    count->sum.active_lanes += lanes;
    count->sum.thread_instructions += threads;
}

/* They all executed the run of lane operations that begins there. */
static inline void simt_executed_add_run(struct executed *executed, uint32_t pc, uint64_t lanes) {
    struct executed_count *count = simt_executed_list(executed, pc);
    count->runs++;
    count->run_lanes += lanes;
}

#endif
