/* The report of inspect on a launch. */
#ifndef REPORT_INSPECT_REPORT_H
#define REPORT_INSPECT_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "advice.h"
#include "inspect_source.h"
#include "simt/simt.h"

/* An argument of the kernel that points to memory; address 0: it is none. */
struct report_buffer {
    uint64_t address, count; /* elements */
    size_t element_nbytes;
    const char *name; /* NULL: not known */
    const char *type; /* of an element: "float" */
    const char *struct_type; /* "Point", if the elements are structs or vectors in the kernel's source */
    size_t struct_nbytes;    /* the size of that type; 0: there is none, or its size is not known */
};

/* Elements that were asked for. */
struct report_values {
    size_t argument;
    uint64_t count;
    char *text; /* with a blank between each two */
    bool is_expected; /* it was told what they must be: */
    uint64_t wrong_count, wrong_index; /* how many are not, and the first */
    char is[64], must_be[64];          /* that one */
};

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
    const struct report_buffer *buffers; /* by the argument's number */
    size_t buffer_count;
    const struct report_values *values;
    size_t value_count;
    struct advice advice[ADVICE_MAX];
    size_t advice_count;
};

/* The counts that come first, in this order, and what they mean; the last has no name. */
extern const struct report_main_count {
    const char *name, *legend;
} report_main_counts[];
double report_count(const struct inspection_report *report, const char *name);

/* "lockstep", "random:5" */
void put_schedule(FILE *stream, const simt_launch *launch);

bool report_is_checked(const struct inspection_report *report); /* it was told what a result must be, */
bool report_is_wrong(const struct inspection_report *report);   /* and it is not that */

/* "out[0] is 30, and must be 128; 2 of 4 are wrong" */
void wrong_message(const struct inspection_report *report, const struct report_values *values, char *text, size_t nbytes);

void put_report(FILE *stream, const struct inspection_report *report, bool has_colour);

/* inspect_words.c: the finding's message, and of an address the element that it is, cut where it is longer than the text. */
void finding_message(const struct inspection_report *report, const simt_finding *finding, char *text, size_t nbytes);

/* inspect_hosts.c: findings and advice for hosts of code. */
void put_report_sarif(FILE *stream, const struct inspection_report *report);
void put_report_annotations(FILE *stream, const struct inspection_report *report);

/* inspect_json.c: an object on one line; with `in_full` also what the page draws: sources, PTX and its
 * counts, replays. */
void put_report_json(FILE *stream, const struct inspection_report *report, bool in_full);

/* inspect_heat.c: the sources with what each line cost. */
void put_heat(FILE *stream, const struct inspection_report *report, bool has_colour);

#endif
