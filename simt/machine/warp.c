/* One warp's turn: which path runs, and for how long. */
#include "executed.h"
#include "undefined.h"

/* Instructions that a path may execute while others of its warp are ready, before they get a turn; and those that
 * a warp may execute with nothing arriving before lanes that wait for spinning ones continue. */
enum { PATH_BUDGET = 4096, SPINNING_MAX = 1 << 20 };

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

/* Ends a path that has reached its reconvergence point or the end of its function. */
static void settle(struct warp *warp, struct path *path) {
    if (path->pc == path->reconvergence) {
        warp->spinning = 0;
        simt_path_arrive(warp, path);
    } else simt_path_return(warp, path, path->mask);
}

/* Warp instructions that a block takes from the launch's at a time. */
enum { GRANT = 1 << 14 };

/* Whether most of what the warp does is to wait for memory to change. */
static bool spins(const struct warp *warp) {
    enum { LOOP_MAX = 64 };
    return (uint64_t)warp->polls * LOOP_MAX > warp->executed;
}

/* Whether the path may execute one more instruction, where the block has executed all that it was allowed. */
static __attribute__((noinline)) bool ask_for_more(struct warp *warp, const struct path *path) {
    struct block *block = warp->block;
    struct launch *launch = block->launch;
    block->allowed += simt_launch_take(launch, GRANT);
    if (launch->machine->notice) simt_notice_slow(warp, path, spins(warp));
    if (simt_is_cancelled(launch)) return false;
    if (block->allowed > block->tally.instructions && !simt_block_is_over(block)) return true;
    block->is_starved = true;
    if (!launch->is_alone) return false;
    simt_limit_say(warp, path, spins(warp));
    return false;
}

/* Whether the path waits now, where it has not been let go. */
static bool hold(const struct launch *launch, struct path *path) {
    const bool is_held = launch->paces[path->pc].is_held && !path->is_let_go;
    path->is_let_go = false;
    if (is_held) path->state = PATH_HELD;
    return is_held;
}

uint32_t simt_warp_first_held(const struct warp *warp) {
    uint32_t first = UINT32_MAX;
    for (const struct path *path = warp->leaves; path; path = path->next)
        if (path->state == PATH_HELD && path->pc < first) first = path->pc;
    return first;
}

void simt_warp_let_go(struct warp *warp, uint32_t pc) {
    for (struct path *path = warp->leaves; path; path = path->next) {
        if (path->state != PATH_HELD || path->pc != pc) continue;
        path->state = PATH_READY;
        path->is_let_go = true;
    }
}

/* Applies the schedule before an instruction; false: another path runs first. */
static bool schedule(struct warp *warp, struct path *path, simt_schedule order) {
    if (order == SIMT_HELD) return !hold(warp->block->launch, path);
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

static inline void count(struct block *block, uint32_t pc, uint32_t active, uint32_t mask) {
    const uint64_t lanes = lane_count(active), threads = mask == active ? lanes : lane_count(mask);
    block->tally.instructions++;
    block->tally.active_lanes += lanes;
    block->tally.thread_instructions += threads;
    if (block->executed.counts) simt_executed_add(&block->executed, pc, lanes, threads);
}

static inline void count_run(struct block *block, uint32_t pc, uint32_t instructions, uint32_t mask) {
    const uint64_t lanes = lane_count(mask);
    block->tally.instructions += instructions;
    block->tally.active_lanes += instructions * lanes;
    block->tally.thread_instructions += instructions * lanes;
    if (block->executed.counts) simt_executed_add_run(&block->executed, pc, lanes);
}

static __attribute__((noinline)) void notify_instruction(struct warp *warp, const struct path *path, uint32_t mask) {
    const simt_event event = simt_event_of(warp, path, mask);
    SIMT_NOTIFY(warp->block->launch, warp->block, instruction, &event);
}

static inline bool execute(struct warp *warp, struct path *path, const struct code *code, uint32_t mask) {
    enum outcome outcome = OUTCOME_NEXT;
    if (code->lanes) {
        if (mask) code->lanes((struct lane_operands){path->frame->registers, &code->call}, mask);
    } else if (mask || code->is_branch) outcome = code->execute(warp, path, code, mask);
    if (outcome == OUTCOME_NEXT) path->pc++;
    return outcome != OUTCOME_LEFT;
}

static __attribute__((noinline)) bool execute_undefined(struct warp *warp, struct path *path, const struct code *code, uint32_t mask) {
    simt_undefined_follow(warp, path, code, mask);
    if (!execute(warp, path, code, mask)) return false;
    simt_undefined_stored(warp, path, code);
    return true;
}

/* Executes one instruction.  false: the path has parted, waits, or is gone. */
static inline bool step(struct warp *warp, struct path *path, const struct code *code, bool is_watched) {
    uint32_t mask = path->mask;
    if (code->has_guard) {
        uint32_t guard = *(const uint32_t *)slot_lanes(path, code->guard);
        mask &= code->guard_is_negated ? ~guard : guard;
    }
    count(warp->block, path->pc, path->mask, mask);
    if (code->is_approximate) warp->block->tally.approximate++;
    if (is_watched) notify_instruction(warp, path, mask);
    if (path->frame->undefined) return execute_undefined(warp, path, code, mask);
    return execute(warp, path, code, mask);
}

/* Executes what comes before anything but lane operations does. */
static inline void go_straight(struct warp *warp, struct path *path, const struct code *code, uint8_t straight) {
    const struct code *const end = code + straight;
    unsigned char *const registers = path->frame->registers;
    const uint32_t mask = path->mask;
    count_run(warp->block, path->pc, straight, mask);
    path->pc += straight;
    for (; code < end; code++) code->lanes((struct lane_operands){registers, &code->call}, mask);
}

static bool can_run(const struct block *block) { return !block->is_starved && !simt_is_stopped(block->launch); }

/* What a path runs for before others are looked at, in counts of the block's instructions. */
struct turn {
    uint64_t begin, length, end_of_all; /* of the turns of the warp's paths */
    uint32_t polls, live;               /* the warp's when it began */
};

static struct turn turn_of(const struct warp *warp, uint64_t length, uint64_t end_of_all) {
    return (struct turn){warp->block->tally.instructions, length, end_of_all, warp->polls, warp->live};
}

/* Whether others than the warp must continue before it gets any further, as far as its polls tell. */
static bool has_polled(const struct warp *warp, const struct turn *turn) {
    return warp->polls / POLLS_TURN > turn->polls / POLLS_TURN || warp->idle >= lane_count(warp->live);
}

/* The path whose turn it is where the schedule has passed one over, if nothing else has happened; it begins here. */
static struct path *pass_turn(struct warp *warp, struct turn *turn) {
    const uint64_t now = warp->block->tally.instructions, executed = now - turn->begin;
    if (now >= turn->end_of_all || has_polled(warp, turn) || warp->live != turn->live || warp->spinning + executed > SPINNING_MAX ||
        !can_run(warp->block))
        return NULL;
    warp->spinning += executed;
    turn->begin = now;
    return first_ready(warp);
}

/* Into single lanes, as far as it can be. */
static bool is_split(const struct path *path, simt_schedule order) {
    return order == SIMT_SPLIT && !(path->mask & (path->mask - 1));
}

/* Runs the path, and others that the schedule has run instead, until one parts, waits, arrives or has left, or its turn
 * is over. */
static inline __attribute__((always_inline)) void run_in_order(struct warp *warp, struct path *path, struct turn *turn,
                                                               simt_schedule order) {
    const struct launch *launch = warp->block->launch;
    const struct block *block = warp->block;
    const struct code *const codes = launch->image->codes;
    const struct pace *const paces = launch->paces;
    uint32_t function_end = path->frame->function->end;
    uint64_t end = turn->begin + turn->length;
    bool is_single = false;
    do {
        if (path->pc == path->reconvergence || path->pc >= function_end) {
            settle(warp, path);
            return;
        }
        if (block->tally.instructions >= block->allowed && !ask_for_more(warp, path)) return;
        if (order != SIMT_LOCKSTEP) is_single = is_split(path, order);
        if (order != SIMT_LOCKSTEP && !is_single && !schedule(warp, path, order)) {
            path = pass_turn(warp, turn);
            if (!path) return;
            function_end = path->frame->function->end;
            end = turn->begin + turn->length;
            continue;
        }
        const struct code *code = &codes[path->pc];
        const struct pace pace = paces[path->pc];
        const uint64_t now = block->tally.instructions;
        if (pace.straight && !path->frame->undefined && pace.straight <= block->allowed - now &&
            (order == SIMT_LOCKSTEP || (is_single && pace.straight <= end - now)))
            go_straight(warp, path, code, pace.straight);
        else if (!step(warp, path, code, pace.is_watched)) return;
    } while (block->tally.instructions < end);
}

/* Lockstep, which nearly every launch has, is compiled without what only the other schedules need. */
static void run_path(struct warp *warp, struct path *path, struct turn *turn, simt_schedule order) {
    if (order == SIMT_LOCKSTEP) run_in_order(warp, path, turn, SIMT_LOCKSTEP);
    else run_in_order(warp, path, turn, order);
}

/* Lanes have exited, for whom others may be waiting. */
static __attribute__((noinline)) void release_waiting_for_exited(struct warp *warp) {
    simt_collectives_check(warp);
    simt_barriers_check(warp->block);
    if (warp->block->cluster || warp->block->has_cluster_barrier) simt_cluster_barrier_check(warp->block);
}

void simt_warp_step(struct warp *warp, struct path *path) {
    const uint32_t live = warp->live;
    const simt_schedule order = warp->block->launch->request->schedule;
    struct turn turn = turn_of(warp, 1, warp->block->tally.instructions);
    run_path(warp, path, &turn, order == SIMT_SPLIT ? order : SIMT_LOCKSTEP);
    if (warp->live == live) return;
    warp->block->changes++;
    release_waiting_for_exited(warp);
}

/* Runs the warp until all that is left of it waits, or polls, or about `budget` instructions are over. */
enum progress simt_warp_run(struct warp *warp, uint64_t budget) {
    struct block *block = warp->block;
    const uint64_t begin = block->tally.instructions;
    const simt_schedule order = block->launch->request->schedule;
    warp->idle = 0;
    while (block->tally.instructions - begin < budget) {
        struct path *path = first_ready(warp);
        if (!path || !can_run(block)) break;
        struct turn turn = turn_of(warp, budget < PATH_BUDGET ? budget : PATH_BUDGET, begin + budget);
        run_path(warp, path, &turn, order);
        if (warp->live != turn.live) {
            block->changes++;
            release_waiting_for_exited(warp);
        }
        const uint64_t executed = block->tally.instructions - turn.begin;
        warp->spinning += executed;
        const bool polled = has_polled(warp, &turn);
        /* Since sm_70 every lane makes progress in the end: those that wait for lanes that spin, say on the lock that
         * they hold themselves, continue. */
        if (polled || warp->spinning > SPINNING_MAX) {
            simt_path_release_waiting(warp, false);
            warp->spinning = 0;
        }
        if (!polled && executed < turn.length) continue;
        path = first_ready(warp);
        if (path && others_are_ready(warp, path)) simt_path_rotate(warp, path);
        if (polled) break;
    }
    if (!warp->live) return PROGRESS_DONE;
    return block->tally.instructions != begin ? PROGRESS_YES : PROGRESS_WAITING;
}
