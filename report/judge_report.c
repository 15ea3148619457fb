#include "judge_report.h"

#include <inttypes.h>
#include <string.h>

#include "json.h"
#include "kernel_source.h"
#include "numerals.h"
#include "printed.h"
#include "source_guard.h"

enum { DIGITS = 3, MESSAGE_NBYTES = JUDGE_MESSAGE_CAPACITY + 64 };

static bool is_in(const struct judged_source *source, const char *file) { return source->text && !strcmp(source->path, file); }

bool judge_guard(const void *source, const simt_finding *finding, const struct judge_outside *outside, char *text, size_t nbytes) {
    const struct judged_source *judged = source;
    const struct guard_access access = {finding->line, finding->block, finding->thread, outside->block, outside->argument, outside->is_just_behind};
    return is_in(judged, finding->file) && guard_find_fault(judged->text, &access, text, nbytes);
}

/* With its counts grouped as those of inspect, and arrays as the source has them; the values of a result stay as they are. */
static const char *message_of(const struct judgement *judgement, const struct judge_reason *reason, char text[MESSAGE_NBYTES]) {
    snprintf(text, MESSAGE_NBYTES, "%s", reason->message);
    if (is_in(&judgement->source, reason->file) && strstr(text, " elements of ")) kernel_source_array(judgement->source.text, text, MESSAGE_NBYTES);
    if (strcmp(reason->kind, "result")) numerals_group(text, MESSAGE_NBYTES);
    return text;
}

/* ---- text ---------------------------------------------------------------------------------------- */

static void put_reason(FILE *stream, const struct judgement *judgement, const struct judge_reason *reason) {
    char text[MESSAGE_NBYTES];
    fprintf(stream, "\n%s", reason->kind);
    if (reason->file[0]) {
        fputs(" at ", stream);
        put_name(stream, reason->file, strlen(reason->file));
        fprintf(stream, ":%" PRIu32, reason->line);
    }
    if (reason->other_line && reason->other_line != reason->line) fprintf(stream, " and %" PRIu32, reason->other_line);
    fputs("\n    ", stream);
    message_of(judgement, reason, text);
    put_name(stream, text, strlen(text));
    fprintf(stream, "\n    in %" PRIu64 " of %" PRIu64 " launches, first: ", reason->launches, judgement->verdict->launches);
    put_name(stream, reason->where, strlen(reason->where));
    fputc('\n', stream);
}

static void put_error(FILE *stream, const struct judge_verdict *verdict) {
    char roundings[NUMERAL_NBYTES];
    if (!verdict->has_error) return;
    fprintf(stream, "  error at most %.*g ulp of the exact result", DIGITS, verdict->error_ulp);
    if (verdict->roundings && verdict->error_ulp > 0)
        fprintf(stream, "; its bound there, from %s rounded operations in a row%s: %.*g ulp",
                numeral(roundings, verdict->roundings), verdict->is_counted ? " (counted)" : "", DIGITS, verdict->bound_ulp);
    fputc('\n', stream);
}

/* Wrapped. */
static void put_sizes(FILE *stream, const struct judge_verdict *verdict) {
    enum { WIDTH = 112 };
    int column = fprintf(stream, "  n =");
    for (size_t i = 0; i < verdict->size_count; i++) {
        const char *before = i == verdict->task_size_count ? "; once each" : "";
        if (column + (int)(strlen(before) + strlen(verdict->sizes[i])) + 1 > WIDTH) column = fprintf(stream, "\n     ") - 1;
        column += fprintf(stream, "%s %s", before, verdict->sizes[i]);
    }
    fputc('\n', stream);
}

static void put_blocks(FILE *stream, const struct judge_verdict *verdict) {
    fprintf(stream, "  blocks of ");
    for (size_t i = 0; i < verdict->block_count; i++) {
        fputs(i == 1 ? "; the task's sizes in blocks of " : i ? ", " : "", stream);
        put_name(stream, verdict->blocks[i], strlen(verdict->blocks[i]));
    }
    fprintf(stream, "%s\n", verdict->block_count > 1 ? ", too" : "");
}

static void put_gates(FILE *stream, const struct judge_verdict *verdict) {
    for (size_t i = 0; i < verdict->gate_count; i++) {
        const struct judge_gate_count *gate = &verdict->gates[i];
        fprintf(stream, "  %s %.6g, %s %.6g wanted, at the largest size\n", gate->name, gate->count,
                gate->is_least ? "at least" : "at most", gate->allowed);
    }
}

void put_judgement(FILE *stream, const struct judgement *judgement, bool has_colour) {
    const struct judge_verdict *verdict = judgement->verdict;
    const char *colour = !has_colour ? "" : verdict->is_accepted ? "\033[1;32m" : "\033[1;31m";
    put_name(stream, judgement->path, strlen(judgement->path));
    fputs(": ", stream);
    put_name(stream, judge_task_title(judgement->task), strlen(judge_task_title(judgement->task)));
    fprintf(stream, ": %s%s%s after %" PRIu64 " launches\n", colour,
            verdict->is_accepted ? "accepted" : "refused", has_colour ? "\033[0m" : "", verdict->launches);
    if (verdict->is_accepted) put_sizes(stream, verdict);
    if (verdict->is_accepted) put_blocks(stream, verdict);
    if (verdict->is_accepted) put_error(stream, verdict);
    if (verdict->is_accepted) put_gates(stream, verdict);
    for (size_t i = 0; i < verdict->reason_count; i++)
        put_reason(stream, judgement, &verdict->reasons[i]);
}

/* ---- JSON ---------------------------------------------------------------------------------------- */

static void put_reasons_json(struct json *json, const struct judgement *judgement) {
    const struct judge_verdict *verdict = judgement->verdict;
    char text[MESSAGE_NBYTES];
    json_key_begin(json, "reasons", '[');
    for (size_t i = 0; i < verdict->reason_count; i++) {
        const struct judge_reason *reason = &verdict->reasons[i];
        json_begin(json, '{');
        json_key_text(json, "kind", reason->kind);
        json_key_text(json, "message", message_of(judgement, reason, text));
        json_key_text(json, "where", reason->where);
        json_key_unsigned(json, "launches", reason->launches);
        if (reason->file[0]) json_key_text(json, "file", reason->file);
        if (reason->line) json_key_unsigned(json, "line", reason->line);
        if (reason->other_line) json_key_unsigned(json, "other_line", reason->other_line);
        json_end(json, '}');
    }
    json_end(json, ']');
}

static void put_gates_json(struct json *json, const struct judge_verdict *verdict) {
    json_key_begin(json, "gates", '[');
    for (size_t i = 0; i < verdict->gate_count; i++) {
        const struct judge_gate_count *gate = &verdict->gates[i];
        json_begin(json, '{');
        json_key_text(json, "count", gate->name);
        json_key_number(json, "value", gate->count);
        json_key_number(json, gate->is_least ? "least" : "most", gate->allowed);
        json_end(json, '}');
    }
    json_end(json, ']');
}

void put_judgement_json(FILE *stream, const struct judgement *judgement) {
    const struct judge_verdict *verdict = judgement->verdict;
    struct json json = json_to(stream);
    json_begin(&json, '{');
    json_key_text(&json, "kernel", judgement->path);
    json_key_text(&json, "task", judgement->task_name);
    json_key_text(&json, "title", judge_task_title(judgement->task));
    json_key_bool(&json, "accepted", verdict->is_accepted);
    json_key_unsigned(&json, "launches", verdict->launches);
    json_key_unsigned(&json, "seed", judgement->seed);
    json_key_begin(&json, "sizes", '[');
    for (size_t i = 0; i < verdict->size_count; i++) json_text(&json, verdict->sizes[i]);
    json_end(&json, ']');
    json_key_unsigned(&json, "sizes_of_task", verdict->task_size_count);
    json_key_begin(&json, "blocks", '[');
    for (size_t i = 0; i < verdict->block_count; i++) json_text(&json, verdict->blocks[i]);
    json_end(&json, ']');
    json_key(&json, "error_ulp"),
        verdict->has_error ? json_number(&json, verdict->error_ulp) : json_null(&json);
    json_key(&json, "bound_ulp"),
        verdict->has_error ? json_number(&json, verdict->bound_ulp) : json_null(&json);
    json_key(&json, "roundings"),
        verdict->has_error ? json_unsigned(&json, verdict->roundings) : json_null(&json);
    json_key_bool(&json, "roundings_counted", verdict->is_counted);
    put_reasons_json(&json, judgement);
    put_gates_json(&json, verdict);
    json_end(&json, '}');
    fputc('\n', stream);
}
