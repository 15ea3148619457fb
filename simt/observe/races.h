/* What the race observer knows of a launch and of a block.
 *
 * A block counts ticks: one ends wherever something orders threads of it.  An access is stamped with block,
 * tick, thread and instruction.  Barriers of the whole block settle all that was stamped before; everything
 * else that orders threads (warp barriers, barriers of some warps, a fence and an atomic) is told in vector
 * clocks, which threads have only from the first such event until the next barrier of the whole block. */
#ifndef SIMT_RACES_H
#define SIMT_RACES_H

#include <pthread.h>
#include <stdatomic.h>

#include "simt_observer.h"
#include "races_shadow.h"

enum { SHARDS = 64 };

/* A part of the shadow of global memory, which all blocks share. */
struct shard {
    pthread_mutex_t lock;
    struct shadow shadow;
};

struct races {
    const simt_launch_view *view;
    uint32_t levels;      /* of clocks */
    uint32_t thread_bits; /* of a thread's number in its block */
    /* Fields of a stamp, from the lowest: pc, thread, tick, block + 1. */
    uint32_t thread_shift, tick_shift, block_shift;
    uint32_t tick_limit;
    atomic_bool has_releases;
    atomic_bool is_over; /* memory or ticks have run out: nothing more is checked */
    atomic_bool out_of_memory;
    struct shard shards[SHARDS];
    pthread_mutex_t lock; /* of what follows */
    uint64_t *pairs;      /* of instructions found racing: the lower pc << 32 | the higher */
    size_t pair_count, pair_capacity;
    uint64_t racing_accesses;
};

/* The clock of one thread, beyond the clock of its block. */
struct thread {
    struct clock seen;           /* happens before whatever it does next */
    struct clock acquired;       /* will be seen after a fence or a barrier */
    struct clock fenced[SCOPES]; /* what its atomic writes release */
    uint32_t
        fence_tick[SCOPES]; /* and all that it knew and did up to then; 0: no fence since the last barrier */
    uint64_t reading;       /* the address of the last atomic read, if is_reading */
    bool is_reading, is_reading_shared;
    bool is_acquire; /* that read is an acquire in itself */
};

struct races_block {
    struct races *races;
    uint64_t index;
    uint64_t first_stamp, settled_span; /* stamps from the first on that are settled */
    uint32_t tick, settled;             /* the current one; the last that is settled */
    struct shadow shared;
    struct clock seen, fenced[SCOPES]; /* as for a thread: of all threads */
    struct thread *threads;            /* NULL until needed */
    bool is_parted;                    /* threads differ in what they know */
    bool has_fences, has_acquired, has_acquires;
    uint64_t racing_accesses;
};

static inline uint64_t stamp_field(uint64_t stamp, uint32_t from, uint32_t to) {
    return stamp >> from & ((UINT64_C(1) << (to - from)) - 1);
}

static inline bool races_are_over(const struct races_block *block) {
    return atomic_load_explicit(&block->races->is_over, memory_order_relaxed);
}

static inline void races_give_up(struct races_block *block) {
    atomic_store_explicit(&block->races->is_over, true, memory_order_relaxed);
}

static inline void races_lose(struct races *races) {
    atomic_store_explicit(&races->out_of_memory, true, memory_order_relaxed);
    atomic_store_explicit(&races->is_over, true, memory_order_relaxed);
}

static inline struct shard *races_shard(struct races *races, uint64_t number) {
    return &races->shards[number % SHARDS];
}

/* The page of an address, which is the caller's alone until it is closed: that of shared memory is the block's own,
 * that of global memory is locked.  NULL: no memory, and nothing to close. */
static inline struct shadow_page *races_open(struct races_block *block, bool is_shared, uint64_t number) {
    if (is_shared) return simt_shadow_page(&block->shared, number);
    struct shard *shard = races_shard(block->races, number);
    pthread_mutex_lock(&shard->lock);
    struct shadow_page *page = simt_shadow_page(&shard->shadow, number);
    if (!page) pthread_mutex_unlock(&shard->lock);
    return page;
}

static inline void races_close(struct races_block *block, bool is_shared, uint64_t number) {
    if (!is_shared) pthread_mutex_unlock(&races_shard(block->races, number)->lock);
}

/* ---- races_order.c: what orders threads */

void simt_order_begin(struct races_block *block);
void simt_order_end(struct races_block *block);

/* Whether the access that was stamped happened before what the thread does now. */
bool simt_order_knows(const struct races_block *block, uint32_t thread, uint64_t stamp, bool is_atomic);

void simt_order_barrier(struct races_block *block, const uint32_t *lanes, bool is_whole);
void simt_order_warp_barrier(struct races_block *block, uint32_t warp, uint32_t lanes);
void simt_order_fence(struct races_block *block, uint32_t warp, uint32_t lanes, enum scope scope);

/* Before an access, if block->has_acquires: takes what its lanes acquired. */
void simt_order_acquire(struct races_block *block, uint32_t warp, uint32_t lanes);
/* After the access was checked, if it is atomic. */
void simt_order_atomic(struct races_block *block, uint32_t warp, const simt_access *access);

#endif
