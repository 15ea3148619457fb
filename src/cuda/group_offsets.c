#include "cuda/group_offsets.h"
#include "cuda/kernels.h"

/* As in kernels/offsets.cu. */
struct offsets {
    uint64_t offsets, are_equal;
    int64_t stride_bytes, count, step;
};

wf_error wf_cuda_look_at_offsets(wf_handle *handle, const struct wf_group_arguments *segments, int64_t elements, wf_cuda_pointer are_equal) {
    enum { BLOCK = 256, OF_BLOCK = 8 * BLOCK, BLOCKS_OF_MULTIPROCESSOR = 8 };
    struct wf_cuda *cuda = handle->device_state;
    struct offsets task = {segments->offsets, are_equal, segments->offset_stride, segments->count + 1, elements};
    const int64_t blocks = (task.count + OF_BLOCK - 1) / OF_BLOCK, most = (int64_t)BLOCKS_OF_MULTIPROCESSOR * cuda->gpu.multiprocessors;
    void *arguments[] = {&task};
    wf_cuda_function function;
    wf_error error = wf_kernels_named(handle, &cuda->gpu, &cuda->kernels, "kernels/offsets.cu",
                                      segments->offsets_are_wide ? WF_I64 : WF_I32, WF_KERNEL_OFFSETS, &function);
    if (error) return error;
    wf_cuda_result result = wf_driver_launch(function, (unsigned)(blocks < most ? blocks : most), BLOCK, 0, cuda->stream, arguments, false);
    return wf_driver_check(handle, result, "cuLaunchKernel", "%lld offsets", (long long)task.count);
}
