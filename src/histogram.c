/* The public functions of histograms. */
#include <stdlib.h>

#include "core/array.h"
#include "core/accumulator.h"
#include "core/environment.h"
#include "core/quantile.h"
#include "io/key_pass.h"

enum { BINS_MAX = 1 << 20 };

/* ---- edges as keys ---- */

static int compare_magnitudes(const struct wf_number *a, const struct wf_number *b) {
    if (a->kind != b->kind) return a->kind < b->kind ? -1 : 1; /* zero, finite, infinite */
    if (a->kind != WF_NUMBER_FINITE) return 0;
    if (a->exponent != b->exponent) return a->exponent < b->exponent ? -1 : 1;
    return a->mantissa < b->mantissa ? -1 : a->mantissa > b->mantissa;
}

/* Below, at or above 0 as a is below, at or above b, both exact and no NaN; -0 equals +0. */
static int compare_numbers(const struct wf_number *a, const struct wf_number *b) {
    bool is_a_negative = a->negative && a->kind != WF_NUMBER_ZERO, is_b_negative = b->negative && b->kind != WF_NUMBER_ZERO;
    if (is_a_negative != is_b_negative) return is_a_negative ? -1 : 1;
    return is_a_negative ? -compare_magnitudes(a, b) : compare_magnitudes(a, b);
}

/* The bins' beginnings as keys: an element is in bin i, counted from 1, if i of them are not above its key. */
struct bins {
    uint64_t *begin;
    int64_t count; /* beginnings that some key reaches */
    int64_t edge_count;
    int64_t *counts; /* [thread][edge_count + 1] */
};

static bool is_reached(const struct wf_ordering *ordering, uint64_t key, const struct wf_number *edge, bool is_last) {
    struct wf_number number = wf_number_of_bits(ordering->type, wf_ordered_bits(ordering, key));
    return compare_numbers(&number, edge) >= is_last;
}

/* The first key that is not below the edge, or is above it if it is the last; false: none. */
static bool find_begin(const struct wf_ordering *ordering, const struct wf_number *edge, bool is_last, uint64_t *begin) {
    uint64_t low = ordering->lowest, high = ordering->highest;
    if (!is_reached(ordering, high, edge, is_last)) return false;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (is_reached(ordering, middle, edge, is_last))
            high = middle;
        else
            low = middle + 1;
    }
    *begin = low;
    return true;
}

static struct wf_number number_of_double(double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return wf_number_of_bits(WF_F64, bits);
}

/* is_closed: nothing is below the first edge, nor above the last. */
static void find_begins(const double *edges, bool is_closed, const struct wf_ordering *ordering, struct bins *bins) {
    bins->begin[0] = ordering->lowest;
    bins->count = is_closed;
    for (int64_t i = is_closed; i < bins->edge_count - is_closed; i++) {
        struct wf_number edge = number_of_double(edges[i]);
        if (!find_begin(ordering, &edge, i == bins->edge_count - 1, &bins->begin[i])) break;
        bins->count++;
    }
}

/* ---- counting ---- */

static void count_keys(void *context, int thread, const uint64_t *keys, int64_t count) {
    const struct bins *bins = context;
    int64_t *counts = bins->counts + thread * (bins->edge_count + 1);
    for (int64_t i = 0; i < count; i++) {
        int64_t at = 0, length = bins->count;
        for (int64_t half; length > 0; length -= half) {
            half = (length + 1) / 2;
            at += bins->begin[at + half - 1] <= keys[i] ? half : 0;
        }
        counts[at]++;
    }
}

static wf_error count_bins(struct wf_input *input, const struct wf_histogram *histogram, const double *edges, struct bins *bins,
                           int64_t *counts) {
    struct wf_key_pass pass;
    wf_key_pass_begin(&pass, input->type, count_keys, bins);
    find_begins(edges, !histogram->edges, &pass.ordering, bins);
    wf_error error = wf_key_pass_run(&pass, input);
    int64_t nan_count = wf_key_pass_nan_count(&pass), length = bins->edge_count + 1;
    if (!error && nan_count && histogram->nan == WF_NAN_ERROR) error = wf_fail_nan(input);
    if (error) return error;
    for (int64_t i = 0; i < length; i++) {
        counts[i] = 0;
        for (int t = 0; t < input->thread_count; t++) counts[i] += bins->counts[t * length + i];
    }
    counts[length] = nan_count;
    return WF_OK;
}

/* ---- bins of equal width ---- */

/* The least and the largest key that a thread has met. */
struct extent {
    uint64_t low, high;
};

static void extend(void *context, int thread, const uint64_t *keys, int64_t count) {
    struct extent extent = ((struct extent *)context)[thread];
    for (int64_t i = 0; i < count; i++) {
        extent.low = keys[i] < extent.low ? keys[i] : extent.low;
        extent.high = keys[i] > extent.high ? keys[i] : extent.high;
    }
    ((struct extent *)context)[thread] = extent;
}

static wf_error find_extent(struct wf_input *input, struct extent *extent) {
    struct wf_key_pass pass;
    struct extent extents[WF_INPUT_THREADS_MAX];
    int64_t count = 0;
    for (int i = 0; i < WF_INPUT_THREADS_MAX; i++) extents[i] = (struct extent){UINT64_MAX, 0};
    wf_key_pass_begin(&pass, input->type, extend, extents);
    wf_error error = wf_key_pass_run(&pass, input);
    *extent = extents[0];
    for (int i = 0; i < WF_INPUT_THREADS_MAX; i++) {
        if (extents[i].low < extent->low) extent->low = extents[i].low;
        if (extents[i].high > extent->high) extent->high = extents[i].high;
        count += pass.number_count[i];
    }
    if (error || count) return error;
    return wf_fail(input->handle, WF_ERROR_EMPTY, "a histogram of no numbers has no range: give its edges");
}

static double edge_at(const struct wf_ordering *ordering, struct extent extent, int64_t i, int64_t bins) {
    const struct wf_place place = {0, 0, (wf_u128)i, (wf_u128)bins};
    struct wf_number number = wf_quantile_number(ordering, &place, extent.low, extent.high);
    wf_value edge;
    wf_number_round(&number, WF_F64, &edge);
    return edge.v.f64;
}

static uint64_t key_of_double(double value) {
    const struct wf_ordering ordering = wf_ordering_of(WF_F64);
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return wf_ordered_key(&ordering, bits);
}

static struct extent widen(const struct wf_number *middle) {
    wf_value value;
    wf_number_round(middle, WF_F64, &value);
    wf_environment callers = wf_environment_enter();
    struct extent extent = {key_of_double(value.v.f64 - 0.5), key_of_double(value.v.f64 + 0.5)};
    wf_environment_leave(callers);
    return extent;
}

static wf_error find_edges(struct wf_input *input, int64_t bins, double *edges) {
    struct wf_ordering ordering = wf_ordering_of(input->type);
    struct extent extent;
    wf_error error = find_extent(input, &extent);
    if (error) return error;
    struct wf_number low = wf_number_of_bits(input->type, wf_ordered_bits(&ordering, extent.low));
    struct wf_number high = wf_number_of_bits(input->type, wf_ordered_bits(&ordering, extent.high));
    if (low.kind == WF_NUMBER_INFINITE || high.kind == WF_NUMBER_INFINITE)
        return wf_fail(input->handle, WF_ERROR_RANGE, "a histogram of infinities has no range: give its edges");
    if (!compare_numbers(&low, &high)) {
        extent = widen(&low);
        ordering = wf_ordering_of(WF_F64);
    }
    for (int64_t i = 0; i <= bins; i++) edges[i] = edge_at(&ordering, extent, i, bins);
    return WF_OK;
}

static wf_error count_input(struct wf_input *input, const struct wf_histogram *histogram, double *found_edges, int64_t *counts) {
    size_t edge_count = (size_t)histogram->edge_count;
    struct bins bins = {malloc(edge_count * sizeof *bins.begin), 0, histogram->edge_count,
                        calloc((size_t)input->thread_count * (edge_count + 1), sizeof *bins.counts)};
    double *edges = malloc(edge_count * sizeof *edges);
    wf_error error = WF_OK;
    if (!bins.begin || !bins.counts || !edges)
        error = wf_fail(input->handle, WF_ERROR_MEMORY, "out of memory for the bins");
    else if (histogram->edges)
        memcpy(edges, histogram->edges, edge_count * sizeof *edges);
    else
        error = find_edges(input, histogram->edge_count - 1, edges);
    if (!error) error = count_bins(input, histogram, edges, &bins, counts);
    if (!error && found_edges) memcpy(found_edges, edges, edge_count * sizeof *edges);
    free(bins.begin);
    free(bins.counts);
    free(edges);
    return error;
}

/* ---- the public functions ---- */

static wf_error check_histogram(wf_handle *handle, const wf_histogram *histogram) {
    if (!histogram) return wf_fail(handle, WF_ERROR_ARGUMENT, "the histogram is NULL");
    wf_error error = wf_check_nbytes(handle, "wf_histogram", histogram, histogram->nbytes, sizeof *histogram);
    if (error) return error;
    if (histogram->edge_count < 2 || histogram->edge_count > BINS_MAX + 1)
        return wf_fail(handle, WF_ERROR_ARGUMENT, "a histogram needs from 2 to 2^20 + 1 edges");
    if ((unsigned)histogram->nan > WF_NAN_ERROR)
        return wf_fail(handle, WF_ERROR_ARGUMENT, "invalid NaN policy %d", (int)histogram->nan);
    for (int64_t i = 0; histogram->edges && i < histogram->edge_count; i++)
        if (!(histogram->edges[i] >= histogram->edges[i ? i - 1 : 0]))
            return wf_fail(handle, WF_ERROR_ARGUMENT, "edge %lld, %.17g, is NaN or below the one before it", (long long)i,
                           histogram->edges[i]);
    return WF_OK;
}

wf_error wf_count_bins(wf_handle *handle, const wf_histogram *histogram, const wf_array *a, double *found_edges,
                       int64_t *counts) {
    struct wf_input input;
    int64_t length;
    if (!handle || !a || !counts)
        return wf_fail(handle, WF_ERROR_ARGUMENT, "wf_count_bins needs a handle, an array and memory for the result");
    wf_error error = wf_array_check(handle, a, NULL, &length);
    if (!error) error = check_histogram(handle, histogram);
    if (!error) error = wf_input_of_array(handle, a, &input);
    if (error) return error;
    error = count_input(&input, histogram, found_edges, counts);
    wf_input_close(&input);
    return error;
}

wf_error wf_count_bins_reader(wf_handle *handle, const wf_histogram *histogram, wf_reader *reader,
                              double *found_edges, int64_t *counts) {
    struct wf_input input;
    if (!handle || !reader || !counts)
        return wf_fail(handle, WF_ERROR_ARGUMENT, "wf_count_bins_reader needs a handle, a reader and memory for the result");
    wf_error error = check_histogram(handle, histogram);
    if (!error) error = wf_input_of_reader(handle, reader, &input);
    if (error) return error;
    error = count_input(&input, histogram, found_edges, counts);
    wf_input_close(&input);
    return error;
}
