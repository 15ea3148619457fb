// The results of groups of a few elements, by a few operations in registers: where these show that they are right.

#ifndef GROUP_SHORT_CUH
#define GROUP_SHORT_CUH

#include "kernels/group_row_pairs.cuh"
#include "kernels/group_row_sums.cuh"

#if IS_SHORT

// ---- sums of floats

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

static __device__ __forceinline__ bool short_float(const int rows, const unit *elements, int count, u64 *bits)
{
    double_sum sum;
    if (rows == 2 && IS_SHORT_SUM && HAS_SUM) return add_two(elements, bits);
    if (!add_short(rows, elements, &sum)) return false;
    if (FINISH_OP == WF_MEAN && !divide_short(sum, count, &sum)) return false;
    *bits = rounded_bits(sum);
    return true;
}

#if HAS_ROW_SUMS

#define SHORT_ROUNDINGS (WIDTH == 64 ? 64 : 16) // at most

#if WIDTH < 64

// By one f64, which mostly holds the sum, or leaves one result, without a branch.  Adding no error keeps the sign of 0.
static __device__ __forceinline__ bool short_narrow_sum(const int rows, const unit *elements, u64 *bits)
{
    row_sums sums = first_row_sums(elements[0]);
    note_least_element(&sums, elements[0]);
#pragma unroll
    for (int k = 1; k < rows; k++) {
        add_row_element(&sums, elements[k]);
        note_least_element(&sums, elements[k]);
    }
    if (IS_F16) {
        *bits = rounded_value(sums.sum);
        return fabs(sums.sum) <= 0x1.fffffffffffffp1023;
    }
    const bool is_exact = is_row_exact(&sums);
    const double error = 3 * SHORT_ROUNDINGS * 0x1p-53 * sums.largest;
    *bits = rounded_value(__dsub_rn(sums.sum, is_exact ? 0 : error));
    return (*bits == rounded_value(__dadd_rn(sums.sum, is_exact ? -0.0 : error))) & (sums.largest <= 0x1.fffffffffffffp1023);
}

#endif

#endif

// ---- variances and norms of floats

#if HAS_ROW_SUMS

static __device__ __forceinline__ double grid_of_squares(const int rows, const unit *elements)
{
    element_grid grid = {~0u, 0};
#pragma unroll
    for (int k = 0; k < rows; k++) note_grid(&grid, elements[k]);
    return square_of_grid(&grid);
}

// grid: what squares are a multiple of, or 0.
static __device__ __forceinline__ bool short_of_squares(const int rows, const unit *elements, int count, const spread_divisor *by,
                                                        double grid, u64 *bits)
{
    row_sums sums = first_row_sums(elements[0]);
#pragma unroll
    for (int k = 1; k < rows; k++) add_row_element(&sums, k < count ? elements[k] : row_padding(elements[0]));
    if (IS_SHORT_NORM) return finish_row_norm(&sums, SHORT_ROUNDINGS, bits);
    return finish_row_spread(&sums, count, by, SHORT_ROUNDINGS, grid, bits);
}

#endif

// What is left is added up, too, by which each sum loses less than a 2^100th of the sum of magnitudes.
static __device__ __forceinline__ sums_of_squares add_squares(const int rows, const unit *elements)
{
    double first = widen(elements[0]);
    sums_of_squares sums = {{first, 0}, square_of(first), 0};
#pragma unroll
    for (int k = 1; k < rows; k++) add_square(&sums, widen(elements[k]));
    return sums;
}

static __device__ __forceinline__ bool rare_by_pairs(const unit *elements, int count, const spread_divisor *by, u64 *bits)
{
    sums_of_squares sums = add_squares(SHORT_ROWS, elements);
    return (!IS_SHORT_SPREAD || by->exists) && finish_squares(&sums, count, by, bits);
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

// The bits of the result of count elements, at least one, which are followed by padding; false if there is none, or it takes more to find.
static __device__ __forceinline__ bool short_result(const struct wf_group_arguments *r, const int rows, const unit *elements,
                                                    const unit *factors, int count, const spread_divisor *by, i64 first_index, u64 *bits)
{
    *bits = 0;
    if (IS_SHORT_DOT) return short_dot(rows, elements, factors, bits);
    if (IS_SHORT_INTEGER_DOT) return short_integer_dot(rows, elements, factors, bits);
    if (IS_SHORT_EXTREME) return short_extreme(rows, elements, count, first_index, bits);
#if HAS_ROW_SUMS
    if (IS_SHORT_OF_SQUARES) {
        if (short_of_squares(rows, elements, count, by, WIDTH == 64 ? grid_of_squares(rows, elements) : 0, bits)) return true;
        if (WIDTH < 64) return false;
        *bits = 0;
        return by->exists && is_zero_of_squares(rows, elements, count);
    }
#endif
#if HAS_ROW_SUMS && WIDTH < 64
    if (IS_SHORT_SUM && !(rows == 2 && HAS_SUM)) return short_narrow_sum(rows, elements, bits);
#endif
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

#if HAS_ROW_SUMS

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

// Variances of narrow types that seem half-way between two results, as those of few bits often are.
static __device__ __forceinline__ bool decides_tie(const unit *elements, int count, i64 ddof, u64 *bits)
{
    if (WIDTH == 64 || !IS_SHORT_SPREAD) return false;
    const spread_divisor by = divisor_of(count, ddof);
    return short_of_squares(SHORT_ROWS, elements, count, &by, grid_of_squares(SHORT_ROWS, elements), bits);
}

// As short_of_squares, by sums that are exact.
static __device__ __forceinline__ bool rare_of_squares(const unit *elements, int count, i64 ddof, u64 *bits)
{
    double_sum sum;
    const spread_divisor by = divisor_of(count, ddof);
    bool is_exact = add_squares_exactly(elements, count, &sum);
    return (is_exact && finish_exactly(sum, IS_SHORT_SPREAD ? by.divisor : 1, bits)) || rare_by_pairs(elements, count, &by, bits);
}

#endif

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
#if HAS_ROW_SUMS
    if (decides_tie(elements, given, r->ddof, bits)) return true;
#endif
    short_specials found = take_specials(elements, given);
    int count = given - found.nans, settled = settle_specials(r, &found, given, bits);
    if (settled != SPECIALS_PASS) return settled == SPECIALS_DECIDE;
#if HAS_ROW_SUMS
    if (IS_SHORT_OF_SQUARES) return rare_of_squares(elements, count, r->ddof, bits);
#endif
    return rare_sum(elements, count, bits);
}

#endif

#endif
