/* Host code that uses memory too early: while an asynchronous copy, or a kernel, may still be at it.
 *
 * Everything is done when it is asked for, so nothing can go wrong here as it may on a GPU.  Instead, the pages that a copy
 * or a kernel has to do with are taken from the program until it waits for the stream; the signal of a use before that is
 * the finding, and the program goes on.  Where it cannot be told whether the program has waited, it has.  Memory of a device, which
 * the host cannot use at all, is a finding, too, with which the program ends. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* dladdr1 */
#endif
#include <dlfcn.h>
#include <execinfo.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "report/kernel_name.h"
#include "runtime.h"
#include "simt/simt_observer.h"

enum { PENDING = 64, WORD = 4, SLOTS = 1024, SLOT_SHIFT = 32 };

/* Where a buffer is of whose words it is noted which kernels touch, by the upper part of its addresses. */
struct slot {
    unsigned count; /* of such buffers */
    bool is_shared; /* the rest is of one of several */
    uint64_t address, nbytes;
    uint32_t *touched;
};

/* Bytes that something in a stream has to do with. */
struct pending {
    uintptr_t begin, end;
    uintptr_t first_page, end_page; /* see set_pages */
    size_t width, pitch, height, plane_height; /* of a copy or fill: its bytes are those of rows, which planes have */
    cudaStream_t stream;
    int device;
    bool is_anywhere; /* another stream waits for that stream */
    bool is_source;   /* it is only read: the program may read it, too */
    bool is_kernel;   /* its words are those that the buffer has marked */
    uint64_t number;
    char what[RECORD_NAME];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct pending pending[PENDING];
static size_t pending_count;
static uint64_t last_number;
static unsigned touched_buffers; /* that kernels' accesses are noted of */
static struct slot touched_slots[SLOTS];
static bool tells_host;        /* the kernel orders its stores for the system: a host may know without waiting that they are done */
static struct sigaction previous;

/* ---- pages --------------------------------------------------------------------------------------- */

static void protect(const struct pending *range, int protection) {
    mprotect((void *)range->first_page, range->end_page - range->first_page, protection);
}

static void close_pages(void) {
    for (size_t i = 0; i < pending_count; i++)
        if (pending[i].is_source) protect(&pending[i], PROT_READ);
    for (size_t i = 0; i < pending_count; i++) /* some of them may be the same pages */
        if (!pending[i].is_source) protect(&pending[i], PROT_NONE);
}

static void open_pages(void) {
    for (size_t i = 0; i < pending_count; i++) protect(&pending[i], PROT_READ | PROT_WRITE);
}

static _Thread_local bool is_inside;

void host_enter(void) {
    pthread_mutex_lock(&lock);
    is_inside = true;
    open_pages();
    runtime_use(runtime_thread.device);
}

void host_leave(void) {
    close_pages();
    is_inside = false;
    pthread_mutex_unlock(&lock);
}

static uint64_t slot_of(uint64_t address) { return (address >> SLOT_SHIFT) % SLOTS; }

static struct slot slot_for(const struct buffer *buffer) {
    return (struct slot){.address = buffer->address, .nbytes = buffer->nbytes, .touched = buffer->touched};
}

static size_t touched_count(uint64_t nbytes) { return nbytes / WORD / 32 + 1; }

/* ---- uses ---------------------------------------------------------------------------------------- */

/* A bit for each word that kernels write, or read. */
static uint32_t *touched_words(const struct buffer *buffer, bool is_source) {
    return buffer->touched + (is_source ? touched_count(buffer->nbytes) : 0);
}

static bool is_in_rows(const struct pending *range, size_t offset) {
    return offset % range->pitch < range->width && offset / range->pitch % range->plane_height < range->height;
}

static bool is_touched(const struct pending *range, uintptr_t address) {
    if (address < range->begin || address >= range->end) return false;
    if (!range->is_kernel) return is_in_rows(range, address - range->begin);
    const struct buffer *buffer = buffer_find(address);
    if (!buffer || !buffer->touched) return false;
    uint64_t word = (address - buffer->address) / WORD;
    return touched_words(buffer, range->is_source)[word / 32] >> word % 32 & 1;
}

static uintptr_t code_address(const ucontext_t *context) {
#if defined __x86_64__
    return (uintptr_t)context->uc_mcontext.gregs[REG_RIP];
#elif defined __aarch64__
    return (uintptr_t)context->uc_mcontext.pc;
#else
    (void)context;
    return 0;
#endif
}

/* true, too: it is not known. */
static bool is_write_fault(const ucontext_t *context) {
#if defined __x86_64__
    enum { PAGE_FAULT_WRITES = 2 };
    return context->uc_mcontext.gregs[REG_ERR] & PAGE_FAULT_WRITES;
#else
    (void)context;
    return true;
#endif
}

/* The file that code is in, and its address there, as that file's own tables have it. */
static const char *object_of(uintptr_t code, uintptr_t *offset) {
    const struct link_map *map = NULL;
    Dl_info info = {0};
    const bool is_known = dladdr1((void *)code, &info, (void **)&map, RTLD_DL_LINKMAP) && info.dli_fname;
    *offset = is_known && map ? code - map->l_addr : code;
    return is_known ? info.dli_fname : "?";
}

void host_name_caller(char place[RECORD_NAME]) {
    enum { DEEPEST = 24 };
    void *frames[DEEPEST];
    const char *object = NULL;
    uintptr_t offset;
    const char *const ours = object_of((uintptr_t)pending, &offset);
    const int depth = backtrace(frames, DEEPEST);
    size_t length = 0, count = 0;
    bool is_within = false; /* a sanitizer has a frame of its own before ours */
    place[0] = '\0';
    for (int i = 0; i < depth && count < RECORD_FRAMES; i++) {
        const char *name = object_of((uintptr_t)frames[i] - 1, &offset); /* the call, not what follows it */
        const bool is_own = !strcmp(name, ours);
        is_within |= is_own;
        if (!object && (is_own || !is_within)) continue;
        if (object && strcmp(name, object)) break;
        length += (size_t)snprintf(place + length, RECORD_NAME - length, "%.300s%s0x%llx", object ? "" : name, object ? "," : "+",
                                   (unsigned long long)offset);
        object = name;
        count++;
    }
}

static void name_code(uintptr_t code, char place[RECORD_NAME]) {
    uintptr_t offset;
    const char *object = object_of(code, &offset);
    snprintf(place, RECORD_NAME, "%.400s+0x%llx", object, (unsigned long long)offset);
}

static void find(enum simt_finding_kind kind, uintptr_t address, uintptr_t code, const char *message) {
    static simt_finding finding; /* the lock is held */
    static char place[RECORD_NAME];
    name_code(code, place);
    finding = (simt_finding){.kind = kind, .kernel = "host code", .file = place, .address = address, .count = 1};
    snprintf(finding.message, sizeof finding.message, "%s", message);
    finding_note(&finding, NULL, 0);
}

static void find_use(const struct pending *range, uintptr_t address, uintptr_t code) {
    char message[RECORD_NAME];
    snprintf(message, sizeof message, "the host %s 0x%llx while %.200s: wait for the stream first (cudaStreamSynchronize, say)",
             range->is_source ? "writes to" : "uses", (unsigned long long)address, range->what);
    find(SIMT_FINDING_RACE, address, code, message);
}

/* The program cannot go on behind it. */
static void find_wrong_memory(uintptr_t address, uintptr_t code) {
    char message[RECORD_NAME];
    const struct buffer *buffer = buffer_find(address), *gone = buffer_freed_at(address);
    if (buffer && buffer->kind == BUFFER_DEVICE)
        snprintf(message, sizeof message, "the host uses 0x%llx, which is memory of a device, byte %llu of an allocation of %llu: copy it by "
                 "cudaMemcpy, or allocate it by cudaMallocManaged, which both may use", (unsigned long long)address,
                 (unsigned long long)(address - buffer->address), (unsigned long long)buffer->nbytes);
    else if (gone)
        snprintf(message, sizeof message, "the host uses 0x%llx, which was freed: byte %llu of what was an allocation of %llu",
                 (unsigned long long)address, (unsigned long long)(address - gone->address), (unsigned long long)gone->nbytes);
    else
        return;
    find(SIMT_FINDING_BOUNDS, address, code, message);
}

static void clear_touched(const struct buffer *buffer, bool is_source) {
    if (buffer->touched) memset(touched_words(buffer, is_source), 0, touched_count(buffer->nbytes) * sizeof *buffer->touched);
}

/* What was written has arrived, or is no longer watched. */
static void forget(size_t index) {
    const struct buffer *buffer = pending[index].is_kernel ? buffer_find(pending[index].begin) : NULL;
    if (buffer) clear_touched(buffer, pending[index].is_source);
    pending[index] = pending[--pending_count];
}

static bool is_on_pages(const struct pending *range, uintptr_t address) {
    return address >= range->first_page && address < range->end_page;
}

/* What the use comes too early for: of several something that writes.  NULL: for nothing. */
static const struct pending *met_range(uintptr_t address, bool is_write) {
    const struct pending *met = NULL;
    for (size_t i = pending_count; i-- > 0;) {
        const struct pending *range = &pending[i];
        const bool is_early = is_on_pages(range, address) && is_touched(range, address) && (is_write || !range->is_source);
        if (is_early && (!met || met->is_source)) met = range;
    }
    return met;
}

/* Whether the pages were ours.  They are not watched any longer. */
static bool meet(uintptr_t address, uintptr_t code, bool is_write) {
    const struct pending *met = met_range(address, is_write);
    bool is_ours = false;
    if (met) find_use(met, address, code);
    for (size_t i = pending_count; i-- > 0;) {
        if (!is_on_pages(&pending[i], address)) continue;
        is_ours = true;
        forget(i);
    }
    return is_ours;
}

static bool is_met(uintptr_t address, uintptr_t code, bool is_write) {
    if (is_inside) return false; /* of a call, to which the program gave a wrong pointer */
    host_enter(); /* opens the pages */
    const bool is_ours = meet(address, code, is_write);
    if (!is_ours) find_wrong_memory(address, code);
    host_leave();
    return is_ours;
}

/* The report tells faults of the program from those of this library. */
static void note_fault(uintptr_t address, uintptr_t code) {
    struct record_fault *fault = &runtime.record->fault;
    uintptr_t offset;
    fault->is_of_call = is_inside || !strcmp(object_of(code, &offset), object_of((uintptr_t)pending, &offset));
    fault->address = address;
    name_code(code, fault->place.file);
    fault->has_happened = true;
}

static void handle(int number, siginfo_t *info, void *context) {
    if (is_met((uintptr_t)info->si_addr, code_address(context), is_write_fault(context))) return;
    note_fault((uintptr_t)info->si_addr, code_address(context));
    sigaction(number, &previous, NULL); /* it comes again, to whom it is meant for */
}

static bool is_set;

void host_watch(void) {
    struct sigaction action = {.sa_sigaction = handle, .sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK};
    is_set = !sigaction(SIGSEGV, &action, &previous);
}

static bool is_watching(void) { return is_set && !runtime.record->settings.skips_races; }

/* ---- what is pending ----------------------------------------------------------------------------- */

/* The part of a page that is beyond the buffer is nobody's, unless the memory is the program's own.  A kernel's words are
 * known one by one: a use of others is let through. */
static void set_pages(struct pending *range, const struct buffer *buffer) {
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), end = buffer->address + buffer->nbytes;
    bool is_own = buffer->kind != BUFFER_REGISTERED;
    bool has_begin = range->is_kernel || (is_own && range->begin == buffer->address);
    bool has_end = range->is_kernel || (is_own && range->end == end);
    range->first_page = (range->begin + (has_begin ? 0 : page - 1)) / page * page;
    range->end_page = (range->end + (has_end ? page - 1 : 0)) / page * page;
}

/* false: there is nothing to be watched, or no room for it. */
static bool add(struct pending *range, const struct buffer *buffer) {
    if (pending_count == PENDING || !is_watching()) return false;
    set_pages(range, buffer);
    range->number = ++last_number;
    if (range->first_page >= range->end_page) return false;
    pending[pending_count++] = *range;
    return true;
}

/* Of a single row or plane how far the next is away may be 0. */
static size_t larger(size_t a, size_t b) { return a > b ? a : b; }

static void add_rows(const struct host_rows *rows, const char *what, bool is_source, cudaStream_t stream, int device) {
    const struct buffer *buffer = buffer_find((uintptr_t)rows->first);
    const size_t last_row = (rows->depth - 1) * rows->plane_height + rows->height - 1;
    if (!buffer || buffer->kind < BUFFER_MANAGED) return;
    struct pending range = {.begin = (uintptr_t)rows->first, .end = (uintptr_t)rows->first + last_row * rows->pitch + rows->width,
                            .width = rows->width, .pitch = larger(rows->pitch, rows->width), .height = rows->height,
                            .plane_height = larger(rows->plane_height, rows->height),
                            .stream = stream, .device = device, .is_source = is_source};
    snprintf(range.what, sizeof range.what, "%s may still %s it", what, is_source ? "read" : "write");
    add(&range, buffer);
}

static bool is_empty(const struct host_rows *rows) { return !rows->width || !rows->height || !rows->depth; }

bool host_note_copy(const struct host_rows *to, const struct host_rows *from, cudaStream_t stream, int device) {
    if (is_empty(to)) return true;
    if (!buffer_find((uintptr_t)to->first) || !buffer_find((uintptr_t)from->first)) return false;
    add_rows(to, "an asynchronous copy", false, stream, device);
    add_rows(from, "an asynchronous copy", true, stream, device);
    return true;
}

void host_note_fill(const struct host_rows *rows, cudaStream_t stream, int device) {
    if (!is_empty(rows)) add_rows(rows, "an asynchronous fill", false, stream, device);
}

/* ---- what kernels write and read ----------------------------------------------------------------- */

static bool is_of_system(const simt_event *event) {
    return strstr(event->block->launch->places[event->pc].opcode, ".sys") != NULL;
}

/* Volatile accesses and atomics of the whole system may be meant for a host that looks for them, or by which it is heard; atomics of
 * another scope, as atomicAdd has, are none for the host. */
static bool is_for_host(const simt_event *event, const simt_access *access) {
    return access->kind == SIMT_ATOMIC ? is_of_system(event) : access->order != SIMT_WEAK;
}

static void note_order(const simt_event *event) {
    if (is_of_system(event)) __atomic_store_n(&tells_host, true, __ATOMIC_RELAXED);
}

static void note_fence(void *block, const simt_event *event, bool beyond_block) {
    (void)block, (void)beyond_block;
    note_order(event);
}

static void mark(uint32_t *words, uint64_t first, uint64_t last) {
    for (uint64_t at = first / 32; at <= last / 32; at++) {
        uint32_t bits = UINT32_MAX;
        if (at == first / 32) bits &= UINT32_MAX << first % 32;
        if (at == last / 32) bits &= UINT32_MAX >> (31 - last % 32);
        if (bits & ~__atomic_load_n(&words[at], __ATOMIC_RELAXED)) __atomic_fetch_or(&words[at], bits, __ATOMIC_RELAXED);
    }
}

static void mark_in(uint32_t *words, const struct slot *slot, uint64_t address, uint64_t nbytes) {
    mark(words, (address - slot->address) / WORD, (address - slot->address + nbytes - 1) / WORD);
}

static void mark_bytes(const struct slot *slot, bool is_source, uint64_t address, uint64_t nbytes) {
    struct slot searched = {0};
    if (slot->is_shared) {
        const struct buffer *buffer = buffer_find(address);
        if (buffer && buffer->touched) searched = slot_for(buffer);
        slot = &searched;
    }
    if (address - slot->address < slot->nbytes)
        mark_in(slot->touched + (is_source ? touched_count(slot->nbytes) : 0), slot, address, nbytes);
}

/* The lanes' bytes if they follow each other, or are the same; 0: they do not. */
static uint64_t row_nbytes(const simt_access *access) {
    const uint64_t nbytes = (uint64_t)access->element_nbytes * access->elements;
    if (!access->has_stride || (access->stride && access->stride != nbytes)) return 0;
    return access->stride ? nbytes * (uint64_t)__builtin_popcount(access->lanes) : nbytes;
}

static void note_bytes(const simt_event *event, const simt_access *access, uint64_t begin, uint64_t end) {
    const struct slot *slot = &touched_slots[slot_of(begin)];
    if (slot->count && !is_for_host(event, access)) mark_bytes(slot, access->kind == SIMT_LOAD, begin, end - begin);
}

/* Lanes that follow each other, or want the same, are noted as one. */
static void note_lanes(const simt_event *event, const simt_access *access, uint64_t nbytes) {
    uint64_t begin = access->addresses[__builtin_ctz(access->lanes)], end = begin + nbytes;
    for (uint32_t lanes = access->lanes & (access->lanes - 1); lanes; lanes &= lanes - 1) {
        const uint64_t address = access->addresses[__builtin_ctz(lanes)];
        if (address - begin <= end - begin) {
            end = address + nbytes > end ? address + nbytes : end;
            continue;
        }
        note_bytes(event, access, begin, end);
        begin = address;
        end = begin + nbytes;
    }
    note_bytes(event, access, begin, end);
}

/* What is written and read of memory that the host uses, too.  Nothing is allocated while a kernel runs. */
static void note_access(void *block, const simt_event *event, const simt_access *access) {
    (void)block;
    if (!touched_buffers || access->space != SIMT_GLOBAL) return;
    if (access->order == SIMT_RELEASE || access->order == SIMT_ACQUIRE_RELEASE) note_order(event);
    const uint64_t row = row_nbytes(access), first = access->addresses[__builtin_ctz(access->lanes)];
    if (row) note_bytes(event, access, first, first + row);
    else note_lanes(event, access, (uint64_t)access->element_nbytes * access->elements);
}

const struct simt_observer host_observer = {.name = "host", .access = note_access, .fence = note_fence};

static void count_slots(const struct buffer *buffer, unsigned step) {
    const uint64_t end = buffer->address + buffer->nbytes - 1;
    for (uint64_t number = buffer->address >> SLOT_SHIFT; number <= end >> SLOT_SHIFT; number++) {
        struct slot *slot = &touched_slots[number % SLOTS];
        if (!slot->count) *slot = slot_for(buffer);
        else slot->is_shared = true; /* until it has none: which of two is left is not known */
        slot->count += step;
    }
    touched_buffers += step;
}

void host_create_touched(struct buffer *buffer) {
    if (buffer->kind != BUFFER_MANAGED && buffer->kind != BUFFER_PINNED) return;
    buffer->touched = calloc(2 * touched_count(buffer->nbytes), sizeof *buffer->touched);
    if (buffer->touched) count_slots(buffer, 1);
}

void host_destroy_touched(const struct buffer *buffer) {
    if (buffer->touched) count_slots(buffer, -1u);
    free(buffer->touched);
}

/* From its first marked word to its last. */
static void note_words(const struct pending *note, const struct buffer *buffer) {
    const uint32_t *words = touched_words(buffer, note->is_source);
    size_t first = 0, end = touched_count(buffer->nbytes);
    while (first < end && !words[first]) first++;
    while (first < end && !words[end - 1]) end--;
    if (first == end) return;
    const uint64_t end_nbytes = end * 32 * WORD;
    struct pending range = *note;
    range.begin = buffer->address + first * 32 * WORD;
    range.end = buffer->address + (end_nbytes < buffer->nbytes ? end_nbytes : buffer->nbytes);
    if (!add(&range, buffer)) clear_touched(buffer, note->is_source);
}

static void note_side(const char *kernel, bool is_source, cudaStream_t stream, int device) {
    char name[256];
    const struct buffer *buffer;
    struct pending note = {.stream = stream, .device = device, .is_source = is_source, .is_kernel = true};
    readable_name(kernel, name, sizeof name);
    snprintf(note.what, sizeof note.what, "the kernel %.150s may still %s it", name, is_source ? "read" : "write");
    for (size_t at = 0; (buffer = buffer_next(&at));) {
        if (!buffer->touched) continue;
        if (tells_host) clear_touched(buffer, is_source);
        else note_words(&note, buffer);
    }
}

void host_note_launch(const char *kernel, cudaStream_t stream, int device) {
    if (touched_buffers)
        for (int is_source = 0; is_source < 2; is_source++) note_side(kernel, is_source, stream, device);
    tells_host = false;
}

/* ---- waiting ------------------------------------------------------------------------------------- */

void host_wait_all(void) {
    while (pending_count > 0) forget(pending_count - 1);
}

void host_wait_device(int device) {
    for (size_t i = pending_count; i-- > 0;)
        if (pending[i].device == device || pending[i].is_anywhere) forget(i);
    order_wait_device(device);
}

/* A device's default streams wait for its others, and these for them. */
static bool is_default(cudaStream_t stream) { return (uintptr_t)stream <= 2; }

static bool is_covered(const struct pending *range, cudaStream_t stream, int device, uint64_t number) {
    if (range->number > number) return false;
    if (range->is_anywhere) return true;
    return range->device == device && (range->stream == stream || is_default(range->stream) || is_default(stream));
}

void host_wait_until(cudaStream_t stream, int device, uint64_t number) {
    for (size_t i = pending_count; i-- > 0;)
        if (is_covered(&pending[i], stream, device, number)) forget(i);
}

uint64_t host_number(void) { return last_number; }

void host_join(cudaStream_t stream, int device, uint64_t number) {
    for (size_t i = 0; i < pending_count; i++)
        if (is_covered(&pending[i], stream, device, number)) pending[i].is_anywhere = true;
}
