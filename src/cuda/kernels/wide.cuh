// Wide bins: 64-bit integers, a number of binades apart (parts.cuh), for terms of any exponent.
//
// A term is scaled by a power of two that only its exponent decides, so that it is a small number of units of its row's
// bin; what lies above a bin's binades is the next bin's part.  The f64 unit cuts it up: by an anchor, whose sum's bits are
// an integer, or by conversions.  Parts are added to bins without carries, so a bin holds as many as the bits above
// them leave room for.  Values of f32 are f64 bins, 16 binades apart, which take one addition.  Nothing depends on the data.
// A lane has a column of bins for itself; where shared memory has no room for that, lanes that share one take turns.

#ifndef WIDE_CUH
#define WIDE_CUH

#include "kernels/digits.cuh"
#include "kernels/element.cuh"
#include "kernels/parts.cuh"
#include "kernels/warp.cuh"

#define WIDE_ADDITIONS (((1 << (63 - WIDE_WORD_BITS)) - 1) * WIDE_COLUMNS / 32) // of a lane

typedef u64 wide_bin; // signed, or the bits of an f64

#define TERM_WORDS_MAX 3

// What a lane adds to its column.
typedef struct {
    wide_bin *bin;            // the first
    u64 word[TERM_WORDS_MAX]; // as a bin's
} wide_term;

static __device__ __forceinline__ void wide_clear(wide_bin *bins, int rows)
{
    for (int i = (int)lane_number(); i < rows * WIDE_COLUMNS; i += 32) bins[i] = 0;
}

// ---- terms

// The lane's bin of a row.
static __device__ __forceinline__ wide_bin *wide_row(wide_bin *bins, u32 row)
{
    return bins + row * WIDE_COLUMNS + lane_number() % WIDE_COLUMNS;
}

// 2^exponent, where the field is for f64's bias.
static __device__ __forceinline__ double power_of_field(u32 field)
{
    return __hiloint2double((int)(field << 20), 0);
}

#define TO_NEXT_WORD 0x1p54 // of f64

// The integer nearest to the value, which is left with the rest, in units of the next word.
static __device__ __forceinline__ u64 take_integer(double *value)
{
    i64 integer = __double2ll_rn(*value);
    *value = __dmul_rn(__dsub_rn(*value, __ll2double_rn(integer)), TO_NEXT_WORD);
    return (u64)integer;
}

// A value of f64, below 2^52 of its second word's units, and a multiple of the first one's.
static __device__ __forceinline__ wide_term wide_value(wide_bin *bins, double value)
{
    wide_term term;
    u32 row = ((u32)__double2hiint(value) >> 20 & 0x7ff) / VALUE_BINADES;
    double scaled = __dmul_rn(value, power_of_field(2044 - row * VALUE_BINADES));
    term.bin = wide_row(bins, row);
    term.word[1] = take_integer(&scaled);
    term.word[0] = (u64)__double2ll_rn(scaled);
    return term;
}

// One of a narrower float.
static __device__ __forceinline__ wide_term wide_narrow_value(wide_bin *bins, unit bits)
{
    wide_term term;
    term.bin = wide_row(bins, bits >> (FRACTION_BITS + VALUE_BINADES_LOG2) & (VALUE_ROWS - 1));
    term.word[0] = (u64)__double_as_longlong(widen(bits));
    return term;
}

// The exponent field of a factor, 1 for subnormals; the factor scaled to between 2 and 4, if it is not subnormal.
static __device__ __forceinline__ u32 scale_factor(double *factor)
{
    u32 field = max((u32)__double2hiint(*factor) & 0x7ff00000, 1u << 20);
    *factor = __dmul_rn(*factor, __hiloint2double((int)((2047u << 20) - field), 0));
    return field;
}

// A product of f64: below 2^53 units of the third word, and a multiple of 2^-106 of them.  So what the second word leaves of
// the product and of its rounding error are together an f64.
static __device__ __forceinline__ wide_term wide_product(wide_bin *bins, double a, double b)
{
    wide_term term;
    u32 field = (scale_factor(&a) + scale_factor(&b)) >> 20, row = field / PRODUCT_BINADES;
    a = __dmul_rn(a, power_of_field(1019 + field - row * PRODUCT_BINADES));
    double product = __dmul_rn(a, b), error = __dmul_rn(__fma_rn(a, b, -product), TO_NEXT_WORD);
    term.bin = wide_row(bins, row);
    term.word[2] = take_integer(&product);
    term.word[1] = take_integer(&product) + take_integer(&error);
    term.word[0] = (u64)__double2ll_rn(__dadd_rn(product, error));
    return term;
}

#define NARROW_PRODUCT_ROW 24 // the first, of 32 binades of f64: no bit of a product lies below its bin's unit
#define NARROW_PRODUCT_BITS (2 * (FRACTION_BITS + 1))

// A product of narrower floats, which is an f64: below 2^80 of its first word's units.
static __device__ __forceinline__ wide_term wide_narrow_product(wide_bin *bins, double a, double b)
{
    const double low_anchor = 0x1.8p52, high_anchor = 0x1.8p84;
    wide_term term;
    double product = __dmul_rn(a, b), sum;
    u32 row = max((u32)__double2hiint(product) & 0x7e000000, (u32)NARROW_PRODUCT_ROW << 25);
    double scale = __hiloint2double((int)((2046u + NARROW_PRODUCT_BITS - 1) << 20) - (int)row, 0);
    term.bin = wide_row(bins - NARROW_PRODUCT_ROW * WIDE_COLUMNS, row >> 25);
    if (PRODUCT_WORDS == 2) {
        double above = __fma_rn(product, scale, high_anchor);
        term.word[1] = (u64)(__double_as_longlong(above) - __double_as_longlong(high_anchor));
        sum = __dadd_rn(__fma_rn(product, scale, __dsub_rn(high_anchor, above)), low_anchor);
    } else {
        sum = __fma_rn(product, scale, low_anchor);
    }
    term.word[0] = (u64)(__double_as_longlong(sum) - __double_as_longlong(low_anchor));
    return term;
}

// ---- adding

static __device__ __forceinline__ void wide_load(const wide_term *term, int words, u64 sum[TERM_WORDS_MAX])
{
#pragma unroll
    for (int i = 0; i < TERM_WORDS_MAX; i++)
        if (i < words) sum[i] = term->bin[i * WIDE_COLUMNS];
}

static __device__ __forceinline__ u64 wide_plus(u64 sum, u64 word, bool is_f64)
{
    if (!is_f64) return sum + word;
    return (u64)__double_as_longlong(__dadd_rn(__longlong_as_double((i64)sum), __longlong_as_double((i64)word)));
}

static __device__ __forceinline__ void wide_store(const wide_term *term, int words, const u64 sum[TERM_WORDS_MAX], bool is_f64)
{
#pragma unroll
    for (int i = 0; i < TERM_WORDS_MAX; i++)
        if (i < words) term->bin[i * WIDE_COLUMNS] = wide_plus(sum[i], term->word[i], is_f64);
}

// Adds a value's term and a product's, either of which may be missing: 0.  All bins are read before any is written, so that
// one does not wait for the other.
static __device__ __forceinline__ void wide_add_one(const wide_term *value, const wide_term *product)
{
    u64 of_value[TERM_WORDS_MAX], of_product[TERM_WORDS_MAX];
    if (value) wide_load(value, VALUE_WORDS, of_value);
    if (product) wide_load(product, PRODUCT_WORDS, of_product);
    if (value) wide_store(value, VALUE_WORDS, of_value, VALUES_ARE_F64);
    if (product) wide_store(product, PRODUCT_WORDS, of_product, false);
}

// Adds the given numbers of terms of values and of products, either of which may be 0.  All lanes of a warp, each with its own.
static __device__ __forceinline__ void wide_add(const wide_term *values, const wide_term *products, int count)
{
#pragma unroll
    for (int turn = 0; turn < 32 / WIDE_COLUMNS; turn++) {
        if (WIDE_COLUMNS == 32 || (int)lane_number() / WIDE_COLUMNS == turn) {
#pragma unroll
            for (int i = 0; i < count; i++) wide_add_one(values ? values + i : 0, products ? products + i : 0);
        }
        if (WIDE_COLUMNS < 32) __syncwarp();
    }
}

// ---- emptying

// The sum of a row's bins is low + high * 2^32.
typedef struct {
    i64 low, high;
} wide_total;

// Of rows that are at most half as many as lanes, two lanes have one, a half of its columns each.  Lanes begin at different
// columns, hence at different banks.  position: of the row's unit.
static __device__ __forceinline__ wide_total wide_total_of(const wide_bin *bins, int row, int lanes, int position, bool are_f64)
{
    const int columns = WIDE_COLUMNS / lanes;
    wide_total total = {0, 0};
    double units = power_of_two(are_f64 ? -LOW_EXPONENT - position : 0);
    bins += WIDE_COLUMNS * row + (lanes == 2 ? (int)lane_number() / 16 * columns : 0);
#pragma unroll 8
    for (int i = 0; i < columns; i++) {
        u64 part = bins[(row + i) % columns];
        if (are_f64) part = (u64)__double2ll_rn(__dmul_rn(__longlong_as_double((i64)part), units));
        total.low += (i64)(part & 0xffffffff);
        total.high += (i64)part >> 32;
    }
    return total;
}

#define LANES_OF_ROW(rows) (IS_SMALL && (rows) <= 16 ? 2 : 1)
#define FIRST_ROW(lanes) ((int)lane_number() % (32 / (lanes)))

// digits += (low + high * 2^32) * 2^position; bits below the digits' first one are 0.  low and high have 40 bits at the most.
static __device__ __forceinline__ void wide_deposit(u64 *digits, i64 low, i64 high, int position)
{
    int below = max(-position, 0), shift = max(position, 0) & 31;
    i64 above = high + (low >> 32);
    u32 lowest = __funnelshift_r((u32)low, (u32)above, below);
    above >>= below;
    digits += max(position, 0) >> 5;
    if (above == 0 && lowest == 0) return;
    add_to_digit(&digits[0], lowest << shift);
    add_to_digit(&digits[1], __funnelshift_l(lowest, (u32)above, shift));
    add_to_digit(&digits[2], (u64)(above >> (32 - shift)));
}

// Of values; where their magnitudes are summed up, too, negative ones have bins of their own, after the others.
static __device__ __forceinline__ void wide_flush_values(const wide_bin *bins)
{
    const int lanes = LANES_OF_ROW(VALUE_ROWS);
    for (int row = FIRST_ROW(lanes); row < VALUE_ROWS; row += 32 / lanes) {
        int position = VALUE_BINADES * row + VALUE_FIRST;
        wide_total total = wide_total_of(bins, row, lanes, position, VALUES_ARE_F64), negative = {0, 0};
        if (VALUE_SIGNS == 2)
            negative = wide_total_of(bins + VALUE_ROWS * WIDE_COLUMNS, row, lanes, position, VALUES_ARE_F64);
        if (HAS_SUM) wide_deposit(block_partial.sum, total.low + negative.low, total.high + negative.high, position);
        if (HAS_ABS) wide_deposit(block_partial.abs, total.low - negative.low, total.high - negative.high, position);
    }
}

static __device__ __forceinline__ void wide_flush_products(const wide_bin *bins)
{
    const int lanes = LANES_OF_ROW(PRODUCT_ROWS);
    for (int row = FIRST_ROW(lanes); row < PRODUCT_ROWS; row += 32 / lanes) {
        int position = PRODUCT_BINADES * row + PRODUCT_FIRST;
        wide_total total = wide_total_of(bins, row, lanes, position, false);
        wide_deposit(block_partial.product_sum, total.low, total.high, position);
    }
}

#endif
