/* Guesses: a block's window is guessed from the ranges of blocks before it, which costs nothing if the guess
 * holds. */
#ifndef WF_CPU_LOOPS_GUESS_H
#define WF_CPU_LOOPS_GUESS_H

#include "cpu/loops/window.h"

/* The range that the last two scanned blocks span together, so that blocks of two ranges in turn are guessed
 * right. */
static struct range guessed_range(const struct wf_guess *guess, int operand) {
    struct range range = {-10000, 10000};
    for (int i = 0; i < 2; i++) {
        if (guess->top[i][operand] > range.top) range.top = guess->top[i][operand];
        if (guess->low[i][operand] < range.low) range.low = guess->low[i][operand];
    }
    return range;
}

static void learn(struct wf_guess *guess, const struct range *range) {
    guess->next ^= 1;
    for (int operand = 0; operand < 2; operand++) {
        guess->top[guess->next][operand] = range[operand].top;
        guess->low[guess->next][operand] = range[operand].low;
    }
    if (guess->known < 2) guess->known++;
}

/* Whether this block should be scanned even if the guess would hold, since a smaller window may do by now.
 * That is so after 1, 2, 4, 8 ... blocks since the last wrong guess: soon after it, because what made it
 * wrong is usually in one block only, then less and less often. */
static bool is_scan_due(const struct wf_guess *guess) {
    return guess->known < 2 || !(guess->uses & (guess->uses - 1));
}

static void count_use(struct wf_guess *guess) {
    enum { PERIOD = 32 };
    if (++guess->uses == 2 * PERIOD) guess->uses = PERIOD;
}

/* After a block that no window held, the next ones may be of either kind. */
static void expect_changes(struct wf_guess *guess) {
    guess->changes = 16;
}

static bool expects_changes(struct wf_guess *guess) {
    if (guess->changes) guess->changes--;
    return guess->changes;
}

/* After a block with infinities or NaNs, the next one is treated as if it had some, too, and if it has, more are, until
 * this many in a row had none. */
static void expect_specials(struct wf_guess *guess, bool were_expected) {
    guess->specials = were_expected ? 16 : 1;
}

enum { OUTLIERS_MAX = 16 };

/* Blocks are parted from outliers before anything else is tried where that was of use for most of the last ones;
 * where it was of none, not for a while. */
static void count_outliers(struct wf_guess *guess, size_t count, bool of_use) {
    enum { WAIT = 32 };
    guess->outliers += !of_use ? -4 : count ? 2 : -1;
    if (guess->outliers < 0) guess->outliers = of_use ? 0 : -WAIT;
    if (guess->outliers > OUTLIERS_MAX) guess->outliers = OUTLIERS_MAX;
}

/* After a block that the guess did not part, since too many of its elements are far from it. */
static void doubt_outliers(struct wf_guess *guess) {
    enum { DOUBT = 4 };
    guess->outliers = guess->outliers > DOUBT ? guess->outliers - DOUBT : 0;
}

static bool may_have_outliers(struct wf_guess *guess) {
    if (guess->outliers < 0) guess->outliers++;
    return guess->outliers >= 0;
}

/* After a run whose guess was wrong, since some elements did not fit into a window that nearly all fit into,
 * no runs are tried for a while: the longer, the more often that happens. */
static void wait_after_run(struct wf_guess *guess) {
    enum { RUN_BLOCKS = WF_RUN_NBYTES / WF_BLOCK_NBYTES, WAIT_MAX = 32 * RUN_BLOCKS };
    guess->wait = 2 * guess->wait_next + RUN_BLOCKS;
    if (guess->wait > WAIT_MAX) guess->wait = WAIT_MAX;
    guess->wait_next = guess->wait;
}

#endif
