/* Functions: their headers, and the statements of their bodies other than instructions. */
#include "parser.h"

#include <stdio.h>
#include <string.h>

/* ---- headers */

/* Parameters of a function lie one after the other, each aligned. */
static uint64_t place_parameter(struct parser *parser, const struct token *token, struct variable *variable,
                                uint64_t nbytes) {
    variable->is_parameter = true;
    variable->offset = (nbytes + variable->alignment - 1) / variable->alignment * variable->alignment;
    nbytes = variable->offset + variable->nbytes;
    if (nbytes > PARAMETERS_NBYTES_MAX)
        simt_parse_fail(parser, token, "parameters of more than %d bytes: %s", PARAMETERS_NBYTES_MAX,
                        simt_parse_quote(token).text);
    return nbytes;
}

/* "(.param .b32 a, .param .align 8 .b8 b[24])" */
static struct variable **parse_parameters(struct parser *parser, uint32_t *count, uint64_t *nbytes) {
    struct variable **variables = NULL;
    *count = 0;
    *nbytes = 0;
    simt_parse_want(parser, "(");
    while (!simt_parse_at(parser, ")")) {
        simt_parse_want(parser, ".param");
        struct declaration declaration = simt_parse_declaration(parser);
        struct token token = parser->token;
        variables = simt_parse_grow(parser, variables, *count, sizeof *variables);
        struct variable *variable = simt_parse_declarator(parser, &declaration, SIMT_PARAMETER, false);
        *nbytes = place_parameter(parser, &token, variable, *nbytes);
        variables[(*count)++] = variable;
        if (!simt_parse_take(parser, ",")) break;
    }
    simt_parse_want(parser, ")");
    return variables;
}

/* "2, 1, 1", of which what is left out is 1 */
static void parse_extents(struct parser *parser, const char *what, uint32_t extents[3]) {
    enum { AXIS_MAX = 1024 };
    bool goes_on = true;
    for (int d = 0; d < 3; d++) {
        struct token token = parser->token;
        struct constant value = {.bits = 1};
        if (goes_on) value = simt_parse_constant(parser);
        if (value.kind != IMMEDIATE_INTEGER || value.bits == 0 || value.bits > AXIS_MAX)
            simt_parse_fail(parser, &token, "not a number of %s: %s", what, simt_parse_quote(&token).text);
        extents[d] = (uint32_t)value.bits;
        goes_on = goes_on && simt_parse_take(parser, ",");
    }
}

/* ".maxntid 256, 1, 1" and its like, some of which promise something to an optimiser alone. */
static void parse_attributes(struct parser *parser, struct function *head) {
    while (!simt_parse_at(parser, "{") && !simt_parse_at(parser, ";")) {
        bool is_attribute = simt_parse_at_directive(parser) || simt_parse_at(parser, ",") ||
                            parser->token.kind == TOKEN_NUMBER;
        if (!is_attribute) simt_parse_expected(parser, "'{' or ';' after the head of a function");
        if (simt_parse_take(parser, ".reqnctapercluster"))
            parse_extents(parser, "blocks in a cluster", head->cluster);
        else if (simt_parse_take(parser, ".maxntid"))
            parse_extents(parser, "threads in a block", head->block_most);
        else if (simt_parse_take(parser, ".reqntid"))
            parse_extents(parser, "threads in a block", head->block_required);
        else if (simt_parse_take(parser, ".pragma"))
            simt_parse_skip_to(parser, ";");
        else
            simt_parse_advance(parser);
    }
}

/* "(.param .b32 result) name (.param .b64 a) .noreturn" */
static struct name *parse_head(struct parser *parser, struct function *head, struct token *token) {
    if (simt_parse_at(parser, "("))
        head->results = parse_parameters(parser, &head->result_count, &head->result_nbytes);
    for (uint32_t r = 0; r < head->result_count; r++) head->results[r]->is_result = true;
    *token = parser->token;
    struct name *name = simt_parse_word(parser, "the name of a function");
    if (simt_parse_at(parser, "("))
        head->parameters = parse_parameters(parser, &head->parameter_count, &head->parameter_nbytes);
    parse_attributes(parser, head);
    return name;
}

static bool are_same(struct variable *const *variables, struct variable *const *others, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        bool is_same = variables[i]->nbytes == others[i]->nbytes &&
                       simt_type_nbytes(variables[i]->type) == simt_type_nbytes(others[i]->type);
        if (!is_same) return false;
    }
    return true;
}

static bool is_same_head(const struct function *function, const struct function *other) {
    return function->is_kernel == other->is_kernel && function->parameter_count == other->parameter_count &&
           function->result_count == other->result_count &&
           are_same(function->parameters, other->parameters, function->parameter_count) &&
           are_same(function->results, other->results, function->result_count);
}

void simt_parse_same_head(struct parser *parser, const struct token *token, const struct function *function,
                          const struct function *other) {
    if (is_same_head(function, other)) return;
    simt_parse_fail(parser, token, "declared differently before: %s", simt_parse_quote(token).text);
}

/* One function, however often it is declared. */
static struct function *declare(struct parser *parser, struct name *name, const struct token *token) {
    struct simt_module *module = parser->module;
    struct symbol *symbol = name->symbol;
    if (symbol && symbol->kind == SYMBOL_FUNCTION) return symbol->function;
    struct function *function = simt_parse_allocate(parser, parser->arena, sizeof *function);
    function->name = name->text;
    simt_parse_bind(parser, &name->symbol, SYMBOL_FUNCTION, 0, token)->function = function;
    module->functions =
        simt_parse_grow(parser, module->functions, module->function_count, sizeof *module->functions);
    function->index = module->function_count;
    module->functions[module->function_count++] = function;
    return function;
}

static void add_kernel(struct parser *parser, const struct function *kernel) {
    struct simt_module *module = parser->module;
    module->kernels = simt_parse_grow(parser, module->kernels, module->kernel_count, sizeof *module->kernels);
    module->kernels[module->kernel_count++] = kernel;
}

/* ---- .loc */

static struct name *position_name(struct parser *parser, const struct name *file, uint64_t line,
                                  uint64_t column) {
    char text[80];
    int length = snprintf(text, sizeof text, "%.30s %llu %llu", file->text, (unsigned long long)line,
                          (unsigned long long)column);
    return simt_parse_name(parser, text, (size_t)length);
}

/* "1 12 3": file, line, column */
static struct name *parse_position(struct parser *parser, const struct name **file, uint32_t *line) {
    struct token number = parser->token;
    simt_parse_number(parser, "the number of a file", UINT32_MAX);
    *file = simt_parse_name(parser, number.text, number.length);
    *line = (uint32_t)simt_parse_number(parser, "a line", UINT32_MAX);
    return position_name(parser, *file, *line, simt_parse_number(parser, "a column", UINT32_MAX));
}

/* What is inlined where something else was inlined belongs to the outermost place. */
static void set_outer(struct position *position, const struct name *at) {
    position->caller_file = position->outer_file;
    position->caller_line = position->outer_line;
    if (!at->symbol || !at->symbol->position) return;
    position->caller = at->symbol->position;
    position->outer_file = at->symbol->position->outer_file;
    position->outer_line = at->symbol->position->outer_line;
}

/* Line 0 is the compiler's own work: it belongs to the line before.  Behind a label that line is one of another block, so
 * what begins a block there belongs to the block's next line. */
static void begin_position(struct parser *parser, const struct position *position) {
    const uint32_t count = parser->module->instruction_count;
    for (uint32_t pc = parser->label_pc; parser->is_unplaced && pc < count; pc++) parser->positions[pc] = position;
    parser->is_unplaced = false;
    parser->position = position;
}

/* ".loc 1 12 3, function_name $L__info_string0+4, inlined_at 1 20 5" */
static void parse_loc(struct parser *parser) {
    struct position *position = simt_parse_allocate(parser, parser->scratch, sizeof *position);
    struct token token = parser->token;
    struct name *here = parse_position(parser, &position->file, &position->line), *at = NULL;
    while (simt_parse_take(parser, ",")) {
        if (simt_parse_take(parser, "function_name")) {
            simt_parse_word(parser, "the name of a function");
            simt_parse_offset(parser);
        } else if (simt_parse_take(parser, "inlined_at")) {
            at = parse_position(parser, &position->outer_file, &position->outer_line);
        } else {
            simt_parse_expected(parser, "function_name or inlined_at");
        }
    }
    if (at) {
        set_outer(position, at);
        if (!here->symbol) simt_parse_bind(parser, &here->symbol, SYMBOL_POSITION, 1, &token);
        here->symbol->position = position;
    }
    if (position->line) begin_position(parser, position);
    else parser->is_unplaced |= parser->module->instruction_count == parser->label_pc;
}

/* ---- registers */

/* "v" of ".reg .v4 .f32 v": registers v.x to v.w, and all of them together. */
static void declare_vector(struct parser *parser, struct name *name, const struct token *token,
                           const struct declaration *declaration) {
    static const char components[][3] = {".x", ".y", ".z", ".w"}, colors[][3] = {".r", ".g", ".b", ".a"};
    struct operand *elements =
        simt_parse_allocate(parser, parser->arena, declaration->vector * sizeof *elements);
    size_t length = name->length + 2;
    char *text = simt_parse_allocate(parser, parser->scratch, length);
    memcpy(text, name->text, name->length);
    for (uint32_t i = 0; i < declaration->vector; i++) {
        memcpy(text + name->length, components[i], 2);
        struct name *component = simt_parse_name(parser, text, length);
        memcpy(text + name->length, colors[i], 2);
        struct name *color = simt_parse_name(parser, text, length);
        uint32_t index = simt_parse_add_register(parser, component->text, declaration->type);
        elements[i] = (struct operand){.kind = OPERAND_REGISTER, .index = index};
        simt_parse_bind(parser, &component->symbol, SYMBOL_REGISTER, parser->depth, token)->index = index;
        simt_parse_bind(parser, &color->symbol, SYMBOL_REGISTER, parser->depth, token)->index = index;
        component->symbol->type = color->symbol->type = declaration->type;
    }
    struct symbol *symbol = simt_parse_bind(parser, &name->symbol, SYMBOL_VECTOR, parser->depth, token);
    symbol->elements = elements;
    symbol->count = declaration->vector;
}

static void declare_register(struct parser *parser, const struct declaration *declaration) {
    struct token token = parser->token;
    struct name *name = simt_parse_word(parser, "the name of a register");
    struct symbol *symbol;
    if (declaration->vector > 1) {
        declare_vector(parser, name, &token, declaration);
    } else if (simt_parse_take(parser, "<")) {
        symbol = simt_parse_bind(parser, &name->registers, SYMBOL_REGISTERS, parser->depth, &token);
        symbol->count = (uint32_t)simt_parse_number(parser, "a number of registers", REGISTERS_MAX);
        symbol->type = declaration->type;
        simt_parse_want(parser, ">");
    } else {
        symbol = simt_parse_bind(parser, &name->symbol, SYMBOL_REGISTER, parser->depth, &token);
        symbol->index = simt_parse_add_register(parser, name->text, declaration->type);
        symbol->type = declaration->type;
    }
}

static void parse_registers(struct parser *parser) {
    struct declaration declaration = simt_parse_declaration(parser);
    if (declaration.is_opaque || (declaration.type == TYPE_PRED && declaration.vector > 1))
        simt_parse_fail(parser, &parser->token, "not a type of registers: %s",
                        simt_parse_quote(&parser->token).text);
    do declare_register(parser, &declaration);
    while (simt_parse_take(parser, ","));
    simt_parse_want(parser, ";");
}

/* ---- labels and what they name */

static void parse_branch_targets(struct parser *parser, struct table *table) {
    do {
        struct pending label = {.token = parser->token, .table = table, .index = table->count};
        label.name = simt_parse_word(parser, "a label");
        table->targets = simt_parse_grow(parser, table->targets, table->count, sizeof *table->targets);
        table->count++;
        simt_parse_pend(parser, &label);
    } while (simt_parse_take(parser, ","));
}

static void parse_call_targets(struct parser *parser, struct table *table) {
    do {
        struct token token = parser->token;
        const struct symbol *symbol = simt_parse_find(parser, simt_parse_word(parser, "a function"));
        if (!symbol || symbol->kind != SYMBOL_FUNCTION)
            simt_parse_fail(parser, &token, "not a function: %s", simt_parse_quote(&token).text);
        table->functions = simt_parse_grow(parser, table->functions, table->count, sizeof *table->functions);
        table->functions[table->count++] = symbol->function;
        if (!is_same_head(table->functions[0], symbol->function))
            simt_parse_fail(parser, &token,
                            "its parameters or result differ from those of the first of the .calltargets: %s",
                            simt_parse_quote(&token).text);
    } while (simt_parse_take(parser, ","));
}

/* "(.param .b32 _) _ (.param .b64 _);" */
static struct function *parse_prototype(struct parser *parser) {
    struct function *prototype = simt_parse_allocate(parser, parser->arena, sizeof *prototype);
    simt_parse_open_scope(parser);
    parse_head(parser, prototype, &(struct token){0});
    simt_parse_close_scope(parser);
    simt_parse_want(parser, ";");
    return prototype;
}

static void parse_label(struct parser *parser, struct name *name, const struct token *token) {
    struct symbol *symbol = simt_parse_bind(parser, &name->symbol, SYMBOL_LABEL, parser->depth, token);
    symbol->index = parser->label_pc = parser->module->instruction_count;
    parser->is_unplaced = false;
    bool is_branch = simt_parse_at(parser, ".branchtargets");
    if (is_branch || simt_parse_at(parser, ".calltargets")) {
        struct table *table = simt_parse_allocate(parser, parser->arena, sizeof *table);
        table->name = name->text;
        symbol->table = table;
        simt_parse_advance(parser);
        (is_branch ? parse_branch_targets : parse_call_targets)(parser, table);
        simt_parse_want(parser, ";");
    } else if (simt_parse_take(parser, ".callprototype")) {
        symbol->is_prototype = true;
        symbol->function = parse_prototype(parser);
    }
}

/* ---- bodies */

static void parse_directive(struct parser *parser) {
    enum simt_space space;
    bool is_extern = simt_parse_take(parser, ".extern");
    if (simt_parse_space(parser, &space) && !(is_extern && (space == SIMT_PARAMETER || space == SIMT_LOCAL)))
        simt_parse_variables(parser, is_extern);
    else if (is_extern)
        simt_parse_expected(parser, "a state space");
    else if (simt_parse_take(parser, ".reg"))
        parse_registers(parser);
    else if (simt_parse_take(parser, ".loc"))
        parse_loc(parser);
    else if (simt_parse_take(parser, ".pragma"))
        simt_parse_skip_to(parser, ";");
    else
        simt_parse_expected(parser, "a directive of a function");
}

static void parse_guarded(struct parser *parser) {
    bool is_negated = simt_parse_take(parser, "!");
    int32_t guard = simt_parse_guard(parser);
    struct token token = parser->token;
    simt_parse_instruction(parser, simt_parse_word(parser, "an instruction"), &token, guard, is_negated);
}

static void parse_statement(struct parser *parser) {
    struct token token = parser->token;
    if (simt_parse_take(parser, ";")) return;
    if (simt_parse_take(parser, "@")) {
        parse_guarded(parser);
    } else if (simt_parse_at_directive(parser)) {
        parse_directive(parser);
    } else {
        struct name *name = simt_parse_word(parser, "an instruction, a label or '}'");
        if (simt_parse_take(parser, ":"))
            parse_label(parser, name, &token);
        else
            simt_parse_instruction(parser, name, &token, -1, false);
    }
}

static void parse_body(struct parser *parser, struct function *function) {
    uint32_t depth = parser->depth;
    parser->function = function;
    parser->position = NULL;
    parser->label_pc = parser->module->instruction_count;
    parser->is_unplaced = false;
    function->begin = parser->module->instruction_count;
    simt_parse_want(parser, "{");
    while (parser->depth > depth || !simt_parse_at(parser, "}")) {
        if (simt_parse_take(parser, "{"))
            simt_parse_open_scope(parser);
        else if (simt_parse_take(parser, "}"))
            simt_parse_close_scope(parser);
        else
            parse_statement(parser);
    }
    function->end = parser->module->instruction_count;
    function->has_body = true;
}

/* Behind ".entry" or ".func". */
void simt_parse_function(struct parser *parser, bool is_kernel) {
    struct function head = {.is_kernel = is_kernel};
    struct token token;
    simt_parse_open_scope(parser);
    struct name *name = parse_head(parser, &head, &token);
    if (is_kernel && head.result_count)
        simt_parse_fail(parser, &token, "a kernel has no result: %s", simt_parse_quote(&token).text);

    bool is_declared = name->symbol && name->symbol->kind == SYMBOL_FUNCTION;
    struct function *function = declare(parser, name, &token);
    bool is_body = simt_parse_at(parser, "{");
    if (is_body && function->has_body)
        simt_parse_fail(parser, &token, "defined twice: %s", simt_parse_quote(&token).text);
    if (is_declared) simt_parse_same_head(parser, &token, &head, function);
    if (!function->has_body) {
        head.name = function->name;
        head.index = function->index;
        *function = head;
    }
    if (is_body) {
        parse_body(parser, function);
        if (is_kernel) add_kernel(parser, function);
    }
    simt_parse_close_scope(parser);
    parser->function = NULL;
    simt_parse_advance(parser); /* over "}" or ";" */
}
