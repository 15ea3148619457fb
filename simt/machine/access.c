#include "access.h"

#include "effects.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- where */

void simt_addresses(const struct path *path, const struct address_code *address, uint64_t addresses[SIMT_LANES]) {
    uint64_t offset = address->offset;
    if (address->is_local) offset += path->frame->local_base;
    const void *base = address->has_base ? slot_lanes(path, address->base) : NULL;
    if (!base)
        for (uint32_t lane = 0; lane < SIMT_LANES; lane++) addresses[lane] = offset;
    else if (address->is_wide)
        for (uint32_t lane = 0; lane < SIMT_LANES; lane++)
            addresses[lane] = ((const uint64_t *)base)[lane] + offset;
    else
        for (uint32_t lane = 0; lane < SIMT_LANES; lane++)
            addresses[lane] = ((const uint32_t *)base)[lane] + (uint32_t)offset;
}

enum simt_space simt_space_of(const struct memory *memory, uint64_t *address) {
    uint64_t window = *address >> 32 << 32;
    if (window == SIMT_SHARED_WINDOW || window == SIMT_LOCAL_WINDOW || window == SIMT_PARAMETER_WINDOW) {
        *address -= window;
        return window == SIMT_SHARED_WINDOW  ? SIMT_SHARED
               : window == SIMT_LOCAL_WINDOW ? SIMT_LOCAL
                                             : SIMT_PARAMETER;
    }
    const struct allocation *allocation = simt_memory_find(memory, *address);
    return allocation && allocation->is_constant ? SIMT_CONSTANT : SIMT_GLOBAL;
}

/* ---- faults */

static const char *space_name(enum simt_space space) {
    static const char *const names[] = {"global", "shared", "local", "constant", "parameter"};
    return names[space];
}

/* The element by its index: reports put the array's type in the place of the last words. */
static void fault_in_array(const simt_event *event, const struct request *request, const char *verb, uint32_t lane) {
    const struct memory_code *code = &request->code->memory;
    const int64_t offset = (int64_t)(request->addresses[lane] - code->array_begin), size = code->vector.element_nbytes;
    char name[64];
    simt_plain_name(code->array->name, name, sizeof name);
    simt_record_finding(event, SIMT_FINDING_BOUNDS, lane, request->addresses[lane],
                        "%s %u bytes of shared memory at byte %" PRId64 " of an array of %u (index %" PRId64
                        " of `%s`, %" PRId64 " elements of %" PRId64 " bytes)%s",
                        verb, request->nbytes, offset, code->array_nbytes, offset / size - (offset % size < 0), name,
                        code->array_nbytes / size, size, simt_array_cure(offset));
}

/* ": `argument 0[-1]`", of an address by the pointer that it was calculated from, as far away as it may be; reports have the
 * argument's name.  An index that wraps around as unsigned is told as what it should have been, too. */
static void name_index(const struct warp *warp, const struct path *path, const struct request *request, uint32_t lane, char *text,
                       size_t nbytes) {
    const struct launch *launch = warp->block->launch;
    const int64_t size = request->code->memory.vector.element_nbytes;
    uint32_t number;
    uint64_t pointer;
    *text = '\0';
    if (!simt_ptx_parameter_of(launch->request->module, launch->function, path->pc, &number)) return;
    memcpy(&pointer, launch->request->arguments[number], sizeof pointer);
    const int64_t index = (int64_t)(request->addresses[lane] - pointer) / (size ? size : 1), wrap = INT64_C(1) << 32, far = INT64_C(1) << 24;
    const char *zero = pointer ? "" : ", a pointer to nothing";
    if (index >= wrap / 2 && index < wrap)
        snprintf(text, nbytes, ": `argument %u[%" PRId64 "]`%s, an index of %" PRId64 " if it were signed: no element comes before the first, and an "
                 "unsigned number is never below 0: leave it out there, or correct the index", number, index, zero, index - wrap);
    else if (index >= -wrap / 2 && index <= -far)
        snprintf(text, nbytes, ": `argument %u[%" PRId64 "]`%s, as by an int that has grown beyond 2147483647: long long, or size_t, for it and "
                 "for the factors that it is calculated from", number, index, zero);
    else snprintf(text, nbytes, ": `argument %u[%" PRId64 "]`%s", number, index, zero);
}

/* What has ended there, or begins behind it.  The size of an `extern` array is the launch's to give, and easily forgotten. */
static void name_end(const struct launch *launch, const struct request *request, uint32_t lane, char *text, size_t nbytes) {
    const uint64_t given = launch->request->shared_nbytes;
    const int64_t element = request->code->memory.vector.element_nbytes, size = element ? element : request->nbytes;
    char name[64], index[128] = "", limit[64] = "";
    struct placed array;
    int64_t offset = 0;
    snprintf(text, nbytes, "%s", request->space == SIMT_LOCAL ? ": an index beyond an array of the thread's own" : "");
    const uint32_t count = request->space == SIMT_SHARED ? simt_dynamic_arrays(launch->image, &array) : 0;
    if (!count) return;
    if (count == 1) {
        offset = (int64_t)(request->addresses[lane] - array.address);
        simt_plain_name(array.variable->name, name, sizeof name);
        snprintf(index, sizeof index, " (index %" PRId64 " of `%s`, %" PRIu64 " elements of %" PRId64 " bytes)",
                 offset / size - (offset % size < 0), name, given / (uint64_t)size, size);
    }
    if (offset >= 0 && count == 1 && given) snprintf(limit, sizeof limit, "the index must be below %" PRIu64 ", or the array greater: ", given / (uint64_t)size);
    if (offset < 0) snprintf(text, nbytes, "%s%s", index, simt_array_cure(offset));
    else snprintf(text, nbytes, "%s: %san `extern` array has the %llu bytes that the launch gives it, as the third number in <<< >>> (--shared)",
                  index, limit, (unsigned long long)given);
}

static void fault(struct warp *warp, struct path *path, const struct request *request, uint32_t lane,
                  const struct allocation *allocation, uint64_t limit) {
    static const char *const verbs[] = {"loads", "stores", "updates"};
    char index[384];
    const char *verb = verbs[request->kind], *space = space_name(request->space);
    const struct memory *memory = &warp->block->launch->machine->memory;
    simt_event event = simt_event_of(warp, path, request->lanes);
    unsigned long long address = request->addresses[lane];
    if (address % request->nbytes)
        simt_record_finding(&event, SIMT_FINDING_MISALIGNED, lane, address,
                            "%s %u bytes of %s memory at 0x%llx, which is not a multiple of %u%s", verb,
                            request->nbytes, space, address, request->nbytes, simt_alignment_cure(&event));
    else if (allocation && !simt_memory_reaches(memory, allocation))
        simt_record_finding(&event, SIMT_FINDING_BOUNDS, lane, address,
                            "%s %u bytes of global memory at 0x%llx, which is device %d's: device %u has no access to "
                            "it (cudaDeviceEnablePeerAccess)", verb, request->nbytes, address,
                            __builtin_ctz(allocation->owner), memory->device);
    else if (allocation && allocation->refusal && (!allocation->nbytes || request->kind != SIMT_LOAD))
        simt_record_finding(&event, SIMT_FINDING_BOUNDS, lane, address, "%s %u bytes of global memory at 0x%llx, %s", verb,
                            request->nbytes, address, allocation->refusal);
    else if (allocation && request->kind != SIMT_LOAD && allocation->is_constant)
        simt_record_finding(&event, SIMT_FINDING_BOUNDS, lane, address,
                            "%s %u bytes of constant memory at 0x%llx, which is read-only", verb,
                            request->nbytes, address);
    else if (allocation && allocation->is_freed)
        simt_record_finding(&event, SIMT_FINDING_BOUNDS, lane, address,
                            "%s %u bytes of %s memory at 0x%llx: byte %llu of an allocation of %llu that was freed: each use belongs "
                            "between its allocation and that",
                            verb, request->nbytes, space, address,
                            address - (unsigned long long)allocation->address,
                            (unsigned long long)allocation->freed_nbytes);
    else if (allocation)
        simt_record_finding(&event, SIMT_FINDING_BOUNDS, lane, address,
                            "%s %u bytes of %s memory at 0x%llx: byte %llu of an allocation of %llu", verb,
                            request->nbytes, space, address,
                            address - (unsigned long long)allocation->address,
                            (unsigned long long)allocation->nbytes);
    else if (request->space == SIMT_GLOBAL || request->space == SIMT_CONSTANT) {
        name_index(warp, path, request, lane, index, sizeof index);
        simt_record_finding(&event, SIMT_FINDING_BOUNDS, lane, address,
                            "%s %u bytes of %s memory at 0x%llx, where nothing is allocated%s", verb,
                            request->nbytes, space, address, index);
    }
    else if (request->space == SIMT_SHARED && request->code->memory.array)
        fault_in_array(&event, request, verb, lane);
    else {
        name_end(warp->block->launch, request, lane, index, sizeof index);
        simt_record_finding(&event, SIMT_FINDING_BOUNDS, lane, address,
                            "%s %u bytes of %s memory at byte %lld of %llu%s", verb, request->nbytes, space,
                            (long long)address, (unsigned long long)limit, index);
    }
    simt_stop(&event);
}

/* ---- spaces */

/* Whether every lane's bytes are aligned and lie within [base, base + limit), of a limit below 2^63.  An address that
 * is too high, or below the base, leaves a sign; nothing here but what vectors of any machine do fast. */
static inline bool all_within(const struct request *request, uint64_t base, uint64_t limit) {
    if (limit < request->nbytes) return false;
    const uint64_t last = limit - request->nbytes, *addresses = request->addresses;
    uint64_t signs = 0, low_bits = 0;
    if (request->lanes == UINT32_MAX)
        for (uint32_t lane = 0; lane < SIMT_LANES; lane++) {
            uint64_t offset = addresses[lane] - base;
            signs |= offset | (last - offset);
            low_bits |= offset;
        }
    else
        SIMT_FOR_EACH_LANE (lane, request->lanes) {
            uint64_t offset = addresses[lane] - base;
            signs |= offset | (last - offset);
            low_bits |= offset;
        }
    return !(signs >> 63) && !(low_bits & (request->nbytes - 1));
}

static bool has_gap(uint32_t lanes) {
    const uint32_t run = lanes >> first_lane(lanes);
    return run & (run + 1);
}

/* 0: the addresses of all lanes are in steps.  Of lanes that are 16 apart, the lower ones that are 8 apart, and so on: other than
 * a sum from lane to lane, this is done in vectors. */
static inline uint64_t strays_of_warp(const uint64_t *addresses, uint64_t stride) {
    uint64_t strays = 0;
    for (uint64_t apart = SIMT_LANES / 2; apart; apart /= 2)
        for (uint64_t lane = 0; lane < apart; lane++) strays |= (addresses[lane + apart] - addresses[lane]) ^ apart * stride;
    return strays;
}

/* Addresses in steps are the most frequent case by far, found out once for all that follows: one address, neighbours,
 * the rows of a matrix.  Only one address for all counts where other lanes are between. */
static void find_stride(struct request *request) {
    const uint64_t stride_max = UINT64_C(1) << 40, *addresses = request->addresses;
    const uint32_t first = first_lane(request->lanes), last = last_lane(request->lanes);
    const uint32_t rest = request->lanes & (request->lanes - 1), second = rest ? first_lane(rest) : first;
    const uint64_t base = addresses[first], stride = addresses[second] - base;
    uint64_t strays = addresses[last] ^ (base + (last - first) * stride);
    request->first = (uint8_t)first;
    request->stride = stride;
    request->host_stride = (int64_t)stride;
    request->has_stride = false;
    if (strays || stride + stride_max > 2 * stride_max) return;
    if (request->lanes == UINT32_MAX)
        strays |= strays_of_warp(addresses, stride);
    else if (has_gap(request->lanes)) {
        if (stride) return;
        SIMT_FOR_EACH_LANE (lane, rest) strays |= addresses[lane] ^ base;
    } else
        for (uint64_t lane = second, address = base + stride; lane < last; lane++, address += stride)
            strays |= addresses[lane] ^ address;
    request->has_stride = !strays;
}

/* Like all_within, for addresses in steps: those between the ends are between them. */
static inline bool steps_are_within(const struct request *request, uint64_t base, uint64_t limit) {
    if (limit < request->nbytes) return false;
    uint64_t first = request->addresses[request->first] - base, last = limit - request->nbytes,
             end = request->addresses[last_lane(request->lanes)] - base;
    return first <= last && end <= last && !((first | request->stride) & (request->nbytes - 1));
}

/* A space whose lanes' bytes begin at base + lane * stride, and may be those from `begin` on. */
static bool open_part(struct warp *warp, struct path *path, struct request *request, unsigned char *base,
                      uint64_t stride, uint64_t begin, uint64_t limit) {
    if (request->has_stride && steps_are_within(request, begin, limit)) {
        request->hosts[0] = base + request->first * stride + request->addresses[request->first];
        request->host_stride += (int64_t)stride;
        return true;
    }
    request->has_stride = false;
    if (!all_within(request, begin, limit)) {
        uint32_t lane = (uint32_t)__builtin_ctz(request->lanes);
        SIMT_FOR_EACH_LANE (l, request->lanes) {
            uint64_t address = request->addresses[l] - begin;
            lane = l;
            if (address % request->nbytes || limit < request->nbytes || address > limit - request->nbytes) break;
        }
        fault(warp, path, request, lane, NULL, limit);
        return false;
    }
    SIMT_FOR_EACH_LANE (lane, request->lanes)
        request->hosts[lane] = base + lane * stride + request->addresses[lane];
    return true;
}

static bool open_flat(struct warp *warp, struct path *path, struct request *request, unsigned char *base,
                      uint64_t stride, uint64_t limit) {
    return open_part(warp, path, request, base, stride, 0, limit);
}

static void place(const struct request *request, unsigned char *places[SIMT_LANES], unsigned char *bytes,
                  uint64_t base) {
    if (request->has_stride) places[0] = bytes + (request->addresses[request->first] - base);
    else
        SIMT_FOR_EACH_LANE (lane, request->lanes) places[lane] = bytes + (request->addresses[lane] - base);
}

struct block *simt_shared_home(struct block *block, uint64_t *address) {
    uint64_t rank = *address >> SIMT_RANK_SHIFT;
    if (!rank) return block;
    if (!block->cluster || rank > block->cluster->count) return NULL;
    *address &= (UINT64_C(1) << SIMT_RANK_SHIFT) - 1;
    return block->cluster->blocks[rank - 1];
}

static bool names_a_rank(const struct request *request) {
    uint64_t addresses = 0;
    SIMT_FOR_EACH_LANE (lane, request->lanes) addresses |= request->addresses[lane];
    return addresses >> SIMT_RANK_SHIFT;
}

static void fault_ended(struct warp *warp, struct path *path, const struct request *request, uint32_t lane,
                        const struct block *home) {
    simt_event event = simt_event_of(warp, path, request->lanes);
    simt_record_finding(&event, SIMT_FINDING_BOUNDS, lane, request->addresses[lane],
                        "%s shared memory of block (%u,%u,%u) of the cluster, all of whose threads have exited: a "
                        "barrier of the cluster must keep them", request->kind == SIMT_LOAD ? "loads" : "updates",
                        home->view.block[0], home->view.block[1], home->view.block[2]);
    simt_stop(&event);
}

/* Shared memory of the cluster's blocks: each lane's may be another's. */
static bool open_cluster(struct warp *warp, struct path *path, struct request *request) {
    struct block *block = warp->block;
    const uint64_t limit = block->launch->view.shared_nbytes;
    request->has_stride = false;
    request->has_written = block->shared_written != NULL;
    SIMT_FOR_EACH_LANE (lane, request->lanes) {
        uint64_t address = request->addresses[lane];
        struct block *home = simt_shared_home(block, &address);
        bool is_within = home && !(address & (request->nbytes - 1)) && limit >= request->nbytes &&
                         address <= limit - request->nbytes;
        if (!is_within) {
            fault(warp, path, request, lane, NULL, limit);
            return false;
        }
        if (home->has_ended) {
            fault_ended(warp, path, request, lane, home);
            return false;
        }
        request->hosts[lane] = home->shared + address;
        request->written[lane] = home->shared_written ? home->shared_written + address : NULL;
    }
    return true;
}

static bool open_shared(struct warp *warp, struct path *path, struct request *request) {
    struct block *block = warp->block;
    if (block->cluster && names_a_rank(request)) return open_cluster(warp, path, request);
    const struct memory_code *code = &request->code->memory;
    const uint64_t limit = code->array ? code->array_nbytes : block->launch->view.shared_nbytes;
    if (!open_part(warp, path, request, block->shared, 0, code->array_begin, limit)) return false;
    request->has_written = block->shared_written != NULL;
    if (request->has_written) place(request, request->written, block->shared_written, 0);
    return true;
}

static bool is_within(const struct request *request, const struct allocation *allocation, uint64_t address) {
    return allocation && !(address & (request->nbytes - 1)) && allocation->nbytes >= request->nbytes &&
           address - allocation->address <= allocation->nbytes - request->nbytes &&
           !(request->kind != SIMT_LOAD && allocation->is_read_only);
}

/* Lanes of one allocation, which is nearly always. */
static bool open_allocation(const struct memory *memory, struct request *request,
                            const struct allocation *allocation) {
    if (!allocation || (allocation->is_read_only && request->kind != SIMT_LOAD)) return false;
    if (!simt_memory_reaches(memory, allocation)) return false;
    uint64_t base = allocation->address, limit = allocation->nbytes;
    request->has_stride = request->has_stride && steps_are_within(request, base, limit);
    if (!request->has_stride && !all_within(request, base, limit)) return false;
    place(request, request->hosts, allocation->bytes, base);
    request->has_written = allocation->written != NULL;
    if (request->has_written) place(request, request->written, allocation->written, base);
    return true;
}

static bool open_global(struct warp *warp, struct path *path, struct request *request) {
    const struct memory *memory = &warp->block->launch->machine->memory;
    const uint64_t first = request->addresses[__builtin_ctz(request->lanes)];
    if (open_allocation(memory, request, simt_memory_find(memory, first)))
        return true;
    request->has_stride = false;
    memset(request->written, 0, sizeof request->written);
    SIMT_FOR_EACH_LANE (lane, request->lanes) {
        uint64_t address = request->addresses[lane];
        const struct allocation *allocation = simt_memory_find(memory, address);
        if (!is_within(request, allocation, address) || !simt_memory_reaches(memory, allocation)) {
            fault(warp, path, request, lane, allocation, 0);
            return false;
        }
        request->hosts[lane] = allocation->bytes + (address - allocation->address);
        if (!allocation->written) continue;
        request->written[lane] = allocation->written + (address - allocation->address);
        request->has_written = true;
    }
    return true;
}

static bool open_parameters(struct warp *warp, struct path *path, struct request *request) {
    struct launch *launch = warp->block->launch;
    const struct code *code = request->code;
    struct frame *frame = path->frame;
    if (code->memory.address.is_kernel_parameter || code->memory.is_generic ||
        (!frame->caller && !code->memory.address.is_frame)) {
        if (request->kind == SIMT_LOAD)
            return open_flat(warp, path, request, launch->parameters, 0, launch->parameters_nbytes);
        fault(warp, path, request, (uint32_t)__builtin_ctz(request->lanes), NULL, 0);
        return false;
    }
    return open_flat(warp, path, request, frame->parameters, frame->layout->parameters_nbytes,
                     frame->layout->parameters_nbytes);
}

/* Each lane has what it has taken (alloca) behind its variables. */
static bool open_local(struct warp *warp, struct path *path, struct request *request) {
    const struct frame *frame = path->frame;
    const uint64_t end = frame->local_base + frame->layout->locals_nbytes;
    uint64_t limit = end;
    SIMT_FOR_EACH_LANE (lane, frame->has_taken ? request->lanes : 0) {
        const uint64_t own = end + frame->taken[lane];
        if (request->nbytes > own || request->addresses[lane] > own - request->nbytes) {
            fault(warp, path, request, lane, NULL, own);
            return false;
        }
        if (own > limit) limit = own;
    }
    return open_flat(warp, path, request, warp->local, warp->local_capacity, limit);
}

static bool open_space(struct warp *warp, struct path *path, struct request *request) {
    request->has_written = false;
    find_stride(request);
    switch (request->space) {
    case SIMT_SHARED: return open_shared(warp, path, request);
    case SIMT_LOCAL: return open_local(warp, path, request);
    case SIMT_PARAMETER: return open_parameters(warp, path, request);
    default: return open_global(warp, path, request);
    }
}

/* ---- marks of what was written.  Blocks on other host threads may mark the same bytes. */

/* Whether all of the bytes are marked: aligned marks are read eight or four at a time. */
static inline bool are_marked(const unsigned char *marks, size_t nbytes) {
    uint64_t all = UINT64_MAX;
    uint8_t each = UINT8_MAX;
    if (!(((uintptr_t)marks | nbytes) % sizeof all))
        for (size_t b = 0; b < nbytes; b += sizeof all)
            all &= __atomic_load_n((const uint64_t *)(const void *)(marks + b), __ATOMIC_RELAXED);
    else if (nbytes == sizeof(uint32_t) && !((uintptr_t)marks % sizeof(uint32_t)))
        return __atomic_load_n((const uint32_t *)(const void *)marks, __ATOMIC_RELAXED) == UINT32_MAX;
    else
        for (size_t b = 0; b < nbytes; b++) each &= __atomic_load_n(marks + b, __ATOMIC_RELAXED);
    return all == UINT64_MAX && each == UINT8_MAX;
}

static void mark(unsigned char *marks, size_t nbytes) {
    for (size_t b = 0; b < nbytes; b++)
        if (!__atomic_load_n(marks + b, __ATOMIC_RELAXED)) __atomic_store_n(marks + b, 0xff, __ATOMIC_RELAXED);
}

static unsigned char *marks_of(const struct request *request, uint32_t lane) {
    return request->has_stride ? request->written[0] + (int64_t)(lane - request->first) * (int64_t)request->stride
                               : request->written[lane];
}

/* The bytes that lanes in steps touch, if these are all from the first lane's on; else 0. */
static size_t whole_nbytes(const struct request *request) {
    if (!request->has_stride) return 0;
    if (!request->stride) return request->nbytes;
    return request->stride == request->nbytes ? (size_t)lane_count(request->lanes) * request->nbytes : 0;
}

/* The marks of the next of *lanes, and of those behind it that touch the same bytes or follow one another, as in the rows of a tile. */
static const unsigned char *next_marks(const struct request *request, uint32_t *lanes, size_t *nbytes) {
    const unsigned char *const begin = marks_of(request, first_lane(*lanes)), *last = begin;
    for (*lanes &= *lanes - 1; *lanes && begin; *lanes &= *lanes - 1) {
        const unsigned char *next = marks_of(request, first_lane(*lanes));
        if (next != last && next != last + request->nbytes) break;
        last = next;
    }
    *nbytes = (size_t)(last - begin) + request->nbytes;
    return begin;
}

static bool all_are_marked(const struct request *request) {
    const size_t whole = whole_nbytes(request);
    if (whole) return are_marked(request->written[0], whole);
    for (uint32_t lanes = request->lanes; lanes;) {
        size_t nbytes;
        const unsigned char *written = next_marks(request, &lanes, &nbytes);
        if (written && !are_marked(written, nbytes)) return false;
    }
    return true;
}

void simt_access_mark(const struct request *request) {
    if (!request->has_written || all_are_marked(request)) return;
    SIMT_FOR_EACH_LANE (lane, request->lanes) {
        unsigned char *written = marks_of(request, lane);
        if (written) mark(written, request->nbytes);
    }
}

/* ---- notifying observers */

/* false: all bytes of all lanes are. */
static bool fill_initialised(const struct request *request, uint64_t initialised[SIMT_LANES]) {
    if (!request->has_written || all_are_marked(request)) return false;
    for (uint32_t lane = 0; lane < SIMT_LANES; lane++) initialised[lane] = UINT64_MAX;
    SIMT_FOR_EACH_LANE (lane, request->lanes) {
        const unsigned char *written = marks_of(request, lane);
        for (uint32_t b = 0; b < request->nbytes && written; b++)
            if (!__atomic_load_n(written + b, __ATOMIC_RELAXED)) initialised[lane] &= ~(UINT64_C(1) << b);
    }
    return true;
}

static void notify_access(struct warp *warp, struct path *path, const struct request *request) {
    struct launch *launch = warp->block->launch;
    if (!launch->access.count || request->space == SIMT_PARAMETER) return;
    uint64_t initialised[SIMT_LANES];
    bool wants = launch->needs_initialised && request->kind != SIMT_STORE &&
                 (request->space == SIMT_SHARED || request->space == SIMT_GLOBAL);
    wants = wants && fill_initialised(request, initialised);
    const simt_event event = simt_event_of(warp, path, request->lanes);
    const simt_access access = {.space = request->space,
                                .kind = request->kind,
                                .order = request->code->memory.order,
                                .lanes = request->lanes,
                                .element_nbytes = request->code->memory.vector.element_nbytes,
                                .elements = request->code->memory.vector.count,
                                .has_stride = request->has_stride,
                                .stride = request->stride,
                                .addresses = request->addresses,
                                .values = request->values,
                                .initialised = wants ? initialised : NULL,
                                .is_asynchronous = request->is_asynchronous};
    SIMT_NOTIFY(launch, warp->block, access, &event, &access);
}

bool simt_access_locate(struct warp *warp, struct path *path, struct request *request) {
    return open_space(warp, path, request);
}

bool simt_access_open(struct warp *warp, struct path *path, struct request *request) {
    if (!open_space(warp, path, request)) return false;
    if (warp->block->has_examined) simt_effects_open(warp, path, request);
    else warp->block->changes += request->kind == SIMT_STORE;
    notify_access(warp, path, request);
    return !simt_is_stopped(warp->block->launch);
}

unsigned char *simt_generic_bytes(const struct warp *warp, uint32_t lane, uint64_t address, size_t nbytes) {
    const struct memory *memory = &warp->block->launch->machine->memory;
    const struct allocation *allocation;
    switch (simt_space_of(memory, &address)) {
    case SIMT_SHARED:
        if (nbytes > warp->block->launch->view.shared_nbytes ||
            address > warp->block->launch->view.shared_nbytes - nbytes)
            return NULL;
        return warp->block->shared + address;
    case SIMT_LOCAL:
        if (nbytes > warp->local_capacity || address > warp->local_capacity - nbytes) return NULL;
        return warp->local + lane * warp->local_capacity + address;
    case SIMT_PARAMETER:
        if (nbytes > warp->block->launch->parameters_nbytes ||
            address > warp->block->launch->parameters_nbytes - nbytes)
            return NULL;
        return warp->block->launch->parameters + address;
    default:
        allocation = simt_memory_find(memory, address);
        if (!allocation || !simt_memory_reaches(memory, allocation)) return NULL;
        if (nbytes > allocation->nbytes || address - allocation->address > allocation->nbytes - nbytes)
            return NULL;
        return allocation->bytes + (address - allocation->address);
    }
}
