// Surfaces of every kind that the simulator knows; tests/test_program_surfaces.py reads what is printed.
#include <cstring>

#include "check.cuh"

enum { WIDTH = 8, HEIGHT = 5, DEPTH = 3 };

/* Every texel from what stands in `from`, through registers of each size. */
template <class T> __global__ void rows(cudaSurfaceObject_t from, cudaSurfaceObject_t to) {
    int x = threadIdx.x * sizeof(T);
    surf1Dwrite(surf1Dread<T>(from, x), to, x);
}
template <class T> __global__ void planes(cudaSurfaceObject_t from, cudaSurfaceObject_t to) {
    int x = threadIdx.x * sizeof(T), y = threadIdx.y;
    surf2Dwrite(surf2Dread<T>(from, x, y), to, x, HEIGHT - 1 - y);
}
template <class T> __global__ void volumes(cudaSurfaceObject_t from, cudaSurfaceObject_t to) {
    int x = threadIdx.x * sizeof(T), y = threadIdx.y, z = threadIdx.z;
    surf3Dwrite(surf3Dread<T>(from, x, y, z), to, x, y, DEPTH - 1 - z);
}
template <class T> __global__ void row_layers(cudaSurfaceObject_t from, cudaSurfaceObject_t to) {
    int x = threadIdx.x * sizeof(T), layer = threadIdx.z;
    surf1DLayeredwrite(surf1DLayeredread<T>(from, x, layer), to, x, DEPTH - 1 - layer);
}
template <class T> __global__ void layers(cudaSurfaceObject_t from, cudaSurfaceObject_t to) {
    int x = threadIdx.x * sizeof(T), y = threadIdx.y, layer = threadIdx.z;
    surf2DLayeredwrite(surf2DLayeredread<T>(from, x, y, layer), to, x, y, DEPTH - 1 - layer);
}

/* Around a row of 8 texels: the nearest, zeros, and stores that nothing takes. */
__global__ void boundaries(cudaSurfaceObject_t from, cudaSurfaceObject_t to, int *out) {
    int x = ((int)threadIdx.x - 4) * 4;
    out[threadIdx.x] = surf2Dread<int>(from, x, -1, cudaBoundaryModeClamp);
    out[threadIdx.x + 16] = surf2Dread<int>(from, x, 1, cudaBoundaryModeZero);
    surf2Dwrite((int)threadIdx.x, to, x, 0, cudaBoundaryModeZero);
    if (threadIdx.x == 15) surf2Dwrite(99, to, x, 77, cudaBoundaryModeClamp);
}

__global__ void outside(cudaSurfaceObject_t surface) { surf2Dwrite(1, surface, (int)threadIdx.x * 4, 1); }
__global__ void misaligned(cudaSurfaceObject_t surface) { surf2Dwrite(1, surface, (int)threadIdx.x * 4 + 2, 1); }
__global__ void racing(cudaSurfaceObject_t surface) {
    if (threadIdx.x == 33) surf2Dwrite(1, surface, 4, 1);
    if (threadIdx.x == 1) surf2Dwrite(surf2Dread<int>(surface, 4, 1) + 2, surface, 0, 1);
}
__global__ void fetched(cudaTextureObject_t texture, int *out) { out[threadIdx.x] = tex2D<int>(texture, threadIdx.x, 1); }

static cudaSurfaceObject_t surface_of(cudaArray_t array) {
    cudaResourceDesc resource = {};
    cudaSurfaceObject_t surface;
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    CHECK(cudaCreateSurfaceObject(&surface, &resource));
    return surface;
}

static void copy(cudaArray_t array, void *host, size_t texel, int height, int depth, bool is_to_host) {
    const cudaPitchedPtr rows = make_cudaPitchedPtr(host, WIDTH * texel, WIDTH, height ? height : 1);
    cudaMemcpy3DParms parameters = {};
    (is_to_host ? parameters.srcArray : parameters.dstArray) = array;
    (is_to_host ? parameters.dstPtr : parameters.srcPtr) = rows;
    parameters.extent = make_cudaExtent(WIDTH, height ? height : 1, depth ? depth : 1);
    parameters.kind = is_to_host ? cudaMemcpyDeviceToHost : cudaMemcpyHostToDevice;
    CHECK(cudaMemcpy3D(&parameters));
}

template <class T> static cudaArray_t array_of(int height, int depth, unsigned flags) {
    static T none[DEPTH * HEIGHT * WIDTH];
    const cudaChannelFormatDesc format = cudaCreateChannelDesc<T>();
    cudaArray_t array;
    CHECK(cudaMalloc3DArray(&array, &format, make_cudaExtent(WIDTH, height, depth), flags));
    copy(array, none, sizeof(T), height, depth, false);
    return array;
}

/* Its bytes count up, so that each is told from the others. */
template <class T>
static void turn(const char *name, void (*kernel)(cudaSurfaceObject_t, cudaSurfaceObject_t), int height, int depth, unsigned flags) {
    static T host[DEPTH * HEIGHT * WIDTH];
    cudaArray_t from = array_of<T>(height, depth, flags | cudaArraySurfaceLoadStore),
                to = array_of<T>(height, depth, flags | cudaArraySurfaceLoadStore);
    const cudaSurfaceObject_t first = surface_of(from), second = surface_of(to);
    const size_t nbytes = sizeof(T) * WIDTH * (height ? height : 1) * (depth ? depth : 1);
    unsigned char *bytes = reinterpret_cast<unsigned char *>(host);
    for (size_t i = 0; i < nbytes; i++) bytes[i] = (unsigned char)(i * 7 + i / 256);
    copy(from, host, sizeof(T), height, depth, false);
    kernel<<<1, dim3(WIDTH, height ? height : 1, depth ? depth : 1)>>>(first, second);
    CHECK(cudaDeviceSynchronize());
    copy(to, host, sizeof(T), height, depth, true);
    printf("%s %d ", name, (int)sizeof(T));
    for (size_t i = 0; i < nbytes; i++) printf("%02x", bytes[i]);
    printf("\n");
    CHECK(cudaDestroySurfaceObject(first));
    CHECK(cudaDestroySurfaceObject(second));
    CHECK(cudaFreeArray(from));
    CHECK(cudaFreeArray(to));
}

template <class T> static void turn_all() {
    turn<T>("1d", rows<T>, 0, 0, 0);
    turn<T>("2d", planes<T>, HEIGHT, 0, 0);
    turn<T>("3d", volumes<T>, HEIGHT, DEPTH, 0);
    turn<T>("a1d", row_layers<T>, 0, DEPTH, cudaArrayLayered);
    turn<T>("a2d", layers<T>, HEIGHT, DEPTH, cudaArrayLayered);
}

static void print(const char *name, const int *device, int count) {
    int host[32];
    CHECK(cudaMemcpy(host, device, count * sizeof *host, cudaMemcpyDeviceToHost));
    printf("%s", name);
    for (int i = 0; i < count; i++) printf(" %d", host[i]);
    printf("\n");
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "";
    int host[2 * WIDTH], *out;
    cudaArray_t array = array_of<int>(2, 0, cudaArraySurfaceLoadStore), other = array_of<int>(2, 0, cudaArraySurfaceLoadStore);
    const cudaSurfaceObject_t surface = surface_of(array), second = surface_of(other);
    CHECK(cudaMalloc(&out, 32 * sizeof *out));
    if (!strcmp(what, "outside")) outside<<<1, WIDTH + 1>>>(surface);
    if (!strcmp(what, "misaligned")) misaligned<<<1, 1>>>(surface);
    if (!strcmp(what, "racing")) racing<<<1, 64>>>(surface);
    if (!strcmp(what, "texture")) fetched<<<1, 1>>>(surface, out);
    if (!strcmp(what, "gone")) {
        CHECK(cudaDestroySurfaceObject(second));
        outside<<<1, 1>>>(second);
    }
    if (!strcmp(what, "dimensions")) rows<int><<<1, 1>>>(surface, second);
    if (*what) return cudaDeviceSynchronize() != cudaSuccess;

    turn_all<unsigned char>(), turn_all<short2>(), turn_all<float>(), turn_all<uint2>(), turn_all<float4>();
    for (int i = 0; i < 2 * WIDTH; i++) host[i] = 100 + i;
    copy(array, host, sizeof *host, 2, 0, false);
    boundaries<<<1, 16>>>(surface, second, out);
    print("boundaries", out, 32);
    copy(other, host, sizeof *host, 2, 0, true);
    printf("stored");
    for (int each : host) printf(" %d", each);
    cudaResourceDesc resource = {};
    CHECK(cudaGetSurfaceObjectResourceDesc(&resource, surface));
    printf("\nresource %d\n", resource.res.array.array == array);
    resource.res.array.array = array_of<int>(2, 0, 0);
    cudaSurfaceObject_t none;
    printf("%s\n", cudaGetErrorName(cudaCreateSurfaceObject(&none, &resource)));
    printf("%s\n", cudaGetErrorName(cudaDestroyTextureObject(surface)));
    CHECK(cudaFreeArray(resource.res.array.array));
    CHECK(cudaDestroySurfaceObject(surface));
    CHECK(cudaDestroySurfaceObject(second));
    CHECK(cudaFreeArray(array));
    CHECK(cudaFreeArray(other));
    CHECK(cudaFree(out));
    return 0;
}
