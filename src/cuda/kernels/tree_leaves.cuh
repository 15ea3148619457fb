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
#define ARE_LEAVES_WIDE (!IS_FLOAT && WIDTH == 64) // more than an f64's bits

typedef struct {
    double hi[LEAVES], lo[LEAVES];
} significands;

static __device__ __forceinline__ u32 field_of(unit bits)
{
    return (u32)(bits >> FRACTION_BITS) & FIELD_MAX;
}

static __device__ __forceinline__ void multiply_leaves(double *hi, double *lo, double other_hi, double other_lo)
{
    double p = __dmul_rn(*hi, other_hi), error = __fma_rn(*hi, other_hi, -p);
    if (!ARE_LEAVES_WIDE) { // p is the sum of both already
        *hi = p;
        *lo = error;
        return;
    }
    error = __dadd_rn(error, __dadd_rn(__dmul_rn(*hi, other_lo), __dmul_rn(*lo, other_hi)));
    *hi = __dadd_rn(p, error);
    *lo = __dsub_rn(error, __dsub_rn(*hi, p));
}

static __device__ __forceinline__ void multiply_nodes(double *hi, double *lo, double other_hi, double other_lo)
{
    double p = __dmul_rn(*hi, other_hi), cross = __dadd_rn(__dmul_rn(*hi, other_lo), __dmul_rn(*lo, other_hi));
    double error = __dadd_rn(__fma_rn(*hi, other_hi, -p), cross);
    *hi = __dadd_rn(p, error);
    *lo = __dsub_rn(error, __dsub_rn(*hi, p));
}

// The product of all leaves; exponent: the sum of theirs.
static __device__ __forceinline__ struct wf_factor multiply_all(significands *s, i64 exponent)
{
#pragma unroll
    for (int apart = 1; apart < LEAVES; apart *= 2) {
#pragma unroll
        for (int k = 0; k < LEAVES; k += 2 * apart)
            if (apart == 1)
                multiply_leaves(&s->hi[k], &s->lo[k], s->hi[k + 1], s->lo[k + 1]);
            else
                multiply_nodes(&s->hi[k], &s->lo[k], s->hi[k + apart], s->lo[k + apart]);
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

// Leaves that are all ordinary floats, neither zero, subnormal, infinite nor NaN; false if they are not.
static __device__ __forceinline__ bool multiply_ordinary(const unit bits[LEAVES], tree_notes *notes, struct wf_factor *factor)
{
    significands s;
    unit signs = 0;
    u32 fields = 0;
    bool is_ordinary = true;
#pragma unroll
    for (int k = 0; k < LEAVES; k++) {
        u32 field = field_of(bits[k]);
        is_ordinary = is_ordinary && field - 1 < FIELD_MAX - 1;
        fields += field;
        signs ^= bits[k];
        s.hi[k] = significand_at_one(bits[k]);
        s.lo[k] = 0;
    }
    if (!is_ordinary) return false;
    *factor = multiply_all(&s, (i64)fields - LEAVES * BIAS);
    if (signs & SIGN_BIT) notes->flags ^= WF_PRODUCT_NEGATIVE;
    return true;
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
