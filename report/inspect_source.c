#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* strndup */
#endif
#include "inspect_source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- opening ------------------------------------------------------------------------------------- */

/* A pipe would be waited for. */
enum { READ_FLAGS = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY };

/* Folder by folder: no link that is put there meanwhile leads out.  Both paths are real ones. */
static int open_below(const char *folder, const char *path) {
    size_t length = strlen(folder);
    if (folder[length - 1] == '/') length--; /* the root */
    if (strncmp(path, folder, length) || path[length] != '/') return -1;
    int file = open(folder, READ_FLAGS | O_DIRECTORY);
    for (path += length + 1; file >= 0 && *path;) {
        size_t width = strcspn(path, "/");
        char *name = strndup(path, width);
        int next = name ? openat(file, name, READ_FLAGS | O_NOFOLLOW) : -1;
        free(name);
        close(file);
        file = next;
        path += width + (path[width] == '/');
    }
    return file;
}

static int open_real_below(const char *folder, const char *path) {
    char *real_folder = realpath(folder, NULL), *real_path = realpath(path, NULL);
    int file = real_folder && real_path ? open_below(real_folder, real_path) : -1;
    free(real_folder);
    free(real_path);
    return file;
}

static int open_source(const char *path, const struct places *places) {
    if (!strcmp(path, places->kernel)) return open(path, READ_FLAGS);
    const char *slash = strrchr(places->kernel, '/');
    char *beside = slash ? strndup(places->kernel, (size_t)(slash - places->kernel) + 1) : strdup(".");
    int file = beside ? open_real_below(beside, path) : -1;
    free(beside);
    if (file < 0 && places->folder) file = open_real_below(places->folder, path);
    return file;
}

/* ---- reading ------------------------------------------------------------------------------------- */

enum { SOURCE_NBYTES_MAX = 16 << 20 };

static bool read_all(int file, char *text, size_t nbytes) {
    while (nbytes > 0) {
        ssize_t length = read(file, text, nbytes);
        if (length < 0 && errno == EINTR) continue;
        if (length <= 0) return false;
        text += length;
        nbytes -= (size_t)length;
    }
    return true;
}

static char *read_text(int file, size_t *nbytes) {
    struct stat status;
    if (fstat(file, &status) || !S_ISREG(status.st_mode) || status.st_size > SOURCE_NBYTES_MAX) return NULL;
    *nbytes = (size_t)status.st_size;
    char *text = calloc(1, *nbytes + 1);
    if (text && read_all(file, text, *nbytes) && !memchr(text, '\0', *nbytes)) return text;
    free(text);
    return NULL;
}

bool sources_add(struct sources *sources, const char *path, const struct places *places) {
    for (size_t i = 0; i < sources->count; i++)
        if (!strcmp(sources->items[i].file, path)) return true;
    struct source *grown = realloc(sources->items, (sources->count + 1) * sizeof *grown);
    if (!grown) return false;
    sources->items = grown;
    struct source *source = &grown[sources->count++];
    *source = (struct source){.file = path};
    int file = open_source(path, places);
    if (file < 0) return true;
    source->text = read_text(file, &source->nbytes);
    close(file);
    return true;
}

/* ---- all of them --------------------------------------------------------------------------------- */

bool sources_read(struct sources *sources, const simt_report *report, const struct places *places) {
    bool is_whole = true;
    *sources = (struct sources){0};
    for (size_t i = 0; i < simt_report_line_count(report); i++)
        is_whole = is_whole && sources_add(sources, simt_report_line(report, i)->file, places);
    for (size_t i = 0; i < simt_report_finding_count(report); i++)
        is_whole = is_whole && sources_add(sources, simt_report_finding(report, i)->file, places);
    return is_whole;
}

void sources_clear(struct sources *sources) {
    for (size_t i = 0; i < sources->count; i++) free(sources->items[i].text);
    free(sources->items);
    *sources = (struct sources){0};
}

const char *source_line(const struct source *source, uint32_t line, size_t *length) {
    const char *text = source->text;
    for (uint32_t i = 1; text && i < line; i++) {
        text = strchr(text, '\n');
        text = text && text[1] ? text + 1 : NULL;
    }
    *length = text ? strcspn(text, "\r\n") : 0;
    return line ? text : NULL;
}
