/* The explanation as JSON. */
#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "explain_json.h"
#include "json.h"

void put_json_value(FILE *stream, const struct explanation *explanation, uint64_t bits) {
    char text[64];
    wf_value value = ladder_value(&bits, explanation->variant.type);
    size_t length = wf_value_format(&value, 0, text, sizeof text);
    fprintf(stream, isdigit((unsigned char)text[length - 1]) ? "%s" : "\"%s\"", text);
}

void put_json_symbol(FILE *stream, const struct explanation *explanation, uint32_t term) {
    if (term == TERM_UNKNOWN) {
        fputs("null", stream);
        return;
    }
    fputc('"', stream);
    put_symbol(stream, explanation, term);
    fputc('"', stream);
}

/* ---- counts -------------------------------------------------------------------------------------- */

void put_json_tally(FILE *stream, const struct tally *tally) {
    fprintf(stream,
            "\"active_lanes\":%" PRIu64 ",\"warps\":%" PRIu64 ",\"divergent_warps\":%" PRIu64
            ",\"global_requests\":%" PRIu64 ",\"shared_wavefronts\":%" PRIu64 ",\"bank_degree\":",
            tally->active_lanes, tally->warps, tally->divergent_warps, tally->global_requests,
            tally->shared_wavefronts);
    put_json_number(stream, tally->bank_degree);
}

static double ratio(uint64_t part, uint64_t whole) {
    return whole ? (double)part / (double)whole : 1;
}

static void put_lanes(FILE *stream, uint64_t active_lanes, uint64_t lane_steps, size_t step_count) {
    fprintf(stream, ",\"step_count\":%zu,\"lane_steps\":%" PRIu64 ",\"utilization\":", step_count,
            lane_steps);
    put_json_number(stream, ratio(active_lanes, lane_steps));
    fputs(",\"average_parallelism\":", stream);
    put_json_number(stream, step_count ? (double)active_lanes / (double)step_count : 0);
}

static void put_total(FILE *stream, const struct explanation *explanation) {
    static const char *const names[] = {"barriers", "atomics", "races", "occupancy", "resident_blocks"};
    const struct story *story = &explanation->story;
    fputs("\"total\":{", stream);
    put_json_tally(stream, &story->total);
    put_lanes(stream, story->total.active_lanes, story->lane_steps, story->step_count);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        fprintf(stream, ",\"%s\":", names[i]);
        put_json_number(stream, explain_count(explanation, names[i]));
    }
    fprintf(stream, ",\"shared_nbytes\":%zu}", explanation->walk.launch.shared_nbytes);
}

static void put_conflict(FILE *stream, struct conflict conflict) {
    fputs(",\"conflict\":[", stream);
    for (uint32_t i = 0; i < conflict.count; i++)
        fprintf(stream, "%s%" PRIu32, i ? "," : "", i * conflict.spacing);
    fputc(']', stream);
}

static void put_predicted_steps(FILE *stream, const struct prediction *prediction) {
    fputs(",\"steps\":[", stream);
    for (size_t i = 0; i < prediction->step_count; i++) {
        fputs(i ? ",{" : "{", stream);
        put_json_tally(stream, &prediction->steps[i]);
        put_conflict(stream, prediction->conflicts[i]);
        fputc('}', stream);
    }
    fputc(']', stream);
}

/* What has no closed form is left out. */
static void put_prediction(FILE *stream, const struct prediction *prediction) {
    fputs("\"predicted\":{", stream);
    if (prediction->has_tree) {
        put_json_tally(stream, &prediction->total);
        put_lanes(stream, prediction->total.active_lanes, prediction->lane_steps, prediction->step_count);
        fprintf(stream, ",\"barriers\":%" PRIu64 ",", prediction->barriers);
    }
    if (prediction->has_atomics) fprintf(stream, "\"atomics\":%" PRIu64 ",", prediction->atomics);
    fputs("\"races\":0,\"occupancy\":", stream);
    put_json_number(stream, prediction->occupancy);
    fprintf(stream, ",\"resident_blocks\":%" PRIu32, prediction->resident_blocks);
    if (prediction->has_outside)
        fprintf(stream, ",\"outside\":{\"global_requests\":%" PRIu64 ",\"shared_wavefronts\":%" PRIu64 "}",
                prediction->outside.global_requests, prediction->outside.shared_wavefronts);
    if (prediction->has_tree) put_predicted_steps(stream, prediction);
    fputc('}', stream);
}

/* ---- the whole ----------------------------------------------------------------------------------- */

static void put_head(FILE *stream, const struct explanation *explanation) {
    static const char *const schedules[] = {
        [SIMT_LOCKSTEP] = "lockstep", [SIMT_SPLIT] = "split", [SIMT_RANDOM] = "random"};
    const struct ladder_rung *rung = &explanation->rung;
    fprintf(stream, "\"rung\":\"%s\",\"title\":", rung->id);
    put_json_text(stream, rung->title);
    fprintf(stream,
            ",\"op\":\"%s\",\"type\":\"%s\",\"n\":%" PRIu64 ",\"block\":%" PRIu32 ",\"warp\":%" PRIu32
            ",\"banks\":%" PRIu32 ",\"schedule\":\"%s\"",
            wf_op_name(explanation->variant.op), wf_type_name(explanation->variant.type), explanation->n,
            explanation->block, explanation->settings.warp_size, explanation->settings.banks,
            schedules[explanation->schedule]);
    fprintf(stream, ",\"element_nbytes\":%" PRIu32 ",\"shared_offset\":%" PRIu64 ",\"source\":",
            explanation->story.element_nbytes, explanation->story.shared_offset);
    put_json_text(stream, rung->file->text);
}

static void put_input(FILE *stream, const struct explanation *explanation) {
    const unsigned char *values = explanation->values;
    size_t nbytes = explanation->story.element_nbytes;
    fputs("\"input\":[", stream);
    for (uint64_t i = 0; i < explanation->n; i++) {
        uint64_t bits = 0;
        memcpy(&bits, values + i * nbytes, nbytes);
        if (i) fputc(',', stream);
        put_json_value(stream, explanation, bits);
    }
    fputc(']', stream);
}

static void put_result(FILE *stream, const struct explanation *explanation) {
    const struct ladder_result *result = &explanation->result;
    uint64_t bits = 0;
    memcpy(&bits, &result->value.as, wf_type_nbytes(explanation->variant.type));
    fputs("\"result\":", stream);
    put_json_value(stream, explanation, bits);
    if (explanation->variant.op == WF_ARGMAX) fprintf(stream, ",\"index\":%" PRId64, result->index);
    fputs(",\"symbol\":", stream);
    put_json_symbol(stream, explanation, explanation->story.result.term);
}

void put_json_findings(FILE *stream, const simt_report *report) {
    fputs("\"findings\":[", stream);
    for (size_t i = 0; i < simt_report_finding_count(report); i++) {
        const simt_finding *finding = simt_report_finding(report, i);
        fprintf(stream,
                "%s{\"kind\":\"%s\",\"line\":%" PRIu32 ",\"thread\":%" PRIu32 ",\"message\":", i ? "," : "",
                simt_finding_kind_name(finding->kind), finding->line, finding->thread[0]);
        put_json_text(stream, finding->message);
        fputc('}', stream);
    }
    fputc(']', stream);
}

static bool put_outside(FILE *stream, const struct explanation *explanation) {
    fputs("\"outside\":{", stream);
    put_json_tally(stream, &explanation->story.outside);
    put_json_accesses(stream, explanation, SIZE_MAX);
    bool has_memory = put_json_lines(stream, explanation, SIZE_MAX);
    fputc('}', stream);
    return has_memory;
}

simt_error put_json(FILE *stream, const struct explanation *explanation, simt_message *message) {
    fputc('{', stream);
    put_head(stream, explanation);
    fputc(',', stream);
    put_result(stream, explanation);
    fputc(',', stream);
    put_input(stream, explanation);
    fputc(',', stream);
    bool has_memory = put_json_steps(stream, explanation);
    fputc(',', stream);
    put_total(stream, explanation);
    fputc(',', stream);
    put_prediction(stream, &explanation->prediction);
    fputc(',', stream);
    has_memory = put_outside(stream, explanation) && has_memory;
    fputc(',', stream);
    put_json_findings(stream, explanation->report);
    fputs(",\"printed_errors\":[", stream);
    put_printed_errors_json(stream, &explanation->rung);
    fputs("],", stream);
    simt_error error = put_json_wrong(stream, explanation, message);
    fputs("}\n", stream);
    return has_memory ? error : SIMT_ERROR_MEMORY;
}
