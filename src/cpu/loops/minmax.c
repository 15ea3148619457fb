/* Extremes of a type: elements become signed integers of the same order, and NaNs come beyond all others.  Compiled for each
 * tier and type, see vector_types.h. */
#include "cpu/minmax.h"
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

/* NaNs of one sign would come below all numbers, those of the other above: all orders are moved, around the end, so that
 * they are on the side that is looked for. */
INLINE vsword move_orders(vsword orders, bool largest) {
    return (vsword)(largest ? (vuword)orders - NANS : (vuword)orders + NANS);
}

INLINE vsword orders_at(const unsigned char *x, bool largest) {
    vsword bits;
    memcpy(&bits, x, sizeof bits);
    if (IS_BOOL) return (bits != 0) & 1;
    if (KIND == KIND_UNSIGNED) return bits ^ (sword)TOP_BIT;
    return IS_FLOAT ? move_orders(bits ^ ((bits < 0) & (sword)LARGEST_ORDER), largest) : bits;
}

INLINE vsword elements_of(vsword orders, bool largest) {
    if (KIND == KIND_UNSIGNED && !IS_BOOL) return orders ^ (sword)TOP_BIT;
    if (!IS_FLOAT) return orders;
    vsword bits = move_orders(orders, !largest);
    return bits ^ ((bits < 0) & (sword)LARGEST_ORDER);
}

/* The lanes, all ones, of NaNs. */
INLINE vsword nan_lanes(vsword orders, bool largest) {
    const sword last = (sword)(uword)(INFINITE - NANS), first = (sword)(uword)(TOP_BIT + NANS + NANS);
    if (!IS_FLOAT) return (vsword){0};
    return largest ? orders > last : orders < first;
}

INLINE vsword better(vsword a, vsword b, bool largest) {
    return largest ? max_signed(a, b) : min_signed(a, b);
}

INLINE bool any_lane_of(vsword lanes) {
    return lane_bits(lanes) != 0;
}

/* ---- columns ---- */

/* Puts what rows improve of a group of columns in its place.  is_first: nothing is there. */
INLINE void improve_group(unsigned char *best, const unsigned char *x, int64_t stride_bytes, size_t rows, bool is_first,
                          bool largest) {
    vsword found[GROUP / STEP];
    UNROLLED
    for (size_t v = 0; v < GROUP / STEP; v++) {
        if (is_first)
            found[v] = orders_at(x + v * VECTOR_NBYTES, largest);
        else
            memcpy(&found[v], best + v * VECTOR_NBYTES, sizeof found[v]);
    }
    for (size_t r = 0; r < rows; r++, x += stride_bytes) {
        UNROLLED
        for (size_t v = 0; v < GROUP / STEP; v++)
            found[v] = better(found[v], orders_at(x + v * VECTOR_NBYTES, largest), largest);
    }
    UNROLLED
    for (size_t v = 0; v < GROUP / STEP; v++) memcpy(best + v * VECTOR_NBYTES, &found[v], sizeof found[v]);
}

/* A few rows at a time, so that they are read in long pieces. */
INLINE void improve_all(unsigned char *best, const struct wf_panel *panel, bool largest) {
    for (size_t r = 0; r < panel->rows; r += WF_PANEL_ROWS) {
        const unsigned char *rows = panel->x + (int64_t)r * panel->stride_bytes;
        size_t count = panel->rows - r < WF_PANEL_ROWS ? panel->rows - r : WF_PANEL_ROWS;
        for (size_t c = 0; c < panel->columns; c += GROUP) {
            size_t left = panel->columns - c, begin = left < GROUP ? panel->columns - GROUP : c; /* seen twice, at worst */
            improve_group(best + begin * sizeof(uword), rows + begin * sizeof(uword), panel->stride_bytes, count, r == 0,
                          largest);
        }
    }
}

/* Makes elements of a vector's orders, or of its first bytes; returns the lanes of NaNs. */
INLINE vsword finish_vector(unsigned char *best, size_t nbytes, bool largest) {
    vsword orders = {0};
    memcpy(&orders, best, nbytes);
    const vsword nans = nan_lanes(orders, largest);
    orders = elements_of(orders, largest);
    memcpy(best, &orders, nbytes);
    return nans;
}

/* Those of a strip; returns whether there is a NaN.  Whole vectors are copied by one instruction. */
INLINE bool finish_strip(unsigned char *best, size_t columns, bool largest) {
    const size_t whole = columns / STEP * STEP;
    vsword nans = {0};
    for (size_t c = 0; c < whole; c += STEP) nans |= finish_vector(best + c * sizeof(uword), VECTOR_NBYTES, largest);
    if (whole < columns) nans |= finish_vector(best + whole * sizeof(uword), (columns - whole) * sizeof(uword), largest);
    return any_lane_of(nans);
}

INLINE void find_columns(const struct wf_panel *panel, bool largest, unsigned char *results, bool *has_failed) {
    improve_all(results, panel, largest);
    for (size_t c = 0; c < panel->columns; c += WF_STRIP_COLUMNS) {
        size_t left = panel->columns - c, columns = left < WF_STRIP_COLUMNS ? left : WF_STRIP_COLUMNS;
        has_failed[c / WF_STRIP_COLUMNS] = finish_strip(results + c * sizeof(uword), columns, largest);
    }
}

wf_panel_minmax_function WF_LOOPS_NAME(find_panel_minmax, TYPE, TIER);

void WF_LOOPS_NAME(find_panel_minmax, TYPE, TIER)(const struct wf_panel *panel, bool largest, void *results,
                                                    bool *has_failed) {
    largest ? find_columns(panel, true, results, has_failed) : find_columns(panel, false, results, has_failed);
}

/* ---- rows ---- */

/* The best of a row's elements in each lane, and the first piece of the row that has it there.  Pieces are of PIECE elements,
 * then of a vector; the last one may begin in the one before. */
struct best {
    vsword orders, piece;
};

enum { PIECE = 4 * STEP };
_Static_assert(WF_ROW_COUNT_MAX / PIECE + 4 < LARGEST_ORDER, "pieces are counted by a lane");

INLINE void improve(struct best *best, vsword orders, sword piece, bool largest) {
    vsword improved = better(best->orders, orders, largest);
    best->piece = select_where(improved != best->orders, (vsword){0} + piece, best->piece);
    best->orders = improved;
}

INLINE vsword best_of_piece(const unsigned char *x, bool largest) {
    vsword first = better(orders_at(x, largest), orders_at(x + VECTOR_NBYTES, largest), largest);
    x += 2 * VECTOR_NBYTES;
    return better(first, better(orders_at(x, largest), orders_at(x + VECTOR_NBYTES, largest), largest), largest);
}

/* The best of elements that fill at least one vector. */
INLINE struct best best_of_vectors(const unsigned char *x, size_t count, bool largest) {
    struct best best = {orders_at(x, largest), {0}};
    size_t i = 0;
    sword piece = 0;
    for (; i + PIECE <= count; i += PIECE, piece++)
        improve(&best, best_of_piece(x + i * sizeof(uword), largest), piece, largest);
    for (; i + STEP <= count; i += STEP, piece++) improve(&best, orders_at(x + i * sizeof(uword), largest), piece, largest);
    if (i < count) improve(&best, orders_at(x + (count - STEP) * sizeof(uword), largest), piece, largest);
    return best;
}

/* The same without the pieces, by two chains of comparisons. */
INLINE vsword orders_of_vectors(const unsigned char *x, size_t count, bool largest) {
    const size_t nbytes = count * sizeof(uword), last = nbytes - VECTOR_NBYTES;
    vsword best[2] = {orders_at(x, largest), orders_at(x + last, largest)};
    for (size_t i = VECTOR_NBYTES; i + 2 * VECTOR_NBYTES <= nbytes; i += 2 * VECTOR_NBYTES) {
        best[0] = better(best[0], orders_at(x + i, largest), largest);
        best[1] = better(best[1], orders_at(x + i + VECTOR_NBYTES, largest), largest);
    }
    if (nbytes >= 2 * VECTOR_NBYTES) best[1] = better(best[1], orders_at(x + last - VECTOR_NBYTES, largest), largest);
    return better(best[0], best[1], largest);
}

/* Where a piece begins. */
INLINE size_t begin_of_piece(size_t piece, size_t count) {
    size_t large = count / PIECE, begin = piece <= large ? piece * PIECE : large * PIECE + (piece - large) * STEP;
    return begin + STEP > count ? count - STEP : begin;
}

/* Fewer: filled up with the first. */
INLINE vsword orders_of_few(const unsigned char *x, size_t count, bool largest) {
    sword first;
    memcpy(&first, x, sizeof first);
    vsword filled = (vsword){0} + first;
    memcpy(&filled, x, count * sizeof first);
    return orders_at((const unsigned char *)&filled, largest);
}

/* The best lane, in all lanes: those of f64 meet, then what is in each of these. */
INLINE vsword spread_best(vsword orders, bool largest) {
    UNROLLED
    for (int distance = 1; distance < LANES; distance *= 2)
        orders = better(orders, (vsword)swapped_lanes((vf64)orders, distance), largest);
    UNROLLED
    for (unsigned bits = 32; bits >= 8 * sizeof(uword); bits /= 2)
        orders = better(orders, (vsword)((vu64)orders >> bits | (vu64)orders << (64 - bits)), largest);
    return orders;
}

/* The first lane that is all ones; there must be one. */
INLINE size_t first_lane(vsword found) {
    return (size_t)__builtin_ctzll(lane_bits(found)) / sizeof(uword);
}

/* The first element that has that order, which is the best. */
INLINE uint64_t position_of(vsword wanted, const struct best *best, const unsigned char *x, size_t count, bool largest) {
    if (count < STEP) return first_lane(best->orders == wanted);
    vsword pieces = select_where(best->orders == wanted, best->piece, (vsword){0} + (sword)LARGEST_ORDER);
    for (size_t i = begin_of_piece((size_t)spread_best(pieces, false)[0], count);; i += STEP) {
        vsword found = orders_at(x + i * sizeof(uword), largest) == wanted;
        if (any_lane_of(found)) return i + first_lane(found);
    }
}

INLINE bool find_rows(const struct wf_rows *rows, bool largest, bool of_index, unsigned char *results) {
    const size_t result_nbytes = of_index ? sizeof(uint64_t) : sizeof(uword);
    vsword nans = {0};
    for (size_t r = 0; r < rows->rows; r++) {
        int64_t begin = rows->offset ? rows->offset[r] * (int64_t)sizeof(uword) : (int64_t)r * rows->stride_bytes;
        const unsigned char *x = rows->x + begin;
        size_t count = (size_t)(rows->offset ? rows->offset[r + 1] - rows->offset[r] : rows->count);
        memset(results + r * result_nbytes, 0, result_nbytes);
        if (!count) continue;
        struct best best = count < STEP ? (struct best){orders_of_few(x, count, largest), {0}}
                           : of_index   ? best_of_vectors(x, count, largest)
                                        : (struct best){orders_of_vectors(x, count, largest), {0}};
        vsword order = spread_best(best.orders, largest);
        nans |= nan_lanes(order, largest);
        uint64_t position = of_index ? position_of(order, &best, x, count, largest) : 0;
        vsword element = elements_of(order, largest);
        memcpy(results + r * result_nbytes, of_index ? (const void *)&position : (const void *)&element, result_nbytes);
    }
    return !any_lane_of(nans);
}

wf_row_minmax_function WF_LOOPS_NAME(find_row_minmax, TYPE, TIER);

bool WF_LOOPS_NAME(find_row_minmax, TYPE, TIER)(const struct wf_rows *rows, bool largest, bool of_index, void *results) {
    if (of_index) return largest ? find_rows(rows, true, true, results) : find_rows(rows, false, true, results);
    return largest ? find_rows(rows, true, false, results) : find_rows(rows, false, false, results);
}
