/* Operations that no stream, event, edge of a graph or wait of the host's orders, and what they touch.
 *
 * They are executed one after another, so that nothing goes wrong here as it may on a GPU.  Each notes the bytes that it
 * touches, and is compared with those that it does not wait for.  An operation is remembered until the host has waited for
 * it, or there are too many: then nothing is told of it any more. */
#include "runtime.h"

#include <stdio.h>
#include <string.h>

#include "report/kernel_name.h"
#include "simt/simt_observer.h"

enum { OPERATIONS = 64, HOLDERS = 2 };
static const size_t nbytes_max = (size_t)256 << 20; /* of all that is noted */

struct remembered {
    struct touched touched;
    order_set before; /* those that it waits for */
    struct order_party party;
    uint64_t number; /* in the order in which they ran */
    int device;
    bool is_of_graph;
    char name[RECORD_NAME];
};

static struct remembered operations[OPERATIONS];
static order_set live;
static struct remembered *running; /* NULL: none, or none that is watched */
static struct touched *also[ORDER_PLACES];
static struct order_party begun; /* the kernel */
static uint64_t last_number;
static bool is_watching;
static order_strike *holders[HOLDERS];
static size_t holder_count;

static order_set bit_of(const struct remembered *operation) { return (order_set)1 << (operation - operations); }

void order_hold(order_strike *strike) { holders[holder_count++] = strike; }

void order_watch(void) { is_watching = !runtime.record->settings.skips_races; }

/* ---- remembering --------------------------------------------------------------------------------- */

/* Its bit will be another operation's. */
static void forget(struct remembered *operation) {
    const order_set bit = bit_of(operation);
    touched_clear(&operation->touched);
    live &= ~bit;
    for (size_t i = 0; i < OPERATIONS; i++) operations[i].before &= ~bit;
    for (size_t i = 0; i < holder_count; i++) holders[i](bit);
}

void order_wait(order_set set) {
    for (size_t i = 0; i < OPERATIONS; i++)
        if (live & set & (order_set)1 << i) forget(&operations[i]);
}

void order_wait_device(int device) {
    for (size_t i = 0; i < OPERATIONS; i++)
        if ((live >> i & 1) && operations[i].device == device) order_wait(operations[i].before | (order_set)1 << i);
}

static struct remembered *oldest(void) {
    struct remembered *found = NULL;
    for (size_t i = 0; i < OPERATIONS; i++)
        if ((live >> i & 1) && (!found || operations[i].number < found->number)) found = &operations[i];
    return found;
}

static size_t noted_nbytes(void) {
    size_t nbytes = 0;
    for (size_t i = 0; i < OPERATIONS; i++) nbytes += operations[i].touched.nbytes;
    return nbytes;
}

static struct remembered *take(void) {
    while (live == ~(order_set)0 || (live && noted_nbytes() > nbytes_max)) forget(oldest());
    return &operations[__builtin_ctzll(~live)];
}

/* ---- one operation ------------------------------------------------------------------------------- */

void order_begin(order_set before, bool is_of_graph, const char *name) {
    if (!is_watching || running) return;
    running = take();
    *running = (struct remembered){
        .before = before & live, .number = ++last_number, .device = runtime_thread.device, .is_of_graph = is_of_graph};
    snprintf(running->name, sizeof running->name, "%s", name);
    running->party.name = running->name;
    touched_open(&running->touched);
}

void order_note_in(enum order_place place, struct touched *touched) {
    __atomic_store_n(&also[place], touched, __ATOMIC_RELEASE);
}

static struct touched *place_of(enum order_place place) { return __atomic_load_n(&also[place], __ATOMIC_ACQUIRE); }

static bool is_noting(void) { return running || place_of(ORDER_WHOLE) || place_of(ORDER_AFTER); }

static void note(enum touched_how how, uint64_t address, uint64_t nbytes, uint32_t pc) {
    if (running) touched_add(&running->touched, how, address, nbytes, pc);
    for (int i = 0; i < ORDER_PLACES; i++) {
        struct touched *touched = place_of(i);
        if (touched && touched->nbytes < nbytes_max) touched_add(touched, how, address, nbytes, pc);
    }
}

void order_touch(const void *pointer, size_t nbytes, enum touched_how how) {
    const struct buffer *buffer = is_noting() ? buffer_find((uintptr_t)pointer) : NULL;
    if (buffer) note(how, buffer->device_address + ((uintptr_t)pointer - buffer->address), nbytes, TOUCHED_NOWHERE);
}

/* ---- races --------------------------------------------------------------------------------------- */

static const simt_place *place_at(const struct order_party *party, uint32_t pc) {
    return pc < party->place_count ? &party->places[pc] : NULL;
}

struct order_party order_party(const char *name) {
    return (struct order_party){name, begun.places, begun.place_count};
}

void order_tell(const struct order_party *first, const struct order_party *second, const struct touched_meeting *meeting,
                const char *why) {
    static const char *const done[] = {"loads", "stores to", "updates", "frees"}, *const doing[] = {"load", "store to", "update"};
    static simt_finding finding;
    char names[2][RECORD_NAME];
    readable_name(first->name, names[0], RECORD_NAME);
    readable_name(second->name, names[1], RECORD_NAME);
    const simt_place *place = place_at(second, meeting->second_pc), *other = place_at(first, meeting->first_pc);
    const bool has_both = place && other;
    if (!place) place = other; /* of a copy, say, the line of what it races with */
    finding = (simt_finding){.kind = SIMT_FINDING_RACE,
                             .kernel = second->name,
                             .file = place ? place->file : "",
                             .line = place ? place->line : 0,
                             .thread = {RECORD_ALL_THREADS},
                             .other_thread = {RECORD_ALL_THREADS},
                             .address = meeting->address,
                             .count = 1,
                             .has_other = has_both,
                             .other_file = other ? other->file : "",
                             .other_line = other ? other->line : 0};
    snprintf(finding.message, sizeof finding.message,
             "%.100s %s 0x%llx, which %.100s may still %s: %s", names[1], done[meeting->second],
             (unsigned long long)meeting->address, names[0], doing[meeting->first], why);
    finding_note(&finding, NULL, 0);
}

static void tell(const struct remembered *first, const struct remembered *second, const struct touched_meeting *meeting) {
    const bool is_of_graph = first->is_of_graph && second->is_of_graph;
    order_tell(&first->party, &second->party, meeting,
               is_of_graph ? "no edge of the graph orders the two: add one (cudaGraphAddDependencies, say)"
                     : "no stream or event orders the two: give both one stream, or let the other wait (cudaStreamWaitEvent, say)");
}

/* Those that it races with count as before it from then on: what comes after it lacks the same order, not another one. */
static void compare(struct remembered *second) {
    order_set told = 0;
    for (size_t i = 0; i < OPERATIONS; i++) {
        const order_set bit = (order_set)1 << i;
        struct touched_meeting meeting;
        if (!(live & bit) || (second->before & bit)) continue;
        if (!touched_meet(&operations[i].touched, &second->touched, &meeting)) continue;
        tell(&operations[i], second, &meeting);
        told |= bit;
    }
    second->before |= told;
}

void order_free(order_set before, const char *name, const struct buffer *buffer) {
    const struct remembered freeing = {.party.name = name};
    struct touched_meeting meeting;
    for (size_t i = 0; i < OPERATIONS; i++) {
        if (!((live & ~before) >> i & 1)) continue;
        if (touched_meet_free(&operations[i].touched, buffer->device_address, buffer->nbytes, &meeting)) tell(&operations[i], &freeing, &meeting);
    }
}

order_set order_end(void) {
    struct remembered *ended = running;
    running = NULL;
    if (!ended) return 0;
    compare(ended);
    live |= bit_of(ended);
    return ended->before | bit_of(ended);
}

void order_after_all(void) {
    if (running) running->before = live;
}

cudaError_t order_end_waited(cudaError_t error) {
    order_wait(order_end());
    return error;
}

/* ---- kernels ------------------------------------------------------------------------------------- */

static bool begin_kernel(void *launch, const simt_launch_view *view) {
    (void)launch;
    begun = (struct order_party){view->kernel, view->places, view->place_count};
    if (!running) return true;
    running->party = order_party(running->name);
    snprintf(running->name, sizeof running->name, "%s", view->kernel);
    return true;
}

/* Atomic loads wait for others, or do not mind them. */
static bool is_noted(const simt_access *access) {
    return access->space == SIMT_GLOBAL && is_noting() && (access->kind != SIMT_LOAD || access->order == SIMT_WEAK);
}

static enum touched_how how_of(const simt_access *access) {
    if (access->kind == SIMT_LOAD) return TOUCHED_LOAD;
    return access->kind == SIMT_STORE && access->order == SIMT_WEAK ? TOUCHED_STORE : TOUCHED_ATOMIC;
}

static void note_access(void *block, const simt_event *event, const simt_access *access) {
    (void)block;
    if (!is_noted(access)) return;
    const enum touched_how how = how_of(access);
    const uint32_t nbytes = access->element_nbytes * access->elements;
    const uint32_t first = (uint32_t)__builtin_ctz(access->lanes);
    if (access->has_stride && (!access->stride || access->stride == nbytes)) {
        const uint32_t lanes = access->stride ? (uint32_t)__builtin_popcount(access->lanes) : 1;
        note(how, access->addresses[first], (uint64_t)nbytes * lanes, event->pc);
        return;
    }
    for (uint32_t lanes = access->lanes; lanes; lanes &= lanes - 1)
        note(how, access->addresses[__builtin_ctz(lanes)], nbytes, event->pc);
}

static void note_span(const simt_event *event, const simt_span *span, enum touched_how how) {
    if (span->space == SIMT_GLOBAL && span->nbytes) note(how, span->address, span->nbytes, event->pc);
}

static void note_copy(void *block, const simt_event *event, const simt_copy *copied) {
    (void)block;
    if (!is_noting()) return;
    note_span(event, &copied->from, TOUCHED_LOAD);
    note_span(event, &copied->to, copied->is_reduction ? TOUCHED_ATOMIC : TOUCHED_STORE);
}

const struct simt_observer order_observer = {
    .name = "order", .launch_begin = begin_kernel, .access = note_access, .copy = note_copy};
