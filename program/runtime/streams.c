/* Streams and events.  What is asked for has been done when the call returns, so that
 * there is nothing to wait for; time is the simulator's (runtime_pass). */
#include "graphs.h"

#include <stdlib.h>
#include <string.h>

/* Attributes that are hints. */
struct hints {
    union cudaLaunchAttributeValue window, synchronisation;
};

struct CUstream_st {
    struct CUstream_st *next;
    unsigned flags;
    struct hints hints;
    int priority, device;
    unsigned long long number;
    order_set known;     /* operations that its next one comes after */
    cudaGraph_t capture; /* NULL: none */
    struct front front;  /* its latest nodes there */
};

struct CUevent_st {
    struct CUevent_st *next;
    unsigned flags;
    int device;
    bool is_recorded;
    uint64_t time;
    cudaStream_t stream; /* where it was recorded last, and what had been noted for the host by then */
    uint64_t number;
    order_set known;
    bool is_captured;    /* it was recorded last in a stream that was captured, */
    cudaGraph_t capture; /* and is still: in this graph */
    struct front front;
};

enum { STREAM_DEFAULT_LAST = 2 /* 1: the legacy one, 2: a thread's own */, STREAM_APART = 1 };
enum { EVENT_BLOCKING = 1, EVENT_WITHOUT_TIME = 2, EVENT_OF_PROCESSES = 4 };

static struct CUstream_st *streams;
static struct CUevent_st *events;
static order_set default_known[SIMT_DEVICES]; /* of the default streams of each device */

/* ---- streams ------------------------------------------------------------------------------------- */

static struct CUstream_st *find_stream(cudaStream_t stream) {
    struct CUstream_st *known = streams;
    while (known && known != stream) known = known->next;
    return known;
}

bool stream_is_known(cudaStream_t stream) {
    return (uintptr_t)stream <= STREAM_DEFAULT_LAST || find_stream(stream);
}

int stream_device(cudaStream_t stream) {
    const struct CUstream_st *known = find_stream(stream);
    return known ? known->device : runtime_thread.device;
}

/* ---- captures ------------------------------------------------------------------------------------ */

cudaError_t front_join(struct front *front, const struct front *other) {
    if (!other->count) return cudaSuccess;
    cudaGraphNode_t *grown = realloc(front->nodes, (front->count + other->count) * sizeof *grown);
    if (!grown) return cudaErrorMemoryAllocation;
    memcpy(grown + front->count, other->nodes, other->count * sizeof *grown);
    *front = (struct front){grown, front->count + other->count};
    return cudaSuccess;
}

static bool front_has(const struct front *front, cudaGraphNode_t node) {
    for (size_t i = 0; i < front->count; i++)
        if (front->nodes[i] == node) return true;
    return false;
}

void front_clear(struct front *front) {
    free(front->nodes);
    *front = (struct front){0};
}

/* The default streams are not captured. */
cudaGraph_t *stream_capture(cudaStream_t stream) {
    struct CUstream_st *known = find_stream(stream);
    return known ? &known->capture : NULL;
}

struct front *stream_front(cudaStream_t stream) { return &find_stream(stream)->front; }

bool stream_is_captured(cudaStream_t stream) {
    const cudaGraph_t *capture = stream_capture(stream);
    return capture && *capture;
}

bool stream_stands_apart(cudaStream_t stream) { return find_stream(stream) && find_stream(stream)->flags & STREAM_APART; }

bool streams_spoil_captures(bool (*is_barred)(cudaStream_t stream, cudaGraph_t capture)) {
    bool is_any = false;
    for (struct CUstream_st *stream = streams; stream; stream = stream->next)
        if (stream->capture && is_barred(stream, stream->capture)) is_any = stream->capture->capture.is_invalid = true;
    return is_any;
}

bool streams_leave_work(cudaGraph_t graph, const struct front *front) {
    for (const struct CUstream_st *stream = streams; stream; stream = stream->next)
        for (size_t i = 0; stream->capture == graph && i < stream->front.count; i++)
            if (!front_has(front, stream->front.nodes[i]) && !node_is_awaited(stream->front.nodes[i])) return true;
    return false;
}

cudaError_t stream_refuse_capture(cudaStream_t stream) {
    (*stream_capture(stream))->capture.is_invalid = true;
    return cudaErrorStreamCaptureUnsupported;
}

int stream_capture_status(cudaStream_t stream) {
    enum { NONE, ACTIVE, INVALIDATED };
    if (!stream_is_captured(stream)) return NONE;
    return (*stream_capture(stream))->capture.is_invalid ? INVALIDATED : ACTIVE;
}

void stream_end_capture(cudaGraph_t graph) {
    for (struct CUstream_st *stream = streams; stream; stream = stream->next)
        if (stream->capture == graph) stream->capture = NULL, front_clear(&stream->front);
    for (struct CUevent_st *event = events; event; event = event->next)
        if (event->capture == graph) event->capture = NULL, front_clear(&event->front);
}

/* The stream's next node: behind those at its front, and then alone there. */
static cudaError_t append_in(cudaStream_t stream, cudaGraph_t graph, struct operation *operation) {
    struct front *front = stream_front(stream);
    cudaError_t error = cudaSuccess;
    cudaGraphNode_t node = graph_append(graph, operation);
    if (!node) return cudaErrorMemoryAllocation;
    for (size_t i = 0; i < front->count && !error; i++)
        if (!node_depends_on(node, front->nodes[i])) error = node_depend(node, front->nodes[i]);
    front_clear(front);
    return error ? error : front_join(front, &(struct front){&node, 1});
}

cudaError_t graph_capture(struct operation *operation, cudaStream_t stream) {
    const cudaGraph_t graph = *stream_capture(stream);
    if (!graph->capture.is_invalid) return append_in(stream, graph, operation);
    free(operation);
    return cudaErrorStreamCaptureInvalidated;
}

/* ---- what CUDA refuses while streams are captured, and all captures then that it would harm --------- */

static bool bars_default(cudaStream_t stream, cudaGraph_t graph) {
    return stream_device(stream) == runtime_thread.device && !stream_stands_apart(stream) && !graph->capture.spares_default;
}

bool captures_bar_default(void) {
    const bool is_barred = streams_spoil_captures(bars_default);
    if (is_barred)
        failures_because("a stream is captured that the default stream would have to wait for: give the call a stream of its "
                         "own, or capture one that is made by cudaStreamNonBlocking");
    return is_barred;
}

bool captures_bar_stream(cudaStream_t stream) {
    enum { LEGACY = 1 };
    return (uintptr_t)stream <= LEGACY && captures_bar_default();
}

static bool bars_thread(cudaStream_t stream, cudaGraph_t graph) {
    (void)stream;
    const enum capture_mode mode = graph->capture.mode;
    if (graph->capture.thread == &runtime_thread) return mode != CAPTURE_RELAXED;
    return mode == CAPTURE_GLOBAL && runtime_thread.capture_mode == CAPTURE_GLOBAL;
}

bool captures_bar_thread(void) {
    const bool is_barred = runtime_thread.capture_mode != CAPTURE_RELAXED && streams_spoil_captures(bars_thread);
    if (is_barred)
        failures_because("a stream is captured, and the call may wait for the device: call it before the capture, or begin that "
                         "by cudaStreamCaptureModeRelaxed");
    return is_barred;
}

static bool bars_device(cudaStream_t stream, cudaGraph_t graph) {
    (void)graph;
    return stream_device(stream) == runtime_thread.device;
}

bool captures_bar_device(void) {
    const bool is_barred = streams_spoil_captures(bars_device);
    if (is_barred) failures_because("a stream of the device is captured: what is captured has not begun, and cannot be waited for");
    return is_barred;
}

/* ---- order --------------------------------------------------------------------------------------- */

/* A device's default streams wait for its others, and these for them, unless they were made to stand apart. */
order_set stream_order(cudaStream_t stream) {
    const struct CUstream_st *known = find_stream(stream);
    const int device = stream_device(stream);
    if (known) return known->known | (known->flags & STREAM_APART ? 0 : default_known[device]);
    order_set set = default_known[device];
    for (const struct CUstream_st *other = streams; other; other = other->next)
        if (other->device == device && !(other->flags & STREAM_APART)) set |= other->known;
    return set;
}

void stream_advance(cudaStream_t stream, order_set set) {
    struct CUstream_st *known = find_stream(stream);
    if (known) known->known |= set;
    else default_known[runtime_thread.device] |= set;
}

void streams_strike(order_set set) {
    for (struct CUstream_st *stream = streams; stream; stream = stream->next) stream->known &= ~set;
    for (struct CUevent_st *event = events; event; event = event->next) event->known &= ~set;
    for (size_t device = 0; device < SIMT_DEVICES; device++) default_known[device] &= ~set;
}

/* ---- what the host must wait for ----------------------------------------------------------------- */

void stream_wait(cudaStream_t stream) {
    host_wait_until(stream, stream_device(stream), UINT64_MAX);
    order_wait(stream_order(stream));
}

/* Of pageable memory the call waits for the copy. */
void stream_note_copy(const struct host_rows *to, const struct host_rows *from, cudaStream_t stream) {
    if (stream_is_captured(stream)) return;
    if (!host_note_copy(to, from, stream, stream_device(stream))) stream_wait(stream);
}

void stream_note_fill(const struct host_rows *rows, cudaStream_t stream) {
    if (!stream_is_captured(stream)) host_note_fill(rows, stream, stream_device(stream));
}

void stream_note_launch(const char *kernel, cudaStream_t stream) {
    host_note_launch(kernel, stream, stream_device(stream));
}

/* ---- creating ------------------------------------------------------------------------------------ */

static cudaError_t create_stream(cudaStream_t *stream, unsigned flags, int priority) {
    static unsigned long long last_number = STREAM_DEFAULT_LAST;
    if (flags > STREAM_APART) return cudaErrorInvalidValue;
    *stream = calloc(1, sizeof **stream);
    if (!*stream) return cudaErrorMemoryAllocation;
    **stream = (struct CUstream_st){.next = streams,
                                    .flags = flags,
                                    .priority = priority,
                                    .device = runtime_thread.device,
                                    .number = ++last_number};
    if (streams || flags & STREAM_APART) order_watch();
    streams = *stream;
    return cudaSuccess;
}

API cudaStreamCreate(cudaStream_t *stream) { return CALL_WITH(stream, create_stream(stream, 0, 0)); }

API cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags) { return CALL_WITH(stream, create_stream(stream, flags, 0)); }

API cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned flags, int priority) {
    return CALL_WITH(stream, create_stream(stream, flags, priority));
}

/* The host does not wait: what the stream was asked for goes on.  Its name will be another's, so any later wait is taken for one
 * for it. */
static void leave_pending(const struct CUstream_st *stream) {
    host_join((cudaStream_t)stream, stream->device, UINT64_MAX);
    if (!(stream->flags & STREAM_APART)) default_known[stream->device] |= stream->known;
}

static cudaError_t destroy_stream(cudaStream_t stream) {
    struct CUstream_st **place = &streams;
    while (*place && *place != stream) place = &(*place)->next;
    if (!*place) return cudaErrorInvalidResourceHandle;
    leave_pending(stream);
    *place = stream->next;
    front_clear(&stream->front);
    free(stream);
    return cudaSuccess;
}

API cudaStreamDestroy(cudaStream_t stream) { return CALL(destroy_stream(stream)); }

static cudaError_t check_stream(cudaStream_t stream) {
    return stream_is_known(stream) ? cudaSuccess : cudaErrorInvalidResourceHandle;
}

static cudaError_t wait_for(cudaStream_t stream) {
    if (stream_is_captured(stream)) return stream_refuse_capture(stream);
    if (captures_bar_stream(stream)) return cudaErrorStreamCaptureImplicit;
    stream_wait(stream);
    return check_stream(stream);
}

API cudaStreamSynchronize(cudaStream_t stream) { return CALL(wait_for(stream)); }
ALSO(cudaStreamSynchronize, _ptsz)

API cudaStreamQuery(cudaStream_t stream) { return CALL(wait_for(stream)); }
ALSO(cudaStreamQuery, _ptsz)

static cudaError_t get_stream(cudaStream_t stream, unsigned *flags, int *priority, unsigned long long *number) {
    const struct CUstream_st *known = find_stream(stream);
    if (!stream_is_known(stream)) return cudaErrorInvalidResourceHandle;
    if (flags) *flags = known ? known->flags : 0;
    if (priority) *priority = known ? known->priority : 0;
    if (number) *number = known ? known->number : (uintptr_t)stream;
    return cudaSuccess;
}

API cudaStreamGetFlags(cudaStream_t stream, unsigned *flags) { return CALL_WITH(flags, get_stream(stream, flags, NULL, NULL)); }
ALSO(cudaStreamGetFlags, _ptsz)

API cudaStreamGetPriority(cudaStream_t stream, int *priority) {
    return CALL_WITH(priority, get_stream(stream, NULL, priority, NULL));
}
ALSO(cudaStreamGetPriority, _ptsz)

API cudaStreamGetId(cudaStream_t stream, unsigned long long *number) {
    return CALL_WITH(number, get_stream(stream, NULL, NULL, number));
}
ALSO(cudaStreamGetId, _ptsz)

/* The default streams have them together. */
static struct hints *hints_of(cudaStream_t stream) {
    static struct hints default_hints;
    struct CUstream_st *known = find_stream(stream);
    return known ? &known->hints : stream_is_known(stream) ? &default_hints : NULL;
}

static cudaError_t set_attribute(cudaStream_t stream, int id, const union cudaLaunchAttributeValue *value) {
    enum { SYNCHRONISATIONS = 4 };
    struct hints *hints = hints_of(stream);
    if (!hints) return cudaErrorInvalidResourceHandle;
    if (!value) return cudaErrorInvalidValue;
    if (id == LAUNCH_ATTRIBUTE_WINDOW) hints->window = *value;
    else if (id == LAUNCH_ATTRIBUTE_SYNCHRONISATION) {
        if (value->synchronisation < 1 || value->synchronisation > SYNCHRONISATIONS) return cudaErrorInvalidValue;
        hints->synchronisation = *value;
    } else if (id == LAUNCH_ATTRIBUTE_PRIORITY && find_stream(stream)) find_stream(stream)->priority = value->priority;
    else return runtime_lacks("cudaStreamSetAttribute of this attribute");
    return cudaSuccess;
}

static cudaError_t get_attribute(cudaStream_t stream, int id, union cudaLaunchAttributeValue *value) {
    const struct hints *hints = hints_of(stream);
    if (!hints) return cudaErrorInvalidResourceHandle;
    if (!value) return cudaErrorInvalidValue;
    if (id == LAUNCH_ATTRIBUTE_WINDOW) *value = hints->window;
    else if (id == LAUNCH_ATTRIBUTE_SYNCHRONISATION) {
        *value = hints->synchronisation;
        if (!value->synchronisation) value->synchronisation = 1; /* automatic */
    } else if (id == LAUNCH_ATTRIBUTE_PRIORITY) return get_stream(stream, NULL, &value->priority, NULL);
    else return runtime_lacks("cudaStreamGetAttribute of this attribute");
    return cudaSuccess;
}

static cudaError_t copy_attributes(cudaStream_t to, cudaStream_t from) {
    struct hints *target = hints_of(to);
    const struct hints *source = hints_of(from);
    if (!target || !source) return cudaErrorInvalidResourceHandle;
    *target = *source;
    return cudaSuccess;
}

API cudaStreamSetAttribute(cudaStream_t stream, int id, const union cudaLaunchAttributeValue *value) {
    return CALL(set_attribute(stream, id, value));
}

API cudaStreamGetAttribute(cudaStream_t stream, int id, union cudaLaunchAttributeValue *value) {
    return CALL(get_attribute(stream, id, value));
}

API cudaStreamCopyAttributes(cudaStream_t to, cudaStream_t from) { return CALL(copy_attributes(to, from)); }

ALSO(cudaStreamSetAttribute, _ptsz)
ALSO(cudaStreamGetAttribute, _ptsz)
ALSO(cudaStreamCopyAttributes, _ptsz)

API cudaStreamGetDevice(cudaStream_t stream, int *device) {
    return CALL(stream_is_known(stream) ? answer_number(device, stream_device(stream)) : cudaErrorInvalidResourceHandle);
}
ALSO(cudaStreamGetDevice, _ptsz)

API cudaStreamIsCapturing(cudaStream_t stream, int *status) {
    return CALL(stream_is_known(stream) ? answer_number(status, stream_capture_status(stream))
                                        : cudaErrorInvalidResourceHandle);
}
ALSO(cudaStreamIsCapturing, _ptsz)

API cudaDeviceGetStreamPriorityRange(int *least, int *greatest) {
    enum { GREATEST = -5 };
    return CALL((least ? answer_number(least, 0) : cudaSuccess, greatest ? answer_number(greatest, GREATEST) : cudaSuccess));
}

/* ---- events -------------------------------------------------------------------------------------- */

static struct CUevent_st *find_event(cudaEvent_t event) {
    struct CUevent_st *known = events;
    while (known && known != event) known = known->next;
    return known;
}

static cudaError_t create_event(cudaEvent_t *event, unsigned flags) {
    const bool is_known = flags <= (EVENT_BLOCKING | EVENT_WITHOUT_TIME | EVENT_OF_PROCESSES);
    if (!is_known || (flags & EVENT_OF_PROCESSES && !(flags & EVENT_WITHOUT_TIME))) return cudaErrorInvalidValue;
    *event = calloc(1, sizeof **event);
    if (!*event) return cudaErrorMemoryAllocation;
    **event = (struct CUevent_st){.next = events, .flags = flags, .device = runtime_thread.device};
    events = *event;
    return cudaSuccess;
}

API cudaEventCreate(cudaEvent_t *event) { return CALL_WITH(event, create_event(event, 0)); }

API cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags) { return CALL_WITH(event, create_event(event, flags)); }

bool event_is_for_processes(cudaEvent_t event) {
    const struct CUevent_st *known = events;
    while (known && known != event) known = known->next;
    return known && (known->flags & EVENT_OF_PROCESSES);
}

static cudaError_t destroy_event(cudaEvent_t event) {
    struct CUevent_st **place = &events;
    while (*place && *place != event) place = &(*place)->next;
    if (!*place) return cudaErrorInvalidResourceHandle;
    *place = event->next;
    front_clear(&event->front);
    free(event);
    return cudaSuccess;
}

API cudaEventDestroy(cudaEvent_t event) { return CALL(destroy_event(event)); }

/* Behind the operations of the set. */
static cudaError_t record_event(cudaEvent_t event, cudaStream_t stream, order_set known) {
    if (!find_event(event) || !stream_is_known(stream)) return cudaErrorInvalidResourceHandle;
    if (event->device != stream_device(stream)) return cudaErrorInvalidResourceHandle;
    if (captures_bar_stream(stream)) return cudaErrorStreamCaptureImplicit;
    const cudaGraph_t *capture = stream_capture(stream);
    event->capture = capture ? *capture : NULL;
    event->is_captured = event->capture;
    event->is_recorded = !event->capture; /* while a stream is captured it orders, and has no time */
    event->time = runtime.clock;
    event->stream = stream;
    event->number = host_number();
    event->known = known;
    front_clear(&event->front);
    return event->capture ? front_join(&event->front, stream_front(stream)) : cudaSuccess;
}

API cudaEventRecord(cudaEvent_t event, cudaStream_t stream) { return CALL(record_event(event, stream, stream_order(stream))); }
ALSO(cudaEventRecord, _ptsz)

/* A node of the graph that captures the stream. */
static cudaError_t capture_event(enum operation_kind kind, cudaEvent_t event, cudaStream_t stream) {
    struct operation *made;
    cudaError_t error = event_make(kind, event, &made);
    return error ? error : graph_capture(made, stream);
}

/* Of a graph, if flags say EXTERNAL: to be recorded, or waited for, when it is launched. */
enum { EVENT_EXTERNAL = 1 };

static cudaError_t record_event_by(cudaEvent_t event, cudaStream_t stream, unsigned flags) {
    if (flags > EVENT_EXTERNAL) return cudaErrorInvalidValue;
    return flags && stream_is_captured(stream) ? capture_event(NODE_RECORD, event, stream)
                                               : record_event(event, stream, stream_order(stream));
}

API cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned flags) {
    return CALL(record_event_by(event, stream, flags));
}
ALSO(cudaEventRecordWithFlags, _ptsz)

/* What is captured cannot be waited for. */
static cudaError_t check_event(cudaEvent_t event) {
    if (!find_event(event)) return cudaErrorInvalidResourceHandle;
    if (event->capture) event->capture->capture.is_invalid = true;
    return event->is_captured ? cudaErrorCapturedEvent : cudaSuccess;
}

static cudaError_t wait_for_event(cudaEvent_t event) {
    cudaError_t error = check_event(event);
    if (error) return error;
    if (event->is_recorded) host_wait_until(event->stream, event->device, event->number);
    if (event->is_recorded) order_wait(event->known);
    return cudaSuccess;
}

API cudaEventSynchronize(cudaEvent_t event) { return CALL(wait_for_event(event)); }

static cudaError_t query_event(cudaEvent_t event) {
    cudaError_t error = check_event(event);
    if (!error && captures_bar_thread()) error = cudaErrorStreamCaptureUnsupported;
    return error ? error : wait_for_event(event);
}

API cudaEventQuery(cudaEvent_t event) { return CALL(query_event(event)); }

/* A stream that waits for a captured one is captured with it. */
static cudaError_t wait_captured(cudaStream_t stream, cudaEvent_t event) {
    cudaGraph_t *capture = stream_capture(stream);
    if (!capture) return cudaErrorStreamCaptureUnsupported;
    if (*capture && *capture != event->capture) {
        (*capture)->capture.is_invalid = event->capture->capture.is_invalid = true;
        return cudaErrorStreamCaptureMerge;
    }
    *capture = event->capture;
    return front_join(stream_front(stream), &event->front);
}

static cudaError_t wait_event(cudaStream_t stream, cudaEvent_t event, unsigned flags) {
    if (!stream_is_known(stream) || !find_event(event)) return cudaErrorInvalidResourceHandle;
    if (flags > EVENT_EXTERNAL) return cudaErrorInvalidValue;
    if (event->capture) return wait_captured(stream, event);
    if (stream_is_captured(stream) && flags) return capture_event(NODE_WAIT, event, stream);
    if (stream_is_captured(stream) && event->is_recorded) {
        failures_because("the event was recorded outside of the capture: record it inside, or wait by cudaEventWaitExternal");
        stream_refuse_capture(stream);
        return cudaErrorStreamCaptureIsolation;
    }
    if (captures_bar_stream(stream)) return cudaErrorStreamCaptureImplicit;
    if (event->is_recorded) host_join(event->stream, event->device, event->number);
    stream_advance(stream, event->known);
    return cudaSuccess;
}

API cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags) { return CALL(wait_event(stream, event, flags)); }
ALSO(cudaStreamWaitEvent, _ptsz)

struct event_call {
    struct operation operation;
    cudaEvent_t event;
};

cudaEvent_t event_of(const struct operation *operation) { return ((const struct event_call *)operation)->event; }

cudaError_t event_make(enum operation_kind kind, cudaEvent_t event, struct operation **made) {
    const struct event_call call = {{kind, sizeof call, NULL}, event};
    return find_event(event) ? operation_keep(&call.operation, made) : cudaErrorInvalidValue;
}

cudaError_t event_record_node(const struct operation *operation, cudaStream_t stream, order_set known) {
    stream_note_launch("of a graph", stream); /* what its steps up to here may still touch */
    return record_event(event_of(operation), stream, known);
}

cudaError_t event_wait_node(const struct operation *operation, order_set *known) {
    const cudaEvent_t event = event_of(operation);
    if (!find_event(event)) return cudaErrorInvalidResourceHandle;
    if (event->is_recorded) host_join(event->stream, event->device, event->number);
    *known |= event->known;
    return cudaSuccess;
}

static bool has_time(cudaEvent_t event) {
    return find_event(event) && event->is_recorded && !(event->flags & EVENT_WITHOUT_TIME);
}

static cudaError_t get_elapsed(float *milliseconds, cudaEvent_t from, cudaEvent_t to) {
    if (!has_time(from) || !has_time(to) || from->device != to->device) return cudaErrorInvalidResourceHandle;
    *milliseconds = (float)(((double)to->time - (double)from->time) * 1e-6);
    return cudaSuccess;
}

API cudaEventElapsedTime(float *milliseconds, cudaEvent_t from, cudaEvent_t to) {
    return CALL_WITH(milliseconds, get_elapsed(milliseconds, from, to));
}
