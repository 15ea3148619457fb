// A whole program, as learners have it: only nvcc takes it.
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

#define CHECK(call)                                                                                          \
    do {                                                                                                     \
        cudaError_t error = (call);                                                                          \
        if (error != cudaSuccess) {                                                                          \
            fprintf(stderr, "%s\n", cudaGetErrorString(error));                                              \
            exit(1);                                                                                         \
        }                                                                                                    \
    } while (0)

template <typename T> __global__ void saxpy(T a, const T *x, T *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}

__global__ void scale(float *x, float factor, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= factor;
}

// 128 bits, which NVRTC has only if asked.
__global__ void wide_products(const unsigned long long *a, const unsigned long long *b,
                              unsigned long long *out) {
    int t = threadIdx.x;
    unsigned __int128 product = (unsigned __int128)a[t] * b[t];
    out[3 * t] = (unsigned long long)(product >> 64);
    out[3 * t + 1] = (unsigned long long)product;
    out[3 * t + 2] = (unsigned long long)((product + 12345) / (b[t] >> 9 | 1));
}

int main() {
    const int n = 1000;
    float *x, *y;
    CHECK(cudaMallocManaged(&x, n * sizeof(float)));
    CHECK(cudaMallocManaged(&y, n * sizeof(float)));
    for (int i = 0; i < n; i++) x[i] = i, y[i] = 1;
    scale<<<(n + 255) / 256, 256>>>(x, 2.0f, n);
    saxpy<<<(n + 255) / 256, 256>>>(3.0f, x, y, n);
    CHECK(cudaDeviceSynchronize());
    printf("%f\n", y[n - 1]);
    return 0;
}
