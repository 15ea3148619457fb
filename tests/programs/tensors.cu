// Copies of boxes of tensors by tensor maps (sm_90).  Each mode checks its results against what it computes itself;
// "ok" is printed for it.
#include <cuda.h>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

typedef CUresult (*encode_function)(CUtensorMap *, CUtensorMapDataType, cuuint32_t, void *, const cuuint64_t *,
                                    const cuuint64_t *, const cuuint32_t *, const cuuint32_t *, CUtensorMapInterleave,
                                    CUtensorMapSwizzle, CUtensorMapL2promotion, CUtensorMapFloatOOBfill);
static encode_function encode;

typedef unsigned long long mbarrier;
struct coordinates {
    int at[5];
};

#define DEVICE static __device__ __forceinline__
DEVICE unsigned address(const void *shared) { return (unsigned)__cvta_generic_to_shared(shared); }
DEVICE void begin(mbarrier *m, unsigned nbytes) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(address(m)) : "memory");
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(address(m)), "r"(nbytes) : "memory");
}
DEVICE void await(mbarrier *m) {
    unsigned is_over = 0;
    while (!is_over)
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }"
                     : "=r"(is_over) : "r"(address(m)) : "memory");
}
#define LOAD(rank, list, ...)                                                                                         \
    asm volatile("cp.async.bulk.tensor." #rank "d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, " \
                 list "], [%2];" ::"r"(address(to)), "l"(map), "r"(address(m)), __VA_ARGS__ : "memory")
DEVICE void load(int rank, void *to, const CUtensorMap *map, const int *c, mbarrier *m) {
    switch (rank) {
    case 1: LOAD(1, "{%3}", "r"(c[0])); break;
    case 2: LOAD(2, "{%3, %4}", "r"(c[0]), "r"(c[1])); break;
    case 3: LOAD(3, "{%3, %4, %5}", "r"(c[0]), "r"(c[1]), "r"(c[2])); break;
    case 4: LOAD(4, "{%3, %4, %5, %6}", "r"(c[0]), "r"(c[1]), "r"(c[2]), "r"(c[3])); break;
    default: LOAD(5, "{%3, %4, %5, %6, %7}", "r"(c[0]), "r"(c[1]), "r"(c[2]), "r"(c[3]), "r"(c[4]));
    }
}

// A box comes, and goes out as it lies in shared memory.
__global__ void fetch(const __grid_constant__ CUtensorMap map, coordinates c, int rank, unsigned nbytes, int waits,
                      unsigned char *out) {
    extern __shared__ __align__(1024) unsigned char box[];
    __shared__ mbarrier m;
    if (threadIdx.x == 0) {
        asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory");
        begin(&m, nbytes);
        load(rank, box, &map, c.at, &m);
    }
    __syncthreads();
    if (waits) await(&m);
    for (unsigned i = threadIdx.x; i < nbytes; i += blockDim.x) out[i] = box[i]; // line: read
}

// A box of 8 x 16 numbers is stored, and another added.
__global__ void store(const __grid_constant__ CUtensorMap map, int x, int y, int fences) {
    __shared__ __align__(128) int box[8][16];
    box[threadIdx.x / 16][threadIdx.x % 16] = 1000 + threadIdx.x; // line: write
    if (fences) asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (threadIdx.x) return;
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%2, %3}], [%1];" ::"l"(&map),
                 "r"(address(box)), "r"(x), "r"(y) : "memory"); // line: store
    asm volatile("cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;" ::: "memory");
    asm volatile("cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group [%0, {%2, %3}], [%1];"
                 ::"l"(&map), "r"(address(box)), "r"(x), "r"(y) : "memory");
    asm volatile("cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;" ::: "memory");
}

// The last block of a cluster asks for a box, which comes to the first and to itself, but not to the second.
__global__ void __cluster_dims__(3) multicast(const __grid_constant__ CUtensorMap map, int *out) {
    __shared__ __align__(128) int box[8 * 16];
    __shared__ mbarrier m;
    unsigned r = blockIdx.x, t = threadIdx.x;
    box[t] = -1;
    if (t == 0 && r != 1) begin(&m, sizeof box);
    asm volatile("fence.mbarrier_init.release.cluster; fence.proxy.async;" ::: "memory");
    asm volatile("barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;" ::: "memory");
    if (t == 0 && r == 2)
        asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster "
                     "[%0], [%1, {4, 1}], [%2], %3;" ::"r"(address(box)), "l"(&map), "r"(address(&m)),
                     "h"((unsigned short)5) : "memory");
    if (r != 1) await(&m);
    out[128 * r + t] = box[t];
    asm volatile("barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

static unsigned char *copied(const std::vector<unsigned char> &bytes) {
    unsigned char *there;
    cudaMalloc(&there, bytes.size());
    cudaMemcpy(there, bytes.data(), bytes.size(), cudaMemcpyDefault);
    return there;
}

struct shape {
    CUtensorMapDataType type;
    unsigned size, rank; // of an element, in bytes
    cuuint64_t sizes[5], pitches[5]; // pitches: elements from one to the next of each dimension, from the first on
    cuuint32_t box[5];
    CUtensorMapSwizzle swizzle;
    int at[5];
};

static int encode_shape(CUtensorMap *map, void *data, const shape &s) {
    cuuint64_t strides[5] = {};
    cuuint32_t ones[5] = {1, 1, 1, 1, 1};
    for (unsigned d = 1; d < s.rank; d++) strides[d - 1] = s.pitches[d] * s.size;
    return encode(map, s.type, s.rank, data, s.sizes, strides, s.box, ones, CU_TENSOR_MAP_INTERLEAVE_NONE, s.swizzle,
                  CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
}

// Element by element, by the definition.
static std::vector<unsigned char> expected(const shape &s, const std::vector<unsigned char> &data) {
    unsigned count = 1;
    for (unsigned d = 0; d < s.rank; d++) count *= s.box[d];
    std::vector<unsigned char> box(count * s.size, 0), swizzled(box.size());
    for (unsigned e = 0; e < count; e++) {
        unsigned rest = e;
        bool is_inside = true;
        size_t from = 0;
        for (unsigned d = 0; d < s.rank; d++) {
            long long position = s.at[d] + (long long)(rest % s.box[d]);
            rest /= s.box[d];
            is_inside = is_inside && position >= 0 && position < (long long)s.sizes[d];
            from += (size_t)position * s.pitches[d] * s.size;
        }
        if (is_inside) memcpy(&box[e * s.size], &data[from], s.size);
    }
    const unsigned chunks = s.swizzle == CU_TENSOR_MAP_SWIZZLE_NONE ? 1 : 1u << s.swizzle;
    for (unsigned b = 0; b < box.size(); b++) {
        unsigned chunk = b / 16 % chunks, other = chunk ^ (b / 128 % chunks);
        swizzled[b / (16 * chunks) * (16 * chunks) + other * 16 + b % 16] = box[b];
    }
    return swizzled;
}

static bool fetches(const shape &s, int waits) {
    size_t nbytes = s.sizes[s.rank - 1] * s.pitches[s.rank - 1] * s.size, box = s.size;
    for (unsigned d = 0; d < s.rank; d++) box *= s.box[d];
    std::vector<unsigned char> data(nbytes), got(box);
    for (size_t b = 0; b < nbytes; b++) data[b] = (unsigned char)(1 + b * 2654435761u % 255);
    unsigned char *from = copied(data), *to = copied(got);
    CUtensorMap map;
    if (encode_shape(&map, from, s)) return false;
    coordinates c;
    memcpy(c.at, s.at, sizeof c.at);
    fetch<<<1, 64, box>>>(map, c, s.rank, (unsigned)box, waits, to);
    bool is_done = cudaMemcpy(got.data(), to, box, cudaMemcpyDefault) == cudaSuccess;
    cudaFree(from);
    cudaFree(to);
    return is_done && got == expected(s, data);
}

#define NONE CU_TENSOR_MAP_SWIZZLE_NONE
static const shape shapes[] = {
    {CU_TENSOR_MAP_DATA_TYPE_UINT8, 1, 1, {100}, {1}, {64}, NONE, {50}},
    {CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 4, 2, {30, 11}, {1, 32}, {16, 8}, NONE, {-3, 7}},
    {CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, 3, {24, 6, 5}, {1, 24, 160}, {8, 4, 3}, NONE, {20, -2, 3}},
    {CU_TENSOR_MAP_DATA_TYPE_FLOAT64, 8, 4, {6, 5, 4, 3}, {1, 6, 30, 120}, {4, 3, 2, 2}, NONE, {1, 1, 1, 2}},
    {CU_TENSOR_MAP_DATA_TYPE_INT32, 4, 5, {8, 3, 3, 3, 3}, {1, 8, 24, 72, 216}, {4, 2, 2, 2, 2}, NONE, {4, 1, 1, 1, 2}},
    {CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, 2, {128, 40}, {1, 128}, {64, 32}, CU_TENSOR_MAP_SWIZZLE_128B, {40, 20}},
    {CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 4, 2, {64, 40}, {1, 64}, {16, 32}, CU_TENSOR_MAP_SWIZZLE_64B, {56, 3}},
    {CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 4, 2, {64, 40}, {1, 64}, {8, 32}, CU_TENSOR_MAP_SWIZZLE_32B, {3, 3}},
    {CU_TENSOR_MAP_DATA_TYPE_INT32, 4, 2, {8, 8}, {1, 8}, {8, 8}, NONE, {-2147483647 - 1, 2147483647}},
};

static bool stores(int fences) {
    const int x = 20, y = -3; // the box leaves the tensor on two sides
    shape s = {CU_TENSOR_MAP_DATA_TYPE_INT32, 4, 2, {30, 20}, {1, 32}, {16, 8}, NONE, {}};
    std::vector<int> data(32 * 20, 7), wanted(data);
    for (int row = 0; row < 8; row++)
        for (int column = 0; column < 16; column++)
            if (y + row >= 0 && x + column < 30) wanted[32 * (y + row) + x + column] = 2 * (1000 + 16 * row + column);
    int *there;
    cudaMalloc(&there, data.size() * 4);
    cudaMemcpy(there, data.data(), data.size() * 4, cudaMemcpyDefault);
    CUtensorMap map;
    if (encode_shape(&map, there, s)) return false;
    store<<<1, 128>>>(map, x, y, fences);
    bool is_done = cudaMemcpy(data.data(), there, data.size() * 4, cudaMemcpyDefault) == cudaSuccess;
    cudaFree(there);
    return is_done && data == wanted;
}

static bool multicasts() {
    shape s = {CU_TENSOR_MAP_DATA_TYPE_INT32, 4, 2, {32, 20}, {1, 32}, {16, 8}, NONE, {}};
    std::vector<unsigned char> bytes(32 * 20 * 4);
    std::vector<int> got(3 * 128);
    for (int i = 0; i < 32 * 20; i++) memcpy(&bytes[4 * i], &i, 4);
    unsigned char *from = copied(bytes), *to = copied(std::vector<unsigned char>(got.size() * 4));
    CUtensorMap map;
    if (encode_shape(&map, from, s)) return false;
    multicast<<<3, 128>>>(map, (int *)to);
    bool is_right = cudaMemcpy(got.data(), to, got.size() * 4, cudaMemcpyDefault) == cudaSuccess;
    for (int i = 0; i < 3 * 128; i++)
        is_right &= got[i] == (i / 128 == 1 ? -1 : 32 * (1 + i % 128 / 16) + 4 + i % 16);
    cudaFree(from);
    cudaFree(to);
    return is_right;
}

// What the driver refuses, by the number of its error.
static bool refuses() {
    shape s = shapes[1], t;
    CUtensorMap map;
    char *data = (char *)0x700000000000;
    (t = s).pitches[1] = 30;
    bool is_right = encode_shape(&map, data, t) == CUDA_ERROR_INVALID_VALUE;
    (t = s).box[0] = 257;
    is_right &= encode_shape(&map, data, t) == CUDA_ERROR_INVALID_VALUE;
    (t = s).box[0] = 3;
    is_right &= encode_shape(&map, data, t) == CUDA_ERROR_INVALID_VALUE;
    (t = s).swizzle = CU_TENSOR_MAP_SWIZZLE_32B;
    is_right &= encode_shape(&map, data, t) == CUDA_ERROR_INVALID_VALUE;
    is_right &= encode_shape(&map, data + 4, s) == CUDA_ERROR_INVALID_VALUE;
    (t = s).type = CU_TENSOR_MAP_DATA_TYPE_TFLOAT32;
    return is_right && encode_shape(&map, data, t) == CUDA_ERROR_NOT_SUPPORTED;
}

int main(int argc, char **argv) {
    const char *mode = argc > 1 ? argv[1] : "all";
    cudaDriverEntryPointQueryResult status;
    cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", (void **)&encode, 12000, cudaEnableDefault, &status);
    bool is_right = true;
    if (!strcmp(mode, "no_wait")) return !fetches(shapes[1], 0);
    if (!strcmp(mode, "no_fence")) return !stores(0);
    for (const shape &s : shapes)
        if (!fetches(s, 1)) {
            printf("shape %d is wrong\n", (int)(&s - shapes));
            is_right = false;
        }
    if (!stores(1)) printf("stores are wrong\n"), is_right = false;
    if (!multicasts()) printf("the multicast is wrong\n"), is_right = false;
    if (!refuses()) printf("refusals are wrong\n"), is_right = false;
    if (is_right) puts("ok");
    return !is_right;
}
