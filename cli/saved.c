#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* asprintf */
#endif
#include "saved.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "output.h"

/* ---- writing ------------------------------------------------------------------------------------- */

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

static bool write_temporary(int file, const void *data, size_t nbytes) {
    bool is_written = write_all(file, data, nbytes) && !fchmod(file, new_file_mode()) && !fsync(file);
    return close_after(file, is_written);
}

/* By way of a temporary file beside it, so that path always holds one whole file. */
static bool replace_file(const char *path, const void *data, size_t nbytes) {
    const char *slash = strrchr(path, '/');
    int directory_length = slash ? (int)(slash - path) + 1 : 0;
    char *temporary;
    if (asprintf(&temporary, "%.*s.warpfold-XXXXXX", directory_length, path) < 0) return false;
    int file = mkstemp(temporary);
    bool is_replaced = file >= 0 && write_temporary(file, data, nbytes) && !rename(temporary, path);
    if (file >= 0 && !is_replaced) {
        int error = errno;
        unlink(temporary);
        errno = error;
    }
    free(temporary);
    return is_replaced;
}

/* A device or a pipe is written to; replacing it by a file would be no favour. */
static bool write_into(const char *path, const void *data, size_t nbytes) {
    int file = open(path, O_WRONLY | O_CLOEXEC);
    return file >= 0 && close_after(file, write_all(file, data, nbytes));
}

static bool write_file(const char *path, const void *data, size_t nbytes) {
    struct stat status;
    if (stat(path, &status)) return replace_file(path, data, nbytes);
    if (!S_ISREG(status.st_mode)) return write_into(path, data, nbytes);
    char *target = realpath(path, NULL); /* what a symbolic link means is replaced, not the link */
    bool is_replaced = target && replace_file(target, data, nbytes);
    free(target);
    return is_replaced;
}

int saved_write(wf_handle *handle, const wf_accumulator *accumulator, const char *path) {
    unsigned char saved[WF_SAVED_NBYTES_MAX];
    size_t nbytes = 0;
    wf_error error = wf_accumulator_save(handle, accumulator, saved, sizeof saved, &nbytes);
    if (error) return fail_library(handle, error);
    if (!write_file(path, saved, nbytes)) return fail("%s: cannot save: %s", path, strerror(errno));
    return STATUS_OK;
}

/* ---- reading ------------------------------------------------------------------------------------- */

/* At most capacity bytes; -1 with errno set. */
static ssize_t read_up_to(int file, unsigned char *data, size_t capacity) {
    size_t nbytes = 0;
    while (nbytes < capacity) {
        ssize_t count = read(file, data + nbytes, capacity - nbytes);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return -1;
        if (count == 0) break;
        nbytes += (size_t)count;
    }
    return (ssize_t)nbytes;
}

int saved_read(wf_handle *handle, const char *path, wf_accumulator **accumulator) {
    bool is_standard_input = !strcmp(path, "-");
    const char *name = file_name(path);
    int file = is_standard_input ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return fail("%s: %s", name, strerror(errno));
    unsigned char saved[WF_SAVED_NBYTES_MAX + 1]; /* one more: a longer file is refused as damaged */
    ssize_t nbytes = read_up_to(file, saved, sizeof saved);
    int read_error = errno;
    if (!is_standard_input) close(file);
    if (nbytes < 0) return fail("%s: %s", name, strerror(read_error));
    if (wf_accumulator_load(handle, saved, (size_t)nbytes, accumulator))
        return fail("%s: %s", name, wf_handle_message(handle));
    return STATUS_OK;
}
