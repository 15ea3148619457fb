/* The results of pieces: an accumulator, of one result or of those along axes, or a table. */
#ifndef CLI_PART_H
#define CLI_PART_H

#include "commands.h"
#include "saved.h"

struct part {
    wf_accumulator *accumulator;
    struct wf_tally *table;
}; /* zeroed: of no pieces */

static inline bool part_is_empty(const struct part *part) {
    return !part->accumulator && !part->table;
}

void part_clear(struct part *part);

/* Each says what is wrong, and returns a status.  The bytes are the caller's, to be cleared. */
int part_save(wf_handle *handle, const struct part *part, struct saved *saved);
int part_load(wf_handle *handle, const struct request *request, const char *name, const struct saved *saved,
              struct part *part);

/* Appends next, which follows *whole (which may be empty), and clears it.  is_same_file: it begins in the file in which *whole
 * ends. */
int part_append(wf_handle *handle, const struct request *request, struct part *whole, struct part *next, bool is_same_file);

/* The same of accumulators whose results are those of other rows. */
int part_append_results(wf_handle *handle, struct part *whole, struct part *next);

/* Saves and prints the results. */
int part_conclude(wf_handle *handle, const struct request *request, const struct part *whole);

#endif
