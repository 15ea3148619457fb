/* Graphs of operations: what streams were asked for while they were captured, and nodes that the program adds by hand.
 *
 * Nodes are executed in the order in which they came, but each after those that it depends on.  What no dependency orders
 * may be concurrent: order.c tells which of those touch the same memory. */
#include "graphs.h"

#include <stdlib.h>
#include <string.h>

struct CUgraphNode_st {
    struct CUgraphNode_st *next;
    cudaGraph_t graph;
    struct operation *operation;
    cudaGraph_t child; /* of a graph within the graph, which is the node's own; NULL: it is none */
    cudaGraph_t *bodies; /* of a conditional node; NULL: it is none */
    size_t body_count;
    cudaGraphNode_t *dependencies;
    size_t dependency_count;
    cudaGraphNode_t original; /* of a clone; it may be gone */
    cudaGraphNode_t twin;     /* while its graph is cloned */
    bool is_ordered; /* while the graph is instantiated: */
    size_t step;     /* its number there */
};

struct CUgraph_st {
    cudaGraphNode_t first, *end;
    size_t count;
    bool is_clone;
    bool is_made_by_capture;
    bool is_invalid; /* its capture: it is refused all else, and ends without a graph */
};

/* What is launched has its own operations, in their order.  A graph within it is a step, those of its nodes, and one that
 * comes after them all; a conditional node, too, where a step and those of its nodes are each body. */
struct step {
    cudaGraphNode_t node; /* that it was made of, which may be gone; NULL: the end of a graph within */
    struct operation *operation;
    size_t inner; /* the steps of a graph within, or of a body or of all bodies, which follow */
    bool is_off;
    size_t *before, before_count; /* steps that it depends on */
    order_set known;              /* when it has run: it and what was before it */
};

struct CUgraphExec_st {
    cudaGraphExec_t next; /* in the list of all */
    order_set known;      /* when its last launch has run: the next one comes after it, in whatever stream */
    bool frees;           /* what is left of its last launch, before the next one */
    size_t count;
    struct step steps[];
};

/* ---- operations ---------------------------------------------------------------------------------- */

cudaError_t operation_keep(const struct operation *operation, struct operation **kept) {
    *kept = malloc(operation->nbytes);
    if (!*kept) return cudaErrorMemoryAllocation;
    memcpy(*kept, operation, operation->nbytes);
    return cudaSuccess;
}

/* Host functions may call the runtime, and touch nothing that is known. */
static bool is_watched(const struct operation *operation) { return operation->kind <= NODE_FILL; }

/* *set: what it comes after; then it, too. */
static cudaError_t run_after(const struct operation *operation, order_set *set, bool is_of_graph) {
    static const char *const names[] = {"a kernel", "a copy", "a fill"};
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

static const struct operation whole_graph = {NODE_GRAPH, sizeof whole_graph, run_nothing}; /* of which each node is a step */

cudaError_t empty_make(struct operation **made) {
    const struct operation nothing = {NODE_EMPTY, sizeof nothing, run_nothing};
    return operation_keep(&nothing, made);
}

/* ---- nodes --------------------------------------------------------------------------------------- */

static cudaError_t destroy(cudaGraph_t graph);

static void destroy_node(cudaGraphNode_t node) {
    destroy(node->child);
    for (size_t i = 0; i < node->body_count; i++) destroy(node->bodies[i]);
    free(node->bodies);
    free(node->operation);
    free(node->dependencies);
    free(node);
}

/* The operation is the graph's then, or gone if there is no memory. */
static cudaGraphNode_t append(cudaGraph_t graph, struct operation *operation) {
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

static bool depends_on(cudaGraphNode_t node, cudaGraphNode_t other) {
    for (size_t i = 0; i < node->dependency_count; i++)
        if (node->dependencies[i] == other) return true;
    return false;
}

static cudaError_t depend(cudaGraphNode_t node, cudaGraphNode_t other) {
    if (!other || other->graph != node->graph || other == node || depends_on(node, other)) return cudaErrorInvalidValue;
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
    cudaGraphNode_t node = append(place->graph, *made);
    if (!node) return cudaErrorMemoryAllocation;
    for (size_t i = 0; i < place->count && !error; i++) error = depend(node, place->dependencies[i]);
    if (error) remove_node(node);
    else *place->node = node;
    return error;
}

static cudaError_t replace(struct operation **place, struct operation *operation) {
    bool is_of_kind = place && (*place)->kind == operation->kind;
    if (is_of_kind) {
        free(*place);
        *place = operation;
    } else free(operation);
    return is_of_kind ? cudaSuccess : cudaErrorInvalidValue;
}

struct operation *graph_operation(cudaGraphNode_t node, enum operation_kind kind) {
    return node && node->operation->kind == kind ? node->operation : NULL;
}

cudaError_t graph_set(cudaGraphNode_t node, cudaError_t error, struct operation *const *made) {
    return error ? error : replace(node ? &node->operation : NULL, *made);
}

static struct step *find_step(cudaGraphExec_t exec, cudaGraphNode_t node) {
    for (size_t i = 0; exec && node && i < exec->count; i++)
        if (exec->steps[i].node == node) return &exec->steps[i];
    return NULL;
}

cudaError_t graph_set_step(cudaGraphExec_t exec, cudaGraphNode_t node, cudaError_t error,
                           struct operation *const *made) {
    struct step *step = find_step(exec, node);
    return error ? error : replace(step ? &step->operation : NULL, *made);
}

/* ---- graphs -------------------------------------------------------------------------------------- */

static cudaError_t create(cudaGraph_t *graph) {
    *graph = calloc(1, sizeof **graph);
    if (!*graph) return cudaErrorMemoryAllocation;
    (*graph)->end = &(*graph)->first;
    return cudaSuccess;
}

API cudaGraphCreate(cudaGraph_t *graph, unsigned flags) {
    return CALL(!graph || flags ? cudaErrorInvalidValue : create(graph));
}

static cudaError_t destroy(cudaGraph_t graph) {
    if (!graph) return cudaErrorInvalidValue;
    for (cudaGraphNode_t node = graph->first, next; node; node = next) {
        next = node->next;
        destroy_node(node);
    }
    free(graph);
    return cudaSuccess;
}

API cudaGraphDestroy(cudaGraph_t graph) { return CALL(destroy(graph)); }

static cudaError_t clone(cudaGraph_t *result, cudaGraph_t graph);

static cudaError_t clone_node(cudaGraph_t graph, cudaGraphNode_t node) {
    struct operation *kept;
    if (node->operation->kind >= NODE_ALLOCATE) return cudaErrorNotSupported; /* as CUDA has it */
    cudaError_t error = operation_keep(node->operation, &kept);
    if (error) return error;
    node->twin = append(graph, kept);
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
            cudaError_t error = depend(node->twin, node->dependencies[i]->twin);
            if (error) return error;
        }
    return cudaSuccess;
}

static cudaError_t clone(cudaGraph_t *result, cudaGraph_t graph) {
    cudaGraph_t made = NULL;
    if (!result || !graph) return cudaErrorInvalidValue;
    cudaError_t error = create(&made);
    if (error) return error;
    made->is_clone = true;
    error = clone_nodes(made, graph);
    if (error) destroy(made);
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
    error = graph_add(place, operation_keep(&whole_graph, &made), &made);
    if (error) destroy(child);
    else (*place->node)->child = child;
    return error;
}

static cudaError_t create_bodies(cudaGraphNode_t node, size_t count) {
    cudaError_t error = cudaSuccess;
    node->bodies = calloc(count, sizeof *node->bodies);
    if (!node->bodies) return cudaErrorMemoryAllocation;
    while (node->body_count < count && !error) {
        error = create(&node->bodies[node->body_count]);
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
        error = to[i] && to[i]->graph == graph ? depend(to[i], from[i]) : cudaErrorInvalidValue;
    return error;
}

API cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to,
                             const void *edges, size_t count) {
    if (!graph_edges_are_plain(edges, count)) return runtime_absent("cudaGraphAddDependencies with data for its edges");
    return CALL(add_dependencies(graph, from, to, count));
}

static cudaError_t remove_dependencies(const cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to,
                                       size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (!to[i] || to[i]->graph != graph || !depends_on(to[i], from[i])) return cudaErrorInvalidValue;
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
        if (depends_on(other, node)) list(&listing, other);
    end_list(&listing, count);
    clear_edges(nodes ? edges : NULL, *count);
    return cudaSuccess;
}

API cudaGraphNodeGetDependentNodes(cudaGraphNode_t node, cudaGraphNode_t *nodes, void *edges, size_t *count) {
    return CALL(get_dependents(node, nodes, edges, count));
}

/* ---- capturing ----------------------------------------------------------------------------------- */

cudaError_t front_join(struct front *front, const struct front *other) {
    if (!other->count) return cudaSuccess;
    cudaGraphNode_t *grown = realloc(front->nodes, (front->count + other->count) * sizeof *grown);
    if (!grown) return cudaErrorMemoryAllocation;
    memcpy(grown + front->count, other->nodes, other->count * sizeof *grown);
    *front = (struct front){grown, front->count + other->count};
    return cudaSuccess;
}

void front_clear(struct front *front) {
    free(front->nodes);
    *front = (struct front){0};
}

/* The stream's next node: behind those at its front, and then alone there. */
static cudaError_t append_in(cudaStream_t stream, cudaGraph_t graph, struct operation *operation) {
    struct front *front = stream_front(stream);
    cudaError_t error = cudaSuccess;
    cudaGraphNode_t node = append(graph, operation);
    if (!node) return cudaErrorMemoryAllocation;
    for (size_t i = 0; i < front->count && !error; i++)
        if (!depends_on(node, front->nodes[i])) error = depend(node, front->nodes[i]);
    front_clear(front);
    return error ? error : front_join(front, &(struct front){&node, 1});
}

static cudaError_t run_in(cudaStream_t stream, const struct operation *operation) {
    order_set set = stream_order(stream);
    cudaError_t error = run_after(operation, &set, false);
    stream_advance(stream, set);
    return error;
}

cudaError_t graph_refuse_capture(cudaStream_t stream) {
    (*stream_capture(stream))->is_invalid = true;
    return cudaErrorStreamCaptureUnsupported;
}

int graph_capture_status(cudaStream_t stream) {
    enum { NONE, ACTIVE, INVALIDATED };
    if (!stream_is_captured(stream)) return NONE;
    return (*stream_capture(stream))->is_invalid ? INVALIDATED : ACTIVE;
}

cudaError_t graph_capture(struct operation *operation, cudaStream_t stream) {
    const cudaGraph_t graph = *stream_capture(stream);
    if (!graph->is_invalid) return append_in(stream, graph, operation);
    free(operation);
    return cudaErrorStreamCaptureInvalidated;
}

cudaError_t operation_do(const struct operation *operation, cudaStream_t stream) {
    struct operation *kept;
    if (!stream_is_captured(stream)) return run_in(stream, operation);
    cudaError_t error = operation_keep(operation, &kept);
    return error ? error : graph_capture(kept, stream);
}

static cudaError_t begin_capture(cudaStream_t stream) {
    cudaGraph_t *capture = stream_capture(stream);
    if (!capture) return cudaErrorStreamCaptureUnsupported; /* a default stream */
    if (*capture) return cudaErrorIllegalState;
    cudaError_t error = create(capture);
    if (!error) (*capture)->is_made_by_capture = true;
    return error;
}

API cudaStreamBeginCapture(cudaStream_t stream, int mode) {
    (void)mode;
    return CALL(begin_capture(stream));
}
ALSO(cudaStreamBeginCapture, _ptsz)

/* Into a graph that is there, behind those of its nodes. */
static cudaError_t begin_capture_to(cudaStream_t stream, const struct graph_place *place) {
    cudaGraph_t *capture = stream_capture(stream);
    if (!capture) return cudaErrorStreamCaptureUnsupported;
    if (*capture) return cudaErrorIllegalState;
    if (!place->graph || (place->count && !place->dependencies)) return cudaErrorInvalidValue;
    for (size_t i = 0; i < place->count; i++)
        if (!place->dependencies[i] || place->dependencies[i]->graph != place->graph) return cudaErrorInvalidValue;
    *capture = place->graph;
    return front_join(stream_front(stream), &(struct front){(cudaGraphNode_t *)(uintptr_t)place->dependencies, place->count});
}

API cudaStreamBeginCaptureToGraph(cudaStream_t stream, cudaGraph_t graph, const cudaGraphNode_t *dependencies,
                                  const void *edges, size_t count, int mode) {
    (void)mode;
    if (!graph_edges_are_plain(edges, count))
        return runtime_absent("cudaStreamBeginCaptureToGraph with data for its edges");
    return CALL(begin_capture_to(stream, &(struct graph_place){NULL, graph, dependencies, count}));
}
ALSO(cudaStreamBeginCaptureToGraph, _ptsz)

static cudaError_t end_capture(cudaStream_t stream, cudaGraph_t *graph) {
    cudaGraph_t *capture = stream_capture(stream), captured = capture ? *capture : NULL;
    if (graph) *graph = captured;
    if (!captured) return cudaErrorIllegalState;
    stream_end_capture(captured);
    const bool is_made_here = captured->is_made_by_capture, is_invalid = captured->is_invalid;
    captured->is_made_by_capture = captured->is_invalid = false;
    if (!is_invalid) return cudaSuccess;
    if (is_made_here) destroy(captured);
    if (graph) *graph = NULL;
    return cudaErrorStreamCaptureInvalidated;
}

API cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph) { return CALL(end_capture(stream, graph)); }
ALSO(cudaStreamEndCapture, _ptsz)

/* What the stream's next node will depend on; each of the results may be NULL. */
struct capture_info {
    int *status;
    unsigned long long *id;
    cudaGraph_t *graph;
    const cudaGraphNode_t **dependencies;
    const void **edges; /* there are none but plain ones */
    size_t *count;
};

static cudaError_t tell_capture(cudaStream_t stream, const struct capture_info *info) {
    if (!info->status) return cudaErrorInvalidValue;
    if (!stream_is_known(stream)) return cudaErrorInvalidResourceHandle;
    *info->status = graph_capture_status(stream);
    if (!*info->status) return cudaSuccess;
    const cudaGraph_t graph = *stream_capture(stream);
    if (info->id) *info->id = (uintptr_t)graph;
    if (info->graph) *info->graph = graph;
    if (info->dependencies) *info->dependencies = stream_front(stream)->nodes;
    if (info->edges) *info->edges = NULL;
    if (info->count) *info->count = stream_front(stream)->count;
    return cudaSuccess;
}

API cudaStreamGetCaptureInfo(cudaStream_t stream, int *status, unsigned long long *id, cudaGraph_t *graph,
                             const cudaGraphNode_t **dependencies, const void **edges, size_t *count) {
    return CALL(tell_capture(stream, &(struct capture_info){status, id, graph, dependencies, edges, count}));
}
ALSO(cudaStreamGetCaptureInfo, _ptsz)

static cudaError_t update_capture(cudaStream_t stream, const struct front *given, unsigned flags) {
    enum { ADD_DEPENDENCIES, SET_DEPENDENCIES };
    if (!stream_is_captured(stream)) return cudaErrorIllegalState;
    if (flags > SET_DEPENDENCIES || (given->count && !given->nodes)) return cudaErrorInvalidValue;
    for (size_t i = 0; i < given->count; i++)
        if (!given->nodes[i] || given->nodes[i]->graph != *stream_capture(stream)) return cudaErrorInvalidValue;
    struct front front = {0}; /* those given may be the stream's own */
    cudaError_t error = front_join(&front, given);
    if (error) return error;
    if (flags == SET_DEPENDENCIES) front_clear(stream_front(stream));
    error = front_join(stream_front(stream), &front);
    front_clear(&front);
    return error;
}

API cudaStreamUpdateCaptureDependencies(cudaStream_t stream, cudaGraphNode_t *dependencies, const void *edges,
                                        size_t count, unsigned flags) {
    if (!graph_edges_are_plain(edges, count))
        return runtime_absent("cudaStreamUpdateCaptureDependencies with data for its edges");
    return CALL(update_capture(stream, &(struct front){dependencies, count}, flags));
}
ALSO(cudaStreamUpdateCaptureDependencies, _ptsz)

API cudaThreadExchangeStreamCaptureMode(int *mode) {
    (void)mode;
    return CALL(cudaSuccess);
}

/* ---- instantiating ------------------------------------------------------------------------------- */

static cudaGraphExec_t execs; /* all that can be launched */

void graphs_strike(order_set set) {
    for (cudaGraphExec_t exec = execs; exec; exec = exec->next) exec->known &= ~set;
}

static void leave(cudaGraphExec_t exec) {
    cudaGraphExec_t *place = &execs;
    while (*place && *place != exec) place = &(*place)->next;
    if (*place) *place = exec->next;
}

static void release(cudaGraphExec_t exec) {
    leave(exec);
    for (size_t i = 0; i < exec->count; i++) {
        free(exec->steps[i].operation);
        free(exec->steps[i].before);
    }
    free(exec);
}

static bool is_next(cudaGraphNode_t node) {
    if (node->is_ordered) return false;
    for (size_t i = 0; i < node->dependency_count; i++)
        if (!node->dependencies[i]->is_ordered) return false;
    return true;
}

/* A step with space for that many predecessors; what it owns is released with the others. */
static cudaError_t add_step(cudaGraphExec_t exec, const struct operation *operation, size_t before_max) {
    struct step *step = &exec->steps[exec->count];
    cudaError_t error = operation_keep(operation, &step->operation);
    if (error) return error;
    exec->count++;
    step->before = calloc(before_max, sizeof *step->before);
    return step->before ? cudaSuccess : cudaErrorMemoryAllocation;
}

static void come_after(struct step *step, size_t before) { step->before[step->before_count++] = before; }

/* What waits for no other node comes after the step, `begin`, of the graph that its own lies within; NULL: none. */
static cudaError_t add_node_step(cudaGraphExec_t exec, cudaGraphNode_t node, const size_t *begin) {
    cudaError_t error = add_step(exec, node->operation, node->dependency_count + 1);
    if (error) return error;
    struct step *step = &exec->steps[exec->count - 1];
    node->step = exec->count - 1;
    step->node = node;
    for (size_t i = 0; i < node->dependency_count; i++) come_after(step, node->dependencies[i]->step);
    if (begin && !node->dependency_count) come_after(step, *begin);
    return cudaSuccess;
}

static cudaError_t order(cudaGraphExec_t exec, cudaGraph_t graph, const size_t *begin);

static cudaError_t add_inner_steps(cudaGraphExec_t exec, cudaGraph_t graph, size_t begin) {
    cudaError_t error = order(exec, graph, &begin);
    exec->steps[begin].inner = exec->count - begin - 1;
    return error;
}

static cudaError_t add_body_steps(cudaGraphExec_t exec, cudaGraphNode_t node) {
    const size_t begin = node->step;
    cudaError_t error = cudaSuccess;
    for (size_t i = 0; i < node->body_count && !error; i++) {
        error = add_step(exec, &whole_graph, 1);
        if (error) return error;
        come_after(&exec->steps[exec->count - 1], begin);
        error = add_inner_steps(exec, node->bodies[i], exec->count - 1);
    }
    exec->steps[begin].inner = exec->count - begin - 1;
    return error;
}

/* And a step behind them. */
static cudaError_t add_child_steps(cudaGraphExec_t exec, cudaGraphNode_t node) {
    const size_t begin = node->step;
    cudaError_t error = node->child ? add_inner_steps(exec, node->child, begin) : add_body_steps(exec, node);
    if (error) return error;
    error = add_step(exec, &whole_graph, exec->count - begin);
    if (error) return error;
    node->step = exec->count - 1;
    for (size_t i = begin; i < node->step; i++) come_after(&exec->steps[node->step], i);
    return cudaSuccess;
}

static cudaError_t add_steps(cudaGraphExec_t exec, cudaGraphNode_t node, const size_t *begin) {
    node->is_ordered = true;
    cudaError_t error = add_node_step(exec, node, begin);
    return error || (!node->child && !node->bodies) ? error : add_child_steps(exec, node);
}

/* Each node behind what it depends on.  Programs mostly add them so: then one round is enough.  A round without a node: they
 * depend on each other. */
static cudaError_t order(cudaGraphExec_t exec, cudaGraph_t graph, const size_t *begin) {
    cudaError_t error = cudaSuccess;
    for (cudaGraphNode_t node = graph->first; node; node = node->next) node->is_ordered = false;
    for (size_t left = graph->count, before = left + 1; left && !error; ) {
        if (left == before) return cudaErrorInvalidValue;
        before = left;
        for (cudaGraphNode_t node = graph->first; node && !error; node = node->next)
            if (is_next(node)) error = add_steps(exec, node, begin), left--;
    }
    return error;
}

static size_t step_count(cudaGraph_t graph);

static size_t bodies_step_count(cudaGraphNode_t node) {
    size_t count = node->body_count;
    for (size_t i = 0; i < node->body_count; i++) count += step_count(node->bodies[i]);
    return count;
}

static size_t step_count(cudaGraph_t graph) {
    size_t count = graph->count;
    for (cudaGraphNode_t node = graph->first; node; node = node->next)
        if (node->child) count += step_count(node->child) + 1;
        else if (node->bodies) count += bodies_step_count(node) + 1;
    return count;
}

static cudaError_t instantiate(cudaGraphExec_t *result, cudaGraph_t graph, unsigned long long flags) {
    enum { AUTO_FREE_ON_LAUNCH = 1 };
    if (!result || !graph) return cudaErrorInvalidValue;
    *result = NULL;
    cudaGraphExec_t exec = calloc(1, sizeof *exec + step_count(graph) * sizeof *exec->steps);
    if (!exec) return cudaErrorMemoryAllocation;
    cudaError_t error = order(exec, graph, NULL);
    if (error) {
        release(exec);
        return error;
    }
    exec->next = execs;
    exec->frees = flags & AUTO_FREE_ON_LAUNCH;
    execs = *result = exec;
    return cudaSuccess;
}

API cudaGraphInstantiate(cudaGraphExec_t *result, cudaGraph_t graph, unsigned long long flags) {
    return CALL(instantiate(result, graph, flags));
}

API cudaGraphInstantiateWithFlags(cudaGraphExec_t *result, cudaGraph_t graph, unsigned long long flags) {
    return CALL(instantiate(result, graph, flags));
}

/* What an update says of itself. */
enum { UPDATE_OK, UPDATE_TOPOLOGY = 2, UPDATE_KIND };

static int compare(const struct step *old, size_t count, const struct CUgraphExec_st *new) {
    if (count != new->count) return UPDATE_TOPOLOGY;
    for (size_t i = 0; i < count; i++)
        if (old[i].operation->kind != new->steps[i].operation->kind) return UPDATE_KIND;
    return UPDATE_OK;
}

/* The steps take the operations of a graph of the same form: nodes correspond by their order. */
static cudaError_t take_operations(struct step *steps, size_t count, cudaGraph_t graph, int *result) {
    cudaGraphExec_t taken;
    cudaError_t error = instantiate(&taken, graph, 0);
    if (error) return error;
    *result = compare(steps, count, taken);
    for (size_t i = 0; i < count && *result == UPDATE_OK; i++) {
        struct operation *before = steps[i].operation;
        steps[i].operation = taken->steps[i].operation;
        taken->steps[i].operation = before;
    }
    release(taken);
    return *result == UPDATE_OK ? cudaSuccess : cudaErrorGraphExecUpdateFailure;
}

static cudaError_t update(cudaGraphExec_t exec, cudaGraph_t graph, struct cudaGraphExecUpdateResultInfo *info) {
    if (!exec || !info) return cudaErrorInvalidValue;
    *info = (struct cudaGraphExecUpdateResultInfo){0};
    return take_operations(exec->steps, exec->count, graph, &info->result);
}

API cudaGraphExecUpdate(cudaGraphExec_t exec, cudaGraph_t graph, struct cudaGraphExecUpdateResultInfo *info) {
    return CALL(update(exec, graph, info));
}

static cudaError_t set_child(cudaGraphExec_t exec, cudaGraphNode_t node, cudaGraph_t child) {
    struct step *step = find_step(exec, node);
    int result;
    if (!step || step->operation->kind != NODE_GRAPH) return cudaErrorInvalidValue;
    return take_operations(step + 1, step->inner, child, &result);
}

API cudaGraphExecChildGraphNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node, cudaGraph_t child) {
    return CALL(set_child(exec, node, child));
}

/* ---- launching ----------------------------------------------------------------------------------- */

static cudaError_t run_step(const struct CUgraphExec_st *exec, struct step *step, order_set before,
                            cudaStream_t stream) {
    for (size_t i = 0; i < step->before_count; i++) before |= exec->steps[step->before[i]].known;
    step->known = before;
    if (step->is_off) return cudaSuccess;
    if (device_current()->sticky) return device_current()->sticky;
    if (step->operation->kind == NODE_RECORD) return event_record_node(step->operation, stream, before);
    if (step->operation->kind == NODE_WAIT) return event_wait_node(step->operation, &step->known);
    return run_after(step->operation, &step->known, true);
}

static cudaError_t run_steps(cudaGraphExec_t exec, size_t from, size_t to, order_set before, cudaStream_t stream);

/* Of the conditional node that is this step.  A body that is executed again comes after itself. */
static cudaError_t run_bodies(cudaGraphExec_t exec, size_t node, order_set before, cudaStream_t stream) {
    const struct operation *operation = exec->steps[node].operation;
    cudaError_t error = cudaSuccess;
    for (int chosen; !error && (chosen = condition_choose(operation)) >= 0;) {
        size_t body = node + 1;
        for (int i = 0; i < chosen; i++) body += exec->steps[body].inner + 1;
        const size_t end = body + exec->steps[body].inner + 1;
        error = run_steps(exec, body, end, before, stream);
        for (size_t i = body; i < end; i++) before |= exec->steps[i].known;
        if (!condition_repeats(operation)) break;
    }
    return error;
}

static cudaError_t run_steps(cudaGraphExec_t exec, size_t from, size_t to, order_set before, cudaStream_t stream) {
    cudaError_t error = cudaSuccess;
    for (size_t i = from; i < to && !error; i++) {
        const struct step *step = &exec->steps[i];
        error = run_step(exec, &exec->steps[i], before, stream);
        stream_advance(stream, step->known);
        exec->known |= step->known;
        if (error || step->operation->kind != NODE_CONDITION) continue;
        error = run_bodies(exec, i, before, stream);
        i += step->inner;
    }
    return error;
}

static void begin_steps(const struct CUgraphExec_st *exec) {
    for (size_t i = 0; i < exec->count; i++) {
        const struct operation *operation = exec->steps[i].operation;
        if (operation->kind == NODE_CONDITION) condition_begin(operation);
        if (operation->kind == NODE_ALLOCATE && exec->frees) allocation_let_go(operation);
    }
}

/* Whether some step does not wait for the one before. */
static bool has_branches(const struct CUgraphExec_st *exec) {
    for (size_t i = 1; i < exec->count; i++) {
        bool waits = false;
        for (size_t d = 0; d < exec->steps[i].before_count; d++) waits |= exec->steps[i].before[d] == i - 1;
        if (!waits) return true;
    }
    return false;
}

static cudaError_t launch(cudaGraphExec_t exec, cudaStream_t stream) {
    if (!exec) return cudaErrorInvalidValue;
    if (!stream_is_known(stream)) return cudaErrorInvalidResourceHandle;
    if (stream_is_captured(stream)) return graph_refuse_capture(stream);
    const order_set before = stream_order(stream) | exec->known;
    if (has_branches(exec)) order_watch();
    begin_steps(exec);
    cudaError_t error = run_steps(exec, 0, exec->count, before, stream);
    host_note_launch("of a graph", stream);
    return error;
}

API cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream) { return CALL(launch(exec, stream)); }
ALSO(cudaGraphLaunch, _ptsz)

API cudaGraphUpload(cudaGraphExec_t exec, cudaStream_t stream) {
    return CALL(exec && stream_is_known(stream) ? cudaSuccess : cudaErrorInvalidValue);
}
ALSO(cudaGraphUpload, _ptsz)

static cudaError_t destroy_exec(cudaGraphExec_t exec) {
    if (!exec) return cudaErrorInvalidValue;
    release(exec);
    return cudaSuccess;
}

API cudaGraphExecDestroy(cudaGraphExec_t exec) { return CALL(destroy_exec(exec)); }

/* Kernels, copies and fills alone can be left out. */
static cudaError_t set_enabled(cudaGraphExec_t exec, cudaGraphNode_t node, bool is_enabled) {
    struct step *step = find_step(exec, node);
    if (!step || step->operation->kind > NODE_FILL) return cudaErrorInvalidValue;
    step->is_off = !is_enabled;
    return cudaSuccess;
}

static cudaError_t get_enabled(cudaGraphExec_t exec, cudaGraphNode_t node, unsigned *is_enabled) {
    const struct step *step = find_step(exec, node);
    if (!step || !is_enabled) return cudaErrorInvalidValue;
    *is_enabled = !step->is_off;
    return cudaSuccess;
}

API cudaGraphNodeSetEnabled(cudaGraphExec_t exec, cudaGraphNode_t node, unsigned is_enabled) {
    return CALL(set_enabled(exec, node, is_enabled));
}

API cudaGraphNodeGetEnabled(cudaGraphExec_t exec, cudaGraphNode_t node, unsigned *is_enabled) {
    return CALL(get_enabled(exec, node, is_enabled));
}
