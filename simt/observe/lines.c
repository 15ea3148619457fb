/* Counts what every instruction costs, so that the report can add the costs up to lines of the source. */
#include <stdlib.h>

#include "observe.h"
#include "counts.h"

enum { LINE_NBYTES = 128, SECTOR_NBYTES = 32 };

/* The costs of a block, and of the launch.  A block executes few of a module's instructions: `pcs` lists them. */
struct costs {
    const simt_launch_view *view;
    simt_line *lines; /* by the pc; NULL: nothing was executed, or there is no memory */
    uint32_t *pcs;
    uint32_t pc_count;
    bool out_of_memory;
};

static void costs_clear(struct costs *costs) {
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
static simt_line *line_at(struct costs *costs, uint32_t pc) {
    if (!costs_open(costs)) return NULL;
    simt_line *line = &costs->lines[pc];
    if (!line->opcode) {
        const simt_place *place = &costs->view->places[pc];
        *line = (simt_line){
            .file = place->file, .line = place->line, .ptx_line = place->ptx_line, .opcode = place->opcode};
        costs->pcs[costs->pc_count++] = pc;
    }
    return line;
}

/* ---- what is counted ----------------------------------------------------------------------------------------- */

static void count_instruction(void *block, const simt_event *event) {
    simt_line *line = line_at(block, event->pc);
    if (!line) return;
    line->instructions++;
    line->active_lanes += lane_count(event->active);
    line->thread_instructions += lane_count(event->mask);
}

static void count_branch(void *block, const simt_event *event, uint32_t taken) {
    simt_line *line = line_at(block, event->pc);
    if (!line) return;
    line->branches++;
    line->divergent_branches += taken != 0 && taken != event->active;
}

static void count_global(simt_line *line, const simt_access *access) {
    line->global_accesses++;
    line->global_requests += simt_lines(access, LINE_NBYTES);
    line->global_sectors += simt_lines(access, SECTOR_NBYTES);
    line->global_bytes += simt_lines(access, 1);
}

static void count_shared(simt_line *line, const simt_access *access, const simt_launch_view *view) {
    uint32_t least, needed = simt_wavefronts(access, view->warp_size, view->banks, &least);
    line->shared_accesses++;
    line->shared_wavefronts += needed;
    line->shared_wavefronts_least += least;
    if (needed > line->bank_degree * least) line->bank_degree = (double)needed / least;
}

static void count_access(void *block, const simt_event *event, const simt_access *access) {
    simt_line *line = line_at(block, event->pc);
    if (!line || !access->lanes) return;
    if (access->space == SIMT_GLOBAL) count_global(line, access);
    if (access->space == SIMT_SHARED) count_shared(line, access, event->block->launch);
    if (access->kind == SIMT_ATOMIC) line->atomics += (uint64_t)lane_count(access->lanes) * access->elements;
}

static void count_shuffle(void *block, const simt_event *event, const uint8_t *sources) {
    (void)sources;
    simt_line *line = line_at(block, event->pc);
    if (line) line->shuffles++;
}

static void count_barrier(void *block, const simt_block_view *view, uint32_t barrier, uint32_t pc,
                          const uint32_t *lanes) {
    (void)view, (void)barrier, (void)lanes;
    simt_line *line = line_at(block, pc);
    if (line) line->barriers++;
}

/* ---- from blocks to the launch ------------------------------------------------------------------------------- */

static bool begin_launch(void *state, const simt_launch_view *view) {
    ((struct costs *)state)->view = view;
    return true;
}

static bool begin_block(void *launch, void *state, const simt_block_view *view) {
    (void)launch;
    ((struct costs *)state)->view = view->launch;
    return true;
}

static void end_block(void *launch, void *block, const simt_block_view *view) {
    (void)view;
    struct costs *total = launch, *costs = block;
    total->out_of_memory |= costs->out_of_memory;
    for (uint32_t i = 0; i < costs->pc_count; i++) {
        simt_line *sum = line_at(total, costs->pcs[i]);
        if (sum) simt_line_add(sum, &costs->lines[costs->pcs[i]]);
    }
    costs_clear(costs);
}

static void end_launch(void *launch, simt_report *report) {
    struct costs *costs = launch;
    if (costs->out_of_memory) simt_report_lose(report);
    for (uint32_t pc = 0; costs->lines && pc < costs->view->place_count; pc++)
        if (costs->lines[pc].opcode) simt_report_add_instruction(report, &costs->lines[pc]);
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
    .instruction = count_instruction,
    .branch = count_branch,
    .access = count_access,
    .shuffle = count_shuffle,
    .barrier = count_barrier,
};
