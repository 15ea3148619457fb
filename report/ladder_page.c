#include "ladder_page.h"

#include <string.h>

#include "explain/explain.h"
#include "explain_json.h"
#include "html.h"
#include "json.h"
#include "json_check.h"
#include "ladder/ladder.h"

/* ---- a rung's tree ------------------------------------------------------------------------------- */

/* What fits into a picture: this many elements, in warps of this many lanes, unless the rung needs full warps.
 */
enum { TREE_ELEMENTS = 16, TREE_WARP = 4 };

static void put_step(struct json *json, const struct timeline *timeline, const struct step *step) {
    json_begin(json, '{');
    json_key_unsigned(json, "divergent_warps", step->tally.divergent_warps);
    json_key_number(json, "bank_degree", step->tally.bank_degree);
    json_key_begin(json, "combines", '[');
    for (size_t i = 0; i < step->combine_count; i++) {
        json_begin(json, '{');
        json_combine(json, timeline, &timeline->combines[step->combines + i]);
        json_end(json, '}');
    }
    json_end(json, ']');
    json_end(json, '}');
}

static void put_tree(struct json *json, const struct explanation *tree) {
    json_begin(json, '{');
    json_key_unsigned(json, "n", tree->n);
    json_key_unsigned(json, "block", tree->block);
    json_key_unsigned(json, "warp", tree->settings.warp_size);
    json_key_begin(json, "steps", '[');
    for (size_t i = 0; i < tree->timeline.step_count; i++)
        put_step(json, &tree->timeline, &tree->timeline.steps[i]);
    json_end(json, ']');
    json_end(json, '}');
}

/* null: the rung does not run on the simulator. */
static simt_error explain_tree(struct json *json, const struct ladder_rung *rung, simt_message *message) {
    uint32_t lanes = rung->warp_size ? rung->warp_size : TREE_WARP;
    struct explain_request request = {.rung = rung,
                                      .op = WF_SUM,
                                      .type = WF_I32,
                                      .n = rung->warp_size ? rung->warp_size : TREE_ELEMENTS,
                                      .block = lanes,
                                      .settings = {lanes, lanes}};
    struct explanation *tree;
    while (request.block * rung->tile < request.n) request.block *= 2;
    simt_error error = explain_run(&request, &tree, message);
    if (!error)
        put_tree(json, tree);
    else
        json_null(json);
    explain_destroy(tree);
    return error == SIMT_ERROR_MEMORY ? error : SIMT_OK;
}

/* ---- the page ------------------------------------------------------------------------------------ */

static simt_error put_rungs(struct json *json, simt_message *message) {
    simt_error error = SIMT_OK;
    struct ladder_rung rung;
    json_key_begin(json, "rungs", '[');
    for (size_t i = 0; !error && ladder_rung_get(i, &rung); i++) {
        json_begin(json, '{');
        json_key_text(json, "id", rung.id);
        json_key_text(json, "source", rung.file->text);
        json_key(json, "tree");
        error = explain_tree(json, &rung, message);
        json_end(json, '}');
    }
    json_end(json, ']');
    return error;
}

/* The values of runs, which are checked, one after the other. */
static void put_runs(struct json *json, const char *name, const char *text) {
    const char *wrong;
    json_key_begin(json, name, '[');
    for (const char *end; *(text = json_skip_space(text)); text = end) {
        end = json_value_end(text, &wrong);
        json_raw(json, text, (size_t)(end - text));
    }
    json_end(json, ']');
}

static simt_error put_data(FILE *stream, const char *runs, simt_message *message) {
    struct json json = json_to(stream);
    json_begin(&json, '{');
    put_runs(&json, "runs", runs);
    if (!strstr(runs, "\"microseconds\"")) put_runs(&json, "recorded", html_file_text("ladder_times.jsonl"));
    simt_error error = put_rungs(&json, message);
    json_end(&json, '}');
    return error;
}

bool ladder_page_make(const char *runs, struct page *page) {
    struct page data;
    simt_message message = {""};
    page_open(&data);
    simt_error error = data.stream ? put_data(data.stream, runs, &message) : SIMT_OK;
    bool is_whole = page_end(&data) && !error;
    const struct html_page html = {.kind = "ladder", .title = "The ladder", .json = data.text};
    *page = (struct page){0};
    is_whole = is_whole && html_make(&html, page);
    page_clear(&data);
    return is_whole;
}

/* ---- an earlier run ------------------------------------------------------------------------------ */

const char *ladder_page_find_fault(const char *runs, size_t nbytes) {
    const char *wrong = NULL, *at = json_skip_space(runs);
    while (at && *at) {
        at = json_value_end(at, &wrong);
        if (at) at = json_skip_space(at);
    }
    return !wrong && strlen(runs) < nbytes ? runs + strlen(runs) : wrong;
}
