#include "reduction.h"

#include "json.h"
#include "value_at.h"

#include <string.h>

enum { VALUE_CAPACITY = 64 };

/* A value of no type is one that does not exist. */
static void json_value(struct json *json, const wf_value *value, bool hex) {
    char text[VALUE_CAPACITY];
    if (value->type == WF_TYPE_DEFAULT) {
        json_null(json);
        return;
    }
    wf_value_format(value, hex, text, sizeof text);
    (hex ? json_text : json_decimal)(json, text);
}

static void put_value(FILE *stream, const wf_value *value, bool hex) {
    char text[VALUE_CAPACITY] = "-";
    if (value->type != WF_TYPE_DEFAULT) wf_value_format(value, hex, text, sizeof text);
    fprintf(stream, "%s\n", text);
}

/* ---- one value ----------------------------------------------------------------------------------- */

static void put_reduction_json(struct json *json, const wf_accumulator *accumulator, const wf_value *result,
                               bool hex) {
    json_begin(json, '{');
    json_key_text(json, "op", wf_op_name(wf_accumulator_op(accumulator)));
    json_key_text(json, "type", wf_type_name(wf_accumulator_type(accumulator)));
    json_key(json, "count");
    json_signed(json, wf_accumulator_count(accumulator));
    json_key(json, "result");
    json_value(json, result, hex);
    json_key_text(json, "result_type", wf_type_name(result->type));
    json_end(json, '}');
    fputc('\n', json->stream);
}

void put_reduction(FILE *stream, const wf_accumulator *accumulator, const wf_value *result,
                   struct reduction_format format) {
    struct json json = json_to(stream);
    if (format.json)
        put_reduction_json(&json, accumulator, result, format.hex);
    else
        put_value(stream, result, format.hex);
}

/* ---- many values --------------------------------------------------------------------------------- */

static void put_results_json(struct json *json, wf_op op, wf_type type, const struct result_array *results, bool hex) {
    json_begin(json, '{');
    json_key_text(json, "op", wf_op_name(op));
    json_key_text(json, "type", wf_type_name(type));
    json_key(json, "shape");
    json_begin(json, '[');
    for (int32_t d = 0; d < results->ndim; d++) json_signed(json, results->shape[d]);
    json_end(json, ']');
    json_key(json, "results");
    json_begin(json, '[');
    for (int64_t i = 0; i < results->count; i++) {
        wf_value value = value_at(results->data, results->type, i);
        json_value(json, &value, hex);
    }
    json_end(json, ']');
    json_key_text(json, "result_type", wf_type_name(results->type));
    json_end(json, '}');
    fputc('\n', json->stream);
}

static void put_rows(FILE *stream, const struct result_array *results, bool hex) {
    int64_t length = results->ndim ? results->shape[results->ndim - 1] : 1;
    char text[VALUE_CAPACITY];
    for (int64_t i = 0; i < results->count; i++) {
        wf_value value = value_at(results->data, results->type, i);
        wf_value_format(&value, hex, text, sizeof text);
        fprintf(stream, "%s%c", text, (i + 1) % length ? ' ' : '\n');
    }
}

void put_results(FILE *stream, wf_op op, wf_type type, const struct result_array *results,
                 struct reduction_format format) {
    struct json json = json_to(stream);
    if (format.json)
        put_results_json(&json, op, type, results, format.hex);
    else
        put_rows(stream, results, format.hex);
}

/* ---- statistics ---------------------------------------------------------------------------------- */

struct row {
    const char *name;
    const wf_value *value;
    bool is_tally; /* how many: decimal, whatever the values are written in */
};

static void put_rows_json(struct json *json, const wf_accumulator *accumulator, const struct row *rows,
                          size_t count, bool hex) {
    json_begin(json, '{');
    json_key_text(json, "op", wf_op_name(WF_STATS));
    json_key_text(json, "type", wf_type_name(wf_accumulator_type(accumulator)));
    for (size_t i = 0; i < count; i++) {
        json_key(json, rows[i].name);
        json_value(json, rows[i].value, hex && !rows[i].is_tally);
    }
    json_end(json, '}');
    fputc('\n', json->stream);
}

void put_statistics(FILE *stream, const wf_accumulator *accumulator, const wf_stats *stats,
                    struct reduction_format format) {
    const wf_value count = {.type = WF_U64, .v.u = stats->count};
    const wf_value nans = {.type = WF_U64, .v.u = stats->nans};
    const struct row rows[] = {
        {"count", &count, true},
        {wf_op_name(WF_SUM), &stats->sum, false},
        {wf_op_name(WF_MEAN), &stats->mean, false},
        {wf_op_name(WF_VAR), &stats->var, false},
        {wf_op_name(WF_STD), &stats->std, false},
        {wf_op_name(WF_MIN), &stats->min, false},
        {wf_op_name(WF_MAX), &stats->max, false},
        {wf_op_name(WF_ARGMIN), &stats->argmin, false},
        {wf_op_name(WF_ARGMAX), &stats->argmax, false},
        {wf_op_name(WF_NONZERO), &stats->nonzero, false},
        {"nan", &nans, true},
        {wf_op_name(WF_NORM1), &stats->norm1, false},
        {wf_op_name(WF_NORM2), &stats->norm2, false},
        {wf_op_name(WF_NORMINF), &stats->norminf, false},
    };
    enum { ROW_COUNT = sizeof rows / sizeof rows[0] };
    struct json json = json_to(stream);
    if (format.json) put_rows_json(&json, accumulator, rows, ROW_COUNT, format.hex);
    for (size_t i = 0; !format.json && i < ROW_COUNT; i++) {
        fprintf(stream, "%-7s  ", rows[i].name);
        put_value(stream, rows[i].value, format.hex && !rows[i].is_tally);
    }
}
