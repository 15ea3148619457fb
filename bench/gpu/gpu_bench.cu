// Timing, and what device.py calls.
#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "gpu_bench.h"

/* ---- errors and memory --------------------------------------------------------------------------- */

static char message[1024];
cudaStream_t bench_stream_now;

bool fail(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    return false;
}

bool check(cudaError_t result, const char *what) {
    return !result || fail("%s: %s", what, cudaGetErrorString(result));
}

extern "C" {

const char *bench_message() {
    return message;
}

int bench_allocate(void **pointer, size_t nbytes) {
    return check(cudaMalloc(pointer, nbytes), "the benchmark's arrays");
}

void bench_free(void *pointer) {
    cudaFree(pointer);
}

int bench_to_host(void *to, const void *from, size_t nbytes) {
    return check(cudaMemcpy(to, from, nbytes, cudaMemcpyDeviceToHost), "copy to the host");
}

void *bench_stream() {
    return bench_stream_now;
}

/* Host memory that copies fast. */
int bench_allocate_host(void **pointer, size_t nbytes) {
    return check(cudaMallocHost(pointer, nbytes), "host memory");
}

} // extern "C"

/* ---- the stopwatch: the GPU's time from each mark to the next ------------------------------------ */

enum { MARKS_MAX = 257 };
static cudaEvent_t marks[MARKS_MAX];
static int mark_count;

extern "C" int bench_open() {
    if (!check(cudaSetDevice(0), "GPU 0") ||
        !check(cudaStreamCreateWithFlags(&bench_stream_now, cudaStreamNonBlocking), "stream"))
        return false;
    for (cudaEvent_t &mark : marks)
        if (!check(cudaEventCreate(&mark), "event")) return false;
    return true;
}

__global__ void wait_kernel(long long nanoseconds) {
    long long start, now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
    do
        asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    while (now - start < nanoseconds);
}

extern "C" {

int bench_mark() {
    if (mark_count == MARKS_MAX) return fail("more than %d marks", MARKS_MAX);
    return check(cudaEventRecord(marks[mark_count++], bench_stream_now), "mark");
}

/* Keeps the GPU busy for a while first, so that what the host enqueues meanwhile waits for the GPU alone. */
int bench_start(int head_start_us) {
    mark_count = 0;
    if (head_start_us) wait_kernel<<<1, 1, 0, bench_stream_now>>>(head_start_us * 1000LL);
    return check(cudaGetLastError(), "head start") && bench_mark();
}

/* Microseconds between marks, less than MARKS_MAX of them; returns how many, or -1. */
int bench_stop(float *microseconds) {
    if (!check(cudaStreamSynchronize(bench_stream_now), "work to be timed")) return -1;
    int count = 0;
    for (; count < mark_count - 1; count++) {
        float milliseconds;
        if (!check(cudaEventElapsedTime(&milliseconds, marks[count], marks[count + 1]), "time")) return -1;
        microseconds[count] = 1000 * milliseconds;
    }
    return count;
}

/* ---- contenders ---------------------------------------------------------------------------------- */

static const peer_list *const lists[] = {&ceilings, &cub_sums,      &cub_extremes,
                                         &cub_args, &cub_arg_pairs, &cub_deterministic_sums};

/* The peer number index of all, or NULL behind the last. */
const struct peer *bench_peer(int index) {
    for (const peer_list *list : lists) {
        if (index < list->count) return &list->peers[index];
        index -= list->count;
    }
    return nullptr;
}

struct contender *bench_open_peer(const struct peer *peer) {
    return open_peer(peer);
}

struct contender *bench_open_reduction(const char *op, const char *type, int nan) {
    return open_warpfold(op, type, nan);
}

void bench_close(struct contender *contender) {
    delete contender;
}

int bench_reduce(struct contender *contender, const void *data, int64_t count, void *result) {
    return contender->launch(data, count) && contender->fetch(result);
}

/* ---- timing: arrays of nbytes each are taken from the pool in turn, so that none is in a cache ---- */

struct bench_pool {
    const char *data;
    int64_t arrays, nbytes; /* how many, of what size */
    int64_t count;          /* elements of an array */
};

static bool launch(struct contender *contender, const struct bench_pool *pool, int64_t turn) {
    return contender->launch(pool->data + turn % pool->arrays * pool->nbytes, pool->count);
}

/* One call after another. */
int bench_time_calls(struct contender *contender, const struct bench_pool *pool, int calls, int head_start_us,
                     float *microseconds) {
    if (!bench_start(contender->is_synchronous() ? 0 : head_start_us)) return -1;
    for (int i = 0; i < calls; i++)
        if (!launch(contender, pool, i) || !bench_mark()) return -1;
    return bench_stop(microseconds);
}

static bool capture(struct contender *contender, const struct bench_pool *pool, int nodes,
                    cudaGraphExec_t *made) {
    cudaGraph_t graph = nullptr;
    if (!launch(contender, pool, 0)) return false; // what a first call allocates cannot be captured
    if (!check(cudaStreamBeginCapture(bench_stream_now, cudaStreamCaptureModeThreadLocal), "capture"))
        return false;
    bool launched = true;
    for (int i = 0; i < nodes && launched; i++) launched = launch(contender, pool, i);
    bool captured = check(cudaStreamEndCapture(bench_stream_now, &graph), "capture") && launched;
    captured = captured && check(cudaGraphInstantiate(made, graph, 0), "graph");
    if (graph) cudaGraphDestroy(graph);
    cudaGetLastError(); // what a failed capture leaves behind
    return captured;
}

/* A graph of `nodes` calls; microseconds: of one call, on average over the graph, for each replay. */
int bench_time_graph(struct contender *contender, const struct bench_pool *pool, int nodes, int replays,
                     float *microseconds) {
    cudaGraphExec_t graph;
    if (!capture(contender, pool, nodes, &graph)) return -1;
    bool replayed = check(cudaGraphLaunch(graph, bench_stream_now), "first replay") && bench_start(0);
    for (int i = 0; i < replays && replayed; i++)
        replayed = check(cudaGraphLaunch(graph, bench_stream_now), "replay") && bench_mark();
    int count = replayed ? bench_stop(microseconds) : -1;
    cudaStreamSynchronize(bench_stream_now);
    cudaGraphExecDestroy(graph);
    for (int i = 0; i < count; i++) microseconds[i] /= (float)nodes;
    return count;
}

} // extern "C"
