/* Whether this process reduces alone, or as one of the ranks that mpirun has started. */
#ifndef CLI_LAUNCH_H
#define CLI_LAUNCH_H

#include "options.h"

struct ranks {
    int rank, size, local_size; /* of a process that was started alone: 0, 1, 1 */
    bool is_started;            /* by mpirun, even if as the only rank */
};

/* Read from the environment variables that mpirun sets. */
struct ranks ranks_of_environment(void);

/* Whether the input is reduced in pieces: because several ranks share it, or to keep each piece's result (--resume). */
bool is_in_pieces(const struct settings *settings);

/* Fails, with a message, if --piece is given without --resume and not under mpirun.  Returns a status. */
int check_piece(const struct settings *settings);

#endif
