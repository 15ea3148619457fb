/* Names, and what they mean in nested scopes. */
#include "parser.h"

#include <string.h>

/* ---- names */

static uint64_t hash_of(const char *text, size_t length) {
    uint64_t hash = UINT64_C(0xcbf29ce484222325); /* FNV-1a */
    for (size_t i = 0; i < length; i++) hash = (hash ^ (unsigned char)text[i]) * UINT64_C(0x100000001b3);
    return hash ^ hash >> 32;
}

static struct name *find_name(const struct parser *parser, const char *text, size_t length, uint64_t hash) {
    if (!parser->name_slots) return NULL;
    struct name *name = parser->names[hash & (parser->name_slots - 1)];
    while (name && (name->hash != hash || name->length != length || memcmp(name->text, text, length)))
        name = name->next;
    return name;
}

static void add_slots(struct parser *parser) {
    size_t slots = parser->name_slots ? 2 * parser->name_slots : 256;
    struct name **names = simt_parse_allocate(parser, parser->scratch, slots * sizeof *names);
    for (size_t i = 0; i < parser->name_slots; i++)
        for (struct name *name = parser->names[i], *next; name; name = next) {
            next = name->next;
            struct name **slot = &names[name->hash & (slots - 1)];
            name->next = *slot;
            *slot = name;
        }
    parser->names = names;
    parser->name_slots = slots;
}

struct name *simt_parse_name(struct parser *parser, const char *text, size_t length) {
    uint64_t hash = hash_of(text, length);
    struct name *name = find_name(parser, text, length, hash);
    if (name) return name;
    if (parser->name_count == parser->name_slots) add_slots(parser);
    char *copy = simt_parse_allocate(parser, parser->arena, length + 1);
    memcpy(copy, text, length);
    name = simt_parse_allocate(parser, parser->scratch, sizeof *name);
    struct name **slot = &parser->names[hash & (parser->name_slots - 1)];
    *name = (struct name){.text = copy, .length = length, .hash = hash, .next = *slot};
    parser->name_count++;
    return *slot = name;
}

/* ---- symbols */

struct symbol *simt_parse_bind(struct parser *parser, struct symbol **slot, enum symbol_kind kind,
                               uint32_t depth, const struct token *token) {
    if (*slot && (*slot)->depth >= depth)
        simt_parse_fail(parser, token, "declared twice: %s", simt_parse_quote(token).text);
    struct symbol *symbol = simt_parse_allocate(parser, parser->scratch, sizeof *symbol);
    struct scope *scope = &parser->scopes[depth];
    *symbol =
        (struct symbol){.kind = kind, .depth = depth, .slot = slot, .outer = *slot, .next = scope->symbols};
    scope->symbols = symbol;
    return *slot = symbol;
}

uint32_t simt_parse_add_register(struct parser *parser, const char *name, enum type type) {
    struct function *function = parser->function;
    function->registers =
        simt_parse_grow(parser, function->registers, function->register_count, sizeof *function->registers);
    function->registers[function->register_count] = (struct reg){name, type};
    return function->register_count++;
}

/* The innermost "%r<10>" that has `name`: "%r7".  A prefix may itself end in digits. */
static struct symbol *find_registers(const struct parser *parser, const struct name *name) {
    struct symbol *found = NULL;
    uint64_t number = 0, unit = 1;
    for (size_t length = name->length; length > 1 && unit < REGISTERS_MAX; unit *= 10) {
        char digit = name->text[--length];
        if (digit < '0' || digit > '9') break;
        number += unit * (uint64_t)(digit - '0');
        if (digit == '0' && unit > 1) continue;
        const struct name *prefix = find_name(parser, name->text, length, hash_of(name->text, length));
        struct symbol *symbol = prefix ? prefix->registers : NULL;
        if (symbol && number < symbol->count && (!found || found->depth < symbol->depth)) found = symbol;
    }
    return found;
}

struct symbol *simt_parse_find(struct parser *parser, struct name *name) {
    struct symbol *symbol = name->symbol;
    if (symbol && symbol->depth == parser->depth) return symbol;
    const struct symbol *registers = find_registers(parser, name);
    if (!registers || (symbol && symbol->depth >= registers->depth)) return symbol;
    symbol = simt_parse_bind(parser, &name->symbol, SYMBOL_REGISTER, registers->depth, &parser->token);
    symbol->type = registers->type;
    symbol->index = simt_parse_add_register(parser, name->text, registers->type);
    return symbol;
}

/* ---- scopes */

void simt_parse_open_scope(struct parser *parser) {
    if (parser->depth + 1 == SCOPES_MAX)
        simt_parse_fail(parser, &parser->token, "scopes nested more than %d deep", SCOPES_MAX);
    parser->scopes[++parser->depth] = (struct scope){0};
}

void simt_parse_pend(struct parser *parser, const struct pending *label) {
    struct pending *pending = simt_parse_allocate(parser, parser->scratch, sizeof *pending);
    struct scope *scope = &parser->scopes[parser->depth];
    *pending = *label;
    pending->next = scope->pending;
    scope->pending = pending;
}

static void complete(struct parser *parser, const struct pending *pending, const struct symbol *label) {
    bool is_plain = !label->table && !label->is_prototype;
    if (pending->table) {
        if (!is_plain)
            simt_parse_fail(parser, &pending->token, "not a label: %s",
                            simt_parse_quote(&pending->token).text);
        pending->table->targets[pending->index] = label->index;
        return;
    }
    pending->operand->kind = is_plain ? OPERAND_LABEL : label->table ? OPERAND_TABLE : OPERAND_PROTOTYPE;
    pending->operand->index = label->index;
    pending->operand->table = label->table;
    pending->operand->function = label->function;
}

static bool is_before(const struct token *a, const struct token *b) {
    return a->line != b->line ? a->line < b->line : a->column < b->column;
}

/* Labels belong to their scope: who names one that is not there may mean an outer one. */
static void resolve_labels(struct parser *parser) {
    struct scope *scope = &parser->scopes[parser->depth];
    const struct token *unknown = NULL;
    for (struct pending *pending = scope->pending, *next; pending; pending = next) {
        next = pending->next;
        const struct symbol *symbol = pending->name->symbol;
        if (symbol && symbol->kind == SYMBOL_LABEL && symbol->depth == parser->depth) {
            complete(parser, pending, symbol);
        } else if (parser->depth > 1) {
            pending->next = scope[-1].pending;
            scope[-1].pending = pending;
        } else if (!unknown || is_before(&pending->token, unknown)) {
            unknown = &pending->token;
        }
    }
    if (unknown)
        simt_parse_fail(parser, unknown, "neither declared nor a label: %s", simt_parse_quote(unknown).text);
}

void simt_parse_close_scope(struct parser *parser) {
    resolve_labels(parser);
    for (struct symbol *symbol = parser->scopes[parser->depth].symbols; symbol; symbol = symbol->next)
        *symbol->slot = symbol->outer;
    parser->depth--;
}

struct name *simt_parse_word(struct parser *parser, const char *what) {
    if (!simt_parse_at_word(parser)) simt_parse_expected(parser, what);
    struct name *name = simt_parse_name(parser, parser->token.text, parser->token.length);
    simt_parse_advance(parser);
    return name;
}
