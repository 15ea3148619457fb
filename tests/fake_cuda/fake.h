/* A libcuda for machines without a GPU: it executes kernels, which must be PTX, on the simulator:
 *
 *   WARPFOLD_LIBCUDA=.../libcuda_simt.so WARPFOLD_CUDA_IMAGE=ptx warpfold sum --device cuda ...
 *
 * What a driver leaves open is decided against the caller: a copy to the host arrives only when the stream,
 * or an event behind it, is waited for; what needs a current context refuses to work without; what was freed
 * or destroyed is gone.  Environment variables say what the simulated GPUs are like, and what fails in them:
 *
 *   FAKE_CUDA_VERSION=N            of the driver (13000)
 *   FAKE_CUDA_DEVICES=N            GPUs (1)
 *   FAKE_CUDA_CAPABILITY=X.Y       their compute capability (7.5)
 *   FAKE_CUDA_MULTIPROCESSORS=N    (4)
 *   FAKE_CUDA_L2_NBYTES=N          of a handle opened meanwhile (1 MiB)
 *   FAKE_CUDA_MEMORY=BYTES         of each GPU (2^30)
 *   FAKE_CUDA_SLOWER=N             times between events are N times as long (1)
 *   FAKE_CUDA_OBSERVE=1            every observer watches the kernels, and what any finds is a failed launch
 *   FAKE_CUDA_FAIL=CALL:N:RESULT   the Nth call of cuCALL returns RESULT; N+: that and all later ones do;
 *                                  several, with commas
 *   FAKE_CUDA_COUNT=FILE           how many instructions the warps of each launch executed, a line each, is added to the file
 *   FAKE_CUDA_LOG=FILE             the name of every call, a line each, is added to the file */
#ifndef FAKE_CUDA_H
#define FAKE_CUDA_H

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

#include "cuda/driver.h"
#include "machine/machine.h"
#include "simt.h"

#define X(name, symbol, parameters) __attribute__((visibility("default"))) wf_cuda_result symbol parameters;
#include "cuda/driver.fn"
#undef X
__attribute__((visibility("default"))) wf_cuda_result cuLaunchKernelEx(const struct wf_cuda_config *config, wf_cuda_function function,
                                                                       void **arguments, void **extra);

/* CUresult, as far as it is used. */
enum {
    CUDA_SUCCESS = 0,
    CUDA_INVALID_VALUE = 1,
    CUDA_OUT_OF_MEMORY = 2,
    CUDA_NOT_INITIALIZED = 3,
    CUDA_INVALID_DEVICE = 101,
    CUDA_INVALID_CONTEXT = 201,
    CUDA_NO_BINARY_FOR_GPU = 209,
    CUDA_INVALID_PTX = 218,
    CUDA_INVALID_HANDLE = 400,
    CUDA_NOT_FOUND = 500,
    CUDA_FIRST_STICKY = 700, /* it and those behind it up to the last stay: the context is broken */
    CUDA_LAUNCH_FAILED = 719,
    CUDA_LAST_STICKY = 799,
    CUDA_NOT_SUPPORTED = 801,
};

enum { DEVICES_MAX = 8 };

struct CUctx_st {
    int ordinal;
    int retained;
};

struct CUmod_st {
    simt_module *module;
    struct CUfunc_st *functions;
    struct CUmod_st *next; /* of all that were ever loaded: the simulator remembers them by address */
    bool waits; /* some kernel does, for those before it */
};

struct CUfunc_st {
    struct CUmod_st *module;
    size_t kernel;
    int dynamic_shared_max;
    struct CUfunc_st *next;
};

/* Streams and events are kept when they are destroyed, so that their later use is found out. */
struct CUstream_st {
    int ordinal;
    bool is_destroyed;
    struct CUstream_st *next;
};

struct CUevent_st {
    bool is_destroyed;
    bool is_recorded;
    const struct CUstream_st *stream; /* where it was recorded last */
    struct timespec when;
    struct CUevent_st *next;
};

/* Device memory, or pinned memory of the host. */
struct buffer {
    uint64_t address;
    uint64_t nbytes;
    int ordinal;
    bool is_host;
    struct buffer *next;
};

struct fake {
    pthread_mutex_t lock;
    bool is_initialised;
    wf_cuda_result sticky;
    char failure[512]; /* in words, of the launch that failed */
    int device_count;
    int major, minor, multiprocessors;
    size_t memory_nbytes;
    bool observes;
    int slower;
    struct CUctx_st contexts[DEVICES_MAX];
    size_t used_nbytes[DEVICES_MAX];
    simt_machine *machine;
    struct buffer *buffers;
    struct CUmod_st *modules;
    struct CUstream_st *streams;
    struct CUevent_st *events;
};

extern struct fake fake;

/* Every call is between the two, one call at a time.  Unless begin returns CUDA_SUCCESS the call is over,
 * with that result. */
wf_cuda_result fake_begin(const char *name, bool needs_context);
wf_cuda_result fake_end(wf_cuda_result result);

/* What the environment makes of this call, which may be a failure. */
wf_cuda_result fake_fault(const char *name);

/* The current context's GPU. */
int fake_ordinal(void);

/* The buffer that the range lies in; NULL: none. */
struct buffer *fake_find_buffer(uint64_t address, uint64_t nbytes);

/* What was copied to the host in the stream (NULL: in any) so far arrives there. */
void fake_deliver(const struct CUstream_st *stream);

#endif
