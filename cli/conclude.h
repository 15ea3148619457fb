/* How a reduction to one result ends. */
#ifndef CLI_CONCLUDE_H
#define CLI_CONCLUDE_H

#include "options.h"
#include "warpfold.h"

/* Saves the accumulator, even if it has no value to print, and prints the result.  Returns an exit status. */
int reduction_conclude(wf_handle *handle, const wf_accumulator *accumulator, const struct settings *settings);

#endif
