/* As much of MPI as the command line needs, of whichever library has started it, opened at run time. */
#ifndef CLI_MPI_H
#define CLI_MPI_H

#include <stddef.h>

struct mpi {
    void *library;
    void *collect, *finalize;
    void *world, *byte; /* Open MPI's handles are pointers; NULL: MPICH's are numbers */
    int rank, size;
};

/* Opens the library and begins; returns a status, having said what is wrong. */
int mpi_begin(struct mpi *mpi);

/* Gives rank 0 nbytes of every rank, one after the other; returns a status. */
int mpi_collect(const struct mpi *mpi, const void *mine, int nbytes, void *all);

/* Every rank calls it before it ends. */
void mpi_end(struct mpi *mpi);

#endif
