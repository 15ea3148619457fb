/* Stands in for the simulator: tells an observer of made-up accesses, and keeps what it finds.
 *
 * A pattern is a function that tells what a kernel does, and whether that is a race.  Each is told in
 * lockstep and lane by lane; the verdict must be the same. */
#ifndef RACES_MACHINE_H
#define RACES_MACHINE_H

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "simt_observer.h"

extern const struct simt_observer simt_observe_races;

enum { WARPS = 4, THREADS = 32 * WARPS, BLOCKS = 8, PLACES = 1024, FULL = -1 };

/* ---- the simulator's part */

static struct {
    int findings, stops, withdrawn;
    enum simt_finding_kind kind;
    uint32_t lane, lanes;
    uint64_t address;
    char message[512], missing[64], where[96];
    simt_racing_access other;
    double races, racing_accesses, uninitialised_reads, undefined_shuffles;
    uint32_t followed; /* lanes whose shuffled values are undefined */
} seen;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static bool note(enum simt_finding_kind kind, uint32_t lane, uint64_t address, const simt_racing_access *other,
                 const char *format, va_list arguments) {
    pthread_mutex_lock(&lock);
    bool is_first = !seen.findings++;
    if (is_first) {
        vsnprintf(seen.message, sizeof seen.message, format, arguments);
        seen.kind = kind;
        seen.lane = lane;
        seen.address = address;
        if (other) seen.other = *other;
        if (other && other->missing) snprintf(seen.missing, sizeof seen.missing, "%s", other->missing);
        if (other && other->where) snprintf(seen.where, sizeof seen.where, "%s", other->where);
    }
    pthread_mutex_unlock(&lock);
    return is_first;
}

bool simt_record_finding(const simt_event *event, enum simt_finding_kind kind, uint32_t lane,
                         uint64_t address, const char *format, ...) {
    va_list arguments;
    (void)event;
    va_start(arguments, format);
    bool is_first = note(kind, lane, address, NULL, format, arguments);
    va_end(arguments);
    return is_first;
}

bool simt_record_finding_of_lanes(const simt_event *event, enum simt_finding_kind kind, uint32_t lanes,
                                  uint64_t address, const char *format, ...) {
    va_list arguments;
    (void)event;
    seen.lanes = lanes;
    va_start(arguments, format);
    bool is_first = note(kind, (uint32_t)__builtin_ctz(lanes), address, NULL, format, arguments);
    va_end(arguments);
    return is_first;
}

void simt_report_withdraw(simt_report *report, enum simt_finding_kind kind, uint32_t pc) {
    (void)report, (void)kind, (void)pc;
    seen.withdrawn++;
}

void simt_show_finding(const simt_event *event, enum simt_finding_kind kind, uint32_t lane, uint64_t address, const char *message) {
    (void)event, (void)kind, (void)lane, (void)address, (void)message;
}

void simt_report_add_guesses(simt_report *report, const simt_place *place, uint64_t count) {
    (void)report;
    (void)place;
    (void)count;
}

void simt_report_add_repeated(simt_report *report, const simt_place *place, uint64_t nbytes) {
    (void)report, (void)place, (void)nbytes;
}

/* The programs here are straight. */
bool simt_is_guess(const simt_event *event, uint32_t load) {
    (void)event;
    (void)load;
    return false;
}

bool simt_may_follow(const simt_event *event, uint32_t from, uint32_t to, bool within_warp) {
    (void)event, (void)within_warp;
    return from < to;
}

bool simt_are_exclusive(const simt_event *event, uint32_t one, uint32_t other) {
    (void)event, (void)one, (void)other;
    return false;
}

/* Nor have they updates, or loops that wait. */
simt_update simt_update_of(const simt_event *event, uint32_t store) {
    (void)event, (void)store;
    return (simt_update){.load = UINT32_MAX};
}

uint32_t simt_update_before(const simt_event *event, uint32_t store) {
    (void)event, (void)store;
    return UINT32_MAX;
}

bool simt_is_never_stored(const simt_event *event, uint32_t *line) {
    (void)event;
    *line = 0;
    return false;
}

uint32_t simt_open_loop_of(const simt_event *event, uint32_t pc, bool within_warp) {
    (void)event, (void)pc, (void)within_warp;
    return 0;
}

uint32_t simt_awaiting_branch(const simt_event *event, uint32_t load) {
    (void)event, (void)load;
    return UINT32_MAX;
}

bool simt_record_race(const simt_event *event, uint32_t lane, uint64_t address,
                      const simt_racing_access *other, const char *format, ...) {
    va_list arguments;
    (void)event;
    va_start(arguments, format);
    bool is_first = note(SIMT_FINDING_RACE, lane, address, other, format, arguments);
    va_end(arguments);
    return is_first;
}

bool simt_record_race_again(const simt_event *event, uint32_t lane, const simt_racing_access *other) {
    (void)event;
    (void)lane;
    (void)other;
    return false; /* each is to be seen */
}

uint32_t simt_exchange_of(const simt_event *event, uint32_t pc, uint32_t other_pc, uint32_t *second) {
    (void)event;
    (void)pc;
    (void)other_pc;
    (void)second;
    return UINT32_MAX;
}

void simt_follow_undefined(const simt_event *event, uint32_t lanes, const uint8_t *sources) {
    (void)event;
    (void)sources;
    seen.followed |= lanes;
}

/* All is used. */
void simt_follow_unwritten(const simt_event *event, simt_unwritten *read) { read->say(event, read, read->lanes); }

void simt_stop(const simt_event *event) {
    (void)event;
    seen.stops++;
}

void simt_report_add(simt_report *report, const char *name, double value) {
    (void)report;
    if (!strcmp(name, "races")) seen.races = value;
    if (!strcmp(name, "racing_accesses")) seen.racing_accesses = value;
    if (!strcmp(name, "uninitialised_reads")) seen.uninitialised_reads = value;
    if (!strcmp(name, "undefined_shuffles")) seen.undefined_shuffles = value;
    if (!strcmp(name, "races_incomplete")) seen.races = -1;
}

void simt_report_lose(simt_report *report) {
    (void)report;
    seen.races = -1;
}

static const struct simt_observer *observer;
static simt_launch_view launch;
static void *launch_state;
static struct {
    simt_block_view view;
    void *state;
} blocks[BLOCKS];
static bool is_split; /* accesses of a warp are told lane by lane */

/* What a launch is, before it begins. */
static void describe_launch(const struct simt_observer *of) {
    static simt_place places[PLACES];
    for (uint32_t i = 0; i < PLACES; i++)
        places[i] = (simt_place){.file = "kernel.cu", .line = i, .ptx_line = i, .opcode = "st.u32"};
    observer = of;
    memset(&seen, 0, sizeof seen);
    launch = (simt_launch_view){.kernel = "kernel",
                                .grid = {BLOCKS, 1, 1},
                                .block = {THREADS, 1, 1},
                                .warp_size = 32,
                                .banks = 32,
                                .threads_per_block = THREADS,
                                .warps_per_block = WARPS,
                                .places = places,
                                .place_count = PLACES};
    launch_state = calloc(1, observer->launch_nbytes);
    if (!launch_state) exit(1);
}

static void begin_launch(const struct simt_observer *of) {
    describe_launch(of);
    if (observer->launch_begin && !observer->launch_begin(launch_state, &launch)) exit(1);
}

static void begin_block(uint32_t block) {
    blocks[block].view = (simt_block_view){.launch = &launch, .block = {block, 0, 0}, .index = block};
    blocks[block].state = calloc(1, observer->block_nbytes);
    if (!blocks[block].state) exit(1);
    if (observer->block_begin &&
        !observer->block_begin(launch_state, blocks[block].state, &blocks[block].view))
        exit(1);
}

static void begin(const struct simt_observer *of) {
    begin_launch(of);
    for (uint32_t block = 0; block < BLOCKS; block++) begin_block(block);
}

static void end_block(uint32_t block) {
    observer->block_end(launch_state, blocks[block].state, &blocks[block].view);
    free(blocks[block].state);
    blocks[block].state = NULL;
}

static void end(void) {
    for (uint32_t block = 0; block < BLOCKS; block++)
        if (blocks[block].state) end_block(block);
    observer->launch_end(launch_state, NULL);
    free(launch_state);
}

/* ---- what a kernel does */

struct what {
    enum simt_space space;
    enum simt_access_kind kind;
    enum simt_order order;
    uint32_t nbytes;
    int64_t address, stride; /* thread t of the block is at address + t * stride, */
    uint32_t row;            /* or, if that is not 0, at address + t % row * stride + t / row * pitch */
    int64_t pitch;
    uint64_t same;           /* what all threads store; 0: each what no other does */
    uint32_t pc;
};

static uint64_t value_of(const struct what *what, uint32_t warp, uint32_t lane) {
    return what->same ? what->same : what->pc * 1000 + warp * 32 + lane;
}

static void tell(uint32_t block, uint32_t warp, uint32_t lanes, const struct what *what) {
    uint64_t addresses[SIMT_LANES] = {0}, values[SIMT_LANES] = {0};
    for (uint32_t lane = 0; lane < SIMT_LANES; lane++) {
        const uint32_t thread = warp * 32 + lane, row = what->row ? what->row : THREADS;
        addresses[lane] = (uint64_t)(what->address + thread % row * what->stride + thread / row * what->pitch);
        values[lane] = value_of(what, warp, lane);
    }
    const uint32_t run = lanes >> __builtin_ctz(lanes);
    simt_access access = {.has_stride = !what->row && (!what->stride || !(run & (run + 1))),
                          .stride = (uint64_t)what->stride,
                          .space = what->space,
                          .kind = what->kind,
                          .order = what->order,
                          .lanes = lanes,
                          .element_nbytes = what->nbytes ? what->nbytes : 4,
                          .elements = 1,
                          .addresses = addresses,
                          .values = what->kind == SIMT_STORE ? values : NULL};
    simt_event event = {&blocks[block].view, warp, what->pc, lanes, lanes};
    observer->access(blocks[block].state, &event, &access);
}

static void access_by(uint32_t block, uint32_t warp, int lanes, struct what what) {
    if (!is_split) {
        tell(block, warp, (uint32_t)lanes, &what);
        return;
    }
    for (uint32_t lane = 0; lane < 32; lane++)
        if ((uint32_t)lanes >> lane & 1) tell(block, warp, 1u << lane, &what);
}

/* The line is the instruction. */
#define ACCESS(space_, kind_, address_, stride_, ...)                                                        \
    ((struct what){.space = (space_),                                                                        \
                   .kind = SIMT_##kind_,                                                                     \
                   .address = (address_),                                                                    \
                   .stride = (stride_),                                                                      \
                   .pc = __LINE__,                                                                           \
                   __VA_ARGS__})
#define SHARED(...) ACCESS(SIMT_SHARED, __VA_ARGS__)
#define GLOBAL(kind_, address_, ...) ACCESS(SIMT_GLOBAL, kind_, 0x700000000000 + (address_), __VA_ARGS__)
#define VOLATILE .order = SIMT_VOLATILE

static void barrier_of(uint32_t block, uint32_t number, const uint32_t *lanes) {
    observer->barrier(blocks[block].state, &blocks[block].view, number, 1, lanes);
}

static void barrier(uint32_t block) {
    static const uint32_t everyone[WARPS] = {UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX};
    barrier_of(block, 0, everyone);
}

static inline void warp_barrier(uint32_t block, uint32_t warp, int lanes) {
    simt_event event = {&blocks[block].view, warp, 2, (uint32_t)lanes, (uint32_t)lanes};
    observer->warp_barrier(blocks[block].state, &event, (uint32_t)lanes);
}

static inline void fence(uint32_t block, uint32_t warp, int lanes, bool beyond_block) {
    simt_event event = {&blocks[block].view, warp, 3, (uint32_t)lanes, (uint32_t)lanes};
    observer->fence(blocks[block].state, &event, beyond_block);
}

static void everyone(uint32_t block, struct what what) {
    for (uint32_t warp = 0; warp < WARPS; warp++) access_by(block, warp, FULL, what);
}

/* ---- verdicts */

struct pattern {
    const char *name;
    void (*tell)(void);
    bool is_race;
};
#define PATTERN(name, is_race) {#name, name, is_race}

static int expect(bool is_right, const char *what) {
    if (!is_right)
        fprintf(stderr, "races: %s, %s: %d findings, %g races of %g accesses: %s\n", what,
                is_split ? "lane by lane" : "in lockstep", seen.findings, seen.races, seen.racing_accesses,
                seen.message);
    return !is_right;
}

static int check_pattern(const struct pattern *pattern) {
    begin(&simt_observe_races);
    pattern->tell();
    end();
    bool is_right = (seen.findings > 0) == pattern->is_race && (seen.races > 0) == pattern->is_race &&
                    (seen.racing_accesses > 0) == pattern->is_race;
    return expect(is_right, pattern->name);
}

static int check_patterns(const struct pattern *patterns, int count) {
    int failures = 0;
    for (int i = 0; i < 2 * count; i++) {
        is_split = i % 2;
        failures += check_pattern(&patterns[i / 2]);
    }
    is_split = false;
    return failures;
}

#endif
