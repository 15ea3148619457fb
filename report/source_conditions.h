/* Which lines of a source its #if, #ifdef, #elif and #else leave. */
#ifndef REPORT_SOURCE_CONDITIONS_H
#define REPORT_SOURCE_CONDITIONS_H

/* The text, which has no comments, with blanks for the lines that the compiler skips.  Names are defined by the text, or by
 * nvcc.  NULL: no memory. */
char *source_taken(const char *text);

#endif
