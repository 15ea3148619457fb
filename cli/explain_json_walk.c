/* What the warps did, as JSON: each access with the words or lines that its lanes touch, and what was
 * executed of each line of the source. */
#include <inttypes.h>
#include <stdlib.h>

#include "banks.h"
#include "explain_json.h"
#include "explain_wavefronts.h"
#include "requests.h"

enum { LINE_NBYTES = 128, SECTOR_NBYTES = 32 };

static bool is_memory(const struct walk_event *event) {
    return event->kind == WALK_ACCESS && (event->space == SIMT_GLOBAL || event->space == SIMT_SHARED);
}

static bool belongs(const struct story *story, size_t event, size_t step) {
    const struct phase *phase = &story->phases[event];
    return phase->is_outside ? step == SIZE_MAX : phase->step == step;
}

/* ---- shared memory ------------------------------------------------------------------------------- */

static void put_words(FILE *stream, const simt_access *access, const struct walk *walk) {
    struct wanted wanted[WANTED_MAX];
    uint32_t count = wavefronts_serve(walk, access, wanted);
    fputs(",\"words\":[", stream);
    for (uint32_t i = 0; i < count; i++)
        fprintf(stream, "%s[%" PRIu32 ",%" PRIu64 ",%" PRIu32 "]", i ? "," : "", wanted[i].lane,
                wanted[i].word, wanted[i].wavefront);
    fputc(']', stream);
}

static void put_shared(FILE *stream, const simt_access *access, const struct walk *walk) {
    uint32_t least, wavefronts = simt_wavefronts(access, walk->launch.warp_size, walk->launch.banks, &least);
    fprintf(stream, ",\"space\":\"shared\",\"wavefronts\":%" PRIu32 ",\"least\":%" PRIu32, wavefronts, least);
    put_words(stream, access, walk);
}

/* ---- global memory ------------------------------------------------------------------------------- */

/* Every allocation of the machine begins at a multiple of so many bytes. */
static const uint64_t allocation_nbytes = UINT64_C(1) << 32;

static void put_global(FILE *stream, const simt_access *access, const struct story *story) {
    uint64_t first = access->addresses[__builtin_ctz(access->lanes)];
    bool is_input = first / allocation_nbytes == story->input_address / allocation_nbytes;
    const char *separator = "";
    fprintf(stream,
            ",\"space\":\"global\",\"array\":\"%s\",\"requests\":%" PRIu32 ",\"sectors\":%" PRIu32
            ",\"nbytes\":%" PRIu32 ",\"offsets\":[",
            is_input ? "input" : "output", simt_lines(access, LINE_NBYTES), simt_lines(access, SECTOR_NBYTES),
            access->element_nbytes * access->elements);
    for (uint32_t rest = access->lanes; rest; rest &= rest - 1) {
        fprintf(stream, "%s%" PRIu64, separator, access->addresses[__builtin_ctz(rest)] % allocation_nbytes);
        separator = ",";
    }
    fputc(']', stream);
}

/* ---- accesses ------------------------------------------------------------------------------------ */

static const char *const access_names[] = {
    [SIMT_LOAD] = "load", [SIMT_STORE] = "store", [SIMT_ATOMIC] = "atomic"};

/* Lanes are bits of a mask.  Of an access outside the tree, `after`: the steps that the warp has been
 * through.
 */
static void put_access(FILE *stream, const struct story *story, size_t index) {
    const struct walk_event *event = &story->walk->events[index];
    simt_access access = walk_access(story->walk, event);
    fprintf(stream, "{\"warp\":%" PRIu32 ",\"line\":%" PRIu32 ",\"kind\":\"%s\",\"lanes\":%" PRIu32,
            event->warp, story->lines[event->pc], access_names[event->access], event->mask);
    if (story->phases[index].is_outside) fprintf(stream, ",\"after\":%" PRIu32, story->phases[index].step);
    if (event->space == SIMT_SHARED)
        put_shared(stream, &access, story->walk);
    else
        put_global(stream, &access, story);
    fputc('}', stream);
}

void put_json_accesses(FILE *stream, const struct explanation *explanation, size_t step) {
    const struct story *story = &explanation->story;
    const char *separator = "";
    fputs(",\"accesses\":[", stream);
    for (size_t i = 0; i < story->walk->count; i++) {
        const struct walk_event *event = &story->walk->events[i];
        if (!is_memory(event) || !event->mask || !belongs(story, i, step)) continue;
        fputs(separator, stream);
        put_access(stream, story, i);
        separator = ",";
    }
    fputc(']', stream);
}

/* ---- lines of the source ------------------------------------------------------------------------- */

struct line {
    uint64_t instructions, thread_instructions; /* of warps; of lanes that took part */
    uint64_t divergent_branches, global_requests, shared_wavefronts;
};

static void count_event(const struct story *story, const struct walk_event *event, struct line *line) {
    uint32_t least;
    if (event->kind == WALK_INSTRUCTION) {
        line->instructions++;
        line->thread_instructions += (uint64_t)__builtin_popcount(event->mask);
    }
    line->divergent_branches += story_parts(event);
    if (!is_memory(event)) return;
    simt_access access = walk_access(story->walk, event);
    if (event->space == SIMT_GLOBAL)
        line->global_requests += simt_lines(&access, LINE_NBYTES);
    else
        line->shared_wavefronts +=
            simt_wavefronts(&access, story->walk->launch.warp_size, story->walk->launch.banks, &least);
}

static uint32_t last_line(const struct story *story) {
    uint32_t last = 0;
    for (uint32_t pc = 0; pc < story->walk->launch.place_count; pc++)
        if (story->lines[pc] > last) last = story->lines[pc];
    return last;
}

bool put_json_lines(FILE *stream, const struct explanation *explanation, size_t step) {
    const struct story *story = &explanation->story;
    uint32_t last = last_line(story);
    struct line *lines = calloc((size_t)last + 1, sizeof *lines);
    const char *separator = "";
    if (!lines) return false;
    for (size_t i = 0; i < story->walk->count; i++) {
        const struct walk_event *event = &story->walk->events[i];
        if (event->kind != WALK_BARRIER && belongs(story, i, step))
            count_event(story, event, &lines[story->lines[event->pc]]);
    }
    fputs(",\"lines\":[", stream);
    for (uint32_t number = 1; number <= last; number++) {
        const struct line *line = &lines[number];
        if (!line->instructions) continue;
        fprintf(stream,
                "%s{\"line\":%" PRIu32 ",\"instructions\":%" PRIu64 ",\"thread_instructions\":%" PRIu64
                ",\"divergent_branches\":%" PRIu64 ",\"global_requests\":%" PRIu64
                ",\"shared_wavefronts\":%" PRIu64 "}",
                separator, number, line->instructions, line->thread_instructions, line->divergent_branches,
                line->global_requests, line->shared_wavefronts);
        separator = ",";
    }
    fputc(']', stream);
    free(lines);
    return true;
}
