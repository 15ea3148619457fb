// Products of matrices on tensor cores: by CUDA's wmma, and by ldmatrix and mma in PTX.  Blocks of 128 threads make 32 x
// 32 elements of c, each warp 16 x 16; sizes are multiples of 32, the depth of 16.
#include <cuda_fp16.h>
#include <mma.h>

using namespace nvcuda;

// Whether it is stored by columns.
template <bool> struct layout { using type = wmma::row_major; };
template <> struct layout<true> { using type = wmma::col_major; };

// A block has a tile of 32 x 32: warp w has the quarter (w / 2, w % 2).
template <class Sum, bool a_by_columns, bool b_by_columns>
__global__ void wmma_gemm(const __half *a, const __half *b, Sum *c, int columns, int depth) {
    const int rows = gridDim.y * 32, warp = threadIdx.x / 32;
    const int row = blockIdx.y * 32 + warp / 2 * 16, column = blockIdx.x * 32 + warp % 2 * 16;
    wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, typename layout<a_by_columns>::type> tile_a;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, typename layout<b_by_columns>::type> tile_b;
    wmma::fragment<wmma::accumulator, 16, 16, 16, Sum> sum;
    wmma::fill_fragment(sum, Sum(0.0f));
    for (int k = 0; k < depth; k += 16) {
        wmma::load_matrix_sync(tile_a, a_by_columns ? a + k * rows + row : a + row * depth + k,
                               a_by_columns ? rows : depth);
        wmma::load_matrix_sync(tile_b, b_by_columns ? b + column * depth + k : b + k * columns + column,
                               b_by_columns ? depth : columns);
        wmma::mma_sync(sum, tile_a, tile_b, sum);
    }
    wmma::store_matrix_sync(c + row * columns + column, sum, columns, wmma::mem_row_major);
}

enum fault { right, no_barrier_before, no_barrier_after, not_padded };

__device__ unsigned shared_address(const void *pointer) { return (unsigned)__cvta_generic_to_shared(pointer); }

// Tiles in shared memory, rows of 24 halves so that eight rows of 16 bytes lie in different banks.
template <int fault>
__global__ void tiled_gemm(const __half *a, const __half *b, float *c, int columns, int depth) {
    constexpr int pitch = fault == not_padded ? 64 : 24, pitch_b = 40;
    __shared__ __align__(16) __half tile_a[32 * pitch], tile_b[16 * pitch_b];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int row = warp / 2 * 16, column = warp % 2 * 16;
    float sum[2][4] = {};
    for (int k = 0; k < depth; k += 16) {
        for (int i = threadIdx.x; i < 32 * 16; i += blockDim.x) {
            tile_a[i / 16 * pitch + i % 16] = a[(blockIdx.y * 32 + i / 16) * depth + k + i % 16];
            tile_b[i / 32 * pitch_b + i % 32] = b[(k + i / 32) * columns + blockIdx.x * 32 + i % 32];
        }
        if (fault != no_barrier_before) __syncthreads();
        unsigned r[4], s[4];
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                     : "r"(shared_address(&tile_a[(row + lane % 16) * pitch + lane / 16 * 8])));
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(s[0]), "=r"(s[1]), "=r"(s[2]), "=r"(s[3])
                     : "r"(shared_address(&tile_b[lane % 16 * pitch_b + column + lane / 16 * 8])));
        for (int half = 0; half < 2; half++)
            asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, "
                         "{%0, %1, %2, %3};\n\t"
                         "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%7, %8}, {%9}, "
                         "{%0, %1, %2, %3};"
                         : "+f"(sum[half][0]), "+f"(sum[half][1]), "+f"(sum[half][2]), "+f"(sum[half][3])
                         : "r"(r[0]), "r"(r[1]), "r"(s[2 * half]), "r"(r[2]), "r"(r[3]), "r"(s[2 * half + 1]));
        if (fault != no_barrier_after) __syncthreads();
    }
    for (int half = 0; half < 2; half++)
        for (int i = 0; i < 4; i++)
            c[(blockIdx.y * 32 + row + lane / 4 + i / 2 * 8) * columns + blockIdx.x * 32 + column + 8 * half +
              lane % 4 * 2 + i % 2] = sum[half][i];
}

// Other types of factors, each with one tile: a warp multiplies what it gets.
template <class Factor, class Sum, int m, int n, int k>
__device__ void wmma_tile(const Factor *a, const Factor *b, Sum *c) {
    __shared__ Sum sums[m * n];
    wmma::fragment<wmma::matrix_a, m, n, k, Factor, wmma::row_major> tile_a;
    wmma::fragment<wmma::matrix_b, m, n, k, Factor, wmma::col_major> tile_b;
    wmma::fragment<wmma::accumulator, m, n, k, Sum> sum;
    wmma::fill_fragment(sum, Sum(1));
    wmma::load_matrix_sync(tile_a, a, k);
    wmma::load_matrix_sync(tile_b, b, k);
    wmma::mma_sync(sum, tile_a, tile_b, sum);
    for (int i = 0; i < sum.num_elements; i++) sum.x[i] += Sum(1);
    wmma::store_matrix_sync(sums, sum, m, wmma::mem_col_major);
    __syncwarp();
    wmma::load_matrix_sync(sum, sums, m, wmma::mem_col_major);
    wmma::store_matrix_sync(c, sum, n, wmma::mem_row_major);
}

__global__ void wmma_bytes(const signed char *a, const signed char *b, int *c) {
    wmma_tile<signed char, int, 16, 16, 16>(a, b, c);
}
__global__ void wmma_tall(const signed char *a, const signed char *b, int *c) {
    wmma_tile<signed char, int, 32, 8, 16>(a, b, c);
}
__global__ void wmma_wide(const __half *a, const __half *b, float *c) { wmma_tile<__half, float, 8, 32, 16>(a, b, c); }

// Lanes store, and the warp loads what they have stored, with nothing between.
__global__ void no_warp_barrier(const __half *a, float *c) {
    __shared__ __align__(32) __half tile[256];
    for (int i = threadIdx.x; i < 256; i += 32) tile[i] = a[i];
    wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> tile_a;
    wmma::load_matrix_sync(tile_a, tile, 16);
    c[threadIdx.x] = float(tile_a.x[0]);
}

__global__ void not_all_lanes(const __half *a, float *c) {
    __shared__ __align__(16) __half tile[256];
    for (int i = threadIdx.x; i < 256; i += 32) tile[i] = a[i];
    __syncwarp();
    if (threadIdx.x >= 16) return;
    unsigned r;
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];"
                 : "=r"(r) : "r"(shared_address(&tile[threadIdx.x % 8 * 8])));
    c[threadIdx.x] = float(r);
}

__global__ void misaligned_rows(const __half *a, float *c) {
    __shared__ __align__(16) __half tile[256];
    for (int i = threadIdx.x; i < 256; i += 32) tile[i] = a[i];
    __syncwarp();
    unsigned r;
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];"
                 : "=r"(r) : "r"(shared_address(&tile[threadIdx.x % 8 * 12])));
    c[threadIdx.x] = float(r);
}
