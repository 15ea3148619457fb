/* A GPU for the ladder: its stream, the array in its memory, the kernels. */
#include "gpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpu_parts.h"
#include "ladder_parts.h"

enum {
    CACHES = 4 /* the copies have this many times the size of the L2 cache: read in turn, they come from memory */
};

simt_error ladder_gpu_error(const struct ladder_gpu *gpu, wf_error error, simt_message *message) {
    if (!error) return SIMT_OK;
    return ladder_fail(message, error == WF_ERROR_MEMORY ? SIMT_ERROR_MEMORY : SIMT_ERROR_STOPPED, "%s",
                       wf_handle_message(gpu->handle));
}

/* ---- opening ------------------------------------------------------------------------------------- */

static wf_error open_stream(struct ladder_gpu *gpu) {
    wf_handle *handle = gpu->handle;
    wf_error error =
        WF_DRIVER_CALL(handle, StreamCreate, (&gpu->stream, WF_CUDA_STREAM_NON_BLOCKING), "%s", gpu->device);
    if (!error) error = WF_DRIVER_CALL(handle, EventCreate, (&gpu->begin, 0), "%s", gpu->device);
    if (!error) error = WF_DRIVER_CALL(handle, EventCreate, (&gpu->end, 0), "%s", gpu->device);
    return error;
}

static wf_error open_gpu(struct ladder_gpu *gpu) {
    wf_error error = wf_gpu_open(gpu->handle, gpu->device, &gpu->gpu);
    if (error) return error;
    gpu->driver = wf_driver_open(NULL, 0);
    snprintf(gpu->device, sizeof gpu->device, "cuda:%d", gpu->gpu.ordinal);
    snprintf(gpu->text, sizeof gpu->text, "%s, %d multiprocessors", gpu->gpu.name, gpu->gpu.multiprocessors);
    error = wf_gpu_enter(gpu->handle, &gpu->gpu);
    gpu->is_entered = !error;
    return error ? error : open_stream(gpu);
}

bool ladder_gpu_is_name(const char *device) {
    return wf_gpu_ordinal(device) >= 0;
}

simt_error ladder_gpu_open(const char *device, struct ladder_gpu **gpu, simt_message *message) {
    *gpu = calloc(1, sizeof **gpu);
    if (!*gpu || wf_handle_create("cpu", &(*gpu)->handle)) {
        free(*gpu);
        *gpu = NULL;
        return ladder_fail(message, SIMT_ERROR_MEMORY, "out of memory");
    }
    snprintf((*gpu)->device, sizeof(*gpu)->device, "%s", device);
    simt_error error = ladder_gpu_error(*gpu, open_gpu(*gpu), message);
    if (!error) return SIMT_OK;
    ladder_gpu_close(*gpu);
    *gpu = NULL;
    return error;
}

wf_error ladder_gpu_open_engine(struct ladder_gpu *gpu) {
    char why[512] = "out of memory";
    if (gpu->engine) return WF_OK;
    wf_error error = wf_handle_create(gpu->device, &gpu->engine);
    if (error) {
        wf_device_describe(gpu->device, why, sizeof why);
        return wf_fail(gpu->handle, error, "%s", why);
    }
    error = wf_handle_set_stream(gpu->engine, gpu->stream);
    return error ? wf_fail(gpu->handle, error, "%s", wf_handle_message(gpu->engine)) : WF_OK;
}

/* Errors while releasing are ignored: after a failed kernel every call fails. */
static void drop_array(struct ladder_gpu *gpu) {
    for (size_t i = 0; i < gpu->copy_count; i++) gpu->driver->MemFree(gpu->copies[i]);
    if (gpu->master) gpu->driver->MemFree(gpu->master);
    gpu->copy_count = 0;
    gpu->master = 0;
    gpu->nbytes = 0;
}

static void close_entered(struct ladder_gpu *gpu) {
    drop_array(gpu);
    if (gpu->sink) gpu->driver->MemFree(gpu->sink);
    if (gpu->reader_module) gpu->driver->ModuleUnload(gpu->reader_module);
    if (gpu->end) gpu->driver->EventDestroy(gpu->end);
    if (gpu->begin) gpu->driver->EventDestroy(gpu->begin);
    if (gpu->stream) gpu->driver->StreamDestroy(gpu->stream);
    wf_gpu_leave(&gpu->gpu);
}

void ladder_gpu_close(struct ladder_gpu *gpu) {
    if (!gpu) return;
    wf_handle_destroy(gpu->engine);
    if (gpu->is_entered) close_entered(gpu);
    wf_gpu_close(&gpu->gpu);
    wf_handle_destroy(gpu->handle);
    free(gpu);
}

const char *ladder_gpu_name(const struct ladder_gpu *gpu) {
    return gpu->device;
}

const char *ladder_gpu_text(const struct ladder_gpu *gpu) {
    return gpu->text;
}

bool ladder_gpu_takes(const struct ladder_gpu *gpu, const struct ladder_rung *rung) {
    return atoi(rung->target + strlen("sm_")) <= gpu->gpu.major * 10 + gpu->gpu.minor;
}

/* ---- the array ----------------------------------------------------------------------------------- */

/* As many copies as exceed the cache and fit the memory, but at least one. */
static wf_error count_copies(struct ladder_gpu *gpu, uint64_t nbytes, size_t *count) {
    size_t free_nbytes, all_nbytes;
    wf_error error = WF_DRIVER_CALL(gpu->handle, MemGetInfo, (&free_nbytes, &all_nbytes), "%s", gpu->device);
    uint64_t wanted = (uint64_t)gpu->gpu.l2_nbytes * CACHES / nbytes + 1;
    uint64_t capacity = free_nbytes / 8 * 7 / nbytes; /* with the master */
    if (wanted < 2) wanted = 2;
    if (wanted > LADDER_COPIES_MAX) wanted = LADDER_COPIES_MAX;
    if (wanted + 1 > capacity) wanted = capacity > 2 ? capacity - 1 : 1;
    *count = wanted;
    return error;
}

static wf_error make_array(struct ladder_gpu *gpu, uint64_t nbytes) {
    size_t count;
    drop_array(gpu);
    wf_error error = count_copies(gpu, nbytes, &count);
    if (!error)
        error = WF_DRIVER_CALL(gpu->handle, MemAlloc, (&gpu->master, nbytes), "%llu bytes of elements",
                               (unsigned long long)nbytes);
    while (!error && gpu->copy_count < count) {
        wf_cuda_pointer *copy = &gpu->copies[gpu->copy_count];
        error = WF_DRIVER_CALL(gpu->handle, MemAlloc, (copy, nbytes), "%llu bytes of elements",
                               (unsigned long long)nbytes);
        gpu->copy_count += !error;
    }
    if (error)
        drop_array(gpu);
    else
        gpu->nbytes = nbytes;
    return error;
}

wf_error ladder_gpu_refresh(struct ladder_gpu *gpu) {
    wf_error error = WF_OK;
    for (size_t i = 0; gpu->is_dirty && i < gpu->copy_count && !error; i++)
        error = WF_DRIVER_CALL(gpu->handle, MemcpyDtoDAsync,
                               (gpu->copies[i], gpu->master, gpu->nbytes, gpu->stream), "%llu bytes",
                               (unsigned long long)gpu->nbytes);
    if (!error) gpu->is_dirty = false;
    return error;
}

simt_error ladder_gpu_put(struct ladder_gpu *gpu, const void *values, uint64_t nbytes,
                          simt_message *message) {
    wf_error error = gpu->nbytes == nbytes ? WF_OK : make_array(gpu, nbytes);
    if (!error)
        error = WF_DRIVER_CALL(gpu->handle, MemcpyHtoDAsync, (gpu->master, values, nbytes, gpu->stream),
                               "%llu bytes", (unsigned long long)nbytes);
    if (!error) error = WF_DRIVER_CALL(gpu->handle, StreamSynchronize, (gpu->stream), "%s", gpu->device);
    gpu->is_dirty = true;
    return ladder_gpu_error(gpu, error, message);
}

wf_error ladder_arena_allocate(struct ladder_arena *arena, size_t nbytes, wf_cuda_pointer *pointer) {
    struct ladder_gpu *gpu = arena->gpu;
    if (arena->count == LADDER_ARENA_MAX) return wf_fail(gpu->handle, WF_ERROR_MEMORY, "too many launches");
    wf_error error = WF_DRIVER_CALL(gpu->handle, MemAlloc, (pointer, nbytes ? nbytes : 1),
                                    "%zu bytes of partial results", nbytes);
    if (!error) arena->list[arena->count++] = *pointer;
    return error;
}

void ladder_arena_clear(struct ladder_arena *arena) {
    for (size_t i = 0; i < arena->count; i++) arena->gpu->driver->MemFree(arena->list[i]);
    arena->count = 0;
}

/* ---- kernels ------------------------------------------------------------------------------------- */

static wf_error compile(struct ladder_gpu_kernel *kernel) {
    const struct ladder_file *header = ladder_file_find("rung.cuh"), *file = kernel->variant.rung->file;
    const char *const headers[] = {"rung.cuh", header->text, NULL};
    struct ladder_options options;
    ladder_options_set(&options, &kernel->variant);
    return wf_gpu_load(kernel->gpu->handle, &kernel->gpu->gpu, kernel->variant.rung->id, file->text, headers,
                       options.list, "reduce", &kernel->module, &kernel->function);
}

static wf_error load_ptx(struct ladder_gpu_kernel *kernel, const struct ladder_file *file) {
    wf_handle *handle = kernel->gpu->handle;
    wf_error error = WF_DRIVER_CALL(handle, ModuleLoadData, (&kernel->module, file->text), "%s", file->path);
    if (error) return error;
    return WF_DRIVER_CALL(handle, ModuleGetFunction, (&kernel->function, kernel->module, "reduce"), "%s",
                          file->path);
}

static wf_error load(struct ladder_gpu_kernel *kernel, enum ladder_gpu_image image) {
    const struct ladder_rung *rung = kernel->variant.rung;
    if (rung->is_engine) return ladder_gpu_open_engine(kernel->gpu);
    const struct ladder_file *ptx = image == LADDER_GPU_BUILT_IN ? ladder_ptx_find(&kernel->variant) : NULL;
    return ptx ? load_ptx(kernel, ptx) : compile(kernel);
}

simt_error ladder_gpu_load(struct ladder_gpu *gpu, const struct ladder_variant *variant,
                           enum ladder_gpu_image image, struct ladder_gpu_kernel **kernel,
                           simt_message *message) {
    *kernel = NULL;
    simt_error error = ladder_variant_check(variant, message);
    if (error) return error;
    *kernel = calloc(1, sizeof **kernel);
    if (!*kernel) return ladder_fail(message, SIMT_ERROR_MEMORY, "out of memory");
    **kernel = (struct ladder_gpu_kernel){.gpu = gpu, .variant = *variant};
    error = ladder_gpu_error(gpu, load(*kernel, image), message);
    if (!error) return SIMT_OK;
    ladder_gpu_unload(*kernel);
    *kernel = NULL;
    return error;
}

void ladder_gpu_unload(struct ladder_gpu_kernel *kernel) {
    if (!kernel) return;
    if (kernel->module) kernel->gpu->driver->ModuleUnload(kernel->module);
    free(kernel);
}

uint32_t ladder_gpu_resident(const struct ladder_gpu_kernel *kernel, uint32_t block) {
    const struct ladder_gpu *gpu = kernel->gpu;
    struct ladder_plan plan = ladder_plan(&kernel->variant, 1, block, 1);
    int blocks = 0;
    if (!kernel->function || gpu->driver->OccupancyMaxActiveBlocksPerMultiprocessor(
                                 &blocks, kernel->function, (int)block, plan.shared_nbytes))
        return 0;
    uint32_t resident = (uint32_t)(blocks * gpu->gpu.multiprocessors) / kernel->variant.rung->cluster;
    return resident ? resident : 1;
}

wf_error ladder_gpu_launch(const struct ladder_gpu_kernel *kernel, const struct ladder_plan *plan,
                           const void *const *arguments) {
    const struct ladder_gpu *gpu = kernel->gpu;
    const struct ladder_rung *rung = kernel->variant.rung;
    return WF_DRIVER_CALL(gpu->handle, LaunchKernel,
                          (kernel->function, plan->grid * rung->cluster, 1, 1, plan->block, 1, 1,
                           (unsigned)plan->shared_nbytes, gpu->stream, (void **)(uintptr_t)arguments, NULL),
                          "%s in %u blocks of %u threads", rung->id, (unsigned)plan->grid * rung->cluster,
                          (unsigned)plan->block);
}
