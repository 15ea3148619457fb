#include "timeline.h"

#include <stdlib.h>
#include <string.h>

#include "replay.h"

enum { NO_STEP = UINT32_MAX, LINE_NBYTES = 128, BANK_NBYTES = 4 };

/* What the timeline is made with.  A segment is what a warp does between two of the things that can close a
 * step: block barriers, warp barriers, and shuffles from other lanes than before. */
struct builder {
    struct timeline *timeline;
    const struct trace *trace;
    unsigned char *marks; /* bits of ladder_mark, of each pc */
    uint32_t *segments;   /* of each event */
    uint32_t segment_count;
    uint32_t *steps;   /* of each segment, or NO_STEP */
    uint32_t *outside; /* the lanes of each warp that touch memory outside the tree */
    uint32_t *passed;  /* the steps that each warp has begun */
};

/* ---- the tree in the source ---------------------------------------------------------------------- */

static uint32_t line_in(const struct ladder_file *file, const char *path, uint32_t line,
                        uint32_t line_count) {
    return path && line <= line_count && ladder_file_find(path) == file ? line : 0;
}

/* An instruction belongs to its own line, or, outside the kernel's source, to the kernel's line where it was
 * inlined. */
static bool read_marks(struct builder *builder, const struct ladder_file *file) {
    const struct trace *trace = builder->trace;
    uint32_t line_count;
    unsigned char *marks = ladder_marks(file, &line_count);
    if (!marks) return false;
    for (uint32_t pc = 0; pc < trace->launch.place_count; pc++) {
        const simt_place *place = &trace->places[pc];
        uint32_t own = line_in(file, place->file, place->line, line_count);
        uint32_t outer = line_in(file, place->outer_file, place->outer_line, line_count);
        builder->timeline->lines[pc] = own && (marks[own] || !outer) ? own : outer;
        builder->marks[pc] = marks[builder->timeline->lines[pc]];
    }
    free(marks);
    return true;
}

static bool is_in_tree(const struct builder *builder, const struct trace_event *event) {
    return builder->marks[event->pc] & LADDER_TREE;
}

/* Are its lanes active?  They touch the memory of a combine, or do it among their registers. */
static bool is_combine(const struct builder *builder, const struct trace_event *event) {
    if (!is_in_tree(builder, event) || !event->mask) return false;
    if (event->kind == TRACE_SHUFFLE) return true;
    if (event->kind == TRACE_INSTRUCTION) return trace_is_warp_reduction(builder->trace, event);
    return trace_is_memory(event) && (builder->marks[event->pc] & LADDER_COMBINE);
}

/* ---- segments ------------------------------------------------------------------------------------ */

/* The state of a warp while its events are read. */
struct cursor {
    uint32_t segment;
    bool has_combined;
    const uint64_t *shuffled; /* the sources of its last shuffle in the segment, or NULL */
};

static void next_segment(struct cursor *cursor, uint32_t segment) {
    *cursor = (struct cursor){.segment = segment};
}

/* A shuffle or a warp reduction begins a step, unless it is one more part of the same wide value. */
static void begin_exchange(struct cursor *cursor, const uint64_t *sources) {
    bool is_same =
        cursor->shuffled && sources && !memcmp(cursor->shuffled, sources, SIMT_LANES * sizeof *sources);
    if (cursor->has_combined && !is_same) next_segment(cursor, cursor->segment + 1);
    cursor->shuffled = sources;
}

static uint32_t last_segment(const struct cursor *cursors, uint32_t count) {
    uint32_t last = 0;
    for (uint32_t warp = 0; warp < count; warp++)
        if (cursors[warp].segment > last) last = cursors[warp].segment;
    return last;
}

static uint32_t pass_event(const struct builder *builder, struct cursor *cursors,
                           const struct trace_event *event) {
    uint32_t warp_count = builder->timeline->warp_count;
    struct cursor *cursor = &cursors[event->warp];
    if (event->kind == TRACE_BARRIER) {
        uint32_t last = last_segment(cursors, warp_count);
        for (uint32_t warp = 0; warp < warp_count; warp++) next_segment(&cursors[warp], last + 1);
        return last;
    }
    bool combines = is_combine(builder, event);
    if (combines && !trace_is_memory(event))
        begin_exchange(cursor, event->kind == TRACE_SHUFFLE ? trace_sources(builder->trace, event) : NULL);
    uint32_t segment = cursor->segment;
    if (combines) cursor->has_combined = true;
    if (event->kind == TRACE_WARP_BARRIER && is_in_tree(builder, event)) next_segment(cursor, segment + 1);
    return segment;
}

/* A shuffle is reported twice, first as an instruction, which belongs to the step that it begins. */
static void join_shuffle(struct builder *builder, size_t index) {
    const struct trace_event *events = builder->trace->events;
    if (index == 0 || events[index].kind != TRACE_SHUFFLE) return;
    const struct trace_event *before = &events[index - 1];
    if (before->kind == TRACE_INSTRUCTION && before->pc == events[index].pc &&
        before->warp == events[index].warp)
        builder->segments[index - 1] = builder->segments[index];
}

static bool cut_segments(struct builder *builder) {
    struct cursor *cursors = calloc((size_t)builder->timeline->warp_count + 1, sizeof *cursors);
    if (!cursors) return false;
    for (size_t i = 0; i < builder->trace->count; i++) {
        builder->segments[i] = pass_event(builder, cursors, &builder->trace->events[i]);
        join_shuffle(builder, i);
    }
    builder->segment_count = last_segment(cursors, builder->timeline->warp_count) + 1;
    free(cursors);
    return true;
}

/* ---- steps --------------------------------------------------------------------------------------- */

/* Each segment in which someone combines is a step.  Another one belongs to the step after it if it loads for
 * that, else to the step before. */
static bool find_steps(struct builder *builder) {
    enum { HAS_COMBINE = 1, HAS_LOAD = 2 };
    unsigned char *kinds = calloc(builder->segment_count, 1);
    builder->steps = calloc(builder->segment_count, sizeof *builder->steps);
    if (!kinds || !builder->steps) {
        free(kinds);
        return false;
    }
    for (size_t i = 0; i < builder->trace->count; i++) {
        const struct trace_event *event = &builder->trace->events[i];
        if (is_combine(builder, event))
            kinds[builder->segments[i]] |= HAS_COMBINE;
        else if (is_in_tree(builder, event) && trace_is_memory(event) && event->access == SIMT_LOAD)
            kinds[builder->segments[i]] |= HAS_LOAD;
    }
    uint32_t count = 0;
    for (uint32_t segment = 0; segment < builder->segment_count; segment++) {
        uint32_t before = count ? count - 1 : NO_STEP;
        builder->steps[segment] = kinds[segment] ? count : before;
        if (kinds[segment] & HAS_COMBINE) count++;
    }
    for (uint32_t segment = 0; segment < builder->segment_count; segment++)
        if (builder->steps[segment] == count) builder->steps[segment] = count ? count - 1 : NO_STEP;
    builder->timeline->step_count = count;
    free(kinds);
    return true;
}

static bool create_steps(struct builder *builder) {
    struct timeline *timeline = builder->timeline;
    timeline->steps = calloc(timeline->step_count + 1, sizeof *timeline->steps);
    timeline->diverged =
        calloc((timeline->step_count + 1) * timeline->warp_count, sizeof *timeline->diverged);
    timeline->phases = calloc(builder->trace->count + 1, sizeof *timeline->phases);
    builder->outside = calloc(timeline->warp_count, sizeof *builder->outside);
    builder->passed = calloc(timeline->warp_count, sizeof *builder->passed);
    if (!timeline->steps || !timeline->diverged || !timeline->phases || !builder->outside || !builder->passed)
        return false;
    for (size_t i = 0; i < timeline->step_count; i++) {
        struct step *step = &timeline->steps[i];
        step->tally.bank_degree = 1;
        step->worst = SIZE_MAX;
        step->store = STORE_REGISTERS;
        step->diverged = &timeline->diverged[i * timeline->warp_count];
        step->active = calloc(timeline->warp_count, sizeof *step->active);
        if (!step->active) return false;
    }
    return true;
}

/* ---- counting ------------------------------------------------------------------------------------ */

/* Returns the access's bank degree. */
static double count_access(const struct builder *builder, const struct trace_event *event,
                           struct tally *tally) {
    if (event->space == SIMT_GLOBAL) {
        tally->global_requests += trace_lines(builder->trace, event, LINE_NBYTES);
        return 1;
    }
    uint32_t least, wavefronts = trace_wavefronts(builder->trace, event, &least);
    double degree = least ? (double)wavefronts / least : 1;
    tally->shared_wavefronts += wavefronts;
    if (degree > tally->bank_degree) tally->bank_degree = degree;
    return degree;
}

static enum store store_of(const struct trace_event *event) {
    if (event->kind != TRACE_ACCESS) return STORE_REGISTERS;
    if (event->access == SIMT_ATOMIC) return STORE_RESULT;
    return event->space == SIMT_SHARED ? STORE_SHARED : STORE_INPUT;
}

/* The worst conflict among the elements, of the first warp that has such a one. */
static void note_conflict(const struct builder *builder, size_t index, double degree, struct step *step) {
    const struct trace_event *events = builder->trace->events;
    if (degree <= 1 || degree < step->worst_degree) return;
    if (events[index].element_nbytes != builder->timeline->element_nbytes) return;
    if (degree == step->worst_degree && events[index].warp >= events[step->worst].warp) return;
    step->worst = index;
    step->worst_degree = degree;
}

static void count_in_step(struct builder *builder, size_t index, const struct trace_event *event,
                          struct step *step) {
    if (trace_is_memory(event))
        note_conflict(builder, index, count_access(builder, event, &step->tally), step);
    if (!is_combine(builder, event)) return;
    step->active[event->warp] |= event->mask;
    step->line = builder->timeline->lines[event->pc];
    if (step->store != STORE_RESULT) step->store = store_of(event);
}

static void count_event(struct builder *builder, size_t index) {
    struct timeline *timeline = builder->timeline;
    const struct trace_event *event = &builder->trace->events[index];
    uint32_t found = builder->steps[builder->segments[index]];
    size_t step = is_in_tree(builder, event) && found != NO_STEP ? found : timeline->step_count;
    if (step < timeline->step_count) builder->passed[event->warp] = (uint32_t)step + 1;
    timeline->phases[index] =
        (struct phase){.is_outside = step == timeline->step_count,
                       .step = step < timeline->step_count ? (uint32_t)step : builder->passed[event->warp]};
    if (trace_diverges(event)) timeline->diverged[step * timeline->warp_count + event->warp] = true;
    if (step < timeline->step_count) {
        count_in_step(builder, index, event, &timeline->steps[step]);
    } else if (trace_is_memory(event)) {
        count_access(builder, event, &timeline->outside);
        builder->outside[event->warp] |= event->mask;
    }
}

static void count_lanes(const struct builder *builder, const uint32_t *lanes, const bool *diverged,
                        struct tally *tally) {
    for (uint32_t warp = 0; warp < builder->timeline->warp_count; warp++) {
        tally->active_lanes += (uint32_t)__builtin_popcount(lanes[warp]);
        tally->warps += lanes[warp] != 0;
        tally->divergent_warps += diverged[warp];
    }
}

static void add_tally(struct tally *total, const struct tally *tally) {
    total->active_lanes += tally->active_lanes;
    total->warps += tally->warps;
    total->divergent_warps += tally->divergent_warps;
    total->global_requests += tally->global_requests;
    total->shared_wavefronts += tally->shared_wavefronts;
    if (tally->bank_degree > total->bank_degree) total->bank_degree = tally->bank_degree;
}

static void count(struct builder *builder) {
    struct timeline *timeline = builder->timeline;
    timeline->outside.bank_degree = timeline->total.bank_degree = 1;
    for (size_t i = 0; i < builder->trace->count; i++) count_event(builder, i);
    for (size_t i = 0; i < timeline->step_count; i++) {
        struct step *step = &timeline->steps[i];
        count_lanes(builder, step->active, step->diverged, &step->tally);
        add_tally(&timeline->total, &step->tally);
    }
    count_lanes(builder, builder->outside, &timeline->diverged[timeline->step_count * timeline->warp_count],
                &timeline->outside);
    timeline->lane_steps = timeline->total.warps * builder->trace->launch.warp_size;
}

/* ---- the condition before a combine -------------------------------------------------------------- */

/* Marks the source lines that have a condition; `conditions` has an entry for each line. */
static void find_conditions(const struct ladder_file *file, bool *conditions) {
    const char *line = file->text;
    for (uint32_t number = 1; *line; number++) {
        size_t length = strcspn(line, "\n"), indent = strspn(line, " ");
        conditions[number] = indent < length && !strncmp(line + indent, "if (", 4);
        line += length + (line[length] == '\n');
    }
}

static bool find_guards(struct builder *builder, const struct ladder_file *file) {
    struct timeline *timeline = builder->timeline;
    uint32_t line_count;
    unsigned char *marks = ladder_marks(file, &line_count);
    bool *conditions = calloc((size_t)(marks ? line_count : 0) + 2, sizeof *conditions);
    bool is_known = marks && conditions;
    if (is_known) find_conditions(file, conditions);
    for (size_t i = 0; is_known && i < timeline->step_count; i++) {
        uint32_t line = timeline->steps[i].line;
        while (line && (marks[line] & LADDER_TREE) && !conditions[line]) line--;
        timeline->steps[i].guard_line = marks[line] & LADDER_TREE ? line : 0;
    }
    free(marks);
    free(conditions);
    return is_known;
}

/* ---- following the partial results --------------------------------------------------------------- */

/* The order in which the events are replayed: by segment; within one, what a warp does before it combines
 * there comes before all combining; and as they happened. */
struct turn {
    uint32_t segment;
    enum { PREPARES, COMBINES, CLOSES } role;
    size_t event;
};

static int compare_turns(const void *left, const void *right) {
    const struct turn *a = left, *b = right;
    if (a->segment != b->segment) return a->segment < b->segment ? -1 : 1;
    if (a->role != b->role) return a->role < b->role ? -1 : 1;
    return (a->event > b->event) - (a->event < b->event);
}

static struct turn *make_turns(const struct builder *builder) {
    size_t count = builder->trace->count;
    struct turn *turns = calloc(count + 1, sizeof *turns);
    uint32_t *combined =
        calloc(builder->timeline->warp_count, sizeof *combined); /* the warp's segment, from 1 */
    for (size_t i = 0; turns && combined && i < count; i++) {
        const struct trace_event *event = &builder->trace->events[i];
        uint32_t segment = builder->segments[i];
        if (is_combine(builder, event)) combined[event->warp] = segment + 1;
        turns[i] = (struct turn){segment, combined[event->warp] == segment + 1 ? COMBINES : PREPARES, i};
        if (event->kind == TRACE_BARRIER) turns[i].role = CLOSES;
    }
    if (turns && combined) qsort(turns, count, sizeof *turns, compare_turns);
    bool is_made = turns && combined;
    free(combined);
    if (is_made) return turns;
    free(turns);
    return NULL;
}

static int compare_combines(const void *left, const void *right) {
    const struct combine *a = left, *b = right;
    return (a->thread > b->thread) - (a->thread < b->thread);
}

/* The cells as the step has left them so far, and its combines: warps took turns, but the order of the
 * threads reads better.  Atomic operations stay as they came, one after the other. */
static void end_step(struct timeline *timeline, struct replay *replay, uint32_t index) {
    struct step *step = &timeline->steps[index];
    if (!step->is_over) {
        free(step->after);
        step->after = replay_cells(replay, step->store);
    }
    step->combine_count = timeline->combine_count - step->combines;
    if (step->store != STORE_RESULT && step->combine_count)
        qsort(&timeline->combines[step->combines], step->combine_count, sizeof *timeline->combines,
              compare_combines);
    if (!step->after) timeline->out_of_memory = true;
    if ((size_t)index + 1 < timeline->step_count)
        timeline->steps[index + 1].combines = timeline->combine_count;
}

static void begin_timeline(struct timeline *timeline, struct replay *replay) {
    timeline->start_store = timeline->step_count ? timeline->steps[0].store : STORE_INPUT;
    timeline->start = replay_cells(replay, timeline->start_store);
    if (!timeline->start) timeline->out_of_memory = true;
}

/* Before the first combine of a step. */
static void begin_step(struct timeline *timeline, struct replay *replay, uint32_t index) {
    struct step *step = &timeline->steps[index];
    if (step->before) return;
    step->before = replay_cells(replay, step->store);
    if (!step->before) timeline->out_of_memory = true;
}

/* Was a barrier the last that happened? */
static bool ends_closed(const struct builder *builder, const struct turn *turns) {
    return builder->trace->count && turns[builder->trace->count - 1].role == CLOSES;
}

static void replay_all(struct builder *builder, struct replay *replay, const struct turn *turns) {
    struct timeline *timeline = builder->timeline;
    uint32_t now = NO_STEP; /* the current step */
    for (size_t i = 0; i < builder->trace->count; i++) {
        const struct trace_event *event = &builder->trace->events[turns[i].event];
        uint32_t step = builder->steps[turns[i].segment];
        if (!timeline->start && turns[i].role == COMBINES) begin_timeline(timeline, replay);
        bool is_closing = turns[i].role == CLOSES; /* after which the block's registers count as forgotten */
        if (now != NO_STEP && (step != now || is_closing)) end_step(timeline, replay, now);
        if (now != NO_STEP && is_closing)
            timeline->steps[now].is_over = timeline->steps[now].combine_count > 0;
        now = step;
        if (step != NO_STEP && turns[i].role == COMBINES) begin_step(timeline, replay, step);
        replay_event(replay, event, is_in_tree(builder, event));
    }
    if (!timeline->start) begin_timeline(timeline, replay);
    if (now != NO_STEP && (!timeline->steps[now].after || !ends_closed(builder, turns)))
        end_step(timeline, replay, now);
    timeline->result = replay_result(replay);
}

/* Terms are made of older ones, so one pass from the result down finds all. */
static bool find_used(struct timeline *timeline, uint32_t element_count) {
    timeline->is_used = calloc(timeline->term_count, sizeof *timeline->is_used);
    if (!timeline->is_used) return false;
    uint32_t result = timeline->result.term;
    if (result == TERM_UNKNOWN) return true;
    timeline->is_used[result] = true;
    for (uint32_t term = result; term > element_count; term--) {
        if (!timeline->is_used[term]) continue;
        timeline->is_used[timeline->terms[term].left] = true;
        timeline->is_used[timeline->terms[term].right] = true;
    }
    return true;
}

static bool follow(struct builder *builder, const struct timeline_setting *setting) {
    struct replay *replay = replay_create(builder->timeline, setting);
    struct turn *turns = make_turns(builder);
    bool has_memory = replay && turns;
    if (has_memory) replay_all(builder, replay, turns);
    free(turns);
    replay_destroy(replay);
    return has_memory && !builder->timeline->out_of_memory &&
           find_used(builder->timeline, (uint32_t)setting->n);
}

/* ---- the whole ----------------------------------------------------------------------------------- */

static bool open_timeline(struct timeline *timeline, const struct trace *trace,
                          const struct timeline_setting *setting) {
    const simt_launch_view *launch = &trace->launch;
    size_t element = wf_type_nbytes(setting->type);
    size_t item = element + (setting->op == WF_ARGMAX ? sizeof(int64_t) : 0);
    size_t shared_count = setting->shared_nbytes / item;
    *timeline = (struct timeline){
        .trace = trace,
        .warp_count = launch->warps_per_block,
        .cell_counts = {[STORE_INPUT] = setting->n,
                        [STORE_SHARED] = shared_count,
                        [STORE_REGISTERS] = launch->threads_per_block,
                        [STORE_RESULT] = 1},
        /* Dynamic shared memory comes last; argmax has its indices before the values. */
        .shared_offset = launch->shared_nbytes - setting->shared_nbytes + shared_count * (item - element),
        .element_nbytes = (uint32_t)element,
        .term_count = (uint32_t)setting->n + 1,
        .term_capacity = setting->n + 1,
        .terms = calloc(setting->n + 1, sizeof(struct term)),
        .lines = calloc((size_t)launch->place_count + 1, sizeof *timeline->lines),
    };
    memcpy(timeline->arrays, setting->arrays, sizeof timeline->arrays);
    return timeline->terms && timeline->lines;
}

bool timeline_build(struct timeline *timeline, const struct trace *trace,
                    const struct timeline_setting *setting) {
    const struct ladder_file *file = setting->rung->file;
    size_t places = (size_t)trace->launch.place_count + 1;
    struct builder builder = {.timeline = timeline,
                              .trace = trace,
                              .marks = calloc(places, sizeof *builder.marks),
                              .segments = calloc(trace->count + 1, sizeof *builder.segments)};
    bool has_memory = open_timeline(timeline, trace, setting) && builder.marks && builder.segments;
    has_memory = has_memory && read_marks(&builder, file) && cut_segments(&builder) && find_steps(&builder) &&
                 create_steps(&builder);
    if (has_memory) {
        count(&builder);
        has_memory = find_guards(&builder, file) && follow(&builder, setting);
    }
    free(builder.marks);
    free(builder.segments);
    free(builder.steps);
    free(builder.outside);
    free(builder.passed);
    return has_memory;
}

uint32_t timeline_conflict(const struct timeline *timeline, const struct step *step,
                           uint32_t threads[SIMT_LANES]) {
    if (step->worst == SIZE_MAX) return 0;
    const struct trace_event *event = &timeline->trace->events[step->worst];
    const uint64_t *addresses = trace_addresses(timeline->trace, event);
    const simt_launch_view *launch = &timeline->trace->launch;
    uint64_t bank = addresses[__builtin_ctz(event->mask)] / BANK_NBYTES % launch->banks;
    uint32_t count = 0;
    for (uint32_t lane = 0; lane < launch->warp_size; lane++)
        if ((event->mask >> lane & 1) && addresses[lane] / BANK_NBYTES % launch->banks == bank)
            threads[count++] = event->warp * launch->warp_size + lane;
    return count;
}

bool timeline_uses(const struct timeline *timeline, struct cell cell) {
    return cell.term != TERM_NOTHING && cell.term != TERM_UNKNOWN && timeline->is_used[cell.term];
}

void timeline_clear(struct timeline *timeline) {
    for (size_t i = 0; timeline->steps && i < timeline->step_count; i++) {
        free(timeline->steps[i].active);
        free(timeline->steps[i].before);
        free(timeline->steps[i].after);
    }
    free(timeline->steps);
    free(timeline->phases);
    free(timeline->lines);
    free(timeline->diverged);
    free(timeline->start);
    free(timeline->combines);
    free(timeline->sources);
    free(timeline->terms);
    free(timeline->is_used);
    *timeline = (struct timeline){0};
}
