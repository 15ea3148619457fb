/* Many groups of few rows, of which sums and means of f64 are asked for.  Each group has two f64, which are together exactly the
 * sum of its values: these need not be kept then, nor brought to their groups in the end, and a value goes to one distant
 * place.  The few values with which two f64 are not enough, infinities, NaNs and -0 are kept as rows are otherwise: the results of
 * their groups are the engine's.  If there are many in the end, or if the accumulators are needed, the pairs become rows again. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/environment.h"
#include "core/few.h"
#include "io/tally.h"
#include "io/tally_parts.h"

/* Together exactly the sum of those values of a group that are not kept. */
struct pair {
    double sum, rest; /* the sum rounded, and what is left of it */
};

static inline struct pair *pair_of(const struct wf_tally *tally, int32_t group) {
    return wf_texts_extra(&tally->keys, group);
}

static bool is_sum(wf_op op) {
    return op == WF_SUM || op == WF_MEAN;
}

bool wf_tally_is_for_pairs(const struct wf_tally *tally) {
    const struct wf_tally_settings *settings = &tally->settings;
    bool is_for_pairs = settings->type == WF_F64 && settings->decimals == WF_NO_DECIMALS && tally->column_count == 1 &&
                        !tally->has_accumulators && wf_tally_has_short_groups(tally, WF_SUM);
    for (size_t i = 0; i < settings->op_count; i++)
        is_for_pairs &= settings->op[i] == WF_TALLY_COUNT ||
                        (is_sum(settings->op[i]) && wf_tally_result_type(tally, settings->op[i]) == WF_F64);
    return is_for_pairs;
}

/* ---- adding ---- */

/* a + b rounded, and what is left, which is exact; NaN where the sum is no finite number. */
static inline struct pair two_sum(double a, double b) {
    const double sum = a + b, part = sum - a;
    return (struct pair){sum, (a - (sum - part)) + (b - part)};
}

/* false: the pair stays, as it would not be exact.  No sum tells -0 from 0, except for one of nothing but -0. */
static inline bool add_value(struct pair *pair, double x) {
    int64_t bits;
    memcpy(&bits, &x, sizeof bits);
    const struct pair high = two_sum(pair->sum, x), low = two_sum(pair->rest, high.rest);
    const struct pair sum = two_sum(high.sum, low.sum);
    const bool is_exact = (low.rest == 0) & (sum.rest == sum.rest) & (bits != INT64_MIN);
    if (is_exact) *pair = sum;
    return is_exact;
}

/* Counts a value; false: the counts are bytes, and it is too much for one. */
static inline bool count_value(const struct wf_tally_column *column, int32_t key) {
    if (!column->few) return column->count[key]++, true;
    if (column->few[key] == UINT8_MAX) return false;
    column->few[key]++;
    return true;
}

static inline void fetch(const struct wf_tally *tally, const struct wf_tally_column *column, int32_t key) {
    if (key < 0) return;
    __builtin_prefetch(pair_of(tally, key), 1);
    if (column->few) __builtin_prefetch(column->few + key, 1);
    else __builtin_prefetch(column->count + key, 1);
}

static void keep_row(const struct wf_tally *tally, int64_t from, int64_t to) {
    const struct wf_tally_column *column = &tally->column[0];
    memcpy(column->values + (size_t)to * sizeof(double), column->values + (size_t)from * sizeof(double), sizeof(double));
    tally->row_key[to] = tally->row_key[from];
    if (column->keys) column->keys[to] = column->keys[from];
}

/* Adds and counts rows from first on, and moves those that are left behind the first *kept; returns where it ended, or where
 * the counts are too small. */
static int64_t add_rows(const struct wf_tally *tally, int64_t first, int64_t *kept) {
    enum { AHEAD = 32 };
    const struct wf_tally_column *column = &tally->column[0];
    const int32_t *keys = column->keys ? column->keys : tally->row_key;
    const int64_t end = tally->kept_count;
    for (int64_t i = first; i < end; i++) {
        double value;
        if (i + AHEAD < end) fetch(tally, column, keys[i + AHEAD]);
        if (keys[i] < 0) continue;
        if (!count_value(column, keys[i])) return i;
        memcpy(&value, column->values + (size_t)i * sizeof value, sizeof value);
        if (!add_value(pair_of(tally, keys[i]), value)) keep_row(tally, i, (*kept)++);
    }
    return end;
}

static wf_error add_all(wf_handle *handle, struct wf_tally *tally) {
    int64_t kept = tally->counted_rows;
    const wf_environment callers = wf_environment_enter();
    wf_error error = WF_OK;
    for (int64_t next = kept; (next = add_rows(tally, next, &kept)) < tally->kept_count && !error;)
        error = wf_tally_widen_counts(handle, tally);
    wf_environment_leave(callers);
    tally->kept_count = tally->counted_rows = kept;
    return error;
}

/* No row has been counted before there are pairs. */
wf_error wf_tally_add_to_pairs(wf_handle *handle, struct wf_tally *tally) {
    wf_error error = wf_tally_reserve_counts(handle, tally);
    if (error) return error;
    if (!wf_texts_extend(&tally->keys)) return wf_fail(handle, WF_ERROR_MEMORY, "no memory for the groups of a table");
    tally->has_pairs = true;
    return add_all(handle, tally);
}

/* ---- back to rows ---- */

/* A group's values: its sum, what is left of that, and zeros, as many as there were. */
static void put_group(struct wf_tally *tally, int32_t group, int64_t count) {
    const struct wf_tally_column *column = &tally->column[0];
    const struct pair *pair = pair_of(tally, group);
    double *values = (double *)(void *)column->values;
    for (int64_t i = 0; i < count; i++) {
        const int64_t row = tally->kept_count++;
        values[row] = i == 0 ? pair->sum : i == 1 ? pair->rest : 0;
        tally->row_key[row] = group;
        if (column->keys) column->keys[row] = group;
    }
}

wf_error wf_tally_expand_pairs(wf_handle *handle, struct wf_tally *tally) {
    if (!tally->has_pairs) return WF_OK;
    wf_error error = wf_tally_widen_counts(handle, tally);
    if (!error) error = wf_tally_reserve_rows(handle, tally, tally->row_count);
    if (error) return error;
    const struct wf_tally_column *column = &tally->column[0];
    const int32_t *keys = column->keys ? column->keys : tally->row_key;
    const int64_t kept = tally->kept_count;
    for (int64_t i = 0; i < kept; i++) column->count[keys[i]]--;
    for (int32_t g = 0; g < wf_tally_group_count(tally); g++) put_group(tally, g, column->count[g]);
    for (int64_t i = 0; i < kept; i++) column->count[keys[i]]++;
    tally->counted_rows = tally->kept_count;
    tally->has_pairs = false;
    return WF_OK;
}

/* ---- results ---- */

/* By integers of 128 bits; false: they are too few. */
static bool find_mean_slowly(const struct pair *pair, int64_t count, double *mean) {
    const double parts[] = {pair->sum, pair->rest};
    const wf_array array = wf_array_vector(parts, WF_F64, pair->rest == 0 ? 1 : 2);
    struct wf_few few;
    struct wf_small_sums sums;
    struct wf_number number;
    wf_value value;
    if (!wf_few_load(&few, &array) || !wf_few_sum(&few, &sums)) return false;
    sums.count = count;
    if (!wf_small_finish(WF_MEAN, &sums, 0, &number) || !wf_number_round(&number, WF_F64, &value)) return false;
    *mean = value.v.f64;
    return true;
}

/* The quotient of the sum, corrected by what is left: that is so exact that it decides the rounding, unless a little more and
 * a little less differ. */
static inline bool find_mean(const struct pair *pair, int64_t count, double *mean) {
    const double least = 0x1p-900, most = 0x1p900, little = 0x1p-40, magnitude = fabs(pair->sum), n = (double)count;
    *mean = pair->sum / n;
    if (count == 1 || magnitude == 0) return true;
    if (!(magnitude >= least && magnitude <= most)) return find_mean_slowly(pair, count, mean);
    if (!(count & (count - 1))) return true; /* the sum has been rounded once */
    const double left = (fma(-*mean, n, pair->sum) + pair->rest) / n, quotient = *mean;
    *mean = quotient + (left - little * left);
    return *mean == quotient + (left + little * left) || find_mean_slowly(pair, count, mean);
}

static bool find_results(const struct wf_tally *tally, wf_op op, double *results) {
    bool is_found = true;
    for (int32_t g = 0; g < wf_tally_group_count(tally) && is_found; g++) {
        const struct pair *pair = pair_of(tally, g);
        const int64_t count = wf_tally_count_of(&tally->column[0], g);
        results[g] = pair->sum;
        if (op == WF_MEAN && count) is_found = find_mean(pair, count, &results[g]);
    }
    return is_found;
}

uint64_t *wf_tally_stored_results(const struct wf_tally *tally, wf_op op, size_t *step) {
    if (!tally->has_pairs || tally->kept_count || op != WF_SUM) return NULL;
    *step = (sizeof(struct wf_text_entry) << tally->keys.spacing) / sizeof(uint64_t);
    return (uint64_t *)(void *)&pair_of(tally, 0)->sum;
}

/* ---- groups with values that are kept */

struct leftover {
    int32_t group;
    double value;
};

static int compare_groups(const void *a, const void *b) {
    const int32_t x = ((const struct leftover *)a)->group, y = ((const struct leftover *)b)->group;
    return (x > y) - (x < y);
}

/* The values that are kept, group by group; NULL without memory. */
static struct leftover *list_leftovers(const struct wf_tally *tally) {
    const struct wf_tally_column *column = &tally->column[0];
    const int32_t *keys = column->keys ? column->keys : tally->row_key;
    struct leftover *list = malloc((size_t)tally->kept_count * sizeof *list);
    if (!list) return NULL;
    for (int64_t i = 0; i < tally->kept_count; i++)
        list[i] = (struct leftover){keys[i], ((const double *)(const void *)column->values)[i]};
    qsort(list, (size_t)tally->kept_count, sizeof *list, compare_groups);
    return list;
}

/* The result of a group whose leftovers come first in the list, left_count of them: made of these and of the sum of the
 * group's other values, padded with zeros. */
static bool reduce_group(wf_handle *handle, const struct wf_tally *tally, wf_op op, const struct leftover *left, int64_t left_count,
                         double *result) {
    const wf_reduction reduction = wf_tally_reduction(tally, op);
    const int64_t count = wf_tally_count_of(&tally->column[0], left->group), paired = count - left_count;
    const struct pair *pair = pair_of(tally, left->group);
    double *values = calloc((size_t)count, sizeof *values);
    if (!values) return false;
    if (paired > 0) values[0] = pair->sum;
    if (paired > 1) values[1] = pair->rest;
    for (int64_t i = 0; i < left_count; i++) values[paired + i] = left[i].value;
    const wf_array array = wf_array_vector(values, WF_F64, count);
    const wf_output output = {.data = result, .type = WF_F64};
    const wf_error error = wf_reduce(handle, &reduction, &array, NULL, NULL, &output);
    free(values);
    return !error;
}

static bool correct_results(wf_handle *handle, const struct wf_tally *tally, wf_op op, double *results) {
    struct leftover *list = list_leftovers(tally);
    bool is_correct = list;
    for (int64_t i = 0, end = 0; i < tally->kept_count && is_correct; i = end) {
        while (end < tally->kept_count && list[end].group == list[i].group) end++;
        is_correct = reduce_group(handle, tally, op, list + i, end - i, &results[list[i].group]);
    }
    free(list);
    return is_correct;
}

bool wf_tally_pair_results(wf_handle *handle, const struct wf_tally *tally, wf_op op, double *results) {
    enum { GROUPS_OF_LEFTOVER = 64 }; /* otherwise all rows are sooner reduced together */
    if (!is_sum(op) || tally->kept_count > wf_tally_group_count(tally) / GROUPS_OF_LEFTOVER) return false;
    const wf_environment callers = wf_environment_enter();
    const bool is_found = find_results(tally, op, results);
    wf_environment_leave(callers);
    return is_found && (!tally->kept_count || correct_results(handle, tally, op, results));
}
