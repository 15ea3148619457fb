/* Memory for the rows that a tally keeps, and for how many values each group has, which are counted here. */
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "io/tally.h"
#include "io/tally_parts.h"

static wf_error fail_memory(wf_handle *handle) {
    return wf_fail(handle, WF_ERROR_MEMORY, "no memory for the rows and groups of a table");
}

/* ---- rows ---- */

/* Grows the memory to that many items; false: out of memory, and the contents are unchanged. */
static bool grow(void **memory, int64_t count, size_t nbytes) {
    void *longer = realloc(*memory, (size_t)count * nbytes + 1);
    if (longer) *memory = longer;
    return longer;
}

bool wf_tally_grow_keys(int32_t **keys, int64_t count) {
    void *memory = *keys;
    bool has_grown = grow(&memory, count, sizeof **keys);
    *keys = memory;
    return has_grown;
}

wf_error wf_tally_reserve_rows(wf_handle *handle, struct wf_tally *tally, int64_t more) {
    const int64_t needed = tally->kept_count + more;
    if (needed <= tally->kept_capacity) return WF_OK;
    const int64_t capacity = needed < 2 * tally->kept_capacity ? 2 * tally->kept_capacity : needed;
    const size_t value_nbytes = wf_type_nbytes(tally->settings.type);
    bool has_grown = wf_tally_grow_keys(&tally->row_key, capacity);
    for (size_t c = 0; c < tally->column_count; c++) {
        struct wf_tally_column *column = &tally->column[c];
        void *values = column->values;
        has_grown = has_grown && grow(&values, capacity, value_nbytes);
        column->values = values;
        if (column->keys) has_grown = has_grown && wf_tally_grow_keys(&column->keys, capacity);
    }
    if (!has_grown) return fail_memory(handle);
    tally->kept_capacity = capacity;
    return WF_OK;
}

/* The numbers of the rows' keys. */
/* ---- counts ---- */

/* Counts of nbytes each, 0 for the groups from counted on; NULL without memory, and those that were there stay. */
static void *grow_counts(void *counts, size_t nbytes, int64_t counted, int64_t groups) {
    unsigned char *longer = realloc(counts, (size_t)(groups + 1) * nbytes);
    if (longer) memset(longer + (size_t)counted * nbytes, 0, (size_t)(groups + 1 - counted) * nbytes);
    return longer;
}

wf_error wf_tally_reserve_counts(wf_handle *handle, struct wf_tally *tally) {
    const int64_t counted = tally->counted_groups;
    int64_t groups = wf_tally_group_count(tally);
    if (groups <= counted && counted) return WF_OK;
    groups += counted / 4; /* more may follow */
    for (size_t c = 0; c < tally->column_count; c++) {
        struct wf_tally_column *column = &tally->column[c];
        void *longer = column->count ? grow_counts(column->count, sizeof *column->count, counted, groups)
                                     : grow_counts(column->few, sizeof *column->few, counted, groups);
        if (!longer) return fail_memory(handle);
        if (column->count) column->count = longer;
        else column->few = longer;
    }
    tally->counted_groups = groups;
    return WF_OK;
}

static wf_error widen(wf_handle *handle, struct wf_tally_column *column, int64_t groups) {
    if (column->count) return WF_OK;
    int64_t *count = malloc((size_t)(groups + 1) * sizeof *count);
    if (!count) return fail_memory(handle);
    for (int64_t g = 0; g <= groups; g++) count[g] = column->few[g];
    column->count = count;
    free(column->few);
    column->few = NULL;
    return WF_OK;
}

wf_error wf_tally_widen_counts(wf_handle *handle, struct wf_tally *tally) {
    wf_error error = wf_tally_reserve_counts(handle, tally);
    for (size_t c = 0; c < tally->column_count && !error; c++) error = widen(handle, &tally->column[c], tally->counted_groups);
    return error;
}

enum { COUNTS_AHEAD = 32 };

/* Counts rows as long as they are few, and returns how many: groups are many then, and bytes of all stay in a cache that
 * words would not. */
static int64_t count_few(unsigned char *few, const int32_t *keys, int64_t rows) {
    for (int64_t i = 0; i < rows; i++) {
        if (i + COUNTS_AHEAD < rows && keys[i + COUNTS_AHEAD] >= 0) __builtin_prefetch(few + keys[i + COUNTS_AHEAD], 1);
        if (keys[i] < 0) continue;
        if (few[keys[i]] == UINT8_MAX) return i;
        few[keys[i]]++;
    }
    return rows;
}

static void count_any(int64_t *count, const int32_t *keys, int64_t rows) {
    for (int64_t i = 0; i < rows; i++) {
        if (i + COUNTS_AHEAD < rows && keys[i + COUNTS_AHEAD] >= 0) __builtin_prefetch(count + keys[i + COUNTS_AHEAD], 1);
        if (keys[i] >= 0) count[keys[i]]++;
    }
}

static wf_error count_values(wf_handle *handle, struct wf_tally *tally, struct wf_tally_column *column) {
    const int64_t rows = tally->kept_count - tally->counted_rows;
    if (!rows) return WF_OK; /* there may be no memory for keys yet */
    const int32_t *keys = (column->keys ? column->keys : tally->row_key) + tally->counted_rows;
    const bool is_one = !tally->by_count && !column->keys;
    const int64_t counted = column->count || is_one ? 0 : count_few(column->few, keys, rows);
    if (counted == rows) return WF_OK;
    wf_error error = widen(handle, column, tally->counted_groups);
    if (error) return error;
    if (is_one) column->count[0] += rows;
    else count_any(column->count, keys + counted, rows - counted);
    return WF_OK;
}

/* Rows that were counted and are still kept are not counted again. */
wf_error wf_tally_count_kept(wf_handle *handle, struct wf_tally *tally) {
    wf_error error = wf_tally_reserve_counts(handle, tally);
    for (size_t c = 0; c < tally->column_count && !error; c++) error = count_values(handle, tally, &tally->column[c]);
    if (!error) tally->counted_rows = tally->kept_count;
    return error;
}
