// A program two of whose lines with code no launch executes.
#include <cstdio>

__global__ void fill(float *a, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) a[i] = i % 7;
    if (n < 0) {
        a[0] = sqrtf(a[1]);
        a[1] = a[0] / 3;
    }
}

__global__ void sum(const float *a, float *out, int n)
{
    __shared__ float part[128];
    int t = threadIdx.x;
    float s = 0;
    for (int i = t; i < n; i += blockDim.x) s += a[i];
    part[t] = s;
    __syncthreads();
    for (int d = 1; d < blockDim.x; d *= 2) {
        if (t % (2 * d) == 0) part[t] += part[t + d];
        __syncthreads();
    }
    if (t == 0) *out = part[0];
}

int main()
{
    const int n = 1000;
    float *a, *out, result;
    cudaMalloc(&a, n * 4);
    cudaMalloc(&out, 4);
    fill<<<(n + 127) / 128, 128>>>(a, n);
    for (int k = 0; k < 3; k++) sum<<<1, 128>>>(a, out, n);
    cudaMemcpy(&result, out, 4, cudaMemcpyDeviceToHost);
    printf("%g\n", result);
    cudaFree(a); // and not out
}
