/* What several parts of the explanation contain. */
#include "explain_json.h"
#include "explain_words.h"

static void json_value(struct json *json, const wf_value *value) {
    char text[64];
    wf_value_format(value, 0, text, sizeof text);
    json_decimal(json, text);
}

void json_key_value(struct json *json, const char *name, const wf_value *value) {
    json_key(json, name);
    json_value(json, value);
}

void json_element(struct json *json, const void *element, wf_type type) {
    const wf_value value = ladder_value(element, type);
    json_value(json, &value);
}

void json_key_bits(struct json *json, const char *name, const struct explanation *explanation,
                   uint64_t bits) {
    json_key(json, name);
    json_element(json, &bits, explain_cell_type(explanation));
}

/* A symbol has the letters a to z, digits, signs and blanks only. */
void json_symbol(struct json *json, const struct explanation *explanation, uint32_t term) {
    if (term == TERM_UNKNOWN) {
        json_null(json);
        return;
    }
    json_open_text(json);
    put_symbol(json->stream, explanation, term);
    json_close_text(json);
}

void json_combine(struct json *json, const struct timeline *timeline, const struct combine *combine) {
    json_key_unsigned(json, "thread", combine->thread);
    json_key_unsigned(json, "target", combine->target);
    json_key_list(json, "sources", &timeline->sources[combine->sources], combine->source_count);
}

void json_tally(struct json *json, const struct tally *tally) {
    json_key_unsigned(json, "active_lanes", tally->active_lanes);
    json_key_unsigned(json, "warps", tally->warps);
    json_key_unsigned(json, "divergent_warps", tally->divergent_warps);
    json_key_unsigned(json, "global_requests", tally->global_requests);
    json_key_unsigned(json, "shared_wavefronts", tally->shared_wavefronts);
    json_key_number(json, "bank_degree", tally->bank_degree);
}

void json_finding_pairs(struct json *json, const simt_report *report, size_t index) {
    uint32_t from_line = 0, to_line = 0;
    json_key_unsigned(json, "pairs", simt_report_finding_pairs(report, index, &from_line, &to_line));
    json_key_unsigned(json, "from_line", from_line);
    json_key_unsigned(json, "to_line", to_line);
}

void json_findings(struct json *json, const simt_report *report) {
    json_key_begin(json, "findings", '[');
    for (size_t i = 0; i < simt_report_finding_count(report); i++) {
        const simt_finding *finding = simt_report_finding(report, i);
        json_begin(json, '{');
        json_key_text(json, "kind", simt_finding_kind_name(finding->kind));
        json_key_unsigned(json, "line", finding->line);
        json_key_unsigned(json, "thread", finding->thread[0]);
        json_key_text(json, "message", finding->message);
        json_finding_pairs(json, report, i);
        json_end(json, '}');
    }
    json_end(json, ']');
}
