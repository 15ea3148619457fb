/* The benchmark's arrays: the same numbers on every machine, whatever the number of threads. */
#ifndef CLI_BENCH_DATA_H
#define CLI_BENCH_DATA_H

#include <stdbool.h>
#include <stdint.h>

#include "bench_pool.h"
#include "kinds.h"
#include "warpfold.h"

/* The word list of the option --data, in the order of the enumeration. */
#define BENCH_DATA_WORD(name) #name "|"
#define BENCH_DATA_NAMES BENCH_KINDS(BENCH_DATA_WORD) "zeros"

/* Of integers there are BENCH_UNIFORM (i8: all values; i32: those of 24 bits) and BENCH_ZEROS. */
enum bench_data {
    BENCH_UNIFORM = BENCH_KIND_uniform,
    BENCH_WIDE20 = BENCH_KIND_wide20,
    BENCH_WIDE100 = BENCH_KIND_wide100,
    BENCH_FULL = BENCH_KIND_full,
    BENCH_ZEROS = BENCH_KIND_COUNT,
    BENCH_DATA_COUNT
};

const char *bench_data_name(enum bench_data data);

/* Is there such data of the type (f32 f64 bf16 f16 i32 i8)? */
bool bench_data_exists(enum bench_data data, wf_type type);

void bench_data_fill(void *into, wf_type type, enum bench_data data, int64_t count, struct bench_pool *pool);

#endif
