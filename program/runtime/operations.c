/* Operations, which are done at once or kept as nodes of graphs. */
#include "graphs.h"

#include <stdlib.h>
#include <string.h>

cudaError_t operation_keep(const struct operation *operation, struct operation **kept) {
    *kept = malloc(operation->nbytes);
    if (!*kept) return cudaErrorMemoryAllocation;
    memcpy(*kept, operation, operation->nbytes);
    return cudaSuccess;
}

/* Host functions may call the runtime, and touch nothing that is known. */
static bool is_watched(const struct operation *operation) {
    return operation->kind <= NODE_FILL || operation->kind == NODE_WORDS;
}

cudaError_t operation_run(const struct operation *operation, order_set *set, bool is_of_graph) {
    static const char *const names[] = {
        [NODE_LAUNCH] = "a kernel", [NODE_COPY] = "a copy", [NODE_FILL] = "a fill", [NODE_WORDS] = "a stream's word"};
    if (!is_watched(operation)) return operation->run(operation);
    order_begin(*set, is_of_graph, names[operation->kind]);
    cudaError_t error = operation->run(operation);
    *set |= order_end();
    return error;
}

static cudaError_t run_nothing(const struct operation *operation) {
    (void)operation;
    return cudaSuccess;
}

cudaError_t empty_make(struct operation **made) {
    const struct operation nothing = {NODE_EMPTY, sizeof nothing, run_nothing};
    return operation_keep(&nothing, made);
}

cudaError_t whole_make(struct operation **made) {
    const struct operation whole = {NODE_GRAPH, sizeof whole, run_nothing}; /* each of its nodes is a step */
    return operation_keep(&whole, made);
}

cudaError_t operation_replace(struct operation **place, struct operation *operation) {
    bool is_of_kind = place && (*place)->kind == operation->kind;
    if (is_of_kind) {
        free(*place);
        *place = operation;
    } else free(operation);
    return is_of_kind ? cudaSuccess : cudaErrorInvalidValue;
}
