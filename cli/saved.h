/* Accumulators in files. */
#ifndef CLI_SAVED_H
#define CLI_SAVED_H

#include "warpfold.h"

/* Both say what is wrong, with the path, and return a status.  A file is replaced whole or not touched. */
int saved_write(wf_handle *handle, const wf_accumulator *accumulator, const char *path);
int saved_read(wf_handle *handle, const char *path, wf_accumulator **accumulator);

#endif
