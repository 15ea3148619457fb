/* The results of rows. */
#include <string.h>

#include "json.h"
#include "tally_parts.h"
#include "value_at.h"

static const char *column_at(struct tally_report *report, size_t i, int64_t row) {
    return report->tally->name[value_at(tally_results(report, 0, i), WF_U64, row).v.u];
}

static void put_row_value(FILE *stream, struct tally_report *report, size_t i, int64_t row) {
    char text[CELL_CAPACITY];
    const wf_op op = report->tally->settings.op[i];
    if (tally_is_index(op) && wf_tally_has_result(report->tally, 0, op, row)) {
        const char *name = column_at(report, i, row);
        tally_put_text(stream, report->form, name, strlen(name), "");
        return;
    }
    tally_format_value(report, 0, i, row, text);
    fputs(text, stream);
}

static void put_rows_json(FILE *stream, struct tally_report *report, int64_t count) {
    const struct wf_tally *tally = report->tally;
    struct json json = json_to(stream);
    json_begin(&json, '{');
    json_key_text(&json, "type", wf_type_name(tally->settings.type));
    json_key_begin(&json, "results", '[');
    for (int64_t row = 0; row < count; row++) {
        json_begin(&json, '{');
        for (size_t i = 0; i < tally->settings.op_count; i++) {
            const wf_op op = tally->settings.op[i];
            json_key(&json, tally_op_name(tally, op).text);
            if (tally_is_index(op) && wf_tally_has_result(tally, 0, op, row)) json_text(&json, column_at(report, i, row));
            else tally_json_result(&json, report, 0, i, row);
        }
        json_end(&json, '}');
    }
    json_end(&json, ']');
    json_end(&json, '}');
    fputc('\n', stream);
}

static void put_row_cell(FILE *stream, struct tally_report *report, int64_t row, size_t i) {
    if (row < 0) fputs(tally_op_name(report->tally, report->tally->settings.op[i]).text, stream);
    else put_row_value(stream, report, i, row);
}

bool put_tally_rows(FILE *stream, struct tally_report *report, int64_t count) {
    const size_t ops = report->tally->settings.op_count;
    const struct tally_grid grid = {.columns = ops, .rows = count, .put = put_row_cell};
    const bool has_names = ops > 1 || report->form == TALLY_COMMAS;
    if (report->form == TALLY_JSON) put_rows_json(stream, report, count);
    else tally_put_grid(stream, report, &grid, has_names || report->form == TALLY_ALIGNED ? -1 : 0);
    return !report->has_failed;
}
