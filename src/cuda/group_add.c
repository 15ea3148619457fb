/* Accumulators with a shape and arrays in the GPU's memory: every group is gathered there in a slot, and the slots are brought
 * to the host, slice by slice, and joined to the results. */
#include "core/shaped.h"
#include "cuda/groups.h"
#include "cuda/transfer.h"

#include <string.h>

enum { SLICE_NBYTES = 1 << 27 };

/* What is added, which is not joined to the accumulator until all of it is there. */
struct addition {
    struct wf_shaped *added;
    unsigned parts; /* enum wf_part: of the slots */
    bool is_first;  /* of the passes */
};

/* Slots have the sum of magnitudes where that of values is otherwise. */
static void set_partial(struct wf_partial *partial, wf_type type, unsigned parts, bool is_first) {
    if (parts & WF_PART_ABS)
        memcpy(partial->abs, partial->sum, (size_t)wf_partial_sum(partial, type).digit_count * sizeof partial->sum[0]);
    if (is_first) return;
    partial->nan_count = 0; /* these have been counted */
    partial->special_seen = 0;
}

static void take_slot(const struct addition *addition, int64_t first, struct wf_group_slot *slot) {
    const int64_t number = first + slot->result;
    const struct wf_accumulator *common = &addition->added->common;
    struct wf_accumulator acc;
    if (!slot->count) return;
    set_partial(&slot->partial, common->type, addition->parts, addition->is_first);
    wf_shaped_get(addition->added, number, &acc, NULL);
    wf_partial_merge(&acc.partial, &slot->partial, common->type, addition->parts);
    acc.count = slot->count;
    wf_shaped_set(addition->added, number, &acc);
}

static wf_error take_slots(wf_handle *handle, void *data, const struct wf_group_arguments *slice, int64_t first) {
    enum { AT_A_TIME = (1 << 22) / sizeof(struct wf_group_slot) };
    const struct addition *addition = data;
    const int64_t most = slice->count < AT_A_TIME ? slice->count : AT_A_TIME;
    struct wf_pages pages = wf_cuda_take_host(handle, (size_t)most * sizeof(struct wf_group_slot));
    struct wf_group_slot *slots = pages.at;
    wf_error error = slots ? WF_OK : WF_ERROR_MEMORY;
    for (int64_t done = 0; !error && done < slice->count; done += most) {
        const int64_t count = slice->count - done < most ? slice->count - done : most;
        error = wf_cuda_bring(handle, slots, slice->slots + (uint64_t)done * sizeof *slots, (size_t)count * sizeof *slots);
        for (int64_t i = 0; !error && i < count; i++) take_slot(addition, first, &slots[i]);
    }
    wf_cuda_leave_host(handle, pages);
    return error;
}

/* Stats are gathered as its ops are, each part by the kernel that others need, too. */
static wf_error gather(wf_handle *handle, const struct wf_grouped *grouped, struct wf_shaped *added) {
    static const unsigned passes[] = {WF_PART_SUM | WF_PART_SQUARES, WF_PART_ABS, WF_PART_MIN, WF_PART_MAX, WF_PART_NONZERO};
    const unsigned parts = grouped->empty->parts;
    const bool is_stats = grouped->empty->op == WF_STATS;
    const int count = is_stats ? sizeof passes / sizeof passes[0] : 1;
    wf_error error = WF_OK;
    for (int i = 0; !error && i < count; i++) {
        struct addition addition = {added, is_stats ? passes[i] : parts, i == 0};
        const struct wf_cuda_slots_user user = {take_slots, &addition, SLICE_NBYTES / sizeof(struct wf_group_slot), true};
        error = wf_cuda_reduce_to_slots(handle, grouped, addition.parts, &user);
    }
    return error;
}

static void join(struct wf_shaped *into, const struct wf_shaped *added) {
    struct wf_accumulator acc;
    for (int64_t i = 0; i < added->count; i++) {
        wf_shaped_get(added, i, &acc, NULL);
        wf_shaped_join(into, i, &acc);
    }
}

static wf_error add_on_gpu(wf_handle *handle, const struct wf_grouped *grouped) {
    struct wf_shaped *into = grouped->into;
    struct wf_cuda *cuda = handle->device_state;
    struct wf_shaped added;
    const size_t nbytes = wf_shaped_init(&added, grouped->empty, into->ndim, into->shape, into->count);
    const struct wf_pages pages = nbytes ? wf_pages_take(&cuda->added_kept, nbytes) : (struct wf_pages){0};
    if (!pages.at) return wf_fail(handle, WF_ERROR_MEMORY, "no memory for an accumulator of %lld results", (long long)into->count);
    if (pages.are_used) memset(pages.at, 0, nbytes);
    added.words = pages.at;
    wf_error error = gather(handle, grouped, &added);
    if (!error) join(into, &added);
    wf_pages_leave(&cuda->added_kept, pages);
    if (error == WF_ERROR_RANGE) return wf_cuda_reduce_groups_on_host(handle, grouped); /* which says what is wrong */
    return error;
}

static wf_error add_groups(wf_handle *handle, const struct wf_grouped *grouped) {
    const struct wf_cuda *cuda = handle->device_state;
    bool is_host = true;
    wf_error error = grouped->layout->reduced_count ? wf_cuda_find_memory(handle, grouped->a, grouped->b, &is_host) : WF_OK;
    if (error) return error;
    if (wf_cuda_is_capturing(cuda->stream))
        return wf_fail(handle, WF_ERROR_UNSUPPORTED,
                       "the stream is being captured in a CUDA graph, but an accumulator waits for what is added: use "
                       "wf_reduce, or wf_device_words_of, whose results follow in stream order");
    return is_host || grouped->empty->tree ? wf_cuda_reduce_groups_on_host(handle, grouped) : add_on_gpu(handle, grouped);
}

wf_error wf_cuda_add_groups(wf_handle *handle, const struct wf_grouped *grouped) {
    const struct wf_cuda *cuda = handle->device_state;
    wf_error error = wf_gpu_enter(handle, &cuda->gpu);
    if (error) return error;
    error = add_groups(handle, grouped);
    wf_gpu_leave(&cuda->gpu);
    return error;
}
