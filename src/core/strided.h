/* Copies of elements that lie apart. */
#ifndef WF_CORE_STRIDED_H
#define WF_CORE_STRIDED_H

#include <stddef.h>
#include <stdint.h>

/* Copies elements of 1, 2, 4 or 8 bytes that are stride_bytes apart to where they lie side by side. */
typedef void wf_copy_strided_function(unsigned char *restrict to, const unsigned char *restrict from, int64_t stride_bytes,
                                      size_t count, size_t nbytes);

/* For any processor; a CPU's tiers (src/cpu/tier.h) have faster ones of their own. */
wf_copy_strided_function wf_copy_strided;

#endif
