/* Neighbouring groups folded side by side: each is a column of tiles that are cut out of the array. */
#ifndef WF_CPU_COLUMNS_H
#define WF_CPU_COLUMNS_H

#include "core/view.h"
#include "core/parts.h"
#include "cpu/tier.h"

struct wf_accumulator;
struct wf_columns;

/* Space for tiles and columns; NULL without memory. */
struct wf_columns *wf_columns_create(void);
void wf_columns_destroy(struct wf_columns *columns);

/* The accumulators of the columns. */
struct wf_accumulator *wf_columns_accumulators(struct wf_columns *columns);

/* Space for the sums of a panel (panels.h). */
struct wf_panel_sums *wf_columns_panel(struct wf_columns *columns);

/* Room for the rows of a panel whose columns are apart (struct wf_apart), until there is a tile. */
unsigned char *wf_columns_rows(struct wf_columns *columns);

/* Adds elements begin <= i < end of that many groups, at most WF_COLUMNS_MAX, each to its accumulator, whose end_index is
 * the index of a group's first element.  The accumulators have been cleared, all that there are, and none has a tree.
 * view: the elements of the first group; stride_bytes: from there to the next group's.  In the environment of
 * wf_environment_enter. */
void wf_columns_add(struct wf_columns *columns, const struct wf_tier *tier, const struct wf_view *view,
                    const int64_t stride_bytes[2], size_t count, int64_t begin, int64_t end);

/* Whether all elements of that many groups, `count` of each, fit into a tile. */
bool wf_columns_fit(int64_t count, int64_t groups, size_t nbytes, unsigned parts);

/* Makes a tile of all elements of that many groups; false if it has no room for them.  index: of the first elements. */
bool wf_columns_fill(struct wf_columns *columns, const struct wf_tier *tier, const struct wf_view *view,
                     const int64_t stride_bytes[2], size_t count, int64_t index, unsigned parts);

/* The same of segments of a vector, which end where the next one begins: from offset[c] to offset[c + 1].  Shorter ones
 * are filled up with what changes no sum and no extremum; the results of empty ones have no meaning, except for sums. */
bool wf_columns_fill_segments(struct wf_columns *columns, const struct wf_tier *tier, const struct wf_view *view, wf_type type,
                              const int64_t *offset, size_t count, unsigned parts);

/* The result of one part for each group of the tile (wf_results_function), without accumulators. */
bool wf_columns_results(const struct wf_columns *columns, const struct wf_tier *tier, wf_type type, enum wf_part part,
                        void *results);

/* The extreme of each group of the tile, or its index, as wf_panel_minmax_function has it. */
bool wf_columns_minmax(struct wf_columns *columns, const struct wf_tier *tier, wf_type type, struct wf_extremum asked,
                       uint64_t results[WF_COLUMNS_MAX], bool are_nans[WF_COLUMNS_MAX]);

/* What is asked for of each group of the tile (wf_few_rows_function); false if some group needs more. */
bool wf_columns_find_few(const struct wf_columns *columns, const struct wf_tier *tier, wf_type type,
                         const struct wf_quotient *asked, void *results);

/* Puts what adds nothing in place of the NaNs of floats, or, where they count as elements, 1 in place of those that are counted
 * or multiplied, so that the tile no longer shows its groups.  nans: of each column how many there were.  False, and nothing done,
 * if there is none at all. */
bool wf_columns_take_nans(struct wf_columns *columns, const struct wf_tier *tier, wf_type type, unsigned parts, bool are_counted,
                          int64_t nans[WF_COLUMNS_MAX]);

/* The same of rows, of at most WF_ROWS_NBYTES and another row, and, of pairs, of those of y, which become copies: there is no tile
 * then, and the copies stay until the next one. */
bool wf_columns_take_nans_of_rows(struct wf_columns *columns, const struct wf_tier *tier, wf_type type, unsigned parts,
                                  bool are_counted, struct wf_rows *rows, const unsigned char **y, int64_t *y_stride_bytes,
                                  int64_t nans[WF_COLUMNS_MAX]);

/* Makes all elements of a column of the tile, or of a row of such copies, 0, as where there are none. */
void wf_columns_clear(struct wf_columns *columns, size_t column, size_t nbytes);
void wf_columns_clear_row(struct wf_columns *columns, const struct wf_rows *rows, size_t row, size_t nbytes);

/* Whether the tile shows its groups: it has been filled, and no NaNs have been taken since. */
bool wf_columns_are_whole(const struct wf_columns *columns);

/* The elements of that many groups of the tile, of which each has as many as the tile has rows, as rows. */
struct wf_rows wf_columns_turn(struct wf_columns *columns, size_t groups, size_t nbytes);

/* The exact sums of each group of the tile. */
bool wf_columns_totals(const struct wf_columns *columns, const struct wf_tier *tier, wf_type type, unsigned parts,
                       struct wf_column_totals *totals);

#endif
