// Filtered 3d textures as an H200 has recorded them (tests/golden/volumes-h200.txt): texels of very different size and of like size, at places
// that lie between texels in some dimensions, and in all of them half-way.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#include <vector>

#define CHECK(call)                                                                                  \
    do {                                                                                             \
        const cudaError_t is = (call);                                                               \
        if (is != cudaSuccess) return printf("%s: %s\n", #call, cudaGetErrorName(is)), exit(1);      \
    } while (0)

enum { SIZE = 16, KINDS = 8, FETCHES = 128, STRIDE = 8192 };

__host__ __device__ static uint32_t scrambled(uint32_t number) {
    uint32_t x = (number + 1) * 2654435761u;
    x = (x ^ x >> 15) * 2246822519u;
    x = (x ^ x >> 13) * 3266489917u;
    return x ^ x >> 16;
}

/* A block for each kind, whose bits say in which dimensions a place lies between texels; 0: half-way in all. */
__global__ void fetch(cudaTextureObject_t texture, float *out) {
    const uint32_t kind = blockIdx.x, i = kind * STRIDE + threadIdx.x;
    float at[3];
    for (uint32_t d = 0; d < 3; d++) {
        const uint32_t random = scrambled(4 * i + d);
        const uint32_t part = kind == 0 ? 128 : kind >> d & 1 ? random >> 16 & 255 : 0;
        at[d] = random % (SIZE - 1) + 0.5f + part / 256.0f;
    }
    out[kind * FETCHES + threadIdx.x] = tex3D<float>(texture, at[0], at[1], at[2]);
}

static cudaTextureObject_t filtered(cudaArray_t array) {
    cudaResourceDesc resource{};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    cudaTextureDesc how{};
    for (auto &mode : how.addressMode) mode = cudaAddressModeClamp;
    how.filterMode = cudaFilterModeLinear;
    cudaTextureObject_t texture = 0;
    cudaCreateTextureObject(&texture, &resource, &how, nullptr);
    return texture;
}

template <class T> static void record(const char *name, cudaChannelFormatDesc format, T (*texel)(uint32_t)) {
    std::vector<T> texels(SIZE * SIZE * SIZE);
    for (uint32_t i = 0; i < texels.size(); i++) texels[i] = texel(i);
    const cudaExtent extent = {SIZE, SIZE, SIZE};
    cudaArray_t array;
    CHECK(cudaMalloc3DArray(&array, &format, extent, 0));
    cudaMemcpy3DParms copy{};
    copy.srcPtr = make_cudaPitchedPtr(texels.data(), SIZE * sizeof(T), SIZE, SIZE);
    copy.dstArray = array;
    copy.extent = extent;
    copy.kind = cudaMemcpyHostToDevice;
    CHECK(cudaMemcpy3D(&copy));
    const cudaTextureObject_t texture = filtered(array);
    uint32_t words[KINDS * FETCHES];
    float *out;
    CHECK(cudaMalloc(&out, sizeof words));
    fetch<<<KINDS, FETCHES>>>(texture, out);
    CHECK(cudaMemcpy(words, out, sizeof words, cudaMemcpyDeviceToHost));
    for (uint32_t i = 0; i < KINDS * FETCHES; i++) {
        if (i % FETCHES == 0) printf("%s%s-%u", i ? "\n" : "", name, i / FETCHES);
        printf(" %x", words[i]);
    }
    printf("\n");
    CHECK(cudaFree(out));
    CHECK(cudaDestroyTextureObject(texture));
    CHECK(cudaFreeArray(array));
}

static float from(uint32_t i, int exponents, int most) {
    return ldexpf(float(int(scrambled(i) % 16777217) - 8388608), int(scrambled(i + 999) % exponents) - most);
}

int main() {
    const cudaChannelFormatDesc half = cudaCreateChannelDesc(16, 0, 0, 0, cudaChannelFormatKindFloat), single = cudaCreateChannelDesc<float>();
    record<unsigned short>("f16-any", half, [](uint32_t i) -> unsigned short { return scrambled(i) & 0xbbff; });
    record<unsigned short>("f16-alike", half, [](uint32_t i) -> unsigned short {
        return (scrambled(i) & 0x83ff) | (12 + (scrambled(i) >> 16 & 3)) << 10;
    });
    record<float>("f32-any", single, [](uint32_t i) { return from(i, 44, 46); });
    record<float>("f32-alike", single, [](uint32_t i) { return from(i, 4, 23); });
}
