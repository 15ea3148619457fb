/* Finds what executes an instruction. */
#include <string.h>

#include "lanes_row.h"

static const struct lane_table *const tables[] = {
    simt_integer_tables, simt_bits_tables,    simt_select_tables,  simt_float_tables,
    simt_half_tables,    simt_compare_tables, simt_convert_tables,
    simt_float8_tables,
};

static bool find_modifier(const char *text, modifier_set *modifier) {
    static const char *const texts[] = {
#define X(name, text) text,
        SIMT_MODIFIERS(X)
#undef X
    };
    for (int i = 0; i < MODIFIER_COUNT; i++)
        if (strcmp(texts[i], text) == 0) {
            *modifier = (modifier_set)1 << i;
            return true;
        }
    return false;
}

/* Every modifier is a type or one of the set; twice the same is nothing known. */
static bool read_modifiers(const struct instruction *instruction, struct lane_key *key) {
    uint32_t type_count = 0;
    for (uint32_t m = 0; m < instruction->modifier_count; m++) {
        modifier_set modifier;
        enum type type = simt_type_find(instruction->modifiers[m]);
        if (type != TYPE_NONE) {
            if (type_count == ROW_TYPES_MAX) return false;
            key->types[type_count++] = (uint8_t)type;
        } else {
            if (!find_modifier(instruction->modifiers[m], &modifier) || key->modifiers & modifier)
                return false;
            key->modifiers |= modifier;
        }
    }
    return true;
}

/* Operands as lane functions count them: a pair is two. */
static bool read_operands(const struct instruction *instruction, struct lane_key *key) {
    for (uint32_t o = 0; o < instruction->operand_count; o++) {
        const struct operand *operand = &instruction->operands[o];
        bool is_pair = operand->kind == OPERAND_PAIR;
        for (uint32_t e = 0; e < (is_pair ? operand->element_count : 1); e++) {
            if (key->count == LANE_OPERANDS_MAX) return false;
            enum operand_kind kind = is_pair ? operand->elements[e].kind : operand->kind;
            key->registers |= (uint32_t)(kind == OPERAND_REGISTER) << key->count++;
        }
    }
    return true;
}

static void read_parts(const struct instruction *instruction, struct lane_key *key) {
    for (uint32_t o = 0; o < instruction->operand_count && o < LANE_PARTS_MAX; o++)
        key->parts[o] = instruction->operands[o].part;
}

static bool has_widths(const struct lane_operation *operation, const struct lane_key *key) {
    for (uint32_t o = 0; o < key->count; o++)
        if (key->registers >> o & 1 && key->widths[o] != simt_width(operation->types[o])) return false;
    return true;
}

static bool is_row(const struct lane_row *row, const struct lane_key *key) {
    return row->modifiers == key->modifiers && row->count == key->count &&
           memcmp(row->types, key->types, sizeof key->types) == 0 && simt_is_word(row->base, key->base);
}

static void fill(struct lane_operation *operation, const struct lane_row *row) {
    *operation = (struct lane_operation){.function = simt_lanes_fused(row->function),
                                         .count = row->count,
                                         .destinations = row->destinations,
                                         .reads_carry = row->flags & ROW_READS_CARRY,
                                         .writes_carry = row->flags & ROW_WRITES_CARRY,
                                         .is_approximate = row->flags & ROW_APPROXIMATE};
    for (uint32_t o = 0; o < row->count; o++) operation->types[o] = (enum type)row->operands[o];
}

static bool find_row(const struct lane_table *table, const struct lane_key *key,
                     struct lane_operation *operation) {
    for (size_t r = 0; r < table->count; r++)
        if (is_row(&table->rows[r], key)) {
            fill(operation, &table->rows[r]);
            return has_widths(operation, key);
        }
    return false;
}

static bool find(const struct lane_key *key, struct lane_operation *operation) {
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        for (const struct lane_table *table = tables[i]; table->rows; table++)
            if (find_row(table, key, operation)) return true;
    if (simt_compare_find(key, operation) || simt_video_find(key, operation)) return has_widths(operation, key);
    return simt_convert_find(key, operation);
}

lane_function *simt_lanes_plain(const char *base, const char *type, uint32_t operand_count) {
    struct lane_operation operation;
    struct instruction instruction = {
        .base = base, .modifiers = {type}, .modifier_count = 1, .operand_count = operand_count};
    for (uint32_t o = 0; o < operand_count; o++) instruction.operands[o].kind = OPERAND_IMMEDIATE;
    return simt_lanes_find(&instruction, NULL, &operation) ? operation.function : NULL;
}

bool simt_lanes_find(const struct instruction *instruction, const enum width *widths,
                     struct lane_operation *operation) {
    struct lane_key key = {.base = instruction->base, .widths = widths};
    read_parts(instruction, &key);
    return read_modifiers(instruction, &key) && read_operands(instruction, &key) && find(&key, operation);
}

bool simt_lanes_shape(const struct instruction *instruction, uint32_t operand_count,
                      struct lane_operation *operation) {
    struct lane_key key = {.base = instruction->base, .count = operand_count};
    read_parts(instruction, &key);
    return operand_count <= LANE_OPERANDS_MAX && read_modifiers(instruction, &key) && find(&key, operation);
}
