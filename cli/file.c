#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* asprintf, getdelim */
#endif
#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "output.h"

char *file_read(const char *path, size_t *nbytes) {
    FILE *stream = fopen(path, "re");
    if (!stream) return NULL;
    char *text = NULL;
    size_t capacity = 0;
    errno = 0;
    ssize_t length = getdelim(&text, &capacity, '\0', stream);
    int error = errno;
    fclose(stream);
    if (length < 0 && !error && text) text[0] = '\0'; /* an empty file */
    if (length < 0 && error) {
        free(text);
        text = NULL;
    }
    errno = error;
    *nbytes = length > 0 ? (size_t)length : 0;
    return text;
}

static mode_t new_file_mode(void) {
    mode_t mask = umask(0);
    umask(mask);
    return 0666 & ~mask;
}

/* Closes the file in any case; keeps the errno of what failed first. */
static bool close_after(int file, bool is_written) {
    int error = errno;
    bool is_closed = close(file) == 0;
    if (!is_written) errno = error;
    return is_written && is_closed;
}

static bool write_pieces(int file, const struct file_piece *pieces, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (!write_all(file, pieces[i].data, pieces[i].nbytes)) return false;
    return true;
}

static bool write_temporary(int file, const struct file_piece *pieces, size_t count) {
    bool is_written = write_pieces(file, pieces, count) && !fchmod(file, new_file_mode()) && !fsync(file);
    return close_after(file, is_written);
}

/* By way of a temporary file beside it, so that path always holds one whole file. */
static bool replace_file(const char *path, const struct file_piece *pieces, size_t count) {
    const char *slash = strrchr(path, '/');
    int directory_length = slash ? (int)(slash - path) + 1 : 0;
    char *temporary;
    if (asprintf(&temporary, "%.*s.warpfold-XXXXXX", directory_length, path) < 0) return false;
    int file = mkstemp(temporary);
    bool is_replaced = file >= 0 && write_temporary(file, pieces, count) && !rename(temporary, path);
    if (file >= 0 && !is_replaced) {
        int error = errno;
        unlink(temporary);
        errno = error;
    }
    free(temporary);
    return is_replaced;
}

/* A device or a pipe is written to; replacing it by a file would be no favour. */
static bool write_into(const char *path, const struct file_piece *pieces, size_t count) {
    int file = open(path, O_WRONLY | O_CLOEXEC);
    return file >= 0 && close_after(file, write_pieces(file, pieces, count));
}

bool file_write(const char *path, const struct file_piece *pieces, size_t count) {
    struct stat status;
    if (stat(path, &status)) return replace_file(path, pieces, count);
    if (!S_ISREG(status.st_mode)) return write_into(path, pieces, count);
    char *target = realpath(path, NULL); /* what a symbolic link means is replaced, not the link */
    bool is_replaced = target && replace_file(target, pieces, count);
    free(target);
    return is_replaced;
}
