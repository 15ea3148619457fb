/* How a launch is stopped, and how what is wrong with a kernel gets into the report. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "machine.h"

/* ---- stopping */

void simt_launch_stop(struct launch *launch) {
    atomic_store_explicit(&launch->stopped, true, memory_order_relaxed);
}

void simt_launch_no_memory(struct launch *launch) {
    atomic_store_explicit(&launch->out_of_memory, true, memory_order_relaxed);
    simt_launch_stop(launch);
}

void simt_stop(const simt_event *event) { simt_launch_stop(event->block->machine); }

/* ---- findings */

static void fill_thread(uint32_t thread[3], const simt_launch_view *view, uint32_t number) {
    thread[0] = number % view->block[0];
    thread[1] = number / view->block[0] % view->block[1];
    thread[2] = number / view->block[0] / view->block[1];
}

static void fill_place(simt_finding *finding, const simt_event *event, uint32_t lane) {
    const simt_launch_view *view = event->block->launch;
    const simt_place *place = &view->places[event->pc];
    finding->kernel = view->kernel;
    finding->file = place->file;
    finding->line = place->line;
    finding->ptx_line = place->ptx_line;
    memcpy(finding->block, event->block->block, sizeof finding->block);
    fill_thread(finding->thread, view, event->warp * view->warp_size + lane);
}

static void fill_other(simt_finding *finding, const simt_launch_view *view, const simt_racing_access *other) {
    const simt_place *place = &view->places[other->pc];
    const uint32_t *grid = view->grid;
    finding->has_other = true;
    finding->other_file = place->file;
    finding->other_line = place->line;
    finding->other_ptx_line = place->ptx_line;
    finding->other_block[0] = (uint32_t)(other->block % grid[0]);
    finding->other_block[1] = (uint32_t)(other->block / grid[0] % grid[1]);
    finding->other_block[2] = (uint32_t)(other->block / grid[0] / grid[1]);
    fill_thread(finding->other_thread, view, other->thread);
}

/* The view of a block that events carry is the first member of the simulator's block. */
static void notify_observers(const struct launch *launch, const simt_event *event, size_t index,
                             const simt_finding *finding) {
    for (uint32_t o = 0; o < launch->finding.count; o++) {
        const struct hook *hook = &launch->finding.hooks[o];
        const struct block *block = (const struct block *)(const void *)event->block;
        hook->observer->finding(block->states + hook->state, event, index, finding);
    }
}

static bool record(const simt_event *event, const simt_finding *finding, const struct meeting_note *note,
                   const char *format, va_list arguments) {
    struct launch *launch = event->block->machine;
    size_t index;
    enum noted noted = simt_report_note(launch->report, finding, note, &index, format, arguments);
    if (noted == NOTED_NEW || noted == NOTED_STRONGER) notify_observers(launch, event, index, finding);
    else simt_block_charge((struct block *)(uintptr_t)event->block, 1);
    if (noted == NOTED_NO_MEMORY) simt_launch_no_memory(launch);
    return noted == NOTED_NEW;
}

/* Whether one thread's element is meant, not a fragment or a copy. */
static bool is_plain_access(const struct code *code) {
    static const char *const bases[] = {"ld", "st", "atom", "red"};
    for (size_t b = 0; code->instruction && b < sizeof bases / sizeof *bases; b++)
        if (simt_is_base(code->instruction, bases[b])) return !simt_has(code->instruction, "async");
    return false;
}

static const struct code *code_of(const simt_event *event) {
    const struct launch *launch = event->block->machine;
    return &launch->image->codes[event->pc];
}

static bool is_of_mbarrier(const struct code *code) { return code->instruction && simt_is_base(code->instruction, "mbarrier"); }

static void put_element(const struct placed *array, uint64_t address, uint64_t nbytes, uint32_t size, char *text, size_t text_nbytes) {
    char name[64];
    simt_plain_name(array->variable->name, name, sizeof name);
    const int64_t offset = (int64_t)(address - array->address);
    const long long index = offset / size - (offset % size < 0), count = (long long)(nbytes / size);
    if (count == 1 && !index) snprintf(text, text_nbytes, " (`%s`)", name);
    else snprintf(text, text_nbytes, " (index %lld of `%s`, %lld elements of %u bytes)", index, name, count, size);
}

/* Bytes of an element: those that are accessed, or else what the alignment says. */
static uint32_t element_of(const struct code *code, const struct variable *variable) {
    const uint64_t size = is_plain_access(code) ? code->memory.vector.element_nbytes : variable->alignment;
    return size && size <= sizeof(uint64_t) && variable->nbytes % size == 0 ? (uint32_t)size : 1;
}

const char *simt_array_cure(int64_t offset) {
    return offset < 0 ? ": no element comes before the first: leave it out there, or correct the index"
                      : ": each index must be below its extent, or the array be greater";
}

const char *simt_alignment_cure(const simt_event *event) {
    return is_plain_access(code_of(event)) ? ": start at one, as each allocation does, or access narrower elements, one by one" : "";
}

/* Which element of which variable of the module the address in global memory is.  Returns `text`. */
static const char *name_variable(const simt_event *event, uint64_t address, char *text, size_t nbytes) {
    struct placed found;
    *text = '\0';
    if (!simt_global_variable(event->block->machine, address, &found)) return text;
    put_element(&found, address, found.variable->nbytes, element_of(code_of(event), found.variable), text, nbytes);
    return text;
}

/* Beyond the end of that variable. */
static void add_cure(const simt_event *event, uint64_t address, char *text, size_t nbytes) {
    struct placed found;
    const size_t length = strlen(text);
    if (!length || !simt_global_variable(event->block->machine, address, &found)) return;
    if (address - found.address >= found.variable->nbytes)
        snprintf(text + length, nbytes - length, "%s", simt_array_cure((int64_t)(address - found.address)));
}

/* Which element of which array the address in shared memory is, or of which variable.  Returns `text`. */
static const char *name_element(const simt_event *event, uint64_t address, char *text, size_t nbytes) {
    const struct launch *launch = event->block->machine;
    const struct code *code = code_of(event);
    struct placed array;
    *text = '\0';
    if (!is_plain_access(code) && !is_of_mbarrier(code)) return text;
    if (!simt_shared_array(launch, code->memory.array, address, &array)) return name_variable(event, address, text, nbytes);
    const uint64_t end = array.variable->nbytes ? array.address + array.variable->nbytes : launch->view.shared_nbytes;
    put_element(&array, address, end - array.address, code->memory.vector.element_nbytes, text, nbytes);
    return text;
}

static struct meeting_note note_of(const simt_event *event, uint32_t lanes) {
    return (struct meeting_note){.element = "",
                                 .pc = event->pc,
                                 .other_pc = event->pc,
                                 .first_thread = event->warp * event->block->launch->warp_size,
                                 .lanes = lanes};
}

bool simt_record_finding(const simt_event *event, enum simt_finding_kind kind, uint32_t lane,
                         uint64_t address, const char *format, ...) {
    simt_finding finding = {.kind = kind, .address = address};
    struct meeting_note note = note_of(event, UINT32_C(1) << lane);
    char element[256];
    va_list arguments;
    note.strength = kind == SIMT_FINDING_BARRIER;
    const bool is_access = kind == SIMT_FINDING_RUNAWAY || is_plain_access(code_of(event));
    if (is_access) note.element = name_variable(event, address, element, sizeof element);
    if (is_access && kind == SIMT_FINDING_BOUNDS) add_cure(event, address, element, sizeof element);
    if (kind == SIMT_FINDING_BARRIER && is_of_mbarrier(code_of(event))) note.element = name_element(event, address, element, sizeof element);
    fill_place(&finding, event, lane);
    va_start(arguments, format);
    bool is_new = record(event, &finding, &note, format, arguments);
    va_end(arguments);
    return is_new;
}

void simt_record_finding_of_launch(const simt_event *event, enum simt_finding_kind kind, uint32_t lanes, uint64_t address,
                                   const char *format, ...) {
    struct launch *launch = event->block->machine;
    simt_finding finding = {.kind = kind, .address = address};
    struct meeting_note note = note_of(event, lanes);
    size_t index;
    va_list arguments;
    note.strength = 0;
    fill_place(&finding, event, (uint32_t)__builtin_ctz(lanes));
    va_start(arguments, format);
    if (simt_report_note(launch->report, &finding, &note, &index, format, arguments) == NOTED_NO_MEMORY) simt_report_lose(launch->report);
    va_end(arguments);
}

bool simt_record_finding_of_lanes(const simt_event *event, enum simt_finding_kind kind, uint32_t lanes,
                                  uint64_t address, const char *format, ...) {
    simt_finding finding = {.kind = kind, .address = address};
    struct meeting_note note = note_of(event, lanes);
    char element[128];
    va_list arguments;
    note.strength = kind == SIMT_FINDING_BARRIER;
    if (kind == SIMT_FINDING_UNINITIALISED) note.element = name_element(event, address, element, sizeof element);
    fill_place(&finding, event, (uint32_t)__builtin_ctz(lanes));
    va_start(arguments, format);
    bool is_new = record(event, &finding, &note, format, arguments);
    va_end(arguments);
    return is_new;
}

void simt_show_finding(const simt_event *event, enum simt_finding_kind kind, uint32_t lane, uint64_t address, const char *message) {
    struct launch *launch = event->block->machine;
    simt_finding finding = {.kind = kind, .address = address};
    struct meeting_note note = note_of(event, UINT32_C(1) << lane);
    char element[128];
    note.element = name_element(event, address, element, sizeof element);
    fill_place(&finding, event, lane);
    snprintf(finding.message, sizeof finding.message, "%s", message);
    simt_report_show(launch->report, &finding, &note, event->warp);
}

static struct meeting_note note_of_race(const simt_event *event, uint32_t lane, const simt_racing_access *other) {
    struct meeting_note note = note_of(event, other->lanes | UINT32_C(1) << lane);
    note.other_pc = other->pc;
    note.has_other_thread = other->block == event->block->index;
    note.other_thread = other->thread;
    note.other_is_later = other->is_later;
    note.strength = other->strength;
    note.missing = other->missing;
    note.where = other->where;
    note.update = other->update;
    note.follows = other->follows;
    note.copies = other->copies;
    note.is_before_copy = other->is_before_copy;
    note.loop = other->loop;
    note.is_of_phase = other->is_of_phase;
    note.teller = other->teller;
    note.is_of_teller = other->is_of_teller;
    note.handover = other->handover;
    return note;
}

bool simt_record_race_again(const simt_event *event, uint32_t lane, const simt_racing_access *other) {
    const struct launch *launch = event->block->machine;
    const struct meeting_note note = note_of_race(event, lane, other);
    if (!simt_report_note_again(launch->report, SIMT_FINDING_RACE, &note)) return false;
    simt_block_charge((struct block *)(uintptr_t)event->block, 1);
    return true;
}

bool simt_record_race(const simt_event *event, uint32_t lane, uint64_t address,
                      const simt_racing_access *other, const char *format, ...) {
    simt_finding finding = {.kind = SIMT_FINDING_RACE, .address = address};
    struct meeting_note note = note_of_race(event, lane, other);
    char element[128];
    va_list arguments;
    note.element = name_element(event, address, element, sizeof element);
    fill_place(&finding, event, lane);
    fill_other(&finding, event->block->launch, other);
    va_start(arguments, format);
    bool is_new = record(event, &finding, &note, format, arguments);
    va_end(arguments);
    return is_new;
}
