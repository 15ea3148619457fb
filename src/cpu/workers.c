/* Cuts arrays into blocks, shares them out to threads, and joins what they gathered. */
#include "cpu/workers.h"
#include "core/array.h"
#include "core/environment.h"
#include "core/plan.h"

#include <stdatomic.h>
#include <stdlib.h>

/* ---- one thread ---- */

static void flush_bins(struct wf_accumulator *into, struct worker *worker) {
    if (wf_bins_are_empty(worker->bins, WF_BINS_SETS)) return; /* mostly, of few elements */
    struct wf_open_partial open = wf_accumulator_open(into);
    wf_bins_flush(&worker->bins[WF_BINS_OF_SUM], &open.sum, open.parts & WF_PART_ABS ? &open.abs : NULL);
    wf_bins_flush(&worker->bins[WF_BINS_OF_ABS], &open.abs, NULL);
    wf_bins_flush(&worker->bins[WF_BINS_OF_PRODUCTS], &open.product_sum, NULL);
    wf_bins_flush_powers(&worker->bins[WF_BINS_OF_POWERS], open.parts & WF_PART_SUM ? &open.sum : NULL,
                          open.parts & WF_PART_ABS ? &open.abs : NULL, &open.product_sum);
    for (int i = 0; i < WF_BINS_SETS; i++) worker->bins[i].are_many = false;
}

/* A block adds fewer than 2^18 pieces to a digit, a run, or the bins at the end, fewer than 2^20; a digit takes
 * 2^30 before it must be normalised. */
static void count_block(struct wf_accumulator *into) {
    enum { BLOCKS_MAX = 256 };
    if (++into->blocks < BLOCKS_MAX) return;
    wf_partial_normalise(&into->partial, into->type, into->parts);
    into->blocks = 0;
}

/* Whether blocks of a range that is that wide take longer than others. */
static bool is_wide_guess(const struct wf_guess *guess) {
    enum { WIDE = 128 };
    bool wide = false;
    for (int block = 0; block < guess->known; block++)
        for (int operand = 0; operand < 2; operand++)
            wide |= guess->top[block][operand] - guess->low[block][operand] > WIDE;
    return wide;
}

/* A call whose last blocks had infinities or NaNs has raised what it began with.  After it, they are expected in the first
 * blocks of a like one: to take out none costs little, but a pass that fails is repeated. */
static void expect_specials_again(struct worker *worker, bool is_alike) {
    enum { BLOCKS = 4 };
    struct wf_guess *guess = &worker->scratch.guess;
    guess->specials = is_alike && guess->specials > worker->specials_expected ? BLOCKS : 0;
    worker->specials_expected = guess->specials;
}

/* The more, the more often that has happened. */
static int calls_after(int before) {
    enum { CALLS_MAX = 7 };
    return 2 * before + 1 < CALLS_MAX ? 2 * before + 1 : CALLS_MAX;
}

/* A call whose sums may lack something begins as those before it have ended. */
static void begin_first_attempt(struct wf_lossy_guess *guess) {
    const bool was_of_use = guess->blocks > 0;
    if (was_of_use) guess->refused /= 2;
    if (was_of_use && !guess->is_deep) guess->deepened /= 2;
    guess->is_deep = guess->deep > 0;
    if (guess->deep) guess->deep--;
}

/* After an attempt whose sums lacked too much, they lack less, if that is of use where sums cancel, or nothing. */
static void begin_further_attempt(struct wf_lossy_guess *guess, bool may_be_deep) {
    if (may_be_deep && !guess->is_deep && !guess->refused) {
        guess->deep = guess->deepened = calls_after(guess->deepened);
        guess->is_deep = true;
        guess->blocks = 0; /* unless a window of as many levels holds all that they have */
        return;
    }
    guess->waits = guess->refused = calls_after(guess->refused);
    guess->is_deep = false;
    guess->deep = guess->deepened = guess->blocks = 0;
}

/* What a call begins with.  After one whose sums lacked too much, some are exact, or lack less. */
static void begin_lossy(struct wf_lossy_guess *guess, const struct wf_accumulator *into, bool is_alike) {
    const bool may_cancel = into->parts == WF_PART_SUM || into->parts == WF_PART_DOT;
    if (!is_alike) *guess = (struct wf_lossy_guess){.is_new = false};
    guess->is_new = true;
    if (guess->waits) guess->waits--;
    if (!into->losses) return;
    if (into->losses->allowed == WF_LOSE_MUCH)
        begin_first_attempt(guess);
    else
        begin_further_attempt(guess, may_cancel && into->losses->allowed == WF_LOSE_LITTLE);
}

/* Guesses are of use for the next call where it adds the same parts of the same type, and they were cheap. From others
 * it would take several slow blocks to learn better ones. */
static void forget_other_guesses(struct worker *worker, const struct wf_accumulator *into) {
    struct wf_guess *guess = &worker->scratch.guess;
    bool is_alike = are_guesses_for(&worker->guessed, into);
    expect_specials_again(worker, is_alike);
    guess->outliers = guess->outliers > 0;
    begin_lossy(&worker->scratch.lossy, into, is_alike);
    if (is_alike && !is_wide_guess(guess)) return;
    *guess = (struct wf_guess){.specials = guess->specials};
}

/* Adds count elements that lie side by side, cut into runs and blocks. */
static void add_contiguous(struct wf_accumulator *into, struct wf_scratch *scratch, const struct wf_tier *tier,
                           const unsigned char *x, const unsigned char *y, int64_t count, int64_t index) {
    size_t nbytes = wf_type_nbytes(into->type), block = WF_BLOCK_NBYTES / nbytes, run = WF_RUN_NBYTES / nbytes;
    wf_run_function *add_run = y ? NULL : tier->add_run[into->type];
    struct wf_open_partial open = wf_accumulator_open(into);
    size_t part;
    for (size_t i = 0; i < (size_t)count; i += part) {
        const unsigned char *from = x + i * nbytes;
        size_t left = (size_t)count - i;
        int64_t first = index + (int64_t)i;
        count_block(into);
        part = run;
        if (add_run && left >= run && add_run(&open, scratch, from, run, first)) continue;
        part = left < block ? left : block;
        tier->add_block[into->type](&open, scratch, from, y ? y + i * nbytes : NULL, part, first);
    }
}

/* Adds elements begin <= i < end of the view, the first of which has index `index`. */
static void add_range(struct wf_accumulator *into, struct worker *worker, const struct wf_tier *tier,
                      const struct wf_view *view, int64_t begin, int64_t end, int64_t index) {
    size_t block = WF_BLOCK_NBYTES / view->nbytes;
    while (begin < end) {
        const unsigned char *data[2] = {NULL, NULL};
        int64_t count = wf_view_block(view, begin, end - begin, block, worker->scratch.copy, data, tier->copy_strided);
        add_contiguous(into, &worker->scratch, tier, data[0], data[1], count, index);
        begin += count;
        index += count;
    }
}

void wf_cpu_add_alone(struct wf_accumulator *into, const struct wf_tier *tier, const void *x, const void *y,
                      int64_t count) {
    /* Of all operands together: the interface promises callers a limit of the stack. */
    enum { COPY_NBYTES = 2048, SCALED_NBYTES = 1024 };
    _Alignas(64) unsigned char copy[COPY_NBYTES], scaled[SCALED_NBYTES];
    struct wf_scratch scratch = {.copy = {copy, copy + COPY_NBYTES / 2},
                                 .copy_nbytes = COPY_NBYTES / (y ? 2 : 1),
                                 .scaled = {scaled, scaled + SCALED_NBYTES / 2},
                                 .scaled_nbytes = SCALED_NBYTES / 2};
    add_contiguous(into, &scratch, tier, x, y, count, into->end_index);
}

/* ---- several threads ---- */

struct job {
    struct cpu *cpu;
    const struct wf_view *view;
    struct wf_plan plan;
    int64_t index; /* of the view's first element */
    bool in_order; /* each thread takes one range, the others' neighbour */
    atomic_llong next;
};

static void reduce_share(void *context, int i) {
    struct job *job = context;
    struct worker *worker = job->cpu->worker[i];
    struct wf_accumulator *partial = &worker->partial;
    wf_environment callers = wf_environment_enter();
    forget_other_guesses(worker, partial);
    if (job->in_order) {
        int64_t begin = i * job->plan.chunk;
        int64_t end = begin + job->plan.chunk < job->view->count ? begin + job->plan.chunk : job->view->count;
        wf_accumulator_init_like(partial, partial, job->index + begin, &worker->tree);
        add_range(partial, worker, job->cpu->tier, job->view, begin, end, job->index + begin);
    } else {
        int64_t begin;
        while ((begin = atomic_fetch_add(&job->next, job->plan.chunk)) < job->view->count) {
            int64_t left = job->view->count - begin;
            int64_t end = begin + (left < job->plan.chunk ? left : job->plan.chunk);
            add_range(partial, worker, job->cpu->tier, job->view, begin, end, job->index + begin);
        }
    }
    flush_bins(partial, worker);
    wf_environment_leave(callers);
}

static struct worker *worker_create(void) {
    struct worker *worker = NULL;
    if (posix_memalign((void **)&worker, 64, sizeof *worker)) return NULL;
    for (int i = 0; i < WF_BINS_SETS; i++) {
        worker->bins[i].format.words = 0;
        worker->bins[i].are_many = false;
    }
    worker->columns = NULL;
    worker->had_nans = false;
    worker->panels_apart = worker->few_rows = worker->exact_rows = worker->rows_apart = worker->row_windows = (struct attempt){0, 0};
    worker->kept = (struct wf_pages){0};
    worker->guessed.type = WF_TYPE_DEFAULT;
    worker->specials_expected = 0;
    worker->scratch = (struct wf_scratch){.copy = {worker->copy[0], worker->copy[1]},
                                          .copy_nbytes = WF_BLOCK_NBYTES,
                                          .scaled = {worker->scaled[0], worker->scaled[1]},
                                          .scaled_nbytes = WF_STRETCH_NBYTES,
                                          .bins = worker->bins};
    return worker;
}

bool wf_worker_has_columns(struct worker *worker) {
    if (!worker->columns) worker->columns = wf_columns_create();
    return worker->columns;
}

int wf_cpu_ensure_workers(struct cpu *cpu, int count) {
    if (count <= cpu->worker_count) return count;
    struct worker **larger = realloc(cpu->worker, (size_t)count * sizeof *larger);
    if (!larger) return cpu->worker_count;
    cpu->worker = larger;
    while (cpu->worker_count < count && (larger[cpu->worker_count] = worker_create())) cpu->worker_count++;
    return cpu->worker_count;
}

/* Apart, so that one thread alone needs no stack for it. */
static __attribute__((noinline)) void add_in_parallel(struct cpu *cpu, struct wf_accumulator *into,
                                                      const struct wf_view *view, struct wf_plan plan,
                                                      bool in_order) {
    struct job job = {cpu, view, plan, into->end_index, in_order, 0};
    for (int i = 0; i < plan.threads; i++) {
        struct worker *worker = cpu->worker[i];
        wf_accumulator_init_like(&worker->partial, into, into->end_index, &worker->tree);
        if (into->losses) worker->losses = *into->losses; /* none yet */
        if (into->losses) worker->partial.losses = &worker->losses;
    }
    wf_threads_run(cpu->threads, plan.threads, reduce_share, &job);
    wf_environment callers = wf_environment_enter();
    for (int i = 0; i < plan.threads; i++) wf_accumulator_join(into, &cpu->worker[i]->partial);
    wf_environment_leave(callers);
}

/* Whether the elements lie side by side, and are one block's at most: then there is nothing to plan. */
static bool is_one_block(const wf_array *a, const wf_array *b) {
    int64_t nbytes = (int64_t)wf_type_nbytes(a->type);
    return wf_array_is_packed_vector(a, nbytes) && wf_array_length(a, 0) <= WF_BLOCK_NBYTES / nbytes &&
           (!b || wf_array_is_packed_vector(b, nbytes));
}

static void add_one_block(struct cpu *cpu, struct wf_accumulator *into, const wf_array *a,
                          const wf_array *b) {
    struct worker *worker = cpu->worker[0];
    wf_environment callers = wf_environment_enter();
    struct wf_open_partial open = wf_accumulator_open(into);
    forget_other_guesses(worker, into);
    count_block(into);
    cpu->tier->add_block[into->type](&open, &worker->scratch, a->data, b ? b->data : NULL,
                                     (size_t)wf_array_length(a, 0), into->end_index);
    flush_bins(into, worker);
    wf_environment_leave(callers);
}

void wf_cpu_add_view(struct worker *worker, const struct wf_tier *tier, struct wf_accumulator *into,
                     const struct wf_view *view) {
    forget_other_guesses(worker, into);
    add_range(into, worker, tier, view, 0, view->count, into->end_index);
    flush_bins(into, worker);
}

int wf_cpu_threads(const wf_handle *handle) {
    const struct cpu *cpu = handle->device_state;
    return handle->threads ? handle->threads : cpu->processors;
}

void wf_cpu_add_view_in_parallel(wf_handle *handle, struct wf_accumulator *into, const struct wf_view *view) {
    struct cpu *cpu = handle->device_state;
    bool in_order = into->tree;
    int64_t nbytes = (int64_t)view->nbytes * view->operands;
    struct wf_plan plan = wf_plan_make(view->count, nbytes, in_order, wf_cpu_threads(handle));
    int workers = wf_cpu_ensure_workers(cpu, plan.threads);
    if (workers < plan.threads) plan = wf_plan_make(view->count, nbytes, in_order, workers);
    if (plan.threads > 1) {
        add_in_parallel(cpu, into, view, plan, in_order);
        return;
    }
    wf_environment callers = wf_environment_enter();
    wf_cpu_add_view(cpu->worker[0], cpu->tier, into, view);
    wf_environment_leave(callers);
}

void wf_cpu_begin_losses(struct wf_accumulator *into, int64_t count) {
    enum { MANY = 1 << 20 };
    if (!into->losses) return;
    into->losses->nans_decide = into->nan != WF_NAN_OMIT && into->op != WF_STATS;
    into->losses->are_many = count > MANY;
}

wf_error wf_cpu_add(wf_handle *handle, struct wf_accumulator *into, const wf_array *a, const wf_array *b) {
    struct wf_view view;
    if (is_one_block(a, b)) {
        wf_cpu_begin_losses(into, wf_array_length(a, 0));
        add_one_block(handle->device_state, into, a, b);
        return WF_OK;
    }
    wf_view_make(&view, a, b, wf_accumulator_is_indexed(into));
    wf_cpu_begin_losses(into, view.count);
    wf_cpu_add_view_in_parallel(handle, into, &view);
    return WF_OK;
}

void wf_cpu_destroy_workers(struct cpu *cpu) {
    for (int i = 0; i < cpu->worker_count; i++) {
        wf_columns_destroy(cpu->worker[i]->columns);
        wf_pages_free(cpu->worker[i]->kept);
        free(cpu->worker[i]);
    }
    free(cpu->worker);
}
