/* simt.h -- a SIMT simulator: it executes the PTX of CUDA kernels warp by warp, without a GPU, and lets observers
 * count what the warps do.
 *
 * Usable alone: nothing here needs warpfold.h.  A program parses a module of PTX, creates a simulator (a
 * simt_machine), allocates and fills global memory, launches a kernel with observers, and reads the report:
 *
 *     simt_module_parse -> simt_machine_create -> simt_machine_allocate, _write -> simt_machine_launch
 *                       -> simt_report_counter_value, simt_report_finding -> simt_machine_read
 *
 * The simulator executes PTX, not SASS, and has no clock: it counts what the compiled kernel does, not how long
 * hardware takes.  Instructions that PTX defines as IEEE are bit-exact; approximate ones are computed accurately.
 *
 * Errors.  Functions return a simt_error and, if they take a simt_message, write to it what is wrong, where, and
 * what to do.  The library never prints, exits or aborts.  Whatever a kernel does, it touches only memory allocated
 * here.
 *
 * Threads.  A simulator serves one thread at a time; different ones may be used by different threads at once.  A
 * module is read-only once parsed and can be shared. */
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
    SIMT_ERROR_SYNTAX,   /* the text is not PTX that ptxas would accept */
    SIMT_ERROR_COMPILE,  /* no compiler, or it refused the source */
    SIMT_ERROR_MEMORY,   /* the host has no memory left */
    SIMT_ERROR_STOPPED,  /* the launch was stopped by one of the report's findings, or by an observer */
    SIMT_ERROR_LOST      /* threads did not end although nothing stopped them: a defect of the simulator */
} simt_error;

/* An error message: one sentence or, from a compiler, several lines. */
typedef struct simt_message {
    char text[4096];
} simt_message;

/* ---- modules */

typedef struct simt_module simt_module;

/* Parses `nbytes` of PTX.  `name` identifies it in messages, for example the name of a file.  The caller
 * owns *module and releases it with simt_module_destroy; it is NULL after an error. */
simt_error simt_module_parse(const char *ptx, size_t nbytes, const char *name, simt_module **module,
                             simt_message *message);
void simt_module_destroy(simt_module *module); /* NULL: nothing */

/* Kernels in the order of the text, numbered from 0, with their names as in the text (mangled).  Names belong to the
 * module.  For a number that is no kernel, or no parameter of it, the functions below that return a name, a count or a size
 * return NULL or 0. */
size_t simt_module_kernel_count(const simt_module *module);
const char *simt_module_kernel_name(const simt_module *module, size_t kernel);

/* Parameters of a kernel: their count and the size in bytes of each. */
size_t simt_module_parameter_count(const simt_module *module, size_t kernel);
size_t simt_module_parameter_nbytes(const simt_module *module, size_t kernel, size_t parameter);

/* What the kernel's own instructions, not those of functions that it calls, do with memory to which a parameter points.
 * Here and in simt_module_parameter_links, the kernel must be one of the module's. */
typedef struct simt_parameter_use {
    bool is_loaded, is_stored, is_updated; /* is_updated: by atomics */
    bool is_float;                         /* an access has a type of floats */
    bool is_index;                         /* its elements are used to calculate addresses, such as indices of a table */
    bool are_offsets;                      /* each element and the next are the begin and end of a range of indices */
    uint32_t element_nbytes;               /* the size of the smallest access; 0: there is none */
} simt_parameter_use;

bool simt_module_parameter_use(const simt_module *module, size_t kernel, size_t parameter,
                               simt_parameter_use *use); /* false: the host has no memory left */

/* Whether the elements are links of a list: each is the index of the next element. */
typedef struct simt_parameter_links {
    bool are_links;
    bool has_end; /* the kernel compares them with a number that ends the list */
    int64_t end;  /* that number, or a number below all links that lead on */
} simt_parameter_links;

bool simt_module_parameter_links(const simt_module *module, size_t kernel, size_t parameter,
                                 simt_parameter_links *links); /* false: the host has no memory left */

/* The offset of a parameter in the parameter buffer, laid out as PTX defines. */
size_t simt_module_parameter_offset(const simt_module *module, size_t kernel, size_t parameter);

/* Bytes of static shared memory of each block. */
size_t simt_module_shared_nbytes(const simt_module *module, size_t kernel);

/* The maximum number of threads in a block that the kernel declares (__launch_bounds__); 1024 if it declares none. */
uint32_t simt_module_block_threads(const simt_module *module, size_t kernel);

/* ---- compiling */

/* What compiling would leave behind if the process ended in the middle of it: folders with temporary files, and a
 * compiler, which leads a process group of its own.  The callbacks tell the caller, so that it can clean up, for example
 * on a signal.  hold(context, true) is called before something is created, and hold(context, false) once it has been
 * reported: in between, the caller must not be ended. */
typedef struct simt_leftovers {
    void (*hold)(void *context, bool is_held);
    void (*folder)(void *context, const char *path, bool is_there);
    void (*group)(void *context, int leader, bool is_there);
    void *context;
} simt_leftovers;

typedef struct simt_header {
    const char *name, *text;
} simt_header;

/* CUDA C to compile: a file, or a text. */
typedef struct simt_source {
    const char *path;                /* the file to read; if text is set, the text's name in messages and line information */
    const char *text;                /* NUL-terminated; NULL: the file is read */
    const simt_header *headers;      /* files that the text may include, ended by one without a name; NULL: none */
    const char *const *options;      /* for the compiler, NULL-terminated; NULL: none */
    const char *instance;            /* an instance of a template to compile: "reduce<int,512>"; NULL: none */
    const simt_leftovers *leftovers; /* NULL: not reported */
} simt_source;

/* Compiles CUDA C to PTX: with NVRTC, opened at run time, or, if the source has host code, with `nvcc -ptx`, which
 * works in a private folder, because it passes file names to a shell.  NVRTC's output is kept in a cache on disk
 * (docs/cuda.md).  The caller frees *ptx (NUL-terminated) and *mangled with free(); *mangled is the name of the
 * instance in the PTX (NULL without an instance; `mangled` may then be NULL).  SIMT_ERROR_COMPILE: there is no
 * compiler, or it rejects the source; the message contains its output. */
simt_error simt_compile(const simt_source *source, char **ptx, char **mangled, simt_message *message);

/* Compiles and links a whole CUDA program, including host code, with nvcc and the options of the source.  *program
 * is the executable, *nbytes long; the caller frees it with free(). */
simt_error simt_compile_program(const simt_source *source, void **program, size_t *nbytes, simt_message *message);

/* ---- the simulator */

typedef struct simt_machine simt_machine;

typedef struct simt_settings {
    uint32_t warp_size; /* lanes in a warp: 1, 2, 4 .. 32; 0: 32 */
    uint32_t banks;     /* banks of shared memory, 4 bytes wide each: 1, 2, 4 .. 32; 0: 32 */
} simt_settings;

simt_error simt_machine_create(const simt_settings *settings, simt_machine **machine); /* NULL: defaults */
void simt_machine_destroy(simt_machine *machine);                                      /* NULL: nothing */

/* Two functions for many launches that each need the state of a new simulator: resetting one takes less time than creating
 * one.  simt_machine_prepare does for a kernel what its first launch would otherwise do.  simt_machine_reset frees all
 * memory allocated since the last simt_machine_prepare and gives the variables of all prepared kernels their initial values
 * again.  After an error the simulator can only be destroyed. */
simt_error simt_machine_prepare(simt_machine *machine, const simt_module *module, size_t kernel, simt_message *message);
simt_error simt_machine_reset(simt_machine *machine);

/* A simulator may have several devices, which share one address space.  This call selects the device (0 to
 * SIMT_DEVICES - 1) for later allocations, launches and module variables.  Kernels can access the memory of their
 * device and of its peers (a bit for each device); accessing that of another device is a finding.  Memory shared
 * with the host belongs to all devices.  Without this call, there is only device 0. */
#define SIMT_DEVICES 16
simt_error simt_machine_set_device(simt_machine *machine, uint32_t device, uint32_t peers);

/* Gives the variables of the selected device their initial values again, except managed ones, which all devices share. */
simt_error simt_machine_reset_variables(simt_machine *machine);

/* Allocates global memory, at a device address aligned to 256 bytes, with a gap after it that no kernel may access; writes
 * to it; reads it.  Memory counts as uninitialised until it is written.  SIMT_ERROR_ARGUMENT: the bytes are not all within
 * one allocation. */
simt_error simt_machine_allocate(simt_machine *machine, size_t nbytes, uint64_t *address);
simt_error simt_machine_write(simt_machine *machine, uint64_t address, const void *bytes, size_t nbytes);
simt_error simt_machine_read(const simt_machine *machine, uint64_t address, void *bytes, size_t nbytes);

/* If the nbytes bytes at the address begin with written ones and the rest was never written, the number of those written.
 * Otherwise (written bytes follow unwritten ones, or this is not recorded) nbytes. */
size_t simt_machine_written(const simt_machine *machine, uint64_t address, size_t nbytes);

/* Lets the kernels of more devices (a bit for each) access an allocation, given its first address.  Those of its own
 * device, and of devices that have that one as a peer, may access it anyway. */
simt_error simt_machine_share(simt_machine *machine, uint64_t address, uint32_t devices);

/* Reserves an address for memory that is repeatedly allocated there later and freed in between; until the first
 * allocation it counts as freed.  After each allocation it counts as uninitialised. */
simt_error simt_machine_reserve(simt_machine *machine, size_t nbytes, uint64_t *address);
simt_error simt_machine_allocate_at(simt_machine *machine, uint64_t address);

/* Reserves addresses, at which memory is mapped later, in whole pages; it may be mapped in several places.  At first no
 * device may access it: simt_machine_protect_pages sets which devices may read and write (a bit for each).  Every other
 * access is a finding.  The memory is freed when it has been destroyed and is mapped nowhere; simt_machine_free also unmaps
 * what is mapped in the reservation. */
enum { SIMT_PAGE_NBYTES = 1 << 21 };
typedef struct simt_pages simt_pages;
simt_error simt_pages_create(size_t nbytes, simt_pages **pages);
void simt_pages_destroy(simt_pages *pages); /* NULL: nothing */
simt_error simt_machine_reserve_pages(simt_machine *machine, size_t nbytes, uint64_t *address);
simt_error simt_machine_map_pages(simt_machine *machine, uint64_t address, size_t nbytes, const simt_pages *pages);
simt_error simt_machine_unmap_pages(simt_machine *machine, uint64_t address, size_t nbytes);
simt_error simt_machine_protect_pages(simt_machine *machine, uint64_t address, size_t nbytes, uint32_t readers,
                                      uint32_t writers);

/* Like simt_machine_allocate, for memory that host code may use at the same address, *pointer.  Since the host may
 * write it unseen, all of it counts as written. */
simt_error simt_machine_allocate_shared(simt_machine *machine, size_t nbytes, void **pointer);

/* Maps memory of the caller as global memory, at a device address of its own.  It counts as written.  The caller
 * still owns it and must keep it until simt_machine_free or _destroy. */
simt_error simt_machine_adopt(simt_machine *machine, void *bytes, size_t nbytes, uint64_t *address);

/* A tensor in global memory and the box that cp.async.bulk.tensor copies, as cuTensorMapEncodeTiled describes
 * them: dimension 0 is the innermost.  In shared memory, the rows of the box are contiguous; a swizzle exchanges
 * 16-byte chunks within rows of 128 bytes. */
enum { SIMT_TENSOR_RANK_MAX = 5, SIMT_TENSOR_MAP_NBYTES = 128, SIMT_TENSOR_TYPES = 13 };
enum { SIMT_SWIZZLE_NONE = 0, SIMT_SWIZZLE_32 = 1, SIMT_SWIZZLE_64 = 2, SIMT_SWIZZLE_128 = 3 };
typedef struct simt_tensor_map {
    uint64_t address;                            /* of the first element */
    uint64_t stride_bytes[SIMT_TENSOR_RANK_MAX]; /* that of dimension 0 is ignored: it is the size of an element */
    uint64_t sizes[SIMT_TENSOR_RANK_MAX];        /* elements */
    uint16_t box[SIMT_TENSOR_RANK_MAX];          /* elements: 1 to 256 */
    uint8_t rank, swizzle;
    uint8_t element; /* the type, by its number in CUtensorMapDataType: 0 (u8) to 12 (tf32, flushed) */
    /* The im2col modes, as cuTensorMapEncodeIm2col describes them, for 3 to 5 dimensions: channels, 1 to 3 of space, images.
     * A copy has box[1] rows (pixels, up to 1024) of box[0] elements (channels).  Its first pixel is at the coordinates, and
     * the others follow it within a bounding box: along spatial dimension d, counted from 0, in steps of box[2 + d] (up to
     * 8), from the lower corner to size - 1 + the upper corner, and then along the next dimension.  stride_bytes[0] holds the
     * corners, as signed numbers of 16, 8 or 5 bits for 1, 2 or 3 spatial dimensions: the lower ones from bit 0 on, the
     * upper ones from bit 32 on. */
    uint8_t is_im2col;
} simt_tensor_map;

/* Encodes the map in the form that kernels receive.  SIMT_ERROR_ARGUMENT: it breaks a rule of CUDA. */
simt_error simt_tensor_map_encode(const simt_tensor_map *map, unsigned char bytes[SIMT_TENSOR_MAP_NBYTES],
                                  simt_message *message);

/* A texture or surface: rows of texels in global memory, as cudaCreateTextureObject describes them.  Its handle in
 * kernels is the address of its encoded form, which is also in global memory. */
enum { SIMT_TEXTURE_NBYTES = 128 };
enum { SIMT_TEXEL_SIGNED, SIMT_TEXEL_UNSIGNED, SIMT_TEXEL_FLOAT };
enum simt_texture_mode {
    SIMT_TEXTURE_WRAP,
    SIMT_TEXTURE_CLAMP,
    SIMT_TEXTURE_MIRROR,
    SIMT_TEXTURE_BORDER,
    SIMT_TEXTURE_CUBE /* every six planes are the faces of a cube: +x -x +y -y +z -z */
};
typedef struct simt_texture {
    uint64_t address;                  /* of the first texel */
    uint64_t row_nbytes, plane_nbytes; /* distance between rows, and between planes or layers */
    uint32_t sizes[3];                 /* texels; of a layered texture, sizes[rank - 1] is the number of layers */
    uint8_t rank;                      /* 1 to 3 */
    uint8_t channels, channel_nbytes, kind;
    uint8_t modes[3];                  /* a simt_texture_mode for each dimension: how coordinates outside are treated */
    bool is_layered;
    bool is_linear;          /* linear filtering; otherwise the nearest texel */
    bool is_normalised;      /* coordinates are from 0 to 1 instead of to the size */
    bool is_normalised_read; /* integers are read as floats from 0 or -1 to 1 */
    bool is_surface;         /* for suld and sust, whose x coordinate is in bytes; no modes */
    float border[4];
} simt_texture;

/* How a texture of several levels is read: the level that a fetch requests, plus bias, is limited to least .. most. */
enum { SIMT_LEVELS_MAX = 32 };
typedef struct simt_mipmap {
    uint32_t level_count;
    bool is_linear; /* two levels are interpolated; otherwise the nearest */
    float bias, least, most;
} simt_mipmap;

/* Encodes the texture in the form whose address is its handle.  SIMT_ERROR_ARGUMENT: it breaks a rule of CUDA. */
simt_error simt_texture_encode(const simt_texture *texture, unsigned char bytes[SIMT_TEXTURE_NBYTES],
                               simt_message *message);
/* The same for mipmap->level_count levels.  bytes, which holds SIMT_TEXTURE_NBYTES for each, receives their encoded forms,
 * one after the other; the handle is the address of the first. */
simt_error simt_mipmap_encode(const simt_mipmap *mipmap, const simt_texture *levels, unsigned char *bytes,
                              simt_message *message);

/* Frees an allocation, given its first address.  Addresses are never reused, so that a later access by a kernel is a
 * finding that says so. */
simt_error simt_machine_free(simt_machine *machine, uint64_t address);

/* The address and size of a module's variable in global or constant memory, by its name in the PTX.  All kernels
 * of the module on a device (for managed variables: on all devices) share it.  It has its initial value until it
 * is written. */
simt_error simt_machine_variable(simt_machine *machine, const simt_module *module, const char *name,
                                 uint64_t *address, size_t *nbytes, simt_message *message);

/* ---- reports */

enum simt_finding_kind {
    SIMT_FINDING_RACE,
    SIMT_FINDING_BOUNDS,
    SIMT_FINDING_UNINITIALISED,
    SIMT_FINDING_BARRIER,    /* a barrier that not all threads can reach, or an mbarrier that is used incorrectly */
    SIMT_FINDING_MISALIGNED,
    SIMT_FINDING_RUNAWAY,    /* the limit of instructions was reached, or that of a thread's stack */
    SIMT_FINDING_UNSUPPORTED, /* an instruction that the simulator does not know */
    SIMT_FINDING_SHUFFLE,    /* a shuffle that reads a lane which does not take part; a shuffle, vote, match or
                                reduction by a lane that is not in its own mask */
    SIMT_FINDING_TRAP,       /* trap, or an assertion that failed */
    SIMT_FINDING_LEAK        /* memory that a kernel allocated and did not free, with no pointer to it left at the end */
};

/* The name of the kind: "race", "bounds" ...; "unknown" for a number that is no kind.  Static text. */
const char *simt_finding_kind_name(enum simt_finding_kind kind);

typedef struct simt_finding {
    enum simt_finding_kind kind;
    const char *kernel;
    const char *file; /* the source file if there is line information, otherwise the name of the module */
    uint32_t line;
    uint32_t block[3];
    uint32_t thread[3];
    uint64_t address; /* of the access; in shared memory, the offset; 0 for findings that are not about memory */
    uint64_t count;   /* occurrences: all of one kind at one line, or pair of lines, are one finding */
    char message[512];
    uint32_t ptx_line;
    bool has_other; /* a race: the other access follows */
    const char *other_file;
    uint32_t other_line, other_ptx_line;
    uint32_t other_block[3];
    uint32_t other_thread[3];
} simt_finding;

/* Further information about a finding. */
typedef struct simt_finding_detail {
    uint32_t threads;    /* different thread numbers within a block for which it occurred */
    bool other_is_later; /* a race: in program order; otherwise the other access comes first */
    const char *missing; /* a race: what would order the two, "__syncthreads()"; NULL: see the message.  Static */
} simt_finding_detail;

typedef struct simt_report simt_report;

/* A report of NULL, as from a launch that did not run, is an empty one for all functions below.  What they return belongs to
 * the report; NULL if the index is too large. */
void simt_report_destroy(simt_report *report);

/* The counters of the observers, by name, in the order in which they were reported.  The value of a name that no
 * observer reported is `otherwise`. */
size_t simt_report_counter_count(const simt_report *report);
const char *simt_report_counter_name(const simt_report *report, size_t index);
double simt_report_counter_value(const simt_report *report, const char *name, double otherwise);

/* Findings in the order of their first occurrence, except that races are sorted by the ordering that they lack:
 * between blocks, within a block, within a warp. */
size_t simt_report_finding_count(const simt_report *report);
const simt_finding *simt_report_finding(const simt_report *report, size_t index);
const simt_finding_detail *simt_report_finding_detail(const simt_report *report, size_t index);
/* The number of racing pairs of lines that this finding covers, and the first and the last of their lines; 1 for any
 * other kind.  0: there is no such finding, and the lines are unchanged. */
uint32_t simt_report_finding_pairs(const simt_report *report, size_t index, uint32_t *first_line, uint32_t *last_line);

/* The counts of a source line or instruction.  Their sums are the counters of the same names
 * (simt_report_counter_value). */
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

/* What all blocks executed at a source line or instruction. */
typedef struct simt_line {
    const char *file; /* as in simt_finding */
    uint32_t line;
    uint32_t ptx_line;  /* of the first instruction there */
    const char *opcode; /* of that instruction, with its modifiers */
#define SIMT_LINE_FIELD(name) uint64_t name;
    SIMT_LINE_COUNTS(SIMT_LINE_FIELD)
#undef SIMT_LINE_FIELD
    double bank_degree; /* the maximum over its accesses; 0: there were none */
} simt_line;

/* Shared memory with one word of padding after every 16, 32, 64, 128, 256 words. */
#define SIMT_PADDINGS 5
#define SIMT_PADDED_WORDS(padding) (16u << (padding))

/* What a line would cost at best: sectors, if each access were to consecutive bytes; atomics, if each warp first
 * combined those of its lanes to one address.  idle_barriers: barriers with no access since the previous one. */
#define SIMT_LINE_LEASTS(X)                                                                                        \
    X(global_sectors_least)                                                                                        \
    X(atomics_least)                                                                                               \
    X(idle_barriers)

#define SIMT_STRIDE_VARIES UINT64_MAX
typedef struct simt_line_least {
#define SIMT_LINE_FIELD(name) uint64_t name;
    SIMT_LINE_LEASTS(SIMT_LINE_FIELD)
#undef SIMT_LINE_FIELD
    uint64_t shared_wavefronts_padded[SIMT_PADDINGS]; /* wavefronts with each padding */
    /* Bytes between the global accesses of neighbouring lanes, in those accesses that need more sectors than consecutive
     * ones at any address would.  0: there are none; SIMT_STRIDE_VARIES: it varies. */
    uint64_t lane_stride;
} simt_line_least;

/* What the usual cures would achieve at a line: divergent branches, if the threads of a block were numbered so
 * that those that take one side come first; atomics, if each block first combined those of its threads to one
 * address. */
#define SIMT_LINE_CURES(X)                                                                                         \
    X(divergent_branches_packed)                                                                                   \
    X(atomics_by_block)

typedef struct simt_line_cures {
#define SIMT_LINE_FIELD(name) uint64_t name;
    SIMT_LINE_CURES(SIMT_LINE_FIELD)
#undef SIMT_LINE_FIELD
} simt_line_cures;

/* Rows of shared memory with one element of 4, 8 or 16 bytes of padding after each. */
#define SIMT_ROW_PADDINGS 3
#define SIMT_ROW_PADDING_NBYTES(padding) (4u << (padding))
#define SIMT_ROW_VARIES UINT64_MAX

/* Rows of shared memory, if a line accesses a column of them. */
typedef struct simt_line_rows {
    uint64_t nbytes;                        /* between lanes whose banks conflict, or SIMT_ROW_VARIES; 0: no conflict */
    uint64_t wavefronts[SIMT_ROW_PADDINGS]; /* with each padding of such rows */
    /* Wavefronts beyond the least, of accesses whose lanes have no common distance: their addresses depend on the data. */
    uint64_t scattered_wavefronts;
} simt_line_rows;

/* Bytes of global memory that a line stored, and how many of them another block had already stored with the same value. */
typedef struct simt_line_repeated {
    uint64_t stored, repeated;
} simt_line_repeated;

/* The counts of each source line, sorted by file and line, and of each PTX instruction, in order.  Those that were
 * never executed are omitted.  There are none unless simt_observe_lines, which costs time, was among the
 * observers. */
size_t simt_report_line_count(const simt_report *report);
const simt_line *simt_report_line(const simt_report *report, size_t index);
const simt_line_least *simt_report_line_least(const simt_report *report, size_t index);
const simt_line_cures *simt_report_line_cures(const simt_report *report, size_t index);
const simt_line_rows *simt_report_line_rows(const simt_report *report, size_t index);
const simt_line_repeated *simt_report_line_repeated(const simt_report *report, size_t index);
/* With simt_observe_barriers: the number of the line's barriers if all of them could be left out, otherwise 0. */
uint64_t simt_report_line_spare_barriers(const simt_report *report, size_t index);
/* The number of accesses that race with plain loads of the line, not counted as findings because the loaded values only
 * begin an update by atomicCAS(), which verifies them. */
uint64_t simt_report_line_guesses(const simt_report *report, size_t index);
size_t simt_report_instruction_count(const simt_report *report);
const simt_line *simt_report_instruction(const simt_report *report, size_t index);

/* One instruction that a warp executed. */
typedef struct simt_trace_entry {
    const char *file;
    uint32_t line, ptx_line;
    uint64_t time;         /* warp instructions that the block has executed, including this one */
    uint32_t active, mask; /* the lanes that reached it together, and those that executed it */
    uint32_t taken;        /* conditional branch: the lanes that jumped */
    bool is_branch;
    bool has_addresses;
    bool is_shared;           /* addresses are offsets in shared memory; otherwise global */
    uint32_t nbytes;          /* of each lane's access */
    uint32_t lanes;           /* that took part in the access */
    uint64_t addresses[32];   /* of those lanes */
} simt_trace_entry;

/* The last instructions of a warp up to and including the one with the finding. */
typedef struct simt_replay {
    size_t finding; /* its index */
    bool is_other;  /* the other warp of a race, in the same block; its racing access may be long past */
    uint32_t block[3];
    uint32_t warp;  /* in the block; its first thread is warp * warp size, x fastest */
    size_t entry_count;
    const simt_trace_entry *entries;
} simt_replay;

/* Replays of the first findings, in order: that of the warp with the finding, then that of the other one.  There
 * are none unless simt_observe_replay was among the observers. */
size_t simt_report_replay_count(const simt_report *report);
const simt_replay *simt_report_replay(const simt_report *report, size_t index);

/* The number of blocks with this many threads and bytes of shared memory that are resident on one multiprocessor
 * of an H100 or H200, which holds up to 2048 threads and 32 blocks.  Registers, which PTX does not determine, may
 * allow fewer. */
uint32_t simt_resident_blocks(uint32_t block_threads, size_t shared_nbytes);
/* The largest shared memory of a block with which this many blocks are resident; 0: there is none. */
size_t simt_shared_nbytes_of(uint32_t resident_blocks);

/* ---- launching */

typedef enum simt_schedule {
    SIMT_LOCKSTEP, /* lanes stay together until a branch splits them, and reconverge at its post-dominator */
    SIMT_SPLIT,    /* the lanes of a warp run separately, in order, wherever nothing synchronises them */
    SIMT_RANDOM,   /* lanes split and warps take turns at random, by the seed */
    SIMT_HELD      /* lockstep, but threads wait in held lines: simt_machine_hold */
} simt_schedule;

/* Where a launch that has been running for long is; it need not be a fault. */
typedef struct simt_notice {
    const char *kernel;
    const char *file; /* file and line: NULL and 0 if unknown */
    uint32_t line;
    uint32_t block[3], warp, lanes; /* lanes: those at this line */
    uint64_t instructions;          /* that the warp has executed */
    bool polls;       /* the warp mostly reads memory until it changes */
    uint64_t address; /* the last address it polled, if global; otherwise 0 */
} simt_notice;

/* Sets a function that is called once for each launch that takes longer than one and a half seconds, if its limit is
 * above SIMT_INSTRUCTION_LIMIT and one of its warps has been running for long.  NULL: none. */
typedef void simt_notice_function(void *context, const simt_notice *notice);
void simt_machine_set_notice(simt_machine *machine, simt_notice_function *function, void *context);

/* Limits what one block may execute, in addition to the limit of the whole launch, so that a small block that never ends is
 * stopped soon: `instructions`, or an eighth of it for each of its warps if that is more.  For this limit slow events count
 * more, roughly in proportion to their time: an atomic 2 more for each lane, a warp's arrival at a barrier 64, a strong
 * read that changes nothing 96.  0, the initial setting: no such limit. */
void simt_machine_set_block_limit(simt_machine *machine, uint64_t instructions);

/* Sets a function that the threads of a launch call, several at once, after about every 16,000 warp instructions of a
 * block.  If it returns true, the launch ends with SIMT_ERROR_STOPPED, and its report does not mention this.  NULL: none. */
typedef bool simt_cancel_function(void *context);
void simt_machine_set_cancel(simt_machine *machine, simt_cancel_function *function, void *context);

/* A request by a kernel for what is to be done once its grid has ended: the launch of a kernel of the same module, or a copy
 * within device memory.  Valid only during the call that receives it. */
typedef struct simt_child {
    bool is_copy;
    uint64_t stream; /* 2: cudaStreamFireAndForget, ordered after nothing; 3: cudaStreamTailLaunch, after everything else */
    size_t kernel;
    uint32_t grid[3], block[3];
    size_t shared_nbytes;
    const void *const *arguments;
    uint64_t to, from, nbytes; /* of a copy */
} simt_child;

/* Sets a function that receives what kernels launch, one call at a time; it returns false if it accepts no more.  NULL: such
 * a launch is a finding. */
typedef bool simt_child_function(void *context, const simt_child *child);
void simt_machine_set_launch(simt_machine *machine, simt_child_function *function, void *context);

/* A range of lines, both ends included: of the source, or, without line information, of the PTX. */
typedef struct simt_held_lines {
    uint32_t first, last;
} simt_held_lines;

/* Sets the lines in which launches with SIMT_HELD hold threads: before every access to memory there, a thread waits until no
 * other thread of its block can continue, as if there were a barrier.  With the later line of each race held, a launch shows
 * what the kernel would do without the races.  The caller must keep the array.  A count of 0: none. */
void simt_machine_hold(simt_machine *machine, const simt_held_lines *lines, size_t count);

struct simt_observer; /* simt_observer.h, for observers of your own */

/* The default of simt_launch.instruction_limit.  A launch that needs one more instruction is stopped, with the
 * finding SIMT_FINDING_RUNAWAY.  Other slow events count as instructions too: for each lane, printf (8, and 1 for
 * every 16 characters), malloc and free (32), and each repetition of a finding (1).  A grid is refused if starting
 * its blocks (16 instructions each, and 1 for every 256 bytes of shared memory) exceeds the limit. */
#define SIMT_INSTRUCTION_LIMIT 4194304
/* Launches with this limit or a higher one are examined for endless loops before they reach it.  Warps then take turns of
 * another length, so threads that wait for others may execute a few instructions more or less than under a lower limit. */
#define SIMT_EXAMINED_LIMIT 1048576

typedef struct simt_launch {
    const simt_module *module;
    size_t kernel;
    uint32_t grid[3], block[3];    /* 0 counts as 1 */
    size_t shared_nbytes;          /* dynamic shared memory of each block */
    const void *const *arguments;  /* one for each parameter, with its size */
    simt_schedule schedule;
    uint8_t cluster[3];            /* blocks that can access each other's shared memory; 0: as the kernel declares */
    /* With SIMT_RANDOM: blocks take short turns, which makes a lock that many blocks want very slow.  Without it, each block
     * runs to its end unless it waits. */
    bool interleaves;
    uint64_t seed;                 /* of SIMT_RANDOM */
    uint64_t instruction_limit;    /* warp instructions that the launch may execute; 0: SIMT_INSTRUCTION_LIMIT */
    uint32_t threads;              /* host threads that execute blocks; 0: one for each processor */
    bool lacks_grid_barrier;       /* as launches that are not cooperative do: grid.sync() of cooperative groups traps */
    /* NULL-terminated; NULL: none.  simt_observers lists the simulator's own. */
    const struct simt_observer *const *observers;
    void *context; /* for the caller's observers: simt_launch_view.context */
    /* Receives what the kernel prints (text, not NUL-terminated), one call at a time.  NULL: it is discarded. */
    void (*print)(void *context, const char *text, size_t nbytes);
    void *print_context;
} simt_launch;

/* Executes the grid and waits for it.  The caller must destroy *report, if it is requested, even after an error;
 * it is NULL if nothing ran.  SIMT_OK: every thread of every block has exited.  SIMT_ERROR_STOPPED: a finding
 * stopped the launch (all kinds do, except races, shuffles, uninitialised reads and leaks), and memory is as it was at
 * that point. */
simt_error simt_machine_launch(simt_machine *machine, const simt_launch *launch, simt_report **report,
                               simt_message *message);

/* All observers of the simulator except the next two, NULL-terminated; and those of them that only count. */
extern const struct simt_observer *const simt_observers[];
extern const struct simt_observer *const simt_counters[];

/* Observers that fill simt_report_line and simt_report_replay.  They cost more than all others together.  In a
 * list of observers, simt_observe_replay must precede those that record findings, and simt_observe_barriers must follow
 * simt_observe_lines. */
extern const struct simt_observer simt_observe_lines, simt_observe_barriers, simt_observe_replay;

/* simt_observe_all_races replaces the observer of races: it also reports stores of the same value by several threads.
 * simt_observe_uninitialised_going_on is an earlier name of the observer of uninitialised reads. */
extern const struct simt_observer simt_observe_uninitialised_going_on, simt_observe_all_races;

#ifdef __cplusplus
}
#endif

#endif
