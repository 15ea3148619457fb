/* The sums of a block of floats in one pass, through a window of levels. */
#ifndef WF_CPU_LOOPS_SUMS_H
#define WF_CPU_LOOPS_SUMS_H

#include "cpu/loops/bins.h"
#include "cpu/loops/range_scan.h"
#include "cpu/loops/scaled.h"

#define SUMS (WF_PART_SUM | WF_PART_ABS | WF_PART_SQUARES | WF_PART_DOT)
#define PRODUCTS (WF_PART_SQUARES | WF_PART_DOT)
#define EXTREMES (WF_PART_MIN | WF_PART_MAX)
#define MOMENTS (WF_PART_SUM | WF_PART_SQUARES)
#define STATS_SUMS (WF_PART_SUM | WF_PART_ABS | WF_PART_SQUARES)

/* ---- terms ---- */

INLINE struct terms load_value(const unsigned char *x, const unsigned char *y, int levels, const vf64 *factor) {
    (void)y, (void)levels, (void)factor;
    return (struct terms){widen(x), ONES, true};
}

INLINE struct terms load_scaled_value(const unsigned char *x, const unsigned char *y, int levels, const vf64 *factor) {
    (void)y, (void)levels, (void)factor;
    return (struct terms){scaled_value(widen(x)), ONES, true};
}

INLINE struct terms load_scaled_magnitude(const unsigned char *x, const unsigned char *y, int levels, const vf64 *factor) {
    (void)y, (void)levels, (void)factor;
    return (struct terms){(vf64)((vi64)scaled_value(widen(x)) & INT64_MAX), ONES, true};
}

INLINE struct terms load_magnitude(const unsigned char *x, const unsigned char *y, int levels, const vf64 *factor) {
    (void)y, (void)levels, (void)factor;
    return (struct terms){(vf64)((vi64)widen(x) & INT64_MAX), ONES, true};
}

/* The product, rounded if it is one of f64; of narrower types, whose products are exact, as factors if there
 * are few levels: see load_terms. */
INLINE struct terms load_product(const unsigned char *x, const unsigned char *y, int levels, const vf64 *factor) {
    (void)factor;
    vf64 a = widen(x), b = widen(y);
    if (!IS_F64 && levels <= 2) return (struct terms){a, b, true};
    return (struct terms){quiet_multiply(a, b), ONES, false};
}

/* The rounding error of a product of f64. */
INLINE struct terms load_product_error(const unsigned char *x, const unsigned char *y, int levels, const vf64 *factor) {
    (void)levels, (void)factor;
    vf64 a = widen(x), b = widen(y), negative_product = -quiet_multiply(a, b);
    return (struct terms){fused(a, b, negative_product), ONES, true};
}

/* Of f64 that are multiplied by a power of two first, so that neither they nor their products leave the range: what becomes
 * subnormal by that is lost (lossy.h). */
INLINE vf64 fitted(const unsigned char *x, vf64 factor) {
    return widen(x) * factor;
}

INLINE struct terms load_fitted_value(const unsigned char *x, const unsigned char *y, int levels, const vf64 *factor) {
    (void)y, (void)levels;
    return (struct terms){fitted(x, factor[0]), ONES, true};
}

INLINE struct terms load_fitted_magnitude(const unsigned char *x, const unsigned char *y, int levels, const vf64 *factor) {
    (void)y, (void)levels;
    return (struct terms){(vf64)((vi64)fitted(x, factor[0]) & INT64_MAX), ONES, true};
}

INLINE struct terms load_fitted_product(const unsigned char *x, const unsigned char *y, int levels, const vf64 *factor) {
    (void)levels;
    return (struct terms){quiet_multiply(fitted(x, factor[0]), fitted(y, factor[1])), ONES, false};
}

INLINE struct terms load_fitted_error(const unsigned char *x, const unsigned char *y, int levels, const vf64 *factor) {
    (void)levels;
    vf64 a = fitted(x, factor[0]), b = fitted(y, factor[1]), negative_product = -quiet_multiply(a, b);
    return (struct terms){fused(a, b, negative_product), ONES, true};
}

/* ---- kinds ---- */

INLINE uword significand_of(uword bits) {
    return (uword)((bits & (HIDDEN_BIT - 1)) | (bits & INFINITY_BITS ? HIDDEN_BIT : 0));
}

/* The exponent of a significand's unit, from that of the lowest on. */
INLINE uword position_of(uword bits) {
    uword field = (uword)(bits >> FRACTION_BITS) & (uword)((1 << EXPONENT_BITS) - 1);
    return (uword)(field - (field != 0));
}

/* Bins of that many exponents each, for all positions below 2^position_bits. */
#define BINS_FORMAT(STEP_LOG2, POSITION_BITS, WORDS, SIGNS, SETS, TAKEN_MAX) \
    ((struct wf_bins_format){STEP_LOG2, WORDS, 1 << ((POSITION_BITS) - (STEP_LOG2)), SIGNS, SETS, TAKEN_MAX})

/* Values of f64, shifted by up to 31, have 84 bits: 32 in one word of a bin, and 52, of which 2^11 have a signed sum, in
 * the other.  Their
 * products, shifted by up to 7, have 113 of 128.  Values of narrower types have 31, products 51, of which 2^13 fit into
 * a word of each of four sets. */
enum {
    STEP_OF_VALUES = IS_F64 ? 5 : 3,
    STEP_OF_PRODUCTS = IS_F64 ? 3 : 2,
    WORDS = IS_F64 ? 2 : 1,
    VALUES_MAX = IS_F64 ? 1 << 11 : 1 << 14,
    PRODUCTS_MAX = IS_F64 ? 1 << 13 : 1 << 15,
};
#define BINS_OF_VALUES BINS_FORMAT(STEP_OF_VALUES, EXPONENT_BITS, WORDS, 2, IS_F64 ? 2 : 4, VALUES_MAX)
#define BINS_OF_PRODUCTS BINS_FORMAT(STEP_OF_PRODUCTS, EXPONENT_BITS + 1, WORDS, 2, IS_F64 ? 1 : 4, PRODUCTS_MAX)
#define BINS_OF_SQUARES BINS_FORMAT(STEP_OF_PRODUCTS, EXPONENT_BITS + 1, WORDS, 1, IS_F64 ? 2 : 4, PRODUCTS_MAX)

/* ---- decoding of narrow types, in loops that compilers make vectors of */

/* The place of the bin of a position. */
INLINE uint16_t place_of(struct wf_bins_format format, uword position, bool is_negative) {
    return (uint16_t)((position >> format.step_log2) + (is_negative ? (uword)format.count : 0));
}

INLINE bool decode_narrow_values(struct deposits *deposits, struct source part, uint64_t mask) {
    uword special = 0;
    for (size_t i = 0; i < part.count; i++) {
        uword bits = bits_at(part.x, i) & (uword)mask, position = position_of(bits);
        uword is_special = (sword)(bits & MAGNITUDE) >= (sword)INFINITY_BITS;
        uint32_t significand = is_special ? 0 : (uint32_t)significand_of(bits);
        special |= is_special;
        deposits->narrow[i] = significand << position % (1 << STEP_OF_VALUES);
        deposits->narrow_place[i] = place_of(BINS_OF_VALUES, position, bits >> SIGN_SHIFT);
    }
    return !special;
}

/* The squares are those of the significands, shifted by half of what they are to be shifted by. */
INLINE void decode_narrow_squares(struct deposits *deposits, struct source part) {
    for (size_t i = 0; i < part.count; i++) {
        uword bits = bits_at(part.x, i), position = position_of(bits);
        uint32_t root = (uint32_t)significand_of(bits) << position % (1 << (STEP_OF_PRODUCTS - 1));
        deposits->low[i] = (uint64_t)root * root;
        deposits->narrow_place[i] = place_of(BINS_OF_SQUARES, (uword)(2 * position), false);
    }
}

INLINE void decode_narrow_products(struct deposits *deposits, struct source part) {
    for (size_t i = 0; i < part.count; i++) {
        uword a = bits_at(part.x, i), b = bits_at(part.y, i), position = (uword)(position_of(a) + position_of(b));
        uint32_t shifted = (uint32_t)significand_of(a) << position % (1 << STEP_OF_PRODUCTS);
        deposits->low[i] = (uint64_t)shifted * (uint32_t)significand_of(b);
        deposits->narrow_place[i] = place_of(BINS_OF_PRODUCTS, position, (a ^ b) >> SIGN_SHIFT);
    }
}

/* ---- decoding of f64, in vectors */

/* Values of f64: significands, and their positions, to which a set sign adds 2^EXPONENT_BITS. */
struct decoded {
    vu64 significand, position, is_special;
};

INLINE struct decoded decode_f64(const unsigned char *x, uint64_t mask) {
    const uint64_t field_max = (1 << EXPONENT_BITS) - 1;
    vu64 bits;
    memcpy(&bits, x, sizeof bits);
    bits &= mask;
    vu64 signed_field = bits >> FRACTION_BITS, field = signed_field & field_max, is_zero = (vu64)(field == 0);
    vu64 significand = (bits & (HIDDEN_BIT - 1)) | (~is_zero & HIDDEN_BIT);
    return (struct decoded){significand, signed_field - 1 - is_zero, (vu64)(field == field_max)};
}

INLINE void store_u64(uint64_t *to, vu64 words) {
    memcpy(to, &words, sizeof words);
}

/* The lowest 32 bits of a significand shifted to its place, and those above. */
INLINE vu64 decode_vector_of_values(struct deposits *deposits, const unsigned char *x, size_t i, uint64_t mask) {
    struct decoded value = decode_f64(x, mask);
    vu64 significand = value.significand & ~value.is_special;
    vu64 shift = value.position & ((1 << STEP_OF_VALUES) - 1);
    store_u64(deposits->low + i, significand << shift & UINT32_MAX);
    store_u64(deposits->high + i, significand >> (32 - shift));
    store_u64(deposits->place + i, value.position >> STEP_OF_VALUES << 1);
    return value.is_special;
}

INLINE void decode_vector_of_squares(struct deposits *deposits, const unsigned char *x, size_t i) {
    struct decoded value = decode_f64(x, MAGNITUDE);
    store_u64(deposits->low + i, value.significand << (value.position & ((1 << (STEP_OF_PRODUCTS - 1)) - 1)));
    store_u64(deposits->place + i, value.position >> (STEP_OF_PRODUCTS - 1) << 1);
}

INLINE void decode_vector_of_products(struct deposits *deposits, const unsigned char *x, const unsigned char *y, size_t i) {
    struct decoded a = decode_f64(x, MAGNITUDE), b = decode_f64(y, MAGNITUDE);
    vu64 a_bits, b_bits, position = a.position + b.position;
    memcpy(&a_bits, x, sizeof a_bits);
    memcpy(&b_bits, y, sizeof b_bits);
    vu64 sign = (a_bits ^ b_bits) >> SIGN_SHIFT << (EXPONENT_BITS + 1);
    store_u64(deposits->low + i, a.significand << (position & ((1 << STEP_OF_PRODUCTS) - 1)));
    store_u64(deposits->high + i, b.significand);
    store_u64(deposits->place + i, (position | sign) >> STEP_OF_PRODUCTS << 1);
}

/* The elements, or pairs, of a round after the last full vector, filled up with zeros. */
INLINE struct source last_vector(struct source part, size_t i, struct group *group) {
    return padded(part_of(part, i, LANES), LANES * part.nbytes, group);
}

/* ---- bins of values and of products */

static bool decode_values(struct deposits *deposits, struct source part, uint64_t mask) {
    struct group group;
    vu64 special = {0};
    uint64_t any = 0;
    size_t i = 0;
    if (!IS_F64) return decode_narrow_values(deposits, part, mask);
    for (; i + LANES <= part.count; i += LANES)
        special |= decode_vector_of_values(deposits, part.x + i * sizeof(uword), i, mask);
    if (i < part.count) special |= decode_vector_of_values(deposits, last_vector(part, i, &group).x, i, mask);
    for (int lane = 0; lane < LANES; lane++) any |= special[lane];
    return !any;
}

static bool decode_squares(struct deposits *deposits, struct source part, uint64_t mask) {
    struct group group;
    size_t i = IS_F64 ? 0 : part.count;
    (void)mask;
    if (!IS_F64) decode_narrow_squares(deposits, part);
    for (; i + LANES <= part.count; i += LANES)
        decode_vector_of_squares(deposits, part.x + i * sizeof(uword), i);
    if (i < part.count) decode_vector_of_squares(deposits, last_vector(part, i, &group).x, i);
    return true;
}

static bool decode_products(struct deposits *deposits, struct source part, uint64_t mask) {
    struct group group;
    size_t i = IS_F64 ? 0 : part.count;
    (void)mask;
    if (!IS_F64) decode_narrow_products(deposits, part);
    for (; i + LANES <= part.count; i += LANES)
        decode_vector_of_products(deposits, part.x + i * sizeof(uword), part.y + i * sizeof(uword), i);
    if (i == part.count) return true;
    struct source last = last_vector(part, i, &group);
    decode_vector_of_products(deposits, last.x, last.y, i);
    return true;
}

/* Significands and fields. */
INLINE void decode_vector_of_fields(struct deposits *deposits, const unsigned char *x, size_t i, uint64_t mask) {
    vu64 bits;
    memcpy(&bits, x, sizeof bits);
    bits &= mask;
    vu64 is_zero = (vu64)((bits & INFINITY_BITS) == 0);
    store_u64(deposits->low + i, (bits & (HIDDEN_BIT - 1)) | (~is_zero & HIDDEN_BIT));
    store_u64(deposits->place + i, bits >> FRACTION_BITS);
}

INLINE void decode_narrow_fields(struct deposits *deposits, struct source part, uint64_t mask) {
    for (size_t i = 0; i < part.count; i++) {
        uword bits = bits_at(part.x, i) & (uword)mask;
        deposits->narrow_place[i] = (uint16_t)(bits >> FRACTION_BITS);
        deposits->narrow[i] = (uint32_t)significand_of(bits);
    }
}

INLINE bool decode_fields(struct deposits *deposits, struct source part, uint64_t mask) {
    struct group group;
    size_t i = IS_F64 ? 0 : part.count;
    if (!IS_F64) decode_narrow_fields(deposits, part, mask);
    for (; i + 4 * LANES <= part.count; i += 4 * LANES) {
        UNROLLED
        for (size_t v = 0; v < 4 * LANES; v += LANES)
            decode_vector_of_fields(deposits, part.x + (i + v) * sizeof(uword), i + v, mask);
    }
    for (; i + LANES <= part.count; i += LANES)
        decode_vector_of_fields(deposits, part.x + i * sizeof(uword), i, mask);
    if (i < part.count) decode_vector_of_fields(deposits, last_vector(part, i, &group).x, i, mask);
    return true;
}

/* Values of narrow types, their fields, and their squares. */
static bool decode_powers(struct deposits *deposits, struct source part, uint64_t mask) {
    (void)mask;
    for (size_t i = 0; i < part.count; i++) {
        uword bits = bits_at(part.x, i);
        uint32_t significand = (uint32_t)significand_of(bits);
        deposits->narrow_place[i] = (uint16_t)(bits >> FRACTION_BITS << 1);
        deposits->narrow[i] = significand;
        deposits->low[i] = (uint64_t)significand * significand;
    }
    return true;
}

/* Values go to bins of their fields from now on. */
static void expect_many(struct target into) {
    if (!into.bins->are_many) flush_target(into);
    into.bins->are_many = true;
}

/* Many values, to bins of their fields. */
INLINE bool add_many(struct target into, struct source source, uint64_t mask) {
    expect_many(into);
    return add_to_fields(into, wf_bins_of_fields(EXPONENT_BITS), IS_F64 ? ADDEND_WORD : ADDEND_NARROW, decode_fields,
                         source, mask);
}

APART bool add_many_values(struct target into, struct source source) {
    return add_many(into, source, UINT64_MAX);
}

APART bool add_many_magnitudes(struct target into, struct source source) {
    return add_many(into, source, MAGNITUDE);
}

/* Values and magnitudes go to bins without being made terms first. */
INLINE bool add_elements(struct target into, struct source source, load_terms *load, uint64_t mask) {
    if (!are_for_bins(source, into)) return add_each(into, source, load);
    if (into.bins->are_many || source.count >= MANY_FOR_BINS)
        return mask == MAGNITUDE ? add_many_magnitudes(into, source) : add_many_values(into, source);
    return add_to_bins(into, BINS_OF_VALUES, IS_F64 ? ADDEND_PAIR : ADDEND_NARROW, decode_values, source, mask);
}

APART bool add_values(struct target into, struct source source) {
    return add_elements(into, source, load_value, UINT64_MAX);
}

APART bool add_magnitudes(struct target into, struct source source) {
    return add_elements(into, source, load_magnitude, MAGNITUDE);
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

INLINE bool add_pairs(struct target into, struct source source, struct wf_bins_format format, enum addend of_f64,
                               decode_elements *decode) {
    if (are_products_for_bins(source, into))
        add_to_bins(into, format, IS_F64 ? of_f64 : ADDEND_WORD, decode, source, 0);
    else
        add_each_product(into.exact, source);
    return true;
}

APART bool add_products(struct target into, struct source source) {
    return add_pairs(into, source, BINS_OF_PRODUCTS, ADDEND_PRODUCT, decode_products);
}

/* Whether there are bins of powers for these sums. */
INLINE bool has_powers(unsigned sums) {
    return !IS_F64 && sums & WF_PART_SQUARES && sums & (WF_PART_SUM | WF_PART_ABS);
}

/* Values, as far as their sums are asked for, and squares of narrow types at once; returns whether all were finite. */
APART bool add_powers(struct target into, struct source source) {
    return add_to_fields(into, wf_bins_of_powers(EXPONENT_BITS), ADDEND_POWERS, decode_powers, source, UINT64_MAX);
}

APART bool add_squares(struct target into, struct source source) {
    return add_pairs(into, source, BINS_OF_SQUARES, ADDEND_SQUARE, decode_squares);
}

/* A product of f64 has two terms, the rounded product and its error, and neither has a bit below the lowest
 * exponent of f64 as long as the error is not lost: see ranges_of_products. */
enum {
    PRODUCT_TERMS = IS_F64 ? 2 : 1,
    PRODUCT_FLOOR = IS_F64 ? LOW_EXPONENT : 2 * LOW_EXPONENT,
};

/* The kind that adds all of these sums, WF_PART_SUM and so on, at once. */
INLINE struct kind kind_of(unsigned sums) {
    if (sums == WF_PART_SUM) return (struct kind){1, false, {load_value}, {LOW_EXPONENT}, add_values, false, NULL, false};
    if (sums == WF_PART_ABS) return (struct kind){1, false, {load_magnitude}, {LOW_EXPONENT}, add_magnitudes, false, NULL, false};
    if (sums & WF_PART_SUM)
        return (struct kind){1 + PRODUCT_TERMS,
                             sums & WF_PART_ABS,
                             {load_value, load_product, load_product_error},
                             {LOW_EXPONENT, PRODUCT_FLOOR, PRODUCT_FLOOR},
                             NULL,
                             false,
                             NULL,
                             false};
    return (struct kind){PRODUCT_TERMS,
                         false,
                         {load_product, load_product_error},
                         {PRODUCT_FLOOR, PRODUCT_FLOOR},
                         sums == WF_PART_DOT ? add_products : add_squares,
                         false,
                         NULL,
                         false};
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

/* Small elements of a lone sum are moved up as they are loaded, all by the same factor. */
INLINE int shift_of(unsigned sums, struct range element) {
    return !(sums & PRODUCTS) && element.top <= -SHIFT_OF_GROUPS ? SHIFT_OF_GROUPS : -element.top;
}

/* Elements that are subnormal, or leave what is of one level, are multiplied by a power of two before they are added, and
 * so are those whose products could be inexact: which, and how the ranges are then. */
INLINE void set_shifts(struct window *window, unsigned sums, struct range element[2]) {
    const int normal = LOW_EXPONENT + FRACTION_BITS;
    struct range products[2];
    int operands = sums & WF_PART_DOT ? 2 : 1;
    bool is_low = element[0].low < normal || element[operands - 1].low < normal;
    bool is_nothing = element[0].low > element[0].top || element[operands - 1].low > element[operands - 1].top; /* zeros */
    bool is_to_be_scaled = IS_F64 && !is_nothing && (is_low || (sums & PRODUCTS && !ranges_of_products(element[0], element[1], products)));
    for (int operand = 0; operand < 2; operand++) {
        int shift = window->shift[operand] = is_to_be_scaled ? shift_of(sums, element[operand]) : 0;
        element[operand] = (struct range){element[operand].top + shift, element[operand].low + shift};
    }
}

/* Whether sums of values or magnitudes of groups take a window of these, moved up as are the elements. */
INLINE bool moves_up(struct range *range) {
    const int normal = LOW_EXPONENT + FRACTION_BITS;
    if (!IS_F64 || range->low >= normal || range->top > -SHIFT_OF_GROUPS) return false;
    *range = (struct range){range->top + SHIFT_OF_GROUPS, range->low + SHIFT_OF_GROUPS};
    return true;
}

/* Moves a window back to where the elements are. */
static void move_down(struct window *window) {
    for (int k = 0; k < window->shape.first; k++) window->exponent[0][k] -= SHIFT_OF_GROUPS;
}

static bool is_scaled(const struct window *window) {
    return window->shift[0] | window->shift[1];
}

/* No bit of an element, or of a product, lies below the exact sum's lowest digit. */
static void set_floors(struct kind *kind, const struct window *window, unsigned sums) {
    bool of_elements = sums & ~(unsigned)PRODUCTS;
    int of_products = 2 * LOW_EXPONENT + window->shift[0] + window->shift[1];
    if (of_elements) kind->floor[0] = LOW_EXPONENT + window->shift[0];
    for (int t = of_elements; t < kind->terms; t++)
        kind->floor[t] = of_products > LOW_EXPONENT ? of_products : LOW_EXPONENT;
}

/* ---- a block ---- */

/* What a block looks like, judging by a few of its elements (looks.h). */
enum look {
    UNSEEN,
    NARROW,        /* a window holds all that was seen */
    SEVERAL_KINDS, /* parts of it do that look so */
    CLUSTERED,     /* most elements are near each other, the others anywhere */
    EVEN           /* it is wide everywhere */
};

/* A block, or a run of blocks, that is being added. */
struct block {
    struct wf_open_partial *into;
    struct wf_scratch *scratch;
    struct source source;
    int64_t index;     /* of the first element */
    bool is_scanned;   /* magnitudes and range, of both operands, are known */
    bool has_extremes; /* extremes are known */
    bool is_to_be_seen; /* extremes and counts are yet to be found, of the elements as they are */
    bool expects_specials;
    enum look look;
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
    return (struct target){&into->product_sum, NULL, bins ? &bins[WF_BINS_OF_PRODUCTS] : NULL, NULL};
}

static struct target target_of_powers(const struct block *block) {
    struct wf_open_partial *into = block->into;
    struct wf_bins *bins = block->scratch->bins;
    return (struct target){into->parts & WF_PART_SUM ? &into->sum : NULL, into->parts & WF_PART_ABS ? &into->abs : NULL,
                           bins ? &bins[WF_BINS_OF_POWERS] : NULL, &into->product_sum};
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

/* The source of the next pass.  If the sums are not of pairs, y is set to x, so that the compiler knows. */
INLINE struct source source_of(const struct block *block, bool pairs) {
    const unsigned char *x = block->source.x;
    return (struct source){x, pairs ? block->source.y : x, block->source.count, sizeof(uword),
                           next_pass(block->scratch)};
}

/* ---- extraction of all sums in one pass ---- */

/* Extracts the sums and, where that is the only way to check the window, scans the range in the same pass. */
INLINE void extract_kind_and_scan_range(struct extracted *extracted, struct block *block, const struct window *window,
                                        unsigned sums, struct kind kind) {
    struct scan scans[2] = {RANGE_SCAN_START, RANGE_SCAN_START};
    struct source source = source_of(block, sums == WF_PART_DOT);
    extract_any(extracted, window, source, kind, scans, NOTES_ROUNDING ? NULL : scan_range);
    if (NOTES_ROUNDING) return;
    struct magnitudes x = scanned_magnitudes(&scans[0]);
    set_magnitudes(block, x, block->source.y == block->source.x ? x : scanned_magnitudes(&scans[1]));
}

INLINE void extract_and_scan_range(struct extracted *extracted, struct block *block, const struct window *window,
                                   unsigned sums) {
    extract_kind_and_scan_range(extracted, block, window, sums, kind_of(sums));
}

/* The same, taking note of infinities and NaNs, of elements without them. */
INLINE void clean_and_extract_sums(struct extracted *extracted, struct block *block, const struct window *window,
                                   unsigned sums) {
    struct kind kind = kind_of(sums);
    kind.clean = sums == WF_PART_DOT ? clean_group_of_pairs : clean_group_of_elements;
    extract_kind_and_scan_range(extracted, block, window, sums, kind);
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
    extract_any(extracted, window, source_of(block, false), kind_of(STATS_SUMS), scans, NOTES_ROUNDING ? scan_extremes : NULL);
    if (!NOTES_ROUNDING) return;
    block->extremes = scanned_extremes(&scans[0]);
    block->has_extremes = true;
}

#define CLEAN_AND_EXTRACT(name, sums)                                                                          \
    APART void name(struct extracted *extracted, struct block *block, const struct window *window) {            \
        clean_and_extract_sums(extracted, block, window, sums);                                                 \
    }
CLEAN_AND_EXTRACT(clean_and_extract_values, WF_PART_SUM)
CLEAN_AND_EXTRACT(clean_and_extract_magnitudes, WF_PART_ABS)
CLEAN_AND_EXTRACT(clean_and_extract_squares, WF_PART_SQUARES)
CLEAN_AND_EXTRACT(clean_and_extract_products, WF_PART_DOT)
CLEAN_AND_EXTRACT(clean_and_extract_moments, MOMENTS)

INLINE void scan_max_magnitude(struct scan *scan, const unsigned char *x) {
    vsword bits;
    memcpy(&bits, x, sizeof bits);
    scan->max = (vi64)max_signed((vsword)scan->max, bits & (sword)MAGNITUDE);
}

/* Sums of small f64, of few levels, multiplied as they are loaded.  No flag tells of elements too large for that, so the same pass
 * finds the largest. */
INLINE void extract_small(struct extracted *extracted, struct block *block, const struct window *window, load_terms *load) {
    struct scan scans[2] = {{.max = {0}}, {.max = {0}}};
    struct kind kind = kind_of(WF_PART_SUM);
    kind.load[0] = load;
    extract(extracted, window, (struct shape){FEW_LEVELS, FEW_LEVELS}, source_of(block, false), kind, scans, scan_max_magnitude);
    const struct magnitudes found = {scanned_magnitudes(&scans[0]).max, 1};
    extracted->is_exact = range_of(found).top + SHIFT_OF_GROUPS <= window->covered[0].top;
}

APART void extract_small_values(struct extracted *extracted, struct block *block, const struct window *window) {
    extract_small(extracted, block, window, load_scaled_value);
}

APART void extract_small_magnitudes(struct extracted *extracted, struct block *block, const struct window *window) {
    extract_small(extracted, block, window, load_scaled_magnitude);
}

/* What extracts these sums of small f64 through a window in one pass; NULL if nothing does. */
static extract_function *small_function_of(const struct window *window, unsigned sums) {
    const bool holds_lowest = window->covered[0].low <= LOW_EXPONENT + SHIFT_OF_GROUPS;
    if (!IS_F64 || window->shift[0] != SHIFT_OF_GROUPS || window->shape.first != FEW_LEVELS || !holds_lowest) return NULL;
    return sums == WF_PART_SUM ? extract_small_values : sums == WF_PART_ABS ? extract_small_magnitudes : NULL;
}

/* Whether a pass through this window shows whether it has held. */
static bool can_be_guessed(const struct window *window, unsigned sums) {
    return !is_scaled(window) || small_function_of(window, sums);
}

/* The loops that are compiled, by the sums that they add in one pass.  Other combinations are added one by
 * one. */
static extract_function *const extract_functions[SUMS + 1] = {
    [WF_PART_SUM] = extract_values,   [WF_PART_ABS] = extract_magnitudes, [WF_PART_SQUARES] = extract_squares,
    [WF_PART_DOT] = extract_products, [MOMENTS] = extract_moments,        [STATS_SUMS] = extract_stats,
};

static extract_function *const clean_and_extract_functions[SUMS + 1] = {
    [WF_PART_SUM] = clean_and_extract_values,      [WF_PART_ABS] = clean_and_extract_magnitudes,
    [WF_PART_SQUARES] = clean_and_extract_squares, [WF_PART_DOT] = clean_and_extract_products,
    [MOMENTS] = clean_and_extract_moments,
};

/* Finds a window for these sums of elements of these ranges; returns whether there is one. */
static bool find_window(struct window *window, unsigned sums, const struct range *element) {
    struct range range[TERMS_MAX] = {{0, 0}}, scaled[2] = {element[0], element[1]};
    struct kind kind = kind_of(sums);
    if (!extract_functions[sums]) return false;
    set_shifts(window, sums, scaled);
    if (is_scaled(window)) set_floors(&kind, window, sums);
    if (!ranges_of(sums, scaled, range)) return false;
    if (is_scaled(window) && sums & PRODUCTS && (element[0].low <= LOW_EXPONENT || element[1].low <= LOW_EXPONENT))
        range[kind.terms - PRODUCT_TERMS].low = scaled[0].low + scaled[1].low; /* subnormals have fewer bits */
    return make_window(window, range, kind);
}

/* Whether a guessed window held all bits of every term. */
static bool has_held(struct block *block, const struct window *window, const struct extracted *extracted) {
    struct range range[TERMS_MAX] = {{0, 0}};
    unsigned sums = block->into->parts & SUMS;
    if (NOTES_ROUNDING || is_scaled(window)) return extracted->is_exact;
    ensure_scanned(block);
    return is_finite(block) && ranges_of(sums, block->range, range) &&
           window_covers(window, range, kind_of(sums).terms);
}

/* Adds these sums, as they were extracted. */
static void add_extracted_sums(struct wf_open_partial *into, const struct window *window, const struct extracted *extracted,
                               unsigned sums) {
    bool of_elements = sums & ~(unsigned)PRODUCTS;
    int shift = window->shift[0];
    if (sums & WF_PART_SUM) add_extracted(&into->sum, window, extracted, 0, shift);
    if (sums == WF_PART_ABS)
        add_extracted(&into->abs, window, extracted, 0, shift);
    else if (sums & WF_PART_ABS)
        add_extracted_magnitudes(&into->abs, window, extracted);
    for (int t = 0; sums & PRODUCTS && t < PRODUCT_TERMS; t++)
        add_extracted(&into->product_sum, window, extracted, of_elements + t, shift + window->shift[1]);
}

/* Adds these sums of a scanned, finite block in one pass through a window that is sure to hold. */
static void add_surely(struct block *block, const struct window *window, unsigned sums) {
    struct extracted extracted;
    extract_functions[sums](&extracted, block, window);
    add_extracted_sums(block->into, window, &extracted, sums);
}

/* The same of elements that are to be multiplied first. */
APART void add_scaled(struct block *block, const struct window *window, unsigned sums) {
    size_t room = block->scratch->scaled_nbytes / sizeof(uword);
    block->scratch->passes = 0;
    for (size_t i = 0; i < block->source.count; i += room) {
        struct block part = *block; /* has extremes of its own, which are not those of the elements */
        part.source = scaled_source(part_of(block->source, i, room), block->scratch->scaled, window);
        add_surely(&part, window, sums);
    }
}

/* Adds all sums in one pass; if the window was guessed, only if it has held. */
static bool add_through(struct block *block, const struct window *window, bool guessed) {
    unsigned sums = block->into->parts & SUMS;
    struct extracted extracted;
    extract_function *extract_all = is_scaled(window) ? small_function_of(window, sums) : extract_functions[sums];
    if (!extract_all) {
        if (!guessed) add_scaled(block, window, sums);
        return !guessed;
    }
    extract_all(&extracted, block, window);
    if (guessed && !has_held(block, window, &extracted)) return false;
    add_extracted_sums(block->into, window, &extracted, sums);
    return true;
}

/* Whether one pass through this window can take out infinities and NaNs. */
static bool can_clean(const struct window *window, unsigned sums) {
    return clean_and_extract_functions[sums] && !is_wide(window) && !is_scaled(window);
}

/* Adds all sums in one pass that takes out infinities and NaNs, if the guessed window, which can_clean, has held; any:
 * whether there were some, which are noted then. */
static bool add_cleaned_through(struct block *block, const struct window *window, bool *any) {
    unsigned sums = block->into->parts & SUMS;
    const struct source *source = &block->source;
    const unsigned char *y = sums & WF_PART_DOT ? source->y : NULL;
    struct specials seen = {.positive = {0}};
    struct extracted extracted = {.specials = &seen};
    clean_and_extract_functions[sums](&extracted, block, window);
    if (!has_held(block, window, &extracted)) return false;
    *any = note_found(block->into, &seen, source->x, y, source->count, block->index);
    add_extracted_sums(block->into, window, &extracted, sums);
    return true;
}

/* Adds all sums of a scanned, finite block in one pass, if a window covers its range. */
static bool add_through_window(struct block *block) {
    struct window window;
    return find_window(&window, block->into->parts & SUMS, block->range) &&
           add_through(block, &window, false);
}

#endif
