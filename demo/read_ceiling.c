/* read_ceiling FILE THREADS: reads the file in pieces of 1 MiB, which the threads share out as they come
 * free, and does nothing with them: no program that reads the file can be faster. */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define PIECE_NBYTES (1 << 20)

struct work {
    int file;
    atomic_llong next;
    atomic_bool failed;
};

static void *read_pieces(void *argument) {
    struct work *work = argument;
    char *piece = malloc(PIECE_NBYTES);
    ssize_t nbytes = piece ? 1 : -1;
    while (nbytes > 0) {
        nbytes = pread(work->file, piece, PIECE_NBYTES, atomic_fetch_add(&work->next, PIECE_NBYTES));
    }
    if (nbytes < 0) atomic_store(&work->failed, 1);
    free(piece);
    return NULL;
}

int main(int argc, char **argv) {
    struct work work = {.file = argc == 3 ? open(argv[1], O_RDONLY) : -1};
    if (work.file < 0) {
        fprintf(stderr, "read_ceiling: usage: read_ceiling FILE THREADS\n");
        return 2;
    }
    pthread_t threads[256];
    int wanted = atoi(argv[2]), started = 0;
    while (started < wanted - 1 && started < 256 &&
           pthread_create(&threads[started], NULL, read_pieces, &work) == 0) {
        started++;
    }
    read_pieces(&work);
    for (int i = 0; i < started; i++) pthread_join(threads[i], NULL);
    close(work.file);
    return work.failed;
}
