/* Who has started this process, and whether it reduces alone. */
#ifndef CLI_LAUNCH_H
#define CLI_LAUNCH_H

#include "options.h"

struct ranks {
    int rank, size, local_size; /* of a process that nothing has started with others: 0, 1, 1 */
    bool is_started;            /* by mpirun, if only alone */
};

/* As mpirun tells them to those that it starts. */
struct ranks ranks_of_environment(void);

/* Whether this process is one of several that reduce together, or keeps what it has done (--resume). */
bool is_in_pieces(const struct settings *settings);

/* Whether --piece means anything, if it is given; a status, having said that it does not. */
int check_piece(const struct settings *settings);

#endif
