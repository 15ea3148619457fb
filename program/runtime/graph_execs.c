/* Graphs that can be launched: made of a graph, updated and launched.
 *
 * Nodes are executed in the order in which they came, but each after those that it depends on.  What no dependency orders
 * may be concurrent: order.c tells which of those touch the same memory. */
#include "graphs.h"

#include <stdlib.h>

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
    uint64_t flags;       /* it was made with */
    bool frees;           /* what is left of its last launch, before the next one */
    size_t count;
    struct step steps[];
};

static struct step *find_step(cudaGraphExec_t exec, cudaGraphNode_t node) {
    for (size_t i = 0; exec && node && i < exec->count; i++)
        if (exec->steps[i].node == node) return &exec->steps[i];
    return NULL;
}

cudaError_t graph_set_step(cudaGraphExec_t exec, cudaGraphNode_t node, cudaError_t error,
                           struct operation *const *made) {
    struct step *step = find_step(exec, node);
    return error ? error : operation_replace(step ? &step->operation : NULL, *made);
}

/* ---- instantiating ------------------------------------------------------------------------------- */

static cudaGraphExec_t execs; /* all that can be launched */

void execs_strike(order_set set) {
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
    user_objects_drop(exec);
    free(exec);
}

static bool is_next(cudaGraphNode_t node) {
    if (node->is_ordered) return false;
    for (size_t i = 0; i < node->dependency_count; i++)
        if (!node->dependencies[i]->is_ordered) return false;
    return true;
}

/* A step of the operation, which it takes, with space for that many predecessors; what it owns is released with the others. */
static cudaError_t add_step(cudaGraphExec_t exec, cudaError_t error, struct operation *const *made, size_t before_max) {
    struct step *step = &exec->steps[exec->count];
    if (error) return error;
    step->operation = *made;
    exec->count++;
    step->before = calloc(before_max, sizeof *step->before);
    return step->before ? cudaSuccess : cudaErrorMemoryAllocation;
}

static void come_after(struct step *step, size_t before) { step->before[step->before_count++] = before; }

/* What waits for no other node comes after the step, `begin`, of the graph that its own lies within; NULL: none. */
static cudaError_t add_node_step(cudaGraphExec_t exec, cudaGraphNode_t node, const size_t *begin) {
    struct operation *made = NULL;
    cudaError_t error = add_step(exec, operation_keep(node->operation, &made), &made, node->dependency_count + 1);
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
    struct operation *made = NULL;
    cudaError_t error = cudaSuccess;
    for (size_t i = 0; i < node->body_count && !error; i++) {
        error = add_step(exec, whole_make(&made), &made, 1);
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
    struct operation *made = NULL;
    cudaError_t error = node->child ? add_inner_steps(exec, node->child, begin) : add_body_steps(exec, node);
    if (error) return error;
    error = add_step(exec, whole_make(&made), &made, exec->count - begin);
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
    if (!error) error = user_objects_share(exec, graph);
    if (error) {
        release(exec);
        return error;
    }
    exec->next = execs;
    exec->flags = flags;
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

static cudaError_t instantiate_with(cudaGraphExec_t *result, cudaGraph_t graph, struct cudaGraphInstantiateParams *params) {
    enum { FAILED = 1 };
    const bool is_of_stream = !params->uploadStream || stream_is_known(params->uploadStream);
    cudaError_t error = is_of_stream ? instantiate(result, graph, params->flags) : cudaErrorInvalidResourceHandle;
    params->errNode_out = NULL;
    params->result_out = error ? FAILED : 0;
    return error;
}

API cudaGraphInstantiateWithParams(cudaGraphExec_t *result, cudaGraph_t graph, struct cudaGraphInstantiateParams *params) {
    return CALL_WITH(params, instantiate_with(result, graph, params));
}
ALSO(cudaGraphInstantiateWithParams, _ptsz)

API cudaGraphExecGetFlags(cudaGraphExec_t exec, unsigned long long *flags) {
    return CALL_WITH(exec && flags, (*flags = exec->flags, cudaSuccess));
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

/* Those of kernels of which it is certain that they would have run: how often bodies would have, nobody knows. */
static void refuse_launches(const struct CUgraphExec_st *exec, size_t from, size_t to) {
    for (size_t i = from; i < to; i++) {
        const struct step *step = &exec->steps[i];
        if (step->operation->kind == NODE_LAUNCH && !step->is_off) failures_refuse_launch();
        if (step->operation->kind == NODE_CONDITION) i += step->inner;
    }
}

static cudaError_t run_step(const struct CUgraphExec_st *exec, struct step *step, order_set before,
                            cudaStream_t stream) {
    for (size_t i = 0; i < step->before_count; i++) before |= exec->steps[step->before[i]].known;
    step->known = before;
    if (step->is_off) return cudaSuccess;
    if (step->operation->kind == NODE_RECORD) return event_record_node(step->operation, stream, before);
    if (step->operation->kind == NODE_WAIT) return event_wait_node(step->operation, &step->known);
    return operation_run(step->operation, &step->known, true);
}

static cudaError_t run_steps(cudaGraphExec_t exec, size_t from, size_t to, order_set before, cudaStream_t stream);

/* Of the conditional node that is this step.  A body that is executed again comes after itself. */
static cudaError_t run_bodies(cudaGraphExec_t exec, size_t node, order_set before, cudaStream_t stream) {
    const struct operation *operation = exec->steps[node].operation;
    cudaError_t error = cudaSuccess;
    for (int chosen; !error && !device_current()->sticky && (chosen = condition_choose(operation)) >= 0;) {
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
    size_t i = from;
    for (; i < to && !error && !device_current()->sticky; i++) {
        const struct step *step = &exec->steps[i];
        error = run_step(exec, &exec->steps[i], before, stream);
        stream_advance(stream, step->known);
        exec->known |= step->known;
        if (step->operation->kind != NODE_CONDITION) continue;
        if (!error) error = run_bodies(exec, i, before, stream);
        i += step->inner;
    }
    if (i < to && device_current()->sticky) refuse_launches(exec, i, to);
    return error ? error : i < to ? device_current()->sticky : cudaSuccess;
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
    if (stream_is_captured(stream)) return stream_refuse_capture(stream);
    if (captures_bar_stream(stream)) return cudaErrorStreamCaptureImplicit;
    const order_set before = stream_order(stream) | exec->known;
    if (has_branches(exec)) order_watch();
    begin_steps(exec);
    cudaError_t error = run_steps(exec, 0, exec->count, before, stream);
    stream_note_launch("of a graph", stream);
    return error;
}

static cudaError_t stop_launch(cudaGraphExec_t exec) {
    if (exec && runtime.record) refuse_launches(exec, 0, exec->count);
    return device_current()->sticky;
}

API cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream) {
    return runtime_end(__func__, runtime_begin() ? launch(exec, stream) : stop_launch(exec));
}
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
