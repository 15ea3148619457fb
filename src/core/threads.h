/* A pool of threads that sleep between calls.  Plain pthreads, so that a thread checker can prove it, and so
 * that a process that embeds the library gets no second runtime. */
#ifndef WF_CORE_THREADS_H
#define WF_CORE_THREADS_H

struct wf_threads;

/* An empty pool, or NULL without memory. */
struct wf_threads *wf_threads_create(void);
void wf_threads_destroy(struct wf_threads *threads);

/* Calls work(context, i) for every 0 <= i < count, each once, on up to count threads (the caller's is one),
 * and returns when all have returned.  Threads are started when first needed; where the system refuses more,
 * fewer do the work. */
void wf_threads_run(struct wf_threads *threads, int count, void (*work)(void *context, int i), void *context);

#endif
