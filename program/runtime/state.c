/* What the whole stand-in knows: its machine and record, the devices, and the calling thread's. */
#include "runtime.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct runtime runtime;
_Thread_local struct thread runtime_thread;

void runtime_use(int device) {
    runtime_thread.device = device;
    if (runtime.machine)
        simt_machine_set_device(runtime.machine, (uint32_t)device, runtime.devices[device].peers);
}

cudaError_t device_check(int device) {
    return device >= 0 && device < runtime.device_count ? cudaSuccess : cudaErrorInvalidDevice;
}

void runtime_say(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fputs("warpfold: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
}

void runtime_pass(uint64_t units) {
    enum { CALL_NANOSECONDS = 1000 };
    runtime.clock += CALL_NANOSECONDS + units;
}

cudaError_t runtime_error_of(simt_error error) {
    return error == SIMT_ERROR_MEMORY ? cudaErrorMemoryAllocation : error ? cudaErrorInvalidValue : cudaSuccess;
}

/* What a program can do about it. */
static const char *way_out(const char *name) {
    if (strstr(name, "TexRef") || strstr(name, "SurfRef"))
        return ": textures and surfaces are objects (cuTexObjectCreate)";
    if (strstr(name, "Ipc") || strstr(name, "Shareable")) return ": there is one process";
    return "";
}

/* Each name is reported once. */
cudaError_t runtime_lacks(const char *name) {
    enum { NAMES = 512 }; /* more than are absent */
    static const char *told[NAMES];
    int i = 0;
    while (i < NAMES && told[i] && strcmp(told[i], name)) i++;
    if (i < NAMES && !told[i]) {
        told[i] = name;
        runtime_say("%s is not supported by the simulator%s", name, way_out(name));
    }
    return cudaErrorNotSupported;
}
