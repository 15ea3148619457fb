#include "lines.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/printed.h"

/* ---- reading --------------------------------------------------------------------------------------- */

static bool read_files(struct program_lines *lines, const struct program *program, const struct names *names) {
    const struct record *record = program->record;
    const struct places places = {program->path, "."};
    uint32_t count = least(record->file_count, RECORD_FILES);
    lines->files = calloc((size_t)count + 1, sizeof *lines->files);
    if (!lines->files) return false;
    for (uint32_t i = 0; i < count; i++) {
        names_show(names, record->files[i], lines->files[i].shown);
        if (!sources_add(&lines->sources, lines->files[i].shown, &places)) return false;
    }
    for (uint32_t i = 0; i < count; i++)
        for (size_t k = 0; k < lines->sources.count; k++)
            if (lines->sources.items[k].text && !strcmp(lines->sources.items[k].file, lines->files[i].shown))
                lines->files[i].source = &lines->sources.items[k];
    return true;
}

static int compare(const void *a, const void *b) {
    const struct record_line *x = *(const struct record_line *const *)a, *y = *(const struct record_line *const *)b;
    if (x->file != y->file) return x->file < y->file ? -1 : 1;
    return x->line < y->line ? -1 : x->line > y->line;
}

bool program_lines_read(struct program_lines *lines, const struct program *program, const struct names *names) {
    const struct record *record = program->record;
    uint32_t files = least(record->file_count, RECORD_FILES), count = least(record->line_count, RECORD_LINES);
    *lines = (struct program_lines){.count = 0};
    if (!read_files(lines, program, names)) return false;
    lines->line = calloc((size_t)count + 1, sizeof *lines->line);
    if (!lines->line) return false;
    for (uint32_t i = 0; i < count; i++) {
        const struct record_line *line = &record->lines[i];
        if (line->file < files && lines->files[line->file].source) lines->line[lines->count++] = line;
    }
    qsort(lines->line, lines->count, sizeof *lines->line, compare);
    return true;
}

void program_lines_clear(struct program_lines *lines) {
    sources_clear(&lines->sources);
    free(lines->files);
    free(lines->line);
    *lines = (struct program_lines){.count = 0};
}

/* ---- coverage -------------------------------------------------------------------------------------- */

struct coverage {
    size_t begin, end; /* of the file's lines, which have code */
    size_t executed;
};

/* The coverage of a file; begin: its first line. */
static struct coverage cover(const struct program_lines *lines, size_t begin) {
    struct coverage coverage = {.begin = begin, .end = begin};
    for (; coverage.end < lines->count && lines->line[coverage.end]->file == lines->line[begin]->file; coverage.end++)
        coverage.executed += lines->line[coverage.end]->instructions > 0;
    return coverage;
}

/* "12, 17-19": lines without code between two that were not executed belong to them. */
static void put_missed(FILE *stream, const struct program_lines *lines, struct coverage coverage) {
    const char *separator = "; not executed: ";
    for (size_t i = coverage.begin; i < coverage.end; i++) {
        if (lines->line[i]->instructions) continue;
        size_t last = i;
        while (last + 1 < coverage.end && !lines->line[last + 1]->instructions) last++;
        fprintf(stream, "%s%" PRIu32, separator, lines->line[i]->line);
        if (last > i) fprintf(stream, "-%" PRIu32, lines->line[last]->line);
        separator = ", ";
        i = last;
    }
}

/* ---- text ------------------------------------------------------------------------------------------ */

static double lanes_percent(const struct record_line *line) {
    enum { WARP = 32 };
    return line->instructions ? 100.0 * (double)line->thread_instructions / ((double)line->instructions * WARP) : 0;
}

static void put_line(FILE *stream, const struct program_lines *lines, const struct record_line *line) {
    size_t length;
    const char *text = source_line(lines->files[line->file].source, line->line, &length);
    fprintf(stream, "%8" PRIu32 "%14" PRIu64 "%8.1f%14" PRIu64 "%14" PRIu64 " | ", line->line, line->instructions,
            lanes_percent(line), line->global_sectors, line->shared_wavefronts);
    if (text) put_name(stream, text, length);
    fputc('\n', stream);
}

void program_lines_put(FILE *stream, const struct program_lines *lines) {
    struct coverage coverage;
    for (size_t i = 0; i < lines->count; i = coverage.end) {
        const char *shown = lines->files[lines->line[i]->file].shown;
        coverage = cover(lines, i);
        fputc('\n', stream);
        put_name(stream, shown, strlen(shown));
        fprintf(stream, ": %zu of %zu lines with code executed", coverage.executed, coverage.end - coverage.begin);
        put_missed(stream, lines, coverage);
        fprintf(stream, "\n%8s%14s%8s%14s%14s |\n", "line", "instructions", "lanes %", "sectors", "wavefronts");
        for (size_t k = coverage.begin; k < coverage.end; k++)
            if (lines->line[k]->instructions) put_line(stream, lines, lines->line[k]);
    }
}

/* ---- JSON ------------------------------------------------------------------------------------------ */

static void put_coverage(struct json *json, const struct program_lines *lines, struct coverage coverage) {
    json_begin(json, '{');
    json_key_text(json, "file", lines->files[lines->line[coverage.begin]->file].shown);
    json_key_unsigned(json, "lines", coverage.end - coverage.begin);
    json_key_unsigned(json, "executed", coverage.executed);
    json_key_begin(json, "not_executed", '[');
    for (size_t i = coverage.begin; i < coverage.end; i++)
        if (!lines->line[i]->instructions) json_unsigned(json, lines->line[i]->line);
    json_end(json, ']');
    json_end(json, '}');
}

static void put_json_line(struct json *json, const struct program_lines *lines, const struct record_line *line) {
    json_begin(json, '{');
    json_key_text(json, "file", lines->files[line->file].shown);
    json_key_unsigned(json, "line", line->line);
#define PUT(name) json_key_unsigned(json, #name, line->name);
    RECORD_LINE_COUNTS(PUT)
#undef PUT
    json_end(json, '}');
}

static void put_sources(struct json *json, const struct program_lines *lines) {
    json_key_begin(json, "sources", '[');
    for (size_t i = 0; i < lines->sources.count; i++) {
        const struct source *source = &lines->sources.items[i];
        if (!source->text) continue;
        json_begin(json, '{');
        json_key_text(json, "file", source->file);
        json_key_text(json, "text", source->text);
        json_end(json, '}');
    }
    json_end(json, ']');
}

void program_lines_put_json(struct json *json, const struct program_lines *lines, bool has_sources) {
    struct coverage coverage;
    json_key_begin(json, "coverage", '[');
    for (size_t i = 0; i < lines->count; i = coverage.end) {
        coverage = cover(lines, i);
        put_coverage(json, lines, coverage);
    }
    json_end(json, ']');
    json_key_begin(json, "lines", '[');
    for (size_t i = 0; i < lines->count; i++) put_json_line(json, lines, lines->line[i]);
    json_end(json, ']');
    if (has_sources) put_sources(json, lines);
}
