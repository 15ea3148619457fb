/* Text: lines of fields, each of them a number (or, where one column is read, passed over).
 *
 * The parser stops wherever the window of its source ends, and goes on from there when there is more.  A
 * field that the window cuts is looked at again, whole.  Since only a header and the line's number reach from
 * one line into the next, whole lines can be parsed by themselves. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* memrchr */
#endif
#include "io/reader.h"

#include <stdio.h>
#include <string.h>

enum char_class {
    CHAR_BLANK = 1,
    CHAR_DELIMITER = 2,
    CHAR_ENDS_FIELD = 4 /* delimiters and newlines; blanks too, where no delimiter was chosen */
};

struct field {
    const char *bytes; /* without the quotes around it, if it has them */
    size_t length;
    bool is_quoted;
};

enum find {
    FIND_FIELD,
    FIND_LINE_END,
    FIND_END,
    FIND_CUT, /* by the end of the window */
    /* What is wrong with the field that begins here. */
    FIND_TOO_LONG,
    FIND_UNCLOSED,
    FIND_UNSEPARATED
};

_Static_assert(WF_TEXT_FIELD_NBYTES_MAX == 65536, "as the message has it");

static const char *const find_errors[] = {
    [FIND_TOO_LONG] = "a field of more than 65536 bytes",
    [FIND_UNCLOSED] = "a quoted field that does not end on its line",
    [FIND_UNSEPARATED] = "a quoted field with something other than a delimiter after it",
};

static unsigned class_of(const struct wf_text *text, char c) {
    return text->char_class[(unsigned char)c];
}

/* ---- finding fields ------------------------------------------------------------------------------ */

/* The bytes of a field that begins at p, in sight: one more than it may have decides that it is too long. */
static const char *end_of_sight(const char *p, const char *end) {
    return end - p > WF_TEXT_FIELD_NBYTES_MAX ? p + WF_TEXT_FIELD_NBYTES_MAX : end;
}

static enum find scan_bare(const struct wf_text *text, const char *p, const char *end, bool is_at_end,
                           struct field *field, const char **next) {
    const char *stop = end_of_sight(p, end), *q = p;
    while (q < stop && !(class_of(text, *q) & CHAR_ENDS_FIELD)) q++;
    if (q == end && !is_at_end) return FIND_CUT;
    if (q < end && !(class_of(text, *q) & CHAR_ENDS_FIELD)) return FIND_TOO_LONG;
    *next = q;
    while (q > p && class_of(text, q[-1]) & CHAR_BLANK) q--;
    *field = (struct field){p, (size_t)(q - p), false};
    return FIND_FIELD;
}

/* As RFC 4180 has it, a quote inside a quoted field is doubled; but no line break is. */
static enum find scan_quoted(const struct wf_text *text, const char *p, const char *end, bool is_at_end,
                             struct field *field, const char **next) {
    const char *stop = end_of_sight(p, end), *q = p + 1;
    for (;; q += 2) {
        while (q < stop && *q != '"' && *q != '\n') q++;
        if (q >= stop && stop < end) return FIND_TOO_LONG;
        if (q >= stop) return is_at_end ? FIND_UNCLOSED : FIND_CUT;
        if (*q == '\n') return FIND_UNCLOSED;
        if (q + 1 == end && !is_at_end) return FIND_CUT;
        if (q + 1 == end || q[1] != '"') break;
    }
    *next = q + 1;
    if (*next < end && !(class_of(text, **next) & (CHAR_BLANK | CHAR_ENDS_FIELD))) return FIND_UNSEPARATED;
    *field = (struct field){p + 1, (size_t)(q - p - 1), true};
    return FIND_FIELD;
}

/* A field is taken from the window; the end of a line is not, nor is a field with an error. */
static enum find find_field(struct wf_text *text, struct wf_source *source, struct field *field) {
    const char *base = (const char *)source->buffer, *p = base + source->begin, *end = base + source->end;
    const char *next;
    for (;; p++) {
        while (p < end && class_of(text, *p) & CHAR_BLANK) p++;
        if (p == end || !(class_of(text, *p) & CHAR_DELIMITER) || !text->is_after_field) break;
        text->is_after_field = false;
        text->is_after_delimiter = true;
    }
    source->begin = (size_t)(p - base);
    if (p == end && !source->is_at_end) return FIND_CUT;

    bool is_line_end = p == end || *p == '\n';
    if (is_line_end && !(text->is_after_delimiter && text->column > 0))
        return p == end && text->field_count == 0 ? FIND_END : FIND_LINE_END;
    if (is_line_end || class_of(text, *p) & CHAR_DELIMITER) {
        *field = (struct field){p, 0, false};
        next = p;
    } else {
        if (text->has_delimiter && text->is_after_field) return FIND_UNSEPARATED;
        enum find found =
            (*p == '"' ? scan_quoted : scan_bare)(text, p, end, source->is_at_end, field, &next);
        if (found != FIND_FIELD) return found;
    }
    source->begin = (size_t)(next - base);
    text->is_after_field = true;
    text->is_after_delimiter = false;
    text->field_count++;
    return FIND_FIELD;
}

/* ---- what fields and lines mean ------------------------------------------------------------------ */

static wf_error fail_at(wf_handle *handle, const struct wf_text *text, const struct wf_source *source,
                        const void *at, wf_error error, const char *subject, const char *what) {
    int64_t offset = wf_source_offset(source) + ((const unsigned char *)at - wf_source_window(source));
    return wf_fail(handle, error, "%s:%lld:%lld: %s%s", source->name, (long long)text->line,
                   (long long)(offset - text->line_offset + 1), subject, what);
}

static wf_error fail_number(wf_handle *handle, const struct wf_text *text, const struct wf_source *source,
                            const struct field *field, wf_error error) {
    char what[64];
    if (field->length == 0) return fail_at(handle, text, source, field->bytes, error, "", "an empty field");
    const char *type = wf_type_name(text->type);
    if (error == WF_ERROR_RANGE)
        snprintf(what, sizeof what, " is beyond the range of %s", type);
    else
        snprintf(what, sizeof what,
                 wf_type_is_float(text->type) ? " is not a number" : " is not an integer (%s)", type);
    return fail_at(handle, text, source, field->bytes, error, wf_quote(field->bytes, field->length).text,
                   what);
}

static bool field_is_named(const struct field *field, const char *name) {
    const char *p = field->bytes, *end = p + field->length;
    for (; p < end && *name && *p == *name; p++, name++)
        if (field->is_quoted && *p == '"') p++;
    return p == end && !*name;
}

static wf_error read_name(wf_handle *handle, struct wf_text *text, const struct wf_source *source,
                          const struct field *field) {
    if (!text->column_name || !field_is_named(field, text->column_name)) return WF_OK;
    if (text->column)
        return fail_at(handle, text, source, field->bytes, WF_ERROR_FORMAT,
                       wf_quote(field->bytes, field->length).text,
                       " is the name of two columns: choose by number");
    text->column = text->field_count;
    return WF_OK;
}

/* The line that is so many lines on, and begins at offset. */
static void start_line(struct wf_text *text, int64_t line_count, int64_t offset) {
    text->line += line_count;
    text->line_offset = offset;
    text->field_count = 0;
    text->is_after_field = text->is_after_delimiter = false;
}

static wf_error end_line(wf_handle *handle, struct wf_text *text, struct wf_source *source) {
    char what[80];
    const void *here = wf_source_window(source);
    if (text->is_header && text->field_count > 0) {
        text->is_header = false;
        if (text->column_name && !text->column)
            return fail_at(handle, text, source, here, WF_ERROR_FORMAT,
                           wf_quote(text->column_name, strlen(text->column_name)).text,
                           " is the name of no column in this header");
    } else if (text->field_count > 0 && text->field_count < text->column) {
        snprintf(what, sizeof what, "no column %lld: the line has %lld", (long long)text->column,
                 (long long)text->field_count);
        return fail_at(handle, text, source, here, WF_ERROR_FORMAT, "", what);
    }
    source->begin += wf_source_available(source) > 0;
    start_line(text, 1, wf_source_offset(source));
    return WF_OK;
}

/* Asks for twice as much, so that a long field that comes in drips is not looked at over and over. */
static wf_error fill_more(wf_handle *handle, struct wf_source *source) {
    size_t nbytes = 2 * wf_source_available(source) + 1;
    return wf_source_fill(handle, source, nbytes < WF_SOURCE_NBYTES ? nbytes : WF_SOURCE_NBYTES);
}

/* Passes over what stands before a field, or before something that needs a closer look. */
static const char *skip_separators(struct wf_text *text, const struct wf_source *source, const char *p,
                                   const char *end) {
    for (; p < end; p++) {
        unsigned class = class_of(text, *p);
        if (*p == '\n') {
            start_line(text, 1, wf_source_offset(source) + (p + 1 - (const char *)wf_source_window(source)));
        } else if (class & CHAR_DELIMITER && text->is_after_field) {
            text->is_after_field = false;
            text->is_after_delimiter = true;
        } else if (!(class & CHAR_BLANK)) {
            break;
        }
    }
    return p;
}

/* What find_field and the others do for fields that are plain numbers, as long as they are, where every field
 * is read and blanks part fields.  Returns how many there were. */
static int64_t read_plain(struct wf_text *text, struct wf_source *source, int64_t limit,
                          unsigned char *element) {
    size_t nbytes = wf_type_nbytes(text->type);
    const char *p = (const char *)wf_source_window(source), *end = (const char *)source->buffer + source->end;
    int64_t count = 0;
    while (count < limit) {
        p = skip_separators(text, source, p, end);
        const char *next = wf_text_parse_plain(p, end, text->type, element);
        if (!next || next == end || !(class_of(text, *next) & CHAR_ENDS_FIELD)) break;
        p = next;
        text->is_after_field = true;
        text->is_after_delimiter = false;
        text->field_count++;
        element += nbytes;
        count++;
    }
    source->begin = (size_t)(p - (const char *)source->buffer);
    return count;
}

wf_error wf_text_next(wf_handle *handle, struct wf_text *text, struct wf_source *source, int64_t limit,
                      void *elements, int64_t *count) {
    size_t nbytes = wf_type_nbytes(text->type);
    struct field field;
    wf_error error = WF_OK;
    for (*count = 0; *count < limit && !error;) {
        unsigned char *element = (unsigned char *)elements + (size_t)*count * nbytes;
        bool reads_all = !text->column && !text->is_header && !text->has_delimiter;
        int64_t plain_count = reads_all ? read_plain(text, source, limit - *count, element) : 0;
        *count += plain_count;
        if (plain_count) continue;
        enum find found = find_field(text, source, &field);
        if (found == FIND_END) break;
        if (found == FIND_CUT) {
            error = fill_more(handle, source);
        } else if (found == FIND_LINE_END) {
            error = end_line(handle, text, source);
        } else if (found != FIND_FIELD) {
            error = fail_at(handle, text, source, wf_source_window(source), WF_ERROR_FORMAT, "",
                            find_errors[found]);
        } else if (text->is_header) {
            error = read_name(handle, text, source, &field);
        } else if (!text->column || text->field_count == text->column) {
            error = wf_text_parse_number(field.bytes, field.length, text->type, element);
            if (error) return fail_number(handle, text, source, &field, error);
            ++*count;
        }
    }
    return error;
}

/* ---- opening ------------------------------------------------------------------------------------- */

static void set_char_classes(struct wf_text *text, char delimiter) {
    text->has_delimiter = delimiter;
    memset(text->char_class, 0, sizeof text->char_class);
    for (const char *blank = " \t\v\f\r"; *blank; blank++)
        text->char_class[(unsigned char)*blank] = CHAR_BLANK | (delimiter ? 0 : CHAR_ENDS_FIELD);
    text->char_class['\n'] = CHAR_ENDS_FIELD;
    text->char_class[(unsigned char)(delimiter ? delimiter : ',')] = CHAR_DELIMITER | CHAR_ENDS_FIELD;
}

static wf_error skip_byte_order_mark(wf_handle *handle, struct wf_text *text, struct wf_source *source) {
    static const unsigned char mark[] = {0xef, 0xbb, 0xbf};
    wf_error error = wf_source_fill(handle, source, sizeof mark);
    if (error || wf_source_available(source) < sizeof mark ||
        memcmp(wf_source_window(source), mark, sizeof mark))
        return error;
    source->begin += sizeof mark;
    text->line_offset = sizeof mark;
    return WF_OK;
}

static wf_error skip_lines(wf_handle *handle, struct wf_text *text, struct wf_source *source, int64_t count) {
    while (count > 0) {
        wf_error error = wf_source_fill(handle, source, 1);
        if (error || wf_source_available(source) == 0) return error;
        const unsigned char *window = wf_source_window(source);
        const unsigned char *newline = memchr(window, '\n', wf_source_available(source));
        source->begin = newline ? (size_t)(newline + 1 - source->buffer) : source->end;
        if (!newline) continue;
        text->line++;
        text->line_offset = wf_source_offset(source);
        count--;
    }
    return WF_OK;
}

wf_error wf_text_open(wf_handle *handle, struct wf_text *text, struct wf_source *source, wf_type type,
                      const wf_reader_options *options) {
    *text = (struct wf_text){.type = type, .line = 1};
    text->column_name = options->column_name;
    text->column = options->column;
    text->is_header = options->has_header || options->column_name;
    set_char_classes(text, options->delimiter);
    wf_error error = skip_byte_order_mark(handle, text, source);
    return error ? error : skip_lines(handle, text, source, options->skip_lines);
}

static wf_error text_open(wf_handle *handle, wf_reader *reader, wf_type *type) {
    wf_error error = wf_source_fill(handle, &reader->source, 1);
    if (error) return error;
    *type = reader->options.type ? reader->options.type : WF_F64;
    /* A file without a byte has no number of another type than those before it. */
    if (reader->type && wf_source_available(&reader->source) == 0) *type = reader->type;
    return wf_text_open(handle, &reader->text, &reader->source, *type, &reader->options);
}

/* ---- pieces -------------------------------------------------------------------------------------- */

static int64_t count_newlines(const unsigned char *bytes, size_t nbytes) {
    int64_t count = 0;
    while (nbytes > 0) {
        size_t part = nbytes < 255 ? nbytes : 255; /* what a byte can count, which is fast in vectors */
        uint8_t part_count = 0;
        for (size_t i = 0; i < part; i++) part_count += bytes[i] == '\n';
        count += part_count;
        bytes += part;
        nbytes -= part;
    }
    return count;
}

/* How many bytes of the window, nbytes at most, are whole lines. */
static size_t whole_lines(const struct wf_source *source, size_t nbytes) {
    if (wf_source_available(source) <= nbytes) {
        nbytes = wf_source_available(source);
        if (source->is_at_end) return nbytes;
    }
    const unsigned char *window = wf_source_window(source);
    const unsigned char *newline = memrchr(window, '\n', nbytes);
    return newline ? (size_t)(newline + 1 - window) : 0;
}

static void take_lines(struct wf_text *text, struct wf_source *source, size_t nbytes,
                       struct wf_piece *piece) {
    piece->parser = *text;
    piece->offset = wf_source_offset(source);
    piece->nbytes = nbytes;
    memcpy(piece->bytes, wf_source_window(source), nbytes);
    source->begin += nbytes;
    start_line(text, count_newlines(piece->bytes, nbytes), wf_source_offset(source));
}

wf_error wf_lines_take(wf_handle *handle, struct wf_text *text, struct wf_source *source, size_t nbytes,
                       struct wf_piece *piece) {
    piece->data = piece->elements;
    piece->count = 0;
    piece->nbytes = 0;
    piece->is_end = false;
    wf_error error = wf_source_fill(handle, source, nbytes);
    size_t lines_nbytes = text->is_header ? 0 : whole_lines(source, nbytes);
    if (lines_nbytes > 0) {
        take_lines(text, source, lines_nbytes, piece); /* an error will come again, after them */
        return WF_OK;
    }
    if (error) return error;
    int64_t limit = text->is_header ? 1 : WF_PIECE_TEXT_COUNT;
    error = wf_text_next(handle, text, source, limit, piece->elements, &piece->count);
    piece->is_end = !error && piece->count == 0;
    return error;
}

wf_error wf_lines_finish(wf_handle *handle, const char *name, struct wf_piece *piece) {
    if (piece->nbytes == 0) return WF_OK;
    struct wf_source source = {.name = name,
                               .buffer = piece->bytes,
                               .end = piece->nbytes,
                               .nbytes_read = piece->offset + (int64_t)piece->nbytes,
                               .is_at_end = true};
    return wf_text_next(handle, &piece->parser, &source, WF_PIECE_TEXT_COUNT, piece->elements, &piece->count);
}

static wf_error text_take(wf_handle *handle, wf_reader *reader, struct wf_piece *piece) {
    return wf_lines_take(handle, &reader->text, &reader->source, WF_PIECE_TEXT_NBYTES, piece);
}

static wf_error text_finish(wf_handle *handle, const wf_reader *reader, struct wf_piece *piece) {
    return wf_lines_finish(handle, reader->source.name, piece);
}

const struct wf_reader_format wf_reader_text = {
    .open = text_open,
    .take = text_take,
    .finish = text_finish,
    .thread_nbytes = 1 << 18,
};
