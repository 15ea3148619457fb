#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* mkdtemp */
#endif
#include "scratch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/getenv.h"

/* ---- names that are safe ------------------------------------------------------------------------- */

static bool is_plain(const char *text, const char *others) {
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        bool is_letter =
            (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c >= 0x80;
        if (!is_letter && !strchr(others, c)) return false;
    }
    return true;
}

bool simt_is_plain_path(const char *text) {
    return is_plain(text, "/._-+,=@%:");
}

bool simt_is_plain_setting(const char *text) {
    return is_plain(text, "/._-+,=@%: ");
}

/* ---- the folder ---------------------------------------------------------------------------------- */

static void hold(const simt_leftovers *leftovers, bool is_held) {
    if (leftovers) leftovers->hold(leftovers->context, is_held);
}

static void report_folder(const struct scratch *scratch, bool is_there) {
    if (scratch->leftovers)
        scratch->leftovers->folder(scratch->leftovers->context, scratch->folder, is_there);
}

/* Compilers name files by their real paths. */
static bool find_parent(char parent[PATH_MAX]) {
    const char *chosen = wf_getenv("TMPDIR");
    if (chosen && chosen[0] == '/' && realpath(chosen, parent) && simt_is_plain_path(parent)) return true;
    return realpath("/tmp", parent);
}

static bool make_folders(struct scratch *scratch) {
    if (!mkdtemp(scratch->folder)) return false;
    scratch->depth = 1;
    report_folder(scratch, true);
    for (; scratch->depth < SCRATCH_DEPTH; scratch->depth++) {
        strcat(scratch->folder, "/d");
        if (mkdir(scratch->folder, 0700)) {
            *strrchr(scratch->folder, '/') = '\0';
            return false;
        }
        report_folder(scratch, true);
    }
    return true;
}

bool simt_scratch_open(struct scratch *scratch, const simt_leftovers *leftovers) {
    enum { NAME_CAPACITY = 64 + 2 * SCRATCH_DEPTH };
    char parent[PATH_MAX];
    *scratch = (struct scratch){.leftovers = leftovers};
    if (!find_parent(parent)) return false;
    if (strlen(parent) + NAME_CAPACITY > PATH_MAX) {
        errno = ENAMETOOLONG;
        return false;
    }
    snprintf(scratch->folder, PATH_MAX, "%.*s/warpfold-XXXXXX", PATH_MAX - NAME_CAPACITY, parent);
    hold(leftovers, true);
    bool is_made = make_folders(scratch);
    int error = errno;
    hold(leftovers, false);
    if (!is_made) simt_scratch_close(scratch);
    errno = error;
    return is_made;
}

static void empty(const char *folder) {
    DIR *listing = opendir(folder);
    if (!listing) return;
    for (const struct dirent *file; (file = readdir(listing));) unlinkat(dirfd(listing), file->d_name, 0);
    closedir(listing);
}

void simt_scratch_close(struct scratch *scratch) {
    if (scratch->depth > 0) empty(scratch->folder);
    for (; scratch->depth > 0; scratch->depth--) {
        rmdir(scratch->folder);
        report_folder(scratch, false);
        *strrchr(scratch->folder, '/') = '\0';
    }
}

bool simt_scratch_path(char path[PATH_MAX], const struct scratch *scratch, const char *name) {
    return snprintf(path, PATH_MAX, "%s/%s", scratch->folder, name) < PATH_MAX;
}
