/* What median, quantile, distinct and histogram share with tables. */
#ifndef CLI_ORDER_H
#define CLI_ORDER_H

#include "options.h"

/* The numbers of --q; of median, 0.5.  *q is the caller's to free, in any case.  Returns a status, having said what is wrong. */
int order_parse_quantiles(const struct settings *settings, double **q, int64_t *count);

#endif
