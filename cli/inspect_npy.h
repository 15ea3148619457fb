/* NumPy's files, into the machine's memory and out of it. */
#ifndef CLI_INSPECT_NPY_H
#define CLI_INSPECT_NPY_H

#include <stdbool.h>
#include <stdint.h>

#include "simt.h"
#include "warpfold.h"

bool is_npy_name(const char *path);

/* A file of exactly so many elements of the type, else says what is wrong and returns a status. */
int npy_read(const char *path, wf_type type, uint64_t count, simt_machine *machine, uint64_t address);

/* Version 1.0, one dimension; bf16, which the format lacks, as the bits in u16.  The file is replaced whole
 * or not touched: false, with errno set. */
bool npy_write(const char *path, wf_type type, const void *data, uint64_t count);

#endif
