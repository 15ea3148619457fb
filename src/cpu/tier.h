/* A tier: the loops compiled for one instruction set.  A tier is one file that defines the vector width and a
 * fused multiply-add, and includes kernels.inc; its compiler flags are in CMakeLists.txt. */
#ifndef WF_CPU_TIER_H
#define WF_CPU_TIER_H

#include "core/accumulator.h"
#include "cpu/bins.h"

/* The unit of work: a block of contiguous elements that stays in the first-level cache while each part takes
 * its pass over it. */
#define WF_BLOCK_NBYTES 32768

/* Several blocks, for one pass where what a pass begins and ends with would else be felt. */
#define WF_RUN_NBYTES (4 * WF_BLOCK_NBYTES)

/* The ranges of the last two blocks that were surveyed, of each operand: all elements below 2^top and
 * multiples of 2^low. */
struct wf_guess {
    int known; /* how many are known */
    int next;
    unsigned uses; /* since the last that was wrong */
    unsigned wait; /* so many blocks until it is tried on a run */
    unsigned wait_next; /* should that fail */
    int top[2][2], low[2][2]; /* [block][operand] */
};

/* What a thread works with. */
struct wf_scratch {
    /* Blocks that had to be gathered, or freed of infinities and NaNs, of each operand. */
    _Alignas(64) unsigned char block[2][WF_BLOCK_NBYTES];
    /* NULL where so little is summed that zeroing bins would cost more than they save. */
    struct wf_bins *bins; /* [WF_BINS_SETS] */
    struct wf_guess guess;
    int passes, pass; /* that the block at work takes in all, and has taken */
};

enum { WF_BINS_OF_SUM, WF_BINS_OF_ABS, WF_BINS_OF_PRODUCTS, WF_BINS_SETS };

/* Adds the parts of count elements of x (paired with y, or NULL), contiguous at any alignment and at most a
 * block, the first of index `index`.  The environment is as wf_environment_enter sets it. */
typedef void wf_block_function(struct wf_accumulator *into, struct wf_scratch *scratch, const void *x,
                               const void *y, size_t count, int64_t index);

/* Adds the parts of a run, likewise, if one pass through a window that is known can; returns whether it did.  Called for
 * each block that is not part of such a run. */
typedef bool wf_run_function(struct wf_accumulator *into, struct wf_scratch *scratch, const void *x, size_t count,
                             int64_t index);

struct wf_tier {
    const char *name;
    wf_block_function *add_block[WF_TYPE_COUNT];
    wf_run_function *add_run[WF_TYPE_COUNT]; /* NULL: runs are of no use to the type */
};

extern const struct wf_tier wf_tier_scalar;
#if defined(WARPFOLD_X86)
extern const struct wf_tier wf_tier_avx2;
extern const struct wf_tier wf_tier_avx512;
#elif defined(__aarch64__)
extern const struct wf_tier wf_tier_neon;
#endif

/* The fastest tier that this processor has, or the one that WARPFOLD_TIER names; NULL where it names one
 * that is not to be had here. */
const struct wf_tier *wf_tier_choose(const char *name);

#endif
