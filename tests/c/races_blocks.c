/* races_blocks: what the race observer says of several blocks: tickets, flags, locks, barriers of the grid.
 */
#include <stdatomic.h>

#include "races_machine.h"

/* ---- patterns; at byte 0 lie data, at 4096 tickets, flags and locks */

static void other_block_reads(void) {
    access_by(0, 0, 1, GLOBAL(STORE, 0, 4));
    barrier(0);
    access_by(1, 0, 1, GLOBAL(LOAD, 0, 4));
}

static void reader_of_another_block_is_remembered(void) {
    for (uint32_t warp = 0; warp < WARPS; warp++) access_by(0, warp, FULL, GLOBAL(LOAD, 0, 0));
    access_by(5, 0, 1, GLOBAL(LOAD, 0, 0));
    for (uint32_t warp = 0; warp < WARPS; warp++) access_by(0, warp, FULL, GLOBAL(LOAD, 0, 0));
    barrier(0);
    access_by(0, 0, 1, GLOBAL(STORE, 0, 0));
}

enum fence { NO_FENCE, BLOCK_FENCE, GRID_FENCE, FENCE_OF_ALL, FENCE_TOO_EARLY, RELEASE_ORDER };

/* Every block stores, takes a ticket, and the last one reads what all stored. */
static void last_block_with(enum fence which) {
    for (uint32_t block = 0; block < BLOCKS; block++) {
        everyone(block, GLOBAL(STORE, block * THREADS * 4, 4));
        if (which == FENCE_OF_ALL)
            for (uint32_t warp = 0; warp < WARPS; warp++) fence(block, warp, FULL, true);
        if (which == FENCE_TOO_EARLY) fence(block, 0, 1, true);
        barrier(block);
        if (which == BLOCK_FENCE || which == GRID_FENCE) fence(block, 0, 1, which == GRID_FENCE);
        access_by(
            block, 0, 1,
            GLOBAL(ATOMIC, 4096, 0, .order = which == RELEASE_ORDER ? SIMT_ACQUIRE_RELEASE : SIMT_RELAXED));
        access_by(block, 0, 1, SHARED(STORE, 0, 0));
        barrier(block);
        everyone(block, SHARED(LOAD, 0, 0));
    }
    for (uint32_t block = 0; block < BLOCKS; block++)
        everyone(BLOCKS - 1, GLOBAL(LOAD, block * THREADS * 4, 4));
    access_by(BLOCKS - 1, 0, 1, GLOBAL(STORE, 4096, 0)); /* the ticket, for the next launch */
}

static void last_block(void) {
    last_block_with(GRID_FENCE);
}
static void last_block_without_fence(void) {
    last_block_with(NO_FENCE);
}
static void last_block_with_a_block_fence(void) {
    last_block_with(BLOCK_FENCE);
}
static void last_block_all_fence(void) {
    last_block_with(FENCE_OF_ALL);
}
static void last_block_fence_too_early(void) {
    last_block_with(FENCE_TOO_EARLY);
}
static void last_block_by_order(void) {
    last_block_with(RELEASE_ORDER);
}

/* The reader's side alone: neither a fence nor a barrier follows the atomic. */
static void nothing_acquires(void) {
    access_by(0, 0, 1, GLOBAL(STORE, 0, 0));
    fence(0, 0, 1, true);
    access_by(0, 0, 1, GLOBAL(ATOMIC, 4096, 0, .order = SIMT_RELAXED));
    access_by(1, 0, 1, GLOBAL(ATOMIC, 4096, 0, .order = SIMT_RELAXED));
    access_by(1, 0, 1, GLOBAL(LOAD, 0, 0));
}

static void flag_set_before_the_data(void) {
    fence(0, 0, 1, true);
    access_by(0, 0, 1, GLOBAL(STORE, 4096, 0, VOLATILE));
    access_by(0, 0, 1, GLOBAL(STORE, 0, 0));
    access_by(1, 0, 1, GLOBAL(LOAD, 4096, 0, VOLATILE));
    fence(1, 0, 1, true);
    access_by(1, 0, 1, GLOBAL(LOAD, 0, 0));
}

/* Hooks tell of accesses before they happen: of two at once, the one that was told of later may come first.
 */
static void told_too_late(void) {
    access_by(0, 0, 1, GLOBAL(STORE, 0, 0));
    fence(0, 0, 1, true);
    access_by(1, 0, 1, GLOBAL(ATOMIC, 4096, 0, .order = SIMT_RELAXED));
    access_by(0, 0, 1, GLOBAL(ATOMIC, 4096, 0, .order = SIMT_RELAXED));
    barrier(1);
    everyone(1, GLOBAL(LOAD, 0, 0));
}

static void atomic_after_the_release(void) {
    fence(0, 0, 1, true);
    access_by(0, 0, 1, GLOBAL(STORE, 4096, 0, VOLATILE));
    access_by(0, 0, 1, GLOBAL(ATOMIC, 0, 0));
    access_by(1, 0, 1, GLOBAL(LOAD, 4096, 0, VOLATILE));
    fence(1, 0, 1, true);
    access_by(1, 0, 1, GLOBAL(LOAD, 0, 0));
}

static void store_under_a_volatile_read(void) {
    access_by(1, 0, 1, GLOBAL(LOAD, 0, 0, VOLATILE));
    access_by(0, 0, 1, GLOBAL(STORE, 0, 0));
}

static void release_beside_bytes(void) {
    access_by(0, 0, 1, GLOBAL(STORE, 0, 0));
    fence(0, 0, 1, true);
    access_by(0, 0, 1, GLOBAL(STORE, 4100, 0, VOLATILE));
    everyone(2, GLOBAL(STORE, 4224, 1, .nbytes = 1));
    access_by(1, 0, 1, GLOBAL(LOAD, 4100, 0, VOLATILE));
    fence(1, 0, 1, true);
    access_by(1, 0, 1, GLOBAL(LOAD, 0, 0));
}

/* As cooperative groups do it, in rounds: everyone reads what the neighbouring block stored. */
static void grid_barrier(void) {
    for (uint32_t round = 0; round < 3; round++) {
        for (uint32_t block = 0; block < BLOCKS; block++) {
            everyone(block, GLOBAL(STORE, block * THREADS * 4, 4));
            barrier(block);
            fence(block, 0, 1, true);
            access_by(block, 0, 1, GLOBAL(ATOMIC, 4096, 0, .order = SIMT_RELAXED));
        }
        for (uint32_t turn = 0; turn < 2; turn++)
            for (uint32_t block = 0; block < BLOCKS; block++)
                access_by(block, 0, 1, GLOBAL(LOAD, 4096, 0, VOLATILE));
        for (uint32_t block = 0; block < BLOCKS; block++) {
            fence(block, 0, 1, true);
            barrier(block);
            everyone(block, GLOBAL(LOAD, (block + 1) % BLOCKS * THREADS * 4, 4));
            barrier(block);
            fence(block, 0, 1, true);
            access_by(block, 0, 1, GLOBAL(ATOMIC, 4100, 0, .order = SIMT_ACQUIRE_RELEASE));
        }
        for (uint32_t block = 0; block < BLOCKS; block++) {
            access_by(block, 0, 1, GLOBAL(LOAD, 4100, 0, .order = SIMT_ACQUIRE));
            barrier(block);
        }
    }
}

/* Each block waits for its predecessor's flag alone; the first block's data reaches the last through all
 * others. */
static void look_back(void) {
    access_by(0, 1, 2, GLOBAL(STORE, 0, 0));
    barrier(0);
    for (uint32_t block = 0; block < BLOCKS; block++) {
        if (block) {
            access_by(block, 0, 1, GLOBAL(LOAD, 4096 + block * 4 - 4, 0, VOLATILE));
            fence(block, 0, 1, true);
        }
        fence(block, 0, 1, true);
        access_by(block, 0, 1, GLOBAL(STORE, 4096 + block * 4, 0, VOLATILE));
    }
    access_by(BLOCKS - 1, 0, 1, GLOBAL(LOAD, 0, 0));
}

/* One thread waits, another goes on. */
static void look_back_through_barriers(void) {
    access_by(0, 3, 2, GLOBAL(STORE, 0, 0));
    for (uint32_t block = 0; block < BLOCKS; block++) {
        if (block) access_by(block, 0, 1, GLOBAL(LOAD, 4092 + block * 4, 0, .order = SIMT_ACQUIRE));
        barrier(block);
        fence(block, 1, 4, true);
        access_by(block, 1, 4, GLOBAL(STORE, 4096 + block * 4, 0, VOLATILE));
    }
    access_by(BLOCKS - 1, 2, 1, GLOBAL(LOAD, 0, 0));
}

static void look_back_lane_by_lane(void) {
    for (uint32_t block = 0; block < BLOCKS - 1; block++) {
        access_by(block, 0, 1, GLOBAL(STORE, block * 4, 0));
        access_by(block, 0, 1, GLOBAL(STORE, 4096 + block * 4, 0, .order = SIMT_RELEASE));
    }
    access_by(BLOCKS - 1, 0, 0x7f, GLOBAL(LOAD, 4096, 4, .order = SIMT_ACQUIRE));
    access_by(BLOCKS - 1, 0, 0x7f, GLOBAL(LOAD, 0, 4));
}

static void lock_of(enum simt_space space, bool has_fences, bool beyond_block) {
    int64_t base = space == SIMT_GLOBAL ? 0x700000000000 : 0;
    for (uint32_t turn = 0; turn < 12; turn++) {
        uint32_t block = space == SIMT_GLOBAL ? turn % 3 : 0, warp = turn % WARPS;
        int lane = 1 << turn % 5;
        access_by(block, warp, lane, ACCESS(space, ATOMIC, base + 4096, 0, .order = SIMT_RELAXED));
        if (has_fences) fence(block, warp, lane, beyond_block);
        access_by(block, warp, lane, ACCESS(space, LOAD, base, 0));
        access_by(block, warp, lane, ACCESS(space, STORE, base, 0, .same = turn + 1));
        if (has_fences) fence(block, warp, lane, beyond_block);
        access_by(block, warp, lane, ACCESS(space, ATOMIC, base + 4096, 0, .order = SIMT_RELAXED));
    }
}

static void shared_lock(void) {
    lock_of(SIMT_SHARED, true, false);
}
static void shared_lock_without_fences(void) {
    lock_of(SIMT_SHARED, false, false);
}
static void global_lock(void) {
    lock_of(SIMT_GLOBAL, true, true);
}
static void global_lock_with_block_fences(void) {
    lock_of(SIMT_GLOBAL, true, false);
}

/* Thread 0 of block 0 learns what thread 32 has stored. */
static void learn_of_store(void) {
    access_by(0, 1, 1, GLOBAL(STORE, 0, 0));
    access_by(0, 1, 1, GLOBAL(STORE, 4200, 0, .order = SIMT_RELEASE));
    access_by(0, 0, 1, GLOBAL(LOAD, 4200, 0, .order = SIMT_ACQUIRE));
    fence(0, 0, 1, false);
}

/* A thread that waits where it has arrived itself keeps what it has learnt elsewhere meanwhile. */
static void arrives_learns_and_waits(void) {
    access_by(0, 0, 1, GLOBAL(ATOMIC, 4096, 0, .order = SIMT_ACQUIRE_RELEASE));
    learn_of_store();
    access_by(0, 2, 1, GLOBAL(ATOMIC, 4096, 0, .order = SIMT_ACQUIRE_RELEASE));
    access_by(0, 0, 1, GLOBAL(LOAD, 4096, 0, .order = SIMT_ACQUIRE));
    access_by(0, 0, 1, GLOBAL(STORE, 0, 0));
}

/* Likewise what it had learnt before, where another block has released in between. */
static void learns_arrives_and_waits(void) {
    learn_of_store();
    access_by(0, 0, 1, GLOBAL(ATOMIC, 4096, 0, .order = SIMT_RELAXED));
    access_by(1, 0, 1, GLOBAL(ATOMIC, 4096, 0, .order = SIMT_ACQUIRE_RELEASE));
    fence(0, 2, 1, false);
    access_by(0, 2, 1, GLOBAL(ATOMIC, 4096, 0, .order = SIMT_RELAXED));
    access_by(0, 0, 1, GLOBAL(LOAD, 4096, 0, .order = SIMT_ACQUIRE));
    access_by(0, 0, 1, GLOBAL(STORE, 0, 0));
}

/* A warp stores, meets at its barrier, and one lane speaks for it. */
static void leader_of_a_warp(void) {
    access_by(0, 2, FULL, GLOBAL(STORE, 0, 4));
    warp_barrier(0, 2, FULL);
    fence(0, 2, 1, true);
    access_by(0, 2, 1, GLOBAL(STORE, 4096, 0, VOLATILE));
    access_by(1, 2, 2, GLOBAL(LOAD, 4096, 0, VOLATILE));
    fence(1, 2, 2, true);
    warp_barrier(1, 2, FULL);
    access_by(1, 2, FULL, GLOBAL(LOAD, 0, 4));
}

static void leader_of_nobody(void) {
    access_by(0, 2, FULL, GLOBAL(STORE, 0, 4));
    fence(0, 2, 1, true);
    access_by(0, 2, 1, GLOBAL(STORE, 4096, 0, VOLATILE));
    access_by(1, 2, 2, GLOBAL(LOAD, 4096, 0, VOLATILE));
    fence(1, 2, 2, true);
    warp_barrier(1, 2, FULL);
    access_by(1, 2, FULL, GLOBAL(LOAD, 0, 4));
}

static const struct pattern patterns[] = {
    PATTERN(other_block_reads, true),
    PATTERN(reader_of_another_block_is_remembered, true),
    PATTERN(last_block, false),
    PATTERN(last_block_without_fence, true),
    PATTERN(last_block_with_a_block_fence, true),
    PATTERN(last_block_all_fence, false),
    PATTERN(last_block_fence_too_early, true),
    PATTERN(last_block_by_order, false),
    PATTERN(nothing_acquires, true),
    PATTERN(flag_set_before_the_data, true),
    PATTERN(told_too_late, false),
    PATTERN(atomic_after_the_release, true),
    PATTERN(store_under_a_volatile_read, true),
    PATTERN(release_beside_bytes, false),
    PATTERN(grid_barrier, false),
    PATTERN(look_back, false),
    PATTERN(look_back_through_barriers, false),
    PATTERN(look_back_lane_by_lane, false),
    PATTERN(shared_lock, false),
    PATTERN(shared_lock_without_fences, true),
    PATTERN(global_lock, false),
    PATTERN(global_lock_with_block_fences, true),
    PATTERN(arrives_learns_and_waits, false),
    PATTERN(learns_arrives_and_waits, false),
    PATTERN(leader_of_a_warp, false),
    PATTERN(leader_of_nobody, true),
};

enum { PATTERN_COUNT = sizeof patterns / sizeof *patterns };

/* ---- many blocks, one after the other, and on several host threads */

enum { MANY = 3000, HOSTS = 4 };

static struct {
    void *launch_state;
    atomic_uint next, ticket;
} many;

static void tell_one(void *state, const simt_block_view *view, uint32_t pc, enum simt_access_kind kind,
                     uint64_t at) {
    uint64_t addresses[SIMT_LANES], values[SIMT_LANES] = {0};
    for (int lane = 0; lane < SIMT_LANES; lane++) addresses[lane] = 0x700000000000 + at;
    simt_access access = {.space = SIMT_GLOBAL,
                          .kind = kind,
                          .lanes = 1,
                          .element_nbytes = 4,
                          .elements = 1,
                          .order = kind == SIMT_ATOMIC ? SIMT_RELAXED : SIMT_WEAK,
                          .addresses = addresses,
                          .values = kind == SIMT_STORE ? values : NULL};
    simt_event event = {view, 0, pc, 1, 1};
    simt_observe_races.access(state, &event, &access);
}

/* The last block to take a ticket, which on several host threads may be any, reads everyone's. */
static void run_block(void *state, uint32_t block) {
    simt_block_view view = {.launch = &launch, .block = {block, 0, 0}, .index = block};
    static const uint32_t everyone_takes_part[1] = {UINT32_MAX};
    simt_event event = {&view, 0, 3, 1, 1};
    memset(state, 0, simt_observe_races.block_nbytes);
    simt_observe_races.block_begin(many.launch_state, state, &view);
    tell_one(state, &view, 4, SIMT_STORE, 4 * block);
    simt_observe_races.fence(state, &event, true);
    tell_one(state, &view, 5, SIMT_ATOMIC, 1 << 20);
    bool is_last = atomic_fetch_add(&many.ticket, 1) == MANY - 1;
    simt_observe_races.barrier(state, &view, 0, 6, everyone_takes_part);
    for (uint32_t other = 0; is_last && other < MANY; other++)
        tell_one(state, &view, 7, SIMT_LOAD, 4 * other);
    pthread_mutex_lock(&lock);
    simt_observe_races.block_end(many.launch_state, state, &view);
    pthread_mutex_unlock(&lock);
}

static void *run_blocks(void *unused) {
    void *state = malloc(simt_observe_races.block_nbytes);
    for (uint32_t block; state && (block = atomic_fetch_add(&many.next, 1)) < MANY;) run_block(state, block);
    free(state);
    return unused;
}

static int check_many(uint32_t hosts) {
    pthread_t threads[HOSTS];
    describe_launch(&simt_observe_races);
    launch.grid[0] = MANY;
    launch.warps_per_block = 1;
    launch.block[0] = launch.threads_per_block = 32;
    if (!simt_observe_races.launch_begin(launch_state, &launch)) return 1;
    many.launch_state = launch_state;
    many.next = many.ticket = 0;
    for (uint32_t i = 0; i < hosts; i++)
        if (pthread_create(&threads[i], NULL, run_blocks, NULL)) return 1;
    for (uint32_t i = 0; i < hosts; i++) pthread_join(threads[i], NULL);
    simt_observe_races.launch_end(launch_state, NULL);
    free(launch_state);
    return expect(many.ticket == MANY && seen.findings == 0 && seen.races == 0, "many blocks");
}

int main(void) {
    int failures = check_patterns(patterns, PATTERN_COUNT) + check_many(1) + check_many(HOSTS);
    printf("%d patterns in lockstep and lane by lane: %d failures\n", PATTERN_COUNT, failures);
    return failures > 0;
}
