/* The argument of the kernel that makes words of a partial, and a result of words: one struct, in C and in CUDA C. */
#ifndef WF_CUDA_WORD_ARGUMENTS_H
#define WF_CUDA_WORD_ARGUMENTS_H

/* The most words of any reduction of one result: stats of f64. */
enum { WF_ADDED_WORDS_MAX = 320, WF_LARGEST_WORDS_MAX = 16, WF_INDEX_WORDS_MAX = 4 };

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
    /* the words: how many, and where */
    int added_count, largest_count, index_count;
    unsigned long long added, largest, indices, agreed;
    unsigned long long own; /* the largest, as they were before those of all ranks */
    unsigned long long value, status; /* where the result goes */
};

#endif
