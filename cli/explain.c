/* warpfold explain: one block of a rung, step by step. */
#include "explain.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "commands.h"
#include "html.h"
#include "inspect.h"
#include "output.h"

enum {
    COUNT_DEFAULT = 16,
    WARP_SIZE_DEFAULT = 32,
    BANKS_DEFAULT = 32,
    TILES_MAX = 16 /* that a thread of a striding grid takes */
};

static bool is_power(uint32_t number) {
    return number && !(number & (number - 1));
}

static uint64_t power_above(uint64_t number) {
    uint64_t power = 1;
    while (power < number) power *= 2;
    return power;
}

/* ---- what is asked for --------------------------------------------------------------------------- */

static int read_machine(const struct settings *settings, struct explanation *explanation) {
    int64_t warp = settings->warp ? settings->warp : WARP_SIZE_DEFAULT;
    int64_t banks = settings->banks ? settings->banks : BANKS_DEFAULT;
    const struct ladder_rung *rung = &explanation->rung;
    if (rung->warp_size && rung->warp_size != warp)
        return fail_usage("%s needs warps of %" PRIu32 " lanes", rung->id, rung->warp_size);
    if (!parse_schedule(settings->schedule, &explanation->schedule, &explanation->seed))
        return fail_usage("--schedule %s: it is lockstep, split or random:SEED", settings->schedule);
    explanation->settings = (simt_settings){(uint32_t)warp, (uint32_t)banks};
    return STATUS_OK;
}

static int read_variant(const struct settings *settings, struct explanation *explanation) {
    wf_op op = settings->op ? wf_op_parse(settings->op) : WF_SUM;
    explanation->variant = (struct ladder_variant){
        .rung = &explanation->rung, .op = op, .type = settings->type ? settings->type : WF_I32};
    simt_message message;
    if (op == WF_OP_NONE) return fail_usage("--op %s: there is no such op", settings->op);
    if (ladder_variant_check(&explanation->variant, &message)) return fail_usage("%s", message.text);
    return STATUS_OK;
}

static int read_values(const struct settings *settings, struct explanation *explanation) {
    const struct ladder_variant *variant = &explanation->variant;
    bool has_count = settings->count > 0;
    uint64_t count = has_count ? (uint64_t)settings->count : COUNT_DEFAULT, given = count;
    uint64_t count_max = (uint64_t)explanation->rung.tile * LADDER_BLOCK_MAX * TILES_MAX;
    int status = STATUS_OK;
    if (settings->count == 0) return fail_usage("-n 0: of no elements there is no step to explain");
    if (!has_count && explanation->rung.warp_size) count = given = explanation->rung.warp_size;
    if (count > count_max)
        return fail_usage("%s: %" PRIu64 " elements are too many for one block", explanation->rung.id, count);
    explanation->values = settings->values
                              ? explain_parse_values(settings->values, variant->type, &given, &status)
                              : explain_choose_values(variant->type, variant->op, count, &status);
    if (status) return status;
    if (has_count && given != count)
        return fail_usage("--values has %" PRIu64 " elements and -n says %" PRIu64, given, count);
    explanation->n = given;
    return STATUS_OK;
}

/* One block for all n elements. */
static int read_block(const struct settings *settings, struct explanation *explanation) {
    const struct ladder_rung *rung = &explanation->rung;
    uint64_t threads = power_above((explanation->n + rung->tile - 1) / rung->tile);
    uint64_t lanes = rung->warp_size, tiles_max = rung->strides ? TILES_MAX : 1;
    uint32_t extent[3] = {0, 1, 1};
    if (threads < lanes) threads = lanes;
    if (settings->block && (!parse_extent(settings->block, extent) || extent[1] != 1 || extent[2] != 1 ||
                            !is_power(extent[0]) || extent[0] > LADDER_BLOCK_MAX || extent[0] < lanes))
        return fail_usage("--block %s: a block of this rung has %" PRIu64 " to %d threads, a power of two",
                          settings->block, lanes ? lanes : 1, LADDER_BLOCK_MAX);
    if (settings->block)
        threads = extent[0];
    else if (rung->strides && threads > LADDER_BLOCK_MAX)
        threads = LADDER_BLOCK_MAX;
    uint64_t most = (settings->block ? threads : LADDER_BLOCK_MAX) * rung->tile * tiles_max;
    if (threads > LADDER_BLOCK_MAX || explanation->n > most)
        return fail_usage("%s: one block%s takes at most %" PRIu64 " elements, not %" PRIu64, rung->id,
                          settings->block ? " of that size" : "", most, explanation->n);
    explanation->block = (uint32_t)threads;
    return STATUS_OK;
}

static int read_request(const struct request *request, struct explanation *explanation) {
    if (!ladder_rung_find(request->operands[0], &explanation->rung))
        return fail_usage("there is no rung '%s'; 'warpfold ladder' lists them", request->operands[0]);
    if (explanation->rung.needs_gpu)
        return fail("%s runs on a GPU only: 'warpfold ladder --device cuda --rung %02d' times it there",
                    explanation->rung.id, explanation->rung.number);
    int status = read_machine(request->settings, explanation);
    if (!status) status = read_variant(request->settings, explanation);
    if (!status) status = read_values(request->settings, explanation);
    return status ? status : read_block(request->settings, explanation);
}

/* ---- the answer ---------------------------------------------------------------------------------- */

static bool wants_colour(void) {
    const char *no_colour = getenv("NO_COLOR");
    return isatty(STDOUT_FILENO) && !(no_colour && no_colour[0]);
}

/* The text that --json prints is also what a page is made of. */
static int write_page(const struct explanation *explanation, const char *path, bool is_printed) {
    struct page json;
    simt_message message = {"no memory left"};
    page_open(&json);
    bool is_whole = json.stream && !put_json(json.stream, explanation, &message) && !fflush(json.stream);
    int status = is_whole ? STATUS_OK : fail("%s: %s", explanation->rung.id, message.text);
    const struct html_page page = {"explain", explanation->rung.id, json.text};
    if (!status && path) status = html_write(path, &page);
    if (!status && is_printed) return page_print(&json);
    if (json.stream) fclose(json.stream);
    free(json.text);
    return status;
}

static int print_explanation(const struct explanation *explanation) {
    struct page page;
    page_open(&page);
    if (page.stream) put_page(page.stream, explanation, wants_colour());
    return page_print(&page);
}

static int conclude(const struct explanation *explanation, const struct settings *settings) {
    if (settings->html || settings->json) return write_page(explanation, settings->html, settings->json);
    return print_explanation(explanation);
}

/* What stopped the launch, in the words of its finding. */
static int fail_run(const struct explanation *explanation, const simt_message *message) {
    size_t count = explanation->report ? simt_report_finding_count(explanation->report) : 0;
    if (!count) return fail("%s: %s", explanation->rung.id, message->text);
    const simt_finding *finding = simt_report_finding(explanation->report, count - 1);
    return fail("%s: %s:%u: thread %u: %s", explanation->rung.id, finding->file, (unsigned)finding->line,
                (unsigned)finding->thread[0], finding->message);
}

int command_explain(const struct request *request) {
    struct explanation explanation = {0};
    simt_message message = {{0}};
    int status = read_request(request, &explanation);
    if (!status && explain_run(&explanation, &message)) status = fail_run(&explanation, &message);
    if (!status) status = conclude(&explanation, request->settings);
    explain_clear(&explanation);
    return status;
}
