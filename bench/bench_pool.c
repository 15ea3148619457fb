#include "bench_pool.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

struct bench_pool {
    pthread_mutex_t lock;
    pthread_cond_t has_work, is_done;
    pthread_t *helper; /* all but the caller's thread */
    int helper_count;
    int invited; /* helpers that have still to join this run, by their number */
    int busy;
    bool is_stopping;
    bench_work *work;
    void *context;
    size_t count, piece;
    atomic_size_t next;
};

static void take_pieces(struct bench_pool *pool, int thread) {
    size_t begin;
    while ((begin = atomic_fetch_add(&pool->next, pool->piece)) < pool->count) {
        size_t left = pool->count - begin;
        pool->work(pool->context, thread, begin, begin + (left < pool->piece ? left : pool->piece));
    }
}

static void *help(void *argument) {
    struct bench_pool *pool = argument;
    pthread_mutex_lock(&pool->lock);
    while (true) {
        while (!pool->invited && !pool->is_stopping) pthread_cond_wait(&pool->has_work, &pool->lock);
        if (pool->is_stopping) break;
        int thread = pool->invited--;
        pthread_mutex_unlock(&pool->lock);
        take_pieces(pool, thread);
        pthread_mutex_lock(&pool->lock);
        if (--pool->busy == 0) pthread_cond_signal(&pool->is_done);
    }
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

struct bench_pool *bench_pool_create(int threads) {
    struct bench_pool *pool = calloc(1, sizeof *pool);
    if (!pool) return NULL;
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->has_work, NULL);
    pthread_cond_init(&pool->is_done, NULL);
    pool->helper = calloc((size_t)threads, sizeof *pool->helper);
    while (pool->helper && pool->helper_count < threads - 1 &&
           !pthread_create(&pool->helper[pool->helper_count], NULL, help, pool))
        pool->helper_count++;
    if (bench_pool_threads(pool) == threads && pool->helper) return pool;
    bench_pool_destroy(pool);
    return NULL;
}

void bench_pool_destroy(struct bench_pool *pool) {
    if (!pool) return;
    pthread_mutex_lock(&pool->lock);
    pool->is_stopping = true;
    pthread_cond_broadcast(&pool->has_work);
    pthread_mutex_unlock(&pool->lock);
    for (int i = 0; i < pool->helper_count; i++) pthread_join(pool->helper[i], NULL);
    pthread_cond_destroy(&pool->has_work);
    pthread_cond_destroy(&pool->is_done);
    pthread_mutex_destroy(&pool->lock);
    free(pool->helper);
    free(pool);
}

int bench_pool_threads(const struct bench_pool *pool) {
    return pool->helper_count + 1;
}

void bench_pool_run(struct bench_pool *pool, int threads, size_t count, size_t piece, bench_work *work,
                    void *context) {
    if (threads == 1) {
        if (count) work(context, 0, 0, count);
        return;
    }
    pthread_mutex_lock(&pool->lock);
    pool->work = work;
    pool->context = context;
    pool->count = count;
    pool->piece = piece;
    atomic_store(&pool->next, 0);
    pool->invited = pool->busy = threads - 1;
    pthread_cond_broadcast(&pool->has_work);
    pthread_mutex_unlock(&pool->lock);
    take_pieces(pool, 0);
    pthread_mutex_lock(&pool->lock);
    while (pool->busy) pthread_cond_wait(&pool->is_done, &pool->lock);
    pthread_mutex_unlock(&pool->lock);
}
