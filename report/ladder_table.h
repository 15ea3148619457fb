/* The ladder's output: a table, JSON, or the partial results of one rung. */
#ifndef REPORT_LADDER_TABLE_H
#define REPORT_LADDER_TABLE_H

#include <stdio.h>

#include "ladder/ladder.h"

/* The outcome of a rung on a GPU. */
struct ladder_measure {
    struct ladder_outcome outcome; /* of exact data; without reports */
    double microseconds;           /* of one reduction, the median; NaN: not timed */
};

/* A rung that was run.  Its result is shown only if it is verified. */
struct ladder_row {
    struct ladder_rung rung;
    bool is_skipped; /* the device cannot run it */
    bool verified;
    double ulp;                    /* of random data; NaN: none */
    uint64_t races;                /* places in the source that race */
    struct ladder_outcome outcome; /* of exact data on the simulator */
    struct ladder_measure measure; /* on a GPU */
};

struct ladder_table {
    wf_op op;
    wf_type type;
    const char *device, *gpu;        /* "cuda:0" and what it is; NULL: the simulator */
    uint64_t n, checked_n;           /* elements, and those of the run in which faults were looked for */
    uint64_t counted_n;              /* on a GPU: those of the run on the simulator; 0: there was none */
    uint32_t block, grid;            /* grid 0: each rung's own */
    double ceiling_microseconds;     /* to read as many bytes; NaN: not timed */
    struct ladder_result sequential; /* the plain loop on the host, of exact data */
    double sequential_ulp, sequential_microseconds;
    struct ladder_row *rows;
    size_t row_count;
    char *earlier; /* the JSON of the sizes before, for the page; NULL: none */
};

/* The outcome on the table's device. */
const struct ladder_outcome *ladder_row_outcome(const struct ladder_table *table,
                                                const struct ladder_row *row);

/* 10^9 bytes of the array in a second. */
double ladder_table_gbps(const struct ladder_table *table, double microseconds);

/* How many times as fast a row is as the one before, and as the first; NaN where one of them was not timed.
 */
double ladder_table_gain(const struct ladder_table *table, size_t row);
double ladder_table_gain_in_all(const struct ladder_table *table, size_t row);

void put_ladder(FILE *stream, const struct ladder_table *table, bool colour);
void put_ladder_json(FILE *stream, const struct ladder_table *table);

/* The only row's partial result number i. */
struct ladder_result ladder_partial(const struct ladder_table *table, uint64_t i);

/* Prints the partial results of the only row. */
void put_partials(FILE *stream, const struct ladder_table *table);
void put_partials_json(FILE *stream, const struct ladder_table *table);

/* The value, or of argmax the index; "-" where there is none. */
void ladder_result_format(const struct ladder_result *result, wf_op op, char *text, size_t capacity);

#endif
