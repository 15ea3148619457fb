/* From the rows of a tally to its results. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/ops.h"
#include "core/shaped_groups.h"
#include "io/quote.h"
#include "io/tally.h"
#include "io/tally_parts.h"

/* ---- the rows that are kept, as the engine takes them ---- */

struct kept {
    wf_array values, labels;
    wf_groups groups;
    int64_t offsets[2];
};

/* One group of all rows is a segment, which needs no sorting. */
static void view_kept(struct kept *kept, const struct wf_tally *tally, const struct wf_tally_column *column) {
    const int64_t count = wf_tally_group_count(tally);
    kept->values = wf_array_vector(column->values, tally->settings.type, tally->kept_count);
    kept->offsets[0] = 0;
    kept->offsets[1] = tally->kept_count;
    if (!tally->by_count && !column->keys) {
        kept->labels = wf_array_vector(kept->offsets, WF_I64, 2);
        kept->groups = wf_groups_segments(0, 1, &kept->labels);
    } else {
        kept->labels = wf_array_vector(column->keys ? column->keys : tally->row_key, WF_I32, tally->kept_count);
        kept->groups = wf_groups_keys(0, count, &kept->labels);
    }
}

/* ---- accumulators ---- */

static wf_error settle_column(wf_handle *handle, struct wf_tally *tally, struct wf_tally_column *column) {
    struct kept kept;
    view_kept(&kept, tally, column);
    for (size_t k = 0; k < tally->carrier_count; k++) {
        wf_accumulator *accumulator = column->accumulator[k];
        wf_error error = wf_shaped_grow(handle, accumulator->shaped, wf_tally_group_count(tally));
        if (!error && tally->kept_count)
            error = wf_accumulator_add(handle, accumulator, &kept.values, NULL, &kept.groups);
        if (error) return error;
    }
    return WF_OK;
}

wf_error wf_tally_settle(wf_handle *handle, struct wf_tally *tally) {
    wf_error error = wf_tally_expand_pairs(handle, tally);
    if (!error) error = wf_tally_count_kept(handle, tally);
    for (size_t c = 0; c < tally->column_count && !error; c++)
        error = settle_column(handle, tally, &tally->column[c]);
    if (error) return error;
    for (size_t c = 0; c < tally->column_count; c++) {
        free(tally->column[c].keys);
        tally->column[c].keys = NULL;
    }
    tally->kept_count = 0;
    tally->counted_rows = 0;
    tally->has_accumulators = true;
    return WF_OK;
}

/* ---- results ---- */

/* The op whose results are asked of the engine: of decimals' means the sums. */
static wf_op engine_op(const struct wf_tally *tally, wf_op op) {
    return tally->settings.decimals != WF_NO_DECIMALS && op == WF_MEAN ? WF_SUM : op;
}

bool wf_tally_has_result(const struct wf_tally *tally, size_t column, wf_op op, int64_t group) {
    return wf_tally_count_of(&tally->column[column], group) >= wf_tally_least_count(tally, op);
}

static wf_error from_accumulator(wf_handle *handle, struct wf_tally *tally, size_t column, wf_op op, const wf_output *output) {
    size_t k = 0;
    while (k + 1 < tally->carrier_count && !wf_tally_carries(tally->carrier[k], op)) k++;
    return wf_accumulator_result(handle, tally->column[column].accumulator[k], op, output);
}

static wf_error from_kept(wf_handle *handle, struct wf_tally *tally, size_t column, wf_op op, const wf_output *output) {
    const wf_reduction reduction = wf_tally_reduction(tally, op);
    struct kept kept;
    if (wf_tally_has_short_groups(tally, op) && !wf_tally_short_results(handle, tally, column, op, output)) return WF_OK;
    view_kept(&kept, tally, &tally->column[column]);
    return wf_reduce(handle, &reduction, &kept.values, NULL, &kept.groups, output);
}

/* "result 5: why" */
static wf_error name_failure(wf_handle *handle, const struct wf_tally *tally, size_t c, wf_error error) {
    const char *message = wf_handle_message(handle), *why;
    char copy[512], key[160];
    long long group = 0;
    if (strncmp(message, "result ", 7) != 0 || !(why = strstr(message, ": "))) return error;
    group = strtoll(message + 7, NULL, 10);
    snprintf(copy, sizeof copy, "%s", why + 2);
    size_t nbytes, used = 0;
    const unsigned char *text = wf_texts_get(&tally->keys, (int32_t)group, &nbytes);
    key[0] = '\0';
    for (size_t b = 0; b < tally->by_count && used < sizeof key - 70; b++) {
        size_t length;
        const unsigned char *part = wf_key_part(text, nbytes, tally->by_count, b, &length);
        used += (size_t)snprintf(key + used, sizeof key - used, "%s%s", b ? ", " : ", group ", wf_quote(part, length).text);
    }
    return wf_fail(handle, error, "column %s%s: %s", wf_quote(tally->name[c], strlen(tally->name[c])).text, key, copy);
}

/* Sums of decimals to means, each in the place of the other. */
static void divide(const struct wf_tally *tally, const struct wf_tally_column *column, void *results) {
    char *place = results;
    for (int64_t g = 0; g < wf_tally_group_count(tally); g++, place += sizeof(int64_t)) {
        int64_t sum;
        wf_value mean = {.type = WF_F64};
        memcpy(&sum, place, sizeof sum);
        const int64_t count = wf_tally_count_of(column, g);
        if (count) mean = wf_decimal_mean(sum, count, tally->settings.decimals, WF_F64);
        memcpy(place, &mean.v.f64, sizeof mean.v.f64);
    }
}

/* Without pairs the memory of what finds keys is needed for the values (tally_short.c). */
uint64_t *wf_tally_reserve_results(struct wf_tally *tally, size_t count) {
    const size_t nbytes = count * (size_t)wf_tally_group_count(tally) * sizeof(uint64_t) + 1;
    if (tally->has_pairs && !tally->results.at) tally->results = wf_texts_seal(&tally->keys);
    if (tally->results.nbytes >= nbytes) return tally->results.at;
    wf_pages_free(tally->results);
    tally->results = (struct wf_pages){.at = calloc(1, nbytes), .nbytes = nbytes};
    return tally->results.at;
}

wf_error wf_tally_results(wf_handle *handle, struct wf_tally *tally, size_t c, wf_op op, void *results) {
    const struct wf_tally_column *column = &tally->column[c];
    const int64_t count = wf_tally_group_count(tally);
    wf_error error = tally->has_accumulators ? wf_tally_settle(handle, tally) : wf_tally_count_kept(handle, tally);
    if (error) return error;
    if (op == WF_TALLY_COUNT) {
        for (int64_t g = 0; g < count; g++) ((int64_t *)results)[g] = wf_tally_count_of(column, g);
        return WF_OK;
    }
    if (!count) return WF_OK;
    if (wf_tally_is_of_order(op)) {
        error = wf_tally_order_results(handle, tally, c, op, results);
        return error ? name_failure(handle, tally, c, error) : WF_OK;
    }
    if (tally->has_pairs && wf_tally_pair_results(handle, tally, op, results)) return WF_OK;
    error = wf_tally_expand_pairs(handle, tally);
    if (error) return error;
    const wf_op asked = engine_op(tally, op);
    const wf_output output = {.data = results, .ndim = 1, .shape = &count,
                              .type = asked == op ? wf_tally_result_type(tally, op) : WF_I64};
    error = (tally->has_accumulators ? from_accumulator : from_kept)(handle, tally, c, asked, &output);
    if (error) return name_failure(handle, tally, c, error);
    if (asked != op) divide(tally, column, results);
    return WF_OK;
}
