#include "source_conditions.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "source_text.h"

/* ---- a condition --------------------------------------------------------------------------------- */

struct condition {
    const char *text, *line; /* what is before the line, without what is skipped, defines names */
    const char *at;
    int depth; /* of brackets and names */
    unsigned *looks_left; /* for definitions of names */
};

enum { DEPTH_MAX = 16, LOOKS_MAX = 1 << 12 };

static int64_t either(struct condition *of);

static const char *skip_blanks(const char *at) { return at + strspn(at, " \t\r"); }

static bool accept(struct condition *of, const char *sign) {
    of->at = skip_blanks(of->at);
    if (strncmp(of->at, sign, strlen(sign))) return false;
    of->at += strlen(sign);
    return true;
}

/* Behind the name in the last line of the text so far that defines it; NULL: none does. */
static const char *find_definition(const char *text, const char *end, const char *name, size_t length) {
    static const char word[] = "define";
    const char *found = NULL;
    for (const char *at = text; (at = text_find_word(at, word, strlen(word))) && at < end;) {
        at = skip_blanks(at + strlen(word));
        if (!strncmp(at, name, length) && !text_is_word(at[length])) found = at + length;
    }
    return found;
}

/* What nvcc defines; 0: nothing. */
static int64_t value_by_compiler(const char *name, size_t length) {
    static const struct {
        const char *name;
        int64_t value;
    } known[] = {{"__CUDACC__", 1}, {"__CUDA_ARCH__", 900}, {"__cplusplus", 201703}, {"__NVCC__", 1}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strlen(known[i].name) == length && !strncmp(known[i].name, name, length)) return known[i].value;
    return 0;
}

static const char *take_name(struct condition *of, size_t *length) {
    const char *name = of->at = skip_blanks(of->at);
    while (text_is_word(*of->at)) of->at++;
    *length = (size_t)(of->at - name);
    return name;
}

/* Each look goes through the text: of a hostile one no more than that many. */
static const char *look_up(const struct condition *of, const char *name, size_t length) {
    if (!*of->looks_left) return NULL;
    --*of->looks_left;
    return find_definition(of->text, of->line, name, length);
}

static bool is_defined(const struct condition *of, const char *name, size_t length) {
    return value_by_compiler(name, length) || look_up(of, name, length);
}

static int64_t value_of(const struct condition *of, const char *name, size_t length) {
    const char *definition = of->depth < DEPTH_MAX ? look_up(of, name, length) : NULL;
    if (!definition) return value_by_compiler(name, length);
    struct condition inner = {of->text, of->line, definition, of->depth + 1, of->looks_left};
    return either(&inner);
}

static int64_t primary(struct condition *of) {
    size_t length;
    if (of->depth < DEPTH_MAX && accept(of, "(")) {
        of->depth++;
        const int64_t value = either(of);
        of->depth--;
        accept(of, ")");
        return value;
    }
    if (isdigit((unsigned char)*skip_blanks(of->at))) {
        char *end;
        const int64_t value = (int64_t)strtoull(of->at, &end, 0);
        for (of->at = end; text_is_word(*of->at);) of->at++; /* 1L */
        return value;
    }
    const char *name = take_name(of, &length);
    if (length != strlen("defined") || strncmp(name, "defined", length)) return length ? value_of(of, name, length) : 0;
    const bool has_bracket = accept(of, "(");
    name = take_name(of, &length);
    if (has_bracket) accept(of, ")");
    return is_defined(of, name, length);
}

static int64_t opposite(struct condition *of) {
    of->at = skip_blanks(of->at);
    const bool is_opposite = of->at[0] == '!' && of->at[1] != '=';
    bool is_odd = false;
    while (of->at[0] == '!' && of->at[1] != '=') of->at = skip_blanks(of->at + 1), is_odd = !is_odd;
    const int64_t value = primary(of);
    return is_opposite ? (value != 0) ^ is_odd : value;
}

static int64_t comparison(struct condition *of) {
    const int64_t value = opposite(of);
    if (accept(of, "==")) return value == opposite(of);
    if (accept(of, "!=")) return value != opposite(of);
    if (accept(of, ">=")) return value >= opposite(of);
    if (accept(of, "<=")) return value <= opposite(of);
    if (accept(of, ">")) return value > opposite(of);
    if (accept(of, "<")) return value < opposite(of);
    return value;
}

static int64_t both(struct condition *of) {
    int64_t value = comparison(of);
    while (accept(of, "&&")) value = (comparison(of) != 0) & (value != 0);
    return value;
}

static int64_t either(struct condition *of) {
    int64_t value = both(of);
    while (accept(of, "||")) value = (both(of) != 0) | (value != 0);
    return value;
}

/* ---- the lines ----------------------------------------------------------------------------------- */

enum { NESTED_MAX = 64 };

/* Of an #if that has not ended: whether its current part is taken, and whether one was before. */
struct part {
    bool is_taken, was_taken;
};

struct lines {
    char *text;
    struct part parts[NESTED_MAX];
    int count;
    unsigned looks_left;
};

static bool are_taken(const struct lines *lines, int count) {
    for (int i = 0; i < count; i++)
        if (!lines->parts[i].is_taken) return false;
    return true;
}

static bool begins(const char *at, const char *word) { return !strncmp(at, word, strlen(word)) && !text_is_word(at[strlen(word)]); }

static bool holds(struct lines *lines, const char *line, const char *expression) {
    struct condition condition = {lines->text, line, expression, 0, &lines->looks_left};
    return either(&condition);
}

static bool has_definition(struct lines *lines, const char *line, const char *name) {
    struct condition condition = {lines->text, line, name, 0, &lines->looks_left};
    size_t length;
    name = take_name(&condition, &length);
    return is_defined(&condition, name, length);
}

static void begin_part(struct lines *lines, bool is_taken) {
    if (lines->count == NESTED_MAX) return;
    lines->parts[lines->count++] = (struct part){is_taken, is_taken};
}

static void go_on(struct lines *lines, bool is_taken) {
    struct part *part = &lines->parts[lines->count - 1];
    part->is_taken = is_taken && !part->was_taken;
    part->was_taken |= part->is_taken;
}

/* Whether the line, which begins with the sign, is one of conditions. */
static bool read_directive(struct lines *lines, const char *line, const char *word) {
    const char *behind = text_skip_word(word);
    if (begins(word, "if")) begin_part(lines, holds(lines, line, behind));
    else if (begins(word, "ifdef")) begin_part(lines, has_definition(lines, line, behind));
    else if (begins(word, "ifndef")) begin_part(lines, !has_definition(lines, line, behind));
    else if (!lines->count) return false;
    else if (begins(word, "elif")) go_on(lines, holds(lines, line, behind));
    else if (begins(word, "else")) go_on(lines, true);
    else if (begins(word, "endif")) lines->count--;
    else return false;
    return true;
}

char *source_taken(const char *text) {
    struct lines lines = {.text = strdup(text), .looks_left = LOOKS_MAX};
    for (char *line = lines.text, *next; line && *line; line = next) {
        const size_t length = strcspn(line, "\n");
        const char *sign = skip_blanks(line);
        const bool was_taken = are_taken(&lines, lines.count);
        const bool is_condition = *sign == '#' && read_directive(&lines, line, skip_blanks(sign + 1));
        next = line + length + (line[length] == '\n');
        if (is_condition || !was_taken)
            for (char *at = line; at < line + length; at++) *at = ' ';
    }
    return lines.text;
}
