/* Matrix instructions.  All 32 lanes of a warp execute them together; which element a lane holds in which register is,
 * of mma, ldmatrix, stmatrix and movmatrix, as PTX has it; of wmma, where that is left open, the order in memory. */
#include <string.h>

#include "access.h"
#include "collective.h"
#include "element.h"

enum { ELEMENTS_MAX = 32 * 16, FACTOR_ELEMENTS_MAX = 16 * 256, ROWS = 8, ROW_NBYTES = 16 };

/* ---- where elements are */

static struct matrix_cell place_in_wmma(const struct fragment *fragment, uint32_t lane, uint32_t index, uint32_t element) {
    const uint32_t packed = simt_register_elements(fragment), count = (uint32_t)fragment->rows * fragment->columns;
    const uint32_t number = ((index * SIMT_LANES + lane) * packed + element) % count;
    if (fragment->is_column_major) return (struct matrix_cell){number % fragment->rows, number / fragment->rows};
    return (struct matrix_cell){number / fragment->columns, number % fragment->columns};
}

static struct matrix_cell place_of(const struct matrix_shape *shape, enum matrix_role role, uint32_t lane, uint32_t index,
                             uint32_t element) {
    const struct fragment *fragment = &shape->fragments[role];
    return shape->kind == MATRIX_MMA ? simt_matrix_cell(fragment, role, lane, index, element)
                                     : place_in_wmma(fragment, lane, index, element);
}

/* ---- registers */

static enum width width_of(const struct fragment *fragment) {
    return fragment->element == ELEMENT_F64 ? WIDTH_64 : WIDTH_32;
}

static uint64_t read_register(const struct collective *collective, enum matrix_role role, uint32_t lane,
                              uint32_t index) {
    const struct matrix_code *matrix = &collective->code->matrix;
    return lane_get(slot_lanes(simt_path_of(collective, lane), matrix->registers[role][index]),
                    width_of(&matrix->shape.fragments[role]), lane);
}

static void write_register(const struct collective *collective, enum matrix_role role, uint32_t lane, uint32_t index,
                           uint64_t value) {
    const struct matrix_code *matrix = &collective->code->matrix;
    lane_set(slot_lanes(simt_path_of(collective, lane), matrix->registers[role][index]),
             width_of(&matrix->shape.fragments[role]), lane, value);
}

static uint64_t element_mask(const struct fragment *fragment) {
    return UINT64_MAX >> (64 - simt_element_bits(fragment->element));
}

static void collect(const struct collective *collective, enum matrix_role role, uint64_t *matrix) {
    const struct matrix_shape *shape = &collective->code->matrix.shape;
    const struct fragment *fragment = &shape->fragments[role];
    const uint32_t bits = simt_element_bits(fragment->element), packed = simt_register_elements(fragment);
    for (uint32_t lane = 0; lane < SIMT_LANES; lane++)
        for (uint32_t index = 0; index < fragment->registers; index++) {
            const uint64_t value = read_register(collective, role, lane, index);
            for (uint32_t e = 0; e < packed; e++) {
                const struct matrix_cell at = place_of(shape, role, lane, index, e);
                matrix[at.row * fragment->columns + at.column] = value >> (e * bits) & element_mask(fragment);
            }
        }
}

static void distribute(const struct collective *collective, enum matrix_role role, const uint64_t *matrix) {
    const struct matrix_shape *shape = &collective->code->matrix.shape;
    const struct fragment *fragment = &shape->fragments[role];
    const uint32_t bits = simt_element_bits(fragment->element), packed = simt_register_elements(fragment);
    for (uint32_t lane = 0; lane < SIMT_LANES; lane++)
        for (uint32_t index = 0; index < fragment->registers; index++) {
            uint64_t value = 0;
            for (uint32_t e = 0; e < packed; e++) {
                const struct matrix_cell at = place_of(shape, role, lane, index, e);
                value |= matrix[at.row * fragment->columns + at.column] << (e * bits);
            }
            write_register(collective, role, lane, index, value);
        }
}

/* ---- who takes part */

bool simt_all_are_there(const struct collective *collective) {
    if (collective->lanes == UINT32_MAX) return true;
    const struct lane_text lanes = lane_text(collective->lanes);
    simt_event event = simt_event_of(collective->warp, collective->path, collective->lanes);
    simt_record_finding(&event, SIMT_FINDING_BARRIER, (uint32_t)__builtin_ctz(collective->lanes), 0,
                        "%s of warp %u execute%s %s, which takes all 32 lanes of a warp",
                        lanes.text, collective->warp->index, lanes.s, collective->code->instruction->opcode);
    simt_stop(&event);
    return false;
}

static void find_columns(const struct collective *collective, uint8_t *columns) {
    const struct matrix_code *matrix = &collective->code->matrix;
    uint32_t metadata[SIMT_LANES];
    for (uint32_t lane = 0; lane < SIMT_LANES; lane++)
        metadata[lane] = (uint32_t)lane_get(slot_lanes(simt_path_of(collective, lane), matrix->metadata), WIDTH_32, lane);
    simt_sparse_columns(&matrix->shape, metadata, matrix->selector, columns);
}

static void multiply(struct collective *collective) {
    uint8_t columns[16 * 64];
    const bool is_sparse = collective->code->matrix.shape.chunk != 0;
    uint64_t a[FACTOR_ELEMENTS_MAX], b[FACTOR_ELEMENTS_MAX], c[ELEMENTS_MAX], d[ELEMENTS_MAX];
    if (!simt_all_are_there(collective)) return;
    collect(collective, MATRIX_A, a);
    collect(collective, MATRIX_B, b);
    collect(collective, MATRIX_C, c);
    if (is_sparse) find_columns(collective, columns);
    simt_matrix_multiply(&collective->code->matrix.shape, d, a, b, c, is_sparse ? columns : NULL);
    distribute(collective, MATRIX_D, d);
}

/* ---- memory */

/* Addresses of lanes in the space that the opcode names, or that the first generic address is in. */
static bool open(const struct collective *collective, struct request *request) {
    const struct matrix_code *matrix = &collective->code->matrix;
    const struct memory *memory = &collective->warp->block->launch->machine->memory;
    request->space = matrix->memory.space;
    if (matrix->memory.is_generic)
        SIMT_FOR_EACH_LANE (lane, request->lanes)
            request->space = simt_space_of(memory, &request->addresses[lane]);
    return simt_access_open(collective->warp, collective->path, request);
}

static void find_addresses(const struct collective *collective, uint64_t addresses[SIMT_LANES]) {
    const struct address_code *address = &collective->code->matrix.memory.address;
    if (collective->is_together) {
        simt_addresses(collective->path, address, addresses);
        return;
    }
    for (uint32_t lane = 0; lane < SIMT_LANES; lane++) {
        uint64_t all[SIMT_LANES];
        simt_addresses(simt_path_of(collective, lane), address, all);
        addresses[lane] = all[lane];
    }
}

/* What a lane gets of a matrix of 16-bit elements: two neighbours of a row, or of a column. */
static struct matrix_cell row_place(uint32_t lane, uint32_t element, bool is_transposed) {
    const struct matrix_cell place = {lane / 4, 2 * (lane % 4) + element};
    return is_transposed ? (struct matrix_cell){place.column, place.row} : place;
}

static bool open_rows(const struct collective *collective, struct request *request, enum simt_access_kind kind) {
    const uint32_t matrices = collective->code->matrix.shape.fragments[0].registers;
    simt_request_begin(request, collective->code, kind, UINT32_MAX >> (SIMT_LANES - ROWS * matrices));
    find_addresses(collective, request->addresses);
    return open(collective, request);
}

static void load_rows(struct collective *collective) {
    const struct matrix_shape *shape = &collective->code->matrix.shape;
    struct request request;
    uint16_t rows[ROWS][ROW_NBYTES / 2];
    if (!simt_all_are_there(collective) || !open_rows(collective, &request, SIMT_LOAD)) return;
    for (uint32_t matrix = 0; matrix < shape->fragments[0].registers; matrix++) {
        for (uint32_t row = 0; row < ROWS; row++)
            memcpy(rows[row], simt_request_host(&request, ROWS * matrix + row), ROW_NBYTES);
        for (uint32_t lane = 0; lane < SIMT_LANES; lane++) {
            const struct matrix_cell low = row_place(lane, 0, shape->is_transposed);
            const struct matrix_cell high = row_place(lane, 1, shape->is_transposed);
            write_register(collective, MATRIX_D, lane, matrix,
                           rows[low.row][low.column] | (uint32_t)rows[high.row][high.column] << 16);
        }
    }
}

static void collect_rows(const struct collective *collective, uint32_t matrix, uint16_t rows[ROWS][ROW_NBYTES / 2]) {
    const bool is_transposed = collective->code->matrix.shape.is_transposed;
    for (uint32_t lane = 0; lane < SIMT_LANES; lane++)
        for (uint32_t e = 0; e < 2; e++) {
            const struct matrix_cell at = row_place(lane, e, is_transposed);
            rows[at.row][at.column] = (uint16_t)(read_register(collective, MATRIX_D, lane, matrix) >> (16 * e));
        }
}

static void store_rows(struct collective *collective) {
    const uint32_t matrices = collective->code->matrix.shape.fragments[0].registers;
    uint64_t values[ROW_NBYTES / 8 * SIMT_LANES] = {0};
    uint16_t rows[ROWS * 4][ROW_NBYTES / 2];
    struct request request;
    if (!simt_all_are_there(collective)) return;
    for (uint32_t matrix = 0; matrix < matrices; matrix++) collect_rows(collective, matrix, rows + ROWS * matrix);
    for (uint32_t row = 0; row < ROWS * matrices; row++)
        for (uint32_t half = 0; half < 2; half++) memcpy(&values[half * SIMT_LANES + row], &rows[row][4 * half], 8);
    simt_request_begin(&request, collective->code, SIMT_STORE, UINT32_MAX >> (SIMT_LANES - ROWS * matrices));
    request.values = values;
    find_addresses(collective, request.addresses);
    if (!open(collective, &request)) return;
    for (uint32_t row = 0; row < ROWS * matrices; row++)
        memcpy(simt_request_host(&request, row), rows[row], ROW_NBYTES);
    simt_access_mark(&request);
}

static void move(struct collective *collective) {
    uint16_t rows[ROWS][ROW_NBYTES / 2];
    if (!simt_all_are_there(collective)) return;
    for (uint32_t lane = 0; lane < SIMT_LANES; lane++)
        for (uint32_t e = 0; e < 2; e++) {
            const struct matrix_cell at = row_place(lane, e, false);
            rows[at.row][at.column] = (uint16_t)(read_register(collective, MATRIX_A, lane, 0) >> (16 * e));
        }
    for (uint32_t lane = 0; lane < SIMT_LANES; lane++) {
        const struct matrix_cell low = row_place(lane, 0, true), high = row_place(lane, 1, true);
        write_register(collective, MATRIX_D, lane, 0,
                       rows[low.row][low.column] | (uint32_t)rows[high.row][high.column] << 16);
    }
}

/* ---- wmma.load and wmma.store: an access for each register, or for each element where neighbours in a register are
 * none in memory */

struct transfer {
    const struct collective *collective;
    const struct fragment *fragment;
    uint64_t bases[SIMT_LANES];
    uint32_t nbytes;   /* of an access of a lane */
    uint32_t accesses; /* for a register */
};

static struct transfer begin_transfer(const struct collective *collective) {
    const struct matrix_code *matrix = &collective->code->matrix;
    const struct fragment *fragment = &matrix->shape.fragments[0];
    struct transfer transfer = {.collective = collective, .fragment = fragment};
    transfer.nbytes = matrix->memory.vector.element_nbytes;
    transfer.accesses = simt_register_elements(fragment) * simt_element_bits(fragment->element) / 8 / transfer.nbytes;
    find_addresses(collective, transfer.bases);
    return transfer;
}

static uint64_t address_of(const struct transfer *transfer, uint32_t lane, uint32_t index, uint32_t access) {
    const struct matrix_code *matrix = &transfer->collective->code->matrix;
    const bool is_column_major = matrix->shape.is_column_major;
    const struct matrix_cell at = place_in_wmma(transfer->fragment, lane, index, access);
    uint64_t stride = is_column_major ? transfer->fragment->rows : transfer->fragment->columns;
    if (matrix->has_stride)
        stride = lane_get(slot_lanes(simt_path_of(transfer->collective, lane), matrix->stride), WIDTH_32, lane);
    const uint64_t number = is_column_major ? at.column * stride + at.row : at.row * stride + at.column;
    return transfer->bases[lane] + number * simt_element_bits(transfer->fragment->element) / 8;
}

static bool open_access(const struct transfer *transfer, struct request *request, enum simt_access_kind kind,
                        const uint64_t *values, uint32_t index, uint32_t access) {
    simt_request_begin(request, transfer->collective->code, kind, UINT32_MAX);
    request->values = values;
    for (uint32_t lane = 0; lane < SIMT_LANES; lane++)
        request->addresses[lane] = address_of(transfer, lane, index, access);
    return open(transfer->collective, request);
}

/* Registers that hold all elements once; others, if any, hold them again. */
static uint32_t distinct_registers(const struct fragment *fragment) {
    return (uint32_t)fragment->rows * fragment->columns / (SIMT_LANES * simt_register_elements(fragment));
}

static void load_matrix(struct collective *collective) {
    struct request request;
    if (!simt_all_are_there(collective)) return;
    const struct transfer transfer = begin_transfer(collective);
    const uint32_t distinct = distinct_registers(transfer.fragment);
    for (uint32_t index = 0; index < distinct; index++) {
        uint64_t values[SIMT_LANES] = {0};
        for (uint32_t access = 0; access < transfer.accesses; access++) {
            if (!open_access(&transfer, &request, SIMT_LOAD, NULL, index, access)) return;
            for (uint32_t lane = 0; lane < SIMT_LANES; lane++)
                values[lane] |= element_load(simt_request_host(&request, lane), transfer.nbytes)
                                << (8 * transfer.nbytes * access);
        }
        for (uint32_t lane = 0; lane < SIMT_LANES; lane++)
            for (uint32_t again = index; again < transfer.fragment->registers; again += distinct)
                write_register(collective, MATRIX_D, lane, again, values[lane]);
    }
}

static void store_matrix(struct collective *collective) {
    struct request request;
    uint64_t values[SIMT_LANES];
    if (!simt_all_are_there(collective)) return;
    const struct transfer transfer = begin_transfer(collective);
    const uint64_t mask = UINT64_MAX >> (64 - 8 * transfer.nbytes);
    for (uint32_t index = 0; index < transfer.fragment->registers; index++)
        for (uint32_t access = 0; access < transfer.accesses; access++) {
            for (uint32_t lane = 0; lane < SIMT_LANES; lane++)
                values[lane] =
                    read_register(collective, MATRIX_D, lane, index) >> (8 * transfer.nbytes * access) & mask;
            if (!open_access(&transfer, &request, SIMT_STORE, values, index, access)) return;
            for (uint32_t lane = 0; lane < SIMT_LANES; lane++)
                element_store(simt_request_host(&request, lane), transfer.nbytes, values[lane]);
            simt_access_mark(&request);
        }
}

/* ---- decoding */

static bool decode_fragment(struct decoder *decoder, struct code *code, enum matrix_role role, uint32_t operand) {
    const struct operand *given = &decoder->instruction->operands[operand];
    const struct fragment *fragment = &code->matrix.shape.fragments[role];
    for (uint32_t r = 0; r < fragment->registers; r++) {
        const struct operand *one = given->kind == OPERAND_VECTOR ? &given->elements[r] : given;
        if (!simt_operand(decoder, one, simt_register_type(fragment), &code->matrix.registers[role][r])) return false;
    }
    return true;
}

static bool decode_transfer(struct decoder *decoder, struct code *code, bool is_load, bool is_rows) {
    const struct instruction *instruction = decoder->instruction;
    struct matrix_code *matrix = &code->matrix;
    const struct fragment *fragment = &matrix->shape.fragments[0];
    const uint32_t bits = simt_element_bits(fragment->element);
    const bool is_contiguous = matrix->shape.is_column_major == fragment->is_column_major;
    matrix->memory.space = SIMT_SHARED;
    matrix->memory.is_generic = !simt_named_space(instruction, &matrix->memory.space);
    matrix->memory.vector.count = is_rows ? 2 : 1;
    matrix->memory.vector.element_nbytes =
        is_rows ? ROW_NBYTES / 2
                : (uint8_t)(bits * (is_contiguous ? simt_register_elements(fragment) : 1) / 8);
    code->collective.may_stop = true;
    matrix->has_stride = instruction->operand_count > 2;
    return (!matrix->has_stride || simt_operand(decoder, &instruction->operands[2], TYPE_U32, &matrix->stride)) &&
           simt_address(decoder, &instruction->operands[is_load ? 1 : 0], &matrix->memory.address) &&
           decode_fragment(decoder, code, MATRIX_D, is_load ? 0 : 1);
}

static bool decode_product(struct decoder *decoder, struct code *code) {
    for (uint32_t role = 0; role < MATRIX_ROLES; role++)
        if (!decode_fragment(decoder, code, (enum matrix_role)role, role)) return false;
    if (!code->matrix.shape.chunk) return true;
    const struct operand *metadata = &decoder->instruction->operands[simt_sparse_metadata(decoder->instruction)];
    code->matrix.selector = (uint8_t)metadata[1].bits;
    return simt_operand(decoder, metadata, TYPE_B32, &code->matrix.metadata);
}

static bool decode_move(struct decoder *decoder, struct code *code) {
    code->matrix.shape.fragments[MATRIX_A] = code->matrix.shape.fragments[MATRIX_D];
    return decode_fragment(decoder, code, MATRIX_D, 0) && decode_fragment(decoder, code, MATRIX_A, 1);
}

static bool decode_matrix(struct decoder *decoder, struct code *code) {
    static collective_function *const functions[] = {
        [MATRIX_MMA] = multiply,     [MATRIX_WMMA] = multiply,         [MATRIX_LOAD] = load_matrix,
        [MATRIX_STORE] = store_matrix, [MATRIX_ROWS_LOAD] = load_rows, [MATRIX_ROWS_STORE] = store_rows,
        [MATRIX_MOVE] = move};
    const struct operand everyone = {.kind = OPERAND_IMMEDIATE, .bits = UINT32_MAX};
    struct matrix_shape *shape = &code->matrix.shape;
    if (!simt_matrix_shape(decoder->instruction, shape)) return false;
    code->execute = simt_execute_collective;
    code->is_synchronising = true;
    code->collective.function = functions[shape->kind];
    if (!simt_operand(decoder, &everyone, TYPE_B32, &code->call.slots[COLLECTIVE_MEMBERS])) return false;
    switch (shape->kind) {
    case MATRIX_MMA:
    case MATRIX_WMMA: return decode_product(decoder, code);
    case MATRIX_MOVE: return decode_move(decoder, code);
    default:
        return decode_transfer(decoder, code, shape->kind == MATRIX_LOAD || shape->kind == MATRIX_ROWS_LOAD,
                               shape->kind == MATRIX_ROWS_LOAD || shape->kind == MATRIX_ROWS_STORE);
    }
}

const struct instruction_kind simt_matrix_kinds[] = {{"mma", decode_matrix},       {"wmma", decode_matrix},
                                                     {"ldmatrix", decode_matrix},  {"stmatrix", decode_matrix},
                                                     {"movmatrix", decode_matrix}, {NULL, NULL}};
