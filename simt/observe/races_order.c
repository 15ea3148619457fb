/* Happens-before within a launch.
 *
 * A release is a fence by a thread and then an atomic write by it; an acquire, an atomic read and then a
 * fence or, leniently, a barrier.  What a release hands on is what its thread knew at its last fence, or what
 * another thread that it met at a barrier since had fenced: a barrier alone publishes nothing beyond the
 * block, and neither does a fence or an atomic of block scope.
 *
 * Hooks tell of accesses before they happen, and blocks run on several host threads.  So what an atomic read
 * acquires is looked up only when it can matter: by then, the thread that wrote what it read has announced it. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "races.h"

static void check(struct races_block *block, bool is_done) {
    if (!is_done) races_lose(block->races);
}

/* What clocks are about: the plain accesses of a thread, and, next to them, its atomic ones. */
static uint64_t entry_of(const struct races *races, uint64_t block, uint64_t thread, bool is_atomic) {
    return (block << races->thread_bits | thread) << 1 | is_atomic;
}

static void join(struct races_block *block, struct clock *clock, struct clock other) {
    check(block, simt_clock_join_known(clock, other, &block->joined));
}

/* Adds what threads first .. last of the block did up to the tick. */
static void raise(struct races_block *block, struct clock *clock, uint32_t first, uint32_t last,
                  uint32_t tick) {
    const struct races *races = block->races;
    check(block, simt_clock_raise(clock, races->levels, entry_of(races, block->index, first, false),
                                  entry_of(races, block->index, last, true), tick));
}

static void raise_atomics(struct races_block *block, struct clock *clock, uint32_t thread, uint32_t tick) {
    uint64_t entry = entry_of(block->races, block->index, thread, true);
    check(block, simt_clock_raise(clock, block->races->levels, entry, entry, tick));
}

static void thread_clear(struct thread *thread) {
    simt_clock_drop(&thread->seen);
    simt_clock_drop(&thread->acquired);
    simt_clock_drop(&thread->given.seen);
    for (int scope = 0; scope < SCOPES; scope++) {
        simt_clock_drop(&thread->fenced[scope]);
        simt_clock_drop(&thread->acquired_async[scope]);
    }
    *thread = (struct thread){0};
}

/* Most have neither fenced nor read atomically: a look is less work than clearing. */
static void thread_clear_rest(struct thread *thread) {
    static const struct thread none;
    const size_t from = offsetof(struct thread, acquired);
    if (memcmp((const char *)thread + from, (const char *)&none + from, sizeof none - from)) thread_clear(thread);
}

static void set_span(struct races_block *block) {
    block->settled_span = ((uint64_t)block->settled + 1) << block->races->tick_shift;
}

static void advance(struct races_block *block) {
    if (++block->tick >= block->races->tick_limit) races_give_up(block);
}

void simt_order_advance(struct races_block *block) { advance(block); }

void simt_order_begin(struct races_block *block) {
    block->tick = 1;
    set_span(block);
}

void simt_order_end(struct races_block *block) {
    for (uint32_t t = 0; block->threads && t < block->races->view->threads_per_block; t++)
        thread_clear(&block->threads[t]);
    free(block->threads);
    simt_clock_union_clear(&block->joined);
    simt_clock_drop(&block->seen);
    for (int scope = 0; scope < SCOPES; scope++) simt_clock_drop(&block->fenced[scope]);
}

/* Lets threads differ from now on; false: no memory. */
static bool part(struct races_block *block) {
    if (!block->threads)
        block->threads = calloc(block->races->view->threads_per_block, sizeof *block->threads);
    block->is_parted = block->threads != NULL;
    check(block, block->is_parted);
    return block->is_parted;
}

static bool has(const struct races *races, struct clock clock, uint64_t stamp, bool is_atomic) {
    uint64_t other_block = (stamp >> races->block_shift) - 1;
    uint64_t other = stamp_field(stamp, races->thread_shift, races->tick_shift);
    uint32_t tick = (uint32_t)stamp_field(stamp, races->tick_shift, races->block_shift);
    return simt_clock_at(clock, races->levels, entry_of(races, other_block, other, is_atomic)) >= tick;
}

bool simt_order_all_know(const struct races_block *block, uint64_t stamp, bool is_atomic) {
    const struct races *races = block->races;
    uint32_t tick = (uint32_t)stamp_field(stamp, races->tick_shift, races->block_shift);
    if (!stamp || ((stamp >> races->block_shift) - 1 == block->index && tick <= block->settled)) return true;
    return !simt_clock_is_empty(block->seen) && has(races, block->seen, stamp, is_atomic);
}

bool simt_order_knows(const struct races_block *block, uint32_t thread, uint64_t stamp, bool is_atomic) {
    const struct races *races = block->races;
    bool is_own_block = (stamp >> races->block_shift) - 1 == block->index;
    if (is_own_block && stamp_field(stamp, races->thread_shift, races->tick_shift) == thread) return true;
    if (simt_order_all_know(block, stamp, is_atomic)) return true;
    return block->is_parted && has(races, block->threads[thread].seen, stamp, is_atomic);
}

/* ---- acquiring */

/* Whether the block has released there alone: then what it has released there is only added to. */
static bool is_of_block_alone(const struct races_block *block, const struct release *release) {
    return release->block == block->index && !release->is_of_several;
}

/* What the block alone has released there, which has all that it released to the grid, and all that was taken from there before. */
static void learn_of_block(struct races_block *block, struct thread *thread, const struct release *release) {
    const bool is_only = simt_clock_is_empty(thread->acquired) || thread->acquired_from == release;
    if (is_only) simt_clock_drop(&thread->acquired);
    join(block, &thread->acquired, release->clocks[SCOPE_BLOCK]);
    thread->acquired_from = is_only ? release : NULL;
    thread->is_given_acquired |= thread->given.release == release;
}

static void learn_of_several(struct races_block *block, struct thread *thread, const struct release *release) {
    const bool is_own = release->block == block->index;
    if (is_own || !thread->is_reading_block) join(block, &thread->acquired, release->clocks[SCOPE_GRID]);
    if (is_own) join(block, &thread->acquired, release->clocks[SCOPE_BLOCK]);
    thread->acquired_from = NULL;
}

/* Takes what has been released there; where the thread has, there is no more to take. */
static void learn(struct races_block *block, struct thread *thread, const struct release *release) {
    const struct learnt *last = &thread->learnt, now = {release, release->count, thread->is_reading_block};
    if (last->release == now.release && last->count == now.count && last->is_of_block == now.is_of_block) return;
    if (is_of_block_alone(block, release)) learn_of_block(block, thread, release);
    else learn_of_several(block, thread, release);
    for (int scope = SCOPE_ASYNC_SHARED; scope < SCOPES; scope++)
        join(block, &thread->acquired_async[scope], release->clocks[scope]);
    thread->learnt = now;
}

/* The clock that the thread's last atomic read acquires. */
static void look(struct races_block *block, struct thread *thread) {
    if (!thread->is_reading) return;
    thread->is_reading = false;
    if (!atomic_load(&block->races->has_releases)) return;
    uint64_t number = thread->reading >> PAGE_BITS;
    struct shadow_page *page = races_open(block, thread->is_reading_shared, number);
    check(block, page != NULL);
    if (!page) return;
    const struct release *release = simt_page_released(page, thread->reading);
    if (release) learn(block, thread, release);
    races_close(block, thread->is_reading_shared, number);
}

static void note_given(struct thread *thread, const struct release *release, struct clock seen) {
    const struct clock given = simt_clock_hold(seen);
    simt_clock_drop(&thread->given.seen);
    thread->given = (struct given){release, given};
    thread->is_given_acquired = false;
}

/* Who waits where it has arrived itself, or waited before, finds there all that it knows: the two need not be joined. */
static void see_acquired(struct races_block *block, struct thread *thread) {
    if (thread->is_given_acquired && simt_clock_is_same(thread->given.seen, thread->seen)) simt_clock_drop(&thread->seen);
    join(block, &thread->seen, thread->acquired);
    thread->is_given_acquired = false;
    if (thread->acquired_from && simt_clock_is_same(thread->seen, thread->acquired))
        note_given(thread, thread->acquired_from, thread->seen);
    simt_clock_drop(&thread->acquired);
}

static void acquire(struct races_block *block, struct thread *thread) {
    look(block, thread);
    if (simt_clock_is_empty(thread->acquired)) return;
    see_acquired(block, thread);
    for (int scope = SCOPE_ASYNC_SHARED; scope < SCOPES; scope++) {
        thread->is_fenced_seen[scope] &= simt_clock_is_empty(thread->acquired_async[scope]);
        join(block, &thread->fenced[scope], thread->acquired_async[scope]);
        simt_clock_drop(&thread->acquired_async[scope]);
    }
    block->has_acquired = true;
}

/* Whether all that was released where the thread has read is still there: what other blocks released has not taken its place. */
static bool is_kept(struct races_block *block, const struct thread *thread) {
    const uint64_t number = thread->reading >> PAGE_BITS;
    struct shadow_page *page = races_open(block, thread->is_reading_shared, number);
    const struct release *release = page ? simt_page_released(page, thread->reading) : NULL;
    const bool is_kept = page && (!release || !release->is_of_several);
    if (page) races_close(block, thread->is_reading_shared, number);
    return is_kept;
}

static bool is_acquiring(const simt_access *access) { return access->order == SIMT_ACQUIRE || access->order == SIMT_ACQUIRE_RELEASE; }

uint32_t simt_order_waiting(struct races_block *block, const simt_event *event, const simt_access *access, bool is_of_block) {
    uint32_t waiting = 0;
    for (uint32_t lanes = block->is_parted && access->kind == SIMT_LOAD ? access->lanes : 0; lanes; lanes &= lanes - 1) {
        const uint32_t lane = (uint32_t)__builtin_ctz(lanes);
        struct thread *thread = &block->threads[event->warp * block->races->view->warp_size + lane];
        const bool is_again = thread->is_reading && thread->reading == access->addresses[lane] &&
                              thread->is_reading_shared == (access->space == SIMT_SHARED) && thread->is_reading_block == is_of_block &&
                              thread->is_acquire == is_acquiring(access) && is_kept(block, thread);
        if (!is_again) continue;
        thread->reading_pc = event->pc;
        waiting |= UINT32_C(1) << lane;
    }
    return waiting;
}

void simt_order_acquire(struct races_block *block, uint32_t warp, uint32_t lanes) {
    struct thread *threads = &block->threads[warp * block->races->view->warp_size];
    for (; lanes && block->is_parted; lanes &= lanes - 1) {
        struct thread *thread = &threads[__builtin_ctz(lanes)];
        if (thread->is_acquire) acquire(block, thread);
        thread->is_acquire = false;
    }
}

/* ---- releasing */

static void fence_scope(struct races_block *block, struct thread *thread, enum scope scope) {
    if (thread->is_fenced_seen[scope]) simt_clock_drop(&thread->fenced[scope]);
    join(block, &thread->fenced[scope], thread->seen);
    thread->is_fenced_seen[scope] = simt_clock_is_same(thread->fenced[scope], thread->seen);
    thread->fence_tick[scope] = block->tick;
    block->has_fences = true;
}

static void fence(struct races_block *block, struct thread *thread, enum scope widest) {
    for (int scope = 0; scope <= (int)widest; scope++) fence_scope(block, thread, (enum scope)scope);
}

void simt_order_fence(struct races_block *block, uint32_t warp, uint32_t lanes, enum scope scope) {
    if (!part(block)) return;
    struct thread *threads = &block->threads[warp * block->races->view->warp_size];
    for (; lanes; lanes &= lanes - 1) {
        struct thread *thread = &threads[__builtin_ctz(lanes)];
        acquire(block, thread);
        fence(block, thread, scope);
    }
    advance(block);
}

/* Adds what all threads of the block know. */
static void add_settled(struct races_block *block, struct clock *clock) {
    join(block, clock, block->seen);
    if (block->settled) raise(block, clock, 0, block->races->view->threads_per_block - 1, block->settled);
}

/* Adds what threads first .. last themselves have fenced since the last barrier of the whole block.  false: nothing. */
static bool add_fenced_alone(struct races_block *block, uint32_t first, uint32_t last, enum scope scope, struct clock *clock) {
    bool has_fence = false;
    for (uint32_t t = first, end; t <= last; t = end) {
        uint32_t tick = block->threads[t].fence_tick[scope];
        for (end = t; end <= last && block->threads[end].fence_tick[scope] == tick; end++)
            join(block, clock, block->threads[end].fenced[scope]);
        if (tick) raise(block, clock, t, end - 1, tick);
        has_fence |= tick != 0;
    }
    return has_fence;
}

/* With what all know by then. */
static void add_fenced(struct races_block *block, uint32_t first, uint32_t last, enum scope scope, struct clock *clock) {
    if (add_fenced_alone(block, first, last, scope, clock)) add_settled(block, clock);
}

/* What an atomic write by the thread hands on: itself, too.  false: it releases nothing. */
static bool add_released(struct races_block *block, uint32_t thread, enum scope scope, struct clock *clock) {
    join(block, clock, block->fenced[scope]);
    add_fenced(block, thread, thread, scope, clock);
    if (simt_clock_is_empty(*clock)) return false;
    raise_atomics(block, clock, thread, block->tick);
    return true;
}

/* Whether an atomic write by the thread hands on anything. */
static bool has_fenced(const struct races_block *block, const struct thread *thread, enum scope scope) {
    return thread->fence_tick[scope] || !simt_clock_is_empty(thread->fenced[scope]) ||
           !simt_clock_is_empty(block->fenced[scope]);
}

/* Adds what the thread itself has fenced.  Threads that have waited for the same have fenced the same: it is added once. */
static bool release_fenced(struct races_block *block, uint32_t thread, enum scope scope, struct release *release) {
    const struct thread *own = &block->threads[thread];
    if (!own->fenced[scope].node || !simt_clock_is_same(own->fenced[scope], release->fenced[scope])) {
        join(block, &release->clocks[scope], own->fenced[scope]);
        simt_clock_drop(&release->fenced[scope]);
        release->fenced[scope] = simt_clock_hold(own->fenced[scope]);
    }
    const uint32_t tick = own->fence_tick[scope];
    if (tick) raise(block, &release->clocks[scope], thread, thread, tick);
    return tick != 0;
}

/* What the thread hands on by an atomic write.  What all of the block know is added but once: it changes only where all of it settles. */
static void release_scope(struct races_block *block, uint32_t thread, enum scope scope, struct release *release) {
    struct clock *clock = &release->clocks[scope];
    const uint64_t unsettled = block->first_stamp + block->settled_span;
    join(block, clock, block->fenced[scope]);
    const bool has_fence = release_fenced(block, thread, scope, release);
    if (has_fence && release->unsettled[scope] != unsettled) {
        add_settled(block, clock);
        release->unsettled[scope] = unsettled;
    }
    raise_atomics(block, clock, thread, block->tick);
}

static void forget_other_block(const struct races_block *block, struct release *release) {
    if (release->block == block->index) return;
    simt_clock_drop(&release->clocks[SCOPE_BLOCK]);
    simt_clock_drop(&release->fenced[SCOPE_BLOCK]);
    release->unsettled[SCOPE_BLOCK] = 0;
    release->is_of_several |= release->count > 0;
    release->block = block->index;
}

/* To what has been released at the address: where many threads write there, each adds little. */
static void add_to_release(struct races_block *block, uint32_t thread, enum scope widest, struct release *release) {
    forget_other_block(block, release);
    release->count++;
    for (enum scope scope = 0; scope < SCOPES; scope++) {
        const bool is_wanted = scope <= widest || scope >= SCOPE_ASYNC_SHARED;
        if (is_wanted && has_fenced(block, &block->threads[thread], scope)) release_scope(block, thread, scope, release);
    }
    note_given(&block->threads[thread], release, block->threads[thread].fenced[SCOPE_BLOCK]);
    atomic_store(&block->races->has_releases, true);
}

static bool release(struct races_block *block, uint32_t thread, bool is_shared, uint64_t address, enum scope widest) {
    bool is_release = false;
    for (enum scope scope = 0; scope <= widest; scope++) is_release |= has_fenced(block, &block->threads[thread], scope);
    if (!is_release) return false;
    struct shadow_page *page = races_open(block, is_shared, address >> PAGE_BITS);
    struct release *release = page ? simt_page_release(page, address) : NULL;
    check(block, release != NULL);
    if (release) add_to_release(block, thread, widest, release);
    if (page) races_close(block, is_shared, address >> PAGE_BITS);
    return true;
}

void simt_order_atomic(struct races_block *block, const simt_event *event, const simt_access *access, uint32_t among, bool is_of_block) {
    const enum scope widest = is_of_block ? SCOPE_BLOCK : SCOPE_GRID;
    bool is_release = access->order == SIMT_RELEASE || access->order == SIMT_ACQUIRE_RELEASE;
    bool is_acquire = is_acquiring(access);
    bool is_shared = access->space == SIMT_SHARED, has_released = false;
    uint32_t first = event->warp * block->races->view->warp_size;
    if (!part(block)) return;
    for (uint32_t lanes = among; lanes; lanes &= lanes - 1) {
        uint32_t lane = (uint32_t)__builtin_ctz(lanes);
        struct thread *thread = &block->threads[first + lane];
        look(block, thread);
        if (access->kind != SIMT_LOAD) {
            if (is_release) fence(block, thread, widest);
            if (block->has_fences)
                has_released |= release(block, first + lane, is_shared, access->addresses[lane], widest);
        }
        if (access->kind == SIMT_STORE) continue;
        block->has_read |= !is_shared;
        if (!is_shared) block->reading_pc = event->pc;
        thread->is_reading = true;
        thread->reading_pc = event->pc;
        thread->is_reading_shared = is_shared;
        thread->is_reading_block = is_of_block;
        thread->reading = access->addresses[lane];
        thread->is_acquire |= is_acquire;
        block->has_acquires |= is_acquire;
    }
    if (has_released) advance(block);
}

/* ---- barriers */

/* Adds what threads first .. last know, and did until now. */
static void add_threads(struct races_block *block, uint32_t first, uint32_t last, struct clock *seen,
                        struct clock fenced[SCOPES]) {
    const struct clock_node *joined = NULL; /* lanes that have met share what they know */
    for (uint32_t t = first; t <= last; t++) {
        const struct clock *known = &block->threads[t].seen;
        acquire(block, &block->threads[t]);
        if (!known->node || known->node != joined) join(block, seen, *known);
        joined = known->node;
    }
    raise(block, seen, first, last, block->tick);
    for (int scope = 0; scope < SCOPES && block->has_fences; scope++)
        add_fenced(block, first, last, scope, &fenced[scope]);
}

/* Takes all from threads first .. last.  Neighbours mostly share what they know. */
static void clear_threads(struct races_block *block, uint32_t first, uint32_t last) {
    struct clock left = {0}; /* what the members knew */
    uint32_t same = 0;
    for (uint32_t t = first; t <= last; t++, same++) {
        struct thread *thread = &block->threads[t];
        if (thread->seen.node != left.node) {
            simt_clock_drop_all(left, same);
            left = thread->seen;
            same = 0;
        }
        thread->seen = (struct clock){0};
        thread_clear_rest(thread);
    }
    simt_clock_drop_all(left, same);
}

static void set_threads(struct races_block *block, uint32_t first, uint32_t last, struct clock seen,
                        const struct clock fenced[SCOPES]) {
    clear_threads(block, first, last);
    simt_clock_hold_all(seen, last - first + 1);
    for (int scope = 0; scope < SCOPES; scope++) simt_clock_hold_all(fenced[scope], last - first + 1);
    for (uint32_t t = first; t <= last; t++) {
        block->threads[t].seen = seen;
        for (int scope = 0; scope < SCOPES; scope++) block->threads[t].fenced[scope] = fenced[scope];
    }
}

/* The next run of neighbouring lanes, cut from *lanes; false: none is left. */
static bool next_run(uint32_t *lanes, uint32_t *first, uint32_t *last) {
    if (!*lanes) return false;
    *first = (uint32_t)__builtin_ctz(*lanes);
    uint64_t gaps = ~((uint64_t)*lanes >> *first);
    *last = *first + (uint32_t)__builtin_ctzll(gaps) - 1;
    *lanes &= ~(uint32_t)(((UINT64_C(1) << (*last - *first + 1)) - 1) << *first);
    return true;
}

/* Orders what the lanes of warps first .. last did before what they do next. */
static void meet(struct races_block *block, uint32_t first_warp, uint32_t last_warp,
                 const uint32_t *warp_lanes) {
    if (!part(block)) return;
    struct clock seen = {0}, fenced[SCOPES] = {0};
    uint32_t size = block->races->view->warp_size, first, last;
    for (uint32_t warp = first_warp; warp <= last_warp; warp++)
        for (uint32_t lanes = warp_lanes[warp - first_warp]; next_run(&lanes, &first, &last);)
            add_threads(block, warp * size + first, warp * size + last, &seen, fenced);
    for (uint32_t warp = first_warp; warp <= last_warp; warp++)
        for (uint32_t lanes = warp_lanes[warp - first_warp]; next_run(&lanes, &first, &last);)
            set_threads(block, warp * size + first, warp * size + last, seen, fenced);
    simt_clock_drop(&seen);
    for (int scope = 0; scope < SCOPES; scope++) simt_clock_drop(&fenced[scope]);
    advance(block);
}

void simt_order_warp_barrier(struct races_block *block, uint32_t warp, uint32_t lanes) {
    meet(block, warp, warp, &lanes);
}

/* Makes what threads know the block's. */
static void reunite(struct races_block *block) {
    uint32_t count = block->races->view->threads_per_block;
    for (uint32_t t = 0; t < count; t++) acquire(block, &block->threads[t]);
    for (int scope = 0; scope < SCOPES && block->has_fences; scope++)
        add_fenced(block, 0, count - 1, scope, &block->fenced[scope]);
    for (uint32_t t = 0; t < count && block->has_acquired; t++) join(block, &block->seen, block->threads[t].seen);
    clear_threads(block, 0, count - 1);
    block->is_parted = block->has_acquires = false;
}

void simt_order_barrier(struct races_block *block, const uint32_t *lanes, bool is_whole) {
    if (!is_whole) {
        meet(block, 0, block->races->view->warps_per_block - 1, lanes);
        return;
    }
    if (block->is_parted) reunite(block);
    block->settled = block->tick;
    set_span(block);
    advance(block);
}

/* ---- asynchronous copies, mbarriers, the barrier of a cluster */

void simt_order_proxy_fence(struct races_block *block, uint32_t warp, uint32_t lanes, bool of_shared, bool of_global) {
    if (!part(block)) return;
    struct thread *threads = &block->threads[warp * block->races->view->warp_size];
    for (; lanes; lanes &= lanes - 1) {
        struct thread *thread = &threads[__builtin_ctz(lanes)];
        if (of_shared) fence_scope(block, thread, SCOPE_ASYNC_SHARED);
        if (of_global) fence_scope(block, thread, SCOPE_ASYNC_GLOBAL);
    }
    advance(block);
}

/* Threads that have met share a clock.  It is joined once: else each of n would walk what n of them did. */
static void add_seen(struct races_block *block, struct knowledge *knowledge, struct clock seen) {
    if (seen.node && seen.node == knowledge->joined.node) return;
    join(block, &knowledge->seen, seen);
    simt_clock_drop(&knowledge->joined);
    knowledge->joined = simt_clock_hold(seen);
}

/* What the whole block knows, the thread knows, too.  Only where all of it settles does that change. */
static void add_block(struct races_block *block, struct knowledge *knowledge) {
    const uint64_t unsettled = block->first_stamp + block->settled_span;
    if (knowledge->unsettled == unsettled) return;
    knowledge->unsettled = unsettled;
    add_settled(block, &knowledge->seen);
    for (int scope = 0; scope < SCOPES && block->has_fences; scope++)
        join(block, &knowledge->fenced[scope], block->fenced[scope]);
}

void simt_order_arrive(struct races_block *block, uint32_t thread, struct knowledge *arriving, bool is_release) {
    if (!part(block)) return;
    if (is_release) {
        acquire(block, &block->threads[thread]);
        add_block(block, arriving);
        add_seen(block, arriving, block->threads[thread].seen);
        raise(block, &arriving->seen, thread, thread, block->tick);
        for (int scope = 0; scope < SCOPES && block->has_fences; scope++)
            add_fenced(block, thread, thread, scope, &arriving->fenced[scope]);
    } else if (block->has_fences) add_released(block, thread, SCOPE_BLOCK, &arriving->seen);
}

void simt_order_complete(struct races_block *block, struct meeting *meeting) {
    struct knowledge *from = &meeting->arriving, *to = &meeting->complete;
    join(block, &to->seen, from->seen);
    simt_clock_drop(&from->seen);
    simt_clock_drop(&to->joined);
    to->joined = from->joined;
    from->joined = (struct clock){0};
    from->unsettled = 0;
    for (int scope = 0; scope < SCOPES; scope++) {
        join(block, &to->fenced[scope], from->fenced[scope]);
        simt_clock_drop(&from->fenced[scope]);
    }
}

void simt_order_meet(struct races_block *block, uint32_t number, const struct knowledge *complete, bool is_acquire) {
    if (!part(block)) return;
    struct thread *thread = &block->threads[number];
    if (is_acquire && thread->seen.node && thread->seen.node == complete->joined.node)
        simt_clock_drop(&thread->seen); /* all of it went into what is joined */
    join(block, is_acquire ? &thread->seen : &thread->acquired, complete->seen);
    thread->acquired_from = NULL;
    for (int scope = 0; scope < SCOPES; scope++) {
        if (!is_acquire && scope < SCOPE_ASYNC_SHARED) continue;
        thread->is_fenced_seen[scope] &= !is_acquire || simt_clock_is_empty(complete->fenced[scope]);
        join(block, is_acquire ? &thread->fenced[scope] : &thread->acquired_async[scope], complete->fenced[scope]);
        block->has_fences |= !simt_clock_is_empty(complete->fenced[scope]);
    }
    block->has_acquired = true;
}

void simt_order_engine(struct races_block *block, struct clock *clock, enum engine engine, uint32_t thread,
                       uint32_t tick) {
    const struct races *races = block->races;
    uint64_t number = (uint64_t)engine * races->view->threads_per_block + thread, own = races->blocks + block->index;
    check(block, simt_clock_raise(clock, races->levels, entry_of(races, own, number, false),
                                  entry_of(races, own, number, true), tick));
}

void simt_order_engine_done(struct races_block *block, uint32_t thread, enum engine engine, uint32_t owner, uint32_t tick) {
    if (!part(block)) return;
    simt_order_engine(block, &block->threads[thread].seen, engine, owner, tick);
    block->has_acquired = true;
}

bool simt_order_knows_of(const struct races_block *block, uint32_t thread, uint64_t other) {
    const struct races *races = block->races;
    const struct clock none = {0}, seen = block->is_parted ? block->threads[thread].seen : none;
    for (uint32_t t = 0; t < races->view->threads_per_block; t++) {
        const uint64_t entry = entry_of(races, other, t, true);
        if (simt_clock_at(block->seen, races->levels, entry) || simt_clock_at(seen, races->levels, entry)) return true;
    }
    return false;
}

struct clock simt_order_known_to_any(struct races_block *block) {
    struct clock clock = simt_clock_hold(block->seen);
    for (uint32_t t = 0; block->is_parted && t < block->races->view->threads_per_block; t++) {
        acquire(block, &block->threads[t]);
        join(block, &clock, block->threads[t].seen);
    }
    return clock;
}

struct clock simt_order_fenced_for_copies(struct races_block *block, uint32_t thread, bool is_shared) {
    const enum scope scope = is_shared ? SCOPE_ASYNC_SHARED : SCOPE_ASYNC_GLOBAL;
    struct clock clock = simt_clock_hold(block->fenced[scope]);
    if (block->is_parted) add_fenced(block, thread, thread, scope, &clock);
    return clock;
}

bool simt_order_has(const struct races_block *block, struct clock clock, uint64_t stamp, bool is_atomic) {
    const struct races *races = block->races;
    uint64_t thread = stamp_field(stamp, races->thread_shift, races->tick_shift);
    uint32_t tick = (uint32_t)stamp_field(stamp, races->tick_shift, races->block_shift);
    return simt_clock_at(clock, races->levels, entry_of(races, (stamp >> races->block_shift) - 1, thread, is_atomic)) >=
           tick;
}
