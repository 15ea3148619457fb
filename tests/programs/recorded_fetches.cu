// Fetches that an H200 has recorded (tests/golden/fetches-h200.txt): texels gathered from cubes, pairs of f16, and filtered f16.
#include <cmath>
#include <cstdint>
#include <vector>

#include <cuda_fp16.h>

#include "check.cuh"

enum { SIZE = 8, FACES = 6, LAYERS = 3, FETCHES = 64, WORDS = 8 };

static __host__ __device__ uint32_t scrambled(uint32_t number) {
    uint32_t x = (number + 1) * 2654435761u;
    x = (x ^ x >> 15) * 2246822519u;
    x = (x ^ x >> 13) * 3266489917u;
    return x ^ x >> 16;
}
static __device__ float random(uint32_t fetch, uint32_t number) { return (int(scrambled(fetch * 64 + number) % 2000001) - 1000000) / 1e6f; }

#define RESULTS(out) "=f"((out)[0]), "=f"((out)[1]), "=f"((out)[2]), "=f"((out)[3])
#define DIRECTION(i) "f"(random(i, 0)), "f"(random(i, 1)), "f"(random(i, 2))

__global__ void gather_cube(cudaTextureObject_t texture, float *out) {
    const uint32_t i = threadIdx.x;
    out += WORDS * i;
    asm("tld4.r.cube.v4.f32.f32 {%0, %1, %2, %3}, [%4, {%5, %6, %7, %7}];" : RESULTS(out) : "l"(texture), DIRECTION(i));
    asm("tld4.g.cube.v4.f32.f32 {%0, %1, %2, %3}, [%4, {%5, %6, %7, %7}];" : RESULTS(out + 4) : "l"(texture), DIRECTION(i));
}
__global__ void gather_cubes(cudaTextureObject_t texture, float *out) {
    const uint32_t i = threadIdx.x;
    out += WORDS * i;
    asm("tld4.r.acube.v4.f32.f32 {%0, %1, %2, %3}, [%4, {%8, %5, %6, %7}];" : RESULTS(out) : "l"(texture), DIRECTION(i), "r"(i % LAYERS));
    asm("tld4.g.acube.v4.f32.f32 {%0, %1, %2, %3}, [%4, {%8, %5, %6, %7}];" : RESULTS(out + 4) : "l"(texture), DIRECTION(i), "r"(i % LAYERS));
}
/* Places are partly outside. */
__global__ void fetch_pairs(cudaTextureObject_t texture, uint32_t *out) {
    const uint32_t i = threadIdx.x;
    const float x = random(i, 3) * 5 + 4, y = random(i, 4) * 5 + 4;
    out += WORDS * i;
    asm("tex.2d.v2.f16x2.f32 {%0, %1}, [%2, {%3, %4}];" : "=r"(out[0]), "=r"(out[1]) : "l"(texture), "f"(x), "f"(y));
}
__global__ void fetch_floats(cudaTextureObject_t texture, float4 *out) {
    const uint32_t i = threadIdx.x;
    out[i * WORDS * sizeof(float) / sizeof *out] = tex2D<float4>(texture, random(i, 3) * 5 + 4, random(i, 4) * 5 + 4);
}

template <class T> struct texture {
    cudaArray_t array;
    cudaTextureObject_t object;
    texture(const std::vector<T> &texels, cudaChannelFormatDesc format, int depth, unsigned flags, cudaTextureDesc how) {
        const cudaExtent kept = {SIZE, SIZE, size_t(flags ? depth : 0)}, copied = {SIZE, SIZE, size_t(depth)};
        CHECK(cudaMalloc3DArray(&array, &format, kept, flags));
        cudaMemcpy3DParms copy{};
        const size_t row = texels.size() / (SIZE * depth) * sizeof(T);
        copy.srcPtr = make_cudaPitchedPtr(const_cast<T *>(texels.data()), row, SIZE, SIZE);
        copy.dstArray = array;
        copy.extent = copied;
        copy.kind = cudaMemcpyHostToDevice;
        CHECK(cudaMemcpy3D(&copy));
        cudaResourceDesc resource{};
        resource.resType = cudaResourceTypeArray;
        resource.res.array.array = array;
        CHECK(cudaCreateTextureObject(&object, &resource, &how, nullptr));
    }
    ~texture() {
        CHECK(cudaDestroyTextureObject(object));
        CHECK(cudaFreeArray(array));
    }
};

/* The first `count` words of each. */
template <class T, class W>
static void print(const char *name, const texture<T> &from, int count, void (*kernel)(cudaTextureObject_t, W *)) {
    uint32_t words[FETCHES * WORDS] = {};
    W *out;
    CHECK(cudaMalloc(&out, sizeof words));
    CHECK(cudaMemset(out, 0, sizeof words));
    kernel<<<1, FETCHES>>>(from.object, out);
    CHECK(cudaMemcpy(words, out, sizeof words, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(out));
    printf("%s", name);
    for (int i = 0; i < FETCHES * WORDS; i++)
        if (i % WORDS < count) printf(" %x", words[i]);
    printf("\n");
}

static void gather(const char *name, int mode, int layers) {
    std::vector<float> texels(2 * SIZE * SIZE * FACES * layers);
    for (size_t i = 0; i < texels.size(); i++) texels[i] = float(i);
    cudaTextureDesc how{};
    how.normalizedCoords = 1;
    for (auto &each : how.addressMode) each = cudaTextureAddressMode(mode);
    const unsigned flags = cudaArrayCubemap | (layers > 1 ? cudaArrayLayered : 0);
    const texture<float> cubes(texels, cudaCreateChannelDesc<float2>(), FACES * layers, flags, how);
    print(name, cubes, 8, layers > 1 ? gather_cubes : gather_cube);
}

template <class T, class F> static void fetch(const char *name, cudaChannelFormatDesc format, cudaTextureReadMode read, F texel) {
    std::vector<T> texels(4 * SIZE * SIZE);
    for (uint32_t i = 0; i < texels.size(); i++) texels[i] = texel(i);
    for (int is_linear = 0; is_linear < 2; is_linear++) {
        cudaTextureDesc how{};
        for (auto &each : how.addressMode) each = cudaAddressModeClamp;
        how.filterMode = is_linear ? cudaFilterModeLinear : cudaFilterModePoint;
        how.readMode = read;
        const texture<T> plane(texels, format, 1, 0, how);
        printf("%s pairs of ", is_linear ? "filtered" : "nearest");
        print(name, plane, 2, fetch_pairs);
        if (is_linear && format.f == cudaChannelFormatKindFloat && format.x == 16) print("filtered", plane, 4, fetch_floats);
    }
}

int main() {
    const char *const modes[] = {"cube wrapped", "cube clamped", "cube mirrored"};
    for (int mode = 0; mode < 3; mode++) gather(modes[mode], mode, 1);
    gather("cubes", cudaAddressModeClamp, LAYERS);
    fetch<float>("f32", cudaCreateChannelDesc<float4>(), cudaReadModeElementType, [](uint32_t i) {
        return ldexpf(float(int(scrambled(i) % 16777217) - 8388608), int(scrambled(i + 999) % 44) - 46);
    });
    fetch<unsigned short>("f16", cudaCreateChannelDescHalf4(), cudaReadModeElementType, [](uint32_t i) { return scrambled(i) & 0xbbff; });
    fetch<unsigned char>("u8", cudaCreateChannelDesc<uchar4>(), cudaReadModeNormalizedFloat, scrambled);
}
