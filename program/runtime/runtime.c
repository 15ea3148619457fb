/* What calls of the runtime have in common: how they begin and end, and what they tell of errors. */
#include "runtime.h"

/* ---- calls --------------------------------------------------------------------------------------- */

/* Not before the first call: other programs that this one starts may load the stand-in, too. */
static void create_machine(void) {
    if (!runtime.record || simt_machine_create(NULL, &runtime.machine)) {
        runtime.machine = NULL;
        for (int d = 0; d < SIMT_DEVICES; d++) runtime.devices[d].sticky = cudaErrorMemoryAllocation;
        return;
    }
    simt_machine_set_block_limit(runtime.machine, runtime.record->settings.block_limit);
    runtime_use(runtime_thread.device);
    runtime.record->has_begun = 1;
    host_watch();
}

bool runtime_begin(void) {
    host_enter();
    runtime_thread.has_called = true;
    if (!runtime.machine) create_machine();
    return !device_current()->sticky;
}

cudaError_t runtime_end(const char *call, cudaError_t error) {
    failures_note(call, error);
    if (error) runtime_thread.last_error = error;
    host_leave();
    return error;
}

cudaError_t runtime_absent(const char *name) {
    host_enter();
    if (runtime.record) runtime.record->has_begun = 1; /* the program has called something */
    return runtime_end(name, runtime_lacks(name));
}

/* ---- errors -------------------------------------------------------------------------------------- */

/* An error of a launch is told by every call once one has met it, as on a GPU, where the launch's own call is over
 * before the kernel is. */
static cudaError_t take_error(bool is_reset) {
    host_enter();
    cudaError_t error = runtime_thread.last_error;
    if (error) failures_ask();
    if (is_reset && (!error || error != device_current()->sticky)) runtime_thread.last_error = cudaSuccess;
    host_leave();
    return error;
}

API cudaGetLastError(void) { return take_error(true); }

API cudaPeekAtLastError(void) { return take_error(false); }
