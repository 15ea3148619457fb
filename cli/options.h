/* The command line's options: one table for parsing and for the help. */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "warpfold.h"

/* Kinds of commands, each a bit: an option says which of them take it. */
enum command_kind { COMMAND_DATA = 1, COMMAND_MERGE = 2, COMMAND_DEVICES = 4, COMMAND_BENCH = 8 };

struct settings {
    const char *device;
    const char *save; /* the file to keep the accumulator in, or NULL */
    const char *column_name;
    const char *op;   /* the only one of a benchmark, or NULL */
    const char *peer; /* a program to be measured too, or NULL */
    int64_t column;
    int64_t skip_lines;
    int64_t threads;
    int64_t ddof;
    int64_t first_index;
    int64_t count; /* elements of a benchmark's arrays; 0: its own choice */
    int64_t data;  /* a bench_data, from 1; 0: its own choice */
    int64_t nan;    /* a wf_nan */
    int64_t format; /* a wf_format */
    wf_type type;
    wf_type result_type;
    char delimiter;
    bool has_header;
    bool hex;
    bool json;
    bool verbose;
    bool quiet;
    bool quick;
    bool help;
    bool version;
    uint64_t given; /* a bit for each line of the table whose option was met */

    const char **operands; /* the command and what follows it; settings_clear frees it */
    size_t operand_count;
};

/* Reads the whole command line.  false: the user has been told what is wrong. */
bool settings_parse(struct settings *settings, int argc, char **argv);
void settings_clear(struct settings *settings);

/* The name of an option that was given though no command of this kind takes it; NULL if there is none. */
const char *settings_misplaced_option(const struct settings *settings, enum command_kind kind);

wf_options settings_options(const struct settings *settings);
wf_reader_options settings_reader_options(const struct settings *settings);

void put_usage(FILE *stream);
void put_help(FILE *stream);

#endif
