/* A small part of the Itanium C++ ABI's name mangling: what names of kernels consist of.  Qualifiers are
 * written after what they qualify ("int const*"), so that text is only ever appended, and a substitution is
 * a range of it. */
#include "kernel_name.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_CAPACITY = 1024, SUBSTITUTIONS_MAX = 64, DEPTH_MAX = 32 };

struct range {
    size_t begin, end;
};

struct demangler {
    const char *at;
    char text[NAME_CAPACITY];
    size_t length;
    struct range substitutions[SUBSTITUTIONS_MAX];
    size_t substitution_count;
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

/* Makes the text written from `begin` on available to back references. */
static bool remember(struct demangler *demangler, size_t begin) {
    if (demangler->substitution_count == SUBSTITUTIONS_MAX) return false;
    demangler->substitutions[demangler->substitution_count++] = (struct range){begin, demangler->length};
    return true;
}

static bool take(struct demangler *demangler, char expected) {
    if (*demangler->at != expected) return false;
    demangler->at++;
    return true;
}

/* ---- names --------------------------------------------------------------------------------------- */

static bool parse_type(struct demangler *demangler);
static bool parse_template_arguments(struct demangler *demangler);

/* 6reduce */
static bool parse_source_name(struct demangler *demangler) {
    char *name;
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

static bool parse_name(struct demangler *demangler) {
    size_t begin = demangler->length;
    bool is_known = *demangler->at == 'S';
    if (*demangler->at == 'N') return parse_nested_name(demangler);
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
    X('b', "bool") X('c', "char") X('a', "signed char") X('h', "unsigned char") X('w', "wchar_t")            \
        X('s', "short") X('t', "unsigned short") X('i', "int") X('j', "unsigned int") X('l', "long")         \
            X('m', "unsigned long") X('x', "long long") X('y', "unsigned long long") X('n', "__int128")      \
                X('o', "unsigned __int128") X('f', "float") X('d', "double") X('e', "long double")

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

static bool parse_type_below(struct demangler *demangler) {
    size_t begin = demangler->length;
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
    for (bool is_first = true; !take(demangler, 'E'); is_first = false)
        if ((!is_first && !put_text(demangler, ", ")) || !parse_template_argument(demangler)) return false;
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
