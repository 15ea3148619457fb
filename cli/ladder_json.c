/* The ladder's table as JSON. */
#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "ladder_table.h"

/* ---- words --------------------------------------------------------------------------------------- */

/* Numbers as they are, all else quoted; null where there is nothing. */
static void put_result(FILE *stream, const struct ladder_result *result, wf_op op) {
    char text[64];
    ladder_result_format(result, op, text, sizeof text);
    bool is_number = isdigit((unsigned char)text[strlen(text) - 1]);
    if (!strcmp(text, "-"))
        fputs("null", stream);
    else
        fprintf(stream, is_number ? "%s" : "\"%s\"", text);
}

static void put_number(FILE *stream, double number) {
    if (isfinite(number))
        fprintf(stream, "%.17g", number);
    else
        fputs("null", stream);
}

static void put_named(FILE *stream, const char *name, double number) {
    fprintf(stream, ",\"%s\":", name);
    put_number(stream, number);
}

/* Of a GPU, whose name comes from the driver. */
static void put_text(FILE *stream, const char *text) {
    fputc('"', stream);
    for (; *text; text++)
        if (isprint((unsigned char)*text) && *text != '"' && *text != '\\') fputc(*text, stream);
    fputc('"', stream);
}

/* ---- the table ----------------------------------------------------------------------------------- */

static void put_head(FILE *stream, const struct ladder_table *table) {
    fprintf(stream,
            "{\"n\":%" PRIu64 ",\"op\":\"%s\",\"type\":\"%s\",\"block\":%" PRIu32 ",\"grid\":", table->n,
            wf_op_name(table->op), wf_type_name(table->type), table->block);
    if (table->grid)
        fprintf(stream, "%" PRIu32, table->grid);
    else
        fputs("null", stream);
    fprintf(stream, ",\"device\":\"%s\",\"checked_n\":%" PRIu64, table->device ? table->device : "simt",
            table->checked_n);
}

static void put_gpu(FILE *stream, const struct ladder_table *table) {
    fputs(",\"gpu\":", stream);
    put_text(stream, table->gpu);
    fprintf(stream, ",\"counted_n\":%" PRIu64, table->counted_n);
    put_named(stream, "ceiling_microseconds", table->ceiling_microseconds);
    put_named(stream, "ceiling_gbps", ladder_table_gbps(table, table->ceiling_microseconds));
}

static void put_sequential(FILE *stream, const struct ladder_table *table) {
    fputs(",\"sequential\":{\"result\":", stream);
    put_result(stream, &table->sequential, table->op);
    put_named(stream, "ulp", table->sequential_ulp);
    if (table->device) {
        put_named(stream, "microseconds", table->sequential_microseconds);
        put_named(stream, "gbps", ladder_table_gbps(table, table->sequential_microseconds));
    }
    fputs("}", stream);
}

static void put_name(FILE *stream, const struct ladder_rung *rung) {
    fprintf(stream, "{\"rung\":\"%02d\",\"name\":\"%s\"", rung->number, rung->id + 3);
}

/* null: the device cannot run it. */
static void put_verified(FILE *stream, const struct ladder_table *table, const struct ladder_row *row) {
    fprintf(stream, ",\"verified\":%s,\"result\":",
            row->is_skipped ? "null"
            : row->verified ? "true"
                            : "false");
    if (row->verified)
        put_result(stream, &ladder_row_outcome(table, row)->result, table->op);
    else
        fputs("null", stream);
}

static void put_times(FILE *stream, const struct ladder_table *table, size_t index) {
    double microseconds = table->rows[index].measure.microseconds;
    put_named(stream, "microseconds", microseconds);
    put_named(stream, "gbps", ladder_table_gbps(table, microseconds));
    put_named(stream, "share", table->ceiling_microseconds / microseconds);
    put_named(stream, "gain", ladder_table_gain(table, index));
    put_named(stream, "gain_in_all", ladder_table_gain_in_all(table, index));
}

static void put_counts(FILE *stream, const struct ladder_outcome *outcome) {
    const simt_report *report = outcome->launch_count ? outcome->reports[0] : NULL;
    for (size_t i = 0; report && i < simt_report_count_count(report); i++) {
        const char *name = simt_report_count_name(report, i);
        put_named(stream, name, ladder_outcome_count(outcome, name, NAN));
    }
}

static void put_row(FILE *stream, const struct ladder_table *table, size_t index) {
    const struct ladder_row *row = &table->rows[index];
    const struct ladder_outcome *outcome = ladder_row_outcome(table, row);
    put_name(stream, &row->rung);
    put_verified(stream, table, row);
    put_named(stream, "ulp", row->ulp);
    if (!row->is_skipped)
        fprintf(stream, ",\"grid\":%" PRIu32 ",\"portion\":%" PRIu64 ",\"launches\":%zu", outcome->plan.grid,
                outcome->plan.portion, outcome->launch_count);
    if (table->device) put_times(stream, table, index);
    if (row->outcome.launch_count) fprintf(stream, ",\"races\":%" PRIu64, row->races);
    put_counts(stream, &row->outcome);
    fputc('}', stream);
}

void put_ladder_json(FILE *stream, const struct ladder_table *table) {
    put_head(stream, table);
    if (table->device) put_gpu(stream, table);
    put_sequential(stream, table);
    fputs(",\"rungs\":[", stream);
    for (size_t i = 0; i < table->row_count; i++) {
        if (i) fputc(',', stream);
        put_row(stream, table, i);
    }
    fputs("]}\n", stream);
}

void put_partials_json(FILE *stream, const struct ladder_table *table) {
    const struct ladder_row *row = &table->rows[0];
    const struct ladder_outcome *outcome = ladder_row_outcome(table, row);
    put_head(stream, table);
    fputs(",\"rungs\":[", stream);
    put_name(stream, &row->rung);
    put_verified(stream, table, row);
    fprintf(stream, ",\"portion\":%" PRIu64 ",\"partials\":[", outcome->plan.portion);
    for (uint64_t i = 0; i < outcome->partial_count; i++) {
        struct ladder_result partial = ladder_partial(table, i);
        if (i) fputc(',', stream);
        put_result(stream, &partial, table->op);
    }
    fputs("]}]}\n", stream);
}
