/* alloca, stacksave and stackrestore: memory of a thread's stack that a function takes while it runs, above its variables. */
#include <string.h>

#include "decoder.h"

enum { POINTER, SIZE, ALIGNMENT_PLACE }; /* operands of alloca */
enum { ALIGNMENT_LEAST = 8 };

static uint64_t stack_begin(const struct frame *frame) { return frame->local_base + frame->layout->locals_nbytes; }

static enum outcome refuse(struct warp *warp, struct path *path, uint32_t lane, const char *what, uint64_t number) {
    simt_event event = simt_event_of(warp, path, UINT32_C(1) << lane);
    simt_record_finding(&event, SIMT_FINDING_BOUNDS, lane, 0, what, (unsigned long long)number, SIMT_STACK_NBYTES);
    simt_stop(&event);
    return OUTCOME_LEFT;
}

/* What is taken anew has no value yet: ones, as in all local memory. */
static void clear(struct warp *warp, uint32_t lane, uint64_t begin, uint64_t end) {
    if (begin == end) return; /* there may be no local memory yet */
    memset(warp->local + lane * warp->local_capacity + begin, 0xff, end - begin);
}

static enum outcome execute_alloca(struct warp *warp, struct path *path, const struct code *code, uint32_t mask) {
    struct frame *frame = path->frame;
    unsigned char *pointers = slot_lanes(path, code->call.slots[POINTER]), *sizes = slot_lanes(path, code->call.slots[SIZE]);
    const uint64_t alignment = code->stack.alignment;
    frame->has_taken = true;
    SIMT_FOR_EACH_LANE (lane, mask) {
        const uint64_t size = lane_get(sizes, code->widths[0], lane), top = stack_begin(frame) + frame->taken[lane];
        const uint64_t begin = (top + alignment - 1) & ~(alignment - 1);
        if (size > SIMT_STACK_NBYTES || begin > SIMT_STACK_NBYTES - size)
            return refuse(warp, path, lane, "takes %llu bytes of the stack (alloca): a thread's has %d bytes", size);
        if (!simt_local_reserve(warp, begin + size)) {
            simt_launch_no_memory(warp->block->launch);
            return OUTCOME_LEFT;
        }
        clear(warp, lane, top, begin + size);
        frame->taken[lane] = (uint32_t)(begin + size - stack_begin(frame));
        lane_set(pointers, code->widths[0], lane, begin);
    }
    return OUTCOME_NEXT;
}

static enum outcome execute_save(struct warp *warp, struct path *path, const struct code *code, uint32_t mask) {
    (void)warp;
    SIMT_FOR_EACH_LANE (lane, mask)
        lane_set(slot_lanes(path, code->call.slots[0]), code->widths[0], lane,
                 stack_begin(path->frame) + path->frame->taken[lane]);
    return OUTCOME_NEXT;
}

/* What was taken since is gone. */
static enum outcome execute_restore(struct warp *warp, struct path *path, const struct code *code, uint32_t mask) {
    struct frame *frame = path->frame;
    SIMT_FOR_EACH_LANE (lane, mask) {
        const uint64_t top = lane_get(slot_lanes(path, code->call.slots[0]), code->widths[0], lane);
        if (top - stack_begin(frame) > frame->taken[lane])
            return refuse(warp, path, lane, "restores a stack that the function did not have (0x%llx)", top);
        frame->taken[lane] = (uint32_t)(top - stack_begin(frame));
    }
    return OUTCOME_NEXT;
}

/* alloca.TYPE pointer, size{, alignment} */
static bool decode_alloca(struct decoder *decoder, struct code *code) {
    const struct instruction *instruction = decoder->instruction;
    const struct operand *operands = instruction->operands;
    const enum type type = simt_last_type(instruction);
    const uint64_t asked = instruction->operand_count > ALIGNMENT_PLACE ? operands[ALIGNMENT_PLACE].bits : 0;
    code->execute = execute_alloca;
    code->widths[0] = simt_width(type);
    code->stack.alignment = asked > ALIGNMENT_LEAST ? asked : ALIGNMENT_LEAST;
    return simt_operand(decoder, &operands[POINTER], type, &code->call.slots[POINTER]) &&
           simt_operand(decoder, &operands[SIZE], type, &code->call.slots[SIZE]);
}

/* stacksave.TYPE pointer and stackrestore.TYPE pointer */
static bool decode_pointer(struct decoder *decoder, struct code *code) {
    const struct instruction *instruction = decoder->instruction;
    const enum type type = simt_last_type(instruction);
    code->execute = simt_is_base(instruction, "stacksave") ? execute_save : execute_restore;
    code->widths[0] = simt_width(type);
    return simt_operand(decoder, &instruction->operands[0], type, &code->call.slots[0]);
}

const struct instruction_kind simt_stack_kinds[] = {
    {"alloca", decode_alloca}, {"stacksave", decode_pointer}, {"stackrestore", decode_pointer}, {NULL, NULL}};
