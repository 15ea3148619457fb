/* A GPU as a device: the state of its handle. */
#ifndef WF_CUDA_CUDA_H
#define WF_CUDA_CUDA_H

#include "core/handle.h"
#include "cpu/view.h"
#include "cuda/gathered.h"
#include "cuda/kernels.h"
#include "cuda/reduction.h"

/* What is copied at a time from the host's memory, and gathered at a time of strided arrays. */
#define WF_CUDA_PIECE_NBYTES (INT64_C(1) << 25)

enum { WF_CUDA_SLOTS = 2 }; /* pieces that are under way at a time */

/* A piece under way: where it is put, and what the kernel gathers of it. */
struct wf_cuda_slot {
    unsigned char *host[2];    /* pinned, for each operand; NULL until needed */
    wf_cuda_pointer device[2]; /* 0 until needed */
    wf_cuda_event done;
    bool busy;
};

struct wf_cuda {
    struct wf_gpu gpu;
    wf_cuda_stream stream;
    struct wf_kernel *kernels;
    struct wf_cuda_plan plan; /* of the last launch; no blocks before any */
    wf_cuda_pointer posted;   /* words of small arrays' blocks, 0 between launches */
    wf_cuda_pointer working;  /* behind them: struct wf_gathered, the identity between launches */
    wf_cuda_pointer ticket;   /* behind it */
    wf_cuda_pointer partials; /* behind that: struct wf_partial, one for each block of the largest grid */
    wf_cuda_pointer gathered; /* struct wf_gathered for each slot */
    struct wf_gathered *outcome; /* pinned: where these are brought */
    struct wf_cuda_slot slot[WF_CUDA_SLOTS];
    wf_handle cpu; /* for what is not worth a launch */
};

/* Contiguous elements in device memory. */
struct wf_cuda_range {
    wf_cuda_pointer x, y; /* y: 0 where there are no pairs */
    int64_t count;
    int64_t index; /* of the first */
};

/* Where a launch leaves what it has gathered. */
struct wf_cuda_target {
    wf_cuda_pointer gathered; /* 0: nowhere */
    wf_cuda_pointer value;    /* a wf_device_value; 0: the result is not finished */
    int64_t count, first_index, end_index; /* for the result: of all elements */
};

/* Launches the reduction of a range, with the settings of acc, in the stream's order. */
wf_error wf_cuda_launch(wf_handle *handle, const struct wf_accumulator *acc, const struct wf_cuda_range *range,
                        const struct wf_cuda_target *target);

/* Launches the reduction of a range, and the copy of what is gathered to the host. */
wf_error wf_cuda_start(wf_handle *handle, const struct wf_accumulator *acc, const struct wf_cuda_range *range,
                       int slot);

/* Waits for what was started in a slot, and joins it to into. */
wf_error wf_cuda_collect(wf_handle *handle, int slot, struct wf_accumulator *into);

/* Adds a view of host memory, or one of device memory that is not contiguous, piece by piece. */
wf_error wf_cuda_add_pieces(wf_handle *handle, struct wf_accumulator *into, const struct wf_view *view, bool is_host);

/* Adds the product of a range as a tree. */
wf_error wf_cuda_add_product(wf_handle *handle, struct wf_accumulator *into, const struct wf_cuda_range *range);

/* A slot's memory on the GPU, and if asked for on the host, for pieces. */
wf_error wf_cuda_need_slot(wf_handle *handle, int slot, int operands, bool on_host);

/* Whether memory is the host's. */
wf_error wf_cuda_is_host(wf_handle *handle, const void *pointer, bool *is_host);

#endif
