/* Modules, functions, and launches on the simulator. */
#include "fake.h"

#include <stdio.h>
#include <string.h>

enum { SHARED_PLAIN = 48 << 10 };

static int shared_optin(void) { return (fake.major < 9 ? 64 : 227) << 10; }

/* ---- modules ------------------------------------------------------------------------------------- */

static wf_cuda_result load(struct CUmod_st *made, const char *ptx) {
    simt_message message;
    if (!memcmp(ptx, "\177ELF", 4)) return CUDA_NO_BINARY_FOR_GPU; /* WARPFOLD_CUDA_IMAGE=ptx was forgotten */
    made->waits = strstr(ptx, "griddepcontrol.wait") != NULL;
    simt_error error = simt_module_parse(ptx, strlen(ptx), "module", &made->module, &message);
    return error == SIMT_ERROR_MEMORY ? CUDA_OUT_OF_MEMORY : error ? CUDA_INVALID_PTX : CUDA_SUCCESS;
}

wf_cuda_result cuModuleLoadData(wf_cuda_module *module, const void *image) {
    wf_cuda_result result = fake_begin("ModuleLoadData", true);
    if (result) return result;
    struct CUmod_st *made = calloc(1, sizeof *made);
    if (!made) return fake_end(CUDA_OUT_OF_MEMORY);
    result = load(made, image);
    if (result) {
        free(made);
        return fake_end(result);
    }
    made->next = fake.modules;
    fake.modules = *module = made;
    return fake_end(CUDA_SUCCESS);
}

wf_cuda_result cuModuleUnload(wf_cuda_module module) {
    wf_cuda_result result = fake_begin("ModuleUnload", true);
    return result ? result : fake_end(module ? CUDA_SUCCESS : CUDA_INVALID_HANDLE);
}

static size_t find_kernel(const simt_module *module, const char *name) {
    size_t kernel = 0, count = simt_module_kernel_count(module);
    while (kernel < count && strcmp(simt_module_kernel_name(module, kernel), name)) kernel++;
    return kernel < count ? kernel : SIZE_MAX;
}

wf_cuda_result cuModuleGetFunction(wf_cuda_function *function, wf_cuda_module module, const char *name) {
    wf_cuda_result result = fake_begin("ModuleGetFunction", true);
    if (result) return result;
    size_t kernel = find_kernel(module->module, name);
    if (kernel == SIZE_MAX) return fake_end(CUDA_NOT_FOUND);
    struct CUfunc_st *made = calloc(1, sizeof *made);
    if (!made) return fake_end(CUDA_OUT_OF_MEMORY);
    *made = (struct CUfunc_st){module, kernel, SHARED_PLAIN, module->functions};
    module->functions = *function = made;
    return fake_end(CUDA_SUCCESS);
}

/* ---- functions ----------------------------------------------------------------------------------- */

wf_cuda_result cuFuncSetAttribute(wf_cuda_function function, int attribute, int value) {
    wf_cuda_result result = fake_begin("FuncSetAttribute", true);
    if (result) return result;
    if (attribute != WF_CUDA_FUNCTION_MAX_DYNAMIC_SHARED) return fake_end(CUDA_SUCCESS);
    if (value < 0 || value > shared_optin()) return fake_end(CUDA_INVALID_VALUE);
    function->dynamic_shared_max = value;
    return fake_end(CUDA_SUCCESS);
}

wf_cuda_result cuFuncGetAttribute(int *value, int attribute, wf_cuda_function function) {
    enum { MAX_THREADS_PER_BLOCK, SHARED_NBYTES };
    wf_cuda_result result = fake_begin("FuncGetAttribute", true);
    if (result) return result;
    *value = 0;
    if (attribute == MAX_THREADS_PER_BLOCK) *value = 1024;
    if (attribute == SHARED_NBYTES)
        *value = (int)simt_module_shared_nbytes(function->module->module, function->kernel);
    if (attribute == WF_CUDA_FUNCTION_MAX_DYNAMIC_SHARED) *value = function->dynamic_shared_max;
    if (attribute == WF_CUDA_FUNCTION_PTX_VERSION) *value = 10 * fake.major;
    return fake_end(CUDA_SUCCESS);
}

wf_cuda_result cuOccupancyMaxActiveBlocksPerMultiprocessor(int *count, wf_cuda_function function, int block,
                                                           size_t shared_nbytes) {
    wf_cuda_result result = fake_begin("OccupancyMaxActiveBlocksPerMultiprocessor", true);
    if (result) return result;
    if (block < 1 || block > 1024) return fake_end(CUDA_INVALID_VALUE);
    size_t shared = shared_nbytes + simt_module_shared_nbytes(function->module->module, function->kernel);
    int by_threads = 1024 / ((block + 31) / 32 * 32);
    int by_shared = shared ? (int)((size_t)shared_optin() / shared) : by_threads;
    *count = by_shared < by_threads ? by_shared : by_threads;
    return fake_end(CUDA_SUCCESS);
}

/* ---- launches ------------------------------------------------------------------------------------ */

/* What went wrong in words, for cuGetErrorString. */
static void keep_failure(const simt_report *report, const simt_message *message) {
    bool has_finding = report && simt_report_finding_count(report);
    const simt_finding *finding = has_finding ? simt_report_finding(report, 0) : NULL;
    if (finding)
        snprintf(fake.failure, sizeof fake.failure, "%s in %s at %s:%u: %.300s",
                 simt_finding_kind_name(finding->kind), finding->kernel, finding->file,
                 (unsigned)finding->line, finding->message);
    else
        snprintf(fake.failure, sizeof fake.failure, "%.400s", message->text);
}

/* A line for each launch: the instructions of its warps. */
static void count_instructions(const simt_report *report) {
    const char *path = getenv("FAKE_CUDA_COUNT");
    FILE *stream = path && report ? fopen(path, "a") : NULL;
    if (!stream) return;
    fprintf(stream, "%.0f\n", simt_report_counter_value(report, "instructions", 0));
    fclose(stream);
}

static wf_cuda_result run(const simt_launch *launch) {
    simt_report *report = NULL;
    simt_message message = {""};
    simt_error error = simt_machine_launch(fake.machine, launch, &report, &message);
    bool has_finding = report && simt_report_finding_count(report);
    wf_cuda_result result = error || has_finding ? CUDA_LAUNCH_FAILED : CUDA_SUCCESS;
    if (error == SIMT_ERROR_MEMORY) result = CUDA_OUT_OF_MEMORY;
    if (result == CUDA_LAUNCH_FAILED) keep_failure(report, &message);
    count_instructions(report);
    simt_report_destroy(report);
    return result;
}

wf_cuda_result cuLaunchKernel(wf_cuda_function function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                              unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_nbytes,
                              wf_cuda_stream stream, void **arguments, void **extra) {
    wf_cuda_result result = fake_begin("LaunchKernel", true);
    if (result) return result;
    if (extra) return fake_end(CUDA_NOT_SUPPORTED);
    if (stream && stream->ordinal != fake_ordinal()) return fake_end(CUDA_INVALID_HANDLE);
    bool has_extent = grid_x && grid_y && grid_z && block_x && block_y && block_z;
    if (!has_extent || (uint64_t)block_x * block_y * block_z > 1024 || shared_nbytes > INT32_MAX ||
        (int)shared_nbytes > function->dynamic_shared_max)
        return fake_end(CUDA_INVALID_VALUE);
    const simt_launch launch = {
        .module = function->module->module,
        .kernel = function->kernel,
        .grid = {grid_x, grid_y, grid_z},
        .block = {block_x, block_y, block_z},
        .shared_nbytes = shared_nbytes,
        .arguments = (const void *const *)arguments,
        .instruction_limit = UINT64_MAX, /* a chip has none */
        .observers = fake.observes ? simt_observers : getenv("FAKE_CUDA_COUNT") ? simt_counters : NULL,
    };
    return fake_end(run(&launch));
}

/* Of kernels that wait by themselves for those before them; one that does not would read what is not there yet. */
wf_cuda_result cuLaunchKernelEx(const struct wf_cuda_config *config, wf_cuda_function function, void **arguments, void **extra) {
    const unsigned *grid = config->grid, *block = config->block;
    bool is_known = config->attribute_count == 1 && config->attributes->id == WF_CUDA_LAUNCH_PROGRAMMATIC;
    if (!is_known || config->attributes->of.value != 1 || !function->module->waits) return CUDA_INVALID_VALUE;
    return cuLaunchKernel(function, grid[0], grid[1], grid[2], block[0], block[1], block[2], config->shared_nbytes, config->stream,
                          arguments, extra);
}
