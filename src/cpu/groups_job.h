/* What the parts of a reduction by groups share.  Each calls only those below it:
 *
 *   groups.c         all of it, and how threads share tiles
 *   groups_tile.c    what a thread does with a tile
 *   groups_few.c     results without accumulators, of groups that are in a tile, a panel or a window of rows as a whole
 *   groups_fold.c    results by way of accumulators
 *   groups_packed.c  tiles whose elements do not lie side by side, or are few, copied to rows of many
 *   groups_place.c   where the elements of a result lie, and where it goes
 *   groups_plan.c    how the results are laid out and which way they are taken: a pure function of arrays and groups */
#ifndef WF_CPU_GROUPS_JOB_H
#define WF_CPU_GROUPS_JOB_H

#include "core/labels.h"
#include "cpu/workers.h"

#include <stdatomic.h>

/* A dimension of the results. */
struct dimension {
    int64_t length;
    int64_t stride_bytes[2];     /* of the elements, for each operand; 0 for the one that counts groups */
    int64_t result_stride_bytes; /* of the output */
    int64_t number_stride;       /* of the results' numbers, which count in C order */
};

/* What a tile may be that is read where it lies. */
enum panel {
    NO_PANEL,
    PANEL_OF_SUMS,     /* of many rows, through a window: panels.h */
    PANEL_OF_BOUNDS,   /* by wf_column_bounds_function, which also takes what the others do not */
    PANEL_OF_FEW_ROWS, /* in registers: wf_few_rows_function */
    PANEL_OF_MINMAX,   /* wf_panel_minmax_function */
    PANEL_OF_DOTS,     /* wf_column_dots_function */
};

/* What the threads share. */
struct job {
    const struct wf_grouped *grouped;
    const struct cpu *cpu;
    struct wf_labels labels; /* of segments and keys */
    struct wf_view view;     /* of the elements of one group, whose data and count are still to be set */
    int64_t data_offset[2];  /* from a group's first element to the data of its view */
    /* The results' dimensions, the last of which is divided into tiles: neighbours in it are neighbours in memory, as
     * far as the array has any. */
    int ndim;
    int counts_groups; /* the dimension that counts segments or keys; -1: none */
    struct dimension dimension[WF_NDIM_MAX + 1];
    bool uses_rows;     /* a group's elements lie side by side, and are so few that several groups share a window */
    bool divides_rows;  /* by wf_row_quotients_function, as the quotient says */
    struct wf_quotient quotient; /* the result of few elements; its parts are 0 if they are not few, or for other ops */
    struct wf_quotient bounded; /* by wf_row_quotients_function, of groups that no window covers; likewise */
    wf_value nothing;   /* the result of a group that has no elements, */
    bool has_nothing;   /* if there is one */
    enum panel panel;   /* a tile's results are a panel's, or, where that fails, folded as follows: */
    int64_t columns;    /* that many results */
    bool uses_columns;  /* are folded side by side */
    bool must_be_whole; /* but one by one unless a tile has all elements of its groups */
    /* Tiles, or what fails of those that are panels, are copied first, so that they are columns of an array of their own, and
     * reduced as this says; NULL: they are not. Each of a tile's results is then several, along a dimension that counts faster. */
    struct job *packed;
    int64_t apart;      /* how many elements; 0: more than wf_exact_rows_function takes, or tiles are no rows */
    struct dimension inner;
    int64_t tile;       /* results of the last dimension */
    int64_t tile_count; /* in all */
    int64_t tiles_at_once;
    int64_t shared_count; /* groups of that many elements are shared by all threads */
    atomic_llong next;
    atomic_llong first_failed; /* the number of the first result that failed; INT64_MAX: none */
};

/* One result: where its elements begin, where it goes. */
struct place {
    const unsigned char *data[2];
    unsigned char *result;
    int64_t number;
    int64_t group;
};

/* Groups whose elements are all in one tile. */
struct few {
    size_t groups;
    int64_t count;         /* of each; or, of segments: */
    const int64_t *offset; /* where each begins, and the last ends */
    unsigned char *result;
    int64_t result_stride_bytes;
    const unsigned char *found; /* their results; or NULL, and what has their sums, if it is not the worker's tile: */
    const struct wf_rows *rows;
    const unsigned char *y; /* the rows' other operand, of dot products */
    int64_t y_stride_bytes;
    const struct wf_panel_sums *panel; /* from the column `first` on */
    size_t first;
    const struct wf_view *view; /* of the panel's first group */
};

/* The same without their NaNs: the groups of the other elements, or, where a NaN makes the result one, with something else in its
 * place.  Of rows, copies. */
struct few_without_nans {
    struct few few;
    struct wf_rows rows;
    int64_t nans[WF_COLUMNS_MAX], offset[WF_COLUMNS_MAX + 1];
};

/* ---- the plan ---- */

/* Sets the results' dimensions and the view of a group.  There is one result at least. */
void wf_job_lay_out(struct job *job);

/* Sets what groups give that have no elements. */
void wf_job_find_nothing(struct job *job);

/* Chooses the ways and the tiles. */
void wf_job_divide(struct job *job, int threads);

/* The elements of a group, on average, rounded up. */
int64_t wf_job_group_count(const struct job *job);

/* What the sums of a group of that many elements are divided by: see struct wf_quotient. */
double wf_job_divisor(const struct job *job, unsigned parts, int64_t count);

/* The parts of an op whose results short groups give without accumulators, which would cost more than the elements; 0:
 * another one, or all are added to an accumulator.  *part: that which is the result, or whose index; 0: it must be
 * finished. */
unsigned wf_job_short_parts(const struct job *job, enum wf_part *part, bool *of_index);

/* The part of ops whose results are a group's least or largest element, or its index; 0: others. */
enum wf_part wf_job_minmax_part(const struct job *job, bool *of_index);

/* The ops whose results are sums of a group's values or magnitudes, or are made of one; 0: others. */
enum wf_part wf_job_summed_part(const struct job *job);

/* ---- places ---- */

/* Goes on by i results along dimension d. */
void wf_place_move(struct place *place, const struct job *job, int d, int64_t i);

/* Finds the first result of a tile; returns how many results the tile has. */
int64_t wf_place_find(struct place *place, const struct job *job, int64_t tile);

/* The elements of the group there. */
int64_t wf_place_count(const struct job *job, const struct place *place);

/* Whether the place's elements are enough for all threads to share them. */
bool wf_place_is_shared(const struct job *job, const struct place *place);

/* Makes the view, which is the job's, show these elements.  *begin: how many positions of the axis, or of the sorted
 * keys, come before them. */
void wf_place_view(struct wf_view *view, int64_t *begin, const struct job *job, const struct place *place);

/* The view of the groups whose results a tile holds, the first of which is there; *first: the index of their first
 * elements. */
struct wf_view wf_place_view_tile(const struct job *job, const struct place *place, int64_t *first);

/* The result i of a tile's, the first of which is there. */
void wf_place_move_in_tile(struct place *place, const struct job *job, int64_t i);

/* ---- packing ---- */

/* Sets whether tiles are copied, to be reduced as packed is, and which they are then.  The ways have been chosen. */
void wf_job_choose_packing(struct job *job, struct job *packed, int threads);

/* Copies a tile of that many results of the last dimension; the place becomes that of the copy.  False without memory. */
bool wf_job_pack(struct worker *worker, struct wf_pages *pages, const struct job *job, struct place *place, size_t results);

/* ---- by accumulators: in the environment of wf_environment_enter, except for what all threads share ---- */

/* Makes acc the group at that place.  handle: whose threads share the work, or NULL, for the worker alone. */
void wf_job_fold(struct wf_accumulator *acc, struct wf_tree *tree, const struct job *job, const struct place *place,
                 wf_handle *handle, struct worker *worker);

/* The same, and writes the result. */
wf_error wf_job_fold_and_write(struct wf_accumulator *acc, struct wf_tree *tree, const struct job *job,
                               const struct place *place, wf_handle *handle, struct worker *worker);

/* Makes the accumulators of the worker's columns elements begin <= i < end of each group of a tile. */
void wf_job_fold_columns(struct worker *worker, const struct job *job, const struct place *place, size_t results,
                         int64_t begin, int64_t end);

/* Writes what acc gives, or the value of groups that have none; or adds acc to an accumulator.  handle: for the message
 * of an error; NULL: none. */
wf_error wf_job_write(const struct job *job, const struct place *place, const struct wf_accumulator *acc,
                      wf_handle *handle);

/* The same of a tile's groups, of which each has that many elements; notes failures. */
void wf_job_write_columns(struct job *job, struct wf_accumulator *acc, struct place *place, int64_t results,
                          int64_t count);

/* Notes that a result failed. */
void wf_job_note_failure(struct job *job, int64_t number);

/* Sums a few floats side by side without an accumulator, which would cost more than the additions.  Returns false if
 * the general path must find the sum. */
bool wf_job_try_small_sum(const struct job *job, const struct place *place);

/* ---- without accumulators ---- */

/* Writes results; false if the general path must find them.  Of a tile: without its NaNs, if need be. */
bool wf_few_write(struct worker *worker, const struct job *job, const struct few *few);

/* Takes NaNs out of a tile's groups, or of copies of rows; false if there are none, or that is no way. */
bool wf_few_take_nans(struct few_without_nans *others, struct worker *worker, const struct job *job, const struct few *few);

/* Writes the results of groups that have NaNs, which have been taken out, if they are NaN; has_failed, which may be NULL: false for
 * these. */
void wf_few_write_nans(const struct few_without_nans *others, const struct job *job, bool *has_failed);

/* Finds the results of columns of floats as bounds of their errors decide, whatever the range: of at most WF_BOUNDED_COLUMNS_MAX
 * of the panel that a view shows, from that one on; has_failed: for each column, whether the general path must find its
 * result.  False if there is no such way. */
#define WF_BOUNDED_COLUMNS_MAX 256
bool wf_few_bound_columns(const struct job *job, const struct few *few, size_t columns, bool *has_failed);

/* Writes the results of rows whose elements are `apart` elements apart (segments': 1), if they are sums or means that the
 * processor tells to be exact, where the last ones were, too.  False, and nothing of use written, if they must be found
 * otherwise. */
bool wf_few_find_exact_rows(struct worker *worker, const struct job *job, const struct few *few, int64_t apart);

/* Writes the results of rows as bounds of their errors decide; has_failed: for each row, whether the general path must
 * find its result. */
void wf_few_bound_rows(const struct job *job, const struct few *few, bool *has_failed);

/* ---- tiles ---- */

/* Reduces a tile, or several that are short segments, at most limit; returns how many. */
int64_t wf_job_reduce_tiles(struct job *job, struct worker *worker, int64_t tile, int64_t limit);

#endif
