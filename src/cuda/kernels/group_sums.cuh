// The exact sum of a group, kept by one lane.
//
// Of integers it is a number of 192 bits in registers.  Of floats it is a column of bins in shared memory: 128-bit integers,
// 64 binades apart, to which terms of any exponent are added, so nothing depends on the data.  Between
// groups all bins are 0.

#ifndef GROUP_SUMS_CUH
#define GROUP_SUMS_CUH

#include "kernels/big.cuh"
#include "kernels/element.cuh"
#include "kernels/integers.cuh"
#include "kernels/parts.cuh"
#include "kernels/team.cuh"
#include "kernels/warp.cuh"
#include "kernels/wide.cuh"

// Rows of bins: those to which terms are added, and one for what they carry.
#define GROUP_VALUE_ROWS (IS_FLOAT ? (2 * BIAS - 1) / 64 + 2 : 0)
#define GROUP_PRODUCT_ROWS (IS_FLOAT ? (4 * BIAS - 2 + (WIDTH == 64 ? 53 : 0)) / 64 + 2 : 0)
#define GROUP_SUMS_NBYTES (16 * BIN_LANES * ((HAS_VALUE_SUM ? GROUP_VALUE_ROWS : 0) + (HAS_PRODUCT_SUM ? GROUP_PRODUCT_ROWS : 0)))

// Where lanes try groups along axes in registers first, and most need no bins, they take turns at a few columns of large ones, so
// that shared memory has room for more warps.
#define ARE_IN_CHUNKS (IS_SHORT == 5)
#define ARE_CHUNKS_AHEAD (ARE_IN_CHUNKS && IS_FLOAT && (HAS_SUMS || WIDTH == 64)) // group_chunks_ahead.cuh
#define ARE_SEGMENTS_OF_TEAMS (IS_SHORT == 9)
#define ARE_ROWS_OF_TEAMS (IS_SHORT == 6 || ARE_SEGMENTS_OF_TEAMS) // group_rows.cuh
#define ARE_COLUMNS_OF_LANES (IS_SHORT == 7) // group_columns.cuh
#define ARE_LONG_ROWS (IS_SHORT == 10)
#define ARE_TALL_COLUMNS (IS_SHORT == 8 || ARE_LONG_ROWS) // group_tall.cuh
#define ARE_SHARED_BY_TEAMS (ARE_ROWS_OF_TEAMS || ARE_COLUMNS_OF_LANES || ARE_TALL_COLUMNS)
#define ARE_EXTREMES_OF_LANES ((ARE_SHARED_BY_TEAMS || (ARE_IN_CHUNKS && !IS_INDEXED)) && HAS_EXTREMES)
#define HAS_ONE_NAN (!IS_INDEXED || __CUDA_ARCH__ >= 800) // of pairs that are compared, so that the first one is told from the others
#define ARE_EXTREMES_BY_PAIRS (ARE_EXTREMES_OF_LANES && IS_FLOAT && WIDTH == 16 && HAS_ONE_NAN) // group_row_extremes.cuh
#define ARE_EXTREMES_BY_KEYS (ARE_EXTREMES_OF_LANES && !ARE_EXTREMES_BY_PAIRS)   // group_key_extremes.cuh
#define ARE_INTEGER_SUMS ((ARE_SHARED_BY_TEAMS || ARE_IN_CHUNKS) && !HAS_EXTREMES && !IS_FLOAT) // group_integer_sums.cuh
#define IS_NARROW_INTEGER (!IS_FLOAT && WIDTH <= 16) // several of a word are added, or compared, by one instruction
#define HAS_PLACES ((ARE_ROWS_OF_TEAMS || ARE_IN_CHUNKS) && IS_INDEXED && IS_NARROW_INTEGER) // elements are compared with their places behind them
#define ARE_SUMS_OF_TEAMS (ARE_SHARED_BY_TEAMS && !HAS_EXTREMES && IS_FLOAT)  // group_row_sums.cuh, group_row_pairs.cuh
#if IS_SHORT == 1 || (IS_SHORT >= 5 && !ARE_TALL_COLUMNS)
#define BIN_LANES (WIDTH < 64 ? 32 : HAS_PRODUCT_SUM ? WF_GROUP_LANES_OF_PRODUCTS : WF_GROUP_LANES_OF_VALUES)
#else
#define BIN_LANES 32
#endif
#define BIN_LANES_LOG2 (BIN_LANES == 32 ? 5 : BIN_LANES == 16 ? 4 : 3)

static_assert(BIN_LANES == 1 << BIN_LANES_LOG2, "as said");

// Limbs of a sum as a natural number, and of n times that.
#define GROUP_VALUE_LIMBS (LARGER(2 * GROUP_VALUE_ROWS, VALUE_DIGITS) + 4)
#define GROUP_PRODUCT_LIMBS (LARGER(2 * GROUP_PRODUCT_ROWS, PRODUCT_DIGITS) + 6)

// Adds a part of a sum to a word in global memory.
static __device__ __forceinline__ void publish_part(u64 *word, u64 part)
{
    if (part) atomicAdd(word, part);
}

#if IS_FLOAT

// Elements that a lane adds before its bins are normalised: 127 bits hold that many of the largest terms, of 53 or 24 + 24
// bits and shifted by up to 63.  Products of f64 are two terms.
#define GROUP_ADDITIONS (WIDTH == 64 ? 1000 : 30000)

typedef ulonglong2 group_bin; // x: the low half

typedef struct {
    group_bin *column; // the lane's: its rows are BIN_LANES bins apart
    int rows;
    int first, last;  // those that may be other than 0
    u32 additions;    // since the bins were normalised
    u64 carried;      // while it is being rounded: the word after the last row
} group_sum;

static __device__ __forceinline__ void sum_set_empty(group_sum *sum)
{
    sum->first = sum->rows;
    sum->last = -1;
    sum->additions = 0;
}

static __device__ __forceinline__ u32 column_of_lane(u32 lane)
{
    return BIN_LANES == 32 ? lane : lane % BIN_LANES;
}

static __device__ __forceinline__ void sum_open(group_sum *sum, char *bins, int rows)
{
    sum->column = (group_bin *)bins + column_of_lane(lane_number());
    sum->rows = rows;
    for (int row = 0; row < rows; row++) sum->column[BIN_LANES * row] = make_ulonglong2(0, 0);
    sum_set_empty(sum);
}

static __device__ __forceinline__ wf_i128 value_of_bin(group_bin bin)
{
    return (wf_i128)((wf_u128)bin.y << 64 | bin.x);
}

static __device__ __forceinline__ group_bin bin_of_value(wf_i128 value)
{
    return make_ulonglong2((u64)value, (u64)(value >> 64));
}

// Leaves each row 64 bits, and what they carry to the row after the last.  By value: what has an address is in no register.
static __device__ __noinline__ group_sum normalised(group_sum sum)
{
    wf_i128 carry = 0;
    int row = sum.first;
    for (; row <= sum.last && row < sum.rows - 1; row++) {
        carry += value_of_bin(sum.column[BIN_LANES * row]);
        sum.column[BIN_LANES * row] = make_ulonglong2((u64)carry, 0);
        carry >>= 64;
    }
    sum.additions = 0;
    if (carry == 0) return sum;
    sum.column[BIN_LANES * row] = bin_of_value(value_of_bin(sum.column[BIN_LANES * row]) + carry);
    sum.last = max(sum.last, row);
    return sum;
}

static __device__ __forceinline__ void sum_make_room(group_sum *sum)
{
    if (++sum->additions > GROUP_ADDITIONS) *sum = normalised(*sum);
}

// Adds integer * 2^position, whose lowest six bits count; the others are the bin's.
static __device__ __forceinline__ void add_to_bin(group_bin *bin, i64 integer, int position)
{
    u32 shift = position & 63;
    u64 low = (u64)integer << shift, high = (u64)(integer >> 1 >> (63 - shift));
    group_bin sum = *bin;
    asm("add.cc.u64 %0, %0, %2;\n\taddc.u64 %1, %1, %3;" : "+l"(sum.x), "+l"(sum.y) : "l"(low), "l"(high));
    *bin = sum;
}

// integer * 2^position
static __device__ __forceinline__ void sum_add_term(group_sum *sum, i64 integer, int position)
{
    int row = position >> 6;
    if (integer == 0) return;
    add_to_bin(sum->column + BIN_LANES * row, integer, position);
    sum->first = min(sum->first, row);
    sum->last = max(sum->last, row);
}

static __device__ __forceinline__ void sum_add(group_sum *sum, unit bits)
{
    int position;
    u64 significand = significand_of(bits, &position);
    sum_make_room(sum);
    sum_add_term(sum, with_sign(significand, HAS_SUM && is_negative(bits)), position);
}

static __device__ __forceinline__ void sum_add_product(group_sum *sum, unit a, unit b)
{
    int position, position_of_b;
    u64 factor = significand_of(a, &position), other = significand_of(b, &position_of_b), product = factor * other;
    bool negative = is_negative(a) != is_negative(b);
    position += position_of_b;
    sum_make_room(sum);
    if (WIDTH < 64) {
        sum_add_term(sum, with_sign(product, negative), position);
    } else {
        u64 low = product & (((u64)1 << 53) - 1), high = __umul64hi(factor, other) << 11 | product >> 53;
        sum_add_term(sum, with_sign(low, negative), position);
        sum_add_term(sum, with_sign(high, negative), position + 53);
    }
}

// Adds the columns of a team to that of its first lane.
static __device__ __forceinline__ void sum_merge(group_sum *sum, const team *lanes)
{
    group_bin *bins = sum->column - column_of_lane(lane_number());
    *sum = normalised(*sum);
    for (int step = 0; step < lanes->log2; step++) {
        sum->first = min(sum->first, __shfl_xor_sync(ALL_LANES, sum->first, team_delta(lanes, step)));
        sum->last = max(sum->last, __shfl_xor_sync(ALL_LANES, sum->last, team_delta(lanes, step)));
    }
    __syncwarp();
    for (int row = sum->first + (int)lanes->place; row <= sum->last; row += 1 << lanes->log2) {
        wf_i128 total = 0;
        for (u32 i = 0; i < 1u << lanes->log2; i++) {
            group_bin *bin = &bins[BIN_LANES * row + column_of_lane(team_lane(lanes, i))];
            total += value_of_bin(*bin);
            *bin = make_ulonglong2(0, 0);
        }
        bins[BIN_LANES * row + column_of_lane(team_lane(lanes, 0))] = bin_of_value(total);
    }
    __syncwarp();
    if (lanes->place) sum_set_empty(sum);
}

static __device__ __forceinline__ int sum_first_row(const group_sum *sum)
{
    return sum->first <= sum->last ? sum->first : 0;
}

// Takes the sum out of its bins, as a multiple of 2^(low + 64 * base); no row below base is other than 0.
static __device__ __forceinline__ void sum_take(group_sum *sum, int base, int low, struct wf_total *total)
{
    struct wf_big *big = &total->magnitude;
    wf_i128 carry = 0;
    int count = 0;
    for (int row = base; row <= sum->last; row++) {
        if (row >= sum->first) carry += value_of_bin(sum->column[BIN_LANES * row]);
        sum->column[BIN_LANES * row] = make_ulonglong2(0, 0);
        big->limb[count++] = (u32)carry;
        big->limb[count++] = (u32)(carry >> 32);
        carry >>= 64;
    }
    sum_set_empty(sum);
    total_set(total, count, carry, low + 64 * base);
}

// Takes the sum out of its bins and adds it to digits in global memory.
static __device__ __forceinline__ void sum_publish(group_sum *sum, u64 *digits)
{
    *sum = normalised(*sum);
    for (int row = sum->first; row <= sum->last; row++) {
        wf_i128 value = value_of_bin(sum->column[BIN_LANES * row]);
        sum->column[BIN_LANES * row] = make_ulonglong2(0, 0);
        publish_part(&digits[2 * row], (u32)value);
        publish_part(&digits[2 * row + 1], (u32)(value >> 32));
        publish_part(&digits[2 * row + 2], (u64)(value >> 64));
    }
    sum_set_empty(sum);
}

#else

typedef long_sum group_sum;

static __device__ __forceinline__ void sum_set_empty(group_sum *sum)
{
    sum->low = sum->middle = 0;
    sum->high = 0;
}

static __device__ __forceinline__ void sum_open(group_sum *sum, char *bins, int rows)
{
    (void)bins, (void)rows;
    sum_set_empty(sum);
}

static __device__ __forceinline__ i64 sign_of(u64 word)
{
    return IS_SIGNED ? (i64)word >> 63 : 0;
}

static __device__ __forceinline__ u64 extended(unit bits)
{
    return IS_SIGNED ? (u64)((i64)((u64)bits << (64 - WIDTH)) >> (64 - WIDTH)) : (u64)bits;
}

static __device__ __forceinline__ void sum_add(group_sum *sum, unit bits)
{
    u64 value = HAS_SUM ? extended(bits) : magnitude_of(bits);
    i64 sign = HAS_SUM ? sign_of(value) : 0;
    long_add(sum, value, (u64)sign, sign);
}

static __device__ __forceinline__ void sum_add_product(group_sum *sum, unit a, unit b)
{
    u64 factor = extended(a), other = extended(b), low = factor * other;
    u64 high = WIDTH < 64 ? (u64)sign_of(low) : IS_SIGNED ? (u64)__mul64hi((i64)factor, (i64)other) : __umul64hi(factor, other);
    long_add(sum, low, high, sign_of(high));
}

static __device__ __forceinline__ void sum_merge(group_sum *sum, const team *lanes)
{
    for (int step = 0; step < lanes->log2; step++) {
        u32 delta = team_delta(lanes, step);
        u64 low = from_other(sum->low, delta), middle = from_other(sum->middle, delta);
        long_add(sum, low, middle, (i64)from_other((u64)sum->high, delta));
    }
}

static __device__ __forceinline__ int sum_first_row(const group_sum *sum)
{
    (void)sum;
    return 0;
}

static __device__ __forceinline__ void sum_take(group_sum *sum, int base, int low, struct wf_total *total)
{
    struct wf_big *big = &total->magnitude;
    (void)base;
    big->limb[0] = (u32)sum->low;
    big->limb[1] = (u32)(sum->low >> 32);
    big->limb[2] = (u32)sum->middle;
    big->limb[3] = (u32)(sum->middle >> 32);
    total_set(total, 4, sum->high, low);
}

static __device__ __forceinline__ void sum_publish(group_sum *sum, u64 *digits)
{
    publish_part(&digits[0], (u32)sum->low);
    publish_part(&digits[1], sum->low >> 32);
    publish_part(&digits[2], (u32)sum->middle);
    publish_part(&digits[3], sum->middle >> 32);
    publish_part(&digits[4], (u64)sum->high);
}

#endif

#endif
