#include "cuda/group_ways.h"
#include "cuda/group_arguments.h"

enum {
    CHUNKED_MAX = 1024, /* elements of a group in chunks: kernels/group_chunks.cuh has bounds of errors for as many */
    BATCH = 8 /* of a group that one of several of a lane is: kernels/group_state.cuh */
};

static int64_t nbytes_of(const struct wf_cuda_group_task *task) {
    return (int64_t)wf_type_nbytes(task->empty->type);
}

/* Several of a word are added, or compared, by one instruction (IS_NARROW_INTEGER of kernels/group_sums.cuh). */
static bool is_narrow_integer(const struct wf_cuda_group_task *task) {
    return !wf_type_is_float(task->empty->type) && nbytes_of(task) <= 2;
}

static bool has_sums(const struct wf_cuda_group_task *task) {
    return task->parts & (WF_PART_SUM | WF_PART_ABS | WF_PART_SQUARES | WF_PART_DOT);
}

static bool has_products(const struct wf_cuda_group_task *task) {
    return task->parts & (WF_PART_SQUARES | WF_PART_DOT);
}

static bool is_index(const struct wf_cuda_group_task *task) {
    return task->empty->op == WF_ARGMIN || task->empty->op == WF_ARGMAX;
}

/* ---- shared memory ---- */

int wf_cuda_group_sums_nbytes(const struct wf_cuda_group_task *task) {
    enum { ROW_NBYTES = 512, BINADES = 64 };
    wf_type type = task->empty->type;
    int bias = wf_type_is_float(type) ? wf_type_bias(type) : 0, rows = 0;
    if (!bias) return 0;
    if (task->parts & (WF_PART_SUM | WF_PART_ABS)) rows += (2 * bias - 1) / BINADES + 2;
    if (has_products(task)) rows += (4 * bias - 2 + (type == WF_F64 ? 53 : 0)) / BINADES + 2;
    return rows * ROW_NBYTES;
}

/* Batches are at least 8 elements and a vector. */
int wf_cuda_group_ring_nbytes(const struct wf_cuda_group_task *task) {
    enum { LANES = 32 };
    int of_batch = BATCH * (int)nbytes_of(task);
    if (task->are_positions_sorted || task->is_folded || !task->is_aligned) return 0;
    if (of_batch < WF_GROUP_VECTOR_NBYTES) of_batch = WF_GROUP_VECTOR_NBYTES;
    return WF_GROUP_RING_BATCHES * LANES * of_batch * (task->is_pair ? 2 : 1);
}

/* Lanes load to registers, and few at a time have bins, of which f64 have many (BIN_LANES of kernels/group_sums.cuh). */
void wf_cuda_group_share_bins(struct wf_cuda_group_plan *plan, const struct wf_cuda_group_task *task) {
    enum { LANES = 32 };
    int lanes = has_products(task) ? WF_GROUP_LANES_OF_PRODUCTS : WF_GROUP_LANES_OF_VALUES;
    if (nbytes_of(task) == 8) plan->sums_nbytes = plan->sums_nbytes / LANES * lanes;
    plan->ring_nbytes = 0;
}

/* ---- registers ---- */

static bool float_fits_registers(wf_op op) {
    return op == WF_SUM || op == WF_NORM1 || op == WF_MEAN || op == WF_VAR || op == WF_STD || op == WF_NORM2 || op == WF_DOT;
}

/* As HAS_SHORT_RESULT in kernels/group_short.cuh, which holds the kernel to it. */
bool wf_cuda_group_fits_registers(wf_op op, wf_type type, wf_type result_type) {
    bool is_narrow = wf_type_nbytes(type) < 8, is_signed = wf_type_table[type].kind == WF_KIND_SIGNED;
    if (op == WF_MIN || op == WF_MAX) return result_type == type;
    if (op == WF_ARGMIN || op == WF_ARGMAX) return result_type == WF_I64 || result_type == WF_U64;
    if (wf_type_is_float(type)) return float_fits_registers(op) && result_type == type;
    if (op == WF_MEAN) return is_narrow && result_type == WF_F64;
    return (op == WF_SUM || op == WF_DOT) && is_narrow && result_type == (is_signed ? WF_I64 : WF_U64);
}

static bool result_fits_registers(const struct wf_cuda_group_task *task) {
    return wf_cuda_group_fits_registers(task->empty->op, task->empty->type, task->result_type);
}

/* Whether labelled groups of several neighbours are mostly short.  Indices of sorted keys are in no order. */
static bool are_short_rows(const struct wf_cuda_group_plan *plan, const struct wf_cuda_group_task *task) {
    enum { NEIGHBOURS_MIN = 32, ELEMENTS_MAX = 12 };
    if (is_index(task) && task->are_positions_sorted) return false;
    return plan->is_across && task->neighbours >= NEIGHBOURS_MIN && task->elements <= ELEMENTS_MAX && !task->is_folded;
}

/* Whether teams compare two elements at a time: the extremes of 16-bit floats, not their indices. */
static bool are_pairs_compared(const struct wf_cuda_group_task *task) {
    return wf_type_is_float(task->empty->type) && nbytes_of(task) == 2 && !has_sums(task) && !is_index(task);
}

/* Bytes of rows whose extremes are; of those of which teams compare several at a time, fewer. */
static int64_t most_of_extremes_in_chunks(const struct wf_cuda_group_task *task) {
    enum { BYTES_MAX = 32, SHORTS_MAX = 48, PAIRS_MAX = 96, OTHERS_MAX = 127 };
    if (are_pairs_compared(task)) return PAIRS_MAX;
    if (!is_narrow_integer(task)) return OTHERS_MAX;
    return nbytes_of(task) == 1 ? BYTES_MAX : SHORTS_MAX;
}

/* Bytes of rows whose sums are: of integers of which teams add several at a time fewer, of what is copied ahead more. */
static int64_t most_of_sums_in_chunks(const struct wf_cuda_group_task *task) {
    enum { NARROW_MAX = 48, AHEAD_MAX = 128, OTHERS_MAX = 96 };
    if (is_narrow_integer(task) && (nbytes_of(task) == 1 || task->starts_at_vectors)) return NARROW_MAX;
    return nbytes_of(task) == 4 && wf_cuda_group_find_ahead(task) == WF_GROUP_ROWS_AHEAD ? AHEAD_MAX : OTHERS_MAX;
}

/* Of rows, whose elements lie side by side and which lanes load 16 bytes at a time otherwise: where that takes longer, by measuring. */
static bool are_rows_in_chunks(const struct wf_cuda_group_task *task) {
    enum { SQUARES_MAX = 256 }; /* bytes */
    int64_t nbytes = nbytes_of(task), of_row = task->elements * nbytes;
    if (task->parts & WF_PART_SQUARES) return nbytes == 8 || of_row <= SQUARES_MAX;
    return has_sums(task) ? of_row <= most_of_sums_in_chunks(task) : nbytes == 8 || of_row <= most_of_extremes_in_chunks(task);
}

/* Whether a lane's group, along one axis, is found in registers a chunk at a time. */
static bool are_in_chunks(const struct wf_cuda_group_plan *plan, const struct wf_cuda_group_task *task) {
    if (task->keeps_slots || task->are_labelled || task->is_pair || task->is_folded) return false;
    if (plan->pieces > 1 || task->elements > CHUNKED_MAX || !result_fits_registers(task)) return false;
    return task->apart != nbytes_of(task) || are_rows_in_chunks(task);
}

/* Whether every group is a batch at most, which one lane has (see kernels/group_state.cuh), or most labelled ones are. */
static enum wf_cuda_group_short find_shortness(const struct wf_cuda_group_plan *plan, const struct wf_cuda_group_task *task) {
    if (plan->lanes_log2) return WF_NONE_SHORT;
    if (task->are_labelled && !task->is_vector) return are_short_rows(plan, task) ? WF_SHORT_ROWS : WF_NONE_SHORT;
    if (task->elements > BATCH) return are_in_chunks(plan, task) ? WF_SHORT_CHUNKS : WF_NONE_SHORT;
    if (!task->are_labelled) return WF_SHORT_GROUPS;
    return task->are_positions_sorted || task->is_folded ? WF_NONE_SHORT : WF_SHORT_SEGMENTS;
}

enum wf_cuda_group_short wf_cuda_group_find_held(const struct wf_cuda_group_plan *plan, const struct wf_cuda_group_task *task) {
    return result_fits_registers(task) ? find_shortness(plan, task) : WF_NONE_SHORT;
}

/* ---- rows and columns ---- */

static bool lies_side_by_side(const struct wf_cuda_group_plan *plan, const struct wf_cuda_group_task *task) {
    return !plan->is_across && task->is_aligned && task->is_contiguous;
}

/* Whether a group's elements lie side by side, and are enough for the few at its ends, outside of vectors, to cost little. */
static bool is_contiguous(const struct wf_cuda_group_plan *plan, const struct wf_cuda_group_task *task) {
    enum { WORTHWHILE_NBYTES = 128 };
    if (!lies_side_by_side(plan, task)) return false;
    if (task->is_pair && !task->are_alike_in_vectors) return false;
    return task->starts_at_vectors || task->elements * nbytes_of(task) >= WORTHWHILE_NBYTES;
}

/* Bytes of bools may be any, and are loaded one by one. */
static bool is_extreme(const struct wf_cuda_group_task *task) {
    const wf_op op = task->empty->op;
    return (op == WF_MIN || op == WF_MAX || is_index(task)) && task->empty->type != WF_BOOL;
}

static bool is_sum_of_floats(const struct wf_cuda_group_task *task) {
    return wf_type_is_float(task->empty->type) && task->empty->op != WF_DOT && float_fits_registers(task->empty->op) &&
           result_fits_registers(task);
}

static bool is_sum_of_integers(const struct wf_cuda_group_task *task) {
    const wf_op op = task->empty->op;
    const wf_type type = task->empty->type;
    return (op == WF_SUM || op == WF_MEAN) && !wf_type_is_float(type) && type != WF_BOOL && result_fits_registers(task);
}

/* Whether teams of lanes try it in registers first: kernels/group_row_sums.cuh, group_row_pairs.cuh,
 * group_row_again.cuh; of integers group_integer_sums.cuh; extrema: group_row_extremes.cuh, group_key_extremes.cuh. */
static bool is_tried_by_teams(const struct wf_cuda_group_task *task) {
    enum { ELEMENTS_MAX = 1 << 29 /* which lanes count by 32 bits */ };
    bool is_tried = is_sum_of_floats(task) || is_sum_of_integers(task) || (is_extreme(task) && result_fits_registers(task));
    if (!is_tried) return false;
    return !task->are_labelled && !task->is_folded && task->elements <= ELEMENTS_MAX;
}

/* Segments of a vector that are not so short that lanes have several; not of f64, whose bins leave room for few warps, nor extrema
 * of more than 2 bytes in longer segments, of which lanes have enough on its way as it is. */
bool wf_cuda_group_has_segments(const struct wf_cuda_group_plan *plan, const struct wf_cuda_group_task *task) {
    enum { WORTHWHILE_NBYTES = 32, EXTREMES_MAX = 256 };
    const int64_t nbytes = nbytes_of(task), of_segment = task->elements * nbytes;
    if (!task->are_labelled || !task->is_vector || task->are_positions_sorted || task->is_pair || nbytes == 8) return false;
    if (!lies_side_by_side(plan, task) || task->elements <= BATCH || of_segment < WORTHWHILE_NBYTES) return false;
    if (is_extreme(task)) return result_fits_registers(task) && (nbytes <= 2 || of_segment <= EXTREMES_MAX);
    return is_sum_of_floats(task) || is_sum_of_integers(task);
}

/* Of 64 bits, each comparison of which takes several instructions: a team compares keys alone, and looks for the best one's number. */
static bool is_long_index(const struct wf_cuda_group_task *task) {
    enum { WORTHWHILE_NBYTES = 8000 };
    return is_index(task) && nbytes_of(task) == 8 && task->elements * nbytes_of(task) >= WORTHWHILE_NBYTES;
}

/* Variances of f64 in short rows take as long by teams as in chunks, and longer where rows end inside of vectors. */
bool wf_cuda_group_has_rows(const struct wf_cuda_group_plan *plan, const struct wf_cuda_group_task *task) {
    enum { WORTHWHILE_NBYTES = 128, SPREAD_NBYTES = 512 };
    const int64_t nbytes = nbytes_of(task), of_row = task->elements * nbytes;
    bool is_spread = nbytes == 8 && task->parts & WF_PART_SQUARES && !task->starts_at_vectors;
    if (!is_tried_by_teams(task) || !lies_side_by_side(plan, task)) return false;
    bool has_enough = is_extreme(task) && nbytes > 2 && !is_long_index(task); /* on its way as it is */
    if (has_enough) return false;
    const bool are_several_of_word = is_narrow_integer(task) || are_pairs_compared(task);
    if (are_several_of_word && !are_rows_in_chunks(task)) return true;
    if (nbytes == 4 && !has_products(task) && plan->lanes_log2 == 0 && are_in_chunks(plan, task)) return false; /* which is faster */
    return of_row >= (is_spread ? SPREAD_NBYTES : WORTHWHILE_NBYTES);
}

/* Sums of f32 are rounded if the row is so long, and cancel, so that their bound leaves one or another in some thousands open; where
 * all warps share rows, what is left is kept. */
bool wf_cuda_group_may_leave_rows_open(const struct wf_cuda_group_task *task) {
    enum { ELEMENTS_MIN = 24 << 10 };
    return task->empty->type == WF_F32 && task->elements >= ELEMENTS_MIN && (task->empty->op == WF_SUM || task->empty->op == WF_MEAN);
}

bool wf_cuda_group_has_pieces_of_rows(const struct wf_cuda_group_task *task) {
    return is_extreme(task);
}

/* Those for which that is faster than one lane's registers, by measuring; of f64, and of indices, those that are too long for these, or
 * so few that lanes with one each would not keep the GPU busy, unless these have enough to do: variances of f64. */
bool wf_cuda_group_has_columns(const struct wf_cuda_group_task *task, bool are_few) {
    enum { SHARED_MIN = 64 };
    static const int64_t least[] = {[1] = 8, [2] = 8, [4] = 9, [8] = CHUNKED_MAX + 1};
    if (!is_tried_by_teams(task) || !task->is_aligned || !task->are_words_of_neighbours) return false;
    bool is_shared = are_few && task->elements >= SHARED_MIN && !(nbytes_of(task) == 8 && has_products(task));
    return is_shared || task->elements >= least[is_index(task) ? 8 : nbytes_of(task)];
}

bool wf_cuda_group_adds_tall_again(const struct wf_cuda_group_task *task) {
    return task->empty->type == WF_F64 && has_sums(task);
}

/* Whether n*n, by which sums of squares are divided, is an f64. */
static bool may_be_shared(const struct wf_cuda_group_task *task) {
    enum { ELEMENTS_MAX = 1 << 26 };
    return is_tried_by_teams(task) && task->elements <= ELEMENTS_MAX;
}

bool wf_cuda_group_has_tall_columns(const struct wf_cuda_group_task *task) {
    return may_be_shared(task) && task->is_aligned && task->are_rows_adjacent;
}

/* Sums; extrema leave theirs in slots. */
bool wf_cuda_group_has_long_rows(const struct wf_cuda_group_plan *plan, const struct wf_cuda_group_task *task) {
    return may_be_shared(task) && !is_extreme(task) && is_contiguous(plan, task);
}

/* Bytes of segments that take longer than a look at the offsets, which is some 10 us, and rows do, by measuring. */
static int64_t most_of_equal_segments(const struct wf_cuda_group_task *task) {
    static const int64_t sums[] = {[1] = 64, [2] = 64, [4] = 256, [8] = 8192}, extremes[] = {[1] = 64, [2] = 48, [4] = 96, [8] = 800};
    enum { SQUARES_MAX = 4096, INTEGERS_MAX = 64 };
    if (!has_sums(task)) return extremes[nbytes_of(task)];
    if (!wf_type_is_float(task->empty->type)) return INTEGERS_MAX;
    return nbytes_of(task) < 8 && task->parts & WF_PART_SQUARES ? SQUARES_MAX : sums[nbytes_of(task)];
}

/* Segments of a vector that are not so short that offsets are what takes time, and of so many elements that a look at the offsets is
 * little beside them. */
bool wf_cuda_group_may_be_rows(const struct wf_cuda_group_task *task, const struct wf_gpu *gpu) {
    const int64_t nbytes = nbytes_of(task), caches = nbytes == 8 || task->parts & WF_PART_SQUARES ? 1 : 2;
    if (!task->are_labelled || task->are_keys || !task->is_vector || !task->is_aligned || task->elements <= BATCH) return false;
    if (task->elements * nbytes > most_of_equal_segments(task)) return false;
    return task->positions % task->labels == 0 && task->positions * nbytes >= caches * gpu->l2_nbytes;
}

/* ---- copied ahead ---- */

/* ARE_CHUNKS_AHEAD of kernels/group_sums.cuh, HAS_COLUMNS_AHEAD of group_chunks_ahead.cuh. */
static bool is_ahead(const struct wf_cuda_group_task *task) {
    return is_sum_of_floats(task) || (task->empty->type == WF_F64 && is_extreme(task) && result_fits_registers(task));
}

enum wf_group_ahead wf_cuda_group_find_ahead(const struct wf_cuda_group_task *task) {
    if (!task->is_matrix || !is_ahead(task)) return WF_GROUP_NONE_AHEAD;
    if (task->is_contiguous && task->starts_at_vectors) return WF_GROUP_ROWS_AHEAD;
    return nbytes_of(task) >= 4 && task->are_vectors_of_neighbours ? WF_GROUP_COLUMNS_AHEAD : WF_GROUP_NONE_AHEAD;
}

/* Of f64, whose short rows lanes of a team take longer to join, and to decide, than to add up. */
bool wf_cuda_group_has_rows_ahead(const struct wf_cuda_group_task *task) {
    enum { SUMS_MAX = 16, ELEMENTS_MIN = 9 };
    const int64_t most = task->parts & WF_PART_SQUARES || !has_sums(task) ? CHUNKED_MAX : SUMS_MAX;
    if (nbytes_of(task) != 8 || task->elements < ELEMENTS_MIN || task->elements > most) return false;
    return wf_cuda_group_find_ahead(task) == WF_GROUP_ROWS_AHEAD;
}

/* Rather than by teams; of f64, few columns are shared. */
bool wf_cuda_group_has_columns_ahead(const struct wf_cuda_group_task *task) {
    return nbytes_of(task) == 4 && task->elements <= CHUNKED_MAX && wf_cuda_group_find_ahead(task) == WF_GROUP_COLUMNS_AHEAD;
}

/* ---- the kernel ---- */

enum wf_cuda_group_walk wf_cuda_group_find_walk(const struct wf_cuda_group_plan *plan, const struct wf_cuda_group_task *task) {
    if (task->are_positions_sorted) return WF_WALK_INDEXED;
    if (task->is_folded) return WF_WALK_FOLDED;
    if (plan->held == WF_SHORT_COLUMNS || plan->held == WF_SHORT_CHUNKS) return WF_WALK_STRAIGHT;
    if (plan->held == WF_SHORT_TEAMS || plan->held == WF_SHORT_SEGMENT_TEAMS) return plan->ring_nbytes ? WF_WALK_CONTIGUOUS : WF_WALK_STRAIGHT;
    if (find_shortness(plan, task)) return WF_WALK_STRAIGHT;
    return is_contiguous(plan, task) ? WF_WALK_CONTIGUOUS : WF_WALK_STRAIGHT;
}

int wf_cuda_group_find_resident(const struct wf_cuda_group_plan *plan, const struct wf_cuda_group_task *task, int room) {
    bool in_chunks = plan->held == WF_SHORT_CHUNKS, of_lanes = in_chunks || plan->held == WF_SHORT_GROUPS;
    bool by_teams = plan->held == WF_SHORT_TEAMS || plan->held == WF_SHORT_COLUMNS || plan->held == WF_SHORT_SEGMENT_TEAMS;
    int most = has_products(task) ? 12 : has_sums(task) ? 16 : 24;
    if ((by_teams && has_sums(task)) || (of_lanes && most == 12 && nbytes_of(task) < 8)) most = 16;
    if (in_chunks && most == 24) most = nbytes_of(task) == 8 ? 16 : 32; /* of these more are slower, by measuring */
    if (plan->tall.shares) return WF_GROUP_TALL_WARPS; /* which need no shared memory */
    return room < most ? room : most;
}
