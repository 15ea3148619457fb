/* Text that others chose, a file's name say, written so that a terminal shows it and does not obey it. */
#ifndef REPORT_PRINTED_H
#define REPORT_PRINTED_H

#include <stddef.h>
#include <stdio.h>

/* put_name escapes line breaks and tabs; put_lines keeps them. */
void put_name(FILE *stream, const char *text, size_t nbytes);
void put_lines(FILE *stream, const char *text, size_t nbytes);

/* The one line, in memory that is the caller's to free; NULL: there is none. */
char *copy_name(const char *text);

#endif
