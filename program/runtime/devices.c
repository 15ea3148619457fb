/* Which of the devices is meant, and whose memory each may access.  All are of one kind, in one address space, so that a
 * pointer tells whose memory it is. */
#include "runtime.h"

#include <stdio.h>
#include <string.h>

enum { RUNTIME_VERSION = 13000 };

/* ---- the current one ----------------------------------------------------------------------------- */

static cudaError_t set_device(int device) {
    cudaError_t error = device_check(device);
    if (error) return error;
    runtime_use(device);
    runtime_thread.chosen = device;
    return device_current()->sticky;
}

API cudaGetDeviceCount(int *count) { return CALL(answer_number(count, runtime.device_count)); }
API cudaGetDevice(int *device) { return CALL(answer_number(device, runtime_thread.device)); }

/* Also where a launch on the device that was current before has failed for good. */
API cudaSetDevice(int device) {
    runtime_begin();
    return runtime_end(__func__, set_device(device));
}

API cudaSetDeviceFlags(unsigned flags) { return CALL(((void)flags, cudaSuccess)); }
API cudaGetDeviceFlags(unsigned *flags) { return CALL_WITH(flags, (*flags = 0, cudaSuccess)); }
API cudaSetValidDevices(int *devices, int count) { return CALL(((void)devices, (void)count, cudaSuccess)); }
API cudaRuntimeGetVersion(int *version) { return CALL(answer_number(version, RUNTIME_VERSION)); }
API cudaDriverGetVersion(int *version) { return CALL(answer_number(version, RUNTIME_VERSION)); }
API cudaDeviceSynchronize(void) {
    return CALL(captures_bar_device() ? cudaErrorStreamCaptureUnsupported : (host_wait_device(runtime_thread.device), cudaSuccess));
}
API cudaProfilerStart(void) { return CALL(cudaSuccess); }
API cudaProfilerStop(void) { return CALL(cudaSuccess); }
API cudaCtxResetPersistingL2Cache(void) { return CALL(cudaSuccess); }

API cudaInitDevice(int device, unsigned device_flags, unsigned flags) {
    (void)device_flags, (void)flags;
    return CALL(device_check(device));
}

API cudaChooseDevice(int *device, const struct cudaDeviceProp *properties) {
    (void)properties;
    return CALL(answer_number(device, 0));
}

/* After an error of a launch, only another process can use the device again, as CUDA documents. */
API cudaDeviceReset(void) {
    const bool is_usable = runtime_begin();
    const cudaError_t error = runtime.machine ? memory_clear() : cudaSuccess;
    return runtime_end(__func__, is_usable ? error : device_current()->sticky);
}

/* ---- on the bus ---------------------------------------------------------------------------------- */

API cudaDeviceGetPCIBusId(char *text, int capacity, int device) {
    enum { LENGTH = 13 };
    cudaError_t error = CALL_WITH(text && capacity >= LENGTH, device_check(device));
    if (!error) snprintf(text, (size_t)capacity, "0000:%02x:00.0", (unsigned)device + 1);
    return error;
}

static cudaError_t find_on_bus(int *device, const char *text) {
    unsigned domain, bus, slot;
    if (!device || !text || sscanf(text, "%x:%x:%x", &domain, &bus, &slot) != 3) return cudaErrorInvalidValue;
    if (domain || slot || !bus || device_check((int)bus - 1)) return cudaErrorInvalidDevice;
    *device = (int)bus - 1;
    return cudaSuccess;
}

API cudaDeviceGetByPCIBusId(int *device, const char *text) { return CALL(find_on_bus(device, text)); }

/* ---- peers --------------------------------------------------------------------------------------- */

static bool is_pair(int device, int peer) { return !device_check(device) && !device_check(peer); }

API cudaDeviceCanAccessPeer(int *can, int device, int peer) {
    return CALL(is_pair(device, peer) ? answer_number(can, device != peer) : cudaErrorInvalidDevice);
}

enum { PEER_RANK = 1, PEER_ACCESS, PEER_ATOMICS, PEER_ARRAYS };

static cudaError_t ask_pair(int *value, int attribute, int device, int peer) {
    if (!is_pair(device, peer) || device == peer) return cudaErrorInvalidDevice;
    if (attribute < PEER_RANK || attribute > PEER_ARRAYS) return cudaErrorInvalidValue;
    return answer_number(value, attribute == PEER_ACCESS || attribute == PEER_ATOMICS);
}

API cudaDeviceGetP2PAttribute(int *value, int attribute, int device, int peer) {
    return CALL(ask_pair(value, attribute, device, peer));
}

static cudaError_t set_peer(int peer, bool is_enabled) {
    uint32_t *peers = &device_current()->peers;
    if (device_check(peer)) return cudaErrorInvalidDevice;
    if (is_enabled && peer == runtime_thread.device) return cudaErrorPeerAccessUnsupported;
    if (is_enabled == (*peers >> peer & 1))
        return is_enabled ? cudaErrorPeerAccessAlreadyEnabled : cudaErrorPeerAccessNotEnabled;
    *peers ^= UINT32_C(1) << peer;
    return cudaSuccess;
}

/* In one direction: the current device's kernels may access the peer's memory. */
API cudaDeviceEnablePeerAccess(int peer, unsigned flags) {
    return CALL(flags ? cudaErrorInvalidValue : set_peer(peer, true));
}

API cudaDeviceDisablePeerAccess(int peer) { return CALL(set_peer(peer, false)); }
