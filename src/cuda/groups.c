/* Reductions by groups on a GPU: lays out what kernels/groups.cu is to do, and launches it. */
#include "cuda/groups.h"
#include "core/array.h"
#include "core/view.h"
#include "cuda/group_arguments.h"
#include "cuda/group_keys.h"
#include "cuda/group_tables.h"
#include "cuda/transfer.h"
#include "cuda/trees.h"

#include <stddef.h>
#include <string.h>

/* The words that launches count in, at the beginning of the scratch memory. */
struct counters {
    uint64_t failed, bad; /* as in struct wf_group_arguments: UINT64_MAX, none */
    uint64_t listed, used;
};

/* A reduction on its way. */
struct job {
    const struct wf_grouped *grouped;
    unsigned parts;   /* enum wf_part: those that are gathered */
    bool keeps_slots; /* every group's slot is what is wanted, not its result */
    bool are_segments; /* keys are, as they are sorted */
    struct wf_group_arguments arguments;
    struct wf_cuda_group_plan plan;
    wf_cuda_function function;
    int sums_nbytes, ring_nbytes; /* shared memory of a warp */
    int alignment;
    int64_t elements; /* of each group, on average */
    bool is_output_host, is_array_host, are_labels_host;
    int64_t slots; /* that there is memory for */
    /* Parts of the scratch memory, which follow each other: bytes. */
    size_t labels_nbytes, tables_nbytes, keys_nbytes, list_nbytes, slots_nbytes, trees_nbytes, results_nbytes;
    wf_cuda_pointer labels, tables, keys, trees;
};

/* ---- the dimensions ---- */

/* Whether dimension b, which is inside a, continues where a's next step is: then they are one. */
static bool is_continued(const struct wf_group_dimension *a, const struct wf_group_dimension *b) {
    return a->stride[0] == b->length * b->stride[0] && a->stride[1] == b->length * b->stride[1] &&
           a->result_stride == b->length * b->result_stride && a->number_stride == b->length * b->number_stride;
}

static struct wf_group_dimension *last_of(struct wf_group_arguments *r) {
    return &r->dimension[r->ndim - 1];
}

static void append_result_dimension(struct wf_group_arguments *r, const struct wf_group_dimension *added,
                                    bool counts_groups) {
    if (added->length == 1 && !counts_groups) return;
    bool joins = r->ndim && !counts_groups && r->counts_groups != r->ndim - 1 && is_continued(last_of(r), added);
    if (joins) {
        int64_t length = last_of(r)->length * added->length;
        *last_of(r) = *added;
        last_of(r)->length = length;
        return;
    }
    if (counts_groups) r->counts_groups = r->ndim;
    r->dimension[r->ndim++] = *added;
}

static int64_t distance(int64_t stride) {
    return stride < 0 ? -stride : stride;
}

/* Moves the dimension in which elements are nearest to each other to the end, so that neighbouring lanes have them. */
static void put_nearest_last(struct wf_group_arguments *r) {
    int nearest = -1;
    for (int d = 0; d < r->ndim; d++)
        if (d != r->counts_groups &&
            (nearest < 0 || distance(r->dimension[d].stride[0]) <= distance(r->dimension[nearest].stride[0])))
            nearest = d;
    if (nearest < 0 || nearest == r->ndim - 1) return;
    struct wf_group_dimension moved = r->dimension[nearest];
    size_t behind = (size_t)(r->ndim - 1 - nearest);
    memmove(&r->dimension[nearest], &r->dimension[nearest + 1], behind * sizeof moved);
    *last_of(r) = moved;
    if (r->counts_groups > nearest) r->counts_groups--;
}

static void lay_out_results(struct job *job) {
    const struct wf_layout *layout = job->grouped->layout;
    const wf_output *output = job->grouped->output;
    struct wf_group_arguments *r = &job->arguments;
    int64_t packed = (int64_t)wf_type_nbytes(job->grouped->result_type), number = 1;
    struct wf_group_dimension dimension[WF_NDIM_MAX];
    for (int d = layout->ndim - 1; d >= 0; d--) {
        bool has_data = layout->reduced_count > 0;
        bool is_strided = !job->is_output_host && output->stride_bytes;
        dimension[d] = (struct wf_group_dimension){
            .length = layout->shape[d],
            .stride = {has_data ? layout->stride_bytes[0][d] : 0,
                       has_data && layout->operands > 1 ? layout->stride_bytes[1][d] : 0},
            .result_stride = is_strided ? output->stride_bytes[d] : packed,
            .number_stride = number};
        packed *= layout->shape[d];
        number *= layout->shape[d];
    }
    r->counts_groups = -1;
    for (int d = 0; d < layout->ndim; d++) append_result_dimension(r, &dimension[d], d == layout->axis);
    put_nearest_last(r);
    r->count = layout->count;
}

/* What is reduced follows the results' dimensions. */
static void lay_out_elements(struct job *job) {
    const struct wf_grouped *grouped = job->grouped;
    const struct wf_layout *layout = grouped->layout;
    struct wf_group_arguments *r = &job->arguments;
    struct wf_view view;
    r->reduced_count = layout->reduced_count;
    r->reduced_ndim = 1;
    r->dimension[r->ndim] = (struct wf_group_dimension){.length = layout->reduced_count};
    if (layout->reduced_count == 0) return;
    wf_layout_view(layout, &view, grouped->a, grouped->b, wf_accumulator_is_indexed(grouped->empty));
    r->x = (uintptr_t)view.data[0];
    r->y = grouped->b ? (uintptr_t)view.data[1] : 0;
    r->reduced_ndim = view.ndim ? view.ndim : 1;
    for (int d = 0; d < view.ndim; d++)
        r->dimension[r->ndim + d] = (struct wf_group_dimension){
            .length = view.shape[d],
            .stride = {view.stride_bytes[0][d], grouped->b ? view.stride_bytes[1][d] : 0}};
    if (layout->axis < 0) return;
    for (int o = 0; o < layout->operands; o++) r->dimension[r->ndim].stride[o] = view.stride_bytes[o][0];
}

static int find_alignment(const struct job *job) {
    const struct wf_group_arguments *r = &job->arguments;
    uint64_t bits = r->x | r->y;
    for (int d = 0; d < r->ndim + r->reduced_ndim; d++)
        bits |= (uint64_t)r->dimension[d].stride[0] | (uint64_t)r->dimension[d].stride[1];
    return bits % wf_type_nbytes(job->grouped->a->type) ? 1 : 16;
}

static int64_t stride_of(const struct wf_group_arguments *r, int d) {
    return d < 0 ? 0 : distance(r->dimension[d].stride[0]);
}

/* Whether elements are found through their sorted positions. */
static bool is_indexed(const struct job *job) {
    return job->grouped->layout->by == WF_GROUP_KEYS && !job->are_segments;
}

enum { ARE_LONG, ARE_SHORT, ARE_SHORT_SEGMENTS, ARE_SHORT_ROWS, ARE_IN_CHUNKS = 5, ARE_ROWS_OF_TEAMS, ARE_COLUMNS_OF_LANES }; /* IS_SHORT of kernels/groups.cu */

/* Whether labelled groups of several neighbours are mostly short.  Indices of sorted keys are in no order. */
static bool are_short_rows(const struct job *job) {
    enum { NEIGHBOURS_MIN = 32, ELEMENTS_MAX = 12 };
    const struct wf_group_arguments *r = &job->arguments;
    bool has_order = !is_indexed(job) || (job->grouped->empty->op != WF_ARGMIN && job->grouped->empty->op != WF_ARGMAX);
    bool has_neighbours = job->plan.is_across && r->counts_groups != r->ndim - 1 && r->dimension[r->ndim - 1].length >= NEIGHBOURS_MIN;
    return has_order && has_neighbours && job->elements <= ELEMENTS_MAX && r->reduced_ndim == 1;
}

static bool result_fits_registers(const struct job *job) {
    const struct wf_accumulator *empty = job->grouped->empty;
    return wf_cuda_group_fits_registers(empty->op, empty->type, job->grouped->result_type);
}

static bool has_sums(const struct job *job) {
    return job->parts & (WF_PART_SUM | WF_PART_ABS | WF_PART_SQUARES | WF_PART_DOT);
}

/* Of rows, whose elements lie side by side and which lanes load 16 bytes at a time otherwise: where that takes longer, by measuring. */
static bool are_rows_in_chunks(const struct job *job) {
    enum { EXTREMES_MAX = 63, SUMS_MAX = 96, SQUARES_MAX = 256 }; /* bytes */
    int64_t nbytes = (int64_t)wf_type_nbytes(job->grouped->a->type), of_row = job->elements * nbytes;
    if (job->parts & WF_PART_SQUARES) return nbytes == 8 || of_row <= SQUARES_MAX;
    return has_sums(job) ? of_row <= SUMS_MAX : nbytes == 8 || of_row <= EXTREMES_MAX;
}

/* Whether a lane's group, along one axis, is found in registers a chunk at a time. */
static bool are_in_chunks(const struct job *job) {
    enum { ELEMENTS_MAX = 1024 }; /* group_chunks.cuh: for as many the errors have bounds */
    const struct wf_group_arguments *r = &job->arguments;
    int64_t nbytes = (int64_t)wf_type_nbytes(job->grouped->a->type);
    if (job->keeps_slots || job->grouped->layout->axis >= 0 || job->grouped->b || r->reduced_ndim > 1) return false;
    if (job->plan.pieces > 1 || job->elements > ELEMENTS_MAX || !result_fits_registers(job)) return false;
    return stride_of(r, r->ndim) != nbytes || are_rows_in_chunks(job);
}

/* Whether every group is a batch at most, which one lane has (see kernels/group_state.cuh), or most labelled ones are. */
static int find_shortness(const struct job *job) {
    enum { BATCH = 8 };
    const struct wf_layout *layout = job->grouped->layout;
    if (job->plan.lanes_log2) return ARE_LONG;
    if (layout->axis >= 0 && layout->ndim > 1) return are_short_rows(job) ? ARE_SHORT_ROWS : ARE_LONG;
    if (job->elements > BATCH) return are_in_chunks(job) ? ARE_IN_CHUNKS : ARE_LONG;
    if (layout->axis < 0) return ARE_SHORT;
    return is_indexed(job) || job->arguments.reduced_ndim > 1 ? ARE_LONG : ARE_SHORT_SEGMENTS;
}

static struct wf_cuda_group_task make_task(const struct job *job) {
    const struct wf_group_arguments *r = &job->arguments;
    bool last_counts = r->counts_groups == r->ndim - 1;
    return (struct wf_cuda_group_task){
        .groups = r->count,
        .elements = job->elements,
        .are_labelled = job->grouped->layout->axis >= 0,
        .is_tree = job->grouped->empty->tree,
        .apart = stride_of(r, r->ndim + r->reduced_ndim - 1),
        .across = stride_of(r, r->ndim - 1),
        .neighbours = r->ndim && !last_counts ? r->dimension[r->ndim - 1].length : 1,
        .nbytes = (int64_t)wf_type_nbytes(job->grouped->a->type),
        .slot_nbytes = sizeof(struct wf_group_slot),
        .shared_nbytes = job->sums_nbytes + job->ring_nbytes};
}

static bool fits_registers(const struct job *job) {
    return result_fits_registers(job) && find_shortness(job) != ARE_LONG;
}

/* Lanes that have a group each along an axis load to registers, and few at a time have bins, of which f64 have many (BIN_LANES of
 * kernels/group_sums.cuh). */
static void share_bins(struct job *job, const struct wf_gpu *gpu) {
    enum { LANES = 32 };
    int lanes = job->parts & (WF_PART_SQUARES | WF_PART_DOT) ? WF_GROUP_LANES_OF_PRODUCTS : WF_GROUP_LANES_OF_VALUES;
    if (wf_type_nbytes(job->grouped->a->type) == 8) job->sums_nbytes = job->sums_nbytes / LANES * lanes;
    job->ring_nbytes = 0;
    const struct wf_cuda_group_task task = make_task(job);
    wf_cuda_group_plan_fit(&job->plan, &task, gpu);
}

enum { VECTOR_NBYTES = 16, ROW_WARPS = 16 /* of a multiprocessor, that have rows of teams */ };

/* Whether every group is whole vectors. */
static bool are_whole_vectors(const struct job *job) {
    const struct wf_group_arguments *r = &job->arguments;
    uint64_t bits = r->x | (uint64_t)r->reduced_count * wf_type_nbytes(job->grouped->a->type);
    for (int d = 0; d < r->ndim; d++) bits |= (uint64_t)r->dimension[d].stride[0];
    return job->grouped->layout->axis < 0 && bits % VECTOR_NBYTES == 0;
}

/* Whether pairs of elements have the same place in vectors. */
static bool are_alike_in_vectors(const struct wf_group_arguments *r) {
    uint64_t bits = r->x ^ r->y;
    for (int d = 0; d < r->ndim; d++) bits |= (uint64_t)r->dimension[d].stride[0] ^ (uint64_t)r->dimension[d].stride[1];
    return bits % VECTOR_NBYTES == 0;
}

/* Whether a group's elements lie side by side, and are enough for the few at its ends, outside of vectors, to cost little. */
static bool is_contiguous(const struct job *job) {
    enum { WORTHWHILE_NBYTES = 128 };
    const struct wf_group_dimension *reduced = &job->arguments.dimension[job->arguments.ndim];
    int64_t nbytes = (int64_t)wf_type_nbytes(job->grouped->a->type);
    if (job->plan.is_across || job->alignment == 1 || reduced->stride[0] != nbytes) return false;
    if (job->grouped->b && (reduced->stride[1] != nbytes || !are_alike_in_vectors(&job->arguments))) return false;
    return are_whole_vectors(job) || job->elements * nbytes >= WORTHWHILE_NBYTES;
}

/* Whether teams of lanes try it in registers first: kernels/group_row_sums.cuh, group_row_pairs.cuh. */
static bool is_tried_by_teams(const struct job *job) {
    enum { ELEMENTS_MAX = 1 << 29 /* which lanes count by 32 bits */ };
    const struct wf_accumulator *empty = job->grouped->empty;
    bool is_tried = empty->op == WF_VAR || empty->op == WF_STD || empty->op == WF_SUM || empty->op == WF_MEAN || empty->op == WF_NORM1;
    if (!is_tried || !wf_type_is_float(empty->type) || job->grouped->result_type != empty->type) return false;
    return job->grouped->layout->axis < 0 && job->arguments.reduced_ndim == 1 && job->elements <= ELEMENTS_MAX;
}

static bool is_spread(const struct job *job) {
    return job->parts & WF_PART_SQUARES;
}

/* Variances of f64 in short rows take as long by teams as in chunks, and longer where rows end inside of vectors. */
static bool are_rows_of_teams(const struct job *job) {
    enum { WORTHWHILE_NBYTES = 128, SPREAD_NBYTES = 512 };
    int64_t nbytes = (int64_t)wf_type_nbytes(job->grouped->a->type), of_row = job->elements * nbytes;
    if (!is_tried_by_teams(job) || !is_contiguous(job)) return false;
    return of_row >= (nbytes == 8 && is_spread(job) && !are_whole_vectors(job) ? SPREAD_NBYTES : WORTHWHILE_NBYTES);
}

/* Whether whole rows, if others would be cut into pieces, keep the GPU's warps busy for most of the time. */
static bool are_rows_enough(const struct job *job, const struct wf_gpu *gpu) {
    int64_t warps = (int64_t)gpu->multiprocessors * ROW_WARPS, rounds = (job->plan.tiles + warps - 1) / warps;
    return job->plan.pieces == 1 || 10 * job->plan.tiles >= 7 * rounds * warps;
}

/* More lanes share a row than where each has bins, so that they load more of it at once. */
static void share_rows(struct job *job, const struct wf_gpu *gpu) {
    enum { VECTORS_OF_LANE_LOG2 = 3, LANES_LOG2_MAX = 5 };
    int64_t vectors = job->elements * (int64_t)wf_type_nbytes(job->grouped->a->type) / VECTOR_NBYTES;
    int log2 = 63 - __builtin_clzll((uint64_t)vectors) - VECTORS_OF_LANE_LOG2;
    if (log2 > LANES_LOG2_MAX) log2 = LANES_LOG2_MAX;
    if (log2 > job->plan.lanes_log2) job->plan.lanes_log2 = log2;
    job->plan.pieces = 1;
    job->plan.piece = job->elements;
    if (wf_type_nbytes(job->grouped->a->type) == 8) share_bins(job, gpu);
    const struct wf_cuda_group_task task = make_task(job);
    wf_cuda_group_plan_fit(&job->plan, &task, gpu);
}

/* Lanes of a warp have 8 bytes of a row of neighbours each, and, where these are too few to keep the GPU's warps busy, share them with
 * lanes that have other rows of elements: kernels/group_columns.cuh.  Still fewer, if they would be cut into pieces, are left to that. */
static bool share_columns(struct job *job, const struct wf_gpu *gpu) {
    enum { LANE_NBYTES = 8, LANES = 32, LANES_LOG2_MAX = 3 /* so that 32 bytes lie side by side */, WARPS = 8 /* of a multiprocessor */ };
    const struct wf_group_arguments *r = &job->arguments;
    int64_t nbytes = (int64_t)wf_type_nbytes(job->grouped->a->type), warps = (int64_t)gpu->multiprocessors * WARPS, tiles = 0;
    int log2 = -1;
    if (!r->ndim || r->dimension[r->ndim - 1].stride[0] != nbytes || job->alignment == 1) return false;
    int64_t length = r->dimension[r->ndim - 1].length;
    while (10 * tiles < 7 * warps && log2 < LANES_LOG2_MAX) {
        int64_t width = LANE_NBYTES / nbytes * (LANES >> ++log2);
        tiles = r->count / length * ((length + width - 1) / width);
    }
    if (length < LANES * LANE_NBYTES / nbytes || (job->plan.pieces > 1 && (is_spread(job) ? 20 : 10) * tiles < 7 * warps)) return false;
    job->plan.lanes_log2 = log2;
    job->plan.is_across = true;
    job->plan.pieces = 1;
    job->plan.piece = job->elements;
    share_bins(job, gpu);
    job->plan.tiles = tiles;
    return true;
}

/* Whether rows of neighbours are whole words of 4 bytes, which lanes load. */
static bool are_whole_words(const struct job *job) {
    const struct wf_group_arguments *r = &job->arguments;
    uint64_t bits = r->x | (uint64_t)r->dimension[r->ndim].stride[0];
    for (int d = 0; d < r->ndim - 1; d++) bits |= (uint64_t)r->dimension[d].stride[0];
    if (r->ndim) bits |= (uint64_t)r->dimension[r->ndim - 1].length * wf_type_nbytes(job->grouped->a->type);
    return bits % 4 == 0;
}

/* Columns for which that is faster than one lane's registers, by measuring; of f64 those that are too long for these. */
static bool are_columns(const struct job *job) {
    enum { HALVES_MIN = 8, SINGLES_MIN = 9, DOUBLES_MIN = 1025 };
    static const int64_t least[] = {[2] = HALVES_MIN, [4] = SINGLES_MIN, [8] = DOUBLES_MIN};
    return is_tried_by_teams(job) && are_whole_words(job) && job->elements >= least[wf_type_nbytes(job->grouped->a->type)];
}

static void make_plan(struct job *job, const struct wf_gpu *gpu) {
    const struct wf_group_arguments *r = &job->arguments;
    const struct wf_layout *layout = job->grouped->layout;
    job->elements = layout->reduced_count;
    if (layout->axis >= 0 && layout->shape[layout->axis]) job->elements /= layout->shape[layout->axis];
    const struct wf_cuda_group_task task = make_task(job);
    job->plan = wf_cuda_group_plan_make(&task, gpu);
    if (job->keeps_slots) return;
    const struct wf_accumulator *empty = job->grouped->empty;
    job->plan.in_rows = are_rows_of_teams(job) && are_rows_enough(job, gpu);
    if (job->plan.in_rows) share_rows(job, gpu);
    job->plan.in_columns = !job->plan.in_rows && are_columns(job) && share_columns(job, gpu);
    job->plan.in_registers = !job->plan.in_rows && !job->plan.in_columns && fits_registers(job);
    job->plan.in_chunks = job->plan.in_registers && find_shortness(job) == ARE_IN_CHUNKS;
    if (job->plan.in_registers && layout->axis < 0) share_bins(job, gpu);
    job->plan.has_tables = layout->by == WF_GROUP_KEYS && layout->ndim == 1 && job->alignment > 1 && r->ndim == 1 &&
                           wf_cuda_tables_fit(empty, layout->reduced_count, layout->count);
    job->plan.tables_suffice = job->plan.has_tables && wf_cuda_tables_suffice(empty);
    if (job->plan.has_tables) job->plan.tables = wf_cuda_tables_plan(empty, job->grouped->result_type, layout->reduced_count, layout->count, gpu);
}

/* ---- the kernel ---- */

enum { WALK_STRAIGHT, WALK_INDEXED, WALK_FOLDED, WALK_CONTIGUOUS };

static int find_walk(const struct job *job) {
    if (is_indexed(job)) return WALK_INDEXED;
    if (job->arguments.reduced_ndim > 1) return WALK_FOLDED;
    if (job->plan.in_columns) return WALK_STRAIGHT;
    if (job->plan.in_rows) return job->ring_nbytes ? WALK_CONTIGUOUS : WALK_STRAIGHT;
    if (find_shortness(job) != ARE_LONG) return WALK_STRAIGHT;
    return is_contiguous(job) ? WALK_CONTIGUOUS : WALK_STRAIGHT;
}

/* Shared memory of a warp: see kernels/group_sums.cuh. */
static int find_sums_nbytes(wf_type type, unsigned parts) {
    enum { ROW_NBYTES = 512, BINADES = 64 };
    int bias = wf_type_is_float(type) ? wf_type_bias(type) : 0, rows = 0;
    if (!bias) return 0;
    if (parts & (WF_PART_SUM | WF_PART_ABS)) rows += (2 * bias - 1) / BINADES + 2;
    if (parts & (WF_PART_SQUARES | WF_PART_DOT)) rows += (4 * bias - 2 + (type == WF_F64 ? 53 : 0)) / BINADES + 2;
    return rows * ROW_NBYTES;
}

/* Warps of a multiprocessor: as many as shared memory has room for, if registers are not too few for what a lane keeps. */
static int find_resident(const struct job *job, const struct wf_gpu *gpu) {
    unsigned parts = job->parts;
    int64_t room = wf_cuda_group_warps(job->sums_nbytes + job->ring_nbytes, gpu) / gpu->multiprocessors;
    bool is_wide = wf_type_nbytes(job->grouped->a->type) == 8;
    int most = parts & (WF_PART_SQUARES | WF_PART_DOT) ? 12 : has_sums(job) ? 16 : 24;
    if (job->plan.in_rows || job->plan.in_columns || (job->plan.in_chunks && most == 12 && !is_wide)) most = 16;
    if (job->plan.in_chunks && most == 24) most = 32;
    return room < most ? (int)room : most;
}

/* See kernels/group_walk.cuh: batches are at least 8 elements and a vector. */
static int find_ring_nbytes(const struct job *job) {
    enum { LANES = 32, BATCH = 8 };
    int of_batch = BATCH * (int)wf_type_nbytes(job->grouped->a->type);
    if (is_indexed(job) || job->arguments.reduced_ndim > 1 || job->alignment == 1) return 0;
    if (of_batch < VECTOR_NBYTES) of_batch = VECTOR_NBYTES;
    return WF_GROUP_RING_BATCHES * LANES * of_batch * (job->grouped->b ? 2 : 1);
}

/* As many blocks as run at a time, twice: with a few more than run, most of the GPU would wait for those that come last. */
static wf_error fill_rounds(wf_handle *handle, struct job *job) {
    enum { ROUNDS = 2, LANES = 32 };
    struct wf_cuda *cuda = handle->device_state;
    int resident = 0;
    wf_error error = wf_kernels_resident(handle, cuda->kernels, job->function, LANES, job->sums_nbytes + job->ring_nbytes, &resident);
    int64_t blocks = (int64_t)ROUNDS * resident * cuda->gpu.multiprocessors, shares = job->plan.tiles * job->plan.pieces;
    if (error || !blocks) return error;
    job->plan.grid = cuda->group_plan.grid = blocks < shares ? blocks : shares < 1 ? 1 : shares;
    return WF_OK;
}

static wf_error find_kernel(wf_handle *handle, struct job *job) {
    struct wf_cuda *cuda = handle->device_state;
    const struct wf_accumulator *empty = job->grouped->empty;
    struct wf_kernel_key key;
    memset(&key, 0, sizeof key);
    key.type = empty->type;
    key.parts = job->parts;
    key.is_indexed = wf_accumulator_is_indexed(empty) && job->parts & (WF_PART_MIN | WF_PART_MAX); /* only extremes have any */
    key.walk = find_walk(job) + 1;
    key.is_short = job->plan.in_rows ? ARE_ROWS_OF_TEAMS : job->plan.in_columns ? ARE_COLUMNS_OF_LANES : job->plan.in_registers ? find_shortness(job) : ARE_LONG;
    key.alignment = job->alignment;
    key.block = 32;
    key.vectors = 1;
    key.resident = find_resident(job, &cuda->gpu);
    if (!job->keeps_slots) {
        key.finish_op = empty->op;
        key.finish_type = job->grouped->result_type;
    }
    wf_error error = wf_kernels_groups(handle, &cuda->gpu, &cuda->kernels, &key, job->sums_nbytes + job->ring_nbytes, &job->function);
    return error || job->keeps_slots ? error : fill_rounds(handle, job);
}

static wf_error launch(wf_handle *handle, struct job *job, enum wf_group_stage stage, int64_t grid) {
    struct wf_cuda *cuda = handle->device_state;
    struct wf_group_arguments *r = &job->arguments;
    void *arguments[] = {r};
    unsigned shared = stage <= WF_GROUPS_LISTED ? (unsigned)(job->sums_nbytes + job->ring_nbytes) : 0;
    r->stage = stage;
    bool is_chained = r->condition || r->unless; /* others would take longer: what comes before them has something to do */
    wf_cuda_result result = wf_driver_launch(job->function, (unsigned)grid, 32, shared, cuda->stream, arguments, is_chained);
    return wf_driver_check(handle, result, "cuLaunchKernel", "the %s of %lld groups", wf_op_name(job->grouped->empty->op),
                           (long long)r->count);
}

/* ---- memory ---- */

static size_t align(size_t nbytes) {
    return (nbytes + 255) / 256 * 256;
}

/* Memory that a graph uses stays; what takes its place is at least twice as large. */
static wf_error replace_captured(wf_handle *handle, size_t nbytes) {
    struct wf_cuda *cuda = handle->device_state;
    wf_cuda_pointer larger;
    if (nbytes < 2 * cuda->groups_nbytes) nbytes = 2 * cuda->groups_nbytes;
    wf_error error = WF_DRIVER_CALL(handle, MemAlloc, (&larger, nbytes), "%zu bytes for groups", nbytes);
    if (error) return error;
    cuda->captured[cuda->captured_count++] = cuda->groups;
    cuda->groups = larger;
    cuda->groups_nbytes = nbytes;
    cuda->is_captured = false;
    return WF_OK;
}

static wf_error ensure_scratch(wf_handle *handle, size_t nbytes) {
    struct wf_cuda *cuda = handle->device_state;
    if (!cuda->is_captured) cuda->is_captured = wf_cuda_is_capturing(cuda->stream);
    if (nbytes <= cuda->groups_nbytes) return WF_OK;
    if (cuda->groups && cuda->is_captured) return replace_captured(handle, nbytes);
    if (cuda->groups) {
        wf_error error = WF_DRIVER_CALL(handle, StreamSynchronize, (cuda->stream), "cuda:%d", cuda->gpu.ordinal);
        if (error) return error;
        wf_driver_open(NULL, 0)->MemFree(cuda->groups);
        cuda->groups = 0;
        cuda->groups_nbytes = 0;
    }
    wf_error error = WF_DRIVER_CALL(handle, MemAlloc, (&cuda->groups, nbytes), "%zu bytes for groups", nbytes);
    if (!error) cuda->groups_nbytes = nbytes;
    return error;
}

/* The most pieces that long groups with labels can be cut into, and the most groups that have several: with a slot each. */
static void count_pieces(const struct job *job, int64_t *pieces, int64_t *slots) {
    const struct wf_layout *layout = job->grouped->layout;
    int64_t others = layout->count / layout->shape[layout->axis];
    int64_t listed = layout->reduced_count / (WF_GROUP_LISTED_ELEMENTS << job->plan.lanes_log2);
    *slots = others * (layout->reduced_count / job->plan.piece);
    *pieces = others * listed + *slots;
}

static void size_scratch(struct job *job) {
    const struct wf_grouped *grouped = job->grouped;
    const struct wf_layout *layout = grouped->layout;
    int64_t pieces = 0, slots = job->plan.pieces > 1 ? layout->count : 0;
    if (layout->axis >= 0 && (!job->plan.tables_suffice || job->plan.tables.tries_segments)) count_pieces(job, &pieces, &slots);
    if (job->keeps_slots) slots = job->arguments.count;
    if (grouped->groups->labels && job->are_labels_host)
        job->labels_nbytes = (size_t)wf_array_length(grouped->groups->labels, 0) * wf_type_nbytes(grouped->groups->labels->type);
    if (job->plan.has_tables)
        job->tables_nbytes = wf_cuda_tables_nbytes(grouped->empty, layout->reduced_count, layout->count, &job->plan.tables);
    if (layout->by == WF_GROUP_KEYS && !job->plan.tables_suffice)
        job->keys_nbytes = wf_cuda_keys_nbytes(layout->reduced_count, grouped->groups->count);
    job->slots = job->arguments.slot_count = slots;
    job->arguments.list_count = pieces;
    job->list_nbytes = (size_t)pieces * sizeof(struct wf_group_piece);
    job->slots_nbytes = (size_t)slots * sizeof(struct wf_group_slot);
    if (grouped->empty->tree) job->trees_nbytes = wf_cuda_trees_nbytes(&job->arguments);
    if (job->is_output_host && !job->keeps_slots) job->results_nbytes = (size_t)layout->count * wf_type_nbytes(grouped->result_type);
}

static wf_error clear_list(wf_handle *handle, const struct job *job) {
    const struct wf_cuda *cuda = handle->device_state;
    return WF_DRIVER_CALL(handle, MemsetD8Async,
                          (job->arguments.failed + offsetof(struct counters, listed), 0, 16, cuda->stream), "scratch memory");
}

static wf_error clear_counters(wf_handle *handle, const struct job *job) {
    const struct wf_cuda *cuda = handle->device_state;
    wf_error error = WF_DRIVER_CALL(handle, MemsetD8Async,
                                    (job->arguments.failed, 0xff, offsetof(struct counters, listed), cuda->stream),
                                    "scratch memory");
    return error ? error : clear_list(handle, job);
}

/* Takes the parts out of one piece of memory. */
static wf_error take_scratch(wf_handle *handle, struct job *job) {
    struct wf_cuda *cuda = handle->device_state;
    struct wf_group_arguments *r = &job->arguments;
    size_t nbytes = align(sizeof(struct counters)) + align(job->labels_nbytes) + align(job->tables_nbytes) +
                    align(job->keys_nbytes) + align(job->list_nbytes) + align(job->slots_nbytes) + align(job->trees_nbytes) +
                    align(job->results_nbytes);
    wf_error error = ensure_scratch(handle, nbytes);
    if (error) return error;
    wf_cuda_pointer at = cuda->groups;
    r->failed = at;
    r->bad = at + offsetof(struct counters, bad);
    if (job->list_nbytes) r->listed = at + offsetof(struct counters, listed);
    if (job->list_nbytes) r->used = at + offsetof(struct counters, used);
    job->labels = at += align(sizeof(struct counters));
    job->tables = at += align(job->labels_nbytes);
    job->keys = at += align(job->tables_nbytes);
    at += align(job->keys_nbytes);
    if (job->list_nbytes) r->list = at;
    r->slots = at += align(job->list_nbytes);
    job->trees = at += align(job->slots_nbytes);
    at += align(job->trees_nbytes);
    if (job->is_output_host) r->results = at;
    return clear_counters(handle, job);
}

/* ---- the reduction ---- */

static int64_t blocks_for(const struct job *job, int64_t count) {
    int64_t blocks = (count + 31) / 32;
    return blocks < job->plan.grid ? blocks : job->plan.grid;
}

/* Teams across keep their columns; others are whole warps. */
static wf_error launch_listed(wf_handle *handle, struct job *job) {
    const struct wf_cuda *cuda = handle->device_state;
    struct wf_group_arguments *r = &job->arguments;
    int lanes_log2 = r->lanes_log2;
    if (!r->is_across) r->lanes_log2 = 5;
    wf_error error = launch(handle, job, WF_GROUPS_LISTED, wf_cuda_group_warps(job->sums_nbytes + job->ring_nbytes, &cuda->gpu));
    r->lanes_log2 = lanes_log2;
    return error;
}

static wf_error launch_all(wf_handle *handle, struct job *job) {
    const struct wf_group_arguments *r = &job->arguments;
    bool has_list = r->list, are_shared = r->pieces > 1;
    wf_error error = are_shared || job->keeps_slots ? launch(handle, job, WF_GROUPS_CLEAR, blocks_for(job, r->count)) : WF_OK;
    if (!error) error = launch(handle, job, WF_GROUPS_REDUCE, job->plan.grid);
    if (!error && has_list) error = launch_listed(handle, job);
    if (!error && job->slots && !job->keeps_slots) error = launch(handle, job, WF_GROUPS_FINISH, blocks_for(job, job->slots));
    if (!error && r->status) error = launch(handle, job, WF_GROUPS_STATUS, 1);
    return error;
}

/* ---- keys and offsets ---- */

/* Launches it for keys that may be sorted, with offsets of which the GPU will know whether they are right. */
static wf_error reduce_as_segments(wf_handle *handle, const struct job *job, const struct wf_cuda_table_task *task) {
    const struct wf_cuda *cuda = handle->device_state;
    struct job segments = *job;
    struct wf_group_arguments *r = &segments.arguments;
    segments.are_segments = true;
    segments.ring_nbytes = find_ring_nbytes(&segments);
    segments.plan.in_registers = fits_registers(&segments);
    const struct wf_cuda_group_task shape = make_task(&segments);
    wf_cuda_group_plan_fit(&segments.plan, &shape, &cuda->gpu);
    r->tiles = segments.plan.tiles;
    r->offsets = task->offsets;
    r->offset_stride = 4;
    r->unless = task->unsorted;
    r->condition = task->left;
    r->status = 0; /* which others leave */
    wf_error error = find_kernel(handle, &segments);
    return error ? error : launch_all(handle, &segments);
}

static wf_error add_to_tables(wf_handle *handle, const struct job *job, const wf_array *keys, wf_cuda_pointer *condition) {
    const struct wf_grouped *grouped = job->grouped;
    struct wf_cuda_table_task task = {.groups = &job->arguments,
                                      .empty = grouped->empty,
                                      .result_type = grouped->result_type,
                                      .keys = keys,
                                      .table_count = grouped->groups->count,
                                      .skips_bad_keys = grouped->skips_bad_keys,
                                      .sums_nbytes = job->sums_nbytes,
                                      .plan = job->plan.tables,
                                      .scratch = job->tables};
    wf_error error = wf_cuda_tables_open(handle, &task);
    if (!error && task.offsets) error = reduce_as_segments(handle, job, &task);
    return error ? error : wf_cuda_tables_reduce(handle, &task, condition);
}

static wf_error resolve_keys(wf_handle *handle, struct job *job, const wf_array *keys) {
    const struct wf_grouped *grouped = job->grouped;
    struct wf_group_arguments *r = &job->arguments;
    wf_cuda_pointer condition = 0;
    wf_error error = job->plan.has_tables ? add_to_tables(handle, job, keys, &condition) : WF_OK;
    if (error || job->plan.tables_suffice) return error;
    r->condition = condition;
    return wf_cuda_sort_keys(handle, keys, grouped->groups->count, grouped->skips_bad_keys, job->keys, r);
}

static wf_error resolve_labels(wf_handle *handle, struct job *job) {
    const struct wf_grouped *grouped = job->grouped;
    struct wf_group_arguments *r = &job->arguments;
    wf_array labels = *grouped->groups->labels;
    wf_error error = WF_OK;
    if (job->labels_nbytes) {
        error = wf_cuda_send_array(handle, job->labels, &labels);
        labels = wf_array_vector((const void *)(uintptr_t)job->labels, labels.type, wf_array_length(&labels, 0));
    }
    if (error) return error;
    if (grouped->layout->by == WF_GROUP_KEYS) return resolve_keys(handle, job, &labels);
    int64_t stride_bytes[WF_NDIM_MAX];
    wf_array_strides(&labels, stride_bytes);
    r->offsets = (uintptr_t)labels.data;
    r->offset_stride = stride_bytes[0];
    r->offsets_are_wide = labels.type == WF_I64;
    return WF_OK;
}

/* ---- all of the arguments ---- */

static void set_arguments(struct job *job) {
    const struct wf_grouped *grouped = job->grouped;
    struct wf_group_arguments *r = &job->arguments;
    uint64_t fill = 0;
    if (grouped->has_fill) wf_value_store(&grouped->fill, &fill);
    r->fill = fill;
    r->has_fill = grouped->has_fill;
    r->first_index = grouped->empty->first_index;
    r->ddof = grouped->empty->ddof;
    r->nan = (int)grouped->empty->nan;
    r->lanes_log2 = job->plan.lanes_log2;
    r->is_across = job->plan.is_across;
    r->piece = job->plan.piece;
    r->pieces = job->plan.pieces;
    r->tiles = job->plan.tiles;
    if (!job->is_output_host) r->results = (uintptr_t)grouped->output->data;
    if (!job->is_output_host) r->status = (uintptr_t)grouped->output->status;
}

/* ---- the output in host memory ---- */

static wf_error bring_results(wf_handle *handle, const struct job *job) {
    const wf_output *output = job->grouped->output;
    const wf_array to = wf_array_nd(output->data, job->grouped->result_type, output->ndim, output->shape, output->stride_bytes);
    return wf_cuda_bring_array(handle, &to, job->arguments.results);
}

/* What failed is done again on the CPU, for the message. */
static wf_error collect(wf_handle *handle, const struct job *job) {
    struct counters counters;
    wf_error error = wf_cuda_bring(handle, &counters, job->arguments.failed, sizeof counters);
    if (error) return error;
    if (counters.failed != UINT64_MAX || counters.bad != UINT64_MAX)
        return wf_cuda_reduce_groups_on_host(handle, job->grouped);
    return bring_results(handle, job);
}

/* ---- all of it ---- */

static void plan_trees(struct job *job) {
    struct wf_tree_stage first = wf_cuda_trees_begin(&job->arguments);
    job->plan.tree_levels = first.levels;
    job->plan.tree_nodes = job->arguments.count * first.nodes;
}

static wf_error reduce_elements(wf_handle *handle, struct job *job) {
    wf_error error = job->grouped->groups->labels ? resolve_labels(handle, job) : WF_OK;
    return error || job->plan.tables_suffice ? error : launch_all(handle, job);
}

static void lay_out(struct job *job) {
    lay_out_results(job);
    lay_out_elements(job);
    job->sums_nbytes = find_sums_nbytes(job->grouped->empty->type, job->parts);
    job->alignment = find_alignment(job);
    job->ring_nbytes = find_ring_nbytes(job);
}

static wf_error reduce_on_gpu(wf_handle *handle, struct job *job) {
    struct wf_cuda *cuda = handle->device_state;
    const struct wf_accumulator *empty = job->grouped->empty;
    lay_out(job);
    make_plan(job, &cuda->gpu);
    set_arguments(job);
    if (empty->tree) plan_trees(job);
    cuda->group_plan = job->plan;
    size_scratch(job);
    wf_error error = empty->tree || job->plan.tables_suffice ? WF_OK : find_kernel(handle, job);
    if (!error) error = take_scratch(handle, job);
    if (!error && empty->tree)
        error = wf_cuda_trees_reduce(handle, empty, job->grouped->result_type, &job->arguments, job->trees);
    else if (!error)
        error = reduce_elements(handle, job);
    return !error && job->is_output_host ? collect(handle, job) : error;
}

static wf_error refuse_alignment(wf_handle *handle, const char *what) {
    return wf_fail(handle, WF_ERROR_ARGUMENT, "%s in device memory must be aligned to their size", what);
}

static wf_error check_alignment(wf_handle *handle, const struct job *job) {
    const struct wf_grouped *grouped = job->grouped;
    const wf_output *output = grouped->output;
    const wf_array *labels = grouped->groups->labels;
    int64_t stride_bytes[WF_NDIM_MAX];
    uint64_t results = (uintptr_t)output->data, offsets = labels ? (uintptr_t)labels->data : 0;
    for (int d = 0; d < output->ndim && output->stride_bytes; d++) results |= (uint64_t)output->stride_bytes[d];
    if (!job->is_output_host && results % wf_type_nbytes(grouped->result_type)) return refuse_alignment(handle, "results");
    if (!job->is_output_host && (uintptr_t)output->status % sizeof *output->status)
        return refuse_alignment(handle, "statuses");
    if (!labels || job->are_labels_host) return WF_OK;
    wf_array_strides(labels, stride_bytes);
    offsets |= (uint64_t)stride_bytes[0];
    return offsets % wf_type_nbytes(labels->type) ? refuse_alignment(handle, "keys and offsets") : WF_OK;
}

static wf_error find_places(wf_handle *handle, struct job *job) {
    const struct wf_grouped *grouped = job->grouped;
    const wf_array *labels = grouped->groups->labels;
    const wf_output *output = grouped->output;
    bool is_status_host = false;
    wf_error error = wf_cuda_is_host(handle, output->data, &job->is_output_host);
    job->is_array_host = job->is_output_host;
    if (!error && grouped->layout->reduced_count)
        error = wf_cuda_find_memory(handle, grouped->a, grouped->b, &job->is_array_host);
    if (!error && labels) error = wf_cuda_is_host(handle, labels->data, &job->are_labels_host);
    if (!error && output->status && !job->is_output_host)
        error = wf_cuda_is_host(handle, output->status, &is_status_host);
    if (error) return error;
    if (is_status_host || (job->is_array_host && !job->is_output_host))
        return wf_fail(handle, WF_ERROR_ARGUMENT, "the %s must be in device memory if the results are",
                       is_status_host ? "status" : "array");
    return check_alignment(handle, job);
}

static wf_error reduce_job(wf_handle *handle, struct job *job) {
    wf_error error = find_places(handle, job);
    if (error) return error;
    bool are_trees_labelled = job->grouped->empty->tree && job->grouped->layout->axis >= 0; /* of lengths that differ */
    if (job->is_array_host || are_trees_labelled) return wf_cuda_reduce_groups_on_host(handle, job->grouped);
    return reduce_on_gpu(handle, job);
}

wf_error wf_cuda_reduce_groups(wf_handle *handle, const struct wf_grouped *grouped) {
    const struct wf_cuda *cuda = handle->device_state;
    struct job job = {.grouped = grouped, .parts = grouped->empty->parts};
    wf_error error = wf_gpu_enter(handle, &cuda->gpu);
    if (error) return error;
    error = grouped->layout->count ? reduce_job(handle, &job) : wf_cuda_reduce_groups_on_host(handle, grouped);
    wf_gpu_leave(&cuda->gpu);
    return error;
}

/* ---- slots, for accumulators ---- */

/* How far each of the results' dimensions reaches in a slice, whose slots are about that many at most. */
static void cut_slices(struct wf_group_arguments *r, int64_t slots) {
    while (r->count > slots) {
        struct wf_group_dimension *longest = &r->dimension[0];
        for (int d = 1; d < r->ndim; d++)
            if (r->dimension[d].length > longest->length) longest = &r->dimension[d];
        if (longest->length == 1) return;
        r->count /= longest->length;
        longest->length = (longest->length + 1) / 2;
        r->count *= longest->length;
    }
}

/* Makes the arguments those of the slice that begins there; gives the number of its first result. */
static int64_t set_slice(struct wf_group_arguments *r, const struct wf_group_arguments *whole,
                         const struct wf_group_arguments *first, const int64_t *begin) {
    int64_t number = 0;
    r->x = first->x;
    r->y = first->y;
    r->offsets = first->offsets;
    r->count = 1;
    for (int d = 0; d < r->ndim; d++) {
        const struct wf_group_dimension *all = &whole->dimension[d];
        int64_t left = all->length - begin[d];
        r->dimension[d].length = left < first->dimension[d].length ? left : first->dimension[d].length;
        r->count *= r->dimension[d].length;
        r->x += (uint64_t)(begin[d] * all->stride[0]);
        r->y += (uint64_t)(begin[d] * all->stride[1]);
        if (d == r->counts_groups) r->offsets += (uint64_t)(begin[d] * r->offset_stride);
        number += begin[d] * all->number_stride;
    }
    return number;
}

/* Moves on to the next slice; false after the last. */
static bool next_slice(const struct wf_group_arguments *whole, const struct wf_group_arguments *first, int64_t *begin) {
    for (int d = whole->ndim - 1; d >= 0; d--) {
        begin[d] += first->dimension[d].length;
        if (begin[d] < whole->dimension[d].length) return true;
        begin[d] = 0;
    }
    return false;
}

static wf_error reduce_slice(wf_handle *handle, struct job *job, int64_t number, const struct wf_cuda_slots_user *user) {
    const struct wf_cuda *cuda = handle->device_state;
    const struct wf_cuda_group_task task = make_task(job);
    struct counters counters;
    wf_cuda_group_plan_fit(&job->plan, &task, &cuda->gpu);
    job->arguments.tiles = job->plan.tiles;
    wf_error error = clear_list(handle, job);
    if (!error) error = launch_all(handle, job);
    if (!error && user->waits) error = wf_cuda_bring(handle, &counters, job->arguments.failed, sizeof counters);
    if (!error && user->waits && counters.bad != UINT64_MAX) error = WF_ERROR_RANGE;
    return error ? error : user->take(handle, user->data, &job->arguments, number);
}

static wf_error reduce_slices(wf_handle *handle, struct job *job, const struct wf_group_arguments *whole,
                              const struct wf_cuda_slots_user *user) {
    const struct wf_group_arguments first = job->arguments;
    int64_t begin[WF_GROUP_DIMENSIONS] = {0};
    wf_error error;
    do {
        int64_t number = set_slice(&job->arguments, whole, &first, begin);
        error = reduce_slice(handle, job, number, user);
    } while (!error && next_slice(whole, &first, begin));
    return error;
}

wf_error wf_cuda_reduce_to_slots(wf_handle *handle, const struct wf_grouped *grouped, unsigned parts,
                                 const struct wf_cuda_slots_user *user) {
    struct wf_cuda *cuda = handle->device_state;
    struct job job = {.grouped = grouped, .parts = parts, .keeps_slots = true};
    wf_error error = find_places(handle, &job);
    if (error) return error;
    lay_out(&job);
    const struct wf_group_arguments whole = job.arguments;
    cut_slices(&job.arguments, user->slots_max);
    make_plan(&job, &cuda->gpu);
    set_arguments(&job);
    cuda->group_plan = job.plan;
    size_scratch(&job);
    error = find_kernel(handle, &job);
    if (!error) error = take_scratch(handle, &job);
    if (!error && grouped->groups->labels) error = resolve_labels(handle, &job);
    return error ? error : reduce_slices(handle, &job, &whole, user);
}
