// Cube maps, fetched from in the directions of an H200's record; tests/test_program_textures.py compares the bits.
#include <cstdint>
#include <vector>

#include "check.cuh"

enum { SIDE = 8, CUBES = 2, FACES = 6 };

static __host__ __device__ uint32_t mix(uint32_t x) {
    x = (x ^ x >> 16) * 0x7feb352d;
    x = (x ^ x >> 15) * 0x846ca68b;
    return x ^ x >> 16;
}

/* In [-1, 1). */
static __device__ float number(uint32_t i) { return (int)(mix(i) >> 8) * 0x1p-23f - 1; }

__global__ void fetch(cudaTextureObject_t texture, float *out, bool is_layered) {
    uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = number(3 * i), y = number(3 * i + 1), z = number(3 * i + 2);
    out[i] = is_layered ? texCubemapLayered<float>(texture, x, y, z, i & 1) : texCubemap<float>(texture, x, y, z);
}

/* +x of all of a cube's faces and beyond its layers: the first texel of the face's row that the middle lies in. */
__global__ void axes(cudaTextureObject_t texture, float *out) {
    const float directions[6][3] = {{1, 0, 0}, {-1, 0, 0}, {0, 1, 0}, {0, -1, 0}, {0, 0, 1}, {0, 0, -1}};
    const float *d = directions[threadIdx.x % 6];
    out[threadIdx.x] = texCubemapLayered<float>(texture, d[0], d[1], d[2], (int)(threadIdx.x / 6) - 1);
}

static cudaArray_t make(const std::vector<float> &texels, int cubes) {
    cudaArray_t array;
    cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    cudaExtent extent = make_cudaExtent(SIDE, SIDE, FACES * cubes);
    cudaMemcpy3DParms copy = {};
    CHECK(cudaMalloc3DArray(&array, &format, extent, cubes > 1 ? cudaArrayCubemap | cudaArrayLayered : cudaArrayCubemap));
    copy.srcPtr = make_cudaPitchedPtr((void *)texels.data(), SIDE * sizeof(float), SIDE, SIDE);
    copy.dstArray = array;
    copy.extent = extent;
    copy.kind = cudaMemcpyHostToDevice;
    CHECK(cudaMemcpy3D(&copy));
    return array;
}

static cudaError_t object(cudaTextureObject_t *texture, cudaArray_t array, bool is_linear, bool is_seamless = false) {
    cudaResourceDesc resource = {};
    cudaTextureDesc sampler = {};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    sampler.normalizedCoords = 1;
    sampler.filterMode = is_linear ? cudaFilterModeLinear : cudaFilterModePoint;
    sampler.seamlessCubemap = is_seamless;
    return cudaCreateTextureObject(texture, &resource, &sampler, 0);
}

int main(int words, char **word) {
    const int count = words > 1 ? atoi(word[1]) : 256;
    std::vector<float> texels(SIDE * SIDE * FACES * CUBES), host(count);
    for (size_t i = 0; i < texels.size(); i++) texels[i] = (mix(1000000 + (uint32_t)i) >> 8) * 0x1p-24f;
    cudaArray_t one = make(texels, 1), two = make(texels, CUBES);
    cudaTextureObject_t texture;
    float *out;
    CHECK(cudaMalloc(&out, count * sizeof *out));
    for (int kind = 0; kind < 3; kind++) {
        CHECK(object(&texture, kind == 2 ? two : one, kind == 1));
        fetch<<<count / 256, 256>>>(texture, out, kind == 2);
        CHECK(cudaMemcpy(host.data(), out, count * sizeof *out, cudaMemcpyDeviceToHost));
        for (float value : host) printf("%08x ", reinterpret_cast<uint32_t &>(value));
        puts("");
    }
    axes<<<1, 24>>>(texture, out);
    CHECK(cudaMemcpy(host.data(), out, 24 * sizeof *out, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 24; i++) {
        const int cube = i / 6 - 1, face = i % 6 + FACES * (cube < 0 ? 0 : cube > 1 ? 1 : cube);
        if (host[i] != texels[(face * SIDE + SIDE / 2) * SIDE + SIDE / 2]) printf("axis %d\n", i);
    }
    cudaArray_t wrong;
    cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    puts(cudaGetErrorName(object(&texture, one, true, true)));
    puts(cudaGetErrorName(cudaMalloc3DArray(&wrong, &format, make_cudaExtent(8, 8, 7), cudaArrayCubemap)));
    puts(cudaGetErrorName(cudaMalloc3DArray(&wrong, &format, make_cudaExtent(8, 4, 6), cudaArrayCubemap)));
    CHECK(cudaFreeArray(one));
    CHECK(cudaFreeArray(two));
    CHECK(cudaFree(out));
}
