#include "output.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- messages ------------------------------------------------------------------------------------ */

static void say_list(const char *format, va_list arguments) {
    fputs("warpfold: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
}

void say(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    say_list(format, arguments);
    va_end(arguments);
}

int fail(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    say_list(format, arguments);
    va_end(arguments);
    return STATUS_FAILED;
}

int fail_usage(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    say_list(format, arguments);
    va_end(arguments);
    say("try 'warpfold --help'");
    return STATUS_USAGE;
}

int fail_library(const wf_handle *handle, wf_error error) {
    return (error == WF_ERROR_UNSUPPORTED ? fail_usage : fail)("%s", wf_handle_message(handle));
}

const char *file_name(const char *operand) {
    return strcmp(operand, "-") ? operand : "standard input";
}

/* ---- standard output ----------------------------------------------------------------------------- */

bool write_all(int file, const void *data, size_t nbytes) {
    const char *rest = data;
    while (nbytes > 0) {
        ssize_t written = write(file, rest, nbytes);
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) return false;
        rest += written;
        nbytes -= (size_t)written;
    }
    return true;
}

void page_open(struct page *page) {
    *page = (struct page){0};
    page->stream = open_memstream(&page->text, &page->length);
}

/* Some file systems say only on closing that they have no room.  A copy is closed: more pages may follow. */
static bool close_output(void) {
    int copy = dup(STDOUT_FILENO);
    return copy >= 0 && close(copy) == 0;
}

int page_print(struct page *page) {
    int status = STATUS_OK;
    bool is_whole = page->stream && !ferror(page->stream);
    if (page->stream && fclose(page->stream)) is_whole = false;
    if (!is_whole) status = fail("%s", wf_error_text(WF_ERROR_MEMORY));
    else if (!write_all(STDOUT_FILENO, page->text, page->length) || !close_output())
        status = fail("standard output: %s", strerror(errno));
    free(page->text);
    return status;
}

/* ---- results ------------------------------------------------------------------------------------- */

/* A value of no type is one that does not exist.  JSON numbers are decimal and finite; all else is quoted. */
static void put_value(FILE *stream, const wf_value *value, bool hex, bool json) {
    char text[64];
    if (value->type == WF_TYPE_DEFAULT) {
        fputs(json ? "null" : "-", stream);
        return;
    }
    size_t length = wf_value_format(value, hex, text, sizeof text);
    bool is_quoted = json && (hex || !isdigit((unsigned char)text[length - 1]));
    fprintf(stream, is_quoted ? "\"%s\"" : "%s", text);
}

static void put_result(FILE *stream, const wf_accumulator *accumulator, const wf_value *result,
                       const struct settings *settings) {
    if (settings->json)
        fprintf(stream, "{\"op\":\"%s\",\"type\":\"%s\",\"count\":%" PRId64 ",\"result\":",
                wf_op_name(wf_accumulator_op(accumulator)), wf_type_name(wf_accumulator_type(accumulator)),
                wf_accumulator_count(accumulator));
    put_value(stream, result, settings->hex, settings->json);
    if (settings->json) fprintf(stream, ",\"result_type\":\"%s\"}", wf_type_name(result->type));
    fputc('\n', stream);
}

int print_result(const wf_accumulator *accumulator, const wf_value *result, const struct settings *settings) {
    struct page page;
    page_open(&page);
    if (page.stream) put_result(page.stream, accumulator, result, settings);
    return page_print(&page);
}

struct row {
    const char *name;
    const wf_value *value;
    bool is_tally; /* how many: decimal, whatever the values are written in */
};

static void put_row(FILE *stream, const struct row *row, const struct settings *settings) {
    fprintf(stream, settings->json ? ",\"%s\":" : "%-7s  ", row->name);
    put_value(stream, row->value, settings->hex && !row->is_tally, settings->json);
    if (!settings->json) fputc('\n', stream);
}

static void put_stats(FILE *stream, const wf_accumulator *accumulator, const wf_stats *stats,
                      const struct settings *settings) {
    const wf_value count = {.type = WF_U64, .as.u = stats->count};
    const wf_value nans = {.type = WF_U64, .as.u = stats->nans};
    const struct row rows[] = {
        {"count", &count, true},
        {wf_op_name(WF_SUM), &stats->sum, false},
        {wf_op_name(WF_MEAN), &stats->mean, false},
        {wf_op_name(WF_VAR), &stats->var, false},
        {wf_op_name(WF_STD), &stats->std, false},
        {wf_op_name(WF_MIN), &stats->min, false},
        {wf_op_name(WF_MAX), &stats->max, false},
        {wf_op_name(WF_ARGMIN), &stats->argmin, false},
        {wf_op_name(WF_ARGMAX), &stats->argmax, false},
        {wf_op_name(WF_NONZERO), &stats->nonzero, false},
        {"nan", &nans, true},
        {wf_op_name(WF_NORM1), &stats->norm1, false},
        {wf_op_name(WF_NORM2), &stats->norm2, false},
        {wf_op_name(WF_NORMINF), &stats->norminf, false},
    };
    if (settings->json)
        fprintf(stream, "{\"op\":\"%s\",\"type\":\"%s\"", wf_op_name(WF_STATS),
                wf_type_name(wf_accumulator_type(accumulator)));
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) put_row(stream, &rows[i], settings);
    if (settings->json) fputs("}\n", stream);
}

int print_stats(const wf_accumulator *accumulator, const wf_stats *stats, const struct settings *settings) {
    struct page page;
    page_open(&page);
    if (page.stream) put_stats(page.stream, accumulator, stats, settings);
    return page_print(&page);
}
