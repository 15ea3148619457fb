// Each row's softmax, a block a row.
__device__ float reduce_max(float value) {
    for (int offset = 16; offset > 0; offset /= 2)
        value = fmaxf(value, __shfl_xor_sync(0xffffffff, value, offset));
    return value;
}

__device__ float reduce_sum(float value) {
    for (int offset = 16; offset > 0; offset /= 2) value += __shfl_xor_sync(0xffffffff, value, offset);
    return value;
}

extern "C" __global__ void softmax(const float *in, float *out, int columns) {
    __shared__ float partials[32];
    const float *row = in + (size_t)blockIdx.x * columns;
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;

    float greatest = -3.402823466e38f;
    for (int i = threadIdx.x; i < columns; i += blockDim.x) greatest = fmaxf(greatest, row[i]);
    greatest = reduce_max(greatest);
    if (lane == 0) partials[warp] = greatest;
    __syncthreads();
    greatest = reduce_max(lane < warps ? partials[lane] : -3.402823466e38f);
    __syncthreads();

    float sum = 0;
    for (int i = threadIdx.x; i < columns; i += blockDim.x) sum += expf(row[i] - greatest);
    sum = reduce_sum(sum);
    if (lane == 0) partials[warp] = sum;
    __syncthreads();
    sum = reduce_sum(lane < warps ? partials[lane] : 0);

    for (int i = threadIdx.x; i < columns; i += blockDim.x)
        out[(size_t)blockIdx.x * columns + i] = expf(row[i] - greatest) / sum;
}
