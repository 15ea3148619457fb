/* Errors inside the library: a code to return and a message for the handle. */
#ifndef WF_CORE_ERROR_H
#define WF_CORE_ERROR_H

#include "warpfold.h"

/* Formats the handle's message (handle may be NULL) and returns error, so that a caller writes
 * `return wf_fail(handle, WF_ERROR_IO, "%s: ...", path)`. */
wf_error wf_fail(wf_handle *handle, wf_error error, const char *format, ...)
    __attribute__((format(printf, 3, 4), cold));

/* Checks that a struct of nbytes, as the caller was compiled with it, can be read as one of `known` bytes: it is not
 * shorter, and later members are zero. */
wf_error wf_check_nbytes(wf_handle *handle, const char *name, const void *structure, size_t nbytes, size_t known);

#endif
