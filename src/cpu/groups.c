/* Reductions by groups on the CPU: threads take tiles of results, and fold the elements of each result. */
#include "core/environment.h"
#include "core/labels.h"
#include "core/shaped.h"
#include "core/small_finish.h"
#include "core/small_sum.h"
#include "cpu/keyed.h"
#include "cpu/pairs.h"
#include "cpu/panels.h"
#include "cpu/workers.h"

#include <stdatomic.h>
#include <stdlib.h>

/* A dimension of the results. */
struct dimension {
    int64_t length;
    int64_t stride_bytes[2];     /* of the elements, for each operand; 0 for the one that counts groups */
    int64_t result_stride_bytes; /* of the output */
    int64_t number_stride;       /* of the results' numbers, which count in C order */
};

/* What the threads share. */
struct job {
    const struct wf_grouped *grouped;
    const struct cpu *cpu;
    struct wf_labels labels; /* of segments and keys */
    struct wf_view view;     /* of the elements of one group, whose data and count are still to be set */
    int64_t data_offset[2];  /* from a group's first element to the data of its view */
    /* The results' dimensions, the last of which is divided into tiles: neighbours in it are neighbours in memory, as
     * far as the array has any. */
    int ndim;
    int counts_groups; /* the dimension that counts segments or keys; -1: none */
    struct dimension dimension[WF_NDIM_MAX + 1];
    bool uses_rows;     /* a group's elements lie side by side, and are so few that several groups share a window */
    bool uses_panels;   /* a tile's results are a panel's, or, where that fails, folded as follows: */
    int64_t columns;    /* so many results */
    bool uses_columns;  /* are folded side by side */
    bool must_be_whole; /* but one by one unless a tile has all elements of its groups */
    int64_t tile;       /* results of the last dimension */
    int64_t tile_count; /* in all */
    int64_t tiles_at_once;
    int64_t shared_count; /* groups of so many elements are shared by all threads */
    atomic_llong next;
    atomic_llong first_failed; /* the number of the first result that failed; INT64_MAX: none */
};

/* One result: where its elements begin, where it goes. */
struct place {
    const unsigned char *data[2];
    unsigned char *result;
    int64_t number;
    int64_t group;
};

/* ---- planning ---- */

static struct dimension dimension_of(const struct wf_layout *layout, int d) {
    if (layout->reduced_count == 0) return (struct dimension){.length = layout->shape[d]}; /* there may be no data */
    return (struct dimension){.length = layout->shape[d],
                              .stride_bytes = {layout->stride_bytes[0][d],
                                               layout->operands > 1 ? layout->stride_bytes[1][d] : 0}};
}

/* Sets the strides of the output and of the results' numbers. */
static void set_result_strides(struct job *job) {
    const struct wf_output *output = job->grouped->output;
    int64_t packed = (int64_t)wf_type_nbytes(job->grouped->result_type), number = 1;
    for (int d = job->ndim - 1; d >= 0; d--) {
        job->dimension[d].result_stride_bytes = output->stride_bytes ? output->stride_bytes[d] : packed;
        job->dimension[d].number_stride = number;
        packed *= job->dimension[d].length;
        number *= job->dimension[d].length;
    }
}

static uint64_t distance(const struct dimension *dimension) {
    int64_t stride = dimension->stride_bytes[0];
    return stride < 0 ? 0 - (uint64_t)stride : (uint64_t)stride;
}

/* Moves the dimension in which elements are nearest to each other to the end: one of length 1, if groups are all that
 * the results count. */
static void order_dimensions(struct job *job) {
    int nearest = -1;
    for (int d = 0; d < job->ndim; d++) {
        bool usable = d != job->counts_groups && job->dimension[d].length > 1;
        if (usable && (nearest < 0 || distance(&job->dimension[d]) <= distance(&job->dimension[nearest]))) nearest = d;
    }
    job->dimension[job->ndim++] = nearest < 0 ? (struct dimension){.length = 1} : job->dimension[nearest];
    if (nearest >= 0) job->dimension[nearest] = (struct dimension){.length = 1};
}

static void lay_out(struct job *job, const struct wf_layout *layout) {
    job->ndim = layout->ndim;
    job->counts_groups = layout->axis;
    for (int d = 0; d < layout->ndim; d++) job->dimension[d] = dimension_of(layout, d);
    set_result_strides(job);
    order_dimensions(job);
}

/* The view of one group.  Without elements there is none. */
static void view_groups(struct job *job) {
    const struct wf_grouped *grouped = job->grouped;
    const struct wf_layout *layout = grouped->layout;
    if (layout->reduced_count == 0) return;
    wf_layout_view(layout, &job->view, grouped->a, grouped->b, wf_accumulator_is_indexed(grouped->empty));
    job->data_offset[0] = job->view.data[0] - (const unsigned char *)grouped->a->data;
    job->data_offset[1] = grouped->b ? job->view.data[1] - (const unsigned char *)grouped->b->data : 0;
    for (int o = 0; o < layout->operands; o++)
        if (job->labels.elements[o]) job->view.stride_bytes[o][0] = (int64_t)job->view.nbytes;
}

/* The elements of a group, on average. */
static int64_t group_count(const struct job *job) {
    const struct wf_layout *layout = job->grouped->layout;
    return job->counts_groups < 0 ? layout->reduced_count : layout->reduced_count / layout->shape[layout->axis];
}

/* The ops whose results are a part's, or its index, as they are. */
static enum wf_part part_of_op(wf_op op, bool *of_index) {
    unsigned parts = wf_op_parts(op);
    const unsigned sums = WF_PART_SUM | WF_PART_ABS | WF_PART_DOT, extrema = WF_PART_MIN | WF_PART_MAX;
    bool is_plain = op == WF_SUM || op == WF_NORM1 || op == WF_DOT || op == WF_MIN || op == WF_MAX || op == WF_NONZERO;
    *of_index = op == WF_ARGMIN || op == WF_ARGMAX;
    return (is_plain || *of_index) && parts & (sums | extrema | WF_PART_NONZERO) ? (enum wf_part)parts : (enum wf_part)0;
}

/* The parts of an op whose results short groups give without accumulators, which would cost more than the elements; 0:
 * another one, or all are added to an accumulator.  *part: that which is the result, or whose index; 0: it must be finished. */
static unsigned short_parts(const struct job *job, enum wf_part *part, bool *of_index) {
    const struct wf_grouped *grouped = job->grouped;
    const struct wf_accumulator *empty = grouped->empty;
    *part = part_of_op(empty->op, of_index);
    if (grouped->into) return 0;
    if (*part) return grouped->result_type == wf_op_result_type(empty->op, empty->type) ? (unsigned)*part : 0;
    return empty->op == WF_MEAN || empty->op == WF_VAR || empty->op == WF_STD ? empty->parts : 0;
}

/* How many groups that are longer than other tiles a tile has room for as a whole; 0: none. */
static int64_t columns_of_long_tile(const struct job *job) {
    bool of_index;
    enum wf_part part;
    unsigned parts = short_parts(job, &part, &of_index);
    int64_t count = group_count(job);
    bool is_long = job->counts_groups < 0 && parts && count > WF_TILE_ROWS_MAX;
    if (!is_long) return 0;
    int64_t columns = WF_COLUMNS_MAX;
    while (columns && !wf_columns_fit(count, columns, job->view.nbytes, parts)) columns -= WF_COLUMNS_STEP;
    return columns;
}

/* Whether the elements of neighbouring groups are nearer to each other than those of one group. */
static bool neighbours_are_near(const struct job *job) {
    int64_t stride = job->view.stride_bytes[0][job->view.ndim - 1];
    return job->labels.positions.index ||
           distance(&job->dimension[job->ndim - 1]) < (uint64_t)(stride < 0 ? -stride : stride);
}

/* Whether groups of that length, which blocks take as well, are faster transposed. */
static bool is_worth_transposing(int64_t count, size_t nbytes) {
    enum { LENGTH_MAX_OF_4_BYTES = 320 };
    return nbytes == 8 || (nbytes == 4 && count <= LENGTH_MAX_OF_4_BYTES);
}

/* Sets whether and how many neighbouring groups are folded side by side: where their elements are near, or where groups
 * are so short that what each costs by itself would count. */
static void choose_columns(struct job *job) {
    enum { SHORT = 256, NARROW = 8 };
    const struct wf_accumulator *empty = job->grouped->empty;
    int64_t count = group_count(job), neighbours = job->dimension[job->ndim - 1].length;
    if (neighbours < 2 || count == 0 || empty->tree || empty->parts & WF_PART_PRODUCT) return;
    bool are_few = neighbours < NARROW && wf_accumulator_is_indexed(empty);
    bool pays = count <= SHORT || (!are_few && neighbours_are_near(job));
    int64_t columns = columns_of_long_tile(job);
    job->uses_columns = pays || (columns && is_worth_transposing(count, job->view.nbytes));
    job->must_be_whole = !pays;
    if (job->uses_columns) job->tile = columns ? columns : WF_COLUMNS_MAX;
}

/* The ops whose results are sums of a group's values or magnitudes, or are made of one; 0: others. */
static enum wf_part summed_part(const struct job *job) {
    bool of_index;
    enum wf_part part;
    unsigned parts = short_parts(job, &part, &of_index);
    bool is_sum = parts == WF_PART_SUM || (part && parts == WF_PART_ABS);
    return is_sum ? (enum wf_part)parts : (enum wf_part)0;
}

/* Sets whether tiles are panels: as wide as threads leave them, at least one for each.  Columns have been chosen. */
static void choose_panels(struct job *job, int threads) {
    const struct dimension *last = &job->dimension[job->ndim - 1];
    int64_t groups = last->length;
    if (!job->uses_columns || group_count(job) < 2 || !summed_part(job) || job->counts_groups >= 0) return;
    if (!job->cpu->tier->sum_panel[job->grouped->empty->type] || last->stride_bytes[0] != (int64_t)job->view.nbytes) return;
    while (threads > 1 && groups > WF_STRIP_COLUMNS && job->grouped->layout->count / groups < 4 * threads) groups /= 2;
    if (job->grouped->layout->count / groups < threads) return;
    groups = (int64_t)wf_panel_groups(&job->view, groups);
    job->uses_panels = groups != 0;
    if (groups) job->tile = groups;
}

/* Sets whether lanes go along each group's elements: where they lie side by side, and are more than vectors of neighbouring
 * groups serve better. */
static void choose_rows(struct job *job) {
    enum { LEAST_NBYTES = 96 };
    const struct wf_view *view = &job->view;
    int64_t count = group_count(job), nbytes = (int64_t)view->nbytes;
    if (!count || !summed_part(job) || view->ndim != 1 || view->stride_bytes[0][0] != nbytes) return;
    if (!job->cpu->tier->find_row_results[job->grouped->empty->type]) return;
    if (job->labels.positions.index || (job->counts_groups >= 0 && job->grouped->layout->ndim > 1)) return;
    job->uses_rows = count <= WF_ROW_COUNT_MAX && (job->counts_groups >= 0 || count * nbytes >= LEAST_NBYTES);
}

/* Groups that exceed a thread's fair share, or that are worth all threads in any case. */
static int64_t shared_count_of(const struct job *job, int threads) {
    enum { LEAST_NBYTES = 1 << 20, MOST_NBYTES = 1 << 23 };
    int64_t nbytes = (int64_t)job->view.nbytes, share = group_count(job) * job->grouped->layout->count / (4 * threads);
    if (share > MOST_NBYTES / nbytes) return MOST_NBYTES / nbytes;
    return share < LEAST_NBYTES / nbytes ? LEAST_NBYTES / nbytes : share;
}

/* Tiles, of as many elements as a thread should take at a time. */
static void divide(struct job *job, int threads) {
    enum { ELEMENTS_AT_ONCE = 1 << 16, ELEMENTS_OF_RESULT = 256 /* what a result costs besides */ };
    const struct wf_layout *layout = job->grouped->layout;
    int64_t of_one = group_count(job) + ELEMENTS_OF_RESULT;
    int64_t length = job->dimension[job->ndim - 1].length, results = ELEMENTS_AT_ONCE / of_one + 1;
    job->tile = results;
    choose_rows(job);
    if (!job->uses_rows) choose_columns(job);
    job->columns = job->tile;
    if (!job->uses_rows) choose_panels(job, threads);
    if (job->tile > length) job->tile = length;
    job->tile_count = layout->count / length * ((length + job->tile - 1) / job->tile);
    job->tiles_at_once = results / job->tile + (results < job->tile);
    int64_t share = job->tile_count / (4 * threads) + 1;
    if (job->tiles_at_once > share) job->tiles_at_once = share;
    job->shared_count = threads == 1 || job->uses_columns ? INT64_MAX : shared_count_of(job, threads);
}

/* ---- one result ---- */

static void move(struct place *place, const struct job *job, int d, int64_t i) {
    const struct dimension *dimension = &job->dimension[d];
    for (int o = 0; o < job->grouped->layout->operands; o++) place->data[o] += i * dimension->stride_bytes[o];
    place->result += i * dimension->result_stride_bytes;
    place->number += i * dimension->number_stride;
    if (d == job->counts_groups) place->group += i;
}

/* Finds the first result of a tile; returns how many results the tile has. */
static int64_t find_tile(struct place *place, const struct job *job, int64_t tile) {
    const struct wf_grouped *grouped = job->grouped;
    int last = job->ndim - 1;
    int64_t length = job->dimension[last].length, tiles = (length + job->tile - 1) / job->tile;
    int64_t first = tile % tiles * job->tile, rest = tile / tiles;
    *place = (struct place){{grouped->a->data, grouped->b ? grouped->b->data : NULL}, grouped->output->data, 0, 0};
    move(place, job, last, first);
    for (int d = last - 1; d >= 0; d--) {
        move(place, job, d, rest % job->dimension[d].length);
        rest /= job->dimension[d].length;
    }
    return length - first < job->tile ? length - first : job->tile;
}

/* Makes the view show the elements of the group at that place.  *begin: how many positions of the axis, or of the
 * sorted keys, come before it. */
static void view_group(struct wf_view *view, int64_t *begin, const struct job *job, const struct place *place) {
    const struct wf_layout *layout = job->grouped->layout;
    *begin = 0;
    for (int o = 0; o < layout->operands; o++)
        view->data[o] = job->labels.elements[o] ? job->labels.elements[o] : place->data[o] + job->data_offset[o];
    if (layout->axis < 0) return;
    const int64_t *offset = job->labels.offsets + place->group;
    const char *index = job->labels.positions.index;
    *begin = offset[0];
    view->count = view->shape[0] = offset[1] - offset[0];
    view->positions = job->labels.positions;
    if (index) view->positions.index = index + *begin * (view->positions.are_wide ? 8 : 4);
    for (int o = 0; o < layout->operands && !index; o++) view->data[o] += *begin * view->stride_bytes[o][0];
}

static int64_t count_of(const struct job *job, const struct place *place) {
    const struct wf_layout *layout = job->grouped->layout;
    const int64_t *offsets = job->labels.offsets;
    return layout->axis < 0 ? layout->reduced_count : offsets[place->group + 1] - offsets[place->group];
}

/* Makes the indices of a group's elements, which count those that precede it by key, positions of the axis. */
static void set_positions(struct wf_accumulator *acc, const struct wf_view *view) {
    uint64_t *index[] = {&acc->partial.min_index, &acc->partial.max_index, &acc->partial.first_nan};
    uint64_t first = (uint64_t)acc->first_index;
    if (!view->positions.index) return;
    for (int i = 0; i < 3; i++)
        if (*index[i] != INT64_MAX)
            *index[i] = first + (uint64_t)wf_position(view->positions, (int64_t)(*index[i] - first));
}

/* The index of a group's first element, apart from segments.  A tree counts on from what its result holds. */
static int64_t first_index_of(const struct job *job, const struct place *place) {
    const struct wf_grouped *grouped = job->grouped;
    bool counts_on = grouped->into && grouped->empty->tree;
    return counts_on ? wf_shaped_tree_end(grouped->into, place->number) : grouped->empty->first_index;
}

/* Makes acc the group at that place.  handle: whose threads share the work, or NULL, for the worker alone. */
static void fold_group(struct wf_accumulator *acc, struct wf_tree *tree, const struct job *job,
                       const struct place *place, wf_handle *handle, struct worker *worker) {
    const struct wf_accumulator *empty = job->grouped->empty;
    int64_t count = count_of(job, place), begin = 0;
    wf_accumulator_init_like(acc, empty, first_index_of(job, place), tree);
    if (!count) return;
    struct wf_view view = job->view;
    view_group(&view, &begin, job, place);
    bool counts_on = !view.positions.index && !acc->tree; /* a product's tree begins with its group */
    if (counts_on) acc->first_index = acc->end_index = empty->first_index + begin;
    if (handle)
        wf_cpu_add_view_in_parallel(handle, acc, &view);
    else
        wf_cpu_add_view(worker, job->cpu->tier, acc, &view);
    acc->count = count;
    acc->end_index += count;
    set_positions(acc, &view);
}

/* The view of the groups whose results a tile holds, the first of which is at that place; *first: the index of their
 * first elements. */
static struct wf_view view_tile(const struct job *job, const struct place *place, int64_t *first) {
    struct wf_view view = job->view;
    int64_t begin = 0;
    view_group(&view, &begin, job, place);
    *first = job->grouped->empty->first_index + (view.positions.index ? 0 : begin);
    return view;
}

/* Makes the accumulators of the worker's columns elements begin <= i < end of each group of a tile. */
static void fold_columns(struct worker *worker, const struct job *job, const struct place *place, size_t results,
                         int64_t begin, int64_t end) {
    const struct wf_accumulator *empty = job->grouped->empty;
    struct wf_accumulator *acc = wf_columns_accumulators(worker->columns);
    const int64_t *stride_bytes = job->dimension[job->ndim - 1].stride_bytes;
    int64_t first = empty->first_index;
    struct wf_view view = job->view;
    if (begin < end) view = view_tile(job, place, &first);
    size_t used = results * 2 <= WF_COLUMNS_MAX ? WF_COLUMNS_MAX : results; /* groups may have several columns */
    for (size_t c = 0; c < used; c++) wf_accumulator_init_like(&acc[c], empty, first, NULL);
    wf_columns_add(worker->columns, job->cpu->tier, &view, stride_bytes, results, begin, end);
}

/* Groups whose elements are all in one tile. */
struct few {
    size_t groups;
    int64_t count;         /* of each; or, of segments: */
    const int64_t *offset; /* where each begins, and the last ends */
    unsigned char *result;
    int64_t result_stride_bytes;
    /* What has their sums, if it is not the worker's tile: */
    const struct wf_rows *rows;
    const struct wf_panel_sums *panel; /* from the column `first` on */
    size_t first;
    const struct wf_view *view; /* of the panel's first group */
};

static int64_t count_in(const struct few *few, size_t c) {
    return few->offset ? few->offset[c + 1] - few->offset[c] : few->count;
}

/* Whether a group has no value, but for ops that have one of no elements. */
static bool is_without_value(const struct wf_accumulator *empty, enum wf_part part, int64_t count) {
    if (part) return count == 0 && part & (WF_PART_MIN | WF_PART_MAX);
    return count <= (empty->op == WF_MEAN ? 0 : empty->ddof);
}

static void write_value(const wf_value *value, const struct few *few, size_t c) {
    wf_value_store(value, few->result + (int64_t)c * few->result_stride_bytes);
}

/* Writes results of so many bytes: mostly side by side, so that one copy is all that they cost. */
static void write_found(const struct few *few, const uint64_t *found, size_t nbytes) {
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
static void find_minus_zeros(bool *are_minus_zeros, const bool *is_zero, const struct few *few) {
    bool any = false;
    for (size_t c = 0; c < few->groups; c++) any |= is_zero[c];
    memset(are_minus_zeros, 0, few->groups);
    if (any) wf_panel_find_minus_zeros(are_minus_zeros, is_zero, few->view, few->first, few->groups);
}

/* Of a panel: results are f32 or f64. */
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
    find_minus_zeros(are_minus_zeros, is_zero, few);
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
    find_minus_zeros(totals->is_minus_zero, is_zero, few);
    return true;
}

/* Finds what a part of each group comes to, as wf_results_function does. */
static bool find_results(const struct worker *worker, const struct job *job, const struct few *few, enum wf_part part,
                         bool of_index, void *found) {
    wf_type type = job->grouped->empty->type;
    if (few->rows) return job->cpu->tier->find_row_results[type](few->rows, part, found);
    if (few->panel) return find_panel_results(job, few, part, found);
    return wf_columns_results(worker->columns, job->cpu->tier, type, part, of_index, found);
}

/* Finds the exact sums.  part: that which rows and panels add up. */
static bool find_totals(const struct worker *worker, const struct job *job, const struct few *few, enum wf_part part,
                        struct wf_column_totals *totals) {
    const struct wf_accumulator *empty = job->grouped->empty;
    if (few->rows) return job->cpu->tier->find_row_totals[empty->type](few->rows, part, totals);
    if (few->panel) return find_panel_totals(job, few, part, totals);
    return wf_columns_totals(worker->columns, job->cpu->tier, empty->type, empty->parts, totals);
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

/* Writes results that are what a part of the groups comes to. */
static bool write_parts(const struct worker *worker, const struct job *job, const struct few *few, enum wf_part part,
                        bool of_index) {
    const struct wf_grouped *grouped = job->grouped;
    uint64_t found[WF_COLUMNS_MAX];
    if (!find_results(worker, job, few, part, of_index, found)) return round_totals(worker, job, few, part);
    for (size_t c = 0; of_index && few->offset && c < few->groups; c++)
        found[c] += (uint64_t)(grouped->empty->first_index + few->offset[c]);
    write_found(few, found, wf_type_nbytes(grouped->result_type));
    return !few->offset || write_fills(few, grouped, part);
}

/* Writes means, variances and their roots. */
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
        else if (!wf_small_finish(empty->op, &sums, empty->ddof, &number) || !wf_number_round(&number, value.type, &value))
            return false;
        write_value(&value, few, c);
    }
    return true;
}

/* Writes the results of short groups; false if the general path must find them. */
static bool try_short_columns(struct worker *worker, const struct job *job, const struct place *place, size_t results,
                              int64_t count) {
    const struct dimension *last = &job->dimension[job->ndim - 1];
    struct few few = {results, count, NULL, place->result, last->result_stride_bytes, NULL, NULL, 0, NULL};
    bool of_index;
    int64_t first;
    enum wf_part part;
    unsigned parts = short_parts(job, &part, &of_index);
    if (!parts || count == 0) return false;
    struct wf_view view = view_tile(job, place, &first);
    if (of_index && view.positions.index) return false;
    if (!wf_columns_fill(worker->columns, &view, last->stride_bytes, results, first, parts)) return false;
    return part ? write_parts(worker, job, &few, part, of_index) : write_finished(worker, job, &few);
}

/* How many segments of a vector, at most limit, are so short that one tile takes them from that place on. */
static size_t count_short_segments(const struct job *job, const struct place *place, int64_t limit) {
    const int64_t *offset = job->labels.offsets + place->group;
    bool products = job->grouped->empty->parts & (WF_PART_SQUARES | WF_PART_DOT);
    int64_t longest = products ? WF_TILE_ROWS_OF_PRODUCTS_MAX : WF_TILE_ROWS_MAX;
    size_t groups = 0;
    if (limit > WF_COLUMNS_MAX) limit = WF_COLUMNS_MAX;
    while ((int64_t)groups < limit && offset[groups + 1] - offset[groups] <= longest) groups++;
    return groups;
}

/* Writes their results; false if the general path must find them. */
static bool try_short_segments(struct worker *worker, const struct job *job, const struct place *place, size_t groups) {
    const int64_t *offset = job->labels.offsets + place->group;
    struct few few = {groups, 0, offset, place->result, job->dimension[job->counts_groups].result_stride_bytes,
                      NULL, NULL, 0, NULL};
    bool of_index;
    enum wf_part part;
    unsigned parts = short_parts(job, &part, &of_index);
    struct wf_view view = job->view;
    if (!parts || groups < 2) return false;
    for (int o = 0; o < view.operands; o++)
        view.data[o] = job->labels.elements[o] ? job->labels.elements[o] : place->data[o] + job->data_offset[o];
    if (!wf_columns_fill_segments(worker->columns, &view, job->grouped->empty->type, offset, groups, parts)) return false;
    return part ? write_parts(worker, job, &few, part, of_index) : write_finished(worker, job, &few);
}

/* Writes the sums or means of rows, the first of which is at that place; false if the general path must find them. */
static bool try_rows(const struct worker *worker, const struct job *job, const struct place *place, size_t groups) {
    bool is_segment = job->counts_groups >= 0, of_index;
    const struct dimension *along = &job->dimension[is_segment ? job->counts_groups : job->ndim - 1];
    const int64_t *offset = is_segment ? job->labels.offsets + place->group : NULL;
    const unsigned char *x = job->labels.elements[0] ? job->labels.elements[0] : place->data[0] + job->data_offset[0];
    struct wf_rows rows = {x, groups, is_segment ? 0 : job->view.count, along->stride_bytes[0], offset};
    struct few few = {groups, rows.count, offset, place->result, along->result_stride_bytes, &rows, NULL, 0, NULL};
    enum wf_part part;
    short_parts(job, &part, &of_index);
    return part ? write_parts(worker, job, &few, part, false) : write_finished(worker, job, &few);
}

/* How many rows, at most limit, stay in the first-level cache; none if the first is too long. */
static int64_t count_rows(const struct job *job, const struct place *place, int64_t limit) {
    int64_t most = WF_ROWS_NBYTES / (int64_t)job->view.nbytes, groups = 0;
    if (limit > WF_COLUMNS_MAX) limit = WF_COLUMNS_MAX;
    if (job->counts_groups < 0) {
        int64_t fitting = most / job->view.count + 1;
        return fitting < limit ? fitting : limit;
    }
    const int64_t *offset = job->labels.offsets + place->group;
    while (groups < limit && offset[groups + 1] - offset[groups] <= WF_ROW_COUNT_MAX && offset[groups] - offset[0] <= most)
        groups++;
    return groups;
}

/* Writes what acc gives, or the value of groups that have none; or adds acc to an accumulator. */
static wf_error write_result(const struct job *job, const struct place *place, const struct wf_accumulator *acc,
                             wf_handle *handle) {
    const struct wf_grouped *grouped = job->grouped;
    wf_value value;
    if (grouped->into) return wf_shaped_join(grouped->into, place->number, acc) ? WF_OK : WF_ERROR_MERGE;
    wf_error error = wf_accumulator_finish(handle, acc, acc->op, &value);
    if (error == WF_ERROR_EMPTY && grouped->has_fill) {
        value = grouped->fill;
        error = WF_OK;
    }
    if (!error) wf_value_store(&value, place->result);
    return error;
}

/* Sums a few floats side by side without an accumulator, which would cost more than the additions.  Returns false if
 * the general path must find the sum. */
static bool try_small_sum(const struct job *job, const struct place *place) {
    const struct wf_grouped *grouped = job->grouped;
    const struct wf_layout *layout = grouped->layout;
    int64_t nbytes = (int64_t)wf_type_nbytes(grouped->a->type), count = count_of(job, place), begin = 0;
    struct wf_number sum;
    wf_value value;
    if (grouped->empty->op != WF_SUM || count == 0 || job->labels.positions.index || grouped->into) return false;
    if (job->view.ndim > 1 || job->view.stride_bytes[0][0] != nbytes) return false;
    if (layout->axis >= 0) begin = job->labels.offsets[place->group];
    const unsigned char *data = job->labels.elements[0] ? job->labels.elements[0] : place->data[0] + job->data_offset[0];
    wf_array array = wf_array_vector(data + begin * nbytes, grouped->a->type, count);
    if (!wf_small_sum(&array, &sum) || !wf_number_round(&sum, grouped->result_type, &value)) return false;
    wf_value_store(&value, place->result);
    return true;
}

/* ---- threads ---- */

static void note_failure(struct job *job, int64_t number) {
    long long first = atomic_load(&job->first_failed);
    while (number < first && !atomic_compare_exchange_weak(&job->first_failed, &first, number)) {}
}

static bool is_shared(const struct job *job, const struct place *place) {
    return count_of(job, place) >= job->shared_count;
}

/* Writes the results of a tile's groups, of which each has so many elements. */
static void write_columns(struct job *job, struct wf_accumulator *acc, struct place *place, int64_t results,
                          int64_t count) {
    int64_t first;
    struct wf_view view = job->view;
    if (count) view = view_tile(job, place, &first);
    for (int64_t i = 0; i < results; i++, move(place, job, job->ndim - 1, 1)) {
        acc[i].count = count;
        acc[i].end_index += count;
        set_positions(&acc[i], &view);
        if (write_result(job, place, &acc[i], NULL)) note_failure(job, place->number);
    }
}

static bool has_columns(struct worker *worker) {
    if (!worker->columns) worker->columns = wf_columns_create();
    return worker->columns;
}

/* Reduces a tile's groups side by side; false if they are better reduced one by one. */
static bool reduce_columns(struct job *job, struct worker *worker, struct place *place, int64_t results) {
    int64_t count = count_of(job, place);
    if (try_short_columns(worker, job, place, (size_t)results, count)) return true;
    if (job->must_be_whole) return false;
    fold_columns(worker, job, place, (size_t)results, 0, count);
    write_columns(job, wf_columns_accumulators(worker->columns), place, results, count);
    return true;
}

static void reduce_group(struct job *job, struct worker *worker, const struct place *place) {
    if (is_shared(job, place) || try_small_sum(job, place)) return;
    fold_group(&worker->partial, &worker->tree, job, place, NULL, worker);
    if (write_result(job, place, &worker->partial, NULL)) note_failure(job, place->number);
}

/* Neighbouring groups side by side, as many at a time as have been chosen, or one by one. */
static void reduce_neighbours(struct job *job, struct worker *worker, struct place place, int64_t count) {
    for (int64_t taken; count; count -= taken, move(&place, job, job->ndim - 1, taken)) {
        struct place next = place;
        taken = count < job->columns ? count : job->columns;
        if (job->uses_columns && reduce_columns(job, worker, &next, taken)) continue;
        for (int64_t i = 0; i < taken; i++, move(&next, job, job->ndim - 1, 1)) reduce_group(job, worker, &next);
    }
}

/* A tile that is a panel; by columns what fails of it. */
static void reduce_panel(struct job *job, struct worker *worker, struct place place, int64_t count) {
    struct wf_panel_sums *sums = wf_columns_panel(worker->columns);
    int64_t first, taken, stride = job->dimension[job->ndim - 1].result_stride_bytes;
    struct wf_view view = view_tile(job, &place, &first);
    bool of_index;
    enum wf_part part, summed = summed_part(job);
    short_parts(job, &part, &of_index);
    bool is_summed = wf_panel_sum(sums, job->cpu->tier, job->grouped->empty->type, summed, &view, (size_t)count);
    for (int64_t c = 0; c < count; c += taken, move(&place, job, job->ndim - 1, taken)) {
        taken = count - c < WF_STRIP_COLUMNS ? count - c : WF_STRIP_COLUMNS;
        struct few few = {(size_t)taken, view.count, NULL, place.result, stride, NULL, sums, (size_t)c, &view};
        bool is_whole = is_summed && !sums->has_failed[c / WF_STRIP_COLUMNS];
        if (is_whole && (part ? write_parts(worker, job, &few, part, false) : write_finished(worker, job, &few))) continue;
        reduce_neighbours(job, worker, place, taken);
    }
}

/* Reduces rows that a window of their own may cover where one for all does not. */
static void reduce_rows(struct job *job, struct worker *worker, struct place place, int64_t count) {
    int along = job->counts_groups >= 0 ? job->counts_groups : job->ndim - 1;
    if (try_rows(worker, job, &place, (size_t)count)) return;
    for (int64_t i = 0; i < count; i++, move(&place, job, along, 1))
        if (count == 1 || !try_rows(worker, job, &place, 1)) reduce_group(job, worker, &place);
}

static void reduce_tile_of_rows(struct job *job, struct worker *worker, struct place place, int64_t count) {
    for (int64_t at_once; count; count -= at_once) {
        at_once = count_rows(job, &place, count);
        reduce_rows(job, worker, place, at_once);
        move(&place, job, job->ndim - 1, at_once);
    }
}

static void reduce_tile(struct job *job, struct worker *worker, int64_t tile) {
    struct place place;
    int64_t count = find_tile(&place, job, tile);
    if (job->uses_rows && job->counts_groups < 0) {
        reduce_tile_of_rows(job, worker, place, count);
        return;
    }
    if (job->uses_columns && !has_columns(worker))
        for (int64_t i = 0; i < count; i++, move(&place, job, job->ndim - 1, 1)) reduce_group(job, worker, &place);
    else if (job->uses_panels)
        reduce_panel(job, worker, place, count);
    else
        reduce_neighbours(job, worker, place, count);
}

/* Whether each tile is one segment of a vector. */
static bool are_segments(const struct job *job) {
    return job->grouped->layout->axis >= 0 && job->grouped->layout->ndim == 1 && job->view.ndim == 1 &&
           !job->labels.positions.index && job->tile == 1;
}

/* Reduces a tile, or several that are short segments, at most limit; returns how many. */
static int64_t reduce_tiles(struct job *job, struct worker *worker, int64_t tile, int64_t limit) {
    struct place place;
    int64_t count = 1;
    if (job->uses_rows && are_segments(job)) {
        find_tile(&place, job, tile);
        int64_t rows = count_rows(job, &place, limit);
        if (rows) reduce_rows(job, worker, place, rows);
        if (rows) return rows;
    }
    if (are_segments(job) && has_columns(worker)) {
        find_tile(&place, job, tile);
        size_t groups = count_short_segments(job, &place, limit);
        if (try_short_segments(worker, job, &place, groups)) return (int64_t)groups;
        count = groups ? (int64_t)groups : 1;
    }
    for (int64_t i = 0; i < count; i++) reduce_tile(job, worker, tile + i);
    return count;
}

static void reduce_share(void *context, int i) {
    struct job *job = context;
    wf_environment callers = wf_environment_enter();
    int64_t first;
    while ((first = atomic_fetch_add(&job->next, job->tiles_at_once)) < job->tile_count) {
        int64_t left = job->tile_count - first, end = first + (left < job->tiles_at_once ? left : job->tiles_at_once);
        for (int64_t tile = first; tile < end;) tile += reduce_tiles(job, job->cpu->worker[i], tile, end - tile);
    }
    wf_environment_leave(callers);
}

/* ---- tiles that all threads share, where there are fewer tiles than threads ---- */

struct shared_tile {
    const struct job *job;
    struct place place;
    int64_t results, count, part; /* elements that a thread takes of each group */
};

static void fold_part(void *context, int i) {
    const struct shared_tile *tile = context;
    wf_environment callers = wf_environment_enter();
    int64_t begin = i * tile->part, left = tile->count - begin;
    int64_t end = left < 0 ? begin : begin + (left < tile->part ? left : tile->part);
    fold_columns(tile->job->cpu->worker[i], tile->job, &tile->place, (size_t)tile->results, begin, end);
    wf_environment_leave(callers);
}

static void reduce_shared_tile(struct job *job, int64_t number, int threads) {
    struct shared_tile tile = {.job = job};
    const struct cpu *cpu = job->cpu;
    tile.results = find_tile(&tile.place, job, number);
    tile.count = count_of(job, &tile.place);
    tile.part = tile.count / threads + 1;
    wf_threads_run(cpu->threads, threads, fold_part, &tile);
    wf_environment callers = wf_environment_enter();
    struct wf_accumulator *acc = wf_columns_accumulators(cpu->worker[0]->columns);
    for (int i = 1; i < threads; i++)
        for (int64_t c = 0; c < tile.results; c++)
            wf_accumulator_join(&acc[c], &wf_columns_accumulators(cpu->worker[i]->columns)[c]);
    write_columns(job, acc, &tile.place, tile.results, tile.count);
    wf_environment_leave(callers);
}

/* Returns false, and does nothing, if each tile is for one thread. */
static bool try_shared_tiles(wf_handle *handle, struct job *job) {
    enum { WORTHWHILE = 1 << 18 }; /* elements of a tile */
    struct cpu *cpu = handle->device_state;
    int threads = wf_cpu_threads(handle);
    if (!job->uses_columns || job->tile_count >= threads || group_count(job) < WORTHWHILE / job->tile) return false;
    threads = wf_cpu_ensure_workers(cpu, threads);
    for (int i = 0; i < threads; i++)
        if (!has_columns(cpu->worker[i])) return false;
    for (int64_t number = 0; number < job->tile_count; number++) reduce_shared_tile(job, number, threads);
    return true;
}

static bool has_large_groups(const struct job *job) {
    const struct wf_layout *layout = job->grouped->layout;
    struct place place = {.group = 0};
    int64_t groups = layout->axis < 0 ? 1 : layout->shape[layout->axis];
    while (place.group < groups && !is_shared(job, &place)) place.group++;
    return place.group < groups;
}

/* Whether a tile is one segment, which is not shared. */
static bool is_lesser_segment(const struct job *job, int64_t tile) {
    const struct place place = {.group = tile};
    return job->counts_groups >= 0 && job->grouped->layout->ndim == 1 && !is_shared(job, &place);
}

/* The groups that are so large that all threads share each of them, one after the other. */
static void reduce_large_groups(wf_handle *handle, struct job *job) {
    struct wf_accumulator acc;
    struct wf_tree tree;
    struct place place;
    if (!has_large_groups(job)) return;
    for (int64_t tile = 0; tile < job->tile_count; tile++) {
        if (is_lesser_segment(job, tile)) continue;
        int64_t count = find_tile(&place, job, tile);
        for (int64_t i = 0; i < count; i++, move(&place, job, job->ndim - 1, 1)) {
            if (!is_shared(job, &place)) continue;
            fold_group(&acc, &tree, job, &place, handle, NULL);
            if (write_result(job, &place, &acc, NULL)) note_failure(job, place.number);
        }
    }
}

/* Reduces one result again, for the message of why it failed. */
static wf_error explain_failure(wf_handle *handle, struct job *job, int64_t number) {
    struct wf_accumulator acc;
    struct wf_tree tree;
    struct place place;
    wf_error error = WF_OK;
    for (int64_t tile = 0; tile < job->tile_count && !error; tile++) {
        int64_t count = find_tile(&place, job, tile);
        for (int64_t i = 0; i < count && !error; i++, move(&place, job, job->ndim - 1, 1)) {
            if (place.number != number) continue;
            fold_group(&acc, &tree, job, &place, handle, NULL);
            error = write_result(job, &place, &acc, handle);
        }
    }
    char why[WF_MESSAGE_NBYTES];
    memcpy(why, handle->message, sizeof why);
    return wf_fail(handle, error, "result %lld: %s", (long long)number, why);
}

static wf_error failure_of(wf_handle *handle, struct job *job) {
    int64_t failed = atomic_load(&job->first_failed);
    return failed == INT64_MAX ? WF_OK : explain_failure(handle, job, failed);
}

static wf_error reduce_results(wf_handle *handle, struct job *job) {
    const struct cpu *cpu = job->cpu;
    int threads = wf_cpu_threads(handle);
    divide(job, threads);
    if (try_shared_tiles(handle, job)) return failure_of(handle, job);
    int64_t shares = (job->tile_count + job->tiles_at_once - 1) / job->tiles_at_once;
    if (shares < threads) threads = (int)shares;
    threads = wf_cpu_ensure_workers(handle->device_state, threads);
    reduce_large_groups(handle, job);
    wf_threads_run(cpu->threads, threads, reduce_share, job);
    return failure_of(handle, job);
}

/* Makes room for what the groups add to an accumulator.  The labels have been resolved. */
static wf_error reserve(wf_handle *handle, const struct job *job) {
    const struct wf_layout *layout = job->grouped->layout;
    const int64_t *offsets = job->labels.offsets;
    int64_t longest = layout->axis < 0 ? layout->reduced_count : 0;
    if (!job->grouped->into || !job->grouped->empty->tree) return WF_OK;
    for (int64_t g = 0; layout->axis >= 0 && g < layout->shape[layout->axis]; g++)
        if (offsets[g + 1] - offsets[g] > longest) longest = offsets[g + 1] - offsets[g];
    return wf_shaped_reserve(handle, job->grouped->into, longest);
}

wf_error wf_cpu_reduce_groups(wf_handle *handle, const struct wf_grouped *grouped) {
    const struct wf_layout *layout = grouped->layout;
    if (!grouped->into && (wf_cpu_try_keyed(handle, grouped) || wf_cpu_try_pairs(handle, grouped))) return WF_OK;
    struct job *job = calloc(1, sizeof *job);
    if (!job) return wf_fail(handle, WF_ERROR_MEMORY, "no memory for a reduction by groups");
    job->grouped = grouped;
    job->cpu = handle->device_state;
    job->view.nbytes = wf_type_nbytes(grouped->a->type);
    atomic_init(&job->first_failed, INT64_MAX);
    wf_error error = layout->axis < 0 ? WF_OK : wf_labels_resolve(handle, &job->labels, grouped);
    if (!error) error = reserve(handle, job);
    if (!error && layout->count) {
        lay_out(job, layout);
        view_groups(job);
        error = reduce_results(handle, job);
    }
    wf_labels_release(&job->labels);
    free(job);
    return error;
}
