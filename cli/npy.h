/* NumPy's files: into the simulator's memory, and what those that are written begin with. */
#ifndef CLI_NPY_H
#define CLI_NPY_H

#include <stdbool.h>
#include <stdint.h>

#include "simt/simt.h"
#include "warpfold.h"

bool is_npy_name(const char *path);

/* Reads a file that must have exactly that many elements of the type; otherwise reports the error and returns a status. */
int npy_read(const char *path, wf_type type, uint64_t count, simt_machine *machine, uint64_t address);

/* What a file begins with: version 1.0, C order; bf16, which the format lacks, as the bits in u16.  Returns how long it
 * is. */
enum { NPY_HEADER_NBYTES_MAX = 1536 }; /* of 64 dimensions */
size_t npy_header(char header[NPY_HEADER_NBYTES_MAX], wf_type type, int ndim, const int64_t *shape);

#endif
