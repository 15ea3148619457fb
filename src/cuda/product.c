/* Products of floats that are added to an accumulator: the GPU computes the tree's nodes of whole blocks, the CPU the
 * elements before and after. */
#include "cuda/trees.h"
#include "core/environment.h"
#include "cuda/transfer.h"

#include <string.h>

static const int64_t block_length = INT64_C(1) << WF_TREE_LEVELS_MAX;

/* Nodes of the first stage, at a time; those of the second follow them. */
#define NODES_MAX ((int64_t)(WF_CUDA_CHUNK_NBYTES / 64))

/* Multiplies fewer elements than a block on the CPU. */
static wf_error add_few(wf_handle *handle, struct wf_accumulator *into, const struct wf_cuda_range *range) {
    struct wf_cuda *cuda = handle->device_state;
    size_t nbytes = (size_t)range->count * wf_type_nbytes(into->type);
    unsigned char elements[sizeof(double) << WF_TREE_LEVELS_MAX];
    if (!range->count) return WF_OK;
    wf_error error = wf_cuda_bring(handle, elements, range->x, nbytes);
    if (error) return error;
    wf_array array = wf_array_vector(elements, into->type, range->count);
    int64_t end_index = into->end_index;
    into->end_index = range->index;
    error = cuda->cpu.device->add(&cuda->cpu, into, &array, NULL);
    into->end_index = end_index;
    return error ? wf_fail(handle, error, "%s", cuda->cpu.message) : WF_OK;
}

/* Nodes that come from the GPU: some of the first stage, then those of the second that are whole, then some of the
 * first again. */
struct nodes {
    int64_t count, before, second; /* of the first stage; those of it that come first; of the second */
};

static struct nodes split(int64_t first_block, int64_t count) {
    int64_t each = block_length, end = first_block + count;
    int64_t begin_whole = (first_block + each - 1) / each, end_whole = end / each;
    if (begin_whole >= end_whole) return (struct nodes){count, count, 0};
    return (struct nodes){count, begin_whole * each - first_block, end_whole - begin_whole};
}

static wf_error launch(wf_handle *handle, const struct wf_accumulator *into, const struct wf_cuda_range *range,
                       const struct nodes *nodes, wf_cuda_pointer to) {
    struct wf_group_arguments all;
    wf_cuda_function function;
    memset(&all, 0, sizeof all);
    all.x = range->x;
    all.count = 1;
    all.counts_groups = -1;
    all.reduced_count = nodes->count * block_length;
    all.reduced_ndim = 1;
    all.dimension[0] = (struct wf_group_dimension){.length = all.reduced_count,
                                                   .stride = {(int64_t)wf_type_nbytes(into->type), 0}};
    wf_error error = wf_cuda_trees_kernel(handle, into->type, wf_accumulator_result_type(into, WF_PROD), &function);
    struct wf_tree_stage stage = wf_cuda_trees_whole(range->index, all.reduced_count), next;
    stage.to = to;
    stage.index = range->index;
    if (!error) error = wf_cuda_trees_launch(handle, function, &all, &stage);
    if (error || !nodes->second) return error;
    next = wf_cuda_trees_whole(range->index / block_length + nodes->before, nodes->second * block_length);
    next.from = to + (uint64_t)nodes->before * sizeof(struct wf_tree_node);
    next.to = to + (uint64_t)nodes->count * sizeof(struct wf_tree_node);
    return wf_cuda_trees_launch(handle, function, &all, &next);
}

static wf_error bring(wf_handle *handle, unsigned char *to, wf_cuda_pointer from, int64_t first, int64_t count) {
    struct wf_cuda *cuda = handle->device_state;
    size_t at = (size_t)first * sizeof(struct wf_tree_node), nbytes = (size_t)count * sizeof(struct wf_tree_node);
    if (!count) return WF_OK;
    return WF_DRIVER_CALL(handle, MemcpyDtoHAsync, (to + at, from + at, nbytes, cuda->stream), "%zu bytes", nbytes);
}

/* Appends the factors of that many nodes to the tree, and notes their other properties. */
static void append(struct wf_accumulator *into, struct wf_partial *noted, const struct wf_tree_node *node, int64_t count,
                   int level) {
    for (int64_t i = 0; i < count; i++) {
        uint64_t negative = (noted->product_flags ^ node[i].flags) & WF_PRODUCT_NEGATIVE;
        wf_tree_append(into->tree, level, node[i].factor);
        noted->product_flags = ((noted->product_flags | node[i].flags) & ~(uint64_t)WF_PRODUCT_NEGATIVE) | negative;
        noted->nan_count += node[i].nan_count;
        if (node[i].first_nan < noted->first_nan) noted->first_nan = node[i].first_nan;
    }
}

static void join(struct wf_accumulator *into, const struct nodes *nodes, const struct wf_tree_node *node) {
    struct wf_partial noted;
    int64_t behind = nodes->before + nodes->second * block_length;
    wf_environment callers = wf_environment_enter();
    wf_partial_clear_all(&noted);
    append(into, &noted, node, nodes->before, WF_TREE_LEVELS_MAX);
    append(into, &noted, node + nodes->count, nodes->second, 2 * WF_TREE_LEVELS_MAX);
    append(into, &noted, node + behind, nodes->count - behind, WF_TREE_LEVELS_MAX);
    wf_environment_leave(callers);
    wf_partial_merge(&into->partial, &noted, into->type, into->parts);
}

/* Multiplies whole aligned blocks, at most NODES_MAX.  The nodes take the slots' second buffers, as chunks of strided
 * arrays lie in the first ones. */
static wf_error add_blocks(wf_handle *handle, struct wf_accumulator *into, const struct wf_cuda_range *range,
                           int64_t blocks) {
    struct wf_cuda *cuda = handle->device_state;
    struct wf_cuda_slot *slot = &cuda->slot[0];
    struct nodes nodes = split(range->index / block_length, blocks);
    int64_t behind = nodes.before + nodes.second * block_length;
    wf_error error = wf_cuda_ensure_slot(handle, 0, 2, true);
    if (!error) error = launch(handle, into, range, &nodes, slot->device[1]);
    if (!error) error = bring(handle, slot->host[1], slot->device[1], 0, nodes.before);
    if (!error) error = bring(handle, slot->host[1], slot->device[1], behind, nodes.count - behind + nodes.second);
    if (!error) error = WF_DRIVER_CALL(handle, StreamSynchronize, (cuda->stream), "cuda:%d", cuda->gpu.ordinal);
    if (error) return error;
    join(into, &nodes, (const struct wf_tree_node *)(const void *)slot->host[1]);
    return WF_OK;
}

static struct wf_cuda_range part_of(const struct wf_cuda_range *range, size_t nbytes, int64_t begin, int64_t count) {
    return (struct wf_cuda_range){range->x + (uint64_t)begin * nbytes, 0, count, range->index + begin};
}

wf_error wf_cuda_add_product(wf_handle *handle, struct wf_accumulator *into, const struct wf_cuda_range *range) {
    size_t nbytes = wf_type_nbytes(into->type);
    int64_t before = (block_length - range->index % block_length) % block_length;
    if (before > range->count) before = range->count;
    struct wf_cuda_range part = part_of(range, nbytes, 0, before);
    wf_error error = add_few(handle, into, &part);
    int64_t done = before;
    while (!error && range->count - done >= block_length) {
        int64_t blocks = (range->count - done) / block_length;
        if (blocks > NODES_MAX) blocks = NODES_MAX;
        part = part_of(range, nbytes, done, blocks * block_length);
        error = add_blocks(handle, into, &part, blocks);
        done += blocks * block_length;
    }
    if (error) return error;
    part = part_of(range, nbytes, done, range->count - done);
    return add_few(handle, into, &part);
}
