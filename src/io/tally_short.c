/* Groups of few rows.  The values of a column are brought into the order of their groups; groups of equally many values are
 * then columns of an array, which the engine reduces along its first axis, in registers: a table by key would take several
 * words for each group, and accumulators more. */
#include <stdlib.h>
#include <string.h>

#include "core/ops.h"
#include "io/tally.h"
#include "io/tally_parts.h"

/* ---- the order of the groups ---- */

/* A copy of a known size is no call. */
static inline void copy_value(void *to, const void *from, size_t nbytes) {
    if (nbytes == 8) memcpy(to, from, 8);
    else if (nbytes == 4) memcpy(to, from, 4);
    else memcpy(to, from, nbytes);
}

static void place_values(const struct wf_tally *tally, const struct wf_tally_column *column, struct wf_ordered *ordered) {
    enum { AHEAD = 16 };
    const size_t nbytes = wf_type_nbytes(tally->settings.type);
    const int32_t *keys = column->keys ? column->keys : tally->row_key;
    int64_t *next = ordered->offset + 1; /* where the group's next value goes; in the end where the group after it begins */
    for (int64_t g = 0; g < wf_tally_group_count(tally); g++) next[g + 1] = next[g] + column->count[g];
    for (int64_t i = 0; i < tally->kept_count; i++) {
        if (i + AHEAD < tally->kept_count && keys[i + AHEAD] >= 0) __builtin_prefetch(next + keys[i + AHEAD], 1);
        if (keys[i] >= 0) copy_value(ordered->values + (size_t)next[keys[i]]++ * nbytes, column->values + (size_t)i * nbytes, nbytes);
    }
}

void wf_ordered_clear(struct wf_ordered *ordered) {
    free(ordered->values);
    free(ordered->offset);
    *ordered = (struct wf_ordered){0};
}

wf_error wf_tally_sort_values(wf_handle *handle, struct wf_tally *tally, size_t column) {
    struct wf_ordered *ordered = &tally->ordered;
    if (ordered->values && ordered->column == column) return WF_OK;
    wf_ordered_clear(ordered);
    ordered->values = malloc((size_t)tally->kept_count * wf_type_nbytes(tally->settings.type) + 1);
    ordered->offset = calloc((size_t)wf_tally_group_count(tally) + 2, sizeof *ordered->offset);
    ordered->column = column;
    if (ordered->values && ordered->offset) {
        place_values(tally, &tally->column[column], ordered);
        return WF_OK;
    }
    wf_ordered_clear(ordered);
    return wf_fail(handle, WF_ERROR_MEMORY, "no memory to sort the rows of a table by group");
}

/* ---- groups side by side ---- */

enum {
    SHORT_MAX = 16, /* values of a group that is reduced beside others */
    BATCH_VALUES = 8192,
    GROUPS_AT_ONCE = 1 << 15, /* whose values stay in a cache */
};

struct short_groups {
    wf_handle *handle;
    const struct wf_ordered *ordered;
    wf_reduction reduction;
    wf_type type, result_type;
    size_t nbytes, result_nbytes;
    unsigned char *results, *values, *found;
    int32_t *group; /* some groups that follow each other: those of no values, of one, and so on, and those of more */
    int64_t begin[SHORT_MAX + 3]; /* of each of these, and the end */
};

/* How many values a group has, at most SHORT_MAX + 1. */
static inline int64_t length_of(const struct wf_ordered *ordered, int64_t group) {
    const int64_t n = ordered->offset[group + 1] - ordered->offset[group];
    return n <= SHORT_MAX ? n : SHORT_MAX + 1;
}

/* Sorts groups by their numbers of values, that no loop over some has to guess when it ends. */
static void sort_by_length(struct short_groups *s, int64_t first, int64_t end) {
    int64_t *next = s->begin;
    memset(next, 0, sizeof s->begin);
    for (int64_t g = first; g < end; g++) next[length_of(s->ordered, g) + 1]++;
    for (int n = 1; n < SHORT_MAX + 3; n++) next[n] += next[n - 1];
    for (int64_t g = end; g-- > first;) s->group[--next[length_of(s->ordered, g) + 1]] = (int32_t)g;
    memmove(next, next + 1, (SHORT_MAX + 2) * sizeof *next);
    next[SHORT_MAX + 2] = end - first;
}

static const unsigned char *values_of(const struct short_groups *s, int32_t group) {
    return s->ordered->values + (size_t)s->ordered->offset[group] * s->nbytes;
}

/* The groups of n values each, as columns. */
static wf_error reduce_batch(struct short_groups *s, const int32_t *group, int64_t count, int64_t n) {
    const int64_t shape[] = {n, count};
    const wf_array columns = {.data = s->values, .type = s->type, .ndim = 2, .shape = shape};
    const wf_groups along_first = wf_groups_axes(1);
    const wf_output output = {.data = s->found, .type = s->result_type, .ndim = 1, .shape = &count};
    for (int64_t c = 0; c < count; c++) {
        const unsigned char *values = values_of(s, group[c]);
        for (int64_t i = 0; i < n; i++)
            copy_value(s->values + (size_t)(i * count + c) * s->nbytes, values + (size_t)i * s->nbytes, s->nbytes);
    }
    wf_error error = wf_reduce(s->handle, &s->reduction, &columns, NULL, &along_first, &output);
    for (int64_t c = 0; c < count && !error; c++)
        copy_value(s->results + (size_t)group[c] * s->result_nbytes, s->found + (size_t)c * s->result_nbytes, s->result_nbytes);
    return error;
}

static wf_error reduce_long(struct short_groups *s, int32_t group) {
    const int64_t n = s->ordered->offset[group + 1] - s->ordered->offset[group];
    const wf_array all = wf_array_vector(values_of(s, group), s->type, n);
    const wf_output output = {.data = s->results + (size_t)group * s->result_nbytes, .type = s->result_type};
    return wf_reduce(s->handle, &s->reduction, &all, NULL, NULL, &output);
}

/* The groups that have been sorted. */
static wf_error reduce_sorted(struct short_groups *s) {
    wf_error error = WF_OK;
    for (int64_t n = 0; n <= SHORT_MAX && !error; n++) {
        const int64_t at_once = BATCH_VALUES / (n ? n : 1), end = s->begin[n + 1];
        for (int64_t i = s->begin[n]; i < end && !error; i += at_once)
            error = reduce_batch(s, s->group + i, end - i < at_once ? end - i : at_once, n);
    }
    for (int64_t i = s->begin[SHORT_MAX + 1]; i < s->begin[SHORT_MAX + 2] && !error; i++) error = reduce_long(s, s->group[i]);
    return error;
}

static wf_error reduce_all(struct short_groups *s, int64_t groups) {
    wf_error error = WF_OK;
    for (int64_t first = 0; first < groups && !error; first += GROUPS_AT_ONCE) {
        sort_by_length(s, first, groups - first < GROUPS_AT_ONCE ? groups : first + GROUPS_AT_ONCE);
        error = reduce_sorted(s);
    }
    return error;
}

wf_error wf_tally_short_results(wf_handle *handle, struct wf_tally *tally, size_t column, wf_op op, const wf_output *output) {
    struct short_groups s = {.handle = handle, .ordered = &tally->ordered, .reduction = wf_tally_reduction(tally, op),
                             .type = tally->settings.type, .result_type = output->type, .results = output->data};
    s.nbytes = wf_type_nbytes(s.type);
    s.result_nbytes = wf_type_nbytes(s.result_type);
    wf_error error = wf_tally_sort_values(handle, tally, column);
    if (error) return error;
    s.values = malloc(BATCH_VALUES * s.nbytes);
    s.found = malloc(BATCH_VALUES * s.result_nbytes);
    s.group = malloc(GROUPS_AT_ONCE * sizeof *s.group);
    error = s.values && s.found && s.group ? reduce_all(&s, wf_tally_group_count(tally))
                                           : wf_fail(handle, WF_ERROR_MEMORY, "no memory for short groups");
    free(s.values);
    free(s.found);
    free(s.group);
    return error;
}

/* Ops for which the place of a value counts need the rows as they came. */
bool wf_tally_has_short_groups(const struct wf_tally *tally, wf_op op) {
    enum { ROWS_OF_GROUP = 8, LEAST_ROWS = 1 << 14 };
    const bool depends_on_place = op == WF_ARGMIN || op == WF_ARGMAX || wf_op_parts(op) & WF_PART_PRODUCT;
    const int64_t rows = tally->kept_count;
    return !depends_on_place && tally->by_count && rows >= LEAST_ROWS && rows / ROWS_OF_GROUP <= wf_tally_group_count(tally);
}
