/* Options that inspect shares with the other commands that use the simulator. */
#ifndef CLI_INSPECT_H
#define CLI_INSPECT_H

#include <stdbool.h>
#include <stdint.h>

#include "simt/simt.h"

/* "lockstep", "split" or "random:SEED"; NULL: lockstep.  false, with nothing said, if it is none of them. */
bool parse_schedule(const char *text, simt_schedule *schedule, uint64_t *seed);

/* "X[,Y[,Z]]", each from 1 to 2^31 - 1; what is left out is 1.  false, with nothing said, if it is no such
 * text. */
bool parse_extent(const char *text, uint32_t extent[3]);

#endif
