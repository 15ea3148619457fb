/* The CUDA driver, opened at run time: nothing of CUDA is linked, and no header of it is needed. */
#ifndef WF_CUDA_DRIVER_H
#define WF_CUDA_DRIVER_H

#include "core/error.h"

#include <stdbool.h>

typedef int wf_cuda_result;  /* 0: success */
typedef int wf_cuda_ordinal; /* CUdevice */
typedef uint64_t wf_cuda_pointer;
typedef struct CUctx_st *wf_cuda_context;
typedef struct CUmod_st *wf_cuda_module;
typedef struct CUfunc_st *wf_cuda_function;
typedef struct CUstream_st *wf_cuda_stream; /* the same as cudaStream_t */
typedef struct CUevent_st *wf_cuda_event;

/* CUlaunchAttribute, of those whose value is an int. */
struct wf_cuda_attribute {
    int id;
    int padding;
    union {
        int value;
        char room[64];
    } of;
};

/* CUlaunchConfig. */
struct wf_cuda_config {
    unsigned grid[3], block[3], shared_nbytes;
    wf_cuda_stream stream;
    struct wf_cuda_attribute *attributes;
    unsigned attribute_count;
};

/* LaunchKernelEx: since CUDA 11.8, else NULL. */
struct wf_driver {
#define X(name, symbol, parameters) wf_cuda_result (*name) parameters;
#include "cuda/driver.fn"
#undef X
    int version; /* as cuDriverGetVersion gives it: 13000 for 13.0 */
    wf_cuda_result (*LaunchKernelEx)(const struct wf_cuda_config *config, wf_cuda_function function, void **arguments, void **extra);
};

/* libcuda, opened and initialised once for the process (WARPFOLD_LIBCUDA names another file than
 * libcuda.so.1); NULL where there is none or it does not work: why then says so, with the cure. */
const struct wf_driver *wf_driver_open(char *why, size_t capacity);

/* The error if there is no driver: no device, or out of memory. */
wf_error wf_driver_open_error(void);

/* Whether this process has libcuda loaded: where it has not, no pointer can be a device's. */
bool wf_driver_is_loaded(void);

/* WF_OK for result 0; otherwise WF_ERROR_MEMORY or WF_ERROR_DEVICE, with the handle's message: the call, what
 * it was called on (format), the driver's name and words for the result, and the cure. */
wf_error wf_driver_check(wf_handle *handle, wf_cuda_result result, const char *call, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Calls a function of the driver: WF_DRIVER_CALL(handle, MemAlloc, (&pointer, nbytes), "%zu bytes", nbytes). */
#define WF_DRIVER_CALL(handle, name, arguments, ...)                                                           \
    wf_driver_check(handle, wf_driver_open(NULL, 0)->name arguments, "cu" #name, __VA_ARGS__)

/* Launches a kernel of one dimension.  is_chained: it begins as kernels/chain.cuh says, so that its blocks may be brought while the
 * one before it ends, where the GPU and its driver can.  A result code. */
wf_cuda_result wf_driver_launch(wf_cuda_function function, unsigned grid, unsigned block, unsigned shared_nbytes,
                                wf_cuda_stream stream, void **arguments, bool is_chained);

/* The numbers of CUDA's enumerations that are used: cuda.h, CUdevice_attribute and others. */
enum {
    WF_CUDA_MAX_THREADS_PER_BLOCK = 1,
    WF_CUDA_SHARED_PER_BLOCK = 8,
    WF_CUDA_CLOCK_KHZ = 13,
    WF_CUDA_MULTIPROCESSORS = 16,
    WF_CUDA_MEMORY_CLOCK_KHZ = 36,
    WF_CUDA_MEMORY_BUS_BITS = 37,
    WF_CUDA_L2_NBYTES = 38,
    WF_CUDA_THREADS_PER_MULTIPROCESSOR = 39,
    WF_CUDA_CAPABILITY_MAJOR = 75,
    WF_CUDA_CAPABILITY_MINOR = 76,
    WF_CUDA_SHARED_PER_MULTIPROCESSOR = 81,
    WF_CUDA_SHARED_PER_BLOCK_OPTIN = 97,
};
enum { WF_CUDA_FUNCTION_PTX_VERSION = 5, WF_CUDA_FUNCTION_MAX_DYNAMIC_SHARED = 8 }; /* CUfunction_attribute */
enum { WF_CUDA_POINTER_MEMORY_TYPE = 2, WF_CUDA_POINTER_ORDINAL = 9 }; /* CUpointer_attribute */
enum { WF_CUDA_MEMORY_HOST = 1, WF_CUDA_MEMORY_DEVICE = 2 };         /* CUmemorytype */
enum { WF_CUDA_HOST_PORTABLE = 1, WF_CUDA_HOST_MAPPED = 2 };         /* cuMemHostAlloc */
enum { WF_CUDA_LAUNCH_PROGRAMMATIC = 6 }; /* CUlaunchAttributeID */
enum { WF_CUDA_STREAM_NON_BLOCKING = 1, WF_CUDA_EVENT_NO_TIMING = 2 };

#endif
