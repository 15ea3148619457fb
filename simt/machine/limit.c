/* What is told of a launch or a block that has reached its limit: in which loop its warp was, how often the block's warps have gone round
 * it, and what decides about its end. */
#include <stdio.h>

#include "machine.h"

enum { LOOP_NBYTES = 384 };

/* How often the block's warps have come to the branch back, as far as is counted. */
static uint64_t rounds_of(const struct warp *warp, const struct loop *loop) {
    const struct executed_count *counts = warp->block->executed.counts;
    return counts ? counts[loop->back].sum.instructions : 0;
}

/* The innermost loop that the path is in, or one of its callers; of loops within each other the outermost that goes on for long:
 * the end of its inner ones comes. */
static bool loop_around(const struct warp *warp, const struct path *path, struct loop *loop) {
    enum { ROUNDS_MANY = 1 << 10 };
    const simt_event event = simt_event_of(warp, path, path->mask);
    bool is_any = simt_loop_of(&event, path->pc, 0, loop);
    while (!is_any && path->frame->caller) {
        path = path->parent;
        is_any = simt_loop_of(&event, path->pc, 0, loop);
    }
    for (struct loop outer = *loop; is_any && simt_loop_of(&event, path->pc, outer.back - outer.begin + 2, &outer);)
        if (rounds_of(warp, &outer) >= ROUNDS_MANY) *loop = outer;
    return is_any;
}

static void say_rounds(const struct warp *warp, const struct loop *loop, char text[LOOP_NBYTES]) {
    if (!rounds_of(warp, loop)) return;
    snprintf(text, LOOP_NBYTES, ", which the warps of this block have gone round %s%llu times",
             warp->block->executed.is_late ? "at least " : "", (unsigned long long)rounds_of(warp, loop));
}

static void say_exit(const struct launch *launch, const struct loop *loop, char text[LOOP_NBYTES]) {
    const uint32_t read = simt_loop_reads(launch, loop);
    if (loop->exit == NO_PC) return;
    const unsigned exit = simt_line_at(launch, loop->exit);
    if (read == NO_PC) snprintf(text, LOOP_NBYTES, "; it is left at line %u, by what the threads compute", exit);
    else snprintf(text, LOOP_NBYTES, "; it is left at line %u, by what line %u reads from memory", exit,
                  (unsigned)simt_line_at(launch, read));
}

static void say_loop(const struct warp *warp, const struct path *path, char text[LOOP_NBYTES]) {
    const struct launch *launch = warp->block->launch;
    char rounds[LOOP_NBYTES] = "", exit[LOOP_NBYTES] = "";
    struct loop loop;
    text[0] = '\0';
    if (!loop_around(warp, path, &loop)) return;
    say_rounds(warp, &loop, rounds);
    say_exit(launch, &loop, exit);
    snprintf(text, LOOP_NBYTES, ", in the loop of line %u%.100s%.120s", (unsigned)simt_line_at(launch, loop.back), rounds, exit);
}

static const char *cause_of(const struct warp *warp, const struct path *path, bool polls) {
    static const char reading[] = "an endless loop here or in another block (a flag that another thread sets must be "
                                  "volatile or atomic), or too much work for the limit (--limit N)";
    static const char counting[] = "an endless loop here or in another block (a step of 0, say, or a condition that nothing "
                                   "in the loop changes), or too much work for the limit (--limit N)";
    static const char polling[] =
        "its threads read memory in a loop until others change it, and these wait for them, say at a "
        "barrier, have ended, or begin later; or the limit is too low (--limit N)";
    if (polls) return polling;
    return simt_may_end_by_memory(warp, path) ? reading : counting;
}

/* Whose limit it was: the block's own, or that of all. */
static void say_limit(const struct warp *warp, char text[LOOP_NBYTES]) {
    const struct launch *launch = warp->block->launch;
    char kernel[64];
    simt_plain_kernel(launch->function->name, kernel, sizeof kernel);
    if (simt_block_is_over(warp->block))
        snprintf(text, LOOP_NBYTES, "this block of the launch of `%s` has used up its limit of %llu warp instructions (of which "
                 "barriers, atomics and reads that wait count as several)", kernel, (unsigned long long)launch->block_limit);
    else
        snprintf(text, LOOP_NBYTES, "the launch of `%s` has used up its limit of %llu warp instructions", kernel,
                 (unsigned long long)launch->limit);
}

void simt_limit_say(struct warp *warp, const struct path *path, bool polls) {
    char limit[LOOP_NBYTES], loop[LOOP_NBYTES];
    simt_event event = simt_event_of(warp, path, path->mask);
    say_limit(warp, limit);
    say_loop(warp, path, loop);
    simt_record_finding_of_lanes(&event, SIMT_FINDING_RUNAWAY, path->mask, 0, "%s without ending%s: %s", limit, loop,
                                 cause_of(warp, path, polls));
    simt_stop(&event);
}
