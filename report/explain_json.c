/* The explanation as JSON. */
#include "explain_json.h"

#include "explain_report.h"
#include "explain_words.h"

/* ---- counts -------------------------------------------------------------------------------------- */

static double ratio(uint64_t part, uint64_t whole) {
    return whole ? (double)part / (double)whole : 1;
}

static void put_lanes(struct json *json, uint64_t active_lanes, uint64_t lane_steps, size_t step_count) {
    json_key_unsigned(json, "step_count", step_count);
    json_key_unsigned(json, "lane_steps", lane_steps);
    json_key_number(json, "utilization", ratio(active_lanes, lane_steps));
    json_key_number(json, "average_parallelism", step_count ? (double)active_lanes / (double)step_count : 0);
}

static void put_total(struct json *json, const struct explanation *explanation) {
    static const char *const names[] = {"barriers", "atomics", "races", "occupancy", "resident_blocks"};
    const struct timeline *timeline = &explanation->timeline;
    json_key_begin(json, "total", '{');
    json_tally(json, &timeline->total);
    put_lanes(json, timeline->total.active_lanes, timeline->lane_steps, timeline->step_count);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        json_key_number(json, names[i], explain_count(explanation, names[i]));
    json_key_unsigned(json, "shared_nbytes", explanation->trace.launch.shared_nbytes);
    json_end(json, '}');
}

static void put_predicted_steps(struct json *json, const struct prediction *prediction) {
    json_key_begin(json, "steps", '[');
    for (size_t i = 0; i < prediction->step_count; i++) {
        const struct conflict conflict = prediction->conflicts[i];
        json_begin(json, '{');
        json_tally(json, &prediction->steps[i]);
        json_key_begin(json, "conflict", '[');
        for (uint32_t k = 0; k < conflict.count; k++) json_unsigned(json, k * conflict.spacing);
        json_end(json, ']');
        json_end(json, '}');
    }
    json_end(json, ']');
}

/* Omits counts that have no closed form. */
static void put_prediction(struct json *json, const struct prediction *prediction) {
    json_key_begin(json, "predicted", '{');
    if (prediction->has_tree) {
        json_tally(json, &prediction->total);
        put_lanes(json, prediction->total.active_lanes, prediction->lane_steps, prediction->step_count);
    }
    if (prediction->has_barriers) json_key_unsigned(json, "barriers", prediction->barriers);
    if (prediction->has_atomics) json_key_unsigned(json, "atomics", prediction->atomics);
    json_key_unsigned(json, "races", 0);
    json_key_number(json, "occupancy", prediction->occupancy);
    json_key_unsigned(json, "resident_blocks", prediction->resident_blocks);
    if (prediction->has_outside) {
        json_key_begin(json, "outside", '{');
        json_key_unsigned(json, "global_requests", prediction->outside.global_requests);
        json_key_unsigned(json, "shared_wavefronts", prediction->outside.shared_wavefronts);
        json_end(json, '}');
    }
    if (prediction->has_tree) put_predicted_steps(json, prediction);
    json_end(json, '}');
}

/* ---- the whole ----------------------------------------------------------------------------------- */

/* The rung that many places further on, or null: "before": {"id": "04_interleaved_modulo", "title": ...}. */
static void put_neighbour(struct json *json, const char *name, const struct ladder_rung *rung, int step) {
    struct ladder_rung other;
    int number = rung->number + step;
    json_key(json, name);
    if (number < 0 || !ladder_rung_get((size_t)number, &other)) {
        json_null(json);
        return;
    }
    json_begin(json, '{');
    json_key_text(json, "id", other.id);
    json_key_text(json, "title", other.title);
    json_end(json, '}');
}

static void put_head(struct json *json, const struct explanation *explanation) {
    static const char *const schedules[] = {
        [SIMT_LOCKSTEP] = "lockstep", [SIMT_SPLIT] = "split", [SIMT_RANDOM] = "random"};
    const struct ladder_rung *rung = &explanation->rung;
    json_key_text(json, "rung", rung->id);
    json_key_text(json, "title", rung->title);
    put_neighbour(json, "before", rung, -1);
    put_neighbour(json, "next", rung, 1);
    json_key_text(json, "op", wf_op_name(explanation->variant.op));
    json_key_text(json, "type", wf_type_name(explanation->variant.type));
    json_key_text(json, "cells", wf_type_name(explain_cell_type(explanation)));
    json_key_unsigned(json, "n", explanation->n);
    json_key_unsigned(json, "block", explanation->block);
    json_key_unsigned(json, "cluster", rung->cluster);
    json_key_unsigned(json, "warp", explanation->settings.warp_size);
    json_key_unsigned(json, "banks", explanation->settings.banks);
    json_key_text(json, "schedule", schedules[explanation->schedule]);
    json_key_unsigned(json, "element_nbytes", explanation->timeline.element_nbytes);
    json_key_unsigned(json, "shared_offset", explanation->timeline.shared_offset);
    json_key_bool(json, "is_picture", explanation->is_picture);
    json_key_text(json, "textbook", explanation->variant.op == WF_SUM ? rung->textbook : "");
    json_key_text(json, "source", rung->file->text);
}

static void put_result(struct json *json, const struct explanation *explanation) {
    const struct ladder_result *result = &explanation->result;
    json_key_value(json, "result", &result->value);
    if (explanation->variant.op == WF_ARGMAX) {
        json_key(json, "index");
        json_signed(json, result->index);
    }
    json_key(json, "symbol");
    json_symbol(json, explanation, explanation->timeline.result.term);
}

/* null: the rung combines as all do, so there is nothing to compare. */
static void put_orders(struct json *json, const struct explanation *explanation) {
    const struct explain_orders *orders = &explanation->orders;
    json_key(json, "orders");
    if (explanation->rung.cells == WF_TYPE_DEFAULT) {
        json_null(json);
        return;
    }
    json_begin(json, '{');
    json_key_value(json, "forward", &orders->forward);
    json_key_value(json, "backward", &orders->backward);
    json_key_value(json, "halves", &orders->halves);
    json_end(json, '}');
}

static void put_input(struct json *json, const struct explanation *explanation) {
    const unsigned char *values = explanation->values;
    json_key_begin(json, "input", '[');
    for (uint64_t i = 0; i < explanation->n; i++)
        json_element(json, values + i * explanation->timeline.element_nbytes, explanation->variant.type);
    json_end(json, ']');
}

static bool put_outside(struct json *json, const struct explanation *explanation) {
    json_key_begin(json, "outside", '{');
    json_tally(json, &explanation->timeline.outside);
    json_copies(json, explanation);
    json_accesses(json, explanation, SIZE_MAX);
    bool has_memory = json_lines(json, explanation, SIZE_MAX);
    json_end(json, '}');
    return has_memory;
}

bool put_explanation_json(FILE *stream, const struct explanation *explanation) {
    struct json json = json_to(stream);
    json_begin(&json, '{');
    put_head(&json, explanation);
    put_result(&json, explanation);
    put_orders(&json, explanation);
    put_input(&json, explanation);
    bool has_memory = json_steps(&json, explanation);
    put_total(&json, explanation);
    put_prediction(&json, &explanation->prediction);
    has_memory = put_outside(&json, explanation) && has_memory;
    json_findings(&json, explanation->report);
    json_misprints(&json, explanation);
    json_end(&json, '}');
    fputc('\n', stream);
    return has_memory;
}
