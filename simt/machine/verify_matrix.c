/* Operands of matrix instructions: as many registers as the matrices need, of the right types. */
#include <string.h>

#include "verify.h"

static bool refuse(const struct verifier *verifier, uint32_t number, const char *expected) {
    return simt_verify_refuse(verifier, "operand %u must be %s", number, expected);
}

static enum type register_type(const struct verifier *verifier, const struct operand *operand) {
    return verifier->function->registers[operand->index].type;
}

static bool verify_register(const struct verifier *verifier, uint32_t number, const struct operand *operand,
                            enum type type) {
    bool is_plain = operand->kind == OPERAND_REGISTER && !operand->is_negated;
    if (!is_plain) return refuse(verifier, number, "of registers");
    return simt_types_fit(type, register_type(verifier, operand)) ||
           refuse(verifier, number, type == TYPE_F64 ? "of registers of 64 bits" : "of registers of 32 bits, of its type");
}

/* One register may stand without braces. */
static bool verify_fragment(const struct verifier *verifier, uint32_t index, const struct fragment *fragment) {
    const struct operand *operand = &verifier->instruction->operands[index];
    const enum type type = simt_register_type(fragment);
    if (operand->kind == OPERAND_REGISTER && fragment->registers == 1)
        return verify_register(verifier, index + 1, operand, type);
    if (operand->kind != OPERAND_VECTOR || operand->is_bracketed || operand->element_count != fragment->registers)
        return simt_verify_refuse(verifier, "operand %u must be a vector of %u", index + 1, fragment->registers);
    for (uint32_t e = 0; e < operand->element_count; e++)
        if (!verify_register(verifier, index + 1, &operand->elements[e], type)) return false;
    return true;
}

static bool is_address_type(enum type type) {
    bool is_integer = type != TYPE_F32 && type != TYPE_F64 && type != TYPE_F16X2 && type != TYPE_BF16X2 && type != TYPE_PRED;
    return is_integer && (simt_types_fit(TYPE_B32, type) || simt_types_fit(TYPE_B64, type));
}

static bool verify_address(const struct verifier *verifier, uint32_t index, bool is_shared) {
    const struct operand *operand = &verifier->instruction->operands[index];
    enum simt_space space;
    const bool is_named = simt_named_space(verifier->instruction, &space) || is_shared;
    if (is_shared) space = SIMT_SHARED;
    if (operand->kind != OPERAND_ADDRESS || !operand->is_bracketed)
        return refuse(verifier, index + 1, "an address in brackets");
    if (operand->has_base_register)
        return is_address_type(register_type(verifier, operand)) || refuse(verifier, index + 1, "an address of 32 or 64 bits");
    if (!operand->variable) return true;
    bool is_memory = operand->variable->space == SIMT_SHARED || operand->variable->space == SIMT_GLOBAL;
    return (is_memory && (!is_named || operand->variable->space == space)) ||
           refuse(verifier, index + 1, is_named && space == SIMT_SHARED ? "in shared memory" : "in its memory");
}

static bool verify_stride(const struct verifier *verifier, uint32_t index) {
    const struct operand *operand = &verifier->instruction->operands[index];
    if (operand->kind == OPERAND_IMMEDIATE && operand->immediate == IMMEDIATE_INTEGER) return true;
    return verify_register(verifier, index + 1, operand, TYPE_U32);
}

static bool verify_count(const struct verifier *verifier, uint32_t least, uint32_t most) {
    const uint32_t count = verifier->instruction->operand_count;
    return (count >= least && count <= most) ||
           simt_verify_refuse(verifier, "it takes %u operands, found %u", least, count);
}

static bool verify_transfer(const struct verifier *verifier, const struct matrix_shape *shape) {
    const bool is_rows = shape->kind == MATRIX_ROWS_LOAD || shape->kind == MATRIX_ROWS_STORE;
    const uint32_t address = shape->kind == MATRIX_LOAD || shape->kind == MATRIX_ROWS_LOAD;
    if (!verify_count(verifier, 2, is_rows ? 2 : 3)) return false;
    return verify_address(verifier, address, is_rows) &&
           verify_fragment(verifier, 1 - address, &shape->fragments[0]) &&
           (verifier->instruction->operand_count < 3 || verify_stride(verifier, 2));
}

/* ---- metadata */

static bool verify_sparse(const struct verifier *verifier, const struct matrix_shape *shape) {
    const uint32_t metadata = simt_sparse_metadata(verifier->instruction);
    const struct operand *operands = verifier->instruction->operands, *selector = &operands[metadata + 1];
    const bool is_number = selector->kind == OPERAND_IMMEDIATE && selector->immediate == IMMEDIATE_INTEGER;
    if (!is_number || selector->bits >= simt_sparse_selectors(shape))
        return simt_verify_refuse(verifier, "operand %u must be a sparsity selector below %u", metadata + 2, simt_sparse_selectors(shape));
    return verify_register(verifier, metadata + 1, &operands[metadata], TYPE_B32);
}

/* ---- wgmma */

static bool verify_sign(const struct verifier *verifier, uint32_t index) {
    const struct operand *operand = &verifier->instruction->operands[index];
    const bool is_sign = operand->kind == OPERAND_IMMEDIATE && operand->immediate == IMMEDIATE_INTEGER &&
                         (operand->bits == 1 || operand->bits == UINT64_MAX);
    return is_sign || refuse(verifier, index + 1, "1 or -1");
}

static bool verify_layout(const struct verifier *verifier, uint32_t index) {
    const struct operand *operand = &verifier->instruction->operands[index];
    const bool is_layout = operand->kind == OPERAND_IMMEDIATE && operand->immediate == IMMEDIATE_INTEGER && operand->bits <= 1;
    return is_layout || refuse(verifier, index + 1, "0 or 1");
}

/* Whether d is added. */
static bool verify_addition(const struct verifier *verifier, uint32_t index) {
    const struct operand *operand = &verifier->instruction->operands[index];
    if (operand->kind == OPERAND_IMMEDIATE) return verify_layout(verifier, index);
    const bool is_register = operand->kind == OPERAND_REGISTER && !operand->is_negated;
    return (is_register && register_type(verifier, operand) == TYPE_PRED) ||
           refuse(verifier, index + 1, "a predicate");
}

static bool verify_descriptor(const struct verifier *verifier, uint32_t index) {
    const struct operand *operand = &verifier->instruction->operands[index];
    const bool is_register = operand->kind == OPERAND_REGISTER && !operand->is_negated;
    return (is_register && simt_types_fit(TYPE_B64, register_type(verifier, operand))) ||
           refuse(verifier, index + 1, "a descriptor, in a register of 64 bits");
}

static bool verify_wgmma(const struct verifier *verifier, const struct wgmma_shape *shape) {
    struct fragment d = shape->product.fragments[MATRIX_D];
    const bool a_is_in_registers = verifier->instruction->operand_count > 1 &&
                                   verifier->instruction->operands[1].kind == OPERAND_VECTOR;
    const uint32_t layouts = shape->has_layouts ? 2 - a_is_in_registers : 0, adds = simt_wgmma_adds(shape);
    const uint32_t signs = adds + 1, count = signs + 2 * shape->has_signs + layouts;
    d.registers = (uint8_t)shape->registers;
    if (!verify_count(verifier, count, count) || !verify_fragment(verifier, 0, &d)) return false;
    if (!(a_is_in_registers ? verify_fragment(verifier, 1, &shape->product.fragments[MATRIX_A])
                            : verify_descriptor(verifier, 1)))
        return false;
    if (!verify_descriptor(verifier, 2) || (shape->product.chunk && !verify_sparse(verifier, &shape->product)) ||
        !verify_addition(verifier, adds))
        return false;
    for (uint32_t index = signs; index < count; index++)
        if (!(index < signs + 2 ? verify_sign : verify_layout)(verifier, index)) return false;
    return true;
}

/* wgmma.fence, .commit_group and .wait_group N */
static bool verify_wgmma_order(const struct verifier *verifier) {
    const struct instruction *instruction = verifier->instruction;
    const bool is_wait = simt_has(instruction, "wait_group");
    const bool is_one = is_wait || simt_has(instruction, "fence") || simt_has(instruction, "commit_group");
    if (!is_one || instruction->modifier_count != 3 || !simt_has(instruction, "sync") || !simt_has(instruction, "aligned"))
        return true;
    verifier->instruction->is_known = true;
    if (!verify_count(verifier, is_wait, is_wait)) return false;
    return !is_wait || (instruction->operands[0].kind == OPERAND_IMMEDIATE &&
                        instruction->operands[0].immediate == IMMEDIATE_INTEGER) ||
           refuse(verifier, 1, "an integer constant");
}

static bool verify_wgmma_any(const struct verifier *verifier) {
    struct wgmma_shape shape;
    if (!simt_has(verifier->instruction, "mma_async")) return verify_wgmma_order(verifier);
    if (!simt_wgmma_shape(verifier->instruction, &shape)) return true;
    verifier->instruction->is_known = true;
    return verify_wgmma(verifier, &shape);
}

bool simt_verify_matrix(const struct verifier *verifier) {
    struct matrix_shape shape;
    if (simt_is_base(verifier->instruction, "wgmma")) return verify_wgmma_any(verifier);
    if (!simt_matrix_shape(verifier->instruction, &shape)) return true;
    verifier->instruction->is_known = true;
    if (shape.kind == MATRIX_MOVE)
        return verify_count(verifier, 2, 2) && verify_fragment(verifier, 0, &shape.fragments[0]) &&
               verify_fragment(verifier, 1, &shape.fragments[0]);
    if (shape.kind != MATRIX_MMA && shape.kind != MATRIX_WMMA) return verify_transfer(verifier, &shape);
    const uint32_t count = shape.chunk ? MATRIX_ROLES + 2 : MATRIX_ROLES;
    if (!verify_count(verifier, count, count) || (shape.chunk && !verify_sparse(verifier, &shape))) return false;
    for (uint32_t role = 0; role < MATRIX_ROLES; role++)
        if (!verify_fragment(verifier, role, &shape.fragments[role])) return false;
    return true;
}
