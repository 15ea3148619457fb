#include "cuda/group_keys.h"
#include "core/array.h"
#include "cuda/key_arguments.h"

/* With few groups blocks count for themselves, where there are keys for several of them. */
static int64_t count_tables(int64_t count, int64_t groups) {
    enum { TABLES_MAX = 512, KEYS_OF_TABLE = 8192 };
    int64_t tables = count / KEYS_OF_TABLE + 1;
    if (groups > WF_KEY_TABLE_GROUPS || tables < 2) return 1;
    return tables < TABLES_MAX ? tables : TABLES_MAX;
}

static int64_t blocks_of_counts(int64_t counts) {
    return counts / WF_KEY_COUNTS + 1;
}

static bool are_wide(int64_t count) {
    return count > UINT32_MAX;
}

size_t wf_cuda_keys_nbytes(int64_t count, int64_t groups) {
    int64_t counts = groups * count_tables(count, groups);
    size_t words = (size_t)counts + 1 + (size_t)groups + 1 + (size_t)blocks_of_counts(counts);
    return 8 * words + (size_t)count * (are_wide(count) ? 8 : 4);
}

static wf_error launch(wf_handle *handle, wf_cuda_function function, struct wf_key_arguments *task, enum wf_key_stage stage,
                       int64_t grid) {
    struct wf_cuda *cuda = handle->device_state;
    void *arguments[] = {task};
    bool uses_table = task->tables > 1 && (stage == WF_KEYS_COUNT || stage == WF_KEYS_PLACE);
    unsigned shared = uses_table ? (unsigned)task->groups * 8 : 0;
    task->stage = stage;
    wf_cuda_result result = wf_driver_launch(function, (unsigned)grid, WF_KEY_BLOCK, shared, cuda->stream, arguments, true);
    return wf_driver_check(handle, result, "cuLaunchKernel", "%lld keys", (long long)task->count);
}

static wf_error sort(wf_handle *handle, wf_cuda_function function, struct wf_key_arguments *task) {
    struct wf_cuda *cuda = handle->device_state;
    int64_t blocks = task->count / WF_KEY_BLOCK + 1, most = (int64_t)cuda->gpu.multiprocessors * 8;
    int64_t counts = task->groups * task->tables, of_counts = blocks_of_counts(counts);
    if (blocks > most) blocks = most;
    if (task->tables > 1) blocks = task->tables;
    wf_error error = task->tables > 1 ? WF_OK : launch(handle, function, task, WF_KEYS_CLEAR, blocks);
    if (!error) error = launch(handle, function, task, WF_KEYS_COUNT, blocks);
    if (!error) error = launch(handle, function, task, WF_KEYS_SUMS, of_counts);
    if (!error) error = launch(handle, function, task, WF_KEYS_SCAN, 1);
    if (!error) error = launch(handle, function, task, WF_KEYS_OFFSETS, of_counts);
    return error ? error : launch(handle, function, task, WF_KEYS_PLACE, blocks);
}

wf_error wf_cuda_sort_keys(wf_handle *handle, const wf_array *keys, int64_t groups, bool skips_bad_keys,
                           wf_cuda_pointer scratch, struct wf_group_arguments *r) {
    struct wf_cuda *cuda = handle->device_state;
    int64_t stride_bytes[WF_NDIM_MAX], count = wf_array_length(keys, 0);
    wf_cuda_function function;
    wf_array_strides(keys, stride_bytes);
    struct wf_key_arguments task = {.keys = (uintptr_t)keys->data,
                                    .stride_bytes = stride_bytes[0],
                                    .count = count,
                                    .groups = groups,
                                    .tables = count_tables(count, groups),
                                    .counts = scratch,
                                    .bad = r->bad,
                                    .condition = r->condition,
                                    .skips_bad_keys = skips_bad_keys,
                                    .positions_are_wide = are_wide(count)};
    int64_t counts = groups * task.tables;
    task.offsets = scratch + 8 * ((uint64_t)counts + 1);
    task.sums = task.offsets + 8 * ((uint64_t)groups + 1);
    task.positions = task.sums + 8 * (uint64_t)blocks_of_counts(counts);
    r->offsets = task.offsets;
    r->offset_stride = 8;
    r->offsets_are_wide = true;
    r->positions = task.positions;
    r->positions_are_wide = task.positions_are_wide;
    wf_error error = wf_kernels_named(handle, &cuda->gpu, &cuda->kernels, "kernels/keys.cu", keys->type, WF_KERNEL_KEYS,
                                      &function);
    return error ? error : sort(handle, function, &task);
}
