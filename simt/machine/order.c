/* Which of two instructions comes first, and whether a loop has a way out, as far as the program's text tells. */
#include <stdlib.h>
#include <string.h>

#include "machine.h"

/* Where threads wait for each other: all of the block or, if that counts, of the warp. */
static bool is_barrier(const char *opcode, bool within_warp) {
    return (!strncmp(opcode, "bar.", 4) || !strncmp(opcode, "barrier.", 8)) &&
           (within_warp || !strstr(opcode, "warp")) && !strstr(opcode, "cluster") && !strstr(opcode, "arrive");
}

static bool ends_path(const struct code *code) {
    static const char *const bases[] = {"ret", "exit", "trap", "brx"};
    for (size_t b = 0; b < sizeof bases / sizeof *bases; b++)
        if (simt_is_base(code->instruction, bases[b])) return !code->has_guard;
    return false;
}

static void reach(unsigned char *reached, uint32_t *list, uint32_t *count, uint32_t pc, uint32_t end) {
    if (pc >= end || reached[pc]) return;
    reached[pc] = 1;
    list[(*count)++] = pc;
}

/* The barriers that no way leads through. */
enum stops { NO_BARRIERS, BARRIERS_OF_BLOCKS, ALL_BARRIERS };

/* Which instructions may be executed after that one, on ways through nothing that stops; up to `to`, if that is one.  The
 * caller's to free; NULL: no memory. */
static unsigned char *reach_from(const simt_event *event, uint32_t from, uint32_t to, enum stops stops) {
    struct launch *launch = event->block->machine;
    const uint32_t end = launch->view.place_count;
    unsigned char *reached = calloc(end, sizeof *reached);
    uint32_t *list = calloc(end, sizeof *list), count = 0;
    if (!reached || !list) simt_launch_no_memory(launch);
    for (uint32_t pc = from, i = 0; reached && list && (to >= end || !reached[to]); pc = list[i++]) {
        const struct code *code = &launch->image->codes[pc];
        const char *opcode = launch->view.places[pc].opcode;
        const bool is_stop = i > 0 && stops != NO_BARRIERS && is_barrier(opcode, stops == ALL_BARRIERS);
        const bool is_passed = code->instruction && !is_stop;
        if (is_passed && code->is_branch) reach(reached, list, &count, code->target, end);
        if (is_passed && !ends_path(code) && (!code->is_branch || code->has_guard)) reach(reached, list, &count, pc + 1, end);
        if (i == count) break;
    }
    if (!list) {
        free(reached);
        reached = NULL;
    }
    free(list);
    return reached;
}

static bool leads_to(const simt_event *event, uint32_t from, uint32_t to, enum stops stops) {
    unsigned char *reached = reach_from(event, from, to, stops);
    const bool is_reached = reached && reached[to];
    free(reached);
    return is_reached;
}

bool simt_may_follow(const simt_event *event, uint32_t from, uint32_t to, bool within_warp) {
    return leads_to(event, from, to, within_warp ? ALL_BARRIERS : BARRIERS_OF_BLOCKS);
}

/* Functions may be called by both sides. */
static bool is_of_kernel(const simt_event *event, uint32_t pc) {
    const struct launch *launch = event->block->machine;
    const struct function *kernel = launch->function;
    return pc >= kernel->begin && pc < kernel->end;
}

bool simt_are_exclusive(const simt_event *event, uint32_t one, uint32_t other) {
    return is_of_kernel(event, one) && is_of_kernel(event, other) && !leads_to(event, one, other, NO_BARRIERS) && !leads_to(event, other, one, NO_BARRIERS);
}

bool simt_may_repeat(const simt_event *event, uint32_t pc) { return leads_to(event, pc, pc, NO_BARRIERS); }

/* ---- loops without a way out */

/* Whether a thread that comes there may leave its function or end.  What is called may end it; not what prints. */
static bool is_way_out(const struct code *code) {
    static const char *const bases[] = {"ret", "exit", "trap", "brkpt", "brx", NULL};
    if (!code->instruction || simt_is_one_of(code->instruction->base, bases)) return true;
    if (!simt_is_base(code->instruction, "call")) return false;
    const struct function *callee = code->callee.function;
    return !callee || callee->has_body || strcmp(callee->name, "vprintf") != 0;
}

/* Whether a way leads out from there, as far as it is known of the instructions that may come next. */
static bool leads_out(const struct function *function, const struct code *codes, const unsigned char *has_way_out, uint32_t pc) {
    const struct code *code = &codes[pc];
    if (is_way_out(code)) return true;
    const bool leads = code->is_branch && (code->target >= function->end || has_way_out[code->target]);
    const bool goes_on = !code->is_branch || code->has_guard;
    return leads || (goes_on && (pc + 1 == function->end || has_way_out[pc + 1]));
}

/* Backwards, as most ways out are behind; again while loops have let more be found. */
static void find_ways_out(const struct function *function, const struct code *codes, unsigned char *has_way_out) {
    bool has_grown;
    do {
        has_grown = false;
        for (uint32_t pc = function->end; pc-- > function->begin;) {
            if (has_way_out[pc] || !leads_out(function, codes, has_way_out, pc)) continue;
            has_way_out[pc] = has_grown = true;
        }
    } while (has_grown);
}

/* The instructions tell, so each function is asked about once. */
bool simt_path_may_end(const struct warp *warp, const struct path *path) {
    struct launch *launch = warp->block->launch;
    const struct function *function = path->frame->function;
    if (path->pc >= function->end) return true;
    pthread_mutex_lock(&launch->lock);
    if (!launch->has_way_out) launch->has_way_out = calloc(launch->view.place_count, sizeof *launch->has_way_out);
    unsigned char *has_way_out = launch->has_way_out;
    /* A function that returns or ends has some, and is known by it. */
    if (has_way_out && !memchr(has_way_out + function->begin, 1, function->end - function->begin))
        find_ways_out(function, launch->image->codes, has_way_out);
    const bool may = !has_way_out || has_way_out[path->pc];
    pthread_mutex_unlock(&launch->lock);
    return may;
}

/* ---- the loop around an instruction */

static bool goes_round(const simt_event *event, uint32_t pc, uint32_t begin, uint32_t back) {
    const bool is_inside = pc == back || leads_to(event, pc, back, NO_BARRIERS);
    return is_inside && (pc == begin || leads_to(event, begin, pc, NO_BARRIERS));
}

/* Whether a thread that comes there may not come back to the loop's begin. */
static bool is_exit(const simt_event *event, uint32_t pc, const struct loop *loop) {
    const struct launch *launch = event->block->machine;
    const struct code *code = &launch->image->codes[pc];
    if (!code->instruction || !code->has_guard) return false;
    if (!code->is_branch) return simt_is_base(code->instruction, "ret") || simt_is_base(code->instruction, "exit");
    const uint32_t ways[] = {code->target, pc + 1};
    bool leaves = false;
    for (int w = 0; w < 2 && !leaves; w++)
        leaves = ways[w] != loop->begin && ways[w] != loop->back && !leads_to(event, ways[w], loop->back, NO_BARRIERS);
    return leaves;
}

bool simt_loop_of(const simt_event *event, uint32_t pc, uint32_t length_least, struct loop *loop) {
    const struct launch *launch = event->block->machine;
    const uint32_t end = launch->view.place_count;
    *loop = (struct loop){NO_PC, NO_PC, NO_PC};
    for (uint32_t back = 0; back < end && pc < end; back++) {
        const struct code *code = &launch->image->codes[back];
        const uint32_t length = back - code->target + 1;
        if (!code->is_branch || code->target > back || length < length_least || !goes_round(event, pc, code->target, back)) continue;
        if (loop->back == NO_PC || length <= loop->back - loop->begin) *loop = (struct loop){code->target, back, NO_PC};
    }
    for (uint32_t at = 0; loop->back != NO_PC && at < end && loop->exit == NO_PC; at++)
        if (goes_round(event, at, loop->begin, loop->back) && is_exit(event, at, loop)) loop->exit = at;
    return loop->back != NO_PC;
}

/* ---- loops without a barrier */

static uint32_t first_of_loop(const simt_event *event, uint32_t pc, bool within_warp) {
    const struct launch *launch = event->block->machine;
    uint32_t first = UINT32_MAX;
    if (!simt_may_follow(event, pc, pc, within_warp)) return first;
    for (uint32_t back = pc; back < launch->view.place_count; back++) {
        const struct code *code = &launch->image->codes[back];
        if (!code->is_branch || code->target > pc || code->target >= first) continue;
        if (simt_may_follow(event, pc, code->target, within_warp) && simt_may_follow(event, code->target, pc, within_warp)) first = code->target;
    }
    return first;
}

/* Whether the instructions are one line's, and of one kind: as of two rounds of a loop that the compiler has unrolled. */
static bool is_of_same_line(const simt_place *one, const simt_place *other) {
    return one->file && other->file && one->line == other->line && !strcmp(one->file, other->file) && !strncmp(one->opcode, other->opcode, 2);
}

static bool is_reached_again(const simt_launch_view *view, const unsigned char *reached, const simt_place *place, uint32_t pc) {
    while (++pc < view->place_count)
        if (reached[pc] && is_of_same_line(place, &view->places[pc])) return true;
    return false;
}

/* The first line that stores in several rounds of the unrolled loop that begins there; UINT32_MAX: it is none. */
static uint32_t line_of_unrolled(const simt_event *event, uint32_t begin, bool within_warp) {
    const simt_launch_view *view = &((const struct launch *)event->block->machine)->view;
    unsigned char *reached = reach_from(event, begin, UINT32_MAX, within_warp ? ALL_BARRIERS : BARRIERS_OF_BLOCKS);
    uint32_t line = UINT32_MAX, stored = begin;
    if (reached) reached[begin] = 1;
    for (uint32_t pc = 0; reached && pc < view->place_count; pc++) {
        const simt_place *place = &view->places[pc];
        if (!reached[pc] || !place->file || strncmp(place->opcode, "st", 2) || place->line >= line) continue;
        if (!is_reached_again(view, reached, place, pc)) continue;
        line = place->line;
        stored = pc;
    }
    /* A line that loads twice is no loop: another round comes behind a store. */
    const bool is_repeated = line != UINT32_MAX && is_reached_again(view, reached, &view->places[begin], stored);
    free(reached);
    return is_repeated ? line : UINT32_MAX;
}

uint32_t simt_open_loop_of(const simt_event *event, uint32_t pc, bool within_warp) {
    enum { UNROLLED = 1u << 30 };
    const simt_place *places = event->block->launch->places;
    uint32_t begin = 0;
    const uint32_t first = first_of_loop(event, pc, within_warp);
    if (first != UINT32_MAX) return first + 1;
    while (begin < pc && !(is_of_same_line(&places[begin], &places[pc]) && simt_may_follow(event, begin, pc, within_warp))) begin++;
    const uint32_t line = line_of_unrolled(event, begin, within_warp);
    return line == UINT32_MAX ? 0 : UNROLLED + line;
}
