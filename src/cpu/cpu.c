/* The CPU as a device: cuts arrays into blocks, shares them out to threads, and joins what they gathered. */
#define _GNU_SOURCE /* sched_getaffinity */

#include "cpu/cpu.h"
#include "core/environment.h"
#include "core/handle.h"
#include "core/plan.h"
#include "cpu/few.h"
#include "cpu/threads.h"
#include "cpu/view.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* One thread's own. */
struct worker {
    struct wf_scratch scratch;
    struct wf_bins bins[WF_BINS_SETS];
    struct wf_accumulator partial;
};

struct cpu {
    const struct wf_tier *tier;
    int processors;
    struct wf_threads *threads;
    struct worker **worker; /* the first for the caller's thread */
    int worker_count;
};

/* ---- one thread ---- */

static void flush_bins(struct wf_accumulator *into, struct wf_bins *bins) {
    wf_bins_flush(&bins[WF_BINS_OF_SUM], &into->sum);
    wf_bins_flush(&bins[WF_BINS_OF_ABS], &into->abs);
    wf_bins_flush(&bins[WF_BINS_OF_PRODUCTS], &into->products);
}

/* Adds count elements that lie side by side, cut into runs and blocks. */
static void add_contiguous(struct wf_accumulator *into, struct wf_scratch *scratch, const struct wf_tier *tier,
                           const unsigned char *x, const unsigned char *y, int64_t count, int64_t index) {
    size_t nbytes = wf_type_nbytes(into->type), block = WF_BLOCK_NBYTES / nbytes, run = WF_RUN_NBYTES / nbytes;
    wf_run_function *add_run = y ? NULL : tier->add_run[into->type];
    size_t part;
    for (size_t i = 0; i < (size_t)count; i += part) {
        const unsigned char *from = x + i * nbytes;
        size_t left = (size_t)count - i;
        int64_t first = index + (int64_t)i;
        part = run;
        if (add_run && left >= run && add_run(into, scratch, from, run, first)) continue;
        part = left < block ? left : block;
        tier->add_block[into->type](into, scratch, from, y ? y + i * nbytes : NULL, part, first);
    }
}

/* Adds elements begin <= i < end of the view, the first of which has index `index`. */
static void add_range(struct wf_accumulator *into, struct worker *worker, const struct wf_tier *tier,
                      const struct wf_view *view, int64_t begin, int64_t end, int64_t index) {
    unsigned char *buffer[2] = {worker->scratch.block[0], worker->scratch.block[1]};
    size_t block = WF_BLOCK_NBYTES / view->nbytes;
    while (begin < end) {
        const unsigned char *data[2] = {NULL, NULL};
        int64_t count = wf_view_block(view, begin, end - begin, block, buffer, data);
        add_contiguous(into, &worker->scratch, tier, data[0], data[1], count, index);
        begin += count;
        index += count;
    }
}

void wf_cpu_add_small(struct wf_accumulator *into, const struct wf_tier *tier, const void *x, const void *y,
                      int64_t count) {
    struct wf_scratch scratch;
    scratch.bins = NULL;
    scratch.guess = (struct wf_guess){0};
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

static void gather_partial(void *context, int i) {
    struct job *job = context;
    struct worker *worker = job->cpu->worker[i];
    struct wf_accumulator *partial = &worker->partial;
    wf_environment callers = wf_environment_enter();
    if (job->in_order) {
        int64_t begin = i * job->plan.chunk;
        int64_t end = begin + job->plan.chunk < job->view->count ? begin + job->plan.chunk : job->view->count;
        wf_accumulator_init_like(partial, partial, job->index + begin);
        add_range(partial, worker, job->cpu->tier, job->view, begin, end, job->index + begin);
    } else {
        int64_t begin;
        while ((begin = atomic_fetch_add(&job->next, job->plan.chunk)) < job->view->count) {
            int64_t left = job->view->count - begin;
            int64_t end = begin + (left < job->plan.chunk ? left : job->plan.chunk);
            add_range(partial, worker, job->cpu->tier, job->view, begin, end, job->index + begin);
        }
    }
    flush_bins(partial, worker->bins);
    wf_environment_leave(callers);
}

static struct worker *worker_create(void) {
    struct worker *worker = NULL;
    if (posix_memalign((void **)&worker, 64, sizeof *worker)) return NULL;
    for (int i = 0; i < WF_BINS_SETS; i++) worker->bins[i].type = WF_TYPE_DEFAULT;
    worker->scratch.bins = worker->bins;
    worker->scratch.guess = (struct wf_guess){0};
    return worker;
}

/* Workers for as many threads as there is memory for, at most count; returns how many. */
static int need_workers(struct cpu *cpu, int count) {
    if (count <= cpu->worker_count) return count;
    struct worker **larger = realloc(cpu->worker, (size_t)count * sizeof *larger);
    if (!larger) return cpu->worker_count;
    cpu->worker = larger;
    while (cpu->worker_count < count && (larger[cpu->worker_count] = worker_create())) cpu->worker_count++;
    return cpu->worker_count;
}

static void add_in_parallel(struct cpu *cpu, struct wf_accumulator *into, const struct wf_view *view,
                            struct wf_plan plan, bool in_order) {
    struct job job = {cpu, view, plan, into->end_index, in_order, 0};
    for (int i = 0; i < plan.threads; i++)
        wf_accumulator_init_like(&cpu->worker[i]->partial, into, into->end_index);
    wf_threads_run(cpu->threads, plan.threads, gather_partial, &job);
    wf_environment callers = wf_environment_enter();
    for (int i = 0; i < plan.threads; i++) wf_accumulator_join(into, &cpu->worker[i]->partial);
    wf_environment_leave(callers);
}

/* Whether the elements lie side by side, and are one block's at most: then there is nothing to plan. */
static bool is_one_block(const wf_array *a, const wf_array *b) {
    int64_t nbytes = (int64_t)wf_type_nbytes(a->type);
    if (a->ndim != 1 || a->shape[0] > WF_BLOCK_NBYTES || a->shape[0] * nbytes > WF_BLOCK_NBYTES) return false;
    return a->stride_bytes[0] == nbytes && (!b || b->stride_bytes[0] == nbytes);
}

static void add_one_block(struct cpu *cpu, struct wf_accumulator *into, const wf_array *a,
                          const wf_array *b) {
    struct worker *worker = cpu->worker[0];
    wf_environment callers = wf_environment_enter();
    cpu->tier->add_block[into->type](into, &worker->scratch, a->data, b ? b->data : NULL, (size_t)a->shape[0],
                                     into->end_index);
    flush_bins(into, worker->bins);
    wf_environment_leave(callers);
}

static wf_error cpu_add(wf_handle *handle, struct wf_accumulator *into, const wf_array *a, const wf_array *b,
                        int32_t threads) {
    struct cpu *cpu = handle->device_state;
    struct wf_view view;
    if (is_one_block(a, b)) {
        add_one_block(cpu, into, a, b);
        return WF_OK;
    }
    wf_view_make(&view, a, b, wf_accumulator_is_indexed(into));
    bool in_order = into->parts & WF_PART_PRODUCT && into->uses_tree;
    int64_t nbytes = (int64_t)view.nbytes * view.operands;
    struct wf_plan plan = wf_plan_make(view.count, nbytes, in_order, threads ? threads : cpu->processors);
    int workers = need_workers(cpu, plan.threads);
    if (workers < plan.threads) plan = wf_plan_make(view.count, nbytes, in_order, workers);
    if (plan.threads > 1) {
        add_in_parallel(cpu, into, &view, plan, in_order);
        return WF_OK;
    }
    wf_environment callers = wf_environment_enter();
    add_range(into, cpu->worker[0], cpu->tier, &view, 0, view.count, into->end_index);
    flush_bins(into, cpu->worker[0]->bins);
    wf_environment_leave(callers);
    return WF_OK;
}

/* ---- opening ---- */

static int count_processors(void) {
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof allowed, &allowed) == 0) return CPU_COUNT(&allowed);
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? (int)online : 1;
}

static void cpu_close(wf_handle *handle) {
    struct cpu *cpu = handle->device_state;
    if (!cpu) return;
    wf_threads_destroy(cpu->threads);
    for (int i = 0; i < cpu->worker_count; i++) free(cpu->worker[i]);
    free(cpu->worker);
    free(cpu);
    handle->device_state = NULL;
}

static wf_error cpu_open(wf_handle *handle) {
    const struct wf_tier *tier = wf_tier_choose(getenv("WARPFOLD_TIER"));
    if (!tier) return wf_fail(handle, WF_ERROR_DEVICE, "WARPFOLD_TIER names none of this processor's tiers");
    struct cpu *cpu = calloc(1, sizeof *cpu);
    handle->device_state = cpu;
    if (cpu) cpu->threads = wf_threads_create();
    if (!cpu || !cpu->threads || need_workers(cpu, 1) < 1) {
        cpu_close(handle);
        return WF_ERROR_MEMORY;
    }
    cpu->tier = tier;
    cpu->processors = count_processors();
    snprintf(handle->device_text, sizeof handle->device_text, "cpu: tier %s, %d processor%s", tier->name,
             cpu->processors, cpu->processors == 1 ? "" : "s");
    return WF_OK;
}

const struct wf_device wf_device_cpu = {
    .name = "cpu", .open = cpu_open, .close = cpu_close, .add = cpu_add, .sum_few = wf_few_sum};
