/* Accumulators in files. */
#ifndef CLI_SAVED_H
#define CLI_SAVED_H

#include "warpfold.h"

/* Says what is wrong, with the path, and returns a status. */
int saved_read(wf_handle *handle, const char *path, wf_accumulator **accumulator);

#endif
