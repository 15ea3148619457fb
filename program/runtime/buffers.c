/* Which buffer an address lies in. */
#include "runtime.h"

#include <stdlib.h>
#include <string.h>

/* Sorted by address. */
static struct buffer *buffers;
static size_t buffer_count, buffer_capacity, registered_count;

enum { FREED = 256 };
static struct buffer freed[FREED]; /* the last ones */
static size_t freed_count;         /* of all */

/* The number of buffers that begin at the address or before. */
static size_t count_up_to(uint64_t address) {
    size_t low = 0, high = buffer_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (buffers[middle].address <= address) low = middle + 1;
        else high = middle;
    }
    return low;
}

const struct buffer *buffer_find(uint64_t address) {
    size_t count = count_up_to(address);
    const struct buffer *buffer = count ? &buffers[count - 1] : NULL;
    return buffer && address - buffer->address < buffer->nbytes ? buffer : NULL;
}

const struct buffer *buffer_registered_at(uint64_t address) {
    for (size_t i = 0; registered_count && i < buffer_count; i++)
        if (buffers[i].kind == BUFFER_REGISTERED && address - buffers[i].device_address < buffers[i].nbytes) return &buffers[i];
    return NULL;
}

const struct buffer *buffer_freed_at(uint64_t address) {
    if (buffer_find(address)) return NULL;
    for (size_t i = 0; i < FREED && i < freed_count; i++)
        if (address - freed[i].address < freed[i].nbytes) return &freed[i];
    return NULL;
}

/* Memory that was registered is the program's own, and may go on being used. */
static bool is_gone(enum buffer_kind kind) {
    return kind == BUFFER_DEVICE || kind == BUFFER_MANAGED || kind == BUFFER_PINNED;
}

const struct buffer *buffer_next(size_t *at) { return *at < buffer_count ? &buffers[(*at)++] : NULL; }

cudaError_t buffer_add(const struct buffer *buffer) {
    if (buffer_count == buffer_capacity) {
        size_t capacity = 2 * buffer_capacity + 64;
        struct buffer *grown = realloc(buffers, capacity * sizeof *grown);
        if (!grown) return cudaErrorMemoryAllocation;
        buffers = grown;
        buffer_capacity = capacity;
    }
    size_t place = count_up_to(buffer->address);
    memmove(buffers + place + 1, buffers + place, (buffer_count - place) * sizeof *buffers);
    buffers[place] = *buffer;
    buffer_count++;
    registered_count += buffer->kind == BUFFER_REGISTERED;
    return cudaSuccess;
}

struct page_hints *buffer_hints(const struct buffer *buffer, size_t pages) {
    struct buffer *own = &buffers[buffer - buffers];
    if (!own->hints) own->hints = calloc(pages, sizeof *own->hints);
    return own->hints;
}

struct buffer_copies *buffer_copies(const struct buffer *buffer) {
    struct buffer *own = &buffers[buffer - buffers];
    if (!own->copies) own->copies = calloc(1, sizeof *own->copies);
    return own->copies;
}

void buffer_remove(const struct buffer *buffer) {
    size_t place = (size_t)(buffer - buffers);
    registered_count -= buffer->kind == BUFFER_REGISTERED;
    if (is_gone(buffer->kind)) freed[freed_count++ % FREED] = *buffer;
    memmove(buffers + place, buffers + place + 1, (buffer_count - place - 1) * sizeof *buffers);
    buffer_count--;
}

void buffers_leave_pool(cudaMemPool_t pool) {
    for (size_t i = 0; i < buffer_count; i++)
        if (buffers[i].pool == pool) buffers[i].pool = NULL;
}
