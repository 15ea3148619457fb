/* CUDA C to what a GPU loads: by NVRTC, opened at run time. */
#ifndef WF_CUDA_COMPILE_H
#define WF_CUDA_COMPILE_H

#include "core/error.h"
#include "common/cache.h"
#include "common/nvrtc.h"

struct wf_cuda_source {
    const char *name; /* what messages call it */
    const char *text;
    const char *const *headers; /* pairs of a name and a text, NULL after the last */
    const char *const *options; /* the compiler's, NULL after the last */
};

struct wf_cuda_compiler {
    struct wf_nvrtc nvrtc;
    int version; /* 1300 for 13.0; 0: there is none */
};

/* The options that every kernel is compiled with, in addition to its own and the target. */
extern const char *const wf_cuda_common_options[];

void wf_cuda_compiler_open(struct wf_cuda_compiler *compiler);

/* capability: 90 for 9.0.  A cubin; or PTX, which the driver compiles, if it is wanted or the compiler does not
 * know the capability: then for the newest before it. */
wf_error wf_cuda_compile(wf_handle *handle, const struct wf_cuda_compiler *compiler,
                         const struct wf_cuda_source *source, int capability, bool wants_ptx,
                         struct wf_compiled *image);

#endif
