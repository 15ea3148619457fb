/* Sums of a few floats in each lane: what is added up, and how it is rounded.  See few_rows.h. */
#ifndef WF_CPU_LOOPS_FEW_SUMS_H
#define WF_CPU_LOOPS_FEW_SUMS_H

#include "cpu/loops/float_bits.h"
#include "cpu/loops/two_sum.h"

/* What has been added up of LANES columns. */
struct few_sums {
    struct pair value, square;
    vf64 bound; /* of what value lacks; 0: it is exact */
    vi64 lost;  /* not all bits 0: the lane has failed */
};

/* ---- rounding ---- */

INLINE vf64 two_to(int exponent) {
    return (vf64)((vi64){0} + ((int64_t)(exponent + 1023) << 52));
}

INLINE vf64 select_f64(vi64 mask, vf64 a, vf64 b) {
    return (vf64)(((vi64)a & mask) | ((vi64)b & ~mask));
}

/* Rounds f64 to a type shorter than f32, for which the processor has no instruction. */
INLINE vf64 round_to_short(vf64 x) {
    const int shift = IS_F64 ? 1 : 53 - PRECISION;
    vu64 bits = (vu64)x, sign = bits & (uint64_t)INT64_MIN;
    vf64 magnitude = (vf64)(bits & INT64_MAX), anchor = 1.5 * two_to(52 + LOW_EXPONENT);
    vf64 subnormal = (vf64)((vu64)((magnitude + anchor) - anchor) | sign);
    bits += ((UINT64_C(1) << (shift - 1)) - 1) + (bits >> shift & 1);
    vi64 normal = (vi64)(bits & ~((UINT64_C(1) << shift) - 1));
    vi64 is_normal = (vi64)(magnitude >= two_to(1 - BIAS));
    vi64 is_large = (vi64)(magnitude >= (2 - two_to(-PRECISION)) * two_to(BIAS));
    vf64 infinite = (vf64)((vi64)sign | 0x7ffLL << 52);
    return select_f64(is_large, infinite, (vf64)((normal & is_normal) | ((vi64)subnormal & ~is_normal)));
}

/* Rounds numbers to elements, which stay f64.  Those that are too large for an element become infinite. */
INLINE vf64 round_to_element(vf64 x) {
    if (IS_F64) return x;
    if (ELEMENT != ELEMENT_F32) return round_to_short(x);
    return f64_of_f32(__builtin_convertvector(x, vf32));
}

typedef uword vshort __attribute__((vector_size(LANES * sizeof(uword))));

/* Stores elements, which are exact as f64; f32 are rounded to them, without a flag. */
INLINE void store_elements(storage *results, vf64 x) {
    if (IS_F64) {
        memcpy(results, &x, sizeof x);
    } else if (ELEMENT == ELEMENT_F32) {
        vf32 single = quiet_f32_of(x);
        memcpy(results, &single, sizeof single);
    } else {
        /* An f32 whose exponent field is the element's. */
        const int shift = IS_F64 ? 1 : 24 - PRECISION;
        vf32 scaled = __builtin_convertvector(x * two_to(BIAS - 127), vf32);
        vu32 bits = (vu32)scaled, sign = bits >> 31 << (8 * sizeof(uword) - 1) % 32;
        vshort found = __builtin_convertvector((bits << 1 >> (1 + shift) & (uint32_t)MAGNITUDE) | sign, vshort);
        memcpy(results, &found, sizeof found);
    }
}

INLINE vf64 magnitude_of_f64(vf64 x) {
    return (vf64)((vi64)x & INT64_MAX);
}

/* All bits 0 where everything between two numbers is rounded to the same element. */
INLINE vi64 differ(vf64 a, vf64 b) {
    return ~(vi64)(round_to_element(a) == round_to_element(b));
}

/* ---- results ---- */

/* The sum: where it is not exact, a lane fails unless all that it may be is rounded alike. */
INLINE vf64 rounded_sum(struct few_sums *sums) {
    struct pair sum = two_sum(sums->value.high, sums->value.low);
    vi64 is_inexact = (vi64)(sums->bound != 0);
    vf64 bound = sums->bound * (1 + 0x1p-40), high = sum_of_pair(sums->value);
    sums->lost |= ~(vi64)(magnitude_of_f64(high) > bound) & is_inexact; /* the sign is not known */
    if (!IS_F64) {
        vf64 width = magnitude_of_f64(sum.high) * 0x1p-51 + bound;
        sums->lost |= differ(sum.high - width, sum.high + width) & is_inexact;
        return round_to_odd(high, sum.low);
    }
    vf64 width = magnitude_of_f64(sum.low) * 0x1p-51 + bound;
    sums->lost |= ~(vi64)(sum.high + (sum.low - width) == sum.high + (sum.low + width)) & is_inexact;
    return high;
}

/* ---- quotients and variances ---- */

/* The means of sums that may be inexact: a lane fails there unless all that it may be is rounded alike. */
INLINE vf64 mean_within(struct few_sums *sums, const struct lane_quotient *asked) {
    vf64 n = asked->divisor;
    struct pair mean = quotient_of(two_sum(sums->value.high, sums->value.low), n);
    vf64 width = sums->bound * (1 + 0x1p-40) / n + magnitude_of_f64(mean.high) * 0x1p-97;
    sums->lost |= ~(vi64)(magnitude_of_f64(mean.high) >= 0x1p-900);
    if (!IS_F64) {
        width += magnitude_of_f64(mean.high) * 0x1p-51;
        sums->lost |= ~(vi64)(magnitude_of_f64(mean.high) > width); /* the sign is not known */
        sums->lost |= differ(mean.high - width, mean.high + width);
        return mean.high;
    }
    sums->lost |= ~(vi64)(mean.high + (mean.low - width) == mean.high + (mean.low + width));
    return mean.high + mean.low;
}

INLINE vf64 mean_of(struct few_sums *sums, const struct lane_quotient *asked) {
    vf64 n = asked->divisor, sum = sums->value.high, quotient = sum / n;
    if (IS_F64 && any_lane_set((vi64)(sums->bound != 0))) return mean_within(sums, asked);
    if (IS_F64) return mean_of_pair(&sums->lost, sums->value, n, asked->is_power);
    return round_to_odd(quotient, fused(-quotient, n, sum));
}

/* n*S2 is at least as large as S1^2, and what is added up of it loses less than N^2 * 2^-103 of it, where N is n and what lanes
 * are added up by; S1 has lost as little of the sum of magnitudes, whose square is at most n*S2.  That of one element is
 * 0, as are norms of zeros: these have the sums of magnitudes. */
INLINE vf64 variance_of(struct few_sums *sums, const struct lane_quotient *asked) {
    const vi64 is_zero = asked->is_norm ? (vi64)(sums->value.high == 0) : (vi64)(asked->count == 1);
    const vf64 additions = asked->count + 2 * LANES;
    vf64 bound = sums->square.high * (additions * additions * 0x1p-102);
    if (!asked->is_norm) bound *= asked->count;
    sums->lost = ~(vi64)(bound > 0x1p-900); /* what subnormal products lack is far below that */
    struct pair found = variance_of_pairs(sums->value, sums->square, asked, &bound);
    sums->lost = (sums->lost | ~(vi64)(found.high > 0)) & ~is_zero;
    found.high = (vf64)(((vi64)(sums->value.high - sums->value.high) & is_zero) | ((vi64)found.high & ~is_zero));
    found.low = (vf64)((vi64)found.low & ~is_zero);
    bound = (vf64)((vi64)bound & ~is_zero);
    if (!IS_F64) {
        vf64 width = found.high * 0x1p-51 + bound;
        sums->lost |= differ(found.high - width, found.high + width);
        return found.high;
    }
    sums->lost |= ~(vi64)(found.high + (found.low - bound) == found.high + (found.low + bound));
    return found.high;
}

/* ---- products ---- */

/* Adds what a sum or a product has lost to the lower part, and what that loses to the bound. */
INLINE void add_lost(struct few_sums *sums, vf64 lost) {
    struct pair low = two_sum(sums->value.low, lost);
    sums->value.low = low.high;
    sums->bound += magnitude_of_f64(low.low);
}

/* The product of two elements.  That of f64 has an error, which might not be an f64 where the product is small. */
INLINE struct pair few_product(struct few_sums *sums, vf64 x, vf64 y) {
    if (!IS_F64) return (struct pair){x * y, {0}};
    struct pair product = two_product(x, y);
    vi64 is_small = (vi64)(magnitude_of_f64(product.high) < 0x1p-900);
    sums->lost |= is_small & (vi64)(x != 0) & (vi64)(y != 0);
    return product;
}

INLINE void add_few_product(struct few_sums *sums, vf64 x, vf64 y) {
    struct pair product = few_product(sums, x, y), sum = two_sum(sums->value.high, product.high);
    sums->value.high = sum.high;
    add_lost(sums, sum.low);
    if (IS_F64) add_lost(sums, product.low);
}

/* ---- products with a bound that is known beforehand ---- */

/* Products added up as f64, of f64 with what is lost (Ogita, Rump and Oishi, "Accurate sum and dot product", 2005), and
 * their magnitudes: of n terms a sum lacks less than n * 2^-52 of these, with what was lost n^2 * 2^-104; what subnormals
 * lack is far below that.  All but one in many results are so known to be rounded right. */
struct quick_sums {
    vf64 sum, lost, magnitude;
};

INLINE void add_quick_product(struct quick_sums *sums, vf64 x, vf64 y) {
    vf64 product = x * y;
    sums->magnitude += magnitude_of_f64(product);
    if (!IS_F64) {
        sums->sum += product;
        return;
    }
    struct pair sum = two_sum(sums->sum, product);
    sums->sum = sum.high;
    sums->lost += sum.low + product_error(x, y, product);
}

INLINE struct quick_sums join_quick(const struct quick_sums *a, const struct quick_sums *b) {
    if (!IS_F64) return (struct quick_sums){a->sum + b->sum, {0}, a->magnitude + b->magnitude};
    struct pair sum = two_sum(a->sum, b->sum);
    return (struct quick_sums){sum.high, a->lost + b->lost + sum.low, a->magnitude + b->magnitude};
}

/* The sum of that many products rounded to an element, which stays f64.  *lost: lanes, not all bits 0, in which it is not
 * known, or is 0, infinite or NaN. */
INLINE vf64 rounded_quick(vi64 *lost, const struct quick_sums *sums, size_t count) {
    const double least = 0x1p-900, terms = (double)(count + 2 * LANES);
    struct pair sum = {sums->sum, {0}};
    if (IS_F64) sum = two_sum(sums->sum, sums->lost);
    vf64 width = sums->magnitude * (IS_F64 ? terms * terms * 0x1p-104 : terms * 0x1p-52), found = round_to_element(sum.high);
    *lost = ~((vi64)(sums->magnitude >= least) & (vi64)(magnitude_of_f64(sum.high) > width)) | (vi64)(found - found);
    if (!IS_F64) {
        *lost |= differ(sum.high - width, sum.high + width);
        return found;
    }
    width += magnitude_of_f64(sum.low) * 0x1p-51;
    *lost |= ~(vi64)(sum.high + (sum.low - width) == sum.high + (sum.low + width));
    return found;
}

#endif
