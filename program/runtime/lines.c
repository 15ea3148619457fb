/* What the record keeps of the lines of sources: those that have code, and what was executed of each. */
#include "runtime.h"

#include <stdio.h>
#include <string.h>

#include "simt/simt_observer.h"

enum { SLOTS = 2 * RECORD_LINES, MODULES_MAX = 64, NOWHERE = UINT32_MAX };

/* Numbers of lines, plus 1, by a hash of file and line. */
static uint32_t slots[SLOTS];

static uint32_t find_file(const char *file) {
    static uint32_t last;
    struct record *record = runtime.record;
    if (last < record->file_count && !strncmp(record->files[last], file, RECORD_NAME - 1)) return last;
    for (last = 0; last < record->file_count; last++)
        if (!strncmp(record->files[last], file, RECORD_NAME - 1)) return last;
    if (last == RECORD_FILES) return NOWHERE;
    snprintf(record->files[last], RECORD_NAME, "%s", file);
    record->file_count++;
    return last;
}

static struct record_line *find_line(uint32_t file, uint32_t line) {
    struct record *record = runtime.record;
    uint32_t slot = (file * 0x9e3779b1u ^ line * 0x85ebca6bu) % SLOTS;
    for (; slots[slot]; slot = (slot + 1) % SLOTS) {
        struct record_line *known = &record->lines[slots[slot] - 1];
        if (known->file == file && known->line == line) return known;
    }
    if (record->line_count == RECORD_LINES) return NULL;
    struct record_line *added = &record->lines[record->line_count];
    added->file = file;
    added->line = line;
    slots[slot] = ++record->line_count;
    return added;
}

/* NULL: it has no line, or there is no room. */
static struct record_line *line_at(const char *name, uint32_t line) {
    if (!name || !line) return NULL;
    uint32_t file = find_file(name);
    struct record_line *found = file == NOWHERE ? NULL : find_line(file, line);
    runtime.record->lines_lost += !found;
    return found;
}

void lines_note(const simt_report *report) {
    for (size_t i = 0; i < simt_report_line_count(report); i++) {
        const simt_line *line = simt_report_line(report, i);
        struct record_line *sum = line_at(line->file, line->line);
        if (!sum) continue;
#define ADD(name) sum->name += line->name;
        RECORD_LINE_COUNTS(ADD)
#undef ADD
    }
}

/* ---- lines with code, executed or not -------------------------------------------------------------- */

/* Of every module once: it has the same instructions at every launch. */
static bool is_new(const simt_place *places) {
    static const simt_place *known[MODULES_MAX];
    static size_t count;
    for (size_t i = 0; i < count; i++)
        if (known[i] == places) return false;
    if (count < MODULES_MAX) known[count++] = places;
    return true;
}

static bool note_code(void *launch, const simt_launch_view *view) {
    (void)launch;
    if (!is_new(view->places)) return true;
    for (uint32_t pc = 0; pc < view->place_count; pc++) line_at(view->places[pc].file, view->places[pc].line);
    return true;
}

const struct simt_observer code_observer = {.name = "code", .launch_begin = note_code};
