/* The commands.  Each prints its result, or a message about what is wrong, and returns an exit status. */
#ifndef CLI_COMMANDS_H
#define CLI_COMMANDS_H

#include "options.h"
#include "warpfold.h"

struct wf_tally_settings;

struct request {
    const struct settings *settings;
    const char *const *operands; /* those after the command */
    size_t operand_count;
    wf_op op; /* of reduce and reduce_pair */
    const struct wf_tally_settings *table; /* what is reduced is a table; NULL: elements */
};

int command_reduce(const struct request *request);
int command_reduce_pair(const struct request *request);
int command_quantile(const struct request *request); /* and median, which is one without --q */
int command_histogram(const struct request *request);
int command_distinct(const struct request *request);
int command_merge(const struct request *request);
int command_devices(const struct request *request);
int command_bench(const struct request *request);
int command_ladder(const struct request *request);
int command_explain(const struct request *request);
int command_inspect(const struct request *request);
int command_run(const struct request *request);
int command_judge(const struct request *request);

#endif
