#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* strcasestr */
#endif
#include "source_template.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernel_source.h"
#include "source_text.h"
#include "source_types.h"

/* Where the parameters of the template begin whose function has its own at `open`; NULL: it is none. */
static const char *template_parameters(const char *text, const char *open) {
    static const char word[] = "template";
    const char *begin = open, *found = NULL;
    while (begin > text && !strchr(";}", begin[-1])) begin--;
    for (const char *at = begin; (at = text_find_word(at, word, strlen(word))) && at < open; at += strlen(word)) found = at;
    found = found ? text_skip_blanks(found + strlen(word)) : NULL;
    return found && *found == '<' ? found + 1 : NULL;
}

/* The template's parameters, `typename T, int N = 4`, one after the other. */
struct formals {
    const char *at, *close;
    struct kernel_parameter formal; /* the current one */
    const char *value, *value_end;  /* its default; NULL: it has none */
};

static bool begin_formals(struct formals *formals, const char *text, const char *open) {
    formals->at = template_parameters(text, open);
    formals->close = formals->at ? strchr(formals->at, '>') : NULL;
    return formals->close && formals->close < open;
}

static bool next_formal(struct formals *formals) {
    if (formals->at >= formals->close) return false;
    const char *stop = text_item_end(formals->at, formals->close), *equals = memchr(formals->at, '=', (size_t)(stop - formals->at));
    type_read_parameter(formals->at, equals ? equals : stop, &formals->formal);
    formals->value = equals ? text_skip_blanks(equals + 1) : NULL;
    formals->value_end = stop;
    formals->at = stop + 1;
    return true;
}

char *template_define(const char *text, const char *open, const char *instance) {
    const char *argument = strchr(instance, '<'), *end = argument ? strrchr(instance, '>') : NULL;
    struct formals formals;
    char *defined = NULL;
    size_t nbytes;
    FILE *stream = end && begin_formals(&formals, text, open) ? open_memstream(&defined, &nbytes) : NULL;
    if (!stream) return NULL;
    for (argument++; next_formal(&formals) && (argument < end || formals.value);) {
        const char *stop = argument < end ? text_item_end(argument, end) : formals.value_end;
        const char *begin = text_skip_blanks(argument < end ? argument : formals.value);
        const char *behind = *begin == '(' ? text_behind_bracket(begin) : NULL; /* (int)4 */
        if (behind && behind < stop && formals.formal.name[0]) begin = behind;
        if (formals.formal.name[0]) fprintf(stream, "#define %s %.*s\n", formals.formal.name, (int)(stop - begin), begin);
        argument = argument < end ? stop + 1 : end;
    }
    fputs(text, stream);
    if (!fclose(stream)) return defined;
    free(defined);
    return NULL;
}

/* What a parameter without a default may be. */
static const char *value_of(const struct kernel_parameter *formal) {
    static const char *const values[][2] = {{"BLOCK", "256"}, {"THREADS", "256"}, {"TPB", "256"}, {"ROWS", "8"}, {"TILE", "16"}};
    if (!strcmp(formal->type, "typename") || !strcmp(formal->type, "class")) return "float";
    if (!strcmp(formal->type, "bool")) return "true";
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        if (strcasestr(formal->name, values[i][0])) return values[i][1];
    return "4";
}

bool template_suggest(const char *text, const char *open, const char *name, const char *name_end, char *instance, size_t nbytes) {
    struct formals formals;
    if (!begin_formals(&formals, text, open)) return false;
    size_t length = (size_t)snprintf(instance, nbytes, "%.*s<", (int)(name_end - name), name);
    for (bool is_first = true; length < nbytes && next_formal(&formals); is_first = false) {
        const char *value = formals.value ? formals.value : value_of(&formals.formal);
        const int value_length = formals.value ? (int)(formals.value_end - formals.value) : (int)strlen(value);
        length += (size_t)snprintf(instance + length, nbytes - length, "%s%.*s", is_first ? "" : ", ", value_length, value);
    }
    if (length < nbytes) length += (size_t)snprintf(instance + length, nbytes - length, ">");
    return length < nbytes;
}
