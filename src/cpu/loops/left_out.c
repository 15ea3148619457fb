/* Tiles and copies of rows of floats, with what adds nothing in place of their NaNs.  Compiled for each tier and type. */
#include "cpu/left_out.h"
#include "cpu/loops/left_out.h"

wf_leave_out_nans_function WF_LOOPS_NAME(leave_out_nans, TYPE, TIER);

/* A tile's rows lie as the copies of a strip's do: it becomes one in its place. */
bool WF_LOOPS_NAME(leave_out_nans, TYPE, TIER)(const struct wf_tile *tile, unsigned char *x, uint64_t instead, int64_t *nans) {
    const struct strip strip = {x, (int64_t)(tile->pitch * sizeof(uword)), tile->rows, tile->pitch, 0, NULL, 0};
    uword found[WF_COLUMNS_MAX] = {0};
    bool any = false;
    strip_without_nans((uword *)x, found, strip, (uword)instead);
    for (size_t c = 0; c < tile->columns; c++) {
        nans[c] = found[c];
        any |= found[c] != 0;
    }
    return any;
}

/* A row, and the other operand's, which is NULL if there is none; and where they are copied to. */
struct copied_row {
    const unsigned char *x, *y;
    uword *copy, *y_copy;
    size_t count;
};

/* Copies a vector from element i on; returns as lane_bits which elements were NaN. */
INLINE uint64_t copy_some(const struct copied_row *row, size_t i, bool is_pair, uword instead) {
    const size_t at = i * sizeof(uword);
    const vsword is_nan = is_pair ? nan_lanes(row->x + at) | nan_lanes(row->y + at) : nan_lanes(row->x + at);
    copy_vector(row->copy + i, row->x + at, is_nan, instead);
    if (is_pair) copy_vector(row->y_copy + i, row->y + at, is_nan, MINUS_ZERO);
    return lane_bits(is_nan);
}

INLINE int64_t count_lanes_of(uint64_t bits) {
    return __builtin_popcountll(bits) / (int)sizeof(uword);
}

/* Copies a row that does not fill a vector; returns how many NaNs it has. */
INLINE int64_t copy_short_row(const struct copied_row *row, bool is_pair, uword instead) {
    unsigned char x[VECTOR_NBYTES] = {0}, y[VECTOR_NBYTES] = {0};
    uword copy[STEP], y_copy[STEP];
    const size_t nbytes = row->count * sizeof(uword);
    const struct copied_row filled = {x, y, copy, y_copy, STEP};
    memcpy(x, row->x, nbytes);
    if (is_pair) memcpy(y, row->y, nbytes);
    const uint64_t nans = copy_some(&filled, 0, is_pair, instead);
    memcpy(row->copy, copy, nbytes);
    if (is_pair) memcpy(row->y_copy, y_copy, nbytes);
    return count_lanes_of(nans);
}

/* Copies a row; the last vector may begin in the one before, whose NaNs have been counted. */
INLINE int64_t copy_row(const struct copied_row *row, bool is_pair, uword instead) {
    int64_t nans = 0;
    size_t i = 0;
    if (row->count < STEP) return copy_short_row(row, is_pair, instead);
    for (; i + STEP <= row->count; i += STEP) nans += count_lanes_of(copy_some(row, i, is_pair, instead));
    if (i == row->count) return nans;
    const size_t begin = row->count - STEP;
    return nans + count_lanes_of(copy_some(row, begin, is_pair, instead) >> (i - begin) * sizeof(uword));
}

INLINE bool copy_rows(unsigned char *const copy[2], const struct wf_rows *rows, const unsigned char *y, int64_t y_stride_bytes,
                      uword instead, int64_t *nans, bool is_pair) {
    uword *to = (uword *)copy[0], *y_to = (uword *)copy[1]; /* which are aligned */
    bool any = false;
    for (size_t r = 0; r < rows->rows; r++) {
        const int64_t *offset = rows->offset ? rows->offset + r : NULL;
        const int64_t begin = offset ? offset[0] * (int64_t)sizeof(uword) : (int64_t)r * rows->stride_bytes;
        const int64_t y_begin = offset ? begin : (int64_t)r * y_stride_bytes;
        const struct copied_row row = {rows->x + begin, is_pair ? y + y_begin : NULL, to, y_to,
                                       (size_t)(offset ? offset[1] - offset[0] : rows->count)};
        nans[r] = copy_row(&row, is_pair, instead);
        any |= nans[r] != 0;
        to += row.count;
        y_to += row.count;
    }
    return any;
}

wf_copy_rows_function WF_LOOPS_NAME(copy_rows, TYPE, TIER);

bool WF_LOOPS_NAME(copy_rows, TYPE, TIER)(unsigned char *const copy[2], const struct wf_rows *rows, const unsigned char *y,
                                          int64_t y_stride_bytes, uint64_t instead, int64_t *nans) {
    if (y) return copy_rows(copy, rows, y, y_stride_bytes, (uword)instead, nans, true);
    return copy_rows(copy, rows, NULL, 0, (uword)instead, nans, false);
}
