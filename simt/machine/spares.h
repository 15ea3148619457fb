#ifndef SIMT_MACHINE_SPARES_H
#define SIMT_MACHINE_SPARES_H

#include <pthread.h>
#include <stddef.h>

/* Large pieces of memory that ended launches had, for later ones: the system would map each anew and clear its pages, which
 * takes longer than many a launch.  All functions may be called from several threads at once. */
struct spares {
    pthread_mutex_t lock;
    struct spare *first;
    size_t nbytes; /* of all together */
};

/* Aligned to 64 bytes, with any contents; NULL: no memory.  `nbytes` is a multiple of 64. */
void *simt_spares_take(struct spares *spares, size_t nbytes);
/* `memory` is NULL or what `simt_spares_take` gave for as many bytes. */
void simt_spares_give(struct spares *spares, void *memory, size_t nbytes);
/* Frees all that nobody has. */
void simt_spares_clear(struct spares *spares);

#endif
