/* wgmma: four warps multiply 64 rows of a with b.  Each warp has 16 rows of a and d, and does its part when it comes; b it
 * reads whole.  The products are made at once, but are the engine's until the warp has committed them and waited: what
 * then touches their registers, warpgroup.c finds; what their shared memory, the observer of races.  The four wait for one
 * another where they wait for a group, since after that everybody may count on all of them. */
#include <string.h>

#include "access.h"
#include "collective.h"
#include "element.h"
#include "warpgroup.h"

enum { DESCRIPTOR_A, DESCRIPTOR_B, ADDS, METADATA }; /* slots */
enum { DEPTH_MAX = WGMMA_SPARSE_DEPTH_MAX, COLUMNS_MAX = 256, CHUNK_NBYTES = 16, CHUNK_ELEMENTS_MAX = 16, REGISTERS_MAX = 4 };

/* ---- who takes part */

static bool stop(const struct collective *collective, enum simt_finding_kind kind, uint64_t address, const char *what,
                 unsigned long long number, unsigned long long limit) {
    simt_event event = simt_event_of(collective->warp, collective->path, collective->lanes);
    simt_record_finding(&event, kind, (uint32_t)__builtin_ctz(collective->lanes), address, what, number, limit);
    simt_stop(&event);
    return false;
}

static bool stop_part(const struct collective *collective) {
    const struct lane_text lanes = lane_text(collective->lanes);
    char what[160];
    snprintf(what, sizeof what, "%s of warp %u execute%s wgmma, which takes all 128 threads of a warpgroup", lanes.text,
             (unsigned)collective->warp->index, lanes.s);
    return stop(collective, SIMT_FINDING_BARRIER, 0, what, 0, 0);
}

static bool is_warpgroup(const struct collective *collective) {
    const uint32_t first = collective->warp->index / WGMMA_WARPS * WGMMA_WARPS;
    const uint32_t count = collective->warp->block->warp_count;
    if (collective->lanes != UINT32_MAX)
        return stop_part(collective);
    if (count - first < WGMMA_WARPS)
        return stop(collective, SIMT_FINDING_BARRIER, 0,
                    "wgmma takes the four warps from warp %llu on, and the block has %llu: its threads must be a "
                    "multiple of 128", first, count);
    return true;
}

/* ---- a and b in shared memory */

/* Neighbouring chunks, told to the observers as one. */
struct reader {
    const struct collective *collective;
    struct block *block;
    simt_span span;
    bool is_unwritten;
    uint32_t unwritten;
};

static void tell(struct reader *reader) {
    const struct collective *collective = reader->collective;
    const simt_event event = simt_event_of(collective->warp, collective->path, UINT32_MAX);
    const simt_copy copy = {.engine = SIMT_ENGINE_WGMMA, .from = reader->span, .to = {.space = SIMT_SHARED}, .is_part = true};
    if (reader->span.nbytes) SIMT_NOTIFY(reader->block->launch, reader->block, copy, &event, &copy);
    reader->span.nbytes = 0;
}

static const unsigned char *read_chunk(struct reader *reader, uint32_t address) {
    const uint64_t limit = reader->block->launch->view.shared_nbytes;
    if (address + CHUNK_NBYTES > limit) {
        stop(reader->collective, SIMT_FINDING_BOUNDS, address,
             "wgmma reads 16 bytes of shared memory at byte %llu of %llu, by its descriptor", address, limit);
        return NULL;
    }
    if (reader->span.nbytes && reader->span.address + reader->span.nbytes != address) tell(reader);
    if (!reader->span.nbytes) reader->span = (simt_span){SIMT_SHARED, address, 0};
    reader->span.nbytes += CHUNK_NBYTES;
    const unsigned char *written = reader->block->shared_written;
    if (written && !reader->is_unwritten && !written[address] && !written[address + CHUNK_NBYTES - 1]) {
        reader->is_unwritten = true;
        reader->unwritten = address;
    }
    return reader->block->shared + address;
}

/* Rows of a or columns of b, `count` of them from `first` on: elements[outer * outer_stride + depth * depth_stride]. */
struct part {
    struct matrix_place place;
    uint32_t first, count, depth, nbytes; /* nbytes: of an element */
    uint32_t outer_stride, depth_stride;
};

static bool read_part(struct reader *reader, const struct part *part, uint64_t *elements) {
    const bool is_outer = part->place.is_outer_contiguous;
    const uint32_t chunk = part->place.chunk_elements;
    const uint32_t outer_step = is_outer ? chunk : 1, depth_step = is_outer ? 1 : chunk;
    for (uint32_t outer = 0; outer < part->count; outer += outer_step)
        for (uint32_t depth = 0; depth < part->depth; depth += depth_step) {
            const uint32_t address = simt_matrix_address(&part->place, part->first + outer, depth);
            const unsigned char *bytes = read_chunk(reader, address);
            if (!bytes) return false;
            uint64_t *to = elements + outer * part->outer_stride + depth * part->depth_stride;
            for (uint32_t e = 0; e < chunk; e++)
                to[e * (is_outer ? part->outer_stride : part->depth_stride)] =
                    element_load(bytes + e * part->nbytes, part->nbytes);
        }
    return true;
}

static uint64_t descriptor_of(const struct collective *collective, uint32_t which) {
    return lane_get(slot_lanes(simt_path_of(collective, 0), collective->code->call.slots[which]), WIDTH_64, 0);
}

static struct part part_of(const struct collective *collective, enum matrix_role role) {
    const struct wgmma_code *wgmma = &collective->code->wgmma;
    const struct fragment *a = &wgmma->shape.product.fragments[MATRIX_A];
    const bool is_a = role == MATRIX_A;
    const uint32_t nbytes = simt_element_bits(wgmma->shape.product.fragments[role].element) / 8;
    return (struct part){
        .place = {descriptor_of(collective, is_a ? DESCRIPTOR_A : DESCRIPTOR_B), CHUNK_NBYTES / nbytes,
                  is_a ? wgmma->a_is_transposed : wgmma->b_is_transposed},
        .first = is_a ? collective->warp->index % WGMMA_WARPS * WGMMA_ROWS : 0,
        .count = is_a ? WGMMA_ROWS : wgmma->shape.columns,
        .depth = is_a ? a->columns : wgmma->shape.product.fragments[MATRIX_B].rows,
        .nbytes = nbytes,
        .outer_stride = is_a ? a->columns : 1,
        .depth_stride = is_a ? 1 : COLUMNS_MAX};
}

/* ---- registers */

/* PTX ISA, "Matrix Fragments for wgmma.mma_async": as mma has them, eight columns after eight. */
static slot register_slot(const struct collective *collective, uint32_t operand, uint32_t number) {
    const struct operand *vector = &collective->code->instruction->operands[operand];
    const struct operand *one = vector->kind == OPERAND_VECTOR ? &vector->elements[number] : vector;
    return collective->path->frame->layout->registers[one->index];
}

static uint32_t *register_lane(const struct collective *collective, slot slot, uint32_t lane) {
    return (uint32_t *)slot_lanes(simt_path_of(collective, lane), slot) + lane;
}

/* Moves the elements of a fragment in `registers` from number `first` on, row after row. */
static void move_fragment(const struct collective *collective, enum matrix_role role, uint32_t first, uint64_t *elements,
                          bool is_written) {
    const struct fragment *fragment = &collective->code->wgmma.shape.product.fragments[role];
    const uint32_t bits = simt_element_bits(fragment->element), packed = simt_register_elements(fragment);
    const uint32_t operand = role == MATRIX_A ? 1 : 0;
    for (uint32_t index = 0; index < fragment->registers; index++) {
        const slot slot = register_slot(collective, operand, first + index);
        for (uint32_t lane = 0; lane < SIMT_LANES; lane++) {
            uint32_t *of_lane = register_lane(collective, slot, lane), value = 0;
            for (uint32_t e = 0; e < packed; e++) {
                const struct matrix_cell at = simt_matrix_cell(fragment, role, lane, index, e);
                uint64_t *element = &elements[at.row * fragment->columns + at.column];
                if (is_written) value |= (uint32_t)*element << (e * bits);
                else *element = *of_lane >> (e * bits) & (uint32_t)(UINT64_MAX >> (64 - bits));
            }
            if (is_written) *of_lane = value;
        }
    }
}

static bool use_registers_of(const struct collective *collective, const struct path *path) {
    const struct instruction *instruction = collective->code->instruction;
    if (!simt_warpgroup_watched(collective->warp, path)) return false;
    for (uint32_t o = 0; o < 2; o++)
        for (uint32_t e = 0; e < instruction->operands[o].element_count; e++)
            simt_warpgroup_use(collective->warp, path, instruction->operands[o].elements[e].index, o == 1);
    return true;
}

/* Lanes that have called the function apart have a frame each. */
static bool use_registers(const struct collective *collective) {
    struct warpgroup *group = simt_warpgroup_of(collective->warp);
    if (!group) return false;
    if (!group->has_fence) {
        const simt_event event = simt_event_of(collective->warp, collective->path, UINT32_MAX);
        simt_record_finding(&event, SIMT_FINDING_RACE, 0, 0,
                            "no wgmma.fence stands before the first wgmma of the warp, which may miss what its registers "
                            "got before");
        simt_warpgroup_fence(collective->warp);
    }
    for (const struct frame *frame = collective->warp->frames; frame; frame = frame->next)
        for (uint32_t lane = 0; lane < SIMT_LANES; lane++) {
            const struct path *path = simt_path_of(collective, lane);
            if (path->frame != frame) continue;
            if (!use_registers_of(collective, path)) return false;
            break;
        }
    return true;
}

/* ---- mma_async */

static void say_unwritten(const struct reader *reader) {
    const simt_event event = simt_event_of(reader->collective->warp, reader->collective->path, UINT32_MAX);
    if (reader->is_unwritten)
        simt_record_finding(&event, SIMT_FINDING_UNINITIALISED, 0, reader->unwritten,
                            "wgmma reads 16 bytes of shared memory at byte %u, which nothing has written",
                            reader->unwritten);
}

static bool read_factors(const struct collective *collective, uint64_t *a, uint64_t *b) {
    struct reader reader = {.collective = collective, .block = collective->warp->block};
    const struct wgmma_code *wgmma = &collective->code->wgmma;
    const struct part a_part = part_of(collective, MATRIX_A), b_part = part_of(collective, MATRIX_B);
    const struct fragment *fragment = &wgmma->shape.product.fragments[MATRIX_A];
    if (wgmma->a_is_in_registers) move_fragment(collective, MATRIX_A, 0, a, false);
    else if (!read_part(&reader, &a_part, a)) return false;
    tell(&reader);
    if (!read_part(&reader, &b_part, b)) return false;
    tell(&reader);
    say_unwritten(&reader);
    const uint64_t sign = UINT64_C(1) << (simt_element_bits(fragment->element) - 1);
    for (uint32_t e = 0; wgmma->is_negative && e < (uint32_t)fragment->rows * fragment->columns; e++) a[e] ^= sign;
    return true;
}

/* NULL: a is whole. */
static const uint8_t *find_columns(const struct collective *collective, uint8_t *columns) {
    const struct wgmma_code *wgmma = &collective->code->wgmma;
    uint32_t metadata[SIMT_LANES];
    if (!wgmma->shape.product.chunk) return NULL;
    for (uint32_t lane = 0; lane < SIMT_LANES; lane++) metadata[lane] = *register_lane(collective, collective->code->call.slots[METADATA], lane);
    simt_sparse_columns(&wgmma->shape.product, metadata, wgmma->selector, columns);
    return columns;
}

static void multiply(struct collective *collective) {
    const struct wgmma_code *wgmma = &collective->code->wgmma;
    const struct fragment *fragments = wgmma->shape.product.fragments;
    uint64_t a[WGMMA_ROWS * DEPTH_MAX], b[DEPTH_MAX * COLUMNS_MAX], part[DEPTH_MAX * WGMMA_COLUMNS];
    uint64_t sums[WGMMA_ROWS * WGMMA_COLUMNS];
    uint8_t columns[WGMMA_ROWS * DEPTH_MAX];
    if (!is_warpgroup(collective) || !use_registers(collective) || !read_factors(collective, a, b)) return;
    const uint8_t *by_a = find_columns(collective, columns);
    const bool adds = *(const uint32_t *)slot_lanes(simt_path_of(collective, 0), collective->code->call.slots[ADDS]) & 1;
    for (uint32_t column = 0; column < wgmma->shape.columns; column += WGMMA_COLUMNS) {
        const uint32_t first = column / WGMMA_COLUMNS * fragments[MATRIX_D].registers;
        for (uint32_t k = 0; k < fragments[MATRIX_B].rows; k++)
            memcpy(part + k * WGMMA_COLUMNS, b + k * COLUMNS_MAX + column, WGMMA_COLUMNS * sizeof *b);
        memset(sums, 0, sizeof sums);
        if (adds) move_fragment(collective, MATRIX_D, first, sums, false);
        simt_matrix_multiply(&wgmma->shape.product, sums, a, part, sums, by_a);
        move_fragment(collective, MATRIX_D, first, sums, true);
    }
}

/* ---- fence, commit_group, wait_group */

static void fence(struct collective *collective) {
    if (!is_warpgroup(collective)) return;
    if (simt_warpgroup_of(collective->warp)) simt_warpgroup_fence(collective->warp);
}

static void wake_others(struct warp *warp) {
    struct warp *first = &warp->block->warps[warp->index / WGMMA_WARPS * WGMMA_WARPS];
    for (uint32_t w = 0; w < WGMMA_WARPS; w++)
        for (struct path *path = first[w].leaves; path; path = path->next)
            if (path->state == PATH_AT_WARPGROUP) path->state = PATH_READY;
}

static void commit(struct collective *collective) {
    struct warp *warp = collective->warp;
    const simt_event event = simt_event_of(warp, collective->path, UINT32_MAX);
    const simt_copy_group group = {.engine = SIMT_ENGINE_WGMMA};
    if (!is_warpgroup(collective)) return;
    warp->wgmma_groups++;
    SIMT_NOTIFY(warp->block->launch, warp->block, copy_group, &event, &group);
    wake_others(warp);
}

/* Whether each warp of the warpgroup has come as far. */
static bool have_all(const struct warp *warp, uint64_t groups) {
    const uint32_t first = warp->index / WGMMA_WARPS * WGMMA_WARPS;
    for (uint32_t w = first; w < first + WGMMA_WARPS && w < warp->block->warp_count; w++)
        if (warp->block->warps[w].wgmma_groups < groups) return false;
    return true;
}

static enum outcome execute_wait(struct warp *warp, struct path *path, const struct code *code, uint32_t mask) {
    const uint64_t done = warp->wgmma_groups > code->pending ? warp->wgmma_groups - code->pending : 0;
    const simt_event event = simt_event_of(warp, path, mask);
    const simt_copy_group group = {.engine = SIMT_ENGINE_WGMMA, .is_wait = true, .pending = code->pending};
    if (!have_all(warp, done)) {
        path->state = PATH_AT_WARPGROUP;
        path->waiting_lanes = mask;
        return OUTCOME_LEFT;
    }
    if (warp->warpgroup)
        SIMT_FOR_EACH_LANE (lane, mask)
            if (warp->warpgroup->waited[lane] < done) warp->warpgroup->waited[lane] = done;
    SIMT_NOTIFY(warp->block->launch, warp->block, copy_group, &event, &group);
    return OUTCOME_NEXT;
}

/* ---- decoding */

static bool decode_together(struct decoder *decoder, struct code *code, collective_function *function) {
    const struct operand everyone = {.kind = OPERAND_IMMEDIATE, .bits = UINT32_MAX};
    code->execute = simt_execute_collective;
    code->is_synchronising = true;
    code->collective.function = function;
    code->collective.may_stop = true;
    return simt_operand(decoder, &everyone, TYPE_B32, &code->call.slots[COLLECTIVE_MEMBERS]);
}

static bool decode_product(struct decoder *decoder, struct code *code) {
    const struct instruction *instruction = decoder->instruction;
    const struct operand *operands = instruction->operands;
    struct wgmma_code *wgmma = &code->wgmma;
    if (!simt_wgmma_shape(instruction, &wgmma->shape)) return false;
    const struct operand *adds = &operands[simt_wgmma_adds(&wgmma->shape)], *metadata = &operands[simt_sparse_metadata(instruction)];
    wgmma->a_is_in_registers = operands[1].kind == OPERAND_VECTOR;
    wgmma->is_negative = wgmma->shape.has_signs && adds[1].bits != adds[2].bits;
    if (wgmma->shape.has_layouts) {
        wgmma->a_is_transposed = !wgmma->a_is_in_registers && adds[3].bits;
        wgmma->b_is_transposed = operands[instruction->operand_count - 1].bits;
    }
    if (wgmma->shape.product.chunk) {
        wgmma->selector = (uint8_t)metadata[1].bits;
        if (!simt_operand(decoder, metadata, TYPE_B32, &code->call.slots[METADATA])) return false;
    }
    return decode_together(decoder, code, multiply) &&
           (wgmma->a_is_in_registers || simt_operand(decoder, &operands[1], TYPE_B64, &code->call.slots[DESCRIPTOR_A])) &&
           simt_operand(decoder, &operands[2], TYPE_B64, &code->call.slots[DESCRIPTOR_B]) &&
           simt_operand(decoder, adds, TYPE_PRED, &code->call.slots[ADDS]);
}

static bool decode_wgmma(struct decoder *decoder, struct code *code) {
    if (simt_has(decoder->instruction, "mma_async")) return decode_product(decoder, code);
    if (simt_has(decoder->instruction, "fence")) return decode_together(decoder, code, fence);
    if (simt_has(decoder->instruction, "commit_group")) return decode_together(decoder, code, commit);
    code->execute = execute_wait;
    code->is_synchronising = true;
    code->pending = (uint32_t)decoder->instruction->operands[0].bits;
    return true;
}

const struct instruction_kind simt_wgmma_kinds[] = {{"wgmma", decode_wgmma}, {NULL, NULL}};
