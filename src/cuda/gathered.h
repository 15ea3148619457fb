/* What a kernel gathers of a reduction, as it lies in device memory: the accumulator's parts, in C and in CUDA C.
 *
 * All of it merges by commutative operations on 64-bit integers, so blocks may do that in any order. */
#ifndef WF_CUDA_GATHERED_H
#define WF_CUDA_GATHERED_H

#define WF_GATHERED_SUM_DIGITS 70       /* of f64: see wf_exact_digit_count */
#define WF_GATHERED_PRODUCTS_DIGITS 136 /* of f64's products */

/* The product.  An overflow of integers has the magnitude UINT64_MAX. */
enum wf_gathered_product {
    WF_GATHERED_NEGATIVE = 1, /* an odd number of them is: merges by xor, the others by or */
    WF_GATHERED_ZERO = 2,
    WF_GATHERED_OVERFLOW = 4,
    WF_GATHERED_INFINITY = 8 /* of floats */
};

/* Digits are signed, 32 bits apart, as in struct wf_exact, of the same exponents and number; they are not
 * normalised, but each is below 2^62 in magnitude. */
struct wf_gathered {
    unsigned long long sum[WF_GATHERED_SUM_DIGITS];
    unsigned long long abs[WF_GATHERED_SUM_DIGITS];
    unsigned long long products[WF_GATHERED_PRODUCTS_DIGITS];
    unsigned long long min_key, max_key; /* as wf_extreme's, with the top bit flipped: unsigned order */
    unsigned long long min_index, max_index;
    unsigned long long nonzero; /* NaNs included */
    unsigned long long bits_and, bits_or, bits_xor;
    unsigned long long nan_count, first_nan;
    unsigned long long saw;               /* enum wf_saw */
    unsigned long long product_magnitude; /* of all but zeros */
    unsigned long long product_flags;     /* enum wf_gathered_product */
};

#ifndef __CUDACC_RTC__

struct wf_accumulator;

/* Nothing gathered: the identity. */
void wf_gathered_clear(struct wf_gathered *gathered);

/* Adds the parts that into has.  Count and indices are the caller's; a product must be one of integers. */
void wf_gathered_join(struct wf_accumulator *into, const struct wf_gathered *from);

#endif

#endif
