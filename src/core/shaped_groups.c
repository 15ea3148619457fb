#include "core/shaped_groups.h"
#include "core/array.h"
#include "core/reduction.h"

#include <stdlib.h>

/* Makes count results of them. */
static wf_error make_longer(wf_handle *handle, struct wf_shaped *shaped, int64_t count) {
    const size_t held = (size_t)shaped->count * shaped->result_words;
    size_t words, nbytes;
    bool overflows = __builtin_mul_overflow((size_t)count, shaped->result_words, &words) ||
                     __builtin_mul_overflow(words + 1, sizeof(uint64_t), &nbytes);
    uint64_t *longer = overflows ? NULL : realloc(shaped->words, nbytes);
    if (!longer)
        return wf_fail(handle, WF_ERROR_MEMORY, "no memory for an accumulator of %lld results", (long long)count);
    memset(longer + held, 0, (words + 1 - held) * sizeof *longer);
    shaped->words = longer;
    shaped->count = count;
    return WF_OK;
}

wf_error wf_shaped_grow(wf_handle *handle, struct wf_shaped *shaped, int64_t count) {
    if (count <= shaped->count) return WF_OK;
    wf_error error = make_longer(handle, shaped, count);
    if (!error) shaped->shape[0] = count;
    return error;
}

static wf_error check_following(wf_handle *handle, const struct wf_shaped *into, const struct wf_shaped *from) {
    const struct wf_accumulator *a = &into->common, *b = &from->common;
    if (into->ndim < 1 || into->ndim != from->ndim ||
        memcmp(into->shape + 1, from->shape + 1, (size_t)(into->ndim - 1) * sizeof *into->shape))
        return wf_fail(handle, WF_ERROR_MERGE, "the accumulators have different shapes: only the first dimension may differ");
    if (a->count != b->count || a->first_index != b->first_index)
        return wf_fail(handle, WF_ERROR_MERGE, "%lld positions from %lld on were added to one accumulator, to the other %lld from %lld on",
                       (long long)a->count, (long long)a->first_index, (long long)b->count, (long long)b->first_index);
    return WF_OK;
}

wf_error wf_shaped_append(wf_handle *handle, struct wf_shaped *into, struct wf_shaped *from) {
    const int64_t held = into->count;
    wf_error error = check_following(handle, into, from);
    if (!error) error = wf_shaped_reserve_nodes(handle, into, from->node_capacity);
    if (!error) error = wf_shaped_reserve_nodes(handle, from, into->node_capacity);
    if (!error) error = make_longer(handle, into, held + from->count);
    if (error) return error;
    memcpy(into->words + (size_t)held * into->result_words, from->words,
           (size_t)from->count * from->result_words * sizeof *from->words);
    into->shape[0] += from->shape[0];
    return WF_OK;
}

wf_error wf_shaped_merge_to(wf_handle *handle, struct wf_shaped *into, const struct wf_shaped *from, const int32_t *to) {
    struct wf_accumulator acc;
    wf_error error = wf_check_total_count(handle, &into->common, from->common.count);
    if (error) return error;
    for (int64_t i = 0; i < from->count; i++) {
        wf_shaped_get(from, i, &acc, NULL);
        wf_shaped_join(into, to[i], &acc);
    }
    wf_accumulator_join_indices(&into->common, &from->common);
    into->common.count += from->common.count;
    into->common.end_index = into->common.first_index + into->common.count;
    return WF_OK;
}
