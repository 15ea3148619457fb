/* cp.async.bulk.tensor: a box of a tensor, row by row, between global memory and shared memory, where its rows follow one
 * another.  What lies outside the tensor is read as zeros, and not written.
 *
 * NVIDIA documents neither where the rows of a swizzled box lie that are shorter than the swizzle's span, nor what coordinates
 * are allowed, nor that a store writes all of the 16 bytes in which a row ends.  All of it is as on an H100, where the other
 * coordinates end the launch with an illegal instruction. */
#include <stdio.h>

#include "access.h"
#include "copier.h"
#include "decoder.h"
#include "element.h"
#include "lanes_ieee.h"
#include "mbarrier.h"
#include "tensor_map.h"

/* code->call.slots: the coordinates, and after them */
enum { MULTICAST = SIMT_TENSOR_RANK_MAX };

enum { BOX_ALIGNMENT = 128, CHUNK_NBYTES = 16 };

/* One lane's copy of a box. */
struct box {
    const struct copier *copier;
    simt_tensor_map map;
    uint32_t element_nbytes, row_nbytes;
    uint32_t pitch; /* from row to row in shared memory: a swizzled one takes all of the swizzle's span */
    uint64_t row_count;
    int64_t coordinates[SIMT_TENSOR_RANK_MAX];
    uint32_t offsets[SIMT_TENSOR_RANK_MAX]; /* of pixels */
    uint64_t shared, mbarrier;
    scalar_function *scalar; /* a reduction's */
};

/* ---- pieces of a row */

/* 16-byte chunks change places, by the bits of the address that tell rows of 128 bytes apart. */
static uint64_t swizzle(const struct box *box, uint64_t address) {
    static const uint64_t masks[] = {[SIMT_SWIZZLE_32] = 0x10, [SIMT_SWIZZLE_64] = 0x30, [SIMT_SWIZZLE_128] = 0x70};
    return address ^ (address >> 3 & masks[box->map.swizzle]);
}

static void reduce(const struct box *box, const struct side *to, const struct side *from) {
    bool has_changed = false;
    for (uint32_t b = 0; b < to->span.nbytes; b += box->element_nbytes)
        element_update(to->host + b, box->element_nbytes, box->scalar, element_load(from->host + b, box->element_nbytes), 0,
                       &has_changed);
}

/* What a load does to elements of tf32, flushed or not: an H200 rounds subnormal numbers like others. */
static void round_to_tf32(unsigned char *bytes, uint32_t nbytes) {
    enum { ELEMENT_NBYTES = 4 };
    for (uint32_t b = 0; b < nbytes; b += ELEMENT_NBYTES)
        element_store(bytes + b, ELEMENT_NBYTES, tf32_rn((uint32_t)element_load(bytes + b, ELEMENT_NBYTES)));
}

/* `global_nbytes`: all of them, or none outside the tensor. */
static bool move_piece(const struct box *box, uint64_t shared, uint64_t global, uint32_t nbytes, uint32_t global_nbytes) {
    const bool is_load = box->copier->code->copy.from == SIMT_GLOBAL;
    struct side in_shared = {.span = {SIMT_SHARED, shared, nbytes}};
    struct side in_global = {.span = {SIMT_GLOBAL, global, global_nbytes}};
    struct side *from = is_load ? &in_global : &in_shared, *to = is_load ? &in_shared : &in_global;
    if (!is_load && !global_nbytes) return true;
    if (!simt_side_locate(box->copier, from, false) || !simt_side_locate(box->copier, to, true)) return false;
    simt_copier_notify(box->copier, &(simt_copy){.engine = box->copier->code->copy.engine,
                                                 .lane = box->copier->lane,
                                                 .from = from->span,
                                                 .to = to->span,
                                                 .is_reduction = box->scalar != NULL,
                                                 .is_part = true,
                                                 .mbarrier = box->mbarrier});
    if (box->scalar) reduce(box, to, from);
    else simt_side_copy(to, from);
    if (is_load && simt_tensor_is_tf32(&box->map)) round_to_tf32(to->host, to->span.nbytes);
    return true;
}

/* Neighbours in the row, which a swizzle parts. */
static bool move_pieces(const struct box *box, uint64_t shared, uint64_t global, uint32_t nbytes, bool is_inside) {
    for (uint32_t done = 0, part; done < nbytes; done += part) {
        part = nbytes - done;
        const uint32_t rest = CHUNK_NBYTES - (uint32_t)((shared + done) % CHUNK_NBYTES);
        if (box->map.swizzle && part > rest) part = rest;
        if (!move_piece(box, swizzle(box, shared + done), global + done, part, is_inside ? part : 0)) return false;
    }
    return true;
}

static int64_t clamp(int64_t value, int64_t highest) { return value < 0 ? 0 : value > highest ? highest : value; }

/* `global`: the address of the row's element 0, if it is inside the tensor. */
static bool move_row(const struct box *box, uint64_t shared, uint64_t global, bool is_inside) {
    const int64_t count = box->map.box[0], x = box->coordinates[0], size = (int64_t)box->map.sizes[0];
    const uint32_t nbytes = box->element_nbytes;
    const uint32_t first = is_inside ? (uint32_t)clamp(-x, count) : 0;
    uint32_t end = is_inside ? (uint32_t)clamp(size - x, count) : 0;
    if (box->copier->code->copy.to == SIMT_GLOBAL) end = (end * nbytes + CHUNK_NBYTES - 1) / CHUNK_NBYTES * CHUNK_NBYTES / nbytes;
    if (end <= first) return move_pieces(box, shared, 0, box->row_nbytes, false);
    return move_pieces(box, shared, 0, first * nbytes, false) &&
           move_pieces(box, shared + first * nbytes, global + (uint64_t)(x + first) * nbytes, (end - first) * nbytes,
                       true) &&
           move_pieces(box, shared + end * nbytes, 0, box->row_nbytes - end * nbytes, false);
}

/* ---- the rows of a box */

/* The next pixel of the bounding box: along a row of them, then in the next one, and so on to the next image. */
static void advance(const simt_tensor_map *map, int64_t at[SIMT_TENSOR_RANK_MAX]) {
    for (uint32_t d = 1; d < map->rank - 1u; d++) {
        at[d] += map->box[1 + d];
        if (at[d] < (int64_t)map->sizes[d] + simt_tensor_corner(map, d - 1, true)) return;
        at[d] = simt_tensor_corner(map, d - 1, false);
    }
    at[map->rank - 1]++;
}

static bool move_pixels(const struct box *box) {
    int64_t at[SIMT_TENSOR_RANK_MAX];
    memcpy(at, box->coordinates, sizeof at);
    for (uint32_t pixel = 0; pixel < box->map.box[1]; pixel++, advance(&box->map, at)) {
        bool is_inside = true;
        uint64_t global = box->map.address;
        for (uint32_t d = 1; d < box->map.rank; d++) {
            const int64_t position = at[d] + box->offsets[d];
            is_inside &= position >= 0 && position < (int64_t)box->map.sizes[d];
            global += (uint64_t)position * box->map.stride_bytes[d];
        }
        if (!move_row(box, box->shared + (uint64_t)pixel * box->pitch, global, is_inside)) return false;
    }
    return true;
}

static bool move_rows(const struct box *box) {
    uint32_t at[SIMT_TENSOR_RANK_MAX] = {0}, d;
    uint64_t shared = box->shared;
    do {
        bool is_inside = true;
        uint64_t global = box->map.address;
        for (d = 1; d < box->map.rank; d++) {
            const int64_t position = box->coordinates[d] + at[d];
            is_inside &= position >= 0 && position < (int64_t)box->map.sizes[d];
            global += (uint64_t)position * box->map.stride_bytes[d];
        }
        if (!move_row(box, shared, global, is_inside)) return false;
        shared += box->pitch;
        for (d = 1; d < box->map.rank && ++at[d] == box->map.box[d]; d++) at[d] = 0;
    } while (d < box->map.rank);
    return true;
}

/* All of the box is in shared memory, wherever the tensor ends: so there are not too many rows, either. */
static bool check_shared(const struct box *box) {
    const struct copier *copier = box->copier;
    const uint64_t nbytes = (box->row_count - 1) * box->pitch + box->row_nbytes;
    struct side side = {.span = {SIMT_SHARED, box->shared, (uint32_t)nbytes}};
    if (box->shared % BOX_ALIGNMENT)
        return simt_copier_stop(copier, SIMT_FINDING_MISALIGNED, box->shared,
                                "the address in shared memory of a tensor copy must be a multiple of 128");
    if (nbytes > UINT32_MAX)
        return simt_copier_stop(copier, SIMT_FINDING_BOUNDS, box->shared, "the box of the tensor map has over 2^32 bytes");
    return simt_side_locate(copier, &side, copier->code->copy.to == SIMT_SHARED);
}

static bool move_box(const struct box *box) {
    const struct copier *copier = box->copier;
    simt_copy copy = {.engine = copier->code->copy.engine,
                      .lane = copier->lane,
                      .from.space = copier->code->copy.from,
                      .to = {copier->code->copy.to, box->shared, (uint32_t)(box->row_count * box->row_nbytes)},
                      .mbarrier = box->mbarrier};
    struct side mbarrier = {.span = {SIMT_SHARED, box->mbarrier, MBARRIER_NBYTES}};
    if (!check_shared(box)) return false;
    if (copy.engine == SIMT_ENGINE_MBARRIER && !simt_side_complete(copier, &copy, &mbarrier)) return false;
    if (!(box->map.is_im2col ? move_pixels(box) : move_rows(box))) return false;
    copy.to.nbytes = 0; /* its parts have been told of */
    simt_copier_notify(copier, &copy);
    return true;
}

static bool move_to_targets(const struct box *box) {
    const struct copier *copier = box->copier;
    if (!copier->code->copy.is_multicast) return move_box(box);
    uint32_t targets = (uint32_t)lane_get(slot_lanes(copier->path, copier->code->call.slots[MULTICAST]),
                                          copier->code->widths[MULTICAST], copier->lane) & UINT16_MAX;
    const uint32_t count = copier->warp->block->cluster ? copier->warp->block->cluster->count : 1;
    if (targets >> count)
        return simt_copier_stop(copier, SIMT_FINDING_BOUNDS, 0,
                                "a multicast copy to a block that the cluster does not have");
    if (count == 1) return !targets || move_box(box);
    const uint64_t offset = (UINT64_C(1) << SIMT_RANK_SHIFT) - 1;
    SIMT_FOR_EACH_LANE (rank, targets) {
        struct box there = *box;
        there.shared = (box->shared & offset) | (uint64_t)(rank + 1) << SIMT_RANK_SHIFT;
        there.mbarrier = (box->mbarrier & offset) | (uint64_t)(rank + 1) << SIMT_RANK_SHIFT;
        if (!move_box(&there)) return false;
    }
    return true;
}

/* ---- the instruction */

static bool read_map(struct box *box, uint64_t address) {
    const struct copier *copier = box->copier;
    const uint32_t rank = copier->code->copy.rank;
    const unsigned char *bytes = simt_generic_bytes(copier->warp, copier->lane, address, SIMT_TENSOR_MAP_NBYTES);
    char what[96];
    if (!bytes || !simt_tensor_map_read(bytes, &box->map))
        return simt_copier_stop(copier, SIMT_FINDING_BOUNDS, address,
                                "there is no tensor map here: cuTensorMapEncodeTiled makes one, which a kernel gets as a "
                                "__grid_constant__ parameter, or in constant or global memory");
    snprintf(what, sizeof what, "a copy of %u dimensions by a tensor map of %u", rank, box->map.rank);
    if (box->map.rank != rank) return simt_copier_stop(copier, SIMT_FINDING_BOUNDS, address, what);
    return box->map.is_im2col == copier->code->copy.is_im2col ||
           simt_copier_stop(copier, SIMT_FINDING_BOUNDS, address,
                            box->map.is_im2col ? "a copy of a box by a tensor map for im2col (cuTensorMapEncodeIm2col)"
                                               : "a copy in an im2col mode by a tensor map for boxes (cuTensorMapEncodeTiled)");
}

static bool find_reduction(struct box *box) {
    const struct copier *copier = box->copier;
    if (!copier->code->copy.operation) return true;
    if (simt_tensor_has_reductions(&box->map))
        box->scalar = simt_scalar_find(copier->code->copy.operation, simt_tensor_type(&box->map));
    return box->scalar || simt_copier_stop(copier, SIMT_FINDING_UNSUPPORTED, 0,
                                           "a reduction that elements of the tensor map's type do not have");
}

static bool check_coordinates(const struct box *box) {
    const struct copier *copier = box->copier;
    const bool is_load = copier->code->copy.from == SIMT_GLOBAL;
    char what[176];
    if (box->coordinates[0] * box->element_nbytes % CHUNK_NBYTES) {
        snprintf(what, sizeof what,
                 "a tensor copy that begins at element %lld of a row, of %u bytes each: it must begin at a multiple of 16 bytes",
                 (long long)box->coordinates[0], box->element_nbytes);
        return simt_copier_stop(copier, SIMT_FINDING_MISALIGNED, box->shared, what);
    }
    for (uint32_t d = 0; !is_load && d < box->map.rank; d++) {
        const bool has_edge = box->map.is_im2col && d >= 1 && d < box->map.rank - 1u;
        if (has_edge && (simt_tensor_corner(&box->map, d - 1, false) < 0 || simt_tensor_corner(&box->map, d - 1, true) > 0))
            return simt_copier_stop(copier, SIMT_FINDING_BOUNDS, box->shared,
                                    "a store by a tensor map whose bounding box (pixelBoxLowerCorner and -UpperCorner) is larger "
                                    "than the image: only loads may leave it");
        if (box->coordinates[d] >= 0) continue;
        snprintf(what, sizeof what, "a store or reduction by a tensor map begins at %lld of dimension %u: only loads may begin "
                                    "before the tensor", (long long)box->coordinates[d], d);
        return simt_copier_stop(copier, SIMT_FINDING_BOUNDS, box->shared, what);
    }
    return true;
}

static bool copy_lane(const struct copier *copier, uint64_t map, uint64_t shared, uint64_t mbarrier) {
    struct box box = {.copier = copier, .shared = shared, .mbarrier = mbarrier, .row_count = 1};
    if (!read_map(&box, map) || !find_reduction(&box)) return false;
    box.element_nbytes = simt_tensor_element_nbytes(&box.map);
    box.row_nbytes = box.map.box[0] * box.element_nbytes;
    box.pitch = box.map.swizzle ? simt_tensor_swizzle_nbytes(&box.map) : box.row_nbytes;
    for (uint32_t d = 0; d < box.map.rank; d++) {
        box.coordinates[d] = ((const int32_t *)slot_lanes(copier->path, copier->code->call.slots[d]))[copier->lane];
        if (d == 1 || (d && !box.map.is_im2col)) box.row_count *= box.map.box[d];
    }
    if (!check_coordinates(&box)) return false;
    for (uint32_t d = 1; copier->code->copy.has_offsets && d < box.map.rank - 1u; d++)
        box.offsets[d] = (uint32_t)lane_get(slot_lanes(copier->path, copier->code->copy.offsets[d - 1]), WIDTH_16, copier->lane);
    return move_to_targets(&box);
}

static enum outcome execute_tensor(struct warp *warp, struct path *path, const struct code *code, uint32_t mask) {
    struct copier copier = {warp, path, code, mask, 0};
    struct copy_operands operands;
    simt_copy_operands(path, code, &operands);
    SIMT_FOR_EACH_LANE (lane, mask) {
        copier.lane = lane;
        if (!copy_lane(&copier, operands.from[lane], operands.to[lane], operands.mbarriers[lane])) return OUTCOME_LEFT;
    }
    return OUTCOME_NEXT;
}

/* [tensor map, {coordinates}] */
static bool decode_place(struct decoder *decoder, struct code *code, const struct operand *operand) {
    const struct operand *coordinates = &operand->elements[1];
    code->copy.rank = coordinates->element_count;
    for (uint32_t d = 0; d < coordinates->element_count; d++)
        if (!simt_operand(decoder, &coordinates->elements[d], TYPE_S32, &code->call.slots[d])) return false;
    return simt_address(decoder, &operand->elements[0], &code->copy.source);
}

static bool decode_offsets(struct decoder *decoder, struct code *code, const struct operand *operand) {
    code->copy.has_offsets = true;
    for (uint32_t d = 0; d < operand->element_count; d++)
        if (!simt_operand(decoder, &operand->elements[d], TYPE_U16, &code->copy.offsets[d])) return false;
    return true;
}

/* [to], [map, {..}], [mbarrier]{, {offsets}}{, blocks}{, policy}, or [map, {..}], [from]{, policy} */
bool simt_decode_tensor(struct decoder *decoder, struct code *code) {
    const struct instruction *instruction = decoder->instruction;
    const struct operand *operands = instruction->operands;
    const bool is_load = !simt_has(instruction, "bulk_group");
    code->execute = execute_tensor;
    code->copy.engine = is_load ? SIMT_ENGINE_MBARRIER : SIMT_ENGINE_BULK_GROUP;
    code->copy.from = is_load ? SIMT_GLOBAL : SIMT_SHARED;
    code->copy.to = is_load ? SIMT_SHARED : SIMT_GLOBAL;
    code->copy.is_multicast = simt_has(instruction, "multicast::cluster");
    if (simt_has(instruction, "reduce"))
        for (uint32_t m = 0; m < instruction->modifier_count && !code->copy.operation; m++)
            if (simt_scalar_find(instruction->modifiers[m], TYPE_U32) || simt_scalar_find(instruction->modifiers[m], TYPE_B32))
                code->copy.operation = instruction->modifiers[m];
    const bool has_offsets = simt_has(instruction, "im2col");
    code->copy.is_im2col = has_offsets || simt_has(instruction, "im2col_no_offs");
    if (has_offsets && !decode_offsets(decoder, code, &operands[3])) return false;
    if (code->copy.is_multicast) {
        const struct operand *blocks = &operands[3 + has_offsets];
        code->widths[MULTICAST] = simt_operand_width(decoder, blocks, WIDTH_16);
        if (!simt_operand(decoder, blocks, TYPE_U16, &code->call.slots[MULTICAST])) return false;
    }
    return decode_place(decoder, code, &operands[is_load]) &&
           simt_address(decoder, &operands[!is_load], &code->memory.address) &&
           (!is_load || simt_address(decoder, &operands[2], &code->copy.mbarrier));
}
