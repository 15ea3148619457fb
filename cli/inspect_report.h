/* What inspect prints of a launch. */
#ifndef CLI_INSPECT_REPORT_H
#define CLI_INSPECT_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "simt.h"

struct inspection_report {
    const char *kernel; /* as its author, or --kernel, has it */
    const char *path;
    const simt_launch *launch;
    const simt_report *counts;
    const char *printed; /* by the kernel */
    size_t printed_nbytes;
    bool is_stopped;
};

void put_report(FILE *stream, const struct inspection_report *report);
void put_report_json(FILE *stream, const struct inspection_report *report);

#endif
