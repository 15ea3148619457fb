#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* O_NOFOLLOW, openat */
#endif
#include "cache.h"
#include "getenv.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* ---- hashes and keys ----------------------------------------------------------------------------- */

__extension__ typedef unsigned __int128 u128;

/* FNV-1a of 128 bits: against accidents; nobody else can write to the folder. */
static void hash_add(uint64_t hash[2], const char *bytes, size_t nbytes) {
    const u128 prime = ((u128)1 << 88) + 0x13b;
    u128 state = (u128)hash[1] << 64 | hash[0];
    for (size_t i = 0; i < nbytes; i++) state = (state ^ (unsigned char)bytes[i]) * prime;
    hash[0] = (uint64_t)state;
    hash[1] = (uint64_t)(state >> 64);
}

static void hash_begin(uint64_t hash[2]) {
    hash[1] = UINT64_C(0x6c62272e07bb0142);
    hash[0] = UINT64_C(0x62b821756295c58d);
}

void wf_cache_key_begin(struct wf_cache_key *key, const char *name) {
    const char *slash = strrchr(name, '/');
    snprintf(key->name, sizeof key->name, "%s", slash ? slash + 1 : name);
    for (char *at = key->name; *at; at++)
        if (!isalnum((unsigned char)*at) && *at != '_') *at = '_';
    hash_begin(key->hash);
}

void wf_cache_key_add(struct wf_cache_key *key, const char *text) {
    hash_add(key->hash, text,
             strlen(text) + 1); /* with its end: where one text stops and the next begins counts */
}

/* ---- the folder ---------------------------------------------------------------------------------- */

static bool folder_name(char path[PATH_MAX]) {
    const char *switched = wf_getenv("WARPFOLD_CACHE"), *root = wf_getenv("XDG_CACHE_HOME"),
               *below = "/warpfold";
    if (switched && !strcmp(switched, "off")) return false;
    if (!root || root[0] != '/') { /* relative ones do not count: XDG Base Directory Specification */
        root = wf_getenv("HOME");
        below = "/.cache/warpfold";
    }
    if (!root || root[0] != '/') return false;
    return snprintf(path, PATH_MAX, "%s%s", root, below) < PATH_MAX;
}

/* Others must not be able to put kernels there. */
static bool is_private(int file, mode_t type) {
    struct stat status;
    return !fstat(file, &status) && (status.st_mode & S_IFMT) == type && status.st_uid == geteuid() &&
           !(status.st_mode & (S_IWGRP | S_IWOTH));
}

/* -1: it is not there, or it is none: a link is none, wherever it leads. */
static int open_private(int folder, const char *name, int flags, mode_t type) {
    int file = openat(folder, name, flags | O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (file >= 0 && is_private(file, type)) return file;
    if (file >= 0) close(file);
    return -1;
}

static int open_folder(const char *path) {
    return open_private(AT_FDCWD, path, O_DIRECTORY, S_IFDIR);
}

static void make_folder(char path[PATH_MAX]) {
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(path, S_IRWXU);
        *slash = '/';
    }
    mkdir(path, S_IRWXU);
}

/* -1: there is none, nor can there be. */
static int open_or_make_folder(void) {
    char path[PATH_MAX];
    if (!folder_name(path)) return -1;
    make_folder(path);
    return open_folder(path);
}

/* ---- entries ------------------------------------------------------------------------------------- */

enum { ENTRY_NBYTES_MAX = 1 << 28, NAME_NBYTES = 128 };

struct entry {
    char magic[16];
    uint64_t key[2];
    uint64_t nbytes;
    uint64_t hash[2]; /* of the bytes that follow */
};

static const char magic[16] = "warpfold cache 1";

static struct entry describe(const struct wf_cache_key *key, const struct wf_compiled *image) {
    struct entry entry = {.key = {key->hash[0], key->hash[1]}, .nbytes = image->nbytes};
    memcpy(entry.magic, magic, sizeof magic);
    hash_begin(entry.hash);
    hash_add(entry.hash, image->bytes, image->nbytes);
    return entry;
}

/* "reduce_cu-0123...-nvrtc13.0", or what such names begin with. */
static void name_entry(char name[NAME_NBYTES], const struct wf_cache_key *key, int compiler_version) {
    int length = snprintf(name, NAME_NBYTES, "%s-%016llx%016llx-nvrtc", key->name,
                          (unsigned long long)key->hash[1], (unsigned long long)key->hash[0]);
    if (compiler_version)
        snprintf(name + length, (size_t)(NAME_NBYTES - length), "%d.%d", compiler_version / 100,
                 compiler_version % 100);
}

/* The bytes of an entry whose head gives this size. */
static bool read_image(FILE *stream, const struct wf_cache_key *key, struct wf_compiled *image) {
    struct entry found;
    if (fread(&found, sizeof found, 1, stream) != 1 || found.nbytes > ENTRY_NBYTES_MAX) return false;
    *image = (struct wf_compiled){calloc(1, found.nbytes + 1), found.nbytes};
    if (!image->bytes) return false;
    bool is_whole = fread(image->bytes, 1, image->nbytes, stream) == image->nbytes && fgetc(stream) == EOF;
    struct entry right = describe(key, image);
    if (is_whole && !memcmp(&found, &right, sizeof right)) return true;
    free(image->bytes);
    return false;
}

static bool read_file(int folder, const char *name, const struct wf_cache_key *key,
                      struct wf_compiled *image) {
    int file = open_private(folder, name, 0, S_IFREG);
    if (file < 0) return false;
    FILE *stream = fdopen(file, "rb");
    if (!stream) {
        close(file);
        return false;
    }
    bool is_read = read_image(stream, key, image);
    fclose(stream);
    return is_read;
}

/* The first whole entry whose name begins so. */
static bool read_any(int folder, const char *beginning, const struct wf_cache_key *key,
                     struct wf_compiled *image) {
    int copy = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *directory = copy >= 0 ? fdopendir(copy) : NULL;
    if (copy >= 0 && !directory) close(copy);
    bool is_read = false;
    const struct dirent *file;
    while (directory && !is_read && (file = readdir(directory)))
        if (!strncmp(file->d_name, beginning, strlen(beginning)))
            is_read = read_file(folder, file->d_name, key, image);
    if (directory) closedir(directory);
    return is_read;
}

bool wf_cache_read(const struct wf_cache_key *key, int compiler_version, struct wf_compiled *image) {
    char path[PATH_MAX], name[NAME_NBYTES];
    int folder = folder_name(path) ? open_folder(path) : -1;
    if (folder < 0) return false;
    name_entry(name, key, compiler_version);
    bool is_read =
        compiler_version ? read_file(folder, name, key, image) : read_any(folder, name, key, image);
    close(folder);
    return is_read;
}

/* ---- writing ------------------------------------------------------------------------------------- */

static bool write_image(int file, const struct wf_cache_key *key, const struct wf_compiled *image) {
    FILE *stream = fdopen(file, "wb");
    if (!stream) {
        close(file);
        return false;
    }
    struct entry entry = describe(key, image);
    bool is_written = fwrite(&entry, sizeof entry, 1, stream) == 1 &&
                      fwrite(image->bytes, 1, image->nbytes, stream) == image->nbytes;
    return !fclose(stream) && is_written;
}

/* A new file under a name that no other thread or process has. */
static int create_unfinished(int folder, char name[NAME_NBYTES]) {
    enum { TRIES = 64 };
    static atomic_uint count;
    int file = -1;
    for (int i = 0; i < TRIES && file < 0; i++) {
        snprintf(name, NAME_NBYTES, ".new-%ld-%u", (long)getpid(), atomic_fetch_add(&count, 1));
        file = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR);
    }
    return file;
}

static void write_entry(int folder, const char *name, const struct wf_cache_key *key,
                        const struct wf_compiled *image) {
    char unfinished[NAME_NBYTES];
    int file = create_unfinished(folder, unfinished);
    if (file < 0) return;
    if (!write_image(file, key, image) || renameat(folder, unfinished, folder, name))
        unlinkat(folder, unfinished, 0);
}

void wf_cache_write(const struct wf_cache_key *key, int compiler_version, const struct wf_compiled *image) {
    char name[NAME_NBYTES];
    int folder = open_or_make_folder();
    if (folder < 0) return;
    name_entry(name, key, compiler_version);
    write_entry(folder, name, key, image);
    close(folder);
}

/* ---- removing ------------------------------------------------------------------------------------ */

/* The number of entries whose names begin so, and the oldest one's name. */
static size_t count_entries(int folder, const char *beginning, char oldest[NAME_NBYTES]) {
    int copy = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *directory = copy >= 0 ? fdopendir(copy) : NULL;
    if (copy >= 0 && !directory) close(copy);
    size_t count = 0;
    struct timespec least = {0};
    struct stat status;
    const struct dirent *file;
    while (directory && (file = readdir(directory))) {
        if (strncmp(file->d_name, beginning, strlen(beginning)) || strlen(file->d_name) >= NAME_NBYTES ||
            fstatat(folder, file->d_name, &status, AT_SYMLINK_NOFOLLOW))
            continue;
        const struct timespec time = status.st_mtim;
        bool is_older = time.tv_sec < least.tv_sec || (time.tv_sec == least.tv_sec && time.tv_nsec < least.tv_nsec);
        if (count++ && !is_older) continue;
        least = time;
        strcpy(oldest, file->d_name);
    }
    if (directory) closedir(directory);
    return count;
}

void wf_cache_trim(const char *beginning, size_t kept) {
    char path[PATH_MAX], oldest[NAME_NBYTES];
    int folder = folder_name(path) ? open_folder(path) : -1;
    if (folder < 0) return;
    while (count_entries(folder, beginning, oldest) > kept && !unlinkat(folder, oldest, 0)) continue;
    close(folder);
}

/* ---- one compiler at a time ------------------------------------------------------------------------ */

static void name_claim(char name[NAME_NBYTES], const struct wf_cache_key *key) {
    snprintf(name, NAME_NBYTES, ".compiling-%016llx%016llx", (unsigned long long)key->hash[1],
             (unsigned long long)key->hash[0]);
}

/* For a minute at most: who has it may have been stopped.  Without the lock its file is of no use, but does no harm. */
static void wait_for_lock(int file) {
    enum { TRIES = 6000 };
    const struct timespec pause = {.tv_nsec = 10000000};
    for (int i = 0; i < TRIES && flock(file, LOCK_EX | LOCK_NB) && (errno == EWOULDBLOCK || errno == EINTR); i++)
        nanosleep(&pause, NULL);
}

int wf_cache_claim(const struct wf_cache_key *key) {
    char name[NAME_NBYTES];
    int folder = open_or_make_folder();
    if (folder < 0) return -1;
    name_claim(name, key);
    int file = openat(folder, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, S_IRUSR | S_IWUSR);
    close(folder);
    if (file >= 0) wait_for_lock(file);
    return file;
}

/* A child of this process may have the file, too: closing it here would leave it locked. */
void wf_cache_release(const struct wf_cache_key *key, int claim) {
    char path[PATH_MAX], name[NAME_NBYTES];
    if (claim < 0) return;
    int folder = folder_name(path) ? open_folder(path) : -1;
    name_claim(name, key);
    if (folder >= 0) {
        unlinkat(folder, name, 0);
        close(folder);
    }
    flock(claim, LOCK_UN);
    close(claim);
}
