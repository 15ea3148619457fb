/* The report of inspect on a launch. */
#ifndef REPORT_INSPECT_REPORT_H
#define REPORT_INSPECT_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "inspect_source.h"
#include "simt/simt.h"

struct inspection_report {
    const char *kernel; /* as its author, or --kernel, has it */
    const char *path;
    const char *ptx; /* the module's text */
    simt_settings machine;
    const simt_launch *launch;
    const simt_report *counts;
    struct sources sources;
    const char *printed; /* by the kernel */
    size_t printed_nbytes;
    bool is_stopped;
};

/* The counts that come first, in this order; NULL at the end. */
extern const char *const report_main_counts[];
double report_count(const struct inspection_report *report, const char *name);

/* "lockstep", "random:5" */
void put_schedule(FILE *stream, const simt_launch *launch);

void put_report(FILE *stream, const struct inspection_report *report, bool has_colour);

/* inspect_json.c: an object on one line; with `in_full` also what the page draws: sources, PTX and its
 * counts, replays. */
void put_report_json(FILE *stream, const struct inspection_report *report, bool in_full);

/* inspect_heat.c: the sources with what each line cost. */
void put_heat(FILE *stream, const struct inspection_report *report, bool has_colour);

#endif
