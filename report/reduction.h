/* The results of reductions, as text and as JSON. */
#ifndef REPORT_REDUCTION_H
#define REPORT_REDUCTION_H

#include <stdbool.h>
#include <stdio.h>

#include "warpfold.h"

struct reduction_format {
    bool hex, json;
};

void put_reduction(FILE *stream, const wf_accumulator *accumulator, const wf_value *result,
                   struct reduction_format format);
/* The results of a reduction along axes, in C order. */
struct result_array {
    const void *data;
    wf_type type;
    int32_t ndim;
    const int64_t *shape;
    int64_t count;
};

/* A line for each row of the last dimension, its values separated by a space; type is that of the elements. */
void put_results(FILE *stream, wf_op op, wf_type type, const struct result_array *results,
                 struct reduction_format format);
void put_statistics(FILE *stream, const wf_accumulator *accumulator, const wf_stats *stats,
                    struct reduction_format format);

#endif
