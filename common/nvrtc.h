/* NVRTC, the CUDA compiler as a library: opened at run time, so that nothing needs it to be there.  */
#ifndef WF_NVRTC_H
#define WF_NVRTC_H

#include <stdbool.h>
#include <stddef.h>

#include "names.h"

typedef struct _nvrtcProgram *wf_nvrtc_program;

struct wf_nvrtc {
#define X(name, parameters) int (*name) parameters;
#include "nvrtc.fn"
#undef X
};

/* WARPFOLD_NVRTC names the file; otherwise it is looked for where the system looks, then in the roots.  false: there
 * is none, or one that lacks a function.  It stays loaded. */
bool wf_nvrtc_open(struct wf_nvrtc *nvrtc);

/* The folders in which CUDA may have been installed, NULL behind the last. */
enum { WF_CUDA_ROOTS_MAX = 3 };
void wf_cuda_roots(const char *roots[WF_CUDA_ROOTS_MAX + 1]);

/* The compiler's log of the program: NUL-terminated, to be freed by the caller; NULL: empty, or no memory. */
char *wf_nvrtc_log(const struct wf_nvrtc *nvrtc, wf_nvrtc_program program);

#endif
