/* warpfold on the command line: reads it, finds the command, runs it. */
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "cleanup.h"
#include "commands.h"
#include "help.h"
#include "launch.h"
#include "operands.h"
#include "options.h"
#include "output.h"
#include "report/suggest.h"
#include "table.h"

struct command {
    const char *name; /* NULL: the name of an op */
    enum command_kind kind;
    size_t operand_min, operand_max;
    const char *operands; /* those that it takes, in words */
    int (*run)(const struct request *request);
};

static const struct command reduce = {NULL, COMMAND_DATA, 0, SIZE_MAX, "files", command_reduce};
static const struct command reduce_table = {NULL, COMMAND_DATA, 0, SIZE_MAX, "files", command_table};
static const struct command reduce_pair = {NULL, COMMAND_DATA, 2, 2, "two files", command_reduce_pair};

static const struct command commands[] = {
    {"median", COMMAND_MEDIAN, 0, SIZE_MAX, "files", command_quantile},
    {"quantile", COMMAND_QUANTILE, 0, SIZE_MAX, "files", command_quantile},
    {"histogram", COMMAND_HISTOGRAM, 0, SIZE_MAX, "files", command_histogram},
    {"distinct", COMMAND_DISTINCT, 0, SIZE_MAX, "files", command_distinct},
    {"merge", COMMAND_MERGE, 1, SIZE_MAX, "accumulators", command_merge},
    {"devices", COMMAND_DEVICES, 0, 0, "no operands", command_devices},
    {"bench", COMMAND_BENCH, 0, 0, "no operands", command_bench},
    {"ladder", COMMAND_LADDER, 0, 0, "no operands", command_ladder},
    {"explain", COMMAND_EXPLAIN, 1, 1, "one rung, such as 05: 'warpfold ladder' lists them", command_explain},
    {"inspect", COMMAND_INSPECT, 1, 1, "one kernel", command_inspect},
    {"run", COMMAND_RUN, 1, SIZE_MAX, "a program and its arguments", command_run},
    {"judge", COMMAND_JUDGE, 1, 1, "one kernel", command_judge},
};

enum { COMMAND_COUNT = sizeof commands / sizeof commands[0] };

static const struct command *find_command(const char *name, wf_op *op) {
    *op = wf_op_parse(name);
    if (strchr(name, ',') || !strcmp(name, "count")) return &reduce_table;
    if (*op == WF_DOT) return &reduce_pair;
    if (*op != WF_OP_NONE) return &reduce;
    for (int i = 0; i < COMMAND_COUNT; i++)
        if (!strcmp(name, commands[i].name)) return &commands[i];
    return NULL;
}

static int refuse_command(const char *name) {
    const char *names[COMMAND_COUNT + 3] = {"count", "help"};
    for (int i = 0; i < COMMAND_COUNT; i++) names[i + 2] = commands[i].name;
    struct suggestion suggestion = suggest_command(name, names);
    return fail_usage("unknown command '%s'%s", name, suggestion.text);
}

/* Options that mean nothing for the format that was asked for. */
static int check_format(const struct settings *settings) {
    if (settings->format == WF_FORMAT_RAW && !settings->type)
        return fail_usage("--format raw needs --type: raw bytes do not name their type");
    if (settings->byte_order && (settings->format == WF_FORMAT_NPY || settings->format == WF_FORMAT_TEXT))
        return fail_usage("--byte-order is for raw files only: a .npy file states its own, and text has none");
    return STATUS_OK;
}

static size_t count_standard_inputs(const struct request *request) {
    size_t count = request->settings->files_from && !strcmp(request->settings->files_from, "-");
    for (size_t i = 0; i < request->operand_count; i++) count += !strcmp(request->operands[i], "-");
    return count;
}

/* "mean std file": no file is called std. */
static int check_operands(const struct request *request) {
    for (size_t i = 0; i < request->operand_count; i++) {
        const char *operand = request->operands[i];
        if (wf_op_parse(operand) && access(operand, F_OK))
            return fail_usage("there is no file '%s'; it is an op: give several ops as %s,%s", operand,
                              request->settings->operands.items[0], operand);
    }
    return STATUS_OK;
}

static int check_columns(const struct request *request, enum command_kind kind) {
    if (!(kind & COMMAND_HISTOGRAM) || request->settings->columns.count < 2) return STATUS_OK;
    return fail_usage("%s takes one column at a time", request->settings->operands.items[0]);
}

/* Whether several processes would each do, and print, all of it. */
static bool is_for_one_process(enum command_kind kind) {
    return ranks_of_environment().size > 1 && kind & (COMMAND_ORDERS | COMMAND_MERGE);
}

static int refuse_ranks(const char *name, enum command_kind kind) {
    if (ranks_of_environment().rank) return STATUS_OK; /* the first one says why, unless mpirun ends it, as another fails */
    return kind & COMMAND_MERGE ? fail_usage("mpirun does not take %s: one process reads all accumulators", name)
                                : fail_usage("mpirun does not take %s: it needs all elements in one process", name);
}

static int run_command(const struct settings *settings) {
    static const char *const standard_input[] = {"-"};
    const char *name = settings->operands.items[0];
    struct request request = {settings, settings->operands.items + 1, settings->operands.count - 1, WF_OP_NONE, NULL};
    const struct command *command = find_command(name, &request.op);
    if (!command) return refuse_command(name);
    set_usage_command(name);
    const char *misplaced = settings_misplaced_option(settings, command->kind);
    if (misplaced) return fail_usage("%s does not take --%s", name, misplaced);
    if (request.operand_count < command->operand_min || request.operand_count > command->operand_max)
        return fail_usage("%s takes %s", name, command->operands);
    if (command->kind != COMMAND_RUN && count_standard_inputs(&request) > 1) return fail_usage("standard input ('-') can be read only once");
    if (is_for_one_process(command->kind)) return refuse_ranks(name, command->kind);
    if (check_format(settings) || check_columns(&request, command->kind)) return STATUS_USAGE;
    if (command->kind & COMMAND_INPUTS && check_operands(&request)) return STATUS_USAGE;
    if (command->kind & COMMAND_INPUTS && request.operand_count == 0) {
        request.operands = standard_input;
        request.operand_count = 1;
    }
    return command->run(&request);
}

static int print_text(void (*put)(FILE *stream)) {
    struct page page;
    page_open(&page);
    if (page.stream) put(page.stream);
    return page_print(&page);
}

static void put_version(FILE *stream) {
    fprintf(stream, "warpfold %s\n", wf_version());
}

static int print_command_help(const char *name) {
    wf_op op;
    const struct command *command = find_command(name, &op);
    if (!command) return refuse_command(name);
    struct page page;
    page_open(&page);
    if (page.stream) put_command_help(page.stream, name, command->kind);
    return page_print(&page);
}

/* "warpfold help", "warpfold help OP", "warpfold OP --help", "warpfold --help". */
static int print_help(const struct settings *settings) {
    bool is_first = settings->operands.count && !strcmp(settings->operands.items[0], "help");
    if (settings->operands.count > 2 && is_first) return fail_usage("help takes one command");
    const char *name = settings->operands.count > is_first ? settings->operands.items[is_first] : NULL;
    return name && strcmp(name, "help") != 0 ? print_command_help(name) : print_text(put_help);
}

static int run(const struct settings *settings) {
    if (settings->help || (settings->operands.count && !strcmp(settings->operands.items[0], "help"))) return print_help(settings);
    if (settings->version) return print_text(put_version);
    if (settings->operands.count == 0) {
        put_usage(stderr);
        return STATUS_USAGE;
    }
    return run_command(settings);
}

/* A standard stream that was closed stays unusable, rather than becoming the first file to be opened. */
static void occupy_standard_streams(void) {
    for (int file = STDIN_FILENO; file <= STDERR_FILENO; file++)
        if (fcntl(file, F_GETFD) < 0 && open("/dev/null", file == STDIN_FILENO ? O_WRONLY : O_RDONLY) < 0)
            return;
}

/* Errors in options are reported before the operands, and thus the command, are known; it is mostly the first operand. */
static void guess_command(int argc, char **argv) {
    wf_op op;
    if (argc > 1 && find_command(argv[1], &op)) set_usage_command(argv[1]);
}

int main(int argc, char **argv) {
    struct settings settings;
    occupy_standard_streams();
    cleanup_start();
    signal(SIGPIPE, SIG_IGN); /* a closed pipe is an error of writing, with a message */
    signal(SIGXFSZ, SIG_IGN); /* so is a file that is to become larger than it may */
    guess_command(argc, argv);
    int status = settings_parse(&settings, argc, argv);
    if (!status && !settings.help) status = operands_extend(&settings);
    if (!status) status = run(&settings);
    settings_clear(&settings);
    return status;
}
