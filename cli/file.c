#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* getdelim, O_TMPFILE */
#endif
#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "cleanup.h"

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

/* ---- descriptors --------------------------------------------------------------------------------- */

bool write_all(int file, const void *data, size_t nbytes) {
    const char *rest = data;
    while (nbytes > 0) {
        ssize_t written = write(file, rest, nbytes);
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) return false;
        rest += written;
        nbytes -= (size_t)written;
    }
    return true;
}

bool close_copy(int file) {
    int copy = dup(file);
    return copy >= 0 && close(copy) == 0;
}

/* ---- where it is to be --------------------------------------------------------------------------- */

enum { LINKS_MAX = 40 /* as the kernel has it */ };

static size_t folder_length(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? (size_t)(slash - path) + 1 : 0;
}

/* Puts the text after the first `begin` bytes. */
static bool replace_end(char path[PATH_MAX], size_t begin, const char *text, size_t length) {
    if (begin + length >= PATH_MAX) {
        errno = ENAMETOOLONG;
        return false;
    }
    memcpy(path + begin, text, length);
    path[begin + length] = '\0';
    return true;
}

/* What a symbolic link means, and what that means; there may be nothing yet. */
static bool follow_links(const char *path, char target[PATH_MAX]) {
    if (!replace_end(target, 0, path, strlen(path))) return false;
    for (int i = 0; i < LINKS_MAX; i++) {
        char link[PATH_MAX];
        ssize_t length = readlink(target, link, sizeof link);
        if (length < 0) return errno == EINVAL || errno == ENOENT; /* no link, or nothing */
        size_t begin = link[0] == '/' ? 0 : folder_length(target);
        if (!replace_end(target, begin, link, (size_t)length)) return false;
    }
    errno = ELOOP;
    return false;
}

static bool find_target(struct file_draft *draft) {
    draft->own.is_new = stat(draft->path, &draft->own.kept) != 0;
    if (draft->own.is_new && errno != ENOENT) return false;
    draft->own.is_into = !draft->own.is_new && !S_ISREG(draft->own.kept.st_mode);
    if (draft->own.is_into) return true;
    if (!follow_links(draft->path, draft->own.target)) return false;
    return draft->own.is_new || !faccessat(AT_FDCWD, draft->own.target, W_OK, AT_EACCESS);
}

/* ---- what it keeps of the file that it replaces -------------------------------------------------- */

static const char access_list[] = "system.posix_acl_access";

/* false: its access list is not kept. */
static bool keep_attribute(int file, const char *target, const char *name) {
    char value[XATTR_SIZE_MAX];
    ssize_t nbytes = getxattr(target, name, value, sizeof value);
    bool is_kept = nbytes >= 0 && !fsetxattr(file, name, value, (size_t)nbytes, 0);
    return is_kept || strcmp(name, access_list) != 0;
}

static bool keep_attributes(int file, const char *target) {
    char names[XATTR_LIST_MAX];
    bool is_kept = true;
    fremovexattr(file, access_list); /* which the folder may have given it */
    ssize_t nbytes = listxattr(target, names, sizeof names);
    for (const char *name = names; nbytes > 0 && name < names + nbytes; name += strlen(name) + 1)
        is_kept = keep_attribute(file, target, name) && is_kept;
    return is_kept;
}

/* An owner or a group that this user may not give away is not kept; then nobody gets more rights by it. */
static bool keep_mode(int file, const char *target, const struct stat *kept) {
    struct stat now;
    mode_t mode = kept->st_mode & 07777;
    if (fstat(file, &now)) return false;
    bool has_owner = now.st_uid == kept->st_uid || !fchown(file, kept->st_uid, (gid_t)-1);
    bool has_group = now.st_gid == kept->st_gid || !fchown(file, (uid_t)-1, kept->st_gid);
    bool has_list = keep_attributes(file, target);
    if (!has_owner || !has_group) mode &= 0777;
    if (!has_group || !has_list) mode = (mode & ~(mode_t)070) | (mode & 07) << 3;
    return !fchmod(file, mode);
}

/* ---- the temporary file -------------------------------------------------------------------------- */

enum { NAMES_TRIED = 100 };

/* The temporary file's name number `number`. */
static bool make_name(struct file_draft *draft, int number) {
    char name[64];
    int length = snprintf(name, sizeof name, ".warpfold-%ld-%d", (long)getpid(), number);
    size_t begin = folder_length(draft->own.target);
    memcpy(draft->own.name, draft->own.target, begin);
    return replace_end(draft->own.name, begin, name, (size_t)length);
}

/* A new file's mode is the kernel's affair, which knows the umask; another's comes once it is written. */
static mode_t first_mode(const struct file_draft *draft) {
    return draft->own.is_new ? 0666 : 0600;
}

/* A file without a name leaves nothing behind, however the process ends. */
static int create_nameless(const struct file_draft *draft) {
    char folder[PATH_MAX];
    size_t length = folder_length(draft->own.target);
    if (!length) return open(".", O_TMPFILE | O_WRONLY | O_CLOEXEC, first_mode(draft));
    memcpy(folder, draft->own.target, length);
    folder[length] = '\0';
    return open(folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, first_mode(draft));
}

static int create_named(struct file_draft *draft) {
    sigset_t before = cleanup_hold();
    int file = -1;
    for (int i = 0; file < 0 && i < NAMES_TRIED && make_name(draft, i); i++) {
        file = open(draft->own.name, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, first_mode(draft));
        if (file < 0 && errno != EEXIST) break;
    }
    draft->own.has_name = file >= 0;
    if (file >= 0) cleanup_add(CLEANUP_FILE, draft->own.name);
    int error = errno;
    cleanup_release(&before);
    errno = error;
    return file;
}

static bool write_pieces(int file, const struct file_draft *draft) {
    for (size_t i = 0; i < draft->piece_count; i++)
        if (!write_all(file, draft->pieces[i].data, draft->pieces[i].nbytes)) return false;
    return true;
}

static bool write_draft(struct file_draft *draft) {
    int file = draft->own.file;
    return write_pieces(file, draft) &&
           (draft->own.is_new || keep_mode(file, draft->own.target, &draft->own.kept)) && !fsync(file) &&
           close_copy(file);
}

/* Keeps the errno of what failed. */
static bool drop_after(struct file_draft *draft) {
    int error = errno;
    file_drop(draft);
    errno = error;
    return false;
}

bool file_begin(struct file_draft *draft) {
    memset(&draft->own, 0, sizeof draft->own);
    if (!find_target(draft)) return false;
    if (draft->own.is_into) return true;
    bool has_proc =
        !access("/proc/self/fd", X_OK); /* by way of which a nameless file gets its name at last */
    draft->own.file = has_proc ? create_nameless(draft) : -1;
    if (draft->own.file < 0)
        draft->own.file = create_named(draft); /* not every file system has nameless ones */
    draft->own.is_begun = draft->own.file >= 0;
    return draft->own.is_begun && (write_draft(draft) || drop_after(draft));
}

/* ---- in its place -------------------------------------------------------------------------------- */

/* A device or a pipe is written to; replacing it by a file would be no favour. */
static bool write_into(const struct file_draft *draft) {
    int file = open(draft->path, O_WRONLY | O_CLOEXEC);
    if (file < 0) return false;
    bool is_written = write_pieces(file, draft);
    int error = errno;
    bool is_closed = close(file) == 0;
    if (!is_written) errno = error;
    return is_written && is_closed;
}

/* Of a file that has none, the target's name if that is free, or else one in the same folder; false: none is to be
 * had. */
static bool give_name(struct file_draft *draft, bool *is_placed) {
    char open_file[32];
    snprintf(open_file, sizeof open_file, "/proc/self/fd/%d", draft->own.file);
    *is_placed =
        draft->own.is_new && !linkat(AT_FDCWD, open_file, AT_FDCWD, draft->own.target, AT_SYMLINK_FOLLOW);
    for (int i = 0; !*is_placed && !draft->own.has_name && i < NAMES_TRIED && make_name(draft, i); i++) {
        draft->own.has_name = !linkat(AT_FDCWD, open_file, AT_FDCWD, draft->own.name, AT_SYMLINK_FOLLOW);
        if (!draft->own.has_name && errno != EEXIST) break;
    }
    return *is_placed || draft->own.has_name;
}

/* Signals wait: in between, the file has a name that nobody would remove. */
static bool place(struct file_draft *draft) {
    sigset_t before = cleanup_hold();
    bool is_placed = false, has_name = draft->own.has_name || give_name(draft, &is_placed);
    if (has_name && !is_placed) is_placed = !rename(draft->own.name, draft->own.target);
    if (is_placed && draft->own.has_name) cleanup_forget(CLEANUP_FILE, draft->own.name);
    if (is_placed) draft->own.has_name = false;
    if (!is_placed) drop_after(draft);
    int error = errno;
    cleanup_release(&before);
    errno = error;
    return is_placed;
}

bool file_place(struct file_draft *draft) {
    if (draft->own.is_into) return write_into(draft);
    if (!place(draft)) return false;
    close(draft->own.file); /* what could go wrong has been asked for before */
    draft->own.is_begun = false;
    return true;
}

void file_drop(struct file_draft *draft) {
    if (!draft->own.is_begun) return;
    if (draft->own.has_name && !unlink(draft->own.name)) cleanup_forget(CLEANUP_FILE, draft->own.name);
    close(draft->own.file);
    draft->own.is_begun = false;
}
