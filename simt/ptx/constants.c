/* Constant expressions: 64-bit integers with C's operators, and plain floats. */
#include "parser.h"

#include <string.h>

static const struct binary {
    const char *text;
    int precedence;
} binaries[] = {
    {"||", 1}, {"&&", 2}, {"|", 3},  {"^", 4},  {"&", 5}, {"==", 6}, {"!=", 6}, {"<", 7},  {"<=", 7},
    {">", 7},  {">=", 7}, {"<<", 8}, {">>", 8}, {"+", 9}, {"-", 9},  {"*", 10}, {"/", 10}, {"%", 10},
};
enum { ANY_BINARY = 1, MULTIPLICATIVE = 10 };

static struct constant integer(uint64_t bits, bool is_unsigned) {
    return (struct constant){IMMEDIATE_INTEGER, bits, is_unsigned};
}

static struct constant boolean(bool value) {
    return integer(value, false);
}

static void want_integer(struct parser *parser, const struct token *token, const struct constant *value) {
    if (value->kind != IMMEDIATE_INTEGER)
        simt_parse_fail(parser, token, "an operator on a float: %s", simt_parse_quote(token).text);
}

/* ---- one value */

bool simt_parse_at_constant(const struct parser *parser) {
    static const char *const starts[] = {"-", "+", "~", "!", "("};
    if (parser->token.kind == TOKEN_NUMBER) return true;
    for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++)
        if (simt_parse_at(parser, starts[i])) return true;
    return false;
}

static struct constant negate(struct constant value) {
    if (value.kind == IMMEDIATE_INTEGER) return integer(0 - value.bits, value.is_unsigned);
    value.bits ^= UINT64_C(1) << (value.kind == IMMEDIATE_F32 ? 31 : 63);
    return value;
}

/* "(.s64) x", "(.u64) x" or "(x)", after the parenthesis. */
static struct constant parse_parenthesis(struct parser *parser) {
    bool is_unsigned = simt_parse_at(parser, ".u64");
    struct constant value;
    if (is_unsigned || simt_parse_at(parser, ".s64")) {
        struct token token = parser->token;
        simt_parse_advance(parser);
        simt_parse_want(parser, ")");
        value = simt_parse_unary(parser);
        want_integer(parser, &token, &value);
        value.is_unsigned = is_unsigned;
    } else {
        value = simt_parse_constant(parser);
        simt_parse_want(parser, ")");
    }
    return value;
}

static struct constant parse_primary(struct parser *parser) {
    if (simt_parse_take(parser, "WARP_SZ")) return integer(SIMT_LANES, false);
    if (parser->token.kind != TOKEN_NUMBER) simt_parse_expected(parser, "a constant");
    struct constant value = parser->token.number;
    simt_parse_advance(parser);
    return value;
}

struct constant simt_parse_unary(struct parser *parser) {
    struct token token = parser->token;
    struct constant value;
    simt_parse_enter(parser);
    if (simt_parse_take(parser, "+")) {
        value = simt_parse_unary(parser);
    } else if (simt_parse_take(parser, "-")) {
        value = negate(simt_parse_unary(parser));
    } else if (simt_parse_take(parser, "~")) {
        value = simt_parse_unary(parser);
        want_integer(parser, &token, &value);
        value.bits = ~value.bits;
    } else if (simt_parse_take(parser, "!")) {
        value = simt_parse_unary(parser);
        want_integer(parser, &token, &value);
        value = boolean(!value.bits);
    } else if (simt_parse_take(parser, "(")) {
        value = parse_parenthesis(parser);
    } else {
        value = parse_primary(parser);
    }
    simt_parse_leave(parser);
    return value;
}

/* ---- operators between values */

static const struct binary *binary_here(const struct parser *parser) {
    for (size_t i = 0; i < sizeof binaries / sizeof binaries[0]; i++)
        if (simt_parse_at(parser, binaries[i].text)) return &binaries[i];
    return NULL;
}

static uint64_t divide(struct parser *parser, const struct token *token, struct constant a, struct constant b,
                       bool is_unsigned) {
    bool is_remainder = *token->text == '%';
    if (b.bits == 0) simt_parse_fail(parser, token, "a division by zero");
    if (is_unsigned) return is_remainder ? a.bits % b.bits : a.bits / b.bits;
    if (b.bits == UINT64_MAX) return is_remainder ? 0 : 0 - a.bits;
    int64_t dividend = (int64_t)a.bits, divisor = (int64_t)b.bits;
    return (uint64_t)(is_remainder ? dividend % divisor : dividend / divisor);
}

static struct constant shift(bool is_left, struct constant a, uint64_t count) {
    bool is_negative = !a.is_unsigned && (int64_t)a.bits < 0;
    if (count > 63) return integer(!is_left && is_negative ? UINT64_MAX : 0, a.is_unsigned);
    if (is_left) return integer(a.bits << count, a.is_unsigned);
    uint64_t sign = is_negative && count ? ~(UINT64_MAX >> count) : 0;
    return integer(a.bits >> count | sign, a.is_unsigned);
}

static bool is_less(struct constant a, struct constant b, bool is_unsigned) {
    return is_unsigned ? a.bits < b.bits : (int64_t)a.bits < (int64_t)b.bits;
}

static struct constant apply(struct parser *parser, const struct token *token, struct constant a,
                             struct constant b) {
    want_integer(parser, token, &a);
    want_integer(parser, token, &b);
    bool is_unsigned = a.is_unsigned || b.is_unsigned;
    char first = token->text[0], second = token->length > 1 ? token->text[1] : 0;
    switch (first) {
    case '|': return second ? boolean(a.bits || b.bits) : integer(a.bits | b.bits, is_unsigned);
    case '&': return second ? boolean(a.bits && b.bits) : integer(a.bits & b.bits, is_unsigned);
    case '^': return integer(a.bits ^ b.bits, is_unsigned);
    case '=': return boolean(a.bits == b.bits);
    case '!': return boolean(a.bits != b.bits);
    case '<':
        if (second == '<') return shift(true, a, b.bits);
        return boolean(second ? !is_less(b, a, is_unsigned) : is_less(a, b, is_unsigned));
    case '>':
        if (second == '>') return shift(false, a, b.bits);
        return boolean(second ? !is_less(a, b, is_unsigned) : is_less(b, a, is_unsigned));
    case '+': return integer(a.bits + b.bits, is_unsigned);
    case '-': return integer(a.bits - b.bits, is_unsigned);
    case '*': return integer(a.bits * b.bits, is_unsigned);
    default: return integer(divide(parser, token, a, b, is_unsigned), is_unsigned);
    }
}

static struct constant parse_binary(struct parser *parser, int precedence) {
    struct constant value = simt_parse_unary(parser);
    const struct binary *binary;
    while ((binary = binary_here(parser)) && binary->precedence >= precedence) {
        struct token token = parser->token;
        simt_parse_advance(parser);
        value = apply(parser, &token, value, parse_binary(parser, binary->precedence + 1));
    }
    return value;
}

struct constant simt_parse_constant(struct parser *parser) {
    simt_parse_enter(parser);
    struct token token = parser->token;
    struct constant value = parse_binary(parser, ANY_BINARY);
    if (simt_parse_take(parser, "?")) {
        want_integer(parser, &token, &value);
        struct constant yes = simt_parse_constant(parser);
        simt_parse_want(parser, ":");
        struct constant no = simt_parse_constant(parser);
        value = value.bits ? yes : no;
    }
    simt_parse_leave(parser);
    return value;
}

uint64_t simt_parse_offset(struct parser *parser) {
    uint64_t offset = 0;
    while (simt_parse_at(parser, "+") || simt_parse_at(parser, "-")) {
        struct token token = parser->token;
        simt_parse_advance(parser);
        struct constant value = parse_binary(parser, MULTIPLICATIVE);
        want_integer(parser, &token, &value);
        offset = *token.text == '+' ? offset + value.bits : offset - value.bits;
    }
    return offset;
}
