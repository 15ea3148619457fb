// Bytes counted: in shared memory by each block, then added to the whole.
extern "C" __global__ void histogram(const unsigned char *bytes, unsigned int *bins, int n) {
    __shared__ unsigned int counts[256];
    for (int bin = threadIdx.x; bin < 256; bin += blockDim.x) counts[bin] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&counts[bytes[i]], 1);
    __syncthreads();
    for (int bin = threadIdx.x; bin < 256; bin += blockDim.x)
        if (counts[bin]) atomicAdd(&bins[bin], counts[bin]);
}

// Every atomic operation, on words that start as the host has set them.
extern "C" __global__ void atomics(int *ints, unsigned int *words, unsigned long long *longs, float *floats,
                                   double *doubles) {
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    atomicAdd(&ints[0], (int)i);
    atomicSub(&ints[1], (int)i);
    atomicMin(&ints[2], -(int)i);
    atomicMax(&ints[3], (int)i);
    atomicAnd(&words[0], ~(1u << (i % 8)));
    atomicOr(&words[1], 1u << (i % 32));
    atomicXor(&words[2], i);
    atomicInc(&words[3], 9);
    atomicDec(&words[4], 9);
    atomicMin(&words[5], i + 5);
    atomicMax(&words[6], i);
    atomicAdd(&longs[0], 1ull << 40);
    atomicMax(&longs[1], (unsigned long long)i << 33);
    atomicMin(&longs[2], (unsigned long long)i + 7);
    atomicXor(&longs[3], (unsigned long long)i << 32);
    atomicAdd(&floats[0], 0.5f);
    atomicAdd(&doubles[0], 0.25);
    // A product of doubles, which has no instruction: by comparing and swapping.
    unsigned long long *address = (unsigned long long *)&doubles[1],
                       old = *(volatile unsigned long long *)address;
    for (;;) {
        double product = __longlong_as_double(old) * (i % 2 ? 2.0 : 0.5);
        unsigned long long seen = atomicCAS(address, old, __double_as_longlong(product));
        if (seen == old) break;
        old = seen;
    }
    if (atomicExch(&words[7], i) == 0xffffffffu) atomicAdd(&words[8], 1);
}
