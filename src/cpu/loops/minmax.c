/* Extremes of a type: elements become signed integers of the same order, and NaNs come beyond all others, or before them.
 * Compiled for each tier and type, see vector_types.h. */
#include "cpu/minmax.h"
#include "cpu/loops/panel_rows.h"
#include "cpu/loops/vector.h"

#define KIND_SIGNED 0
#define KIND_UNSIGNED 1
#define KIND_FLOAT 2
#define X(NAME, name, type, kind, precision, exponent_bits) KIND_OF_##NAME = KIND_##kind,
enum { WF_TYPES(X) KIND = PASTE(KIND_OF_, TYPE) };
#undef X

enum {
    IS_FLOAT = KIND == KIND_FLOAT,
    IS_BOOL = ELEMENT == ELEMENT_BOOL,
    GROUP = 4 * STEP < WF_STRIP_COLUMNS ? 4 * STEP : WF_STRIP_COLUMNS, /* columns that are looked at together */
};

#define LARGEST_ORDER ((uword)((uword)-1 >> 1))
/* Floats: the order of an infinity, and how many NaNs there are of either sign. */
#define INFINITE ((uword)(((UINT64_C(1) << EXPONENT_BITS) - 1) << (PRECISION - 1)))
#define NANS ((uword)(LARGEST_ORDER - INFINITE))

#define NAN_BITS ((uword)(INFINITE | UINT64_C(1) << (PRECISION - 1) >> 1)) /* of the NaN that results are */

/* NaNs of one sign would come below all numbers, those of the other above: all orders are moved, around the end, so that
 * they are on the side that is looked for, or on the other. */
INLINE bool nans_are_above(struct wf_extremum asked) {
    return asked.largest == asked.nan_wins;
}

INLINE vsword move_orders(vsword orders, bool nans_above) {
    return (vsword)(nans_above ? (vuword)orders - NANS : (vuword)orders + NANS);
}

INLINE vsword orders_at(const unsigned char *x, struct wf_extremum asked) {
    vsword bits;
    memcpy(&bits, x, sizeof bits);
    if (IS_BOOL) return (bits != 0) & 1;
    if (KIND == KIND_UNSIGNED) return bits ^ (sword)TOP_BIT;
    return IS_FLOAT ? move_orders(bits ^ ((bits < 0) & (sword)LARGEST_ORDER), nans_are_above(asked)) : bits;
}

/* The orders of the largest and of the least number, beyond which there are NaNs. */
#define LAST_NUMBER ((sword)(uword)(INFINITE - NANS))
#define FIRST_NUMBER ((sword)(uword)(TOP_BIT + NANS + NANS))

/* The same with one order for all NaNs, of which the first is then the best. */
INLINE vsword orders_of_one_nan(const unsigned char *x, struct wf_extremum asked) {
    const vsword orders = orders_at(x, asked), zero = {0};
    if (!IS_FLOAT) return orders;
    return nans_are_above(asked) ? min_signed(orders, zero + (sword)(LAST_NUMBER + 1))
                                 : max_signed(orders, zero + (sword)(FIRST_NUMBER - 1));
}

/* The lanes, all ones, of NaNs. */
INLINE vsword nan_lanes(vsword orders, struct wf_extremum asked) {
    if (!IS_FLOAT) return (vsword){0};
    return nans_are_above(asked) ? orders > LAST_NUMBER : orders < FIRST_NUMBER;
}

INLINE bool is_nan(sword order, struct wf_extremum asked) {
    return IS_FLOAT && (nans_are_above(asked) ? order > LAST_NUMBER : order < FIRST_NUMBER);
}

INLINE vsword elements_of(vsword orders, struct wf_extremum asked) {
    if (KIND == KIND_UNSIGNED && !IS_BOOL) return orders ^ (sword)TOP_BIT;
    if (!IS_FLOAT) return orders;
    const vsword bits = move_orders(orders, !nans_are_above(asked));
    return bits ^ ((bits < 0) & (sword)LARGEST_ORDER);
}

INLINE vsword better(vsword a, vsword b, struct wf_extremum asked) {
    return asked.largest ? max_signed(a, b) : min_signed(a, b);
}

INLINE bool any_lane_of(vsword lanes) {
    return lane_bits(lanes) != 0;
}

/* ---- columns ---- */

/* What has been found of columns: orders, and, for indices, the rows that have them, counted from `begin` on: negative where
 * the best is in a row before that. */
struct columns_found {
    _Alignas(VECTOR_NBYTES) unsigned char orders[WF_PANEL_COLUMNS_MAX * sizeof(uword)], row[WF_PANEL_COLUMNS_MAX * sizeof(uword)];
    size_t begin;
};

/* Puts what rows improve of a group of columns in its place.  is_first: nothing is there. */
INLINE void improve_group(unsigned char *best, const unsigned char *x, int64_t stride_bytes, size_t rows, bool is_first,
                          struct wf_extremum asked) {
    vsword found[GROUP / STEP];
    UNROLLED
    for (size_t v = 0; v < GROUP / STEP; v++) {
        if (is_first)
            found[v] = orders_at(x + v * VECTOR_NBYTES, asked);
        else
            memcpy(&found[v], best + v * VECTOR_NBYTES, sizeof found[v]);
    }
    if (is_first) x += stride_bytes;
    for (size_t r = is_first; r < rows; r++, x += stride_bytes) {
        UNROLLED
        for (size_t v = 0; v < GROUP / STEP; v++)
            found[v] = better(found[v], orders_at(x + v * VECTOR_NBYTES, asked), asked);
    }
    UNROLLED
    for (size_t v = 0; v < GROUP / STEP; v++) memcpy(best + v * VECTOR_NBYTES, &found[v], sizeof found[v]);
}

/* The same, with the rows' numbers, the first of which is `first`. */
INLINE void improve_group_of_rows(unsigned char *best, unsigned char *row, const unsigned char *x, int64_t stride_bytes,
                                  size_t rows, sword first, bool is_first, struct wf_extremum asked) {
    vsword found[GROUP / STEP], at[GROUP / STEP];
    UNROLLED
    for (size_t v = 0; v < GROUP / STEP; v++) {
        at[v] = (vsword){0};
        if (is_first) {
            found[v] = orders_of_one_nan(x + v * VECTOR_NBYTES, asked);
            continue;
        }
        memcpy(&found[v], best + v * VECTOR_NBYTES, sizeof found[v]);
        memcpy(&at[v], row + v * VECTOR_NBYTES, sizeof at[v]);
    }
    if (is_first) x += stride_bytes;
    for (size_t r = is_first; r < rows; r++, x += stride_bytes) {
        const vsword number = (vsword){0} + (sword)(first + (sword)r);
        UNROLLED
        for (size_t v = 0; v < GROUP / STEP; v++) {
            const vsword orders = orders_of_one_nan(x + v * VECTOR_NBYTES, asked);
            at[v] = select_where(asked.largest ? orders > found[v] : orders < found[v], number, at[v]);
            found[v] = better(found[v], orders, asked);
        }
    }
    UNROLLED
    for (size_t v = 0; v < GROUP / STEP; v++) {
        memcpy(best + v * VECTOR_NBYTES, &found[v], sizeof found[v]);
        memcpy(row + v * VECTOR_NBYTES, &at[v], sizeof at[v]);
    }
}

/* The indices of what is in rows from `begin` on. */
INLINE void note_indices(uint64_t *index, const struct columns_found *found, size_t columns) {
    for (size_t c = 0; c < columns; c++) {
        sword row;
        memcpy(&row, found->row + c * sizeof row, sizeof row);
        index[c] = row < 0 ? index[c] : found->begin + (uint64_t)row;
    }
}

/* A few rows, from that one on, so that they are read in long pieces. */
INLINE void improve_piece(struct columns_found *found, unsigned char *best, const struct wf_panel *panel, size_t first,
                          struct wf_extremum asked) {
    const size_t count = panel->rows - first < WF_PANEL_ROWS ? panel->rows - first : WF_PANEL_ROWS;
    const struct panel_rows rows = rows_of_panel(panel, first, count);
    for (size_t c = 0; c < panel->columns; c += GROUP) {
        const size_t left = panel->columns - c, begin = left < GROUP ? panel->columns - GROUP : c; /* seen twice, at worst */
        const size_t at = begin * sizeof(uword);
        if (asked.of_index)
            improve_group_of_rows(best + at, found->row + at, rows.x + at, rows.stride_bytes, count,
                                  (sword)(first - found->begin), first == 0, asked);
        else
            improve_group(best + at, rows.x + at, rows.stride_bytes, count, first == 0, asked);
    }
}

INLINE void improve_all(unsigned char *best, const struct wf_panel *panel, struct wf_extremum asked) {
    for (size_t r = 0; r < panel->rows; r += WF_PANEL_ROWS) improve_piece(NULL, best, panel, r, asked);
}

/* As many rows at a time as lanes count. */
INLINE void find_indices(struct columns_found *found, uint64_t *index, const struct wf_panel *panel, struct wf_extremum asked) {
    const size_t counted = LARGEST_ORDER < 1 << 15 ? (size_t)LARGEST_ORDER + 1 : 1 << 15;
    found->begin = 0;
    for (size_t r = 0; r < panel->rows; r += WF_PANEL_ROWS) {
        if (r && r % counted == 0) {
            note_indices(index, found, panel->columns);
            memset(found->row, 0xff, panel->columns * sizeof(uword));
            found->begin = r;
        }
        improve_piece(found, found->orders, panel, r, asked);
    }
    note_indices(index, found, panel->columns);
}

/* Makes elements, and one NaN, of a vector's orders, or of its first bytes; returns the lanes of NaNs. */
INLINE vsword finish_vector(unsigned char *best, size_t nbytes, struct wf_extremum asked) {
    vsword orders = {0};
    memcpy(&orders, best, nbytes);
    const vsword nans = nan_lanes(orders, asked);
    orders = select_where(nans, (vsword){0} + (sword)NAN_BITS, elements_of(orders, asked));
    memcpy(best, &orders, nbytes);
    return nans;
}

/* Those of all columns; returns whether there is a NaN.  Whole vectors are copied by one instruction. */
INLINE bool finish_columns(unsigned char *best, size_t columns, struct wf_extremum asked) {
    const size_t whole = columns / STEP * STEP;
    vsword nans = {0};
    for (size_t c = 0; c < whole; c += STEP) nans |= finish_vector(best + c * sizeof(uword), VECTOR_NBYTES, asked);
    if (whole < columns) nans |= finish_vector(best + whole * sizeof(uword), (columns - whole) * sizeof(uword), asked);
    return any_lane_of(nans);
}

INLINE void find_nans(bool *are_nans, const unsigned char *element, size_t columns) {
    for (size_t c = 0; c < columns; c++) {
        uword bits;
        memcpy(&bits, element + c * sizeof bits, sizeof bits);
        are_nans[c] = bits == NAN_BITS;
    }
}

INLINE bool find_columns(const struct wf_panel *panel, void *results, bool *are_nans, struct wf_extremum asked) {
    struct columns_found found;
    unsigned char *best = asked.of_index ? found.orders : results;
    if (asked.of_index)
        find_indices(&found, results, panel, asked);
    else
        improve_all(best, panel, asked);
    const bool any = finish_columns(best, panel->columns, asked);
    if (any) find_nans(are_nans, best, panel->columns);
    return any;
}

/* What is asked for, as a constant; of integers no NaN wins or loses. */
#define OF_EXTREMUM(find, asked, ...)                                                                                 \
    ((asked).nan_wins || !IS_FLOAT ? OF_EXTREMUM_OF(find, asked, true, __VA_ARGS__) : OF_EXTREMUM_OF(find, asked, false, __VA_ARGS__))
#define OF_EXTREMUM_OF(find, asked, nan_wins, ...)                                                                    \
    ((asked).largest ? OF_SIDE(find, asked, nan_wins, true, __VA_ARGS__) : OF_SIDE(find, asked, nan_wins, false, __VA_ARGS__))
#define OF_SIDE(find, asked, nan_wins, largest, ...)                                                                 \
    ((asked).of_index ? find(__VA_ARGS__, (struct wf_extremum){largest, true, nan_wins})                              \
                      : find(__VA_ARGS__, (struct wf_extremum){largest, false, nan_wins}))

wf_panel_minmax_function WF_LOOPS_NAME(find_panel_minmax, TYPE, TIER);

bool WF_LOOPS_NAME(find_panel_minmax, TYPE, TIER)(const struct wf_panel *panel, struct wf_extremum asked, void *results,
                                                    bool *are_nans) {
    return OF_EXTREMUM(find_columns, asked, panel, results, are_nans);
}

/* ---- rows ---- */

/* The best of a row's elements in each lane, and the first piece of the row that has it there.  Pieces are of PIECE elements,
 * then of a vector; the last one may begin in the one before. */
struct best {
    vsword orders, piece;
};

enum { PIECE = 4 * STEP };
_Static_assert(WF_ROW_COUNT_MAX / PIECE + 4 < LARGEST_ORDER, "pieces are counted by a lane");

INLINE void improve(struct best *best, vsword orders, sword piece, struct wf_extremum asked) {
    vsword improved = better(best->orders, orders, asked);
    best->piece = select_where(improved != best->orders, (vsword){0} + piece, best->piece);
    best->orders = improved;
}

INLINE vsword best_of_piece(const unsigned char *x, struct wf_extremum asked) {
    vsword first = better(orders_at(x, asked), orders_at(x + VECTOR_NBYTES, asked), asked);
    x += 2 * VECTOR_NBYTES;
    return better(first, better(orders_at(x, asked), orders_at(x + VECTOR_NBYTES, asked), asked), asked);
}

/* The best of elements that fill at least one vector. */
INLINE struct best best_of_vectors(const unsigned char *x, size_t count, struct wf_extremum asked) {
    struct best best = {orders_at(x, asked), {0}};
    size_t i = 0;
    sword piece = 0;
    for (; i + PIECE <= count; i += PIECE, piece++)
        improve(&best, best_of_piece(x + i * sizeof(uword), asked), piece, asked);
    for (; i + STEP <= count; i += STEP, piece++) improve(&best, orders_at(x + i * sizeof(uword), asked), piece, asked);
    if (i < count) improve(&best, orders_at(x + (count - STEP) * sizeof(uword), asked), piece, asked);
    return best;
}

/* The same without the pieces, by two chains of comparisons. */
INLINE vsword orders_of_vectors(const unsigned char *x, size_t count, struct wf_extremum asked) {
    const size_t nbytes = count * sizeof(uword), last = nbytes - VECTOR_NBYTES;
    vsword best[2] = {orders_at(x, asked), orders_at(x + last, asked)};
    for (size_t i = VECTOR_NBYTES; i + 2 * VECTOR_NBYTES <= nbytes; i += 2 * VECTOR_NBYTES) {
        best[0] = better(best[0], orders_at(x + i, asked), asked);
        best[1] = better(best[1], orders_at(x + i + VECTOR_NBYTES, asked), asked);
    }
    if (nbytes >= 2 * VECTOR_NBYTES) best[1] = better(best[1], orders_at(x + last - VECTOR_NBYTES, asked), asked);
    return better(best[0], best[1], asked);
}

/* Where a piece begins. */
INLINE size_t begin_of_piece(size_t piece, size_t count) {
    size_t large = count / PIECE, begin = piece <= large ? piece * PIECE : large * PIECE + (piece - large) * STEP;
    return begin + STEP > count ? count - STEP : begin;
}

/* Fewer: filled up with the first. */
INLINE vsword orders_of_few(const unsigned char *x, size_t count, struct wf_extremum asked) {
    sword first;
    memcpy(&first, x, sizeof first);
    vsword filled = (vsword){0} + first;
    memcpy(&filled, x, count * sizeof first);
    return orders_at((const unsigned char *)&filled, asked);
}

/* The best lane, in all lanes: those of f64 meet, then what is in each of these. */
INLINE vsword spread_best(vsword orders, struct wf_extremum asked) {
    UNROLLED
    for (int distance = 1; distance < LANES; distance *= 2)
        orders = better(orders, (vsword)swapped_lanes((vf64)orders, distance), asked);
    UNROLLED
    for (unsigned bits = 32; bits >= 8 * sizeof(uword); bits /= 2)
        orders = better(orders, (vsword)((vu64)orders >> bits | (vu64)orders << (64 - bits)), asked);
    return orders;
}

/* The first lane that is all ones; there must be one. */
INLINE size_t first_lane(vsword found) {
    return (size_t)__builtin_ctzll(lane_bits(found)) / sizeof(uword);
}

/* The first element that has that order, which is the best. */
INLINE uint64_t position_of(vsword wanted, const struct best *best, const unsigned char *x, size_t count, struct wf_extremum asked) {
    if (count < STEP) return first_lane(best->orders == wanted);
    vsword pieces = select_where(best->orders == wanted, best->piece, (vsword){0} + (sword)LARGEST_ORDER);
    for (size_t i = begin_of_piece((size_t)spread_best(pieces, (struct wf_extremum){.largest = false})[0], count);; i += STEP) {
        vsword found = orders_at(x + i * sizeof(uword), asked) == wanted;
        if (any_lane_of(found)) return i + first_lane(found);
    }
}

/* The first element that is a NaN; there must be one. */
INLINE uint64_t position_of_nan(const struct best *best, const unsigned char *x, size_t count, struct wf_extremum asked) {
    if (count < STEP) return first_lane(nan_lanes(best->orders, asked));
    for (size_t i = 0;; i += STEP) {
        const size_t begin = i + STEP > count ? count - STEP : i;
        const vsword found = nan_lanes(orders_at(x + begin * sizeof(uword), asked), asked);
        if (any_lane_of(found)) return begin + first_lane(found);
    }
}

/* What is found of a row whose best is a NaN. */
APART void write_nan(unsigned char *result, const struct best *best, const unsigned char *x, size_t count, struct wf_extremum asked) {
    const uint64_t position = asked.of_index ? position_of_nan(best, x, count, asked) : 0;
    const uword bits = NAN_BITS;
    memcpy(result, asked.of_index ? (const void *)&position : (const void *)&bits, asked.of_index ? sizeof position : sizeof bits);
}

INLINE bool find_rows(const struct wf_rows *rows, unsigned char *results, struct wf_extremum asked) {
    const size_t result_nbytes = asked.of_index ? sizeof(uint64_t) : sizeof(uword);
    bool has_nan = false;
    for (size_t r = 0; r < rows->rows; r++) {
        int64_t begin = rows->offset ? rows->offset[r] * (int64_t)sizeof(uword) : (int64_t)r * rows->stride_bytes;
        const unsigned char *x = rows->x + begin;
        size_t count = (size_t)(rows->offset ? rows->offset[r + 1] - rows->offset[r] : rows->count);
        memset(results + r * result_nbytes, 0, result_nbytes);
        if (!count) continue;
        struct best best = count < STEP ? (struct best){orders_of_few(x, count, asked), {0}}
                           : asked.of_index   ? best_of_vectors(x, count, asked)
                                              : (struct best){orders_of_vectors(x, count, asked), {0}};
        vsword order = spread_best(best.orders, asked);
        if (is_nan(order[0], asked)) {
            write_nan(results + r * result_nbytes, &best, x, count, asked);
            has_nan = true;
            continue;
        }
        uint64_t position = asked.of_index ? position_of(order, &best, x, count, asked) : 0;
        vsword element = elements_of(order, asked);
        memcpy(results + r * result_nbytes, asked.of_index ? (const void *)&position : (const void *)&element, result_nbytes);
    }
    return has_nan;
}

wf_row_minmax_function WF_LOOPS_NAME(find_row_minmax, TYPE, TIER);

bool WF_LOOPS_NAME(find_row_minmax, TYPE, TIER)(const struct wf_rows *rows, struct wf_extremum asked, void *results) {
    return OF_EXTREMUM(find_rows, asked, rows, results);
}
