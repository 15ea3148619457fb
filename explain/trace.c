#include "trace.h"

#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "observe/observe.h"

/* NULL: no memory, or not a trace's block. */
static struct trace_event *add_event(struct trace *trace, enum trace_kind kind, const simt_event *event) {
    if (!trace) return NULL;
    struct trace_event *events = array_grow(trace->events, sizeof *trace->events, trace->count + 1,
                                            &trace->capacity, &trace->out_of_memory);
    if (!events) return NULL;
    trace->events = events;
    struct trace_event *added = &events[trace->count++];
    *added = (struct trace_event){.kind = kind};
    if (event) {
        added->warp = event->warp;
        added->pc = event->pc;
        added->active = event->active;
        added->mask = event->mask;
    }
    return added;
}

static uint64_t *add_words(struct trace *trace, struct trace_event *event, size_t count) {
    uint64_t *words = array_grow(trace->words, sizeof *trace->words, trace->word_count + count,
                                 &trace->word_capacity, &trace->out_of_memory);
    if (!words) return NULL;
    trace->words = words;
    event->words = trace->word_count;
    trace->word_count += count;
    return &words[event->words];
}

/* ---- hooks --------------------------------------------------------------------------------------- */

static bool begin_launch(void *launch, const simt_launch_view *view) {
    (void)launch;
    struct trace *trace = view->context;
    trace->launch = *view;
    simt_place *places = realloc(trace->places, (view->place_count + 1) * sizeof *places);
    if (!places) return false;
    if (view->place_count) memcpy(places, view->places, view->place_count * sizeof *places);
    trace->places = places;
    trace->launch.places = places;
    return true;
}

static bool begin_block(void *launch, void *block, const simt_block_view *view) {
    (void)launch;
    *(struct trace **)block = view->index == 0 ? view->launch->context : NULL;
    return true;
}

static void record_instruction(void *block, const simt_event *event) {
    add_event(*(struct trace **)block, TRACE_INSTRUCTION, event);
}

static void record_branch(void *block, const simt_event *event, uint32_t taken) {
    struct trace_event *added = add_event(*(struct trace **)block, TRACE_BRANCH, event);
    if (added) added->taken = taken;
}

static void record_access(void *block, const simt_event *event, const simt_access *access) {
    struct trace *trace = *(struct trace **)block;
    struct trace_event *added = add_event(trace, TRACE_ACCESS, event);
    if (!added) return;
    added->mask = access->lanes;
    added->space = access->space;
    added->access = access->kind;
    added->element_nbytes = access->element_nbytes;
    added->elements = access->elements;
    size_t value_count = access->values ? (size_t)access->elements * SIMT_LANES : 0;
    uint64_t *words = add_words(trace, added, SIMT_LANES + value_count);
    if (!words) return;
    memset(words, 0, SIMT_LANES * sizeof *words);
    for (uint32_t rest = access->lanes; rest; rest &= rest - 1) {
        uint32_t lane = (uint32_t)__builtin_ctz(rest);
        words[lane] = access->addresses[lane];
    }
    if (value_count) memcpy(words + SIMT_LANES, access->values, value_count * sizeof *words);
}

/* Records a copy from global memory into this block's own shared memory; others are not followed. */
static void record_copy(void *block, const simt_event *event, const simt_copy *copy) {
    struct trace *trace = *(struct trace **)block;
    if (copy->from.space != SIMT_GLOBAL || copy->to.space != SIMT_SHARED || copy->is_reduction) return;
    struct trace_event *added = add_event(trace, TRACE_COPY, event);
    uint64_t *words = added ? add_words(trace, added, 3) : NULL;
    if (!words) return;
    added->mask = UINT32_C(1) << copy->lane;
    words[0] = copy->from.address;
    words[1] = copy->to.address & ((UINT64_C(1) << SIMT_RANK_SHIFT) - 1);
    words[2] = copy->from.nbytes;
}

static void record_shuffle(void *block, const simt_event *event, const uint8_t *sources) {
    struct trace *trace = *(struct trace **)block;
    struct trace_event *added = add_event(trace, TRACE_SHUFFLE, event);
    uint64_t *words = added ? add_words(trace, added, SIMT_LANES) : NULL;
    if (!words) return;
    for (uint32_t lane = 0; lane < SIMT_LANES; lane++)
        words[lane] = event->mask >> lane & 1 ? sources[lane] : lane;
}

static void record_warp_barrier(void *block, const simt_event *event, uint32_t lanes) {
    struct trace_event *added = add_event(*(struct trace **)block, TRACE_WARP_BARRIER, event);
    if (added) added->mask = lanes;
}

static void record_barrier(void *block, const simt_block_view *view, uint32_t barrier, uint32_t pc,
                           const uint32_t *lanes) {
    (void)view, (void)barrier, (void)lanes;
    struct trace_event *added = add_event(*(struct trace **)block, TRACE_BARRIER, NULL);
    if (added) added->pc = pc;
}

const struct simt_observer trace_observer = {
    .name = "trace",
    .block_nbytes = sizeof(struct trace *),
    .launch_begin = begin_launch,
    .block_begin = begin_block,
    .instruction = record_instruction,
    .branch = record_branch,
    .access = record_access,
    .shuffle = record_shuffle,
    .warp_barrier = record_warp_barrier,
    .barrier = record_barrier,
    .copy = record_copy,
};

void trace_clear(struct trace *trace) {
    free(trace->places);
    free(trace->events);
    free(trace->words);
    *trace = (struct trace){0};
}

/* ---- reading it ---------------------------------------------------------------------------------- */

const uint64_t *trace_addresses(const struct trace *trace, const struct trace_event *event) {
    return &trace->words[event->words];
}

const uint64_t *trace_values(const struct trace *trace, const struct trace_event *event) {
    return &trace->words[event->words + SIMT_LANES];
}

const uint64_t *trace_sources(const struct trace *trace, const struct trace_event *event) {
    return &trace->words[event->words];
}

struct trace_copy trace_copied(const struct trace *trace, const struct trace_event *event) {
    const uint64_t *words = &trace->words[event->words];
    return (struct trace_copy){words[0], words[1], words[2]};
}

bool trace_is_warp_reduction(const struct trace *trace, const struct trace_event *event) {
    return !strncmp(trace->places[event->pc].opcode, "redux.", strlen("redux."));
}

bool trace_diverges(const struct trace_event *event) {
    return event->kind == TRACE_BRANCH && event->taken && event->taken != event->active;
}

bool trace_is_memory(const struct trace_event *event) {
    return event->kind == TRACE_ACCESS && (event->space == SIMT_GLOBAL || event->space == SIMT_SHARED);
}

/* ---- accesses ------------------------------------------------------------------------------------ */

static simt_access access_of(const struct trace *trace, const struct trace_event *event) {
    return (simt_access){.space = event->space,
                         .kind = event->access,
                         .lanes = event->mask,
                         .element_nbytes = event->element_nbytes,
                         .elements = event->elements,
                         .addresses = trace_addresses(trace, event)};
}

uint32_t trace_lines(const struct trace *trace, const struct trace_event *event, uint32_t line_nbytes) {
    simt_access access = access_of(trace, event);
    return simt_lines(&access, line_nbytes);
}

uint32_t trace_wavefronts(const struct trace *trace, const struct trace_event *event, uint32_t *least) {
    simt_access access = access_of(trace, event);
    return simt_wavefronts(&access, trace->launch.warp_size, trace->launch.banks, least);
}

enum { WORD_NBYTES = 4 };

/* Each bank gives one of its words in each wavefront: words wait for each other in the order of the lanes. */
static uint32_t wavefront_of(const struct trace_word *served, uint32_t count, uint64_t word, uint32_t banks) {
    uint32_t wavefront = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (served[i].word == word) return served[i].wavefront;
        if (served[i].word % banks == word % banks && served[i].wavefront >= wavefront)
            wavefront = served[i].wavefront + 1;
    }
    return wavefront;
}

/* Finds the words of lanes that are served together, with their wavefronts. */
static uint32_t serve_lanes(const simt_access *access, uint32_t lanes, uint32_t banks,
                            struct trace_word *words, uint32_t capacity) {
    uint32_t count = 0;
    for (; lanes; lanes &= lanes - 1) {
        uint32_t lane = (uint32_t)__builtin_ctz(lanes);
        uint64_t first = access->addresses[lane];
        uint64_t last = (first + (uint64_t)access->element_nbytes * access->elements - 1) / WORD_NBYTES;
        for (uint64_t word = first / WORD_NBYTES; word <= last && count < capacity; word++, count++)
            words[count] = (struct trace_word){lane, wavefront_of(words, count, word, banks), word};
    }
    return count;
}

uint32_t trace_words(const struct trace *trace, const struct trace_event *event,
                     struct trace_word words[TRACE_WORDS_MAX]) {
    const simt_access access = access_of(trace, event);
    uint32_t warp_size = trace->launch.warp_size, banks = trace->launch.banks, count = 0, past = 0;
    uint32_t together = simt_lanes_together(access.element_nbytes * access.elements, warp_size, banks);
    uint32_t group = UINT32_MAX >> (SIMT_LANES - together);
    for (uint32_t first = 0; first < warp_size; first += together) {
        uint32_t next = past;
        uint32_t added = serve_lanes(&access, access.lanes & group << first, banks, &words[count],
                                     TRACE_WORDS_MAX - count);
        for (uint32_t i = count; i < count + added; i++) {
            words[i].wavefront += past;
            if (words[i].wavefront >= next) next = words[i].wavefront + 1;
        }
        count += added;
        past = next;
    }
    return count;
}
