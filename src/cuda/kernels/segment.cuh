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
#elif USES_LEVELS
#define SEGMENT_ADDITIONS (LEVEL_SETS * LEVEL_ADDITIONS / LANE_ELEMENTS)
#elif USES_WINDOW
#define SEGMENT_ADDITIONS (WIDE_ADDITIONS / LANE_ELEMENTS)
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
    int value_top, products_top; // of the levels
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
    lane->wide_segments = 0;
    lane->value_top = lane->products_top = -2000;
}

// What a lane gathers of one segment: apart from the above, so that it stays in registers.
typedef struct {
    extreme min, max;
#if USES_RANGE
    float_range range;
#endif
    bool nan;         // in a chunk that is done
    packed magnitude; // the largest magnitude, where NaNs are looked for
    u32 largest[2];   // of each operand: the largest magnitude, of f64 its high word, of 16 bits two
    u32 least;        // of f64 factors: the high word of the smallest that is not 0, less one
    u32 nonzero;
    bool beyond; // a term that is not -0 was seen
    u64 min_key, max_key; // of the chunks that are done, where an index is needed
    u32 least_word, largest_word; // of the warp's keys so far
    u32 min_chunk, max_chunk;
    packed bits_and, bits_or, bits_xor;
    u64 product;
    u32 product_flags;
#if USES_VALUE_LEVELS
    levels_state sum, abs;
#endif
#if USES_PRODUCT_LEVELS
    levels_state products;
#endif
#if USES_ERROR_LEVELS
    levels_state errors; // of the products
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
// By the smallest magnitude; of f64 its high word.
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
static __device__ __forceinline__ void note_magnitude(segment_state *segment, const vector *v)
{
#if WIDTH == 64
#pragma unroll
    for (int i = 0; i < 2; i++) {
        u64 magnitude = long_at(v, i) & MAGNITUDE;
        segment->magnitude = magnitude > segment->magnitude ? magnitude : segment->magnitude;
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

// ---- sums of floats

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

// The larger magnitude, as the bits of an f32; a high word of f64 with its largest exponents seems to be a NaN, which
// wins.  Of 16 bits there are two.
static __device__ __forceinline__ u32 larger_magnitude(u32 a, u32 b)
{
#if WIDTH == 16
    return __vmaxu2(a & 0x7fff7fff, b & 0x7fff7fff);
#elif __CUDA_ARCH__ >= 800
    u32 larger;
    asm("{ .reg .b32 a, b; abs.f32 a, %1; abs.f32 b, %2; max.NaN.f32 %0, a, b; }" : "=r"(larger) : "r"(a), "r"(b));
    return larger;
#else
    return max(a & 0x7fffffff, b & 0x7fffffff);
#endif
}

// The smaller one; NaNs are not looked at.
static __device__ __forceinline__ u32 smaller_magnitude(u32 a, u32 b)
{
#if WIDTH == 16
    return __vminu2(a & 0x7fff7fff, b & 0x7fff7fff);
#else
    return __float_as_uint(fminf(fabsf(__uint_as_float(a)), fabsf(__uint_as_float(b))));
#endif
}

// In pairs, so that not each has to wait for the one before.
static __device__ __forceinline__ void note_largest(u32 *largest, const vector *v)
{
    u32 last = larger_magnitude(v->word[WIDTH == 64 ? 1 : 2], v->word[3]);
    if (WIDTH < 64) last = larger_magnitude(last, larger_magnitude(v->word[0], v->word[1]));
    *largest = larger_magnitude(*largest, last);
}

static __device__ __forceinline__ void note_smallest(u32 *smallest, const vector *v)
{
    u32 last = smaller_magnitude(v->word[WIDTH == 64 ? 1 : 2], v->word[3]);
    if (WIDTH < 64) last = smaller_magnitude(last, smaller_magnitude(v->word[0], v->word[1]));
    *smallest = smaller_magnitude(*smallest, last);
}

#define NO_NUMBER 0x7fffffffu // as a magnitude

// The exponent field of the warp's largest magnitude; the highest there is for infinities and NaNs.
static __device__ __forceinline__ u32 field_of(u32 largest)
{
    if (WIDTH == 16) largest = max(largest & 0xffff0000, largest << 16);
    return warp_max(largest) >> (WIDTH == 64 ? 20 : 31 - EXPONENT_BITS);
}

static __device__ __forceinline__ u32 largest_field(const vector v[VECTORS])
{
    u32 largest = 0;
#pragma unroll
    for (int j = 0; j < VECTORS; j++) note_largest(&largest, &v[j]);
    return field_of(largest);
}

#if USES_LEVELS
// The magnitudes were all below 2^this.
static __device__ __forceinline__ int top_of(u32 largest)
{
    int field = (int)field_of(largest);
    return field > 2 * BIAS ? TOP_OF_NONE : field - BIAS + 1;
}

// With a unit from here on, values that leave no rest have products of which no bit is below 2^-1074.
#define TOP_MIN (USES_ERROR_LEVELS && USES_VALUE_LEVELS ? LEVELS * LEVEL_BITS - 537 : -2000)

// Chooses the first level by the segment's first chunk, with room for terms four times as large, or by what a
// segment before had.
static __device__ __forceinline__ void place_levels(levels_state *levels, int top, int before)
{
    levels->top = min(max(top + 2, before - 8), LEVEL_TOP_MAX);
    levels_begin(levels);
}

static __device__ __forceinline__ void place_sums(const lane_state *lane, segment_state *segment,
                                                  const vector x[VECTORS], const vector y[VECTORS])
{
#ifdef TYPE_f16 // the levels hold all
#if USES_VALUE_LEVELS
    segment->sum.top = segment->abs.top = HIGH_EXPONENT;
    levels_begin(&segment->sum);
    levels_begin(&segment->abs);
#endif
#if USES_PRODUCT_LEVELS
    segment->products.top = 2 * HIGH_EXPONENT;
    levels_begin(&segment->products);
#endif
#else
    const int none = BIAS + 2; // above infinities and NaNs, as they seem
    int top = (int)largest_field(x) - BIAS + 1, before = max(lane->value_top, TOP_MIN + 8);
    bool is_placed = top < none && top <= LEVEL_TOP_MAX;
#if USES_VALUE_LEVELS
    place_levels(&segment->sum, top, before);
    place_levels(&segment->abs, top, before);
#endif
#if USES_PRODUCT_LEVELS
    int other = OPERANDS == 2 ? (int)largest_field(y) - BIAS + 1 : top;
    is_placed = is_placed && other < none && top + other <= LEVEL_TOP_MAX;
    place_levels(&segment->products, top + other, lane->products_top);
#if USES_ERROR_LEVELS
    segment->errors.top = segment->products.top - 53; // half a unit of the product
    levels_begin(&segment->errors);
#endif
#endif
    if (IS_SMALL && !is_placed) segment->largest[0] = NO_NUMBER; // nothing else is noted
#endif
}
#endif

#if USES_LEVELS
static __device__ __forceinline__ void widen_all(double *values, const vector *v, int vectors)
{
#pragma unroll
    for (int i = 0; i < vectors * PER_VECTOR; i++) values[i] = widen(element_at(&v[i / PER_VECTOR], i % PER_VECTOR));
}

static __device__ __forceinline__ void add_terms(levels_state *levels, levels_state *abs, const double *values, double *terms,
                                                 int count, int from, int few, bool is_plain)
{
    if (is_plain)
        levels_add_plain(levels, abs, values, terms, count, from, few);
    else
        levels_add(levels, abs, values, terms, count, from, few);
}
#endif

#if USES_PRODUCT_LEVELS
#if NOTES_LEAST
#define FIELD_OF_FACTORS 538 // twice its unit's exponent is -1074

static __device__ __forceinline__ void note_least(segment_state *segment, const vector *v)
{
#pragma unroll
    for (int i = 0; i < 2; i++) {
        u32 least = (v->word[2 * i + 1] & 0x7fffffff) | min(v->word[2 * i], 1u);
        segment->least = min(segment->least, least - 1);
    }
}
#endif

// Of f64 the product has a second term, its rounding error.
static __device__ __forceinline__ void add_products(segment_state *segment, const double *a, const double *b, int count,
                                                    bool is_plain)
{
    double terms[BATCH_TERMS];
#if USES_ERROR_LEVELS
    double errors[BATCH_TERMS];
#pragma unroll
    for (int i = 0; i < count; i++) {
        terms[i] = __dmul_rn(a[i], b[i]);
        errors[i] = __fma_rn(a[i], b[i], -terms[i]);
    }
    add_terms(&segment->products, 0, 0, terms, count, 0, PRODUCT_FEW, is_plain);
    add_terms(&segment->errors, 0, 0, errors, count, 0, PRODUCT_FEW, is_plain);
#else
    levels_take_products(&segment->products, a, b, terms, count);
    add_terms(&segment->products, 0, 0, terms, count, 1, PRODUCT_FEW, is_plain);
#endif
}

// Whether the errors of the products are f64: no bit of a product lies below 2^-1074.
static __device__ __forceinline__ bool errors_fit(const segment_state *segment)
{
#if NOTES_LEAST
    return segment->least == ~0u || (segment->least + 1) >> 20 >= FIELD_OF_FACTORS;
#else
    return true; // see TOP_MIN
#endif
}
#endif

#if USES_VALUE_LEVELS
static __device__ __forceinline__ void add_values(segment_state *segment, const double *values, int count, bool is_plain)
{
    double terms[BATCH_TERMS];
#pragma unroll
    for (int i = 0; i < count; i++) {
#ifdef PART_SUM
        terms[i] = values[i];
#else
        terms[i] = fabs(values[i]);
#endif
    }
#if defined PART_SUM && defined PART_ABS
    add_terms(&segment->sum, &segment->abs, values, terms, count, 0, VALUE_FEW, is_plain);
#elif defined PART_SUM
    add_terms(&segment->sum, 0, 0, terms, count, 0, VALUE_FEW, is_plain);
#else
    add_terms(&segment->abs, 0, 0, terms, count, 0, VALUE_FEW, is_plain);
#endif
}
#endif

#if USES_LEVELS
// What goes to levels, of a batch of vectors.
static __device__ __forceinline__ void eat_batch(segment_state *segment, const vector *x, const vector *y, int vectors,
                                                 bool is_plain)
{
    double a[BATCH_TERMS], b[BATCH_TERMS];
    widen_all(a, x, vectors);
    widen_all(b, y, vectors);
#pragma unroll
    for (int j = 0; j < vectors; j++) {
        if (NOTES_LARGEST) note_largest(&segment->largest[0], &x[j]);
        if (NOTES_LARGEST && OPERANDS == 2) note_largest(&segment->largest[1], &y[j]);
#if NOTES_LEAST
        if (!is_plain) note_least(segment, &x[j]);
        if (!is_plain && OPERANDS == 2) note_least(segment, &y[j]);
#endif
    }
#if USES_PRODUCT_LEVELS
    add_products(segment, a, b, vectors * PER_VECTOR, is_plain);
#endif
#if USES_VALUE_LEVELS
    add_values(segment, a, vectors * PER_VECTOR, is_plain);
#endif
}

#define MAGNITUDE_MAX (WIDTH == 16 ? 0x7fff7fff : 0x7f800000) // of f64 of its high word, as if it were an f32

static __device__ __forceinline__ int exponent_of(u32 magnitude)
{
    if (WIDTH == 16) magnitude = min(magnitude & 0xffff0000, magnitude << 16);
    return (int)(magnitude >> (WIDTH == 64 ? 20 : 31 - EXPONENT_BITS)) - BIAS;
}

// Whether terms of these magnitudes and larger ones are multiples of the last few levels' units.
static __device__ __forceinline__ bool are_plain(const segment_state *segment, u32 x, u32 y)
{
    bool are = true; // of f16 always
#ifndef TYPE_f16
#if USES_VALUE_LEVELS
#ifdef PART_SUM
    const levels_state *values = &segment->sum;
#else
    const levels_state *values = &segment->abs;
#endif
    are = exponent_of(x) - FRACTION_BITS >= level_unit(values, VALUE_FEW - 1);
#endif
#if NOTES_LEAST
    are = exponent_of(x) + BIAS >= FIELD_OF_FACTORS && exponent_of(y) + BIAS >= FIELD_OF_FACTORS;
#endif
#if USES_PRODUCT_LEVELS // with the product of f64, so is its error
    are = are && exponent_of(x) + exponent_of(y) - (WIDTH == 64 ? 1 : 2) * FRACTION_BITS >=
                     level_unit(&segment->products, PRODUCT_FEW - 1);
#endif
#endif
    return are;
}
#endif

#endif

// ---- a segment

static __device__ __forceinline__ void segment_begin(const lane_state *lane, segment_state *segment)
{
    clear_extremes(segment);
    segment->nan = false;
    segment->magnitude = 0;
    segment->largest[0] = segment->largest[1] = 0;
    segment->least = ~0u;
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
    note_magnitude(segment, x);
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
#if USES_RANGE
#if LOOKS_FOR_NAN
    segment->nan = segment->nan || range_has_nan(&segment->range);
#endif
    u32 magnitude = range_magnitude(&segment->range);
    segment->largest[0] = WIDTH == 16 ? __vmaxu2(segment->largest[0], magnitude) : max(segment->largest[0], magnitude);
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
#if USES_PRODUCT_LEVELS
    holds = holds && errors_fit(segment);
#endif
    holds = __all_sync(ALL_LANES, holds);
#if IS_FLOAT && (defined PART_SUM || defined PART_DOT)
    holds = __any_sync(ALL_LANES, segment->beyond || lane->saw & WF_SAW_BEYOND_MINUS_ZERO) && holds;
#endif
#if USES_LEVELS
    int top = top_of(segment->largest[0]);
#endif
#if USES_PRODUCT_LEVELS
    holds = levels_hold(&segment->products, top + (OPERANDS == 2 ? top_of(segment->largest[1]) : top)) && holds;
    lane->products_top = segment->products.top;
#if USES_ERROR_LEVELS
    holds = levels_hold(&segment->errors, segment->errors.top) && holds;
#endif
#endif
#if USES_VALUE_LEVELS && defined PART_SUM // the rest is that of the magnitudes, too
    holds = levels_hold(&segment->sum, top) && holds;
    lane->value_top = segment->sum.top;
#elif USES_VALUE_LEVELS
    holds = levels_hold(&segment->abs, top) && holds;
    lane->value_top = segment->abs.top;
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
#if USES_PRODUCT_LEVELS
    levels_flush(&segment->products, 2 * LOW_EXPONENT, block->products);
#if USES_ERROR_LEVELS
    levels_flush(&segment->errors, 2 * LOW_EXPONENT, block->products);
#endif
#endif
#if USES_VALUE_LEVELS && defined PART_SUM
    levels_flush(&segment->sum, LOW_EXPONENT, block->sum);
#endif
#if USES_VALUE_LEVELS && defined PART_ABS
    levels_flush(&segment->abs, LOW_EXPONENT, block->abs);
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
