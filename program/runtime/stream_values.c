/* Words of memory that streams write and wait for (cuStreamWriteValue32, cuStreamWaitValue32, in 64 bits, and batches), and
 * their nodes of graphs.
 *
 * Everything is done when it is asked for, so a word has its value before a stream waits for it, or nothing will ever give
 * it that value in time: such a wait is refused.  Each access is atomic. */
#include <stdlib.h>
#include <string.h>

#include "driver.h"
#include "graphs.h"

/* CUstreamBatchMemOpType */
enum { WAIT_32 = 1, WRITE_32, FLUSH, WAIT_64, WRITE_64, BARRIER };
enum { WAIT_GREATER_EQUAL, WAIT_EQUAL, WAIT_AND, WAIT_NOR, WAIT_CONDITIONS, WAIT_FLUSH = 1 << 30 };
enum { WRITE_WITHOUT_FENCE = 1 };

/* CUstreamBatchMemOpParams: the word is as wide as the operation says.  A barrier has its flags where the address is. */
union word_request {
    int operation;
    struct {
        int operation;
        CUdeviceptr address;
        union {
            uint32_t value;
            uint64_t value64;
        };
        unsigned flags;
    } word;
    struct {
        int operation;
        unsigned flags;
    } other;
    uint64_t pad[6];
};

enum { REQUESTS_END = 256 };

struct batch {
    struct operation operation;
    cudaStream_t stream;
    unsigned count;
    union word_request requests[];
};

static bool is_wait(const union word_request *request) { return request->operation == WAIT_32 || request->operation == WAIT_64; }

static size_t word_nbytes(const union word_request *request) {
    return request->operation == WAIT_64 || request->operation == WRITE_64 ? sizeof(uint64_t) : sizeof(uint32_t);
}

static uint64_t word_value(const union word_request *request) {
    return word_nbytes(request) == sizeof(uint64_t) ? request->word.value64 : request->word.value;
}

/* ---- what can be asked for ----------------------------------------------------------------------------- */

static cudaError_t check_word(const union word_request *request) {
    const CUdeviceptr address = request->word.address;
    const size_t nbytes = word_nbytes(request);
    const unsigned flags = request->word.flags, last = is_wait(request) ? WAIT_CONDITIONS - 1 : WRITE_WITHOUT_FENCE;
    if (is_wait(request) && flags & WAIT_FLUSH) return runtime_lacks("CU_STREAM_WAIT_VALUE_FLUSH");
    if (flags > last || address % nbytes) return cudaErrorInvalidValue;
    return word_check(address, nbytes);
}

static cudaError_t check(const union word_request *request) {
    switch (request->operation) {
    case WAIT_32:
    case WAIT_64:
    case WRITE_32:
    case WRITE_64: return check_word(request);
    case FLUSH: return runtime_lacks("CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES");
    case BARRIER: return request->other.flags <= 1 ? cudaSuccess : cudaErrorInvalidValue;
    default: return cudaErrorInvalidValue;
    }
}

/* ---- doing it ------------------------------------------------------------------------------------------ */

static bool is_met(uint64_t word, const union word_request *request) {
    const uint64_t value = word_value(request), mask = word_nbytes(request) == sizeof(uint64_t) ? UINT64_MAX : UINT32_MAX;
    switch (request->word.flags) {
    case WAIT_GREATER_EQUAL: return ((word - value) & mask) <= mask / 2; /* the difference, signed, is not negative */
    case WAIT_EQUAL: return word == value;
    case WAIT_AND: return (word & value) != 0;
    default: return (~(word | value) & mask) != 0;
    }
}

/* Whoever has written the word may have done so after anything that was asked for by now. */
static void come_after_all(void) {
    order_after_all();
    for (int device = 0; device < runtime.device_count; device++) host_join(NULL, device, host_number());
}

static cudaError_t wait_for(const union word_request *request) {
    uint64_t word = 0;
    cudaError_t error = word_read(request->word.address, &word, word_nbytes(request));
    if (error) return error;
    if (!is_met(word, request)) return runtime_lacks("a stream's wait for a value that nothing has written yet");
    come_after_all();
    return cudaSuccess;
}

/* A host that finds the value where it can look for it has waited for the stream. */
static cudaError_t write_word(const union word_request *request, cudaStream_t stream) {
    const uint64_t value = word_value(request);
    cudaError_t error = word_write(request->word.address, &value, word_nbytes(request));
    if (!error && word_is_host(request->word.address)) stream_wait(stream);
    return error;
}

static cudaError_t do_request(const union word_request *request, cudaStream_t stream) {
    if (request->operation == BARRIER) return cudaSuccess;
    return is_wait(request) ? wait_for(request) : write_word(request, stream);
}

static cudaError_t run_batch(const struct operation *operation) {
    const struct batch *batch = (const struct batch *)operation;
    cudaError_t error = cudaSuccess;
    runtime_pass(batch->count);
    for (unsigned i = 0; i < batch->count && !error; i++) error = do_request(&batch->requests[i], batch->stream);
    return error;
}

/* ---- streams ------------------------------------------------------------------------------------------- */

/* To be freed. */
static cudaError_t make(struct operation **made, cudaStream_t stream, unsigned count, const union word_request *requests) {
    if (count >= REQUESTS_END || (count && !requests)) return cudaErrorInvalidValue;
    for (unsigned i = 0; i < count; i++) {
        cudaError_t error = check(&requests[i]);
        if (error) return error;
    }
    struct batch *batch = malloc(sizeof *batch + count * sizeof *requests);
    if (!batch) return cudaErrorMemoryAllocation;
    *batch = (struct batch){{NODE_WORDS, sizeof *batch + count * sizeof *requests, run_batch}, stream, count};
    if (count) memcpy(batch->requests, requests, count * sizeof *requests);
    *made = &batch->operation;
    return cudaSuccess;
}

static cudaError_t do_all(cudaStream_t stream, unsigned count, const union word_request *requests, unsigned flags) {
    struct operation *made;
    if (!stream_is_known(stream)) return cudaErrorInvalidResourceHandle;
    const cudaStream_t runs_in = stream_is_captured(stream) ? NULL : stream; /* a graph: wherever it is launched */
    cudaError_t error = flags ? cudaErrorInvalidValue : make(&made, runs_in, count, requests);
    if (error) return error;
    error = operation_do(made, stream);
    free(made);
    return error;
}

static cudaError_t do_batch(cudaStream_t stream, unsigned count, const union word_request *requests, unsigned flags) {
    return CALL(do_all(stream, count, requests, flags));
}

DRIVER cuStreamBatchMemOp_v2(cudaStream_t stream, unsigned count, union word_request *requests, unsigned flags) {
    return DRIVE(do_batch(stream, count, requests, flags));
}
ALSO(cuStreamBatchMemOp_v2, _ptsz)
ALSO_UNVERSIONED(cuStreamBatchMemOp)
ALSO(cuStreamBatchMemOp, _ptsz)

#define WORD(name, kind, type, member)                                                                             \
    DRIVER name##_v2(cudaStream_t stream, CUdeviceptr address, type value, unsigned flags) {                       \
        const union word_request request = {.word = {kind, address, {.member = value}, flags}};                    \
        return DRIVE(do_batch(stream, 1, &request, 0));                                                            \
    }                                                                                                              \
    ALSO(name##_v2, _ptsz)                                                                                         \
    ALSO_UNVERSIONED(name)                                                                                         \
    ALSO(name, _ptsz)

WORD(cuStreamWaitValue32, WAIT_32, uint32_t, value)
WORD(cuStreamWaitValue64, WAIT_64, uint64_t, value64)
WORD(cuStreamWriteValue32, WRITE_32, uint32_t, value)
WORD(cuStreamWriteValue64, WRITE_64, uint64_t, value64)

/* ---- nodes --------------------------------------------------------------------------------------------- */

/* CUDA_BATCH_MEM_OP_NODE_PARAMS */
struct batch_params {
    CUcontext context;
    unsigned count;
    union word_request *requests;
    unsigned flags;
};

static cudaError_t make_of(const struct batch_params *params, struct operation **made) {
    if (!params || params->flags) return cudaErrorInvalidValue;
    return make(made, NULL, params->count, params->requests);
}

static cudaError_t add(const struct graph_place *place, const struct batch_params *params) {
    struct operation *made = NULL;
    return CALL((graph_add(place, make_of(params, &made), &made)));
}

static cudaError_t set(cudaGraphNode_t node, const struct batch_params *params) {
    struct operation *made = NULL;
    return CALL((graph_set(node, make_of(params, &made), &made)));
}

static cudaError_t set_step(cudaGraphExec_t exec, cudaGraphNode_t node, const struct batch_params *params) {
    struct operation *made = NULL;
    return CALL((graph_set_step(exec, node, make_of(params, &made), &made)));
}

/* The requests are the node's own. */
static cudaError_t tell(cudaGraphNode_t node, struct batch_params *params) {
    struct batch *batch = (struct batch *)graph_operation(node, NODE_WORDS);
    if (!batch || !params) return cudaErrorInvalidValue;
    *params = (struct batch_params){.context = driver_context(), .count = batch->count, .requests = batch->requests};
    return cudaSuccess;
}

static cudaError_t get(cudaGraphNode_t node, struct batch_params *params) { return CALL(tell(node, params)); }

DRIVER cuGraphAddBatchMemOpNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *dependencies, size_t count,
                                const struct batch_params *params) {
    return DRIVE(add(&(struct graph_place){node, graph, dependencies, count}, params));
}

DRIVER cuGraphBatchMemOpNodeSetParams(cudaGraphNode_t node, const struct batch_params *params) {
    return DRIVE(set(node, params));
}

DRIVER cuGraphExecBatchMemOpNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node, const struct batch_params *params) {
    return DRIVE(set_step(exec, node, params));
}

DRIVER cuGraphBatchMemOpNodeGetParams(cudaGraphNode_t node, struct batch_params *params) { return DRIVE(get(node, params)); }
