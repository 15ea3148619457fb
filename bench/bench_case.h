/* What is measured, and who is. */
#ifndef CLI_BENCH_CASE_H
#define CLI_BENCH_CASE_H

#include "bench_clock.h"
#include "bench_data.h"

struct bench_case {
    const char *place; /* where the array lies, in a word */
    wf_op op;
    wf_type type;
    enum bench_data data;
    const void *array;
    int64_t count; /* elements of the array; dot pairs its first half with its second */
    int threads;
    int fill; /* counts the times that the array was filled anew */
};

static inline size_t bench_case_nbytes(const struct bench_case *what) {
    return (size_t)what->count * wf_type_nbytes(what->type);
}

/* The second operand of dot. */
static inline const void *bench_case_half(const struct bench_case *what) {
    return (const char *)what->array + (size_t)(what->count / 2) * wf_type_nbytes(what->type);
}

/* Someone who reduces arrays. */
struct bench_runner {
    const char *name;
    /* Nanoseconds that each of `calls` reductions takes, and their result, of the type given in it; below 0
     * where this runner has no such op, type or threads. */
    double (*time)(struct bench_runner *self, const struct bench_case *what, long calls, wf_value *result);
    void *state;
};

#endif
