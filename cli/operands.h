/* Operands from a list: --files-from. */
#ifndef CLI_OPERANDS_H
#define CLI_OPERANDS_H

#include "options.h"

/* Adds the files that the list names to the operands: one a line, or, if it has a NUL, each ended by one.  Empty names are
 * left out.  Says what is wrong and returns a status. */
int operands_extend(struct settings *settings);

#endif
