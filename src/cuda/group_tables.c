#include "cuda/group_tables.h"
#include "core/array.h"
#include "cuda/table_arguments.h"

#include <stddef.h>
#include <string.h>

enum {
    COUNT_MIN = 1 << 14,      /* fewer are sorted as fast */
    SHARED_NBYTES = 100 << 10, /* of a block */
    KEPT_MAX = 1 << 13,
    PASSES_MAX = 8,            /* more take longer than they save */
    SAMPLING_MAX = 16,         /* blocks */
    FAR_MIN = 7,               /* times as many pairs of neighbours far from each other as near, where the L2 cache holds the table */
    STRAYS_EVERY = 8,          /* at most one run in that many elements is listed, in the room for records */
    WALK_TABLE = 4,            /* no walk of kernels/groups.cu, ... */
    WALK_BUCKETS = 5,          /* nor this one, */
    HAS_RUNS = 4,              /* ... nor an IS_SHORT, */
    REREADS = 8                /* ... nor another one */
};

/* How many elements are not 0 is all that is wanted. */
static bool is_of_nonzero(const struct wf_accumulator *empty) {
    return empty->parts == WF_PART_NONZERO;
}

static int count_terms(const struct wf_accumulator *empty) {
    if (is_of_nonzero(empty)) return 1;
    if (!(empty->parts & (WF_PART_SUM | WF_PART_ABS))) return 0;
    if (wf_type_is_float(empty->type)) return WF_TABLE_TERMS_MAX;
    return wf_type_nbytes(empty->type) == 8 ? 2 : 1;
}

static int count_square_terms(const struct wf_accumulator *empty) {
    if (!(empty->parts & WF_PART_SQUARES)) return 0;
    bool has_64_bits = !wf_type_is_float(empty->type) && wf_type_nbytes(empty->type) < 8;
    if (empty->type == WF_F64) return WF_TABLE_F64_SQUARE_TERMS;
    return has_64_bits ? WF_TABLE_INTEGER_SQUARE_TERMS : WF_TABLE_SQUARE_TERMS;
}

static bool has_counts(const struct wf_accumulator *empty) {
    return empty->op == WF_MEAN || empty->op == WF_VAR || empty->op == WF_STD || is_of_nonzero(empty);
}

static bool are_extremes(const struct wf_accumulator *empty) {
    return empty->parts == WF_PART_MIN || empty->parts == WF_PART_MAX;
}

/* Whether positions take a stage of their own: there is no room for them next to the elements' bits. */
static bool has_index_stage(const struct wf_accumulator *empty) {
    return are_extremes(empty) && wf_accumulator_is_indexed(empty) && wf_type_nbytes(empty->type) == 8;
}

static int count_words(const struct wf_accumulator *empty) {
    return count_terms(empty) + count_square_terms(empty) + has_counts(empty);
}

/* The most bits of a term with which no word of `count` terms, each at most 2^bits, overflows; those of two are 64 or more. */
static int find_term_bits(int64_t count) {
    int bits = 62;
    while (count > (INT64_C(1) << (62 - bits))) bits--;
    return bits < 40 ? bits : 40;
}

/* Whether it is of squares, and of nothing else but the values. */
static bool has_squares(const struct wf_accumulator *empty) {
    bool is_known = empty->op == WF_VAR || empty->op == WF_STD || empty->op == WF_NORM2;
    unsigned others = empty->parts & ~(unsigned)(WF_PART_SUM | WF_PART_SQUARES);
    return is_known && others == 0;
}

bool wf_cuda_tables_fit(const struct wf_accumulator *empty, int64_t count, int64_t groups) {
    bool is_sum = empty->op == WF_SUM || empty->op == WF_NORM1 || empty->op == WF_MEAN;
    bool is_extreme = empty->op == WF_MIN || empty->op == WF_MAX || empty->op == WF_ARGMIN || empty->op == WF_ARGMAX;
    bool has_one_sum = empty->parts == WF_PART_SUM || empty->parts == WF_PART_ABS;
    bool has_tables =
        (is_sum && has_one_sum) || (is_extreme && are_extremes(empty)) || has_squares(empty) || is_of_nonzero(empty);
    return has_tables && count >= COUNT_MIN && count <= INT64_C(1) << 30 && groups <= count;
}

bool wf_cuda_tables_suffice(const struct wf_accumulator *empty, const struct wf_cuda_table_plan *plan) {
    bool has_no_grid = are_extremes(empty) || is_of_nonzero(empty), holds_all = has_no_grid || plan->whole_room;
    return !wf_type_is_float(empty->type) || (holds_all && empty->nan != WF_NAN_ERROR);
}

/* The words of a table that one stage writes. */
static int64_t table_nbytes(const struct wf_accumulator *empty, int64_t groups) {
    bool is_narrow = wf_type_nbytes(empty->type) < 8 && !wf_accumulator_is_indexed(empty);
    if (are_extremes(empty)) return groups * (is_narrow ? 4 : 8);
    return groups * count_words(empty) * 8;
}

static int64_t words_nbytes(const struct wf_accumulator *empty, int64_t groups) {
    return (table_nbytes(empty, groups) * (has_index_stage(empty) ? 2 : 1) + 7) / 8 * 8;
}

/* The shared memory of a block where a multiprocessor runs `blocks` of them. */
static int room_of_block(const struct wf_gpu *gpu, int blocks) {
    enum { RESERVED_NBYTES = 1024, SCAN_NBYTES = 272 }; /* of each block, by the driver, and for scans and what it has seen */
    int room = gpu->shared_per_multiprocessor / blocks - RESERVED_NBYTES;
    return (room < gpu->shared_per_block ? room : gpu->shared_per_block) - SCAN_NBYTES;
}

/* Of most stages' blocks. */
static int find_room(const struct wf_gpu *gpu) {
    int room = room_of_block(gpu, 2);
    return room < SHARED_NBYTES ? room : SHARED_NBYTES;
}

static int count_copies(const struct wf_accumulator *empty, int64_t groups, int room) {
    if (groups > room || table_nbytes(empty, groups) > room) return 0;
    int copies = are_extremes(empty) ? 1 : WF_TABLE_COPIES_MAX; /* few extremes are written at all */
    while (copies * table_nbytes(empty, groups) > room) copies /= 2;
    return copies;
}

/* Bytes of a group that a block keeps: its number, and of extremes 32 bits of its word, of sums its words. */
static int kept_nbytes(const struct wf_accumulator *empty) {
    return are_extremes(empty) ? 8 : 8 * count_words(empty) + 4;
}

static int count_kept(const struct wf_accumulator *empty, int room) {
    int groups = KEPT_MAX;
    while (groups * kept_nbytes(empty) > room) groups /= 2;
    return groups;
}

/* Words of all exponents of a group, and that of its count; 0: none are tried.  Those of f16 are no more than grids are. */
static int count_whole_words(const struct wf_accumulator *empty) {
    bool is_tried = wf_type_is_float(empty->type) && empty->type != WF_F16 && count_terms(empty) && !count_square_terms(empty);
    int terms = empty->type == WF_F64 ? WF_TABLE_F64_WHOLE_TERMS : WF_TABLE_WHOLE_TERMS;
    return is_tried && !is_of_nonzero(empty) ? terms + has_counts(empty) : 0;
}

/* The same in global memory, if elements are added to them there. */
static int count_spread_words(const struct wf_accumulator *empty) {
    int bits = empty->type == WF_F32 ? WF_TABLE_SPREAD_BITS : WF_TABLE_SPREAD_SHORT_BITS;
    int terms = WF_TABLE_WHOLE_TERMS * WF_TABLE_WHOLE_BITS / bits;
    return (empty->type == WF_F64 ? WF_TABLE_SECTORS * WF_TABLE_SECTOR_WORDS : terms) + has_counts(empty);
}

/* Those of all groups. */
static int64_t whole_nbytes(const struct wf_accumulator *empty, const struct wf_cuda_table_plan *plan, int64_t groups) {
    if (!plan->whole_room) return 0;
    return 8 * groups * (plan->is_spread ? count_spread_words(empty) : count_whole_words(empty));
}

/* In global memory only if they take no more of it than is read twice, or, of many groups, than the values do. */
static void choose_whole(struct wf_cuda_table_plan *plan, const struct wf_accumulator *empty, int key_nbytes, int64_t count,
                         int64_t groups, int room) {
    int64_t nbytes = (int64_t)wf_type_nbytes(empty->type), most = groups > WF_TABLE_WHOLE_MIN ? nbytes : 2 * (nbytes + key_nbytes);
    int words = count_whole_words(empty);
    if (words == 0) return;
    plan->whole_room = room / 8;
    plan->is_spread = groups > WF_TABLE_WHOLE_KEYS(plan->whole_room, words);
    if (!plan->is_spread || whole_nbytes(empty, plan, groups) <= count * most) return;
    plan->is_spread = false;
    plan->whole_room = 0;
}

/* Half of the L2 cache, as elements pass through it, too.  A sum mostly takes one of its words, of f64 or squares two. */
static int count_passes(const struct wf_accumulator *empty, int64_t groups, const struct wf_gpu *gpu) {
    int64_t of_sum = (empty->type == WF_F64 ? 16 : 8) + (count_square_terms(empty) ? 16 : 0) + (has_counts(empty) ? 8 : 0);
    int64_t room = gpu->l2_nbytes / 2 + 1;
    int64_t nbytes = are_extremes(empty) ? table_nbytes(empty, groups) : groups * of_sum, passes = nbytes / room + 1;
    return passes < PASSES_MAX ? (int)passes : PASSES_MAX;
}

static int64_t count_blocks(int64_t count, const struct wf_gpu *gpu) {
    int64_t blocks = count / WF_TABLE_BLOCK + 1, most = 2 * (int64_t)gpu->multiprocessors;
    return blocks < most ? blocks : most;
}

/* Bytes of an element in a bucket: its bits and its key. */
static int record_nbytes(const struct wf_accumulator *empty) {
    return wf_type_nbytes(empty->type) == 8 ? 16 : 8;
}

/* Of how many keys one is sampled, to tell how much room buckets need. */
static int64_t sample_every(int64_t count, int64_t buckets) {
    int64_t samples = buckets * WF_TABLE_BUCKET_SAMPLES;
    return samples && count > samples ? count / samples : 1;
}

/* Room for the records of all buckets, whatever a sample tells. */
static int64_t records_nbytes(const struct wf_accumulator *empty, int64_t count, int64_t buckets) {
    int64_t every = sample_every(count, buckets);
    return (WF_TABLE_ROOM(count / every, every) + WF_TABLE_ROOM(0, every) * buckets) * record_nbytes(empty);
}

/* A block's tile: two words for each bucket, and for elements of no group, ... */
static int64_t tile_words_nbytes(int64_t buckets) {
    return 8 * (buckets + 3);
}

/* ... and records. */
static int find_tile(const struct wf_accumulator *empty, int64_t buckets, int room) {
    enum { MULTIPLE = 512 };
    int64_t left = room - tile_words_nbytes(buckets), nbytes = left < WF_TABLE_TILE_NBYTES ? left : WF_TABLE_TILE_NBYTES;
    return nbytes < 0 ? 0 : (int)(nbytes / record_nbytes(empty) / MULTIPLE * MULTIPLE);
}

/* Of sums: as many keys in each as shared memory has room for, if it has room for a tile of some elements of each, and if scratch memory
 * stays within twice what is read. */
static void choose_buckets(struct wf_cuda_table_plan *plan, const struct wf_accumulator *empty, int key_nbytes, int64_t count,
                           int64_t groups, const struct wf_gpu *gpu) {
    int log2 = 0, room = room_of_block(gpu, 1), element_nbytes = (int)wf_type_nbytes(empty->type) + key_nbytes;
    if (are_extremes(empty)) return;
    while (table_nbytes(empty, INT64_C(2) << log2) <= room) log2++;
    int64_t buckets = ((groups - 1) >> log2) + 1;
    int tile = find_tile(empty, buckets, room);
    if (tile == 0 || tile < buckets || 4 * (buckets + 1) > find_room(gpu)) return;
    if (records_nbytes(empty, count, buckets) > 2 * element_nbytes * count + 64 * groups) return;
    plan->buckets = (int)buckets;
    plan->bucket_log2 = log2;
    plan->tile = tile;
    plan->rereads = buckets <= WF_TABLE_REREADS_MAX && count_terms(empty) && !count_square_terms(empty) && !is_of_nonzero(empty);
    plan->passes = 1;
}

/* Whether so much is read that a launch costs nothing beside it, even if it has nothing to do. */
static bool are_many(int64_t count, const struct wf_gpu *gpu) {
    return count * 8 >= 2 * gpu->l2_nbytes;
}

/* Whether a look at all values would cost more than launches that only matter if a sample misleads: where the cache holds them,
 * it does not.  Of one sum of floats, whose words have room for what is larger. */
static bool suffices_sample(const struct wf_accumulator *empty, int64_t count, const struct wf_gpu *gpu) {
    bool is_of_grid = wf_type_is_float(empty->type) && count_terms(empty) && !is_of_nonzero(empty);
    return is_of_grid && !count_square_terms(empty) && count * (int64_t)wf_type_nbytes(empty->type) >= gpu->l2_nbytes / 4;
}

/* Whether lanes have a run of equal keys each, most of the time, with few elements. */
static bool are_runs_short(int64_t count, int64_t groups) {
    enum { ELEMENTS_MAX = 12 };
    return count / groups <= ELEMENTS_MAX;
}

/* Strays are taken out of runs, which must not matter to what is made of these. */
static bool is_sum_of_floats(const struct wf_accumulator *empty) {
    return wf_type_is_float(empty->type) && (empty->op == WF_SUM || empty->op == WF_NORM1);
}

struct wf_cuda_table_plan wf_cuda_tables_plan(const struct wf_accumulator *empty, wf_type result_type, int key_nbytes,
                                              int64_t count, int64_t groups, const struct wf_gpu *gpu) {
    struct wf_cuda_table_plan plan = {.copies = count_copies(empty, groups, find_room(gpu)), .passes = 1};
    if (!plan.copies) plan.passes = count_passes(empty, groups, gpu);
    plan.tries_segments = plan.passes > 1;
    if (!plan.copies && (plan.passes > 1 || are_many(count, gpu))) choose_buckets(&plan, empty, key_nbytes, count, groups, gpu);
    plan.tries_segments = plan.tries_segments || plan.buckets;
    plan.is_sampled = suffices_sample(empty, count, gpu);
    choose_whole(&plan, empty, key_nbytes, count, groups, find_room(gpu));
    plan.tries_again = plan.whole_room ? plan.buckets && !plan.rereads : plan.buckets || plan.is_sampled;
    if (plan.copies) return plan;
    plan.kept = count_kept(empty, find_room(gpu));
    plan.tries_runs = plan.tries_segments && are_runs_short(count, groups) &&
                      wf_cuda_group_fits_registers(empty->op, empty->type, result_type);
    plan.tries_strays = plan.tries_runs && plan.buckets && is_sum_of_floats(empty);
    return plan;
}

/* Where parts of the scratch memory begin, where they end, and how much has to be 0 at first. */
struct places {
    size_t begins, flags, words, cleared, nexts, records, offsets, whole, end; /* whole: among what is cleared, or in place of records and offsets */
};

static size_t align(size_t nbytes) {
    return (nbytes + 15) / 16 * 16;
}

/* Where there are buckets, kernels clear words and flags if these are needed. */
static struct places find_places(const struct wf_accumulator *empty, int64_t count, int64_t groups,
                                 const struct wf_cuda_table_plan *plan) {
    struct places places = {.begins = align(sizeof(struct wf_table_findings))};
    size_t of_buckets = plan->buckets ? align(((size_t)plan->buckets + 1) * 4) : 0;
    size_t of_whole = align((size_t)whole_nbytes(empty, plan, groups));
    places.whole = places.begins + of_buckets;
    places.flags = places.whole + (plan->is_spread ? 0 : of_whole);
    places.words = align(places.flags + (size_t)groups * 4);
    places.nexts = align(places.words + (size_t)words_nbytes(empty, groups));
    places.records = places.nexts + of_buckets;
    places.cleared = plan->buckets ? places.flags : places.nexts;
    places.offsets = places.records + (plan->buckets ? align((size_t)records_nbytes(empty, count, plan->buckets)) : 0);
    places.end = places.offsets + (plan->tries_segments ? align(((size_t)groups + 1) * 4) : 0);
    if (plan->is_spread) places.whole = places.records;
    if (plan->is_spread && places.end < places.whole + of_whole) places.end = places.whole + of_whole;
    return places;
}

size_t wf_cuda_tables_nbytes(const struct wf_accumulator *empty, int64_t count, int64_t groups,
                             const struct wf_cuda_table_plan *plan) {
    return find_places(empty, count, groups, plan).end;
}

static wf_error find_kernel(wf_handle *handle, const struct wf_cuda_table_task *task, int walk, wf_cuda_function *function) {
    struct wf_cuda *cuda = handle->device_state;
    struct wf_kernel_key key;
    memset(&key, 0, sizeof key);
    key.type = task->empty->type;
    key.parts = task->empty->parts;
    key.is_indexed = are_extremes(task->empty) && wf_accumulator_is_indexed(task->empty);
    key.walk = walk + 1;
    key.is_short = walk == WALK_TABLE && task->plan.tries_runs ? HAS_RUNS : walk == WALK_BUCKETS && task->plan.rereads ? REREADS : 0;
    key.alignment = 16;
    key.block = 32;
    key.vectors = 1;
    key.resident = 1;
    key.finish_op = task->empty->op;
    key.finish_type = task->result_type;
    int room = walk == WALK_BUCKETS ? room_of_block(&cuda->gpu, 1) : find_room(&cuda->gpu);
    int shared = task->sums_nbytes > room ? task->sums_nbytes : room;
    return wf_kernels_tables(handle, &cuda->gpu, &cuda->kernels, &key, shared, function);
}

static wf_error launch(wf_handle *handle, wf_cuda_function function, struct wf_table_arguments *r, enum wf_table_stage stage,
                       int64_t grid, int64_t block, int64_t shared) {
    struct wf_cuda *cuda = handle->device_state;
    void *arguments[] = {r};
    r->stage = stage;
    wf_cuda_result result = wf_driver_launch(function, (unsigned)grid, (unsigned)block, (unsigned)shared, cuda->stream, arguments, true);
    return wf_driver_check(handle, result, "cuLaunchKernel", "tables of %lld groups", (long long)r->table_count);
}

/* Whether several elements can be loaded at once. */
static bool are_packed(const struct wf_cuda_table_task *task, int64_t key_stride) {
    const struct wf_group_arguments *r = task->groups;
    bool are_side_by_side = r->dimension[r->ndim].stride[0] == (int64_t)wf_type_nbytes(task->empty->type) &&
                            key_stride == (int64_t)wf_type_nbytes(task->keys->type);
    return are_side_by_side && (r->x | (uintptr_t)task->keys->data) % 16 == 0;
}

/* Whether the L2 cache does not hold the words, so that buckets pay even if many neighbours' keys are near each other. */
static bool is_table_large(const struct wf_cuda_table_task *task, const struct wf_gpu *gpu) {
    return count_passes(task->empty, task->table_count, gpu) > 1;
}

static struct wf_table_arguments make_arguments(const struct wf_cuda_table_task *task, const struct wf_gpu *gpu,
                                                const struct places *places) {
    int64_t stride_bytes[WF_NDIM_MAX], count = wf_array_length(task->keys, 0);
    wf_array_strides(task->keys, stride_bytes);
    struct wf_table_arguments r = {.groups = *task->groups,
                                   .keys = (uintptr_t)task->keys->data,
                                   .key_stride = stride_bytes[0],
                                   .count = count,
                                   .table_count = task->table_count,
                                   .findings = task->scratch,
                                   .terms = count_terms(task->empty),
                                   .square_terms = count_square_terms(task->empty),
                                   .term_bits = find_term_bits(count),
                                   .has_counts = has_counts(task->empty),
                                   .has_sample = task->plan.is_sampled,
                                   .is_sampled = task->plan.is_sampled,
                                   .tries_again = task->plan.tries_again,
                                   .copies = task->plan.copies,
                                   .kept = task->plan.kept,
                                   .passes = task->plan.passes,
                                   .blocks = (int)count_blocks(count, gpu),
                                   .buckets = task->plan.buckets,
                                   .bucket_log2 = task->plan.bucket_log2,
                                   .bucket_far = is_table_large(task, gpu) ? 1 : FAR_MIN,
                                   .tile = task->plan.tile,
                                   .rereads = task->plan.rereads,
                                   .sample_every = (int)sample_every(count, task->plan.buckets),
                                   .offsets = task->offsets,
                                   .words = task->scratch + places->words,
                                   .flags = task->scratch + places->flags,
                                   .whole = task->plan.whole_room ? task->scratch + places->whole : 0,
                                   .whole_room = task->plan.whole_room,
                                   .is_spread = task->plan.is_spread,
                                   .bucket_begins = task->scratch + places->begins,
                                   .bucket_nexts = task->scratch + places->nexts,
                                   .records = task->scratch + places->records,
                                   .runs = task->plan.tries_strays ? (int)(count / STRAYS_EVERY) : 0,
                                   .key_nbytes = (int)wf_type_nbytes(task->keys->type),
                                   .key_is_signed = wf_type_table[task->keys->type].kind == WF_KIND_SIGNED,
                                   .skips_bad_keys = task->skips_bad_keys,
                                   .are_packed = are_packed(task, stride_bytes[0])};
    return r;
}

/* A stage over all elements, once for each range of keys. */
static wf_error launch_passes(wf_handle *handle, wf_cuda_function function, struct wf_table_arguments *r,
                              enum wf_table_stage stage, int64_t shared) {
    wf_error error = WF_OK;
    for (r->pass = 0; !error && r->pass < r->passes; r->pass++)
        error = launch(handle, function, r, stage, r->blocks, WF_TABLE_BLOCK, shared);
    return error;
}

/* What has to be known before elements are added. */
static wf_error launch_look(wf_handle *handle, const struct wf_accumulator *empty, wf_cuda_function function, struct wf_table_arguments *r) {
    bool has_grid = wf_type_is_float(empty->type) && !are_extremes(empty) && !is_of_nonzero(empty);
    if (!has_grid && !r->buckets) return WF_OK;
    return launch(handle, function, r, WF_TABLE_LOOK, r->blocks, WF_TABLE_BLOCK, 4 * (r->buckets + 1));
}

/* Elements are brought to buckets, and added there, or read again for each. */
static wf_error launch_buckets(wf_handle *handle, const struct wf_cuda_table_task *task, struct wf_table_arguments *r) {
    const struct wf_cuda *cuda = handle->device_state;
    int64_t block = WF_TABLE_BUCKETS_BLOCK, grid = cuda->gpu.multiprocessors;
    int64_t of_bucket = table_nbytes(task->empty, INT64_C(1) << r->bucket_log2);
    int64_t of_tile = tile_words_nbytes(r->buckets) + r->tile * record_nbytes(task->empty);
    wf_cuda_function function;
    wf_error error = find_kernel(handle, task, WALK_BUCKETS, &function);
    if (!error && !r->rereads) error = launch(handle, function, r, WF_TABLE_SCAN, 1, block, 0);
    if (!error && !r->rereads) error = launch(handle, function, r, WF_TABLE_PLACE, grid, block, of_tile);
    return error ? error : launch(handle, function, r, WF_TABLE_ADD, grid, block, of_bucket);
}

/* Shared memory of a block that adds in order. */
static int64_t find_table_nbytes(const struct wf_accumulator *empty, const struct wf_table_arguments *r) {
    return r->copies * table_nbytes(empty, r->table_count) + r->kept * kept_nbytes(empty);
}

static wf_error launch_adding(wf_handle *handle, const struct wf_cuda_table_task *task, wf_cuda_function function,
                              struct wf_table_arguments *r) {
    wf_error error = launch_look(handle, task->empty, function, r);
    if (!error && r->buckets && !r->is_again) error = launch_buckets(handle, task, r);
    return error ? error : launch_passes(handle, function, r, WF_TABLE_ADD, find_table_nbytes(task->empty, r));
}

/* By what a look at all elements finds, if the sample was wrong. */
static wf_error launch_again(wf_handle *handle, const struct wf_cuda_table_task *task, wf_cuda_function function,
                             struct wf_table_arguments *r) {
    r->is_sampled = 0;
    r->is_again = 1;
    wf_error error = launch_adding(handle, task, function, r);
    r->is_again = 0;
    return error;
}

/* To words of all exponents, if grids do not hold all elements. */
static wf_error launch_whole(wf_handle *handle, wf_cuda_function function, struct wf_table_arguments *r) {
    const int is_sampled = r->is_sampled;
    r->is_whole = 1;
    r->is_sampled = 0;
    wf_error error = r->is_spread ? launch(handle, function, r, WF_TABLE_LOOK, r->blocks, WF_TABLE_BLOCK, 0) : WF_OK;
    if (!error) error = launch(handle, function, r, WF_TABLE_WHOLE, r->blocks, WF_TABLE_BLOCK, 8 * (int64_t)r->whole_room);
    r->is_whole = 0;
    r->is_sampled = is_sampled;
    return error;
}

/* The results; of sums of floats that are 0, their signs, if these are not known. */
static wf_error launch_finish(wf_handle *handle, const struct wf_cuda_table_task *task, wf_cuda_function function,
                              struct wf_table_arguments *r) {
    const struct wf_cuda *cuda = handle->device_state;
    int64_t warps = (r->table_count + 31) / 32, most = 32 * (int64_t)cuda->gpu.multiprocessors, grid = warps < most ? warps : most;
    wf_error error = launch(handle, function, r, WF_TABLE_FINISH, grid, 32, task->sums_nbytes);
    bool has_zeros = wf_type_is_float(task->empty->type) && task->empty->parts == WF_PART_SUM;
    for (r->signs_kept = WF_TABLE_SIGNS_MAX; 4 * r->signs_kept > find_room(&cuda->gpu);) r->signs_kept /= 2;
    if (!error && has_zeros) error = launch(handle, function, r, WF_TABLE_ZEROS, r->blocks, WF_TABLE_BLOCK, 4 * r->signs_kept);
    return error || !has_zeros ? error : launch(handle, function, r, WF_TABLE_SIGNS, grid, 32, task->sums_nbytes);
}

/* What keys that are sorted, or mostly, allow. */
static wf_error launch_runs(wf_handle *handle, const struct wf_cuda_table_task *task, wf_cuda_function function,
                            struct wf_table_arguments *r) {
    int64_t warps = WF_TABLE_ORDER_BLOCK / 32, block = WF_TABLE_ORDER_BLOCK, grid = r->blocks * (WF_TABLE_BLOCK / block);
    int64_t of_tiles = warps * WF_TABLE_RUN_NBYTES((int64_t)wf_type_nbytes(task->empty->type));
    wf_error error = task->plan.tries_runs ? launch(handle, function, r, WF_TABLE_RUNS, grid, block, of_tiles) : WF_OK;
    if (!error) error = launch(handle, function, r, WF_TABLE_OFFSETS, grid, block, 0);
    if (error || !r->runs) return error;
    error = launch(handle, function, r, WF_TABLE_STRAYS, grid, block, of_tiles);
    if (!error) error = launch(handle, function, r, WF_TABLE_LINK, r->blocks, WF_TABLE_BLOCK, 0);
    return error ? error : launch(handle, function, r, WF_TABLE_MEND, r->blocks, WF_TABLE_BLOCK, 0);
}

static wf_error launch_samples(wf_handle *handle, struct wf_cuda_table_task *task, const struct places *places) {
    const struct wf_cuda *cuda = handle->device_state;
    wf_cuda_function function;
    task->offsets = task->scratch + places->offsets;
    task->unsorted = task->scratch + offsetof(struct wf_table_findings, unsorted);
    if (task->plan.tries_runs) task->left = task->scratch + offsetof(struct wf_table_findings, left);
    struct wf_table_arguments r = make_arguments(task, &cuda->gpu, places);
    int sampling = r.blocks < SAMPLING_MAX ? r.blocks : SAMPLING_MAX;
    wf_error error = find_kernel(handle, task, WALK_TABLE, &function);
    if (!error) error = launch(handle, function, &r, WF_TABLE_SAMPLE, sampling, WF_TABLE_BLOCK, 0);
    return error ? error : launch_runs(handle, task, function, &r);
}

static struct places places_of(const struct wf_cuda_table_task *task) {
    return find_places(task->empty, wf_array_length(task->keys, 0), task->table_count, &task->plan);
}

wf_error wf_cuda_tables_open(wf_handle *handle, struct wf_cuda_table_task *task) {
    const struct wf_cuda *cuda = handle->device_state;
    const struct places places = places_of(task);
    wf_error error = WF_DRIVER_CALL(handle, MemsetD8Async, (task->scratch, 0, places.cleared, cuda->stream), "scratch memory");
    return error || !task->plan.tries_segments ? error : launch_samples(handle, task, &places);
}

wf_error wf_cuda_tables_reduce(wf_handle *handle, const struct wf_cuda_table_task *task, wf_cuda_pointer *condition) {
    struct wf_cuda *cuda = handle->device_state;
    const struct places places = places_of(task);
    struct wf_table_arguments r = make_arguments(task, &cuda->gpu, &places);
    wf_cuda_function tables;
    *condition = r.findings + offsetof(struct wf_table_findings, failed);
    wf_error error = find_kernel(handle, task, WALK_TABLE, &tables);
    if (!error) error = launch_adding(handle, task, tables, &r);
    if (!error && r.tries_again) error = launch_again(handle, task, tables, &r);
    if (!error && r.whole) error = launch_whole(handle, tables, &r);
    if (!error && has_index_stage(task->empty))
        error = launch_passes(handle, tables, &r, WF_TABLE_INDEX, find_table_nbytes(task->empty, &r));
    if (!error) error = launch_finish(handle, task, tables, &r);
    bool has_status = r.groups.status && wf_cuda_tables_suffice(task->empty, &task->plan);
    return error || !has_status ? error : launch(handle, tables, &r, WF_TABLE_STATUS, 1, 32, 0);
}
