/* A range can begin wherever a line does.  Whether a line break is inside a quoted field, only what lies before can tell; but
 * a field has at most WF_TEXT_FIELD_NBYTES_MAX bytes, so that where no quote is that near none of them matters.  Otherwise
 * lines are taken one after the other from the last known begin on, as every reader does. */
#include <string.h>

#include "io/text_fields.h"
#include "io/text_range.h"

/* Restricted sources begin elsewhere. */
static int64_t file_nbytes(const wf_reader *reader) {
    return reader->source.origin + reader->source.nbytes_total;
}

bool wf_text_range_of(const wf_reader *reader, struct wf_text_range *all) {
    const struct wf_source *source = &reader->source;
    if (reader->format != &wf_reader_text || source->decoder || source->nbytes_total < 0 || source->is_restricted ||
        source->origin)
        return false;
    *all = (struct wf_text_range){wf_source_offset(source), source->nbytes_total, reader->text.line};
    return true;
}

/* ---- cutting ---- */

/* Reads bytes of the file, from `at` on, into the reader's chunk. */
static wf_error read_block(wf_handle *handle, wf_reader *reader, int64_t at, int64_t end, size_t *found) {
    const int64_t left = end - at;
    const size_t nbytes = left < (int64_t)WF_CHUNK_NBYTES ? (size_t)left : WF_CHUNK_NBYTES;
    wf_error error = wf_source_read_at(handle, &reader->source, reader->chunk.bytes, nbytes, at - reader->source.origin, found);
    if (error || *found) return error;
    return wf_fail(handle, WF_ERROR_IO, "%s: became shorter while it was read", reader->source.name);
}

/* *end: after the first line break from target - 1 on, or the file's end; *has_quotes: there are some near it, so that it may
 * not end a line. */
static wf_error find_break(wf_handle *handle, wf_reader *reader, int64_t begin, int64_t target, int64_t *end, bool *has_quotes) {
    enum { NEAR = 2 * WF_TEXT_FIELD_NBYTES_MAX }; /* with what may surround a field */
    const int64_t size = file_nbytes(reader);
    size_t found;
    *end = size;
    *has_quotes = false;
    for (int64_t at = target - begin > NEAR ? target - NEAR : begin; at < size && !*has_quotes; at += (int64_t)found) {
        wf_error error = read_block(handle, reader, at, size, &found);
        if (error) return error;
        const unsigned char *block = reader->chunk.bytes;
        const size_t passed = target - 1 > at ? (size_t)(target - 1 - at) : 0;
        const unsigned char *newline = passed < found ? memchr(block + passed, '\n', found - passed) : NULL;
        *has_quotes = memchr(block, '"', newline ? (size_t)(newline - block) : found);
        if (!newline) continue;
        *end = at + (newline - block) + 1;
        break;
    }
    return WF_OK;
}

/* Takes lines from begin on until one begins at target or after it. */
static wf_error take_lines_to(wf_handle *handle, wf_reader *reader, int64_t begin, int64_t target, int64_t *end) {
    struct wf_source *source = &reader->source;
    struct wf_text *text = &reader->text;
    const int64_t size = file_nbytes(reader);
    wf_source_restrict(source, begin - source->origin, size - begin);
    wf_text_start_line(text, 0, 0);
    for (*end = begin; *end < target; *end = begin + wf_source_offset(source)) {
        wf_error error = wf_source_fill(handle, source, WF_SOURCE_NBYTES);
        if (error) return error;
        bool is_taken = false;
        for (size_t most = WF_CHUNK_NBYTES, nbytes = 1; !is_taken && nbytes <= most; nbytes *= 2)
            if ((int64_t)nbytes >= target - *end || nbytes == most)
                is_taken = wf_lines_take_whole(text, source, nbytes, &reader->chunk);
        if (is_taken) continue;
        *end = size; /* a longer line, which is an error when it is read */
        break;
    }
    return WF_OK;
}

wf_error wf_text_range_cut(wf_handle *handle, wf_reader *reader, int64_t nbytes, struct wf_text_range *range) {
    bool has_quotes;
    int64_t end;
    if (nbytes >= range->end - range->begin) return WF_OK;
    const int64_t target = range->begin + nbytes;
    wf_error error = find_break(handle, reader, range->begin, target, &end, &has_quotes);
    if (!error && has_quotes) error = take_lines_to(handle, reader, range->begin, target, &end);
    if (!error) range->end = end;
    return error;
}

wf_error wf_text_range_find_line(wf_handle *handle, wf_reader *reader, const struct wf_text_range *before,
                                 struct wf_text_range *range) {
    size_t found;
    range->line = before->line;
    for (int64_t at = before->begin; at < range->begin; at += (int64_t)found) {
        wf_error error = read_block(handle, reader, at, range->begin, &found);
        if (error) return error;
        range->line += wf_count_newlines(reader->chunk.bytes, found);
    }
    return WF_OK;
}

/* ---- reading ---- */

/* What the first line says of all others: the columns' names, and how many there are.  The elements in it are not these
 * lines' business. */
static wf_error read_first_line(wf_handle *handle, struct wf_text *text, struct wf_source *source) {
    struct wf_field field;
    while (!text->width) {
        const enum wf_find found = wf_text_find(text, source, &field);
        wf_error error = WF_OK;
        if (found == WF_FIND_END) break;
        if (found == WF_FIND_LINE_END) error = wf_text_end_line(handle, text, source);
        else if (found == WF_FIND_CUT) error = wf_source_fill(handle, source, WF_SOURCE_NBYTES);
        else if (found != WF_FIND_FIELD) error = wf_text_fail_find(handle, text, source, found);
        else if (text->is_header) error = wf_text_read_name(handle, text, source, &field);
        if (error) return error;
    }
    return WF_OK;
}

void wf_text_range_restrict(struct wf_text *text, struct wf_source *source, const struct wf_text_range *range) {
    const int64_t now = wf_source_offset(source), begin = range->begin > now ? range->begin : now;
    if (begin > now) text->line = range->line;
    wf_source_restrict(source, begin, range->end > begin ? range->end - begin : 0);
    wf_text_start_line(text, 0, 0);
}

wf_error wf_text_range_select(wf_handle *handle, wf_reader *reader, const struct wf_text_range *range) {
    struct wf_text_range all;
    struct wf_text *text = &reader->text;
    if (!wf_text_range_of(reader, &all))
        return wf_fail(handle, WF_ERROR_UNSUPPORTED, "%s: not a text that can be read in ranges", reader->source.name);
    wf_error error = range->begin > all.begin && text->is_table ? read_first_line(handle, text, &reader->source) : WF_OK;
    if (!error) wf_text_range_restrict(text, &reader->source, range);
    return error;
}
