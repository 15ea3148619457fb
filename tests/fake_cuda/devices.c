/* The driver itself, devices, contexts, and the words for results. */
#include "fake.h"

#include <stdio.h>
#include <string.h>

struct fake fake = {.lock = PTHREAD_MUTEX_INITIALIZER};

enum { STACK_MAX = 16 };
static _Thread_local struct CUctx_st *context_stack[STACK_MAX];
static _Thread_local int context_count;

wf_cuda_result fake_begin(const char *name, bool needs_context) {
    pthread_mutex_lock(&fake.lock);
    if (!fake.is_initialised) return fake_end(CUDA_NOT_INITIALIZED);
    wf_cuda_result result = fake.sticky ? fake.sticky : fake_fault(name);
    if (result) return fake_end(result);
    if (!needs_context) return CUDA_SUCCESS;
    bool has_context = context_count > 0 && context_stack[context_count - 1]->retained > 0;
    return has_context ? CUDA_SUCCESS : fake_end(CUDA_INVALID_CONTEXT);
}

wf_cuda_result fake_end(wf_cuda_result result) {
    if (result >= CUDA_FIRST_STICKY && result <= CUDA_LAST_STICKY) fake.sticky = result;
    pthread_mutex_unlock(&fake.lock);
    return result;
}

int fake_ordinal(void) {
    return context_stack[context_count - 1]->ordinal;
}

/* ---- the driver ---------------------------------------------------------------------------------- */

static long number_from(const char *variable, long otherwise) {
    const char *text = getenv(variable);
    return text ? strtol(text, NULL, 10) : otherwise;
}

static wf_cuda_result initialise(void) {
    const char *capability = getenv("FAKE_CUDA_CAPABILITY");
    fake.device_count = (int)number_from("FAKE_CUDA_DEVICES", 1);
    if (fake.device_count < 0 || fake.device_count > DEVICES_MAX) return CUDA_INVALID_VALUE;
    if (!capability) capability = "7.5";
    if (sscanf(capability, "%d.%d", &fake.major, &fake.minor) != 2) return CUDA_INVALID_VALUE;
    fake.multiprocessors = (int)number_from("FAKE_CUDA_MULTIPROCESSORS", 4);
    fake.memory_nbytes = (size_t)number_from("FAKE_CUDA_MEMORY", 1L << 30);
    fake.slower = (int)number_from("FAKE_CUDA_SLOWER", 1);
    fake.observes = number_from("FAKE_CUDA_OBSERVE", 0) != 0;
    for (int i = 0; i < DEVICES_MAX; i++) fake.contexts[i].ordinal = i;
    if (simt_machine_create(NULL, &fake.machine)) return CUDA_OUT_OF_MEMORY;
    fake.is_initialised = true;
    return CUDA_SUCCESS;
}

wf_cuda_result cuInit(unsigned flags) {
    pthread_mutex_lock(&fake.lock);
    wf_cuda_result result = flags ? CUDA_INVALID_VALUE : fake_fault("Init");
    if (!result && !fake.is_initialised) result = initialise();
    return fake_end(result);
}

wf_cuda_result cuDriverGetVersion(int *version) {
    *version = (int)number_from("FAKE_CUDA_VERSION", 13000);
    return CUDA_SUCCESS;
}

/* ---- words --------------------------------------------------------------------------------------- */

static const struct {
    wf_cuda_result result;
    const char *name, *text;
} known_results[] = {
    {CUDA_SUCCESS, "CUDA_SUCCESS", "no error"},
    {CUDA_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {CUDA_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {CUDA_NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {100, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {CUDA_INVALID_DEVICE, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {CUDA_INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {CUDA_NO_BINARY_FOR_GPU, "CUDA_ERROR_NO_BINARY_FOR_GPU", "no kernel image is available"},
    {CUDA_INVALID_PTX, "CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed"},
    {CUDA_INVALID_HANDLE, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {CUDA_NOT_FOUND, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {CUDA_FIRST_STICKY, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {CUDA_LAUNCH_FAILED, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    {CUDA_NOT_SUPPORTED, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
    {803, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH", "driver and library do not match"},
};

static wf_cuda_result find_words(wf_cuda_result result, const char **name, const char **text) {
    for (size_t i = 0; i < sizeof known_results / sizeof known_results[0]; i++) {
        if (known_results[i].result != result) continue;
        *name = known_results[i].name;
        *text = known_results[i].text;
        if (result == CUDA_LAUNCH_FAILED && fake.failure[0]) *text = fake.failure;
        return CUDA_SUCCESS;
    }
    *name = *text = NULL;
    return CUDA_INVALID_VALUE;
}

wf_cuda_result cuGetErrorName(wf_cuda_result result, const char **name) {
    const char *text;
    return find_words(result, name, &text);
}

wf_cuda_result cuGetErrorString(wf_cuda_result result, const char **text) {
    const char *name;
    return find_words(result, &name, text);
}

/* ---- devices ------------------------------------------------------------------------------------- */

wf_cuda_result cuDeviceGetCount(int *count) {
    wf_cuda_result result = fake_begin("DeviceGetCount", false);
    if (result) return result;
    *count = fake.device_count;
    return fake_end(CUDA_SUCCESS);
}

static bool is_device(int ordinal) {
    return ordinal >= 0 && ordinal < fake.device_count;
}

wf_cuda_result cuDeviceGet(wf_cuda_ordinal *device, int ordinal) {
    wf_cuda_result result = fake_begin("DeviceGet", false);
    if (result) return result;
    *device = ordinal;
    return fake_end(is_device(ordinal) ? CUDA_SUCCESS : CUDA_INVALID_DEVICE);
}

wf_cuda_result cuDeviceGetName(char *name, int capacity, wf_cuda_ordinal device) {
    wf_cuda_result result = fake_begin("DeviceGetName", false);
    if (result) return result;
    snprintf(name, (size_t)capacity, "SIMT simulator");
    return fake_end(is_device(device) ? CUDA_SUCCESS : CUDA_INVALID_DEVICE);
}

wf_cuda_result cuDeviceTotalMem_v2(size_t *nbytes, wf_cuda_ordinal device) {
    wf_cuda_result result = fake_begin("DeviceTotalMem", false);
    if (result) return result;
    *nbytes = fake.memory_nbytes;
    return fake_end(is_device(device) ? CUDA_SUCCESS : CUDA_INVALID_DEVICE);
}

wf_cuda_result cuDeviceGetAttribute(int *value, int attribute, wf_cuda_ordinal device) {
    wf_cuda_result result = fake_begin("DeviceGetAttribute", false);
    if (result) return result;
    const struct {
        int attribute, value;
    } attributes[] = {
        {WF_CUDA_MAX_THREADS_PER_BLOCK, 1024},
        {WF_CUDA_SHARED_PER_BLOCK, 48 << 10},
        {WF_CUDA_CLOCK_KHZ, 1000000},
        {WF_CUDA_MULTIPROCESSORS, fake.multiprocessors},
        {WF_CUDA_MEMORY_CLOCK_KHZ, 1000000},
        {WF_CUDA_MEMORY_BUS_BITS, 256},
        {WF_CUDA_L2_NBYTES, (int)number_from("FAKE_CUDA_L2_NBYTES", 1 << 20)},
        {WF_CUDA_THREADS_PER_MULTIPROCESSOR, 1024},
        {WF_CUDA_CAPABILITY_MAJOR, fake.major},
        {WF_CUDA_CAPABILITY_MINOR, fake.minor},
        {WF_CUDA_SHARED_PER_MULTIPROCESSOR, (fake.major < 9 ? 64 : 228) << 10},
        {WF_CUDA_SHARED_PER_BLOCK_OPTIN, (fake.major < 9 ? 64 : 227) << 10},
    };
    if (!is_device(device)) return fake_end(CUDA_INVALID_DEVICE);
    for (size_t i = 0; i < sizeof attributes / sizeof attributes[0]; i++) {
        if (attributes[i].attribute != attribute) continue;
        *value = attributes[i].value;
        return fake_end(CUDA_SUCCESS);
    }
    return fake_end(CUDA_INVALID_VALUE);
}

/* ---- contexts ------------------------------------------------------------------------------------ */

wf_cuda_result cuDevicePrimaryCtxRetain(wf_cuda_context *context, wf_cuda_ordinal device) {
    wf_cuda_result result = fake_begin("DevicePrimaryCtxRetain", false);
    if (result) return result;
    if (!is_device(device)) return fake_end(CUDA_INVALID_DEVICE);
    *context = &fake.contexts[device];
    (*context)->retained++;
    return fake_end(CUDA_SUCCESS);
}

wf_cuda_result cuDevicePrimaryCtxRelease_v2(wf_cuda_ordinal device) {
    wf_cuda_result result = fake_begin("DevicePrimaryCtxRelease", false);
    if (result) return result;
    if (!is_device(device) || !fake.contexts[device].retained) return fake_end(CUDA_INVALID_CONTEXT);
    fake.contexts[device].retained--;
    return fake_end(CUDA_SUCCESS);
}

wf_cuda_result cuCtxPushCurrent_v2(wf_cuda_context context) {
    wf_cuda_result result = fake_begin("CtxPushCurrent", false);
    if (result) return result;
    if (!context || !context->retained || context_count == STACK_MAX) return fake_end(CUDA_INVALID_CONTEXT);
    context_stack[context_count++] = context;
    return fake_end(CUDA_SUCCESS);
}

wf_cuda_result cuCtxPopCurrent_v2(wf_cuda_context *context) {
    if (!context_count) return CUDA_INVALID_CONTEXT;
    *context = context_stack[--context_count]; /* even of a context that is broken */
    return CUDA_SUCCESS;
}
