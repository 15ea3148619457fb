#include "cuda/group_plan.h"
#include "cuda/group_arguments.h"
#include "cuda/group_tables.h"
#include "cuda/group_ways.h"
#include "cuda/trees.h"

#include <stdio.h>

enum {
    WARP_LOG2 = 5,
    ELEMENTS_OF_LANE = 64,      /* fewer are not worth a lane more, which has to be merged; ... */
    LEAST_OF_LANE = 8,          /* ... but where lanes would be idle */
    PIECE_OF_LANE = 256,        /* elements, for which merging in memory is little */
    PIECE_OF_LISTED = 1 << 15,  /* of a warp */
    PIECE_MAX = 1 << 29,        /* which lanes count by 32 bits */
    PIECE_MULTIPLE = 16,        /* so that pieces begin as groups do, as far as vectors of 16 bytes matter */
    WARPS_OF_MULTIPROCESSOR = 32,
    WARPS_OF_ROWS = 16,         /* the same, that have rows or columns of teams */
    BLOCK_NBYTES = 1024         /* shared memory that each block takes besides its own */
};

static int log2_of(int64_t n) {
    return n < 2 ? 0 : 63 - __builtin_clzll((uint64_t)n);
}

static int at_most(int log2) {
    return log2 < WARP_LOG2 ? log2 : WARP_LOG2;
}

/* Whether lanes across, which stay in a row of neighbours, would mostly be idle, as the rows are short and there are several: then
 * neighbouring lanes have groups of several rows, and what else they load of so few elements stays in the L1 cache. */
static bool are_neighbours_few(const struct wf_cuda_group_task *task) {
    enum { FEW = 8, SOME = 25, ELEMENTS_OF_FEW = 1024, ELEMENTS_OF_SOME = 200 };
    if (task->are_labelled || task->empty->tree || task->groups == task->neighbours) return false;
    return task->elements <= (task->neighbours < FEW ? ELEMENTS_OF_FEW : task->neighbours < SOME ? ELEMENTS_OF_SOME : 0);
}

/* As many lanes as there are elements for, and more where these would not fill the GPU; where groups are neighbours in
 * memory, first as many groups as are adjacent. */
static void choose_lanes(struct wf_cuda_group_plan *plan, const struct wf_cuda_group_task *task, int64_t warps) {
    int most = at_most(log2_of(task->elements / LEAST_OF_LANE));
    bool are_few = are_neighbours_few(task);
    plan->is_across = task->neighbours > 1 && task->across < task->apart && !are_few;
    bool are_enough = task->groups >= warps << WARP_LOG2;
    plan->lanes_log2 = are_few && are_enough ? 0 : at_most(log2_of(task->elements / ELEMENTS_OF_LANE));
    while (plan->lanes_log2 < most && task->groups < warps << (WARP_LOG2 - plan->lanes_log2)) plan->lanes_log2++;
    if (!plan->is_across) return;
    int free_log2 = WARP_LOG2 - at_most(log2_of(2 * task->neighbours - 1)); /* lanes other than those of neighbours */
    if (plan->lanes_log2 > free_log2) plan->lanes_log2 = free_log2;
}

static int64_t longest_of_team(const struct wf_cuda_group_plan *plan) {
    return (int64_t)WF_GROUP_LISTED_ELEMENTS << plan->lanes_log2;
}

/* Warps that the GPU has at a time, by their shared memory. */
static int64_t count_warps(const struct wf_cuda_group_plan *plan, const struct wf_gpu *gpu) {
    int64_t resident = gpu->shared_per_multiprocessor / (plan->sums_nbytes + plan->ring_nbytes + BLOCK_NBYTES);
    if (resident > WARPS_OF_MULTIPROCESSOR) resident = WARPS_OF_MULTIPROCESSOR;
    return gpu->multiprocessors * (resident ? resident : 1);
}

/* Results of a team: lanes that hold columns load a word of 8 bytes, or two. */
static int64_t results_of_team(const struct wf_cuda_group_plan *plan, const struct wf_cuda_group_task *task) {
    enum { COLUMNS_NBYTES = 8 };
    return plan->held == WF_SHORT_COLUMNS ? COLUMNS_NBYTES / (int64_t)wf_type_nbytes(task->empty->type) : 1;
}

/* Teams across stay in a row of neighbours. */
static int64_t count_tiles(const struct wf_cuda_group_plan *plan, const struct wf_cuda_group_task *task) {
    int64_t width = results_of_team(plan, task) * plan->warps << (WARP_LOG2 - plan->lanes_log2);
    int64_t rows = plan->is_across ? task->groups / task->neighbours : 1, length = task->groups / rows;
    return rows * (length / width + (length % width != 0));
}

/* Pieces where there are fewer groups than the GPU takes at a time, and slots take no more memory than half the array. */
static void choose_pieces(struct wf_cuda_group_plan *plan, const struct wf_cuda_group_task *task, int64_t warps) {
    int64_t most = task->elements / ((int64_t)PIECE_OF_LANE << plan->lanes_log2);
    int64_t least = 2 * (int64_t)sizeof(struct wf_group_slot) / (int64_t)wf_type_nbytes(task->empty->type);
    int64_t wanted = plan->tiles ? 4 * warps / plan->tiles : 1; /* so that all end at about the same time */
    plan->pieces = wanted < most ? wanted : most;
    if (plan->pieces < 1 || task->elements < least) plan->pieces = 1;
    if (plan->pieces < task->elements / PIECE_MAX + 1) plan->pieces = task->elements / PIECE_MAX + 1;
    plan->piece = (task->elements + plan->pieces - 1) / plan->pieces;
    if (plan->pieces > 1) plan->piece = (plan->piece + PIECE_MULTIPLE - 1) / PIECE_MULTIPLE * PIECE_MULTIPLE;
    if (task->are_labelled) {
        plan->pieces = 1;
        plan->piece = PIECE_OF_LISTED;
    }
}

void wf_cuda_group_plan_fit(struct wf_cuda_group_plan *plan, const struct wf_cuda_group_task *task, const struct wf_gpu *gpu) {
    int64_t warps = count_warps(plan, gpu);
    plan->tiles = count_tiles(plan, task);
    plan->grid = plan->tiles > warps / plan->pieces ? warps : plan->tiles * plan->pieces;
    if (plan->grid < 1) plan->grid = 1;
    plan->listed_grid = warps;
}

/* As many blocks as run at a time, twice: with a few more than run, most of the GPU would wait for those that come last. */
void wf_cuda_group_plan_fill(struct wf_cuda_group_plan *plan, int resident, const struct wf_gpu *gpu) {
    enum { ROUNDS = 2 };
    int64_t blocks = (int64_t)ROUNDS * resident * gpu->multiprocessors, shares = plan->tiles * plan->pieces;
    if (blocks) plan->grid = blocks < shares ? blocks : shares < 1 ? 1 : shares;
}

/* Whether `tiles` shares, one for a warp at a time, keep the GPU's warps busy for most of the time. */
static bool are_tiles_enough(int64_t tiles, const struct wf_gpu *gpu) {
    int64_t warps = (int64_t)gpu->multiprocessors * WARPS_OF_ROWS, rounds = (tiles + warps - 1) / warps;
    return 10 * tiles >= 7 * rounds * warps;
}

/* Of one round, each warp of which adds up a long segment, the last ones keep the GPU waiting. */
static bool are_several_rounds(int64_t tiles, const struct wf_gpu *gpu) {
    return tiles > (int64_t)gpu->multiprocessors * WARPS_OF_ROWS && are_tiles_enough(tiles, gpu);
}

/* The same of whole rows, of which one round and a part of another do, too: unless they are sums of narrow types, or what one or another
 * warp leaves open takes it as long once more. */
static bool are_rows_enough(const struct wf_cuda_group_plan *plan, const struct wf_cuda_group_task *task, const struct wf_gpu *gpu) {
    const int64_t warps = (int64_t)gpu->multiprocessors * WARPS_OF_ROWS;
    bool are_narrow_sums = wf_type_nbytes(task->empty->type) <= 2 && !wf_cuda_group_has_pieces_of_rows(task);
    if (plan->pieces == 1) return true;
    if (wf_cuda_group_may_leave_rows_open(task)) return plan->tiles >= 2 * warps;
    return are_narrow_sums ? are_tiles_enough(plan->tiles, gpu) : 10 * plan->tiles >= 6 * warps;
}

/* More lanes share a row than where each has bins, so that they load more of it at once. */
static void take_lanes_of_rows(struct wf_cuda_group_plan *plan, const struct wf_cuda_group_task *task) {
    enum { VECTORS_OF_LANE_LOG2 = 3 };
    int64_t vectors = task->elements * (int64_t)wf_type_nbytes(task->empty->type) / WF_GROUP_VECTOR_NBYTES;
    int log2 = at_most(log2_of(vectors) - VECTORS_OF_LANE_LOG2);
    if (log2 > plan->lanes_log2) plan->lanes_log2 = log2;
}

/* Segments are rows of any lengths, of which those that are much longer than others are listed; if these are too few to keep the GPU
 * busy, all long ones. */
static bool share_segments(struct wf_cuda_group_plan *plan, const struct wf_cuda_group_task *task, const struct wf_gpu *gpu) {
    if (!wf_cuda_group_has_segments(plan, task)) return false;
    const int64_t much_longer = task->elements + task->elements / 4;
    plan->held = WF_SHORT_SEGMENT_TEAMS;
    take_lanes_of_rows(plan, task);
    if (much_longer > longest_of_team(plan) && are_several_rounds(count_tiles(plan, task), gpu)) plan->longest = much_longer;
    return true;
}

/* Few rows are cut into pieces: returns false where those have to be added up otherwise. */
static bool share_rows(struct wf_cuda_group_plan *plan, const struct wf_cuda_group_task *task, const struct wf_gpu *gpu) {
    bool are_enough = are_rows_enough(plan, task, gpu);
    if (!wf_cuda_group_has_rows(plan, task) || !(are_enough || wf_cuda_group_has_pieces_of_rows(task))) return false;
    plan->held = WF_SHORT_TEAMS;
    take_lanes_of_rows(plan, task);
    if (are_enough) {
        plan->pieces = 1;
        plan->piece = task->elements;
    } else {
        choose_pieces(plan, task, count_warps(plan, gpu) / 2); /* fewer, as each has an end of its own */
    }
    if (wf_type_nbytes(task->empty->type) == 8) wf_cuda_group_share_bins(plan, task);
    return true;
}

/* Warps of a multiprocessor that have columns of teams, and most of a block that share them: a power of two. */
static int64_t warps_of_columns(const struct wf_cuda_group_plan *plan, const struct wf_gpu *gpu) {
    int64_t room = count_warps(plan, gpu) / gpu->multiprocessors;
    return (int64_t)1 << log2_of(room < WARPS_OF_ROWS ? room : WARPS_OF_ROWS);
}

/* A warp loads neighbouring columns and, where these are too few to keep the GPU's warps busy, shares them with warps of its block that
 * load other rows.  Returns false where columns are still fewer than that, and would be cut into pieces. */
static bool share_columns(struct wf_cuda_group_plan *plan, const struct wf_cuda_group_task *task, const struct wf_gpu *gpu) {
    struct wf_cuda_group_plan columns = *plan;
    columns.held = WF_SHORT_COLUMNS;
    columns.is_across = true;
    columns.lanes_log2 = 0;
    if (task->neighbours < results_of_team(&columns, task) << WARP_LOG2) return false;
    columns.tiles = count_tiles(&columns, task);
    wf_cuda_group_share_bins(&columns, task);
    const int64_t warps = warps_of_columns(&columns, gpu), enough = 7 * warps * gpu->multiprocessors;
    while (10 * columns.tiles << columns.lanes_log2 < enough && 2 << columns.lanes_log2 <= warps) columns.lanes_log2++;
    if (plan->pieces > 1 && (task->parts & WF_PART_SQUARES ? 20 : 10) * columns.tiles << columns.lanes_log2 < enough) return false;
    columns.warps = 1 << columns.lanes_log2;
    columns.pieces = 1;
    columns.piece = task->elements;
    *plan = columns;
    return true;
}

/* As many rows as fill whole warps are one; all warps that the GPU has at a time share them.  Returns false where there are too few. */
static bool share_tall_columns(struct wf_cuda_group_plan *plan, const struct wf_cuda_group_task *task, const struct wf_gpu *gpu) {
    enum { WARP_NBYTES = 256 /* 8 of each lane */, ROWS_MIN = 16, SHARES_MIN = 4 /* so that few warps are left without one */ };
    const int64_t row = task->neighbours * (int64_t)wf_type_nbytes(task->empty->type), lowest = row & -row;
    if (plan->pieces == 1 || !wf_cuda_group_has_tall_columns(task)) return false;
    struct wf_cuda_tall_plan tall = {.rows_joined = lowest < WARP_NBYTES ? WARP_NBYTES / lowest : 1};
    tall.tiles = row * tall.rows_joined / WARP_NBYTES;
    const int64_t rows = task->elements / tall.rows_joined, warps = (int64_t)gpu->multiprocessors * WF_GROUP_TALL_WARPS;
    tall.shares = warps / tall.tiles < rows / ROWS_MIN ? warps / tall.tiles : rows / ROWS_MIN;
    if (tall.shares < SHARES_MIN) return false;
    tall.share = (rows + tall.shares - 1) / tall.shares;
    tall.shares = (rows + tall.share - 1) / tall.share;
    tall.adds_again = wf_cuda_group_adds_tall_again(task);
    plan->tall = tall;
    plan->held = WF_SHORT_TALL;
    return true;
}

/* The shares that a row is cut into: each warp has a few of them, one after the other, and as few warps as possible have none
 * in the last round. */
static int64_t shares_of_row(int64_t rows, int64_t warps, int64_t rounds_min) {
    enum { ROUNDS_MAX = 4 };
    int64_t best = 1, best_rounds = 0;
    for (int64_t rounds = rounds_min; rounds <= ROUNDS_MAX; rounds++) {
        const int64_t shares = rounds * warps / rows;
        if (shares && (!best_rounds || shares * best_rounds > best * rounds)) best = shares, best_rounds = rounds;
    }
    return best;
}

/* All warps that the GPU has at a time share rows that are too few for them. */
static bool share_long_rows(struct wf_cuda_group_plan *plan, const struct wf_cuda_group_task *task, const struct wf_gpu *gpu) {
    enum { SHARE_MIN = 2048, SHARE_MULTIPLE = 256 /* so that shares begin as rows do, as far as vectors matter */ };
    const int64_t rounds_min = wf_type_nbytes(task->empty->type) == 1 ? 4 : 2; /* by measuring */
    const int64_t shares = shares_of_row(task->groups, (int64_t)gpu->multiprocessors * WF_GROUP_TALL_WARPS, rounds_min);
    if (plan->pieces == 1 || !wf_cuda_group_has_long_rows(plan, task)) return false;
    struct wf_cuda_tall_plan tall = {.rows_joined = 1, .tiles = task->groups};
    tall.share = (task->elements + shares - 1) / shares;
    if (tall.share < SHARE_MIN) tall.share = SHARE_MIN;
    tall.share = (tall.share + SHARE_MULTIPLE - 1) / SHARE_MULTIPLE * SHARE_MULTIPLE;
    tall.shares = (task->elements + tall.share - 1) / tall.share;
    tall.adds_again = wf_cuda_group_adds_tall_again(task);
    plan->tall = tall;
    plan->held = WF_SHORT_LONG_ROWS;
    return true;
}

/* Each lane's group in registers, a chunk at a time. */
static void take_chunks(struct wf_cuda_group_plan *plan, const struct wf_cuda_group_task *task) {
    plan->held = WF_SHORT_CHUNKS;
    wf_cuda_group_share_bins(plan, task);
    plan->ahead = wf_cuda_group_find_ahead(task);
    if (plan->ahead) plan->ring_nbytes = WF_GROUP_AHEAD_NBYTES;
}

/* Rows that are copied ahead: only if every warp has several tiles of 32. */
static bool share_rows_ahead(struct wf_cuda_group_plan *plan, const struct wf_cuda_group_task *task, const struct wf_gpu *gpu) {
    enum { TILES_MIN = 4 };
    if (!wf_cuda_group_has_rows_ahead(task) || task->groups < (int64_t)TILES_MIN * gpu->multiprocessors * WARPS_OF_ROWS << WARP_LOG2) return false;
    plan->lanes_log2 = 0;
    plan->pieces = 1;
    plan->piece = task->elements;
    take_chunks(plan, task);
    return true;
}

/* What is tried before groups are reduced as longer ones are. */
static void choose_first(struct wf_cuda_group_plan *plan, const struct wf_cuda_group_task *task, const struct wf_gpu *gpu) {
    if (share_rows_ahead(plan, task, gpu)) return;
    if (share_segments(plan, task, gpu) || share_rows(plan, task, gpu) || share_long_rows(plan, task, gpu)) return;
    bool are_few = 10 * task->groups < 7 * ((int64_t)gpu->multiprocessors * WARPS_OF_ROWS << WARP_LOG2);
    bool are_ahead = plan->lanes_log2 == 0 && plan->pieces == 1 && wf_cuda_group_has_columns_ahead(task);
    if (!are_ahead && wf_cuda_group_has_columns(task, are_few) && share_columns(plan, task, gpu)) return;
    if (share_tall_columns(plan, task, gpu)) return;
    plan->held = wf_cuda_group_find_held(plan, task);
    if (plan->held == WF_SHORT_CHUNKS)
        take_chunks(plan, task);
    else if (plan->held && !task->are_labelled)
        wf_cuda_group_share_bins(plan, task);
}

static void choose_tables(struct wf_cuda_group_plan *plan, const struct wf_cuda_group_task *task, const struct wf_gpu *gpu) {
    const struct wf_accumulator *empty = task->empty;
    plan->has_tables = task->are_keys && task->is_vector && task->is_aligned && wf_cuda_tables_fit(empty, task->positions, task->labels);
    if (!plan->has_tables) return;
    plan->tables = wf_cuda_tables_plan(empty, task->result_type, task->key_nbytes, task->positions, task->labels, gpu);
    plan->tables_suffice = wf_cuda_tables_suffice(empty, &plan->tables);
}

static void plan_trees(struct wf_cuda_group_plan *plan, const struct wf_cuda_group_task *task) {
    struct wf_tree_stage first = wf_cuda_trees_begin(task->empty->first_index, task->elements, plan->is_across);
    plan->tree_levels = first.levels;
    plan->tree_nodes = task->groups * first.nodes;
}

/* What follows from all else. */
static void finish(struct wf_cuda_group_plan *plan, const struct wf_cuda_group_task *task, const struct wf_gpu *gpu) {
    if (!plan->longest) plan->longest = longest_of_team(plan);
    plan->walk = wf_cuda_group_find_walk(plan, task);
    plan->resident = wf_cuda_group_find_resident(plan, task, (int)(count_warps(plan, gpu) / gpu->multiprocessors));
    wf_cuda_group_plan_fit(plan, task, gpu);
}

struct wf_cuda_group_plan wf_cuda_group_plan_make(const struct wf_cuda_group_task *task, const struct wf_gpu *gpu) {
    struct wf_cuda_group_plan plan = {.warps = 1, .sums_nbytes = wf_cuda_group_sums_nbytes(task), .ring_nbytes = wf_cuda_group_ring_nbytes(task)};
    int64_t warps = count_warps(&plan, gpu);
    choose_lanes(&plan, task, warps);
    plan.tiles = count_tiles(&plan, task);
    choose_pieces(&plan, task, warps);
    if (!task->keeps_slots) {
        choose_first(&plan, task, gpu);
        choose_tables(&plan, task, gpu);
        if (task->empty->tree) plan_trees(&plan, task);
    }
    finish(&plan, task, gpu);
    return plan;
}

struct wf_cuda_group_plan wf_cuda_group_plan_segments(const struct wf_cuda_group_plan *plan, const struct wf_cuda_group_task *task,
                                                      const struct wf_gpu *gpu) {
    struct wf_cuda_group_plan segments = *plan;
    struct wf_cuda_group_task sorted = *task;
    sorted.are_positions_sorted = false;
    segments.ring_nbytes = wf_cuda_group_ring_nbytes(&sorted);
    segments.longest = 0;
    if (!share_segments(&segments, &sorted, gpu)) segments.held = wf_cuda_group_find_held(&segments, &sorted);
    finish(&segments, &sorted, gpu);
    return segments;
}

/* What is tried before groups are reduced as longer ones are. */
static int describe_first(const struct wf_cuda_group_plan *plan, char *text, size_t capacity) {
    const struct wf_cuda_table_plan *tables = &plan->tables;
    const char *registers = plan->held == WF_SHORT_TEAMS     ? "rows in registers"
                            : plan->held == WF_SHORT_SEGMENT_TEAMS ? "segments in registers"
                            : plan->held == WF_SHORT_COLUMNS ? "columns in registers"
                            : plan->held == WF_SHORT_CHUNKS  ? "one group of a lane in registers"
                            : plan->held                     ? "several groups of a lane in registers"
                                                             : "";
    if (plan->held == WF_SHORT_TALL)
        return snprintf(text, capacity, "tall columns in registers, %lld rows as one, in %lld shares", (long long)plan->tall.rows_joined,
                        (long long)plan->tall.shares);
    if (plan->held == WF_SHORT_LONG_ROWS)
        return snprintf(text, capacity, "rows in registers, each in %lld shares", (long long)plan->tall.shares);
    if (!plan->has_tables) return snprintf(text, capacity, "%s", registers);
    if (tables->copies)
        return snprintf(text, capacity, "tables in shared memory, %d cop%s each%s%s", tables->copies,
                        tables->copies == 1 ? "y" : "ies", tables->is_sampled ? ", laid out by a sample" : "",
                        tables->whole_room ? ", or of all exponents" : "");
    int at = snprintf(text, capacity, "a table in global memory%s, %d groups of it kept in each block",
                      tables->is_sampled ? ", laid out by a sample" : "", tables->kept);
    if (at >= (int)capacity) return at;
    if (tables->buckets)
        at += snprintf(text + at, capacity - (size_t)at, ", or by %d buckets of %d keys%s", tables->buckets, 1 << tables->bucket_log2,
                       tables->rereads ? ", for each of which elements are read again" : "");
    else
        at += snprintf(text + at, capacity - (size_t)at, ", by %d range%s of keys", tables->passes, tables->passes == 1 ? "" : "s");
    if (at >= (int)capacity || !tables->tries_segments) return at;
    return at + snprintf(text + at, capacity - (size_t)at, ", or as segments if keys are sorted%s",
                         tables->tries_runs ? ", short ones in the same pass" : "");
}

void wf_cuda_group_plan_describe(const struct wf_cuda_group_plan *plan, char *text, size_t capacity) {
    int lanes = 1 << plan->lanes_log2, at = 0;
    char pieces[48] = "";
    if (plan->tree_levels) {
        snprintf(text, capacity, "trees: %lld nodes of up to 2^%d elements each, then those above them",
                 (long long)plan->tree_nodes, plan->tree_levels);
        return;
    }
    if (plan->may_be_rows) at = snprintf(text, capacity, "as rows if all are of one length; else ");
    if (at >= (int)capacity) return;
    const int first = describe_first(plan, text + at, capacity - (size_t)at);
    at += first;
    if (at >= (int)capacity || (plan->has_tables && plan->tables_suffice)) return;
    at += snprintf(text + at, capacity - (size_t)at, "%s", first ? "; else " : "");
    if (at >= (int)capacity) return;
    if (plan->pieces > 1) snprintf(pieces, sizeof pieces, ", each in %lld pieces", (long long)plan->pieces);
    snprintf(text + at, capacity - (size_t)at, "groups by %d lane%s each%s, lanes of a warp side by side in %s, %lld warps", lanes,
             lanes == 1 ? "" : "s", pieces, plan->is_across ? "neighbouring groups" : "a group", (long long)plan->grid);
}
