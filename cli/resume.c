/* The folder:
 *
 *     pieces      what is reduced: settings, then each file with its size and time.  Written once; a process that comes later
 *                 must be about to do the same
 *     N.of        what piece N is, counted from 0: settings, file, range, and the checksum of its accumulator, by which
 *                 one that was copied over it is noticed
 *     N.acc       its accumulator, after N.of; each appears whole or not at all, since deliver gives it its name when it
 *                 is on the disk
 *     lock        of byte N + 1 a lock is held by the process that reduces piece N, of byte 0 by the one that writes pieces.  The system
 *                 lets go of a lock however its process ends, so that nothing has to be cleared away
 *
 * Where a file system has no locks, a piece may be reduced twice, into the same bytes. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* F_OFD_SETLK */
#endif
#include "resume.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "launch.h"
#include "output.h"
#include "pieces.h"
#include "saved.h"

struct folder {
    const char *path;
    int lock;
};

/* ---- names and locks ---- */

static bool name_in(const struct folder *folder, const char *name, char path[PATH_MAX]) {
    int length = snprintf(path, PATH_MAX, "%s/%s", folder->path, name);
    return length >= 0 && length < PATH_MAX;
}

static bool piece_name(const struct folder *folder, size_t i, const char *ending, char path[PATH_MAX]) {
    char name[32];
    snprintf(name, sizeof name, "%zu.%s", i, ending);
    return name_in(folder, name, path);
}

static bool is_there(const char *path) {
    return !access(path, F_OK);
}

static int set_lock(const struct folder *folder, off_t byte, short type, bool waits) {
    struct flock lock = {.l_type = type, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1};
    int result;
    do result = fcntl(folder->lock, waits ? F_OFD_SETLKW : F_OFD_SETLK, &lock);
    while (result < 0 && errno == EINTR);
    return result;
}

/* False: another process has it. */
static bool acquire(const struct folder *folder, off_t byte, bool waits) {
    return !set_lock(folder, byte, F_WRLCK, waits) || (errno != EAGAIN && errno != EACCES);
}

static void release(const struct folder *folder, off_t byte) {
    set_lock(folder, byte, F_UNLCK, false);
}

static int open_folder(struct folder *folder, const char *path) {
    char name[PATH_MAX];
    *folder = (struct folder){path, -1};
    if (!name_in(folder, "18446744073709551615.acc", name) || !name_in(folder, "lock", name))
        return fail("%s: %s", path, error_text(ENAMETOOLONG));
    if (mkdir(path, 0777) && errno != EEXIST) return fail("%s: %s", path, error_text(errno));
    folder->lock = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    return folder->lock < 0 ? fail("%s: %s", name, error_text(errno)) : STATUS_OK;
}

/* ---- what is reduced ---- */

static size_t line_length(const char *text) {
    return strcspn(text, "\n");
}

/* The first line that differs tells what is another one. */
static int refuse(const struct folder *folder, const char *then, const char *now) {
    enum { SETTINGS = 2 };
    int line = 0;
    for (; *now && line_length(then) == line_length(now) && !strncmp(then, now, line_length(now)); line++) {
        now += line_length(now) + (now[line_length(now)] == '\n');
        then += line_length(then) + (then[line_length(then)] == '\n');
    }
    return fail("%s: has the pieces of another reduction: %s '%.*s', then '%.*s': use another directory, or remove it",
                folder->path, line < SETTINGS ? "now" : "a file is not what it was: now", (int)line_length(now), now,
                (int)line_length(then), then);
}

/* Pieces come after what says of what they are. */
static int write_pieces(const struct folder *folder, const char *name, const struct page *page, size_t count) {
    char piece[PATH_MAX];
    for (size_t i = 0; i < count; i++)
        if (piece_name(folder, i, "acc", piece) && is_there(piece))
            return fail("%s: is there, but not %s, which says of what it is a piece: use another directory, or remove it",
                        piece, name);
    struct file_draft draft = {.path = name, .pieces = {{page->text, page->length}}, .piece_count = 1};
    return deliver(&draft, 1, NULL);
}

static int check_pieces(const struct folder *folder, const char *name, const struct page *page) {
    size_t nbytes;
    char *then = file_read(name, &nbytes);
    if (!then) return fail("%s: %s", name, error_text(errno));
    int status = strcmp(then, page->text) ? refuse(folder, then, page->text) : STATUS_OK;
    free(then);
    return status;
}

/* Writes down what is to be reduced, or makes sure that it is what is written there. */
static int agree(const struct folder *folder, const struct request *request, const struct pieces *pieces) {
    char name[PATH_MAX];
    struct page page;
    page_open(&page);
    if (page.stream) pieces_describe(page.stream, request, pieces, true);
    int status = page_end(&page) && name_in(folder, "pieces", name) ? STATUS_OK : fail_memory();
    if (!status) {
        acquire(folder, 0, true);
        status = is_there(name) ? check_pieces(folder, name, &page)
                                : write_pieces(folder, name, &page, pieces->count);
        release(folder, 0);
    }
    page_clear(&page);
    return status;
}

/* ---- the work ---- */

/* Opens the page, which is to be cleared in any case. */
static int describe(const struct request *request, const struct pieces *pieces, size_t i, const struct saved *saved,
                    struct page *page) {
    page_open(page);
    if (page->stream) {
        piece_describe(page->stream, request, pieces, i);
        fprintf(page->stream, "accumulator: %zu bytes, FNV-1a %016" PRIx64 "\n", saved->nbytes,
                hash_bytes(saved->bytes, saved->nbytes));
    }
    return page_end(page) ? STATUS_OK : fail_memory();
}

static bool has_text(const char *name, const char *text) {
    size_t nbytes;
    char *found = file_read(name, &nbytes);
    const bool is_it = found && !strcmp(found, text);
    free(found);
    return is_it;
}

/* What was killed in between has left the description, which then stays as it is. */
static int save(const struct folder *folder, const struct request *request, const struct pieces *pieces, size_t i,
                const struct saved *saved) {
    char of[PATH_MAX], acc[PATH_MAX];
    struct page page;
    piece_name(folder, i, "of", of);
    piece_name(folder, i, "acc", acc);
    int status = describe(request, pieces, i, saved, &page);
    struct file_draft drafts[2] = {{.path = of, .pieces = {{page.text, page.length}}, .piece_count = 1},
                                   {.path = acc, .pieces = {{saved->bytes, saved->nbytes}}, .piece_count = 1}};
    const size_t begin = !status && has_text(of, page.text);
    if (!status) status = deliver(drafts + begin, 2 - begin, NULL);
    page_clear(&page);
    return status;
}

static int reduce_and_save(wf_handle *handle, const struct request *request, const struct pieces *pieces, size_t i,
                           const struct folder *folder) {
    struct part part;
    struct saved saved = {NULL, 0};
    int status = piece_reduce(handle, request, pieces, i, &part);
    if (!status) status = part_save(handle, &part, &saved);
    if (!status) status = save(folder, request, pieces, i, &saved);
    saved_clear(&saved);
    part_clear(&part);
    return status;
}

/* Does what is left, except for what another process is at, unless it waits for that. */
static int work(wf_handle *handle, const struct request *request, const struct pieces *pieces,
                const struct folder *folder, bool waits) {
    char name[PATH_MAX];
    int status = STATUS_OK;
    for (size_t i = 0; i < pieces->count && !status; i++) {
        piece_name(folder, i, "acc", name);
        if (is_there(name) || !acquire(folder, (off_t)i + 1, waits)) continue;
        if (!is_there(name)) status = reduce_and_save(handle, request, pieces, i, folder);
        release(folder, (off_t)i + 1);
    }
    return status;
}

/* The accumulator's own checksum says that it is whole, not that it is in its place. */
static int check_saved(const struct folder *folder, const struct request *request, const struct pieces *pieces, size_t i,
                       const struct saved *saved, const char *name) {
    char of[PATH_MAX];
    struct page page;
    piece_name(folder, i, "of", of);
    int status = describe(request, pieces, i, saved, &page);
    if (!status && !has_text(of, page.text))
        status = fail("%s: not the accumulator of its piece: remove it, and the piece is reduced again", name);
    page_clear(&page);
    return status;
}

static int read_piece(wf_handle *handle, const struct request *request, const struct pieces *pieces,
                      const struct folder *folder, size_t i, struct part *part) {
    char name[PATH_MAX];
    struct saved saved = {NULL, 0};
    piece_name(folder, i, "acc", name);
    int status = saved_read_bytes(name, &saved);
    if (!status) status = part_load(handle, request, name, &saved, part);
    if (!status) status = check_saved(folder, request, pieces, i, &saved, name);
    saved_clear(&saved);
    return status;
}

static int join(wf_handle *handle, const struct request *request, const struct pieces *pieces,
                const struct folder *folder, struct part *whole) {
    int status = STATUS_OK;
    for (size_t i = 0; i < pieces->count && !status; i++) {
        struct part next = {NULL, NULL};
        status = read_piece(handle, request, pieces, folder, i, &next);
        if (!status) status = pieces_append(handle, request, pieces, i, whole, &next);
        part_clear(&next);
    }
    return status;
}

static int run_in(const struct folder *folder, wf_handle *handle, const struct request *request) {
    struct pieces pieces;
    struct part whole = {NULL, NULL};
    int status = pieces_make(handle, request, &pieces);
    if (!status) status = agree(folder, request, &pieces);
    if (!status) status = work(handle, request, &pieces, folder, false);
    if (!status) status = work(handle, request, &pieces, folder, true);
    const bool is_teller = ranks_of_environment().rank == 0;
    if (!status && is_teller) status = join(handle, request, &pieces, folder, &whole);
    if (!status && is_teller) status = part_conclude(handle, request, &whole);
    part_clear(&whole);
    pieces_clear(&pieces);
    return status;
}

int resume_reduce(wf_handle *handle, const struct request *request) {
    struct folder folder;
    int status = open_folder(&folder, request->settings->resume);
    if (!status) status = run_in(&folder, handle, request);
    if (folder.lock >= 0) close(folder.lock);
    return status;
}
