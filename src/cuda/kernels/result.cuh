// What a kernel leaves for the host: the partial or, with -DFINISH_OP, the result.

#ifndef RESULT_CUH
#define RESULT_CUH

#include "kernels/direct.cuh"
#include "kernels/grid.cuh"
#include "kernels/warp.cuh"
#include "arguments.h"
#include "core/partial_words.h"

#ifdef FINISH_OP
// Whether anything but digits and extremes has a say in the result: NaNs that are left out of a sum have none.
static __device__ __forceinline__ bool is_special_result(const struct wf_kernel_arguments *r)
{
    if (IS_PLAIN_FLOAT_SUM && block_partial.special_seen == PLAIN_SPECIAL && !nan_decides(r)) return false;
    return has_special();
}
#endif

// Writes the partial, or the result; called by the last block, whose first warp makes the result.
static __device__ __forceinline__ void write_result(const struct wf_kernel_arguments *r)
{
#ifdef FINISH_OP
    if (warp_number() != 0) return;
    if (CAN_BE_DIRECT && r->count && !is_special_result(r)) {
        finish_directly(r);
    } else if (!(IS_SMALL && CAN_BE_DIRECT && finish_specially(r))) { // of a large array it would not be noticed
        struct finish_settings settings = {r->count, r->first_index, r->end_index, r->ddof, FINISH_OP, FINISH_TYPE,
                                           FINISH_RESULT_TYPE, r->nan};
        if (!IS_FLOAT && lane_number() == 0) put_plain();
        __syncwarp();
        finish(&block_partial, settings, target_of(r));
    }
#else
    const u64 *from = (const u64 *)&block_partial;
    u64 *to = (u64 *)r->partial;
    for (u32 i = MERGING_THREAD; i < PARTIAL_WORDS; i += MERGING_THREADS)
        to[i] = is_of_parts(i) ? from[i] : identity_of(i);
#endif
}

#endif
