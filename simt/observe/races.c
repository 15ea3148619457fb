/* Finds races: two accesses of one byte by different threads, of which one at least is not a load, not both
 * atomic, and neither ordered before the other.  That lanes of a warp run together orders nothing.  Two
 * stores of one value are no race, except for simt_observe_all_races: whichever comes last, the outcome is the same.
 *
 * An atomic access of block scope (.cta) is none for other blocks.
 *
 * Volatile accesses of global memory count as atomic; of shared memory they do not.  Two updates of one word that are a load
 * and a store each, with no order between them, are found although all four are atomic: one may be lost.  Local, constant and
 * parameter memory cannot race. */
#include <stdlib.h>
#include <string.h>

#include "races_visit.h"

/* ---- an access on its way over the shadow */

static bool is_atomic(const simt_access *access) {
    if (access->order == SIMT_VOLATILE && access->space == SIMT_SHARED) return access->kind == SIMT_ATOMIC;
    return access->kind == SIMT_ATOMIC || access->order != SIMT_WEAK;
}

/* ---- what is found */

/* Whether the thread holds what looks like a lock, taken without a fence. */
static bool holds_lock(struct visit *visit, uint32_t lane) {
    const struct races_block *block = visit->block;
    if (!block->is_parted) return false;
    const struct thread *thread = &block->threads[visit->event->warp * block->races->view->warp_size + lane];
    if (!thread->is_reading) return false;
    if (!visit->has_looked || visit->looked_at != thread->reading_pc) {
        const char *opcode = block->races->view->places[thread->reading_pc].opcode;
        visit->has_looked = true;
        visit->looked_at = thread->reading_pc;
        visit->is_lock = strstr(opcode, ".cas") || strstr(opcode, ".exch");
    }
    return visit->is_lock;
}

/* Keeps the strongest encounter with each instruction. */
static void find(struct visit *visit, const struct encounter *encounter) {
    struct races_block *block = visit->block;
    uint32_t pc = (uint32_t)stamp_field(encounter->stamp, 0, block->races->thread_shift), i = 0;
    visit->racing |= encounter->lanes;
    while (i < block->encounter_count &&
           stamp_field(block->encounters[i].stamp, 0, block->races->thread_shift) != pc)
        i++;
    if (i == ENCOUNTERS_MAX) return;
    struct encounter *kept = &block->encounters[i];
    const uint32_t lanes = i < block->encounter_count ? kept->lanes | encounter->lanes : encounter->lanes;
    const uint32_t strength = simt_races_strength(block, encounter);
    if (i == block->encounter_count || strength > kept->strength) {
        *kept = *encounter;
        kept->strength = strength;
    }
    block->encounter_count += i == block->encounter_count;
    kept->lanes = lanes;
}

static void report_encounters(struct races_block *block) {
    for (uint32_t i = 0; i < block->encounter_count; i++) simt_races_report(block, &block->encounters[i]);
    block->encounter_count = 0;
}

/* ---- cells */

/* Whether two atomic accesses are of different blocks, and one of block scope. */
static bool is_out_of_scope(const struct visit *visit, uint64_t stamp) {
    const struct races *races = visit->block->races;
    bool is_other_block = (stamp >> races->block_shift) - 1 != visit->block->index;
    return is_other_block && (races_is_of_block(races, visit->event->pc) ||
                              races_is_of_block(races, (uint32_t)stamp_field(stamp, 0, races->thread_shift)));
}

static bool is_known(const struct visit *visit, uint32_t thread, uint64_t stamp, enum history history) {
    const struct races_block *block = visit->block;
    const bool is_atomic = history == ATOMIC_READS || history == ATOMIC_WRITES;
    const bool has_learnt = !simt_clock_is_empty(block->seen) ||
                            (block->is_parted && !simt_clock_is_empty(block->threads[thread].seen));
    if (has_learnt) return simt_order_knows(block, thread, stamp, is_atomic);
    return races_is_settled(block, stamp) || !((stamp ^ visit_stamp_of(visit, thread)) & visit->same_thread);
}

/* Records the access in place of an earlier one of its kind that it makes redundant, or of the one nearer to the first. */
static void note_beside_others(struct visit *visit, uint32_t thread, uint32_t cell, uint64_t stamp) {
    uint64_t **planes = visit->page->stamps[visit->history], *first = &planes[0][cell];
    if (is_known(visit, thread, *first, visit->history)) {
        *first = stamp;
        if (planes[1] && is_known(visit, thread, planes[1][cell], visit->history)) planes[1][cell] = 0;
        return;
    }
    bool is_new = !planes[1];
    if (!simt_page_ensure(visit->page, &planes[1])) {
        races_lose(visit->block->races);
        return;
    }
    if (is_new) simt_visit_list_rivals(visit);
    uint64_t *second = &planes[1][cell];
    const struct races *races = visit->block->races;
    if (is_known(visit, thread, *second, visit->history) ||
        races_distance(races, *first, stamp) >= races_distance(races, *first, *second))
        *second = stamp;
}

/* Whether the earlier store happened before this one, so that nobody can still read its value. */
static bool is_past(const struct visit *visit, uint32_t thread, uint64_t earlier, uint64_t stamp) {
    return races_is_settled(visit->block, earlier) ||
           ((earlier ^ stamp) & visit->same_thread && is_known(visit, thread, earlier, PLAIN_WRITES));
}

static void note_value(struct visit *visit, uint32_t thread, uint32_t cell, uint64_t stamp, uint64_t value) {
    uint64_t **planes = visit->page->stamps[PLAIN_WRITES], *old = &visit->page->values[cell];
    bool is_only = is_past(visit, thread, planes[0][cell], stamp) &&
                   (!planes[1] || is_past(visit, thread, planes[1][cell], stamp));
    *old = is_only || *old == value ? value : value | VALUE_MIXED;
}

static void find_update(const struct visit *visit, uint32_t store, struct known_update *known) {
    struct races *races = visit->block->races;
    pthread_mutex_lock(&races->updates_lock);
    if (!atomic_load_explicit(&known->store, memory_order_relaxed)) {
        known->update = simt_update_of(visit->event, store);
        atomic_store_explicit(&known->store, store + 1, memory_order_release);
    }
    pthread_mutex_unlock(&races->updates_lock);
}

/* What the store makes of what its thread has read there; NULL: nothing that is known.  It is looked for once in a launch, as in a
 * large kernel that takes a while. */
static const struct known_update *update_of(const struct visit *visit, uint32_t store) {
    struct known_update *known = &visit->block->races->updates[store];
    if (!atomic_load_explicit(&known->store, memory_order_acquire)) find_update(visit, store, known);
    return known->update.missing ? known : NULL;
}

static bool is_at_line_of(const struct visit *visit, uint32_t pc, uint32_t other_pc) {
    const simt_place *place = &visit->block->races->view->places[pc], *other = &visit->block->races->view->places[other_pc];
    return place->line == other->line && !strcmp(place->file, other->file);
}

/* Whether the access at `pc` is of the update, too: of it itself or of one of its lines, as in a loop that is unrolled.  A step
 * of a tree reads what others are to write: those lack a barrier. */
static bool is_part_of(const struct visit *visit, const struct known_update *known, uint32_t pc) {
    return !known->update.joins_elements && (is_at_line_of(visit, pc, known->store - 1) || is_at_line_of(visit, pc, known->update.load));
}

/* The update that both are of, the access and one that was stamped; NULL: they are of none. */
static const struct known_update *common_update(const struct visit *visit, uint64_t stamp) {
    const uint32_t pc = (uint32_t)stamp_field(stamp, 0, visit->block->races->thread_shift), pcs[] = {visit->event->pc, pc};
    for (size_t i = 0; i < 2; i++) {
        if (strncmp(visit->block->races->view->places[pcs[i]].opcode, "st", 2)) continue;
        const struct known_update *known = update_of(visit, pcs[i]);
        if (known && is_part_of(visit, known, pcs[1 - i])) return known;
    }
    return NULL;
}

/* Of a store that another block made before, at the same instruction. */
static void note_repeated(const struct visit *visit, uint64_t other, uint64_t stamp) {
    const struct races *races = visit->block->races;
    const bool is_of_pc = !stamp_field(other ^ stamp, 0, races->thread_shift);
    if (is_of_pc && visit->access->space == SIMT_GLOBAL && other >> races->block_shift != stamp >> races->block_shift)
        atomic_fetch_add_explicit(&races->repeated[visit->event->pc], UINT64_C(1) << visit->page->cell_bits, memory_order_relaxed);
}

/* It is looked for once, as that takes a while. */
static bool is_guess(const struct visit *visit, uint32_t load) {
    enum { UNKNOWN, IS_GUESS, IS_NONE };
    _Atomic unsigned char *known = &visit->block->races->is_guess[load];
    unsigned char is = atomic_load_explicit(known, memory_order_relaxed);
    if (is == UNKNOWN) is = simt_is_guess(visit->event, load) ? IS_GUESS : IS_NONE;
    atomic_store_explicit(known, is, memory_order_relaxed);
    return is == IS_GUESS;
}

/* Whether one of the two is atomic and the other a plain load whose value an atomicCAS() verifies: this is advice. */
static bool is_verified(const struct visit *visit, uint64_t other, enum history rival) {
    const struct races *races = visit->block->races;
    const bool is_read = visit->history == PLAIN_READS && rival == ATOMIC_WRITES;
    if (!is_read && !(visit->history == ATOMIC_WRITES && rival == PLAIN_READS)) return false;
    const uint32_t load = is_read ? visit->event->pc : (uint32_t)stamp_field(other, 0, races->thread_shift);
    if (!is_guess(visit, load)) return false;
    atomic_fetch_add_explicit(&races->guesses[load], 1, memory_order_relaxed);
    return true;
}

static void visit_cell(struct visit *visit, uint32_t lane, uint32_t cell, uint64_t stamp, uint64_t value) {
    const struct races_block *block = visit->block;
    uint32_t thread = visit->event->warp * block->races->view->warp_size + lane;
    for (uint32_t i = 0; i < visit->rival_count; i++) {
        uint64_t other = visit->rivals[i][cell];
        if (races_is_settled(block, other) || !((other ^ stamp) & visit->same_thread)) continue;
        if (i >= visit->scoped_from && !is_out_of_scope(visit, other)) continue;
        if (is_known(visit, thread, other, visit->rival_histories[i])) continue;
        bool is_same_value = visit->history == PLAIN_WRITES && visit->rival_histories[i] == PLAIN_WRITES &&
                             visit->page->values[cell] == value && !(value & VALUE_MIXED);
        if (is_same_value && visit->rivals[i] == visit->page->stamps[PLAIN_WRITES][0]) note_repeated(visit, other, stamp);
        if (is_same_value && !block->races->has_equal_stores) continue;
        if (is_verified(visit, other, visit->rival_histories[i])) continue;
        uint64_t address = visit->page->number << PAGE_BITS | (uint64_t)cell << visit->page->cell_bits;
        const struct encounter encounter = {.event = visit->event,
                                            .lane = lane,
                                            .lanes = 1u << lane,
                                            .is_shared = visit->access->space == SIMT_SHARED,
                                            .address = address,
                                            .stamp = other,
                                            .is_scoped = i >= visit->scoped_from,
                                            .update = common_update(visit, other),
                                            .is_locked = holds_lock(visit, lane)};
        find(visit, &encounter);
    }
    if (visit->history == PLAIN_WRITES) note_value(visit, thread, cell, stamp, value);
    uint64_t *first = &visit->page->stamps[visit->history][0][cell];
    if (races_is_settled(block, *first) || !((*first ^ stamp) & visit->same_thread))
        *first = stamp;
    else
        note_beside_others(visit, thread, cell, stamp);
}

/* ---- any access */

static void visit_lane(struct visit *visit, uint32_t lane) {
    const simt_access *access = visit->access;
    uint32_t cell_bits = visit->page->cell_bits, nbytes = lane_nbytes(access);
    uint32_t cell = page_cell(visit->page, access->addresses[lane]);
    uint64_t stamp = visit_stamp(visit, lane);
    for (uint32_t byte = 0; byte < nbytes; byte += 1u << cell_bits, cell++)
        visit_cell(visit, lane, cell, stamp,
                   visit->history == PLAIN_WRITES ? visit_stored(access, lane, byte, cell_bits) : 0);
}

/* Lanes are aligned to their bytes, and so each is within a page. */
static void visit_lanes(struct visit *visit, uint32_t lanes) {
    bool is_shared = visit->access->space == SIMT_SHARED;
    uint64_t number = 0;
    for (; lanes; lanes &= lanes - 1) {
        uint32_t lane = (uint32_t)__builtin_ctz(lanes);
        if (!visit->page || visit->access->addresses[lane] >> PAGE_BITS != number) {
            if (visit->page) races_close(visit->block, is_shared, number);
            number = visit->access->addresses[lane] >> PAGE_BITS;
            visit->page = races_open(visit->block, is_shared, number);
            if (!visit->page || !simt_visit_prepare(visit)) {
                races_lose(visit->block->races);
                break;
            }
        }
        visit_lane(visit, lane);
    }
    if (visit->page) races_close(visit->block, is_shared, number);
}

/* ---- updates that are a load and a store, each atomic
 *
 * They race with nothing, and where blocks run one after the other nothing is lost.  But another thread's update that is not
 * in order with this one may come between the two. */

/* Whether the thread has last read that address, by a load that does not just wait there for another's store. */
static bool has_loaded(const struct visit *visit, uint32_t lane) {
    const struct races *races = visit->block->races;
    const struct thread *thread = &visit->block->threads[visit->event->warp * races->view->warp_size + lane];
    const uint32_t pc = thread->reading_pc, store = visit->event->pc;
    if (thread->reading != visit->access->addresses[lane] || thread->is_reading_shared) return false;
    if (strncmp(races->view->places[pc].opcode, "ld", 2)) return false;
    return !simt_may_follow(visit->event, pc, pc, false) || simt_may_follow(visit->event, store, pc, false);
}

static void check_update(struct visit *visit, uint32_t lane) {
    const struct known_update any = {visit->event->pc + 1, {visit->event->pc, "atomic operation such as atomicAdd()", false}};
    const struct shadow_page *page = visit->page;
    const uint32_t nbytes = lane_nbytes(visit->access), thread = visit->event->warp * visit->block->races->view->warp_size + lane;
    const uint64_t address = visit->access->addresses[lane], stamp = visit_stamp(visit, lane);
    uint32_t cell = page_cell(page, address);
    for (uint32_t byte = 0; byte < nbytes; byte += 1u << page->cell_bits, cell++) {
        const uint64_t other = page->updates[cell], value = visit_stored(visit->access, lane, byte, page->cell_bits);
        const bool is_unordered = other && !simt_order_knows(visit->block, thread, other, true);
        if (is_unordered && page->updated[cell] == value) continue; /* as a flag that several set */
        const struct known_update *known = update_of(visit, visit->event->pc);
        const struct encounter encounter = {.event = visit->event,
                                            .lane = lane,
                                            .lanes = 1u << lane,
                                            .address = address,
                                            .stamp = other,
                                            .update = known ? known : &any};
        if (is_unordered) find(visit, &encounter);
        page->updates[cell] = stamp;
        page->updated[cell] = value;
    }
}

static void check_updates(struct visit *visit) {
    for (uint32_t lanes = visit->access->lanes; lanes; lanes &= lanes - 1) {
        const uint32_t lane = first_lane(lanes);
        if (!has_loaded(visit, lane)) continue;
        const uint64_t number = visit->access->addresses[lane] >> PAGE_BITS;
        struct shadow_page *page = visit->page = races_open(visit->block, false, number);
        const bool is_ready = page && simt_visit_prepare(visit) && simt_page_ensure(page, &page->updates) &&
                              simt_page_ensure(page, &page->updated);
        if (is_ready) check_update(visit, lane);
        else races_lose(visit->block->races);
        if (page) races_close(visit->block, false, number);
        visit->page = NULL;
    }
}

static void check_access_of(struct races_block *block, const simt_event *event, const simt_access *access) {
    const struct races *races = block->races;
    bool atomic = is_atomic(access), is_load = access->kind == SIMT_LOAD, is_of_block = races_is_of_block(races, event->pc);
    const uint32_t others = access->lanes & ~(atomic ? simt_order_waiting(block, event, access, is_of_block) : 0);
    if (block->has_acquires) simt_order_acquire(block, event->warp, others);
    struct visit visit = {
        .block = block,
        .event = event,
        .access = access,
        .history = is_load ? (atomic ? ATOMIC_READS : PLAIN_READS) : (atomic ? ATOMIC_WRITES : PLAIN_WRITES),
        .pc_and_tick = block->first_stamp + ((uint64_t)block->tick << races->tick_shift) + event->pc,
        .same_thread = ~(((UINT64_C(1) << races->thread_shift) - 1) |
                         ((UINT64_C(1) << races->block_shift) - (UINT64_C(1) << races->tick_shift))),
    };
    const bool is_atomic_store = atomic && access->kind == SIMT_STORE && access->space == SIMT_GLOBAL;
    if (is_atomic_store && block->is_parted) check_updates(&visit);
    if (!simt_visit_one(&visit)) visit_lanes(&visit, simt_visit_row(&visit));
    if (visit.racing) report_encounters(block);
    if (visit.racing) block->racing_accesses += (uint32_t)__builtin_popcount(visit.racing);
    if (atomic) simt_order_atomic(block, event, access, others, is_of_block);
}

/* ---- hooks */

/* Where there are clusters, shared memory is that of all of their blocks. */
static void check_cluster_access(struct races_block *block, const simt_event *event, const simt_access *access) {
    uint64_t addresses[SIMT_LANES];
    simt_access ranked = *access;
    for (uint32_t lane = 0; lane < SIMT_LANES; lane++)
        addresses[lane] = races_address(event->block, access->addresses[lane]);
    ranked.addresses = addresses;
    ranked.has_stride = false;
    check_access_of(block, event, &ranked);
    for (uint32_t lanes = access->lanes; lanes; lanes &= lanes - 1) {
        const uint32_t lane = (uint32_t)__builtin_ctz(lanes);
        simt_races_note_early(block, event->pc, event->warp * block->races->view->warp_size + lane, addresses[lane]);
    }
}

static void check_access(void *state, const simt_event *event, const simt_access *access) {
    struct races_block *block = state;
    if ((access->space != SIMT_SHARED && access->space != SIMT_GLOBAL) || races_are_over(block)) return;
    if (access->is_asynchronous) return;
    if (access->space == SIMT_SHARED && block->races->view->blocks_per_cluster > 1)
        check_cluster_access(block, event, access);
    else check_access_of(block, event, access);
}

static void order_proxy_fence(void *state, const simt_event *event, bool of_shared, bool of_global) {
    struct races_block *block = state;
    if (!races_are_over(block)) simt_order_proxy_fence(block, event->warp, event->mask, of_shared, of_global);
}

static void order_barrier(void *state, const simt_block_view *view, uint32_t barrier, uint32_t pc,
                          const uint32_t *lanes) {
    (void)pc;
    struct races_block *block = state;
    if (races_are_over(block)) return;
    /* Barrier 0 is that of __syncthreads(): a thread that does not take part has exited. */
    uint32_t threads = 0;
    for (uint32_t warp = 0; barrier && warp < view->launch->warps_per_block; warp++)
        threads += (uint32_t)__builtin_popcount(lanes[warp]);
    simt_order_barrier(block, lanes, barrier == 0 || threads == view->launch->threads_per_block);
}

static void order_warp_barrier(void *state, const simt_event *event, uint32_t lanes) {
    struct races_block *block = state;
    if (!races_are_over(block)) simt_order_warp_barrier(block, event->warp, lanes);
}

static void order_fence(void *state, const simt_event *event, bool beyond_block) {
    struct races_block *block = state;
    if (!races_are_over(block))
        simt_order_fence(block, event->warp, event->mask, beyond_block ? SCOPE_GRID : SCOPE_BLOCK);
}

/* Shared memory of the block, or, if that has begun before, of its cluster; NULL: no memory. */
static struct races_shared *take_shared(struct races *races, const simt_block_view *view) {
    struct races_shared *shared = NULL;
    pthread_mutex_lock(&races->lock);
    if (view->launch->blocks_per_cluster > 1)
        for (shared = races->clusters; shared && shared->cluster != view->cluster;) shared = shared->next;
    if (!shared && (shared = calloc(1, sizeof *shared))) {
        shared->cluster = view->cluster;
        shared->next = races->clusters;
        races->clusters = shared;
    }
    if (shared) shared->owners++;
    pthread_mutex_unlock(&races->lock);
    return shared;
}

static void drop_shared(struct races *races, struct races_shared *shared) {
    pthread_mutex_lock(&races->lock);
    bool is_last = --shared->owners == 0;
    struct races_shared **link = &races->clusters;
    while (is_last && *link != shared) link = &(*link)->next;
    if (is_last) *link = shared->next;
    pthread_mutex_unlock(&races->lock);
    if (!is_last) return;
    simt_shadow_clear(&shared->shadow);
    simt_async_shared_clear(shared);
    free(shared);
}

static bool begin_block(void *launch, void *state, const simt_block_view *view) {
    struct races_block *block = state;
    block->races = launch;
    block->shared = take_shared(launch, view);
    if (!block->shared) return false;
    block->view = view;
    block->next = block->shared->members;
    block->shared->members = block;
    block->index = view->index;
    block->first_stamp = (view->index + 1) << block->races->block_shift;
    simt_order_begin(block);
    return true;
}

static void end_block(void *launch, void *state, const simt_block_view *view) {
    (void)view;
    struct races *races = launch;
    struct races_block *block = state;
    pthread_mutex_lock(&races->lock);
    races->racing_accesses += block->racing_accesses;
    pthread_mutex_unlock(&races->lock);
    if (!block->shared) return;
    simt_async_end(block);
    simt_order_end(block);
    drop_shared(races, block->shared);
}

static void check_over(void *state, const simt_block_view *view) {
    (void)view;
    simt_races_check_end(state);
}

static uint32_t bits_of(uint64_t greatest) {
    return greatest ? 64 - (uint32_t)__builtin_clzll(greatest) : 0;
}

/* Fewer bits than this are no use. */
enum { TICK_BITS_MIN = 8 };

/* Whether the module can start copies: their engines take numbers that stamps would otherwise not need. */
static bool has_engines(const simt_launch_view *view) {
    for (uint32_t pc = 0; pc < view->place_count; pc++)
        if (!strncmp(view->places[pc].opcode, "cp.", 3) || !strncmp(view->places[pc].opcode, "wgmma", 5)) return true;
    return false;
}

/* Shares out the bits of a stamp but the top one, which is 0; the ticks get what is left. */
static void lay_out(struct races *races) {
    const simt_launch_view *view = races->view;
    uint64_t blocks = (uint64_t)view->grid[0] * view->grid[1] * view->grid[2];
    races->blocks = blocks;
    races->has_engines = has_engines(view);
    uint32_t block_bits = bits_of(races->has_engines ? 2 * blocks : blocks), pc_bits = bits_of(view->place_count);
    races->thread_bits = bits_of((races->has_engines ? ENGINES : 1) * view->threads_per_block - 1);
    if (block_bits + races->thread_bits + pc_bits + TICK_BITS_MIN > 63) {
        races->is_over = true;
        return;
    }
    races->levels = (block_bits + races->thread_bits + 1 + CLOCK_LEVEL_BITS - 1) / CLOCK_LEVEL_BITS;
    races->thread_shift = pc_bits;
    races->tick_shift = races->thread_shift + races->thread_bits;
    races->block_shift = 63 - block_bits;
    uint32_t tick_bits = races->block_shift - races->tick_shift;
    races->tick_limit = tick_bits < 32 ? (1u << tick_bits) - 1 : UINT32_MAX;
}

/* atom.cta.add and the like, but not fence.acq_rel.cta or ld.shared::cta. */
static bool is_scoped_to_block(const char *opcode) {
    static const char *const bases[] = {"atom.", "red.", "ld.", "st."};
    const char *scope = strstr(opcode, ".cta");
    for (size_t b = 0; scope && b < sizeof bases / sizeof *bases; b++)
        if (!strncmp(opcode, bases[b], strlen(bases[b]))) return scope[4] == '.' || !scope[4];
    return false;
}

static bool list_scopes(struct races *races) {
    const simt_launch_view *view = races->view;
    for (uint32_t pc = 0; pc < view->place_count; pc++) {
        if (!is_scoped_to_block(view->places[pc].opcode)) continue;
        if (!races->is_of_block) races->is_of_block = calloc(view->place_count, 1);
        if (!races->is_of_block) return false;
        races->is_of_block[pc] = 1;
    }
    return true;
}

static void free_lists(struct races *races) {
    free(races->is_of_block);
    free((void *)races->repeated);
    free((void *)races->is_guess);
    free((void *)races->guesses);
    free(races->updates);
}

/* What is known of each instruction; nothing, and false: out of memory. */
static bool make_lists(struct races *races) {
    const size_t count = races->view->place_count + 1u;
    races->repeated = calloc(count, sizeof *races->repeated);
    races->is_guess = calloc(count, sizeof *races->is_guess);
    races->guesses = calloc(count, sizeof *races->guesses);
    races->updates = calloc(count, sizeof *races->updates);
    if (races->repeated && races->is_guess && races->guesses && races->updates && list_scopes(races)) return true;
    free_lists(races);
    return false;
}

static bool begin_launch(void *launch, const simt_launch_view *view) {
    struct races *races = launch;
    races->view = view;
    for (int i = 0; i < SHARDS; i++)
        if (pthread_mutex_init(&races->shards[i].lock, NULL)) return false;
    if (pthread_mutex_init(&races->lock, NULL) || pthread_mutex_init(&races->updates_lock, NULL)) return false;
    lay_out(races);
    return make_lists(races);
}

static bool begin_launch_of_all(void *launch, const simt_launch_view *view) {
    ((struct races *)launch)->has_equal_stores = true;
    return begin_launch(launch, view);
}

/* Releases what a block holds that never ran because memory ran out. */
static void drop_clusters(struct races *races) {
    while (races->clusters) {
        races->clusters->owners = 1;
        drop_shared(races, races->clusters);
    }
}

static void report_repeated(const struct races *races, simt_report *report) {
    for (uint32_t pc = 0; pc < races->view->place_count; pc++) {
        const uint64_t nbytes = atomic_load_explicit(&races->repeated[pc], memory_order_relaxed);
        if (nbytes) simt_report_add_repeated(report, &races->view->places[pc], nbytes);
    }
}

static void report_guesses(const struct races *races, simt_report *report) {
    for (uint32_t pc = 0; pc < races->view->place_count; pc++) {
        const uint64_t count = atomic_load_explicit(&races->guesses[pc], memory_order_relaxed);
        if (count) simt_report_add_guesses(report, &races->view->places[pc], count);
    }
}

static void end_launch(void *launch, simt_report *report) {
    struct races *races = launch;
    drop_clusters(races);
    report_repeated(races, report);
    report_guesses(races, report);
    simt_report_add(report, "races", (double)races->pair_count);
    simt_report_add(report, "racing_accesses", (double)races->racing_accesses);
    if (races->is_over) simt_report_add(report, "races_incomplete", 1);
    if (races->out_of_memory) simt_report_lose(report);
    for (int i = 0; i < SHARDS; i++) {
        simt_shadow_clear(&races->shards[i].shadow);
        pthread_mutex_destroy(&races->shards[i].lock);
    }
    pthread_mutex_destroy(&races->lock);
    pthread_mutex_destroy(&races->updates_lock);
    free(races->pairs);
    free_lists(races);
}

#define OBSERVER(begin)                                                                                            \
    {                                                                                                              \
        .launch_begin = begin,                                                                                     \
        .name = "races",                                                                                           \
        .launch_nbytes = sizeof(struct races),                                                                     \
        .block_nbytes = sizeof(struct races_block),                                                                \
        .launch_end = end_launch,                                                                                  \
        .block_begin = begin_block,                                                                                \
        .block_end = end_block,                                                                                    \
        .block_over = check_over,                                                                                  \
        .access = check_access,                                                                                    \
        .warp_barrier = order_warp_barrier,                                                                        \
        .barrier = order_barrier,                                                                                  \
        .fence = order_fence,                                                                                      \
        .copy = simt_async_copy,                                                                                   \
        .copy_group = simt_async_group,                                                                            \
        .mbarrier = simt_async_mbarrier,                                                                           \
        .proxy_fence = order_proxy_fence,                                                                          \
        .cluster_barrier = simt_async_cluster_barrier,                                                             \
    }

const struct simt_observer simt_observe_races = OBSERVER(begin_launch);
const struct simt_observer simt_observe_all_races = OBSERVER(begin_launch_of_all);
