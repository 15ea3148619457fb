// The reduction of an array, whole: -DTYPE_<name>, -DPART_<NAME> for each part, -DIS_INDEXED=0|1 whether an extreme's
// index is needed, -DIS_SMALL=0|1, -DBLOCK, -DVECTORS, -DSTAGES, -DGRANULE (stream.cuh), -DRESIDENT blocks
// on a multiprocessor, -DSUMS_NBYTES of shared memory for each warp's sums, and -DFINISH_OP=, -DFINISH_TYPE=,
// -DFINISH_RESULT_TYPE= where the result is finished here, too.
//
// Of a small array each thread takes its vectors at once (small.cuh).  Of others each warp takes chunks by the grid's
// stride, a segment at a time (segment.cuh); what is no whole chunk, and what a segment could not hold, is taken
// carefully (careful.cuh).  Lanes merge into their block's parts (merge.cuh), blocks into the grid's, and the last block
// hands those over (grid.cuh).  Everything merges by integer operations that commute, so the bits depend on nothing but
// the elements.

#ifdef FINISH_OP
#include "kernels/finish.cuh"
#endif
#include "core/portable.h"
#include "core/finish.h"
#include "gathered.h"
#include "kernels/element.cuh"
#include "kernels/parts.cuh"
#include "kernels/warp.cuh"
#include "reduction.h"

// The block's parts.
static __shared__ struct wf_gathered block_gathered;

#include "kernels/digits.cuh"
#include "kernels/extremes.cuh"
#include "kernels/stream.cuh"
#if IS_FLOAT
#include "kernels/bins.cuh"
#include "kernels/levels.cuh"
#include "kernels/magnitude.cuh"
#include "kernels/sums.cuh"
#include "kernels/wide.cuh"
#include "kernels/window.cuh"
#else
#include "kernels/integers.cuh"
#endif
#include "kernels/segment.cuh"
#include "kernels/careful.cuh"
#include "kernels/merge.cuh"
#include "kernels/posted.cuh"
#include "kernels/grid.cuh"
#include "kernels/direct.cuh"

#if IS_SMALL
#define SUMS_NBYTES_NEEDED 0
#elif USES_BINS
#define SUMS_NBYTES_NEEDED LARGER(BINS_NBYTES, WIDE_NBYTES)
#elif IS_FLOAT && HAS_SUMS
#define SUMS_NBYTES_NEEDED LARGER(WIDE_NBYTES, USES_WINDOW ? WINDOW_ROWS * 512 : 0)
#else
#define SUMS_NBYTES_NEEDED 0
#endif
static_assert(SUMS_NBYTES == SUMS_NBYTES_NEEDED, "the plan (cuda/plan.c) and the kernel must agree");

#if !IS_SMALL

#if USES_WINDOW

// f64 values alone: to a window, or, where that does not hold them, to wide bins for a while.
#define WIDE_WHILE 31 // segments

static __device__ __forceinline__ double value_at(const vector *v, int i)
{
    double value = __longlong_as_double((i64)long_at(v, i));
#ifdef PART_ABS
    value = fabs(value);
#endif
    return value;
}

static __device__ __forceinline__ void eat_window(window_state *window, segment_state *segment, const vector x[VECTORS])
{
#pragma unroll
    for (int j = 0; j < VECTORS; j++) {
#pragma unroll
        for (int i = 0; i < 2; i++) window_add(window, (u64)__double_as_longlong(value_at(&x[j], i)));
        segment->beyond = segment->beyond || is_beyond(&x[j], 0);
    }
}

static __device__ __forceinline__ void eat_wide(wide_bin *mine, u32 *largest, segment_state *segment,
                                                const vector x[VECTORS])
{
#pragma unroll
    for (int j = 0; j < VECTORS; j++) {
#pragma unroll
        for (int i = 0; i < 2; i++) {
            wide_add(mine, value_at(&x[j], i), 0);
            *largest = max(*largest, x[j].word[2 * i + 1] & 0x7fffffff);
        }
        segment->beyond = segment->beyond || is_beyond(&x[j], 0);
    }
}

// Whether the chunk's values, zeros apart, would fit into a window below its margin.
static __device__ __forceinline__ bool fits_window(const vector x[VECTORS], u32 largest)
{
    u32 least = ~0u;
#pragma unroll
    for (int j = 0; j < VECTORS; j++) {
#pragma unroll
        for (int i = 0; i < 2; i++) least = min(least, (x[j].word[2 * i + 1] & 0x7fffffff) - 1);
    }
    least = ~warp_max(~least);
    return least == ~0u || (int)largest - (int)((least + 1) >> 20) < WINDOW_BINADES - WINDOW_MARGIN;
}

// To levels, from the first chunk on, for which they have been placed.
static __device__ __forceinline__ bool take_levels(stream *s, lane_state *lane, segment_state *segment, vector x[VECTORS],
                                                   u32 count)
{
    vector y[VECTORS];
    for (u32 k = 0; k < count; k++) {
        if (k) stream_take(s, x, y);
        sums_eat_chunk(&segment->sums, x, x);
#pragma unroll
        for (int j = 0; j < VECTORS; j++) segment->beyond = segment->beyond || is_beyond(&x[j], 0);
    }
    bool holds = segment_holds(lane, segment, 0);
    if (holds)
        segment_keep(lane, segment, 0, &block_gathered);
    else
        lane->window_segments = WIDE_WHILE;
    return holds;
}

// Whether the warp's chunk is plain, for which levels are placed.
static __device__ __forceinline__ bool begins_plain(const lane_state *lane, segment_state *segment, const vector x[VECTORS])
{
    u32 smallest = MAGNITUDE_MAX;
    bool is_placed = sums_place(&segment->sums, &lane->tops, x, x);
#pragma unroll
    for (int j = 0; j < VECTORS; j++) note_smallest(&smallest, &x[j]);
    return __all_sync(ALL_LANES, is_placed && are_plain(&segment->sums, smallest, smallest));
}

// The first chunk decides where its segment goes, unless levels or a window have failed not long ago.
static __device__ __forceinline__ bool take_fast(stream *s, lane_state *lane, void *bins, u32 count)
{
    segment_state segment;
    window_state window;
    wide_bin *mine = (wide_bin *)bins + lane_number();
    vector x[VECTORS], y[VECTORS];
    u64 *digits = block_gathered.PART_DIGITS;
    u32 largest = 0;
    bool holds;
    segment_begin(lane, &segment);
    stream_take(s, x, y);
    if (lane->window_segments) lane->window_segments--;
    else if (begins_plain(lane, &segment, x)) return take_levels(s, lane, &segment, x, count);
    u32 field = largest_field(x);
    bool wide = lane->wide_segments > 0 || field == 0 || !fits_window(x, field); // zeros say nothing of what comes
    if (wide) {
        wide_clear((wide_bin *)bins, VALUE_WIDE_ROWS);
        eat_wide(mine, &largest, &segment, x);
        for (u32 k = 1; k < count; k++) {
            stream_take(s, x, y);
            eat_wide(mine, &largest, &segment, x);
        }
        holds = __all_sync(ALL_LANES, largest < 0x7ff00000); // infinities and NaNs have the largest field
        if (lane->wide_segments) lane->wide_segments--;
    } else {
        window_begin(&window, bins);
        window_place(&window, field);
        eat_window(&window, &segment, x);
        for (u32 k = 1; k < count; k++) {
            stream_take(s, x, y);
            eat_window(&window, &segment, x);
        }
        holds = __all_sync(ALL_LANES, window.outside == 0);
        if (!holds) lane->wide_segments = WIDE_WHILE;
    }
    holds = (!PLAIN_SAW || __any_sync(ALL_LANES, segment.beyond || lane->saw & PLAIN_SAW)) && holds;
    if (!holds) return false;
    if (segment.beyond) lane->saw |= PLAIN_SAW;
    if (wide)
        wide_flush((wide_bin *)bins, VALUE_WIDE_ROWS, 0, LOW_EXPONENT, digits);
    else
        window_flush(&window, digits);
    return true;
}

#else

static __device__ __forceinline__ bool take_fast(stream *s, lane_state *lane, void *bins, u32 count)
{
    segment_state segment;
    bins_state state;
    segment_begin(lane, &segment);
#if USES_BINS
    bins_begin(&state, (bin *)bins);
#endif
    for (u32 k = 0; k < count; k++) {
        vector x[VECTORS], y[VECTORS];
        stream_take(s, x, y);
#pragma unroll
        for (int j = 0; j < VECTORS; j++) eat(&segment, &state, &x[j], OPERANDS == 2 ? &y[j] : &x[j]);
#if USES_LEVELS
        const vector *others = OPERANDS == 2 ? y : x;
        if (k == 0) sums_place(&segment.sums, &lane->tops, x, others);
        u32 smallest = sums_eat_chunk(&segment.sums, x, others);
#if COUNTS_CHUNKS
        segment.nonzero += count_nonzero_of_chunk(x, smallest);
#endif
        (void)smallest;
#endif
        if (IS_INDEXED && HAS_EXTREMES) note_extremes(&segment, x, s->taken - 1);
    }
    if (!segment_holds(lane, &segment, &state)) return false;
    segment_keep(lane, &segment, &state, &block_gathered);
    return true;
}

#endif

// All whole chunks of a warp.
static __device__ __forceinline__ void take_chunks(const struct wf_reduction *r, stream *s, lane_state *lane, void *bins)
{
    while (s->next < s->chunks) {
        careful_range range = {(i64)(s->next * CHUNK + lane_number()), s->step * CHUNK, 0, VECTORS, (i64)r->vectors};
        u64 left = (s->chunks - s->next + s->step - 1) / s->step;
        range.chunks = left < SEGMENT_CHUNKS ? (u32)left : SEGMENT_CHUNKS;
        if (!take_fast(s, lane, bins, range.chunks)) take_carefully(r, lane, bins, range);
    }
}

// What is no whole chunk: vectors behind the last one, and what lies before and behind all vectors.
static __device__ __forceinline__ void take_rest(const struct wf_reduction *r, const stream *s, lane_state *lane, void *bins)
{
    u64 begin = s->chunks * CHUNK, count = r->vectors - begin + 2;
    for (u64 i = s->first * 32; i < count; i += s->step * 32) {
        u64 mine = i + lane_number();
        careful_range range = {NO_VECTOR, 0, 1, 1, (i64)r->vectors + 1};
        if (mine < count) range.first = mine == 0 ? -1 : (i64)(begin + mine - 1);
        take_carefully(r, lane, bins, range);
    }
}

#endif

// What was gathered, or the result of it.
static __device__ __forceinline__ void hand_over(const struct wf_reduction *r)
{
#ifdef FINISH_OP
    if (warp_number() != 0) return;
    if (CAN_BE_DIRECT && r->count && !has_special()) {
        finish_directly(r);
    } else {
        struct finish_settings settings = {r->count, r->first_index, r->end_index, r->ddof, FINISH_OP, FINISH_TYPE,
                                           FINISH_RESULT_TYPE, r->nan};
        if (!IS_FLOAT && lane_number() == 0) put_plain();
        __syncwarp();
        finish(&block_gathered, settings, (wf_device_value *)r->value);
    }
#else
    const u64 *from = (const u64 *)&block_gathered;
    u64 *to = (u64 *)r->gathered;
    for (u32 i = MERGING_THREAD; i < GATHERED_WORDS; i += MERGING_THREADS)
        to[i] = is_gathered(i) ? from[i] : identity_of(i);
#endif
}

#if IS_SMALL
#include "kernels/small.cuh"
#else
static __device__ __forceinline__ void take_all(const struct wf_reduction *r, lane_state *lane)
{
    extern __shared__ __align__(128) char shared[];
    char *bins = shared + (BLOCK / 32) * RING_NBYTES + warp_number() * SUMS_NBYTES;
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
    __syncthreads();
    take_chunks(r, &s, lane, bins);
    if (HAS_EXTREMES && IS_INDEXED) find_indices(r, lane, s.first, s.step);
    if (r->head || r->tail || r->vectors % CHUNK) take_rest(r, &s, lane, bins);
}

static __device__ __forceinline__ void reduce_stream(const struct wf_reduction *r)
{
    lane_state lane;
    u32 specials = 0;
    lane_clear(&lane);
    take_all(r, &lane);
    merge_warps(&lane);
    if (gridDim.x > 1) {
        if (!merge_blocks(r, has_special(), &specials)) return;
        take_over(r, specials);
    }
    hand_over(r);
}
#endif

extern "C" __global__ void __launch_bounds__(BLOCK, RESIDENT) reduce(const __grid_constant__ struct wf_reduction reduction)
{
#if IS_SMALL
    reduce_small(&reduction);
#else
    reduce_stream(&reduction);
#endif
}
