/* How much of memory an access of a warp touches. */
#ifndef SIMT_REQUESTS_H
#define SIMT_REQUESTS_H

#include "observer.h"

/* Distinct aligned lines of line_nbytes (a power of two) that the lanes touch. */
uint32_t simt_lines(const simt_access *access, uint32_t line_nbytes);

#endif
