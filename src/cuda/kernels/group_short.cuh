// The results of groups of a few elements, by a few operations in registers: where these show that they are right.

#ifndef GROUP_SHORT_CUH
#define GROUP_SHORT_CUH

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

// Whether two f64 hold the sum of the elements.
static __device__ __forceinline__ bool add_short(const int rows, const unit *elements, double_sum *total)
{
    double_sum sum = {short_term(elements[0]), 0};
    bool is_exact = true;
#pragma unroll
    for (int k = 1; k < rows; k++) is_exact = add_exactly(&sum, short_term(elements[k])) && is_exact;
    *total = sum.rest == 0 ? sum : two_sum(sum.high, sum.rest); // -0 stays
    return is_exact && fabs(total->high) <= 0x1.fffffffffffffp1023;
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

static __device__ __forceinline__ bool short_float(const int rows, const unit *elements, int count, u64 *bits)
{
    double_sum sum;
    if (rows == 2 && IS_SHORT_SUM && HAS_SUM) return add_two(elements, bits);
    if (!add_short(rows, elements, &sum)) return false;
    if (FINISH_OP == WF_MEAN && !divide_short(sum, count, &sum)) return false;
    *bits = rounded_bits(sum);
    return true;
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

// What is left is added up, too, by which each sum loses less than a 2^100th of the sum of magnitudes.
static __device__ __forceinline__ sums_of_squares add_squares(const int rows, const unit *elements)
{
    double first = widen(elements[0]);
    sums_of_squares sums = {{first, 0}, square_of(first), 0};
#pragma unroll
    for (int k = 1; k < rows; k++) add_square(&sums, widen(elements[k]));
    return sums;
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

// Of f64, by pairs: in the range in which no product of pairs is subnormal or infinite.  lost: of n*S2, or S2, the most.
static __device__ __forceinline__ bool finish_squares_of_f64(const sums_of_squares *sums, double n, double divisor, double lost, u64 *bits)
{
    double minuend, bound;
    bool is_exact;
    double_sum found = two_sum(sums->squares.high, sums->squares.rest);
    if (IS_SHORT_SPREAD) {
        double_sum numerator = variance_numerator(sums, n, &minuend, &is_exact);
        double quotient = __ddiv_rn(numerator.high, divisor), left = __fma_rn(-quotient, divisor, numerator.high);
        found = two_sum(quotient, (left + numerator.rest) / divisor);
        bound = minuend * lost / divisor + quotient * 0x1p-98;
    } else {
        minuend = found.high;
        bound = found.high * lost;
    }
    if (!(minuend > 0x1p-800 && minuend < 0x1p1000 && found.high > 0)) return false;
    if (FINISH_OP != WF_VAR) found = root_of(found, &bound);
    return round_within(found, bound, bits);
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
static __device__ __forceinline__ bool round_quotient(double numerator, double minuend, double divisor, u64 *bits)
{
    double found = IS_SHORT_SPREAD ? numerator * (1 / divisor) : numerator;
    if (FINISH_OP != WF_VAR) found = __dsqrt_rn(found);
    double_sum alone = {found, 0};
    return numerator * 0x1p40 >= minuend && found <= 0x1.fffffffffffffp1023 && round_within(alone, found * 0x1p-48, bits);
}

// Variances of numbers of few bits are often half-way between two results.
static __device__ __forceinline__ bool finish_squares(const sums_of_squares *sums, double n, double divisor, u64 *bits)
{
    if (WIDTH == 64) return finish_squares_of_f64(sums, n, divisor, 0x1p-90, bits);
    if (!IS_SHORT_SPREAD) return round_quotient(sums->squares.high, 0, divisor, bits);
    bool is_exact;
    double minuend;
    double_sum numerator = variance_numerator(sums, n, &minuend, &is_exact);
    if (round_quotient(numerator.high, minuend, divisor, bits)) return true;
    return is_exact && minuend <= 0x1.fffffffffffffp1023 && finish_exactly(numerator, divisor, bits);
}

static __device__ __forceinline__ bool short_of_squares(const int rows, const unit *elements, int count, i64 ddof, u64 *bits)
{
    if (IS_SHORT_SPREAD && ddof >= count) return false;
    sums_of_squares sums = add_squares(rows, elements);
    return finish_squares(&sums, count, (double)(count * (count - ddof)), bits);
}

// Variances of equal numbers and norms of zeros: 0.
static __device__ __forceinline__ bool is_zero_of_squares(const int rows, const unit *elements, int count)
{
    double first = widen(elements[0]);
    bool are_alike = IS_SHORT_SPREAD ? fabs(first) <= 0x1.fffffffffffffp1023 : first == 0;
#pragma unroll
    for (int k = 1; k < rows; k++)
        if (k < count) are_alike = are_alike && widen(elements[k]) == first;
    return are_alike;
}

// ---- sums of products of floats

// sum.high + sum.rest + lost, of which only lost may have been rounded; magnitude: the sum of the products' magnitudes.
typedef struct {
    double_sum sum;
    double lost, magnitude;
    bool is_exact; // nothing is lost
    bool are_whole; // no product has bits below those of an f64
} dot_sum;

static __device__ __forceinline__ void add_rest(dot_sum *dot, double rest)
{
    double_sum low = two_sum(dot->sum.rest, rest);
    dot->sum.rest = low.high;
    dot->lost += low.rest;
    dot->is_exact = dot->is_exact && low.rest == 0;
}

static __device__ __forceinline__ void add_product(dot_sum *dot, double x, double y)
{
    double_sum exact = {__dmul_rn(x, y), 0}, product = WIDTH == 64 ? two_product(x, y) : exact;
    double_sum high = two_sum(dot->sum.high, product.high);
    dot->sum.high = high.high;
    dot->magnitude += fabs(product.high);
    dot->are_whole = dot->are_whole && (WIDTH < 64 || fabs(product.high) >= 0x1p-900 || x == 0 || y == 0);
    add_rest(dot, high.rest);
    if (WIDTH == 64) add_rest(dot, product.rest);
}

// What is lost is below a 2^100th of the magnitude, and rounded at most 16 times; what follows is rounded a few times more.
static __device__ __forceinline__ bool round_dot(const dot_sum *dot, u64 *bits)
{
    double_sum total = dot->sum.rest == 0 ? dot->sum : two_sum(dot->sum.high, dot->sum.rest); // -0 stays
    if (!(dot->magnitude < 0x1p1000) || !dot->are_whole) return false;
    *bits = rounded_bits(total);
    if (dot->is_exact) return true;
    double bound = dot->magnitude * 0x1p-140 + (fabs(total.rest) + fabs(dot->lost)) * 0x1p-50;
    if (WIDTH < 64) bound += fabs(total.high) * 0x1p-50; // each end is rounded to an f64 first
    total.rest += dot->lost;
    return round_within(total, bound, bits);
}

static __device__ __forceinline__ bool short_dot(const int rows, const unit *x, const unit *y, u64 *bits)
{
    dot_sum dot = {{-0.0, 0}, 0, 0, true, true};
#pragma unroll
    for (int k = 0; k < rows; k++) add_product(&dot, widen(x[k]), widen(y[k]));
    return round_dot(&dot, bits);
}

// ---- integers and extremes

// False if it is beyond 64 bits.
static __device__ __forceinline__ bool short_integer_dot(const int rows, const unit *x, const unit *y, u64 *bits)
{
    wf_i128 sum = 0;
#pragma unroll
    for (int k = 0; k < rows; k++) sum += (wf_i128)integer_term(x[k]) * integer_term(y[k]);
    *bits = (u64)sum;
    return sum == (IS_SIGNED ? (wf_i128)(i64)sum : (wf_i128)(u64)sum);
}

static __device__ __forceinline__ u64 short_integer(const int rows, const unit *elements, int count)
{
    i64 sum = 0;
#pragma unroll
    for (int k = 0; k < rows; k++) sum += narrow_term(elements[k]);
    return FINISH_OP == WF_MEAN ? (u64)__double_as_longlong(__ddiv_rn((double)sum, (double)count)) : (u64)sum;
}

static __device__ __forceinline__ bool short_extreme(const int rows, const unit *elements, int count, i64 first_index, u64 *bits)
{
    const bool is_min = HAS_MIN;
    narrow_key least = narrow_key_of(elements[0]), largest = least;
    int at = 0;
#pragma unroll
    for (int k = 1; k < rows; k++) {
        if (k >= count) break;
        narrow_key key = narrow_key_of(elements[k]);
        if (is_min ? key < least : key > largest) at = k;
        least = min(least, key);
        largest = max(largest, key);
    }
    if (IS_FLOAT && (least < narrow_key_of(INFINITY_BITS | SIGN_BIT) || largest > narrow_key_of(INFINITY_BITS))) return false;
    *bits = IS_PLAIN_INDEX ? (u64)(first_index + at) : (u64)unit_of_narrow(is_min ? least : largest);
    return true;
}

// ---- of any kind

// The bits of the result of count elements, which are followed by padding; false if there is none, or it takes more to find.
static __device__ __forceinline__ bool short_result(const struct wf_group_arguments *r, const int rows, const unit *elements,
                                                    const unit *factors, int count, i64 first_index, u64 *bits)
{
    *bits = 0;
    if (count == 0) return false;
    if (IS_SHORT_DOT) return short_dot(rows, elements, factors, bits);
    if (IS_SHORT_INTEGER_DOT) return short_integer_dot(rows, elements, factors, bits);
    if (IS_SHORT_EXTREME) return short_extreme(rows, elements, count, first_index, bits);
    if (IS_SHORT_OF_SQUARES) {
        if (short_of_squares(rows, elements, count, r->ddof, bits)) return true;
        *bits = 0;
        return r->ddof < count && is_zero_of_squares(rows, elements, count);
    }
    if (IS_FLOAT) return short_float(rows, elements, count, bits);
    *bits = short_integer(rows, elements, count);
    return true;
}

// ---- of floats that two f64 do not hold, and of those that are no numbers

// The sum of eight terms as that of eight f64, many of them 0, of which each is less than half of the last bit of the next
// one (Shewchuk, Adaptive precision floating-point arithmetic and fast robust geometric predicates, theorem 10).
static __device__ __forceinline__ void expand(const unit *elements, double *part)
{
#pragma unroll
    for (int k = 0; k < SHORT_ROWS; k++) {
        double term = short_term(elements[k]);
#pragma unroll
        for (int i = 0; i < k; i++) {
            double_sum both = two_sum(term, part[i]);
            part[i] = both.rest;
            term = both.high;
        }
        part[k] = term;
    }
}

static __device__ __forceinline__ bool are_all_negative_zeros(const unit *elements)
{
    unit unlike = 0;
#pragma unroll
    for (int k = 0; k < SHORT_ROWS; k++) unlike |= elements[k] ^ SIGN_BIT;
    return HAS_SUM && unlike == 0;
}

// Added up from the smallest on, rounding to odd, by which the last addition rounds as the sum does: a narrower type in any
// case, f64 if it is of something at least eight times as large.  false: it may not.
static __device__ __forceinline__ bool add_expansion(const unit *elements, double_sum *total)
{
    double part[SHORT_ROWS];
    double_sum sum = {are_all_negative_zeros(elements) ? -0.0 : 0.0, 0};
    bool is_sure = true;
    expand(elements, part);
#pragma unroll
    for (int k = 0; k < SHORT_ROWS; k++) {
        if (part[k] == 0) continue;
        double smaller = rounded_to_odd(sum);
        is_sure = WIDTH < 64 || sum.rest == 0 || 8 * fabs(smaller) <= fabs(part[k]);
        sum = two_sum(smaller, part[k]);
    }
    *total = sum;
    return is_sure && fabs(sum.high) <= 0x1.fffffffffffffp1023;
}

// What is no number.
typedef struct {
    int nans;
    bool is_positive, is_negative; // there is such an infinity
} short_specials;

static __device__ __forceinline__ void note_special(unit element, short_specials *found)
{
    bool below = HAS_SUM && is_negative(element), is_infinity = is_infinite(element);
    found->nans += is_nan(element);
    found->is_negative = found->is_negative || (is_infinity && below);
    found->is_positive = found->is_positive || (is_infinity && !below);
}

// Takes NaNs out, and notes infinities.
static __device__ __forceinline__ short_specials take_specials(unit *elements, int count)
{
    short_specials found = {0, false, false};
#pragma unroll
    for (int k = 0; k < SHORT_ROWS; k++) {
        if (k >= count) continue;
        note_special(elements[k], &found);
        if (is_nan(elements[k])) elements[k] = SHORT_PADDING;
    }
    return found;
}

#define HAS_RARE_RESULT (IS_FLOAT && !IS_SHORT_EXTREME)

// What there is besides infinities does not matter.
static __device__ __forceinline__ u64 infinite_result(const short_specials *found)
{
    bool is_nan = IS_SHORT_SPREAD || (found->is_positive && found->is_negative);
    return is_nan ? QUIET_NAN : INFINITY_BITS | (found->is_negative ? SIGN_BIT : (unit)0);
}

enum { SPECIALS_DECIDE, SPECIALS_FAIL, SPECIALS_PASS };

// Whether specials decide the result of `given` elements, let there be none, or leave it to the others.
static __device__ __forceinline__ int settle_specials(const struct wf_group_arguments *r, const short_specials *found, int given,
                                                      u64 *bits)
{
    int count = given - found->nans;
    *bits = QUIET_NAN;
    if (found->nans && r->nan == WF_NAN_PROPAGATE) return !IS_SHORT_SPREAD || r->ddof < given ? SPECIALS_DECIDE : SPECIALS_FAIL;
    if (found->nans && r->nan == WF_NAN_ERROR) return SPECIALS_FAIL;
    if (IS_SHORT_SPREAD && r->ddof >= count) return SPECIALS_FAIL;
    *bits = 0;
    if (count == 0) return FINISH_OP != WF_MEAN ? SPECIALS_DECIDE : SPECIALS_FAIL;
    *bits = infinite_result(found);
    return found->is_positive || found->is_negative ? SPECIALS_DECIDE : SPECIALS_PASS;
}

// What is to be divided by the divisor, and its root taken: whether two f64 hold it.
static __device__ __forceinline__ bool add_squares_exactly(const unit *elements, double n, double_sum *total)
{
    double_sum value = {0, 0}, squares = {0, 0};
    bool is_exact = true;
#pragma unroll
    for (int k = 0; k < SHORT_ROWS; k++) {
        double x = widen(elements[k]);
        double_sum square = square_of(x);
        is_exact = add_exactly(&value, x) && add_exactly(&squares, square.high) && add_exactly(&squares, square.rest) && is_exact;
    }
    if (IS_SHORT_SPREAD) {
        double_sum minuend = two_product(n, squares.high), more = two_product(n, squares.rest);
        double_sum square = two_product(value.high, value.high);
        is_exact = is_exact && value.rest == 0 && more.rest == 0 && add_exactly(&minuend, more.high) &&
                   add_exactly(&minuend, -square.high) && add_exactly(&minuend, -square.rest);
        squares = minuend;
    }
    *total = two_sum(squares.high, squares.rest);
    return is_exact;
}

// As short_of_squares, by sums that are exact.
static __device__ __forceinline__ bool rare_of_squares(const unit *elements, int count, i64 ddof, u64 *bits)
{
    double_sum sum;
    bool is_exact = add_squares_exactly(elements, count, &sum);
    double divisor = IS_SHORT_SPREAD ? (double)(count * (count - ddof)) : 1;
    return (is_exact && finish_exactly(sum, divisor, bits)) || short_of_squares(SHORT_ROWS, elements, count, ddof, bits);
}

static __device__ __forceinline__ bool rare_sum(const unit *elements, int count, u64 *bits)
{
    double_sum sum;
    if (!add_expansion(elements, &sum)) return false;
    if (FINISH_OP == WF_MEAN && !divide_short(sum, count, &sum)) return false;
    *bits = rounded_bits(sum);
    return true;
}

// Pairs without a NaN, of finite numbers.
static __device__ __forceinline__ bool rare_dot(const struct wf_group_arguments *r, int count, unit *elements, unit *factors,
                                                u64 *bits)
{
    int nans = 0;
#pragma unroll
    for (int k = 0; k < SHORT_ROWS; k++) {
        if (!is_either_nan(elements[k], factors[k])) continue;
        nans++;
        elements[k] = SHORT_PADDING;
        factors[k] = 0;
    }
    *bits = QUIET_NAN;
    if (nans == 0 || r->nan == WF_NAN_ERROR) return false;
    if (r->nan == WF_NAN_PROPAGATE) return true;
    *bits = 0;
    return nans == count || short_dot(SHORT_ROWS, elements, factors, bits);
}

// As short_result, of floats, with NaNs and infinities, and of sums of what is far apart.
static __device__ __forceinline__ bool rare_result(const struct wf_group_arguments *r, int given, unit *elements, unit *factors,
                                                   u64 *bits)
{
    if (!HAS_RARE_RESULT || given == 0) return false;
    if (IS_SHORT_DOT) return rare_dot(r, given, elements, factors, bits);
    short_specials found = take_specials(elements, given);
    int count = given - found.nans, settled = settle_specials(r, &found, given, bits);
    if (settled != SPECIALS_PASS) return settled == SPECIALS_DECIDE;
    if (IS_SHORT_OF_SQUARES) return rare_of_squares(elements, count, r->ddof, bits);
    return rare_sum(elements, count, bits);
}

#endif

#endif
