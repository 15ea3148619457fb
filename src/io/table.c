/* The files of a table: their first lines, and whole lines of them in chunks. */
#include "io/table.h"

#include <stdlib.h>
#include <string.h>

#include "common/getenv.h"

wf_error wf_table_open(wf_handle *handle, struct wf_table *table, wf_reader *reader, const struct wf_table_plan *plan) {
    *table = (struct wf_table){.reader = reader, .plan = *plan, .file = -1,
                                .find_places = wf_places_choose(wf_getenv("WARPFOLD_TIER"))};
    table->has_header = reader->options.has_header || wf_table_plan_has_names(plan);
    if (plan->decimals > WF_DECIMALS_MAX)
        return wf_fail(handle, WF_ERROR_ARGUMENT, "at most %d decimals can be held", WF_DECIMALS_MAX);
    return WF_OK;
}

/* ---- the first line ---- */

/* Reads fields up to the end of the line, which the window has. */
static wf_error read_names(wf_handle *handle, struct wf_text *text, struct wf_source *source, struct wf_names *names) {
    struct wf_field field;
    for (wf_error error = WF_OK; !error;) {
        const enum wf_find found = wf_text_find(text, source, &field);
        if (found == WF_FIND_LINE_END || found == WF_FIND_END) return WF_OK;
        if (found == WF_FIND_CUT)
            return wf_text_fail(handle, text, source, wf_source_window(source), WF_ERROR_FORMAT,
                                "the first line has more than %zu bytes", WF_SOURCE_NBYTES);
        error = found == WF_FIND_FIELD ? wf_names_add(handle, names, &field)
                                       : wf_text_fail_find(handle, text, source, found);
        if (error) return error;
    }
    return WF_OK;
}

static bool is_number(const struct wf_field *field) {
    double value;
    return wf_text_parse_number(field->bytes, field->length, WF_F64, &value) != WF_ERROR_FORMAT;
}

/* Which columns have numbers, as the first line says where they have a value; lines are read in the window only.  The
 * text and the source are copies. */
static wf_error find_numbers(wf_handle *handle, struct wf_text text, struct wf_source source, bool *has_number) {
    const int64_t width = text.width;
    struct wf_field field;
    bool *is_known = calloc((size_t)width + 1, 1);
    if (!is_known) return wf_fail(handle, WF_ERROR_MEMORY, "no memory for the columns of a table");
    wf_error error = WF_OK;
    for (int64_t left = width; left > 0 && !error;) {
        const enum wf_find found = wf_text_find(&text, &source, &field);
        if (found == WF_FIND_END || found == WF_FIND_CUT) break;
        if (found == WF_FIND_LINE_END) error = wf_text_end_line(handle, &text, &source);
        else if (found != WF_FIND_FIELD) error = wf_text_fail_find(handle, &text, &source, found);
        const int64_t i = text.field_count - 1;
        if (found != WF_FIND_FIELD || i >= width || is_known[i] || wf_text_is_missing(&field)) continue;
        is_known[i] = true;
        has_number[i] = is_number(&field);
        left--;
    }
    free(is_known);
    return error;
}

/* The window then begins at the end of the header, or still at the first line. */
static wf_error read_first_line(wf_handle *handle, struct wf_table *table, struct wf_names *names) {
    struct wf_text *text = &table->reader->text;
    struct wf_source *source = &table->reader->source;
    const struct wf_text text_before = *text;
    const size_t begin = source->begin;
    wf_error error = read_names(handle, text, source, names);
    if (!error && !table->has_header) {
        *text = text_before;
        source->begin = begin;
    }
    text->width = names->count;
    return error;
}

static wf_error resolve(wf_handle *handle, struct wf_table *table, const struct wf_names *names) {
    struct wf_text text = table->reader->text;
    struct wf_source source = table->reader->source;
    bool *has_number = calloc((size_t)names->count, 1);
    if (!has_number) return wf_fail(handle, WF_ERROR_MEMORY, "no memory for the columns of a table");
    wf_error error = table->has_header ? wf_text_end_line(handle, &text, &source) : WF_OK;
    if (!error && !table->is_resolved && !table->plan.column_count)
        error = find_numbers(handle, text, source, has_number);
    if (!error) error = wf_table_resolve(handle, table, names, has_number);
    free(has_number);
    return error;
}

wf_error wf_table_begin_file(wf_handle *handle, struct wf_table *table) {
    wf_reader *reader = table->reader;
    struct wf_text *text = &reader->text;
    struct wf_names names = {0};
    table->file++;
    if (reader->format != &wf_reader_text)
        return wf_fail(handle, WF_ERROR_UNSUPPORTED, "%s: not a text: only a table in a text has columns; of other files one op, or stats, is computed",
                       reader->source.name);
    text->type = table->plan.type;
    text->is_header = false;
    text->has_header = table->has_header;
    text->is_table = true;
    wf_error error = wf_source_fill(handle, &reader->source, WF_SOURCE_NBYTES);
    if (!error && table->has_header) error = wf_text_check_line_ends(handle, text, &reader->source);
    if (!error) error = read_first_line(handle, table, &names);
    if (!error && names.count) error = resolve(handle, table, &names);
    if (!error && names.count && table->has_header) error = wf_text_end_line(handle, text, &reader->source);
    wf_names_clear(&names);
    return error;
}

/* ---- chunks ---- */

wf_error wf_table_take(wf_handle *handle, struct wf_table *table, struct wf_chunk *chunk) {
    struct wf_text *text = &table->reader->text;
    struct wf_source *source = &table->reader->source;
    chunk->nbytes = 0;
    for (size_t nbytes = WF_CHUNK_TEXT_NBYTES; nbytes <= WF_CHUNK_NBYTES; nbytes *= 2) {
        wf_error error = wf_source_fill(handle, source, nbytes);
        if (wf_lines_take_whole(text, source, nbytes, chunk)) return WF_OK;
        if (error) return error;
    }
    chunk->is_end = wf_source_available(source) == 0;
    if (chunk->is_end) return WF_OK;
    return wf_text_fail(handle, text, source, wf_source_window(source), WF_ERROR_FORMAT, "a line of more than %d bytes",
                        (int)WF_CHUNK_NBYTES);
}
