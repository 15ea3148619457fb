/* Counts what every instruction costs, so that the report can add the costs up to lines of the source. */
#include <stdlib.h>
#include <string.h>

#include "observe.h"
#include "counts.h"
#include "cures.h"
#include "span.h"

enum { SECTOR_NBYTES = 32, WORD_NBYTES = 4 };

struct cost {
    simt_line line;
    simt_line_least least;
    simt_line_cures cures;
    simt_line_rows rows;
    struct packed_branch *branch; /* of a block, as the next */
    struct block_atomics *atomics;
};

/* The costs of a block, and of the launch.  A block executes few of a module's instructions: `pcs` lists them. */
struct costs {
    const simt_launch_view *view;
    struct cost *lines; /* by the pc; NULL: nothing was executed, or there is no memory */
    uint32_t *pcs;
    uint32_t pc_count;
    uint32_t barrier_pc; /* the last, if has_barrier and it has not been found idle */
    bool has_barrier, is_idle; /* nothing was accessed since */
    bool out_of_memory;
};

static void costs_clear(struct costs *costs) {
    for (uint32_t i = 0; i < costs->pc_count; i++) {
        simt_packed_branch_destroy(costs->lines[costs->pcs[i]].branch);
        simt_block_atomics_destroy(costs->lines[costs->pcs[i]].atomics);
    }
    costs->pc_count = 0;
    free(costs->lines);
    free(costs->pcs);
    costs->lines = NULL;
    costs->pcs = NULL;
}

static bool costs_open(struct costs *costs) {
    if (costs->lines || costs->out_of_memory) return costs->lines;
    costs->lines = calloc(costs->view->place_count, sizeof *costs->lines);
    costs->pcs = calloc(costs->view->place_count, sizeof *costs->pcs);
    costs->out_of_memory = !costs->lines || !costs->pcs;
    if (costs->out_of_memory) costs_clear(costs);
    return costs->lines;
}

/* NULL: no memory. */
static struct cost *cost_at(struct costs *costs, uint32_t pc) {
    if (!costs_open(costs)) return NULL;
    struct cost *cost = &costs->lines[pc];
    if (!cost->line.opcode) {
        const simt_place *place = &costs->view->places[pc];
        cost->line = (simt_line){
            .file = place->file, .line = place->line, .ptx_line = place->ptx_line, .opcode = place->opcode};
        costs->pcs[costs->pc_count++] = pc;
    }
    return cost;
}

static simt_line *line_at(struct costs *costs, uint32_t pc) {
    struct cost *cost = cost_at(costs, pc);
    return cost ? &cost->line : NULL;
}

/* ---- what is counted ----------------------------------------------------------------------------------------- */

static void count_executed(void *block, uint32_t pc, const simt_executed *executed) {
    simt_line *line = line_at(block, pc);
    if (!line) return;
    line->instructions += executed->instructions;
    line->active_lanes += executed->active_lanes;
    line->thread_instructions += executed->thread_instructions;
}

static void count_branch(void *block, const simt_event *event, uint32_t taken) {
    struct costs *costs = block;
    struct cost *cost = cost_at(costs, event->pc);
    if (!cost) return;
    cost->line.branches++;
    cost->line.divergent_branches += taken != 0 && taken != event->active;
    costs->out_of_memory |= !simt_packed_branch_note(&cost->branch, event, taken);
}

/* How far the lanes of an access are from one another. */
static uint64_t lane_stride(const simt_access *access) {
    uint32_t first = first_lane(access->lanes), last = last_lane(access->lanes);
    if (access->has_stride) return access->stride;
    const uint64_t *addresses = access->addresses, stride = addresses[first + 1] - addresses[first];
    for (uint32_t lane = first; lane < last; lane++)
        if ((access->lanes >> lane & 3) != 3 || addresses[lane + 1] - addresses[lane] != stride) return SIMT_STRIDE_VARIES;
    return stride;
}

static void count_global(struct cost *cost, const simt_access *access) {
    simt_line *line = &cost->line;
    simt_line_least *least = &cost->least;
    uint32_t pieces[SIMT_PIECES];
    simt_pieces(access, pieces);
    const uint32_t nbytes = pieces[SIMT_PIECE_BYTE];
    const uint32_t sectors = (nbytes + SECTOR_NBYTES - 1) / SECTOR_NBYTES;
    if (pieces[SIMT_PIECE_SECTOR] > sectors + 1) simt_stride_join(&least->lane_stride, lane_stride(access));
    line->global_accesses++;
    line->global_requests += pieces[SIMT_PIECE_LINE];
    line->global_sectors += pieces[SIMT_PIECE_SECTOR];
    least->global_sectors_least += sectors;
    line->global_bytes += nbytes;
}

/* How far most active lanes' addresses are from the next one's, of those that differ: a row's length, where lanes access a
 * column of it.  0: they have no distance in common. */
static uint64_t row_nbytes(const simt_access *access) {
    uint32_t pairs = 0, alike = 0;
    uint64_t row = 0, previous = access->addresses[first_lane(access->lanes)];
    for (uint32_t lanes = access->lanes & (access->lanes - 1); lanes; lanes &= lanes - 1) {
        const uint64_t address = access->addresses[first_lane(lanes)];
        const uint64_t distance = address > previous ? address - previous : previous - address;
        previous = address;
        if (!row) row = distance;
        pairs += distance != 0;
        alike += distance && distance == row;
    }
    return 2 * alike >= pairs ? row : 0;
}

/* The wavefronts of the access if shared memory had that many bytes of padding after every row. */
static uint32_t padded_wavefronts(const simt_access *access, const simt_launch_view *view, uint64_t row, uint32_t nbytes) {
    uint64_t addresses[SIMT_LANES];
    uint32_t least;
    simt_access padded = *access;
    for (uint32_t lane = 0; lane < SIMT_LANES; lane++)
        addresses[lane] = access->addresses[lane] + access->addresses[lane] / row * nbytes;
    padded.addresses = addresses;
    padded.has_stride = false;
    return simt_wavefronts(&padded, view->warp_size, view->banks, &least);
}

/* Padding that is no multiple of the access would misalign it. */
static void pad_rows(simt_line_rows *rows, const simt_access *access, const simt_launch_view *view, uint32_t needed,
                     uint32_t least) {
    const uint64_t row = needed > least ? row_nbytes(access) : 0;
    const bool is_other = rows->nbytes && rows->nbytes != row;
    if (needed > least && !row) rows->scattered_wavefronts += needed - least;
    if (needed > least) rows->nbytes = is_other || !row ? SIMT_ROW_VARIES : row;
    for (uint32_t i = 0; i < SIMT_ROW_PADDINGS; i++) {
        const uint32_t nbytes = SIMT_ROW_PADDING_NBYTES(i);
        const bool is_padded = row && rows->nbytes == row && nbytes % lane_nbytes(access) == 0;
        rows->wavefronts[i] += is_padded ? padded_wavefronts(access, view, row, nbytes) : needed;
    }
}

static void count_shared(struct cost *cost, const simt_access *access, const simt_launch_view *view) {
    simt_line *line = &cost->line;
    uint32_t least, needed = simt_wavefronts(access, view->warp_size, view->banks, &least);
    line->shared_accesses++;
    line->shared_wavefronts += needed;
    line->shared_wavefronts_least += least;
    for (uint32_t i = 0; i < SIMT_PADDINGS; i++)
        cost->least.shared_wavefronts_padded[i] +=
            needed > least ? padded_wavefronts(access, view, WORD_NBYTES * SIMT_PADDED_WORDS(i), WORD_NBYTES) : needed;
    pad_rows(&cost->rows, access, view, needed, least);
    if (needed > line->bank_degree * least) line->bank_degree = (double)needed / least;
}

/* Exchanges depend on what was there. */
static bool is_exchange(const char *opcode) { return strstr(opcode, ".cas") || strstr(opcode, ".exch"); }

/* Lanes whose atomics one could do for all. */
static uint32_t distinct_addresses(const simt_access *access) {
    uint32_t count = 0;
    for (uint32_t rest = access->lanes; rest; count++) {
        const uint64_t address = access->addresses[first_lane(rest)];
        for (uint32_t lanes = rest; lanes; lanes &= lanes - 1)
            if (access->addresses[first_lane(lanes)] == address) rest &= ~(1u << first_lane(lanes));
    }
    return count;
}

static void count_access(void *block, const simt_event *event, const simt_access *access) {
    struct costs *costs = block;
    struct cost *cost = cost_at(costs, event->pc);
    if (!cost || !access->lanes) return;
    if (access->space == SIMT_GLOBAL) count_global(cost, access);
    if (access->space == SIMT_SHARED) count_shared(cost, access, event->block->launch);
    if (access->space == SIMT_GLOBAL || access->space == SIMT_SHARED) costs->is_idle = false;
    if (access->kind != SIMT_ATOMIC) return;
    const uint64_t count = (uint64_t)lane_count(access->lanes) * access->elements;
    cost->line.atomics += count;
    if (is_exchange(cost->line.opcode) || access->elements > 1) {
        cost->least.atomics_least += count;
        cost->cures.atomics_by_block += count;
        return;
    }
    cost->least.atomics_least += distinct_addresses(access);
    costs->out_of_memory |= !simt_block_atomics_note(&cost->atomics, access);
}

static void count_shuffle(void *block, const simt_event *event, const uint8_t *sources) {
    (void)sources;
    simt_line *line = line_at(block, event->pc);
    if (line) line->shuffles++;
}

static void count_barrier(void *block, const simt_block_view *view, uint32_t barrier, uint32_t pc,
                          const uint32_t *lanes) {
    (void)barrier, (void)lanes;
    struct costs *costs = block;
    struct cost *cost = cost_at(costs, pc);
    if (!cost) return;
    const bool has_result = strstr(view->launch->places[pc].opcode, ".red"); /* __syncthreads_count() and the like */
    cost->line.barriers++;
    cost->least.idle_barriers += costs->is_idle && !has_result;
    costs->has_barrier = !costs->is_idle && !has_result;
    costs->barrier_pc = pc;
    costs->is_idle = true;
}

static void note_copy(void *block, const simt_event *event, const simt_copy *copy) {
    (void)event, (void)copy;
    ((struct costs *)block)->is_idle = false;
}

static void note_mbarrier(void *block, const simt_event *event, const simt_mbarrier *operation) {
    (void)event, (void)operation;
    ((struct costs *)block)->is_idle = false;
}

/* ---- from blocks to the launch ------------------------------------------------------------------------------- */

static bool begin_launch(void *state, const simt_launch_view *view) {
    ((struct costs *)state)->view = view;
    return true;
}

static bool begin_block(void *launch, void *state, const simt_block_view *view) {
    (void)launch;
    ((struct costs *)state)->view = view->launch;
    ((struct costs *)state)->is_idle = true;
    return true;
}

/* What is known of the whole block only. */
static void finish_cost(struct cost *cost, const simt_launch_view *view) {
    cost->cures.divergent_branches_packed += simt_packed_branch_count(cost->branch, view->warp_size);
    cost->cures.atomics_by_block += simt_block_atomics_count(cost->atomics);
}

static void end_block(void *launch, void *block, const simt_block_view *view) {
    struct costs *total = launch, *costs = block;
    if (costs->lines && costs->has_barrier && costs->is_idle) costs->lines[costs->barrier_pc].least.idle_barriers++;
    total->out_of_memory |= costs->out_of_memory;
    for (uint32_t i = 0; i < costs->pc_count; i++) {
        struct cost *cost = &costs->lines[costs->pcs[i]];
        finish_cost(cost, view->launch);
        struct cost *sum = cost_at(total, costs->pcs[i]);
        if (!sum) continue;
        simt_line_add(&sum->line, &cost->line);
        simt_line_add_least(&sum->least, &cost->least);
        sum->cures.divergent_branches_packed += cost->cures.divergent_branches_packed;
        sum->cures.atomics_by_block += cost->cures.atomics_by_block;
        simt_line_add_rows(&sum->rows, &cost->rows);
    }
    costs_clear(costs);
}

static void end_launch(void *launch, simt_report *report) {
    struct costs *costs = launch;
    if (costs->out_of_memory) simt_report_lose(report);
    for (uint32_t pc = 0; costs->lines && pc < costs->view->place_count; pc++) {
        const struct cost *cost = &costs->lines[pc];
        if (cost->line.opcode && simt_report_add_costs(report, &cost->line, &cost->least))
            simt_report_add_cures(report, &cost->line, &cost->cures, &cost->rows);
    }
    costs_clear(costs);
}

const struct simt_observer simt_observe_lines = {
    .name = "lines",
    .launch_nbytes = sizeof(struct costs),
    .block_nbytes = sizeof(struct costs),
    .launch_begin = begin_launch,
    .launch_end = end_launch,
    .block_begin = begin_block,
    .block_end = end_block,
    .executed = count_executed,
    .branch = count_branch,
    .access = count_access,
    .shuffle = count_shuffle,
    .barrier = count_barrier,
    .copy = note_copy,
    .mbarrier = note_mbarrier,
};
