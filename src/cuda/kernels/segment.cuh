// A segment: as many of a warp's chunks as its sums can take before they must be emptied.
//
// Within a segment every lane works for itself.  At its end the warp adds its sums to the block's digits, unless
// something was met that they do not hold (an infinity, a NaN, an exponent too far away): then nothing of the
// segment counts, and careful.cuh takes it once more.

#ifndef SEGMENT_CUH
#define SEGMENT_CUH

#define LANE_ELEMENTS (VECTORS * PER_VECTOR) // of a chunk

#if IS_SMALL
#define SEGMENT_ADDITIONS 1 // all there are
#elif !IS_FLOAT
#define SEGMENT_ADDITIONS (INTEGER_ADDITIONS / (4 * VECTORS))
#elif USES_WINDOW
#define SEGMENT_ADDITIONS (WIDE_ADDITIONS / LANE_ELEMENTS)
#elif USES_LEVELS
#define SEGMENT_ADDITIONS (LEVEL_SETS * LEVEL_ADDITIONS / LANE_ELEMENTS)
#elif USES_BINS
#define SEGMENT_ADDITIONS (BIN_ADDITIONS / LANE_ELEMENTS)
#else
#define SEGMENT_ADDITIONS 256
#endif
#define SEGMENT_CHUNKS LARGER(SEGMENT_ADDITIONS, 1)

#define NOWHERE 0xffffffffu
#define NO_INDEX ((u64)0x7fffffffffffffff)

// What a lane has gathered of the segments that are done, and what it keeps from one to the next.
typedef struct {
    u64 min_key, max_key; // as in struct wf_gathered
    u64 min_index, max_index;
    u32 min_chunk, max_chunk; // which of the warp's chunks has the key, as long as the index is not known
    u64 nonzero;
    packed bits_and, bits_or, bits_xor; // of whole words
    u64 product;
    u32 product_flags;
    u64 nan_count, first_nan;
    u32 saw;
    u32 wide_segments;           // so many more are to go to wide bins, and not to a window
    u32 window_segments;         // so many more are not to go to levels
#if USES_LEVELS
    level_tops tops;
#endif
} lane_state;

static __device__ __forceinline__ void lane_clear(lane_state *lane)
{
    lane->min_key = ~(u64)0;
    lane->min_index = lane->max_index = lane->first_nan = NO_INDEX;
    lane->max_key = 0;
    lane->min_chunk = lane->max_chunk = NOWHERE;
    lane->nonzero = lane->nan_count = 0;
    lane->bits_and = ~(packed)0;
    lane->bits_or = lane->bits_xor = 0;
    lane->product = 1;
    lane->product_flags = 0;
    lane->saw = 0;
    lane->wide_segments = lane->window_segments = 0;
#if USES_LEVELS
    clear_tops(&lane->tops);
#endif
}

// What a lane gathers of one segment: apart from the above, so that it stays in registers.
typedef struct {
    extreme min, max;
#if USES_RANGE
    float_range range;
#endif
    bool nan;         // was seen in a chunk that is done, or, of f64, in any
    u32 magnitude;    // the largest, where NaNs of up to 32 bits are looked for
    u32 nonzero;
    bool beyond; // a term that is not -0 was seen
    u64 min_key, max_key; // of the chunks that are done, where an index is needed
    u32 least_word, largest_word; // of the warp's keys so far
    u32 min_chunk, max_chunk;
    packed bits_and, bits_or, bits_xor;
    u64 product;
    u32 product_flags;
#if USES_LEVELS
    sums_state sums;
#endif
#if !IS_FLOAT
    integer_sum sum, abs, products;
#endif
} segment_state;

// ---- counts

static __device__ __forceinline__ u32 count_nonzero(const vector *v)
{
    u32 count = 0;
#if WIDTH == 64
#pragma unroll
    for (int i = 0; i < 2; i++)
        count += ((IS_FLOAT ? v->word[2 * i + 1] & 0x7fffffff : v->word[2 * i + 1]) | v->word[2 * i]) != 0;
#elif WIDTH == 32
#pragma unroll
    for (int i = 0; i < 4; i++) count += (IS_FLOAT ? v->word[i] & 0x7fffffff : v->word[i]) != 0;
#else
    const u32 top = WIDTH == 16 ? 0x80008000 : 0x80808080; // each element's highest bit
#pragma unroll
    for (int i = 0; i < 4; i++) {
        u32 word = v->word[i], below = (word & ~top) + ~top;
        count += (u32)__popc((IS_FLOAT ? below : below | word) & top);
    }
#endif
    return count;
}

#if COUNTS_CHUNKS
// By the smallest magnitude: 0 if there may be zeros.
static __device__ __forceinline__ u32 count_nonzero_of_chunk(const vector x[VECTORS], u32 smallest)
{
    u32 count = LANE_ELEMENTS;
    if (smallest == 0) {
        count = 0;
#pragma unroll
        for (int j = 0; j < VECTORS; j++) count += count_nonzero(&x[j]);
    }
    return count;
}
#endif

static __device__ __forceinline__ void eat_bits(segment_state *segment, const vector *v)
{
#pragma unroll
    for (int i = 0; i < (int)(16 / sizeof(packed)); i++) {
        packed bits = WIDTH == 64 ? (packed)long_at(v, i % 2) : v->word[i];
        segment->bits_and &= bits;
        segment->bits_or |= bits;
        segment->bits_xor ^= bits;
    }
}

static __device__ __forceinline__ void multiply_product(u64 *product, u32 *flags, unit bits)
{
    u64 magnitude = IS_SIGNED && bits & SIGN_BIT ? (u64)(unit)(0 - bits) : (u64)bits;
    if (is_negative(bits)) *flags ^= WF_GATHERED_NEGATIVE;
    if (magnitude == 0) {
        *flags |= WF_GATHERED_ZERO;
        return;
    }
    if (__umul64hi(*product, magnitude)) *flags |= WF_GATHERED_OVERFLOW;
    *product *= magnitude;
}

#if LOOKS_FOR_NAN && !USES_RANGE
static __device__ __forceinline__ void look_for_nan(segment_state *segment, const vector *v)
{
#if WIDTH == 64
#pragma unroll
    for (int i = 0; i < 2; i++) { // one instruction, where magnitudes take five
        double value = __longlong_as_double((i64)long_at(v, i));
        segment->nan = segment->nan || value != value;
    }
#elif WIDTH == 32
#pragma unroll
    for (int i = 0; i < 4; i++) segment->magnitude = max(segment->magnitude, v->word[i] & 0x7fffffff);
#else
#pragma unroll
    for (int i = 0; i < 4; i++) segment->magnitude = __vmaxu2(segment->magnitude, v->word[i] & 0x7fff7fff);
#endif
}

static __device__ __forceinline__ bool saw_nan(const segment_state *segment)
{
#if WIDTH == 16
    return (segment->magnitude & 0xffff) > INFINITY_BITS || segment->magnitude >> 16 > INFINITY_BITS;
#elif WIDTH == 64
    return segment->nan;
#else
    return segment->magnitude > INFINITY_BITS;
#endif
}
#elif LOOKS_FOR_NAN
static __device__ __forceinline__ bool saw_nan(const segment_state *segment)
{
    return segment->nan || range_has_nan(&segment->range);
}
#endif

// ---- extremes

static __device__ __forceinline__ void clear_extremes(segment_state *segment)
{
    extreme_clear(&segment->min, true);
    extreme_clear(&segment->max, false);
#if USES_RANGE
    range_clear(&segment->range);
#endif
}

#if SKIPS_CHUNKS && WIDTH == 64
// Once for a chunk in which there may be a new extreme.
static __device__ __forceinline__ void eat_keys(segment_state *segment, const vector x[VECTORS])
{
#pragma unroll
    for (int j = 0; j < VECTORS; j++) {
        extreme_eat(&segment->min, &x[j], true);
        extreme_eat(&segment->max, &x[j], false);
    }
}
#endif

static __device__ __forceinline__ void eat_extremes(segment_state *segment, const vector *x)
{
#if USES_RANGE
    range_eat(&segment->range, x);
#else
#ifdef PART_MIN
    extreme_eat(&segment->min, x, true);
#endif
#ifdef PART_MAX
    extreme_eat(&segment->max, x, false);
#endif
#endif
}

static __device__ __forceinline__ u64 least_key(const segment_state *segment)
{
#if USES_RANGE && WIDTH < 64
    return range_min_key(&segment->range);
#else
    return extreme_key(&segment->min, true);
#endif
}

static __device__ __forceinline__ u64 largest_key(const segment_state *segment)
{
#if USES_RANGE && WIDTH < 64
    return range_max_key(&segment->range);
#else
    return extreme_key(&segment->max, false);
#endif
}

#if IS_FLOAT
// Enough evidence that a sum is beyond -0: the first term of a vector is not -0.
static __device__ __forceinline__ bool is_beyond(const vector *x, const vector *y)
{
    unit a = element_at(x, 0);
#ifdef PART_DOT
    unit b = element_at(y, 0);
    return (is_nonzero(a) && is_nonzero(b)) || is_negative(a) == is_negative(b);
#else
    return WIDTH == 64 ? x->word[1] != SIGN_WORD : a != SIGN_BIT;
#endif
}
#endif

// ---- a segment

static __device__ __forceinline__ void segment_begin(const lane_state *lane, segment_state *segment)
{
    clear_extremes(segment);
    segment->nan = false;
    segment->magnitude = 0;
    segment->nonzero = 0;
    segment->beyond = false;
    segment->min_key = ~(u64)0;
    segment->max_key = 0;
    segment->min_chunk = segment->max_chunk = IS_INDEXED ? NOWHERE : 0;
#if SKIPS_CHUNKS
    segment->least_word = warp_min(word_of_key(lane->min_key));
    segment->largest_word = warp_max(word_of_key(lane->max_key));
#endif
    segment->bits_and = ~(packed)0;
    segment->bits_or = segment->bits_xor = 0;
    segment->product = 1;
    segment->product_flags = 0;
#if !IS_FLOAT
    integer_clear(&segment->sum);
    integer_clear(&segment->abs);
    integer_clear(&segment->products);
#endif
}

static __device__ __forceinline__ void eat(segment_state *segment, bins_state *bins, const vector *x,
                                           const vector *y)
{
    if (HAS_EXTREMES) eat_extremes(segment, x);
#if LOOKS_FOR_NAN && !USES_RANGE
    look_for_nan(segment, x);
#endif
#if defined PART_NONZERO && !COUNTS_CHUNKS
    segment->nonzero += count_nonzero(x);
#endif
#ifdef PART_BITS
    eat_bits(segment, x);
#endif
#ifdef PART_PRODUCT
#pragma unroll
    for (int e = 0; e < PER_VECTOR; e++) multiply_product(&segment->product, &segment->product_flags, element_at(x, e));
#endif
#if !IS_FLOAT
#ifdef PART_SUM
    integer_eat(&segment->sum, x, false);
#endif
#ifdef PART_ABS
    integer_eat(&segment->abs, x, true);
#endif
#if HAS_PRODUCTS
    integer_eat_products(&segment->products, x, y);
#endif
#elif HAS_SUMS
    segment->beyond = segment->beyond || is_beyond(x, y);
#if USES_BINS
    bins_eat(bins, x);
#endif
#endif
}

#if SKIPS_CHUNKS
// Whether any lane's chunk may have a new extreme of the warp; if so, its keys are looked at.
static __device__ __forceinline__ bool has_new_extreme(segment_state *segment, const vector x[VECTORS])
{
    u32 least = range_least_word(&segment->range), largest = range_largest_word(&segment->range);
    if (!__any_sync(ALL_LANES, least <= segment->least_word || largest >= segment->largest_word)) return false;
    segment->least_word = min(segment->least_word, warp_min(least));
    segment->largest_word = max(segment->largest_word, warp_max(largest));
#if WIDTH == 64
    eat_keys(segment, x);
#else
    (void)x;
#endif
    return true;
}
#endif

// The extremes of the chunk that ends, with its number; of equal ones the first stays.
static __device__ __forceinline__ void note_extremes(segment_state *segment, const vector x[VECTORS], u32 chunk)
{
#if SKIPS_CHUNKS
    bool is_new = has_new_extreme(segment, x);
#else
    const bool is_new = true;
#endif
#if USES_RANGE && LOOKS_FOR_NAN
    segment->nan = segment->nan || range_has_nan(&segment->range);
#endif
#if USES_RANGE && USES_LEVELS
    segment->sums.largest[0] = larger_magnitude(segment->sums.largest[0], range_magnitude(&segment->range));
#endif
    if (is_new) {
#ifdef PART_MIN
        u64 least = least_key(segment);
        if (least < segment->min_key || segment->min_chunk == NOWHERE) {
            segment->min_key = least;
            segment->min_chunk = chunk;
        }
#endif
#ifdef PART_MAX
        u64 largest = largest_key(segment);
        if (largest > segment->max_key || segment->max_chunk == NOWHERE) {
            segment->max_key = largest;
            segment->max_chunk = chunk;
        }
#endif
    }
    clear_extremes(segment);
}

static __device__ __forceinline__ void keep_extremes(lane_state *lane, const segment_state *segment)
{
#ifdef PART_MIN
    u64 least = IS_INDEXED ? segment->min_key : least_key(segment);
    if (least < lane->min_key || (lane->min_index == NO_INDEX && lane->min_chunk == NOWHERE)) {
        lane->min_key = least;
        lane->min_chunk = segment->min_chunk;
    }
#endif
#ifdef PART_MAX
    u64 largest = IS_INDEXED ? segment->max_key : largest_key(segment);
    if (largest > lane->max_key || (lane->max_index == NO_INDEX && lane->max_chunk == NOWHERE)) {
        lane->max_key = largest;
        lane->max_chunk = segment->max_chunk;
    }
#endif
}

// Whether the fast way holds all of the segment.
static __device__ __forceinline__ bool segment_holds(lane_state *lane, segment_state *segment,
                                                     const bins_state *bins)
{
    bool holds = true;
#if !IS_FLOAT
    return true;
#endif
#if LOOKS_FOR_NAN
    holds = holds && !saw_nan(segment);
#endif
#if USES_BINS
    holds = holds && bins_hold(bins);
#endif
    holds = __all_sync(ALL_LANES, holds);
#if IS_FLOAT && (defined PART_SUM || defined PART_DOT)
    holds = __any_sync(ALL_LANES, segment->beyond || lane->saw & WF_SAW_BEYOND_MINUS_ZERO) && holds;
#endif
#if USES_LEVELS
    holds = sums_hold(&segment->sums, &lane->tops) && holds;
#endif
    return holds;
}

static __device__ __forceinline__ void keep_product(lane_state *lane, const segment_state *segment)
{
    u32 flags = segment->product_flags;
    if (__umul64hi(lane->product, segment->product)) flags |= WF_GATHERED_OVERFLOW;
    lane->product *= segment->product;
    lane->product_flags |= flags & ~(u32)WF_GATHERED_NEGATIVE;
    lane->product_flags ^= flags & WF_GATHERED_NEGATIVE;
}

static __device__ __forceinline__ void segment_keep(lane_state *lane, segment_state *segment, bins_state *bins,
                                                    struct wf_gathered *block)
{
    keep_extremes(lane, segment);
    keep_product(lane, segment);
    lane->nonzero += segment->nonzero;
    lane->bits_and &= segment->bits_and;
    lane->bits_or |= segment->bits_or;
    lane->bits_xor ^= segment->bits_xor;
#if IS_FLOAT && (defined PART_SUM || defined PART_DOT)
    if (segment->beyond) lane->saw |= WF_SAW_BEYOND_MINUS_ZERO;
#endif
#if USES_BINS
    bins_flush(bins, block->sum, block->abs);
#endif
#if USES_LEVELS
    sums_flush(&segment->sums, LEVELS, LEVELS, block);
#endif
#if !IS_FLOAT && defined PART_SUM
    integer_end(&segment->sum, block->sum, IS_SIGNED, false);
#endif
#if !IS_FLOAT && defined PART_ABS
    integer_end(&segment->abs, block->abs, false, false);
#endif
#if !IS_FLOAT && HAS_PRODUCTS
    integer_end(&segment->products, block->products, IS_SIGNED, true);
#endif
}

#endif
