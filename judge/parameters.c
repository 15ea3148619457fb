#include "parameters.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "task.h"

/* ---- the types in a mangled name, by the Itanium C++ ABI: _Z6reducePKfPfi */

static const struct basic {
    char letter;
    const char *name;
    bool is_float;
    size_t nbytes;
} basics[] = {{'f', "float", true, 4},          {'d', "double", true, 8},      {'i', "int", false, 4},       {'j', "unsigned int", false, 4},
              {'l', "long", false, 8},          {'m', "unsigned long", false, 8}, {'x', "long long", false, 8}, {'y', "unsigned long long", false, 8},
              {'s', "short", false, 2},         {'t', "unsigned short", false, 2}, {'c', "char", false, 1},     {'a', "signed char", false, 1},
              {'h', "unsigned char", false, 1}, {'b', "bool", false, 1}};

static const struct basic *basic_of(char letter) {
    for (size_t i = 0; i < sizeof basics / sizeof *basics; i++)
        if (basics[i].letter == letter) return &basics[i];
    return NULL;
}

enum { SEEN_MAX = 32 };

/* What is left of the name, and the types that it may refer to by number: S_, S0_, S1_. */
struct types {
    const char *at;
    char seen[SEEN_MAX]; /* what each is made of */
    size_t count;
};

/* The number behind "S"; SEEN_MAX: it is none of those. */
static size_t take_number(struct types *types) {
    const char *end = strchr(types->at, '_');
    const unsigned long number = *types->at == '_' ? 0 : 1 + strtoul(types->at, NULL, 36);
    if (!end || number >= types->count) return SEEN_MAX;
    types->at = end + 1;
    return number;
}

/* The letter of the next parameter, or of what it points to; 0: another type, behind which nothing is known. */
static char take_type(struct types *types, bool *is_pointer) {
    size_t layers = 0;
    *is_pointer = false;
    for (bool is_qualified = false; *types->at && strchr("PKV", *types->at); types->at++) {
        const bool is_layer = *types->at == 'P' || !is_qualified; /* KV is one */
        layers += is_layer;
        is_qualified = *types->at != 'P';
        *is_pointer |= *types->at == 'P';
    }
    char letter = *types->at ? *types->at++ : '\0';
    if (letter == 'S') {
        const size_t number = take_number(types);
        letter = number < SEEN_MAX ? types->seen[number] : '\0';
        *is_pointer = true; /* a letter alone is none of those */
    }
    if (!basic_of(letter)) return '\0';
    for (; layers && types->count < SEEN_MAX; layers--) types->seen[types->count++] = letter;
    return letter;
}

/* ---- what the task wants */

void parameters_compare(const struct judge_task *task, const struct stage *stage, const char *name, char *text, size_t nbytes) {
    size_t length;
    int digits;
    if (sscanf(name, "_Z%zu%n", &length, &digits) != 1 || strlen(name) < (size_t)digits + length) return;
    struct types types = {.at = name + digits + length};
    for (size_t i = 0; i < stage->argument_count; i++) {
        bool is_pointer;
        const struct argument *argument = &task->arguments[stage->arguments[i]];
        const struct basic *basic = basic_of(take_type(&types, &is_pointer));
        if (!basic) return;
        const bool is_alike = basic->is_float == is_float(argument->type) && basic->nbytes == wf_type_nbytes(argument->type);
        if (argument->role == ROLE_SCALAR || !is_pointer || is_alike) continue;
        snprintf(text, nbytes, "the kernel takes `%s` for %s *, but its elements are %s: %s", argument->name, basic->name, wf_type_name(argument->type), stage->signature);
        return;
    }
}
