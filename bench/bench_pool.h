/* Threads of the benchmark's own, for its data, its references and its read ceilings: the instrument shares
 * nothing with what it measures. */
#ifndef CLI_BENCH_POOL_H
#define CLI_BENCH_POOL_H

#include <stddef.h>

struct bench_pool;

/* NULL where the system refuses. */
struct bench_pool *bench_pool_create(int threads);
void bench_pool_destroy(struct bench_pool *pool);
int bench_pool_threads(const struct bench_pool *pool);

/* Cuts 0 <= i < count into pieces and hands them out, as threads come free, to at most `threads` of them:
 * each piece is one call of work(context, thread, begin, end), thread < threads. */
typedef void bench_work(void *context, int thread, size_t begin, size_t end);
void bench_pool_run(struct bench_pool *pool, int threads, size_t count, size_t piece, bench_work *work,
                    void *context);

#endif
