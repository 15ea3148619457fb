/* The sources of the kernels and of what they include, embedded: NVRTC compiles them where they run.  The table is
 * made by packaging/embed.cmake. */
#ifndef WF_CUDA_FILES_H
#define WF_CUDA_FILES_H

#include <stddef.h>

struct wf_cuda_file {
    const char *path; /* as it is included: "kernels/...", "arguments.h", "core/...", "warpfold.h" */
    const char *text; /* NUL-terminated */
    size_t nbytes;    /* without the NUL */
};

/* Sorted by path, as strcmp does. */
extern const struct wf_cuda_file wf_cuda_files[];
extern const size_t wf_cuda_file_count;

#endif
