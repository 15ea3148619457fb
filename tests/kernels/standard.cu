// What the CUDA C++ standard library brings: atomics with an order.
#include <cuda/atomic>

// A message passed between blocks by release and acquire.
extern "C" __global__ void message(int *value, unsigned int *ready, int *out) {
    cuda::atomic_ref<unsigned int, cuda::thread_scope_device> flag(*ready);
    if (blockIdx.x == 1) {
        if (threadIdx.x == 0) {
            *value = 7;
            flag.store(1, cuda::memory_order_release);
        }
    } else if (threadIdx.x == 0) {
        while (flag.load(cuda::memory_order_acquire) == 0) {
        }
        *out = *value * 6;
    }
}

extern "C" __global__ void orders(unsigned int *words) {
    cuda::atomic_ref<unsigned int, cuda::thread_scope_device> a(words[0]), b(words[1]), c(words[2]);
    a.fetch_add(threadIdx.x, cuda::memory_order_relaxed);
    b.fetch_max(threadIdx.x, cuda::memory_order_acq_rel);
    unsigned int seen = c.load();
    while (!c.compare_exchange_weak(seen, seen + 2, cuda::memory_order_seq_cst)) {
    }
}
