// Conflict-free
//
// The tile lets a warp read whole lines and write whole lines.  But a column of it lies in one bank, and the 32 lanes
// that read it are served one after the other.  One character is enough.
//
// Report: gate

__global__ void transpose(const int *in, int *out, int rows, int cols)
{
    __shared__ int tile[32][32];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8)
        if (x < cols && y + j < rows)
            tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * cols + x];
    __syncthreads();

    x = blockIdx.y * 32 + threadIdx.x;
    y = blockIdx.x * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8)
        if (x < rows && y + j < cols)
            out[(y + j) * rows + x] = tile[threadIdx.x][threadIdx.y + j];
}
