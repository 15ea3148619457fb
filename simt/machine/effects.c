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

static bool contains_all(const struct ranges *ranges, const struct ranges *others) {
    bool are_contained = true;
    for (uint32_t i = 0; i < others->count; i++) are_contained &= contains(ranges, others->items[i]);
    return are_contained;
}

/* ---- what was overwritten */

enum { OVERWRITTEN_BITS = 13, OVERWRITTEN_SIZE = 1 << OVERWRITTEN_BITS, OVERWRITTEN_MAX = OVERWRITTEN_SIZE / 2 };

void simt_effects_forget(struct recording *recording) {
    free(recording->overwritten.bytes);
    recording->overwritten = (struct overwritten){.count = 0};
}

void simt_effects_keep(struct recording *recording) {
    simt_effects_forget(recording);
    recording->overwritten.is_kept = true;
}

bool simt_effects_are_undone(const struct recording *recording) {
    return !recording->overwritten.is_lost && !recording->overwritten.changed;
}

static bool has_table(struct overwritten *overwritten) {
    if (!overwritten->is_kept || overwritten->is_lost) return false;
    if (!overwritten->bytes) overwritten->bytes = calloc(OVERWRITTEN_SIZE, sizeof *overwritten->bytes);
    overwritten->is_lost = !overwritten->bytes;
    return !overwritten->is_lost;
}

/* The byte's, or a free one; NULL: no room. */
static struct overwritten_byte *overwritten_byte(struct overwritten *overwritten, uintptr_t address) {
    uint32_t at = (uint32_t)((uint64_t)address * UINT64_C(0x9e3779b97f4a7c15) >> (64 - OVERWRITTEN_BITS));
    if (!has_table(overwritten)) return NULL;
    while (overwritten->bytes[at].address && overwritten->bytes[at].address != address) at = (at + 1) % OVERWRITTEN_SIZE;
    overwritten->is_lost = !overwritten->bytes[at].address && overwritten->count == OVERWRITTEN_MAX;
    return overwritten->is_lost ? NULL : &overwritten->bytes[at];
}

static void overwrite(struct overwritten *overwritten, const unsigned char *host, unsigned char before, unsigned char now) {
    struct overwritten_byte *byte = overwritten_byte(overwritten, (uintptr_t)host);
    if (!byte) return;
    if (!byte->address) {
        *byte = (struct overwritten_byte){(uintptr_t)host, before, before};
        overwritten->count++;
    }
    overwritten->changed -= byte->now != byte->before;
    byte->now = now;
    overwritten->changed += byte->now != byte->before;
}

/* ---- accesses */

static struct range range_of(const struct request *request, uint32_t lane) {
    const uintptr_t begin = (uintptr_t)simt_request_host(request, lane);
    return (struct range){begin, begin + request->nbytes};
}

/* The bytes of one lane after another without a gap, as neighbours mostly have them, are one range.  Takes its lanes from *lanes. */
static struct range next_range(const struct request *request, uint32_t *lanes) {
    struct range range = range_of(request, first_lane(*lanes));
    for (*lanes &= *lanes - 1; *lanes; *lanes &= *lanes - 1) {
        const struct range next = range_of(request, first_lane(*lanes));
        if (next.begin != range.end && next.end != range.end) break;
        range.end = next.end;
    }
    return range;
}

static void add_lanes(struct ranges *ranges, const struct request *request) {
    for (uint32_t lanes = request->lanes; lanes;) add(ranges, next_range(request, &lanes));
}

static bool contains_lanes(const struct ranges *ranges, const struct request *request) {
    if (!ranges->count) return !request->lanes; /* mostly */
    bool is_contained = true;
    for (uint32_t lanes = request->lanes; lanes && is_contained;) is_contained = contains(ranges, next_range(request, &lanes));
    return is_contained;
}

static bool meets_lanes(const struct ranges *ranges, const struct request *request) {
    bool is_met = false;
    for (uint32_t lanes = request->lanes; lanes && !is_met;) is_met = meets(ranges, next_range(request, &lanes));
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
        if (!is_plain || !witness || witness->warp == warp) return;
        add_lanes(&witness->others, request);
        witness->changes++;
    }
}

/* Where it is read what decides, what is written there decides, too. */
static void find_valued(struct recording *recording, unsigned char *marks, const struct request *request) {
    if (*marks & MARK_IS_VALUED || !meets_lanes(&recording->reads, request)) return;
    *marks |= MARK_IS_VALUED;
    recording->has_learnt = true;
}

/* Later lanes come later where several store to one place. */
static void overwrite_by_store(struct overwritten *overwritten, const struct request *request) {
    const struct vector_code *vector = &request->code->memory.vector;
    SIMT_FOR_EACH_LANE (lane, request->lanes) {
        const unsigned char *host = simt_request_host(request, lane);
        for (uint32_t b = 0; b < request->nbytes; b++) {
            const uint64_t value = request->values[b / vector->element_nbytes * SIMT_LANES + lane];
            overwrite(overwritten, host + b, host[b], (unsigned char)(value >> 8 * (b % vector->element_nbytes)));
        }
    }
}

/* As atomics change it: called before and after. */
static void overwrite_by_what_is_there(struct overwritten *overwritten, const struct request *request) {
    SIMT_FOR_EACH_LANE (lane, request->lanes) {
        const unsigned char *host = simt_request_host(request, lane);
        for (uint32_t b = 0; b < request->nbytes; b++) overwrite(overwritten, host + b, host[b], host[b]);
    }
}

/* Only of loads, stores and atomics are all operands known. */
static void note_store(struct warp *warp, const struct path *path, const struct request *request) {
    const bool is_plain = request->values && simt_is_base(request->code->instruction, "st");
    struct recording *recording = warp->recording;
    unsigned char *marks = marks_of(recording, path);
    const bool is_own = request->space != SIMT_GLOBAL || warp->block->launch->is_alone; /* no other host thread's, too */
    const bool is_same = is_plain && (is_own || recording) && changes_nothing(request), is_still = is_same && is_own;
    warp->block->is_still_alone |= recording && is_same && !is_own;
    if (is_still && marks && *marks & MARK_IS_VALUED) return;
    if (is_plain && marks) {
        find_valued(recording, marks, request);
        overwrite_by_store(&recording->overwritten, request);
    }
    note_change(warp, request, is_plain, is_still);
}

void simt_effects_open(struct warp *warp, const struct path *path, const struct request *request) {
    struct recording *recording = warp->recording;
    unsigned char *marks = marks_of(recording, path);
    if (request->kind == SIMT_STORE) note_store(warp, path, request);
    else if (marks && *marks & MARK_DECIDES) {
        recording->has_learnt |= !contains_lanes(&recording->reads, request);
        add_lanes(&recording->reads, request);
        if (request->space == SIMT_GLOBAL && !recording->waits_for)
            recording->waits_for = request->addresses[first_lane(request->lanes)];
    }
    if (request->kind == SIMT_ATOMIC && marks) {
        find_valued(recording, marks, request);
        overwrite_by_what_is_there(&recording->overwritten, request);
    }
}

/* One whose result decides changes nothing in later rounds, either, if it has not now: its operands decide, too. */
void simt_effects_of_atomic(struct warp *warp, const struct path *path, const struct request *request) {
    const unsigned char *marks = marks_of(warp->recording, path);
    if (marks) overwrite_by_what_is_there(&warp->recording->overwritten, request);
    if (request->has_changed || (marks && !(*marks & MARK_DECIDES))) note_change(warp, request, true, !request->has_changed);
}

/* ---- of all loops together */

static bool is_whole(const struct recording *recording) {
    return !recording->reads.is_lost && !recording->writes.is_lost && !recording->others.is_lost;
}

/* As one of the same warp whose accesses are among those of all loops since. */
static bool was_accepted(const struct warp *warp, const struct recording *recording) {
    return contains_all(&warp->deciding, &recording->reads) && contains_all(&warp->harmless, &recording->writes);
}

static bool meets_loops(const struct loops *loops, const struct recording *recording) {
    return simt_ranges_meet(&recording->reads, &loops->writes) || simt_ranges_meet(&loops->reads, &recording->writes);
}

bool simt_effects_accept(struct warp *warp, struct recording *recording) {
    struct launch *launch = warp->block->launch;
    struct loops *loops = &launch->loops;
    pthread_mutex_lock(&launch->lock);
    bool is_accepted = is_whole(recording) && !loops->reads.is_lost && !loops->writes.is_lost &&
                       (recording->is_undone || !simt_ranges_meet(&recording->reads, &recording->writes)) &&
                       !simt_ranges_meet(&recording->reads, &recording->others) &&
                       (was_accepted(warp, recording) || !meets_loops(loops, recording));
    if (is_accepted) {
        add_all(&loops->reads, &recording->reads);
        add_all(&loops->writes, &recording->writes);
        is_accepted = !loops->reads.is_lost && !loops->writes.is_lost;
    }
    pthread_mutex_unlock(&launch->lock);
    if (is_accepted) {
        simt_ranges_clear(&warp->harmless);
        simt_ranges_clear(&warp->deciding);
        warp->harmless = recording->writes;
        warp->deciding = recording->reads;
        warp->waits_for = recording->waits_for;
        warp->undoes_changes = recording->is_undone;
        recording->reads = recording->writes = (struct ranges){0};
    } else warp->block->changes += recording->has_new;
    return is_accepted;
}
