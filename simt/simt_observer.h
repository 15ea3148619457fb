/*
 * simt_observer.h -- what watches the simulator.
 *
 * An observer is a struct of functions, any of which may be NULL, and two sizes of state: one for the launch, one
 * for each block while it runs.  A hook gets the state of the block where the event happened.  Blocks may run on
 * several host threads at once: launch state is touched only in launch_begin, launch_end and block_end (during which the
 * simulator holds a lock), or with a lock of the observer's own.
 *
 * An observer that comes with the simulator is one file in observe/, and one line in observe/observers.c.
 */
#ifndef SIMT_OBSERVER_H
#define SIMT_OBSERVER_H

#include "simt.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { SIMT_LANES = 32 }; /* the most that a warp has */

/* A place in the source.  Where an inlined function was called, `outer` is the line in the kernel itself. */
typedef struct simt_place {
    const char *file;
    uint32_t line;
    const char *outer_file;
    uint32_t outer_line;
    uint32_t ptx_line, ptx_column; /* of the opcode, from 1 */
    const char *opcode; /* with its modifiers: "ld.shared.u32" */
    bool approximate;   /* PTX promises no exact bits for it */
} simt_place;

typedef struct simt_launch_view {
    const char *kernel;
    uint32_t grid[3], block[3];
    uint32_t warp_size, banks;
    uint32_t threads_per_block, warps_per_block;
    size_t shared_nbytes;       /* of each block, static and dynamic */
    const simt_place *places;   /* of every instruction of the module, by its pc */
    uint32_t place_count;
    void *context;              /* simt_launch.context */
    uint32_t cluster[3];        /* blocks of a cluster */
    uint32_t blocks_per_cluster; /* 1: there are no clusters */
} simt_launch_view;

/* Counts that the simulator keeps itself while a block runs, as a hook for every instruction would cost more. */
typedef struct simt_tally {
    uint64_t instructions;        /* of warps */
    uint64_t active_lanes;        /* that came to them */
    uint64_t thread_instructions; /* lanes whose guard let them execute */
    uint64_t approximate;         /* instructions that PTX promises no exact bits for */
    uint64_t branches;            /* under a condition, */
    uint64_t divergent_branches;  /* that some of a warp's lanes took and others did not */
} simt_tally;

typedef struct simt_block_view {
    const simt_launch_view *launch;
    uint32_t block[3];
    uint64_t index;    /* x + grid.x * (y + grid.y * z) */
    const simt_tally *tally;
    void *machine;     /* for simt_record_finding */
    uint64_t cluster;  /* of a launch with clusters: its number, */
    uint32_t rank;     /* and the block's in it */
} simt_block_view;

/* One instruction of one warp, about to be executed. */
typedef struct simt_event {
    const simt_block_view *block;
    uint32_t warp;   /* in its block; thread = warp * warp_size + lane, x fastest */
    uint32_t pc;     /* of the instruction, unique in its module */
    uint32_t active; /* the lanes that came here together */
    uint32_t mask;   /* those of them whose guard lets them execute; may be 0 */
} simt_event;

enum simt_space { SIMT_GLOBAL, SIMT_SHARED, SIMT_LOCAL, SIMT_CONSTANT, SIMT_PARAMETER };
enum simt_access_kind { SIMT_LOAD, SIMT_STORE, SIMT_ATOMIC };
enum simt_order { SIMT_WEAK, SIMT_VOLATILE, SIMT_RELAXED, SIMT_ACQUIRE, SIMT_RELEASE, SIMT_ACQUIRE_RELEASE };

/* One memory access of one warp, checked, about to happen.  An instruction whose generic addresses lie in several
 * spaces is one access for each. */
typedef struct simt_access {
    enum simt_space space;
    enum simt_access_kind kind;
    enum simt_order order;
    uint32_t lanes;         /* the lanes that take part: one at least */
    uint32_t element_nbytes; /* 1, 2, 4, 8 or 16 */
    uint32_t elements;      /* 1, 2, 4 or 8: a vector */
    bool has_stride;        /* the lanes have one address (stride 0), or are neighbours whose addresses each are the one
                               before + stride: a hint, which may be false where it is so */
    uint64_t stride;        /* it may be negative, but not below -2^40, nor above 2^40 */
    const uint64_t *addresses; /* one for each lane: global addresses, or offsets into the space */
    /* The values stored (kind SIMT_STORE): lane l's element e is values[e * SIMT_LANES + l].  Else NULL. */
    const uint64_t *values;
    /* One bit for each byte of a lane's access to shared or global memory: was it written before?  For loads and
     * atomics, where an observer needs it: initialised[l], bit b for byte b.  NULL: all were, or no observer does. */
    const uint64_t *initialised;
    bool is_asynchronous; /* half of a cp.async, of which the hook `copy` tells, too: not the lanes' own access */
} simt_access;

/* What copies on its own once a thread has asked for it, and how that thread learns that it is done. */
enum simt_engine {
    SIMT_ENGINE_GROUP,      /* cp.async: groups of the thread; the generic proxy */
    SIMT_ENGINE_BULK_GROUP, /* cp.async.bulk and cp.reduce.async.bulk: groups of the thread; the asynchronous proxy */
    SIMT_ENGINE_MBARRIER,   /* the same, but an mbarrier counts the bytes */
    SIMT_ENGINE_WGMMA       /* the reads of wgmma: groups of the warp; the asynchronous proxy */
};

/* Bytes of one side of a copy.  Of shared memory the address is an offset, with the number of the block in its
 * cluster above it (SIMT_RANK_SHIFT). */
typedef struct simt_span {
    enum simt_space space;
    uint64_t address;
    uint32_t nbytes;
} simt_span;

/* Addresses of shared memory in a cluster: the offset, and 1 + the rank of the block that it is in; or 0 for the block
 * that asks. */
enum { SIMT_RANK_SHIFT = 24 };

/* One lane's asynchronous copy. */
typedef struct simt_copy {
    enum simt_engine engine;
    uint32_t lane;
    simt_span from, to; /* 0 bytes `from`: it only writes zeros */
    bool is_reduction;  /* updates what is there, atomically */
    bool is_generic;    /* of the generic proxy, though an mbarrier counts it: st.async, red.async, from registers */
    bool is_part;       /* of the copy of a tensor's box, which is told of by parts and then, with 0 bytes, as a whole */
    uint64_t mbarrier;  /* SIMT_ENGINE_MBARRIER: its address in shared memory, */
    bool completes;     /* and whether its phase ends with these bytes */
} simt_copy;

/* The lanes close a group of what they have asked for since the last one, or wait until at most `pending` of their
 * latest groups are not done. */
typedef struct simt_copy_group {
    enum simt_engine engine;
    bool is_wait, is_read; /* is_read: waits until the sources were read only */
    uint32_t pending;
} simt_copy_group;

enum simt_mbarrier_operation {
    SIMT_MBARRIER_INITIALISE,
    SIMT_MBARRIER_INVALIDATE,
    SIMT_MBARRIER_ARRIVE,
    SIMT_MBARRIER_ARRIVE_COPIES, /* once the lane's earlier cp.async are done */
    SIMT_MBARRIER_COUNT,         /* expect_tx, complete_tx */
    SIMT_MBARRIER_WAIT           /* for a phase, which is over; a wait that fails is nothing */
};

/* One lane's operation on an mbarrier. */
typedef struct simt_mbarrier {
    enum simt_mbarrier_operation operation;
    uint32_t lane;
    uint64_t address; /* in shared memory */
    enum simt_order order;
    bool completes; /* the phase ends with it */
} simt_mbarrier;

/* How often a block executed an instruction, with how many lanes that came there together, and how many of them whose
 * guard let them. */
typedef struct simt_executed {
    uint64_t instructions, active_lanes, thread_instructions;
} simt_executed;

typedef struct simt_observer {
    const char *name;
    size_t launch_nbytes, block_nbytes; /* of zeroed state */
    bool needs_initialised;             /* reads simt_access.initialised, which is NULL unless someone does */

    bool (*launch_begin)(void *launch, const simt_launch_view *view); /* false: no memory */
    void (*launch_end)(void *launch, simt_report *report);            /* simt_report_add; frees what it holds */
    bool (*block_begin)(void *launch, void *block, const simt_block_view *view); /* state zeroed; false: no memory */
    /* Adds to the launch's state; frees what it holds.  Of a block that block_begin returned true for, even if it then has
     * not run for want of memory elsewhere. */
    void (*block_end)(void *launch, void *block, const simt_block_view *view);

    void (*instruction)(void *block, const simt_event *event);
    /* Before block_end, of each instruction that the block executed. */
    void (*executed)(void *block, uint32_t pc, const simt_executed *executed);
    void (*branch)(void *block, const simt_event *event, uint32_t taken); /* of event->active, under a condition */
    void (*access)(void *block, const simt_event *event, const simt_access *access);
    /* sources[l]: the lane whose value lane l gets; of shfl. */
    void (*shuffle)(void *block, const simt_event *event, const uint8_t *sources);
    /* The lanes joined by bar.warp.sync. */
    void (*warp_barrier)(void *block, const simt_event *event, uint32_t lanes);
    /* A barrier that is complete: lanes[w] are those of warp w that took part (arrived or waited).  pc: that of the
     * last to arrive. */
    void (*barrier)(void *block, const simt_block_view *view, uint32_t barrier, uint32_t pc, const uint32_t *lanes);
    void (*fence)(void *block, const simt_event *event, bool beyond_block); /* false: scope of a block */
    /* A finding, the first of its kind at its instruction, has got that index in the report. */
    void (*finding)(void *block, const simt_event *event, size_t index, const simt_finding *finding);
    void (*copy)(void *block, const simt_event *event, const simt_copy *copy);
    void (*copy_group)(void *block, const simt_event *event, const simt_copy_group *group);
    void (*mbarrier)(void *block, const simt_event *event, const simt_mbarrier *operation);
    /* fence.proxy.async: orders what the lanes know of these spaces before later asynchronous copies. */
    void (*proxy_fence)(void *block, const simt_event *event, bool of_shared, bool of_global);
    /* The lanes arrive at their cluster's barrier, or go on behind it; `completes`: they are the last to arrive. */
    void (*cluster_barrier)(void *block, const simt_event *event, bool is_arrival, enum simt_order order,
                            bool completes);
} simt_observer;

/* Adds a count to a report.  Call it once for each name. */
void simt_report_add(simt_report *report, const char *name, double value);

/* Notes that the report lacks something for want of memory: the launch ends with that error.  Any host thread
 * may call it. */
void simt_report_lose(simt_report *report);

/* Adds the cost of an instruction to the report, and to that of its line of the source.  To be called in
 * launch_end, in order of the pc.  false: no memory, which the report has noted. */
bool simt_report_add_instruction(simt_report *report, const simt_line *instruction);
/* The same, with what it might cost; NULL: not known. */
bool simt_report_add_costs(simt_report *report, const simt_line *instruction, const simt_line_least *least);
void simt_line_add_rows(simt_line_rows *sum, const simt_line_rows *rows);

/* Adds what cures would give of a line to which the cost of an instruction was added. */
void simt_report_add_cures(simt_report *report, const simt_line *instruction, const simt_line_cures *cures,
                           const simt_line_rows *rows);
void simt_line_add(simt_line *sum, const simt_line *line); /* adds every count */
/* Adds what `line`, which has been added to the sum, might cost. */
void simt_line_add_least(simt_line_least *to, const simt_line_least *least);
void simt_stride_join(uint64_t *to, uint64_t stride); /* of one line's accesses: what they have in common */

/* Adds a replay to the report, which then owns its entries and frees them.  To be called in launch_end.  false: no
 * memory, which the report has noted; the entries are still the caller's. */
bool simt_report_add_replay(simt_report *report, const simt_replay *replay);

/* Records a finding at the instruction of `event`, by `lane`, at `address` (0: none).  Findings of one kind
 * at one line are counted as one.  Any host thread may call it.  Returns whether it was the first of its kind
 * there. */
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

/* In launch_end: drops the findings of that kind at the line of that instruction if a race has the same line. */
void simt_report_withdraw(simt_report *report, enum simt_finding_kind kind, uint32_t pc);

/* Whether the instruction at `to` may come after that at `from` with no barrier of the block in between, nor, if
 * asked for, one of the warp. */
bool simt_may_follow(const simt_event *event, uint32_t from, uint32_t to, bool within_warp);

/* The other access of a race: by the thread of that number in its block. */
typedef struct simt_racing_access {
    uint32_t pc, thread;
    uint64_t block;      /* simt_block_view.index */
    uint32_t lanes;      /* of the event, that race with it or with others at its pc */
    bool is_later;       /* it comes after the event in the program's order */
    uint32_t strength;   /* of the order that is missing: a stronger race of two lines takes the finding over */
    const char *missing; /* static; NULL: the message says it all, else ": no MISSING WHERE" ends it */
    const char *where;   /* " between line 7 and line 9" */
} simt_racing_access;

/* Records a race between the lane's access and `other`. */
bool simt_record_race(const simt_event *event, uint32_t lane, uint64_t address,
                      const simt_racing_access *other, const char *format, ...)
#if defined(__GNUC__)
    __attribute__((format(printf, 5, 6)))
#endif
    ;

/* Stops the launch once the instruction is over. */
void simt_stop(const simt_event *event);

#ifdef __cplusplus
}
#endif

#endif
