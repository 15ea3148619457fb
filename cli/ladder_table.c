#include "ladder_table.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

/* ---- words --------------------------------------------------------------------------------------- */

void ladder_result_format(const struct ladder_result *result, wf_op op, char *text, size_t capacity) {
    if (op != WF_ARGMAX)
        wf_value_format(&result->value, 0, text, capacity);
    else if (result->index < 0)
        snprintf(text, capacity, "-");
    else
        snprintf(text, capacity, "%" PRId64, result->index);
}

/* Numbers as they are, all else quoted; null where there is nothing. */
static void put_json_result(FILE *stream, const struct ladder_result *result, wf_op op) {
    char text[64];
    ladder_result_format(result, op, text, sizeof text);
    bool is_number = isdigit((unsigned char)text[strlen(text) - 1]);
    if (!strcmp(text, "-"))
        fputs("null", stream);
    else
        fprintf(stream, is_number ? "%s" : "\"%s\"", text);
}

static void put_json_number(FILE *stream, double number) {
    if (isnan(number))
        fputs("null", stream);
    else
        fprintf(stream, "%.17g", number);
}

/* ---- the table ----------------------------------------------------------------------------------- */

/* Counts that tell the rungs apart; a share is printed in percent. */
static const struct column {
    const char *heading, *name;
    double unit;
    int decimals;
} columns[] = {
    {"steps", "steps", 1, 0},
    {"instructions", "instructions", 1, 0},
    {"lanes used", "utilization", 0.01, 1},
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

static void put_headings(FILE *stream, bool colour) {
    fprintf(stream, "%s%-*s%*s", colour ? "\033[1m" : "", NAME_WIDTH, "rung", width_of("verified"),
            "verified");
    for (int i = 0; i < COLUMNS; i++)
        fprintf(stream, "%*s", width_of(columns[i].heading), columns[i].heading);
    fprintf(stream, "  races       ulp%s\n", colour ? "\033[0m" : "");
}

static void put_row(FILE *stream, const struct ladder_row *row, bool colour) {
    fprintf(stream, "%-*s", NAME_WIDTH, row->rung.id);
    put_coloured(stream, row->verified ? "yes" : "NO", width_of("verified"), row->verified ? "32" : "31",
                 colour);
    for (int i = 0; i < COLUMNS; i++) {
        double count = ladder_outcome_count(&row->outcome, columns[i].name, NAN);
        put_cell(stream, columns[i].heading, count / columns[i].unit, columns[i].decimals);
    }
    put_cell(stream, "races", (double)row->races, 0);
    put_cell(stream, "  ulp   ", row->ulp, 0);
    fputc('\n', stream);
}

static void put_sequential(FILE *stream, const struct ladder_table *table) {
    fprintf(stream, "%-*s%*s", NAME_WIDTH, "sequential loop (CPU)", width_of("verified"), "yes");
    for (int i = 0; i < COLUMNS; i++) put_cell(stream, columns[i].heading, NAN, 0);
    put_cell(stream, "races", NAN, 0);
    put_cell(stream, "  ulp   ", table->sequential_ulp, 0);
    fputc('\n', stream);
}

static void put_title(FILE *stream, const struct ladder_table *table) {
    fprintf(stream, "%s of %" PRIu64 " %s on the SIMT machine, blocks of %" PRIu32 " threads",
            wf_op_name(table->op), table->n, wf_type_name(table->type), table->block);
    if (table->grid) fprintf(stream, ", %" PRIu32 " blocks", table->grid);
    if (table->checked_n < table->n) fprintf(stream, "; races looked for among %" PRIu64, table->checked_n);
    fputs(".\n", stream);
}

void put_ladder(FILE *stream, const struct ladder_table *table, bool colour) {
    put_title(stream, table);
    put_headings(stream, colour);
    put_sequential(stream, table);
    for (size_t i = 0; i < table->row_count; i++) put_row(stream, &table->rows[i], colour);
}

/* ---- JSON ---------------------------------------------------------------------------------------- */

static void put_json_head(FILE *stream, const struct ladder_table *table) {
    fprintf(stream,
            "{\"n\":%" PRIu64 ",\"op\":\"%s\",\"type\":\"%s\",\"block\":%" PRIu32 ",\"grid\":", table->n,
            wf_op_name(table->op), wf_type_name(table->type), table->block);
    if (table->grid)
        fprintf(stream, "%" PRIu32, table->grid);
    else
        fputs("null", stream);
    fprintf(stream, ",\"device\":\"simt\",\"checked_n\":%" PRIu64, table->checked_n);
}

static void put_json_verified(FILE *stream, const struct ladder_row *row, wf_op op) {
    fprintf(stream, ",\"verified\":%s,\"result\":", row->verified ? "true" : "false");
    if (row->verified)
        put_json_result(stream, &row->outcome.result, op);
    else
        fputs("null", stream);
}

static void put_json_counts(FILE *stream, const struct ladder_outcome *outcome) {
    const simt_report *report = outcome->launch_count ? outcome->reports[0] : NULL;
    for (size_t i = 0; report && i < simt_report_count_count(report); i++) {
        const char *name = simt_report_count_name(report, i);
        fprintf(stream, ",\"%s\":", name);
        put_json_number(stream, ladder_outcome_count(outcome, name, NAN));
    }
}

static void put_json_name(FILE *stream, const struct ladder_rung *rung) {
    fprintf(stream, "{\"rung\":\"%02d\",\"name\":\"%s\"", rung->number, rung->id + 3);
}

static void put_json_row(FILE *stream, const struct ladder_row *row, wf_op op) {
    put_json_name(stream, &row->rung);
    put_json_verified(stream, row, op);
    fputs(",\"ulp\":", stream);
    put_json_number(stream, row->ulp);
    fprintf(stream, ",\"grid\":%" PRIu32 ",\"portion\":%" PRIu64 ",\"launches\":%zu,\"races\":%" PRIu64,
            row->outcome.plan.grid, row->outcome.plan.portion, row->outcome.launch_count, row->races);
    put_json_counts(stream, &row->outcome);
    fputc('}', stream);
}

void put_ladder_json(FILE *stream, const struct ladder_table *table) {
    put_json_head(stream, table);
    fputs(",\"sequential\":{\"result\":", stream);
    put_json_result(stream, &table->sequential, table->op);
    fputs(",\"ulp\":", stream);
    put_json_number(stream, table->sequential_ulp);
    fputs("},\"rungs\":[", stream);
    for (size_t i = 0; i < table->row_count; i++) {
        if (i) fputc(',', stream);
        put_json_row(stream, &table->rows[i], table->op);
    }
    fputs("]}\n", stream);
}

/* ---- partials ------------------------------------------------------------------------------------ */

static struct ladder_result partial_at(const struct ladder_table *table, uint64_t i) {
    const struct ladder_outcome *outcome = &table->rows[0].outcome;
    const char *partials = outcome->partials;
    struct ladder_result partial = {.index = outcome->partial_indices ? outcome->partial_indices[i] : -1};
    if (partial.index >= (int64_t)table->n) partial.index = LADDER_NO_INDEX; /* a block that had no element */
    partial.value = ladder_value(partials + i * wf_type_nbytes(table->type), table->type);
    return partial;
}

void put_partials(FILE *stream, const struct ladder_table *table) {
    char text[64];
    for (uint64_t i = 0; i < table->rows[0].outcome.partial_count; i++) {
        struct ladder_result partial = partial_at(table, i);
        ladder_result_format(&partial, table->op, text, sizeof text);
        fprintf(stream, "%s\n", text);
    }
}

void put_partials_json(FILE *stream, const struct ladder_table *table) {
    put_json_head(stream, table);
    fputs(",\"rungs\":[", stream);
    put_json_name(stream, &table->rows[0].rung);
    put_json_verified(stream, &table->rows[0], table->op);
    fprintf(stream, ",\"portion\":%" PRIu64 ",\"partials\":[", table->rows[0].outcome.plan.portion);
    for (uint64_t i = 0; i < table->rows[0].outcome.partial_count; i++) {
        struct ladder_result partial = partial_at(table, i);
        if (i) fputc(',', stream);
        put_json_result(stream, &partial, table->op);
    }
    fputs("]}]}\n", stream);
}
