/* Variances and dot products of columns of integers.  Lanes are columns, whose sums are f64 or, of products of 32 bits,
 * two of them: all additions are exact.  Of integers of 64 bits those serve that have 33, with their sign. */
#ifndef WF_CPU_LOOPS_INTEGER_PRODUCTS_H
#define WF_CPU_LOOPS_INTEGER_PRODUCTS_H

#include "cpu/loops/two_sum.h"

enum {
    PRODUCT_VECTORS = 4, /* that are added at a time: of each up to three, and there are 16 registers */
    PRODUCT_COLUMNS = PRODUCT_VECTORS * LANES,
    PRODUCTS_ARE_PAIRS = sizeof(uword) >= 4,
};
_Static_assert(WF_COLUMNS_STEP % PRODUCT_COLUMNS == 0, "columns are left");
_Static_assert(WF_INTEGER_ROWS_MAX <= 1 << 18, "sums are not below 2^51, what pairs lose not below 2^53");

typedef uword vfew __attribute__((vector_size(LANES * sizeof(uword))));
typedef sword vfew_signed __attribute__((vector_size(LANES * sizeof(uword))));
typedef __typeof__(_Generic((char (*)[sizeof(uword)])0, char (*)[1]: (int16_t)0, default: (int32_t)0)) between;
typedef between vfew_between __attribute__((vector_size(LANES * sizeof(between))));
typedef int32_t vfew_i32 __attribute__((vector_size(LANES * sizeof(int32_t))));

/* The results of LANES columns: the sums of values and of products. */
struct product_sums {
    vf64 value;
    struct pair product;
    vi64 lost; /* not all bits 0: some integer is too long */
};

/* Integers of a magnitude below 2^51, as f64, and f64 as such integers; others become anything. */
INLINE vf64 f64_of_integers(vi64 x) {
    const double anchor = 0x1.8p52;
    const uint64_t bits = UINT64_C(0x4338000000000000);
    return (vf64)((vu64)x + bits) - anchor;
}

INLINE vi64 integers_of_f64(vf64 x) {
    const double anchor = 0x1.8p52;
    const uint64_t bits = UINT64_C(0x4338000000000000);
    return (vi64)((vu64)(x + anchor) - bits);
}

/* Widens 64-bit integers: those longer than 33 bits are cut, and their lane is lost. */
INLINE vf64 widen_long(vi64 *lost, vi64 x) {
    const int64_t half = INT64_C(1) << 32;
    vu64 moved = (vu64)x + half;
    *lost |= (vi64)(moved >> 33);
    if (!IS_SIGNED) *lost |= x >> 63; /* and what wraps around */
    return f64_of_integers((vi64)(moved & (2 * half - 1)) - half);
}

INLINE vf64 widen_to_f64(vi64 *lost, const unsigned char *x) {
    const bool is_flipped = !IS_SIGNED && sizeof(uword) == 4;
    const uword flip = is_flipped ? TOP_BIT : 0;
    vfew bits;
    vi64 wide;
    memcpy(&bits, x, sizeof bits);
    if (IS_64) {
        memcpy(&wide, &bits, sizeof bits);
        return widen_long(lost, wide);
    }
    if (IS_BOOL) bits = (vfew)(bits != 0) & 1;
    bits ^= flip;
    /* gcc takes bytes apart, unless they become 16 bits first. */
    vfew_between value = IS_SIGNED || is_flipped ? __builtin_convertvector((vfew_signed)bits, vfew_between)
                                                 : __builtin_convertvector(bits, vfew_between);
    return __builtin_convertvector(__builtin_convertvector(value, vfew_i32), vf64) + (is_flipped ? 0x1p31 : 0);
}

INLINE void add_integer_products(struct product_sums *sums, const unsigned char *x, const unsigned char *y, bool is_dot) {
    vf64 a = widen_to_f64(&sums->lost, x), b = is_dot ? widen_to_f64(&sums->lost, y) : a;
    if (!is_dot) sums->value += a;
    if (!PRODUCTS_ARE_PAIRS) {
        sums->product.high = multiply_add(a, b, sums->product.high);
        return;
    }
    struct pair product = two_product(a, b), sum = two_sum(sums->product.high, product.high);
    sums->product = (struct pair){sum.high, sums->product.low + (sum.low + product.low)};
}

/* The sums of products, as integers of 64 bits; a lane in which they are not below 2^62 is lost. */
INLINE vi64 integer_dots(struct product_sums *sums) {
    const double limit = 0x1p62;
    if (!PRODUCTS_ARE_PAIRS) return integers_of_f64(sums->product.high);
    vf64 high = sums->product.high;
    sums->lost |= ~((vi64)(high < limit) & (vi64)(high > -limit));
    vi64 upper = integers_of_f64(high * 0x1p-32);
    vi64 lower = integers_of_f64(high - f64_of_integers(upper) * 0x1p32), rest = integers_of_f64(sums->product.low);
    return (vi64)(((vu64)upper << 32) + (vu64)lower + (vu64)rest);
}

/* Variances or their roots: a lane is lost unless all that lies within the error is rounded alike. */
INLINE vi64 integer_variances(struct product_sums *sums, const struct lane_quotient *asked) {
    vf64 bound = {0};
    struct pair value = {sums->value, {0}}, found = variance_of_pairs(value, sums->product, asked, &bound);
    sums->lost |= ~(vi64)(found.high + (found.low - bound) == found.high + (found.low + bound));
    return (vi64)found.high;
}

/* Writes the results of PRODUCT_COLUMNS columns; returns whether any has failed. */
INLINE bool find_some_products(uint64_t *results, const struct wf_panel *rows, size_t first,
                               const struct wf_quotient *asked, bool is_dot) {
    const unsigned char *x = rows->x + first * sizeof(uword), *y = is_dot ? rows->y + first * sizeof(uword) : x;
    struct product_sums sums[PRODUCT_VECTORS] = {0};
    int64_t any = 0;
    for (size_t r = 0; r < rows->rows; r++, x += rows->stride_bytes, y += rows->y_stride_bytes) {
        UNROLLED
        for (size_t v = 0; v < PRODUCT_VECTORS; v++)
            add_integer_products(&sums[v], x + v * LANES * sizeof(uword), y + v * LANES * sizeof(uword), is_dot);
    }
    for (size_t v = 0; v < PRODUCT_VECTORS; v++) {
        const struct lane_quotient lanes = quotient_at(asked, first + v * LANES);
        vi64 found = is_dot ? integer_dots(&sums[v]) : integer_variances(&sums[v], &lanes);
        memcpy(results + v * LANES, &found, sizeof found);
        for (int lane = 0; lane < LANES; lane++) any |= sums[v].lost[lane];
    }
    return any;
}

INLINE void find_all_products(uint64_t *results, bool *has_failed, const struct wf_panel *rows,
                              const struct wf_quotient *asked, bool is_dot) {
    for (size_t c = 0; c < rows->columns; c += PRODUCT_COLUMNS) {
        bool *failed = &has_failed[c / WF_STRIP_COLUMNS];
        size_t first = c + PRODUCT_COLUMNS > rows->columns ? rows->columns - PRODUCT_COLUMNS : c;
        *failed = c % WF_STRIP_COLUMNS && *failed;
        *failed |= find_some_products(results + first, rows, first, asked, is_dot);
    }
}

APART void find_integer_products(uint64_t *results, bool *has_failed, const struct wf_panel *rows,
                                 const struct wf_quotient *asked) {
    if (asked->parts & WF_PART_DOT)
        find_all_products(results, has_failed, rows, asked, true);
    else
        find_all_products(results, has_failed, rows, asked, false);
    forget_rounding();
}

#endif
