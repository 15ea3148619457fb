/* Text in chunks of whole lines, which several threads can parse in parallel. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* memrchr */
#endif
#include <string.h>

#include "io/text_fields.h"

/* ---- chunks -------------------------------------------------------------------------------------- */

int64_t wf_count_newlines(const unsigned char *bytes, size_t nbytes) {
    int64_t count = 0;
    while (nbytes > 0) {
        size_t part = nbytes < 255 ? nbytes : 255; /* the most that the 8-bit count can hold */
        uint8_t part_count = 0;                    /* narrow, so that the loop vectorises well */
        for (size_t i = 0; i < part; i++) part_count += bytes[i] == '\n';
        count += part_count;
        bytes += part;
        nbytes -= part;
    }
    return count;
}

/* The length of the whole lines in the first nbytes of the window. */
static size_t whole_lines(const struct wf_text *text, const struct wf_source *source, size_t nbytes) {
    if (wf_source_available(source) <= nbytes) {
        nbytes = wf_source_available(source);
        if (source->is_at_end) return nbytes;
    }
    const unsigned char *window = wf_source_window(source);
    const unsigned char *newline = memrchr(window, '\n', nbytes);
    const char *begin = (const char *)window;
    const bool is_line_begin = wf_source_offset(source) == text->line_offset;
    const char *end = newline ? wf_text_last_line_end(text, begin, (const char *)newline + 1, is_line_begin) : NULL;
    return end ? (size_t)(end - begin) : 0;
}

static void take_lines(struct wf_text *text, struct wf_source *source, size_t nbytes,
                       struct wf_chunk *chunk) {
    chunk->parser = *text;
    chunk->offset = wf_source_offset(source);
    chunk->nbytes = nbytes;
    memcpy(chunk->bytes, wf_source_window(source), nbytes);
    source->begin += nbytes;
    chunk->newline_count = wf_count_newlines(chunk->bytes, nbytes);
    wf_text_start_line(text, text->break_count + chunk->newline_count, wf_source_offset(source));
}

bool wf_lines_take_whole(struct wf_text *text, struct wf_source *source, size_t nbytes, struct wf_chunk *chunk) {
    size_t lines_nbytes = whole_lines(text, source, nbytes);
    if (lines_nbytes > 0) take_lines(text, source, lines_nbytes, chunk);
    return lines_nbytes > 0;
}

wf_error wf_lines_take(wf_handle *handle, struct wf_text *text, struct wf_source *source, size_t nbytes,
                       struct wf_chunk *chunk) {
    chunk->data = chunk->elements;
    chunk->count = 0;
    chunk->nbytes = 0;
    chunk->is_end = false;
    wf_error error = wf_source_fill(handle, source, nbytes);
    bool is_first_line = text->is_header || (text->is_table && !text->width);
    /* After these lines the next read reports the error again. */
    if (!is_first_line && wf_lines_take_whole(text, source, nbytes, chunk)) return WF_OK;
    if (error) return error;
    int64_t limit = text->is_header ? 1 : WF_CHUNK_TEXT_COUNT;
    error = wf_text_next(handle, text, source, limit, chunk->elements, &chunk->count);
    chunk->is_end = !error && chunk->count == 0;
    return error;
}

wf_error wf_lines_finish(wf_handle *handle, const char *name, struct wf_chunk *chunk) {
    if (chunk->nbytes == 0) return WF_OK;
    struct wf_source source = {.name = name,
                               .buffer = chunk->bytes,
                               .end = chunk->nbytes,
                               .nbytes_read = chunk->offset + (int64_t)chunk->nbytes,
                               .is_at_end = true};
    return wf_text_next(handle, &chunk->parser, &source, WF_CHUNK_TEXT_COUNT, chunk->elements, &chunk->count);
}

static wf_error text_open(wf_handle *handle, wf_reader *reader, wf_type *type) {
    wf_error error = wf_source_fill(handle, &reader->source, 1);
    if (error) return error;
    *type = reader->options.type ? reader->options.type : WF_F64;
    /* An empty file matches the type of the files before it. */
    if (reader->type && wf_source_available(&reader->source) == 0) *type = reader->type;
    return wf_text_open(handle, &reader->text, &reader->source, *type, &reader->options);
}

static wf_error text_take(wf_handle *handle, wf_reader *reader, struct wf_chunk *chunk) {
    return wf_lines_take(handle, &reader->text, &reader->source, WF_CHUNK_TEXT_NBYTES, chunk);
}

static wf_error text_finish(wf_handle *handle, const wf_reader *reader, struct wf_chunk *chunk) {
    return wf_lines_finish(handle, reader->source.name, chunk);
}

const struct wf_reader_format wf_reader_text = {
    .open = text_open,
    .take = text_take,
    .finish = text_finish,
    .thread_nbytes = 1 << 18,
};
