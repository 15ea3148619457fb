/* The banks of shared memory, drawn: a column for each, and a row for each wavefront with the lanes that it
 * serves. */
#include <inttypes.h>
#include <string.h>

#include "banks.h"
#include "explain.h"
#include "explain_wavefronts.h"

enum { ROWS_SHOWN = 8, LABEL_WIDTH = 12, LANE_WIDTH = 3 };

static const char *const access_names[] = {
    [SIMT_LOAD] = "load", [SIMT_STORE] = "store", [SIMT_ATOMIC] = "atomic operation"};

/* The access with the step's worst conflict, or else its first one; SIZE_MAX: none touches shared memory. */
static size_t choose_access(const struct story *story, size_t index) {
    if (story->steps[index].worst != SIZE_MAX) return story->steps[index].worst;
    for (size_t i = 0; i < story->walk->count; i++) {
        const struct walk_event *event = &story->walk->events[i];
        bool is_shared = event->kind == WALK_ACCESS && event->space == SIMT_SHARED && event->mask;
        if (is_shared && !story->phases[i].is_outside && story->phases[i].step == index) return i;
    }
    return SIZE_MAX;
}

/* The first of the lanes that want a word of the bank in the wavefront, and how many want it; 0: nobody. */
static uint32_t find_lanes(const struct wanted *wanted, uint32_t count, uint32_t banks, uint32_t wavefront,
                           uint32_t bank, uint32_t *first) {
    uint32_t lanes = 0;
    for (uint32_t i = 0; i < count; i++)
        if (wanted[i].wavefront == wavefront && wanted[i].word % banks == bank && lanes++ == 0)
            *first = wanted[i].lane;
    return lanes;
}

static void put_row(FILE *stream, const struct wanted *wanted, uint32_t count, uint32_t banks,
                    uint32_t wavefront) {
    fprintf(stream, "  wavefront %-*" PRIu32, LABEL_WIDTH - 10, wavefront + 1);
    for (uint32_t bank = 0; bank < banks; bank++) {
        uint32_t lane = 0, lanes = find_lanes(wanted, count, banks, wavefront, bank, &lane);
        if (lanes == 0)
            fprintf(stream, "%*s", LANE_WIDTH, ".");
        else if (lanes == 1)
            fprintf(stream, "%*" PRIu32, LANE_WIDTH, lane);
        else
            fprintf(stream, "%*s", LANE_WIDTH, "*");
    }
    fputc('\n', stream);
}

static void put_rows(FILE *stream, const struct walk *walk, const simt_access *access, uint32_t wavefronts) {
    struct wanted wanted[WANTED_MAX];
    uint32_t count = wavefronts_serve(walk, access, wanted), banks = walk->launch.banks;
    uint32_t shown = wavefronts < ROWS_SHOWN ? wavefronts : ROWS_SHOWN;
    fprintf(stream, "  %-*s", LABEL_WIDTH, "bank");
    for (uint32_t bank = 0; bank < banks; bank++) fprintf(stream, "%*" PRIu32, LANE_WIDTH, bank);
    fputc('\n', stream);
    for (uint32_t wavefront = 0; wavefront < shown; wavefront++)
        put_row(stream, wanted, count, banks, wavefront);
    if (wavefronts > shown) fprintf(stream, "  ... %" PRIu32 " wavefronts more\n", wavefronts - shown);
}

void put_banks(FILE *stream, const struct explanation *explanation, size_t index, const char *colour,
               const char *plain) {
    const struct story *story = &explanation->story;
    size_t chosen = choose_access(story, index);
    if (chosen == SIZE_MAX) return;
    const struct walk_event *event = &story->walk->events[chosen];
    const simt_access access = walk_access(story->walk, event);
    const simt_launch_view *launch = &story->walk->launch;
    uint32_t least, wavefronts = simt_wavefronts(&access, launch->warp_size, launch->banks, &least);
    bool is_conflict = wavefronts > least;
    fprintf(stream,
            "  lanes of warp %" PRIu32 " at the banks, %s of line %" PRIu32 ": %s%" PRIu32 " wavefront%s%s\n",
            event->warp, access_names[event->access], story->lines[event->pc], is_conflict ? colour : "",
            wavefronts, wavefronts == 1 ? "" : "s", is_conflict ? plain : "");
    put_rows(stream, story->walk, &access, wavefronts);
}
