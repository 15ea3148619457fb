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
void put_statistics(FILE *stream, const wf_accumulator *accumulator, const wf_stats *stats,
                    struct reduction_format format);

#endif
