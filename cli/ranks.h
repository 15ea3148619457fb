/* The command line under mpirun: several processes that give one answer. */
#ifndef CLI_RANKS_H
#define CLI_RANKS_H

#include "commands.h"

/* Each rank reduces its share of the files; rank 0 joins what they have and ends as any reduction, while the others print
 * nothing.  Returns the exit status. */
int ranks_reduce(wf_handle *handle, const struct request *request);

#endif
