#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* asprintf, get_current_dir_name */
#endif
#include "names.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct names names_of(const struct program *program) {
    struct names names = {.path = program->path};
    char *directory = get_current_dir_name();
    if (directory && asprintf(&names.directory, "%s/", directory) < 0) names.directory = NULL;
    free(directory);
    return names;
}

void names_clear(struct names *names) { free(names->directory); }

/* nvcc sees the folder of the source as a link in a private one. */
void names_show(const struct names *names, const char recorded[RECORD_NAME], char text[2 * RECORD_NAME]) {
    static const char beside[] = "/warpfold-beside/";
    char file[RECORD_NAME];
    snprintf(file, sizeof file, "%.*s", RECORD_NAME - 1, recorded);
    const char *behind = strstr(file, beside), *slash = strrchr(names->path, '/');
    int folder = slash ? (int)(slash - names->path) + 1 : 0;
    size_t length = names->directory ? strlen(names->directory) : 0;
    if (behind)
        snprintf(text, 2 * RECORD_NAME, "%.*s%s", folder, names->path, behind + strlen(beside));
    else
        snprintf(text, 2 * RECORD_NAME, "%s",
                 length && !strncmp(file, names->directory, length) ? file + length : file);
}
