/* Adds blocks of an integer type or bool to an accumulator: compiled for each tier and type, see
 * vector_types.h. */
#include "cpu/loops/vector.h"

#define X(NAME, name, type, kind, precision, exponent_bits) typedef type key_##NAME;
WF_TYPES(X)
#undef X
typedef PASTE(key_, TYPE) key;

/* Holds the sum of a block (of 64-bit elements, that of the elements' upper or lower halves). */
typedef int32_t wide_BOOL, wide_I8, wide_U8, wide_I16, wide_U16;
typedef int64_t wide_I32, wide_U32, wide_I64;
typedef uint64_t wide_U64;
typedef PASTE(wide_, TYPE) wide;

/* Holds one product of two elements. */
typedef int32_t wide_product_BOOL, wide_product_I8, wide_product_U8, wide_product_I16;
typedef uint32_t wide_product_U16;
typedef int64_t wide_product_I32;
typedef uint64_t wide_product_U32;
typedef wf_i128 wide_product_I64;
typedef wf_u128 wide_product_U64;
typedef PASTE(wide_product_, TYPE) wide_product;

enum {
    IS_BOOL = ELEMENT == ELEMENT_BOOL,
    IS_SIGNED = (key)-1 < (key)1,
    IS_8 = sizeof(uword) == 1,
    IS_64 = sizeof(uword) == 8,
};

/* Any bits of a bool but 0 mean true. */
INLINE key key_of(uword bits) {
    return IS_BOOL ? bits != 0 : (key)bits;
}

INLINE bool is_nan(uword bits) {
    (void)bits;
    return false;
}

INLINE bool is_nan_key(key of_element) {
    return is_nan((uword)of_element);
}

INLINE vsword lanes_of_key(vsword bits, key wanted) {
    return IS_BOOL ? (bits != 0) == (sword)(0 - wanted) : bits == (sword)wanted;
}

INLINE bool is_negative(uword bits) {
    return IS_SIGNED && bits >> (8 * sizeof(uword) - 1);
}

INLINE uword magnitude_of(uword bits) {
    return is_negative(bits) ? (uword)(0 - bits) : (uword)key_of(bits);
}

#define NONZERO_MASK ((uword)-1)

#include "cpu/loops/any_type.h"
#include "cpu/loops/columns.h"
#include "cpu/loops/integer_groups.h"
#include "cpu/loops/units.h"

/* ---- sums ---- */

/* The sum of 8-bit elements, or of their magnitudes: in lanes of 16 bits, which are emptied after ROWS
 * vectors, before they can overflow. */
INLINE int64_t sum_bytes(struct ahead ahead, const unsigned char *x, size_t count, bool magnitudes) {
    enum { BYTES = VECTOR_NBYTES / 2, ROWS = 128 };
    typedef int8_t signed_bytes __attribute__((vector_size(BYTES)));
    typedef uint8_t unsigned_bytes __attribute__((vector_size(BYTES)));
    int64_t sum = 0;
    size_t i = 0;
    while (i + BYTES <= count) {
        vi16 lanes = {0};
        for (int row = 0; row < ROWS && i + BYTES <= count; row++, i += BYTES) {
            unsigned_bytes bits;
            prefetch_line(ahead, x, i);
            memcpy(&bits, x + i, sizeof bits);
            if (IS_BOOL) bits = (unsigned_bytes)(bits != 0) & 1;
            unsigned_bytes negative = {0};
            if (magnitudes && IS_SIGNED) negative = (unsigned_bytes)((signed_bytes)bits < 0);
            bits = (bits ^ negative) - negative;
            lanes += magnitudes || !IS_SIGNED ? __builtin_convertvector(bits, vi16)
                                              : __builtin_convertvector((signed_bytes)bits, vi16);
        }
        for (int lane = 0; lane < BYTES; lane++) sum += lanes[lane];
    }
    for (; i < count; i++) sum += magnitudes ? (int64_t)magnitude_of(x[i]) : (int64_t)key_of(x[i]);
    return sum;
}

/* The sum of wider elements, or of their magnitudes: 64-bit elements by halves, so that nothing overflows. */
INLINE void sum_words(const struct wf_exact *into, const unsigned char *x, size_t count, bool magnitudes) {
    wide sum = 0;
    int64_t low = 0, high = 0;
    for (size_t i = 0; i < count; i++) {
        uword bits = bits_at(x, i);
        if (!IS_64) {
            sum += magnitudes ? (wide)magnitude_of(bits) : (wide)key_of(bits);
        } else if (magnitudes) {
            low += (uint32_t)magnitude_of(bits);
            high += (int64_t)((uint64_t)magnitude_of(bits) >> 32);
        } else {
            low += (uint32_t)bits;
            high += (int64_t)((wide)key_of(bits) >> (IS_64 ? 32 : 0));
        }
    }
    wf_exact_add_i64(into, (int64_t)sum + low, 0);
    if (IS_64) wf_exact_add_i64(into, high, 32);
}

INLINE void add_sum(const struct wf_exact *into, struct ahead ahead, const unsigned char *x, size_t count,
                    bool magnitudes) {
    if (IS_8)
        wf_exact_add_i64(into, sum_bytes(ahead, x, count, magnitudes), 0);
    else
        sum_words(into, x, count, magnitudes);
}

/* The sum of x * y.  Products of 32 bits and more are added by halves. */
INLINE void add_products(const struct wf_exact *into, const unsigned char *x, const unsigned char *y,
                         size_t count) {
    enum { HALF = 4 * sizeof(wide_product) };
    int64_t sum = 0;
    wf_i128 low_128 = 0, high_128 = 0;
    int64_t low = 0, high = 0;
    for (size_t i = 0; i < count; i++) {
        wide_product product = (wide_product)key_of(bits_at(x, i)) * (wide_product)key_of(bits_at(y, i));
        if (sizeof(uword) <= 2) {
            sum += product;
        } else if (!IS_64) {
            low += (uint32_t)product;
            high += (int64_t)(product >> HALF);
        } else {
            low_128 += (uint64_t)product;
            high_128 += (wf_i128)(product >> HALF);
        }
    }
    if (IS_64) {
        wf_exact_add_i128(into, low_128, 0);
        wf_exact_add_i128(into, high_128, HALF);
    } else {
        wf_exact_add_i64(into, sum + low, 0);
        wf_exact_add_i64(into, high, 32);
    }
}

/* ---- bits and the product ---- */

static void add_bits(struct wf_open_partial *into, const unsigned char *x, size_t count) {
    uword bits_and = (uword)-1, bits_or = 0, bits_xor = 0;
    for (size_t i = 0; i < count; i++) {
        uword bits = (uword)key_of(bits_at(x, i));
        bits_and &= bits;
        bits_or |= bits;
        bits_xor ^= bits;
    }
    into->partial->bits_and &= bits_and;
    into->partial->bits_or |= bits_or;
    into->partial->bits_xor ^= bits_xor;
}

static void multiply_magnitudes(struct wf_partial *into, const unsigned char *x, size_t count) {
    for (size_t i = 0; i < count; i++) {
        uword bits = bits_at(x, i);
        into->product_flags ^= (uint64_t)is_negative(bits) * WF_PRODUCT_NEGATIVE;
        if (bits)
            wf_partial_multiply(into, magnitude_of(bits));
        else
            into->product_flags |= WF_PRODUCT_ZERO;
    }
}

/* Two parts of the arrays take turns as source and destination of a level, so that no level overwrites what it still
 * reads; the second has half of the first's elements at most. */
APART struct wf_factor tree_node(struct wf_open_partial *into, struct wf_scratch *scratch, const unsigned char *x,
                                 int level) {
    enum { LEAVES = 1 << FACTORS_LEVEL, ALL = LEAVES + LEAVES / 2 };
    double hi[ALL], lo[ALL];
    int32_t exponent[ALL];
    struct factors even = {hi, lo, exponent}, odd = {hi + LEAVES, lo + LEAVES, exponent + LEAVES};
    bool any_zero = false, negative = false;
    (void)scratch;
    for (int i = 0; i < 1 << level; i++) {
        uword bits = bits_at(x, (size_t)i);
        struct wf_factor leaf = bits ? wf_factor_of_u64(magnitude_of(bits)) : wf_factor_one;
        negative ^= is_negative(bits); /* signs are random: no branch */
        any_zero |= bits == 0;
        even.hi[i] = leaf.hi;
        even.lo[i] = leaf.lo;
        even.exponent[i] = (int32_t)leaf.exponent;
    }
    if (negative) into->partial->product_flags ^= WF_PRODUCT_NEGATIVE;
    if (any_zero) into->partial->product_flags |= WF_PRODUCT_ZERO;
    for (int l = 0; l < level; l++)
        l & 1 ? multiply_neighbours(even, odd, 1 << (level - l - 1))
              : multiply_neighbours(odd, even, 1 << (level - l - 1));
    struct factors top = level & 1 ? odd : even;
    return (struct wf_factor){top.hi[0], top.lo[0], top.exponent[0]};
}

/* ---- a block ---- */

static void add_extremes(struct wf_open_partial *into, const unsigned char *x, size_t count, int64_t index) {
    const key all_ones = (key)-1;
    if (into->parts & WF_PART_MIN)
        note_extreme(into->partial, least_key(x, count, 0), false, x, count, index);
    if (into->parts & WF_PART_MAX)
        note_extreme(into->partial, (key)~least_key(x, count, all_ones), true, x, count, index);
}

wf_block_function WF_LOOPS_NAME(add_block, TYPE, TIER);

void WF_LOOPS_NAME(add_block, TYPE, TIER)(struct wf_open_partial *into, struct wf_scratch *scratch,
                                          const void *x_data, const void *y_data, size_t count,
                                          int64_t index) {
    const unsigned char *x = x_data, *y = y_data;
    unsigned parts = into->parts;
    scratch->passes = __builtin_popcount(parts);
    scratch->pass = 0;
    if (parts & WF_PART_SUM) add_sum(&into->sum, next_pass(scratch), x, count, false);
    if (parts & WF_PART_ABS) add_sum(&into->abs, next_pass(scratch), x, count, true);
    if (parts & WF_PART_SQUARES) add_products(&into->product_sum, x, x, count);
    if (parts & WF_PART_DOT) add_products(&into->product_sum, x, y, count);
    add_extremes(into, x, count, index);
    if (parts & WF_PART_NONZERO) into->partial->nonzero += count_nonzero(scratch, x, count).nonzero;
    if (parts & WF_PART_BITS) add_bits(into, x, count);
    if (parts & WF_PART_PRODUCT && into->tree) add_to_tree(into, scratch, x, count, FACTORS_LEVEL, tree_node);
    if (parts & WF_PART_PRODUCT && !into->tree) multiply_magnitudes(into->partial, x, count);
}

/* ---- a tile ---- */

/* The sums of a tile's columns, by halves where one would not do. */
struct column_sums {
    int64_t low[WF_COLUMNS_MAX], high[WF_COLUMNS_MAX];
};

INLINE void add_to_column(struct column_sums *sums, size_t column, key value, bool magnitudes) {
    uint64_t magnitude = magnitude_of((uword)value);
    if (!IS_64) {
        sums->low[column] += magnitudes ? (int64_t)magnitude : (int64_t)value;
    } else if (magnitudes) {
        sums->low[column] += (uint32_t)magnitude;
        sums->high[column] += (int64_t)(magnitude >> 32);
    } else {
        sums->low[column] += (uint32_t)value;
        sums->high[column] += (int64_t)((wide)value >> (IS_64 ? 32 : 0));
    }
}

/* Products of types of up to 32 bits. */
INLINE void add_product_to_column(struct column_sums *sums, size_t column, key a, key b) {
    wide_product product = (wide_product)a * (wide_product)b;
    sums->low[column] += sizeof(uword) < 4 ? (int64_t)product : (int64_t)(uint32_t)product;
    if (sizeof(uword) == 4) sums->high[column] += (int64_t)(product >> (4 * sizeof(product)));
}

/* The terms are values, magnitudes, or products with the elements of y. */
INLINE void sum_columns(struct column_sums *sums, const struct wf_tile *tile, const unsigned char *y,
                        bool magnitudes) {
    memset(sums, 0, sizeof *sums);
    for (size_t r = 0; r < tile->rows; r++) {
        for (size_t c = 0; c < tile->pitch; c++) {
            key value = key_of(tile_bits(tile, r, c));
            if (y)
                add_product_to_column(sums, c, value, key_of(bits_at(y, r * tile->pitch + c)));
            else
                add_to_column(sums, c, value, magnitudes);
        }
    }
}

INLINE void add_column_sum(struct wf_exact *into, const struct column_sums *sums, size_t column) {
    wf_exact_add_i64(into, sums->low[column], 0);
    wf_exact_add_i64(into, sums->high[column], 32);
}

static void add_column_sums(struct wf_open_partial *into, const struct wf_tile *tile) {
    struct column_sums sums;
    if (into->parts & WF_PART_SUM) {
        sum_columns(&sums, tile, NULL, false);
        for (size_t c = 0; c < tile->columns; c++) add_column_sum(&into[c].sum, &sums, c);
    }
    if (into->parts & WF_PART_ABS) {
        sum_columns(&sums, tile, NULL, true);
        for (size_t c = 0; c < tile->columns; c++) add_column_sum(&into[c].abs, &sums, c);
    }
    if (into->parts & (WF_PART_SQUARES | WF_PART_DOT)) {
        sum_columns(&sums, tile, into->parts & WF_PART_DOT ? tile->y : tile->x, false);
        for (size_t c = 0; c < tile->columns; c++) add_column_sum(&into[c].product_sum, &sums, c);
    }
}

static void add_column_bits(struct wf_open_partial *into, const struct wf_tile *tile) {
    uword bits_and[WF_COLUMNS_MAX], bits_or[WF_COLUMNS_MAX] = {0}, bits_xor[WF_COLUMNS_MAX] = {0};
    memset(bits_and, 0xff, sizeof bits_and);
    for (size_t r = 0; r < tile->rows; r++) {
        for (size_t c = 0; c < tile->pitch; c++) {
            uword bits = (uword)key_of(tile_bits(tile, r, c));
            bits_and[c] &= bits;
            bits_or[c] |= bits;
            bits_xor[c] ^= bits;
        }
    }
    for (size_t c = 0; c < tile->columns; c++) {
        into[c].partial->bits_and &= bits_and[c];
        into[c].partial->bits_or |= bits_or[c];
        into[c].partial->bits_xor ^= bits_xor[c];
    }
}

wf_columns_function WF_LOOPS_NAME(add_columns, TYPE, TIER);

bool WF_LOOPS_NAME(add_columns, TYPE, TIER)(struct wf_open_partial *into, const struct wf_tile *tile) {
    const unsigned products = WF_PART_SQUARES | WF_PART_DOT;
    if (into->parts & WF_PART_PRODUCT || (IS_64 && into->parts & products)) return false;
    add_column_sums(into, tile);
    add_column_extremes_and_counts(into, tile);
    if (into->parts & WF_PART_BITS) add_column_bits(into, tile);
    return true;
}

INLINE wf_i128 column_total(const struct column_sums *sums, size_t column) {
    return (wf_i128)((wf_u128)(wf_i128)sums->high[column] << 32) + sums->low[column];
}

/* Sums that fit into 64 bits. */
static bool find_sum_results(const struct wf_tile *tile, enum wf_part part, uint64_t *results) {
    bool products = part == WF_PART_DOT, is_signed = IS_SIGNED && part != WF_PART_ABS;
    struct column_sums sums;
    if (products && IS_64) return false;
    sum_columns(&sums, tile, products ? tile->y : NULL, part == WF_PART_ABS);
    for (size_t c = 0; c < tile->columns; c++) {
        wf_i128 sum = column_total(&sums, c);
        if (sum != (is_signed ? (wf_i128)(int64_t)sum : (wf_i128)(uint64_t)sum)) return false;
        results[c] = (uint64_t)sum;
    }
    return true;
}

wf_results_function WF_LOOPS_NAME(find_results, TYPE, TIER);

bool WF_LOOPS_NAME(find_results, TYPE, TIER)(const struct wf_tile *tile, enum wf_part part, void *results) {
    if (part & (WF_PART_SUM | WF_PART_ABS | WF_PART_DOT)) return find_sum_results(tile, part, results);
    if (part != WF_PART_NONZERO) return false;
    find_count_results(tile, results);
    return true;
}

wf_totals_function WF_LOOPS_NAME(find_totals, TYPE, TIER);

bool WF_LOOPS_NAME(find_totals, TYPE, TIER)(const struct wf_tile *tile, unsigned parts,
                                            struct wf_column_totals *totals) {
    bool squares = parts & WF_PART_SQUARES;
    struct column_sums sums;
    if (squares && IS_64) return false;
    totals->sum_exponent = totals->squares_exponent = 0;
    sum_columns(&sums, tile, NULL, false);
    for (size_t c = 0; c < tile->columns; c++) {
        totals->sum[c] = column_total(&sums, c);
        totals->is_minus_zero[c] = false;
    }
    if (squares) sum_columns(&sums, tile, tile->x, false);
    for (size_t c = 0; squares && c < tile->columns; c++) totals->squares[c] = column_total(&sums, c);
    return true;
}

/* ---- elements by key ---- */

/* Takes values; those of 64 bits by halves. */
INLINE void take_values(struct wf_units *units, const unsigned char *x, size_t count, bool magnitudes) {
    for (size_t i = 0; i < count; i++) {
        uword bits = bits_at(x, i);
        uint64_t value = magnitudes ? magnitude_of(bits) : (uint64_t)key_of(bits);
        if (IS_64) {
            units->word[0][i] = IS_SIGNED && !magnitudes ? (int64_t)value >> 32 : (int64_t)(value >> 32);
            units->word[1][i] = (uint32_t)value;
        } else {
            units->word[0][i] = (int64_t)value;
        }
    }
}

/* Takes squares of types of up to 32 bits; those of 32 by halves. */
INLINE void take_squares(struct wf_units *units, const unsigned char *x, size_t count, int first) {
    const bool halves = sizeof(uword) == 4;
    for (size_t i = 0; i < count; i++) {
        uint64_t magnitude = magnitude_of(bits_at(x, i)), square = magnitude * magnitude;
        units->word[first][i] = (int64_t)(halves ? square >> 32 : square);
        if (halves) units->word[first + 1][i] = (uint32_t)square;
    }
}

wf_split_function WF_LOOPS_NAME(split, TYPE, TIER);

void WF_LOOPS_NAME(split, TYPE, TIER)(struct wf_units *units, const struct wf_grid grid[2], unsigned parts,
                                      const void *data, size_t count) {
    const unsigned char *x = data;
    units->any_lost = units->any_minus_zero = false;
    if (parts & (WF_PART_MIN | WF_PART_MAX)) take_keys(units, x, count, parts & WF_PART_MAX);
    if (parts & (WF_PART_SUM | WF_PART_ABS)) take_values(units, x, count, parts & WF_PART_ABS);
    if (parts & WF_PART_SQUARES) take_squares(units, x, count, grid[0].levels);
}
