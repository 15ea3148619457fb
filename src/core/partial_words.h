/* The partial: what has been gathered of some elements, whatever is to be made of it.  The one form in which
 * threads, blocks of a GPU, files and ranks hold it: 64-bit words that merge by integer addition, minimum,
 * maximum, and, or, xor and multiplication.  All of these commute, so partials may be merged in any order.
 *
 * What each word means depends on the elements' type, which is the caller's to know, as are the elements'
 * number and indices.  Apart from what is done with partials of a type (core/partial.h), so that the CPU's loops are
 * not compiled again for a new op or type.  The kernels include this file (core/portable.h). */
#ifndef WF_CORE_PARTIAL_WORDS_H
#define WF_CORE_PARTIAL_WORDS_H

#include "core/portable.h"

#define WF_SUM_DIGITS 70      /* of f64: see wf_exact_digit_count */
#define WF_PRODUCT_SUM_DIGITS 136 /* of f64's products */

/* The product of all elements but zeros and infinities has its magnitude in a word of its own, if it is an
 * integer, or in a tree (core/product.h). */
enum wf_product_flag {
    WF_PRODUCT_NEGATIVE = 1, /* an odd number of elements is, -0 included: merges by xor, the others by or */
    WF_PRODUCT_ZERO = 2,
    WF_PRODUCT_OVERFLOW = 4, /* the magnitude is UINT64_MAX */
    WF_PRODUCT_INFINITY = 8
};

struct wf_partial {
    /* Digits in two's complement, 32 bits apart (core/exact.h), each below 2^62 in magnitude. */
    uint64_t sum[WF_SUM_DIGITS];
    uint64_t abs[WF_SUM_DIGITS];
    uint64_t product_sum[WF_PRODUCT_SUM_DIGITS];
    uint64_t min_key, max_key; /* wf_key_to_order's; if there is none, UINT64_MAX and 0 */
    uint64_t min_index, max_index; /* of the first of equal elements; INT64_MAX: none */
    uint64_t nonzero;          /* NaNs included */
    uint64_t bits_and, bits_or, bits_xor;
    uint64_t nan_count, first_nan; /* INT64_MAX: none */
    uint64_t special_seen;                  /* enum wf_special */
    uint64_t product_magnitude;
    uint64_t product_flags; /* enum wf_product_flag */
};

/* Signed keys in unsigned order, and back. */
static inline uint64_t wf_key_to_order(int64_t key) {
    return (uint64_t)key ^ UINT64_C(1) << 63;
}

static inline int64_t wf_order_to_key(uint64_t order) {
    return (int64_t)(order ^ UINT64_C(1) << 63);
}

#ifndef __CUDACC_RTC__

#include "core/exact.h"
#include "core/losses.h"
#include "core/product.h"

/* Multiplies the product by the magnitude of an integer other than 0. */
void wf_partial_multiply(struct wf_partial *partial, uint64_t magnitude);

/* What the CPU's loops add to: a partial, with what is looked up once for many blocks. */
struct wf_open_partial {
    struct wf_partial *partial;
    struct wf_tree *tree; /* the product, where it is a tree; else NULL */
    unsigned parts;       /* enum wf_part: those that are gathered */
    struct wf_exact sum, abs, product_sum;
    struct wf_losses *losses; /* what these may lack, of floats; NULL: nothing */
};

#endif

#endif
