/* Logs of errors.  The stand-in says at once what is wrong, on standard error, so they are empty and no callback is called. */
#include "driver.h"

#include <stdio.h>

typedef void log_callback(void *data, int level, char *message, size_t length);

static cudaError_t register_callback(log_callback *callback, void **handle) {
    static char entry; /* its address stands for every callback */
    if (!callback) return cudaErrorInvalidValue;
    if (handle) *handle = &entry;
    return cudaSuccess;
}

static cudaError_t unregister_callback(void *handle) { return handle ? cudaSuccess : cudaErrorInvalidValue; }

static cudaError_t begin(unsigned *iterator, unsigned flags) {
    if (!iterator || flags) return cudaErrorInvalidValue;
    *iterator = 0;
    return cudaSuccess;
}

static cudaError_t dump_to_file(const char *path, unsigned flags) {
    FILE *file = path && !flags ? fopen(path, "w") : NULL;
    return file && !fclose(file) ? cudaSuccess : cudaErrorInvalidValue;
}

static cudaError_t dump_to_memory(char *buffer, size_t *size, unsigned flags) {
    if (!buffer || !size || !*size || flags) return cudaErrorInvalidValue;
    *buffer = '\0';
    *size = 0;
    return cudaSuccess;
}

API cudaLogsRegisterCallback(log_callback *callback, void *data, void **handle) {
    (void)data;
    return CALL(register_callback(callback, handle));
}

API cudaLogsUnregisterCallback(void *handle) { return CALL(unregister_callback(handle)); }
API cudaLogsCurrent(unsigned *iterator, unsigned flags) { return CALL(begin(iterator, flags)); }

API cudaLogsDumpToFile(unsigned *iterator, const char *path, unsigned flags) {
    (void)iterator;
    return CALL(dump_to_file(path, flags));
}

API cudaLogsDumpToMemory(unsigned *iterator, char *buffer, size_t *size, unsigned flags) {
    (void)iterator;
    return CALL(dump_to_memory(buffer, size, flags));
}

DRIVER cuLogsRegisterCallback(log_callback *callback, void *data, void **handle) {
    (void)data;
    return DRIVE_BARE(register_callback(callback, handle));
}

DRIVER cuLogsUnregisterCallback(void *handle) { return DRIVE_BARE(unregister_callback(handle)); }
DRIVER cuLogsCurrent(unsigned *iterator, unsigned flags) { return DRIVE_BARE(begin(iterator, flags)); }

DRIVER cuLogsDumpToFile(unsigned *iterator, const char *path, unsigned flags) {
    (void)iterator;
    return DRIVE_BARE(dump_to_file(path, flags));
}

DRIVER cuLogsDumpToMemory(unsigned *iterator, char *buffer, size_t *size, unsigned flags) {
    (void)iterator;
    return DRIVE_BARE(dump_to_memory(buffer, size, flags));
}
