/*
 * judge.h -- judges a kernel by a task: are its results right for every size, schedule and data set, is it free of
 * races, and does it stay within the costs that the task allows?
 *
 * A task is a small file (docs/judge.md): the kernel's signature, its launch, its arguments by role, the
 * reference for its output, sizes and gates.  The kernel runs on the simulator with random data, from another seed
 * for each launch, so that no result can be known in advance.  The expected values are exact, from the engine of
 * warpfold.h or computed here, and errors are compared with a proven bound, not with a tolerance.
 *
 * Nothing here prints or keeps state between calls.  Errors and messages are those of simt.h.
 */
#ifndef JUDGE_H
#define JUDGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "simt.h"

/* ---- tasks */

/* Those that are built in, sorted by path: "sum.task". */
struct judge_file {
    const char *path;
    const char *text; /* NUL-terminated */
    size_t nbytes;    /* without the NUL */
};
extern const struct judge_file judge_files[];
extern const size_t judge_file_count;

/* The text of the built-in task of that name, such as "sum"; NULL: there is none. */
const char *judge_task_text(const char *name);

/* Whether the source includes the header that the task names, which marks the kernels written for it.  false for a task that
 * names none. */
bool judge_task_is_of(const char *task_text, const char *source);

struct judge_task;

/* Reads a task.  `name` is what messages call it, a file's name for example.  *task is the caller's; NULL
 * after an error: SIMT_ERROR_SYNTAX, with the line, or SIMT_ERROR_MEMORY. */
simt_error judge_task_read(const char *text, const char *name, struct judge_task **task,
                           simt_message *message);
void judge_task_destroy(struct judge_task *task); /* NULL: nothing */

/* "The sum of n floats"; valid as long as the task. */
const char *judge_task_title(const struct judge_task *task);

/* ---- verdicts */

enum { JUDGE_SIZES_MAX = 96, JUDGE_SIZE_CAPACITY = 24, JUDGE_BLOCKS_MAX = 8, JUDGE_BLOCK_CAPACITY = 64 };
enum { JUDGE_MESSAGE_CAPACITY = 768, JUDGE_WHERE_CAPACITY = 160, JUDGE_FILE_CAPACITY = 256 };

/* What a reason is about, where that decides which reasons are one fault. */
enum judge_cause {
    JUDGE_CAUSE_OTHER,
    JUDGE_CAUSE_EXPLAINED,      /* a result: it says why, or what it is instead */
    JUDGE_CAUSE_ELSEWHERE,      /* a result: that of other elements */
    JUDGE_CAUSE_UNWRITTEN,      /* a result: elements are as they were */
    JUDGE_CAUSE_TILES,          /* a result: of each tile half of the transpose is done */
    JUDGE_CAUSE_OUTSIDE_INPUT,  /* an access near an argument, but outside of it */
    JUDGE_CAUSE_OUTSIDE_OUTPUT  /* of one that is only written */
};

/* A reason to refuse the kernel.  Of reasons that are alike only the first is kept. */
struct judge_reason {
    char kind[16]; /* that of a finding ("race"), or "result", "input", "gate", "clock" */
    char message[JUDGE_MESSAGE_CAPACITY];
    char where[JUDGE_WHERE_CAPACITY]; /* the launch: "n = 33, integers(-8, 8), split" */
    char file[JUDGE_FILE_CAPACITY];   /* of a finding, else "" */
    uint32_t line, other_line;        /* 0: none */
    uint64_t launches, last_launch;   /* how many gave it, and the last one's number */
    enum judge_cause cause;
    const char *argument; /* the argument that is accessed, or that the access is near; valid as long as the task; or NULL */
    int64_t beyond;       /* the elements between its end and the access: 0 for the first one after the end */
    bool is_blamed;       /* a race: wrong results become right in an order of execution without it */
    bool may_follow;      /* a result: every launch that gave it has a finding, from which it may follow */
    bool does_fit;        /* in some launch that gave it the number of threads divides that of elements */
    bool leaves_out;      /* the guard that allows this access excludes elements that it should not */
    bool has_other_pitch; /* in each launch the access would be inside if rows were as long as columns */
    bool reaches_others;  /* the same store also reaches elements that other threads store */
};

/* A count of the task's gates, at its largest size. */
struct judge_gate_count {
    const char *name; /* as long as the task */
    double count, allowed;
    bool is_least; /* `allowed` is the least, not the most */
};

enum { JUDGE_REASONS_MAX = 16, JUDGE_GATES_MAX = 16 };

struct judge_verdict {
    bool is_accepted;
    uint64_t launches;
    bool has_fitting; /* a launch that does_fit */
    char sizes[JUDGE_SIZES_MAX][JUDGE_SIZE_CAPACITY]; /* that were tried: the task's, then others; "1000", "31x33" */
    size_t size_count, task_size_count;
    char blocks[JUDGE_BLOCKS_MAX][JUDGE_BLOCK_CAPACITY]; /* that were tried, as the task has them: "256", "16x16" */
    size_t block_count;
    struct judge_reason reasons[JUDGE_REASONS_MAX];
    size_t reason_count;
    /* The largest error of a float, in ulp of the exact result, and its bound there, which follows from that number of
     * roundings.  is_counted: they were counted along the longest chain of operations; otherwise the kernel could not be
     * followed, and they are the most that there can be.  If results are not floats, has_error is false. */
    bool has_error, is_counted;
    double error_ulp, bound_ulp;
    uint64_t roundings;
    struct judge_gate_count gates[JUDGE_GATES_MAX];
    size_t gate_count;
};

/* An access beyond the end of an argument, in a launch with blocks of these extents. */
struct judge_outside {
    const char *argument;
    const uint32_t *block; /* [3] */
    bool is_just_behind; /* to the first element after the end */
};

/* Writes, if it finds it in the kernel's source, which guard allows the access: a text that begins with "; ".  false: it finds
 * none, and leaves the text as it was.  Called by several threads at once. */
typedef bool judge_guard_function(const void *source, const simt_finding *finding, const struct judge_outside *outside, char *text, size_t nbytes);

struct judge_request {
    const struct judge_task *task;
    const char *path;                /* of the source, which is compiled */
    const char *ptx;                 /* the text of a .ptx file of that name instead, or NULL */
    uint64_t seed;                   /* of the data */
    uint32_t threads; /* the most that try the kernel at once, each on a simulator; 0: one for each processor */
    const simt_leftovers *leftovers; /* as simt_source has them */
    judge_guard_function *guard; /* or NULL */
    const void *source;          /* what it is given */
};

/* Judges.  SIMT_OK: there is a verdict, whatever it says.  SIMT_ERROR_ARGUMENT: the kernel has other
 * parameters than the task, or the task cannot be launched; SIMT_ERROR_COMPILE and _SYNTAX: it is no kernel.
 * The message says what is wrong. */
simt_error judge_run(const struct judge_request *request, struct judge_verdict *verdict,
                     simt_message *message);

#endif
