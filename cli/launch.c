#include "launch.h"

#include <stdlib.h>

#include "output.h"

static int number_of(const char *name, int otherwise) {
    const char *text = getenv(name);
    int number = text ? atoi(text) : otherwise;
    return number < 0 ? otherwise : number;
}

/* The variables of Open MPI; of MPICH, Intel MPI, MVAPICH and srun --mpi=pmi2. */
struct ranks ranks_of_environment(void) {
    struct ranks ranks = {number_of("OMPI_COMM_WORLD_RANK", 0), number_of("OMPI_COMM_WORLD_SIZE", 0),
                          number_of("OMPI_COMM_WORLD_LOCAL_SIZE", 1), false};
    if (!ranks.size)
        ranks = (struct ranks){number_of("PMI_RANK", 0), number_of("PMI_SIZE", 1), number_of("MPI_LOCALNRANKS", 1), false};
    ranks.is_started = getenv("OMPI_COMM_WORLD_SIZE") || getenv("PMI_SIZE");
    if (ranks.size < 1) ranks.size = 1;
    if (ranks.local_size < 1) ranks.local_size = 1;
    return ranks;
}

bool is_in_pieces(const struct settings *settings) {
    return settings->resume || ranks_of_environment().size > 1;
}

/* mpirun may have started one process. */
int check_piece(const struct settings *settings) {
    if (!settings->piece || settings->resume || ranks_of_environment().is_started) return STATUS_OK;
    return fail_usage("--piece is for --resume and mpirun, which read files in pieces");
}
