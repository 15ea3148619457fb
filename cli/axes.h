/* Reductions along axes of a .npy file: --axis. */
#ifndef CLI_AXES_H
#define CLI_AXES_H

#include "commands.h"

/* Fails, with a message that names the option, if one of the other options cannot be combined with --axis.  Returns a status. */
int axes_check(const struct request *request);

/* Reduces the reader's array and hands on the results; returns the exit status. */
int axes_reduce(wf_handle *handle, wf_reader *reader, const struct request *request);

/* ---- in pieces, which are ranges of an array's first dimension */

/* A row of the reader's array consists of the elements with one index in the first dimension.  Sets *row_nelements to their
 * number, and *row_depth to how many of them contribute to each result, or to 0 if the first dimension is not reduced: then
 * each row has results of its own. */
int axes_measure_rows(wf_handle *handle, const struct request *request, const wf_reader *reader, int64_t *row_nelements,
                      int64_t *row_depth);

/* Creates an accumulator of the elements that were selected of the reader's array, which are row_count rows (-1: all).  index:
 * that of the first element of each result. */
int axes_accumulate(wf_handle *handle, const struct request *request, wf_reader *reader, int64_t row_count, int64_t index,
                    wf_accumulator **accumulator);

#endif
