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

// Nobody waits for what he launches; only a tail launch comes after it all.
__global__ void load_it(const int *data, int *to) { to[threadIdx.x] = data[threadIdx.x]; } // loads
__global__ void launch_load(const int *data, int *to) { load_it<<<1, COUNT>>>(data, to); }
__global__ void count_it(unsigned *counted) { atomicAdd(counted, 1); }
__global__ void store_it(int *data) { data[threadIdx.x] = 1; } // stores

__global__ void store_before(int *data, int *to, unsigned *counted) {
    data[threadIdx.x] = threadIdx.x;
    __syncthreads();
    if (!threadIdx.x) load_it<<<1, COUNT>>>(data, to);
    if (!threadIdx.x) count_it<<<1, 1>>>(counted);
    atomicAdd(counted, 1);
    __syncthreads();
    to[COUNT + threadIdx.x] = 1;
    if (!threadIdx.x) load_it<<<1, COUNT, 0, cudaStreamTailLaunch>>>(to + COUNT, to);
    to[COUNT + threadIdx.x] = 2;
}

__global__ void store_after(int *data, int *to) {
    if (!threadIdx.x) load_it<<<1, COUNT>>>(data, to);
    __syncthreads();
    data[threadIdx.x] = 1; // after
}

__global__ void load_after(int *data, int *to) {
    if (!threadIdx.x) store_it<<<1, COUNT>>>(data);
    __syncthreads();
    to[threadIdx.x] = data[threadIdx.x]; // result
}

__global__ void store_after_two(int *data, int *to) {
    if (!threadIdx.x) launch_load<<<1, 1>>>(data, to);
    __syncthreads();
    data[threadIdx.x] = 1; // grandchild
}

__global__ void copy_and_store(int *data, int *to) {
    if (!threadIdx.x) cudaMemcpyAsync(to, data, COUNT * sizeof *data, cudaMemcpyDeviceToDevice);
    __syncthreads();
    data[threadIdx.x] = 1; // copied
}

__global__ void tail_of_a_child(int *data, int *to) {
    load_it<<<1, COUNT, 0, cudaStreamTailLaunch>>>(data, to);
    data[0] = 5; // before its tail
}

__global__ void store_after_tail(int *data, int *to) {
    if (!threadIdx.x) tail_of_a_child<<<1, 1>>>(data + COUNT, to);
    __syncthreads();
    data[COUNT + threadIdx.x] = 1; // tail
}

__global__ void for_ever(int *data) { for_ever<<<1, 1>>>(data); }

static int race() {
    int *data, *to;
    cudaMalloc(&data, 2 * COUNT * sizeof *data), cudaMalloc(&to, 2 * COUNT * sizeof *to);
    cudaMemset(data, 0, 2 * COUNT * sizeof *data);
    store_after<<<1, COUNT>>>(data, to);
    load_after<<<1, COUNT>>>(data, to);
    store_after_two<<<1, COUNT>>>(data, to);
    copy_and_store<<<1, COUNT>>>(data, to);
    store_after_tail<<<1, COUNT>>>(data, to);
    cudaFree(data), cudaFree(to);
    return cudaDeviceSynchronize();
}

int main(int argc, char **words) {
    int *data, *copied, *errors, host[COUNT], copies[COUNT], told[8];
    unsigned *counted, counts[LEVELS];
    cudaMalloc(&data, sizeof host), cudaMalloc(&copied, sizeof host);
    cudaMalloc(&errors, sizeof told), cudaMalloc(&counted, sizeof counts);
    cudaMemset(counted, 0, sizeof counts);
    if (argc > 1 && words[1][0] == 'r') {
        cudaFree(data), cudaFree(copied), cudaFree(errors), cudaFree(counted);
        return race();
    }
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

    int *more;
    cudaMalloc(&more, 2 * sizeof host);
    store_before<<<1, COUNT>>>(data, more, counted);
    CHECK(!cudaMemcpy(host, more, sizeof host, cudaMemcpyDefault) && !cudaFree(more));
    for (int number : host) CHECK(number == 2);

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
