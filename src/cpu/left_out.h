/* Rows of floats without their NaNs: loops/left_out.c, compiled for each tier and type. */
#ifndef WF_CPU_LEFT_OUT_H
#define WF_CPU_LEFT_OUT_H

#include "cpu/block.h"

/* Copies rows one after another to copy[0], with those bits in place of their NaNs.  Of pairs, whose other rows begin at y, and
 * which are copied to copy[1], 0 and -0 stand where either is one.  nans: of each row how many there were; returns whether there
 * were any. */
typedef bool wf_copy_rows_function(unsigned char *const copy[2], const struct wf_rows *rows, const unsigned char *y,
                                   int64_t y_stride_bytes, uint64_t instead, int64_t *nans);

#endif
