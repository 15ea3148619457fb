/* Works out how many blocks of the launch one multiprocessor holds at a time, by the limits of the H100 and
 * H200. Registers limit it too, but PTX does not say how many a kernel gets: what is reported is an upper
 * bound. */
#include "counts.h"

enum {
    MULTIPROCESSORS = 132,
    THREADS_MAX = 2048, /* of a multiprocessor, as all that follows */
    BLOCKS_MAX = 32,
    SHARED_NBYTES = 228 * 1024,
    SHARED_RESERVED = 1024, /* of each block, for the system */
    SHARED_UNIT = 128,      /* blocks get it in such pieces */
};

struct shape {
    uint32_t grid[3];
    uint32_t warp_size, warps_per_block;
    size_t shared_nbytes;
};

static bool begin_launch(void *launch, const simt_launch_view *view) {
    struct shape *shape = launch;
    for (int axis = 0; axis < 3; axis++) shape->grid[axis] = view->grid[axis];
    shape->warp_size = view->warp_size;
    shape->warps_per_block = view->warps_per_block;
    shape->shared_nbytes = view->shared_nbytes;
    return true;
}

static uint64_t least(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

uint32_t simt_resident_blocks(uint32_t block_threads, size_t shared_nbytes) {
    uint64_t shared = (shared_nbytes + SHARED_UNIT - 1) / SHARED_UNIT * SHARED_UNIT + SHARED_RESERVED;
    return (uint32_t)least(BLOCKS_MAX, least(THREADS_MAX / (block_threads ? block_threads : 1), SHARED_NBYTES / shared));
}

size_t simt_shared_nbytes_of(uint32_t resident_blocks) {
    const size_t nbytes = resident_blocks ? SHARED_NBYTES / resident_blocks : 0;
    if (resident_blocks > BLOCKS_MAX || nbytes < SHARED_RESERVED) return 0;
    return (nbytes - SHARED_RESERVED) / SHARED_UNIT * SHARED_UNIT;
}

static void end_launch(void *launch, simt_report *report) {
    const struct shape *shape = launch;
    double blocks = (double)shape->grid[0] * shape->grid[1] * shape->grid[2];
    double resident = simt_resident_blocks(shape->warps_per_block * shape->warp_size, shape->shared_nbytes);
    double warps_max = (double)THREADS_MAX / shape->warp_size;
    simt_report_add(report, "blocks", blocks);
    simt_report_add(report, "warps", blocks * shape->warps_per_block);
    simt_report_add(report, "resident_blocks", resident);
    simt_report_add(report, "occupancy", resident * shape->warps_per_block / warps_max);
    simt_report_add(report, "waves", resident > 0 ? blocks / (resident * MULTIPROCESSORS) : 0);
}

const struct simt_observer simt_observe_occupancy = {
    .name = "occupancy",
    .launch_nbytes = sizeof(struct shape),
    .launch_begin = begin_launch,
    .launch_end = end_launch,
};
