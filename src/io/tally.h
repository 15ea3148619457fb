/* A tally: a table on its way to the results of several ops for several columns, for each group of rows with equal keys.
 *
 * Rows that come in are kept, as values and as the numbers of their keys, until they take more memory than accumulators
 * of all groups would; then they are added to those.  Where groups are many and have few rows, they are added to pairs of f64,
 * and what is not exact there is kept.  All ways give the same bits.  A tally that is saved consists of
 * accumulators; tallies of one table's parts merge to that of the whole. */
#ifndef WF_IO_TALLY_H
#define WF_IO_TALLY_H

#include "core/ops.h"
#include "io/table.h"

enum { WF_TALLY_OPS_MAX = 32 };

/* In an array of ops: the number of values. */
#define WF_TALLY_COUNT WF_OP_NONE

/* Also in an array of ops: what depends on the order of the values, for which all rows are kept.  From the last on, one
 * for each q of the settings. */
#define WF_TALLY_DISTINCT ((wf_op)(WF_OP_COUNT + 1))
#define WF_TALLY_MEDIAN ((wf_op)(WF_OP_COUNT + 2))
#define WF_TALLY_QUANTILE ((wf_op)(WF_OP_COUNT + 3))

struct wf_tally_settings {
    wf_type type; /* of the values; WF_I64 if they are decimals */
    int32_t decimals;
    wf_nan nan; /* not WF_NAN_ERROR in what is saved: nothing remains of such an error */
    wf_type result_type;
    int64_t ddof;
    size_t op_count;
    wf_op op[WF_TALLY_OPS_MAX];
    const double *q; /* must outlive the tally */
    wf_between between;
};

struct wf_tally_column {
    unsigned char *values;       /* of the rows that are kept */
    int32_t *keys;               /* theirs, -1 where there is no value; NULL: every row has one */
    unsigned char *few;          /* how many values each group has, as long as no group has more than a byte can hold */
    int64_t *count;              /* the same from then on; NULL: they are few */
    wf_accumulator **accumulator; /* one for each carrier */
};

static inline int64_t wf_tally_count_of(const struct wf_tally_column *column, int64_t group) {
    return column->count ? column->count[group] : column->few[group];
}

/* The values of a column that are kept, group by group. */
struct wf_ordered {
    size_t column;
    unsigned char *values; /* NULL: of no column */
    int64_t *offset;       /* of each group's first value, and of the end */
};

/* The values of a column that are kept, where groups of equally many values, a class, are columns of an array, which has as
 * many rows; groups of more, the last class, one after the other. */
enum { WF_CLASS_COUNT = 18 };
struct wf_classes {
    size_t column;
    struct wf_pages pages;
    unsigned char *values;          /* in the pages; NULL: of no column */
    unsigned char *of_group;        /* the class of each group */
    int64_t groups[WF_CLASS_COUNT]; /* of each class */
    int64_t begin[WF_CLASS_COUNT];  /* where its values begin */
};

struct wf_tally {
    struct wf_tally_settings settings;
    /* The ops whose accumulators tell the results of all ops. */
    size_t carrier_count;
    wf_op carrier[WF_TALLY_OPS_MAX];
    size_t column_count, by_count;
    char **name; /* of the columns, and after them of the keys */
    struct wf_tally_column *column;
    struct wf_texts keys; /* of the groups; without columns of keys there is one, of no text */
    int64_t row_count;
    int32_t *row_key; /* of the rows that are kept */
    int64_t kept_count, kept_capacity;
    int64_t counted_groups; /* for which the columns have counts */
    int64_t counted_rows;   /* the first of the rows that are kept, which the counts have */
    bool has_pairs;         /* in the room of each key (tally_pairs.c); the counts have what is in them */
    struct wf_ordered ordered; /* once results were asked for */
    struct wf_classes classes; /* likewise */
    struct wf_pages results; /* once memory was asked for */
    bool has_accumulators;   /* they have all rows but those that are kept */
    struct wf_place *place;
    size_t place_count, place_capacity;
    char **file; /* the names of the files */
    size_t file_count;
};

/* Checks the settings and begins a tally of no rows. */
wf_error wf_tally_begin(wf_handle *handle, struct wf_tally *tally, const struct wf_tally_settings *settings);
void wf_tally_clear(struct wf_tally *tally);

/* Tells the tally its columns; the names are copied. */
wf_error wf_tally_set_columns(wf_handle *handle, struct wf_tally *tally, size_t column_count, size_t by_count,
                              char *const *name);
wf_error wf_tally_add_file(wf_handle *handle, struct wf_tally *tally, const char *name);

/* Adds rows of a file, which follow those added before.  After results were asked for, none can be added. */
wf_error wf_tally_add(wf_handle *handle, struct wf_tally *tally, const struct wf_rows *rows);

/* Adds all rows that the reader has left, on the handle's threads.  The plan's type, decimals and policy are the
 * settings'.  The reader's format must be text. */
wf_error wf_tally_read(wf_handle *handle, struct wf_tally *tally, wf_reader *reader, const struct wf_table_plan *plan);

/* Has the accumulators have all rows. */
wf_error wf_tally_settle(wf_handle *handle, struct wf_tally *tally);

static inline int64_t wf_tally_group_count(const struct wf_tally *tally) {
    return tally->keys.count;
}

/* The type of an op's results; of decimals those are multiples of 10^-decimals, where wf_tally_is_scaled. */
wf_type wf_tally_result_type(const struct wf_tally *tally, wf_op op);
bool wf_tally_is_scaled(const struct wf_tally *tally, wf_op op);

/* The tally's memory for that many times 8 bytes of each group: most likely what found the keys of rows, of which no more come
 * then.  NULL: there is none. */
uint64_t *wf_tally_reserve_results(struct wf_tally *tally, size_t count);

/* The results of op where the tally has them as it is, the first of each `*step` words; NULL: nowhere.  They stay, whatever
 * else is asked for. */
uint64_t *wf_tally_stored_results(const struct wf_tally *tally, wf_op op, size_t *step);

/* Writes the results of op for a column: one of each group, of wf_tally_result_type.  Those that do not exist are 0. */
wf_error wf_tally_results(wf_handle *handle, struct wf_tally *tally, size_t column, wf_op op, void *results);

/* How many values of a column are in each bin, for each group as wf_count_bins does it: histogram->edge_count + 2 counts.
 * Bins of equal width are those of all groups together.  The tally has an op that depends on the order. */
wf_error wf_tally_count_bins(wf_handle *handle, struct wf_tally *tally, size_t column, const wf_histogram *histogram,
                             double *edges, int64_t *counts);

/* Whether op is of those for which rows are kept. */
bool wf_tally_is_of_order(wf_op op);

/* Whether all that is asked for is the number of each group's rows; the only column has no name then. */
bool wf_tally_counts_rows(const struct wf_tally *tally);

/* The values that a group needs for op to have a result. */
int64_t wf_tally_least_count(const struct wf_tally *tally, wf_op op);

/* Whether op has a result for the group. */
bool wf_tally_has_result(const struct wf_tally *tally, size_t column, wf_op op, int64_t group);

/* Where a row is: its file's name; *line, from 1. */
const char *wf_tally_find_row(const struct wf_tally *tally, int64_t row, int64_t *line);

/* The order of the groups by their keys, column by column: numbers by value, before other texts by their bytes.  order has
 * wf_tally_group_count elements. */
wf_error wf_tally_sort(wf_handle *handle, const struct wf_tally *tally, int32_t *order);

/* ---- saved tallies (tally_saved.c): versioned, little-endian, with a checksum */

/* *bytes: the caller's, to be freed.  The tally has settled then. */
wf_error wf_tally_save(wf_handle *handle, struct wf_tally *tally, unsigned char **bytes, size_t *nbytes);

/* Whether these are the first bytes of a saved tally. */
bool wf_tally_is_saved(const void *bytes, size_t nbytes);

/* Makes a tally of saved bytes, which may be anybody's. */
wf_error wf_tally_load(wf_handle *handle, struct wf_tally *tally, const void *bytes, size_t nbytes);

/* Merges from, which changes on the way, into the tally; its rows follow those of the tally.  is_same_file: its first file is
 * the tally's last, of which it has further lines. */
wf_error wf_tally_merge(wf_handle *handle, struct wf_tally *tally, struct wf_tally *from, bool is_same_file);

#endif
