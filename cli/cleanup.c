/* All that the handler reads is in static memory, and is handed over by one atomic word for each entry: the
 * handler neither allocates nor locks. */
#include "cleanup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const int fatal_signals[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGXCPU};

enum { SIGNAL_COUNT = sizeof fatal_signals / sizeof fatal_signals[0] };

/* ---- what is written down ------------------------------------------------------------------------ */

enum { ENTRY_COUNT = 32, GROUP_COUNT = 4 };

enum state { FREE, BEING_CHANGED, KNOWN };

static struct entry {
    atomic_int state;
    enum cleanup_kind kind;
    DIR *listing; /* of a folder; opened beforehand, since opening allocates and reading does not */
    char path[PATH_MAX];
} entries[ENTRY_COUNT];

static atomic_int groups[GROUP_COUNT]; /* 0: none */

/* How many threads are between making a thing and writing it down. */
static atomic_int holders;

static bool change(struct entry *entry, int from, int to) {
    return atomic_compare_exchange_strong(&entry->state, &from, to);
}

void cleanup_add(enum cleanup_kind kind, const char *path) {
    size_t nbytes = strlen(path) + 1;
    if (nbytes > PATH_MAX) return;
    for (int i = 0; i < ENTRY_COUNT; i++) {
        struct entry *entry = &entries[i];
        if (!change(entry, FREE, BEING_CHANGED)) continue;
        entry->kind = kind;
        memcpy(entry->path, path, nbytes);
        entry->listing = kind == CLEANUP_FOLDER ? opendir(path) : NULL;
        atomic_store(&entry->state, KNOWN);
        return;
    }
}

static bool forget_if(struct entry *entry, enum cleanup_kind kind, const char *path) {
    if (!change(entry, KNOWN, BEING_CHANGED)) return false;
    bool is_meant = entry->kind == kind && !strcmp(entry->path, path);
    if (is_meant && entry->listing) closedir(entry->listing);
    atomic_store(&entry->state, is_meant ? FREE : KNOWN);
    return is_meant;
}

void cleanup_forget(enum cleanup_kind kind, const char *path) {
    sigset_t before = cleanup_hold(); /* the handler would pass over the entry that is being looked at */
    for (int i = 0; i < ENTRY_COUNT; i++)
        if (forget_if(&entries[i], kind, path)) break;
    cleanup_release(&before);
}

static void replace_group(pid_t from, pid_t to) {
    for (int i = 0; i < GROUP_COUNT; i++) {
        int expected = from;
        if (atomic_compare_exchange_strong(&groups[i], &expected, to)) return;
    }
}

void cleanup_add_group(pid_t leader) {
    replace_group(0, leader);
}

void cleanup_forget_group(pid_t leader) {
    replace_group(leader, 0);
}

/* ---- when a signal comes ------------------------------------------------------------------------- */

enum { TRIES = 200 }; /* a millisecond apart */

static void wait_a_millisecond(void) {
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

/* The leader is waited for; of the rest of its group nothing is heard but that it is gone. */
static void end_group(pid_t leader) {
    kill(-leader, SIGKILL);
    while (waitpid(leader, NULL, 0) < 0 && errno == EINTR) continue;
    for (int i = 0; i < TRIES && !kill(-leader, 0); i++) wait_a_millisecond();
}

static void empty_folder(DIR *listing) {
    rewinddir(listing);
    for (const struct dirent *file; (file = readdir(listing));) unlinkat(dirfd(listing), file->d_name, 0);
}

static void remove_entry(const struct entry *entry) {
    if (entry->kind == CLEANUP_FILE) {
        unlink(entry->path);
        return;
    }
    if (entry->listing) empty_folder(entry->listing);
    rmdir(entry->path);
}

/* A folder is removed after those in it, whatever the order in which they were written down. */
static void clean_up(void) {
    for (int i = 0; i < GROUP_COUNT; i++) {
        pid_t leader = atomic_exchange(&groups[i], 0);
        if (leader > 0) end_group(leader);
    }
    for (int pass = 0; pass < ENTRY_COUNT; pass++)
        for (int i = ENTRY_COUNT - 1; i >= 0; i--)
            if (atomic_load(&entries[i].state) == KNOWN) remove_entry(&entries[i]);
}

static void end_by(int number) {
    static atomic_flag is_ending = ATOMIC_FLAG_INIT;
    int error = errno;
    if (atomic_flag_test_and_set(&is_ending)) { /* a second signal, in another thread */
        errno = error;
        return;
    }
    for (int i = 0; i < TRIES && atomic_load(&holders) > 0; i++) wait_a_millisecond();
    clean_up();
    signal(number, SIG_DFL);
    raise(number); /* arrives when this handler returns */
}

/* ---- signals ------------------------------------------------------------------------------------- */

void cleanup_start(void) {
    struct sigaction before, action = {.sa_handler = end_by, .sa_flags = SA_RESTART};
    sigfillset(&action.sa_mask);
    for (int i = 0; i < SIGNAL_COUNT; i++)
        if (!sigaction(fatal_signals[i], NULL, &before) && before.sa_handler != SIG_IGN)
            sigaction(fatal_signals[i], &action, NULL);
}

sigset_t cleanup_hold(void) {
    sigset_t held, before;
    sigemptyset(&held);
    for (int i = 0; i < SIGNAL_COUNT; i++) sigaddset(&held, fatal_signals[i]);
    pthread_sigmask(SIG_BLOCK, &held, &before);
    atomic_fetch_add(&holders, 1);
    return before;
}

void cleanup_release(const sigset_t *before) {
    atomic_fetch_sub(&holders, 1);
    pthread_sigmask(SIG_SETMASK, before, NULL);
}

/* ---- what compiling makes ------------------------------------------------------------------------ */

static void hold(void *context, bool is_held) {
    static sigset_t before; /* the command compiles in one thread */
    (void)context;
    if (is_held)
        before = cleanup_hold();
    else
        cleanup_release(&before);
}

static void note_folder(void *context, const char *path, bool is_there) {
    (void)context;
    (is_there ? cleanup_add : cleanup_forget)(CLEANUP_FOLDER, path);
}

static void note_group(void *context, int leader, bool is_there) {
    (void)context;
    (is_there ? cleanup_add_group : cleanup_forget_group)(leader);
}

const simt_leftovers cleanup_leftovers = {.hold = hold, .folder = note_folder, .group = note_group};
