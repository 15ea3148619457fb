/* The argument of the kernel that adds elements to tables by their keys: one struct, in C and in CUDA C. */
#ifndef WF_CUDA_TABLE_ARGUMENTS_H
#define WF_CUDA_TABLE_ARGUMENTS_H

#include "group_arguments.h"

enum wf_table_stage {
    WF_TABLE_SAMPLE, /* whether neighbours have keys far apart */
    WF_TABLE_RUNS,    /* the results of short runs of equal keys, if they are sorted */
    WF_TABLE_OFFSETS, /* where each key's elements begin, if keys are sorted and have no results yet */
    WF_TABLE_STRAYS, /* the results of runs of keys that mostly rise, or fall; what belongs to the key of another run is listed */
    WF_TABLE_LINK,   /* listed runs, to others of their keys */
    WF_TABLE_MEND,   /* the results of keys of which any is listed, and of those without elements */
    WF_TABLE_LOOK,   /* the largest exponent of what is summed; where there are buckets, how many elements of a sample each has */
    WF_TABLE_SCAN,   /* where each bucket's room begins; one block */
    WF_TABLE_PLACE,  /* every element, with its key, to its bucket */
    WF_TABLE_ADD,    /* every element, to its key's words */
    WF_TABLE_WHOLE,  /* every element once more, to words of all exponents, if grids do not hold it: see kernels/table_whole.cuh */
    WF_TABLE_INDEX, /* of extremes of 64 bits: the positions of those that have been found */
    WF_TABLE_FINISH, /* the results */
    WF_TABLE_ZEROS,  /* of keys whose sum is 0, if there is any -0: which of them have elements that are -0, and which have others */
    WF_TABLE_SIGNS,  /* the results of those that have no others, which are -0 */
    WF_TABLE_STATUS  /* leaves the wf_error of all stages before, where nothing else is launched after these */
};

enum {
    WF_TABLE_BLOCK = 512,
    WF_TABLE_BUCKETS_BLOCK = 1024, /* of stages of buckets, one on a multiprocessor, so that a tile has many elements of a bucket */
    WF_TABLE_TILE_NBYTES = 1 << 17, /* the most records that such a block sorts by bucket at a time */
    WF_TABLE_REREADS_MAX = 3, /* buckets of which each has a pass over all elements: to bring these there would take longer */
    WF_TABLE_BUCKET_SAMPLES = 1 << 9, /* keys of each bucket, on average, that tell how much room it needs: see WF_TABLE_ROOM */
    WF_TABLE_ORDER_BLOCK = 128, /* of WF_TABLE_RUNS and those after it, so that its shared memory is little everywhere */
    WF_TABLE_TERMS_MAX = 3, /* words among which a sum's bits are divided */
    WF_TABLE_SQUARE_TERMS = 4, /* those of a sum of squares, whose exponents are twice as far apart, ... */
    WF_TABLE_F64_SQUARE_TERMS = 5, /* ... of f64, which are two f64 each, ... */
    WF_TABLE_INTEGER_SQUARE_TERMS = 2, /* ... and of squares of 64 bits */
    WF_TABLE_WHOLE_BITS = 32,      /* of a sum over all exponents: those of each of its words, ... */
    WF_TABLE_WHOLE_TERMS = 9,      /* ... how many of these hold all f32, or bf16, ... */
    WF_TABLE_F64_WHOLE_TERMS = 66, /* ... and f64 */
    WF_TABLE_SPREAD_BITS = 8,        /* in global memory, of f32 one word for so many exponents, to which an element is added, ... */
    WF_TABLE_SPREAD_SHORT_BITS = 16, /* ... of bf16 for so many, ... */
    WF_TABLE_SECTOR_BITS = 64,       /* ... and of f64, for so many, ... */
    WF_TABLE_SECTOR_WORDS = 4,       /* ... words side by side, of WF_TABLE_WHOLE_BITS, to some of which it is added ... */
    WF_TABLE_SECTORS = 32,           /* ... and so many times these */
    WF_TABLE_WHOLE_MIN = 1 << 14, /* groups with such words, even if these take more memory than values, but at most twice what is read */
    WF_TABLE_RUN_TILE = 256, /* elements of which a warp has the runs of equal keys that begin there, ... */
    WF_TABLE_RUN_MAX = 32,   /* ... and those after them, of the last one */
    WF_TABLE_SIGNS_MAX = 1 << 14, /* keys of which a block keeps what it knows of the signs of their zeros, if it has room */
    WF_TABLE_STRAYS_SEEN = 32, /* keys that a sample keeps, to find whether those of strays are few */
    WF_TABLE_RUNS_CHUNK = 64,  /* of the list of runs, which a warp takes at a time */
    WF_TABLE_COPIES_MAX = 32 /* of a table in shared memory, so that lanes with equal keys do not wait for each other */
};

/* Shared memory of a warp's tile: elements, keys of 32 bits, and where runs begin. */
#define WF_TABLE_RUN_NBYTES(element_nbytes) ((WF_TABLE_RUN_TILE + WF_TABLE_RUN_MAX) * (element_nbytes) + 6 * WF_TABLE_RUN_TILE + 16)

/* Keys of which a block has `words` words of all exponents each, and, if that leaves room for most keys, of one more for every fourth
 * of a warp's lanes, to which go those of a key that many of these have. */
#define WF_TABLE_WHOLE_COLUMNS (WF_TABLE_BLOCK / 4)
#define WF_TABLE_WHOLE_HAS_COLUMNS(room, words) ((room) / (words) >= 4 * WF_TABLE_WHOLE_COLUMNS)
#define WF_TABLE_WHOLE_KEYS(room, words) ((room) / (words) - (WF_TABLE_WHOLE_HAS_COLUMNS(room, words) ? WF_TABLE_WHOLE_COLUMNS : 0))

/* Records for which a bucket has room that has `sampled` records of the sample: an eighth more than the likeliest number, and
 * some, which is at least 5.6 standard deviations more. */
#define WF_TABLE_ROOM(sampled, every) (((sampled) + (sampled) / 8 + 64) * (every))

/* What has been found out, at first all 0. */
struct wf_table_findings {
    unsigned int high;              /* the largest exponent field */
    unsigned int depth;             /* of a sample: how far the least one but 0 is below that of an infinity */
    unsigned int last_bit;          /* of a sample: how far the last bit of all is below that of an infinity, if it had one */
    unsigned int has_negative_zero;
    unsigned int zeros;             /* then there is a key whose sum is 0 */
    unsigned int failed;            /* tables do not hold it all: the keys are to be sorted */
    unsigned int far, near;         /* pairs of neighbours, of a sample, by their keys */
    unsigned int falls, rises;      /* of these pairs */
    unsigned int falls_alike, rises_alike; /* keys of them that others of them have, too */
    unsigned int runs;              /* in the list of those whose key has others */
    unsigned int abandoned;         /* there are too many of these, or they are too long, or their sum is not found so */
    unsigned int seen_falling[WF_TABLE_STRAYS_SEEN], seen_rising[WF_TABLE_STRAYS_SEEN]; /* keys of pairs, and 1 */
    unsigned int unsorted;          /* some key is less than the one before it, or of no group */
    unsigned int left;              /* not all results of sorted keys are made of runs: they are as segments' */
    unsigned int missed;            /* grids, or rooms of buckets, made by a sample do not hold it all: what was added does not count */
    unsigned int crowded;           /* a bucket had too little room, which is `missed`, too */
    unsigned int high_of_all;       /* the largest exponent field, if `high` is a sample's and `missed`, or if it is `wide` */
    unsigned int depth_of_all;      /* how far the least one but 0 is below that of an infinity, if it is `wide` */
    unsigned int wide;              /* grids do not hold it all, but words of all exponents will; then it is `missed`, too */
};

/* Elements of one key side by side, or one alone, where the key has others, too. */
struct wf_table_run {
    unsigned int begin;
    unsigned int before; /* another run of the key: WF_TABLE_LISTED and its number in the list, or 1 and where it begins, or 0 */
    int key;
    unsigned int length; /* with strays in between; 0: there is no such run */
};

/* Addresses are of device memory. */
struct wf_table_arguments {
    struct wf_group_arguments groups; /* where the values and the results are */
    unsigned long long keys;
    long long key_stride; /* bytes */
    long long count, table_count; /* elements, and groups */
    unsigned long long offsets;  /* of segments, which keys are if they are sorted: u32 for each group, and one more; or 0 */
    unsigned long long words;    /* u64 for each group, terms + square_terms + counts times: the lowest terms first */
                                 /* of extremes a word, and for WF_TABLE_INDEX one more: see kernels/table_extremes.cuh */
    unsigned long long flags;    /* u32 for each group: enum wf_special, of its infinities, and WF_TABLE_NAN, ... */
    unsigned long long findings; /* struct wf_table_findings */
    unsigned long long whole;    /* words of all exponents, u64, and of counts behind them: see kernels/table_whole.cuh; or 0 */
    int whole_room;  /* words of them that a block has in shared memory */
    int is_spread;   /* these have no room for those of all keys, unless a look at all elements, of f64, finds that few exponents occur:
                        then there are words in global memory, to which elements are added if they have not */
    int terms, term_bits; /* how many words a sum has, and how many bits of an element go to one */
    int square_terms;     /* how many a sum of squares has, with or without that of values */
    int has_counts;
    int has_sample; /* grids are laid by a sample, unless that has `missed` */
    int is_sampled; /* this stage goes by a sample */
    int is_again;   /* this stage has something to do only if the sample has `missed` */
    int tries_again; /* then there is such a stage */
    int is_whole;   /* this stage has something to do only if it is `wide` */
    int copies; /* of a block's table in shared memory; 0: words are added to in global memory */
    int signs_kept; /* keys of which a block keeps the signs of zeros, a power of two */
    int kept;   /* groups that a block keeps in shared memory, a power of two, where copies is 0 */
    int blocks;                       /* that elements are shared by, a piece for each */
    int buckets, bucket_log2;         /* ranges of 2^bucket_log2 keys each, to which elements are brought first; 0: none */
    int rereads;                      /* these are so few that elements are read once for each instead */
    int bucket_far;                   /* buckets need this many times as many far neighbours in a sample as near ones */
    int tile;                         /* elements that a block sorts by bucket at a time */
    int sample_every;                 /* of elements one, that tells how much room buckets need */
    unsigned long long bucket_begins; /* u32 for each bucket, and one more: elements of a sample, then where rooms begin */
    unsigned long long bucket_nexts;  /* u32 for each bucket: where the next elements go */
    unsigned long long records;       /* for each element its bits and its key: see kernels/table_buckets.cuh */
    int runs; /* room for listed ones, instead of records; 0: none are */
    int passes; /* over the elements, each of a range of keys; all in the first one where neighbours have near ones */
    int pass;
    int key_nbytes, key_is_signed, skips_bad_keys;
    int are_packed; /* values, and keys, lie side by side, from a multiple of 16 bytes on */
    int stage;
};

#define WF_TABLE_LISTED 0x80000000u
#define WF_TABLE_NAN 0x100
#define WF_TABLE_SPECIALS 0x1ff /* all of these, and enum wf_special */
#define WF_TABLE_WRITTEN 0x400 /* of sums: the result has been written */
#define WF_TABLE_SEEN 0x200 /* of extremes: the group has elements, even if its word is 0 */
#define WF_TABLE_ZERO 0x800 /* of sums: it is 0, and ... */
#define WF_TABLE_NEGATIVE_ZERO 0x1000 /* ... some element is -0, ... */
#define WF_TABLE_OTHER 0x2000         /* (twice that) ... some is neither that nor left out */

#endif
