#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* dl_iterate_phdr */
#endif
#include "cuda/driver.h"
#include "common/getenv.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WHY_NBYTES = 512 };

static const char default_library[] = "libcuda.so.1";

/* State of the process: set once, read-only from then on. */
static struct {
    pthread_once_t once;
    bool works, out_of_memory;
    struct wf_driver driver;
    char why[WHY_NBYTES]; /* if it does not work */
} process = {.once = PTHREAD_ONCE_INIT};

/* ---- remedies for errors ------------------------------------------------------------------------ */

#define BROKEN_CONTEXT                                                                                         \
    "an earlier kernel of this process, not necessarily warpfold's, faulted; no kernel can run in the GPU's "       \
    "context until the process is restarted (compute-sanitizer finds the kernel)"
#define WRONG_IMAGE                                                                                            \
    "the driver cannot load the compiled kernel: update it, or set WARPFOLD_NVRTC to the NVRTC of its release"
#define CAPTURING "the stream is being captured: call once before the capture with the same op, type and options"

static const struct {
    wf_cuda_result result;
    const char *remedy;
} remedies[] = {
    {2, "free GPU memory (nvidia-smi shows what uses it), or use the device cpu"},
    {46, "the GPU is busy or in exclusive mode: see nvidia-smi"},
    {100, "no GPU is visible: see nvidia-smi and CUDA_VISIBLE_DEVICES, or use the device cpu"},
    {101, "see nvidia-smi and CUDA_VISIBLE_DEVICES"},
    {200, WRONG_IMAGE},
    {201, "the context was destroyed, perhaps by a device reset: create the handle again"},
    {209, WRONG_IMAGE},
    {218, WRONG_IMAGE},
    {222, WRONG_IMAGE},
    {400, "a stream or event was destroyed or belongs to another GPU"},
    {214, BROKEN_CONTEXT},
    {700, BROKEN_CONTEXT},
    {702, BROKEN_CONTEXT},
    {709, BROKEN_CONTEXT},
    {710, BROKEN_CONTEXT},
    {714, BROKEN_CONTEXT},
    {715, BROKEN_CONTEXT},
    {716, BROKEN_CONTEXT},
    {717, BROKEN_CONTEXT},
    {718, BROKEN_CONTEXT},
    {719, BROKEN_CONTEXT},
    {721, BROKEN_CONTEXT},
    {802, "the machine's GPU services are not up yet: see nvidia-smi and the fabric manager"},
    {803, "the versions of the driver's kernel module and library differ: reboot"},
    {804, "the driver is too old for the loaded CUDA libraries: update it"},
    {900, CAPTURING},
    {901, CAPTURING},
    {906, CAPTURING},
    {999, "see nvidia-smi and the system log; a reboot may be needed"},
};

static const char *remedy_of(wf_cuda_result result) {
    for (size_t i = 0; i < sizeof remedies / sizeof remedies[0]; i++)
        if (remedies[i].result == result) return remedies[i].remedy;
    return NULL;
}

/* "CUDA_ERROR_NO_DEVICE, no CUDA-capable device is detected: remedy". */
static void describe(const struct wf_driver *driver, wf_cuda_result result, char *text, size_t capacity) {
    const char *name = NULL, *words = NULL, *remedy = remedy_of(result);
    if (driver->GetErrorName(result, &name)) name = NULL;
    if (driver->GetErrorString(result, &words)) words = NULL;
    snprintf(text, capacity, "%s, %s%s%s", name ? name : "unknown error",
             words ? words : "without a description", remedy ? ": " : "", remedy ? remedy : "");
}

/* ---- opening ------------------------------------------------------------------------------------- */

static void *open_library(const char *chosen) {
    /* Never unloaded: contexts, and other users of the driver, depend on it. */
    errno = 0;
    void *library = dlopen(chosen ? chosen : default_library, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (library) return library;
    const char *reason = dlerror();
    process.out_of_memory = errno == ENOMEM || !reason || strstr(reason, "out of memory");
    if (chosen)
        snprintf(process.why, sizeof process.why, "WARPFOLD_LIBCUDA: %s", reason ? reason : chosen);
    else
        snprintf(process.why, sizeof process.why,
                 "no NVIDIA driver is installed (%s): install it, or use the device cpu",
                 reason ? reason : default_library);
    return NULL;
}

static bool find_symbols(void *library, struct wf_driver *driver) {
    const char *missing = NULL;
#define X(name, symbol, parameters)                                                                            \
    *(void **)&driver->name = dlsym(library, #symbol);                                                         \
    if (!driver->name && !missing) missing = #symbol;
#include "cuda/driver.fn"
#undef X
    if (missing)
        snprintf(process.why, sizeof process.why,
                 "the NVIDIA driver is too old (no %s): install one for CUDA 11 or later", missing);
    *(void **)&driver->LaunchKernelEx = dlsym(library, "cuLaunchKernelEx");
    return !missing;
}

static bool initialise(struct wf_driver *driver) {
    wf_cuda_result result = driver->Init(0);
    const char *call = "cuInit";
    if (!result) {
        call = "cuDriverGetVersion";
        result = driver->DriverGetVersion(&driver->version);
    }
    if (!result) return true;
    int length = snprintf(process.why, sizeof process.why, "%s: ", call);
    describe(driver, result, process.why + length, sizeof process.why - (size_t)length);
    return false;
}

/* How many libraries had ever been loaded when none of them was libcuda: until there are more, none is. */
static atomic_ullong loads_without;
static atomic_bool is_loaded;

static void open_once(void) {
    void *library = open_library(wf_getenv("WARPFOLD_LIBCUDA"));
    process.works = library && find_symbols(library, &process.driver) && initialise(&process.driver);
    if (library) dlclose(library);
    if (process.works) atomic_store_explicit(&is_loaded, true, memory_order_relaxed);
}

const struct wf_driver *wf_driver_open(char *why, size_t capacity) {
    pthread_once(&process.once, open_once);
    if (!process.works && capacity) snprintf(why, capacity, "%s", process.why);
    return process.works ? &process.driver : NULL;
}

wf_error wf_driver_open_error(void) {
    return process.out_of_memory ? WF_ERROR_MEMORY : WF_ERROR_DEVICE;
}

/* ---- whether it is loaded ------------------------------------------------------------------------ */

struct search {
    unsigned long long loads;
    bool found;
};

static int look_at_library(struct dl_phdr_info *info, size_t nbytes, void *context) {
    struct search *search = context;
    (void)nbytes;
    search->loads = info->dlpi_adds;
    if (search->loads == atomic_load_explicit(&loads_without, memory_order_relaxed)) return 1;
    const char *slash = info->dlpi_name ? strrchr(info->dlpi_name, '/') : NULL;
    const char *name = slash ? slash + 1 : info->dlpi_name;
    search->found = name && !strncmp(name, "libcuda.so", strlen("libcuda.so"));
    return search->found;
}

bool wf_driver_is_loaded(void) {
    if (atomic_load_explicit(&is_loaded, memory_order_relaxed) || wf_getenv("WARPFOLD_LIBCUDA")) return true;
    struct search search = {0};
    dl_iterate_phdr(look_at_library, &search);
    if (search.found)
        atomic_store_explicit(&is_loaded, true, memory_order_relaxed);
    else
        atomic_store_explicit(&loads_without, search.loads, memory_order_relaxed);
    return search.found;
}

/* ---- checking ------------------------------------------------------------------------------------ */

wf_error wf_driver_check(wf_handle *handle, wf_cuda_result result, const char *call, const char *format, ...) {
    if (!result) return WF_OK;
    char object[128], reason[WHY_NBYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(object, sizeof object, format, arguments);
    va_end(arguments);
    describe(&process.driver, result, reason, sizeof reason);
    enum { OUT_OF_MEMORY = 2 };
    return wf_fail(handle, result == OUT_OF_MEMORY ? WF_ERROR_MEMORY : WF_ERROR_DEVICE, "%s (%s): %s", call, object,
                   reason);
}

/* ---- launches ---------------------------------------------------------------------------------- */

/* Whether the kernel was compiled to wait, and the driver can capture such launches. */
static bool waits_by_itself(const struct wf_driver *driver, wf_cuda_function function) {
    enum { GRAPHS_HAVE_CHAINS = 12030, WAITING = 90 };
    int compiled_for = 0;
    if (!driver->LaunchKernelEx || driver->version < GRAPHS_HAVE_CHAINS) return false;
    return !driver->FuncGetAttribute(&compiled_for, WF_CUDA_FUNCTION_PTX_VERSION, function) && compiled_for >= WAITING;
}

wf_cuda_result wf_driver_launch(wf_cuda_function function, unsigned grid, unsigned block, unsigned shared_nbytes,
                                wf_cuda_stream stream, void **arguments, bool is_chained) {
    const struct wf_driver *driver = wf_driver_open(NULL, 0);
    if (!is_chained || !waits_by_itself(driver, function))
        return driver->LaunchKernel(function, grid, 1, 1, block, 1, 1, shared_nbytes, stream, arguments, NULL);
    struct wf_cuda_attribute chained = {.id = WF_CUDA_LAUNCH_PROGRAMMATIC, .of = {.value = 1}};
    const struct wf_cuda_config config = {{grid, 1, 1}, {block, 1, 1}, shared_nbytes, stream, &chained, 1};
    return driver->LaunchKernelEx(&config, function, arguments, NULL);
}
