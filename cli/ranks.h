/* The command line under mpirun: several processes that give one answer. */
#ifndef CLI_RANKS_H
#define CLI_RANKS_H

#include "commands.h"

struct ranks {
    int rank, size, local_size; /* of a process that nothing has started with others: 0, 1, 1 */
    bool is_started;            /* by mpirun, if only alone */
};

/* As mpirun tells them to those that it starts. */
struct ranks ranks_of_environment(void);

/* Each rank reduces its share of the files; rank 0 joins what they have and ends as any reduction, while the others print
 * nothing.  Returns the exit status. */
int ranks_reduce(wf_handle *handle, const struct request *request);

#endif
