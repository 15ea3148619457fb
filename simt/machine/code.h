/* Decoded instructions: what executes one, where its operands are, and how a function's frame is laid out. */
#ifndef SIMT_CODE_H
#define SIMT_CODE_H

#include "lanes.h"
#include "matrix.h"
#include "ptx/ptx.h"
#include "simt_observer.h"

struct warp;
struct path;
struct code;

/* The effect of an instruction on its path. */
enum outcome {
    OUTCOME_NEXT,  /* the path continues with the next instruction */
    OUTCOME_MOVED, /* the path continues at its pc, which was set */
    OUTCOME_LEFT   /* the path has parted, waits or is gone, or the launch was stopped */
};

struct collective;
typedef void collective_function(struct collective *collective); /* execute_warp.c */
typedef enum outcome execute_function(struct warp *warp, struct path *path, const struct code *code, uint32_t mask);

enum { VECTOR_MAX = 8 };

/* The address operand of a memory instruction: register or variable, and a constant. */
struct address_code {
    slot base;
    bool has_base;
    bool is_wide;        /* the base has 64 bits; 32-bit addresses wrap */
    bool is_frame;       /* relative to the frame: its local variables or parameters */
    bool is_local;       /* relative to the frame's local variables */
    bool is_kernel_parameter;
    uint64_t offset;
};

/* Elements of one lane, in a register each: those of a vector in memory, or the parts of a wider register. */
struct vector_code {
    uint8_t element_nbytes, count;
    uint8_t sinks; /* a bit for each element that is discarded */
    slot slots[VECTOR_MAX];
    enum width widths[VECTOR_MAX];
};

/* A load, a store or an atomic. */
struct memory_code {
    struct address_code address;
    const struct variable *array; /* of shared memory, whose bytes alone it may access; NULL: any */
    uint32_t array_begin, array_nbytes;
    enum simt_space space;
    bool is_generic;
    bool is_signed; /* a load extends the sign into a wider register */
    enum simt_order order;
    struct vector_code vector;    /* of an atomic, whose operands are in code.call, only the size */
    bool has_result, has_compare; /* an atomic */
    bool may_take;                /* a lock: its operands and what it has found are known after it */
    scalar_function *scalar;      /* what an atomic does */
};

/* What a surface has outside of it: nothing that may be asked for, the nearest inside, zeros that stay so. */
enum simt_boundary { SIMT_BOUNDARY_TRAP, SIMT_BOUNDARY_CLAMP, SIMT_BOUNDARY_ZERO };

/* A fetch from a texture, or an access to a surface, whose handle `memory.address` is.  Its coordinates are in code.call.slots, its results
 * memory.vector. */
struct texture_code {
    struct memory_code memory;
    uint8_t rank;
    bool has_layer, is_float, is_integer; /* is_float: its results; is_integer: its coordinates */
    bool is_cube, has_cubes; /* three coordinates are a direction; a layer of cubes follows */
    bool has_level, has_gradient; /* a level of detail is given, or what it is found from */
    bool is_packed;               /* results are pairs of f16 */
    bool takes_four;              /* results are a channel of the four texels that would be filtered */
    uint8_t channel;              /* which */
    enum simt_boundary boundary;          /* of a surface */
    bool is_formatted;                    /* sust.p and sured.p: values and coordinates are those of texels */
    scalar_function *of_signed;           /* sured.p: the operation, for texels that have a sign */
};

/* An operation on an mbarrier.  Its operand is a count of arrivals or bytes, a parity or a state; its slot and that of the
 * result, in code.call.slots, are numbered in execute_mbarrier.c. */
enum mbarrier_kind { MBARRIER_INITIALISE, MBARRIER_INVALIDATE, MBARRIER_ARRIVE, MBARRIER_COUNT, MBARRIER_WAIT };
struct mbarrier_code {
    struct memory_code memory;
    enum mbarrier_kind kind;
    bool has_value, has_result;
    bool drops, expects, may_not_complete; /* an arrival */
    bool is_complete;                      /* of bytes, not their announcement */
    bool is_parity, is_unheeded;           /* a wait; nothing is made of its result */
    bool is_of_copies, is_extra;           /* cp.async.mbarrier.arrive, which counts as pending itself */
};

/* An asynchronous copy, to `memory.address`.  Its operands are in code.call.slots[]. */
struct copy_code {
    struct memory_code memory; /* of a tensor's, the address in shared memory, either way */
    struct address_code source, mbarrier;
    enum simt_space from, to;
    enum simt_engine engine;
    scalar_function *scalar; /* a reduction's */
    uint8_t element_nbytes;  /* of a reduction */
    bool has_size, is_ignored, is_ignored_negated, is_multicast;
    const char *operation; /* a tensor's, whose map, at `source`, has the type; NULL: none */
    uint32_t rank;
    bool is_im2col, has_offsets;
    slot offsets[3]; /* of pixels, in each dimension of space: 16 bits */
};

/* tensormap.replace: the field's place in a simt_tensor_map.  The value is in code.call.slots[0].  tensormap.cp_fenceproxy: the
 * address that is copied from, in shared memory. */
struct tensor_field_code {
    struct memory_code memory;
    struct address_code source;
    uint8_t place, nbytes; /* nbytes 0: it has only one value */
    uint8_t added;         /* to the value, which counts from 0 */
    bool is_step;
};

struct copy_group_code {
    enum simt_engine engine;
    bool is_wait, is_read, commits;
    uint32_t pending;
};

/* A move of the address of a variable, into the window of its space. */
struct address_move_code {
    struct address_code address;
    uint64_t window;
};

/* A lane operation of which one source is the opposite of a predicate. */
struct negated_code {
    lane_function *lanes;
    slot predicate, opposite;
};

struct collective_code {
    collective_function *function;
    scalar_function *scalar; /* a reduction's */
    char mode;               /* of shuffles, votes and matches, by execute_warp.c */
    bool may_stop;           /* the launch: one that accesses memory */
    bool has_result, has_predicate;
    bool is_negated; /* the predicate that is voted on */
};

/* A matrix instruction, which is collective.  Of a load or a store `memory` is one access of each lane: of a register's
 * elements, or one of them. */
struct matrix_code {
    struct memory_code memory;
    struct matrix_shape shape;
    slot registers[MATRIX_ROLES][FRAGMENT_REGISTERS_MAX];
    slot stride; /* in elements */
    bool has_stride;
    slot metadata; /* mma.sp */
    uint8_t selector;
};

/* wgmma.mma_async: the descriptors of a and b, and whether d is added, are in code.call.slots[]. */
struct wgmma_code {
    struct wgmma_shape shape;
    bool a_is_in_registers, is_negative; /* the product is */
    bool a_is_transposed, b_is_transposed;
    uint8_t selector; /* wgmma.sp */
};

enum barrier_reduction { REDUCE_NOTHING, REDUCE_COUNT, REDUCE_AND, REDUCE_OR };

struct barrier_code {
    bool is_arrival; /* does not wait */
    bool is_aligned; /* whole warps execute it */
    bool is_counted; /* names the number of threads */
    bool is_negated; /* the predicate that is reduced */
    enum barrier_reduction reduction;
};

/* Members that every step needs come first, in one cache line of the host. */
struct code {
    _Alignas(64) lane_function *lanes; /* does it all; NULL: `execute` does */
    execute_function *execute;
    struct lane_call call; /* its operands */
    slot guard;
    uint8_t straight; /* length of the run from here on of lane operations that have no guard and end no path */
    bool has_guard, guard_is_negated;
    bool is_approximate;

    bool is_branch;              /* executed even if no lane takes part */
    bool is_synchronising;       /* lanes that a schedule has parted meet here */
    bool is_reconvergence_point; /* a post-dominator: paths may end here */
    bool is_lane_operation, reads_carry, writes_carry; /* registers from registers, */
    uint8_t destinations;                              /* the first of which it writes */
    enum width widths[LANE_SLOTS_MAX]; /* of the registers of operands, where `execute` needs them */
    uint32_t reconvergence;
    const struct instruction *instruction;
    struct collective_code collective; /* of what the lanes of a warp do together */
    lane_function *watched_lanes;      /* what `execute` does after it has looked at registers of wgmma (warpgroup.c), */
    execute_function *watched_execute; /* or this */

    union { /* by the kind of instruction */
        struct memory_code memory;
        struct vector_code parts; /* of a move that packs or unpacks */
        struct address_move_code address_move;
        struct negated_code negated;
        struct tensor_field_code tensor_field;
        struct matrix_code matrix;
        struct wgmma_code wgmma;
        uint32_t pending; /* groups of wgmma that need not be done */
        struct texture_code texture;
        struct {
            struct address_code address;
            slot result, level;
            uint8_t number;
            bool is_surface, has_level;
        } query; /* what a texture is */
        struct barrier_code barrier;
        uint32_t target; /* of a branch */
        struct {
            const struct function *function; /* NULL: its address is in a register */
            uint32_t place; /* of the callee among the operands: 1 if there are results, else 0 */
        } callee;
        struct {
            uint8_t shift; /* of the count of instructions */
            bool is_narrow;
        } clock;
        struct {
            uint64_t window; /* 0: global or constant memory */
            bool is_constant;
        } space_test;
        struct {
            uint64_t alignment; /* of what alloca takes */
        } stack;
        struct {
            bool is_beyond_block;
        } fence;
        struct {
            bool of_shared, of_global;
        } proxy_fence;
        struct mbarrier_code mbarrier;
        struct copy_code copy;
        struct copy_group_code copy_group;
        struct {
            bool is_arrival;
            enum simt_order order;
        } cluster_barrier;
        bool is_of_shared; /* mapa and getctarank: addresses in shared memory, not generic ones */
    };
};

/* The address of a variable within its space. */
struct placed {
    const struct variable *variable;
    uint64_t address;
};

/* A module prepared for a simulator: its instructions decoded, its variables in memory. */
struct image {
    struct image *next;
    const struct simt_module *module;
    const struct function *kernel; /* whose static shared variables these are */
    uint32_t device;               /* whose global variables they are */
    struct code *codes;
    struct layout *layouts; /* of module->functions */
    struct placed *placed;  /* a hash table of variables */
    size_t placed_capacity;
    size_t shared_nbytes;   /* of the static variables */
    size_t dynamic_offset;  /* where the dynamic shared variables begin */
    bool has_reserved;      /* the kernel asks where the shared memory is that is kept for the system */
};

/* A constant, special register or kernel parameter that instructions read.  The frame holds it like a
 * register and it is filled in when the frame begins, so that every operand is one offset. */
enum preset_kind { PRESET_CONSTANT, PRESET_SPECIAL, PRESET_PARAMETER };

struct preset {
    enum preset_kind kind;
    enum width width;
    uint64_t bits;  /* the constant; the number of the special register; the kernel's parameter's first byte */
    uint8_t nbytes; /* of a parameter */
    bool is_signed; /* a parameter whose sign is extended into a wider register */
    slot slot;
};

/* The layout of a function's frame: registers and variables. */
struct layout {
    slot *registers;
    slot carry, sink; /* the carry flag, and where unused results go */
    struct preset *presets;
    uint32_t preset_count, preset_capacity;
    size_t registers_nbytes; /* of all these */
    size_t parameters_nbytes, locals_nbytes;
    size_t copy_offset; /* where among the locals the copy of its inputs begins, */
    bool copies_inputs; /* because the function takes the address of one */
};

#endif
