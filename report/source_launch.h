/* How a program launches a kernel, and with what. */
#ifndef REPORT_SOURCE_LAUNCH_H
#define REPORT_SOURCE_LAUNCH_H

#include "kernel_source.h"

/* name<<<grid, block, shared>>>(arguments), of an instance with such arguments of its template; NULL: of any. */
bool launch_read(const char *text, const char *name, size_t length, const char *instance, struct kernel_source *source);

/* A block, and dynamic shared memory, that fit a kernel without a launch in numbers: by its __launch_bounds__, by the extents
 * of its __shared__ arrays, or by a constant named after blocks or threads.  `open`: the bracket of its parameters. */
void launch_guess(const char *text, const char *open, struct kernel_source *source);

#endif
