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

enum { UNTOUCHED = 0xee };

// A box of nbytes comes, and the extent that it takes in shared memory goes out.
__global__ void fetch(const __grid_constant__ CUtensorMap map, coordinates c, int rank, unsigned nbytes, unsigned extent,
                      int waits, unsigned char *out) {
    extern __shared__ __align__(1024) unsigned char box[];
    __shared__ mbarrier m;
    for (unsigned i = threadIdx.x; i < extent; i += blockDim.x) box[i] = UNTOUCHED;
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (threadIdx.x == 0) {
        asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory");
        begin(&m, nbytes);
        load(rank, box, &map, c.at, &m);
    }
    __syncthreads();
    if (waits) await(&m);
    for (unsigned i = threadIdx.x; i < extent; i += blockDim.x) out[i] = box[i]; // line: read
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

// A map of three dimensions of bytes becomes one of two of numbers, in global or in shared memory; a box by it comes.
#define CHANGE(space, element, place)                                                                                        \
    asm volatile("tensormap.replace.tile.global_address" space ".b1024.b64 [%0], %1;" ::place, "l"(tensor) : "memory");      \
    asm volatile("tensormap.replace.tile.rank" space ".b1024.b32 [%0], %1;" ::place, "r"(1) : "memory");                     \
    asm volatile("tensormap.replace.tile.box_dim" space ".b1024.b32 [%0], 0, %1;" ::place, "r"(BOX_WIDTH / per) : "memory"); \
    asm volatile("tensormap.replace.tile.box_dim" space ".b1024.b32 [%0], 1, %1;" ::place, "r"(BOX_HEIGHT) : "memory");      \
    asm volatile("tensormap.replace.tile.global_dim" space ".b1024.b32 [%0], 0, %1;" ::place, "r"(width / per) : "memory");  \
    asm volatile("tensormap.replace.tile.global_dim" space ".b1024.b32 [%0], 1, %1;" ::place, "r"(height) : "memory");       \
    asm volatile("tensormap.replace.tile.global_stride" space ".b1024.b64 [%0], 0, %1;" ::place, "l"(pitch) : "memory");     \
    asm volatile("tensormap.replace.tile.element_stride" space ".b1024.b32 [%0], 1, %1;" ::place, "r"(step) : "memory");     \
    asm volatile("tensormap.replace.tile.elemtype" space ".b1024.b32 [%0], " element ";" ::place : "memory");                \
    asm volatile("tensormap.replace.tile.interleave_layout" space ".b1024.b32 [%0], 0;" ::place : "memory");                 \
    asm volatile("tensormap.replace.tile.swizzle_mode" space ".b1024.b32 [%0], 0;" ::place : "memory");                      \
    asm volatile("tensormap.replace.tile.fill_mode" space ".b1024.b32 [%0], 0;" ::place : "memory")

enum { BOX_WIDTH = 8, BOX_HEIGHT = 4 };

__global__ void change(const CUtensorMap *given, CUtensorMap *changed, int where, const int *tensor, int width, int height,
                       unsigned long long pitch, int step, int *out) {
    __shared__ __align__(128) CUtensorMap in_shared;
    __shared__ __align__(128) int box[BOX_HEIGHT * BOX_WIDTH];
    __shared__ mbarrier m;
    CUtensorMap *to = where == 1 ? &in_shared : changed;
    const int per = where == 2 ? 2 : 1; // numbers in an element: s32, f32 or f64
    if (threadIdx.x < sizeof *to / 8)
        ((unsigned long long *)to)[threadIdx.x] = given ? ((const unsigned long long *)given)[threadIdx.x] : 0; // or made of zeros, as Triton's are
    __syncthreads();
    if (threadIdx.x == 0) {
        if (where == 0) { CHANGE(".global", "3", "l"(changed)); }
        else if (where == 1) { CHANGE(".shared::cta", "7", "r"(address(&in_shared))); }
        else { CHANGE("", "9", "l"(changed)); }
    }
    __syncthreads();
    if (where == 1)
        asm volatile("tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%0], [%1], 128;"
                     ::"l"(changed), "r"(address(&in_shared)) : "memory"); // line: copy
    __syncthreads();
    if (threadIdx.x == 0) {
        const int corner[5] = {4 / per, 2};
        asm volatile("fence.proxy.tensormap::generic.release.gpu;" ::: "memory");
        asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" ::"l"(changed) : "memory");
        begin(&m, sizeof box);
        load(2, box, changed, corner, &m);
    }
    __syncthreads();
    await(&m);
    for (unsigned i = threadIdx.x; i < BOX_WIDTH * BOX_HEIGHT; i += blockDim.x) out[i] = box[i];
}

// The upper half of a warp does not copy.
__global__ void copy_by_some(CUtensorMap *map) {
    __shared__ __align__(128) unsigned in_shared[32];
    in_shared[threadIdx.x] = 0;
    __syncwarp();
    if (threadIdx.x < 16)
        asm volatile("tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%0], [%1], 128;"
                     ::"l"(map), "r"(address(in_shared)) : "memory");
}

// All threads change one map at once.
__global__ void change_at_once(CUtensorMap *map) {
    asm volatile("tensormap.replace.tile.global_dim.global.b1024.b32 [%0], 0, %1;" ::"l"(map), "r"(16 + threadIdx.x) : "memory"); // line: at once
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

// Pixels come, with offsets, and go out again at the place that they came from, without.
__global__ void pixels(const __grid_constant__ CUtensorMap map, const __grid_constant__ CUtensorMap target, coordinates c, int rank,
                       unsigned nbytes, ushort3 offsets, int stores, unsigned char *out) {
    extern __shared__ __align__(1024) unsigned char box[];
    __shared__ mbarrier m;
#define IM2COL(rank, list, ...)                                                                                       \
    asm volatile("cp.async.bulk.tensor." #rank "d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%0], [%1, " \
                 list ";" ::"r"(address(box)), "l"(&map), "r"(address(&m)), "r"(c.at[0]), "r"(c.at[1]), "r"(c.at[2]), \
                 "h"(offsets.x), __VA_ARGS__ : "memory")
    if (threadIdx.x == 0) {
        begin(&m, nbytes);
        if (rank == 3) IM2COL(3, "{%3, %4, %5}], [%2], {%6}", "r"(0));
        if (rank == 4) IM2COL(4, "{%3, %4, %5, %7}], [%2], {%6, %8}", "r"(c.at[3]), "h"(offsets.y));
        if (rank == 5)
            IM2COL(5, "{%3, %4, %5, %7, %8}], [%2], {%6, %9, %10}", "r"(c.at[3]), "r"(c.at[4]), "h"(offsets.y), "h"(offsets.z));
    }
    __syncthreads();
    await(&m);
    for (unsigned i = threadIdx.x; i < nbytes; i += blockDim.x) out[i] = box[i];
    if (threadIdx.x || !stores) return;
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    asm volatile("cp.async.bulk.tensor.4d.global.shared::cta.im2col_no_offs.bulk_group [%0, {%2, %3, %4, %5}], [%1];" ::"l"(&target),
                 "r"(address(box)), "r"(c.at[0]), "r"(c.at[1]), "r"(c.at[2]), "r"(c.at[3]) : "memory");
    asm volatile("cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;" ::: "memory");
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

// A row of a swizzled box takes the swizzle's span, if it is shorter.
static unsigned row_bytes(const shape &s) { return s.box[0] * s.size; }
static unsigned pitch(const shape &s) { return s.swizzle == CU_TENSOR_MAP_SWIZZLE_NONE ? row_bytes(s) : 16u << s.swizzle; }

// To a multiple of 2^13, of two that are as near the even one, as an H200 does, of subnormal numbers, too.
static void round_to_tf32(unsigned char *element) {
    unsigned bits;
    memcpy(&bits, element, 4);
    const unsigned low = bits % 8192, next = bits - low + 8192;
    if ((bits & 0x7fffffff) > 0x7f800000) bits = 0x7fffe000;
    else bits = low > 4096 || (low == 4096 && bits / 8192 % 2) ? next : bits - low;
    memcpy(element, &bits, 4);
}

// Element by element, by the definition.
static std::vector<unsigned char> expected(const shape &s, const std::vector<unsigned char> &data) {
    unsigned count = 1;
    for (unsigned d = 0; d < s.rank; d++) count *= s.box[d];
    std::vector<unsigned char> box(count / s.box[0] * pitch(s), UNTOUCHED), swizzled(box.size());
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
        unsigned char *to = &box[e / s.box[0] * pitch(s) + e % s.box[0] * s.size];
        if (is_inside) memcpy(to, &data[from], s.size);
        else memset(to, 0, s.size);
        if (s.type == CU_TENSOR_MAP_DATA_TYPE_TFLOAT32 || s.type == CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ) round_to_tf32(to);
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
    std::vector<unsigned char> data(nbytes), got(box / row_bytes(s) * pitch(s));
    for (size_t b = 0; b < nbytes; b++) data[b] = (unsigned char)(1 + b * 2654435761u % 255);
    unsigned char *from = copied(data), *to = copied(got);
    CUtensorMap map;
    if (encode_shape(&map, from, s)) return false;
    coordinates c;
    memcpy(c.at, s.at, sizeof c.at);
    fetch<<<1, 64, got.size()>>>(map, c, s.rank, (unsigned)box, (unsigned)got.size(), waits, to);
    bool is_done = cudaMemcpy(got.data(), to, got.size(), cudaMemcpyDefault) == cudaSuccess;
    cudaFree(from);
    cudaFree(to);
    return is_done && got == expected(s, data);
}

#define NONE CU_TENSOR_MAP_SWIZZLE_NONE
static const shape shapes[] = {
    {CU_TENSOR_MAP_DATA_TYPE_UINT8, 1, 1, {100}, {1}, {64}, NONE, {48}},
    {CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 4, 2, {30, 11}, {1, 32}, {16, 8}, NONE, {-4, 7}},
    {CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, 3, {24, 6, 5}, {1, 24, 160}, {16, 4, 3}, NONE, {16, -2, 3}},
    {CU_TENSOR_MAP_DATA_TYPE_FLOAT64, 8, 4, {6, 5, 4, 3}, {1, 6, 30, 120}, {4, 3, 2, 2}, NONE, {4, 1, 1, 2}},
    {CU_TENSOR_MAP_DATA_TYPE_INT32, 4, 5, {8, 3, 3, 3, 3}, {1, 8, 24, 72, 216}, {4, 2, 2, 2, 2}, NONE, {4, 1, 1, 1, 2}},
    {CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, 2, {128, 40}, {1, 128}, {64, 32}, CU_TENSOR_MAP_SWIZZLE_128B, {40, 20}},
    {CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 4, 2, {64, 40}, {1, 64}, {16, 32}, CU_TENSOR_MAP_SWIZZLE_64B, {56, 3}},
    {CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 4, 2, {64, 40}, {1, 64}, {8, 32}, CU_TENSOR_MAP_SWIZZLE_32B, {60, 3}},
    {CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 4, 2, {64, 40}, {1, 64}, {4, 32}, CU_TENSOR_MAP_SWIZZLE_32B, {8, 3}},
    {CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 4, 2, {64, 40}, {1, 64}, {12, 16}, CU_TENSOR_MAP_SWIZZLE_64B, {56, 3}},
    {CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, 3, {64, 40, 2}, {1, 64, 2560}, {16, 9, 2}, CU_TENSOR_MAP_SWIZZLE_128B, {8, 3, 1}},
    {CU_TENSOR_MAP_DATA_TYPE_INT32, 4, 2, {8, 8}, {1, 8}, {8, 8}, NONE, {-2147483647 - 1, 2147483647}},
    {CU_TENSOR_MAP_DATA_TYPE_INT32, 4, 3, {64, 1, 40}, {1, 0, 64}, {16, 1, 32}, NONE, {56, 0, 3}},
    {CU_TENSOR_MAP_DATA_TYPE_TFLOAT32, 4, 2, {64, 40}, {1, 64}, {16, 32}, CU_TENSOR_MAP_SWIZZLE_64B, {56, 3}},
    {CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ, 4, 1, {256}, {1}, {256}, NONE, {0}},
    {CU_TENSOR_MAP_DATA_TYPE_FLOAT32_FTZ, 4, 1, {256}, {1}, {256}, NONE, {0}},
};

// The box leaves the tensor on two sides; rows of 120 bytes are written to the end of their last 16.
static bool stores(int y, int fences) {
    const int x = 20;
    shape s = {CU_TENSOR_MAP_DATA_TYPE_INT32, 4, 2, {30, 20}, {1, 32}, {16, 8}, NONE, {}};
    std::vector<int> data(32 * 20, 7), wanted(data);
    for (int row = 0; row < 8; row++)
        for (int column = 0; column < 16; column++)
            if (y + row < 20 && x + column < 32) wanted[32 * (y + row) + x + column] = 2 * (1000 + 16 * row + column);
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

typedef CUresult (*encode_im2col_function)(CUtensorMap *, CUtensorMapDataType, cuuint32_t, void *, const cuuint64_t *,
                                           const cuuint64_t *, const int *, const int *, cuuint32_t, cuuint32_t,
                                           const cuuint32_t *, CUtensorMapInterleave, CUtensorMapSwizzle,
                                           CUtensorMapL2promotion, CUtensorMapFloatOOBfill);
static encode_im2col_function encode_im2col;

struct columns {
    unsigned rank;
    cuuint64_t sizes[5]; // channels, width, height, depth, images, as far as there are so many
    int lower[3], upper[3];
    cuuint32_t channels, pixels, steps[5];
    int at[5];
    unsigned short offsets[3];
};

static int encode_columns(CUtensorMap *map, void *data, const columns &s) {
    cuuint64_t strides[4] = {s.sizes[0] * 4};
    for (unsigned d = 1; d + 1 < s.rank; d++) strides[d] = strides[d - 1] * s.sizes[d];
    return encode_im2col(map, CU_TENSOR_MAP_DATA_TYPE_INT32, s.rank, data, s.sizes, strides, s.lower, s.upper, s.channels, s.pixels,
                         s.steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_NONE,
                         CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
}

// All pixels of the bounding boxes of all images and some behind, in order.
static std::vector<std::vector<int>> pixels_of(const columns &s) {
    std::vector<std::vector<int>> found;
    const int images = (int)s.sizes[s.rank - 1] + 2;
    int from[3] = {0, 0, 0}, end[3] = {1, 1, 1}, by[3] = {1, 1, 1};
    for (unsigned d = 0; d + 2 < s.rank; d++)
        from[d] = s.lower[d], end[d] = (int)s.sizes[d + 1] + s.upper[d], by[d] = (int)s.steps[d + 1];
    for (int n = 0; n < images; n++)
        for (int z = from[2]; z < end[2]; z += by[2])
            for (int y = from[1]; y < end[1]; y += by[1])
                for (int x = from[0]; x < end[0]; x += by[0]) {
                    int all[] = {x, y, z};
                    std::vector<int> pixel(all, all + s.rank - 2);
                    pixel.push_back(n);
                    found.push_back(pixel);
                }
    return found;
}

// Its number in the tensor; -1: outside.
static long place_of(const columns &s, const std::vector<int> &pixel, bool has_offsets) {
    long place = 0;
    for (unsigned d = s.rank - 1; d >= 1; d--) {
        const long at = pixel[d - 1] + (has_offsets && d < s.rank - 1 ? s.offsets[d - 1] : 0);
        if (at < 0 || at >= (long)s.sizes[d]) return -1;
        place = place * (long)s.sizes[d] + at;
    }
    return place;
}

// Only with a bounding box that stays inside.
static bool is_stored(const columns &s) {
    return s.rank == 4 && s.lower[0] >= 0 && s.lower[1] >= 0 && s.upper[0] <= 0 && s.upper[1] <= 0;
}

static bool columns_come(const columns &s, bool stores) {
    size_t count = 1, nbytes = s.channels * s.pixels * 4;
    for (unsigned d = 0; d < s.rank; d++) count *= s.sizes[d];
    std::vector<int> data(count), got(nbytes / 4), wanted(nbytes / 4), left(count), stored(count);
    for (size_t i = 0; i < count; i++) data[i] = 1000 + (int)i;
    std::vector<unsigned char> bytes(count * 4);
    unsigned char *target = copied(bytes), *to = copied(std::vector<unsigned char>(nbytes));
    memcpy(bytes.data(), data.data(), bytes.size());
    unsigned char *from = copied(bytes);
    const auto all = pixels_of(s);
    size_t first = 0;
    while (all[first] != std::vector<int>(s.at + 1, s.at + s.rank)) first++;
    for (unsigned p = 0; p < s.pixels; p++)
        for (unsigned c = 0; c < s.channels; c++) {
            const bool is_channel = s.at[0] + c < s.sizes[0];
            const long place = place_of(s, all[first + p], true), plain = place_of(s, all[first + p], false);
            if (place >= 0 && is_channel) wanted[p * s.channels + c] = data[place * s.sizes[0] + s.at[0] + c];
            if (plain >= 0 && is_channel && is_stored(s)) stored[plain * s.sizes[0] + s.at[0] + c] = wanted[p * s.channels + c];
        }
    CUtensorMap map, back;
    if (encode_columns(&map, from, s) || encode_columns(&back, target, s)) return false;
    coordinates c;
    memcpy(c.at, s.at, sizeof c.at);
    pixels<<<1, 64, nbytes>>>(map, back, c, s.rank, (unsigned)nbytes, {s.offsets[0], s.offsets[1], s.offsets[2]},
                          stores, to);
    bool is_done = cudaMemcpy(got.data(), to, nbytes, cudaMemcpyDefault) == cudaSuccess &&
                   cudaMemcpy(left.data(), target, count * 4, cudaMemcpyDefault) == cudaSuccess;
    cudaFree(from), cudaFree(to), cudaFree(target);
    return is_done && got == wanted && left == stored;
}

// A filter of 3 in one, 3 x 3 in two and 2 x 2 x 2 in three dimensions; with steps of 2 and 1; behind the last image.
static const columns all_columns[] = {
    {3, {8, 10, 3}, {-1}, {-1}, 4, 24, {1, 1, 1}, {4, 2, 0}, {2}},
    {4, {8, 7, 5, 3}, {-1, -1}, {-1, -1}, 8, 48, {1, 1, 1, 1}, {0, 3, 2, 0}, {1, 2}},
    {4, {8, 7, 5, 3}, {0, 0}, {-1, -1}, 8, 60, {1, 1, 1, 1}, {0, 3, 2, 1}, {0, 1}},
    {4, {12, 9, 8, 2}, {-1, 0}, {1, -2}, 8, 32, {1, 2, 1, 1}, {8, 1, 3, 1}, {0, 1}},
    {5, {4, 5, 4, 3, 2}, {0, 0, 0}, {-1, -1, -1}, 4, 40, {1, 1, 1, 1, 1}, {0, 2, 1, 1, 0}, {1, 0, 1}},
};

static bool refuses_columns() {
    columns s = all_columns[1], t;
    CUtensorMap map;
    char *data = (char *)0x700000000000;
    bool is_right = !encode_columns(&map, data, s);
    (t = s).pixels = 1025;
    is_right &= encode_columns(&map, data, t) == CUDA_ERROR_INVALID_VALUE;
    (t = s).channels = 257;
    is_right &= encode_columns(&map, data, t) == CUDA_ERROR_INVALID_VALUE;
    (t = s).lower[0] = 128; // -128 to 127 in two dimensions of space
    is_right &= encode_columns(&map, data, t) == CUDA_ERROR_INVALID_VALUE;
    (t = s).upper[1] = -6; // nothing is left
    is_right &= encode_columns(&map, data, t) == CUDA_ERROR_INVALID_VALUE;
    (t = s).steps[2] = 9;
    is_right &= encode_columns(&map, data, t) == CUDA_ERROR_INVALID_VALUE;
    (t = s).rank = 2;
    return is_right && encode_columns(&map, data, t) == CUDA_ERROR_INVALID_VALUE;
}

// The box from column 4 of row 2 of numbers that stand for themselves; what lies outside is 0.
static bool changes(int where, int step, bool is_made = false) {
    enum { WIDTH = 10, HEIGHT = 5, PITCH = 12 };
    std::vector<int> numbers(PITCH * HEIGHT), wanted(BOX_WIDTH * BOX_HEIGHT), got(wanted.size());
    for (size_t i = 0; i < numbers.size(); i++) numbers[i] = 1000 + (int)i;
    for (int y = 0; y < BOX_HEIGHT; y++)
        for (int x = 0; x < BOX_WIDTH; x++)
            if (y + 2 < HEIGHT && x + 4 < WIDTH) wanted[y * BOX_WIDTH + x] = numbers[(y + 2) * PITCH + x + 4];
    CUtensorMap map, *maps;
    int *out;
    const shape three = shapes[10]; // with a swizzle
    cudaFree(nullptr); // a GPU's driver knows no map before there is a context
    if (three.rank != 3 || encode_shape(&map, (char *)0x700000000000, three)) return false;
    cudaMalloc(&maps, 2 * sizeof map), cudaMalloc(&out, wanted.size() * 4);
    cudaMemcpy(maps, &map, sizeof map, cudaMemcpyDefault);
    const unsigned char *bytes = (const unsigned char *)numbers.data();
    void *tensor = copied(std::vector<unsigned char>(bytes, bytes + numbers.size() * 4));
    change<<<1, 32>>>(is_made ? nullptr : maps, maps + 1, where, (int *)tensor, WIDTH, HEIGHT, PITCH * 4, step, out);
    const bool is_done = cudaMemcpy(got.data(), out, got.size() * 4, cudaMemcpyDefault) == cudaSuccess;
    if (where == 2 && step == 1) change_at_once<<<1, 2>>>(maps), cudaDeviceSynchronize();
    cudaFree(maps), cudaFree(out), cudaFree(tensor);
    return is_done && got == wanted;
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
    return is_right && encode_shape(&map, data + 4, s) == CUDA_ERROR_INVALID_VALUE;
}

int main(int argc, char **argv) {
    const char *mode = argc > 1 ? argv[1] : "all";
    cudaDriverEntryPointQueryResult status;
    cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", (void **)&encode, 12000, cudaEnableDefault, &status);
    bool is_right = true;
    cudaGetDriverEntryPointByVersion("cuTensorMapEncodeIm2col", (void **)&encode_im2col, 12000, cudaEnableDefault, &status);
    if (!strcmp(mode, "no_wait")) return !fetches(shapes[1], 0);
    if (!strcmp(mode, "changed")) return !changes(0, 1) || !changes(1, 1) || !changes(0, 1, true) || !changes(1, 1, true);
    if (!strcmp(mode, "parted")) {
        copy_by_some<<<1, 32>>>((CUtensorMap *)copied(std::vector<unsigned char>(128)));
        return cudaDeviceSynchronize() == cudaSuccess;
    }
    if (!strcmp(mode, "at_once")) return !changes(2, 1);
    if (!strcmp(mode, "steps")) return !changes(0, 2);
    if (!strcmp(mode, "no_fence")) return !stores(15, 0);
    if (!strcmp(mode, "before")) return stores(-3, 1);
    if (!strcmp(mode, "enlarged")) return columns_come(all_columns[1], true);
    if (!strcmp(mode, "odd") || !strcmp(mode, "narrow")) {
        shape s = shapes[1];
        CUtensorMap map;
        s.at[0] = 3;
        if (mode[0] == 'o') return fetches(s, 1);
        s.type = CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN8B;
        return encode_shape(&map, (void *)0x700000000000, s) != CUDA_ERROR_NOT_SUPPORTED;
    }
    if (!strcmp(mode, "other_map")) { // a map for pixels, and a copy of a box
        coordinates c = {};
        CUtensorMap map;
        encode_columns(&map, copied(std::vector<unsigned char>(4096)), all_columns[1]);
        fetch<<<1, 64, 4096>>>(map, c, 4, 4096, 4096, 1, copied(std::vector<unsigned char>(4096)));
        return cudaDeviceSynchronize() != cudaErrorIllegalAddress;
    }
    for (const shape &s : shapes)
        if (!fetches(s, 1)) {
            printf("shape %d is wrong\n", (int)(&s - shapes));
            is_right = false;
        }
    if (!stores(15, 1)) printf("stores are wrong\n"), is_right = false;
    if (!multicasts()) printf("the multicast is wrong\n"), is_right = false;
    for (const columns &s : all_columns)
        if (!columns_come(s, is_stored(s))) {
            printf("columns %d are wrong\n", (int)(&s - all_columns));
            is_right = false;
        }
    if (!refuses_columns()) printf("refusals of columns are wrong\n"), is_right = false;
    if (!refuses()) printf("refusals are wrong\n"), is_right = false;
    if (is_right) puts("ok");
    return !is_right;
}
