/* Reductions by groups: results of groups whose elements are all in one tile, panel or window of rows: without
 * accumulators, which would cost more than the elements. */
#include "core/small_finish.h"
#include "cpu/groups_job.h"
#include "cpu/panels.h"

#include <string.h>

static int64_t count_in(const struct few *few, size_t c) {
    return few->offset ? few->offset[c + 1] - few->offset[c] : few->count;
}

/* Whether a group has no value, except for ops that have one of no elements. */
static bool is_without_value(const struct wf_accumulator *empty, enum wf_part part, int64_t count) {
    if (part || empty->op == WF_NORM2) return count == 0 && part & (WF_PART_MIN | WF_PART_MAX);
    return count <= (empty->op == WF_MEAN ? 0 : empty->ddof);
}

static void write_value(const wf_value *value, const struct few *few, size_t c) {
    wf_value_store(value, few->result + (int64_t)c * few->result_stride_bytes);
}

/* Writes results of nbytes each, unless they are where they belong: mostly contiguous, so that they cost a single copy. */
static void write_found(const struct few *few, const void *found, size_t nbytes) {
    if (found == few->result) return;
    if (few->result_stride_bytes == (int64_t)nbytes) {
        memcpy(few->result, found, few->groups * nbytes);
        return;
    }
    for (size_t c = 0; c < few->groups; c++)
        memcpy(few->result + (int64_t)c * few->result_stride_bytes, (const char *)found + c * nbytes, nbytes);
}

/* Writes the fill to groups that have no value; false if there is none. */
static bool write_fills(const struct few *few, const struct wf_grouped *grouped, enum wf_part part) {
    for (size_t c = 0; c < few->groups; c++) {
        if (!is_without_value(grouped->empty, part, count_in(few, c))) continue;
        if (!grouped->has_fill) return false;
        write_value(&grouped->fill, few, c);
    }
    return true;
}

/* Makes -0 what is 0 as the sum of nothing but -0. */
static void find_minus_zeros(bool *are_minus_zeros, const bool *is_zero, const struct job *job, const struct few *few) {
    const int64_t stride_bytes = job->dimension[job->ndim - 1].stride_bytes[0];
    bool any = false;
    for (size_t c = 0; c < few->groups; c++) any |= is_zero[c];
    memset(are_minus_zeros, 0, few->groups);
    if (any) wf_panel_find_minus_zeros(are_minus_zeros, is_zero, few->view, stride_bytes, few->first, few->groups);
}

/* Finds the results of a panel, which are f32 or f64. */
static bool find_panel_results(const struct job *job, const struct few *few, enum wf_part part, void *found) {
    bool is_zero[WF_COLUMNS_MAX], are_minus_zeros[WF_COLUMNS_MAX];
    wf_type type = job->grouped->empty->type;
    unsigned char *bytes = found;
    size_t nbytes = wf_type_nbytes(type);
    bool has_zero;
    if (!job->cpu->tier->find_panel_results[type](few->panel, few->first, few->groups, found, &has_zero)) return false;
    if (part != WF_PART_SUM || !has_zero) return true;
    for (size_t c = 0; c < few->groups; c++) {
        uint64_t bits = 0;
        memcpy(&bits, bytes + c * nbytes, nbytes);
        is_zero[c] = !bits;
    }
    find_minus_zeros(are_minus_zeros, is_zero, job, few);
    for (size_t c = 0; c < few->groups; c++)
        if (are_minus_zeros[c]) bytes[(c + 1) * nbytes - 1] = 0x80;
    return true;
}

static bool find_panel_totals(const struct job *job, const struct few *few, enum wf_part part,
                              struct wf_column_totals *totals) {
    bool is_zero[WF_COLUMNS_MAX];
    if (!job->cpu->tier->find_panel_totals[job->grouped->empty->type](few->panel, few->first, few->groups, totals))
        return false;
    if (part != WF_PART_SUM) return true;
    for (size_t c = 0; c < few->groups; c++) is_zero[c] = totals->sum[c] == 0;
    find_minus_zeros(totals->is_minus_zero, is_zero, job, few);
    return true;
}

/* Finds the extrema of rows, or their indices; false: of some row it is a NaN that is left out or an error. */
static bool find_row_minmax(const struct job *job, const struct few *few, struct wf_extremum asked, uint64_t *found) {
    const struct wf_accumulator *empty = job->grouped->empty;
    const bool has_nan = job->cpu->tier->find_row_minmax[empty->type](few->rows, asked, found);
    for (size_t c = 0; asked.of_index && c < few->groups; c++)
        found[c] += (uint64_t)(empty->first_index + (few->offset ? few->offset[c] : 0));
    return !has_nan || empty->nan == WF_NAN_PROPAGATE;
}

/* The same of a tile's groups: where there are only NaNs, which are left out, it is the fill, if there is one. */
static bool find_tile_minmax(const struct worker *worker, const struct job *job, const struct few *few, struct wf_extremum asked,
                             uint64_t *found) {
    const struct wf_grouped *grouped = job->grouped;
    const struct wf_accumulator *empty = grouped->empty;
    const size_t nbytes = wf_type_nbytes(grouped->result_type);
    bool are_nans[WF_COLUMNS_MAX];
    const bool has_nan = wf_columns_minmax(worker->columns, job->cpu->tier, empty->type, asked, found, are_nans);
    for (size_t c = 0; asked.of_index && few->offset && c < few->groups; c++)
        found[c] += (uint64_t)(empty->first_index + few->offset[c]);
    if (!has_nan || empty->nan == WF_NAN_PROPAGATE) return true;
    if (empty->nan == WF_NAN_ERROR || !grouped->has_fill) return false;
    for (size_t c = 0; c < few->groups; c++)
        if (are_nans[c]) wf_value_store(&grouped->fill, (unsigned char *)found + c * nbytes);
    return true;
}

/* Finds the dot products of rows; of segments without elements it is +0. */
static bool find_row_dots(const struct job *job, const struct few *few, uint64_t *found) {
    const size_t nbytes = wf_type_nbytes(job->grouped->result_type);
    unsigned char *bytes = (unsigned char *)found;
    if (!job->cpu->tier->find_row_dots[job->grouped->empty->type](few->rows, few->y, few->y_stride_bytes, found)) return false;
    for (size_t c = 0; few->offset && c < few->groups; c++)
        if (!count_in(few, c)) memset(bytes + c * nbytes, 0, nbytes);
    return true;
}

/* Finds the result of one part for each group, as wf_results_function does. */
static bool find_results(const struct worker *worker, const struct job *job, const struct few *few, enum wf_part part,
                         bool of_index, uint64_t *found) {
    wf_type type = job->grouped->empty->type;
    const struct wf_extremum asked = {part == WF_PART_MAX, of_index, job->grouped->empty->nan != WF_NAN_OMIT};
    bool is_minmax = part & (WF_PART_MIN | WF_PART_MAX);
    if (is_minmax) return few->rows ? find_row_minmax(job, few, asked, found) : find_tile_minmax(worker, job, few, asked, found);
    if (few->rows && part == WF_PART_DOT) return find_row_dots(job, few, found);
    if (few->rows) return job->cpu->tier->find_row_results[type](few->rows, part, found);
    if (few->panel) return find_panel_results(job, few, part, found);
    return wf_columns_results(worker->columns, job->cpu->tier, type, part, found);
}

/* Finds the exact sums of rows of integers with those of their squares, which are dot products with themselves. */
static bool find_row_squares(const struct job *job, const struct few *few, struct wf_column_totals *totals) {
    const struct wf_tier *tier = job->cpu->tier;
    const struct wf_rows *rows = few->rows;
    const wf_type type = job->grouped->empty->type;
    uint64_t squares[WF_COLUMNS_MAX];
    if (!tier->find_row_totals[type](rows, WF_PART_SUM, totals)) return false;
    if (!tier->find_row_dots[type](rows, rows->x, rows->stride_bytes, squares)) return false;
    totals->squares_exponent = 0;
    for (size_t c = 0; c < few->groups; c++) totals->squares[c] = squares[c];
    return true;
}

/* Finds the exact sums.  part: that which rows and panels add up. */
static bool find_totals(const struct worker *worker, const struct job *job, const struct few *few, enum wf_part part,
                        struct wf_column_totals *totals) {
    const struct wf_accumulator *empty = job->grouped->empty;
    const unsigned parts = empty->parts & WF_PART_SQUARES ? WF_PART_SUM | WF_PART_SQUARES : empty->parts;
    if (empty->parts & WF_PART_PRODUCT) return false;
    if (few->rows && empty->parts & WF_PART_SQUARES) return find_row_squares(job, few, totals);
    if (few->rows) return job->cpu->tier->find_row_totals[empty->type](few->rows, part, totals);
    if (few->panel) return find_panel_totals(job, few, part, totals);
    return wf_columns_totals(worker->columns, job->cpu->tier, empty->type, parts, totals);
}

/* Rounds exact sums to the results' type. */
static bool round_totals(const struct worker *worker, const struct job *job, const struct few *few, enum wf_part part) {
    struct wf_column_totals totals;
    wf_value value;
    if (!(few->rows || few->panel) || !find_totals(worker, job, few, part, &totals)) return false;
    for (size_t c = 0; c < few->groups; c++) {
        bool is_negative = totals.sum[c] ? totals.sum[c] < 0 : totals.is_minus_zero[c];
        wf_u128 magnitude = totals.sum[c] < 0 ? -(wf_u128)totals.sum[c] : (wf_u128)totals.sum[c];
        struct wf_number number = wf_number_make(is_negative, magnitude, totals.sum_exponent, false);
        if (!wf_number_round(&number, job->grouped->result_type, &value)) return false;
        write_value(&value, few, c);
    }
    return true;
}

/* Makes truths, of a byte each, of how many elements of each group are nonzero. */
static void find_truths(uint64_t *found, const struct few *few, bool of_all) {
    unsigned char truth[WF_COLUMNS_MAX];
    for (size_t c = 0; c < few->groups; c++)
        truth[c] = of_all ? found[c] == (uint64_t)count_in(few, c) : found[c] != 0;
    memcpy(found, truth, few->groups);
}

/* Writes results of ops that consist of one part. */
static bool write_parts(const struct worker *worker, const struct job *job, const struct few *few, enum wf_part part,
                        bool of_index) {
    const struct wf_grouped *grouped = job->grouped;
    uint64_t found[WF_COLUMNS_MAX];
    if (!find_results(worker, job, few, part, of_index, found))
        return part & (WF_PART_SUM | WF_PART_ABS) && round_totals(worker, job, few, part);
    if (grouped->empty->op == WF_ANY || grouped->empty->op == WF_ALL)
        find_truths(found, few, grouped->empty->op == WF_ALL);
    write_found(few, found, wf_type_nbytes(grouped->result_type));
    return !few->offset || write_fills(few, grouped, part);
}

/* The mean of integers whose sum is an f64: one division rounds it. */
static bool try_plain_mean(wf_value *value, wf_op op, const struct wf_small_sums *sums) {
    const wf_i128 most = (wf_i128)1 << 53;
    bool is_plain = op == WF_MEAN && value->type == WF_F64 && sums->sum_exponent == 0 && !sums->is_minus_zero;
    if (!is_plain || sums->count > most || sums->sum > most || sums->sum < -most) return false;
    value->v.f64 = (double)(int64_t)sums->sum / (double)sums->count;
    return true;
}

/* Writes means, variances and their roots, and 2-norms. */
static bool write_finished(const struct worker *worker, const struct job *job, const struct few *few) {
    const struct wf_grouped *grouped = job->grouped;
    const struct wf_accumulator *empty = grouped->empty;
    struct wf_column_totals totals;
    struct wf_number number;
    if (!find_totals(worker, job, few, WF_PART_SUM, &totals)) return false;
    if (!(empty->parts & WF_PART_SQUARES)) memset(totals.squares, 0, sizeof totals.squares);
    for (size_t c = 0; c < few->groups; c++) {
        wf_value value = {.type = grouped->result_type};
        struct wf_small_sums sums = {totals.sum[c], totals.squares[c], totals.sum_exponent, totals.squares_exponent,
                                     totals.is_minus_zero[c], count_in(few, c)};
        bool is_without = is_without_value(empty, (enum wf_part)0, sums.count);
        if (is_without && !grouped->has_fill) return false;
        if (is_without)
            value = grouped->fill;
        else if (!try_plain_mean(&value, empty->op, &sums) &&
                 (!wf_small_finish(empty->op, &sums, empty->ddof, &number) || !wf_number_round(&number, value.type, &value)))
            return false;
        write_value(&value, few, c);
    }
    return true;
}

/* The number of elements of each segment in a tile, and the divisor of its sum; 1 where there is no value. */
struct counts {
    double count[WF_COLUMNS_MAX], divisor[WF_COLUMNS_MAX];
};

static void set_counts(struct wf_quotient *asked, struct counts *counts, const struct few *few,
                       const struct wf_accumulator *empty) {
    for (size_t c = 0; c < WF_COLUMNS_MAX; c++) {
        int64_t count = c < few->groups ? count_in(few, c) : 1, divisor = count;
        if (empty->parts & WF_PART_SQUARES) divisor *= count - empty->ddof;
        counts->count[c] = divisor > 0 ? (double)count : 1;
        counts->divisor[c] = divisor > 0 ? (double)divisor : 1;
    }
    asked->is_power = false;
    asked->counts = counts->count;
    asked->divisors = counts->divisor;
}

/* Sets the divisor of rows by label, whose numbers differ; false if they are too few. */
static bool set_count(struct wf_quotient *asked, const struct job *job, const struct few *few) {
    const bool is_variance = asked->parts & WF_PART_SUM && asked->parts & WF_PART_SQUARES;
    if (is_variance && few->count <= job->grouped->empty->ddof) return false;
    asked->count = (double)few->count;
    if (asked->is_divided) asked->divisor = wf_job_divisor(job, asked->parts, few->count);
    return true;
}

/* The product of nothing, which a tile does not show. */
static void write_nothing(const struct few *few, const struct job *job) {
    for (size_t c = 0; c < few->groups; c++)
        if (!count_in(few, c)) write_value(&job->nothing, few, c);
}

/* Whether the worker's tile has few elements of each group, and their results have been written. */
static bool try_quotient(const struct worker *worker, const struct job *job, const struct few *few) {
    const struct wf_accumulator *empty = job->grouped->empty;
    struct wf_quotient asked = job->quotient;
    struct counts counts;
    uint64_t found[WF_COLUMNS_MAX];
    if (!asked.parts || few->rows || few->panel) return false;
    if (few->offset && (asked.is_divided || asked.omits_nan)) set_counts(&asked, &counts, few, empty);
    const bool by_label = !few->offset && job->counts_groups >= 0;
    if (by_label && (few->count > WF_FEW_ROWS_MAX || !set_count(&asked, job, few))) return false;
    if (!wf_columns_find_few(worker->columns, job->cpu->tier, empty->type, &asked, found)) return false;
    write_found(few, found, wf_type_nbytes(job->grouped->result_type));
    if (few->offset && asked.parts == WF_PART_PRODUCT) write_nothing(few, job);
    return !few->offset || write_fills(few, job->grouped, asked.is_divided ? (enum wf_part)0 : (enum wf_part)asked.parts);
}

/* Makes 0 what is added up of nothing. */
static void write_zeros(const struct few *few, size_t nbytes) {
    for (size_t c = 0; c < few->groups; c++)
        if (!count_in(few, c)) memset(few->result + (int64_t)c * few->result_stride_bytes, 0, nbytes);
}

/* Sets what the sums of rows are divided by; false if they are too few. */
static bool set_divisors(struct wf_quotient *asked, struct counts *counts, const struct job *job, const struct few *few) {
    if (few->offset && asked->is_divided) set_counts(asked, counts, few, job->grouped->empty);
    return few->offset || job->counts_groups < 0 || set_count(asked, job, few);
}

/* Finds them in one pass.  What is asked for is only copied where it differs from group to group: rows may be short. */
static bool find_exact_rows(uint64_t *found, const struct job *job, const struct few *few, int64_t apart) {
    wf_exact_rows_function *find = job->cpu->tier->find_exact_rows[job->grouped->empty->type];
    struct wf_quotient asked;
    struct counts counts;
    if (!job->bounded.is_divided || (!few->offset && job->counts_groups < 0)) return find(few->rows, apart, &job->bounded, found);
    asked = job->bounded;
    return set_divisors(&asked, &counts, job, few) && find(few->rows, apart, &asked, found);
}

bool wf_few_find_exact_rows(struct worker *worker, const struct job *job, const struct few *few, int64_t apart) {
    const struct wf_quotient *asked = &job->bounded;
    const size_t nbytes = wf_type_nbytes(job->grouped->result_type);
    struct attempt *attempt = apart > 1 ? &worker->rows_apart : &worker->exact_rows; /* the latter of copies without NaNs, too */
    uint64_t found[WF_COLUMNS_MAX];
    const bool are_sums = asked->parts && !(asked->parts & WF_PART_SQUARES);
    if (!are_sums || !job->cpu->tier->tells_exact || !wf_attempt_is_due(attempt)) return false;
    const bool is_found = find_exact_rows(found, job, few, apart);
    wf_attempt_note(attempt, is_found, 1);
    if (!is_found) return false;
    write_found(few, found, nbytes);
    if (few->offset) write_zeros(few, nbytes);
    return !few->offset || write_fills(few, job->grouped, asked->is_divided ? (enum wf_part)0 : (enum wf_part)asked->parts);
}

void wf_few_bound_rows(const struct job *job, const struct few *few, bool *has_failed) {
    const struct wf_grouped *grouped = job->grouped;
    struct wf_quotient asked = job->bounded;
    const enum wf_part part = asked.is_divided ? (enum wf_part)0 : (enum wf_part)asked.parts;
    struct counts counts;
    uint64_t found[WF_COLUMNS_MAX];
    if (!set_divisors(&asked, &counts, job, few)) {
        memset(has_failed, true, few->groups);
        return;
    }
    job->cpu->tier->find_row_quotients[grouped->empty->type](few->rows, &asked, found, has_failed);
    write_found(few, found, wf_type_nbytes(grouped->result_type));
    if (few->offset) write_zeros(few, wf_type_nbytes(grouped->result_type));
    for (size_t c = 0; few->offset && c < few->groups; c++) {
        if (!is_without_value(grouped->empty, part, count_in(few, c))) continue;
        has_failed[c] = !grouped->has_fill;
        if (grouped->has_fill) write_value(&grouped->fill, few, c);
    }
}

static bool has_bounds(const struct job *job, const struct wf_view *view, const struct wf_quotient *asked, size_t columns) {
    if (!asked->parts || !job->cpu->tier->bound_columns[job->grouped->empty->type]) return false;
    return view->ndim == 1 && !view->positions.index && view->count <= WF_BOUNDED_ROWS_MAX && columns >= WF_STRIP_COLUMNS;
}

bool wf_few_bound_columns(const struct job *job, const struct few *few, size_t columns, bool *has_failed) {
    const struct wf_quotient *asked = job->bounded.parts ? &job->bounded : &job->quotient;
    const struct wf_view *view = few->view;
    if (!has_bounds(job, view, asked, columns)) return false;
    const size_t width = few->groups < WF_STRIP_COLUMNS ? WF_STRIP_COLUMNS : few->groups;
    const size_t before = width - few->groups, begin = few->first - before; /* columns that fill up a strip */
    struct wf_panel panel = {view->data[0] + begin * view->nbytes, view->stride_bytes[0][0], (size_t)view->count, width, 0, NULL, 0,
                             NULL};
    uint64_t copy[WF_BOUNDED_COLUMNS_MAX];
    bool failed[WF_BOUNDED_COLUMNS_MAX];
    const bool in_place = !before && few->result_stride_bytes == (int64_t)view->nbytes;
    unsigned char *found = in_place ? few->result : (unsigned char *)copy;
    if (view->operands > 1) {
        panel.y = view->data[1] + begin * view->nbytes;
        panel.y_stride_bytes = view->stride_bytes[1][0];
    }
    job->cpu->tier->bound_columns[job->grouped->empty->type](&panel, width, asked, found, failed);
    memcpy(has_failed, failed + before, few->groups);
    if (!in_place) write_found(few, found + before * view->nbytes, view->nbytes);
    return true;
}

/* In a tile, products of integers of 4 bytes are faster added up as such, if that takes them. */
static bool write_few(const struct worker *worker, const struct job *job, const struct few *few) {
    bool of_index;
    enum wf_part part;
    wf_job_short_parts(job, &part, &of_index);
    if (few->found) write_found(few, few->found, wf_type_nbytes(job->grouped->result_type));
    wf_type type = job->grouped->empty->type;
    bool levels_come_first = part == WF_PART_DOT && wf_type_nbytes(type) == 4 && !wf_type_is_float(type);
    if (few->found || (!levels_come_first && try_quotient(worker, job, few))) return true;
    if (part ? write_parts(worker, job, few, part, of_index) : write_finished(worker, job, few)) return true;
    return levels_come_first && try_quotient(worker, job, few);
}

/* Whether NaNs that elements may have can be taken out, and something else can stand in their place: of sums and counts, and of
 * products, where the results of groups that have NaNs are known. */
static bool may_take_nans(const struct job *job, const struct few *few, unsigned parts) {
    const struct wf_accumulator *empty = job->grouped->empty;
    const unsigned added = WF_PART_SUM | WF_PART_ABS | WF_PART_SQUARES | WF_PART_NONZERO | (few->rows ? WF_PART_DOT : 0);
    const unsigned taken = added | (empty->nan == WF_NAN_PROPAGATE ? WF_PART_PRODUCT : 0);
    return !few->panel && wf_type_is_float(empty->type) && empty->nan != WF_NAN_ERROR && parts && !(parts & ~taken);
}

/* Makes groups that have that many NaNs, which have been taken out, groups of their other elements; of rows those are copies. */
static void leave_out_nans(struct few_without_nans *others, const struct worker *worker, const struct job *job) {
    const size_t nbytes = wf_type_nbytes(job->grouped->empty->type);
    struct few *few = &others->few;
    others->offset[0] = 0;
    for (size_t c = 0; c < few->groups; c++) {
        others->offset[c + 1] = others->offset[c] + count_in(few, c) - others->nans[c];
        if (others->offset[c + 1] != others->offset[c]) continue;
        if (few->rows)
            wf_columns_clear_row(worker->columns, few->rows, c, nbytes);
        else
            wf_columns_clear(worker->columns, c, nbytes);
    }
    few->offset = others->offset;
}

bool wf_few_take_nans(struct few_without_nans *others, struct worker *worker, const struct job *job, const struct few *few) {
    const struct wf_accumulator *empty = job->grouped->empty;
    const bool are_counted = empty->nan == WF_NAN_PROPAGATE;
    bool of_index;
    enum wf_part part;
    const unsigned parts = wf_job_short_parts(job, &part, &of_index);
    if (!may_take_nans(job, few, parts) || !wf_worker_has_columns(worker)) return false;
    others->few = *few;
    if (few->rows) {
        others->rows = *few->rows;
        others->few.rows = &others->rows;
        if (!wf_columns_take_nans_of_rows(worker->columns, job->cpu->tier, empty->type, parts, are_counted, &others->rows,
                                          &others->few.y, &others->few.y_stride_bytes, others->nans))
            return false;
    } else if (!wf_columns_take_nans(worker->columns, job->cpu->tier, empty->type, parts, are_counted, others->nans)) {
        return false;
    }
    if (!are_counted) leave_out_nans(others, worker, job);
    return true;
}

void wf_few_write_nans(const struct few_without_nans *others, const struct job *job, bool *has_failed) {
    const struct wf_grouped *grouped = job->grouped;
    wf_value value = {.type = grouped->result_type};
    const struct wf_number nan = wf_number_nan();
    if (grouped->empty->nan != WF_NAN_PROPAGATE || !wf_op_gives_value(grouped->empty->op)) return;
    if (!wf_number_round(&nan, grouped->result_type, &value)) return;
    const bool is_variance = grouped->empty->op == WF_VAR || grouped->empty->op == WF_STD;
    for (size_t c = 0; c < others->few.groups; c++) {
        if (!others->nans[c] || (is_variance && count_in(&others->few, c) <= grouped->empty->ddof)) continue; /* without a value */
        write_value(&value, &others->few, c);
        if (has_failed) has_failed[c] = false;
    }
}

bool wf_few_write(struct worker *worker, const struct job *job, const struct few *few) {
    struct few_without_nans others;
    if (write_few(worker, job, few)) return true;
    if (few->rows || !wf_few_take_nans(&others, worker, job, few) || !write_few(worker, job, &others.few)) return false;
    wf_few_write_nans(&others, job, NULL);
    return true;
}
