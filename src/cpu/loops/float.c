/* Adds blocks of a float type to an accumulator: compiled for each tier and type, see vector_types.h. */
#include "cpu/loops/column_specials.h"
#include "cpu/loops/column_sums.h"
#include "cpu/loops/few_rows.h"
#include "cpu/loops/float_slots.h"
#include "cpu/loops/guess.h"
#include "cpu/loops/integer_sums.h"
#include "cpu/loops/leaves.h"
#include "cpu/loops/looks.h"
#include "cpu/loops/lossy.h"
#include "cpu/loops/outliers.h"
#include "cpu/loops/panel_sums.h"
#include "cpu/loops/row_quotients.h"
#include "cpu/loops/row_sums.h"
#include "cpu/loops/special.h"
#include "cpu/loops/sums.h"

/* ---- all sums in one pass ---- */

/* How an attempt to add all sums of a block in one pass has ended. */
enum outcome {
    TAKEN,                 /* the sums have been added */
    RETRY_WITH_RANGE_SCAN, /* nothing was added: the guessed window did not hold, or none was tried */
    SLOW                   /* nothing was added, and no window can: the sums must be added one by one */
};

/* That many elements are looked at once more where bins have found some that are infinite or NaN. */
enum { NOTED_TOGETHER = 4 * WF_BINS_ROUND };

/* Whether recent blocks suggest any window. */
static bool has_guessed_window(const struct block *block) {
    const struct wf_guess *guess = &block->scratch->guess;
    struct range range[2] = {guessed_range(guess, 0), guessed_range(guess, 1)};
    struct window window;
    return guess->known == 2 && find_window(&window, block->into->parts & SUMS, range);
}

/* Whether the block is to be looked at before anything is tried: where the last ones were of several kinds, or for a single
 * sum where nothing is known. */
static bool is_to_be_looked_at(struct block *block) {
    struct wf_guess *guess = &block->scratch->guess;
    if (block->is_scanned || guess->outliers > 0) return false;
    bool has_window = has_guessed_window(block);
    if (has_window && !expects_changes(guess)) return false;
    return has_window ? block->source.count > STRETCH : may_begin_with_bins(block);
}

/* Adds sums to bins without a scan before.  The bins tell whether there are infinities and NaNs to be noted. */
static void add_unscanned_to_bins(struct block *block) {
    struct wf_open_partial *into = block->into;
    struct source source = source_of(block, false);
    bool are_powers = into->parts & WF_PART_SQUARES, are_finite = true;
    struct target target = are_powers ? target_of_powers(block) : target_of(block, into->parts);
    /* By name, so that compilers know that these are no products of pairs, whose loops they then make better. */
    add_to_wide_sum *add_wide = are_powers ? add_powers : into->parts == WF_PART_SUM ? add_values : add_magnitudes;
    if (!are_powers && source.count >= MANY_FOR_BINS) expect_many(target);
    count_use(&block->scratch->guess);
    for (size_t i = 0; i < source.count; i += NOTED_TOGETHER) {
        struct source part = part_of(source, i, NOTED_TOGETHER);
        if (add_wide(target, part)) continue;
        note_specials(into, part.x, part.count, block->index + (int64_t)i);
        are_finite = false;
    }
    if (!are_finite) expect_specials(&block->scratch->guess, block->expects_specials);
}

/* Adds a block through the window that recent blocks suggest, without what lies outside. */
static bool add_parted_by_guess(struct block *block) {
    struct wf_guess *guess = &block->scratch->guess;
    struct magnitudes within[2];
    for (int operand = 0; operand < 2; operand++) within[operand] = magnitudes_in(guessed_range(guess, operand));
    return add_parted(block, within, outliers_max(block));
}

/* The first attempt: through the window that recent blocks suggest. */
static enum outcome add_by_guess(struct block *block) {
    struct wf_guess *guess = &block->scratch->guess;
    struct range range[2] = {guessed_range(guess, 0), guessed_range(guess, 1)};
    struct window window;
    bool is_due = is_scan_due(guess);
    count_use(guess);
    /* Without NOTES_ROUNDING, each pass scans the range as well, so a scan that is due needs no pass of its
     * own. */
    if (block->is_scanned || guess->known < 2 || (is_due && NOTES_ROUNDING)) return RETRY_WITH_RANGE_SCAN;
    if (!find_window(&window, block->into->parts & SUMS, range)) return RETRY_WITH_RANGE_SCAN;
    if (guess->outliers > 0 && !is_due) {
        if (add_parted_by_guess(block)) return TAKEN;
        doubt_outliers(guess);
        return RETRY_WITH_RANGE_SCAN;
    }
    if (!can_be_guessed(&window, block->into->parts & SUMS)) return RETRY_WITH_RANGE_SCAN; /* the range must be sure */
    if (!add_through(block, &window, true)) {
        guess->uses = 0;
        return RETRY_WITH_RANGE_SCAN;
    }
    if (block->is_scanned) learn(guess, block->range);
    return TAKEN;
}

/* Adds a block through the window that recent blocks suggest in a pass that takes out and notes its infinities and NaNs;
 * returns whether that window held. */
static bool add_cleaned_by_guess(struct block *block) {
    struct wf_guess *guess = &block->scratch->guess;
    struct range range[2] = {guessed_range(guess, 0), guessed_range(guess, 1)};
    unsigned sums = block->into->parts & SUMS;
    struct window window;
    bool any = false;
    if (guess->known < 2 || guess->outliers > 0 || !find_window(&window, sums, range) || !can_clean(&window, sums)) return false;
    block->is_scanned = false;
    bool held = add_cleaned_through(block, &window, &any);
    if (held && block->is_scanned) learn(guess, block->range);
    if (any) expect_specials(guess, block->expects_specials);
    block->is_scanned = false; /* what was scanned had been cleaned */
    return held;
}

/* The second attempt: through the window that the block's own range needs, without its outliers if that is
 * better. */
static enum outcome add_by_range_scan(struct block *block) {
    struct window window;
    ensure_scanned(block);
    if (!is_finite(block)) return add_cleaned_by_guess(block) ? TAKEN : SLOW;
    bool covers = find_window(&window, block->into->parts & SUMS, block->range);
    if (!covers) expect_changes(&block->scratch->guess);
    size_t far_max = covers ? OUTLIERS_FEW : outliers_max(block);
    if (!covers && block->source.count > STRETCH) return SLOW;
    if ((!covers || is_wide(&window)) && add_without_outliers(block, far_max)) return TAKEN;
    learn(&block->scratch->guess, block->range);
    return covers && add_through(block, &window, false) ? TAKEN : SLOW;
}

static bool is_to_be_cleaned(const struct block *block) {
    return block->into->parts & SUMS && block->scratch->guess.specials &&
           block->source.count <= room_for_copy(block);
}

/* Where recent blocks had infinities or NaNs, they are taken out of this one before anything is tried but bins, which
 * leave them out by themselves: if a window is known, by the pass itself.  Returns whether that has added the block. */
static bool add_cleaned_if_expected(struct block *block) {
    struct wf_guess *guess = &block->scratch->guess;
    bool is_due = is_scan_due(guess);
    if (!is_to_be_cleaned(block)) return false;
    guess->specials--;
    if (!(is_due && NOTES_ROUNDING) && add_cleaned_by_guess(block)) {
        count_use(guess);
        return true;
    }
    clean_block(block);
    return false;
}

/* Where a block's sums may lack something, and a window that covers it would have more levels for that. */
static bool is_better_lossy(struct block *block) {
    struct window window;
    if (!may_lose(block)) return false;
    ensure_scanned(block);
    return is_finite(block) && (!find_window(&window, block->into->parts & SUMS, block->range) || !is_few(block, &window));
}

static enum outcome add_in_one_pass(struct block *block) {
    if (add_lossy_as_expected(block)) return TAKEN;
    if (is_to_be_looked_at(block) && look_at(block) != NARROW) return begin_lossy(block) ? TAKEN : SLOW;
    if (add_cleaned_if_expected(block)) return TAKEN;
    enum outcome outcome = add_by_guess(block);
    if (outcome == RETRY_WITH_RANGE_SCAN && is_better_lossy(block) && begin_lossy(block)) return TAKEN;
    return outcome == RETRY_WITH_RANGE_SCAN ? add_by_range_scan(block) : outcome;
}

/* ---- sums one by one ---- */

/* Adds the sums of a block that can be copied, whatever its elements are. */
static void add_by_copy(struct block *block) {
    struct window window;
    ensure_scanned(block);
    if (!is_finite(block) && block->look == SEVERAL_KINDS && may_begin_with_bins(block)) {
        add_unscanned_to_bins(block); /* most likely of any exponents, too */
        return;
    }
    if (!is_finite(block)) {
        clean_block(block);
        /* Where they were all that was wrong, the guess is as good as before. */
        if (block->look <= NARROW && block->scratch->guess.known == 2 && add_by_guess(block) == TAKEN) return;
        ensure_scanned(block);
    }
    bool covers = find_window(&window, block->into->parts & SUMS, block->range);
    bool is_narrow = covers && !is_wide(&window);
    if (!is_narrow && block->look != EVEN && add_without_outliers(block, covers ? OUTLIERS_FEW : outliers_max(block))) return;
    if (covers)
        add_through(block, &window, false);
    else
        add_sums(block);
}

/* Adds the sums of a block in parts, each by itself.  What they show about their data is not used to predict other blocks. */
static void add_stretches(struct block *block) {
    const struct wf_guess guess = block->scratch->guess;
    size_t room = room_for_copy(block), length = room < STRETCH ? room : STRETCH;
    if (may_begin_with_bins(block) && !(block->into->parts & PRODUCTS) && block->source.count >= MANY_FOR_BINS)
        expect_many(target_of(block, block->into->parts));
    for (size_t i = 0; i < block->source.count; i += length) {
        struct block part = *block;
        part.source = part_of(block->source, i, length);
        part.index += (int64_t)i;
        part.is_scanned = false;
        block->scratch->guess.outliers = OUTLIERS_MAX; /* those of each are looked for */
        add_by_copy(&part);
    }
    int specials = block->scratch->guess.specials;
    block->scratch->guess = guess;
    block->scratch->guess.specials = specials;
}

/* Adds the sums of a block that no window holds, or seems to hold. */
APART void add_slowly(struct block *block) {
    if (begin_lossy(block)) return;
    bool is_short = block->source.count <= STRETCH;
    enum look look = block->look == UNSEEN && !is_short ? look_at(block) : block->look;
    if (look != NARROW) expect_changes(&block->scratch->guess);
    if (is_short && block->is_scanned && is_finite(block))
        add_sums(block); /* everything else has been tried */
    else if (look == SEVERAL_KINDS || block->source.count > room_for_copy(block))
        add_stretches(block);
    else if (look == EVEN && may_begin_with_bins(block) && !block->is_scanned)
        add_unscanned_to_bins(block);
    else
        add_by_copy(block);
}

/* ---- all parts ---- */

/* Finds the extremes.  If no element is zero, they tell the range of magnitudes, too. */
static void set_extremes(struct block *block) {
    block->extremes = find_extremes(block->scratch, block->source.x, block->source.count);
    block->has_extremes = true;
    if (!block->extremes.min_magnitude) return;
    struct magnitudes magnitudes = {max_magnitude(&block->extremes), block->extremes.min_magnitude};
    set_magnitudes(block, magnitudes, magnitudes);
}

/* The extremes, and how many NaNs were left out.  Where recent blocks had NaNs, this one is looked at as if
 * it had. */
static struct keys find_block_keys(struct block *block) {
    const unsigned char *x = block->source.x;
    size_t count = block->source.count;
    struct wf_guess *guess = &block->scratch->guess;
    if (!block->has_extremes && !guess->specials) set_extremes(block);
    if (block->has_extremes && max_magnitude(&block->extremes) <= INFINITY_BITS)
        return keys_of(&block->extremes);
    struct keys keys = find_keys(block->scratch, x, count);
    if (keys.nans)
        expect_specials(guess, block->expects_specials);
    else if (!(block->into->parts & SUMS))
        guess->specials--;
    return keys;
}

/* Returns how many NaNs there are, as far as these parts tell. */
static int64_t add_extremes_and_counts(struct block *block) {
    struct wf_open_partial *into = block->into;
    const unsigned char *x = block->source.x;
    size_t count = block->source.count;
    bool has_zero = true;
    int64_t nans = 0;
    if (into->parts & EXTREMES) {
        struct keys keys = find_block_keys(block);
        nans = keys.nans;
        has_zero = !block->has_extremes || block->extremes.min_magnitude == 0;
        add_extremes(into, keys, x, count, block->index);
    }
    if (into->parts & WF_PART_NONZERO && !has_zero) {
        into->partial->nonzero += (int64_t)count;
    } else if (into->parts & WF_PART_NONZERO) {
        struct counted counted = count_nonzero(block->scratch, x, count);
        into->partial->nonzero += counted.nonzero;
        nans = counted.nans;
    }
    return nans;
}

wf_block_function WF_LOOPS_NAME(add_block, TYPE, TIER);
wf_run_function WF_LOOPS_NAME(add_run, TYPE, TIER);

void WF_LOOPS_NAME(add_block, TYPE, TIER)(struct wf_open_partial *into, struct wf_scratch *scratch,
                                          const void *x_data, const void *y_data, size_t count,
                                          int64_t index) {
    const unsigned char *x = x_data, *y = y_data;
    unsigned parts = into->parts;
    struct source source = {x, y ? y : x, count, sizeof(uword), {0, 0}};
    struct block block = {.into = into, .scratch = scratch, .source = source, .index = index,
                          .expects_specials = scratch->guess.specials > 0};
    enum outcome outcome = TAKEN;
    int64_t nans = 0;
    if (is_decided(into)) return;
    scratch->passes = parts & SUMS && parts & EXTREMES && !NOTES_ROUNDING ? 2 : 1;
    scratch->pass = 0;
    if (parts & EXTREMES && !NOTES_ROUNDING && !scratch->guess.specials) set_extremes(&block);
    bool cleans = is_to_be_cleaned(&block);
    block.is_to_be_seen = !cleans && parts & (EXTREMES | WF_PART_NONZERO);
    if (cleans) nans = add_extremes_and_counts(&block); /* of the elements as they are */
    if (parts & (WF_PART_SUM | WF_PART_DOT)) note_unless_minus_zeros(into, x, y, count);
    if (are_for_integers(parts & SUMS)) {
        add_as_integers(&block);
    } else if (parts & SUMS) {
        outcome = add_in_one_pass(&block);
    }
    if (block.is_to_be_seen) nans = add_extremes_and_counts(&block);
    block.is_to_be_seen = false;
    if (parts & WF_PART_PRODUCT) add_to_tree(into, scratch, x, count, leaves_level(scratch), tree_node);
    if (outcome == SLOW) add_slowly(&block);
    if (nans && !(parts & SUMS)) note_nans(into, nans, x, NULL, count, index); /* sums have noted them */
}

/* Extremes alone: of a run's blocks only one is searched for the place of either, which in sorted data takes as long as they
 * take to be found. */
static void add_extremes_of_run(struct block *run) {
    const size_t limit = WF_BLOCK_NBYTES / sizeof(uword);
    struct wf_open_partial *into = run->into;
    struct block with_min = *run, with_max = *run;
    struct keys best = {KEY_MAX, (key)~KEY_MAX, 0};
    for (size_t i = 0; i < run->source.count; i += limit) {
        struct block block = *run;
        block.source = part_of(run->source, i, limit);
        block.index += (int64_t)i;
        block.expects_specials = block.scratch->guess.specials > 0;
        const struct keys keys = find_block_keys(&block);
        note_nans(into, keys.nans, block.source.x, NULL, block.source.count, block.index);
        if (keys.min < best.min) best.min = keys.min, with_min = block;
        if (keys.max > best.max) best.max = keys.max, with_max = block;
    }
    if (into->parts & WF_PART_MIN)
        note_extreme(into->partial, best.min, false, with_min.source.x, with_min.source.count, with_min.index);
    if (into->parts & WF_PART_MAX)
        note_extreme(into->partial, best.max, true, with_max.source.x, with_max.source.count, with_max.index);
}

bool WF_LOOPS_NAME(add_run, TYPE, TIER)(struct wf_open_partial *into, struct wf_scratch *scratch, const void *x,
                                        size_t count, int64_t index) {
    /* With sums of no pairs, whatever is found in the same pass. */
    const unsigned in_one_pass = SUMS | (NOTES_ROUNDING ? EXTREMES | WF_PART_NONZERO : 0);
    struct wf_guess *guess = &scratch->guess;
    struct source source = {x, x, count, sizeof(uword), {0, 0}};
    struct block run = {.into = into, .scratch = scratch, .source = source, .index = index};
    struct range range[2] = {guessed_range(guess, 0), guessed_range(guess, 1)};
    struct window window;
    if (is_decided(into)) return true;
    scratch->passes = 1;
    if (into->parts & EXTREMES && !(into->parts & ~(unsigned)EXTREMES)) {
        add_extremes_of_run(&run);
        return true;
    }
    if (!(into->parts & SUMS) || into->parts & ~in_one_pass || are_for_integers(into->parts & SUMS)) return false;
    if (into->losses && scratch->lossy.blocks > 0) return false;
    if (guess->specials || guess->outliers > 0 || (guess->wait ? guess->wait-- : is_scan_due(guess))) return false;
    if (!find_window(&window, into->parts & SUMS, range) || !can_be_guessed(&window, into->parts & SUMS)) return false;
    if (!add_through(&run, &window, true)) {
        wait_after_run(guess);
        return false;
    }
    if (into->parts & (EXTREMES | WF_PART_NONZERO)) add_extremes_and_counts(&run);
    if (into->parts & WF_PART_SUM) note_unless_minus_zeros(into, x, NULL, count);
    if (guess->wait_next) guess->wait_next--;
    count_use(guess);
    return true;
}

wf_columns_function WF_LOOPS_NAME(add_columns, TYPE, TIER);

bool WF_LOOPS_NAME(add_columns, TYPE, TIER)(struct wf_open_partial *into, const struct wf_tile *tile) {
    const unsigned supported = SUMS | EXTREMES | WF_PART_NONZERO;
    struct magnitudes magnitudes = find_magnitudes(tile->x, tile->rows * tile->pitch);
    if (into->parts & ~supported || magnitudes.max > INFINITY_BITS) return false;
    if (into->parts & SUMS && !add_column_sums(into, tile, magnitudes)) return false;
    add_column_extremes_and_counts(into, tile);
    return true;
}

wf_clean_columns_function WF_LOOPS_NAME(clean_columns, TYPE, TIER);

bool WF_LOOPS_NAME(clean_columns, TYPE, TIER)(struct wf_open_partial *into, const struct wf_tile *tile, unsigned char *x,
                                              unsigned char *y) {
    return into->parts & SUMS && !(into->parts & ~(unsigned)SUMS) && clean_tile(into, tile, x, y);
}

wf_results_function WF_LOOPS_NAME(find_results, TYPE, TIER);

bool WF_LOOPS_NAME(find_results, TYPE, TIER)(const struct wf_tile *tile, enum wf_part part, void *results) {
    if (part & SUMS) return find_sum_results(tile, part, results);
    if (part != WF_PART_NONZERO || find_magnitudes(tile->x, tile->rows * tile->pitch).max > INFINITY_BITS) return false;
    find_count_results(tile, results);
    return true;
}

wf_totals_function WF_LOOPS_NAME(find_totals, TYPE, TIER);

bool WF_LOOPS_NAME(find_totals, TYPE, TIER)(const struct wf_tile *tile, unsigned parts,
                                            struct wf_column_totals *totals) {
    return find_column_totals(tile, parts, totals);
}
