/* Global and constant memory of a simulator: allocations in a sparse address space of their own.  Each begins at a
 * multiple of 4 GiB of its own, so that finding one is a table look-up and running out of one is never running
 * into the next. */
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
    uint64_t whole_nbytes;  /* from the beginning on, that the host has written */
    uint64_t nbytes;        /* 0 once freed: */
    uint64_t freed_nbytes;  /* then what it had */
    bool is_freed;
    enum backing backing;
    uint64_t address;
    bool is_constant, is_read_only; /* to kernels; what is constant is both */
    const char *refusal; /* why it cannot be accessed, or not be stored to; NULL: it can */
    struct page_table *table; /* of reserved addresses; NULL: it is memory itself */
    bool is_heap; /* a kernel's malloc made it, and only such ones are freed by kernels */
    uint32_t devices; /* whose it is, or who may use it as if it were: a bit for each */
    uint32_t owner;   /* the former alone */
};

struct memory {
    struct allocation **slots; /* by (address - GLOBAL_BASE) >> 32 */
    uint64_t slot_count, slot_capacity;
    uint64_t next_reused; /* where to look next for an address that the host can have, once none is left behind them */
    uint64_t heap_nbytes; /* of what kernels allocated and have not freed */
    uint32_t device;      /* whose memory is allocated and whose kernels are executed, */
    uint32_t reachable;   /* and whose memory they reach: a bit for each device */
};

#define SIMT_ALL_DEVICES UINT32_MAX
#define SIMT_ALLOCATION_MAX (UINT64_C(1) << 40)
#define SIMT_GLOBAL_BASE UINT64_C(0x700000000000)
/* Windows of generic addresses onto the other spaces, 4 GiB each. */
#define SIMT_SHARED_WINDOW UINT64_C(0x10000000000)
#define SIMT_LOCAL_WINDOW UINT64_C(0x10100000000)
#define SIMT_PARAMETER_WINDOW UINT64_C(0x10200000000)

/* NULL: no memory. */
struct allocation *simt_memory_allocate(struct memory *memory, uint64_t nbytes, bool is_constant);
struct allocation *simt_memory_reserve(struct memory *memory, uint64_t nbytes); /* counts as freed until */
bool simt_memory_allocate_again(struct allocation *allocation); /* what was freed; false: no memory */
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
