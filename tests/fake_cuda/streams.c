/* Streams and events.  Work is done when it is asked for, so that all that is left is when copies arrive. */
#define _POSIX_C_SOURCE 200809L
#include "fake.h"

static bool is_usable(const struct CUstream_st *stream) {
    return !stream || (stream->ordinal == fake_ordinal() && !stream->is_destroyed);
}

static bool is_event(const struct CUevent_st *event) {
    return event && !event->is_destroyed;
}

/* ---- streams ------------------------------------------------------------------------------------- */

wf_cuda_result cuStreamCreate(wf_cuda_stream *stream, unsigned flags) {
    (void)flags;
    wf_cuda_result result = fake_begin("StreamCreate", true);
    if (result) return result;
    struct CUstream_st *made = calloc(1, sizeof *made);
    if (!made) return fake_end(CUDA_OUT_OF_MEMORY);
    *made = (struct CUstream_st){.ordinal = fake_ordinal(), .next = fake.streams};
    fake.streams = *stream = made;
    return fake_end(CUDA_SUCCESS);
}

wf_cuda_result cuStreamDestroy_v2(wf_cuda_stream stream) {
    wf_cuda_result result = fake_begin("StreamDestroy", true);
    if (result) return result;
    if (!stream || stream->is_destroyed) return fake_end(CUDA_INVALID_HANDLE);
    fake_deliver(stream);
    stream->is_destroyed = true;
    return fake_end(CUDA_SUCCESS);
}

wf_cuda_result cuCtxSynchronize(void) {
    wf_cuda_result result = fake_begin("CtxSynchronize", true);
    if (result) return result;
    fake_deliver(NULL);
    return fake_end(CUDA_SUCCESS);
}

wf_cuda_result cuStreamSynchronize(wf_cuda_stream stream) {
    wf_cuda_result result = fake_begin("StreamSynchronize", true);
    if (result) return result;
    if (!is_usable(stream)) return fake_end(CUDA_INVALID_HANDLE);
    fake_deliver(stream);
    return fake_end(CUDA_SUCCESS);
}

/* From then on waiting for the stream is waiting for what the event stands behind. */
wf_cuda_result cuStreamWaitEvent(wf_cuda_stream stream, wf_cuda_event event, unsigned flags) {
    (void)flags;
    wf_cuda_result result = fake_begin("StreamWaitEvent", true);
    if (result) return result;
    if (!is_usable(stream) || !is_event(event)) return fake_end(CUDA_INVALID_HANDLE);
    if (event->is_recorded) fake_deliver(event->stream);
    return fake_end(CUDA_SUCCESS);
}

wf_cuda_result cuStreamIsCapturing(wf_cuda_stream stream, int *status) {
    wf_cuda_result result = fake_begin("StreamIsCapturing", true);
    if (result) return result;
    *status = 0;
    return fake_end(is_usable(stream) ? CUDA_SUCCESS : CUDA_INVALID_HANDLE);
}

/* ---- events -------------------------------------------------------------------------------------- */

wf_cuda_result cuEventCreate(wf_cuda_event *event, unsigned flags) {
    (void)flags;
    wf_cuda_result result = fake_begin("EventCreate", true);
    if (result) return result;
    struct CUevent_st *made = calloc(1, sizeof *made);
    if (!made) return fake_end(CUDA_OUT_OF_MEMORY);
    made->next = fake.events;
    fake.events = *event = made;
    return fake_end(CUDA_SUCCESS);
}

wf_cuda_result cuEventDestroy_v2(wf_cuda_event event) {
    wf_cuda_result result = fake_begin("EventDestroy", true);
    if (result) return result;
    if (!is_event(event)) return fake_end(CUDA_INVALID_HANDLE);
    event->is_destroyed = true;
    return fake_end(CUDA_SUCCESS);
}

wf_cuda_result cuEventRecord(wf_cuda_event event, wf_cuda_stream stream) {
    wf_cuda_result result = fake_begin("EventRecord", true);
    if (result) return result;
    if (!is_usable(stream) || !is_event(event)) return fake_end(CUDA_INVALID_HANDLE);
    event->stream = stream;
    event->is_recorded = true;
    clock_gettime(CLOCK_MONOTONIC, &event->when);
    return fake_end(CUDA_SUCCESS);
}

wf_cuda_result cuEventSynchronize(wf_cuda_event event) {
    wf_cuda_result result = fake_begin("EventSynchronize", true);
    if (result) return result;
    if (!is_event(event)) return fake_end(CUDA_INVALID_HANDLE);
    if (event->is_recorded) fake_deliver(event->stream);
    return fake_end(CUDA_SUCCESS);
}

wf_cuda_result cuEventElapsedTime(float *milliseconds, wf_cuda_event start, wf_cuda_event end) {
    wf_cuda_result result = fake_begin("EventElapsedTime", true);
    if (result) return result;
    if (!is_event(start) || !is_event(end) || !start->is_recorded || !end->is_recorded)
        return fake_end(CUDA_INVALID_HANDLE);
    double elapsed = (double)(end->when.tv_sec - start->when.tv_sec) * 1e3 +
                     (double)(end->when.tv_nsec - start->when.tv_nsec) / 1e6;
    *milliseconds = (float)(elapsed * fake.slower);
    return fake_end(CUDA_SUCCESS);
}
