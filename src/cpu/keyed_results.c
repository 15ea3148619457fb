/* Results from the words of groups and from the elements that were set aside. */
#include "core/round_to_odd.h"
#include "core/small_finish.h"
#include "cpu/workers.h"
#include "cpu/keyed_job.h"

#include <stdlib.h>

/* ---- one group ---- */

static bool is_minus_zero(const struct keyed *job, int64_t group) {
    return job->marks && job->marks[group] == WF_MARK_MINUS_ZERO;
}

/* The sum of the group's terms of one grid; false if it is beyond 126 bits of the finest units. */
static bool total_of(wf_i128 *total, const int64_t *word, const struct wf_grid *grid) {
    *total = word[0];
    for (int k = 1; k < grid->levels; k++) {
        wf_i128 most = (wf_i128)1 << (126 - grid->distance);
        if (*total >= most || *total <= -most) return false;
        *total = *total * ((wf_i128)1 << grid->distance) + word[k];
    }
    return true;
}

/* A sum whose levels each add up to an f64 is rounded by the adder, for an f32 to odd first.  A sum of zeros is +0. */
static inline bool add_levels(double *sum, const struct wf_grid *grid, const int64_t *word, bool is_f64) {
    const uint64_t most = UINT64_C(1) << 53;
    int64_t high = word[0], low = 0;
    if (grid->levels == 2) {
        int64_t carry = wf_keyed_carry(word[1], grid);
        high += carry;
        low = word[1] - carry * (INT64_C(1) << grid->distance);
    }
    double upper = (double)high * grid->unit[0], lower = (double)low * grid->unit[grid->levels - 1];
    *sum = is_f64 ? upper + lower : wf_add_rounding_to_odd(upper, lower);
    return (uint64_t)high + most <= 2 * most && (uint64_t)low + most <= 2 * most;
}

static bool round_by_adding(wf_value *value, const struct wf_grid *grid, const int64_t *word) {
    double sum;
    if (!add_levels(&sum, grid, word, value->type == WF_F64)) return false;
    if (value->type == WF_F64)
        value->v.f64 = sum;
    else
        value->v.f32 = (float)sum;
    return true;
}

/* The group's sum, or mean; false if the general path must find it. */
static bool find_sum(wf_value *value, const struct keyed *job, int64_t group, const int64_t *word) {
    const struct wf_grid *grid = &job->grid[0];
    int64_t count = job->counts ? word[job->words - 1] : 1;
    wf_i128 total;
    if (job->adder_rounds && grid->levels <= 2 && round_by_adding(value, grid, word)) return true;
    if (count == 0 || !total_of(&total, word, grid)) return false;
    wf_u128 magnitude = total < 0 ? -(wf_u128)total : (wf_u128)total;
    bool negative = total ? total < 0 : is_minus_zero(job, group);
    int exponent = grid->exponent[grid->levels - 1];
    bool is_power = (count & (count - 1)) == 0; /* of two: nothing to divide, as in groups of one element */
    struct wf_number number = is_power ? wf_number_make(negative, magnitude, exponent - __builtin_ctzll((uint64_t)count), false)
                                       : wf_quotient_u128(negative, magnitude, exponent, (uint64_t)count);
    return wf_number_round(&number, value->type, value);
}

static int64_t key_of(const struct keyed *job, int64_t word) {
    return job->parts & WF_PART_MAX ? ~word : word;
}

/* The group's extreme, or its position; false if the general path must find it. */
static bool find_extremum(wf_value *value, const struct keyed *job, const int64_t *word) {
    wf_type type = job->grouped->empty->type;
    if (word[0] == INT64_MAX) return false;
    struct wf_number number = job->is_indexed
                                  ? wf_number_of_u64((uint64_t)(job->grouped->empty->first_index + word[1]))
                                  : wf_number_of_bits(type, wf_key_to_bits(type, key_of(job, word[0])));
    return wf_number_round(&number, value->type, value);
}

/* The group's variance, its root or its 2-norm; false if the general path must find it. */
static bool find_of_squares(wf_value *value, const struct keyed *job, const int64_t *word) {
    const struct wf_grid *grid = job->grid;
    const struct wf_accumulator *empty = job->grouped->empty;
    struct wf_small_sums sums = {.sum_exponent = job->counts ? grid[0].exponent[grid[0].levels - 1] : 0,
                                 .squares_exponent = grid[1].exponent[grid[1].levels - 1],
                                 .count = job->counts ? word[job->words - 1] : 1}; /* which the 2-norm does not depend on */
    struct wf_number number;
    return (!job->counts || total_of(&sums.sum, word, &grid[0])) && total_of(&sums.squares, word + grid[0].levels, &grid[1]) &&
           wf_small_finish(empty->op, &sums, empty->ddof, &number) && wf_number_round(&number, value->type, value);
}

static bool find_directly(wf_value *value, const struct keyed *job, int64_t group, const int64_t *word) {
    if (job->parts & (WF_PART_MIN | WF_PART_MAX)) return find_extremum(value, job, word);
    if (job->parts & WF_PART_SQUARES) return find_of_squares(value, job, word);
    return find_sum(value, job, group, word);
}

static void add_term(const struct wf_exact *into, const int64_t *word, const struct wf_grid *grid) {
    for (int k = 0; k < grid->levels; k++) wf_exact_add_i64(into, word[k], grid->exponent[k]);
}

/* Makes acc what a group's words say.  Of terms that are all zeros, the marks say whether one was not -0. */
static void open_group(struct wf_accumulator *acc, const struct keyed *job, int64_t group, const int64_t *word) {
    const struct wf_accumulator *empty = job->grouped->empty;
    wf_accumulator_init_like(acc, empty, empty->first_index, NULL);
    struct wf_open_partial open = wf_accumulator_open(acc);
    if (!is_minus_zero(job, group)) acc->partial.special_seen |= WF_SPECIAL_NOT_ALL_NEGATIVE_ZERO;
    add_term(job->parts & WF_PART_ABS ? &open.abs : &open.sum, word, &job->grid[0]);
    add_term(&open.product_sum, word + job->grid[0].levels, &job->grid[1]);
    if (!(job->parts & (WF_PART_MIN | WF_PART_MAX)) || word[0] == INT64_MAX) return;
    uint64_t order = wf_key_to_order(key_of(job, word[0]));
    *(job->parts & WF_PART_MIN ? &acc->partial.min_key : &acc->partial.max_key) = order;
    if (job->is_indexed)
        *(job->parts & WF_PART_MIN ? &acc->partial.min_index : &acc->partial.max_index) =
            (uint64_t)(empty->first_index + word[1]);
}

/* Adds the elements of the group that were set aside. */
static void add_lost(struct wf_accumulator *acc, const struct keyed *job, const struct keyed_lost *lost, size_t count) {
    for (size_t i = 0; i < count; i++) {
        acc->end_index = job->grouped->empty->first_index + lost[i].position;
        wf_cpu_add_alone(acc, job->cpu->tier, job->view.data[0] + lost[i].position * job->view.stride_bytes[0][0], NULL, 1);
    }
}

/* The result of a group by an accumulator, which takes some of the elements that were set aside. */
static bool find_by_accumulator(wf_value *value, const struct keyed *job, int64_t group, const int64_t *word,
                                const struct keyed_lost *lost, size_t lost_count, struct wf_accumulator *acc) {
    bool is_extremum = job->parts & (WF_PART_MIN | WF_PART_MAX), has_others = !is_extremum || word[0] != INT64_MAX;
    open_group(acc, job, group, word);
    add_lost(acc, job, lost, lost_count);
    acc->count = job->counts ? word[job->words - 1] : (int64_t)lost_count + has_others;
    acc->end_index = acc->first_index + job->count;
    wf_error error = wf_accumulator_finish(NULL, acc, acc->op, value);
    if (error == WF_ERROR_EMPTY && job->grouped->has_fill) *value = job->grouped->fill;
    return !error || (error == WF_ERROR_EMPTY && job->grouped->has_fill);
}

/* ---- results ---- */

/* The first of the lost elements of group, or of one after it. */
static size_t find_lost(const struct keyed *job, int64_t group) {
    size_t low = 0, high = job->lost_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (job->lost[middle].key < group)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The group that a lost element belongs to; end, if that is beyond it or there is none. */
static int64_t group_of_lost(const struct keyed *job, size_t lost, int64_t end) {
    return lost < job->lost_count && job->lost[lost].key < end ? job->lost[lost].key : end;
}

/* The result of one group; *lost: the first of the lost elements of this group or of one after it, then of the next. */
static bool find_result(wf_value *value, const struct keyed *job, int64_t group, const int64_t *word, size_t *lost,
                        struct wf_accumulator *acc) {
    size_t first = *lost;
    while (*lost < job->lost_count && job->lost[*lost].key == group) (*lost)++;
    if (*lost == first && find_directly(value, job, group, word)) return true;
    return find_by_accumulator(value, job, group, word, job->lost ? job->lost + first : NULL, *lost - first, acc);
}

/* Writes the fill to groups of means that have no elements; false if there is none. */
static bool write_fills(const struct keyed *job, const int64_t *word, size_t groups, char *to, int64_t stride_bytes) {
    unsigned char fill[sizeof(double)] = {0};
    const size_t nbytes = job->grouped->result_type == WF_F64 ? 8 : 4;
    wf_value_store(&job->grouped->fill, fill);
    for (size_t g = 0; job->counts && g < groups; g++) {
        if (word[g * job->words + job->words - 1]) continue;
        if (!job->grouped->has_fill) return false;
        memcpy(to + (int64_t)g * stride_bytes, fill, nbytes);
    }
    return true;
}

/* Writes what the words of groups give, as long as the adder can: of most groups it is all that takes time. */
static bool write_added(const struct keyed *job, const int64_t *word, size_t groups, char *to, int64_t stride_bytes) {
    const bool to_f64 = job->grouped->result_type == WF_F64;
    const size_t nbytes = to_f64 ? 8 : 4;
    double found[KEYED_GROUPS_AT_ONCE];
    bool is_packed = stride_bytes == (int64_t)nbytes;
    if (!job->cpu->tier->round_slots(&job->grid[0], word, groups, job->counts, to_f64, is_packed ? (void *)to : found))
        return false;
    for (size_t g = 0; !is_packed && g < groups; g++)
        memcpy(to + (int64_t)g * stride_bytes, (const char *)found + g * nbytes, nbytes);
    return write_fills(job, word, groups, to, stride_bytes);
}

bool wf_keyed_write(const struct keyed *job, int64_t begin, int64_t end, struct wf_accumulator *acc) {
    const wf_output *output = job->grouped->output;
    const wf_type type = job->grouped->result_type;
    int64_t stride_bytes = output->stride_bytes ? output->stride_bytes[0] : (int64_t)wf_type_nbytes(type);
    char *to = (char *)output->data + begin * stride_bytes;
    size_t lost = find_lost(job, begin), groups = (size_t)(end - begin);
    struct keyed_merged merged;
    wf_keyed_merge(&merged, job, begin, groups);
    bool may_add = (job->adder_rounds || job->divides) && job->grid[0].levels <= 2;
    bool is_added = may_add && write_added(job, merged.word, groups, to, stride_bytes);
    for (int64_t g = begin; g < end; g++) {
        if (is_added) g = group_of_lost(job, lost, end);
        wf_value value = {.type = type};
        if (g == end) break;
        if (!find_result(&value, job, g, merged.word + (g - begin) * (int64_t)job->words, &lost, acc)) return false;
        wf_value_store(&value, to + (g - begin) * stride_bytes);
    }
    return true;
}

static bool has_zero_sum(const struct keyed *job) {
    size_t levels = (size_t)job->grid[0].levels;
    struct keyed_merged merged;
    for (int64_t g = 0; g < job->groups; g++, merged.word += job->words) {
        int64_t left = job->groups - g, any = 0;
        size_t at_once = (size_t)(left < KEYED_GROUPS_AT_ONCE ? left : KEYED_GROUPS_AT_ONCE);
        if (g % KEYED_GROUPS_AT_ONCE == 0) wf_keyed_merge(&merged, job, g, at_once);
        for (size_t k = 0; k < levels; k++) any |= merged.word[k];
        if (!any) return true;
    }
    return false;
}

/* Where some element is -0 and some sum 0, tells the groups apart that have nothing but -0; false without memory. */
static bool mark_groups(struct keyed *job) {
    bool has_minus_zero = false;
    for (int t = 0; t < job->threads; t++) has_minus_zero |= job->table[t]->has_minus_zero;
    if (!has_minus_zero || !(job->parts & WF_PART_SUM) || !has_zero_sum(job)) return true;
    struct keyed_table *table = job->table[0];
    job->marks = calloc((size_t)job->groups, 1);
    for (int64_t i = 0; job->marks && i < job->count;) {
        const unsigned char *x;
        size_t count = wf_key_table_read(table, job, i, job->count - i, &x);
        job->split(&table->units, job->grid, 0, x, count);
        for (size_t j = 0; j < count; j++)
            if ((uint64_t)table->key[j] < (uint64_t)job->groups)
                job->marks[table->key[j]] |= (unsigned char)table->units.word[0][j];
        i += (int64_t)count;
    }
    return job->marks;
}

static int compare_lost(const void *a, const void *b) {
    const struct keyed_lost *x = a, *y = b;
    if (x->key != y->key) return x->key < y->key ? -1 : 1;
    return x->position < y->position ? -1 : x->position > y->position;
}

/* Joins the lost elements of all tables, and sorts them; false without memory. */
static bool sort_lost(struct keyed *job) {
    for (int t = 0; t < job->threads; t++) job->lost_count += job->table[t]->lost_count;
    if (!job->lost_count) return true;
    size_t at = 0;
    job->lost = malloc(job->lost_count * sizeof *job->lost);
    for (int t = 0; job->lost && t < job->threads; t++) {
        if (job->table[t]->lost_count)
            memcpy(job->lost + at, job->table[t]->lost, job->table[t]->lost_count * sizeof *job->lost);
        at += job->table[t]->lost_count;
    }
    if (job->lost) qsort(job->lost, job->lost_count, sizeof *job->lost, compare_lost);
    return job->lost;
}

bool wf_keyed_prepare(struct keyed *job) {
    if (!sort_lost(job) || !mark_groups(job)) return false;
    wf_type type = job->grouped->result_type;
    bool is_sum = job->parts == WF_PART_SUM || job->parts == WF_PART_ABS;
    job->adder_rounds = is_sum && wf_type_is_float(job->grouped->empty->type) && !job->counts && !job->marks &&
                        (type == WF_F32 || type == WF_F64);
    job->divides = job->grouped->empty->op == WF_MEAN && !job->marks && (type == WF_F32 || type == WF_F64);
    return true;
}
