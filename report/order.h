/* Quantiles, histograms and numbers of distinct values, as text and as JSON. */
#ifndef REPORT_ORDER_H
#define REPORT_ORDER_H

#include <stdio.h>

#include "report/reduction.h"

/* type: of the elements; q: NULL for the median, the only value then.  Of several quantiles, a line each. */
struct quantile_results {
    wf_type type;
    const double *q;
    const wf_value *values;
    int64_t count;
};
void put_quantiles(FILE *stream, const struct quantile_results *results, struct reduction_format format);

void put_distinct(FILE *stream, wf_type type, int64_t count, bool json);

/* counts as wf_count_bins sets them; that of NaN is -1 if they were omitted.  width: of the terminal, for a picture; 0: rows
 * of lower edge, upper edge and count, separated by tabs.  Elements outside of the edges, and NaN, have rows of their own. */
struct histogram_results {
    wf_type type;
    const double *edges;
    int64_t edge_count;
    const int64_t *counts;
};
void put_histogram(FILE *stream, const struct histogram_results *results, struct reduction_format format, int width);

#endif
