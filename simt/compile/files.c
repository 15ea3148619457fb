/* Files, and the names by which a user knows them. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* asprintf, fopen's "e" */
#endif
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compile.h"

static char *read_stream(FILE *stream, size_t *nbytes) {
    size_t capacity = 1 << 14, length = 0;
    char *text = malloc(capacity);
    while (text) {
        length += fread(text + length, 1, capacity - length, stream);
        if (length < capacity) break;
        char *larger = realloc(text, capacity *= 2);
        if (!larger) free(text);
        text = larger;
    }
    if (!text) errno = ENOMEM;
    if (!text || ferror(stream)) {
        free(text);
        return NULL;
    }
    text[length] = '\0';
    *nbytes = length;
    return text;
}

char *simt_read_file(const char *path, size_t *nbytes) {
    FILE *stream = fopen(path, "rbe");
    if (!stream) return NULL;
    char *text = read_stream(stream, nbytes);
    int error = errno;
    fclose(stream);
    errno = error;
    return text;
}

size_t simt_folder_length(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? (size_t)(slash - path) + 1 : 0;
}

bool simt_rename_source(char **ptx, const struct source *source) {
    const char *path = source->given->path;
    char *directory = path[0] == '/' ? NULL : getcwd(NULL, 0), *before = NULL, *whole = NULL;
    if (asprintf(&before, "%s%s", directory ? directory : "", directory ? "/" : "") < 0) before = NULL;
    free(directory);
    if (!before || asprintf(&whole, "%s%s", before, source->name) < 0) {
        free(before);
        return false;
    }
    const struct renaming renamings[] = {
        {whole, path, true}, {source->name, path, true}, {before, "", false}};
    bool is_renamed = simt_rename_files(ptx, renamings, 3);
    free(whole);
    free(before);
    return is_renamed;
}
