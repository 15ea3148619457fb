/* The limits of a launch and of each block: how many instructions are left, and who holds them. */
#include "machine.h"

uint64_t simt_launch_take(struct launch *launch, uint64_t count) {
    uint_fast64_t left = atomic_load_explicit(&launch->pool, memory_order_relaxed), taken;
    do taken = left < count ? left : count;
    while (!atomic_compare_exchange_weak(&launch->pool, &left, left - taken));
    return taken;
}

void simt_block_give_back(struct block *block) {
    atomic_fetch_add(&block->launch->pool, block->allowed - block->tally.instructions);
    block->allowed = block->tally.instructions;
}

void simt_block_charge(struct block *block, uint64_t instructions) {
    uint64_t rest = block->allowed - block->tally.instructions;
    if (instructions > rest) simt_launch_take(block->launch, instructions - rest);
    block->allowed -= instructions < rest ? instructions : rest;
    block->slow += instructions;
}

void simt_machine_set_block_limit(struct simt_machine *machine, uint64_t instructions) { machine->block_limit = instructions; }

/* A large block does more than a small one before anybody takes it for endless. */
uint64_t simt_block_limit(const struct simt_machine *machine, uint32_t warps) {
    enum { WARPS_SMALL = 8 };
    const uint64_t limit = machine->block_limit;
    if (!limit) return UINT64_MAX;
    return warps > WARPS_SMALL ? limit / WARPS_SMALL * warps : limit;
}

bool simt_block_is_over(const struct block *block) {
    return block->tally.instructions + block->slow >= block->launch->block_limit;
}
