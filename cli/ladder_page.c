#include "ladder_page.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "explain.h"
#include "file.h"
#include "html.h"
#include "json.h"
#include "json_check.h"
#include "ladder.h"
#include "output.h"

/* ---- a rung's tree ------------------------------------------------------------------------------- */

/* What a picture has room for: so many elements, in warps of so many lanes, unless the rung needs whole
 * ones. */
enum { TREE_ELEMENTS = 16, TREE_WARP = 4 };

static bool prepare_tree(struct explanation *tree, size_t index) {
    int status = STATUS_OK;
    if (!ladder_rung_get(index, &tree->rung)) return false;
    uint32_t lanes = tree->rung.warp_size ? tree->rung.warp_size : TREE_WARP;
    tree->n = tree->rung.warp_size ? tree->rung.warp_size : TREE_ELEMENTS;
    tree->variant = (struct ladder_variant){.rung = &tree->rung, .op = WF_SUM, .type = WF_I32};
    for (tree->block = lanes; tree->block * tree->rung.tile < tree->n;) tree->block *= 2;
    tree->settings = (simt_settings){lanes, lanes};
    tree->values = explain_choose_values(WF_I32, WF_SUM, tree->n, &status);
    return !status;
}

static void put_combine(FILE *stream, const struct story *story, const struct combine *combine) {
    fprintf(stream, "{\"thread\":%" PRIu32 ",\"target\":%" PRIu32 ",\"sources\":[", combine->thread,
            combine->target);
    for (uint32_t i = 0; i < combine->source_count; i++)
        fprintf(stream, "%s%" PRIu32, i ? "," : "", story->sources[combine->sources + i]);
    fputs("]}", stream);
}

static void put_step(FILE *stream, const struct story *story, const struct step *step) {
    fprintf(stream, "{\"divergent_warps\":%" PRIu64 ",\"combines\":[", step->tally.divergent_warps);
    for (size_t i = 0; i < step->combine_count; i++) {
        if (i > 0) fputc(',', stream);
        put_combine(stream, story, &story->combines[step->combines + i]);
    }
    fputs("]}", stream);
}

static void put_steps(FILE *stream, const struct explanation *tree) {
    const struct story *story = &tree->story;
    fprintf(stream, "{\"n\":%" PRIu64 ",\"block\":%" PRIu32 ",\"warp\":%" PRIu32 ",\"steps\":[", tree->n,
            tree->block, tree->settings.warp_size);
    for (size_t i = 0; i < story->step_count; i++) {
        if (i > 0) fputc(',', stream);
        put_step(stream, story, &story->steps[i]);
    }
    fputs("]}", stream);
}

/* null: the rung does not run on the machine. */
static void put_tree_json(FILE *stream, size_t index) {
    struct explanation tree = {0};
    simt_message message;
    if (prepare_tree(&tree, index) && !explain_run(&tree, &message))
        put_steps(stream, &tree);
    else
        fputs("null", stream);
    explain_clear(&tree);
}

/* ---- the page ------------------------------------------------------------------------------------ */

static void put_rungs(FILE *stream) {
    fputs("\"rungs\":[", stream);
    for (size_t i = 0; i < ladder_rung_count(); i++) {
        struct ladder_rung rung;
        ladder_rung_get(i, &rung);
        fprintf(stream, "%s{\"id\":\"%s\",\"source\":", i ? "," : "", rung.id);
        put_json_text(stream, rung.file->text);
        fputs(",\"tree\":", stream);
        put_tree_json(stream, i);
        fputc('}', stream);
    }
    fputc(']', stream);
}

/* The run's values, which are checked, one after the other. */
static void put_runs(FILE *stream, const char *json) {
    const char *wrong, *separator = "";
    fputs("\"runs\":[", stream);
    for (const char *end; *(json = json_skip_space(json)); json = end) {
        end = json_value_end(json, &wrong);
        fprintf(stream, "%s%.*s", separator, (int)(end - json), json);
        separator = ",";
    }
    fputs("],", stream);
}

static void put_page_data(FILE *stream, const char *json) {
    fputc('{', stream);
    put_runs(stream, json);
    put_rungs(stream);
    fputc('}', stream);
}

int ladder_page_write(const char *path, const char *json) {
    struct page data;
    page_open(&data);
    if (data.stream) put_page_data(data.stream, json);
    bool is_whole = data.stream && !fflush(data.stream);
    const struct html_page page = {.kind = "ladder", .title = "The ladder", .json = data.text};
    int status = is_whole ? html_write(path, &page) : fail("%s", wf_error_text(WF_ERROR_MEMORY));
    if (data.stream) fclose(data.stream);
    free(data.text);
    return status;
}

/* ---- an earlier run ------------------------------------------------------------------------------ */

static int check_runs(const char *path, const char *text, size_t nbytes) {
    const char *wrong = NULL, *at = json_skip_space(text);
    while (at && *at) {
        at = json_value_end(at, &wrong);
        if (at) at = json_skip_space(at);
    }
    if (!wrong && strlen(text) < nbytes) wrong = text + strlen(text);
    if (wrong) return fail("%s: no JSON from byte %td on", path, wrong - text);
    if (!strstr(text, "\"rungs\""))
        return fail("%s: there is no run of the ladder in it; 'warpfold ladder --json' writes one", path);
    return STATUS_OK;
}

int ladder_page_redraw(const struct settings *settings) {
    if (!settings->html)
        return fail_usage("--from %s: a page is drawn of it, by --html FILE", settings->from);
    size_t nbytes;
    char *text = file_read(settings->from, &nbytes);
    if (!text) return fail("%s: %s", settings->from, strerror(errno));
    int status = check_runs(settings->from, text, nbytes);
    if (!status) status = ladder_page_write(settings->html, text);
    free(text);
    return status;
}
