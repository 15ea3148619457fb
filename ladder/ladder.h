/*
 * ladder.h -- the ladder of reduction kernels: its rungs, their kernels, how each is launched, and a run of
 * one on the simulator.
 *
 * The rungs' sources are part of the program (files.h); a rung's number and name come from its file's name,
 * and its first comment states what the host must know of it.  Types and ops are warpfold.h's: i32 u32 i64
 * u64 f32 f64, and sum prod min max argmax.
 *
 * Nothing here prints or keeps state.  Errors and messages are those of simt.h.
 */
#ifndef LADDER_H
#define LADDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "files.h"
#include "simt.h"
#include "warpfold.h"

/* ---- rungs */

enum ladder_finish {
    LADDER_FINISH_DEFAULT,   /* the rung's own */
    LADDER_FINISH_HOST,      /* the host combines the partials, in order */
    LADDER_FINISH_RELAUNCH,  /* the kernel runs on its own partials until one is left */
    LADDER_FINISH_ATOMIC,    /* each block combines its partial into the result atomically */
    LADDER_FINISH_LAST_BLOCK /* the last block to end combines the partials */
};

/* Which threads work in a step of the tree, and on which cell each: values lie in cells of shared memory, or of the
 * input where the rung works in place. */
enum ladder_pattern {
    LADDER_PATTERN_UNKNOWN,   /* the comment does not say, or says "other" */
    LADDER_PATTERN_NONE,      /* there is no tree: each element goes to the result by itself */
    LADDER_PATTERN_REGISTERS, /* lanes exchange registers, then the warps' results go through the first warp */
    LADDER_PATTERN_PAIRS,     /* thread t owns cell 2t and works where the stride divides t */
    LADDER_PATTERN_LEADING,   /* thread t owns cell t; the stride halves from the block size to 1 */
    LADDER_PATTERN_MULTIPLES, /* thread t owns cell t and works where 2s divides t, for s from 1 up */
    LADDER_PATTERN_STRIDED,   /* thread t owns cell 2st */
    LADDER_PATTERN_SEQUENTIAL /* thread t owns cell t; the stride halves from half of the block size to 1 */
};

/* The places where the block waits. */
enum ladder_barriers {
    LADDER_BARRIERS_UNKNOWN, /* the comment does not say, or says "other" */
    LADDER_BARRIERS_NONE,
    LADDER_BARRIERS_ONE,
    LADDER_BARRIERS_EACH_STEP,
    LADDER_BARRIERS_FIRST_AND_EACH_STEP, /* and before the first step */
    LADDER_BARRIERS_ABOVE_ONE_WARP       /* the same, until one warp does the rest */
};

struct ladder_rung {
    const struct ladder_file *file;
    char id[48];     /* "05_interleaved_strided" */
    char title[160]; /* the first line of its comment */
    int number;
    uint32_t tile;    /* elements that a thread takes at a time */
    bool strides;     /* over the whole array, by the grid; otherwise each block has a portion of its own */
    uint32_t coarsen; /* pairs in a tile, or strides, before the tree by default; 0: not its technique */
    uint32_t shared_per_thread, shared_per_warp; /* values of shared memory */
    enum ladder_pattern pattern;
    enum ladder_barriers barriers;
    struct ladder_picture {
        uint32_t n, block, warp, banks; /* 0: not told */
        wf_type type;                   /* WF_TYPE_DEFAULT: not told */
        char values[80];                /* "100000000,3"; or "" */
    } picture;                          /* what shows its lesson: few elements, small warps */
    char textbook[128];                 /* its lesson as a textbook has it: "sdata[tid] += sdata[tid + s];"; or "" */
    uint32_t cluster;                            /* blocks that make one partial result together; else 1 */
    enum ladder_finish finish;                   /* by default */
    uint32_t warp_size;                          /* the only one that it works with; 0: any */
    char target[16];                             /* "sm_75" */
    uint32_t ops;                                /* bit op of wf_op */
    uint32_t types;                              /* bit type of wf_type */
    bool in_place;                               /* overwrites its input */
    bool is_engine; /* the ladder runs the library's reduction in place of the kernel, which is for `explain` alone */
    wf_type cells;  /* of the partial results in shared memory; WF_TYPE_DEFAULT: the elements' */
};

/* Rungs by number from 0 to ladder_rung_count() - 1. */
size_t ladder_rung_count(void);
bool ladder_rung_get(size_t index, struct ladder_rung *rung);

/* By number ("05", "5"), name ("interleaved_strided") or id.  false: there is none. */
bool ladder_rung_find(const char *name, struct ladder_rung *rung);

/* Can it run in blocks of that many threads? */
bool ladder_block_fits(const struct ladder_rung *rung, uint32_t block);

/* The lines of a rung's tree in its source, found by the marks at the ends of lines. */
enum ladder_mark { LADDER_TREE = 1, LADDER_COMBINE = 2 };

/* Bits of ladder_mark for each line, marks[line], counted from 1, up to *line_count; the caller's, to be
 * freed.  NULL: no memory. */
unsigned char *ladder_marks(const struct ladder_file *file, uint32_t *line_count);

/* The embedded file that a place in compiled code names, such as "ladder/rung.cuh"; NULL if it is none. */
const struct ladder_file *ladder_file_find(const char *path);

/* "host", "relaunch", "atomic", "last-block"; NULL for the default. */
const char *ladder_finish_name(enum ladder_finish finish);
bool ladder_finish_parse(const char *name, enum ladder_finish *finish); /* NULL: the default */

/* ---- what the first comment tells readers */

enum { LADDER_LESSON_CAPACITY = 1024 };

/* The idea, "Fixes in 04: ..." and "Still costs: ...", by index; each without line breaks.  false: there is no more. */
bool ladder_lesson(const struct ladder_rung *rung, size_t index, char text[LADDER_LESSON_CAPACITY]);

/* ---- misprints */

enum { LADDER_MISPRINT_CAPACITY = 512, LADDER_ARGUMENTS_MAX = 4 };

/* One thing that the rung's sources print wrong, from index 0 on.  false: there is no more. */
bool ladder_misprint(const struct ladder_rung *rung, size_t index, char text[LADDER_MISPRINT_CAPACITY]);

struct ladder_argument {
    char text[32]; /* "i32[256]=iota" or "u32:100" */
    wf_type type;
    bool is_array;
    uint64_t count, number; /* of an array's elements; the number itself */
    char fill[8];           /* "iota", "ones", "zeros" */
};

/* A kernel of ladder/wrong/: its source, its PTX, and the launch that shows what goes wrong.  The first argument is
 * its input, the second the result. */
struct ladder_wrong {
    const struct ladder_file *file, *ptx;
    char name[48];
    uint32_t grid, block;
    size_t shared_nbytes;
    struct ladder_argument arguments[LADDER_ARGUMENTS_MAX];
    size_t argument_count;
};

/* Those that the rung's sources print in its place, by index from 0. */
size_t ladder_wrong_count(const struct ladder_rung *rung);
simt_error ladder_wrong_get(const struct ladder_rung *rung, size_t index, struct ladder_wrong *wrong,
                            simt_message *message);

/* ---- kernels */

/* The variant of a rung: what it is compiled for. */
struct ladder_variant {
    const struct ladder_rung *rung;
    wf_op op;
    wf_type type;
    enum ladder_finish finish;
    uint32_t coarsen; /* 0: the rung's own choice */
};

/* Is there such a kernel?  If not, the message says what there is. */
simt_error ladder_variant_check(const struct ladder_variant *variant, simt_message *message);

/* The kernel's module, from the PTX that is built in, or compiled by NVRTC.  Its kernel is
 * ladder_kernel(module).  Source lines are named by the file "ladder/NN_name.cu".  `leftovers`, which may be
 * NULL, are notified of files that compiling makes. */
simt_error ladder_module(const struct ladder_variant *variant, const simt_leftovers *leftovers,
                         simt_module **module, simt_message *message);

/* The index of its kernel `reduce`; SIZE_MAX if it has none. */
size_t ladder_kernel(const simt_module *module);

/* The source of a variant's kernel and the options that define it, "-DTYPE_f32" and so on, NULL-terminated.
 */
struct ladder_options {
    char texts[4][40];
    const char *list[5];
};
void ladder_options_set(struct ladder_options *options, const struct ladder_variant *variant);

/* ---- the plan */

enum { LADDER_BLOCK_MIN = 32, LADDER_BLOCK_MAX = 1024, LADDER_BLOCK_DEFAULT = 256, LADDER_LAUNCHES_MAX = 16 };

struct ladder_plan {
    uint32_t block, grid; /* grid: blocks, or of a rung with clusters these */
    uint64_t portion; /* elements of each block; the last may have fewer.  0: blocks stride over the array */
    size_t shared_nbytes;
};

/* How n elements are launched in blocks of `block` threads; grid 0: as many as the rung wants. */
struct ladder_plan ladder_plan(const struct ladder_variant *variant, uint64_t n, uint32_t block,
                               uint32_t grid);

/* The shape of a launch. */
struct ladder_shape {
    uint32_t block;    /* threads */
    uint32_t grid;     /* blocks of the first launch; 0: as many as the rung wants */
    uint32_t resident; /* blocks that the device holds at a time; 0: not told */
};

/* The launches that reduce n elements: one, or where the finish is to relaunch all that follow. */
struct ladder_passes {
    size_t count;
    struct ladder_pass {
        struct ladder_plan plan;
        uint64_t n; /* elements that it reduces */
    } list[LADDER_LAUNCHES_MAX];
};

/* false: they do not come to an end. */
bool ladder_passes_plan(const struct ladder_variant *variant, uint64_t n, const struct ladder_shape *shape,
                        struct ladder_passes *passes);

/* ---- values */

/* Arrays of elements and what they reduce to, by a plain sequential loop: integers modulo 2^w, floats rounded
 * after every operation. */
struct ladder_result {
    wf_value value;
    int64_t index; /* of argmax: the smallest that holds the value; else LADDER_NO_INDEX */
};

enum { LADDER_NO_INDEX = -1 };

enum ladder_data {
    LADDER_DATA_EXACT, /* every partial result of floats is exact, whatever the order */
    LADDER_DATA_RANDOM /* floats that make rounding errors: uniform in [0, 1), for prod near 1 */
};

bool ladder_type_check(wf_type type);
void ladder_fill(void *values, wf_type type, wf_op op, uint64_t n, enum ladder_data data, uint64_t seed);

/* n > 0, or the op's identity. `indices`: those of the elements, or NULL where element i has index i. */
struct ladder_result ladder_reduce(const void *values, const int64_t *indices, wf_type type, wf_op op,
                                   uint64_t n);

/* Are they the same, bit by bit? */
bool ladder_result_equal(const struct ladder_result *a, const struct ladder_result *b, wf_op op);

/* How many floats of the type lie from the value to the correctly rounded result; NaN where there is no such
 * measure: for integers and argmax. */
wf_error ladder_error_ulp(const struct ladder_result *result, const void *values, wf_op op, uint64_t n, double *ulp);

wf_value ladder_value(const void *element, wf_type type);

/* ---- running on the simulator */

struct ladder_task {
    struct ladder_variant variant;
    const simt_module *module; /* of the variant; NULL on a GPU */
    const void *values;        /* n elements, which stay as they are */
    uint64_t n;
    uint32_t block;    /* 0: LADDER_BLOCK_DEFAULT */
    uint32_t grid;     /* 0: as many as the rung wants */
    uint32_t resident; /* blocks that the device holds at a time; 0: not told */
    simt_settings settings;
    simt_schedule schedule;
    uint64_t seed;
    uint32_t threads;                             /* of the host; 0: one for each processor */
    const struct simt_observer *const *observers; /* NULL: none */
};

struct ladder_outcome {
    struct ladder_plan plan; /* of the first launch */
    struct ladder_result result;
    uint64_t partial_count;   /* 0 where the finish leaves none */
    void *partials;           /* elements, one for each block of the first launch */
    int64_t *partial_indices; /* of argmax, else NULL */
    size_t launch_count;
    simt_report *reports[LADDER_LAUNCHES_MAX]; /* NULL on a GPU */
};

/* Runs the kernel as the finish wants.  After SIMT_ERROR_STOPPED the outcome has the reports, but no result.
 * ladder_outcome_clear in any case. */
simt_error ladder_run(const struct ladder_task *task, struct ladder_outcome *outcome, simt_message *message);
void ladder_outcome_clear(struct ladder_outcome *outcome);

/* A count, summed over the launches; shares such as utilization are those of the sums, and what belongs to
 * one launch (occupancy) is the first one's.  `otherwise` where nothing counted it. */
double ladder_outcome_count(const struct ladder_outcome *outcome, const char *name, double otherwise);
size_t ladder_outcome_finding_count(const struct ladder_outcome *outcome);
/* The findings of all launches, in order. */
const simt_finding *ladder_outcome_finding(const struct ladder_outcome *outcome, size_t index);

/* Counts "steps": the most halvings of the tree that a warp goes through one after the other. */
extern const struct simt_observer ladder_observe_steps;

#endif
