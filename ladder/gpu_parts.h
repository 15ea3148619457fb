/* Shared by the ladder's GPU files. */
#ifndef LADDER_GPU_PARTS_H
#define LADDER_GPU_PARTS_H

#include "cuda/gpu.h"
#include "gpu.h"

enum { LADDER_COPIES_MAX = 64, LADDER_ARENA_MAX = 40 };

struct ladder_gpu {
    wf_handle *handle; /* for messages */
    wf_handle *engine; /* the library's device, for the rung that is no kernel; NULL until it is wanted */
    const struct wf_driver *driver;
    struct wf_gpu gpu;
    bool is_entered;
    wf_cuda_stream stream;
    wf_cuda_event begin, end;
    char device[24], text[160];

    /* The array: as it was put there, and the copies that kernels get; dirty where they may have changed. */
    uint64_t nbytes;
    wf_cuda_pointer master, copies[LADDER_COPIES_MAX];
    size_t copy_count;
    bool is_dirty;

    /* The kernel that only reads; NULL until it is wanted. */
    wf_cuda_module reader_module;
    wf_cuda_function reader;
    wf_cuda_pointer sink;
};

struct ladder_gpu_kernel {
    struct ladder_gpu *gpu;
    struct ladder_variant variant;
    wf_cuda_module module; /* NULL: the engine */
    wf_cuda_function function;
};

/* Copies the handle's message, for an error of the library. */
simt_error ladder_gpu_error(const struct ladder_gpu *gpu, wf_error error, simt_message *message);

/* Makes the copies what was put there again, in stream order. */
wf_error ladder_gpu_refresh(struct ladder_gpu *gpu);

/* Opens the engine, which then works in the same stream. */
wf_error ladder_gpu_open_engine(struct ladder_gpu *gpu);

wf_error ladder_gpu_launch(const struct ladder_gpu_kernel *kernel, const struct ladder_plan *plan,
                           const void *const *arguments);

/* Memory that is freed together. */
struct ladder_arena {
    struct ladder_gpu *gpu;
    wf_cuda_pointer list[LADDER_ARENA_MAX];
    size_t count;
};

wf_error ladder_arena_allocate(struct ladder_arena *arena, size_t nbytes, wf_cuda_pointer *pointer);
void ladder_arena_clear(struct ladder_arena *arena);

#endif
