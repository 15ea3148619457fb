/* How many values of a table are in each bin. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "json.h"
#include "tally_parts.h"

/* A bin, or what is below or above all bins, or NaN. */
struct bin {
    int64_t group, count;
    double from, to;
    bool is_shown;
};

static struct bin bin_at(const struct tally_bins *bins, int64_t i) {
    const int64_t last = bins->edge_count, k = i % (last + 2);
    struct bin bin = {.group = i / (last + 2), .count = bins->counts[i]};
    bin.from = k > last ? NAN : k > 0 ? bins->edges[k - 1] : -INFINITY;
    bin.to = k > last ? NAN : k < last ? bins->edges[k] : INFINITY;
    bin.is_shown = (k > 0 && k < last) || bin.count > 0;
    return bin;
}

static size_t format_edge(const struct tally_report *report, double edge, char text[CELL_CAPACITY]) {
    const wf_value value = {.type = WF_F64, .v.f64 = edge};
    return wf_value_format(&value, report->hex, text, CELL_CAPACITY);
}

static void put_bin_cell(FILE *stream, struct tally_report *report, int64_t row, size_t k) {
    static const char *const names[] = {"from", "to", "count"};
    const struct wf_tally *tally = report->tally;
    char text[CELL_CAPACITY];
    const size_t keys = tally->by_count;
    if (row < 0) {
        const char *name = k < keys ? tally->name[tally->column_count + k] : names[k - keys];
        tally_put_text(stream, report->form, name, strlen(name), "");
        return;
    }
    const struct bin bin = bin_at(report->bins, report->bins->shown[row]);
    if (k < keys) {
        size_t nbytes, length;
        const unsigned char *key = wf_texts_get(&tally->keys, (int32_t)bin.group, &nbytes);
        const char *part = (const char *)wf_key_part(key, nbytes, keys, k, &length);
        tally_put_text(stream, report->form, part, length, "");
    } else if (k == keys + 2) {
        fprintf(stream, "%" PRId64, bin.count);
    } else {
        fwrite(text, 1, format_edge(report, k == keys ? bin.from : bin.to, text), stream);
    }
}

static void json_edge(struct json *json, const struct tally_report *report, const char *name, double edge) {
    char text[CELL_CAPACITY];
    format_edge(report, edge, text);
    json_key(json, name);
    (report->hex ? json_text : json_decimal)(json, text);
}

static void json_bins(struct json *json, struct tally_report *report, size_t column, int64_t group) {
    const struct tally_bins *bins = report->bins;
    const int64_t last = bins->edge_count, begin = group * (last + 2);
    tally_json_begin_record(json, report->tally, column, group);
    json_key_begin(json, "bins", '[');
    for (int64_t k = 1; k < last; k++) {
        const struct bin bin = bin_at(bins, begin + k);
        json_begin(json, '{');
        json_edge(json, report, "from", bin.from);
        json_edge(json, report, "to", bin.to);
        json_key(json, "count");
        json_signed(json, bin.count);
        json_end(json, '}');
    }
    json_end(json, ']');
    json_key(json, "below");
    json_signed(json, bins->counts[begin]);
    json_key(json, "above");
    json_signed(json, bins->counts[begin + last]);
    if (bins->counts[begin + last + 1] >= 0) {
        json_key(json, "nan");
        json_signed(json, bins->counts[begin + last + 1]);
    }
    json_end(json, '}');
}

bool put_tally_bins(FILE *stream, struct tally_report *report) {
    const struct wf_tally *tally = report->tally;
    const int64_t of_group = report->bins->edge_count + 2;
    struct tally_grid grid = {.columns = tally->by_count + 3, .text_columns = tally->by_count, .put = put_bin_cell};
    for (int64_t g = 0; g < wf_tally_group_count(tally); g++)
        for (int64_t k = 0; k < of_group; k++) {
            const int64_t i = (report->order ? report->order[g] : g) * of_group + k;
            report->bins->shown[grid.rows] = i;
            grid.rows += bin_at(report->bins, i).is_shown;
        }
    if (report->form == TALLY_JSON) tally_put_json(stream, report, json_bins);
    else tally_put_grid(stream, report, &grid, -1);
    return !report->has_failed;
}
