/* Reductions that are resumed: --resume. */
#ifndef CLI_RESUME_H
#define CLI_RESUME_H

#include "commands.h"

/* Reduces what no process has reduced yet into saved accumulators in the folder, one for each piece, and ends as any
 * reduction with all of them; returns the exit status. */
int resume_reduce(wf_handle *handle, const struct request *request);

#endif
