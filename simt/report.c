/* What a launch leaves behind: counts by name, findings, and in detail, lines and replays. */
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

struct line_list {
    simt_line *items;
    size_t count, capacity;
};

struct simt_report {
    struct count counts[COUNTS_MAX];
    size_t count_count;
    struct found *findings;
    size_t finding_count, finding_capacity;
    pthread_mutex_t lock; /* of the findings */
    struct line_list lines, instructions;
    simt_replay *replays;
    size_t replay_count;
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
    simt_report_clear_lines(report);
    for (size_t i = 0; i < report->replay_count; i++) free((void *)report->replays[i].moments);
    free(report->replays);
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

static void fill_other(simt_finding *finding, const simt_launch_view *view, const simt_party *other) {
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

/* An event's block is the beginning of the machine's. */
static void tell_observers(const struct launch *launch, const simt_event *event, size_t index,
                           const simt_finding *finding) {
    for (uint32_t o = 0; o < launch->finding.count; o++) {
        const struct hook *hook = &launch->finding.hooks[o];
        const struct block *block = (const struct block *)(const void *)event->block;
        hook->observer->finding(block->states + hook->state, event, index, finding);
    }
}

static bool find(const simt_event *event, simt_finding *finding, const char *format, va_list arguments) {
    const struct launch *launch = event->block->machine;
    simt_report *report = launch->report;
    pthread_mutex_lock(&report->lock);
    struct found *found = find_again(report, finding->kind, event->pc) ? NULL : find_new(report);
    size_t index = report->finding_count - 1;
    if (found) {
        vsnprintf(finding->message, sizeof finding->message, format, arguments);
        *found = (struct found){*finding, event->pc};
    }
    pthread_mutex_unlock(&report->lock);
    if (found) tell_observers(launch, event, index, finding);
    return found != NULL;
}

bool simt_find(const simt_event *event, enum simt_finding_kind kind, uint32_t lane, uint64_t address,
               const char *format, ...) {
    simt_finding finding = {.kind = kind, .address = address, .count = 1};
    va_list arguments;
    fill_place(&finding, event, lane);
    va_start(arguments, format);
    bool is_new = find(event, &finding, format, arguments);
    va_end(arguments);
    return is_new;
}

bool simt_find_race(const simt_event *event, uint32_t lane, uint64_t address, const simt_party *other,
                    const char *format, ...) {
    simt_finding finding = {.kind = SIMT_FINDING_RACE, .address = address, .count = 1};
    va_list arguments;
    fill_place(&finding, event, lane);
    fill_other(&finding, event->block->launch, other);
    va_start(arguments, format);
    bool is_new = find(event, &finding, format, arguments);
    va_end(arguments);
    return is_new;
}

void simt_stop(const simt_event *event) { simt_launch_stop(event->block->machine); }

/* ---- lines */

void simt_line_add(simt_line *sum, const simt_line *line) {
#define ADD(name) sum->name += line->name;
    SIMT_LINE_COUNTS(ADD)
#undef ADD
    if (line->bank_degree > sum->bank_degree) sum->bank_degree = line->bank_degree;
}

/* Room for one more before the item at `index`; NULL: no memory. */
static simt_line *insert(struct line_list *list, size_t index) {
    if (list->count == list->capacity) {
        size_t capacity = 2 * list->capacity + 64;
        simt_line *grown = realloc(list->items, capacity * sizeof *grown);
        if (!grown) return NULL;
        list->items = grown;
        list->capacity = capacity;
    }
    memmove(list->items + index + 1, list->items + index, (list->count - index) * sizeof *list->items);
    list->count++;
    return &list->items[index];
}

static int compare_lines(const simt_line *a, const simt_line *b) {
    int files = strcmp(a->file, b->file);
    return files ? files : (a->line > b->line) - (a->line < b->line);
}

/* Where the line is, or belongs. */
static size_t search(const struct line_list *list, const simt_line *line) {
    size_t low = 0, high = list->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare_lines(&list->items[middle], line) < 0) low = middle + 1;
        else high = middle;
    }
    return low;
}

bool simt_report_add_instruction(simt_report *report, const simt_line *instruction) {
    simt_line *added = insert(&report->instructions, report->instructions.count);
    if (!added) return false;
    *added = *instruction;
    size_t index = search(&report->lines, instruction);
    if (index < report->lines.count && !compare_lines(&report->lines.items[index], instruction)) {
        simt_line_add(&report->lines.items[index], instruction);
        return true;
    }
    simt_line *line = insert(&report->lines, index);
    if (line) *line = *instruction;
    return line != NULL;
}

void simt_report_clear_lines(simt_report *report) {
    free(report->lines.items);
    free(report->instructions.items);
    report->lines = report->instructions = (struct line_list){0};
}

static const simt_line *line_get(const struct line_list *list, size_t index) {
    return index < list->count ? &list->items[index] : NULL;
}

size_t simt_report_line_count(const simt_report *report) { return report->lines.count; }
size_t simt_report_instruction_count(const simt_report *report) { return report->instructions.count; }

const simt_line *simt_report_line(const simt_report *report, size_t index) {
    return line_get(&report->lines, index);
}

const simt_line *simt_report_instruction(const simt_report *report, size_t index) {
    return line_get(&report->instructions, index);
}

/* ---- replays */

bool simt_report_add_replay(simt_report *report, const simt_replay *replay) {
    simt_replay *grown = realloc(report->replays, (report->replay_count + 1) * sizeof *grown);
    if (!grown) return false;
    report->replays = grown;
    grown[report->replay_count++] = *replay;
    return true;
}

size_t simt_report_replay_count(const simt_report *report) { return report->replay_count; }

const simt_replay *simt_report_replay(const simt_report *report, size_t index) {
    return index < report->replay_count ? &report->replays[index] : NULL;
}
