/* How a rung is launched: a pure function of the rung, the count of elements and what the caller asks for. */
#include "ladder.h"
#include "ladder_parts.h"

enum {
    RESIDENT_THREADS = 132 * 2048, /* that an H100 or H200 holds at a time */
    GRID_MAX = INT32_MAX,
};

static uint64_t divide_up(uint64_t a, uint64_t b) {
    return a / b + (a % b != 0);
}

static uint64_t least(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

/* Threads of a striding grid take several tiles each: that is what they stride for. */
static uint64_t striding_grid(uint64_t tiles, uint32_t block, uint32_t coarsen) {
    return least(divide_up(tiles, coarsen), RESIDENT_THREADS / block);
}

/* Elements that one thread takes at a time. */
static uint32_t thread_tile(const struct ladder_rung *rung, uint32_t coarsen) {
    return rung->strides || !rung->coarsen ? rung->tile : rung->tile / rung->coarsen * coarsen;
}

struct ladder_plan ladder_plan(const struct ladder_variant *variant, uint64_t n, uint32_t block,
                               uint32_t grid) {
    const struct ladder_rung *rung = variant->rung;
    uint32_t coarsen = ladder_variant_coarsen(variant);
    uint64_t tile = (uint64_t)thread_tile(rung, coarsen) * block;
    uint64_t tiles = divide_up(n, tile), blocks = grid;
    if (!grid) blocks = rung->strides ? striding_grid(tiles, block, coarsen) : tiles;
    blocks = least(blocks ? blocks : 1, GRID_MAX);
    uint64_t portion = grid || blocks < tiles ? divide_up(n, blocks) : tile;

    size_t warps = block / LADDER_BLOCK_MIN;
    size_t values = (size_t)rung->shared_per_thread * block + rung->shared_per_warp * warps;
    size_t item = wf_type_nbytes(variant->type) + (variant->op == WF_ARGMAX ? sizeof(int64_t) : 0);
    return (struct ladder_plan){block, (uint32_t)blocks, rung->strides ? 0 : portion, values * item};
}
