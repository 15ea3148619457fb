/* What a launch leaves behind: counts by name, and findings. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "machine.h"

enum { COUNTS_MAX = 256, FINDINGS_MAX = 1000 };

struct count {
    const char *name; /* a string literal of the observer's */
    double value;
};

struct found {
    simt_finding finding;
    uint32_t pc;
};

struct simt_report {
    struct count counts[COUNTS_MAX];
    size_t count_count;
    struct found *findings;
    size_t finding_count, finding_capacity;
    pthread_mutex_t lock; /* of the findings */
};

simt_report *simt_report_create(void) {
    simt_report *report = calloc(1, sizeof *report);
    if (report && pthread_mutex_init(&report->lock, NULL)) {
        free(report);
        return NULL;
    }
    return report;
}

void simt_report_destroy(simt_report *report) {
    if (!report) return;
    pthread_mutex_destroy(&report->lock);
    free(report->findings);
    free(report);
}

/* ---- counts */

void simt_report_add(simt_report *report, const char *name, double value) {
    if (report->count_count < COUNTS_MAX) report->counts[report->count_count++] = (struct count){name, value};
}

size_t simt_report_count_count(const simt_report *report) { return report->count_count; }

const char *simt_report_count_name(const simt_report *report, size_t index) {
    return index < report->count_count ? report->counts[index].name : NULL;
}

double simt_report_count_value(const simt_report *report, const char *name, double otherwise) {
    for (size_t i = 0; i < report->count_count; i++)
        if (strcmp(report->counts[i].name, name) == 0) return report->counts[i].value;
    return otherwise;
}

/* ---- findings */

const char *simt_finding_kind_name(enum simt_finding_kind kind) {
    static const char *const names[] = {"race",        "bounds",  "uninitialised", "barrier", "misaligned",
                                        "runaway", "unsupported",   "shuffle", "trap"};
    return (size_t)kind < sizeof names / sizeof *names ? names[kind] : "unknown";
}

size_t simt_report_finding_count(const simt_report *report) { return report->finding_count; }

const simt_finding *simt_report_finding(const simt_report *report, size_t index) {
    return index < report->finding_count ? &report->findings[index].finding : NULL;
}

static bool find_again(simt_report *report, enum simt_finding_kind kind, uint32_t pc) {
    for (size_t i = 0; i < report->finding_count; i++)
        if (report->findings[i].pc == pc && report->findings[i].finding.kind == kind) {
            report->findings[i].finding.count++;
            return true;
        }
    return false;
}

static struct found *find_new(simt_report *report) {
    if (report->finding_count == report->finding_capacity) {
        size_t capacity = 2 * report->finding_capacity + 8;
        struct found *grown = capacity > FINDINGS_MAX ? NULL : realloc(report->findings, capacity * sizeof *grown);
        if (!grown) return NULL;
        report->findings = grown;
        report->finding_capacity = capacity;
    }
    return &report->findings[report->finding_count++];
}

static void fill_place(simt_finding *finding, const simt_event *event, uint32_t lane) {
    const simt_launch_view *view = event->block->launch;
    const simt_place *place = &view->places[event->pc];
    uint32_t thread = event->warp * view->warp_size + lane;
    finding->kernel = view->kernel;
    finding->file = place->file;
    finding->line = place->line;
    memcpy(finding->block, event->block->block, sizeof finding->block);
    finding->thread[0] = thread % view->block[0];
    finding->thread[1] = thread / view->block[0] % view->block[1];
    finding->thread[2] = thread / view->block[0] / view->block[1];
}

bool simt_find(const simt_event *event, enum simt_finding_kind kind, uint32_t lane, uint64_t address,
               const char *format, ...) {
    const struct launch *launch = event->block->machine;
    simt_report *report = launch->report;
    pthread_mutex_lock(&report->lock);
    struct found *found = find_again(report, kind, event->pc) ? NULL : find_new(report);
    if (found) {
        *found = (struct found){.finding = {.kind = kind, .address = address, .count = 1}, .pc = event->pc};
        fill_place(&found->finding, event, lane);
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(found->finding.message, sizeof found->finding.message, format, arguments);
        va_end(arguments);
    }
    pthread_mutex_unlock(&report->lock);
    return found != NULL;
}

void simt_stop(const simt_event *event) { simt_launch_stop(event->block->machine); }
