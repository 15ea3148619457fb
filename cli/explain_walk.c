#include "explain_walk.h"

#include <stdlib.h>
#include <string.h>

#include "explain_array.h"

static struct walk_event *add_event(struct walk *walk, enum walk_kind kind, const simt_event *event) {
    struct walk_event *events = array_grow(walk->events, sizeof *walk->events, walk->count + 1,
                                           &walk->capacity, &walk->out_of_memory);
    if (!events) return NULL;
    walk->events = events;
    struct walk_event *added = &events[walk->count++];
    *added = (struct walk_event){.kind = kind};
    if (event) {
        added->warp = event->warp;
        added->pc = event->pc;
        added->active = event->active;
        added->mask = event->mask;
    }
    return added;
}

static uint64_t *add_words(struct walk *walk, struct walk_event *event, size_t count) {
    uint64_t *words = array_grow(walk->words, sizeof *walk->words, walk->word_count + count,
                                 &walk->word_capacity, &walk->out_of_memory);
    if (!words) return NULL;
    walk->words = words;
    event->words = walk->word_count;
    walk->word_count += count;
    return &words[event->words];
}

/* ---- hooks --------------------------------------------------------------------------------------- */

static bool begin_launch(void *launch, const simt_launch_view *view) {
    (void)launch;
    struct walk *walk = view->context;
    walk->launch = *view;
    simt_place *places = realloc(walk->places, (view->place_count + 1) * sizeof *places);
    if (!places) return false;
    if (view->place_count) memcpy(places, view->places, view->place_count * sizeof *places);
    walk->places = places;
    walk->launch.places = places;
    return true;
}

static bool begin_block(void *launch, void *block, const simt_block_view *view) {
    (void)launch;
    *(struct walk **)block = view->launch->context;
    return true;
}

static void record_instruction(void *block, const simt_event *event) {
    add_event(*(struct walk **)block, WALK_INSTRUCTION, event);
}

static void record_branch(void *block, const simt_event *event, uint32_t taken) {
    struct walk_event *added = add_event(*(struct walk **)block, WALK_BRANCH, event);
    if (added) added->taken = taken;
}

static void record_access(void *block, const simt_event *event, const simt_access *access) {
    struct walk *walk = *(struct walk **)block;
    struct walk_event *added = add_event(walk, WALK_ACCESS, event);
    if (!added) return;
    added->mask = access->lanes;
    added->space = access->space;
    added->access = access->kind;
    added->element_nbytes = access->element_nbytes;
    added->elements = access->elements;
    size_t value_count = access->values ? (size_t)access->elements * SIMT_LANES : 0;
    uint64_t *words = add_words(walk, added, SIMT_LANES + value_count);
    if (!words) return;
    memset(words, 0, SIMT_LANES * sizeof *words);
    for (uint32_t rest = access->lanes; rest; rest &= rest - 1) {
        uint32_t lane = (uint32_t)__builtin_ctz(rest);
        words[lane] = access->addresses[lane];
    }
    if (value_count) memcpy(words + SIMT_LANES, access->values, value_count * sizeof *words);
}

static void record_shuffle(void *block, const simt_event *event, const uint8_t *sources) {
    struct walk *walk = *(struct walk **)block;
    struct walk_event *added = add_event(walk, WALK_SHUFFLE, event);
    uint64_t *words = added ? add_words(walk, added, SIMT_LANES) : NULL;
    if (!words) return;
    for (uint32_t lane = 0; lane < SIMT_LANES; lane++)
        words[lane] = event->mask >> lane & 1 ? sources[lane] : lane;
}

static void record_warp_barrier(void *block, const simt_event *event, uint32_t lanes) {
    struct walk_event *added = add_event(*(struct walk **)block, WALK_WARP_BARRIER, event);
    if (added) added->mask = lanes;
}

static void record_barrier(void *block, const simt_block_view *view, uint32_t barrier, uint32_t pc,
                           const uint32_t *lanes) {
    (void)view, (void)barrier, (void)lanes;
    struct walk_event *added = add_event(*(struct walk **)block, WALK_BARRIER, NULL);
    if (added) added->pc = pc;
}

const struct simt_observer walk_observer = {
    .name = "walk",
    .block_nbytes = sizeof(struct walk *),
    .launch_begin = begin_launch,
    .block_begin = begin_block,
    .instruction = record_instruction,
    .branch = record_branch,
    .access = record_access,
    .shuffle = record_shuffle,
    .warp_barrier = record_warp_barrier,
    .barrier = record_barrier,
};

void walk_clear(struct walk *walk) {
    free(walk->places);
    free(walk->events);
    free(walk->words);
    *walk = (struct walk){0};
}

/* ---- reading it ---------------------------------------------------------------------------------- */

const uint64_t *walk_addresses(const struct walk *walk, const struct walk_event *event) {
    return &walk->words[event->words];
}

const uint64_t *walk_values(const struct walk *walk, const struct walk_event *event) {
    return &walk->words[event->words + SIMT_LANES];
}

const uint64_t *walk_sources(const struct walk *walk, const struct walk_event *event) {
    return &walk->words[event->words];
}

bool walk_is_warp_reduction(const struct walk *walk, const struct walk_event *event) {
    return !strncmp(walk->places[event->pc].opcode, "redux.", strlen("redux."));
}

simt_access walk_access(const struct walk *walk, const struct walk_event *event) {
    return (simt_access){.space = event->space,
                         .kind = event->access,
                         .lanes = event->mask,
                         .element_nbytes = event->element_nbytes,
                         .elements = event->elements,
                         .addresses = walk_addresses(walk, event)};
}
