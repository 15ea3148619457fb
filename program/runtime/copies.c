/* Copies and fills.  Device memory is the simulator's; everything else is the program's own, native memory. */
#include "arrays.h"
#include "graphs.h"

#include <string.h>

enum { PIECE = 1 << 16 }; /* what is copied from device to device at a time */

/* ---- one row ------------------------------------------------------------------------------------- */

enum side { SIDE_HOST, SIDE_DEVICE, SIDE_BOTH, SIDE_WRONG };

/* Memory that was registered has two addresses, of which copies and fills use the program's. */
static void *own_address(const void *pointer) {
    const struct buffer *buffer = buffer_find((uintptr_t)pointer) ? NULL : buffer_registered_at((uintptr_t)pointer);
    return (void *)(uintptr_t)(buffer ? buffer->address + ((uintptr_t)pointer - buffer->device_address) : (uintptr_t)pointer);
}

/* Where the bytes are: both can use pinned and managed memory. */
static enum side side_of(const void *pointer, size_t nbytes) {
    const struct buffer *buffer = buffer_find((uintptr_t)pointer);
    if (!buffer) return buffer_freed_at((uintptr_t)pointer) ? SIDE_WRONG : SIDE_HOST;
    if (nbytes > buffer->nbytes - ((uintptr_t)pointer - buffer->address)) return SIDE_WRONG;
    return buffer->kind <= BUFFER_VARIABLE ? SIDE_DEVICE : SIDE_BOTH;
}

static bool is_side(enum side side, bool is_device) {
    return side == SIDE_BOTH || side == (is_device ? SIDE_DEVICE : SIDE_HOST);
}

static bool is_of_kind(enum side to, enum side from, enum cudaMemcpyKind kind) {
    if (to == SIDE_WRONG || from == SIDE_WRONG) return false;
    if (kind == cudaMemcpyDefault) return true;
    bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
    bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
    return is_side(to, to_device) && is_side(from, from_device);
}

/* What a copy between these takes: variables have an address on the host that is not that on the device. */
static const char *right_call(const void *to, enum side to_side, const void *from, enum side from_side) {
    uint64_t address;
    size_t nbytes;
    if (to_side == SIDE_HOST && !variable_find(to, &address, &nbytes)) return "cudaMemcpyToSymbol, as it is to a variable of the device";
    if (from_side == SIDE_HOST && !variable_find(from, &address, &nbytes)) return "cudaMemcpyFromSymbol, as it is from a variable of the device";
    if (to_side == SIDE_DEVICE) return from_side == SIDE_DEVICE ? "cudaMemcpyDeviceToDevice" : "cudaMemcpyHostToDevice";
    return from_side == SIDE_DEVICE ? "cudaMemcpyDeviceToHost" : "memory from cudaMalloc, or cudaMemcpyHostToHost";
}

/* Why memory cannot be used so. */
static void say_wrong(const char *use, const void *pointer, size_t nbytes) {
    const struct buffer *buffer = buffer_find((uintptr_t)pointer), *gone = buffer_freed_at((uintptr_t)pointer);
    if (buffer)
        failures_because("it %s %zu bytes, where %zu are left of an allocation of %zu", use, nbytes,
                         (size_t)(buffer->nbytes - ((uintptr_t)pointer - buffer->address)), (size_t)buffer->nbytes);
    else if (gone)
        failures_because("it %s memory that was freed, from byte %zu on of what was an allocation of %zu", use,
                         (size_t)((uintptr_t)pointer - gone->address), (size_t)gone->nbytes);
    else
        failures_because("it %s memory of the host, where it takes memory from cudaMalloc", use);
}

/* Why a copy of that kind is refused. */
static void say_refusal(const void *to, enum side to_side, const void *from, enum side from_side, size_t nbytes) {
    static const char *const places[] = {[SIDE_HOST] = "the host", [SIDE_DEVICE] = "a device", [SIDE_BOTH] = "both"};
    if (to_side == SIDE_WRONG)
        say_wrong("writes", to, nbytes);
    else if (from_side == SIDE_WRONG)
        say_wrong("reads", from, nbytes);
    else
        failures_because("it is from memory of %s to memory of %s, which is not the direction that it names: that takes %s", places[from_side],
                         places[to_side], right_call(to, to_side, from, from_side));
}

static uint64_t device_address(const void *pointer) { return (uintptr_t)pointer; }

static cudaError_t copy_on_device(void *to, const void *from, size_t nbytes) {
    unsigned char piece[PIECE];
    cudaError_t error = cudaSuccess;
    for (size_t done = 0, length; done < nbytes && !error; done += length) {
        length = nbytes - done < PIECE ? nbytes - done : PIECE;
        error = runtime_error_of(simt_machine_read(runtime.machine, device_address(from) + done, piece, length));
        if (!error)
            error = runtime_error_of(simt_machine_write(runtime.machine, device_address(to) + done, piece, length));
    }
    return error;
}

static cudaError_t copy_row(void *to, const void *from, size_t nbytes, enum cudaMemcpyKind kind) {
    if (!nbytes) return cudaSuccess;
    if (!to || !from) return cudaErrorInvalidValue;
    if ((unsigned)kind > cudaMemcpyDefault) return cudaErrorInvalidMemcpyDirection;
    to = own_address(to);
    from = own_address(from);
    enum side to_side = side_of(to, nbytes), from_side = side_of(from, nbytes);
    if (!is_of_kind(to_side, from_side, kind)) {
        say_refusal(to, to_side, from, from_side, nbytes);
        return cudaErrorInvalidValue;
    }
    order_touch(from, nbytes, TOUCHED_LOAD);
    order_touch(to, nbytes, TOUCHED_STORE);
    if (to_side == SIDE_DEVICE && from_side == SIDE_DEVICE) return copy_on_device(to, from, nbytes);
    if (to_side == SIDE_DEVICE)
        return runtime_error_of(simt_machine_write(runtime.machine, device_address(to), from, nbytes));
    results_note_seen();
    if (from_side == SIDE_DEVICE)
        return runtime_error_of(simt_machine_read(runtime.machine, device_address(from), to, nbytes));
    memmove(to, from, nbytes);
    return cudaSuccess;
}

cudaError_t copy(void *to, const void *from, size_t nbytes, enum cudaMemcpyKind kind) {
    enum { SECTOR = 32 };
    runtime_pass(nbytes / SECTOR);
    cudaError_t error = copy_row(to, from, nbytes, kind);
    if (!error) results_note_copy(own_address(to), own_address(from), nbytes);
    return error;
}

/* ---- one word ------------------------------------------------------------------------------------ */

/* Managed memory is refused, as CUDA has it. */
cudaError_t word_check(uint64_t address, size_t nbytes) {
    void *const own = own_address((void *)(uintptr_t)address);
    const struct buffer *buffer = buffer_find((uintptr_t)own);
    if (!buffer || buffer->kind == BUFFER_MANAGED) return cudaErrorInvalidValue;
    return side_of(own, nbytes) == SIDE_WRONG ? cudaErrorInvalidValue : cudaSuccess;
}

bool word_is_host(uint64_t address) {
    return side_of(own_address((void *)(uintptr_t)address), 0) != SIDE_DEVICE;
}

/* Where the program can see it; NULL: on the device alone. */
static void *word_begin(uint64_t address, size_t nbytes) {
    void *const own = own_address((void *)(uintptr_t)address);
    order_touch(own, nbytes, TOUCHED_ATOMIC);
    return word_is_host(address) ? own : NULL;
}

cudaError_t word_read(uint64_t address, void *word, size_t nbytes) {
    cudaError_t error = word_check(address, nbytes);
    const void *own = error ? NULL : word_begin(address, nbytes);
    if (error) return error;
    results_note_seen();
    if (!own) return runtime_error_of(simt_machine_read(runtime.machine, address, word, nbytes));
    if (nbytes == sizeof(uint64_t)) __atomic_load((const uint64_t *)own, (uint64_t *)word, __ATOMIC_ACQUIRE);
    else __atomic_load((const uint32_t *)own, (uint32_t *)word, __ATOMIC_ACQUIRE);
    return cudaSuccess;
}

cudaError_t word_write(uint64_t address, const void *word, size_t nbytes) {
    cudaError_t error = word_check(address, nbytes);
    void *own = error ? NULL : word_begin(address, nbytes);
    if (error) return error;
    if (!own) return runtime_error_of(simt_machine_write(runtime.machine, address, word, nbytes));
    if (nbytes == sizeof(uint64_t)) __atomic_store_n((uint64_t *)own, *(const uint64_t *)word, __ATOMIC_RELEASE);
    else __atomic_store_n((uint32_t *)own, *(const uint32_t *)word, __ATOMIC_RELEASE);
    return cudaSuccess;
}

/* ---- one range ----------------------------------------------------------------------------------- */

/* One that a stream asks for. */
struct copying {
    struct operation operation;
    void *to;
    const void *from;
    size_t nbytes;
    enum cudaMemcpyKind kind;
};

static cudaError_t run_copy(const struct operation *operation) {
    const struct copying *copying = (const struct copying *)operation;
    return copy(copying->to, copying->from, copying->nbytes, copying->kind);
}

#define COPYING {NODE_COPY, sizeof(struct copying), run_copy}

static struct host_rows row_of(const void *first, size_t nbytes) { return (struct host_rows){first, nbytes, nbytes, 1, 1, 1}; }

static cudaError_t copy_in(cudaStream_t stream, const struct copying *copying) {
    if (!stream_is_known(stream)) return cudaErrorInvalidResourceHandle;
    cudaError_t error = operation_do(&copying->operation, stream);
    const struct host_rows to = row_of(copying->to, copying->nbytes), from = row_of(copying->from, copying->nbytes);
    if (!error) stream_note_copy(&to, &from, stream);
    return error;
}

cudaError_t copy_range_in(cudaStream_t stream, const struct range *range) {
    const struct copying copying = {COPYING, range->to, range->from, range->nbytes, cudaMemcpyDefault};
    if (!range->has_read_source) return copy_in(stream, &copying);
    return stream_is_known(stream) ? operation_do(&copying.operation, stream) : cudaErrorInvalidResourceHandle;
}

cudaError_t copy_make(void *to, const void *from, size_t nbytes, enum cudaMemcpyKind kind, struct operation **made) {
    const struct copying copying = {COPYING, to, from, nbytes, kind};
    return operation_keep(&copying.operation, made);
}

API cudaMemcpy(void *to, const void *from, size_t nbytes, enum cudaMemcpyKind kind) {
    return CALL_IN_TURN(copy(to, from, nbytes, kind));
}
ALSO(cudaMemcpy, _ptds)

API cudaMemcpyAsync(void *to, const void *from, size_t nbytes, enum cudaMemcpyKind kind, cudaStream_t stream) {
    return CALL(copy_in(stream, &(struct copying){COPYING, to, from, nbytes, kind}));
}
ALSO(cudaMemcpyAsync, _ptsz)

/* Whether the memory is the device's, or everybody's. */
static cudaError_t check_place(const void *pointer, int device) {
    const struct buffer *buffer = buffer_find((uintptr_t)pointer);
    cudaError_t error = device_check(device);
    if (error || !buffer || buffer->kind > BUFFER_VARIABLE) return error;
    return buffer->device == device ? cudaSuccess : cudaErrorInvalidValue;
}

static cudaError_t check_places(const void *to, int to_device, const void *from, int from_device, size_t nbytes) {
    if (!nbytes) return cudaSuccess; /* as an H200 answers, whatever the devices */
    cudaError_t error = check_place(to, to_device);
    return error ? error : check_place(from, from_device);
}

static cudaError_t copy_between(void *to, int to_device, const void *from, int from_device, size_t nbytes) {
    cudaError_t error = check_places(to, to_device, from, from_device, nbytes);
    return error ? error : copy(to, from, nbytes, cudaMemcpyDeviceToDevice);
}

API cudaMemcpyPeer(void *to, int to_device, const void *from, int from_device, size_t nbytes) {
    return CALL_IN_TURN(copy_between(to, to_device, from, from_device, nbytes));
}

static cudaError_t copy_between_in(cudaStream_t stream, const struct copying *copying, int to_device, int from_device) {
    cudaError_t error = check_places(copying->to, to_device, copying->from, from_device, copying->nbytes);
    return error ? error : copy_in(stream, copying);
}

API cudaMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device, size_t nbytes,
                        cudaStream_t stream) {
    const struct copying copying = {COPYING, to, from, nbytes, cudaMemcpyDeviceToDevice};
    return CALL(copy_between_in(stream, &copying, to_device, from_device));
}

/* ---- rows and planes ----------------------------------------------------------------------------- */

cudaError_t copy_rows(const struct rows *rows) {
    cudaError_t error = cudaSuccess;
    if (rows->height > 1 && (rows->width > rows->to_pitch || rows->width > rows->from_pitch))
        return cudaErrorInvalidPitchValue;
    for (size_t row = 0; row < rows->height && !error; row++)
        error = copy((char *)rows->to + row * rows->to_pitch, (const char *)rows->from + row * rows->from_pitch,
                     rows->width, rows->kind);
    return error;
}

struct copying_rows {
    struct operation operation;
    struct rows rows;
};

static cudaError_t run_rows(const struct operation *operation) {
    return copy_rows(&((const struct copying_rows *)operation)->rows);
}

cudaError_t copy_rows_in(cudaStream_t stream, const struct rows *rows) {
    const struct copying_rows copying = {{NODE_COPY, sizeof copying, run_rows}, *rows};
    const struct host_rows to = {rows->to, rows->width, rows->to_pitch, rows->height, rows->height, 1};
    const struct host_rows from = {rows->from, rows->width, rows->from_pitch, rows->height, rows->height, 1};
    if (!stream_is_known(stream)) return cudaErrorInvalidResourceHandle;
    cudaError_t error = operation_do(&copying.operation, stream);
    if (!error) stream_note_copy(&to, &from, stream);
    return error;
}

API cudaMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height,
                 enum cudaMemcpyKind kind) {
    return CALL_IN_TURN(copy_rows(&(struct rows){to, from, to_pitch, from_pitch, width, height, kind}));
}
ALSO(cudaMemcpy2D, _ptds)

API cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height,
                      enum cudaMemcpyKind kind, cudaStream_t stream) {
    return CALL(copy_rows_in(stream, &(struct rows){to, from, to_pitch, from_pitch, width, height, kind}));
}
ALSO(cudaMemcpy2DAsync, _ptsz)

static char *place_in(const struct cudaPitchedPtr *memory, const struct cudaPos *position, size_t plane) {
    return (char *)memory->ptr + ((position->z + plane) * memory->ysize + position->y) * memory->pitch + position->x;
}

static cudaError_t copy_planes(const struct cudaMemcpy3DParms *given) {
    const struct cudaMemcpy3DParms plain = array_resolve(given), *request = &plain;
    cudaError_t error = cudaSuccess;
    for (size_t plane = 0; plane < request->extent.depth && !error; plane++)
        error = copy_rows(&(struct rows){place_in(&request->dstPtr, &request->dstPos, plane),
                                         place_in(&request->srcPtr, &request->srcPos, plane), request->dstPtr.pitch,
                                         request->srcPtr.pitch, request->extent.width, request->extent.height,
                                         request->kind});
    return error;
}

struct copying_planes {
    struct operation operation;
    struct cudaMemcpy3DParms request;
};

static cudaError_t run_planes(const struct operation *operation) {
    return copy_planes(&((const struct copying_planes *)operation)->request);
}

cudaError_t planes_make(const struct cudaMemcpy3DParms *params, struct operation **made) {
    if (!params) return cudaErrorInvalidValue;
    const struct copying_planes copying = {{NODE_COPY, sizeof copying, run_planes}, *params};
    return operation_keep(&copying.operation, made);
}

/* Whatever the copy was asked for as. */
cudaError_t planes_tell(const struct operation *operation, struct cudaMemcpy3DParms *params) {
    struct rows rows;
    if (operation->run == run_planes) {
        *params = ((const struct copying_planes *)operation)->request;
        return cudaSuccess;
    }
    if (operation->run == run_copy) {
        const struct copying *one = (const struct copying *)operation;
        rows = (struct rows){one->to, one->from, one->nbytes, one->nbytes, one->nbytes, 1, one->kind};
    } else rows = ((const struct copying_rows *)operation)->rows;
    void *from = (void *)(uintptr_t)rows.from;
    *params = (struct cudaMemcpy3DParms){.srcPtr = {from, rows.from_pitch, rows.width, rows.height},
                                         .dstPtr = {rows.to, rows.to_pitch, rows.width, rows.height},
                                         .extent = {rows.width, rows.height, 1},
                                         .kind = rows.kind};
    return cudaSuccess;
}

static struct host_rows planes_of(const struct cudaPitchedPtr *memory, const struct cudaPos *position, const struct cudaExtent *extent) {
    return (struct host_rows){place_in(memory, position, 0), extent->width, memory->pitch, extent->height, memory->ysize, extent->depth};
}

cudaError_t copy_planes_in(cudaStream_t stream, const struct cudaMemcpy3DParms *request) {
    const struct copying_planes copying = {{NODE_COPY, sizeof copying, run_planes}, *request};
    if (!stream_is_known(stream)) return cudaErrorInvalidResourceHandle;
    cudaError_t error = operation_do(&copying.operation, stream);
    const struct cudaMemcpy3DParms plain = array_resolve(request);
    const struct host_rows to = planes_of(&plain.dstPtr, &plain.dstPos, &plain.extent);
    const struct host_rows from = planes_of(&plain.srcPtr, &plain.srcPos, &plain.extent);
    if (!error) stream_note_copy(&to, &from, stream);
    return error;
}

API cudaMemcpy3D(const struct cudaMemcpy3DParms *request) { return CALL_IN_TURN(request ? copy_planes(request) : cudaErrorInvalidValue); }
ALSO(cudaMemcpy3D, _ptds)

API cudaMemcpy3DAsync(const struct cudaMemcpy3DParms *request, cudaStream_t stream) {
    return CALL_WITH(request, copy_planes_in(stream, request));
}
ALSO(cudaMemcpy3DAsync, _ptsz)

static cudaError_t copy_planes_between(const struct cudaMemcpy3DPeerParms *request) {
    if (!request) return cudaErrorInvalidValue;
    const size_t nbytes = request->extent.width * request->extent.height * request->extent.depth;
    cudaError_t error = check_places(request->dstPtr.ptr, request->dstDevice, request->srcPtr.ptr, request->srcDevice, nbytes);
    const struct cudaMemcpy3DParms planes = {request->srcArray, request->srcPos, request->srcPtr, request->dstArray,
                                             request->dstPos,   request->dstPtr, request->extent, cudaMemcpyDefault};
    return error ? error : copy_planes(&planes);
}

API cudaMemcpy3DPeer(const struct cudaMemcpy3DPeerParms *request) { return CALL_IN_TURN(copy_planes_between(request)); }
ALSO(cudaMemcpy3DPeer, _ptds)

API cudaMemcpy3DPeerAsync(const struct cudaMemcpy3DPeerParms *request, cudaStream_t stream) {
    return CALL_NOW(stream, copy_planes_between(request));
}
ALSO(cudaMemcpy3DPeerAsync, _ptsz)

/* ---- symbols ------------------------------------------------------------------------------------- */

cudaError_t variable_find_part(const void *symbol, size_t offset, size_t nbytes, uint64_t *address) {
    size_t whole;
    cudaError_t error = variable_find(symbol, address, &whole);
    if (error) return error;
    if (offset > whole || nbytes > whole - offset) {
        failures_because("it takes %zu bytes from byte %zu on of a variable of %zu bytes", nbytes, offset, whole);
        return cudaErrorInvalidValue;
    }
    *address += offset;
    return cudaSuccess;
}

static cudaError_t copy_to_symbol(const void *symbol, const void *from, size_t nbytes, size_t offset,
                                  enum cudaMemcpyKind kind) {
    uint64_t address;
    cudaError_t error = variable_find_part(symbol, offset, nbytes, &address);
    return error ? error : copy((void *)(uintptr_t)address, from, nbytes, kind);
}

static cudaError_t copy_from_symbol(void *to, const void *symbol, size_t nbytes, size_t offset,
                                    enum cudaMemcpyKind kind) {
    uint64_t address;
    cudaError_t error = variable_find_part(symbol, offset, nbytes, &address);
    return error ? error : copy(to, (const void *)(uintptr_t)address, nbytes, kind);
}

API cudaMemcpyToSymbol(const void *symbol, const void *from, size_t nbytes, size_t offset, enum cudaMemcpyKind kind) {
    return CALL_IN_TURN(copy_to_symbol(symbol, from, nbytes, offset, kind));
}
ALSO(cudaMemcpyToSymbol, _ptds)

API cudaMemcpyFromSymbol(void *to, const void *symbol, size_t nbytes, size_t offset, enum cudaMemcpyKind kind) {
    return CALL_IN_TURN(copy_from_symbol(to, symbol, nbytes, offset, kind));
}
ALSO(cudaMemcpyFromSymbol, _ptds)

static cudaError_t copy_to_symbol_in(cudaStream_t stream, const void *symbol, const void *from, size_t nbytes,
                                     size_t offset, enum cudaMemcpyKind kind) {
    uint64_t address = 0;
    cudaError_t error = variable_find_part(symbol, offset, nbytes, &address);
    const struct copying copying = {COPYING, (void *)(uintptr_t)address, from, nbytes, kind};
    return error ? error : copy_in(stream, &copying);
}

static cudaError_t copy_from_symbol_in(cudaStream_t stream, void *to, const void *symbol, size_t nbytes, size_t offset,
                                       enum cudaMemcpyKind kind) {
    uint64_t address = 0;
    cudaError_t error = variable_find_part(symbol, offset, nbytes, &address);
    const struct copying copying = {COPYING, to, (const void *)(uintptr_t)address, nbytes, kind};
    return error ? error : copy_in(stream, &copying);
}

API cudaMemcpyToSymbolAsync(const void *symbol, const void *from, size_t nbytes, size_t offset,
                            enum cudaMemcpyKind kind, cudaStream_t stream) {
    return CALL(copy_to_symbol_in(stream, symbol, from, nbytes, offset, kind));
}
ALSO(cudaMemcpyToSymbolAsync, _ptsz)

API cudaMemcpyFromSymbolAsync(void *to, const void *symbol, size_t nbytes, size_t offset, enum cudaMemcpyKind kind,
                              cudaStream_t stream) {
    return CALL(copy_from_symbol_in(stream, to, symbol, nbytes, offset, kind));
}
ALSO(cudaMemcpyFromSymbolAsync, _ptsz)

/* ---- filling ------------------------------------------------------------------------------------- */

/* The bytes begin with a whole element, and end with one. */
static cudaError_t fill_device(uint64_t to, const unsigned char *piece, size_t nbytes) {
    cudaError_t error = cudaSuccess;
    for (size_t done = 0, length; done < nbytes && !error; done += length) {
        length = nbytes - done < PIECE ? nbytes - done : PIECE;
        error = runtime_error_of(simt_machine_write(runtime.machine, to + done, piece, length));
    }
    return error;
}

static void fill_host(unsigned char *to, const unsigned char *piece, size_t nbytes) {
    for (size_t done = 0, length; done < nbytes; done += length) {
        length = nbytes - done < PIECE ? nbytes - done : PIECE;
        memcpy(to + done, piece, length);
    }
}

static cudaError_t fill_row(uint64_t to, const struct pattern *pattern) {
    enum { SECTOR = 32 };
    unsigned char piece[PIECE];
    void *pointer = own_address((void *)(uintptr_t)to);
    const size_t nbytes = pattern->count * pattern->width;
    runtime_pass(nbytes / SECTOR);
    if (!nbytes) return cudaSuccess;
    order_touch(pointer, nbytes, TOUCHED_STORE);
    for (size_t i = 0; i < PIECE && i < nbytes; i += pattern->width) /* little-endian, as GPUs are */
        memcpy(piece + i, &pattern->value, pattern->width);
    switch (side_of(pointer, nbytes)) {
    case SIDE_DEVICE: short_copies_note_put(pointer, nbytes); return fill_device(to, piece, nbytes);
    case SIDE_BOTH: fill_host(pointer, piece, nbytes); return cudaSuccess;
    default: say_wrong("fills", pointer, nbytes); return cudaErrorInvalidValue;
    }
}

static cudaError_t fill(void *to, int value, size_t nbytes) {
    return fill_row((uintptr_t)to, &(struct pattern){.value = (unsigned char)value, .width = 1, .count = nbytes});
}

static cudaError_t fill_rows(struct cudaPitchedPtr memory, int value, struct cudaExtent extent) {
    cudaError_t error = cudaSuccess;
    if (extent.height > 1 && extent.width > memory.pitch) return cudaErrorInvalidPitchValue;
    for (size_t plane = 0; plane < extent.depth; plane++)
        for (size_t row = 0; row < extent.height && !error; row++)
            error = fill((char *)memory.ptr + (plane * memory.ysize + row) * memory.pitch, value, extent.width);
    return error;
}

struct filling {
    struct operation operation;
    struct pattern pattern;
};

static cudaError_t run_pattern(const struct operation *operation) {
    const struct pattern *pattern = &((const struct filling *)operation)->pattern;
    cudaError_t error = cudaSuccess;
    for (size_t row = 0; row < pattern->rows && !error; row++)
        error = fill_row(pattern->to + row * pattern->pitch, pattern);
    return error;
}

static cudaError_t check_pattern(const struct pattern *pattern) {
    if (pattern->width != 1 && pattern->width != 2 && pattern->width != 4) return cudaErrorInvalidValue;
    bool is_aligned = pattern->to % pattern->width == 0 && pattern->pitch % pattern->width == 0;
    if (!is_aligned || pattern->count > SIZE_MAX / pattern->width) return cudaErrorInvalidValue;
    bool has_room = pattern->rows <= 1 || pattern->count <= pattern->pitch / pattern->width;
    return has_room ? cudaSuccess : cudaErrorInvalidPitchValue;
}

#define FILLING {NODE_FILL, sizeof(struct filling), run_pattern}

cudaError_t pattern_fill_in(cudaStream_t stream, const struct pattern *pattern) {
    cudaError_t error = check_pattern(pattern);
    const struct filling filling = {FILLING, *pattern};
    if (error) return error;
    if (!stream_is_known(stream)) return cudaErrorInvalidResourceHandle;
    error = operation_do(&filling.operation, stream);
    const struct host_rows rows = {(void *)(uintptr_t)pattern->to, pattern->width * pattern->count, pattern->pitch, pattern->rows,
                                   pattern->rows, 1};
    if (!error) stream_note_fill(&rows, stream);
    return error;
}

/* Of bytes. */
static struct pattern pattern_of(void *to, size_t pitch, int value, size_t width, size_t height) {
    return (struct pattern){(uintptr_t)to, pitch, (unsigned char)value, 1, width, height};
}

cudaError_t fill_make(const struct cudaMemsetParams *params, struct operation **made) {
    if (!params) return cudaErrorInvalidValue;
    const struct filling filling = {FILLING,
                                    {(uintptr_t)params->dst, params->pitch, params->value, params->elementSize,
                                     params->width, params->height}};
    cudaError_t error = check_pattern(&filling.pattern);
    return error ? error : operation_keep(&filling.operation, made);
}

cudaError_t fill_tell(const struct operation *operation, struct cudaMemsetParams *params) {
    const struct pattern *pattern = &((const struct filling *)operation)->pattern;
    *params = (struct cudaMemsetParams){(void *)(uintptr_t)pattern->to, pattern->pitch, pattern->value,
                                        pattern->width,                 pattern->count, pattern->rows};
    return cudaSuccess;
}

/* Fills do not wait for the device, but for the default stream. */
static cudaError_t end_fill(cudaError_t error) {
    stream_advance(NULL, order_end());
    return error;
}

#define CALL_FILL(expression) CALL_IN_DEFAULT((order_begin(stream_order(NULL), false, "a fill"), end_fill(expression)))

API cudaMemset(void *to, int value, size_t nbytes) { return CALL_FILL(fill(to, value, nbytes)); }
ALSO(cudaMemset, _ptds)

API cudaMemsetAsync(void *to, int value, size_t nbytes, cudaStream_t stream) {
    const struct pattern pattern = pattern_of(to, nbytes, value, nbytes, 1);
    return CALL(pattern_fill_in(stream, &pattern));
}
ALSO(cudaMemsetAsync, _ptsz)

API cudaMemset2D(void *to, size_t pitch, int value, size_t width, size_t height) {
    return CALL_FILL(fill_rows((struct cudaPitchedPtr){to, pitch, width, height}, value,
                          (struct cudaExtent){width, height, 1}));
}
ALSO(cudaMemset2D, _ptds)

API cudaMemset2DAsync(void *to, size_t pitch, int value, size_t width, size_t height, cudaStream_t stream) {
    const struct pattern pattern = pattern_of(to, pitch, value, width, height);
    return CALL(pattern_fill_in(stream, &pattern));
}
ALSO(cudaMemset2DAsync, _ptsz)

API cudaMemset3D(struct cudaPitchedPtr memory, int value, struct cudaExtent extent) {
    return CALL_FILL(fill_rows(memory, value, extent));
}
ALSO(cudaMemset3D, _ptds)

API cudaMemset3DAsync(struct cudaPitchedPtr memory, int value, struct cudaExtent extent, cudaStream_t stream) {
    return CALL_NOW(stream, fill_rows(memory, value, extent));
}
ALSO(cudaMemset3DAsync, _ptsz)
