/* The kernels that a handle has loaded on its GPU, each specialised for one kind of reduction. */
#ifndef WF_CUDA_KERNELS_H
#define WF_CUDA_KERNELS_H

#include "cuda/plan.h"

/* The parameters that a reduction kernel is compiled for.  Zero the struct first: keys are compared as bytes. */
struct wf_kernel_key {
    wf_type type;
    unsigned parts;
    int is_indexed, is_small;
    int walk, is_short; /* of reductions by groups: kernels/groups.cu's WALK, plus 1, and IS_SHORT */
    int alignment;
    int block, vectors, stages, resident, sums_nbytes;
    wf_op finish_op;      /* WF_OP_NONE: the result is not finished there */
    wf_type finish_type;  /* of the result */
    int loses, repeats;   /* kernels/reduce.cu's LOSES and REPEATS */
};

struct wf_kernel {
    struct wf_kernel_key key;
    wf_cuda_module module;
    wf_cuda_function function;
    int shared_nbytes;   /* of a block of any launch until now the most, at its launch */
    int resident;        /* blocks that a multiprocessor has at a time, 0: not asked yet, ... */
    int resident_nbytes; /* ... with so much of that */
    struct wf_kernel *next;
};

/* The reduction kernel of the key, loaded at its first use, from a list that wf_kernels_destroy frees.  The GPU's
 * context must be entered, here and below. */
wf_error wf_kernels_reduce(wf_handle *handle, const struct wf_gpu *gpu, struct wf_kernel **list,
                           const struct wf_kernel_key *key, int shared_nbytes, wf_cuda_function *function);

/* The same of reductions by groups. */
wf_error wf_kernels_groups(wf_handle *handle, const struct wf_gpu *gpu, struct wf_kernel **list,
                           const struct wf_kernel_key *key, int shared_nbytes, wf_cuda_function *function);

/* How many blocks of such a kernel a multiprocessor has at a time, asked of the driver where the launch before had other shared memory. */
wf_error wf_kernels_resident(wf_handle *handle, struct wf_kernel *list, wf_cuda_function function, int block, int shared_nbytes,
                             int *resident);

/* The same of those that add to tables, whose walk is that of no other. */
wf_error wf_kernels_tables(wf_handle *handle, const struct wf_gpu *gpu, struct wf_kernel **list,
                           const struct wf_kernel_key *key, int shared_nbytes, wf_cuda_function *function);

/* The same of products' trees: of the types and the block alone, which tells it from the others. */
wf_error wf_kernels_trees(wf_handle *handle, const struct wf_gpu *gpu, struct wf_kernel **list,
                          const struct wf_kernel_key *key, wf_cuda_function *function);

/* The same of those that make words of partials and results of words: of the key's type, parts and result alone. */
wf_error wf_kernels_words(wf_handle *handle, const struct wf_gpu *gpu, struct wf_kernel **list,
                          const struct wf_kernel_key *key, wf_cuda_function *function);

/* In place of parts, to tell these apart from reductions. */
enum { WF_KERNEL_GATHER = 1 << 16, WF_KERNEL_KEYS = 1 << 17, WF_KERNEL_OFFSETS = 1 << 18 };

/* Another kernel of src/cuda/kernels, by its file's name ("gather.cu"), which needs nothing but the type; the key is
 * told apart by `which`. */
wf_error wf_kernels_named(wf_handle *handle, const struct wf_gpu *gpu, struct wf_kernel **list, const char *path,
                          wf_type type, unsigned which, wf_cuda_function *function);

void wf_kernels_destroy(struct wf_kernel *list);

#endif
