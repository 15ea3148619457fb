// A segment: as many of a warp's chunks as its sums can take before they must be emptied.
//
// Within a segment every lane works for itself.  At its end the warp adds its sums to the block's digits.

#ifndef SEGMENT_CUH
#define SEGMENT_CUH

#include "kernels/bins.cuh"
#include "kernels/digits.cuh"
#include "kernels/integers.cuh"
#include "kernels/lane.cuh"
#include "kernels/magnitude.cuh"
#include "kernels/narrow.cuh"
#include "kernels/specials.cuh"
#include "kernels/sums.cuh"

// How many chunks can be added before a sum could lose a bit.  A small array is one segment.
#define CHUNKS_OF_SUMS                                            \
    (!IS_FLOAT     ? INTEGER_ADDITIONS / (4 * VECTORS)            \
     : USES_LEVELS ? LEVEL_SETS * LEVEL_ADDITIONS / LANE_ELEMENTS \
     : USES_BINS   ? BIN_ADDITIONS / LANE_ELEMENTS                \
                   : 256)
#define SEGMENT_CHUNKS (IS_SMALL ? 1 : LARGER(CHUNKS_OF_SUMS, 1))

// What a lane gathers of one segment: apart from lane_state, so that it stays in registers.
typedef struct {
    extreme min, max;
#if IS_FLOAT
    float_range range;
#endif
    bool nan;         // of f64: was seen in this chunk
    u32 magnitude;    // the largest of this chunk, where NaNs of up to 32 bits are looked for
    u32 nonzero;
    u64 min_key, max_key; // of the chunks that are done, where an index is needed
    u32 least_word, largest_word; // of the warp's keys so far
    u32 min_chunk, max_chunk;
    packed bits_and, bits_or, bits_xor;
    u64 product;
    u32 product_flags;
    sums_state sums;
    bins_state bins;
#if USES_NARROW
    narrow_state narrow;
#endif
    integer_sum sum, abs, product_sum;
#if !IS_FLOAT // where it is not used, its place above would change what integers' statistics compile to
    float_range range;
#endif
} segment_state;

// ---- counts

static __device__ __forceinline__ u32 count_nonzero(const vector *v)
{
    u32 count = 0;
    const u32 top = WIDTH == 16 ? 0x80008000 : 0x80808080; // each narrow element's highest bit
    if (WIDTH == 64) {
#pragma unroll
        for (int i = 0; i < 2; i++)
            count += ((IS_FLOAT ? v->word[2 * i + 1] & 0x7fffffff : v->word[2 * i + 1]) | v->word[2 * i]) != 0;
    } else if (WIDTH == 32) {
#pragma unroll
        for (int i = 0; i < 4; i++) count += (IS_FLOAT ? v->word[i] & 0x7fffffff : v->word[i]) != 0;
    } else {
#pragma unroll
        for (int i = 0; i < 4; i++) {
            u32 word = v->word[i], below = (word & ~top) + ~top;
            count += (u32)__popc((IS_FLOAT ? below : below | word) & top);
        }
    }
    return count;
}

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

static __device__ __forceinline__ void accumulate_bits(segment_state *segment, const vector *v)
{
#pragma unroll
    for (int i = 0; i < (int)(16 / sizeof(packed)); i++) {
        packed bits = WIDTH == 64 ? (packed)long_at(v, i % 2) : v->word[i];
        segment->bits_and &= bits;
        segment->bits_or |= bits;
        segment->bits_xor ^= bits;
    }
}

static __device__ __forceinline__ void look_for_nan(segment_state *segment, const vector *v)
{
    if (WIDTH == 64) {
#pragma unroll
        for (int i = 0; i < 2; i++) { // one instruction, where magnitudes take five
            double value = __longlong_as_double((i64)long_at(v, i));
            segment->nan = segment->nan || value != value;
        }
    } else if (WIDTH == 32) {
#pragma unroll
        for (int i = 0; i < 4; i++) segment->magnitude = max(segment->magnitude, v->word[i] & 0x7fffffff);
    } else {
#pragma unroll
        for (int i = 0; i < 4; i++) segment->magnitude = __vmaxu2(segment->magnitude, v->word[i] & 0x7fff7fff);
    }
}

static __device__ __forceinline__ bool has_seen_nan(const segment_state *segment)
{
    if (USES_RANGE) return range_has_nan(&segment->range);
    if (WIDTH == 16) return (segment->magnitude & 0xffff) > INFINITY_BITS || segment->magnitude >> 16 > INFINITY_BITS;
    return WIDTH == 64 ? segment->nan : segment->magnitude > INFINITY_BITS;
}

static __device__ __forceinline__ void forget_nan(segment_state *segment)
{
    segment->nan = false;
    segment->magnitude = 0;
}

// ---- extremes

static __device__ __forceinline__ void clear_extremes(segment_state *segment)
{
    extreme_clear(&segment->min, true);
    extreme_clear(&segment->max, false);
    if (USES_RANGE) range_clear(&segment->range);
}

// Once for a chunk in which there may be a new extreme.
static __device__ __forceinline__ void accumulate_keys(segment_state *segment, const vector x[VECTORS], bool has_nans)
{
#pragma unroll
    for (int j = 0; j < VECTORS; j++) {
        extreme_add(&segment->min, &x[j], true, has_nans);
        extreme_add(&segment->max, &x[j], false, has_nans);
    }
}

static __device__ __forceinline__ void accumulate_extremes(segment_state *segment, const vector *x, bool has_nans)
{
    if (USES_RANGE) range_add(&segment->range, x, has_nans);
    if (!USES_RANGE && HAS_MIN) extreme_add(&segment->min, x, true, has_nans);
    if (!USES_RANGE && HAS_MAX) extreme_add(&segment->max, x, false, has_nans);
}

static __device__ __forceinline__ u64 least_key(const segment_state *segment)
{
    return USES_RANGE && WIDTH < 64 ? range_min_key(&segment->range) : extreme_key(&segment->min, true);
}

static __device__ __forceinline__ u64 largest_key(const segment_state *segment)
{
    return USES_RANGE && WIDTH < 64 ? range_max_key(&segment->range) : extreme_key(&segment->max, false);
}

// ---- a segment

// memory: the warp's, for its sums.
static __device__ __forceinline__ void segment_clear(const lane_state *lane, segment_state *segment, void *memory)
{
    clear_extremes(segment);
    segment->nan = false;
    segment->magnitude = 0;
    segment->nonzero = 0;
    segment->min_key = ~(u64)0;
    segment->max_key = 0;
    segment->min_chunk = segment->max_chunk = IS_INDEXED ? NOWHERE : 0;
    if (SKIPS_CHUNKS) {
        segment->least_word = warp_min(word_of_key(lane->min_key));
        segment->largest_word = warp_max(word_of_key(lane->max_key));
    }
    segment->bits_and = ~(packed)0;
    segment->bits_or = segment->bits_xor = 0;
    segment->product = 1;
    segment->product_flags = 0;
    if (!IS_FLOAT) {
        integer_clear(&segment->sum);
        integer_clear(&segment->abs);
        integer_clear(&segment->product_sum);
    }
    if (USES_LEVELS) sums_clear(&segment->sums, memory);
    if (USES_BINS) bins_clear(&segment->bins, (bin *)memory);
#if USES_NARROW
    narrow_clear(&segment->narrow);
#endif
}

// All but extremes and the sums of floats.
static __device__ __forceinline__ void accumulate(segment_state *segment, const vector *x, const vector *y)
{
    (void)y;
    if (LOOKS_FOR_NAN && !USES_RANGE) look_for_nan(segment, x);
    if (HAS_NONZERO && !COUNTS_CHUNKS) segment->nonzero += count_nonzero(x);
    if (HAS_BITS) accumulate_bits(segment, x);
#pragma unroll
    for (int e = 0; HAS_PRODUCT && e < PER_VECTOR; e++)
        multiply_product(&segment->product, &segment->product_flags, element_at(x, e));
    if (IS_FLOAT) return;
    if (HAS_SUM) integer_add(&segment->sum, x, false);
    if (HAS_ABS) integer_add(&segment->abs, x, true);
    if (HAS_PRODUCT_SUM) integer_add_products(&segment->product_sum, x, y);
}

// Whether any lane's chunk may have a new extreme of the warp; if so, its keys are looked at.
static __device__ __forceinline__ bool has_new_extreme(segment_state *segment, const vector x[VECTORS], bool has_nans)
{
    bool is_none = has_nans && is_empty(&segment->range);
    u32 least = is_none ? ~0u : range_least_word(&segment->range);
    u32 largest = is_none ? 0 : range_largest_word(&segment->range);
    if (!__any_sync(ALL_LANES, least <= segment->least_word || largest >= segment->largest_word)) return false;
    segment->least_word = min(segment->least_word, warp_min(least));
    segment->largest_word = max(segment->largest_word, warp_max(largest));
    if (WIDTH == 64) accumulate_keys(segment, x, has_nans);
    return true;
}

// The extremes of the chunk that ends, with its number; of equal ones the first stays.
static __device__ __forceinline__ void note_extremes(segment_state *segment, const vector x[VECTORS], u32 chunk,
                                                     bool has_nans)
{
    if (!SKIPS_CHUNKS || has_new_extreme(segment, x, has_nans)) {
        if (HAS_MIN) {
            u64 least = least_key(segment);
            if (least < segment->min_key || segment->min_chunk == NOWHERE) {
                segment->min_key = least;
                segment->min_chunk = chunk;
            }
        }
        if (HAS_MAX) {
            u64 largest = largest_key(segment);
            if (largest > segment->max_key || segment->max_chunk == NOWHERE) {
                segment->max_key = largest;
                segment->max_chunk = chunk;
            }
        }
    }
    clear_extremes(segment);
}

static __device__ __forceinline__ void commit_extremes(lane_state *lane, const segment_state *segment)
{
    if (HAS_MIN) {
        u64 least = IS_INDEXED ? segment->min_key : least_key(segment);
        if (least < lane->min_key || (lane->min_index == NO_INDEX && lane->min_chunk == NOWHERE)) {
            lane->min_key = least;
            lane->min_chunk = segment->min_chunk;
        }
    }
    if (HAS_MAX) {
        u64 largest = IS_INDEXED ? segment->max_key : largest_key(segment);
        if (largest > lane->max_key || (lane->max_index == NO_INDEX && lane->max_chunk == NOWHERE)) {
            lane->max_key = largest;
            lane->max_chunk = segment->max_chunk;
        }
    }
}

static __device__ __forceinline__ void commit_product(lane_state *lane, const segment_state *segment)
{
    u32 flags = segment->product_flags;
    if (__umul64hi(lane->product, segment->product)) flags |= WF_PRODUCT_OVERFLOW;
    lane->product *= segment->product;
    lane->product_flags |= flags & ~(u32)WF_PRODUCT_NEGATIVE;
    lane->product_flags ^= flags & WF_PRODUCT_NEGATIVE;
}

static __device__ __forceinline__ void segment_commit(lane_state *lane, segment_state *segment, struct wf_partial *block)
{
    (void)block;
    commit_extremes(lane, segment);
    commit_product(lane, segment);
    lane->nonzero += segment->nonzero;
    lane->bits_and &= segment->bits_and;
    lane->bits_or |= segment->bits_or;
    lane->bits_xor ^= segment->bits_xor;
#if USES_NARROW
    narrow_flush(&segment->narrow, block->sum, block->abs);
    if (segment->narrow.bins_hold) bins_flush(&segment->bins, block->sum, block->abs);
#else
    if (USES_BINS) bins_flush(&segment->bins, block->sum, block->abs);
#endif
    if (USES_LEVELS) sums_flush(&segment->sums, block);
    if (!IS_FLOAT && HAS_SUM) integer_flush(&segment->sum, block->sum, IS_SIGNED, false);
    if (!IS_FLOAT && HAS_ABS) integer_flush(&segment->abs, block->abs, false, false);
    if (!IS_FLOAT && HAS_PRODUCT_SUM) integer_flush(&segment->product_sum, block->product_sum, IS_SIGNED, true);
}

// ---- a chunk

// The extremes of a chunk, NaNs left out.  Gives whether there may be any: after a chunk with some, the next ones are taken to
// have some as well, as it takes less to leave out what is not there than to begin again.
static __device__ __forceinline__ bool accumulate_chunk_extremes(segment_state *segment, lane_state *lane, const vector x[VECTORS],
                                                                 u32 chunk)
{
    if (chunk >= lane->clean_until) {
#if USES_RANGE
        float_range before = segment->range;
#else
        extreme before_min = segment->min, before_max = segment->max;
#endif
#pragma unroll
        for (int j = 0; j < VECTORS; j++) accumulate_extremes(segment, &x[j], false);
        if (!__any_sync(ALL_LANES, has_seen_nan(segment))) return false;
#if USES_RANGE
        segment->range = before;
#else
        segment->min = before_min;
        segment->max = before_max;
#endif
        lane->clean_until = chunk + CLEANED_WHILE;
    }
#pragma unroll
    for (int j = 0; j < VECTORS; j++) accumulate_extremes(segment, &x[j], true);
    return true;
}

static __device__ __forceinline__ void accumulate_range(segment_state *segment, const vector x[VECTORS], u32 chunk,
                                                        bool has_nans)
{
#pragma unroll
    for (int j = 0; j < VECTORS; j++) range_add(&segment->range, &x[j], has_nans);
    note_extremes(segment, x, chunk, has_nans);
}

// The sums of a chunk go to levels, or where these do not hold it, to bins.  Extremes are looked for together with the sums'
// additions, in their shadow; before them only where special elements are about to be put aside.
static __device__ __forceinline__ void accumulate_chunk_by_levels(segment_state *segment, lane_state *lane,
                                                                  vector x[VECTORS], vector y[VECTORS], u32 chunk)
{
    sums_state *sums = &segment->sums;
    bool has_range = false;
    bool is_clean = !RANGE_IS_OF_CHUNK && chunk < lane->clean_until;
    if (is_clean) clean_chunk(lane, x, y, chunk);
    u32 largest = largest_magnitude(x), smallest = smallest_magnitude(sums, x);
    bool is_special = largest >= SPECIAL_WORD && !is_clean;
    bool is_as_usual = is_usual(sums, 0, largest, smallest) && chunk != sums->look_at;
    if (OPERANDS == 2) {
        u32 largest_y = largest_magnitude(y);
        is_as_usual = is_as_usual && is_usual(sums, OPERANDS - 1, largest_y, smallest_magnitude(sums, y));
        is_special = is_special || (largest_y >= SPECIAL_WORD && !is_clean);
    }
    if (COUNTS_CHUNKS) segment->nonzero += count_nonzero_of_chunk(x, sums->sees_zeros ? 0 : smallest);
    int values_to = sums->values_to, products_to = sums->products_to;
    if (__any_sync(ALL_LANES, !is_as_usual)) {
        if (RANGE_IS_OF_CHUNK) {
            has_range = __any_sync(ALL_LANES, is_special);
            if (has_range) accumulate_range(segment, x, chunk, true);
        }
        sums_look(sums, lane, x, y, is_special, chunk, &values_to, &products_to);
    }
    sums_add(sums, x, OPERANDS == 2 ? y : x, chunk, values_to, products_to);
    if (RANGE_IS_OF_CHUNK && !has_range) accumulate_range(segment, x, chunk, false);
#pragma unroll
    for (int j = 0; USES_BINS && j < VECTORS; j++) bins_add(&segment->bins, &x[j]);
}

static __device__ __forceinline__ void add_chunk_to_bins(segment_state *segment, lane_state *lane, vector x[VECTORS],
                                                         vector y[VECTORS], u32 chunk)
{
#pragma unroll
    for (int j = 0; j < VECTORS; j++) bins_add(&segment->bins, &x[j]);
#if !IS_F16
    bins_look(&segment->bins);
    if (__any_sync(ALL_LANES, !bins_is_exact(&segment->bins))) {
        bins_take_back(&segment->bins);
        clean_chunk(lane, x, y, chunk);
#pragma unroll
        for (int j = 0; j < VECTORS; j++) bins_add_uppermost(&segment->bins, &x[j]);
        bins_look(&segment->bins);
        lane->clean_until = chunk + CLEANED_WHILE;
    }
    bins_note(&segment->bins);
#endif
}

// The sums of a chunk go to bins, or to registers in their place.
static __device__ __forceinline__ void accumulate_chunk_by_bins(segment_state *segment, lane_state *lane,
                                                                vector x[VECTORS], vector y[VECTORS], u32 chunk)
{
    bool is_ahead = chunk < lane->clean_until;
    if (IS_F16) is_ahead = is_ahead || largest_magnitude(x) >= SPECIAL_WORD;
    if (is_ahead) {
        u32 nans = clean_chunk(lane, x, y, chunk);
        if (!IS_F16 && chunk + 1 == lane->clean_until && __any_sync(ALL_LANES, nans)) lane->clean_until += CLEANED_WHILE;
    }
#if USES_NARROW
    if (!narrow_takes(&segment->narrow, x)) {
        segment->narrow.bins_hold = true;
        add_chunk_to_bins(segment, lane, x, y, chunk);
    }
#else
    add_chunk_to_bins(segment, lane, x, y, chunk);
#endif
    if (PLAIN_SPECIAL && !lane->is_not_negative_zero) lane->is_not_negative_zero = chunk_is_not_negative_zero(x, x);
}

// Number `chunk` of the warp's.
static __device__ __forceinline__ void accumulate_chunk(segment_state *segment, lane_state *lane, vector x[VECTORS],
                                                 vector y[VECTORS], u32 chunk)
{
#pragma unroll
    for (int j = 0; j < VECTORS; j++) {
        accumulate(segment, &x[j], OPERANDS == 2 ? &y[j] : &x[j]);
        if (!IS_FLOAT && HAS_EXTREMES) accumulate_extremes(segment, &x[j], false);
    }
    if (IS_FLOAT && HAS_SUMS) {
        if (USES_LEVELS)
            accumulate_chunk_by_levels(segment, lane, x, y, chunk);
        else
            accumulate_chunk_by_bins(segment, lane, x, y, chunk);
        return;
    }
    bool has_nans = false;
    if (IS_FLOAT && HAS_EXTREMES)
        has_nans = accumulate_chunk_extremes(segment, lane, x, chunk);
    else if (LOOKS_FOR_NAN)
        has_nans = has_seen_nan(segment);
    if (LOOKS_FOR_NAN && has_nans) note_nans(lane, x, x, chunk);
    if (LOOKS_FOR_NAN && !USES_RANGE) forget_nan(segment);
    if (IS_INDEXED && HAS_EXTREMES) note_extremes(segment, x, chunk, has_nans);
}

#endif
