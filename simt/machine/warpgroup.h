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
    const struct frame *frame;
    const struct function *function;
    struct watched_register *registers; /* of that frame's function */
    uint64_t waited[SIMT_LANES];        /* groups that are done, as far as the lane knows */
    bool has_fence;
};

/* warpgroup.c: makes the instructions of a function that has wgmma tell when they touch its registers.  false: no memory. */
bool simt_warpgroup_watch(struct decoder *decoder);

/* The warp's, for the function that it executes; NULL: no memory, and the launch is stopped. */
struct warpgroup *simt_warpgroup_of(struct warp *warp, const struct path *path);

void simt_warpgroup_fence(struct warpgroup *group);

/* wgmma.mma_async uses the register, by the warp's next group. */
void simt_warpgroup_use(struct warp *warp, const struct path *path, uint32_t index, bool is_input);

#endif
