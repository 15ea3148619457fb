/* The help of one command. */
#ifndef CLI_HELP_H
#define CLI_HELP_H

#include "options.h"

/* Its usage, what it does, its options and two examples.  kind: of the command with that name. */
void put_command_help(FILE *stream, const char *name, enum command_kind kind);

#endif
