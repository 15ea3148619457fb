/*
 * simt.h -- a SIMT simulator: it executes the PTX of CUDA kernels warp by warp, without a GPU, and lets observers
 * count what the warps do.
 *
 * Usable alone: nothing here needs warpfold.h.  A program parses a module of PTX, creates a simulator (a simt_machine),
 * allocates and fills global memory, launches a kernel with observers, and reads the report:
 *
 *     simt_module_parse -> simt_machine_create -> simt_machine_allocate, _write -> simt_machine_launch
 *                       -> simt_report_counter_value, simt_report_finding -> simt_machine_read
 *
 * The simulator executes PTX, not SASS, and has no clock: it counts what the compiled kernel asks for, not how long
 * hardware takes.  Instructions that PTX defines as IEEE are bit-exact; approximate ones are computed accurately.
 *
 * Errors: functions return a simt_error and, where they take a simt_message, say in it what, where and what to do.
 * The library never prints, exits or aborts.  Whatever a kernel does, it touches only memory allocated here.
 * Threads: one simulator is used by one thread at a time; simulators are independent.  A module is read-only once
 * parsed and can be shared.
 */
#ifndef SIMT_H
#define SIMT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum simt_error {
    SIMT_OK = 0,
    SIMT_ERROR_ARGUMENT, /* the call is wrong: a size, a name, an address */
    SIMT_ERROR_SYNTAX,   /* the text is not PTX, or not as ptxas would take it */
    SIMT_ERROR_COMPILE,  /* no compiler, or it refused the source */
    SIMT_ERROR_MEMORY,   /* the host has no memory left */
    SIMT_ERROR_STOPPED,  /* the launch was stopped: by what the report's findings name, or by an observer */
    SIMT_ERROR_LOST      /* threads did not end although nothing stopped them: a defect of the simulator */
} simt_error;

/* An error message: one sentence or, from a compiler, several lines. */
typedef struct simt_message {
    char text[4096];
} simt_message;

/* ---- modules */

typedef struct simt_module simt_module;

/* Parses `nbytes` of PTX.  `name` is what messages call it, a file's name for example.  The caller owns
 * *module and releases it by simt_module_destroy; it is NULL after an error. */
simt_error simt_module_parse(const char *ptx, size_t nbytes, const char *name, simt_module **module,
                             simt_message *message);
void simt_module_destroy(simt_module *module); /* NULL: nothing */

/* Kernels in the order of the text; names as the text spells them (mangled). */
size_t simt_module_kernel_count(const simt_module *module);
const char *simt_module_kernel_name(const simt_module *module, size_t kernel);

/* Parameters of a kernel: their count and the size in bytes of each. */
size_t simt_module_parameter_count(const simt_module *module, size_t kernel);
size_t simt_module_parameter_nbytes(const simt_module *module, size_t kernel, size_t parameter);

/* Where a parameter begins in the bytes of all of them, laid out as the PTX says. */
size_t simt_module_parameter_offset(const simt_module *module, size_t kernel, size_t parameter);

/* Bytes of shared memory that each block has without asking (static). */
size_t simt_module_shared_nbytes(const simt_module *module, size_t kernel);

/* ---- compiling */

/* What compiling would leave behind if the process ended in the middle of it, so that the caller can remove it, on a
 * signal say: folders with temporary files, and a compiler, which then leads a process group of its own.  `hold`
 * comes before something is made and after it has been told. */
typedef struct simt_leftovers {
    void (*hold)(void *context, bool is_held);
    void (*folder)(void *context, const char *path, bool is_there);
    void (*group)(void *context, int leader, bool is_there);
    void *context;
} simt_leftovers;

typedef struct simt_header {
    const char *name, *text;
} simt_header;

typedef struct simt_source {
    const char *path;                /* of the file; of a text, what places in it are named by */
    const char *text;                /* NULL: the file's */
    const simt_header *headers;      /* files next to a text, ended by one without a name; NULL: none */
    const char *const *options;      /* the compilers' own, up to NULL; NULL: none */
    const char *instance;            /* a kernel to be compiled even if it is a template's: "reduce<int,512>" */
    const simt_leftovers *leftovers; /* NULL: nobody wants to know */
} simt_source;

/* Compiles CUDA C to PTX: with NVRTC, opened at run time, or with `nvcc -ptx` where the source has host code, which
 * sees no name but those of a private folder: it hands names to a shell.  *ptx (NUL-terminated) and *mangled, the
 * instance's name in it (NULL without an instance, and then `mangled` may be), are the caller's, to be freed with
 * free().  No compiler, or one that refuses the source: SIMT_ERROR_COMPILE, its words in the message, in lines. */
simt_error simt_compile(const simt_source *source, char **ptx, char **mangled, simt_message *message);

/* Compiles a whole CUDA program, host code and all, by nvcc with the source's options, and links it.  *program, an
 * executable file of this machine of *nbytes, is the caller's, to be freed with free(). */
simt_error simt_compile_program(const simt_source *source, void **program, size_t *nbytes, simt_message *message);

/* ---- the simulator */

typedef struct simt_machine simt_machine;

typedef struct simt_settings {
    uint32_t warp_size; /* lanes in a warp: 1, 2, 4 .. 32; 0: 32 */
    uint32_t banks;     /* banks of shared memory, 4 bytes wide each: 1, 2, 4 .. 32; 0: 32 */
} simt_settings;

simt_error simt_machine_create(const simt_settings *settings, simt_machine **machine); /* NULL: defaults */
void simt_machine_destroy(simt_machine *machine);                                      /* NULL: nothing */

/* A simulator may have several devices, which share one address space.  From this call on, what is allocated, the
 * variables of modules, and launches are those of the device, 0 to SIMT_DEVICES - 1; its kernels reach its own memory
 * and that of its peers (a bit for each device), and any other device's is a finding.  Memory that the host uses, too,
 * is everybody's.  Without the call there is device 0 alone. */
#define SIMT_DEVICES 16
simt_error simt_machine_set_device(simt_machine *machine, uint32_t device, uint32_t peers);

/* Global memory, at device addresses aligned to 256 bytes, with a gap after each allocation that no kernel may
 * touch.  It counts as uninitialised until written. */
simt_error simt_machine_allocate(simt_machine *machine, size_t nbytes, uint64_t *address);
simt_error simt_machine_write(simt_machine *machine, uint64_t address, const void *bytes, size_t nbytes);
simt_error simt_machine_read(const simt_machine *machine, uint64_t address, void *bytes, size_t nbytes);

/* An address for memory that is allocated later, again and again, and freed in between; until then it is as if it had been
 * freed.  It counts as uninitialised each time. */
simt_error simt_machine_reserve(simt_machine *machine, size_t nbytes, uint64_t *address);
simt_error simt_machine_allocate_at(simt_machine *machine, uint64_t address);

/* The same, for memory that the host's own code may use at the same address: *pointer.  So that it can be, all of
 * it counts as written. */
simt_error simt_machine_allocate_shared(simt_machine *machine, size_t nbytes, void **pointer);

/* Makes memory of the caller's global memory, at a device address of its own.  It counts as written, and stays the
 * caller's, who may not take it away before simt_machine_free or _destroy. */
simt_error simt_machine_adopt(simt_machine *machine, void *bytes, size_t nbytes, uint64_t *address);

/* A tensor in global memory and the box of it that cp.async.bulk.tensor copies, as cuTensorMapEncodeTiled describes them:
 * dimension 0 is the innermost.  The box lies in shared memory with its rows one after another; a swizzle exchanges 16-byte
 * chunks within rows of 128 bytes. */
enum { SIMT_TENSOR_RANK_MAX = 5, SIMT_TENSOR_MAP_NBYTES = 128 };
enum { SIMT_SWIZZLE_NONE = 0, SIMT_SWIZZLE_32 = 1, SIMT_SWIZZLE_64 = 2, SIMT_SWIZZLE_128 = 3 };
typedef struct simt_tensor_map {
    uint64_t address;                            /* of the first element */
    uint64_t stride_bytes[SIMT_TENSOR_RANK_MAX]; /* that of dimension 0 is an element's size, whatever it says */
    uint64_t sizes[SIMT_TENSOR_RANK_MAX];        /* elements */
    uint16_t box[SIMT_TENSOR_RANK_MAX];          /* elements: 1 to 256 */
    uint8_t rank, swizzle;
    uint8_t element; /* the type, by its number in CUtensorMapDataType: 0 (u8) to 9 (bf16) */
} simt_tensor_map;

/* The map as kernels get it.  SIMT_ERROR_ARGUMENT: it breaks one of the rules that CUDA has for it. */
simt_error simt_tensor_map_encode(const simt_tensor_map *map, unsigned char bytes[SIMT_TENSOR_MAP_NBYTES],
                                  simt_message *message);

/* A texture or surface: rows of texels in global memory, as cudaCreateTextureObject describes them.  Its handle in kernels is the
 * address of its bytes, which are in global memory, too. */
enum { SIMT_TEXTURE_NBYTES = 128 };
enum { SIMT_TEXEL_SIGNED, SIMT_TEXEL_UNSIGNED, SIMT_TEXEL_FLOAT };
enum simt_texture_mode {
    SIMT_TEXTURE_WRAP,
    SIMT_TEXTURE_CLAMP,
    SIMT_TEXTURE_MIRROR,
    SIMT_TEXTURE_BORDER,
    SIMT_TEXTURE_CUBE /* of the layers of planes: each six are the faces of a cube, +x -x +y -y +z -z */
};
typedef struct simt_texture {
    uint64_t address;                  /* of the first texel */
    uint64_t row_nbytes, plane_nbytes; /* from a row to the next, and from a plane or a layer to the next */
    uint32_t sizes[3];                 /* texels; the last of those that `rank` counts is that of layers, if it has any */
    uint8_t rank;                      /* 1 to 3 */
    uint8_t channels, channel_nbytes, kind;
    uint8_t modes[3];                  /* a simt_texture_mode for each dimension, of coordinates outside */
    bool is_layered;
    bool is_linear;          /* filtered; else the nearest texel */
    bool is_normalised;      /* its coordinates: 1 is the size */
    bool is_normalised_read; /* integers are read as floats from 0 or -1 to 1 */
    bool is_surface;         /* for suld and sust, whose coordinates in a row are bytes; no modes */
    float border[4];
} simt_texture;

/* SIMT_ERROR_ARGUMENT: it breaks one of the rules that CUDA has for it. */
simt_error simt_texture_encode(const simt_texture *texture, unsigned char bytes[SIMT_TEXTURE_NBYTES],
                               simt_message *message);

/* Frees what one of these three gave, by its first address.  Addresses are never used again: a kernel that uses them
 * nevertheless has a finding that says so. */
simt_error simt_machine_free(simt_machine *machine, uint64_t address);

/* The address and size of a module's variable in global or constant memory, by its name in the PTX.  It is the same
 * for all kernels of the module on the device (of managed variables: on all), and has its initial value until somebody writes to it. */
simt_error simt_machine_variable(simt_machine *machine, const simt_module *module, const char *name,
                                 uint64_t *address, size_t *nbytes, simt_message *message);

/* ---- reports */

enum simt_finding_kind {
    SIMT_FINDING_RACE,
    SIMT_FINDING_BOUNDS,
    SIMT_FINDING_UNINITIALISED,
    SIMT_FINDING_BARRIER,    /* a barrier that not all can reach, an mbarrier that is used wrongly */
    SIMT_FINDING_MISALIGNED,
    SIMT_FINDING_RUNAWAY,    /* the limit of instructions was reached, or that of a thread's stack */
    SIMT_FINDING_UNSUPPORTED, /* an instruction that the simulator does not know */
    SIMT_FINDING_SHUFFLE,    /* a shuffle that reads a lane which does not take part; a shuffle, vote, match or
                                reduction by a lane that its own mask leaves out */
    SIMT_FINDING_TRAP        /* trap, or an assertion that failed */
};

/* "race", "bounds" ...: static. */
const char *simt_finding_kind_name(enum simt_finding_kind kind);

typedef struct simt_finding {
    enum simt_finding_kind kind;
    const char *kernel;
    const char *file; /* the source's where it was compiled with line information, else the module's name */
    uint32_t line;
    uint32_t block[3];
    uint32_t thread[3];
    uint64_t address; /* of memory findings, else 0; of shared memory its offset */
    uint64_t count;   /* how often it was met: findings of one kind at one line, or pair of lines, are one */
    char message[512];
    uint32_t ptx_line;
    bool has_other; /* a race: the access that it is with */
    const char *other_file;
    uint32_t other_line, other_ptx_line;
    uint32_t other_block[3];
    uint32_t other_thread[3];
} simt_finding;

/* What a report says of a finding besides. */
typedef struct simt_finding_detail {
    uint32_t threads;    /* that met it, by their numbers in a block */
    bool other_is_later; /* a race: in the program's order; else the other access comes first */
    const char *missing; /* a race: what would order the two, "__syncthreads()"; NULL: the message tells.  Static */
} simt_finding_detail;

typedef struct simt_report simt_report;

/* NULL, of a launch that did not run, is a report that holds nothing. */
void simt_report_destroy(simt_report *report);

/* What the observers counted, by name, in the order in which they reported.  `value` of a name that no observer
 * reported is `otherwise`. */
size_t simt_report_counter_count(const simt_report *report);
const char *simt_report_counter_name(const simt_report *report, size_t index);
double simt_report_counter_value(const simt_report *report, const char *name, double otherwise);

/* Findings in the order in which they were first met, but races by the order that they lack: that of a grid, of a
 * block, of a warp. */
size_t simt_report_finding_count(const simt_report *report);
const simt_finding *simt_report_finding(const simt_report *report, size_t index);
const simt_finding_detail *simt_report_finding_detail(const simt_report *report, size_t index);
/* How many pairs of lines race that are told as this finding, and the first and the last of their lines; 1 of
 * all else; 0: there is no such finding, and the lines stay as they are. */
uint32_t simt_report_finding_pairs(const simt_report *report, size_t index, uint32_t *first_line, uint32_t *last_line);

/* The counts of a place.  Summed over the places, each is the count of its name (simt_report_counter_value). */
#define SIMT_LINE_COUNTS(X)                                                                                       \
    X(instructions)                                                                                                \
    X(thread_instructions)                                                                                         \
    X(active_lanes)                                                                                                \
    X(branches)                                                                                                    \
    X(divergent_branches)                                                                                          \
    X(global_accesses)                                                                                             \
    X(global_requests)                                                                                             \
    X(global_sectors)                                                                                              \
    X(global_bytes)                                                                                                \
    X(shared_accesses)                                                                                             \
    X(shared_wavefronts)                                                                                           \
    X(shared_wavefronts_least)                                                                                     \
    X(atomics)                                                                                                     \
    X(shuffles)                                                                                                    \
    X(barriers)

/* What all blocks executed at a place. */
typedef struct simt_line {
    const char *file; /* as that of findings */
    uint32_t line;
    uint32_t ptx_line;  /* of the first instruction there */
    const char *opcode; /* of that one, with its modifiers */
#define SIMT_LINE_FIELD(name) uint64_t name;
    SIMT_LINE_COUNTS(SIMT_LINE_FIELD)
#undef SIMT_LINE_FIELD
    double bank_degree; /* the greatest that an access had; 0: there was none */
} simt_line;

/* Shared memory with one word of padding after every 16, 32, 64, 128, 256 words. */
#define SIMT_PADDINGS 5
#define SIMT_PADDED_WORDS(padding) (16u << (padding))

/* What a place might cost: the least sectors, had each access been to consecutive bytes; the least atomics, had each warp
 * first combined its lanes' of one address; barriers between which nothing was accessed. */
#define SIMT_LINE_LEASTS(X)                                                                                        \
    X(global_sectors_least)                                                                                        \
    X(atomics_least)                                                                                               \
    X(idle_barriers)

#define SIMT_STRIDE_VARIES UINT64_MAX
typedef struct simt_line_least {
#define SIMT_LINE_FIELD(name) uint64_t name;
    SIMT_LINE_LEASTS(SIMT_LINE_FIELD)
#undef SIMT_LINE_FIELD
    uint64_t shared_wavefronts_padded[SIMT_PADDINGS]; /* wavefronts, if the memory were padded so */
    uint64_t lane_stride; /* bytes from a lane's global access to the next lane's, of accesses with more sectors than neighbours'
                             at any address would need; 0: there are none; SIMT_STRIDE_VARIES: it is not the same for all */
} simt_line_least;

/* What the usual cures give of a place: branches that part a warp, if threads were numbered so that those of a block that go one
 * way come first; atomics, if each block first combined its threads' of one address. */
#define SIMT_LINE_CURES(X)                                                                                         \
    X(divergent_branches_packed)                                                                                   \
    X(atomics_by_block)

typedef struct simt_line_cures {
#define SIMT_LINE_FIELD(name) uint64_t name;
    SIMT_LINE_CURES(SIMT_LINE_FIELD)
#undef SIMT_LINE_FIELD
} simt_line_cures;

/* Rows of shared memory with one element of 4, 8 or 16 bytes of padding behind each. */
#define SIMT_ROW_PADDINGS 3
#define SIMT_ROW_PADDING_NBYTES(padding) (4u << (padding))
#define SIMT_ROW_VARIES UINT64_MAX

/* Rows of shared memory whose column a place accesses. */
typedef struct simt_line_rows {
    uint64_t nbytes;                        /* from lane to lane where banks conflict, or SIMT_ROW_VARIES; 0: they do not */
    uint64_t wavefronts[SIMT_ROW_PADDINGS]; /* of the place, if such rows were padded so */
    uint64_t scattered_wavefronts; /* more than the least: of accesses whose lanes have no distance in common, as data choose */
} simt_line_rows;

/* The counts of each line of the source, sorted by file and line, and of each instruction of the PTX, in its
 * order. Places that were never reached are left out.  None unless simt_observe_lines, which costs time, was
 * among the observers. */
size_t simt_report_line_count(const simt_report *report);
const simt_line *simt_report_line(const simt_report *report, size_t index);
const simt_line_least *simt_report_line_least(const simt_report *report, size_t index);
const simt_line_cures *simt_report_line_cures(const simt_report *report, size_t index);
const simt_line_rows *simt_report_line_rows(const simt_report *report, size_t index);
size_t simt_report_instruction_count(const simt_report *report);
const simt_line *simt_report_instruction(const simt_report *report, size_t index);

/* One instruction that a warp executed. */
typedef struct simt_trace_entry {
    const char *file;
    uint32_t line, ptx_line;
    uint64_t time;         /* warp instructions that the block had executed, with this one */
    uint32_t active, mask; /* the lanes that came here together, and those of them that executed it */
    uint32_t taken;        /* of a conditional branch: the lanes that jumped */
    bool is_branch;
    bool has_addresses;
    bool is_shared;           /* addresses: offsets in shared memory, else of global memory */
    uint32_t nbytes;          /* of each lane's access */
    uint32_t lanes;           /* that took part in it */
    uint64_t addresses[32];   /* of these */
} simt_trace_entry;

/* The last instructions of a warp before a finding, the finding's own at the end. */
typedef struct simt_replay {
    size_t finding; /* its index */
    bool is_other;  /* the warp that a race is with, in the same block; its own last access may be long past */
    uint32_t block[3];
    uint32_t warp;  /* in its block: its threads begin at warp * warp size, x fastest */
    size_t entry_count;
    const simt_trace_entry *entries;
} simt_replay;

/* Replays of the first findings, in their order: of the warp with the finding, then of the other one.  None unless
 * simt_observe_replay was among the observers. */
size_t simt_report_replay_count(const simt_report *report);
const simt_replay *simt_report_replay(const simt_report *report, size_t index);

/* Blocks of so many threads and bytes of shared memory that one multiprocessor of an H100 or H200 holds at a time, which has
 * room for 2048 threads and 32 blocks.  Registers, which PTX does not tell, may leave fewer. */
uint32_t simt_resident_blocks(uint32_t block_threads, size_t shared_nbytes);
/* The most bytes of shared memory of a block with which it holds so many; 0: it never does. */
size_t simt_shared_nbytes_of(uint32_t resident_blocks);

/* ---- launching */

typedef enum simt_schedule {
    SIMT_LOCKSTEP, /* lanes stay together until a branch parts them, and meet again at its post-dominator */
    SIMT_SPLIT,    /* the lanes of a warp run apart wherever nothing synchronises them, in order of the lane */
    SIMT_RANDOM    /* lanes part and warps take turns at random, by the seed */
} simt_schedule;

/* Where a launch is that has not ended for long: no verdict. */
typedef struct simt_notice {
    const char *kernel;
    const char *file; /* and line: NULL and 0 where they are not known */
    uint32_t line;
    uint32_t block[3], warp, lanes; /* that are there now, of a warp that has executed so many instructions */
    uint64_t instructions;
    bool polls;       /* most of what the warp does is to read memory until that changes, */
    uint64_t address; /* lastly there, if it is global; 0: none */
} simt_notice;

/* Has the function told once of each launch that takes longer than a second and a half, if its limit is above
 * SIMT_INSTRUCTION_LIMIT and it is seen in a warp that has long been at it.  NULL: nobody is. */
typedef void simt_notice_function(void *context, const simt_notice *notice);
void simt_machine_set_notice(simt_machine *machine, simt_notice_function *function, void *context);

struct simt_observer; /* simt_observer.h, for observers of your own */

/* What simt_launch.instruction_limit is where it is 0.  A launch that needs one instruction more is stopped,
 * with the finding SIMT_FINDING_RUNAWAY.  What takes long besides counts as instructions, too: each lane's
 * printf (1 for every 16 characters, and 8), malloc and free (32), and each time that a finding is met again
 * (1).  A grid whose blocks take longer to begin than that many instructions (16 each, and 1 for every 256
 * bytes of shared memory) is refused. */
#define SIMT_INSTRUCTION_LIMIT 4194304

typedef struct simt_launch {
    const simt_module *module;
    size_t kernel;
    uint32_t grid[3], block[3];    /* 0 counts as 1 */
    size_t shared_nbytes;          /* dynamic shared memory of each block */
    const void *const *arguments;  /* one for each parameter, of its size */
    simt_schedule schedule;
    uint8_t cluster[3];            /* blocks that see each other's shared memory; 0: as the kernel says */
    uint64_t seed;                 /* of SIMT_RANDOM */
    uint64_t instruction_limit;    /* warp instructions that the launch may execute; 0: SIMT_INSTRUCTION_LIMIT */
    uint32_t threads;              /* host threads that execute blocks; 0: one for each processor */
    /* Observers, NULL-terminated; NULL: none.  simt_observers lists all that come with the simulator. */
    const struct simt_observer *const *observers;
    void *context; /* for observers of the caller's own: simt_launch_view.context */
    /* Takes what the kernel prints (text, not NUL-terminated), one call at a time.  NULL: it is dropped. */
    void (*print)(void *context, const char *text, size_t nbytes);
    void *print_context;
} simt_launch;

/* Executes the grid and waits for it.  *report, if asked for, is the caller's, to be destroyed even after an
 * error; NULL where nothing ran.  SIMT_OK: every thread of every block has exited.  SIMT_ERROR_STOPPED: a finding
 * stopped the launch (all but races and shuffles do), and memory is as it was left then. */
simt_error simt_machine_launch(simt_machine *machine, const simt_launch *launch, simt_report **report,
                               simt_message *message);

/* Every observer that comes with the simulator but two, NULL-terminated, and those that only count. */
extern const struct simt_observer *const simt_observers[];
extern const struct simt_observer *const simt_counters[];

/* The two: they cost more than the rest together, and fill simt_report_line and simt_report_replay.  The replay
 * comes first in a list, before observers that record findings. */
extern const struct simt_observer simt_observe_lines, simt_observe_replay;

/* The ones of simt_observers that have the same names.  Stores of one value by several threads are races for the latter. */
extern const struct simt_observer simt_observe_uninitialised_going_on, simt_observe_all_races;

#ifdef __cplusplus
}
#endif

#endif
