/* The driver's memory, copies and fills. */
#include "arrays.h"
#include "driver.h"
#include "virtual.h"

#include <string.h>

/* ---- allocating ---------------------------------------------------------------------------------- */

static cudaError_t set_address(CUdeviceptr *result, const void *pointer, cudaError_t error) {
    if (!error) *result = (uintptr_t)pointer;
    return error;
}

static cudaError_t allocate(CUdeviceptr *result, size_t nbytes) {
    void *pointer;
    if (!result || !nbytes) return cudaErrorInvalidValue;
    cudaError_t error = cudaMalloc(&pointer, nbytes);
    return set_address(result, pointer, error);
}

static cudaError_t allocate_async(CUdeviceptr *result, size_t nbytes, cudaStream_t stream) {
    void *pointer = NULL;
    cudaError_t error = cudaMallocAsync(&pointer, nbytes, stream);
    return set_address(result, pointer, error);
}

static cudaError_t allocate_from(CUdeviceptr *result, size_t nbytes, cudaMemPool_t pool, cudaStream_t stream) {
    void *pointer = NULL;
    cudaError_t error = cudaMallocFromPoolAsync(&pointer, nbytes, pool, stream);
    return set_address(result, pointer, error);
}

static cudaError_t allocate_managed(CUdeviceptr *result, size_t nbytes, unsigned flags) {
    void *pointer = NULL;
    cudaError_t error = cudaMallocManaged(&pointer, nbytes, flags);
    return set_address(result, pointer, error);
}

static cudaError_t allocate_rows(CUdeviceptr *result, size_t *pitch, size_t width, size_t height) {
    void *pointer = NULL;
    cudaError_t error = cudaMallocPitch(&pointer, pitch, width, height);
    return set_address(result, pointer, error);
}

static cudaError_t get_device_pointer(CUdeviceptr *result, void *host, unsigned flags) {
    void *pointer = NULL;
    cudaError_t error = cudaHostGetDevicePointer(&pointer, host, flags);
    return set_address(result, pointer, error);
}

DRIVER cuMemAlloc_v2(CUdeviceptr *result, size_t nbytes) { return DRIVE(allocate(result, nbytes)); }
ALSO_UNVERSIONED(cuMemAlloc)

DRIVER cuMemAllocAsync(CUdeviceptr *result, size_t nbytes, cudaStream_t stream) {
    return DRIVE(allocate_async(result, nbytes, stream));
}
ALSO(cuMemAllocAsync, _ptsz)

DRIVER cuMemAllocFromPoolAsync(CUdeviceptr *result, size_t nbytes, cudaMemPool_t pool, cudaStream_t stream) {
    return DRIVE(allocate_from(result, nbytes, pool, stream));
}
ALSO(cuMemAllocFromPoolAsync, _ptsz)

DRIVER cuMemAllocManaged(CUdeviceptr *result, size_t nbytes, unsigned flags) {
    return DRIVE(allocate_managed(result, nbytes, flags));
}

DRIVER cuMemAllocPitch_v2(CUdeviceptr *result, size_t *pitch, size_t width, size_t height, unsigned element_nbytes) {
    (void)element_nbytes;
    return DRIVE(allocate_rows(result, pitch, width, height));
}
ALSO_UNVERSIONED(cuMemAllocPitch)

DRIVER cuMemFree_v2(CUdeviceptr address) { return DRIVE(cudaFree(pointer_to(address))); }
ALSO_UNVERSIONED(cuMemFree)

DRIVER cuMemFreeAsync(CUdeviceptr address, cudaStream_t stream) {
    return DRIVE(cudaFreeAsync(pointer_to(address), stream));
}
ALSO(cuMemFreeAsync, _ptsz)

DRIVER cuMemAllocHost_v2(void **pointer, size_t nbytes) { return DRIVE(cudaHostAlloc(pointer, nbytes, 0)); }
ALSO_UNVERSIONED(cuMemAllocHost)

DRIVER cuMemHostAlloc(void **pointer, size_t nbytes, unsigned flags) {
    return DRIVE(cudaHostAlloc(pointer, nbytes, flags));
}

DRIVER cuMemFreeHost(void *pointer) { return DRIVE(cudaFreeHost(pointer)); }

DRIVER cuMemHostRegister_v2(void *pointer, size_t nbytes, unsigned flags) {
    return DRIVE(cudaHostRegister(pointer, nbytes, flags));
}
ALSO_UNVERSIONED(cuMemHostRegister)

DRIVER cuMemHostUnregister(void *pointer) { return DRIVE(cudaHostUnregister(pointer)); }

DRIVER cuMemHostGetDevicePointer_v2(CUdeviceptr *result, void *host, unsigned flags) {
    return DRIVE(get_device_pointer(result, host, flags));
}
ALSO_UNVERSIONED(cuMemHostGetDevicePointer)

DRIVER cuMemHostGetFlags(unsigned *flags, void *host) { return DRIVE(cudaHostGetFlags(flags, host)); }
DRIVER cuMemGetInfo_v2(size_t *available, size_t *total) { return DRIVE(cudaMemGetInfo(available, total)); }
ALSO_UNVERSIONED(cuMemGetInfo)

DRIVER cuMemPrefetchAsync_v2(CUdeviceptr address, size_t nbytes, struct cudaMemLocation location, unsigned flags,
                             cudaStream_t stream) {
    return DRIVE(cudaMemPrefetchAsync(pointer_to(address), nbytes, location, flags, stream));
}
ALSO(cuMemPrefetchAsync_v2, _ptsz)

/* The CPU has a number, too. */
static struct cudaMemLocation location_of(int device) {
    enum { CPU = -1 };
    return device == CPU ? (struct cudaMemLocation){LOCATION_HOST, 0} : (struct cudaMemLocation){cudaMemLocationTypeDevice, device};
}

DRIVER cuMemPrefetchAsync(CUdeviceptr address, size_t nbytes, int device, cudaStream_t stream) {
    return DRIVE(cudaMemPrefetchAsync(pointer_to(address), nbytes, location_of(device), 0, stream));
}
ALSO(cuMemPrefetchAsync, _ptsz)

DRIVER cuMemAdvise_v2(CUdeviceptr address, size_t nbytes, int advice, struct cudaMemLocation location) {
    return DRIVE(cudaMemAdvise(pointer_to(address), nbytes, advice, location));
}

DRIVER cuMemAdvise(CUdeviceptr address, size_t nbytes, int advice, int device) {
    return DRIVE(cudaMemAdvise(pointer_to(address), nbytes, advice, location_of(device)));
}

DRIVER cuMemRangeGetAttribute(void *value, size_t size, int attribute, CUdeviceptr address, size_t nbytes) {
    return DRIVE(cudaMemRangeGetAttribute(value, size, attribute, pointer_to(address), nbytes));
}

DRIVER cuMemRangeGetAttributes(void **values, size_t *sizes, int *attributes, size_t count, CUdeviceptr address, size_t nbytes) {
    return DRIVE(cudaMemRangeGetAttributes(values, sizes, attributes, count, pointer_to(address), nbytes));
}

/* ---- pools --------------------------------------------------------------------------------------- */

DRIVER cuMemPoolCreate(cudaMemPool_t *pool, const struct cudaMemPoolProps *properties) {
    return DRIVE_BARE(cudaMemPoolCreate(pool, properties));
}

DRIVER cuMemPoolDestroy(cudaMemPool_t pool) { return DRIVE_BARE(cudaMemPoolDestroy(pool)); }
DRIVER cuMemPoolTrimTo(cudaMemPool_t pool, size_t nbytes) { return DRIVE_BARE(cudaMemPoolTrimTo(pool, nbytes)); }

DRIVER cuMemPoolSetAttribute(cudaMemPool_t pool, int attribute, void *value) {
    return DRIVE_BARE(cudaMemPoolSetAttribute(pool, attribute, value));
}

DRIVER cuMemPoolGetAttribute(cudaMemPool_t pool, int attribute, void *value) {
    return DRIVE_BARE(cudaMemPoolGetAttribute(pool, attribute, value));
}

DRIVER cuMemPoolSetAccess(cudaMemPool_t pool, const struct cudaMemAccessDesc *access, size_t count) {
    return DRIVE_BARE(cudaMemPoolSetAccess(pool, access, count));
}

DRIVER cuMemPoolGetAccess(int *flags, cudaMemPool_t pool, struct cudaMemLocation *location) {
    return DRIVE_BARE(cudaMemPoolGetAccess(flags, pool, location));
}

/* ---- questions ----------------------------------------------------------------------------------- */

static cudaError_t get_range(CUdeviceptr *base, size_t *nbytes, CUdeviceptr address) {
    struct buffer found;
    const struct buffer *const buffer = &found;
    if (!buffer_look(address, &found)) return cudaErrorInvalidValue;
    if (base) *base = buffer->address;
    if (nbytes) *nbytes = buffer->nbytes;
    return cudaSuccess;
}

DRIVER cuMemGetAddressRange_v2(CUdeviceptr *base, size_t *nbytes, CUdeviceptr address) {
    return DRIVE(CALL(get_range(base, nbytes, address)));
}
ALSO_UNVERSIONED(cuMemGetAddressRange)

/* CUpointer_attribute, as far as there is an answer. */
enum {
    POINTER_CONTEXT = 1,
    POINTER_MEMORY_TYPE,
    POINTER_DEVICE,
    POINTER_HOST,
    POINTER_SYNC_MEMOPS = 6,
    POINTER_BUFFER_ID,
    POINTER_IS_MANAGED,
    POINTER_ORDINAL,
    POINTER_RANGE_START = 11,
    POINTER_RANGE_NBYTES,
    POINTER_IS_MAPPED,
};

static cudaError_t answer(void *to, const void *value, size_t nbytes) {
    memcpy(to, value, nbytes);
    return cudaSuccess;
}

static cudaError_t ask_pointer(void *value, int attribute, CUdeviceptr address) {
    struct buffer found;
    const struct buffer *const buffer = &found;
    if (!buffer_look(address, &found)) return cudaErrorInvalidValue;
    const uint64_t offset = address - buffer->address, device_address = buffer->device_address + offset;
    const unsigned type = buffer->kind <= BUFFER_MANAGED ? 2 : 1, yes = 1, no = 0;
    CUcontext context = driver_context_on(buffer->device);
    switch (attribute) {
    case POINTER_CONTEXT: return answer(value, &context, sizeof context);
    case POINTER_MEMORY_TYPE: return answer(value, &type, sizeof type);
    case POINTER_DEVICE: return answer(value, &device_address, sizeof device_address);
    case POINTER_HOST:
        return buffer->kind <= BUFFER_VARIABLE ? cudaErrorInvalidValue : answer(value, &address, sizeof address);
    case POINTER_SYNC_MEMOPS: return answer(value, &no, 1);
    case POINTER_BUFFER_ID: return answer(value, &buffer->address, sizeof buffer->address);
    case POINTER_IS_MANAGED: return answer(value, buffer->kind == BUFFER_MANAGED ? &yes : &no, 1);
    case POINTER_ORDINAL: return answer(value, &buffer->device, sizeof buffer->device);
    case POINTER_RANGE_START: return answer(value, &buffer->address, sizeof buffer->address);
    case POINTER_RANGE_NBYTES: return answer(value, &buffer->nbytes, sizeof buffer->nbytes);
    case POINTER_IS_MAPPED: return answer(value, &yes, 1);
    default: return cudaErrorNotSupported;
    }
}

DRIVER cuPointerGetAttribute(void *value, int attribute, CUdeviceptr address) {
    return DRIVE(CALL(ask_pointer(value, attribute, address)));
}

/* Of memory that is nobody's, the numbers are 0; their sizes are known by the questions alone. */
static cudaError_t ask_all(unsigned count, const int *attributes, void **values, CUdeviceptr address) {
    for (unsigned i = 0; i < count; i++) {
        bool is_flag = attributes[i] == POINTER_SYNC_MEMOPS || attributes[i] == POINTER_IS_MANAGED ||
                       attributes[i] == POINTER_IS_MAPPED;
        bool is_number = attributes[i] == POINTER_MEMORY_TYPE || attributes[i] == POINTER_ORDINAL;
        memset(values[i], 0, is_flag ? 1 : is_number ? sizeof(unsigned) : sizeof(uint64_t));
        ask_pointer(values[i], attributes[i], address);
    }
    return cudaSuccess;
}

DRIVER cuPointerGetAttributes(unsigned count, int *attributes, void **values, CUdeviceptr address) {
    return DRIVE(CALL(ask_all(count, attributes, values, address)));
}

/* ---- copies -------------------------------------------------------------------------------------- */

#define COPY(name, kind, to_type, to_pointer, from_type, from_pointer)                                             \
    DRIVER name##_v2(to_type to, from_type from, size_t nbytes) {                                                  \
        return DRIVE(cudaMemcpy(to_pointer(to), from_pointer(from), nbytes, kind));                                \
    }                                                                                                              \
    ALSO(name##_v2, _ptds)                                                                                         \
    ALSO_UNVERSIONED(name)                                                                                         \
    DRIVER name##Async_v2(to_type to, from_type from, size_t nbytes, cudaStream_t stream) {                        \
        return DRIVE(cudaMemcpyAsync(to_pointer(to), from_pointer(from), nbytes, kind, stream));                   \
    }                                                                                                              \
    ALSO(name##Async_v2, _ptsz)                                                                                    \
    ALSO_UNVERSIONED(name##Async)

COPY(cuMemcpyHtoD, cudaMemcpyHostToDevice, CUdeviceptr, pointer_to, const void *, )
COPY(cuMemcpyDtoH, cudaMemcpyDeviceToHost, void *, , CUdeviceptr, pointer_to)
COPY(cuMemcpyDtoD, cudaMemcpyDeviceToDevice, CUdeviceptr, pointer_to, CUdeviceptr, pointer_to)

DRIVER cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t nbytes) {
    return DRIVE(cudaMemcpy(pointer_to(to), pointer_to(from), nbytes, cudaMemcpyDefault));
}
ALSO(cuMemcpy, _ptds)

DRIVER cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t nbytes, cudaStream_t stream) {
    return DRIVE(cudaMemcpyAsync(pointer_to(to), pointer_to(from), nbytes, cudaMemcpyDefault, stream));
}
ALSO(cuMemcpyAsync, _ptsz)

DRIVER cuMemcpyPeer(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context, size_t nbytes) {
    return DRIVE(cudaMemcpyPeer(pointer_to(to), driver_device(to_context), pointer_to(from),
                                driver_device(from_context), nbytes));
}
ALSO(cuMemcpyPeer, _ptds)

DRIVER cuMemcpyPeerAsync(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context, size_t nbytes,
                         cudaStream_t stream) {
    return DRIVE(cudaMemcpyPeerAsync(pointer_to(to), driver_device(to_context), pointer_to(from),
                                     driver_device(from_context), nbytes, stream));
}
ALSO(cuMemcpyPeerAsync, _ptsz)

/* One end of a copy of rows or planes. */
struct end {
    size_t x, y, z, lod;
    int type;
    const void *host;
    CUdeviceptr device;
    void *array, *reserved;
    size_t pitch, height;
};

struct planes {
    struct end from, to;
    size_t width, height, depth;
};

enum { TYPE_HOST = 1, TYPE_DEVICE, TYPE_ARRAY };

/* An array's becomes one of plain memory; positions and widths are bytes there, too. */
static cudaError_t resolve_end(struct end *end, const struct planes *planes) {
    if (end->type != TYPE_ARRAY) return cudaSuccess;
    const struct cudaArray *array = end->array;
    if (!array) return cudaErrorInvalidResourceHandle;
    const struct cudaPitchedPtr memory = array_memory(array);
    const size_t depth = array->extent.depth ? array->extent.depth : 1;
    bool is_within = end->x <= memory.xsize && planes->width <= memory.xsize - end->x && end->y <= memory.ysize &&
                     planes->height <= memory.ysize - end->y && end->z <= depth && planes->depth <= depth - end->z;
    if (!is_within) return cudaErrorInvalidValue;
    end->type = TYPE_DEVICE;
    end->device = (uintptr_t)memory.ptr;
    end->pitch = memory.pitch;
    end->height = memory.ysize;
    return cudaSuccess;
}

static cudaError_t resolve(struct planes *planes) {
    cudaError_t error = resolve_end(&planes->from, planes);
    return error ? error : resolve_end(&planes->to, planes);
}

static char *place_in(const struct end *end, size_t plane) {
    const char *base = end->type == TYPE_HOST ? end->host : pointer_to(end->device);
    return (char *)(uintptr_t)base + ((end->z + plane) * end->height + end->y) * end->pitch + end->x;
}

static cudaError_t copy_planes(const struct planes *copying, cudaStream_t stream) {
    struct planes planes = *copying;
    cudaError_t error = resolve(&planes);
    for (size_t plane = 0; plane < planes.depth && !error; plane++)
        error = cudaMemcpy2DAsync(place_in(&planes.to, plane), planes.to.pitch, place_in(&planes.from, plane),
                                  planes.from.pitch, planes.width, planes.height, cudaMemcpyDefault, stream);
    return error;
}

static struct cudaPitchedPtr pointer_of(const struct end *end) {
    void *base = end->type == TYPE_HOST ? (void *)(uintptr_t)end->host : pointer_to(end->device);
    return (struct cudaPitchedPtr){base, end->pitch, end->pitch, end->height};
}

/* As the runtime has it. */
static cudaError_t params_of(const struct planes *copying, struct cudaMemcpy3DParms *params) {
    struct planes planes = *copying;
    cudaError_t error = resolve(&planes);
    const struct end *from = &planes.from, *to = &planes.to;
    *params = (struct cudaMemcpy3DParms){.srcPos = {from->x, from->y, from->z},
                                         .srcPtr = pointer_of(from),
                                         .dstPos = {to->x, to->y, to->z},
                                         .dstPtr = pointer_of(to),
                                         .extent = {planes.width, planes.height, planes.depth},
                                         .kind = cudaMemcpyDefault};
    return error;
}

DRIVER cuGraphAddMemcpyNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *dependencies, size_t count,
                            const struct planes *copying, CUcontext context) {
    (void)context;
    struct cudaMemcpy3DParms params;
    cudaError_t error = params_of(copying, &params);
    return DRIVE(error ? error : cudaGraphAddMemcpyNode(node, graph, dependencies, count, &params));
}

DRIVER cuGraphMemcpyNodeSetParams(cudaGraphNode_t node, const struct planes *copying) {
    struct cudaMemcpy3DParms params;
    cudaError_t error = params_of(copying, &params);
    return DRIVE(error ? error : cudaGraphMemcpyNodeSetParams(node, &params));
}

DRIVER cuGraphExecMemcpyNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node, const struct planes *copying,
                                      CUcontext context) {
    (void)context;
    struct cudaMemcpy3DParms params;
    cudaError_t error = params_of(copying, &params);
    return DRIVE(error ? error : cudaGraphExecMemcpyNodeSetParams(exec, node, &params));
}

static struct end end_told(const struct cudaPos *position, const struct cudaPitchedPtr *memory) {
    struct end end = {.x = position->x, .y = position->y, .z = position->z};
    const struct buffer *buffer = buffer_find((uintptr_t)memory->ptr);
    end.type = buffer && buffer->kind <= BUFFER_MANAGED ? TYPE_DEVICE : TYPE_HOST;
    if (end.type == TYPE_DEVICE) end.device = (uintptr_t)memory->ptr;
    else end.host = memory->ptr;
    end.pitch = memory->pitch;
    end.height = memory->ysize;
    return end;
}

/* An array's memory is told in its place, in bytes. */
static cudaError_t tell_planes(cudaGraphNode_t node, struct planes *planes) {
    struct cudaMemcpy3DParms params;
    cudaError_t error = planes ? cudaGraphMemcpyNodeGetParams(node, &params) : cudaErrorInvalidValue;
    if (error) return error;
    host_enter();
    params = array_resolve(&params);
    *planes = (struct planes){.from = end_told(&params.srcPos, &params.srcPtr),
                              .to = end_told(&params.dstPos, &params.dstPtr),
                              .width = params.extent.width,
                              .height = params.extent.height,
                              .depth = params.extent.depth};
    host_leave();
    return cudaSuccess;
}

DRIVER cuGraphMemcpyNodeGetParams(cudaGraphNode_t node, struct planes *planes) {
    return DRIVE(tell_planes(node, planes));
}

/* CUDA_MEMCPY2D and CUDA_MEMCPY3D. */
struct end_2d {
    size_t x, y;
    int type;
    const void *host;
    CUdeviceptr device;
    void *array;
    size_t pitch;
};

struct copy_2d {
    struct end_2d from, to;
    size_t width, height;
};

/* A pitch of 0 is that of rows without gaps. */
static struct end end_of(const struct end_2d *end, size_t width) {
    return (struct end){.x = end->x,
                        .y = end->y,
                        .type = end->type,
                        .host = end->host,
                        .device = end->device,
                        .array = end->array,
                        .pitch = end->pitch ? end->pitch : end->x + width};
}

static cudaError_t copy_2d_in(const struct copy_2d *copying, cudaStream_t stream) {
    return copy_planes(&(struct planes){end_of(&copying->from, copying->width), end_of(&copying->to, copying->width),
                                        copying->width, copying->height, 1},
                       stream);
}

/* What was asked for before is done when these return. */
static cudaError_t copy_rows_now(const struct copy_2d *copying) {
    cudaError_t error = cudaDeviceSynchronize();
    return error ? error : copy_2d_in(copying, NULL);
}

static cudaError_t copy_planes_now(const struct planes *planes) {
    cudaError_t error = cudaDeviceSynchronize();
    return error ? error : copy_planes(planes, NULL);
}

DRIVER cuMemcpy2D_v2(const struct copy_2d *copying) { return DRIVE(copy_rows_now(copying)); }
ALSO(cuMemcpy2D_v2, _ptds)
ALSO_UNVERSIONED(cuMemcpy2D)
DRIVER cuMemcpy2DUnaligned_v2(const struct copy_2d *copying) { return DRIVE(copy_rows_now(copying)); }
ALSO(cuMemcpy2DUnaligned_v2, _ptds)
ALSO_UNVERSIONED(cuMemcpy2DUnaligned)

DRIVER cuMemcpy2DAsync_v2(const struct copy_2d *copying, cudaStream_t stream) {
    return DRIVE(copy_2d_in(copying, stream));
}
ALSO(cuMemcpy2DAsync_v2, _ptsz)
ALSO_UNVERSIONED(cuMemcpy2DAsync)

DRIVER cuMemcpy3D_v2(const struct planes *copying) { return DRIVE(copy_planes_now(copying)); }
ALSO(cuMemcpy3D_v2, _ptds)
ALSO_UNVERSIONED(cuMemcpy3D)

DRIVER cuMemcpy3DAsync_v2(const struct planes *copying, cudaStream_t stream) {
    return DRIVE(copy_planes(copying, stream));
}
ALSO(cuMemcpy3DAsync_v2, _ptsz)
ALSO_UNVERSIONED(cuMemcpy3DAsync)

/* ---- fills --------------------------------------------------------------------------------------- */

static cudaError_t fill(CUdeviceptr to, size_t pitch, uint32_t value, uint32_t width, size_t count, size_t rows,
                        cudaStream_t stream) {
    return CALL(pattern_fill_in(stream, &(struct pattern){to, pitch, value, width, count, rows}));
}

#define FILL(bits, type)                                                                                           \
    DRIVER cuMemsetD##bits##_v2(CUdeviceptr to, type value, size_t count) {                                        \
        return DRIVE(fill(to, 0, value, sizeof value, count, 1, NULL));                                            \
    }                                                                                                              \
    ALSO(cuMemsetD##bits##_v2, _ptds)                                                                              \
    ALSO_UNVERSIONED(cuMemsetD##bits)                                                                              \
    DRIVER cuMemsetD##bits##Async(CUdeviceptr to, type value, size_t count, cudaStream_t stream) {                 \
        return DRIVE(fill(to, 0, value, sizeof value, count, 1, stream));                                          \
    }                                                                                                              \
    ALSO(cuMemsetD##bits##Async, _ptsz)                                                                            \
    DRIVER cuMemsetD2D##bits##_v2(CUdeviceptr to, size_t pitch, type value, size_t width, size_t height) {         \
        return DRIVE(fill(to, pitch, value, sizeof value, width, height, NULL));                                   \
    }                                                                                                              \
    ALSO(cuMemsetD2D##bits##_v2, _ptds)                                                                            \
    ALSO_UNVERSIONED(cuMemsetD2D##bits)                                                                            \
    DRIVER cuMemsetD2D##bits##Async(CUdeviceptr to, size_t pitch, type value, size_t width, size_t height,         \
                                    cudaStream_t stream) {                                                         \
        return DRIVE(fill(to, pitch, value, sizeof value, width, height, stream));                                 \
    }                                                                                                              \
    ALSO(cuMemsetD2D##bits##Async, _ptsz)

FILL(8, unsigned char)
FILL(16, unsigned short)
FILL(32, unsigned)

/* An address is a pointer's bits. */
DRIVER cuMemcpyBatchAsync_v2(void *const *to, const void *const *from, const size_t *sizes, size_t count,
                             const struct cudaMemcpyAttributes *attributes,
                             const size_t *firsts, size_t attribute_count, cudaStream_t stream) {
    return DRIVE(cudaMemcpyBatchAsync(to, from, sizes, count, attributes, firsts, attribute_count, stream));
}
ALSO(cuMemcpyBatchAsync_v2, _ptsz)

DRIVER cuMemcpy3DBatchAsync_v2(size_t count, struct cudaMemcpy3DBatchOp *copies, unsigned long long flags, cudaStream_t stream) {
    return DRIVE(cudaMemcpy3DBatchAsync(count, copies, flags, stream));
}
ALSO(cuMemcpy3DBatchAsync_v2, _ptsz)

DRIVER cuMemPrefetchBatchAsync(void **pointers, size_t *sizes, size_t count, struct cudaMemLocation *locations, size_t *firsts,
                               size_t location_count, unsigned long long flags, cudaStream_t stream) {
    return DRIVE(cudaMemPrefetchBatchAsync(pointers, sizes, count, locations, firsts, location_count, flags, stream));
}
ALSO(cuMemPrefetchBatchAsync, _ptsz)

DRIVER cuMemDiscardBatchAsync(void **pointers, size_t *sizes, size_t count, unsigned long long flags, cudaStream_t stream) {
    return DRIVE(cudaMemDiscardBatchAsync(pointers, sizes, count, flags, stream));
}
ALSO(cuMemDiscardBatchAsync, _ptsz)

DRIVER cuMemDiscardAndPrefetchBatchAsync(void **pointers, size_t *sizes, size_t count, struct cudaMemLocation *locations,
                                         size_t *firsts, size_t location_count, unsigned long long flags, cudaStream_t stream) {
    return DRIVE(cudaMemDiscardAndPrefetchBatchAsync(pointers, sizes, count, locations, firsts, location_count, flags, stream));
}
ALSO(cuMemDiscardAndPrefetchBatchAsync, _ptsz)

/* ---- for other processes ------------------------------------------------------------------------- */

DRIVER cuIpcGetMemHandle(struct cudaIpcHandle *handle, CUdeviceptr address) {
    return DRIVE(cudaIpcGetMemHandle(handle, pointer_to(address)));
}

DRIVER cuIpcOpenMemHandle_v2(void **pointer, struct cudaIpcHandle handle, unsigned flags) {
    return DRIVE(cudaIpcOpenMemHandle(pointer, handle, flags));
}
ALSO_UNVERSIONED(cuIpcOpenMemHandle)

DRIVER cuIpcCloseMemHandle(CUdeviceptr address) { return DRIVE(cudaIpcCloseMemHandle(pointer_to(address))); }

DRIVER cuIpcGetEventHandle(struct cudaIpcHandle *handle, cudaEvent_t event) { return DRIVE(cudaIpcGetEventHandle(handle, event)); }

DRIVER cuIpcOpenEventHandle(cudaEvent_t *event, struct cudaIpcHandle handle) { return DRIVE(cudaIpcOpenEventHandle(event, handle)); }
