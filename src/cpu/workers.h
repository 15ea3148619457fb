/* The state of a CPU handle and of its threads, and how they add what a view shows. */
#ifndef WF_CPU_WORKERS_H
#define WF_CPU_WORKERS_H

#include "core/handle.h"
#include "core/labels.h"
#include "core/pages.h"
#include "core/threads.h"
#include "core/view.h"
#include "cpu/columns.h"
#include "cpu/guessed.h"
#include "cpu/tier.h"

/* A way that is tried where it may fail: after a failure it is left out for a while, the longer the more followed each other. */
struct attempt {
    int left_out, last; /* that many more times; and as often since the last failure */
};

/* Whether to try it. */
static inline bool wf_attempt_is_due(struct attempt *attempt) {
    return !attempt->left_out || !attempt->left_out--;
}

/* first: how often it is left out after a failure that follows none. */
static inline void wf_attempt_note(struct attempt *attempt, bool has_worked, int first) {
    enum { MOST = 15 };
    attempt->last = has_worked ? 0 : attempt->last < first ? first : attempt->last < MOST / 2 ? 2 * attempt->last + 1 : MOST;
    attempt->left_out = attempt->last;
}

/* The state of one thread. */
struct worker {
    _Alignas(64) unsigned char copy[2][WF_BLOCK_NBYTES], scaled[2][WF_STRETCH_NBYTES];
    struct wf_scratch scratch;
    struct guessed guessed; /* from whose elements, in scratch */
    struct wf_bins bins[WF_BINS_SETS];
    struct wf_accumulator partial;
    struct wf_tree tree; /* the partial's */
    struct wf_losses losses; /* the partial's */
    struct wf_columns *columns; /* NULL: not needed yet */
    bool had_nans;              /* that were taken out of the last rows: the next ones are likely to have some, too */
    struct attempt panels_apart; /* sums of columns that are apart through a window; otherwise of copies at once */
    struct attempt few_rows;    /* panels by registers, which may hold too little; otherwise by bounds at once */
    struct attempt exact_rows, rows_apart; /* sums of rows that the processor tells to be exact, and of elements apart */
    struct attempt row_windows;            /* sums of rows through windows, which may not cover them; otherwise by bounds at once */
    struct wf_pages kept;       /* of a table by key, for the next one */
    int specials_expected; /* guess.specials as the last call began with it */
};

struct cpu {
    const struct wf_tier *tier;
    int processors;
    struct wf_threads *threads;
    struct worker **worker; /* the first for the caller's thread */
    int worker_count;
    struct job *groups_job; /* of the last reduction by groups, whose memory the next one has; NULL: there was none */
    struct wf_pages labels_kept[WF_LABELS_PAGES];
    struct keyed_table **table; /* of each thread's last reduction by key, whose memory the next one has; NULL: none */
    int table_count;
    struct wf_pages lost_kept, marks_kept; /* of the last reduction by key */
};

/* Adds count contiguous elements (pairs, where y is not NULL) on the caller's thread, with no memory but some 8 KiB of
 * the stack: for calls without a handle, too. */
void wf_cpu_add_alone(struct wf_accumulator *into, const struct wf_tier *tier, const void *x, const void *y,
                      int64_t count);

/* Workers for as many threads as there is memory for, at most count; returns how many. */
int wf_cpu_ensure_workers(struct cpu *cpu, int count);
void wf_cpu_destroy_workers(struct cpu *cpu);

/* Whether the worker has columns: makes them, unless memory is short. */
bool wf_worker_has_columns(struct worker *worker);

/* The most threads that a call with the handle may use. */
int wf_cpu_threads(const wf_handle *handle);

/* Adds all elements of the view, of which there is one at least; the first has index into->end_index.  On the
 * caller's thread, in the environment of wf_environment_enter: */
void wf_cpu_add_view(struct worker *worker, const struct wf_tier *tier, struct wf_accumulator *into,
                     const struct wf_view *view);
/* On as many threads as that many elements are worth, in any environment: */
void wf_cpu_add_view_in_parallel(wf_handle *handle, struct wf_accumulator *into, const struct wf_view *view);

/* Tells the losses of a reduction, unless these are NULL, what is known of that many elements to come. */
void wf_cpu_begin_losses(struct wf_accumulator *into, int64_t count);

/* As struct wf_device says. */
wf_error wf_cpu_add(wf_handle *handle, struct wf_accumulator *into, const wf_array *a, const wf_array *b);
wf_error wf_cpu_reduce_groups(wf_handle *handle, const struct wf_grouped *grouped);

#endif
