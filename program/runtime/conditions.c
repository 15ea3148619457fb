/* Conditional nodes: a handle is the address of a value in device memory, which kernels set by cudaGraphSetConditional. */
#include "graphs.h"

#include <stdlib.h>

struct condition {
    struct condition *next;
    cudaGraphConditionalHandle handle;
    unsigned initial;
    bool has_initial; /* each launch of the graph begins with it */
};

/* Graphs that are launched may outlive the one that the handle was made for: all are kept. */
static struct condition *conditions;

static cudaError_t set(cudaGraphConditionalHandle handle, unsigned value) {
    return runtime_error_of(simt_machine_write(runtime.machine, handle, &value, sizeof value));
}

static cudaError_t create(cudaGraphConditionalHandle *handle, unsigned initial, unsigned flags) {
    enum { ASSIGN_DEFAULT = 1 };
    uint64_t address;
    struct condition *made = calloc(1, sizeof *made);
    if (!made || simt_machine_allocate(runtime.machine, sizeof initial, &address)) {
        free(made);
        return cudaErrorMemoryAllocation;
    }
    *made = (struct condition){conditions, address, initial, flags & ASSIGN_DEFAULT};
    conditions = made;
    *handle = address;
    return set(address, 0);
}

API cudaGraphConditionalHandleCreate(cudaGraphConditionalHandle *handle, cudaGraph_t graph, unsigned initial,
                                     unsigned flags) {
    return CALL(!handle || !graph || flags > 1 ? cudaErrorInvalidValue : create(handle, initial, flags));
}

struct branching {
    struct operation operation;
    const struct condition *condition;
    enum cudaGraphConditionalNodeType type;
    unsigned count; /* of bodies */
};

static cudaError_t run_branch(const struct operation *operation) {
    (void)operation;
    return cudaSuccess;
}

cudaError_t condition_make(const struct cudaConditionalNodeParams *params, struct operation **made) {
    const struct condition *condition = conditions;
    while (condition && condition->handle != params->handle) condition = condition->next;
    const unsigned most[] = {2, 1, 1024};
    if (!condition || (unsigned)params->type > cudaGraphCondTypeSwitch || !params->size || params->size > most[params->type])
        return cudaErrorInvalidValue;
    const struct branching branching = {
        {NODE_CONDITION, sizeof branching, run_branch}, condition, params->type, params->size};
    return operation_keep(&branching.operation, made);
}

unsigned condition_bodies(const struct operation *operation) { return ((const struct branching *)operation)->count; }

bool condition_repeats(const struct operation *operation) {
    return ((const struct branching *)operation)->type == cudaGraphCondTypeWhile;
}

void condition_begin(const struct operation *operation) {
    const struct condition *condition = ((const struct branching *)operation)->condition;
    if (condition->has_initial) set(condition->handle, condition->initial);
}

int condition_choose(const struct operation *operation) {
    const struct branching *branching = (const struct branching *)operation;
    unsigned value = 0;
    simt_machine_read(runtime.machine, branching->condition->handle, &value, sizeof value);
    if (branching->type != cudaGraphCondTypeSwitch) value = !value;
    return value < branching->count ? (int)value : -1;
}
