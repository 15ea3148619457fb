/* An accumulator with a shape: one partial for each result, packed into the words that the reduction needs.  Apart
 * from the functions that say so, nothing here checks its arguments: src/shaped.c does. */
#ifndef WF_CORE_SHAPED_H
#define WF_CORE_SHAPED_H

#include "core/accumulator.h"

struct wf_shaped {
    /* The reduction.  Its indices are positions along the grouped axis, and its count is how many positions have been
     * added, which no result's count exceeds.  First, so that it has the address of the whole. */
    struct wf_accumulator common;
    struct wf_tree tree; /* common's */
    wf_value fill;       /* for results that have no value; WF_TYPE_DEFAULT: none */
    uint32_t flags;      /* of the wf_reduction */
    int32_t ndim;
    int64_t shape[WF_NDIM_MAX];
    int64_t count; /* the number of results */
    /* Results in C order, each with this number of words.  One without elements is all zeros. */
    uint64_t *words;
    size_t result_words;
    int32_t node_capacity; /* nodes that each result's tree has room for; 0: no tree */
};

/* The number of results of a shape; -1: a length is negative, or there are more than 2^63 - 1. */
int64_t wf_shape_count(int32_t ndim, const int64_t *shape);

/* An accumulator of no elements but for its words, which are to be zeros: how many bytes they take; 0: more than there can be. */
size_t wf_shaped_init(struct wf_shaped *shaped, const struct wf_accumulator *settings, int32_t ndim, const int64_t *shape,
                      int64_t count);

/* The same in memory of its own.  NULL without memory, of which a message says so. */
struct wf_shaped *wf_shaped_make(wf_handle *handle, const struct wf_accumulator *settings, int32_t ndim,
                                 const int64_t *shape, int64_t count);
void wf_shaped_destroy(struct wf_shaped *shaped);

/* Makes room for that many nodes in the trees of the results. */
wf_error wf_shaped_reserve_nodes(wf_handle *handle, struct wf_shaped *shaped, int32_t nodes);

/* The same for trees to which that many more elements are added. */
wf_error wf_shaped_reserve(wf_handle *handle, struct wf_shaped *shaped, int64_t count);

/* Makes acc result i, with tree as the memory of its tree. */
void wf_shaped_get(const struct wf_shaped *shaped, int64_t i, struct wf_accumulator *acc, struct wf_tree *tree);

/* Makes result i what acc, which is normalised, holds.  Threads may set different results at once. */
void wf_shaped_set(struct wf_shaped *shaped, int64_t i, struct wf_accumulator *acc);

/* Adds what acc holds to result i, for whose tree there is room.  False only for trees whose ranges are not
 * neighbours: then nothing is done.  Threads may do so with different results at once. */
bool wf_shaped_join(struct wf_shaped *shaped, int64_t i, const struct wf_accumulator *acc);

/* The index at which a tree that is to be added to result i begins. */
int64_t wf_shaped_tree_end(const struct wf_shaped *shaped, int64_t i);

/* The number of elements in all results; INT64_MAX if there are more. */
int64_t wf_shaped_element_count(const struct wf_shaped *shaped);

/* ---- src/shaped.c: the public functions, where an accumulator has a shape.  Its handle and itself have been checked;
 * of two, that their reductions are alike. */

wf_error wf_shaped_create(wf_handle *handle, const wf_reduction *reduction, wf_type type, int32_t ndim,
                          const int64_t *shape, wf_accumulator **accumulator);
wf_error wf_shaped_add(wf_handle *handle, struct wf_shaped *shaped, const wf_array *a, const wf_array *b,
                       const wf_groups *groups);
wf_error wf_shaped_merge(wf_handle *handle, struct wf_shaped *into, const struct wf_shaped *from);
wf_error wf_shaped_subtract(wf_handle *handle, struct wf_shaped *from, const struct wf_shaped *part);
wf_error wf_shaped_result(wf_handle *handle, const struct wf_shaped *shaped, wf_op op, const wf_output *output);
/* The value of results that have none, as wf_reduce gives it; if there is one. */
wf_error wf_shaped_fill(wf_handle *handle, const struct wf_shaped *shaped, wf_op op, wf_type type, bool *has_fill,
                        wf_value *fill);
wf_error wf_shaped_counts(wf_handle *handle, const struct wf_shaped *shaped, const wf_output *counts,
                          const wf_output *nans);

#endif
