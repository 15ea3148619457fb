// A matrix transposed through tiles of shared memory, without and with a column of padding.
enum { TILE = 32, ROWS = 8 };

template <int PADDING> __device__ void transpose(const float *in, float *out, int width, int height) {
    __shared__ float tile[TILE][TILE + PADDING];
    int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
    for (int row = 0; row < TILE; row += ROWS)
        if (x < width && y + row < height) tile[threadIdx.y + row][threadIdx.x] = in[(y + row) * width + x];
    __syncthreads();
    x = blockIdx.y * TILE + threadIdx.x;
    y = blockIdx.x * TILE + threadIdx.y;
    for (int row = 0; row < TILE; row += ROWS)
        if (x < height && y + row < width) out[(y + row) * height + x] = tile[threadIdx.x][threadIdx.y + row];
}

extern "C" __global__ void transpose_plain(const float *in, float *out, int width, int height) {
    transpose<0>(in, out, width, height);
}

extern "C" __global__ void transpose_padded(const float *in, float *out, int width, int height) {
    transpose<1>(in, out, width, height);
}

// Straight: every store goes to a line of its own.
extern "C" __global__ void transpose_straight(const float *in, float *out, int width, int height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < width && y < height) out[x * height + y] = in[y * width + x];
}
