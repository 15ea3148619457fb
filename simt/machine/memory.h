/* Global and constant memory of a simulator: allocations in a sparse address space.  Each begins at a multiple of 4 GiB that
 * no other one has, so that an allocation is found by one table look-up, and an access beyond the end of one never hits the
 * next. */
#ifndef SIMT_MEMORY_H
#define SIMT_MEMORY_H

#include "simt_observer.h"

/* Where the bytes come from, and what becomes of them. */
enum backing {
    BACKING_OWN,    /* allocated */
    BACKING_SHARED, /* mapped where its device address is, so that the host may use that address, too */
    BACKING_FOREIGN, /* the caller's */
    BACKING_PAGES /* pages.c */
};

struct allocation {
    unsigned char *bytes;
    unsigned char *written; /* a byte for each, 0xff once written; NULL: all are */
    uint64_t whole_nbytes;  /* the length of its beginning that the host has written without a gap */
    uint64_t nbytes;        /* 0 once it is freed */
    uint64_t freed_nbytes;  /* its size before it was freed */
    bool is_freed;
    enum backing backing;
    uint64_t address;
    bool is_constant, is_read_only; /* to kernels; constant memory is both */
    const char *refusal; /* why kernels cannot access it, or cannot store to it; NULL: they can */
    struct page_table *table; /* of reserved addresses; NULL: this is memory, not a reservation */
    bool is_heap; /* allocated by a kernel's malloc: kernels can free no other memory */
    uint32_t devices; /* a bit for each device that owns it or may use it as its own */
    uint32_t owner;   /* the bit of the device that owns it */
};

struct memory {
    struct allocation **slots; /* by (address - SIMT_GLOBAL_BASE) >> 32 */
    uint64_t slot_count, slot_capacity;
    uint64_t next_reused; /* where to look next for a slot whose address the host can map, once none after the last is free */
    uint64_t heap_nbytes; /* allocated by kernels and not freed */
    uint32_t device;      /* the number of the selected device, which allocates memory and executes kernels */
    uint32_t reachable;   /* a bit for each device whose memory these kernels may access */
};

#define SIMT_ALL_DEVICES UINT32_MAX
#define SIMT_ALLOCATION_MAX (UINT64_C(1) << 40)
#define SIMT_GLOBAL_BASE UINT64_C(0x700000000000)
/* Windows of generic addresses onto the other spaces, 4 GiB each. */
#define SIMT_SHARED_WINDOW UINT64_C(0x10000000000)
#define SIMT_LOCAL_WINDOW UINT64_C(0x10100000000)
#define SIMT_PARAMETER_WINDOW UINT64_C(0x10200000000)

/* These return NULL if memory runs out. */
struct allocation *simt_memory_allocate(struct memory *memory, uint64_t nbytes, bool is_constant);
struct allocation *simt_memory_reserve(struct memory *memory, uint64_t nbytes); /* freed until simt_memory_allocate_again */
bool simt_memory_allocate_again(struct allocation *allocation); /* after it was freed; false: out of memory */
struct allocation *simt_memory_allocate_shared(struct memory *memory, uint64_t nbytes);
struct allocation *simt_memory_adopt(struct memory *memory, void *bytes, uint64_t nbytes);
struct allocation *simt_memory_reserve_pages(struct memory *memory, uint64_t nbytes); /* a multiple of SIMT_PAGE_NBYTES */
void simt_memory_free(struct memory *memory, struct allocation *allocation);
void simt_memory_truncate(struct memory *memory, uint64_t slot_count); /* destroys what was allocated after these */
bool simt_memory_renew(struct allocation *allocation); /* all zeros; false: no memory */
void simt_memory_clear(struct memory *memory);

/* pages.c: what accesses of the current device see of reserved addresses there */
struct allocation *simt_page_find(const struct memory *memory, const struct allocation *reserved, uint64_t address);

static inline uint64_t simt_memory_address(uint64_t slot) { return SIMT_GLOBAL_BASE + (slot << 32); }

/* What was allocated or reserved there. */
static inline struct allocation *simt_memory_slot(const struct memory *memory, uint64_t address) {
    uint64_t slot = (address - SIMT_GLOBAL_BASE) >> 32;
    return slot < memory->slot_count ? memory->slots[slot] : NULL;
}

/* The allocation that an address lies in or, beyond its end, would belong to; NULL: none. */
static inline struct allocation *simt_memory_find(const struct memory *memory, uint64_t address) {
    struct allocation *allocation = simt_memory_slot(memory, address);
    return allocation && allocation->table ? simt_page_find(memory, allocation, address) : allocation;
}

/* Whether the device's kernels may access it. */
static inline bool simt_memory_reaches(const struct memory *memory, const struct allocation *allocation) {
    return allocation->devices & memory->reachable;
}

#endif
