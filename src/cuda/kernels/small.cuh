// A small array: all its vectors are in registers at once, VECTORS of a thread at the most, and each warp's are one
// segment.  What counts here is how many instructions are fetched and waited for on the way, so a block that meets
// anything special (as in segment_holds) begins again elsewhere.

#ifndef SMALL_CUH
#define SMALL_CUH

// A lane's vectors: `first` and every `step` from there, below `end`.  From `whole` on they are the one behind the last
// whole vector and the one before the first, of which only a part exists.
typedef struct {
    u32 first, step, whole, end;
} small_range;

static __device__ __forceinline__ u32 place_of(const small_range *range, int j)
{
    return range->first + (u32)j * range->step;
}

static __device__ __forceinline__ bool is_there(const small_range *range, int j)
{
    return place_of(range, j) < range->end;
}

static __device__ __forceinline__ bool has_place(const small_range *range, u32 place)
{
    bool found = false;
#pragma unroll
    for (int j = 0; j < VECTORS; j++) found = found || place_of(range, j) == place;
    return found;
}

// The number of a vector, as one of the array.
static __device__ __forceinline__ int number_of(const struct wf_reduction *r, const small_range *range, u32 place)
{
    bool is_head = place >= range->whole && place - range->whole == (r->tail != 0);
    return is_head ? -1 : (int)place;
}

// ---- what lies before and behind the whole vectors

#if defined PART_BITS || defined PART_PRODUCT
#define CAN_BE_PADDED false
#else
#define CAN_BE_PADDED true
#endif

// What takes the place of elements that do not exist: nothing to a sum, an element that exists to extremes.
static __device__ __forceinline__ unit padding(u64 address, i64 existing, bool is_second)
{
#if HAS_EXTREMES
    return load_element(address, existing);
#else
    return IS_FLOAT && !is_second ? SIGN_BIT : 0;
#endif
}

// The lane's, NOWHERE if it has none: it cannot have both.
static __device__ __forceinline__ u32 place_of_end(const small_range *range)
{
    u32 place = NOWHERE;
#pragma unroll
    for (int j = 0; j < VECTORS; j++)
        if (is_there(range, j) && place_of(range, j) >= range->whole) place = place_of(range, j);
    return place;
}

// Number -1, or the one behind the last whole vector.
static __device__ __noinline__ vector load_end(const struct wf_reduction *r, int number, bool is_second)
{
    u64 address = is_second ? r->y : r->x;
    int first = number < 0 ? PER_VECTOR - (int)r->head : 0, behind = number < 0 ? PER_VECTOR : (int)r->tail;
    i64 at = (i64)number * PER_VECTOR;
    unit pad = padding(address, at + first, is_second);
    vector v = {{0, 0, 0, 0}};
#pragma unroll
    for (int e = 0; e < PER_VECTOR; e++)
        put_element(&v, e, e >= first && e < behind ? load_element(address, at + e) : pad);
    return v;
}

static __device__ __forceinline__ void load_ends(const struct wf_reduction *r, const small_range *range, bool is_second,
                                                 vector x[VECTORS])
{
    u32 place = place_of_end(range);
    if (place == NOWHERE) return;
    vector end = load_end(r, number_of(r, range, place), is_second);
#pragma unroll
    for (int j = 0; j < VECTORS; j++)
        if (place_of(range, j) == place) x[j] = end;
}

// ---- all that there is in most arrays

static __device__ __forceinline__ void load_small(const struct wf_reduction *r, const small_range *range, bool is_second,
                                                  vector x[VECTORS])
{
    const vector nothing = {{0, 0, 0, 0}};
#pragma unroll
    for (int j = 0; j < VECTORS; j++) {
        u32 place = place_of(range, j);
        x[j] = place < range->whole ? load_vector(is_second ? r->y : r->x, place) : nothing;
    }
    if (range->end != range->whole) load_ends(r, range, is_second, x);
}

#if HAS_EXTREMES && IS_INDEXED
// Of the bits, as an element of the part of a vector before the first; copies of its first element lie before it.
static __device__ __noinline__ u64 index_in_head(const struct wf_reduction *r, unit wanted)
{
    for (int e = -(int)r->head; e < 0; e++)
        if (load_element(r->x, e) == wanted) return (u64)(r->index + e);
    return NO_INDEX;
}

// Where among the lane's vectors the key is: the first place.
static __device__ __forceinline__ u64 index_in_registers(const struct wf_reduction *r, const small_range *range,
                                                         const vector x[VECTORS], u64 key)
{
    unit wanted = bits_of_key((i64)(key ^ (u64)1 << 63));
    u32 found = NOWHERE, behind = range->whole + (r->tail != 0);
#pragma unroll
    for (int j = VECTORS - 1; j >= 0; j--) {
        u32 place = PER_VECTOR;
#pragma unroll
        for (int e = PER_VECTOR - 1; e >= 0; e--)
            if (element_at(&x[j], e) == wanted) place = (u32)e;
        if (place_of(range, j) < behind && place < PER_VECTOR) found = place_of(range, j) * PER_VECTOR + place;
    }
    u64 index = found == NOWHERE ? NO_INDEX : (u64)r->index + found;
    if (r->head == 0 || !has_place(range, behind)) return index;
    u64 in_head = index_in_head(r, wanted);
    return in_head < index ? in_head : index;
}

static __device__ __forceinline__ void find_in_registers(const struct wf_reduction *r, const small_range *range,
                                                         const vector x[VECTORS], lane_state *lane)
{
#ifdef PART_MIN
    lane->min_index = index_in_registers(r, range, x, lane->min_key);
    lane->min_chunk = NOWHERE;
#endif
#ifdef PART_MAX
    lane->max_index = index_in_registers(r, range, x, lane->max_key);
    lane->max_chunk = NOWHERE;
#endif
}
#endif

#if USES_LEVELS
static __device__ __forceinline__ void eat_registers(sums_state *sums, const small_range *range, const vector x[VECTORS],
                                                     const vector y[VECTORS], bool is_plain)
{
#pragma unroll
    for (int j = 0; j < VECTORS; j++)
        if (is_there(range, j)) sums_eat(sums, &x[j], &y[j], 1, is_plain);
}

// Whether the warp's terms are plain, and none is 0.
static __device__ __forceinline__ bool all_are_plain(const sums_state *sums, const small_range *range,
                                                     const vector x[VECTORS], const vector y[VECTORS])
{
    u32 smallest_x = MAGNITUDE_MAX, smallest_y = MAGNITUDE_MAX;
#pragma unroll
    for (int j = 0; j < VECTORS; j++)
        if (is_there(range, j)) {
            note_smallest(&smallest_x, &x[j]);
            if (OPERANDS == 2) note_smallest(&smallest_y, &y[j]);
        }
    if (OPERANDS == 1) smallest_y = smallest_x;
    bool are_nonzero = smallest_of(smallest_x) && smallest_of(smallest_y);
    return __all_sync(ALL_LANES, are_nonzero && are_plain(sums, smallest_x, smallest_y));
}

typedef struct {
    vector x[VECTORS], y[OPERANDS == 2 ? VECTORS : 1];
} small_vectors;

// What was seen of terms that are not plain; NOT_HELD: the segment does not hold them.
#define NOT_HELD 0x80000000u

static __device__ __noinline__ u32 take_unplain(small_range range, small_vectors v)
{
    lane_state lane;
    segment_state segment;
    lane_clear(&lane);
    segment_begin(&lane, &segment);
    const vector *y = OPERANDS == 2 ? v.y : v.x;
    sums_place(&segment.sums, &lane.tops, v.x, y);
    eat_registers(&segment.sums, &range, v.x, y, false);
#pragma unroll
    for (int j = 0; j < VECTORS; j++)
        if (is_there(&range, j)) eat(&segment, 0, &v.x[j], &y[j]);
    if (!segment_holds(&lane, &segment, 0)) return NOT_HELD;
    segment_keep(&lane, &segment, 0, &block_gathered);
    return lane.saw;
}

// False: the segment does not hold them.
static __device__ __forceinline__ bool take_registers(const struct wf_reduction *r, const small_range *range,
                                                      const vector x[VECTORS], const vector y[VECTORS], lane_state *lane)
{
    sums_state sums;
    (void)r;
    if (!sums_place(&sums, &lane->tops, x, y)) return false;
    if (all_are_plain(&sums, range, x, y)) {
        eat_registers(&sums, range, x, y, true);
        sums_flush(&sums, VALUE_FEW, PRODUCT_FEW, &block_gathered);
        lane->saw |= PLAIN_SAW;
        return true;
    }
    small_vectors v;
#pragma unroll
    for (int j = 0; j < VECTORS; j++) {
        v.x[j] = x[j];
        if (OPERANDS == 2) v.y[j] = y[j];
    }
    u32 saw = take_unplain(*range, v);
    if (saw != NOT_HELD) lane->saw |= saw;
    return saw != NOT_HELD;
}

#else

// False: the segment does not hold them.
static __device__ __forceinline__ bool take_registers(const struct wf_reduction *r, const small_range *range,
                                                      const vector x[VECTORS], const vector y[VECTORS], lane_state *lane)
{
    segment_state segment;
    bins_state bins;
    segment_begin(lane, &segment);
#pragma unroll
    for (int j = 0; j < VECTORS; j++)
        if (is_there(range, j)) eat(&segment, &bins, &x[j], &y[j]);
#if HAS_EXTREMES && IS_INDEXED
    note_extremes(&segment, x, 0);
#endif
    if (!segment_holds(lane, &segment, &bins)) return false;
    segment_keep(lane, &segment, &bins, &block_gathered);
#if HAS_EXTREMES && IS_INDEXED
    find_in_registers(r, range, x, lane);
#endif
    return true;
}

#endif

// ---- what is rare, kept apart: all of it for a block once more

static __device__ __noinline__ void hand_over_special(const struct wf_reduction *r, u32 specials)
{
    if (gridDim.x > 1) take_over(r, specials);
    hand_over(r);
}

static __device__ __noinline__ void reduce_carefully(const struct wf_reduction *r, small_range range)
{
    careful_range whole = {range.first, range.step, VECTORS, 1, range.whole};
    careful_range ends = {NO_VECTOR, 0, 1, 1, (i64)range.whole + 1};
    u32 place = place_of_end(&range);
    lane_state lane;
    u32 specials = 0;
    clear_block_digits();
    __syncthreads();
    lane_clear(&lane);
    take_carefully(r, &lane, 0, whole);
    if (place != NOWHERE) ends.first = number_of(r, &range, place);
    if (__any_sync(ALL_LANES, place != NOWHERE)) take_carefully(r, &lane, 0, ends);
    merge_warps(&lane);
    if (warp_number() == 0 && (gridDim.x == 1 || merge_blocks(r, has_special(), &specials))) hand_over_special(r, specials);
}

// ---- the block

// By the first warp, whose lanes have all warps' parts.
static __device__ __forceinline__ void merge_plain(const struct wf_reduction *r, lane_state *lane)
{
    u32 specials = 0;
    lane_clear(lane);
    if (lane_number() < BLOCK / 32) get_merged(lane, lane_number());
    merge_lanes(lane);
    if (lane_number() == 0) {
        put_gathered(lane);
        if (IS_FLOAT && !CAN_BE_DIRECT) put_plain();
    }
    __syncwarp();
    if (gridDim.x > 1 && !merge_blocks(r, false, &specials)) return;
#ifdef FINISH_OP
    if (CAN_BE_DIRECT && specials == 0) {
        if (gridDim.x > 1) take_over(r, 0);
        finish_directly(r);
        return;
    }
#endif
    if (IS_FLOAT && CAN_BE_DIRECT && lane_number() == 0) put_plain();
    __syncwarp();
    hand_over_special(r, specials);
}

// Has what the end needs of the launch's arguments brought near, while the elements are on their way.
static __device__ __forceinline__ void need_soon(const struct wf_reduction *r)
{
    asm volatile("" ::"r"(r->head | r->tail), "l"(r->working), "l"(r->ticket), "l"(r->value));
}

static __device__ __forceinline__ void reduce_small(const struct wf_reduction *r)
{
    u32 whole = (u32)r->vectors, ends = (r->head != 0) + (r->tail != 0);
    small_range range = {blockIdx.x * BLOCK + threadIdx.x, gridDim.x * BLOCK, whole, whole + ends};
    bool is_special = range.end == 0 || (ends && !CAN_BE_PADDED);
    vector x[VECTORS], y[VECTORS];
    lane_state lane;
    load_small(r, &range, false, x);
    if (OPERANDS == 2) load_small(r, &range, true, y);
    lane_clear(&lane);
    clear_block_digits();
    need_soon(r);
    if (HAS_SUMS) __syncthreads();
    if (range.first - lane_number() < range.end && !take_registers(r, &range, x, OPERANDS == 2 ? y : x, &lane))
        is_special = true;
    merge_lanes(&lane);
    if (lane_number() == 0) put_merged(&lane, warp_number());
    if (__syncthreads_or(is_special))
        reduce_carefully(r, range);
    else if (warp_number() == 0)
        merge_plain(r, &lane);
}

#endif
