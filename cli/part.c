#include "part.h"

#include <stdlib.h>

#include "conclude.h"
#include "io/tables.h"
#include "output.h"
#include "results.h"
#include "table_piece.h"

void part_clear(struct part *part) {
    wf_accumulator_destroy(part->accumulator);
    if (part->table) wf_tally_clear(part->table);
    free(part->table);
    *part = (struct part){NULL, NULL};
}

int part_save(wf_handle *handle, const struct part *part, struct saved *saved) {
    unsigned char *bytes;
    if (!part->table) return saved_make(handle, part->accumulator, saved);
    wf_error error = wf_tally_save(handle, part->table, &bytes, &saved->nbytes);
    saved->bytes = bytes;
    return error ? fail_library(handle, error) : STATUS_OK;
}

int part_load(wf_handle *handle, const struct request *request, const char *name, const struct saved *saved,
              struct part *part) {
    *part = (struct part){NULL, NULL};
    if (!request->table) return saved_load(handle, name, saved, &part->accumulator);
    part->table = calloc(1, sizeof *part->table);
    return part->table ? table_load(handle, name, saved, part->table) : fail_memory();
}

/* Rows along axes are in their place from the beginning. */
static wf_error append_accumulator(wf_handle *handle, const struct request *request, wf_accumulator *whole,
                                   wf_accumulator *next) {
    const int64_t index = request->settings->first_index + wf_accumulator_count(whole);
    wf_error error = request->settings->axis ? WF_OK : wf_accumulator_move(handle, next, index);
    if (error == WF_ERROR_UNSUPPORTED) error = WF_OK; /* a float product is in its place */
    return !error && whole ? wf_accumulator_merge(handle, whole, next) : error;
}

/* Clears next, or has it be the whole, if there is none yet. */
static int end_append(wf_handle *handle, wf_error error, struct part *whole, struct part *next) {
    if (part_is_empty(whole)) {
        *whole = *next;
        *next = (struct part){NULL, NULL};
    }
    part_clear(next);
    return error ? fail_library(handle, error) : STATUS_OK;
}

int part_append(wf_handle *handle, const struct request *request, struct part *whole, struct part *next, bool is_same_file) {
    wf_error error = WF_OK;
    if (next->accumulator)
        error = append_accumulator(handle, request, whole->accumulator, next->accumulator);
    else if (whole->table)
        error = wf_tally_merge(handle, whole->table, next->table, is_same_file);
    return end_append(handle, error, whole, next);
}

int part_append_results(wf_handle *handle, struct part *whole, struct part *next) {
    const wf_error error = whole->accumulator ? wf_accumulator_append(handle, whole->accumulator, next->accumulator) : WF_OK;
    return end_append(handle, error, whole, next);
}

/* One process saves nothing of elements with a NaN that is an error. */
static wf_error find_nan(wf_handle *handle, const wf_accumulator *accumulator) {
    wf_stats stats = {.nbytes = sizeof stats};
    wf_value value;
    const wf_op op = wf_accumulator_op(accumulator);
    wf_error error = op == WF_STATS ? wf_accumulator_stats(handle, accumulator, &stats)
                                    : wf_accumulator_value(handle, accumulator, op, &value);
    return error == WF_ERROR_NAN ? error : WF_OK;
}

int part_conclude(wf_handle *handle, const struct request *request, const struct part *whole) {
    if (whole->table) return table_conclude(handle, request->settings, whole->table);
    if (request->settings->axis) return results_conclude(handle, whole->accumulator, request->settings);
    wf_error error = find_nan(handle, whole->accumulator);
    return error ? fail_library(handle, error) : reduction_conclude(handle, whole->accumulator, request->settings);
}
