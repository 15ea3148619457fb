/* Names of files in PTX: .file 1 "/here/my\"own\".cu".  Compilers write them as strings of C, a byte beyond
 * ASCII in octal digits; here they become what the user called the files. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* strchrnul */
#endif
#include "lex.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The name in quotes of a .file line; NULL: the line has none. */
static const char *find_name(const char *line, const char *end) {
    static const char directive[] = "\t.file\t";
    if (strncmp(line, directive, strlen(directive))) return NULL;
    const char *quote = memchr(line, '"', (size_t)(end - line));
    return quote ? quote + 1 : NULL;
}

static const char *find_end_of_name(const char *name, const char *end) {
    while (name < end && *name != '"') name += *name == '\\' && name + 1 < end ? 2 : 1;
    return name;
}

static bool applies(const struct renaming *renaming, const char *name) {
    return renaming->is_whole ? !strcmp(name, renaming->from)
                              : !strncmp(name, renaming->from, strlen(renaming->from));
}

static void put_quoted(FILE *stream, const char *name) {
    for (; *name; name++) {
        unsigned char c = (unsigned char)*name;
        if (c < ' ' || c == 0x7f)
            fprintf(stream, "\\%03o", c);
        else
            fprintf(stream, c == '"' || c == '\\' ? "\\%c" : "%c", c);
    }
}

/* By the first renaming that applies. */
static void put_name(FILE *stream, const char *name, const struct renaming *renamings, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (!applies(&renamings[i], name)) continue;
        put_quoted(stream, renamings[i].to);
        name += strlen(renamings[i].from);
        break;
    }
    put_quoted(stream, name);
}

static bool put_line(FILE *stream, const char *line, const char *end, const struct renaming *renamings,
                     size_t count) {
    const char *name = find_name(line, end);
    if (!name) return fwrite(line, 1, (size_t)(end - line), stream) == (size_t)(end - line);
    const char *behind = find_end_of_name(name, end);
    char *decoded = malloc((size_t)(behind - name) + 1);
    if (!decoded) return false;
    decoded[simt_unquote(name, (size_t)(behind - name), decoded)] = '\0';
    fwrite(line, 1, (size_t)(name - line), stream);
    put_name(stream, decoded, renamings, count);
    fwrite(behind, 1, (size_t)(end - behind), stream);
    free(decoded);
    return !ferror(stream);
}

bool simt_rename_files(char **ptx, const struct renaming *renamings, size_t count) {
    char *text = NULL;
    size_t nbytes;
    FILE *stream = open_memstream(&text, &nbytes);
    bool is_whole = stream;
    for (const char *line = *ptx; is_whole && *line;) {
        const char *end = strchrnul(line, '\n');
        if (*end) end++;
        is_whole = put_line(stream, line, end, renamings, count);
        line = end;
    }
    if (stream && fclose(stream)) is_whole = false;
    if (!is_whole) {
        free(text);
        return false;
    }
    free(*ptx);
    *ptx = text;
    return true;
}
