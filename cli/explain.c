/* warpfold explain: one block of a rung, step by step. */
#include "explain/explain.h"

#include <inttypes.h>
#include <stdlib.h>

#include "cleanup.h"
#include "commands.h"
#include "inspect.h"
#include "output.h"
#include "report/explain_report.h"
#include "report/html.h"

/* ---- what is asked for --------------------------------------------------------------------------- */

static int read_rung(const char *name, struct ladder_rung *rung) {
    if (!ladder_rung_find(name, rung))
        return fail_usage("unknown rung '%s'; 'warpfold ladder' lists them", name);
    return STATUS_OK;
}

static int read_variant(const struct settings *settings, struct explain_request *request) {
    simt_message message;
    request->op = settings->op ? wf_op_parse(settings->op) : WF_SUM;
    request->type = settings->type ? settings->type : request->rung->picture.type;
    if (request->type == WF_TYPE_DEFAULT) request->type = WF_I32;
    const struct ladder_variant variant = {.rung = request->rung, .op = request->op, .type = request->type};
    if (!parse_schedule(settings->schedule, &request->schedule, &request->seed))
        return fail_usage("--schedule takes lockstep, split or random:SEED, not '%s'", settings->schedule);
    if (request->op == WF_OP_NONE) return fail_usage("--op: unknown op '%s'", settings->op);
    return ladder_variant_check(&variant, &message) ? fail_usage("%s", message.text) : STATUS_OK;
}

static int read_values(const struct settings *settings, struct explain_request *request, void **values) {
    simt_message message;
    uint64_t count;
    if (settings->count == 0) return fail_usage("-n 0: nothing to explain for an empty array");
    if (settings->count > 0) request->n = (uint64_t)settings->count;
    if (!settings->values) return STATUS_OK;
    simt_error error = explain_parse_values(settings->values, request->type, values, &count, &message);
    if (error == SIMT_ERROR_MEMORY) return fail_memory();
    if (error) return fail_usage("--values: %s", message.text);
    if (request->n && request->n != count)
        return fail_usage("--values has %" PRIu64 " elements, but -n is %" PRIu64, count, request->n);
    request->values = *values;
    request->n = count;
    return STATUS_OK;
}

static int read_block(const struct settings *settings, struct explain_request *request) {
    uint32_t extent[3], lanes = request->rung->warp_size ? request->rung->warp_size : 1;
    if (!settings->block) return STATUS_OK;
    if (!parse_extent(settings->block, extent) || extent[1] != 1 || extent[2] != 1 ||
        !ladder_block_fits(request->rung, extent[0]))
        return fail_usage("--block %s: this rung takes a power of two from %" PRIu32 " to %d threads",
                          settings->block, lanes, LADDER_BLOCK_MAX);
    request->block = extent[0];
    return STATUS_OK;
}

/* *values: the request's, to be freed. */
static int read_request(const struct settings *settings, struct explain_request *request, void **values) {
    request->settings = (simt_settings){(uint32_t)settings->warp, (uint32_t)settings->banks};
    request->wants_misprints = settings->json || settings->html;
    request->leftovers = &cleanup_leftovers;
    int status = read_variant(settings, request);
    if (!status) status = read_values(settings, request, values);
    return status ? status : read_block(settings, request);
}

/* ---- the answer ---------------------------------------------------------------------------------- */

static bool make_json(const struct explanation *explanation, struct page *json) {
    page_open(json);
    bool is_whole = json->stream && put_explanation_json(json->stream, explanation);
    return page_end(json) && is_whole;
}

/* The text that --json prints is also what a page is made of. */
static int conclude_in_json(const struct explanation *explanation, const struct settings *settings) {
    struct page json, page = {0};
    int status = make_json(explanation, &json) ? STATUS_OK : fail_memory();
    const struct html_page html = {"explain", explanation->rung.id, json.text};
    if (!status && settings->html && !html_make(&html, &page)) {
        page_clear(&page);
        status = fail_memory();
    }
    if (!status && settings->html)
        status = deliver_html(settings->html, &page, settings->json ? &json : NULL);
    else if (!status)
        status = deliver(NULL, 0, &json);
    page_clear(&json);
    return status;
}

static int print_explanation(const struct explanation *explanation) {
    struct page page;
    page_open(&page);
    if (page.stream && !put_explanation(page.stream, explanation, wants_colour())) {
        page_clear(&page);
        return fail_memory();
    }
    return page_print(&page);
}

static int conclude(const struct explanation *explanation, const struct settings *settings) {
    bool is_json = settings->html || settings->json;
    return is_json ? conclude_in_json(explanation, settings) : print_explanation(explanation);
}

static int fail_run(simt_error error, const simt_message *message) {
    if (error == SIMT_ERROR_MEMORY) return fail_memory();
    return (error == SIMT_ERROR_ARGUMENT ? fail_usage : fail)("%s", message->text);
}

static int explain(const struct explain_request *request, const struct settings *settings) {
    struct explanation *explanation;
    simt_message message = {{0}};
    simt_error error = explain_run(request, &explanation, &message);
    int status = error ? fail_run(error, &message) : conclude(explanation, settings);
    explain_destroy(explanation);
    return status;
}

int command_explain(const struct request *request) {
    struct ladder_rung rung;
    struct explain_request asked = {.rung = &rung};
    void *values = NULL;
    int status = read_rung(request->operands[0], &rung);
    if (!status) status = read_request(request->settings, &asked, &values);
    if (!status) status = explain(&asked, request->settings);
    free(values);
    return status;
}
