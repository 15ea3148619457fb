/*
 * program.h -- whole CUDA programs on the simulator: the engine of `warpfold run`.
 *
 *     program_open -> program_run -> program_put_report or program_put_json -> program_close
 *
 * The program runs as a process of its own, with its own standard streams; libraries that stand in for the CUDA
 * runtime and driver (runtime/) execute its kernels on the simulator and leave a record of what they did.  The engine never
 * prints; errors are a text in the message.
 */
#ifndef PROGRAM_PROGRAM_H
#define PROGRAM_PROGRAM_H

#include <stdbool.h>
#include <stdio.h>

#include "simt/simt.h"

struct program_settings {
    const char *gpu;    /* a word of program_gpus; NULL: the first */
    uint32_t gpus;      /* how many of them, to SIMT_DEVICES; 0: one */
    const char *kernel; /* the only kernel to be watched; NULL: all */
    uint64_t launch;    /* the number of the only launch to be watched, from 1; 0: all */
    uint64_t instruction_limit; /* warp instructions of each launch; 0: PROGRAM_INSTRUCTION_LIMIT */
    uint32_t threads;   /* host threads that execute the blocks of a launch; 0: one for each processor */
    simt_schedule schedule;
    uint64_t seed;
    bool skips_races;
    bool equal_stores_race;
    bool tells_slow;   /* prints to standard error where a long launch is */
    bool counts_lines; /* counts the cost of each source line, which takes time */
    /* Called periodically: for how many seconds what launch (numbered from 1; 0: none) of which kernel has been running.
     * NULL: not called. */
    void (*progress)(void *context, uint64_t launch, const char *kernel, double seconds);
    void *progress_context;
    const simt_leftovers *leftovers; /* of compiling (simt.h); NULL: not reported */
};

/* More than for a kernel alone: programs bring their own sizes. */
#define PROGRAM_INSTRUCTION_LIMIT 268435456
/* And of each of its small blocks, where no limit is given: loops that never end are mostly in one of these, and long work is in
 * many. */
#define PROGRAM_BLOCK_LIMIT 134217728

struct program;

/* Compiles the file if its name ends in .cu, and otherwise finds out whether it can be run; nothing runs yet.
 * `arguments` are the program's, from its name on, up to NULL.  false: *message says why not, in lines. */
bool program_open(struct program **program, const char *const *arguments, const struct program_settings *settings,
                  simt_message *message);

/* Runs it to its end.  false: it could not be started. */
bool program_run(struct program *program, simt_message *message);

/* Makes the stand-in the CUDA driver of this process, as if program_run had started it: so libwarpfold, which must not have
 * loaded a driver yet, reduces on the simulator.  Its kernels are then PTX.  The findings so far can be requested at any time.
 * false: as program_open. */
bool program_open_here(struct program **program, const struct program_settings *settings, simt_message *message);
bool program_has_nvrtc(void); /* whether NVRTC, with which such a process compiles its kernels, is installed */
uint64_t program_finding_count(const struct program *program);
uint64_t program_race_count(const struct program *program);

struct program_end {
    int status; /* its exit status; 128 plus the signal's number if a signal ended it */
    int signal; /* 0: none */
    bool has_findings, has_advice;
    bool was_simulated; /* false: it called no CUDA function */
};

struct program_end program_end(const struct program *program);

/* The report.  false: no memory. */
bool program_put_report(FILE *stream, const struct program *program, bool has_colour);
bool program_put_json(FILE *stream, const struct program *program);
bool program_put_page_data(FILE *stream, const struct program *program); /* JSON with the sources */
bool program_put_sarif(FILE *stream, const struct program *program); /* findings and advice alone */
bool program_put_annotations(FILE *stream, const struct program *program);

void program_close(struct program *program); /* NULL: nothing */

/* "h200", "a100" ..., up to NULL; the first is the default. */
extern const char *const program_gpus[];

#endif
