// CUB's sums that are the same on every GPU: not exact, and another order gives other bits.  Since CUB 3.1.
#include <cub/device/device_reduce.cuh>
#include <cub/version.cuh>

#include "gpu_bench.h"

#if CUB_VERSION >= 300100

template <class T>
static cudaError_t sum(void *temporary, size_t *nbytes, const void *in, void *out, int64_t count,
                       cudaStream_t stream) {
    *nbytes = 1;
    if (!temporary) return cudaSuccess; // it allocates by itself, in the stream's order
    auto environment =
        cuda::std::execution::env{cuda::execution::require(cuda::execution::determinism::gpu_to_gpu),
                                  cuda::stream_ref{stream}};
    return cub::DeviceReduce::Sum(static_cast<const T *>(in), static_cast<T *>(out), static_cast<int>(count),
                                  environment);
}

static const struct peer peers[] = {
    {"CUB gpu_to_gpu", "sum", "f32", "f32", 0, sum<float>},
    {"CUB gpu_to_gpu", "sum", "f64", "f64", 0, sum<double>},
};
const struct peer_list cub_deterministic_sums = {peers, sizeof peers / sizeof *peers};

#else

const struct peer_list cub_deterministic_sums = {nullptr, 0};

#endif
