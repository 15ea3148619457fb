/* What a frame holds before its function runs: constants, special registers, the kernel's parameters.  To an
 * instruction they are registers like any other. */
#include <stdlib.h>
#include <string.h>

#include "machine.h"

uint64_t simt_extend(uint64_t value, uint32_t nbytes) {
    uint32_t shift = 64 - 8 * nbytes;
    return (uint64_t)((int64_t)(value << shift) >> shift);
}

static bool is_same(const struct preset *a, const struct preset *b) {
    return a->kind == b->kind && a->width == b->width && a->bits == b->bits && a->nbytes == b->nbytes &&
           a->is_signed == b->is_signed;
}

static bool reserve(struct layout *layout) {
    if (layout->preset_count < layout->preset_capacity) return true;
    uint32_t capacity = 2 * layout->preset_capacity + 16;
    struct preset *grown = realloc(layout->presets, capacity * sizeof *grown);
    if (!grown) return false;
    layout->presets = grown;
    layout->preset_capacity = capacity;
    return true;
}

/* Searches only the latest presets: otherwise a long table of constants would take quadratic time to decode. */
struct preset *simt_preset_find(struct layout *layout, const struct preset *preset) {
    enum { SEARCHED = 64 };
    for (uint32_t g = layout->preset_count, left = SEARCHED; g-- > 0 && left-- > 0;)
        if (is_same(&layout->presets[g], preset)) return &layout->presets[g];
    if (layout->registers_nbytes > FRAME_NBYTES_MAX || !reserve(layout)) return NULL;
    struct preset *added = &layout->presets[layout->preset_count++];
    *added = *preset;
    added->slot = (slot)layout->registers_nbytes;
    size_t nbytes = simt_width_nbytes(preset->width);
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

static uint64_t parameter(const struct launch *launch, const struct preset *preset) {
    uint64_t value = 0;
    memcpy(&value, launch->parameters + preset->bits, preset->nbytes);
    return preset->is_signed ? simt_extend(value, preset->nbytes) : value;
}

static void begin(const struct warp *warp, const struct preset *preset, void *lanes) {
    switch (preset->kind) {
    case PRESET_CONSTANT: fill(lanes, preset->width, preset->bits); break;
    case PRESET_PARAMETER: fill(lanes, preset->width, parameter(warp->block->launch, preset)); break;
    case PRESET_SPECIAL:
        if (simt_special_is_of_block(preset->bits))
            fill(lanes, preset->width, simt_special_value(warp, preset->bits, 0));
        else
            for (uint32_t lane = 0; lane < SIMT_LANES; lane++)
                lane_set(lanes, preset->width, lane, simt_special_value(warp, preset->bits, lane));
    }
}

void simt_presets_begin_frame(const struct warp *warp, const struct frame *frame) {
    for (uint32_t g = 0; g < frame->layout->preset_count; g++) {
        const struct preset *preset = &frame->layout->presets[g];
        begin(warp, preset, frame->registers + preset->slot);
    }
}

void simt_presets_begin_block(const struct warp *warp, const struct frame *frame) {
    for (uint32_t g = 0; g < frame->layout->preset_count; g++) {
        const struct preset *preset = &frame->layout->presets[g];
        if (preset->kind == PRESET_SPECIAL && simt_special_is_of_block(preset->bits))
            begin(warp, preset, frame->registers + preset->slot);
    }
}
