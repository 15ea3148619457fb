/* Launches from kernels, and what belongs to them.  What a kernel launches begins when its grid has ended: CUDA promises no
 * earlier time, and kernels have no means to wait for it.  So streams and events of kernels order nothing: what is launched is
 * executed one after another. */
#include <stdlib.h>
#include <string.h>

#include "builtin.h"

enum { SUCCESS, INVALID_VALUE, NO_MEMORY, OUT_OF_RESOURCES = 701 }; /* cudaError_t */
enum { LAUNCH_COST = 32, HANDLE = 16 /* of every stream and event */ };

/* A launch between its two calls: the first gives the kernel memory for the arguments, the second launches. */
struct prepared {
    struct prepared *next;
    struct allocation *arguments;
    const struct function *kernel;
    uint32_t grid[3], block[3], shared_nbytes;
};

void simt_prepared_clear(struct launch *launch) {
    for (struct prepared *prepared = launch->prepared, *next; prepared; prepared = next) {
        next = prepared->next;
        simt_memory_free(&launch->machine->memory, prepared->arguments);
        free(prepared);
    }
    launch->prepared = NULL;
}

static bool is_taken(struct warp *warp, struct path *path, uint32_t mask) {
    if (warp->block->launch->machine->take_child) return true;
    simt_event event = simt_event_of(warp, path, mask);
    simt_record_finding(&event, SIMT_FINDING_UNSUPPORTED, (uint32_t)__builtin_ctz(mask), 0,
                        "launches a kernel, which is for whole programs alone: `warpfold run`");
    simt_stop(&event);
    return false;
}

static uint32_t take(struct launch *launch, const simt_child *child) {
    const struct simt_machine *machine = launch->machine;
    launch->has_launched = true;
    return machine->take_child(machine->child_context, child) ? SUCCESS : OUT_OF_RESOURCES;
}

void simt_machine_set_launch(struct simt_machine *machine, simt_child_function *function, void *context) {
    machine->take_child = function;
    machine->child_context = context;
}

/* ---- __cudaCDP2GetParameterBufferV2(kernel, grid, block, bytes of shared memory) */

static struct prepared *prepare(struct warp *warp, const struct function *kernel) {
    struct memory *memory = &warp->block->launch->machine->memory;
    struct prepared *prepared = calloc(1, sizeof *prepared);
    if (prepared) prepared->arguments = simt_memory_allocate(memory, kernel->parameter_nbytes, false);
    if (prepared && prepared->arguments) return prepared;
    free(prepared);
    simt_launch_no_memory(warp->block->launch);
    return NULL;
}

static bool builtin_prepare(struct warp *warp, struct path *path, const struct code *code, uint32_t mask) {
    struct launch *launch = warp->block->launch;
    if (!is_taken(warp, path, mask)) return false;
    SIMT_FOR_EACH_LANE (lane, mask) {
        const uint64_t address = simt_builtin_argument(warp, path, code, 0, lane);
        const struct function *kernel = simt_function_at(launch->image, address);
        if (!kernel || !kernel->is_kernel || !kernel->has_body)
            return simt_builtin_refuse(warp, path, mask, lane, address, "launches 0x%llx, where there is no kernel");
        struct prepared *prepared = prepare(warp, kernel);
        if (!prepared) return false;
        prepared->kernel = kernel;
        simt_builtin_read(warp, path, code, 1, lane, prepared->grid, sizeof prepared->grid);
        simt_builtin_read(warp, path, code, 2, lane, prepared->block, sizeof prepared->block);
        prepared->shared_nbytes = (uint32_t)simt_builtin_argument(warp, path, code, 3, lane);
        prepared->next = launch->prepared;
        launch->prepared = prepared;
        simt_block_charge(warp->block, LAUNCH_COST);
        simt_builtin_result(warp, path, code, lane, prepared->arguments->address);
    }
    return true;
}

/* ---- __cudaCDP2LaunchDeviceV2(arguments, stream) */

/* Its number among the module's kernels. */
static size_t number_of(const struct simt_module *module, const struct function *kernel) {
    size_t number = 0;
    while (number < module->kernel_count && module->kernels[number] != kernel) number++;
    return number;
}

/* Hands it on.  false: the host has no memory. */
static bool hand_on(struct launch *launch, const struct prepared *prepared, uint64_t stream, uint32_t *error) {
    const struct function *kernel = prepared->kernel;
    simt_child child = {.kernel = number_of(launch->request->module, kernel),
                        .shared_nbytes = prepared->shared_nbytes,
                        .stream = stream};
    const void **arguments = calloc(kernel->parameter_count + 1, sizeof *arguments);
    if (!arguments) return false;
    for (uint32_t p = 0; p < kernel->parameter_count; p++)
        arguments[p] = prepared->arguments->bytes + kernel->parameters[p]->offset;
    memcpy(child.grid, prepared->grid, sizeof child.grid);
    memcpy(child.block, prepared->block, sizeof child.block);
    child.arguments = arguments;
    *error = take(launch, &child);
    free(arguments);
    return true;
}

static bool builtin_launch(struct warp *warp, struct path *path, const struct code *code, uint32_t mask) {
    struct launch *launch = warp->block->launch;
    SIMT_FOR_EACH_LANE (lane, mask) {
        const uint64_t address = simt_builtin_argument(warp, path, code, 0, lane);
        const uint64_t stream = simt_builtin_argument(warp, path, code, 1, lane);
        struct prepared **place = &launch->prepared, *prepared;
        uint32_t error;
        while (*place && (*place)->arguments->address != address) place = &(*place)->next;
        if (!(prepared = *place))
            return simt_builtin_refuse(warp, path, mask, lane, address, "launches with arguments at 0x%llx, which is not their place");
        const bool is_on = hand_on(launch, prepared, stream, &error);
        *place = prepared->next;
        simt_memory_free(&launch->machine->memory, prepared->arguments);
        free(prepared);
        if (!is_on) {
            simt_launch_no_memory(launch);
            return false;
        }
        if (error) launch->device_error = error;
        simt_builtin_result(warp, path, code, lane, error);
    }
    return true;
}

/* ---- __cudaCDP2MemcpyAsync(to, from, bytes, kind, stream): in its turn among the launches */

static bool builtin_copy(struct warp *warp, struct path *path, const struct code *code, uint32_t mask) {
    struct launch *launch = warp->block->launch;
    if (!is_taken(warp, path, mask)) return false;
    SIMT_FOR_EACH_LANE (lane, mask) {
        simt_child child = {.is_copy = true};
        child.to = simt_builtin_argument(warp, path, code, 0, lane);
        child.from = simt_builtin_argument(warp, path, code, 1, lane);
        child.nbytes = simt_builtin_argument(warp, path, code, 2, lane);
        child.stream = simt_builtin_argument(warp, path, code, 4, lane);
        const uint32_t error = take(launch, &child);
        if (error) launch->device_error = error;
        simt_block_charge(warp->block, LAUNCH_COST);
        simt_builtin_result(warp, path, code, lane, error);
    }
    return true;
}

/* ---- streams and events, errors, memory */

static bool store(struct warp *warp, struct path *path, uint32_t mask, uint32_t lane, uint64_t address, uint64_t value) {
    const struct memory *memory = &warp->block->launch->machine->memory;
    unsigned char *bytes = simt_generic_bytes(warp, lane, address, sizeof value);
    if (!bytes) return simt_builtin_refuse(warp, path, mask, lane, address, "stores 8 bytes at 0x%llx, where there is no memory");
    memcpy(bytes, &value, sizeof value);
    const struct allocation *allocation = simt_memory_find(memory, address);
    if (allocation && allocation->written) memset(allocation->written + (address - allocation->address), 0xff, sizeof value);
    return true;
}

static bool builtin_create(struct warp *warp, struct path *path, const struct code *code, uint32_t mask) {
    SIMT_FOR_EACH_LANE (lane, mask) {
        if (!store(warp, path, mask, lane, simt_builtin_argument(warp, path, code, 0, lane), HANDLE)) return false;
        simt_builtin_result(warp, path, code, lane, SUCCESS);
    }
    return true;
}

static bool builtin_nothing(struct warp *warp, struct path *path, const struct code *code, uint32_t mask) {
    SIMT_FOR_EACH_LANE (lane, mask) simt_builtin_result(warp, path, code, lane, SUCCESS);
    return true;
}

static bool builtin_peek(struct warp *warp, struct path *path, const struct code *code, uint32_t mask) {
    SIMT_FOR_EACH_LANE (lane, mask) simt_builtin_result(warp, path, code, lane, warp->block->launch->device_error);
    return true;
}

static bool builtin_last(struct warp *warp, struct path *path, const struct code *code, uint32_t mask) {
    builtin_peek(warp, path, code, mask);
    warp->block->launch->device_error = SUCCESS;
    return true;
}

static bool builtin_allocate(struct warp *warp, struct path *path, const struct code *code, uint32_t mask) {
    SIMT_FOR_EACH_LANE (lane, mask) {
        uint64_t address;
        if (!simt_builtin_allocate(warp, path, lane, simt_builtin_argument(warp, path, code, 1, lane), &address)) return false;
        if (!store(warp, path, mask, lane, simt_builtin_argument(warp, path, code, 0, lane), address)) return false;
        simt_builtin_result(warp, path, code, lane, address ? SUCCESS : NO_MEMORY);
    }
    return true;
}

#define CDP(name) "__cudaCDP2" #name
const struct builtin simt_device_runtime[] = {{CDP(GetParameterBufferV2), builtin_prepare, 8, {8, 12, 12, 4}, true},
                                              {CDP(LaunchDeviceV2), builtin_launch, 4, {8, 8}, true},
                                              {CDP(LaunchDeviceV2_ptsz), builtin_launch, 4, {8, 8}, true},
                                              {CDP(MemcpyAsync), builtin_copy, 4, {8, 8, 8, 4, 8}, true},
                                              {CDP(MemcpyAsync_ptsz), builtin_copy, 4, {8, 8, 8, 4, 8}, true},
                                              {CDP(StreamCreateWithFlags), builtin_create, 4, {8, 4}, true},
                                              {CDP(StreamDestroy), builtin_nothing, 4, {8}, false},
                                              {CDP(StreamWaitEvent), builtin_nothing, 4, {8, 8, 4}, false},
                                              {CDP(EventCreateWithFlags), builtin_create, 4, {8, 4}, true},
                                              {CDP(EventRecord), builtin_nothing, 4, {8, 8}, false},
                                              {CDP(EventDestroy), builtin_nothing, 4, {8}, false},
                                              {CDP(GetLastError), builtin_last, 4, {0}, true},
                                              {CDP(PeekAtLastError), builtin_peek, 4, {0}, true},
                                              {CDP(Malloc), builtin_allocate, 4, {8, 8}, true},
                                              {CDP(Free), simt_builtin_free, 4, {8}, true},
                                              {0}};
