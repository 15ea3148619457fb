/* The machine inside: what is decoded, and the state of a launch, a block, a warp.
 *
 * A warp is a tree of paths.  A path is a set of lanes that execute together; where a branch parts them it becomes
 * an inner node that waits, at the branch's post-dominator, until the children that it was parted into have arrived
 * there.  A call is a node too: it waits for the one child that executes the function.  Only leaves run.  Lockstep
 * runs one leaf until it arrives or waits, which is the classical reconvergence stack; the other schedules part
 * leaves further into siblings, and take turns. */
#ifndef SIMT_MACHINE_H
#define SIMT_MACHINE_H

#include <pthread.h>
#include <stdatomic.h>

#include "lanes.h"
#include "memory.h"

struct warp;
struct path;
struct code;
struct block;
struct launch;

/* ---- decoded instructions */

/* What executing an instruction did to its path. */
enum outcome {
    OUTCOME_NEXT,  /* the path goes on behind it */
    OUTCOME_MOVED, /* its pc is set; it goes on there */
    OUTCOME_LEFT   /* it has parted, waits, or is gone; or the launch was stopped */
};

struct collective;
typedef void collective_function(struct collective *collective); /* execute_warp.c */
typedef enum outcome execute_function(struct warp *warp, struct path *path, const struct code *code, uint32_t mask);

enum { CODE_OPERANDS = LANE_SLOTS_MAX, CODE_VECTOR = 8 };

/* The address operand of a memory instruction: register or variable, and a constant. */
struct address_code {
    slot base;
    bool has_base;
    bool is_wide;        /* the base has 64 bits; 32-bit addresses wrap */
    bool is_frame;       /* relative to the frame: its local variables or parameters */
    bool is_local;       /* of these, the local ones */
    bool is_kernel_parameter;
    uint64_t offset;
};

/* What a step needs comes first, in one line of the host's cache. */
struct code {
    _Alignas(64) lane_function *lanes; /* does it all; NULL: `execute` does */
    execute_function *execute;
    struct lane_call call; /* its operands */
    slot guard;
    uint8_t straight; /* so many from here on are nothing but lane operations without a guard, of one path */
    bool has_guard, guard_is_negated;
    bool is_approximate;

    bool is_branch;        /* executed for no lane, too */
    bool is_synchronising; /* lanes that a schedule has parted meet here */
    bool is_meeting;       /* a post-dominator: paths may end here */
    uint8_t operand_count;
    enum width widths[CODE_OPERANDS]; /* of the registers of operands, where `execute` needs them */
    uint32_t target;                  /* branch */
    uint32_t reconvergence;
    const struct instruction *instruction;

    /* memory */
    struct address_code address;
    enum simt_space space;
    bool is_generic;
    bool is_signed; /* a load extends the sign into a wider register */
    enum simt_order order;
    uint8_t element_nbytes, elements;
    slot vector[CODE_VECTOR];
    enum width vector_widths[CODE_VECTOR];
    uint8_t vector_sinks; /* bits: results that are thrown away */
    scalar_function *scalar;
    lane_function *negated; /* what `execute` does with the opposite of a predicate */
    collective_function *collective;
    uint64_t immediate; /* whatever the one instruction needs */
    const struct function *function;
    bool beyond_block; /* fence */
};

/* Where a variable lies: in global memory, or in the block's shared memory, the thread's locals, the frame's
 * parameters. */
struct placed {
    const struct variable *variable;
    uint64_t address;
};

/* A module made ready for a machine: its instructions decoded, its variables in memory. */
struct image {
    struct image *next;
    const struct simt_module *module;
    const struct function *kernel; /* whose static shared variables these are */
    struct code *codes;
    struct layout *layouts; /* of module->functions */
    struct placed *placed;  /* a hash table of variables */
    size_t placed_capacity;
    size_t shared_nbytes;   /* of the static variables */
    size_t dynamic_offset;  /* of the dynamic ones behind them */
};

/* What an instruction reads besides registers stands in the frame like one, from its beginning on. */
enum given_kind { GIVEN_CONSTANT, GIVEN_SPECIAL, GIVEN_PARAMETER };

struct given {
    enum given_kind kind;
    enum width width;
    uint64_t bits;  /* the constant; the number of the special register; the kernel's parameter's first byte */
    uint8_t nbytes; /* of a parameter, */
    bool is_signed; /* which is extended so */
    slot slot;
};

/* Where a function's registers and variables lie in its frame. */
struct layout {
    slot *registers;
    slot carry, sink; /* two more: the carry flag, and where results go that nobody wants */
    struct given *givens;
    uint32_t given_count, given_capacity;
    size_t registers_nbytes; /* of all these */
    size_t parameters_nbytes, locals_nbytes;
    size_t copy_offset; /* where among the locals the copy of its inputs begins, */
    bool copies_inputs; /* because the function takes the address of one */
};

/* ---- running */

struct frame {
    struct frame *caller; /* NULL: the kernel's */
    struct frame *next;   /* in the warp's list: the kernel's is the last */
    const struct function *function;
    const struct layout *layout;
    const struct code *call;   /* that entered it */
    uint32_t lanes;            /* still inside */
    uint64_t local_base;       /* of its locals in each lane's local memory */
    unsigned char *registers;
    unsigned char *parameters; /* lane after lane, layout->parameters_nbytes each */
};

enum path_state { PATH_READY, PATH_PARTED, PATH_AT_WARP_BARRIER, PATH_AT_COLLECTIVE, PATH_AT_BARRIER };

struct path {
    struct path *parent;
    struct path *next, *previous; /* in the warp's list of leaves */
    struct frame *frame;
    uint32_t mask; /* its lanes that have not left: in itself and in its children */
    uint32_t pc;   /* of an inner node: where it goes on */
    uint32_t reconvergence; /* it has arrived when its pc is this */
    uint32_t children;
    enum path_state state;
    bool is_callee; /* the root of a called function: `ret` leads to its parent */
    uint32_t waiting_lanes; /* those that execute what it waits at */
    uint32_t barrier;       /* PATH_AT_BARRIER */
};

struct warp {
    struct block *block;
    uint32_t index;
    uint32_t live; /* lanes that have not exited */
    struct path *leaves;
    struct path *free_paths;
    unsigned char *local;   /* lane after lane, local_capacity each */
    size_t local_capacity;
    struct frame *frames;
    size_t frames_nbytes; /* of them, to limit recursion */
    uint64_t spinning;    /* instructions since a path last arrived, waited or left */
};

enum { BARRIERS = 16 };

struct barrier {
    uint32_t arrived;  /* threads */
    uint32_t expected; /* threads; 0: all that live */
    uint32_t pc;       /* of the last to arrive */
    uint32_t *lanes;   /* of each warp: those that took part */
    bool is_used;
    uint32_t all, any, count; /* of bar.red's predicate */
};

struct block {
    simt_block_view view;
    struct launch *launch;
    struct block *next; /* in a worker's list of those begun */
    struct warp *warps;
    uint32_t warp_count;
    uint32_t live_threads;
    simt_tally tally;
    unsigned char *shared;
    unsigned char *shared_written; /* a byte for each: 0xff once written; NULL where nobody asks */
    unsigned char *states;         /* of the observers */
    struct barrier barriers[BARRIERS];
    uint32_t *barrier_lanes; /* a row for each barrier, and one for that which is just complete */
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

struct launch {
    const simt_launch *request;
    struct simt_machine *machine;
    const struct image *image;
    const struct function *function;
    const struct layout *layout;
    simt_launch_view view;
    simt_report *report;
    struct allocation *workspace; /* that cooperative groups find by %envreg1 and 2: the grid's barrier */
    unsigned char *parameters;    /* the kernel's */
    size_t parameters_nbytes;
    uint64_t block_count;
    atomic_uint_fast64_t next_block;
    atomic_bool stopped;
    atomic_bool out_of_memory;
    pthread_mutex_t lock; /* observers' launch states, printing */
    unsigned char **launch_states;
    size_t states_nbytes;
    struct hooks instruction, branch, access, shuffle, warp_barrier, barrier, fence, finding, all;
    bool needs_initialised;
};

struct simt_machine {
    uint32_t warp_size, banks;
    struct memory memory;
    struct image *images;
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
uint64_t simt_variable_address(const struct image *image, const struct variable *variable);
const struct layout *simt_layout(const struct image *image, const struct function *function);
bool simt_decode(struct image *image, const struct function *function); /* false: no memory */
uint64_t simt_function_address(const struct image *image, const struct function *function);
const struct function *simt_function_at(const struct image *image, uint64_t address); /* NULL: none */

/* special.c: special registers, by number */
bool simt_special_find(const char *name, enum width *width, uint64_t *number); /* false: there is none such */
bool simt_special_is_of_block(uint64_t number); /* the same for all its lanes, another for each block */
uint64_t simt_special_value(const struct warp *warp, uint64_t number, uint32_t lane);

/* given.c */
struct given *simt_given_find(struct layout *layout, const struct given *given); /* or adds it; NULL: no memory */
void simt_givens_begin_frame(const struct warp *warp, const struct frame *frame);
void simt_givens_begin_block(const struct warp *warp, const struct frame *frame); /* those that blocks differ in */
uint64_t simt_extend(uint64_t value, uint32_t nbytes); /* the sign, from so many bytes */

/* What instructions do.  execute_*.c; each decodes the instructions of its names, too, by the list at its end:
 * decode fills `code` and returns false if it does not know the instruction. */
struct decoder {
    struct image *image;
    const struct function *function;
    struct layout *layout;
    const struct instruction *instruction;
    uint32_t pc;
    bool out_of_memory;
};
typedef bool decode_function(struct decoder *decoder, struct code *code);
struct instruction_kind {
    const char *base;
    decode_function *decode;
};
extern const struct instruction_kind simt_control_kinds[], simt_memory_kinds[], simt_warp_kinds[],
    simt_barrier_kinds[], simt_move_kinds[];

/* decode.c, for them: */
bool simt_has(const struct instruction *instruction, const char *modifier);
enum type simt_last_type(const struct instruction *instruction); /* the last modifier that is a type's name */
/* The slot of a register, a special register, an immediate or a fixed address, as `type` reads it.  false: it is
 * none of them. */
bool simt_operand(struct decoder *decoder, const struct operand *operand, enum type type, slot *result);
bool simt_given(struct decoder *decoder, struct given given, slot *result);
/* The width of a register; of anything else `otherwise`. */
enum width simt_operand_width(const struct decoder *decoder, const struct operand *operand, enum width otherwise);
bool simt_address(struct decoder *decoder, const struct operand *operand, struct address_code *address);
bool simt_decode_lanes(struct decoder *decoder, struct code *code);

bool simt_decode_warp_barrier(struct decoder *decoder, struct code *code);

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
/* Lanes that wait for others at a post-dominator go on alone, from one such place: any, or one where they only
 * return.  false: there is none. */
bool simt_path_release_waiting(struct warp *warp, bool only_returns);

/* execute_warp.c, execute_barrier.c: what waits, looked at again when lanes have left */
void simt_collectives_check(struct warp *warp);
void simt_barriers_check(struct block *block);

/* access.c: the addresses that lanes give, of all of which some may not execute */
void simt_addresses(const struct path *path, const struct address_code *address, uint64_t addresses[SIMT_LANES]);

/* builtin.c: functions that the device runtime brings: vprintf, __assertfail, malloc, free */
typedef bool builtin_function(struct warp *warp, struct path *path, const struct code *code, uint32_t mask);
builtin_function *simt_builtin_find(const char *name);
bool simt_builtin_allocates(const struct simt_module *module);

/* Bytes of lane's memory at a generic address, if all `nbytes` of it are there; else NULL. */
unsigned char *simt_generic_bytes(const struct warp *warp, uint32_t lane, uint64_t address, size_t nbytes);

/* warp.c */
enum progress { PROGRESS_YES, PROGRESS_WAITING, PROGRESS_DONE };
enum progress simt_warp_run(struct warp *warp, uint64_t budget);

/* block.c */
struct block *simt_block_create(struct launch *launch);
bool simt_block_begin(struct block *block, uint64_t index);
void simt_block_end(struct block *block);
void simt_block_destroy(struct block *block);
bool simt_block_run(struct block *block, uint64_t budget); /* true: it has ended */

/* report.c */
simt_report *simt_report_create(void);

static inline simt_event simt_event_of(const struct warp *warp, const struct path *path, uint32_t mask) {
    return (simt_event){&warp->block->view, warp->index, path->pc, path->mask, mask};
}

static inline bool simt_is_stopped(const struct launch *launch) {
    return atomic_load_explicit(&launch->stopped, memory_order_relaxed);
}

void simt_launch_stop(struct launch *launch);
void simt_launch_no_memory(struct launch *launch);

#define SIMT_FOR_EACH_LANE(lane, mask)                                                                             \
    for (uint32_t rest_ = (mask), lane; rest_ && (lane = (uint32_t)__builtin_ctz(rest_), 1); rest_ &= rest_ - 1)

#define SIMT_TELL(launch_, block_, hook_, ...)                                                                     \
    do {                                                                                                           \
        const struct hook *of_ = (launch_)->hook_.hooks, *const end_ = of_ + (launch_)->hook_.count;               \
        for (; of_ < end_; of_++) of_->observer->hook_((block_)->states + of_->state, __VA_ARGS__);                \
    } while (0)

#endif
