#include "races_groups.h"

bool simt_groups_wait(const struct races_block *block, uint32_t thread, bool is_bulk, uint32_t tick, struct wait_told *told) {
    if (!block->async || !block->async->threads) return false;
    const struct groups *groups = &block->async->threads[thread][is_bulk];
    if (!groups->waited.is_any || groups->waited.tick <= tick) return false;
    uint32_t own = 0, end = groups->count; /* of those before the wait the copy's, and all */
    while (own < end && groups->ticks[own] < tick) own++;
    while (end > own && groups->ticks[end - 1] >= groups->waited.tick) end--;
    *told = (struct wait_told){.pc = groups->waited.pc, .pending = groups->waited.pending, .is_committed = own < end};
    if (own == end) return true;
    told->commit_pc = groups->pcs[own];
    told->needed = end - own - 1;
    return told->pending > told->needed;
}
