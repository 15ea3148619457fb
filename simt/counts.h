/* What the counting observers share: counts that add up from block to launch. */
#ifndef SIMT_COUNTS_H
#define SIMT_COUNTS_H

#include "observer.h"

/* Most warps are full; of others the bits are added up in fields of two, four and eight, as not every processor
 * that this is compiled for counts them by itself. */
static inline uint32_t lane_count(uint32_t lanes) {
    if (lanes == UINT32_MAX || !lanes) return lanes & 32;
    lanes -= lanes >> 1 & 0x55555555;
    lanes = (lanes & 0x33333333) + (lanes >> 2 & 0x33333333);
    return ((lanes + (lanes >> 4)) & 0x0f0f0f0f) * 0x01010101 >> 24;
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
