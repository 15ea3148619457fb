#include "cuda/compile.h"
#include "core/environment.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Exact sums need every operation to round by itself. */
const char *const wf_cuda_common_options[] = {"--std=c++20",      "-fmad=false", "-default-device",
                                               "--device-int128", "-lineinfo",   NULL};

void wf_cuda_compiler_open(struct wf_cuda_compiler *compiler) {
    int major = 0, minor = 0;
    bool works = wf_nvrtc_open(&compiler->nvrtc) && !compiler->nvrtc.Version(&major, &minor);
    compiler->version = works ? major * 100 + minor : 0;
}

/* ---- the target ---------------------------------------------------------------------------------- */

struct target {
    bool is_ptx;
    char option[32]; /* "-arch=sm_90" */
};

/* The newest capability that the compiler knows and that is not beyond the GPU's; 0: none. */
static int find_capability(const struct wf_nvrtc *nvrtc, int capability) {
    int count = 0, best = 0;
    if (nvrtc->GetNumSupportedArchs(&count) || count <= 0) return 0;
    int *known = calloc((size_t)count, sizeof *known);
    if (known && !nvrtc->GetSupportedArchs(known))
        for (int i = 0; i < count; i++)
            if (known[i] <= capability && known[i] > best) best = known[i];
    free(known);
    return best;
}

static wf_error choose_target(wf_handle *handle, const struct wf_cuda_compiler *compiler, int capability,
                              bool wants_ptx, struct target *target) {
    int best = find_capability(&compiler->nvrtc, capability);
    if (!best)
        return wf_fail(handle, WF_ERROR_DEVICE,
                       "NVRTC %d.%d does not support compute capability %d.%d: set WARPFOLD_NVRTC to another one",
                       compiler->version / 100, compiler->version % 100, capability / 10, capability % 10);
    target->is_ptx = wants_ptx || best != capability;
    snprintf(target->option, sizeof target->option, "-arch=%s_%d", target->is_ptx ? "compute" : "sm", best);
    return WF_OK;
}

/* ---- lists --------------------------------------------------------------------------------------- */

static size_t list_length(const char *const *list) {
    size_t length = 0;
    while (list && list[length]) length++;
    return length;
}

/* The common options, the source's, the target; NULL: no memory. */
static const char **join_options(const struct wf_cuda_source *source, const struct target *target, int *count) {
    size_t common = list_length(wf_cuda_common_options), own = list_length(source->options);
    const char **options = calloc(common + own + 1, sizeof *options);
    if (!options) return NULL;
    for (size_t i = 0; i < common; i++) options[i] = wf_cuda_common_options[i];
    for (size_t i = 0; i < own; i++) options[common + i] = source->options[i];
    options[common + own] = target->option;
    *count = (int)(common + own + 1);
    return options;
}

/* The names first, then the texts; NULL: no memory. */
static const char **part_headers(const struct wf_cuda_source *source, int *count) {
    size_t pairs = list_length(source->headers) / 2;
    const char **parted = calloc(2 * pairs + 1, sizeof *parted);
    for (size_t i = 0; parted && i < pairs; i++) {
        parted[i] = source->headers[2 * i];
        parted[pairs + i] = source->headers[2 * i + 1];
    }
    *count = (int)pairs;
    return parted;
}

/* ---- compiling ----------------------------------------------------------------------------------- */

static wf_error no_memory(wf_handle *handle, const struct wf_cuda_source *source) {
    return wf_fail(handle, WF_ERROR_MEMORY, "out of memory for compiling %s", source->name);
}

/* With the first lines of what the compiler says. */
static wf_error refused(wf_handle *handle, const struct wf_nvrtc *nvrtc, wf_nvrtc_program program,
                        const struct wf_cuda_source *source, const char *call, int result) {
    enum { LOG_MAX = 700 };
    char *log = wf_nvrtc_log(nvrtc, program);
    size_t length = log ? strlen(log) : 0;
    if (length > LOG_MAX)
        for (length = LOG_MAX; length && log[length] != '\n';) length--;
    while (length && log[length - 1] == '\n') length--;
    wf_error error = wf_fail(handle, WF_ERROR_DEVICE, "%s of %s: NVRTC error %d%s%.*s", call, source->name,
                             result, length ? "\n" : " (empty log)", (int)length, log ? log : "");
    free(log);
    return error;
}

static wf_error get_image(wf_handle *handle, const struct wf_nvrtc *nvrtc, wf_nvrtc_program program,
                          const struct wf_cuda_source *source, bool is_ptx, struct wf_compiled *image) {
    size_t nbytes = 0;
    int result = is_ptx ? nvrtc->GetPTXSize(program, &nbytes) : nvrtc->GetCUBINSize(program, &nbytes);
    if (result || !nbytes)
        return refused(handle, nvrtc, program, source, "nvrtcGetCUBINSize or GetPTXSize", result);
    char *bytes = calloc(1, nbytes + 1);
    if (!bytes) return no_memory(handle, source);
    result = is_ptx ? nvrtc->GetPTX(program, bytes) : nvrtc->GetCUBIN(program, bytes);
    if (result) {
        free(bytes);
        return refused(handle, nvrtc, program, source, "nvrtcGetCUBIN or GetPTX", result);
    }
    *image = (struct wf_compiled){bytes, nbytes};
    return WF_OK;
}

static wf_error compile_program(wf_handle *handle, const struct wf_nvrtc *nvrtc, wf_nvrtc_program program,
                                const struct wf_cuda_source *source, const struct target *target,
                                struct wf_compiled *image) {
    int count = 0;
    const char **options = join_options(source, target, &count);
    if (!options) return no_memory(handle, source);
    int result = nvrtc->CompileProgram(program, count, options);
    free(options);
    if (result) return refused(handle, nvrtc, program, source, "nvrtcCompileProgram", result);
    return get_image(handle, nvrtc, program, source, target->is_ptx, image);
}

static wf_error compile(wf_handle *handle, const struct wf_nvrtc *nvrtc, const struct wf_cuda_source *source,
                        const struct target *target, struct wf_compiled *image) {
    wf_nvrtc_program program = NULL;
    int header_count = 0;
    const char **headers = part_headers(source, &header_count);
    if (!headers) return no_memory(handle, source);
    int result = nvrtc->CreateProgram(&program, source->text, source->name, header_count, headers + header_count,
                                      headers);
    free(headers);
    if (result)
        return wf_fail(handle, WF_ERROR_DEVICE, "nvrtcCreateProgram of %s: NVRTC error %d", source->name, result);
    wf_error error = compile_program(handle, nvrtc, program, source, target, image);
    nvrtc->DestroyProgram(&program);
    return error;
}

wf_error wf_cuda_compile(wf_handle *handle, const struct wf_cuda_compiler *compiler,
                         const struct wf_cuda_source *source, int capability, bool wants_ptx,
                         struct wf_compiled *image) {
    struct target target;
    if (!compiler->version)
        return wf_fail(handle, WF_ERROR_DEVICE,
                       "%s must be compiled, but NVRTC was not found: install libnvrtc of CUDA 12 or later, or set "
                       "WARPFOLD_NVRTC to its path", source->name);
    wf_error error = choose_target(handle, compiler, capability, wants_ptx, &target);
    if (error) return error;
    /* The compiler computes with floats, too, and must not do so in the caller's way. */
    wf_environment callers = wf_environment_enter();
    error = compile(handle, &compiler->nvrtc, source, &target, image);
    wf_environment_leave(callers);
    return error;
}
