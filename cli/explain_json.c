/* The explanation as JSON. */
#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "explain.h"

static void put_number(FILE *stream, double number) {
    if (isfinite(number))
        fprintf(stream, "%.17g", number);
    else
        fputs("null", stream);
}

/* Decimal numbers as they are, all else (inf, nan) quoted. */
static void put_value(FILE *stream, const struct explanation *explanation, uint64_t bits) {
    char text[64];
    wf_value value = ladder_value(&bits, explanation->variant.type);
    size_t length = wf_value_format(&value, 0, text, sizeof text);
    fprintf(stream, isdigit((unsigned char)text[length - 1]) ? "%s" : "\"%s\"", text);
}

static void put_quoted_symbol(FILE *stream, const struct explanation *explanation, uint32_t term) {
    if (term == TERM_UNKNOWN) {
        fputs("null", stream);
        return;
    }
    fputc('"', stream);
    put_symbol(stream, explanation, term);
    fputc('"', stream);
}

/* ---- counts -------------------------------------------------------------------------------------- */

static void put_tally(FILE *stream, const struct tally *tally) {
    fprintf(stream,
            "\"active_lanes\":%" PRIu64 ",\"warps\":%" PRIu64 ",\"divergent_warps\":%" PRIu64
            ",\"global_requests\":%" PRIu64 ",\"shared_wavefronts\":%" PRIu64 ",\"bank_degree\":",
            tally->active_lanes, tally->warps, tally->divergent_warps, tally->global_requests,
            tally->shared_wavefronts);
    put_number(stream, tally->bank_degree);
}

static double ratio(uint64_t part, uint64_t whole) {
    return whole ? (double)part / (double)whole : 1;
}

static void put_lanes(FILE *stream, uint64_t active_lanes, uint64_t lane_steps, size_t step_count) {
    fprintf(stream, ",\"step_count\":%zu,\"lane_steps\":%" PRIu64 ",\"utilization\":", step_count,
            lane_steps);
    put_number(stream, ratio(active_lanes, lane_steps));
    fputs(",\"average_parallelism\":", stream);
    put_number(stream, step_count ? (double)active_lanes / (double)step_count : 0);
}

static void put_total(FILE *stream, const struct explanation *explanation) {
    static const char *const names[] = {"barriers", "atomics", "races", "occupancy", "resident_blocks"};
    const struct story *story = &explanation->story;
    fputs("\"total\":{", stream);
    put_tally(stream, &story->total);
    put_lanes(stream, story->total.active_lanes, story->lane_steps, story->step_count);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        fprintf(stream, ",\"%s\":", names[i]);
        put_number(stream, explain_count(explanation, names[i]));
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
        put_tally(stream, &prediction->steps[i]);
        put_conflict(stream, prediction->conflicts[i]);
        fputc('}', stream);
    }
    fputc(']', stream);
}

/* What has no closed form is left out. */
static void put_prediction(FILE *stream, const struct prediction *prediction) {
    fputs("\"predicted\":{", stream);
    if (prediction->has_tree) {
        put_tally(stream, &prediction->total);
        put_lanes(stream, prediction->total.active_lanes, prediction->lane_steps, prediction->step_count);
        fprintf(stream, ",\"barriers\":%" PRIu64 ",", prediction->barriers);
    }
    if (prediction->has_atomics) fprintf(stream, "\"atomics\":%" PRIu64 ",", prediction->atomics);
    fputs("\"races\":0,\"occupancy\":", stream);
    put_number(stream, prediction->occupancy);
    fprintf(stream, ",\"resident_blocks\":%" PRIu32, prediction->resident_blocks);
    if (prediction->has_outside)
        fprintf(stream, ",\"outside\":{\"global_requests\":%" PRIu64 ",\"shared_wavefronts\":%" PRIu64 "}",
                prediction->outside.global_requests, prediction->outside.shared_wavefronts);
    if (prediction->has_tree) put_predicted_steps(stream, prediction);
    fputc('}', stream);
}

/* ---- steps --------------------------------------------------------------------------------------- */

static const char *const store_names[STORES] = {"input", "shared", "registers", "result"};

/* Without a symbol: what nobody uses, and a queue at one word, of which each would repeat the one before. */
static void put_combine(FILE *stream, const struct explanation *explanation, enum store store,
                        const struct combine *combine) {
    const uint32_t *sources = &explanation->story.sources[combine->sources];
    fprintf(stream, "{\"thread\":%" PRIu32 ",\"target\":%" PRIu32 ",\"sources\":[", combine->thread,
            combine->target);
    for (uint32_t i = 0; i < combine->source_count; i++)
        fprintf(stream, "%s%" PRIu32, i ? "," : "", sources[i]);
    fputs("],\"value\":", stream);
    put_value(stream, explanation, combine->made.bits);
    fputs(",\"symbol\":", stream);
    bool is_told =
        store == STORE_REGISTERS ? story_uses(&explanation->story, combine->made) : store != STORE_RESULT;
    put_quoted_symbol(stream, explanation, is_told ? combine->made.term : TERM_UNKNOWN);
    fputc('}', stream);
}

static void put_step(FILE *stream, const struct explanation *explanation, const struct step *step) {
    fputc('{', stream);
    put_tally(stream, &step->tally);
    fprintf(stream, ",\"store\":\"%s\",\"line\":%" PRIu32 ",\"active\":[", store_names[step->store],
            step->line);
    for (uint32_t warp = 0; warp < explanation->story.warp_count; warp++)
        fprintf(stream, "%s%" PRIu32, warp ? "," : "", step->active[warp]);
    uint32_t threads[SIMT_LANES], count = story_conflict(&explanation->story, step, threads);
    fputs("],\"conflict\":[", stream);
    for (uint32_t i = 0; i < count; i++) fprintf(stream, "%s%" PRIu32, i ? "," : "", threads[i]);
    fputs("],\"combines\":[", stream);
    for (size_t i = 0; i < step->combine_count; i++) {
        if (i) fputc(',', stream);
        put_combine(stream, explanation, step->store, &explanation->story.combines[step->combines + i]);
    }
    fputs("]}", stream);
}

/* The cells before the first step; the combines of the steps tell what becomes of them. */
static void put_start(FILE *stream, const struct explanation *explanation) {
    const struct story *story = &explanation->story;
    size_t count = story->cell_counts[story->start_store];
    fprintf(stream, "\"start\":{\"store\":\"%s\",\"values\":[", store_names[story->start_store]);
    for (size_t i = 0; i < count; i++) {
        if (i) fputc(',', stream);
        put_value(stream, explanation, story->start[i].bits);
    }
    fputs("],\"symbols\":[", stream);
    for (size_t i = 0; i < count; i++) {
        if (i) fputc(',', stream);
        put_quoted_symbol(stream, explanation, story->start[i].term);
    }
    fputs("]}", stream);
}

/* ---- the whole ----------------------------------------------------------------------------------- */

static void put_result(FILE *stream, const struct explanation *explanation) {
    const struct ladder_result *result = &explanation->result;
    uint64_t bits = 0;
    memcpy(&bits, &result->value.as, wf_type_nbytes(explanation->variant.type));
    fputs("\"result\":", stream);
    put_value(stream, explanation, bits);
    if (explanation->variant.op == WF_ARGMAX) fprintf(stream, ",\"index\":%" PRId64, result->index);
    fputs(",\"symbol\":", stream);
    put_quoted_symbol(stream, explanation, explanation->story.result.term);
}

void put_json(FILE *stream, const struct explanation *explanation) {
    const struct story *story = &explanation->story;
    fprintf(stream,
            "{\"rung\":\"%s\",\"op\":\"%s\",\"type\":\"%s\",\"n\":%" PRIu64 ",\"block\":%" PRIu32
            ",\"warp\":%" PRIu32 ",\"banks\":%" PRIu32 ",",
            explanation->rung.id, wf_op_name(explanation->variant.op),
            wf_type_name(explanation->variant.type), explanation->n, explanation->block,
            explanation->settings.warp_size, explanation->settings.banks);
    put_result(stream, explanation);
    fputc(',', stream);
    put_start(stream, explanation);
    fputs(",\"steps\":[", stream);
    for (size_t i = 0; i < story->step_count; i++) {
        if (i) fputc(',', stream);
        put_step(stream, explanation, &story->steps[i]);
    }
    fputs("],", stream);
    put_total(stream, explanation);
    fputc(',', stream);
    put_prediction(stream, &explanation->prediction);
    fputs(",\"outside\":{", stream);
    put_tally(stream, &story->outside);
    fputs("},\"printed_errors\":[", stream);
    put_printed_errors_json(stream, &explanation->rung);
    fputs("]}\n", stream);
}
