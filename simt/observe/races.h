/* What the race observer knows of a launch and of a block.
 *
 * A block counts ticks: one ends wherever something orders threads of it.  An access is stamped with block,
 * tick, thread and instruction.  Barriers of the whole block settle all that was stamped before; everything
 * else that orders threads (warp barriers, barriers of some warps, a fence and an atomic) is represented in vector
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

/* What threads that meet in some place know then. */
struct knowledge {
    struct clock seen, fenced[SCOPES];
    struct clock joined; /* the last that went into `seen`; as it is held, its node does not change */
    uint64_t unsettled;  /* the first stamp that was not settled when what all of the block know was added; 0: it was not */
};

/* A place where some arrive and others continue once all have: an mbarrier, the barrier of a cluster. */
struct meeting {
    struct meeting *next;
    uint64_t address;
    uint32_t number; /* in order of their beginning */
    struct knowledge arriving, complete; /* in this phase; in all before */
    struct phases *phases; /* of an mbarrier (races_phases.c); NULL until needed */
};

/* An access to the shared memory of another block of the cluster, of which its thread does not know that it has begun. */
struct early_access {
    uint32_t pc, thread, rank; /* of the block whose memory it is */
    uint64_t block, address;
};
enum { EARLY_MAX = 16 };

/* Shared memory of a block, or of the blocks of a cluster, which run on one host thread. */
struct races_shared {
    struct races_shared *next; /* in the list of the launch's clusters */
    uint64_t cluster;
    uint32_t owners;
    struct shadow shadow;
    struct meeting *mbarriers;
    uint32_t mbarrier_count;
    uint32_t unheeded_wait; /* 1 + the pc of a wait for an mbarrier that may have returned before the phase was over; 0: none */
    struct meeting barrier; /* of the cluster */
    struct races_block *members; /* whose it is */
    struct early_access early[EARLY_MAX]; /* by instruction */
    uint32_t early_count;
};

/* Asynchronous copies are accesses by engines, which are threads of blocks of their own: block b's is number
 * blocks + b.  A thread t has an engine of each kind, number kind * threads + t: one for each way to learn that its
 * copies are done. */
enum engine { ENGINE_GROUPS, ENGINE_BULK_READS, ENGINE_BULK_WRITES, ENGINE_WGMMA, ENGINE_MBARRIERS, ENGINES = 32 };

struct races_async; /* races_async.c */

/* Two instructions found racing.  first: the one that comes first in the program's order, by whether the two accesses
 * were of one warp. */
enum first_of_pair { FIRST_UNKNOWN, FIRST_LOWER, FIRST_HIGHER, FIRST_NEITHER /* no thread executes both, or one twice */ };
struct racing_pair {
    uint64_t pcs; /* the lower pc << 32 | the higher */
    uint8_t first[2];
};

/* A stamp's access races with that of the event's lane. */
struct encounter {
    const simt_event *event;
    uint32_t lane, lanes;
    bool is_shared, is_by_engine, is_read; /* the event's access; whether an engine reads is known */
    bool is_again;    /* of a copy: its instruction has written there before */
    bool is_unfenced; /* they are in order, but no proxy fence is between them */
    bool is_scoped;   /* both are atomic, but the scope of one is its block */
    const struct known_update *update; /* that threads make of the address, each by a load and a store; NULL: none */
    bool is_locked;   /* after the thread has, without a fence, taken what looks like a lock */
    uint64_t address, stamp;
    uint32_t strength; /* simt_races_strength, of one that is kept */
};

/* What is known of a store. */
struct known_update {
    _Atomic uint32_t store; /* its pc + 1; 0: nothing is known yet */
    simt_update update;
};

/* Instructions on the two sides of a branch, where one stores what the other loads. */
struct handed {
    uint32_t store, load, number;
};
enum { HANDED_MAX = 64 };

/* Lines that race in a loop without a barrier, or in none. */
struct looped {
    uint32_t lines[2];
    bool within_warp;
    simt_open_loop loop;
};
enum { LOOPED_MAX = 64 };

enum { ENCOUNTERS_MAX = 8 }; /* of one access, with different instructions */

struct races {
    const simt_launch_view *view;
    bool has_engines; /* the module has asynchronous copies */
    unsigned char *is_of_block; /* by pc: an atomic access of block scope (.cta); NULL: there is none */
    _Atomic uint64_t *repeated; /* by pc: bytes of global memory that a block stored as another had, with the same values */
    /* By pc: of a load, whether it is a guess (races.c), and accesses that raced with it then. */
    _Atomic unsigned char *is_guess;
    _Atomic uint64_t *guesses;
    struct known_update *updates; /* by pc, of a store; written under */
    pthread_mutex_t updates_lock;
    uint64_t blocks;
    uint32_t levels;      /* of clocks */
    uint32_t thread_bits; /* of a thread's number in its block */
    /* Fields of a stamp, from the lowest: pc, thread, tick, block + 1. */
    uint32_t thread_shift, tick_shift, block_shift;
    uint32_t tick_limit;
    bool has_equal_stores; /* those of one value are races, too */
    atomic_bool has_releases;
    atomic_bool is_over; /* memory or ticks have run out: nothing more is checked */
    atomic_bool out_of_memory;
    struct shard shards[SHARDS];
    pthread_mutex_t lock; /* of what follows */
    struct races_shared *clusters; /* those that run */
    struct racing_pair *pairs;
    size_t pair_count, pair_capacity;
    struct handed handed[HANDED_MAX];
    uint32_t handed_count;
    struct looped looped[LOOPED_MAX];
    uint32_t looped_count;
    uint64_t racing_accesses;
};

/* What a thread has acquired at an address: a loop that waits there reads the same again and again. */
struct learnt {
    const struct release *release;
    uint64_t count; /* releases by then */
    bool is_of_block;
};

/* A release of the block alone that has all that a thread knew then: by itself, or because that is where it knows it from. */
struct given {
    const struct release *release;
    struct clock seen;
};

/* The clock of one thread, beyond the clock of its block. */
struct thread {
    struct clock seen;           /* happens before whatever it does next */
    struct clock acquired;       /* will be seen after a fence or a barrier, */
    struct clock acquired_async[SCOPES]; /* and what of it copies may touch */
    struct clock fenced[SCOPES]; /* what its atomic writes release */
    uint32_t
        fence_tick[SCOPES]; /* and all that it knew and did up to then; 0: no fence since the last barrier */
    bool is_fenced_seen[SCOPES]; /* `fenced` is what `seen` was then, to which has only been added */
    uint64_t reading;       /* the address of the last atomic read, if is_reading */
    uint32_t reading_pc;    /* where that was, */
    bool is_reading, is_reading_shared;
    bool is_acquire; /* that read is an acquire in itself */
    bool is_reading_block; /* it is of block scope: what other blocks release is not for it */
    struct learnt learnt;  /* from the last one that was looked up */
    struct given given;    /* the last */
    bool is_given_acquired; /* `acquired` has all that was given */
    const struct release *acquired_from; /* where all of `acquired` is from; NULL: from several, or not known */
};

/* Pages of global memory that the block was at: they stay where they are until the launch ends. */
enum { PAGES_KNOWN = 256 };

struct races_block {
    struct races *races;
    const simt_block_view *view;
    struct races_block *next; /* of the same shared memory */
    uint64_t index;
    uint64_t first_stamp, settled_span; /* stamps from the first on that are settled */
    uint32_t tick, settled;             /* the current one; the last that is settled */
    uint32_t known_ranks;               /* a bit for each block of the cluster of which it is known that it has begun */
    struct races_shared *shared;
    struct races_async *async; /* NULL until needed */
    struct clock seen, fenced[SCOPES]; /* as for a thread: of all threads */
    struct clock_union joined;         /* last */
    struct thread *threads;            /* NULL until needed */
    bool is_parted;                    /* threads differ in what they know */
    bool has_fences, has_acquired, has_acquires;
    bool has_read;       /* atomically, global memory: */
    uint32_t reading_pc; /* where that was last */
    uint64_t racing_accesses;
    struct encounter encounters[ENCOUNTERS_MAX]; /* of the access that is looked at */
    uint32_t encounter_count;
    struct shadow_page *pages[PAGES_KNOWN]; /* by the page's number; NULL: none */
};

static inline uint64_t stamp_field(uint64_t stamp, uint32_t from, uint32_t to) {
    return stamp >> from & ((UINT64_C(1) << (to - from)) - 1);
}

/* The access that was stamped: by whom. */
struct stamped {
    uint32_t pc, thread;
    uint64_t block;
    bool is_by_engine;
    enum engine engine;
};

static inline struct stamped races_read_stamp(const struct races *races, uint64_t stamp) {
    struct stamped stamped = {.pc = (uint32_t)stamp_field(stamp, 0, races->thread_shift),
                              .thread = (uint32_t)stamp_field(stamp, races->thread_shift, races->tick_shift),
                              .block = (stamp >> races->block_shift) - 1};
    if (stamped.block < races->blocks) return stamped;
    stamped.is_by_engine = true;
    stamped.block -= races->blocks;
    stamped.engine = (enum engine)(stamped.thread / races->view->threads_per_block);
    stamped.thread %= races->view->threads_per_block;
    return stamped;
}

static inline bool races_is_of_block(const struct races *races, uint32_t pc) {
    return races->is_of_block && races->is_of_block[pc];
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

/* An address in shared memory as all blocks of the cluster know it. */
static inline uint64_t races_address(const simt_block_view *view, uint64_t address) {
    bool has_rank = view->launch->blocks_per_cluster == 1 || address >> SIMT_RANK_SHIFT;
    return has_rank ? address : address | (uint64_t)(view->rank + 1) << SIMT_RANK_SHIFT;
}

/* The page of an address, which is the caller's alone until it is closed: that of shared memory is the block's own,
 * that of global memory is locked.  NULL: no memory, and nothing to close. */
static inline struct shadow_page *races_open(struct races_block *block, bool is_shared, uint64_t number) {
    if (is_shared) return simt_shadow_page(&block->shared->shadow, number);
    struct shard *shard = races_shard(block->races, number);
    struct shadow_page **known = &block->pages[number % PAGES_KNOWN];
    pthread_mutex_lock(&shard->lock);
    if (!*known || (*known)->number != number) *known = simt_shadow_page(&shard->shadow, number);
    if (!*known) pthread_mutex_unlock(&shard->lock);
    return *known;
}

static inline void races_close(struct races_block *block, bool is_shared, uint64_t number) {
    if (!is_shared) pthread_mutex_unlock(&races_shard(block->races, number)->lock);
}

/* ---- races_order.c: what orders threads */

void simt_order_begin(struct races_block *block);
void simt_order_end(struct races_block *block);

/* Whether the access that was stamped happened before what the thread does now. */
bool simt_order_knows(const struct races_block *block, uint32_t thread, uint64_t stamp, bool is_atomic);
/* Whether all threads of the block know that: of a lone thread nothing is looked at. */
bool simt_order_all_know(const struct races_block *block, uint64_t stamp, bool is_atomic);

void simt_order_barrier(struct races_block *block, const uint32_t *lanes, bool is_whole);
void simt_order_warp_barrier(struct races_block *block, uint32_t warp, uint32_t lanes);
void simt_order_fence(struct races_block *block, uint32_t warp, uint32_t lanes, enum scope scope);

/* Before an access, if block->has_acquires: takes what its lanes acquired. */
void simt_order_acquire(struct races_block *block, uint32_t warp, uint32_t lanes);
/* Of an atomic load the lanes that do nothing but wait: each has last read the same there.  What was released is only added to, so
 * the last read of such a loop acquires all that those before it would have. */
uint32_t simt_order_waiting(struct races_block *block, const simt_event *event, const simt_access *access, bool is_of_block);
/* After the access was checked, if it is atomic, by the lanes `among` its own; one of block scope orders nothing between blocks. */
void simt_order_atomic(struct races_block *block, const simt_event *event, const simt_access *access, uint32_t among, bool is_of_block);

/* fence.proxy.async by the lanes. */
void simt_order_proxy_fence(struct races_block *block, uint32_t warp, uint32_t lanes, bool of_shared, bool of_global);

/* What the thread knows joins what is known of the meeting, and the other way round. */
void simt_order_arrive(struct races_block *block, uint32_t thread, struct knowledge *arriving, bool is_release);
void simt_order_meet(struct races_block *block, uint32_t thread, const struct knowledge *complete, bool is_acquire);
void simt_order_complete(struct races_block *block, struct meeting *meeting); /* the phase ends */
void simt_order_advance(struct races_block *block); /* what follows is another tick's */

/* The copies that its engine was asked for up to that tick are done, for every thread that has the clock, or for the thread, of the engine
 * of `owner`. */
void simt_order_engine(struct races_block *block, struct clock *clock, enum engine engine, uint32_t thread,
                       uint32_t tick);
void simt_order_engine_done(struct races_block *block, uint32_t thread, enum engine engine, uint32_t owner, uint32_t tick);

/* What of the thread's knowledge copies of that space may touch, to be dropped. */
struct clock simt_order_fenced_for_copies(struct races_block *block, uint32_t thread, bool is_shared);

/* Whether the clock, or what all threads of the block know, has the access that was stamped. */
bool simt_order_has(const struct races_block *block, struct clock clock, uint64_t stamp, bool is_atomic);

/* Whether the thread knows of anything that another block has done. */
bool simt_order_knows_of(const struct races_block *block, uint32_t thread, uint64_t other);

/* What any thread of the block knows at its end, to be dropped. */
struct clock simt_order_known_to_any(struct races_block *block);

/* ---- races_phases.c: who arrives at an mbarrier and who waits */

/* Why an mbarrier does not order two accesses: the later thread does not wait for the phase in which the earlier one arrives
 * behind its access; or it has waited for a phase that ended without an arrival of the earlier one; or for one in which the earlier
 * one arrived before its access. */
enum phase_fault { PHASE_IN_ORDER, PHASE_NOT_WAITED_FOR, PHASE_WITHOUT_IT, PHASE_ARRIVED_BEFORE };
struct phase_told {
    uint32_t begin_pc, arrive_pc, wait_pc, arrivals; /* in the last phase that is over */
};

void simt_phases_note(const struct races_block *block, struct meeting *meeting, const simt_event *event,
                      const simt_mbarrier *operation);
void simt_phases_end(struct meeting *meeting); /* the phase is over */
struct phase_access {
    uint32_t pc, tick, thread;
};
/* Between an access of the block and one by the thread `two` now. */
enum phase_fault simt_phases_fault(const struct races_block *block, const struct phase_access *one, uint32_t two, struct phase_told *told);

/* ---- races_find.c: what is reported */

const char *simt_races_verb(const simt_place *place); /* "load" */
uint32_t simt_races_strength(const struct races_block *block, const struct encounter *encounter);
void simt_races_report(struct races_block *block, const struct encounter *encounter);

/* ---- races_end.c: what may come before the beginning of a block, or behind its end */

/* Of an access to shared memory in a launch with clusters. */
void simt_races_note_early(struct races_block *block, uint32_t pc, uint32_t thread, uint64_t address);

void simt_races_check_end(struct races_block *block);

/* ---- races_async.c: copies, mbarriers, the barrier of a cluster */

void simt_async_copy(void *block, const simt_event *event, const simt_copy *copy);
void simt_async_group(void *block, const simt_event *event, const simt_copy_group *group);
void simt_async_mbarrier(void *block, const simt_event *event, const simt_mbarrier *operation);
void simt_async_cluster_barrier(void *block, const simt_event *event, bool is_arrival, enum simt_order order,
                                bool completes);
void simt_async_end(struct races_block *block);
void simt_async_shared_clear(struct races_shared *shared);

#endif
