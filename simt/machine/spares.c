#include "spares.h"

#include <stdlib.h>

enum {
    SPARE_NBYTES_MIN = 1 << 16, /* smaller ones malloc() keeps itself */
    SPARES_NBYTES_MAX = 1 << 26
};

/* At the beginning of the memory itself. */
struct spare {
    struct spare *next;
    size_t nbytes;
};

static void *take_kept(struct spares *spares, size_t nbytes) {
    struct spare **link = &spares->first;
    while (*link && (*link)->nbytes != nbytes) link = &(*link)->next;
    struct spare *found = *link;
    if (!found) return NULL;
    *link = found->next;
    spares->nbytes -= nbytes;
    return found;
}

void *simt_spares_take(struct spares *spares, size_t nbytes) {
    void *kept = NULL;
    if (nbytes >= SPARE_NBYTES_MIN) {
        pthread_mutex_lock(&spares->lock);
        kept = take_kept(spares, nbytes);
        pthread_mutex_unlock(&spares->lock);
    }
    return kept ? kept : aligned_alloc(64, nbytes);
}

static void free_all(struct spares *spares) {
    while (spares->first) {
        struct spare *next = spares->first->next;
        free(spares->first);
        spares->first = next;
    }
    spares->nbytes = 0;
}

/* Where there is no room, those of earlier launches make it, whose kernels may never come again. */
static void keep(struct spares *spares, void *memory, size_t nbytes) {
    if (spares->nbytes + nbytes > SPARES_NBYTES_MAX) free_all(spares);
    struct spare *spare = memory;
    *spare = (struct spare){spares->first, nbytes};
    spares->first = spare;
    spares->nbytes += nbytes;
}

void simt_spares_give(struct spares *spares, void *memory, size_t nbytes) {
    if (!memory || nbytes < SPARE_NBYTES_MIN || nbytes > SPARES_NBYTES_MAX) {
        free(memory);
        return;
    }
    pthread_mutex_lock(&spares->lock);
    keep(spares, memory, nbytes);
    pthread_mutex_unlock(&spares->lock);
}

void simt_spares_clear(struct spares *spares) { free_all(spares); }
