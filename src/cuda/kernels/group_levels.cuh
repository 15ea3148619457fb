// Levels of a lane: a few f64 to which the terms of a batch are added without error, if their bits lie within a window that
// the first batch has placed (kernels/levels.cuh).  What was added goes to the lane's bins now and then.

#ifndef GROUP_LEVELS_CUH
#define GROUP_LEVELS_CUH

#include "kernels/element.cuh"
#include "kernels/group_sums.cuh"
#include "kernels/parts.cuh"

// Products of f64 are two terms each, and are added to bins.
#define USES_GROUP_LEVELS (IS_FLOAT && HAS_SUMS && !(WIDTH == 64 && HAS_PRODUCT_SUM))

#if USES_GROUP_LEVELS

#define GROUP_LEVEL_BITS 44
#define GROUP_VALUE_LEVELS (IS_F16 ? 1 : WIDTH == 64 ? 3 : 2)
#define GROUP_PRODUCT_LEVELS (IS_F16 ? 2 : 3)
#define GROUP_LEVEL_ADDITIONS 120 // of 2^44 units each, which leave a sum in the binade of its anchor, 1.5 * 2^52 units

typedef struct {
    double sum[3];
    int top; // all terms are below 2^top
} group_levels;

typedef struct {
    group_levels values, products;
    u32 terms;           // that have been added to each
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
    for (int i = 0; i < count; i++) levels->sum[i] = level_anchor(levels, i);
}

static __device__ __forceinline__ void levels_add_term(group_levels *levels, double term, int count)
{
#pragma unroll
    for (int i = 0; i < count - 1; i++) {
        double sum = __dadd_rn(levels->sum[i], term), taken = __dsub_rn(sum, levels->sum[i]);
        levels->sum[i] = sum;
        term = __dsub_rn(term, taken);
    }
    levels->sum[count - 1] = __dadd_rn(levels->sum[count - 1], term);
}

// low: the exponent of the bins' unit.  Below that, what was added has no bits.
static __device__ __forceinline__ void levels_drain(group_levels *levels, int count, int low, group_sum *sum)
{
    sum_make_room(sum);
#pragma unroll
    for (int i = 0; i < count; i++) {
        double anchor = level_anchor(levels, i);
        i64 units = __double_as_longlong(levels->sum[i]) - __double_as_longlong(anchor);
        int position = level_unit(levels, i) - low;
        if (position < 0) units >>= min(-position, 63);
        sum_add_term(sum, units, max(position, 0));
        levels->sum[i] = anchor;
    }
}

// ---- the window

static __device__ __forceinline__ void window_clear(group_window *window)
{
    window->terms = 0;
    window->high[0] = window->high[1] = -1;
}

static __device__ __forceinline__ void window_drain(group_window *window, group_sum *sum, group_sum *product_sum)
{
    if (window->terms == 0) return;
    if (HAS_VALUE_SUM) levels_drain(&window->values, GROUP_VALUE_LEVELS, VALUE_LOW, sum);
    if (HAS_PRODUCT_SUM) levels_drain(&window->products, GROUP_PRODUCT_LEVELS, 2 * VALUE_LOW, product_sum);
    window->terms = 0;
}

// The exponent fields that so many levels below 2^top hold, as a sum over the operands of a term.
static __device__ __forceinline__ int lowest_field(int top, int levels, int operands)
{
    return top - levels * GROUP_LEVEL_BITS + operands * (BIAS + FRACTION_BITS);
}

static __device__ __forceinline__ int halved(int field)
{
    return (field + 1) >> 1;
}

#define TOP_OF_FIELD(field) ((field) - BIAS + 1)
#define FIELD_MARGIN 2 // binades above the first batch's largest element

// Places the empty levels so that they hold elements with exponent fields up to these.  Of pairs, both operands have the
// same room below.
static __device__ __forceinline__ void window_place(group_window *window, int high_x, int high_y)
{
    int low = 1;
    high_x = min(high_x + FIELD_MARGIN, 2 * BIAS);
    high_y = min(high_y + FIELD_MARGIN, 2 * BIAS);
    window->high[0] = high_x;
    window->high[1] = high_y;
    if (HAS_VALUE_SUM) {
        levels_place(&window->values, TOP_OF_FIELD(high_x), GROUP_VALUE_LEVELS);
        low = max(low, lowest_field(TOP_OF_FIELD(high_x), GROUP_VALUE_LEVELS, 1));
    }
    window->low[0] = window->low[1] = low;
    if (!HAS_PRODUCT_SUM) return;
    int top = TOP_OF_FIELD(high_x) + TOP_OF_FIELD(high_y), both = lowest_field(top, GROUP_PRODUCT_LEVELS, 2);
    levels_place(&window->products, top, GROUP_PRODUCT_LEVELS);
    if (OPERANDS == 1) {
        window->low[0] = max(low, halved(both));
    } else {
        int room = (high_x + high_y - both) >> 1;
        window->low[0] = max(high_x - room, 1);
        window->low[1] = max(both - window->low[0], 1);
    }
}

// Whether f64 levels of that top are all normal numbers, and their sums too.
static __device__ __forceinline__ bool can_place(int high)
{
    return WIDTH < 64 || (high > 300 && high < 1900);
}

#endif

#endif
