#include "help.h"

#include <stdbool.h>
#include <string.h>

struct topic {
    const char *name;
    const char *operands;
    const char *summary;
    const char *examples[2];
};

#define FILES "[FILE...]"

static const char several[] = "OP,OP..."; /* several ops share one help */

static const struct topic topics[] = {
    {"sum", FILES, "The exact sum, rounded once.", {"sum x.npy", "sum --column price table.csv"}},
    {"prod", FILES, "The product: exact for integers; for floats rounded along a fixed tree.",
     {"prod x.npy", "prod --type f64 part1.raw part2.raw"}},
    {"min", FILES, "The smallest number; -0 is below +0.", {"min x.npy", "min --axis 0 x.npy"}},
    {"max", FILES, "The largest number.", {"max x.npy", "max --nan omit x.npy"}},
    {"argmin", FILES, "The index of the first smallest number.", {"argmin x.npy", "argmin --column price table.csv"}},
    {"argmax", FILES, "The index of the first largest number.", {"argmax x.npy", "argmax --column price table.csv"}},
    {"mean", FILES, "The exact mean, rounded once.", {"mean x.npy", "mean --axis 0 --out means.npy x.npy"}},
    {"var", FILES, "The exact variance, rounded once.", {"var x.npy", "var --ddof 1 --column price table.csv"}},
    {"std", FILES, "The standard deviation: the square root of the exact variance, rounded once.",
     {"std x.npy", "std --ddof 1 --column price table.csv"}},
    {"norm1", FILES, "The exact sum of magnitudes, rounded once.", {"norm1 x.npy", "norm1 --axis -1 x.npy"}},
    {"norm2", FILES, "The square root of the exact sum of squares, rounded once.",
     {"norm2 x.npy", "norm2 --type f32 --json part1.raw part2.raw"}},
    {"norminf", FILES, "The largest magnitude.", {"norminf x.npy", "norminf --axis -1 x.npy"}},
    {"dot", "A B", "The exact sum of the products of paired numbers, rounded once.",
     {"dot a.npy b.npy", "dot --type f32 a.raw b.raw"}},
    {"any", FILES, "1 if any number is not 0, otherwise 0.", {"any x.npy", "any --axis 0 x.npy"}},
    {"all", FILES, "1 if all numbers are not 0, otherwise 0.", {"all x.npy", "all --axis 0 x.npy"}},
    {"nonzero", FILES, "How many numbers are not 0.", {"nonzero x.npy", "nonzero --axis 0 x.npy"}},
    {"and", FILES, "The bitwise and of integers.", {"and x.npy", "and --type u32 flags.raw"}},
    {"or", FILES, "The bitwise or of integers.", {"or x.npy", "or --type u32 flags.raw"}},
    {"xor", FILES, "The bitwise exclusive or of integers.", {"xor x.npy", "xor --type u64 words.raw"}},
    {"count", FILES, "How many numbers there are in each column of a table, or rows in each group.",
     {"count --by region table.csv", "count,mean --column price --by region table.csv"}},
    {"OP,OP...", FILES, "Several ops in one pass: a line of results for each column, or group, of a table.",
     {"sum,mean --column price,qty table.csv", "sum,mean,max --by region --column price table.csv"}},
    {"stats", FILES, "Count, sum, mean, var, std, min, max and more, in one pass.",
     {"stats x.npy", "stats --column price --json table.csv"}},
    {"median", FILES, "The middle of the sorted numbers, or the exact mean of the two middle ones.",
     {"median x.npy", "median --column price --by region table.csv"}},
    {"quantile", FILES, "The numbers at positions q * (n - 1) of the sorted array.",
     {"quantile --q 0.5,0.99 x.npy", "quantile --q 0.9 --between nearest --column price table.csv"}},
    {"histogram", FILES, "How many numbers are in each bin: a picture on a terminal, rows elsewhere.",
     {"histogram --bins 20 x.npy", "histogram --bins 0,1,10,100 --column price --by region table.csv"}},
    {"distinct", FILES, "The number of distinct values.", {"distinct x.npy", "distinct --column id table.csv"}},
    {"merge", "ACC...", "Merges accumulators that --save has written, and prints the result.",
     {"merge a.acc b.acc", "merge --save all.acc part*.acc"}},
    {"devices", "", "Lists the devices of this machine.", {"devices", "devices | grep cuda"}},
    {"bench", "", "Measures how fast this machine reduces.", {"bench --quick", "bench --op sum --type f32"}},
    {"ladder", "", "Runs the kernels of the ladder, verified and counted, or timed on a GPU.",
     {"ladder --op max --type i32", "ladder --rung 07 --html page.html"}},
    {"explain", "RUNG", "Shows one block of a kernel of the ladder, step by step.",
     {"explain 05 -n 16 --warp 8", "explain 05 --html page.html"}},
    {"inspect", "KERNEL", "Runs your own kernel, a .cu or .ptx file, on the simulator and checks it.",
     {"inspect add.cu --block 256 --arg f32[256]=iota --arg i32:256",
      "inspect kernel.ptx --kernel reduce --source --arg f32[64]=ones"}},
    {"run", "PROGRAM [ARGUMENT...]", "Runs a CUDA program on the simulator and checks its kernels.",
     {"run program.cu 1024", "run --gpu a100 --kernel reduce program.cu"}},
    {"judge", "KERNEL", "Accepts or refuses a kernel for a task, on many sizes, data sets and schedules.",
     {"judge --task sum reduce.cu", "judge puzzles/01_missing_barrier.cu"}},
};

/* Options that only some commands of a kind accept. */
struct exception {
    const char *option, *commands; /* each between blanks; after "not": all but these */
};

static const struct exception exceptions[] = {
    {"ddof", " var std stats OP,OP... "},       {"first-index", " argmin argmax prod stats "},
    {"axis", " not dot stats count OP,OP... "},
    {"out", " not dot stats count OP,OP... "},
    {"nan", " not and or xor "},
    {"decimal", " sum mean min max argmin argmax norm1 norminf any all nonzero stats count OP,OP... "},
    {"byte-order", " not count OP,OP... "},
    {"by", " not dot "},
    {"sort", " not dot "},
    {"per", " not dot "},
    {"csv", " not dot "},
    {"missing", " not dot "},
};

static bool is_listed(const char *list, const char *name) {
    for (const char *at = strstr(list, name); at; at = strstr(at + 1, name))
        if (at[-1] == ' ' && at[strlen(name)] == ' ') return true;
    return false;
}

static bool takes_option(const void *command, const char *option) {
    for (size_t i = 0; i < sizeof exceptions / sizeof exceptions[0]; i++) {
        const struct exception *exception = &exceptions[i];
        bool is_op = wf_op_parse(command) != WF_OP_NONE || !strcmp(command, "count") || !strcmp(command, several);
        if (!is_op || strcmp(exception->option, option)) continue;
        return is_listed(exception->commands, command) != (strstr(exception->commands, " not ") != NULL);
    }
    return true;
}

void put_command_help(FILE *stream, const char *name, enum command_kind kind) {
    size_t i = 0, count = sizeof topics / sizeof topics[0];
    if (strchr(name, ',')) name = several;
    while (i < count && strcmp(topics[i].name, name)) i++;
    if (i == count) {
        put_help(stream);
        return;
    }
    const struct topic *topic = &topics[i];
    fprintf(stream, "usage: warpfold %s [options]%s%s\n\n%s\n\noptions:\n", name, topic->operands[0] ? " " : "",
            topic->operands, topic->summary);
    put_options(stream, kind, takes_option, name);
    fputs("\nexamples:\n", stream);
    for (int e = 0; e < 2 && topic->examples[e]; e++) fprintf(stream, "  warpfold %s\n", topic->examples[e]);
}
