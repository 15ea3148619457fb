#include "cuda/plan.h"

#include <stdio.h>

enum {
    WARP = 32,
    VECTOR_NBYTES = 16,
    STATIC_NBYTES = 6144, /* shared memory that the kernel has in addition to its sums and its ring */
    COPY_ENGINE_MAJOR = 9 /* the capability from which on chunks can be copied in bulk */
};

/* Arrays up to this are one block's work: a second block costs more, for the two to meet, than it saves.  What needs
 * few instructions is up to twice as much (plan_small). */
#define SINGLE_BLOCK_NBYTES (INT64_C(1) << 15)

static bool is_float(const struct wf_cuda_task *task) {
    return wf_type_is_float(task->type);
}

static bool has_values(const struct wf_cuda_task *task) {
    return task->parts & (WF_PART_SUM | WF_PART_ABS);
}

static bool has_products(const struct wf_cuda_task *task) {
    return task->parts & (WF_PART_SQUARES | WF_PART_DOT);
}

/* Sums of different kinds at once need registers; with few vectors in a chunk, a variance's few enough for all threads.
 * The more warps there are, the less they wait for their bins. */
static int ring_block(const struct wf_cuda_task *task) {
    if (task->type == WF_F64 && has_products(task)) return 256;
    if (!has_values(task) || !has_products(task) || !(task->parts & WF_PART_ABS)) return 512;
    return task->type == WF_F32 ? 384 : 256;
}

static int operands(const struct wf_cuda_task *task) {
    return task->parts & WF_PART_DOT ? 2 : 1;
}

/* ---- shared memory for the sums of floats: see kernels/parts.cuh, bins.cuh, wide.cuh, packed.cuh ----------- */

/* As in kernels/parts.cuh: bins of 8 bytes, the number of binades from one to the next, and of the words that a value or a
 * product lies in. */
struct wide_bins {
    int value_binades, value_words, product_binades, product_words, columns;
};

static bool has_both_signs(const struct wf_cuda_task *task) {
    return (task->parts & WF_PART_SUM) && (task->parts & WF_PART_ABS);
}

static struct wide_bins wide_bins(const struct wf_cuda_task *task, bool is_small) {
    bool has_both = has_values(task) && has_products(task);
    int columns = (task->type == WF_F64 && has_both ? WARP / 2 : WARP) / (is_small ? 2 : 1);
    if (task->type == WF_F64) return (struct wide_bins){54, 2, 54, 3, columns};
    return (struct wide_bins){16, 1, 32, task->type == WF_F32 ? 2 : 1, columns};
}

static int wide_nbytes(const struct wf_cuda_task *task, bool is_small) {
    struct wide_bins bins = wide_bins(task, is_small);
    int largest = task->type == WF_F64 ? 2046 : 254; /* exponent: bf16 has those of f32 */
    int signs = has_both_signs(task) ? 2 : 1;
    int value_rows = has_values(task) ? signs * (largest / bins.value_binades + bins.value_words) : 0;
    int product_rows = has_products(task) ? 2 * largest / bins.product_binades + bins.product_words : 0;
    return 8 * bins.columns * (value_rows + product_rows);
}

/* Values of bf16 and their squares lie in one word of 8 bytes, magnitudes in another of 4. */
static bool is_packed(const struct wf_cuda_task *task) {
    return task->type == WF_BF16 && has_values(task) && (task->parts & WF_PART_SQUARES);
}

static int packed_nbytes(const struct wf_cuda_task *task) {
    return 32 * WARP * (has_both_signs(task) ? 12 : 8);
}

static int bins_nbytes(const struct wf_cuda_task *task) {
    return task->type == WF_BF16 ? 64 * WARP * (int)sizeof(float) : 16 * WARP * (int)sizeof(double);
}

static int sums_nbytes(const struct wf_cuda_task *task, bool is_small) {
    if (!is_float(task) || task->type == WF_F16 || task->loses || !(has_values(task) || has_products(task))) return 0;
    if (is_packed(task) && !is_small) return packed_nbytes(task);
    return is_small || task->type == WF_F64 || has_products(task) ? wide_nbytes(task, is_small) : bins_nbytes(task);
}

/* ---- the plan ------------------------------------------------------------------------------------ */

static int largest_block(const struct wf_cuda_plan *plan, const struct wf_gpu *gpu, int wanted) {
    int available = gpu->shared_per_block - STATIC_NBYTES;
    while (wanted > WARP && wanted / WARP * plan->sums_nbytes > available) wanted -= WARP;
    return wanted;
}

static int stage_nbytes(const struct wf_cuda_plan *plan, const struct wf_cuda_task *task) {
    return plan->block * plan->vectors * VECTOR_NBYTES * operands(task);
}

/* One large block on each multiprocessor: what is on its way from memory is the copy engine's to bring, so that
 * shared memory is left for the sums. */
static void plan_ring(struct wf_cuda_plan *plan, const struct wf_cuda_task *task, const struct wf_gpu *gpu) {
    enum { STAGES_MAX = 4 };
    int block = ring_block(task);
    /* A chunk's fixed work is felt where threads are few, or where elements take little: bf16's sums but those with squares,
     * and dots of f16. */
    bool has_squares = task->parts & WF_PART_SQUARES, is_dot = task->parts == WF_PART_DOT;
    bool takes_little = (task->type == WF_BF16 && plan->sums_nbytes && !has_squares) || (task->type == WF_F16 && is_dot);
    plan->vectors = (block == 256 || takes_little ? 8 : 4) / operands(task);
    plan->block = largest_block(plan, gpu, block);
    plan->resident = 1;
    int available = gpu->shared_per_block - STATIC_NBYTES - plan->block / WARP * plan->sums_nbytes;
    plan->stages = available / stage_nbytes(plan, task);
    if (plan->stages > STAGES_MAX * operands(task)) plan->stages = STAGES_MAX * operands(task);
}

/* Threads that load for themselves: as many as fit. */
static void plan_threads(struct wf_cuda_plan *plan, const struct wf_cuda_task *task, const struct wf_gpu *gpu) {
    enum { THREADS_MAX = 1536 }; /* more leave each too few registers */
    plan->vectors = 4 / operands(task);
    plan->block = largest_block(plan, gpu, 256);
    plan->resident = (gpu->threads_per_multiprocessor < THREADS_MAX ? gpu->threads_per_multiprocessor : THREADS_MAX) /
                     plan->block;
    int nbytes = plan->block / WARP * plan->sums_nbytes + STATIC_NBYTES;
    int by_memory = gpu->shared_per_multiprocessor / nbytes;
    if (by_memory < plan->resident) plan->resident = by_memory < 1 ? 1 : by_memory;
}

/* Two blocks of what needs few registers fit on a multiprocessor. */
static int small_resident(const struct wf_cuda_task *task) {
    return is_float(task) && (has_values(task) || has_products(task)) ? 1 : 2;
}

/* A small array's blocks are counted in nine bits (kernels/grid.cuh). */
static int small_blocks(const struct wf_gpu *gpu, int resident) {
    enum { BLOCKS_MAX = 511 };
    int blocks = gpu->multiprocessors * resident;
    return blocks < BLOCKS_MAX ? blocks : BLOCKS_MAX;
}

/* Of a small array each thread has all its vectors in registers.  A sum of squares together with others leaves no registers
 * for that. */
static bool plan_small(struct wf_cuda_plan *plan, const struct wf_cuda_task *task, const struct wf_gpu *gpu) {
    enum { BLOCK = 512, FEW = 4, MANY = 8 };
    int64_t row = (int64_t)BLOCK * VECTOR_NBYTES;
    int resident = small_resident(task);
    if (!gpu->takes_small || task->parts == WF_PARTS_STATS) return false;
    if (task->nbytes > row * small_blocks(gpu, resident) * (resident == 1 ? MANY : FEW)) return false;
    int nbytes = sums_nbytes(task, true);
    if (BLOCK / WARP * nbytes > gpu->shared_per_block - STATIC_NBYTES) return false;
    bool is_one = task->nbytes <= (resident == 1 ? SINGLE_BLOCK_NBYTES : row * MANY);
    bool is_less = task->nbytes <= row * FEW * (is_one ? 1 : small_blocks(gpu, 1));
    plan->is_small = true;
    plan->block = BLOCK;
    plan->vectors = (is_one || resident == 1) && !is_less ? MANY : FEW;
    plan->resident = is_one || is_less ? 1 : resident;
    plan->grid = is_one;
    plan->sums_nbytes = nbytes;
    return true;
}

static int count_blocks(const struct wf_cuda_plan *plan, const struct wf_cuda_task *task, const struct wf_gpu *gpu) {
    int64_t nbytes = (int64_t)plan->block * (plan->is_small ? 1 : plan->vectors) * VECTOR_NBYTES;
    int64_t wanted = (task->nbytes + nbytes - 1) / nbytes;
    int64_t available = plan->is_small ? small_blocks(gpu, plan->resident) : (int64_t)gpu->multiprocessors * plan->resident;
    if (task->nbytes <= SINGLE_BLOCK_NBYTES || wanted < 1 || plan->grid == 1) return 1;
    return (int)(wanted < available ? wanted : available);
}

struct wf_cuda_plan wf_cuda_plan_make(const struct wf_cuda_task *task, const struct wf_gpu *gpu) {
    struct wf_cuda_plan plan = {.sums_nbytes = sums_nbytes(task, false)};
    if (!plan_small(&plan, task, gpu) && gpu->major >= COPY_ENGINE_MAJOR && task->alignment == VECTOR_NBYTES)
        plan_ring(&plan, task, gpu);
    else if (!plan.is_small)
        plan_threads(&plan, task, gpu);
    plan.grid = count_blocks(&plan, task, gpu);
    plan.shared_nbytes = plan.block / WARP * plan.sums_nbytes + plan.stages * stage_nbytes(&plan, task);
    return plan;
}

void wf_cuda_plan_describe(const struct wf_cuda_plan *plan, char *text, size_t capacity) {
    snprintf(text, capacity, "%d block%s of %d threads, %s%d vector%s of 16 bytes each at a time, %s", plan->grid,
             plan->grid == 1 ? "" : "s", plan->block, plan->is_small ? "up to " : "", plan->vectors,
             plan->vectors == 1 ? "" : "s",
             plan->stages ? "prefetched by the copy engine" : "loaded by the threads");
}
