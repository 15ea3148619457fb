#include "cuda/gpu.h"
#include "common/getenv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CAPABILITY_LEAST = 75 };

/* ---- names --------------------------------------------------------------------------------------- */

int32_t wf_gpu_count(void) {
    const struct wf_driver *driver = wf_driver_open(NULL, 0);
    int count = 0;
    return driver && !driver->DeviceGetCount(&count) ? count : 0;
}

int wf_gpu_ordinal(const char *name) {
    static const char kind[] = "cuda";
    size_t length = strlen(kind);
    if (strncmp(name, kind, length)) return -1;
    name += length;
    if (!*name) return 0;
    if (*name++ != ':') return -1;
    size_t digits = strspn(name, "0123456789");
    return digits && digits <= 4 && !name[digits] ? atoi(name) : -1;
}

static wf_error find_device(wf_handle *handle, const struct wf_driver *driver, const char *name,
                            struct wf_gpu *gpu) {
    int count = 0;
    gpu->ordinal = wf_gpu_ordinal(name);
    if (gpu->ordinal < 0)
        return wf_fail(handle, WF_ERROR_DEVICE, "'%s' is not a GPU: use cuda, or cuda:N with N from 0", name);
    wf_error error = wf_driver_check(handle, driver->DeviceGetCount(&count), "cuDeviceGetCount", "%s", name);
    if (error) return error;
    if (count <= 0)
        return wf_fail(handle, WF_ERROR_DEVICE, "the driver finds no GPU: see nvidia-smi and CUDA_VISIBLE_DEVICES");
    if (gpu->ordinal >= count)
        return wf_fail(handle, WF_ERROR_DEVICE,
                       "no GPU %d: the last of %d is cuda:%d; see nvidia-smi and CUDA_VISIBLE_DEVICES",
                       gpu->ordinal, count, count - 1);
    return wf_driver_check(handle, driver->DeviceGet(&gpu->device, gpu->ordinal), "cuDeviceGet", "%s", name);
}

/* ---- properties ---------------------------------------------------------------------------------- */

static wf_error get_attributes(wf_handle *handle, const struct wf_driver *driver, struct wf_gpu *gpu) {
    int l2_nbytes = 0;
    const struct {
        int attribute;
        int *value;
    } wanted[] = {
        {WF_CUDA_CAPABILITY_MAJOR, &gpu->major},
        {WF_CUDA_CAPABILITY_MINOR, &gpu->minor},
        {WF_CUDA_MULTIPROCESSORS, &gpu->multiprocessors},
        {WF_CUDA_THREADS_PER_MULTIPROCESSOR, &gpu->threads_per_multiprocessor},
        {WF_CUDA_SHARED_PER_MULTIPROCESSOR, &gpu->shared_per_multiprocessor},
        {WF_CUDA_SHARED_PER_BLOCK_OPTIN, &gpu->shared_per_block},
        {WF_CUDA_L2_NBYTES, &l2_nbytes},
    };
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        wf_cuda_result result = driver->DeviceGetAttribute(wanted[i].value, wanted[i].attribute, gpu->device);
        wf_error error = wf_driver_check(handle, result, "cuDeviceGetAttribute", "cuda:%d, attribute %d",
                                         gpu->ordinal, wanted[i].attribute);
        if (error) return error;
    }
    gpu->l2_nbytes = l2_nbytes;
    return WF_OK;
}

static wf_error get_properties(wf_handle *handle, const struct wf_driver *driver, struct wf_gpu *gpu) {
    size_t memory_nbytes = 0;
    wf_cuda_result result = driver->DeviceGetName(gpu->name, sizeof gpu->name, gpu->device);
    wf_error error = wf_driver_check(handle, result, "cuDeviceGetName", "cuda:%d", gpu->ordinal);
    if (!error)
        error = wf_driver_check(handle, driver->DeviceTotalMem(&memory_nbytes, gpu->device), "cuDeviceTotalMem",
                                "cuda:%d", gpu->ordinal);
    gpu->memory_nbytes = (int64_t)memory_nbytes;
    return error ? error : get_attributes(handle, driver, gpu);
}

static wf_error check_capability(wf_handle *handle, const struct wf_gpu *gpu) {
    if (gpu->major * 10 + gpu->minor >= CAPABILITY_LEAST) return WF_OK;
    return wf_fail(handle, WF_ERROR_DEVICE,
                   "%s has compute capability %d.%d, but warpfold needs %d.%d or later: use the device cpu",
                   gpu->name, gpu->major, gpu->minor, CAPABILITY_LEAST / 10, CAPABILITY_LEAST % 10);
}

void wf_gpu_describe(const struct wf_gpu *gpu, char *text, size_t capacity) {
    int version = wf_driver_open(NULL, 0)->version;
    snprintf(text, capacity,
             "cuda:%d: %s, compute capability %d.%d, %d multiprocessors, %.1f GiB, driver for CUDA %d.%d",
             gpu->ordinal, gpu->name, gpu->major, gpu->minor, gpu->multiprocessors,
             (double)gpu->memory_nbytes / (1 << 30), version / 1000, version % 1000 / 10);
}

/* ---- opening ------------------------------------------------------------------------------------- */

static wf_error open_device(wf_handle *handle, const struct wf_driver *driver, const char *name,
                            struct wf_gpu *gpu) {
    wf_error error = find_device(handle, driver, name, gpu);
    if (!error) error = get_properties(handle, driver, gpu);
    if (!error) error = check_capability(handle, gpu);
    if (error) return error;
    wf_cuda_result result = driver->DevicePrimaryCtxRetain(&gpu->context, gpu->device);
    return wf_driver_check(handle, result, "cuDevicePrimaryCtxRetain", "cuda:%d", gpu->ordinal);
}

/* In less, a second launch takes as long as what is gained, or nearly so. */
#define LOSES_FROM (INT64_C(1) << 28)

wf_error wf_gpu_open(wf_handle *handle, const char *name, struct wf_gpu *gpu) {
    char why[512];
    *gpu = (struct wf_gpu){.ordinal = -1};
    const struct wf_driver *driver = wf_driver_open(why, sizeof why);
    if (!driver) return wf_fail(handle, wf_driver_open_error(), "%s", why);
    wf_error error = open_device(handle, driver, name, gpu);
    const char *small = wf_getenv("WARPFOLD_CUDA_SMALL");
    gpu->takes_small = !small || strcmp(small, "0");
    const char *from = wf_getenv("WARPFOLD_CUDA_LOSES_FROM");
    gpu->loses_from = from ? atoll(from) : LOSES_FROM;
    const char *fewer = getenv("WARPFOLD_CUDA_MULTIPROCESSORS");
    int count = fewer ? atoi(fewer) : 0;
    if (count > 0 && count < gpu->multiprocessors) gpu->multiprocessors = count;
    if (error) *gpu = (struct wf_gpu){.ordinal = -1};
    return error;
}

void wf_gpu_close(struct wf_gpu *gpu) {
    /* The result is ignored: at the end of a process the driver may already be gone. */
    if (gpu->context) wf_driver_open(NULL, 0)->DevicePrimaryCtxRelease(gpu->device);
    *gpu = (struct wf_gpu){.ordinal = -1};
}

wf_error wf_gpu_enter(wf_handle *handle, const struct wf_gpu *gpu) {
    return WF_DRIVER_CALL(handle, CtxPushCurrent, (gpu->context), "cuda:%d", gpu->ordinal);
}

void wf_gpu_leave(const struct wf_gpu *gpu) {
    (void)gpu;
    wf_cuda_context left;
    wf_driver_open(NULL, 0)->CtxPopCurrent(&left);
}
