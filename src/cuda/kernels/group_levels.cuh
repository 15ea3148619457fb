// Levels of a lane: a few f64 to which the terms of a batch are added without error, if their bits lie within a window that
// the team's first batches have placed (kernels/levels.cuh).  What was added is carried to integers in registers now and
// then, and from these to the lane's bins.  Lanes whose windows are the same, and whose bins are empty, merge by adding
// these integers.

#ifndef GROUP_LEVELS_CUH
#define GROUP_LEVELS_CUH

#include "kernels/element.cuh"
#include "kernels/group_sums.cuh"
#include "kernels/parts.cuh"

#define USES_GROUP_LEVELS (IS_FLOAT && HAS_SUMS)

#if USES_GROUP_LEVELS

#define GROUP_LEVEL_BITS 44
#define GROUP_VALUE_LEVELS (IS_F16 ? 1 : WIDTH == 64 ? 3 : 2)
#define GROUP_PRODUCT_LEVELS (IS_F16 ? 2 : WIDTH == 64 ? 4 : 3)
#define GROUP_LEVELS (HAS_PRODUCT_SUM ? LARGER(GROUP_PRODUCT_LEVELS, GROUP_VALUE_LEVELS) : GROUP_VALUE_LEVELS)
#define GROUP_LEVEL_ADDITIONS 120 // of 2^44 units each, which leave a sum in the binade of its anchor, 1.5 * 2^52 units
#define GROUP_HELD_TERMS 480      // carried to integers, which are then below 2^53, as terms of f64 are

typedef struct {
    double sum[GROUP_LEVELS];
    i64 units[GROUP_LEVELS]; // carried from each
    int top;      // all terms are below 2^top
} group_levels;

typedef struct {
    group_levels values, products;
    u32 terms, held;     // in the levels' sums, and carried to their units
    int high[2], low[2]; // the exponent fields of the operands that the window holds; -1: it is not placed
} group_window;

static __device__ __forceinline__ int level_unit(const group_levels *levels, int level)
{
    return levels->top - (level + 1) * GROUP_LEVEL_BITS;
}

static __device__ __forceinline__ double level_anchor(const group_levels *levels, int level)
{
    return __hiloint2double((level_unit(levels, level) + 52 + 1023) << 20 | 0x80000, 0);
}

static __device__ __forceinline__ void levels_place(group_levels *levels, int top, int count)
{
    levels->top = top;
#pragma unroll
    for (int i = 0; i < count; i++) {
        levels->sum[i] = level_anchor(levels, i);
        levels->units[i] = 0;
    }
}

// Adds a term to levels `from` to `count` - 1.  It is too small for those above.
static __device__ __forceinline__ void levels_add_term(group_levels *levels, double term, int from, int count)
{
#pragma unroll
    for (int i = from; i < count - 1; i++) {
        double sum = __dadd_rn(levels->sum[i], term), taken = __dsub_rn(sum, levels->sum[i]);
        levels->sum[i] = sum;
        term = __dsub_rn(term, taken);
    }
    levels->sum[count - 1] = __dadd_rn(levels->sum[count - 1], term);
}

// A product of f64 is two terms, the second of which is below 2^-9 units of the first level.
static __device__ __forceinline__ void levels_add_product(group_levels *levels, double x, double y)
{
    double product = __dmul_rn(x, y);
    levels_add_term(levels, product, 0, GROUP_PRODUCT_LEVELS);
    if (WIDTH == 64) levels_add_term(levels, __fma_rn(x, y, -product), 1, GROUP_PRODUCT_LEVELS);
}

static __device__ __forceinline__ void levels_carry(group_levels *levels, int count)
{
#pragma unroll
    for (int i = 0; i < count; i++) {
        double anchor = level_anchor(levels, i);
        levels->units[i] += __double_as_longlong(levels->sum[i]) - __double_as_longlong(anchor);
        levels->sum[i] = anchor;
    }
}

// low: the exponent of the bins' unit.  Below that, what was added has no bits.
static __device__ __forceinline__ void levels_drain(group_levels *levels, int count, int low, group_sum *sum)
{
    sum_make_room(sum);
#pragma unroll
    for (int i = 0; i < count; i++) {
        int position = level_unit(levels, i) - low;
        sum_add_term(sum, levels->units[i] >> min(max(-position, 0), 63), max(position, 0));
        levels->units[i] = 0;
    }
}

// ---- the window

static __device__ __forceinline__ void window_clear(group_window *window)
{
#pragma unroll
    for (int i = 0; i < GROUP_LEVELS; i++) window->values.units[i] = window->products.units[i] = 0;
    window->terms = window->held = 0;
    window->high[0] = window->high[1] = -1;
}

static __device__ __forceinline__ void window_carry(group_window *window)
{
    if (window->terms == 0) return;
    if (HAS_VALUE_SUM) levels_carry(&window->values, GROUP_VALUE_LEVELS);
    if (HAS_PRODUCT_SUM) levels_carry(&window->products, GROUP_PRODUCT_LEVELS);
    window->held += window->terms;
    window->terms = 0;
}

// Once all has been carried.
static __device__ __forceinline__ void window_drain(group_window *window, group_sum *sum, group_sum *product_sum)
{
    if (window->held == 0) return;
    if (HAS_VALUE_SUM) levels_drain(&window->values, GROUP_VALUE_LEVELS, VALUE_LOW, sum);
    if (HAS_PRODUCT_SUM) levels_drain(&window->products, GROUP_PRODUCT_LEVELS, 2 * VALUE_LOW, product_sum);
    window->held = 0;
}

// The exponent fields that the given number of levels below 2^top hold, as a sum over the operands of a term.
static __device__ __forceinline__ int lowest_field(int top, int levels, int operands)
{
    return top - levels * GROUP_LEVEL_BITS + operands * (BIAS + FRACTION_BITS);
}

#define FIELD_MARGIN 4 // binades above the largest element of the first batches

// What fields to place a window for, where the largest is known of some elements.
static __device__ __forceinline__ int with_margin(int field)
{
    return min(field + FIELD_MARGIN, 2 * BIAS);
}

static __device__ __forceinline__ int halved(int field)
{
    return (field + 1) >> 1;
}

#define TOP_OF_FIELD(field) ((field) - BIAS + 1)

// Places the empty levels so that they hold elements with exponent fields up to these.
static __device__ __forceinline__ void window_place(group_window *window, int high_x, int high_y)
{
    window->high[0] = high_x;
    window->high[1] = high_y;
    if (HAS_VALUE_SUM) levels_place(&window->values, TOP_OF_FIELD(high_x), GROUP_VALUE_LEVELS);
    if (HAS_PRODUCT_SUM)
        levels_place(&window->products, TOP_OF_FIELD(high_x) + TOP_OF_FIELD(high_y), GROUP_PRODUCT_LEVELS);
    int both = lowest_field(TOP_OF_FIELD(high_x) + TOP_OF_FIELD(high_y), GROUP_PRODUCT_LEVELS, 2);
    int room = (high_x + high_y - both) >> 1; // below each of a pair's operands
    window->low[0] = HAS_VALUE_SUM ? max(lowest_field(TOP_OF_FIELD(high_x), GROUP_VALUE_LEVELS, 1), 1) : 1;
    if (HAS_PRODUCT_SUM) window->low[0] = max(window->low[0], OPERANDS == 1 ? halved(both) : high_x - room);
    window->low[1] = max(both - window->low[0], 1);
}

// Whether f64 levels for such fields are all normal numbers, and their sums and what products leave, too.
static __device__ __forceinline__ bool can_place(int high_x, int high_y)
{
    int top = TOP_OF_FIELD(high_x) + TOP_OF_FIELD(high_y);
    return WIDTH < 64 || (high_x > 300 && high_x < 1900 && (!HAS_PRODUCT_SUM || (top > -700 && top < 900)));
}

// ---- merging

static __device__ __forceinline__ bool is_bins_empty(const group_sum *sum)
{
    return sum->first > sum->last;
}

static __device__ __forceinline__ void levels_merge(group_levels *levels, int count, u32 delta)
{
#pragma unroll
    for (int i = 0; i < count; i++) levels->units[i] += (i64)from_other((u64)levels->units[i], delta);
}

// Where a lane's window is, if something is in it.
static __device__ __forceinline__ int window_where(const group_window *window)
{
    return window->held ? window->high[0] << 16 | window->high[1] : -1;
}

// Whether all windows of each team are at the same place, or empty; in the warp as a whole.
static __device__ __forceinline__ bool are_windows_alike(const group_window *window, const team *lanes)
{
    int where = window_where(window);
    for (int step = 0; step < lanes->log2; step++)
        where = max(where, __shfl_xor_sync(ALL_LANES, where, team_delta(lanes, step)));
    return __all_sync(ALL_LANES, window->held == 0 || window_where(window) == where);
}

// An empty window joins that of its team.  By all lanes, whose windows are alike.
static __device__ __forceinline__ void windows_merge(group_window *window, const team *lanes)
{
    for (int step = 0; step < lanes->log2; step++) {
        u32 delta = team_delta(lanes, step), held = __shfl_xor_sync(ALL_LANES, window->held, delta);
        int high_x = __shfl_xor_sync(ALL_LANES, window->high[0], delta);
        int high_y = __shfl_xor_sync(ALL_LANES, window->high[1], delta);
        if (window->held == 0 && held) window_place(window, high_x, high_y);
        window->held += held;
        if (HAS_VALUE_SUM) levels_merge(&window->values, GROUP_VALUE_LEVELS, delta);
        if (HAS_PRODUCT_SUM) levels_merge(&window->products, GROUP_PRODUCT_LEVELS, delta);
    }
}

// What levels hold, as one integer of 192 bits, lowest word first, in units of the last level.
typedef struct {
    u64 word[3];
    int exponent;
} level_total;

static __device__ __forceinline__ void total_add(level_total *total, u64 low, u64 middle, u64 high)
{
    wf_u128 sum = ((wf_u128)total->word[1] << 64 | total->word[0]) + low, upper = (wf_u128)middle << 64;
    u64 carry = 0; // out of 128 bits
    if (sum < low) carry++;
    sum += upper;
    if (sum < upper) carry++;
    total->word[0] = (u64)sum;
    total->word[1] = (u64)(sum >> 64);
    total->word[2] += high + carry;
}

// integer * 2^shift, of which 192 bits are kept.
static __device__ __forceinline__ void total_add_shifted(level_total *total, i64 integer, int shift)
{
    int within = shift % 64;
    u64 low = (u64)integer << within, high = (u64)(integer >> 1 >> (63 - within)), sign = (u64)(integer >> 63);
    if (shift < 64)
        total_add(total, low, high, sign);
    else if (shift < 128)
        total_add(total, 0, low, high);
    else
        total->word[2] += low;
}

static __device__ __forceinline__ level_total total_of_levels(const group_levels *levels, int count)
{
    level_total total = {{0, 0, 0}, level_unit(levels, count - 1)};
#pragma unroll
    for (int i = 0; i < count; i++) total_add_shifted(&total, levels->units[i], (count - 1 - i) * GROUP_LEVEL_BITS);
    return total;
}

#endif

#endif
