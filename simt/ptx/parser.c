/* The base of the parser: errors, memory, the current token. */
#include "parser.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/printable.h"

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
        wf_printable_here(message->text, sizeof message->text, WF_LINES_ESCAPED);
    }
    leave(parser, SIMT_ERROR_SYNTAX);
}

void simt_parse_expected(struct parser *parser, const char *what) {
    simt_parse_fail(parser, &parser->token, "expected %s, found %s", what,
                    simt_parse_quote(&parser->token).text);
}

void simt_say_no_memory(simt_message *message, const char *name) {
    if (!message) return;
    snprintf(message->text, sizeof message->text, "%.1000s: not enough memory to parse it", name);
    wf_printable_here(message->text, sizeof message->text, WF_LINES_ESCAPED);
}

void *simt_parse_allocate(struct parser *parser, struct arena *arena, size_t nbytes) {
    void *bytes = simt_arena_allocate(arena, nbytes);
    if (bytes) return bytes;
    simt_say_no_memory(parser->message, parser->module->name);
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
