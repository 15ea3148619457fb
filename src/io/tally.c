#include "io/tally.h"

#include <stdlib.h>
#include <string.h>

#include "core/ops.h"
#include "core/shaped_groups.h"
#include "io/tally_parts.h"

/* Rows that take less are kept, however few groups there are. */
#define KEPT_NBYTES_MIN ((size_t)1 << 24)
#define UNPAIRED_NBYTES_MIN ((size_t)1 << 22)

static wf_error fail_memory(wf_handle *handle) {
    return wf_fail(handle, WF_ERROR_MEMORY, "no memory for the rows and groups of a table");
}

/* ---- beginning ---- */

/* Leaves out each op that another one carries; of two that carry each other the later. */
static void choose_carriers(struct wf_tally *tally) {
    const struct wf_tally_settings *settings = &tally->settings;
    for (size_t i = 0; i < settings->op_count; i++) {
        const wf_op op = settings->op[i];
        bool is_carried = op == WF_TALLY_COUNT || wf_tally_is_of_order(op);
        for (size_t k = 0; k < settings->op_count; k++) {
            const wf_op other = settings->op[k];
            if (k != i && other != WF_TALLY_COUNT && !wf_tally_is_of_order(other) && wf_tally_carries(other, op))
                is_carried |= k < i || !wf_tally_carries(op, other);
        }
        if (!is_carried) tally->carrier[tally->carrier_count++] = op;
    }
}

static wf_error make_accumulator(wf_handle *handle, const struct wf_tally *tally, wf_op op, wf_accumulator **made) {
    const wf_reduction reduction = wf_tally_reduction(tally, op);
    const int64_t shape[] = {0};
    return wf_accumulator_create(handle, &reduction, tally->settings.type, 1, shape, made);
}

static bool is_for_decimals(wf_op op) {
    switch (op) {
    case WF_TALLY_COUNT: case WF_SUM: case WF_MEAN: case WF_MIN: case WF_MAX: case WF_ARGMIN: case WF_ARGMAX:
    case WF_NORM1: case WF_NORMINF: case WF_ANY: case WF_ALL: case WF_NONZERO: return true;
    default: return false;
    }
}

static wf_error check_op(wf_handle *handle, const struct wf_tally *tally, wf_op op) {
    if (op == WF_TALLY_COUNT) return WF_OK;
    if (wf_tally_is_of_order(op) && tally->settings.decimals == WF_NO_DECIMALS) return WF_OK;
    if (wf_tally_is_of_order(op))
        return wf_fail(handle, WF_ERROR_UNSUPPORTED, "medians, quantiles and distinct values cannot be computed for decimals (--decimal)");
    if (wf_op_takes_pairs(op) || op == WF_STATS)
        return wf_fail(handle, WF_ERROR_UNSUPPORTED, "%s cannot be computed for columns of a table", wf_op_name(op));
    if (tally->settings.decimals != WF_NO_DECIMALS && !is_for_decimals(op))
        return wf_fail(handle, WF_ERROR_UNSUPPORTED, "%s cannot be computed for decimals (--decimal)", wf_op_name(op));
    wf_accumulator *accumulator = NULL;
    wf_error error = make_accumulator(handle, tally, op, &accumulator);
    wf_accumulator_destroy(accumulator);
    return error;
}

wf_error wf_tally_begin(wf_handle *handle, struct wf_tally *tally, const struct wf_tally_settings *settings) {
    memset(tally, 0, sizeof *tally);
    tally->settings = *settings;
    wf_texts_begin(&tally->keys);
    if (settings->decimals != WF_NO_DECIMALS && settings->result_type)
        return wf_fail(handle, WF_ERROR_UNSUPPORTED, "the results of decimals (--decimal) have types of their own");
    for (size_t i = 0; i < settings->op_count; i++) {
        wf_error error = check_op(handle, tally, settings->op[i]);
        if (error) return error;
    }
    choose_carriers(tally);
    return WF_OK;
}

static void clear_column(struct wf_tally_column *column, size_t carrier_count) {
    free(column->values);
    free(column->keys);
    free(column->few);
    free(column->count);
    for (size_t k = 0; column->accumulator && k < carrier_count; k++) wf_accumulator_destroy(column->accumulator[k]);
    free(column->accumulator);
}

void wf_tally_clear(struct wf_tally *tally) {
    for (size_t c = 0; tally->column && c < tally->column_count; c++)
        clear_column(&tally->column[c], tally->carrier_count);
    for (size_t i = 0; tally->name && i < tally->column_count + tally->by_count; i++) free(tally->name[i]);
    for (size_t i = 0; i < tally->file_count; i++) free(tally->file[i]);
    free(tally->column);
    free(tally->name);
    free(tally->file);
    free(tally->row_key);
    free(tally->place);
    wf_ordered_clear(&tally->ordered);
    wf_classes_clear(&tally->classes);
    wf_pages_free(tally->results);
    wf_texts_clear(&tally->keys);
    memset(tally, 0, sizeof *tally);
}

static wf_error make_column(wf_handle *handle, struct wf_tally *tally, struct wf_tally_column *column) {
    column->accumulator = calloc(tally->carrier_count + 1, sizeof *column->accumulator);
    if (!column->accumulator) return fail_memory(handle);
    for (size_t k = 0; k < tally->carrier_count; k++) {
        wf_error error = make_accumulator(handle, tally, tally->carrier[k], &column->accumulator[k]);
        if (error) return error;
    }
    return WF_OK;
}

wf_error wf_tally_set_columns(wf_handle *handle, struct wf_tally *tally, size_t column_count, size_t by_count,
                              char *const *name) {
    const size_t count = column_count + by_count;
    tally->name = calloc(count + 1, sizeof *tally->name);
    tally->column = calloc(column_count + 1, sizeof *tally->column);
    if (!tally->name || !tally->column) return fail_memory(handle);
    tally->column_count = column_count;
    tally->by_count = by_count;
    for (size_t i = 0; i < count; i++)
        if (!(tally->name[i] = strdup(name[i]))) return fail_memory(handle);
    for (size_t c = 0; c < column_count; c++) {
        wf_error error = make_column(handle, tally, &tally->column[c]);
        if (error) return error;
    }
    const bool has_group = by_count || wf_texts_add(&tally->keys, "", 0) == 0;
    return has_group ? WF_OK : fail_memory(handle);
}

wf_error wf_tally_add_file(wf_handle *handle, struct wf_tally *tally, const char *name) {
    char **longer = realloc(tally->file, (tally->file_count + 1) * sizeof *longer);
    if (longer) tally->file = longer;
    char *copy = longer ? strdup(name) : NULL;
    if (!copy) return fail_memory(handle);
    longer[tally->file_count++] = copy;
    return WF_OK;
}

/* ---- keeping rows ---- */

static wf_error find_keys(wf_handle *handle, struct wf_tally *tally, const struct wf_rows *rows) {
    int32_t *keys = tally->row_key + tally->kept_count;
    if (!rows->key) {
        memset(keys, 0, (size_t)rows->count * sizeof *keys);
        return WF_OK;
    }
    return wf_texts_add_all(&tally->keys, rows->key, rows->count, keys) ? WF_OK : fail_memory(handle);
}

static wf_error keep_values(wf_handle *handle, struct wf_tally *tally, const struct wf_rows *rows, size_t c) {
    const size_t nbytes = wf_type_nbytes(tally->settings.type);
    struct wf_tally_column *column = &tally->column[c];
    const int64_t kept = tally->kept_count;
    memcpy(column->values + (size_t)kept * nbytes, rows->values[c], (size_t)rows->count * nbytes);
    if (!column->keys && !rows->has_missing[c]) return WF_OK;
    if (!column->keys) {
        if (!wf_tally_grow_keys(&column->keys, tally->kept_capacity)) return fail_memory(handle);
        memcpy(column->keys, tally->row_key, (size_t)kept * sizeof *column->keys);
    }
    for (int64_t i = 0; i < rows->count; i++)
        column->keys[kept + i] = rows->missing[c][i] ? -1 : tally->row_key[kept + i];
    return WF_OK;
}

static wf_error note_places(wf_handle *handle, struct wf_tally *tally, const struct wf_rows *rows) {
    for (int64_t i = 0; i < rows->place_count; i++) {
        struct wf_place place = rows->place[i];
        const struct wf_place *last = tally->place_count ? &tally->place[tally->place_count - 1] : NULL;
        place.row += tally->row_count;
        if (last && last->file == place.file && place.line - place.row == last->line - last->row) continue;
        if (tally->place_count == tally->place_capacity) {
            const size_t larger = 2 * tally->place_capacity + 16;
            struct wf_place *longer = realloc(tally->place, larger * sizeof *longer);
            if (!longer) return fail_memory(handle);
            tally->place = longer;
            tally->place_capacity = larger;
        }
        tally->place[tally->place_count++] = place;
    }
    return WF_OK;
}

static size_t count_kept_bytes(const struct wf_tally *tally) {
    return (size_t)tally->kept_count * (tally->column_count * wf_type_nbytes(tally->settings.type) + sizeof *tally->row_key);
}

/* Whether the rows that are kept take more memory than accumulators of all groups do. */
static bool keeps_too_much(const struct wf_tally *tally) {
    const size_t kept_nbytes = count_kept_bytes(tally);
    size_t group_nbytes = 0;
    if (kept_nbytes < KEPT_NBYTES_MIN || wf_tally_keeps_rows(tally)) return false;
    for (size_t c = 0; c < tally->column_count; c++)
        for (size_t k = 0; k < tally->carrier_count; k++)
            group_nbytes += tally->column[c].accumulator[k]->shaped->result_words * sizeof(uint64_t);
    return kept_nbytes >= (size_t)wf_tally_group_count(tally) * group_nbytes;
}

wf_error wf_tally_add(wf_handle *handle, struct wf_tally *tally, const struct wf_rows *rows) {
    wf_error error = note_places(handle, tally, rows);
    if (error || !rows->count) return error; /* there may be no memory for rows yet */
    error = wf_tally_reserve_rows(handle, tally, rows->count);
    if (!error) error = find_keys(handle, tally, rows);
    for (size_t c = 0; c < tally->column_count && !error; c++) error = keep_values(handle, tally, rows, c);
    if (error) return error;
    tally->kept_count += rows->count;
    tally->row_count += rows->count;
    if (tally->has_pairs || (count_kept_bytes(tally) >= UNPAIRED_NBYTES_MIN && wf_tally_is_for_pairs(tally)))
        error = wf_tally_add_to_pairs(handle, tally);
    if (error) return error;
    return keeps_too_much(tally) ? wf_tally_settle(handle, tally) : WF_OK;
}

const char *wf_tally_find_row(const struct wf_tally *tally, int64_t row, int64_t *line) {
    size_t low = 0, high = tally->place_count;
    while (high - low > 1) {
        const size_t middle = low + (high - low) / 2;
        if (tally->place[middle].row <= row) low = middle;
        else high = middle;
    }
    const struct wf_place *place = &tally->place[low];
    *line = place->line + (row - place->row);
    return tally->file[place->file];
}
