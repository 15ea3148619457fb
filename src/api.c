/* The public functions: check the arguments, hand the work to the device, finish the result. */
#include "core/environment.h"
#include "core/handle.h"
#include "core/saved.h"
#include "cpu/cpu.h"

#include <stdio.h>
#include <stdlib.h>

#define STRING_(x) #x
#define STRING(x) STRING_(x)

const char *wf_version(void) {
    return STRING(WF_VERSION_MAJOR) "." STRING(WF_VERSION_MINOR) "." STRING(WF_VERSION_PATCH);
}

/* ---- arrays ---- */

wf_array wf_array_strided(const void *data, wf_type type, int64_t count, int64_t stride_bytes) {
    wf_array array = {.data = data, .type = type, .ndim = 1};
    array.shape[0] = count;
    array.stride_bytes[0] = stride_bytes;
    return array;
}

wf_array wf_array_vector(const void *data, wf_type type, int64_t count) {
    return wf_array_strided(data, type, count, (int64_t)wf_type_nbytes(type));
}

wf_array wf_array_nd(const void *data, wf_type type, int32_t ndim, const int64_t *shape,
                     const int64_t *stride_bytes) {
    wf_array array = {.data = data, .type = type, .ndim = ndim};
    if (ndim < 0 || ndim > WF_NDIM_MAX || (ndim && !shape)) {
        array.ndim = -1;
        return array;
    }
    uint64_t packed = wf_type_nbytes(type);
    for (int d = ndim - 1; d >= 0; d--) {
        array.shape[d] = shape[d];
        array.stride_bytes[d] = stride_bytes ? stride_bytes[d] : (int64_t)packed;
        packed *= (uint64_t)shape[d];
    }
    return array;
}

/* The number of elements, or -1 where the shape has no sense or its extent no address. */
static int64_t count_elements(const wf_array *array) {
    int64_t count = 1, extent = 0;
    bool empty = false, overflow = false;
    for (int d = 0; d < array->ndim; d++) {
        int64_t shape = array->shape[d], stride = array->stride_bytes[d], reach;
        if (shape < 0) return -1;
        if (shape == 0) empty = true;
        if (empty || shape == 1) continue;
        overflow |= __builtin_mul_overflow(count, shape, &count);
        overflow |= stride == INT64_MIN || __builtin_mul_overflow(shape - 1, stride < 0 ? -stride : stride, &reach) ||
                    __builtin_add_overflow(extent, reach, &extent);
    }
    return empty ? 0 : overflow ? -1 : count;
}

static wf_error check_array(wf_handle *handle, const wf_array *array, int64_t *count) {
    if (!array) return wf_fail(handle, WF_ERROR_ARGUMENT, "the array is NULL");
    if (!wf_type_is_valid(array->type))
        return wf_fail(handle, WF_ERROR_ARGUMENT, "the array's type, %d, is none", (int)array->type);
    if (array->ndim < 0 || array->ndim > WF_NDIM_MAX)
        return wf_fail(handle, WF_ERROR_ARGUMENT, "the array must have from 0 to %d dimensions", WF_NDIM_MAX);
    *count = count_elements(array);
    if (*count < 0)
        return wf_fail(handle, WF_ERROR_ARGUMENT, "the array's shape is negative, or too large to be in memory");
    if (*count && !array->data) return wf_fail(handle, WF_ERROR_ARGUMENT, "the array's data is NULL");
    return WF_OK;
}

static wf_error check_pair(wf_handle *handle, const wf_array *a, const wf_array *b, int64_t *count) {
    wf_error error = check_array(handle, a, count);
    if (!error) error = check_array(handle, b, count);
    if (error) return error;
    if (a->type != b->type)
        return wf_fail(handle, WF_ERROR_ARGUMENT, "the arrays are of two types, %s and %s", wf_type_name(a->type),
                       wf_type_name(b->type));
    bool same = a->ndim == b->ndim;
    for (int d = 0; same && d < a->ndim; d++) same = a->shape[d] == b->shape[d];
    if (!same) return wf_fail(handle, WF_ERROR_ARGUMENT, "the arrays' shapes differ");
    return WF_OK;
}

/* ---- options ---- */

static const wf_options default_options;

static wf_error check_threads(wf_handle *handle, int32_t threads) {
    if (threads < 0) return wf_fail(handle, WF_ERROR_ARGUMENT, "threads must be 0 or more, not %d", (int)threads);
    return WF_OK;
}

static bool is_zero(const uint64_t *words, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (words[i]) return false;
    return true;
}

static wf_error check_options(wf_handle *handle, const wf_options *options) {
    if ((unsigned)options->nan > WF_NAN_ERROR)
        return wf_fail(handle, WF_ERROR_ARGUMENT, "there is no NaN policy %d", (int)options->nan);
    if (options->result_type && !wf_type_is_valid(options->result_type))
        return wf_fail(handle, WF_ERROR_ARGUMENT, "the result type, %d, is none", (int)options->result_type);
    if (options->ddof < 0) return wf_fail(handle, WF_ERROR_ARGUMENT, "ddof must be 0 or more");
    if (options->first_index < 0) return wf_fail(handle, WF_ERROR_ARGUMENT, "the first index must be 0 or more");
    if (options->reserved_i32 || !is_zero(options->reserved, sizeof options->reserved / sizeof(uint64_t)))
        return wf_fail(handle, WF_ERROR_ARGUMENT, "reserved fields of the options must be 0");
    return check_threads(handle, options->threads);
}

static wf_error check_op(wf_handle *handle, wf_op op, wf_type type) {
    if (!wf_op_parts(op)) return wf_fail(handle, WF_ERROR_ARGUMENT, "there is no op %d", (int)op);
    if (!wf_type_is_valid(type)) return wf_fail(handle, WF_ERROR_ARGUMENT, "there is no type %d", (int)type);
    if (op != WF_STATS && !wf_op_result_type(op, type))
        return wf_fail(handle, WF_ERROR_UNSUPPORTED, "%s is defined for integers and bool, not for %s",
                       wf_op_name(op), wf_type_name(type));
    return WF_OK;
}

/* ---- the reduction itself ---- */

static wf_error check_room(wf_handle *handle, const struct wf_accumulator *acc, int64_t count) {
    int64_t sum;
    if (__builtin_add_overflow(acc->count, count, &sum) || __builtin_add_overflow(acc->end_index, count, &sum))
        return wf_fail(handle, WF_ERROR_RANGE, "more than 2^63 - 1 elements");
    return WF_OK;
}

static wf_error nan_met(wf_handle *handle, const struct wf_accumulator *acc) {
    if (acc->nan != WF_NAN_ERROR || !acc->nan_count) return WF_OK;
    return wf_fail(handle, WF_ERROR_NAN, "NaN at index %lld", (long long)acc->first_nan);
}

static wf_error add_checked(wf_handle *handle, struct wf_accumulator *acc, const wf_array *a, const wf_array *b,
                            int64_t count, int32_t threads) {
    wf_error error = check_room(handle, acc, count);
    if (!error && count) error = handle->device->add(handle, acc, a, b, threads);
    if (error) return error;
    acc->count += count;
    acc->end_index += count;
    return nan_met(handle, acc);
}

/* Whether acc takes the arrays; b is NULL for one alone. */
static wf_error check_operands(wf_handle *handle, const struct wf_accumulator *acc, const wf_array *a,
                               const wf_array *b, int64_t *count) {
    wf_error error = b ? check_pair(handle, a, b, count) : check_array(handle, a, count);
    if (error) return error;
    if (wf_op_takes_pairs(acc->op) != (b != NULL))
        return wf_fail(handle, WF_ERROR_ARGUMENT, "%s takes %s", wf_op_name(acc->op),
                       b ? "one array" : "two arrays");
    if (a->type != acc->type)
        return wf_fail(handle, WF_ERROR_ARGUMENT, "an array of %s cannot be added to an accumulator of %s",
                       wf_type_name(a->type), wf_type_name(acc->type));
    return WF_OK;
}

static wf_error add(wf_handle *handle, struct wf_accumulator *acc, const wf_array *a, const wf_array *b,
                    int32_t threads) {
    int64_t count;
    wf_error error = check_operands(handle, acc, a, b, &count);
    return error ? error : add_checked(handle, acc, a, b, count, threads);
}

static wf_error finish_if_any(wf_handle *handle, const struct wf_accumulator *acc, wf_op op, wf_value *result) {
    wf_error error = wf_accumulator_finish(handle, acc, op, result);
    bool exists = error != WF_ERROR_EMPTY && error != WF_ERROR_MERGE;
    if (!exists) *result = (wf_value){.type = WF_TYPE_DEFAULT};
    return exists ? error : WF_OK;
}

static wf_error finish_stats(wf_handle *handle, const struct wf_accumulator *acc, wf_stats *stats) {
    wf_stats made = {
        .count = (uint64_t)(acc->count - (acc->nan == WF_NAN_OMIT ? acc->nan_count : 0)),
        .nans = (uint64_t)acc->nan_count,
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
    for (size_t i = 0; i < sizeof list / sizeof list[0]; i++) {
        wf_error error = finish_if_any(handle, acc, list[i].op, list[i].value);
        if (error) return error;
    }
    *stats = made;
    return WF_OK;
}

/* ---- reductions in one call ---- */

static wf_error begin(wf_handle *handle, struct wf_accumulator *acc, wf_op op, wf_type type,
                      const wf_options *options) {
    if (!options) options = &default_options;
    wf_error error = check_op(handle, op, type);
    if (!error) error = check_options(handle, options);
    if (error) return error;
    wf_accumulator_init(acc, op, type, options);
    return WF_OK;
}

static wf_error reduce(wf_handle *handle, struct wf_accumulator *acc, wf_op op, const wf_array *a,
                       const wf_array *b, const wf_options *options) {
    if (!handle) return WF_ERROR_ARGUMENT;
    int32_t threads = options ? options->threads : 0;
    if (!a) return wf_fail(handle, WF_ERROR_ARGUMENT, "the array is NULL");
    wf_error error = begin(handle, acc, op, a->type, options);
    if (error) return error;
    return add(handle, acc, a, b, threads);
}

/* A sum of a few floats, where nothing about it needs an accumulator.  False: to be found, or refused, as all else. */
static bool sum_few(wf_handle *handle, wf_op op, const wf_array *array, const wf_options *options,
                    wf_value *result) {
    struct wf_number sum;
    if (op != WF_SUM || !handle || !array || !handle->device->sum_few) return false;
    if (!options) options = &default_options;
    if (options->first_index || check_options(handle, options)) return false;
    wf_type type = options->result_type ? options->result_type : array->type;
    return handle->device->sum_few(array, &sum) && wf_number_round(&sum, type, result);
}

wf_error wf_reduce(wf_handle *handle, wf_op op, const wf_array *array, const wf_options *options,
                   wf_value *result) {
    struct wf_accumulator acc;
    if (!result) return wf_fail(handle, WF_ERROR_ARGUMENT, "result is NULL");
    if (op == WF_STATS) return wf_fail(handle, WF_ERROR_ARGUMENT, "stats has no single value: wf_reduce_stats");
    if (sum_few(handle, op, array, options, result)) return WF_OK;
    wf_error error = reduce(handle, &acc, op, array, NULL, options);
    return error ? error : wf_accumulator_finish(handle, &acc, op, result);
}

wf_error wf_reduce_pair(wf_handle *handle, wf_op op, const wf_array *a, const wf_array *b,
                        const wf_options *options, wf_value *result) {
    struct wf_accumulator acc;
    if (!result || !b) return wf_fail(handle, WF_ERROR_ARGUMENT, "an array or the result is NULL");
    wf_error error = reduce(handle, &acc, op, a, b, options);
    return error ? error : wf_accumulator_finish(handle, &acc, op, result);
}

wf_error wf_reduce_stats(wf_handle *handle, const wf_array *array, const wf_options *options, wf_stats *stats) {
    struct wf_accumulator acc;
    if (!stats) return wf_fail(handle, WF_ERROR_ARGUMENT, "stats is NULL");
    wf_error error = reduce(handle, &acc, WF_STATS, array, NULL, options);
    return error ? error : finish_stats(handle, &acc, stats);
}

/* ---- results that stay on the device ---- */

static wf_error check_device_result(wf_handle *handle, const wf_device_value *d_result) {
    if (!handle->device->reduce_on_device)
        return wf_fail(handle, WF_ERROR_UNSUPPORTED, "%s has no device memory: the handle must be a GPU's, or auto",
                       handle->device_name);
    if (!d_result || (uintptr_t)d_result % 8)
        return wf_fail(handle, WF_ERROR_ARGUMENT, "the result must lie in device memory, aligned to 8 bytes");
    return WF_OK;
}

static wf_error reduce_on_device(wf_handle *handle, wf_op op, const wf_array *a, const wf_array *b,
                                 const wf_options *options, wf_device_value *d_result) {
    struct wf_accumulator empty;
    int64_t count;
    if (!handle) return WF_ERROR_ARGUMENT;
    if (!a) return wf_fail(handle, WF_ERROR_ARGUMENT, "the array is NULL");
    if (op == WF_STATS) return wf_fail(handle, WF_ERROR_ARGUMENT, "stats has no single value");
    wf_error error = check_device_result(handle, d_result);
    if (!error) error = begin(handle, &empty, op, a->type, options);
    if (!error) error = check_operands(handle, &empty, a, b, &count);
    if (!error) error = check_room(handle, &empty, count);
    return error ? error : handle->device->reduce_on_device(handle, &empty, a, b, d_result);
}

wf_error wf_reduce_on_device(wf_handle *handle, wf_op op, const wf_array *array, const wf_options *options,
                             wf_device_value *d_result) {
    return reduce_on_device(handle, op, array, NULL, options, d_result);
}

wf_error wf_reduce_pair_on_device(wf_handle *handle, wf_op op, const wf_array *a, const wf_array *b,
                                  const wf_options *options, wf_device_value *d_result) {
    if (!b) return wf_fail(handle, WF_ERROR_ARGUMENT, "an array is NULL");
    return reduce_on_device(handle, op, a, b, options, d_result);
}

/* ---- accumulators ---- */

wf_error wf_accumulator_create(wf_handle *handle, wf_op op, wf_type type, const wf_options *options,
                               wf_accumulator **accumulator) {
    if (!accumulator) return wf_fail(handle, WF_ERROR_ARGUMENT, "accumulator is NULL");
    *accumulator = NULL;
    struct wf_accumulator *made = malloc(sizeof *made);
    if (!made) return wf_fail(handle, WF_ERROR_MEMORY, "no memory for an accumulator");
    wf_error error = begin(handle, made, op, type, options);
    if (error) {
        free(made);
        return error;
    }
    *accumulator = made;
    return WF_OK;
}

void wf_accumulator_destroy(wf_accumulator *accumulator) {
    free(accumulator);
}

static wf_error check_accumulator(wf_handle *handle, const wf_accumulator *accumulator) {
    if (!handle) return WF_ERROR_ARGUMENT;
    if (!accumulator) return wf_fail(handle, WF_ERROR_ARGUMENT, "the accumulator is NULL");
    return WF_OK;
}

wf_error wf_accumulator_add(wf_handle *handle, wf_accumulator *accumulator, const wf_array *array,
                            int32_t threads) {
    wf_error error = check_accumulator(handle, accumulator);
    if (!error) error = check_threads(handle, threads);
    return error ? error : add(handle, accumulator, array, NULL, threads);
}

wf_error wf_accumulator_add_pair(wf_handle *handle, wf_accumulator *accumulator, const wf_array *a,
                                 const wf_array *b, int32_t threads) {
    wf_error error = check_accumulator(handle, accumulator);
    if (!error) error = check_threads(handle, threads);
    if (!error && !b) error = wf_fail(handle, WF_ERROR_ARGUMENT, "the array is NULL");
    return error ? error : add(handle, accumulator, a, b, threads);
}

static wf_error check_alike(wf_handle *handle, const wf_accumulator *a, const wf_accumulator *b) {
    if (a->op != b->op || a->type != b->type)
        return wf_fail(handle, WF_ERROR_MERGE, "%s of %s and %s of %s cannot be merged", wf_op_name(a->op),
                       wf_type_name(a->type), wf_op_name(b->op), wf_type_name(b->type));
    if (a->nan != b->nan || a->result_type != b->result_type || a->ddof != b->ddof)
        return wf_fail(handle, WF_ERROR_MERGE,
                       "accumulators with different NaN policies, result types or ddof cannot be merged");
    return WF_OK;
}

/* The hull of both ranges of indices. */
static void join_indices(struct wf_accumulator *into, const struct wf_accumulator *from) {
    if (from->first_index == from->end_index) return;
    bool empty = into->first_index == into->end_index;
    if (empty || from->first_index < into->first_index) into->first_index = from->first_index;
    if (empty || from->end_index > into->end_index) into->end_index = from->end_index;
}

wf_error wf_accumulator_merge(wf_handle *handle, wf_accumulator *into, const wf_accumulator *from) {
    wf_error error = check_accumulator(handle, into);
    if (!error) error = check_accumulator(handle, from);
    if (!error) error = check_alike(handle, into, from);
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
    join_indices(into, from);
    return WF_OK;
}

wf_error wf_accumulator_result(wf_handle *handle, const wf_accumulator *accumulator, wf_op op, wf_value *result) {
    wf_error error = check_accumulator(handle, accumulator);
    if (!error && !result) error = wf_fail(handle, WF_ERROR_ARGUMENT, "result is NULL");
    return error ? error : wf_accumulator_finish(handle, accumulator, op, result);
}

wf_error wf_accumulator_stats(wf_handle *handle, const wf_accumulator *accumulator, wf_stats *stats) {
    wf_error error = check_accumulator(handle, accumulator);
    if (!error && !stats) error = wf_fail(handle, WF_ERROR_ARGUMENT, "stats is NULL");
    if (!error && accumulator->op != WF_STATS)
        error = wf_fail(handle, WF_ERROR_UNSUPPORTED, "an accumulator of %s does not hold what stats needs",
                        wf_op_name(accumulator->op));
    return error ? error : finish_stats(handle, accumulator, stats);
}

wf_op wf_accumulator_op(const wf_accumulator *accumulator) {
    return accumulator ? accumulator->op : WF_OP_NONE;
}

wf_type wf_accumulator_type(const wf_accumulator *accumulator) {
    return accumulator ? accumulator->type : WF_TYPE_DEFAULT;
}

int64_t wf_accumulator_count(const wf_accumulator *accumulator) {
    return accumulator ? accumulator->count : 0;
}

wf_error wf_accumulator_save(wf_handle *handle, const wf_accumulator *accumulator, void *buffer, size_t capacity,
                             size_t *nbytes) {
    wf_error error = check_accumulator(handle, accumulator);
    if (error) return error;
    if (!nbytes || (!buffer && capacity))
        return wf_fail(handle, WF_ERROR_ARGUMENT, "the buffer or its length is NULL");
    uint8_t bytes[WF_SAVED_NBYTES_MAX];
    struct wf_accumulator copy = *accumulator;
    wf_environment callers = wf_environment_enter();
    *nbytes = wf_saved_write(&copy, bytes);
    wf_environment_leave(callers);
    if (*nbytes > capacity)
        return wf_fail(handle, WF_ERROR_ARGUMENT, "the saved form has %zu bytes, the buffer %zu", *nbytes, capacity);
    memcpy(buffer, bytes, *nbytes);
    return WF_OK;
}

wf_error wf_accumulator_load(wf_handle *handle, const void *buffer, size_t nbytes, wf_accumulator **accumulator) {
    if (!handle || !accumulator || !buffer)
        return wf_fail(handle, WF_ERROR_ARGUMENT, "the buffer or the accumulator is NULL");
    *accumulator = NULL;
    struct wf_accumulator *made = calloc(1, sizeof *made);
    if (!made) return wf_fail(handle, WF_ERROR_MEMORY, "no memory for an accumulator");
    wf_environment callers = wf_environment_enter();
    wf_error error = wf_saved_read(handle, made, buffer, nbytes);
    wf_environment_leave(callers);
    if (error) {
        free(made);
        return error;
    }
    *accumulator = made;
    return WF_OK;
}
