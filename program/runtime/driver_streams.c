/* The driver's streams and events. */
#include "driver.h"

/* ---- streams ------------------------------------------------------------------------------------- */

DRIVER cuStreamCreate(cudaStream_t *stream, unsigned flags) {
    return DRIVE(cudaStreamCreateWithPriority(stream, flags, 0));
}

DRIVER cuStreamCreateWithPriority(cudaStream_t *stream, unsigned flags, int priority) {
    return DRIVE(cudaStreamCreateWithPriority(stream, flags, priority));
}

DRIVER cuStreamDestroy_v2(cudaStream_t stream) { return DRIVE(cudaStreamDestroy(stream)); }
ALSO_UNVERSIONED(cuStreamDestroy)

DRIVER cuStreamSynchronize(cudaStream_t stream) { return DRIVE(cudaStreamSynchronize(stream)); }
ALSO(cuStreamSynchronize, _ptsz)

DRIVER cuStreamQuery(cudaStream_t stream) { return DRIVE(cudaStreamQuery(stream)); }
ALSO(cuStreamQuery, _ptsz)

DRIVER cuStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags) {
    return DRIVE(cudaStreamWaitEvent(stream, event, flags));
}
ALSO(cuStreamWaitEvent, _ptsz)

DRIVER cuStreamGetFlags(cudaStream_t stream, unsigned *flags) { return DRIVE(cudaStreamGetFlags(stream, flags)); }
ALSO(cuStreamGetFlags, _ptsz)

DRIVER cuStreamGetPriority(cudaStream_t stream, int *priority) {
    return DRIVE(cudaStreamGetPriority(stream, priority));
}
ALSO(cuStreamGetPriority, _ptsz)

DRIVER cuStreamGetId(cudaStream_t stream, unsigned long long *number) {
    return DRIVE(cudaStreamGetId(stream, number));
}
ALSO(cuStreamGetId, _ptsz)

DRIVER cuStreamGetDevice(cudaStream_t stream, int *device) { return DRIVE(cudaStreamGetDevice(stream, device)); }
ALSO(cuStreamGetDevice, _ptsz)

static cudaError_t get_context(cudaStream_t stream, CUcontext *context) {
    int device;
    cudaError_t error = cudaStreamGetDevice(stream, &device);
    *context = error ? NULL : driver_context_on(device);
    return error;
}

DRIVER cuStreamGetCtx(cudaStream_t stream, CUcontext *context) { return DRIVE(get_context(stream, context)); }
ALSO(cuStreamGetCtx, _ptsz)

DRIVER cuStreamAttachMemAsync(cudaStream_t stream, CUdeviceptr address, size_t nbytes, unsigned flags) {
    return DRIVE(cudaStreamAttachMemAsync(stream, pointer_to(address), nbytes, flags));
}
ALSO(cuStreamAttachMemAsync, _ptsz)

DRIVER cuLaunchHostFunc(cudaStream_t stream, void (*function)(void *), void *data) {
    return DRIVE(cudaLaunchHostFunc(stream, function, data));
}
ALSO(cuLaunchHostFunc, _ptsz)

DRIVER cuStreamAddCallback(cudaStream_t stream, void (*callback)(cudaStream_t, cudaError_t, void *), void *data,
                           unsigned flags) {
    return DRIVE(cudaStreamAddCallback(stream, callback, data, flags));
}
ALSO(cuStreamAddCallback, _ptsz)

/* ---- events -------------------------------------------------------------------------------------- */

DRIVER cuEventCreate(cudaEvent_t *event, unsigned flags) { return DRIVE(cudaEventCreateWithFlags(event, flags)); }
DRIVER cuEventDestroy_v2(cudaEvent_t event) { return DRIVE(cudaEventDestroy(event)); }
ALSO_UNVERSIONED(cuEventDestroy)
DRIVER cuEventSynchronize(cudaEvent_t event) { return DRIVE(cudaEventSynchronize(event)); }
DRIVER cuEventQuery(cudaEvent_t event) { return DRIVE(cudaEventQuery(event)); }

DRIVER cuEventRecord(cudaEvent_t event, cudaStream_t stream) { return DRIVE(cudaEventRecord(event, stream)); }
ALSO(cuEventRecord, _ptsz)

DRIVER cuEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned flags) {
    (void)flags;
    return DRIVE(cudaEventRecord(event, stream));
}
ALSO(cuEventRecordWithFlags, _ptsz)

DRIVER cuEventElapsedTime(float *milliseconds, cudaEvent_t from, cudaEvent_t to) {
    return DRIVE(cudaEventElapsedTime(milliseconds, from, to));
}
ALSO(cuEventElapsedTime, _v2)

/* ---- attributes ---------------------------------------------------------------------------------- */

DRIVER cuStreamCopyAttributes(cudaStream_t to, cudaStream_t from) { return DRIVE(cudaStreamCopyAttributes(to, from)); }
ALSO(cuStreamCopyAttributes, _ptsz)

DRIVER cuStreamSetAttribute(cudaStream_t stream, int id, const union cudaLaunchAttributeValue *value) {
    return DRIVE(cudaStreamSetAttribute(stream, id, value));
}
ALSO(cuStreamSetAttribute, _ptsz)

DRIVER cuStreamGetAttribute(cudaStream_t stream, int id, union cudaLaunchAttributeValue *value) {
    return DRIVE(cudaStreamGetAttribute(stream, id, value));
}
ALSO(cuStreamGetAttribute, _ptsz)
