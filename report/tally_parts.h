/* What the files that print a table's results share. */
#ifndef REPORT_TALLY_PARTS_H
#define REPORT_TALLY_PARTS_H

#include "io/tally.h"
#include "tally.h"

struct json;

enum { CELL_CAPACITY = TALLY_CELL_CAPACITY };

/* ---- cells: tally_cells.c ---- */

struct tally_op_name {
    char text[CELL_CAPACITY + 2];
};

/* As a heading has it: "sum", "q0.99". */
struct tally_op_name tally_op_name(const struct wf_tally *tally, wf_op op);

const void *tally_results(const struct tally_report *report, size_t column, size_t op);
bool tally_is_index(wf_op op);
bool tally_is_value(wf_op op); /* neither a number of values */

/* The result as text, "" where there is none; returns its length. */
size_t tally_format_value(struct tally_report *report, size_t column, size_t op, int64_t group, char text[CELL_CAPACITY]);

/* The text and its tail, which is plain, as one. */
void tally_put_text(FILE *stream, enum tally_form form, const char *text, size_t nbytes, const char *tail);

/* The result in a form, of an index also which row that is. */
void tally_put_value(FILE *stream, struct tally_report *report, enum tally_form form, size_t column, size_t op, int64_t group);

/* All rows, separated as the report's form says. */
void tally_put_separated(FILE *stream, struct tally_report *report);

/* ---- rows of cells: tally_grid.c ---- */

/* What is aligned: rows of cells, of which the first columns are texts; row -1 has the names. */
struct tally_grid {
    size_t columns, text_columns;
    int64_t rows;
    void (*put)(FILE *stream, struct tally_report *report, int64_t row, size_t k);
};

/* All of the report's; the cells are tally_cells.c's. */
struct tally_grid tally_grid_of(const struct tally_report *report);

void tally_put_aligned(FILE *stream, struct tally_report *report, const struct tally_grid *grid);

/* From the first row on, in the report's form. */
void tally_put_grid(FILE *stream, struct tally_report *report, const struct tally_grid *grid, int64_t first);

/* ---- JSON: tally_json.c ---- */

void tally_json_result(struct json *json, struct tally_report *report, size_t column, size_t i, int64_t group);

/* Begins a record with the group's key and the column. */
void tally_json_begin_record(struct json *json, const struct wf_tally *tally, size_t column, int64_t group);

/* A record with all ops' results. */
void tally_json_record(struct json *json, struct tally_report *report, size_t column, int64_t group);

/* The results of all groups and columns, by put. */
void tally_put_json(FILE *stream, struct tally_report *report,
                    void (*put)(struct json *json, struct tally_report *report, size_t column, int64_t group));

/* One result, as report/reduction.c has it. */
void tally_put_one_json(FILE *stream, struct tally_report *report);

#endif
