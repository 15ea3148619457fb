/* Kernels as the tutorials print them, run as their first comments say, and shown going wrong. */
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "explain_json.h"
#include "inspect.h"
#include "inspect_arguments.h"
#include "json.h"
#include "output.h"

enum { WORDS_MAX = 32, PATH_CAPACITY = 64 };

struct attempt {
    const struct explanation *explanation;
    const struct ladder_file *source;
    char *words; /* of the comment's "Inspect:" line; the settings point into it */
    struct settings settings;
    struct arguments arguments; /* the first is the input, the second the result */
    unsigned char *values;      /* of the input, before the run */
    simt_module *module;
    simt_machine *machine;
    simt_launch launch;
    struct walk walk;
    simt_report *report;
    bool has_result; /* it ran to its end */
    struct ladder_result result, right;
};

/* ---- what its comment says ----------------------------------------------------------------------- */

static char *comment_line(const struct ladder_file *source, const char *label) {
    const char *line = strstr(source->text, label);
    return line ? strndup(line + strlen(label), strcspn(line + strlen(label), "\n")) : NULL;
}

/* The line's words are options as the command line has them. */
static bool read_settings(struct attempt *attempt) {
    char *words[WORDS_MAX + 1] = {"warpfold"};
    int count = 1;
    char *rest = NULL;
    attempt->words = comment_line(attempt->source, "// Inspect: ");
    if (!attempt->words) return false;
    for (char *word = strtok_r(attempt->words, " ", &rest); word && count < WORDS_MAX;
         word = strtok_r(NULL, " ", &rest))
        words[count++] = word;
    optind = 0; /* getopt begins anew */
    const struct settings *settings = &attempt->settings;
    return settings_parse(&attempt->settings, count, words) &&
           parse_extent(settings->block ? settings->block : "32", attempt->launch.block) &&
           parse_extent(settings->grid ? settings->grid : "1", attempt->launch.grid) &&
           !arguments_parse(&attempt->arguments, settings) && attempt->arguments.count >= 2;
}

static simt_error read_module(struct attempt *attempt, const char *kernel, simt_message *message) {
    char path[PATH_CAPACITY];
    snprintf(path, sizeof path, "ladder/ptx/wrong/%s.ptx", kernel);
    const struct ladder_file *ptx = ladder_file_find(path);
    if (ptx) return simt_module_parse(ptx->text, ptx->nbytes, ptx->path, &attempt->module, message);
    snprintf(message->text, sizeof message->text, "%s is not built in", path);
    return SIMT_ERROR_ARGUMENT;
}

/* ---- running it ---------------------------------------------------------------------------------- */

static bool read_right(struct attempt *attempt) {
    const struct argument *input = &attempt->arguments.items[0];
    size_t nbytes = input->count * wf_type_nbytes(input->type);
    attempt->values = malloc(nbytes + 1);
    if (!attempt->values || simt_machine_read(attempt->machine, input->address, attempt->values, nbytes))
        return false;
    attempt->right = ladder_reduce(attempt->values, NULL, input->type, WF_SUM, input->count);
    return true;
}

static bool read_result(struct attempt *attempt) {
    const struct argument *result = &attempt->arguments.items[1];
    uint64_t element = 0;
    if (simt_machine_read(attempt->machine, result->address, &element, wf_type_nbytes(result->type)))
        return false;
    attempt->result.value = ladder_value(&element, result->type);
    return true;
}

/* A stopped launch has its findings to show, and no result. */
static simt_error launch(struct attempt *attempt, simt_message *message) {
    const simt_observer *observers[EXPLAIN_OBSERVERS_MAX];
    const void *values[WORDS_MAX];
    bool is_one_block = attempt->launch.grid[0] == 1;
    explain_list_observers(is_one_block ? &walk_observer : NULL, observers);
    for (size_t i = 0; i < attempt->arguments.count; i++) values[i] = attempt->arguments.items[i].value;
    attempt->launch.module = attempt->module;
    attempt->launch.shared_nbytes = (size_t)attempt->settings.shared;
    attempt->launch.arguments = values;
    attempt->launch.threads = 1;
    attempt->launch.observers = observers;
    attempt->launch.context = &attempt->walk;
    simt_error error = simt_machine_launch(attempt->machine, &attempt->launch, &attempt->report, message);
    attempt->has_result = !error && read_result(attempt);
    if (attempt->walk.out_of_memory) return SIMT_ERROR_MEMORY;
    return error == SIMT_ERROR_STOPPED && attempt->report ? SIMT_OK : error;
}

static simt_error run(struct attempt *attempt, const char *kernel, simt_message *message) {
    simt_error error = read_module(attempt, kernel, message);
    if (!error && !read_settings(attempt)) error = SIMT_ERROR_ARGUMENT;
    if (!error) error = simt_machine_create(NULL, &attempt->machine);
    if (!error && arguments_place(&attempt->arguments, attempt->machine)) error = SIMT_ERROR_MEMORY;
    if (!error && !read_right(attempt)) error = SIMT_ERROR_MEMORY;
    return error ? error : launch(attempt, message);
}

static void clear(struct attempt *attempt) {
    simt_report_destroy(attempt->report);
    walk_clear(&attempt->walk);
    simt_machine_destroy(attempt->machine);
    simt_module_destroy(attempt->module);
    arguments_clear(&attempt->arguments);
    settings_clear(&attempt->settings);
    free(attempt->values);
    free(attempt->words);
}

/* ---- what it did --------------------------------------------------------------------------------- */

/* Is it an access of shared memory, or of the input? */
static bool is_of_array(const struct attempt *attempt, const struct walk_event *event,
                        enum simt_space space) {
    if (event->kind != WALK_ACCESS || !event->mask || event->space != space) return false;
    const struct argument *input = &attempt->arguments.items[0];
    uint64_t address = walk_addresses(&attempt->walk, event)[__builtin_ctz(event->mask)];
    return space == SIMT_SHARED || address - input->address < input->count * wf_type_nbytes(input->type);
}

/* Does it happen to it, between two barriers of the block? */
static bool meets(const struct attempt *attempt, enum simt_space space, enum simt_access_kind kind,
                  size_t first, size_t end) {
    for (size_t i = first; i < end; i++) {
        const struct walk_event *event = &attempt->walk.events[i];
        if (is_of_array(attempt, event, space) && event->access == kind) return true;
    }
    return false;
}

static void put_stores(FILE *stream, const struct attempt *attempt, const struct walk_event *event,
                       const char **separator) {
    const struct argument *input = &attempt->arguments.items[0];
    uint64_t base = event->space == SIMT_GLOBAL ? input->address : 0;
    for (uint32_t rest = event->mask; rest; rest &= rest - 1) {
        uint32_t lane = (uint32_t)__builtin_ctz(rest);
        uint64_t cell = (walk_addresses(&attempt->walk, event)[lane] - base) / wf_type_nbytes(input->type);
        char text[64];
        wf_value value = ladder_value(&walk_values(&attempt->walk, event)[lane], input->type);
        wf_value_format(&value, 0, text, sizeof text);
        fprintf(stream, "%s{\"thread\":%" PRIu32 ",\"cell\":%" PRIu64 ",\"value\":%s}", *separator,
                event->warp * attempt->walk.launch.warp_size + lane, cell, text);
        *separator = ",";
    }
}

static void put_phase(FILE *stream, const struct attempt *attempt, size_t first, size_t end,
                      const char **between) {
    enum simt_space space = meets(attempt, SIMT_SHARED, SIMT_STORE, first, end) ? SIMT_SHARED : SIMT_GLOBAL;
    const char *separator = "";
    if (!meets(attempt, space, SIMT_STORE, first, end)) return;
    fprintf(stream, "%s{\"array\":\"%s\",\"combines\":%s,\"stores\":[", *between,
            space == SIMT_SHARED ? "shared" : "input",
            meets(attempt, space, SIMT_LOAD, first, end) ? "true" : "false");
    *between = ",";
    for (size_t i = first; i < end; i++) {
        const struct walk_event *event = &attempt->walk.events[i];
        if (is_of_array(attempt, event, space) && event->access == SIMT_STORE)
            put_stores(stream, attempt, event, &separator);
    }
    fputs("]}", stream);
}

/* Who stores what into the array of partial results, from barrier to barrier: a step of a tree where it is
 * read too. */
static void put_phases(FILE *stream, const struct attempt *attempt) {
    const char *between = "";
    size_t first = 0;
    fputs(",\"phases\":[", stream);
    for (size_t i = 0; i <= attempt->walk.count; i++) {
        if (i < attempt->walk.count && attempt->walk.events[i].kind != WALK_BARRIER) continue;
        put_phase(stream, attempt, first, i, &between);
        first = i + 1;
    }
    fputc(']', stream);
}

/* What the rung itself, right, would have active in its steps. */
static void put_right_lanes(FILE *stream, const struct attempt *attempt) {
    const struct explanation *explanation = attempt->explanation;
    const struct argument *input = &attempt->arguments.items[0];
    const struct prediction_setting setting = {.rung = &explanation->rung,
                                               .op = WF_SUM,
                                               .type = input->type,
                                               .n = input->count,
                                               .block = attempt->launch.block[0],
                                               .warp_size = SIMT_LANES,
                                               .banks = SIMT_LANES,
                                               .shared_nbytes = attempt->launch.shared_nbytes};
    const struct prediction prediction = predict(&setting);
    fputs(",\"right_active_lanes\":[", stream);
    for (size_t i = 0; prediction.has_tree && i < prediction.step_count; i++)
        fprintf(stream, "%s%" PRIu64, i ? "," : "", prediction.steps[i].active_lanes);
    fputc(']', stream);
}

static void put_value(FILE *stream, const char *name, const wf_value *value) {
    char text[64];
    wf_value_format(value, 0, text, sizeof text);
    fprintf(stream, ",\"%s\":%s", name, text);
}

static void put_input(FILE *stream, const struct attempt *attempt) {
    const struct argument *input = &attempt->arguments.items[0];
    fputs(",\"input\":[", stream);
    for (uint64_t i = 0; i < input->count; i++) {
        char text[64];
        wf_value value = ladder_value(attempt->values + i * wf_type_nbytes(input->type), input->type);
        wf_value_format(&value, 0, text, sizeof text);
        fprintf(stream, "%s%s", i ? "," : "", text);
    }
    fputc(']', stream);
}

static void put_attempt(FILE *stream, const struct attempt *attempt, const char *kernel) {
    const struct argument *input = &attempt->arguments.items[0];
    char *options = comment_line(attempt->source, "// Inspect: ");
    fprintf(stream,
            "{\"kernel\":\"%s\",\"n\":%" PRIu64 ",\"block\":%" PRIu32 ",\"grid\":%" PRIu32
            ",\"fill\":\"%s\",\"options\":",
            kernel, input->count, attempt->launch.block[0], attempt->launch.grid[0], input->fill);
    put_json_text(stream, options);
    fputs(",\"source\":", stream);
    put_json_text(stream, attempt->source->text);
    put_input(stream, attempt);
    put_value(stream, "right", &attempt->right.value);
    if (attempt->has_result)
        put_value(stream, "result", &attempt->result.value);
    else
        fputs(",\"result\":null", stream);
    fputc(',', stream);
    put_json_findings(stream, attempt->report);
    put_right_lanes(stream, attempt);
    put_phases(stream, attempt);
    fputc('}', stream);
    free(options);
}

/* ---- the whole ----------------------------------------------------------------------------------- */

static simt_error put_kernel(FILE *stream, const struct explanation *explanation, const char *kernel,
                             simt_message *message) {
    char path[PATH_CAPACITY];
    snprintf(path, sizeof path, "ladder/wrong/%s.cu", kernel);
    struct attempt attempt = {.explanation = explanation, .source = ladder_file_find(path)};
    simt_error error = attempt.source ? run(&attempt, kernel, message) : SIMT_ERROR_ARGUMENT;
    if (!error) put_attempt(stream, &attempt, kernel);
    clear(&attempt);
    return error;
}

simt_error put_json_wrong(FILE *stream, const struct explanation *explanation, simt_message *message) {
    simt_error error = SIMT_OK;
    const char *kernel;
    fputs("\"wrong\":[", stream);
    for (size_t i = 0; !error && (kernel = printed_kernel(&explanation->rung, i)); i++) {
        if (i) fputc(',', stream);
        error = put_kernel(stream, explanation, kernel, message);
    }
    fputc(']', stream);
    return error;
}
