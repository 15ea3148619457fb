// The driver's arrays, textures and surfaces, fetched by kernels of the runtime.  The program checks what it gets, and ends with
// the number of the line that is wrong, modulo 256.
#include <cuda.h>

#include <cstdio>
#include <cstring>

template <class F> static F *found(const char *name, F *) {
    void *function = nullptr;
    cudaDriverEntryPointQueryResult result;
    cudaGetDriverEntryPointByVersion(name, &function, 12000, cudaEnableDefault, &result);
    return reinterpret_cast<F *>(function);
}
#define DRIVER(name) found(#name, static_cast<decltype(&name)>(nullptr))

#define CHECK(condition)                                                                                           \
    do {                                                                                                           \
        if (!(condition)) {                                                                                        \
            fprintf(stderr, "line %d: " #condition "\n", __LINE__);                                                \
            return __LINE__ % 256 ? __LINE__ % 256 : 1;                                                            \
        }                                                                                                          \
    } while (0)

enum { WIDTH = 7, HEIGHT = 5, DEPTH = 3, PLANE = WIDTH * HEIGHT, ALL = PLANE * DEPTH };

template <class T> __global__ void fetch_2d(T *to, cudaTextureObject_t from, float step) {
    to[threadIdx.y * WIDTH + threadIdx.x] = tex2D<T>(from, (threadIdx.x + 0.5f) * step, (threadIdx.y + 0.5f) * step);
}

__global__ void fetch_3d(int *to, cudaTextureObject_t from) {
    to[(threadIdx.z * HEIGHT + threadIdx.y) * WIDTH + threadIdx.x] =
        tex3D<int>(from, threadIdx.x + 0.5f, threadIdx.y + 0.5f, threadIdx.z + 0.5f);
}

__global__ void fetch_row(int *to, cudaTextureObject_t from) { to[threadIdx.x] = tex1Dfetch<int>(from, threadIdx.x - 1); }

__global__ void fetch_levels(float *to, cudaTextureObject_t from) { to[threadIdx.x] = tex2DLod<float>(from, 0.5f, 0.5f, threadIdx.x); }

__global__ void add_to_surface(cudaSurfaceObject_t surface) {
    int value;
    surf2Dread(&value, surface, threadIdx.x * 4, threadIdx.y);
    surf2Dwrite(value + 1000, surface, threadIdx.x * 4, threadIdx.y);
}

static CUDA_RESOURCE_DESC of_array(CUarray array) {
    CUDA_RESOURCE_DESC resource = {};
    resource.resType = CU_RESOURCE_TYPE_ARRAY;
    resource.res.array.hArray = array;
    return resource;
}

static CUDA_TEXTURE_DESC sampled(CUfilter_mode filter, unsigned flags) {
    CUDA_TEXTURE_DESC sampler = {};
    for (CUaddress_mode &mode : sampler.addressMode) mode = CU_TR_ADDRESS_MODE_CLAMP;
    sampler.filterMode = filter;
    sampler.flags = flags;
    return sampler;
}

static CUtexObject texture(const CUDA_RESOURCE_DESC &resource, const CUDA_TEXTURE_DESC &sampler) {
    CUtexObject handle = 0;
    return DRIVER(cuTexObjectCreate)(&handle, &resource, &sampler, nullptr) ? 0 : handle;
}

// Rows of bytes, which are read as floats of 0 to 1 unless asked otherwise.
static int bytes(CUdeviceptr out) {
    const CUDA_ARRAY_DESCRIPTOR described = {WIDTH, HEIGHT, CU_AD_FORMAT_UNSIGNED_INT8, 1};
    CUDA_ARRAY_DESCRIPTOR told;
    unsigned char host[PLANE], back[PLANE], whole[PLANE];
    float floats[PLANE];
    CUarray array;
    for (int i = 0; i < PLANE; i++) host[i] = (unsigned char)(i * 37);
    CHECK(!DRIVER(cuArrayCreate)(&array, &described) && !DRIVER(cuArrayGetDescriptor)(&told, array));
    CHECK(told.Width == WIDTH && told.Height == HEIGHT && told.Format == CU_AD_FORMAT_UNSIGNED_INT8 && told.NumChannels == 1);
    CUDA_MEMCPY2D copy = {};
    copy.srcMemoryType = CU_MEMORYTYPE_HOST, copy.srcHost = host;
    copy.dstMemoryType = CU_MEMORYTYPE_ARRAY, copy.dstArray = array;
    copy.WidthInBytes = WIDTH, copy.Height = HEIGHT;
    CHECK(!DRIVER(cuMemcpy2D)(&copy));
    copy.dstXInBytes = 1;
    CHECK(DRIVER(cuMemcpy2D)(&copy) == CUDA_ERROR_INVALID_VALUE); // behind its rows

    CUtexObject as_floats = texture(of_array(array), sampled(CU_TR_FILTER_MODE_POINT, 0));
    fetch_2d<<<1, dim3(WIDTH, HEIGHT)>>>((float *)out, as_floats, 1);
    CHECK(!cudaMemcpy(floats, (void *)out, sizeof floats, cudaMemcpyDefault));
    for (int i = 0; i < PLANE; i++) CHECK(floats[i] == (float)(host[i] / 255.0));

    CUtexObject as_bytes = texture(of_array(array), sampled(CU_TR_FILTER_MODE_POINT, CU_TRSF_READ_AS_INTEGER));
    fetch_2d<<<1, dim3(WIDTH, HEIGHT)>>>((unsigned char *)out, as_bytes, 1);
    CHECK(!cudaMemcpy(back, (void *)out, sizeof back, cudaMemcpyDefault) && !memcmp(back, host, sizeof host));

    CUDA_RESOURCE_DESC resource;
    CUDA_TEXTURE_DESC sampler;
    CHECK(!DRIVER(cuTexObjectGetResourceDesc)(&resource, as_bytes) && resource.res.array.hArray == array);
    CHECK(!DRIVER(cuTexObjectGetTextureDesc)(&sampler, as_bytes) && sampler.flags == CU_TRSF_READ_AS_INTEGER);
    CHECK(sampler.addressMode[2] == CU_TR_ADDRESS_MODE_CLAMP);

    CHECK(!DRIVER(cuMemcpyAtoH)(whole, array, 2, 5) && !memcmp(whole, host + 2, 5));
    CHECK(!DRIVER(cuMemcpyHtoA)(array, 1, whole, 3) && !DRIVER(cuMemcpyAtoA)(array, 4, array, 0, 3));
    CHECK(!DRIVER(cuMemcpyAtoD)(out, array, 0, PLANE) && !cudaMemcpy(back, (void *)out, PLANE, cudaMemcpyDefault));
    const unsigned char row[WIDTH] = {host[0], host[2], host[3], host[4], host[0], host[2], host[3]};
    CHECK(!memcmp(back, row, WIDTH) && !memcmp(back + WIDTH, host + WIDTH, PLANE - WIDTH));
    CHECK(!DRIVER(cuMemcpyDtoA)(array, 0, out + WIDTH, WIDTH) && !DRIVER(cuMemcpyAtoH)(back, array, 0, WIDTH));
    CHECK(!memcmp(back, host + WIDTH, WIDTH) && DRIVER(cuMemcpyAtoH)(back, array, 0, PLANE + 1) == CUDA_ERROR_INVALID_VALUE);
    CHECK(!DRIVER(cuTexObjectDestroy)(as_bytes) && !DRIVER(cuTexObjectDestroy)(as_floats) && !DRIVER(cuArrayDestroy)(array));
    return 0;
}

// Planes of integers: filled plane by plane, read as a volume, and a part copied to host memory.
static int planes(CUdeviceptr out) {
    const CUDA_ARRAY3D_DESCRIPTOR described = {WIDTH, HEIGHT, DEPTH, CU_AD_FORMAT_SIGNED_INT32, 1, 0};
    CUDA_ARRAY3D_DESCRIPTOR told;
    int host[ALL], back[ALL];
    CUarray array;
    for (int i = 0; i < ALL; i++) host[i] = i * i - 500;
    CHECK(!DRIVER(cuArray3DCreate)(&array, &described) && !DRIVER(cuArray3DGetDescriptor)(&told, array));
    CHECK(told.Depth == DEPTH && told.Flags == 0 && told.Format == CU_AD_FORMAT_SIGNED_INT32);
    CUDA_MEMCPY3D copy = {};
    copy.srcMemoryType = CU_MEMORYTYPE_HOST, copy.srcHost = host, copy.srcPitch = WIDTH * 4, copy.srcHeight = HEIGHT;
    copy.dstMemoryType = CU_MEMORYTYPE_ARRAY, copy.dstArray = array;
    copy.WidthInBytes = WIDTH * 4, copy.Height = HEIGHT, copy.Depth = DEPTH;
    CHECK(!DRIVER(cuMemcpy3D)(&copy));
    CUtexObject volume = texture(of_array(array), sampled(CU_TR_FILTER_MODE_POINT, CU_TRSF_READ_AS_INTEGER));
    fetch_3d<<<1, dim3(WIDTH, HEIGHT, DEPTH)>>>((int *)out, volume);
    CHECK(!cudaMemcpy(back, (void *)out, sizeof back, cudaMemcpyDefault) && !memcmp(back, host, sizeof host));

    copy = {};
    copy.srcMemoryType = CU_MEMORYTYPE_ARRAY, copy.srcArray = array, copy.srcXInBytes = 8, copy.srcY = 3, copy.srcZ = 1;
    copy.dstMemoryType = CU_MEMORYTYPE_HOST, copy.dstHost = back, copy.dstPitch = 12, copy.dstHeight = 2;
    copy.WidthInBytes = 12, copy.Height = 2, copy.Depth = 2;
    CHECK(!DRIVER(cuMemcpy3D)(&copy));
    for (int i = 0; i < 12; i++) CHECK(back[i] == host[(1 + i / 6) * PLANE + (3 + i / 3 % 2) * WIDTH + 2 + i % 3]);
    copy.srcZ = 2;
    CHECK(DRIVER(cuMemcpy3D)(&copy) == CUDA_ERROR_INVALID_VALUE);
    CHECK(!DRIVER(cuTexObjectDestroy)(volume) && !DRIVER(cuArrayDestroy)(array));
    return 0;
}

// Of plain memory: linear, outside of which there are zeros, and pitched with the mean of four texels.
static int plain(CUdeviceptr memory, size_t pitch, CUdeviceptr out) {
    int host[9], back[9];
    float floats[PLANE], rows[PLANE];
    for (int i = 0; i < 9; i++) host[i] = 7 * i + 1;
    CHECK(!cudaMemcpy((void *)memory, host, sizeof host, cudaMemcpyDefault));
    CUDA_RESOURCE_DESC resource = {};
    resource.resType = CU_RESOURCE_TYPE_LINEAR;
    resource.res.linear = {memory, CU_AD_FORMAT_SIGNED_INT32, 1, 7 * 4};
    CUtexObject line = texture(resource, sampled(CU_TR_FILTER_MODE_POINT, 0));
    fetch_row<<<1, 9>>>((int *)out, line);
    CHECK(!cudaMemcpy(back, (void *)out, sizeof back, cudaMemcpyDefault) && back[0] == 0 && back[8] == 0);
    for (int i = 0; i < 7; i++) CHECK(back[i + 1] == host[i]);

    for (int i = 0; i < PLANE; i++) rows[i] = (float)(i * i);
    CHECK(!cudaMemcpy2D((void *)memory, pitch, rows, WIDTH * 4, WIDTH * 4, HEIGHT, cudaMemcpyDefault));
    resource.resType = CU_RESOURCE_TYPE_PITCH2D;
    resource.res.pitch2D = {memory, CU_AD_FORMAT_FLOAT, 1, WIDTH, HEIGHT, pitch};
    CUtexObject pitched = texture(resource, sampled(CU_TR_FILTER_MODE_LINEAR, 0));
    fetch_2d<<<1, dim3(WIDTH / 2, HEIGHT / 2)>>>((float *)out, pitched, 2); // between four texels
    CHECK(!cudaMemcpy(floats, (void *)out, sizeof floats, cudaMemcpyDefault));
    for (int y = 0; y < HEIGHT / 2; y++)
        for (int x = 0; x < WIDTH / 2; x++) {
            const float *corner = &rows[2 * y * WIDTH + 2 * x];
            CHECK(floats[y * WIDTH + x] == (corner[0] + corner[1] + corner[WIDTH] + corner[WIDTH + 1]) / 4);
        }
    CUDA_RESOURCE_DESC told;
    CHECK(!DRIVER(cuTexObjectGetResourceDesc)(&told, pitched) && told.res.pitch2D.pitchInBytes == pitch);
    CHECK(told.res.pitch2D.devPtr == memory && told.res.pitch2D.format == CU_AD_FORMAT_FLOAT);
    CHECK(!DRIVER(cuTexObjectDestroy)(line) && !DRIVER(cuTexObjectDestroy)(pitched));
    return 0;
}

static int surfaces() {
    const CUDA_ARRAY3D_DESCRIPTOR described = {WIDTH, HEIGHT, 0, CU_AD_FORMAT_SIGNED_INT32, 1, CUDA_ARRAY3D_SURFACE_LDST};
    int host[PLANE], back[PLANE];
    CUarray array;
    CUsurfObject surface;
    CUDA_RESOURCE_DESC told;
    for (int i = 0; i < PLANE; i++) host[i] = 3 * i;
    CHECK(!DRIVER(cuArray3DCreate)(&array, &described));
    CHECK(!cudaMemcpy2DToArray((cudaArray_t)array, 0, 0, host, WIDTH * 4, WIDTH * 4, HEIGHT, cudaMemcpyDefault));
    const CUDA_RESOURCE_DESC resource = of_array(array);
    CHECK(!DRIVER(cuSurfObjectCreate)(&surface, &resource));
    CHECK(!DRIVER(cuSurfObjectGetResourceDesc)(&told, surface) && told.res.array.hArray == array);
    add_to_surface<<<1, dim3(WIDTH, HEIGHT)>>>(surface);
    CUDA_MEMCPY2D copy = {};
    copy.srcMemoryType = CU_MEMORYTYPE_ARRAY, copy.srcArray = array;
    copy.dstMemoryType = CU_MEMORYTYPE_HOST, copy.dstHost = back;
    copy.WidthInBytes = WIDTH * 4, copy.Height = HEIGHT;
    CHECK(!DRIVER(cuMemcpy2D)(&copy));
    for (int i = 0; i < PLANE; i++) CHECK(back[i] == host[i] + 1000);
    CHECK(!DRIVER(cuSurfObjectDestroy)(surface) && !DRIVER(cuArrayDestroy)(array));
    return 0;
}

// Levels of one colour each, bytes that are read as floats of 0 to 1.
static int mipmaps(CUdeviceptr out) {
    const CUDA_ARRAY3D_DESCRIPTOR described = {4, 4, 0, CU_AD_FORMAT_UNSIGNED_INT8, 1, 0};
    CUmipmappedArray mipmap;
    CUDA_RESOURCE_DESC resource = {};
    CUDA_TEXTURE_DESC sampler = sampled(CU_TR_FILTER_MODE_LINEAR, CU_TRSF_NORMALIZED_COORDINATES);
    CUarray array;
    float floats[4];
    CHECK(!DRIVER(cuMipmappedArrayCreate)(&mipmap, &described, 2));
    for (unsigned level = 0; level < 2; level++) {
        unsigned char host[16];
        memset(host, level ? 51 : 255, sizeof host);
        CHECK(!DRIVER(cuMipmappedArrayGetLevel)(&array, mipmap, level));
        const size_t side = 4 >> level;
        CHECK(!cudaMemcpy2DToArray((cudaArray_t)array, 0, 0, host, side, side, side, cudaMemcpyDefault));
    }
    CHECK(DRIVER(cuMipmappedArrayGetLevel)(&array, mipmap, 2) == CUDA_ERROR_INVALID_VALUE);
    resource.resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
    resource.res.mipmap.hMipmappedArray = mipmap;
    sampler.maxMipmapLevelClamp = 9;
    CUtexObject handle = texture(resource, sampler);
    fetch_levels<<<1, 4>>>((float *)out, handle);
    CHECK(!cudaMemcpy(floats, (void *)out, sizeof floats, cudaMemcpyDefault));
    CHECK(floats[0] == 1 && floats[1] == 0.2f && floats[2] == 0.2f && floats[3] == 0.2f);
    CHECK(!DRIVER(cuTexObjectDestroy)(handle) && !DRIVER(cuMipmappedArrayDestroy)(mipmap));
    return 0;
}

// What is not there, or makes no sense.
static int refused() {
    const CUDA_ARRAY_DESCRIPTOR planar = {8, 8, CU_AD_FORMAT_NV12, 1}, three = {8, 8, CU_AD_FORMAT_FLOAT, 3};
    const CUDA_ARRAY3D_DESCRIPTOR sparse = {8, 8, 0, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_SPARSE};
    CUDA_RESOURCE_DESC none = {};
    CUtexObject handle;
    CUarray array;
    const CUDA_TEXTURE_DESC sampler = sampled(CU_TR_FILTER_MODE_POINT, 0);
    CHECK(DRIVER(cuArrayCreate)(&array, nullptr) == CUDA_ERROR_INVALID_VALUE);
    CHECK(DRIVER(cuArrayCreate)(&array, &planar) == CUDA_ERROR_NOT_SUPPORTED);
    CHECK(DRIVER(cuArrayCreate)(&array, &three) == CUDA_ERROR_NOT_SUPPORTED);
    CHECK(DRIVER(cuArray3DCreate)(&array, &sparse) == CUDA_ERROR_NOT_SUPPORTED);
    CHECK(DRIVER(cuTexObjectCreate)(&handle, &none, &sampler, nullptr) == CUDA_ERROR_INVALID_VALUE);
    CHECK(DRIVER(cuTexObjectCreate)(&handle, nullptr, &sampler, nullptr) == CUDA_ERROR_INVALID_VALUE);
    CHECK(DRIVER(cuArrayDestroy)(nullptr) == CUDA_ERROR_INVALID_HANDLE);
    return 0;
}

int main() {
    void *memory, *out;
    size_t pitch;
    if (cudaMallocPitch(&memory, &pitch, WIDTH * 4, HEIGHT) || cudaMalloc(&out, ALL * 4)) return 1;
    cudaMemset(out, 0, ALL * 4);
    int line = bytes((CUdeviceptr)out);
    if (!line) line = planes((CUdeviceptr)out);
    if (!line) line = plain((CUdeviceptr)memory, pitch, (CUdeviceptr)out);
    if (!line) line = surfaces();
    if (!line) line = mipmaps((CUdeviceptr)out);
    if (!line) line = refused();
    cudaFree(memory), cudaFree(out);
    return line;
}
