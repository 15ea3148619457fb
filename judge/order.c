#include "order.h"

#include <string.h>

static bool lacks(const simt_finding_detail *detail, const char *cure) { return detail->missing && !strcmp(detail->missing, cure); }

static bool is_of_barrier(const simt_finding_detail *detail) { return lacks(detail, "__syncthreads()") || lacks(detail, "__syncwarp()"); }

/* The line that comes later in the program's order; of a loop that lacks a barrier all of its lines. */
static void hold(const simt_report *report, size_t finding, struct order *order) {
    const simt_finding *race = simt_report_finding(report, finding);
    const uint32_t line = simt_report_finding_detail(report, finding)->other_is_later ? race->other_line : race->line;
    simt_held_lines lines = {line, line};
    if (order->held_count == HELD_MAX) return;
    if (simt_report_finding_pairs(report, finding, &lines.first, &lines.last) < 2) lines = (simt_held_lines){line, line};
    order->held[order->held_count++] = lines;
}

void order_of(const simt_report *report, struct order *order) {
    *order = (struct order){.held_count = 0};
    for (size_t i = 0; i < simt_report_finding_count(report); i++) {
        const simt_finding_detail *detail = simt_report_finding_detail(report, i);
        if (simt_report_finding(report, i)->kind != SIMT_FINDING_RACE) continue;
        if (is_of_barrier(detail)) hold(report, i, order);
        else order->has_others = true;
        order->is_uncertain |= !detail->missing || lacks(detail, "__syncwarp()");
    }
}
