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

/* The values of a column, group by group. */
struct ordered {
    unsigned char *values;
    int64_t *offset; /* of each group's first value, and of the end */
};

static wf_error sort_by_group(wf_handle *handle, const struct wf_tally *tally, const struct wf_tally_column *column,
                       struct ordered *ordered) {
    const int64_t groups = wf_tally_group_count(tally);
    const size_t nbytes = wf_type_nbytes(tally->settings.type);
    const int32_t *keys = column->keys ? column->keys : tally->row_key;
    ordered->values = malloc((size_t)tally->kept_count * nbytes + 1);
    ordered->offset = calloc((size_t)groups + 2, sizeof *ordered->offset);
    if (!ordered->values || !ordered->offset)
        return wf_fail(handle, WF_ERROR_MEMORY, "no memory to sort the rows of a table by group");
    int64_t *next = ordered->offset + 1; /* where the group's next value goes; in the end where the group after it begins */
    for (int64_t g = 0; g < groups; g++) next[g + 1] = next[g] + column->count[g];
    for (int64_t i = 0; i < tally->kept_count; i++)
        if (keys[i] >= 0)
            memcpy(ordered->values + (size_t)next[keys[i]]++ * nbytes, column->values + (size_t)i * nbytes, nbytes);
    return WF_OK;
}

/* Of values of one group, which has some. */
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

wf_error wf_tally_order_results(wf_handle *handle, const struct wf_tally *tally, const struct wf_tally_column *column, wf_op op,
                                void *results) {
    const size_t nbytes = wf_type_nbytes(tally->settings.type), result_nbytes = wf_type_nbytes(wf_tally_order_type(tally, op));
    struct ordered ordered = {NULL, NULL};
    wf_error error = sort_by_group(handle, tally, column, &ordered);
    for (int64_t g = 0; g < wf_tally_group_count(tally) && !error; g++) {
        const int64_t begin = ordered.offset[g], count = column->count[g];
        unsigned char *result = (unsigned char *)results + (size_t)g * result_nbytes;
        const wf_array values = wf_array_vector(ordered.values + (size_t)begin * nbytes, tally->settings.type, count);
        memset(result, 0, result_nbytes);
        if (count) error = reduce_group(handle, tally, op, &values, result);
        if (error) error = fail_at(handle, error, g);
    }
    free(ordered.values);
    free(ordered.offset);
    return error;
}
