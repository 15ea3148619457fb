/* The beginning of a text: what is skipped, and what the first line determines for the others. */
#include <string.h>

#include "io/text_fields.h"

static void set_char_classes(struct wf_text *text, char delimiter) {
    text->has_delimiter = delimiter;
    memset(text->char_class, 0, sizeof text->char_class);
    for (const char *blank = " \t\v\f\r"; *blank; blank++)
        text->char_class[(unsigned char)*blank] = WF_CHAR_BLANK | (delimiter ? 0 : WF_CHAR_ENDS_FIELD);
    text->char_class['\n'] = WF_CHAR_ENDS_FIELD;
    if (delimiter) text->char_class[(unsigned char)delimiter] = WF_CHAR_DELIMITER | WF_CHAR_ENDS_FIELD;
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

/* ---- the first line ------------------------------------------------------------------------------ */

static bool is_one_of(char c, const char *list) {
    return c && strchr(list, c);
}

/* The first of the choices that the line has outside quotes; 0 if it has none, so that blanks separate the
 * fields.  A quote opens only where a field can begin: 5" is a field.  The line ends at the first line break outside quotes;
 * *is_cut: not before end. */
static char choose_delimiter(const char *line, const char *end, bool *is_cut) {
    static const char choices[] = ",\t;|", before_quotes[] = ",;| \t\v\f\r";
    char delimiter = 0;
    const char *best = choices + strlen(choices);
    const char *p = line;
    bool is_quoted = false;
    for (; p < end && (is_quoted || *p != '\n'); p++) {
        if (is_quoted && *p == '"' && p + 1 < end && p[1] == '"') {
            p++;
        } else if (*p == '"' && (is_quoted || p == line || is_one_of(p[-1], before_quotes))) {
            is_quoted = !is_quoted;
        } else if (!is_quoted && is_one_of(*p, choices) && strchr(choices, *p) < best) {
            best = strchr(choices, *p);
            delimiter = *p;
        }
    }
    *is_cut = p >= end;
    return delimiter;
}

/* The delimiter of the line at the window's begin, which may be fetched further for that. */
static wf_error find_delimiter(wf_handle *handle, struct wf_source *source, char *delimiter) {
    for (bool is_cut = true;;) {
        const size_t available = wf_source_available(source);
        const char *line = (const char *)wf_source_window(source);
        *delimiter = choose_delimiter(line, line + available, &is_cut);
        if (!is_cut || source->is_at_end || available >= WF_SOURCE_NBYTES) return WF_OK;
        wf_error error = wf_source_fill(handle, source, available < WF_SOURCE_NBYTES / 2 ? 2 * available : WF_SOURCE_NBYTES);
        if (error) return error;
    }
}

/* Moves the window to the first line that is neither blank nor a comment, or to the end of the source. */
static wf_error find_first_line(wf_handle *handle, struct wf_text *text, struct wf_source *source) {
    for (;;) {
        const char *line = (const char *)wf_source_window(source);
        size_t available = wf_source_available(source);
        const char *newline = memchr(line, '\n', available);
        if (!newline && !source->is_at_end && available < WF_SOURCE_NBYTES) {
            wf_error error = wf_source_fill(handle, source, WF_SOURCE_NBYTES);
            if (error) return error;
            continue;
        }
        const size_t length = newline ? (size_t)(newline - line) : available;
        if (available == 0) return WF_OK;
        size_t blank_count = 0;
        while (blank_count < length && wf_char_class_of(text, line[blank_count]) & WF_CHAR_BLANK)
            blank_count++;
        bool is_comment = line[0] == '#', is_blank = newline && blank_count == length;
        if (!is_comment && !is_blank) return WF_OK;
        wf_error error = skip_lines(handle, text, source, 1);
        if (error) return error;
    }
}

/* Whether the line may be one number whose digits commas group, such as 1,000: as a row of numbers, one of them would begin
 * with a needless 0. */
static bool has_grouped_digits(const char *p, const char *end) {
    size_t digits = 0, groups = 0;
    bool has_zero = false;
    for (; p < end && *p != '\n' && *p != '\r'; p++) {
        if (*p == ',' && digits >= 1 && digits <= 3 && (!groups || digits == 3)) {
            groups++;
            digits = 0;
            has_zero |= end - p > 1 && p[1] == '0';
        } else if (*p >= '0' && *p <= '9') {
            digits++;
        } else {
            return false;
        }
    }
    return groups && digits == 3 && has_zero;
}

wf_error wf_text_check_line_ends(wf_handle *handle, const struct wf_text *text, const struct wf_source *source) {
    const char *line = (const char *)wf_source_window(source), *end = line + wf_source_available(source);
    if (line == end || memchr(line, '\n', (size_t)(end - line))) return WF_OK;
    const char *begin = line;
    while (begin < end && *begin != '\r') begin++;
    const char *next = begin;
    while (next < end && wf_char_class_of(text, *next) & WF_CHAR_BLANK) next++;
    if (next == end) return WF_OK;
    return wf_text_fail(handle, text, source, begin, WF_ERROR_FORMAT, "lines that end in a carriage return alone: pipe the "
                        "output of tr '\\r' '\\n'");
}

wf_error wf_text_open(wf_handle *handle, struct wf_text *text, struct wf_source *source, wf_type type,
                      const wf_reader_options *options) {
    *text = (struct wf_text){.type = type, .line = 1};
    text->column_name = options->column_name;
    text->column = options->column;
    text->is_header = text->has_header = options->has_header || options->column_name;
    text->skips_missing = options->missing == WF_MISSING_SKIP;
    set_char_classes(text, options->delimiter);
    char delimiter = options->delimiter;
    wf_error error = skip_byte_order_mark(handle, text, source);
    if (!error) error = skip_lines(handle, text, source, options->skip_lines);
    if (!error) error = find_first_line(handle, text, source);
    if (!error && !delimiter) error = find_delimiter(handle, source, &delimiter);
    if (error) return error;
    set_char_classes(text, delimiter);
    const char *line = (const char *)wf_source_window(source);
    text->is_grouped = !options->delimiter && has_grouped_digits(line, line + wf_source_available(source));
    text->first_line = text->line;
    text->is_table = text->has_delimiter || text->has_header || text->column;
    return text->has_header ? wf_text_check_line_ends(handle, text, source) : WF_OK;
}
