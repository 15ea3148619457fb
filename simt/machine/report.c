/* The report of a launch: counts by name, findings, and in detail, lines and replays. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "machine.h"

struct count {
    const char *name; /* a string literal of the observer's */
    double value;
};

struct costs {
    simt_line line;
    simt_line_least least;
    simt_line_cures cures; /* of a line, as the next */
    simt_line_rows rows;
    uint64_t spare_barriers;
    simt_line_repeated repeated;
    uint64_t guesses;
};

struct line_list {
    struct costs *items;
    size_t count, capacity;
};

struct simt_report {
    struct count *counts;
    size_t count_count, count_capacity;
    struct found_list findings;
    pthread_mutex_t lock; /* of the findings */
    struct line_list lines, instructions;
    simt_replay *replays;
    size_t replay_count;
    atomic_bool is_cut; /* something is missing because memory ran out */
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
    simt_findings_clear(&report->findings);
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

/* By finding, its own warp first. */
static int compare_replays(const void *a, const void *b) {
    const simt_replay *one = a, *other = b;
    if (one->finding != other->finding) return one->finding < other->finding ? -1 : 1;
    return (int)one->is_other - (int)other->is_other;
}

const char *simt_finding_kind_name(enum simt_finding_kind kind) {
    static const char *const names[] = {
        [SIMT_FINDING_RACE] = "race",
        [SIMT_FINDING_BOUNDS] = "bounds",
        [SIMT_FINDING_UNINITIALISED] = "uninitialised",
        [SIMT_FINDING_BARRIER] = "barrier",
        [SIMT_FINDING_MISALIGNED] = "misaligned",
        [SIMT_FINDING_RUNAWAY] = "runaway",
        [SIMT_FINDING_UNSUPPORTED] = "unsupported",
        [SIMT_FINDING_SHUFFLE] = "shuffle",
        [SIMT_FINDING_TRAP] = "trap",
        [SIMT_FINDING_LEAK] = "leak",
    };
    return (size_t)kind < sizeof names / sizeof *names ? names[kind] : "unknown";
}

size_t simt_report_finding_count(const simt_report *report) { return report ? report->findings.count : 0; }

const simt_finding *simt_report_finding(const simt_report *report, size_t index) {
    return index < report->findings.count ? &report->findings.items[index].finding : NULL;
}

const simt_finding_detail *simt_report_finding_detail(const simt_report *report, size_t index) {
    return index < report->findings.count ? &report->findings.items[index].detail : NULL;
}

uint32_t simt_report_finding_pairs(const simt_report *report, size_t index, uint32_t *first_line, uint32_t *last_line) {
    if (index >= report->findings.count) return 0;
    const struct found *found = &report->findings.items[index];
    *first_line = found->from_line;
    *last_line = found->to_line;
    return found->pairs;
}

enum noted simt_report_note(simt_report *report, const simt_finding *finding, const struct meeting_note *note,
                            size_t *index, const char *format, va_list arguments) {
    pthread_mutex_lock(&report->lock);
    enum noted noted = simt_findings_note(&report->findings, finding, note, index, format, arguments);
    pthread_mutex_unlock(&report->lock);
    return noted;
}

bool simt_report_note_again(simt_report *report, enum simt_finding_kind kind, const struct meeting_note *note) {
    pthread_mutex_lock(&report->lock);
    const bool is_noted = simt_findings_note_again(&report->findings, kind, note);
    pthread_mutex_unlock(&report->lock);
    return is_noted;
}

void simt_report_withdraw(simt_report *report, enum simt_finding_kind kind, uint32_t pc) {
    simt_findings_withdraw(&report->findings, kind, pc);
}

/* A replay of another warp than the one that is shown would contradict it. */
void simt_report_show(simt_report *report, const simt_finding *finding, const struct meeting_note *note, uint32_t warp) {
    const size_t index = simt_findings_show(&report->findings, finding, note);
    size_t kept = 0;
    for (size_t i = 0; i < report->replay_count; i++) {
        const simt_replay replay = report->replays[i];
        const bool is_of_other = replay.warp != warp || memcmp(replay.block, finding->block, sizeof replay.block) != 0;
        if (replay.finding == index && is_of_other) free((void *)replay.entries);
        else report->replays[kept++] = replay;
    }
    report->replay_count = kept;
}

/* Findings move, and those that are withdrawn take their replays with them. */
void simt_report_finish(simt_report *report, bool is_of_few) {
    size_t *place, kept = 0;
    if (simt_findings_finish(&report->findings, is_of_few, &place)) {
        for (size_t i = 0; i < report->replay_count; i++) {
            simt_replay replay = report->replays[i];
            replay.finding = place[replay.finding];
            if (replay.finding == SIZE_MAX) free((void *)replay.entries);
            else report->replays[kept++] = replay;
        }
        report->replay_count = kept;
        if (kept) qsort(report->replays, kept, sizeof *report->replays, compare_replays);
    } else simt_report_lose(report);
    free(place);
}

/* ---- lines */

void simt_line_add(simt_line *sum, const simt_line *line) {
#define ADD(name) sum->name += line->name;
    SIMT_LINE_COUNTS(ADD)
#undef ADD
    if (line->bank_degree > sum->bank_degree) sum->bank_degree = line->bank_degree;
}

void simt_stride_join(uint64_t *to, uint64_t stride) {
    if (!*to) *to = stride;
    else if (stride && *to != stride) *to = SIMT_STRIDE_VARIES;
}

void simt_line_add_least(simt_line_least *to, const simt_line_least *least) {
#define ADD(name) to->name += least->name;
    SIMT_LINE_LEASTS(ADD)
#undef ADD
    for (int i = 0; i < SIMT_PADDINGS; i++) to->shared_wavefronts_padded[i] += least->shared_wavefronts_padded[i];
    simt_stride_join(&to->lane_stride, least->lane_stride);
}

void simt_line_add_rows(simt_line_rows *sum, const simt_line_rows *rows) {
    for (int i = 0; i < SIMT_ROW_PADDINGS; i++) sum->wavefronts[i] += rows->wavefronts[i];
    sum->scattered_wavefronts += rows->scattered_wavefronts;
    if (!sum->nbytes) sum->nbytes = rows->nbytes;
    else if (rows->nbytes && sum->nbytes != rows->nbytes) sum->nbytes = SIMT_ROW_VARIES;
}

/* Room for one more before the item at `index`; NULL: no memory. */
static struct costs *insert(simt_report *report, struct line_list *list, size_t index) {
    if (list->count == list->capacity) {
        size_t capacity = 2 * list->capacity + 64;
        struct costs *grown = realloc(list->items, capacity * sizeof *grown);
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
        if (compare_lines(&list->items[middle].line, line) < 0) low = middle + 1;
        else high = middle;
    }
    return low;
}

bool simt_report_add_costs(simt_report *report, const simt_line *instruction, const simt_line_least *least) {
    static const simt_line_least unknown;
    if (!least) least = &unknown;
    struct costs *added = insert(report, &report->instructions, report->instructions.count);
    if (!added) return false;
    *added = (struct costs){.line = *instruction, .least = *least};
    size_t index = search(&report->lines, instruction);
    if (index < report->lines.count && !compare_lines(&report->lines.items[index].line, instruction)) {
        struct costs *sum = &report->lines.items[index];
        simt_line_add(&sum->line, instruction);
        simt_line_add_least(&sum->least, least);
        return true;
    }
    struct costs *line = insert(report, &report->lines, index);
    if (line) *line = (struct costs){.line = *instruction, .least = *least};
    return line != NULL;
}

void simt_report_add_cures(simt_report *report, const simt_line *instruction, const simt_line_cures *cures,
                           const simt_line_rows *rows) {
    const size_t index = search(&report->lines, instruction);
    if (index >= report->lines.count || compare_lines(&report->lines.items[index].line, instruction)) return;
    simt_line_cures *sum = &report->lines.items[index].cures;
#define ADD(name) sum->name += cures->name;
    SIMT_LINE_CURES(ADD)
#undef ADD
    simt_line_add_rows(&report->lines.items[index].rows, rows);
}

bool simt_report_add_instruction(simt_report *report, const simt_line *instruction) {
    return simt_report_add_costs(report, instruction, NULL);
}

static const simt_line *line_get(const struct line_list *list, size_t index) {
    return index < list->count ? &list->items[index].line : NULL;
}

const simt_line_least *simt_report_line_least(const simt_report *report, size_t index) {
    return index < report->lines.count ? &report->lines.items[index].least : NULL;
}

const simt_line_cures *simt_report_line_cures(const simt_report *report, size_t index) {
    return index < report->lines.count ? &report->lines.items[index].cures : NULL;
}

const simt_line_rows *simt_report_line_rows(const simt_report *report, size_t index) {
    return index < report->lines.count ? &report->lines.items[index].rows : NULL;
}

const simt_line_repeated *simt_report_line_repeated(const simt_report *report, size_t index) {
    return index < report->lines.count ? &report->lines.items[index].repeated : NULL;
}

/* The instruction of the report at that place, and the index of its line; NULL: there is none. */
static const simt_line *instruction_at(const simt_report *report, const simt_place *place, size_t *line) {
    const simt_line there = {.file = place->file, .line = place->file ? place->line : place->ptx_line};
    for (size_t i = 0; i < report->instructions.count; i++) {
        const simt_line *instruction = &report->instructions.items[i].line;
        if (instruction->ptx_line != place->ptx_line || compare_lines(instruction, &there)) continue;
        *line = search(&report->lines, instruction);
        const bool is_found = *line < report->lines.count && !compare_lines(&report->lines.items[*line].line, instruction);
        return is_found ? instruction : NULL;
    }
    return NULL;
}

void simt_report_add_repeated(simt_report *report, const simt_place *place, uint64_t nbytes) {
    size_t line;
    const simt_line *instruction = instruction_at(report, place, &line);
    if (!instruction) return;
    report->lines.items[line].repeated.stored += instruction->global_bytes;
    report->lines.items[line].repeated.repeated += nbytes;
}

void simt_report_add_guesses(simt_report *report, const simt_place *place, uint64_t count) {
    size_t line;
    if (instruction_at(report, place, &line)) report->lines.items[line].guesses += count;
}

uint64_t simt_report_line_guesses(const simt_report *report, size_t index) {
    return index < report->lines.count ? report->lines.items[index].guesses : 0;
}

uint64_t simt_report_line_spare_barriers(const simt_report *report, size_t index) {
    return index < report->lines.count ? report->lines.items[index].spare_barriers : 0;
}

void simt_report_add_spare_barriers(simt_report *report, size_t index, uint64_t count) {
    if (index < report->lines.count) report->lines.items[index].spare_barriers += count;
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
