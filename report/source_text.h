/* CUDA C as text: words, brackets, and the numbers that constant expressions stand for. */
#ifndef REPORT_SOURCE_TEXT_H
#define REPORT_SOURCE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

bool text_is_word(char c);
const char *text_skip_blanks(const char *text);
const char *text_skip_word(const char *text); /* and blanks behind it */
const char *text_before_blanks(const char *begin, const char *at); /* where those begin that stand before `at` */

/* The text with blanks in place of comments; NULL: no memory. */
char *text_without_comments(const char *text);

/* The next place of the whole word; NULL: none. */
const char *text_find_word(const char *text, const char *word, size_t length);

/* Behind the bracket that closes the one at `open`; NULL: it is not closed. */
const char *text_behind_bracket(const char *open);

/* The end of what stands before a comma, or before `end`, outside brackets and template arguments. */
const char *text_item_end(const char *at, const char *end);

/* What the expression is, whose names `text` defines; depth 0.  sizeof is element_nbytes. */
uint64_t text_evaluate(const char *text, const char *at, const char *end, size_t element_nbytes, int depth, bool *is_known);

/* dim3(a, b), a name that is one, or a number. */
bool text_read_extent(const char *text, const char *at, const char *end, uint64_t extent[3], int depth);

#endif
