/* The GPU benchmark's parts: one shared library, which device.py builds with nvcc and opens. */
#ifndef GPU_BENCH_H
#define GPU_BENCH_H

#include <cuda_runtime.h>
#include <stddef.h>
#include <stdint.h>

/* ---- what can be timed --------------------------------------------------------------------------- */

/* A reduction, called as CUB's are: where temporary is NULL it only sets *nbytes.  in: count elements. */
typedef cudaError_t peer_call(void *temporary, size_t *nbytes, const void *in, void *out, int64_t count,
                              cudaStream_t stream);

struct peer {
    const char *who, *op, *type; /* of the elements */
    const char *result;          /* the type of what is compared with the right answer ... */
    int result_offset;           /* ... and where it lies behind out, in bytes */
    peer_call *call;
};

struct peer_list {
    const struct peer *peers;
    int count;
};

extern const struct peer_list ceilings, cub_sums, cub_extremes, cub_args, cub_arg_pairs,
    cub_deterministic_sums;

enum { RESULT_NBYTES = 256 };

/* Something that reduces an array again and again. */
struct contender {
    virtual ~contender() = default;

    /* Enqueues one reduction on the benchmark's stream.  False: fail() has been told why. */
    virtual bool launch(const void *data, int64_t count) = 0;

    /* Does launch() return only when the result is there? */
    virtual bool is_synchronous() const { return false; }

    /* The result of the last launch, RESULT_NBYTES of it, in host memory. */
    virtual bool fetch(void *result) = 0;
};

struct contender *open_peer(const struct peer *peer);
/* NULL where warpfold has no such op, or its handle cannot be made.  nan: a wf_nan. */
struct contender *open_warpfold(const char *op, const char *type, int nan);

/* ---- shared state -------------------------------------------------------------------------------- */

extern cudaStream_t bench_stream_now;

/* Keeps the message for bench_message() and returns false. */
bool fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* True where the result is cudaSuccess. */
bool check(cudaError_t result, const char *what);

/* Bytes of an element; 0 where there is no such type. */
size_t type_nbytes(const char *type);

#endif
