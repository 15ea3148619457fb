/* The public functions of quantiles. */
#include "core/quantile.h"

#include <stdlib.h>

#include "core/array.h"
#include "core/handle.h"
#include "core/layout.h"
#include "core/selection.h"
#include "core/accumulator.h"
#include "io/key_pass.h"

/* ---- what is asked for ---- */

struct request {
    const wf_quantiles *quantiles;
    struct wf_ordering ordering;
    wf_type result_type;
    struct wf_fraction *fraction; /* of each q */
};

wf_type wf_quantiles_result_type(const wf_quantiles *quantiles, wf_type type) {
    if (!quantiles || !wf_type_is_valid(type) || (unsigned)quantiles->between > WF_MIDPOINT) return WF_TYPE_DEFAULT;
    if (quantiles->result_type) return quantiles->result_type;
    bool makes_new = quantiles->between == WF_LINEAR || quantiles->between == WF_MIDPOINT;
    return makes_new && !wf_type_is_float(type) ? WF_F64 : type;
}

static wf_error check_quantiles(wf_handle *handle, const wf_quantiles *quantiles) {
    if (!quantiles) return wf_fail(handle, WF_ERROR_ARGUMENT, "the quantiles are NULL");
    wf_error error = wf_check_nbytes(handle, "wf_quantiles", quantiles, quantiles->nbytes, sizeof *quantiles);
    if (error) return error;
    if (quantiles->count < 0 || quantiles->count > INT32_MAX || (quantiles->count && !quantiles->q))
        return wf_fail(handle, WF_ERROR_ARGUMENT, "the count of q must be 0 to 2^31 - 1, and q an array of that length");
    if ((unsigned)quantiles->between > WF_MIDPOINT)
        return wf_fail(handle, WF_ERROR_ARGUMENT, "invalid choice between two elements, %d", (int)quantiles->between);
    if ((unsigned)quantiles->nan > WF_NAN_ERROR)
        return wf_fail(handle, WF_ERROR_ARGUMENT, "invalid NaN policy %d", (int)quantiles->nan);
    if (quantiles->result_type && !wf_type_is_valid(quantiles->result_type))
        return wf_fail(handle, WF_ERROR_ARGUMENT, "invalid result type %d", (int)quantiles->result_type);
    return WF_OK;
}

static wf_error read_fractions(wf_handle *handle, struct request *request) {
    const wf_quantiles *quantiles = request->quantiles;
    for (int64_t i = 0; i < quantiles->count; i++)
        if (!wf_fraction_of(quantiles->q[i], &request->fraction[i]))
            return wf_fail(handle, WF_ERROR_ARGUMENT, "q is %.17g: a quantile is 0, or from 1e-20 to 1", quantiles->q[i]);
    return WF_OK;
}

/* After an error there is nothing to free. */
static wf_error begin_request(wf_handle *handle, struct request *request, const wf_quantiles *quantiles, wf_type type) {
    wf_error error = check_quantiles(handle, quantiles);
    if (error) return error;
    *request = (struct request){quantiles, wf_ordering_of(type), wf_quantiles_result_type(quantiles, type), NULL};
    request->fraction = malloc((size_t)(quantiles->count + 1) * sizeof *request->fraction);
    if (!request->fraction) return wf_fail(handle, WF_ERROR_MEMORY, "out of memory for the quantiles");
    error = read_fractions(handle, request);
    if (error) free(request->fraction);
    return error;
}

/* ---- results ---- */

static wf_error fail_empty(wf_handle *handle) {
    return wf_fail(handle, WF_ERROR_EMPTY, "a quantile of no elements is undefined");
}

static wf_error fail_memory(wf_handle *handle) {
    return wf_fail(handle, WF_ERROR_MEMORY, "out of memory for a selection");
}

static wf_error round_result(wf_handle *handle, const struct request *request, const struct wf_number *number, wf_value *value) {
    if (wf_number_round(number, request->result_type, value)) return WF_OK;
    return wf_fail(handle, WF_ERROR_RANGE, "%s does not fit in %s; ask for another result type",
                   number->kind == WF_NUMBER_NAN ? "NaN" : "a quantile", wf_type_name(request->result_type));
}

static wf_error fill_nan(wf_handle *handle, const struct request *request, wf_value *values) {
    const struct wf_number nan = wf_number_nan();
    wf_error error = WF_OK;
    for (int64_t i = 0; i < request->quantiles->count && !error; i++) error = round_result(handle, request, &nan, &values[i]);
    return error;
}

/* ---- of few keys ---- */

enum {
    SORTED_LENGTH_MAX = 1 << 14, /* keys: more of them are selected in passes */
    BUCKETS_LENGTH_MIN = 64,     /* fewer are sorted, and so are those of which much is asked */
    BUCKETS_Q_MAX = 4
};

static wf_error values_of_buckets(wf_handle *handle, const struct request *request, struct wf_buckets *buckets,
                                  wf_value *values) {
    wf_error error = WF_OK;
    for (int64_t i = 0; i < request->quantiles->count && !error; i++) {
        struct wf_place place = wf_quantile_place(request->fraction[i], request->quantiles->between, buckets->count);
        uint64_t lower = wf_buckets_key(buckets, place.lower), upper = wf_buckets_key(buckets, place.upper);
        struct wf_number number = wf_quantile_number(&request->ordering, &place, lower, upper);
        error = round_result(handle, request, &number, &values[i]);
    }
    return error;
}

static wf_error values_of_sorted(wf_handle *handle, const struct request *request, const uint64_t *keys, int64_t count,
                                 wf_value *values) {
    wf_error error = WF_OK;
    for (int64_t i = 0; i < request->quantiles->count && !error; i++) {
        struct wf_place place = wf_quantile_place(request->fraction[i], request->quantiles->between, count);
        struct wf_number number = wf_quantile_number(&request->ordering, &place, keys[place.lower], keys[place.upper]);
        error = round_result(handle, request, &number, &values[i]);
    }
    return error;
}

/* scratch must hold 2 * count keys. */
static wf_error values_of_keys(wf_handle *handle, const struct request *request, uint64_t *keys, uint64_t *scratch,
                               int64_t count, wf_value *values) {
    struct wf_buckets buckets;
    if (count >= BUCKETS_LENGTH_MIN && request->quantiles->count <= BUCKETS_Q_MAX) {
        wf_buckets_begin(&buckets, keys, scratch, count);
        return values_of_buckets(handle, request, &buckets, values);
    }
    wf_ordered_sort(keys, scratch, count);
    return values_of_sorted(handle, request, keys, count, values);
}

/* ---- of an input ---- */

static void add_to_selection(void *context, int thread, const uint64_t *keys, int64_t count) {
    wf_selection_add(context, thread, keys, count);
}

static wf_error explain(wf_handle *handle, wf_error error) {
    if (error == WF_ERROR_IO)
        return wf_fail(handle, error, "the input has changed while it was read several times");
    return error ? fail_memory(handle) : WF_OK;
}

static wf_error run_pass(struct wf_input *input, struct wf_selection *selection, int64_t *nan_count) {
    struct wf_key_pass pass;
    wf_error error = explain(input->handle, wf_selection_begin_pass(selection, input->thread_count));
    if (error) return error;
    wf_key_pass_begin(&pass, input->type, add_to_selection, selection);
    error = wf_key_pass_run(&pass, input);
    *nan_count = wf_key_pass_nan_count(&pass);
    return error ? error : explain(input->handle, wf_selection_end_pass(selection));
}

static int compare_positions(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* The positions of all quantiles, sorted, each once; returns how many. */
static int64_t list_positions(const struct request *request, int64_t count, int64_t *positions) {
    int64_t length = 0, unique = 0;
    for (int64_t i = 0; i < request->quantiles->count; i++) {
        struct wf_place place = wf_quantile_place(request->fraction[i], request->quantiles->between, count);
        positions[length++] = place.lower;
        positions[length++] = place.upper;
    }
    qsort(positions, (size_t)length, sizeof *positions, compare_positions);
    for (int64_t i = 0; i < length; i++)
        if (!unique || positions[i] != positions[unique - 1]) positions[unique++] = positions[i];
    return unique;
}

static uint64_t key_at(const struct wf_selection *selection, const int64_t *positions, int64_t position) {
    const int64_t *found = bsearch(&position, positions, (size_t)selection->target_count, sizeof *positions, compare_positions);
    return wf_selection_key(selection, found - positions);
}

static wf_error take_values(wf_handle *handle, const struct request *request, const struct wf_selection *selection,
                            const int64_t *positions, wf_value *values) {
    wf_error error = WF_OK;
    for (int64_t i = 0; i < request->quantiles->count && !error; i++) {
        struct wf_place place = wf_quantile_place(request->fraction[i], request->quantiles->between, selection->count);
        struct wf_number number =
            wf_quantile_number(&request->ordering, &place, key_at(selection, positions, place.lower),
                               key_at(selection, positions, place.upper));
        error = round_result(handle, request, &number, &values[i]);
    }
    return error;
}

/* Once the first pass has told how many keys there are. */
static wf_error select_positions(struct wf_input *input, const struct request *request, struct wf_selection *selection,
                                 wf_value *values) {
    int64_t nan_count, *positions = malloc(2 * (size_t)(request->quantiles->count + 1) * sizeof *positions);
    if (!positions) return fail_memory(input->handle);
    int64_t count = list_positions(request, selection->count, positions);
    wf_error error = explain(input->handle, wf_selection_aim(selection, positions, count));
    while (!error && wf_selection_is_open(selection)) error = run_pass(input, selection, &nan_count);
    if (!error) error = take_values(input->handle, request, selection, positions, values);
    free(positions);
    return error;
}

static wf_error values_of_input(struct wf_input *input, const struct request *request, wf_value *values) {
    struct wf_selection selection;
    wf_nan policy = request->quantiles->nan;
    int64_t nan_count;
    wf_selection_begin(&selection, &request->ordering, input->count);
    wf_error error = run_pass(input, &selection, &nan_count);
    if (!error && nan_count && policy == WF_NAN_ERROR)
        error = wf_fail_nan(input);
    else if (!error && nan_count && policy == WF_NAN_PROPAGATE)
        error = fill_nan(input->handle, request, values);
    else if (!error && !selection.count)
        error = fail_empty(input->handle);
    else if (!error)
        error = select_positions(input, request, &selection, values);
    wf_selection_end(&selection);
    return error;
}

wf_error wf_quantile_reader(wf_handle *handle, const wf_quantiles *quantiles, wf_reader *reader, wf_value *values) {
    struct request request;
    struct wf_input input;
    if (!handle || !reader || !values)
        return wf_fail(handle, WF_ERROR_ARGUMENT, "wf_quantile_reader needs a handle, a reader and memory for the result");
    wf_error error = begin_request(handle, &request, quantiles, wf_reader_type(reader));
    if (error) return error;
    wf_value *found = malloc((size_t)(quantiles->count + 1) * sizeof *found);
    error = found ? wf_input_of_reader(handle, reader, &input) : fail_memory(handle);
    if (!error) {
        error = values_of_input(&input, &request, found);
        wf_input_close(&input);
    }
    if (!error) memcpy(values, found, (size_t)quantiles->count * sizeof *found);
    free(found);
    free(request.fraction);
    return error;
}

/* ---- of an array, by groups ---- */

struct groups {
    wf_handle *handle;
    const struct request *request;
    const wf_array *array;
    const struct wf_layout *layout;
    const wf_output *output;
    int64_t stride_bytes[WF_NDIM_MAX]; /* of the output */
    bool has_groups; /* by axes: a group without a value is NaN */
    int64_t length_max; /* of groups that are copied and sorted whole */
};

/* What a thread needs. */
struct group_buffers {
    uint64_t *keys, *scratch;
    wf_value *values;
};

static bool make_buffers(const struct groups *groups, struct group_buffers *buffers) {
    size_t length = (size_t)groups->length_max + 1;
    buffers->keys = malloc(3 * length * sizeof *buffers->keys);
    buffers->values = malloc((size_t)(groups->request->quantiles->count + 1) * sizeof *buffers->values);
    buffers->scratch = buffers->keys ? buffers->keys + length : NULL;
    return buffers->keys && buffers->values;
}

static void free_buffers(struct group_buffers *buffers) {
    free(buffers->keys);
    free(buffers->values);
}

/* The elements of group g, which are none or lie at data. */
static wf_array array_of_group(const struct groups *groups, int64_t g) {
    const struct wf_layout *layout = groups->layout;
    const char *data = groups->array->data;
    for (int d = layout->ndim - 1; d >= 0 && layout->reduced_count; d--) {
        data += g % layout->shape[d] * layout->stride_bytes[0][d];
        g /= layout->shape[d];
    }
    return wf_array_nd(data, groups->array->type, layout->reduced_ndim, layout->reduced_shape, layout->reduced_stride_bytes[0]);
}

static void store_values(const struct groups *groups, int64_t g, const wf_value *values) {
    const struct wf_layout *layout = groups->layout;
    char *data = groups->output->data;
    for (int d = layout->ndim - 1; d >= 0; d--) {
        data += g % layout->shape[d] * groups->stride_bytes[d + 1];
        g /= layout->shape[d];
    }
    for (int64_t i = 0; i < groups->request->quantiles->count; i++) wf_value_store(&values[i], data + i * groups->stride_bytes[0]);
}

static wf_error values_of_long_group(const struct groups *groups, const wf_array *array, wf_value *values) {
    struct wf_input input;
    wf_error error = wf_input_of_array(groups->handle, array, &input);
    if (error) return error;
    error = values_of_input(&input, groups->request, values);
    wf_input_close(&input);
    return error;
}

static int64_t copy_keys(const struct groups *groups, const wf_array *array, uint64_t *keys) {
    enum { COPY_COUNT = 512 };
    unsigned char copy[8 * COPY_COUNT], *buffer[2] = {copy, copy};
    const unsigned char *data[2];
    struct wf_view view;
    int64_t count = 0;
    wf_view_make(&view, array, NULL, false);
    for (int64_t i = 0; i < view.count;) {
        int64_t block = wf_view_block(&view, i, view.count - i, COPY_COUNT, buffer, data, wf_copy_strided);
        count += wf_ordered_keys(&groups->request->ordering, data[0], block, keys + count);
        i += block;
    }
    return count;
}

/* The message goes to the handle, unless that is NULL. */
static wf_error values_of_short_group(const struct groups *groups, wf_handle *handle, const wf_array *array,
                                      struct group_buffers *buffers) {
    int64_t length = groups->layout->reduced_count, count = length ? copy_keys(groups, array, buffers->keys) : 0;
    wf_nan policy = groups->request->quantiles->nan;
    if (count < length && policy == WF_NAN_ERROR) return WF_ERROR_NAN;
    if (count < length && policy == WF_NAN_PROPAGATE) return fill_nan(handle, groups->request, buffers->values);
    if (!count) return fail_empty(handle);
    return values_of_keys(handle, groups->request, buffers->keys, buffers->scratch, count, buffers->values);
}

/* What a group that has no value gives. */
static wf_error settle_empty(const struct groups *groups, wf_handle *handle, wf_value *values) {
    if (groups->has_groups && wf_type_is_float(groups->request->result_type)) return fill_nan(handle, groups->request, values);
    return WF_ERROR_EMPTY;
}

static wf_error do_group(const struct groups *groups, wf_handle *handle, int64_t g, struct group_buffers *buffers) {
    wf_array array = array_of_group(groups, g);
    wf_error error = groups->layout->reduced_count > SORTED_LENGTH_MAX
                         ? values_of_long_group(groups, &array, buffers->values)
                         : values_of_short_group(groups, handle, &array, buffers);
    if (error == WF_ERROR_EMPTY) error = settle_empty(groups, handle, buffers->values);
    if (!error) store_values(groups, g, buffers->values);
    return error;
}

/* Does group g again, for the message that no thread but the caller's can leave. */
static wf_error explain_group(const struct groups *groups, int64_t g, wf_error error) {
    wf_handle *handle = groups->handle;
    char message[WF_MESSAGE_NBYTES];
    wf_array array = array_of_group(groups, g);
    if (error == WF_ERROR_NAN) {
        struct wf_input input = {.handle = handle, .type = array.type, .array = array};
        wf_fail_nan(&input);
    } else if (error == WF_ERROR_EMPTY) {
        fail_empty(handle);
    }
    if (!groups->has_groups) return error;
    memcpy(message, handle->message, sizeof message);
    return wf_fail(handle, error, "result %lld: %s", (long long)g, message);
}

struct group_pass {
    const struct groups *groups;
    atomic_llong next, failed; /* the first group that failed */
    atomic_int error;          /* of the first that failed with no memory, or 0 */
};

enum { GROUPS_AT_ONCE = 64 };

static void note_failure(struct group_pass *pass, int64_t g) {
    long long first = atomic_load(&pass->failed);
    while (g < first && !atomic_compare_exchange_weak(&pass->failed, &first, g)) continue;
}

static void do_groups(void *context, int i) {
    struct group_pass *pass = context;
    const struct groups *groups = pass->groups;
    struct group_buffers buffers;
    if (!make_buffers(groups, &buffers)) atomic_store(&pass->error, WF_ERROR_MEMORY);
    (void)i;
    while (!atomic_load(&pass->error)) {
        int64_t g = atomic_fetch_add(&pass->next, GROUPS_AT_ONCE), end = g + GROUPS_AT_ONCE;
        if (g >= groups->layout->count || g > atomic_load(&pass->failed)) break;
        for (; g < end && g < groups->layout->count; g++)
            if (do_group(groups, NULL, g, &buffers)) note_failure(pass, g);
    }
    free_buffers(&buffers);
}

static wf_error do_first_failed(const struct groups *groups, int64_t g) {
    struct group_buffers buffers;
    wf_error error = make_buffers(groups, &buffers) ? do_group(groups, groups->handle, g, &buffers) : fail_memory(groups->handle);
    free_buffers(&buffers);
    return error ? explain_group(groups, g, error) : WF_OK;
}

static wf_error do_short_groups(const struct groups *groups) {
    struct group_pass pass = {groups, 0, INT64_MAX, WF_OK};
    int64_t nbytes = groups->layout->count * groups->layout->reduced_count * (int64_t)wf_type_nbytes(groups->array->type);
    wf_input_run(groups->handle, nbytes, do_groups, &pass);
    if (atomic_load(&pass.error)) return fail_memory(groups->handle);
    return pass.failed == INT64_MAX ? WF_OK : do_first_failed(groups, pass.failed);
}

static wf_error do_long_groups(const struct groups *groups) {
    wf_error error = WF_OK;
    for (int64_t g = 0; g < groups->layout->count && !error; g++) error = do_first_failed(groups, g);
    return error;
}

static wf_error check_groups(wf_handle *handle, const wf_groups *groups) {
    if (!groups || groups->by == WF_GROUP_ALL || groups->by == WF_GROUP_AXES) return WF_OK;
    return wf_fail(handle, WF_ERROR_UNSUPPORTED, "quantiles by segments or keys are not supported: only along axes");
}

/* The results are an array, whose extent is within the address space. */
static wf_error check_output(wf_handle *handle, const wf_output *output, const struct request *request,
                             const struct wf_layout *layout, int64_t stride_bytes[WF_NDIM_MAX]) {
    int64_t shape[WF_NDIM_MAX + 1] = {request->quantiles->count}, count;
    if (output->type && output->type != request->result_type)
        return wf_fail(handle, WF_ERROR_ARGUMENT, "the output has type %s; the results have %s", wf_type_name(output->type),
                       wf_type_name(request->result_type));
    memcpy(shape + 1, layout->shape, (size_t)layout->ndim * sizeof *shape);
    wf_error error = wf_shape_check(handle, "output", output->ndim, output->shape, layout->ndim + 1, shape);
    if (error) return error;
    wf_array results = wf_array_nd(output->data, request->result_type, output->ndim, output->shape, output->stride_bytes);
    error = wf_array_check(handle, &results, NULL, &count);
    if (!error) wf_array_strides(&results, stride_bytes);
    return error;
}

static wf_error quantile_array(wf_handle *handle, const struct request *request, const wf_array *a, const wf_groups *by,
                               const wf_output *output) {
    struct wf_layout layout;
    struct groups groups = {handle, request, a, &layout, output, {0}, by && by->by == WF_GROUP_AXES, 0};
    wf_error error = check_groups(handle, by);
    if (!error) error = wf_layout_make(handle, &layout, a, NULL, by);
    if (!error) error = check_output(handle, output, request, &layout, groups.stride_bytes);
    if (!error) error = wf_input_check_memory(handle, a);
    if (error || !layout.count || !request->quantiles->count) return error;
    bool are_long = layout.reduced_count > SORTED_LENGTH_MAX;
    groups.length_max = are_long ? 0 : layout.reduced_count;
    return (are_long ? do_long_groups : do_short_groups)(&groups);
}

wf_error wf_quantile(wf_handle *handle, const wf_quantiles *quantiles, const wf_array *a, const wf_groups *groups,
                     const wf_output *output) {
    struct request request;
    int64_t count;
    if (!handle || !a || !output)
        return wf_fail(handle, WF_ERROR_ARGUMENT, "wf_quantile needs a handle, an array and an output");
    wf_error error = wf_array_check(handle, a, NULL, &count);
    if (!error) error = begin_request(handle, &request, quantiles, a->type);
    if (error) return error;
    error = quantile_array(handle, &request, a, groups, output);
    free(request.fraction);
    return error;
}
