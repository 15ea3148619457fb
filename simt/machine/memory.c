#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* MAP_ANONYMOUS, MAP_FIXED_NOREPLACE */
#endif
#include "pages.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0 /* then the address is a hint, which is checked */
#endif

/* ---- addresses */

static bool reserve_slots(struct memory *memory, uint64_t slots) {
    if (memory->slot_count + slots <= memory->slot_capacity) return true;
    uint64_t capacity = 2 * memory->slot_capacity + slots + 16;
    struct allocation **grown = realloc(memory->slots, capacity * sizeof *grown);
    if (!grown) return false;
    memory->slots = grown;
    memory->slot_capacity = capacity;
    return true;
}

/* Addresses that the host can have too: 47 bits on a computer whose processes have that many. */
#define HOST_SLOTS (((UINT64_C(1) << 47) - SIMT_GLOBAL_BASE) >> 32)
/* A quarter of them is left to memory that needs such an address. */
#define SHARED_SLOTS (HOST_SLOTS / 4)

static uint64_t slots_of(uint64_t nbytes) { return (nbytes >> 32) + 1; }

/* The slots between stay empty. */
static bool skip_to(struct memory *memory, uint64_t slot) {
    if (!reserve_slots(memory, slot - memory->slot_count)) return false;
    memory->next_reused = memory->slot_count;
    while (memory->slot_count < slot) memory->slots[memory->slot_count++] = NULL;
    return true;
}

static struct allocation *create(const struct memory *memory, uint64_t slot, uint64_t nbytes, enum backing backing) {
    struct allocation *allocation = calloc(1, sizeof *allocation);
    if (!allocation) return NULL;
    allocation->nbytes = nbytes;
    allocation->address = simt_memory_address(slot);
    allocation->backing = backing;
    allocation->devices = allocation->owner = backing == BACKING_OWN ? UINT32_C(1) << memory->device : SIMT_ALL_DEVICES;
    return allocation;
}

/* An allocation at the next address, without bytes yet, which nobody finds before it is entered. */
static struct allocation *prepare(struct memory *memory, uint64_t nbytes, enum backing backing) {
    const bool leaves_rest = backing != BACKING_SHARED && memory->slot_count < HOST_SLOTS &&
                             memory->slot_count + slots_of(nbytes) > HOST_SLOTS - SHARED_SLOTS;
    if (nbytes > SIMT_ALLOCATION_MAX || (leaves_rest && !skip_to(memory, HOST_SLOTS))) return NULL;
    return reserve_slots(memory, slots_of(nbytes)) ? create(memory, memory->slot_count, nbytes, backing) : NULL;
}

static struct allocation *enter(struct memory *memory, struct allocation *allocation) {
    for (uint64_t i = 0; i < slots_of(allocation->nbytes); i++) memory->slots[memory->slot_count++] = allocation;
    return allocation;
}

/* ---- bytes */

static void release_bytes(struct allocation *allocation) {
    if (allocation->backing == BACKING_OWN) free(allocation->bytes);
    if (allocation->backing == BACKING_SHARED && allocation->bytes)
        munmap(allocation->bytes, allocation->nbytes ? allocation->nbytes : 1);
    free(allocation->written);
    simt_page_table_destroy(allocation->table);
    allocation->table = NULL;
    allocation->bytes = allocation->written = NULL;
}

static void allocation_destroy(struct allocation *allocation) {
    release_bytes(allocation);
    free(allocation);
}

static bool create_bytes(struct allocation *allocation) {
    const size_t nbytes = allocation->nbytes ? allocation->nbytes : 1;
    allocation->bytes = calloc(nbytes, 1);
    allocation->written = calloc(nbytes, 1);
    allocation->whole_nbytes = 0;
    return allocation->bytes && allocation->written;
}

struct allocation *simt_memory_allocate(struct memory *memory, uint64_t nbytes, bool is_constant) {
    struct allocation *allocation = prepare(memory, nbytes, BACKING_OWN);
    if (!allocation) return NULL;
    allocation->is_constant = allocation->is_read_only = is_constant;
    if (create_bytes(allocation)) return enter(memory, allocation);
    allocation_destroy(allocation);
    return NULL;
}

struct allocation *simt_memory_reserve(struct memory *memory, uint64_t nbytes) {
    struct allocation *allocation = prepare(memory, nbytes, BACKING_OWN);
    if (!allocation) return NULL;
    enter(memory, allocation);
    simt_memory_free(memory, allocation);
    return allocation;
}

struct allocation *simt_memory_reserve_pages(struct memory *memory, uint64_t nbytes) {
    struct allocation *allocation = prepare(memory, nbytes, BACKING_PAGES);
    if (allocation && (allocation->table = simt_page_table_create(nbytes))) return enter(memory, allocation);
    if (allocation) allocation_destroy(allocation);
    return NULL;
}

bool simt_memory_renew(struct allocation *allocation) {
    if (allocation->backing != BACKING_OWN) {
        memset(allocation->bytes, 0, allocation->nbytes);
        return true;
    }
    release_bytes(allocation);
    return create_bytes(allocation);
}

bool simt_memory_allocate_again(struct allocation *allocation) {
    allocation->nbytes = allocation->freed_nbytes;
    allocation->is_freed = !create_bytes(allocation);
    if (!allocation->is_freed) return true;
    release_bytes(allocation);
    allocation->nbytes = 0;
    return false;
}

/* Maps the bytes at the allocation's address.  false: something else is there (errno is EEXIST), or there is no memory. */
static bool map_bytes(struct allocation *allocation) {
    void *wanted = (void *)(uintptr_t)allocation->address;
    void *bytes = mmap(wanted, allocation->nbytes ? allocation->nbytes : 1, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
    if (bytes == MAP_FAILED) return false;
    allocation->bytes = bytes;
    if (bytes == wanted) return true;
    release_bytes(allocation); /* an old kernel, which took the address for a hint */
    errno = EEXIST;
    return false;
}

static struct allocation *create_mapped(const struct memory *memory, uint64_t slot, uint64_t nbytes) {
    struct allocation *allocation = create(memory, slot, nbytes, BACKING_SHARED);
    if (!allocation || map_bytes(allocation)) return allocation;
    free(allocation);
    return NULL;
}

static struct allocation *allocate_behind(struct memory *memory, uint64_t nbytes) {
    if (!reserve_slots(memory, slots_of(nbytes))) return NULL;
    return create_mapped(memory, memory->slot_count, nbytes);
}

/* Nothing has been there, or what was has been freed. */
static bool are_vacant(const struct memory *memory, uint64_t slot, uint64_t slots) {
    if (slot + slots > HOST_SLOTS) return false;
    for (uint64_t i = slot; i < slot + slots; i++) {
        const struct allocation *old = memory->slots[i];
        if (old && !(old->backing == BACKING_SHARED && old->is_freed)) return false;
    }
    return true;
}

static void forget(struct memory *memory, struct allocation *old) {
    const uint64_t first = (old->address - SIMT_GLOBAL_BASE) >> 32;
    for (uint64_t i = 0; i < slots_of(old->freed_nbytes); i++) memory->slots[first + i] = NULL;
    free(old);
}

static void replace(struct memory *memory, uint64_t slot, struct allocation *allocation) {
    for (uint64_t i = slot; i < slot + slots_of(allocation->nbytes); i++) {
        if (memory->slots[i]) forget(memory, memory->slots[i]);
        memory->slots[i] = allocation;
    }
}

/* Where the addresses end that the host can have: the vacant one that was taken the longest ago. */
static struct allocation *allocate_between(struct memory *memory, uint64_t nbytes) {
    errno = 0;
    for (uint64_t tried = 0; tried < HOST_SLOTS && (!errno || errno == EEXIST); tried++) {
        const uint64_t slot = memory->next_reused++ % HOST_SLOTS;
        if (!are_vacant(memory, slot, slots_of(nbytes))) continue;
        struct allocation *allocation = create_mapped(memory, slot, nbytes);
        if (allocation) return replace(memory, slot, allocation), allocation;
    }
    return NULL;
}

struct allocation *simt_memory_allocate_shared(struct memory *memory, uint64_t nbytes) {
    if (nbytes > SIMT_ALLOCATION_MAX) return NULL;
    while (memory->slot_count + slots_of(nbytes) <= HOST_SLOTS) {
        struct allocation *allocation = allocate_behind(memory, nbytes);
        if (allocation) return enter(memory, allocation);
        if (errno != EEXIST || !skip_to(memory, memory->slot_count + 1)) return NULL; /* the host uses the address */
    }
    if (memory->slot_count < HOST_SLOTS && !skip_to(memory, HOST_SLOTS)) return NULL;
    return allocate_between(memory, nbytes);
}

struct allocation *simt_memory_adopt(struct memory *memory, void *bytes, uint64_t nbytes) {
    struct allocation *allocation = prepare(memory, nbytes, BACKING_FOREIGN);
    if (!allocation) return NULL;
    allocation->bytes = bytes;
    return enter(memory, allocation);
}

/* The addresses are not used again while there are others, and what remains says what was there: an access through a stale pointer is reported as
 * that. */
void simt_memory_free(struct memory *memory, struct allocation *allocation) {
    (void)memory;
    release_bytes(allocation);
    allocation->freed_nbytes = allocation->nbytes;
    allocation->nbytes = 0;
    allocation->is_freed = true;
    allocation->is_heap = false;
}

void simt_memory_truncate(struct memory *memory, uint64_t slot_count) {
    for (uint64_t slot = memory->slot_count; slot-- > slot_count;) { /* the first of an allocation's slots last */
        struct allocation *allocation = memory->slots[slot];
        if (allocation && allocation->address == simt_memory_address(slot)) allocation_destroy(allocation);
    }
    memory->slot_count = slot_count;
}

void simt_memory_clear(struct memory *memory) {
    simt_memory_truncate(memory, 0);
    free(memory->slots);
    *memory = (struct memory){0};
}
