/* What the kernel of a product's nodes is told, in C and in CUDA C. */
#ifndef WF_CUDA_KERNELS_PRODUCT_H
#define WF_CUDA_KERNELS_PRODUCT_H

#define PRODUCT_THREAD_LEVELS 3 /* of the tree: within a thread */
#define PRODUCT_LEVEL 11        /* and within a block of 256 threads */

struct wf_product_task {
    unsigned long long x;        /* the first element, aligned by its index */
    long long index;
    unsigned long long nodes;    /* struct wf_factor, one for each block */
    unsigned long long partial;  /* struct wf_partial: flags and NaNs */
};

#endif
