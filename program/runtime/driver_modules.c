/* The driver's modules, libraries, functions and launches. */
#include "driver.h"
#include "graphs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- what a module is loaded from ---------------------------------------------------------------- */

/* CUjit_option, as far as it is heeded. */
enum { JIT_INFO_LOG = 3, JIT_ERROR_LOG = 5, JIT_ERROR_LOG_NBYTES = 6 };

struct options {
    unsigned count;
    const int *names;
    void *const *values;
};

/* The compiler's words, where the program wants them: in a text of its own. */
static void put_log(const struct options *options, const char *text) {
    char *log = NULL;
    size_t capacity = 0;
    for (unsigned i = 0; i < options->count; i++) {
        void *value = options->values[i];
        if (options->names[i] == JIT_INFO_LOG && value) *(char *)value = '\0';
        if (options->names[i] == JIT_ERROR_LOG) log = value;
        if (options->names[i] == JIT_ERROR_LOG_NBYTES) capacity = (size_t)(uintptr_t)value;
    }
    if (log && capacity) snprintf(log, capacity, "%s", text);
}

static cudaError_t load(CUmodule *module, const void *image, const struct options *options) {
    static simt_message message; /* the lock is held */
    cudaError_t error;
    if (!module || !image) return cudaErrorInvalidValue;
    message.text[0] = '\0';
    *module = module_load(image, &message, &error);
    put_log(options, message.text);
    return error;
}

static const struct options no_options;

DRIVER cuModuleLoadData(CUmodule *module, const void *image) { return DRIVE(CALL(load(module, image, &no_options))); }

DRIVER cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned count, int *names, void **values) {
    return DRIVE(CALL(load(module, image, &(struct options){count, names, values})));
}

DRIVER cuModuleLoadFatBinary(CUmodule *module, const void *image) {
    return DRIVE(CALL(load(module, image, &no_options)));
}

/* A file's bytes, ended by a zero; NULL: *error says why not. */
static char *read_file(const char *path, size_t *nbytes, cudaError_t *error) {
    FILE *stream = fopen(path, "rb");
    long length = stream && !fseek(stream, 0, SEEK_END) ? ftell(stream) : -1;
    char *bytes = length >= 0 ? calloc(1, (size_t)length + 1) : NULL;
    *error = length < 0 ? cudaErrorFileNotFound : bytes ? cudaSuccess : cudaErrorMemoryAllocation;
    if (bytes) {
        rewind(stream);
        *nbytes = fread(bytes, 1, (size_t)length, stream);
    }
    if (stream) fclose(stream);
    return bytes;
}

static cudaError_t load_file(CUmodule *module, const char *path, const struct options *options) {
    cudaError_t error;
    size_t nbytes;
    char *image = read_file(path, &nbytes, &error);
    if (image) error = load(module, image, options);
    free(image);
    return error;
}

DRIVER cuModuleLoad(CUmodule *module, const char *path) { return DRIVE(CALL(load_file(module, path, &no_options))); }

DRIVER cuLibraryLoadData(CUmodule *library, const void *image, int *names, void **values, unsigned count,
                         int *library_names, void **library_values, unsigned library_count) {
    (void)library_names, (void)library_values, (void)library_count;
    return DRIVE_BARE(CALL(load(library, image, &(struct options){count, names, values})));
}

DRIVER cuLibraryLoadFromFile(CUmodule *library, const char *path, int *names, void **values, unsigned count,
                             int *library_names, void **library_values, unsigned library_count) {
    (void)library_names, (void)library_values, (void)library_count;
    return DRIVE_BARE(CALL(load_file(library, path, &(struct options){count, names, values})));
}

/* Modules stay: the simulator knows them by their addresses. */
DRIVER cuModuleUnload(CUmodule module) { return DRIVE(module ? cudaSuccess : cudaErrorInvalidResourceHandle); }
DRIVER cuLibraryUnload(CUmodule module) { return DRIVE_BARE(module ? cudaSuccess : cudaErrorInvalidResourceHandle); }

DRIVER cuModuleGetLoadingMode(int *mode) {
    enum { EAGER = 1 };
    *mode = EAGER;
    return DRIVE_BARE(cudaSuccess);
}

/* ---- linking ------------------------------------------------------------------------------------- */

/* One text of PTX is linked by itself; it stands for the machine code that there is none of. */
struct CUlinkState_st {
    char *ptx;
};

typedef struct CUlinkState_st *CUlinkState;

enum { INPUT_PTX = 1 };

static cudaError_t create_link(CUlinkState *state, const struct options *options) {
    put_log(options, "");
    *state = calloc(1, sizeof **state);
    return *state ? cudaSuccess : cudaErrorMemoryAllocation;
}

static cudaError_t add_to_link(CUlinkState state, int type, const void *bytes, size_t nbytes) {
    if (type != INPUT_PTX || state->ptx) {
        runtime_say("cuLinkAddData: linking of more than one text of PTX is not supported by the simulator");
        return cudaErrorNotSupported;
    }
    state->ptx = calloc(1, nbytes + 1);
    if (!state->ptx) return cudaErrorMemoryAllocation;
    memcpy(state->ptx, bytes, nbytes);
    return cudaSuccess;
}

static cudaError_t add_file_to_link(CUlinkState state, int type, const char *path) {
    cudaError_t error;
    size_t nbytes = 0;
    char *bytes = read_file(path, &nbytes, &error);
    if (bytes) error = add_to_link(state, type, bytes, nbytes);
    free(bytes);
    return error;
}

static cudaError_t complete_link(CUlinkState state, void **image, size_t *nbytes) {
    if (!state->ptx) return cudaErrorInvalidValue;
    *image = state->ptx;
    if (nbytes) *nbytes = strlen(state->ptx) + 1;
    return cudaSuccess;
}

static cudaError_t destroy_link(CUlinkState state) {
    free(state->ptx);
    free(state);
    return cudaSuccess;
}

DRIVER cuLinkCreate_v2(unsigned count, int *names, void **values, CUlinkState *state) {
    return DRIVE(create_link(state, &(struct options){count, names, values}));
}
ALSO_UNVERSIONED(cuLinkCreate)

DRIVER cuLinkAddData_v2(CUlinkState state, int type, void *bytes, size_t nbytes, const char *name, unsigned count,
                        int *names, void **values) {
    (void)name, (void)count, (void)names, (void)values;
    return DRIVE(add_to_link(state, type, bytes, nbytes));
}
ALSO_UNVERSIONED(cuLinkAddData)

DRIVER cuLinkAddFile_v2(CUlinkState state, int type, const char *path, unsigned count, int *names, void **values) {
    (void)count, (void)names, (void)values;
    return DRIVE(add_file_to_link(state, type, path));
}
ALSO_UNVERSIONED(cuLinkAddFile)

DRIVER cuLinkComplete(CUlinkState state, void **image, size_t *nbytes) {
    return DRIVE(complete_link(state, image, nbytes));
}

DRIVER cuLinkDestroy(CUlinkState state) { return DRIVE(destroy_link(state)); }

/* ---- functions and variables of a module --------------------------------------------------------- */

static cudaError_t get_function(CUfunction *function, CUmodule module, const char *name) {
    cudaError_t error;
    if (!function || !module || !name) return cudaErrorInvalidValue;
    *function = module_kernel(module, name, &error);
    return error;
}

DRIVER cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name) {
    return DRIVE(CALL(get_function(function, module, name)));
}

DRIVER cuLibraryGetKernel(CUfunction *kernel, CUmodule library, const char *name) {
    return DRIVE_BARE(CALL(get_function(kernel, library, name)));
}

static cudaError_t give(CUfunction *result, CUfunction function) {
    *result = function;
    return function ? cudaSuccess : cudaErrorInvalidResourceHandle;
}

DRIVER cuKernelGetFunction(CUfunction *function, CUfunction kernel) { return DRIVE(give(function, kernel)); }

static cudaError_t give_module(CUmodule *result, CUmodule module) {
    *result = module;
    return module ? cudaSuccess : cudaErrorInvalidResourceHandle;
}

DRIVER cuLibraryGetModule(CUmodule *module, CUmodule library) { return DRIVE(give_module(module, library)); }
DRIVER cuFuncGetModule(CUmodule *module, CUfunction function) { return DRIVE(give_module(module, function->module)); }

DRIVER cuKernelGetLibrary(CUmodule *library, CUfunction kernel) {
    return DRIVE_BARE(give_module(library, kernel->module));
}

static cudaError_t count_kernels(unsigned *count, CUmodule module) {
    *count = (unsigned)simt_module_kernel_count(module_parsed(module));
    return cudaSuccess;
}

DRIVER cuModuleGetFunctionCount(unsigned *count, CUmodule module) { return DRIVE(count_kernels(count, module)); }
DRIVER cuLibraryGetKernelCount(unsigned *count, CUmodule library) { return DRIVE_BARE(count_kernels(count, library)); }

static cudaError_t enumerate(CUfunction *functions, unsigned capacity, CUmodule module) {
    const simt_module *parsed = module_parsed(module);
    cudaError_t error = cudaSuccess;
    for (unsigned i = 0; i < capacity && i < simt_module_kernel_count(parsed) && !error; i++)
        error = get_function(&functions[i], module, simt_module_kernel_name(parsed, i));
    return error;
}

DRIVER cuModuleEnumerateFunctions(CUfunction *functions, unsigned capacity, CUmodule module) {
    return DRIVE(CALL(enumerate(functions, capacity, module)));
}

DRIVER cuLibraryEnumerateKernels(CUfunction *kernels, unsigned capacity, CUmodule library) {
    return DRIVE_BARE(CALL(enumerate(kernels, capacity, library)));
}

static cudaError_t get_variable(CUdeviceptr *address, size_t *nbytes, CUmodule module, const char *name) {
    uint64_t place;
    size_t length;
    if (!module || !name) return cudaErrorInvalidValue;
    cudaError_t error = module_variable(module, name, BUFFER_VARIABLE, &place, &length);
    if (!error && address) *address = place;
    if (!error && nbytes) *nbytes = length;
    return error;
}

DRIVER cuModuleGetGlobal_v2(CUdeviceptr *address, size_t *nbytes, CUmodule module, const char *name) {
    return DRIVE(CALL(get_variable(address, nbytes, module, name)));
}
ALSO_UNVERSIONED(cuModuleGetGlobal)

DRIVER cuLibraryGetGlobal(CUdeviceptr *address, size_t *nbytes, CUmodule library, const char *name) {
    return DRIVE(CALL(get_variable(address, nbytes, library, name)));
}

static cudaError_t get_name(const char **name, CUfunction function) {
    *name = function ? function->name : NULL;
    return function ? cudaSuccess : cudaErrorInvalidValue;
}

DRIVER cuFuncGetName(const char **name, CUfunction function) { return DRIVE(get_name(name, function)); }
DRIVER cuKernelGetName(const char **name, CUfunction kernel) { return DRIVE_BARE(get_name(name, kernel)); }

DRIVER cuFuncGetParamInfo(CUfunction function, size_t parameter, size_t *offset, size_t *nbytes) {
    return DRIVE(cudaFuncGetParamInfo(function, parameter, offset, nbytes));
}

DRIVER cuKernelGetParamInfo(CUfunction kernel, size_t parameter, size_t *offset, size_t *nbytes) {
    return DRIVE_BARE(cudaFuncGetParamInfo(kernel, parameter, offset, nbytes));
}

/* ---- attributes ---------------------------------------------------------------------------------- */

static cudaError_t get_attribute(int *value, int attribute, CUfunction function) {
    struct cudaFuncAttributes attributes;
    cudaError_t error = cudaFuncGetAttributes(&attributes, function);
    if (error) return error;
    const int values[] = {
        attributes.maxThreadsPerBlock, (int)attributes.sharedSizeBytes, (int)attributes.constSizeBytes,
        (int)attributes.localSizeBytes, attributes.numRegs, attributes.ptxVersion, attributes.binaryVersion,
        attributes.cacheModeCA, attributes.maxDynamicSharedSizeBytes, attributes.preferredShmemCarveout,
    };
    enum { ATTRIBUTES = 16 }; /* the rest are of clusters, and 0 */
    if (attribute < 0 || attribute >= ATTRIBUTES) return cudaErrorInvalidValue;
    *value = (size_t)attribute < sizeof values / sizeof *values ? values[attribute] : 0;
    return cudaSuccess;
}

DRIVER cuFuncGetAttribute(int *value, int attribute, CUfunction function) {
    return DRIVE(get_attribute(value, attribute, function));
}

DRIVER cuKernelGetAttribute(int *value, int attribute, CUfunction kernel, int device) {
    return DRIVE_BARE(device ? cudaErrorInvalidDevice : get_attribute(value, attribute, kernel));
}

DRIVER cuFuncSetAttribute(CUfunction function, int attribute, int value) {
    return DRIVE(cudaFuncSetAttribute(function, attribute, value));
}

DRIVER cuKernelSetAttribute(int attribute, int value, CUfunction kernel, int device) {
    return DRIVE_BARE(device ? cudaErrorInvalidDevice : cudaFuncSetAttribute(kernel, attribute, value));
}

DRIVER cuFuncSetCacheConfig(CUfunction function, int config) {
    (void)config;
    return DRIVE(function ? cudaSuccess : cudaErrorInvalidValue);
}

DRIVER cuKernelSetCacheConfig(CUfunction kernel, int config, int device) {
    (void)config;
    return DRIVE_BARE(device ? cudaErrorInvalidDevice : kernel ? cudaSuccess : cudaErrorInvalidValue);
}

DRIVER cuFuncSetSharedMemConfig(CUfunction function, int config) {
    (void)config;
    return DRIVE(function ? cudaSuccess : cudaErrorInvalidValue);
}

static cudaError_t tell_loaded(int *is_loaded, CUfunction function) {
    *is_loaded = 1;
    return function ? cudaSuccess : cudaErrorInvalidValue;
}

DRIVER cuFuncIsLoaded(int *is_loaded, CUfunction function) { return DRIVE(tell_loaded(is_loaded, function)); }
DRIVER cuFuncLoad(CUfunction function) { return DRIVE(function ? cudaSuccess : cudaErrorInvalidValue); }

/* ---- occupancy ----------------------------------------------------------------------------------- */

DRIVER cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, CUfunction function, int threads, size_t nbytes) {
    return DRIVE(cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, function, threads, nbytes));
}

DRIVER cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, CUfunction function, int threads,
                                                            size_t nbytes, unsigned flags) {
    (void)flags;
    return DRIVE(cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, function, threads, nbytes));
}

DRIVER cuOccupancyAvailableDynamicSMemPerBlock(size_t *nbytes, CUfunction function, int blocks, int threads) {
    return DRIVE(cudaOccupancyAvailableDynamicSMemPerBlock(nbytes, function, blocks, threads));
}

typedef size_t shared_by_threads(int threads);

/* The largest of the blocks that put most threads on a multiprocessor. */
static cudaError_t best_block(int *grid, int *block, CUfunction function, shared_by_threads *shared, size_t nbytes,
                              int limit) {
    enum { WARP = 32, BLOCK_THREADS = 1024 };
    int most = 0, blocks = 0;
    cudaError_t error = cudaSuccess;
    if (limit <= 0 || limit > BLOCK_THREADS) limit = BLOCK_THREADS;
    for (int threads = limit; threads > 0 && !error; threads = (threads - 1) / WARP * WARP) {
        error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, threads,
                                                              shared ? shared(threads) : nbytes);
        if (error || blocks * threads <= most) continue;
        most = blocks * threads;
        *block = threads;
        *grid = blocks * runtime.gpu->multiprocessors;
    }
    return error ? error : most ? cudaSuccess : cudaErrorInvalidValue;
}

DRIVER cuOccupancyMaxPotentialBlockSize(int *grid, int *block, CUfunction function, shared_by_threads *shared,
                                        size_t nbytes, int limit) {
    return DRIVE(best_block(grid, block, function, shared, nbytes, limit));
}

DRIVER cuOccupancyMaxPotentialBlockSizeWithFlags(int *grid, int *block, CUfunction function, shared_by_threads *shared,
                                                 size_t nbytes, int limit, unsigned flags) {
    (void)flags;
    return DRIVE(best_block(grid, block, function, shared, nbytes, limit));
}

/* ---- launches ------------------------------------------------------------------------------------ */

static cudaError_t launch_packed(const cudaLaunchConfig_t *config, CUfunction function, void *const *extra) {
    void **arguments;
    cudaError_t error = launch_unpack(function, extra, &arguments);
    if (error) return error;
    error = cudaLaunchKernelExC(config, function, arguments);
    free(arguments);
    return error;
}

static cudaError_t launch(const cudaLaunchConfig_t *config, CUfunction function, void **arguments, void **extra) {
    if (!function) return cudaErrorInvalidResourceHandle;
    return extra && !arguments ? launch_packed(config, function, extra)
                               : cudaLaunchKernelExC(config, function, arguments);
}

DRIVER cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                      unsigned block_y, unsigned block_z, unsigned shared_nbytes, cudaStream_t stream,
                      void **arguments, void **extra) {
    const cudaLaunchConfig_t config = {
        {grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared_nbytes, stream, NULL, 0};
    return DRIVE(launch(&config, function, arguments, extra));
}
ALSO(cuLaunchKernel, _ptsz)

DRIVER cuLaunchCooperativeKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                 unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_nbytes,
                                 cudaStream_t stream, void **arguments) {
    struct cudaLaunchAttribute cooperative = {.id = LAUNCH_ATTRIBUTE_COOPERATIVE, .val.cooperative = 1};
    const cudaLaunchConfig_t config = {
        {grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared_nbytes, stream, &cooperative, 1};
    return DRIVE(launch(&config, function, arguments, NULL));
}
ALSO(cuLaunchCooperativeKernel, _ptsz)

/* CUlaunchConfig. */
struct driver_config {
    dim3 grid, block;
    unsigned shared_nbytes;
    cudaStream_t stream;
    struct cudaLaunchAttribute *attributes;
    unsigned attribute_count;
};

static cudaLaunchConfig_t config_of(const struct driver_config *config) {
    return (cudaLaunchConfig_t){config->grid,   config->block,      config->shared_nbytes,
                                config->stream, config->attributes, config->attribute_count};
}

DRIVER cuLaunchKernelEx(const struct driver_config *config, CUfunction function, void **arguments, void **extra) {
    const cudaLaunchConfig_t as_runtime = config_of(config);
    return DRIVE(launch(&as_runtime, function, arguments, extra));
}
ALSO(cuLaunchKernelEx, _ptsz)

typedef cudaError_t cluster_question(int *answer, const void *function, const cudaLaunchConfig_t *config);

static cudaError_t ask_clusters(cluster_question *ask, int *answer, CUfunction function,
                                const struct driver_config *config) {
    if (!config) return cudaErrorInvalidValue;
    const cudaLaunchConfig_t as_runtime = config_of(config);
    return ask(answer, function, &as_runtime);
}

DRIVER cuOccupancyMaxActiveClusters(int *clusters, CUfunction function, const struct driver_config *config) {
    return DRIVE(ask_clusters(cudaOccupancyMaxActiveClusters, clusters, function, config));
}

DRIVER cuOccupancyMaxPotentialClusterSize(int *size, CUfunction function, const struct driver_config *config) {
    return DRIVE(ask_clusters(cudaOccupancyMaxPotentialClusterSize, size, function, config));
}

/* ---- libraries by the runtime's names ------------------------------------------------------------- */

/* Library and kernel are the driver's, and the options that matter have its numbers. */
API cudaLibraryLoadData(CUmodule *library, const void *image, int *names, void **values, unsigned count, int *library_names,
                        void **library_values, unsigned library_count) {
    (void)library_names, (void)library_values, (void)library_count;
    return CALL(load(library, image, &(struct options){count, names, values}));
}

API cudaLibraryLoadFromFile(CUmodule *library, const char *path, int *names, void **values, unsigned count, int *library_names,
                            void **library_values, unsigned library_count) {
    (void)library_names, (void)library_values, (void)library_count;
    return CALL_WITH(path, load_file(library, path, &(struct options){count, names, values}));
}

API cudaLibraryUnload(CUmodule library) { return CALL(library ? cudaSuccess : cudaErrorInvalidResourceHandle); }

static cudaError_t get_kernel(CUfunction *kernel, CUmodule library, const char *name) {
    cudaError_t error = get_function(kernel, library, name);
    return error == cudaErrorInvalidDeviceFunction ? cudaErrorSymbolNotFound : error;
}

API cudaLibraryGetKernel(CUfunction *kernel, CUmodule library, const char *name) { return CALL(get_kernel(kernel, library, name)); }

API cudaLibraryGetKernelCount(unsigned *count, CUmodule library) { return CALL_WITH(count && library, count_kernels(count, library)); }

API cudaLibraryEnumerateKernels(CUfunction *kernels, unsigned capacity, CUmodule library) {
    return CALL_WITH(kernels && library, enumerate(kernels, capacity, library));
}

static cudaError_t get_global(void **pointer, size_t *nbytes, CUmodule library, const char *name) {
    CUdeviceptr address;
    cudaError_t error = get_variable(&address, nbytes, library, name);
    if (!error && pointer) *pointer = pointer_to(address);
    return error;
}

API cudaLibraryGetGlobal(void **pointer, size_t *nbytes, CUmodule library, const char *name) {
    return CALL(get_global(pointer, nbytes, library, name));
}
