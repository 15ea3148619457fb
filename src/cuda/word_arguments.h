/* The argument of the kernel that makes words of a partial, and a result of words: one struct, in C and in CUDA C. */
#ifndef WF_CUDA_WORD_ARGUMENTS_H
#define WF_CUDA_WORD_ARGUMENTS_H

/* The most words of any reduction of one result: stats of f64. */
enum { WF_WORD_DIMENSIONS = 64, WF_ADDED_WORDS_MAX = 320, WF_LARGEST_WORDS_MAX = 16, WF_INDEX_WORDS_MAX = 4 };

/* Addresses are of device memory; 0: none. */
struct wf_word_arguments {
    int step; /* enum wf_words_step */
    int joins;
    /* of the reduction */
    int op, type, nan, result_type;
    unsigned parts;
    long long ddof;
    unsigned long long settings;
    /* of an array's elements */
    long long first_index, end_index, count;
    unsigned long long partial; /* struct wf_partial */
    /* With a shape: results, in C order, and the words before theirs; the slots of slot_count groups, and the
     * number of the first one's result.  results 0, and no slots: there is no shape, and a partial. */
    long long results, slot_count, first_result;
    int has_shape, head_added, head_largest;
    unsigned long long slots; /* struct wf_group_slot; 0: no result has elements */
    unsigned long long bad;   /* u64: what is not UINT64_MAX is a label that is wrong */
    /* the words of each result: how many, and where */
    int added_count, largest_count, index_count;
    unsigned long long added, largest, indices, agreed;
    unsigned long long own; /* the largest, as they were before those of all ranks */
    unsigned long long value, status; /* where the result goes */
    unsigned long long failed; /* with a shape, u64: the least of the numbers of results that failed, * 256 + wf_error */
    unsigned long long fill;   /* the bits of the value of results that have none */
    int has_fill, ndim;
    long long shape[WF_WORD_DIMENSIONS], stride_bytes[WF_WORD_DIMENSIONS]; /* of the output */
};

#endif
