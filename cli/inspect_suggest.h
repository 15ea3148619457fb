/* A command to begin with, for a kernel that was given no arguments. */
#ifndef CLI_INSPECT_SUGGEST_H
#define CLI_INSPECT_SUGGEST_H

#include "inspect_kernel.h"

/* Says what the kernel takes, and a command that launches it; `wanted`: NULL, or the name for --kernel.  Returns a status. */
int inspect_suggest(const char *path, const struct kernel *kernel, const char *wanted);

#endif
