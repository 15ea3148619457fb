// The other file of linked.cu.
#include "linked.cuh"

static __device__ __noinline__ int own(int x) { return x + 200; }
__device__ int offset = 7;
__constant__ int factor = 1;
__device__ int twice(int x) { return 2 * x + thrice(x) + own(x); }
__device__ int (*steps[2])(int) = {twice, own}; // linked.cu knows it in bytes
__device__ void store(int *to, int value) {
    *to = value; // line: store
}
__global__ void set_offset(int value) { offset = value; }
