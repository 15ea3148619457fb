/* Declarations of variables and parameters, and their initial values. */
#include "parser.h"

#include <string.h>

/* ---- what comes before the names */

bool simt_parse_space(const struct parser *parser, enum simt_space *space) {
    static const struct {
        const char *name;
        enum simt_space space;
    } spaces[] = {{".global", SIMT_GLOBAL},  {".shared", SIMT_SHARED},   {".local", SIMT_LOCAL},
                  {".const", SIMT_CONSTANT}, {".param", SIMT_PARAMETER}, {".tex", SIMT_GLOBAL}};
    for (size_t i = 0; i < sizeof spaces / sizeof spaces[0]; i++) {
        if (!simt_parse_at(parser, spaces[i].name)) continue;
        *space = spaces[i].space;
        return true;
    }
    return false;
}

static uint32_t parse_alignment(struct parser *parser) {
    struct token token = parser->token;
    uint64_t alignment = simt_parse_number(parser, "an alignment", 1 << 16);
    if (alignment == 0 || alignment & (alignment - 1))
        simt_parse_fail(parser, &token, "an alignment must be a power of two, found %s",
                        simt_parse_quote(&token).text);
    return (uint32_t)alignment;
}

/* ".ptr .global .align 4": what a parameter points at. */
static void skip_pointee(struct parser *parser) {
    enum simt_space space;
    while (simt_parse_space(parser, &space)) simt_parse_advance(parser);
    if (simt_parse_take(parser, ".align")) parse_alignment(parser);
}

static enum type type_here(const struct parser *parser) {
    char text[16] = "";
    const struct token *token = &parser->token;
    if (token->kind == TOKEN_WORD && token->length > 1 && token->length < sizeof text)
        memcpy(text, token->text + 1, token->length - 1);
    return simt_type_find(text);
}

static bool take_opaque(struct parser *parser) {
    return simt_parse_take(parser, ".texref") || simt_parse_take(parser, ".samplerref") ||
           simt_parse_take(parser, ".surfref");
}

static uint32_t take_vector(struct parser *parser) {
    return simt_parse_take(parser, ".v2") ? 2 : simt_parse_take(parser, ".v4") ? 4 : 1;
}

/* "(.managed)", or others, which change nothing here. */
static bool take_attribute(struct parser *parser) {
    simt_parse_want(parser, "(");
    bool is_managed = simt_parse_at(parser, ".managed");
    simt_parse_skip_to(parser, ")");
    return is_managed;
}

struct declaration simt_parse_declaration(struct parser *parser) {
    struct declaration declaration = {.vector = 1};
    while (simt_parse_at_directive(parser)) {
        enum type type = type_here(parser);
        uint32_t vector = take_vector(parser);
        if (vector > 1) {
            declaration.vector = vector;
        } else if (type != TYPE_NONE && declaration.type == TYPE_NONE) {
            declaration.type = type;
            simt_parse_advance(parser);
        } else if (simt_parse_take(parser, ".align")) {
            declaration.alignment = parse_alignment(parser);
        } else if (simt_parse_take(parser, ".ptr")) {
            skip_pointee(parser);
        } else if (simt_parse_take(parser, ".attribute")) {
            declaration.is_managed = take_attribute(parser) || declaration.is_managed;
        } else if (take_opaque(parser)) {
            declaration.is_opaque = true;
            declaration.type = TYPE_B64;
        } else {
            simt_parse_expected(parser, "a type or a name");
        }
    }
    if (declaration.type == TYPE_NONE) simt_parse_expected(parser, "a type");
    return declaration;
}

/* ---- names and dimensions */

/* "[4][3]"; 0 for "[]", which the first may be. */
static uint32_t parse_dimensions(struct parser *parser, uint64_t *dimensions) {
    uint32_t count = 0;
    while (simt_parse_take(parser, "[")) {
        struct token token = parser->token;
        struct constant value = {0};
        if (count == DIMENSIONS_MAX)
            simt_parse_fail(parser, &token, "an array of more than %d dimensions", DIMENSIONS_MAX);
        if (count || !simt_parse_at(parser, "]")) value = simt_parse_constant(parser);
        bool is_sound = value.kind == IMMEDIATE_INTEGER && value.bits <= VARIABLE_NBYTES_MAX;
        if (!is_sound || (count && value.bits == 0))
            simt_parse_fail(parser, &token, "an array's size of 1 to %d is expected, found %s",
                            VARIABLE_NBYTES_MAX, simt_parse_quote(&token).text);
        dimensions[count++] = value.bits;
        simt_parse_want(parser, "]");
    }
    return count;
}

/* How many elements stand between the braces that begin here; nothing is passed over. */
static uint64_t count_elements(struct parser *parser) {
    struct lexer lexer = parser->lexer;
    struct token token = parser->token;
    uint64_t depth = 0, count = 0;
    do {
        if (parser->token.kind == TOKEN_END) simt_parse_expected(parser, "'}'");
        bool is_element = depth == 1 && !simt_parse_at(parser, "}");
        if (is_element && (simt_parse_at(parser, ",") || count == 0)) count++;
        depth += simt_parse_at(parser, "{");
        depth -= simt_parse_at(parser, "}");
        simt_parse_advance(parser);
    } while (depth);
    parser->lexer = lexer;
    parser->token = token;
    return count;
}

static uint64_t array_nbytes(struct parser *parser, const struct token *token, uint64_t nbytes,
                             const uint64_t *dimensions, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        if (__builtin_mul_overflow(nbytes, dimensions[i], &nbytes)) nbytes = UINT64_MAX;
    if (nbytes > VARIABLE_NBYTES_MAX)
        simt_parse_fail(parser, token, "more than %d bytes: %s", VARIABLE_NBYTES_MAX,
                        simt_parse_quote(token).text);
    return nbytes;
}

/* nvcc declares an array of another file in bytes, though the file that has it fills it with addresses: in words of 8. */
static bool is_declared_as(const struct variable *variable, enum simt_space space, enum type type) {
    return variable->space == space && !variable->is_parameter &&
           (variable->type == type || variable->type == TYPE_B8 || type == TYPE_B8);
}

/* The variable of this name in this scope.  One that was declared extern may be declared again. */
static struct variable *declare(struct parser *parser, struct name *name, const struct token *token,
                                enum simt_space space, enum type type, bool is_extern) {
    struct symbol *symbol = name->symbol;
    bool is_here = symbol && symbol->kind == SYMBOL_VARIABLE && symbol->depth == parser->depth;
    if (is_here && (is_extern || symbol->variable->is_extern)) {
        if (!is_declared_as(symbol->variable, space, type))
            simt_parse_fail(parser, token, "declared differently before: %s", simt_parse_quote(token).text);
        return symbol->variable;
    }
    struct variable *variable = simt_parse_allocate(parser, parser->arena, sizeof *variable);
    *variable = (struct variable){.name = name->text, .is_extern = is_extern};
    if (strcmp(name->text, "_"))
        simt_parse_bind(parser, &name->symbol, SYMBOL_VARIABLE, parser->depth, token)->variable = variable;
    return variable;
}

static void list_variable(struct parser *parser, struct variable *variable) {
    struct simt_module *module = parser->module;
    struct function *function = parser->function;
    struct variable ***variables = function ? &function->variables : &module->variables;
    uint32_t *count = function ? &function->variable_count : &module->variable_count;
    *variables = simt_parse_grow(parser, *variables, *count, sizeof **variables);
    (*variables)[(*count)++] = variable;
}

struct variable *simt_parse_declarator(struct parser *parser, const struct declaration *declaration,
                                       enum simt_space space, bool is_extern) {
    struct token token = parser->token;
    struct name *name = simt_parse_word(parser, "the name of a variable");
    uint64_t dimensions[DIMENSIONS_MAX];
    uint32_t count = parse_dimensions(parser, dimensions);
    bool has_value = simt_parse_take(parser, "=");
    if (has_value && is_extern)
        simt_parse_fail(parser, &token, "an .extern variable has no initial value: %s",
                        simt_parse_quote(&token).text);
    if (has_value && count && !dimensions[0]) {
        if (!simt_parse_at(parser, "{")) simt_parse_expected(parser, "'{'");
        dimensions[0] = count_elements(parser);
    }
    uint32_t element_nbytes = simt_type_nbytes(declaration->type) * declaration->vector;
    uint64_t nbytes = array_nbytes(parser, &token, element_nbytes, dimensions, count);

    struct variable *variable = declare(parser, name, &token, space, declaration->type, is_extern);
    bool is_new = variable->type == TYPE_NONE;
    if (is_new || !is_extern) {
        variable->space = space;
        variable->type = declaration->type;
        variable->alignment = declaration->alignment ? declaration->alignment : element_nbytes;
        variable->nbytes = nbytes;
        variable->is_extern = is_extern;
        variable->is_managed = declaration->is_managed;
    }
    if (is_new && space != SIMT_PARAMETER) list_variable(parser, variable);
    if (has_value) simt_parse_initializer(parser, variable, declaration, dimensions, count);
    return variable;
}

void simt_parse_variables(struct parser *parser, bool is_extern) {
    enum simt_space space = SIMT_GLOBAL;
    simt_parse_space(parser, &space);
    simt_parse_advance(parser);
    struct declaration declaration = simt_parse_declaration(parser);
    do {
        struct variable *variable = simt_parse_declarator(parser, &declaration, space, is_extern);
        if (space == SIMT_PARAMETER) list_variable(parser, variable);
    } while (simt_parse_take(parser, ","));
    simt_parse_want(parser, ";");
}

/* ---- initial values */

/* An array's value as it is read. */
struct filling {
    struct variable *variable;
    enum type type;
    uint32_t nbytes;                      /* of an element */
    uint64_t position;                    /* of the next element, in bytes */
    uint64_t strides[DIMENSIONS_MAX + 2]; /* of what a brace of each depth holds: strides[0] the whole */
    uint32_t depth;                       /* of the last */
};

static void store(unsigned char *bytes, uint64_t value, uint32_t nbytes) {
    for (uint32_t i = 0; i < nbytes && i < sizeof value; i++) bytes[i] = (unsigned char)(value >> 8 * i);
}

static bool is_float(enum type type) {
    return type == TYPE_F32 || type == TYPE_F64;
}

/* The bits of a constant in an element of the type. */
static uint64_t element_bits(struct parser *parser, const struct token *token, enum type type,
                             struct constant value) {
    if (value.kind == IMMEDIATE_INTEGER && !is_float(type)) return value.bits;
    double number;
    float single;
    uint32_t bits = (uint32_t)value.bits;
    if (value.kind == IMMEDIATE_F32 && type == TYPE_F32) return bits;
    if (!is_float(type))
        simt_parse_fail(parser, token, "a float where an integer is expected: %s",
                        simt_parse_quote(token).text);
    if (value.kind == IMMEDIATE_F32) {
        memcpy(&single, &bits, sizeof single);
        number = single;
    } else if (value.kind == IMMEDIATE_F64) {
        memcpy(&number, &value.bits, sizeof number);
    } else {
        number = value.is_unsigned ? (double)value.bits : (double)(int64_t)value.bits;
    }
    if (type == TYPE_F64) {
        memcpy(&value.bits, &number, sizeof number);
        return value.bits;
    }
    single = (float)number;
    memcpy(&bits, &single, sizeof bits);
    return bits;
}

static void add_relocation(struct parser *parser, struct variable *variable,
                           const struct relocation *relocation) {
    variable->relocations = simt_parse_grow(parser, variable->relocations, variable->relocation_count,
                                            sizeof *variable->relocations);
    variable->relocations[variable->relocation_count++] = *relocation;
}

/* Bytes of an address that stand one by one, as 0xff(name), 0xff00(name) ..., are one relocation. */
static void add_masked(struct parser *parser, struct filling *filling, const struct token *token,
                       const struct relocation *relocation, uint64_t mask) {
    struct variable *variable = filling->variable;
    struct relocation *last =
        variable->relocation_count ? &variable->relocations[variable->relocation_count - 1] : NULL;
    uint32_t byte = 0;
    while (byte < 8 && mask != UINT64_C(0xff) << 8 * byte) byte++;
    if (byte == 8 || filling->nbytes != 1)
        simt_parse_fail(parser, token, "a mask of one byte is expected, found %s",
                        simt_parse_quote(token).text);
    if (byte == 0) {
        add_relocation(parser, variable, relocation);
    } else if (last && last->nbytes == byte && last->offset + byte == relocation->offset &&
               last->variable == relocation->variable && last->function == relocation->function &&
               last->addend == relocation->addend && last->is_generic == relocation->is_generic) {
        last->nbytes++;
    } else {
        simt_parse_fail(parser, token, "bytes of an address out of order: %s", simt_parse_quote(token).text);
    }
}

/* "name+8", "generic(name)+8", and, in the parentheses of a mask, the same. */
static struct relocation parse_relocation(struct parser *parser) {
    struct relocation relocation = {0};
    struct token token = parser->token;
    struct name *name = simt_parse_word(parser, "a constant or a name");
    relocation.is_generic = !strcmp(name->text, "generic") && simt_parse_take(parser, "(");
    if (relocation.is_generic) {
        token = parser->token;
        name = simt_parse_word(parser, "a variable");
    }
    const struct symbol *symbol = simt_parse_find(parser, name);
    if (!symbol || (symbol->kind != SYMBOL_VARIABLE && symbol->kind != SYMBOL_FUNCTION))
        simt_parse_fail(parser, &token, "neither a variable nor a function: %s",
                        simt_parse_quote(&token).text);
    if (symbol->variable &&
        (symbol->variable->space == SIMT_LOCAL || symbol->variable->space == SIMT_PARAMETER))
        simt_parse_fail(parser, &token, "a variable that each thread has its own copy of has no single address: %s",
                        simt_parse_quote(&token).text);
    relocation.variable = symbol->variable;
    relocation.function = symbol->function;
    relocation.addend = (int64_t)simt_parse_offset(parser);
    if (relocation.is_generic) simt_parse_want(parser, ")");
    relocation.addend = (int64_t)((uint64_t)relocation.addend + simt_parse_offset(parser));
    return relocation;
}

static void parse_element(struct parser *parser, struct filling *filling) {
    struct variable *variable = filling->variable;
    struct token token = parser->token;
    struct relocation relocation;
    if (filling->position + filling->nbytes > variable->nbytes)
        simt_parse_fail(parser, &token, "more values than elements: %s",
                        simt_parse_quote(&token).text);
    if (simt_parse_at_constant(parser)) {
        struct constant value = simt_parse_constant(parser);
        if (simt_parse_take(parser, "(")) {
            relocation = parse_relocation(parser);
            relocation.offset = filling->position;
            relocation.nbytes = 1;
            add_masked(parser, filling, &token, &relocation, value.bits);
            simt_parse_want(parser, ")");
        } else {
            store(variable->bytes + filling->position, element_bits(parser, &token, filling->type, value),
                  filling->nbytes);
        }
    } else {
        relocation = parse_relocation(parser);
        relocation.offset = filling->position;
        relocation.nbytes = filling->nbytes;
        if (filling->nbytes != 8 && filling->nbytes != 4)
            simt_parse_fail(parser, &token, "an address needs an element of 4 or 8 bytes: %s",
                            simt_parse_quote(&token).text);
        add_relocation(parser, variable, &relocation);
    }
    filling->position += filling->nbytes;
}

/* Parses the contents of a brace at the given depth. */
static void parse_braces(struct parser *parser, struct filling *filling, uint32_t depth) {
    uint64_t begin = filling->position;
    if (depth > filling->depth) simt_parse_expected(parser, "a value");
    simt_parse_want(parser, "{");
    while (!simt_parse_at(parser, "}")) {
        if (simt_parse_at(parser, "{")) {
            uint64_t stride = filling->strides[depth < filling->depth ? depth + 1 : depth];
            filling->position = begin + (filling->position - begin + stride - 1) / stride * stride;
            parse_braces(parser, filling, depth + 1);
        } else {
            parse_element(parser, filling);
        }
        if (!simt_parse_take(parser, ",")) break;
    }
    simt_parse_want(parser, "}");
    if (filling->position > begin + filling->strides[depth])
        simt_parse_fail(parser, &parser->token, "more values than elements before %s",
                        simt_parse_quote(&parser->token).text);
    filling->position = begin + filling->strides[depth];
}

static struct filling begin_filling(struct variable *variable, const struct declaration *declaration,
                                    const uint64_t *dimensions, uint32_t dimension_count) {
    struct filling filling = {
        .variable = variable, .type = declaration->type, .nbytes = simt_type_nbytes(declaration->type)};
    uint32_t depth = dimension_count + (declaration->vector > 1);
    uint64_t stride = filling.nbytes * declaration->vector;
    filling.depth = depth ? depth - 1 : 0;
    if (declaration->vector > 1) filling.strides[--depth] = stride;
    while (depth--) filling.strides[depth] = stride *= dimensions[depth];
    if (filling.strides[0] == 0) filling.strides[0] = variable->nbytes;
    return filling;
}

void simt_parse_initializer(struct parser *parser, struct variable *variable,
                            const struct declaration *declaration, const uint64_t *dimensions,
                            uint32_t dimension_count) {
    struct token token = parser->token;
    if (declaration->is_opaque) {
        simt_parse_skip_braces(parser);
        return;
    }
    if (variable->space != SIMT_GLOBAL && variable->space != SIMT_CONSTANT)
        simt_parse_fail(parser, &token, "only .global and .const variables have initial values");
    parser->initial_nbytes += variable->nbytes;
    if (parser->initial_nbytes > INITIAL_NBYTES_MAX)
        simt_parse_fail(parser, &token, "more than %d bytes of initial values", INITIAL_NBYTES_MAX);
    variable->bytes = simt_parse_allocate(parser, parser->arena, variable->nbytes);
    variable->relocation_count = 0;
    struct filling filling = begin_filling(variable, declaration, dimensions, dimension_count);
    if (simt_parse_at(parser, "{"))
        parse_braces(parser, &filling, 0);
    else
        parse_element(parser, &filling);
}
