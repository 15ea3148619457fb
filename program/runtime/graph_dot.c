/* A graph as a text for Graphviz: each node by what it does, a kernel by its name, and the edges. */
#include "graphs.h"

#include <stdio.h>

static const char *const kinds[] = {
    [NODE_LAUNCH] = "kernel", [NODE_COPY] = "copy",   [NODE_FILL] = "fill",           [NODE_HOST] = "host",
    [NODE_GRAPH] = "graph",   [NODE_EMPTY] = "empty", [NODE_WAIT] = "wait for event", [NODE_RECORD] = "record event",
    [NODE_ALLOCATE] = "allocate", [NODE_FREE] = "free", [NODE_WORDS] = "words",
    [NODE_CONDITION] = "conditional",
};

static const char *kernel_name(const struct operation *operation) {
    struct cudaKernelNodeParams params;
    cudaError_t error = operation->kind == NODE_LAUNCH ? launch_tell(operation, &params) : cudaErrorInvalidValue;
    const struct CUkern_st *kernel = error ? NULL : kernel_find(params.func, &error);
    return kernel ? kernel->name : "";
}

static size_t number_of(const struct CUgraphNode_st *node) {
    size_t number = 0;
    for (const struct CUgraphNode_st *other = node->graph->first; other != node; other = other->next) number++;
    return number;
}

static void put_nodes(FILE *file, const struct CUgraph_st *graph) {
    for (const struct CUgraphNode_st *node = graph->first; node; node = node->next) {
        const char *name = kernel_name(node->operation);
        const char *kind = kinds[node->operation->kind];
        fprintf(file, "    \"%zu\" [label=\"%s%s%s\"];\n", number_of(node), kind, *name ? " " : "", name);
        for (size_t d = 0; d < node->dependency_count; d++)
            fprintf(file, "    \"%zu\" -> \"%zu\";\n", number_of(node->dependencies[d]), number_of(node));
    }
}

/* The graphs within are nodes.  What flags ask for besides is not told. */
static cudaError_t write_graph(const struct CUgraph_st *graph, const char *path) {
    FILE *file = fopen(path, "w");
    if (!file) return cudaErrorOperatingSystem;
    fputs("digraph {\n", file);
    put_nodes(file, graph);
    fputs("}\n", file);
    const bool is_written = !ferror(file);
    return fclose(file) || !is_written ? cudaErrorOperatingSystem : cudaSuccess;
}

API cudaGraphDebugDotPrint(cudaGraph_t graph, const char *path, unsigned flags) {
    (void)flags;
    return CALL_WITH(graph && path, write_graph(graph, path));
}
