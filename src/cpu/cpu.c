/* The CPU as a device. */
#define _GNU_SOURCE /* sched_getaffinity */

#include "core/handle.h"
#include "core/small_sum.h"
#include "common/getenv.h"
#include "cpu/keyed.h"
#include "cpu/workers.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int count_processors(void) {
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof allowed, &allowed) == 0) return CPU_COUNT(&allowed);
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? (int)online : 1;
}

static void cpu_close(wf_handle *handle) {
    struct cpu *cpu = handle->device_state;
    if (!cpu) return;
    wf_threads_destroy(cpu->threads);
    wf_cpu_forget_keyed(cpu);
    wf_cpu_destroy_workers(cpu);
    free(cpu->groups_job);
    for (int i = 0; i < WF_LABELS_PAGES; i++) wf_pages_free(cpu->labels_kept[i]);
    free(cpu);
    handle->device_state = NULL;
}

static wf_error cpu_open(wf_handle *handle) {
    const struct wf_tier *tier = wf_tier_choose(wf_getenv("WARPFOLD_TIER"));
    if (!tier) return wf_fail(handle, WF_ERROR_DEVICE, "WARPFOLD_TIER: not a tier that this processor supports");
    struct cpu *cpu = calloc(1, sizeof *cpu);
    handle->device_state = cpu;
    if (cpu) cpu->threads = wf_threads_create();
    if (!cpu || !cpu->threads || wf_cpu_ensure_workers(cpu, 1) < 1) {
        cpu_close(handle);
        return WF_ERROR_MEMORY;
    }
    cpu->tier = tier;
    cpu->processors = count_processors();
    snprintf(handle->device_text, sizeof handle->device_text, "cpu: tier %s, %d processor%s", tier->name,
             cpu->processors, cpu->processors == 1 ? "" : "s");
    return WF_OK;
}

const struct wf_device wf_device_cpu = {
    .name = "cpu", .adds_in_parallel = true, .open = cpu_open, .close = cpu_close, .add = wf_cpu_add,
    .reduce_few = wf_small_value, .reduce_groups = wf_cpu_reduce_groups,
    .add_groups = wf_cpu_reduce_groups};
