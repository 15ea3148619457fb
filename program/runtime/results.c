/* Results that go nowhere: kernels store, and the program copies nothing back; or it copies more than anything has
 * written, as after a grid that is too small.  Either may be meant, so it is advice; and none is given after a failed call
 * or a finding, which says more. */
#include "runtime.h"

#include <stdio.h>
#include <string.h>

#include "report/numerals.h"

static bool is_seen; /* or it cannot be told */
static uint64_t stored_nbytes;
static char storing_kernel[RECORD_NAME], storing_place[RECORD_NAME]; /* of the last kernel that was new and stored */

void results_note_seen(void) { is_seen = true; }

void results_note_launch(const simt_launch *launch, const simt_report *report, bool is_watched) {
    static const char *const counters[] = {"global_store_bytes", "global_atomic_bytes"};
    const char *name = simt_module_kernel_name(launch->module, launch->kernel);
    uint64_t nbytes = 0;
    short_copies_note_launch(launch);
    if (!is_watched || !report) is_seen = true; /* what it stores is not known */
    if (is_seen) return;
    for (size_t i = 0; i < sizeof counters / sizeof *counters; i++)
        nbytes += (uint64_t)simt_report_counter_value(report, counters[i], 0);
    if (nbytes && strncmp(name, storing_kernel, RECORD_NAME - 1)) {
        record_text(storing_kernel, name);
        host_name_caller(storing_place);
    }
    stored_nbytes += nbytes;
}

/* Memory of the device that is copied to the host. */
static bool is_result(const void *to, const void *from) {
    const struct buffer *buffer = buffer_find((uintptr_t)from), *own = buffer_find((uintptr_t)to);
    return buffer && buffer->kind == BUFFER_DEVICE && (!own || own->kind > BUFFER_VARIABLE);
}

void results_note_copy(const void *to, const void *from, size_t nbytes) {
    static struct program_advice advice;
    static char place[RECORD_NAME];
    char missing[NUMERAL_NBYTES], all[NUMERAL_NBYTES], first[NUMERAL_NBYTES];
    const bool is_to_host = is_result(to, from);
    short_copies_note_put(to, nbytes);
    short_copies_note_get(to, from, nbytes, is_to_host);
    if (!is_to_host) return;
    const size_t written = simt_machine_written(runtime.machine, (uintptr_t)from, nbytes);
    if (written == nbytes || record_is_spoilt()) return;
    host_name_caller(place);
    advice = (struct program_advice){.kind = ADVICE_UNWRITTEN_COPY, .kernel = "host code", .place = place, .count = nbytes - written};
    snprintf(advice.message, sizeof advice.message,
             "nothing has written %s of the %s bytes that are copied to the host, from byte %s on (element %zu, if each has 4 bytes)",
             numeral(missing, nbytes - written), numeral(all, nbytes), numeral(first, written), written / 4);
    snprintf(advice.cure, sizeof advice.cure,
             "let a grid of (n + block - 1) / block blocks cover all n elements, or copy only what the kernels store");
    watch_advise(&advice);
}

void results_tell(void) {
    static struct program_advice advice;
    char nbytes[NUMERAL_NBYTES];
    short_copies_tell_all();
    if (is_seen || !stored_nbytes || record_is_spoilt()) return;
    advice = (struct program_advice){.kind = ADVICE_UNREAD_RESULT, .kernel = storing_kernel, .place = storing_place, .count = stored_nbytes};
    snprintf(advice.message, sizeof advice.message, "kernels store %s bytes, the last here, and the program copies nothing to the host",
             numeral(nbytes, stored_nbytes));
    snprintf(advice.cure, sizeof advice.cure, "cudaMemcpy(to, from, nbytes, cudaMemcpyDeviceToHost) after the last launch");
    watch_advise(&advice);
}
