/* Reductions by groups on a GPU: lays out what kernels/groups.cu is to do, and launches it. */
#include "cuda/groups.h"
#include "core/array.h"
#include "core/segment_rows.h"
#include "core/view.h"
#include "cuda/group_arguments.h"
#include "cuda/group_keys.h"
#include "cuda/group_offsets.h"
#include "cuda/group_tables.h"
#include "cuda/group_ways.h"
#include "cuda/transfer.h"
#include "cuda/trees.h"

#include <stddef.h>
#include <string.h>

/* The words that launches count in, at the beginning of the scratch memory. */
struct counters {
    uint64_t failed, bad; /* as in struct wf_group_arguments: UINT64_MAX, none */
    uint64_t listed, used; /* less one */
    uint32_t are_equal, unused; /* 0: segments have been found not to be of one length */
};

/* A reduction on its way. */
struct job {
    const struct wf_grouped *grouped; /* what was asked for; of segments of one length rows */
    unsigned parts;   /* enum wf_part: those that are gathered */
    bool keeps_slots; /* every group's slot is what is wanted, not its result */
    struct wf_group_arguments arguments;
    struct wf_cuda_group_task task;
    struct wf_cuda_group_plan plan;
    wf_cuda_function function;
    bool is_output_host, is_array_host, are_labels_host;
    int64_t slots; /* that there is memory for */
    /* Parts of the scratch memory, which follow each other: bytes. */
    size_t labels_nbytes, tables_nbytes, keys_nbytes, list_nbytes, slots_nbytes, trees_nbytes, results_nbytes,
        columns_nbytes, open_nbytes;
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

/* Between which addresses all elements of x lie. */
static void find_extent(struct wf_group_arguments *r, size_t nbytes) {
    r->lowest = r->x;
    r->highest = r->x + nbytes;
    for (int d = 0; d < r->ndim + r->reduced_ndim; d++) {
        const int64_t span = (r->dimension[d].length - 1) * r->dimension[d].stride[0];
        *(span < 0 ? &r->lowest : &r->highest) += (uint64_t)span;
    }
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
    for (int o = 0; o < layout->operands && layout->axis >= 0; o++) r->dimension[r->ndim].stride[o] = view.stride_bytes[o][0];
    find_extent(r, wf_type_nbytes(grouped->a->type));
}

/* ---- the plan ---- */

static bool is_aligned(const struct job *job) {
    const struct wf_group_arguments *r = &job->arguments;
    uint64_t bits = r->x | r->y;
    for (int d = 0; d < r->ndim + r->reduced_ndim; d++)
        bits |= (uint64_t)r->dimension[d].stride[0] | (uint64_t)r->dimension[d].stride[1];
    return bits % wf_type_nbytes(job->grouped->a->type) == 0;
}

static bool is_contiguous(const struct job *job) {
    const struct wf_group_dimension *reduced = &job->arguments.dimension[job->arguments.ndim];
    int64_t nbytes = (int64_t)wf_type_nbytes(job->grouped->a->type);
    return reduced->stride[0] == nbytes && (!job->grouped->b || reduced->stride[1] == nbytes);
}

static bool starts_at_vectors(const struct job *job) {
    const struct wf_group_arguments *r = &job->arguments;
    uint64_t bits = r->x | (uint64_t)r->reduced_count * wf_type_nbytes(job->grouped->a->type);
    for (int d = 0; d < r->ndim; d++) bits |= (uint64_t)r->dimension[d].stride[0];
    return job->grouped->layout->axis < 0 && bits % WF_GROUP_VECTOR_NBYTES == 0;
}

static bool are_alike_in_vectors(const struct wf_group_arguments *r) {
    uint64_t bits = r->x ^ r->y;
    for (int d = 0; d < r->ndim; d++) bits |= (uint64_t)r->dimension[d].stride[0] ^ (uint64_t)r->dimension[d].stride[1];
    return bits % WF_GROUP_VECTOR_NBYTES == 0;
}

/* Whether neighbours lie side by side, and rows of them are whole units of `unit` bytes. */
static bool are_units_of_neighbours(const struct job *job, uint64_t unit) {
    const struct wf_group_arguments *r = &job->arguments;
    if (!r->ndim) return false;
    const struct wf_group_dimension *last = &r->dimension[r->ndim - 1];
    int64_t nbytes = (int64_t)wf_type_nbytes(job->grouped->a->type);
    if (last->stride[0] != nbytes) return false;
    uint64_t bits = r->x | (uint64_t)r->dimension[r->ndim].stride[0] | (uint64_t)(last->length * nbytes);
    for (int d = 0; d < r->ndim - 1; d++) bits |= (uint64_t)r->dimension[d].stride[0];
    return bits % unit == 0;
}

static bool are_rows_adjacent(const struct job *job) {
    const struct wf_group_arguments *r = &job->arguments;
    int64_t nbytes = (int64_t)wf_type_nbytes(job->grouped->a->type);
    if (job->grouped->b || job->grouped->layout->axis >= 0 || r->ndim != 1 || r->reduced_ndim != 1) return false;
    return r->dimension[0].stride[0] == nbytes && r->dimension[1].stride[0] == r->count * nbytes && r->x % 4 == 0;
}

static int64_t stride_of(const struct wf_group_arguments *r, int d) {
    return d < 0 ? 0 : distance(r->dimension[d].stride[0]);
}

static int64_t elements_of_group(const struct wf_layout *layout) {
    int64_t labels = layout->axis >= 0 ? layout->shape[layout->axis] : 1;
    return labels ? layout->reduced_count / labels : layout->reduced_count;
}

/* What the plan is made of. */
static struct wf_cuda_group_task make_task(const struct job *job) {
    const struct wf_grouped *grouped = job->grouped;
    const struct wf_layout *layout = grouped->layout;
    const struct wf_group_arguments *r = &job->arguments;
    bool last_counts = r->counts_groups == r->ndim - 1, are_keys = layout->by == WF_GROUP_KEYS;
    return (struct wf_cuda_group_task){
        .empty = grouped->empty,
        .result_type = grouped->result_type,
        .parts = job->parts,
        .keeps_slots = job->keeps_slots,
        .is_pair = grouped->b,
        .groups = r->count,
        .elements = elements_of_group(layout),
        .labels = layout->count,
        .positions = layout->reduced_count,
        .are_labelled = layout->axis >= 0,
        .are_keys = are_keys,
        .key_nbytes = are_keys ? (int)wf_type_nbytes(grouped->groups->labels->type) : 0,
        .are_positions_sorted = are_keys,
        .is_vector = layout->ndim == 1,
        .is_matrix = r->ndim == 1 && r->reduced_ndim == 1 && layout->axis < 0,
        .is_folded = r->reduced_ndim > 1,
        .is_aligned = is_aligned(job),
        .is_contiguous = is_contiguous(job),
        .starts_at_vectors = starts_at_vectors(job),
        .are_alike_in_vectors = are_alike_in_vectors(r),
        .are_rows_adjacent = are_rows_adjacent(job),
        .are_words_of_neighbours = are_units_of_neighbours(job, sizeof(uint32_t)),
        .are_vectors_of_neighbours = are_units_of_neighbours(job, WF_GROUP_VECTOR_NBYTES),
        .apart = stride_of(r, r->ndim + r->reduced_ndim - 1),
        .across = stride_of(r, r->ndim - 1),
        .neighbours = r->ndim && !last_counts ? r->dimension[r->ndim - 1].length : 1};
}

static void make_plan(struct job *job, const struct wf_gpu *gpu) {
    job->task = make_task(job);
    job->plan = wf_cuda_group_plan_make(&job->task, gpu);
}

/* ---- the kernel ---- */

static int shared_nbytes(const struct job *job) {
    const struct wf_cuda_group_plan *plan = &job->plan;
    int exchanged = plan->warps > 1 ? plan->warps * WF_GROUP_EXCHANGED_WORDS * (int)sizeof(uint32_t) : 0;
    return plan->warps * (plan->sums_nbytes + plan->ring_nbytes) + exchanged;
}

static int threads_of_block(const struct job *job) {
    enum { LANES = 32 };
    return LANES * job->plan.warps;
}

/* With as many warps as the GPU has at a time of the kernel, which is asked. */
static wf_error fill_gpu(wf_handle *handle, struct job *job) {
    struct wf_cuda *cuda = handle->device_state;
    int resident = 0;
    wf_error error = wf_kernels_resident(handle, cuda->kernels, job->function, threads_of_block(job), shared_nbytes(job), &resident);
    if (!error) wf_cuda_group_plan_fill(&job->plan, resident, &cuda->gpu);
    return error;
}

static wf_error find_kernel(wf_handle *handle, struct job *job) {
    struct wf_cuda *cuda = handle->device_state;
    const struct wf_accumulator *empty = job->grouped->empty;
    struct wf_kernel_key key;
    memset(&key, 0, sizeof key);
    key.type = empty->type;
    key.parts = job->parts;
    key.is_indexed = wf_accumulator_is_indexed(empty) && job->parts & (WF_PART_MIN | WF_PART_MAX); /* only extremes have any */
    key.walk = (int)job->plan.walk + 1;
    key.is_short = (int)job->plan.held;
    key.alignment = job->task.is_aligned ? WF_GROUP_VECTOR_NBYTES : 1;
    key.block = threads_of_block(job);
    key.vectors = 1;
    key.resident = job->plan.resident / job->plan.warps;
    if (!job->keeps_slots) {
        key.finish_op = empty->op;
        key.finish_type = job->grouped->result_type;
    }
    wf_error error = wf_kernels_groups(handle, &cuda->gpu, &cuda->kernels, &key, shared_nbytes(job), &job->function);
    return error || job->keeps_slots ? error : fill_gpu(handle, job);
}

static wf_error launch(wf_handle *handle, struct job *job, enum wf_group_stage stage, int64_t grid) {
    struct wf_cuda *cuda = handle->device_state;
    struct wf_group_arguments *r = &job->arguments;
    void *arguments[] = {r};
    unsigned shared = stage <= WF_GROUPS_LISTED ? (unsigned)shared_nbytes(job) : 0;
    r->stage = stage;
    bool is_rare = r->list && (stage == WF_GROUPS_LISTED || stage == WF_GROUPS_FINISH); /* long groups are */
    bool is_chained = r->condition || r->unless || is_rare || stage > WF_GROUPS_ADD_COLUMNS; /* others would take longer: what comes before them has something to do */
    wf_cuda_result result = wf_driver_launch(job->function, (unsigned)grid, (unsigned)threads_of_block(job), shared, cuda->stream,
                                             arguments, is_chained);
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
    int64_t listed = layout->reduced_count / job->plan.longest;
    *slots = others * (layout->reduced_count / job->plan.piece);
    *pieces = others * listed + *slots;
}

/* What each share has found of each column, and several have together; then which columns are open. */
static void size_tall_columns(struct job *job) {
    if (!job->plan.tall.shares) return;
    int64_t rows = job->plan.tall.shares * job->plan.tall.rows_joined, columns = job->arguments.count;
    int64_t joined = (rows + WF_GROUP_COLUMNS_JOINED - 1) / WF_GROUP_COLUMNS_JOINED;
    job->columns_nbytes = (size_t)((rows + joined) * columns) * WF_GROUP_COLUMN_NBYTES;
    job->open_nbytes = (size_t)(columns + 1) * sizeof(int);
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
    size_tall_columns(job);
    if (grouped->empty->tree) job->trees_nbytes = wf_cuda_trees_nbytes(&job->arguments);
    if (job->is_output_host && !job->keeps_slots) job->results_nbytes = (size_t)layout->count * wf_type_nbytes(grouped->result_type);
}

static wf_error clear_list(wf_handle *handle, const struct job *job) {
    const struct wf_cuda *cuda = handle->device_state;
    return WF_DRIVER_CALL(handle, MemsetD8Async,
                          (job->arguments.failed + offsetof(struct counters, listed), 0xff, 16, cuda->stream), "scratch memory");
}

static wf_error clear_counters(wf_handle *handle, const struct job *job) {
    const struct wf_cuda *cuda = handle->device_state;
    return WF_DRIVER_CALL(handle, MemsetD8Async, (job->arguments.failed, 0xff, sizeof(struct counters), cuda->stream), "scratch memory");
}

/* Takes the parts out of one piece of memory. */
static wf_error take_scratch(wf_handle *handle, struct job *job) {
    struct wf_cuda *cuda = handle->device_state;
    struct wf_group_arguments *r = &job->arguments;
    size_t nbytes = align(sizeof(struct counters)) + align(job->labels_nbytes) + align(job->tables_nbytes) +
                    align(job->keys_nbytes) + align(job->list_nbytes) + align(job->slots_nbytes) + align(job->trees_nbytes) +
                    align(job->columns_nbytes) + align(job->open_nbytes) + align(job->results_nbytes);
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
    r->sums = at += align(job->trees_nbytes);
    r->open = at += align(job->columns_nbytes);
    at += align(job->open_nbytes);
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
    struct wf_group_arguments *r = &job->arguments;
    int lanes_log2 = r->lanes_log2;
    if (!r->is_across) r->lanes_log2 = 5;
    wf_error error = launch(handle, job, WF_GROUPS_LISTED, job->plan.listed_grid);
    r->lanes_log2 = lanes_log2;
    return error;
}

static wf_error launch_columns(wf_handle *handle, struct job *job) {
    const struct wf_cuda_tall_plan *tall = &job->plan.tall;
    int64_t columns = job->arguments.count, shares = tall->tiles * tall->shares;
    int64_t joined = (tall->shares * tall->rows_joined / WF_GROUP_COLUMNS_JOINED + 1) * columns;
    wf_error error = launch(handle, job, WF_GROUPS_ADD_COLUMNS, shares);
    if (!error) error = launch(handle, job, WF_GROUPS_JOIN_COLUMNS, joined < shares ? joined : shares);
    return error ? error : launch(handle, job, WF_GROUPS_SETTLE_COLUMNS, columns);
}

/* Columns that are open, of which mostly there are none, are added up again where that may help, and then reduced as longer groups. */
static wf_error launch_tall(wf_handle *handle, struct job *job) {
    struct wf_group_arguments *r = &job->arguments;
    wf_error error = launch_columns(handle, job);
    r->condition = r->open;
    r->is_second = true;
    if (!error && job->plan.tall.adds_again) error = launch_columns(handle, job);
    if (!error) error = launch(handle, job, WF_GROUPS_REDUCE, job->plan.grid);
    if (!error) error = launch(handle, job, WF_GROUPS_FINISH, blocks_for(job, job->slots));
    return error || !r->status ? error : launch(handle, job, WF_GROUPS_STATUS, 1);
}

static wf_error launch_all(wf_handle *handle, struct job *job) {
    const struct wf_group_arguments *r = &job->arguments;
    if (job->plan.tall.shares) return launch_tall(handle, job);
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
    segments.plan = wf_cuda_group_plan_segments(&job->plan, &job->task, &cuda->gpu);
    r->tiles = segments.plan.tiles;
    r->lanes_log2 = segments.plan.lanes_log2;
    r->longest = segments.plan.longest;
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
                                      .sums_nbytes = job->plan.sums_nbytes,
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
    r->divisor = (double)r->reduced_count * (double)(r->reduced_count - r->ddof);
    r->inverse_divisor = 1 / r->divisor;
    r->nan = (int)grouped->empty->nan;
    r->starts_at_vectors = job->task.is_contiguous && job->task.starts_at_vectors;
    r->ahead = (int)job->plan.ahead;
    r->lanes_log2 = job->plan.lanes_log2;
    r->is_across = job->plan.is_across;
    r->piece = job->plan.piece;
    r->longest = job->plan.longest;
    r->pieces = job->plan.pieces;
    r->tiles = job->plan.tiles;
    r->rows_joined = job->plan.tall.rows_joined;
    r->shares = job->plan.tall.shares;
    r->share = job->plan.tall.share;
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
static wf_error collect(wf_handle *handle, const struct job *job, const struct wf_grouped *asked) {
    struct counters counters;
    wf_error error = wf_cuda_bring(handle, &counters, job->arguments.failed, sizeof counters);
    if (error) return error;
    if (counters.failed != UINT64_MAX || counters.bad != UINT64_MAX)
        return wf_cuda_reduce_groups_on_host(handle, asked);
    return bring_results(handle, job);
}

/* ---- all of it ---- */

static void lay_out(struct job *job) {
    lay_out_results(job);
    lay_out_elements(job);
}

/* Makes it the job of the rows that segments may be: those that need no scratch memory. */
static bool plan_rows(struct job *rows, struct wf_segment_rows *as_rows, const struct job *segments, const struct wf_gpu *gpu) {
    if (!wf_cuda_group_may_be_rows(&segments->task, gpu)) return false;
    *rows = (struct job){.grouped = wf_segment_rows_at_best(as_rows, segments->grouped),
                         .parts = segments->parts,
                         .is_output_host = segments->is_output_host};
    if (!rows->grouped) return false;
    lay_out(rows);
    make_plan(rows, gpu);
    set_arguments(rows);
    return rows->plan.held && rows->plan.pieces == 1 && !rows->plan.tall.shares;
}

/* Launches it for segments that may be rows, which the GPU will know; their own launches do nothing then. */
static wf_error reduce_as_rows(wf_handle *handle, struct job *segments, struct job *rows) {
    struct wf_group_arguments *of_segments = &segments->arguments, *r = &rows->arguments;
    r->failed = of_segments->failed;
    r->bad = of_segments->bad;
    r->results = of_segments->results;
    r->condition = of_segments->unless = r->failed + offsetof(struct counters, are_equal);
    r->status = 0; /* which the segments' launches leave */
    wf_error error = find_kernel(handle, rows);
    if (!error) error = wf_cuda_look_at_offsets(handle, of_segments, r->reduced_count, r->condition);
    return error ? error : launch_all(handle, rows);
}

/* rows: NULL, or what segments may be. */
static wf_error reduce_elements(wf_handle *handle, struct job *job, struct job *rows) {
    wf_error error = job->grouped->groups->labels ? resolve_labels(handle, job) : WF_OK;
    if (!error && rows) error = reduce_as_rows(handle, job, rows);
    return error || job->plan.tables_suffice ? error : launch_all(handle, job);
}

static wf_error reduce_on_gpu(wf_handle *handle, struct job *job, const struct wf_grouped *asked) {
    struct wf_cuda *cuda = handle->device_state;
    const struct wf_accumulator *empty = job->grouped->empty;
    struct wf_segment_rows as_rows;
    struct job rows;
    lay_out(job);
    make_plan(job, &cuda->gpu);
    set_arguments(job);
    size_scratch(job);
    job->plan.may_be_rows = plan_rows(&rows, &as_rows, job, &cuda->gpu);
    wf_error error = empty->tree || job->plan.tables_suffice ? WF_OK : find_kernel(handle, job);
    cuda->group_plan = job->plan;
    if (!error) error = take_scratch(handle, job);
    if (!error && empty->tree)
        error = wf_cuda_trees_reduce(handle, empty, job->grouped->result_type, &job->arguments, job->trees);
    else if (!error)
        error = reduce_elements(handle, job, job->plan.may_be_rows ? &rows : NULL);
    return !error && job->is_output_host ? collect(handle, job, asked) : error;
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

/* Segments whose offsets are in host memory, if they are not so many that looking at them takes longer than sending them.  Work on the
 * stream may write them; a graph reads them when it runs. */
static wf_error take_for_rows(wf_handle *handle, struct job *job, struct wf_segment_rows *rows) {
    enum { LENGTH_MIN = 256 }; /* on average */
    const struct wf_cuda *cuda = handle->device_state;
    const struct wf_grouped *grouped = job->grouped;
    const struct wf_layout *layout = grouped->layout;
    bool is_tried = job->are_labels_host && !job->is_array_host && layout->by == WF_GROUP_SEGMENTS;
    if (!is_tried || layout->reduced_count / grouped->groups->count < LENGTH_MIN || wf_cuda_is_capturing(cuda->stream)) return WF_OK;
    wf_error error = WF_DRIVER_CALL(handle, StreamSynchronize, (cuda->stream), "cuda:%d", cuda->gpu.ordinal);
    if (error) return error;
    const struct wf_grouped *of_rows = wf_segment_rows(rows, grouped, grouped->groups->labels);
    if (of_rows) job->grouped = of_rows;
    return WF_OK;
}

static wf_error reduce_job(wf_handle *handle, struct job *job) {
    const struct wf_grouped *asked = job->grouped;
    struct wf_segment_rows rows;
    wf_error error = find_places(handle, job);
    if (!error) error = take_for_rows(handle, job, &rows);
    if (error) return error;
    bool are_trees_labelled = job->grouped->empty->tree && job->grouped->layout->axis >= 0; /* of lengths that differ */
    if (job->is_array_host || are_trees_labelled) return wf_cuda_reduce_groups_on_host(handle, asked);
    return reduce_on_gpu(handle, job, asked);
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
    struct counters counters;
    job->task = make_task(job);
    wf_cuda_group_plan_fit(&job->plan, &job->task, &cuda->gpu);
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
    size_scratch(&job);
    error = find_kernel(handle, &job);
    cuda->group_plan = job.plan;
    if (!error) error = take_scratch(handle, &job);
    if (!error && grouped->groups->labels) error = resolve_labels(handle, &job);
    return error ? error : reduce_slices(handle, &job, &whole, user);
}
