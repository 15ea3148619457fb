/* observers: the hooks of the counting observers called with events made by hand, and what they report;
 * banks' and lines' counts against a plain count of every word and byte too. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "observe/observe.h"
#include "machine/machine.h"

static int failures;

static void expect(const char *what, double expected, double got) {
    if (expected == got) return;
    failures++;
    fprintf(stderr, "observers: %s: %g, not %g\n", what, got, expected);
}

/* ---- accesses: `lanes` lanes at base + stride * lane */

struct made {
    simt_access access;
    uint64_t addresses[SIMT_LANES];
};

static const simt_access *make(struct made *made, uint32_t lanes, uint64_t base, int64_t stride,
                               uint32_t element_nbytes, uint32_t elements) {
    for (int64_t lane = 0; lane < SIMT_LANES; lane++)
        made->addresses[lane] = base + (uint64_t)(stride * lane);
    made->access = (simt_access){.space = SIMT_SHARED,
                                 .kind = SIMT_LOAD,
                                 .lanes = lanes,
                                 .element_nbytes = element_nbytes,
                                 .elements = elements,
                                 .addresses = made->addresses};
    return &made->access;
}

/* ---- banks */

struct banks_case {
    const char *what;
    uint32_t warp_size, banks, lanes;
    int64_t base, stride;
    uint32_t element_nbytes, elements;
    uint32_t needed, least;
};

#define FULL UINT32_MAX
static const struct banks_case banks_cases[] = {
    {"consecutive words", 32, 32, FULL, 0, 4, 4, 1, 1, 1},
    {"consecutive words from the fifth bank on", 32, 32, FULL, 20, 4, 4, 1, 1, 1},
    {"every second word", 32, 32, FULL, 0, 8, 4, 1, 2, 1},
    {"every fourth word", 32, 32, FULL, 0, 16, 4, 1, 4, 1},
    {"every eighth word", 32, 32, FULL, 0, 32, 4, 1, 8, 1},
    {"every sixteenth word", 32, 32, FULL, 0, 64, 4, 1, 16, 1},
    {"a column of 32 words", 32, 32, FULL, 0, 128, 4, 1, 32, 1},
    {"a column of 33 words", 32, 32, FULL, 0, 132, 4, 1, 1, 1},
    {"every third word", 32, 32, FULL, 0, 12, 4, 1, 1, 1},
    {"every sixth word", 32, 32, FULL, 0, 24, 4, 1, 2, 1},
    {"falling words", 32, 32, FULL, 31 * 4, -4, 4, 1, 1, 1},
    {"a falling column", 32, 32, FULL, 31 * 128, -128, 4, 1, 32, 1},
    {"one word for all", 32, 32, FULL, 36, 0, 4, 1, 1, 1},
    {"half of a warp, every second word", 32, 32, 0xffff, 0, 8, 4, 1, 1, 1},
    {"half of a warp, every fourth word", 32, 32, 0xffff, 0, 16, 4, 1, 2, 1},
    {"every second lane, its own word", 32, 32, 0x55555555, 0, 4, 4, 1, 1, 1},
    {"two lanes, one bank", 32, 32, 3, 0, 128, 4, 1, 2, 1},
    {"one lane", 32, 32, 1u << 31, 64, 4, 4, 1, 1, 1},
    {"consecutive bytes", 32, 32, FULL, 0, 1, 1, 1, 1, 1},
    {"consecutive halves", 32, 32, FULL, 0, 2, 2, 1, 1, 1},
    {"bytes, 64 apart", 32, 32, FULL, 3, 64, 1, 1, 16, 1},
    {"consecutive doubles", 32, 32, FULL, 0, 8, 8, 1, 2, 2},
    {"doubles, 16 bytes apart", 32, 32, FULL, 0, 16, 8, 1, 4, 2},
    {"doubles, a column", 32, 32, FULL, 0, 256, 8, 1, 32, 2},
    {"doubles, a padded column", 32, 32, FULL, 0, 264, 8, 1, 2, 2},
    {"one double for all", 32, 32, FULL, 8, 0, 8, 1, 2, 2},
    {"doubles of half a warp", 32, 32, 0xffff, 0, 8, 8, 1, 1, 1},
    {"doubles of four lanes, two in each half", 32, 32, 0x30003, 0, 8, 8, 1, 2, 2},
    {"pairs of words", 32, 32, FULL, 0, 8, 4, 2, 2, 2},
    {"vectors of four words", 32, 32, FULL, 0, 16, 4, 4, 4, 4},
    {"vectors of four words, 32 bytes apart", 32, 32, FULL, 0, 32, 4, 4, 8, 4},
    {"vectors of two doubles", 32, 32, FULL, 0, 16, 8, 2, 4, 4},
    {"elements of 16 bytes", 32, 32, FULL, 0, 16, 16, 1, 4, 4},
    {"vectors of a quarter warp", 32, 32, 0xff, 0, 16, 4, 4, 1, 1},
    {"vectors of four bytes", 32, 32, FULL, 0, 4, 1, 4, 1, 1},
    {"2 lanes, 8 banks", 2, 8, 3, 0, 4, 4, 1, 1, 1},
    {"2 lanes, 8 banks, one bank", 2, 8, 3, 0, 32, 4, 1, 2, 1},
    {"2 lanes, 8 banks, doubles", 2, 8, 3, 0, 8, 8, 1, 1, 1},
    {"2 lanes, 8 banks, vectors", 2, 8, 3, 0, 16, 4, 4, 1, 1},
    {"2 lanes, 8 banks, vectors, one bank", 2, 8, 3, 0, 32, 4, 4, 2, 1},
    {"8 lanes, 8 banks, every second word", 8, 8, 0xff, 0, 8, 4, 1, 2, 1},
    {"8 lanes, 8 banks, doubles", 8, 8, 0xff, 0, 8, 8, 1, 2, 2},
    {"32 lanes, 8 banks", 32, 8, FULL, 0, 4, 4, 1, 4, 4},
    {"32 lanes, 8 banks, one word for all", 32, 8, FULL, 4, 0, 4, 1, 1, 1},
    {"32 lanes, 1 bank", 32, 1, FULL, 0, 4, 4, 1, 32, 32},
    {"1 lane, 1 bank, a double", 1, 1, 1, 0, 8, 8, 1, 2, 2},
};

static void check_banks_cases(void) {
    for (size_t i = 0; i < sizeof banks_cases / sizeof *banks_cases; i++) {
        const struct banks_case *c = &banks_cases[i];
        struct made made;
        const simt_access *access =
            make(&made, c->lanes, (uint64_t)c->base, c->stride, c->element_nbytes, c->elements);
        uint32_t least, needed = simt_wavefronts(access, c->warp_size, c->banks, &least);
        char what[128];
        expect(c->what, c->needed, needed);
        snprintf(what, sizeof what, "%s: at least", c->what);
        expect(what, c->least, least);
    }
}

/* ---- the same by marking every word and byte */

enum { MARKS = 1 << 14 };

static uint32_t count_marks(const uint8_t *marks, uint32_t first, uint32_t step) {
    uint32_t count = 0;
    for (uint32_t i = first; i < MARKS; i += step) count += marks[i];
    return count;
}

static void mark(uint8_t *marks, const simt_access *access, uint32_t first, uint32_t end,
                 uint32_t piece_nbytes) {
    memset(marks, 0, MARKS);
    for (uint32_t lane = first; lane < end; lane++)
        for (uint32_t byte = 0; byte < access->element_nbytes * access->elements; byte++)
            if (access->lanes >> lane & 1) marks[(access->addresses[lane] + byte) / piece_nbytes] = 1;
}

/* Half warps for 8 bytes, quarters for 16, as the warp's words are more than the banks. */
static uint32_t plain_wavefronts(const simt_access *access, uint32_t warp_size, uint32_t banks,
                                 uint32_t *least) {
    static uint8_t marks[MARKS];
    uint32_t together = warp_size, needed = 0;
    uint32_t words = access->element_nbytes * access->elements / 4, parts = 1;
    for (; parts < words && together > 1 && together * words > banks; parts *= 2) together /= 2;
    *least = 0;
    for (uint32_t first = 0; first < warp_size; first += together) {
        mark(marks, access, first, first + together, 4);
        uint32_t height = 0;
        for (uint32_t bank = 0; bank < banks; bank++) {
            uint32_t of_bank = count_marks(marks, bank, banks);
            if (of_bank > height) height = of_bank;
        }
        needed += height;
        *least += (count_marks(marks, 0, 1) + banks - 1) / banks;
    }
    return needed;
}

static uint32_t random_below(uint32_t bound) {
    static uint64_t state = 1;
    state = state * 6364136223846793005 + 1442695040888963407;
    return (uint32_t)(state >> 33) % bound;
}

/* Rising by a stride, or anywhere in a window; all lanes, or any. */
static const simt_access *make_random(struct made *made, uint32_t warp_size) {
    uint32_t element_nbytes = 1u << random_below(5),
             elements = element_nbytes < 16 ? 1u << random_below(3) : 1;
    uint32_t nbytes = element_nbytes * elements, window = 1u << random_below(8);
    uint32_t lanes = (warp_size < 32 ? (1u << warp_size) : 0) - 1;
    make(made, lanes, (uint64_t)nbytes * random_below(64), (int64_t)nbytes * random_below(5), element_nbytes,
         elements);
    if (random_below(2))
        for (uint32_t lane = 0; lane < SIMT_LANES; lane++)
            made->addresses[lane] = (uint64_t)nbytes * random_below(window);
    if (random_below(2)) made->access.lanes = (random_below(UINT32_MAX) & lanes) | 1;
    return &made->access;
}

static void check_random_accesses(void) {
    static uint8_t marks[MARKS];
    for (int i = 0; i < 3000; i++) {
        struct made made;
        uint32_t warp_size = 1u << random_below(6), banks = 1u << random_below(6), least, plain_least;
        const simt_access *access = make_random(&made, warp_size);
        expect("random wavefronts", plain_wavefronts(access, warp_size, banks, &plain_least),
               simt_wavefronts(access, warp_size, banks, &least));
        expect("random least wavefronts", plain_least, least);
        for (uint32_t line = 1; line <= 256; line *= 16) {
            mark(marks, access, 0, warp_size, line);
            expect("random lines", count_marks(marks, 0, 1), simt_lines(access, line));
        }
    }
}

/* ---- lines */

static void check_lines(void) {
    struct made made;
    expect("a line", 1, simt_lines(make(&made, FULL, 0, 4, 4, 1), 128));
    expect("its sectors", 4, simt_lines(make(&made, FULL, 0, 4, 4, 1), 32));
    expect("across two lines", 2, simt_lines(make(&made, FULL, 64, 4, 4, 1), 128));
    expect("across five sectors", 5, simt_lines(make(&made, FULL, 4, 4, 4, 1), 32));
    expect("a line for each lane", 32, simt_lines(make(&made, FULL, 0, 128, 4, 1), 128));
    expect("falling", 8, simt_lines(make(&made, FULL, 1024 - 32, -32, 4, 1), 128));
    expect("one address", 1, simt_lines(make(&made, FULL, 12, 0, 4, 1), 128));
    expect("vectors", 4, simt_lines(make(&made, FULL, 0, 16, 4, 4), 128));
    expect("one lane", 1, simt_lines(make(&made, 16, 0, 128, 8, 1), 128));
    expect("high addresses", 2, simt_lines(make(&made, FULL, UINT64_MAX - 131, 4, 4, 1), 128));
}

/* ---- observers, as the simulator calls them: two blocks of one launch */

static const simt_place places[] = {{.opcode = "add.s32"}, {.opcode = "ex2.approx.f32", .approximate = true}};

static simt_launch_view view = {.kernel = "made",
                                .grid = {2, 1, 1},
                                .block = {64, 1, 1},
                                .warp_size = 32,
                                .banks = 32,
                                .threads_per_block = 64,
                                .warps_per_block = 2,
                                .shared_nbytes = 1024,
                                .places = places,
                                .place_count = 2};

typedef void body(const simt_observer *observer, void *state, const simt_block_view *block);

/* 8 bytes more than nothing: calloc(0) may be NULL. */
static void *make_state(size_t nbytes) {
    void *state = calloc(1, nbytes + 8);
    if (!state) exit(1);
    return state;
}

static simt_report *observe(const simt_observer *observer, body *tell) {
    simt_report *report = simt_report_create();
    if (!report) exit(1);
    void *launch = make_state(observer->launch_nbytes);
    if (observer->launch_begin && !observer->launch_begin(launch, &view)) exit(1);
    for (uint32_t index = 0; index < 2; index++) {
        simt_tally tally = {0};
        simt_block_view block = {.launch = &view, .block = {index, 0, 0}, .index = index, .tally = &tally};
        void *state = make_state(observer->block_nbytes);
        if (observer->block_begin && !observer->block_begin(launch, state, &block)) exit(1);
        tell(observer, state, &block);
        if (observer->block_end) observer->block_end(launch, state, &block);
        free(state);
    }
    observer->launch_end(launch, report);
    free(launch);
    return report;
}

static const simt_observer *find(const char *name) {
    for (const simt_observer *const *observer = simt_counters; *observer; observer++)
        if (!strcmp((*observer)->name, name)) return *observer;
    fprintf(stderr, "observers: no %s among simt_counters\n", name);
    exit(1);
}

struct count {
    const char *name;
    double value;
};

static void check(const char *name, body *tell, const struct count *counts, size_t count) {
    simt_report *report = observe(find(name), tell);
    for (size_t i = 0; i < count; i++)
        expect(counts[i].name, counts[i].value, simt_report_counter_value(report, counts[i].name, -1));
    simt_report_destroy(report);
}

#define CHECK(name, tell, ...)                                                                               \
    check(name, tell, (const struct count[]){__VA_ARGS__},                                                   \
          sizeof((const struct count[]){__VA_ARGS__}) / sizeof(struct count))

static void tell_nothing(const simt_observer *observer, void *state, const simt_block_view *block) {
    (void)observer, (void)state, (void)block;
}

static void tell_instructions(const simt_observer *observer, void *state, const simt_block_view *block) {
    (void)observer, (void)state;
    *(simt_tally *)(uintptr_t)block->tally = (simt_tally){ /* what the simulator does as it runs */
        .instructions = 3, .active_lanes = 48, .thread_instructions = 36, .approximate = 1};
}

static void tell_branches(const simt_observer *observer, void *state, const simt_block_view *block) {
    (void)observer, (void)state;
    *(simt_tally *)(uintptr_t)block->tally = (simt_tally){.branches = 4, .divergent_branches = 2};
}

static void tell_global(const simt_observer *observer, void *state, const simt_block_view *block) {
    simt_event event = {block, 0, 0, FULL, FULL};
    struct made made;
    make(&made, FULL, 4096, 4, 4, 1); /* 1 line, 4 sectors, 128 bytes */
    made.access.space = SIMT_GLOBAL;
    observer->access(state, &event, &made.access);
    make(&made, FULL, 4096, 128, 4, 1); /* 32 lines, 32 sectors, 128 bytes */
    made.access.space = SIMT_GLOBAL;
    made.access.kind = SIMT_STORE;
    observer->access(state, &event, &made.access);
    make(&made, 0xf, 4096, 0, 4, 1); /* 1, 1, 4 */
    made.access.space = SIMT_GLOBAL;
    made.access.kind = SIMT_ATOMIC;
    observer->access(state, &event, &made.access);
    observer->access(state, &event, make(&made, FULL, 0, 4, 4, 1)); /* shared: not its business */
}

static void tell_shared(const simt_observer *observer, void *state, const simt_block_view *block) {
    simt_event event = {block, 0, 0, FULL, FULL};
    struct made made;
    observer->access(state, &event, make(&made, FULL, 0, 4, 4, 1));
    make(&made, FULL, 0, 16, 4, 1);
    made.access.kind = SIMT_ATOMIC;
    observer->access(state, &event, &made.access);
    observer->access(state, &event, make(&made, 0xffff, 0, 16, 8, 1));
    make(&made, FULL, 0, 128, 4, 1);
    made.access.space = SIMT_GLOBAL;
    observer->access(state, &event, &made.access);
}

static void tell_synchronisation(const simt_observer *observer, void *state, const simt_block_view *block) {
    simt_event event = {block, 0, 0, FULL, FULL};
    uint32_t lanes[SIMT_LANES] = {FULL, FULL};
    uint8_t sources[SIMT_LANES] = {0};
    struct made made;
    for (int i = 0; i < 3; i++) observer->barrier(state, block, 0, 0, lanes);
    for (int i = 0; i < 5; i++) observer->warp_barrier(state, &event, FULL);
    for (int i = 0; i < 7; i++) observer->shuffle(state, &event, sources);
    observer->fence(state, &event, true);
    make(&made, 0xff, 0, 4, 4, 1);
    observer->access(state, &event, &made.access); /* a load */
    made.access.kind = SIMT_ATOMIC;
    observer->access(state, &event, &made.access);
    make(&made, FULL, 0, 16, 4, 4);
    made.access.kind = SIMT_ATOMIC;
    made.access.space = SIMT_GLOBAL;
    observer->access(state, &event, &made.access);
}

static void check_occupancy(void) {
    static const struct {
        uint32_t warps;
        size_t shared_nbytes;
        double blocks, occupancy;
    } cases[] = {
        {1, 0, 32, 0.5},
        {2, 0, 32, 1},
        {8, 0, 8, 1},
        {32, 0, 2, 1},
        {24, 0, 2, 0.75},
        {8, 48 << 10, 4, 0.5},
        {1, 227 << 10, 1, 1. / 64},
        {1, 228 << 10, 0, 0},
        {4, (19 << 10) - 1, 11, 0.6875},
    };
    simt_launch_view usual = view;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        view.warps_per_block = cases[i].warps;
        view.threads_per_block = 32 * cases[i].warps;
        view.shared_nbytes = cases[i].shared_nbytes;
        view.grid[0] = 264;
        double blocks = cases[i].blocks;
        CHECK("occupancy", tell_nothing, {"resident_blocks", blocks}, {"occupancy", cases[i].occupancy},
              {"blocks", 264}, {"warps", 264.0 * cases[i].warps}, {"waves", blocks > 0 ? 2 / blocks : 0});
    }
    view = usual;
}

/* A report keeps what it is given, however much it is. */
static void check_many_counts(void) {
    enum { COUNTS = 1000 };
    static char names[COUNTS][8];
    simt_report *report = simt_report_create();
    if (!report) exit(1);
    for (int i = 0; i < COUNTS; i++) {
        snprintf(names[i], sizeof names[i], "c%d", i);
        simt_report_add(report, names[i], i);
    }
    expect("counts of a report", COUNTS, (double)simt_report_counter_count(report));
    expect("the last count", COUNTS - 1, simt_report_counter_value(report, names[COUNTS - 1], -1));
    simt_report_destroy(report);
}

/* That lanes lie in steps is a hint, which changes no count. */
static void check_steps(void) {
    static const uint32_t masks[] = {FULL, 1, 0xf0, 0x80000000, 0x7fffffff, 0xfffffffe, 0x00ffff00};
    static const int64_t steps[] = {0, 1, -1, 2, -2, 3, 4, -4, 5, 7, 8, -8, 16, 31, 32, -32, 33, 100, -1000, 4096};
    for (uint32_t element_nbytes = 1; element_nbytes <= 8; element_nbytes *= 2)
        for (uint32_t elements = 1; elements <= 4; elements *= 2)
            for (size_t m = 0; m < sizeof masks / sizeof *masks; m++)
                for (size_t s = 0; s < sizeof steps / sizeof *steps; s++)
                    for (uint32_t line = 1; line <= 128; line *= 2) {
                        const int64_t nbytes = element_nbytes * elements;
                        struct made made;
                        make(&made, masks[m], 1 << 20 | (uint64_t)nbytes, steps[s] * nbytes, element_nbytes, elements);
                        const uint32_t expected = simt_lines(&made.access, line);
                        made.access.has_stride = true;
                        made.access.stride = (uint64_t)(steps[s] * nbytes);
                        expect("lines of steps", expected, simt_lines(&made.access, line));
                    }
}

int main(void) {
    check_many_counts();
    check_steps();
    check_banks_cases();
    check_lines();
    check_random_accesses();
    CHECK("instructions", tell_instructions, {"instructions", 6}, {"thread_instructions", 72},
          {"approximate", 2}, {"active_lanes", 96}, {"lane_slots", 192}, {"utilization", 0.5});
    CHECK("instructions", tell_nothing, {"instructions", 0}, {"utilization", 1});
    CHECK("divergence", tell_branches, {"branches", 8}, {"divergent_branches", 4});
    CHECK("requests", tell_global, {"global_accesses", 6}, {"global_requests", 68}, {"global_sectors", 74},
          {"global_bytes", 520}, {"coalescing", 520.0 / (32 * 74)}, {"global_load_requests", 2},
          {"global_load_sectors", 8}, {"global_store_accesses", 2}, {"global_store_sectors", 64},
          {"global_atomic_requests", 2}, {"global_atomic_bytes", 8});
    CHECK("requests", tell_nothing, {"global_accesses", 0}, {"coalescing", 1});
    CHECK("banks", tell_shared, {"shared_accesses", 6}, {"shared_wavefronts", 14},
          {"shared_wavefronts_least", 6}, {"shared_bytes", 768}, {"bank_degree", 4},
          {"bank_degree_mean", 14.0 / 6});
    CHECK("banks", tell_nothing, {"shared_accesses", 0}, {"bank_degree", 1}, {"bank_degree_mean", 1});
    CHECK("synchronisation", tell_synchronisation, {"barriers", 6}, {"warp_barriers", 10}, {"shuffles", 14},
          {"fences", 2}, {"atomics", 2 * (8 + 128)}, {"shared_atomics", 16}, {"global_atomics", 256});
    check_occupancy();
    printf("%zu hand-made bank accesses and random ones, %d failures\n",
           sizeof banks_cases / sizeof *banks_cases, failures);
    return failures > 0;
}
