/* What depends on the order of a group's values: quantiles, and the number of distinct ones.  The rows are all kept for
 * that; they are brought into the order of their groups, and each group is an array of its own. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/tally.h"
#include "io/tally_parts.h"

bool wf_tally_is_of_order(wf_op op) {
    return op >= WF_TALLY_DISTINCT;
}

bool wf_tally_keeps_rows(const struct wf_tally *tally) {
    bool keeps = false;
    for (size_t i = 0; i < tally->settings.op_count; i++) keeps |= wf_tally_is_of_order(tally->settings.op[i]);
    return keeps;
}

/* ---- group by group ---- */

static void place_values(const struct wf_tally *tally, const struct wf_tally_column *column, struct wf_ordered *ordered) {
    enum { AHEAD = 16 };
    const size_t nbytes = wf_type_nbytes(tally->settings.type);
    const int32_t *keys = column->keys ? column->keys : tally->row_key;
    int64_t *next = ordered->offset + 1; /* where the group's next value goes; in the end where the group after it begins */
    for (int64_t g = 0; g < wf_tally_group_count(tally); g++) next[g + 1] = next[g] + wf_tally_count_of(column, g);
    for (int64_t i = 0; i < tally->kept_count; i++) {
        if (i + AHEAD < tally->kept_count && keys[i + AHEAD] >= 0) __builtin_prefetch(next + keys[i + AHEAD], 1);
        if (keys[i] >= 0) wf_copy_element(ordered->values + (size_t)next[keys[i]]++ * nbytes, column->values + (size_t)i * nbytes, nbytes);
    }
}

void wf_ordered_clear(struct wf_ordered *ordered) {
    free(ordered->values);
    free(ordered->offset);
    *ordered = (struct wf_ordered){0};
}

wf_error wf_tally_sort_values(wf_handle *handle, struct wf_tally *tally, size_t column) {
    struct wf_ordered *ordered = &tally->ordered;
    if (ordered->values && ordered->column == column) return WF_OK;
    wf_ordered_clear(ordered);
    ordered->values = malloc((size_t)tally->kept_count * wf_type_nbytes(tally->settings.type) + 1);
    ordered->offset = calloc((size_t)wf_tally_group_count(tally) + 2, sizeof *ordered->offset);
    ordered->column = column;
    if (ordered->values && ordered->offset) {
        place_values(tally, &tally->column[column], ordered);
        return WF_OK;
    }
    wf_ordered_clear(ordered);
    return wf_fail(handle, WF_ERROR_MEMORY, "no memory to sort the rows of a table by group");
}

/* ---- results ---- */

static const double half = 0.5;

/* The one quantile that op is. */
static wf_quantiles quantile_of(const struct wf_tally_settings *settings, wf_op op) {
    return (wf_quantiles){.nbytes = sizeof(wf_quantiles),
                          .q = op == WF_TALLY_MEDIAN ? &half : settings->q + (op - WF_TALLY_QUANTILE),
                          .count = 1,
                          .between = settings->between,
                          .result_type = settings->result_type};
}

wf_type wf_tally_order_type(const struct wf_tally *tally, wf_op op) {
    const wf_quantiles quantile = quantile_of(&tally->settings, WF_TALLY_MEDIAN);
    return op == WF_TALLY_DISTINCT ? WF_U64 : wf_quantiles_result_type(&quantile, tally->settings.type);
}

/* Reduces the values of one group, of which there are some. */
static wf_error reduce_group(wf_handle *handle, const struct wf_tally *tally, wf_op op, const wf_array *values, void *result) {
    static const int64_t one = 1;
    if (op == WF_TALLY_DISTINCT) return wf_count_distinct(handle, WF_NAN_PROPAGATE, values, result);
    const wf_quantiles quantile = quantile_of(&tally->settings, op);
    const wf_output output = {.data = result, .ndim = 1, .shape = &one, .type = wf_tally_order_type(tally, op)};
    return wf_quantile(handle, &quantile, values, NULL, &output);
}

static wf_error fail_at(wf_handle *handle, wf_error error, int64_t group) {
    char why[512];
    snprintf(why, sizeof why, "%s", wf_handle_message(handle));
    return wf_fail(handle, error, "result %lld: %s", (long long)group, why);
}

wf_error wf_tally_order_segments(wf_handle *handle, const struct wf_tally *tally, wf_op op, const struct wf_segments *segments,
                                 void *results) {
    const size_t nbytes = wf_type_nbytes(tally->settings.type), result_nbytes = wf_type_nbytes(wf_tally_order_type(tally, op));
    wf_error error = WF_OK;
    for (int64_t g = 0; g < segments->count && !error; g++) {
        const int64_t begin = segments->offset[g], count = segments->offset[g + 1] - begin;
        unsigned char *result = (unsigned char *)results + (size_t)g * result_nbytes;
        const wf_array values = wf_array_vector(segments->values + (size_t)begin * nbytes, tally->settings.type, count);
        memset(result, 0, result_nbytes);
        if (count) error = reduce_group(handle, tally, op, &values, result);
        if (error) error = fail_at(handle, error, g);
    }
    return error;
}

wf_error wf_tally_order_results(wf_handle *handle, struct wf_tally *tally, size_t column, wf_op op, void *results) {
    wf_error error = wf_tally_sort_values(handle, tally, column);
    const struct wf_segments groups = {tally->ordered.values, tally->ordered.offset, wf_tally_group_count(tally)};
    return error ? error : wf_tally_order_segments(handle, tally, op, &groups, results);
}

/* The counts of one group, by the edges of all.  What is beyond a rounded edge belongs to the next bin. */
static wf_error count_group(wf_handle *handle, const wf_histogram *histogram, const double *edges, const wf_array *values,
                            int64_t *counts) {
    const int64_t last = histogram->edge_count;
    wf_histogram found = *histogram;
    found.edges = edges;
    wf_error error = wf_count_bins(handle, &found, values, NULL, counts);
    if (error || histogram->edges) return error;
    counts[1] += counts[0];
    counts[last - 1] += counts[last];
    counts[0] = counts[last] = 0;
    return WF_OK;
}

wf_error wf_tally_count_bins(wf_handle *handle, struct wf_tally *tally, size_t column, const wf_histogram *histogram,
                             double *edges, int64_t *counts) {
    const struct wf_ordered *ordered = &tally->ordered;
    const wf_type type = tally->settings.type;
    const int64_t groups = wf_tally_group_count(tally);
    wf_error error = wf_tally_count_kept(handle, tally);
    if (!error) error = wf_tally_sort_values(handle, tally, column);
    if (error || !groups) return error;
    const wf_array all = wf_array_vector(ordered->values, type, ordered->offset[groups]);
    error = wf_count_bins(handle, histogram, &all, edges, counts);
    for (int64_t g = 0; g < groups && !error; g++) {
        const int64_t begin = ordered->offset[g], count = ordered->offset[g + 1] - begin;
        const wf_array values = wf_array_vector(ordered->values + (size_t)begin * wf_type_nbytes(type), type, count);
        error = count_group(handle, histogram, edges, &values, counts + g * (histogram->edge_count + 2));
    }
    return error;
}
