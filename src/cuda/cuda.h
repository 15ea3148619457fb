/* A GPU as a device: the state of its handle. */
#ifndef WF_CUDA_CUDA_H
#define WF_CUDA_CUDA_H

#include "core/handle.h"
#include "core/pages.h"
#include "core/partial.h"
#include "core/view.h"
#include "cuda/group_plan.h"
#include "cuda/kernels.h"
#include "cuda/arguments.h"

/* How much of an array in host memory is copied at a time, and how much of a strided array is gathered at a time. */
#define WF_CUDA_CHUNK_NBYTES (INT64_C(1) << 25)

enum { WF_CUDA_SLOTS = 2 }; /* chunks in flight at a time */

/* A chunk in flight: its staging memory, and the event that tells when its kernel is done. */
struct wf_cuda_slot {
    unsigned char *host[2];    /* pinned, for each operand; NULL until needed */
    wf_cuda_pointer device[2]; /* 0 until needed */
    wf_cuda_event done;
    bool busy;
};

/* Whether results are made of sums that may lack something (kernels/losses.cuh): tried now and then, and always where that was
 * worth it. */
struct wf_cuda_losing {
    volatile int *outcome; /* enum wf_losing: the last that was asked for, and has come; pinned, after `host_partials` */
    int waits;             /* calls until it is asked for again */
};

struct wf_cuda {
    struct wf_gpu gpu;
    wf_cuda_stream stream;
    struct wf_kernel *kernels;
    struct wf_cuda_plan plan; /* of the last launch; no blocks before any */
    struct wf_cuda_group_plan group_plan; /* the same, if the last reduction was one by groups; otherwise no blocks */
    wf_cuda_pointer groups;   /* scratch memory of reductions by groups; 0 until needed */
    size_t groups_nbytes;
    bool is_captured;         /* a graph uses it: it stays until the handle goes */
    wf_cuda_pointer captured[64]; /* such memory that became too small: each is at least twice as large as the one before */
    int captured_count;
    struct wf_pages kept;     /* host memory for copies: see cuda/transfer.h */
    struct wf_pages added_kept; /* for what is added to an accumulator with a shape */
    wf_cuda_pointer published; /* words of small arrays' blocks, 0 between launches */
    wf_cuda_pointer working;  /* struct wf_partial after these words, the identity between launches */
    wf_cuda_pointer ticket;   /* after `working` */
    wf_cuda_pointer partials; /* struct wf_partial for each slot */
    wf_cuda_pointer extrema;  /* struct wf_block_extrema for each block of the largest grid */
    struct wf_partial *host_partials; /* pinned: one for each slot, copied from `partials` */
    struct wf_cuda_losing losing[4]; /* of f32 and f64, of squares alone and with values */
    struct wf_cuda_slot slot[WF_CUDA_SLOTS];
    wf_handle cpu; /* for arrays too small to be worth a launch */
    struct wf_accumulator added; /* by the current call, until it succeeds */
    struct wf_tree added_tree;
};

/* Contiguous elements in device memory. */
struct wf_cuda_range {
    wf_cuda_pointer x, y; /* y: 0 where there are no pairs */
    int64_t count;
    int64_t index; /* of the first */
};

/* The destination of a launch's partial or result. */
struct wf_cuda_target {
    wf_cuda_pointer partial; /* 0: nowhere */
    wf_cuda_pointer value;    /* an element of the result type; 0: the result is not finished */
    wf_cuda_pointer status;   /* an int32_t; 0: not wanted */
    const wf_value *fill;     /* of the result type, where there is no value; NULL: that is an error */
    int64_t count, first_index, end_index; /* for the result: of all elements */
};

/* Launches the reduction of a range, with the settings of acc, in the stream's order. */
wf_error wf_cuda_launch(wf_handle *handle, const struct wf_accumulator *acc, const struct wf_cuda_range *range,
                        const struct wf_cuda_target *target);

/* Launches the reduction of a range, and the copy of its partial to the host. */
wf_error wf_cuda_start(wf_handle *handle, const struct wf_accumulator *acc, const struct wf_cuda_range *range,
                       int slot);

/* Waits for the reduction that was started in a slot, and merges its partial into `into`. */
wf_error wf_cuda_collect(wf_handle *handle, int slot, struct wf_accumulator *into);

/* Adds a view of host memory, or one of device memory that is not contiguous, chunk by chunk through the slots. */
wf_error wf_cuda_add_staged(wf_handle *handle, struct wf_accumulator *into, const struct wf_view *view, bool is_host);

/* Multiplies the product of a range, as a tree, into `into`. */
wf_error wf_cuda_add_product(wf_handle *handle, struct wf_accumulator *into, const struct wf_cuda_range *range);

/* What is asked of words in the GPU's memory. */
struct wf_words_task;
wf_error wf_cuda_pass_words(wf_handle *handle, const struct wf_words_task *task);

/* Allocates a slot's memory on the GPU and, if on_host, on the host, unless it has been allocated before. */
wf_error wf_cuda_ensure_slot(wf_handle *handle, int slot, int operands, bool on_host);

/* Whether the arrays, of which b may be NULL, are in host memory: both must be in the same. */
wf_error wf_cuda_find_memory(wf_handle *handle, const wf_array *a, const wf_array *b, bool *is_host);

/* Whether a graph is being made of the stream's work. */
bool wf_cuda_is_capturing(wf_cuda_stream stream);

/* Whether a pointer is to host memory. */
wf_error wf_cuda_is_host(wf_handle *handle, const void *pointer, bool *is_host);

#endif
