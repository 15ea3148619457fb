/* The public functions of reductions: check the arguments, call the device, finish the result. */
#include "core/array.h"
#include "core/environment.h"
#include "core/grouped.h"
#include "core/handle.h"
#include "core/reduction.h"
#include "core/saved.h"
#include "core/shaped.h"
#include "core/shaped_groups.h"
#include "core/subtract.h"
#include "core/view.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the reduction itself ---- */

static wf_error check_nan(wf_handle *handle, const struct wf_accumulator *acc) {
    if (acc->nan != WF_NAN_ERROR || !acc->partial.nan_count) return WF_OK;
    return wf_fail(handle, WF_ERROR_NAN, "NaN at index %lld", (long long)acc->partial.first_nan);
}

static wf_error add_checked(wf_handle *handle, struct wf_accumulator *acc, const wf_array *a, const wf_array *b,
                            int64_t count) {
    wf_error error = wf_check_total_count(handle, acc, count);
    if (!error && count) error = handle->device->add(handle, acc, a, b);
    if (error) return error;
    acc->count += count;
    acc->end_index += count;
    return check_nan(handle, acc);
}

static wf_error add(wf_handle *handle, struct wf_accumulator *acc, const wf_array *a, const wf_array *b) {
    int64_t count;
    wf_error error = wf_check_operands(handle, acc, a, b, &count);
    return error ? error : add_checked(handle, acc, a, b, count);
}

/* *is_certain: unset where sums lack so much that there is no telling. */
static wf_error finish_if_any(wf_handle *handle, const struct wf_accumulator *acc, wf_op op, wf_value *result,
                              bool *is_certain) {
    if (acc->losses && !wf_losses_are_none(acc->losses) && wf_op_parts(op) & WF_PARTS_SUMS) {
        *is_certain &= wf_accumulator_finish_within(acc, op, result);
        return WF_OK;
    }
    wf_error error = wf_accumulator_finish(handle, acc, op, result);
    bool exists = error != WF_ERROR_EMPTY && error != WF_ERROR_MERGE;
    if (!exists) *result = (wf_value){.type = WF_TYPE_DEFAULT};
    return exists ? error : WF_OK;
}

static wf_error check_stats(wf_handle *handle, const wf_stats *stats) {
    if (!stats) return wf_fail(handle, WF_ERROR_ARGUMENT, "stats is NULL");
    if (stats->nbytes < sizeof *stats)
        return wf_fail(handle, WF_ERROR_ARGUMENT, "stats.nbytes is %zu: set it to sizeof(wf_stats)", stats->nbytes);
    return WF_OK;
}

static wf_error finish_stats(wf_handle *handle, const struct wf_accumulator *acc, wf_stats *stats, bool *is_certain) {
    wf_stats made = {
        .nbytes = stats->nbytes,
        .count = (uint64_t)wf_accumulator_element_count(acc),
        .nans = acc->partial.nan_count,
    };
    const struct {
        wf_op op;
        wf_value *value;
    } list[] = {
        {WF_SUM, &made.sum},       {WF_MEAN, &made.mean},       {WF_VAR, &made.var},
        {WF_STD, &made.std},       {WF_MIN, &made.min},         {WF_MAX, &made.max},
        {WF_ARGMIN, &made.argmin}, {WF_ARGMAX, &made.argmax},   {WF_NONZERO, &made.nonzero},
        {WF_NORM1, &made.norm1},   {WF_NORM2, &made.norm2},     {WF_NORMINF, &made.norminf},
    };
    *is_certain = true;
    for (size_t i = 0; i < sizeof list / sizeof list[0] && *is_certain; i++) {
        wf_error error = finish_if_any(handle, acc, list[i].op, list[i].value, is_certain);
        if (error) return error;
    }
    if (*is_certain) *stats = made;
    return WF_OK;
}

/* Makes acc the reduction of all elements.  losses: NULL, or what its sums may lack. */
static wf_error reduce(wf_handle *handle, struct wf_accumulator *acc, const wf_reduction *reduction,
                       const wf_array *a, const wf_array *b, struct wf_tree *tree, struct wf_losses *losses) {
    if (!handle) return WF_ERROR_ARGUMENT;
    if (!a) return wf_fail(handle, WF_ERROR_ARGUMENT, "the array is NULL");
    wf_error error = wf_reduction_begin(handle, acc, reduction, a->type, tree);
    if (error) return error;
    acc->losses = wf_accumulator_may_lose(acc) ? losses : NULL;
    return add(handle, acc, a, b);
}

/* ---- one call, one value ---- */

/* Reduces a few elements without an accumulator, which would cost more than they do.  Returns false if the general path
 * must find the value, or the error. */
static bool try_few(wf_handle *handle, const wf_reduction *reduction, const wf_array *a, const wf_array *b,
                    wf_value *value) {
    if (!handle || !reduction || !a || b || !handle->device->reduce_few || wf_reduction_check(NULL, reduction)) return false;
    return handle->device->reduce_few(reduction, a, value);
}

static wf_error find_value(wf_handle *handle, const wf_reduction *reduction, const wf_array *a, const wf_array *b,
                           struct wf_tree *tree, wf_value *value) {
    struct wf_accumulator acc;
    struct wf_losses losses = {.allowed = WF_LOSE_MUCH};
    wf_error error = reduce(handle, &acc, reduction, a, b, tree, &losses);
    while (!error && !wf_losses_are_none(&losses)) {
        if (wf_accumulator_finish_within(&acc, acc.op, value)) return WF_OK;
        wf_losses_lessen(&losses);
        error = reduce(handle, &acc, reduction, a, b, tree, &losses);
    }
    if (!error) error = wf_accumulator_finish(handle, &acc, acc.op, value);
    if (error != WF_ERROR_EMPTY || !reduction->fill) return error;
    return wf_fill_value(handle, reduction, wf_accumulator_result_type(&acc, acc.op), value);
}

/* Apart, so that only what needs a tree has one on its stack. */
static __attribute__((noinline)) wf_error find_product(wf_handle *handle, const wf_reduction *reduction,
                                                       const wf_array *a, const wf_array *b, wf_value *value) {
    struct wf_tree tree;
    return find_value(handle, reduction, a, b, &tree, value);
}

wf_error wf_reduce_value(wf_handle *handle, const wf_reduction *reduction, const wf_array *a, const wf_array *b,
                         wf_value *value) {
    if (!value) return wf_fail(handle, WF_ERROR_ARGUMENT, "value is NULL");
    if (try_few(handle, reduction, a, b, value)) return WF_OK;
    if (reduction && reduction->op == WF_STATS)
        return wf_fail(handle, WF_ERROR_ARGUMENT, "stats has no single value: use wf_reduce_stats");
    if (reduction && a && reduction->op == WF_PROD) return find_product(handle, reduction, a, b, value);
    return find_value(handle, reduction, a, b, NULL, value);
}

wf_error wf_reduce_stats(wf_handle *handle, const wf_reduction *reduction, const wf_array *array, wf_stats *stats) {
    struct wf_accumulator acc;
    wf_error error = check_stats(handle, stats);
    if (!error && reduction && reduction->op != WF_STATS)
        error = wf_fail(handle, WF_ERROR_ARGUMENT, "wf_reduce_stats takes the op WF_STATS, not %d", (int)reduction->op);
    struct wf_losses losses = {.allowed = WF_LOSE_MUCH};
    bool is_certain = false;
    if (!error) error = reduce(handle, &acc, reduction, array, NULL, NULL, &losses);
    if (!error) error = finish_stats(handle, &acc, stats, &is_certain);
    if (error || is_certain) return error;
    losses = (struct wf_losses){.allowed = WF_LOSE_NOTHING};
    error = reduce(handle, &acc, reduction, array, NULL, NULL, &losses);
    return error ? error : finish_stats(handle, &acc, stats, &is_certain);
}

/* ---- one call, an output ---- */

/* Checks that output takes results of the reduction.  If only the output names a result type, the
 * reduction gets it. */
static wf_error check_output(wf_handle *handle, const wf_output *output, wf_reduction *reduction) {
    if (!output) return wf_fail(handle, WF_ERROR_ARGUMENT, "the output, or its data, is NULL");
    if (reduction->op == WF_STATS)
        return wf_fail(handle, WF_ERROR_ARGUMENT, "stats has no single value: use wf_reduce_stats");
    if (!reduction->result_type) reduction->result_type = output->type;
    if (output->type && output->type != reduction->result_type)
        return wf_fail(handle, WF_ERROR_ARGUMENT, "the output's type, %d, is not the reduction's result type, %d",
                       (int)output->type, (int)reduction->result_type);
    return WF_OK;
}

static wf_error check_single(wf_handle *handle, const wf_output *output) {
    if (!output->data) return wf_fail(handle, WF_ERROR_ARGUMENT, "the output, or its data, is NULL");
    if (output->ndim)
        return wf_fail(handle, WF_ERROR_ARGUMENT, "the output has %d dimensions; one result has 0", (int)output->ndim);
    return WF_OK;
}

static bool is_strided(const struct wf_accumulator *empty, const wf_array *a, const wf_array *b) {
    struct wf_view view;
    wf_view_make(&view, a, b, wf_accumulator_is_indexed(empty));
    return !wf_view_is_packed(&view);
}

static wf_error reduce_on_device(wf_handle *handle, const wf_reduction *reduction, const wf_array *a,
                                 const wf_array *b, const wf_output *output) {
    struct wf_accumulator empty;
    struct wf_tree tree;
    int64_t count;
    wf_error error = wf_reduction_begin(handle, &empty, reduction, a->type, &tree);
    if (!error) error = wf_check_operands(handle, &empty, a, b, &count);
    if (!error) error = wf_check_total_count(handle, &empty, count);
    if (error) return error;
    wf_type type = wf_accumulator_result_type(&empty, empty.op);
    size_t nbytes = wf_type_nbytes(type);
    if ((uintptr_t)output->data % nbytes || (uintptr_t)output->status % sizeof *output->status)
        return wf_fail(handle, WF_ERROR_ARGUMENT, "results and status in device memory must be aligned to their size");
    if (empty.tree || (count && is_strided(&empty, a, b)))
        return wf_reduce_groups(handle, reduction, a, b, &(wf_groups){.by = WF_GROUP_ALL}, output);
    wf_value fill;
    if (reduction->fill) error = wf_fill_value(handle, reduction, type, &fill);
    return error ? error : handle->device->reduce_on_device(handle, &empty, a, b, reduction->fill ? &fill : NULL, output);
}

static wf_error reduce_to_host(wf_handle *handle, const wf_reduction *reduction, const wf_array *a, const wf_array *b,
                               const wf_output *output) {
    wf_value value;
    wf_error error = wf_reduce_value(handle, reduction, a, b, &value);
    if (!error) wf_value_store(&value, output->data);
    return error;
}

/* Makes one result of all elements. */
static wf_error reduce_all(wf_handle *handle, const wf_reduction *reduction, const wf_array *a, const wf_array *b,
                           const wf_output *output, bool is_on_device) {
    wf_error error = check_single(handle, output);
    if (error) return error;
    return (is_on_device ? reduce_on_device : reduce_to_host)(handle, reduction, a, b, output);
}

wf_error wf_reduce(wf_handle *handle, const wf_reduction *reduction, const wf_array *a, const wf_array *b,
                   const wf_groups *groups, const wf_output *output) {
    bool is_on_device = false;
    if (!handle) return WF_ERROR_ARGUMENT;
    wf_error error = wf_reduction_check(handle, reduction);
    if (!error && !a) error = wf_fail(handle, WF_ERROR_ARGUMENT, "the array is NULL");
    if (error) return error;
    wf_reduction known = *reduction;
    known.nbytes = sizeof known;
    error = check_output(handle, output, &known);
    if (!error && handle->device->find_output) error = handle->device->find_output(handle, output, &is_on_device);
    if (error) return error;
    bool all = !groups || groups->by == WF_GROUP_ALL;
    error = all ? reduce_all(handle, &known, a, b, output, is_on_device)
                : wf_reduce_groups(handle, &known, a, b, groups, output);
    bool is_status_here = output->data && !is_on_device; /* without data nobody knows where the status is */
    if (output->status && is_status_here) *output->status = error;
    return error;
}

/* ---- accumulators ---- */

/* The memory of an accumulator that a caller owns, with the tree that some products need. */
struct owned {
    struct wf_accumulator accumulator; /* first: it is freed by its address */
    struct wf_tree tree;
};

wf_error wf_accumulator_create(wf_handle *handle, const wf_reduction *reduction, wf_type type, int32_t ndim,
                               const int64_t *shape, wf_accumulator **accumulator) {
    if (!accumulator) return wf_fail(handle, WF_ERROR_ARGUMENT, "accumulator is NULL");
    *accumulator = NULL;
    if (ndim) return wf_shaped_create(handle, reduction, type, ndim, shape, accumulator);
    if (reduction && reduction->fill)
        return wf_fail(handle, WF_ERROR_UNSUPPORTED, "fill values need an accumulator with a shape");
    struct owned *made = malloc(sizeof *made);
    if (!made) return wf_fail(handle, WF_ERROR_MEMORY, "no memory for an accumulator");
    wf_error error = wf_reduction_begin(handle, &made->accumulator, reduction, type, &made->tree);
    if (error) {
        free(made);
        return error;
    }
    *accumulator = &made->accumulator;
    return WF_OK;
}

void wf_accumulator_destroy(wf_accumulator *accumulator) {
    if (accumulator && accumulator->shaped)
        wf_shaped_destroy(accumulator->shaped);
    else
        free(accumulator);
}

static wf_error check_accumulator(wf_handle *handle, const wf_accumulator *accumulator) {
    if (!handle) return WF_ERROR_ARGUMENT;
    if (!accumulator) return wf_fail(handle, WF_ERROR_ARGUMENT, "the accumulator is NULL");
    return WF_OK;
}

/* An accumulator for one result, which has no shape. */
static wf_error check_single_accumulator(wf_handle *handle, const wf_accumulator *accumulator) {
    wf_error error = check_accumulator(handle, accumulator);
    if (!error && accumulator->shaped)
        error = wf_fail(handle, WF_ERROR_ARGUMENT, "the accumulator has a shape: use wf_accumulator_result");
    return error;
}

/* Checks that all elements are one group, however that is said. */
static wf_error check_one_group(wf_handle *handle, const struct wf_accumulator *acc, const wf_array *a, const wf_array *b,
                                const wf_groups *groups) {
    struct wf_layout layout;
    int64_t count;
    if (!groups || groups->by == WF_GROUP_ALL) return WF_OK;
    wf_error error = wf_check_operands(handle, acc, a, b, &count);
    if (!error) error = wf_layout_make(handle, &layout, a, b, groups);
    return error ? error : wf_shape_check(handle, "accumulator", 0, NULL, layout.ndim, layout.shape);
}

wf_error wf_accumulator_add(wf_handle *handle, wf_accumulator *accumulator, const wf_array *a, const wf_array *b,
                            const wf_groups *groups) {
    wf_error error = check_accumulator(handle, accumulator);
    if (error) return error;
    if (accumulator->shaped) return wf_shaped_add(handle, accumulator->shaped, a, b, groups);
    error = check_one_group(handle, accumulator, a, b, groups);
    return error ? error : add(handle, accumulator, a, b);
}

static wf_error check_alike(wf_handle *handle, const wf_accumulator *a, const wf_accumulator *b) {
    wf_error error = check_accumulator(handle, a);
    if (!error) error = check_accumulator(handle, b);
    if (error) return error;
    if (!a->shaped != !b->shaped)
        return wf_fail(handle, WF_ERROR_MERGE, "the accumulators have different shapes: one of them has none");
    if (a->op != b->op || a->type != b->type)
        return wf_fail(handle, WF_ERROR_MERGE, "%s of %s and %s of %s cannot be merged", wf_op_name(a->op),
                       wf_type_name(a->type), wf_op_name(b->op), wf_type_name(b->type));
    if (a->nan != b->nan || a->result_type != b->result_type || a->ddof != b->ddof)
        return wf_fail(handle, WF_ERROR_MERGE,
                       "accumulators with different NaN policies, result types or ddof cannot be merged");
    return WF_OK;
}

wf_error wf_accumulator_merge(wf_handle *handle, wf_accumulator *into, const wf_accumulator *from) {
    wf_error error = check_alike(handle, into, from);
    if (!error && into->shaped) return wf_shaped_merge(handle, into->shaped, from->shaped);
    if (!error && from->count > INT64_MAX - into->count)
        error = wf_fail(handle, WF_ERROR_RANGE, "more than 2^63 - 1 elements");
    if (error) return error;
    wf_environment callers = wf_environment_enter();
    bool joined = wf_accumulator_join(into, from);
    wf_environment_leave(callers);
    if (!joined)
        return wf_fail(handle, WF_ERROR_MERGE,
                       "elements %lld to %lld and %lld to %lld are not neighbours, as %s needs; give each "
                       "accumulator its own first index",
                       (long long)into->first_index, (long long)into->end_index - 1, (long long)from->first_index,
                       (long long)from->end_index - 1, wf_op_name(into->op));
    wf_accumulator_join_indices(into, from);
    return WF_OK;
}

wf_error wf_accumulator_append(wf_handle *handle, wf_accumulator *into, wf_accumulator *from) {
    wf_error error = check_alike(handle, into, from);
    if (error) return error;
    if (into == from) return wf_fail(handle, WF_ERROR_ARGUMENT, "an accumulator cannot be appended to itself: load a saved copy");
    if (!into->shaped) return wf_fail(handle, WF_ERROR_MERGE, "the accumulators have no shape: only rows of results follow each other");
    return wf_shaped_append(handle, into->shaped, from->shaped);
}

static void swap_shaped(struct wf_shaped *one, struct wf_shaped *other) {
    const struct wf_shaped kept = *one;
    *one = *other;
    *other = kept;
    one->common.shaped = one;
    other->common.shaped = other;
    if (one->common.tree) one->common.tree = &one->tree;
    if (other->common.tree) other->common.tree = &other->tree;
}

static void swap_owned(struct owned *one, struct owned *other) {
    const struct owned kept = *one;
    *one = *other;
    *other = kept;
    if (one->accumulator.tree) one->accumulator.tree = &one->tree;
    if (other->accumulator.tree) other->accumulator.tree = &other->tree;
}

wf_error wf_accumulator_swap(wf_handle *handle, wf_accumulator *one, wf_accumulator *other) {
    wf_error error = check_accumulator(handle, one);
    if (!error) error = check_accumulator(handle, other);
    if (error) return error;
    if (!one->shaped != !other->shaped)
        return wf_fail(handle, WF_ERROR_MERGE, "the accumulators cannot be exchanged: one of them has a shape, the other none");
    if (one->shaped)
        swap_shaped(one->shaped, other->shaped);
    else
        swap_owned((struct owned *)one, (struct owned *)other);
    return WF_OK;
}

static wf_error subtract(wf_handle *handle, wf_accumulator *from, const wf_accumulator *part) {
    struct wf_accumulator rest = *from;
    wf_error error = check_nan(handle, from);
    if (!error) error = check_nan(handle, part);
    if (error) return error;
    const char *why = wf_subtract(&rest, part);
    if (why) return wf_fail(handle, WF_ERROR_MERGE, "this was not added: %s", why);
    wf_subtract_indices(&rest, part);
    if (!rest.count) rest.xor_alone = false;
    *from = rest;
    return WF_OK;
}

wf_error wf_accumulator_subtract(wf_handle *handle, wf_accumulator *from, const wf_accumulator *part) {
    wf_error error = check_alike(handle, from, part);
    if (!error) error = wf_subtract_check(handle, from);
    if (error) return error;
    return from->shaped ? wf_shaped_subtract(handle, from->shaped, part->shaped) : subtract(handle, from, part);
}

wf_error wf_accumulator_value(wf_handle *handle, const wf_accumulator *accumulator, wf_op op, wf_value *value) {
    wf_error error = check_single_accumulator(handle, accumulator);
    if (!error && !value) error = wf_fail(handle, WF_ERROR_ARGUMENT, "value is NULL");
    return error ? error : wf_accumulator_finish(handle, accumulator, op, value);
}

wf_error wf_accumulator_result(wf_handle *handle, const wf_accumulator *accumulator, wf_op op,
                               const wf_output *output) {
    wf_value value;
    wf_error error = check_accumulator(handle, accumulator);
    if (!error && output && accumulator->shaped) return wf_shaped_result(handle, accumulator->shaped, op, output);
    if (!error && (!output || !output->data))
        error = wf_fail(handle, WF_ERROR_ARGUMENT, "the output, or its data, is NULL");
    if (!error && output->ndim)
        error = wf_fail(handle, WF_ERROR_ARGUMENT, "the output has %d dimensions; one result has 0", (int)output->ndim);
    if (error) return error;
    error = wf_accumulator_finish(handle, accumulator, op, &value);
    if (!error && output->type && output->type != value.type)
        error = wf_fail(handle, WF_ERROR_ARGUMENT, "the output's type is %s, but the accumulator's result is %s",
                        wf_type_name(output->type), wf_type_name(value.type));
    if (!error) wf_value_store(&value, output->data);
    if (output->status) *output->status = error;
    return error;
}

wf_error wf_accumulator_stats(wf_handle *handle, const wf_accumulator *accumulator, wf_stats *stats) {
    wf_error error = check_single_accumulator(handle, accumulator);
    if (!error) error = check_stats(handle, stats);
    if (!error && accumulator->op != WF_STATS)
        error = wf_fail(handle, WF_ERROR_UNSUPPORTED, "an accumulator of %s cannot yield stats: create it with WF_STATS",
                        wf_op_name(accumulator->op));
    bool is_certain;
    return error ? error : finish_stats(handle, accumulator, stats, &is_certain); /* whose sums lack nothing */
}

/* Checks the output of a count of an accumulator without a shape. */
static wf_error check_count_output(wf_handle *handle, const wf_output *output) {
    if (!output) return WF_OK;
    wf_error error = check_single(handle, output);
    if (error || !output->type || output->type == WF_U64) return error;
    return wf_fail(handle, WF_ERROR_ARGUMENT, "the output's type is %s, but counts are u64", wf_type_name(output->type));
}

wf_error wf_accumulator_counts(wf_handle *handle, const wf_accumulator *accumulator, const wf_output *counts,
                               const wf_output *nans) {
    wf_error error = check_accumulator(handle, accumulator);
    if (!error && accumulator->shaped) return wf_shaped_counts(handle, accumulator->shaped, counts, nans);
    if (!error) error = check_count_output(handle, counts);
    if (!error) error = check_count_output(handle, nans);
    if (error) return error;
    int64_t count = wf_accumulator_element_count(accumulator);
    if (counts) memcpy(counts->data, &count, sizeof count);
    if (nans) memcpy(nans->data, &accumulator->partial.nan_count, sizeof count);
    return WF_OK;
}

wf_op wf_accumulator_op(const wf_accumulator *accumulator) {
    return accumulator ? accumulator->op : WF_OP_NONE;
}

wf_type wf_accumulator_type(const wf_accumulator *accumulator) {
    return accumulator ? accumulator->type : WF_TYPE_DEFAULT;
}

int64_t wf_accumulator_count(const wf_accumulator *accumulator) {
    if (accumulator && accumulator->shaped) return wf_shaped_element_count(accumulator->shaped);
    return accumulator ? accumulator->count : 0;
}

wf_error wf_accumulator_shape(const wf_accumulator *accumulator, int32_t *ndim, int64_t *shape) {
    const struct wf_shaped *shaped = accumulator ? accumulator->shaped : NULL;
    if (!accumulator || !ndim || !shape) return WF_ERROR_ARGUMENT;
    *ndim = shaped ? shaped->ndim : 0;
    for (int32_t d = 0; d < *ndim; d++) shape[d] = shaped->shape[d];
    return WF_OK;
}

static wf_error fail_capacity(wf_handle *handle, size_t nbytes, size_t capacity) {
    return wf_fail(handle, WF_ERROR_ARGUMENT, "the saved form needs %zu bytes, but the buffer has %zu", nbytes, capacity);
}

static wf_error save_shaped(wf_handle *handle, const struct wf_shaped *shaped, void *buffer, size_t capacity,
                            size_t *nbytes) {
    wf_environment callers = wf_environment_enter();
    *nbytes = wf_saved_write_shaped(shaped, NULL);
    bool fits = *nbytes <= capacity;
    if (fits) wf_saved_write_shaped(shaped, buffer);
    wf_environment_leave(callers);
    return fits ? WF_OK : fail_capacity(handle, *nbytes, capacity);
}

wf_error wf_accumulator_save(wf_handle *handle, const wf_accumulator *accumulator, void *buffer, size_t capacity,
                             size_t *nbytes) {
    wf_error error = check_accumulator(handle, accumulator);
    if (error) return error;
    if (!nbytes || (!buffer && capacity))
        return wf_fail(handle, WF_ERROR_ARGUMENT, "the buffer or its length is NULL");
    if (accumulator->shaped) return save_shaped(handle, accumulator->shaped, buffer, capacity, nbytes);
    uint8_t bytes[WF_SAVED_NBYTES_MAX];
    struct wf_accumulator copy = *accumulator;
    wf_environment callers = wf_environment_enter();
    *nbytes = wf_saved_write(&copy, bytes);
    wf_environment_leave(callers);
    if (*nbytes > capacity) return fail_capacity(handle, *nbytes, capacity);
    memcpy(buffer, bytes, *nbytes);
    return WF_OK;
}

wf_error wf_accumulator_load(wf_handle *handle, const void *buffer, size_t nbytes, wf_accumulator **accumulator) {
    if (!handle || !accumulator || !buffer)
        return wf_fail(handle, WF_ERROR_ARGUMENT, "the buffer or the accumulator is NULL");
    struct wf_shaped *shaped = NULL;
    *accumulator = NULL;
    struct owned *made = calloc(1, sizeof *made);
    if (!made) return wf_fail(handle, WF_ERROR_MEMORY, "no memory for an accumulator");
    made->accumulator.tree = &made->tree;
    wf_environment callers = wf_environment_enter();
    wf_error error = wf_saved_read(handle, buffer, nbytes, &made->accumulator, &shaped);
    wf_environment_leave(callers);
    if (!error) *accumulator = shaped ? &shaped->common : &made->accumulator;
    if (error || shaped) free(made);
    return error;
}
