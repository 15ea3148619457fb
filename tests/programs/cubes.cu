// Cube maps, fetched from in the directions of an H200's record; tests/test_program_textures.py compares the bits.
#include <cmath>
#include <cstdint>
#include <cstring>
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

/* Of a cube's direction and two steps of it; a level's texels are its number, and 10 times that of the cube. */
__device__ __host__ static void directions(uint32_t i, float from[3], float steps[2][3]) {
    for (int d = 0; d < 3; d++) {
        from[d] = (int)(mix(9 * i + d) >> 8) * 0x1p-23f - 1;
        for (int s = 0; s < 2; s++) steps[s][d] = ((int)(mix(9 * i + 3 + 3 * s + d) >> 8) * 0x1p-23f - 1) * (1 << i % 6) / 16;
    }
}

__global__ void fetch_by_steps(cudaTextureObject_t texture, float *out, bool is_layered) {
    float from[3], steps[2][3];
    directions(threadIdx.x, from, steps);
    const float4 x = make_float4(steps[0][0], steps[0][1], steps[0][2], 0), y = make_float4(steps[1][0], steps[1][1], steps[1][2], 0);
    out[threadIdx.x] = is_layered ? texCubemapLayeredGrad<float>(texture, from[0], from[1], from[2], threadIdx.x & 1, x, y)
                                  : texCubemapGrad<float>(texture, from[0], from[1], from[2], x, y);
}

__global__ void ask(cudaTextureObject_t texture, int *out) {
    asm("txq.num_mipmap_levels.b32 %0, [%1];" : "=r"(out[0]) : "l"(texture));
    asm("txq.num_samples.b32 %0, [%1];" : "=r"(out[1]) : "l"(texture));
}

/* How far the place on the face that `from` lies on moves, in texels of the first level, if the direction takes a small part
 * of the step: by differences. */
static double texels_moved(const float from[3], const float step[3]) {
    const double part = 1e-6;
    double sum = 0;
    int major = 0;
    for (int d = 1; d < 3; d++)
        if (fabs(from[d]) > fabs(from[major])) major = d;
    for (int d = 0; d < 3; d++) {
        if (d == major) continue;
        const double moved = (from[d] + part * step[d]) / (from[major] + part * step[major]) - (double)from[d] / from[major];
        sum += pow(moved / 2 / part * SIDE, 2);
    }
    return sqrt(sum);
}

static cudaMipmappedArray_t make_levels(int cubes, int levels) {
    cudaMipmappedArray_t mipmap;
    cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    const unsigned flags = cubes > 1 ? cudaArrayCubemap | cudaArrayLayered : cudaArrayCubemap;
    CHECK(cudaMallocMipmappedArray(&mipmap, &format, make_cudaExtent(SIDE, SIDE, FACES * cubes), levels, flags));
    for (int level = 0; level < levels; level++) {
        const size_t side = SIDE >> level, face = side * side;
        std::vector<float> texels(face * FACES * cubes);
        for (size_t i = 0; i < texels.size(); i++) texels[i] = level + 10 * (int)(i / face / FACES);
        cudaMemcpy3DParms copy = {};
        CHECK(cudaGetMipmappedArrayLevel(&copy.dstArray, mipmap, level));
        copy.srcPtr = make_cudaPitchedPtr(texels.data(), side * sizeof(float), side, side);
        copy.extent = make_cudaExtent(side, side, FACES * cubes);
        copy.kind = cudaMemcpyHostToDevice;
        CHECK(cudaMemcpy3D(&copy));
    }
    return mipmap;
}

/* Prints what is wrong, and how many fetches were compared: those whose level is not about in the middle between two. */
static void check_steps(int cubes) {
    enum { LEVELS = 4, POINTS = 256 };
    cudaResourceDesc resource = {};
    cudaTextureDesc sampler = {};
    cudaTextureObject_t texture;
    float *out;
    int compared[LEVELS] = {}, asked[2];
    resource.resType = cudaResourceTypeMipmappedArray;
    resource.res.mipmap.mipmap = make_levels(cubes, LEVELS);
    sampler.normalizedCoords = 1;
    sampler.maxMipmapLevelClamp = LEVELS;
    CHECK(cudaCreateTextureObject(&texture, &resource, &sampler, 0));
    CHECK(cudaMallocManaged(&out, POINTS * sizeof *out));
    ask<<<1, 1>>>(texture, (int *)out);
    CHECK(cudaMemcpy(asked, out, sizeof asked, cudaMemcpyDefault));
    fetch_by_steps<<<1, POINTS>>>(texture, out, cubes > 1);
    CHECK(cudaDeviceSynchronize());
    for (uint32_t i = 0; i < POINTS; i++) {
        float from[3], steps[2][3];
        directions(i, from, steps);
        const double level = log2(fmax(texels_moved(from, steps[0]), texels_moved(from, steps[1])));
        const double clamped = fmin(fmax(level, 0), LEVELS - 1), nearest = floor(clamped + 0.5);
        if (fabs(clamped + 0.5 - nearest) < 0.01 || fabs(clamped - 0.5 - nearest) < 0.01) continue;
        compared[(int)nearest]++;
        if (out[i] != nearest + (cubes > 1 ? 10 * (i & 1) : 0)) printf("step %d: %g, not %g\n", i, out[i], nearest);
    }
    printf("%d levels, %d sample; compared %d %d %d %d\n", asked[0], asked[1], compared[0] > 9, compared[1] > 9, compared[2] > 9, compared[3] > 9);
    CHECK(cudaDestroyTextureObject(texture));
    CHECK(cudaFreeMipmappedArray(resource.res.mipmap.mipmap));
    CHECK(cudaFree(out));
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
    if (words > 1 && !strcmp(word[1], "steps")) return check_steps(1), check_steps(CUBES), 0;
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
