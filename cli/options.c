#include "options.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "bench_data.h"
#include "output.h"

/* ---- one option ---------------------------------------------------------------------------------- */

struct rule {
    const char *name;
    const char *argument; /* in the help; NULL for a flag.  Words between bars are all that is allowed */
    unsigned commands;    /* enum command_kind */
    bool (*parse)(const struct rule *rule, const char *text, struct settings *settings);
    size_t offset; /* of the field of struct settings */
    int64_t low, high;
    const char *help;
};

static void *field_of(const struct rule *rule, struct settings *settings) {
    return (char *)settings + rule->offset;
}

static bool parse_flag(const struct rule *rule, const char *text, struct settings *settings) {
    (void)text;
    *(bool *)field_of(rule, settings) = true;
    return true;
}

static bool parse_text(const struct rule *rule, const char *text, struct settings *settings) {
    *(const char **)field_of(rule, settings) = text;
    return true;
}

static bool parse_count(const struct rule *rule, const char *text, struct settings *settings) {
    char *end = NULL;
    errno = 0;
    long long number = isdigit((unsigned char)text[0]) ? strtoll(text, &end, 10) : 0;
    if (!end || *end || errno || number < rule->low || number > rule->high) {
        fail_usage("--%s takes a whole number from %lld to %lld, not '%s'", rule->name, (long long)rule->low,
                   (long long)rule->high, text);
        return false;
    }
    *(int64_t *)field_of(rule, settings) = number;
    return true;
}

static bool parse_power_of_two(const struct rule *rule, const char *text, struct settings *settings) {
    if (!parse_count(rule, text, settings)) return false;
    int64_t number = *(int64_t *)field_of(rule, settings);
    if ((number & (number - 1)) == 0) return true;
    fail_usage("--%s takes a power of two up to %lld, not '%s'", rule->name, (long long)rule->high, text);
    return false;
}

static bool parse_word(const struct rule *rule, const char *text, struct settings *settings) {
    size_t length = strlen(text);
    const char *word = rule->argument;
    for (int64_t i = 0; *word; i++) {
        size_t word_length = strcspn(word, "|");
        if (word_length == length && !memcmp(word, text, length)) {
            *(int64_t *)field_of(rule, settings) = i;
            return true;
        }
        word += word_length + (word[word_length] == '|');
    }
    fail_usage("--%s takes %s, not '%s'", rule->name, rule->argument, text);
    return false;
}

static bool parse_type(const struct rule *rule, const char *text, struct settings *settings) {
    wf_type type = wf_type_parse(text);
    if (type == WF_TYPE_DEFAULT) {
        fail_usage("--%s: there is no type '%s'", rule->name, text);
        return false;
    }
    *(wf_type *)field_of(rule, settings) = type;
    return true;
}

static bool parse_delimiter(const struct rule *rule, const char *text, struct settings *settings) {
    bool is_tab = !strcmp(text, "tab") || !strcmp(text, "\\t");
    if (!is_tab && (strlen(text) != 1 || strchr("\"\r\n", text[0]))) {
        fail_usage("--%s takes tab or one character, no quote and no line break, not '%s'", rule->name, text);
        return false;
    }
    *(char *)field_of(rule, settings) = is_tab ? '\t' : text[0];
    return true;
}

static bool parse_column(const struct rule *rule, const char *text, struct settings *settings) {
    settings->column = 0;
    settings->column_name = NULL;
    if (text[0] && text[strspn(text, "0123456789")] == '\0') return parse_count(rule, text, settings);
    settings->column_name = text;
    return true;
}

static bool parse_file(const struct rule *rule, const char *text, struct settings *settings) {
    if (!strcmp(text, "-")) {
        fail_usage("--%s takes the name of a file: standard output is for the result", rule->name);
        return false;
    }
    return parse_text(rule, text, settings);
}

static bool parse_argument(const struct rule *rule, const char *text, struct settings *settings) {
    (void)rule;
    settings->arguments[settings->argument_count++] = text;
    return true;
}

static bool parse_output(const struct rule *rule, const char *text, struct settings *settings) {
    (void)rule;
    settings->outputs[settings->output_count++] = text;
    return true;
}

/* ---- the table ----------------------------------------------------------------------------------- */

#define FIELD(name) offsetof(struct settings, name)

enum {
    COMMAND_READS = COMMAND_DATA | COMMAND_MERGE,
    COMMAND_STEPS = COMMAND_LADDER | COMMAND_EXPLAIN,
    COMMAND_SIMULATES = COMMAND_STEPS | COMMAND_INSPECT,
    COMMAND_ANY = COMMAND_READS | COMMAND_DEVICES | COMMAND_BENCH | COMMAND_SIMULATES
};

static const struct rule rules[] = {
    {"type", "T", COMMAND_DATA | COMMAND_BENCH | COMMAND_STEPS, parse_type, FIELD(type), 0, 0,
     "type of the numbers in raw and text files (text: f64 if not given; a .npy file must agree), or of the "
     "elements that a rung takes"},
    {"format", "auto|npy|raw|text", COMMAND_DATA, parse_word, FIELD(format), 0, 0,
     "what the files are (auto: by name and first bytes)"},
    {"delimiter", "C", COMMAND_DATA, parse_delimiter, FIELD(delimiter), 0, 0,
     "what separates the fields of a text table; tab or '\\t' for a tab character (default: white space or a "
     "comma)"},
    {"column", "N|NAME", COMMAND_DATA, parse_column, FIELD(column), 1, INT64_MAX,
     "read only this column of a text table, by its number from 1 or by its name in the header line"},
    {"header", NULL, COMMAND_DATA, parse_flag, FIELD(has_header), 0, 0,
     "the first line of a text table holds names, not numbers"},
    {"skip", "LINES", COMMAND_DATA, parse_count, FIELD(skip_lines), 0, INT64_MAX,
     "leave out so many lines at the top of each text file"},
    {"nan", "propagate|omit|error", COMMAND_DATA, parse_word, FIELD(nan), 0, 0,
     "a NaN makes the result NaN (default), is left out, or is an error that names its index"},
    {"ddof", "N", COMMAND_DATA, parse_count, FIELD(ddof), 0, INT64_MAX,
     "var and std divide by the count less N (default 0)"},
    {"result-type", "T", COMMAND_DATA, parse_type, FIELD(result_type), 0, 0,
     "type of the result (default: that of the numbers for floats, or else i64, u64 or f64, as the op "
     "needs)"},
    {"first-index", "N", COMMAND_DATA, parse_count, FIELD(first_index), 0, INT64_MAX,
     "index of the first number, for argmin, argmax and prod (default 0)"},
    {"save", "ACC", COMMAND_READS, parse_file, FIELD(save), 0, 0,
     "also keep the accumulator in the file ACC, for merge"},
    {"hex", NULL, COMMAND_READS, parse_flag, FIELD(hex), 0, 0, "print values in hexadecimal"},
    {"json", NULL, COMMAND_READS | COMMAND_BENCH | COMMAND_SIMULATES, parse_flag, FIELD(json), 0, 0,
     "print a JSON object, on one line"},
    {"html", "FILE", COMMAND_SIMULATES, parse_file, FIELD(html), 0, 0,
     "ladder, explain, inspect: write a page that shows it, for a browser, in place of the text"},
    {"from", "FILE", COMMAND_LADDER, parse_file, FIELD(from), 0, 0,
     "ladder: the page of an earlier run, of which FILE holds the JSON, in place of a run"},
    {"source", NULL, COMMAND_INSPECT, parse_flag, FIELD(source), 0, 0,
     "inspect: also print the source with what each line costs"},
    {"device", "auto|cpu|cuda[:N]|simt", COMMAND_READS | COMMAND_LADDER, parse_text, FIELD(device), 0, 0,
     "where the work runs (simt: the ladder's, the machine that needs no GPU)"},
    {"threads", "N", COMMAND_DATA | COMMAND_BENCH | COMMAND_INSPECT, parse_count, FIELD(threads), 0,
     INT32_MAX, "use at most N threads (default 0: one for each processor)"},
    {"verbose", NULL, COMMAND_READS, parse_flag, FIELD(verbose), 0, 0,
     "name the device and the threads on standard error"},
    {"quiet", NULL, COMMAND_READS | COMMAND_BENCH, parse_flag, FIELD(quiet), 0, 0,
     "show no progress on a terminal when the work takes long"},
    {"op", "OP", COMMAND_BENCH | COMMAND_STEPS, parse_text, FIELD(op), 0, 0,
     "bench: only this op; ladder, explain: sum (default), prod, min, max or argmax"},
    {"data", "default|" BENCH_DATA_NAMES, COMMAND_BENCH, parse_word, FIELD(data), 0, 0,
     "bench: only such data: even in (-1, 1), zeros, exponents of +-20, +-100, all"},
    {"count", "N", COMMAND_BENCH | COMMAND_STEPS, parse_count, FIELD(count), 0, INT64_C(1) << 40,
     "bench, ladder, explain: arrays of N elements (also -n N)"},
    {"quick", NULL, COMMAND_BENCH, parse_flag, FIELD(quick), 0, 0, "bench: smaller arrays, fewer rounds"},
    {"peer", "COMMAND", COMMAND_BENCH, parse_text, FIELD(peer), 0, 0,
     "bench: also measure this program; bench/peers.py is one"},
    {"rung", "NN", COMMAND_LADDER, parse_text, FIELD(rung), 0, 0,
     "ladder: only this rung, by number or name"},
    {"block", "X[,Y[,Z]]", COMMAND_SIMULATES, parse_text, FIELD(block), 0, 0,
     "threads of a block (inspect: default 32)"},
    {"grid", "X[,Y[,Z]]", COMMAND_LADDER | COMMAND_INSPECT, parse_text, FIELD(grid), 0, 0,
     "blocks of the grid (inspect: default 1)"},
    {"finish", "host|relaunch|atomic|last-block", COMMAND_LADDER, parse_text, FIELD(finish), 0, 0,
     "ladder: how the blocks' partial results become one (default: the rung's own way)"},
    {"coarsen", "C", COMMAND_LADDER, parse_count, FIELD(coarsen), 1, INT32_MAX,
     "ladder: pairs of elements for each thread before the tree, from rung 10 on"},
    {"partials", NULL, COMMAND_LADDER, parse_flag, FIELD(partials), 0, 0,
     "ladder: print the blocks' partial results of one rung"},
    {"sweep", NULL, COMMAND_LADDER, parse_flag, FIELD(sweep), 0, 0,
     "ladder on a GPU: one rung (default 14) beside the CPU, over sizes up to N"},
    {"once", NULL, COMMAND_LADDER, parse_flag, FIELD(once), 0, 0,
     "ladder on a GPU: launch each rung once, verified but not timed, for a profiler to watch; the SIMT machine's "
     "PTX where it is built in"},
    {"schedule", "S", COMMAND_SIMULATES, parse_text, FIELD(schedule), 0, 0,
     "lockstep (default): the lanes of a warp stay together; split: they run apart, in order; random:SEED: "
     "they part at random"},
    {"warp", "W", COMMAND_EXPLAIN | COMMAND_INSPECT, parse_power_of_two, FIELD(warp), 1, 32,
     "explain, inspect: lanes of a warp, a power of two (default 32)"},
    {"banks", "K", COMMAND_EXPLAIN | COMMAND_INSPECT, parse_power_of_two, FIELD(banks), 1, 32,
     "explain, inspect: banks of shared memory, a power of two (default 32)"},
    {"values", "A,B,...", COMMAND_EXPLAIN, parse_text, FIELD(values), 0, 0,
     "explain: the elements themselves"},
    {"kernel", "NAME", COMMAND_INSPECT, parse_text, FIELD(kernel), 0, 0,
     "inspect: the kernel, where the file has several or it is a template: 'reduce<int,512>'"},
    {"arg", "ARG", COMMAND_INSPECT, parse_argument, 0, 0, 0,
     "inspect: the kernel's next argument, a scalar (i32:5, f32:1.5) or a buffer of so many elements "
     "(f32[1024]=zeros, ones, iota, random:SEED, none for unwritten memory, or a .npy file)"},
    {"out", "K=FILE", COMMAND_INSPECT, parse_output, 0, 0, 0,
     "inspect: write argument K, counted from 0, to a .npy file after the run"},
    {"shared", "BYTES", COMMAND_INSPECT, parse_count, FIELD(shared), 0, INT32_MAX,
     "inspect: dynamic shared memory of each block (default 0)"},
    {"limit", "N", COMMAND_INSPECT, parse_count, FIELD(limit), 1, INT64_MAX,
     "inspect: warp instructions that a block may execute before it is stopped (default 4294967296)"},
    {"help", NULL, COMMAND_ANY, parse_flag, FIELD(help), 0, 0, "print this text (also -h)"},
    {"version", NULL, COMMAND_ANY, parse_flag, FIELD(version), 0, 0, "print the version"},
};

enum { RULE_COUNT = sizeof rules / sizeof rules[0] };
_Static_assert(RULE_COUNT <= 64, "settings.given has a bit for each");

/* ---- reading the command line -------------------------------------------------------------------- */

enum { GETOPT_OPERAND = 1, GETOPT_FIRST_RULE = 256 };

static int rule_of(int code) {
    if (code >= GETOPT_FIRST_RULE) return code - GETOPT_FIRST_RULE;
    int rule = 0;
    while (strcmp(rules[rule].name, code == 'n' ? "count" : "help")) rule++;
    return rule; /* -n N, -h */
}

bool settings_parse(struct settings *settings, int argc, char **argv) {
    struct option long_options[RULE_COUNT + 1] = {0};
    for (int i = 0; i < RULE_COUNT; i++)
        long_options[i] = (struct option){rules[i].name, rules[i].argument ? required_argument : no_argument,
                                          NULL, GETOPT_FIRST_RULE + i};
    *settings = (struct settings){.count = -1,
                                  .operands = calloc((size_t)argc, sizeof(const char *)),
                                  .arguments = calloc((size_t)argc, sizeof(const char *)),
                                  .outputs = calloc((size_t)argc, sizeof(const char *))};
    if (!settings->operands || !settings->arguments || !settings->outputs) {
        say("%s", wf_error_text(WF_ERROR_MEMORY));
        return false;
    }
    static char name[] = "warpfold";
    argv[0] = name; /* getopt's messages begin with it */
    int code;
    /* "-": operands come in their order among the options, even under POSIXLY_CORRECT. */
    while ((code = getopt_long(argc, argv, "-hn:", long_options, NULL)) != -1) {
        if (code == '?') {
            say("try 'warpfold --help'");
            return false;
        }
        if (code == GETOPT_OPERAND) {
            settings->operands[settings->operand_count++] = optarg;
            continue;
        }
        int rule = rule_of(code);
        settings->given |= UINT64_C(1) << rule;
        if (!rules[rule].parse(&rules[rule], optarg, settings)) return false;
    }
    while (optind < argc) settings->operands[settings->operand_count++] = argv[optind++];
    return true;
}

void settings_clear(struct settings *settings) {
    free(settings->operands);
    free(settings->arguments);
    free(settings->outputs);
    *settings = (struct settings){0};
}

const char *settings_misplaced_option(const struct settings *settings, enum command_kind kind) {
    for (int i = 0; i < RULE_COUNT; i++)
        if (settings->given >> i & 1 && !(rules[i].commands & kind)) return rules[i].name;
    return NULL;
}

wf_options settings_options(const struct settings *settings) {
    return (wf_options){.nan = (wf_nan)settings->nan,
                        .result_type = settings->result_type,
                        .ddof = settings->ddof,
                        .first_index = settings->first_index,
                        .threads = (int32_t)settings->threads};
}

wf_reader_options settings_reader_options(const struct settings *settings) {
    return (wf_reader_options){.format = (wf_format)settings->format,
                               .type = settings->type,
                               .column_name = settings->column_name,
                               .column = settings->column,
                               .skip_lines = settings->skip_lines,
                               .has_header = settings->has_header,
                               .delimiter = settings->delimiter};
}

/* ---- help ---------------------------------------------------------------------------------------- */

enum { HELP_WIDTH = 80, HELP_NAMES_INDENT = 10, HELP_OPTION_INDENT = 22 };

void put_usage(FILE *stream) {
    fputs("usage: warpfold OP [options] [FILE...]     reduce all numbers of the files\n"
          "       warpfold stats [options] [FILE...]  count, sum, mean, var ... in one pass\n"
          "       warpfold dot [options] A B          sum the products of paired numbers\n"
          "       warpfold merge [options] ACC...     join saved accumulators\n"
          "       warpfold devices                    list the devices of this machine\n"
          "       warpfold bench [options]            measure how fast all this is here\n"
          "       warpfold ladder [options]           run every rung, verified and counted\n"
          "       warpfold explain [options] RUNG     one block of a rung, step by step\n"
          "       warpfold inspect [options] KERNEL   watch a kernel of one's own; no GPU\n"
          "       warpfold --version | --help\n",
          stream);
}

/* One more word of a text that wraps at the right margin and goes on below its first word. */
static void put_word(FILE *stream, int *column, int indent, const char *word, int length) {
    if (*column + 1 + length > HELP_WIDTH) *column = fprintf(stream, "\n%*s", indent, "") - 1;
    *column += fprintf(stream, "%s%.*s", *column > indent ? " " : "", length, word);
}

static void put_names(FILE *stream, const char *title, const char *(*name)(int)) {
    int column = fprintf(stream, "%-*s", HELP_NAMES_INDENT, title);
    for (int i = 1; name(i); i++) put_word(stream, &column, HELP_NAMES_INDENT, name(i), (int)strlen(name(i)));
    fputc('\n', stream);
}

static const char *name_of_op(int op) {
    return wf_op_name((wf_op)op);
}

static const char *name_of_type(int type) {
    return wf_type_name((wf_type)type);
}

static void put_option(FILE *stream, const struct rule *rule) {
    int column = fprintf(stream, "  --%s", rule->name);
    if (rule->argument) column += fprintf(stream, " %s", rule->argument);
    if (column + 2 > HELP_OPTION_INDENT) {
        fputc('\n', stream);
        column = 0;
    }
    column += fprintf(stream, "%*s", HELP_OPTION_INDENT - column, "");
    const char *word = rule->help;
    while (*word) {
        size_t length = strcspn(word, " ");
        put_word(stream, &column, HELP_OPTION_INDENT, word, (int)length);
        word += length + (word[length] == ' ');
    }
    fputc('\n', stream);
}

void put_help(FILE *stream) {
    fputs("warpfold reduces arrays of numbers to one.  Sums, means, variances and norms are\n"
          "the exact result, rounded once: the same bits for any number of threads.\n"
          "\n",
          stream);
    put_usage(stream);
    fputc('\n', stream);
    put_names(stream, "OP is:", name_of_op);
    put_names(stream, "types:", name_of_type);
    fputs("\n"
          "FILE is a .npy file, raw elements (give their --type), or text: numbers between\n"
          "white space or commas.  Several files are one array, in order.  Without FILE, or\n"
          "for -, standard input is read.\n"
          "\n"
          "RUNG is a kernel of the ladder, by number or name.  KERNEL is a .cu file, which\n"
          "needs NVRTC or nvcc, or a .ptx file, which needs neither.\n"
          "\n"
          "options, before or after the operands:\n",
          stream);
    for (int i = 0; i < RULE_COUNT; i++) put_option(stream, &rules[i]);
    fputs("\n"
          "examples:\n"
          "  warpfold sum x.npy\n"
          "  seq 10 | warpfold mean\n"
          "  warpfold stats --column price --delimiter , table.csv\n"
          "  warpfold norm2 --type f32 --json part1.raw part2.raw\n"
          "  warpfold sum --save a.acc a.npy\n"
          "  warpfold sum --save b.acc b.npy\n"
          "  warpfold merge a.acc b.acc\n"
          "  warpfold ladder --op max --type i32\n"
          "  warpfold explain 05 -n 16 --warp 8\n"
          "  warpfold inspect add.cu --block 256 --grid 4 --arg f32[1024]=iota \\\n"
          "      --arg f32[1024]=ones --arg i32:1024 --out 0=sums.npy\n"
          "\n"
          "A decimal result is the shortest that reads back to the same bits.  Exit status:\n"
          "0, or 1 if something is wrong with the data or the machine, or 2 if the command\n"
          "line is wrong, or 3 if inspect has findings.\n",
          stream);
}
