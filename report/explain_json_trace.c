/* What the warps did, as JSON: each access with the words or lines that its lanes touch, and what was
 * executed of each line of the source. */
#include <stdlib.h>

#include "explain_json.h"

enum { LINE_NBYTES = 128, SECTOR_NBYTES = 32 };

static bool belongs(const struct timeline *timeline, size_t event, size_t step) {
    const struct phase *phase = &timeline->phases[event];
    return phase->is_outside ? step == SIZE_MAX : phase->step == step;
}

/* ---- shared memory ------------------------------------------------------------------------------- */

static void put_shared(struct json *json, const struct trace *trace, const struct trace_event *event) {
    struct trace_word words[TRACE_WORDS_MAX];
    uint32_t count = trace_words(trace, event, words), least,
             wavefronts = trace_wavefronts(trace, event, &least);
    json_key_text(json, "space", "shared");
    json_key_unsigned(json, "wavefronts", wavefronts);
    json_key_unsigned(json, "least", least);
    json_key_begin(json, "words", '[');
    for (uint32_t i = 0; i < count; i++) {
        json_begin(json, '[');
        json_unsigned(json, words[i].lane);
        json_unsigned(json, words[i].word);
        json_unsigned(json, words[i].wavefront);
        json_end(json, ']');
    }
    json_end(json, ']');
}

/* ---- global memory ------------------------------------------------------------------------------- */

/* Every allocation of the simulator begins at a multiple of this number of bytes. */
static const uint64_t allocation_nbytes = UINT64_C(1) << 32;

static bool is_of(uint64_t allocation, uint64_t address) {
    return allocation && address / allocation_nbytes == allocation / allocation_nbytes;
}

/* The name of what is accessed; in argmax, also of the indices of that. */
static const char *array_name(const struct timeline *timeline, uint64_t address) {
    static const char *const names[TIMELINE_ARRAYS] = {[ARRAY_INPUT] = "input",
                                                       [ARRAY_PARTIALS] = "partials",
                                                       [ARRAY_RESULT] = "result",
                                                       [ARRAY_TICKET] = "ticket"};
    enum timeline_array array = ARRAY_INPUT;
    while (array < ARRAY_TICKET && !is_of(timeline->arrays[array].values, address) &&
           !is_of(timeline->arrays[array].indices, address))
        array++;
    return names[array];
}

static void put_global(struct json *json, const struct timeline *timeline, const struct trace_event *event) {
    const struct trace *trace = timeline->trace;
    const uint64_t *addresses = trace_addresses(trace, event);
    json_key_text(json, "space", "global");
    json_key_text(json, "array", array_name(timeline, addresses[__builtin_ctz(event->mask)]));
    json_key_unsigned(json, "requests", trace_lines(trace, event, LINE_NBYTES));
    json_key_unsigned(json, "sectors", trace_lines(trace, event, SECTOR_NBYTES));
    json_key_unsigned(json, "nbytes", event->element_nbytes * event->elements);
    json_key_begin(json, "offsets", '[');
    for (uint32_t rest = event->mask; rest; rest &= rest - 1)
        json_unsigned(json, addresses[__builtin_ctz(rest)] % allocation_nbytes);
    json_end(json, ']');
}

/* ---- accesses ------------------------------------------------------------------------------------ */

static const char *const access_names[] = {
    [SIMT_LOAD] = "load", [SIMT_STORE] = "store", [SIMT_ATOMIC] = "atomic"};

/* Lanes are bits of a mask.  Of an access outside the tree, `after`: the steps that the warp has been
 * through. */
static void put_access(struct json *json, const struct timeline *timeline, size_t index) {
    const struct trace_event *event = &timeline->trace->events[index];
    json_begin(json, '{');
    json_key_unsigned(json, "warp", event->warp);
    json_key_unsigned(json, "line", timeline->lines[event->pc]);
    json_key_text(json, "kind", access_names[event->access]);
    json_key_unsigned(json, "lanes", event->mask);
    if (timeline->phases[index].is_outside) json_key_unsigned(json, "after", timeline->phases[index].step);
    if (event->space == SIMT_SHARED)
        put_shared(json, timeline->trace, event);
    else
        put_global(json, timeline, event);
    json_end(json, '}');
}

void json_accesses(struct json *json, const struct explanation *explanation, size_t step) {
    const struct timeline *timeline = &explanation->timeline;
    json_key_begin(json, "accesses", '[');
    for (size_t i = 0; i < timeline->trace->count; i++) {
        const struct trace_event *event = &timeline->trace->events[i];
        if (trace_is_memory(event) && event->mask && belongs(timeline, i, step))
            put_access(json, timeline, i);
    }
    json_end(json, ']');
}

/* Bulk copies from the input to shared memory: [{thread, line, from, to, nbytes}], in bytes of each. */
void json_copies(struct json *json, const struct explanation *explanation) {
    const struct timeline *timeline = &explanation->timeline;
    const struct trace *trace = timeline->trace;
    json_key_begin(json, "copies", '[');
    for (size_t i = 0; i < trace->count; i++) {
        const struct trace_event *event = &trace->events[i];
        if (event->kind != TRACE_COPY) continue;
        struct trace_copy copy = trace_copied(trace, event);
        json_begin(json, '{');
        json_key_unsigned(json, "thread",
                          event->warp * trace->launch.warp_size + (uint32_t)__builtin_ctz(event->mask));
        json_key_unsigned(json, "line", timeline->lines[event->pc]);
        json_key_unsigned(json, "from", copy.from - timeline->arrays[ARRAY_INPUT].values);
        json_key_unsigned(json, "to", copy.to);
        json_key_unsigned(json, "nbytes", copy.nbytes);
        json_end(json, '}');
    }
    json_end(json, ']');
}

/* ---- lines of the source ------------------------------------------------------------------------- */

struct line {
    uint64_t instructions, thread_instructions; /* of warps; of lanes that took part */
    uint64_t divergent_branches, global_requests, shared_wavefronts;
};

static void count_event(const struct trace *trace, const struct trace_event *event, struct line *line) {
    uint32_t least;
    if (event->kind == TRACE_INSTRUCTION) {
        line->instructions++;
        line->thread_instructions += (uint64_t)__builtin_popcount(event->mask);
    }
    line->divergent_branches += trace_diverges(event);
    if (!trace_is_memory(event)) return;
    if (event->space == SIMT_GLOBAL)
        line->global_requests += trace_lines(trace, event, LINE_NBYTES);
    else
        line->shared_wavefronts += trace_wavefronts(trace, event, &least);
}

static uint32_t last_line(const struct timeline *timeline) {
    uint32_t last = 0;
    for (uint32_t pc = 0; pc < timeline->trace->launch.place_count; pc++)
        if (timeline->lines[pc] > last) last = timeline->lines[pc];
    return last;
}

static void put_line(struct json *json, uint32_t number, const struct line *line) {
    json_begin(json, '{');
    json_key_unsigned(json, "line", number);
    json_key_unsigned(json, "instructions", line->instructions);
    json_key_unsigned(json, "thread_instructions", line->thread_instructions);
    json_key_unsigned(json, "divergent_branches", line->divergent_branches);
    json_key_unsigned(json, "global_requests", line->global_requests);
    json_key_unsigned(json, "shared_wavefronts", line->shared_wavefronts);
    json_end(json, '}');
}

bool json_lines(struct json *json, const struct explanation *explanation, size_t step) {
    const struct timeline *timeline = &explanation->timeline;
    const struct trace *trace = timeline->trace;
    uint32_t last = last_line(timeline);
    struct line *lines = calloc((size_t)last + 1, sizeof *lines);
    if (!lines) return false;
    for (size_t i = 0; i < trace->count; i++) {
        const struct trace_event *event = &trace->events[i];
        if (event->kind != TRACE_BARRIER && belongs(timeline, i, step))
            count_event(trace, event, &lines[timeline->lines[event->pc]]);
    }
    json_key_begin(json, "lines", '[');
    for (uint32_t number = 1; number <= last; number++)
        if (lines[number].instructions) put_line(json, number, &lines[number]);
    json_end(json, ']');
    free(lines);
    return true;
}
