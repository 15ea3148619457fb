/* Asynchronous copies, of whatever instruction: where their sides are, their bytes, and the mbarrier that counts them.
 * They are done at once; that their bytes are there for nobody before a wait tells so is what the observers check. */
#ifndef SIMT_COPIER_H
#define SIMT_COPIER_H

#include "machine.h"

/* One lane's copy. */
struct copier {
    struct warp *warp;
    struct path *path;
    const struct code *code;
    uint32_t lanes, lane;
};

/* One side of it. */
struct side {
    simt_span span;
    unsigned char *host, *written; /* NULL: all is written */
    struct block *home;            /* of shared memory */
};

/* The addresses that the lanes' operands name; 0 where the copy has no mbarrier. */
struct copy_operands {
    uint64_t from[SIMT_LANES], to[SIMT_LANES], mbarriers[SIMT_LANES];
};

void simt_copy_operands(const struct path *path, const struct code *code, struct copy_operands *operands);

/* Records the finding and stops the launch: false. */
bool simt_copier_stop(const struct copier *copier, enum simt_finding_kind kind, uint64_t address, const char *what);

/* Finds the bytes.  false: they are not there, and the launch is stopped. */
bool simt_side_locate(const struct copier *copier, struct side *side, bool is_written);

/* What `from` lacks are zeros.  What was not written there is not by being copied. */
void simt_side_copy(const struct side *to, const struct side *from);

/* Tells the mbarrier, in `side`, of the bytes that came; copy->completes says whether its phase is over.  false: there is
 * none, and the launch is stopped. */
bool simt_side_complete(const struct copier *copier, simt_copy *copy, struct side *side);

void simt_copier_notify(const struct copier *copier, const simt_copy *copy);

#endif
