/* Copies that end before the memory does that they are about: often their length is in elements, and should be in bytes.
 *
 * One to the device that is too short shows where a kernel reads what nothing has written: what is noted here adds which call
 * wrote the part before.  One to the host shows nowhere.  It is told as advice, once no one can take the rest any more, if
 * kernels have written the rest, and the host has room for it; where its room is not known, if the copy has as many bytes as
 * there are elements of 4 or 8 bytes.  docs/findings.md has the thresholds. */
#include "runtime.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/numerals.h"

static struct buffer_copies *copies_of_device(const void *pointer, const struct buffer **buffer) {
    *buffer = buffer_find((uintptr_t)pointer);
    return *buffer && (*buffer)->kind == BUFFER_DEVICE ? buffer_copies(*buffer) : NULL;
}

void short_copies_note_put(const void *to, size_t nbytes) {
    const struct buffer *buffer;
    struct buffer_copies *copies = copies_of_device(to, &buffer);
    if (!copies) return;
    const uint64_t begin = (uintptr_t)to - buffer->address, end = begin + nbytes;
    copies->got_end = 0;
    copies->is_put_apart |= begin > copies->put_end;
    if (end <= copies->put_end || begin > copies->put_end) return;
    copies->put_end = end;
    if (end < buffer->nbytes) host_name_caller(copies->put_place);
}

/* Whether the host has other numbers where the copy would go on: then what it has there is not what kernels have left as it was.
 * Some words of the second half of the rest are compared. */
static bool is_stale(const void *to, const struct buffer *buffer, uint64_t begin, uint64_t end) {
    enum { SAMPLES = 64 };
    const uint64_t words = (end - begin) / sizeof(uint32_t), first = words / 2;
    const uint64_t step = (words - first + SAMPLES - 1) / SAMPLES;
    uint64_t count = 0, different = 0;
    for (uint64_t w = first; w < words; w += step, count++) {
        const uint64_t at = begin + w * sizeof(uint32_t);
        uint32_t theirs = 0;
        simt_machine_read(runtime.machine, buffer->address + at, &theirs, sizeof theirs);
        different += memcmp(&theirs, (const char *)to + at, sizeof theirs) != 0;
    }
    return 2 * different >= count && count;
}

void short_copies_note_get(const void *to, const void *from, size_t nbytes, bool is_to_host) {
    const struct buffer *buffer;
    struct buffer_copies *copies = copies_of_device(from, &buffer);
    if (!copies) return;
    const uint64_t begin = (uintptr_t)from - buffer->address, end = begin + nbytes;
    copies->is_odd |= !is_to_host || begin > copies->got_end;
    if (end <= copies->got_end) return;
    copies->got_end = end;
    if (copies->is_odd || end == buffer->nbytes) return;
    const size_t room = host_room(to);
    const char *const all = (const char *)to - begin; /* where the first byte is to go */
    copies->room = room ? room + begin : 0;
    const uint64_t known = room + begin < buffer->nbytes ? room + begin : buffer->nbytes;
    /* What the host has put there itself need not come back, unless kernels have changed it. */
    if ((copies->put_end > end || copies->is_put_apart) && (!room || known <= end || !is_stale(all, buffer, end, known))) copies->is_odd = true;
    host_name_caller(copies->got_place);
}

void short_copies_note_launch(const simt_launch *launch) {
    const size_t count = simt_module_parameter_count(launch->module, launch->kernel);
    for (size_t i = 0; i < count; i++) {
        const size_t nbytes = simt_module_parameter_nbytes(launch->module, launch->kernel, i);
        for (size_t at = 0; at + sizeof(uint64_t) <= nbytes; at += sizeof(uint64_t)) { /* also within structs */
            const struct buffer *buffer;
            uint64_t pointer;
            memcpy(&pointer, (const char *)launch->arguments[i] + at, sizeof pointer);
            struct buffer_copies *copies = copies_of_device((const void *)(uintptr_t)pointer, &buffer);
            if (!copies) continue;
            copies->is_argument = true;
            copies->is_odd = false;
            copies->got_end = 0;
        }
    }
}

/* What is written from the buffer's first byte on, without a gap that shows; 0: there is one. */
static uint64_t written_of(const struct buffer *buffer, uint64_t got_end) {
    const uint64_t last = buffer->address + buffer->nbytes - 1;
    const uint64_t written = simt_machine_written(runtime.machine, buffer->address, buffer->nbytes);
    const bool has_gap = written == buffer->nbytes && !(simt_machine_written(runtime.machine, last, 1) &&
                                                        simt_machine_written(runtime.machine, buffer->address + got_end, 1));
    return has_gap ? 0 : written;
}

static bool is_too_short(const struct buffer_copies *copies, uint64_t written) {
    enum { FLOAT = 4, DOUBLE = 8, FEW = 64 };
    if (written <= copies->got_end) return false;
    if (copies->room) return copies->room >= written;
    return written >= FEW && (written == FLOAT * copies->got_end || written == DOUBLE * copies->got_end);
}

void short_copies_tell(const struct buffer *buffer) {
    static struct program_advice advice;
    const struct buffer_copies *copies = buffer->copies;
    char got[NUMERAL_NBYTES], all[NUMERAL_NBYTES], rest[NUMERAL_NBYTES];
    if (!copies || !copies->got_end || copies->is_odd || !copies->is_argument || record_is_spoilt()) return;
    const uint64_t written = written_of(buffer, copies->got_end);
    if (!is_too_short(copies, written)) return;
    advice = (struct program_advice){.kind = ADVICE_SHORT_COPY, .kernel = "host code", .place = copies->got_place, .count = written - copies->got_end};
    snprintf(advice.message, sizeof advice.message,
             "copies the first %s of the %s bytes of an allocation that are written to the host, and nothing takes the other %s%s",
             numeral(got, copies->got_end), numeral(all, written), numeral(rest, written - copies->got_end),
             copies->room ? ", for which the host has room behind these" : "");
    snprintf(advice.cure, sizeof advice.cure,
             "a copy's length is in bytes, such as n * sizeof(float) for n elements; leave it only if the host does not read the others");
    watch_advise(&advice);
}

void short_copies_tell_all(void) {
    const struct buffer *buffer;
    for (size_t at = 0; (buffer = buffer_next(&at));) short_copies_tell(buffer);
}
