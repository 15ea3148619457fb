/* How a rung is launched: a pure function of the rung, the count of elements and what the caller asks for. */
#include "ladder.h"
#include "ladder_parts.h"

enum {
    RESIDENT_THREADS =
        132 * 2048, /* that an H100 or H200 holds at a time: for the simulator, which holds any */
    GRID_MAX = INT32_MAX,
};

static uint64_t divide_up(uint64_t a, uint64_t b) {
    return a / b + (a % b != 0);
}

static uint64_t least(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

/* Threads of a striding grid take several tiles each: that is what they stride for.  More blocks than are
 * resident would only wait for others to end. */
static uint64_t striding_grid(uint64_t tiles, const struct ladder_shape *shape, uint32_t coarsen) {
    return least(divide_up(tiles, coarsen),
                 shape->resident ? shape->resident : RESIDENT_THREADS / shape->block);
}

/* Elements that one thread takes at a time. */
static uint32_t thread_tile(const struct ladder_rung *rung, uint32_t coarsen) {
    return rung->strides || !rung->coarsen ? rung->tile : rung->tile / rung->coarsen * coarsen;
}

/* Bytes of a block's shared memory. */
static size_t shared_nbytes(const struct ladder_variant *variant, uint32_t block) {
    const struct ladder_rung *rung = variant->rung;
    size_t warps = block / LADDER_BLOCK_MIN;
    size_t values = (size_t)rung->shared_per_thread * block + rung->shared_per_warp * warps;
    size_t item = wf_type_nbytes(variant->type) + (variant->op == WF_ARGMAX ? sizeof(int64_t) : 0);
    return values * item;
}

static struct ladder_plan plan_launch(const struct ladder_variant *variant, uint64_t n,
                                      const struct ladder_shape *shape) {
    const struct ladder_rung *rung = variant->rung;
    uint32_t coarsen = ladder_variant_coarsen(variant);
    uint64_t tile = (uint64_t)thread_tile(rung, coarsen) * shape->block * rung->cluster;
    uint64_t tiles = divide_up(n, tile), blocks = shape->grid;
    if (!blocks) blocks = rung->strides ? striding_grid(tiles, shape, coarsen) : tiles;
    blocks = least(blocks ? blocks : 1, GRID_MAX / rung->cluster);
    uint64_t portion = shape->grid || blocks < tiles ? divide_up(n, blocks) : tile;
    return (struct ladder_plan){shape->block, (uint32_t)blocks, rung->strides ? 0 : portion,
                                shared_nbytes(variant, shape->block)};
}

struct ladder_plan ladder_plan(const struct ladder_variant *variant, uint64_t n, uint32_t block,
                               uint32_t grid) {
    return plan_launch(variant, n, &(struct ladder_shape){.block = block, .grid = grid});
}

/* Relaunched, the kernel runs on its own partials, each time in as many blocks as these are worth, until
 * there is but one. */
bool ladder_passes_plan(const struct ladder_variant *variant, uint64_t n, const struct ladder_shape *shape,
                        struct ladder_passes *passes) {
    bool relaunches = ladder_variant_finish(variant) == LADDER_FINISH_RELAUNCH;
    struct ladder_shape own = *shape;
    passes->count = 0;
    do {
        if (passes->count == LADDER_LAUNCHES_MAX) return false;
        struct ladder_pass *pass = &passes->list[passes->count++];
        *pass = (struct ladder_pass){plan_launch(variant, n, &own), n};
        n = pass->plan.grid;
        own.grid = 0;
    } while (relaunches && n > 1);
    return true;
}
