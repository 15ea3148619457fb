/* Batches of copies: each is done in its turn, as if the stream had been asked for it alone. */
#include "arrays.h"

static bool is_access_order(int order) { return order >= SOURCE_IN_STREAM && order <= SOURCE_ANY; }

/* The legacy default stream has no batches. */
static cudaError_t check_stream(cudaStream_t stream) {
    if ((uintptr_t)stream <= 1) return cudaErrorInvalidValue;
    return stream_is_known(stream) ? cudaSuccess : cudaErrorInvalidResourceHandle;
}

/* ---- ranges -------------------------------------------------------------------------------------- */

/* Attributes a are those of the copies from firsts[a] on. */
struct attributes {
    const struct cudaMemcpyAttributes *of;
    const size_t *firsts;
    size_t count;
};

static cudaError_t check_attributes(const struct attributes *attributes, size_t copies) {
    if (!attributes->of || !attributes->firsts || !attributes->count || attributes->count > copies || attributes->firsts[0])
        return cudaErrorInvalidValue;
    for (size_t a = 0; a < attributes->count; a++) {
        if (!is_access_order(attributes->of[a].srcAccessOrder)) return cudaErrorInvalidValue;
        if (a && attributes->firsts[a] <= attributes->firsts[a - 1]) return cudaErrorInvalidValue;
    }
    return attributes->firsts[attributes->count - 1] < copies ? cudaSuccess : cudaErrorInvalidValue;
}

static cudaError_t copy_ranges(void *const *to, const void *const *from, const size_t *sizes, size_t count,
                               const struct attributes *attributes, cudaStream_t stream) {
    size_t at = 0;
    if (!to || !from || !sizes || !count) return cudaErrorInvalidValue;
    cudaError_t error = check_attributes(attributes, count);
    if (!error) error = check_stream(stream);
    for (size_t i = 0; i < count && !error; i++) {
        if (at + 1 < attributes->count && attributes->firsts[at + 1] == i) at++;
        const bool has_read_source = attributes->of[at].srcAccessOrder == SOURCE_DURING_CALL;
        error = copy_range_in(stream, &(struct range){to[i], from[i], sizes[i], has_read_source});
    }
    return error;
}

API cudaMemcpyBatchAsync(void *const *to, const void *const *from, const size_t *sizes, size_t count,
                         const struct cudaMemcpyAttributes *attributes, const size_t *firsts, size_t attribute_count,
                         cudaStream_t stream) {
    return CALL(copy_ranges(to, from, sizes, count, &(struct attributes){attributes, firsts, attribute_count}, stream));
}
ALSO(cudaMemcpyBatchAsync, _ptsz)

/* ---- planes -------------------------------------------------------------------------------------- */

static const struct cudaArray *array_of(const struct cudaMemcpy3DOperand *operand) {
    return operand->type == OPERAND_ARRAY ? operand->op.array.array : NULL;
}

static size_t texel_nbytes(const struct cudaArray *array) { return array_memory(array).xsize / array->extent.width; }

/* The size of the elements that are counted: 0: there is none. */
static size_t element_nbytes(const struct cudaMemcpy3DBatchOp *copying) {
    const struct cudaArray *from = array_of(&copying->src), *to = array_of(&copying->dst);
    const size_t nbytes = from ? texel_nbytes(from) : to ? texel_nbytes(to) : 1;
    return to && texel_nbytes(to) != nbytes ? 0 : nbytes;
}

static bool is_within(size_t begin, size_t count, size_t size) { return begin <= size && count <= size - begin; }

static bool is_in_array(const struct cudaMemcpy3DOperand *operand, const struct cudaExtent *extent) {
    const struct cudaArray *array = array_of(operand);
    const struct cudaPos *offset = &operand->op.array.offset;
    const size_t depth = array && array->extent.depth ? array->extent.depth : 1;
    return array && is_within(offset->x, extent->width, array->extent.width) &&
           is_within(offset->y, extent->height, array_memory(array).ysize) && is_within(offset->z, extent->depth, depth);
}

static bool is_pointer_of(const struct cudaMemcpy3DOperand *operand, const struct cudaExtent *extent) {
    const size_t row = operand->op.ptr.rowLength, rows = operand->op.ptr.layerHeight;
    return operand->op.ptr.ptr && (!row || row >= extent->width) && (!rows || rows >= extent->height);
}

static bool is_operand(const struct cudaMemcpy3DOperand *operand, const struct cudaExtent *extent) {
    if (operand->type == OPERAND_ARRAY) return is_in_array(operand, extent);
    return operand->type == OPERAND_POINTER && is_pointer_of(operand, extent);
}

static cudaError_t check_planes(const struct cudaMemcpy3DBatchOp *copying) {
    const struct cudaExtent *extent = &copying->extent;
    bool is_right = is_access_order(copying->srcAccessOrder) && extent->width && extent->height && extent->depth &&
                    is_operand(&copying->src, extent) && is_operand(&copying->dst, extent) && element_nbytes(copying);
    return is_right ? cudaSuccess : cudaErrorInvalidValue;
}

static struct cudaPitchedPtr rows_of(const struct cudaMemcpy3DOperand *operand, const struct cudaExtent *extent, size_t nbytes) {
    if (operand->type == OPERAND_ARRAY) return (struct cudaPitchedPtr){0};
    const size_t row = operand->op.ptr.rowLength ? operand->op.ptr.rowLength : extent->width;
    const size_t rows = operand->op.ptr.layerHeight ? operand->op.ptr.layerHeight : extent->height;
    return (struct cudaPitchedPtr){operand->op.ptr.ptr, row * nbytes, row * nbytes, rows};
}

static struct cudaPos offset_of(const struct cudaMemcpy3DOperand *operand) {
    return operand->type == OPERAND_ARRAY ? operand->op.array.offset : (struct cudaPos){0};
}

static struct cudaMemcpy3DParms planes_of(const struct cudaMemcpy3DBatchOp *copying) {
    const struct cudaMemcpy3DOperand *from = &copying->src, *to = &copying->dst;
    const size_t nbytes = element_nbytes(copying);
    return (struct cudaMemcpy3DParms){
        .srcArray = from->type == OPERAND_ARRAY ? from->op.array.array : NULL,
        .srcPos = offset_of(from),
        .srcPtr = rows_of(from, &copying->extent, nbytes),
        .dstArray = to->type == OPERAND_ARRAY ? to->op.array.array : NULL,
        .dstPos = offset_of(to),
        .dstPtr = rows_of(to, &copying->extent, nbytes),
        .extent = copying->extent,
        .kind = cudaMemcpyDefault,
    };
}

/* None is done if one is wrong. */
static cudaError_t copy_all_planes(size_t count, const struct cudaMemcpy3DBatchOp *copies, unsigned long long flags,
                                   cudaStream_t stream) {
    cudaError_t error = count && copies && !flags ? check_stream(stream) : cudaErrorInvalidValue;
    for (size_t i = 0; i < count && !error; i++) error = check_planes(&copies[i]);
    for (size_t i = 0; i < count && !error; i++) {
        const struct cudaMemcpy3DParms planes = planes_of(&copies[i]);
        error = copy_planes_in(stream, &planes);
    }
    return error;
}

API cudaMemcpy3DBatchAsync(size_t count, struct cudaMemcpy3DBatchOp *copies, unsigned long long flags, cudaStream_t stream) {
    return CALL(copy_all_planes(count, copies, flags, stream));
}
ALSO(cudaMemcpy3DBatchAsync, _ptsz)
