/* Reductions along axes of a .npy file: --axis. */
#ifndef CLI_AXES_H
#define CLI_AXES_H

#include "commands.h"

/* Whether the other options can be combined with --axis; a status, after a message that names one that cannot. */
int axes_check(const struct request *request);

/* Reduces the reader's array and hands on the results; returns the exit status. */
int axes_reduce(wf_handle *handle, wf_reader *reader, const struct request *request);

/* ---- in pieces, which are ranges of an array's first dimension */

/* Of a reader's array: the elements of one row, which is all that has one index in the first dimension, and how many of them
 * come to each result.  0 where the first dimension is not reduced: then each row has results of its own. */
int axes_measure_rows(wf_handle *handle, const struct request *request, const wf_reader *reader, int64_t *row_nelements,
                      int64_t *row_depth);

/* Makes an accumulator of the elements that were selected of the reader's array: that many rows of it (-1: all), of whose results'
 * elements the first has that index. */
int axes_accumulate(wf_handle *handle, const struct request *request, wf_reader *reader, int64_t row_count, int64_t index,
                    wf_accumulator **accumulator);

#endif
