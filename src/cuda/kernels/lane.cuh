// What the elements of a lane's chunks contribute, apart from their sums, which are in shared memory.

#ifndef LANE_CUH
#define LANE_CUH

#include "kernels/element.cuh"
#include "kernels/extremes.cuh"
#include "kernels/parts.cuh"
#include "kernels/stream.cuh"

#define LANE_ELEMENTS (VECTORS * PER_VECTOR) // of a chunk

#define NOWHERE 0xffffffffu
#define NO_INDEX ((u64)0x7fffffffffffffff)

typedef struct {
    u64 min_key, max_key; // as in struct wf_partial
    u64 min_index, max_index;
    u32 min_chunk, max_chunk; // which of the warp's chunks has the key, as long as the index is not known
    u64 nonzero;
    packed bits_and, bits_or, bits_xor; // of whole words
    u64 product;
    u32 product_flags;
    u64 nan_count, first_nan;
    u32 nan_chunk; // as min_chunk, of the first NaN
    u32 clean_until; // chunks before this one have special elements, it seems
    u32 special_seen;
    bool is_not_negative_zero; // the warp's sum has terms that are not -0
    u32 looked_at; // the warp's last chunk, of those looked at, that did not go to few levels (sums.cuh)
    int strays, bins; // how many did not, and how many went to bins, shortly after each other
} lane_state;

static __device__ __forceinline__ void lane_clear(lane_state *lane)
{
    lane->min_key = ~(u64)0;
    lane->min_index = lane->max_index = lane->first_nan = NO_INDEX;
    lane->max_key = 0;
    lane->min_chunk = lane->max_chunk = lane->nan_chunk = NOWHERE;
    lane->nonzero = lane->nan_count = 0;
    lane->bits_and = ~(packed)0;
    lane->bits_or = lane->bits_xor = 0;
    lane->product = 1;
    lane->product_flags = 0;
    lane->special_seen = lane->clean_until = 0;
    lane->is_not_negative_zero = false;
    lane->looked_at = 0;
    lane->strays = lane->bins = 0;
}

#endif
