/* Graphs of operations: what streams were asked for while they were captured, and nodes that the program adds by hand. */
#include "graphs.h"

#include <stdlib.h>
#include <string.h>

/* ---- nodes --------------------------------------------------------------------------------------- */

static void destroy_node(cudaGraphNode_t node) {
    graph_destroy(node->child);
    for (size_t i = 0; i < node->body_count; i++) graph_destroy(node->bodies[i]);
    free(node->bodies);
    free(node->operation);
    free(node->dependencies);
    free(node);
}

/* The operation is the graph's then, or gone if there is no memory. */
cudaGraphNode_t graph_append(cudaGraph_t graph, struct operation *operation) {
    cudaGraphNode_t node = calloc(1, sizeof *node);
    if (!node) {
        free(operation);
        return NULL;
    }
    *node = (struct CUgraphNode_st){.graph = graph, .operation = operation};
    *graph->end = node;
    graph->end = &node->next;
    graph->count++;
    return node;
}

bool node_depends_on(cudaGraphNode_t node, cudaGraphNode_t other) {
    for (size_t i = 0; i < node->dependency_count; i++)
        if (node->dependencies[i] == other) return true;
    return false;
}

bool node_is_awaited(cudaGraphNode_t node) {
    for (cudaGraphNode_t other = node->graph->first; other; other = other->next)
        if (node_depends_on(other, node)) return true;
    return false;
}

cudaError_t node_depend(cudaGraphNode_t node, cudaGraphNode_t other) {
    if (!other || other->graph != node->graph || other == node || node_depends_on(node, other)) return cudaErrorInvalidValue;
    cudaGraphNode_t *grown = realloc(node->dependencies, (node->dependency_count + 1) * sizeof *grown);
    if (!grown) return cudaErrorMemoryAllocation;
    node->dependencies = grown;
    node->dependencies[node->dependency_count++] = other;
    return cudaSuccess;
}

static void forget(cudaGraphNode_t node, cudaGraphNode_t other) {
    for (size_t i = 0; i < node->dependency_count; i++)
        if (node->dependencies[i] == other) node->dependencies[i--] = node->dependencies[--node->dependency_count];
}

static void remove_node(cudaGraphNode_t node) {
    cudaGraph_t graph = node->graph;
    cudaGraphNode_t *place = &graph->first;
    for (cudaGraphNode_t other = graph->first; other; other = other->next) forget(other, node);
    while (*place != node) place = &(*place)->next;
    *place = node->next;
    if (graph->end == &node->next) graph->end = place;
    graph->count--;
    destroy_node(node);
}

cudaError_t graph_add(const struct graph_place *place, cudaError_t error, struct operation *const *made) {
    if (error) return error;
    if (!place->node || !place->graph || (place->count && !place->dependencies)) {
        free(*made);
        return cudaErrorInvalidValue;
    }
    cudaGraphNode_t node = graph_append(place->graph, *made);
    if (!node) return cudaErrorMemoryAllocation;
    for (size_t i = 0; i < place->count && !error; i++) error = node_depend(node, place->dependencies[i]);
    if (error) remove_node(node);
    else *place->node = node;
    return error;
}

struct operation *graph_operation(cudaGraphNode_t node, enum operation_kind kind) {
    return node && node->operation->kind == kind ? node->operation : NULL;
}

cudaError_t graph_set(cudaGraphNode_t node, cudaError_t error, struct operation *const *made) {
    return error ? error : operation_replace(node ? &node->operation : NULL, *made);
}

/* ---- graphs -------------------------------------------------------------------------------------- */

cudaError_t graph_create(cudaGraph_t *graph) {
    *graph = calloc(1, sizeof **graph);
    if (!*graph) return cudaErrorMemoryAllocation;
    (*graph)->end = &(*graph)->first;
    return cudaSuccess;
}

API cudaGraphCreate(cudaGraph_t *graph, unsigned flags) {
    return CALL(!graph || flags ? cudaErrorInvalidValue : graph_create(graph));
}

cudaError_t graph_destroy(cudaGraph_t graph) {
    if (!graph) return cudaErrorInvalidValue;
    for (cudaGraphNode_t node = graph->first, next; node; node = next) {
        next = node->next;
        destroy_node(node);
    }
    user_objects_drop(graph);
    free(graph);
    return cudaSuccess;
}

API cudaGraphDestroy(cudaGraph_t graph) { return CALL(graph_destroy(graph)); }

static cudaError_t clone(cudaGraph_t *result, cudaGraph_t graph);

static cudaError_t clone_node(cudaGraph_t graph, cudaGraphNode_t node) {
    struct operation *kept;
    if (node->operation->kind >= NODE_ALLOCATE && node->operation->kind != NODE_WORDS) return cudaErrorNotSupported; /* as CUDA has it */
    cudaError_t error = operation_keep(node->operation, &kept);
    if (error) return error;
    node->twin = graph_append(graph, kept);
    if (!node->twin) return cudaErrorMemoryAllocation;
    node->twin->original = node;
    return node->child ? clone(&node->twin->child, node->child) : cudaSuccess;
}

static cudaError_t clone_nodes(cudaGraph_t clone, cudaGraph_t graph) {
    for (cudaGraphNode_t node = graph->first; node; node = node->next) {
        cudaError_t error = clone_node(clone, node);
        if (error) return error;
    }
    for (cudaGraphNode_t node = graph->first; node; node = node->next)
        for (size_t i = 0; i < node->dependency_count; i++) {
            cudaError_t error = node_depend(node->twin, node->dependencies[i]->twin);
            if (error) return error;
        }
    return cudaSuccess;
}

static cudaError_t clone(cudaGraph_t *result, cudaGraph_t graph) {
    cudaGraph_t made = NULL;
    if (!result || !graph) return cudaErrorInvalidValue;
    cudaError_t error = graph_create(&made);
    if (error) return error;
    made->is_clone = true;
    error = clone_nodes(made, graph);
    if (!error) error = user_objects_share(made, graph);
    if (error) graph_destroy(made);
    else *result = made;
    return error;
}

API cudaGraphClone(cudaGraph_t *result, cudaGraph_t graph) { return CALL(clone(result, graph)); }

static cudaError_t find_in_clone(cudaGraphNode_t *result, cudaGraphNode_t original, cudaGraph_t graph) {
    if (!result || !original || !graph || !graph->is_clone) return cudaErrorInvalidValue;
    cudaGraphNode_t node = graph->first;
    while (node && node->original != original) node = node->next;
    if (node) *result = node;
    return node ? cudaSuccess : cudaErrorInvalidValue;
}

API cudaGraphNodeFindInClone(cudaGraphNode_t *result, cudaGraphNode_t original, cudaGraph_t graph) {
    return CALL(find_in_clone(result, original, graph));
}

API cudaGraphAddEmptyNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *dependencies, size_t count) {
    struct operation *made = NULL;
    const struct graph_place place = {node, graph, dependencies, count};
    return CALL(graph_add(&place, empty_make(&made), &made));
}

/* The node gets a copy of the graph as it is now. */
cudaError_t graph_add_child(const struct graph_place *place, cudaGraph_t given) {
    struct operation *made;
    cudaGraph_t child;
    cudaError_t error = clone(&child, given);
    if (error) return error;
    error = graph_add(place, whole_make(&made), &made);
    if (error) graph_destroy(child);
    else (*place->node)->child = child;
    return error;
}

static cudaError_t create_bodies(cudaGraphNode_t node, size_t count) {
    cudaError_t error = cudaSuccess;
    node->bodies = calloc(count, sizeof *node->bodies);
    if (!node->bodies) return cudaErrorMemoryAllocation;
    while (node->body_count < count && !error) {
        error = graph_create(&node->bodies[node->body_count]);
        node->body_count += !error;
    }
    return error;
}

cudaError_t graph_add_condition(const struct graph_place *place, struct cudaConditionalNodeParams *params) {
    struct operation *made;
    cudaError_t error = graph_add(place, condition_make(params, &made), &made);
    if (error) return error;
    error = create_bodies(*place->node, params->size);
    if (error) remove_node(*place->node);
    else params->phGraph_out = (*place->node)->bodies;
    return error;
}

API cudaGraphAddChildGraphNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *dependencies,
                               size_t count, cudaGraph_t child) {
    return CALL(graph_add_child(&(struct graph_place){node, graph, dependencies, count}, child));
}

static cudaError_t get_child(cudaGraphNode_t node, cudaGraph_t *child) {
    if (!node || !node->child || !child) return cudaErrorInvalidValue;
    *child = node->child;
    return cudaSuccess;
}

API cudaGraphChildGraphNodeGetGraph(cudaGraphNode_t node, cudaGraph_t *child) { return CALL(get_child(node, child)); }

API cudaGraphDestroyNode(cudaGraphNode_t node) {
    return CALL(node ? (remove_node(node), cudaSuccess) : cudaErrorInvalidValue);
}

static cudaError_t get_kind(cudaGraphNode_t node, int *kind) {
    if (!node || !kind) return cudaErrorInvalidValue;
    *kind = (int)node->operation->kind;
    return cudaSuccess;
}

API cudaGraphNodeGetType(cudaGraphNode_t node, int *kind) { return CALL(get_kind(node, kind)); }

enum { EDGE_NBYTES = 8 };

bool graph_edges_are_plain(const void *edges, size_t count) {
    const unsigned char *bytes = edges;
    for (size_t i = 0; bytes && i < count * EDGE_NBYTES; i++)
        if (bytes[i]) return false;
    return true;
}

static cudaError_t add_dependencies(const cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to,
                                    size_t count) {
    cudaError_t error = cudaSuccess;
    for (size_t i = 0; i < count && !error; i++)
        error = to[i] && to[i]->graph == graph ? node_depend(to[i], from[i]) : cudaErrorInvalidValue;
    return error;
}

API cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to,
                             const void *edges, size_t count) {
    if (!graph_edges_are_plain(edges, count)) return runtime_absent("cudaGraphAddDependencies with data for its edges");
    return CALL_WITH(!count || (from && to), add_dependencies(graph, from, to, count));
}

static cudaError_t remove_dependencies(const cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to,
                                       size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (!to[i] || to[i]->graph != graph || !node_depends_on(to[i], from[i])) return cudaErrorInvalidValue;
        forget(to[i], from[i]);
    }
    return cudaSuccess;
}

API cudaGraphRemoveDependencies(cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to,
                                const void *edges, size_t count) {
    if (!graph_edges_are_plain(edges, count)) return runtime_absent("cudaGraphRemoveDependencies with data for its edges");
    return CALL(remove_dependencies(graph, from, to, count));
}

/* ---- questions ----------------------------------------------------------------------------------- */

/* A list that the caller has room for; without it, the caller asks for its length. */
struct listing {
    cudaGraphNode_t *nodes;
    size_t room, count;
};

static void list(struct listing *listing, cudaGraphNode_t node) {
    if (listing->nodes && listing->count < listing->room) listing->nodes[listing->count] = node;
    listing->count++;
}

/* Where there are fewer than asked for, the rest is NULL. */
static cudaError_t end_list(const struct listing *listing, size_t *count) {
    for (size_t i = listing->count; listing->nodes && i < listing->room; i++) listing->nodes[i] = NULL;
    if (!listing->nodes || *count > listing->count) *count = listing->count;
    return cudaSuccess;
}

static struct listing begin_list(cudaGraphNode_t *nodes, const size_t *count) {
    return (struct listing){nodes, *count, 0};
}

static void clear_edges(void *edges, size_t count) {
    if (edges) memset(edges, 0, count * EDGE_NBYTES);
}

static cudaError_t get_nodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *count) {
    if (!graph || !count) return cudaErrorInvalidValue;
    struct listing listing = begin_list(nodes, count);
    for (cudaGraphNode_t node = graph->first; node; node = node->next) list(&listing, node);
    return end_list(&listing, count);
}

API cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *count) {
    return CALL(get_nodes(graph, nodes, count));
}

static cudaError_t get_roots(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *count) {
    if (!graph || !count) return cudaErrorInvalidValue;
    struct listing listing = begin_list(nodes, count);
    for (cudaGraphNode_t node = graph->first; node; node = node->next)
        if (!node->dependency_count) list(&listing, node);
    return end_list(&listing, count);
}

API cudaGraphGetRootNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *count) {
    return CALL(get_roots(graph, nodes, count));
}

static cudaError_t get_edges(cudaGraph_t graph, cudaGraphNode_t *from, cudaGraphNode_t *to, void *edges,
                             size_t *count) {
    if (!graph || !count || !from != !to) return cudaErrorInvalidValue;
    struct listing sources = begin_list(from, count), targets = begin_list(to, count);
    size_t both = *count;
    for (cudaGraphNode_t node = graph->first; node; node = node->next)
        for (size_t i = 0; i < node->dependency_count; i++) {
            list(&sources, node->dependencies[i]);
            list(&targets, node);
        }
    end_list(&sources, &both);
    end_list(&targets, count);
    clear_edges(from ? edges : NULL, *count);
    return cudaSuccess;
}

API cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t *from, cudaGraphNode_t *to, void *edges, size_t *count) {
    return CALL(get_edges(graph, from, to, edges, count));
}

static cudaError_t get_dependencies(cudaGraphNode_t node, cudaGraphNode_t *nodes, void *edges, size_t *count) {
    if (!node || !count) return cudaErrorInvalidValue;
    struct listing listing = begin_list(nodes, count);
    for (size_t i = 0; i < node->dependency_count; i++) list(&listing, node->dependencies[i]);
    end_list(&listing, count);
    clear_edges(nodes ? edges : NULL, *count);
    return cudaSuccess;
}

API cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t *nodes, void *edges, size_t *count) {
    return CALL(get_dependencies(node, nodes, edges, count));
}

static cudaError_t get_dependents(cudaGraphNode_t node, cudaGraphNode_t *nodes, void *edges, size_t *count) {
    if (!node || !count) return cudaErrorInvalidValue;
    struct listing listing = begin_list(nodes, count);
    for (cudaGraphNode_t other = node->graph->first; other; other = other->next)
        if (node_depends_on(other, node)) list(&listing, other);
    end_list(&listing, count);
    clear_edges(nodes ? edges : NULL, *count);
    return cudaSuccess;
}

API cudaGraphNodeGetDependentNodes(cudaGraphNode_t node, cudaGraphNode_t *nodes, void *edges, size_t *count) {
    return CALL(get_dependents(node, nodes, edges, count));
}
