/* The report of inspect as JSON: for programs, and with more members for the page. */
#include <inttypes.h>
#include <string.h>

#include "explain_json.h"
#include "inspect_report.h"
#include "json.h"

static void put_place(struct json *json, uint32_t line, uint32_t ptx_line, const uint32_t block[3],
                      const uint32_t thread[3]) {
    json_key_unsigned(json, "line", line);
    json_key_unsigned(json, "ptx_line", ptx_line);
    json_key_list(json, "block", block, 3);
    json_key_list(json, "thread", thread, 3);
}

/* The access that a race is with. */
static void put_other(struct json *json, const simt_finding *finding) {
    json_key(json, "other");
    if (!finding->has_other) {
        json_null(json);
        return;
    }
    json_begin(json, '{');
    json_key_text(json, "file", finding->other_file);
    put_place(json, finding->other_line, finding->other_ptx_line, finding->other_block,
              finding->other_thread);
    json_end(json, '}');
}

static void put_finding(struct json *json, const struct inspection_report *report, size_t index) {
    const simt_finding *finding = simt_report_finding(report->counts, index);
    const simt_finding_detail *detail = simt_report_finding_detail(report->counts, index);
    char message[sizeof finding->message + 384];
    finding_message(report, finding, message, sizeof message);
    json_begin(json, '{');
    json_key_text(json, "kind", simt_finding_kind_name(finding->kind));
    json_key_text(json, "file", finding->file);
    put_place(json, finding->line, finding->ptx_line, finding->block, finding->thread);
    json_key_unsigned(json, "address", finding->address);
    json_key_text(json, "message", message);
    put_other(json, finding);
    json_key_unsigned(json, "count", finding->count);
    json_key_unsigned(json, "threads", detail->threads);
    json_key(json, "missing");
    if (detail->missing) json_text(json, detail->missing);
    else json_null(json);
    json_finding_pairs(json, report->counts, index);
    json_end(json, '}');
}

static void put_findings(struct json *json, const struct inspection_report *report) {
    json_key_begin(json, "findings", '[');
    for (size_t i = 0; i < simt_report_finding_count(report->counts); i++)
        put_finding(json, report, i);
    json_end(json, ']');
}

static void put_all_advice(struct json *json, const struct inspection_report *report) {
    json_key_begin(json, "advice", '[');
    for (size_t i = 0; i < report->advice_count; i++) {
        const struct advice *advice = &report->advice[i];
        json_begin(json, '{');
        json_key_text(json, "kind", advice->kind);
        json_key_text(json, "file", advice->file);
        json_key_unsigned(json, "line", advice->line);
        json_key_text(json, "unit", advice->unit);
        json_key_unsigned(json, "count", advice->count);
        json_key_unsigned(json, "least", advice->least);
        json_key_unsigned(json, "then", advice->then);
        json_key_text(json, "message", advice->message);
        json_key_text(json, "cure", advice->cure);
        json_end(json, '}');
    }
    json_end(json, ']');
}

static void put_comparison(struct json *json, const struct inspection_report *report, const struct report_values *values) {
    json_key_unsigned(json, "wrong", values->wrong_count);
    if (!values->wrong_count) return;
    json_key_unsigned(json, "wrong_index", values->wrong_index);
    json_key(json, "is");
    json_decimal(json, values->is);
    json_key(json, "must_be");
    json_decimal(json, values->must_be);
    char text[320];
    wrong_message(report, values, text, sizeof text);
    json_key_text(json, "message", text);
}

static void put_values(struct json *json, const struct inspection_report *report) {
    json_key_begin(json, "values", '[');
    for (size_t i = 0; i < report->value_count; i++) {
        const struct report_values *values = &report->values[i];
        json_begin(json, '{');
        json_key_unsigned(json, "argument", values->argument);
        json_key_text(json, "name", report->buffers[values->argument].name);
        json_key_begin(json, "elements", '[');
        for (const char *at = values->text; *at;) {
            char word[64];
            int length = (int)strcspn(at, " ");
            snprintf(word, sizeof word, "%.*s", length, at);
            json_decimal(json, word);
            at += length + (at[length] == ' ');
        }
        json_end(json, ']');
        if (values->is_expected) put_comparison(json, report, values);
        json_end(json, '}');
    }
    json_end(json, ']');
}

static void put_counts(struct json *json, const simt_report *counts) {
    json_key_begin(json, "counts", '{');
    for (size_t i = 0; i < simt_report_counter_count(counts); i++) {
        const char *name = simt_report_counter_name(counts, i);
        json_key_number(json, name, simt_report_counter_value(counts, name, 0));
    }
    json_end(json, '}');
}

/* ---- lines --------------------------------------------------------------------------------------- */

static void put_line_counts(struct json *json, const simt_line *line) {
#define PUT(name) json_key_unsigned(json, #name, line->name);
    SIMT_LINE_COUNTS(PUT)
#undef PUT
    json_key_number(json, "bank_degree", line->bank_degree);
}

static void put_all_lines(struct json *json, const simt_report *report) {
    json_key_begin(json, "lines", '[');
    for (size_t i = 0; i < simt_report_line_count(report); i++) {
        const simt_line *line = simt_report_line(report, i);
        json_begin(json, '{');
        json_key_text(json, "file", line->file);
        json_key_unsigned(json, "line", line->line);
        put_line_counts(json, line);
        json_end(json, '}');
    }
    json_end(json, ']');
}

/* ---- what the page draws ------------------------------------------------------------------------- */

enum { TEXT_NBYTES_MAX = 512 * 1024 }; /* a page is to open at once */

/* Each instruction's place in the source by the number of the file among the sources. */
static void put_instruction(struct json *json, const struct sources *sources, const simt_line *instruction) {
    size_t file = 0;
    while (strcmp(sources->items[file].file, instruction->file)) file++;
    json_begin(json, '{');
    json_key_unsigned(json, "source", file);
    json_key_unsigned(json, "line", instruction->line);
    json_key_unsigned(json, "ptx_line", instruction->ptx_line);
    json_key_text(json, "opcode", instruction->opcode);
    put_line_counts(json, instruction);
    json_end(json, '}');
}

static void put_instructions(struct json *json, const struct inspection_report *report) {
    json_key_begin(json, "instruction_list", '[');
    for (size_t i = 0; i < simt_report_instruction_count(report->counts); i++)
        put_instruction(json, &report->sources, simt_report_instruction(report->counts, i));
    json_end(json, ']');
}

static void put_long_text(struct json *json, const char *name, const char *text, size_t nbytes) {
    json_key(json, name);
    if (text && nbytes <= TEXT_NBYTES_MAX)
        json_bytes(json, text, nbytes);
    else
        json_null(json);
}

static void put_sources(struct json *json, const struct inspection_report *report) {
    json_key_begin(json, "sources", '[');
    for (size_t i = 0; i < report->sources.count; i++) {
        const struct source *source = &report->sources.items[i];
        json_begin(json, '{');
        json_key_text(json, "file", source->file);
        put_long_text(json, "text", source->text, source->nbytes);
        json_end(json, '}');
    }
    json_end(json, ']');
    put_long_text(json, "ptx", report->ptx, strlen(report->ptx));
}

/* Sets the distance from each lane's address to the next lane's; false: it is not the same for all. */
static bool find_stride(const simt_trace_entry *entry, uint32_t first, uint64_t *stride) {
    uint32_t previous = first;
    bool is_even = true;
    *stride = 0;
    for (uint32_t lane = first + 1; lane < 32 && entry->lanes >> lane; lane++) {
        if (!(entry->lanes >> lane & 1)) continue;
        uint64_t step = (entry->addresses[lane] - entry->addresses[first]) / (lane - first);
        if (previous == first) *stride = step;
        is_even = is_even && entry->addresses[first] + *stride * (lane - first) == entry->addresses[lane] &&
                  *stride <= UINT32_MAX;
        previous = lane;
    }
    return is_even;
}

/* Addresses as hexadecimal texts: JSON's numbers end at 2^53.  Of evenly spaced ones only the first lane's.
 */
static void put_addresses(struct json *json, const simt_trace_entry *entry) {
    uint32_t first = (uint32_t)__builtin_ctz(entry->lanes);
    uint64_t stride;
    json_key_text(json, "space", entry->is_shared ? "shared" : "global");
    json_key_unsigned(json, "nbytes", entry->nbytes);
    json_key_unsigned(json, "lanes", entry->lanes);
    if (find_stride(entry, first, &stride)) {
        json_key(json, "first");
        json_format(json, "0x%" PRIx64, entry->addresses[first]);
        json_key_unsigned(json, "stride", stride);
        return;
    }
    json_key_begin(json, "addresses", '[');
    for (uint32_t lane = first; lane < 32; lane++)
        if (entry->lanes >> lane & 1) json_format(json, "0x%" PRIx64, entry->addresses[lane]);
    json_end(json, ']');
}

static void put_trace_entry(struct json *json, const simt_trace_entry *entry) {
    json_begin(json, '{');
    json_key_unsigned(json, "ptx_line", entry->ptx_line);
    json_key_unsigned(json, "time", entry->time);
    json_key_unsigned(json, "active", entry->active);
    json_key_unsigned(json, "mask", entry->mask);
    if (entry->is_branch) json_key_unsigned(json, "taken", entry->taken);
    if (entry->has_addresses) put_addresses(json, entry);
    json_end(json, '}');
}

static void put_replay(struct json *json, const simt_replay *replay) {
    json_begin(json, '{');
    json_key_unsigned(json, "finding", replay->finding);
    json_key_bool(json, "is_other", replay->is_other);
    json_key_unsigned(json, "warp", replay->warp);
    json_key_list(json, "block", replay->block, 3);
    json_key_begin(json, "entries", '[');
    for (size_t i = 0; i < replay->entry_count; i++) put_trace_entry(json, &replay->entries[i]);
    json_end(json, ']');
    json_end(json, '}');
}

static void put_page_data(struct json *json, const struct inspection_report *report) {
    json_key_text(json, "path", report->path);
    json_key(json, "schedule");
    json_open_text(json);
    put_schedule(json->stream, report->launch);
    json_close_text(json);
    json_key_unsigned(json, "warp", report->machine.warp_size);
    json_key_unsigned(json, "banks", report->machine.banks);
    put_sources(json, report);
    put_instructions(json, report);
    json_key_begin(json, "replays", '[');
    for (size_t i = 0; i < simt_report_replay_count(report->counts); i++)
        put_replay(json, simt_report_replay(report->counts, i));
    json_end(json, ']');
}

/* ---- the whole ----------------------------------------------------------------------------------- */

void put_report_json(FILE *stream, const struct inspection_report *report, bool in_full) {
    struct json json = json_to(stream);
    json_begin(&json, '{');
    json_key_text(&json, "kernel", report->kernel);
    for (const struct report_main_count *count = report_main_counts; count->name; count++)
        json_key_number(&json, count->name, report_count(report, count->name));
    put_findings(&json, report);
    put_all_advice(&json, report);
    put_counts(&json, report->counts);
    put_all_lines(&json, report->counts);
    json_key_list(&json, "grid", report->launch->grid, 3);
    json_key_list(&json, "block", report->launch->block, 3);
    json_key_bool(&json, "stopped", report->is_stopped);
    if (report->value_count) put_values(&json, report);
    json_key(&json, "printed");
    json_bytes(&json, report->printed, report->printed_nbytes);
    if (in_full) put_page_data(&json, report);
    json_end(&json, '}');
    fputc('\n', stream);
}
