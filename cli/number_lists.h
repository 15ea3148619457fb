/* Lists of numbers as options have them.  Functions return a status, having said what is wrong. */
#ifndef CLI_NUMBER_LISTS_H
#define CLI_NUMBER_LISTS_H

#include "options.h"

/* "0.5,0.99", into an array of the caller's, to be freed in any case. */
int parse_numbers(const char *option, const char *text, double **numbers, int64_t *count);

/* The numbers of --q; of median, 0.5.  *q is the caller's to free, in any case. */
int parse_quantiles(const struct settings *settings, double **q, int64_t *count);

#endif
