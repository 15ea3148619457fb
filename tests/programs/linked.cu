// A program of two files whose device code is linked (-rdc=true).  With an argument it stores beyond its array, in the
// other file.
#include <cstdio>
#include "linked.cuh"

extern __device__ int twice(int);
extern __device__ void store(int *to, int value);
extern __device__ int offset;
extern __constant__ int factor;
extern __device__ int (*steps[2])(int);
extern __global__ void set_offset(int);
static __device__ __noinline__ int own(int x) { return x + 1; }

__global__ void compute(int *out, int shift) {
    int t = threadIdx.x;
    store(out + t + shift, twice(t) + offset * factor + thrice(t) + own(t) + steps[t & 1](t));
}

int main(int count, char **) {
    int *out, got[32], ten = 10;
    cudaMalloc(&out, sizeof got);
    cudaMemcpyToSymbol(factor, &ten, sizeof ten);
    set_offset<<<1, 1>>>(8);
    compute<<<1, 32>>>(out, count - 1);
    cudaError_t error = cudaMemcpy(got, out, sizeof got, cudaMemcpyDefault);
    bool is_right = !error;
    for (int t = 0; t < 32 && !error; t++) is_right &= got[t] == 2 * (2 * t + 3 * t + t + 200) - (t & 1 ? 5 * t : 0) + 80 + 3 * t + t + 1;
    cudaFree(out);
    puts(is_right ? "ok" : cudaGetErrorName(error));
    return !is_right;
}
