/* From instructions as the text has them to what the simulator executes: each name finds the functions that decode and
 * execute it. */
#include <string.h>

#include "warpgroup.h"

/* ---- instructions */

/* What does the same. */
static const char *instead_of(const struct instruction *instruction) {
    static const struct {
        const char *base, *modifier, *instead;
    } others[] = {
        {"multimem", "", ": it needs memory of several GPUs as cuMulticastCreate() makes it; load, store or add to each peer's copy instead"},
        {"mma", "sp", ": mma of all elements of the matrix, zeros among them, does the same"},
        {"mma", "sp::ordered_metadata", ": mma of all elements of the matrix, zeros among them, does the same"},
        {"wgmma", "b1", ": mma.sync of single bits (.b1 with .and.popc) gives the same sums"},
        {"tcgen05", "", ": it is of GPUs from compute capability 10.0 on; compile for one that --gpu names"},
        {"clusterlaunchcontrol", "", ": it is of GPUs from compute capability 10.0 on; compile for one that --gpu names"},
    };
    for (size_t o = 0; o < sizeof others / sizeof *others; o++)
        if (simt_is_base(instruction, others[o].base) && (!*others[o].modifier || simt_has(instruction, others[o].modifier)))
            return others[o].instead;
    return "";
}

static enum outcome execute_unsupported(struct warp *warp, struct path *path, const struct code *code,
                                        uint32_t mask) {
    simt_event event = simt_event_of(warp, path, mask);
    simt_record_finding(&event, SIMT_FINDING_UNSUPPORTED, (uint32_t)__builtin_ctz(mask), 0,
                        "the simulator does not know the instruction '%s'%s", code->instruction->opcode, instead_of(code->instruction));
    simt_stop(&event);
    return OUTCOME_LEFT;
}

static bool decode_kind(const struct instruction_kind *kinds, struct decoder *decoder, struct code *code,
                        bool *is_known) {
    for (; kinds->base; kinds++)
        if (simt_is_word(kinds->base, decoder->instruction->base)) {
            *is_known = true;
            return kinds->decode(decoder, code);
        }
    return false;
}

/* The verifier made sure that the operands are sound wherever it knows the instruction. */
static bool decode_instruction(struct decoder *decoder, struct code *code) {
    if (!decoder->instruction->is_known) return false;
    const struct instruction_kind *const kinds[] = {simt_control_kinds, simt_memory_kinds, simt_warp_kinds,
                                                    simt_barrier_kinds, simt_move_kinds, simt_mbarrier_kinds,
                                                    simt_copy_kinds, simt_cluster_kinds, simt_matrix_kinds,
                                                    simt_texture_kinds, simt_surface_kinds, simt_wgmma_kinds,
                                                    simt_tensor_map_kinds, simt_stack_kinds};
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        bool is_known = false;
        bool is_decoded = decode_kind(kinds[k], decoder, code, &is_known);
        if (is_known) return is_decoded;
    }
    return simt_decode_lanes(decoder, code);
}

/* Branches do not matter here: a path runs until it is at its own post-dominator. */
static void find_straight(struct image *image, const struct function *function) {
    for (uint32_t pc = function->begin; pc < function->end; pc++) {
        uint32_t point = image->codes[pc].reconvergence;
        if (point >= function->begin && point < function->end) image->codes[point].is_reconvergence_point = true;
    }
    for (uint32_t pc = function->end; pc-- > function->begin;) {
        struct code *code = &image->codes[pc];
        bool goes_on = pc + 1 < function->end && !code[1].is_reconvergence_point && code[1].straight < UINT8_MAX;
        if (code->lanes && !code->has_guard && !code->is_approximate)
            code->straight = (uint8_t)(1 + (goes_on ? code[1].straight : 0));
    }
}

bool simt_decode(struct image *image, const struct function *function) {
    struct layout *layout = &image->layouts[simt_layout(image, function) - image->layouts];
    struct decoder decoder = {.image = image, .function = function, .layout = layout};
    for (uint32_t pc = function->begin; pc < function->end; pc++) {
        const struct instruction *instruction = &image->module->instructions[pc];
        struct code *code = &image->codes[pc];
        decoder.instruction = instruction;
        decoder.pc = pc;
        if (!decode_instruction(&decoder, code))
            *code = (struct code){.execute = execute_unsupported};
        code->instruction = instruction;
        code->reconvergence = instruction->reconvergence;
        code->is_approximate = image->module->places[pc].approximate;
        if (instruction->guard >= 0) {
            code->has_guard = true;
            code->guard_is_negated = instruction->guard_is_negated;
            code->guard = decoder.layout->registers[instruction->guard];
        }
        if (decoder.out_of_memory) return false;
    }
    if (!simt_warpgroup_watch(&decoder)) return false;
    find_straight(image, function);
    return true;
}
