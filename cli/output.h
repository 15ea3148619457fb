/* The command's output: messages on standard error, results on standard output, exit statuses. */
#ifndef CLI_OUTPUT_H
#define CLI_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

#include "file.h"
#include "report/page.h"
#include "warpfold.h"

enum status { STATUS_OK = 0, STATUS_FAILED = 1, STATUS_USAGE = 2, STATUS_FINDINGS = 3 };

/* Prints one line on standard error, after "warpfold: ", with unprintable characters escaped. */
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Until it is called with NULL, messages are kept there, line by line, and not printed. */
void keep_messages(char *messages, size_t capacity);

/* The same, for what goes wrong: returns STATUS_FAILED, or STATUS_USAGE after naming the help. */
int fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The command whose help fail_usage names, once it is known; kept. */
void set_usage_command(const char *name);
int fail_usage(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* A text of several lines, each a message of its own: a compiler's words. */
int fail_lines(const char *text);

int fail_memory(void);

/* The text of an errno. */
const char *error_text(int error);

/* The handle's message for an error of the library, with the status that belongs to it. */
int fail_library(const wf_handle *handle, wf_error error);

/* The name by which messages refer to an operand. */
const char *file_name(const char *operand);

/* Hands on what a command has made: the files, and then, if there is a page, what it has printed.  Nothing is
 * printed if a file cannot be written, and no file is touched if another one cannot be written for lack of
 * room. The page has ended.  Returns the exit status, having said what went wrong. */
int deliver(struct file_draft *drafts, size_t count, const struct page *page);

/* The same with what put writes to a stream, as it comes: for what is too long to be kept as text.  put should need no
 * memory, as some of it may have been printed; false: there was none. */
int deliver_by(struct file_draft *drafts, size_t count, bool (*put)(FILE *stream, void *context), void *context);

/* Ends the page, prints it and clears it. */
int page_print(struct page *page);

/* Delivers an HTML page, which is then cleared, together with what is printed, if anything is. */
int deliver_html(const char *path, struct page *html, const struct page *printed);

/* Whether what is printed goes to a terminal, whose user has nothing against colours. */
bool wants_colour(void);

#endif
