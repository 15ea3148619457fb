/* Dot products of rows of floats: lanes go along each row, as those of few_rows.h go along columns, and what the lanes have
 * is added up for as many rows at a time as a vector has lanes.  And products as integers, for tables by key.  Compiled for
 * each tier and type. */
#include "cpu/dots.h"
#include "cpu/loops/few_sums.h"
#include "cpu/loops/row_ends.h"

enum {
    DOT_UNROLL = 2, /* vectors that are added at a time, while one waits for the other */
    QUICK_UNROLL = 4,
};

/* The sums of nothing: -0, which keeps the sign of what is added. */
INLINE struct few_sums start_dot(void) {
    return (struct few_sums){.value = {-(vf64){0}, {0}}};
}

/* Adds the sums of other lanes. */
INLINE void join_few(struct few_sums *into, const struct few_sums *other) {
    struct pair sum = two_sum(into->value.high, other->value.high);
    into->value.high = sum.high;
    add_lost(into, sum.low);
    add_lost(into, other->value.low);
    into->bound += other->bound;
    into->lost |= other->lost;
}

/* The last elements of a row, fewer than LANES; after them zeros and -0, whose products are -0, which adds nothing. */
INLINE void add_rest(struct few_sums *sums, const unsigned char *x, const unsigned char *y, size_t count) {
    uword rest[2][LANES];
    for (size_t lane = 0; lane < LANES; lane++) {
        rest[0][lane] = 0;
        rest[1][lane] = MINUS_ZERO;
    }
    memcpy(rest[0], x, count * sizeof(uword));
    memcpy(rest[1], y, count * sizeof(uword));
    add_few_product(sums, widen((const unsigned char *)rest[0]), widen((const unsigned char *)rest[1]));
}

INLINE struct few_sums add_row(const unsigned char *x, const unsigned char *y, size_t count) {
    const size_t nbytes = LANES * sizeof(uword);
    struct few_sums sums[DOT_UNROLL];
    size_t i = 0;
    UNROLLED
    for (int u = 0; u < DOT_UNROLL; u++) sums[u] = start_dot();
    for (; i + DOT_UNROLL * LANES <= count; i += DOT_UNROLL * LANES) {
        UNROLLED
        for (int u = 0; u < DOT_UNROLL; u++, x += nbytes, y += nbytes) add_few_product(&sums[u], widen(x), widen(y));
    }
    for (; i + LANES <= count; i += LANES, x += nbytes, y += nbytes) add_few_product(&sums[0], widen(x), widen(y));
    if (i < count) add_rest(&sums[1], x, y, count - i);
    UNROLLED
    for (int u = 1; u < DOT_UNROLL; u++) join_few(&sums[0], &sums[u]);
    return sums[0];
}

/* Lane k of each of LANES rows' vectors. */
INLINE vf64 lanes_of_rows(double rows[LANES][LANES], int k) {
    vf64 lanes;
    UNROLLED
    for (int r = 0; r < LANES; r++) lanes[r] = rows[r][k];
    return lanes;
}

/* Two rows of the same length, and what may be read of the arrays that they are of. */
struct pair_of_rows {
    const unsigned char *x, *y, *x_end, *y_end;
    size_t count;
};

/* The results of at most LANES rows; not all bits 0 in the lanes of those that have failed. */
APART vi64 find_some_rows(storage *results, const struct pair_of_rows *pairs, int rows) {
    double high[LANES][LANES] = {{0}}, low[LANES][LANES] = {{0}}, bound[LANES][LANES] = {{0}};
    int64_t failed[LANES] = {0};
    vi64 lost;
    for (int r = 0; r < rows; r++) {
        struct few_sums sums = add_row(pairs[r].x, pairs[r].y, pairs[r].count);
        memcpy(high[r], &sums.value.high, sizeof high[r]);
        memcpy(low[r], &sums.value.low, sizeof low[r]);
        memcpy(bound[r], &sums.bound, sizeof bound[r]);
        for (int lane = 0; IS_F64 && lane < LANES; lane++) failed[r] |= sums.lost[lane];
    }
    struct few_sums all = start_dot();
    UNROLLED
    for (int k = 0; k < LANES; k++) {
        struct few_sums lanes = {.value = {lanes_of_rows(high, k), lanes_of_rows(low, k)}, .bound = lanes_of_rows(bound, k)};
        join_few(&all, &lanes);
    }
    memcpy(&lost, failed, sizeof lost);
    vf64 found = round_to_element(rounded_sum(&all));
    store_elements(results, found);
    lost |= all.lost | (vi64)(found - found);
    for (int r = rows; r < LANES; r++) lost[r] = 0;
    return lost;
}

/* ---- with a bound that is known beforehand ---- */

INLINE struct quick_sums start_quick(vf64 x, vf64 y) {
    const vf64 product = x * y;
    return (struct quick_sums){product, IS_F64 ? product_error(x, y, product) : (vf64){0}, magnitude_of_f64(product)};
}

INLINE void add_quick_vector(struct quick_sums *sums, struct pair_of_rows rows, size_t i) {
    const unsigned char *x = rows.x + i * sizeof(uword), *y = rows.y + i * sizeof(uword);
    if (i + LANES <= rows.count)
        add_quick_product(sums, widen(x), widen(y));
    else
        add_quick_product(sums, load_left(x, rows.count - i, rows.x_end), load_left(y, rows.count - i, rows.y_end));
}

/* Adds a row so short that several sums would cost more than they save. */
INLINE struct quick_sums add_short_row(struct pair_of_rows rows) {
    const size_t count = rows.count;
    struct quick_sums sums;
    if (count < LANES)
        sums = start_quick(load_left(rows.x, count, rows.x_end), load_left(rows.y, count, rows.y_end));
    else
        sums = start_quick(widen(rows.x), widen(rows.y));
    for (size_t i = LANES; i < count; i += LANES) add_quick_vector(&sums, rows, i);
    return sums;
}

INLINE struct quick_sums add_quick_row(struct pair_of_rows rows) {
    const size_t nbytes = LANES * sizeof(uword);
    const unsigned char *x = rows.x, *y = rows.y;
    struct quick_sums sums[QUICK_UNROLL];
    size_t i = QUICK_UNROLL * LANES;
    if (rows.count < 2 * QUICK_UNROLL * LANES) return add_short_row(rows);
    UNROLLED
    for (int u = 0; u < QUICK_UNROLL; u++, x += nbytes, y += nbytes) sums[u] = start_quick(widen(x), widen(y));
    for (; i + QUICK_UNROLL * LANES <= rows.count; i += QUICK_UNROLL * LANES) {
        UNROLLED
        for (int u = 0; u < QUICK_UNROLL; u++, x += nbytes, y += nbytes) add_quick_product(&sums[u], widen(x), widen(y));
    }
    for (; i < rows.count; i += LANES) add_quick_vector(&sums[0], rows, i);
    UNROLLED
    for (int u = 1; u < QUICK_UNROLL; u++) sums[0] = join_quick(&sums[0], &sums[u]);
    return sums[0];
}

/* Each row's lanes, added up in the lane of its number. */
INLINE struct quick_sums join_rows(struct quick_sums rows[LANES]) {
    UNROLLED
    for (int distance = 1; distance < LANES; distance *= 2) {
        UNROLLED
        for (int r = 0; r < LANES; r += 2 * distance) {
            const struct quick_sums *a = &rows[r], *b = &rows[r + distance];
            struct quick_sums left = {left_lanes(a->sum, b->sum, distance), left_lanes(a->lost, b->lost, distance),
                                      left_lanes(a->magnitude, b->magnitude, distance)};
            struct quick_sums right = {right_lanes(a->sum, b->sum, distance), right_lanes(a->lost, b->lost, distance),
                                       right_lanes(a->magnitude, b->magnitude, distance)};
            rows[r] = join_quick(&left, &right);
        }
    }
    return rows[0];
}

/* As find_some_rows. */
APART vi64 find_quick_rows(storage *results, const struct pair_of_rows *pairs, int rows) {
    const vf64 none = {0};
    struct quick_sums sums[LANES];
    size_t longest = 0;
    vi64 lost;
    for (int r = 0; r < rows; r++) {
        sums[r] = add_quick_row(pairs[r]);
        if (pairs[r].count > longest) longest = pairs[r].count;
    }
    for (int r = rows; r < LANES; r++) sums[r] = (struct quick_sums){none, none, none};
    struct quick_sums all = join_rows(sums);
    store_elements(results, rounded_quick(&lost, &all, longest));
    for (int r = rows; r < LANES; r++) lost[r] = 0;
    return lost;
}

INLINE bool any_lane(vi64 lost) {
    int64_t any = 0;
    for (int lane = 0; lane < LANES; lane++) any |= lost[lane];
    return any;
}

/* All rows, and y's. */
struct rows_of_pairs {
    const struct wf_rows *rows;
    const unsigned char *y, *x_end, *y_end;
    int64_t y_stride_bytes;
};

/* What may be read of equally long rows. */
INLINE const unsigned char *end_of_rows(const unsigned char *x, int64_t stride_bytes, const struct wf_rows *rows) {
    int64_t last = (int64_t)(rows->rows - 1) * stride_bytes;
    return x + (last > 0 ? last : 0) + rows->count * (int64_t)sizeof(uword);
}

INLINE struct pair_of_rows pair_at(const struct rows_of_pairs *of, size_t r) {
    const struct wf_rows *rows = of->rows;
    const int64_t *offset = rows->offset ? rows->offset + r : NULL;
    const int64_t begin = offset ? offset[0] * (int64_t)sizeof(uword) : 0, row = offset ? 0 : (int64_t)r;
    return (struct pair_of_rows){rows->x + row * rows->stride_bytes + begin, of->y + row * of->y_stride_bytes + begin,
                                 of->x_end, of->y_end, (size_t)(offset ? offset[1] - offset[0] : rows->count)};
}

wf_row_dots_function WF_LOOPS_NAME(find_row_dots, TYPE, TIER);

bool WF_LOOPS_NAME(find_row_dots, TYPE, TIER)(const struct wf_rows *rows, const unsigned char *y, int64_t y_stride_bytes,
                                              void *results) {
    bool any = false;
    storage found[LANES];
    struct rows_of_pairs of = {rows, y, end_of_rows(rows->x, rows->stride_bytes, rows), end_of_rows(y, y_stride_bytes, rows),
                               y_stride_bytes};
    if (rows->offset) {
        const int64_t end = rows->offset[rows->rows] * (int64_t)sizeof(uword);
        of.x_end = rows->x + end;
        of.y_end = y + end;
    }
    for (size_t r = 0; r < rows->rows && !any; r += LANES) {
        struct pair_of_rows pairs[LANES];
        const int taken = rows->rows - r < LANES ? (int)(rows->rows - r) : LANES;
        for (int i = 0; i < taken; i++) pairs[i] = pair_at(&of, r + (size_t)i);
        if (any_lane(find_quick_rows(found, pairs, taken))) any = any_lane(find_some_rows(found, pairs, taken));
        memcpy((storage *)results + r, found, (size_t)taken * sizeof *found);
    }
    forget_rounding();
    return !any;
}

/* ---- by key ---- */

/* LANES pairs, at most count: after these, pairs of zeros. */
struct vector_of_pairs {
    vf64 x, y;
};

INLINE struct vector_of_pairs load_pairs(const unsigned char *x, const unsigned char *y, size_t count) {
    uword rest[2][LANES] = {{0}};
    if (count >= LANES) return (struct vector_of_pairs){widen(x), widen(y)};
    memcpy(rest[0], x, count * sizeof(uword));
    memcpy(rest[1], y, count * sizeof(uword));
    return (struct vector_of_pairs){widen((const unsigned char *)rest[0]), widen((const unsigned char *)rest[1])};
}

/* Products: of f64 each is two terms, of others one. */
enum { TERMS_OF_PRODUCT = IS_F64 ? 2 : 1 };

/* What the terms leave on the levels of a grid, word by word; returns in which lanes nothing is left. */
INLINE vi64 split_terms(struct wf_units *units, size_t i, const struct wf_grid *grid, int levels, vf64 *term, vi64 kept) {
    vi64 unit[WF_GRID_LEVELS_MAX];
    UNROLLED
    for (int k = 0; k < levels; k++) {
        const vf64 anchor = (vf64){0} + grid->anchor[k];
        unit[k] = (vi64){0};
        UNROLLED
        for (int t = 0; t < TERMS_OF_PRODUCT; t++) {
            vf64 moved = anchor + term[t];
            unit[k] += (vi64)moved - (vi64)anchor;
            term[t] -= moved - anchor;
        }
    }
    UNROLLED
    for (int t = 0; t < TERMS_OF_PRODUCT; t++) kept &= (vi64)(term[t] == 0);
    UNROLLED
    for (int k = 0; k < levels; k++) {
        unit[k] &= kept;
        memcpy(&units->word[k][i], &unit[k], sizeof unit[k]);
    }
    return kept;
}

/* Lanes whose terms are exact, and no more than fits.  What an f64 product lacks may be no f64 where it is next to
 * nothing. */
INLINE vi64 are_exact(struct vector_of_pairs pairs, vf64 product, double limit) {
    const double least = 0x1p-900;
    vi64 kept = (vi64)(magnitude_of_f64(product) <= limit); /* not so a NaN */
    if (!IS_F64) return kept;
    return kept & ((vi64)(magnitude_of_f64(product) >= least) | (vi64)(pairs.x == 0) | (vi64)(pairs.y == 0));
}

INLINE void split_all_pairs(struct wf_units *units, const struct wf_grid *grid, int levels, const unsigned char *x,
                            const unsigned char *y, size_t count) {
    const struct wf_grid own = *grid; /* which no store changes, as compilers see */
    vi64 any_lost = {0}, any_minus_zero = {0};
    for (size_t i = 0; i < count; i += LANES, x += LANES * sizeof(uword), y += LANES * sizeof(uword)) {
        struct vector_of_pairs pairs = load_pairs(x, y, count - i);
        vf64 term[2] = {pairs.x * pairs.y, {0}};
        any_minus_zero |= (vi64)term[0] == INT64_MIN;
        vi64 kept = are_exact(pairs, term[0], own.limit);
        if (IS_F64) term[1] = product_error(pairs.x, pairs.y, term[0]);
        vi64 lost = ~split_terms(units, i, &own, levels, term, kept);
        memcpy(&units->lost[i], &lost, sizeof lost);
        any_lost |= lost;
    }
    units->any_lost = any_lane(any_lost);
    units->any_minus_zero = any_lane(any_minus_zero);
    forget_rounding();
}

INLINE void mark_products(struct wf_units *units, const unsigned char *x, const unsigned char *y, size_t count) {
    for (size_t i = 0; i < count; i += LANES, x += LANES * sizeof(uword), y += LANES * sizeof(uword)) {
        struct vector_of_pairs pairs = load_pairs(x, y, count - i);
        vf64 product = pairs.x * pairs.y;
        vi64 is_minus_zero = (vi64)product == INT64_MIN, is_number = (vi64)(product == product);
        vi64 mark = ((is_minus_zero & WF_MARK_MINUS_ZERO) | (~is_minus_zero & WF_MARK_OTHER)) & is_number;
        memcpy(&units->word[0][i], &mark, sizeof mark);
    }
    forget_rounding();
}

wf_split_products_function WF_LOOPS_NAME(split_products, TYPE, TIER);

void WF_LOOPS_NAME(split_products, TYPE, TIER)(struct wf_units *units, const struct wf_grid *grid, const void *x,
                                               const void *y, size_t count) {
    switch (grid ? grid->levels : 0) {
    case 0: mark_products(units, x, y, count); break;
    case 1: split_all_pairs(units, grid, 1, x, y, count); break;
    case 2: split_all_pairs(units, grid, 2, x, y, count); break;
    case 3: split_all_pairs(units, grid, 3, x, y, count); break;
    default: split_all_pairs(units, grid, 4, x, y, count);
    }
}
