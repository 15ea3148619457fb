// Reductions in surfaces, stores in their formats, and what textures and surfaces are asked for, in PTX of its own.  The program
// checks the results, and ends with the number of the line that is wrong, modulo 256.  What is stored in formats it prints.
#include <algorithm>
#include <cstdint>
#include <cstring>

#include "check.cuh"

#define EXPECT(condition)                                                                                          \
    do {                                                                                                           \
        if (!(condition)) {                                                                                        \
            fprintf(stderr, "line %d: " #condition "\n", __LINE__);                                                \
            return __LINE__ % 256 ? __LINE__ % 256 : 1;                                                            \
        }                                                                                                          \
    } while (0)

enum { WIDTH = 8, HEIGHT = 5, DEPTH = 3, THREADS = 96 };

// Thread t reduces at column t % 12 - 2 of row t % 5: with `clamp` the nearest inside, with `zero` nothing outside.
__device__ int column(int t) { return t % 12 - 2; }

#define REDUCE(name, operation, type, nbytes, boundary, constraint, value_type)                                    \
    __global__ void name(cudaSurfaceObject_t surface, value_type factor) {                                         \
        const int t = threadIdx.x, x = column(t) * nbytes, y = t % HEIGHT;                                         \
        asm volatile("sured." operation ".2d." type "." boundary " [%0, {%1, %2}], %3;" ::"l"(surface), "r"(x),  \
                     "r"(y), constraint(t * factor));                                                              \
    }
REDUCE(add_signed, "b.add", "s32", 4, "clamp", "r", int)
REDUCE(least_signed, "b.min", "s32", 4, "zero", "r", int)
REDUCE(most_unsigned, "b.max", "u32", 4, "clamp", "r", unsigned)
REDUCE(any_bits, "b.or", "b32", 4, "zero", "r", unsigned)
REDUCE(all_bits, "b.and", "b32", 4, "clamp", "r", unsigned)
REDUCE(add_wide, "b.add", "u64", 8, "zero", "l", uint64_t)
REDUCE(least_wide, "b.min", "s64", 8, "clamp", "l", int64_t)
REDUCE(trapping, "b.add", "u32", 4, "trap", "r", unsigned)
REDUCE(add_texels, "p.add", "b32", 1, "clamp", "r", int)
REDUCE(least_texels, "p.min", "b32", 1, "zero", "r", int)
REDUCE(most_texels, "p.max", "b32", 1, "clamp", "r", int)
REDUCE(any_texels, "p.or", "b32", 1, "zero", "r", unsigned)

// Around a plane of 8 by 5 texels, of whose channels those that there are take `from`.
template <class T> __global__ void store_plane(cudaSurfaceObject_t surface, const T *from) {
    const int t = threadIdx.x, x = column(t), y = t / 12;
    const unsigned *of = (const unsigned *)&from[4 * t];
    asm volatile("sust.p.2d.v4.b32.zero [%0, {%1, %2}], {%3, %4, %5, %6};" ::"l"(surface), "r"(x), "r"(y), "r"(of[0]), "r"(of[1]),
                 "r"(of[2]), "r"(of[3]));
}
__global__ void store_volume(cudaSurfaceObject_t surface) {
    const int x = threadIdx.x, y = threadIdx.y, z = threadIdx.z;
    asm volatile("sust.p.3d.v2.b32.trap [%0, {%1, %2, %3, %3}], {%4, %5};" ::"l"(surface), "r"(x), "r"(y), "r"(z),
                 "r"(x - 100 * z), "r"(-y));
}
__global__ void store_row(cudaSurfaceObject_t surface, float value, int step) {
    asm volatile("sust.p.1d.b32.trap [%0, {%1}], {%2};" ::"l"(surface), "r"((int)threadIdx.x * step), "f"(value));
}

__global__ void add_volume(cudaSurfaceObject_t surface) {
    asm volatile("sured.b.add.3d.u32.trap [%0, {%1, %2, %3, %3}], %4;" ::"l"(surface), "r"((int)threadIdx.x % WIDTH * 4),
                 "r"((int)threadIdx.x % HEIGHT), "r"((int)threadIdx.x % DEPTH), "r"(1));
}

__global__ void racing(cudaSurfaceObject_t surface, int *to) {
    if (threadIdx.x == 40) asm volatile("sured.b.add.2d.u32.trap [%0, {%1, %1}], %2;" ::"l"(surface), "r"(0), "r"(1));
    if (threadIdx.x == 3) *to = surf2Dread<int>(surface, 0, 0);
}

#define ASK(kind, what, result, handle) asm volatile(kind "." what ".b32 %0, [%1];" : "=r"(result) : "l"(handle))
__global__ void ask(int *to, cudaTextureObject_t line, cudaTextureObject_t plane, cudaTextureObject_t volume,
                    cudaTextureObject_t layers, cudaSurfaceObject_t surface) {
    ASK("txq", "width", to[0], line);
    ASK("txq", "width", to[1], plane);
    ASK("txq", "height", to[2], plane);
    ASK("txq", "normalized_coords", to[3], plane);
    ASK("txq", "depth", to[4], volume);
    ASK("txq", "array_size", to[5], layers);
    ASK("txq", "height", to[6], layers);
    ASK("txq", "normalized_coords", to[7], line);
    ASK("suq", "width", to[8], surface);
    ASK("suq", "height", to[9], surface);
}

__global__ void ask_wrongly(int *to, cudaTextureObject_t plane) { ASK("txq", "depth", to[0], plane); }
__global__ void ask_formats(int *to, cudaTextureObject_t plane) { ASK("txq", "channel_order", to[0], plane); }

// Of 16 bits, as in PTX 1.
__global__ void old_registers(unsigned *to) {
    unsigned thread, block;
    unsigned short threads, blocks;
    asm volatile("cvt.u32.u16 %0, %%tid.x;" : "=r"(thread));
    asm volatile("cvt.u32.u16 %0, %%ctaid.x;" : "=r"(block));
    asm volatile("mov.u16 %0, %%ntid.x;" : "=h"(threads));
    asm volatile("mov.u16 %0, %%nctaid.x;" : "=h"(blocks));
    if (blockIdx.x >= 65536 && thread < 2) to[thread] = block + thread * 1000 + threads * 10000 + blocks * 1000000;
}

static cudaResourceDesc of(cudaArray_t array) {
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    return resource;
}

struct half1 { // CUDA's half has no template for its channels
    uint16_t x;
};
struct half2 {
    uint16_t x, y;
};
template <class T> cudaChannelFormatDesc format_of() { return cudaCreateChannelDesc<T>(); }
template <> cudaChannelFormatDesc format_of<half1>() { return cudaCreateChannelDescHalf1(); }
template <> cudaChannelFormatDesc format_of<half2>() { return cudaCreateChannelDescHalf2(); }

template <class T> static cudaArray_t array_of(int height, int depth, unsigned flags) {
    const cudaChannelFormatDesc format = format_of<T>();
    cudaArray_t array;
    CHECK(cudaMalloc3DArray(&array, &format, make_cudaExtent(WIDTH, height, depth), flags));
    return array;
}

static cudaTextureObject_t texture_of(cudaArray_t array, bool is_normalised) {
    const cudaResourceDesc resource = of(array);
    cudaTextureDesc sampler = {};
    cudaTextureObject_t texture;
    sampler.normalizedCoords = is_normalised;
    CHECK(cudaCreateTextureObject(&texture, &resource, &sampler, nullptr));
    return texture;
}

// What `kernel` leaves of texels that began as `texel * 3 - 40` compared with `step`, done one thread after the other.
template <class T, class V, class S>
static bool is_reduced(void (*kernel)(cudaSurfaceObject_t, V), V factor, bool clamps, S step) {
    using channel = typename std::conditional<sizeof(T) == 8, uint2, T>::type;
    const cudaArray_t array = array_of<channel>(HEIGHT, 0, cudaArraySurfaceLoadStore);
    const cudaResourceDesc resource = of(array);
    cudaSurfaceObject_t surface;
    T expected[HEIGHT][WIDTH], found[HEIGHT][WIDTH];
    for (int i = 0; i < HEIGHT * WIDTH; i++) expected[i / WIDTH][i % WIDTH] = (T)(i * 3 - 40);
    CHECK(cudaMemcpy2DToArray(array, 0, 0, expected, sizeof expected[0], sizeof expected[0], HEIGHT, cudaMemcpyDefault));
    CHECK(cudaCreateSurfaceObject(&surface, &resource));
    kernel<<<1, THREADS>>>(surface, factor);
    CHECK(cudaMemcpy2DFromArray(found, sizeof found[0], array, 0, 0, sizeof found[0], HEIGHT, cudaMemcpyDefault));
    for (int t = 0; t < THREADS; t++) {
        int x = t % 12 - 2;
        if (clamps) x = std::min(std::max(x, 0), WIDTH - 1);
        if (x >= 0 && x < WIDTH) expected[t % HEIGHT][x] = step(expected[t % HEIGHT][x], (T)(t * factor));
    }
    CHECK(cudaDestroySurfaceObject(surface));
    CHECK(cudaFreeArray(array));
    return !memcmp(found, expected, sizeof found);
}

template <class T> static T sum(T a, T b) { return a + b; }
template <class T> static T least(T a, T b) { return std::min(a, b); }
template <class T> static T most(T a, T b) { return std::max(a, b); }

static cudaSurfaceObject_t surface_of(cudaArray_t array) {
    const cudaResourceDesc resource = of(array);
    cudaSurfaceObject_t surface;
    CHECK(cudaCreateSurfaceObject(&surface, &resource));
    return surface;
}

static void print(const char *name, const void *bytes, size_t nbytes) {
    printf("%s ", name);
    for (size_t i = 0; i < nbytes; i++) printf("%02x", ((const unsigned char *)bytes)[i]);
    putchar('\n');
}

// Value i is (i * 37 % 97 - offset) / divisor.
template <class T, class V> static void print_plane(const char *name, int offset, V divisor) {
    const cudaArray_t array = array_of<T>(HEIGHT, 0, cudaArraySurfaceLoadStore);
    const cudaSurfaceObject_t surface = surface_of(array);
    V values[4 * 60], *from;
    T found[HEIGHT * WIDTH];
    for (int i = 0; i < 4 * 60; i++) values[i] = (V)(i * 37 % 97 - offset) / divisor;
    CHECK(cudaMalloc(&from, sizeof values));
    CHECK(cudaMemcpy(from, values, sizeof values, cudaMemcpyDefault));
    store_plane<<<1, 60>>>(surface, from);
    CHECK(cudaMemcpy2DFromArray(found, sizeof(T) * WIDTH, array, 0, 0, sizeof(T) * WIDTH, HEIGHT, cudaMemcpyDefault));
    print(name, found, sizeof found);
    CHECK(cudaFree(from));
    CHECK(cudaDestroySurfaceObject(surface));
    CHECK(cudaFreeArray(array));
}

static int formats() {
    const cudaArray_t array = array_of<short2>(HEIGHT, DEPTH, cudaArraySurfaceLoadStore);
    const cudaSurfaceObject_t surface = surface_of(array);
    short2 found[DEPTH * HEIGHT * WIDTH];
    cudaMemcpy3DParms parameters = {};
    print_plane<float>("f32", 48, 3.0f);
    print_plane<half2>("f16", 48, 8.0f);
    print_plane<uchar4>("u8", 0, 1);
    print_plane<short4>("s16", 48, 1);
    print_plane<char1>("s8", 48, 1);
    print_plane<uint2>("u32", 0, 1);
    store_volume<<<1, dim3(WIDTH, HEIGHT, DEPTH)>>>(surface);
    parameters.srcArray = array;
    parameters.dstPtr = make_cudaPitchedPtr(found, WIDTH * sizeof *found, WIDTH, HEIGHT);
    parameters.extent = make_cudaExtent(WIDTH, HEIGHT, DEPTH);
    parameters.kind = cudaMemcpyDefault;
    CHECK(cudaMemcpy3D(&parameters));
    print("volume", found, sizeof found);
    CHECK(cudaDestroySurfaceObject(surface));
    CHECK(cudaFreeArray(array));
    return 0;
}

static int wrong_formats(const char *what) {
    const bool is_of_two = !strcmp(what, "fewer");
    const cudaSurfaceObject_t surface =
        surface_of(is_of_two ? array_of<half2>(0, 0, cudaArraySurfaceLoadStore) : array_of<half1>(0, 0, cudaArraySurfaceLoadStore));
    if (!strcmp(what, "floats")) add_texels<<<1, 1>>>(surface_of(array_of<float>(HEIGHT, 0, cudaArraySurfaceLoadStore)), 1);
    else store_row<<<1, WIDTH>>>(surface, !strcmp(what, "rounded") ? 0.1f : 0.5f, !strcmp(what, "beside") ? 2 : 1);
    return cudaDeviceSynchronize() != cudaSuccess;
}

static int volumes() {
    const cudaArray_t array = array_of<int>(HEIGHT, DEPTH, cudaArraySurfaceLoadStore);
    const cudaResourceDesc resource = of(array);
    unsigned counts[DEPTH][HEIGHT][WIDTH] = {};
    cudaSurfaceObject_t surface;
    cudaMemcpy3DParms parameters = {};
    parameters.dstArray = array;
    parameters.srcPtr = make_cudaPitchedPtr(counts, sizeof counts[0][0], WIDTH, HEIGHT);
    parameters.extent = make_cudaExtent(WIDTH, HEIGHT, DEPTH);
    parameters.kind = cudaMemcpyDefault;
    CHECK(cudaMemcpy3D(&parameters));
    CHECK(cudaCreateSurfaceObject(&surface, &resource));
    add_volume<<<2, 240>>>(surface);
    std::swap(parameters.dstArray, parameters.srcArray), std::swap(parameters.dstPtr, parameters.srcPtr);
    CHECK(cudaMemcpy3D(&parameters));
    for (int t = 0; t < 480; t++) counts[t % 240 % DEPTH][t % 240 % HEIGHT][t % 240 % WIDTH]--;
    for (int i = 0; i < DEPTH * HEIGHT * WIDTH; i++) EXPECT(counts[0][0][i] == 0);
    CHECK(cudaDestroySurfaceObject(surface));
    CHECK(cudaFreeArray(array));
    return 0;
}

static int queries(int *out, const char *what) {
    const cudaArray_t arrays[] = {array_of<int>(0, 0, 0), array_of<float>(HEIGHT, 0, cudaArraySurfaceLoadStore),
                                  array_of<int>(HEIGHT, DEPTH, 0), array_of<int>(HEIGHT, 4, cudaArrayLayered)};
    cudaTextureObject_t textures[4];
    cudaSurfaceObject_t surface;
    const cudaResourceDesc resource = of(arrays[1]);
    const float zeros[HEIGHT][WIDTH] = {};
    int told[10];
    CHECK(cudaMemcpy2DToArray(arrays[1], 0, 0, zeros, sizeof zeros[0], sizeof zeros[0], HEIGHT, cudaMemcpyDefault));
    for (int i = 0; i < 4; i++) textures[i] = texture_of(arrays[i], i == 1);
    CHECK(cudaCreateSurfaceObject(&surface, &resource));
    if (!strcmp(what, "depth")) ask_wrongly<<<1, 1>>>(out, textures[1]);
    if (!strcmp(what, "format")) ask_formats<<<1, 1>>>(out, textures[1]);
    if (!strcmp(what, "trap")) trapping<<<1, THREADS>>>(surface, 1);
    if (!strcmp(what, "race")) racing<<<1, 64>>>(surface, out);
    if (*what) return cudaDeviceSynchronize() != cudaSuccess;
    ask<<<1, 32>>>(out, textures[0], textures[1], textures[2], textures[3], surface);
    CHECK(cudaMemcpy(told, out, sizeof told, cudaMemcpyDefault));
    const int expected[] = {WIDTH, WIDTH, HEIGHT, 1, DEPTH, 4, HEIGHT, 0, WIDTH, HEIGHT};
    EXPECT(!memcmp(told, expected, sizeof told));
    for (cudaTextureObject_t texture : textures) CHECK(cudaDestroyTextureObject(texture));
    CHECK(cudaDestroySurfaceObject(surface));
    for (cudaArray_t array : arrays) CHECK(cudaFreeArray(array));
    return 0;
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "";
    int *out;
    unsigned told[2];
    CHECK(cudaMalloc(&out, 64));
    if (!strcmp(what, "formats")) return formats() || cudaFree(out);
    for (const char *wrong : {"rounded", "fewer", "floats", "beside"})
        if (!strcmp(what, wrong)) return wrong_formats(what);
    if (*what) return queries(out, what);
    EXPECT((is_reduced<int>(add_signed, -7, true, sum<int>)));
    EXPECT((is_reduced<int>(least_signed, -3, false, least<int>)));
    EXPECT((is_reduced<unsigned>(most_unsigned, 50000000u, true, most<unsigned>)));
    EXPECT((is_reduced<unsigned>(any_bits, 77u, false, [](unsigned a, unsigned b) { return a | b; })));
    EXPECT((is_reduced<unsigned>(all_bits, 99999u, true, [](unsigned a, unsigned b) { return a & b; })));
    EXPECT((is_reduced<uint64_t>(add_wide, uint64_t(1) << 58, false, sum<uint64_t>)));
    EXPECT((is_reduced<int64_t>(least_wide, int64_t(-1) << 40, true, least<int64_t>)));
    EXPECT((is_reduced<int>(add_texels, -7, true, sum<int>)));
    EXPECT((is_reduced<int>(least_texels, -3, false, least<int>)));
    EXPECT((is_reduced<unsigned>(least_texels, -3, false, least<unsigned>)));
    EXPECT((is_reduced<int>(most_texels, -3, true, most<int>)));
    EXPECT((is_reduced<unsigned>(any_texels, 77u, false, [](unsigned a, unsigned b) { return a | b; })));
    int line = volumes();
    if (!line) line = queries(out, "");
    if (line) return line;
    old_registers<<<65537, 32>>>((unsigned *)out);
    CHECK(cudaMemcpy(told, out, sizeof told, cudaMemcpyDefault));
    EXPECT(told[0] == 32 * 10000 + 1000000 && told[1] == told[0] + 1000);
    CHECK(cudaFree(out));
    return 0;
}
