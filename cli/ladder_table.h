/* What the ladder is printed as: a table, JSON, or one rung's partial results. */
#ifndef CLI_LADDER_TABLE_H
#define CLI_LADDER_TABLE_H

#include <stdio.h>

#include "ladder.h"

/* A rung that was run.  Its result is shown only if it is verified. */
struct ladder_row {
    struct ladder_rung rung;
    bool verified;
    double ulp;     /* of random data; NaN: none */
    uint64_t races; /* places in the source that race */
    struct ladder_outcome outcome; /* of exact data */
};

struct ladder_table {
    wf_op op;
    wf_type type;
    uint64_t n, checked_n; /* elements, and those of the run in which faults were looked for */
    uint32_t block, grid;  /* grid 0: each rung's own */
    struct ladder_result sequential; /* the plain loop on the host, of exact data */
    double sequential_ulp;
    struct ladder_row *rows;
    size_t row_count;
};

void put_ladder(FILE *stream, const struct ladder_table *table, bool colour);
void put_ladder_json(FILE *stream, const struct ladder_table *table);

/* Of the only row. */
void put_partials(FILE *stream, const struct ladder_table *table);
void put_partials_json(FILE *stream, const struct ladder_table *table);

/* The value, or of argmax the index; "-" where there is none. */
void ladder_result_format(const struct ladder_result *result, wf_op op, char *text, size_t capacity);

#endif
