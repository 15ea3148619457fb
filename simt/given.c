/* What stands in a frame before its function runs: constants, special registers, the kernel's parameters.  To an
 * instruction they are registers like any other. */
#include <stdlib.h>
#include <string.h>

#include "machine.h"

uint64_t simt_extend(uint64_t value, uint32_t nbytes) {
    uint32_t shift = 64 - 8 * nbytes;
    return (uint64_t)((int64_t)(value << shift) >> shift);
}

static bool is_same(const struct given *a, const struct given *b) {
    return a->kind == b->kind && a->width == b->width && a->bits == b->bits && a->nbytes == b->nbytes &&
           a->is_signed == b->is_signed;
}

static bool reserve(struct layout *layout) {
    if (layout->given_count < layout->given_capacity) return true;
    uint32_t capacity = 2 * layout->given_capacity + 16;
    struct given *grown = realloc(layout->givens, capacity * sizeof *grown);
    if (!grown) return false;
    layout->givens = grown;
    layout->given_capacity = capacity;
    return true;
}

/* Of the latest only: a table of constants must not take the square of its length to decode. */
struct given *simt_given_find(struct layout *layout, const struct given *given) {
    enum { SEARCHED = 64, FRAME_NBYTES_MAX = 1 << 28 };
    for (uint32_t g = layout->given_count, left = SEARCHED; g-- > 0 && left-- > 0;)
        if (is_same(&layout->givens[g], given)) return &layout->givens[g];
    if (layout->registers_nbytes > FRAME_NBYTES_MAX || !reserve(layout)) return NULL;
    struct given *added = &layout->givens[layout->given_count++];
    *added = *given;
    added->slot = (slot)layout->registers_nbytes;
    size_t nbytes = simt_width_nbytes(given->width);
    layout->registers_nbytes += (nbytes + LANE_ALIGNMENT - 1) / LANE_ALIGNMENT * LANE_ALIGNMENT;
    return added;
}

/* ---- values */

static void fill(void *lanes, enum width width, uint64_t bits) {
    if (width == WIDTH_PREDICATE) *(uint32_t *)lanes = bits ? UINT32_MAX : 0;
    else if (width == WIDTH_16)
        for (uint32_t lane = 0; lane < SIMT_LANES; lane++) ((uint16_t *)lanes)[lane] = (uint16_t)bits;
    else if (width == WIDTH_32)
        for (uint32_t lane = 0; lane < SIMT_LANES; lane++) ((uint32_t *)lanes)[lane] = (uint32_t)bits;
    else
        for (uint32_t lane = 0; lane < SIMT_LANES; lane++) ((uint64_t *)lanes)[lane] = bits;
}

static uint64_t parameter(const struct launch *launch, const struct given *given) {
    uint64_t value = 0;
    memcpy(&value, launch->parameters + given->bits, given->nbytes);
    return given->is_signed ? simt_extend(value, given->nbytes) : value;
}

static void begin(const struct warp *warp, const struct given *given, void *lanes) {
    switch (given->kind) {
    case GIVEN_CONSTANT: fill(lanes, given->width, given->bits); break;
    case GIVEN_PARAMETER: fill(lanes, given->width, parameter(warp->block->launch, given)); break;
    case GIVEN_SPECIAL:
        if (simt_special_is_of_block(given->bits))
            fill(lanes, given->width, simt_special_value(warp, given->bits, 0));
        else
            for (uint32_t lane = 0; lane < SIMT_LANES; lane++)
                lane_set(lanes, given->width, lane, simt_special_value(warp, given->bits, lane));
    }
}

void simt_givens_begin_frame(const struct warp *warp, const struct frame *frame) {
    for (uint32_t g = 0; g < frame->layout->given_count; g++) {
        const struct given *given = &frame->layout->givens[g];
        begin(warp, given, frame->registers + given->slot);
    }
}

void simt_givens_begin_block(const struct warp *warp, const struct frame *frame) {
    for (uint32_t g = 0; g < frame->layout->given_count; g++) {
        const struct given *given = &frame->layout->givens[g];
        if (given->kind == GIVEN_SPECIAL && simt_special_is_of_block(given->bits))
            begin(warp, given, frame->registers + given->slot);
    }
}
