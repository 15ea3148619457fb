/* Reads a module of PTX: everything outside of functions; and the public functions that describe a module. */
#include "parser.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/printable.h"

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
        char *meant = simt_parse_allocate(parser, parser->scratch, parser->token.length + 1);
        size_t length = simt_unquote(parser->token.text, parser->token.length, meant);
        simt_parse_bind(parser, &name->symbol, SYMBOL_FILE, 0, &number)->text =
            simt_parse_name(parser, meant, length)->text;
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
        if (!symbol || symbol->kind != SYMBOL_FUNCTION || !symbol->function->has_body ||
            symbol->function->is_kernel)
            simt_parse_fail(parser, &alias->token, "not a function with a body: %s",
                            simt_parse_quote(&alias->token).text);
        if (alias->function->has_body || alias->function->is_kernel)
            simt_parse_fail(parser, &alias->token,
                            "%.200s has a definition, so it cannot be an alias of %s",
                            alias->function->name, simt_parse_quote(&alias->token).text);
        simt_parse_same_head(parser, &alias->token, alias->function, symbol->function);
        const struct function own = *alias->function;
        *alias->function = *symbol->function;
        alias->function->name = own.name;
        alias->function->index = own.index;
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
    } else if (simt_parse_space(parser, &space) && space != SIMT_PARAMETER && space != SIMT_LOCAL) {
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

/* A header that came with the compiler, such as that of the shuffles. */
static bool is_of_compiler(const char *path) {
    return !strncmp(path, "/usr/include/", 13) || !strncmp(path, "/usr/local/cuda", 15) ||
           ((strstr(path, "/targets/") || strstr(path, "/nvidia/")) && strstr(path, "/include/"));
}

/* The line of the instruction, or, within the compiler's own headers, the one that calls them. */
static void complete_place(const struct parser *parser, const struct position *position, simt_place *place) {
    place->file = file_name(parser, position->file);
    place->line = position->line;
    for (; position && position->caller_line && is_of_compiler(place->file); position = position->caller) {
        place->file = file_name(parser, position->caller_file);
        place->line = position->caller_line;
    }
}

/* Without .loc directives the PTX itself is the source. */
static void complete_places(struct parser *parser) {
    for (uint32_t i = 0; i < parser->module->instruction_count; i++) {
        simt_place *place = &parser->module->places[i];
        const struct position *position = parser->positions[i];
        place->file = parser->module->name;
        place->line = place->ptx_line;
        if (position) complete_place(parser, position, place);
        if (!position || !position->outer_line) continue; /* line 0 is no place of the source */
        place->outer_file = file_name(parser, position->outer_file);
        place->outer_line = position->outer_line;
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

simt_error simt_ptx_parse(const char *ptx, size_t nbytes, const char *name, simt_module **module,
                          simt_message *message) {
    *module = NULL;
    if (message) message->text[0] = '\0';
    if (nbytes > TEXT_NBYTES_MAX) {
        if (message) {
            snprintf(message->text, sizeof message->text,
                     "%.1000s: %zu bytes of PTX are more than the limit of %d", name, nbytes,
                     TEXT_NBYTES_MAX);
            wf_printable_here(message->text, sizeof message->text, WF_LINES_ESCAPED);
        }
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
        simt_say_no_memory(message, name);
    }
    simt_arena_destroy(parser.scratch);
    if (error)
        simt_module_destroy(parser.module);
    else
        *module = parser.module;
    return error;
}

simt_error simt_ptx_analyse(simt_module *module, simt_message *message) {
    for (uint32_t i = 0; i < module->function_count; i++) {
        const struct function *function = module->functions[i];
        if (!function->has_body || (simt_flow(module, function) && simt_arrays(module, function))) continue;
        simt_say_no_memory(message, module->name);
        return SIMT_ERROR_MEMORY;
    }
    if (simt_shared(module)) return SIMT_OK;
    simt_say_no_memory(message, module->name);
    return SIMT_ERROR_MEMORY;
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

size_t simt_module_parameter_offset(const simt_module *module, size_t kernel, size_t parameter) {
    const struct function *function = kernel_at(module, kernel);
    return function && parameter < function->parameter_count ? function->parameters[parameter]->offset : 0;
}

uint32_t simt_module_block_threads(const simt_module *module, size_t kernel) {
    enum { BLOCK_THREADS = 1024 };
    const struct function *function = kernel_at(module, kernel);
    uint64_t threads = 1;
    if (!function) return BLOCK_THREADS;
    const uint32_t *most = function->block_required[0] ? function->block_required : function->block_most;
    for (int d = 0; d < 3; d++) threads *= most[d];
    return threads && threads < BLOCK_THREADS ? (uint32_t)threads : BLOCK_THREADS;
}

size_t simt_module_shared_nbytes(const simt_module *module, size_t kernel) {
    const struct function *function = kernel_at(module, kernel);
    size_t nbytes = 0;
    for (uint32_t v = 0; function && v < function->shared_count; v++) {
        const size_t alignment = function->shared[v]->alignment;
        nbytes = (nbytes + alignment - 1) / alignment * alignment + function->shared[v]->nbytes;
    }
    return nbytes;
}
