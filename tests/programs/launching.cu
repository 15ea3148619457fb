// Kernels that launch kernels.  The program checks what they leave, and ends with the number of the line that is wrong, modulo 256;
// with an argument, a kernel launches itself for ever.
#include <cstdio>

#define CHECK(condition)                                                                                           \
    do {                                                                                                           \
        if (!(condition)) {                                                                                        \
            fprintf(stderr, "line %d: " #condition "\n", __LINE__);                                                \
            return __LINE__ % 256 ? __LINE__ % 256 : 1;                                                            \
        }                                                                                                          \
    } while (0)

enum { COUNT = 64, LEVELS = 7 };

// Every block of a binary tree counts itself, and launches two.
__global__ void branch(unsigned *counted, int level) {
    if (threadIdx.x) return;
    atomicAdd(&counted[level], 1);
    if (level + 1 == LEVELS) return;
    branch<<<1, 32>>>(counted, level + 1);
    branch<<<1, 32>>>(counted, level + 1);
}

struct odd {
    int number;
    char letter;
};

__global__ void pass(char a, double b, odd c, short d, int *to) {
    extern __shared__ int shared[];
    shared[threadIdx.x] = a + (int)b + c.number + c.letter + d;
    __syncthreads();
    to[blockIdx.y * 6 + threadIdx.z * 3 + threadIdx.x] = shared[threadIdx.x] + gridDim.y;
}

__global__ void launch_pass(int *to) {
    pass<<<dim3(1, 2, 1), dim3(3, 1, 2), 12>>>(1, 20.5, odd{300, 4}, -50, to);
}

// Each comes after the one before, in whatever stream; the last after all others.
__global__ void add(int *to, int value) { to[threadIdx.x] = to[threadIdx.x] * 3 + value; }

__global__ void launch_chain(int *data, int *copied, int *errors) {
    cudaStream_t stream;
    cudaEvent_t event;
    errors[0] = cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    errors[1] = cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
    add<<<1, COUNT, 0, cudaStreamTailLaunch>>>(data, 7);
    add<<<1, COUNT, 0, stream>>>(data, 1);
    errors[2] = cudaEventRecord(event, stream);
    errors[3] = cudaStreamWaitEvent(cudaStreamPerThread, event, 0);
    add<<<1, COUNT, 0, stream>>>(data, 2);
    errors[4] = cudaMemcpyAsync(copied, data, COUNT * sizeof *data, cudaMemcpyDeviceToDevice, stream);
    add<<<1, COUNT, 0, stream>>>(data, 3);
    errors[5] = cudaStreamDestroy(stream);
    errors[6] = cudaEventDestroy(event);
    errors[7] = cudaGetLastError();
}

__global__ void launch_wrong(int *errors) {
    add<<<1, 2000>>>(errors, 1); // more threads than a block has
    errors[0] = cudaPeekAtLastError();
    errors[1] = cudaGetLastError();
    errors[2] = cudaGetLastError();
}

__global__ void free_it(int *memory, int *to) {
    *to = memory[1];
    cudaFree(memory);
}

__global__ void allocate_it(int *to) {
    int *memory;
    if (cudaMalloc(&memory, 8)) return;
    memory[1] = 42;
    free_it<<<1, 1>>>(memory, to);
}

__global__ void for_ever(int *data) { for_ever<<<1, 1>>>(data); }

int main(int argc, char **) {
    int *data, *copied, *errors, host[COUNT], copies[COUNT], told[8];
    unsigned *counted, counts[LEVELS];
    cudaMalloc(&data, sizeof host), cudaMalloc(&copied, sizeof host);
    cudaMalloc(&errors, sizeof told), cudaMalloc(&counted, sizeof counts);
    cudaMemset(counted, 0, sizeof counts);
    if (argc > 1) {
        for_ever<<<1, 1>>>(data);
        CHECK(cudaDeviceSynchronize() == cudaErrorLaunchTimeout);
        return 0;
    }
    branch<<<1, 32>>>(counted, 0);
    CHECK(!cudaMemcpy(counts, counted, sizeof counts, cudaMemcpyDefault));
    for (int level = 0; level < LEVELS; level++) CHECK(counts[level] == 1u << level);

    launch_pass<<<1, 1>>>(data);
    CHECK(!cudaMemcpy(host, data, 12 * sizeof *data, cudaMemcpyDefault));
    for (int i = 0; i < 12; i++) CHECK(host[i] == 1 + 20 + 300 + 4 - 50 + 2);

    for (int i = 0; i < COUNT; i++) host[i] = i;
    cudaMemcpy(data, host, sizeof host, cudaMemcpyDefault);
    launch_chain<<<1, 1>>>(data, copied, errors);
    CHECK(!cudaMemcpy(host, data, sizeof host, cudaMemcpyDefault) && !cudaMemcpy(copies, copied, sizeof host, cudaMemcpyDefault));
    for (int i = 0; i < COUNT; i++) {
        CHECK(copies[i] == (i * 3 + 1) * 3 + 2);
        CHECK(host[i] == (copies[i] * 3 + 3) * 3 + 7);
    }
    CHECK(!cudaMemcpy(told, errors, sizeof told, cudaMemcpyDefault));
    for (int error : told) CHECK(error == cudaSuccess);

    launch_wrong<<<1, 1>>>(errors);
    CHECK(!cudaMemcpy(told, errors, sizeof told, cudaMemcpyDefault) && told[0] && told[1] == told[0] && !told[2]);

    allocate_it<<<1, 1>>>(data);
    CHECK(!cudaMemcpy(host, data, sizeof *data, cudaMemcpyDefault) && host[0] == 42);

    // A launch that a graph keeps launches, too.
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaMemset(counted, 0, sizeof counts);
    cudaStreamCreate(&stream);
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
    branch<<<1, 32, 0, stream>>>(counted, LEVELS - 3);
    CHECK(!cudaStreamEndCapture(stream, &graph) && !cudaGraphInstantiate(&exec, graph, 0));
    CHECK(!cudaGraphLaunch(exec, stream) && !cudaGraphLaunch(exec, stream) && !cudaStreamSynchronize(stream));
    CHECK(!cudaMemcpy(counts, counted, sizeof counts, cudaMemcpyDefault) && counts[LEVELS - 1] == 8);
    cudaGraphExecDestroy(exec), cudaGraphDestroy(graph), cudaStreamDestroy(stream);

    cudaFree(data), cudaFree(copied), cudaFree(errors), cudaFree(counted);
    return 0;
}
