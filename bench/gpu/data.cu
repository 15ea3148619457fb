// The benchmark's arrays, made on the GPU: element i is the same number on every machine.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstring>

#include "../kinds.h"
#include "gpu_bench.h"

template <class T> struct traits;
template <> struct traits<float> {
    typedef uint32_t bits;
    static constexpr bench_format form = {23, 127, 254 - 31};
    __device__ static float from(double x) { return (float)x; }
};
template <> struct traits<double> {
    typedef uint64_t bits;
    static constexpr bench_format form = {52, 1023, 2046 - 31};
    __device__ static double from(double x) { return x; }
};
template <> struct traits<__nv_bfloat16> {
    typedef uint16_t bits;
    static constexpr bench_format form = {7, 127, 254 - 31};
    __device__ static __nv_bfloat16 from(double x) { return __double2bfloat16(x); }
};
template <> struct traits<__half> { // all exponents: there are too few to leave any out, so sums may overflow
    typedef uint16_t bits;
    static constexpr bench_format form = {10, 15, 30};
    __device__ static __half from(double x) { return __double2half(x); }
};

template <class T>
__device__ static T of_bits(uint64_t pattern) {
    const typename traits<T>::bits number = (typename traits<T>::bits)pattern;
    T result;
    memcpy(&result, &number, sizeof result);
    return result;
}

template <class T>
__device__ static T element_at(uint64_t i, uint64_t count, bench_kind kind) {
    const bench_element element = bench_element_at(traits<T>::form, i, count, kind);
    return element.is_bits ? of_bits<T>(element.bits) : traits<T>::from(element.value);
}

__device__ static int64_t first_index() {
    return blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
}

__device__ static int64_t thread_count() {
    return gridDim.x * (int64_t)blockDim.x;
}

template <class T>
__global__ void fill_floats(T *into, int64_t count, bench_kind kind) {
    for (int64_t i = first_index(); i < count; i += thread_count())
        into[i] = element_at<T>(i, count, kind);
}

// Integers of `bits` bits, with their sign.
template <class T>
__global__ void fill_integers(T *into, int64_t count, int bits) {
    for (int64_t i = first_index(); i < count; i += thread_count())
        into[i] = (T)((int64_t)random_at(i) >> (64 - bits));
}

enum { GRID = 2048, BLOCK = 256 };

template <class T>
static void floats(void *into, int64_t count, bench_kind kind, int) {
    fill_floats<<<GRID, BLOCK, 0, bench_stream_now>>>(static_cast<T *>(into), count, kind);
}

template <class T>
static void integers(void *into, int64_t count, bench_kind, int bits) {
    fill_integers<<<GRID, BLOCK, 0, bench_stream_now>>>(static_cast<T *>(into), count, bits);
}

// bits: so few that sums of 2^30 of them fit in 64.
static const struct {
    const char *name;
    size_t nbytes;
    void (*fill)(void *into, int64_t count, bench_kind kind, int bits);
    int bits;
} types[] = {
    {"f32", 4, floats<float>, 0},     {"f64", 8, floats<double>, 0},
    {"f16", 2, floats<__half>, 0},    {"bf16", 2, floats<__nv_bfloat16>, 0},
    {"i8", 1, integers<int8_t>, 8},   {"i32", 4, integers<int32_t>, 24},
    {"i64", 8, integers<int64_t>, 33},
};

static const char *const kinds[] = {
#define X(name) #name,
    BENCH_KINDS(X)
#undef X
};

size_t type_nbytes(const char *type) {
    for (const auto &entry : types)
        if (!strcmp(entry.name, type)) return entry.nbytes;
    return 0;
}

extern "C" int bench_fill(void *into, const char *type, const char *data, int64_t count) {
    for (const auto &entry : types)
        for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++)
            if (!strcmp(entry.name, type) && !strcmp(kinds[k], data)) {
                entry.fill(into, count, static_cast<bench_kind>(k), entry.bits);
                return check(cudaGetLastError(), "fill") &&
                       check(cudaStreamSynchronize(bench_stream_now), "fill");
            }
    return fail("there is no %s data of type %s", data, type);
}
