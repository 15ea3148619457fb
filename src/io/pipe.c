#define _GNU_SOURCE /* F_SETPIPE_SZ */

#include "io/source.h"

#include <fcntl.h>

enum { PIPE_NBYTES = 1 << 20 };

void wf_pipe_widen(int descriptor) {
#ifdef F_SETPIPE_SZ
    if (fcntl(descriptor, F_GETPIPE_SZ) < PIPE_NBYTES) (void)fcntl(descriptor, F_SETPIPE_SZ, PIPE_NBYTES);
#else
    (void)descriptor;
#endif
}
