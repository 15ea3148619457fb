/* The ladder's table as JSON. */
#include <math.h>
#include <string.h>

#include "json.h"
#include "ladder_table.h"

enum { DIGITS = 17 }; /* of a number, which then reads back to the same bits */

static void put_result(struct json *json, const struct ladder_result *result, wf_op op) {
    char text[64];
    ladder_result_format(result, op, text, sizeof text);
    if (!strcmp(text, "-"))
        json_null(json);
    else
        json_decimal(json, text);
}

/* ---- the table ----------------------------------------------------------------------------------- */

static void put_head(struct json *json, const struct ladder_table *table) {
    json_key_unsigned(json, "n", table->n);
    json_key_text(json, "op", wf_op_name(table->op));
    json_key_text(json, "type", wf_type_name(table->type));
    json_key_unsigned(json, "block", table->block);
    json_key_digits(json, "grid", table->grid ? table->grid : NAN, DIGITS);
    json_key_text(json, "device", table->device ? table->device : "simt");
    json_key_unsigned(json, "checked_n", table->checked_n);
}

static void put_time(struct json *json, const struct ladder_table *table, double microseconds) {
    json_key_digits(json, "microseconds", microseconds, DIGITS);
    json_key_digits(json, "gbps", ladder_table_gbps(table, microseconds), DIGITS);
}

static void put_gpu(struct json *json, const struct ladder_table *table) {
    json_key_text(json, "gpu", table->gpu);
    json_key_unsigned(json, "counted_n", table->counted_n);
    json_key_digits(json, "ceiling_microseconds", table->ceiling_microseconds, DIGITS);
    json_key_digits(json, "ceiling_gbps", ladder_table_gbps(table, table->ceiling_microseconds), DIGITS);
}

static void put_sequential(struct json *json, const struct ladder_table *table) {
    json_key_begin(json, "sequential", '{');
    json_key(json, "result");
    put_result(json, &table->sequential, table->op);
    json_key_digits(json, "ulp", table->sequential_ulp, DIGITS);
    if (table->device) put_time(json, table, table->sequential_microseconds);
    json_end(json, '}');
}

static void put_rung_name(struct json *json, const struct ladder_rung *rung) {
    json_key(json, "rung");
    json_format(json, "%02d", rung->number);
    json_key_text(json, "name", rung->id + 3);
}

/* null: the device cannot run it. */
static void put_verified(struct json *json, const struct ladder_table *table, const struct ladder_row *row) {
    json_key(json, "verified");
    if (row->is_skipped)
        json_null(json);
    else
        json_bool(json, row->verified);
    json_key(json, "result");
    if (row->verified)
        put_result(json, &ladder_row_outcome(table, row)->result, table->op);
    else
        json_null(json);
}

static void put_times(struct json *json, const struct ladder_table *table, size_t index) {
    double microseconds = table->rows[index].measure.microseconds;
    put_time(json, table, microseconds);
    json_key_digits(json, "share", table->ceiling_microseconds / microseconds, DIGITS);
    json_key_digits(json, "gain", ladder_table_gain(table, index), DIGITS);
    json_key_digits(json, "gain_in_all", ladder_table_gain_in_all(table, index), DIGITS);
}

static void put_counts(struct json *json, const struct ladder_outcome *outcome) {
    const simt_report *report = outcome->launch_count ? outcome->reports[0] : NULL;
    for (size_t i = 0; report && i < simt_report_counter_count(report); i++) {
        const char *name = simt_report_counter_name(report, i);
        json_key_digits(json, name, ladder_outcome_count(outcome, name, NAN), DIGITS);
    }
}

static void put_row(struct json *json, const struct ladder_table *table, size_t index) {
    const struct ladder_row *row = &table->rows[index];
    const struct ladder_outcome *outcome = ladder_row_outcome(table, row);
    json_begin(json, '{');
    put_rung_name(json, &row->rung);
    put_verified(json, table, row);
    json_key_digits(json, "ulp", row->ulp, DIGITS);
    if (!row->is_skipped) {
        json_key_unsigned(json, "grid", outcome->plan.grid);
        json_key_unsigned(json, "portion", outcome->plan.portion);
        json_key_unsigned(json, "launches", outcome->launch_count);
    }
    if (table->device) put_times(json, table, index);
    if (row->outcome.launch_count) json_key_unsigned(json, "races", row->races);
    put_counts(json, &row->outcome);
    json_end(json, '}');
}

void put_ladder_json(FILE *stream, const struct ladder_table *table) {
    struct json json = json_to(stream);
    json_begin(&json, '{');
    put_head(&json, table);
    if (table->device) put_gpu(&json, table);
    put_sequential(&json, table);
    json_key_begin(&json, "rungs", '[');
    for (size_t i = 0; i < table->row_count; i++) put_row(&json, table, i);
    json_end(&json, ']');
    json_end(&json, '}');
    fputc('\n', stream);
}

static void put_partials_row(struct json *json, const struct ladder_table *table,
                             const struct ladder_row *row) {
    const struct ladder_outcome *outcome = ladder_row_outcome(table, row);
    json_begin(json, '{');
    put_rung_name(json, &row->rung);
    put_verified(json, table, row);
    json_key_unsigned(json, "portion", outcome->plan.portion);
    json_key_begin(json, "partials", '[');
    for (uint64_t i = 0; i < outcome->partial_count; i++) {
        struct ladder_result partial = ladder_partial(table, i);
        put_result(json, &partial, table->op);
    }
    json_end(json, ']');
    json_end(json, '}');
}

void put_partials_json(FILE *stream, const struct ladder_table *table) {
    struct json json = json_to(stream);
    json_begin(&json, '{');
    put_head(&json, table);
    json_key_begin(&json, "rungs", '[');
    put_partials_row(&json, table, &table->rows[0]);
    json_end(&json, ']');
    json_end(&json, '}');
    fputc('\n', stream);
}
