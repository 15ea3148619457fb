/* Asynchronous copies in the order of a launch.  A copy is an access by an engine, a peer of the thread that asked for
 * it: it comes after all that this thread knew then, and nobody knows of it before a wait for its group or for the
 * phase of its mbarrier.  Bulk copies see what threads wrote only after a proxy fence. */
#include <stdlib.h>
#include <string.h>

#include "races_groups.h"

/* ---- meetings */

static struct meeting *meeting_at(struct races_block *block, uint64_t address) {
    struct races_shared *shared = block->shared;
    for (struct meeting *meeting = shared->mbarriers; meeting; meeting = meeting->next)
        if (meeting->address == address) return meeting;
    struct meeting *meeting = calloc(1, sizeof *meeting);
    if (!meeting) {
        races_lose(block->races);
        return NULL;
    }
    *meeting = (struct meeting){.next = shared->mbarriers, .address = address, .number = shared->mbarrier_count++};
    return shared->mbarriers = meeting;
}

static void complete(struct races_block *block, struct meeting *meeting) {
    simt_order_complete(block, meeting);
    simt_phases_end(meeting);
}

static void knowledge_clear(struct knowledge *knowledge) {
    simt_clock_drop(&knowledge->seen);
    simt_clock_drop(&knowledge->joined);
    for (int scope = 0; scope < SCOPES; scope++) simt_clock_drop(&knowledge->fenced[scope]);
}

static void meeting_clear(struct meeting *meeting) {
    knowledge_clear(&meeting->arriving);
    knowledge_clear(&meeting->complete);
}

void simt_async_shared_clear(struct races_shared *shared) {
    meeting_clear(&shared->barrier);
    while (shared->mbarriers) {
        struct meeting *meeting = shared->mbarriers;
        shared->mbarriers = meeting->next;
        meeting_clear(meeting);
        free(meeting->phases);
        free(meeting);
    }
}

/* What the lane's last atomic has acquired, comes before what it does now. */
static void take_acquired(struct races_block *block, const simt_event *event, uint32_t lane) {
    if (block->has_acquires) simt_order_acquire(block, event->warp, UINT32_C(1) << lane);
}

/* Lanes of one instruction share a tick. */
static void advance_behind(struct races_block *block, const simt_event *event, uint32_t lane) {
    if (event->mask >> lane == 1) simt_order_advance(block);
}

/* ---- groups */

static struct groups *groups_of(struct races_block *block, uint32_t thread, enum simt_engine engine) {
    if (!block->async) block->async = calloc(1, sizeof *block->async);
    if (block->async && !block->async->threads)
        block->async->threads = calloc(block->races->view->threads_per_block, sizeof *block->async->threads);
    if (block->async && block->async->threads)
        return &block->async->threads[thread][engine == SIMT_ENGINE_BULK_GROUP];
    races_lose(block->races);
    return NULL;
}

void simt_async_end(struct races_block *block) {
    if (block->async) {
        free(block->async->threads);
        free(block->async->warps);
    }
    free(block->async);
    block->async = NULL;
}

static void close_group(struct groups *groups, uint32_t tick, uint32_t pc) {
    if (groups->count == GROUPS_MAX) {
        memmove(groups->ticks, groups->ticks + 1, --groups->count * sizeof *groups->ticks);
        memmove(groups->pcs, groups->pcs + 1, groups->count * sizeof *groups->pcs);
    }
    groups->pcs[groups->count] = pc;
    groups->ticks[groups->count++] = tick;
}

static void await_groups(struct races_block *block, uint32_t thread, struct groups *groups,
                         const simt_copy_group *group) {
    if (groups->count <= group->pending) return;
    const uint32_t tick = groups->ticks[groups->count - 1 - group->pending];
    if (group->engine == SIMT_ENGINE_GROUP) simt_order_engine_done(block, thread, ENGINE_GROUPS, thread, tick);
    else simt_order_engine_done(block, thread, ENGINE_BULK_READS, thread, tick);
    if (group->engine == SIMT_ENGINE_BULK_GROUP && !group->is_read)
        simt_order_engine_done(block, thread, ENGINE_BULK_WRITES, thread, tick);
}

/* ---- groups of wgmma */

enum { WARPGROUP = 4 };

static struct warp_groups *groups_of_warps(struct races_block *block) {
    if (!block->async) block->async = calloc(1, sizeof *block->async);
    if (block->async && !block->async->warps)
        block->async->warps = calloc(block->races->view->warps_per_block, sizeof *block->async->warps);
    if (block->async && block->async->warps) return block->async->warps;
    races_lose(block->races);
    return NULL;
}

/* A wait by one thread tells it of all four warps, whose first threads' engines have read. */
static void await_warpgroup(struct races_block *block, const simt_event *event, const struct warp_groups *warps,
                            uint32_t pending) {
    const uint32_t size = block->races->view->warp_size, first = event->warp / WARPGROUP * WARPGROUP;
    const uint64_t count = warps[event->warp].count;
    if (count <= pending) return;
    const uint64_t last = count - pending - 1; /* the latest that is done */
    for (uint32_t warp = first; warp < first + WARPGROUP && warp < block->races->view->warps_per_block; warp++) {
        if (warps[warp].count <= last) continue;
        for (uint32_t lanes = event->mask; lanes; lanes &= lanes - 1)
            simt_order_engine_done(block, event->warp * size + (uint32_t)__builtin_ctz(lanes), ENGINE_WGMMA, warp * size,
                                   warps[warp].ticks[last % GROUPS_MAX]);
    }
}

static void note_warpgroup(struct races_block *block, const simt_event *event, const simt_copy_group *group) {
    struct warp_groups *warps = races_are_over(block) ? NULL : groups_of_warps(block);
    if (!warps) return;
    if (group->is_wait) {
        await_warpgroup(block, event, warps, group->pending);
        return;
    }
    struct warp_groups *own = &warps[event->warp];
    own->ticks[own->count++ % GROUPS_MAX] = block->tick;
    simt_order_advance(block);
}

void simt_async_group(void *state, const simt_event *event, const simt_copy_group *group) {
    struct races_block *block = state;
    if (group->engine == SIMT_ENGINE_WGMMA) {
        note_warpgroup(block, event, group);
        return;
    }
    uint32_t first = event->warp * block->races->view->warp_size;
    for (uint32_t lanes = event->mask; lanes && !races_are_over(block); lanes &= lanes - 1) {
        uint32_t thread = first + (uint32_t)__builtin_ctz(lanes);
        struct groups *groups = groups_of(block, thread, group->engine);
        if (groups && group->is_wait) {
            await_groups(block, thread, groups, group);
            groups->waited.pc = event->pc;
            groups->waited.pending = group->pending;
            groups->waited.tick = block->tick;
            groups->waited.is_any = true;
        }
        else if (groups) close_group(groups, block->tick, event->pc);
    }
    if (!group->is_wait) simt_order_advance(block);
}

/* ---- one side of a copy */

struct visit {
    struct races_block *block;
    const simt_event *event;
    uint32_t lane, thread;
    enum history history;
    bool is_shared, is_by_engine;
    bool is_bulk;        /* of the asynchronous proxy */
    struct clock fenced; /* what of the thread's knowledge it may touch */
    uint64_t stamp, found;
    struct shadow_page *page;
    const uint64_t *rivals[2 * HISTORIES]; /* planes of the page with which it conflicts */
    enum history rival_histories[2 * HISTORIES];
    uint32_t rival_count;
};

static bool is_atomic(enum history history) { return history == ATOMIC_READS || history == ATOMIC_WRITES; }

static bool is_by_engine(const struct races *races, uint64_t stamp) {
    return (stamp >> races->block_shift) - 1 >= races->blocks;
}

/* The engine comes after what its thread knows, but not after earlier copies because they are its own. */
static bool is_known(const struct visit *visit, uint64_t stamp, enum history history) {
    return simt_order_knows(visit->block, visit->thread, stamp, is_atomic(history));
}

/* Known to be written, but not to the asynchronous proxy. */
static bool is_unfenced(const struct visit *visit, uint64_t stamp, enum history history) {
    bool is_write = history == PLAIN_WRITES || history == ATOMIC_WRITES;
    return visit->is_bulk && is_write && !is_by_engine(visit->block->races, stamp) &&
           !simt_order_has(visit->block, visit->fenced, stamp, is_atomic(history));
}

/* Whether the copy's instruction has written the cell before, as in an earlier round. */
static bool is_again(const struct visit *visit, uint32_t cell) {
    const struct races *races = visit->block->races;
    bool is_found = false;
    for (int i = 0; i < 2; i++) {
        const uint64_t *plane = visit->page->stamps[PLAIN_WRITES][i], stamp = plane ? plane[cell] : 0;
        is_found |= stamp && is_by_engine(races, stamp) && stamp_field(stamp, 0, races->thread_shift) == visit->event->pc;
    }
    return is_found;
}

static void check_rival(struct visit *visit, uint32_t cell, uint64_t stamp, enum history history) {
    struct races_block *block = visit->block;
    if (!stamp || stamp == visit->stamp) return;
    bool is_in_order = is_known(visit, stamp, history);
    if (is_in_order && !is_unfenced(visit, stamp, history)) return;
    block->racing_accesses++;
    uint64_t pc = stamp_field(stamp, 0, block->races->thread_shift) + 1;
    if (visit->found == pc) return;
    visit->found = pc;
    const struct encounter encounter = {
        .event = visit->event,
        .lane = visit->lane,
        .is_shared = visit->is_shared,
        .is_by_engine = visit->is_by_engine,
        .is_read = visit->history == PLAIN_READS,
        .is_unfenced = is_in_order,
        .is_again = is_again(visit, cell),
        .address = visit->page->number << PAGE_BITS | (uint64_t)cell << visit->page->cell_bits,
        .stamp = stamp};
    simt_races_report(block, &encounter);
}

/* Beside an earlier access of the kind that this one does not come after. */
static void note(struct visit *visit, uint32_t cell) {
    uint64_t **planes = visit->page->stamps[visit->history];
    if (!planes[0][cell] || is_known(visit, planes[0][cell], visit->history)) {
        planes[0][cell] = visit->stamp;
        return;
    }
    if (simt_page_ensure(visit->page, &planes[1])) planes[1][cell] = visit->stamp;
    else races_lose(visit->block->races);
}

static void list_rivals(struct visit *visit) {
    visit->rival_count = 0;
    for (int history = 0; history < HISTORIES; history++)
        for (int i = 0; i < 2 && simt_races_conflicts[visit->history] >> history & 1; i++) {
            if (!visit->page->stamps[history][i]) continue;
            visit->rivals[visit->rival_count] = visit->page->stamps[history][i];
            visit->rival_histories[visit->rival_count++] = (enum history)history;
        }
}

static void visit_cell(struct visit *visit, uint32_t cell) {
    for (uint32_t i = 0; i < visit->rival_count; i++)
        check_rival(visit, cell, visit->rivals[i][cell], visit->rival_histories[i]);
    if (visit->history == PLAIN_WRITES) visit->page->values[cell] = VALUE_MIXED;
    note(visit, cell);
}

/* Whether the cell has the past that the one in front of it had, whose own stamps were these. */
static bool is_like_last(const struct visit *visit, uint32_t cell, const uint64_t last[2]) {
    uint64_t *const *own = visit->page->stamps[visit->history];
    for (uint32_t i = 0; i < visit->rival_count; i++)
        if (visit->rival_histories[i] != visit->history && visit->rivals[i][cell] != visit->rivals[i][cell - 1])
            return false;
    return own[0][cell] == last[0] && (own[1] ? own[1][cell] : 0) == last[1];
}

static void note_like_last(const struct visit *visit, uint32_t cell) {
    uint64_t *const *own = visit->page->stamps[visit->history];
    own[0][cell] = own[0][cell - 1];
    if (own[1]) own[1][cell] = own[1][cell - 1];
    if (visit->history == PLAIN_WRITES) visit->page->values[cell] = VALUE_MIXED;
}

/* Neighbours with one past, as the words of an mbarrier, have one future: it is asked for once, unless it is a race. */
static void visit_cells(struct visit *visit, uint32_t first, uint32_t end) {
    uint64_t *const *own = visit->page->stamps[visit->history], last[2] = {0};
    bool is_quiet = false;
    list_rivals(visit);
    for (uint32_t cell = first; cell < end; cell++) {
        if (is_quiet && is_like_last(visit, cell, last)) {
            note_like_last(visit, cell);
            continue;
        }
        const uint64_t races = visit->block->racing_accesses;
        last[0] = own[0][cell];
        last[1] = own[1] ? own[1][cell] : 0;
        visit_cell(visit, cell);
        is_quiet = visit->block->racing_accesses == races;
    }
}

static bool prepare(struct visit *visit, uint32_t cell_bits) {
    struct shadow_page *page = visit->page;
    return (cell_bits >= page->cell_bits || simt_page_refine(page, cell_bits)) &&
           simt_page_ensure(page, &page->stamps[visit->history][0]) &&
           (visit->history != PLAIN_WRITES || simt_page_ensure(page, &page->values));
}

/* The bytes of one page. */
static void visit_page(struct visit *visit, uint64_t address, uint32_t nbytes) {
    const uint64_t number = address >> PAGE_BITS;
    const uint32_t unaligned = (uint32_t)(address | nbytes);
    visit->page = races_open(visit->block, visit->is_shared, number);
    bool is_ready = visit->page && prepare(visit, unaligned & 1 ? 0 : unaligned & 2 ? 1 : CELL_BITS_MAX);
    if (!is_ready) races_lose(visit->block->races);
    if (is_ready)
        visit_cells(visit, page_cell(visit->page, address), page_cell(visit->page, address + nbytes - 1) + 1);
    if (visit->page) races_close(visit->block, visit->is_shared, number);
}

static void visit_span(struct visit *visit, const simt_span *span) {
    uint64_t address = span->address;
    visit->is_shared = span->space == SIMT_SHARED;
    if (visit->is_shared) address = races_address(visit->event->block, address);
    if (visit->is_shared) simt_races_note_early(visit->block, visit->event->pc, visit->thread, address);
    if (visit->is_bulk) visit->fenced = simt_order_fenced_for_copies(visit->block, visit->thread, visit->is_shared);
    for (uint32_t left = span->nbytes, part; left; left -= part, address += part) {
        uint32_t rest = PAGE_NBYTES - (uint32_t)(address & (PAGE_NBYTES - 1));
        part = left < rest ? left : rest;
        visit_page(visit, address, part);
    }
    simt_clock_drop(&visit->fenced);
}

/* ---- copies */

/* Beyond this number of mbarriers, some share an engine: a wait for one then counts as a wait for the other. */
static enum engine engine_of_mbarrier(const struct meeting *meeting) {
    return (enum engine)(ENGINE_MBARRIERS + meeting->number % (ENGINES - ENGINE_MBARRIERS));
}

static uint64_t stamp_of(const struct visit *visit, enum engine engine) {
    const struct races *races = visit->block->races;
    uint64_t number = (uint64_t)engine * races->view->threads_per_block + visit->thread;
    return (races->blocks + visit->block->index + 1) << races->block_shift |
           (uint64_t)visit->block->tick << races->tick_shift | number << races->thread_shift | visit->event->pc;
}

static void check_spans(struct visit *visit, const simt_copy *copy, enum engine reads, enum engine writes) {
    visit->history = PLAIN_READS;
    visit->stamp = stamp_of(visit, reads);
    visit_span(visit, &copy->from);
    visit->history = copy->is_reduction ? ATOMIC_WRITES : PLAIN_WRITES;
    visit->stamp = stamp_of(visit, writes);
    visit_span(visit, &copy->to);
}

void simt_async_copy(void *state, const simt_event *event, const simt_copy *copy) {
    struct races_block *block = state;
    if (races_are_over(block)) return;
    take_acquired(block, event, copy->lane);
    struct visit visit = {.block = block,
                          .event = event,
                          .lane = copy->lane,
                          .thread = event->warp * block->races->view->warp_size + copy->lane,
                          .is_by_engine = true,
                          .is_bulk = copy->engine != SIMT_ENGINE_GROUP && !copy->is_generic};
    struct meeting *meeting = NULL;
    enum engine reads = ENGINE_GROUPS, writes = ENGINE_GROUPS;
    if (copy->engine == SIMT_ENGINE_MBARRIER) {
        meeting = meeting_at(block, races_address(event->block, copy->mbarrier));
        if (!meeting) return;
        reads = writes = engine_of_mbarrier(meeting);
    } else if (copy->engine == SIMT_ENGINE_WGMMA) reads = ENGINE_WGMMA;
    else if (visit.is_bulk) {
        reads = ENGINE_BULK_READS;
        writes = ENGINE_BULK_WRITES;
    }
    check_spans(&visit, copy, reads, writes);
    if (meeting) simt_order_engine(block, &meeting->arriving.seen, reads, visit.thread, block->tick);
    if (copy->completes) complete(block, meeting);
    if (copy->engine != SIMT_ENGINE_GROUP && !copy->is_part) advance_behind(block, event, copy->lane);
}

/* ---- mbarriers, which are accessed atomically but when they begin and end */

static void check_object(struct races_block *block, const simt_event *event, const simt_mbarrier *operation) {
    bool is_plain = operation->operation == SIMT_MBARRIER_INITIALISE ||
                    operation->operation == SIMT_MBARRIER_INVALIDATE;
    const struct races *races = block->races;
    const simt_span object = {SIMT_SHARED, operation->address, 8};
    struct visit visit = {.block = block,
                          .event = event,
                          .lane = operation->lane,
                          .thread = event->warp * races->view->warp_size + operation->lane,
                          .history = is_plain ? PLAIN_WRITES : ATOMIC_WRITES};
    visit.stamp = block->first_stamp | (uint64_t)block->tick << races->tick_shift |
                  (uint64_t)visit.thread << races->thread_shift | event->pc;
    visit_span(&visit, &object);
    if (is_plain) return;
    uint64_t addresses[SIMT_LANES];
    addresses[operation->lane] = races_address(event->block, operation->address);
    const simt_access access = {.space = SIMT_SHARED,
                                .kind = SIMT_ATOMIC,
                                .order = SIMT_RELAXED,
                                .lanes = UINT32_C(1) << operation->lane,
                                .element_nbytes = 8,
                                .elements = 1,
                                .addresses = addresses};
    simt_order_atomic(block, event, &access, access.lanes, false);
}

void simt_async_mbarrier(void *state, const simt_event *event, const simt_mbarrier *operation) {
    struct races_block *block = state;
    if (races_are_over(block)) return;
    const uint32_t thread = event->warp * block->races->view->warp_size + operation->lane;
    struct meeting *meeting = meeting_at(block, races_address(event->block, operation->address));
    if (!meeting) return;
    take_acquired(block, event, operation->lane);
    check_object(block, event, operation);
    if (operation->is_unheeded) { /* a look, which orders nothing */
        block->shared->unheeded_wait = event->pc + 1;
        return;
    }
    switch (operation->operation) {
    case SIMT_MBARRIER_ARRIVE:
        simt_order_arrive(block, thread, &meeting->arriving, operation->order != SIMT_RELAXED);
        break;
    case SIMT_MBARRIER_ARRIVE_COPIES:
        simt_order_engine(block, &meeting->arriving.seen, ENGINE_GROUPS, thread, block->tick);
        break;
    case SIMT_MBARRIER_WAIT:
        simt_order_meet(block, thread, &meeting->complete, operation->order != SIMT_RELAXED);
        break;
    default: break;
    }
    simt_phases_note(block, meeting, event, operation);
    if (operation->completes) complete(block, meeting);
    if (operation->operation != SIMT_MBARRIER_WAIT) advance_behind(block, event, operation->lane);
}

/* ---- the barrier of a cluster */

void simt_async_cluster_barrier(void *state, const simt_event *event, bool is_arrival, enum simt_order order,
                                bool completes) {
    struct races_block *block = state;
    struct meeting *meeting = &block->shared->barrier;
    const uint32_t first = event->warp * block->races->view->warp_size;
    if (!is_arrival) block->known_ranks = UINT32_MAX; /* a relaxed arrival tells that much, too */
    for (uint32_t lanes = event->mask; lanes && !races_are_over(block); lanes &= lanes - 1) {
        const uint32_t thread = first + (uint32_t)__builtin_ctz(lanes);
        if (is_arrival) simt_order_arrive(block, thread, &meeting->arriving, order != SIMT_RELAXED);
        else simt_order_meet(block, thread, &meeting->complete, order != SIMT_RELAXED);
    }
    if (completes) simt_order_complete(block, meeting);
    if (is_arrival) simt_order_advance(block);
}
