/* What a launch of the reduction kernel is told: one struct, in C and in CUDA C. */
#ifndef WF_CUDA_REDUCTION_H
#define WF_CUDA_REDUCTION_H

/* A block's extremes, which the last block compares. */
struct wf_partial {
    unsigned long long min_key, min_index, max_key, max_index; /* as in struct wf_gathered */
};

/* Of small arrays blocks post them: kernels/posted.cuh. */
enum { WF_POSTED_BLOCKS = 640, WF_POSTED_WORDS = 4 };

/* The array (of pairs: both) is cut into whole vectors of 16 bytes, and fewer elements than a vector has before the
 * first and behind the last.  Addresses are of device memory. */
struct wf_reduction {
    unsigned long long x, y;    /* of the first whole vector */
    unsigned long long vectors; /* whole ones */
    unsigned head, tail;        /* elements before and behind them */
    long long index;            /* of the first vector's first element */
    unsigned long long partials; /* struct wf_partial, one for each block */
    unsigned long long posted;   /* of each word those of all blocks, 0 before and after */
    unsigned long long working;  /* struct wf_gathered: the identity, before and after */
    unsigned long long ticket;   /* unsigned, 0 before and after */
    unsigned long long gathered; /* struct wf_gathered: where the outcome goes, if not 0 */
    unsigned long long value;    /* wf_device_value: where the result goes, if not 0 */
    /* For the result: see core/finish.c. */
    long long count, first_index, end_index, ddof;
    int nan, result_type;
};

#endif
