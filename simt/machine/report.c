/* The report of a launch: counts by name, findings, and in detail, lines and replays. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "machine.h"

enum { FINDINGS_MAX = 1000 };

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
    struct count *counts;
    size_t count_count, count_capacity;
    struct found *findings;
    size_t finding_count, finding_capacity;
    pthread_mutex_t lock; /* of the findings */
    struct line_list lines, instructions;
    simt_replay *replays;
    size_t replay_count;
    atomic_bool is_cut; /* something is not in it for want of memory */
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
    free(report->lines.items);
    free(report->instructions.items);
    for (size_t i = 0; i < report->replay_count; i++) free((void *)report->replays[i].entries);
    free(report->replays);
    free(report->findings);
    free(report->counts);
    free(report);
}

void simt_report_lose(simt_report *report) { atomic_store_explicit(&report->is_cut, true, memory_order_relaxed); }

bool simt_report_is_whole(const simt_report *report) {
    return !atomic_load_explicit(&report->is_cut, memory_order_relaxed);
}

/* ---- counts */

void simt_report_add(simt_report *report, const char *name, double value) {
    if (report->count_count == report->count_capacity) {
        size_t capacity = 2 * report->count_capacity + 64;
        struct count *grown = realloc(report->counts, capacity * sizeof *grown);
        if (!grown) {
            simt_report_lose(report);
            return;
        }
        report->counts = grown;
        report->count_capacity = capacity;
    }
    report->counts[report->count_count++] = (struct count){name, value};
}

size_t simt_report_counter_count(const simt_report *report) {
    return report ? report->count_count : 0;
}

const char *simt_report_counter_name(const simt_report *report, size_t index) {
    return index < report->count_count ? report->counts[index].name : NULL;
}

double simt_report_counter_value(const simt_report *report, const char *name, double otherwise) {
    for (size_t i = 0; i < simt_report_counter_count(report); i++)
        if (strcmp(report->counts[i].name, name) == 0) return report->counts[i].value;
    return otherwise;
}

/* ---- findings */

const char *simt_finding_kind_name(enum simt_finding_kind kind) {
    static const char *const names[] = {"race",        "bounds",  "uninitialised", "barrier", "misaligned",
                                        "runaway", "unsupported",   "shuffle", "trap"};
    return (size_t)kind < sizeof names / sizeof *names ? names[kind] : "unknown";
}

size_t simt_report_finding_count(const simt_report *report) { return report ? report->finding_count : 0; }

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

/* NULL: there are enough already, or there is no memory. */
static struct found *find_new(simt_report *report, enum noted *noted) {
    *noted = NOTED_AGAIN;
    if (report->finding_count == report->finding_capacity) {
        size_t capacity = 2 * report->finding_capacity + 8;
        if (capacity > FINDINGS_MAX) return NULL;
        struct found *grown = realloc(report->findings, capacity * sizeof *grown);
        *noted = grown ? NOTED_AGAIN : NOTED_NO_MEMORY;
        if (!grown) return NULL;
        report->findings = grown;
        report->finding_capacity = capacity;
    }
    *noted = NOTED_NEW;
    return &report->findings[report->finding_count++];
}

enum noted simt_report_note(simt_report *report, simt_finding *finding, uint32_t pc, size_t *index,
                            const char *format, va_list arguments) {
    enum noted noted = NOTED_AGAIN;
    pthread_mutex_lock(&report->lock);
    struct found *found = find_again(report, finding->kind, pc) ? NULL : find_new(report, &noted);
    *index = report->finding_count - 1;
    if (found) {
        vsnprintf(finding->message, sizeof finding->message, format, arguments);
        *found = (struct found){*finding, pc};
    }
    pthread_mutex_unlock(&report->lock);
    return noted;
}

/* ---- lines */

void simt_line_add(simt_line *sum, const simt_line *line) {
#define ADD(name) sum->name += line->name;
    SIMT_LINE_COUNTS(ADD)
#undef ADD
    if (line->bank_degree > sum->bank_degree) sum->bank_degree = line->bank_degree;
}

/* Room for one more before the item at `index`; NULL: no memory. */
static simt_line *insert(simt_report *report, struct line_list *list, size_t index) {
    if (list->count == list->capacity) {
        size_t capacity = 2 * list->capacity + 64;
        simt_line *grown = realloc(list->items, capacity * sizeof *grown);
        if (!grown) {
            simt_report_lose(report);
            return NULL;
        }
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

/* The index of the line, or where to insert it. */
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
    simt_line *added = insert(report, &report->instructions, report->instructions.count);
    if (!added) return false;
    *added = *instruction;
    size_t index = search(&report->lines, instruction);
    if (index < report->lines.count && !compare_lines(&report->lines.items[index], instruction)) {
        simt_line_add(&report->lines.items[index], instruction);
        return true;
    }
    simt_line *line = insert(report, &report->lines, index);
    if (line) *line = *instruction;
    return line != NULL;
}

static const simt_line *line_get(const struct line_list *list, size_t index) {
    return index < list->count ? &list->items[index] : NULL;
}

size_t simt_report_line_count(const simt_report *report) { return report ? report->lines.count : 0; }
size_t simt_report_instruction_count(const simt_report *report) { return report ? report->instructions.count : 0; }

const simt_line *simt_report_line(const simt_report *report, size_t index) {
    return line_get(&report->lines, index);
}

const simt_line *simt_report_instruction(const simt_report *report, size_t index) {
    return line_get(&report->instructions, index);
}

/* ---- replays */

bool simt_report_add_replay(simt_report *report, const simt_replay *replay) {
    simt_replay *grown = realloc(report->replays, (report->replay_count + 1) * sizeof *grown);
    if (!grown) {
        simt_report_lose(report);
        return false;
    }
    report->replays = grown;
    grown[report->replay_count++] = *replay;
    return true;
}

size_t simt_report_replay_count(const simt_report *report) { return report ? report->replay_count : 0; }

const simt_replay *simt_report_replay(const simt_report *report, size_t index) {
    return index < report->replay_count ? &report->replays[index] : NULL;
}
