#include "order.h"

#include <inttypes.h>
#include <math.h>

#include "json.h"

enum { VALUE_CAPACITY = 64 };

struct text {
    char text[VALUE_CAPACITY];
};

static struct text text_of(const wf_value *value, bool hex) {
    struct text text;
    wf_value_format(value, hex, text.text, sizeof text.text);
    return text;
}

static struct text text_of_double(double number, bool hex) {
    const wf_value value = {.type = WF_F64, .v.f64 = number};
    return text_of(&value, hex);
}

static void json_value(struct json *json, const char *name, struct text text, bool hex) {
    json_key(json, name);
    (hex ? json_text : json_decimal)(json, text.text);
}

static void begin_json(struct json *json, const char *op, wf_type type) {
    json_begin(json, '{');
    json_key_text(json, "op", op);
    json_key_text(json, "type", wf_type_name(type));
}

static void end_json(struct json *json) {
    json_end(json, '}');
    fputc('\n', json->stream);
}

/* ---- quantiles ----------------------------------------------------------------------------------- */

static void put_quantiles_json(FILE *stream, const struct quantile_results *results, bool hex) {
    struct json json = json_to(stream);
    begin_json(&json, results->q ? "quantile" : "median", results->type);
    if (!results->q) json_value(&json, "result", text_of(&results->values[0], hex), hex);
    if (results->q) json_key_begin(&json, "results", '[');
    for (int64_t i = 0; results->q && i < results->count; i++) {
        json_begin(&json, '{');
        json_value(&json, "q", text_of_double(results->q[i], false), false);
        json_value(&json, "value", text_of(&results->values[i], hex), hex);
        json_end(&json, '}');
    }
    if (results->q) json_end(&json, ']');
    json_key_text(&json, "result_type", wf_type_name(results->values[0].type));
    end_json(&json);
}

void put_quantiles(FILE *stream, const struct quantile_results *results, struct reduction_format format) {
    if (format.json) put_quantiles_json(stream, results, format.hex);
    for (int64_t i = 0; !format.json && i < results->count; i++) {
        if (results->count > 1) fprintf(stream, "%s\t", text_of_double(results->q[i], false).text);
        fprintf(stream, "%s\n", text_of(&results->values[i], format.hex).text);
    }
}

/* ---- distinct values ----------------------------------------------------------------------------- */

void put_distinct(FILE *stream, wf_type type, int64_t count, bool as_json) {
    struct json json = json_to(stream);
    if (!as_json) {
        fprintf(stream, "%" PRId64 "\n", count);
        return;
    }
    begin_json(&json, "distinct", type);
    json_key(&json, "result");
    json_signed(&json, count);
    json_key_text(&json, "result_type", wf_type_name(WF_U64));
    end_json(&json);
}

/* ---- histograms ---------------------------------------------------------------------------------- */

/* A row: counts[i], and what it counts. */
struct row {
    struct text from, to;
    int64_t count;
    bool is_bin, is_nan;
};

static int64_t count_rows(const struct histogram_results *results) {
    return results->edge_count + 2;
}

static struct row row_at(const struct histogram_results *results, int64_t i, bool hex) {
    const int64_t last = results->edge_count;
    struct row row = {.count = results->counts[i], .is_bin = i > 0 && i < last, .is_nan = i > last};
    double from = row.is_nan ? NAN : i > 0 ? results->edges[i - 1] : -INFINITY;
    double to = row.is_nan ? NAN : i < last ? results->edges[i] : INFINITY;
    row.from = text_of_double(from, hex);
    row.to = text_of_double(to, hex);
    return row;
}

static bool is_shown(const struct row *row) {
    return row->is_bin || row->count > 0;
}

static void put_histogram_json(FILE *stream, const struct histogram_results *results, bool hex) {
    struct json json = json_to(stream);
    begin_json(&json, "histogram", results->type);
    json_key_begin(&json, "bins", '[');
    for (int64_t i = 1; i < results->edge_count; i++) {
        struct row row = row_at(results, i, hex);
        json_begin(&json, '{');
        json_value(&json, "from", row.from, hex);
        json_value(&json, "to", row.to, hex);
        json_key(&json, "count");
        json_signed(&json, row.count);
        json_end(&json, '}');
    }
    json_end(&json, ']');
    json_key(&json, "below"), json_signed(&json, results->counts[0]);
    json_key(&json, "above"), json_signed(&json, results->counts[results->edge_count]);
    if (results->counts[results->edge_count + 1] >= 0)
        json_key(&json, "nan"), json_signed(&json, results->counts[results->edge_count + 1]);
    end_json(&json);
}

static void put_rows(FILE *stream, const struct histogram_results *results, bool hex) {
    for (int64_t i = 0; i < count_rows(results); i++) {
        struct row row = row_at(results, i, hex);
        if (is_shown(&row)) fprintf(stream, "%s\t%s\t%" PRId64 "\n", row.from.text, row.to.text, row.count);
    }
}

/* Eighths of a character: from none to eight. */
static void put_bar(FILE *stream, int64_t eighths) {
    static const char *const parts[] = {"", "\u258f", "\u258e", "\u258d", "\u258c", "\u258b", "\u258a", "\u2589"};
    for (; eighths >= 8; eighths -= 8) fputs("\u2588", stream);
    fputs(parts[eighths], stream);
}

/* Bars are as long as counts are large; one that is not 0 has an eighth at least. */
static int64_t bar_length(int64_t count, int64_t largest, int width) {
    int64_t eighths = (int64_t)((double)count / (double)largest * 8 * width);
    return count && !eighths ? 1 : eighths;
}

struct widths {
    int label, count, bar;
};

/* "0.25 to 0.5", with both edges in columns of their own. */
static struct widths measure(const struct histogram_results *results, bool hex, int width, int64_t *largest) {
    struct widths widths = {0, 0, 0};
    *largest = 1;
    for (int64_t i = 0; i < count_rows(results); i++) {
        struct row row = row_at(results, i, hex);
        if (!is_shown(&row)) continue;
        int from = snprintf(NULL, 0, "%s", row.from.text), to = snprintf(NULL, 0, "%s", row.to.text);
        int count = snprintf(NULL, 0, "%" PRId64, row.count);
        if (from > widths.label) widths.label = from;
        if (to > widths.label) widths.label = to;
        if (count > widths.count) widths.count = count;
        if (row.count > *largest) *largest = row.count;
    }
    widths.bar = width - 2 * widths.label - widths.count - 5;
    if (widths.bar < 8) widths.bar = 8;
    return widths;
}

static void put_picture(FILE *stream, const struct histogram_results *results, bool hex, int width) {
    int64_t largest;
    struct widths widths = measure(results, hex, width, &largest);
    for (int64_t i = 0; i < count_rows(results); i++) {
        struct row row = row_at(results, i, hex);
        if (!is_shown(&row)) continue;
        fprintf(stream, "%*s  %*s  %*" PRId64 " ", widths.label, row.from.text, widths.label, row.to.text, widths.count, row.count);
        put_bar(stream, bar_length(row.count, largest, widths.bar));
        fputc('\n', stream);
    }
}

void put_histogram(FILE *stream, const struct histogram_results *results, struct reduction_format format, int width) {
    if (format.json)
        put_histogram_json(stream, results, format.hex);
    else if (width)
        put_picture(stream, results, format.hex, width);
    else
        put_rows(stream, results, format.hex);
}
