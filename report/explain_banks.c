/* The banks of shared memory, drawn: a column for each, and a row for each wavefront with the lanes that it
 * serves. */
#include <inttypes.h>

#include "explain_words.h"

enum { ROWS_SHOWN = 8, LABEL_WIDTH = 12, LANE_WIDTH = 3 };

static const char *const access_names[] = {
    [SIMT_LOAD] = "load", [SIMT_STORE] = "store", [SIMT_ATOMIC] = "atomic operation"};

/* The access with the step's worst conflict, or else its first one; SIZE_MAX: none touches shared memory. */
static size_t choose_access(const struct timeline *timeline, size_t index) {
    if (timeline->steps[index].worst != SIZE_MAX) return timeline->steps[index].worst;
    for (size_t i = 0; i < timeline->trace->count; i++) {
        const struct trace_event *event = &timeline->trace->events[i];
        bool is_shared = event->kind == TRACE_ACCESS && event->space == SIMT_SHARED && event->mask;
        if (is_shared && !timeline->phases[i].is_outside && timeline->phases[i].step == index) return i;
    }
    return SIZE_MAX;
}

/* The first of the lanes that want a word of the bank in the wavefront, and how many want it; 0: nobody. */
static uint32_t find_lanes(const struct trace_word *words, uint32_t count, uint32_t banks, uint32_t wavefront,
                           uint32_t bank, uint32_t *first) {
    uint32_t lanes = 0;
    for (uint32_t i = 0; i < count; i++)
        if (words[i].wavefront == wavefront && words[i].word % banks == bank && lanes++ == 0)
            *first = words[i].lane;
    return lanes;
}

static void put_row(FILE *stream, const struct trace_word *words, uint32_t count, uint32_t banks,
                    uint32_t wavefront) {
    fprintf(stream, "  wavefront %-*" PRIu32, LABEL_WIDTH - 10, wavefront + 1);
    for (uint32_t bank = 0; bank < banks; bank++) {
        uint32_t lane = 0, lanes = find_lanes(words, count, banks, wavefront, bank, &lane);
        if (lanes == 0)
            fprintf(stream, "%*s", LANE_WIDTH, ".");
        else if (lanes == 1)
            fprintf(stream, "%*" PRIu32, LANE_WIDTH, lane);
        else
            fprintf(stream, "%*s", LANE_WIDTH, "*");
    }
    fputc('\n', stream);
}

static void put_rows(FILE *stream, const struct trace *trace, const struct trace_event *event,
                     uint32_t wavefronts) {
    struct trace_word words[TRACE_WORDS_MAX];
    uint32_t count = trace_words(trace, event, words), banks = trace->launch.banks;
    uint32_t shown = wavefronts < ROWS_SHOWN ? wavefronts : ROWS_SHOWN;
    fprintf(stream, "  %-*s", LABEL_WIDTH, "bank");
    for (uint32_t bank = 0; bank < banks; bank++) fprintf(stream, "%*" PRIu32, LANE_WIDTH, bank);
    fputc('\n', stream);
    for (uint32_t wavefront = 0; wavefront < shown; wavefront++)
        put_row(stream, words, count, banks, wavefront);
    if (wavefronts > shown) fprintf(stream, "  ... %" PRIu32 " more wavefronts\n", wavefronts - shown);
}

void put_banks(FILE *stream, const struct explanation *explanation, size_t index, const char *colour,
               const char *plain) {
    const struct timeline *timeline = &explanation->timeline;
    size_t chosen = choose_access(timeline, index);
    if (chosen == SIZE_MAX) return;
    const struct trace_event *event = &timeline->trace->events[chosen];
    uint32_t least, wavefronts = trace_wavefronts(timeline->trace, event, &least);
    bool is_conflict = wavefronts > least;
    fprintf(stream,
            "  lanes of warp %" PRIu32 " at the banks, %s of line %" PRIu32 ": %s%" PRIu32 " wavefront%s%s\n",
            event->warp, access_names[event->access], timeline->lines[event->pc], is_conflict ? colour : "",
            wavefronts, wavefronts == 1 ? "" : "s", is_conflict ? plain : "");
    put_rows(stream, timeline->trace, event, wavefronts);
}
