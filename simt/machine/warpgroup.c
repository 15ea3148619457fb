/* Registers that wgmma uses.  From wgmma.mma_async to the wait for its group they are the engine's: nobody may read or
 * write d, or write a.  What was written to them since the last wgmma.fence, wgmma may miss.  Only instructions that name
 * such registers are watched, and only in functions that have wgmma.
 *
 * Moves count as nothing but another name: compilers place constants and copies where they like, and ptxas orders them. */
#include "warpgroup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- while it runs */

struct warpgroup *simt_warpgroup_of(struct warp *warp) {
    if (!warp->warpgroup) warp->warpgroup = calloc(1, sizeof *warp->warpgroup);
    if (!warp->warpgroup) simt_launch_no_memory(warp->block->launch);
    return warp->warpgroup;
}

struct watched_register *simt_warpgroup_watched(struct warp *warp, const struct path *path) {
    struct frame *frame = path->frame;
    if (!frame->watched) frame->watched = calloc(frame->function->register_count + 1, sizeof *frame->watched);
    if (!frame->watched) simt_launch_no_memory(warp->block->launch);
    return frame->watched;
}

void simt_warpgroup_forget(struct frame *frame) {
    free(frame->watched);
    frame->watched = NULL;
}

void simt_warpgroup_clear(struct warp *warp) {
    for (struct frame *frame = warp->frames; frame; frame = frame->next) simt_warpgroup_forget(frame);
    warp->wgmma_groups = 0;
    free(warp->warpgroup);
    warp->warpgroup = NULL;
}

void simt_warpgroup_fence(struct warp *warp) {
    for (struct frame *frame = warp->frames; frame; frame = frame->next)
        for (uint32_t r = 0; frame->watched && r < frame->function->register_count; r++)
            frame->watched[r].is_written = false;
    warp->warpgroup->has_fence = true;
}

static void report(const struct warp *warp, const struct path *path, uint32_t lanes, uint32_t other_pc,
                   const char *format, const char *name, const char *verb) {
    const simt_event event = simt_event_of(warp, path, lanes);
    const simt_place *place = &warp->block->launch->view.places[other_pc];
    const uint32_t first = warp->index * warp->block->launch->view.warp_size;
    const simt_racing_access other = {.pc = other_pc, .thread = first, .block = warp->block->view.index};
    char line[24];
    snprintf(line, sizeof line, place->file ? ":%u" : "line %u", place->file ? place->line : place->ptx_line);
    simt_record_race(&event, (uint32_t)__builtin_ctz(lanes), 0, &other, format, name, verb,
                     place->file ? place->file : "", line);
}

static const char *name_of(const struct path *path, uint32_t index) { return path->frame->function->registers[index].name; }

void simt_warpgroup_use(struct warp *warp, const struct path *path, uint32_t index, bool is_input) {
    struct watched_register *of = &path->frame->watched[index];
    const uint64_t waited = warp->warpgroup->waited[0];
    if (of->is_written)
        report(warp, path, UINT32_MAX, of->written_pc,
               "wgmma may miss what register %s got%s at %s%s: wgmma.fence must stand between the two",
               name_of(path, index), "");
    else if (of->group > waited && !of->is_input && is_input)
        report(warp, path, UINT32_MAX, of->pc,
               "wgmma reads register %s as a%s, which wgmma at %s%s has not written before its group is committed and "
               "waited for (wgmma.wait_group)", name_of(path, index), "");
    of->is_written = false;
    of->group = warp->wgmma_groups + 1;
    of->pc = path->pc;
    of->is_input = is_input;
}

/* The lanes for which wgmma may still use the register. */
static uint32_t early_lanes(const struct warpgroup *group, const struct watched_register *of, uint32_t mask) {
    uint32_t early = 0;
    if (!of->group) return 0;
    SIMT_FOR_EACH_LANE (lane, mask)
        if (of->group > group->waited[lane]) early |= UINT32_C(1) << lane;
    return early;
}

static void touch(struct warp *warp, const struct path *path, uint32_t mask, uint32_t index, bool is_written) {
    struct watched_register *of = &path->frame->watched[index];
    const uint32_t early = of->is_input && !is_written ? 0 : early_lanes(warp->warpgroup, of, mask);
    if (early)
        report(warp, path, early, of->pc,
               "register %s is %s while wgmma at %s%s may still use it: its group must be committed and waited for first "
               "(wgmma.commit_group, wgmma.wait_group)",
               name_of(path, index), is_written ? "written" : "read");
    if (!is_written) return;
    of->is_written = true;
    of->written_pc = path->pc;
}

static void touch_all(struct warp *warp, const struct path *path, uint32_t mask, const struct operand *operand,
                      bool is_written) {
    if (operand->kind == OPERAND_REGISTER) touch(warp, path, mask, operand->index, is_written);
    if (operand->kind == OPERAND_ADDRESS && operand->has_base_register)
        touch(warp, path, mask, operand->index, false);
    for (uint32_t e = 0; e < operand->element_count; e++)
        touch_all(warp, path, mask, &operand->elements[e], is_written);
}

static bool has_result(const struct instruction *instruction) {
    static const char *const without[] = {"st", "sust", "sured", "red", "bra", "brx", "call", "cp", "stmatrix", "prefetch"};
    for (size_t n = 0; n < sizeof without / sizeof *without; n++)
        if (simt_is_base(instruction, without[n])) return false;
    return !(simt_is_base(instruction, "wmma") && simt_has(instruction, "store"));
}

static bool is_move(const struct instruction *instruction) {
    return simt_is_base(instruction, "mov") && instruction->operand_count == 2 &&
           instruction->operands[0].kind == OPERAND_REGISTER && instruction->operands[1].kind != OPERAND_VECTOR;
}

static void note_move(struct watched_register *registers, const struct instruction *instruction) {
    const struct operand *from = &instruction->operands[1];
    registers[instruction->operands[0].index] =
        from->kind == OPERAND_REGISTER ? registers[from->index] : (struct watched_register){0};
}

static enum outcome execute_watched(struct warp *warp, struct path *path, const struct code *code, uint32_t mask) {
    const struct instruction *instruction = code->instruction;
    if (!simt_warpgroup_watched(warp, path)) return OUTCOME_LEFT;
    if (mask && is_move(instruction)) note_move(path->frame->watched, instruction);
    else if (mask)
        for (uint32_t o = instruction->operand_count; o-- > 0;)
            touch_all(warp, path, mask, &instruction->operands[o], o == 0 && has_result(instruction));
    if (code->watched_execute) return code->watched_execute(warp, path, code, mask);
    code->watched_lanes((struct lane_operands){path->frame->registers, &code->call}, mask);
    return OUTCOME_NEXT;
}

/* ---- which instructions */

struct marks {
    bool *is_marked; /* by register */
    bool has_grown;
};

static void mark(struct marks *marks, uint32_t index) {
    marks->has_grown |= !marks->is_marked[index];
    marks->is_marked[index] = true;
}

static bool is_product(const struct instruction *instruction) {
    return simt_is_base(instruction, "wgmma") && instruction->is_known && simt_has(instruction, "mma_async");
}

/* The registers of wgmma, and what moves join them with. */
static void mark_of(struct marks *marks, const struct instruction *instruction) {
    for (uint32_t o = 0; is_product(instruction) && o < 2; o++)
        for (uint32_t e = 0; e < instruction->operands[o].element_count; e++)
            mark(marks, instruction->operands[o].elements[e].index);
    if (!is_move(instruction) || instruction->operands[1].kind != OPERAND_REGISTER) return;
    const uint32_t to = instruction->operands[0].index, from = instruction->operands[1].index;
    if (marks->is_marked[to]) mark(marks, from);
    if (marks->is_marked[from]) mark(marks, to);
}

static bool names_marked(const struct marks *marks, const struct operand *operand) {
    if (operand->kind == OPERAND_REGISTER && marks->is_marked[operand->index]) return true;
    for (uint32_t e = 0; e < operand->element_count; e++)
        if (names_marked(marks, &operand->elements[e])) return true;
    return false;
}

static void watch_code(const struct marks *marks, struct code *code) {
    bool is_marked = false;
    for (uint32_t o = 0; o < code->instruction->operand_count; o++)
        is_marked |= names_marked(marks, &code->instruction->operands[o]);
    if (!is_marked || simt_is_base(code->instruction, "wgmma")) return;
    code->watched_lanes = code->lanes;
    code->watched_execute = code->lanes ? NULL : code->execute;
    code->lanes = NULL;
    code->execute = execute_watched;
}

bool simt_warpgroup_watch(struct decoder *decoder) {
    const struct function *function = decoder->function;
    const struct instruction *instructions = decoder->image->module->instructions;
    uint32_t pc = function->begin;
    while (pc < function->end && !is_product(&instructions[pc])) pc++;
    if (pc == function->end) return true;
    struct marks marks = {calloc(function->register_count + 1, sizeof *marks.is_marked), true};
    while (marks.is_marked && marks.has_grown) {
        marks.has_grown = false;
        for (pc = function->begin; pc < function->end; pc++) mark_of(&marks, &instructions[pc]);
    }
    for (pc = function->begin; marks.is_marked && pc < function->end; pc++)
        watch_code(&marks, &decoder->image->codes[pc]);
    const bool has_memory = marks.is_marked != NULL;
    free(marks.is_marked);
    return has_memory;
}
