/* MPI libraries have no common binary interface: what MPI_COMM_WORLD is, a compiled program knows of one library.  There
 * are two in use, each unchanged for over ten years: that of Open MPI (libmpi.so.40), and that of MPICH, Intel MPI and
 * MVAPICH (libmpi.so.12, libmpich.so.12).  Eight functions and two handles of each are all that is needed here. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* secure_getenv */
#endif
#include "mpi.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "output.h"

enum { MPICH_COMM_WORLD = 0x44000000, MPICH_BYTE = 0x4c00010d };

/* The status of a message, which nobody asks for: MPI_STATUS_IGNORE. */
#define OPEN_MPI_IGNORE NULL
#define MPICH_IGNORE ((void *)1)

static void *open_one(const char *const names[]) {
    void *library = NULL;
    for (int i = 0; names[i] && !library; i++) library = dlopen(names[i], RTLD_NOW | RTLD_GLOBAL);
    return library;
}

/* The one whose mpirun has started this. */
static void *open_library(void) {
    static const char *const open_mpi[] = {"libmpi.so.40", "libmpi.so", NULL};
    static const char *const mpich[] = {"libmpich.so.12", "libmpi.so.12", "libmpi.so", NULL};
    const char *chosen = secure_getenv("WARPFOLD_MPI");
    if (chosen) return dlopen(chosen, RTLD_NOW | RTLD_GLOBAL);
    return open_one(getenv("OMPI_COMM_WORLD_SIZE") ? open_mpi : mpich);
}

static int ask(void *function, void *world, int *value) {
    if (world) return ((int (*)(void *, int *))(intptr_t)function)(world, value);
    return ((int (*)(int, int *))(intptr_t)function)(MPICH_COMM_WORLD, value);
}

int mpi_begin(struct mpi *mpi) {
    *mpi = (struct mpi){.library = open_library()};
    if (!mpi->library)
        return fail("started by mpirun, but its MPI library cannot be opened: %s; WARPFOLD_MPI may name it", dlerror());
    void *init = dlsym(mpi->library, "MPI_Init"), *rank = dlsym(mpi->library, "MPI_Comm_rank"),
         *size = dlsym(mpi->library, "MPI_Comm_size");
    mpi->collect = dlsym(mpi->library, "MPI_Gather");
    mpi->broadcast = dlsym(mpi->library, "MPI_Bcast");
    mpi->send = dlsym(mpi->library, "MPI_Send");
    mpi->receive = dlsym(mpi->library, "MPI_Recv");
    mpi->finalize = dlsym(mpi->library, "MPI_Finalize");
    mpi->world = dlsym(mpi->library, "ompi_mpi_comm_world");
    mpi->byte = dlsym(mpi->library, "ompi_mpi_byte");
    const bool has_all = init && rank && size && mpi->collect && mpi->broadcast && mpi->send && mpi->receive && mpi->finalize;
    if (!has_all || !mpi->world != !mpi->byte)
        return fail("started by mpirun, but the library that was opened is not an MPI library; WARPFOLD_MPI may name it");
    if (((int (*)(int *, char ***))(intptr_t)init)(NULL, NULL) || ask(rank, mpi->world, &mpi->rank) ||
        ask(size, mpi->world, &mpi->size))
        return fail("MPI cannot begin");
    return STATUS_OK;
}

int mpi_collect(const struct mpi *mpi, const void *mine, int nbytes, void *all) {
    typedef int by_pointers(const void *, int, void *, void *, int, void *, int, void *);
    typedef int by_numbers(const void *, int, int, void *, int, int, int, int);
    int code = mpi->world
                   ? ((by_pointers *)(intptr_t)mpi->collect)(mine, nbytes, mpi->byte, all, nbytes, mpi->byte, 0, mpi->world)
                   : ((by_numbers *)(intptr_t)mpi->collect)(mine, nbytes, MPICH_BYTE, all, nbytes, MPICH_BYTE, 0,
                                                          MPICH_COMM_WORLD);
    return code ? fail("MPI_Gather failed") : STATUS_OK;
}

int mpi_tell(const struct mpi *mpi, void *bytes, int nbytes) {
    typedef int by_pointers(void *, int, void *, int, void *);
    typedef int by_numbers(void *, int, int, int, int);
    int code = mpi->world ? ((by_pointers *)(intptr_t)mpi->broadcast)(bytes, nbytes, mpi->byte, 0, mpi->world)
                          : ((by_numbers *)(intptr_t)mpi->broadcast)(bytes, nbytes, MPICH_BYTE, 0, MPICH_COMM_WORLD);
    return code ? fail("MPI_Bcast failed") : STATUS_OK;
}

/* The length of a message that a receiver without memory can still take and discard. */
enum { MESSAGE_NBYTES_MAX = 1 << 16, TAG = 0 };

static int message_nbytes(size_t left) {
    return left < MESSAGE_NBYTES_MAX ? (int)left : MESSAGE_NBYTES_MAX;
}

int mpi_send(const struct mpi *mpi, const void *bytes, size_t nbytes, int to) {
    typedef int by_pointers(const void *, int, void *, int, int, void *);
    typedef int by_numbers(const void *, int, int, int, int, int);
    const char *from = bytes;
    int code = 0;
    for (int sent; nbytes && !code; nbytes -= (size_t)sent, from += sent) {
        sent = message_nbytes(nbytes);
        code = mpi->world ? ((by_pointers *)(intptr_t)mpi->send)(from, sent, mpi->byte, to, TAG, mpi->world)
                          : ((by_numbers *)(intptr_t)mpi->send)(from, sent, MPICH_BYTE, to, TAG, MPICH_COMM_WORLD);
    }
    return code ? fail("MPI_Send failed") : STATUS_OK;
}

int mpi_receive(const struct mpi *mpi, void *bytes, size_t nbytes, int from) {
    typedef int by_pointers(void *, int, void *, int, int, void *, void *);
    typedef int by_numbers(void *, int, int, int, int, int, void *);
    char thrown_away[MESSAGE_NBYTES_MAX], *to = bytes ? bytes : thrown_away;
    int code = 0;
    for (int count; nbytes && !code; nbytes -= (size_t)count, to += bytes ? count : 0) {
        count = message_nbytes(nbytes);
        code = mpi->world
                   ? ((by_pointers *)(intptr_t)mpi->receive)(to, count, mpi->byte, from, TAG, mpi->world, OPEN_MPI_IGNORE)
                   : ((by_numbers *)(intptr_t)mpi->receive)(to, count, MPICH_BYTE, from, TAG, MPICH_COMM_WORLD, MPICH_IGNORE);
    }
    return code ? fail("MPI_Recv failed") : STATUS_OK;
}

void mpi_end(struct mpi *mpi) {
    ((int (*)(void))(intptr_t)mpi->finalize)();
}
