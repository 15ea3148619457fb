#include <math.h>

#include "bench_peers.h"

#define NAME(op) op##_f32
#define ELEMENT float
#define SUM float
#define SUM_FIELD f32
#define MOMENT float
#define MOMENT_FIELD f32
#define EXTREME_FIELD f32
#include "bench_plain.inc"

#define NAME(op) op##_f64
#define ELEMENT double
#define SUM double
#define SUM_FIELD f64
#define MOMENT double
#define MOMENT_FIELD f64
#define EXTREME_FIELD f64
#include "bench_plain.inc"

#define NAME(op) op##_i32
#define ELEMENT int32_t
#define SUM int64_t
#define SUM_FIELD i
#define MOMENT double
#define MOMENT_FIELD f64
#define EXTREME_FIELD i
#include "bench_plain.inc"

#define NAME(op) op##_i8
#define ELEMENT int8_t
#define SUM int64_t
#define SUM_FIELD i
#define MOMENT double
#define MOMENT_FIELD f64
#define EXTREME_FIELD i
#include "bench_plain.inc"

typedef void plain_function(const void *data, const void *other, size_t count, wf_value *result);

#define LOOPS(op)                                                                                            \
    { op##_f32, op##_f64, op##_i32, op##_i8 }

static const struct {
    wf_op op;
    plain_function *loop[4]; /* f32 f64 i32 i8 */
} plain[] = {
    {WF_SUM, LOOPS(sum)},       {WF_NORM1, LOOPS(norm1)},   {WF_DOT, LOOPS(dot)},
    {WF_NORM2, LOOPS(norm2)},   {WF_MEAN, LOOPS(mean)},     {WF_VAR, LOOPS(var)},
    {WF_STD, LOOPS(std)},       {WF_MIN, LOOPS(min)},       {WF_MAX, LOOPS(max)},
    {WF_ARGMIN, LOOPS(argmin)}, {WF_ARGMAX, LOOPS(argmax)}, {WF_NONZERO, LOOPS(nonzero)},
    {WF_ANY, LOOPS(any)},
};

static const wf_type types[] = {WF_F32, WF_F64, WF_I32, WF_I8};

static plain_function *find_loop(wf_op op, wf_type type) {
    for (size_t i = 0; i < sizeof plain / sizeof plain[0]; i++)
        for (size_t k = 0; plain[i].op == op && k < sizeof types / sizeof types[0]; k++)
            if (types[k] == type) return plain[i].loop[k];
    return NULL;
}

static double time_plain(struct bench_runner *self, const struct bench_case *what, long calls,
                         wf_value *result) {
    plain_function *volatile loop = find_loop(what->op, what->type); /* volatile: nothing is known of it */
    const void *other = what->op == WF_DOT ? bench_case_half(what) : NULL;
    size_t count = (size_t)(what->op == WF_DOT ? what->count / 2 : what->count);
    (void)self;
    if (!loop || what->threads > 1) return -1;
    double start = bench_now();
    for (long i = 0; i < calls; i++) loop(what->array, other, count, result);
    return (bench_now() - start) / (double)calls;
}

#if defined(__clang__)
#define COMPILER __VERSION__
#else
#define COMPILER "gcc " __VERSION__
#endif

static void close_plain(struct bench_peer *peer) {
    (void)peer;
}

void bench_open_plain(struct bench_peer *peer) {
    *peer = (struct bench_peer){.runner = {.time = time_plain},
                                .name = "plain loop",
                                .version = COMPILER " -O3",
                                .close = close_plain};
}
