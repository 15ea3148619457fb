// The benchmark's arrays, made on the GPU: element i is the same number on every machine.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstring>

#include "gpu_bench.h"

// splitmix64 of a counter.
__device__ static uint64_t random_at(uint64_t i) {
    uint64_t z = (i + 1) * 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

// In (-1, 1).
__device__ static double uniform_at(uint64_t i) {
    return (double)(int64_t)random_at(i) * 0x1p-63;
}

// Of mean 0 and variance 1: Box and Muller's.
__device__ static double normal_at(uint64_t i) {
    const double radius = (double)((random_at(i) >> 11) + 1) * 0x1p-53;
    return sqrt(-2 * log(radius)) * cospi(uniform_at(~i));
}

// How a float of the type is put together: the bits of its fraction, the bias of its exponent, the exponents
// (biased) that hold every sum of 2^30 of them.
struct format {
    int fraction_bits, bias, top;
};

template <class T> struct traits;
template <> struct traits<float> {
    typedef uint32_t bits;
    static constexpr format form = {23, 127, 254 - 31};
    __device__ static float from(double x) { return (float)x; }
};
template <> struct traits<double> {
    typedef uint64_t bits;
    static constexpr format form = {52, 1023, 2046 - 31};
    __device__ static double from(double x) { return x; }
};
template <> struct traits<__nv_bfloat16> {
    typedef uint16_t bits;
    static constexpr format form = {7, 127, 254 - 31};
    __device__ static __nv_bfloat16 from(double x) { return __double2bfloat16(x); }
};
template <> struct traits<__half> { // all exponents: there are too few to leave any out, so sums may overflow
    typedef uint16_t bits;
    static constexpr format form = {10, 15, 30};
    __device__ static __half from(double x) { return __double2half(x); }
};

enum kind { UNIFORM, NORMAL, WIDE60, FULL };

struct exponents {
    int low, count;
};

static exponents exponents_of(format form, kind chosen) {
    if (chosen == FULL || form.bias <= 60) return {0, form.top + 1};
    return {form.bias - 60, 121};
}

template <class T>
__device__ static T spread_at(uint64_t i, exponents range) {
    typedef typename traits<T>::bits bits;
    constexpr format form = traits<T>::form;
    const uint64_t random = random_at(i), fraction = random_at(~i);
    const uint64_t exponent = range.low + ((random >> 32) * range.count >> 32);
    const uint64_t sign = (uint64_t)(random & 1) << (8 * sizeof(bits) - 1);
    const bits number = (bits)(sign | exponent << form.fraction_bits |
                               (fraction & ((UINT64_C(1) << form.fraction_bits) - 1)));
    T result;
    memcpy(&result, &number, sizeof result);
    return result;
}

__device__ static int64_t first_index() {
    return blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
}

__device__ static int64_t thread_count() {
    return gridDim.x * (int64_t)blockDim.x;
}

template <class T>
__global__ void fill_floats(T *into, int64_t count, kind chosen, exponents range) {
    for (int64_t i = first_index(); i < count; i += thread_count()) {
        if (chosen == UNIFORM)
            into[i] = traits<T>::from(uniform_at(i));
        else if (chosen == NORMAL)
            into[i] = traits<T>::from(normal_at(i));
        else
            into[i] = spread_at<T>(i, range);
    }
}

// Integers of so many bits, with their sign.
template <class T>
__global__ void fill_integers(T *into, int64_t count, int bits) {
    for (int64_t i = first_index(); i < count; i += thread_count())
        into[i] = (T)((int64_t)random_at(i) >> (64 - bits));
}

enum { GRID = 2048, BLOCK = 256 };

template <class T>
static void floats(void *into, int64_t count, kind chosen, int) {
    fill_floats<<<GRID, BLOCK, 0, bench_stream_now>>>(static_cast<T *>(into), count, chosen,
                                                      exponents_of(traits<T>::form, chosen));
}

template <class T>
static void integers(void *into, int64_t count, kind, int bits) {
    fill_integers<<<GRID, BLOCK, 0, bench_stream_now>>>(static_cast<T *>(into), count, bits);
}

// bits: so few that sums of 2^30 of them fit in 64.
static const struct {
    const char *name;
    size_t nbytes;
    void (*fill)(void *into, int64_t count, kind chosen, int bits);
    int bits;
} types[] = {
    {"f32", 4, floats<float>, 0},     {"f64", 8, floats<double>, 0},
    {"f16", 2, floats<__half>, 0},    {"bf16", 2, floats<__nv_bfloat16>, 0},
    {"i8", 1, integers<int8_t>, 8},   {"i32", 4, integers<int32_t>, 24},
    {"i64", 8, integers<int64_t>, 33},
};

static const char *const kinds[] = {"uniform", "normal", "wide60", "full"};

size_t type_nbytes(const char *type) {
    for (const auto &entry : types)
        if (!strcmp(entry.name, type)) return entry.nbytes;
    return 0;
}

extern "C" int bench_fill(void *into, const char *type, const char *data, int64_t count) {
    for (const auto &entry : types)
        for (int k = 0; k < 4; k++)
            if (!strcmp(entry.name, type) && !strcmp(kinds[k], data)) {
                entry.fill(into, count, static_cast<kind>(k), entry.bits);
                return check(cudaGetLastError(), "fill") &&
                       check(cudaStreamSynchronize(bench_stream_now), "fill");
            }
    return fail("there is no %s data of type %s", data, type);
}
