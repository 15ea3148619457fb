/* Accumulators in files. */
#ifndef CLI_SAVED_H
#define CLI_SAVED_H

#include "warpfold.h"

/* Says what is wrong, with the path, and returns a status. */
int saved_read(wf_handle *handle, const char *path, wf_accumulator **accumulator);

/* What is written to such a file. */
struct saved {
    void *bytes;
    size_t nbytes;
};

/* Returns a status; the bytes are the caller's, to be cleared. */
int saved_make(wf_handle *handle, const wf_accumulator *accumulator, struct saved *saved);
void saved_clear(struct saved *saved);

#endif
