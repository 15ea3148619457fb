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

static bool is_watched_first(const char *kernel) {
    const struct record *record = runtime.record;
    for (uint32_t i = 0; i < record->kernel_count; i++)
        if (!strncmp(record->kernels[i].name, kernel, RECORD_NAME - 1)) return !record->kernels[i].watched;
    return true;
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
    for (uint32_t i = 0; i < record->kernel_count; i++)
        if (!strncmp(record->kernels[i].name, name, RECORD_NAME - 1)) return &record->kernels[i];
    if (record->kernel_count == RECORD_KERNELS) {
        record->kernels_lost++;
        return NULL;
    }
    struct record_kernel *entry = &record->kernels[record->kernel_count];
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

/* ---- findings ------------------------------------------------------------------------------------ */

static void copy_text(char text[RECORD_NAME], const char *from) { snprintf(text, RECORD_NAME, "%s", from ? from : ""); }

static void fill_place(struct record_place *place, const char *file, uint32_t line, const uint32_t block[3],
                       const uint32_t thread[3]) {
    copy_text(place->file, file);
    place->line = line;
    memcpy(place->block, block, sizeof place->block);
    memcpy(place->thread, thread, sizeof place->thread);
}

static bool is_place(const struct record_place *place, const char *file, uint32_t line) {
    return place->line == line && !strncmp(place->file, file ? file : "", RECORD_NAME - 1);
}

static bool is_same(const struct record_finding *known, const simt_finding *finding) {
    return known->kind == (uint32_t)finding->kind && known->has_other == finding->has_other &&
           is_place(&known->place, finding->file, finding->line) &&
           (!finding->has_other || is_place(&known->other, finding->other_file, finding->other_line)) &&
           !strncmp(known->kernel, finding->kernel, RECORD_NAME - 1);
}

/* Which argument of the kernel points to the address, or so near that no other allocation is between. */
static void name_argument(struct record_finding *entry, const simt_launch *launch) {
    const uint64_t reach = UINT64_C(1) << 31;
    const size_t count = simt_module_parameter_count(launch->module, launch->kernel);
    if (!entry->address || !strstr(entry->message, " global memory")) return;
    for (size_t i = 0; i < count && !entry->argument; i++) {
        uint64_t pointer;
        if (simt_module_parameter_nbytes(launch->module, launch->kernel, i) != sizeof pointer) continue;
        memcpy(&pointer, launch->arguments[i], sizeof pointer);
        if (!pointer || entry->address + reach - pointer >= 2 * reach) continue;
        entry->argument = (uint32_t)i + 1;
        entry->offset = (int64_t)(entry->address - pointer);
    }
}

/* Whether the program can read there itself. */
static bool is_of_host(uint64_t address) {
    unsigned long long begin, end;
    char line[256], readable;
    bool is_mapped = false, begins_line = true;
    FILE *maps = fopen("/proc/self/maps", "re");
    while (maps && !is_mapped && fgets(line, sizeof line, maps)) {
        const bool is_range = begins_line && sscanf(line, "%llx-%llx %c", &begin, &end, &readable) == 3;
        begins_line = strchr(line, '\n') != NULL;
        is_mapped = is_range && readable == 'r' && begin <= address && address < end;
    }
    if (maps) fclose(maps);
    return is_mapped;
}

/* A pointer that no cudaMalloc gave is often one to the program's own memory. */
static void tell_host_memory(char message[RECORD_NAME], uint64_t address) {
    static const char nothing[] = ", where nothing is allocated";
    char *at = strstr(message, nothing), rest[RECORD_NAME];
    if (!at || !is_of_host(address)) return;
    snprintf(rest, sizeof rest, "%s", at + strlen(nothing));
    snprintf(at, (size_t)(message + RECORD_NAME - at),
             ", which is memory of the host: give the kernel memory from cudaMalloc, and copy there by cudaMemcpy%s", rest);
}

/* launch: NULL where the host's code has done it. */
static void note_finding(const simt_finding *finding, const simt_launch *launch, uint64_t number) {
    struct record *record = runtime.record;
    for (uint32_t i = 0; i < record->finding_count; i++)
        if (is_same(&record->findings[i], finding)) {
            record->findings[i].count += finding->count;
            return;
        }
    if (record->finding_count == RECORD_FINDINGS) {
        record->findings_lost++;
        return;
    }
    struct record_finding *entry = &record->findings[record->finding_count];
    entry->kind = (uint32_t)finding->kind;
    entry->address = finding->address;
    entry->count = finding->count;
    entry->launch = number;
    copy_text(entry->kernel, finding->kernel);
    copy_text(entry->message, finding->message);
    tell_host_memory(entry->message, finding->address);
    fill_place(&entry->place, finding->file, finding->line, finding->block, finding->thread);
    entry->has_other = finding->has_other;
    if (finding->has_other)
        fill_place(&entry->other, finding->other_file, finding->other_line, finding->other_block,
                   finding->other_thread);
    entry->argument = 0;
    if (launch) name_argument(entry, launch);
    record->finding_count++; /* last, so that a concurrent reader finds it complete */
}

/* ---- advice -------------------------------------------------------------------------------------- */

static uint32_t kind_number(const char *kind) {
    uint32_t number = 0;
    while (advice_kinds[number + 1] && strcmp(advice_kinds[number], kind)) number++;
    return number;
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
        copy_text(entry->kernel, simt_module_kernel_name(launch->module, launch->kernel));
        copy_text(entry->file, advice[i].file);
        copy_text(entry->message, advice[i].message);
        copy_text(entry->cure, advice[i].cure);
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
        note_finding(simt_report_finding(report, i), launch, number);
}

void watch_note_host(const simt_finding *finding) { note_finding(finding, NULL, 0); }
