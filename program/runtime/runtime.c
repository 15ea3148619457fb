#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "runtime.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "program/gpus.h"

struct runtime runtime;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
_Thread_local struct thread runtime_thread;

static const struct gpu gpus[] = {
#define GPU(word, ...) {#word, __VA_ARGS__},
    PROGRAM_GPUS(GPU)
#undef GPU
};

/* ---- beginning and end --------------------------------------------------------------------------- */

/* The record that `warpfold run` has made; NULL: there is none, or none that fits. */
static struct record *open_record(void) {
    const char *number = getenv(RECORD_VARIABLE);
    struct stat status;
    int file = number && *number ? atoi(number) : -1;
    if (file < 0 || fstat(file, &status) || status.st_size != (off_t)sizeof(struct record)) return NULL;
    struct record *record = mmap(NULL, sizeof *record, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (record == MAP_FAILED) return NULL;
    if (record->version == RECORD_VERSION && record->settings.gpu < sizeof gpus / sizeof *gpus) return record;
    munmap(record, sizeof *record);
    return NULL;
}

/* A GPU has what it has, but all of them no more than half of what this computer has. */
static size_t memory_limit(const struct gpu *gpu, size_t count) {
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    size_t limit = (size_t)gpu->memory_gb << 30;
    size_t half = pages > 0 && page > 0 ? (size_t)pages / 2 * (size_t)page : limit;
    return half / count < limit ? half / count : limit;
}

/* Before the program's own constructors, which register its kernels. */
__attribute__((constructor)) static void begin(void) {
    runtime.record = open_record();
    if (!runtime.record) { /* loaded directly: kernels are simulated, but not reported */
        runtime.record = calloc(1, sizeof *runtime.record);
        if (!runtime.record) return;
    }
    runtime.gpu = &gpus[runtime.record->settings.gpu];
    uint32_t count = runtime.record->settings.gpus;
    runtime.device_count = count >= 1 && count <= SIMT_DEVICES ? (int)count : 1;
    runtime.memory_nbytes = memory_limit(runtime.gpu, (size_t)runtime.device_count);
}

__attribute__((destructor)) static void end(void) {
    if (!runtime.machine) return;
    memory_count_leaks();
    runtime.record->has_ended = 1;
}

/* ---- calls --------------------------------------------------------------------------------------- */

void runtime_use(int device) {
    runtime_thread.device = device;
    if (runtime.machine)
        simt_machine_set_device(runtime.machine, (uint32_t)device, runtime.devices[device].peers);
}

void runtime_enter(void) {
    pthread_mutex_lock(&lock);
    host_open();
    runtime_use(runtime_thread.device);
}

void runtime_leave(void) {
    host_close();
    pthread_mutex_unlock(&lock);
}

/* Not before the first call: other programs that this one starts may load the stand-in, too. */
static void create_machine(void) {
    if (!runtime.record || simt_machine_create(NULL, &runtime.machine)) {
        runtime.machine = NULL;
        for (int d = 0; d < SIMT_DEVICES; d++) runtime.devices[d].sticky = cudaErrorMemoryAllocation;
        return;
    }
    runtime_use(runtime_thread.device);
    runtime.record->has_begun = 1;
}

bool runtime_begin(void) {
    runtime_enter();
    runtime_thread.has_called = true;
    if (!runtime.machine) create_machine();
    return !device_current()->sticky;
}

cudaError_t runtime_end(const char *call, cudaError_t error) {
    failures_note(call, error);
    if (error) runtime_thread.last_error = error;
    runtime_leave();
    return error;
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
    enum { NAMES = 64 };
    static const char *told[NAMES];
    int i = 0;
    while (i < NAMES && told[i] && strcmp(told[i], name)) i++;
    if (i < NAMES && !told[i]) {
        told[i] = name;
        runtime_say("%s is not supported by the simulator%s", name, way_out(name));
    }
    return cudaErrorNotSupported;
}

cudaError_t runtime_absent(const char *name) {
    runtime_enter();
    return runtime_end(name, runtime_lacks(name));
}

/* ---- errors -------------------------------------------------------------------------------------- */

/* An error of a launch is told by every call once one has met it, as on a GPU, where the launch's own call is over
 * before the kernel is. */
static cudaError_t take_error(bool is_reset) {
    runtime_enter();
    cudaError_t error = runtime_thread.last_error;
    if (error) failures_ask();
    if (is_reset && (!error || error != device_current()->sticky)) runtime_thread.last_error = cudaSuccess;
    runtime_leave();
    return error;
}

API cudaGetLastError(void) { return take_error(true); }

API cudaPeekAtLastError(void) { return take_error(false); }

#define TEXT __attribute__((visibility("default"))) const char *

TEXT cudaGetErrorName(cudaError_t error) {
    switch (error) {
#define NAME(name, number, text)                                                                                   \
    case name: return #name;
        CUDA_ERRORS(NAME)
#undef NAME
    }
    return "unrecognized error code";
}

TEXT cudaGetErrorString(cudaError_t error) {
    switch (error) {
#define STRING(name, number, text)                                                                                 \
    case name: return text;
        CUDA_ERRORS(STRING)
#undef STRING
    }
    return "unrecognized error code";
}
