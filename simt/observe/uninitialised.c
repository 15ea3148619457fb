/* Finds reads of shared and global memory that nothing has written.  An element of which some bytes were
 * written is a struct with padding, and left alone.
 *
 * The launch goes on behind such a read.  If all that a line read so was later written by other threads, and a race says
 * so, that is the fault: the finding is withdrawn in favour of the race's. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "counts.h"

enum { WORD_SHIFT = 2, SLOTS = 8192, READS_MAX = SLOTS / 2 };

/* A word that was read before it was written. */
struct early_read {
    uint64_t place;  /* the block's number + 1 for shared memory, 0 for global memory, */
    uint64_t word;   /* and the word there */
    uint64_t thread; /* among those of the grid */
    uint32_t pc;
    bool is_taken, is_written; /* by another thread, later */
};

struct early_reads {
    const simt_launch_view *view;
    uint64_t count;       /* of elements */
    pthread_mutex_t lock; /* of the table */
    atomic_bool has_any;
    struct early_read *slots; /* a hash table by place and word; NULL: none yet */
    uint32_t taken;
    bool is_full, out_of_memory;
};

struct reader {
    struct early_reads *reads;
    uint64_t count;
};

/* ---- the table ----------------------------------------------------------------------------------- */

static uint32_t slot_of(uint64_t place, uint64_t word) {
    uint64_t hash = (word + place * UINT64_C(0xd1342543de82ef95)) * UINT64_C(0x9e3779b97f4a7c15);
    return (uint32_t)(hash >> 32) & (SLOTS - 1);
}

static uint64_t place_of(const simt_event *event, const simt_access *access) {
    return access->space == SIMT_SHARED ? event->block->index + 1 : 0;
}

static uint64_t thread_of(const simt_event *event, uint32_t lane) {
    const simt_launch_view *view = event->block->launch;
    return event->block->index * view->threads_per_block + (uint64_t)event->warp * view->warp_size + lane;
}

static void remember(struct early_reads *reads, const struct early_read *read) {
    if (!reads->slots) reads->slots = calloc(SLOTS, sizeof *reads->slots);
    reads->out_of_memory |= !reads->slots;
    reads->is_full |= reads->taken == READS_MAX;
    if (!reads->slots || reads->is_full) return;
    uint32_t slot = slot_of(read->place, read->word);
    for (; reads->slots[slot].is_taken; slot = (slot + 1) % SLOTS) {
        const struct early_read *other = &reads->slots[slot];
        if (other->place == read->place && other->word == read->word && other->pc == read->pc) return;
    }
    reads->slots[slot] = *read;
    reads->taken++;
    atomic_store_explicit(&reads->has_any, true, memory_order_relaxed);
}

static void note_written(struct early_reads *reads, uint64_t place, uint64_t word, uint64_t thread) {
    for (uint32_t slot = slot_of(place, word); reads->slots[slot].is_taken; slot = (slot + 1) % SLOTS) {
        struct early_read *read = &reads->slots[slot];
        if (read->place == place && read->word == word && read->thread != thread) read->is_written = true;
    }
}

static void note_writes(struct early_reads *reads, const simt_event *event, const simt_access *access) {
    const uint64_t nbytes = (uint64_t)access->element_nbytes * access->elements;
    pthread_mutex_lock(&reads->lock);
    for (uint32_t lanes = access->lanes; lanes; lanes &= lanes - 1) {
        uint32_t lane = (uint32_t)__builtin_ctz(lanes);
        uint64_t address = access->addresses[lane];
        for (uint64_t word = address >> WORD_SHIFT; word <= (address + nbytes - 1) >> WORD_SHIFT; word++)
            note_written(reads, place_of(event, access), word, thread_of(event, lane));
    }
    pthread_mutex_unlock(&reads->lock);
}

/* ---- what is found ------------------------------------------------------------------------------- */

/* A bit for each element of the lane of which no byte has been written. */
static uint32_t unwritten_elements(const simt_access *access, uint32_t lane) {
    uint64_t written = access->initialised[lane];
    uint64_t element = (UINT64_C(1) << access->element_nbytes) - 1;
    uint32_t unwritten = 0;
    for (uint32_t e = 0; e < access->elements; e++)
        unwritten |= (uint32_t)!(written >> e * access->element_nbytes & element) << e;
    return unwritten;
}

static void find(const simt_event *event, const simt_access *access, uint32_t lanes, uint32_t element) {
    static const char advice_shared[] = "shared memory is undefined when a block begins";
    static const char advice_global[] = "initialise the buffer, or store to it before reading";
    bool is_shared = access->space == SIMT_SHARED;
    uint64_t address = access->addresses[__builtin_ctz(lanes)] + element * access->element_nbytes;
    simt_record_finding_of_lanes(event, SIMT_FINDING_UNINITIALISED, lanes, address,
                                 is_shared ? "%s %u bytes of %s memory at byte %llu, which has not been written: %s"
                                           : "%s %u bytes of %s memory at 0x%llx, which has not been written: %s",
                                 access->kind == SIMT_ATOMIC ? "updates" : "loads", access->element_nbytes,
                                 is_shared ? "shared" : "global", (unsigned long long)address,
                                 is_shared ? advice_shared : advice_global);
}

static void remember_lane(struct early_reads *reads, const simt_event *event, const simt_access *access, uint32_t lane,
                          uint32_t unwritten) {
    for (; unwritten; unwritten &= unwritten - 1) {
        uint64_t element = (uint64_t)__builtin_ctz(unwritten) * access->element_nbytes;
        remember(reads, &(struct early_read){.place = place_of(event, access),
                                             .word = (access->addresses[lane] + element) >> WORD_SHIFT,
                                             .thread = thread_of(event, lane),
                                             .pc = event->pc,
                                             .is_taken = true});
    }
}

static void check_reads(struct reader *reader, const simt_event *event, const simt_access *access) {
    uint32_t readers = 0, first_element = 0;
    for (uint32_t lanes = access->lanes; lanes; lanes &= lanes - 1) {
        uint32_t lane = (uint32_t)__builtin_ctz(lanes);
        uint32_t unwritten = unwritten_elements(access, lane);
        if (!unwritten) continue;
        if (!readers) first_element = (uint32_t)__builtin_ctz(unwritten);
        readers |= 1u << lane;
        reader->count += lane_count(unwritten);
        pthread_mutex_lock(&reader->reads->lock);
        remember_lane(reader->reads, event, access, lane, unwritten);
        pthread_mutex_unlock(&reader->reads->lock);
    }
    if (readers) find(event, access, readers, first_element);
}

static void check_access(void *block, const simt_event *event, const simt_access *access) {
    struct reader *reader = block;
    if ((access->space != SIMT_SHARED && access->space != SIMT_GLOBAL) || !access->lanes) return;
    if (access->kind != SIMT_STORE && access->initialised) check_reads(reader, event, access);
    if (access->kind != SIMT_LOAD && atomic_load_explicit(&reader->reads->has_any, memory_order_relaxed))
        note_writes(reader->reads, event, access);
}

/* ---- hooks --------------------------------------------------------------------------------------- */

static bool begin_launch(void *launch, const simt_launch_view *view) {
    struct early_reads *reads = launch;
    reads->view = view;
    return !pthread_mutex_init(&reads->lock, NULL);
}

static bool begin_block(void *launch, void *block, const simt_block_view *view) {
    (void)view;
    ((struct reader *)block)->reads = launch;
    return true;
}

static void end_block(void *launch, void *block, const simt_block_view *view) {
    (void)view;
    struct early_reads *reads = launch;
    reads->count += ((struct reader *)block)->count;
}

static bool is_same_line(const simt_place *a, const simt_place *b) {
    return a->line == b->line && !strcmp(a->file, b->file);
}

/* Whether something that the line has read was never written by others. */
static bool stays(const struct early_reads *reads, const simt_place *place) {
    for (uint32_t slot = 0; slot < SLOTS; slot++) {
        const struct early_read *read = &reads->slots[slot];
        if (read->is_taken && !read->is_written && is_same_line(&reads->view->places[read->pc], place)) return true;
    }
    return false;
}

static void withdraw(const struct early_reads *reads, simt_report *report) {
    uint32_t last = UINT32_MAX; /* neighbours in the table are mostly of one instruction */
    for (uint32_t slot = 0; slot < SLOTS; slot++) {
        const struct early_read *read = &reads->slots[slot];
        if (!read->is_taken || !read->is_written || read->pc == last) continue;
        last = read->pc;
        if (!stays(reads, &reads->view->places[last]))
            simt_report_withdraw(report, SIMT_FINDING_UNINITIALISED, last);
    }
}

static void end_launch(void *launch, simt_report *report) {
    struct early_reads *reads = launch;
    simt_report_add(report, "uninitialised_reads", (double)reads->count);
    if (reads->out_of_memory) simt_report_lose(report);
    if (reads->slots && !reads->is_full) withdraw(reads, report);
    free(reads->slots);
    pthread_mutex_destroy(&reads->lock);
}

#define OBSERVER                                                                                                   \
    {                                                                                                              \
        .name = "uninitialised",                                                                                   \
        .launch_nbytes = sizeof(struct early_reads),                                                               \
        .block_nbytes = sizeof(struct reader),                                                                     \
        .needs_initialised = true,                                                                                 \
        .launch_begin = begin_launch,                                                                              \
        .launch_end = end_launch,                                                                                  \
        .block_begin = begin_block,                                                                                \
        .block_end = end_block,                                                                                    \
        .access = check_access,                                                                                    \
    }

const struct simt_observer simt_observe_uninitialised = OBSERVER;
const struct simt_observer simt_observe_uninitialised_going_on = OBSERVER; /* by its name of before */
