/* The cells of a table of results: names, keys, values, and the same as separated text. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* fwrite_unlocked */
#endif
#include "tally_parts.h"

#include <string.h>

#include "printed.h"
#include "value_at.h"

/* As a heading has it: "sum", "q0.99". */
struct tally_op_name tally_op_name(const struct wf_tally *tally, wf_op op) {
    struct tally_op_name name = {"q"};
    const char *text = op == WF_TALLY_COUNT ? "count" : op == WF_TALLY_DISTINCT ? "distinct" : op == WF_TALLY_MEDIAN ? "median" : wf_op_name(op);
    if (op >= WF_TALLY_QUANTILE) {
        const wf_value q = {.type = WF_F64, .v.f64 = tally->settings.q[op - WF_TALLY_QUANTILE]};
        wf_value_format(&q, 0, name.text + 1, CELL_CAPACITY);
    } else {
        snprintf(name.text, sizeof name.text, "%s", text);
    }
    return name;
}

const void *tally_results(const struct tally_report *report, size_t column, size_t op) {
    return report->results[column * report->tally->settings.op_count + op];
}

/* Neither a number of values. */
bool tally_is_value(wf_op op) {
    return op != WF_TALLY_COUNT && op != WF_TALLY_DISTINCT;
}

bool tally_is_index(wf_op op) {
    return op == WF_ARGMIN || op == WF_ARGMAX;
}

/* ---- one value ---- */

static inline wf_value value_of(const void *results, wf_type type, int64_t i) {
    wf_value value = {.type = type};
    const bool has_8 = type == WF_F64 || type == WF_I64 || type == WF_U64; /* nearly all results */
    if (!has_8) return value_at(results, type, i);
    memcpy(&value.v.u, (const uint64_t *)results + i, sizeof value.v.u);
    return value;
}

static inline wf_value value_from(const struct tally_source *source, int64_t group) {
    return value_of(source->results, source->type, group * (int64_t)source->step);
}

/* A multiple of 10^-decimals, without zeros at its end: -5 of 2 is -0.05. */
static size_t format_scaled(const wf_value *value, int32_t decimals, char *text, size_t capacity) {
    char digits[CELL_CAPACITY];
    const bool negative = value->type == WF_I64 && value->v.i < 0;
    const uint64_t magnitude = negative ? -(uint64_t)value->v.i : value->v.u;
    const int length = snprintf(digits, sizeof digits, "%0*llu", (int)decimals + 1, (unsigned long long)magnitude);
    int end = length;
    while (end > length - decimals && digits[end - 1] == '0') end--;
    const int whole = length - decimals;
    return (size_t)snprintf(text, capacity, "%s%.*s%s%.*s", negative ? "-" : "", whole, digits, end > whole ? "." : "",
                            end - whole, digits + whole);
}

static struct tally_source source_of(struct tally_report *report, size_t column, size_t i) {
    const struct wf_tally *tally = report->tally;
    const wf_op op = tally->settings.op[i];
    return (struct tally_source){.results = tally_results(report, column, i),
                           .step = report->steps ? report->steps[column * tally->settings.op_count + i] : 1,
                           .column = &tally->column[column],
                           .least_count = wf_tally_least_count(tally, op),
                           .type = wf_tally_result_type(tally, op),
                           .is_scaled = wf_tally_is_scaled(tally, op),
                           .is_index = tally_is_index(op),
                           .hex = report->hex && tally_is_value(op)};
}

/* The value as text, "" where there is none; returns its length. */
static size_t format_of(struct tally_report *report, const struct tally_source *source, int64_t group, char text[CELL_CAPACITY]) {
    text[0] = '\0';
    if (wf_tally_count_of(source->column, group) < source->least_count) return 0;
    const wf_value value = value_from(source, group);
    if (source->is_scaled) return format_scaled(&value, report->tally->settings.decimals, text, CELL_CAPACITY);
    return wf_value_format(&value, source->hex, text, CELL_CAPACITY);
}

size_t tally_format_value(struct tally_report *report, size_t column, size_t i, int64_t group,
                           char text[CELL_CAPACITY]) {
    const struct tally_source source = source_of(report, column, i);
    return format_of(report, &source, group, text);
}

/* ---- texts in a form ---- */

/* Whether some of 8 bytes is less than ' ': of those that are, the borrow sets the highest bit, which they lack. */
static uint64_t controls_of_8(const char *text) {
    uint64_t bytes;
    memcpy(&bytes, text, sizeof bytes);
    return (bytes - UINT64_C(0x2020202020202020)) & ~bytes & UINT64_C(0x8080808080808080);
}

static bool has_control(const char *text, size_t nbytes) {
    uint64_t has = 0;
    size_t i = 0;
    char both[8]; /* halves of a text of at least 4, which may have some bytes twice */
    for (; i + 8 <= nbytes; i += 8) has |= controls_of_8(text + i);
    if (nbytes >= 8) return has | controls_of_8(text + nbytes - 8);
    if (nbytes >= 4) {
        memcpy(both, text, 4);
        memcpy(both + 4, text + nbytes - 4, 4);
        return controls_of_8(both);
    }
    for (; i < nbytes; i++) has |= (unsigned char)text[i] < ' ';
    return has;
}

/* Whether the form has the text unchanged. */
static bool is_plain(enum tally_form form, const char *text, size_t nbytes) {
    if (has_control(text, nbytes)) return false;
    return form == TALLY_TABS || !nbytes ||
           (text[0] != '#' && text[0] != ' ' && text[nbytes - 1] != ' ' && !memchr(text, ',', nbytes) && !memchr(text, '"', nbytes));
}

static void put_quoted(FILE *stream, const char *text, size_t nbytes, const char *tail) {
    fputc('"', stream);
    for (size_t i = 0; i < nbytes; i++) {
        if (text[i] == '"') fputc('"', stream);
        fputc(text[i], stream);
    }
    fprintf(stream, "%s\"", tail);
}

/* A tab or a line break inside a text would be read as the end of it. */
static void put_escaped(FILE *stream, const char *text, size_t nbytes) {
    for (size_t i = 0; i < nbytes; i++) {
        if (text[i] == '\t') fputs("\\t", stream);
        else if (text[i] == '\r') fputs("\\r", stream);
        else if (text[i] == '\n') fputs("\\n", stream);
        else fputc(text[i], stream);
    }
}

/* The text and its tail, which is plain, as one. */
void tally_put_text(FILE *stream, enum tally_form form, const char *text, size_t nbytes, const char *tail) {
    if (form == TALLY_COMMAS && !is_plain(form, text, nbytes)) {
        put_quoted(stream, text, nbytes, tail);
        return;
    }
    if (form == TALLY_COMMAS) fwrite_unlocked(text, 1, nbytes, stream);
    else if (form == TALLY_TABS) put_escaped(stream, text, nbytes);
    else put_name(stream, text, nbytes);
    fputs(tail, stream);
}

/* ---- the cells ---- */

static size_t key_columns(const struct wf_tally *tally) {
    return tally->by_count ? tally->by_count : 1; /* otherwise the name of the column */
}

static size_t cell_columns(const struct wf_tally *tally) {
    const size_t values = tally->settings.op_count * (tally->by_count ? tally->column_count : 1);
    return key_columns(tally) + values;
}

static int64_t cell_rows(const struct wf_tally *tally) {
    return tally->by_count ? wf_tally_group_count(tally) : (int64_t)tally->column_count;
}

static void put_heading(FILE *stream, struct tally_report *report, enum tally_form form, size_t k) {
    const struct wf_tally *tally = report->tally;
    const size_t ops = tally->settings.op_count;
    if (k < key_columns(tally)) {
        const char *name = tally->by_count ? tally->name[tally->column_count + k] : "column";
        tally_put_text(stream, form, name, strlen(name), "");
        return;
    }
    k -= key_columns(tally);
    char tail[CELL_CAPACITY + 8];
    const char *column = tally->by_count ? tally->name[k / ops] : "";
    const bool has_column = tally->by_count && !wf_tally_counts_rows(tally);
    snprintf(tail, sizeof tail, "%s%s", has_column ? "_" : "", tally_op_name(tally, tally->settings.op[k % ops]).text);
    tally_put_text(stream, form, column, strlen(column), tail);
}

static void put_place(FILE *stream, struct tally_report *report, enum tally_form form, int64_t row) {
    int64_t line;
    char tail[32];
    const char *file = wf_tally_find_row(report->tally, row, &line);
    snprintf(tail, sizeof tail, ":%lld", (long long)line);
    tally_put_text(stream, form, file, strlen(file), tail);
}

void tally_put_value(FILE *stream, struct tally_report *report, enum tally_form form, size_t column, size_t i,
                      int64_t group) {
    char text[CELL_CAPACITY];
    const wf_op op = report->tally->settings.op[i];
    if (tally_is_index(op) && form != TALLY_BARE && wf_tally_has_result(report->tally, column, op, group)) {
        put_place(stream, report, form, value_of(tally_results(report, column, i), WF_U64, group).v.i);
        return;
    }
    fwrite_unlocked(text, 1, tally_format_value(report, column, i, group, text), stream);
}

/* The content of a cell: a text, or the result of an op for a column and a group. */
struct cell {
    const char *text; /* NULL: a result */
    size_t nbytes;
    size_t column, op;
    int64_t group;
};

static inline int64_t group_of(const struct tally_report *report, int64_t row) {
    return !report->tally->by_count ? 0 : report->order ? report->order[row] : row;
}

static struct cell cell_at(const struct tally_report *report, int64_t row, size_t k) {
    const struct wf_tally *tally = report->tally;
    const size_t keys = key_columns(tally), ops = tally->settings.op_count;
    const int64_t group = group_of(report, row);
    if (k >= keys && !tally->by_count) return (struct cell){.column = (size_t)row, .op = k - keys};
    if (k >= keys) return (struct cell){.column = (k - keys) / ops, .op = (k - keys) % ops, .group = group};
    if (!tally->by_count) return (struct cell){.text = tally->name[row], .nbytes = strlen(tally->name[row])};
    struct cell cell;
    size_t nbytes;
    const unsigned char *key = wf_texts_get(&tally->keys, (int32_t)group, &nbytes);
    cell.text = (const char *)wf_key_part(key, nbytes, tally->by_count, k, &cell.nbytes);
    return cell;
}

static void put_cell(FILE *stream, struct tally_report *report, enum tally_form form, int64_t row, size_t k) {
    const struct cell cell = cell_at(report, row, k);
    if (cell.text) tally_put_text(stream, form, cell.text, cell.nbytes, "");
    else tally_put_value(stream, report, form, cell.column, cell.op, cell.group);
}

/* Row -1 has the names. */
static void put_any(FILE *stream, struct tally_report *report, enum tally_form form, int64_t row, size_t k) {
    if (row < 0) put_heading(stream, report, form, k);
    else put_cell(stream, report, form, row, k);
}

/* ---- separated ---- */

/* Cells on their way to the stream: for most of them a call of one of its functions would take as long as everything else. */
struct block {
    FILE *stream;
    size_t nbytes;
    /* The last number, and its text in the block; a length of 0: there is none. */
    wf_value last;
    bool last_hex;
    size_t last_begin, last_length;
    char bytes[1 << 16];
};

static void flush(struct block *block) {
    fwrite_unlocked(block->bytes, 1, block->nbytes, block->stream);
    block->nbytes = block->last_length = 0;
}

/* Sum, mean and extrema of a group of one are the same number, whose text is copied. */
static void put_number(struct block *block, const wf_value *value, bool hex) {
    enum { USUAL_NBYTES = 32 }; /* a copy of a constant size is no call */
    char usual[USUAL_NBYTES], *to = block->bytes + block->nbytes;
    const bool is_last = value->v.u == block->last.v.u && value->type == block->last.type && hex == block->last_hex;
    if (is_last && block->last_length && block->last_length <= USUAL_NBYTES) {
        memcpy(usual, block->bytes + block->last_begin, sizeof usual);
        memcpy(to, usual, sizeof usual);
    } else {
        block->last.type = value->type;
        block->last.v.u = value->v.u;
        block->last_hex = hex;
        block->last_begin = block->nbytes;
        block->last_length = wf_value_format(value, hex, to, CELL_CAPACITY);
    }
    block->nbytes += block->last_length;
}

/* The same as memcpy, which for these is a call. */
static inline void copy_short(char *to, const char *from, size_t nbytes) {
    if (nbytes >= 8 && nbytes <= 16) {
        char last[8];
        memcpy(last, from + nbytes - 8, 8);
        memcpy(to, from, 8);
        memcpy(to + nbytes - 8, last, 8);
    } else {
        memcpy(to, from, nbytes);
    }
}

/* Puts a text, and leaves room for what ends it; false: it is long, or not plain. */
static inline bool put_usual_text(struct block *block, enum tally_form form, const char *text, size_t nbytes) {
    if (nbytes > CELL_CAPACITY || !is_plain(form, text, nbytes)) return false;
    copy_short(block->bytes + block->nbytes, text, nbytes);
    block->nbytes += nbytes;
    return true;
}

/* Puts a key below its name; false: it is none of the usual. */
static inline bool put_usual_key(struct block *block, const struct tally_report *report, int64_t row, size_t k) {
    const struct wf_tally *tally = report->tally;
    if (tally->by_count == 1) { /* most are the whole text */
        size_t nbytes;
        const unsigned char *key = wf_texts_get(&tally->keys, (int32_t)group_of(report, row), &nbytes);
        return put_usual_text(block, report->form, (const char *)key, nbytes);
    }
    const struct cell cell = cell_at(report, row, k);
    return put_usual_text(block, report->form, cell.text, cell.nbytes);
}

/* The same for a result. */
static inline bool put_usual_result(struct block *block, const struct tally_report *report, const struct tally_source *source, int64_t row) {
    const int64_t group = group_of(report, row);
    if (source->is_index) return false;
    if (wf_tally_count_of(source->column, group) < source->least_count) return true;
    const wf_value value = value_from(source, group);
    if (!source->is_scaled) put_number(block, &value, source->hex);
    else block->nbytes += format_scaled(&value, report->tally->settings.decimals, block->bytes + block->nbytes, CELL_CAPACITY);
    return true;
}

/* source: of each column of results; without groups these are those of the row.  Inlined where the size of the block is known,
 * all its short copies would be calls that check it (_FORTIFY_SOURCE). */
__attribute__((noinline)) static void put_row(struct block *block, struct tally_report *report, const struct tally_source *source, int64_t row) {
    const size_t columns = cell_columns(report->tally), keys = key_columns(report->tally);
    for (size_t k = 0; k < columns; k++) {
        if (block->nbytes + 2 * CELL_CAPACITY >= sizeof block->bytes) flush(block);
        if (row < 0 || !(k < keys ? put_usual_key(block, report, row, k) : put_usual_result(block, report, &source[k - keys], row))) {
            flush(block);
            put_any(block->stream, report, report->form, row, k);
        }
        block->bytes[block->nbytes++] = k + 1 < columns ? (report->form == TALLY_COMMAS ? ',' : '\t') : '\n';
    }
}

void tally_put_separated(FILE *stream, struct tally_report *report) {
    const struct wf_tally *tally = report->tally;
    const size_t ops = tally->settings.op_count, count = tally->column_count * ops;
    struct tally_source *source = report->sources;
    struct block block = {.stream = stream};
    for (size_t i = 0; i < count; i++) source[i] = source_of(report, i / ops, i % ops);
    for (int64_t row = -1; row < cell_rows(tally) && !ferror_unlocked(stream); row++)
        put_row(&block, report, tally->by_count || row < 0 ? source : source + (size_t)row * ops, row);
    flush(&block);
}

/* ---- aligned ---- */

static void put_grid_cell(FILE *stream, struct tally_report *report, int64_t row, size_t k) {
    put_any(stream, report, TALLY_ALIGNED, row, k);
}

struct tally_grid tally_grid_of(const struct tally_report *report) {
    return (struct tally_grid){.columns = cell_columns(report->tally),
                               .text_columns = key_columns(report->tally),
                               .rows = cell_rows(report->tally),
                               .put = put_grid_cell};
}
