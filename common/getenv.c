#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* secure_getenv */
#endif
#include "getenv.h"

#include <stdlib.h>
#include <unistd.h>

const char *wf_getenv(const char *name) {
#if defined __GLIBC__ || defined __BIONIC__
    return secure_getenv(name); /* heeds capabilities, too */
#else
    return getuid() == geteuid() && getgid() == getegid() ? getenv(name) : NULL;
#endif
}
