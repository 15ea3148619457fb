#include "nvrtc.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "getenv.h"

/* Newest first; a bare name is searched for as the system does. */
static const char *const library_names[] = {"libnvrtc.so", "libnvrtc.so.13", "libnvrtc.so.12",
                                            "libnvrtc.so.11.2"};
enum { LIBRARY_NAME_COUNT = sizeof library_names / sizeof library_names[0] };

static void *open_library(const char *folder, const char *subfolder, const char *name) {
    char path[PATH_MAX];
    int length = snprintf(path, sizeof path, "%s%s%s", folder, subfolder, name);
    /* It stays loaded: it is large, and keeps threads and memory of its own. */
    return length < (int)sizeof path ? dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE) : NULL;
}

static void *find_library(void) {
    const char *chosen = wf_getenv("WARPFOLD_NVRTC");
    if (chosen) return open_library("", "", chosen);
    void *library = NULL;
    for (int i = 0; i < LIBRARY_NAME_COUNT && !library; i++) library = open_library("", "", library_names[i]);
    const char *roots[WF_CUDA_ROOTS_MAX + 1];
    wf_cuda_roots(roots);
    for (const char **root = roots; *root && !library; root++)
        for (int i = 0; i < LIBRARY_NAME_COUNT && !library; i++)
            library = open_library(*root, "/lib64/", library_names[i]);
    return library;
}

bool wf_nvrtc_open(struct wf_nvrtc *nvrtc) {
    void *library = find_library();
    if (!library) return false;
    bool is_whole = true;
#define X(name, parameters) is_whole &= (*(void **)&nvrtc->name = dlsym(library, "nvrtc" #name)) != NULL;
#include "nvrtc.fn"
#undef X
    dlclose(library);
    return is_whole;
}

void wf_cuda_roots(const char *roots[WF_CUDA_ROOTS_MAX + 1]) {
    const char *const known[WF_CUDA_ROOTS_MAX] = {wf_getenv("CUDA_HOME"), wf_getenv("CUDA_PATH"),
                                                  "/usr/local/cuda"};
    size_t count = 0;
    for (int i = 0; i < WF_CUDA_ROOTS_MAX; i++)
        if (known[i] && known[i][0]) roots[count++] = known[i];
    roots[count] = NULL;
}

char *wf_nvrtc_log(const struct wf_nvrtc *nvrtc, wf_nvrtc_program program) {
    size_t nbytes = 0;
    if (nvrtc->GetProgramLogSize(program, &nbytes) || nbytes <= 1) return NULL;
    char *log = calloc(1, nbytes + 1);
    if (log && !nvrtc->GetProgramLog(program, log)) return log;
    free(log);
    return NULL;
}
