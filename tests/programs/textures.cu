// Fetches from textures of every kind that the simulator knows, printed as bits; tests/test_program_textures.py computes them.
#include <cstring>
#include <type_traits>

#include <cuda_fp16.h>

#include "check.cuh"

enum { WIDTH = 7, HEIGHT = 5, DEPTH = 3, POINTS = 64 };

/* In [-2, 3) of the size, by steps that 2^-10 divides: exact in f32. */
static __host__ __device__ float coordinate(int i, int d, float size) {
    return ((i * (37 + 22 * d) + 11 * d) % 80 / 16.f - 2) * size + (i % 8) / 64.f;
}

__global__ void fetch_1d(cudaTextureObject_t texture, float scale, float *out) {
    out[threadIdx.x] = tex1D<float>(texture, coordinate(threadIdx.x, 0, scale * WIDTH));
}
__global__ void fetch_2d(cudaTextureObject_t texture, float sx, float sy, float *out) {
    out[threadIdx.x] = tex2D<float>(texture, coordinate(threadIdx.x, 0, sx), coordinate(threadIdx.x, 1, sy));
}
__global__ void fetch_2d_u8(cudaTextureObject_t texture, uchar4 *out) {
    out[threadIdx.x] = tex2D<uchar4>(texture, coordinate(threadIdx.x, 0, WIDTH), coordinate(threadIdx.x, 1, HEIGHT));
}
__global__ void fetch_2d_s16(cudaTextureObject_t texture, float2 *out) {
    out[threadIdx.x] = tex2D<float2>(texture, coordinate(threadIdx.x, 0, WIDTH), coordinate(threadIdx.x, 1, HEIGHT));
}
__global__ void fetch_3d(cudaTextureObject_t texture, float *out) {
    out[threadIdx.x] = tex3D<float>(texture, coordinate(threadIdx.x, 0, WIDTH), coordinate(threadIdx.x, 1, HEIGHT),
                                    coordinate(threadIdx.x, 2, DEPTH));
}
__global__ void fetch_layer(cudaTextureObject_t texture, float *out) {
    int i = threadIdx.x;
    out[i] = tex2DLayered<float>(texture, coordinate(i, 0, WIDTH), coordinate(i, 1, HEIGHT), i % 5 - 1);
}
__global__ void fetch_linear(cudaTextureObject_t texture, int *out) {
    out[threadIdx.x] = tex1Dfetch<int>(texture, (int)threadIdx.x - 16);
}

static float texels[DEPTH][HEIGHT][WIDTH];

static void print(const char *name, const void *device, int words) {
    unsigned host[POINTS * 16];
    CHECK(cudaMemcpy(host, device, POINTS * words * 4, cudaMemcpyDeviceToHost));
    printf("%s", name);
    for (int i = 0; i < POINTS * words; i++) printf(" %08x", host[i]);
    printf("\n");
}

static cudaTextureObject_t make(const cudaResourceDesc &resource, cudaTextureAddressMode mode, bool is_linear,
                                bool is_normalised = false, bool reads_normalised = false) {
    cudaTextureDesc sampler = {};
    cudaTextureObject_t texture;
    for (auto &each : sampler.addressMode) each = mode;
    sampler.filterMode = is_linear ? cudaFilterModeLinear : cudaFilterModePoint;
    sampler.readMode = reads_normalised ? cudaReadModeNormalizedFloat : cudaReadModeElementType;
    sampler.normalizedCoords = is_normalised;
    CHECK(cudaCreateTextureObject(&texture, &resource, &sampler, nullptr));
    return texture;
}

static cudaResourceDesc of_array(cudaArray_t array) {
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    return resource;
}

static cudaArray_t array_of(int height, int depth, unsigned flags) {
    cudaArray_t array;
    cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    CHECK(cudaMalloc3DArray(&array, &format, make_cudaExtent(WIDTH, height, depth), flags));
    cudaMemcpy3DParms copy = {};
    copy.srcPtr = make_cudaPitchedPtr(texels, WIDTH * sizeof(float), WIDTH, height ? height : 1);
    copy.dstArray = array;
    copy.extent = make_cudaExtent(WIDTH, height ? height : 1, depth ? depth : 1);
    copy.kind = cudaMemcpyHostToDevice;
    CHECK(cudaMemcpy3D(&copy));
    return array;
}

template <class Launch> static void with(cudaTextureObject_t texture, const char *name, int words, Launch launch) {
    void *out;
    CHECK(cudaMalloc(&out, POINTS * words * 4));
    launch(texture, out);
    print(name, out, words);
    CHECK(cudaDestroyTextureObject(texture));
    CHECK(cudaFree(out));
}

static void plain_arrays(int mode, bool is_linear, bool is_normalised) {
    char name[64];
    const float size[2] = {is_normalised ? 1.f : (float)WIDTH, is_normalised ? 1.f : (float)HEIGHT};
    cudaArray_t row = array_of(0, 0, 0), plane = array_of(HEIGHT, 0, 0);
    snprintf(name, sizeof name, "1d %d %d %d", mode, is_linear, is_normalised);
    with(make(of_array(row), (cudaTextureAddressMode)mode, is_linear, is_normalised), name, 1,
         [&](cudaTextureObject_t texture, void *out) {
             fetch_1d<<<1, POINTS>>>(texture, size[0] / WIDTH, (float *)out);
         });
    snprintf(name, sizeof name, "2d %d %d %d", mode, is_linear, is_normalised);
    with(make(of_array(plane), (cudaTextureAddressMode)mode, is_linear, is_normalised), name, 1,
         [&](cudaTextureObject_t texture, void *out) {
             fetch_2d<<<1, POINTS>>>(texture, size[0], size[1], (float *)out);
         });
    CHECK(cudaFreeArray(row));
    CHECK(cudaFreeArray(plane));
}

/* Texels of integers in rows of plain memory. */
template <class Texel, class Fill> static void pitched(const char *name, bool reads_normalised, Fill fill) {
    Texel host[HEIGHT][WIDTH];
    void *memory;
    size_t pitch;
    cudaResourceDesc resource = {};
    for (int y = 0; y < HEIGHT; y++)
        for (int x = 0; x < WIDTH; x++) host[y][x] = fill(13 * (y * WIDTH + x));
    CHECK(cudaMallocPitch(&memory, &pitch, sizeof host[0], HEIGHT));
    CHECK(cudaMemcpy2D(memory, pitch, host, sizeof host[0], sizeof host[0], HEIGHT, cudaMemcpyHostToDevice));
    resource.resType = cudaResourceTypePitch2D;
    resource.res.pitch2D.devPtr = memory;
    resource.res.pitch2D.desc = cudaCreateChannelDesc<Texel>();
    resource.res.pitch2D.width = WIDTH;
    resource.res.pitch2D.height = HEIGHT;
    resource.res.pitch2D.pitchInBytes = pitch;
    with(make(resource, cudaAddressModeClamp, reads_normalised, false, reads_normalised), name,
         reads_normalised ? 2 : 1, [&](cudaTextureObject_t texture, void *out) {
             if (reads_normalised) fetch_2d_s16<<<1, POINTS>>>(texture, (float2 *)out);
             else fetch_2d_u8<<<1, POINTS>>>(texture, (uchar4 *)out);
         });
    CHECK(cudaFree(memory));
}

static void linear_memory() {
    int host[POINTS / 2], *memory;
    cudaResourceDesc resource = {};
    for (int i = 0; i < POINTS / 2; i++) host[i] = -i * 1001;
    CHECK(cudaMalloc(&memory, sizeof host));
    CHECK(cudaMemcpy(memory, host, sizeof host, cudaMemcpyHostToDevice));
    resource.resType = cudaResourceTypeLinear;
    resource.res.linear.devPtr = memory;
    resource.res.linear.desc = cudaCreateChannelDesc<int>();
    resource.res.linear.sizeInBytes = sizeof host;
    with(make(resource, cudaAddressModeClamp, false), "linear", 1,
         [](cudaTextureObject_t texture, void *out) { fetch_linear<<<1, POINTS>>>(texture, (int *)out); });
    CHECK(cudaFree(memory));
}

/* Rows and bytes to an array, from it, and to another. */
static void copies() {
    float host[HEIGHT][WIDTH] = {};
    cudaArray_t first = array_of(HEIGHT, 0, 0), second = array_of(HEIGHT, 0, 0);
    CHECK(cudaMemcpy2DToArray(first, 4, 1, texels[1], 12, 8, 2, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy2DArrayToArray(second, 8, 3, first, 4, 1, 8, 2, cudaMemcpyDeviceToDevice));
    CHECK(cudaMemcpy2DFromArray(host, sizeof host[0], second, 0, 0, sizeof host[0], HEIGHT, cudaMemcpyDeviceToHost));
    printf("copies %g %g %g %g %g\n", host[3][1], host[3][2], host[3][3], host[4][2], host[4][3]);
    printf("outside %d\n",
           cudaMemcpy2DToArray(first, 4, 4, texels, 8, 8, 2, cudaMemcpyHostToDevice) == cudaErrorInvalidValue);
    CHECK(cudaFreeArray(first));
    CHECK(cudaFreeArray(second));
}

/* ---- what an H200 gave (tests/golden/textures-h200.txt): random texels and points, at steps of 2^-8 --------------------- */

enum { SIDE = 16, RECORDED = 96 };

static __host__ __device__ unsigned hash(unsigned x) {
    x = (x ^ x >> 16) * 0x7feb352du;
    x = (x ^ x >> 15) * 0x846ca68bu;
    return x ^ x >> 16;
}
static __device__ float point(int i, int d) { return 0.5f + hash(3 * i + d + 1000) % ((SIDE - 1) * 256) / 256.f; }

__global__ void random_1d(cudaTextureObject_t texture, float *out) {
    out[threadIdx.x] = tex1D<float>(texture, point(threadIdx.x, 0));
}
__global__ void random_2d(cudaTextureObject_t texture, float *out) {
    out[threadIdx.x] = tex2D<float>(texture, point(threadIdx.x, 0), point(threadIdx.x, 1));
}
/* Around one texel that is 1, among others that are 0: a weight. */
__global__ void weight_3d(cudaTextureObject_t texture, float *out) {
    const unsigned i = hash(threadIdx.x) % 4096;
    out[threadIdx.x] = tex3D<float>(texture, 0.5f + i % 16 * 17 / 256.f, 0.5f + i / 16 % 16 * 17 / 256.f,
                                    0.5f + i / 256 * 17 / 256.f);
}

template <class Texel> static cudaChannelFormatDesc format_of() { return cudaCreateChannelDesc<Texel>(); }
template <> cudaChannelFormatDesc format_of<__half>() { return cudaCreateChannelDescHalf(); }

template <class Texel> static cudaArray_t array_with(const Texel *from, int width, int height, int depth) {
    cudaArray_t array;
    const cudaChannelFormatDesc format = format_of<Texel>();
    cudaMemcpy3DParms copy = {};
    CHECK(cudaMalloc3DArray(&array, &format, make_cudaExtent(width, height, depth), 0));
    copy.srcPtr = make_cudaPitchedPtr((void *)from, width * sizeof *from, width, height ? height : 1);
    copy.dstArray = array;
    copy.extent = make_cudaExtent(width, height ? height : 1, depth ? depth : 1);
    copy.kind = cudaMemcpyHostToDevice;
    CHECK(cudaMemcpy3D(&copy));
    return array;
}

template <class Texel>
static void record(const char *name, void (*kernel)(cudaTextureObject_t, float *), const Texel *from, int width, int height,
                   int depth, bool has_border, bool reads_normalised) {
    cudaArray_t array = array_with(from, width, height, depth);
    cudaResourceDesc resource = of_array(array);
    cudaTextureDesc sampler = {};
    cudaTextureObject_t texture;
    float *out, host[RECORDED];
    for (auto &each : sampler.addressMode) each = cudaAddressModeClamp;
    if (has_border) sampler.addressMode[1] = cudaAddressModeBorder;
    sampler.filterMode = cudaFilterModeLinear;
    sampler.readMode = reads_normalised ? cudaReadModeNormalizedFloat : cudaReadModeElementType;
    CHECK(cudaCreateTextureObject(&texture, &resource, &sampler, nullptr));
    CHECK(cudaMalloc(&out, sizeof host));
    kernel<<<1, RECORDED>>>(texture, out);
    CHECK(cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost));
    printf("%s", name);
    for (float each : host) {
        unsigned word;
        memcpy(&word, &each, sizeof word);
        printf(" %08x", word);
    }
    printf("\n");
    CHECK(cudaDestroyTextureObject(texture));
    CHECK(cudaFreeArray(array));
    CHECK(cudaFree(out));
}

static void recorded() {
    static float floats[SIDE * SIDE];
    static unsigned char bytes[SIDE * SIDE];
    static short shorts[SIDE * SIDE];
    static __half halves[SIDE * SIDE];
    for (unsigned i = 0; i < SIDE * SIDE; i++) {
        floats[i] = (float)(int)hash(i + 77) * 0x1p-28f;
        bytes[i] = (unsigned char)hash(i + 9);
        shorts[i] = (short)hash(i + 10);
        halves[i] = __float2half_rn((float)(int)(hash(i + 11) % 4096) - 2048);
    }
    record("f32-1d", random_1d, floats, SIDE, 0, 0, false, false);
    record("f32-1d-border", random_1d, floats, SIDE, 0, 0, true, false);
    record("f32-2d", random_2d, floats, SIDE, SIDE, 0, false, false);
    record("u8-2d", random_2d, bytes, SIDE, SIDE, 0, false, true);
    record("s16-2d", random_2d, shorts, SIDE, SIDE, 0, false, true);
    record("f16-2d", random_2d, halves, SIDE, SIDE, 0, false, false);
    for (int corner = 0; corner < 8; corner++) {
        float one[8] = {};
        char name[16];
        one[corner] = 1;
        snprintf(name, sizeof name, "weight-3d-%d", corner);
        record(name, weight_3d, one, 2, 2, 2, false, false);
    }
}

/* ---- mipmaps: levels of 8 x 4, 4 x 2, 2 x 1 and 1 x 1, the third filled by a kernel */

enum { LEVELS = 4 };

static __host__ __device__ float mipmap_texel(int level, int x, int y) { return (float)((37 * level + 11 * y + 5 * x) % 64 - 20); }

__global__ void fill_level(cudaSurfaceObject_t surface, int level) {
    surf2Dwrite(mipmap_texel(level, threadIdx.x, threadIdx.y), surface, threadIdx.x * 4, threadIdx.y);
}
__global__ void fetch_level(cudaTextureObject_t texture, float step, float *out) {
    const int i = threadIdx.x;
    out[i] = tex2DLod<float>(texture, i * 37 % 64 / 64.f, i * 23 % 32 / 32.f, i * step - 1);
}
__global__ void fetch_no_level(cudaTextureObject_t texture, float *out) {
    out[threadIdx.x] = tex2D<float>(texture, threadIdx.x % 8 / 8.f, threadIdx.x / 8 / 8.f);
}

static void fill(cudaMipmappedArray_t mipmap, int level) {
    cudaArray_t array;
    float host[32];
    const int width = 8 >> level, height = level < 2 ? 4 >> level : 1;
    for (int i = 0; i < width * height; i++) host[i] = mipmap_texel(level, i % width, i / width);
    CHECK(cudaGetMipmappedArrayLevel(&array, mipmap, level));
    cudaResourceDesc resource = of_array(array);
    cudaSurfaceObject_t surface;
    CHECK(cudaCreateSurfaceObject(&surface, &resource));
    if (level == 2) fill_level<<<1, dim3(width, height)>>>(surface, level);
    else CHECK(cudaMemcpy2DToArray(array, 0, 0, host, width * 4, width * 4, height, cudaMemcpyHostToDevice));
    CHECK(cudaDestroySurfaceObject(surface));
    if (cudaFreeArray(array) != cudaErrorInvalidValue) printf("a level was freed alone\n");
}

static void mipmaps() {
    cudaMipmappedArray_t mipmap;
    cudaArray_t beyond;
    cudaTextureObject_t texture;
    cudaResourceDesc resource = {};
    cudaTextureDesc sampler = {};
    const cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    CHECK(cudaMallocMipmappedArray(&mipmap, &format, make_cudaExtent(8, 4, 0), 99, cudaArraySurfaceLoadStore));
    for (int level = 0; level < LEVELS; level++) fill(mipmap, level);
    const cudaError_t error = cudaGetMipmappedArrayLevel(&beyond, mipmap, LEVELS);
    resource.resType = cudaResourceTypeMipmappedArray;
    resource.res.mipmap.mipmap = mipmap;
    const cudaError_t unnormalised = cudaCreateTextureObject(&texture, &resource, &sampler, nullptr);
    printf("%s %s\n", cudaGetErrorName(error), cudaGetErrorName(unnormalised));
    sampler.normalizedCoords = 1;
    for (auto &each : sampler.addressMode) each = cudaAddressModeClamp;
    for (int kind = 0; kind < 8; kind++) {
        sampler.filterMode = kind & 1 ? cudaFilterModeLinear : cudaFilterModePoint;
        sampler.mipmapFilterMode = kind & 2 ? cudaFilterModeLinear : cudaFilterModePoint;
        sampler.mipmapLevelBias = kind & 4 ? 0.25f : 0;
        sampler.minMipmapLevelClamp = kind & 4 ? 0.75f : 0;
        sampler.maxMipmapLevelClamp = kind & 4 ? 1.75f : 99;
        CHECK(cudaCreateTextureObject(&texture, &resource, &sampler, nullptr));
        with(texture, "levels", 1, [](cudaTextureObject_t texture, void *out) {
            fetch_level<<<1, POINTS>>>(texture, 0.078125f, (float *)out); // -1 to 3.92
        });
    }
    sampler.minMipmapLevelClamp = 0;
    CHECK(cudaCreateTextureObject(&texture, &resource, &sampler, nullptr));
    with(texture, "no level", 1, [](cudaTextureObject_t texture, void *out) { fetch_no_level<<<1, POINTS>>>(texture, (float *)out); });
    CHECK(cudaFreeMipmappedArray(mipmap));
}

/* ---- views and gradients: levels 1 and 2 of a mipmap; texels of f32 as integers; layers 1 and 2 of 3 */

__global__ void fetch_gradient(cudaTextureObject_t texture, float *out) {
    const float step = exp2f((float)(threadIdx.x % 5)) / 8; // 1 to 16 of 8 texels, along one axis of the screen
    const float2 short_one = make_float2(step / 4, 0), long_one = threadIdx.x % 2 ? make_float2(step, 0) : make_float2(0, 2 * step);
    out[threadIdx.x] = threadIdx.x % 3 ? tex2DGrad<float>(texture, 0.f, 0.f, short_one, long_one)
                                       : tex2DGrad<float>(texture, 0.f, 0.f, long_one, short_one);
}
__global__ void fetch_row_and_box(cudaTextureObject_t row, cudaTextureObject_t box, float *out) {
    out[0] = tex1DGrad<float>(row, 2.5f, 9.f, 9.f);
    out[1] = tex3DGrad<float>(box, 1.5f, 0.5f, 1.5f, make_float4(9, 9, 9, 0), make_float4(9, 9, 9, 0));
}
__global__ void fetch_bits(cudaTextureObject_t texture, int *out) {
    out[threadIdx.y * blockDim.x + threadIdx.x] = tex2DLayered<int>(texture, threadIdx.x, 1, threadIdx.y - 1);
}
__global__ void ask_levels(cudaTextureObject_t texture, unsigned *out) {
    unsigned width, height;
    asm("txq.level.width.b32 %0, [%1], %2;" : "=r"(width) : "l"(texture), "r"(threadIdx.x));
    asm("txq.level.height.b32 %0, [%1], %2;" : "=r"(height) : "l"(texture), "r"(threadIdx.x));
    out[threadIdx.x] = width * 100 + height;
}

static void print_floats(const char *name, const float *device, int count) {
    float host[32];
    CHECK(cudaMemcpy(host, device, count * sizeof *host, cudaMemcpyDeviceToHost));
    printf("%s", name);
    for (int i = 0; i < count; i++) printf(" %g", (double)host[i]);
    printf("\n");
}

static cudaTextureObject_t viewed(cudaResourceDesc resource, int is_normalised, const cudaResourceViewDesc *view, cudaError_t expected) {
    cudaTextureObject_t texture = 0;
    cudaTextureDesc sampler = {};
    sampler.normalizedCoords = is_normalised;
    sampler.maxMipmapLevelClamp = 99;
    for (auto &each : sampler.addressMode) each = cudaAddressModeClamp;
    const cudaError_t error = cudaCreateTextureObject(&texture, &resource, &sampler, view);
    if (error != expected) printf("%s\n", cudaGetErrorName(error));
    return texture;
}

static void level_views(float *out) {
    cudaMipmappedArray_t mipmap;
    cudaResourceDesc resource = {};
    cudaResourceViewDesc view = {}, told = {};
    const cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    CHECK(cudaMallocMipmappedArray(&mipmap, &format, make_cudaExtent(8, 4, 0), LEVELS, cudaArraySurfaceLoadStore));
    for (int level = 0; level < LEVELS; level++) fill(mipmap, level);
    resource.resType = cudaResourceTypeMipmappedArray;
    resource.res.mipmap.mipmap = mipmap;
    cudaTextureObject_t texture = viewed(resource, 1, nullptr, cudaSuccess);
    fetch_gradient<<<1, 30>>>(texture, out);
    print_floats("gradients", out, 30);
    ask_levels<<<1, LEVELS>>>(texture, (unsigned *)out);
    unsigned sizes[LEVELS];
    CHECK(cudaMemcpy(sizes, out, sizeof sizes, cudaMemcpyDeviceToHost));
    printf("sizes %u %u %u %u %s\n", sizes[0], sizes[1], sizes[2], sizes[3],
           cudaGetErrorName(cudaGetTextureObjectResourceViewDesc(&told, texture)));
    CHECK(cudaDestroyTextureObject(texture));
    view.width = 8, view.height = 4, view.firstMipmapLevel = 1, view.lastMipmapLevel = 2;
    texture = viewed(resource, 1, &view, cudaSuccess);
    fetch_gradient<<<1, 30>>>(texture, out);
    print_floats("levels 1 and 2", out, 30);
    CHECK(cudaGetTextureObjectResourceViewDesc(&told, texture));
    if (memcmp(&told, &view, sizeof view)) printf("another view\n");
    CHECK(cudaDestroyTextureObject(texture));
    view.lastMipmapLevel = LEVELS;
    viewed(resource, 1, &view, cudaErrorInvalidValue);
    CHECK(cudaFreeMipmappedArray(mipmap));
}

static void layer_views(int *out) {
    enum { ROWS = 2, COLUMNS = 4, LAYERS = 3 };
    cudaArray_t array;
    const cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    float texels[LAYERS * ROWS * COLUMNS];
    for (int i = 0; i < LAYERS * ROWS * COLUMNS; i++) texels[i] = i / 4.f;
    CHECK(cudaMalloc3DArray(&array, &format, make_cudaExtent(COLUMNS, ROWS, LAYERS), cudaArrayLayered));
    cudaMemcpy3DParms copy = {};
    copy.srcPtr = make_cudaPitchedPtr(texels, COLUMNS * sizeof *texels, COLUMNS, ROWS);
    copy.dstArray = array;
    copy.extent = make_cudaExtent(COLUMNS, ROWS, LAYERS);
    copy.kind = cudaMemcpyHostToDevice;
    CHECK(cudaMemcpy3D(&copy));
    cudaResourceViewDesc view = {};
    view.format = cudaResViewFormatSignedInt1;
    view.width = COLUMNS, view.height = ROWS, view.firstLayer = 1, view.lastLayer = 2;
    cudaTextureObject_t texture = viewed(of_array(array), 0, &view, cudaSuccess);
    fetch_bits<<<1, dim3(COLUMNS, 4)>>>(texture, out); // layers -1 to 2 of two, clamped
    int bits[4 * COLUMNS];
    CHECK(cudaMemcpy(bits, out, sizeof bits, cudaMemcpyDeviceToHost));
    printf("bits");
    for (int word : bits) printf(" %x", word);
    printf("\n");
    CHECK(cudaDestroyTextureObject(texture));
    view.format = cudaResViewFormatHalf1; // of half the size
    viewed(of_array(array), 0, &view, cudaErrorInvalidValue);
    view.format = cudaResViewFormatFloat1, view.lastLayer = LAYERS;
    viewed(of_array(array), 0, &view, cudaErrorInvalidValue);
    CHECK(cudaFreeArray(array));
}

static void views() {
    float *out;
    CHECK(cudaMalloc(&out, 32 * sizeof *out));
    level_views(out);
    layer_views((int *)out);
    cudaArray_t row = array_of(0, 0, 0), box = array_of(HEIGHT, DEPTH, 0);
    cudaTextureObject_t of_row = viewed(of_array(row), 0, nullptr, cudaSuccess), of_box = viewed(of_array(box), 0, nullptr, cudaSuccess);
    fetch_row_and_box<<<1, 1>>>(of_row, of_box, out); // of what has one level, whatever the gradient
    print_floats("one level", out, 2);
    CHECK(cudaDestroyTextureObject(of_row));
    CHECK(cudaDestroyTextureObject(of_box));
    CHECK(cudaFreeArray(row));
    CHECK(cudaFreeArray(box));
    CHECK(cudaFree(out));
}

/* ---- the four texels around, one channel of each */

/* Half of them a little lower, which is less than a coordinate's fraction shows between two texels' centres. */
template <class Four> __global__ void gather(cudaTextureObject_t texture, float sx, float sy, Four *out) {
    const float lower = threadIdx.x / 8 % 2 / 4096.f, x = coordinate(threadIdx.x, 0, sx) - lower, y = coordinate(threadIdx.x, 1, sy) - lower;
    out[4 * threadIdx.x] = tex2Dgather<Four>(texture, x, y, 0);
    out[4 * threadIdx.x + 1] = tex2Dgather<Four>(texture, x, y, 1);
    out[4 * threadIdx.x + 2] = tex2Dgather<Four>(texture, x, y, 2);
    out[4 * threadIdx.x + 3] = tex2Dgather<Four>(texture, x, y, 3);
}

/* Four words a point for each channel of texels of four. */
template <class Four, class Fill> static void gathered(const char *kind, bool reads_normalised, Fill fill) {
    typedef typename std::conditional<std::is_same<Four, float4>::value, float4, uint4>::type Result;
    static Four host[HEIGHT][WIDTH];
    cudaArray_t array;
    const cudaChannelFormatDesc format = cudaCreateChannelDesc<Four>();
    for (int y = 0; y < HEIGHT; y++)
        for (int x = 0; x < WIDTH; x++) host[y][x] = fill(y * WIDTH + x);
    CHECK(cudaMallocArray(&array, &format, WIDTH, HEIGHT, cudaArrayTextureGather));
    CHECK(cudaMemcpy2DToArray(array, 0, 0, host, sizeof host[0], sizeof host[0], HEIGHT, cudaMemcpyHostToDevice));
    for (int mode = 0; mode < 4; mode++)
        for (int sampled = 0; sampled < 4; sampled++) {
            const bool is_linear = sampled & 1 && (reads_normalised || sizeof(Four) == sizeof(float4)), is_normalised = sampled >> 1;
            char name[64];
            snprintf(name, sizeof name, "%s %d %d %d", kind, mode, sampled & 1, is_normalised);
            with(make(of_array(array), (cudaTextureAddressMode)mode, is_linear, is_normalised, reads_normalised), name, 16,
                 [&](cudaTextureObject_t texture, void *out) {
                     const float width = is_normalised ? 1 : WIDTH, height = is_normalised ? 1 : HEIGHT;
                     if (reads_normalised || std::is_same<Four, float4>::value)
                         gather<<<1, POINTS>>>(texture, width, height, (float4 *)out);
                     else gather<<<1, POINTS>>>(texture, width, height, (Result *)out);
                 });
        }
    CHECK(cudaFreeArray(array));
}

static void gathers() {
    gathered<float4>("f32", false, [](int i) { return make_float4(i / 4.f, -i, i * i, 1.f / (i + 3)); });
    gathered<uchar4>("u8", false, [](int i) { return make_uchar4(i, 255 - i, 7 * i, 3 * i + 1); });
    gathered<uchar4>("normalised", true, [](int i) { return make_uchar4(i, 255 - i, 7 * i, 3 * i + 1); });
}

/* What a texture lacks: the last of four channels, of one that has one. */
__global__ void gather_last(cudaTextureObject_t texture, float4 *out) { *out = tex2Dgather<float4>(texture, 1, 1, 3); }

static void gather_what_is_not_there() {
    with(make(of_array(array_of(HEIGHT, 0, cudaArrayTextureGather)), cudaAddressModeClamp, false), "lacking", 1,
         [](cudaTextureObject_t texture, void *out) {
             gather_last<<<1, 1>>>(texture, (float4 *)out);
             exit(cudaDeviceSynchronize() == cudaErrorIllegalAddress ? 0 : 7);
         });
}

/* What is not there fails, by name. */
static void absent() {
    cudaArray_t array;
    cudaTextureObject_t texture;
    cudaChannelFormatDesc format = cudaCreateChannelDesc<float>(), none = {};
    cudaResourceDesc resource = of_array(array_of(0, 0, 0));
    cudaTextureDesc sampler = {};
    printf("%s\n", cudaGetErrorName(cudaMalloc3DArray(&array, &format, make_cudaExtent(8, 8, 0), cudaArraySparse)));
    CHECK(cudaMalloc3DArray(&array, &format, make_cudaExtent(8, 8, 8), cudaArrayTextureGather) == cudaErrorInvalidValue
              ? cudaSuccess : cudaErrorUnknown);
    printf("%s\n", cudaGetErrorName(cudaMallocArray(&array, &none, 8, 8)));
    sampler.sRGB = 1;
    printf("%s\n", cudaGetErrorName(cudaCreateTextureObject(&texture, &resource, &sampler, nullptr)));
    CHECK(cudaFreeArray(resource.res.array.array));
}

int main(int argc, char **argv) {
    if (argc > 1 && !strcmp(argv[1], "recorded")) return recorded(), 0;
    if (argc > 1 && !strcmp(argv[1], "absent")) return absent(), 0;
    if (argc > 1 && !strcmp(argv[1], "mipmaps")) return mipmaps(), 0;
    for (int i = 0; i < DEPTH * HEIGHT * WIDTH; i++) texels[0][0][i] = (float)(i * i % 101 - 40);
    if (argc > 1 && !strcmp(argv[1], "views")) return views(), 0;
    if (argc > 1 && !strcmp(argv[1], "gather")) return gathers(), 0;
    if (argc > 1 && !strcmp(argv[1], "lacking")) return gather_what_is_not_there(), 0;
    for (int mode = 0; mode < 4; mode++)
        for (int kind = 0; kind < 4; kind++) plain_arrays(mode, kind & 1, kind >> 1);
    pitched<uchar4>("u8", false, [](int i) { return make_uchar4(i, i + 1, 2 * i, 255 - i); });
    pitched<short2>("s16", true, [](int i) { return make_short2(i * 140 - 32768, -i); });
    cudaArray_t volume = array_of(HEIGHT, DEPTH, 0), layers = array_of(HEIGHT, DEPTH, cudaArrayLayered);
    for (int is_linear = 0; is_linear < 2; is_linear++) {
        with(make(of_array(volume), cudaAddressModeBorder, is_linear), is_linear ? "3d linear" : "3d point", 1,
             [](cudaTextureObject_t texture, void *out) { fetch_3d<<<1, POINTS>>>(texture, (float *)out); });
        with(make(of_array(layers), cudaAddressModeClamp, is_linear), is_linear ? "layer linear" : "layer point", 1,
             [](cudaTextureObject_t texture, void *out) { fetch_layer<<<1, POINTS>>>(texture, (float *)out); });
    }
    linear_memory();
    copies();
    if (argc > 1) // a texture that is gone
        with(make(of_array(volume), cudaAddressModeClamp, false), "gone", 1, [](cudaTextureObject_t texture, void *out) {
            fetch_3d<<<1, POINTS>>>(texture + 4096, (float *)out);
            exit(cudaDeviceSynchronize() == cudaErrorIllegalAddress ? 0 : 7);
        });
    CHECK(cudaFreeArray(volume));
    CHECK(cudaFreeArray(layers));
    return 0;
}
