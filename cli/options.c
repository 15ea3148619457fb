#include "options.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench_data.h"
#include "output.h"
#include "program/program.h"
#include "simt/simt.h"
#include "report/suggest.h"

/* ---- one option ---------------------------------------------------------------------------------- */

/* A part of an option's help. */
struct help_part {
    unsigned commands; /* the kinds of commands that it is for; 0: all that take the option */
    const char *text;
    const char *argument; /* the argument as these commands show it; NULL: as the rule does */
};

enum { HELP_PARTS_MAX = 4 };

struct rule {
    const char *name;
    const char *argument; /* in the help; NULL: a flag.  parse_word allows only the words between bars */
    unsigned commands;    /* enum command_kind */
    bool (*parse)(const struct rule *rule, const char *text, struct settings *settings);
    size_t offset; /* of the field of struct settings */
    int64_t low, high;
    struct help_part help[HELP_PARTS_MAX]; /* ended by one without a text, or full */
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

/* A word from a list too long for the help; the error message for an unknown one lists them all. */
static bool parse_kind_of_data(const struct rule *rule, const char *text, struct settings *settings) {
    struct rule with_words = *rule;
    with_words.argument = "default|" BENCH_DATA_NAMES;
    return parse_word(&with_words, text, settings);
}

static bool parse_type(const struct rule *rule, const char *text, struct settings *settings) {
    wf_type type = wf_type_parse(text);
    if (type == WF_TYPE_DEFAULT) {
        struct suggestion suggestion = suggest_type(text);
        fail_usage("--%s: unknown type '%s'%s", rule->name, text, suggestion.text);
        return false;
    }
    *(wf_type *)field_of(rule, settings) = type;
    return true;
}

static bool parse_delimiter(const struct rule *rule, const char *text, struct settings *settings) {
    bool is_tab = !strcmp(text, "tab") || !strcmp(text, "\\t");
    if (!is_tab && (strlen(text) != 1 || strchr("\"\r\n#", text[0]))) {
        fail_usage("--%s takes tab or one character, no quote, no # and no line break, not '%s'", rule->name,
                   text);
        return false;
    }
    *(char *)field_of(rule, settings) = is_tab ? '\t' : text[0];
    return true;
}

static void add_item(struct settings_list *list, const char *text) {
    list->items[list->count++] = text;
}

static bool parse_item(const struct rule *rule, const char *text, struct settings *settings) {
    add_item(field_of(rule, settings), text);
    return true;
}

static bool parse_column(const struct rule *rule, const char *text, struct settings *settings) {
    struct settings_list *columns = &settings->columns;
    for (size_t i = 0; i < columns->count; i++)
        if (!strcmp(columns->items[i], text)) return true;
    add_item(columns, text);
    settings->column = 0;
    settings->column_name = NULL;
    if (text[0] && text[strspn(text, "0123456789")] == '\0') return parse_count(rule, text, settings);
    settings->column_name = text;
    return true;
}

static bool is_file(const struct rule *rule, const char *name) {
    if (!strcmp(name, "-")) fail_usage("--%s takes a file name: standard output is for the result", rule->name);
    return strcmp(name, "-") != 0;
}

static bool parse_file(const struct rule *rule, const char *text, struct settings *settings) {
    return is_file(rule, text) && parse_text(rule, text, settings);
}

/* FILE, or of inspect K=FILE. */
static bool parse_output(const struct rule *rule, const char *text, struct settings *settings) {
    const char *number_end = text + strspn(text, "0123456789");
    return is_file(rule, *number_end == '=' ? number_end + 1 : text) && parse_item(rule, text, settings);
}

/* ---- the table ----------------------------------------------------------------------------------- */

#define DIGITS_OF(number) #number
#define DIGITS(macro) DIGITS_OF(macro)
#define FIELD(name) offsetof(struct settings, name)
#define HELP(text) {{0, text, NULL}} /* the same for all commands that take the option */

enum {
    COMMAND_READS = COMMAND_DATA | COMMAND_MERGE,
    COMMAND_GROUPS = COMMAND_DATA | COMMAND_MEDIAN | COMMAND_QUANTILE | COMMAND_DISTINCT | COMMAND_HISTOGRAM,
    COMMAND_PRINTS = COMMAND_READS | COMMAND_ORDERS,
    COMMAND_STEPS = COMMAND_LADDER | COMMAND_EXPLAIN,
    COMMAND_SIMULATES = COMMAND_STEPS | COMMAND_INSPECT,
    COMMAND_ANY = COMMAND_PRINTS | COMMAND_DEVICES | COMMAND_BENCH | COMMAND_SIMULATES | COMMAND_RUN |
                  COMMAND_JUDGE
};

static const struct rule rules[] = {
    {"type", "T", COMMAND_INPUTS | COMMAND_BENCH | COMMAND_STEPS, parse_type, FIELD(type), 0, 0,
     {{COMMAND_INPUTS, "element type of raw and text files (text: default f64; a .npy file must have this type)", NULL},
      {COMMAND_STEPS, "element type", NULL},
      {COMMAND_BENCH, "only this element type", NULL}}},
    {"format", "auto|npy|raw|text", COMMAND_INPUTS, parse_word, FIELD(format), 0, 0,
     HELP("file format (auto: detected from name and first bytes)")},
    {"delimiter", "C", COMMAND_INPUTS, parse_delimiter, FIELD(delimiter), 0, 0,
     HELP("field separator of a text; tab or '\\t' for a tab character (default: the first of comma, tab, semicolon and "
          "bar in its first line, outside quotes; otherwise blanks)")},
    {"column", "N|NAME[,...]", COMMAND_INPUTS, parse_column, FIELD(column), 1, INT64_MAX,
     {{0, "read only this column of a text table, given by number, from 1, or by name in the header line", NULL},
      {COMMAND_INPUTS & ~COMMAND_HISTOGRAM, "or several, also given one by one", NULL},
      {COMMAND_HISTOGRAM, "", "N|NAME"}}},
    {"by", "N|NAME[,...]", COMMAND_GROUPS, parse_item, FIELD(by), 0, 0,
     HELP("reduce each group of rows with equal texts in these columns of a table, in the order in which groups appear")},
    {"sort", NULL, COMMAND_GROUPS | COMMAND_MERGE, parse_flag, FIELD(sort), 0, 0,
     {{0, "sort the groups of a table by their texts, numbers by value", NULL}, {COMMAND_GROUPS, "needs --by", NULL}}},
    {"per", "table|row", COMMAND_DATA | COMMAND_MEDIAN | COMMAND_QUANTILE | COMMAND_DISTINCT, parse_word, FIELD(per), 0, 0,
     HELP("row: reduce each row of a table, over its columns, and print a line for each")},
    {"decimal", "D", COMMAND_DATA, parse_count, FIELD(decimals), 0, 18,
     HELP("values and results of a table are decimal numbers with at most D digits after the point: 0.1 + 0.2 is 0.3")},
    {"csv", NULL, COMMAND_GROUPS | COMMAND_MERGE, parse_flag, FIELD(csv), 0, 0,
     HELP("print the results of a table separated by commas (default: by tabs; aligned on a terminal)")},
    {"header", NULL, COMMAND_INPUTS, parse_flag, FIELD(has_header), 0, 0,
     HELP("the first line of a text table has names, not numbers")},
    {"skip", "LINES", COMMAND_INPUTS, parse_count, FIELD(skip_lines), 0, INT64_MAX,
     HELP("skip the first LINES lines of each text file")},
    {"missing", "error|skip", COMMAND_INPUTS, parse_word, FIELD(missing), 0, 0,
     HELP("text fields that are empty, NA, NaN, null or -: report an error (default, except for NaN in floats), or skip "
          "them without counting them in indices")},
    {"byte-order", "native|little|big", COMMAND_INPUTS, parse_word, FIELD(byte_order), 0, 0,
     HELP("byte order of raw files (default: this machine's)")},
    {"files-from", "LIST", COMMAND_INPUTS | COMMAND_MERGE, parse_text, FIELD(files_from), 0, 0,
     HELP("also read the files named in LIST, one per line (or separated by NUL bytes, as by find -print0); - for "
          "standard input")},
    {"nan", "propagate|omit|error", COMMAND_INPUTS | COMMAND_BENCH, parse_word, FIELD(nan), 0, 0,
     HELP("a NaN makes the result NaN (default), is ignored, or is an error that states its index")},
    {"ddof", "N", COMMAND_DATA, parse_count, FIELD(ddof), 0, INT64_MAX,
     HELP("var and std divide by the count minus N (default 0)")},
    {"result-type", "T", COMMAND_DATA | COMMAND_MEDIAN | COMMAND_QUANTILE, parse_type, FIELD(result_type), 0, 0,
     HELP("type of the result (default: the element type for floats; otherwise i64, u64 or f64, depending on the op)")},
    {"q", "Q[,R...]", COMMAND_QUANTILE, parse_text, FIELD(q), 0, 0,
     HELP("0 to 1, such as 0.5,0.99; several are printed one per line, each with its q")},
    {"between", "linear|lower|higher|nearest|midpoint", COMMAND_MEDIAN | COMMAND_QUANTILE, parse_word, FIELD(between), 0, 0,
     HELP("how to take a quantile between two elements: exactly, rounded once (linear, the default; midpoint), or one "
          "of the two")},
    {"bins", "N|A,B,...", COMMAND_HISTOGRAM, parse_text, FIELD(bins), 0, 0,
     HELP("N bins of equal width (default 10), or the edges of the bins; a bin includes its lower edge, and the last "
          "bin both edges")},
    {"first-index", "N", COMMAND_DATA, parse_count, FIELD(first_index), 0, INT64_MAX,
     HELP("index of the first number, for argmin, argmax and prod (default 0)")},
    {"axis", "K[,L...]", COMMAND_DATA, parse_text, FIELD(axis), 0, 0,
     HELP("reduce a .npy file along these dimensions, numbered from 0, or from -1 backwards, and print the results, one "
          "line per row")},
    {"save", "ACC", COMMAND_READS, parse_file, FIELD(save), 0, 0, HELP("also save the accumulator to the file ACC, for merge")},
    {"resume", "FOLDER", COMMAND_DATA, parse_file, FIELD(resume), 0, 0,
     HELP("keep the accumulator or table of each piece of the files in FOLDER, and reuse those already there; several "
          "processes may share a folder")},
    {"piece", "N", COMMAND_DATA, parse_count, FIELD(piece), 1, INT64_MAX,
     HELP("with --resume or under mpirun: elements of a raw or .npy file per piece, at most (default 16777216); for "
          "texts 8 N bytes")},
    {"hex", NULL, COMMAND_PRINTS, parse_flag, FIELD(hex), 0, 0, HELP("print values in hexadecimal")},
    {"json", NULL, COMMAND_PRINTS | COMMAND_BENCH | COMMAND_SIMULATES | COMMAND_RUN | COMMAND_JUDGE, parse_flag, FIELD(json), 0, 0,
     HELP("print a JSON object, on one line")},
    {"sarif", NULL, COMMAND_INSPECT | COMMAND_RUN, parse_flag, FIELD(sarif), 0, 0,
     HELP("print findings and advice as SARIF 2.1.0, which code hosts show at the source lines")},
    {"github", NULL, COMMAND_INSPECT | COMMAND_RUN, parse_flag, FIELD(github), 0, 0,
     HELP("print findings and advice as annotations for a GitHub workflow")},
    {"strict", NULL, COMMAND_INSPECT | COMMAND_RUN, parse_flag, FIELD(strict), 0, 0,
     HELP("exit with status 3 for advice as well")},
    {"html", "FILE", COMMAND_SIMULATES | COMMAND_RUN, parse_file, FIELD(html), 0, 0,
     {{COMMAND_SIMULATES, "write an HTML page instead of text", NULL}, {COMMAND_RUN, "also write an HTML page", NULL}}},
    {"from", "FILE", COMMAND_LADDER, parse_file, FIELD(from), 0, 0,
     HELP("render FILE, the JSON of an earlier run, instead of running (needs --html)")},
    {"source", NULL, COMMAND_INSPECT | COMMAND_RUN, parse_flag, FIELD(source), 0, 0,
     {{0, "also print the source with the cost of each line", NULL}, {COMMAND_RUN, "also the lines that no launch executed", NULL}}},
    {"sources", "FOLDER", COMMAND_INSPECT, parse_text, FIELD(sources), 0, 0,
     HELP("also show sources in or below this folder (default: in or below the folder of KERNEL)")},
    {"device", "auto|cpu|cuda[:N|:all]|simt", COMMAND_READS | COMMAND_LADDER, parse_text, FIELD(device), 0, 0,
     {{COMMAND_READS, "device to run on (default: auto)", "auto|cpu|cuda[:N|:all]"},
      {COMMAND_LADDER, "device to run on (default: simt, the simulator, which needs no GPU)", "simt|cuda[:N]"}}},
    {"threads", "N", COMMAND_INPUTS | COMMAND_BENCH | COMMAND_INSPECT | COMMAND_RUN | COMMAND_JUDGE, parse_count, FIELD(threads), 0, INT32_MAX,
     HELP("use at most N threads (default 0: one per processor)")},
    {"verbose", NULL, COMMAND_READS, parse_flag, FIELD(verbose), 0, 0,
     HELP("report the device and the threads on standard error")},
    {"quiet", NULL, COMMAND_PRINTS | COMMAND_BENCH | COMMAND_INSPECT | COMMAND_RUN, parse_flag, FIELD(quiet), 0, 0,
     {{0, "do not show progress on a terminal", NULL},
      {COMMAND_INSPECT | COMMAND_RUN, "also not the position of a long launch", NULL}}},
    {"op", "OP", COMMAND_BENCH | COMMAND_STEPS, parse_text, FIELD(op), 0, 0,
     {{COMMAND_BENCH, "only this op", NULL}, {COMMAND_STEPS, "sum (default), prod, min, max or argmax", NULL}}},
    {"data", "KIND", COMMAND_BENCH, parse_kind_of_data, FIELD(data), 0, 0,
     HELP("only this kind of data, such as uniform, wide20 or nan_2; an unknown name lists all kinds")},
    {"count", "N", COMMAND_BENCH | COMMAND_STEPS, parse_count, FIELD(count), 0, INT64_C(1) << 40,
     {{0, "arrays of N elements (also -n N)", NULL},
      {COMMAND_EXPLAIN, "without any of -n, --values, --block, --warp and --banks, the options in the rung's first comment "
       "are used", NULL}}},
    {"quick", NULL, COMMAND_BENCH, parse_flag, FIELD(quick), 0, 0, HELP("smaller arrays, fewer rounds")},
    {"peer", "COMMAND", COMMAND_BENCH, parse_text, FIELD(peer), 0, 0, HELP("also measure this program; bench/peers.py is one")},
    {"rung", "NN", COMMAND_LADDER, parse_text, FIELD(rung), 0, 0, HELP("only this rung, by number or name")},
    {"block", "X[,Y[,Z]]", COMMAND_SIMULATES, parse_text, FIELD(block), 0, 0,
     {{0, "threads of a block", NULL}, {COMMAND_INSPECT, "default 32", NULL}}},
    {"grid", "X[,Y[,Z]]", COMMAND_LADDER | COMMAND_INSPECT, parse_text, FIELD(grid), 0, 0,
     {{0, "blocks of the grid", NULL}, {COMMAND_INSPECT, "default 1", NULL}}},
    {"cluster", "X[,Y[,Z]]", COMMAND_INSPECT, parse_text, FIELD(cluster), 0, 0,
     HELP("blocks of a cluster (default: as the kernel declares, or 1)")},
    {"finish", "host|relaunch|atomic|last-block", COMMAND_LADDER, parse_text, FIELD(finish), 0, 0,
     HELP("how the partial results of the blocks are combined (default: the rung's own way)")},
    {"coarsen", "C", COMMAND_LADDER, parse_count, FIELD(coarsen), 1, INT32_MAX,
     HELP("element pairs per thread before the tree, from rung 10 on")},
    {"partials", NULL, COMMAND_LADDER, parse_flag, FIELD(partials), 0, 0, HELP("print the blocks' partial results of one rung")},
    {"sweep", NULL, COMMAND_LADDER, parse_flag, FIELD(sweep), 0, 0,
     HELP("on a GPU, compare one rung (default 14) with the CPU, for sizes up to N")},
    {"once", NULL, COMMAND_LADDER, parse_flag, FIELD(once), 0, 0,
     HELP("on a GPU, launch each rung once, verified but not timed, for profiling; uses the simulator's PTX if it is built in")},
    {"schedule", "S", COMMAND_SIMULATES | COMMAND_RUN, parse_text, FIELD(schedule), 0, 0,
     HELP("how the lanes of a warp run: lockstep (default), together; split, one after another; random:SEED, diverging at "
          "random")},
    {"warp", "W", COMMAND_EXPLAIN | COMMAND_INSPECT, parse_power_of_two, FIELD(warp), 1, 32,
     HELP("lanes of a warp, a power of two (default 32)")},
    {"banks", "K", COMMAND_EXPLAIN | COMMAND_INSPECT, parse_power_of_two, FIELD(banks), 1, 32,
     HELP("banks of shared memory, a power of two (default 32)")},
    {"values", "A,B,...", COMMAND_EXPLAIN, parse_text, FIELD(values), 0, 0, HELP("the elements")},
    {"kernel", "NAME", COMMAND_INSPECT | COMMAND_RUN, parse_text, FIELD(kernel), 0, 0,
     {{COMMAND_INSPECT, "the kernel to run, if the file has several, or an instance of a template: 'reduce<int,512>'", NULL},
      {COMMAND_RUN, "count and check only this kernel", NULL}}},
    {"arg", "ARG", COMMAND_INSPECT, parse_item, FIELD(arguments), 0, 0,
     HELP("the kernel's next argument: a scalar (i32:5, f32:1.5) or a buffer with its number of elements "
          "(f32[1024]=zeros, ones, iota, random:SEED, random:SEED:BELOW, 1.5 for all, a .npy file; f32[3]=1,2,3; "
          "f32[1024] alone is uninitialised: an output)")},
    {"print", "K[:N]", COMMAND_INSPECT, parse_item, FIELD(prints), 0, 0,
     HELP("print the first N elements (default 8) of argument K, numbered from 0, after the run")},
    {"expect", "K=V[,V...]", COMMAND_INSPECT, parse_item, FIELD(expects), 0, 0,
     HELP("expected values of the first elements of argument K after the run; a wrong result is reported first, with status 3")},
    {"out", "[K=]FILE", COMMAND_DATA | COMMAND_MERGE | COMMAND_INSPECT | COMMAND_RUN, parse_output, FIELD(outputs), 0, 0,
     {{COMMAND_DATA, "with --axis: write the results to a .npy file", "FILE"},
      {COMMAND_MERGE, "write the results of accumulators of --axis to a .npy file", "FILE"},
      {COMMAND_INSPECT, "after the run, write argument K, numbered from 0, to a .npy file", NULL},
      {COMMAND_RUN, "write the report to FILE instead of standard error", "FILE"}}},
    {"shared", "BYTES", COMMAND_INSPECT, parse_count, FIELD(shared), 0, INT32_MAX,
     HELP("dynamic shared memory of each block (default 0)")},
    {"limit", "N", COMMAND_INSPECT | COMMAND_RUN, parse_count, FIELD(limit), 1, INT64_MAX,
     {{0, "stop a launch that executes more than N warp instructions", NULL},
      {COMMAND_INSPECT, "default " DIGITS(SIMT_INSTRUCTION_LIMIT), NULL},
      {COMMAND_RUN, "default " DIGITS(PROGRAM_INSTRUCTION_LIMIT) ", of one small block " DIGITS(PROGRAM_BLOCK_LIMIT), NULL}}},
    {"task", "NAME|FILE", COMMAND_JUDGE, parse_text, FIELD(task), 0, 0,
     HELP("the task: a built-in one, such as sum, or a file (default: KERNEL's name with .task; rung for kernels of the ladder)")},
    {"seed", "N", COMMAND_JUDGE, parse_count, FIELD(seed), 0, INT64_MAX, HELP("seed of the random data (default 0)")},
    {"gpu", "h200|a100|t4", COMMAND_RUN, parse_word, FIELD(gpu), 0, 0,
     HELP("the GPU that the program sees, and for which a .cu file is compiled (default h200)")},
    {"gpus", "N", COMMAND_RUN, parse_count, FIELD(gpus), 1, SIMT_DEVICES,
     HELP("how many GPUs the program sees (default 1, at most " DIGITS(SIMT_DEVICES) ")")},
    {"races", "on|off|all", COMMAND_RUN, parse_word, FIELD(races), 0, 0,
     HELP("look for races, which takes most of the time (default on); all: report also stores of the same value by "
          "several threads")},
    {"launch", "N", COMMAND_RUN, parse_count, FIELD(launch), 1, INT64_MAX,
     HELP("count and check only the Nth launch, from 1, or the Nth one of --kernel")},
    {"help", NULL, COMMAND_ANY, parse_flag, FIELD(help), 0, 0, HELP("print the help, or that of the given command (also -h)")},
    {"version", NULL, COMMAND_ANY, parse_flag, FIELD(version), 0, 0, HELP("print the version (also -V)")},
};

enum { RULE_COUNT = sizeof rules / sizeof rules[0] };
_Static_assert(sizeof rules / sizeof rules[0] <= SETTINGS_GIVEN_MAX, "settings.given has a place for each");

/* The options by what they are for: each is in the first group that one of its commands is in. */
static const struct group {
    const char *title;
    unsigned commands;
} groups[] = {
    {"numbers", COMMAND_PRINTS},
    {"bench, ladder and explain", COMMAND_BENCH | COMMAND_STEPS},
    {"inspect, run and judge", COMMAND_INSPECT | COMMAND_RUN | COMMAND_JUDGE},
};

/* The number of options that begin with what was typed. */
static int count_options(const char *typed) {
    const char *name = typed + strspn(typed, "-");
    int count = 0;
    for (int i = 0; i < RULE_COUNT; i++) count += !strncmp(rules[i].name, name, strcspn(name, "="));
    return count;
}

static struct suggestion suggest_rule(const char *typed) {
    const char *names[RULE_COUNT + 1] = {NULL};
    for (int i = 0; i < RULE_COUNT; i++) names[i] = rules[i].name;
    const char *name = typed + strspn(typed, "-");
    return suggest_option(name, strcspn(name, "="), names);
}

/* ---- reading the command line -------------------------------------------------------------------- */

enum { GETOPT_OPERAND = 1, GETOPT_FIRST_RULE = 256 };

static int rule_of(int code) {
    if (code >= GETOPT_FIRST_RULE) return code - GETOPT_FIRST_RULE;
    int rule = 0;
    while (strcmp(rules[rule].name, code == 'n' ? "count" : code == 'V' ? "version" : "help")) rule++;
    return rule; /* -n N, -V, -h */
}

/* Reports what getopt refused; typed is the argument as the user wrote it. */
static int refuse_option(int code, int option, const char *typed) {
    char name[] = {'-', (char)option, 0};
    const char *shown = option == 0 ? typed : name, *dashes = "";
    if (option >= GETOPT_FIRST_RULE) {
        shown = rules[option - GETOPT_FIRST_RULE].name;
        dashes = "--";
    }
    if (code == ':') return fail_usage("%s%s needs a value", dashes, shown);
    if (option >= GETOPT_FIRST_RULE) return fail_usage("%s%s takes no value", dashes, shown);
    if (!option && count_options(shown) > 1)
        return fail_usage("'%s' is ambiguous: it abbreviates several options", shown);
    return fail_usage("unknown option '%s'%s", shown, (option ? suggest_letter((char)option) : suggest_rule(shown)).text);
}

/* Whether the option may be given: for the first time, again with the same value, or any number of times if it makes a
 * list.  Two different values are an error, so that neither is silently ignored. */
static bool may_give(const struct settings *settings, const char *const *values, int rule, const char *value) {
    bool is_list = rules[rule].parse == parse_item || rules[rule].parse == parse_output || rules[rule].parse == parse_column;
    if (!settings->given[rule] || is_list || !value || !strcmp(value, values[rule])) return true;
    fail_usage("--%s is given twice, as '%s' and '%s': it takes one value at a time", rules[rule].name,
               values[rule], value);
    return false;
}

/* The lists of the settings, one after the other; NULL after the last. */
static struct settings_list *list_at(struct settings *settings, size_t index) {
    struct settings_list *lists[] = {&settings->operands, &settings->arguments, &settings->outputs, &settings->columns,
                                     &settings->by, &settings->prints, &settings->expects};
    return index < sizeof lists / sizeof lists[0] ? lists[index] : NULL;
}

/* Each list has room for every word of the command line. */
static bool settings_create(struct settings *settings, size_t count) {
    *settings = (struct settings){.count = -1, .decimals = -1};
    for (size_t i = 0; list_at(settings, i); i++)
        if (!(list_at(settings, i)->items = calloc(count, sizeof(const char *)))) return false;
    return true;
}

/* What follows the program that is to be run is its own. */
static bool has_program(const struct settings *settings) {
    return settings->operands.count == 2 && !strcmp(settings->operands.items[0], "run");
}

int settings_parse(struct settings *settings, int argc, char **argv) {
    struct option long_options[RULE_COUNT + 1] = {0};
    const char *values[RULE_COUNT] = {0};
    for (int i = 0; i < RULE_COUNT; i++)
        long_options[i] = (struct option){rules[i].name, rules[i].argument ? required_argument : no_argument,
                                          NULL, GETOPT_FIRST_RULE + i};
    if (!settings_create(settings, (size_t)argc)) return fail_memory();
    int code;
    /* "-": operands come in their order among the options, even under POSIXLY_CORRECT; ":": no messages. */
    while (!has_program(settings) && (code = getopt_long(argc, argv, "-:hVn:", long_options, NULL)) != -1) {
        if (code == '?' || code == ':') return refuse_option(code, optopt, argv[optind - 1]);
        if (code == GETOPT_OPERAND) {
            add_item(&settings->operands, optarg);
            continue;
        }
        int rule = rule_of(code);
        if (!may_give(settings, values, rule, optarg)) return STATUS_USAGE;
        settings->given[rule] = true;
        values[rule] = optarg;
        if (!rules[rule].parse(&rules[rule], optarg, settings)) return STATUS_USAGE;
    }
    while (optind < argc) add_item(&settings->operands, argv[optind++]);
    return STATUS_OK;
}

void settings_clear(struct settings *settings) {
    for (size_t i = 0; list_at(settings, i); i++) free(list_at(settings, i)->items);
    free(settings->file_list);
    *settings = (struct settings){0};
}

const char *settings_misplaced_option(const struct settings *settings, enum command_kind kind) {
    for (int i = 0; i < RULE_COUNT; i++)
        if (settings->given[i] && !(rules[i].commands & kind)) return rules[i].name;
    return NULL;
}

wf_reduction settings_reduction(const struct settings *settings, wf_op op) {
    return (wf_reduction){.nbytes = sizeof(wf_reduction),
                          .op = op,
                          .nan = (wf_nan)settings->nan,
                          .ddof = settings->ddof,
                          .first_index = settings->first_index,
                          .result_type = settings->result_type};
}

wf_reader_options settings_reader_options(const struct settings *settings) {
    return (wf_reader_options){.nbytes = sizeof(wf_reader_options),
                               .format = (wf_format)settings->format,
                               .type = settings->type,
                               .column_name = settings->column_name,
                               .column = settings->column,
                               .skip_lines = settings->skip_lines,
                               .has_header = settings->has_header,
                               .delimiter = settings->delimiter,
                               .missing = (wf_missing)settings->missing,
                               .byte_order = (wf_byte_order)settings->byte_order};
}

/* ---- help ---------------------------------------------------------------------------------------- */

enum { HELP_WIDTH = 80, HELP_NAMES_INDENT = 10, HELP_OPTION_INDENT = 22 };

void put_usage(FILE *stream) {
    fputs("usage: warpfold OP [options] [FILE...]     reduce all numbers of the files\n"
          "       warpfold stats [options] [FILE...]  count, sum, mean, var ... in one pass\n"
          "       warpfold count [options] [FILE...]  how many numbers a table has\n"
          "       warpfold median [FILE...]           the middle of the sorted numbers\n"
          "       warpfold quantile --q Q [FILE...]   other places of the sorted numbers\n"
          "       warpfold histogram [FILE...]        how many numbers are in each bin\n"
          "       warpfold distinct [FILE...]         how many values differ\n"
          "       warpfold OP,OP... --by COLUMN ...   columns and groups of a table\n"
          "       warpfold dot [options] A B          sum the products of paired numbers\n"
          "       warpfold merge [options] ACC...     merge saved accumulators\n"
          "       warpfold devices                    list the devices of this machine\n"
          "       warpfold bench [options]            benchmark this machine\n"
          "       warpfold ladder [options]           run every rung, verified and counted\n"
          "       warpfold explain [options] RUNG     one block of a rung, step by step\n"
          "       warpfold inspect [options] KERNEL   run your own kernel on the simulator\n"
          "       warpfold run [options] PROGRAM ...  run a CUDA program on the simulator\n"
          "       warpfold judge [options] KERNEL     accept or refuse a kernel for a task\n"
          "       warpfold help [COMMAND]             the options of one command\n"
          "       warpfold --version | --help\n",
          stream);
}

/* Prints one word of a text that wraps at the right margin; further lines are indented. */
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

struct paragraph {
    char text[1024];
    size_t length;
};

static void append(struct paragraph *paragraph, const char *text) {
    int length = snprintf(paragraph->text + paragraph->length, sizeof paragraph->text - paragraph->length, "%s", text);
    paragraph->length += (size_t)length;
    if (paragraph->length >= sizeof paragraph->text) paragraph->length = sizeof paragraph->text - 1;
}

/* "inspect, run: "; nothing for kinds that include the ops, which are too many to name. */
static void append_commands(struct paragraph *paragraph, unsigned commands) {
    static const struct {
        unsigned command;
        const char *name;
    } names[] = {{COMMAND_MEDIAN, "median"}, {COMMAND_QUANTILE, "quantile"}, {COMMAND_HISTOGRAM, "histogram"},
                 {COMMAND_DISTINCT, "distinct"}, {COMMAND_MERGE, "merge"}, {COMMAND_DEVICES, "devices"},
                 {COMMAND_BENCH, "bench"}, {COMMAND_LADDER, "ladder"}, {COMMAND_EXPLAIN, "explain"},
                 {COMMAND_INSPECT, "inspect"}, {COMMAND_RUN, "run"}, {COMMAND_JUDGE, "judge"}};
    const char *separator = "";
    if (commands & COMMAND_DATA) return;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (!(commands & names[i].command)) continue;
        append(paragraph, separator);
        append(paragraph, names[i].name);
        separator = ", ";
    }
    append(paragraph, ": ");
}

/* The help of an option for one kind of command, or, for COMMAND_ANY, all of it, naming the commands of each part.
 * Returns the argument to be shown. */
static const char *write_help(const struct rule *rule, unsigned kind, struct paragraph *paragraph) {
    const char *argument = rule->argument;
    for (int i = 0; i < HELP_PARTS_MAX && rule->help[i].text; i++) {
        const struct help_part *part = &rule->help[i];
        const unsigned commands = part->commands ? part->commands : rule->commands;
        if (!(commands & kind)) continue;
        if (part->argument && kind != COMMAND_ANY) argument = part->argument;
        if (!part->text[0]) continue;
        if (paragraph->length > 0) append(paragraph, "; ");
        if (kind == COMMAND_ANY) append_commands(paragraph, commands);
        append(paragraph, part->text);
    }
    return argument;
}

static void put_option(FILE *stream, const struct rule *rule, unsigned kind) {
    struct paragraph help = {.length = 0};
    const char *argument = write_help(rule, kind, &help);
    int column = fprintf(stream, "  --%s", rule->name);
    if (argument) column += fprintf(stream, " %s", argument);
    if (column + 2 > HELP_OPTION_INDENT) {
        fputc('\n', stream);
        column = 0;
    }
    column += fprintf(stream, "%*s", HELP_OPTION_INDENT - column, "");
    const char *word = help.text;
    while (*word) {
        size_t length = strcspn(word, " ");
        put_word(stream, &column, HELP_OPTION_INDENT, word, (int)length);
        word += length + (word[length] == ' ');
    }
    fputc('\n', stream);
}

void put_options(FILE *stream, enum command_kind kind, bool (*has)(const void *context, const char *option),
                 const void *context) {
    for (int i = 0; i < RULE_COUNT; i++)
        if (rules[i].commands & kind && (!has || has(context, rules[i].name))) put_option(stream, &rules[i], kind);
}

/* Prints the options of one group that belong to no group before it. */
static void put_group(FILE *stream, size_t group) {
    unsigned before = 0;
    for (size_t i = 0; i < group; i++) before |= groups[i].commands;
    fprintf(stream, "\noptions for %s:\n", groups[group].title);
    for (int i = 0; i < RULE_COUNT; i++)
        if (rules[i].commands & groups[group].commands && !(rules[i].commands & before)) put_option(stream, &rules[i], COMMAND_ANY);
}

void put_help(FILE *stream) {
    fputs("warpfold reduces arrays of numbers to one number.  Sums, means, variances and\n"
          "norms are exact results, rounded once: they are the same for any number of\n"
          "threads.\n"
          "\n",
          stream);
    put_usage(stream);
    fputc('\n', stream);
    put_names(stream, "OP is:", name_of_op);
    put_names(stream, "types:", name_of_type);
    fputs("\n"
          "FILE is a .npy file, raw elements (give their --type), or text: blank-separated\n"
          "numbers, or a table, whose first line determines the separator and the number\n"
          "of fields.  Lines that begin with # are comments.  Several files form one\n"
          "array, in order.  Without FILE, or for -, standard input is read.\n"
          "\n"
          "RUNG is a kernel of the ladder, by number or name.  KERNEL is a .cu file, which\n"
          "needs NVRTC or nvcc, or a .ptx file, which needs neither.  PROGRAM is a .cu file\n"
          "with a main, a program that nvcc built, or one that loads CUDA at run time\n"
          "(python3); options come before it.\n"
          "\n"
          "Options may be given before or after the operands.\n",
          stream);
    for (size_t i = 0; i < sizeof groups / sizeof groups[0]; i++) put_group(stream, i);
    fputs("\n"
          "examples:\n"
          "  warpfold sum x.npy\n"
          "  warpfold mean --axis 0 --out means.npy x.npy\n"
          "  seq 10 | warpfold mean\n"
          "  warpfold stats --column price table.csv\n"
          "  warpfold quantile --q 0.5,0.99 --column price table.csv\n"
          "  warpfold sum,mean --column price,qty --by region table.csv\n"
          "  warpfold norm2 --type f32 --json part1.raw part2.raw\n"
          "  warpfold sum --save a.acc a.npy\n"
          "  warpfold sum --save b.acc b.npy\n"
          "  warpfold merge a.acc b.acc\n"
          "  warpfold ladder --op max --type i32\n"
          "  warpfold explain 05 -n 16 --warp 8\n"
          "  warpfold inspect add.cu --block 256 --grid 4 --arg f32[1024]=iota \\\n"
          "      --arg f32[1024]=ones --arg i32:1024 --out 0=sums.npy\n"
          "  warpfold run --gpu a100 program.cu 1024\n"
          "  warpfold judge --task sum reduce.cu\n"
          "\n"
          "A decimal result is the shortest that reads back to the same bits.  Exit status:\n"
          "0: success; 1: the data or the device failed; 2: the command line is wrong;\n"
          "3: inspect or run has findings, or judge refuses; else run has the status of the\n"
          "program.\n",
          stream);
}
