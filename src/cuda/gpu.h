/* One GPU: its properties, its primary context, and the kernels loaded there.  Shared by the device layer and,
 * for its kernels, the ladder. */
#ifndef WF_CUDA_GPU_H
#define WF_CUDA_GPU_H

#include "cuda/driver.h"

struct wf_gpu {
    int ordinal;
    wf_cuda_ordinal device;
    wf_cuda_context context; /* the primary one, retained: torch and cupy use it, too */
    char name[96];
    int major, minor; /* compute capability */
    int multiprocessors;
    int threads_per_multiprocessor;
    int shared_per_multiprocessor, shared_per_block; /* bytes; per block what opting in allows */
    int64_t l2_nbytes;
    bool takes_small; /* small arrays have kernels of their own, unless WARPFOLD_CUDA_SMALL is 0 */
    int64_t loses_from; /* bytes of an array whose sums may lack something (kernels/losses.cuh): WARPFOLD_CUDA_LOSES_FROM */
    int64_t memory_nbytes;
};

/* The N of "cuda:N", 0 of "cuda"; -1: it names no GPU. */
int wf_gpu_ordinal(const char *name);

/* On an error gpu holds nothing. */
wf_error wf_gpu_open(wf_handle *handle, const char *name, struct wf_gpu *gpu);
void wf_gpu_close(struct wf_gpu *gpu);

/* "cuda:0: NVIDIA H200, compute capability 9.0, ...". */
void wf_gpu_describe(const struct wf_gpu *gpu, char *text, size_t capacity);

/* Between the two the GPU's context is the thread's current one; the caller's is put back. */
wf_error wf_gpu_enter(wf_handle *handle, const struct wf_gpu *gpu);
void wf_gpu_leave(const struct wf_gpu *gpu);

/* A kernel, compiled from CUDA C by NVRTC for this GPU, or taken from the cache.  name: what messages and the
 * cache's files call it.  source: the whole text (it includes only what headers gives).  headers: pairs of a
 * name and a text, NULL after the last.  options: the compiler's, such as "-DTYPE=f32", NULL-terminated;
 * the target, the standard and -fmad=false are added, and so are the options that every kernel has.  The
 * context must be entered.  The module is the caller's; the function is its kernel called `entry`. */
wf_error wf_gpu_load(wf_handle *handle, const struct wf_gpu *gpu, const char *name, const char *source,
                     const char *const *headers, const char *const *options, const char *entry,
                     wf_cuda_module *module, wf_cuda_function *function);

#endif
