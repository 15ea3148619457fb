#include "memory.h"

#include <stdlib.h>
#include <string.h>

struct allocation *simt_memory_allocate(struct memory *memory, uint64_t nbytes, bool is_constant) {
    if (nbytes > UINT64_C(1) << 40) return NULL;
    uint64_t slots = (nbytes >> 32) + 1;
    if (memory->slot_count + slots > memory->slot_capacity) {
        uint64_t capacity = 2 * memory->slot_capacity + slots + 16;
        struct allocation **grown = realloc(memory->slots, capacity * sizeof *grown);
        if (!grown) return NULL;
        memory->slots = grown;
        memory->slot_capacity = capacity;
    }
    struct allocation *allocation = calloc(1, sizeof *allocation);
    if (!allocation) return NULL;
    allocation->bytes = calloc(nbytes ? nbytes : 1, 1);
    allocation->written = calloc(nbytes ? nbytes : 1, 1);
    if (!allocation->bytes || !allocation->written) {
        free(allocation->bytes);
        free(allocation->written);
        free(allocation);
        return NULL;
    }
    allocation->nbytes = nbytes;
    allocation->address = SIMT_GLOBAL_BASE + (memory->slot_count << 32);
    allocation->is_constant = is_constant;
    for (uint64_t i = 0; i < slots; i++) memory->slots[memory->slot_count++] = allocation;
    return allocation;
}

static void allocation_destroy(struct allocation *allocation) {
    free(allocation->bytes);
    free(allocation->written);
    free(allocation);
}

/* The addresses are never reused, so that an access through a stale pointer is caught. */
void simt_memory_free(struct memory *memory, struct allocation *allocation) {
    for (uint64_t slot = (allocation->address - SIMT_GLOBAL_BASE) >> 32;
         slot < memory->slot_count && memory->slots[slot] == allocation; slot++)
        memory->slots[slot] = NULL;
    allocation_destroy(allocation);
}

void simt_memory_clear(struct memory *memory) {
    for (uint64_t slot = 0; slot < memory->slot_count; slot++)
        if (memory->slots[slot]) simt_memory_free(memory, memory->slots[slot]);
    free(memory->slots);
    *memory = (struct memory){0};
}
