// c = a b by tiles in shared memory; a is m x k, b is k x n, in rows.
template <int TILE> __global__ void matmul(const float *a, const float *b, float *c, int m, int k, int n) {
    __shared__ float tile_a[TILE][TILE], tile_b[TILE][TILE];
    int row = blockIdx.y * TILE + threadIdx.y, column = blockIdx.x * TILE + threadIdx.x;
    float sum = 0;
    for (int first = 0; first < k; first += TILE) {
        int i = first + threadIdx.x, j = first + threadIdx.y;
        tile_a[threadIdx.y][threadIdx.x] = row < m && i < k ? a[row * k + i] : 0;
        tile_b[threadIdx.y][threadIdx.x] = j < k && column < n ? b[j * n + column] : 0;
        __syncthreads();
#pragma unroll
        for (int t = 0; t < TILE; t++) sum += tile_a[threadIdx.y][t] * tile_b[t][threadIdx.x];
        __syncthreads();
    }
    if (row < m && column < n) c[row * n + column] = sum;
}

// Each row of a sparse matrix (row_begins, columns, values) by a vector: one warp a row.
extern "C" __global__ void sparse_by_vector(const int *row_begins, const int *columns, const double *values,
                                            const double *x, double *y, int rows) {
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / warpSize, lane = threadIdx.x % warpSize;
    if (row >= rows) return;
    double sum = 0;
    for (int i = row_begins[row] + lane; i < row_begins[row + 1]; i += warpSize)
        sum += values[i] * x[columns[i]];
    for (int offset = warpSize / 2; offset > 0; offset /= 2) sum += __shfl_down_sync(0xffffffff, sum, offset);
    if (lane == 0) y[row] = sum;
}
