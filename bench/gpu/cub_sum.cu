// CUB's sums.  Counts are 32 bits wide, which is CUB's faster form; wide results add in the wider type.
#include <cub/device/device_reduce.cuh>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda/std/functional>

#include "gpu_bench.h"

template <class In, class Out>
static cudaError_t sum(void *temporary, size_t *nbytes, const void *in, void *out, int64_t count,
                       cudaStream_t stream) {
    return cub::DeviceReduce::Sum(temporary, *nbytes, static_cast<const In *>(in), static_cast<Out *>(out),
                                  static_cast<int>(count), stream);
}

template <class In, class Out>
static cudaError_t wide_sum(void *temporary, size_t *nbytes, const void *in, void *out, int64_t count,
                            cudaStream_t stream) {
    return cub::DeviceReduce::Reduce(temporary, *nbytes, static_cast<const In *>(in), static_cast<Out *>(out),
                                     static_cast<int>(count), cuda::std::plus<Out>{}, Out{}, stream);
}

static const struct peer peers[] = {
    {"CUB", "sum", "f32", "f32", 0, sum<float, float>},
    {"CUB", "sum", "f64", "f64", 0, sum<double, double>},
    {"CUB", "sum", "f16", "f16", 0, sum<__half, __half>},
    {"CUB to f32", "sum", "f16", "f32", 0, wide_sum<__half, float>},
    {"CUB", "sum", "bf16", "bf16", 0, sum<__nv_bfloat16, __nv_bfloat16>},
    {"CUB to f32", "sum", "bf16", "f32", 0, wide_sum<__nv_bfloat16, float>},
    {"CUB", "sum", "i8", "i32", 0, sum<int8_t, int32_t>},
    {"CUB to i64", "sum", "i8", "i64", 0, wide_sum<int8_t, int64_t>},
    {"CUB", "sum", "i32", "i32", 0, sum<int32_t, int32_t>},
    {"CUB to i64", "sum", "i32", "i64", 0, wide_sum<int32_t, int64_t>},
    {"CUB", "sum", "i64", "i64", 0, sum<int64_t, int64_t>},
};

const struct peer_list cub_sums = {peers, sizeof peers / sizeof *peers};
