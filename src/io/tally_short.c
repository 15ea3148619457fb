/* Groups of few rows.  The values of a column are brought to where groups of equally many values, a class, are the columns
 * of an array, which the engine reduces along its first axis, in registers: a table by key would take several words for each
 * group, and accumulators more. */
#include <stdlib.h>
#include <string.h>

#include "core/ops.h"
#include "io/tally.h"
#include "io/tally_parts.h"

enum {
    LONG = WF_CLASS_COUNT - 1, /* the class of groups of more values than any other's, one group after the other */
    CLASS_BITS = 5,
    GROUPS_AT_ONCE = 1 << 15, /* whose values and results stay in a cache */
};

static inline int class_of(int64_t count) {
    return count < LONG ? (int)count : LONG;
}

/* ---- the places of the values ---- */

/* The class of each group is kept: a byte is read in less time than a count. */
static void begin_classes(struct wf_classes *classes, const struct wf_tally_column *column, int64_t groups) {
    int64_t begin = 0, long_values = 0;
    for (int64_t g = 0; g < groups; g++) {
        const int64_t count = wf_tally_count_of(column, g);
        const int n = class_of(count);
        classes->of_group[g] = (unsigned char)n;
        classes->groups[n]++;
        long_values += n == LONG ? count : 0;
    }
    for (int n = 0; n < WF_CLASS_COUNT; n++) {
        classes->begin[n] = begin;
        begin += n < LONG ? n * classes->groups[n] : long_values;
    }
}

/* The place of each group's first value, above its class. */
static void find_first_places(const struct wf_classes *classes, const struct wf_tally_column *column, int64_t groups,
                              uint64_t *place) {
    int64_t next[WF_CLASS_COUNT];
    memcpy(next, classes->begin, sizeof next);
    for (int64_t g = 0; g < groups; g++) {
        const int n = classes->of_group[g];
        place[g] = (uint64_t)next[n] << CLASS_BITS | (uint64_t)n;
        next[n] += n < LONG ? 1 : wf_tally_count_of(column, g);
    }
}

/* The next value of a group goes to the next row of its class. */
static void place_values(const struct wf_tally *tally, const struct wf_tally_column *column, const struct wf_classes *classes,
                         uint64_t *place) {
    enum { AHEAD = 32, VALUES_AHEAD = 16 };
    const size_t nbytes = wf_type_nbytes(tally->settings.type);
    const int32_t *keys = column->keys ? column->keys : tally->row_key;
    uint64_t step[WF_CLASS_COUNT];
    for (int n = 0; n < WF_CLASS_COUNT; n++) step[n] = (uint64_t)(n < LONG ? classes->groups[n] : 1) << CLASS_BITS;
    for (int64_t i = 0; i < tally->kept_count; i++) {
        if (i + AHEAD < tally->kept_count && keys[i + AHEAD] >= 0) __builtin_prefetch(place + keys[i + AHEAD], 1);
        if (i + VALUES_AHEAD < tally->kept_count && keys[i + VALUES_AHEAD] >= 0)
            __builtin_prefetch(classes->values + (place[keys[i + VALUES_AHEAD]] >> CLASS_BITS) * nbytes, 1);
        if (keys[i] < 0) continue;
        const uint64_t own = place[keys[i]];
        wf_copy_element(classes->values + (own >> CLASS_BITS) * nbytes, column->values + (size_t)i * nbytes, nbytes);
        place[keys[i]] = own + step[own % (1 << CLASS_BITS)];
    }
}

void wf_classes_clear(struct wf_classes *classes) {
    free(classes->of_group);
    wf_pages_free(classes->pages);
    *classes = (struct wf_classes){0};
}

/* The memory of the column before, or of what found the keys of rows, of which no more come. */
static bool reserve_values(struct wf_tally *tally, size_t nbytes) {
    struct wf_classes *classes = &tally->classes;
    struct wf_pages pages = classes->pages.at ? classes->pages : wf_texts_seal(&tally->keys);
    unsigned char *of_group = classes->of_group ? classes->of_group : malloc((size_t)wf_tally_group_count(tally) + 1);
    *classes = (struct wf_classes){.pages = pages, .of_group = of_group};
    if (pages.nbytes < nbytes) pages = wf_pages_grow(pages, nbytes);
    if (!pages.at || !of_group) return false;
    classes->pages = pages;
    classes->values = pages.at;
    return true;
}

/* Has tally->classes be the column's.  place: a word of each group that is overwritten. */
static wf_error make_classes(wf_handle *handle, struct wf_tally *tally, size_t c, uint64_t *place) {
    const struct wf_tally_column *column = &tally->column[c];
    const int64_t groups = wf_tally_group_count(tally);
    struct wf_classes *classes = &tally->classes;
    if (classes->values && classes->column == c) return WF_OK;
    if (!reserve_values(tally, (size_t)tally->kept_count * wf_type_nbytes(tally->settings.type)))
        return wf_fail(handle, WF_ERROR_MEMORY, "no memory to sort the rows of a table by group");
    classes->column = c;
    begin_classes(classes, column, groups);
    find_first_places(classes, column, groups, place);
    place_values(tally, column, classes, place);
    return WF_OK;
}

/* The same where the results will be, if these are as large: no memory is cleared for the places then. */
static wf_error make_classes_in(wf_handle *handle, struct wf_tally *tally, size_t column, const wf_output *output) {
    if (wf_type_nbytes(output->type) == sizeof(uint64_t)) return make_classes(handle, tally, column, output->data);
    uint64_t *place = malloc(((size_t)wf_tally_group_count(tally) + 1) * sizeof *place);
    wf_error error = place ? make_classes(handle, tally, column, place)
                           : wf_fail(handle, WF_ERROR_MEMORY, "no memory to sort the rows of a table by group");
    free(place);
    return error;
}

/* ---- results ---- */

struct short_groups {
    wf_handle *handle;
    const struct wf_classes *classes;
    const struct wf_tally_column *column;
    wf_reduction reduction;
    wf_type type, result_type;
    size_t nbytes, result_nbytes;
    unsigned char *results, *found; /* found: of some groups that follow each other, class by class */
    int64_t done[WF_CLASS_COUNT];   /* groups of each class that have results */
    int64_t long_done;              /* values of long ones */
};

/* The next groups of a class, whose columns are next to each other. */
static wf_error reduce_class(struct short_groups *s, int n, int64_t groups, unsigned char *found) {
    const int64_t shape[] = {n, groups}, strides[] = {s->classes->groups[n] * (int64_t)s->nbytes, (int64_t)s->nbytes};
    const unsigned char *first = s->classes->values + (size_t)(s->classes->begin[n] + s->done[n]) * s->nbytes;
    const wf_array columns = {.data = first, .type = s->type, .ndim = 2, .shape = shape, .stride_bytes = strides};
    const wf_groups along_first = wf_groups_axes(1);
    const wf_output output = {.data = found, .type = s->result_type, .ndim = 1, .shape = &groups};
    s->done[n] += groups;
    return groups ? wf_reduce(s->handle, &s->reduction, &columns, NULL, &along_first, &output) : WF_OK;
}

static wf_error reduce_long(struct short_groups *s, int64_t group) {
    const int64_t place = s->classes->begin[LONG] + s->long_done;
    const int64_t count = wf_tally_count_of(s->column, group);
    const wf_array all = wf_array_vector(s->classes->values + (size_t)place * s->nbytes, s->type, count);
    const wf_output output = {.data = s->results + (size_t)group * s->result_nbytes, .type = s->result_type};
    s->long_done += count;
    return wf_reduce(s->handle, &s->reduction, &all, NULL, NULL, &output);
}

/* What was found class by class, group by group. */
static wf_error take_found(struct short_groups *s, int64_t first, int64_t end, int64_t next[WF_CLASS_COUNT]) {
    wf_error error = WF_OK;
    for (int64_t g = first; g < end && !error; g++) {
        const int n = s->classes->of_group[g];
        if (n == LONG) error = reduce_long(s, g);
        else wf_copy_element(s->results + (size_t)g * s->result_nbytes, s->found + (size_t)next[n]++ * s->result_nbytes, s->result_nbytes);
    }
    return error;
}

static wf_error reduce_some(struct short_groups *s, int64_t first, int64_t end) {
    int64_t groups[WF_CLASS_COUNT] = {0}, next[WF_CLASS_COUNT], begin = 0;
    wf_error error = WF_OK;
    for (int64_t g = first; g < end; g++) groups[s->classes->of_group[g]]++;
    for (int n = 0; n < LONG && !error; n++) {
        next[n] = begin;
        error = reduce_class(s, n, groups[n], s->found + (size_t)begin * s->result_nbytes);
        begin += groups[n];
    }
    return error ? error : take_found(s, first, end, next);
}

wf_error wf_tally_short_results(wf_handle *handle, struct wf_tally *tally, size_t column, wf_op op, const wf_output *output) {
    struct short_groups s = {.handle = handle, .classes = &tally->classes, .column = &tally->column[column],
                             .reduction = wf_tally_reduction(tally, op), .type = tally->settings.type,
                             .result_type = output->type, .results = output->data};
    const int64_t groups = wf_tally_group_count(tally);
    s.nbytes = wf_type_nbytes(s.type);
    s.result_nbytes = wf_type_nbytes(s.result_type);
    wf_error error = make_classes_in(handle, tally, column, output);
    if (error) return error;
    s.found = malloc(GROUPS_AT_ONCE * s.result_nbytes);
    if (!s.found) return wf_fail(handle, WF_ERROR_MEMORY, "no memory for short groups");
    for (int64_t first = 0; first < groups && !error; first += GROUPS_AT_ONCE)
        error = reduce_some(&s, first, groups - first < GROUPS_AT_ONCE ? groups : first + GROUPS_AT_ONCE);
    free(s.found);
    return error;
}

/* Ops for which the place of a value counts need the rows as they came. */
bool wf_tally_has_short_groups(const struct wf_tally *tally, wf_op op) {
    enum { ROWS_OF_GROUP = 8, LEAST_ROWS = 1 << 14 };
    const bool depends_on_place = op == WF_ARGMIN || op == WF_ARGMAX || wf_op_parts(op) & WF_PART_PRODUCT;
    const int64_t rows = tally->kept_count;
    return !depends_on_place && tally->by_count && rows >= LEAST_ROWS && rows / ROWS_OF_GROUP <= wf_tally_group_count(tally);
}
