/* The command line's options: one table for parsing and for the help. */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "warpfold.h"

/* Kinds of commands, each a bit: an option says which of them take it. */
enum command_kind {
    COMMAND_DATA = 1,
    COMMAND_MERGE = 2,
    COMMAND_DEVICES = 4,
    COMMAND_BENCH = 8,
    COMMAND_LADDER = 16,
    COMMAND_EXPLAIN = 32,
    COMMAND_INSPECT = 64,
    COMMAND_RUN = 128,
    COMMAND_JUDGE = 256,
    COMMAND_MEDIAN = 512,
    COMMAND_QUANTILE = 1024,
    COMMAND_DISTINCT = 2048,
    COMMAND_HISTOGRAM = 4096
};

/* The commands that read files of elements. */
enum { COMMAND_ORDERS = COMMAND_MEDIAN | COMMAND_QUANTILE | COMMAND_DISTINCT | COMMAND_HISTOGRAM };
enum { COMMAND_INPUTS = COMMAND_DATA | COMMAND_ORDERS };

enum { RACES_ON, RACES_OFF, RACES_ALL };
enum { PER_TABLE, PER_ROW };

enum { SETTINGS_GIVEN_MAX = 128 };

/* Texts of the command line, in the order given. */
struct settings_list {
    const char **items;
    size_t count;
};

/* settings_clear frees the lists. */
struct settings {
    const char *device;
    const char *axis; /* "0,-1": the dimensions to be reduced, or NULL: all */
    const char *save; /* the file to keep the accumulator in, or NULL */
    const char *resume; /* the folder to keep pieces' accumulators in, or NULL */
    const char *files_from; /* a list of files to read, "-" for standard input, or NULL */
    const char *html; /* the file for a page to be written to, or NULL: print */
    const char *from; /* the ladder's JSON of an earlier run that the page is to show, or NULL */
    const char *column_name;
    const char *op;       /* of a benchmark, the ladder or a rung; NULL: the command's own choice */
    const char *peer;     /* a program to be measured too, or NULL */
    const char *rung;     /* the only one of the ladder, or NULL */
    const char *block;    /* "X[,Y[,Z]]" threads, or NULL */
    const char *grid;     /* "X[,Y[,Z]]" blocks, or NULL */
    const char *cluster;  /* the same, or NULL: as the kernel says */
    const char *finish;   /* how a rung's partials are combined, or NULL: the rung's own way */
    const char *schedule; /* "lockstep", "split", "random:SEED", or NULL */
    const char *q;        /* "0.5,0.99": quantiles, or NULL */
    const char *bins;     /* "20", or "0,1,2.5": the edges; NULL: 10 */
    const char *values;   /* "3,1,7": the elements to be explained, or NULL */
    const char *kernel;   /* a kernel's name, or NULL where there is only one */
    const char *task;     /* a task's name or file, or NULL: the one next to the kernel */
    const char *sources;  /* a folder whose files may be shown as a kernel's sources, or NULL */
    int64_t column;
    int64_t decimals; /* of a table's values; -1: they are numbers of the type */
    int64_t per; /* PER_TABLE or PER_ROW */
    int64_t skip_lines;
    int64_t threads;
    int64_t ddof;
    int64_t first_index;
    int64_t count;   /* elements of the arrays of bench, ladder and explain; -1: its own choice */
    int64_t data;    /* a bench_data, from 1; 0: its own choice */
    int64_t nan;     /* a wf_nan */
    int64_t between; /* a wf_between */
    int64_t piece;   /* elements; 0: the default */
    int64_t format;  /* a wf_format */
    int64_t missing; /* a wf_missing */
    int64_t byte_order; /* a wf_byte_order */
    int64_t shared;  /* bytes of dynamic shared memory in each block */
    int64_t coarsen; /* 0: the rung's own choice */
    int64_t warp;    /* lanes, a power of two; 0: 32 */
    int64_t banks;   /* a power of two; 0: 32 */
    int64_t gpu;     /* an index of program_gpus */
    int64_t gpus;    /* that a program finds; 0: one */
    int64_t races;   /* RACES_ON, RACES_OFF or RACES_ALL */
    int64_t launch;  /* of a program, the only one to be watched; 0: all */
    int64_t seed;    /* of the judge's data */
    int64_t limit;   /* warp instructions that the launch may execute; 0: SIMT_INSTRUCTION_LIMIT */
    wf_type type;
    wf_type result_type;
    char delimiter;
    bool has_header;
    bool sort; /* the groups of a table by their keys */
    bool csv;
    bool hex;
    bool json;
    bool sarif;
    bool github; /* annotations of findings */
    bool strict; /* advice counts as findings do */
    bool verbose;
    bool quiet;
    bool quick;
    bool partials;
    bool sweep; /* the CPU compared with the GPU, over sizes */
    bool once;  /* launch each rung once, not timed */
    bool source; /* print a kernel's source with what each line costs */
    bool help;
    bool version;
    bool given[SETTINGS_GIVEN_MAX]; /* for each line of the table: whether its option was met */

    char *file_list; /* what operands from files_from point into */
    struct settings_list operands; /* the command and what follows it */
    struct settings_list arguments; /* --arg: a kernel's */
    struct settings_list outputs; /* --out: which of them are written to files */
    struct settings_list columns; /* --column, each value once */
    struct settings_list by;
    struct settings_list prints; /* --print: which of them are shown */
    struct settings_list expects; /* --expect: what they are to hold */
};

/* Reads the whole command line.  Returns the exit status, having said what is wrong. */
int settings_parse(struct settings *settings, int argc, char **argv);
void settings_clear(struct settings *settings);

/* The name of an option that was given though no command of this kind takes it; NULL if there is none. */
const char *settings_misplaced_option(const struct settings *settings, enum command_kind kind);

wf_reduction settings_reduction(const struct settings *settings, wf_op op);
wf_reader_options settings_reader_options(const struct settings *settings);

void put_usage(FILE *stream);
void put_help(FILE *stream);

/* The options that commands of the kind take, of which has(context, option), unless it is NULL. */
void put_options(FILE *stream, enum command_kind kind, bool (*has)(const void *context, const char *option),
                 const void *context);

#endif
