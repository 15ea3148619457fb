#include "effects.h"

#include <stdlib.h>
#include <string.h>

#include "access.h"
#include "element.h"

/* ---- ranges of bytes */

enum { RANGES_MAX = 1 << 16 };

/* The first that does not end before the address. */
static uint32_t find(const struct ranges *ranges, uintptr_t address) {
    uint32_t low = 0, high = ranges->count;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (ranges->items[middle].end < address) low = middle + 1;
        else high = middle;
    }
    return low;
}

static bool grow(struct ranges *ranges) {
    if (ranges->count < ranges->capacity) return true;
    const uint32_t capacity = ranges->capacity ? 2 * ranges->capacity : 32;
    struct range *items = capacity > RANGES_MAX ? NULL : realloc(ranges->items, capacity * sizeof *items);
    ranges->is_lost |= !items;
    if (!items) return false;
    ranges->items = items;
    ranges->capacity = capacity;
    return true;
}

static void add(struct ranges *ranges, struct range range) {
    uint32_t at = find(ranges, range.begin), end = at;
    while (end < ranges->count && ranges->items[end].begin <= range.end) end++;
    if (at == end && !grow(ranges)) return;
    struct range *items = ranges->items;
    if (at < end) {
        if (items[at].begin < range.begin) range.begin = items[at].begin;
        if (items[end - 1].end > range.end) range.end = items[end - 1].end;
    }
    memmove(items + at + 1, items + end, (ranges->count - end) * sizeof *items);
    ranges->count = ranges->count - (end - at) + 1;
    items[at] = range;
}

static void add_all(struct ranges *ranges, const struct ranges *others) {
    for (uint32_t i = 0; i < others->count; i++) add(ranges, others->items[i]);
    ranges->is_lost |= others->is_lost;
}

/* The range of the first bytes that the address may be in; NULL: there is none. */
static const struct range *from(const struct ranges *ranges, uintptr_t address) {
    const uint32_t at = find(ranges, address + 1);
    return at < ranges->count ? &ranges->items[at] : NULL;
}

static bool meets(const struct ranges *ranges, struct range range) {
    const struct range *next = from(ranges, range.begin);
    return next && next->begin < range.end;
}

static bool contains(const struct ranges *ranges, struct range range) {
    const struct range *next = from(ranges, range.begin);
    return next && next->begin <= range.begin && next->end >= range.end;
}

bool simt_ranges_meet(const struct ranges *a, const struct ranges *b) {
    for (uint32_t i = 0; i < a->count; i++)
        if (meets(b, a->items[i])) return true;
    return false;
}

void simt_ranges_clear(struct ranges *ranges) {
    free(ranges->items);
    *ranges = (struct ranges){0};
}

/* ---- accesses */

static struct range range_of(const struct request *request, uint32_t lane) {
    const uintptr_t begin = (uintptr_t)simt_request_host(request, lane);
    return (struct range){begin, begin + request->nbytes};
}

static void add_lanes(struct ranges *ranges, const struct request *request) {
    SIMT_FOR_EACH_LANE (lane, request->lanes) add(ranges, range_of(request, lane));
}

static bool contains_lanes(const struct ranges *ranges, const struct request *request) {
    if (!ranges->count) return !request->lanes; /* mostly */
    bool is_contained = true;
    SIMT_FOR_EACH_LANE (lane, request->lanes) is_contained &= contains(ranges, range_of(request, lane));
    return is_contained;
}

static bool meets_lanes(const struct ranges *ranges, const struct request *request) {
    bool is_met = false;
    SIMT_FOR_EACH_LANE (lane, request->lanes) is_met |= meets(ranges, range_of(request, lane));
    return is_met;
}

/* Whether memory holds what is to be stored there. */
static bool changes_nothing(const struct request *request) {
    const struct vector_code *vector = &request->code->memory.vector;
    SIMT_FOR_EACH_LANE (lane, request->lanes)
        for (uint32_t e = 0; e < vector->count; e++) {
            const unsigned char *host = simt_request_host(request, lane) + e * vector->element_nbytes;
            if (element_load(host, vector->element_nbytes) != request->values[e * SIMT_LANES + lane]) return false;
        }
    return true;
}

/* The marks of the instruction; NULL: nothing is known of it.  In what the function calls all decides. */
static unsigned char *marks_of(struct recording *recording, const struct path *path) {
    if (!recording || !recording->marks) return NULL;
    recording->called = MARK_DECIDES | MARK_IS_VALUED;
    if (path->frame->depth > recording->depth) return &recording->called;
    return path->frame->function == recording->function ? &recording->marks[path->pc - recording->function->begin] : NULL;
}

static void note_change(struct warp *warp, const struct request *request, bool is_plain, bool is_still) {
    struct recording *recording = warp->recording;
    const bool is_harmless = is_still || (is_plain && contains_lanes(&warp->harmless, request));
    if (is_plain && recording) {
        add_lanes(&recording->writes, request);
        recording->has_new |= !is_harmless;
    } else if (!is_harmless) {
        struct recording *witness = warp->block->witness;
        warp->block->changes++;
        if (!is_plain || !witness) return;
        add_lanes(&witness->others, request);
        witness->changes++;
    }
}

/* Only of loads, stores and atomics are all operands known. */
static void note_store(struct warp *warp, const struct path *path, const struct request *request) {
    const bool is_plain = request->values && simt_is_base(request->code->instruction, "st");
    struct recording *recording = warp->recording;
    unsigned char *marks = marks_of(recording, path);
    const bool is_own = request->space != SIMT_GLOBAL || warp->block->launch->is_alone; /* no other host thread's, too */
    const bool is_same = is_plain && changes_nothing(request), is_still = is_same && is_own;
    warp->block->is_still_alone |= recording && is_same && !is_own;
    if (is_still && marks && *marks & MARK_IS_VALUED) return;
    if (is_plain && marks && meets_lanes(&recording->reads, request)) *marks |= MARK_IS_VALUED;
    note_change(warp, request, is_plain, is_still);
}

void simt_effects_open(struct warp *warp, const struct path *path, const struct request *request) {
    const unsigned char *marks = marks_of(warp->recording, path);
    if (request->kind == SIMT_STORE) note_store(warp, path, request);
    else if (marks && *marks & MARK_DECIDES) {
        struct recording *recording = warp->recording;
        add_lanes(&recording->reads, request);
        if (request->space == SIMT_GLOBAL && !recording->waits_for)
            recording->waits_for = request->addresses[first_lane(request->lanes)];
    }
}

/* One whose result decides changes nothing in later rounds, either, if it has not now: its operands decide, too. */
void simt_effects_of_atomic(struct warp *warp, const struct path *path, const struct request *request) {
    const unsigned char *marks = marks_of(warp->recording, path);
    if (request->has_changed || (marks && !(*marks & MARK_DECIDES))) note_change(warp, request, true, !request->has_changed);
}

/* ---- of all loops together */

bool simt_effects_accept(struct warp *warp, struct recording *recording) {
    struct launch *launch = warp->block->launch;
    struct loops *loops = &launch->loops;
    pthread_mutex_lock(&launch->lock);
    bool is_accepted = !recording->reads.is_lost && !recording->writes.is_lost &&
                       !recording->others.is_lost && !loops->reads.is_lost &&
                       !loops->writes.is_lost && !simt_ranges_meet(&recording->reads, &recording->writes) &&
                       !simt_ranges_meet(&recording->reads, &recording->others) &&
                       !simt_ranges_meet(&recording->reads, &loops->writes) &&
                       !simt_ranges_meet(&loops->reads, &recording->writes);
    if (is_accepted) {
        add_all(&loops->reads, &recording->reads);
        add_all(&loops->writes, &recording->writes);
        is_accepted = !loops->reads.is_lost && !loops->writes.is_lost;
    }
    pthread_mutex_unlock(&launch->lock);
    if (is_accepted) {
        simt_ranges_clear(&warp->harmless);
        warp->harmless = recording->writes;
        warp->waits_for = recording->waits_for;
        recording->writes = (struct ranges){0};
    } else warp->block->changes += recording->has_new;
    return is_accepted;
}
