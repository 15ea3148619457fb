#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* getline */
#endif
#include "inspect_report.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "warpfold.h"

/* The counts that come first, in this order; JSON has them as fields of their own. */
static const char *const main_counts[] = {
    "instructions", "divergent_branches", "utilization", "global_sectors", "global_requests",
    "coalescing",   "shared_wavefronts",  "bank_degree", "barriers",       "atomics",
};

enum { MAIN_COUNT_COUNT = sizeof main_counts / sizeof main_counts[0] };

static void put_number(FILE *stream, double value) {
    char text[64];
    const wf_value number = {.type = WF_F64, .as.f64 = value};
    if (value == floor(value) && fabs(value) < 0x1p53) {
        fprintf(stream, "%.0f", value);
        return;
    }
    wf_value_format(&number, 0, text, sizeof text);
    fputs(isfinite(value) ? text : "null", stream);
}

static double count_value(const struct inspection_report *report, const char *name) {
    return simt_report_count_value(report->counts, name, 0);
}

/* ---- for people ---------------------------------------------------------------------------------- */

struct colours {
    const char *bad, *good, *plain;
};

static struct colours colours(void) {
    bool is_wanted = isatty(STDOUT_FILENO) && !getenv("NO_COLOR");
    if (!is_wanted) return (struct colours){"", "", ""};
    return (struct colours){"\033[1;31m", "\033[1;32m", "\033[0m"};
}

static void put_extent(FILE *stream, const char *name, const uint32_t extent[3]) {
    fprintf(stream, "  %s %" PRIu32 ",%" PRIu32 ",%" PRIu32, name, extent[0], extent[1], extent[2]);
}

static void put_schedule(FILE *stream, const simt_launch *launch) {
    static const char *const names[] = {[SIMT_LOCKSTEP] = "lockstep", [SIMT_SPLIT] = "split"};
    if (launch->schedule == SIMT_RANDOM)
        fprintf(stream, "  schedule random:%" PRIu64 "\n", launch->seed);
    else
        fprintf(stream, "  schedule %s\n", names[launch->schedule]);
}

static void put_counts(FILE *stream, const struct inspection_report *report) {
    for (int i = 0; i < MAIN_COUNT_COUNT; i++) {
        char text[32];
        double value = count_value(report, main_counts[i]);
        snprintf(text, sizeof text, value == floor(value) ? "%.0f" : "%.4f", value);
        fprintf(stream, "  %-20s%14s\n", main_counts[i], text);
    }
    double approximate = count_value(report, "approximate");
    if (approximate > 0)
        fprintf(stream, "  %-20s%14.0f  instructions whose last bits a GPU may give otherwise\n",
                "approximate", approximate);
}

/* The line that a finding is about, if the source is still there. */
static void put_source_line(FILE *stream, const simt_finding *finding) {
    FILE *source = finding->file && finding->line ? fopen(finding->file, "re") : NULL;
    if (!source) return;
    char *line = NULL;
    size_t capacity = 0;
    ssize_t length = 0;
    for (uint32_t i = 0; i < finding->line && length >= 0; i++) length = getline(&line, &capacity, source);
    if (length > 0) fprintf(stream, "%8" PRIu32 " | %.*s\n", finding->line, (int)strcspn(line, "\r\n"), line);
    free(line);
    fclose(source);
}

static void put_finding(FILE *stream, const simt_finding *finding, const struct colours *colours) {
    fprintf(stream,
            "\n%s%s%s at %s:%" PRIu32 ", block (%" PRIu32 ",%" PRIu32 ",%" PRIu32 "), thread (%" PRIu32
            ",%" PRIu32 ",%" PRIu32 ")",
            colours->bad, simt_finding_kind_name(finding->kind), colours->plain,
            finding->file ? finding->file : "?", finding->line, finding->block[0], finding->block[1],
            finding->block[2], finding->thread[0], finding->thread[1], finding->thread[2]);
    if (finding->address) fprintf(stream, ", address 0x%" PRIx64, finding->address);
    if (finding->count > 1) fprintf(stream, ", %" PRIu64 " times", finding->count);
    fprintf(stream, "\n    %s\n", finding->message);
    put_source_line(stream, finding);
}

void put_report(FILE *stream, const struct inspection_report *report) {
    const struct colours colour = colours();
    const size_t count = simt_report_finding_count(report->counts);
    fwrite(report->printed, 1, report->printed_nbytes, stream);
    if (report->printed_nbytes && report->printed[report->printed_nbytes - 1] != '\n') fputc('\n', stream);
    fprintf(stream, "%s  %s\n", report->kernel, report->path);
    put_extent(stream, "grid", report->launch->grid);
    put_extent(stream, "block", report->launch->block);
    put_schedule(stream, report->launch);
    put_counts(stream, report);
    for (size_t i = 0; i < count; i++) put_finding(stream, simt_report_finding(report->counts, i), &colour);
    if (count == 0)
        fprintf(stream, "\n%sno findings%s\n", colour.good, colour.plain);
    else
        fprintf(stream, "\n%s%zu finding%s%s\n", colour.bad, count, count == 1 ? "" : "s", colour.plain);
    if (report->is_stopped) fputs("The launch was stopped; the counts are those until then.\n", stream);
}

/* ---- JSON ---------------------------------------------------------------------------------------- */

/* Bytes of the UTF-8 sequence that the text begins with; 0 if it begins with none. */
static size_t sequence_length(const unsigned char *text, size_t nbytes) {
    static const struct {
        unsigned char mask, lead, low, high; /* of the second byte */
    } forms[] = {
        {0xff, 0xe0, 0xa0, 0xbf}, {0xff, 0xed, 0x80, 0x9f}, {0xff, 0xf0, 0x90, 0xbf},
        {0xff, 0xf4, 0x80, 0x8f}, {0xe0, 0xc0, 0x80, 0xbf}, {0xf0, 0xe0, 0x80, 0xbf},
        {0xfc, 0xf0, 0x80, 0xbf},
    };
    if (text[0] < 0x80) return 1;
    if (text[0] < 0xc2 || nbytes < 2) return 0;
    size_t length = text[0] < 0xe0 ? 2 : text[0] < 0xf0 ? 3 : 4;
    size_t form = 0, form_count = sizeof forms / sizeof forms[0];
    while (form < form_count && (text[0] & forms[form].mask) != forms[form].lead) form++;
    if (form == form_count || length > nbytes || text[1] < forms[form].low || text[1] > forms[form].high)
        return 0;
    for (size_t i = 2; i < length; i++)
        if ((text[i] & 0xc0) != 0x80) return 0;
    return length;
}

/* Bytes that are no UTF-8 become the replacement character. */
static void put_json_bytes(FILE *stream, const char *text, size_t nbytes) {
    fputc('"', stream);
    while (nbytes > 0) {
        const unsigned char c = (unsigned char)*text;
        size_t length = sequence_length((const unsigned char *)text, nbytes);
        if (length == 0)
            fputs("\\ufffd", stream);
        else if (c < 0x20 || c == 0x7f)
            fprintf(stream, "\\u%04x", c);
        else
            fprintf(stream, c == '"' || c == '\\' ? "\\%.*s" : "%.*s", (int)length, text);
        length += length == 0;
        text += length;
        nbytes -= length;
    }
    fputc('"', stream);
}

static void put_json_text(FILE *stream, const char *text) {
    put_json_bytes(stream, text ? text : "", text ? strlen(text) : 0);
}

static void put_json_extent(FILE *stream, const char *name, const uint32_t extent[3]) {
    fprintf(stream, ",\"%s\":[%" PRIu32 ",%" PRIu32 ",%" PRIu32 "]", name, extent[0], extent[1], extent[2]);
}

static void put_json_finding(FILE *stream, const simt_finding *finding) {
    fprintf(stream, "{\"kind\":\"%s\",\"file\":", simt_finding_kind_name(finding->kind));
    put_json_text(stream, finding->file);
    fprintf(stream, ",\"line\":%" PRIu32, finding->line);
    put_json_extent(stream, "block", finding->block);
    put_json_extent(stream, "thread", finding->thread);
    fprintf(stream, ",\"address\":%" PRIu64 ",\"message\":", finding->address);
    put_json_text(stream, finding->message);
    fprintf(stream, ",\"count\":%" PRIu64 "}", finding->count);
}

static void put_json_count(FILE *stream, const char *name, double value) {
    fprintf(stream, ",\"%s\":", name);
    put_number(stream, value);
}

static void put_json_counts(FILE *stream, const simt_report *counts) {
    fputs(",\"counts\":{", stream);
    for (size_t i = 0; i < simt_report_count_count(counts); i++) {
        const char *name = simt_report_count_name(counts, i);
        fprintf(stream, "%s\"%s\":", i ? "," : "", name);
        put_number(stream, simt_report_count_value(counts, name, 0));
    }
    fputc('}', stream);
}

void put_report_json(FILE *stream, const struct inspection_report *report) {
    fputs("{\"kernel\":", stream);
    put_json_text(stream, report->kernel);
    for (int i = 0; i < MAIN_COUNT_COUNT; i++)
        put_json_count(stream, main_counts[i], count_value(report, main_counts[i]));
    fputs(",\"findings\":[", stream);
    for (size_t i = 0; i < simt_report_finding_count(report->counts); i++) {
        if (i > 0) fputc(',', stream);
        put_json_finding(stream, simt_report_finding(report->counts, i));
    }
    fputc(']', stream);
    put_json_counts(stream, report->counts);
    put_json_extent(stream, "grid", report->launch->grid);
    put_json_extent(stream, "block", report->launch->block);
    fprintf(stream, ",\"stopped\":%s,\"printed\":", report->is_stopped ? "true" : "false");
    put_json_bytes(stream, report->printed, report->printed_nbytes);
    fputs("}\n", stream);
}
