/* PTX of several files of one program, which nvlink would have linked, as one text. */
#ifndef PROGRAM_JOIN_H
#define PROGRAM_JOIN_H

#include <stddef.h>

/* NUL-terminated texts, as nvcc writes them.  What all of them bring, inline functions say (.weak), is there once; whatever
 * else is there twice is an error of the parser's.  The result is to be freed with free(); NULL: no memory. */
char *join_ptx(char *const *texts, size_t count);

#endif
