// The reduction of an array, whole: -DTYPE_<name>, -DHAS_<PART>=0|1 for each part, -DIS_INDEXED=0|1 whether an extreme's
// index is needed, -DIS_SMALL=0|1, -DBLOCK, -DVECTORS, -DSTAGES, -DALIGNMENT (stream.cuh), -DRESIDENT blocks
// on a multiprocessor, -DSUMS_NBYTES of shared memory for each warp's sums, and -DFINISH_OP=, -DFINISH_TYPE=,
// -DFINISH_RESULT_TYPE= where the result is finished here, too.  -DLOSES=1: what is wide may be lost (losses.cuh), and
// -DREPEATS=1: this may follow such a kernel, to add all where that left the result uncertain.
//
// In a small array each thread takes its vectors at once (small.cuh).  In others each warp takes chunks by the grid's
// stride, a segment at a time (segment.cuh); what is no whole chunk goes the slow path (slow_path.cuh).  Lanes merge into
// their block's parts (merge.cuh), blocks into the grid's (grid.cuh), and the last block writes the result (result.cuh).
// Everything merges by integer operations that commute, so the bits depend on nothing but the elements.

#include "arguments.h"
#include "kernels/result.cuh" // its place decides the layout of shared memory
#include "kernels/bins.cuh"
#include "kernels/chain.cuh"
#include "kernels/digits.cuh"
#include "kernels/grid.cuh"
#include "kernels/lane.cuh"
#include "kernels/merge.cuh"
#include "kernels/parts.cuh"
#include "kernels/relaxed.cuh"
#include "kernels/segment.cuh"
#include "kernels/slow_path.cuh"
#include "kernels/stream.cuh"
#include "kernels/warp.cuh"
#if IS_SMALL
#include "kernels/small.cuh"
#endif

static_assert(!IS_FLOAT || WIDTH >= 16, "a word of floats of 8 bits: magnitude.cuh, extremes.cuh, specials.cuh, segment.cuh, sums.cuh know "
                                        "one float of 32 bits, or two of 16");

#define SUMS_NBYTES_NEEDED (!IS_FLOAT ? 0 : USES_BINS ? BINS_NBYTES : WIDE_NBYTES)
static_assert(SUMS_NBYTES == SUMS_NBYTES_NEEDED, "the plan (cuda/plan.c) and the kernel must agree");

// ---- all but small arrays

static __device__ __forceinline__ void take_segment(stream *s, lane_state *lane, void *memory, u32 chunks)
{
    segment_state segment;
    segment_clear(lane, &segment, memory);
    for (u32 k = 0; k < chunks; k++) {
        vector x[VECTORS], y[VECTORS];
        stream_take(s, x, y);
        accumulate_chunk(&segment, lane, x, y, s->taken - 1);
    }
    segment_commit(lane, &segment, &block_partial);
}

// All whole chunks of a warp.
static __device__ __forceinline__ void take_chunks(stream *s, lane_state *lane, void *memory)
{
    while (s->next < s->chunks) {
        u64 left = (s->chunks - s->next + s->step - 1) / s->step;
        take_segment(s, lane, memory, left < SEGMENT_CHUNKS ? (u32)left : SEGMENT_CHUNKS);
    }
}

// What is no whole chunk: vectors after the last one, and what lies before and after all vectors.
static __device__ __forceinline__ void take_rest(const struct wf_kernel_arguments *r, const stream *s, lane_state *lane)
{
    u64 begin = s->chunks * CHUNK, count = r->vectors - begin + 2;
    for (u64 i = s->first * 32; i < count; i += s->step * 32) {
        u64 mine = i + lane_number();
        slow_range range = {NO_VECTOR, 0, 1, 1, (i64)r->vectors + 1};
        if (mine < count) range.first = mine == 0 ? -1 : (i64)(begin + mine - 1);
        accumulate_slow(r, lane, range);
    }
}

static __device__ __forceinline__ void take_all(const struct wf_kernel_arguments *r, lane_state *lane)
{
    extern __shared__ __align__(128) char shared[];
    char *memory = shared + (BLOCK / 32) * RING_NBYTES + warp_number() * SUMS_NBYTES;
    stream s;
    s.x = r->x;
    s.y = r->y;
    s.chunks = r->vectors / CHUNK;
    s.first = s.next = (u64)blockIdx.x * (BLOCK / 32) + warp_number();
    s.step = (u64)gridDim.x * (BLOCK / 32);
    s.taken = 0;
    s.ring = shared + warp_number() * RING_NBYTES;
    stream_begin(&s);
    clear_block_digits();
#if LOSES
    clear_losses();
#endif
    __syncthreads();
    take_chunks(&s, lane, memory);
    place_at_chunks(r, lane, s.first, s.step);
    if (IS_FLOAT) {
        if (!FINDS_NAN_LAST) find_nan(r, lane, s.first, s.step);
        if (lane->is_not_negative_zero) lane->special_seen |= PLAIN_SPECIAL;
    }
    if (r->head || r->tail || r->vectors % CHUNK) take_rest(r, &s, lane);
}

static __device__ __forceinline__ void reduce_stream(const struct wf_kernel_arguments *r)
{
    lane_state lane;
    u32 specials = 0;
    lane_clear(&lane);
    take_all(r, &lane);
    merge_warps(&lane);
#if LOSES
    if (threadIdx.x == 0) publish_losses(r);
    __syncthreads();
#endif
    if (gridDim.x > 1) {
        if (!merge_blocks(r, has_special(), &specials)) return;
        collect_blocks(r, specials);
    }
    find_in_chunks(r);
    write_result(r);
}

extern "C" __global__ void __launch_bounds__(BLOCK, RESIDENT) reduce(const __grid_constant__ struct wf_kernel_arguments reduction)
{
#if REPEATS
    if (reduction.outcome) {
        wait_for_those_before();
        if (load_global_u32((const u32 *)reduction.outcome) != WF_LOSING_LEFT_DOUBT) return;
    }
#endif
#if IS_SMALL
    reduce_small(&reduction);
#else
    reduce_stream(&reduction);
#endif
}
