// What a lane knows of its elements of a narrow float's group: a few f64, whose error has a bound that mostly leaves one result.
//
// Variances are of what elements differ from the group's first one, so that numbers far from 0 cancel no more than others; that
// difference, its square and their sums are each rounded by a 2^53th of themselves.

#ifndef GROUP_ROW_SUMS_CUH
#define GROUP_ROW_SUMS_CUH

#include "kernels/group_doubles.cuh"
#include "kernels/magnitude.cuh"
#include "kernels/team.cuh"

#if HAS_ROW_SUMS && WIDTH < 64

// Of columns of f32, of which so many are added up that the roundings of plain sums would leave some open: those of a few elements at
// a time are plain, and where they are joined, what is left is kept.
#define HAS_RESTS ((ARE_TALL_COLUMNS || ARE_COLUMNS_OF_LANES) && WIDTH == 32)
#define ROUNDINGS_WITH_RESTS (ARE_LONG_ROWS ? 64.0 : 32.0) // at most: of 16 elements, of long rows of 32, and a few times more
#define IS_SUM_HELD (IS_F16 && ARE_IN_CHUNKS) // by an f64: up to 2^13 multiples of 2^-24; so that magnitudes are not needed
#define IS_LAST_BIT_SOUGHT (!IS_SHORT_OF_SQUARES && !IS_F16) // that of f16 is known

typedef struct {
    double sum;     // of a variance, of their differences from shift; of a norm there is none
    double largest; // the sum of squares, or of magnitudes
    double shift;
#if HAS_RESTS
    double rest_of_sum, rest_of_squares; // what is left where sums were joined
    double most;                         // of sums, the largest of magnitudes that were added up plainly
#endif
    u32 least;      // the smallest magnitude but 0, less one; of 16 bits, of either half of the words
} row_sums;

static __device__ __forceinline__ row_sums no_row_sums(const struct wf_group_arguments *r, unit first)
{
    row_sums sums = {IS_SHORT_SPREAD ? 0 : -0.0, 0, IS_SHORT_SPREAD ? widen(first) : 0};
    sums.least = ~0u;
    (void)r;
    return sums;
}

// Of the group's first element alone, which makes a variance NaN unless it is a number.
static __device__ __forceinline__ row_sums first_row_sums(unit first)
{
    const double x = widen(first), none = __dsub_rn(x, x);
    row_sums sums = {IS_SHORT_SPREAD ? 0 : short_term(first), IS_SHORT_SPREAD ? none : IS_SHORT_NORM ? __dmul_rn(x, x) : fabs(x),
                     IS_SHORT_SPREAD ? x : 0};
    sums.least = ~0u;
    return sums;
}

// What stands for elements that are not the group's: it changes nothing.
static __device__ __forceinline__ unit row_padding(unit first)
{
    return IS_SHORT_SPREAD ? first : SHORT_PADDING;
}

static __device__ __forceinline__ void add_row_element(row_sums *sums, unit element)
{
    double x = widen(element);
    if (IS_SHORT_NORM) {
        sums->largest = __fma_rn(x, x, sums->largest);
    } else if (IS_SHORT_SPREAD) {
        double difference = __dsub_rn(x, sums->shift);
        sums->sum = __dadd_rn(sums->sum, difference);
        sums->largest = __fma_rn(difference, difference, sums->largest);
    } else {
        sums->sum = __dadd_rn(sums->sum, HAS_SUM ? x : fabs(x));
        if (!IS_SUM_HELD) sums->largest = __dadd_rn(sums->largest, fabs(x));
    }
}

static __device__ __forceinline__ void note_least_element(row_sums *sums, unit element)
{
    u32 less_one = (u32)(element & MAGNITUDE) - 1;
    if (IS_LAST_BIT_SOUGHT) sums->least = min(sums->least, less_one | (WIDTH == 16 ? 0xffff0000 : 0));
}

static __device__ __forceinline__ void note_least_of_vector(row_sums *sums, const vector *v)
{
    if (IS_LAST_BIT_SOUGHT) sums->least = least_of_vector(sums->least, v);
}

#if HAS_RESTS

static __device__ __forceinline__ void join_with_rest(double *sum, double *rest, double other_sum, double other_rest)
{
    const double_sum joined = two_sum(*sum, other_sum);
    *sum = joined.high;
    *rest = __dadd_rn(__dadd_rn(*rest, other_rest), joined.rest);
}

// None of the elements, of which a few are added by themselves.
static __device__ __forceinline__ row_sums none_of_row(const row_sums *sums)
{
    row_sums none = {IS_SHORT_SPREAD ? 0 : -0.0, 0, sums->shift, 0, 0, 0, ~0u};
    return none;
}

#endif

// With those of other elements of the group.
static __device__ __forceinline__ void join_row_sums(row_sums *sums, const row_sums *other)
{
#if HAS_RESTS
    if (!IS_SHORT_NORM) join_with_rest(&sums->sum, &sums->rest_of_sum, other->sum, other->rest_of_sum);
    if (IS_SHORT_OF_SQUARES)
        join_with_rest(&sums->largest, &sums->rest_of_squares, other->largest, other->rest_of_squares);
    else
        sums->largest = __dadd_rn(sums->largest, other->largest);
    sums->most = fmax(sums->most, other->most);
#else
    if (!IS_SHORT_NORM) sums->sum = __dadd_rn(sums->sum, other->sum);
    sums->largest = __dadd_rn(sums->largest, other->largest);
#endif
    if (IS_LAST_BIT_SOUGHT) sums->least = WIDTH == 16 ? __vminu2(sums->least, other->least) : min(sums->least, other->least);
}

#if HAS_RESTS

// With what was added up plainly.
static __device__ __forceinline__ void join_plain_sums(row_sums *sums, const row_sums *plain)
{
    row_sums other = *plain;
    if (!IS_SHORT_OF_SQUARES) other.most = plain->largest;
    join_row_sums(sums, &other);
}

#endif

// By all lanes.
static __device__ __forceinline__ void merge_row_sums(row_sums *sums, const team *lanes)
{
    for (int step = 0; step < lanes->log2; step++) {
        u32 delta = team_delta(lanes, step);
        row_sums other = *sums;
        if (!IS_SHORT_NORM) other.sum = of_other_lane(sums->sum, delta);
        other.largest = of_other_lane(sums->largest, delta);
#if HAS_RESTS
        if (!IS_SHORT_NORM) other.rest_of_sum = of_other_lane(sums->rest_of_sum, delta);
        if (IS_SHORT_OF_SQUARES) other.rest_of_squares = of_other_lane(sums->rest_of_squares, delta);
        if (!IS_SHORT_OF_SQUARES) other.most = of_other_lane(sums->most, delta);
#endif
        if (IS_LAST_BIT_SOUGHT) other.least = __shfl_xor_sync(ALL_LANES, sums->least, delta);
        join_row_sums(sums, &other);
    }
}

// How often, at most, a number has been rounded: in its lane, and a few times more.
static __device__ __forceinline__ double roundings_of(int count, const team *lanes)
{
    return HAS_RESTS ? ROUNDINGS_WITH_RESTS : (double)((count >> lanes->log2) + 4 * PER_VECTOR);
}

// The root, but for a few of its last bits, of what is known except for bound, and the bound of that.
static __device__ __forceinline__ double_sum narrow_root_of(double_sum square, double *bound)
{
    double_sum root = {__dsqrt_rn(square.high), 0};
    *bound = *bound / root.high;
    return root;
}

// numerator / divisor as an f64 and the sign of what is left: once corrected, the quotient is one of the two f64 next to it, or it.
static __device__ __forceinline__ double_sum exact_quotient(double numerator, const spread_divisor *by)
{
    double near = numerator * by->inverse;
    double_sum quotient = {__fma_rn(__fma_rn(-near, by->divisor, numerator), by->inverse, near), 0};
    quotient.rest = __fma_rn(-quotient.high, by->divisor, numerator);
    return quotient;
}

// Of a numerator that is exact.
static __device__ __forceinline__ bool finish_exact_spread(double numerator, const spread_divisor *by, u64 *bits)
{
    const double_sum exact = {numerator, 0};
    if (FINISH_OP == WF_STD) return finish_exactly(exact, by->divisor, bits);
    *bits = rounded_bits(exact_quotient(numerator, by));
    return true;
}

// n*S2 - S1^2, of which no part is above n*S2 and the sum of differences' magnitudes, squared, isn't either: three times as many
// roundings of n*S2 at most, and those of the difference.  Of few bits it is often half-way between two results: what is a multiple of
// `grid`, as all operations' results are then, and known except for less than that, is exact.
static __device__ __forceinline__ bool finish_row_spread(const row_sums *sums, int count, const spread_divisor *by, double roundings, double grid,
                                                         u64 *bits)
{
    double n = count, minuend = n * sums->largest;
    double numerator = __fma_rn(n, sums->largest, -__dmul_rn(sums->sum, sums->sum)), error = 4 * roundings * 0x1p-53 * minuend;
    double_sum found = {numerator * by->inverse, 0};
    double bound = error * by->inverse + found.high * 0x1p-48;
    if (FINISH_OP == WF_STD) found = narrow_root_of(found, &bound);
    bool is_found = round_within(found, bound + found.high * 0x1p-48, bits) & (numerator > 2 * error) & (minuend <= 0x1.fffffffffffffp1023);
    bool are_alike = sums->largest == 0;
    if (are_alike) *bits = 0;
    if (is_found | are_alike) return by->exists;
    return grid != 0 && by->exists && error < grid && minuend <= 0x1.fffffffffffffp1023 && finish_exact_spread(numerator, by, bits);
}

// Squares do not cancel.
static __device__ __forceinline__ bool finish_row_norm(const row_sums *sums, double roundings, u64 *bits)
{
    double_sum found = {sums->largest, 0};
    double bound = 2 * roundings * 0x1p-53 * sums->largest;
    *bits = 0;
    if (sums->largest == 0) return true;
    if (!(sums->largest <= 0x1.fffffffffffffp1023)) return false;
    found = narrow_root_of(found, &bound);
    return round_within(found, bound + found.high * 0x1p-48, bits);
}

// Whether no addition has been rounded of sums of so large magnitudes: all are multiples of the last bit of the smallest one, and no
// sum of some is 2^52 times as large.
static __device__ __forceinline__ bool are_sums_exact(const row_sums *sums, double magnitude)
{
    u32 least = (WIDTH == 16 ? min(sums->least & 0xffff, sums->least >> 16) : sums->least) + 1; // none: all are 0
    int unit_exponent = IS_F16 ? LOW_EXPONENT : max((int)(least >> FRACTION_BITS), 1) - BIAS - FRACTION_BITS;
    return magnitude < __hiloint2double((unit_exponent + 52 + 1023) << 20, 0);
}

static __device__ __forceinline__ bool is_row_exact(const row_sums *sums)
{
    return are_sums_exact(sums, sums->largest);
}

static __device__ __forceinline__ bool finish_row_sum(const row_sums *sums, int count, double roundings, u64 *bits)
{
    bool is_exact = is_row_exact(sums);
    double_sum found = {sums->sum, 0};
    double bound = is_exact ? 0 : 2 * roundings * 0x1p-53 * sums->largest;
#if HAS_RESTS
    if (!is_exact) found = two_sum(sums->sum, sums->rest_of_sum);
    const double joins = count / 16 + 64; // of 16 elements, and of what lanes and warps know
    if (!is_exact && are_sums_exact(sums, sums->most)) bound = joins * joins * 0x1p-104 * sums->largest;
#endif
    if (!(sums->largest <= 0x1.fffffffffffffp1023)) return false;
    if (is_exact && FINISH_OP == WF_MEAN && !divide_short(found, count, &found)) return false;
    if (is_exact || sums->largest == 0) {
        *bits = rounded_bits(found);
        return true;
    }
    if (FINISH_OP == WF_MEAN) {
        found.high = found.high / count;
        bound = bound / count;
    }
    return round_within(found, bound + fabs(found.high) * 0x1p-50, bits);
}

// Whether there are NaNs or infinities, which decide the result unless NaNs are left out or errors; numbers alone overflow no f64.
static __device__ __forceinline__ bool finish_special_row(const struct wf_group_arguments *r, const row_sums *sums, int count, u64 *bits)
{
    if (sums->largest <= 0x1.fffffffffffffp1023 || r->nan != WF_NAN_PROPAGATE || (IS_SHORT_SPREAD && r->ddof >= count)) return false;
    const double sum = IS_SHORT_NORM ? sums->largest : sums->sum;
    *bits = IS_SHORT_SPREAD || sum != sum ? QUIET_NAN : INFINITY_BITS | (sum < 0 ? SIGN_BIT : (unit)0);
    return true;
}

// Squares and what they are of, with what is left.
static __device__ __forceinline__ row_sums squares_with_rests(const row_sums *sums)
{
    row_sums whole = *sums;
#if HAS_RESTS
    whole.sum = __dadd_rn(sums->sum, sums->rest_of_sum);
    whole.largest = __dadd_rn(sums->largest, sums->rest_of_squares);
#endif
    return whole;
}

// Whether the result is known.
static __device__ __forceinline__ bool finish_row(const struct wf_group_arguments *r, const row_sums *sums, int count, double roundings,
                                                  u64 *bits)
{
    if (finish_special_row(r, sums, count, bits)) return true;
    if (!IS_SHORT_OF_SQUARES) return finish_row_sum(sums, count, roundings, bits);
    const row_sums squares = squares_with_rests(sums);
    if (IS_SHORT_NORM) return finish_row_norm(&squares, roundings, bits);
    const spread_divisor by = divisor_of_group(r, count);
    return finish_row_spread(&squares, count, &by, roundings, 0, bits);
}

#endif

#endif
