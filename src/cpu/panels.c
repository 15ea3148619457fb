#include "cpu/panels.h"

#include <string.h>

/* How many rows of few groups are taken together as one, if one follows the other in memory. */
static size_t rows_side_by_side(const struct wf_view *view, size_t groups) {
    bool are_packed = view->stride_bytes[0][0] == (int64_t)(groups * view->nbytes);
    size_t most = WF_PANEL_COLUMNS_MAX / groups;
    if (!are_packed) return 1;
    return (int64_t)most < view->count ? most : (size_t)view->count;
}

size_t wf_panel_groups(const struct wf_view *view, int64_t groups) {
    enum { FEW_COLUMNS = WF_STRIP_COLUMNS / 2 }; /* a strip that is less than half full is not worth filling up */
    size_t taken = groups < WF_PANEL_COLUMNS_MAX ? (size_t)groups : WF_PANEL_COLUMNS_MAX;
    size_t columns = taken * rows_side_by_side(view, taken);
    return view->ndim == 1 && !view->positions.index && columns >= FEW_COLUMNS ? taken : 0;
}

/* Adds the sums of rows that stood side by side to those of the first. */
static void join_rows(struct wf_panel_sums *sums, size_t groups, size_t columns) {
    for (int k = 0; k < 2; k++)
        for (size_t first = groups; first < columns; first += groups)
            for (size_t c = 0; c < groups; c++) sums->unit[k][c] += sums->unit[k][first + c];
}

bool wf_panel_sum(struct wf_panel_sums *sums, const struct wf_tier *tier, wf_type type, enum wf_part part,
                  const struct wf_view *view, size_t groups, const struct wf_apart *apart) {
    size_t side_by_side = apart ? 1 : rows_side_by_side(view, groups), columns = groups * side_by_side;
    int64_t rows = view->count / (int64_t)side_by_side;
    struct wf_panel panel = {view->data[0], (int64_t)side_by_side * view->stride_bytes[0][0], (size_t)rows, columns,
                             (size_t)(view->count % (int64_t)side_by_side) * groups, NULL, 0, apart};
    if (view->count > WF_PANEL_ROWS_MAX || !tier->sum_panel[type](sums, &panel, part)) return false;
    if (side_by_side == 1) return true;
    for (size_t s = 0; s * WF_STRIP_COLUMNS < columns; s++)
        if (sums->has_failed[s]) return false;
    join_rows(sums, groups, columns);
    sums->count = view->count;
    return true;
}

static bool is_minus_zero(const unsigned char *x, size_t nbytes) {
    uint64_t bits = 0;
    memcpy(&bits, x, nbytes);
    return bits == UINT64_C(1) << (8 * nbytes - 1);
}

void wf_panel_find_minus_zeros(bool *are_minus_zeros, const bool *is_asked, const struct wf_view *view, int64_t stride_bytes,
                               size_t first, size_t count) {
    bool any = true;
    memcpy(are_minus_zeros, is_asked, count);
    for (int64_t r = 0; any && r < view->count; r++) {
        const unsigned char *row = view->data[0] + r * view->stride_bytes[0][0] + (int64_t)first * stride_bytes;
        any = false;
        for (size_t c = 0; c < count; c++) {
            are_minus_zeros[c] &= is_minus_zero(row + (int64_t)c * stride_bytes, view->nbytes);
            any |= are_minus_zeros[c];
        }
    }
}
