#include "join.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* ---- the text that grows */

struct joined {
    char *text;
    size_t nbytes, capacity;
    bool is_lost; /* no memory */
    struct name {
        const char *text; /* in the texts */
        size_t nbytes;
    } *names; /* of what is weak and there already */
    size_t name_count, name_capacity;
    unsigned long files, highest; /* numbers of files before this text's, and up to now */
};

static void *grow(struct joined *joined, void *items, size_t *capacity, size_t needed, size_t item) {
    if (needed <= *capacity) return items;
    size_t more = 2 * needed + 64;
    void *grown = realloc(items, more * item);
    if (!grown) {
        joined->is_lost = true;
        return items;
    }
    *capacity = more;
    return grown;
}

static void put(struct joined *joined, const char *text, size_t nbytes) {
    joined->text = grow(joined, joined->text, &joined->capacity, joined->nbytes + nbytes + 1, 1);
    if (joined->is_lost) return;
    memcpy(joined->text + joined->nbytes, text, nbytes);
    joined->nbytes += nbytes;
    joined->text[joined->nbytes] = '\0';
}

static void put_number(struct joined *joined, unsigned long number) {
    char digits[24], *at = digits + sizeof digits;
    do *--at = (char)('0' + number % 10);
    while (number /= 10);
    put(joined, at, (size_t)(digits + sizeof digits - at));
}

/* Whether the name is there already; it is from now on. */
static bool note_name(struct joined *joined, const char *text, size_t nbytes) {
    for (size_t n = 0; n < joined->name_count; n++)
        if (joined->names[n].nbytes == nbytes && !memcmp(joined->names[n].text, text, nbytes)) return true;
    joined->names = grow(joined, joined->names, &joined->name_capacity, joined->name_count + 1, sizeof *joined->names);
    if (!joined->is_lost) joined->names[joined->name_count++] = (struct name){text, nbytes};
    return false;
}

/* ---- statements */

static bool begins(const char *text, const char *word) { return !strncmp(text, word, strlen(word)); }

static bool is_word(char c) { return isalnum((unsigned char)c) || c == '_' || c == '$' || c == '%' || c == '.'; }

/* Behind a comment or a string that begins here, or the next character. */
static const char *next(const char *at) {
    const char *end = at + 1;
    if (begins(at, "//")) end = at + strcspn(at, "\n");
    else if (begins(at, "/*")) end = strstr(at + 2, "*/") ? strstr(at + 2, "*/") + 2 : at + strlen(at);
    else if (*at == '"') end = at + 1 + strcspn(at + 1, "\"\n") + (at[1 + strcspn(at + 1, "\"\n")] == '"');
    return end;
}

static const char *skip_blanks(const char *at) {
    while (isspace((unsigned char)*at) || begins(at, "//") || begins(at, "/*")) at = next(at);
    return at;
}

static bool is_line(const char *at) {
    static const char *const words[] = {".version", ".target", ".address_size", ".file", ".loc"};
    for (size_t w = 0; w < sizeof words / sizeof *words; w++)
        if (begins(at, words[w]) && !is_word(at[strlen(words[w])])) return true;
    return false;
}

/* Behind the ';', or the '}' of a body, of the statement that begins here. */
static const char *end_of(const char *at) {
    if (is_line(at)) return at + strcspn(at, "\n");
    for (int depth = 0; *at; at = next(at)) {
        if (*at == ';' && depth == 0) return at + 1;
        depth += (*at == '{') - (*at == '}');
        if (*at == '}' && depth <= 0) {
            const char *behind = skip_blanks(at + 1);
            return *behind == ';' ? behind + 1 : at + 1;
        }
    }
    return at;
}

/* The first word that is neither a directive nor a number nor in parentheses. */
static size_t find_name(const char *at, const char *end, const char **name) {
    for (int depth = 0; at < end; at = is_word(*at) ? at : next(at)) {
        depth += (*at == '(') - (*at == ')');
        size_t nbytes = 0;
        while (is_word(at[nbytes])) nbytes++;
        *name = at;
        if (nbytes && !depth && *at != '.' && !isdigit((unsigned char)*at)) return nbytes;
        at += nbytes;
    }
    return 0;
}

static bool has_word(const char *at, const char *end, const char *word) {
    const char *found = strstr(at, word);
    return found && found < end;
}

/* A definition that another text has brought, too. */
static bool is_known(struct joined *joined, const char *at, const char *end) {
    const char *name;
    if (!begins(at, ".weak") && !begins(at, ".common")) return false;
    const size_t nbytes = find_name(at, end, &name);
    bool is_function = nbytes && (has_word(at, name, ".func") || has_word(at, name, ".entry"));
    bool is_declaration = is_function && end[-1] == ';';
    return nbytes && !is_declaration && note_name(joined, name, nbytes);
}

/* ---- one text behind the others */

/* Copies the number at *at, of a file, as it is in the whole. */
static const char *put_file(struct joined *joined, const char *at) {
    char *end;
    const unsigned long number = strtoul(at, &end, 10);
    if (end == at) return at;
    if (number + joined->files > joined->highest) joined->highest = number + joined->files;
    put(joined, " ", 1);
    put_number(joined, number + joined->files);
    return end;
}

/* Numbers of files and labels of their names differ in each text. */
static void put_statement(struct joined *joined, const char *at, const char *end, size_t number) {
    static const char *const files[] = {".file", ".loc", "inlined_at"}, label[] = "$L__info_string";
    for (const char *after; at < end; at = after) {
        const char *word = NULL;
        for (size_t f = 0; f < sizeof files / sizeof *files && !word; f++)
            if (begins(at, files[f]) && isspace((unsigned char)at[strlen(files[f])])) word = files[f];
        after = word ? at + strlen(word) : next(at);
        if (begins(at, label)) {
            put(joined, "$L__of", 6);
            put_number(joined, number);
            after = at + 3;
        } else put(joined, at, (size_t)(after - at));
        if (word) after = put_file(joined, after);
    }
    put(joined, "\n", 1);
}

static void put_text(struct joined *joined, const char *at, size_t number) {
    joined->files = joined->highest;
    for (const char *end; *(at = skip_blanks(at)) && !joined->is_lost; at = end) {
        end = end_of(at);
        bool is_head = begins(at, ".version") || begins(at, ".target") || begins(at, ".address_size");
        if ((number && is_head) || is_known(joined, at, end)) continue;
        put_statement(joined, at, end, number);
    }
}

char *join_ptx(char *const *texts, size_t count) {
    struct joined joined = {0};
    put(&joined, "", 0);
    for (size_t t = 0; t < count; t++) put_text(&joined, texts[t], t);
    free(joined.names);
    if (!joined.is_lost) return joined.text;
    free(joined.text);
    return NULL;
}
