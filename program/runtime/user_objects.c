/* What a program gives to its graphs to keep: destroyed when neither the program nor a graph, nor what was made of a graph, holds
 * it any longer. */
#include "graphs.h"

#include <stdlib.h>

struct CUuserObject_st {
    void *data;
    void (*destroy)(void *);
    uint64_t count;
};

struct hold {
    struct hold *next;
    const void *owner; /* a graph, or one that can be launched */
    cudaUserObject_t object;
    uint64_t count;
};

static struct hold *holds;

static void release(cudaUserObject_t object, uint64_t count) {
    object->count -= count;
    if (object->count) return;
    object->destroy(object->data); /* which must not call CUDA */
    free(object);
}

/* Where the owner's hold of the object is, or the end of the list. */
static struct hold **find(const void *owner, const struct CUuserObject_st *object) {
    struct hold **place = &holds;
    while (*place && ((*place)->owner != owner || (*place)->object != object)) place = &(*place)->next;
    return place;
}

static cudaError_t hold(const void *owner, cudaUserObject_t object, uint64_t count, bool is_moved) {
    struct hold **place = find(owner, object);
    if (!*place) {
        *place = calloc(1, sizeof **place);
        if (!*place) return cudaErrorMemoryAllocation;
        **place = (struct hold){.owner = owner, .object = object};
    }
    (*place)->count += count;
    if (!is_moved) object->count += count;
    return cudaSuccess;
}

cudaError_t user_objects_share(const void *owner, const void *from) {
    cudaError_t error = cudaSuccess;
    for (const struct hold *held = holds; held && !error; held = held->next)
        if (held->owner == from) error = hold(owner, held->object, 1, false);
    return error;
}

static void let_go(struct hold **place, uint64_t count) {
    struct hold *held = *place;
    const struct hold released = *held;
    held->count -= count;
    if (!held->count) {
        *place = held->next;
        free(held);
    }
    release(released.object, count);
}

void user_objects_drop(const void *owner) {
    for (struct hold **place = &holds; *place;)
        if ((*place)->owner == owner) let_go(place, (*place)->count);
        else place = &(*place)->next;
}

/* ---- calls --------------------------------------------------------------------------------------------- */

static cudaError_t create(cudaUserObject_t *object, void *data, void (*destroy)(void *), unsigned count, unsigned flags) {
    enum { NO_DESTRUCTOR_SYNC = 1 }; /* the only way that there is */
    if (!object || !destroy || !count || flags != NO_DESTRUCTOR_SYNC) return cudaErrorInvalidValue;
    *object = malloc(sizeof **object);
    if (!*object) return cudaErrorMemoryAllocation;
    **object = (struct CUuserObject_st){data, destroy, count};
    return cudaSuccess;
}

API cudaUserObjectCreate(cudaUserObject_t *object, void *data, void (*destroy)(void *), unsigned count, unsigned flags) {
    return CALL(create(object, data, destroy, count, flags));
}

API cudaUserObjectRetain(cudaUserObject_t object, unsigned count) {
    return CALL_WITH(object && count, (object->count += count, cudaSuccess));
}

API cudaUserObjectRelease(cudaUserObject_t object, unsigned count) {
    return CALL_WITH(object && count && count <= object->count, (release(object, count), cudaSuccess));
}

API cudaGraphRetainUserObject(cudaGraph_t graph, cudaUserObject_t object, unsigned count, unsigned flags) {
    enum { MOVE = 1 };
    return CALL_WITH(graph && object && count && flags <= MOVE, hold(graph, object, count, flags == MOVE));
}

static cudaError_t let_graph_go(cudaGraph_t graph, cudaUserObject_t object, unsigned count) {
    struct hold **place = find(graph, object);
    if (!*place || !count || count > (*place)->count) return cudaErrorInvalidValue;
    let_go(place, count);
    return cudaSuccess;
}

API cudaGraphReleaseUserObject(cudaGraph_t graph, cudaUserObject_t object, unsigned count) {
    return CALL(let_graph_go(graph, object, count));
}
