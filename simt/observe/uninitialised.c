/* Finds reads of shared and global memory that nothing has written, if what was read is used.  An element of which some bytes were
 * written is a struct with padding, and left alone.
 *
 * The launch continues after such a read.  If all that a line read so was later written by other threads, and a race says
 * so, that is the fault: the finding is withdrawn in favour of the race's.  If only some of it was, the finding shows a word that
 * nobody else has written. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "counts.h"

enum kept { NONE_YET, ALL_OF_SOME, NOT_ALL };
enum { WORD_SHIFT = 2, SLOTS = 8192, READS_MAX = SLOTS / 2, OUTCOMES_MAX = 256, MESSAGE_NBYTES = sizeof((simt_finding *)0)->message };

/* An element that nothing has written, as it is read. */
struct misread {
    uint64_t address;
    uint32_t nbytes;
    bool is_shared, is_update;
};

/* A word that was read before it was written. */
struct early_read {
    uint64_t word;
    uint64_t thread, user; /* among those of the grid; user: the first whose value is used, or else the first */
    struct misread what;
    uint32_t pc, use;          /* use: its number among those whose value is used, from 1 on; 0: it is not */
    bool is_taken, is_written; /* is_written: by another thread, later */
};

/* The early reads of one memory: a hash table by the word. */
struct early_table {
    struct early_read *slots; /* NULL: none yet */
    uint32_t taken, uses;
    bool is_full, out_of_memory;
};

/* What became of the words that an instruction read early. */
struct outcome {
    uint32_t pc;
    bool is_written, stays;   /* of some of them */
    struct early_read stayed; /* of those that stay the first, in the first block */
};

struct early_reads {
    const simt_launch_view *view;
    void *machine;        /* as events' blocks have it */
    uint64_t count;       /* of elements */
    pthread_mutex_t lock; /* of the table */
    atomic_int kept;      /* what of the reads of global memory is: what happens to others matters only while it is all of some */
    struct early_table global;
    struct outcome outcomes[OUTCOMES_MAX];
    uint32_t outcome_count;
    bool is_unknown, out_of_memory; /* is_unknown: of some reads it is not known what became of them */
    bool is_cut;                    /* a block was */
};

struct reader {
    struct early_reads *reads;
    struct early_table shared; /* of the block: it is over with it */
    uint64_t count;
};

/* ---- the table ----------------------------------------------------------------------------------- */

static uint32_t slot_of(uint64_t word) { return (uint32_t)(word * UINT64_C(0x9e3779b97f4a7c15) >> 32) & (SLOTS - 1); }

static uint64_t thread_of(const simt_event *event, uint32_t lane) {
    const simt_launch_view *view = event->block->launch;
    return event->block->index * view->threads_per_block + (uint64_t)event->warp * view->warp_size + lane;
}

/* NULL: there are enough already, or there is no memory. */
static struct early_read *remember(struct early_table *table, const struct early_read *read) {
    if (!table->slots) table->slots = calloc(SLOTS, sizeof *table->slots);
    table->out_of_memory |= !table->slots;
    table->is_full |= table->taken == READS_MAX;
    if (!table->slots || table->is_full) return NULL;
    uint32_t slot = slot_of(read->word);
    for (; table->slots[slot].is_taken; slot = (slot + 1) % SLOTS)
        if (table->slots[slot].word == read->word && table->slots[slot].pc == read->pc) return &table->slots[slot];
    table->slots[slot] = *read;
    table->taken++;
    return &table->slots[slot];
}

static void note_written(struct early_table *table, uint64_t word, uint64_t thread) {
    for (uint32_t slot = slot_of(word); table->slots[slot].is_taken; slot = (slot + 1) % SLOTS) {
        struct early_read *read = &table->slots[slot];
        if (read->word == word && read->thread != thread) read->is_written = true;
    }
}

static bool is_of_clusters(const simt_event *event) { return event->block->launch->blocks_per_cluster > 1; }

/* One for each byte, of shared memory as all blocks of the cluster know it. */
static uint64_t unique_address(const simt_event *event, enum simt_space space, uint64_t address) {
    enum { CLUSTER_SHIFT = 32 };
    const uint64_t cluster = UINT64_C(1) << 63 | event->block->cluster << CLUSTER_SHIFT;
    if (space != SIMT_SHARED || !is_of_clusters(event)) return address;
    const uint64_t own = (uint64_t)(event->block->rank + 1) << SIMT_RANK_SHIFT;
    return cluster | address | (address >> SIMT_RANK_SHIFT ? 0 : own);
}

static void note_writes(struct early_table *table, const simt_event *event, const simt_access *access) {
    const uint64_t nbytes = (uint64_t)access->element_nbytes * access->elements;
    for (uint32_t lanes = access->lanes; lanes; lanes &= lanes - 1) {
        uint32_t lane = (uint32_t)__builtin_ctz(lanes);
        uint64_t address = unique_address(event, access->space, access->addresses[lane]);
        for (uint64_t word = address >> WORD_SHIFT; word <= (address + nbytes - 1) >> WORD_SHIFT; word++)
            note_written(table, word, thread_of(event, lane));
    }
}

/* A copy's are of an engine, which is none of the threads. */
static void note_copied(struct early_table *table, uint64_t address, uint32_t nbytes) {
    for (uint64_t word = address >> WORD_SHIFT; table->slots && nbytes && word <= (address + nbytes - 1) >> WORD_SHIFT; word++)
        note_written(table, word, UINT64_MAX);
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

static void advise_shared(const simt_event *event, char *text, size_t nbytes) {
    static const char undefined[] = "shared memory is undefined when a block begins";
    uint32_t line;
    char left_out[192] = "";
    if (simt_is_never_stored(event, &line)) {
        snprintf(text, nbytes, "before the atomics, store what it begins with, such as 0, then __syncthreads(); %s", undefined);
        return;
    }
    if (line)
        snprintf(left_out, sizeof left_out,
                 " (line %u stores there, but its condition, a return before it or its index leaves this element out; where there is no element, a "
                 "neutral one, as 0 for a sum)", line);
    snprintf(text, nbytes, "store it first%s, or read an element that was stored; %s", left_out, undefined);
}

/* What is wrong with a read by the instruction of the event. */
static void describe(const simt_event *event, const struct misread *read, char *text, size_t nbytes) {
    static const char advice_global[] = "initialise the buffer, or store to it before reading";
    char advice_shared[320], of_block[48] = "";
    const uint64_t rank = read->is_shared ? read->address >> SIMT_RANK_SHIFT : 0;
    if (read->is_shared) advise_shared(event, advice_shared, sizeof advice_shared);
    if (rank) snprintf(of_block, sizeof of_block, " of the cluster's block %llu", (unsigned long long)rank - 1);
    snprintf(text, nbytes,
             read->is_shared ? "%s %u bytes of %s memory at byte %llu%s, which has not been written: %s"
                             : "%s %u bytes of %s memory at 0x%llx%s, which has not been written: %s",
             read->is_update ? "updates" : "loads", read->nbytes, read->is_shared ? "shared" : "global",
             (unsigned long long)(rank ? read->address & ((1u << SIMT_RANK_SHIFT) - 1) : read->address), of_block,
             read->is_shared ? advice_shared : advice_global);
}

/* ---- what is remembered of it: of shared memory by block, of all other memory by launch */

static uint32_t elements_of(const simt_unwritten *read, uint32_t lane) {
    uint32_t elements = 0;
    for (uint32_t e = 0; e < read->element_count; e++) elements |= (read->elements[e] >> lane & 1) << e;
    return elements;
}

static struct early_read *remember_element(struct early_table *table, const simt_event *event, const simt_unwritten *read, uint32_t lane,
                                           uint64_t address) {
    const struct misread what = {.address = address, .nbytes = read->element_nbytes, .is_shared = read->space == SIMT_SHARED,
                                 .is_update = read->is_update};
    return remember(table, &(struct early_read){.word = unique_address(event, read->space, address) >> WORD_SHIFT,
                                                .thread = thread_of(event, lane),
                                                .user = thread_of(event, lane),
                                                .what = what,
                                                .pc = event->pc,
                                                .is_taken = true});
}

static bool is_of_block(const simt_event *event, enum simt_space space) { return space == SIMT_SHARED && !is_of_clusters(event); }

/* Calls `note` for the table.  Once it is not known what becomes of all of them, nothing is withdrawn, whatever becomes of the rest. */
static void note_reads(struct reader *reader, const simt_event *event, const simt_unwritten *read, uint32_t lanes,
                       void note(struct early_table *, const simt_event *, const simt_unwritten *, uint32_t lanes)) {
    struct early_reads *reads = reader->reads;
    if (is_of_block(event, read->space)) {
        note(&reader->shared, event, read, lanes);
        return;
    }
    if (atomic_load_explicit(&reads->kept, memory_order_relaxed) == NOT_ALL) return;
    pthread_mutex_lock(&reads->lock);
    note(&reads->global, event, read, lanes);
    if (reads->global.slots) atomic_store_explicit(&reads->kept, reads->global.is_full ? NOT_ALL : ALL_OF_SOME, memory_order_relaxed);
    pthread_mutex_unlock(&reads->lock);
}

static void remember_lanes(struct early_table *table, const simt_event *event, const simt_unwritten *read, uint32_t lanes) {
    for (; lanes; lanes &= lanes - 1) {
        const uint32_t lane = (uint32_t)__builtin_ctz(lanes), elements = elements_of(read, lane);
        for (uint32_t left = elements; left; left &= left - 1) {
            const uint32_t element = (uint32_t)__builtin_ctz(left) - (uint32_t)__builtin_ctz(elements); /* from the first one on */
            remember_element(table, event, read, lane, read->addresses[lane] + (uint64_t)element * read->element_nbytes);
        }
    }
}

static void use_lanes(struct early_table *table, const simt_event *event, const simt_unwritten *read, uint32_t lanes) {
    for (; lanes; lanes &= lanes - 1) {
        const uint32_t lane = (uint32_t)__builtin_ctz(lanes);
        struct early_read *early = remember_element(table, event, read, lane, read->addresses[lane]);
        if (!early || early->use) continue;
        early->use = ++table->uses;
        early->user = thread_of(event, lane);
        early->what.address = read->addresses[lane];
    }
}

static void say(const simt_event *event, const simt_unwritten *read, uint32_t lanes) {
    const struct misread what = {.address = read->addresses[__builtin_ctz(lanes)], .nbytes = read->element_nbytes,
                                 .is_shared = read->space == SIMT_SHARED, .is_update = read->is_update};
    char text[MESSAGE_NBYTES];
    describe(event, &what, text, sizeof text);
    simt_record_finding_of_lanes(event, SIMT_FINDING_UNINITIALISED, lanes, what.address, "%s", text);
    note_reads(read->context, event, read, lanes, use_lanes);
}

static void add_lane(simt_unwritten *read, const simt_access *access, uint32_t lane, uint32_t unwritten) {
    read->lanes |= 1u << lane;
    read->addresses[lane] = access->addresses[lane] + (uint64_t)__builtin_ctz(unwritten) * access->element_nbytes;
    for (uint32_t e = 0; e < access->elements; e++) read->elements[e] |= (unwritten >> e & 1) << lane;
}

static void check_reads(struct reader *reader, const simt_event *event, const simt_access *access) {
    simt_unwritten read = {.space = access->space,
                           .is_update = access->kind == SIMT_ATOMIC,
                           .element_nbytes = access->element_nbytes,
                           .element_count = access->elements,
                           .context = reader,
                           .say = say};
    for (uint32_t lanes = access->lanes; lanes; lanes &= lanes - 1) {
        const uint32_t lane = (uint32_t)__builtin_ctz(lanes), unwritten = unwritten_elements(access, lane);
        if (unwritten) add_lane(&read, access, lane, unwritten);
    }
    if (!read.lanes) return;
    simt_follow_unwritten(event, &read);
    for (uint32_t e = 0; e < read.element_count; e++) reader->count += lane_count(read.elements[e]);
    note_reads(reader, event, &read, read.lanes, remember_lanes);
}

static void check_access(void *block, const simt_event *event, const simt_access *access) {
    struct reader *reader = block;
    if ((access->space != SIMT_SHARED && access->space != SIMT_GLOBAL) || !access->lanes) return;
    const bool is_shared = is_of_block(event, access->space);
    if (access->kind != SIMT_STORE && access->initialised) check_reads(reader, event, access);
    if (access->kind == SIMT_LOAD) return;
    if (is_shared && reader->shared.slots) note_writes(&reader->shared, event, access);
    if (is_shared || atomic_load_explicit(&reader->reads->kept, memory_order_relaxed) != ALL_OF_SOME) return;
    pthread_mutex_lock(&reader->reads->lock);
    note_writes(&reader->reads->global, event, access);
    pthread_mutex_unlock(&reader->reads->lock);
}

/* ---- hooks --------------------------------------------------------------------------------------- */

static void check_copy(void *block, const simt_event *event, const simt_copy *copy) {
    struct reader *reader = block;
    if (copy->to.space == SIMT_SHARED && !is_of_clusters(event)) note_copied(&reader->shared, copy->to.address, copy->to.nbytes);
}

static struct outcome *outcome_of(struct early_reads *reads, uint32_t pc) {
    uint32_t i = 0;
    while (i < reads->outcome_count && reads->outcomes[i].pc != pc) i++;
    if (i == OUTCOMES_MAX) return NULL;
    if (i == reads->outcome_count) reads->outcomes[reads->outcome_count++] = (struct outcome){.pc = pc};
    return &reads->outcomes[i];
}

static uint64_t block_of(const struct early_reads *reads, uint64_t thread) { return thread / reads->view->threads_per_block; }

/* Those whose value is used first: of what is handed on in shared memory that is not known of each. */
static bool comes_before(const struct early_reads *reads, const struct early_read *read, const struct early_read *other) {
    if (!read->use != !other->use) return read->use != 0;
    const uint64_t block = block_of(reads, read->user), other_block = block_of(reads, other->user);
    if (block != other_block) return block < other_block;
    return read->use != other->use ? read->use < other->use : read->word < other->word;
}

static void note_outcome(const struct early_reads *reads, struct outcome *outcome, const struct early_read *read, bool is_cut) {
    outcome->is_written |= read->is_written;
    if (read->is_written || is_cut) return;
    if (!outcome->stays || comes_before(reads, read, &outcome->stayed)) outcome->stayed = *read;
    outcome->stays = true;
}

/* Nothing more is accessed there.  is_cut: not because all has run, and what was not written might have been. */
static void conclude(struct early_reads *reads, struct early_table *table, bool is_cut) {
    reads->out_of_memory |= table->out_of_memory;
    reads->is_unknown |= table->is_full;
    for (uint32_t slot = 0; table->slots && slot < SLOTS; slot++) {
        const struct early_read *read = &table->slots[slot];
        struct outcome *outcome = read->is_taken ? outcome_of(reads, read->pc) : NULL;
        reads->is_unknown |= read->is_taken && !outcome;
        if (outcome) note_outcome(reads, outcome, read, is_cut);
    }
    free(table->slots);
    *table = (struct early_table){0};
}

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
    struct early_reads *reads = launch;
    struct reader *reader = block;
    reads->count += reader->count;
    reads->machine = view->machine;
    reads->is_cut |= view->is_cut;
    conclude(reads, &reader->shared, view->is_cut);
}

static bool is_same_line(const simt_place *a, const simt_place *b) {
    return a->line == b->line && !strcmp(a->file, b->file);
}

/* Of what the line has read and nobody else has written, the first; NULL: there is none. */
static const struct early_read *stayed_at(const struct early_reads *reads, const simt_place *place) {
    const struct early_read *first = NULL;
    for (uint32_t i = 0; i < reads->outcome_count; i++) {
        const struct outcome *outcome = &reads->outcomes[i];
        if (!outcome->stays || !is_same_line(&reads->view->places[outcome->pc], place)) continue;
        if (!first || comes_before(reads, &outcome->stayed, first)) first = &outcome->stayed;
    }
    return first;
}

/* The finding's example may have been written after it was read. */
static void show(const struct early_reads *reads, const struct early_read *read) {
    const simt_launch_view *view = reads->view;
    const uint64_t number = block_of(reads, read->user);
    const uint32_t thread = (uint32_t)(read->user % view->threads_per_block), *grid = view->grid;
    const simt_block_view block = {.launch = view,
                                   .machine = reads->machine,
                                   .index = number,
                                   .block = {(uint32_t)(number % grid[0]), (uint32_t)(number / grid[0] % grid[1]),
                                             (uint32_t)(number / grid[0] / grid[1])}};
    const simt_event event = {.block = &block, .warp = thread / view->warp_size, .pc = read->pc};
    char text[MESSAGE_NBYTES];
    describe(&event, &read->what, text, sizeof text);
    simt_show_finding(&event, SIMT_FINDING_UNINITIALISED, thread % view->warp_size, read->what.address, text);
}

static void end_launch(void *launch, simt_report *report) {
    struct early_reads *reads = launch;
    simt_report_add(report, "uninitialised_reads", (double)reads->count);
    conclude(reads, &reads->global, reads->is_cut);
    if (reads->out_of_memory) simt_report_lose(report);
    for (uint32_t i = 0; i < reads->outcome_count && !reads->is_unknown; i++) {
        const struct outcome *outcome = &reads->outcomes[i];
        if (!outcome->is_written) continue;
        const struct early_read *stayed = stayed_at(reads, &reads->view->places[outcome->pc]);
        if (stayed) show(reads, stayed);
        else simt_report_withdraw(report, SIMT_FINDING_UNINITIALISED, outcome->pc);
    }
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
        .copy = check_copy,                                                                                        \
    }

const struct simt_observer simt_observe_uninitialised = OBSERVER;
const struct simt_observer simt_observe_uninitialised_going_on = OBSERVER; /* by its name of before */
