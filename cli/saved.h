/* Accumulators in files. */
#ifndef CLI_SAVED_H
#define CLI_SAVED_H

#include <stdint.h>

#include "warpfold.h"

/* What is written to such a file. */
struct saved {
    void *bytes;
    size_t nbytes;
};

/* Each says what is wrong, with the path, and returns a status.  The bytes are the caller's, to be cleared. */
int saved_read(wf_handle *handle, const char *path, wf_accumulator **accumulator);
int saved_read_bytes(const char *path, struct saved *saved);
int saved_load(wf_handle *handle, const char *path, const struct saved *saved, wf_accumulator **accumulator);

/* Returns a status; the bytes are the caller's, to be cleared. */
int saved_make(wf_handle *handle, const wf_accumulator *accumulator, struct saved *saved);
void saved_clear(struct saved *saved);

/* FNV-1a (Fowler, Noll, Vo): detects accidental changes, not deliberate ones. */
uint64_t hash_bytes(const void *bytes, size_t nbytes);

#endif
