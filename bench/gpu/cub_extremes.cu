// CUB's minima and maxima.
#include <cub/device/device_reduce.cuh>
#include <cuda_fp16.h>

#include "gpu_bench.h"

template <class T>
static cudaError_t min(void *temporary, size_t *nbytes, const void *in, void *out, int64_t count,
                       cudaStream_t stream) {
    return cub::DeviceReduce::Min(temporary, *nbytes, static_cast<const T *>(in), static_cast<T *>(out),
                                  static_cast<int>(count), stream);
}

template <class T>
static cudaError_t max(void *temporary, size_t *nbytes, const void *in, void *out, int64_t count,
                       cudaStream_t stream) {
    return cub::DeviceReduce::Max(temporary, *nbytes, static_cast<const T *>(in), static_cast<T *>(out),
                                  static_cast<int>(count), stream);
}

static const struct peer peers[] = {
    {"CUB", "min", "f32", "f32", 0, min<float>},   {"CUB", "max", "f32", "f32", 0, max<float>},
    {"CUB", "min", "f64", "f64", 0, min<double>},  {"CUB", "max", "f64", "f64", 0, max<double>},
    {"CUB", "min", "f16", "f16", 0, min<__half>},  {"CUB", "max", "f16", "f16", 0, max<__half>},
    {"CUB", "min", "i8", "i8", 0, min<int8_t>},    {"CUB", "max", "i8", "i8", 0, max<int8_t>},
    {"CUB", "min", "i32", "i32", 0, min<int32_t>}, {"CUB", "max", "i32", "i32", 0, max<int32_t>},
};

const struct peer_list cub_extremes = {peers, sizeof peers / sizeof *peers};
