/* The results of a table, by column and group: aligned, tab- or comma-separated, or JSON. */
#ifndef REPORT_TALLY_H
#define REPORT_TALLY_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "warpfold.h"

struct wf_tally;

enum tally_form {
    TALLY_BARE, /* only the value: of one op, one column and no groups */
    TALLY_TABS,
    TALLY_COMMAS,
    TALLY_ALIGNED, /* for a terminal */
    TALLY_JSON
};

enum { TALLY_CELL_CAPACITY = 104 /* as wf_value_format is fastest */ };

/* The results of an op for a column, as far as they do not depend on the group. */
struct tally_source {
    const void *results;
    size_t step; /* from one group's result to the next */
    const struct wf_tally_column *column; /* which has the values of each group counted */
    int64_t least_count;  /* that give a result */
    wf_type type;
    bool is_scaled, is_index, hex;
};

/* How many values of each group are in each bin, as wf_tally_count_bins counts them. */
struct tally_bins {
    const double *edges;
    int64_t edge_count;
    const int64_t *counts; /* of NaN -1 if they were omitted */
    int64_t *shown;        /* room for as many: which of them are printed, in order */
};

struct tally_report {
    struct wf_tally *tally;
    const int32_t *order; /* of the groups; NULL: in which they appeared */
    void **results;       /* of column c, op i at c * op_count + i: one of each group */
    const size_t *steps;  /* from one to the next, of each of these; NULL: 1 */
    struct tally_source *sources; /* room for as many, for put_tally: once it prints, no memory can be lacking */
    enum tally_form form;
    bool hex;
    const struct tally_bins *bins; /* of put_tally_bins */
    bool has_failed; /* there was no memory for some of it */
    bool is_one; /* one column, one op, no groups: JSON is as of a reduction that is not of a table */
};

/* A line for each group, or, without groups, for each column; the first line has names.  A result that does not exist is
 * empty, in JSON null.  false: there was no memory, and not all is there. */
bool put_tally(FILE *stream, struct tally_report *report);

/* The results of rows, by op: a line for each, under the ops' names where these are several or the form is CSV.  The
 * report's results are one of each row, for each op; of extrema's indices the columns are named. */
bool put_tally_rows(FILE *stream, struct tally_report *report, int64_t count);

/* A line for each bin of each group; those of what is outside of all bins, and of NaN, where there are some. */
bool put_tally_bins(FILE *stream, struct tally_report *report);

#endif
