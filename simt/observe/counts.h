/* Shared by the counting observers: counts that add up from block to launch. */
#ifndef SIMT_COUNTS_H
#define SIMT_COUNTS_H

#include "lane_mask.h"
#include "simt_observer.h"

static inline void counts_add(uint64_t *total, const uint64_t *counts, size_t count) {
    for (size_t i = 0; i < count; i++) total[i] += counts[i];
}

static inline void counts_report(simt_report *report, const char *const *names, const uint64_t *counts,
                                 size_t count) {
    for (size_t i = 0; i < count; i++) simt_report_add(report, names[i], (double)counts[i]);
}

/* The used share of a cost; 1 if the cost is 0. */
static inline double share(double used, double paid) {
    return paid > 0 ? used / paid : 1;
}

#endif
