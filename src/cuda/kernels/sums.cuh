// Where the terms of float sums go: values, their magnitudes and products, of which those of f64 have a second term, the
// rounding error.
//
// Of each chunk the exponents decide, before anything is added: to few levels, to all of them, or, what is too wide for
// these, to bins that take anything: wide ones, or packed ones, or, where sums may lack something, to few levels as well
// (losses.cuh).  Levels are placed by a chunk's own range,
// and again where a later one needs other places; so nothing has to be taken back, and done again.

#ifndef SUMS_CUH
#define SUMS_CUH

#include "kernels/levels.cuh"
#include "kernels/losses.cuh"
#include "kernels/magnitude.cuh"
#include "kernels/packed.cuh"
#include "kernels/specials.cuh"
#include "kernels/wide.cuh"

// Where a chunk's terms go; zeros nowhere.
enum { TO_FEW, TO_ALL, TO_BINS, TO_NOTHING };

// Values and products of narrow types go to the same place: additions that one of them would not need take less time than
// instructions that their cache does not hold.  With the extremes besides, there is only room for the few levels and the bins.
#define GO_TOGETHER (USES_VALUE_LEVELS && USES_PRODUCT_LEVELS && (WIDTH < 64 || LOSES))
#define GO_TO_ALL !(GO_TOGETHER && HAS_EXTREMES)

typedef struct {
#if USES_VALUE_LEVELS // kernels of products alone do not use these members, and yet compile to different code with them
    levels_state sum, abs; // of the same places
#endif
    levels_state product_sum, product_errors; // errors: of f64 alone
    int high[OPERANDS]; // the exponent fields for which the levels are placed; -1: not yet
    u32 placed_at;      // by which chunk of the warp
    int values_to, products_to;          // where chunks go without a further look ...
    u32 below[OPERANDS], from[OPERANDS]; // ... whose magnitudes are these ...
    u32 look_at;                         // ... before this chunk
    bool sees_zeros;                     // so the smallest magnitude but 0 is looked for
    char *memory;                        // for bins
    bool values_hold, products_hold;     // whether these bins hold something
    u32 bins_since;                      // which chunk
#if LOSES
    int scale;     // what is added is 2^scale times too large
    bool is_rough; // the levels lack something
#endif
} sums_state;

// ---- which class

static __device__ __forceinline__ int unit_of(int top, int levels)
{
    return max(top - levels * LEVEL_BITS, -1074);
}

static __device__ __forceinline__ int class_by(int top, int low, int few)
{
    if (top > LEVEL_TOP_MAX) return TO_BINS;
    return low >= unit_of(top, few) ? TO_FEW : GO_TO_ALL && low >= unit_of(top, LEVELS) ? TO_ALL : TO_BINS;
}

static __device__ __forceinline__ int top_of_values(int high)
{
    return high - BIAS + 1;
}

// Where values in the range go if the levels are placed for exponent fields up to high.
static __device__ __forceinline__ int class_of_values(int high, field_range x)
{
    return x.high > high ? TO_BINS : class_by(top_of_values(high), x.low - BIAS - FRACTION_BITS, VALUE_FEW);
}

// The sum of both factors' lowest fields from which no bit of a product of f64 lies below 2^-1074.
#define FIELDS_OF_FACTORS 1076

// With the product of f64, its error is a multiple of its levels' unit.
#define LOWEST_BIT(low_x, low_y) ((low_x) + (low_y) - 2 * BIAS - (WIDTH == 64 ? 1 : 2) * FRACTION_BITS)

static __device__ __forceinline__ int class_of_products(int high_x, int high_y, field_range x, field_range y)
{
    if (x.high > high_x || y.high > high_y) return TO_BINS;
    if (WIDTH == 64 && x.low + y.low < FIELDS_OF_FACTORS) return TO_BINS;
    return class_by(top_of_values(high_x) + top_of_values(high_y), LOWEST_BIT(x.low, y.low), PRODUCT_FEW);
}

static __device__ __forceinline__ int class_of_all(int high_x, int high_y, field_range x, field_range y)
{
    return (USES_VALUE_LEVELS ? class_of_values(high_x, x) : 0) +
           (USES_PRODUCT_LEVELS ? class_of_products(high_x, high_y, x, y) : 0);
}

// ---- placing

static __device__ __forceinline__ u32 word_of_field(int field)
{
    return field <= 1 ? 0 : (u32)field << FIELD_SHIFT;
}

// Places the levels, which must be empty, for exponent fields up to these.
static __device__ __forceinline__ void place_levels(sums_state *sums, int high_x, int high_y)
{
    int top = top_of_values(high_x), of_products = top + top_of_values(high_y);
#if LOSES
    sums->scale = scale_of(of_products);
    sums->is_rough = false;
    top += sums->scale;
    of_products += 2 * sums->scale;
#endif
    if (USES_PRODUCT_LEVELS) levels_clear(&sums->product_sum, of_products);
    if (USES_ERROR_LEVELS) levels_clear(&sums->product_errors, of_products - 53); // half a unit of the product
#if USES_VALUE_LEVELS
    levels_clear(&sums->sum, top);
    levels_clear(&sums->abs, top);
#endif
    sums->high[0] = high_x;
    sums->high[OPERANDS - 1] = high_y;
}

static __device__ __forceinline__ void limit(sums_state *sums, int operand, int high, int low)
{
    sums->below[operand] = min(sums->below[operand], (u32)(high + 1) << FIELD_SHIFT);
    sums->from[operand] = max(sums->from[operand], word_of_field(low));
}

// The lowest fields of both factors together that the given number of levels hold.
static __device__ __forceinline__ int lowest_fields(int top, int levels)
{
    int lowest = unit_of(top, levels) - LOWEST_BIT(0, 0);
    return WIDTH == 64 ? max(lowest, FIELDS_OF_FACTORS) : lowest;
}

// From now on, chunks within the ranges of this one go to the same place without a closer look.
static __device__ __forceinline__ void make_usual(sums_state *sums, int values_to, int products_to, field_range x,
                                                  field_range y)
{
    int top = top_of_values(sums->high[0]);
    sums->values_to = values_to;
    sums->products_to = products_to;
#pragma unroll
    for (int i = 0; i < OPERANDS; i++) {
        sums->below[i] = SPECIAL_WORD;
        sums->from[i] = 0;
    }
    if (values_to != TO_BINS && USES_VALUE_LEVELS && top > LEVEL_TOP_MAX) sums->below[0] = 0;
    if (USES_VALUE_LEVELS && values_to != TO_BINS)
        limit(sums, 0, sums->high[0], unit_of(top, values_to == TO_FEW ? VALUE_FEW : LEVELS) + BIAS + FRACTION_BITS);
    if (!USES_PRODUCT_LEVELS) return;
    int of_both = top + top_of_values(sums->high[OPERANDS - 1]);
    int lowest = lowest_fields(of_both, products_to == TO_FEW ? PRODUCT_FEW : LEVELS);
    if (products_to != TO_BINS && of_both > LEVEL_TOP_MAX) sums->below[0] = 0;
    if (products_to != TO_BINS && OPERANDS == 1) {
        limit(sums, 0, sums->high[0], (lowest + 1) >> 1);
    } else if (products_to != TO_BINS) {
        int from = x.low - ((x.low + y.low - lowest) >> 1);
        limit(sums, 0, sums->high[0], from);
        limit(sums, OPERANDS - 1, sums->high[OPERANDS - 1], lowest - from);
    }
}

// How many binades above a range levels should begin, so that it lies well in them.  Where few levels are enough most room
// is below: a warp's largest values are much alike, its smallest ones are not.
static __device__ __forceinline__ int margin_of(field_range x, field_range y)
{
    const int few = USES_PRODUCT_LEVELS ? PRODUCT_FEW : VALUE_FEW;
    const int share = USES_PRODUCT_LEVELS ? 4 : 2; // of both factors, half of it above
    int needed = USES_PRODUCT_LEVELS
                     ? top_of_values(x.high) + top_of_values(y.high) - LOWEST_BIT(x.low, y.low)
                     : top_of_values(x.high) - (x.low - BIAS - FRACTION_BITS);
    int few_left = few * LEVEL_BITS - needed, left = LEVELS * LEVEL_BITS - needed;
    if (LOSES && few_left < 0) return left < 0 ? ROUGH_MARGIN : min(left / share, ROUGH_MARGIN);
    return few_left >= 0 ? min((few_left + share) / (2 * share), 2) : max(left, 0) / share;
}

static __device__ __forceinline__ int high_with_margin(int high, int margin)
{
    return min(high + margin, 2 * BIAS);
}

static __device__ __forceinline__ void flush_levels(const sums_state *sums, int of_values,
                                                    int of_products, struct wf_partial *block)
{
    const int low = LOW_EXPONENT + SCALE(sums);
    if (USES_PRODUCT_LEVELS) levels_flush(&sums->product_sum, of_products, 2 * low, block->product_sum);
    if (USES_ERROR_LEVELS) levels_flush(&sums->product_errors, of_products, 2 * low, block->product_sum);
#if USES_VALUE_LEVELS
    if (HAS_SUM) levels_flush(&sums->sum, of_values, low, block->sum);
    if (HAS_ABS) levels_flush(&sums->abs, of_values, low, block->abs);
#endif
#if LOSES
    if (!sums->is_rough) return;
#if USES_VALUE_LEVELS
    note_loss(false, level_unit(&sums->sum, VALUE_FEW - 1) - sums->scale, LOW_EXPONENT);
#endif
    note_loss(true, level_unit(&sums->product_sum, PRODUCT_FEW - 1) - 2 * sums->scale, 2 * LOW_EXPONENT);
#endif
}

#define PLACED_WHILE 8 // chunks
#define LOOK_AGAIN LARGER(256 / LANE_ELEMENTS, 8) // chunks
#define OFTEN 3 // chunks, one after the other or nearly so, that go elsewhere, or to bins: then others are taken to do so

// Places the levels for a chunk that does not go to few of them, if that would be better: at once where it lies above them,
// lower only after a while.
static __device__ __forceinline__ void place_for(sums_state *sums, const lane_state *lane, field_range x, field_range y,
                                                 u32 chunk)
{
    int margin = margin_of(x, y), high_x = high_with_margin(x.high, margin), high_y = high_with_margin(y.high, margin);
    bool is_first = sums->high[0] < 0, is_above = x.high > sums->high[0] || y.high > sums->high[OPERANDS - 1];
    if (!is_above && (IS_ROUGH(sums) || chunk - sums->placed_at < PLACED_WHILE || lane->strays < OFTEN)) return;
    int before = is_first ? 2 * TO_BINS + 1 : class_of_all(sums->high[0], sums->high[OPERANDS - 1], x, y);
    if (!(LOSES && is_above) && class_of_all(high_x, high_y, x, y) >= before) return;
    if (!is_first) flush_levels(sums, LEVELS, LEVELS, &block_partial);
    place_levels(sums, high_x, high_y);
    sums->placed_at = chunk;
}

#if LOSES

// Multiplies a chunk by a power of two.  What becomes subnormal so is rounded, by less than 2^-900 of a unit of what is lost.
static __device__ __forceinline__ void scale_chunk(const sums_state *sums, vector x[VECTORS])
{
    if (WIDTH < 64) return;
    const double power = power_of_two(sums->scale);
#pragma unroll
    for (int i = 0; i < VECTORS * PER_VECTOR; i++) {
        double scaled = __dmul_rn(widen(element_at(&x[i / PER_VECTOR], i % PER_VECTOR)), power);
        x[i / PER_VECTOR].word[2 * i % 4] = (u32)__double2loint(scaled);
        x[i / PER_VECTOR].word[2 * i % 4 + 1] = (u32)__double2hiint(scaled);
    }
}

// Whether the chunk goes to few levels that do not hold it: at once where nothing else does, and instead of all levels where
// these have been needed often.
static __device__ __forceinline__ bool goes_roughly(const sums_state *sums, const lane_state *lane, int to)
{
    return sums->is_rough || sums->scale || to == TO_BINS || (to == TO_ALL && lane->strays >= ROUGH_AFTER);
}

// From now on all chunks that are not above the levels do so, without a closer look.
static __device__ __forceinline__ void make_rough(sums_state *sums)
{
    sums->is_rough = true;
    sums->values_to = sums->products_to = TO_FEW;
    sums->sees_zeros = false;
    sums->look_at = NOWHERE;
    sums->below[0] = SPECIAL_WORD;
    sums->from[0] = 0;
    limit(sums, 0, sums->high[0], 0);
}

#endif

// ---- to levels

static __device__ __forceinline__ void widen_all(double *values, const vector *v, int vectors)
{
#pragma unroll
    for (int i = 0; i < vectors * PER_VECTOR; i++) values[i] = widen(element_at(&v[i / PER_VECTOR], i % PER_VECTOR));
}

static __device__ __forceinline__ void add_products(sums_state *sums, const double *a, const double *b, int count,
                                                    int levels)
{
    double terms[BATCH_TERMS], errors[BATCH_TERMS];
    if (USES_ERROR_LEVELS) {
#pragma unroll
        for (int i = 0; i < count; i++) {
            terms[i] = __dmul_rn(a[i], b[i]);
            errors[i] = __fma_rn(a[i], b[i], -terms[i]);
        }
        levels_add(&sums->product_sum, 0, 0, terms, count, 0, levels);
        levels_add(&sums->product_errors, 0, 0, errors, count, 0, levels);
    } else if (levels == 1) {
        levels_add_products(&sums->product_sum, a, b, count);
    } else {
        levels_take_products(&sums->product_sum, a, b, terms, count);
        levels_add(&sums->product_sum, 0, 0, terms, count, 1, levels);
    }
}

static __device__ __forceinline__ void add_values(sums_state *sums, const double *values, int count, int levels)
{
    double terms[BATCH_TERMS];
#pragma unroll
    for (int i = 0; i < count; i++) terms[i] = HAS_SUM ? values[i] : fabs(values[i]);
#if USES_VALUE_LEVELS
    if (HAS_SUM && HAS_ABS)
        levels_add(&sums->sum, &sums->abs, values, terms, count, 0, levels);
    else
        levels_add(HAS_SUM ? &sums->sum : &sums->abs, 0, 0, terms, count, 0, levels);
#endif
}

// Adds a batch of vectors to the given numbers of levels for values and for products; 0: these are not added.
static __device__ __forceinline__ void add_batch(sums_state *sums, const vector *x, const vector *y, int vectors,
                                                 int value_levels, int product_levels)
{
    double a[BATCH_TERMS], b[BATCH_TERMS];
    widen_all(a, x, vectors);
    if (product_levels) widen_all(b, y, vectors);
    if (USES_PRODUCT_LEVELS && product_levels) add_products(sums, a, b, vectors * PER_VECTOR, product_levels);
    if (USES_VALUE_LEVELS && value_levels) add_values(sums, a, vectors * PER_VECTOR, value_levels);
}

static __device__ __forceinline__ void add_to_levels(sums_state *sums, const vector x[VECTORS], const vector y[VECTORS],
                                                     int value_levels, int product_levels)
{
#pragma unroll
    for (int j = 0; j < VECTORS; j += BATCH_VECTORS)
        add_batch(sums, &x[j], &y[j], BATCH_VECTORS, value_levels, product_levels);
}

// ---- to bins

#define BIN_CHUNKS ((USES_PACKED ? PACKED_ADDITIONS : WIDE_ADDITIONS) / LANE_ELEMENTS) // before bins must be emptied
static_assert(!USES_WIDE || BIN_CHUNKS > 0, "a chunk must fit");

static __device__ __forceinline__ wide_bin *value_bins(const sums_state *sums)
{
    return (wide_bin *)sums->memory;
}

static __device__ __forceinline__ wide_bin *product_bins(const sums_state *sums)
{
    return (wide_bin *)sums->memory + VALUE_BINS;
}

static __device__ __forceinline__ void flush_bins(sums_state *sums)
{
    if (!sums->values_hold && !sums->products_hold) return;
    __syncwarp();
    if (USES_PACKED) packed_flush(sums->memory);
    if (!USES_PACKED && USES_VALUE_LEVELS && sums->values_hold) wide_flush_values(value_bins(sums));
    if (!USES_PACKED && USES_PRODUCT_LEVELS && sums->products_hold) wide_flush_products(product_bins(sums));
    __syncwarp();
    sums->values_hold = sums->products_hold = false;
}

// Makes room for a chunk in the bins of values, or of products, or of both.
static __device__ __forceinline__ void need_bins(sums_state *sums, u32 chunk, bool values, bool products)
{
    if (chunk - sums->bins_since >= BIN_CHUNKS) flush_bins(sums);
    if ((sums->values_hold || !values) && (sums->products_hold || !products)) return;
    if (!sums->values_hold && !sums->products_hold) sums->bins_since = chunk;
    if (USES_PACKED && !sums->values_hold) packed_clear(sums->memory);
    if (!USES_PACKED && values && !sums->values_hold) wide_clear(value_bins(sums), VALUE_SIGNS * VALUE_ROWS);
    if (!USES_PACKED && products && !sums->products_hold) wide_clear(product_bins(sums), PRODUCT_ROWS);
    sums->values_hold = sums->values_hold || values;
    sums->products_hold = sums->products_hold || products;
    __syncwarp();
}

static __device__ __forceinline__ wide_term value_term(const sums_state *sums, unit bits)
{
    wide_bin *bins = value_bins(sums) + (VALUE_SIGNS == 2 && is_negative(bits) ? VALUE_ROWS * WIDE_COLUMNS : 0);
    if (!HAS_SUM) bits &= MAGNITUDE;
    return WIDTH == 64 ? wide_value(bins, widen(bits)) : wide_narrow_value(bins, bits);
}

static __device__ __forceinline__ wide_term product_term(const sums_state *sums, unit a, unit b)
{
    if (WIDTH == 64) return wide_product(product_bins(sums), widen(a), widen(b));
    return wide_narrow_product(product_bins(sums), widen(a), widen(b));
}

// Vectors whose terms are made before any is added, so that they wait together: of 16 elements, which is as many instructions
// as their cache holds in addition to those of levels; of lanes that take turns, of 4.
#define WIDE_TOGETHER (WIDE_COLUMNS < 32 ? 4 : 16)
#define WIDE_VECTORS (VECTORS * PER_VECTOR < WIDE_TOGETHER ? VECTORS : LARGER(WIDE_TOGETHER / PER_VECTOR, 1))
static_assert(!USES_WIDE || VECTORS % WIDE_VECTORS == 0, "a chunk is taken in whole parts");

// Brings the next vectors to the front, so that the loop over a chunk need not be unrolled.
static __device__ __forceinline__ void rotate(vector x[VECTORS])
{
    vector first[WIDE_VECTORS];
#pragma unroll
    for (int j = 0; j < WIDE_VECTORS; j++) first[j] = x[j];
#pragma unroll
    for (int j = 0; j < VECTORS; j++)
        x[j] = j + WIDE_VECTORS < VECTORS ? x[j + WIDE_VECTORS] : first[j + WIDE_VECTORS - VECTORS];
}

// WIDE_VECTORS of them.
static __device__ __forceinline__ void add_terms_to_wide(const sums_state *sums, const vector *x, const vector *y, bool values,
                                                         bool products)
{
    wide_term value[WIDE_VECTORS * PER_VECTOR], product[WIDE_VECTORS * PER_VECTOR];
#pragma unroll
    for (int e = 0; e < WIDE_VECTORS * PER_VECTOR; e++) {
        unit a = element_at(&x[e / PER_VECTOR], e % PER_VECTOR), b = element_at(&y[e / PER_VECTOR], e % PER_VECTOR);
        if (values) value[e] = value_term(sums, a);
        if (products) product[e] = product_term(sums, a, b);
    }
    wide_add(values ? value : 0, products ? product : 0, WIDE_VECTORS * PER_VECTOR);
}

static __device__ __forceinline__ void add_to_wide(const sums_state *sums, vector x[VECTORS], vector y[VECTORS], bool values,
                                                   bool products)
{
#pragma unroll 1
    for (int i = 0; i < VECTORS; i += WIDE_VECTORS) {
        add_terms_to_wide(sums, x, y, values, products);
        rotate(x);
        if (OPERANDS == 2) rotate(y);
    }
}

static __device__ __forceinline__ void add_to_packed(const sums_state *sums, vector x[VECTORS])
{
#pragma unroll 1
    for (int i = 0; i < VECTORS; i += WIDE_VECTORS) {
#pragma unroll
        for (int k = 0; k < WIDE_VECTORS * PER_VECTOR / 2; k++) {
            u32 both = x[k / 4].word[k % 4];
            packed_add(sums->memory, both << 16, both & 0xffff0000);
        }
        rotate(x);
    }
}

// A chunk's values, its products, or both.
static __device__ __forceinline__ void add_to_bins(sums_state *sums, vector x[VECTORS], vector y[VECTORS], u32 chunk,
                                                   bool values, bool products)
{
    need_bins(sums, chunk, values, products);
    if (USES_PACKED) {
        add_to_packed(sums, x);
    } else if (values && products) {
        add_to_wide(sums, x, y, USES_VALUE_LEVELS, USES_PRODUCT_LEVELS);
    } else if (values) {
        add_to_wide(sums, x, y, USES_VALUE_LEVELS, false);
    } else {
        add_to_wide(sums, x, y, false, USES_PRODUCT_LEVELS);
    }
}

// ---- a chunk

#define FIRST_HIGH (IS_F16 ? 2 * BIAS : BIAS) // f16's levels hold all from there on

static __device__ __forceinline__ void sums_clear(sums_state *sums, void *memory)
{
    sums->placed_at = 0;
    sums->values_to = sums->products_to = TO_FEW;
    sums->look_at = NOWHERE;
    sums->sees_zeros = false;
#pragma unroll
    for (int i = 0; i < OPERANDS; i++) sums->below[i] = sums->from[i] = 0;
    place_levels(sums, FIRST_HIGH, FIRST_HIGH);
    if (!IS_F16) sums->high[0] = sums->high[OPERANDS - 1] = -1;
    sums->memory = (char *)memory;
    sums->values_hold = sums->products_hold = false;
    sums->bins_since = 0;
}

// A lane's largest and smallest magnitudes of a chunk, of 16 bits in the higher half: of the smallest zeros are left out
// where they are known to be there.
static __device__ __forceinline__ u32 largest_magnitude(const vector v[VECTORS])
{
    u32 largest = 0;
#pragma unroll
    for (int j = 0; j < VECTORS; j++) note_largest(&largest, &v[j]);
    return largest_of(largest);
}

static __device__ __forceinline__ u32 smallest_magnitude(const sums_state *sums, const vector v[VECTORS])
{
    u32 smallest = MAGNITUDE_MAX, least = ~0u;
    if (!sums->sees_zeros) {
#pragma unroll
        for (int j = 0; j < VECTORS; j++) note_smallest(&smallest, &v[j]);
        return smallest_of(smallest);
    }
#pragma unroll
    for (int j = 0; j < VECTORS; j++) least = least_of_vector(least, &v[j]);
    if (WIDTH == 16) return (min(min(least >> 16, least & 0xffff), 0x7ffe) + 1) << 16;
    return min(least, 0x7ffffffeu) + 1;
}

// Whether a lane's magnitudes are such that they need no further look.
static __device__ __forceinline__ bool is_usual(const sums_state *sums, int operand, u32 largest, u32 smallest)
{
    return largest < sums->below[operand] && smallest >= sums->from[operand];
}

// Whether the next chunks go to bins, which hold whatever is not special.
static __device__ __forceinline__ bool all_go_to_bins(const sums_state *sums, const lane_state *lane)
{
    bool sees_signs = PLAIN_SPECIAL && !lane->is_not_negative_zero; // still to be looked for
    return USES_WIDE && !sees_signs && (!USES_VALUE_LEVELS || sums->values_to == TO_BINS) &&
           (!USES_PRODUCT_LEVELS || sums->products_to == TO_BINS);
}

// A closer look at a warp's chunk: notes what is special, finds where the rest goes, and chunks like it.
static __device__ __forceinline__ void sums_look(sums_state *sums, lane_state *lane, vector x[VECTORS], vector y[VECTORS],
                                                 bool is_special, u32 chunk, int *values_to, int *products_to)
{
    if (__any_sync(ALL_LANES, is_special)) {
        clean_chunk(lane, x, y, chunk);
        lane->clean_until = chunk + CLEANED_WHILE;
    }
    if (all_go_to_bins(sums, lane) && chunk != sums->look_at) return;
    if (PLAIN_SPECIAL && !lane->is_not_negative_zero)
        lane->is_not_negative_zero = chunk_is_not_negative_zero(x, OPERANDS == 2 ? y : x);
    *values_to = *products_to = TO_FEW;
#if IS_F16 // the levels hold all
    const field_range range_x = {2 * BIAS, 1}, range_y = range_x;
    make_usual(sums, TO_FEW, TO_FEW, range_x, range_y);
#else
    field_range range_x = fields_of(x), range_y = OPERANDS == 2 ? fields_of(y) : range_x;
    if (range_x.low > range_x.high || range_y.low > range_y.high) { // all are 0
        *values_to = *products_to = TO_NOTHING;
        if (chunk == sums->look_at) sums->look_at++;
        return;
    }
    bool is_awaited = chunk == sums->look_at || sums->high[0] < 0;
    if (sums->high[0] < 0 || class_of_all(sums->high[0], sums->high[OPERANDS - 1], range_x, range_y))
        place_for(sums, lane, range_x, range_y, chunk);
    if (USES_VALUE_LEVELS) *values_to = class_of_values(sums->high[0], range_x);
    if (USES_PRODUCT_LEVELS)
        *products_to = class_of_products(sums->high[0], sums->high[OPERANDS - 1], range_x, range_y);
    if (GO_TOGETHER) *values_to = *products_to = max(*values_to, *products_to);
    if (USES_PACKED && *values_to != TO_FEW) *values_to = *products_to = TO_BINS;
    sums->sees_zeros = false;
    bool has_zeros = smallest_magnitude(sums, x) == 0 || (OPERANDS == 2 && smallest_magnitude(sums, y) == 0);
    sums->sees_zeros = __any_sync(ALL_LANES, has_zeros);
    bool is_few = *values_to == TO_FEW && *products_to == TO_FEW;
    bool is_late = !is_awaited && chunk - lane->looked_at > 2, is_bins = *values_to == TO_BINS || *products_to == TO_BINS;
    lane->strays = is_few || is_late ? 0 : lane->strays + 1;
    lane->bins = !is_bins || is_late ? 0 : lane->bins + 1;
    if (!is_few) lane->looked_at = chunk;
    int most = lane->bins >= OFTEN ? TO_BINS : GO_TO_ALL && lane->strays >= OFTEN && LEVELS > PRODUCT_FEW ? TO_ALL : TO_FEW;
    if (LOSES) most = TO_FEW;
    make_usual(sums, min(*values_to, most), min(*products_to, most), range_x, range_y);
    sums->look_at = most != TO_FEW || sums->sees_zeros ? chunk + LOOK_AGAIN : NOWHERE;
#endif
#if LOSES
    if (goes_roughly(sums, lane, *products_to)) {
        make_rough(sums);
        *values_to = *products_to = TO_FEW;
    }
#endif
    if (PLAIN_SPECIAL && !lane->is_not_negative_zero) sums->below[0] = 0;
}

// Adds a warp's chunk, from which special elements have been taken out.
static __device__ __forceinline__ void sums_add(sums_state *sums, vector x[VECTORS], vector y[VECTORS], u32 chunk,
                                                int values_to, int products_to)
{
#if LOSES
    if (sums->scale && products_to != TO_NOTHING) scale_chunk(sums, x);
#endif
    if (values_to == TO_FEW && products_to == TO_FEW) {
        add_to_levels(sums, x, y, VALUE_FEW, PRODUCT_FEW);
        return;
    }
    if (!(USES_WIDE || LOSES) || values_to == TO_NOTHING) return;
    if (GO_TOGETHER) values_to = products_to;
    if (GO_TOGETHER && (LOSES || values_to != TO_BINS)) {
        if (GO_TO_ALL) add_to_levels(sums, x, y, LEVELS, LEVELS);
        return;
    }
    bool values_to_bins = USES_WIDE && USES_VALUE_LEVELS && values_to == TO_BINS;
    bool products_to_bins = USES_WIDE && USES_PRODUCT_LEVELS && products_to == TO_BINS;
    if (values_to_bins || products_to_bins) add_to_bins(sums, x, y, chunk, values_to_bins, products_to_bins);
    if (USES_PRODUCT_LEVELS && !products_to_bins) add_to_levels(sums, x, y, 0, LEVELS);
    if (!USES_VALUE_LEVELS || values_to_bins) return;
    if (values_to == TO_FEW)
        add_to_levels(sums, x, y, VALUE_FEW, 0);
    else
        add_to_levels(sums, x, y, LEVELS, 0);
}

// Moves all sums to the block's digits, at the end of a segment.
static __device__ __forceinline__ void sums_flush(sums_state *sums, struct wf_partial *block)
{
    flush_levels(sums, LEVELS, LEVELS, block);
    if (USES_WIDE) flush_bins(sums);
}

#endif
