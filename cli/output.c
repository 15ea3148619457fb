#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* vasprintf, fopencookie */
#endif
#include "output.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "report/printed.h"

/* ---- messages ------------------------------------------------------------------------------------ */

static char *kept_messages;
static size_t kept_capacity;

void keep_messages(char *messages, size_t capacity) {
    kept_messages = messages;
    kept_capacity = capacity;
    if (messages) messages[0] = 0;
}

/* What does not fit is cut. */
static void keep(const char *text) {
    const size_t length = strlen(kept_messages);
    snprintf(kept_messages + length, kept_capacity - length, "%s%s", length ? "\n" : "", text);
}

/* In one piece, that those of several ranks do not mix; without memory a long message is truncated. */
static void say_text(const char *text) {
    char *line = copy_name(text);
    if (kept_messages) {
        keep(line ? line : text);
    } else if (line) {
        fprintf(stderr, "warpfold: %s\n", line);
    } else {
        fputs("warpfold: ", stderr);
        put_name(stderr, text, strlen(text));
        fputc('\n', stderr);
    }
    free(line);
}

static void say_list(const char *format, va_list arguments) {
    char cut[1024], *whole = NULL;
    va_list again;
    va_copy(again, arguments);
    if (vsnprintf(cut, sizeof cut, format, arguments) >= (int)sizeof cut &&
        vasprintf(&whole, format, again) < 0)
        whole = NULL;
    va_end(again);
    say_text(whole ? whole : cut);
    free(whole);
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

static const char *usage_command = "";

void set_usage_command(const char *name) {
    usage_command = name;
}

int fail_usage(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    say_list(format, arguments);
    va_end(arguments);
    say("try 'warpfold %s%s--help'", usage_command, usage_command[0] ? " " : "");
    return STATUS_USAGE;
}

int fail_memory(void) {
    return fail("%s", wf_error_text(WF_ERROR_MEMORY));
}

const char *error_text(int error) {
    return error == ENOMEM ? wf_error_text(WF_ERROR_MEMORY) : strerror(error);
}

int fail_library(const wf_handle *handle, wf_error error) {
    return (error == WF_ERROR_UNSUPPORTED ? fail_usage : fail)("%s", wf_handle_message(handle));
}

int fail_lines(const char *text) {
    while (*text) {
        int length = (int)strcspn(text, "\n");
        if (length > 0) say("%.*s", length, text);
        text += length + (text[length] == '\n');
    }
    return STATUS_FAILED;
}

const char *file_name(const char *operand) {
    return strcmp(operand, "-") ? operand : "standard input";
}

/* ---- standard output ----------------------------------------------------------------------------- */

static int begin_files(struct file_draft *drafts, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (!file_begin(&drafts[i])) {
            int error = errno;
            for (size_t begun = 0; begun < i; begun++) file_drop(&drafts[begun]);
            return fail("%s: cannot write: %s", drafts[i].path, error_text(error));
        }
    return STATUS_OK;
}

static int place_files(struct file_draft *drafts, size_t count) {
    int status = STATUS_OK;
    for (size_t i = 0; i < count; i++) {
        if (status)
            file_drop(&drafts[i]);
        else if (!file_place(&drafts[i]))
            status = fail("%s: cannot write: %s", drafts[i].path, error_text(errno));
    }
    return status;
}

int deliver(struct file_draft *drafts, size_t count, const struct page *page) {
    int status = begin_files(drafts, count);
    if (!status) status = place_files(drafts, count);
    if (page && !status &&
        (!write_all(STDOUT_FILENO, page->text, page->length) || !close_copy(STDOUT_FILENO)))
        status = fail("standard output: %s", error_text(errno));
    return status;
}

/* The write function of the stream that deliver_by opens: errno of its first failure stays in the cookie. */
static ssize_t write_through(void *cookie, const char *data, size_t nbytes) {
    int *error = cookie;
    if (!*error && !write_all(STDOUT_FILENO, data, nbytes)) *error = errno;
    return *error ? 0 : (ssize_t)nbytes;
}

int deliver_by(struct file_draft *drafts, size_t count, bool (*put)(FILE *stream, void *context), void *context) {
    int error = 0;
    FILE *stream = fopencookie(&error, "w", (cookie_io_functions_t){.write = write_through});
    if (!stream) return fail_memory();
    int status = deliver(drafts, count, NULL);
    const bool is_put = status || put(stream, context);
    const bool is_closed = !fclose(stream);
    if (status) return status;
    if (!error && !close_copy(STDOUT_FILENO)) error = errno;
    if (error) return fail("standard output: %s", error_text(error));
    return is_put && is_closed ? STATUS_OK : fail_memory();
}

int page_print(struct page *page) {
    int status = page_end(page) ? deliver(NULL, 0, page) : fail_memory();
    page_clear(page);
    return status;
}

int deliver_html(const char *path, struct page *html, const struct page *printed) {
    struct file_draft draft = {.path = path, .pieces = {{html->text, html->length}}, .piece_count = 1};
    int status = deliver(&draft, 1, printed);
    page_clear(html);
    return status;
}

bool wants_colour(void) {
    const char *no_colour = getenv("NO_COLOR");
    return isatty(STDOUT_FILENO) && !(no_colour && no_colour[0]);
}
