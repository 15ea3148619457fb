/* 
 * simt_observer.h -- the interface for observers, which watch the simulator.
 *
 * An observer is a struct of functions, any of which may be NULL, and two sizes of state: one for the launch, one
 * for each block while it runs.  A hook gets the state of the block where the event happened.  Blocks may run on
 * several host threads at once: launch state is touched only in launch_begin, launch_end and block_end (during
 * which the simulator holds a lock), or with a lock of the observer's own.
 *
 * An observer that comes with the simulator is one file in observe/, and one line in observe/observers.c.
 * */
#ifndef SIMT_OBSERVER_H
#define SIMT_OBSERVER_H

#include "simt.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { SIMT_LANES = 32 }; /* the maximum of a warp */

/* A source position.  For an inlined function, `outer` is the line of the call in the kernel itself. */
typedef struct simt_place {
    const char *file;
    uint32_t line;
    const char *outer_file;
    uint32_t outer_line;
    uint32_t ptx_line, ptx_column; /* of the opcode, from 1 */
    const char *opcode; /* with its modifiers: "ld.shared.u32" */
    bool approximate;   /* PTX does not define its exact bits */
} simt_place;

typedef struct simt_launch_view {
    const char *kernel;
    uint32_t grid[3], block[3];
    uint32_t warp_size, banks;
    uint32_t threads_per_block, warps_per_block;
    size_t shared_nbytes;       /* of each block, static and dynamic */
    const simt_place *places;   /* of every instruction of the module, indexed by pc */
    uint32_t place_count;
    void *context;              /* simt_launch.context */
    uint32_t cluster[3];        /* blocks of a cluster */
    uint32_t blocks_per_cluster; /* 1: there are no clusters */
    uint32_t kernel_begin, kernel_end; /* pcs of the kernel itself, without the functions that it calls */
} simt_launch_view;

/* Counts that the simulator itself keeps while a block runs, since a hook for every instruction would cost more. */
typedef struct simt_tally {
    uint64_t instructions;        /* of warps */
    uint64_t active_lanes;        /* lanes that reached them */
    uint64_t thread_instructions; /* lanes whose guard let them execute */
    uint64_t approximate;         /* instructions whose exact bits PTX does not define */
    uint64_t branches;            /* conditional ones */
    uint64_t divergent_branches;  /* those that some lanes of a warp took and others did not */
} simt_tally;

typedef struct simt_block_view {
    const simt_launch_view *launch;
    uint32_t block[3];
    uint64_t index;    /* x + grid.x * (y + grid.y * z) */
    const simt_tally *tally;
    void *machine;     /* for simt_record_finding */
    uint64_t cluster;  /* in a launch with clusters, the number of the cluster */
    uint32_t rank;     /* of the block in its cluster */
    bool is_cut;       /* at block_over and block_end: some of its threads have not exited, as the launch was stopped */
} simt_block_view;

/* One instruction of one warp, about to be executed. */
typedef struct simt_event {
    const simt_block_view *block;
    uint32_t warp;   /* in its block; thread = warp * warp_size + lane, x fastest */
    uint32_t pc;     /* of the instruction, unique in its module */
    uint32_t active; /* the lanes that reached it together */
    uint32_t mask;   /* the active lanes whose guard lets them execute; may be 0 */
} simt_event;

enum simt_space { SIMT_GLOBAL, SIMT_SHARED, SIMT_LOCAL, SIMT_CONSTANT, SIMT_PARAMETER };
enum simt_access_kind { SIMT_LOAD, SIMT_STORE, SIMT_ATOMIC };
enum simt_order { SIMT_WEAK, SIMT_VOLATILE, SIMT_RELAXED, SIMT_ACQUIRE, SIMT_RELEASE, SIMT_ACQUIRE_RELEASE };

/* One memory access of one warp, which has been checked and is about to happen.  An instruction whose generic
 * addresses are in several spaces makes one access for each space. */
typedef struct simt_access {
    enum simt_space space;
    enum simt_access_kind kind;
    enum simt_order order;
    uint32_t lanes;         /* the lanes that take part, at least one */
    uint32_t element_nbytes; /* 1, 2, 4, 8 or 16 */
    uint32_t elements;      /* 1, 2, 4 or 8: a vector */
    bool has_stride;        /* the lanes are neighbours whose addresses increase by the stride, or have the same
                               address (stride 0); a hint: may be false although that is the case */
    uint64_t stride;        /* may be negative; from -2^40 to 2^40 */
    const uint64_t *addresses; /* one for each lane: global addresses, or offsets into the space */
    /* SIMT_STORE: element e of lane l is values[e * SIMT_LANES + l].  Otherwise NULL. */
    const uint64_t *values;
    /* Loads and atomics in shared or global memory, if an observer needs it: bit b of initialised[l] is set if
     * byte b of lane l's access was written before.  NULL: all bytes were, or no observer needs it. */
    const uint64_t *initialised;
    bool is_asynchronous; /* one side of a cp.async, which the hook `copy` also reports; not an access by the lanes */
} simt_access;

/* The agents of asynchronous copies, by the way in which the thread that started one learns of its completion. */
enum simt_engine {
    SIMT_ENGINE_GROUP,      /* cp.async: groups of the thread; the generic proxy */
    SIMT_ENGINE_BULK_GROUP, /* cp.async.bulk and cp.reduce.async.bulk: groups of the thread; the asynchronous proxy */
    SIMT_ENGINE_MBARRIER,   /* bulk copies whose bytes an mbarrier counts; the asynchronous proxy */
    SIMT_ENGINE_WGMMA       /* the reads of wgmma: groups of the warp; the asynchronous proxy */
};

/* The bytes on one side of a copy.  In shared memory the address is an offset, with the rank of the block in its
 * cluster in the bits above it (SIMT_RANK_SHIFT). */
typedef struct simt_span {
    enum simt_space space;
    uint64_t address;
    uint32_t nbytes;
} simt_span;

/* Addresses of shared memory in a cluster: the offset, and above it 1 + the rank of the block, or 0 for the block
 * that executes the instruction. */
enum { SIMT_RANK_SHIFT = 24 };

/* One lane's asynchronous copy. */
typedef struct simt_copy {
    enum simt_engine engine;
    uint32_t lane;
    simt_span from, to; /* from.nbytes 0: only zeros are written */
    bool is_reduction;  /* updates the destination atomically */
    bool is_generic;    /* of the generic proxy although an mbarrier counts it: st.async, red.async, from registers */
    bool is_part;       /* a part of a tensor copy, which is reported in parts and then, with 0 bytes, as a whole */
    uint64_t mbarrier;  /* SIMT_ENGINE_MBARRIER: its address in shared memory */
    bool completes;     /* SIMT_ENGINE_MBARRIER: its phase ends with these bytes */
} simt_copy;

/* The lanes close a group of the copies started since their last group, or wait until at most `pending` of their
 * latest groups are incomplete. */
typedef struct simt_copy_group {
    enum simt_engine engine;
    bool is_wait, is_read; /* is_read: waits only until the sources have been read */
    uint32_t pending;
} simt_copy_group;

enum simt_mbarrier_operation {
    SIMT_MBARRIER_INITIALISE,
    SIMT_MBARRIER_INVALIDATE,
    SIMT_MBARRIER_ARRIVE,
    SIMT_MBARRIER_ARRIVE_COPIES, /* when the lane's earlier cp.async are complete */
    SIMT_MBARRIER_COUNT,         /* expect_tx, complete_tx */
    SIMT_MBARRIER_WAIT           /* for a phase that is complete; unsuccessful waits are not reported */
};

/* One lane's operation on an mbarrier. */
typedef struct simt_mbarrier {
    enum simt_mbarrier_operation operation;
    uint32_t lane;
    uint64_t address; /* in shared memory */
    enum simt_order order;
    bool completes;   /* it ends the phase */
    bool is_unheeded; /* a wait of whose result the kernel makes nothing: it may have returned before */
} simt_mbarrier;

/* How often a block executed an instruction, and the sums of the lanes that reached it and of those whose guard
 * let them execute it. */
typedef struct simt_executed {
    uint64_t instructions, active_lanes, thread_instructions;
} simt_executed;

typedef struct simt_observer {
    const char *name;
    size_t launch_nbytes, block_nbytes; /* of zeroed state */
    bool needs_initialised;             /* reads simt_access.initialised, which is NULL if no observer does */

    bool (*launch_begin)(void *launch, const simt_launch_view *view); /* false: no memory */
    void (*launch_end)(void *launch, simt_report *report);            /* calls simt_report_add; frees the state */
    bool (*block_begin)(void *launch, void *block, const simt_block_view *view); /* state zeroed; false: no memory */
    /* Adds to the launch's state and frees the block's.  Called for every block for which block_begin returned
     * true, even if it did not run because memory ran out elsewhere. */
    void (*block_end)(void *launch, void *block, const simt_block_view *view);
    /* The block, and those of its cluster, run no more; findings may still be recorded.  Called before the block_end of any of them. */
    void (*block_over)(void *block, const simt_block_view *view);

    void (*instruction)(void *block, const simt_event *event);
    /* Whether it wants to be told of that instruction, asked once after launch_begin; NULL: of each. */
    bool (*follows)(void *launch, const simt_launch_view *view, uint32_t pc);
    /* Called before block_end, for each instruction that the block executed. */
    void (*executed)(void *block, uint32_t pc, const simt_executed *executed);
    void (*branch)(void *block, const simt_event *event, uint32_t taken); /* conditional: the lanes of event->active that jump */
    void (*access)(void *block, const simt_event *event, const simt_access *access);
    /* shfl; sources[l]: the lane whose value lane l receives. */
    void (*shuffle)(void *block, const simt_event *event, const uint8_t *sources);
    /* The lanes joined by bar.warp.sync. */
    void (*warp_barrier)(void *block, const simt_event *event, uint32_t lanes);
    /* A barrier is complete: lanes[w] are those of warp w that took part (arrived or waited).  pc: the instruction
     * of the last one to arrive. */
    void (*barrier)(void *block, const simt_block_view *view, uint32_t barrier, uint32_t pc, const uint32_t *lanes);
    void (*fence)(void *block, const simt_event *event, bool beyond_block); /* false: block scope */
    /* A finding has been added to the report at this index: the first of its kind at its instruction. */
    void (*finding)(void *block, const simt_event *event, size_t index, const simt_finding *finding);
    void (*copy)(void *block, const simt_event *event, const simt_copy *copy);
    void (*copy_group)(void *block, const simt_event *event, const simt_copy_group *group);
    void (*mbarrier)(void *block, const simt_event *event, const simt_mbarrier *operation);
    /* fence.proxy.async: orders the accesses to these spaces that the lanes know of before later asynchronous
     * copies. */
    void (*proxy_fence)(void *block, const simt_event *event, bool of_shared, bool of_global);
    /* The lanes arrive at the barrier of their cluster, or have passed it; `completes`: they are the last to
     * arrive. */
    void (*cluster_barrier)(void *block, const simt_event *event, bool is_arrival, enum simt_order order,
                            bool completes);
} simt_observer;

/* Adds a count to a report.  Call it once for each name. */
void simt_report_add(simt_report *report, const char *name, double value);

/* Records that the report is incomplete because memory ran out; the launch ends with that error.  Any host thread may
 * call it. */
void simt_report_lose(simt_report *report);

/* Adds the cost of an instruction to the report, and to that of its source line.  To be called in launch_end, in
 * order of the pc.  false: out of memory, which the report has recorded. */
bool simt_report_add_instruction(simt_report *report, const simt_line *instruction);
/* The same, with its cost at best; NULL: unknown. */
bool simt_report_add_costs(simt_report *report, const simt_line *instruction, const simt_line_least *least);
void simt_line_add_rows(simt_line_rows *sum, const simt_line_rows *rows);

/* Adds what cures would achieve at a line to which the cost of an instruction was added. */
void simt_report_add_cures(simt_report *report, const simt_line *instruction, const simt_line_cures *cures,
                           const simt_line_rows *rows);
/* To be called in launch_end: bytes that the store there has stored in global memory as another block had before. */
void simt_report_add_repeated(simt_report *report, const simt_place *place, uint64_t nbytes);
/* Likewise: accesses that raced with a load there, which is a guess (simt_is_guess). */
void simt_report_add_guesses(simt_report *report, const simt_place *place, uint64_t count);
/* Records that the barriers of that line of the report, `count` of them, could be left out. */
void simt_report_add_spare_barriers(simt_report *report, size_t index, uint64_t count);
void simt_line_add(simt_line *sum, const simt_line *line); /* adds every count */
/* Adds the cost at best of a line, which has already been added to the sum. */
void simt_line_add_least(simt_line_least *to, const simt_line_least *least);
void simt_stride_join(uint64_t *to, uint64_t stride); /* of one line's accesses: what they have in common */

/* Adds a replay to the report, which then owns its entries and frees them.  To be called in launch_end.  false:
 * out of memory, which the report has recorded; the caller still owns the entries. */
bool simt_report_add_replay(simt_report *report, const simt_replay *replay);

/* Records a finding at the instruction of `event`, by `lane`, at `address` (0: none).  Findings of one kind
 * at one line are one finding with a count.  Any host thread may call it.  Returns whether it is the first one. */
bool simt_record_finding(const simt_event *event, enum simt_finding_kind kind, uint32_t lane,
                         uint64_t address, const char *format, ...)
#if defined(__GNUC__)
    __attribute__((format(printf, 5, 6)))
#endif
    ;

/* The same, by several lanes. */
bool simt_record_finding_of_lanes(const simt_event *event, enum simt_finding_kind kind, uint32_t lanes,
                                  uint64_t address, const char *format, ...)
#if defined(__GNUC__)
    __attribute__((format(printf, 5, 6)))
#endif
    ;

/* To be called by the hook `shuffle`: the lanes get undefined values from sources that take no part.  The first use of
 * such a value other than in arithmetic records a finding at the shuffle. */
void simt_follow_undefined(const simt_event *event, uint32_t lanes, const uint8_t *sources);

enum { SIMT_ELEMENTS = 8 }; /* the maximum of a vector */

/* A load, or another instruction that reads, of elements which nothing has written. */
typedef struct simt_unwritten {
    enum simt_space space;
    bool is_update;                         /* an atomic, which also writes */
    uint32_t element_nbytes, element_count; /* of each lane's access */
    uint32_t lanes;                         /* those that read such elements, */
    uint32_t elements[SIMT_ELEMENTS];       /* of each element, */
    uint64_t addresses[SIMT_LANES];         /* and of each lane the first one's address */
    void *context;                          /* the observer's */
    void (*say)(const simt_event *event, const struct simt_unwritten *read, uint32_t lanes); /* records the finding */
} simt_unwritten;

/* To be called by the hook `access`: calls `say` for the lanes that use such a value other than in arithmetic, once for each
 * time that a lane has read, as soon as it does.  At once for instructions other than loads to registers.  Elements that a store has
 * left so are taken out of `read`: they are of the load that had read them first. */
void simt_follow_unwritten(const simt_event *event, simt_unwritten *read);

/* To be called in launch_end: removes the findings of that kind at the line of that instruction if a race has the
 * same line. */
void simt_report_withdraw(simt_report *report, enum simt_finding_kind kind, uint32_t pc);

/* To be called in launch_end: the finding of that kind at the instruction of the event, if there is one, shows this access in place
 * of the first.  Of the event's block only `launch`, `machine`, its index and its place need be set. */
void simt_show_finding(const simt_event *event, enum simt_finding_kind kind, uint32_t lane, uint64_t address, const char *message);

/* Whether the instruction at `to` can be reached from that at `from` without a barrier of the block or, if
 * within_warp is set, of the warp. */
bool simt_may_follow(const simt_event *event, uint32_t from, uint32_t to, bool within_warp);

/* Whether what the plain load at that pc reads is a guess, which an atomicCAS() of the same element by the same thread verifies,
 * and is used for nothing but what that would store.  It takes a while. */
bool simt_is_guess(const simt_event *event, uint32_t load);

/* Whether no thread executes both instructions, as with the sides of a branch.  false: also where one is in a function
 * that the kernel calls. */
bool simt_are_exclusive(const simt_event *event, uint32_t one, uint32_t other);

/* Whether a thread may come to the instruction again within the same call. */
bool simt_may_repeat(const simt_event *event, uint32_t pc);

/* Names the outermost loop around pc, unrolled or not, whose rounds no barrier parts, of the block or, if that counts,
 * of the warp; 0: none. */
uint32_t simt_open_loop_of(const simt_event *event, uint32_t pc, bool within_warp);

/* What a store makes of what its thread has read of the element before, by the text of the kernel. */
typedef struct simt_update {
    uint32_t load;       /* the pc of that read */
    const char *missing; /* static: "atomic operation such as atomicMax()"; NULL: it is no update, as far as is known */
    bool joins_elements; /* another element of the array goes into it, too, as in a step of a tree */
} simt_update;
simt_update simt_update_of(const simt_event *event, uint32_t store);

/* The update's store from whose read follows where another store goes, or whether, as with a place drawn from a counter;
 * UINT32_MAX: there is none. */
uint32_t simt_update_before(const simt_event *event, uint32_t store);

/* Whether nothing but atomics writes to the array of shared memory which the instruction reads.  *line: the one that stores to it, if only one
 * does that does not read it, too; else 0. */
bool simt_is_never_stored(const simt_event *event, uint32_t *line);

/* The first store of an exchange of two elements to which both accesses belong, and its second; UINT32_MAX: there is none. */
uint32_t simt_exchange_of(const simt_event *event, uint32_t pc, uint32_t other_pc, uint32_t *second);

/* The branch of a loop that does nothing but wait for what the load reads; UINT32_MAX: there is none. */
uint32_t simt_awaiting_branch(const simt_event *event, uint32_t load);

/* One side of a branch stores for the other to load: something, and then what tells of it. */
typedef struct simt_handover {
    uint32_t number;    /* + 1; 0: none */
    uint32_t store;     /* its pc: what tells of something else is stored behind it */
    bool is_waited_for; /* in a loop: the message is about what tells */
    bool is_of_sides;   /* of a branch; what is not belongs together where it is waited for */
} simt_handover;

/* Races of the rounds of a loop without a barrier, with each other and with what comes before the loop, are one fault. */
typedef struct simt_open_loop {
    uint32_t number; /* + 1; 0: none */
    bool is_entered; /* the access that comes first in program order lies outside */
} simt_open_loop;

/* The other access of a race; thread is a number in its block. */
typedef struct simt_racing_access {
    uint32_t pc, thread;
    uint64_t block;      /* simt_block_view.index */
    uint32_t lanes;      /* lanes of the event that race with it or with others at its pc */
    bool is_later;       /* it follows the event in program order */
    uint32_t strength;   /* of the missing ordering: a stronger race between the two lines replaces the finding */
    const char *missing; /* static; ": no MISSING WHERE" is appended to the message; NULL: nothing is */
    const char *where;   /* " between line 7 and line 9" */
    uint32_t update;     /* the pc of the store, if the two are an update that should be atomic, + 1; else 0; */
    uint32_t follows;    /* of the update from which this race follows: where that races, too, this one is left out */
    uint32_t copies;     /* which copies are not waited for, + 1: races of these that share lines are one fault; else 0 */
    bool is_before_copy; /* of copies: what one overwrites must be over, as in the next round of a loop */
    bool is_of_phase;    /* an mbarrier was to order them: not told where the launch stops as its phase never ends */
    simt_handover handover; /* what is handed over and what tells of it are one fault */
    simt_open_loop loop;
    uint32_t teller;     /* the pc of the atomic by which one block tells the other, and at which fences are missing, + 1; else 0 */
    bool is_of_teller;   /* that atomic is one of the two */
} simt_racing_access;

/* Records a race between the lane's access and `other`. */
bool simt_record_race(const simt_event *event, uint32_t lane, uint64_t address,
                      const simt_racing_access *other, const char *format, ...)
#if defined(__GNUC__)
    __attribute__((format(printf, 5, 6)))
#endif
    ;

/* Counts a race as one more of those of its two instructions, if one that is at least as strong has been recorded;
 * otherwise false: nothing is done. */
bool simt_record_race_again(const simt_event *event, uint32_t lane, const simt_racing_access *other);

/* Stops the launch after the current instruction. */
void simt_stop(const simt_event *event);

#ifdef __cplusplus
}
#endif

#endif
