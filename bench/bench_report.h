/* What the benchmark found, as JSON and as a table. */
#ifndef CLI_BENCH_REPORT_H
#define CLI_BENCH_REPORT_H

#include <stdio.h>

#include "bench_case.h"
#include "bench_peers.h"

enum { BENCH_ROUNDS_MAX = 32, BENCH_ENTRIES_MAX = 6 };

/* Of one runner, in one case. */
struct bench_entry {
    const char *name;
    int rounds;                      /* that it took part in: the first ones */
    double sample[BENCH_ROUNDS_MAX]; /* nanoseconds of a reduction, in each of them */
    double time;                     /* their median */
    double share;                    /* the median of the ceiling's sample over this one's, round by round */
    double error;                    /* see bench_error */
    wf_value result;                 /* of no type: several values, or none */
};

struct bench_row {
    struct bench_case what;
    int entry_count;
    struct bench_entry entry[BENCH_ENTRIES_MAX]; /* the first is the read ceiling, the second warpfold */
};

struct bench_report {
    const char *device;
    const struct bench_peer *peer;
    int peer_count;
    int processors;
    struct bench_row *row;
    int row_count;
};

/* Sets the medians from the samples. */
void bench_row_finish(struct bench_row *row);

void bench_put_json(FILE *stream, const struct bench_report *report);
void bench_put_table(FILE *stream, const struct bench_report *report);

#endif
