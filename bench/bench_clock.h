/* Time. */
#ifndef CLI_BENCH_CLOCK_H
#define CLI_BENCH_CLOCK_H

#include <time.h>

/* In nanoseconds, from some moment. */
static inline double bench_now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return 1e9 * (double)time.tv_sec + (double)time.tv_nsec;
}

#endif
