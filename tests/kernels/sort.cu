// Bitonic sort of one block's elements, a power of two, in shared memory.
extern "C" __global__ void bitonic_sort(float *data) {
    extern __shared__ float values[];
    unsigned int t = threadIdx.x;
    values[t] = data[t];
    __syncthreads();
    for (unsigned int size = 2; size <= blockDim.x; size <<= 1)
        for (unsigned int stride = size >> 1; stride > 0; stride >>= 1) {
            unsigned int partner = t ^ stride;
            if (partner > t) {
                bool rising = (t & size) == 0;
                float a = values[t], b = values[partner];
                if ((a > b) == rising) values[t] = b, values[partner] = a;
            }
            __syncthreads();
        }
    data[t] = values[t];
}

// Bits from the lowest: those with a 0 go before those with a 1, by ranks that a scan gives.
extern "C" __global__ void radix_sort(unsigned int *data) {
    extern __shared__ unsigned int space[];
    unsigned int *keys = space, *ranks = space + blockDim.x, t = threadIdx.x;
    keys[t] = data[t];
    for (int bit = 0; bit < 32; bit++) {
        __syncthreads();
        unsigned int key = keys[t], is_zero = !(key >> bit & 1);
        int zeros = __syncthreads_count(is_zero);
        ranks[t] = is_zero;
        __syncthreads();
        for (unsigned int offset = 1; offset < blockDim.x; offset *= 2) {
            unsigned int before = t >= offset ? ranks[t - offset] : 0;
            __syncthreads();
            ranks[t] += before;
            __syncthreads();
        }
        unsigned int place = is_zero ? ranks[t] - 1 : zeros + t - ranks[t];
        keys[place] = key;
    }
    __syncthreads();
    data[t] = keys[t];
}
