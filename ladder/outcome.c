/* The outcome of a run of a rung. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ladder.h"

void ladder_outcome_clear(struct ladder_outcome *outcome) {
    for (size_t i = 0; i < outcome->launch_count; i++) simt_report_destroy(outcome->reports[i]);
    free(outcome->partials);
    free(outcome->partial_indices);
    *outcome = (struct ladder_outcome){0};
}

/* ---- what was counted ---------------------------------------------------------------------------- */

static double sum_count(const struct ladder_outcome *outcome, const char *name, double otherwise) {
    double sum = 0;
    for (size_t i = 0; i < outcome->launch_count; i++)
        sum += simt_report_counter_value(outcome->reports[i], name, NAN);
    return isnan(sum) ? otherwise : sum;
}

/* Counts that are no sums. */
static const struct share {
    const char *name;
    const char *part, *whole; /* NULL: the first launch's own */
    double unit;              /* of the whole */
} shares[] = {
    {"utilization", "active_lanes", "lane_slots", 1},
    {"coalescing", "global_bytes", "global_sectors", 32},
    {"bank_degree", "shared_wavefronts", "shared_wavefronts_least", 1},
    {"resident_blocks", NULL, NULL, 1},
    {"occupancy", NULL, NULL, 1},
    {"waves", NULL, NULL, 1},
};

double ladder_outcome_count(const struct ladder_outcome *outcome, const char *name, double otherwise) {
    for (size_t i = 0; i < sizeof shares / sizeof shares[0]; i++) {
        const struct share *share = &shares[i];
        if (strcmp(share->name, name)) continue;
        if (!outcome->launch_count) return otherwise;
        double first = simt_report_counter_value(outcome->reports[0], name, otherwise);
        double whole = share->whole ? sum_count(outcome, share->whole, 0) : 0;
        return whole > 0 ? sum_count(outcome, share->part, 0) / (whole * share->unit) : first;
    }
    return outcome->launch_count ? sum_count(outcome, name, otherwise) : otherwise;
}

static size_t count_findings(const simt_report *report) {
    return report ? simt_report_finding_count(report) : 0;
}

size_t ladder_outcome_finding_count(const struct ladder_outcome *outcome) {
    size_t count = 0;
    for (size_t i = 0; i < outcome->launch_count; i++) count += count_findings(outcome->reports[i]);
    return count;
}

const simt_finding *ladder_outcome_finding(const struct ladder_outcome *outcome, size_t index) {
    for (size_t i = 0; i < outcome->launch_count; i++) {
        size_t count = count_findings(outcome->reports[i]);
        if (index < count) return simt_report_finding(outcome->reports[i], index);
        index -= count;
    }
    return NULL;
}
