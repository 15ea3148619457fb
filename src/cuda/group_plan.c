#include "cuda/group_plan.h"

#include <stdio.h>

enum {
    WARP_LOG2 = 5,
    ELEMENTS_OF_LANE = 64,      /* fewer are not worth a lane more, which has to be merged; ... */
    LEAST_OF_LANE = 8,          /* ... but where lanes would be idle */
    PIECE_OF_LANE = 256,        /* elements, for which merging in memory is little */
    PIECE_OF_LISTED = 1 << 15,  /* of a warp */
    PIECE_MAX = 1 << 29,        /* which lanes count by 32 bits */
    PIECE_MULTIPLE = 16,        /* so that pieces begin as groups do, as far as vectors of 16 bytes matter */
    WARPS_OF_MULTIPROCESSOR = 32,
    BLOCK_NBYTES = 1024         /* shared memory that each block takes besides its own */
};

static int log2_of(int64_t n) {
    return n < 2 ? 0 : 63 - __builtin_clzll((uint64_t)n);
}

static int at_most(int log2) {
    return log2 < WARP_LOG2 ? log2 : WARP_LOG2;
}

/* Whether lanes across, which stay in a row of neighbours, would mostly be idle, as the rows are short and there are several: then
 * neighbouring lanes have groups of several rows, and what else they load of so few elements stays in the L1 cache. */
static bool are_neighbours_few(const struct wf_cuda_group_task *task) {
    enum { FEW = 8, SOME = 25, ELEMENTS_OF_FEW = 1024, ELEMENTS_OF_SOME = 200 };
    if (task->are_labelled || task->is_tree || task->groups == task->neighbours) return false;
    return task->elements <= (task->neighbours < FEW ? ELEMENTS_OF_FEW : task->neighbours < SOME ? ELEMENTS_OF_SOME : 0);
}

/* As many lanes as there are elements for, and more where these would not fill the GPU; where groups are neighbours in
 * memory, first as many groups as are adjacent. */
static void choose_lanes(struct wf_cuda_group_plan *plan, const struct wf_cuda_group_task *task, int64_t warps) {
    int most = at_most(log2_of(task->elements / LEAST_OF_LANE));
    bool are_few = are_neighbours_few(task);
    plan->is_across = task->neighbours > 1 && task->across < task->apart && !are_few;
    bool are_enough = task->groups >= warps << WARP_LOG2;
    plan->lanes_log2 = are_few && are_enough ? 0 : at_most(log2_of(task->elements / ELEMENTS_OF_LANE));
    while (plan->lanes_log2 < most && task->groups < warps << (WARP_LOG2 - plan->lanes_log2)) plan->lanes_log2++;
    if (!plan->is_across) return;
    int free_log2 = WARP_LOG2 - at_most(log2_of(2 * task->neighbours - 1)); /* lanes other than those of neighbours */
    if (plan->lanes_log2 > free_log2) plan->lanes_log2 = free_log2;
}

static bool float_fits_registers(wf_op op) {
    return op == WF_SUM || op == WF_NORM1 || op == WF_MEAN || op == WF_VAR || op == WF_STD || op == WF_NORM2 || op == WF_DOT;
}

/* As HAS_SHORT_RESULT in kernels/group_short.cuh, which holds the kernel to it. */
bool wf_cuda_group_fits_registers(wf_op op, wf_type type, wf_type result_type) {
    bool is_narrow = wf_type_nbytes(type) < 8, is_signed = wf_type_table[type].kind == WF_KIND_SIGNED;
    if (op == WF_MIN || op == WF_MAX) return result_type == type;
    if (op == WF_ARGMIN || op == WF_ARGMAX) return result_type == WF_I64 || result_type == WF_U64;
    if (wf_type_is_float(type)) return float_fits_registers(op) && result_type == type;
    if (op == WF_MEAN) return is_narrow && result_type == WF_F64;
    return (op == WF_SUM || op == WF_DOT) && is_narrow && result_type == (is_signed ? WF_I64 : WF_U64);
}

int64_t wf_cuda_group_warps(int shared_nbytes, const struct wf_gpu *gpu) {
    int64_t resident = gpu->shared_per_multiprocessor / (shared_nbytes + BLOCK_NBYTES);
    if (resident > WARPS_OF_MULTIPROCESSOR) resident = WARPS_OF_MULTIPROCESSOR;
    return gpu->multiprocessors * (resident ? resident : 1);
}

/* Teams across stay in a row of neighbours. */
static int64_t count_tiles(const struct wf_cuda_group_plan *plan, const struct wf_cuda_group_task *task) {
    int64_t teams = INT64_C(1) << (WARP_LOG2 - plan->lanes_log2);
    int64_t rows = plan->is_across ? task->groups / task->neighbours : 1, length = task->groups / rows;
    return rows * (length / teams + (length % teams != 0));
}

/* Pieces where there are fewer groups than the GPU takes at a time, and slots take no more memory than half the array. */
static void choose_pieces(struct wf_cuda_group_plan *plan, const struct wf_cuda_group_task *task, int64_t warps) {
    int64_t most = task->elements / ((int64_t)PIECE_OF_LANE << plan->lanes_log2);
    int64_t wanted = plan->tiles ? 4 * warps / plan->tiles : 1; /* so that all end at about the same time */
    plan->pieces = wanted < most ? wanted : most;
    if (plan->pieces < 1 || task->elements < 2 * task->slot_nbytes / task->nbytes) plan->pieces = 1;
    if (plan->pieces < task->elements / PIECE_MAX + 1) plan->pieces = task->elements / PIECE_MAX + 1;
    plan->piece = (task->elements + plan->pieces - 1) / plan->pieces;
    if (plan->pieces > 1) plan->piece = (plan->piece + PIECE_MULTIPLE - 1) / PIECE_MULTIPLE * PIECE_MULTIPLE;
    if (task->are_labelled) {
        plan->pieces = 1;
        plan->piece = PIECE_OF_LISTED;
    }
}

void wf_cuda_group_plan_fit(struct wf_cuda_group_plan *plan, const struct wf_cuda_group_task *task, const struct wf_gpu *gpu) {
    int64_t warps = wf_cuda_group_warps(task->shared_nbytes, gpu);
    plan->tiles = count_tiles(plan, task);
    plan->grid = plan->tiles > warps / plan->pieces ? warps : plan->tiles * plan->pieces;
    if (plan->grid < 1) plan->grid = 1;
}

struct wf_cuda_group_plan wf_cuda_group_plan_make(const struct wf_cuda_group_task *task, const struct wf_gpu *gpu) {
    struct wf_cuda_group_plan plan = {0};
    int64_t warps = wf_cuda_group_warps(task->shared_nbytes, gpu);
    choose_lanes(&plan, task, warps);
    plan.tiles = count_tiles(&plan, task);
    choose_pieces(&plan, task, warps);
    wf_cuda_group_plan_fit(&plan, task, gpu);
    return plan;
}

/* What is tried before groups are reduced as longer ones are. */
static int describe_first(const struct wf_cuda_group_plan *plan, char *text, size_t capacity) {
    const struct wf_cuda_table_plan *tables = &plan->tables;
    const char *registers = plan->in_rows        ? "rows in registers"
                            : plan->in_columns   ? "columns in registers"
                            : plan->in_chunks    ? "one group of a lane in registers"
                            : plan->in_registers ? "several groups of a lane in registers"
                                                 : "";
    if (!plan->has_tables) return snprintf(text, capacity, "%s", registers);
    if (tables->copies)
        return snprintf(text, capacity, "tables in shared memory, %d cop%s each%s", tables->copies,
                        tables->copies == 1 ? "y" : "ies", tables->is_sampled ? ", laid out by a sample" : "");
    int at = snprintf(text, capacity, "a table in global memory%s, %d groups of it kept in each block",
                      tables->is_sampled ? ", laid out by a sample" : "", tables->kept);
    if (at >= (int)capacity) return at;
    if (tables->buckets)
        at += snprintf(text + at, capacity - (size_t)at, ", or by %d buckets of %d keys", tables->buckets, 1 << tables->bucket_log2);
    else
        at += snprintf(text + at, capacity - (size_t)at, ", by %d range%s of keys", tables->passes, tables->passes == 1 ? "" : "s");
    if (at >= (int)capacity || !tables->tries_segments) return at;
    return at + snprintf(text + at, capacity - (size_t)at, ", or as segments if keys are sorted%s",
                         tables->tries_runs ? ", short ones in the same pass" : "");
}

void wf_cuda_group_plan_describe(const struct wf_cuda_group_plan *plan, char *text, size_t capacity) {
    int lanes = 1 << plan->lanes_log2, at = 0;
    char pieces[48] = "";
    if (plan->tree_levels) {
        snprintf(text, capacity, "trees: %lld nodes of up to 2^%d elements each, then those above them",
                 (long long)plan->tree_nodes, plan->tree_levels);
        return;
    }
    at = describe_first(plan, text, capacity);
    if (at >= (int)capacity || (plan->has_tables && plan->tables_suffice)) return;
    at += snprintf(text + at, capacity - (size_t)at, "%s", at ? "; else " : "");
    if (at >= (int)capacity) return;
    if (plan->pieces > 1) snprintf(pieces, sizeof pieces, ", each in %lld pieces", (long long)plan->pieces);
    snprintf(text + at, capacity - (size_t)at, "groups by %d lane%s each%s, lanes of a warp side by side in %s, %lld warps", lanes,
             lanes == 1 ? "" : "s", pieces, plan->is_across ? "neighbouring groups" : "a group", (long long)plan->grid);
}
