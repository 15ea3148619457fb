/* The accumulator: a reduction in progress.  What is reduced and how, which elements, and the partial that has
 * been gathered of them.  The kernels include this file (core/portable.h). */
#ifndef WF_CORE_ACCUMULATOR_H
#define WF_CORE_ACCUMULATOR_H

#include "core/finish.h"
#include "core/partial.h"

#ifndef __CUDACC_RTC__
#include "core/error.h"
#endif

struct wf_accumulator {
    /* the reduction */
    wf_op op;
    wf_type type;
    wf_nan nan;
    wf_type result_type; /* as asked: may be WF_TYPE_DEFAULT */
    int64_t ddof;
    unsigned parts;  /* enum wf_part: those that op needs */
    unsigned blocks; /* added since the digits were last normalised (cpu/workers.c) */
    bool xor_alone; /* of xor: the and and or of the elements are not known */
    struct wf_tree *tree; /* the product, where it is a tree, in memory of the accumulator's owner; else NULL */
    struct wf_losses *losses; /* what the sums lack, in memory of the accumulator's owner; NULL: they are to be exact */
    struct wf_shaped *shaped; /* which this is the common part of; NULL: a single one, or one result */
    /* Which elements. */
    int64_t first_index, end_index; /* the hull of their indices: first <= i < end */
    int64_t count;                  /* NaNs included */
    /* What has been gathered of them. */
    struct wf_partial partial;
};

/* Sets all from the reduction and the type, which have been checked.  tree: memory for the product's tree; only a
 * reduction that has none may do without. */
void wf_accumulator_init(struct wf_accumulator *acc, const wf_reduction *reduction, wf_type type,
                         struct wf_tree *tree);

/* A copy of like's settings with nothing added, at first_index. */
void wf_accumulator_init_like(struct wf_accumulator *acc, const struct wf_accumulator *like, int64_t first_index,
                              struct wf_tree *tree);

/* into = from, except for the tree of a product and for digits that the type and the op do not use. */
void wf_accumulator_copy(struct wf_accumulator *into, const struct wf_accumulator *from);

/* Whether the index of an element can change the result. */
bool wf_accumulator_is_indexed(const struct wf_accumulator *acc);

/* The number of its elements, without the NaNs that are left out. */
int64_t wf_accumulator_element_count(const struct wf_accumulator *acc);

/* Its partial, for the loops. */
struct wf_open_partial wf_accumulator_open(struct wf_accumulator *acc);

/* Adds the partial of from, whose elements are others, to that of into; count, too.  False only for trees whose
 * ranges are not neighbours: then nothing is done. */
bool wf_accumulator_join(struct wf_accumulator *into, const struct wf_accumulator *from);

/* Makes the hull of the indices contain those of from, too. */
void wf_accumulator_join_indices(struct wf_accumulator *into, const struct wf_accumulator *from);

/* Where the elements' exclusive or is all that is known of their bits: sets the others to what may be. */
void wf_accumulator_forget_bits(struct wf_accumulator *acc);

/* Whether acc can tell the result of op; if not, why. */
wf_error wf_accumulator_check_op(wf_handle *handle, const struct wf_accumulator *acc, wf_op op);

/* The type of op's result for what acc holds. */
wf_type wf_accumulator_result_type(const struct wf_accumulator *acc, wf_op op);

/* Writes the value as one element of its type; data needs no alignment. */
void wf_value_store(const wf_value *value, void *data);

/* Whether its results are of the type of floats, and made of sums of these alone, or stats. */
bool wf_accumulator_may_lose(const struct wf_accumulator *acc);

/* Whether the value of op, which is made of sums, is the same whatever these lack within their bounds; if so, writes it. */
bool wf_accumulator_finish_within(const struct wf_accumulator *acc, wf_op op, wf_value *result);

/* The value of op for what acc holds, or why it has none. */
wf_error wf_accumulator_finish(wf_handle *handle, const struct wf_accumulator *acc, wf_op op, wf_value *result);

#endif
