/* Tables: several columns of a text, and the texts of those that group its rows.
 *
 * A table is read through a wf_reader, which opens the files one after the other and was opened without a column.  A
 * column is the field of that name in each file's header, wherever it is; or, by its number, that field of
 * each line.  What names what is decided in the first file that has a line. */
#ifndef WF_IO_TABLE_H
#define WF_IO_TABLE_H

#include "core/texts.h"
#include "io/table_places.h"
#include "io/text_fields.h"
#include "io/text_range.h"

/* What is read. */
struct wf_table_plan {
    /* Names, numbers from 1, or several of them between commas: '"a,b",c'.  No columns: all that are not grouped by and
     * whose first value is a number. */
    const char *const *columns, *const *by;
    size_t column_count, by_count;
    /* Rows are to be counted, whatever they have: no column is read for values.  The one column there is has no name, and
     * zeros.  For plans with keys and without columns. */
    bool counts_rows;
    wf_type type; /* of the values; WF_I64 if they are decimals */
    int32_t decimals; /* WF_NO_DECIMALS; otherwise values are held as multiples of 10^-decimals */
    wf_nan nan;
    /* Of the last file alone rows are read, and of that only the range (NULL: all); of those before it the first line, for the
     * columns' sake. */
    bool reads_last;
    const struct wf_text_range *range;
};

enum { WF_NO_DECIMALS = -1, WF_DECIMALS_MAX = 18 };

/* A place in the files: the row of that number, and those after it up to the next place, one a line. */
struct wf_place {
    int64_t row, file, line;
};

/* The rows of a chunk, to whose bytes they refer. */
struct wf_rows {
    int64_t count;
    int64_t capacity;        /* rows for which there is memory */
    unsigned char *memory;   /* all of it */
    size_t memory_nbytes;
    unsigned char **values;  /* of each column: elements */
    unsigned char **missing; /* of each column: 1 where there is none */
    bool *has_missing;       /* of each column */
    struct wf_field *field;  /* of the current line: those that are read */
    struct wf_specials specials;
    struct wf_hashed_text *key; /* their bytes are the chunk's, or in key_bytes; NULL: rows are not grouped */
    unsigned char *key_bytes;
    size_t key_nbytes;
    struct wf_place *place; /* rows are counted from the chunk's first */
    int64_t place_count;
};

struct wf_table {
    wf_reader *reader;
    struct wf_table_plan plan;
    uint64_t seed;     /* of the keys' hashes */
    wf_places_function *find_places;
    bool has_header;
    bool is_resolved;  /* the columns are known */
    bool skips_rows;   /* those without a value of the only column, as those without a key, are none */
    /* The columns of values, and after them those of keys. */
    size_t column_count, by_count;
    char **name;
    bool *is_named; /* otherwise it is the field of this number in every file */
    int64_t *number;
    /* The fields of the open file that are read, in rising order, and which of these each column is. */
    size_t field_count;
    int64_t *field;
    size_t *field_of;
    int64_t file; /* its number, counting those that had lines or not */
};

/* Begins to read the table in what reader has open.  The reader and the plan's texts must outlive the table. */
wf_error wf_table_open(wf_handle *handle, struct wf_table *table, wf_reader *reader, const struct wf_table_plan *plan);
void wf_table_close(struct wf_table *table);

/* Reads the first line of the reader's open file, and finds the columns in it. */
wf_error wf_table_begin_file(wf_handle *handle, struct wf_table *table);

/* Takes the next whole lines of the open file; chunk->is_end: there are none. */
wf_error wf_table_take(wf_handle *handle, struct wf_table *table, struct wf_chunk *chunk);

/* Memory for the rows of a table's chunks; cleared, it has none. */
wf_error wf_rows_reserve(wf_handle *handle, struct wf_rows *rows, const struct wf_table *table,
                         const struct wf_chunk *chunk);
void wf_rows_clear(struct wf_rows *rows);

/* Reads the rows of a chunk.  Several threads may do this at once, each with its own chunk and rows.  After an error the
 * rows are those before it. */
wf_error wf_table_read(wf_handle *handle, const struct wf_table *table, struct wf_chunk *chunk, struct wf_rows *rows);

/* In a key of several columns, the length of each precedes it, in 4 bytes, the lowest first.  This is column `by` of a
 * key; *length: its own. */
const unsigned char *wf_key_part(const unsigned char *key, size_t nbytes, size_t by_count, size_t by, size_t *length);

/* ---- the columns (table_columns.c) */

/* The fields of a line, as texts. */
struct wf_names {
    char **name;
    int64_t count, capacity;
};

wf_error wf_names_add(wf_handle *handle, struct wf_names *names, const struct wf_field *field);
void wf_names_clear(struct wf_names *names);

/* Finds the table's columns among the names of the open file's first line; is_number tells, of each field, whether it has
 * a number (where the plan has no columns). */
wf_error wf_table_resolve(wf_handle *handle, struct wf_table *table, const struct wf_names *names, const bool *is_number);

/* Whether the plan has names of columns, which only a header can explain. */
bool wf_table_plan_has_names(const struct wf_table_plan *plan);

/* ---- decimals (table_decimal.c) */

/* Converts a decimal number to a multiple of 10^-decimals.  WF_ERROR_FORMAT: it is none.
 * WF_ERROR_UNSUPPORTED: it has more digits after the point, other than zeros.  WF_ERROR_RANGE: it does not fit. */
wf_error wf_decimal_parse(const char *text, size_t length, int32_t decimals, int64_t *value);

/* sum / (count * 10^decimals), rounded once to a float type; count is not 0. */
wf_value wf_decimal_mean(int64_t sum, int64_t count, int32_t decimals, wf_type type);

#endif
