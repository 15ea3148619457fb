#include "explain_story.h"

#include <stdlib.h>
#include <string.h>

#include "banks.h"
#include "explain_replay.h"
#include "requests.h"

enum { NO_STEP = UINT32_MAX, LINE_NBYTES = 128, BANK_NBYTES = 4 };

/* What the story is made with.  A segment is what a warp does between two of the things that can close a
 * step: block barriers, warp barriers, and shuffles from other lanes than before. */
struct plot {
    struct story *story;
    const struct walk *walk;
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

/* An instruction belongs to the line where it stands, or else to that in the kernel where it was inlined. */
static bool read_marks(struct plot *plot, const struct ladder_file *file) {
    const struct walk *walk = plot->walk;
    uint32_t line_count;
    unsigned char *marks = ladder_marks(file, &line_count);
    if (!marks) return false;
    for (uint32_t pc = 0; pc < walk->launch.place_count; pc++) {
        const simt_place *place = &walk->places[pc];
        uint32_t own = line_in(file, place->file, place->line, line_count);
        uint32_t outer = line_in(file, place->outer_file, place->outer_line, line_count);
        plot->story->lines[pc] = own && (marks[own] || !outer) ? own : outer;
        plot->marks[pc] = marks[plot->story->lines[pc]];
    }
    free(marks);
    return true;
}

static bool is_in_tree(const struct plot *plot, const struct walk_event *event) {
    return plot->marks[event->pc] & LADDER_TREE;
}

static bool is_memory(const struct walk_event *event) {
    return event->kind == WALK_ACCESS && (event->space == SIMT_GLOBAL || event->space == SIMT_SHARED);
}

/* Are its lanes active?  They touch the memory of a combine, or do it among their registers. */
static bool is_combine(const struct plot *plot, const struct walk_event *event) {
    if (!is_in_tree(plot, event) || !event->mask) return false;
    if (event->kind == WALK_SHUFFLE) return true;
    if (event->kind == WALK_INSTRUCTION) return walk_is_warp_reduction(plot->walk, event);
    return is_memory(event) && (plot->marks[event->pc] & LADDER_COMBINE);
}

/* ---- segments ------------------------------------------------------------------------------------ */

/* Where a warp is. */
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

static uint32_t pass_event(const struct plot *plot, struct cursor *cursors, const struct walk_event *event) {
    uint32_t warp_count = plot->story->warp_count;
    struct cursor *cursor = &cursors[event->warp];
    if (event->kind == WALK_BARRIER) {
        uint32_t last = last_segment(cursors, warp_count);
        for (uint32_t warp = 0; warp < warp_count; warp++) next_segment(&cursors[warp], last + 1);
        return last;
    }
    bool combines = is_combine(plot, event);
    if (combines && !is_memory(event))
        begin_exchange(cursor, event->kind == WALK_SHUFFLE ? walk_sources(plot->walk, event) : NULL);
    uint32_t segment = cursor->segment;
    if (combines) cursor->has_combined = true;
    if (event->kind == WALK_WARP_BARRIER && is_in_tree(plot, event)) next_segment(cursor, segment + 1);
    return segment;
}

/* A shuffle is told twice, first as an instruction: that belongs to the step which it begins. */
static void join_shuffle(struct plot *plot, size_t index) {
    const struct walk_event *events = plot->walk->events;
    if (index == 0 || events[index].kind != WALK_SHUFFLE) return;
    const struct walk_event *before = &events[index - 1];
    if (before->kind == WALK_INSTRUCTION && before->pc == events[index].pc &&
        before->warp == events[index].warp)
        plot->segments[index - 1] = plot->segments[index];
}

static bool cut_segments(struct plot *plot) {
    struct cursor *cursors = calloc((size_t)plot->story->warp_count + 1, sizeof *cursors);
    if (!cursors) return false;
    for (size_t i = 0; i < plot->walk->count; i++) {
        plot->segments[i] = pass_event(plot, cursors, &plot->walk->events[i]);
        join_shuffle(plot, i);
    }
    plot->segment_count = last_segment(cursors, plot->story->warp_count) + 1;
    free(cursors);
    return true;
}

/* ---- steps --------------------------------------------------------------------------------------- */

/* Each segment in which someone combines is a step.  Another one belongs to the step after it if it loads for
 * that, else to the step before. */
static bool find_steps(struct plot *plot) {
    enum { HAS_COMBINE = 1, HAS_LOAD = 2 };
    unsigned char *kinds = calloc(plot->segment_count, 1);
    plot->steps = calloc(plot->segment_count, sizeof *plot->steps);
    if (!kinds || !plot->steps) {
        free(kinds);
        return false;
    }
    for (size_t i = 0; i < plot->walk->count; i++) {
        const struct walk_event *event = &plot->walk->events[i];
        if (is_combine(plot, event))
            kinds[plot->segments[i]] |= HAS_COMBINE;
        else if (is_in_tree(plot, event) && is_memory(event) && event->access == SIMT_LOAD)
            kinds[plot->segments[i]] |= HAS_LOAD;
    }
    uint32_t count = 0;
    for (uint32_t segment = 0; segment < plot->segment_count; segment++) {
        uint32_t before = count ? count - 1 : NO_STEP;
        plot->steps[segment] = kinds[segment] ? count : before;
        if (kinds[segment] & HAS_COMBINE) count++;
    }
    for (uint32_t segment = 0; segment < plot->segment_count; segment++)
        if (plot->steps[segment] == count) plot->steps[segment] = count ? count - 1 : NO_STEP;
    plot->story->step_count = count;
    free(kinds);
    return true;
}

static bool create_steps(struct plot *plot) {
    struct story *story = plot->story;
    story->steps = calloc(story->step_count + 1, sizeof *story->steps);
    story->diverged = calloc((story->step_count + 1) * story->warp_count, sizeof *story->diverged);
    story->phases = calloc(plot->walk->count + 1, sizeof *story->phases);
    plot->outside = calloc(story->warp_count, sizeof *plot->outside);
    plot->passed = calloc(story->warp_count, sizeof *plot->passed);
    if (!story->steps || !story->diverged || !story->phases || !plot->outside || !plot->passed) return false;
    for (size_t i = 0; i < story->step_count; i++) {
        struct step *step = &story->steps[i];
        step->tally.bank_degree = 1;
        step->worst = SIZE_MAX;
        step->store = STORE_REGISTERS;
        step->diverged = &story->diverged[i * story->warp_count];
        step->active = calloc(story->warp_count, sizeof *step->active);
        if (!step->active) return false;
    }
    return true;
}

/* ---- counting ------------------------------------------------------------------------------------ */

/* Returns the access's bank degree. */
static double count_access(const struct plot *plot, const struct walk_event *event, struct tally *tally) {
    simt_access access = walk_access(plot->walk, event);
    if (event->space == SIMT_GLOBAL) {
        tally->global_requests += simt_lines(&access, LINE_NBYTES);
        return 1;
    }
    uint32_t least,
        wavefronts = simt_wavefronts(&access, plot->walk->launch.warp_size, plot->walk->launch.banks, &least);
    double degree = least ? (double)wavefronts / least : 1;
    tally->shared_wavefronts += wavefronts;
    if (degree > tally->bank_degree) tally->bank_degree = degree;
    return degree;
}

static enum store store_of(const struct walk_event *event) {
    if (event->kind != WALK_ACCESS) return STORE_REGISTERS;
    if (event->access == SIMT_ATOMIC) return STORE_RESULT;
    return event->space == SIMT_SHARED ? STORE_SHARED : STORE_INPUT;
}

/* The worst conflict among the elements, of the first warp that has such a one. */
static void note_conflict(const struct plot *plot, size_t index, double degree, struct step *step) {
    const struct walk_event *events = plot->walk->events;
    if (degree <= 1 || degree < step->worst_degree) return;
    if (events[index].element_nbytes != plot->story->element_nbytes) return;
    if (degree == step->worst_degree && events[index].warp >= events[step->worst].warp) return;
    step->worst = index;
    step->worst_degree = degree;
}

static void count_in_step(struct plot *plot, size_t index, const struct walk_event *event,
                          struct step *step) {
    if (is_memory(event)) note_conflict(plot, index, count_access(plot, event, &step->tally), step);
    if (!is_combine(plot, event)) return;
    step->active[event->warp] |= event->mask;
    step->line = plot->story->lines[event->pc];
    if (step->store != STORE_RESULT) step->store = store_of(event);
}

static void count_event(struct plot *plot, size_t index) {
    struct story *story = plot->story;
    const struct walk_event *event = &plot->walk->events[index];
    uint32_t found = plot->steps[plot->segments[index]];
    size_t step = is_in_tree(plot, event) && found != NO_STEP ? found : story->step_count;
    if (step < story->step_count) plot->passed[event->warp] = (uint32_t)step + 1;
    story->phases[index] =
        (struct phase){.is_outside = step == story->step_count,
                       .step = step < story->step_count ? (uint32_t)step : plot->passed[event->warp]};
    if (story_parts(event)) story->diverged[step * story->warp_count + event->warp] = true;
    if (step < story->step_count) {
        count_in_step(plot, index, event, &story->steps[step]);
    } else if (is_memory(event)) {
        count_access(plot, event, &story->outside);
        plot->outside[event->warp] |= event->mask;
    }
}

static void count_lanes(const struct plot *plot, const uint32_t *lanes, const bool *diverged,
                        struct tally *tally) {
    for (uint32_t warp = 0; warp < plot->story->warp_count; warp++) {
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

static void count(struct plot *plot) {
    struct story *story = plot->story;
    story->outside.bank_degree = story->total.bank_degree = 1;
    for (size_t i = 0; i < plot->walk->count; i++) count_event(plot, i);
    for (size_t i = 0; i < story->step_count; i++) {
        struct step *step = &story->steps[i];
        count_lanes(plot, step->active, step->diverged, &step->tally);
        add_tally(&story->total, &step->tally);
    }
    count_lanes(plot, plot->outside, &story->diverged[story->step_count * story->warp_count],
                &story->outside);
    story->lane_steps = story->total.warps * plot->walk->launch.warp_size;
}

/* ---- the condition before a combine -------------------------------------------------------------- */

/* Which lines of the source have a condition; `conditions` has a place for each. */
static void find_conditions(const struct ladder_file *file, bool *conditions) {
    const char *line = file->text;
    for (uint32_t number = 1; *line; number++) {
        size_t length = strcspn(line, "\n"), indent = strspn(line, " ");
        conditions[number] = indent < length && !strncmp(line + indent, "if (", 4);
        line += length + (line[length] == '\n');
    }
}

static bool find_guards(struct plot *plot, const struct ladder_file *file) {
    struct story *story = plot->story;
    uint32_t line_count;
    unsigned char *marks = ladder_marks(file, &line_count);
    bool *conditions = calloc((size_t)(marks ? line_count : 0) + 2, sizeof *conditions);
    bool is_known = marks && conditions;
    if (is_known) find_conditions(file, conditions);
    for (size_t i = 0; is_known && i < story->step_count; i++) {
        uint32_t line = story->steps[i].line;
        while (line && (marks[line] & LADDER_TREE) && !conditions[line]) line--;
        story->steps[i].guard_line = marks[line] & LADDER_TREE ? line : 0;
    }
    free(marks);
    free(conditions);
    return is_known;
}

/* ---- following the partial results --------------------------------------------------------------- */

/* The order in which the events are retold: by segment; within one, what a warp does before it combines there
 * comes before all combining; and as they happened. */
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

static struct turn *make_turns(const struct plot *plot) {
    size_t count = plot->walk->count;
    struct turn *turns = calloc(count + 1, sizeof *turns);
    uint32_t *combined = calloc(plot->story->warp_count, sizeof *combined); /* the warp's segment, from 1 */
    for (size_t i = 0; turns && combined && i < count; i++) {
        const struct walk_event *event = &plot->walk->events[i];
        uint32_t segment = plot->segments[i];
        if (is_combine(plot, event)) combined[event->warp] = segment + 1;
        turns[i] = (struct turn){segment, combined[event->warp] == segment + 1 ? COMBINES : PREPARES, i};
        if (event->kind == WALK_BARRIER) turns[i].role = CLOSES;
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
static void end_step(struct story *story, struct replay *replay, uint32_t index) {
    struct step *step = &story->steps[index];
    if (!step->is_over) {
        free(step->after);
        step->after = replay_cells(replay, step->store);
    }
    step->combine_count = story->combine_count - step->combines;
    if (step->store != STORE_RESULT && step->combine_count)
        qsort(&story->combines[step->combines], step->combine_count, sizeof *story->combines,
              compare_combines);
    if (!step->after) story->out_of_memory = true;
    if ((size_t)index + 1 < story->step_count) story->steps[index + 1].combines = story->combine_count;
}

static void begin_story(struct story *story, struct replay *replay) {
    story->start_store = story->step_count ? story->steps[0].store : STORE_INPUT;
    story->start = replay_cells(replay, story->start_store);
    if (!story->start) story->out_of_memory = true;
}

/* Before the first combine of a step. */
static void begin_step(struct story *story, struct replay *replay, uint32_t index) {
    struct step *step = &story->steps[index];
    if (step->before) return;
    step->before = replay_cells(replay, step->store);
    if (!step->before) story->out_of_memory = true;
}

/* Was a barrier the last that happened? */
static bool ends_closed(const struct plot *plot, const struct turn *turns) {
    return plot->walk->count && turns[plot->walk->count - 1].role == CLOSES;
}

static void retell(struct plot *plot, struct replay *replay, const struct turn *turns) {
    struct story *story = plot->story;
    uint32_t now = NO_STEP; /* the step that goes on */
    for (size_t i = 0; i < plot->walk->count; i++) {
        const struct walk_event *event = &plot->walk->events[turns[i].event];
        uint32_t step = plot->steps[turns[i].segment];
        if (!story->start && turns[i].role == COMBINES) begin_story(story, replay);
        bool is_closing = turns[i].role == CLOSES; /* after which the block's registers count as forgotten */
        if (now != NO_STEP && (step != now || is_closing)) end_step(story, replay, now);
        if (now != NO_STEP && is_closing) story->steps[now].is_over = story->steps[now].combine_count > 0;
        now = step;
        if (step != NO_STEP && turns[i].role == COMBINES) begin_step(story, replay, step);
        replay_event(replay, event, is_in_tree(plot, event));
    }
    if (!story->start) begin_story(story, replay);
    if (now != NO_STEP && (!story->steps[now].after || !ends_closed(plot, turns)))
        end_step(story, replay, now);
    story->result = replay_result(replay);
}

/* Terms are made of older ones, so one pass from the result down finds all. */
static bool find_used(struct story *story, uint32_t element_count) {
    story->is_used = calloc(story->term_count, sizeof *story->is_used);
    if (!story->is_used) return false;
    uint32_t result = story->result.term;
    if (result == TERM_UNKNOWN) return true;
    story->is_used[result] = true;
    for (uint32_t term = result; term > element_count; term--) {
        if (!story->is_used[term]) continue;
        story->is_used[story->terms[term].left] = true;
        story->is_used[story->terms[term].right] = true;
    }
    return true;
}

static bool follow(struct plot *plot, const struct story_setting *setting) {
    struct replay *replay = replay_create(plot->story, setting);
    struct turn *turns = make_turns(plot);
    bool has_memory = replay && turns;
    if (has_memory) retell(plot, replay, turns);
    free(turns);
    replay_destroy(replay);
    return has_memory && !plot->story->out_of_memory && find_used(plot->story, (uint32_t)setting->n);
}

/* ---- the whole ----------------------------------------------------------------------------------- */

static bool open_story(struct story *story, const struct walk *walk, const struct story_setting *setting) {
    const simt_launch_view *launch = &walk->launch;
    size_t element = wf_type_nbytes(setting->type);
    size_t item = element + (setting->op == WF_ARGMAX ? sizeof(int64_t) : 0);
    size_t shared_count = setting->shared_nbytes / item;
    *story = (struct story){
        .walk = walk,
        .warp_count = launch->warps_per_block,
        .cell_counts = {[STORE_INPUT] = setting->n,
                        [STORE_SHARED] = shared_count,
                        [STORE_REGISTERS] = launch->threads_per_block,
                        [STORE_RESULT] = 1},
        .input_address = setting->input_address,
        /* Dynamic shared memory comes last; argmax has its indices before the values. */
        .shared_offset = launch->shared_nbytes - setting->shared_nbytes + shared_count * (item - element),
        .element_nbytes = (uint32_t)element,
        .term_count = (uint32_t)setting->n + 1,
        .term_capacity = setting->n + 1,
        .terms = calloc(setting->n + 1, sizeof(struct term)),
        .lines = calloc((size_t)launch->place_count + 1, sizeof *story->lines),
    };
    return story->terms && story->lines;
}

bool story_tell(struct story *story, const struct walk *walk, const struct story_setting *setting) {
    const struct ladder_file *file = setting->rung->file;
    size_t places = (size_t)walk->launch.place_count + 1;
    struct plot plot = {.story = story,
                        .walk = walk,
                        .marks = calloc(places, sizeof *plot.marks),
                        .segments = calloc(walk->count + 1, sizeof *plot.segments)};
    bool has_memory = open_story(story, walk, setting) && plot.marks && plot.segments;
    has_memory = has_memory && read_marks(&plot, file) && cut_segments(&plot) && find_steps(&plot) &&
                 create_steps(&plot);
    if (has_memory) {
        count(&plot);
        has_memory = find_guards(&plot, file) && follow(&plot, setting);
    }
    free(plot.marks);
    free(plot.segments);
    free(plot.steps);
    free(plot.outside);
    free(plot.passed);
    return has_memory;
}

bool story_parts(const struct walk_event *event) {
    return event->kind == WALK_BRANCH && event->taken && event->taken != event->active;
}

uint32_t story_conflict(const struct story *story, const struct step *step, uint32_t threads[SIMT_LANES]) {
    if (step->worst == SIZE_MAX) return 0;
    const struct walk_event *event = &story->walk->events[step->worst];
    const uint64_t *addresses = walk_addresses(story->walk, event);
    const simt_launch_view *launch = &story->walk->launch;
    uint64_t bank = addresses[__builtin_ctz(event->mask)] / BANK_NBYTES % launch->banks;
    uint32_t count = 0;
    for (uint32_t lane = 0; lane < launch->warp_size; lane++)
        if ((event->mask >> lane & 1) && addresses[lane] / BANK_NBYTES % launch->banks == bank)
            threads[count++] = event->warp * launch->warp_size + lane;
    return count;
}

bool story_uses(const struct story *story, struct cell cell) {
    return cell.term != TERM_NOTHING && cell.term != TERM_UNKNOWN && story->is_used[cell.term];
}

void story_clear(struct story *story) {
    for (size_t i = 0; story->steps && i < story->step_count; i++) {
        free(story->steps[i].active);
        free(story->steps[i].before);
        free(story->steps[i].after);
    }
    free(story->steps);
    free(story->phases);
    free(story->lines);
    free(story->diverged);
    free(story->start);
    free(story->combines);
    free(story->sources);
    free(story->terms);
    free(story->is_used);
    *story = (struct story){0};
}
