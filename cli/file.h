/* Files that the command reads as text, and those that it writes: whole, or as they were. */
#ifndef CLI_FILE_H
#define CLI_FILE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

struct file_piece {
    const void *data;
    size_t nbytes;
};

/* The file's text, NUL-terminated, or up to and with a NUL if it has one (which *nbytes counts); the caller's,
 * to be freed.  NULL, with errno set: it cannot be read. */
char *file_read(const char *path, size_t *nbytes);

/* Writes all of it, or returns false with errno set. */
bool write_all(int file, const void *data, size_t nbytes);

/* Whether closing the file will go well.  Some file systems report only then that they are full. */
bool close_copy(int file);

enum { FILE_PIECES_MAX = 2 };

/* A file on its way.  The caller sets the path, of a file that may exist, and the pieces, written one after the
 * other; both stay until the end. */
struct file_draft {
    const char *path;
    struct file_piece pieces[FILE_PIECES_MAX];
    size_t piece_count;
    struct {
        bool is_begun, is_into, is_new, has_name;
        char target[PATH_MAX]; /* where the path's symbolic links lead */
        char name[PATH_MAX];   /* of the temporary file in the same folder */
        struct stat kept;      /* of what is replaced */
        int file;
    } own;
};

/* A file is replaced in two steps, so that several are replaced together: file_begin writes everything next to
 * it, which may fail on a full disk, and file_place puts it in its place.  What it replaces keeps
 * its mode and, as far as this user may set them, its owner, group, access list and extended attributes.  A
 * symbolic link stays, and what it leads to is written, whether it exists or not; of a hard link only this name
 * gets the new contents.  A file that may not be written is not replaced.  A device or a pipe is written
 * to, by file_place.
 *
 * false, with errno set: what the path held is still there, and nothing is left next to it. */
bool file_begin(struct file_draft *draft);
bool file_place(struct file_draft *draft);

/* Gives up what was begun and not placed. */
void file_drop(struct file_draft *draft);

#endif
