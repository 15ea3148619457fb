/* What the command says: messages on standard error, results on standard output, exit statuses. */
#ifndef CLI_OUTPUT_H
#define CLI_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

#include "options.h"
#include "warpfold.h"

enum status { STATUS_OK = 0, STATUS_FAILED = 1, STATUS_USAGE = 2, STATUS_FINDINGS = 3 };

/* One line on standard error, after "warpfold: ". */
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The same, for what goes wrong: returns STATUS_FAILED, or STATUS_USAGE after naming the help. */
int fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
int fail_usage(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The handle's message for an error of the library, with the status that belongs to it. */
int fail_library(const wf_handle *handle, wf_error error);

/* What messages call the file that an operand names. */
const char *file_name(const char *operand);

/* Writes all of it, or returns false with errno set. */
bool write_all(int file, const void *data, size_t nbytes);

/* A text for standard output, which gets all of it or nothing: write to stream, then print. */
struct page {
    FILE *stream; /* NULL where there was no memory; page_print reports it */
    char *text;
    size_t length;
};

void page_open(struct page *page);
int page_print(struct page *page);

int print_result(const wf_accumulator *accumulator, const wf_value *result, const struct settings *settings);
int print_stats(const wf_accumulator *accumulator, const wf_stats *stats, const struct settings *settings);

#endif
