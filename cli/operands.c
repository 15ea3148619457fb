#include "operands.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "output.h"

/* All of the stream, closed by a 0; the caller's, to be freed.  NULL, with errno set: it cannot be read. */
static char *read_stream(FILE *stream, size_t *nbytes) {
    size_t capacity = 4096;
    char *text = malloc(capacity);
    *nbytes = 0;
    while (text) {
        *nbytes += fread(text + *nbytes, 1, capacity - *nbytes - 1, stream);
        if (ferror(stream)) break;
        if (*nbytes < capacity - 1) {
            text[*nbytes] = 0;
            return text;
        }
        char *larger = realloc(text, capacity *= 2);
        if (!larger) break;
        text = larger;
    }
    int error = ferror(stream) ? errno : ENOMEM;
    free(text);
    errno = error;
    return NULL;
}

static char *read_list(const char *path, size_t *nbytes) {
    bool is_standard_input = !strcmp(path, "-");
    FILE *stream = is_standard_input ? stdin : fopen(path, "re");
    if (!stream) return NULL;
    char *text = read_stream(stream, nbytes);
    int error = errno;
    if (!is_standard_input) fclose(stream);
    errno = error;
    return text;
}

/* Splits the text at each separator; returns how many names it has, which go to names unless that is NULL. */
static size_t split(char *text, size_t nbytes, char separator, const char **names) {
    size_t count = 0;
    for (char *at = text, *end = text + nbytes; at < end;) {
        char *stop = memchr(at, separator, (size_t)(end - at));
        if (!stop) stop = end;
        bool is_empty = stop == at;
        if (names && !is_empty) names[count] = at;
        if (names) *stop = 0;
        count += !is_empty;
        at = stop + 1;
    }
    return count;
}

int operands_extend(struct settings *settings) {
    const char *path = settings->files_from;
    size_t nbytes;
    if (!path) return STATUS_OK;
    settings->file_list = read_list(path, &nbytes);
    if (!settings->file_list) return fail("%s: cannot be read: %s", file_name(path), error_text(errno));
    char separator = memchr(settings->file_list, 0, nbytes) ? '\0' : '\n';
    size_t count = split(settings->file_list, nbytes, separator, NULL);
    if (!count) return fail("%s: the list names no files", file_name(path));
    struct settings_list *operands = &settings->operands;
    const char **items = realloc(operands->items, (operands->count + count) * sizeof *items);
    if (!items) return fail_memory();
    operands->items = items;
    split(settings->file_list, nbytes, separator, items + operands->count);
    operands->count += count;
    return STATUS_OK;
}
