/* The functions of MPI that the command line needs, from the library that mpirun belongs to, opened at run time. */
#ifndef CLI_MPI_H
#define CLI_MPI_H

#include <stddef.h>

struct mpi {
    void *library;
    void *collect, *broadcast, *send, *receive, *finalize;
    void *world, *byte; /* Open MPI's handles are pointers; NULL: MPICH's are numbers */
    int rank, size;
};

/* Opens the library and begins; returns a status, having said what is wrong. */
int mpi_begin(struct mpi *mpi);

/* Each returns a status, having said what is wrong. */

/* Gives rank 0 nbytes of every rank, one after the other. */
int mpi_collect(const struct mpi *mpi, const void *mine, int nbytes, void *all);

/* Gives every rank what rank 0 has. */
int mpi_tell(const struct mpi *mpi, void *bytes, int nbytes);

/* From one rank to another; both must give the same nbytes, which may exceed INT_MAX.  bytes NULL: received bytes are
 * discarded. */
int mpi_send(const struct mpi *mpi, const void *bytes, size_t nbytes, int to);
int mpi_receive(const struct mpi *mpi, void *bytes, size_t nbytes, int from);

/* Every rank calls it before it ends. */
void mpi_end(struct mpi *mpi);

#endif
