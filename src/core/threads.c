#include "core/threads.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

struct wf_threads {
    pthread_mutex_t lock;
    pthread_cond_t has_work, is_done;
    pthread_t *thread;
    int thread_count;
    bool stopping;
    int invited;        /* threads that may join this job */
    int busy;           /* threads that are invited or at work */
    void (*work)(void *context, int i);
    void *context;
    int count;
    atomic_int next;    /* the next i to be taken */
};

struct wf_threads *wf_threads_create(void) {
    struct wf_threads *threads = calloc(1, sizeof *threads);
    if (!threads) return NULL;
    pthread_mutex_init(&threads->lock, NULL);
    pthread_cond_init(&threads->has_work, NULL);
    pthread_cond_init(&threads->is_done, NULL);
    return threads;
}

static void take_work(struct wf_threads *threads) {
    for (int i; (i = atomic_fetch_add(&threads->next, 1)) < threads->count;) threads->work(threads->context, i);
}

static void *serve(void *argument) {
    struct wf_threads *threads = argument;
    pthread_mutex_lock(&threads->lock);
    while (true) {
        while (!threads->invited && !threads->stopping)
            pthread_cond_wait(&threads->has_work, &threads->lock);
        if (threads->stopping) break;
        threads->invited--;
        pthread_mutex_unlock(&threads->lock);
        take_work(threads);
        pthread_mutex_lock(&threads->lock);
        if (--threads->busy == 0) pthread_cond_signal(&threads->is_done);
    }
    pthread_mutex_unlock(&threads->lock);
    return NULL;
}

/* Signals are for the threads of the program. */
static bool start_thread(struct wf_threads *threads) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool started = pthread_create(&threads->thread[threads->thread_count], NULL, serve, threads) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    threads->thread_count += started;
    return started;
}

static void grow(struct wf_threads *threads, int thread_count) {
    if (thread_count <= threads->thread_count) return;
    pthread_t *larger = realloc(threads->thread, (size_t)thread_count * sizeof *larger);
    if (!larger) return;
    threads->thread = larger;
    while (threads->thread_count < thread_count && start_thread(threads)) continue;
}

void wf_threads_run(struct wf_threads *threads, int count, void (*work)(void *context, int i), void *context) {
    if (count == 1) { /* without locks: a fifth of the time of small groups */
        work(context, 0);
        return;
    }
    grow(threads, count - 1);
    int helpers = count - 1 < threads->thread_count ? count - 1 : threads->thread_count;
    pthread_mutex_lock(&threads->lock);
    threads->work = work;
    threads->context = context;
    threads->count = count;
    atomic_store(&threads->next, 0);
    threads->invited = threads->busy = helpers;
    pthread_cond_broadcast(&threads->has_work);
    pthread_mutex_unlock(&threads->lock);
    take_work(threads);
    pthread_mutex_lock(&threads->lock);
    while (threads->busy) pthread_cond_wait(&threads->is_done, &threads->lock);
    pthread_mutex_unlock(&threads->lock);
}

void wf_threads_destroy(struct wf_threads *threads) {
    if (!threads) return;
    pthread_mutex_lock(&threads->lock);
    threads->stopping = true;
    pthread_cond_broadcast(&threads->has_work);
    pthread_mutex_unlock(&threads->lock);
    for (int i = 0; i < threads->thread_count; i++) pthread_join(threads->thread[i], NULL);
    pthread_cond_destroy(&threads->is_done);
    pthread_cond_destroy(&threads->has_work);
    pthread_mutex_destroy(&threads->lock);
    free(threads->thread);
    free(threads);
}
