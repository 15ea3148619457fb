/* The results of a table as JSON. */
#include <string.h>

#include "json.h"
#include "tally_parts.h"
#include "value_at.h"

void tally_json_result(struct json *json, struct tally_report *report, size_t column, size_t i, int64_t group) {
    char text[CELL_CAPACITY];
    const struct wf_tally *tally = report->tally;
    const wf_op op = tally->settings.op[i];
    const bool has = wf_tally_has_result(tally, column, op, group);
    tally_format_value(report, column, i, group, text);
    if (!has) {
        json_null(json);
    } else if (tally_is_index(op) && !report->is_one) {
        int64_t line;
        const int64_t row = value_at(tally_results(report, column, i), WF_U64, group).v.i;
        const char *file = wf_tally_find_row(tally, row, &line);
        json_begin(json, '{');
        json_key_unsigned(json, "index", (uint64_t)row);
        json_key_text(json, "file", file);
        json_key_unsigned(json, "line", (uint64_t)line);
        json_end(json, '}');
    } else {
        (report->hex && tally_is_value(op) ? json_text : json_decimal)(json, text);
    }
}

/* Begins a record with the group's key and the column. */
void tally_json_begin_record(struct json *json, const struct wf_tally *tally, size_t column, int64_t group) {
    size_t nbytes, length;
    const unsigned char *key = wf_texts_get(&tally->keys, (int32_t)group, &nbytes);
    json_begin(json, '{');
    if (tally->by_count) json_key_begin(json, "key", '{');
    for (size_t b = 0; b < tally->by_count; b++) {
        const unsigned char *part = wf_key_part(key, nbytes, tally->by_count, b, &length);
        json_key(json, tally->name[tally->column_count + b]);
        json_bytes(json, (const char *)part, length);
    }
    if (tally->by_count) json_end(json, '}');
    if (!wf_tally_counts_rows(tally)) json_key_text(json, "column", tally->name[column]);
}

void tally_json_record(struct json *json, struct tally_report *report, size_t column, int64_t group) {
    const struct wf_tally *tally = report->tally;
    tally_json_begin_record(json, tally, column, group);
    for (size_t i = 0; i < tally->settings.op_count; i++) {
        json_key(json, tally_op_name(tally, tally->settings.op[i]).text);
        tally_json_result(json, report, column, i, group);
    }
    json_end(json, '}');
}

/* The results of all groups and columns, by put. */
void tally_put_json(FILE *stream, struct tally_report *report,
                     void (*put)(struct json *json, struct tally_report *report, size_t column, int64_t group)) {
    const struct wf_tally *tally = report->tally;
    struct json json = json_to(stream);
    json_begin(&json, '{');
    json_key_text(&json, "type", wf_type_name(tally->settings.type));
    json_key(&json, "rows");
    json_signed(&json, tally->row_count);
    json_key_begin(&json, "results", '[');
    for (int64_t g = 0; g < wf_tally_group_count(tally); g++)
        for (size_t c = 0; c < tally->column_count; c++) put(&json, report, c, report->order ? report->order[g] : g);
    json_end(&json, ']');
    json_end(&json, '}');
    fputc('\n', stream);
}

/* As report/reduction.c has it. */
void tally_put_one_json(FILE *stream, struct tally_report *report) {
    const struct wf_tally *tally = report->tally;
    const wf_op op = tally->settings.op[0];
    struct json json = json_to(stream);
    json_begin(&json, '{');
    json_key_text(&json, "op", tally_op_name(tally, op).text);
    json_key_text(&json, "type", wf_type_name(tally->settings.type));
    json_key(&json, "count");
    json_signed(&json, wf_tally_count_of(&tally->column[0], 0));
    json_key(&json, "result");
    tally_json_result(&json, report, 0, 0, 0);
    json_key_text(&json, "result_type", wf_type_name(wf_tally_result_type(tally, op)));
    json_end(&json, '}');
    fputc('\n', stream);
}
