#include "core/accumulator.h"

#include <stddef.h>

/* Whether the product is a tree. */
static bool uses_tree(const wf_reduction *reduction, wf_type type) {
    if (!(wf_op_parts(reduction->op) & WF_PART_PRODUCT)) return false;
    wf_type result = reduction->result_type ? reduction->result_type : wf_op_result_type(reduction->op, type);
    return wf_type_is_float(type) || wf_type_is_float(result);
}

WF_HOT static void clear(struct wf_accumulator *acc, int64_t first_index) {
    acc->first_index = acc->end_index = first_index;
    acc->count = 0;
    acc->blocks = 0;
    wf_partial_clear(&acc->partial, acc->type, acc->parts);
    if (acc->tree) wf_tree_clear(acc->tree, first_index);
}

void wf_accumulator_init(struct wf_accumulator *acc, const wf_reduction *reduction, wf_type type,
                         struct wf_tree *tree) {
    acc->op = reduction->op;
    acc->type = type;
    acc->nan = reduction->nan;
    acc->result_type = reduction->result_type;
    acc->ddof = reduction->ddof;
    acc->parts = wf_op_parts(acc->op);
    acc->tree = uses_tree(reduction, type) ? tree : NULL;
    acc->losses = NULL;
    acc->shaped = NULL;
    acc->xor_alone = false;
    clear(acc, reduction->first_index);
}

WF_HOT void wf_accumulator_init_like(struct wf_accumulator *acc, const struct wf_accumulator *like, int64_t first_index,
                              struct wf_tree *tree) {
    memmove(acc, like, offsetof(struct wf_accumulator, first_index)); /* like may be acc */
    acc->tree = like->tree ? tree : NULL;
    acc->losses = NULL;
    acc->shaped = NULL;
    clear(acc, first_index);
}

WF_HOT void wf_accumulator_copy(struct wf_accumulator *into, const struct wf_accumulator *from) {
    struct wf_tree *const tree = into->tree;
    memcpy(into, from, offsetof(struct wf_accumulator, partial));
    into->tree = tree;
    wf_partial_copy(&into->partial, &from->partial, from->type, from->parts);
}

int64_t wf_accumulator_element_count(const struct wf_accumulator *acc) {
    return acc->count - (acc->nan == WF_NAN_OMIT ? (int64_t)acc->partial.nan_count : 0);
}

WF_HOT bool wf_accumulator_is_indexed(const struct wf_accumulator *acc) {
    return acc->op == WF_ARGMIN || acc->op == WF_ARGMAX || acc->op == WF_STATS || acc->tree ||
           acc->nan == WF_NAN_ERROR;
}

struct wf_open_partial wf_accumulator_open(struct wf_accumulator *acc) {
    return (struct wf_open_partial){.partial = &acc->partial,
                                    .tree = acc->tree,
                                    .parts = acc->parts,
                                    .losses = acc->losses,
                                    .sum = wf_partial_sum(&acc->partial, acc->type),
                                    .abs = wf_partial_abs(&acc->partial, acc->type),
                                    .product_sum = wf_partial_product_sum(&acc->partial, acc->type)};
}

bool wf_accumulator_join(struct wf_accumulator *into, const struct wf_accumulator *from) {
    if (into->tree && !wf_tree_join(into->tree, from->tree)) return false;
    wf_partial_merge(&into->partial, &from->partial, into->type, into->parts);
    if (into->losses && from->losses) wf_losses_join(into->losses, from->losses);
    into->xor_alone |= from->xor_alone;
    into->blocks = 0;
    into->count += from->count;
    return true;
}

void wf_accumulator_join_indices(struct wf_accumulator *into, const struct wf_accumulator *from) {
    if (from->first_index == from->end_index) return;
    bool empty = into->first_index == into->end_index;
    if (empty || from->first_index < into->first_index) into->first_index = from->first_index;
    if (empty || from->end_index > into->end_index) into->end_index = from->end_index;
}
