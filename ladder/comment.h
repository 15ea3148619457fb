/* The first comment of a source in ladder/: lines of the form "// Fact: value", which tell the host about it.
 */
#ifndef LADDER_COMMENT_H
#define LADDER_COMMENT_H

#include <stdbool.h>
#include <stddef.h>

#include "files.h"

struct ladder_line {
    const char *text;
    size_t length; /* without white space at the end */
};

/* false at the end of the text. */
bool ladder_next_line(const char **rest, struct ladder_line *line);

/* Copies the text after the prefix and white space; false if the line does not have the prefix. */
bool ladder_text_after(const struct ladder_line *line, const char *prefix, char *text, size_t capacity);

/* The value of the file's fact of that name ("// Misprint:"), the first one for index 0.  Lines that continue
 * with it begin with "//" and two blanks or more; one blank joins them.  false: there is none. */
bool ladder_fact(const struct ladder_file *file, const char *name, size_t index, char *text, size_t capacity);

#endif
