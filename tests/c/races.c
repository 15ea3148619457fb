/* races: what the race observer says of one block, and the observers of uninitialised reads and of shuffles.
 */
#include "races_machine.h"
#include "observe/races.h"

extern const struct simt_observer simt_observe_uninitialised, simt_observe_shuffle;

/* ---- patterns */

static void tree_with(bool has_barriers) {
    everyone(0, SHARED(STORE, 0, 4));
    barrier(0);
    for (int64_t stride = THREADS / 2; stride > 0; stride /= 2) {
        for (uint32_t warp = 0; warp < (stride + 31) / 32; warp++) {
            int lanes = stride < 32 ? (int)((1u << stride) - 1) : FULL;
            access_by(0, warp, lanes, SHARED(LOAD, stride * 4, 4));
            access_by(0, warp, lanes, SHARED(LOAD, 0, 4));
            access_by(0, warp, lanes, SHARED(STORE, 0, 4));
        }
        if (has_barriers) barrier(0);
    }
}

static void tree(void) {
    tree_with(true);
}
static void tree_without_barrier(void) {
    tree_with(false);
}

enum last_warp { BARE, ONE_BARRIER, TWO_BARRIERS };

/* All lanes of the last warp at every step, as it is written. */
static void last_warp_with(enum last_warp barriers, enum simt_order order) {
    for (uint32_t warp = 0; warp < 2; warp++) access_by(0, warp, FULL, SHARED(STORE, 0, 4));
    barrier(0);
    for (int64_t stride = 32; stride > 0; stride /= 2) {
        /* Lane by lane a whole line is executed by one lane before the next. */
        for (uint32_t lane = 0; lane < (is_split && barriers != TWO_BARRIERS ? 32 : 1); lane++) {
            int lanes = is_split && barriers != TWO_BARRIERS ? (int)(1u << lane) : FULL;
            access_by(0, 0, lanes, SHARED(LOAD, stride * 4, 4, .order = order));
            access_by(0, 0, lanes, SHARED(LOAD, 0, 4, .order = order));
            if (barriers == TWO_BARRIERS) warp_barrier(0, 0, FULL);
            access_by(0, 0, lanes, SHARED(STORE, 0, 4, .order = order));
        }
        if (barriers != BARE) warp_barrier(0, 0, FULL);
    }
}

static void last_warp_bare(void) {
    last_warp_with(BARE, SIMT_WEAK);
}
static void last_warp_volatile(void) {
    last_warp_with(BARE, SIMT_VOLATILE);
}
static void last_warp_one_barrier(void) {
    last_warp_with(ONE_BARRIER, SIMT_WEAK);
}
static void last_warp(void) {
    last_warp_with(TWO_BARRIERS, SIMT_WEAK);
}

static void half_warp_barriers(void) {
    access_by(0, 0, FULL, SHARED(STORE, 0, 4));
    warp_barrier(0, 0, 0xffff);
    warp_barrier(0, 0, (int)0xffff0000u);
    access_by(0, 0, 0xff, SHARED(LOAD, 32, 4));
    access_by(0, 0, 0xff0000, SHARED(LOAD, 32, 4));
}

static void half_warp_barriers_too_narrow(void) {
    access_by(0, 0, FULL, SHARED(STORE, 0, 4));
    warp_barrier(0, 0, 0xffff);
    warp_barrier(0, 0, (int)0xffff0000u);
    access_by(0, 0, 0xffff, SHARED(LOAD, 64, 4));
}

static void warp_barriers_in_a_row(void) {
    access_by(0, 0, 1, SHARED(STORE, 0, 4));
    warp_barrier(0, 0, 0x3);
    warp_barrier(0, 0, 0x6);
    access_by(0, 0, 0x4, SHARED(STORE, 0, 0));
}

static void broadcast_then_store(void) {
    access_by(0, 0, 1, SHARED(STORE, 0, 4));
    barrier(0);
    everyone(0, SHARED(LOAD, 0, 0));
    warp_barrier(0, 0, FULL);
    access_by(0, 0, 1, SHARED(STORE, 0, 4));
}

static void broadcast_barrier_store(void) {
    access_by(0, 0, 1, SHARED(STORE, 0, 4));
    barrier(0);
    everyone(0, SHARED(LOAD, 0, 0));
    barrier(0);
    access_by(0, 0, 1, SHARED(STORE, 0, 4));
}

static void same_value(void) {
    everyone(0, SHARED(STORE, 0, 0, .same = 1));
    everyone(0, SHARED(STORE, 0, 0, .same = 1));
}

static void same_value_read(void) {
    access_by(0, 0, 1, SHARED(STORE, 0, 0, .same = 1));
    access_by(0, 1, 1, SHARED(LOAD, 0, 0));
}

static void other_value(void) {
    access_by(0, 0, 1, SHARED(STORE, 0, 0, .same = 1));
    access_by(0, 1, 1, SHARED(STORE, 0, 0, .same = 2));
}

static void lanes_of_one_store(void) {
    access_by(0, 2, 0x30, SHARED(STORE, 0, 0));
}

static void two_values_then_the_last(void) {
    access_by(0, 0, 1, SHARED(STORE, 0, 0, .same = 1));
    access_by(0, 0, 1, SHARED(STORE, 0, 0, .same = 2));
    access_by(0, 1, 1, SHARED(STORE, 0, 0, .same = 2));
}

/* Lane 1 stores what lane 0 will, then both store at once, and lane 1 something else. */
static void one_of_two_lanes_again(void) {
    struct what what = SHARED(STORE, 0, 0), before = what;
    before.same = value_of(&what, 0, 0);
    access_by(0, 0, 2, before);
    access_by(0, 0, 3, what);
}

static void value_of_an_earlier_step(void) {
    access_by(0, 0, 1, SHARED(STORE, 0, 0, .same = 1));
    barrier(0);
    everyone(0, SHARED(STORE, 0, 0, .same = 2));
}

/* Tiles of 8 lanes a row, as of blocks of 8 x 16 threads. */
#define TILE .row = 8, .pitch = 256

static void tiles_with(bool has_barriers) {
    everyone(0, SHARED(STORE, 256, 4, TILE));
    everyone(0, GLOBAL(STORE, 1016, 8, TILE, .nbytes = 8));
    if (has_barriers) barrier(0);
    everyone(0, SHARED(LOAD, 260, 4, TILE));
    everyone(0, SHARED(LOAD, 512, 4, TILE));
    everyone(0, GLOBAL(LOAD, 1024, 8, TILE, .nbytes = 8));
}

static void tiles(void) {
    tiles_with(true);
}
static void tiles_without_barrier(void) {
    tiles_with(false);
}

static void tiles_of_two_blocks(void) {
    everyone(0, GLOBAL(LOAD, 1016, 4, TILE));
    everyone(1, GLOBAL(LOAD, 1016, 4, TILE));
    access_by(0, 0, 1, GLOBAL(STORE, 1016, 4));
}

/* Rows of 16 lanes that read one word each. */
#define SAME .row = 16, .pitch = 4

static void rows_at_one_word(void) {
    everyone(0, SHARED(STORE, 0, 4));
    barrier(0);
    everyone(0, SHARED(LOAD, 0, 0, SAME));
    everyone(0, GLOBAL(ATOMIC, 0, 0, SAME));
    everyone(1, GLOBAL(ATOMIC, 0, 0, SAME));
    barrier(0);
    everyone(0, SHARED(STORE, 0, 4));
}

static void rows_at_one_word_then_a_store(void) {
    everyone(0, SHARED(LOAD, 0, 0, SAME));
    access_by(0, 1, 1, SHARED(STORE, 8, 0));
}

static void rows_that_store_one_word(void) {
    everyone(0, SHARED(STORE, 0, 0, SAME));
}

static void rows_of_one_store(void) {
    access_by(0, 0, FULL, SHARED(STORE, 256, 4, .row = 8));
}

static void rows_of_one_load(void) {
    access_by(0, 0, FULL, SHARED(LOAD, 256, 4, .row = 8));
    barrier(0);
    access_by(0, 0, FULL, SHARED(STORE, 256, 4));
}

static void rows_of_one_load_then_a_store(void) {
    access_by(0, 0, FULL, SHARED(LOAD, 256, 4, .row = 8));
    access_by(0, 0, 1, SHARED(STORE, 256, 4));
}

static void bytes_side_by_side(void) {
    everyone(0, SHARED(STORE, 0, 1, .nbytes = 1));
    everyone(0, GLOBAL(STORE, 512, 2, .nbytes = 2));
    barrier(0);
    everyone(0, SHARED(LOAD, 0, 1, .nbytes = 1));
    access_by(0, 0, FULL, SHARED(LOAD, 0, 4));
}

static void byte_in_a_word(void) {
    access_by(0, 0, 1, SHARED(STORE, 16, 0));
    access_by(0, 1, 1, SHARED(LOAD, 18, 0, .nbytes = 1));
}

static void word_over_a_byte(void) {
    access_by(0, 0, 1, SHARED(STORE, 18, 0, .nbytes = 1));
    access_by(0, 1, 1, SHARED(LOAD, 16, 0));
}

static void same_bytes_of_other_words(void) {
    access_by(0, 0, 1, SHARED(STORE, 16, 0, .same = 0x11223344));
    access_by(0, 1, 1, SHARED(STORE, 18, 0, .nbytes = 2, .same = 0x1122));
}

static void upper_half_of_a_double(void) {
    access_by(0, 0, 1, SHARED(STORE, 8, 0, .nbytes = 8, .same = 1));
    access_by(0, 1, 1, SHARED(STORE, 8, 0, .nbytes = 8, .same = 1 | UINT64_C(1) << 32));
}

static void atomics(void) {
    everyone(0, SHARED(ATOMIC, 0, 0));
    everyone(1, GLOBAL(ATOMIC, 0, 0));
    everyone(2, GLOBAL(ATOMIC, 0, 0));
    access_by(3, 0, 1, GLOBAL(LOAD, 0, 0, VOLATILE));
    access_by(4, 0, 1, GLOBAL(STORE, 0, 0, VOLATILE));
    barrier(0);
    access_by(0, 0, 1, SHARED(LOAD, 0, 0));
}

static void atomics_on_what_one_thread_set(void) {
    access_by(0, 0, 1, SHARED(STORE, 0, 0, .same = 9));
    access_by(0, 0, 1, SHARED(ATOMIC, 0, 0)); /* its own atomic must not hide its store */
    access_by(0, 1, 1, SHARED(ATOMIC, 0, 0));
}

static void atomics_then_read(void) {
    everyone(0, SHARED(ATOMIC, 0, 0));
    access_by(0, 3, (int)(1u << 31), SHARED(LOAD, 0, 0)); /* by the last that changed it */
}

static void histogram(void) {
    everyone(0, SHARED(STORE, 0, 4));
    barrier(0);
    everyone(0, SHARED(ATOMIC, 0, 8));
    everyone(0, SHARED(ATOMIC, 0, 0));
    barrier(0);
    everyone(0, SHARED(LOAD, 508, -4));
    everyone(0, GLOBAL(ATOMIC, 0, 4));
    everyone(1, GLOBAL(ATOMIC, 0, 4));
}

static void volatile_shared(void) {
    access_by(0, 0, 1, SHARED(STORE, 0, 0, VOLATILE));
    access_by(0, 1, 1, SHARED(LOAD, 0, 0, VOLATILE));
}

static void named_barrier(void) {
    static const uint32_t half[WARPS] = {UINT32_MAX, UINT32_MAX, 0, 0};
    access_by(0, 0, FULL, SHARED(STORE, 0, 4));
    barrier_of(0, 1, half);
    access_by(0, 1, FULL, SHARED(LOAD, -128, 4));
}

static void named_barrier_of_others(void) {
    static const uint32_t half[WARPS] = {UINT32_MAX, UINT32_MAX, 0, 0};
    access_by(0, 0, FULL, SHARED(STORE, 0, 4));
    barrier_of(0, 1, half);
    access_by(0, 2, FULL, SHARED(LOAD, -256, 4));
}

static void barrier_after_some_left(void) {
    static const uint32_t left[WARPS] = {UINT32_MAX, 0, 0, 0};
    everyone(0, SHARED(STORE, 0, 4));
    barrier_of(0, 0, left);
    access_by(0, 0, FULL, SHARED(LOAD, 128, 4));
}

static const struct pattern patterns[] = {
    PATTERN(tree, false),
    PATTERN(tree_without_barrier, true),
    PATTERN(last_warp_bare, true),
    PATTERN(last_warp_volatile, true),
    PATTERN(last_warp_one_barrier, true),
    PATTERN(last_warp, false),
    PATTERN(half_warp_barriers, false),
    PATTERN(half_warp_barriers_too_narrow, true),
    PATTERN(warp_barriers_in_a_row, false),
    PATTERN(broadcast_then_store, true),
    PATTERN(broadcast_barrier_store, false),
    PATTERN(tiles, false),
    PATTERN(tiles_without_barrier, true),
    PATTERN(tiles_of_two_blocks, true),
    PATTERN(rows_at_one_word, false),
    PATTERN(rows_at_one_word_then_a_store, true),
    PATTERN(rows_that_store_one_word, true),
    PATTERN(rows_of_one_store, true),
    PATTERN(rows_of_one_load, false),
    PATTERN(rows_of_one_load_then_a_store, true),
    PATTERN(same_value, false),
    PATTERN(same_value_read, true),
    PATTERN(other_value, true),
    PATTERN(lanes_of_one_store, true),
    PATTERN(two_values_then_the_last, true),
    PATTERN(one_of_two_lanes_again, true),
    PATTERN(value_of_an_earlier_step, false),
    PATTERN(bytes_side_by_side, false),
    PATTERN(byte_in_a_word, true),
    PATTERN(word_over_a_byte, true),
    PATTERN(same_bytes_of_other_words, false),
    PATTERN(upper_half_of_a_double, true),
    PATTERN(atomics, false),
    PATTERN(atomics_on_what_one_thread_set, true),
    PATTERN(atomics_then_read, true),
    PATTERN(histogram, false),
    PATTERN(volatile_shared, true),
    PATTERN(named_barrier, false),
    PATTERN(named_barrier_of_others, true),
    PATTERN(barrier_after_some_left, false),
};

enum { PATTERN_COUNT = sizeof patterns / sizeof *patterns };

/* ---- what is said */

static int check_message(void) {
    struct what at_line_17 = SHARED(STORE, 64, 0);
    at_line_17.pc = 17;
    begin(&simt_observe_races);
    access_by(3, 1, 0x20, at_line_17);
    access_by(3, 0, 0x80, SHARED(LOAD, 64, 0));
    end();
    int failures =
        expect(seen.kind == SIMT_FINDING_RACE && seen.lane == 7 && seen.address == 64, "the finding");
    return failures +
           expect(strstr(seen.message,
                         "shared memory at byte 64 races with the store by thread (37,0,0) of block "
                         "(3,0,0) at kernel.cu:17") != NULL &&
                      !strcmp(seen.missing, "__syncthreads()") && strstr(seen.where, " between line 17 and line "),
                  "the message") +
           expect(seen.other.pc == 17 && seen.other.thread == 37 && seen.other.block == 3, "the other access") +
           expect(seen.races == 1 && seen.racing_accesses == 1, "the counts");
}

/* ---- uninitialised reads and shuffles */

static int check_uninitialised(void) {
    uint64_t addresses[SIMT_LANES], initialised[SIMT_LANES];
    for (uint32_t lane = 0; lane < SIMT_LANES; lane++) {
        addresses[lane] = 256 + 8 * lane;
        initialised[lane] = 0xff;
    }
    simt_access access = {.space = SIMT_SHARED,
                          .kind = SIMT_LOAD,
                          .lanes = 0xff,
                          .element_nbytes = 4,
                          .elements = 2,
                          .addresses = addresses,
                          .initialised = initialised};
    simt_event event = {&blocks[0].view, 0, 7, 0xff, 0xff};
    int failures = 0;
    begin(&simt_observe_uninitialised);
    initialised[9] = 0;    /* takes no part */
    initialised[2] = 0x11; /* bytes of a struct with padding */
    observer->access(blocks[0].state, &event, &access);
    failures += expect(!seen.findings && !seen.stops, "all initialised");
    access.kind = SIMT_STORE;
    initialised[5] = 0;
    observer->access(blocks[0].state, &event, &access);
    failures += expect(!seen.findings && !seen.stops, "a store");
    access.kind = SIMT_LOAD;
    initialised[3] = 0x0f;
    observer->access(blocks[0].state, &event, &access);
    failures += expect(seen.findings == 1 && !seen.stops && seen.kind == SIMT_FINDING_UNINITIALISED &&
                           seen.lanes == (1u << 3 | 1u << 5) && seen.lane == 3 &&
                           seen.address == 256 + 3 * 8 + 4,
                       "an element");
    end();
    failures += expect(seen.uninitialised_reads == 3 && !seen.withdrawn, "the count");

    /* What other threads write later was read too early: a race tells. */
    for (int last = 0; last < 2; last++) {
        const simt_event other = {&blocks[0].view, 1, 9, 0xff, 0xff};
        begin(&simt_observe_uninitialised);
        access.kind = SIMT_LOAD;
        observer->access(blocks[0].state, &event, &access);
        access.kind = SIMT_STORE;
        access.lanes = last ? 0xff : 0x0f;
        observer->access(blocks[0].state, &other, &access);
        access.lanes = 0xff;
        end();
        failures += expect(seen.withdrawn == last, last ? "all was written later" : "some was never written");
    }
    return failures;
}

static int check_shuffle(void) {
    uint8_t sources[SIMT_LANES];
    for (uint8_t lane = 0; lane < SIMT_LANES; lane++) sources[lane] = lane < 24 ? lane + 8 : lane;
    simt_event event = {&blocks[0].view, 0, 7, UINT32_MAX, UINT32_MAX};
    begin(&simt_observe_shuffle);
    observer->shuffle(blocks[0].state, &event, sources);
    int failures = expect(!seen.followed, "a whole warp");
    event.mask = 0xffff;
    observer->shuffle(blocks[0].state, &event, sources);
    failures += expect(!seen.findings && !seen.stops && seen.followed == 0xff00, "half a warp");
    end();
    return failures + expect(seen.undefined_shuffles == 8, "the count");
}

/* ---- made-up kernels: whole warps' rows and common addresses are looked at all at once, lone lanes one by one */

static uint64_t state;

static uint32_t below(uint32_t limit) {
    state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (uint32_t)(state >> 33) % limit;
}

static void tell_any(void) {
    static const int64_t strides[] = {0, 0, 4, 4, 4, 4, 8, -4, 12};
    static const enum simt_access_kind kinds[] = {SIMT_LOAD, SIMT_LOAD, SIMT_LOAD, SIMT_STORE, SIMT_ATOMIC};
    static const int masks[] = {FULL, FULL, FULL, 0xff, 0x7ffffffe, 0x55555555, 1 << 7, INT32_MIN};
    const uint32_t block = below(3), nbytes = below(8) ? 4 : 1u << below(4);
    struct what what = {.space = below(2) ? SIMT_SHARED : SIMT_GLOBAL, .kind = kinds[below(5)], .nbytes = nbytes};
    what.stride = strides[below(9)] * nbytes / 4;
    const uint32_t word = below(3) ? 32 * below(5) : below(600);
    what.address = (what.space == SIMT_SHARED ? 2048 : 0x700000000800) + (int64_t)word * 4 / nbytes * nbytes;
    what.order = below(8) || what.kind == SIMT_ATOMIC ? SIMT_WEAK : SIMT_VOLATILE;
    what.same = below(3) ? 0 : 1 + below(2);
    what.pc = 1 + below(20);
    const uint32_t warp = below(WARPS);
    access_by(block, warp, masks[below(8)], what);
    if (!below(4)) barrier(block);
    if (!below(8)) {
        const simt_event event = {&blocks[block].view, below(WARPS), 21, UINT32_MAX, UINT32_MAX};
        observer->warp_barrier(blocks[block].state, &event, UINT32_MAX);
    }
}

/* A number for all that a shadow holds, in whatever order its pages were made. */
static uint64_t digest_plane(const uint64_t *plane, uint64_t salt, size_t cells) {
    uint64_t digest = 0;
    for (size_t cell = 0; plane && cell < cells; cell++)
        if (plane[cell]) digest += (plane[cell] ^ (salt << 32 | cell)) * (UINT64_C(0x9e3779b97f4a7c15) + 2 * cell) >> 3;
    return digest;
}

static uint64_t digest_shadow(const struct shadow *shadow) {
    uint64_t digest = 0;
    for (size_t bucket = 0; bucket < shadow->bucket_count; bucket++)
        for (const struct shadow_page *page = shadow->buckets[bucket]; page; page = page->next) {
            const size_t cells = (size_t)PAGE_NBYTES >> page->cell_bits;
            for (uint64_t plane = 0; plane < 2 * HISTORIES; plane++)
                digest += digest_plane(page->stamps[plane / 2][plane % 2], page->number << 4 | plane, cells);
            digest += digest_plane(page->values, page->number << 4 | 2 * HISTORIES, cells);
        }
    return digest;
}

static uint64_t digest_all(void) {
    const struct races *races = launch_state;
    uint64_t digest = 0;
    for (uint32_t shard = 0; shard < SHARDS; shard++) digest += digest_shadow(&races->shards[shard].shadow);
    for (uint32_t block = 0; block < BLOCKS; block++)
        digest += (block + 1) * digest_shadow(&((struct races_block *)blocks[block].state)->shared->shadow);
    return digest;
}

static int check_random(void) {
    enum { KERNELS = 2000, STEPS = 24 };
    int failures = 0;
    for (uint64_t seed = 0; seed < KERNELS; seed++) {
        double races[2], accesses[2];
        uint64_t addresses[2], digests[2];
        bool is_one = false; /* lane that races: of several, a warp's access names the one that lacks most */
        for (int i = 0; i < 2; i++) {
            is_split = i;
            state = seed;
            begin(&simt_observe_races);
            for (int step = 0; step < STEPS; step++) tell_any();
            digests[i] = digest_all();
            end();
            races[i] = seen.races;
            accesses[i] = seen.racing_accesses;
            addresses[i] = seen.address;
            is_one = seen.findings == 1;
        }
        const bool is_alike = races[0] == races[1] && accesses[0] == accesses[1] && (!is_one || addresses[0] == addresses[1]);
        failures += expect(is_alike, "a made-up kernel") + expect(digests[0] == digests[1], "its shadow");
    }
    is_split = false;
    return failures;
}

int main(void) {
    int failures = check_random() + check_message() + check_uninitialised() + check_shuffle();
    failures += check_patterns(patterns, PATTERN_COUNT);
    printf("%d patterns in lockstep and lane by lane: %d failures\n", PATTERN_COUNT, failures);
    return failures > 0;
}
