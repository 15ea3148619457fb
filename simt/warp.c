/* One warp's turn: which path runs, and for how long. */
#include "machine.h"

/* Instructions that a path may execute while others of its warp are ready, before they get a turn; and those that
 * a warp may execute with nothing arriving before lanes that wait for spinning ones go on. */
enum { PATH_BUDGET = 4096, SPINNING_MAX = 1 << 22 };

static uint64_t random_next(struct block *block) { /* splitmix64, Steele, Lea, Flood 2014 */
    uint64_t z = block->random += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

static struct path *first_ready(const struct warp *warp) {
    struct path *path = warp->leaves;
    while (path && path->state != PATH_READY) path = path->next;
    return path;
}

static bool others_are_ready(const struct warp *warp, const struct path *path) {
    for (const struct path *other = warp->leaves; other; other = other->next)
        if (other != path && other->state == PATH_READY) return true;
    return false;
}

/* Where the path goes on after it stands where it leads, or behind the last instruction of its function. */
static void settle(struct warp *warp, struct path *path) {
    if (path->pc == path->reconvergence) {
        warp->spinning = 0;
        simt_path_arrive(warp, path);
    } else simt_path_return(warp, path, path->mask);
}

/* What the schedule does before an instruction: false if another path is to run first. */
static bool schedule(struct warp *warp, struct path *path, simt_schedule order) {
    const struct code *code = &warp->block->launch->image->codes[path->pc];
    bool is_alone = (path->mask & (path->mask - 1)) == 0;
    if (order == SIMT_SPLIT && !is_alone && !code->is_synchronising) {
        struct path *rest = simt_path_split(warp, path, path->mask & (path->mask - 1));
        if (rest) simt_path_rotate(warp, rest);
        return rest != NULL;
    }
    if (order == SIMT_RANDOM) {
        uint64_t draw = random_next(warp->block);
        if (!is_alone && !code->is_synchronising && draw % 16 == 0) {
            uint32_t lanes = path->mask & (uint32_t)(draw >> 32);
            if (lanes && lanes != path->mask && !simt_path_split(warp, path, lanes)) return false;
        }
        if (draw >> 4 & 1) {
            simt_path_rotate(warp, path);
            return false;
        }
    }
    return true;
}

static inline uint32_t lanes_count(uint32_t lanes) {
    return lanes == UINT32_MAX ? SIMT_LANES : (uint32_t)__builtin_popcount(lanes); /* most warps are full */
}

static inline void run_lanes(unsigned char *const bases[SLOT_BASES], const struct code *code, uint32_t mask) {
    void *operands[CODE_OPERANDS]; /* nearly all have four at most; the slots of those that are not there are 0 */
    operands[0] = slot_at(bases, code->operands[0]);
    operands[1] = slot_at(bases, code->operands[1]);
    operands[2] = slot_at(bases, code->operands[2]);
    operands[3] = slot_at(bases, code->operands[3]);
    if (__builtin_expect(code->operand_count > 4, 0))
        for (uint32_t o = 4; o < code->operand_count; o++) operands[o] = slot_at(bases, code->operands[o]);
    code->lanes(operands, mask);
}

/* Runs the path until it parts, waits, arrives or has left, or its budget is spent. */
static void run_path(struct warp *warp, struct path *path, uint64_t budget, simt_schedule order) {
    struct block *block = warp->block;
    struct launch *launch = block->launch;
    const struct code *const codes = launch->image->codes;
    const uint32_t function_end = path->frame->function->end;
    const struct hook *const first = launch->instruction.hooks, *const last = first + launch->instruction.count;
    const uint64_t end = block->tally.instructions + budget;
    unsigned char *const bases[SLOT_BASES] = {
        [IN_FRAME] = path->frame->registers, [IN_CONSTANTS] = warp->constants, [IN_WARP] = warp->special};
    simt_event event = {.block = &block->view, .warp = warp->index};
    do {
        uint32_t pc = path->pc, mask = path->mask;
        if (pc == path->reconvergence || pc >= function_end) {
            settle(warp, path);
            return;
        }
        if (order != SIMT_LOCKSTEP) {
            if (!schedule(warp, path, order)) return;
            mask = path->mask;
        }
        const struct code *code = &codes[pc];
        event.pc = pc;
        event.active = mask;
        if (code->has_guard) {
            uint32_t guard = *(const uint32_t *)(const void *)slot_at(bases, code->guard);
            mask &= code->guard_is_negated ? ~guard : guard;
        }
        event.mask = mask;
        block->tally.instructions++;
        block->tally.active_lanes += lanes_count(event.active);
        block->tally.thread_instructions += lanes_count(mask);
        block->tally.approximate += code->is_approximate;
        for (const struct hook *hook = first; hook < last; hook++)
            hook->observer->instruction(block->states + hook->state, &event);
        if (code->lanes) {
            if (mask) run_lanes(bases, code, mask);
            path->pc = pc + 1;
        } else if (mask || code->is_branch) {
            enum outcome outcome = code->execute(warp, path, code, mask);
            if (outcome == OUTCOME_LEFT) return;
            if (outcome == OUTCOME_NEXT) path->pc = pc + 1;
        } else path->pc = pc + 1;
    } while (block->tally.instructions < end);
}

/* Runs the warp until all that is left of it waits, or about `budget` instructions are over. */
enum progress simt_warp_run(struct warp *warp, uint64_t budget) {
    struct block *block = warp->block;
    const uint64_t begin = block->tally.instructions;
    const simt_schedule order = block->launch->request->schedule;
    while (block->tally.instructions - begin < budget) {
        struct path *path = first_ready(warp);
        if (!path || simt_is_stopped(block->launch)) break;
        uint64_t turn = budget < PATH_BUDGET ? budget : PATH_BUDGET;
        uint64_t before = block->tally.instructions;
        run_path(warp, path, turn, order);
        warp->spinning += block->tally.instructions - before;
        if (block->tally.instructions - before >= turn) {
            path = first_ready(warp);
            if (path && others_are_ready(warp, path)) simt_path_rotate(warp, path);
        }
        /* Since sm_70 every lane makes progress in the end: those that wait for lanes that spin, say on the lock that
         * they hold themselves, go on. */
        if (warp->spinning > SPINNING_MAX) {
            simt_path_release_waiting(warp, false);
            warp->spinning = 0;
        }
    }
    if (!warp->live) return PROGRESS_DONE;
    return block->tally.instructions != begin ? PROGRESS_YES : PROGRESS_WAITING;
}
