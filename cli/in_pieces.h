/* Reductions in pieces: by several processes, or going on where one was killed. */
#ifndef CLI_IN_PIECES_H
#define CLI_IN_PIECES_H

#include "commands.h"

/* Returns the exit status. */
int reduce_in_pieces(wf_handle *handle, const struct request *request);

#endif
