/* Device memory, which is the simulator's, and pinned memory of the host. */
#include "fake.h"

#include <string.h>

/* A copy to the host that has not arrived: the bytes as they were when the stream came to it. */
struct arrival {
    const struct CUstream_st *stream;
    void *to;
    size_t nbytes;
    struct arrival *next;
    unsigned char bytes[];
};

static struct arrival *arrivals, **last_arrival = &arrivals;

/* ---- buffers ------------------------------------------------------------------------------------- */

struct buffer *fake_find_buffer(uint64_t address, uint64_t nbytes) {
    for (struct buffer *buffer = fake.buffers; buffer; buffer = buffer->next) {
        uint64_t offset = address - buffer->address;
        if (offset < buffer->nbytes && nbytes <= buffer->nbytes - offset) return buffer;
    }
    return NULL;
}

static bool add_buffer(uint64_t address, uint64_t nbytes, bool is_host) {
    struct buffer *buffer = calloc(1, sizeof *buffer);
    if (!buffer) return false;
    *buffer = (struct buffer){address, nbytes, fake_ordinal(), is_host, fake.buffers};
    fake.buffers = buffer;
    return true;
}

static struct buffer *take_buffer(uint64_t address, bool is_host) {
    for (struct buffer **at = &fake.buffers; *at; at = &(*at)->next) {
        struct buffer *buffer = *at;
        if (buffer->address != address || buffer->is_host != is_host) continue;
        *at = buffer->next;
        return buffer;
    }
    return NULL;
}

/* ---- allocating ---------------------------------------------------------------------------------- */

wf_cuda_result cuMemAlloc_v2(wf_cuda_pointer *pointer, size_t nbytes) {
    wf_cuda_result result = fake_begin("MemAlloc", true);
    if (result) return result;
    size_t *used = &fake.used_nbytes[fake_ordinal()];
    if (!nbytes) return fake_end(CUDA_INVALID_VALUE);
    if (nbytes > fake.memory_nbytes - *used) return fake_end(CUDA_OUT_OF_MEMORY);
    if (simt_machine_allocate(fake.machine, nbytes, pointer) || !add_buffer(*pointer, nbytes, false))
        return fake_end(CUDA_OUT_OF_MEMORY);
    *used += nbytes;
    return fake_end(CUDA_SUCCESS);
}

wf_cuda_result cuMemFree_v2(wf_cuda_pointer pointer) {
    wf_cuda_result result = fake_begin("MemFree", true);
    if (result) return result;
    if (!pointer) return fake_end(CUDA_SUCCESS);
    struct buffer *buffer = take_buffer(pointer, false);
    if (!buffer) return fake_end(CUDA_INVALID_VALUE);
    fake.used_nbytes[buffer->ordinal] -= buffer->nbytes;
    simt_memory_free(&fake.machine->memory, simt_memory_find(&fake.machine->memory, pointer));
    free(buffer);
    return fake_end(CUDA_SUCCESS);
}

wf_cuda_result cuMemGetInfo_v2(size_t *available, size_t *total) {
    wf_cuda_result result = fake_begin("MemGetInfo", true);
    if (result) return result;
    *total = fake.memory_nbytes;
    *available = fake.memory_nbytes - fake.used_nbytes[fake_ordinal()];
    return fake_end(CUDA_SUCCESS);
}

wf_cuda_result cuMemHostAlloc(void **pointer, size_t nbytes, unsigned flags) {
    (void)flags;
    wf_cuda_result result = fake_begin("MemHostAlloc", true);
    if (result) return result;
    *pointer = nbytes ? malloc(nbytes) : NULL;
    if (!nbytes) return fake_end(CUDA_INVALID_VALUE);
    if (*pointer && add_buffer((uintptr_t)*pointer, nbytes, true)) return fake_end(CUDA_SUCCESS);
    free(*pointer);
    return fake_end(CUDA_OUT_OF_MEMORY);
}

wf_cuda_result cuMemFreeHost(void *pointer) {
    wf_cuda_result result = fake_begin("MemFreeHost", true);
    if (result) return result;
    struct buffer *buffer = take_buffer((uintptr_t)pointer, true);
    if (!buffer) return fake_end(CUDA_INVALID_VALUE);
    free(buffer);
    free(pointer);
    return fake_end(CUDA_SUCCESS);
}

/* The simulator's memory is its own: kernels cannot see the host's. */
wf_cuda_result cuMemHostGetDevicePointer_v2(wf_cuda_pointer *pointer, void *host, unsigned flags) {
    (void)host, (void)flags;
    wf_cuda_result result = fake_begin("MemHostGetDevicePointer", true);
    if (result) return result;
    *pointer = 0;
    return fake_end(CUDA_NOT_SUPPORTED);
}

wf_cuda_result cuPointerGetAttribute(void *value, int attribute, wf_cuda_pointer pointer) {
    wf_cuda_result result = fake_begin("PointerGetAttribute", false);
    if (result) return result;
    const struct buffer *buffer = fake_find_buffer(pointer, 1);
    if (!buffer) return fake_end(CUDA_INVALID_VALUE);
    int found = attribute == WF_CUDA_POINTER_ORDINAL ? buffer->ordinal
                : buffer->is_host                    ? WF_CUDA_MEMORY_HOST
                                                     : WF_CUDA_MEMORY_DEVICE;
    if (attribute != WF_CUDA_POINTER_ORDINAL && attribute != WF_CUDA_POINTER_MEMORY_TYPE)
        return fake_end(CUDA_NOT_SUPPORTED);
    memcpy(value, &found, sizeof found);
    return fake_end(CUDA_SUCCESS);
}

/* ---- copying ------------------------------------------------------------------------------------- */

static wf_cuda_result result_of(simt_error error) {
    return error == SIMT_ERROR_MEMORY ? CUDA_OUT_OF_MEMORY : error ? CUDA_INVALID_VALUE : CUDA_SUCCESS;
}

wf_cuda_result cuMemcpyHtoDAsync_v2(wf_cuda_pointer to, const void *from, size_t nbytes,
                                    wf_cuda_stream stream) {
    (void)stream;
    wf_cuda_result result = fake_begin("MemcpyHtoDAsync", true);
    if (result) return result;
    return fake_end(result_of(simt_machine_write(fake.machine, to, from, nbytes)));
}

wf_cuda_result cuMemcpyDtoHAsync_v2(void *to, wf_cuda_pointer from, size_t nbytes, wf_cuda_stream stream) {
    wf_cuda_result result = fake_begin("MemcpyDtoHAsync", true);
    if (result) return result;
    struct arrival *arrival = malloc(sizeof *arrival + nbytes);
    if (!arrival) return fake_end(CUDA_OUT_OF_MEMORY);
    *arrival = (struct arrival){.stream = stream, .to = to, .nbytes = nbytes};
    result = result_of(simt_machine_read(fake.machine, from, arrival->bytes, nbytes));
    if (result) {
        free(arrival);
        return fake_end(result);
    }
    *last_arrival = arrival;
    last_arrival = &arrival->next;
    return fake_end(CUDA_SUCCESS);
}

void fake_deliver(const struct CUstream_st *stream) {
    for (struct arrival **at = &arrivals; *at;) {
        struct arrival *arrival = *at;
        if (stream && arrival->stream != stream) {
            at = &arrival->next;
            continue;
        }
        memcpy(arrival->to, arrival->bytes, arrival->nbytes);
        *at = arrival->next;
        free(arrival);
    }
    last_arrival = &arrivals;
    while (*last_arrival) last_arrival = &(*last_arrival)->next;
}

wf_cuda_result cuMemcpyDtoDAsync_v2(wf_cuda_pointer to, wf_cuda_pointer from, size_t nbytes,
                                    wf_cuda_stream stream) {
    (void)stream;
    wf_cuda_result result = fake_begin("MemcpyDtoDAsync", true);
    if (result) return result;
    unsigned char *bytes = malloc(nbytes + 1);
    if (!bytes) return fake_end(CUDA_OUT_OF_MEMORY);
    result = result_of(simt_machine_read(fake.machine, from, bytes, nbytes));
    if (!result) result = result_of(simt_machine_write(fake.machine, to, bytes, nbytes));
    free(bytes);
    return fake_end(result);
}

wf_cuda_result cuMemsetD8Async(wf_cuda_pointer to, unsigned char byte, size_t nbytes, wf_cuda_stream stream) {
    (void)stream;
    wf_cuda_result result = fake_begin("MemsetD8Async", true);
    if (result) return result;
    unsigned char *bytes = malloc(nbytes + 1);
    if (!bytes) return fake_end(CUDA_OUT_OF_MEMORY);
    memset(bytes, byte, nbytes);
    result = result_of(simt_machine_write(fake.machine, to, bytes, nbytes));
    free(bytes);
    return fake_end(result);
}
