/* Memory that is freed all at once: blocks of growing size, cut from the front. */
#include "ptx.h"

#include <stdalign.h>
#include <stdlib.h>

enum { BLOCK_NBYTES_MIN = 1 << 12, BLOCK_NBYTES_MAX = 1 << 20, ALIGNMENT = alignof(max_align_t) };

struct block {
    struct block *next;
    alignas(max_align_t) unsigned char bytes[];
};

struct arena {
    struct block *blocks;
    unsigned char *free;
    size_t free_nbytes;
    size_t block_nbytes; /* of the next block */
};

struct arena *simt_arena_create(void) {
    struct arena *arena = calloc(1, sizeof *arena);
    if (arena) arena->block_nbytes = BLOCK_NBYTES_MIN;
    return arena;
}

static unsigned char *add_block(struct arena *arena, size_t nbytes) {
    struct block *block = calloc(1, sizeof *block + nbytes);
    if (!block) return NULL;
    block->next = arena->blocks;
    arena->blocks = block;
    return block->bytes;
}

void *simt_arena_allocate(struct arena *arena, size_t nbytes) {
    if (nbytes > SIZE_MAX / 2) return NULL;
    nbytes = (nbytes + !nbytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (nbytes > arena->block_nbytes / 4) return add_block(arena, nbytes);
    if (nbytes > arena->free_nbytes) {
        unsigned char *bytes = add_block(arena, arena->block_nbytes);
        if (!bytes) return NULL;
        arena->free = bytes;
        arena->free_nbytes = arena->block_nbytes;
        if (arena->block_nbytes < BLOCK_NBYTES_MAX) arena->block_nbytes *= 2;
    }
    void *taken = arena->free;
    arena->free += nbytes;
    arena->free_nbytes -= nbytes;
    return taken;
}

void simt_arena_destroy(struct arena *arena) {
    if (!arena) return;
    for (struct block *block = arena->blocks, *next; block; block = next) {
        next = block->next;
        free(block);
    }
    free(arena);
}
