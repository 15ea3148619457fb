/* NumPy's files, into the simulator's memory and out of it. */
#ifndef CLI_INSPECT_NPY_H
#define CLI_INSPECT_NPY_H

#include <stdbool.h>
#include <stdint.h>

#include "simt/simt.h"
#include "warpfold.h"

bool is_npy_name(const char *path);

/* A file of exactly so many elements of the type, else says what is wrong and returns a status. */
int npy_read(const char *path, wf_type type, uint64_t count, simt_machine *machine, uint64_t address);

/* What a file begins with: version 1.0, one dimension; bf16, which the format lacks, as the bits in u16. */
enum { NPY_HEADER_NBYTES = 128 };
void npy_header(char header[NPY_HEADER_NBYTES], wf_type type, uint64_t count);

#endif
