/* Text from outside, such as a file name, in a form that a terminal displays and does not obey. */
#ifndef WF_PRINTABLE_H
#define WF_PRINTABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "names.h"

enum wf_lines {
    WF_LINES_ESCAPED, /* one line in any case */
    WF_LINES_KEPT     /* line breaks and tabs stay: a text of several lines */
};

/* Valid, printable UTF-8 stays as it is.  Controls, bytes that are no UTF-8, and what turns the direction of
 * writing or shows nothing at all become \n, \x1b, \u202e.  A backslash stays, so that what has been through
 * here comes through again unchanged.  Writes no more than fits in capacity with the NUL, and no part of an
 * escape; returns the length, without the NUL, that all of it takes. */
size_t wf_printable(const char *text, size_t nbytes, enum wf_lines lines, char *out, size_t capacity);

/* The number of bytes of the text's first character; 0: it does not begin with valid UTF-8.  nbytes > 0. */
size_t wf_character_nbytes(const char *text, size_t nbytes);

/* A NUL-terminated text in printable form, to be freed by the caller; NULL: out of memory. */
char *wf_printable_copy(const char *text, enum wf_lines lines);

/* Replaces a text by its printable form, cut to the capacity of its array. */
void wf_printable_here(char *text, size_t capacity, enum wf_lines lines);

#endif
