/* What `warpfold run` and the stand-in for the CUDA runtime tell each other, in memory that both processes share:
 * settings in one direction, counts and findings in the other.  It is complete at any time, so that it tells what
 * happened however the program ended.  The program's own code could write anything into it: who reads it relies on
 * nothing that record_check has not found sound. */
#ifndef PROGRAM_RECORD_H
#define PROGRAM_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "report/advice.h"

/* The environment variable with the number of the open file that holds it. */
#define RECORD_VARIABLE "WARPFOLD_RECORD"

enum { RECORD_VERSION = 12, RECORD_KERNELS = 1024, RECORD_FINDINGS = 1024, RECORD_ADVICE = 256, RECORD_FAILURES = 32, RECORD_NAME = 512,
       RECORD_FILES = 256, RECORD_LINES = 1 << 15 };

struct record_settings {
    uint32_t gpu;      /* index among gpus.h */
    uint32_t gpus;     /* how many there are */
    uint32_t threads;  /* of the host; 0: all */
    uint32_t schedule; /* a simt_schedule */
    uint32_t skips_races;
    uint32_t equal_stores_race;
    uint32_t tells_slow;   /* on standard error, once of each kernel: which line a long launch executes */
    uint32_t counts_lines; /* of every launch that is watched; else none */
    uint64_t seed, instruction_limit;
    uint64_t block_limit; /* of each block of a launch; 0: none */
    uint64_t launch; /* the only one to be watched, from 1; 0: all */
    char kernel[RECORD_NAME]; /* the only one to be watched; "": all */
};

/* Counts that add up over launches. */
#define RECORD_COUNTS(X)                                                                                           \
    X(instructions)                                                                                                \
    X(thread_instructions)                                                                                         \
    X(divergent_branches)                                                                                          \
    X(global_sectors)                                                                                              \
    X(global_requests)                                                                                             \
    X(shared_wavefronts)                                                                                           \
    X(shared_wavefronts_least)                                                                                     \
    X(barriers)                                                                                                    \
    X(atomics)

struct record_kernel {
    char name[RECORD_NAME]; /* as the PTX has it */
    uint64_t launches, watched;
    uint32_t grid[3], block[3]; /* of the last launch */
#define RECORD_FIELD(name) double name;
    RECORD_COUNTS(RECORD_FIELD)
#undef RECORD_FIELD
};

enum { RECORD_ALL_THREADS = UINT32_MAX }; /* thread[0]: a place of the whole operation, not of a thread */

/* In the program's own code, line is 0 and file is an object with the calls that were under way in it, innermost first:
 * "prog+0x12f0,0x1371".  warpfold makes a file and a line of that, if it can. */
enum { RECORD_FRAMES = 8 };

struct record_place {
    char file[RECORD_NAME];
    uint32_t line, block[3], thread[3];
};

struct record_finding {
    uint32_t kind; /* a simt_finding_kind */
    uint32_t has_other;
    /* If the access lies after what a call of the host, which `other` is then, wrote to an allocation: the bytes written and
     * the allocation's size.  Otherwise 0. */
    uint64_t put, allocated;
    uint64_t address, count, launch; /* launch: the first that had it, from 1 */
    int64_t offset;    /* bytes from where the kernel's argument points to the address, */
    uint32_t argument; /* which is number argument - 1; 0: none */
    uint32_t block_extent[3]; /* of the launch; zeros: there is none */
    char kernel[RECORD_NAME], message[RECORD_NAME];
    struct record_place place, other;
};

/* Of the first launch of a kernel that was watched. */
struct record_advice {
    uint32_t kind; /* an index of advice_kinds */
    uint32_t line;
    uint64_t count, least, then;
    struct advice_rows rows;
    char kernel[RECORD_NAME], file[RECORD_NAME], message[RECORD_NAME], cure[RECORD_NAME];
};

/* A call of the runtime that failed. */
struct record_failure {
    uint64_t count, asked; /* how often; and after how many of these cudaGetLastError() told the program */
    uint64_t launches;     /* in how many of these a launch was refused */
    char call[RECORD_NAME], error[RECORD_NAME], text[RECORD_NAME]; /* "cudaMemcpy", "cudaErrorInvalidValue", "invalid argument" */
    char reason[RECORD_NAME]; /* in words, or "" */
    struct record_place place; /* of the first */
};

/* A line of a source that has code, and what all launches executed of it. */
#define RECORD_LINE_COUNTS(X)                                                                                      \
    X(instructions)                                                                                                \
    X(thread_instructions)                                                                                         \
    X(branches)                                                                                                    \
    X(divergent_branches)                                                                                          \
    X(global_requests)                                                                                             \
    X(global_sectors)                                                                                              \
    X(shared_wavefronts)                                                                                           \
    X(shared_wavefronts_least)                                                                                     \
    X(atomics)

struct record_line {
    uint32_t file, line; /* file: its number */
#define RECORD_LINE_FIELD(name) uint64_t name;
    RECORD_LINE_COUNTS(RECORD_LINE_FIELD)
#undef RECORD_LINE_FIELD
};

/* A segmentation fault that the program has not had mended: it may end with it. */
struct record_fault {
    uint32_t has_happened;
    uint32_t is_of_call; /* of CUDA, or of a kernel; else of the program's own code, or of a library that it calls */
    uint64_t address;
    struct record_place place; /* of the instruction */
};

/* The launch that goes on: its name need not be whole, as it may be another's meanwhile. */
struct record_running {
    uint64_t launch; /* from 1, of all; 0: none */
    char kernel[RECORD_NAME];
};

struct record {
    uint32_t version;
    struct record_settings settings;
    uint32_t has_begun; /* the stand-in is there */
    uint32_t has_ended; /* the program has, in order */
    struct record_running running;
    struct record_fault fault;
    uint64_t launches, refused_launches; /* the latter: all, those of failures among them */
    uint64_t leaks, leaked_nbytes; /* device memory that was not freed */
    uint64_t kernels_lost, findings_lost; /* those that had no room here */
    uint64_t lines_lost;
    uint32_t kernel_count, finding_count, advice_count, failure_count, file_count, line_count;
    struct record_kernel kernels[RECORD_KERNELS];
    struct record_finding findings[RECORD_FINDINGS];
    struct record_advice advice[RECORD_ADVICE];
    struct record_failure failures[RECORD_FAILURES];
    char files[RECORD_FILES][RECORD_NAME];
    struct record_line lines[RECORD_LINES];
};

#endif
