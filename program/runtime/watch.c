/* What is observed of a launch, and what the record keeps of it: counts summed by kernel, findings by place. */
#include "runtime.h"

#include <stdio.h>
#include <string.h>

#include "report/advice.h"
#include "report/kernel_name.h"
#include "simt/simt_observer.h"

enum { OBSERVERS_MAX = 32 };

static bool is_named(const struct simt_observer *observer, const char *name) { return !strcmp(observer->name, name); }

/* All of the simulator's, and, at a kernel's first launch, that which advice is about, as it costs time. */
static const struct simt_observer *const *all_observers(bool is_first) {
    static const struct simt_observer *lists[2][OBSERVERS_MAX + 6];
    bool counts_lines = is_first || runtime.record->settings.counts_lines;
    const struct simt_observer **observers = lists[counts_lines];
    if (observers[0]) return observers;
    size_t count = 0;
    if (!runtime.record->settings.skips_races) {
        observers[count++] = &host_observer;
        observers[count++] = &order_observer;
    }
    if (counts_lines) observers[count++] = &simt_observe_lines;
    if (counts_lines) observers[count++] = &simt_observe_barriers;
    if (runtime.record->settings.counts_lines) observers[count++] = &code_observer;
    for (size_t i = 0; simt_observers[i] && count < OBSERVERS_MAX; i++) {
        if (is_named(simt_observers[i], "races") && runtime.record->settings.skips_races) continue;
        bool is_strict = is_named(simt_observers[i], "races") && runtime.record->settings.equal_stores_race;
        observers[count++] = is_strict ? &simt_observe_all_races : simt_observers[i];
    }
    return observers;
}

/* NULL: it was not launched before. */
static struct record_kernel *find_kernel(const char *name) {
    struct record *record = runtime.record;
    for (uint32_t i = 0; i < record->kernel_count; i++)
        if (!strncmp(record->kernels[i].name, name, RECORD_NAME - 1)) return &record->kernels[i];
    return NULL;
}

static bool is_watched_first(const char *kernel) {
    const struct record_kernel *known = find_kernel(kernel);
    return !known || !known->watched;
}

/* NULL: this launch is not to be watched.  *number counts those that might be, from 1. */
const struct simt_observer *const *watch_observers(const char *kernel, uint64_t *number) {
    const struct record_settings *settings = &runtime.record->settings;
    *number = 0;
    if (settings->kernel[0] && !name_match(kernel, settings->kernel)) return NULL;
    *number = ++runtime.record->launches;
    return settings->launch && settings->launch != *number ? NULL : all_observers(is_watched_first(kernel));
}

/* ---- what goes on, for those who look at the record meanwhile ------------------------------------- */

void watch_begin(const char *kernel) {
    static uint64_t launches;
    struct record_running *running = &runtime.record->running;
    snprintf(running->kernel, sizeof running->kernel, "%s", kernel);
    __atomic_store_n(&running->launch, ++launches, __ATOMIC_RELEASE);
}

void watch_end(void) { __atomic_store_n(&runtime.record->running.launch, 0, __ATOMIC_RELEASE); }

/* ---- kernels ------------------------------------------------------------------------------------- */

static struct record_kernel *kernel_entry(const char *name) {
    struct record *record = runtime.record;
    struct record_kernel *entry = find_kernel(name);
    if (entry) return entry;
    if (record->kernel_count == RECORD_KERNELS) {
        record->kernels_lost++;
        return NULL;
    }
    entry = &record->kernels[record->kernel_count];
    snprintf(entry->name, sizeof entry->name, "%s", name);
    record->kernel_count++;
    return entry;
}

static void note_counts(struct record_kernel *entry, const simt_launch *launch, const simt_report *report) {
    memcpy(entry->grid, launch->grid, sizeof entry->grid);
    memcpy(entry->block, launch->block, sizeof entry->block);
#define ADD(name) entry->name += simt_report_counter_value(report, #name, 0);
    RECORD_COUNTS(ADD)
#undef ADD
}

/* ---- advice -------------------------------------------------------------------------------------- */

static uint32_t kind_number(const char *kind) {
    uint32_t number = 0;
    while (advice_kinds[number + 1] && strcmp(advice_kinds[number], kind)) number++;
    return number;
}

void watch_advise(const struct program_advice *advice) {
    struct record *record = runtime.record;
    const uint32_t kind = kind_number(advice->kind);
    for (uint32_t i = 0; i < record->advice_count; i++)
        if (record->advice[i].kind == kind && !strcmp(record->advice[i].file, advice->place)) return;
    if (record->advice_count == RECORD_ADVICE) return;
    struct record_advice *entry = &record->advice[record->advice_count];
    entry->kind = kind;
    entry->count = advice->count;
    record_text(entry->kernel, advice->kernel);
    record_text(entry->file, advice->place);
    record_text(entry->message, advice->message);
    record_text(entry->cure, advice->cure);
    record->advice_count++;
}

static void note_advice(const simt_launch *launch, const simt_report *report) {
    struct record *record = runtime.record;
    struct advice advice[ADVICE_MAX];
    const struct advice_subject subject = {
        .report = report,
        .warp_size = SIMT_LANES,
        .block_threads = launch->block[0] * launch->block[1] * launch->block[2],
        .shared_nbytes = launch->shared_nbytes + simt_module_shared_nbytes(launch->module, launch->kernel)};
    const size_t count = advice_list(&subject, advice);
    for (size_t i = 0; i < count && record->advice_count < RECORD_ADVICE; i++) {
        struct record_advice *entry = &record->advice[record->advice_count];
        entry->kind = kind_number(advice[i].kind);
        entry->line = advice[i].line;
        entry->count = advice[i].count;
        entry->least = advice[i].least;
        entry->then = advice[i].then;
        entry->rows = advice[i].rows;
        record_text(entry->kernel, simt_module_kernel_name(launch->module, launch->kernel));
        record_text(entry->file, advice[i].file);
        record_text(entry->message, advice[i].message);
        record_text(entry->cure, advice[i].cure);
        record->advice_count++;
    }
}

void watch_note(const simt_launch *launch, const simt_report *report, bool is_watched, uint64_t number) {
    struct record_kernel *entry = kernel_entry(simt_module_kernel_name(launch->module, launch->kernel));
    if (entry) entry->launches++;
    if (entry) entry->watched += is_watched;
    if (!report) return;
    bool is_first = entry && is_watched && entry->watched == 1;
    if (entry && is_watched) note_counts(entry, launch, report);
    if (is_first && simt_report_line_count(report)) note_advice(launch, report);
    if (runtime.record->settings.counts_lines) lines_note(report);
    /* Even a launch that is not watched may be stopped, and says by what. */
    for (size_t i = 0; i < simt_report_finding_count(report); i++)
        finding_note(simt_report_finding(report, i), launch, number);
}
