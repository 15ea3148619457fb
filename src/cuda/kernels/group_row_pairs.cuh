// What a lane knows of its elements of a group of f64: sums of two f64, a sum and what has been left of its additions, whose
// error has a bound that mostly leaves one result (group_row_sums.cuh has the same for narrower types).
//
// With k roundings, what is left is below k*2^-53 of the magnitudes' sum, and adding it up loses less than k^2*2^-106 of that.

#ifndef GROUP_ROW_PAIRS_CUH
#define GROUP_ROW_PAIRS_CUH

#include "kernels/group_doubles.cuh"
#include "kernels/magnitude.cuh"
#include "kernels/team.cuh"

#if HAS_ROW_SUMS && WIDTH == 64

#define IS_LAST_BIT_SOUGHT (!IS_SHORT_OF_SQUARES || (IS_SHORT_SPREAD && ARE_IN_CHUNKS))

typedef struct {
    sums_of_squares of;  // of sums, the values are all there is; of norms, the squares
    double magnitude;    // of sums, that of all elements
    u32 least;           // of sums, and of spreads in chunks, the high word of the smallest magnitude but 0, less one
    u32 low;             // the low words' bits, which are few where numbers have been narrower ones
} row_sums;

static __device__ __forceinline__ row_sums no_row_sums(const struct wf_group_arguments *r, unit first)
{
    row_sums sums = {{{-0.0, 0}, {0, 0}, 0}, 0, ~0u, 0};
    (void)r, (void)first;
    return sums;
}

// Of the group's first element alone.
static __device__ __forceinline__ row_sums first_row_sums(unit first)
{
    const double x = widen(first);
    row_sums sums = {{{short_term(first), 0}, square_of(x), 0}, fabs(x), ~0u, 0};
    return sums;
}

// What stands for elements that are not the group's: it changes nothing.
static __device__ __forceinline__ unit row_padding(unit first)
{
    (void)first;
    return SHORT_PADDING;
}

static __device__ __forceinline__ void add_row_element(row_sums *sums, unit element)
{
    if (IS_SHORT_OF_SQUARES) {
        if (IS_SHORT_NORM)
            add_square_alone(&sums->of, widen(element));
        else
            add_square(&sums->of, widen(element));
        return;
    }
    double_sum value = two_sum(sums->of.values.high, short_term(element));
    sums->of.values.high = value.high;
    sums->of.values.rest += value.rest;
    sums->magnitude += fabs(widen(element));
}

static __device__ __forceinline__ void note_least_of_vector(row_sums *sums, const vector *v)
{
    if (!IS_LAST_BIT_SOUGHT) return;
    sums->least = least_of_vector(sums->least, v);
    sums->low |= v->word[0] | v->word[2];
}

static __device__ __forceinline__ void note_least_element(row_sums *sums, unit element)
{
    vector v = {{(u32)element, (u32)(element >> 32), 0, 0}};
    note_least_of_vector(sums, &v);
}

static __device__ __forceinline__ void join_double_sums(double_sum *sum, double_sum other)
{
    double_sum high = two_sum(sum->high, other.high);
    double rest = __dadd_rn(sum->rest, other.rest);
    sum->high = high.high;
    sum->rest = rest + high.rest;
}

// ---- a few elements at a time

#define BATCH_ELEMENTS 16 // at most, of which these bounds are
#define BATCH_STEP 4      // of these are added at a time

// A sum to which a number is added that is so much larger than all others that it keeps its exponent: what an addition leaves is
// then found by two operations instead of five (Dekker, A floating-point technique for extending the available precision, 1971).
typedef struct {
    double anchored, rest;
} anchored_sum;

// 0 has a sign, which adding to -0 keeps.
static __device__ __forceinline__ anchored_sum sum_at(double anchor)
{
    anchored_sum sum = {anchor, 0};
    return sum;
}

static __device__ __forceinline__ void add_at_anchor(anchored_sum *sum, double term)
{
    const double next = __dadd_rn(sum->anchored, term);
    sum->rest = __dadd_rn(sum->rest, __dsub_rn(term, __dsub_rn(next, sum->anchored)));
    sum->anchored = next;
}

// What is left of a square, of more bits than an f64 has, is rounded by a 2^53th of itself.
static __device__ __forceinline__ void add_square_at_anchor(anchored_sum *sum, double x)
{
    const double next = __fma_rn(x, x, sum->anchored);
    sum->rest = __dadd_rn(sum->rest, __fma_rn(x, x, -__dsub_rn(next, sum->anchored)));
    sum->anchored = next;
}

static __device__ __forceinline__ double_sum without_anchor(const anchored_sum *sum, double anchor)
{
    double_sum plain = {__dsub_rn(sum->anchored, fabs(anchor)), sum->rest};
    return plain;
}

#define SQUARED_MAX 0x5f300000u // the high word of 2^500: larger numbers' squares are out of range, but what they are added to is finite

// 2^e of elements below 2^(e+1); -0 if that is 0, or too small; infinite where sums may be, or there is a NaN, but where squares are
// added up, which tell.
static __device__ __forceinline__ double scale_of_batch(const unit *elements)
{
    u32 most = (u32)(elements[0] >> 32);
#pragma unroll
    for (int k = 1; k < BATCH_ELEMENTS; k++) most = larger_magnitude(most, (u32)(elements[k] >> 32));
    const u32 field = min(most & (u32)(INFINITY_BITS >> 32), IS_SHORT_OF_SQUARES ? SQUARED_MAX : ~0u);
    return __hiloint2double((int)(field ? field : SIGN_BIT >> 32), 0);
}

// All elements of a batch; `left` and more are padding.  With 2^e as above, sums lie between 2^(e+6) and twice that, those of squares
// between 2^(2e+6) and twice that, so that each addition leaves less than 2^(e-46), or 2^(2e-46), and adding 16 of these loses less
// than 2^(e-92), or 2^(2e-92), which is that part of the largest element, or of its square.
static __device__ __forceinline__ void add_row_batch(row_sums *sums, const unit *elements, int left)
{
    const double scale = scale_of_batch(elements), anchor = 96 * scale, anchor_of_squares = (8 * scale) * (8 * scale);
    anchored_sum values = sum_at(anchor), squares = sum_at(anchor_of_squares);
#pragma unroll
    for (int k = 0; k < BATCH_ELEMENTS; k++) {
        if (k % BATCH_STEP == 0 && k >= left) break;
        if (!IS_SHORT_NORM) add_at_anchor(&values, IS_SHORT_OF_SQUARES ? widen(elements[k]) : short_term(elements[k]));
        if (IS_SHORT_OF_SQUARES) add_square_at_anchor(&squares, widen(elements[k]));
        note_least_element(sums, elements[k]);
    }
    if (!IS_SHORT_NORM) join_double_sums(&sums->of.values, without_anchor(&values, anchor));
    if (IS_SHORT_OF_SQUARES)
        join_double_sums(&sums->of.squares, without_anchor(&squares, anchor_of_squares));
    else
        sums->magnitude += 2 * BATCH_ELEMENTS * fabs(scale);
}

// ---- joining

// With those of other elements of the group.
static __device__ __forceinline__ void join_row_sums(row_sums *sums, const row_sums *other)
{
    if (!IS_SHORT_NORM) join_double_sums(&sums->of.values, other->of.values);
    if (IS_SHORT_OF_SQUARES) {
        join_double_sums(&sums->of.squares, other->of.squares);
    } else {
        sums->magnitude += other->magnitude;
        sums->least = min(sums->least, other->least);
        sums->low |= other->low;
    }
}

static __device__ __forceinline__ double_sum double_sum_of_other_lane(double_sum sum, u32 delta)
{
    double_sum other = {of_other_lane(sum.high, delta), of_other_lane(sum.rest, delta)};
    return other;
}

// By all lanes.
static __device__ __forceinline__ void merge_row_sums(row_sums *sums, const team *lanes)
{
    for (int step = 0; step < lanes->log2; step++) {
        u32 delta = team_delta(lanes, step);
        row_sums other = {{{0, 0}, {0, 0}, 0}, 0, ~0u, 0};
        if (!IS_SHORT_NORM) other.of.values = double_sum_of_other_lane(sums->of.values, delta);
        if (IS_SHORT_OF_SQUARES) {
            other.of.squares = double_sum_of_other_lane(sums->of.squares, delta);
        } else {
            other.magnitude = of_other_lane(sums->magnitude, delta);
            other.least = __shfl_xor_sync(ALL_LANES, sums->least, delta);
            other.low = __shfl_xor_sync(ALL_LANES, sums->low, delta);
        }
        join_row_sums(sums, &other);
    }
}

// How often, at most, what is left has been added to: in its lane, and two times for each lane that is merged.
static __device__ __forceinline__ double roundings_of(int count, const team *lanes)
{
    return (double)((count >> lanes->log2) + 32);
}

// Squares leave twice as much, and each of the two sums, of which one is squared, loses no more than its part of n*S2: 6.25 times
// k^2*2^-106 of that, with the operations on what is left.
static __device__ __forceinline__ bool finish_row_spread(const row_sums *sums, int count, const spread_divisor *by, double roundings, double grid,
                                                         u64 *bits)
{
    return by->exists && finish_squares_of_f64(&sums->of, count, by, roundings * roundings * 0x1p-102, grid, bits);
}

static __device__ __forceinline__ bool finish_row_norm(const row_sums *sums, double roundings, u64 *bits)
{
    const spread_divisor by = {1, 1, true};
    return finish_squares_of_f64(&sums->of, 1, &by, roundings * roundings * 0x1p-102, 0, bits);
}

// Whether two f64 hold the sum: what is left are multiples of the last bit of the smallest one, and no sum of some is 2^52 times as
// large.
static __device__ __forceinline__ bool is_row_exact(const row_sums *sums, double roundings)
{
    int zeros = sums->low ? __ffs((int)sums->low) - 1 : 32; // at the end of every element
    int unit_field = min(max((int)((sums->least + 1) >> 20), 1) + zeros, 1900); // of an f64 2^52 times the last bit
    return roundings * sums->magnitude < __hiloint2double((unit_field + 53) << 20, 0);
}

static __device__ __forceinline__ bool finish_row_sum(const row_sums *sums, int count, double roundings, u64 *bits)
{
    double n = count, magnitude = sums->magnitude, bound = roundings * roundings * 0x1p-105 * magnitude;
    bool is_exact = is_row_exact(sums, roundings);
    double_sum sum = sums->of.values;
    if (sum.rest != 0) sum = two_sum(sum.high, sum.rest); // -0 stays
    if (!(magnitude <= 0x1.fffffffffffffp1023)) return false;
    if (is_exact && FINISH_OP == WF_MEAN && !divide_short(sum, count, &sum)) return false;
    if (is_exact) {
        *bits = rounded_bits(sum);
        return true;
    }
    if (!(magnitude > 0x1p-800 && magnitude < 0x1p1000)) return false;
    if (FINISH_OP == WF_MEAN) {
        double quotient = __ddiv_rn(sum.high, n);
        sum = two_sum(quotient, (__fma_rn(-quotient, n, sum.high) + sum.rest) / n);
        bound = bound / n;
    }
    return round_within(sum, bound + fabs(sum.high) * 0x1p-103, bits);
}

// ---- out of range

// A NaN if there is one; infinite, or too large, or small, to be decided by, where numbers have to be scaled.
static __device__ __forceinline__ double size_of_sums(const row_sums *sums)
{
    return IS_SHORT_OF_SQUARES ? sums->of.squares.high : sums->magnitude;
}

static __device__ __forceinline__ bool settle_nan(const struct wf_group_arguments *r, const row_sums *sums, u64 *bits)
{
    const double size = size_of_sums(sums);
    *bits = QUIET_NAN;
    return size != size && r->nan == WF_NAN_PROPAGATE && !(IS_SHORT_SPREAD && r->ddof >= r->reduced_count);
}

static __device__ __forceinline__ bool finish_row(const struct wf_group_arguments *r, const row_sums *sums, int count, double roundings,
                                                  u64 *bits)
{
    if (IS_SHORT_NORM) return finish_row_norm(sums, roundings, bits);
    const spread_divisor by = divisor_of_group(r, count);
    const element_grid grid = {sums->least, sums->low};
    const double square = IS_LAST_BIT_SOUGHT ? square_of_grid(&grid) : 0;
    return IS_SHORT_SPREAD ? finish_row_spread(sums, count, &by, roundings, square, bits) : finish_row_sum(sums, count, roundings, bits);
}

#endif

#endif
