/* The misprints of the sources, as JSON: a description, and the kernels, each with the outcome of its run. */
#include "explain_json.h"

/* Is it an access of shared memory, or of the input? */
static bool is_of_array(const struct misprint *misprint, const struct trace_event *event,
                        enum simt_space space) {
    if (event->kind != TRACE_ACCESS || !event->mask || event->space != space) return false;
    const struct ladder_argument *input = &misprint->wrong.arguments[0];
    uint64_t address = trace_addresses(&misprint->trace, event)[__builtin_ctz(event->mask)];
    return space == SIMT_SHARED ||
           address - misprint->addresses[0] < input->count * wf_type_nbytes(input->type);
}

/* Does it happen to it, between two barriers of the block? */
static bool meets(const struct misprint *misprint, enum simt_space space, enum simt_access_kind kind,
                  size_t first, size_t end) {
    for (size_t i = first; i < end; i++) {
        const struct trace_event *event = &misprint->trace.events[i];
        if (is_of_array(misprint, event, space) && event->access == kind) return true;
    }
    return false;
}

static void put_stores(struct json *json, const struct misprint *misprint, const struct trace_event *event) {
    const struct trace *trace = &misprint->trace;
    wf_type type = misprint->wrong.arguments[0].type;
    uint64_t base = event->space == SIMT_GLOBAL ? misprint->addresses[0] : 0;
    for (uint32_t rest = event->mask; rest; rest &= rest - 1) {
        uint32_t lane = (uint32_t)__builtin_ctz(rest);
        json_begin(json, '{');
        json_key_unsigned(json, "thread", event->warp * trace->launch.warp_size + lane);
        json_key_unsigned(json, "cell", (trace_addresses(trace, event)[lane] - base) / wf_type_nbytes(type));
        json_key(json, "value");
        json_element(json, &trace_values(trace, event)[lane], type);
        json_end(json, '}');
    }
}

static void put_phase(struct json *json, const struct misprint *misprint, size_t first, size_t end) {
    enum simt_space space = meets(misprint, SIMT_SHARED, SIMT_STORE, first, end) ? SIMT_SHARED : SIMT_GLOBAL;
    if (!meets(misprint, space, SIMT_STORE, first, end)) return;
    json_begin(json, '{');
    json_key_text(json, "array", space == SIMT_SHARED ? "shared" : "input");
    json_key_bool(json, "combines", meets(misprint, space, SIMT_LOAD, first, end));
    json_key_begin(json, "stores", '[');
    for (size_t i = first; i < end; i++) {
        const struct trace_event *event = &misprint->trace.events[i];
        if (is_of_array(misprint, event, space) && event->access == SIMT_STORE)
            put_stores(json, misprint, event);
    }
    json_end(json, ']');
    json_end(json, '}');
}

/* Who stores what into the array of partial results, from barrier to barrier: a step of a tree where it is
 * read too. */
static void put_phases(struct json *json, const struct misprint *misprint) {
    const struct trace *trace = &misprint->trace;
    size_t first = 0;
    json_key_begin(json, "phases", '[');
    for (size_t i = 0; i <= trace->count; i++) {
        if (i < trace->count && trace->events[i].kind != TRACE_BARRIER) continue;
        put_phase(json, misprint, first, i);
        first = i + 1;
    }
    json_end(json, ']');
}

/* The active lanes of the correct rung in its steps. */
static void put_right_lanes(struct json *json, const struct misprint *misprint) {
    const struct prediction *prediction = &misprint->prediction;
    json_key_begin(json, "right_active_lanes", '[');
    for (size_t i = 0; prediction->has_tree && i < prediction->step_count; i++)
        json_unsigned(json, prediction->steps[i].active_lanes);
    json_end(json, ']');
}

/* The options with which inspect runs it, too. */
static void put_options(struct json *json, const struct ladder_wrong *wrong) {
    json_key(json, "options");
    json_open_text(json);
    if (wrong->grid != 1) fprintf(json->stream, "--grid %u ", (unsigned)wrong->grid);
    fprintf(json->stream, "--block %u", (unsigned)wrong->block);
    if (wrong->shared_nbytes) fprintf(json->stream, " --shared %zu", wrong->shared_nbytes);
    for (size_t i = 0; i < wrong->argument_count; i++)
        fprintf(json->stream, " --arg %s", wrong->arguments[i].text);
    json_close_text(json);
}

static void put_kernel(struct json *json, const struct misprint *misprint) {
    const struct ladder_wrong *wrong = &misprint->wrong;
    const struct ladder_argument *input = &wrong->arguments[0];
    json_begin(json, '{');
    json_key_text(json, "kernel", wrong->name);
    json_key_unsigned(json, "n", input->count);
    json_key_unsigned(json, "block", wrong->block);
    json_key_unsigned(json, "grid", wrong->grid);
    json_key_text(json, "fill", input->fill);
    put_options(json, wrong);
    json_key_text(json, "source", wrong->file->text);
    json_key_begin(json, "input", '[');
    for (uint64_t i = 0; i < input->count; i++)
        json_element(json, misprint->values + i * wf_type_nbytes(input->type), input->type);
    json_end(json, ']');
    json_key_value(json, "right", &misprint->right.value);
    if (misprint->has_result) {
        json_key_value(json, "result", &misprint->result.value);
    } else {
        json_key(json, "result");
        json_null(json);
    }
    json_findings(json, misprint->report);
    put_right_lanes(json, misprint);
    put_phases(json, misprint);
    json_end(json, '}');
}

void json_misprints(struct json *json, const struct explanation *explanation) {
    char text[LADDER_MISPRINT_CAPACITY];
    json_key_begin(json, "printed_errors", '[');
    for (size_t i = 0; ladder_misprint(&explanation->rung, i, text); i++) json_text(json, text);
    json_end(json, ']');
    json_key_begin(json, "wrong", '[');
    for (size_t i = 0; i < explanation->misprint_count; i++) put_kernel(json, &explanation->misprints[i]);
    json_end(json, ']');
}
