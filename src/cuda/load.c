/* Loading a kernel: from the cache, or compiled. */
#include "cuda/compile.h"
#include "cuda/gpu.h"
#include "common/cache.h"
#include "common/getenv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void add_list(struct wf_cache_key *key, const char *const *list) {
    for (; list && *list; list++) wf_cache_key_add(key, *list);
    wf_cache_key_add(key, "");
}

/* All that the image depends on, except for the compiler. */
static struct wf_cache_key make_key(const struct wf_cuda_source *source, int capability, bool wants_ptx) {
    struct wf_cache_key key;
    char target[64];
    snprintf(target, sizeof target, "%s %d driver %d", wants_ptx ? "compute" : "sm", capability,
             wf_driver_open(NULL, 0)->version);
    wf_cache_key_begin(&key, source->name);
    wf_cache_key_add(&key, target);
    wf_cache_key_add(&key, source->name);
    wf_cache_key_add(&key, source->text);
    add_list(&key, source->headers);
    add_list(&key, wf_cuda_common_options);
    add_list(&key, source->options);
    return key;
}

/* Ranks that begin together need the same kernels: one compiles, and the others read what it wrote. */
static wf_error compile_once(wf_handle *handle, const struct wf_cuda_compiler *compiler, const struct wf_cache_key *key,
                             const struct wf_cuda_source *source, int capability, bool wants_ptx,
                             struct wf_compiled *image) {
    wf_error error = WF_OK;
    int claim = wf_cache_claim(key);
    if (!wf_cache_read(key, compiler->version, image)) {
        error = wf_cuda_compile(handle, compiler, source, capability, wants_ptx, image);
        if (!error) wf_cache_write(key, compiler->version, image);
    }
    wf_cache_release(key, claim);
    return error;
}

static wf_error get_image(wf_handle *handle, const struct wf_gpu *gpu, const struct wf_cuda_source *source,
                          struct wf_compiled *image) {
    const char *wanted = wf_getenv("WARPFOLD_CUDA_IMAGE");
    bool wants_ptx = wanted && !strcmp(wanted, "ptx");
    int capability = gpu->major * 10 + gpu->minor;
    struct wf_cuda_compiler compiler;
    struct wf_cache_key key = make_key(source, capability, wants_ptx);
    wf_cuda_compiler_open(&compiler);
    if (wf_cache_read(&key, compiler.version, image)) return WF_OK;
    if (!compiler.version) return wf_cuda_compile(handle, &compiler, source, capability, wants_ptx, image); /* says why not */
    return compile_once(handle, &compiler, &key, source, capability, wants_ptx, image);
}

wf_error wf_gpu_load(wf_handle *handle, const struct wf_gpu *gpu, const char *name, const char *source,
                     const char *const *headers, const char *const *options, const char *entry,
                     wf_cuda_module *module, wf_cuda_function *function) {
    const struct wf_cuda_source whole = {name, source, headers, options};
    struct wf_compiled image;
    wf_error error = get_image(handle, gpu, &whole, &image);
    if (error) return error;
    error = WF_DRIVER_CALL(handle, ModuleLoadData, (module, image.bytes), "%s on cuda:%d", name, gpu->ordinal);
    free(image.bytes);
    if (error) return error;
    error = WF_DRIVER_CALL(handle, ModuleGetFunction, (function, *module, entry), "%s of %s", entry, name);
    if (error) wf_driver_open(NULL, 0)->ModuleUnload(*module);
    return error;
}
