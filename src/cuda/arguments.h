/* The argument of the reduction kernels: one struct, in C and in CUDA C. */
#ifndef WF_CUDA_ARGUMENTS_H
#define WF_CUDA_ARGUMENTS_H

/* A block's extrema, which the last block compares. */
struct wf_block_extrema {
    unsigned long long min_key, min_index, max_key, max_index; /* as in struct wf_partial */
};

/* Blocks publish the extrema of small arrays here: kernels/block_extremes.cuh. */
enum { WF_PUBLISHED_BLOCKS = 640, WF_PUBLISHED_WORDS = 4 };

/* What a kernel whose sums may lack something (kernels/losses.cuh) has found: they lack nothing; they do, but the result is
 * certain; or it is not, so that the kernel that follows makes it. */
enum wf_losing { WF_LOSING_IS_UNKNOWN, WF_LOSING_LOST_NOTHING, WF_LOSING_WAS_WORTH_IT, WF_LOSING_LEFT_DOUBT };

/* The array (of pairs: both) is cut into whole vectors of 16 bytes, and fewer elements than a vector has before the
 * first and after the last.  Addresses are of device memory. */
struct wf_kernel_arguments {
    unsigned long long x, y;    /* of the first whole vector */
    unsigned long long vectors; /* whole ones */
    unsigned head, tail;        /* elements before and after them */
    long long index;            /* of the first vector's first element */
    unsigned long long extrema; /* struct wf_block_extrema, one for each block */
    unsigned long long published; /* of each word those of all blocks, 0 before and after */
    unsigned long long working;  /* struct wf_partial: the identity, before and after */
    unsigned long long ticket;   /* unsigned, 0 before and after */
    unsigned long long outcome;  /* unsigned, enum wf_losing: of a kernel that may lose something, to the next; else 0 */
    unsigned long long partial;  /* struct wf_partial: where the outcome goes, if not 0 */
    unsigned long long value;    /* where the result goes, if not 0: an element of its type */
    unsigned long long status;   /* where the result's wf_error goes, if not 0: an int */
    /* For the result: see core/finish.c. */
    long long count, first_index, end_index, ddof;
    int nan, result_type;
    int has_fill;
    unsigned long long fill; /* the bits of the result where there is no value, which is then no error */
};

#endif
