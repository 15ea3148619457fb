/* Loops that cannot end.
 *
 * How a path continues is decided by few of its registers: those that branches, guards and addresses depend on.  If
 * lanes stand at one instruction twice with the same values in all of these, and nothing else that these depend on has
 * changed, they will stand there for ever.  Where they depend on registers alone, that is certain whatever others do;
 * where they depend on memory, it is so while nobody writes there: neither others nor they themselves, who may write
 * elsewhere in each round, or change what they read and change it back (effects.h).  Nothing is ever taken for endless
 * that could end: what cannot be decided here is left to the limit of instructions. */
#include <stdlib.h>
#include <string.h>

#include "deciders.h"
#include "effects.h"
#include "rounds.h"

struct search {
    struct warp *warp;
    struct deciders deciders;
    struct recording *recording;
    const struct frame *frame;
    uint32_t lanes; /* that stay together */
    bool have_split; /* and met again, since the round began */
    uint32_t steps; /* left */
    uint32_t pc;
    uint32_t registers[DECIDERS_MAX + 1], register_count;
    uint64_t values[DECIDERS_MAX + 1][SIMT_LANES], next_values[DECIDERS_MAX + 1][SIMT_LANES]; /* a round later */
    uint32_t returns; /* to that instruction, since then */
    bool is_asked;    /* whether it counts */
    struct round round;
    uint64_t rounds; /* that it goes on for, which is longer than the limit; 0: it repeats itself */
};

static struct path *first_ready(const struct warp *warp) {
    struct path *path = warp->leaves;
    while (path && path->state != PATH_READY) path = path->next;
    return path;
}

/* While the warp waits, at a barrier say, the others of its block run. */
static struct path *wait_for_ready(struct warp *warp) {
    enum { TURN = 64, ROUNDS = 64 };
    struct block *block = warp->block;
    struct path *path = first_ready(warp);
    bool goes_on = true;
    for (uint32_t round = 0; !path && goes_on && round < ROUNDS; round++) {
        goes_on = false;
        for (uint32_t w = 0; !path && w < block->warp_count; w++) {
            struct warp *other = &block->warps[w];
            if (other != warp && other->live) goes_on |= simt_warp_run(other, TURN) == PROGRESS_YES;
            path = first_ready(warp);
        }
    }
    return path;
}

static bool is_ready(const struct search *search) {
    const struct path *path = search->warp->leaves;
    while (path && (path->state != PATH_READY || !(path->mask & search->lanes))) path = path->next;
    return path != NULL;
}

/* A path of the lanes.  While they wait, the others of their warp continue, too. */
static struct path *own_path(struct search *search) {
    enum { STEPS_OF_OTHERS = 1 << 12 };
    struct warp *warp = search->warp;
    struct path *path = wait_for_ready(warp);
    for (uint32_t step = 0; path && !(path->mask & search->lanes) && step < STEPS_OF_OTHERS; step++) {
        if (is_ready(search)) simt_path_rotate(warp, path);
        else simt_warp_step(warp, path);
        path = wait_for_ready(warp);
    }
    return path;
}

static bool is_called_by(const struct frame *frame, const struct frame *caller) {
    while (frame && frame != caller) frame = frame->caller;
    return frame != NULL;
}

/* The path that runs next, if the search continues with it.  Where lanes have met others, it continues with all; what they
 * call is executed on the way. */
static struct path *next_path(struct search *search) {
    struct path *path = own_path(search);
    for (; path && path->frame != search->frame && search->steps && is_called_by(path->frame, search->frame) && !simt_is_stopped(search->warp->block->launch);
         search->steps--) {
        search->have_split |= path->mask != search->lanes;
        simt_warp_step(search->warp, path);
        path = own_path(search);
    }
    if (!path || !search->steps || path->frame != search->frame || simt_is_stopped(search->warp->block->launch))
        return NULL;
    if ((path->mask & search->lanes) == search->lanes) search->lanes = path->mask;
    search->steps--;
    return path->mask & ~search->lanes ? NULL : path;
}

static bool mark_executed(struct search *search, const struct path *path, bool is_new_allowed) {
    const struct function *function = search->deciders.function;
    if (path->pc >= function->end) return true;
    uint32_t length = search->warp->block->launch->image->codes[path->pc].straight;
    unsigned char *marks = search->deciders.is_executed + (path->pc - function->begin);
    if (!length) length = 1;
    if (!is_new_allowed && memchr(marks, 0, length)) return false;
    memset(marks, 1, length);
    return true;
}

/* Executes a while, to learn which instructions the lanes repeat. */
static bool learn(struct search *search, uint32_t steps) {
    struct path *path;
    search->steps = steps;
    while ((path = next_path(search))) {
        mark_executed(search, path, true);
        simt_warp_step(search->warp, path);
    }
    return search->steps == 0;
}

static bool list_deciders(struct search *search) {
    const struct deciders *deciders = &search->deciders;
    search->register_count = 0;
    for (uint32_t r = 0; r <= deciders->function->register_count; r++) {
        if (!deciders->is_decider[r]) continue;
        const bool is_carry = r == deciders->function->register_count;
        const bool is_pair = !is_carry && deciders->function->registers[r].type == TYPE_B128; /* more than value_of tells */
        if (search->register_count == DECIDERS_MAX || is_pair) return false;
        search->registers[search->register_count++] = r;
    }
    return true;
}

static uint64_t value_of(const struct search *search, const struct path *path, uint32_t index, uint32_t lane) {
    const struct function *function = search->deciders.function;
    const struct layout *layout = path->frame->layout;
    bool is_carry = index == function->register_count;
    enum width width = is_carry ? WIDTH_PREDICATE : simt_width(function->registers[index].type);
    return lane_get(slot_lanes(path, is_carry ? layout->carry : layout->registers[index]), width, lane);
}

static void read_values(const struct search *search, const struct path *path, uint64_t (*values)[SIMT_LANES]) {
    for (uint32_t r = 0; r < search->register_count; r++)
        SIMT_FOR_EACH_LANE (lane, search->lanes)
            values[r][lane] = value_of(search, path, search->registers[r], lane);
}

static void remember(struct search *search, const struct path *path) {
    search->pc = path->pc;
    search->round.count = search->returns = 0;
    search->have_split = search->is_asked = false;
    simt_effects_keep(search->recording);
    read_values(search, path, search->values);
}

static bool is_as_before(const struct search *search, const struct path *path) {
    if (search->deciders.depends_on_clock) return false; /* it goes on, though it need not show in the registers yet */
    if (path->pc != search->pc || path->mask != search->lanes) return false;
    for (uint32_t r = 0; r < search->register_count; r++)
        SIMT_FOR_EACH_LANE (lane, search->lanes)
            if (search->values[r][lane] != value_of(search, path, search->registers[r], lane)) return false;
    return true;
}

/* Whether the lanes have changed what they read that decides, and not changed it back: the next round may differ.  They
 * must have been together: which of them is first may depend on more than is compared.  Where it has just turned out what
 * they read or store there, that is not compared yet, and the loop is looked at again. */
static bool leaves_changes(struct search *search) {
    struct recording *recording = search->recording;
    if (recording->has_learnt || !simt_ranges_meet(&recording->reads, &recording->writes)) return false;
    recording->is_undone = search->lanes == search->warp->live && !search->have_split && simt_effects_are_undone(recording);
    return !recording->is_undone;
}

/* Adds what was executed from pc on, until the path stood where it does now; from there on, nothing more is known of a
 * path of fewer lanes. */
static void add_to_round(struct search *search, const struct path *path, uint32_t pc) {
    struct round *round = &search->round;
    const uint32_t straight = search->deciders.function->end > pc ? search->warp->block->launch->image->codes[pc].straight : 0;
    const uint32_t count = path->pc > pc && path->pc <= pc + straight ? path->pc - pc : 1;
    for (uint32_t i = 0; i < count; i++, round->count++)
        if (round->count < ROUND_MAX) round->pcs[round->count] = pc + i;
    if (path->mask != search->lanes) round->count = ROUND_MAX + 1;
}

/* Whether the lanes, where they were before, will come here again until the limit is reached: what decides changes by
 * the same step in each round, and the end is far. */
static bool outlasts_limit(struct search *search, const struct path *path) {
    const struct deciders *deciders = &search->deciders;
    const struct launch *launch = search->warp->block->launch;
    struct round *round = &search->round;
    if (path->pc != search->pc || path->mask != search->lanes || deciders->meets_block || deciders->meets_others) return false;
    read_values(search, path, search->next_values);
    round->deciders = deciders;
    round->codes = launch->image->codes;
    round->limit = launch->limit;
    round->lanes = search->lanes;
    round->registers = search->registers;
    round->register_count = search->register_count;
    round->begin = (const uint64_t(*)[SIMT_LANES])search->values;
    round->end = (const uint64_t(*)[SIMT_LANES])search->next_values;
    search->rounds = simt_rounds_left(round);
    if (search->rounds > launch->limit / round->count) return true;
    search->rounds = 0;
    return false;
}

/* Whether some register has made the same step in all rounds so far, as a counter does: it does not come back soon. */
static bool has_counter(const struct search *search, const struct path *path) {
    bool has = false;
    for (uint32_t r = 0; r < search->register_count && !has; r++) {
        bool is_same = true, moves = false;
        SIMT_FOR_EACH_LANE (lane, search->lanes) {
            const uint64_t step = search->next_values[r][lane] - search->values[r][lane];
            const uint64_t way = value_of(search, path, search->registers[r], lane) - search->values[r][lane];
            is_same &= (uint32_t)(step * search->returns - way) == 0;
            moves |= (uint32_t)step != 0;
        }
        has = is_same && moves;
    }
    return has;
}

/* Whether it is in vain to look further than the rounds of most loops are long: asked once. */
static bool goes_elsewhere(struct search *search, const struct path *path, bool is_long) {
    if (path->pc != search->pc || path->mask != search->lanes) return false;
    search->returns++;
    const bool is_asked = is_long && !search->is_asked;
    search->is_asked |= is_asked;
    return is_asked && has_counter(search, path);
}

/* Whether a branch was executed: one may lead to itself. */
static bool step_through_branch(struct warp *warp, struct path *path) {
    const struct launch *launch = warp->block->launch;
    const bool is_branch = path->pc < path->frame->function->end && launch->image->codes[path->pc].is_branch;
    const uint64_t before = warp->block->tally.instructions;
    simt_warp_step(warp, path);
    return is_branch && warp->block->tally.instructions != before;
}

/* How far to look for what has not come back within that many steps: a generator's numbers come back, too (Brent 1980). */
static uint32_t longest(const struct search *search, uint32_t steps) {
    enum { LONG = 1 << 18, SHARE = 2 };
    const uint64_t executed = search->warp->executed, share = executed / SHARE;
    return executed < LONG || search->deciders.depends_on_clock || share < steps ? steps : share < UINT32_MAX ? (uint32_t)share : UINT32_MAX;
}

/* Executes on until the lanes are where they were, and have been elsewhere: a step may be none, by the schedule, or
 * wait.  false: not within that many steps, or they left the loop. */
static bool comes_again(struct search *search, uint32_t steps, const struct path **where) {
    const uint32_t most = longest(search, steps);
    struct path *path;
    const uint32_t lanes = search->lanes;
    bool has_begun = false, has_moved = false, is_first = true;
    uint32_t pc = 0;
    search->steps = most;
    while ((path = next_path(search)) && search->lanes == lanes && mark_executed(search, path, false)) {
        *where = path;
        if (has_begun && is_first) add_to_round(search, path, pc);
        has_moved |= path->pc != search->pc;
        search->have_split |= path->mask != lanes;
        if (has_begun && has_moved && is_as_before(search, path) && !leaves_changes(search)) return true;
        if (has_begun && has_moved && is_first && path->pc == search->pc) {
            if (outlasts_limit(search, path)) return true;
            is_first = false;
        }
        if (has_begun && has_moved && goes_elsewhere(search, path, most - search->steps > steps)) return false;
        if (!has_begun && path->mask == lanes) {
            remember(search, path);
            has_begun = true;
            has_moved = false;
        }
        pc = path->pc;
        has_moved |= step_through_branch(search->warp, path);
    }
    return false;
}

static enum recurrence forever(struct search *search) {
    const struct code *codes = search->warp->block->launch->image->codes;
    if (search->rounds) return RECURRENCE_BEYOND_LIMIT;
    if (simt_deciders_read_memory(&search->deciders, codes)) return RECURRENCE_FOREVER_AS_READ;
    return search->register_count ? RECURRENCE_FOREVER : RECURRENCE_FOREVER_UNASKED;
}

/* One round, of which it is noted what it reads and writes. */
static enum recurrence record_round(struct search *search, uint32_t steps, const struct path **where) {
    struct deciders *deciders = &search->deciders;
    struct recording *recording = search->recording;
    simt_deciders_trace(deciders, search->warp->block->launch->image->codes);
    const bool is_apart = search->lanes != search->warp->live;
    if (deciders->is_unknown || (deciders->depends_on_warp && is_apart) || !list_deciders(search)) return RECURRENCE_NONE;
    recording->marks = deciders->marks;
    const bool has_come = comes_again(search, steps, where);
    recording->marks = NULL;
    if (!has_come) return RECURRENCE_NONE;
    search->warp->rounds = search->rounds;
    search->warp->circle = search->returns;
    if (!deciders->depends_on_memory) return forever(search);
    bool may_free_others = deciders->meets_others || ((deciders->meets_block || deciders->meets_warp) && is_apart);
    search->warp->meets_block |= deciders->meets_block;
    return may_free_others ? RECURRENCE_NONE : RECURRENCE_UNLESS_CHANGED;
}

/* Begins to note what is done from here on. */
static void begin_recording(struct warp *warp, struct recording *recording) {
    warp->block->changes += recording->has_new;
    recording->has_new = recording->has_learnt = recording->is_undone = false;
    simt_ranges_clear(&recording->writes);
    recording->changes = warp->block->changes;
    warp->recording = recording;
}

/* The leaf that is ready first.  A loop that writes where it reads what decides is looked at again: what it writes there
 * decides, too, and may be what is there already. */
static enum recurrence examine(struct search *search, struct recording *recording, uint32_t steps,
                               const struct path **where) {
    enum { ROUNDS = 6 }; /* in each of which one store more may be found to decide */
    struct warp *warp = search->warp;
    const bool is_first = !warp->recording;
    enum recurrence recurrence = RECURRENCE_NONE;
    if (!learn(search, steps)) return recurrence;
    for (uint32_t round = 0; round < (is_first ? ROUNDS : 1); round++) {
        if (is_first) begin_recording(warp, recording);
        recurrence = record_round(search, steps, where);
        const bool has_settled = recording->is_undone || !simt_ranges_meet(&recording->reads, &recording->writes);
        if (recurrence != RECURRENCE_UNLESS_CHANGED || has_settled) break;
    }
    return recurrence;
}

/* The outermost frame to which the lanes return within that many steps: the loop may be in a caller of the current function. */
static const struct frame *frame_of_loop(struct search *search, uint32_t steps) {
    struct path *path = own_path(search);
    const struct frame *outermost = path ? path->frame : NULL;
    uint32_t depth = path ? path->frame->depth : 0; /* its own: it may be gone */
    for (search->steps = steps; path && depth && search->steps; search->steps--) {
        simt_warp_step(search->warp, path);
        path = own_path(search);
        if (!path || path->frame->depth >= depth) continue;
        outermost = path->frame;
        depth = outermost->depth;
    }
    return path && is_called_by(path->frame, outermost) ? outermost : NULL;
}

static enum recurrence examine_leaf(struct warp *warp, struct path *leaf, struct recording *recording, uint32_t steps,
                                    uint32_t *lanes, const struct path **where) {
    struct search *search = calloc(1, sizeof *search);
    enum recurrence recurrence = RECURRENCE_NONE;
    if (!search) return recurrence;
    search->warp = warp;
    search->lanes = leaf->mask;
    search->recording = recording;
    search->frame = frame_of_loop(search, steps);
    const struct function *function = search->frame ? search->frame->function : warp->block->launch->function;
    *recording = (struct recording){.reads = recording->reads,
                                    .writes = recording->writes,
                                    .others = recording->others,
                                    .waits_for = recording->waits_for,
                                    .has_new = recording->has_new,
                                    .changes = recording->changes,
                                    .warp = warp,
                                    .function = function,
                                    .depth = search->frame ? search->frame->depth : 0};
    if (simt_deciders_create(&search->deciders, function) && search->frame)
        recurrence = examine(search, recording, steps, where);
    *lanes = search->lanes;
    recording->marks = NULL;
    simt_effects_forget(recording);
    simt_deciders_destroy(&search->deciders);
    free(search);
    return recurrence;
}

/* One leaf after another, until all of those that were ready have been looked at. */
static enum recurrence examine_leaves(struct warp *warp, struct recording *recording, uint32_t steps,
                                      const struct path **where) {
    uint32_t rest = 0, lanes = 0;
    for (const struct path *path = warp->leaves; path; path = path->next)
        if (path->state == PATH_READY) rest |= path->mask;
    while (rest) {
        struct path *leaf = first_ready(warp);
        for (uint32_t turn = 0; leaf && !(leaf->mask & rest) && turn < SIMT_LANES; turn++) {
            simt_path_rotate(warp, leaf);
            leaf = first_ready(warp);
        }
        if (!leaf || !(leaf->mask & rest)) return RECURRENCE_NONE;
        enum recurrence recurrence = examine_leaf(warp, leaf, recording, steps, &lanes, where);
        if (recurrence != RECURRENCE_UNLESS_CHANGED) return recurrence;
        rest &= ~lanes;
    }
    return *where && warp->block->changes == recording->changes ? RECURRENCE_UNLESS_CHANGED : RECURRENCE_NONE;
}

enum recurrence simt_recurrence_find(struct warp *warp, uint32_t steps, const struct path **where) {
    struct recording recording = {.warp = warp};
    *where = NULL;
    if (simt_path_release_waiting(warp, false)) return RECURRENCE_LATER;
    warp->block->has_examined = true;
    warp->block->witness = &recording;
    warp->meets_block = false;
    if (warp->awaited) warp->awaited->lanes = 0;
    wait_for_ready(warp);
    enum recurrence recurrence = examine_leaves(warp, &recording, steps, where);
    warp->recording = NULL;
    warp->block->witness = NULL;
    if (recurrence != RECURRENCE_UNLESS_CHANGED) warp->block->changes += recording.has_new;
    else if (!simt_effects_accept(warp, &recording)) recurrence = RECURRENCE_NONE;
    simt_ranges_clear(&recording.reads);
    simt_ranges_clear(&recording.writes);
    simt_ranges_clear(&recording.others);
    return recurrence;
}
