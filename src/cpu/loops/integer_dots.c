/* Dot products of integers: of rows by lanes along each, of columns of short ones row by row, by key as words of a table.
 * Compiled for each tier and type. */
#include "cpu/dots.h"
#include "cpu/loops/vector.h"

/* Holds one product; and what the products of a row add up to, of 32 bits and more the sums of their halves. */
typedef int32_t product_BOOL, product_I8, product_U8, product_I16, sum_BOOL, sum_I8, sum_U8;
typedef uint32_t product_U16;
typedef int64_t product_I32, sum_I16, sum_I32;
typedef uint64_t product_U32, sum_U16, sum_U32;
typedef wf_i128 product_I64, sum_I64;
typedef wf_u128 product_U64, sum_U64;
typedef PASTE(product_, TYPE) product;
typedef PASTE(sum_, TYPE) sum;

enum {
    IS_BOOL = ELEMENT == ELEMENT_BOOL,
    IS_SIGNED = (product)(storage)-1 < 0,
    HALVES = sizeof(storage) >= 4,
    HALF_BITS = HALVES ? 8 * (int)sizeof(product) / 2 : 0,
};
_Static_assert(WF_ROW_DOTS_MAX <= 1 << 14, "products of 8 bits overflow");

struct halves {
    sum low, high; /* low * 1 + high * 2^HALF_BITS */
};

INLINE product element_at(const unsigned char *x, size_t i) {
    uword bits;
    memcpy(&bits, x + i * sizeof bits, sizeof bits);
    return IS_BOOL ? bits != 0 : (product)(storage)bits;
}

INLINE struct halves add_row(const unsigned char *restrict x, const unsigned char *restrict y, size_t count) {
    struct halves sums = {0, 0};
    for (size_t i = 0; i < count; i++) {
        product found = element_at(x, i) * element_at(y, i);
        sums.low += HALVES ? (sum)(found & (((product)1 << HALF_BITS) - 1)) : (sum)found;
        if (HALVES) sums.high += (sum)(found >> HALF_BITS);
    }
    return sums;
}

/* Writes the total; false if it has more than 64 bits. */
INLINE bool write_total(uint64_t *result, struct halves sums) {
    const wf_i128 low = (wf_i128)sums.low;
    if (!HALVES) {
        *result = (uint64_t)sums.low;
        return true;
    }
    wf_i128 high = (wf_i128)sums.high + (low >> HALF_BITS);
    uint64_t rest = (uint64_t)(low & (((wf_i128)1 << HALF_BITS) - 1));
    *result = HALF_BITS == 64 ? rest : (uint64_t)high << (HALF_BITS % 64) | rest;
    wf_i128 above = high >> (64 - HALF_BITS);
    return above == (IS_SIGNED && *result >> 63 ? -1 : 0);
}

wf_row_dots_function WF_LOOPS_NAME(find_row_dots, TYPE, TIER);

bool WF_LOOPS_NAME(find_row_dots, TYPE, TIER)(const struct wf_rows *rows, const unsigned char *y, int64_t y_stride_bytes,
                                              void *results) {
    bool are_whole = true;
    for (size_t r = 0; r < rows->rows; r++) {
        const int64_t *offset = rows->offset ? rows->offset + r : NULL;
        const int64_t row = offset ? 0 : (int64_t)r, begin = offset ? offset[0] * (int64_t)sizeof(uword) : 0;
        const size_t count = (size_t)(offset ? offset[1] - offset[0] : rows->count);
        are_whole &= write_total((uint64_t *)results + r, add_row(rows->x + row * rows->stride_bytes + begin,
                                                                  y + row * y_stride_bytes + begin, count));
    }
    return are_whole;
}

wf_column_dots_function WF_LOOPS_NAME(find_column_dots, TYPE, TIER);

void WF_LOOPS_NAME(find_column_dots, TYPE, TIER)(const struct wf_panel *panel, uint64_t *restrict results) {
    const unsigned char *x = panel->x, *y = panel->y;
    memset(results, 0, panel->columns * sizeof *results);
    for (size_t r = 0; r < panel->rows; r++, x += panel->stride_bytes, y += panel->y_stride_bytes)
        for (size_t c = 0; c < panel->columns; c++) results[c] += (uint64_t)(element_at(x, c) * element_at(y, c));
}

wf_split_products_function WF_LOOPS_NAME(split_products, TYPE, TIER);

/* Of types of up to 32 bits. */
void WF_LOOPS_NAME(split_products, TYPE, TIER)(struct wf_units *units, const struct wf_grid *grid, const void *x,
                                               const void *y, size_t count) {
    (void)grid;
    units->any_lost = units->any_minus_zero = false;
    for (size_t i = 0; i < count; i++) {
        product found = element_at(x, i) * element_at(y, i);
        units->word[0][i] = (int64_t)(HALVES ? found >> HALF_BITS : found);
        if (HALVES) units->word[1][i] = (int64_t)(found & (((product)1 << HALF_BITS) - 1));
    }
}
