#include <stdlib.h>
#include <string.h>

#include "core/shaped_groups.h"
#include "io/quote.h"
#include "io/tally.h"
#include "io/tally_parts.h"

/* In words, with the option that says it; NULL: nothing. */
static const char *differing_setting(const struct wf_tally_settings *a, const struct wf_tally_settings *b) {
    const bool have_same_ops = a->op_count == b->op_count && !memcmp(a->op, b->op, a->op_count * sizeof *a->op);
    return !have_same_ops                      ? "ops, or ops in another order,"
           : a->decimals != b->decimals       ? "numbers of decimals (--decimal)"
           : a->type != b->type               ? "types (--type)"
           : a->nan != b->nan                 ? "NaN policies (--nan)"
           : a->result_type != b->result_type ? "result types (--result-type)"
           : a->ddof != b->ddof               ? "ddof (--ddof)"
                                              : NULL;
}

static wf_error check_columns(wf_handle *handle, const struct wf_tally *a, const struct wf_tally *b) {
    if (a->column_count != b->column_count || a->by_count != b->by_count)
        return wf_fail(handle, WF_ERROR_MERGE, "tables of different columns cannot be merged: %zu by %zu here, %zu by %zu before",
                       b->column_count, b->by_count, a->column_count, a->by_count);
    for (size_t i = 0; i < a->column_count + a->by_count; i++)
        if (strcmp(a->name[i], b->name[i]) != 0)
            return wf_fail(handle, WF_ERROR_MERGE, "tables of different columns, or in another order, cannot be merged: %s here, %s "
                           "before", wf_quote(b->name[i], strlen(b->name[i])).text, wf_quote(a->name[i], strlen(a->name[i])).text);
    return WF_OK;
}

static wf_error check_alike(wf_handle *handle, const struct wf_tally *a, const struct wf_tally *b) {
    int64_t row_count;
    const char *differing = differing_setting(&a->settings, &b->settings);
    if (differing) return wf_fail(handle, WF_ERROR_MERGE, "tables with different %s cannot be merged", differing);
    wf_error error = check_columns(handle, a, b);
    if (error) return error;
    if (__builtin_add_overflow(a->row_count, b->row_count, &row_count))
        return wf_fail(handle, WF_ERROR_RANGE, "more than 2^63 - 1 rows");
    return WF_OK;
}

static wf_error fail_memory(wf_handle *handle) {
    return wf_fail(handle, WF_ERROR_MEMORY, "no memory to merge tables");
}

/* Adds the keys of from; to[i]: the number of its i-th. */
static wf_error merge_keys(wf_handle *handle, struct wf_texts *into, const struct wf_texts *from, int32_t *to) {
    for (int32_t i = 0; i < from->count; i++) {
        size_t nbytes;
        const unsigned char *text = wf_texts_get(from, i, &nbytes);
        to[i] = wf_texts_add(into, text, nbytes);
        if (to[i] < 0) return fail_memory(handle);
    }
    return WF_OK;
}

/* Whether the place is that of the line after the last one's. */
static bool goes_on(const struct wf_tally *into, const struct wf_place *place) {
    const struct wf_place *last = into->place_count ? &into->place[into->place_count - 1] : NULL;
    return last && last->file == place->file && place->line - place->row == last->line - last->row;
}

static wf_error merge_places(wf_handle *handle, struct wf_tally *into, const struct wf_tally *from, bool is_same_file) {
    const bool shares = is_same_file && into->file_count;
    const size_t count = into->place_count + from->place_count, file = into->file_count - shares;
    struct wf_place *longer = realloc(into->place, (count + 1) * sizeof *longer);
    if (!longer) return fail_memory(handle);
    into->place = longer;
    into->place_capacity = count + 1;
    for (size_t i = 0; i < from->place_count; i++) {
        struct wf_place place = from->place[i];
        place.row += into->row_count;
        place.file += (int64_t)file;
        if (!goes_on(into, &place)) longer[into->place_count++] = place;
    }
    for (size_t i = shares; i < from->file_count; i++) {
        wf_error error = wf_tally_add_file(handle, into, from->file[i]);
        if (error) return error;
    }
    return WF_OK;
}

static wf_error merge_column(wf_handle *handle, struct wf_tally *into, const struct wf_tally *from, size_t c,
                             const int32_t *to) {
    struct wf_tally_column *a = &into->column[c];
    const struct wf_tally_column *b = &from->column[c];
    for (int32_t i = 0; i < from->keys.count; i++) a->count[to[i]] += wf_tally_count_of(b, i);
    for (size_t k = 0; k < into->carrier_count; k++) {
        struct wf_accumulator *whole = a->accumulator[k], *part = b->accumulator[k];
        wf_error error = wf_shaped_grow(handle, whole->shaped, into->keys.count);
        if (!error) error = wf_accumulator_move(handle, part, into->row_count);
        if (!error) error = wf_shaped_merge_to(handle, whole->shaped, part->shaped, to);
        if (error) return error;
    }
    return WF_OK;
}

wf_error wf_tally_merge(wf_handle *handle, struct wf_tally *into, struct wf_tally *from, bool is_same_file) {
    wf_error error = check_alike(handle, into, from);
    if (!error) error = wf_tally_settle(handle, into);
    if (!error) error = wf_tally_settle(handle, from);
    int32_t *to = error ? NULL : malloc(((size_t)from->keys.count + 1) * sizeof *to);
    if (!error && !to) error = fail_memory(handle);
    if (!error) error = merge_keys(handle, &into->keys, &from->keys, to);
    if (!error) error = merge_places(handle, into, from, is_same_file);
    if (!error) error = wf_tally_widen_counts(handle, into);
    for (size_t c = 0; c < into->column_count && !error; c++) error = merge_column(handle, into, from, c, to);
    if (!error) into->row_count += from->row_count;
    free(to);
    return error;
}
