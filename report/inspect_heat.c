/* The sources of a kernel in the terminal, with what each line cost. */
#include <inttypes.h>
#include <string.h>

#include "inspect_report.h"
#include "printed.h"

/* Lines shown before the first that was executed and after the last. */
enum { CONTEXT = 2, BAR_WIDTH = 8 };

static const char headings[] = "  instr.  lanes  divergent  requests  sectors  wavefronts  degree  atomics";

static const simt_line *line_at(const simt_report *report, const char *file, uint32_t number) {
    for (size_t i = 0; i < simt_report_line_count(report); i++) {
        const simt_line *line = simt_report_line(report, i);
        if (line->line == number && !strcmp(line->file, file)) return line;
    }
    return NULL;
}

static const simt_finding *finding_at(const simt_report *report, const char *file, uint32_t number) {
    for (size_t i = 0; i < simt_report_finding_count(report); i++) {
        const simt_finding *finding = simt_report_finding(report, i);
        if (finding->line == number && !strcmp(finding->file, file)) return finding;
    }
    return NULL;
}

/* Lines of the file that are shown: first 0 if nothing of it was executed. */
struct extract {
    const struct source *source;
    uint32_t first, last;
    uint64_t most; /* instructions of one line */
};

static struct extract extract_of(const simt_report *report, const struct source *source) {
    struct extract extract = {.source = source};
    for (size_t i = 0; i < simt_report_line_count(report); i++) {
        const simt_line *line = simt_report_line(report, i);
        if (!line->line || strcmp(line->file, source->file)) continue;
        if (!extract.first) extract.first = line->line > CONTEXT ? line->line - CONTEXT : 1;
        extract.last = line->line + CONTEXT; /* they come in order */
        if (line->instructions > extract.most) extract.most = line->instructions;
    }
    return extract;
}

static void put_count(FILE *stream, int width, uint64_t count) {
    if (count > 0)
        fprintf(stream, "%*" PRIu64, width, count);
    else
        fprintf(stream, "%*s", width, "");
}

static void put_costs(FILE *stream, const simt_line *line, uint32_t warp_size) {
    if (!line) {
        fprintf(stream, "%*s", (int)strlen(headings), "");
        return;
    }
    double lanes = 100.0 * (double)line->thread_instructions / ((double)line->instructions * warp_size);
    fprintf(stream, "%8" PRIu64 "%6.0f%%", line->instructions, lanes);
    put_count(stream, 11, line->divergent_branches);
    put_count(stream, 10, line->global_requests);
    put_count(stream, 9, line->global_sectors);
    put_count(stream, 12, line->shared_wavefronts);
    if (line->shared_accesses)
        fprintf(stream, "%8.3g", line->bank_degree);
    else
        fprintf(stream, "%8s", "");
    put_count(stream, 9, line->atomics);
}

/* A bar as long as the line's share of the costliest one's instructions. */
static void put_bar(FILE *stream, uint64_t instructions, uint64_t most) {
    int length = most ? (int)((double)instructions / (double)most * BAR_WIDTH + 0.5) : 0;
    if (instructions && !length) length = 1;
    fputs("  ", stream);
    for (int i = 0; i < BAR_WIDTH; i++) fputc(i < length ? '#' : ' ', stream);
}

static void put_row(FILE *stream, const struct inspection_report *report, const struct extract *extract,
                    uint32_t number, bool has_colour) {
    size_t length;
    const char *file = extract->source->file, *text = source_line(extract->source, number, &length);
    const simt_line *line = line_at(report->counts, file, number);
    const simt_finding *finding = finding_at(report->counts, file, number);
    if (!text && !line) return;
    bool is_hot = line && line->instructions * 2 > extract->most;
    put_costs(stream, line, report->machine.warp_size);
    if (has_colour && is_hot) fputs("\033[33m", stream);
    put_bar(stream, line ? line->instructions : 0, extract->most);
    if (has_colour && is_hot) fputs("\033[0m", stream);
    fprintf(stream, "%6" PRIu32 " %c ", number, finding ? '!' : '|');
    if (has_colour && finding) fputs("\033[1;31m", stream);
    put_lines(stream, text ? text : "", length);
    if (finding) fprintf(stream, "  <- %s", simt_finding_kind_name(finding->kind));
    fputs(has_colour && finding ? "\033[0m\n" : "\n", stream);
}

void put_heat(FILE *stream, const struct inspection_report *report, bool has_colour) {
    for (size_t i = 0; i < report->sources.count; i++) {
        struct extract extract = extract_of(report->counts, &report->sources.items[i]);
        if (!extract.first) continue;
        fputc('\n', stream);
        put_name(stream, extract.source->file, strlen(extract.source->file));
        fprintf(stream, "%s\n%s\n", extract.source->text ? "" : " (source not available: line numbers only)", headings);
        for (uint32_t line = extract.first; line <= extract.last; line++)
            put_row(stream, report, &extract, line, has_colour);
    }
}
