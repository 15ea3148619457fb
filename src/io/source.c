#include "io/source.h"
#include "io/zip.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NAME_NBYTES_MAX = 512, BUFFER_ALIGNMENT = 4096 };

wf_error wf_source_create(wf_handle *handle, struct wf_source *source) {
    *source = (struct wf_source){.descriptor = -1};
    source->buffer = aligned_alloc(BUFFER_ALIGNMENT, WF_SOURCE_NBYTES);
    if (!source->buffer)
        return wf_fail(handle, WF_ERROR_MEMORY, "no memory for a read buffer of %zu bytes", WF_SOURCE_NBYTES);
    return WF_OK;
}

void wf_source_destroy(struct wf_source *source) {
    wf_source_close(source);
    free(source->buffer);
}

static wf_error fail_with(wf_handle *handle, const struct wf_source *source, const char *action, int code) {
    char reason[128];
    if (strerror_r(code, reason, sizeof reason)) reason[0] = 0;
    return wf_fail(handle, WF_ERROR_IO, "%s: cannot be %s: %s", source->name, action, reason);
}

static ssize_t read_descriptor(struct wf_source *source, void *bytes, size_t nbytes) {
    if (source->needs_seek && lseek(source->descriptor, source->origin + source->nbytes_read, SEEK_SET) < 0)
        return -1;
    source->needs_seek = false;
    int64_t left = source->is_restricted ? source->nbytes_total - source->nbytes_read : INT64_MAX;
    if ((int64_t)nbytes > left) nbytes = left > 0 ? (size_t)left : 0;
    for (;;) {
        ssize_t count = read(source->descriptor, bytes, nbytes);
        if (count >= 0 || (errno != EINTR && errno != EAGAIN)) return count;
        if (errno == EAGAIN) poll(&(struct pollfd){.fd = source->descriptor, .events = POLLIN}, 1, -1);
    }
}

const char *wf_source_name(const char *path) {
    size_t length = strlen(path);
    if (!strcmp(path, "-")) return "standard input";
    return path + (length > NAME_NBYTES_MAX ? length - NAME_NBYTES_MAX : 0);
}

/* Opening a FIFO waits for a writer, and a signal may interrupt the wait. */
static int open_path(const char *path) {
    for (;;) {
        int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
        if (descriptor >= 0 || errno != EINTR) return descriptor;
    }
}

size_t wf_source_archive_length(const char *path) {
    for (const char *at = strchr(path, ':'); at; at = strchr(at + 1, ':')) {
        size_t length = (size_t)(at - path);
        if (length >= 4 && at[1] && !memcmp(at - 4, ".npz", 4)) return length;
    }
    return 0;
}

/* The archive's path, where the path is that of a member of one; false: it is not, or too long. */
static bool find_archive(const char *path, char archive[PATH_MAX]) {
    size_t length = wf_source_archive_length(path);
    if (!length || length >= PATH_MAX) return false;
    memcpy(archive, path, length);
    archive[length] = 0;
    return true;
}

static int open_descriptor(const char *path) {
    char archive[PATH_MAX];
    int descriptor = open_path(path);
    return descriptor < 0 && errno == ENOENT && find_archive(path, archive) ? open_path(archive) : descriptor;
}

/* Files whose size is reported as 0, such as those in /proc, may still have contents. */
static int64_t nbytes_left(int descriptor, const struct stat *status, int64_t *origin) {
    if (!S_ISREG(status->st_mode) || status->st_size == 0) return -1;
    *origin = lseek(descriptor, 0, SEEK_CUR);
    return *origin < 0 || *origin > status->st_size ? -1 : status->st_size - *origin;
}

int64_t wf_source_measure(const char *path) {
    struct stat status;
    int64_t origin;
    if (!strcmp(path, "-"))
        return fstat(STDIN_FILENO, &status) ? -1 : nbytes_left(STDIN_FILENO, &status, &origin);
    if (stat(path, &status) || !S_ISREG(status.st_mode) || status.st_size == 0) return -1;
    return status.st_size;
}

bool wf_source_is_repeatable(const char *path) {
    char archive[PATH_MAX];
    if (wf_source_measure(path) >= 0) return strcmp(path, "-") != 0;
    return find_archive(path, archive) && wf_source_measure(archive) >= 0;
}

void wf_source_restrict(struct wf_source *source, int64_t offset, int64_t nbytes) {
    source->origin += offset;
    source->nbytes_total = nbytes;
    source->nbytes_read = 0;
    source->begin = source->end = 0;
    source->is_at_end = false;
    source->needs_seek = source->is_restricted = true;
}

wf_error wf_source_open(wf_handle *handle, struct wf_source *source, const char *path) {
    bool is_standard_input = !strcmp(path, "-");
    source->name = wf_source_name(path);
    source->read = read_descriptor;
    source->decoder = NULL;
    source->damage[0] = 0;
    source->begin = source->end = 0;
    source->nbytes_read = 0;
    source->is_at_end = source->needs_seek = source->is_restricted = false;
    source->owns_descriptor = !is_standard_input;
    source->descriptor = is_standard_input ? STDIN_FILENO : open_descriptor(path);

    struct stat status;
    int code = source->descriptor < 0 || fstat(source->descriptor, &status) ? errno : 0;
    if (!code && S_ISDIR(status.st_mode)) code = EISDIR;
    if (code) {
        wf_source_close(source);
        return fail_with(handle, source, is_standard_input ? "read" : "opened", code);
    }
    source->nbytes_total = nbytes_left(source->descriptor, &status, &source->origin);
    if (S_ISFIFO(status.st_mode)) wf_pipe_widen(source->descriptor);
    posix_fadvise(source->descriptor, 0, 0, POSIX_FADV_SEQUENTIAL);
    return WF_OK;
}

void wf_source_close(struct wf_source *source) {
    if (source->decoder) source->close_decoder(source->decoder);
    source->decoder = NULL;
    if (source->owns_descriptor && source->descriptor >= 0) close(source->descriptor);
    source->descriptor = -1;
}

/* Reads once, into the window or the caller's memory. */
static wf_error read_some(wf_handle *handle, struct wf_source *source, void *bytes, size_t nbytes,
                          size_t *done) {
    ssize_t count = source->read(source, bytes, nbytes);
    if (count < 0 && source->damage[0]) return wf_fail(handle, WF_ERROR_FORMAT, "%s: %s", source->name, source->damage);
    if (count < 0) return fail_with(handle, source, "read", errno);
    *done += (size_t)count;
    source->nbytes_read += count;
    source->is_at_end = count == 0;
    return WF_OK;
}

wf_error wf_source_fill(wf_handle *handle, struct wf_source *source, size_t nbytes) {
    if (source->is_at_end || wf_source_available(source) >= nbytes) return WF_OK;
    memmove(source->buffer, wf_source_window(source), wf_source_available(source));
    source->end -= source->begin;
    source->begin = 0;
    while (source->end < nbytes && !source->is_at_end) {
        wf_error error = read_some(handle, source, source->buffer + source->end,
                                   WF_SOURCE_NBYTES - source->end, &source->end);
        if (error) return error;
    }
    return WF_OK;
}

wf_error wf_source_take(wf_handle *handle, struct wf_source *source, void *bytes, size_t nbytes,
                        size_t *taken) {
    size_t available = wf_source_available(source);
    *taken = available < nbytes ? available : nbytes;
    memcpy(bytes, wf_source_window(source), *taken);
    source->begin += *taken;
    while (*taken < nbytes && !source->is_at_end) {
        wf_error error = read_some(handle, source, (unsigned char *)bytes + *taken, nbytes - *taken, taken);
        if (error) return error;
    }
    return WF_OK;
}

int64_t wf_source_claimable(const struct wf_source *source) {
    int64_t left = source->nbytes_total - wf_source_offset(source);
    return left > 0 ? left : 0;
}

int64_t wf_source_claim(struct wf_source *source, size_t nbytes) {
    int64_t offset = wf_source_offset(source);
    source->begin = source->end = 0;
    source->nbytes_read = offset + (int64_t)nbytes;
    source->needs_seek = true;
    return offset;
}

wf_error wf_source_read_at(wf_handle *handle, const struct wf_source *source, void *bytes, size_t nbytes,
                           int64_t offset, size_t *found) {
    for (*found = 0; *found < nbytes;) {
        ssize_t count = pread(source->descriptor, (unsigned char *)bytes + *found, nbytes - *found,
                              source->origin + offset + (int64_t)*found);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return fail_with(handle, source, "read", errno);
        if (count == 0) break;
        *found += (size_t)count;
    }
    return WF_OK;
}
