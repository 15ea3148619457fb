/*
 * simt.h -- a SIMT machine: it executes the PTX of CUDA kernels warp by warp, without a GPU, and lets observers
 * count what the warps do.
 *
 * Usable alone: nothing here needs warpfold.h.  A program parses a module of PTX, creates a machine, allocates
 * and fills global memory, launches a kernel with observers, and reads the report:
 *
 *     simt_module_parse -> simt_machine_create -> simt_machine_allocate, _write -> simt_machine_launch
 *                       -> simt_report_count, simt_report_finding -> simt_machine_read
 *
 * The machine executes PTX, not SASS, and has no clock: it counts what the compiled kernel asks for, not how long
 * a chip takes.  Instructions that PTX defines as IEEE are bit-exact; approximate ones are computed accurately.
 *
 * Errors: functions return a simt_error and, where they take a simt_message, say in it what, where and what to do.
 * The library never prints, exits or aborts.  Whatever a kernel does, it touches only memory allocated here.
 * Threads: one machine is used by one thread at a time; machines are independent.  A module is read-only once
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
    SIMT_ERROR_SYNTAX,   /* the text is not PTX */
    SIMT_ERROR_COMPILE,  /* no compiler, or it refused the source */
    SIMT_ERROR_MEMORY,   /* the host has no memory left */
    SIMT_ERROR_STOPPED   /* the launch was stopped by what the report's findings name */
} simt_error;

/* What went wrong, as one sentence or, from a compiler, several lines. */
typedef struct simt_message {
    char text[4096];
} simt_message;

/* ---- modules */

typedef struct simt_module simt_module;

/* Parses `nbytes` of PTX.  `name` is what messages call it, a file's name say.  *module is the caller's, until
 * simt_module_destroy; NULL after an error. */
simt_error simt_module_parse(const char *ptx, size_t nbytes, const char *name, simt_module **module,
                             simt_message *message);
void simt_module_destroy(simt_module *module); /* NULL: nothing */

/* Kernels in the order of the text; names as the text spells them (mangled). */
size_t simt_module_kernel_count(const simt_module *module);
const char *simt_module_kernel_name(const simt_module *module, size_t kernel);

/* Parameters of a kernel: their count and the size in bytes of each. */
size_t simt_module_parameter_count(const simt_module *module, size_t kernel);
size_t simt_module_parameter_nbytes(const simt_module *module, size_t kernel, size_t parameter);

/* Bytes of shared memory that each block has without asking (static). */
size_t simt_module_shared_nbytes(const simt_module *module, size_t kernel);

/* ---- compiling */

/* Compiles CUDA C to PTX: with NVRTC, opened at run time, or with `nvcc -ptx` where the source has host code.
 * `options` are the compiler's own, NULL-terminated (NULL: none).  `instance`, if not NULL, is a kernel's name to be
 * compiled even if it is a template's, such as "reduce<int,512>"; *mangled is then its name in the PTX.  *ptx (NUL-
 * terminated) and *mangled are the caller's, to be freed with free().  No compiler, or one that refuses the
 * source: SIMT_ERROR_COMPILE, its words in the message. */
simt_error simt_compile(const char *path, const char *const *options, const char *instance, char **ptx,
                        char **mangled, simt_message *message);

/* ---- the machine */

typedef struct simt_machine simt_machine;

typedef struct simt_settings {
    uint32_t warp_size; /* lanes in a warp: 1, 2, 4 .. 32; 0: 32 */
    uint32_t banks;     /* banks of shared memory, 4 bytes wide each: 1, 2, 4 .. 32; 0: 32 */
} simt_settings;

simt_error simt_machine_create(const simt_settings *settings, simt_machine **machine); /* NULL: defaults */
void simt_machine_destroy(simt_machine *machine);                                      /* NULL: nothing */

/* Global memory, at device addresses aligned to 256 bytes, with a gap behind each allocation that no kernel may
 * touch.  It counts as uninitialised until written. */
simt_error simt_machine_allocate(simt_machine *machine, size_t nbytes, uint64_t *address);
simt_error simt_machine_write(simt_machine *machine, uint64_t address, const void *bytes, size_t nbytes);
simt_error simt_machine_read(const simt_machine *machine, uint64_t address, void *bytes, size_t nbytes);

/* ---- reports */

enum simt_finding_kind {
    SIMT_FINDING_RACE,
    SIMT_FINDING_BOUNDS,
    SIMT_FINDING_UNINITIALISED,
    SIMT_FINDING_BARRIER,    /* a barrier that not all can reach */
    SIMT_FINDING_MISALIGNED,
    SIMT_FINDING_RUNAWAY,    /* the limit of instructions was reached */
    SIMT_FINDING_UNSUPPORTED, /* an instruction that the machine does not know */
    SIMT_FINDING_SHUFFLE,    /* a shuffle that reads a lane which does not take part */
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
    uint64_t count;   /* how often it was met: findings of one kind at one instruction are one */
    char message[512];
    uint32_t ptx_line;
    bool has_other; /* a race: the access that it is with */
    const char *other_file;
    uint32_t other_line, other_ptx_line;
    uint32_t other_block[3];
    uint32_t other_thread[3];
} simt_finding;

typedef struct simt_report simt_report;

void simt_report_destroy(simt_report *report); /* NULL: nothing */

/* What the observers counted, by name, in the order in which they reported.  `value` of a name that no observer
 * reported is `otherwise`. */
size_t simt_report_count_count(const simt_report *report);
const char *simt_report_count_name(const simt_report *report, size_t index);
double simt_report_count_value(const simt_report *report, const char *name, double otherwise);

/* Findings in the order in which they were first met. */
size_t simt_report_finding_count(const simt_report *report);
const simt_finding *simt_report_finding(const simt_report *report, size_t index);

/* What is counted of a place.  Summed over the places, each is the count of its name (simt_report_count_value). */
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

/* Of each line of the source, by file and line; of each instruction of the PTX, in its order.  Places that were
 * never reached are left out.  None unless simt_observe_lines, which costs time, was among the observers. */
size_t simt_report_line_count(const simt_report *report);
const simt_line *simt_report_line(const simt_report *report, size_t index);
size_t simt_report_instruction_count(const simt_report *report);
const simt_line *simt_report_instruction(const simt_report *report, size_t index);

/* One instruction that a warp executed. */
typedef struct simt_moment {
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
} simt_moment;

/* The last instructions of a warp before a finding, the finding's own at the end. */
typedef struct simt_replay {
    size_t finding; /* its index */
    bool is_other;  /* the warp that a race is with, in the same block; its own last access may be long past */
    uint32_t block[3];
    uint32_t warp;  /* in its block: its threads begin at warp * warp size, x fastest */
    size_t moment_count;
    const simt_moment *moments;
} simt_replay;

/* Of the first findings, in their order: the warp that was found, then the other.  None unless
 * simt_observe_replay was among the observers. */
size_t simt_report_replay_count(const simt_report *report);
const simt_replay *simt_report_replay(const simt_report *report, size_t index);

/* ---- launching */

typedef enum simt_schedule {
    SIMT_LOCKSTEP, /* lanes stay together until a branch parts them, and meet again at its post-dominator */
    SIMT_SPLIT,    /* the lanes of a warp run apart wherever nothing synchronises them, in order of the lane */
    SIMT_RANDOM    /* lanes part and warps take turns at random, by the seed */
} simt_schedule;

struct simt_observer; /* observer.h */

typedef struct simt_launch {
    const simt_module *module;
    size_t kernel;
    uint32_t grid[3], block[3];    /* 0 counts as 1 */
    size_t shared_nbytes;          /* dynamic shared memory of each block */
    const void *const *arguments;  /* one for each parameter, of its size */
    simt_schedule schedule;
    uint64_t seed;                 /* of SIMT_RANDOM */
    uint64_t instruction_limit;    /* warp instructions that one block may execute; 0: 2^28 */
    uint32_t threads;              /* host threads that execute blocks; 0: one for each processor */
    /* Observers, NULL-terminated; NULL: none.  simt_observers lists all that come with the machine. */
    const struct simt_observer *const *observers;
    void *context; /* for observers of the caller's own: simt_launch_view.context */
    /* Takes what the kernel prints (text, not NUL-terminated), one call at a time.  NULL: it is dropped. */
    void (*print)(void *context, const char *text, size_t nbytes);
    void *print_context;
} simt_launch;

/* Executes the grid and waits for it.  *report, if asked for, is the caller's, to be destroyed even after an
 * error; NULL where nothing ran.  SIMT_ERROR_STOPPED: a finding stopped the launch (all but races and shuffles
 * do), and memory is as it was left then. */
simt_error simt_machine_launch(simt_machine *machine, const simt_launch *launch, simt_report **report,
                               simt_message *message);

/* Every observer that comes with the machine but two, NULL-terminated, and those that only count. */
extern const struct simt_observer *const simt_observers[];
extern const struct simt_observer *const simt_counters[];

/* The two: they cost more than the rest together, and fill simt_report_line and simt_report_replay.  The replay
 * stands first in a list, before whoever finds. */
extern const struct simt_observer simt_observe_lines, simt_observe_replay;

#ifdef __cplusplus
}
#endif

#endif
