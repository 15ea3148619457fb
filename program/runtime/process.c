/* The beginning and the end of the program. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "program/gpus.h"
#include "runtime.h"
#include "virtual.h"

static const struct gpu gpus[] = {
#define GPU(word, ...) {#word, __VA_ARGS__},
    PROGRAM_GPUS(GPU)
#undef GPU
};

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
    order_hold(streams_strike);
    order_hold(execs_strike);
    runtime.gpu = &gpus[runtime.record->settings.gpu];
    uint32_t count = runtime.record->settings.gpus;
    runtime.device_count = count >= 1 && count <= SIMT_DEVICES ? (int)count : 1;
    runtime.memory_nbytes = memory_limit(runtime.gpu, (size_t)runtime.device_count);
}

/* After a launch that failed for good: every call that would free memory fails, too. */
static bool has_failed(void) {
    for (int d = 0; d < SIMT_DEVICES; d++)
        if (runtime.devices[d].sticky) return true;
    return false;
}

__attribute__((destructor)) static void end(void) {
    if (!runtime.machine) return;
    results_tell();
    if (touched_is_short())
        runtime_say("out of memory for what kernels and copies touch: races between them may be missing in the report");
    if (!has_failed()) {
        memory_count_leaks();
        virtual_count_leaks();
    }
    runtime.record->has_ended = 1;
}
