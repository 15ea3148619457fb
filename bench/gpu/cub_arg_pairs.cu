// CUB's argmin and argmax in their older form: pairs of a 32-bit index and the value.
#define CCCL_IGNORE_DEPRECATED_API
#include <cub/device/device_reduce.cuh>
#include <cuda_fp16.h>

#include "gpu_bench.h"

template <class T>
static cudaError_t argmin_pair(void *temporary, size_t *nbytes, const void *in, void *out, int64_t count,
                               cudaStream_t stream) {
    return cub::DeviceReduce::ArgMin(temporary, *nbytes, static_cast<const T *>(in),
                                     static_cast<cub::KeyValuePair<int, T> *>(out), static_cast<int>(count),
                                     stream);
}

template <class T>
static cudaError_t argmax_pair(void *temporary, size_t *nbytes, const void *in, void *out, int64_t count,
                               cudaStream_t stream) {
    return cub::DeviceReduce::ArgMax(temporary, *nbytes, static_cast<const T *>(in),
                                     static_cast<cub::KeyValuePair<int, T> *>(out), static_cast<int>(count),
                                     stream);
}

static const struct peer peers[] = {
    {"CUB pairs", "argmin", "f32", "i32", 0, argmin_pair<float>},
    {"CUB pairs", "argmin", "f64", "i32", 0, argmin_pair<double>},
    {"CUB pairs", "argmin", "f16", "i32", 0, argmin_pair<__half>},
    {"CUB pairs", "argmin", "i8", "i32", 0, argmin_pair<int8_t>},
    {"CUB pairs", "argmin", "i32", "i32", 0, argmin_pair<int32_t>},
    {"CUB pairs", "argmax", "f32", "i32", 0, argmax_pair<float>},
    {"CUB pairs", "argmax", "f64", "i32", 0, argmax_pair<double>},
    {"CUB pairs", "argmax", "f16", "i32", 0, argmax_pair<__half>},
    {"CUB pairs", "argmax", "i8", "i32", 0, argmax_pair<int8_t>},
    {"CUB pairs", "argmax", "i32", "i32", 0, argmax_pair<int32_t>},
};

const struct peer_list cub_arg_pairs = {peers, sizeof peers / sizeof *peers};
