#include "ladder_table.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* ---- what is in a table -------------------------------------------------------------------------- */

void ladder_result_format(const struct ladder_result *result, wf_op op, char *text, size_t capacity) {
    if (op != WF_ARGMAX)
        wf_value_format(&result->value, 0, text, capacity);
    else if (result->index < 0)
        snprintf(text, capacity, "-");
    else
        snprintf(text, capacity, "%" PRId64, result->index);
}

const struct ladder_outcome *ladder_row_outcome(const struct ladder_table *table,
                                                const struct ladder_row *row) {
    return table->device ? &row->measure.outcome : &row->outcome;
}

double ladder_table_gbps(const struct ladder_table *table, double microseconds) {
    return (double)(table->n * wf_type_nbytes(table->type)) / microseconds / 1e3;
}

double ladder_table_gain(const struct ladder_table *table, size_t row) {
    const struct ladder_row *rows = table->rows;
    return row ? rows[row - 1].measure.microseconds / rows[row].measure.microseconds : (double)NAN;
}

double ladder_table_gain_in_all(const struct ladder_table *table, size_t row) {
    return table->rows[0].measure.microseconds / table->rows[row].measure.microseconds;
}

struct ladder_result ladder_partial(const struct ladder_table *table, uint64_t i) {
    const struct ladder_outcome *outcome = ladder_row_outcome(table, &table->rows[0]);
    const char *partials = outcome->partials;
    struct ladder_result partial = {.index = outcome->partial_indices ? outcome->partial_indices[i] : -1};
    if (partial.index >= (int64_t)table->n) partial.index = LADDER_NO_INDEX; /* a block that had no element */
    partial.value = ladder_value(partials + i * wf_type_nbytes(table->type), table->type);
    return partial;
}

/* ---- columns ------------------------------------------------------------------------------------- */

/* Counts that tell the rungs apart; a share is printed in percent. */
static const struct column {
    const char *heading, *name;
    double unit;
    int decimals;
} columns[] = {
    {"steps", "steps", 1, 0},
    {"instructions", "instructions", 1, 0},
    {"lanes active", "utilization", 0.01, 1},
    {"divergent", "divergent_branches", 1, 0},
    {"requests", "global_requests", 1, 0},
    {"sectors", "global_sectors", 1, 0},
    {"wavefronts", "shared_wavefronts", 1, 0},
    {"degree", "bank_degree", 1, 2},
    {"barriers", "barriers", 1, 0},
    {"atomics", "atomics", 1, 0},
};

enum { COLUMNS = sizeof columns / sizeof columns[0], NAME_WIDTH = 26 };

static int width_of(const char *heading) {
    return (int)strlen(heading) + 2;
}

static void put_cell(FILE *stream, const char *heading, double number, int decimals) {
    char text[32] = "-";
    if (!isnan(number)) snprintf(text, sizeof text, "%.*f", decimals, number);
    fprintf(stream, "%*s", width_of(heading), text);
}

static void put_coloured(FILE *stream, const char *text, int width, const char *code, bool colour) {
    if (colour)
        fprintf(stream, "\033[%sm%*s\033[0m", code, width, text);
    else
        fprintf(stream, "%*s", width, text);
}

static void put_verdict(FILE *stream, const struct ladder_table *table, const struct ladder_row *row,
                        bool colour) {
    const char *skipped = table->device ? row->rung.target : "not run";
    if (row->is_skipped)
        put_coloured(stream, skipped, width_of("verified"), "33", colour);
    else
        put_coloured(stream, row->verified ? "yes" : "NO", width_of("verified"), row->verified ? "32" : "31",
                     colour);
}

static void put_counts(FILE *stream, const struct ladder_row *row) {
    for (int i = 0; i < COLUMNS; i++) {
        double count = row ? ladder_outcome_count(&row->outcome, columns[i].name, NAN) : (double)NAN;
        put_cell(stream, columns[i].heading, count / columns[i].unit, columns[i].decimals);
    }
    bool is_counted = row && row->outcome.launch_count;
    put_cell(stream, "races", is_counted ? (double)row->races : (double)NAN, 0);
}

/* ---- what a GPU adds ----------------------------------------------------------------------------- */

static const char *const time_headings[] = {"microseconds", "  GB/s", "ceiling", "  gain", "in all"};
enum { TIME_COLUMNS = sizeof time_headings / sizeof time_headings[0] };

static void put_times(FILE *stream, const double times[TIME_COLUMNS]) {
    static const int decimals[TIME_COLUMNS] = {1, 1, 1, 2, 1};
    for (int i = 0; i < TIME_COLUMNS; i++) {
        char text[32] = "-";
        if (!isnan(times[i])) snprintf(text, sizeof text, i == 2 ? "%.*f%%" : "%.*f", decimals[i], times[i]);
        fprintf(stream, "%*s", width_of(time_headings[i]), text);
    }
}

static void put_row_times(FILE *stream, const struct ladder_table *table, size_t row) {
    double microseconds = table->rows[row].measure.microseconds;
    const double times[TIME_COLUMNS] = {
        microseconds,
        ladder_table_gbps(table, microseconds),
        100 * table->ceiling_microseconds / microseconds,
        ladder_table_gain(table, row),
        ladder_table_gain_in_all(table, row),
    };
    put_times(stream, times);
}

static void put_loop_times(FILE *stream, const struct ladder_table *table) {
    double microseconds = table->sequential_microseconds;
    const double times[TIME_COLUMNS] = {microseconds, ladder_table_gbps(table, microseconds), NAN, NAN, NAN};
    put_times(stream, times);
}

/* ---- the table ----------------------------------------------------------------------------------- */

static void put_headings(FILE *stream, const struct ladder_table *table, bool colour) {
    fprintf(stream, "%s%-*s%*s", colour ? "\033[1m" : "", NAME_WIDTH, "rung", width_of("verified"),
            "verified");
    for (int i = 0; table->device && i < TIME_COLUMNS; i++) fprintf(stream, "  %s", time_headings[i]);
    for (int i = 0; i < COLUMNS; i++) fprintf(stream, "  %s", columns[i].heading);
    fprintf(stream, "  races       ulp%s\n", colour ? "\033[0m" : "");
}

static void put_row(FILE *stream, const struct ladder_table *table, size_t index, bool colour) {
    const struct ladder_row *row = &table->rows[index];
    fprintf(stream, "%-*s", NAME_WIDTH, row->rung.id);
    put_verdict(stream, table, row, colour);
    if (table->device) put_row_times(stream, table, index);
    put_counts(stream, row);
    put_cell(stream, "  ulp   ", row->ulp, 0);
    fputc('\n', stream);
}

static void put_sequential(FILE *stream, const struct ladder_table *table) {
    fprintf(stream, "%-*s%*s", NAME_WIDTH, "sequential loop (CPU)", width_of("verified"), "yes");
    if (table->device) put_loop_times(stream, table);
    put_counts(stream, NULL);
    put_cell(stream, "  ulp   ", table->sequential_ulp, 0);
    fputc('\n', stream);
}

static void put_where(FILE *stream, const struct ladder_table *table) {
    if (table->device)
        fprintf(stream, "%s (%s)", table->device, table->gpu);
    else
        fputs("the simulator", stream);
}

static void put_title(FILE *stream, const struct ladder_table *table) {
    fprintf(stream, "%s of %" PRIu64 " %s on ", wf_op_name(table->op), table->n, wf_type_name(table->type));
    put_where(stream, table);
    fprintf(stream, ", blocks of %" PRIu32 " threads", table->block);
    if (table->grid) fprintf(stream, ", %" PRIu32 " blocks", table->grid);
    if (!table->device && table->checked_n < table->n)
        fprintf(stream, "; races checked for %" PRIu64, table->checked_n);
    fputs(".\n", stream);
    if (table->device && !isnan(table->ceiling_microseconds))
        fprintf(stream, "Read ceiling: %.0f GB/s, measured in the same run by a kernel that only reads the array.\n",
                ladder_table_gbps(table, table->ceiling_microseconds));
    if (table->counted_n)
        fprintf(stream, "Columns from steps to races: counted by the simulator for %" PRIu64 " elements.\n",
                table->counted_n);
}

void put_ladder(FILE *stream, const struct ladder_table *table, bool colour) {
    put_title(stream, table);
    put_headings(stream, table, colour);
    put_sequential(stream, table);
    for (size_t i = 0; i < table->row_count; i++) put_row(stream, table, i, colour);
}

void put_partials(FILE *stream, const struct ladder_table *table) {
    char text[64];
    for (uint64_t i = 0; i < ladder_row_outcome(table, &table->rows[0])->partial_count; i++) {
        struct ladder_result partial = ladder_partial(table, i);
        ladder_result_format(&partial, table->op, text, sizeof text);
        fprintf(stream, "%s\n", text);
    }
}
