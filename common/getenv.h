/* Environment variables that choose what is opened or run. */
#ifndef WF_GETENV_H
#define WF_GETENV_H

#include "names.h"

/* The variable's value; NULL: it is not set, or the process has more rights than the user who set it. */
const char *wf_getenv(const char *name);

#endif
