// The well-known family of reductions, from the slowest on, as templates of the type.

// Dynamic shared memory of any type: one name for each.
template <class T> struct SharedMemory {
    __device__ inline operator T *() {
        extern __shared__ int shared_int[];
        return (T *)shared_int;
    }
};
template <> struct SharedMemory<double> {
    __device__ inline operator double *() {
        extern __shared__ double shared_double[];
        return shared_double;
    }
};

template <class T> __global__ void reduce0(T *in, T *out, unsigned int n) {
    T *values = SharedMemory<T>();
    unsigned int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    values[t] = i < n ? in[i] : 0;
    __syncthreads();
    for (unsigned int s = 1; s < blockDim.x; s *= 2) {
        if (t % (2 * s) == 0) values[t] += values[t + s];
        __syncthreads();
    }
    if (t == 0) out[blockIdx.x] = values[0];
}

template <class T> __global__ void reduce1(T *in, T *out, unsigned int n) {
    T *values = SharedMemory<T>();
    unsigned int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    values[t] = i < n ? in[i] : 0;
    __syncthreads();
    for (unsigned int s = 1; s < blockDim.x; s *= 2) {
        unsigned int index = 2 * s * t;
        if (index < blockDim.x) values[index] += values[index + s];
        __syncthreads();
    }
    if (t == 0) out[blockIdx.x] = values[0];
}

template <class T> __global__ void reduce2(T *in, T *out, unsigned int n) {
    T *values = SharedMemory<T>();
    unsigned int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    values[t] = i < n ? in[i] : 0;
    __syncthreads();
    for (unsigned int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (t < s) values[t] += values[t + s];
        __syncthreads();
    }
    if (t == 0) out[blockIdx.x] = values[0];
}

template <class T> __global__ void reduce3(T *in, T *out, unsigned int n) {
    T *values = SharedMemory<T>();
    unsigned int t = threadIdx.x, i = blockIdx.x * (blockDim.x * 2) + t;
    T sum = i < n ? in[i] : 0;
    if (i + blockDim.x < n) sum += in[i + blockDim.x];
    values[t] = sum;
    __syncthreads();
    for (unsigned int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (t < s) values[t] = sum = sum + values[t + s];
        __syncthreads();
    }
    if (t == 0) out[blockIdx.x] = sum;
}

__device__ unsigned int ticket = 0;

template <unsigned int BLOCK> __device__ float block_sum(float *values, float sum) {
    values[threadIdx.x] = sum;
    __syncthreads();
    for (unsigned int s = BLOCK / 2; s > 0; s >>= 1) {
        if (threadIdx.x < s) values[threadIdx.x] += values[threadIdx.x + s];
        __syncthreads();
    }
    return values[0];
}

// One launch without cooperation: the last block to take a ticket adds the blocks' sums.
template <unsigned int BLOCK>
__global__ void fence_reduction(const float *in, volatile float *out, unsigned int n) {
    __shared__ float values[BLOCK];
    __shared__ bool is_last;
    float sum = 0;
    for (unsigned int i = blockIdx.x * BLOCK + threadIdx.x; i < n; i += BLOCK * gridDim.x) sum += in[i];
    sum = block_sum<BLOCK>(values, sum);
    if (threadIdx.x == 0) {
        out[blockIdx.x] = sum;
        __threadfence();
        is_last = atomicInc(&ticket, gridDim.x) == gridDim.x - 1;
    }
    __syncthreads();
    if (!is_last) return;
    sum = 0;
    for (unsigned int i = threadIdx.x; i < gridDim.x; i += BLOCK) sum += out[i];
    sum = block_sum<BLOCK>(values, sum);
    if (threadIdx.x == 0) {
        out[0] = sum;
        ticket = 0;
    }
}
