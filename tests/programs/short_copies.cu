// Programs whose copies or fills end too early, each in one way, and such that may look so but are right ("right-...").
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/mman.h>
#include <vector>

__global__ void twice(const float *in, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = 2 * in[i];
}

__global__ void grow(float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] += 1;
}

__global__ void fold(float *sums, int half) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < half) sums[i] += sums[i + half];
}

const int n = 1024, nbytes = n * sizeof(float);
static const char *mode;

static bool is(const char *name) { return !strcmp(mode, name); }

static void copy_back(float *host, const float *device) {
    if (is("elements")) cudaMemcpy(host, device, n, cudaMemcpyDeviceToHost);           // elements
    else if (is("half")) cudaMemcpy(host, device, nbytes / 2, cudaMemcpyDeviceToHost); // half
    else if (is("pointer")) cudaMemcpy(host, device, sizeof host, cudaMemcpyDeviceToHost); // pointer
    else if (is("asynchronous")) cudaMemcpyAsync(host, device, n, cudaMemcpyDeviceToHost, 0); // asynchronous
    else cudaMemcpy(host, device, nbytes, cudaMemcpyDeviceToHost);
}

static void in_place(float *device, std::vector<float> &host) {
    if (is("right-tree")) {
        for (int half = n / 2; half; half /= 2) fold<<<(half + 127) / 128, 128>>>(device, half);
        cudaMemcpy(host.data(), device, sizeof(float), cudaMemcpyDeviceToHost);
        return;
    }
    grow<<<8, 128>>>(device, n);
    cudaMemcpy(host.data(), device, is("in-place") ? n : nbytes, cudaMemcpyDeviceToHost); // in place
}

static void in_parts(const float *device) {
    float few[16], all[n];
    if (is("right-few")) cudaMemcpy(few, device, sizeof few, cudaMemcpyDeviceToHost);
    else if (is("local")) cudaMemcpy(all, device, n, cudaMemcpyDeviceToHost); // local
    else if (is("right-backwards"))
        for (int part = 3; part >= 0; part--)
            cudaMemcpy(all + part * n / 4, device + part * n / 4, nbytes / 4, cudaMemcpyDeviceToHost);
    else
        for (int part = 0; part < 4; part++)
            cudaMemcpy(all + part * n / 4, device + part * n / 4, nbytes / 4, cudaMemcpyDeviceToHost);
}

// Memory behind a page that may not be read.
static void behind_a_guard(const float *device) {
    const size_t page = 4096;
    char *pages = (char *)mmap(NULL, 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect(pages + page, page, PROT_READ | PROT_WRITE);
    cudaMemcpy(pages + page, device, nbytes / 2, cudaMemcpyDeviceToHost);
}

int main(int, char **argv) {
    mode = argv[1];
    float *in, *out, *pinned = NULL;
    std::vector<float> host(n);
    float *back = (float *)malloc(nbytes);
    for (int i = 0; i < n; i++) host[i] = (float)i;
    cudaMalloc(&in, nbytes);
    cudaMalloc(&out, nbytes);
    cudaMemcpy(in, host.data(), is("half-in") ? nbytes / 2 : nbytes, cudaMemcpyHostToDevice); // half in
    cudaMemset(out, 0, is("fill") ? n : nbytes);                                               // fill
    if (is("pinned")) cudaMallocHost(&pinned, nbytes);
    if (is("fill")) grow<<<8, 128>>>(out, n);
    else if (is("in-place") || is("right-in-place") || is("right-tree")) in_place(in, host);
    else {
        float *result;
        cudaMalloc(&result, nbytes);
        twice<<<8, 128>>>(in, result, n);
        if (is("right-guard")) behind_a_guard(result);
        else if (is("local") || !strncmp(mode, "right-", 6)) in_parts(result);
        else if (is("pinned")) cudaMemcpy(pinned, result, n, cudaMemcpyDeviceToHost); // pinned
        else copy_back(back, result);
        cudaFree(result);
    }
    if (is("fill")) cudaMemcpy(back, out, nbytes, cudaMemcpyDeviceToHost);
    if (pinned) cudaFreeHost(pinned);
    cudaFree(in);
    cudaFree(out);
    free(back);
    return 0;
}
