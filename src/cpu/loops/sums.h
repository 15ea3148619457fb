/* The sums of a block of floats in one pass, through a window of levels. */
#ifndef WF_CPU_LOOPS_SUMS_H
#define WF_CPU_LOOPS_SUMS_H

#include "cpu/loops/bins.h"
#include "cpu/loops/range_scan.h"

#define SUMS (WF_PART_SUM | WF_PART_ABS | WF_PART_SQUARES | WF_PART_DOT)
#define PRODUCTS (WF_PART_SQUARES | WF_PART_DOT)
#define EXTREMES (WF_PART_MIN | WF_PART_MAX)
#define MOMENTS (WF_PART_SUM | WF_PART_SQUARES)
#define STATS_SUMS (WF_PART_SUM | WF_PART_ABS | WF_PART_SQUARES)

enum { IS_F64 = ELEMENT == ELEMENT_F64 };

/* ---- terms ---- */

INLINE struct terms load_value(const unsigned char *x, const unsigned char *y, int levels) {
    (void)y, (void)levels;
    return (struct terms){widen(x), ONES, true};
}

INLINE struct terms load_magnitude(const unsigned char *x, const unsigned char *y, int levels) {
    (void)y, (void)levels;
    return (struct terms){(vf64)((vi64)widen(x) & INT64_MAX), ONES, true};
}

/* The product, rounded if it is one of f64; of narrower types, whose products are exact, as factors if there
 * are few levels: see load_terms. */
INLINE struct terms load_product(const unsigned char *x, const unsigned char *y, int levels) {
    vf64 a = widen(x), b = widen(y);
    if (!IS_F64 && levels <= 2) return (struct terms){a, b, true};
    return (struct terms){quiet_multiply(a, b), ONES, false};
}

/* The rounding error of a product of f64. */
INLINE struct terms load_product_error(const unsigned char *x, const unsigned char *y, int levels) {
    (void)levels;
    vf64 a = widen(x), b = widen(y), negative_product = -quiet_multiply(a, b);
    return (struct terms){fused(a, b, negative_product), ONES, true};
}

/* ---- kinds ---- */

INLINE uword significand_of(uword bits) {
    return (uword)((bits & (HIDDEN_BIT - 1)) | (bits & INFINITY_BITS ? HIDDEN_BIT : 0));
}

/* Of significands. */
enum { VALUE_BITS = FRACTION_BITS + 1, PRODUCT_BITS = 2 * VALUE_BITS };

static void decode(struct deposits *deposits, struct source part, uint64_t mask) {
    const unsigned char *x = part.x;
    size_t count = part.count;
    for (size_t i = 0; i < count; i++) {
        uword bits = bits_at(x, i) & (uword)mask;
        deposits->field[i] = (uint16_t)(bits >> FRACTION_BITS);
        set_significand(deposits, i, VALUE_BITS, significand_of(bits));
    }
}

#define BINS_OF_VALUES ((struct wf_bins_format){EXPONENT_BITS, LOW_EXPONENT})
#define BINS_OF_PRODUCTS ((struct wf_bins_format){EXPONENT_BITS + 1, 2 * LOW_EXPONENT - 1})

/* Values and magnitudes go to bins without being made terms first. */
INLINE bool add_elements(struct target into, struct source source, load_terms *load, uint64_t mask) {
    if (are_for_bins(source, into)) return add_to_bins(into, BINS_OF_VALUES, VALUE_BITS, decode, source, mask);
    return add_each(into, source, load);
}

APART bool add_values(struct target into, struct source source) {
    return add_elements(into, source, load_value, UINT64_MAX);
}

APART bool add_magnitudes(struct target into, struct source source) {
    return add_elements(into, source, load_magnitude, MAGNITUDE);
}

/* The exponent field, of which that of subnormals counts as 1. */
INLINE uword exponent_field(uword bits) {
    uword field = (uword)(bits >> FRACTION_BITS) & (uword)((1 << EXPONENT_BITS) - 1);
    return (uword)(field + (field == 0));
}

/* The bin of a product whose fields are of so many bits. */
INLINE uint16_t product_field(uword a, uword b, int field_bits) {
    return (uint16_t)(exponent_field(a) + exponent_field(b) + ((a ^ b) >> SIGN_SHIFT << field_bits));
}

/* Squares of narrow types. */
static void decode_squares(struct deposits *deposits, struct source part, uint64_t mask) {
    (void)mask;
    for (size_t i = 0; i < part.count; i++) {
        uword bits = bits_at(part.x, i);
        uint32_t significand = (uint32_t)significand_of(bits);
        deposits->field[i] = (uint16_t)(2 * exponent_field(bits));
        set_significand(deposits, i, PRODUCT_BITS, (uint64_t)significand * significand);
    }
}

/* Products of narrow types, of at most 48 bits. */
static void decode_products(struct deposits *deposits, struct source part, uint64_t mask) {
    (void)mask;
    for (size_t i = 0; i < part.count; i++) {
        uword a = bits_at(part.x, i), b = bits_at(part.y, i);
        deposits->field[i] = product_field(a, b, EXPONENT_BITS + 1);
        set_significand(deposits, i, PRODUCT_BITS, (uint64_t)(uint32_t)significand_of(a) * (uint32_t)significand_of(b));
    }
}

/* What elements add to which wide bins: the products of significands x[i] * y[i] to the bin of field[i]. */
struct wide_deposits {
    uint64_t x[WF_BINS_ROUND], y[WF_BINS_ROUND];
    uint16_t field[WF_BINS_ROUND];
};

/* Found in vectors.  Squares need only one significand, and no sign. */
INLINE void decode_wide(struct wide_deposits *deposits, struct source part, bool squares) {
    for (size_t i = 0; i < part.count; i++) {
        uword a = bits_at(part.x, i), b = squares ? a : bits_at(part.y, i);
        deposits->field[i] = squares ? (uint16_t)(2 * exponent_field(a)) : product_field(a, b, EXPONENT_BITS + 1);
        deposits->x[i] = significand_of(a);
        if (!squares) deposits->y[i] = significand_of(b);
    }
}

/* Products of f64, which are multiplied one by one.  A round is filled up with products that are 0. */
INLINE void add_wide_round(wf_u128 *bin, struct source part, bool squares) {
    enum { TURNS = 8, SECOND_LEVEL_CACHE = 2 };
    struct wide_deposits deposits;
    size_t count = part.count;
    decode_wide(&deposits, part, squares);
    for (; count % TURNS; count++) deposits.field[count] = deposits.x[count] = deposits.y[count] = 0;
    const uint64_t *y = squares ? deposits.x : deposits.y;
    for (size_t j = 0; j < count; j += TURNS) {
        uintptr_t next = (uintptr_t)part.x + j * part.nbytes + WF_BLOCK_NBYTES;
        if (part.ahead.distance) __builtin_prefetch((const void *)next, 0, SECOND_LEVEL_CACHE);
        for (size_t turn = 0; turn < TURNS; turn++)
            bin[deposits.field[j + turn]] += (wf_u128)deposits.x[j + turn] * y[j + turn];
    }
}

INLINE void add_wide_products(struct target into, struct source source) {
    wf_wide_bins_use(into.wide_bins, source.count, into.exact);
    for (size_t i = 0; i < source.count; i += WF_BINS_ROUND) {
        struct source part = part_of(source, i, WF_BINS_ROUND);
        if (part.x == part.y)
            add_wide_round(into.wide_bins->bin, part, true);
        else
            add_wide_round(into.wide_bins->bin, part, false);
    }
}

/* Products that no f64, with its error, need hold. */
APART void add_each_product(const struct wf_exact *into, struct source source) {
    double a[64], b[64];
    for (size_t i = 0; i < source.count; i += 64) {
        struct source part = part_of(source, i, 64);
        store_terms(a, (struct source){part.x, part.x, part.count, part.nbytes, part.ahead}, load_value);
        store_terms(b, (struct source){part.y, part.y, part.count, part.nbytes, part.ahead}, load_value);
        for (size_t j = 0; j < part.count; j++) wf_exact_add_product(into, a[j], b[j]);
    }
}

APART bool add_products(struct target into, struct source source) {
    const struct wf_bins_format format = BINS_OF_PRODUCTS;
    if (IS_F64 && into.wide_bins && (source.count >= FEW_FOR_BINS || into.wide_bins->in_use))
        add_wide_products(into, source);
    else if (IS_F64 || !are_products_for_bins(source, into))
        add_each_product(into.exact, source);
    else if (source.x == source.y)
        add_to_bins(into, format, PRODUCT_BITS, decode_squares, source, 0);
    else
        add_to_bins(into, format, PRODUCT_BITS, decode_products, source, 0);
    return true;
}

/* ---- values and squares together ---- */

/* What elements add to the bins of values, and to which bins they add their squares. */
struct moment_deposits {
    struct deposits values;
    uint16_t square_field[WF_BINS_ROUND];
};

/* Of a round, which is filled up with zeros; returns the union of all bits of the bins of values that were added to. */
INLINE uint64_t add_moments_round(uint64_t *bin, uint64_t *square_bin, wf_u128 *wide_bin, struct source part) {
    enum { TURNS = 8, SECOND_LEVEL_CACHE = 2 };
    const size_t sets = wf_bins_sets(BINS_OF_VALUES), per_set = wf_bins_per_set(BINS_OF_VALUES);
    const size_t square_sets = wf_bins_sets(BINS_OF_PRODUCTS), per_square_set = wf_bins_per_set(BINS_OF_PRODUCTS);
    struct moment_deposits deposits;
    size_t count = part.count;
    uint64_t any = 0;
    decode(&deposits.values, part, UINT64_MAX);
    for (size_t i = 0; i < count; i++) deposits.square_field[i] = (uint16_t)(2 * exponent_field(bits_at(part.x, i)));
    for (; count % TURNS; count++) {
        deposits.values.field[count] = deposits.square_field[count] = 0;
        set_significand(&deposits.values, count, VALUE_BITS, 0);
    }
    for (size_t j = 0; j < count; j += TURNS) {
        uintptr_t next = (uintptr_t)part.x + j * part.nbytes + WF_BLOCK_NBYTES;
        if (part.ahead.distance) __builtin_prefetch((const void *)next, 0, SECOND_LEVEL_CACHE);
        for (size_t turn = 0; turn < TURNS; turn++) {
            uint64_t significand = significand_at(&deposits.values, j + turn, VALUE_BITS);
            size_t field = field_at(deposits.square_field, j, turn, VALUE_BITS);
            any |= bin[turn % sets * per_set + field_at(deposits.values.field, j, turn, VALUE_BITS)] += significand;
            if (IS_F64)
                wide_bin[field] += (wf_u128)significand * significand;
            else
                square_bin[turn % square_sets * per_square_set + field] += significand * significand;
        }
    }
    return any;
}

/* Adds finite values, and their squares, to their bins. */
APART void add_moments(struct target values, struct target squares, struct source source) {
    if (IS_F64) wf_wide_bins_use(squares.wide_bins, source.count, squares.exact);
    for (size_t i = 0; i < source.count; i += WF_BINS_ROUND) {
        struct source part = part_of(source, i, WF_BINS_ROUND);
        prepare_bins(values, BINS_OF_VALUES, VALUE_BITS, part.count);
        if (!IS_F64) prepare_bins(squares, BINS_OF_PRODUCTS, PRODUCT_BITS, part.count);
        uint64_t any = add_moments_round(values.bins->bin, squares.bins->bin, squares.wide_bins->bin, part);
        if (IS_F64 && any >> 63) wf_bins_flush(values.bins, values.exact, values.magnitudes);
    }
}

/* A product of f64 has two terms, the rounded product and its error, and neither has a bit below the lowest
 * exponent of f64 as long as the error is not lost: see ranges_of_products. */
enum {
    PRODUCT_TERMS = IS_F64 ? 2 : 1,
    PRODUCT_FLOOR = IS_F64 ? LOW_EXPONENT : 2 * LOW_EXPONENT,
};

/* The kind that adds all of these sums, WF_PART_SUM and so on, at once. */
INLINE struct kind kind_of(unsigned sums) {
    if (sums == WF_PART_SUM) return (struct kind){1, false, {load_value}, {LOW_EXPONENT}, add_values};
    if (sums == WF_PART_ABS) return (struct kind){1, false, {load_magnitude}, {LOW_EXPONENT}, add_magnitudes};
    if (sums & WF_PART_SUM)
        return (struct kind){1 + PRODUCT_TERMS,
                             sums & WF_PART_ABS,
                             {load_value, load_product, load_product_error},
                             {LOW_EXPONENT, PRODUCT_FLOOR, PRODUCT_FLOOR},
                             NULL};
    return (struct kind){PRODUCT_TERMS,
                         false,
                         {load_product, load_product_error},
                         {PRODUCT_FLOOR, PRODUCT_FLOOR},
                         add_products};
}

/* The ranges of products, and of their errors, of elements of these ranges.  The product of f64 and its error
 * are exact together as long as no bit of the product lies below 2^-1074: returns false if one may. */
INLINE bool ranges_of_products(struct range x, struct range y, struct range products[2]) {
    /* A product of two normal numbers is a multiple of its own unit in the last place, or of a larger power
     * of 2. */
    bool rounded = IS_F64 && x.low > LOW_EXPONENT && y.low > LOW_EXPONENT;
    products[0] = (struct range){x.top + y.top, x.low + y.low + (rounded ? FRACTION_BITS : 0)};
    products[1] = (struct range){x.top + y.top - FRACTION_BITS, x.low + y.low};
    return !IS_F64 || (x.low + y.low >= -1074 && x.top + y.top <= 1023);
}

/* The ranges of the terms of kind_of(sums); false if terms could be inexact. */
INLINE bool ranges_of(unsigned sums, const struct range *element, struct range range[TERMS_MAX]) {
    bool of_elements = sums & ~(unsigned)PRODUCTS;
    if (of_elements) range[0] = element[0];
    return !(sums & PRODUCTS) || ranges_of_products(element[0], element[1], range + of_elements);
}

/* ---- a block ---- */

/* A block, or a run of blocks, that is being added. */
struct block {
    struct wf_open_partial *into;
    struct wf_scratch *scratch;
    struct source source;
    int64_t index;     /* of the first element */
    bool is_scanned;   /* magnitudes and range, of both operands, are known */
    bool has_extremes; /* extremes are known */
    struct magnitudes magnitudes[2];
    struct range range[2];
    struct extremes extremes;
};

static struct target target_of(const struct block *block, unsigned part) {
    struct wf_bins *bins = block->scratch->bins;
    struct wf_open_partial *into = block->into;
    if (part == WF_PART_SUM)
        return (struct target){&into->sum, into->parts & WF_PART_ABS ? &into->abs : NULL,
                               bins ? &bins[WF_BINS_OF_SUM] : NULL, NULL};
    if (part == WF_PART_ABS)
        return (struct target){&into->abs, NULL, bins ? &bins[WF_BINS_OF_ABS] : NULL, NULL};
    return (struct target){&into->product_sum, NULL, bins ? &bins[WF_BINS_OF_PRODUCTS] : NULL,
                           block->scratch->wide_bins};
}

static void set_magnitudes(struct block *block, struct magnitudes x, struct magnitudes y) {
    block->magnitudes[0] = x;
    block->magnitudes[1] = y;
    block->range[0] = range_of(x);
    block->range[1] = range_of(y);
    block->is_scanned = true;
}

static void ensure_scanned(struct block *block) {
    struct source source = block->source;
    if (block->is_scanned) return;
    struct magnitudes x = find_magnitudes(source.x, source.count);
    set_magnitudes(block, x, source.y == source.x ? x : find_magnitudes(source.y, source.count));
}

/* Whether a scanned block has no infinity and no NaN. */
static bool is_finite(const struct block *block) {
    return block->magnitudes[0].max < INFINITY_BITS && block->magnitudes[1].max < INFINITY_BITS;
}

/* The number of elements that can be copied. */
static size_t room_for_copy(const struct block *block) {
    return block->scratch->copy_nbytes / sizeof(uword);
}

/* The source of the next pass.  If the sums are not of pairs, the compiler is told that y is x. */
INLINE struct source source_of(const struct block *block, bool pairs) {
    const unsigned char *x = block->source.x;
    return (struct source){x, pairs ? block->source.y : x, block->source.count, sizeof(uword),
                           next_pass(block->scratch)};
}

/* ---- extraction of all sums in one pass ---- */

INLINE void extract_sums(struct extracted *extracted, const struct block *block, const struct window *window,
                         unsigned sums, struct scan scans[2], scan_vector *scan) {
    struct source source = source_of(block, sums == WF_PART_DOT);
    extract_any(extracted, window, source, kind_of(sums), scans, scan);
}

/* Extracts the sums and, where that is the only way to check the window, scans the range in the same pass. */
INLINE void extract_and_scan_range(struct extracted *extracted, struct block *block,
                                   const struct window *window, unsigned sums) {
    struct scan scans[2] = {RANGE_SCAN_START, RANGE_SCAN_START};
    extract_sums(extracted, block, window, sums, scans, NOTES_ROUNDING ? NULL : scan_range);
    if (NOTES_ROUNDING) return;
    struct magnitudes x = scanned_magnitudes(&scans[0]);
    set_magnitudes(block, x, block->source.y == block->source.x ? x : scanned_magnitudes(&scans[1]));
}

typedef void extract_function(struct extracted *extracted, struct block *block, const struct window *window);

APART void extract_values(struct extracted *extracted, struct block *block, const struct window *window) {
    extract_and_scan_range(extracted, block, window, WF_PART_SUM);
}

APART void extract_magnitudes(struct extracted *extracted, struct block *block, const struct window *window) {
    extract_and_scan_range(extracted, block, window, WF_PART_ABS);
}

APART void extract_squares(struct extracted *extracted, struct block *block, const struct window *window) {
    extract_and_scan_range(extracted, block, window, WF_PART_SQUARES);
}

#define TYPE_IS_F64 1

/* For f64 on x86-64 without AVX, gcc 12's elimination of common subexpressions would make this take 1.15
 * times as long. */
#if PASTE(TYPE_IS_, TYPE) && defined(__x86_64__) && !defined(__AVX2__) && !defined(__clang__)
__attribute__((optimize("no-gcse")))
#endif
APART void
extract_products(struct extracted *extracted, struct block *block, const struct window *window) {
    extract_and_scan_range(extracted, block, window, WF_PART_DOT);
}

/* For f64 with AVX2, gcc 12's choice of induction variables would leave this loop too few registers: 1.2
 * times as long. */
#if PASTE(TYPE_IS_, TYPE) && defined(__AVX2__) && !defined(__AVX512F__) && !defined(__clang__)
__attribute__((optimize("no-ivopts")))
#endif
APART void
extract_moments(struct extracted *extracted, struct block *block, const struct window *window) {
    extract_and_scan_range(extracted, block, window, MOMENTS);
}

/* Together with these sums, extremes are asked for.  They are found in the same pass where that is free for
 * another scan; elsewhere they have been found before, and the range with them. */
APART void extract_stats(struct extracted *extracted, struct block *block, const struct window *window) {
    struct scan scans[2] = {EXTREMES_SCAN_START};
    extract_sums(extracted, block, window, STATS_SUMS, scans, NOTES_ROUNDING ? scan_extremes : NULL);
    if (!NOTES_ROUNDING) return;
    block->extremes = scanned_extremes(&scans[0]);
    block->has_extremes = true;
}

/* Through wide windows, which only kinds of one term have, and only with NOTES_ROUNDING, so nothing is
 * scanned. */
APART void extract_wide_values(struct extracted *extracted, struct block *block,
                               const struct window *window) {
    extract_wide(extracted, window, source_of(block, false), kind_of(WF_PART_SUM));
}

APART void extract_wide_magnitudes(struct extracted *extracted, struct block *block,
                                   const struct window *window) {
    extract_wide(extracted, window, source_of(block, false), kind_of(WF_PART_ABS));
}

/* Squares are products, too: of an array with itself. */
APART void extract_wide_products(struct extracted *extracted, struct block *block,
                                 const struct window *window) {
    extract_wide(extracted, window, source_of(block, true), kind_of(WF_PART_DOT));
}

/* The loops that are compiled, by the sums that they add in one pass.  Other combinations are added one by
 * one. */
static extract_function *const extract_functions[SUMS + 1] = {
    [WF_PART_SUM] = extract_values,   [WF_PART_ABS] = extract_magnitudes, [WF_PART_SQUARES] = extract_squares,
    [WF_PART_DOT] = extract_products, [MOMENTS] = extract_moments,        [STATS_SUMS] = extract_stats,
};

static extract_function *const extract_wide_functions[SUMS + 1] = {
    [WF_PART_SUM] = extract_wide_values,
    [WF_PART_ABS] = extract_wide_magnitudes,
    [WF_PART_SQUARES] = IS_F64 ? NULL : extract_wide_products,
    [WF_PART_DOT] = IS_F64 ? NULL : extract_wide_products,
};

INLINE void extract_through(struct extracted *extracted, struct block *block, const struct window *window,
                            unsigned sums) {
    if (is_wide(window))
        extract_wide_functions[sums](extracted, block, window);
    else
        extract_functions[sums](extracted, block, window);
}

/* Finds a window for these sums of elements of these ranges; returns whether there is one. */
static bool find_window(struct window *window, unsigned sums, const struct range *element) {
    struct range range[TERMS_MAX] = {{0, 0}};
    return extract_functions[sums] && ranges_of(sums, element, range) &&
           make_window(window, range, kind_of(sums));
}

/* Whether a guessed window held all bits of every term. */
static bool has_held(struct block *block, const struct window *window, const struct extracted *extracted) {
    struct range range[TERMS_MAX] = {{0, 0}};
    unsigned sums = block->into->parts & SUMS;
    if (NOTES_ROUNDING) return extracted->is_exact;
    ensure_scanned(block);
    return is_finite(block) && ranges_of(sums, block->range, range) &&
           window_covers(window, range, kind_of(sums).terms);
}

/* Adds all sums in one pass; if the window was guessed, only if it has held. */
static bool add_through(struct block *block, const struct window *window, bool guessed) {
    unsigned sums = block->into->parts & SUMS;
    struct extracted extracted;
    extract_through(&extracted, block, window, sums);
    if (guessed && !has_held(block, window, &extracted)) return false;
    struct wf_open_partial *into = block->into;
    bool of_elements = sums & ~(unsigned)PRODUCTS;
    if (sums & WF_PART_SUM) add_extracted(&into->sum, window, &extracted, 0);
    if (sums == WF_PART_ABS)
        add_extracted(&into->abs, window, &extracted, 0);
    else if (sums & WF_PART_ABS)
        add_extracted_magnitudes(&into->abs, window, &extracted);
    for (int t = 0; sums & PRODUCTS && t < PRODUCT_TERMS; t++)
        add_extracted(&into->product_sum, window, &extracted, of_elements + t);
    return true;
}

/* Adds all sums of a scanned, finite block in one pass, if a window covers its range. */
static bool add_through_window(struct block *block) {
    struct window window;
    return find_window(&window, block->into->parts & SUMS, block->range) &&
           add_through(block, &window, false);
}

#endif
