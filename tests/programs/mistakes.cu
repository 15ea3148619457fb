// Programs with one mistake of a beginner's each, and without it ("right").
#include <cstdio>
#include <cstring>

__constant__ float factor;

__global__ void twice(const float *in, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = 2 * in[i];
}

__global__ void scale(float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] *= factor;
}

__global__ void says(const float *out) {
    if (threadIdx.x == 0) printf("%g\n", out[0]);
}

__device__ __noinline__ int depth(int n) { return n ? depth(n - 1) / 3 + n : 0; } // too deep

__global__ void descend(int *deepest, int n) { *deepest = depth(n); }

int main(int argc, char **argv) {
    const int n = 1000;
    const size_t nbytes = n * sizeof(float);
    static float host[n], back[n];
    float *in, *out, three = 3;
    auto is = [&](const char *mode) { return argc > 1 && !strcmp(argv[1], mode); };
    for (int i = 0; i < n; i++) host[i] = (float)i;
    cudaMalloc(&in, nbytes);
    cudaMalloc(&out, nbytes);
    cudaMemcpy(in, host, is("short") ? n : nbytes, cudaMemcpyHostToDevice); // copies in
    if (is("freed")) cudaFree(in);
    if (is("small-grid")) twice<<<n / 256, 256>>>(in, out, n);
    else if (is("large-block")) twice<<<1, 2048>>>(in, out, n); // refused
    else twice<<<(n + 255) / 256, 256>>>(is("host-pointer") ? host : in, out, n); // launches
    if (is("symbol")) cudaMemcpy(&factor, &three, sizeof three, cudaMemcpyHostToDevice); // symbol
    else if (is("long-symbol")) cudaMemcpyToSymbol(factor, host, 2 * sizeof *host); // long
    else cudaMemcpyToSymbol(factor, &three, sizeof three);
    if (!is("small-grid")) scale<<<4, 256>>>(out, n); // scales
    if (is("printed")) says<<<1, 32>>>(out);
    if (is("direction")) cudaMemcpy(back, out, nbytes, cudaMemcpyHostToDevice); // direction
    else if (is("small-grid")) cudaMemcpy(back, out, nbytes, cudaMemcpyDeviceToHost); // unwritten
    else if (!is("not-copied") && !is("printed")) cudaMemcpy(back, out, nbytes, cudaMemcpyDeviceToHost);
    if (is("recursion")) descend<<<1, 1>>>((int *)out, 1 << 20);
    volatile float *nowhere = (float *)48;
    if (is("host-fault")) *nowhere = three; // faults
    if (is("call-fault")) cudaMemcpy(in, (void *)nowhere, nbytes, cudaMemcpyHostToDevice);
    printf("%g\n", is("device-pointer") ? out[10] : back[10]); // prints
    if (!is("freed")) cudaFree(in);
    if (is("free-twice")) cudaFree(in); // twice
    if (is("copy-freed")) cudaMemcpy(back, in + 10, 4, cudaMemcpyDeviceToHost); // copies freed
    if (is("fill-freed")) cudaMemset(in, 0, 4); // fills freed
    if (is("fill-host")) cudaMemset(back, 0, 4); // fills the host
    if (is("managed-freed") && !cudaMallocManaged(&in, 4000) && !cudaFree(in)) in[3] = 1; // uses freed
    if (is("free-middle")) cudaFree(out + 4); // middle
    cudaFree(out);
    return 0;
}
