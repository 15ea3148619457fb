/* Saved accumulators that may be damaged: what loads must be as sound as what was saved by honest means. */
#include <stdlib.h>
#include <string.h>

#include "core/saved.h"
#include "warpfold.h"

#define SETTINGS_NBYTES 8 /* mode, op, type, NaN policy, result type, ddof, first index, edits and results */
#define EDIT_NBYTES 3     /* two of position, one of change */
#define RESULTS_MAX 3     /* of an honest accumulator with a shape */
#define SAVED_NBYTES_MAX (RESULTS_MAX * WF_SAVED_NBYTES_MAX)

/* The checksum ends the form: without this the fuzzer would hardly ever get past it. */
static void mend_checksum(uint8_t *bytes, size_t nbytes) {
    if (nbytes < 4) return;
    uint32_t checksum = wf_saved_checksum(bytes, nbytes - 4);
    for (int i = 0; i < 4; i++) bytes[nbytes - 4 + (size_t)i] = (uint8_t)(checksum >> (8 * i));
}

/* Of an accumulator with a shape. */
static void use_arrays(wf_handle *handle, const wf_accumulator *accumulator, int32_t ndim, const int64_t *shape) {
    int64_t count = 1;
    for (int32_t d = 0; d < ndim; d++) count *= shape[d];
    void *data = malloc((size_t)count * 8 + 1);
    if (!data) abort();
    for (wf_op op = WF_SUM; op < WF_OP_COUNT; op++) {
        const wf_output output = {.data = data, .ndim = ndim, .shape = shape};
        (void)wf_accumulator_result(handle, accumulator, op, &output);
    }
    free(data);
}

static void use_results(wf_handle *handle, const wf_accumulator *accumulator) {
    int64_t shape[WF_NDIM_MAX];
    int32_t ndim;
    if (wf_accumulator_shape(accumulator, &ndim, shape) != WF_OK) abort();
    if (ndim) {
        use_arrays(handle, accumulator, ndim, shape);
        return;
    }
    for (wf_op op = WF_SUM; op < WF_OP_COUNT; op++) {
        wf_value value;
        char text[128];
        if (wf_accumulator_value(handle, accumulator, op, &value) != WF_OK) continue;
        if (wf_value_format(&value, 0, text, sizeof text) >= sizeof text) abort();
        if (wf_value_format(&value, 1, text, sizeof text) >= sizeof text) abort();
    }
    wf_stats stats;
    (void)wf_accumulator_stats(handle, accumulator, &stats);
}

/* Takes what the bytes hold out of the accumulator, and that out of itself; what is left must load when it is saved. */
static void use_difference(wf_handle *handle, wf_accumulator *accumulator, const uint8_t *bytes, size_t nbytes) {
    wf_accumulator *part, *left;
    uint8_t *saved = malloc(nbytes + 8);
    size_t saved_nbytes;
    if (!saved || wf_accumulator_load(handle, bytes, nbytes, &part) != WF_OK) abort();
    for (int i = 0; i < 2; i++) {
        if (wf_accumulator_subtract(handle, i ? part : accumulator, part) != WF_OK) continue;
        use_results(handle, i ? part : accumulator);
        if (wf_accumulator_save(handle, i ? part : accumulator, saved, nbytes + 8, &saved_nbytes) != WF_OK) abort();
        if (wf_accumulator_load(handle, saved, saved_nbytes, &left) != WF_OK) abort();
        wf_accumulator_destroy(left);
    }
    wf_accumulator_destroy(part);
    free(saved);
}

/* Loads the bytes; what loads must save as it was, must give results or errors, and must merge. */
static void load(wf_handle *handle, const uint8_t *bytes, size_t nbytes) {
    wf_accumulator *accumulator, *twin;
    if (wf_accumulator_load(handle, bytes, nbytes, &accumulator) != WF_OK) return;
    uint8_t *again = malloc(nbytes);
    size_t again_nbytes;
    if (!again || wf_accumulator_save(handle, accumulator, again, nbytes, &again_nbytes) != WF_OK) abort();
    if (again_nbytes != nbytes || memcmp(again, bytes, nbytes) != 0) abort();
    if (wf_accumulator_load(handle, again, again_nbytes, &twin) != WF_OK) abort();
    use_results(handle, accumulator);
    if (wf_accumulator_merge(handle, accumulator, twin) == WF_OK) use_results(handle, accumulator);
    if (wf_accumulator_merge(handle, twin, twin) == WF_OK) use_results(handle, twin);
    use_difference(handle, accumulator, again, nbytes);
    wf_accumulator_destroy(twin);
    free(again);
    wf_accumulator_destroy(accumulator);
}

/* Saves an honest accumulator of the data with the settings; 0 where there is none such. */
static size_t save_honest(wf_handle *handle, const uint8_t *settings, const uint8_t *data, size_t data_nbytes,
                          uint8_t *bytes) {
    wf_op op = (wf_op)(settings[1] % WF_OP_COUNT);
    wf_type type = (wf_type)(settings[2] % WF_TYPE_COUNT);
    wf_reduction reduction = wf_reduction_of(op);
    reduction.nan = (wf_nan)(settings[3] % 3);
    reduction.result_type = (wf_type)(settings[4] % WF_TYPE_COUNT);
    reduction.ddof = settings[5] % 3;
    reduction.first_index = settings[6];
    wf_accumulator *accumulator;
    int64_t results = settings[7] / 8 % (RESULTS_MAX + 1);
    if (wf_accumulator_create(handle, &reduction, type, results > 0, &results, &accumulator) != WF_OK) return 0;
    const int64_t count = (int64_t)(data_nbytes / wf_type_nbytes(type));
    const int64_t shape[2] = {results ? count / results : count, results};
    wf_array array = wf_array_nd(data, type, 1 + (results > 0), shape, NULL);
    const wf_groups columns = wf_groups_axes(1);
    (void)wf_accumulator_add(handle, accumulator, &array, op == WF_DOT ? &array : NULL, &columns);
    size_t nbytes;
    if (wf_accumulator_save(handle, accumulator, bytes, SAVED_NBYTES_MAX, &nbytes) != WF_OK) abort();
    wf_accumulator_destroy(accumulator);
    return nbytes;
}

static void load_edited(wf_handle *handle, const uint8_t *data, size_t nbytes) {
    if (nbytes < SETTINGS_NBYTES) return;
    size_t edits = data[7] % 8, edits_nbytes = edits * EDIT_NBYTES;
    if (nbytes < SETTINGS_NBYTES + edits_nbytes) return;
    const uint8_t *edit = data + SETTINGS_NBYTES, *elements = edit + edits_nbytes;
    uint8_t bytes[SAVED_NBYTES_MAX];
    size_t saved_nbytes = save_honest(handle, data, elements, nbytes - SETTINGS_NBYTES - edits_nbytes, bytes);
    if (saved_nbytes == 0) return;
    for (size_t i = 0; i < edits; i++, edit += EDIT_NBYTES) {
        bytes[(size_t)(edit[0] | edit[1] << 8) % saved_nbytes] ^= edit[2];
    }
    mend_checksum(bytes, saved_nbytes);
    load(handle, bytes, saved_nbytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes) {
    static wf_handle *handle; /* of the fuzzer's whole life */
    if (!handle && wf_handle_create("cpu", &handle) != WF_OK) abort();
    uint8_t mended[SAVED_NBYTES_MAX];
    if (nbytes == 0) return 0;
    switch (data[0] % 4) {
    case 0:
        load(handle, data + 1, nbytes - 1);
        break;
    case 1:
        if (nbytes - 1 > sizeof mended) break;
        memcpy(mended, data + 1, nbytes - 1);
        mend_checksum(mended, nbytes - 1);
        load(handle, mended, nbytes - 1);
        break;
    default:
        load_edited(handle, data, nbytes);
    }
    return 0;
}
