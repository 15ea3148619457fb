/* The accumulator: what has been gathered of a reduction, and the only thing that is ever merged. */
#ifndef WF_CORE_ACCUMULATOR_H
#define WF_CORE_ACCUMULATOR_H

#include "core/error.h"
#include "core/finish.h"
#include "core/product.h"

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

/* The value of op for what acc holds, or why it has none. */
wf_error wf_accumulator_finish(wf_handle *handle, const struct wf_accumulator *acc, wf_op op, wf_value *result);

#endif
