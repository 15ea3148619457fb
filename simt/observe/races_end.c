/* Accesses to a block's shared memory when it may not be there: by another block of its cluster before it has begun, and whatever may
 * still come when it ends, and a GPU gives the memory to the next block: copies for which none of its threads has waited, and accesses by
 * other blocks of whose end none of its threads knows.  Copies by cp.async, which belong to their thread, are not among them. */
#include <stdio.h>

#include "races.h"

/* ---- the end */

struct ending {
    struct races *races;
    const struct races_shared *shared;
    const struct races_block *home;
    struct clock known; /* to any of its threads */
    uint64_t last;      /* the stamp that was looked at last */
};

static const char *cure_of(const struct stamped *by) {
    if (!by->is_by_engine) return "a barrier of the cluster must follow it, or one of the block's threads wait for it";
    switch (by->engine) {
    case ENGINE_BULK_READS: return "its thread must wait until that is read (cp.async.bulk.wait_group.read)";
    case ENGINE_WGMMA: return "its warps must wait for it (wgmma.wait_group)";
    default: return "one of the block's threads must wait for the phase of the mbarrier that counts it";
    }
}

static const struct races_block *block_at(const struct races_shared *shared, uint64_t index) {
    const struct races_block *block = shared->members;
    while (block && block->index != index) block = block->next;
    return block;
}

/* Whether a race of that instruction has been told: one wait is missing, or one barrier. */
static bool is_told(struct races *races, uint32_t pc) {
    bool is_told = false;
    pthread_mutex_lock(&races->lock);
    for (size_t i = 0; i < races->pair_count; i++) is_told |= races->pairs[i].pcs >> 32 == pc || (uint32_t)races->pairs[i].pcs == pc;
    pthread_mutex_unlock(&races->lock);
    return is_told;
}

static void report(const struct ending *ending, const struct stamped *by, uint64_t address, enum history history) {
    const struct races_block *of = block_at(ending->shared, by->block);
    const simt_launch_view *view = ending->races->view;
    if (!of || is_told(ending->races, by->pc)) return;
    const uint32_t lane = by->thread % view->warp_size;
    const simt_event event = {of->view, by->thread / view->warp_size, by->pc, 1u << lane, 1u << lane};
    char rank[48] = "";
    if (view->blocks_per_cluster > 1) snprintf(rank, sizeof rank, " of the cluster's block %u", ending->home->view->rank);
    simt_record_finding(&event, SIMT_FINDING_BOUNDS, lane, 0, "the %s %s shared memory at byte %llu%s may come after the end of that block: %s",
                        simt_races_verb(&view->places[by->pc]), !by->is_by_engine ? "of" : history == PLAIN_READS ? "from" : "to",
                        (unsigned long long)(address & ((1u << SIMT_RANK_SHIFT) - 1)), rank, cure_of(by));
}

/* Whether a thread of the block, or what it waits for itself, is all that can be meant. */
static bool is_of_home(const struct ending *ending, const struct stamped *by) {
    return by->is_by_engine ? by->engine == ENGINE_GROUPS : by->block == ending->home->index;
}

static void check_cell(struct ending *ending, uint64_t address, uint64_t stamp, enum history history) {
    if (!stamp || stamp == ending->last) return;
    ending->last = stamp;
    const struct stamped by = races_read_stamp(ending->races, stamp);
    const bool is_atomic = history == ATOMIC_READS || history == ATOMIC_WRITES;
    if (is_of_home(ending, &by) || simt_order_has(ending->home, ending->known, stamp, is_atomic)) return;
    report(ending, &by, address, history);
}

static void check_page(struct ending *ending, const struct shadow_page *page) {
    const uint32_t count = PAGE_NBYTES >> page->cell_bits;
    for (enum history history = 0; history < HISTORIES; history++)
        for (int i = 0; i < 2; i++) {
            const uint64_t *plane = page->stamps[history][i];
            for (uint32_t cell = 0; plane && cell < count; cell++)
                check_cell(ending, page->number << PAGE_BITS | (uint64_t)cell << page->cell_bits, plane[cell], history);
        }
}

static void check_block(struct races *races, const struct races_shared *shared, struct races_block *home) {
    struct ending ending = {.races = races, .shared = shared, .home = home, .known = simt_order_known_to_any(home)};
    const uint64_t rank = races->view->blocks_per_cluster > 1 ? home->view->rank + 1 : 0;
    for (size_t b = 0; b < shared->shadow.bucket_count; b++)
        for (const struct shadow_page *page = shared->shadow.buckets[b]; page; page = page->next)
            if (page->number >> (SIMT_RANK_SHIFT - PAGE_BITS) == rank) check_page(&ending, page);
    simt_clock_drop(&ending.known);
}

/* ---- the beginning */

void simt_races_note_early(struct races_block *block, uint32_t pc, uint32_t thread, uint64_t address) {
    struct races_shared *shared = block->shared;
    const uint32_t rank = (uint32_t)(address >> SIMT_RANK_SHIFT) - 1;
    if (block->races->view->blocks_per_cluster == 1 || rank == block->view->rank || block->known_ranks >> rank & 1) return;
    const struct races_block *home = shared->members;
    while (home && home->view->rank != rank) home = home->next;
    if (!home || simt_order_knows_of(block, thread, home->index)) {
        block->known_ranks |= 1u << rank;
        return;
    }
    uint32_t i = 0;
    while (i < shared->early_count && shared->early[i].pc != pc) i++;
    if (i == EARLY_MAX || i < shared->early_count) return;
    shared->early[shared->early_count++] = (struct early_access){pc, thread, rank, block->index, address};
}

static void report_early(struct races *races, const struct races_shared *shared, const struct early_access *early) {
    const struct races_block *of = block_at(shared, early->block);
    const uint32_t lane = early->thread % races->view->warp_size;
    if (!of || is_told(races, early->pc)) return;
    const simt_event event = {of->view, early->thread / races->view->warp_size, early->pc, 1u << lane, 1u << lane};
    simt_record_finding(&event, SIMT_FINDING_BOUNDS, lane, 0,
                        "the %s of shared memory at byte %llu of the cluster's block %u may come before that block has begun: a barrier of the "
                        "cluster must come first", simt_races_verb(&races->view->places[early->pc]),
                        (unsigned long long)(early->address & ((1u << SIMT_RANK_SHIFT) - 1)), early->rank);
}

/* Findings may be of threads of other blocks, which have not ended either. */
void simt_races_check_end(struct races_block *block) {
    struct races *races = block->races;
    const struct races_shared *shared = block->shared;
    const bool can_be_any = races->has_engines || races->view->blocks_per_cluster > 1;
    bool is_cut = false;
    for (const struct races_block *member = shared->members; member; member = member->next) is_cut |= member->view->is_cut;
    if (!can_be_any || is_cut || races_are_over(block)) return;
    for (uint32_t i = 0; i < shared->early_count; i++)
        if (shared->early[i].block == block->index) report_early(races, shared, &shared->early[i]);
    check_block(races, shared, block);
}
