/* Where the stand-ins for the CUDA libraries are. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* asprintf */
#endif
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "private.h"

#define RUNTIME_NAME "libcudart.so.13"

/* From the folder of this program: where it was built, and where it is installed (CMakeLists.txt). */
static const char *const folders[] = {"program", PROGRAM_RUNTIME_FOLDER};

/* A name in LD_PRELOAD ends at a blank or a colon. */
static bool is_usable(const char *path) { return !access(path, R_OK) && !path[strcspn(path, " :\t\n")]; }

char *program_find_folder(void) {
    char *self = realpath("/proc/self/exe", NULL), *path = NULL;
    if (!self) return NULL;
    *strrchr(self, '/') = '\0';
    for (size_t i = 0; i < sizeof folders / sizeof *folders && !path; i++) {
        char *named = NULL;
        if (asprintf(&named, "%s/%s/" RUNTIME_NAME, self, folders[i]) < 0) break;
        path = realpath(named, NULL);
        int error = errno;
        free(named);
        errno = error;
        if (!path && error == ENOMEM) break;
        if (path && !is_usable(path)) {
            free(path);
            path = NULL;
        }
    }
    free(self);
    if (path) *strrchr(path, '/') = '\0';
    return path;
}

char *program_find_in_path(const char *name) {
    const char *folder = getenv("PATH");
    while (folder && *folder && !strchr(name, '/')) {
        int length = (int)strcspn(folder, ":");
        char *path;
        if (asprintf(&path, "%.*s/%s", length, folder, name) < 0) return NULL;
        if (length && !access(path, X_OK)) return path;
        free(path);
        folder += length + (folder[length] == ':');
    }
    errno = ENOENT;
    return NULL;
}
