/* Text: lines of fields, each of which is a number (or skipped, if only one column is read).
 *
 * The parser stops where the window of its source ends and continues from there when there is more; a field
 * cut by the window is scanned again from its beginning.  After the first line, lines depend on each other
 * only through their numbers, so whole lines can be parsed independently, by several threads. */
#include <stdio.h>
#include <string.h>

#include "core/handle.h"
#include "io/quote.h"
#include "io/text_fields.h"

/* Whether the field is the word, ignoring case. */
static bool is_word(const char *bytes, size_t length, const char *word) {
    for (; length > 0 && *word && (*bytes | 0x20) == *word; length--, bytes++) word++;
    return length == 0 && !*word;
}

bool wf_text_is_missing(const struct wf_field *field) {
    const char *bytes = field->bytes;
    size_t length = field->length;
    bool has_sign = length > 0 && (*bytes == '-' || *bytes == '+');
    return length == 0 || (length == 1 && *bytes == '-') || is_word(bytes, length, "na") ||
           is_word(bytes, length, "null") || is_word(bytes + has_sign, length - has_sign, "nan");
}

/* Whether the field is a number except for commas: one for a point, or those that group digits. */
static bool has_commas(const struct wf_field *field) {
    size_t commas = 0, others = 0;
    for (size_t i = 0; i < field->length; i++) {
        commas += field->bytes[i] == ',';
        others += !memchr("0123456789+-.,", field->bytes[i], 14);
    }
    return commas && !others;
}

/* Advice for a message about a field that is not a number. */
static const char *advise(const struct wf_text *text, const struct wf_field *field) {
    if (wf_text_is_missing(field)) return ": missing values can be skipped (--missing skip)";
    if (has_commas(field)) return ": numbers have a point, and no commas";
    bool may_be_name = field->length > 0 && !memchr("0123456789+-.", *field->bytes, 13);
    if (text->line == text->first_line && !text->has_header && may_be_name)
        return ": if this line holds names, --header skips it and --column NAME reads a column";
    return "";
}

wf_error wf_text_fail_number(wf_handle *handle, const struct wf_text *text, const struct wf_source *source,
                             const struct wf_field *field, wf_error error) {
    const char *type = wf_type_name(text->type);
    struct wf_quoted quoted = wf_quote(field->bytes, field->length);
    if (error == WF_ERROR_RANGE)
        return wf_text_fail(handle, text, source, field->bytes, error, "%s is beyond the range of %s",
                            quoted.text, type);
    const char *advice = advise(text, field);
    if (field->length == 0)
        return wf_text_fail(handle, text, source, field->bytes, error, "an empty field%s", advice);
    char integer[32] = "a number";
    if (!wf_type_is_float(text->type)) snprintf(integer, sizeof integer, "an integer (%s)", type);
    return wf_text_fail(handle, text, source, field->bytes, error, "%s is not %s%s", quoted.text, integer,
                        advice);
}

/* ---- the meaning of fields and lines ------------------------------------------------------------- */

/* The first line determines the number of fields. */
static wf_error end_first_line(wf_handle *handle, struct wf_text *text, const struct wf_source *source) {
    text->width = text->field_count;
    if (text->is_header) {
        wf_error error = wf_text_end_header(handle, text, source);
        if (error) return error;
    } else if (text->is_grouped && !text->column) {
        return wf_text_fail(handle, text, source, wf_source_window(source), WF_ERROR_FORMAT,
                            "commas may separate numbers here, or group the digits of one: --delimiter , reads several");
    }
    if (text->column <= text->width) return WF_OK;
    return wf_text_fail(handle, text, source, wf_source_window(source), WF_ERROR_FORMAT,
                        "no column %lld: the line has %lld", (long long)text->column,
                        (long long)text->field_count);
}

wf_error wf_text_end_line(wf_handle *handle, struct wf_text *text, struct wf_source *source) {
    if (text->field_count > 0 && !text->width) {
        wf_error error = end_first_line(handle, text, source);
        if (error) return error;
    } else if (text->field_count > 0 && text->is_table && text->field_count != text->width) {
        return wf_text_fail(handle, text, source, wf_source_window(source), WF_ERROR_FORMAT,
                            "the line has %lld field%s, but line %lld, the first, has %lld",
                            (long long)text->field_count, text->field_count == 1 ? "" : "s",
                            (long long)text->first_line, (long long)text->width);
    }
    source->begin += wf_source_available(source) > 0;
    wf_text_start_line(text, 1 + text->break_count, wf_source_offset(source));
    return WF_OK;
}

static wf_error read_field(wf_handle *handle, struct wf_text *text, const struct wf_source *source,
                           const struct wf_field *field, unsigned char *element, int64_t *count) {
    if (text->is_header) return wf_text_read_name(handle, text, source, field);
    if (text->column && text->field_count != text->column) return WF_OK;
    if (text->skips_missing && wf_text_is_missing(field)) return WF_OK;
    wf_error error = wf_text_parse_number(field->bytes, field->length, text->type, element);
    if (error) return wf_text_fail_number(handle, text, source, field, error);
    ++*count;
    return WF_OK;
}

/* Doubles the window, so that a long field arriving in small reads is not rescanned each time. */
static wf_error fill_more(wf_handle *handle, struct wf_source *source) {
    size_t nbytes = 2 * wf_source_available(source) + 1;
    return wf_source_fill(handle, source, nbytes < WF_SOURCE_NBYTES ? nbytes : WF_SOURCE_NBYTES);
}

wf_error wf_text_next(wf_handle *handle, struct wf_text *text, struct wf_source *source, int64_t limit,
                      void *elements, int64_t *count) {
    size_t nbytes = wf_type_nbytes(text->type);
    struct wf_field field;
    wf_error error = WF_OK;
    for (*count = 0; *count < limit && !error;) {
        unsigned char *element = (unsigned char *)elements + (size_t)*count * nbytes;
        int64_t fast_count = wf_text_read_fast(text, source, limit - *count, element);
        *count += fast_count;
        if (fast_count) continue;
        bool is_first_line = !text->width;
        enum wf_find found = wf_text_find(text, source, &field);
        if (found == WF_FIND_END) break;
        if (found == WF_FIND_CUT)
            error = fill_more(handle, source);
        else if (found == WF_FIND_LINE_END)
            error = wf_text_end_line(handle, text, source);
        else if (found == WF_FIND_FIELD)
            error = read_field(handle, text, source, &field, element, count);
        else
            error = wf_text_fail_find(handle, text, source, found);
        /* Returns, so that several threads can parse the other lines. */
        if (is_first_line && text->width && *count > 0) break;
    }
    return error;
}
