/* The benchmark's arrays: the same numbers on every machine, whatever the number of threads. */
#ifndef CLI_BENCH_DATA_H
#define CLI_BENCH_DATA_H

#include <stdbool.h>
#include <stdint.h>

#include "bench_pool.h"
#include "warpfold.h"

/* The word list of the option --data, in this order. */
#define BENCH_DATA_NAMES "uniform|zeros|wide20|wide100|full"

enum bench_data {
    BENCH_UNIFORM, /* floats: reals of (-1, 1), rounded; i8: all values; i32: those of 24 bits */
    BENCH_ZEROS,
    BENCH_WIDE20,  /* floats whose exponents spread evenly from -20 to 20; random signs */
    BENCH_WIDE100, /* from -100 to 100 */
    BENCH_FULL,    /* from the subnormals up, 32 short of the top so that no sum overflows */
    BENCH_DATA_COUNT
};

const char *bench_data_name(enum bench_data data);

/* Is there such data of the type (f32 f64 i32 i8)? */
bool bench_data_exists(enum bench_data data, wf_type type);

void bench_data_fill(void *into, wf_type type, enum bench_data data, int64_t count, struct bench_pool *pool);

#endif
