/* The tree of a warp's paths: how lanes part, meet, call, return and exit. */
#include <stdlib.h>
#include <string.h>

#include "undefined.h"

enum {
    FRAMES_NBYTES_MAX = 1 << 28,
    CALL_NBYTES = 32 /* of a thread's stack, for each call besides its variables */
};

/* ---- the list of leaves: the first runs first */

static void leaf_link(struct warp *warp, struct path *path) {
    path->previous = NULL;
    path->next = warp->leaves;
    if (path->next) path->next->previous = path;
    else warp->last_leaf = path;
    warp->leaves = path;
}

static void leaf_unlink(struct warp *warp, struct path *path) {
    if (path->previous) path->previous->next = path->next;
    else warp->leaves = path->next;
    if (path->next) path->next->previous = path->previous;
    else warp->last_leaf = path->previous;
    path->previous = path->next = NULL;
}

void simt_path_rotate(struct warp *warp, struct path *path) {
    if (!path->next) return;
    leaf_unlink(warp, path);
    path->previous = warp->last_leaf;
    path->previous->next = path;
    warp->last_leaf = path;
}

static struct path *path_create(struct warp *warp, const struct path *like, uint32_t mask, uint32_t pc) {
    struct path *path = warp->free_paths;
    if (path) warp->free_paths = path->next;
    else path = malloc(sizeof *path);
    if (!path) {
        simt_launch_no_memory(warp->block->launch);
        return NULL;
    }
    *path = *like;
    path->mask = mask;
    path->pc = pc;
    path->children = 0;
    path->state = PATH_READY;
    path->waiting_lanes = 0;
    path->has_waited_enough = false;
    path->is_let_go = false;
    leaf_link(warp, path);
    return path;
}

static void path_free(struct warp *warp, struct path *path) {
    path->next = warp->free_paths;
    warp->free_paths = path;
}

/* ---- parting and meeting */

struct path *simt_path_split(struct warp *warp, struct path *path, uint32_t lanes) {
    struct path *sibling = path_create(warp, path, lanes, path->pc);
    if (!sibling) return NULL;
    path->mask &= ~lanes;
    if (path->parent) path->parent->children++;
    return sibling;
}

static bool child_create(struct warp *warp, struct path *parent, uint32_t mask, uint32_t pc) {
    struct path *child = path_create(warp, parent, mask, pc);
    if (!child) return false;
    child->parent = parent;
    child->reconvergence = parent->pc;
    child->is_callee = false;
    parent->children++;
    return true;
}

/* Lanes of `taken` go to `target`, the others to `next`; all meet at `reconvergence`.  Where the path itself leads
 * there, its lanes part into siblings (a loop would else nest a level each time round), and those that are there
 * already just leave it: its parent waits for them. */
bool simt_path_part(struct warp *warp, struct path *path, uint32_t taken, uint32_t target, uint32_t next,
                    uint32_t reconvergence) {
    uint32_t others = path->mask & ~taken;
    if (target == reconvergence && next == reconvergence) { /* nobody has anything to do before they meet */
        path->pc = reconvergence;
        return true;
    }
    struct path *node = reconvergence == path->reconvergence && path->parent ? path->parent : path;
    node->parted_at = path->pc;
    node->has_parted = true;
    if (reconvergence == path->reconvergence && reconvergence != NO_PC) {
        path->pc = next;
        if (target == reconvergence) path->mask = others;
        else if (next == reconvergence) {
            path->mask = taken;
            path->pc = target;
        } else {
            struct path *sibling = simt_path_split(warp, path, taken);
            if (!sibling) return false;
            sibling->pc = target;
            simt_path_rotate(warp, sibling);
        }
        return true;
    }
    leaf_unlink(warp, path);
    path->state = PATH_PARTED;
    path->pc = reconvergence;
    bool is_parted = (target == reconvergence || child_create(warp, path, taken, target)) &&
                     (next == reconvergence || child_create(warp, path, others, next));
    if (!is_parted && !path->children) leaf_link(warp, path); /* nobody else would know of it at the end */
    return is_parted;
}

/* The path's lanes are where it leads, or have left.  Parents for which it was the last continue, or arrive too. */
void simt_path_arrive(struct warp *warp, struct path *path) {
    leaf_unlink(warp, path);
    for (;;) {
        struct path *parent = path->parent;
        path_free(warp, path);
        if (!parent || --parent->children) return;
        path = parent;
        path->state = PATH_READY;
        if (path->mask && path->pc != path->reconvergence) {
            leaf_link(warp, path);
            return;
        }
    }
}

static bool can_merge(const struct path *a, const struct path *b) {
    return a->pc == b->pc && a->parent == b->parent && a->frame == b->frame && a->state == b->state &&
           a->reconvergence == b->reconvergence && a->barrier == b->barrier;
}

void simt_path_merge(struct warp *warp, struct path *path) {
    for (struct path *other = warp->leaves, *next; other; other = next) {
        next = other->next;
        if (other == path || !can_merge(path, other)) continue;
        path->mask |= other->mask;
        path->waiting_lanes |= other->waiting_lanes;
        leaf_unlink(warp, other);
        if (path->parent) path->parent->children--;
        path_free(warp, other);
    }
}

/* Lanes that an inner node, not that of a call, holds back because others have not arrived. */
static uint32_t lanes_held(const struct warp *warp, const struct path *node) {
    uint32_t below = 0;
    for (const struct path *leaf = warp->leaves; leaf; leaf = leaf->next)
        for (const struct path *up = leaf; up; up = up->parent)
            if (up->parent == node) below |= up->mask;
    return node->mask & ~below;
}

static bool is_return(const struct warp *warp, const struct path *node) {
    const char *base = warp->block->launch->image->codes[node->pc].instruction->base;
    return !node->frame->caller && (strcmp(base, "ret") == 0 || strcmp(base, "exit") == 0);
}

bool simt_path_release_waiting(struct warp *warp, bool only_returns) {
    for (struct path *leaf = warp->leaves; leaf; leaf = leaf->next)
        for (struct path *below = leaf, *node; (node = below->parent); below = node) {
            if (below->is_callee || node->pc == NO_PC || node->pc >= node->frame->function->end) continue;
            uint32_t held = only_returns && !is_return(warp, node) ? 0 : lanes_held(warp, node);
            if (!held) continue;
            node->mask &= ~held;
            if (node->pc == node->reconvergence) return true; /* the parent's turn, then */
            if (!path_create(warp, node, held, node->pc)) return false;
            if (node->parent) node->parent->children++;
            return true;
        }
    return false;
}

/* ---- calls */

static size_t frame_nbytes(const struct layout *layout) {
    return layout->registers_nbytes + SIMT_LANES * (size_t)layout->parameters_nbytes;
}

static size_t registers_capacity(const struct layout *layout) { return (layout->registers_nbytes + 63) / 64 * 64; }

static struct spares *spares_of(const struct warp *warp) { return &warp->block->launch->machine->spares; }

static void frame_destroy(const struct warp *warp, struct frame *frame) {
    simt_warpgroup_forget(frame);
    simt_undefined_forget(frame);
    simt_spares_give(spares_of(warp), frame->registers, registers_capacity(frame->layout));
    free(frame->parameters);
    free(frame);
}

static void frames_destroy(const struct warp *warp, struct frame *frame) {
    for (struct frame *next; frame; frame = next) {
        next = frame->next;
        frame_destroy(warp, frame);
    }
}

static void left_frames_destroy(struct warp *warp) {
    frames_destroy(warp, warp->left_frames);
    warp->left_frames = NULL;
    warp->left_frames_nbytes = 0;
}

/* A frame that is left is kept for the next call of its function, as far as a little memory goes: calls in a loop ask
 * for no memory, and have theirs where it was in the round before, by which a loop is known to repeat itself.  Where
 * there is no room, those of earlier calls make it, of a deep recursion say, which may never come again.  All warps of
 * a cooperative grid have theirs at once. */
static void frame_free(struct warp *warp, struct frame *frame) {
    enum { KEPT_NBYTES_MAX = 1 << 17 };
    const size_t nbytes = frame_nbytes(frame->layout);
    struct frame **link = &warp->frames;
    while (*link && *link != frame) link = &(*link)->next;
    if (*link) *link = frame->next;
    simt_warpgroup_forget(frame);
    simt_undefined_forget(frame);
    warp->frames_nbytes -= nbytes;
    if (warp->left_frames_nbytes + nbytes > KEPT_NBYTES_MAX) left_frames_destroy(warp);
    if (nbytes > KEPT_NBYTES_MAX) {
        frame_destroy(warp, frame);
        return;
    }
    warp->left_frames_nbytes += nbytes;
    frame->next = warp->left_frames;
    warp->left_frames = frame;
}

static struct frame *frame_take_left(struct warp *warp, const struct layout *layout) {
    struct frame **link = &warp->left_frames, *frame;
    while (*link && (*link)->layout != layout) link = &(*link)->next;
    frame = *link;
    if (!frame) return NULL;
    *link = frame->next;
    warp->left_frames_nbytes -= frame_nbytes(layout);
    return frame;
}

static size_t parameters_capacity(const struct layout *layout) {
    return SIMT_LANES * (size_t)(layout->parameters_nbytes ? layout->parameters_nbytes : 1);
}

static struct frame *frame_allocate(const struct warp *warp, const struct layout *layout) {
    struct frame *frame = calloc(1, sizeof *frame);
    if (!frame) return NULL;
    frame->layout = layout;
    frame->registers = simt_spares_take(spares_of(warp), registers_capacity(layout));
    frame->parameters = malloc(parameters_capacity(layout));
    if (frame->registers && frame->parameters) return frame;
    frame_destroy(warp, frame);
    return NULL;
}

static struct frame *frame_create(struct warp *warp, const struct function *function) {
    const struct layout *layout = simt_layout(warp->block->launch->image, function);
    struct frame *frame = frame_take_left(warp, layout);
    if (!frame) frame = frame_allocate(warp, layout);
    if (!frame) return NULL;
    *frame = (struct frame){.function = function,
                            .layout = layout,
                            .registers = frame->registers,
                            .parameters = frame->parameters};
    memset(frame->registers, 0, registers_capacity(layout));
    memset(frame->parameters, 0, parameters_capacity(layout));
    warp->frames_nbytes += frame_nbytes(layout);
    simt_presets_begin_frame(warp, frame);
    frame->next = warp->frames;
    warp->frames = frame;
    return frame;
}

/* Local memory for a frame above `base`.  What no thread has written is no result: ones, not zeros, which often would be. */
bool simt_local_reserve(struct warp *warp, uint64_t end) {
    if (end <= warp->local_capacity) return true;
    size_t capacity = 2 * end + 256;
    unsigned char *grown = malloc(SIMT_LANES * capacity);
    if (!grown) return false;
    memset(grown, 0xff, SIMT_LANES * capacity);
    for (size_t l = 0; l < SIMT_LANES && warp->local; l++)
        memcpy(grown + l * capacity, warp->local + l * warp->local_capacity, warp->local_capacity);
    free(warp->local);
    warp->local = grown;
    warp->local_capacity = capacity;
    return true;
}

static bool is_too_deep(const struct warp *warp, const struct frame *frame) {
    return warp->frames_nbytes > FRAMES_NBYTES_MAX ||
           frame->local_base + frame->layout->locals_nbytes + frame->depth * CALL_NBYTES > SIMT_STACK_NBYTES;
}

/* An argument or result as its caller has it: a .param variable of its body, which lies in its frame; a register; a
 * constant; or nothing.  The verifier made sure that it has the size of the parameter that it is
 * passed as. */
static unsigned char *passed_bytes(const struct image *image, const struct frame *frame, const struct operand *operand,
                                   uint32_t lane) {
    return frame->parameters + lane * frame->layout->parameters_nbytes +
           simt_variable_address(image, operand->variable);
}

static size_t least(size_t a, size_t b) { return a < b ? a : b; }

/* Of a register of 128 bits the second half follows. */
static uint32_t register_halves(const struct frame *frame, uint32_t index) {
    return frame->function->registers[index].type == TYPE_B128 ? HALVES : 1;
}

static unsigned char *register_half(const struct frame *frame, uint32_t index, uint32_t half) {
    return frame->registers + frame->layout->registers[index] + half * HALF_REGISTER;
}

void simt_passed_read(const struct image *image, const struct frame *frame, const struct operand *operand,
                      uint32_t lane, void *bytes, size_t nbytes) {
    uint64_t values[HALVES] = {operand->bits};
    if (operand->kind == OPERAND_ADDRESS) {
        memcpy(bytes, passed_bytes(image, frame, operand, lane), least(nbytes, operand->variable->nbytes));
        return;
    }
    for (uint32_t h = 0; operand->kind == OPERAND_REGISTER && h < register_halves(frame, operand->index); h++)
        values[h] = lane_get(register_half(frame, operand->index, h),
                             simt_width(frame->function->registers[operand->index].type), lane);
    memcpy(bytes, values, least(nbytes, sizeof values));
}

void simt_passed_write(const struct image *image, const struct frame *frame, const struct operand *operand,
                       uint32_t lane, const void *bytes, size_t nbytes) {
    uint64_t values[HALVES] = {0};
    if (operand->kind == OPERAND_ADDRESS) {
        memcpy(passed_bytes(image, frame, operand, lane), bytes, least(nbytes, operand->variable->nbytes));
    } else if (operand->kind == OPERAND_REGISTER) {
        memcpy(values, bytes, least(nbytes, sizeof values));
        for (uint32_t h = 0; h < register_halves(frame, operand->index); h++)
            lane_set(register_half(frame, operand->index, h),
                     simt_width(frame->function->registers[operand->index].type), lane, values[h]);
    }
}

/* The place of a function's parameter or result in its own frame. */
static unsigned char *own_bytes(const struct image *image, const struct frame *frame, const struct variable *variable,
                                uint32_t lane) {
    return frame->parameters + lane * frame->layout->parameters_nbytes + simt_variable_address(image, variable);
}

/* A call is (results), callee, (arguments). */
static void pass_arguments(const struct image *image, const struct code *code, struct frame *outer,
                           struct frame *inner, uint32_t lanes) {
    const struct operand *list = &code->instruction->operands[code->callee.place + 1];
    for (uint32_t p = 0; p < inner->function->parameter_count; p++) {
        const struct variable *parameter = inner->function->parameters[p];
        SIMT_FOR_EACH_LANE (lane, lanes)
            simt_passed_read(image, outer, &list->elements[p], lane, own_bytes(image, inner, parameter, lane),
                             parameter->nbytes);
    }
}

static void copy_inputs(struct warp *warp, const struct frame *frame) {
    SIMT_FOR_EACH_LANE (lane, frame->lanes)
        memcpy(warp->local + lane * warp->local_capacity + frame->local_base + frame->layout->copy_offset,
               frame->parameters + lane * frame->layout->parameters_nbytes, frame->function->parameter_nbytes);
}

static void pass_results(const struct image *image, struct frame *inner, uint32_t lanes) {
    const struct operand *list = &inner->call->instruction->operands[0];
    for (uint32_t r = 0; r < inner->function->result_count; r++) {
        const struct variable *result = inner->function->results[r];
        SIMT_FOR_EACH_LANE (lane, lanes)
            simt_passed_write(image, inner->caller, &list->elements[r], lane, own_bytes(image, inner, result, lane),
                              result->nbytes);
    }
}

/* Behind what the lanes use of their local memory: their variables, and what they have taken by alloca. */
static uint64_t locals_end(const struct frame *frame, uint32_t lanes) {
    enum { ALIGNMENT = 16 };
    uint64_t taken = 0;
    SIMT_FOR_EACH_LANE (lane, frame->has_taken ? lanes : 0)
        if (frame->taken[lane] > taken) taken = frame->taken[lane];
    return frame->local_base + frame->layout->locals_nbytes + (taken + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* The path becomes an inner node that waits at the instruction after the call; a child executes the function. */
bool simt_path_call(struct warp *warp, struct path *path, const struct code *code, uint32_t mask,
                    const struct function *function) {
    simt_event event = simt_event_of(warp, path, mask);
    struct frame *outer = path->frame, *inner = frame_create(warp, function);
    if (inner) inner->local_base = locals_end(outer, mask);
    if (inner) inner->depth = outer->depth + 1;
    if (inner && is_too_deep(warp, inner)) {
        simt_record_finding(&event, SIMT_FINDING_RUNAWAY, (uint32_t)__builtin_ctz(mask), 0,
                            "the stack of a thread, %d bytes, is full after %u calls within each other: let a recursion end "
                            "earlier, or make it a loop with an array of what is left to do",
                            SIMT_STACK_NBYTES, (unsigned)inner->depth);
        simt_stop(&event);
        frame_free(warp, inner);
        return false;
    }
    if (!inner || !simt_local_reserve(warp, inner->local_base + inner->layout->locals_nbytes)) {
        if (inner) frame_free(warp, inner);
        simt_launch_no_memory(warp->block->launch);
        return false;
    }
    inner->caller = outer;
    inner->call = code;
    inner->lanes = mask;
    pass_arguments(warp->block->launch->image, code, outer, inner, mask);
    if (inner->layout->copies_inputs) copy_inputs(warp, inner);
    struct path *child = path_create(warp, path, mask, function->begin);
    if (!child) {
        frame_free(warp, inner);
        return false;
    }
    child->parent = path;
    child->frame = inner;
    child->reconvergence = NO_PC;
    child->is_callee = true;
    leaf_unlink(warp, path);
    path->state = PATH_PARTED;
    path->pc++;
    path->children = 1;
    return true;
}

static void frame_leave(struct warp *warp, struct frame *frame, uint32_t lanes) {
    frame->lanes &= ~lanes;
    if (!frame->lanes && frame->caller) frame_free(warp, frame);
}

void simt_path_return(struct warp *warp, struct path *path, uint32_t lanes) {
    struct frame *frame = path->frame;
    if (!frame->caller) {
        simt_path_exit(warp, path, lanes);
        return;
    }
    pass_results(warp->block->launch->image, frame, lanes);
    for (struct path *node = path;; node = node->parent) {
        node->mask &= ~lanes;
        if (node->is_callee) break;
    }
    frame_leave(warp, frame, lanes);
    if (!path->mask) simt_path_arrive(warp, path);
}

void simt_path_exit(struct warp *warp, struct path *path, uint32_t lanes) {
    for (struct path *node = path; node; node = node->parent) node->mask &= ~lanes;
    for (struct frame *frame = path->frame, *caller; frame; frame = caller) {
        caller = frame->caller;
        frame_leave(warp, frame, lanes);
    }
    warp->live &= ~lanes;
    warp->block->live_threads -= lane_count(lanes);
    if (!path->mask) simt_path_arrive(warp, path);
}

/* ---- beginning and end */

/* The kernel's own frame serves all blocks that the warp executes one after another. */
bool simt_paths_start(struct warp *warp, uint32_t lanes) {
    const struct launch *launch = warp->block->launch;
    if (warp->frames) simt_presets_begin_block(warp, warp->frames);
    else if (!frame_create(warp, launch->function) || !simt_local_reserve(warp, warp->frames->layout->locals_nbytes)) {
        simt_launch_no_memory(warp->block->launch);
        return false;
    }
    warp->frames->lanes = lanes;
    const struct path root = {.frame = warp->frames, .reconvergence = NO_PC};
    return path_create(warp, &root, lanes, launch->function->begin) != NULL;
}

/* Ends all paths, of a warp that has ended or was stopped anywhere; the kernel's frame stays. */
void simt_paths_clear(struct warp *warp) {
    while (warp->leaves) {
        struct path *path = warp->leaves;
        leaf_unlink(warp, path);
        while (path) {
            struct path *parent = path->parent;
            path_free(warp, path);
            path = parent && --parent->children == 0 ? parent : NULL;
        }
    }
    while (warp->frames && warp->frames->caller) frame_free(warp, warp->frames);
    simt_warpgroup_clear(warp);
    simt_undefined_clear(warp);
}

void simt_paths_free(struct warp *warp) {
    simt_paths_clear(warp);
    frames_destroy(warp, warp->frames);
    left_frames_destroy(warp);
    warp->frames = NULL;
    while (warp->free_paths) {
        struct path *path = warp->free_paths;
        warp->free_paths = path->next;
        free(path);
    }
    free(warp->local);
    warp->local = NULL;
    warp->local_capacity = 0;
}
