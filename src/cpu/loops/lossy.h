/* Sums that lack something, with a bound (core/losses.h): of a block that no window of few levels covers, only the highest
 * bits are added, by the loop that adds narrow ones.  The lowest level's additions round, by half of its unit at most.  All that
 * must be known of the elements is the largest magnitude, which the same pass finds. */
#ifndef WF_CPU_LOOPS_LOSSY_H
#define WF_CPU_LOOPS_LOSSY_H

#include "core/environment.h"
#include "cpu/loops/looks.h"

/* ---- the pass ---- */

INLINE void scan_largest(struct scan *scan, const unsigned char *x) {
    vsword bits;
    memcpy(&bits, x, sizeof bits);
    scan->max = (vi64)larger_magnitudes((vsword)scan->max, bits);
}

/* The largest magnitude but for NaNs. */
static uword largest_of(const struct scan *scan) {
    uword max[STEP], largest = 0;
    memcpy(max, &scan->max, sizeof max);
    for (size_t i = 0; i < STEP; i++) largest = max[i] > largest ? max[i] : largest;
    return largest;
}

/* So many levels that the result of as many elements as losses are told of is mostly certain. */
INLINE struct shape lossy_shape(bool is_fine) {
    return is_fine ? (struct shape){2, 2} : (struct shape){1, 1};
}

INLINE struct kind lossy_kind_of(unsigned sums) {
    struct kind kind = kind_of(sums);
    const bool of_elements = sums & ~(unsigned)PRODUCTS;
    kind.loses = true;
    if (!IS_F64) return kind;
    if (of_elements) kind.load[0] = sums & WF_PART_SUM ? load_fitted_value : load_fitted_magnitude;
    if (sums & PRODUCTS) {
        kind.load[of_elements] = load_fitted_product;
        kind.load[of_elements + 1] = load_fitted_error;
    }
    return kind;
}

/* Extracts sums, and finds the largest magnitude of either operand. */
INLINE void extract_lossy(struct extracted *extracted, struct block *block, const struct window *window, uword largest[2],
                          unsigned sums, bool is_fine) {
    struct scan scans[2] = {{.max = {0}}, {.max = {0}}};
    struct source source = source_of(block, sums == WF_PART_DOT);
    extract(extracted, window, lossy_shape(is_fine), source, lossy_kind_of(sums), scans, scan_largest);
    largest[0] = largest_of(&scans[0]);
    largest[1] = source.x == source.y ? largest[0] : largest_of(&scans[1]);
}

typedef void lossy_function(struct extracted *extracted, struct block *block, const struct window *window, uword largest[2]);

/* With as few levels as possible in a loop of their own; f64, and many elements, need more. */
#define EXTRACT_LOSSY(name, sums)                                                                                      \
    APART void name(struct extracted *extracted, struct block *block, const struct window *window, uword largest[2]) { \
        extract_lossy(extracted, block, window, largest, sums, IS_F64);                                                \
    }                                                                                                                  \
    APART void name##_finely(struct extracted *extracted, struct block *block, const struct window *window, uword largest[2]) { \
        extract_lossy(extracted, block, window, largest, sums, PRECISION > 11);                                        \
    }
EXTRACT_LOSSY(lose_values, WF_PART_SUM)
EXTRACT_LOSSY(lose_magnitudes, WF_PART_ABS)
EXTRACT_LOSSY(lose_squares, WF_PART_SQUARES)
EXTRACT_LOSSY(lose_products, WF_PART_DOT)
EXTRACT_LOSSY(lose_moments, MOMENTS)

static lossy_function *const lossy_functions[2][SUMS + 1] = {
    {[WF_PART_SUM] = lose_values, [WF_PART_ABS] = lose_magnitudes, [WF_PART_SQUARES] = lose_squares,
     [WF_PART_DOT] = lose_products, [MOMENTS] = lose_moments},
    {[WF_PART_SUM] = lose_values_finely, [WF_PART_ABS] = lose_magnitudes_finely, [WF_PART_SQUARES] = lose_squares_finely,
     [WF_PART_DOT] = lose_products_finely, [MOMENTS] = lose_moments_finely},
};

/* ---- infinities and NaNs ---- */

/* Whether NaNs that have been found decide the result, whatever else there is. */
static bool is_decided(const struct wf_open_partial *into) {
    return into->losses && into->losses->nans_decide && into->partial->nan_count;
}

/* Whether infinities do, if there is no NaN. */
static bool is_infinite_but_for_nans(const struct wf_open_partial *into) {
    const unsigned infinite = WF_SPECIAL_POSITIVE_INFINITY | WF_SPECIAL_NEGATIVE_INFINITY | WF_SPECIAL_INVALID;
    return into->losses && into->partial->special_seen & infinite;
}

/* Notes the block's infinities and NaNs, and puts a copy without them in its place.  There must be room. */
APART void clean_block(struct block *block) {
    struct source *source = &block->source;
    struct wf_open_partial *into = block->into;
    unsigned char *x = block->scratch->copy[0], *y = x;
    bool any;
    if (into->parts & WF_PART_DOT) { /* even for pairs of an array with itself */
        y = block->scratch->copy[1];
        any = clean_pairs(into, x, y, source->x, source->y, source->count, block->index);
    } else {
        any = clean(into, x, source->x, source->count, block->index);
    }
    if (any) expect_specials(&block->scratch->guess, block->expects_specials);
    source->x = x;
    source->y = y;
    block->is_scanned = false;
    block->scratch->passes = 0;
}

/* Cleans a block, if there is room; returns whether nothing of it need be added. */
static bool clean_if_possible(struct block *block) {
    if (block->source.count > room_for_copy(block)) return false;
    clean_block(block);
    return is_decided(block->into) || is_infinite_but_for_nans(block->into);
}

/* ---- a block ---- */

/* Whether the block's sums may lack something. */
static bool may_lose(const struct block *block) {
    const struct wf_losses *losses = block->into->losses;
    const struct wf_lossy_guess *guess = &block->scratch->lossy;
    return losses && !losses->are_refused && !guess->waits && lossy_functions[0][block->into->parts & SUMS];
}

static bool is_fine(const struct block *block) {
    return IS_F64 || (PRECISION > 11 && block->into->losses->are_many);
}

/* The window for elements, or pairs, less than 2^top in magnitude.  f64 are multiplied by a power of two, so that no bit that
 * matters leaves the range; returns whether there is one. */
static bool make_lossy_window(struct window *window, struct kind *kind, const struct block *block, const int top[2]) {
    enum { SHIFT_MAX = 1000, TOP_MIN = -600 }; /* what is subnormal then does not matter */
    const unsigned sums = block->into->parts & SUMS;
    struct range element[2], range[TERMS_MAX] = {{0, 0}};
    *kind = lossy_kind_of(sums);
    for (int operand = 0; operand < 2; operand++) {
        if (IS_F64 && top[operand] < TOP_MIN) return false;
        window->shift[operand] = IS_F64 ? (top[operand] > SHIFT_MAX ? -SHIFT_MAX : -top[operand]) : 0;
        element[operand] = (struct range){top[operand] + window->shift[operand], LOW_EXPONENT};
    }
    if (IS_F64) set_floors(kind, window, sums);
    ranges_of(sums, element, range);
    window->shape = lossy_shape(is_fine(block));
    for (int t = 0; t < kind->terms; t++)
        if (!set_levels(window, t, range[t], *kind, headroom_of(*kind))) return false;
    return true;
}

/* Notes how much a block of a window lacks at most. */
static void note_losses(struct block *block, const struct window *window, struct kind kind) {
    struct wf_losses *losses = block->into->losses;
    const unsigned sums = block->into->parts & SUMS;
    const bool of_elements = sums & ~(unsigned)PRODUCTS;
    for (int t = 0; t < kind.terms; t++) {
        const bool is_product = t >= of_elements;
        const int grid = window->covered[t].low, shift = window->shift[0] + (is_product ? window->shift[1] : 0);
        struct wf_bound bound = {block->source.count + 1, grid - shift - 1};
        if (grid > kind.floor[t]) wf_bound_add(is_product ? &losses->products : &losses->sum, bound);
    }
}

/* Adds a block whose elements are less than 2^top in magnitude; false, and nothing added, if some are not.  largest: of the
 * block's, but for NaNs. */
static bool add_lossy(struct block *block, const int top[2], uword largest[2]) {
    const unsigned sums = block->into->parts & SUMS;
    struct wf_lossy_guess *guess = &block->scratch->lossy;
    struct window window;
    struct kind kind;
    struct extracted extracted;
    if (!make_lossy_window(&window, &kind, block, top)) return false;
    if (IS_F64) wf_environment_drop_subnormals(); /* what they are, or become by the factor, does not matter */
    lossy_functions[is_fine(block)][sums](&extracted, block, &window, largest);
    if (IS_F64) wf_environment_keep_subnormals();
    int found[2];
    for (int operand = 0; operand < 2; operand++) found[operand] = range_of((struct magnitudes){largest[operand], 1}).top;
    if (!extracted.has_stayed || found[0] > top[0] || found[1] > top[1]) return false;
    add_extracted_sums(block->into, &window, &extracted, sums);
    note_losses(block, &window, kind);
    for (int operand = 0; operand < 2; operand++)
        guess->top[operand] = found[operand] > guess->top[operand] - 1 ? found[operand] : guess->top[operand] - 1;
    return true;
}

/* The same of any block.  False: nothing was added, but infinities and NaNs may have been noted, and a copy without them
 * have taken the block's place. */
static bool add_scanned_lossy(struct block *block) {
    uword largest[2];
    ensure_scanned(block);
    if (!is_finite(block) && clean_if_possible(block)) return true;
    ensure_scanned(block);
    const int top[2] = {block->range[0].top, block->range[1].top};
    if (!is_finite(block) || block->magnitudes[0].max == 0 || block->magnitudes[1].max == 0) return false;
    block->scratch->lossy.top[0] = top[0];
    block->scratch->lossy.top[1] = top[1];
    return add_lossy(block, top, largest);
}

/* Whether the first block of a call seems to be so much smaller than what is expected that too much would be lost. */
static bool is_much_smaller(const struct block *block) {
    enum { SAMPLES = 32, BINADES = 40 };
    const size_t step = block->source.count / SAMPLES + 1;
    const int *top = block->scratch->lossy.top;
    uword x = 0, y = 0;
    for (size_t i = 0; i < block->source.count; i += step) {
        uword a = bits_at(block->source.x, i) & MAGNITUDE, b = bits_at(block->source.y, i) & MAGNITUDE;
        x = a > x ? a : x;
        y = b > y ? b : y;
    }
    return range_of((struct magnitudes){x, 1}).top < top[0] - BINADES || range_of((struct magnitudes){y, 1}).top < top[1] - BINADES;
}

/* Adds a block where that is the way of the blocks before; returns whether it did. */
static bool add_lossy_as_expected(struct block *block) {
    struct wf_lossy_guess *guess = &block->scratch->lossy;
    const bool is_new = guess->is_new;
    guess->is_new = false;
    if (!may_lose(block) || guess->blocks <= 0) return false;
    guess->blocks--;
    if ((block->scratch->guess.specials > 0 || is_infinite_but_for_nans(block->into)) && clean_if_possible(block)) return true;
    if (is_new && is_much_smaller(block)) return false;
    const int top[2] = {guess->top[0], guess->top[1]};
    uword largest[2];
    if (add_lossy(block, top, largest)) return true;
    block->scratch->pass = 0;
    return add_scanned_lossy(block);
}

/* Adds a block for which few levels are not enough, and expects more of its kind. */
static bool begin_lossy(struct block *block) {
    enum { BLOCKS = 16 };
    if (!may_lose(block) || !add_scanned_lossy(block)) return false;
    if (!is_decided(block->into) && !is_infinite_but_for_nans(block->into)) block->scratch->lossy.blocks = BLOCKS;
    return true;
}

/* Whether a window takes no longer than one that loses something, with which a largest magnitude is found. */
static bool is_few(const struct block *block, const struct window *window) {
    const int levels = block->into->parts & PRODUCTS ? FEW_LEVELS : lossy_shape(is_fine(block)).first;
    return window->shape.first <= levels && window->shape.others <= levels && !is_scaled(window);
}

#endif
