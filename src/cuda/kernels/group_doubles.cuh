// Sums of floats as two f64, how they are rounded, and what decides variances and norms.

#ifndef GROUP_DOUBLES_CUH
#define GROUP_DOUBLES_CUH

#include "kernels/group_finish.cuh"

#if IS_SHORT

#define IS_SHORT_SUM (IS_PLAIN_TERM_SUM && HAS_VALUE_SUM)
#define IS_SHORT_MEAN (IS_FLOAT && FINISH_OP == WF_MEAN && FINISH_RESULT_TYPE == FINISH_TYPE)
#define IS_SHORT_INTEGERS                                                                                                \
    (IS_NARROW_SUM && (IS_PLAIN_SUM || (FINISH_OP == WF_MEAN && FINISH_RESULT_TYPE == WF_F64)))
#define IS_SHORT_EXTREME (IS_PLAIN_EXTREME || (IS_PLAIN_INDEX && TAKES_EXTREMES_OF_BATCH)) // a value of whatever order
#define IS_SHORT_SPREAD (FINISH_OP == WF_VAR || FINISH_OP == WF_STD)
#define IS_SHORT_NORM (FINISH_OP == WF_NORM2)
#define IS_SHORT_OF_SQUARES (IS_FLOAT && (IS_SHORT_SPREAD || IS_SHORT_NORM) && FINISH_RESULT_TYPE == FINISH_TYPE)
#define IS_SHORT_DOT (HAS_DOT && IS_PLAIN_TERM_SUM)
#define IS_SHORT_INTEGER_DOT                                                                                             \
    (!IS_FLOAT && WIDTH <= 32 && FINISH_OP == WF_DOT && FINISH_RESULT_TYPE == (IS_SIGNED ? WF_I64 : WF_U64))
#define HAS_SHORT_RESULT                                                                                                 \
    (OPERANDS == 2 ? IS_SHORT_DOT || IS_SHORT_INTEGER_DOT                                                                \
                   : IS_SHORT_SUM || IS_SHORT_MEAN || IS_SHORT_INTEGERS || IS_SHORT_EXTREME || IS_SHORT_OF_SQUARES)

// Of nothing these are 0.
#define IS_ZERO_OF_NOTHING                                                                                               \
    (FINISH_OP == WF_SUM || FINISH_OP == WF_NORM1 || FINISH_OP == WF_NORM2 || FINISH_OP == WF_DOT)

static_assert(HAS_SHORT_RESULT, "wf_cuda_group_fits_registers says that there is one");

#define SHORT_ROWS 8 // elements of a group at most, ...
#define LABELLED_ROWS (IS_SHORT_OF_SQUARES || IS_SHORT_DOT ? 8 : 16) // ... or, where lengths differ, and no bound of an error matters
#define SHORT_LOADS ((WIDTH == 64 ? 16 : 32) / OPERANDS) // elements, or pairs, that a lane has on their way
#define QUIET_NAN (INFINITY_BITS | (unit)1 << (FRACTION_BITS - 1))
#define SHORT_PADDING (IS_FLOAT ? SIGN_BIT : (unit)0) // after the last element: changes no sum, nor does it times 0

// Whether what is known of a group's floats is a row_sums (group_row_sums.cuh, group_row_pairs.cuh).
#define HAS_ROW_SUMS (IS_FLOAT && HAS_SUMS && OPERANDS == 1)

// By which a variance's numerator is divided, n*(n - ddof) of n elements, found once for groups of one length.
typedef struct {
    double divisor, inverse;
    bool exists; // ddof is less than n
} spread_divisor;

static __device__ __forceinline__ spread_divisor divisor_of(int count, i64 ddof)
{
    double divisor = (double)count * (double)(count - ddof);
    spread_divisor by = {divisor, 1 / divisor, ddof < count};
    return by;
}

// Of a lane's group along an axis: as the host has found it, unless some elements are left out.
static __device__ __forceinline__ spread_divisor divisor_of_group(const struct wf_group_arguments *r, int count)
{
    const spread_divisor of_all = {r->divisor, r->inverse_divisor, r->ddof < count};
    return ARE_IN_CHUNKS && count == (int)r->reduced_count ? of_all : divisor_of(count, r->ddof);
}

// ---- the last bit of elements

#if HAS_ROW_SUMS

// What tells of which power of two all elements are multiples.
typedef struct {
    u32 least; // the smallest magnitude but 0, less one; of f64 its high word, to which any bit of the low one adds one
    u32 bits;  // those that are 1 in some element; of f64 in a low word
} element_grid;

static __device__ __forceinline__ void note_grid(element_grid *grid, unit element)
{
    u32 low = (u32)element, magnitude = WIDTH == 64 ? (u32)((element & MAGNITUDE) >> 32) | min(low, 1u) : (u32)(element & MAGNITUDE);
    grid->least = min(grid->least, magnitude - 1);
    grid->bits |= low;
}

// Of that power, the square, of which squares, products and their sums are multiples; 0: it is too small to tell.
static __device__ __forceinline__ double square_of_grid(const element_grid *grid)
{
    const int fraction = WIDTH == 64 ? 20 : FRACTION_BITS; // bits of it in the word with the exponent
    u32 bits = WIDTH == 64 ? grid->bits : grid->bits | 1u << FRACTION_BITS;
    int zeros = bits ? __ffs((int)bits) - 1 : 32, field = max((int)((grid->least + 1) >> fraction), 1);
    int exponent = min(2 * (field + zeros - BIAS - FRACTION_BITS), 1000);
    return exponent < -1000 ? 0 : __hiloint2double((exponent + 1023) << 20, 0);
}

#endif

// ---- sums of floats

// A sum that is not rounded: rest is what the f64 next to it leaves.
typedef struct {
    double high, rest;
} double_sum;

// a + b (Knuth, The Art of Computer Programming, volume 2, section 4.2.2, theorem B).
static __device__ __forceinline__ double_sum two_sum(double a, double b)
{
    double_sum sum = {__dadd_rn(a, b), 0};
    double of_b = __dsub_rn(sum.high, a);
    sum.rest = __dadd_rn(__dsub_rn(a, __dsub_rn(sum.high, of_b)), __dsub_rn(b, of_b));
    return sum;
}

static __device__ __forceinline__ double short_term(unit bits)
{
    double value = widen(bits);
    return HAS_SUM ? value : fabs(value);
}

// Whether two f64 hold the sum with one more term: the lower addition loses nothing if either of its terms, the smaller one
// being surely found exactly, is what the other leaves of the sum.
static __device__ __forceinline__ bool add_exactly(double_sum *sum, double term)
{
    double_sum high = two_sum(sum->high, term);
    double before = sum->rest, rest = __dadd_rn(before, high.rest);
    sum->high = high.high;
    sum->rest = rest;
    return __dsub_rn(rest, before) == high.rest && __dsub_rn(rest, high.rest) == before;
}

// Rounded to odd: rounding this again to a type whose significand is two bits shorter rounds the sum itself.
static __device__ __forceinline__ double rounded_to_odd(double_sum sum)
{
    i64 bits = __double_as_longlong(sum.high);
    if (sum.rest == 0 || bits & 1) return sum.high;
    return __longlong_as_double(bits + ((sum.rest < 0) == (bits < 0) ? 1 : -1));
}

static __device__ __forceinline__ u64 rounded_to_bf16(double value)
{
    float toward_zero = __double2float_rz(value);
    u32 bits = __float_as_uint(toward_zero) | (u32)((double)toward_zero != value);
    return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

static __device__ __forceinline__ u64 rounded_value(double value)
{
    if (WIDTH == 64) return (u64)__double_as_longlong(value);
    return IS_F16 || WIDTH == 32 ? narrowed(value) : rounded_to_bf16(value);
}

static __device__ __forceinline__ u64 rounded_bits(double_sum sum)
{
    return rounded_value(WIDTH == 64 ? sum.high : rounded_to_odd(sum));
}

static __device__ __forceinline__ float as_f32(unit bits)
{
    float value;
    if (!IS_F16) return __uint_as_float((u32)bits << (32 - WIDTH) % 32);
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"((unsigned short)bits));
    return value;
}

// Of a number.
static __device__ __forceinline__ unit narrowed_f32(float value)
{
    unsigned short half;
    u32 bits = __float_as_uint(value);
    if (WIDTH == 32) return (unit)bits;
    if (!IS_F16) return (unit)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(half) : "f"(value));
    return half;
}

// The machine's addition rounds once.  A sum of f16 or bf16 is rounded to f32 first, which changes nothing: f32's significand
// has two bits more than twice as many as theirs at least (Figueroa, When is double rounding innocuous, 1995), and what is
// subnormal is exact.
static __device__ __forceinline__ bool add_two(const unit *elements, u64 *bits)
{
    float sum = __fadd_rn(as_f32(elements[0]), as_f32(elements[1]));
    if (WIDTH == 64)
        *bits = (u64)__double_as_longlong(__dadd_rn(widen(elements[0]), widen(elements[1])));
    else
        *bits = __float_as_uint(sum) << 1 >= 0xff000000 ? INFINITY_BITS : narrowed_f32(sum);
    return (*bits & MAGNITUDE) < INFINITY_BITS;
}

// sum / divisor, rounded once, of a sum above 0; near: the same, except for a few last bits.
static __device__ __forceinline__ double rounded_quotient(double_sum sum, double divisor, double_sum near)
{
    bool is_above = near.rest > 0;
    i64 bits = __double_as_longlong(near.high);
    double next = __longlong_as_double(is_above ? bits + 1 : bits - 1), half = 0.5 * __dsub_rn(next, near.high);
    double beyond_half = (__fma_rn(-near.high, divisor, sum.high) - divisor * half) + sum.rest;
    bool is_next = is_above ? beyond_half > 0 : beyond_half < 0;
    return is_next || (beyond_half == 0 && bits & 1) ? next : near.high;
}

static __device__ __forceinline__ double_sum magnitude_of(double_sum sum)
{
    double_sum negated = {-sum.high, -sum.rest};
    return sum.high < 0 ? negated : sum;
}

// The quotient as an f64 and the sign, at least, of what is left; false if what is left may not be a number.
static __device__ __forceinline__ bool divide_short(double_sum sum, int count, double_sum *quotient)
{
    *quotient = sum;
    if (sum.high == 0) return true; // -0 stays
    double_sum dividend = magnitude_of(sum);
    double n = count, high = __ddiv_rn(dividend.high, n), left = __dadd_rn(__fma_rn(-high, n, dividend.high), dividend.rest);
    if (WIDTH < 64 && sum.rest == 0) {
        double_sum near = {high, left};
        *quotient = near;
    } else {
        *quotient = two_sum(high, __ddiv_rn(left, n));
        if (WIDTH == 64) quotient->high = rounded_quotient(dividend, n, *quotient);
    }
    if (sum.high < 0) {
        quotient->high = -quotient->high;
        quotient->rest = -quotient->rest;
    }
    return WIDTH < 64 || fabs(sum.high) > 0x1p-900;
}

// ---- variances and norms of floats: in three or four f64, whose error has a bound (see cpu/loops/few_rows.h)

typedef struct {
    double_sum values, squares;
    u64 left; // except for the sign, not 0 if there was anything left of an addition
} sums_of_squares;

static __device__ __forceinline__ double_sum two_product(double a, double b)
{
    double_sum product = {__dmul_rn(a, b), 0};
    product.rest = __fma_rn(a, b, -product.high);
    return product;
}

static __device__ __forceinline__ double_sum square_of(double x)
{
    double_sum exact = {__dmul_rn(x, x), 0};
    return WIDTH == 64 ? two_product(x, x) : exact;
}

static __device__ __forceinline__ void add_square_alone(sums_of_squares *sums, double x)
{
    double_sum square = square_of(x), both = two_sum(sums->squares.high, square.high);
    sums->squares.high = both.high;
    sums->squares.rest += WIDTH == 64 ? both.rest + square.rest : both.rest;
    sums->left |= (u64)__double_as_longlong(both.rest);
}

static __device__ __forceinline__ void add_square(sums_of_squares *sums, double x)
{
    double_sum value = two_sum(sums->values.high, x);
    sums->values.high = value.high;
    sums->values.rest += value.rest;
    sums->left |= (u64)__double_as_longlong(value.rest);
    add_square_alone(sums, x);
}

// n*S2 - S1^2, except for less than a 2^90th of n*S2, which is at least as large as S1^2; is_exact, of narrower types: there is
// nothing left of any operation before the difference.
static __device__ __forceinline__ double_sum variance_numerator(const sums_of_squares *sums, double n, double *minuend,
                                                                bool *is_exact)
{
    double_sum value = sums->values, product = two_product(n, sums->squares.high), square = two_product(value.high, value.high);
    double_sum difference = two_sum(product.high, -square.high);
    double rest = (product.rest - square.rest) + (n * sums->squares.rest - 2 * value.high * value.rest);
    *minuend = product.high;
    *is_exact = sums->left << 1 == 0 && product.rest == 0 && square.rest == 0;
    return two_sum(difference.high, difference.rest + rest);
}

// The root of a sum that is known except for bound, and the bound of the root's error.
static __device__ __forceinline__ double_sum root_of(double_sum sum, double *bound)
{
    double root = __dsqrt_rn(sum.high), left = __fma_rn(-root, root, sum.high) + sum.rest;
    *bound = *bound / root;
    return two_sum(root, left / (2 * root));
}

// False if what lies within the bound is not rounded to the same result.
static __device__ __forceinline__ bool round_within(double_sum found, double bound, u64 *bits)
{
    double least = found.high + (found.rest - bound), largest = found.high + (found.rest + bound);
    *bits = rounded_value(least);
    return *bits == rounded_value(largest);
}

// Of f64, by pairs: in the range in which no product of pairs is subnormal or infinite.  lost: of n*S2, or S2, the most.  Variances of
// numbers of few bits are often half-way between two results: what is a multiple of `grid`, as all operations' results are then, and
// known except for less than that, is exact.
static __device__ __forceinline__ bool finish_squares_of_f64(const sums_of_squares *sums, double n, const spread_divisor *by, double lost, double grid,
                                                             u64 *bits)
{
    double minuend, bound;
    bool is_exact;
    double_sum found = two_sum(sums->squares.high, sums->squares.rest), numerator = {0, 0};
    if (IS_SHORT_SPREAD) {
        numerator = variance_numerator(sums, n, &minuend, &is_exact);
        double quotient = numerator.high * by->inverse, left = __fma_rn(-quotient, by->divisor, numerator.high);
        found = two_sum(quotient, (left + numerator.rest) * by->inverse);
        bound = minuend * lost * by->inverse + quotient * 0x1p-98;
    } else {
        minuend = found.high;
        bound = found.high * lost;
    }
    if (!(minuend > 0x1p-800 && minuend < 0x1p1000 && found.high > 0)) return false;
    if (FINISH_OP != WF_VAR) found = root_of(found, &bound);
    if (round_within(found, bound, bits)) return true;
    if (FINISH_OP != WF_VAR || !(minuend * lost < grid)) return false;
    *bits = (u64)__double_as_longlong(rounded_quotient(numerator, by->divisor, found));
    return true;
}

// The root of the quotient, and the sign of what is left; false if that is not known.
static __device__ __forceinline__ bool root_of_quotient(double_sum sum, double quotient, double divisor, double_sum *found)
{
    double root = __dsqrt_rn(quotient);
    double_sum square = two_product(root, root), high = two_product(-divisor, square.high), low = two_product(-divisor, square.rest);
    bool is_exact = add_exactly(&sum, high.high) && add_exactly(&sum, high.rest) && add_exactly(&sum, low.high) &&
                    add_exactly(&sum, low.rest);
    found->high = root;
    found->rest = sum.high + sum.rest;
    return is_exact;
}

// What is exact, divided, its root taken, and rounded once; false if that takes more.
static __device__ __noinline__ bool finish_exactly(double_sum sum, double divisor, u64 *bits)
{
    double quotient = __ddiv_rn(sum.high, divisor);
    double_sum found = two_sum(quotient, (__fma_rn(-quotient, divisor, sum.high) + sum.rest) / divisor);
    if (WIDTH == 64) {
        if (FINISH_OP != WF_VAR || !(sum.high > 0x1p-800 && sum.high < 0x1p1000)) return false;
        found.high = rounded_quotient(sum, divisor, found);
    } else if (FINISH_OP == WF_VAR) {
        found.rest = __fma_rn(-found.high, divisor, sum.high) + sum.rest;
    } else if (!root_of_quotient(sum, found.high, divisor, &found)) {
        return false;
    }
    *bits = rounded_bits(found);
    return true;
}

// Of narrower types an f64 does, if not too much of n*S2 cancels.
static __device__ __forceinline__ bool round_quotient(double numerator, double minuend, double inverse, u64 *bits)
{
    double found = IS_SHORT_SPREAD ? numerator * inverse : numerator;
    if (FINISH_OP != WF_VAR) found = __dsqrt_rn(found);
    double_sum alone = {found, 0};
    return numerator * 0x1p40 >= minuend && found <= 0x1.fffffffffffffp1023 && round_within(alone, found * 0x1p-48, bits);
}

// Variances of numbers of few bits are often half-way between two results.
static __device__ __forceinline__ bool finish_squares(const sums_of_squares *sums, double n, const spread_divisor *by, u64 *bits)
{
    if (WIDTH == 64) return finish_squares_of_f64(sums, n, by, 0x1p-90, 0, bits);
    if (!IS_SHORT_SPREAD) return round_quotient(sums->squares.high, 0, by->inverse, bits);
    bool is_exact;
    double minuend;
    double_sum numerator = variance_numerator(sums, n, &minuend, &is_exact);
    if (round_quotient(numerator.high, minuend, by->inverse, bits)) return true;
    return is_exact && minuend <= 0x1.fffffffffffffp1023 && finish_exactly(numerator, by->divisor, bits);
}

#endif

#endif
