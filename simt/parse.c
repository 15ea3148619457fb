/* Reads a module of PTX: what stands in it outside of functions, and the public functions that tell of it. */
#include "parse.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- errors and memory */

struct quote simt_parse_quote(const struct token *token) {
    static const char hexadecimal[] = "0123456789abcdef";
    struct quote quote = {"the end of the text"};
    if (token->kind == TOKEN_END && token->length == 0) return quote;
    size_t length = 0;
    quote.text[length++] = '\'';
    for (size_t i = 0; i < token->length && length < sizeof quote.text - 8; i++) {
        unsigned char c = (unsigned char)token->text[i];
        if (c >= ' ' && c < 0x7f) {
            quote.text[length++] = (char)c;
        } else {
            quote.text[length++] = '\\';
            quote.text[length++] = 'x';
            quote.text[length++] = hexadecimal[c >> 4];
            quote.text[length++] = hexadecimal[c & 15];
        }
    }
    quote.text[length++] = '\'';
    quote.text[length] = '\0';
    return quote;
}

static _Noreturn void leave(struct parser *parser, simt_error error) {
    parser->error = error;
    longjmp(parser->failure, 1);
}

void simt_parse_fail(struct parser *parser, const struct token *token, const char *format, ...) {
    struct simt_message *message = parser->message;
    if (message) {
        int length = snprintf(message->text, sizeof message->text, "%.1000s:%u:%u: ", parser->module->name,
                              (unsigned)token->line, (unsigned)token->column);
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(message->text + length, sizeof message->text - (size_t)length, format, arguments);
        va_end(arguments);
    }
    leave(parser, SIMT_ERROR_SYNTAX);
}

void simt_parse_expected(struct parser *parser, const char *what) {
    simt_parse_fail(parser, &parser->token, "expected %s, found %s", what,
                    simt_parse_quote(&parser->token).text);
}

static void say_no_memory(simt_message *message, const char *name) {
    if (message)
        snprintf(message->text, sizeof message->text, "%.1000s: not enough memory to parse it", name);
}

void *simt_parse_allocate(struct parser *parser, struct arena *arena, size_t nbytes) {
    void *bytes = simt_arena_allocate(arena, nbytes);
    if (bytes) return bytes;
    say_no_memory(parser->message, parser->module->name);
    leave(parser, SIMT_ERROR_MEMORY);
}

void *simt_parse_grow(struct parser *parser, void *array, uint32_t count, size_t element_nbytes) {
    if (count & (count - 1)) return array;
    size_t capacity = count ? 2 * (size_t)count : 1;
    void *grown = simt_parse_allocate(parser, parser->arena, capacity * element_nbytes);
    if (count) memcpy(grown, array, count * element_nbytes);
    return grown;
}

/* ---- tokens */

void simt_parse_advance(struct parser *parser) {
    const char *wrong = simt_lex(&parser->lexer, &parser->token);
    if (wrong)
        simt_parse_fail(parser, &parser->token, "%s: %s", wrong, simt_parse_quote(&parser->token).text);
}

bool simt_parse_at(const struct parser *parser, const char *text) {
    const struct token *token = &parser->token;
    bool is_text = token->kind == TOKEN_WORD || token->kind == TOKEN_OPERATOR;
    return is_text && *token->text == *text && token->length == strlen(text) &&
           !memcmp(token->text, text, token->length);
}

bool simt_parse_take(struct parser *parser, const char *text) {
    if (!simt_parse_at(parser, text)) return false;
    simt_parse_advance(parser);
    return true;
}

void simt_parse_want(struct parser *parser, const char *text) {
    if (simt_parse_take(parser, text)) return;
    char what[32];
    snprintf(what, sizeof what, "'%s'", text);
    simt_parse_expected(parser, what);
}

bool simt_parse_at_directive(const struct parser *parser) {
    return parser->token.kind == TOKEN_WORD && parser->token.text[0] == '.';
}

bool simt_parse_at_word(const struct parser *parser) {
    return parser->token.kind == TOKEN_WORD && parser->token.text[0] != '.';
}

struct name *simt_parse_word(struct parser *parser, const char *what) {
    if (!simt_parse_at_word(parser)) simt_parse_expected(parser, what);
    struct name *name = simt_parse_name(parser, parser->token.text, parser->token.length);
    simt_parse_advance(parser);
    return name;
}

uint64_t simt_parse_number(struct parser *parser, const char *what, uint64_t maximum) {
    const struct token *token = &parser->token;
    if (token->kind != TOKEN_NUMBER || token->number.kind != IMMEDIATE_INTEGER)
        simt_parse_expected(parser, what);
    uint64_t value = token->number.bits;
    if (value > maximum)
        simt_parse_fail(parser, token, "%s of at most %llu is expected, found %s", what,
                        (unsigned long long)maximum, simt_parse_quote(token).text);
    simt_parse_advance(parser);
    return value;
}

void simt_parse_skip_to(struct parser *parser, const char *text) {
    while (!simt_parse_take(parser, text)) {
        if (parser->token.kind == TOKEN_END) simt_parse_want(parser, text);
        simt_parse_advance(parser);
    }
}

void simt_parse_skip_braces(struct parser *parser) {
    uint32_t depth = 0;
    do {
        if (depth == 0 && !simt_parse_at(parser, "{")) simt_parse_expected(parser, "'{'");
        if (parser->token.kind == TOKEN_END) simt_parse_expected(parser, "'}'");
        depth += simt_parse_at(parser, "{");
        depth -= simt_parse_at(parser, "}");
        simt_parse_advance(parser);
    } while (depth);
}

void simt_parse_enter(struct parser *parser) {
    if (++parser->nesting > NESTING_MAX)
        simt_parse_fail(parser, &parser->token, "nested more than %d deep: %s", NESTING_MAX,
                        simt_parse_quote(&parser->token).text);
}

void simt_parse_leave(struct parser *parser) {
    parser->nesting--;
}

/* ---- directives of the module */

static void parse_version(struct parser *parser) {
    if (parser->token.kind != TOKEN_NUMBER) simt_parse_expected(parser, "a version of PTX");
    simt_parse_advance(parser);
}

/* ".target sm_90a, debug" */
static void parse_target(struct parser *parser) {
    do {
        struct token token = parser->token;
        const char *target = simt_parse_word(parser, "a target")->text;
        if (strncmp(target, "sm_", 3) && strncmp(target, "compute_", 8)) continue;
        unsigned long number = strtoul(strchr(target, '_') + 1, NULL, 10);
        if (number < 10 || number > 9999)
            simt_parse_fail(parser, &token, "not a target: %s", simt_parse_quote(&token).text);
        parser->module->target = (uint32_t)number;
    } while (simt_parse_take(parser, ","));
}

static void parse_address_size(struct parser *parser) {
    struct token token = parser->token;
    if (simt_parse_number(parser, "an address size", 64) != 64)
        simt_parse_fail(parser, &token, "addresses of 64 bits are needed, found %s",
                        simt_parse_quote(&token).text);
}

/* ".file 1 "name", time, size" */
static void parse_file(struct parser *parser) {
    struct token number = parser->token;
    simt_parse_number(parser, "the number of a file", UINT32_MAX);
    if (parser->token.kind != TOKEN_STRING) simt_parse_expected(parser, "the name of a file");
    struct name *name = simt_parse_name(parser, number.text, number.length);
    if (!name->symbol) {
        struct token file = parser->token;
        simt_parse_bind(parser, &name->symbol, SYMBOL_FILE, 0, &number)->text =
            simt_parse_name(parser, file.text, file.length)->text;
    }
    simt_parse_advance(parser);
    while (simt_parse_take(parser, ",")) simt_parse_number(parser, "a number", UINT64_MAX);
}

/* Debugging information: of no use here. */
static void parse_section(struct parser *parser) {
    if (parser->token.kind != TOKEN_WORD) simt_parse_expected(parser, "the name of a section");
    simt_parse_advance(parser);
    simt_parse_skip_braces(parser);
}

static void parse_pragma(struct parser *parser) {
    simt_parse_skip_to(parser, ";");
}

/* ".alias name, target;": who calls the one calls the other.  The target's body may follow. */
static void parse_alias(struct parser *parser) {
    struct alias *alias = simt_parse_allocate(parser, parser->scratch, sizeof *alias);
    struct token token = parser->token;
    struct symbol *symbol = simt_parse_find(parser, simt_parse_word(parser, "a function"));
    if (!symbol || symbol->kind != SYMBOL_FUNCTION)
        simt_parse_fail(parser, &token, "not a function: %s", simt_parse_quote(&token).text);
    alias->function = symbol->function;
    simt_parse_want(parser, ",");
    alias->token = parser->token;
    alias->target = simt_parse_word(parser, "a function");
    simt_parse_want(parser, ";");
    alias->next = parser->aliases;
    parser->aliases = alias;
}

static void resolve_aliases(struct parser *parser) {
    for (const struct alias *alias = parser->aliases; alias; alias = alias->next) {
        const struct symbol *symbol = simt_parse_find(parser, alias->target);
        if (!symbol || symbol->kind != SYMBOL_FUNCTION || !symbol->function->has_body)
            simt_parse_fail(parser, &alias->token, "not a function with a body: %s",
                            simt_parse_quote(&alias->token).text);
        const char *name = alias->function->name;
        *alias->function = *symbol->function;
        alias->function->name = name;
    }
}

static bool take_linking(struct parser *parser, bool *is_extern) {
    static const char *const words[] = {".visible", ".weak", ".common", ".internal"};
    if (simt_parse_take(parser, ".extern")) return *is_extern = true;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (simt_parse_take(parser, words[i])) return true;
    return false;
}

static const struct directive {
    const char *name;
    void (*parse)(struct parser *parser);
} directives[] = {
    {".version", parse_version}, {".target", parse_target},   {".address_size", parse_address_size},
    {".file", parse_file},       {".section", parse_section}, {".pragma", parse_pragma},
    {".alias", parse_alias},
};

static void parse_statement(struct parser *parser) {
    for (size_t i = 0; i < sizeof directives / sizeof directives[0]; i++)
        if (simt_parse_take(parser, directives[i].name)) {
            directives[i].parse(parser);
            return;
        }
    bool is_extern = false;
    enum simt_space space;
    while (take_linking(parser, &is_extern)) continue;
    if (simt_parse_at(parser, ".entry") || simt_parse_at(parser, ".func")) {
        bool is_kernel = simt_parse_at(parser, ".entry");
        simt_parse_advance(parser);
        simt_parse_function(parser, is_kernel);
    } else if (simt_parse_space(parser, &space) && space != SIMT_PARAMETER) {
        simt_parse_variables(parser, is_extern);
    } else {
        simt_parse_expected(parser, "a directive of a module");
    }
}

/* ---- the whole */

static const char *file_name(const struct parser *parser, const struct name *number) {
    bool is_named = number->symbol && number->symbol->kind == SYMBOL_FILE;
    return is_named ? number->symbol->text : parser->module->name;
}

/* Where nothing was said of the source, the PTX is the source. */
static void complete_places(struct parser *parser) {
    for (uint32_t i = 0; i < parser->module->instruction_count; i++) {
        simt_place *place = &parser->module->places[i];
        const struct position *position = parser->positions[i];
        place->file = position ? file_name(parser, position->file) : parser->module->name;
        place->line = position ? position->line : place->ptx_line;
        if (!position || !position->outer_line) continue; /* line 0 is no place of the source */
        place->outer_file = file_name(parser, position->outer_file);
        place->outer_line = position->outer_line;
    }
}

static void analyse_flow(struct parser *parser) {
    struct simt_module *module = parser->module;
    for (uint32_t i = 0; i < module->function_count; i++) {
        if (!module->functions[i]->has_body || simt_flow(module, module->functions[i])) continue;
        say_no_memory(parser->message, module->name);
        leave(parser, SIMT_ERROR_MEMORY);
    }
}

/* Every instruction ends in a semicolon: there are at most as many, and so they never have to move. */
static void allocate_instructions(struct parser *parser) {
    uint32_t count = 1;
    for (const char *at = parser->lexer.at; at < parser->lexer.end && count < INSTRUCTIONS_MAX; at++)
        count += *at == ';';
    struct simt_module *module = parser->module;
    parser->instruction_capacity = count;
    module->instructions = simt_parse_allocate(parser, parser->arena, count * sizeof *module->instructions);
    module->places = simt_parse_allocate(parser, parser->arena, count * sizeof *module->places);
    parser->positions = simt_parse_allocate(parser, parser->scratch, count * sizeof *parser->positions);
}

static simt_error parse(struct parser *parser) {
    if (setjmp(parser->failure)) return parser->error;
    simt_parse_advance(parser);
    if (!simt_parse_at(parser, ".version")) simt_parse_expected(parser, "'.version', with which PTX begins");
    allocate_instructions(parser);
    while (parser->token.kind != TOKEN_END) parse_statement(parser);
    analyse_flow(parser);
    resolve_aliases(parser);
    complete_places(parser);
    return SIMT_OK;
}

static struct simt_module *create_module(const char *name) {
    struct arena *arena = simt_arena_create();
    if (!arena) return NULL;
    struct simt_module *module = simt_arena_allocate(arena, sizeof *module);
    char *copy = simt_arena_allocate(arena, strlen(name) + 1);
    if (!module || !copy) {
        simt_arena_destroy(arena);
        return NULL;
    }
    module->arena = arena;
    module->name = strcpy(copy, name);
    return module;
}

simt_error simt_module_parse(const char *ptx, size_t nbytes, const char *name, simt_module **module,
                             simt_message *message) {
    *module = NULL;
    if (message) message->text[0] = '\0';
    if (nbytes > TEXT_NBYTES_MAX) {
        if (message)
            snprintf(message->text, sizeof message->text,
                     "%.1000s: %zu bytes of PTX are more than the limit of %d", name, nbytes,
                     TEXT_NBYTES_MAX);
        return SIMT_ERROR_ARGUMENT;
    }
    while (nbytes && ptx[nbytes - 1] == '\0') nbytes--;
    struct parser parser = {.message = message, .error = SIMT_ERROR_MEMORY};
    parser.module = create_module(name);
    parser.scratch = simt_arena_create();
    simt_error error = SIMT_ERROR_MEMORY;
    if (parser.module && parser.scratch) {
        parser.arena = parser.module->arena;
        simt_lex_begin(&parser.lexer, ptx, nbytes);
        error = parse(&parser);
    } else {
        say_no_memory(message, name);
    }
    simt_arena_destroy(parser.scratch);
    if (error)
        simt_module_destroy(parser.module);
    else
        *module = parser.module;
    return error;
}

void simt_module_destroy(simt_module *module) {
    if (module) simt_arena_destroy(module->arena);
}

/* ---- what it holds */

size_t simt_module_kernel_count(const simt_module *module) {
    return module->kernel_count;
}

static const struct function *kernel_at(const simt_module *module, size_t kernel) {
    return kernel < module->kernel_count ? module->kernels[kernel] : NULL;
}

const char *simt_module_kernel_name(const simt_module *module, size_t kernel) {
    const struct function *function = kernel_at(module, kernel);
    return function ? function->name : NULL;
}

size_t simt_module_parameter_count(const simt_module *module, size_t kernel) {
    const struct function *function = kernel_at(module, kernel);
    return function ? function->parameter_count : 0;
}

size_t simt_module_parameter_nbytes(const simt_module *module, size_t kernel, size_t parameter) {
    const struct function *function = kernel_at(module, kernel);
    return function && parameter < function->parameter_count ? function->parameters[parameter]->nbytes : 0;
}

static size_t add_shared(size_t nbytes, struct variable *const *variables, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        size_t alignment = variables[i]->alignment;
        if (variables[i]->space != SIMT_SHARED || variables[i]->nbytes == 0) continue;
        nbytes = (nbytes + alignment - 1) / alignment * alignment + variables[i]->nbytes;
    }
    return nbytes;
}

/* The module's variables, those of functions that the kernel may call, and its own. */
size_t simt_module_shared_nbytes(const simt_module *module, size_t kernel) {
    const struct function *function = kernel_at(module, kernel);
    if (!function) return 0;
    size_t nbytes = add_shared(0, module->variables, module->variable_count);
    for (uint32_t i = 0; i < module->function_count; i++) {
        const struct function *callee = module->functions[i];
        if (!callee->is_kernel) nbytes = add_shared(nbytes, callee->variables, callee->variable_count);
    }
    return add_shared(nbytes, function->variables, function->variable_count);
}
