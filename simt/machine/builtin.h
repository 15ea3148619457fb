/* Functions that the device's runtime brings, which kernels declare and call. */
#ifndef SIMT_BUILTIN_H
#define SIMT_BUILTIN_H

#include "machine.h"

enum { BUILTIN_PARAMETERS_MAX = 5 };

struct builtin {
    const char *name;
    builtin_function *function;
    uint8_t result, parameters[BUILTIN_PARAMETERS_MAX + 1]; /* sizes in bytes; 0: none, and ends the list */
    bool allocates; /* launches of modules that declare it run on one host thread */
};

/* The lists of builtin.c and device_runtime.c; an entry without a name ends each. */
extern const struct builtin simt_builtins[], simt_device_runtime[];

/* Argument `a` of the call, as the lane's frame holds it, and the call's result. */
void simt_builtin_read(const struct warp *warp, const struct path *path, const struct code *code, uint32_t a, uint32_t lane,
                       void *bytes, size_t nbytes);
uint64_t simt_builtin_argument(const struct warp *warp, const struct path *path, const struct code *code, uint32_t a,
                               uint32_t lane);
void simt_builtin_result(const struct warp *warp, const struct path *path, const struct code *code, uint32_t lane,
                         uint64_t value);

/* A finding, which has the address where `what` has %llx, and stops the launch; always false. */
bool simt_builtin_refuse(struct warp *warp, struct path *path, uint32_t mask, uint32_t lane, uint64_t address,
                         const char *what);

/* Memory of the kernels' heap; *address = 0: it is full.  false: the host has none, and the launch ends. */
bool simt_builtin_allocate(struct warp *warp, const struct path *path, uint32_t lane, uint64_t nbytes, uint64_t *address);
bool simt_builtin_free(struct warp *warp, struct path *path, const struct code *code, uint32_t mask);

/* leaks.c: notes an allocation of the lane's.  false: no memory. */
bool simt_births_add(const struct warp *warp, const struct path *path, uint32_t lane, const struct allocation *allocation);

#endif
