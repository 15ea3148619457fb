/* A small part of the Itanium C++ ABI's name mangling: what names of kernels consist of.  Qualifiers are
 * written after what they qualify ("int const*"), so that text is only ever appended, and a substitution is
 * a range of it. */
#include "kernel_name.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_CAPACITY = 1024, SUBSTITUTIONS_MAX = 64, ARGUMENTS_MAX = 32, DEPTH_MAX = 32 };

struct range {
    size_t begin, end;
};

struct demangler {
    const char *at;
    char text[NAME_CAPACITY];
    size_t length;
    struct range substitutions[SUBSTITUTIONS_MAX];
    size_t substitution_count;
    struct range arguments[ARGUMENTS_MAX]; /* those of the last template */
    size_t argument_count;
    bool is_in_lambda;
    int depth;
};

/* ---- writing ------------------------------------------------------------------------------------- */

static bool put(struct demangler *demangler, const char *text, size_t length) {
    if (length > NAME_CAPACITY - demangler->length) return false;
    memmove(demangler->text + demangler->length, text, length);
    demangler->length += length;
    return true;
}

static bool put_text(struct demangler *demangler, const char *text) {
    return put(demangler, text, strlen(text));
}

/* Makes a range of the text available to back references. */
static bool remember_range(struct demangler *demangler, struct range range) {
    if (demangler->substitution_count == SUBSTITUTIONS_MAX) return false;
    demangler->substitutions[demangler->substitution_count++] = range;
    return true;
}

static bool remember(struct demangler *demangler, size_t begin) {
    return remember_range(demangler, (struct range){begin, demangler->length});
}

static bool take(struct demangler *demangler, char expected) {
    if (*demangler->at != expected) return false;
    demangler->at++;
    return true;
}

/* ---- names --------------------------------------------------------------------------------------- */

static bool parse_name(struct demangler *demangler);
static bool parse_type(struct demangler *demangler);
static bool parse_template_arguments(struct demangler *demangler);
static bool parse_parameters(struct demangler *demangler);

/* Ul..E_, Ul..E0_: the first and the second lambda of a function with such parameters.  Parameters that
 * are templates are its own. */
static bool parse_lambda(struct demangler *demangler) {
    char number[32], *end;
    bool was_in_lambda = demangler->is_in_lambda;
    demangler->at += strlen("Ul");
    demangler->is_in_lambda = true;
    if (!put_text(demangler, "{lambda") || !parse_parameters(demangler) || !take(demangler, 'E'))
        return false;
    demangler->is_in_lambda = was_in_lambda;
    unsigned long index = isdigit((unsigned char)*demangler->at) ? strtoul(demangler->at, &end, 10) + 2 : 1;
    if (index > 1) demangler->at = end;
    snprintf(number, sizeof number, "#%lu}", index);
    return take(demangler, '_') && put_text(demangler, number);
}

/* 6reduce, or a lambda */
static bool parse_source_name(struct demangler *demangler) {
    char *name;
    if (!strncmp(demangler->at, "Ul", 2)) return parse_lambda(demangler);
    if (!isdigit((unsigned char)*demangler->at)) return false;
    unsigned long length = strtoul(demangler->at, &name, 10);
    if (length == 0 || length >= NAME_CAPACITY || strnlen(name, length) < length) return false;
    demangler->at = name + length;
    if (!strncmp(name, "_GLOBAL__N", strlen("_GLOBAL__N")))
        return put_text(demangler, "(anonymous namespace)");
    return put(demangler, name, length);
}

/* S_, S0_, ... SA_; St is std. */
static bool parse_substitution(struct demangler *demangler) {
    if (!take(demangler, 'S')) return false;
    if (take(demangler, 't')) return put_text(demangler, "std");
    size_t index = 0;
    for (; isdigit((unsigned char)*demangler->at) || isupper((unsigned char)*demangler->at);
         demangler->at++) {
        char c = *demangler->at;
        index = index * 36 + (size_t)(isdigit((unsigned char)c) ? c - '0' : c - 'A' + 10) + (index == 0);
        if (index > SUBSTITUTIONS_MAX) return false;
    }
    if (!take(demangler, '_') || index >= demangler->substitution_count) return false;
    struct range range = demangler->substitutions[index];
    return put(demangler, demangler->text + range.begin, range.end - range.begin);
}

/* N2ns6reduceIiEE */
static bool parse_nested_name(struct demangler *demangler) {
    size_t begin = demangler->length;
    if (!take(demangler, 'N')) return false;
    demangler->at += strspn(demangler->at, "rVK"); /* of a member function */
    while (!take(demangler, 'E')) {
        bool is_first = demangler->length == begin;
        if (*demangler->at == 'I') {
            if (is_first || !parse_template_arguments(demangler)) return false;
        } else if (*demangler->at == 'S') {
            if (!is_first || !parse_substitution(demangler)) return false;
            continue; /* it is remembered already */
        } else {
            take(demangler, 'L'); /* internal linkage */
            if ((!is_first && !put_text(demangler, "::")) || !parse_source_name(demangler)) return false;
        }
        if (!remember(demangler, begin)) return false;
    }
    return true;
}

/* The type of a template function's result is not shown, so nothing may refer to its text. */
static bool skip_result(struct demangler *demangler) {
    size_t length = demangler->length, first = demangler->substitution_count;
    if (!parse_type(demangler)) return false;
    for (size_t i = first; i < demangler->substitution_count; i++)
        if (demangler->substitutions[i].end > length) return false;
    demangler->length = length;
    return true;
}

/* 4main, 1fIiEvT_: back references cannot name a function, only a template that it is made of. */
static bool parse_function(struct demangler *demangler) {
    size_t count = demangler->substitution_count;
    if (!parse_name(demangler)) return false;
    if (demangler->substitution_count > count) demangler->substitution_count--;
    bool is_template = demangler->length && demangler->text[demangler->length - 1] == '>';
    if (*demangler->at == 'E') return true;
    return (!is_template || skip_result(demangler)) && parse_parameters(demangler);
}

/* Z4mainEUliE_: what is in a function.  Several of one name have numbers: Z4mainE1s_0 */
static bool parse_local_name(struct demangler *demangler) {
    size_t begin = demangler->length;
    if (++demangler->depth > DEPTH_MAX || !take(demangler, 'Z') || !parse_function(demangler) ||
        !take(demangler, 'E') || !put_text(demangler, "::"))
        return false;
    size_t count = demangler->substitution_count;
    if (!parse_name(demangler)) return false;
    if (demangler->substitution_count > count)
        demangler->substitutions[demangler->substitution_count - 1].begin = begin;
    if (take(demangler, '_')) demangler->at += strspn(demangler->at, "0123456789");
    demangler->depth--;
    return true;
}

static bool parse_name(struct demangler *demangler) {
    size_t begin = demangler->length;
    bool is_known = *demangler->at == 'S';
    if (*demangler->at == 'N') return parse_nested_name(demangler);
    if (*demangler->at == 'Z') return parse_local_name(demangler);
    if (demangler->at[0] == 'S' && demangler->at[1] == 't') {
        demangler->at += 2;
        is_known = false;
        if (!put_text(demangler, "std::") || !parse_source_name(demangler)) return false;
    } else if (is_known) {
        if (!parse_substitution(demangler)) return false;
    } else {
        take(demangler, 'L');
        if (!parse_source_name(demangler)) return false;
    }
    if (!is_known && !remember(demangler, begin)) return false;
    return *demangler->at != 'I' || (parse_template_arguments(demangler) && remember(demangler, begin));
}

/* ---- types and template arguments ---------------------------------------------------------------- */

#define BUILTIN_TYPES(X)                                                                                     \
    X('v', "void")                                                                                           \
    X('b', "bool")                                                                                           \
    X('c', "char")                                                                                           \
    X('a', "signed char")                                                                                    \
    X('h', "unsigned char") X('w', "wchar_t") X('s', "short") X('t', "unsigned short") X('i', "int")         \
        X('j', "unsigned int") X('l', "long") X('m', "unsigned long") X('x', "long long")                    \
            X('y', "unsigned long long") X('n', "__int128") X('o', "unsigned __int128") X('f', "float")      \
                X('d', "double") X('e', "long double")

static const char *builtin_type(char code) {
    switch (code) {
#define BUILTIN_CASE(letter, name)                                                                           \
    case letter: return name;
        BUILTIN_TYPES(BUILTIN_CASE)
#undef BUILTIN_CASE
    }
    return NULL;
}

#define QUALIFIERS(X) X('P', "*") X('R', "&") X('O', "&&") X('K', " const") X('V', " volatile")

static const char *qualifier(char code) {
    switch (code) {
#define QUALIFIER_CASE(letter, name)                                                                         \
    case letter: return name;
        QUALIFIERS(QUALIFIER_CASE)
#undef QUALIFIER_CASE
    }
    return NULL;
}

/* What stands for T_, T0_, T1_ ...: the text where it was first written, as a result's is not kept. */
static bool parse_template_parameter(struct demangler *demangler) {
    char *end;
    demangler->at++;
    size_t index = isdigit((unsigned char)*demangler->at) ? strtoul(demangler->at, &end, 10) + 1 : 0;
    if (index) demangler->at = end;
    if (!take(demangler, '_')) return false;
    if (demangler->is_in_lambda) {
        size_t begin = demangler->length;
        return put_text(demangler, "auto") && remember(demangler, begin);
    }
    if (index >= demangler->argument_count) return false;
    struct range range = demangler->arguments[index];
    return put(demangler, demangler->text + range.begin, range.end - range.begin) &&
           remember_range(demangler, range);
}

/* FivE: the function's result, then its parameters */
static bool parse_function_type(struct demangler *demangler) {
    return take(demangler, 'F') && parse_type(demangler) && parse_parameters(demangler) &&
           take(demangler, 'E');
}

/* A4_f */
static bool parse_array_type(struct demangler *demangler) {
    const char *count = ++demangler->at;
    size_t length = strspn(count, "0123456789");
    demangler->at += length;
    return take(demangler, '_') && parse_type(demangler) && put_text(demangler, "[") &&
           put(demangler, count, length) && put_text(demangler, "]");
}

static bool parse_type_below(struct demangler *demangler) {
    size_t begin = demangler->length;
    if (*demangler->at == 'T') return parse_template_parameter(demangler);
    if (*demangler->at == 'F') return parse_function_type(demangler) && remember(demangler, begin);
    if (*demangler->at == 'A') return parse_array_type(demangler) && remember(demangler, begin);
    const char *behind = qualifier(*demangler->at);
    if (behind) {
        demangler->at++;
        return parse_type(demangler) && put_text(demangler, behind) && remember(demangler, begin);
    }
    const char *builtin = builtin_type(*demangler->at);
    if (!builtin) return parse_name(demangler);
    demangler->at++;
    return put_text(demangler, builtin);
}

/* Names contain types that contain names: hostile ones are cut here. */
static bool parse_type(struct demangler *demangler) {
    if (++demangler->depth > DEPTH_MAX) return false;
    bool is_parsed = parse_type_below(demangler);
    demangler->depth--;
    return is_parsed;
}

/* Up to the E behind them; v is none */
static bool parse_parameters(struct demangler *demangler) {
    if (!put_text(demangler, "(")) return false;
    if (!take(demangler, 'v'))
        for (bool is_first = true; *demangler->at != 'E'; is_first = false)
            if ((!is_first && !put_text(demangler, ", ")) || !parse_type(demangler)) return false;
    return put_text(demangler, ")");
}

/* Lb1E, Li512E, Lin3E, L4Kind2E */
static bool parse_literal(struct demangler *demangler) {
    if (!take(demangler, 'L')) return false;
    char code = *demangler->at;
    if (code == 'b') {
        bool is_true = demangler->at[1] == '1';
        demangler->at += demangler->at[1] ? 2 : 1;
        return put_text(demangler, is_true ? "true" : "false") && take(demangler, 'E');
    }
    if (strchr("ijlmxy", code) && code)
        demangler->at++;
    else if (!put_text(demangler, "(") || !parse_type(demangler) || !put_text(demangler, ")"))
        return false;
    if (take(demangler, 'n') && !put_text(demangler, "-")) return false;
    size_t length = strspn(demangler->at, "0123456789");
    if (length == 0 || !put(demangler, demangler->at, length)) return false;
    demangler->at += length;
    return take(demangler, 'E');
}

static bool parse_template_argument(struct demangler *demangler);

/* Parses template arguments up to the closing E. */
static bool parse_list(struct demangler *demangler) {
    struct range arguments[ARGUMENTS_MAX];
    size_t count = 0;
    for (; !take(demangler, 'E'); count++) {
        if (count == ARGUMENTS_MAX || (count && !put_text(demangler, ", "))) return false;
        arguments[count].begin = demangler->length;
        if (!parse_template_argument(demangler)) return false;
        arguments[count].end = demangler->length;
    }
    memcpy(demangler->arguments, arguments, sizeof arguments);
    demangler->argument_count = count;
    return true;
}

static bool parse_template_argument(struct demangler *demangler) {
    if (*demangler->at == 'L') return parse_literal(demangler);
    if (*demangler->at != 'J') return parse_type(demangler);
    if (++demangler->depth > DEPTH_MAX) return false;
    demangler->at++;
    bool is_parsed = parse_list(demangler);
    demangler->depth--;
    return is_parsed;
}

static bool parse_template_arguments(struct demangler *demangler) {
    return take(demangler, 'I') && put_text(demangler, "<") && parse_list(demangler) &&
           put_text(demangler, ">");
}

void readable_name(const char *mangled, char *text, size_t capacity) {
    struct demangler demangler = {.at = mangled + 2};
    if (!strncmp(mangled, "_Z", 2) && parse_name(&demangler))
        snprintf(text, capacity, "%.*s", (int)demangler.length, demangler.text);
    else
        snprintf(text, capacity, "%s", mangled);
}

/* ---- comparing ----------------------------------------------------------------------------------- */

static bool are_equal_but_for_spaces(const char *a, const char *b) {
    for (;; a++, b++) {
        while (*a == ' ') a++;
        while (*b == ' ') b++;
        if (*a != *b) return false;
        if (!*a) return true;
    }
}

int name_match(const char *mangled, const char *wanted) {
    char readable[NAME_CAPACITY];
    if (!strcmp(mangled, wanted)) return 3;
    readable_name(mangled, readable, sizeof readable);
    if (are_equal_but_for_spaces(readable, wanted)) return 2;
    readable[strcspn(readable, "<")] = '\0';
    const char *last = strrchr(readable, ':');
    return !strcmp(last ? last + 1 : readable, wanted);
}
