#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* sched_getaffinity */
#endif
#include "ranks.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "conclude.h"
#include "mpi.h"
#include "output.h"
#include "pieces.h"
#include "saved.h"

/* ---- who this is ---- */

static int number_of(const char *name, int otherwise) {
    const char *text = getenv(name);
    int number = text ? atoi(text) : otherwise;
    return number < 0 ? otherwise : number;
}

/* Of Open MPI; of MPICH, Intel MPI, MVAPICH and srun --mpi=pmi2. */
struct ranks ranks_of_environment(void) {
    struct ranks ranks = {number_of("OMPI_COMM_WORLD_RANK", 0), number_of("OMPI_COMM_WORLD_SIZE", 0),
                          number_of("OMPI_COMM_WORLD_LOCAL_SIZE", 1)};
    if (!ranks.size)
        ranks = (struct ranks){number_of("PMI_RANK", 0), number_of("PMI_SIZE", 1), number_of("MPI_LOCALNRANKS", 1)};
    if (ranks.size < 1) ranks.size = 1;
    if (ranks.local_size < 1) ranks.local_size = 1;
    return ranks;
}

/* Processors are shared, unless mpirun has bound each rank to its own. */
static void share_processors(wf_handle *handle, const struct settings *settings, struct ranks ranks) {
    cpu_set_t set;
    if (settings->threads || sched_getaffinity(0, sizeof set, &set)) return;
    const int share = CPU_COUNT(&set) / ranks.local_size;
    wf_handle_set_threads(handle, share > 1 ? share : 1);
}

/* ---- what is sent ---- */

struct letter {
    int32_t status;
    uint32_t nbytes;
    uint64_t work; /* a hash of what all ranks together reduce: the same for all */
    unsigned char bytes[WF_SAVED_NBYTES_MAX];
};

static int reduce_share(wf_handle *handle, const struct request *request, const struct pieces *pieces, const struct mpi *mpi,
                        wf_accumulator **share) {
    const size_t count = pieces->count, rank = (size_t)mpi->rank, size = (size_t)mpi->size;
    int status = STATUS_OK;
    for (size_t i = count / size * rank + count % size * rank / size;
         i < count / size * (rank + 1) + count % size * (rank + 1) / size && !status; i++) {
        wf_accumulator *next = NULL;
        status = piece_reduce(handle, request, pieces, i, &next);
        if (status)
            wf_accumulator_destroy(next);
        else
            status = pieces_append(handle, request, share, next);
    }
    return status;
}

/* Of the settings, and of the files with their sizes.  Not of their times: ranks may have copies of their own. */
static int hash_work(const struct request *request, const struct pieces *pieces, uint64_t *hash) {
    struct page page;
    page_open(&page);
    if (page.stream) pieces_describe(page.stream, request, pieces, false);
    int status = page_end(&page) ? STATUS_OK : fail_memory();
    *hash = status ? 0 : hash_bytes(page.text, page.length);
    page_clear(&page);
    return status;
}

/* A rank that has nothing sends nothing. */
static int write_letter(wf_handle *handle, const struct request *request, const struct mpi *mpi, struct letter *letter) {
    struct pieces pieces;
    wf_accumulator *share = NULL;
    size_t nbytes = 0;
    int status = pieces_make(handle, request, &pieces);
    if (!status) status = hash_work(request, &pieces, &letter->work);
    if (!status) status = reduce_share(handle, request, &pieces, mpi, &share);
    if (!status && share) {
        wf_error error = wf_accumulator_save(handle, share, letter->bytes, sizeof letter->bytes, &nbytes);
        if (error) status = fail_library(handle, error);
    }
    wf_accumulator_destroy(share);
    pieces_clear(&pieces);
    letter->nbytes = (uint32_t)nbytes;
    letter->status = status;
    return status;
}

static int join_letters(wf_handle *handle, const struct request *request, const struct letter *letters, int count,
                        wf_accumulator **whole) {
    int status = STATUS_OK;
    for (int i = 0; i < count && !status; i++) status = letters[i].status;
    for (int i = 1; i < count && !status; i++)
        if (letters[i].work != letters[0].work)
            status = fail("rank %d reduces other files than rank 0, files of other sizes, or in another way: every rank "
                          "must be given the same command and see the same files", i);
    for (int i = 0; i < count && !status; i++) {
        wf_accumulator *next = NULL;
        if (!letters[i].nbytes) continue;
        wf_error error = wf_accumulator_load(handle, letters[i].bytes, letters[i].nbytes, &next);
        status = error ? fail_library(handle, error) : pieces_append(handle, request, whole, next);
    }
    return status;
}

static int exchange(wf_handle *handle, const struct request *request, const struct mpi *mpi) {
    const size_t received = mpi->rank == 0 ? (size_t)mpi->size : 0;
    struct letter *letters = calloc(1 + received, sizeof *letters); /* the own one, then those of all ranks */
    wf_accumulator *whole = NULL;
    if (!letters) return fail_memory();
    int status = write_letter(handle, request, mpi, letters);
    int sent = mpi_collect(mpi, letters, (int)sizeof *letters, letters + 1);
    if (!status) status = sent;
    if (!status && received) status = join_letters(handle, request, letters + 1, mpi->size, &whole);
    if (!status && received) status = reduction_conclude(handle, whole, request->settings);
    wf_accumulator_destroy(whole);
    free(letters);
    return status;
}

int ranks_reduce(wf_handle *handle, const struct request *request) {
    const struct ranks ranks = ranks_of_environment();
    struct mpi mpi;
    share_processors(handle, request->settings, ranks);
    int status = mpi_begin(&mpi);
    if (status) return status;
    if (mpi.size == ranks.size)
        status = exchange(handle, request, &mpi);
    else
        status = fail("mpirun has started %d ranks, but the MPI library knows of %d: it is another one's; WARPFOLD_MPI may "
                      "name the right one", ranks.size, mpi.size);
    mpi_end(&mpi);
    return status;
}
