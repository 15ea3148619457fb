/* What inspect tells of a launch, as JSON: for programs, and with more in it for the page. */
#include <inttypes.h>
#include <string.h>

#include "inspect_report.h"
#include "json.h"

static void put_json_extent(FILE *stream, const char *name, const uint32_t extent[3]) {
    fprintf(stream, ",\"%s\":[%" PRIu32 ",%" PRIu32 ",%" PRIu32 "]", name, extent[0], extent[1], extent[2]);
}

/* Whom a race is with. */
static void put_json_other(FILE *stream, const simt_finding *finding) {
    fputs(",\"other\":", stream);
    if (!finding->has_other) {
        fputs("null", stream);
        return;
    }
    fputs("{\"file\":", stream);
    put_json_text(stream, finding->other_file);
    fprintf(stream, ",\"line\":%" PRIu32 ",\"ptx_line\":%" PRIu32, finding->other_line,
            finding->other_ptx_line);
    put_json_extent(stream, "block", finding->other_block);
    put_json_extent(stream, "thread", finding->other_thread);
    fputc('}', stream);
}

static void put_json_finding(FILE *stream, const simt_finding *finding) {
    fprintf(stream, "{\"kind\":\"%s\",\"file\":", simt_finding_kind_name(finding->kind));
    put_json_text(stream, finding->file);
    fprintf(stream, ",\"line\":%" PRIu32 ",\"ptx_line\":%" PRIu32, finding->line, finding->ptx_line);
    put_json_extent(stream, "block", finding->block);
    put_json_extent(stream, "thread", finding->thread);
    fprintf(stream, ",\"address\":%" PRIu64 ",\"message\":", finding->address);
    put_json_text(stream, finding->message);
    put_json_other(stream, finding);
    fprintf(stream, ",\"count\":%" PRIu64 "}", finding->count);
}

static void put_json_count(FILE *stream, const char *name, double value) {
    fprintf(stream, ",\"%s\":", name);
    put_json_number(stream, value);
}

static void put_json_counts(FILE *stream, const simt_report *counts) {
    fputs(",\"counts\":{", stream);
    for (size_t i = 0; i < simt_report_count_count(counts); i++) {
        const char *name = simt_report_count_name(counts, i);
        fprintf(stream, "%s\"%s\":", i ? "," : "", name);
        put_json_number(stream, simt_report_count_value(counts, name, 0));
    }
    fputc('}', stream);
}

/* ---- lines --------------------------------------------------------------------------------------- */

static void put_json_line_counts(FILE *stream, const simt_line *line) {
#define PUT(name) fprintf(stream, ",\"" #name "\":%" PRIu64, line->name);
    SIMT_LINE_COUNTS(PUT)
#undef PUT
    put_json_count(stream, "bank_degree", line->bank_degree);
    fputc('}', stream);
}

static void put_json_line(FILE *stream, const simt_line *line) {
    fputs("{\"file\":", stream);
    put_json_text(stream, line->file);
    fprintf(stream, ",\"line\":%" PRIu32, line->line);
    put_json_line_counts(stream, line);
}

static void put_json_lines(FILE *stream, const simt_report *report) {
    fputs(",\"lines\":[", stream);
    for (size_t i = 0; i < simt_report_line_count(report); i++) {
        if (i > 0) fputc(',', stream);
        put_json_line(stream, simt_report_line(report, i));
    }
    fputc(']', stream);
}

/* ---- what the page draws ------------------------------------------------------------------------- */

enum { TEXT_NBYTES_MAX = 512 * 1024 }; /* a page is to open at once */

/* Each instruction's place in the source by the number of the file among the sources. */
static void put_json_instruction(FILE *stream, const struct sources *sources, const simt_line *instruction) {
    size_t file = 0;
    while (strcmp(sources->items[file].file, instruction->file)) file++;
    fprintf(stream, "{\"source\":%zu,\"line\":%" PRIu32 ",\"ptx_line\":%" PRIu32 ",\"opcode\":", file,
            instruction->line, instruction->ptx_line);
    put_json_text(stream, instruction->opcode);
    put_json_line_counts(stream, instruction);
}

static void put_json_instructions(FILE *stream, const struct inspection_report *report) {
    fputs(",\"instruction_list\":[", stream);
    for (size_t i = 0; i < simt_report_instruction_count(report->counts); i++) {
        if (i > 0) fputc(',', stream);
        put_json_instruction(stream, &report->sources, simt_report_instruction(report->counts, i));
    }
    fputc(']', stream);
}

static void put_json_long_text(FILE *stream, const char *text, size_t nbytes) {
    if (text && nbytes <= TEXT_NBYTES_MAX)
        put_json_bytes(stream, text, nbytes);
    else
        fputs("null", stream);
}

static void put_json_sources(FILE *stream, const struct inspection_report *report) {
    fputs(",\"sources\":[", stream);
    for (size_t i = 0; i < report->sources.count; i++) {
        const struct source *source = &report->sources.items[i];
        fputs(i > 0 ? ",{\"file\":" : "{\"file\":", stream);
        put_json_text(stream, source->file);
        fputs(",\"text\":", stream);
        put_json_long_text(stream, source->text, source->nbytes);
        fputc('}', stream);
    }
    fputs("],\"ptx\":", stream);
    put_json_long_text(stream, report->ptx, strlen(report->ptx));
}

/* Addresses as hexadecimal texts: JSON's numbers end at 2^53.  Of evenly spaced ones only the first
 * lane's. */
static void put_json_addresses(FILE *stream, const simt_moment *moment) {
    uint32_t first = (uint32_t)__builtin_ctz(moment->lanes), previous = first;
    uint64_t stride = 0;
    bool is_even = true;
    for (uint32_t lane = first + 1; lane < 32 && moment->lanes >> lane; lane++) {
        if (!(moment->lanes >> lane & 1)) continue;
        uint64_t step = (moment->addresses[lane] - moment->addresses[first]) / (lane - first);
        if (previous == first) stride = step;
        is_even = is_even && moment->addresses[first] + stride * (lane - first) == moment->addresses[lane] &&
                  stride <= UINT32_MAX;
        previous = lane;
    }
    fprintf(stream, ",\"space\":\"%s\",\"nbytes\":%" PRIu32 ",\"lanes\":%" PRIu32,
            moment->is_shared ? "shared" : "global", moment->nbytes, moment->lanes);
    if (is_even) {
        fprintf(stream, ",\"first\":\"0x%" PRIx64 "\",\"stride\":%" PRIu64, moment->addresses[first], stride);
        return;
    }
    fputs(",\"addresses\":[", stream);
    for (uint32_t lane = first; lane < 32; lane++)
        if (moment->lanes >> lane & 1)
            fprintf(stream, "%s\"0x%" PRIx64 "\"", lane > first ? "," : "", moment->addresses[lane]);
    fputc(']', stream);
}

static void put_json_moment(FILE *stream, const simt_moment *moment) {
    fprintf(stream, "{\"ptx_line\":%" PRIu32 ",\"time\":%" PRIu64 ",\"active\":%" PRIu32 ",\"mask\":%" PRIu32,
            moment->ptx_line, moment->time, moment->active, moment->mask);
    if (moment->is_branch) fprintf(stream, ",\"taken\":%" PRIu32, moment->taken);
    if (moment->has_addresses) put_json_addresses(stream, moment);
    fputc('}', stream);
}

static void put_json_replay(FILE *stream, const simt_replay *replay) {
    fprintf(stream, "{\"finding\":%zu,\"is_other\":%s,\"warp\":%" PRIu32, replay->finding,
            replay->is_other ? "true" : "false", replay->warp);
    put_json_extent(stream, "block", replay->block);
    fputs(",\"moments\":[", stream);
    for (size_t i = 0; i < replay->moment_count; i++) {
        if (i > 0) fputc(',', stream);
        put_json_moment(stream, &replay->moments[i]);
    }
    fputs("]}", stream);
}

static void put_json_page(FILE *stream, const struct inspection_report *report) {
    fputs(",\"path\":", stream);
    put_json_text(stream, report->path);
    fputs(",\"schedule\":\"", stream);
    put_schedule(stream, report->launch);
    fprintf(stream, "\",\"warp\":%" PRIu32 ",\"banks\":%" PRIu32, report->machine.warp_size,
            report->machine.banks);
    put_json_sources(stream, report);
    put_json_instructions(stream, report);
    fputs(",\"replays\":[", stream);
    for (size_t i = 0; i < simt_report_replay_count(report->counts); i++) {
        if (i > 0) fputc(',', stream);
        put_json_replay(stream, simt_report_replay(report->counts, i));
    }
    fputc(']', stream);
}

/* ---- the whole ----------------------------------------------------------------------------------- */

void put_report_json(FILE *stream, const struct inspection_report *report, bool in_full) {
    fputs("{\"kernel\":", stream);
    put_json_text(stream, report->kernel);
    for (const char *const *name = report_main_counts; *name; name++)
        put_json_count(stream, *name, report_count(report, *name));
    fputs(",\"findings\":[", stream);
    for (size_t i = 0; i < simt_report_finding_count(report->counts); i++) {
        if (i > 0) fputc(',', stream);
        put_json_finding(stream, simt_report_finding(report->counts, i));
    }
    fputc(']', stream);
    put_json_counts(stream, report->counts);
    put_json_lines(stream, report->counts);
    put_json_extent(stream, "grid", report->launch->grid);
    put_json_extent(stream, "block", report->launch->block);
    fprintf(stream, ",\"stopped\":%s,\"printed\":", report->is_stopped ? "true" : "false");
    put_json_bytes(stream, report->printed, report->printed_nbytes);
    if (in_full) put_json_page(stream, report);
    fputs("}\n", stream);
}
