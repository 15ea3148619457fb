/* What a warp has asked wgmma for, and which of its registers that reads and writes meanwhile. */
#ifndef SIMT_WARPGROUP_H
#define SIMT_WARPGROUP_H

#include "decoder.h"

/* A register of the frame, whose last use by wgmma or writing before it counts. */
struct watched_register {
    uint64_t group; /* of wgmma, from 1, that uses it last; 0: none has */
    uint32_t pc;    /* where */
    bool is_input;  /* it is only read there */
    bool is_written; /* at written_pc, since the last wgmma.fence */
    uint32_t written_pc;
};

struct warpgroup {
    uint64_t waited[SIMT_LANES]; /* groups that are done, as far as the lane knows */
    bool has_fence;              /* before the first wgmma of the warp, in whatever function */
};

/* warpgroup.c: makes the instructions of a function that has wgmma tell when they touch its registers.  false: no memory. */
bool simt_warpgroup_watch(struct decoder *decoder);

/* NULL: no memory, and the launch is stopped. */
struct warpgroup *simt_warpgroup_of(struct warp *warp);

/* Of all registers of the warp, its callers' too. */
void simt_warpgroup_fence(struct warp *warp);

/* The registers of the function that the path executes, since it began; NULL as above. */
struct watched_register *simt_warpgroup_watched(struct warp *warp, const struct path *path);

/* wgmma.mma_async uses the register, by the warp's next group. */
void simt_warpgroup_use(struct warp *warp, const struct path *path, uint32_t index, bool is_input);

#endif
