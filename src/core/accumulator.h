/* The accumulator: what has been gathered of a reduction, and the only thing that is ever merged. */
#ifndef WF_CORE_ACCUMULATOR_H
#define WF_CORE_ACCUMULATOR_H

#include "core/error.h"
#include "core/exact.h"
#include "core/ops.h"
#include "core/product.h"

/* What the sums cannot hold as digits, of x or, in dot, of x*y. */
enum wf_saw {
    WF_SAW_POSITIVE_INFINITY = 1,
    WF_SAW_NEGATIVE_INFINITY = 2,
    WF_SAW_INVALID = 4,          /* infinity times 0 */
    WF_SAW_BEYOND_MINUS_ZERO = 8 /* anything but -0 and NaN */
};

/* Keys order the values of a type, -0 below +0: see wf_key_to_bits.  The identity has index INT64_MAX. */
struct wf_extreme {
    int64_t key;
    int64_t index;
};

struct wf_accumulator {
    /* What is reduced, and how. */
    wf_op op;
    wf_type type;
    wf_nan nan;
    wf_type result_type; /* as asked: may be WF_TYPE_DEFAULT */
    int64_t ddof;
    unsigned parts;    /* enum wf_part */
    bool uses_tree;    /* the product is a tree */
    /* Which elements. */
    int64_t first_index, end_index; /* the hull of their indices: first <= i < end */
    int64_t count;                  /* NaNs included */
    int64_t nan_count;
    int64_t first_nan;              /* INT64_MAX: none */
    /* The parts. */
    unsigned saw; /* enum wf_saw */
    int64_t nonzero;
    struct wf_extreme min, max;
    uint64_t bits_and, bits_or, bits_xor;
    struct wf_exact sum, abs, products;
    struct wf_product product;
};

/* Sets all from op, type and options, which have been checked. */
void wf_accumulator_init(struct wf_accumulator *acc, wf_op op, wf_type type, const wf_options *options);

/* A copy of like's settings with nothing added, at first_index. */
void wf_accumulator_init_like(struct wf_accumulator *acc, const struct wf_accumulator *like,
                              int64_t first_index);

/* Whether the index of an element can change the result. */
bool wf_accumulator_is_indexed(const struct wf_accumulator *acc);

/* Adds the parts of from, whose elements are others, to those of into; count, too.  False only for products
 * whose ranges are not neighbours: then nothing is done. */
bool wf_accumulator_join(struct wf_accumulator *into, const struct wf_accumulator *from);

/* The better of two extremes: the smaller (larger) key, then the smaller index. */
static inline void wf_extreme_min(struct wf_extreme *into, struct wf_extreme x) {
    if (x.key < into->key || (x.key == into->key && x.index < into->index)) *into = x;
}

static inline void wf_extreme_max(struct wf_extreme *into, struct wf_extreme x) {
    if (x.key > into->key || (x.key == into->key && x.index < into->index)) *into = x;
}

/* A key is a signed integer that orders as the values do: of signed integers the value; of u64 the value with
 * its top bit flipped; of floats the bits, those below the sign flipped where negative, sign-extended. */
uint64_t wf_key_to_bits(wf_type type, int64_t key);
int64_t wf_bits_to_key(wf_type type, uint64_t bits);

/* The value of op for what acc holds, or why it has none. */
wf_error wf_accumulator_finish(wf_handle *handle, const struct wf_accumulator *acc, wf_op op, wf_value *result);

#endif
