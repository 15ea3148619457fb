/* Reductions along axes of a .npy file: --axis. */
#ifndef CLI_AXES_H
#define CLI_AXES_H

#include "commands.h"

/* Whether the options beside --axis fit it; a status, having said what does not. */
int axes_check(const struct request *request);

/* Reduces the reader's array and hands on the results; returns the exit status. */
int axes_reduce(wf_handle *handle, wf_reader *reader, const struct request *request);

#endif
