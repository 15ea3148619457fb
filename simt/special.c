/* Special registers: arrays of lanes that each warp holds, filled when its block begins. */
#include <string.h>

#include "machine.h"

/* One line each: PTX's name, field, the value in lane `lane` of `warp`; `thread` is the lane's thread in its block.
 * Those of the warp are the same in every block, which saves filling them for each. */
#define SPECIALS_OF_WARP(X)                                                                                        \
    X("tid.x", thread_x, thread % view->block[0])                                                                  \
    X("tid.y", thread_y, thread / view->block[0] % view->block[1])                                                 \
    X("tid.z", thread_z, thread / view->block[0] / view->block[1])                                                 \
    X("ntid.x", block_x, view->block[0])                                                                           \
    X("ntid.y", block_y, view->block[1])                                                                           \
    X("ntid.z", block_z, view->block[2])                                                                           \
    X("nctaid.x", grid_x, view->grid[0])                                                                           \
    X("nctaid.y", grid_y, view->grid[1])                                                                           \
    X("nctaid.z", grid_z, view->grid[2])                                                                           \
    X("laneid", lane_id, lane)                                                                                     \
    X("warpid", warp_id, warp->index)                                                                              \
    X("nwarpid", warp_count, view->warps_per_block)                                                                \
    X("lanemask_eq", lanes_equal, UINT32_C(1) << lane)                                                             \
    X("lanemask_lt", lanes_less, (UINT32_C(1) << lane) - 1)                                                        \
    X("lanemask_le", lanes_up_to, ((UINT32_C(1) << lane) - 1) | UINT32_C(1) << lane)                               \
    X("lanemask_gt", lanes_greater, ~(((UINT32_C(1) << lane) - 1) | UINT32_C(1) << lane))                          \
    X("lanemask_ge", lanes_from, ~((UINT32_C(1) << lane) - 1))                                                     \
    X("dynamic_smem_size", dynamic_shared, (uint32_t)warp->block->launch->request->shared_nbytes)                  \
    X("total_smem_size", total_shared, (uint32_t)view->shared_nbytes)                                              \
    X("aggr_smem_size", aggregate_shared, (uint32_t)view->shared_nbytes)                                           \
    X("smid", multiprocessor, 0)                                                                                   \
    X("nsmid", multiprocessors, 1)                                                                                 \
    X("is_explicit_cluster", has_cluster, 0)                                                                       \
    X("nclusterid.x", clusters_x, view->grid[0])                                                                   \
    X("nclusterid.y", clusters_y, view->grid[1])                                                                   \
    X("nclusterid.z", clusters_z, view->grid[2])                                                                   \
    X("cluster_ctaid.x", in_cluster_x, 0)                                                                          \
    X("cluster_ctaid.y", in_cluster_y, 0)                                                                          \
    X("cluster_ctaid.z", in_cluster_z, 0)                                                                          \
    X("cluster_nctaid.x", cluster_size_x, 1)                                                                       \
    X("cluster_nctaid.y", cluster_size_y, 1)                                                                       \
    X("cluster_nctaid.z", cluster_size_z, 1)                                                                       \
    X("cluster_ctarank", cluster_rank, 0)                                                                          \
    X("cluster_nctarank", cluster_ranks, 1)                                                                        \
    X("clock", clock, 0)                                                                                           \
    X("clock_hi", clock_high, 0)                                                                                   \
    X("globaltimer_lo", timer_low, 0)                                                                              \
    X("globaltimer_hi", timer_high, 0)                                                                             \
    X("WARP_SZ", warp_size, view->warp_size)                                                                       \
    X("envreg0", environment_0, 0)                                                                                 \
    X("envreg1", environment_1, (uint32_t)(warp->block->launch->workspace->address >> 32))                         \
    X("envreg2", environment_2, (uint32_t)warp->block->launch->workspace->address)
#define SPECIALS_OF_BLOCK(X)                                                                                       \
    X("ctaid.x", index_x, warp->block->view.block[0])                                                              \
    X("ctaid.y", index_y, warp->block->view.block[1])                                                              \
    X("ctaid.z", index_z, warp->block->view.block[2])                                                              \
    X("clusterid.x", cluster_x, warp->block->view.block[0])                                                        \
    X("clusterid.y", cluster_y, warp->block->view.block[1])                                                        \
    X("clusterid.z", cluster_z, warp->block->view.block[2])

struct specials {
    uint64_t clock64[SIMT_LANES];
    uint64_t globaltimer[SIMT_LANES];
    uint64_t gridid[SIMT_LANES];
#define FIELD(name, field, value) uint32_t field[SIMT_LANES];
    SPECIALS_OF_WARP(FIELD)
    SPECIALS_OF_BLOCK(FIELD)
#undef FIELD
};

static const struct {
    const char *name;
    enum width width;
    size_t offset;
} specials[] = {
#define LINE(name, field, value) {name, WIDTH_32, offsetof(struct specials, field)},
    SPECIALS_OF_WARP(LINE)
    SPECIALS_OF_BLOCK(LINE)
#undef LINE
    {"clock64", WIDTH_64, offsetof(struct specials, clock64)},
    {"globaltimer", WIDTH_64, offsetof(struct specials, globaltimer)},
    {"gridid", WIDTH_64, offsetof(struct specials, gridid)},
};

size_t simt_special_nbytes(void) { return sizeof(struct specials); }

bool simt_special_find(const char *name, enum width *width, size_t *offset) {
    for (size_t s = 0; s < sizeof specials / sizeof *specials; s++)
        if (strcmp(specials[s].name, name) == 0) {
            *width = specials[s].width;
            *offset = specials[s].offset;
            return true;
        }
    return false;
}

#define FILL(name, field, value) specials_of_warp->field[lane] = (value);

void simt_special_fill_warp(struct warp *warp) {
    const simt_launch_view *view = &warp->block->launch->view;
    struct specials *specials_of_warp = (struct specials *)(void *)warp->special;
    for (uint32_t lane = 0; lane < SIMT_LANES; lane++) {
        uint32_t thread = warp->index * view->warp_size + lane;
        SPECIALS_OF_WARP(FILL)
    }
}

void simt_special_fill_block(struct warp *warp) {
    struct specials *specials_of_warp = (struct specials *)(void *)warp->special;
    for (uint32_t lane = 0; lane < SIMT_LANES; lane++) {
        SPECIALS_OF_BLOCK(FILL)
    }
}

#undef FILL

/* The machine has no clock: its clocks count the block's instructions. */
void simt_special_tick(struct warp *warp) {
    struct specials *specials_of_warp = (struct specials *)(void *)warp->special;
    uint64_t now = warp->block->tally.instructions;
    for (uint32_t lane = 0; lane < SIMT_LANES; lane++) {
        specials_of_warp->clock64[lane] = specials_of_warp->globaltimer[lane] = now;
        specials_of_warp->clock[lane] = specials_of_warp->timer_low[lane] = (uint32_t)now;
        specials_of_warp->clock_high[lane] = specials_of_warp->timer_high[lane] = (uint32_t)(now >> 32);
    }
}
