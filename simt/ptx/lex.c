/* Cuts the text of a module into tokens. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* strtod_l */
#endif
#include "lex.h"

#include <locale.h>
#include <stdlib.h>
#include <string.h>

void simt_lex_begin(struct lexer *lexer, const char *text, size_t nbytes) {
    *lexer = (struct lexer){.at = text, .end = text + nbytes, .line_begin = text, .line = 1};
}

/* The character at that distance, or NUL beyond the end. */
static char ahead(const struct lexer *lexer, size_t offset) {
    return offset < (size_t)(lexer->end - lexer->at) ? lexer->at[offset] : '\0';
}

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_word(char c) {
    return is_letter(c) || is_digit(c) || c == '_' || c == '$' || c == '%' || c == '.';
}

static bool is_blank(char c) {
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static void step(struct lexer *lexer) {
    if (*lexer->at++ != '\n') return;
    lexer->line++;
    lexer->line_begin = lexer->at;
}

static void skip_line(struct lexer *lexer) {
    while (lexer->at < lexer->end && *lexer->at != '\n') lexer->at++;
}

/* false: it does not end. */
static bool skip_comment(struct lexer *lexer) {
    for (lexer->at += 2; lexer->at < lexer->end; step(lexer)) {
        if (ahead(lexer, 0) != '*' || ahead(lexer, 1) != '/') continue;
        lexer->at += 2;
        return true;
    }
    return false;
}

/* ---- numbers */

static int digit_value(char c) {
    if (is_digit(c)) return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'z' ? c - 'a' + 10 : 99;
}

/* Reads digits of the base; false: there are none, or they do not fit. */
static bool read_digits(struct lexer *lexer, unsigned base, uint64_t *value) {
    const char *begin = lexer->at;
    *value = 0;
    for (; lexer->at < lexer->end && digit_value(*lexer->at) < (int)base; lexer->at++)
        if (__builtin_mul_overflow(*value, base, value) ||
            __builtin_add_overflow(*value, (uint64_t)digit_value(*lexer->at), value))
            return false;
    return lexer->at > begin;
}

/* 0f and eight digits, 0d and sixteen: the bits. */
static const char *lex_float_bits(struct lexer *lexer, struct constant *number, bool is_double) {
    lexer->at += 2;
    const char *begin = lexer->at;
    bool is_read = read_digits(lexer, 16, &number->bits);
    if (!is_read || lexer->at - begin != (is_double ? 16 : 8))
        return is_double ? "0d needs sixteen hexadecimal digits" : "0f needs eight hexadecimal digits";
    number->kind = is_double ? IMMEDIATE_F64 : IMMEDIATE_F32;
    return NULL;
}

static bool is_decimal_float(const struct lexer *lexer) {
    const char *p = lexer->at;
    while (p < lexer->end && is_digit(*p)) p++;
    return p < lexer->end && (*p == '.' || (*p | 0x20) == 'e');
}

/* Reads a decimal number in the C locale: the program's own may write the decimal point as a comma. */
static double decimal_value(const char *text) {
    locale_t c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (!c_locale) return strtod(text, NULL);
    double value = strtod_l(text, NULL, c_locale);
    freelocale(c_locale);
    return value;
}

static const char *lex_decimal_float(struct lexer *lexer, struct constant *number) {
    char text[64];
    size_t length = 0;
    bool is_exponent = false;
    while (is_digit(ahead(lexer, length)) || ahead(lexer, length) == '.' ||
           (ahead(lexer, length) | 0x20) == 'e' ||
           (is_exponent && (ahead(lexer, length) == '-' || ahead(lexer, length) == '+'))) {
        is_exponent = (ahead(lexer, length) | 0x20) == 'e';
        length++;
    }
    const char *begin = lexer->at;
    lexer->at += length;
    if (length >= sizeof text) return "a number with too many digits";
    memcpy(text, begin, length);
    text[length] = '\0';
    double value = decimal_value(text);
    number->kind = IMMEDIATE_F64;
    memcpy(&number->bits, &value, sizeof value);
    return NULL;
}

static const char *lex_integer(struct lexer *lexer, struct constant *number) {
    unsigned base = 10;
    char prefix = ahead(lexer, 1) | 0x20;
    if (*lexer->at == '0' && (prefix == 'x' || prefix == 'b' || prefix == 'h')) {
        base = prefix == 'b' ? 2 : 16; /* 0h: the bits of an f16 */
        lexer->at += 2;
    } else if (*lexer->at == '0') {
        base = 8;
    }
    if (!read_digits(lexer, base, &number->bits)) return "not a number of 64 bits";
    number->is_unsigned = number->bits > INT64_MAX;
    if (ahead(lexer, 0) == 'U' || ahead(lexer, 0) == 'u') {
        number->is_unsigned = true;
        lexer->at++;
    }
    return NULL;
}

static const char *lex_number(struct lexer *lexer, struct token *token) {
    char prefix = *lexer->at == '0' ? ahead(lexer, 1) | 0x20 : 0;
    const char *wrong;
    token->kind = TOKEN_NUMBER;
    token->number = (struct constant){.kind = IMMEDIATE_INTEGER};
    if (prefix == 'f' || prefix == 'd')
        wrong = lex_float_bits(lexer, &token->number, prefix == 'd');
    else if (is_decimal_float(lexer))
        wrong = lex_decimal_float(lexer, &token->number);
    else
        wrong = lex_integer(lexer, &token->number);
    if (wrong || !is_word(ahead(lexer, 0))) return wrong;
    while (is_word(ahead(lexer, 0))) lexer->at++;
    return "not a number";
}

/* ---- the others */

static const char *lex_word(struct lexer *lexer, struct token *token) {
    token->kind = TOKEN_WORD;
    bool is_directive = ahead(lexer, 0) == '.'; /* ".reg.b32" is two of them */
    if (is_directive) lexer->at++;
    while (true) {
        while (is_word(ahead(lexer, 0)) && !(is_directive && ahead(lexer, 0) == '.')) lexer->at++;
        if (ahead(lexer, 0) != ':' || ahead(lexer, 1) != ':') return NULL;
        lexer->at += 2; /* "shared::cta" */
    }
}

static const char *lex_string(struct lexer *lexer, struct token *token) {
    token->kind = TOKEN_STRING;
    do lexer->at += ahead(lexer, 0) == '\\' && (ahead(lexer, 1) == '"' || ahead(lexer, 1) == '\\') ? 2 : 1;
    while (lexer->at < lexer->end && *lexer->at != '"' && *lexer->at != '\n');
    if (ahead(lexer, 0) != '"') return "a string that does not end on its line";
    lexer->at++;
    return NULL;
}

/* The byte of an escape's octal digits; 0: these are none. */
static unsigned char octal(const char *digits) {
    unsigned value = 0;
    for (int i = 0; i < 3; i++) {
        if (digits[i] < '0' || digits[i] > '7') return 0;
        value = value * 8 + (unsigned)(digits[i] - '0');
    }
    return value < 256 ? (unsigned char)value : 0;
}

/* How long the escape is, and the byte that it means. */
static size_t unescape(const char *text, size_t length, char *byte) {
    static const char letters[] = "\"\\bfnrt", bytes[] = "\"\\\b\f\n\r\t";
    const char *letter = length > 1 && text[1] ? strchr(letters, text[1]) : NULL;
    unsigned char code = length > 3 ? octal(text + 1) : 0;
    *byte = letter ? bytes[letter - letters] : code ? (char)code : text[0];
    return letter ? 2 : code ? 4 : 1;
}

size_t simt_unquote(const char *text, size_t length, char *meant) {
    size_t count = 0;
    for (size_t at = 0; at < length; count++) {
        meant[count] = text[at];
        at += text[at] == '\\' ? unescape(text + at, length - at, &meant[count]) : 1;
    }
    return count;
}

static const char *lex_operator(struct lexer *lexer, struct token *token) {
    static const char pairs[][3] = {"<<", ">>", "<=", ">=", "==", "!=", "&&", "||"};
    token->kind = TOKEN_OPERATOR;
    char first = *lexer->at++, second = ahead(lexer, 0);
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++)
        if (first == pairs[i][0] && second == pairs[i][1]) lexer->at++;
    return first > ' ' && first < 0x7f ? NULL : "not a character of PTX";
}

/* Passes over blanks and comments; false: unterminated comment. */
static bool skip_space(struct lexer *lexer) {
    while (lexer->at < lexer->end) {
        if (is_blank(*lexer->at))
            step(lexer);
        else if (*lexer->at == '/' && ahead(lexer, 1) == '/')
            skip_line(lexer);
        else if (*lexer->at != '/' || ahead(lexer, 1) != '*')
            return true;
        else {
            struct lexer begin = *lexer;
            if (skip_comment(lexer)) continue;
            *lexer = begin;
            return false;
        }
    }
    return true;
}

const char *simt_lex(struct lexer *lexer, struct token *token) {
    bool is_comment_open = !skip_space(lexer);
    *token = (struct token){.kind = TOKEN_END,
                            .text = lexer->at,
                            .line = lexer->line,
                            .column = (uint32_t)(lexer->at - lexer->line_begin) + 1};
    if (is_comment_open) {
        token->length = 2;
        return "unterminated comment";
    }
    if (lexer->at == lexer->end) return NULL;

    char first = *lexer->at;
    const char *wrong;
    if (is_digit(first))
        wrong = lex_number(lexer, token);
    else if (first == '"')
        wrong = lex_string(lexer, token);
    else if (is_word(first) && !(first == '%' && !is_word(ahead(lexer, 1))))
        wrong = lex_word(lexer, token);
    else
        wrong = lex_operator(lexer, token);
    token->length = (size_t)(lexer->at - token->text);
    if (token->kind == TOKEN_STRING && !wrong) {
        token->text++;
        token->length -= 2;
    }
    return wrong;
}
