/* Launches of kernels, and what programs ask about kernels before. */
#include "family.h"
#include "graphs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/notice.h"

enum { WARP = 32, BLOCK_THREADS = 1024, BLOCK_Z = 64, GRID_YZ = 65535, REGISTERS_ASSUMED = 32, PORTABLE_CLUSTER = 8 };

/* ---- one launch ---------------------------------------------------------------------------------- */

struct request {
    const void *function;
    dim3 grid, block;
    void **arguments;
    size_t shared_nbytes;
    cudaStream_t stream;
    bool is_cooperative;
    uint8_t cluster[3]; /* 0: as the kernel says */
    int priority;       /* a hint, */
    union cudaLaunchAttributeValue window; /* and another */
};

static void print(void *context, const char *text, size_t nbytes) {
    (void)context;
    results_note_seen();
    fwrite(text, 1, nbytes, stdout);
}

/* Blocks of a kernel that one multiprocessor holds, as far as PTX tells: it does not name a number of registers. */
static int resident_blocks(const struct CUkern_st *kernel, int block_threads, size_t dynamic_nbytes) {
    const struct gpu *gpu = runtime.gpu;
    if (block_threads < 1 || (uint32_t)block_threads > simt_module_block_threads(kernel->parsed, kernel->index)) return 0;
    size_t reserved = gpu->major >= 8 ? 1024 : 0;
    size_t shared = simt_module_shared_nbytes(kernel->parsed, kernel->index) + dynamic_nbytes + reserved;
    int threads = (block_threads + WARP - 1) / WARP * WARP, blocks = gpu->threads / threads;
    size_t by_shared = shared ? (size_t)gpu->shared_nbytes / shared : (size_t)blocks;
    if (blocks > gpu->blocks) blocks = gpu->blocks;
    return by_shared < (size_t)blocks ? (int)by_shared : blocks;
}

static void say_slow(void *context, const simt_notice *notice) {
    static char last[RECORD_NAME];
    char text[NOTICE_NBYTES];
    if (!strncmp(last, notice->kernel, sizeof last - 1)) return;
    snprintf(last, sizeof last, "%s", notice->kernel);
    notice_text(notice, context, text);
    runtime_say("%s", text);
}

static bool is_extent(dim3 extent, uint64_t x, uint64_t y, uint64_t z) {
    return extent.x >= 1 && extent.y >= 1 && extent.z >= 1 && extent.x <= x && extent.y <= y && extent.z <= z;
}

static cudaError_t check_request(const struct request *request, const struct CUkern_st *kernel) {
    const dim3 block = request->block, grid = request->grid;
    uint64_t threads = (uint64_t)block.x * block.y * block.z, blocks = (uint64_t)grid.x * grid.y * grid.z;
    size_t fixed = simt_module_shared_nbytes(kernel->parsed, kernel->index);
    if (!request->arguments && simt_module_parameter_count(kernel->parsed, kernel->index)) return cudaErrorInvalidValue;
    if (!stream_is_known(request->stream) || stream_device(request->stream) != runtime_thread.device)
        return cudaErrorInvalidResourceHandle;
    if (!is_extent(block, BLOCK_THREADS, BLOCK_THREADS, BLOCK_Z) || threads > BLOCK_THREADS ||
        !is_extent(grid, INT32_MAX, GRID_YZ, GRID_YZ)) {
        failures_because("a launch of %u x %u x %u blocks of %u x %u x %u threads; blocks have 1 to %d threads, %d in z, and grids at "
                         "most 2^31 - 1, %d and %d blocks", grid.x, grid.y, grid.z, block.x, block.y, block.z, BLOCK_THREADS, BLOCK_Z,
                         GRID_YZ, GRID_YZ);
        return cudaErrorInvalidValue; /* as CUDA 13; earlier ones: cudaErrorInvalidConfiguration */
    }
    const uint32_t most = simt_module_block_threads(kernel->parsed, kernel->index);
    if (threads > most) {
        failures_because("a launch of blocks of %llu threads; the kernel was compiled for at most %u (__launch_bounds__)",
                         (unsigned long long)threads, most);
        return cudaErrorInvalidValue;
    }
    if (request->shared_nbytes > (size_t)kernel->dynamic_shared_max[runtime_thread.device] ||
        request->shared_nbytes + fixed > (size_t)runtime.gpu->block_shared_nbytes) {
        failures_because("a launch with %zu bytes of dynamic shared memory; the kernel has %zu of its own and may have %d more, unless "
                         "cudaFuncSetAttribute allows more, up to %d with its own", request->shared_nbytes, fixed,
                         kernel->dynamic_shared_max[runtime_thread.device], runtime.gpu->block_shared_nbytes);
        return cudaErrorInvalidValue;
    }
    const int cluster = request->cluster[0] * request->cluster[1] * request->cluster[2];
    if (cluster > PORTABLE_CLUSTER && !kernel->allows_large_clusters) {
        failures_because("a launch of clusters of %d blocks; more than %d must be allowed by "
                         "cudaFuncAttributeNonPortableClusterSizeAllowed", cluster, PORTABLE_CLUSTER);
        return cudaErrorInvalidClusterSize;
    }
    uint64_t resident = (uint64_t)resident_blocks(kernel, (int)threads, request->shared_nbytes);
    if (request->is_cooperative && blocks > resident * (uint64_t)runtime.gpu->multiprocessors)
        return cudaErrorCooperativeLaunchTooLarge;
    return cudaSuccess;
}

/* What a GPU would say of a launch that a finding has stopped. */
static cudaError_t error_of_finding(const simt_finding *finding) {
    static const cudaError_t errors[] = {
        [SIMT_FINDING_BOUNDS] = cudaErrorIllegalAddress,       [SIMT_FINDING_MISALIGNED] = cudaErrorMisalignedAddress,
        [SIMT_FINDING_RUNAWAY] = cudaErrorLaunchTimeout,       [SIMT_FINDING_BARRIER] = cudaErrorLaunchTimeout,
        [SIMT_FINDING_UNSUPPORTED] = cudaErrorNotSupported,    [SIMT_FINDING_TRAP] = cudaErrorLaunchFailure,
    };
    if (finding->kind == SIMT_FINDING_TRAP && strstr(finding->message, "assertion")) return cudaErrorAssert;
    return (size_t)finding->kind < sizeof errors / sizeof *errors ? errors[finding->kind] : cudaSuccess;
}

/* Races and the like, which stop nothing, may come before the finding that did. */
static cudaError_t error_of_report(const simt_report *report) {
    for (size_t i = simt_report_finding_count(report); i-- > 0;) {
        cudaError_t error = error_of_finding(simt_report_finding(report, i));
        if (error) return error;
    }
    return cudaErrorLaunchFailure;
}

/* The launch itself has succeeded when its kernel fails: calls after it tell, and all of them. */
static cudaError_t conclude(simt_error error, const simt_report *report, const simt_message *message) {
    if (!error) return cudaSuccess;
    if (error != SIMT_ERROR_STOPPED) {
        failures_refuse_launch();
        runtime_say("a launch was refused: %s", message->text);
    }
    if (error == SIMT_ERROR_MEMORY) return cudaErrorMemoryAllocation;
    if (error == SIMT_ERROR_ARGUMENT) return cudaErrorInvalidConfiguration;
    device_current()->sticky = error == SIMT_ERROR_STOPPED ? error_of_report(report) : cudaErrorLaunchFailure;
    return cudaSuccess;
}

enum { ARGUMENT_ALIGNMENT = 16 };

/* A launch that a graph keeps, or that a kernel has asked for, with the bytes of its arguments behind it, and a pointer to each
 * behind them. */
struct kept_launch {
    struct operation operation;
    struct request request;
    const struct CUkern_st *kernel;
    int device;
    _Alignas(ARGUMENT_ALIGNMENT) unsigned char arguments[];
};

/* A launch with all that its kernel launches, and so on: what is still to be done, in order. */
struct child {
    struct child *next;
    struct operation *launch; /* NULL: a copy */
    uint64_t to, from, nbytes;
    struct kin kin;
};

struct tree {
    struct child *first;
    struct child *asked[2]; /* by the running kernel, the last one first; and what comes after all else */
    size_t count;
    uint64_t spent; /* instructions */
    const struct CUkern_st *kernel; /* that is running, */
    struct kin kin;                 /* and who has launched it */
};

static cudaError_t keep(const struct request *request, const struct CUkern_st *kernel, struct operation **made);

static cudaError_t make_launch(const struct CUkern_st *parent, const simt_child *asked, struct operation **made) {
    cudaError_t error;
    const struct CUkern_st *kernel =
        module_kernel(parent->module, simt_module_kernel_name(parent->parsed, asked->kernel), &error);
    const struct request request = {.grid = {asked->grid[0], asked->grid[1], asked->grid[2]},
                                    .block = {asked->block[0], asked->block[1], asked->block[2]},
                                    .arguments = (void **)(uintptr_t)asked->arguments,
                                    .shared_nbytes = asked->shared_nbytes};
    if (!error) error = check_request(&request, kernel);
    return error ? error : keep(&request, kernel, made);
}

/* A simt_child_function. */
static bool take_child(void *context, const simt_child *asked) {
    enum { CHILDREN = 1 << 18, TAIL = 3 };
    struct tree *tree = context;
    struct child *child = tree->count < CHILDREN ? calloc(1, sizeof *child) : NULL;
    if (!child) return false;
    *child = (struct child){.to = asked->to, .from = asked->from, .nbytes = asked->nbytes};
    if (!asked->is_copy && make_launch(tree->kernel, asked, &child->launch)) {
        failures_refuse_launch();
        free(child);
        return false;
    }
    const bool is_tail = asked->stream == TAIL;
    struct child **last = &tree->asked[is_tail];
    child->kin = family_launch(is_tail);
    child->next = *last;
    *last = child;
    tree->count++;
    return true;
}

/* What the kernel that has ended asked for comes next. */
static void plan(struct tree *tree) {
    for (int tail = 1; tail >= 0; tail--)
        for (struct child *child = tree->asked[tail], *before; child; child = before) {
            before = child->next;
            child->next = tree->first;
            tree->first = child;
        }
    tree->asked[0] = tree->asked[1] = NULL;
}

/* The least that a launch counts against the limit of its tree, so that kernels that launch themselves for ever end soon. */
enum { CHILD_COST = 1024 };

static cudaError_t execute_one(const struct request *request, const struct CUkern_st *kernel, struct tree *tree) {
    static simt_message message;
    const struct record_settings *settings = &runtime.record->settings;
    const uint64_t limit = settings->instruction_limit;
    uint64_t number;
    const struct simt_observer *const *observers = watch_observers(kernel->name, &number);
    tree->kernel = kernel;
    const simt_launch launch = {.module = kernel->parsed,
                                .kernel = kernel->index,
                                .grid = {request->grid.x, request->grid.y, request->grid.z},
                                .block = {request->block.x, request->block.y, request->block.z},
                                .shared_nbytes = request->shared_nbytes,
                                .cluster = {request->cluster[0], request->cluster[1], request->cluster[2]},
                                .arguments = (const void *const *)request->arguments,
                                .schedule = (simt_schedule)settings->schedule,
                                .seed = settings->seed,
                                .instruction_limit = limit > tree->spent ? limit - tree->spent : 1,
                                .threads = settings->threads,
                                .lacks_grid_barrier = !request->is_cooperative,
                                .observers = observers,
                                .print = print};
    simt_report *report = NULL;
    if (settings->tells_slow) simt_machine_set_notice(runtime.machine, say_slow, (void *)&launch);
    simt_machine_set_launch(runtime.machine, take_child, tree);
    watch_begin(kernel->name);
    family_begin(tree->kin, kernel->name);
    simt_error error = simt_machine_launch(runtime.machine, &launch, &report, &message);
    watch_end();
    watch_note(&launch, report, observers != NULL, number);
    results_note_launch(&launch, report, observers != NULL);
    family_end();
    const uint64_t instructions = (uint64_t)simt_report_counter_value(report, "instructions", 0);
    tree->spent += instructions + CHILD_COST;
    runtime_pass(instructions);
    cudaError_t result = conclude(error, report, &message);
    simt_report_destroy(report);
    plan(tree);
    return result;
}

static size_t argument_nbytes(const struct CUkern_st *kernel, size_t parameter) {
    size_t nbytes = simt_module_parameter_nbytes(kernel->parsed, kernel->index, parameter);
    return (nbytes + ARGUMENT_ALIGNMENT - 1) / ARGUMENT_ALIGNMENT * ARGUMENT_ALIGNMENT;
}

static size_t arguments_nbytes(const struct CUkern_st *kernel) {
    size_t count = simt_module_parameter_count(kernel->parsed, kernel->index), nbytes = 0;
    for (size_t p = 0; p < count; p++) nbytes += argument_nbytes(kernel, p);
    return nbytes;
}

/* They are where they were last told, and a copy of the operation has its own. */
static void **point_to_arguments(const struct kept_launch *kept) {
    unsigned char *argument = (unsigned char *)(uintptr_t)kept->arguments;
    void **pointers = (void **)(void *)(argument + arguments_nbytes(kept->kernel));
    const size_t count = simt_module_parameter_count(kept->kernel->parsed, kept->kernel->index);
    for (size_t p = 0; p < count; argument += argument_nbytes(kept->kernel, p++)) pointers[p] = argument;
    return pointers;
}

static cudaError_t execute_kept(const struct kept_launch *kept, struct tree *tree) {
    struct request request = kept->request;
    request.arguments = point_to_arguments(kept);
    return execute_one(&request, kept->kernel, tree);
}

static cudaError_t execute_child(const struct child *child, struct tree *tree) {
    tree->kin = child->kin;
    if (child->launch) return execute_kept((const struct kept_launch *)child->launch, tree);
    family_begin(child->kin, "a copy");
    cudaError_t error =
        copy((void *)(uintptr_t)child->to, (const void *)(uintptr_t)child->from, child->nbytes, cudaMemcpyDeviceToDevice);
    family_end();
    return error;
}

/* What is left of a launch whose kernel has run: `error`, if that is one, ends it. */
static cudaError_t execute_rest(struct tree *tree, cudaError_t error) {
    struct child *child;
    while ((child = tree->first)) {
        tree->first = child->next;
        tree->count--;
        if (!error && !device_current()->sticky) error = execute_child(child, tree);
        family_let_go(child->kin);
        free(child->launch);
        free(child);
    }
    return error;
}

static cudaError_t execute(const struct request *request, const struct CUkern_st *kernel) {
    struct tree tree = {0};
    return execute_rest(&tree, execute_one(request, kernel, &tree));
}

static cudaError_t run_kept(const struct operation *operation) {
    const struct kept_launch *kept = (const struct kept_launch *)operation;
    struct tree tree = {0};
    const int current = runtime_thread.device;
    runtime_use(kept->device);
    cudaError_t error = execute_rest(&tree, execute_kept(kept, &tree));
    runtime_use(current);
    return error;
}

static cudaError_t keep(const struct request *request, const struct CUkern_st *kernel, struct operation **made) {
    const size_t count = simt_module_parameter_count(kernel->parsed, kernel->index);
    const size_t nbytes = arguments_nbytes(kernel) + count * sizeof(void *);
    size_t offset = 0;
    struct kept_launch *kept = calloc(1, sizeof *kept + nbytes);
    if (!kept) return cudaErrorMemoryAllocation;
    *kept = (struct kept_launch){
        {NODE_LAUNCH, sizeof *kept + nbytes, run_kept}, *request, kernel, runtime_thread.device};
    for (size_t p = 0; p < count; offset += argument_nbytes(kernel, p++))
        memcpy(kept->arguments + offset, request->arguments[p],
               simt_module_parameter_nbytes(kernel->parsed, kernel->index, p));
    *made = &kept->operation;
    return cudaSuccess;
}

static cudaError_t capture(const struct request *request, const struct CUkern_st *kernel) {
    struct operation *made;
    cudaError_t error = keep(request, kernel, &made);
    if (error) return error;
    error = operation_do(made, request->stream);
    free(made);
    return error;
}

static cudaError_t launch(const struct request *request) {
    cudaError_t error;
    const struct CUkern_st *kernel = kernel_find(request->function, &error);
    if (!error) error = check_request(request, kernel);
    if (error) {
        failures_refuse_launch(); /* programs that do not look go on with wrong results */
        return error;
    }
    if (stream_is_captured(request->stream)) return capture(request, kernel);
    if (captures_bar_stream(request->stream)) {
        failures_refuse_launch();
        return cudaErrorStreamCaptureImplicit;
    }
    order_begin(stream_order(request->stream), false, kernel->name);
    error = execute(request, kernel);
    stream_advance(request->stream, order_end());
    if (!error) stream_note_launch(kernel->name, request->stream);
    return error;
}

/* What `extra` names, in pairs: the arguments in one piece of memory, and how many bytes they are. */
enum { EXTRA_END, EXTRA_BUFFER, EXTRA_NBYTES };

struct packed {
    const unsigned char *bytes;
    size_t nbytes;
};

static bool read_extra(void *const *extra, struct packed *packed) {
    *packed = (struct packed){NULL, 0};
    for (; (uintptr_t)extra[0] != EXTRA_END; extra += 2) {
        if ((uintptr_t)extra[0] == EXTRA_BUFFER) packed->bytes = extra[1];
        else if ((uintptr_t)extra[0] == EXTRA_NBYTES) packed->nbytes = *(const size_t *)extra[1];
        else return false;
    }
    return packed->bytes || !packed->nbytes;
}

static cudaError_t unpack(const struct CUkern_st *kernel, const struct packed *packed, void **arguments, size_t count) {
    for (size_t p = 0; p < count; p++) {
        size_t offset = simt_module_parameter_offset(kernel->parsed, kernel->index, p);
        size_t nbytes = simt_module_parameter_nbytes(kernel->parsed, kernel->index, p);
        if (offset > packed->nbytes || nbytes > packed->nbytes - offset) return cudaErrorInvalidValue;
        arguments[p] = (void *)(uintptr_t)(packed->bytes + offset);
    }
    return cudaSuccess;
}

/* The arguments that `extra` has, each by its address: to be freed. */
cudaError_t launch_unpack(const struct CUkern_st *kernel, void *const *extra, void ***arguments) {
    struct packed packed;
    if (!read_extra(extra, &packed)) return cudaErrorInvalidValue;
    size_t count = simt_module_parameter_count(kernel->parsed, kernel->index);
    *arguments = calloc(count + 1, sizeof **arguments);
    if (!*arguments) return cudaErrorMemoryAllocation;
    cudaError_t error = unpack(kernel, &packed, *arguments, count);
    if (error) free(*arguments);
    return error;
}

static cudaError_t make(const struct request *request, const struct CUkern_st *kernel, struct operation **made) {
    cudaError_t error = check_request(request, kernel);
    return error ? error : keep(request, kernel, made);
}

cudaError_t launch_make(const struct cudaKernelNodeParams *params, struct operation **made) {
    cudaError_t error;
    void **unpacked = NULL;
    if (!params || (params->extra && params->kernelParams)) return cudaErrorInvalidValue;
    struct request request = {.function = params->func,
                              .grid = params->gridDim,
                              .block = params->blockDim,
                              .arguments = params->kernelParams,
                              .shared_nbytes = params->sharedMemBytes};
    const struct CUkern_st *kernel = kernel_find(request.function, &error);
    if (!error && params->extra) error = launch_unpack(kernel, params->extra, &unpacked);
    if (error) return error;
    if (unpacked) request.arguments = unpacked;
    error = make(&request, kernel, made);
    free(unpacked);
    return error;
}

/* The kernel's name in the program is that of host code, if it has one. */
cudaError_t launch_tell(const struct operation *operation, struct cudaKernelNodeParams *params) {
    const struct kept_launch *kept = (const struct kept_launch *)operation;
    const void *function = kept->kernel->host ? kept->kernel->host : kept->kernel;
    *params = (struct cudaKernelNodeParams){.func = (void *)(uintptr_t)function,
                                            .gridDim = kept->request.grid,
                                            .blockDim = kept->request.block,
                                            .sharedMemBytes = (unsigned)kept->request.shared_nbytes,
                                            .kernelParams = point_to_arguments(kept)};
    return cudaSuccess;
}

static cudaError_t launch_plain(const void *function, dim3 grid, dim3 block, void **arguments, size_t shared_nbytes,
                                cudaStream_t stream, bool is_cooperative) {
    return launch(&(struct request){.function = function,
                                    .grid = grid,
                                    .block = block,
                                    .arguments = arguments,
                                    .shared_nbytes = shared_nbytes,
                                    .stream = stream,
                                    .is_cooperative = is_cooperative});
}

API cudaLaunchKernel(const void *function, dim3 grid, dim3 block, void **arguments, size_t shared_nbytes,
                     cudaStream_t stream) {
    return CALL_LAUNCH(launch_plain(function, grid, block, arguments, shared_nbytes, stream, false));
}
ALSO(cudaLaunchKernel, _ptsz)

API __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void **arguments, size_t shared_nbytes,
                       cudaStream_t stream) {
    return CALL_LAUNCH(launch_plain(kernel, grid, block, arguments, shared_nbytes, stream, false));
}
ALSO(__cudaLaunchKernel, _ptsz)

API cudaLaunchCooperativeKernel(const void *function, dim3 grid, dim3 block, void **arguments, size_t shared_nbytes,
                                cudaStream_t stream) {
    return CALL_LAUNCH(launch_plain(function, grid, block, arguments, shared_nbytes, stream, true));
}
ALSO(cudaLaunchCooperativeKernel, _ptsz)

/* false: no GPU of the kind takes it. */
static bool set_cluster(struct request *request, dim3 cluster) {
    enum { CLUSTER_BLOCKS = 16 };
    bool is_single = cluster.x == 1 && cluster.y == 1 && cluster.z == 1;
    if (!is_single && runtime.gpu->major < 9) return false;
    if (!is_extent(cluster, CLUSTER_BLOCKS, CLUSTER_BLOCKS, CLUSTER_BLOCKS) ||
        cluster.x * cluster.y * cluster.z > CLUSTER_BLOCKS || request->grid.x % cluster.x ||
        request->grid.y % cluster.y || request->grid.z % cluster.z)
        return false;
    request->cluster[0] = (uint8_t)cluster.x;
    request->cluster[1] = (uint8_t)cluster.y;
    request->cluster[2] = (uint8_t)cluster.z;
    return true;
}

/* Those that are not known are hints. */
static cudaError_t set_launch_attribute(struct request *request, int id, const union cudaLaunchAttributeValue *value) {
    if (id == LAUNCH_ATTRIBUTE_COOPERATIVE) request->is_cooperative = value->cooperative;
    if (id == LAUNCH_ATTRIBUTE_CLUSTER && !set_cluster(request, value->cluster)) return cudaErrorInvalidClusterSize;
    if (id == LAUNCH_ATTRIBUTE_PRIORITY) request->priority = value->priority;
    if (id == LAUNCH_ATTRIBUTE_WINDOW) request->window = *value;
    return cudaSuccess;
}

static cudaError_t configure(struct request *request, const cudaLaunchConfig_t *config, const void *function,
                             void **arguments) {
    cudaError_t error = cudaSuccess;
    *request = (struct request){.function = function,
                                .grid = config->gridDim,
                                .block = config->blockDim,
                                .arguments = arguments,
                                .shared_nbytes = config->dynamicSmemBytes,
                                .stream = config->stream};
    for (unsigned i = 0; i < config->numAttrs && !error; i++)
        error = set_launch_attribute(request, config->attrs[i].id, &config->attrs[i].val);
    return error;
}

static cudaError_t launch_configured(const cudaLaunchConfig_t *config, const void *function, void **arguments) {
    struct request request;
    cudaError_t error = configure(&request, config, function, arguments);
    return error ? error : launch(&request);
}

cudaError_t launch_set_attribute(struct operation *operation, int id, const union cudaLaunchAttributeValue *value) {
    struct kept_launch *kept = (struct kept_launch *)operation;
    struct request request = kept->request;
    const bool is_known = id == LAUNCH_ATTRIBUTE_COOPERATIVE || id == LAUNCH_ATTRIBUTE_CLUSTER ||
                          id == LAUNCH_ATTRIBUTE_PRIORITY || id == LAUNCH_ATTRIBUTE_WINDOW;
    if (!is_known) return runtime_lacks("cudaGraphKernelNodeSetAttribute of this attribute");
    cudaError_t error = set_launch_attribute(&request, id, value);
    request.arguments = kept->request.arguments = point_to_arguments(kept);
    if (!error) error = check_request(&request, kept->kernel);
    if (!error) kept->request = request;
    return error;
}

cudaError_t launch_get_attribute(const struct operation *operation, int id, union cudaLaunchAttributeValue *value) {
    const struct request *request = &((const struct kept_launch *)operation)->request;
    const dim3 cluster = {request->cluster[0], request->cluster[1], request->cluster[2]};
    *value = (union cudaLaunchAttributeValue){{0}};
    switch (id) {
    case LAUNCH_ATTRIBUTE_COOPERATIVE: value->cooperative = request->is_cooperative; return cudaSuccess;
    case LAUNCH_ATTRIBUTE_CLUSTER: value->cluster = cluster; return cudaSuccess;
    case LAUNCH_ATTRIBUTE_PRIORITY: value->priority = request->priority; return cudaSuccess;
    case LAUNCH_ATTRIBUTE_WINDOW: *value = request->window; return cudaSuccess;
    default: return runtime_lacks("cudaGraphKernelNodeGetAttribute of this attribute");
    }
}

cudaError_t launch_copy_attributes(struct operation *to, const struct operation *from) {
    static const int ids[] = {LAUNCH_ATTRIBUTE_COOPERATIVE, LAUNCH_ATTRIBUTE_CLUSTER, LAUNCH_ATTRIBUTE_PRIORITY,
                              LAUNCH_ATTRIBUTE_WINDOW};
    struct request *request = &((struct kept_launch *)to)->request;
    const struct request kept = *request;
    cudaError_t error = cudaSuccess;
    for (size_t i = 0; i < sizeof ids / sizeof *ids && !error; i++) {
        union cudaLaunchAttributeValue value;
        launch_get_attribute(from, ids[i], &value);
        const bool is_open = ids[i] == LAUNCH_ATTRIBUTE_CLUSTER && !value.cluster.x; /* as the kernel says */
        if (is_open) memset(request->cluster, 0, sizeof request->cluster);
        else error = launch_set_attribute(to, ids[i], &value);
    }
    if (error) *request = kept;
    return error;
}

API cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *function, void **arguments) {
    return CALL_LAUNCH(config ? launch_configured(config, function, arguments) : cudaErrorInvalidValue);
}
ALSO(cudaLaunchKernelExC, _ptsz)

/* ---- <<< >>>: what stands between the brackets is kept until the call ------------------------------ */

struct configuration {
    dim3 grid, block;
    size_t shared_nbytes;
    cudaStream_t stream;
};

enum { CONFIGURATIONS = 32 }; /* arguments of a call may launch, too */
static _Thread_local struct configuration configurations[CONFIGURATIONS];
static _Thread_local unsigned configuration_count;

/* Not 0: the call is left out. */
__attribute__((visibility("default"))) unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared_nbytes,
                                                                            cudaStream_t stream) {
    if (configuration_count == CONFIGURATIONS) return 1;
    configurations[configuration_count++] = (struct configuration){grid, block, shared_nbytes, stream};
    return 0;
}

API __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared_nbytes, void *stream) {
    if (!configuration_count) return cudaErrorMissingConfiguration;
    const struct configuration *top = &configurations[--configuration_count];
    *grid = top->grid;
    *block = top->block;
    *shared_nbytes = top->shared_nbytes;
    memcpy(stream, &top->stream, sizeof top->stream);
    return cudaSuccess;
}

/* ---- attributes ---------------------------------------------------------------------------------- */

static cudaError_t get_attributes(struct cudaFuncAttributes *attributes, const void *function) {
    cudaError_t error;
    const struct CUkern_st *kernel = kernel_find(function, &error);
    if (error) return error;
    *attributes = (struct cudaFuncAttributes){
        .sharedSizeBytes = simt_module_shared_nbytes(kernel->parsed, kernel->index),
        .maxThreadsPerBlock = (int)simt_module_block_threads(kernel->parsed, kernel->index),
        .numRegs = REGISTERS_ASSUMED,
        .ptxVersion = kernel->ptx_version,
        .binaryVersion = runtime.gpu->major * 10 + runtime.gpu->minor,
        .maxDynamicSharedSizeBytes = kernel->dynamic_shared_max[runtime_thread.device],
        .preferredShmemCarveout = kernel->shared_percent ? kernel->shared_percent - 1 : -1,
    };
    return cudaSuccess;
}

API cudaFuncGetAttributes(struct cudaFuncAttributes *attributes, const void *function) {
    return CALL_WITH(attributes, get_attributes(attributes, function));
}

static cudaError_t get_parameter(const void *function, size_t parameter, size_t *offset, size_t *nbytes) {
    cudaError_t error;
    const struct CUkern_st *kernel = kernel_find(function, &error);
    if (error) return error;
    if (!offset || parameter >= simt_module_parameter_count(kernel->parsed, kernel->index)) return cudaErrorInvalidValue;
    *offset = simt_module_parameter_offset(kernel->parsed, kernel->index, parameter);
    if (nbytes) *nbytes = simt_module_parameter_nbytes(kernel->parsed, kernel->index, parameter);
    return cudaSuccess;
}

API cudaFuncGetParamInfo(const void *function, size_t parameter, size_t *offset, size_t *nbytes) {
    return CALL(get_parameter(function, parameter, offset, nbytes));
}

/* 10 to 13, of clusters whose size a launch must name, are hints. */
enum { FUNCTION_DYNAMIC_SHARED = 8, FUNCTION_CARVEOUT, FUNCTION_LARGE_CLUSTERS = 14, FUNCTION_CLUSTER_POLICY };

static cudaError_t set_attribute(const void *function, int attribute, int value) {
    cudaError_t error;
    struct CUkern_st *kernel = kernel_find(function, &error);
    if (error) return error;
    if (attribute < FUNCTION_DYNAMIC_SHARED || attribute > FUNCTION_CLUSTER_POLICY) return cudaErrorInvalidValue;
    if (attribute == FUNCTION_LARGE_CLUSTERS) kernel->allows_large_clusters = value;
    if (attribute == FUNCTION_CARVEOUT) {
        if (value < -1 || value > 100) return cudaErrorInvalidValue;
        kernel->shared_percent = value + 1;
    }
    if (attribute != FUNCTION_DYNAMIC_SHARED) return cudaSuccess;
    if (value < 0 || value > runtime.gpu->block_shared_nbytes) return cudaErrorInvalidValue;
    kernel->dynamic_shared_max[runtime_thread.device] = value;
    return cudaSuccess;
}

API cudaFuncSetAttribute(const void *function, int attribute, int value) {
    return CALL(set_attribute(function, attribute, value));
}

static cudaError_t check_function(const void *function) {
    cudaError_t error;
    kernel_find(function, &error);
    return error;
}

API cudaFuncSetCacheConfig(const void *function, int config) {
    (void)config;
    return CALL(check_function(function));
}

API cudaFuncSetSharedMemConfig(const void *function, int config) {
    (void)config;
    return CALL(check_function(function));
}

/* ---- occupancy ----------------------------------------------------------------------------------- */

static cudaError_t get_blocks(int *blocks, const void *function, int block_threads, size_t dynamic_nbytes) {
    cudaError_t error;
    const struct CUkern_st *kernel = kernel_find(function, &error);
    if (error) return error;
    if (block_threads < 1) return cudaErrorInvalidValue;
    *blocks = resident_blocks(kernel, block_threads, dynamic_nbytes);
    return cudaSuccess;
}

API cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *function, int block_threads,
                                                  size_t dynamic_nbytes) {
    return CALL_WITH(blocks, get_blocks(blocks, function, block_threads, dynamic_nbytes));
}

API cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, const void *function, int block_threads,
                                                           size_t dynamic_nbytes, unsigned flags) {
    (void)flags;
    return CALL_WITH(blocks, get_blocks(blocks, function, block_threads, dynamic_nbytes));
}

/* Clusters that the device holds at once, if their blocks may be on any of its multiprocessors. */
static cudaError_t get_clusters(int *clusters, const void *function, const cudaLaunchConfig_t *config) {
    struct request request;
    cudaError_t error;
    const struct CUkern_st *kernel = kernel_find(function, &error);
    if (error) return error;
    if (!clusters || !config) return cudaErrorInvalidValue;
    error = configure(&request, config, function, NULL);
    if (error) return error;
    const uint64_t threads = (uint64_t)request.block.x * request.block.y * request.block.z;
    if (!is_extent(request.block, BLOCK_THREADS, BLOCK_THREADS, BLOCK_Z) || threads > BLOCK_THREADS)
        return cudaErrorInvalidConfiguration;
    const int size = request.cluster[0] ? request.cluster[0] * request.cluster[1] * request.cluster[2] : 1;
    *clusters = resident_blocks(kernel, (int)threads, request.shared_nbytes) * runtime.gpu->multiprocessors / size;
    return cudaSuccess;
}

API cudaOccupancyMaxActiveClusters(int *clusters, const void *function, const cudaLaunchConfig_t *config) {
    return CALL(get_clusters(clusters, function, config));
}

/* Of blocks of that size: as many as every GPU with clusters takes, or more if the kernel allows them. */
static cudaError_t get_cluster_size(int *size, const void *function, const cudaLaunchConfig_t *config) {
    enum { LARGEST = 16 };
    int blocks;
    cudaLaunchConfig_t single;
    cudaError_t error;
    const struct CUkern_st *kernel = kernel_find(function, &error);
    if (error) return error;
    if (!size || !config) return cudaErrorInvalidValue;
    single = *config;
    single.numAttrs = 0;
    error = get_clusters(&blocks, function, &single);
    if (error) return error;
    const int most = runtime.gpu->major < 9 ? 1 : kernel->allows_large_clusters ? LARGEST : PORTABLE_CLUSTER;
    *size = blocks < most ? blocks : most;
    return cudaSuccess;
}

API cudaOccupancyMaxPotentialClusterSize(int *size, const void *function, const cudaLaunchConfig_t *config) {
    return CALL(get_cluster_size(size, function, config));
}

static cudaError_t get_shared(size_t *nbytes, const void *function, int blocks) {
    cudaError_t error;
    const struct CUkern_st *kernel = kernel_find(function, &error);
    if (error) return error;
    if (blocks < 1) return cudaErrorInvalidValue;
    size_t fixed = simt_module_shared_nbytes(kernel->parsed, kernel->index);
    size_t share = (size_t)runtime.gpu->shared_nbytes / (size_t)blocks;
    *nbytes = share > fixed ? share - fixed : 0;
    if (*nbytes > (size_t)runtime.gpu->block_shared_nbytes) *nbytes = (size_t)runtime.gpu->block_shared_nbytes;
    return cudaSuccess;
}

API cudaOccupancyAvailableDynamicSMemPerBlock(size_t *nbytes, const void *function, int blocks, int block_threads) {
    (void)block_threads;
    return CALL_WITH(nbytes, get_shared(nbytes, function, blocks));
}
