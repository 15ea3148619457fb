/* tensormap.replace: a field of a tensor map in memory gets another value.  PTX ISA: a weak access to the whole map.
 * tensormap.cp_fenceproxy: all lanes together copy one map from shared to global memory; its fence has no effect here. */
#include <stddef.h>
#include <string.h>

#include "access.h"
#include "collective.h"
#include "element.h"
#include "tensor_map.h"

enum { PIECE_WORDS = 2, PIECE_NBYTES = 8 * PIECE_WORDS, PIECES = SIMT_TENSOR_MAP_NBYTES / PIECE_NBYTES };

/* One lane's map. */
struct replacement {
    struct warp *warp;
    struct path *path;
    const struct code *code;
    uint32_t lane;
    uint64_t address;
    enum simt_space space;
    bool is_generic;
    unsigned char bytes[SIMT_TENSOR_MAP_NBYTES];
};

static bool stop(const struct replacement *replacement, enum simt_finding_kind kind, const char *what) {
    simt_event event = simt_event_of(replacement->warp, replacement->path, UINT32_C(1) << replacement->lane);
    simt_record_finding(&event, kind, replacement->lane, replacement->address, "%s", what);
    simt_stop(&event);
    return false;
}

/* The 16 bytes that most instructions can access at once.  `values`: of a store; NULL: it is a load. */
static bool open_piece(const struct replacement *replacement, uint32_t piece, const uint64_t *values, struct request *request) {
    uint64_t *address = &request->addresses[replacement->lane];
    simt_request_begin(request, replacement->code, values ? SIMT_STORE : SIMT_LOAD, UINT32_C(1) << replacement->lane);
    request->values = values;
    request->space = replacement->space;
    *address = replacement->address + (uint64_t)piece * PIECE_NBYTES;
    if (replacement->is_generic) request->space = simt_space_of(&replacement->warp->block->launch->machine->memory, address);
    return simt_access_open(replacement->warp, replacement->path, request);
}

static bool load_map(struct replacement *replacement) {
    struct request request;
    for (uint32_t piece = 0; piece < PIECES; piece++) {
        if (!open_piece(replacement, piece, NULL, &request)) return false;
        memcpy(replacement->bytes + piece * PIECE_NBYTES, simt_request_host(&request, replacement->lane), PIECE_NBYTES);
    }
    return true;
}

static bool store_map(const struct replacement *replacement) {
    struct request request;
    uint64_t values[PIECE_WORDS * SIMT_LANES] = {0};
    for (uint32_t piece = 0; piece < PIECES; piece++) {
        for (uint32_t word = 0; word < PIECE_WORDS; word++)
            values[word * SIMT_LANES + replacement->lane] = element_load(replacement->bytes + piece * PIECE_NBYTES + 8 * word, 8);
        if (!open_piece(replacement, piece, values, &request)) return false;
        simt_request_perform(replacement->path, &request);
    }
    return true;
}

static bool replace(struct replacement *replacement, uint64_t value) {
    const struct tensor_field_code *field = &replacement->code->tensor_field;
    if (field->is_step && value != 1)
        return stop(replacement, SIMT_FINDING_UNSUPPORTED, "element strides of a tensor map other than 1");
    if (!load_map(replacement)) return false;
    if (!simt_tensor_map_replace(replacement->bytes, field->place, field->nbytes, value + field->added))
        return stop(replacement, SIMT_FINDING_BOUNDS,
                    "there is neither a tensor map for boxes here, which cuTensorMapEncodeTiled makes and a kernel may copy, "
                    "nor 128 bytes of 0, of which one can be made");
    return store_map(replacement);
}

static enum outcome execute_replace(struct warp *warp, struct path *path, const struct code *code, uint32_t mask) {
    struct replacement replacement = {
        .warp = warp, .path = path, .code = code, .space = code->memory.space, .is_generic = code->memory.is_generic};
    uint64_t addresses[SIMT_LANES];
    simt_addresses(path, &code->memory.address, addresses);
    SIMT_FOR_EACH_LANE (lane, mask) {
        replacement.lane = lane;
        replacement.address = addresses[lane];
        if (!replace(&replacement, lane_get(slot_lanes(path, code->call.slots[0]), code->widths[0], lane))) return OUTCOME_LEFT;
    }
    return OUTCOME_NEXT;
}

/* ---- copying */

/* The address that all lanes have; they may be in several paths.  false: they have not one. */
static bool find_address(const struct collective *collective, const struct address_code *code, uint64_t *address) {
    uint64_t all[SIMT_LANES];
    for (uint32_t lane = 0; lane < SIMT_LANES; lane++) {
        if (!lane || !collective->is_together) simt_addresses(simt_path_of(collective, lane), code, all);
        if (!lane) *address = all[lane];
        if (all[lane] != *address) return false;
    }
    return true;
}

static void copy_map(struct collective *collective) {
    const struct code *code = collective->code;
    uint64_t from = 0, to = 0;
    if (!simt_all_are_there(collective)) return;
    const uint32_t lane = (uint32_t)__builtin_ctz(collective->path->mask & collective->lanes);
    struct replacement copy = {.warp = collective->warp, .path = collective->path, .code = code, .lane = lane, .space = SIMT_SHARED};
    if (!find_address(collective, &code->tensor_field.source, &from) || !find_address(collective, &code->memory.address, &to)) {
        stop(&copy, SIMT_FINDING_UNSUPPORTED, "lanes of a warp that copy different tensor maps");
        return;
    }
    copy.address = from;
    if (!load_map(&copy)) return;
    copy.address = to;
    copy.space = SIMT_GLOBAL;
    store_map(&copy);
}

/* ---- decoding */

#define PLACE(member) offsetof(simt_tensor_map, member), sizeof((simt_tensor_map){0}.member)
#define PLACES(member) offsetof(simt_tensor_map, member), sizeof((simt_tensor_map){0}.member[0])

/* The constant that PTX numbers in its own way: -1: the simulator's maps have none such. */
static int number_of(uint64_t constant, const int8_t *numbers, size_t count) { return constant < count ? numbers[constant] : -1; }

static const int8_t elements[] = {0, 1, 2, 3, 4, 5, 6, 7, 10, 8, 9, 11, 12}, swizzles[] = {0, 1, 2, 3}, only_none[] = {0};
#define NUMBERS(list) list, sizeof list

/* `first`: of the dimension that the ordinal 0 names; strides begin with the second. */
static const struct field {
    const char *name;
    size_t place, nbytes;
    bool has_ordinal;
    uint8_t first, added;
    const int8_t *numbers;
    size_t number_count;
} fields[] = {{"global_address", PLACE(address), .has_ordinal = false},
              {"rank", PLACE(rank), .added = 1},
              {"box_dim", PLACES(box), .has_ordinal = true},
              {"global_dim", PLACES(sizes), .has_ordinal = true},
              {"global_stride", PLACES(stride_bytes), .has_ordinal = true, .first = 1},
              {"element_stride", 0, 0, .has_ordinal = true}, /* of maps for boxes always 1 */
              {"elemtype", PLACE(element), .numbers = NUMBERS(elements)},
              {"swizzle_mode", PLACE(swizzle), .numbers = NUMBERS(swizzles)},
              {"interleave_layout", 0, 0, .numbers = NUMBERS(only_none)},
              {"fill_mode", 0, 0, .numbers = NUMBERS(only_none)}};

static const struct field *find_field(const struct instruction *instruction) {
    for (size_t f = 0; f < sizeof fields / sizeof *fields; f++)
        if (simt_has(instruction, fields[f].name)) return &fields[f];
    return NULL;
}

static bool decode_value(struct decoder *decoder, struct code *code, const struct field *field) {
    const struct instruction *instruction = decoder->instruction;
    struct operand value = instruction->operands[1 + field->has_ordinal];
    if (field->numbers) {
        const int number = number_of(value.bits, field->numbers, field->number_count);
        if (number < 0) return false;
        value.bits = (uint64_t)number;
    }
    const enum type type = simt_last_type(instruction);
    code->widths[0] = simt_operand_width(decoder, &value, simt_width(type));
    return simt_operand(decoder, &value, type, &code->call.slots[0]);
}

/* tensormap.replace.tile.FIELD{.SPACE}.b1024.TYPE [map]{, ordinal}, value */
static bool decode_replace(struct decoder *decoder, struct code *code) {
    const struct instruction *instruction = decoder->instruction;
    const struct field *field = find_field(instruction);
    const uint64_t dimension = field && field->has_ordinal ? instruction->operands[1].bits + field->first : 0;
    if (!field || dimension >= SIMT_TENSOR_RANK_MAX) return false;
    code->execute = execute_replace;
    code->tensor_field.place = (uint8_t)(field->place + dimension * field->nbytes);
    code->tensor_field.nbytes = (uint8_t)field->nbytes;
    code->tensor_field.added = field->added;
    code->tensor_field.is_step = field->has_ordinal && !field->nbytes;
    code->memory.is_generic = !simt_named_space(instruction, &code->memory.space);
    code->memory.vector.element_nbytes = 8;
    code->memory.vector.count = PIECE_WORDS;
    return decode_value(decoder, code, field) && simt_address(decoder, &instruction->operands[0], &code->memory.address);
}

/* tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.SCOPE.sync.aligned [to], [from], 128 */
static bool decode_copy(struct decoder *decoder, struct code *code) {
    const struct operand everyone = {.kind = OPERAND_IMMEDIATE, .bits = UINT32_MAX}, *operands = decoder->instruction->operands;
    code->execute = simt_execute_collective;
    code->is_synchronising = true;
    code->collective.function = copy_map;
    code->collective.may_stop = true;
    code->memory.vector.element_nbytes = 8;
    code->memory.vector.count = PIECE_WORDS;
    return operands[2].bits == SIMT_TENSOR_MAP_NBYTES &&
           simt_operand(decoder, &everyone, TYPE_B32, &code->call.slots[COLLECTIVE_MEMBERS]) &&
           simt_address(decoder, &operands[0], &code->memory.address) &&
           simt_address(decoder, &operands[1], &code->tensor_field.source);
}

static bool decode_tensor_map(struct decoder *decoder, struct code *code) {
    return simt_has(decoder->instruction, "replace") ? decode_replace(decoder, code) : decode_copy(decoder, code);
}

const struct instruction_kind simt_tensor_map_kinds[] = {{"tensormap", decode_tensor_map}, {NULL, NULL}};
