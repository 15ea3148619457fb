/* For this folder alone: nodes of graphs, which are operations in the place of a graph. */
#ifndef PROGRAM_GRAPHS_H
#define PROGRAM_GRAPHS_H

#include "runtime.h"

/* The nodes that the next one of a captured stream depends on.  Zeroed, none. */
struct front {
    cudaGraphNode_t *nodes;
    size_t count;
};

cudaError_t front_join(struct front *front, const struct front *other); /* adds the other's */
void front_clear(struct front *front);
struct front *stream_front(cudaStream_t stream); /* of one that is captured */
/* Whether a stream that is captured there has nodes at its front that neither another node nor that front comes after. */
bool streams_leave_work(cudaGraph_t graph, const struct front *front);

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

/* While streams are captured in a graph. */
struct capture {
    cudaStream_t origin; /* where it has begun, and must end, */
    const struct thread *thread; /* and by which thread of the host */
    enum capture_mode mode;
    bool spares_default; /* it was begun by code for which the default stream is each thread's own */
    bool has_made_graph;
    bool is_invalid; /* it is refused all else, and ends without a graph */
};

struct CUgraph_st {
    cudaGraphNode_t first, *end;
    size_t count;
    bool is_clone;
    struct capture capture;
};

/* user_objects.c: the owner holds what the other one holds, or nothing any longer. */
cudaError_t user_objects_share(const void *owner, const void *from);
void user_objects_drop(const void *owner);

/* Edges of other kinds, of kernels that begin before others have ended, are not there. */
bool graph_edges_are_plain(const void *edges, size_t count);

/* A copy of the operation: *kept, to be freed, or NULL. */
cudaError_t operation_keep(const struct operation *operation, struct operation **kept);
/* Takes the operation: it is at the place, if that has one of the same kind (NULL: there is none), or gone. */
cudaError_t operation_replace(struct operation **place, struct operation *operation);
/* *set: what it comes after; then it, too. */
cudaError_t operation_run(const struct operation *operation, order_set *set, bool is_of_graph);

cudaError_t graph_create(cudaGraph_t *graph);
cudaError_t graph_destroy(cudaGraph_t graph);
cudaGraphNode_t graph_append(cudaGraph_t graph, struct operation *operation); /* takes the operation; NULL: no memory */
bool node_depends_on(cudaGraphNode_t node, cudaGraphNode_t other);
bool node_is_awaited(cudaGraphNode_t node); /* another depends on it */
cudaError_t node_depend(cudaGraphNode_t node, cudaGraphNode_t other); /* on one of the same graph, on which it does not yet */
cudaError_t graph_capture(struct operation *operation, cudaStream_t stream); /* a node of the graph that captures it */

struct graph_place {
    cudaGraphNode_t *node; /* where it is told */
    cudaGraph_t graph;
    const cudaGraphNode_t *dependencies;
    size_t count;
};

/* A node of the operation, or another operation of the same kind for a node, of a graph or of what is launched.  They take
 * the operation, *made, and pass on an error of making it, with which there is none. */
cudaError_t graph_add(const struct graph_place *place, cudaError_t error, struct operation *const *made);
cudaError_t graph_add_child(const struct graph_place *place, cudaGraph_t given);
struct operation *graph_operation(cudaGraphNode_t node, enum operation_kind kind); /* NULL: it is of another kind */
cudaError_t graph_set(cudaGraphNode_t node, cudaError_t error, struct operation *const *made);
cudaError_t graph_set_step(cudaGraphExec_t exec, cudaGraphNode_t node, cudaError_t error,
                           struct operation *const *made);

/* launch.c, copies.c, callbacks.c, streams.c, operations.c: operations as the parameters of nodes have them */
cudaError_t launch_make(const struct cudaKernelNodeParams *params, struct operation **made);
cudaError_t launch_unpack(const struct CUkern_st *kernel, void *const *extra, void ***arguments);
cudaError_t copy_make(void *to, const void *from, size_t nbytes, enum cudaMemcpyKind kind, struct operation **made);
cudaError_t planes_make(const struct cudaMemcpy3DParms *params, struct operation **made);
cudaError_t fill_make(const struct cudaMemsetParams *params, struct operation **made);
cudaError_t host_make(const struct cudaHostNodeParams *params, struct operation **made);
cudaError_t event_make(enum operation_kind kind, cudaEvent_t event, struct operation **made);
cudaError_t empty_make(struct operation **made);
cudaError_t whole_make(struct operation **made); /* of a graph within a graph */
/* The other way round.  What a launch's arguments are told by is the operation's own. */
cudaError_t launch_tell(const struct operation *operation, struct cudaKernelNodeParams *params);
cudaError_t planes_tell(const struct operation *operation, struct cudaMemcpy3DParms *params);
cudaError_t fill_tell(const struct operation *operation, struct cudaMemsetParams *params);
cudaError_t host_tell(const struct operation *operation, struct cudaHostNodeParams *params);
cudaError_t launch_set_attribute(struct operation *operation, int id, const union cudaLaunchAttributeValue *value);
cudaError_t launch_get_attribute(const struct operation *operation, int id, union cudaLaunchAttributeValue *value);
cudaError_t launch_copy_attributes(struct operation *to, const struct operation *from);
cudaError_t condition_make(const struct cudaConditionalNodeParams *params, struct operation **made);
cudaError_t allocation_make_on(int device, void **pointer, size_t nbytes, struct operation **made);
cudaError_t allocation_make(struct cudaMemAllocNodeParams *params, struct operation **made);
cudaError_t free_make(void *pointer, struct operation **made);
cudaError_t allocation_tell(const struct operation *operation, struct cudaMemAllocNodeParams *params);
cudaError_t free_tell(const struct operation *operation, void **pointer);
void allocation_let_go(const struct operation *operation); /* frees what it has allocated, if that is still there */
cudaEvent_t event_of(const struct operation *operation); /* that it was made of */
/* Of a launched graph, in whose stream an event is recorded, and which comes after what it waits for. */
cudaError_t event_record_node(const struct operation *operation, cudaStream_t stream, order_set known);
cudaError_t event_wait_node(const struct operation *operation, order_set *known);
/* Which of the bodies of a conditional node is executed next, and how many it has; -1: none, go on behind it. */
int condition_choose(const struct operation *operation);
unsigned condition_bodies(const struct operation *operation);
bool condition_repeats(const struct operation *operation); /* until there is none */
void condition_begin(const struct operation *operation); /* the graph is launched */
cudaError_t graph_add_condition(const struct graph_place *place, struct cudaConditionalNodeParams *params);
cudaError_t variable_find_part(const void *symbol, size_t offset, size_t nbytes, uint64_t *address);

#endif
