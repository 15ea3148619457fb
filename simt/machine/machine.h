/* The state of a launch, a block and a warp, private to this folder: what other folders may use of it is declared in
 * simt.h and simt_observer.h.
 *
 * A warp is a tree of paths.  A path is a set of lanes that execute together.  Where a branch separates them, the path
 * becomes an inner node with a child for each side, and waits at the branch's post-dominator until its children have
 * arrived there.  A call is an inner node too: it waits for the one child that executes the function.  Only leaves run.
 * The lockstep schedule runs one leaf until it arrives or waits, which amounts to the classical reconvergence stack; the
 * other schedules split leaves further into siblings, which take turns. */
#ifndef SIMT_MACHINE_H
#define SIMT_MACHINE_H

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <time.h>

#include "code.h"
#include "findings.h"
#include "lane_mask.h"
#include "memory.h"
#include "spares.h"

/* The largest local memory of a thread, and the largest frame: the registers of a function for a whole warp. */
enum { SIMT_STACK_NBYTES = 1 << 19, FRAME_NBYTES_MAX = 1 << 26 };

struct block;
struct launch;

/* ---- running */

struct frame {
    struct frame *caller; /* NULL: the kernel's */
    struct frame *next;   /* in the warp's list: the kernel's is the last */
    const struct function *function;
    const struct layout *layout;
    const struct code *call;   /* that entered it */
    uint32_t lanes;            /* that have not returned */
    uint32_t depth;            /* the number of calls between the kernel and this function */
    uint64_t local_base;       /* offset of its variables in each lane's local memory */
    uint32_t taken[SIMT_LANES]; /* bytes that each lane has allocated after them by alloca */
    bool has_taken;             /* some lane has */
    unsigned char *registers;
    unsigned char *parameters; /* lane after lane, layout->parameters_nbytes each */
    struct watched_register *watched; /* those that wgmma uses (warpgroup.c); NULL until needed */
    struct undefined_mark *undefined; /* its registers whose values are undefined (undefined.c); NULL until needed */
};

enum path_state {
    PATH_READY,
    PATH_PARTED,
    PATH_AT_WARP_BARRIER,
    PATH_AT_COLLECTIVE,
    PATH_AT_BARRIER,
    PATH_AT_MBARRIER,
    PATH_AT_CLUSTER_BARRIER,
    PATH_AT_WARPGROUP, /* at wgmma.wait_group, for the other warps */
    PATH_HELD          /* by the schedule, until nothing else of the block can continue */
};

struct path {
    struct path *parent;
    struct path *next, *previous; /* in the warp's list of leaves */
    struct frame *frame;
    uint32_t mask; /* lanes that have not left it, including those in its children */
    uint32_t pc;   /* of an inner node: where it continues once they have arrived */
    uint32_t reconvergence; /* it has arrived when its pc equals this */
    uint32_t children;
    enum path_state state;
    uint32_t parted_at; /* of an inner node: its branch, if has_parted */
    bool has_parted;
    bool is_callee; /* the root of a called function: `ret` leads to its parent */
    uint32_t waiting_lanes; /* those that execute the instruction that the path waits at */
    uint32_t barrier;       /* PATH_AT_BARRIER */
    bool has_waited_enough; /* at an mbarrier: its next wait returns, whatever the phase */
    bool is_let_go;         /* it was held at this instruction, which it now executes */
};

/* Sets of bytes of any state space, by their host addresses, at which no two of them coincide.  The ranges are sorted and
 * do not touch each other. */
struct range {
    uintptr_t begin, end;
};
struct ranges {
    struct range *items;
    uint32_t count, capacity;
    bool is_lost; /* some are missing: there were too many, or memory ran out */
};

struct recording;

/* A lane's last poll: its instruction, the host address that it read (0: the lane has stored there since), and how many
 * polls of the same instruction and address followed each other. */
struct poll {
    uint32_t pc, count;
    uintptr_t host;
};

/* The locks for which lanes waited in vain when their warp's loop was examined (locks.h). */
struct awaited {
    uint32_t lanes, pcs[SIMT_LANES];
    uintptr_t hosts[SIMT_LANES]; /* their host addresses */
    uint64_t addresses[SIMT_LANES];
};

/* The loop ends at a time of the clock that is not reached within the instruction limit. */
#define ROUNDS_BY_CLOCK UINT64_MAX

struct warp {
    struct block *block;
    uint32_t index;
    uint32_t live; /* lanes that have not exited */
    struct path *leaves, *last_leaf;
    struct path *free_paths;
    unsigned char *local;   /* lane after lane, local_capacity each */
    size_t local_capacity;
    struct frame *frames;
    size_t frames_nbytes; /* their total size, which limits recursion */
    struct frame *left_frames; /* of functions that have returned, to be reused by later calls */
    size_t left_frames_nbytes;
    uint64_t spinning;    /* instructions since a path last arrived, waited or left */
    uint64_t polled;      /* the address of its last poll of global memory */
    uint32_t polls;       /* its polls: strong reads that changed nothing, as of a lock that another thread holds */
    uint32_t idle;        /* polls since its turn began, counted by lane, of what the lane had polled just before */
    struct poll last_polls[SIMT_LANES];
    uint64_t executed;    /* instructions */
    uint64_t examine_at;  /* the count of executed at which to examine next whether it is in an endless loop */
    /* The result of the last examination. */
    bool repeats_itself;  /* it is in one, as long as the following counts of its block and of the launch do not change */
    uint64_t own_changes, all_changes;
    struct ranges harmless;      /* what its loop writes and only its own loop's end depends on (effects.h) */
    struct ranges deciding;      /* what its loop reads that decides whether it ends */
    bool undoes_changes;         /* the two overlap: it changes something and changes it back */
    uint64_t rounds;             /* after which its loop ends, beyond the limit; 0: it never ends; or ROUNDS_BY_CLOCK */
    uint32_t circle;             /* the number of rounds after which its loop has the same values again */
    uint64_t waits_for;          /* an address in global memory that decides whether its loop ends; 0: not known */
    struct awaited *awaited;     /* NULL: none yet */
    struct recording *recording; /* while it is examined */
    bool meets_block;            /* its loop passes a barrier: whether it repeats itself depends on all warps */
    uint64_t wgmma_groups;       /* the number that it has committed */
    struct warpgroup *warpgroup; /* NULL until needed */
    struct undefined_origins *undefined; /* where its undefined values come from; NULL until needed */
    uint32_t cluster_arrived;  /* lanes that have arrived at the cluster's barrier and not waited yet */
    uint32_t cluster_released; /* those of them that need not wait: all others have arrived, too */
};

enum { BARRIERS = 16 };

enum verdict { VERDICT_NONE, VERDICT_NO, VERDICT_YES };

struct barrier {
    uint32_t arrived;  /* threads */
    uint32_t expected; /* threads; 0: all that live */
    uint32_t pc;       /* the instruction of the last to arrive */
    uint32_t *lanes;   /* of each warp: those that took part */
    bool is_used;
    bool has_several; /* threads arrived at several instructions */
    uint32_t all, any, count; /* the results of bar.red so far */
    enum verdict verdict; /* the predicate of the last bar.red, if all threads agreed */
};

/* The blocks of a cluster run on one host thread, in turns. */
enum { CLUSTER_BLOCKS_MAX = 16 };
struct cluster {
    struct block *blocks[CLUSTER_BLOCKS_MAX]; /* by rank */
    uint32_t count;
};

/* What was executed at an instruction by itself, and the number of runs of lane operations that begin there, with the sum
 * of their lanes. */
struct executed_count {
    simt_executed sum;
    uint64_t runs, run_lanes;
    bool is_listed; /* in executed.pcs */
};

struct executed {
    struct executed_count *counts; /* by pc; NULL: no observer asks for them */
    uint32_t *pcs, pc_count;       /* the instructions whose counts are not 0 */
    bool is_late;                  /* counting began after the block did */
};

struct block {
    simt_block_view view;
    struct launch *launch;
    struct block *next; /* in a worker's list of those begun */
    struct cluster *cluster; /* owned by its first block; NULL: the launch has no clusters */
    bool has_ended;
    bool has_cluster_barrier; /* some threads have arrived at the cluster's barrier */
    uint32_t idle_waits;   /* how often, since something last changed, every thread waited for an mbarrier in vain */
    uint64_t waited_polls; /* the value of polls at the last of these times */
    struct mbarrier_notes *mbarrier_notes; /* of the mbarriers in its shared memory; NULL until needed */
    struct warp *warps;
    uint32_t warp_count;
    uint32_t live_threads;
    simt_tally tally;
    struct executed executed;
    uint64_t polls;   /* of its warps */
    uint64_t changes; /* events that others may wait for: stores, atomics that changed something, exits */
    bool has_examined; /* one of its warps was examined, so what accesses do is recorded (effects.h) */
    bool is_still_alone; /* an examined loop writes values that are there already, but other host threads may write there, too */
    struct recording *witness; /* of the warp that is being examined, if other warps must run for it to continue */
    uint64_t allowed; /* tally.instructions may grow to this; beyond it, more must be requested from the launch's pool */
    uint64_t slow;    /* the additional instructions as which its slow ones count */
    bool is_starved;  /* the pool was empty, but other host threads may return some */
    unsigned char *shared;
    unsigned char *shared_written; /* for each byte 0xff once it is written; NULL: no observer asks */
    struct undefined_words *undefined_words; /* words with an undefined value stored (undefined.c); NULL until needed */
    unsigned char *states;         /* of the observers */
    struct barrier barriers[BARRIERS];
    uint32_t *barrier_lanes; /* a row for each barrier, and one for the barrier that has just completed */
    uint64_t random;
};

struct hook {
    const simt_observer *observer;
    size_t state; /* offset in a block's states */
};

struct hooks {
    struct hook *hooks;
    uint32_t count;
};

/* How an instruction is executed in a launch. */
struct pace {
    uint8_t straight; /* code.straight, shortened to end before an instruction that observers are notified of */
    bool is_watched;  /* observers are notified of it */
    bool is_held;     /* the schedule holds threads here (simt_machine_hold) */
};

struct launch {
    const simt_launch *request;
    struct simt_machine *machine;
    const struct image *image;
    const struct function *function;
    const struct layout *layout;
    simt_launch_view view;
    simt_report *report;
    struct allocation *workspace; /* with the grid's barrier; cooperative groups find it by %envreg1 and %envreg2 */
    struct prepared *prepared;    /* launches that the kernel has prepared (device_runtime.c) */
    uint32_t device_error;        /* the last error of the kernel's own calls of the runtime */
    struct births *births;        /* what the kernel allocated (leaks.c); NULL: nothing */
    bool has_launched;            /* the kernel launched others, which may have got pointers to what it allocated */
    unsigned char *parameters;    /* the kernel's */
    size_t parameters_nbytes;
    uint64_t block_count;
    atomic_uint_fast64_t next_block;
    uint64_t limit;               /* warp instructions that the launch may execute */
    atomic_uint_fast64_t pool;    /* those of them that no block has executed or reserved */
    uint64_t block_limit;         /* the same for one block, with its slow instructions counting more; UINT64_MAX: none */
    bool is_alone;                /* one host thread runs blocks: an empty pool cannot be refilled by others */
    struct block *begun;          /* begun by host threads that found the pool empty, for the one that then runs alone */
    atomic_uint_fast64_t changes; /* turns of blocks in which something changed that others may wait for */
    uint64_t exited;              /* threads */
    struct loops {
        struct ranges reads, writes;
    } loops; /* of all warps that repeat themselves or once did: what decides whether their loops end, and what these write */
    struct lock *locks;           /* that threads took (locks.h); NULL: none */
    struct timespec begin;        /* when it began, for the notice (simt_machine_set_notice) */
    atomic_bool is_noticed;       /* which has been given */
    atomic_bool is_lost;          /* a block's threads neither run nor wait */
    atomic_bool stopped;
    atomic_bool out_of_memory;
    pthread_mutex_t lock; /* observers' launch states, printing, what threads leave behind */
    unsigned char **launch_states;
    size_t states_nbytes;
    struct hooks instruction, executed, branch, access, shuffle, warp_barrier, barrier, fence, finding, all;
    struct hooks copy, copy_group, mbarrier, proxy_fence, cluster_barrier;
    struct pace *paces; /* by pc */
    unsigned char *has_way_out; /* by pc: whether its function can be left from there; NULL: not computed yet */
    bool needs_initialised;
};

/* Shared memory reserved for the system, after all other: groups of several warps (cooperative groups) synchronise there. */
enum { SIMT_RESERVED_NBYTES = 1024 };

static inline uint32_t simt_reserved_nbytes(const struct launch *launch) {
    return launch->image->has_reserved ? SIMT_RESERVED_NBYTES : 0;
}

struct simt_machine {
    uint32_t warp_size, banks;
    struct memory memory;
    struct image *images;
    struct image *kept_images; /* the latest image that simt_machine_reset keeps, and the number of memory slots that it keeps */
    uint64_t kept_slots;
    const simt_held_lines *held;
    size_t held_count;
    simt_cancel_function *cancel; /* NULL: launches are not cancelled */
    void *cancel_context;
    uint64_t block_limit; /* of each block of a launch (simt.h); 0: none */
    simt_notice_function *notice; /* NULL: nobody is notified of long launches */
    void *notice_context;
    simt_child_function *take_child; /* NULL: kernels must not launch */
    void *child_context;
    struct allocation *workspace; /* of every launch: one at a time; NULL before the first */
    struct spares spares;         /* for the registers of warps */
};

static inline void *slot_lanes(const struct path *path, slot operand) {
    return __builtin_assume_aligned(path->frame->registers + operand, LANE_ALIGNMENT);
}

static inline uint64_t lane_get(const unsigned char *lanes, enum width width, uint32_t lane) {
    switch (width) {
    case WIDTH_PREDICATE: return ((const uint32_t *)(const void *)lanes)[0] >> lane & 1;
    case WIDTH_16: return ((const uint16_t *)(const void *)lanes)[lane];
    case WIDTH_32: return ((const uint32_t *)(const void *)lanes)[lane];
    default: return ((const uint64_t *)(const void *)lanes)[lane];
    }
}

static inline void lane_set(unsigned char *lanes, enum width width, uint32_t lane, uint64_t value) {
    uint32_t *predicate = (uint32_t *)(void *)lanes;
    switch (width) {
    case WIDTH_PREDICATE: *predicate = (*predicate & ~(UINT32_C(1) << lane)) | (uint32_t)(value & 1) << lane; break;
    case WIDTH_16: ((uint16_t *)(void *)lanes)[lane] = (uint16_t)value; break;
    case WIDTH_32: ((uint32_t *)(void *)lanes)[lane] = (uint32_t)value; break;
    default: ((uint64_t *)(void *)lanes)[lane] = value;
    }
}

/* image.c */
simt_error simt_image_create(struct simt_machine *machine, const struct simt_module *module,
                             const struct function *kernel, struct image **image, simt_message *message);
void simt_image_destroy(struct image *image);

/* layout.c
 *
 * Gives every variable and register its place; `sibling`, if there is one, is another image of the module, of the same
 * device if it can be, whose global variables it shares.  false: no memory. */
bool simt_lay_out(struct image *image, const struct image *sibling, struct memory *memory);
uint64_t simt_variable_address(const struct image *image, const struct variable *variable);
/* Gives the image's global variables their initial values, but for those that it shares with a sibling.  false: no memory. */
bool simt_variables_reset(const struct image *image, const struct image *sibling, struct memory *memory);
/* How many arrays of dynamic shared memory there are, whose size is the launch's to give; if any, *found is one. */
uint32_t simt_dynamic_arrays(const struct image *image, struct placed *found);
/* The variable of shared memory that has the address: `array`, unless that is NULL.  false: there is none. */
bool simt_shared_array(const struct launch *launch, const struct variable *array, uint64_t address, struct placed *found);
/* The module's variable of global or constant memory that has the address, or whose begin or end is the nearest. */
bool simt_global_variable(const struct launch *launch, uint64_t address, struct placed *found);
const struct layout *simt_layout(const struct image *image, const struct function *function);
uint64_t simt_function_address(const struct function *function);
const struct function *simt_function_at(const struct image *image, uint64_t address); /* NULL: none */

/* decode.c */
bool simt_decode(struct image *image, const struct function *function); /* false: no memory */

/* special.c: special registers, by number */
bool simt_special_find(const char *name, enum width *width, uint64_t *number); /* false: there is none such */
bool simt_special_has_low_bits(const struct instruction *instruction, const char *name); /* that it may read */
bool simt_special_is_of_block(uint64_t number); /* the same for all its lanes, another for each block */
bool simt_special_is_of_grid_barrier(uint64_t number);
uint64_t simt_special_value(const struct warp *warp, uint64_t number, uint32_t lane);

/* presets.c */
struct preset *simt_preset_find(struct layout *layout, const struct preset *preset); /* or adds it; NULL: no memory */
void simt_presets_begin_frame(const struct warp *warp, const struct frame *frame);
void simt_presets_begin_block(const struct warp *warp, const struct frame *frame); /* those that blocks differ in */
uint64_t simt_extend(uint64_t value, uint32_t nbytes); /* sign extension from that many bytes */

/* verify_calls.c: whether the arguments and results of a call match the function; if not, *why says which
 * does not. */
enum { SIMT_WHY = 256 };
bool simt_call_fits(const struct function *caller, const struct instruction *call, const struct function *callee,
                    char why[SIMT_WHY]);

/* path.c: how lanes part, arrive, return and exit.  false: no memory, and the launch is stopped. */
bool simt_paths_start(struct warp *warp, uint32_t lanes);
void simt_paths_clear(struct warp *warp);
void simt_paths_free(struct warp *warp);
bool simt_path_part(struct warp *warp, struct path *path, uint32_t taken, uint32_t target, uint32_t next,
                    uint32_t reconvergence);
struct path *simt_path_split(struct warp *warp, struct path *path, uint32_t lanes); /* a sibling takes them */
void simt_path_arrive(struct warp *warp, struct path *path);
void simt_path_merge(struct warp *warp, struct path *path); /* with siblings in its state at its pc */
void simt_path_rotate(struct warp *warp, struct path *path); /* the others run first */
bool simt_path_call(struct warp *warp, struct path *path, const struct code *code, uint32_t mask,
                    const struct function *function);
void simt_path_return(struct warp *warp, struct path *path, uint32_t lanes);
void simt_path_exit(struct warp *warp, struct path *path, uint32_t lanes);
/* Every lane's local memory has that many bytes at least.  false: no memory, of which the launch is not told. */
bool simt_local_reserve(struct warp *warp, uint64_t end);
/* An argument or result of a call in the caller's frame: at most `nbytes` of it are copied. */
void simt_passed_read(const struct image *image, const struct frame *frame, const struct operand *operand,
                      uint32_t lane, void *bytes, size_t nbytes);
void simt_passed_write(const struct image *image, const struct frame *frame, const struct operand *operand,
                       uint32_t lane, const void *bytes, size_t nbytes);
/* Lanes that wait for others at a post-dominator continue alone, from one such place: any, or one where they only
 * return.  false: there is none. */
bool simt_path_release_waiting(struct warp *warp, bool only_returns);

/* execute_warp.c, execute_barrier.c: release whatever waited only for lanes that have exited */
void simt_collectives_check(struct warp *warp);
void simt_cluster_barrier_check(struct block *block); /* execute_cluster.c */
void simt_barriers_check(struct block *block);

void simt_warpgroup_forget(struct frame *frame); /* warpgroup.c: it is left */
void simt_warpgroup_clear(struct warp *warp);

/* execute_mbarrier.c: threads that wait for an mbarrier get another turn; those in vain, if nothing else can continue.
 * false: they have had their turns, or there are none. */
void simt_mbarrier_waits_wake(struct block *block);
bool simt_mbarrier_waits_resume(struct block *block);
void simt_mbarrier_deadlock(struct warp *warp, struct path *path); /* says what the path waits for */
uint32_t simt_mbarrier_missing(struct warp *warp, struct path *path); /* arrivals; 0: bytes */

/* plain_name.c: "tile" of "_ZZ3sumPfE4tile" */
void simt_plain_name(const char *mangled, char *plain, size_t nbytes);
void simt_plain_kernel(const char *mangled, char *plain, size_t nbytes);

/* access.c: the address operand of every lane, even of those that do not execute */
void simt_addresses(const struct path *path, const struct address_code *address, uint64_t addresses[SIMT_LANES]);

/* builtin_find.c: functions that the device runtime brings: vprintf, __assertfail, malloc, free, launches */
typedef bool builtin_function(struct warp *warp, struct path *path, const struct code *code, uint32_t mask);
builtin_function *simt_builtin_find(const char *name);
bool simt_builtin_fits(const struct function *declared); /* its parameters match, or it is no builtin function */
bool simt_builtin_allocates(const struct simt_module *module);
void simt_prepared_clear(struct launch *launch); /* device_runtime.c */
void simt_births_clear(struct launch *launch); /* leaks.c */
void simt_leaks_find(struct launch *launch); /* records what the launch allocated and lost */

/* fault.c: how to cure an access outside of an array, `offset` bytes from its beginning. */
const char *simt_array_cure(int64_t offset);
const char *simt_alignment_cure(const simt_event *event); /* of an address that is no multiple of what is accessed there; may be empty */
/* A finding with which the launch goes on, or has ended: of the event's block nothing but its index need be there. */
void simt_record_finding_of_launch(const simt_event *event, enum simt_finding_kind kind, uint32_t lanes, uint64_t address,
                                   const char *format, ...) __attribute__((format(printf, 5, 6)));

/* Bytes of lane's memory at a generic address, if all `nbytes` of it are there; else NULL. */
unsigned char *simt_generic_bytes(const struct warp *warp, uint32_t lane, uint64_t address, size_t nbytes);

/* deadlock.c */
void simt_deadlock_say(struct warp *warp, struct path *path); /* who waits with the path, and for whom */
void simt_parted_say(struct warp *warp, struct path *path); /* who waits at which of two barriers */
void simt_apart_say(struct warp *warp, struct path *path); /* likewise where they are of different warps */

/* warp.c */
enum { POLLS_TURN = 64 }; /* polls of a warp after which others get their turn, unless all its lanes do so again before */
enum progress { PROGRESS_YES, PROGRESS_WAITING, PROGRESS_DONE };
enum progress simt_warp_run(struct warp *warp, uint64_t budget);
uint32_t simt_warp_first_held(const struct warp *warp); /* the place of those that the schedule holds; UINT32_MAX: it holds none */
void simt_warp_let_go(struct warp *warp, uint32_t pc);  /* those that it holds there */
void simt_warp_step(struct warp *warp, struct path *path); /* one instruction, or some that nothing can come between */

/* recurrence.c: whether the warp's lanes are in a loop that never ends, for certain or as long as nothing changes in
 * memory; the warp executes some instructions meanwhile.  LATER: lanes that waited for others have just been let go.  *where: the path at such a loop, while it lasts. */
enum recurrence {
    RECURRENCE_NONE,
    RECURRENCE_LATER,
    RECURRENCE_UNLESS_CHANGED,
    RECURRENCE_BEYOND_LIMIT, /* it ends, but not before the launch's limit is reached */
    RECURRENCE_FOREVER,
    RECURRENCE_FOREVER_UNASKED, /* nothing decides */
    RECURRENCE_FOREVER_AS_READ /* what decides was read from memory, before the loop */
};
/* Whether some loop of the path's function may end by what is read from memory, as far as is known. */
bool simt_may_end_by_memory(const struct warp *warp, const struct path *path);
/* order.c: whether any way leads from where the path is out of its function. */
bool simt_path_may_end(const struct warp *warp, const struct path *path);

/* A loop of the text: to where its rounds begin a branch leads back, from its last instruction. */
struct loop {
    uint32_t begin, back;
    uint32_t exit; /* the first instruction at which a thread may leave it; NO_PC: there is none */
};

/* order.c: the innermost loop around the instruction that has at least length_least instructions; false: there is none. */
bool simt_loop_of(const simt_event *event, uint32_t pc, uint32_t length_least, struct loop *loop);

/* deciders.c: where it reads from memory what decides at the loop's exit; NO_PC: nowhere, as far as is known. */
uint32_t simt_loop_reads(const struct launch *launch, const struct loop *loop);

/* limit.c: the finding that the launch has reached its limit there; `polls`: the warp waits for memory to change. */
void simt_limit_say(struct warp *warp, const struct path *path, bool polls);

/* In the user's own file, where it calls what was inlined. */
static inline uint32_t simt_line_of(const simt_place *place) {
    if (place->outer_line) return place->outer_line;
    return place->file ? place->line : place->ptx_line;
}
static inline uint32_t simt_line_at(const struct launch *launch, uint32_t pc) { return simt_line_of(&launch->view.places[pc]); }

enum recurrence simt_recurrence_find(struct warp *warp, uint32_t steps, const struct path **where);

/* block.c */
/* Where there are clusters, these are of all blocks of the one whose first block it is. */
struct block *simt_block_create(struct launch *launch);
bool simt_block_begin(struct block *block, uint64_t index); /* of the block, or cluster */
void simt_block_end(struct block *block);
void simt_block_destroy(struct block *block);
bool simt_block_run(struct block *block, uint64_t budget); /* true: it has ended, with its cluster */
uint64_t simt_block_changes(struct block *block); /* of all blocks of its cluster */
/* Whether every warp repeats itself, or waits for those that do, as long as nothing changes in the block, or in the
 * launch.  The first depends on nothing that other host threads do. */
bool simt_block_repeats_itself(struct block *block, bool in_launch);
/* Notes that it does, as do the others, which have begun and not ended, and stops the launch. */
void simt_block_endless(struct block *block, struct block *others);


/* budget.c: the limit of warp instructions, which blocks take from the launch's pool a few at a time */
uint64_t simt_launch_take(struct launch *launch, uint64_t count); /* as many of them as there are */
void simt_block_give_back(struct block *block);
/* Counts work beyond that of one instruction, a lane's printf say, as if it were that many instructions. */
void simt_block_charge(struct block *block, uint64_t instructions);

/* How many instructions more the slow ones stand for, of what one block may execute: measured with races watched. */
enum { SLOW_ATOMIC_LANE = 2, SLOW_BARRIER = 64, SLOW_POLL = 96 };
bool simt_block_is_over(const struct block *block);
uint64_t simt_block_limit(const struct simt_machine *machine, uint32_t warps);


bool simt_is_cancelled(struct launch *launch); /* notice.c: asks the caller; if so, the launch is stopped */
/* notice.c: tells who waits for the launch where it is, if it is time; `polls`: as simt_notice has it. */
void simt_notice_slow(const struct warp *warp, const struct path *path, bool polls);

/* report.c */
simt_report *simt_report_create(void);
bool simt_report_is_whole(const simt_report *report); /* nothing is missing because memory ran out */
/* Notes a finding, as findings.h says; *index is its place in the report until that is finished. */
enum noted simt_report_note(simt_report *report, const simt_finding *finding, const struct meeting_note *note,
                            size_t *index, const char *format, va_list arguments);
/* simt_findings_show, without replays of other warps than this one. */
void simt_report_show(simt_report *report, const simt_finding *finding, const struct meeting_note *note, uint32_t warp);
bool simt_report_note_again(simt_report *report, enum simt_finding_kind kind, const struct meeting_note *note);
/* Once all observers have told it what they have.  is_of_few: as for simt_findings_finish. */
void simt_report_finish(simt_report *report, bool is_of_few);

static inline simt_event simt_event_of(const struct warp *warp, const struct path *path, uint32_t mask) {
    return (simt_event){&warp->block->view, warp->index, path->pc, path->mask, mask};
}

static inline bool simt_is_stopped(const struct launch *launch) {
    return atomic_load_explicit(&launch->stopped, memory_order_relaxed);
}

/* fault.c */
void simt_launch_stop(struct launch *launch);
void simt_launch_no_memory(struct launch *launch);

#define SIMT_NOTIFY(launch_, block_, hook_, ...)                                                             \
    do {                                                                                                     \
        const struct hook *of_ = (launch_)->hook_.hooks, *const end_ = of_ + (launch_)->hook_.count;         \
        for (; of_ < end_; of_++) of_->observer->hook_((block_)->states + of_->state, __VA_ARGS__);          \
    } while (0)

#endif
