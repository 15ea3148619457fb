#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* sched_getaffinity */
#endif
#include "ranks.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "launch.h"
#include "mpi.h"
#include "output.h"
#include "pieces.h"
#include "saved.h"

/* ---- the processors ---- */

/* Processors are shared, unless mpirun has bound each rank to its own. */
static void share_processors(wf_handle *handle, const struct settings *settings, struct ranks ranks) {
    cpu_set_t set;
    if (settings->threads || sched_getaffinity(0, sizeof set, &set)) return;
    const int share = CPU_COUNT(&set) / ranks.local_size;
    wf_handle_set_threads(handle, share > 1 ? share : 1);
}

/* ---- what each rank reports about its share ---- */

enum { MESSAGES_NBYTES = 4096 };

struct letter {
    int32_t status;
    uint64_t work;   /* a hash of what all ranks together reduce: the same for all */
    uint64_t first;  /* piece of the share */
    uint64_t nbytes; /* of the share, saved: 0: there are no pieces in it */
    char messages[MESSAGES_NBYTES];
};

static size_t share_begin(size_t count, int rank, int size) {
    const size_t r = (size_t)rank, n = (size_t)size;
    return count / n * r + count % n * r / n;
}

static int reduce_share(wf_handle *handle, const struct request *request, const struct pieces *pieces, const struct mpi *mpi,
                        struct part *share) {
    const size_t end = share_begin(pieces->count, mpi->rank + 1, mpi->size);
    int status = STATUS_OK;
    for (size_t i = share_begin(pieces->count, mpi->rank, mpi->size); i < end && !status; i++) {
        struct part next;
        status = piece_reduce(handle, request, pieces, i, &next);
        if (!status) status = pieces_append(handle, request, pieces, i, share, &next);
        part_clear(&next);
    }
    return status;
}

/* A hash of the settings and of the files' names and sizes; not of their times, because ranks may have separate copies. */
static int hash_work(const struct request *request, const struct pieces *pieces, uint64_t *hash) {
    struct page page;
    page_open(&page);
    if (page.stream) pieces_describe(page.stream, request, pieces, false);
    int status = page_end(&page) ? STATUS_OK : fail_memory();
    *hash = status ? 0 : hash_bytes(page.text, page.length);
    page_clear(&page);
    return status;
}

/* The share and its letter; the pieces and what is saved are to be cleared. */
static void do_share(wf_handle *handle, const struct request *request, const struct mpi *mpi, struct pieces *pieces,
                     struct saved *saved, struct letter *letter) {
    struct part share = {NULL, NULL};
    keep_messages(letter->messages, sizeof letter->messages);
    int status = pieces_make(handle, request, pieces);
    if (!status) status = hash_work(request, pieces, &letter->work);
    if (!status) status = reduce_share(handle, request, pieces, mpi, &share);
    if (!status && !part_is_empty(&share)) status = part_save(handle, &share, saved);
    keep_messages(NULL, 0);
    part_clear(&share);
    letter->first = share_begin(pieces->count, mpi->rank, mpi->size);
    letter->nbytes = status ? 0 : saved->nbytes;
    letter->status = status;
}

/* ---- what rank 0 makes of it ---- */

static bool was_said(const struct letter *letters, int i) {
    bool was = false;
    for (int k = 0; k < i; k++) was |= letters[k].status && !strcmp(letters[k].messages, letters[i].messages);
    return was;
}

/* Each message once, however many ranks have it. */
static int check_letters(const struct letter *letters, int count) {
    int status = STATUS_OK;
    for (int i = 0; i < count; i++) {
        if (letters[i].status && !was_said(letters, i)) fail_lines(letters[i].messages);
        if (!status) status = letters[i].status;
    }
    for (int i = 1; i < count && !status; i++)
        if (letters[i].work != letters[0].work)
            status = fail("rank %d reduces other files than rank 0, files of other sizes, or in another way: every rank "
                          "must be given the same command and see the same files", i);
    return status;
}

/* Rank 0 has its own.  What is not wanted any more is received, too, as its sender waits for that. */
static int receive(const struct mpi *mpi, int from, int status, struct saved *saved) {
    saved->bytes = status ? NULL : malloc(saved->nbytes);
    if (!status && !saved->bytes) status = fail_memory();
    int received = mpi_receive(mpi, saved->bytes, saved->nbytes, from);
    return status ? status : received;
}

static int join_shares(wf_handle *handle, const struct request *request, const struct pieces *pieces, const struct mpi *mpi,
                       const struct letter *letters, struct saved *own, struct part *whole) {
    int status = STATUS_OK;
    for (int i = 0; i < mpi->size; i++) {
        struct part next = {NULL, NULL};
        struct saved saved = i ? (struct saved){NULL, letters[i].nbytes} : *own;
        if (!letters[i].nbytes) continue;
        if (i) status = receive(mpi, i, status, &saved);
        if (!status) status = part_load(handle, request, "a share", &saved, &next);
        if (!status) status = pieces_append(handle, request, pieces, letters[i].first, whole, &next);
        part_clear(&next);
        if (i) saved_clear(&saved);
    }
    return status;
}

/* ---- together ---- */

/* Rank 0 decides, and broadcasts the outcome. */
static int agree(const struct mpi *mpi, int status) {
    int32_t told = status;
    return mpi_tell(mpi, &told, sizeof told) ? STATUS_FAILED : told;
}

static int join(wf_handle *handle, const struct request *request, const struct pieces *pieces, const struct mpi *mpi,
                const struct letter *letters, struct saved *own) {
    struct part whole = {NULL, NULL};
    int status = join_shares(handle, request, pieces, mpi, letters, own, &whole);
    if (!status) status = part_conclude(handle, request, &whole);
    part_clear(&whole);
    return status;
}

static int exchange(wf_handle *handle, const struct request *request, const struct mpi *mpi, struct letter *letters) {
    struct pieces pieces = {.count = 0};
    struct saved saved = {NULL, 0};
    do_share(handle, request, mpi, &pieces, &saved, letters);
    int status = mpi_collect(mpi, letters, (int)sizeof *letters, letters + 1);
    if (!status && !mpi->rank) status = check_letters(letters + 1, mpi->size);
    status = agree(mpi, status);
    if (!status && mpi->rank && saved.nbytes) status = mpi_send(mpi, saved.bytes, saved.nbytes, 0);
    if (!status && !mpi->rank) status = join(handle, request, &pieces, mpi, letters + 1, &saved);
    status = agree(mpi, status);
    saved_clear(&saved);
    pieces_clear(&pieces);
    return status;
}

int ranks_reduce(wf_handle *handle, const struct request *request) {
    const struct ranks ranks = ranks_of_environment();
    struct mpi mpi;
    struct letter *letters; /* the own one, then, on rank 0, those of all */
    share_processors(handle, request->settings, ranks);
    int status = mpi_begin(&mpi);
    if (status) return status;
    letters = calloc(1 + (mpi.rank ? 0 : (size_t)mpi.size), sizeof *letters);
    if (!letters) return fail_memory(); /* mpirun ends the others */
    if (mpi.size == ranks.size)
        status = exchange(handle, request, &mpi, letters);
    else
        status = fail("mpirun has started %d ranks, but the MPI library knows of %d: it is another one's; WARPFOLD_MPI may "
                      "name the right one", ranks.size, mpi.size);
    free(letters);
    mpi_end(&mpi);
    return status;
}
