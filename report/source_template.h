/* Templates of kernels: what their parameters stand for. */
#ifndef REPORT_SOURCE_TEMPLATE_H
#define REPORT_SOURCE_TEMPLATE_H

#include <stdbool.h>
#include <stddef.h>

/* The text with the arguments of `instance`, scale<float, 4>, as macros before it: #define T float.  `open`: the bracket of
 * the function's parameters.  NULL: it is no such template, or there is no memory. */
char *template_define(const char *text, const char *open, const char *instance);

/* "scale<float, 256>" for a template of that name: defaults, or values of the usual meaning.  false: it is none, or too long. */
bool template_suggest(const char *text, const char *open, const char *name, const char *name_end, char *instance, size_t nbytes);

#endif
