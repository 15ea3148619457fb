/* Calls of the runtime that failed: a program that does not look at errors goes on with wrong results. */
#include "runtime.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static _Thread_local char reason[RECORD_NAME];       /* of the call that goes on */
static _Thread_local bool refuses_launch;            /* that call */
static _Thread_local struct record_failure *unasked; /* of which cudaGetLastError() would tell */

void failures_because(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(reason, sizeof reason, format, arguments);
    va_end(arguments);
}

void failures_refuse_launch(void) {
    runtime.record->refused_launches++;
    refuses_launch = true;
}

cudaError_t failures_stop_launch(void) {
    if (runtime.record) failures_refuse_launch();
    return device_current()->sticky;
}

/* Errors that are answers. */
static bool is_answer(cudaError_t error) {
    return error == cudaErrorNotReady || error == cudaErrorPeerAccessAlreadyEnabled || error == cudaErrorPeerAccessNotEnabled ||
           error == cudaErrorHostMemoryAlreadyRegistered || error == cudaErrorHostMemoryNotRegistered;
}

/* NULL: there is no room. */
static struct record_failure *find_entry(const char *call, cudaError_t error) {
    struct record *record = runtime.record;
    for (uint32_t i = 0; i < record->failure_count; i++) {
        struct record_failure *known = &record->failures[i];
        if (!strcmp(known->call, call) && !strcmp(known->error, cudaGetErrorName(error)) && !strcmp(known->reason, reason)) return known;
    }
    if (record->failure_count == RECORD_FAILURES) return NULL;
    struct record_failure *entry = &record->failures[record->failure_count];
    snprintf(entry->call, sizeof entry->call, "%s", call);
    snprintf(entry->error, sizeof entry->error, "%s", cudaGetErrorName(error));
    snprintf(entry->text, sizeof entry->text, "%s", cudaGetErrorString(error));
    snprintf(entry->reason, sizeof entry->reason, "%s", reason);
    entry->place = (struct record_place){.thread = {RECORD_ALL_THREADS}};
    host_name_caller(entry->place.file);
    record->failure_count++;
    return entry;
}

void failures_note(const char *call, cudaError_t error) {
    const bool is_of_program = runtime.record && !runtime_thread.is_in_driver && error != device_current()->sticky;
    if (error && is_of_program && !is_answer(error)) {
        unasked = find_entry(call + strspn(call, "_"), error); /* __cudaLaunchKernel */
        if (unasked) unasked->count++, unasked->launches += refuses_launch;
    }
    reason[0] = '\0';
    refuses_launch = false;
}

void failures_ask(void) {
    if (unasked) unasked->asked++;
    unasked = NULL;
}

/* ---- errors by name --------------------------------------------------------------------------------- */

#define TEXT __attribute__((visibility("default"))) const char *

TEXT cudaGetErrorName(cudaError_t error) {
    switch (error) {
#define ERROR(name, number, text)                                                                                  \
    case name: return #name;
#include "errors.fn"
#undef ERROR
    }
    return "unrecognized error code";
}

TEXT cudaGetErrorString(cudaError_t error) {
    switch (error) {
#define ERROR(name, number, text)                                                                                  \
    case name: return text;
#include "errors.fn"
#undef ERROR
    }
    return "unrecognized error code";
}
