// CUB's argmin and argmax with the value and a 64-bit index apart.
#include <cub/device/device_reduce.cuh>
#include <cuda_fp16.h>

#include "gpu_bench.h"

enum { INDEX_OFFSET = 8 };

static int64_t *index_of(void *out) {
    return reinterpret_cast<int64_t *>(static_cast<char *>(out) + INDEX_OFFSET);
}

template <class T>
static cudaError_t argmin(void *temporary, size_t *nbytes, const void *in, void *out, int64_t count,
                          cudaStream_t stream) {
    return cub::DeviceReduce::ArgMin(temporary, *nbytes, static_cast<const T *>(in), static_cast<T *>(out),
                                     index_of(out), count, stream);
}

template <class T>
static cudaError_t argmax(void *temporary, size_t *nbytes, const void *in, void *out, int64_t count,
                          cudaStream_t stream) {
    return cub::DeviceReduce::ArgMax(temporary, *nbytes, static_cast<const T *>(in), static_cast<T *>(out),
                                     index_of(out), count, stream);
}

static const struct peer peers[] = {
    {"CUB", "argmin", "f32", "i64", INDEX_OFFSET, argmin<float>},
    {"CUB", "argmin", "f64", "i64", INDEX_OFFSET, argmin<double>},
    {"CUB", "argmin", "f16", "i64", INDEX_OFFSET, argmin<__half>},
    {"CUB", "argmin", "i8", "i64", INDEX_OFFSET, argmin<int8_t>},
    {"CUB", "argmin", "i32", "i64", INDEX_OFFSET, argmin<int32_t>},
    {"CUB", "argmax", "f32", "i64", INDEX_OFFSET, argmax<float>},
    {"CUB", "argmax", "f64", "i64", INDEX_OFFSET, argmax<double>},
    {"CUB", "argmax", "f16", "i64", INDEX_OFFSET, argmax<__half>},
    {"CUB", "argmax", "i8", "i64", INDEX_OFFSET, argmax<int8_t>},
    {"CUB", "argmax", "i32", "i64", INDEX_OFFSET, argmax<int32_t>},
};

const struct peer_list cub_args = {peers, sizeof peers / sizeof *peers};
