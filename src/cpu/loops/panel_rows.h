/* The rows of a panel, a few at a time: where they lie, or, if its columns are apart, copied to where these lie side by side.
 * So rows are read in long pieces, which the processor prefetches, and the copy stays in the cache. */
#ifndef WF_CPU_LOOPS_PANEL_ROWS_H
#define WF_CPU_LOOPS_PANEL_ROWS_H

#include "cpu/loops/vector.h"

struct panel_rows {
    const unsigned char *x;
    int64_t stride_bytes;
};

/* Some columns of a row. */
INLINE const unsigned char *part_of_row(const struct wf_panel *panel, size_t row, size_t first, size_t columns) {
    const unsigned char *x = panel->x + (int64_t)row * panel->stride_bytes;
    const struct wf_apart *apart = panel->apart;
    if (!apart) return x + first * sizeof(uword);
    apart->copy(apart->rows, x + (int64_t)first * apart->stride_bytes, apart->stride_bytes, columns, sizeof(uword));
    return apart->rows;
}

/* So many rows, at most WF_PANEL_ROWS, from that one on. */
INLINE struct panel_rows rows_of_panel(const struct wf_panel *panel, size_t first, size_t rows) {
    const unsigned char *x = panel->x + (int64_t)first * panel->stride_bytes;
    const size_t pitch = panel->columns * sizeof(uword) / 64 * 64 + WF_PANEL_GAP; /* mostly no power of two */
    const struct wf_apart *apart = panel->apart;
    if (!apart) return (struct panel_rows){x, panel->stride_bytes};
    for (size_t r = 0; r < rows; r++, x += panel->stride_bytes)
        apart->copy(apart->rows + r * pitch, x, apart->stride_bytes, panel->columns, sizeof(uword));
    return (struct panel_rows){apart->rows, (int64_t)pitch};
}

#endif
