/*
 * bench.h -- the benchmark: each case is verified, then timed in rounds beside the machine's read ceiling and
 * the peers that are there.
 *
 * Nothing is printed but, where it is asked for, what is going on, on a line of standard error that is erased
 * again.
 */
#ifndef BENCH_H
#define BENCH_H

#include "bench_data.h"
#include "bench_report.h"

/* Axes that are not named here are as in some selection of the benchmark's own. */
struct bench_request {
    wf_op op;         /* WF_OP_NONE: not named */
    wf_type type;     /* WF_TYPE_DEFAULT: not named */
    int data;         /* a bench_data; -1: not named */
    int64_t count;    /* of elements; 0: not named */
    int threads;      /* 0: not named */
    wf_nan nan;
    const char *peer; /* the command of a program that is measured, too, or NULL */
    bool is_quick;    /* smaller arrays, fewer rounds */
    bool is_shown;    /* what is going on */
};

enum bench_status {
    BENCH_OK,
    BENCH_FAILED,
    BENCH_NO_CASE /* of what was asked for */
};

struct bench;

/* *bench is to be closed in any case; NULL where there was no memory. */
enum bench_status bench_run(const struct bench_request *request, struct bench **bench);
void bench_close(struct bench *bench);

const struct bench_report *bench_result(const struct bench *bench);

/* What went wrong. */
const char *bench_message(const struct bench *bench);

#endif
