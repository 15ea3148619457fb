// What a kernel leaves for the host: the partial or, with -DFINISH_OP, the result.

#ifndef RESULT_CUH
#define RESULT_CUH

#include "kernels/direct.cuh"
#include "kernels/grid.cuh"
#include "kernels/losses.cuh"
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

#if LOSES

// By the first warp: makes the result of either end of what the sums may be, and notes whether that leaves a doubt.
static __device__ __forceinline__ void write_certain_result(const struct wf_kernel_arguments *r,
                                                            struct finish_settings settings)
{
    const u64 infinite = WF_SPECIAL_POSITIVE_INFINITY | WF_SPECIAL_NEGATIVE_INFINITY | WF_SPECIAL_INVALID;
    const bool specials_decide = (block_partial.special_seen & infinite) || (block_partial.nan_count && r->nan != WF_NAN_OMIT);
    bounds lost = collect_losses(r);
    const bool is_whole = !lost.sum.units && !lost.products.units;
    if (specials_decide) lost.sum.units = lost.products.units = 0;
    const bool is_exact = !lost.sum.units && !lost.products.units;
    u64 bits[2] = {0, 0};
    wf_error error = WF_OK;
#pragma unroll 1
    for (int end = 0; end < (is_exact ? 1 : 2); end++) {
        const struct finish_end of = {lost.sum, lost.products, end != 0};
        bits[0] = bits[1];
        wf_error of_end = finish_bits(&block_partial, settings, &of, &bits[1]);
        if (of_end) error = of_end;
    }
    if (lane_number() != 0) return;
    const bool is_certain = is_exact || (!error && bits[0] == bits[1]);
    if (is_certain) store_result(target_of(r), (wf_type)FINISH_RESULT_TYPE, bits[1], error);
    *(u32 *)r->outcome = is_whole ? WF_LOSING_LOST_NOTHING : is_certain ? WF_LOSING_WAS_WORTH_IT : WF_LOSING_LEFT_DOUBT;
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
#if LOSES
        write_certain_result(r, settings);
#else
        finish(&block_partial, settings, target_of(r));
#endif
    }
#else
    const u64 *from = (const u64 *)&block_partial;
    u64 *to = (u64 *)r->partial;
    for (u32 i = MERGING_THREAD; i < PARTIAL_WORDS; i += MERGING_THREADS)
        to[i] = is_of_parts(i) ? from[i] : identity_of(i);
#endif
}

#endif
