/* For this folder alone: the stand-in for the CUDA runtime library, whose GPU is the simulator.
 *
 * Everything is executed when it is asked for: a launch, an asynchronous copy and a function of the host in a stream
 * have ended when the call returns.  One lock lets one call at a time in. */
#ifndef PROGRAM_RUNTIME_H
#define PROGRAM_RUNTIME_H

#include <stdbool.h>

#include "abi.h"
#include "program/record.h"
#include "simt/simt.h"
#include "touched.h"

#define API __attribute__((visibility("default"))) cudaError_t

/* The body of nearly every call: nothing is done any more once a launch has failed for good. */
#define CALL(expression) runtime_end(__func__, runtime_begin() ? (expression) : device_current()->sticky)

/* The same for one that asks for a launch. */
#define CALL_LAUNCH(expression) runtime_end(__func__, runtime_begin() ? (expression) : failures_stop_launch())

/* The same for a call that needs what it says: mostly a pointer, to where its result goes. */
#define CALL_WITH(needed, expression) CALL((needed) ? (expression) : cudaErrorInvalidValue)

/* The same for a call that returns when everything before it is done. */
#define CALL_WAIT(expression) CALL((host_wait_all(), order_wait(ORDER_ALL), (expression)))

/* The same for what needs the default stream. */
#define CALL_IN_DEFAULT(expression) CALL(captures_bar_default() ? cudaErrorStreamCaptureImplicit : (expression))

/* The same for a call that comes after what the default stream was asked for, too, and touches memory. */
#define CALL_IN_TURN(expression)                                                                                   \
    CALL_IN_DEFAULT((host_wait_all(), order_begin(stream_order(NULL), false, "a copy"), order_end_waited(expression)))

/* The same for a call that on a GPU may wait for the device: CUDA's "potentially unsafe" ones. */
#define CALL_UNSAFE(expression) CALL(captures_bar_thread() ? cudaErrorStreamCaptureUnsupported : (expression))
#define CALL_WAIT_UNSAFE(expression) CALL_UNSAFE((host_wait_all(), order_wait(ORDER_ALL), (expression)))

/* The same for what a graph cannot keep: a captured stream must not ask for it. */
#define CALL_NOW(stream, expression)                                                                               \
    CALL(stream_is_captured(stream) ? stream_refuse_capture(stream) : (expression))

/* The names that programs use which were compiled with a default stream for each thread. */
#define ALSO(name, suffix)                                                                                         \
    extern __typeof__(name) name##suffix __attribute__((alias(#name), visibility("default")));

struct gpu {
    const char *word, *name;
    int major, minor, multiprocessors, threads, blocks, shared_nbytes, block_shared_nbytes, memory_gb, bus_bits, l2_mib,
        clock_khz;
};

/* One of several GPUs, all of a kind. */
struct device {
    cudaError_t sticky; /* of a launch that failed for good */
    size_t used_nbytes;
    size_t graph_used, graph_used_high, graph_kept, graph_kept_high; /* by memory of graphs: cudaGraphMemAttributeType */
    uint32_t peers; /* whose memory its kernels may access: a bit for each */
};

struct runtime {
    simt_machine *machine;
    const struct gpu *gpu;
    struct record *record;
    struct device devices[SIMT_DEVICES];
    int device_count;
    uint64_t clock;       /* nanoseconds of simulated time: see runtime_pass */
    size_t memory_nbytes; /* of each device */
};

extern struct runtime runtime;

enum capture_mode { CAPTURE_GLOBAL, CAPTURE_THREAD, CAPTURE_RELAXED }; /* cudaStreamCaptureMode */

/* What each thread of the program has done. */
struct thread {
    cudaError_t last_error; /* of the runtime's calls */
    bool has_called;        /* the runtime, which makes the primary context current */
    bool is_in_driver;      /* a call of the driver goes on, which uses the runtime's */
    int device;             /* that is current, */
    int chosen;             /* and the one that cudaSetDevice has made so */
    enum capture_mode capture_mode; /* of cudaThreadExchangeStreamCaptureMode */
};

extern _Thread_local struct thread runtime_thread;

static inline struct device *device_current(void) { return &runtime.devices[runtime_thread.device]; }

/* The answer to a question for a number. */
static inline cudaError_t answer_number(int *result, int number) {
    if (!result) return cudaErrorInvalidValue;
    *result = number;
    return cudaSuccess;
}

/* runtime.c */
cudaError_t runtime_absent(const char *name); /* a call that is not supported: named once */
bool runtime_begin(void); /* takes the lock; false: the device's `sticky` says why nothing can be done */
cudaError_t runtime_end(const char *call, cudaError_t error); /* notes an error, for cudaGetLastError too, and lets the lock go */

/* state.c */
void runtime_say(const char *format, ...) __attribute__((format(printf, 1, 2))); /* a line on standard error */
void runtime_use(int device); /* the calling thread's is another from now on */
cudaError_t device_check(int device); /* whether there is one of that number */
/* Simulated time: a nanosecond for each warp instruction or 32 bytes copied, and a microsecond for the call. */
void runtime_pass(uint64_t units);
cudaError_t runtime_lacks(const char *what); /* what a call is asked for is not supported: named once, with the lock held */
cudaError_t runtime_error_of(simt_error error);

/* failures.c: with the lock held */
const char *cudaGetErrorName(cudaError_t error);
const char *cudaGetErrorString(cudaError_t error);
void failures_because(const char *format, ...) __attribute__((format(printf, 1, 2))); /* why the call that goes on will fail */
cudaError_t failures_stop_launch(void); /* that launch does not run, as one before it has failed for good: the error of that */
void failures_refuse_launch(void); /* that call, or a kernel in it, has asked for a launch that does not run */
void failures_note(const char *call, cudaError_t error); /* when it has ended */
void failures_ask(void);                                 /* the program is told of the last one */

/* modules.c: kernels and variables by the addresses that host code knows them by */
struct module;

struct CUkern_st {
    struct CUkern_st *next;
    struct module *module;
    const void *host;
    const char *name;
    const simt_module *parsed; /* NULL before the first use */
    size_t index;              /* in it */
    int dynamic_shared_max[SIMT_DEVICES], ptx_version;
    bool allows_large_clusters; /* of more than 8 blocks */
    int shared_percent;         /* 1 more than the carve-out asked for; 0: none, which is CUDA's -1 */
};

/* *error says why there is none: NULL. */
struct CUkern_st *kernel_find(const void *host, cudaError_t *error);
cudaError_t variable_find(const void *host, uint64_t *address, size_t *nbytes);

/* A module of PTX or of a fat binary, for good; with the lock held.  NULL: *error, and *message if it is the text's. */
struct module *module_load(const void *image, simt_message *message, cudaError_t *error);
const simt_module *module_parsed(const struct module *module);
struct CUkern_st *module_kernel(struct module *module, const char *name, cudaError_t *error);

bool event_is_for_processes(cudaEvent_t event);

/* buffers.c */
enum buffer_kind { BUFFER_DEVICE, BUFFER_RESERVED /* virtual.c */, BUFFER_VARIABLE, BUFFER_MANAGED, BUFFER_PINNED, BUFFER_REGISTERED };

/* What a program has said of a page of managed memory; see managed.c. */
struct page_hints {
    int8_t preferred, prefetched;
    bool is_read_mostly;
    uint32_t accessed; /* a bit for each device, behind the CPU's */
};

/* How far copies between the host and a buffer of a device have gone, in bytes from its begin; short_copies.c notes it. */
struct buffer_copies {
    uint64_t put_end;  /* up to here calls of the host's have written, of which the last is the place */
    bool is_put_apart; /* they have written elsewhere, too */
    char put_place[RECORD_NAME];
    uint64_t got_end; /* up to here the host, or a copy on the device, has taken what kernels left */
    uint64_t room;    /* of the host's memory for all of it; 0: not known */
    bool is_odd;      /* it is taken in a way that says nothing of its length */
    bool is_argument; /* of a kernel */
    char got_place[RECORD_NAME];
};

struct buffer {
    uint64_t address; /* the host's, of the last three */
    uint64_t nbytes;
    uint64_t device_address;
    enum buffer_kind kind;
    int device; /* whose it is; of memory that the host uses, where it was allocated */
    bool is_of_graph; /* allocated by a node of a graph */
    cudaMemPool_t pool; /* that it was allocated from; NULL: none */
    struct page_hints *hints; /* of managed memory; NULL: none yet */
    uint32_t *touched; /* of managed and pinned memory: a bit for each 4 bytes that a kernel may be writing, then reading; NULL: not known */
    struct buffer_copies *copies; /* of device memory; NULL: none yet */
};

/* The buffer that the address lies in; NULL: none. */
const struct buffer *buffer_find(uint64_t address);
const struct buffer *buffer_registered_at(uint64_t address); /* a device's, which is another than the program's */
const struct buffer *buffer_freed_at(uint64_t address); /* one of the last that were freed, where nothing is now; its pointers are not valid */
struct page_hints *buffer_hints(const struct buffer *buffer, size_t pages); /* NULL: no memory */
struct buffer_copies *buffer_copies(const struct buffer *buffer); /* zeroed at first; NULL: no memory */
cudaError_t buffer_add(const struct buffer *buffer);
void buffer_remove(const struct buffer *buffer);
const struct buffer *buffer_next(size_t *at); /* of all, from *at = 0 on; NULL: there are no more */

/* modules.c: the module's variable, which is a buffer from then on */
cudaError_t module_variable(struct module *module, const char *name, enum buffer_kind kind, uint64_t *address,
                            size_t *nbytes);

/* memory.c */
cudaError_t memory_allocate_rows(void **pointer, size_t *pitch, size_t width, size_t rows); /* bytes */
cudaError_t memory_free(void *pointer);
cudaError_t memory_reserve(void **pointer, size_t nbytes); /* an address for memory that a graph allocates */
cudaError_t memory_allocate_at(uint64_t address, size_t nbytes); /* there */
cudaError_t memory_reserve_pages(uint64_t *address, size_t nbytes); /* for memory that is mapped: a buffer */
cudaError_t memory_unreserve(uint64_t address, size_t nbytes);
cudaError_t memory_clear(void); /* cudaDeviceReset */
void memory_count_leaks(void); /* into the record */

/* copies.c */
cudaError_t copy(void *to, const void *from, size_t nbytes, enum cudaMemcpyKind kind);

/* A word of device memory or pinned memory, accessed as one atomic. */
cudaError_t word_check(uint64_t address, size_t nbytes); /* whether it is there */
cudaError_t word_read(uint64_t address, void *word, size_t nbytes);
cudaError_t word_write(uint64_t address, const void *word, size_t nbytes);
bool word_is_host(uint64_t address); /* it is pinned memory */

struct rows {
    void *to;
    const void *from;
    size_t to_pitch, from_pitch, width, height;
    enum cudaMemcpyKind kind;
};

cudaError_t copy_rows(const struct rows *rows);

/* A copy in either direction.  The host need not wait for the stream before it uses the memory, once the source was read
 * when the call returned. */
struct range {
    void *to;
    const void *from;
    size_t nbytes;
    bool has_read_source;
};

cudaError_t copy_range_in(cudaStream_t stream, const struct range *range);
cudaError_t copy_planes_in(cudaStream_t stream, const struct cudaMemcpy3DParms *request);
cudaError_t copy_rows_in(cudaStream_t stream, const struct rows *rows);

/* Rows of elements, each filled with the `width` bytes (1, 2 or 4) of the value. */
struct pattern {
    uint64_t to;
    size_t pitch; /* from row to row */
    uint32_t value, width;
    size_t count, rows;
};

cudaError_t pattern_fill_in(cudaStream_t stream, const struct pattern *pattern);

/* order.c: which operations of streams and graphs are ordered.  Two that touch the same memory, one of them to store, and
 * of which neither waits for the other, race.  With the lock held, all of this.
 *
 * A set of operations has a bit for each that the host has not yet waited for. */
typedef uint64_t order_set;
#define ORDER_ALL UINT64_MAX

/* An operation begins that comes after those of the set; what it touches is noted until it ends.  Returns the set of it
 * and those before; 0: it is not watched. */
void order_begin(order_set before, bool is_of_graph, const char *name);
order_set order_end(void);
void order_free(order_set before, const char *name, const struct buffer *buffer); /* by a call of that name */
void order_after_all(void); /* the running operation comes after every other that is known */
cudaError_t order_end_waited(cudaError_t error); /* and the host waits for it; returns the error */
/* The running operation touches these bytes, if they are the device's or the simulator knows them. */
void order_touch(const void *pointer, size_t nbytes, enum touched_how how);
/* The host has waited for the operations, or those of the device: whatever it asks for now comes after them. */
void order_wait(order_set set);
void order_wait_device(int device);
/* Whoever keeps sets is told which operations were forgotten, whose bits are others' from then on. */
typedef void order_strike(order_set set);
void order_hold(order_strike *strike);
/* From now on there may be operations that others do not wait for: what they touch is noted. */
void order_watch(void);
extern const struct simt_observer order_observer; /* notes what kernels touch */
/* What is touched is noted there, too, from now on; NULL: no more.  For family.c. */
enum order_place { ORDER_WHOLE, ORDER_AFTER, ORDER_PLACES };
void order_note_in(enum order_place place, struct touched *touched);
/* One of two that race, with the places of the kernel that has begun last. */
struct order_party {
    const char *name;
    const struct simt_place *places; /* of its kernel's instructions */
    uint32_t place_count;
};
struct order_party order_party(const char *name);
/* `why` nothing orders the two. */
void order_tell(const struct order_party *first, const struct order_party *second, const struct touched_meeting *meeting,
                const char *why);

/* streams.c */
bool stream_is_known(cudaStream_t stream);
int stream_device(cudaStream_t stream); /* the default streams are the current device's */
/* The graph that captures what is asked for in the stream; NULL: none does, it is done at once. */
cudaGraph_t *stream_capture(cudaStream_t stream);
bool stream_is_captured(cudaStream_t stream);
int stream_capture_status(cudaStream_t stream); /* cudaStreamCaptureStatus */
cudaError_t stream_refuse_capture(cudaStream_t stream); /* of what no graph can have: the capture is invalid from then on */
void stream_end_capture(cudaGraph_t graph); /* in all streams that it captures */
bool stream_stands_apart(cudaStream_t stream); /* the default stream does not wait for it, nor it for that */
/* Makes the captures of those streams invalid for which that is true; whether there are any. */
bool streams_spoil_captures(bool (*is_barred)(cudaStream_t stream, cudaGraph_t capture));
/* What CUDA refuses while streams are captured.  true: their captures are invalid from now on. */
bool captures_bar_default(void); /* the default stream, for which a captured one would have to wait */
bool captures_bar_stream(cudaStream_t stream); /* the same if it is the default one */
bool captures_bar_thread(void); /* in the calling thread, what may wait for the device */
bool captures_bar_device(void); /* waiting for the current device */
/* What the stream's next operation comes after, and that it has got another. */
order_set stream_order(cudaStream_t stream);
void stream_advance(cudaStream_t stream, order_set set);
order_strike streams_strike, execs_strike /* graph_execs.c */;
/* What the host has to wait for from now on, and its waiting for all that was noted so. */
struct host_rows;
void stream_note_copy(const struct host_rows *to, const struct host_rows *from, cudaStream_t stream);
void stream_note_fill(const struct host_rows *rows, cudaStream_t stream);
void stream_note_launch(const char *kernel, cudaStream_t stream);
void stream_wait(cudaStream_t stream);

/* captures.c: what is to be done when a graph is launched */
enum operation_kind { /* a cudaGraphNodeType */
    NODE_LAUNCH,
    NODE_COPY,
    NODE_FILL,
    NODE_HOST,
    NODE_GRAPH,
    NODE_EMPTY,
    NODE_WAIT,
    NODE_RECORD,
    NODE_ALLOCATE = 10,
    NODE_FREE,
    NODE_WORDS,
    NODE_CONDITION
};

struct operation {
    enum operation_kind kind;
    size_t nbytes; /* of the whole of which this is the beginning */
    cudaError_t (*run)(const struct operation *operation); /* with the lock held */
};

/* Does the operation, or keeps a copy of it in the graph that captures the stream. */
cudaError_t operation_do(const struct operation *operation, cudaStream_t stream);

/* findings.c: launch: NULL where the host's code has done it */
void finding_note(const simt_finding *finding, const simt_launch *launch, uint64_t number);
void record_text(char text[RECORD_NAME], const char *from); /* NULL: "" */
bool record_is_spoilt(void); /* by a failed call or a finding, which says more than advice on results */

/* watch.c: what is observed of a launch, and noted of it */
const struct simt_observer *const *watch_observers(const char *kernel, uint64_t *number);
void watch_begin(const char *kernel); /* for those who show what goes on */
void watch_end(void);
void watch_note(const simt_launch *launch, const simt_report *report, bool is_watched, uint64_t number);

/* Advice on a whole program. */
struct program_advice {
    const char *kind, *kernel;
    const char *place; /* of host_name_caller; once for each is enough */
    uint64_t count;
    char message[RECORD_NAME], cure[RECORD_NAME];
};

void watch_advise(const struct program_advice *advice);

/* results.c: whether what kernels store reaches the host, and whether what the host copies was stored */
void results_note_launch(const simt_launch *launch, const simt_report *report, bool is_watched);
void results_note_seen(void); /* the host sees memory that kernels may have stored to */
void results_note_copy(const void *to, const void *from, size_t nbytes); /* one that was done */
void results_tell(void); /* at the end */

/* short_copies.c: how far copies between the host and a buffer of a device go */
void short_copies_note_put(const void *to, size_t nbytes); /* one to the device, or a fill */
void short_copies_note_get(const void *to, const void *from, size_t nbytes, bool is_to_host);
void short_copies_note_launch(const simt_launch *launch);
void short_copies_tell(const struct buffer *buffer); /* before it is freed */
void short_copies_tell_all(void); /* at the end */

/* host_room.c: bytes from there on in what was allocated; 0: not known */
size_t host_room(const void *pointer);

/* lines.c */
extern const struct simt_observer code_observer; /* notes which lines have code */
void lines_note(const simt_report *report); /* the costs of a launch's lines */

/* host.c: memory that the program must not use before it has waited for a stream; with the lock held */
extern const struct simt_observer host_observer;
void host_create_touched(struct buffer *buffer); /* its `touched`, where it is of a kind that needs it */
void host_destroy_touched(const struct buffer *buffer);
void host_watch(void); /* from now on */
void host_enter(void); /* takes the lock: while it is held, all pages are open */
/* Where the program's own code has made this call: its calls that are under way, as record_place has them. */
void host_name_caller(char place[RECORD_NAME]);
void host_leave(void); /* lets others in while the program's own code runs */

/* What a copy or fill takes: planes of rows. */
struct host_rows {
    const void *first;
    size_t width, pitch, height, plane_height, depth; /* plane_height: rows from one plane to the next */
};

bool host_note_copy(const struct host_rows *to, const struct host_rows *from, cudaStream_t stream, int device); /* false: it is pageable memory */
void host_note_fill(const struct host_rows *rows, cudaStream_t stream, int device);
void host_note_launch(const char *kernel, cudaStream_t stream, int device);
void host_wait_all(void);
void host_wait_device(int device);
uint64_t host_number(void); /* of what was noted last */
/* For what was noted until then in the stream, which is the device's. */
void host_wait_until(cudaStream_t stream, int device, uint64_t number);
/* Another stream waits for that: waiting for any counts as both. */
void host_join(cudaStream_t stream, int device, uint64_t number);

#endif
