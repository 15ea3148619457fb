/* The read ceiling: the fastest pass over the same memory that only loads it, with no more threads. */
#ifndef CLI_BENCH_CEILING_H
#define CLI_BENCH_CEILING_H

#include "bench_pool.h"

struct bench_ceiling {
    const char *name; /* of the loop, in words */
    void (*load)(const unsigned char *data, size_t nbytes);
    int threads;
};

/* The loop that is the fastest over this memory here and now, with at most that many threads. */
struct bench_ceiling bench_ceiling_choose(struct bench_pool *pool, int threads, const void *data,
                                          size_t nbytes);

/* Nanoseconds that each of `calls` passes takes. */
double bench_ceiling_time(const struct bench_ceiling *ceiling, struct bench_pool *pool, const void *data,
                          size_t nbytes, long calls);

#endif
