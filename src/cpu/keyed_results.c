/* Results from the words of groups and from the elements that were set aside. */
#include "core/round_to_odd.h"
#include "core/small_finish.h"
#include "cpu/workers.h"
#include "cpu/keyed_job.h"

#include <math.h>
#include <stdlib.h>

/* ---- one group ---- */

static bool is_minus_zero(const struct keyed *job, int64_t group) {
    return job->marks && job->marks[group] == WF_MARK_MINUS_ZERO;
}

/* A sum times 2^-exponent.  One of more bits than fit is cut after 125, and a bit that is 1 stands for all others: it
 * rounds as the sum does, as the sum divided by a natural number, and as its root. */
struct total {
    wf_i128 value;
    int exponent;
    bool is_cut;
};

/* Takes the bits of the word below, as many as fit.  after: the sign of all words after that. */
static void take_word(struct total *total, int64_t word, int after, int distance) {
    const wf_u128 magnitude = total->value < 0 ? -(wf_u128)total->value : (wf_u128)total->value;
    const int free_bits = magnitude ? wf_leading_zeros_u128(magnitude) - 3 : distance;
    const int left = free_bits < distance ? distance - free_bits : 0; /* bits that do not fit */
    const int64_t rest = word & ((INT64_C(1) << left) - 1);
    total->value = total->value * ((wf_i128)1 << (distance - left)) + (word >> left);
    total->exponent -= distance - left;
    total->is_cut = left && (rest || after);
    if (!total->is_cut) return;
    if (!rest && after < 0) total->value--;
    total->value = 2 * total->value + 1;
    total->exponent--;
}

/* The sum of the group's terms of one grid. */
static struct total total_of(const int64_t *word, const struct wf_grid *grid) {
    int64_t own[WF_GRID_LEVELS_MAX + 1] = {0};
    int after[WF_GRID_LEVELS_MAX + 1] = {0};
    memcpy(own, word, (size_t)grid->levels * sizeof *own);
    for (int k = grid->levels - 1; k > 0; k--) {
        int64_t carry = wf_keyed_carry(own[k], grid);
        own[k] -= carry * (INT64_C(1) << grid->distance);
        own[k - 1] += carry;
        after[k - 1] = own[k] ? (own[k] < 0 ? -1 : 1) : after[k];
    }
    struct total total = {own[0], grid->exponent[0], false};
    for (int k = 1; k < grid->levels && !total.is_cut; k++) take_word(&total, own[k], after[k], grid->distance);
    return total;
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

/* An integer of the usual types of results: what rounding gives, but faster. */
static bool find_integer(wf_value *value, wf_i128 number) {
    value->v.i = (int64_t)number;
    return number == (value->type == WF_I64 ? (wf_i128)(int64_t)number : (wf_i128)(uint64_t)number) &&
           (value->type == WF_I64 || value->type == WF_U64);
}

/* The group's sum, or mean; false if the general path must find it. */
static bool find_sum(wf_value *value, const struct keyed *job, int64_t group, const int64_t *word) {
    const struct wf_grid *grid = &job->grid[0];
    int64_t count = job->counts ? word[job->words - 1] : 1;
    if (job->adder_rounds && grid->levels <= 2 && round_by_adding(value, grid, word)) return true;
    if (count == 0) return false;
    struct total total = total_of(word, grid);
    if (!job->counts && !total.exponent && !total.is_cut && find_integer(value, total.value)) return true;
    wf_u128 magnitude = total.value < 0 ? -(wf_u128)total.value : (wf_u128)total.value;
    bool negative = total.value ? total.value < 0 : is_minus_zero(job, group);
    int exponent = total.exponent;
    bool is_power = (count & (count - 1)) == 0; /* of two: nothing to divide, as in groups of one element */
    struct wf_number number = is_power ? wf_number_make(negative, magnitude, exponent - __builtin_ctzll((uint64_t)count), false)
                                       : wf_quotient_u128(negative, magnitude, exponent, (uint64_t)count);
    return wf_number_round(&number, value->type, value);
}

static int64_t key_of(const struct keyed *job, int64_t word) {
    return job->parts & WF_PART_MAX ? ~word : word;
}

/* An element of a type of results; false if rounding must find it. */
static bool find_element(wf_value *value, wf_type type, uint64_t bits) {
    const uint32_t low_bits = (uint32_t)bits;
    if (value->type != type) return false;
    if (!wf_type_is_float(type)) value->v.u = bits; /* what is stored are its lower bits */
    if (!wf_type_is_float(type)) return true;
    if (type == WF_F64) memcpy(&value->v.f64, &bits, sizeof bits);
    if (type == WF_F32) memcpy(&value->v.f32, &low_bits, sizeof low_bits);
    return type == WF_F64 || type == WF_F32;
}

/* The group's extreme, or its position; false if the general path must find it. */
static bool find_extremum(wf_value *value, const struct keyed *job, const int64_t *word) {
    wf_type type = job->grouped->empty->type;
    if (word[0] == INT64_MAX) return false;
    if (job->is_indexed) {
        const uint64_t index = (uint64_t)(job->grouped->empty->first_index + word[1]);
        struct wf_number number = wf_number_of_u64(index);
        return find_integer(value, index) || wf_number_round(&number, value->type, value);
    }
    const struct wf_number nan = wf_number_nan();
    if (job->nans_win && word[0] == INT64_MIN) return wf_number_round(&nan, value->type, value);
    const uint64_t bits = wf_key_to_bits(type, key_of(job, word[0]));
    if (find_element(value, type, bits)) return true;
    struct wf_number number = wf_number_of_bits(type, bits);
    return wf_number_round(&number, value->type, value);
}

/* The root of a sum by the processor's: what it lacks is known to less than the bound, and it is rounded if all that lies
 * within is rounded alike.  False: the general path must find it. */
static bool find_root(wf_value *value, const struct total *squares) {
    enum { BITS_MAX = 1800, BITS_MAX_OF_F32 = 200 }; /* so that no root is subnormal or infinite */
    const bool to_f64 = value->type == WF_F64;
    const int is_long = squares->value >> 124 != 0; /* by two bits, which matter less than the bound */
    const int odd = squares->exponent & 1, half = (squares->exponent - odd) / 2 + is_long, most = to_f64 ? BITS_MAX : BITS_MAX_OF_F32;
    const wf_i128 number = (squares->value >> (2 * is_long)) * (1 << odd);
    if (number <= 0 || (!to_f64 && value->type != WF_F32) || 2 * half < -most || 2 * half + 128 > most) return false;
    const double high = (double)number, low = (double)(number - (wf_i128)high), unit = ldexp(1, half);
    const double root = sqrt(high), lacks = (fma(-root, root, high) + low) / (2 * root), bound = root * 0x1p-98;
    if (to_f64) {
        value->v.f64 = (root + (lacks - bound)) * unit;
        return root + (lacks - bound) == root + (lacks + bound);
    }
    value->v.f32 = (float)(wf_add_rounding_to_odd(root, lacks - bound) * unit);
    return value->v.f32 == (float)(wf_add_rounding_to_odd(root, lacks + bound) * unit);
}

/* The group's variance, its root or its 2-norm; false if the general path must find it. */
static bool find_of_squares(wf_value *value, const struct keyed *job, const int64_t *word) {
    const struct wf_accumulator *empty = job->grouped->empty;
    const struct total squares = total_of(word + job->grid[0].levels, &job->grid[1]);
    if (empty->op == WF_NORM2 && find_root(value, &squares)) return true;
    struct wf_small_sums sums = {.squares = squares.value, .squares_exponent = squares.exponent, .count = 1};
    struct wf_number number;
    if (job->counts) { /* as the 2-norm does not need */
        const struct total sum = total_of(word, &job->grid[0]);
        if (sum.is_cut || squares.is_cut) return false;
        sums.sum = sum.value;
        sums.sum_exponent = sum.exponent;
        sums.count = word[job->words - 1];
    }
    return wf_small_finish(empty->op, &sums, empty->ddof, &number) && wf_number_round(&number, value->type, value);
}

/* How many of the group's elements are not zero, or whether any or all are. */
static bool find_count(wf_value *value, const struct keyed *job, const int64_t *word) {
    const wf_op op = job->grouped->empty->op;
    uint64_t count = (uint64_t)word[0];
    if (op == WF_ANY) count = count != 0;
    if (op == WF_ALL) count = word[0] == word[1];
    struct wf_number number = wf_number_of_u64(count);
    return find_integer(value, count) || wf_number_round(&number, value->type, value);
}

static bool find_directly(wf_value *value, const struct keyed *job, int64_t group, const int64_t *word) {
    if (job->parts & (WF_PART_MIN | WF_PART_MAX)) return find_extremum(value, job, word);
    if (job->parts & WF_PART_SQUARES) return find_of_squares(value, job, word);
    if (job->parts & WF_PART_NONZERO) return find_count(value, job, word);
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
    if (job->parts == WF_PART_NONZERO) {
        acc->partial.nonzero = (uint64_t)word[0];
        return;
    }
    const bool are_products = job->parts == WF_PART_DOT;
    add_term(are_products ? &open.product_sum : job->parts & WF_PART_ABS ? &open.abs : &open.sum, word, &job->grid[0]);
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
        const struct wf_view *view = &job->view;
        const unsigned char *x = view->data[0] + lost[i].position * view->stride_bytes[0][0], *y = NULL;
        if (view->operands > 1) y = view->data[1] + lost[i].position * view->stride_bytes[1][0];
        acc->end_index = job->grouped->empty->first_index + lost[i].position;
        wf_cpu_add_alone(acc, job->cpu->tier, x, y, 1);
    }
}

static bool finish(wf_value *value, const struct keyed *job, struct wf_accumulator *acc) {
    acc->end_index = acc->first_index + job->count;
    wf_error error = wf_accumulator_finish(NULL, acc, acc->op, value);
    if (error == WF_ERROR_EMPTY && job->grouped->has_fill) *value = job->grouped->fill;
    return !error || (error == WF_ERROR_EMPTY && job->grouped->has_fill);
}

/* The result of a group by an accumulator, which takes some of the elements that were set aside. */
static bool find_by_accumulator(wf_value *value, const struct keyed *job, int64_t group, const int64_t *word,
                                const struct keyed_lost *lost, size_t lost_count, struct wf_accumulator *acc) {
    bool is_extremum = job->parts & (WF_PART_MIN | WF_PART_MAX), has_others = !is_extremum || word[0] != INT64_MAX;
    open_group(acc, job, group, word);
    add_lost(acc, job, lost, lost_count);
    acc->count = job->counts ? word[job->words - 1] : (int64_t)lost_count + has_others;
    return finish(value, job, acc);
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

/* Whether a group has no elements, as far as the words tell. */
static bool is_empty(const struct keyed *job, const int64_t *word) {
    if (job->parts & (WF_PART_MIN | WF_PART_MAX)) return word[0] == INT64_MAX;
    return job->counts && !word[job->words - 1];
}

/* The result of one group; *lost: the first of the lost elements of this group or of one after it, then of the next. */
static bool find_result(wf_value *value, const struct keyed *job, int64_t group, const int64_t *word, size_t *lost,
                        struct wf_accumulator *acc) {
    size_t first = *lost;
    while (*lost < job->lost_count && job->lost[*lost].key == group) (*lost)++;
    if (*lost == first && job->has_nothing && is_empty(job, word)) {
        *value = job->nothing;
        return true;
    }
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

/* Where results are found that lie side by side: in their place, or in a copy. */
struct found {
    char *to;
    int64_t stride_bytes;
    size_t nbytes;
    double copy[KEYED_GROUPS_AT_ONCE];
};

static void *results_of(struct found *found) {
    return found->stride_bytes == (int64_t)found->nbytes ? (void *)found->to : found->copy;
}

static void spread(const struct found *found, size_t groups) {
    if (found->stride_bytes == (int64_t)found->nbytes) return;
    for (size_t g = 0; g < groups; g++)
        memcpy(found->to + (int64_t)g * found->stride_bytes, (const char *)found->copy + g * found->nbytes, found->nbytes);
}

/* Writes what the words of groups give, as long as the adder can: of most groups it is all that takes time. */
static bool write_added(const struct keyed *job, const int64_t *word, size_t groups, struct found *found) {
    const bool to_f64 = job->grouped->result_type == WF_F64;
    if (!job->cpu->tier->round_slots(&job->grid[0], word, groups, job->counts, to_f64, results_of(found))) return false;
    spread(found, groups);
    return write_fills(job, word, groups, found->to, found->stride_bytes);
}

static void write_of_squares(const struct keyed *job, const int64_t *word, size_t groups, struct found *found, bool *is_left) {
    const struct wf_accumulator *empty = job->grouped->empty;
    const struct wf_slot_squares asked = {job->grid, job->counts, empty->op != WF_VAR, job->grouped->result_type == WF_F64,
                                          job->counts ? empty->ddof : 0};
    job->cpu->tier->round_squares(&asked, word, groups, results_of(found), is_left);
    spread(found, groups);
}

/* Writes what vectors find; is_left: of which groups they find none. */
static void write_by_vectors(const struct keyed *job, const int64_t *word, size_t groups, struct found *found, bool *is_left) {
    const bool may_add = job->adder_rounds || job->divides;
    if (job->squares_are_rounded)
        write_of_squares(job, word, groups, found, is_left);
    else
        memset(is_left, !may_add || !write_added(job, word, groups, found), groups);
}

/* The first of the groups from g on, before end, that is left, or has lost elements. */
static int64_t next_left(const struct keyed *job, const bool *is_left, int64_t g, int64_t end, size_t lost) {
    const bool *left = memchr(is_left, true, (size_t)(end - g));
    return group_of_lost(job, lost, left ? g + (left - is_left) : end);
}

/* Writes what sums decide to less than a bound, and marks the groups that are left; false if one has no result. */
static bool write_bounded(struct keyed *job, int64_t begin, size_t groups, struct found *found) {
    bool is_left[KEYED_GROUPS_AT_ONCE];
    struct keyed_merged merged;
    wf_keyed_merge(&merged, job, begin, groups);
    const double *word = (const double *)(const void *)merged.word;
    job->cpu->tier->round_bounded[job->grouped->empty->type](&job->bounded, word, groups, results_of(found), is_left);
    spread(found, groups);
    for (size_t g = 0; g < groups; g++) {
        job->marks[begin + (int64_t)g] = is_left[g];
        if (!is_left[g]) continue;
        const bool is_empty = wf_bounded_is_empty(word + g * job->words);
        if (is_empty && !job->has_nothing) return false;
        if (is_empty) wf_value_store(&job->nothing, found->to + (int64_t)g * found->stride_bytes);
        if (is_empty) job->marks[begin + (int64_t)g] = 0;
        if (!is_empty) atomic_store(&job->any_left, true);
    }
    return true;
}

bool wf_keyed_write(struct keyed *job, int64_t begin, int64_t end, struct wf_accumulator *acc) {
    const wf_output *output = job->grouped->output;
    const wf_type type = job->grouped->result_type;
    const int64_t stride_bytes = output->stride_bytes ? output->stride_bytes[0] : (int64_t)wf_type_nbytes(type);
    struct found found = {(char *)output->data + begin * stride_bytes, stride_bytes, wf_type_nbytes(type), {0}};
    size_t lost = find_lost(job, begin), groups = (size_t)(end - begin);
    bool is_left[KEYED_GROUPS_AT_ONCE];
    struct keyed_merged merged;
    if (job->are_bounded) return write_bounded(job, begin, groups, &found);
    wf_keyed_merge(&merged, job, begin, groups);
    write_by_vectors(job, merged.word, groups, &found, is_left);
    for (int64_t g = begin; (g = next_left(job, is_left + (g - begin), g, end, lost)) < end; g++) {
        wf_value value = {.type = type};
        if (!find_result(&value, job, g, merged.word + (g - begin) * (int64_t)job->words, &lost, acc)) return false;
        wf_value_store(&value, found.to + (g - begin) * stride_bytes);
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
    if (!has_minus_zero || !(job->parts & (WF_PART_SUM | WF_PART_DOT)) || !has_zero_sum(job)) return true;
    struct keyed_table *table = job->table[0];
    job->marks_pages = wf_pages_take(job->marks_kept, (size_t)job->groups);
    job->marks = job->marks_pages.at;
    if (job->marks_pages.are_used) memset(job->marks, 0, (size_t)job->groups);
    for (int64_t i = 0; job->marks && i < job->count;) {
        const struct keyed_block block = wf_key_table_read(table, job, i, job->count - i);
        if (job->split_products)
            job->split_products(&table->units, NULL, block.x, block.y, block.count);
        else
            job->split(&table->units, job->grid, 0, block.x, block.count);
        for (size_t j = 0; j < block.count; j++)
            if ((uint64_t)table->key[j] < (uint64_t)job->groups)
                job->marks[table->key[j]] |= (unsigned char)table->units.word[0][j];
        i += (int64_t)block.count;
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
    job->lost_pages = wf_pages_take(job->lost_kept, job->lost_count * sizeof *job->lost);
    job->lost = job->lost_pages.at;
    for (int t = 0; job->lost && t < job->threads; t++) {
        if (job->table[t]->lost_count)
            memcpy(job->lost + at, job->table[t]->lost, job->table[t]->lost_count * sizeof *job->lost);
        at += job->table[t]->lost_count;
    }
    if (job->lost) qsort(job->lost, job->lost_count, sizeof *job->lost, compare_lost);
    return job->lost;
}

/* Sets what a group gives that has no elements. */
static void find_nothing(struct keyed *job) {
    struct wf_accumulator acc;
    wf_accumulator_init_like(&acc, job->grouped->empty, job->grouped->empty->first_index, NULL);
    wf_error error = wf_accumulator_finish(NULL, &acc, acc.op, &job->nothing);
    if (error == WF_ERROR_EMPTY && job->grouped->has_fill) job->nothing = job->grouped->fill;
    job->has_nothing = !error || (error == WF_ERROR_EMPTY && job->grouped->has_fill);
}

/* Appends the elements of a block whose groups are left.  Bad keys, which are skipped, have no mark. */
static void find_left_in(struct keyed *job, const int64_t *key, size_t count, int64_t position) {
    const unsigned char *marks = job->marks;
    const uint64_t groups = (uint64_t)job->groups;
    unsigned any = 0;
    for (size_t j = 0; j < count; j++) any |= marks[(uint64_t)key[j] < groups ? (uint64_t)key[j] : groups];
    for (size_t j = 0; any && j < count; j++) {
        job->lost[job->lost_count] = (struct keyed_lost){key[j], position + (int64_t)j};
        job->lost_count += marks[(uint64_t)key[j] < groups ? (uint64_t)key[j] : groups];
    }
}

/* The elements of the groups that are left, by group; false if they are too many, or without memory. */
static bool find_left(struct keyed *job) {
    struct keyed_table *table = job->table[0];
    size_t capacity = job->lost_max + WF_UNITS_MAX + 1;
    job->lost_pages = wf_pages_take(job->lost_kept, capacity * sizeof *job->lost);
    job->lost = job->lost_pages.at;
    for (int64_t i = 0; job->lost && i < job->count && job->lost_count <= job->lost_max;) {
        const struct keyed_block block = wf_key_table_read(table, job, i, job->count - i);
        find_left_in(job, table->key, block.count, i);
        i += (int64_t)block.count;
    }
    if (!job->lost || job->lost_count > job->lost_max) return false;
    qsort(job->lost, job->lost_count, sizeof *job->lost, compare_lost);
    return true;
}

bool wf_keyed_write_left(struct keyed *job, struct wf_accumulator *acc) {
    const wf_output *output = job->grouped->output;
    const wf_type type = job->grouped->result_type;
    const int64_t stride_bytes = output->stride_bytes ? output->stride_bytes[0] : (int64_t)wf_type_nbytes(type);
    if (!atomic_load(&job->any_left)) return true;
    if (!find_left(job)) return false;
    for (size_t i = 0, end; i < job->lost_count; i = end) {
        wf_value value = {.type = type};
        for (end = i; end < job->lost_count && job->lost[end].key == job->lost[i].key;) end++;
        wf_accumulator_init_like(acc, job->grouped->empty, job->grouped->empty->first_index, NULL);
        add_lost(acc, job, job->lost + i, end - i);
        acc->count = (int64_t)(end - i);
        if (!finish(&value, job, acc)) return false;
        wf_value_store(&value, (char *)output->data + job->lost[i].key * stride_bytes);
    }
    return true;
}

bool wf_keyed_prepare(struct keyed *job) {
    find_nothing(job);
    if (job->are_bounded) {
        job->marks_pages = wf_pages_take(job->marks_kept, (size_t)job->groups + 1);
        job->marks = job->marks_pages.at;
        if (job->marks) job->marks[job->groups] = 0;
        return job->marks;
    }
    if (!sort_lost(job) || !mark_groups(job)) return false;
    wf_type type = job->grouped->result_type;
    bool is_sum = job->parts == WF_PART_SUM || job->parts == WF_PART_ABS || job->parts == WF_PART_DOT;
    job->adder_rounds = is_sum && wf_type_is_float(job->grouped->empty->type) && !job->counts && !job->marks &&
                        (type == WF_F32 || type == WF_F64);
    job->divides = job->grouped->empty->op == WF_MEAN && !job->marks && (type == WF_F32 || type == WF_F64);
    const int64_t ddof = job->counts ? job->grouped->empty->ddof : 0;
    job->squares_are_rounded = job->parts & WF_PART_SQUARES && (type == WF_F32 || type == WF_F64) && ddof >= 0 && ddof < 1 << 26;
    return true;
}
