/* What must not outlive the command: temporary files and folders, and processes that it has started.  A
 * signal that ends the command (a hangup, an interrupt, a request to stop) first ends those processes and
 * removes those files; then the command ends by the same signal, as if nothing had been caught.
 *
 *     sigset_t before = cleanup_hold();
 *     int file = mkstemp(path);
 *     if (file >= 0) cleanup_add(CLEANUP_FILE, path);
 *     cleanup_release(&before);
 *     ...
 *     rename(path, target);                 (or unlink)
 *     cleanup_forget(CLEANUP_FILE, path);
 *
 * Running out of memory here is no error: a signal then leaves the file, as it did
 * before. */
#ifndef CLI_CLEANUP_H
#define CLI_CLEANUP_H

#include <signal.h>
#include <sys/types.h>

#include "simt/simt.h"

enum cleanup_kind {
    CLEANUP_FILE,  /* unlinked */
    CLEANUP_FOLDER /* emptied of its files, and removed; it has no folders in it */
};

/* Once, at the very beginning.  Signals that the caller has had ignored stay ignored. */
void cleanup_start(void);

/* Signals wait until the release: for the short time between creating a file and registering it. */
sigset_t cleanup_hold(void);
void cleanup_release(const sigset_t *before);

/* The path is copied.  Forgetting one that is not known does nothing. */
void cleanup_add(enum cleanup_kind kind, const char *path);
void cleanup_forget(enum cleanup_kind kind, const char *path);

/* A process group, by its leader, which is a child of this process. */
void cleanup_add_group(pid_t leader);
void cleanup_forget_group(pid_t leader);

/* The same guard for files and processes that compiling creates. */
extern const simt_leftovers cleanup_leftovers;

#endif
