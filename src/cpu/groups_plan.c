/* Reductions by groups: how the results are laid out, and which way they are taken. */
#include "cpu/groups_job.h"
#include "cpu/panels.h"
#include "cpu/products.h"

#include <string.h>

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

void wf_job_lay_out(struct job *job) {
    const struct wf_layout *layout = job->grouped->layout;
    job->ndim = layout->ndim;
    job->counts_groups = layout->axis;
    for (int d = 0; d < layout->ndim; d++) job->dimension[d] = dimension_of(layout, d);
    set_result_strides(job);
    order_dimensions(job);
    view_groups(job);
}

int64_t wf_job_group_count(const struct job *job) {
    const struct wf_layout *layout = job->grouped->layout;
    if (job->counts_groups < 0) return layout->reduced_count;
    const int64_t groups = layout->shape[layout->axis];
    return layout->reduced_count / groups + (layout->reduced_count % groups != 0);
}

/* The ops whose results are a part's as it is, its index, or a truth about a count. */
static enum wf_part part_of_op(wf_op op, bool *of_index) {
    unsigned parts = wf_op_parts(op);
    const unsigned sums = WF_PART_SUM | WF_PART_ABS | WF_PART_DOT, extrema = WF_PART_MIN | WF_PART_MAX;
    bool is_plain = op == WF_SUM || op == WF_NORM1 || op == WF_DOT || op == WF_MIN || op == WF_MAX;
    bool is_count = op == WF_NONZERO || op == WF_ANY || op == WF_ALL;
    *of_index = op == WF_ARGMIN || op == WF_ARGMAX;
    return (is_plain || is_count || *of_index) && parts & (sums | extrema | WF_PART_NONZERO) ? (enum wf_part)parts : (enum wf_part)0;
}

/* Whether the groups, on average, are products that are trees of a few floats whose first leaf is the first element. */
static bool are_short_trees(const struct job *job) {
    const struct wf_accumulator *empty = job->grouped->empty;
    const int64_t count = wf_job_group_count(job);
    int64_t leaves = 1;
    while (leaves < count && leaves < WF_TREE_ROWS_MAX) leaves *= 2;
    return empty->op == WF_PROD && empty->first_index % leaves == 0 && wf_type_is_float(empty->type) && count <= leaves;
}

unsigned wf_job_short_parts(const struct job *job, enum wf_part *part, bool *of_index) {
    const struct wf_grouped *grouped = job->grouped;
    const struct wf_accumulator *empty = grouped->empty;
    *part = part_of_op(empty->op, of_index);
    if (grouped->into) return 0;
    if (*part) return grouped->result_type == wf_op_result_type(empty->op, empty->type) ? (unsigned)*part : 0;
    bool is_finished = empty->op == WF_MEAN || empty->op == WF_VAR || empty->op == WF_STD || empty->op == WF_NORM2;
    return is_finished || are_short_trees(job) ? empty->parts : 0;
}

/* How many groups that are longer than other tiles a tile has room for as a whole; 0: none. */
static int64_t columns_of_long_tile(const struct job *job) {
    bool of_index;
    enum wf_part part;
    unsigned parts = wf_job_short_parts(job, &part, &of_index);
    int64_t count = wf_job_group_count(job);
    bool is_long = job->counts_groups < 0 && parts && count > WF_TILE_ROWS_MAX;
    if (!is_long) return 0;
    int64_t columns = WF_COLUMNS_MAX;
    while (columns && !wf_columns_fit(count, columns, job->view.nbytes, parts)) columns -= WF_COLUMNS_STEP;
    return columns;
}

/* Whether the elements of neighbouring groups are nearer to each other than those of one group; or whether each group has
 * one element many times, and neighbours have others. */
static bool neighbours_are_near(const struct job *job) {
    const int64_t stride = job->view.stride_bytes[0][job->view.ndim - 1];
    const uint64_t own = (uint64_t)(stride < 0 ? -stride : stride), other = distance(&job->dimension[job->ndim - 1]);
    return job->labels.positions.index || other < own || (own == 0 && other);
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
    int64_t count = wf_job_group_count(job), neighbours = job->dimension[job->ndim - 1].length;
    const bool are_trees = job->quotient.parts == WF_PART_PRODUCT;
    if (neighbours < 2 || count == 0 || (!are_trees && (empty->tree || empty->parts & WF_PART_PRODUCT))) return;
    bool are_few = neighbours < NARROW && wf_accumulator_is_indexed(empty);
    bool pays = count <= SHORT || (!are_few && neighbours_are_near(job));
    int64_t columns = columns_of_long_tile(job);
    job->uses_columns = pays || (columns && is_worth_transposing(count, job->view.nbytes));
    job->must_be_whole = !pays || are_trees;
    if (job->uses_columns) job->tile = columns ? columns : WF_COLUMNS_MAX;
}

enum wf_part wf_job_summed_part(const struct job *job) {
    bool of_index;
    enum wf_part part;
    unsigned parts = wf_job_short_parts(job, &part, &of_index);
    bool is_sum = parts == WF_PART_SUM || (part && parts == WF_PART_ABS);
    return is_sum ? (enum wf_part)parts : (enum wf_part)0;
}

enum wf_part wf_job_minmax_part(const struct job *job, bool *of_index) {
    enum wf_part part;
    unsigned parts = wf_job_short_parts(job, &part, of_index);
    return part && (parts == WF_PART_MIN || parts == WF_PART_MAX) ? part : (enum wf_part)0;
}

/* Whether registers serve sums of that many elements: an f64 takes a dozen additions there, and fewer through a window, which
 * has a greater fixed cost; products of short integers take fewer as integers. */
static bool are_worth_pairs(wf_type type, int64_t count, bool is_dot) {
    enum { F64_MAX = 16 };
    if (is_dot) return wf_type_is_float(type) || wf_type_nbytes(type) >= 4;
    return type != WF_F64 || count <= F64_MAX;
}

/* Whether the job's groups are segments of a vector, or rows by label, of so few elements that registers serve most of them:
 * by length, or, of floats, since what is divided takes 128 bits elsewhere, and products accumulators. */
static bool are_few_segments(const struct job *job, enum wf_part part) {
    enum { USUAL = 16 };
    bool is_vector = job->view.ndim == 1 && !job->labels.positions.index, are_rows = job->grouped->layout->ndim > 1;
    const int64_t most = part && part != WF_PART_DOT ? USUAL : WF_FEW_ROWS_MAX;
    return (is_vector || are_rows) && wf_job_group_count(job) <= most;
}

double wf_job_divisor(const struct job *job, unsigned parts, int64_t count) {
    if (!(parts & WF_PART_SUM)) return 1;
    return (double)(parts & WF_PART_SQUARES ? count * (count - job->grouped->empty->ddof) : count);
}

static struct wf_quotient quotient_of(const struct job *job, unsigned parts, bool is_divided) {
    const struct wf_accumulator *empty = job->grouped->empty;
    int64_t count = wf_job_group_count(job);
    const double divisor = is_divided ? wf_job_divisor(job, parts, count) : 1;
    bool is_power = job->counts_groups < 0 && ((int64_t)divisor & ((int64_t)divisor - 1)) == 0;
    struct wf_quotient quotient = {.parts = parts, .count = (double)count, .divisor = divisor,
                                   .is_divided = is_divided, .is_power = is_power,
                                   .gives_nan = empty->nan == WF_NAN_PROPAGATE,
                                   .omits_nan = empty->nan == WF_NAN_OMIT,
                                   .is_root = empty->op == WF_STD || empty->op == WF_NORM2,
                                   .ddof = empty->op == WF_MEAN ? 0 : (double)empty->ddof,
                                   .has_fill = job->grouped->has_fill};
    if (quotient.has_fill) wf_value_store(&job->grouped->fill, &quotient.fill);
    return quotient;
}

/* Whether the job's op is one that quotients describe, and all groups have results, as far as is known. */
static bool is_quotient(const struct job *job, unsigned parts) {
    const struct wf_grouped *grouped = job->grouped;
    const struct wf_accumulator *empty = grouped->empty;
    const bool is_variance = (parts & WF_PART_SUM) && (parts & WF_PART_SQUARES);
    const int64_t count = wf_job_group_count(job);
    if (!parts || count == 0 || (is_variance && empty->ddof < 0)) return false;
    if (is_variance && job->counts_groups < 0 && count <= empty->ddof) return false;
    return grouped->result_type == wf_op_result_type(empty->op, empty->type);
}

/* Sets how the results of floats that no window covers follow from sums along each group, which is a row or a segment of a
 * vector. */
static void choose_bounded(struct job *job) {
    bool of_index;
    enum wf_part part;
    unsigned parts = wf_job_short_parts(job, &part, &of_index);
    bool is_sum = (parts & ~(unsigned)(WF_PART_SUM | WF_PART_ABS | WF_PART_SQUARES)) == 0;
    if (is_sum && wf_type_is_float(job->grouped->empty->type) && is_quotient(job, parts))
        job->bounded = quotient_of(job, parts, !part);
}

/* Whether the groups are columns, in place, and their sums are those that the tier tells to be exact. */
static bool are_exact_columns(const struct job *job) {
    const struct dimension *last = &job->dimension[job->ndim - 1];
    return job->cpu->tier->tells_exact && job->counts_groups < 0 && job->view.ndim == 1 && last->length >= WF_STRIP_COLUMNS &&
           last->stride_bytes[0] == (int64_t)job->view.nbytes;
}

/* Sets how the results of few elements, or of integers, follow from their sums.  The counts of segments differ, and are set
 * when the segments are in a tile. */
static void choose_quotient(struct job *job) {
    enum { FLOAT_SQUARES_MAX = 512 }; /* of columns: more are too far apart in memory */
    enum { EXACT_F64_MAX = 256 };     /* longer ones that have NaNs would be looked at too long once more */
    const struct wf_accumulator *empty = job->grouped->empty;
    bool of_index, is_segment = job->counts_groups >= 0;
    enum wf_part part;
    unsigned parts = wf_job_short_parts(job, &part, &of_index);
    bool is_float = wf_type_is_float(empty->type);
    int64_t count = wf_job_group_count(job);
    bool is_dot = parts == WF_PART_DOT;
    bool are_products = is_dot || parts & WF_PART_SQUARES;
    int64_t most = !is_float ? WF_INTEGER_ROWS_MAX : are_products ? FLOAT_SQUARES_MAX : WF_FEW_ROWS_MAX;
    const bool is_product = parts == WF_PART_PRODUCT, is_exact = is_float && !are_products && are_exact_columns(job);
    if (is_float && is_dot) most = WF_ROW_DOTS_MAX;
    if (is_exact) most = empty->type == WF_F64 ? EXACT_F64_MAX : WF_EXACT_ROWS_MAX;
    if (is_product) most = WF_TREE_ROWS_MAX;
    bool is_sum = is_dot || (parts & ~(unsigned)(WF_PART_SUM | WF_PART_ABS | WF_PART_SQUARES)) == 0;
    if (!is_quotient(job, parts) || !(is_sum || is_product) || count > most) return;
    if (is_segment && !are_few_segments(job, part)) return;
    if (part && !is_exact && !are_worth_pairs(empty->type, count, is_dot)) return;
    job->quotient = quotient_of(job, parts, !part && !is_product);
}

/* Whether the groups' products are of so few bits, and so many of them, that they are best added up as integers. */
static bool are_short_products(const struct job *job) {
    bool of_index;
    enum wf_part part;
    return wf_job_short_parts(job, &part, &of_index) == WF_PART_DOT && job->view.nbytes < 4 &&
           !wf_type_is_float(job->grouped->empty->type) && wf_job_group_count(job) <= WF_COLUMN_DOTS_MAX;
}

/* Whether the groups are deviations of two elements, half their distance, which is often half-way between two floats. */
static bool is_distance(const struct job *job) {
    const struct wf_quotient *asked = &job->bounded;
    return asked->parts & WF_PART_SUM && asked->is_root && asked->count == 2 && asked->divisor == 4;
}

/* Whether the groups, if they are columns, are best added up with a bound, or are products. */
static bool are_bounded_columns(const struct job *job) {
    if (job->quotient.parts == WF_PART_PRODUCT) return true;
    bool is_float = wf_type_is_float(job->grouped->empty->type);
    if (!is_float || wf_job_group_count(job) > WF_BOUNDED_ROWS_MAX) return false;
    if (job->dimension[job->ndim - 1].length < WF_STRIP_COLUMNS) return false;
    bool is_mean = job->bounded.parts == WF_PART_SUM && job->bounded.is_divided; /* more than registers take, but not so many */
    if (wf_job_group_count(job) > WF_ROW_COUNT_MAX) is_mean = false;             /* that many bounds do not decide them */
    if (job->bounded.parts & WF_PART_SQUARES) return !is_distance(job);
    return job->quotient.parts == WF_PART_DOT || (is_mean && !job->quotient.parts);
}

/* Which panels serve, if the array has any. */
static enum panel panel_for(const struct job *job) {
    bool of_index;
    if (are_short_products(job)) return PANEL_OF_DOTS;
    if (are_bounded_columns(job)) return PANEL_OF_BOUNDS;
    if (job->quotient.parts) return PANEL_OF_FEW_ROWS;
    if (wf_job_minmax_part(job, &of_index)) return PANEL_OF_MINMAX;
    bool is_sum = wf_job_group_count(job) > 1 && wf_job_summed_part(job);
    return is_sum && job->cpu->tier->sum_panel[job->grouped->empty->type] ? PANEL_OF_SUMS : NO_PANEL;
}

/* How many of that many neighbouring groups a panel takes; 0: none. */
static int64_t panel_groups(const struct job *job, enum panel panel, int64_t groups) {
    bool is_flat = job->view.ndim == 1 && !job->view.positions.index;
    if (panel == PANEL_OF_SUMS) return (int64_t)wf_panel_groups(&job->view, groups);
    if (!is_flat || groups < WF_STRIP_COLUMNS) return 0;
    return groups < WF_PANEL_COLUMNS_MAX ? groups : WF_PANEL_COLUMNS_MAX;
}

/* Sets whether tiles are panels: as wide as threads leave them, at least one for each.  Columns have been chosen. */
static void choose_panels(struct job *job, int threads) {
    const struct dimension *last = &job->dimension[job->ndim - 1];
    int64_t groups = last->length;
    enum panel panel = panel_for(job);
    if (!job->uses_columns || panel == NO_PANEL || job->counts_groups >= 0) return;
    for (int o = 0; o < job->grouped->layout->operands; o++)
        if (last->stride_bytes[o] != (int64_t)job->view.nbytes) return;
    while (threads > 1 && groups > WF_STRIP_COLUMNS && job->grouped->layout->count / groups < 4 * threads) groups /= 2;
    if (job->grouped->layout->count / groups < threads) return;
    groups = panel_groups(job, panel, groups);
    if (!groups) return;
    job->panel = panel;
    job->tile = groups;
}

/* Whether lanes go along each group's pairs, whose elements lie side by side. */
static bool are_rows_of_pairs(const struct job *job) {
    enum { LEAST = 32, LEAST_F64 = 20, LEAST_INTEGERS = 8, LEAST_SEGMENT = 12, MOST_FLOATS = WF_ROW_DOTS_MAX };
    const bool is_float = wf_type_is_float(job->grouped->empty->type);
    bool of_index;
    enum wf_part part;
    const struct wf_view *view = &job->view;
    const int64_t count = wf_job_group_count(job), nbytes = (int64_t)view->nbytes;
    const int64_t least = !is_float ? LEAST_INTEGERS : job->counts_groups >= 0 ? LEAST_SEGMENT : nbytes == 8 ? LEAST_F64 : LEAST;
    const bool is_vector = job->counts_groups < 0 || (job->grouped->layout->ndim == 1 && !job->labels.positions.index);
    return wf_job_short_parts(job, &part, &of_index) == WF_PART_DOT && is_vector && view->ndim == 1 &&
           view->stride_bytes[0][0] == nbytes && view->stride_bytes[1][0] == nbytes &&
           count >= least && count <= (is_float ? MOST_FLOATS : WF_ROW_DOTS_MAX);
}

/* Whether a group's elements lie side by side. */
static bool are_rows(const struct job *job) {
    const struct wf_view *view = &job->view;
    bool is_vector = job->counts_groups < 0 || job->grouped->layout->ndim == 1;
    return view->ndim == 1 && view->stride_bytes[0][0] == (int64_t)view->nbytes && !job->labels.positions.index && is_vector;
}

/* Whether means, variances, their roots or 2-norms of floats are found by lanes along each group.  Those of few elements
 * are faster as columns of a tile, except for roots, of which many are half-way between two floats; means of many, unless they are
 * f64, or f32 where the tier tells that their sums are exact, by windows. */
static bool divides_rows(const struct job *job) {
    enum { LEAST = WF_FEW_ROWS_MAX + 1, LEAST_F64 = 16, LEAST_SEGMENT = 12, MEAN_MAX = 512 };
    const unsigned parts = job->bounded.parts;
    const int64_t count = wf_job_group_count(job);
    if (!parts || !job->bounded.is_divided || !are_rows(job)) return false;
    const bool is_mean = !(parts & WF_PART_SQUARES), by_levels = is_mean && job->grouped->empty->type == WF_F64;
    const bool are_exact = job->grouped->empty->type == WF_F32 && job->cpu->tier->tells_exact;
    if (count > (is_mean && !by_levels && !are_exact ? MEAN_MAX : WF_ROW_COUNT_MAX)) return false;
    if (job->counts_groups >= 0) return count >= LEAST_SEGMENT || job->bounded.is_root;
    return count >= (by_levels ? LEAST_F64 : LEAST);
}

/* Whether squares of integers are added up along each group: of more than registers take. */
static bool squares_rows(const struct job *job) {
    bool of_index;
    enum wf_part part;
    const unsigned parts = wf_job_short_parts(job, &part, &of_index);
    return !wf_type_is_float(job->grouped->empty->type) && !part && parts & WF_PART_SQUARES &&
           wf_job_group_count(job) > WF_FEW_ROWS_MAX;
}

/* Whether nonzero elements are counted along each group.  Floats, which may be NaN, are faster in a tile, but tiles have no
 * room for the longer ones of many segments. */
static bool counts_rows(const struct job *job) {
    enum { LEAST = 32, LEAST_SEGMENT = 16, LEAST_FLOATS = 48, MOST_FLOATS = 512 };
    const bool is_segment = job->counts_groups >= 0;
    const int64_t count = wf_job_group_count(job);
    bool of_index;
    enum wf_part part;
    if (wf_job_short_parts(job, &part, &of_index) != WF_PART_NONZERO) return false;
    if (wf_type_is_float(job->grouped->empty->type)) return is_segment && count >= LEAST_FLOATS && count <= MOST_FLOATS;
    return count >= (is_segment ? LEAST_SEGMENT : LEAST);
}

/* From how many bytes a group on lanes go along its elements: tiles have no room for the longer ones of many segments. */
static int64_t least_row_nbytes(const struct job *job, bool is_minmax, bool is_sum) {
    enum { FLOATS = 96, INTEGERS = 24, MINMAX = 192, MINMAX_OF_SEGMENT = 48 };
    const int64_t nbytes = (int64_t)job->view.nbytes, of_segment = MINMAX_OF_SEGMENT * nbytes;
    const bool is_segment = job->counts_groups >= 0, is_float = wf_type_is_float(job->grouped->empty->type);
    if (is_minmax) return is_segment && of_segment < MINMAX ? of_segment : MINMAX;
    if (!is_sum || is_segment) return 0;
    return is_float ? FLOATS : INTEGERS * nbytes;
}

/* Sets whether lanes go along each group's elements: where they lie side by side, and are more than vectors of neighbouring
 * groups serve better. */
static void choose_rows(struct job *job) {
    const int64_t count = wf_job_group_count(job);
    bool of_index, is_minmax = wf_job_minmax_part(job, &of_index), is_segment = job->counts_groups >= 0;
    bool is_float = wf_type_is_float(job->grouped->empty->type);
    bool by_registers = is_float && job->quotient.is_divided && !is_segment; /* which takes less than 128 bits */
    bool is_sum = (wf_job_summed_part(job) && !by_registers) || squares_rows(job);
    job->uses_rows = are_rows_of_pairs(job);
    job->divides_rows = divides_rows(job);
    if (job->divides_rows) {
        job->uses_rows = true;
        job->quotient = job->bounded;
        return;
    }
    if (!count || !(is_sum || is_minmax || counts_rows(job)) || !are_rows(job)) return;
    const int64_t nbytes = count * (int64_t)job->view.nbytes;
    job->uses_rows = count <= WF_ROW_COUNT_MAX && nbytes >= least_row_nbytes(job, is_minmax, is_sum);
}

/* Groups that exceed a thread's fair share, or that are worth all threads in any case. */
static int64_t shared_count_of(const struct job *job, int threads) {
    enum { LEAST_NBYTES = 1 << 20, MOST_NBYTES = 1 << 23 };
    int64_t nbytes = (int64_t)job->view.nbytes;
    int64_t share = wf_job_group_count(job) * job->grouped->layout->count / (4 * threads);
    if (share > MOST_NBYTES / nbytes) return MOST_NBYTES / nbytes;
    return share < LEAST_NBYTES / nbytes ? LEAST_NBYTES / nbytes : share;
}

/* Tiles, of as many elements as a thread should take at a time. */
void wf_job_divide(struct job *job, int threads) {
    enum { ELEMENTS_AT_ONCE = 1 << 16, ELEMENTS_OF_RESULT = 256 /* what a result costs besides */ };
    const struct wf_layout *layout = job->grouped->layout;
    int64_t of_one = wf_job_group_count(job) + ELEMENTS_OF_RESULT;
    int64_t length = job->dimension[job->ndim - 1].length, results = ELEMENTS_AT_ONCE / of_one + 1;
    job->tile = results;
    choose_quotient(job);
    choose_bounded(job);
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
