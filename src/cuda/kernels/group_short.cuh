// The results of groups of a few elements, by a few operations in registers: where these show that they are right.

#ifndef GROUP_SHORT_CUH
#define GROUP_SHORT_CUH

#include "kernels/group_finish.cuh"

#if IS_SHORT

#define IS_SHORT_SUM (IS_PLAIN_TERM_SUM && HAS_VALUE_SUM)
#define IS_SHORT_MEAN (IS_FLOAT && FINISH_OP == WF_MEAN && FINISH_RESULT_TYPE == FINISH_TYPE)
#define IS_SHORT_INTEGERS                                                                                                \
    (IS_NARROW_SUM && (IS_PLAIN_SUM || (FINISH_OP == WF_MEAN && FINISH_RESULT_TYPE == WF_F64)))
#define IS_SHORT_EXTREME (TAKES_EXTREMES_OF_BATCH && (IS_PLAIN_EXTREME || IS_PLAIN_INDEX))
#define HAS_SHORT_RESULT (OPERANDS == 1 && (IS_SHORT_SUM || IS_SHORT_MEAN || IS_SHORT_INTEGERS || IS_SHORT_EXTREME))

#define SHORT_ROWS 8 // elements of a group at most
#define SHORT_LOADS (WIDTH == 64 ? 16 : 32) // elements that a lane has on their way
#define QUIET_NAN (INFINITY_BITS | (unit)1 << (FRACTION_BITS - 1))
#define SHORT_PADDING (IS_FLOAT ? SIGN_BIT : (unit)0) // behind the last element: changes no sum

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

// Whether two f64 hold the sum of the elements.
static __device__ __forceinline__ bool add_short(const int rows, const unit *elements, double_sum *total)
{
    double high = short_term(elements[0]), low = 0;
    bool is_exact = true;
#pragma unroll
    for (int k = 1; k < rows; k++) {
        double_sum sum = two_sum(high, short_term(elements[k])), left = two_sum(low, sum.rest);
        high = sum.high;
        low = left.high;
        is_exact = is_exact && left.rest == 0;
    }
    double_sum plain = {high, 0}; // -0 stays
    *total = low == 0 ? plain : two_sum(high, low);
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

static __device__ __forceinline__ u64 rounded_bits(double_sum sum)
{
    if (WIDTH == 64) return (u64)__double_as_longlong(sum.high);
    double value = rounded_to_odd(sum);
    return IS_F16 || WIDTH == 32 ? narrowed(value) : rounded_to_bf16(value);
}

// The machine's addition rounds once.
static __device__ __forceinline__ bool add_two(const unit *elements, u64 *bits)
{
    if (WIDTH == 64)
        *bits = (u64)__double_as_longlong(__dadd_rn(widen(elements[0]), widen(elements[1])));
    else
        *bits = __float_as_uint(__fadd_rn(__uint_as_float((u32)elements[0]), __uint_as_float((u32)elements[1])));
    return (*bits & MAGNITUDE) < INFINITY_BITS;
}

// The quotient as an f64 and the sign, at least, of what is left; false if it might be rounded the wrong way.
static __device__ __forceinline__ bool divide_short(double_sum sum, int count, double_sum *quotient)
{
    *quotient = sum;
    if (sum.high == 0) return true; // -0 stays
    double n = count, high = __ddiv_rn(sum.high, n), left = __dadd_rn(__fma_rn(-high, n, sum.high), sum.rest);
    quotient->high = high;
    quotient->rest = left;
    if (WIDTH < 64) return sum.rest == 0;
    double more = __ddiv_rn(left, n), margin = fabs(more) * 0x1p-40;
    quotient->high = __dadd_rn(high, __dadd_rn(more, margin));
    bool is_near = quotient->high == __dadd_rn(high, __dsub_rn(more, margin));
    return is_near && fabs(sum.high) > 0x1p-900; // below, what is left may not be a number
}

static __device__ __forceinline__ bool short_float(const int rows, const unit *elements, int count, u64 *bits)
{
    double_sum sum;
    if (rows == 2 && IS_SHORT_SUM && HAS_SUM && WIDTH >= 32) return add_two(elements, bits);
    if (!add_short(rows, elements, &sum)) return false;
    if (FINISH_OP == WF_MEAN && !divide_short(sum, count, &sum)) return false;
    *bits = rounded_bits(sum);
    return true;
}

// ---- integers and extremes

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
static __device__ __forceinline__ bool short_result(const int rows, const unit *elements, int count, i64 first_index, u64 *bits)
{
    *bits = 0;
    if (count == 0 || !HAS_SHORT_RESULT) return false;
    if (IS_SHORT_EXTREME) return short_extreme(rows, elements, count, first_index, bits);
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

// Takes NaNs out, as far as the policy allows, and notes infinities.
typedef struct {
    int nans, first_nan;
    bool is_positive, is_negative; // there is such an infinity
} short_specials;

static __device__ __forceinline__ short_specials take_specials(unit *elements, int count)
{
    short_specials found = {0, 0, false, false};
#pragma unroll
    for (int k = SHORT_ROWS - 1; k >= 0; k--) {
        if (k >= count) continue;
        if (is_infinite(elements[k])) {
            bool below = HAS_SUM && is_negative(elements[k]);
            found.is_negative = found.is_negative || below;
            found.is_positive = found.is_positive || !below;
        }
        if (!is_nan(elements[k])) continue;
        found.nans++;
        found.first_nan = k;
        elements[k] = SHORT_PADDING;
    }
    return found;
}

#define HAS_RARE_RESULT (IS_FLOAT && HAS_SHORT_RESULT && !IS_SHORT_EXTREME)

// As short_result, of sums and means of floats, with NaNs and infinities, and of what is far apart.
static __device__ __forceinline__ bool rare_result(const struct wf_group_arguments *r, unit *elements, u64 *bits)
{
    if (!HAS_RARE_RESULT || r->reduced_count == 0) return false;
    short_specials found = take_specials(elements, (int)r->reduced_count);
    int count = (int)r->reduced_count - found.nans;
    *bits = QUIET_NAN;
    if (found.nans && r->nan == WF_NAN_ERROR) return false;
    if (found.nans && r->nan == WF_NAN_PROPAGATE) return true;
    if (count == 0) return false;
    if (found.is_positive || found.is_negative) {
        if (!found.is_positive || !found.is_negative) *bits = INFINITY_BITS | (found.is_negative ? SIGN_BIT : (unit)0);
        return true;
    }
    double_sum sum;
    if (!add_expansion(elements, &sum)) return false;
    if (FINISH_OP == WF_MEAN && !divide_short(sum, count, &sum)) return false;
    *bits = rounded_bits(sum);
    return true;
}

#endif

#endif
