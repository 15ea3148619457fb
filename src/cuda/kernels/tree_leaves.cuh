// The eight leaves of a product's tree that a thread has, and the node above them (core/product.h).
//
// Significands are multiplied as wf_factor_multiply does, but powers of 2, which pass through its operations unchanged, stay
// where they are up to that node: so the bits are the same.

#ifndef TREE_LEAVES_CUH
#define TREE_LEAVES_CUH

#include "tree_arguments.h"
#include "kernels/element.cuh"

#define LEAVES (1 << WF_TREE_LEAVES_LOG2)
#define FIELD_MAX ((1u << EXPONENT_BITS) - 1)
#define LEAF_BITS (IS_FLOAT ? FRACTION_BITS + 1 : WIDTH)

typedef struct {
    double hi[LEAVES], lo[LEAVES];
} significands;

static __device__ __forceinline__ u32 field_of(unit bits)
{
    return (u32)(bits >> FRACTION_BITS) & FIELD_MAX;
}

// Of operands that are f64 alone.
static __device__ __forceinline__ void multiply_singles(double *hi, double *lo, double other_hi)
{
    double p = __dmul_rn(*hi, other_hi);
    *lo = __fma_rn(*hi, other_hi, -p);
    *hi = p;
}

static __device__ __forceinline__ void multiply_nodes(double *hi, double *lo, double other_hi, double other_lo)
{
    double p = __dmul_rn(*hi, other_hi), cross = __dadd_rn(__dmul_rn(*hi, other_lo), __dmul_rn(*lo, other_hi));
    double error = __dadd_rn(__fma_rn(*hi, other_hi, -p), cross);
    *hi = __dadd_rn(p, error);
    *lo = __dsub_rn(error, __dsub_rn(*hi, p));
}

// Of nodes that are products of that many leaves each: as multiply_nodes, without what is surely 0.
static __device__ __forceinline__ void multiply_products(significands *s, int leaves, int a, int b)
{
    if (2 * leaves * LEAF_BITS <= 53)
        s->hi[a] = __dmul_rn(s->hi[a], s->hi[b]);
    else if (leaves * LEAF_BITS <= 53)
        multiply_singles(&s->hi[a], &s->lo[a], s->hi[b]);
    else
        multiply_nodes(&s->hi[a], &s->lo[a], s->hi[b], s->lo[b]);
}

// The product of all leaves; exponent: the sum of theirs.
static __device__ __forceinline__ struct wf_factor multiply_all(significands *s, i64 exponent)
{
#pragma unroll
    for (int apart = 1; apart < LEAVES; apart *= 2) {
#pragma unroll
        for (int k = 0; k < LEAVES; k += 2 * apart) multiply_products(s, apart, k, k + apart);
    }
    u64 bits = (u64)__double_as_longlong(s->hi[0]);
    int binade = (int)(bits >> 52) - 1023;
    double scale = __longlong_as_double((i64)((u64)(1023 - binade) << 52));
    struct wf_factor factor = {__dmul_rn(s->hi[0], scale), __dmul_rn(s->lo[0], scale), exponent + binade};
    return factor;
}

// ---- elements

// What a lane has found besides factors.
typedef struct {
    u32 flags; // enum wf_product_flag
    u64 nan_count, first_nan;
} tree_notes;

static __device__ __forceinline__ void note_flags(tree_notes *notes, u32 flags)
{
    u32 negative = (notes->flags ^ flags) & WF_PRODUCT_NEGATIVE;
    notes->flags = ((notes->flags | flags) & ~(u32)WF_PRODUCT_NEGATIVE) | negative;
}

static __device__ __forceinline__ void note_nans(tree_notes *notes, u64 count, u64 first)
{
    notes->nan_count += count;
    notes->first_nan = min(notes->first_nan, first);
}

#if IS_FLOAT

static __device__ __forceinline__ double significand_at_one(unit bits)
{
    u64 fraction = (u64)bits & (((u64)1 << FRACTION_BITS) - 1);
    return __longlong_as_double((i64)(fraction << (52 - FRACTION_BITS) | (u64)1023 << 52));
}

static __device__ __forceinline__ struct wf_factor multiply_ordinary(const unit bits[LEAVES])
{
    significands s;
    u32 fields = 0;
#pragma unroll
    for (int k = 0; k < LEAVES; k++) {
        fields += field_of(bits[k]);
        s.hi[k] = significand_at_one(bits[k]);
        s.lo[k] = 0;
    }
    return multiply_all(&s, (i64)fields - LEAVES * BIAS);
}

// As leaf_of, without branches: every other element of some data is like this.
static __device__ __forceinline__ struct wf_factor multiply_unusual(const unit bits[LEAVES], i64 index, tree_notes *notes)
{
    significands s;
    i64 exponent = 0;
#pragma unroll
    for (int k = 0; k < LEAVES; k++) {
        u32 field = field_of(bits[k]);
        u64 fraction = (u64)bits[k] & (((u64)1 << FRACTION_BITS) - 1);
        bool is_least = field == 0, is_most = field == FIELD_MAX, is_none = is_most || (is_least && !fraction);
        u64 subnormal = (u64)__double_as_longlong((double)(i64)fraction);
        u64 significand = is_least ? subnormal : fraction << (52 - FRACTION_BITS);
        s.hi[k] = is_none ? 1 : __longlong_as_double((i64)((significand & (((u64)1 << 52) - 1)) | (u64)1023 << 52));
        s.lo[k] = 0;
        exponent += is_none ? 0 : is_least ? (int)(subnormal >> 52) - 1023 + LOW_EXPONENT : (int)field - BIAS;
        bool nan = is_most && fraction;
        notes->flags |= (u32)(is_most && !nan ? WF_PRODUCT_INFINITY : 0) | (u32)(is_none && is_least ? WF_PRODUCT_ZERO : 0);
        notes->flags ^= (u32)(!nan && bits[k] & SIGN_BIT ? WF_PRODUCT_NEGATIVE : 0);
        notes->nan_count += nan;
        if (nan) notes->first_nan = min(notes->first_nan, (u64)(index + k));
    }
    return multiply_all(&s, exponent);
}

static __device__ __forceinline__ struct wf_factor multiply_floats(const unit bits[LEAVES], i64 index, tree_notes *notes)
{
    unit signs = 0;
    bool is_ordinary = true; // neither zero, subnormal, infinite nor NaN
#pragma unroll
    for (int k = 0; k < LEAVES; k++) {
        is_ordinary = is_ordinary && field_of(bits[k]) - 1 < FIELD_MAX - 1;
        signs ^= bits[k];
    }
    if (!is_ordinary) return multiply_unusual(bits, index, notes);
    if (signs & SIGN_BIT) notes->flags ^= WF_PRODUCT_NEGATIVE;
    return multiply_ordinary(bits);
}

#endif

static __device__ __forceinline__ u64 magnitude_of(unit bits)
{
    if (!IS_FLOAT) return IS_SIGNED && bits & SIGN_BIT ? (u64)(unit)(0 - bits) : (u64)bits;
    return ((u64)bits & (((u64)1 << FRACTION_BITS) - 1)) | (u64)(field_of(bits) != 0) << FRACTION_BITS;
}

// The factor of an element; what is no factor is noted, and counts as one.
static __device__ __forceinline__ struct wf_factor leaf_of(unit bits, i64 index, tree_notes *notes)
{
    struct wf_factor factor = {1, 0, 0};
    if (is_nan(bits)) {
        note_nans(notes, 1, (u64)index);
        return factor;
    }
    if (is_negative(bits)) notes->flags ^= WF_PRODUCT_NEGATIVE;
    if (is_infinite(bits)) notes->flags |= WF_PRODUCT_INFINITY;
    if (!is_nonzero(bits)) notes->flags |= WF_PRODUCT_ZERO;
    if (is_infinite(bits) || !is_nonzero(bits)) return factor;
    factor = wf_factor_of_u64(magnitude_of(bits));
    if (IS_FLOAT) factor.exponent += (i64)max(field_of(bits), 1u) - 1 + LOW_EXPONENT;
    return factor;
}

#endif
