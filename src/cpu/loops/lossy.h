/* Sums that lack something, with a bound (core/losses.h): of a block that no window of few levels covers, only the highest
 * bits are added, by the loop that adds narrow ones.  The lowest level's additions round, by half of its unit at most.  All that
 * must be known of the elements is the largest magnitude, and of pairs that of products, which the same pass finds. */
#ifndef WF_CPU_LOOPS_LOSSY_H
#define WF_CPU_LOOPS_LOSSY_H

#include "core/environment.h"
#include "cpu/loops/looks.h"

/* ---- the pass ---- */

/* What is found of a block's elements, of either operand, and of products: the exponent of a power of two above all magnitudes.
 * Those of infinities, and perhaps of NaNs, are above TOP_MAX.  No more is known of none than that it is TOP_UNKNOWN. */
enum { OF_X, OF_Y, OF_PRODUCTS, TOPS };
enum { TOP_MAX = BIAS + 1, TOP_OF_ZEROS = 2 - BIAS, TOP_UNKNOWN = TOP_MAX + 1, ANY_MARGIN = 1 << 20 };

static int top_of(uword magnitude) {
    return range_of((struct magnitudes){magnitude, 1}).top;
}

static int top_of_f64(double magnitude) {
    uint64_t bits;
    memcpy(&bits, &magnitude, sizeof bits);
    return (int)(bits >> 52) - 1022;
}

static void set_tops(int top[TOPS], int x, int y) {
    top[OF_X] = x;
    top[OF_Y] = y;
    top[OF_PRODUCTS] = x + y;
}

INLINE void scan_largest(struct scan *scan, const unsigned char *x) {
    vsword bits;
    memcpy(&bits, x, sizeof bits);
    scan->max = (vi64)larger_magnitudes((vsword)scan->max, bits);
}

static int scanned_top(const struct scan *scan) {
    uword max[STEP], largest = 0;
    memcpy(max, &scan->max, sizeof max);
    for (size_t i = 0; i < STEP; i++) largest = max[i] > largest ? max[i] : largest;
    return top_of(largest);
}

/* How many levels a sum has that may lack something: as few as leave its result mostly certain, and more where it cancels. */
enum depth { SHALLOW, FINE, DEEP, DEPTHS };

INLINE struct shape lossy_shape(enum depth depth) {
    return depth == DEEP ? (struct shape){3, 3} : depth == FINE ? (struct shape){2, 2} : (struct shape){1, 1};
}

/* Whether that of products is more than what follows from their factors: of f64, where registers are few, to find it takes
 * longer than it is worth. */
#define FINDS_PRODUCTS (!IS_F64 || HAS_MANY_REGISTERS)

INLINE struct kind lossy_kind_of(unsigned sums) {
    struct kind kind = kind_of(sums);
    const bool of_elements = sums & ~(unsigned)PRODUCTS;
    kind.loses = true;
    kind.finds_largest = FINDS_PRODUCTS && sums == WF_PART_DOT;
    if (!IS_F64) return kind;
    if (of_elements) kind.load[0] = sums & WF_PART_SUM ? load_fitted_value : load_fitted_magnitude;
    if (sums & PRODUCTS) {
        kind.load[of_elements] = load_fitted_product;
        kind.load[of_elements + 1] = load_fitted_error;
    }
    return kind;
}

/* Extracts sums, and finds the tops; of pairs of narrow types that of products alone, as no product of these leaves the range.
 * With the sums of stats, it finds the extremes. */
INLINE void extract_lossy(struct extracted *extracted, struct block *block, const struct window *window, int found[TOPS],
                          unsigned sums, enum depth depth) {
    const bool are_pairs = sums == WF_PART_DOT, are_stats = sums == STATS_SUMS;
    struct scan scans[2] = {{.max = {0}}, {.max = {0}}}, with_extremes[2] = {EXTREMES_SCAN_START};
    struct source source = source_of(block, are_pairs);
    extract(extracted, window, lossy_shape(depth), source, lossy_kind_of(sums), are_stats ? with_extremes : scans,
            are_stats ? scan_extremes : are_pairs && !IS_F64 ? NULL : scan_largest);
    if (are_stats) {
        const struct extremes extremes = scanned_extremes(&with_extremes[0]);
        set_tops(found, top_of(max_magnitude(&extremes)), top_of(max_magnitude(&extremes)));
        if (block->is_to_be_seen) block->extremes = extremes;
        block->has_extremes |= block->is_to_be_seen;
        return;
    }
    const int x = scanned_top(&scans[0]);
    set_tops(found, x, source.x == source.y ? x : scanned_top(&scans[1]));
    if (!are_pairs || !FINDS_PRODUCTS) return;
    const int products = top_of_f64(extracted->largest) - window->shift[0] - window->shift[1];
    if (!IS_F64 || products < found[OF_PRODUCTS]) found[OF_PRODUCTS] = products; /* which may have left the range */
}

typedef void lossy_function(struct extracted *extracted, struct block *block, const struct window *window, int found[TOPS]);

/* With as few levels as possible in a loop of their own; f64, and many elements, need more. */
#define EXTRACT_LOSSY(name, sums)                                                                                      \
    APART void name(struct extracted *extracted, struct block *block, const struct window *window, int found[TOPS]) {  \
        extract_lossy(extracted, block, window, found, sums, IS_F64 ? FINE : SHALLOW);                                 \
    }                                                                                                                  \
    APART void name##_finely(struct extracted *extracted, struct block *block, const struct window *window, int found[TOPS]) { \
        extract_lossy(extracted, block, window, found, sums, PRECISION > 11 ? FINE : SHALLOW);                         \
    }
#define EXTRACT_DEEPLY(name, sums)                                                                                     \
    APART void name(struct extracted *extracted, struct block *block, const struct window *window, int found[TOPS]) {  \
        extract_lossy(extracted, block, window, found, sums, DEEP);                                                    \
    }
EXTRACT_LOSSY(lose_values, WF_PART_SUM)
EXTRACT_LOSSY(lose_magnitudes, WF_PART_ABS)
EXTRACT_LOSSY(lose_squares, WF_PART_SQUARES)
EXTRACT_LOSSY(lose_products, WF_PART_DOT)
EXTRACT_LOSSY(lose_moments, MOMENTS)
EXTRACT_LOSSY(lose_stats, STATS_SUMS)
EXTRACT_DEEPLY(lose_values_deeply, WF_PART_SUM)
EXTRACT_DEEPLY(lose_products_deeply, WF_PART_DOT)

/* Sums of magnitudes and squares do not cancel.  For products of types shorter than f64 clang takes 14 KiB of the stack. */
static lossy_function *const lossy_functions[DEPTHS][SUMS + 1] = {
    {[WF_PART_SUM] = lose_values, [WF_PART_ABS] = lose_magnitudes, [WF_PART_SQUARES] = lose_squares,
     [WF_PART_DOT] = lose_products, [MOMENTS] = lose_moments, [STATS_SUMS] = lose_stats},
    {[WF_PART_SUM] = lose_values_finely, [WF_PART_ABS] = lose_magnitudes_finely, [WF_PART_SQUARES] = lose_squares_finely,
     [WF_PART_DOT] = lose_products_finely, [MOMENTS] = lose_moments_finely, [STATS_SUMS] = lose_stats_finely},
    {[WF_PART_SUM] = lose_values_deeply, [WF_PART_DOT] = IS_F64 ? lose_products_deeply : NULL},
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

/* Cleans a block, if there is room, and nothing else is to be found of its elements; returns whether nothing of it need be
 * added. */
static bool clean_if_possible(struct block *block) {
    if (block->source.count > room_for_copy(block) || block->is_to_be_seen) return false;
    clean_block(block);
    return is_decided(block->into) || is_infinite_but_for_nans(block->into);
}

/* ---- a block ---- */

static enum depth depth_of(const struct block *block) {
    if (block->scratch->lossy.is_deep) return DEEP;
    return IS_F64 || (PRECISION > 11 && block->into->losses->are_many) ? FINE : SHALLOW;
}

/* Whether the block's sums may lack something. */
static bool may_lose(const struct block *block) {
    const struct wf_losses *losses = block->into->losses;
    const struct wf_lossy_guess *guess = &block->scratch->lossy;
    const bool is_allowed = losses && losses->allowed != WF_LOSE_NOTHING && !guess->waits;
    return is_allowed && lossy_functions[depth_of(block)][block->into->parts & SUMS];
}

/* The window for elements, or pairs, less than 2^top in magnitude.  f64 are multiplied by a power of two, so that no bit that
 * matters leaves the range; returns whether there is one.  What is subnormal, before or after, is less than 2^LOST_BITS-th of a
 * unit of the lowest level of the first products, or else of values. */
static bool make_lossy_window(struct window *window, struct kind *kind, const struct block *block, const int top[TOPS]) {
    enum { SHIFT_MAX = 1022, LOST_BITS = 32 };
    const unsigned sums = block->into->parts & SUMS;
    const bool of_elements = sums & ~(unsigned)PRODUCTS;
    struct range element[2], range[TERMS_MAX] = {{0, 0}};
    *kind = lossy_kind_of(sums);
    for (int operand = 0; operand < 2; operand++) {
        int down = top[operand] < SHIFT_MAX ? top[operand] : SHIFT_MAX;
        window->shift[operand] = IS_F64 ? -down : 0;
        element[operand] = (struct range){top[operand] + window->shift[operand], LOW_EXPONENT};
    }
    const int shift = window->shift[0] + window->shift[1];
    if (IS_F64) set_floors(kind, window, sums);
    ranges_of(sums, element, range);
    if (sums == WF_PART_DOT) {
        range[0].top = top[OF_PRODUCTS] + shift;
        range[1].top = range[0].top - FRACTION_BITS;
    }
    window->shape = lossy_shape(depth_of(block));
    for (int t = 0; t < kind->terms; t++)
        if (!set_levels(window, t, range[t], *kind, headroom_of_block(window->shape.first, *kind))) return false;
    if (!IS_F64) return true;
    int subnormal = LOW_EXPONENT + FRACTION_BITS; /* all of these are less than 2^subnormal, as they are added */
    const int up = window->shift[0] > window->shift[1] ? window->shift[0] : window->shift[1];
    if (up > 0) subnormal += up;
    for (int t = 0; t <= of_elements && t < kind->terms; t++)
        if (window->covered[t].low - LOST_BITS < subnormal) return false;
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
        const uint64_t of_each = kind.splits && t == 0 ? 3 : 1; /* magnitudes are made of two sums, of which one counts twice */
        struct wf_bound bound = {of_each * (block->source.count + 1), grid - shift - 1};
        if (grid > kind.floor[t]) wf_bound_add(is_product ? &losses->products : &losses->sum, bound);
    }
}

/* How far above those that were found tops are expected at most.  Largest magnitudes differ from block to block: where there are
 * levels enough, what is expected is so much larger than most of them that few passes fail. */
static int tops_above(const struct block *block) {
    return depth_of(block) == SHALLOW ? 1 : 8;
}

/* Expects blocks to come to be like one whose tops were found. */
static void expect_tops(struct block *block, const int found[TOPS]) {
    const int above = tops_above(block);
    for (int i = 0; i < TOPS; i++) {
        int *top = &block->scratch->lossy.top[i];
        *top = found[i] > *top ? found[i] + above / 2 : found[i] + above < *top ? *top - 1 : *top;
    }
}

/* Extracts the sums of a block whose elements, and products, are less than 2^top in magnitude; returns whether they are.
 * found: what they are; TOP_UNKNOWN where there is no window for these tops. */
static bool extract_below(struct extracted *extracted, struct window *window, struct kind *kind, struct block *block,
                          const int top[TOPS], int found[TOPS]) {
    found[OF_X] = found[OF_Y] = found[OF_PRODUCTS] = TOP_UNKNOWN;
    if (!make_lossy_window(window, kind, block, top)) return false;
    if (IS_F64) wf_environment_drop_subnormals(); /* what they are, or become by the factor, does not matter */
    lossy_functions[depth_of(block)][block->into->parts & SUMS](extracted, block, window, found);
    if (IS_F64) wf_environment_keep_subnormals();
    for (int i = 0; i < TOPS; i++)
        if (found[i] > top[i]) return false;
    return extracted->has_stayed;
}

/* Adds such a block, unless its products are all less than 2^-margin of what they might be; false: nothing was added. */
static bool add_lossy(struct block *block, const int top[TOPS], int margin, int found[TOPS]) {
    struct window window;
    struct kind kind;
    struct extracted extracted;
    if (!extract_below(&extracted, &window, &kind, block, top, found)) return false;
    if (found[OF_PRODUCTS] < top[OF_PRODUCTS] - margin) return false;
    add_extracted_sums(block->into, &window, &extracted, block->into->parts & SUMS);
    note_losses(block, &window, kind);
    expect_tops(block, found);
    return true;
}

/* The same of a block whose tops were found. */
static bool add_known_lossy(struct block *block, const int known[TOPS]) {
    int found[TOPS];
    if (known[OF_X] > TOP_MAX || known[OF_Y] > TOP_MAX) return false;
    for (int i = 0; i < TOPS; i++) block->scratch->lossy.top[i] = known[i] + tops_above(block) / 2;
    return add_lossy(block, known, ANY_MARGIN, found);
}

/* The same of any block.  False: nothing was added, but infinities and NaNs may have been noted, and a copy without them
 * have taken the block's place. */
static bool add_scanned_lossy(struct block *block) {
    int top[TOPS], found[TOPS];
    ensure_scanned(block);
    if (!is_finite(block) && clean_if_possible(block)) return true;
    ensure_scanned(block);
    if (!is_finite(block) || block->magnitudes[0].max == 0 || block->magnitudes[1].max == 0) return false;
    set_tops(top, block->range[0].top, block->range[1].top);
    if (!(block->into->parts & WF_PART_DOT)) return add_known_lossy(block, top);
    memcpy(block->scratch->lossy.top, top, sizeof top);
    if (add_lossy(block, top, depth_of(block) == SHALLOW ? 8 : 16, found)) return true;
    block->scratch->pass = 0;
    top[OF_PRODUCTS] = found[OF_PRODUCTS]; /* the largest product is much smaller than that of the largest elements */
    return add_known_lossy(block, top);
}

/* Raises tops to those of an element, or pair, unless it has a zero, an infinity or a NaN. */
static void raise_tops(int top[TOPS], const struct block *block, size_t i) {
    uword x = bits_at(block->source.x, i) & MAGNITUDE, y = bits_at(block->source.y, i) & MAGNITUDE;
    int more[TOPS];
    if (!x || !y || x >= INFINITY_BITS || y >= INFINITY_BITS) return;
    set_tops(more, top_of(x), top_of(y));
    for (int of = 0; of < TOPS; of++) top[of] = more[of] > top[of] ? more[of] : top[of];
}

/* Adds a block where that is the way of the blocks before; returns whether it did. */
static bool add_lossy_as_expected(struct block *block) {
    struct wf_lossy_guess *guess = &block->scratch->lossy;
    const bool is_new = guess->is_new;
    guess->is_new = false;
    if (!may_lose(block) || guess->blocks <= 0) return false;
    guess->blocks--;
    const bool expects_specials = block->scratch->guess.specials > 0;
    if (expects_specials) block->scratch->guess.specials--;
    if ((expects_specials || is_infinite_but_for_nans(block->into)) && clean_if_possible(block)) return true;
    int top[TOPS], found[TOPS];
    memcpy(top, guess->top, sizeof top);
    if (!is_new) { /* as the ends of sorted data are their largest */
        raise_tops(top, block, 0);
        raise_tops(top, block, block->source.count - 1);
    }
    /* After a call of much larger elements too much would be lost; after blocks of such, these are in the sums. */
    if (add_lossy(block, top, is_new ? 2 * tops_above(block) : ANY_MARGIN, found)) return true;
    block->scratch->pass = 0;
    return add_known_lossy(block, found) || add_scanned_lossy(block);
}

/* Adds a block for which few levels are not enough, and expects more of its kind. */
static bool begin_lossy(struct block *block) {
    enum { BLOCKS = 16 };
    if (!may_lose(block) || !add_scanned_lossy(block)) return false;
    block->scratch->lossy.blocks = BLOCKS;
    return true;
}

/* Whether a window takes no longer than one that loses something, with which a largest magnitude is found. */
static bool is_few(const struct block *block, const struct window *window) {
    enum { AS_FAST_AS_DEEP = 4 };
    const enum depth depth = depth_of(block);
    const int levels = depth == DEEP ? AS_FAST_AS_DEEP : block->into->parts & PRODUCTS ? FEW_LEVELS : lossy_shape(depth).first;
    const bool is_few = window->shape.first <= levels && window->shape.others <= levels;
    return is_few && can_be_guessed(window, block->into->parts & SUMS);
}

#endif
