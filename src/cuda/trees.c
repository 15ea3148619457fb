#include "cuda/trees.h"

#include <string.h>

enum { WARP_LOG2 = 5, BLOCKS_OF_MULTIPROCESSOR = 32 };

/* Of a lane alone: neighbouring lanes have neighbouring groups, then. */
enum { LEVELS_ACROSS = WF_TREE_LEAVES_LOG2 + WF_TREE_BATCHES_LOG2 };

static struct wf_tree_stage stage_of(int64_t first, int64_t count, int levels, bool is_across) {
    int64_t last = count ? first + count - 1 : first;
    int above = levels - WF_TREE_LEAVES_LOG2, lanes_log2 = is_across ? 0 : above < WARP_LOG2 ? above : WARP_LOG2;
    return (struct wf_tree_stage){.first = first,
                                  .count = count,
                                  .nodes = (last >> levels) - (first >> levels) + 1,
                                  .levels = levels,
                                  .lanes_log2 = lanes_log2,
                                  .batches_log2 = above - lanes_log2,
                                  .is_across = is_across};
}

struct wf_tree_stage wf_cuda_trees_whole(int64_t first, int64_t count) {
    return stage_of(first, count, WF_TREE_LEVELS_MAX, false);
}

/* Makes nodes of first <= index < first + count: one, if a block of as many levels as a stage goes up is large enough. */
static struct wf_tree_stage make_stage(int64_t first, int64_t count, bool is_across) {
    int levels = WF_TREE_LEAVES_LOG2, most = is_across ? LEVELS_ACROSS : WF_TREE_LEVELS_MAX;
    int64_t last = count ? first + count - 1 : first;
    while (levels < most && first >> levels != last >> levels) levels++;
    return stage_of(first, count, levels, is_across);
}

struct wf_tree_stage wf_cuda_trees_begin(int64_t first_index, int64_t count, bool is_across) {
    struct wf_tree_stage stage = make_stage(first_index, count, is_across);
    stage.index = first_index;
    return stage;
}

static struct wf_tree_stage first_stage(const struct wf_group_arguments *groups) {
    return wf_cuda_trees_begin(groups->first_index, groups->reduced_count, groups->is_across);
}

static struct wf_tree_stage next_stage(const struct wf_tree_stage *stage) {
    return make_stage(stage->first >> stage->levels, stage->nodes, false);
}

static size_t nodes_nbytes(const struct wf_group_arguments *groups, const struct wf_tree_stage *stage) {
    return stage->nodes > 1 ? (size_t)(groups->count * stage->nodes) * sizeof(struct wf_tree_node) : 0;
}

/* Two stages' nodes: those of later ones take no more, and the places in turn. */
size_t wf_cuda_trees_nbytes(const struct wf_group_arguments *groups) {
    struct wf_tree_stage stage = first_stage(groups), next = next_stage(&stage);
    return nodes_nbytes(groups, &stage) + nodes_nbytes(groups, &next);
}

wf_error wf_cuda_trees_kernel(wf_handle *handle, wf_type type, wf_type result_type, wf_cuda_function *function) {
    struct wf_cuda *cuda = handle->device_state;
    struct wf_kernel_key key;
    memset(&key, 0, sizeof key);
    key.type = type;
    key.parts = WF_PART_PRODUCT;
    key.block = WF_TREE_BLOCK;
    key.finish_op = WF_PROD;
    key.finish_type = result_type;
    return wf_kernels_trees(handle, &cuda->gpu, &cuda->kernels, &key, function);
}

wf_error wf_cuda_trees_launch(wf_handle *handle, wf_cuda_function function, const struct wf_group_arguments *groups,
                              const struct wf_tree_stage *stage) {
    struct wf_cuda *cuda = handle->device_state;
    struct wf_group_arguments first = *groups;
    struct wf_tree_stage second = *stage;
    void *arguments[] = {&first, &second};
    int64_t teams = WF_TREE_BLOCK >> stage->lanes_log2, nodes = groups->count * stage->nodes;
    int64_t blocks = (nodes + teams - 1) / teams, most = (int64_t)cuda->gpu.multiprocessors * BLOCKS_OF_MULTIPROCESSOR;
    unsigned grid = stage->leaves_status ? 1 : (unsigned)(blocks < most ? blocks : most);
    return WF_DRIVER_CALL(handle, LaunchKernel,
                          (function, grid, 1, 1, WF_TREE_BLOCK, 1, 1, 0, cuda->stream, arguments, NULL),
                          "the products of %lld groups", (long long)groups->count);
}

wf_error wf_cuda_trees_reduce(wf_handle *handle, const struct wf_accumulator *empty, wf_type result_type,
                              const struct wf_group_arguments *groups, wf_cuda_pointer scratch) {
    wf_cuda_function function;
    struct wf_tree_stage stage = first_stage(groups);
    wf_cuda_pointer place[2] = {scratch, scratch + nodes_nbytes(groups, &stage)};
    wf_error error = wf_cuda_trees_kernel(handle, empty->type, result_type, &function);
    for (int turn = 0; !error && stage.nodes > 1; turn = !turn) {
        stage.to = place[turn];
        error = wf_cuda_trees_launch(handle, function, groups, &stage);
        stage = next_stage(&stage);
        stage.from = place[turn];
    }
    if (!error) error = wf_cuda_trees_launch(handle, function, groups, &stage);
    if (error || !groups->status) return error;
    return wf_cuda_trees_launch(handle, function, groups, &(struct wf_tree_stage){.nodes = 1, .leaves_status = 1});
}
