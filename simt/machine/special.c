/* Special registers: what a lane finds in them.  The clocks are in execute_move.c. */
#include <string.h>

#include "machine.h"

/* One line each: PTX's name, ours, the value in `lane` of `warp`, which is the block's thread `thread`. */
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
    X("total_smem_size", total_shared, (uint32_t)view->shared_nbytes - simt_reserved_nbytes(warp->block->launch))   \
    X("aggr_smem_size", aggregate_shared, (uint32_t)view->shared_nbytes)                                           \
    X("reserved_smem_offset_begin", reserved_begin, (uint32_t)view->shared_nbytes - SIMT_RESERVED_NBYTES)          \
    X("reserved_smem_offset_end", reserved_end, (uint32_t)view->shared_nbytes)                                     \
    X("reserved_smem_offset_cap", reserved_cap, SIMT_RESERVED_NBYTES)                                              \
    X("reserved_smem_offset_0", reserved_0, (uint32_t)view->shared_nbytes - SIMT_RESERVED_NBYTES)                  \
    X("reserved_smem_offset_1", reserved_1, (uint32_t)view->shared_nbytes - SIMT_RESERVED_NBYTES / 2)              \
    X("smid", multiprocessor, 0)                                                                                   \
    X("nsmid", multiprocessors, 1)                                                                                 \
    X("is_explicit_cluster", has_cluster, view->blocks_per_cluster > 1)                                            \
    X("nclusterid.x", clusters_x, view->grid[0] / view->cluster[0])                                                \
    X("nclusterid.y", clusters_y, view->grid[1] / view->cluster[1])                                                \
    X("nclusterid.z", clusters_z, view->grid[2] / view->cluster[2])                                                \
    X("cluster_nctaid.x", cluster_size_x, view->cluster[0])                                                        \
    X("cluster_nctaid.y", cluster_size_y, view->cluster[1])                                                        \
    X("cluster_nctaid.z", cluster_size_z, view->cluster[2])                                                        \
    X("cluster_nctarank", cluster_ranks, view->blocks_per_cluster)                                                 \
    X("WARP_SZ", warp_size, view->warp_size)                                                                       \
    X("envreg0", environment_0, 0)                                                                                 \
    X("envreg1", environment_1, (uint32_t)(workspace_address(warp->block->launch) >> 32))                          \
    X("envreg2", environment_2, (uint32_t)workspace_address(warp->block->launch))
/* Special registers that are equal in all lanes, but differ between the blocks that a warp executes in turn. */
#define SPECIALS_OF_BLOCK(X)                                                                                       \
    X("ctaid.x", index_x, warp->block->view.block[0])                                                              \
    X("ctaid.y", index_y, warp->block->view.block[1])                                                              \
    X("ctaid.z", index_z, warp->block->view.block[2])                                                              \
    X("clusterid.x", cluster_x, warp->block->view.block[0] / view->cluster[0])                                     \
    X("clusterid.y", cluster_y, warp->block->view.block[1] / view->cluster[1])                                     \
    X("clusterid.z", cluster_z, warp->block->view.block[2] / view->cluster[2])                                     \
    X("cluster_ctaid.x", in_cluster_x, warp->block->view.block[0] % view->cluster[0])                              \
    X("cluster_ctaid.y", in_cluster_y, warp->block->view.block[1] % view->cluster[1])                              \
    X("cluster_ctaid.z", in_cluster_z, warp->block->view.block[2] % view->cluster[2])                              \
    X("cluster_ctarank", cluster_rank, warp->block->view.rank)

enum special {
#define NUMBER(name, number, value) number,
    SPECIALS_OF_WARP(NUMBER)
    grid_id,
    LAST_OF_WARP = grid_id,
    SPECIALS_OF_BLOCK(NUMBER)
#undef NUMBER
    SPECIALS
};

static const struct {
    const char *name;
    enum width width;
} specials[SPECIALS] = {
#define LINE(name, number, value) [number] = {name, WIDTH_32},
    SPECIALS_OF_WARP(LINE)
    SPECIALS_OF_BLOCK(LINE)
#undef LINE
    [grid_id] = {"gridid", WIDTH_64},
};

bool simt_special_find(const char *name, enum width *width, uint64_t *number) {
    for (uint64_t s = 0; s < SPECIALS; s++)
        if (strcmp(specials[s].name, name) == 0) {
            *width = specials[s].width;
            *number = s;
            return true;
        }
    return false;
}

/* Registers of PTX 1 had 16 bits: mov and cvt may read the lower ones of theirs, in any version. */
bool simt_special_has_low_bits(const struct instruction *instruction, const char *name) {
    static const char *const names[] = {"tid.", "ntid.", "ctaid.", "nctaid."};
    if (!simt_is_base(instruction, "mov") && !simt_is_base(instruction, "cvt")) return false;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strncmp(name, names[i], strlen(names[i]))) return true;
    return false;
}

bool simt_special_is_of_block(uint64_t number) { return number > LAST_OF_WARP; }

/* Cooperative groups take 0 for a launch whose blocks have no barrier. */
static uint64_t workspace_address(const struct launch *launch) {
    return launch->request->lacks_grid_barrier ? 0 : launch->workspace->address;
}

bool simt_special_is_of_grid_barrier(uint64_t number) { return number == environment_1 || number == environment_2; }

uint64_t simt_special_value(const struct warp *warp, uint64_t number, uint32_t lane) {
    const simt_launch_view *view = &warp->block->launch->view;
    const uint32_t thread = warp->index * view->warp_size + lane;
    switch ((enum special)number) {
#define CASE(name, number, value) case number: return (uint32_t)(value);
        SPECIALS_OF_WARP(CASE)
        SPECIALS_OF_BLOCK(CASE)
#undef CASE
    default: return 0;
    }
}
