#include "expression.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct parser {
    const char *at;
    const struct names *names;
    struct evaluation *evaluation;
    int depth;
};

enum { DEPTH_MAX = 32 };

static struct number parse_sum(struct parser *parser);

static struct number fail(struct parser *parser, const char *wrong) {
    if (!parser->evaluation->wrong) parser->evaluation->wrong = wrong;
    return (struct number){0, 0};
}

static char peek(struct parser *parser) {
    while (isspace((unsigned char)*parser->at)) parser->at++;
    return *parser->at;
}

static bool take(struct parser *parser, char c) {
    if (peek(parser) != c) return false;
    parser->at++;
    return true;
}

static void expect(struct parser *parser, char c) {
    if (!take(parser, c))
        fail(parser, c == ')' ? "a ')' is missing" : c == ']' ? "a ']' is missing" : "a ',' is missing");
}

/* ---- functions ----------------------------------------------------------------------------------- */

static struct number unary(struct parser *parser, long double (*function)(long double), bool rounds) {
    struct number a = parse_sum(parser);
    expect(parser, ')');
    parser->evaluation->roundings += rounds;
    parser->evaluation->is_polynomial &= !rounds;
    a.value = function(a.value);
    if (rounds) a.scale = fabsl(a.value);
    return a;
}

static struct number binary(struct parser *parser, long double (*function)(long double, long double)) {
    struct number a = parse_sum(parser);
    expect(parser, ',');
    struct number b = parse_sum(parser);
    expect(parser, ')');
    return (struct number){function(a.value, b.value), fmaxl(a.scale, b.scale)};
}

static struct number call(struct parser *parser, const char *name, size_t length) {
    static const struct {
        const char *name;
        long double (*unary)(long double);
        bool rounds;
        long double (*binary)(long double, long double);
    } functions[] = {
        {"ceil", ceill, false, NULL}, {"floor", floorl, false, NULL}, {"abs", fabsl, false, NULL},
        {"exp", expl, true, NULL},    {"sqrt", sqrtl, true, NULL},    {"log", logl, true, NULL},
        {"min", NULL, false, fminl},  {"max", NULL, false, fmaxl},
    };
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        if (strlen(functions[i].name) != length || memcmp(functions[i].name, name, length)) continue;
        if (functions[i].binary) return binary(parser, functions[i].binary);
        return unary(parser, functions[i].unary, functions[i].rounds);
    }
    return fail(parser, "there is no such function");
}

/* ---- terms --------------------------------------------------------------------------------------- */

/* An index is exact: it adds nothing to what is rounded. */
static long double parse_index(struct parser *parser) {
    struct evaluation before = *parser->evaluation;
    long double index = parse_sum(parser).value;
    parser->evaluation->roundings = before.roundings;
    parser->evaluation->is_polynomial = before.is_polynomial;
    expect(parser, ']');
    return floorl(index);
}

static struct number parse_name(struct parser *parser) {
    const char *name = parser->at;
    struct number number = {0, 0};
    while (isalnum((unsigned char)*parser->at) || *parser->at == '_') parser->at++;
    size_t length = (size_t)(parser->at - name);
    if (length == 3 && !memcmp(name, "inf", 3)) return (struct number){INFINITY, INFINITY};
    if (take(parser, '(')) return call(parser, name, length);
    bool has_index = take(parser, '[');
    long double index = has_index ? parse_index(parser) : 0;
    if (parser->evaluation->wrong) return number;
    if (!parser->names->find(parser->names->context, name, length, has_index ? &index : NULL, &number))
        return fail(parser, has_index ? "there is no such element" : "there is no such name");
    return number;
}

static struct number parse_factor(struct parser *parser) {
    if (++parser->depth > DEPTH_MAX) return fail(parser, "it is nested too deep");
    struct number number;
    char c = peek(parser);
    if (take(parser, '-')) {
        number = parse_factor(parser);
        number.value = -number.value;
    } else if (take(parser, '(')) {
        number = parse_sum(parser);
        expect(parser, ')');
    } else if (isdigit((unsigned char)c) || c == '.') {
        char *end;
        number.value = strtold(parser->at, &end);
        number.scale = number.value;
        parser->at = end;
    } else if (isalpha((unsigned char)c)) {
        number = parse_name(parser);
    } else {
        number = fail(parser, "a number or a name is missing");
    }
    parser->depth--;
    return number;
}

static struct number divide(struct parser *parser, struct number a, struct number b, char operator) {
    if (b.value == 0) return fail(parser, "it divides by zero");
    parser->evaluation->is_polynomial = false;
    long double value = operator== '/' ? a.value / b.value : fmodl(a.value, b.value);
    return (struct number){value, fabsl(value)};
}

static struct number parse_product(struct parser *parser) {
    struct number a = parse_factor(parser);
    for (char c; (c = peek(parser)) == '*' || c == '/' || c == '%';) {
        parser->at++;
        struct number b = parse_factor(parser);
        parser->evaluation->roundings++;
        a = c == '*' ? (struct number){a.value * b.value, a.scale * b.scale} : divide(parser, a, b, c);
        if (parser->evaluation->wrong) break;
    }
    return a;
}

static struct number parse_sum(struct parser *parser) {
    struct number a = parse_product(parser);
    for (char c; (c = peek(parser)) == '+' || c == '-';) {
        parser->at++;
        struct number b = parse_product(parser);
        parser->evaluation->roundings++;
        a = (struct number){c == '+' ? a.value + b.value : a.value - b.value, a.scale + b.scale};
        if (parser->evaluation->wrong) break;
    }
    return a;
}

bool evaluate(const char *text, const struct names *names, struct evaluation *evaluation) {
    *evaluation = (struct evaluation){.is_polynomial = true};
    struct parser parser = {text, names, evaluation, 0};
    evaluation->number = parse_sum(&parser);
    if (!evaluation->wrong && peek(&parser)) evaluation->wrong = "something follows its end";
    return !evaluation->wrong;
}
