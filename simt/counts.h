/* What the counting observers share: counts that add up from block to launch. */
#ifndef SIMT_COUNTS_H
#define SIMT_COUNTS_H

#include "observer.h"

static inline uint32_t lane_count(uint32_t lanes) {
    return lanes == UINT32_MAX ? 32 : (uint32_t)__builtin_popcount(lanes); /* most warps are full */
}

static inline void counts_add(uint64_t *total, const uint64_t *counts, size_t count) {
    for (size_t i = 0; i < count; i++) total[i] += counts[i];
}

static inline void counts_report(simt_report *report, const char *const *names, const uint64_t *counts,
                                 size_t count) {
    for (size_t i = 0; i < count; i++) simt_report_add(report, names[i], (double)counts[i]);
}

/* What was used of what was paid for; all of it where nothing was. */
static inline double share(double used, double paid) {
    return paid > 0 ? used / paid : 1;
}

#endif
