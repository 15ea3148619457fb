/* Instructions, by their shape: an opcode, operands between commas, a semicolon.  What they do is nobody's
 * business here. */
#include "parser.h"

#include <stdio.h>
#include <string.h>

/* ---- opcodes */

static bool is_approximate(const char *modifier) {
    return !strcmp(modifier, "approx") || !strcmp(modifier, "full");
}

/* Cut once for each opcode.  A few tensor instructions have more modifiers than MODIFIERS_MAX: the others
 * are left out. */
static const struct opcode *cut_opcode(struct parser *parser, struct name *name) {
    if (name->opcode) return name->opcode;
    struct opcode *opcode = simt_parse_allocate(parser, parser->scratch, sizeof *opcode);
    char *text = simt_parse_allocate(parser, parser->arena, name->length + 1);
    opcode->base = memcpy(text, name->text, name->length);
    while ((text = strchr(text, '.'))) {
        *text++ = '\0';
        if (opcode->modifier_count == MODIFIERS_MAX) continue;
        opcode->modifiers[opcode->modifier_count++] = text;
    }
    simt_legacy_opcode(parser->module->target, opcode);
    for (uint32_t i = 0; i < opcode->modifier_count; i++)
        opcode->is_approximate |= is_approximate(opcode->modifiers[i]);
    return name->opcode = opcode;
}

/* ---- operands */

static struct operand parse_operand(struct parser *parser);
static struct operand parse_simple(struct parser *parser);

/* PTX's own registers: %tid.x is "tid.x". */
static bool is_special(const char *name) {
    static const char names[] =
        " %tid %ntid %laneid %warpid %nwarpid %ctaid %nctaid %smid %nsmid %gridid %is_explicit_cluster "
        "%clusterid"
        " %nclusterid %cluster_ctaid %cluster_nctaid %cluster_ctarank %cluster_nctarank %lanemask_eq "
        "%lanemask_le"
        " %lanemask_lt %lanemask_ge %lanemask_gt %clock %clock_hi %clock64 %globaltimer %globaltimer_lo"
        " %globaltimer_hi %total_smem_size %aggr_smem_size %dynamic_smem_size %current_graph_exec WARP_SZ ";
    static const char *const prefixes[] = {"%pm", "%envreg", "%reserved_smem_offset_"};
    char word[32];
    snprintf(word, sizeof word, " %.*s ", (int)strcspn(name, "."), name);
    for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++)
        if (!strncmp(prefixes[i], name, strlen(prefixes[i]))) return true;
    return strstr(names, word);
}

/* "%r1.b0", a byte of a register, which only video instructions take: parsed as special, and known to nobody, until it is
 * known whose operand it is. */
static void read_part(struct parser *parser, const char *name, struct operand *operand) {
    const char *dot = strchr(name, '.');
    if (!dot) return;
    const struct symbol *symbol = simt_parse_find(parser, simt_parse_name(parser, name, (size_t)(dot - name)));
    if (!symbol || symbol->kind != SYMBOL_REGISTER) return;
    operand->part = dot + 1;
    operand->index = symbol->index;
}

/* The operands of vadd, vset and so on. */
static void take_parts(struct instruction *instruction) {
    if (*instruction->base != 'v' || simt_is_base(instruction, "vote")) return;
    for (uint32_t o = 0; o < instruction->operand_count; o++)
        if (instruction->operands[o].part) instruction->operands[o].kind = OPERAND_REGISTER;
}

static struct operand unknown(struct parser *parser, struct name *name) {
    if (!strcmp(name->text, "_")) return (struct operand){.kind = OPERAND_SINK};
    struct operand operand = {.kind = OPERAND_LABEL};
    read_part(parser, name->text, &operand);
    const bool is_known = operand.part || is_special(name->text);
    if (is_known) operand.kind = OPERAND_SPECIAL;
    if (is_known) operand.special = name->text + (name->text[0] == '%');
    return operand;
}

/* A name by itself.  What may be a label is OPERAND_LABEL, and completed when the scope ends. */
static struct operand parse_name(struct parser *parser) {
    struct name *name = simt_parse_word(parser, "an operand");
    const struct symbol *symbol = simt_parse_find(parser, name);
    struct operand operand = {0};
    if (!symbol) return unknown(parser, name);
    switch (symbol->kind) {
    case SYMBOL_REGISTER:
        operand.kind = OPERAND_REGISTER;
        operand.index = symbol->index;
        break;
    case SYMBOL_VECTOR:
        operand.kind = OPERAND_VECTOR;
        operand.elements = symbol->elements;
        operand.element_count = symbol->count;
        break;
    case SYMBOL_VARIABLE:
        operand.kind = OPERAND_ADDRESS;
        operand.variable = symbol->variable;
        operand.bits = simt_parse_offset(parser);
        break;
    case SYMBOL_FUNCTION:
        operand.kind = OPERAND_FUNCTION;
        operand.function = symbol->function;
        break;
    default: operand.kind = OPERAND_LABEL;
    }
    return operand;
}

static void want_declared(struct parser *parser, const struct token *token, const struct operand *operand) {
    if (operand->kind == OPERAND_LABEL)
        simt_parse_fail(parser, token, "not declared: %s", simt_parse_quote(token).text);
}

/* Operands separated by commas, up to `end`, appended to those already there. */
static void parse_list(struct parser *parser, struct operand *list, const char *end) {
    struct operand *elements = (struct operand *)list->elements;
    while (!simt_parse_at(parser, end)) {
        struct token token = parser->token;
        struct operand element = parse_operand(parser);
        want_declared(parser, &token, &element);
        elements = simt_parse_grow(parser, elements, list->element_count, sizeof *elements);
        elements[list->element_count++] = element;
        if (!simt_parse_take(parser, ",")) break;
    }
    simt_parse_want(parser, end);
    list->elements = elements;
}

/* "%r1+8", "name-4", "0x100" */
static struct operand parse_address(struct parser *parser) {
    struct token token = parser->token;
    struct operand address = {.kind = OPERAND_ADDRESS};
    if (simt_parse_at_constant(parser)) {
        struct constant value = simt_parse_constant(parser);
        if (value.kind != IMMEDIATE_INTEGER)
            simt_parse_fail(parser, &token, "not an address: %s", simt_parse_quote(&token).text);
        address.bits = value.bits;
        return address;
    }
    struct operand base = parse_name(parser);
    if (base.kind == OPERAND_REGISTER) {
        address.has_base_register = true;
        address.index = base.index;
        address.bits = simt_parse_offset(parser);
    } else if (base.kind == OPERAND_ADDRESS) {
        address = base;
    } else {
        simt_parse_fail(parser, &token, "neither a register nor a variable: %s",
                        simt_parse_quote(&token).text);
    }
    return address;
}

/* "[%rd1+8]"; of several parts, as a texture's "[%rd1, {%f1, %f2}]", a vector is made. */
static struct operand parse_brackets(struct parser *parser) {
    struct operand address = parse_address(parser);
    if (simt_parse_take(parser, ",")) {
        struct operand *first = simt_parse_grow(parser, NULL, 0, sizeof *first);
        *first = address;
        address = (struct operand){.kind = OPERAND_VECTOR, .elements = first, .element_count = 1};
        parse_list(parser, &address, "]");
    } else {
        simt_parse_want(parser, "]");
    }
    address.is_bracketed = true;
    return address;
}

static struct operand parse_immediate(struct parser *parser) {
    struct constant value = simt_parse_constant(parser);
    return (struct operand){.kind = OPERAND_IMMEDIATE, .immediate = value.kind, .bits = value.bits};
}

/* "!%p1" or "!0" */
static struct operand parse_negation(struct parser *parser) {
    struct token token = parser->token;
    struct operand operand = parse_simple(parser);
    if (operand.kind == OPERAND_IMMEDIATE && operand.immediate == IMMEDIATE_INTEGER)
        operand.bits = !operand.bits;
    else if (operand.kind == OPERAND_REGISTER)
        operand.is_negated = !operand.is_negated;
    else
        simt_parse_fail(parser, &token, "expected a predicate after '!', found %s",
                        simt_parse_quote(&token).text);
    return operand;
}

static struct operand parse_simple(struct parser *parser) {
    struct operand operand = {.kind = OPERAND_VECTOR};
    simt_parse_enter(parser);
    if (simt_parse_take(parser, "["))
        operand = parse_brackets(parser);
    else if (simt_parse_take(parser, "!"))
        operand = parse_negation(parser);
    else if (simt_parse_take(parser, "{"))
        parse_list(parser, &operand, "}");
    else
        operand = simt_parse_at_constant(parser) ? parse_immediate(parser) : parse_name(parser);
    simt_parse_leave(parser);
    return operand;
}

/* "%p1|%p2", or one operand alone */
static struct operand parse_operand(struct parser *parser) {
    struct token tokens[2] = {parser->token};
    struct operand operand = parse_simple(parser);
    if (!simt_parse_take(parser, "|")) return operand;
    struct operand *elements = simt_parse_allocate(parser, parser->arena, 2 * sizeof *elements);
    elements[0] = operand;
    tokens[1] = parser->token;
    elements[1] = parse_simple(parser);
    for (int i = 0; i < 2; i++) want_declared(parser, &tokens[i], &elements[i]);
    return (struct operand){.kind = OPERAND_PAIR, .elements = elements, .element_count = 2};
}

/* A call has lists, "(a, b)", where others have constants. */
static struct operand parse_call_operand(struct parser *parser) {
    if (!simt_parse_take(parser, "(")) return parse_operand(parser);
    struct operand list = {.kind = OPERAND_VECTOR};
    parse_list(parser, &list, ")");
    return list;
}

/* ---- instructions */

int32_t simt_parse_guard(struct parser *parser) {
    struct token token = parser->token;
    const struct symbol *symbol = simt_parse_find(parser, simt_parse_word(parser, "a predicate"));
    if (!symbol || symbol->kind != SYMBOL_REGISTER || symbol->type != TYPE_PRED)
        simt_parse_fail(parser, &token, "not a predicate register: %s", simt_parse_quote(&token).text);
    return (int32_t)symbol->index;
}

static bool is_transfer(const struct instruction *instruction) {
    return simt_is_base(instruction, "ld") || simt_is_base(instruction, "st") || simt_is_base(instruction, "ldu");
}

/* "{%r1}" for "%r1", as LLVM and Triton write it: ptxas takes lists of one where it takes longer ones. */
static struct operand without_braces(const struct instruction *instruction, const struct operand *operand) {
    const bool is_list_of_one = operand->kind == OPERAND_VECTOR && !operand->is_bracketed && operand->element_count == 1;
    const bool may_be_list = is_transfer(instruction) || simt_is_base(instruction, "mov");
    return is_list_of_one && may_be_list ? *operand->elements : *operand;
}

/* The "[3]" of "name[3]" (PTX ISA, "Arrays as Operands"): what is there, of a load or store, else its address. */
static void parse_index(struct parser *parser, const struct instruction *instruction, struct operand *array) {
    const bool is_name = array->kind == OPERAND_ADDRESS && array->variable && !array->is_bracketed && !array->bits;
    if (!is_name || !simt_parse_take(parser, "[")) return;
    struct token token = parser->token;
    const bool is_constant = simt_parse_at_constant(parser);
    const struct constant index = is_constant ? simt_parse_constant(parser) : (struct constant){0};
    if (!is_constant || index.kind != IMMEDIATE_INTEGER)
        simt_parse_fail(parser, &token, "an index other than a constant integer is not supported, found %s: add it to the address",
                        simt_parse_quote(&token).text);
    array->bits = index.bits * simt_type_nbytes(array->variable->type);
    array->is_bracketed = is_transfer(instruction);
    simt_parse_want(parser, "]");
}

/* No instruction of the simulator has as many as OPERANDS_MAX; of the tensor instructions that have more, the
 * others are left out. */
static void parse_operands(struct parser *parser, struct instruction *instruction) {
    struct operand surplus;
    bool is_call = simt_is_base(instruction, "call");
    if (simt_parse_at(parser, ";") || simt_parse_at(parser, "}")) return;
    do {
        bool is_kept = instruction->operand_count < OPERANDS_MAX;
        struct operand *operand = is_kept ? &instruction->operands[instruction->operand_count++] : &surplus;
        struct pending label = {.token = parser->token};
        *operand = is_call ? parse_call_operand(parser) : parse_operand(parser);
        *operand = without_braces(instruction, operand);
        parse_index(parser, instruction, operand);
        if (operand->kind != OPERAND_LABEL || !is_kept) continue;
        label.name = simt_parse_name(parser, label.token.text, label.token.length);
        label.operand = operand;
        simt_parse_pend(parser, &label);
    } while (simt_parse_take(parser, ","));
}

void simt_parse_instruction(struct parser *parser, struct name *name, const struct token *token,
                            int32_t guard, bool guard_is_negated) {
    struct simt_module *module = parser->module;
    uint32_t pc = module->instruction_count;
    if (pc == parser->instruction_capacity)
        simt_parse_fail(parser, token, "more than %d instructions", INSTRUCTIONS_MAX);
    const struct opcode *opcode = cut_opcode(parser, name);
    struct instruction *instruction = &module->instructions[pc];
    *instruction = (struct instruction){.opcode = name->text,
                                        .base = opcode->base,
                                        .modifier_count = opcode->modifier_count,
                                        .guard = guard,
                                        .guard_is_negated = guard_is_negated,
                                        .reconvergence = NO_PC};
    memcpy(instruction->modifiers, opcode->modifiers, sizeof instruction->modifiers);
    parse_operands(parser, instruction);
    take_parts(instruction);
    if (!simt_parse_take(parser, ";")) simt_parse_expected(parser, "';' after an instruction");
    module->places[pc] = (simt_place){.ptx_line = token->line,
                                      .ptx_column = token->column,
                                      .opcode = name->text,
                                      .approximate = opcode->is_approximate};
    parser->positions[pc] = parser->position;
    module->instruction_count++;
}
